// Updates of task groups: what they must and must not be, and the ends of things that an update
// needs. When they take effect is in test_task_update_order.c.

#include <pthread.h>
#include <time.h>

#include <hccl/hccl.h>

#include "support/acl_test.h"
#include "support/task_case.h"
#include "support/task_group_case.h"

TestSuite(task_group, .init = group_setup, .fini = group_teardown, .timeout = 120);

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
