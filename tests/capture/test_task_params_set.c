// Parameters of tasks through the public API: what can be changed and how results follow it, in
// which states of the graph, and what a failure leaves.

#include <stdlib.h>
#include <string.h>

#include <hccl/hccl.h>
#include <reprise/graph.h>

#include "support/acl_test.h"
#include "support/task_case.h"
#include "support/task_params_case.h"

TestSuite(task_params, .init = params_setup, .fini = params_teardown, .timeout = 60);

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
            args.rsv[3] = 1;
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
