// Tasks of a graph that are disabled through the public API.

#include <hccl/hccl.h>

#include "support/acl_test.h"
#include "support/task_case.h"
#include "support/task_params_case.h"

TestSuite(task_params, .init = params_setup, .fini = params_teardown, .timeout = 60);

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
