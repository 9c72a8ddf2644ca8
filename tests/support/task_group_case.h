#ifndef TESTS_SUPPORT_TASK_GROUP_CASE_H
#define TESTS_SUPPORT_TASK_GROUP_CASE_H

/*
 * For suites of task groups: groups of kernels, tasks that no group takes, and the
 * proof that a stream is as good as new.
 */

#include "support/task_case.h"

static aclrtStream side; /* collects updates */

static inline void group_setup(void)
{
    work_setup();
    WORKS(aclrtCreateStream(&side));
}

static inline void group_teardown(void)
{
    WORKS(aclrtDestroyStream(side));
    work_teardown();
}

static inline aclError launch(
        aclrtStream stream, aclrtFuncHandle kernel, int from, int to, float factor)
{
    return launch_blocks(stream, kernel, 3, from, to, factor);
}

/** grouped: a graph of `count` kernels in one group: kernel k scales in[k % 2] into out[k % 2] by
 *  k + 1. */
static inline aclmdlRI grouped(int count, aclrtTaskGrp *group)
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

static inline void run(aclmdlRI graph, aclrtStream stream)
{
    WORKS(aclmdlRIExecuteAsync(graph, stream));
    WORKS(aclrtSynchronizeStream(stream));
}

static inline aclrtEvent external_event(void)
{
    aclrtEvent event = NULL;
    WORKS(aclrtCreateEventWithFlag(&event, ACL_EVENT_EXTERNAL));
    return event;
}

static inline aclrtEvent sync_event(void)
{
    aclrtEvent event = NULL;
    WORKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    return event;
}

/** expect_usable: the stream captures nothing, runs what it is given and can capture anew. */
static inline void expect_usable(aclrtStream stream)
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

/** submit_foreign: a task that no group takes. */
static inline aclError submit_foreign(
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

#endif
