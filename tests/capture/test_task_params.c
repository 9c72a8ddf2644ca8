// Parameters of tasks through the public API: what is told of every type of task. How they are
// changed is in test_task_params_set.c. One device, and a communicator of one rank.

#include <string.h>

#include <hccl/hccl.h>
#include <reprise/graph.h>

#include "support/acl_test.h"
#include "support/task_case.h"
#include "support/task_params_case.h"

TestSuite(task_params, .init = params_setup, .fini = params_teardown, .timeout = 60);

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
    for (int i = 0; i < 4; i++) {
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
                NULL, NULL, { 0 } },
        { HCCL_CMD_ALLGATHER, FP32, HCCL_REDUCE_RESERVED, 0, comm, in[0], out[0], 8, NULL, NULL,
                NULL, NULL, { 0 } },
        { HCCL_CMD_REDUCE_SCATTER, FP32, HCCL_REDUCE_MAX, 0, comm, in[0], out[0], 9, NULL, NULL,
                NULL, NULL, { 0 } },
        { HCCL_CMD_REDUCE, FP32, HCCL_REDUCE_MIN, 0, comm, in[0], out[0], 10, NULL, NULL, NULL,
                NULL, { 0 } },
        { HCCL_CMD_SCATTER, FP32, HCCL_REDUCE_RESERVED, 0, comm, in[0], out[0], 11, NULL, NULL,
                NULL, NULL, { 0 } },
        { HCCL_CMD_ALLTOALL, FP32, HCCL_REDUCE_RESERVED, 0, comm, in[0], out[0], 9, NULL, NULL,
                NULL, NULL, { 0 } },
        { HCCL_CMD_ALLGATHER_V, FP32, HCCL_REDUCE_RESERVED, 0, comm, in[0], out[0], 7, &seven, &two,
                NULL, NULL, { 0 } },
        { HCCL_CMD_REDUCE_SCATTER_V, FP32, HCCL_REDUCE_SUM, 0, comm, in[0], out[0], 7, &seven, &two,
                NULL, NULL, { 0 } },
        { HCCL_CMD_BARRIER, HCCL_DATA_TYPE_INT8, HCCL_REDUCE_RESERVED, 0, comm, NULL, NULL, 1, NULL,
                NULL, NULL, NULL, { 0 } },
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
