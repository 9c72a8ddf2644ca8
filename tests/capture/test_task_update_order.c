// When an update of a task group takes effect: beside replays that are held, inside the group, or
// one after another all the time.

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "support/acl_test.h"
#include "support/task_case.h"
#include "support/task_group_case.h"

static aclrtFuncHandle hold_kernel;
static _Atomic int held, hold; // hold_kernel says 1 and stays until hold is 0

static void hold_and_scale(void *args, uint32_t block, uint32_t blocks)
{
    atomic_store(&held, 1);
    while (atomic_load(&hold) != 0) {
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
    }
    scale(args, block, blocks);
}

static void setup(void)
{
    group_setup();
    WORKS(reprise_kernel_register("hold", hold_and_scale, &hold_kernel));
}

static void teardown(void)
{
    WORKS(reprise_kernel_unregister(hold_kernel));
    group_teardown();
}

TestSuite(task_group, .init = setup, .fini = teardown, .timeout = 120);

// wait and reset of an external event, then a group of one kernel
static aclmdlRI held_graph(aclrtEvent gate, aclrtFuncHandle kernel, aclrtTaskGrp *group)
{
    aclmdlRI graph = NULL;
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclrtStreamWaitEvent(a, gate));
    WORKS(aclrtResetEvent(gate, a));
    WORKS(aclmdlRICaptureTaskGrpBegin(a));
    WORKS(launch(a, kernel, 0, 0, 1.0f));
    WORKS(aclmdlRICaptureTaskGrpEnd(a, group));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    return graph;
}

Test(task_group, a_replay_is_held_until_its_update_is_there)
{
    aclrtEvent gate = external_event();
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = held_graph(gate, scale_kernel, &group);
    for (int round = 0; round < 200; round++) {
        const int from = round % 2, to = round / 2 % 2;
        WORKS(aclmdlRIExecuteAsync(graph, b));
        WORKS(aclmdlRICaptureTaskUpdateBegin(side, group));
        WORKS(launch(side, scale_kernel, from, to, (float)round));
        WORKS(aclmdlRICaptureTaskUpdateEnd(side));
        WORKS(aclrtRecordEvent(gate, side));
        WORKS(aclrtSynchronizeStream(b));
        expect_scaled(from, to, (float)round);
    }
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyEvent(gate));
}

Test(task_group, updates_queue_up_and_the_last_one_counts)
{
    aclrtEvent gate = external_event();
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = grouped(2, &group);
    WORKS(aclrtStreamWaitEvent(side, gate));
    for (int round = 1; round <= 50; round++) {
        WORKS(aclmdlRICaptureTaskUpdateBegin(side, group));
        WORKS(launch(side, scale_kernel, 0, 0, (float)round));
        WORKS(launch(side, shift_kernel, 1, 1, (float)round));
        WORKS(aclmdlRICaptureTaskUpdateEnd(side));
    }
    run(graph, b);
    expect_scaled(0, 0, 1.0f); // the gate is closed
    expect_scaled(1, 1, 2.0f);
    WORKS(aclrtRecordEvent(gate, b));
    WORKS(aclrtSynchronizeStream(side));
    run(graph, b);
    expect_scaled(0, 0, 50.0f);
    for (int e = 0; e < ELEMENTS; e++) {
        cr_assert(eq(flt, out[1][e], in[1][e] + 50.0f));
    }
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyEvent(gate));
}

// A replay that is inside the group finishes it with the arguments that it began with.
Test(task_group, an_update_waits_for_a_replay_inside_the_group)
{
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = NULL;
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclmdlRICaptureTaskGrpBegin(a));
    WORKS(launch(a, hold_kernel, 0, 0, 2.0f));
    WORKS(launch(a, scale_kernel, 1, 1, 2.0f));
    WORKS(aclmdlRICaptureTaskGrpEnd(a, &group));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    atomic_store(&hold, 1);
    WORKS(aclmdlRIExecuteAsync(graph, b));
    while (atomic_load(&held) == 0) {
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
    }
    WORKS(aclmdlRICaptureTaskUpdateBegin(side, group));
    WORKS(launch(side, scale_kernel, 0, 0, 3.0f));
    WORKS(launch(side, scale_kernel, 1, 1, 3.0f));
    WORKS(aclmdlRICaptureTaskUpdateEnd(side));
    ANSWERS(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(side, 50));
    atomic_store(&hold, 0);
    WORKS(aclrtSynchronizeStream(b));
    expect_scaled(0, 0, 2.0f);
    expect_scaled(1, 1, 2.0f);
    WORKS(aclrtSynchronizeStream(side));
    run(graph, b);
    expect_scaled(0, 0, 3.0f);
    expect_scaled(1, 1, 3.0f);
    WORKS(aclmdlRIDestroy(graph));
}

struct updater {
    aclrtContext context;
    aclrtTaskGrp group;
    _Atomic bool stop;
    int updates;
    aclError failed;
};

static void *update_all_the_time(void *arg)
{
    struct updater *updater = arg;
    aclError error = aclrtSetCurrentContext(updater->context);
    while (error == ACL_SUCCESS && !atomic_load(&updater->stop)) {
        const float factor = (float)++updater->updates;
        error = aclmdlRICaptureTaskUpdateBegin(side, updater->group);
        if (error == ACL_SUCCESS) {
            error = launch(side, scale_kernel, 0, 0, factor);
        }
        if (error == ACL_SUCCESS) {
            error = launch(side, scale_kernel, 0, 1, factor);
        }
        if (error == ACL_SUCCESS) {
            error = aclmdlRICaptureTaskUpdateEnd(side);
        }
        if (error == ACL_SUCCESS && updater->updates % 4 == 0) {
            error = aclrtSynchronizeStream(side);
        }
    }
    updater->failed = error;
    return NULL;
}

// A replay sees a whole update or none of it, and updates are seen in their order.
Test(task_group, replays_beside_updates_see_all_of_one)
{
    struct updater updater = { 0 };
    pthread_t thread;
    aclmdlRI graph = NULL;
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclmdlRICaptureTaskGrpBegin(a));
    WORKS(launch(a, scale_kernel, 0, 0, 0.0f));
    WORKS(launch(a, scale_kernel, 0, 1, 0.0f));
    WORKS(aclmdlRICaptureTaskGrpEnd(a, &updater.group));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    WORKS(aclrtGetCurrentContext(&updater.context));
    cr_assert(eq(int, pthread_create(&thread, NULL, update_all_the_time, &updater), 0));
    float before = 0.0f;
    for (int round = 0; round < 2000; round++) {
        run(graph, b);
        const float factor = out[0][1]; // in[0][1] is 1
        cr_assert(ge(flt, factor, before), "round %d", round);
        expect_scaled(0, 0, factor);
        expect_scaled(0, 1, factor);
        before = factor;
    }
    atomic_store(&updater.stop, true);
    cr_assert(eq(int, pthread_join(thread, NULL), 0));
    cr_assert(eq(int, updater.failed, ACL_SUCCESS));
    WORKS(aclrtSynchronizeStream(side));
    run(graph, b);
    expect_scaled(0, 0, (float)updater.updates);
    cr_assert(gt(flt, before, 0.0f));
    WORKS(aclmdlRIDestroy(graph));
}
