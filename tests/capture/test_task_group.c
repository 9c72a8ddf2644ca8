// Task groups through the public API, with kernels whose results an oracle computes: what is
// recorded, how updates change it, and what is refused while recording. One device, and a
// communicator of one rank where a collective is needed; several ranks are in
// tests/ranks/test_update.c.

#include <string.h>

#include <hccl/hccl.h>

#include "base/alloc.h"
#include "support/acl_test.h"
#include "support/task_case.h"
#include "support/task_group_case.h"

TestSuite(task_group, .init = group_setup, .fini = group_teardown, .timeout = 120);

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

// ---- want of memory ----

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
