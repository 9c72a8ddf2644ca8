// Task groups and their updates through the public API, with kernels whose results an
// oracle computes: what is recorded, what is refused and how, when an update takes effect,
// and that nothing is left behind. One device, and a communicator of one rank where a
// collective is needed; several ranks are in tests/ranks/test_update.c.

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <hccl/hccl.h>
#include <reprise/kernel.h>

#include "base/alloc.h"
#include "support/acl_test.h"

#define ELEMENTS 100
#define BYTES (ELEMENTS * sizeof(float))
#define GLOBAL ACL_MODEL_RI_CAPTURE_MODE_GLOBAL
#define RELAXED ACL_MODEL_RI_CAPTURE_MODE_RELAXED

struct work {
    const float *in;
    float *out;
    float factor;
};

static aclrtStream a, b, side;
static float *in[2], *out[2]; // device memory
static aclrtFuncHandle scale_kernel, shift_kernel, hold_kernel;
static _Atomic int held, hold; // hold_kernel says 1 and stays until hold is 0

static void scale(void *args, uint32_t block, uint32_t blocks)
{
    const struct work *work = args;
    for (uint32_t i = block; i < ELEMENTS; i += blocks) {
        work->out[i] = work->in[i] * work->factor;
    }
}

static void shift(void *args, uint32_t block, uint32_t blocks)
{
    const struct work *work = args;
    for (uint32_t i = block; i < ELEMENTS; i += blocks) {
        work->out[i] = work->in[i] + work->factor;
    }
}

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
    on_device();
    WORKS(aclrtCreateStream(&a));
    WORKS(aclrtCreateStream(&b));
    WORKS(aclrtCreateStream(&side));
    for (int i = 0; i < 2; i++) {
        WORKS(aclrtMalloc((void **)&in[i], BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
        WORKS(aclrtMalloc((void **)&out[i], BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
        for (int e = 0; e < ELEMENTS; e++) {
            in[i][e] = (float)(e + 1000 * i);
            out[i][e] = -1.0f;
        }
    }
    WORKS(reprise_kernel_register("scale", scale, &scale_kernel));
    WORKS(reprise_kernel_register("shift", shift, &shift_kernel));
    WORKS(reprise_kernel_register("hold", hold_and_scale, &hold_kernel));
}

static void teardown(void)
{
    for (int i = 0; i < 2; i++) {
        WORKS(aclrtFree(in[i]));
        WORKS(aclrtFree(out[i]));
    }
    WORKS(aclrtDestroyStream(a));
    WORKS(aclrtDestroyStream(b));
    WORKS(aclrtDestroyStream(side));
    WORKS(reprise_kernel_unregister(scale_kernel));
    WORKS(reprise_kernel_unregister(shift_kernel));
    WORKS(reprise_kernel_unregister(hold_kernel));
    WORKS(aclrtResetDevice(0));
}

TestSuite(task_group, .init = setup, .fini = teardown, .timeout = 120);

// ---- what the tests are made of ----

static aclError launch(aclrtStream stream, aclrtFuncHandle kernel, int from, int to, float factor)
{
    const struct work work = { in[from], out[to], factor };
    return aclrtLaunchKernel(kernel, 3, &work, sizeof(work), stream);
}

static void expect_scaled(int from, int to, float factor)
{
    for (int e = 0; e < ELEMENTS; e++) {
        cr_assert(eq(flt, out[to][e], in[from][e] * factor), "element %d", e);
    }
}

static void expect_untouched(int to)
{
    for (int e = 0; e < ELEMENTS; e++) {
        cr_assert(eq(flt, out[to][e], -1.0f), "element %d", e);
    }
}

// A graph of `count` kernels in one group: kernel k scales in[k % 2] into out[k % 2] by k + 1.
static aclmdlRI grouped(int count, aclrtTaskGrp *group)
{
    aclmdlRI graph = NULL;
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclmdlRICaptureTaskGrpBegin(a));
    for (int k = 0; k < count; k++) {
        WORKS(launch(a, scale_kernel, k % 2, k % 2, (float)(k + 1)));
    }
    WORKS(aclmdlRICaptureTaskGrpEnd(a, group));
    cr_assert(ne(ptr, *group, NULL));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    return graph;
}

static void run(aclmdlRI graph, aclrtStream stream)
{
    WORKS(aclmdlRIExecuteAsync(graph, stream));
    WORKS(aclrtSynchronizeStream(stream));
}

static aclrtEvent external_event(void)
{
    aclrtEvent event = NULL;
    WORKS(aclrtCreateEventWithFlag(&event, ACL_EVENT_EXTERNAL));
    return event;
}

static aclrtEvent sync_event(void)
{
    aclrtEvent event = NULL;
    WORKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    return event;
}

static void count_call(void *arg)
{
    ++*(int *)arg;
}

// The stream captures nothing, runs what it is given and can capture anew.
static void expect_usable(aclrtStream stream)
{
    aclmdlRI graph = NULL;
    int calls = 0;
    WORKS(aclrtLaunchHostFunc(stream, count_call, &calls));
    WORKS(aclrtSynchronizeStream(stream));
    cr_assert(eq(int, calls, 1));
    WORKS(aclmdlRICaptureBegin(stream, GLOBAL));
    WORKS(aclrtLaunchHostFunc(stream, count_call, &calls));
    WORKS(aclmdlRICaptureEnd(stream, &graph));
    run(graph, stream);
    cr_assert(eq(int, calls, 2));
    WORKS(aclmdlRIDestroy(graph));
}

// ---- recording ----

Test(task_group, an_update_replaces_arguments_for_good)
{
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = grouped(1, &group);
    run(graph, b);
    expect_scaled(0, 0, 1.0f);
    WORKS(aclmdlRICaptureTaskUpdateBegin(side, group));
    WORKS(launch(side, scale_kernel, 1, 1, 7.0f));
    WORKS(aclmdlRICaptureTaskUpdateEnd(side));
    WORKS(aclrtSynchronizeStream(side));
    expect_untouched(1); // what is collected does not run
    memset(out[0], 0, BYTES);
    for (int round = 0; round < 3; round++) {
        memset(out[1], 0, BYTES);
        run(graph, b);
        expect_scaled(1, 1, 7.0f);
        cr_assert(eq(flt, out[0][5], 0.0f));
    }
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_group, tasks_around_begin_and_end_run_in_order)
{
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = grouped(1, &group);
    int calls = 0;
    WORKS(aclrtLaunchHostFunc(side, count_call, &calls));
    WORKS(aclmdlRICaptureTaskUpdateBegin(side, group));
    WORKS(launch(side, scale_kernel, 0, 0, 3.0f));
    WORKS(aclmdlRICaptureTaskUpdateEnd(side));
    WORKS(launch(side, scale_kernel, 1, 1, 2.0f));
    WORKS(aclmdlRIExecuteAsync(graph, side)); // in stream order it comes after the update
    WORKS(aclrtSynchronizeStream(side));
    cr_assert(eq(int, calls, 1));
    expect_scaled(0, 0, 3.0f);
    expect_scaled(1, 1, 2.0f);
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_group, each_group_of_a_graph_is_updated_alone)
{
    aclrtTaskGrp first = NULL, empty = NULL, second = NULL;
    aclmdlRI graph = NULL;
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclmdlRICaptureTaskGrpBegin(a));
    WORKS(launch(a, scale_kernel, 0, 0, 2.0f));
    WORKS(aclmdlRICaptureTaskGrpEnd(a, &first));
    WORKS(aclmdlRICaptureTaskGrpBegin(a));
    WORKS(aclmdlRICaptureTaskGrpEnd(a, &empty));
    WORKS(aclrtMemcpyAsync(in[1], BYTES, out[0], BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE, a));
    WORKS(aclmdlRICaptureTaskGrpBegin(a));
    WORKS(launch(a, scale_kernel, 1, 1, 3.0f));
    WORKS(aclmdlRICaptureTaskGrpEnd(a, &second));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    cr_assert(ne(ptr, first, second));
    run(graph, b);
    expect_scaled(0, 1, 6.0f);
    WORKS(aclmdlRICaptureTaskUpdateBegin(side, second));
    WORKS(launch(side, scale_kernel, 1, 1, 5.0f));
    WORKS(aclmdlRICaptureTaskUpdateEnd(side));
    WORKS(aclmdlRICaptureTaskUpdateBegin(side, empty));
    WORKS(aclmdlRICaptureTaskUpdateEnd(side));
    WORKS(aclrtSynchronizeStream(side));
    run(graph, b);
    expect_scaled(0, 1, 10.0f);
    WORKS(aclmdlRICaptureTaskUpdateBegin(side, first));
    WORKS(launch(side, scale_kernel, 0, 0, 0.5f));
    WORKS(aclmdlRICaptureTaskUpdateEnd(side));
    WORKS(aclrtSynchronizeStream(side));
    run(graph, b);
    expect_scaled(0, 1, 2.5f);
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_group, lies_on_a_forked_stream)
{
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = NULL;
    aclrtEvent fork = sync_event(), join = sync_event();
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(launch(a, scale_kernel, 0, 0, 2.0f));
    WORKS(aclrtRecordEvent(fork, a));
    WORKS(aclrtStreamWaitEvent(b, fork));
    WORKS(aclmdlRICaptureTaskGrpBegin(b));
    WORKS(launch(b, scale_kernel, 1, 1, 2.0f));
    WORKS(launch(b, scale_kernel, 1, 1, 3.0f));
    WORKS(aclmdlRICaptureTaskGrpEnd(b, &group));
    WORKS(aclrtRecordEvent(join, b));
    WORKS(aclrtStreamWaitEvent(a, join));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    WORKS(aclmdlRICaptureTaskUpdateBegin(side, group));
    WORKS(launch(side, scale_kernel, 1, 1, 4.0f));
    WORKS(launch(side, scale_kernel, 0, 1, 5.0f));
    WORKS(aclmdlRICaptureTaskUpdateEnd(side));
    WORKS(aclrtSynchronizeStream(side));
    run(graph, b);
    expect_scaled(0, 0, 2.0f);
    expect_scaled(0, 1, 5.0f);
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyEvent(fork));
    WORKS(aclrtDestroyEvent(join));
}

Test(task_group, lies_in_the_body_of_a_loop)
{
    aclmdlRICaptureStatus status;
    aclmdlRI graph = NULL, body = NULL;
    aclmdlRICondHandle cond = NULL;
    aclrtTaskGrp group = NULL;
    uint64_t *word = NULL;
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclmdlRICaptureGetInfo(a, &status, &graph));
    WORKS(aclmdlRICondHandleCreate(graph, 1, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &cond));
    WORKS(aclmdlRICondHandleGetCondPtr(cond, &word));
    const aclmdlRICondTaskParams params = { cond, ACL_MODEL_RI_COND_TYPE_WHILE, 1, &body };
    WORKS(aclmdlRIAddCondTask(params, a, 0));
    WORKS(aclmdlRICaptureToModelRIBegin(b, body, GLOBAL));
    WORKS(aclmdlRICaptureTaskGrpBegin(b));
    WORKS(launch(b, scale_kernel, 0, 0, 2.0f));
    WORKS(aclmdlRICaptureTaskGrpEnd(b, &group));
    WORKS(aclrtValueWrite(word, 0, 0, b)); // once through
    WORKS(aclmdlRICaptureEnd(b, NULL));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    run(graph, b);
    expect_scaled(0, 0, 2.0f);
    WORKS(aclmdlRICaptureTaskUpdateBegin(side, group));
    WORKS(launch(side, scale_kernel, 1, 1, 9.0f));
    WORKS(aclmdlRICaptureTaskUpdateEnd(side));
    WORKS(aclrtSynchronizeStream(side));
    run(graph, b);
    expect_scaled(1, 1, 9.0f);
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_group, takes_collectives)
{
    HcclComm comm = NULL;
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = NULL;
    int32_t device = 0;
    WORKS((int)HcclCommInitAll(1, &device, &comm));
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclmdlRICaptureTaskGrpBegin(a));
    WORKS((int)HcclAllReduce(
            in[0], out[0], ELEMENTS, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, a));
    WORKS(launch(a, scale_kernel, 0, 1, 2.0f));
    WORKS(aclmdlRICaptureTaskGrpEnd(a, &group));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    run(graph, b);
    expect_scaled(0, 0, 1.0f);
    expect_scaled(0, 1, 2.0f);
    for (int e = 0; e < ELEMENTS; e++) {
        out[0][e] = -1.0f;
    }
    WORKS(aclmdlRICaptureTaskUpdateBegin(side, group));
    WORKS((int)HcclAllReduce(
            in[1], out[0], ELEMENTS - 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, side));
    WORKS(launch(side, scale_kernel, 1, 1, 3.0f));
    WORKS(aclmdlRICaptureTaskUpdateEnd(side));
    WORKS(aclrtSynchronizeStream(side));
    run(graph, b);
    for (int e = 0; e < ELEMENTS; e++) {
        cr_assert(eq(flt, out[0][e], e == ELEMENTS - 1 ? -1.0f : in[1][e]), "element %d", e);
    }
    expect_scaled(1, 1, 3.0f);
    WORKS(aclmdlRIDestroy(graph));
    WORKS((int)HcclCommDestroy(comm));
}

// ---- the rules of recording ----

Test(task_group, begin_and_end_need_a_capture_and_each_other)
{
    aclrtTaskGrp group = &group;
    aclmdlRI graph = NULL;
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclmdlRICaptureTaskGrpBegin(NULL));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclmdlRICaptureTaskGrpEnd(NULL, &group));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclmdlRICaptureTaskGrpEnd(a, NULL));
    ANSWERS(ACL_ERROR_RT_STREAM_NOT_CAPTURED, aclmdlRICaptureTaskGrpBegin(a));
    ANSWERS(ACL_ERROR_RT_STREAM_NOT_CAPTURED, aclmdlRICaptureTaskGrpEnd(a, &group));
    cr_assert(eq(ptr, group, NULL));
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    ANSWERS(ACL_ERROR_STREAM_TASK_GROUP_STATUS, aclmdlRICaptureTaskGrpEnd(a, &group));
    WORKS(aclmdlRICaptureTaskGrpBegin(a));
    ANSWERS(ACL_ERROR_STREAM_TASK_GROUP_STATUS, aclmdlRICaptureTaskGrpBegin(a));
    WORKS(launch(a, scale_kernel, 0, 0, 2.0f));
    WORKS(aclmdlRICaptureTaskGrpEnd(a, &group));
    ANSWERS(ACL_ERROR_STREAM_TASK_GROUP_STATUS, aclmdlRICaptureTaskGrpEnd(a, &group));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    run(graph, b);
    expect_scaled(0, 0, 2.0f);
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_group, only_one_stream_of_a_capture_has_it)
{
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = NULL;
    aclrtEvent fork = sync_event();
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclrtRecordEvent(fork, a));
    WORKS(aclrtStreamWaitEvent(b, fork));
    WORKS(aclmdlRICaptureTaskGrpBegin(a));
    ANSWERS(ACL_ERROR_STREAM_TASK_GROUP_STATUS, aclmdlRICaptureTaskGrpBegin(b));
    ANSWERS(ACL_ERROR_STREAM_TASK_GROUP_STATUS, aclmdlRICaptureTaskGrpEnd(b, &group));
    ANSWERS(ACL_ERROR_STREAM_TASK_GROUP_INTR, launch(b, scale_kernel, 0, 0, 1.0f));
    ANSWERS(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, launch(a, scale_kernel, 0, 0, 1.0f));
    ANSWERS(ACL_ERROR_STREAM_TASK_GROUP_INTR, aclmdlRICaptureTaskGrpEnd(a, &group));
    cr_assert(eq(ptr, group, NULL));
    ANSWERS(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, aclmdlRICaptureTaskGrpBegin(a));
    ANSWERS(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, aclmdlRICaptureEnd(a, &graph));
    cr_assert(eq(ptr, graph, NULL));
    expect_usable(a);
    expect_usable(b);
    WORKS(aclrtDestroyEvent(fork));
}

Test(task_group, ends_badly_with_its_capture)
{
    aclrtTaskGrp group = &group;
    aclmdlRI graph = NULL;
    aclrtEvent event = sync_event();
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclrtRecordEvent(event, a));
    WORKS(aclmdlRICaptureTaskGrpBegin(a));
    ANSWERS(ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT, aclrtStreamWaitEvent(NULL, event));
    ANSWERS(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, aclmdlRICaptureTaskGrpEnd(a, &group));
    cr_assert(eq(ptr, group, NULL));
    ANSWERS(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, aclmdlRICaptureEnd(a, &graph));
    expect_usable(a);
    WORKS(aclrtDestroyEvent(event));
}

Test(task_group, open_at_the_end_of_the_capture_it_fails_it)
{
    aclmdlRI graph = NULL;
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclmdlRICaptureTaskGrpBegin(a));
    WORKS(launch(a, scale_kernel, 0, 0, 1.0f));
    ANSWERS(ACL_ERROR_STREAM_TASK_GROUP_STATUS, aclmdlRICaptureEnd(a, &graph));
    cr_assert(eq(ptr, graph, NULL));
    expect_usable(a);
}

enum foreign {
    COPY,
    FILL,
    HOST_FUNCTION,
    RECORD,
    WAIT,
    EXTERNAL_WAIT,
    EXTERNAL_RESET,
    VALUE_WRITE,
    VALUE_WAIT,
    FOREIGN
};

// A task that no group takes.
static aclError submit_foreign(
        enum foreign what, aclrtStream stream, aclrtEvent event, aclrtEvent external)
{
    static int calls;
    switch (what) {
    case COPY:
        return aclrtMemcpyAsync(out[1], BYTES, in[1], BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
    case FILL:
        return aclrtMemsetAsync(out[1], BYTES, 0, BYTES, stream);
    case HOST_FUNCTION:
        return aclrtLaunchHostFunc(stream, count_call, &calls);
    case RECORD:
        return aclrtRecordEvent(event, stream);
    case WAIT:
        return aclrtStreamWaitEvent(stream, event);
    case EXTERNAL_WAIT:
        return aclrtStreamWaitEvent(stream, external);
    case EXTERNAL_RESET:
        return aclrtResetEvent(external, stream);
    case VALUE_WRITE:
        return aclrtValueWrite(out[1], 1, 0, stream);
    case VALUE_WAIT:
        return aclrtValueWait(out[1], 1, ACL_STREAM_WAIT_VALUE_EQ, stream);
    case FOREIGN:
        break;
    }
    return ACL_ERROR_INTERNAL_ERROR;
}

Test(task_group, takes_nothing_but_kernels_and_collectives)
{
    aclrtEvent event = sync_event(), external = external_event();
    for (enum foreign what = COPY; what < FOREIGN; what++) {
        aclrtTaskGrp group = &group;
        aclmdlRI graph = NULL;
        WORKS(aclmdlRICaptureBegin(a, GLOBAL));
        WORKS(aclmdlRICaptureTaskGrpBegin(a));
        WORKS(launch(a, scale_kernel, 0, 0, (float)what + 2.0f));
        ANSWERS(ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT, submit_foreign(what, a, event, external));
        ANSWERS(ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT, aclmdlRICaptureTaskGrpEnd(a, &group));
        cr_assert(eq(ptr, group, NULL));
        // The group is lost, the capture is not, and a new group may begin.
        WORKS(aclmdlRICaptureTaskGrpBegin(a));
        WORKS(launch(a, scale_kernel, 0, 1, 2.0f));
        WORKS(aclmdlRICaptureTaskGrpEnd(a, &group));
        WORKS(aclmdlRICaptureEnd(a, &graph));
        run(graph, b);
        expect_scaled(0, 0, (float)what + 2.0f);
        expect_scaled(0, 1, 2.0f);
        WORKS(aclmdlRIDestroy(graph));
    }
    WORKS(aclrtDestroyEvent(event));
    WORKS(aclrtDestroyEvent(external));
}

Test(task_group, takes_no_conditional)
{
    aclmdlRICaptureStatus status;
    aclmdlRI graph = NULL, body = NULL;
    aclmdlRICondHandle cond = NULL;
    aclrtTaskGrp group = &group;
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclmdlRICaptureGetInfo(a, &status, &graph));
    WORKS(aclmdlRICondHandleCreate(graph, 0, 0, &cond));
    WORKS(aclmdlRICaptureTaskGrpBegin(a));
    const aclmdlRICondTaskParams params = { cond, ACL_MODEL_RI_COND_TYPE_IF, 1, &body };
    ANSWERS(ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT, aclmdlRIAddCondTask(params, a, 0));
    ANSWERS(ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT, aclmdlRICaptureTaskGrpEnd(a, &group));
    cr_assert(eq(ptr, group, NULL));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    WORKS(aclmdlRIDestroy(graph));
}

// ---- the rules of updating ----

Test(task_group, update_needs_a_free_stream_and_a_free_group)
{
    aclrtTaskGrp group = NULL, open = NULL;
    aclmdlRI graph = grouped(1, &group), other = NULL;
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclmdlRICaptureTaskUpdateBegin(NULL, group));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclmdlRICaptureTaskUpdateBegin(side, NULL));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclmdlRICaptureTaskUpdateEnd(NULL));
    ANSWERS(ACL_ERROR_STREAM_TASK_GROUP_STATUS, aclmdlRICaptureTaskUpdateEnd(side));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRICaptureTaskUpdateBegin(side, &group));
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    ANSWERS(ACL_ERROR_RT_STREAM_CAPTURED, aclmdlRICaptureTaskUpdateBegin(a, group));
    ANSWERS(ACL_ERROR_RT_STREAM_CAPTURED, aclmdlRICaptureTaskUpdateEnd(a));
    WORKS(aclmdlRICaptureTaskGrpBegin(a));
    WORKS(launch(a, scale_kernel, 0, 0, 1.0f));
    WORKS(aclmdlRICaptureTaskGrpEnd(a, &open));
    ANSWERS(ACL_ERROR_RT_MODEL_CAPTURED, aclmdlRICaptureTaskUpdateBegin(side, open));
    WORKS(aclmdlRICaptureEnd(a, &other));
    WORKS(aclmdlRIDestroy(other));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRICaptureTaskUpdateBegin(side, open));
    WORKS(aclmdlRICaptureTaskUpdateBegin(side, group));
    ANSWERS(ACL_ERROR_STREAM_TASK_GROUP_STATUS, aclmdlRICaptureTaskUpdateBegin(side, group));
    ANSWERS(ACL_ERROR_STREAM_TASK_GROUP_STATUS, aclmdlRICaptureTaskUpdateBegin(b, group));
    ANSWERS(ACL_ERROR_STREAM_TASK_GROUP_STATUS, aclmdlRICaptureBegin(side, GLOBAL));
    ANSWERS(ACL_ERROR_STREAM_TASK_GROUP_STATUS, aclmdlRICaptureTaskGrpBegin(side));
    WORKS(launch(side, scale_kernel, 0, 0, 8.0f));
    WORKS(aclmdlRICaptureTaskUpdateEnd(side));
    ANSWERS(ACL_ERROR_STREAM_TASK_GROUP_STATUS, aclmdlRICaptureTaskUpdateEnd(side));
    WORKS(aclrtSynchronizeStream(side));
    run(graph, b);
    expect_scaled(0, 0, 8.0f);
    WORKS(aclmdlRIDestroy(graph));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRICaptureTaskUpdateBegin(side, group));
    expect_usable(side);
}

Test(task_group, update_belongs_to_one_context)
{
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = grouped(1, &group);
    aclrtContext home = NULL, context = NULL;
    aclrtStream there = NULL;
    WORKS(aclrtGetCurrentContext(&home));
    WORKS(aclrtCreateContext(&context, 0));
    WORKS(aclrtCreateStream(&there));
    ANSWERS(ACL_ERROR_RT_MODEL_CONTEXT, aclmdlRICaptureTaskUpdateBegin(there, group));
    ANSWERS(ACL_ERROR_RT_STREAM_CONTEXT, aclmdlRICaptureTaskUpdateBegin(side, group));
    WORKS(aclrtDestroyStream(there));
    WORKS(aclrtDestroyContext(context));
    WORKS(aclrtSetCurrentContext(home));
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_group, update_cannot_go_to_a_stream_that_is_bound_to_a_graph)
{
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = grouped(1, &group), built = NULL;
    aclrtStream bound = NULL;
    WORKS(aclrtCreateStreamWithConfig(&bound, 0, ACL_STREAM_PERSISTENT));
    WORKS(aclmdlRIBuildBegin(&built, 0));
    WORKS(aclmdlRIBindStream(built, bound, ACL_MODEL_STREAM_FLAG_HEAD));
    ANSWERS(ACL_ERROR_RT_STREAM_MODEL, aclmdlRICaptureTaskUpdateBegin(bound, group));
    ANSWERS(ACL_ERROR_RT_STREAM_MODEL, aclmdlRICaptureTaskUpdateEnd(bound));
    WORKS(aclmdlRIDestroy(built));
    WORKS(aclrtDestroyStream(bound));
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_group, update_has_as_many_tasks_as_the_group)
{
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = grouped(3, &group);
    for (int count = 0; count < 6; count++) {
        WORKS(aclmdlRICaptureTaskUpdateBegin(side, group));
        for (int k = 0; k < count; k++) {
            WORKS(launch(side, scale_kernel, k % 2, k % 2, 50.0f));
        }
        if (count != 3) {
            ANSWERS(ACL_ERROR_RT_INTERNAL_ERROR, aclmdlRICaptureTaskUpdateEnd(side));
            expect_usable(side);
        } else {
            WORKS(aclmdlRICaptureTaskUpdateEnd(side));
            WORKS(aclrtSynchronizeStream(side));
        }
        run(graph, b); // an update that was refused changed nothing
        expect_scaled(0, 0, count < 3 ? 3.0f : 50.0f);
        expect_scaled(1, 1, count < 3 ? 2.0f : 50.0f);
    }
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_group, update_takes_nothing_but_kernels_and_collectives)
{
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = grouped(1, &group);
    aclrtEvent event = sync_event(), captured = sync_event(), external = external_event();
    WORKS(aclrtRecordEvent(event, b));
    WORKS(aclmdlRICaptureTaskUpdateBegin(side, group));
    for (enum foreign what = COPY; what < FOREIGN; what++) {
        ANSWERS(ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT, submit_foreign(what, side, event, external));
    }
    ANSWERS(ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT, aclmdlRIExecuteAsync(graph, side));
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclrtRecordEvent(captured, a));
    ANSWERS(ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT, aclrtStreamWaitEvent(side, captured));
    ANSWERS(ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT, aclrtRecordEvent(captured, side));
    WORKS(launch(side, scale_kernel, 1, 0, 4.0f)); // what was refused does not count
    WORKS(aclmdlRICaptureTaskUpdateEnd(side));
    aclmdlRI nothing = NULL;
    WORKS(aclmdlRICaptureEnd(a, &nothing));
    WORKS(aclmdlRIDestroy(nothing));
    WORKS(aclrtSynchronizeStream(side));
    expect_untouched(1);
    run(graph, side);
    expect_scaled(1, 0, 4.0f);
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyEvent(event));
    WORKS(aclrtDestroyEvent(captured));
    WORKS(aclrtDestroyEvent(external));
}

Test(task_group, update_may_choose_another_kernel_but_not_another_kind)
{
    HcclComm comm = NULL;
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = grouped(1, &group);
    int32_t device = 0;
    WORKS((int)HcclCommInitAll(1, &device, &comm));
    WORKS(aclmdlRICaptureTaskUpdateBegin(side, group));
    WORKS((int)HcclAllReduce(
            in[0], out[0], ELEMENTS, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, side));
    ANSWERS(ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT, aclmdlRICaptureTaskUpdateEnd(side));
    expect_usable(side);
    WORKS(aclmdlRICaptureTaskUpdateBegin(side, group));
    WORKS(launch(side, shift_kernel, 0, 0, 4.0f));
    WORKS(aclmdlRICaptureTaskUpdateEnd(side));
    WORKS(aclrtSynchronizeStream(side));
    run(graph, b);
    for (int e = 0; e < ELEMENTS; e++) {
        cr_assert(eq(flt, out[0][e], in[0][e] + 4.0f));
    }
    WORKS(aclmdlRIDestroy(graph));
    WORKS((int)HcclCommDestroy(comm));
}

static aclError issue(int what, HcclComm comm, uint32_t type, aclrtStream stream)
{
    switch (what) {
    case 0: // the group's own
        return (aclError)HcclAllReduce(
                in[1], out[0], 50, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream);
    case 1:
        return (aclError)HcclAllReduce(
                in[1], out[0], 50, (HcclDataType)type, HCCL_REDUCE_SUM, comm, stream);
    case 2:
        return (aclError)HcclAllReduce(
                in[1], out[0], 50, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, comm, stream);
    case 3:
        return (aclError)HcclReduceScatter(
                in[1], out[0], 50, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream);
    default:
        return launch(stream, scale_kernel, 0, 0, 1.0f);
    }
}

Test(task_group, a_collective_keeps_all_but_its_buffers_and_count)
{
    HcclComm comm = NULL, other = NULL;
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = NULL;
    int32_t device = 0;
    WORKS((int)HcclCommInitAll(1, &device, &comm));
    WORKS((int)HcclCommInitAll(1, &device, &other));
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclmdlRICaptureTaskGrpBegin(a));
    WORKS((int)HcclAllReduce(
            in[0], out[0], ELEMENTS, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, a));
    WORKS(aclmdlRICaptureTaskGrpEnd(a, &group));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    for (int what = 1; what < 6; what++) {
        WORKS(aclmdlRICaptureTaskUpdateBegin(side, group));
        WORKS(issue(what == 5 ? 0 : what, what == 5 ? other : comm, HCCL_DATA_TYPE_INT32, side));
        ANSWERS(what == 4 ? ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT : ACL_ERROR_RT_PARAM_INVALID,
                aclmdlRICaptureTaskUpdateEnd(side));
    }
    WORKS(aclmdlRICaptureTaskUpdateBegin(side, group));
    ANSWERS((int)HCCL_E_PTR,
            (int)HcclAllReduce(NULL, out[0], 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm,
                    side)); // the call's own checks come first
    WORKS(issue(0, comm, 0, side));
    WORKS(aclmdlRICaptureTaskUpdateEnd(side));
    WORKS(aclrtSynchronizeStream(side));
    run(graph, b);
    for (int e = 0; e < ELEMENTS; e++) {
        cr_assert(eq(flt, out[0][e], e < 50 ? in[1][e] : -1.0f), "element %d", e);
    }
    WORKS(aclmdlRIDestroy(graph));
    WORKS((int)HcclCommDestroy(comm));
    WORKS((int)HcclCommDestroy(other));
}

// ---- ends of things that an update needs ----

Test(task_group, a_stream_that_ends_gives_its_group_back)
{
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = grouped(1, &group);
    for (int force = 0; force < 2; force++) {
        aclrtStream gone = NULL;
        WORKS(aclrtCreateStream(&gone));
        WORKS(aclmdlRICaptureTaskUpdateBegin(gone, group));
        WORKS(launch(gone, scale_kernel, 0, 0, 70.0f));
        WORKS(force ? aclrtDestroyStreamForce(gone) : aclrtDestroyStream(gone));
    }
    WORKS(aclmdlRICaptureTaskUpdateBegin(side, group));
    WORKS(launch(side, scale_kernel, 0, 0, 2.0f));
    WORKS(aclmdlRICaptureTaskUpdateEnd(side));
    WORKS(aclrtSynchronizeStream(side));
    run(graph, b);
    expect_scaled(0, 0, 2.0f);
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_group, a_graph_may_end_while_an_update_is_collected)
{
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = grouped(1, &group);
    WORKS(aclmdlRICaptureTaskUpdateBegin(side, group));
    WORKS(launch(side, scale_kernel, 0, 0, 2.0f));
    WORKS(aclmdlRIDestroy(graph));
    WORKS(launch(side, scale_kernel, 0, 0, 2.0f));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRICaptureTaskUpdateEnd(side));
    expect_usable(side);
}

Test(task_group, a_context_may_end_while_an_update_is_collected)
{
    aclrtContext home = NULL, context = NULL;
    aclrtStream there = NULL;
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = NULL;
    WORKS(aclrtGetCurrentContext(&home));
    WORKS(aclrtCreateContext(&context, 0));
    WORKS(aclrtCreateStream(&there));
    WORKS(aclmdlRICaptureBegin(there, GLOBAL));
    WORKS(aclmdlRICaptureTaskGrpBegin(there));
    WORKS(launch(there, scale_kernel, 0, 0, 1.0f));
    WORKS(aclmdlRICaptureTaskGrpEnd(there, &group));
    WORKS(aclmdlRICaptureEnd(there, &graph));
    WORKS(aclmdlRICaptureTaskUpdateBegin(there, group));
    WORKS(launch(there, scale_kernel, 0, 0, 2.0f));
    WORKS(aclrtDestroyContext(context)); // with its streams
    WORKS(aclrtSetCurrentContext(home));
    WORKS(aclmdlRIDestroy(graph));
}

static void *destroy_graph(void *graph)
{
    return (void *)(intptr_t)aclmdlRIDestroy(graph);
}

Test(task_group, destroying_waits_for_a_queued_update)
{
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = grouped(1, &group);
    aclrtEvent gate = external_event();
    pthread_t thread;
    void *answer = NULL;
    WORKS(aclrtStreamWaitEvent(side, gate));
    WORKS(aclmdlRICaptureTaskUpdateBegin(side, group));
    WORKS(launch(side, scale_kernel, 0, 0, 2.0f));
    WORKS(aclmdlRICaptureTaskUpdateEnd(side));
    cr_assert(eq(int, pthread_create(&thread, NULL, destroy_graph, graph), 0));
    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    WORKS(aclrtRecordEvent(gate, b));
    cr_assert(eq(int, pthread_join(thread, &answer), 0));
    cr_assert(eq(int, (int)(intptr_t)answer, 0));
    WORKS(aclrtSynchronizeStream(side));
    WORKS(aclrtDestroyEvent(gate));
    expect_usable(side);
}

Test(task_group, a_dropped_update_changes_nothing)
{
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = grouped(1, &group);
    aclrtEvent gate = external_event();
    aclrtStream gone = NULL;
    WORKS(aclrtCreateStream(&gone));
    WORKS(aclrtStreamWaitEvent(gone, gate));
    WORKS(aclmdlRICaptureTaskUpdateBegin(gone, group));
    WORKS(launch(gone, scale_kernel, 0, 0, 2.0f));
    WORKS(aclmdlRICaptureTaskUpdateEnd(gone));
    WORKS(aclrtDestroyStreamForce(gone));
    run(graph, b);
    expect_scaled(0, 0, 1.0f);
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyEvent(gate));
}

// ---- when an update takes effect ----

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

// Memory is short at each allocation in turn: the call that needed it says so, and what follows
// works.
Test(task_group, survives_want_of_memory)
{
    for (int64_t n = 0;; n++) {
        aclrtTaskGrp group = NULL;
        aclmdlRI graph = NULL;
        WORKS(aclmdlRICaptureBegin(a, GLOBAL));
        rp_alloc_fail_after(n);
        aclError error = aclmdlRICaptureTaskGrpBegin(a);
        if (error == ACL_SUCCESS) {
            error = aclmdlRICaptureTaskGrpEnd(a, &group);
        }
        const bool grouping_was_cut = !rp_alloc_fail_pending();
        rp_alloc_fail_after(-1);
        WORKS(aclmdlRICaptureEnd(a, &graph));
        WORKS(aclmdlRIDestroy(graph));
        ANSWERS(error == ACL_SUCCESS ? ACL_SUCCESS : ACL_ERROR_RT_MEMORY_ALLOCATION, error);
        if (!grouping_was_cut) {
            break;
        }
        cr_assert(ne(int, error, ACL_SUCCESS));
    }
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = grouped(9, &group); // more than the first room for tasks
    bool was_cut = true;
    for (int64_t n = 0; was_cut; n++) {
        const float factor = (float)(n + 2);
        rp_alloc_fail_after(n);
        aclError error = aclmdlRICaptureTaskUpdateBegin(side, group);
        const bool begun = error == ACL_SUCCESS;
        for (int k = 0; k < 9 && error == ACL_SUCCESS; k++) {
            error = launch(side, scale_kernel, 0, 0, factor);
        }
        if (begun) {
            const aclError ended = aclmdlRICaptureTaskUpdateEnd(side);
            error = error == ACL_SUCCESS ? ended : error;
        }
        was_cut = !rp_alloc_fail_pending();
        rp_alloc_fail_after(-1);
        ANSWERS(was_cut ? ACL_ERROR_RT_MEMORY_ALLOCATION : ACL_SUCCESS, error);
        WORKS(aclrtSynchronizeStream(side));
        expect_usable(side);
    }
    run(graph, b);
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_group, the_default_stream_takes_updates_by_its_handle)
{
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = grouped(1, &group);
    aclrtStream stream = NULL;
    WORKS(aclrtCtxGetCurrentDefaultStream(&stream));
    WORKS(aclmdlRICaptureTaskUpdateBegin(stream, group));
    WORKS(launch(NULL, scale_kernel, 0, 0, 6.0f));
    WORKS(aclmdlRICaptureTaskUpdateEnd(stream));
    run(graph, NULL);
    expect_scaled(0, 0, 6.0f);
    WORKS(aclmdlRIDestroy(graph));
}
