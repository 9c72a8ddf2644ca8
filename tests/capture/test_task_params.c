// Parameters of tasks through the public API: what is told of every type of task, what can be
// changed and how results follow it, in which states of the graph, and what a failure leaves.
// One device, and a communicator of one rank where a collective is needed.

#include <string.h>

#include <hccl/hccl.h>
#include <reprise/graph.h>
#include <reprise/kernel.h>

#include "support/acl_test.h"

#define ELEMENTS 100
#define BYTES (ELEMENTS * sizeof(float))
#define GLOBAL ACL_MODEL_RI_CAPTURE_MODE_GLOBAL
#define TASKS_MAX 16
#define FP32 HCCL_DATA_TYPE_FP32
#define SUM HCCL_REDUCE_SUM

struct work {
    const float *in;
    float *out;
    float factor;
};

static aclrtStream a, b;
static float *in[2], *out[2]; // device memory
static uint64_t *word;        // 4 of them, device memory
static aclrtFuncHandle scale_kernel, shift_kernel;
static HcclComm comm;

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

static void poison(void)
{
    for (int e = 0; e < ELEMENTS; e++) {
        out[0][e] = -1.0f;
        out[1][e] = -1.0f;
    }
}

static void setup(void)
{
    int32_t device = 0;
    on_device();
    WORKS(aclrtCreateStream(&a));
    WORKS(aclrtCreateStream(&b));
    for (int i = 0; i < 2; i++) {
        WORKS(aclrtMalloc((void **)&in[i], BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
        WORKS(aclrtMalloc((void **)&out[i], BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
        for (int e = 0; e < ELEMENTS; e++) {
            in[i][e] = (float)(e + 1000 * i);
        }
    }
    WORKS(aclrtMalloc((void **)&word, 4 * sizeof(*word), ACL_MEM_MALLOC_HUGE_FIRST));
    memset(word, 0, 4 * sizeof(*word));
    poison();
    WORKS(reprise_kernel_register("scale", scale, &scale_kernel));
    WORKS(reprise_kernel_register("shift", shift, &shift_kernel));
    WORKS((int)HcclCommInitAll(1, &device, &comm));
}

static void teardown(void)
{
    WORKS((int)HcclCommDestroy(comm));
    for (int i = 0; i < 2; i++) {
        WORKS(aclrtFree(in[i]));
        WORKS(aclrtFree(out[i]));
    }
    WORKS(aclrtFree(word));
    WORKS(aclrtDestroyStream(a));
    WORKS(aclrtDestroyStream(b));
    WORKS(reprise_kernel_unregister(scale_kernel));
    WORKS(reprise_kernel_unregister(shift_kernel));
    WORKS(aclrtResetDevice(0));
}

TestSuite(task_params, .init = setup, .fini = teardown, .timeout = 60);

// ---- what the tests are made of ----

static aclError launch(aclrtStream stream, aclrtFuncHandle kernel, int from, int to, float factor)
{
    const struct work work = { in[from], out[to], factor };
    return aclrtLaunchKernel(kernel, 2, &work, sizeof(work), stream);
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

static void run(aclmdlRI graph)
{
    WORKS(aclmdlRIExecuteAsync(graph, b));
    WORKS(aclrtSynchronizeStream(b));
}

// The tasks of a graph's first stream.
static uint32_t tasks_of(aclmdlRI graph, aclmdlRITask tasks[TASKS_MAX])
{
    aclrtStream streams[4] = { NULL };
    uint32_t stream_count = 4, count = TASKS_MAX;
    WORKS(aclmdlRIGetStreams(graph, streams, &stream_count));
    WORKS(aclmdlRIGetTasksByStream(streams[0], tasks, &count));
    return count;
}

static aclmdlRI end_capture(aclmdlRITask tasks[TASKS_MAX], uint32_t count)
{
    aclmdlRI graph = NULL;
    WORKS(aclmdlRICaptureEnd(a, &graph));
    cr_assert(eq(u32, tasks_of(graph, tasks), count));
    return graph;
}

// A graph of one kernel that scales in[0] into out[0] by 2.
static aclmdlRI scaling(aclmdlRITask *task)
{
    aclmdlRITask tasks[TASKS_MAX];
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(launch(a, scale_kernel, 0, 0, 2.0f));
    aclmdlRI graph = end_capture(tasks, 1);
    *task = tasks[0];
    return graph;
}

static aclmdlRI reducing(aclmdlRITask *task)
{
    aclmdlRITask tasks[TASKS_MAX];
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS((int)HcclAllReduce(in[0], out[0], ELEMENTS, FP32, SUM, comm, a));
    aclmdlRI graph = end_capture(tasks, 1);
    *task = tasks[0];
    return graph;
}

static aclmdlRITaskParams params_of(aclmdlRITask task)
{
    aclmdlRITaskParams params;
    memset(&params, 0x5a, sizeof(params));
    WORKS(aclmdlRITaskGetParams(task, &params));
    return params;
}

static aclmdlRITaskParams kernel_params(aclrtFuncHandle kernel, struct work *work)
{
    aclmdlRITaskParams params = { .type = ACL_MODEL_RI_TASK_KERNEL };
    params.kernelTaskParams = (aclmdlRIKernelTaskParams){ .funcHandle = kernel,
        .args = work,
        .isHostArgs = 1,
        .argsSize = sizeof(*work),
        .numBlocks = 5 };
    return params;
}

static void count_call(void *arg)
{
    ++*(int *)arg;
}

// ---- what is told ----

Test(task_params, of_a_kernel)
{
    aclmdlRITask tasks[TASKS_MAX];
    aclrtTaskGrp group = NULL;
    static const char info[] = "shape 1x100";
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(launch(a, scale_kernel, 0, 0, 2.0f));
    WORKS(aclrtSetStreamAttribute(
            a, ACL_STREAM_ATTR_CACHE_OP_INFO, &(aclrtStreamAttrValue){ .cacheOpInfoSwitch = 1 }));
    WORKS(aclrtCacheLastTaskOpInfo(info, sizeof(info)));
    WORKS(aclmdlRICaptureTaskGrpBegin(a));
    WORKS(launch(a, shift_kernel, 1, 1, 3.0f));
    WORKS(aclmdlRICaptureTaskGrpEnd(a, &group));
    aclmdlRI graph = end_capture(tasks, 2);
    const aclmdlRITaskParams first = params_of(tasks[0]), second = params_of(tasks[1]);
    const struct work *work = first.kernelTaskParams.args;
    cr_assert(eq(int, (int)first.type, (int)ACL_MODEL_RI_TASK_KERNEL));
    cr_assert(eq(ptr, first.taskGrp, NULL));
    cr_assert(eq(sz, first.opInfoSize, sizeof(info)));
    cr_assert(eq(int, memcmp(first.opInfoPtr, info, sizeof(info)), 0));
    cr_assert(eq(ptr, first.kernelTaskParams.funcHandle, scale_kernel));
    cr_assert(eq(ptr, first.kernelTaskParams.cfg, NULL));
    cr_assert(eq(u32, first.kernelTaskParams.isHostArgs, 0));
    cr_assert(eq(sz, first.kernelTaskParams.argsSize, sizeof(*work)));
    cr_assert(eq(u32, first.kernelTaskParams.numBlocks, 2));
    cr_assert(work->in == in[0] && work->out == out[0] && work->factor == 2.0f);
    work = second.kernelTaskParams.args;
    cr_assert(eq(ptr, second.taskGrp, group));
    cr_assert(eq(ptr, second.opInfoPtr, NULL));
    cr_assert(eq(ptr, second.kernelTaskParams.funcHandle, shift_kernel));
    cr_assert(work->in == in[1] && work->out == out[1] && work->factor == 3.0f);
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_params, follow_an_update_of_the_group)
{
    aclmdlRITask tasks[TASKS_MAX];
    aclrtTaskGrp group = NULL;
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclmdlRICaptureTaskGrpBegin(a));
    WORKS(launch(a, scale_kernel, 0, 0, 2.0f));
    WORKS((int)HcclAllReduce(in[0], out[1], ELEMENTS, FP32, SUM, comm, a));
    WORKS(aclmdlRICaptureTaskGrpEnd(a, &group));
    aclmdlRI graph = end_capture(tasks, 2);
    const aclmdlRITaskParams before = params_of(tasks[0]);
    WORKS(aclmdlRICaptureTaskUpdateBegin(b, group));
    WORKS(launch(b, shift_kernel, 1, 0, 4.0f));
    WORKS((int)HcclAllReduce(in[1], out[1], 10, FP32, SUM, comm, b));
    WORKS(aclmdlRICaptureTaskUpdateEnd(b));
    WORKS(aclrtSynchronizeStream(b));
    const struct work *work = before.kernelTaskParams.args;
    cr_assert(eq(flt, work->factor, 2.0f)); // valid until the next call for this task
    const aclmdlRITaskParams kernel = params_of(tasks[0]), collective = params_of(tasks[1]);
    work = kernel.kernelTaskParams.args;
    cr_assert(eq(ptr, kernel.kernelTaskParams.funcHandle, shift_kernel));
    cr_assert(work->in == in[1] && work->factor == 4.0f);
    const struct reprise_collective_args *args = collective.kernelTaskParams.args;
    cr_assert(args->sendBuf == in[1] && args->count == 10);
    // What the update brought outlives a change of something else.
    struct reprise_collective_args changed = *args;
    aclmdlRITaskParams params = collective;
    params.taskGrp = NULL;
    changed.count = 20;
    params.kernelTaskParams.args = &changed;
    WORKS(aclmdlRITaskSetParams(tasks[1], &params));
    WORKS(aclmdlRIUpdate(graph));
    run(graph);
    for (int e = 0; e < ELEMENTS; e++) {
        cr_assert(eq(flt, out[0][e], in[1][e] + 4.0f));
        cr_assert(eq(flt, out[1][e], e < 20 ? in[1][e] : -1.0f));
    }
    // And the group can still be updated in the new program.
    WORKS(aclmdlRICaptureTaskUpdateBegin(b, group));
    WORKS(launch(b, scale_kernel, 1, 0, 7.0f));
    WORKS((int)HcclAllReduce(in[0], out[1], ELEMENTS, FP32, SUM, comm, b));
    WORKS(aclmdlRICaptureTaskUpdateEnd(b));
    WORKS(aclrtSynchronizeStream(b));
    run(graph);
    expect_scaled(1, 0, 7.0f);
    expect_scaled(0, 1, 1.0f);
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_params, of_events)
{
    aclmdlRITask tasks[TASKS_MAX];
    aclrtEvent edge = NULL, flag = NULL, record = NULL, wait = NULL;
    WORKS(aclrtCreateEventExWithFlag(&edge, ACL_EVENT_SYNC));
    WORKS(aclrtCreateEventExWithFlag(&record, ACL_EVENT_SYNC));
    WORKS(aclrtCreateEventExWithFlag(&wait, ACL_EVENT_SYNC));
    WORKS(aclrtCreateEventWithFlag(&flag, ACL_EVENT_EXTERNAL));
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclrtRecordEvent(edge, a));
    WORKS(aclrtStreamWaitEvent(a, edge));
    WORKS(aclrtStreamWaitEvent(a, flag));
    WORKS(aclrtResetEvent(flag, a));
    WORKS(aclrtRecordEventWithFlag(record, a, ACL_EVENT_RECORD_EXTERNAL));
    WORKS(aclrtStreamWaitEventWithFlag(a, wait, 0, ACL_EVENT_WAIT_EXTERNAL));
    aclmdlRI graph = end_capture(tasks, 6);
    const struct {
        aclmdlRITaskType type;
        aclrtEvent event;
        uint32_t flags, use;
    } expected[] = {
        { ACL_MODEL_RI_TASK_EVENT_RECORD, edge, ACL_EVENT_SYNC, ACL_EVENT_RECORD_DEFAULT },
        { ACL_MODEL_RI_TASK_EVENT_WAIT, edge, ACL_EVENT_SYNC, ACL_EVENT_WAIT_DEFAULT },
        { ACL_MODEL_RI_TASK_EVENT_WAIT, flag, ACL_EVENT_EXTERNAL, ACL_EVENT_WAIT_DEFAULT },
        { ACL_MODEL_RI_TASK_EVENT_RESET, flag, ACL_EVENT_EXTERNAL, 0 },
        { ACL_MODEL_RI_TASK_EVENT_RECORD, record, ACL_EVENT_SYNC, ACL_EVENT_RECORD_EXTERNAL },
        { ACL_MODEL_RI_TASK_EVENT_WAIT, wait, ACL_EVENT_SYNC, ACL_EVENT_WAIT_EXTERNAL },
    };
    for (int i = 0; i < 6; i++) {
        const aclmdlRITaskParams params = params_of(tasks[i]);
        // The three structs are alike.
        const aclmdlRIEventRecordTaskParams *event = &params.eventRecordTaskParams;
        cr_assert(eq(int, (int)params.type, (int)expected[i].type), "task %d", i);
        cr_assert(eq(ptr, event->event, expected[i].event), "task %d", i);
        cr_assert(eq(u32, event->eventFlag, expected[i].flags), "task %d", i);
        cr_assert(eq(u32, event->recordFlag, expected[i].use), "task %d", i);
        cr_assert(eq(ptr, params.taskGrp, NULL));
    }
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyEvent(edge));
    WORKS(aclrtDestroyEvent(flag));
    WORKS(aclrtDestroyEvent(record));
    WORKS(aclrtDestroyEvent(wait));
}

Test(task_params, of_a_collective)
{
    aclmdlRITask task;
    aclmdlRI graph = reducing(&task);
    const aclmdlRITaskParams params = params_of(task);
    const struct reprise_collective_args *args = params.kernelTaskParams.args;
    cr_assert(eq(int, (int)params.type, (int)ACL_MODEL_RI_TASK_KERNEL));
    cr_assert(ne(ptr, params.kernelTaskParams.funcHandle, NULL));
    cr_assert(eq(ptr, params.kernelTaskParams.funcHandle,
            reprise_collective_function(HCCL_CMD_ALLREDUCE)));
    cr_assert(eq(ptr, params.kernelTaskParams.cfg, NULL));
    cr_assert(eq(u32, params.kernelTaskParams.isHostArgs, 0));
    cr_assert(eq(u32, params.kernelTaskParams.numBlocks, 1));
    cr_assert(eq(sz, params.kernelTaskParams.argsSize, sizeof(*args)));
    cr_assert(args->op == HCCL_CMD_ALLREDUCE && args->dataType == FP32 && args->reduceOp == SUM);
    cr_assert(args->root == 0 && args->comm == comm && args->count == ELEMENTS);
    cr_assert(args->sendBuf == in[0] && args->recvBuf == out[0]);
    cr_assert(args->counts == NULL && args->displs == NULL);
    for (int i = 0; i < 6; i++) {
        cr_assert(eq(u64, args->rsv[i], 0));
    }
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_params, tell_operators_apart)
{
    const uint64_t seven = 7, two = 2;
    aclmdlRITask tasks[TASKS_MAX];
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS((int)HcclBroadcast(out[0], 7, FP32, 0, comm, a));
    WORKS((int)HcclAllGather(in[0], out[0], 8, FP32, comm, a));
    WORKS((int)HcclReduceScatter(in[0], out[0], 9, FP32, HCCL_REDUCE_MAX, comm, a));
    WORKS((int)HcclReduce(in[0], out[0], 10, FP32, HCCL_REDUCE_MIN, 0, comm, a));
    WORKS((int)HcclScatter(in[0], out[0], 11, FP32, 0, comm, a));
    WORKS((int)HcclAlltoAll(in[0], 9, FP32, out[0], 9, FP32, comm, a));
    WORKS((int)HcclAllGatherV(in[0], 7, out[0], &seven, &two, FP32, comm, a));
    WORKS((int)HcclReduceScatterV(in[0], &seven, &two, out[0], 7, FP32, SUM, comm, a));
    WORKS((int)HcclBarrier(comm, a));
    aclmdlRI graph = end_capture(tasks, 9);
    const struct reprise_collective_args expected[] = {
        { HCCL_CMD_BROADCAST, FP32, HCCL_REDUCE_RESERVED, 0, comm, out[0], out[0], 7, NULL, NULL,
                { 0 } },
        { HCCL_CMD_ALLGATHER, FP32, HCCL_REDUCE_RESERVED, 0, comm, in[0], out[0], 8, NULL, NULL,
                { 0 } },
        { HCCL_CMD_REDUCE_SCATTER, FP32, HCCL_REDUCE_MAX, 0, comm, in[0], out[0], 9, NULL, NULL,
                { 0 } },
        { HCCL_CMD_REDUCE, FP32, HCCL_REDUCE_MIN, 0, comm, in[0], out[0], 10, NULL, NULL, { 0 } },
        { HCCL_CMD_SCATTER, FP32, HCCL_REDUCE_RESERVED, 0, comm, in[0], out[0], 11, NULL, NULL,
                { 0 } },
        { HCCL_CMD_ALLTOALL, FP32, HCCL_REDUCE_RESERVED, 0, comm, in[0], out[0], 9, NULL, NULL,
                { 0 } },
        { HCCL_CMD_ALLGATHER_V, FP32, HCCL_REDUCE_RESERVED, 0, comm, in[0], out[0], 7, &seven, &two,
                { 0 } },
        { HCCL_CMD_REDUCE_SCATTER_V, FP32, HCCL_REDUCE_SUM, 0, comm, in[0], out[0], 7, &seven, &two,
                { 0 } },
        { HCCL_CMD_BARRIER, HCCL_DATA_TYPE_INT8, HCCL_REDUCE_RESERVED, 0, comm, NULL, NULL, 1, NULL,
                NULL, { 0 } },
    };
    for (int i = 0; i < 9; i++) {
        aclmdlRITaskParams params = params_of(tasks[i]);
        cr_assert(eq(ptr, params.kernelTaskParams.funcHandle,
                reprise_collective_function(expected[i].op)));
        struct reprise_collective_args args =
                *(const struct reprise_collective_args *)params.kernelTaskParams.args;
        if (expected[i].counts != NULL) { // a copy of the table
            cr_assert(eq(u64, *args.counts, *expected[i].counts));
            cr_assert(eq(u64, *args.displs, *expected[i].displs));
            args.counts = expected[i].counts;
            args.displs = expected[i].displs;
        }
        cr_assert(eq(int, memcmp(&args, &expected[i], sizeof(args)), 0), "operator %d",
                (int)expected[i].op);
        WORKS(aclmdlRITaskSetParams(tasks[i], &params)); // what was told is taken back
    }
    WORKS(aclmdlRIUpdate(graph));
    run(graph);
    for (int e = 0; e < 7; e++) {
        cr_assert(eq(flt, out[0][e], in[0][e + 2])); // of the ReduceScatterV
    }
    cr_assert(eq(flt, out[0][7], in[0][5])); // of the AllGatherV
    cr_assert(eq(flt, out[0][10], in[0][10]));
    cr_assert(eq(ptr, reprise_collective_function(HCCL_CMD_INVALID), NULL));
    cr_assert(eq(ptr, reprise_collective_function(HCCL_CMD_MAX), NULL));
    cr_assert(ne(ptr, reprise_collective_function(HCCL_CMD_BROADCAST),
            reprise_collective_function(HCCL_CMD_ALLREDUCE)));
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_params, are_not_had_by_every_task)
{
    aclmdlRITask tasks[TASKS_MAX];
    aclmdlRITaskParams params;
    aclrtLaunchKernelAttrValue value;
    int calls = 0;
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclrtMemcpyAsync(out[0], BYTES, in[0], BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE, a));
    WORKS(aclrtLaunchHostFunc(a, count_call, &calls));
    aclmdlRI graph = end_capture(tasks, 2);
    for (int i = 0; i < 2; i++) {
        ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRITaskGetParams(tasks[i], &params));
        ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIKernelTaskGetAttribute(tasks[i],
                                                    ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE, &value));
    }
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclmdlRITaskGetParams(tasks[0], NULL));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclmdlRITaskGetParams(NULL, &params));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRITaskGetParams(&calls, &params));
    WORKS(aclmdlRIDestroy(graph));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRITaskGetParams(tasks[0], &params));
}

Test(task_params, include_a_kernels_attributes)
{
    aclmdlRITask tasks[TASKS_MAX];
    aclrtLaunchKernelAttr attr[] = {
        { .id = ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE, .value.schemMode = 1 },
        { .id = ACL_RT_LAUNCH_KERNEL_ATTR_DYN_UBUF_SIZE, .value.dynUBufSize = 4096 },
        { .id = ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT, .value.timeout = 9 },
    };
    aclrtLaunchKernelCfg cfg = { attr, 3 };
    struct work work = { in[0], out[0], 2.0f };
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclrtLaunchKernelV2(scale_kernel, 2, &work, sizeof(work), &cfg, a));
    WORKS((int)HcclAllReduce(in[0], out[0], ELEMENTS, FP32, SUM, comm, a));
    aclmdlRI graph = end_capture(tasks, 2);
    for (int round = 0; round < 3; round++) {
        aclrtLaunchKernelAttrValue value;
        for (int id = 0; id < 12; id++) {
            const bool told = id == 1 || id == 2 || (id >= 6 && id <= 9);
            const uint32_t expected = id == 1 ? 1 : id == 2 ? 4096 : id == 7 ? 9 : 0;
            for (int task = 0; task < 2; task++) {
                memset(&value, 0x5a, sizeof(value));
                ANSWERS(told ? ACL_SUCCESS : ACL_ERROR_RT_PARAM_INVALID,
                        aclmdlRIKernelTaskGetAttribute(
                                tasks[task], (aclrtLaunchKernelAttrId)id, &value));
                if (told) {
                    // The others share the value's first bytes.
                    cr_assert(eq(u32, value.dynUBufSize, task == 0 ? expected : 0), "id %d", id);
                }
            }
        }
        // They stay when the parameters, which do not tell them, are set.
        aclmdlRITaskParams params = params_of(tasks[0]);
        WORKS(aclmdlRITaskSetParams(tasks[0], &params));
        WORKS(aclmdlRIUpdate(graph));
    }
    ANSWERS(ACL_ERROR_INVALID_PARAM,
            aclmdlRIKernelTaskGetAttribute(tasks[0], ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE, NULL));
    ANSWERS(ACL_ERROR_INVALID_PARAM,
            aclmdlRIKernelTaskGetAttribute(NULL, ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE,
                    &(aclrtLaunchKernelAttrValue){ .timeout = 0 }));
    WORKS(aclmdlRIDestroy(graph));
}

// ---- what is changed ----

Test(task_params, of_a_kernel_count_from_the_update_on)
{
    aclmdlRITask task;
    aclmdlRI graph = scaling(&task);
    struct work work = { in[1], out[1], 5.0f };
    aclmdlRITaskParams params = kernel_params(shift_kernel, &work);
    run(graph);
    expect_scaled(0, 0, 2.0f);
    poison();
    WORKS(aclmdlRIUpdate(graph)); // nothing to do
    WORKS(aclmdlRITaskSetParams(task, &params));
    work.factor = -9.0f; // the arguments were copied
    ANSWERS(ACL_ERROR_RT_MODEL_EXECUTE, aclmdlRIExecuteAsync(graph, b));
    WORKS(aclmdlRIUpdate(graph));
    run(graph);
    expect_untouched(0);
    for (int e = 0; e < ELEMENTS; e++) {
        cr_assert(eq(flt, out[1][e], in[1][e] + 5.0f));
    }
    cr_assert(eq(u32, params_of(task).kernelTaskParams.numBlocks, 5));
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_params, of_several_tasks_take_one_update)
{
    aclmdlRITask tasks[TASKS_MAX];
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(launch(a, scale_kernel, 0, 0, 2.0f));
    WORKS(aclrtMemcpyAsync(in[1], BYTES, out[0], BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE, a));
    WORKS(launch(a, scale_kernel, 1, 1, 2.0f));
    aclmdlRI graph = end_capture(tasks, 3);
    for (int round = 1; round <= 100; round++) {
        struct work first = { in[0], out[0], (float)round };
        struct work third = { in[1], out[1], 3.0f };
        aclmdlRITaskParams params = kernel_params(scale_kernel, &first);
        WORKS(aclmdlRITaskSetParams(tasks[0], &params));
        params = kernel_params(scale_kernel, &third);
        WORKS(aclmdlRITaskSetParams(tasks[2], &params));
        first.factor = (float)(10 * round);
        params = kernel_params(scale_kernel, &first);
        WORKS(aclmdlRITaskSetParams(tasks[0], &params)); // the last one counts
        WORKS(aclmdlRIUpdate(graph));
        run(graph);
        expect_scaled(0, 1, (float)(30 * round));
    }
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_params, of_values)
{
    aclmdlRITask tasks[TASKS_MAX];
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclrtValueWrite(&word[0], 11, 0, a));
    WORKS(aclrtValueWait(&word[0], 11, ACL_STREAM_WAIT_VALUE_EQ, a));
    aclmdlRI graph = end_capture(tasks, 2);
    run(graph);
    cr_assert(eq(u64, word[0], 11));
    aclmdlRITaskParams write = params_of(tasks[0]), wait = params_of(tasks[1]);
    cr_assert(eq(int, (int)write.type, (int)ACL_MODEL_RI_TASK_VALUE_WRITE));
    cr_assert(eq(ptr, write.valueWriteTaskParams.devAddr, &word[0]));
    cr_assert(eq(u64, write.valueWriteTaskParams.value, 11));
    cr_assert(eq(int, (int)wait.type, (int)ACL_MODEL_RI_TASK_VALUE_WAIT));
    cr_assert(eq(ptr, wait.valueWaitTaskParams.devAddr, &word[0]));
    cr_assert(eq(u64, wait.valueWaitTaskParams.value, 11));
    cr_assert(eq(u32, wait.valueWaitTaskParams.flag, ACL_STREAM_WAIT_VALUE_EQ));
    write.valueWriteTaskParams = (aclmdlRIValueWriteTaskParams){ &word[1], 22 };
    wait.valueWaitTaskParams =
            (aclmdlRIValueWaitTaskParams){ &word[2], 5, ACL_STREAM_WAIT_VALUE_GEQ };
    WORKS(aclmdlRITaskSetParams(tasks[0], &write));
    WORKS(aclmdlRITaskSetParams(tasks[1], &wait));
    WORKS(aclmdlRIUpdate(graph));
    word[0] = 0;
    WORKS(aclmdlRIExecuteAsync(graph, b));
    ANSWERS(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(b, 20));
    cr_assert(eq(u64, word[1], 22));
    WORKS(aclrtValueWrite(&word[2], 6, 0, a));
    WORKS(aclrtSynchronizeStream(b));
    cr_assert(eq(u64, word[0], 0));
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_params, of_a_collective_are_checked_as_by_its_call)
{
    aclmdlRITask task;
    for (int what = 0; what < 18; what++) {
        aclmdlRI graph = reducing(&task);
        aclmdlRITaskParams params = params_of(task);
        struct reprise_collective_args args =
                *(const struct reprise_collective_args *)params.kernelTaskParams.args;
        params.kernelTaskParams.args = &args;
        int code = ACL_ERROR_RT_PARAM_INVALID;
        args.sendBuf = in[1];
        args.count = 60;
        switch (what) {
        case 0:
        case 1: // either way
            params.kernelTaskParams.isHostArgs = (uint32_t)what;
            code = ACL_SUCCESS;
            break;
        case 2:
            args.op = HCCL_CMD_BROADCAST;
            break;
        case 3:
            args.dataType = HCCL_DATA_TYPE_INT32;
            break;
        case 4:
            args.reduceOp = HCCL_REDUCE_MAX;
            break;
        case 5:
            args.root = 1;
            break;
        case 6:
            args.comm = &args;
            break;
        case 7:
            args.rsv[5] = 1;
            break;
        case 8:
            args.count = 0;
            break;
        case 9:
            args.count = UINT64_MAX / 8;
            break;
        case 10:
            args.count = 1 << 20; // past the end of the allocation
            break;
        case 11:
            args.sendBuf = (float *)args.recvBuf + 1; // overlaps
            break;
        case 12:
            args.sendBuf = NULL;
            code = ACL_ERROR_INVALID_PARAM;
            break;
        case 13:
            args.recvBuf = NULL;
            code = ACL_ERROR_INVALID_PARAM;
            break;
        case 14:
            params.kernelTaskParams.argsSize--;
            break;
        case 15:
            params.kernelTaskParams.funcHandle = scale_kernel;
            break;
        case 16:
            params.kernelTaskParams.funcHandle = NULL;
            break;
        case 17:
            args.counts = &args.count; // an AllReduce has none
            break;
        }
        ANSWERS(code, aclmdlRITaskSetParams(task, &params));
        if (code == ACL_SUCCESS) {
            poison();
            WORKS(aclmdlRIUpdate(graph));
            run(graph);
            for (int e = 0; e < ELEMENTS; e++) {
                cr_assert(eq(flt, out[0][e], e < 60 ? in[1][e] : -1.0f), "element %d", e);
            }
        } else {
            ANSWERS(ACL_ERROR_RT_MODEL_EXECUTE, aclmdlRIExecuteAsync(graph, b));
            ANSWERS(ACL_ERROR_RT_MODEL_UPDATE_FAILED, aclmdlRIUpdate(graph));
        }
        WORKS(aclmdlRIDestroy(graph));
    }
}

Test(task_params, of_a_collective_on_host_memory_are_classified_anew)
{
    aclmdlRITask task;
    float *plain = malloc(BYTES);
    aclmdlRI graph = reducing(&task);
    aclmdlRITaskParams params = params_of(task);
    struct reprise_collective_args args =
            *(const struct reprise_collective_args *)params.kernelTaskParams.args;
    cr_assert(ne(ptr, plain, NULL));
    args.recvBuf = plain;
    params.kernelTaskParams.args = &args;
    WORKS(aclmdlRITaskSetParams(task, &params));
    WORKS(aclmdlRIUpdate(graph));
    memset(plain, 0, BYTES);
    run(graph);
    cr_assert(eq(int, memcmp(plain, in[0], BYTES), 0));
    expect_untouched(0);
    WORKS(aclmdlRIDestroy(graph));
    free(plain);
}

Test(task_params, that_are_wrong_leave_a_graph_that_cannot_run)
{
    aclmdlRITask task;
    for (int what = 0; what < 9; what++) {
        aclmdlRI graph = scaling(&task);
        struct work work = { in[1], out[1], 5.0f };
        aclmdlRITaskParams params = kernel_params(scale_kernel, &work);
        aclrtLaunchKernelAttr attr = { .id = (aclrtLaunchKernelAttrId)99 };
        aclrtLaunchKernelCfg cfg = { &attr, 1 };
        int code = ACL_ERROR_RT_PARAM_INVALID;
        switch (what) {
        case 0:
            params.type = ACL_MODEL_RI_TASK_VALUE_WRITE;
            break;
        case 1:
            params.type = ACL_MODEL_RI_TASK_DEFAULT;
            break;
        case 2:
            params.taskGrp = &params;
            break;
        case 3:
            params.kernelTaskParams.args = NULL;
            break;
        case 4:
            params.kernelTaskParams.argsSize = 0;
            break;
        case 5:
            params.kernelTaskParams.numBlocks = 0;
            break;
        case 6:
            params.kernelTaskParams.funcHandle = &params;
            code = ACL_ERROR_RT_INVALID_HANDLE;
            break;
        case 7:
            params.kernelTaskParams.cfg = &cfg;
            break;
        case 8:
            params.opInfoPtr = &params;
            params.opInfoSize = 64 * 1024 + 1;
            break;
        }
        ANSWERS(code, aclmdlRITaskSetParams(task, &params));
        ANSWERS(ACL_ERROR_RT_MODEL_EXECUTE, aclmdlRIExecuteAsync(graph, b));
        ANSWERS(ACL_ERROR_RT_MODEL_UPDATE_FAILED, aclmdlRIUpdate(graph));
        params = kernel_params(scale_kernel, &work);
        ANSWERS(ACL_ERROR_RT_MODEL_UPDATE_FAILED, aclmdlRITaskSetParams(task, &params));
        ANSWERS(ACL_ERROR_RT_MODEL_UPDATE_FAILED, aclmdlRITaskDisable(task));
        (void)params_of(task); // it can still be looked at
        WORKS(aclmdlRIDestroy(graph));
    }
    expect_untouched(1);
}

Test(task_params, of_tasks_that_have_none_to_change)
{
    aclmdlRITask tasks[TASKS_MAX];
    aclrtEvent event = NULL;
    WORKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    for (int i = 0; i < 3; i++) {
        WORKS(aclmdlRICaptureBegin(a, GLOBAL));
        WORKS(aclrtRecordEvent(event, a));
        WORKS(aclrtStreamWaitEvent(a, event));
        WORKS(aclrtMemcpyAsync(out[0], BYTES, in[0], BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE, a));
        aclmdlRI graph = end_capture(tasks, 3);
        aclmdlRITaskParams params = { .type = ACL_MODEL_RI_TASK_DEFAULT };
        if (i < 2) {
            params = params_of(tasks[i]);
        }
        ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRITaskSetParams(tasks[i], &params));
        ANSWERS(ACL_ERROR_RT_MODEL_EXECUTE, aclmdlRIExecuteAsync(graph, b));
        WORKS(aclmdlRIDestroy(graph));
    }
    WORKS(aclrtDestroyEvent(event));
}

Test(task_params, calls_that_name_no_task_change_nothing)
{
    aclmdlRITask task;
    aclmdlRI graph = scaling(&task);
    aclmdlRITaskParams params = params_of(task);
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclmdlRITaskSetParams(NULL, &params));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclmdlRITaskSetParams(task, NULL));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRITaskSetParams(&params, &params));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclmdlRITaskDisable(NULL));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRITaskDisable(&params));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclmdlRIUpdate(NULL));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRIUpdate(&params));
    run(graph);
    expect_scaled(0, 0, 2.0f);
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_params, are_not_changed_while_the_graph_is_in_use)
{
    aclmdlRITask tasks[TASKS_MAX];
    aclrtEvent gate = NULL;
    aclmdlRICaptureStatus status;
    aclmdlRI graph = NULL;
    WORKS(aclrtCreateEventWithFlag(&gate, ACL_EVENT_EXTERNAL));
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(launch(a, scale_kernel, 0, 0, 2.0f));
    WORKS(aclmdlRICaptureGetInfo(a, &status, &graph));
    cr_assert(eq(u32, tasks_of(graph, tasks), 1));
    aclmdlRITaskParams params = params_of(tasks[0]);
    ANSWERS(ACL_ERROR_RT_MODEL_UPDATE_FAILED, aclmdlRITaskSetParams(tasks[0], &params));
    ANSWERS(ACL_ERROR_RT_MODEL_UPDATE_FAILED, aclmdlRITaskDisable(tasks[0]));
    ANSWERS(ACL_ERROR_RT_MODEL_UPDATE_FAILED, aclmdlRIUpdate(graph));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    WORKS(aclrtStreamWaitEvent(b, gate));
    WORKS(aclmdlRIExecuteAsync(graph, b));
    ANSWERS(ACL_ERROR_RT_MODEL_UPDATE_FAILED, aclmdlRITaskSetParams(tasks[0], &params));
    ANSWERS(ACL_ERROR_RT_MODEL_UPDATE_FAILED, aclmdlRITaskDisable(tasks[0]));
    WORKS(aclmdlRIUpdate(graph)); // READY as it is
    WORKS(aclrtRecordEvent(gate, a));
    WORKS(aclrtSynchronizeStream(b));
    expect_scaled(0, 0, 2.0f);
    struct work work = { in[1], out[1], 5.0f };
    params = kernel_params(scale_kernel, &work);
    WORKS(aclmdlRITaskSetParams(tasks[0], &params));
    WORKS(aclmdlRIUpdate(graph));
    run(graph);
    expect_scaled(1, 1, 5.0f);
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyEvent(gate));
}

Test(task_params, wait_for_a_queued_update_of_a_group)
{
    aclmdlRITask tasks[TASKS_MAX];
    aclrtTaskGrp group = NULL;
    aclrtEvent gate = NULL;
    aclrtStream side = NULL;
    WORKS(aclrtCreateStream(&side));
    WORKS(aclrtCreateEventWithFlag(&gate, ACL_EVENT_EXTERNAL));
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclmdlRICaptureTaskGrpBegin(a));
    WORKS(launch(a, scale_kernel, 0, 0, 2.0f));
    WORKS(aclmdlRICaptureTaskGrpEnd(a, &group));
    WORKS(launch(a, scale_kernel, 0, 1, 2.0f));
    aclmdlRI graph = end_capture(tasks, 2);
    struct work work = { in[1], out[1], 5.0f };
    aclmdlRITaskParams params = kernel_params(scale_kernel, &work);
    WORKS(aclmdlRITaskSetParams(tasks[1], &params));
    WORKS(aclrtStreamWaitEvent(side, gate));
    WORKS(aclmdlRICaptureTaskUpdateBegin(side, group));
    WORKS(launch(side, scale_kernel, 1, 0, 4.0f));
    WORKS(aclmdlRICaptureTaskUpdateEnd(side));
    ANSWERS(ACL_ERROR_RT_MODEL_UPDATE_FAILED, aclmdlRITaskSetParams(tasks[1], &params));
    ANSWERS(ACL_ERROR_RT_MODEL_UPDATE_FAILED, aclmdlRIUpdate(graph));
    WORKS(aclrtRecordEvent(gate, b));
    WORKS(aclrtSynchronizeStream(side));
    WORKS(aclmdlRIUpdate(graph));
    run(graph);
    expect_scaled(1, 0, 4.0f);
    expect_scaled(1, 1, 5.0f);
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyEvent(gate));
    WORKS(aclrtDestroyStream(side));
}

// ---- disabling ----

Test(task_params, a_disabled_task_is_skipped_from_the_update_on)
{
    aclmdlRITask tasks[TASKS_MAX];
    aclrtTaskGrp group = NULL;
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(launch(a, scale_kernel, 0, 0, 2.0f));
    WORKS((int)HcclAllReduce(in[1], out[1], ELEMENTS, FP32, SUM, comm, a));
    WORKS(aclrtValueWrite(&word[0], 3, 0, a));
    WORKS(aclrtValueWrite(&word[1], 4, 0, a));
    WORKS(aclmdlRICaptureTaskGrpBegin(a));
    WORKS(launch(a, scale_kernel, 0, 1, 9.0f));
    WORKS(aclmdlRICaptureTaskGrpEnd(a, &group));
    aclmdlRI graph = end_capture(tasks, 5);
    for (int i = 0; i < 5; i++) {
        if (i != 1 && i != 3) {
            WORKS(aclmdlRITaskDisable(tasks[i]));
        }
    }
    ANSWERS(ACL_ERROR_RT_MODEL_EXECUTE, aclmdlRIExecuteAsync(graph, b));
    WORKS(aclmdlRIUpdate(graph));
    run(graph);
    expect_untouched(0);
    expect_scaled(1, 1, 1.0f);
    cr_assert(word[0] == 0 && word[1] == 4);
    const struct work *work = params_of(tasks[4]).kernelTaskParams.args;
    cr_assert(eq(flt, work->factor, 9.0f)); // it is still there
    WORKS(aclmdlRICaptureTaskUpdateBegin(a, group));
    WORKS(launch(a, scale_kernel, 0, 1, 8.0f));
    WORKS(aclmdlRICaptureTaskUpdateEnd(a));
    WORKS(aclrtSynchronizeStream(a));
    run(graph);
    expect_scaled(1, 1, 1.0f);
    WORKS(aclmdlRITaskDisable(tasks[1])); // the last task of a communicator
    WORKS(aclmdlRIUpdate(graph));
    poison();
    run(graph);
    run(graph);
    expect_untouched(1);
    WORKS((int)HcclAllReduce(in[1], out[1], ELEMENTS, FP32, SUM, comm, b));
    WORKS(aclrtSynchronizeStream(b));
    expect_scaled(1, 1, 1.0f);
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_params, an_edge_can_be_disabled)
{
    aclmdlRITask tasks[TASKS_MAX];
    aclrtEvent fork = NULL, join = NULL;
    aclrtStream side = NULL;
    aclmdlRI graph = NULL;
    WORKS(aclrtCreateStream(&side));
    WORKS(aclrtCreateEventExWithFlag(&fork, ACL_EVENT_SYNC));
    WORKS(aclrtCreateEventExWithFlag(&join, ACL_EVENT_SYNC));
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclrtRecordEvent(fork, a));
    WORKS(aclrtStreamWaitEvent(side, fork));
    WORKS(launch(side, scale_kernel, 1, 1, 2.0f));
    WORKS(aclrtRecordEvent(join, side));
    WORKS(launch(a, scale_kernel, 0, 0, 2.0f));
    WORKS(aclrtStreamWaitEvent(a, join));
    graph = end_capture(tasks, 3);
    WORKS(aclmdlRITaskDisable(tasks[0])); // the record: its wait is none any more
    WORKS(aclmdlRITaskDisable(tasks[2]));
    WORKS(aclmdlRIUpdate(graph));
    run(graph);
    expect_scaled(0, 0, 2.0f);
    expect_scaled(1, 1, 2.0f);
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyEvent(fork));
    WORKS(aclrtDestroyEvent(join));
    WORKS(aclrtDestroyStream(side));
}

Test(task_params, a_task_without_parameters_cannot_be_disabled)
{
    aclmdlRITask tasks[TASKS_MAX];
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclrtMemcpyAsync(out[0], BYTES, in[0], BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE, a));
    aclmdlRI graph = end_capture(tasks, 1);
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRITaskDisable(tasks[0]));
    ANSWERS(ACL_ERROR_RT_MODEL_EXECUTE, aclmdlRIExecuteAsync(graph, b));
    ANSWERS(ACL_ERROR_RT_MODEL_UPDATE_FAILED, aclmdlRIUpdate(graph));
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_params, sub_graphs_change_with_their_root_alone)
{
    aclmdlRICaptureStatus status;
    aclmdlRI graph = NULL, body = NULL;
    aclmdlRICondHandle cond = NULL;
    aclmdlRITask tasks[TASKS_MAX];
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(aclmdlRICaptureGetInfo(a, &status, &graph));
    WORKS(aclmdlRICondHandleCreate(graph, 1, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &cond));
    WORKS(launch(a, scale_kernel, 0, 0, 2.0f));
    const aclmdlRICondTaskParams if_params = { cond, ACL_MODEL_RI_COND_TYPE_IF, 1, &body };
    WORKS(aclmdlRIAddCondTask(if_params, a, 0));
    WORKS(aclmdlRICaptureToModelRIBegin(b, body, GLOBAL));
    WORKS(launch(b, scale_kernel, 1, 1, 2.0f));
    WORKS(aclmdlRICaptureEnd(b, NULL));
    graph = end_capture(tasks, 2);
    ANSWERS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclmdlRIUpdate(body));
    aclmdlRITaskParams params;
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRITaskGetParams(tasks[1], &params));
    struct work work = { in[0], out[0], 5.0f };
    params = kernel_params(scale_kernel, &work);
    WORKS(aclmdlRITaskSetParams(tasks[0], &params));
    WORKS(aclmdlRIUpdate(graph)); // the sub-graph is frozen anew with it
    for (int round = 0; round < 3; round++) {
        poison();
        run(graph);
        expect_scaled(0, 0, 5.0f);
        expect_scaled(1, 1, 2.0f);
    }
    WORKS(aclmdlRIDestroy(graph));
}

Test(task_params, an_info_is_kept_until_the_kernel_is_another)
{
    aclmdlRITask task;
    aclmdlRI graph = scaling(&task);
    static char info[] = "scale";
    struct work work = { in[0], out[0], 3.0f };
    aclmdlRITaskParams params = kernel_params(scale_kernel, &work);
    params.opInfoPtr = info;
    params.opInfoSize = sizeof(info);
    WORKS(aclmdlRITaskSetParams(task, &params));
    cr_assert(eq(str, (char *)params_of(task).opInfoPtr, info));
    params = kernel_params(scale_kernel, &work);
    WORKS(aclmdlRITaskSetParams(task, &params));
    cr_assert(eq(str, (char *)params_of(task).opInfoPtr, info));
    params = params_of(task); // its own pointer, too
    WORKS(aclmdlRITaskSetParams(task, &params));
    cr_assert(eq(str, (char *)params_of(task).opInfoPtr, info));
    params = kernel_params(shift_kernel, &work);
    WORKS(aclmdlRITaskSetParams(task, &params));
    cr_assert(eq(ptr, params_of(task).opInfoPtr, NULL));
    WORKS(aclmdlRIDestroy(graph));
}
