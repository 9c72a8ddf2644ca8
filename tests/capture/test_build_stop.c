// Graphs that are built by hand are stopped: aclmdlRIAbort, timeouts, destroying them.

#include "support/acl_test.h"
#include "support/build_case.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

TestSuite(build_stop, .init = on_device, .timeout = 60);

static _Atomic int calls;

static void count_call(void *arg)
{
    (void)arg;
    atomic_fetch_add(&calls, 1);
}

static aclmdlRI captured_graph(aclrtStream stream)
{
    aclmdlRI graph = NULL;
    WORKS(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    WORKS(aclrtLaunchHostFunc(stream, count_call, NULL));
    WORKS(aclmdlRICaptureEnd(stream, &graph));
    return graph;
}

static void *execute_thread(void *graph)
{
    static int answer;
    if (aclrtSetDevice(0) != 0) {
        return NULL;
    }
    answer = aclmdlRIExecute(graph, -1);
    return &answer;
}

Test(build_stop, abort_stops_an_endless_graph_and_who_waits_for_it)
{
    aclrtStream stream = NULL;
    uint32_t *again = NULL;
    pthread_t thread;
    void *answer = NULL;
    aclmdlRI graph = endless_graph(&stream, &again);
    WORKS(aclmdlRIAbort(graph)); // there is nothing to stop
    for (int round = 0; round < 5; round++) {
        cr_assert(eq(int, pthread_create(&thread, NULL, execute_thread, graph), 0));
        usleep(20000);
        WORKS(aclmdlRIAbort(graph));
        cr_assert(eq(int, pthread_join(thread, &answer), 0));
        cr_assert(eq(int, *(int *)answer, 507023));
    }
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtFree(again));
}

Test(build_stop, abort_stops_queued_runs_and_nothing_else)
{
    aclrtStream stream = NULL;
    uint32_t *again = NULL;
    aclrtStream own[3] = { plain_stream(), plain_stream(), plain_stream() };
    aclmdlRI graph = endless_graph(&stream, &again);
    aclmdlRI other = begin_graph();
    aclrtStream bound = bound_stream(other, HEAD);
    WORKS(aclrtLaunchHostFunc(bound, count_call, NULL));
    end_graph(other, bound);
    for (int s = 0; s < 3; s++) {
        WORKS(aclmdlRIExecuteAsync(graph, own[s]));
        WORKS(aclmdlRIExecuteAsync(other, own[s]));
        WORKS(aclmdlRIExecuteAsync(graph, own[s]));
        WORKS(aclrtLaunchHostFunc(own[s], count_call, NULL));
    }
    WORKS(aclmdlRIAbort(graph));
    for (int s = 0; s < 3; s++) {
        ANSWERS(507023, aclrtSynchronizeStream(own[s]));
        WORKS(aclrtSynchronizeStream(own[s]));
    }
    cr_assert(eq(int, calls, 6)); // all of the rest ran
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclmdlRIDestroy(other));
}

Test(build_stop, abort_ends_lanes_that_wait)
{
    aclrtEvent never = flag_event();
    aclrtStream own = plain_stream();
    aclmdlRI graph = begin_graph();
    aclrtStream first = bound_stream(graph, HEAD);
    aclrtStream second = bound_stream(graph, HEAD);
    uint64_t *word = device_bytes(32);
    WORKS(aclrtStreamWaitEvent(first, never));
    WORKS(aclrtValueWait(word, 1, ACL_STREAM_WAIT_VALUE_EQ, second));
    end_graph(graph, first);
    WORKS(aclmdlRIExecuteAsync(graph, own));
    ANSWERS(507046, aclrtSynchronizeStreamWithTimeout(own, 20));
    WORKS(aclmdlRIAbort(graph));
    ANSWERS(507023, aclrtSynchronizeStream(own));
    WORKS(aclmdlRIExecuteAsync(graph, own)); // and again, to its end
    *word = 1;
    WORKS(aclrtRecordEvent(never, NULL));
    WORKS(aclrtSynchronizeStream(own));
    WORKS(aclmdlRIDestroy(graph));
}

Test(build_stop, codes_of_abort)
{
    aclrtStream plain = plain_stream();
    aclmdlRI captured = captured_graph(plain);
    aclmdlRI graph = begin_graph();
    ANSWERS(100000, aclmdlRIAbort(NULL));
    ANSWERS(107000, aclmdlRIAbort(captured));
    WORKS(aclmdlRIAbort(graph)); // not even built
    WORKS(aclmdlRIDestroy(graph));
    ANSWERS(107017, aclmdlRIAbort(graph));
    WORKS(aclmdlRIDestroy(captured));
}

Test(build_stop, execute_gives_up_after_its_time_and_can_be_stopped)
{
    aclrtStream stream = NULL;
    uint32_t *again = NULL;
    aclmdlRI graph = endless_graph(&stream, &again);
    ANSWERS(507046, aclmdlRIExecute(graph, 20));
    WORKS(aclmdlRIAbort(graph));
    ANSWERS(507023, aclrtSynchronizeStream(NULL)); // on which it ran
    ANSWERS(507046, aclmdlRIExecute(graph, 20));
    WORKS(aclmdlRIAbort(graph));
    WORKS(aclmdlRIDestroy(graph));
}

static void abort_own(void *graph)
{
    usleep(1000);
    calls = aclrtSetDevice(0) == 0 ? aclmdlRIAbort(graph) : -1;
}

Test(build_stop, a_function_of_the_graph_stops_it)
{
    const struct labels labels = make_labels(1);
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    uint32_t *again = device_bytes(4);
    WORKS(aclrtSetLabel(labels.label[0], stream));
    WORKS(aclrtLaunchHostFunc(stream, abort_own, graph));
    switch_label(labels, again, stream);
    end_graph(graph, stream);
    calls = -1;
    ANSWERS(507023, aclmdlRIExecute(graph, 20000));
    cr_assert(eq(int, calls, 0));
    WORKS(aclmdlRIDestroy(graph));
    free_labels(labels);
}

// The stream that is waited for goes, too; the address sanitizer looks on.
Test(build_stop, a_forced_reset_ends_who_waits_for_a_graph)
{
    const struct labels labels = make_labels(1);
    pthread_t thread;
    void *answer = NULL;
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    WORKS(aclrtLaunchHostFunc(stream, count_call, NULL));
    WORKS(aclrtSetLabel(labels.label[0], stream));
    switch_label(labels, device_bytes(sizeof(uint32_t)), stream);
    end_graph(graph, stream);
    cr_assert(eq(int, pthread_create(&thread, NULL, execute_thread, graph), 0));
    while (atomic_load(&calls) == 0) {
        usleep(1000);
    }
    WORKS(aclrtResetDeviceForce(0));
    cr_assert(eq(int, pthread_join(thread, &answer), 0));
    cr_assert(eq(int, *(int *)answer, 107023));
    WORKS(aclmdlRIDestroy(graph));
    free_labels(labels);
}

static void *destroy_thread(void *graph)
{
    static int answer;
    answer = aclmdlRIDestroy(graph);
    return &answer;
}

Test(build_stop, destroy_waits_for_a_run)
{
    aclrtEvent gate = flag_event();
    aclrtStream own = plain_stream();
    pthread_t thread;
    void *answer = NULL;
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    wait_for_flag(stream, gate);
    WORKS(aclrtLaunchHostFunc(stream, count_call, NULL));
    end_graph(graph, stream);
    WORKS(aclmdlRIExecuteAsync(graph, own));
    WORKS(aclmdlRIExecuteAsync(graph, own));
    cr_assert(eq(int, pthread_create(&thread, NULL, destroy_thread, graph), 0));
    for (int i = 1; i <= 2; i++) {
        usleep(20000);
        WORKS(aclrtRecordEvent(gate, NULL));
        while (calls < i) {
            usleep(1000);
        }
    }
    cr_assert(eq(int, pthread_join(thread, &answer), 0));
    cr_assert(eq(int, *(int *)answer, 0));
    WORKS(aclrtSynchronizeStream(own));
    cr_assert(eq(int, calls, 2));
    WORKS(aclrtDestroyStream(stream));
}

Test(build_stop, destroy_of_an_endless_graph_gives_up_after_ten_seconds)
{
    aclrtStream stream = NULL;
    uint32_t *again = NULL;
    aclrtStream own = plain_stream();
    aclmdlRI graph = endless_graph(&stream, &again);
    WORKS(aclmdlRIExecuteAsync(graph, own));
    ANSWERS(107037, aclmdlRIDestroy(graph));
    WORKS(aclmdlRIAbort(graph));
    ANSWERS(507023, aclrtSynchronizeStream(own));
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyStream(stream));
}

Test(build_stop, abort_helps_a_destroy_that_waits)
{
    aclrtStream stream = NULL;
    uint32_t *again = NULL;
    pthread_t thread;
    void *answer = NULL;
    aclrtStream own = plain_stream();
    aclmdlRI graph = endless_graph(&stream, &again);
    WORKS(aclmdlRIExecuteAsync(graph, own));
    cr_assert(eq(int, pthread_create(&thread, NULL, destroy_thread, graph), 0));
    int refused = 0;
    while (refused == 0) { // until the destroy has begun
        usleep(1000);
        refused = aclmdlRIExecuteAsync(graph, own);
    }
    cr_assert(eq(int, refused, 107017));
    WORKS(aclmdlRIDestroy(graph)); // the other thread does it
    WORKS(aclmdlRIAbort(graph));
    cr_assert(eq(int, pthread_join(thread, &answer), 0));
    cr_assert(eq(int, *(int *)answer, 0));
    ANSWERS(507023, aclrtSynchronizeStream(own));
    WORKS(aclrtDestroyStream(own));
    WORKS(aclrtFree(again));
}
