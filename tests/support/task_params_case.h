#ifndef TESTS_SUPPORT_TASK_PARAMS_CASE_H
#define TESTS_SUPPORT_TASK_PARAMS_CASE_H

/*
 * For suites of the parameters of tasks: graphs of one task, their tasks, and the
 * parameters of a kernel.
 */

#include <string.h>

#include <hccl/hccl.h>

#include "support/task_case.h"

#define TASKS_MAX 16
#define FP32 HCCL_DATA_TYPE_FP32
#define SUM HCCL_REDUCE_SUM

static uint64_t *word; /* 4 of them, device memory */
static HcclComm comm;

static inline void params_setup(void)
{
    int32_t device = 0;
    work_setup();
    WORKS(aclrtMalloc((void **)&word, 4 * sizeof(*word), ACL_MEM_MALLOC_HUGE_FIRST));
    memset(word, 0, 4 * sizeof(*word));
    WORKS((int)HcclCommInitAll(1, &device, &comm));
}

static inline void params_teardown(void)
{
    WORKS((int)HcclCommDestroy(comm));
    WORKS(aclrtFree(word));
    work_teardown();
}

static inline aclError launch(
        aclrtStream stream, aclrtFuncHandle kernel, int from, int to, float factor)
{
    return launch_blocks(stream, kernel, 2, from, to, factor);
}

static inline void run(aclmdlRI graph)
{
    WORKS(aclmdlRIExecuteAsync(graph, b));
    WORKS(aclrtSynchronizeStream(b));
}

/** tasks_of: the tasks of a graph's first stream. */
static inline uint32_t tasks_of(aclmdlRI graph, aclmdlRITask tasks[TASKS_MAX])
{
    aclrtStream streams[4] = { NULL };
    uint32_t stream_count = 4, count = TASKS_MAX;
    WORKS(aclmdlRIGetStreams(graph, streams, &stream_count));
    WORKS(aclmdlRIGetTasksByStream(streams[0], tasks, &count));
    return count;
}

static inline aclmdlRI end_capture(aclmdlRITask tasks[TASKS_MAX], uint32_t count)
{
    aclmdlRI graph = NULL;
    WORKS(aclmdlRICaptureEnd(a, &graph));
    cr_assert(eq(u32, tasks_of(graph, tasks), count));
    return graph;
}

/** scaling: a graph of one kernel that scales in[0] into out[0] by 2. */
static inline aclmdlRI scaling(aclmdlRITask *task)
{
    aclmdlRITask tasks[TASKS_MAX];
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS(launch(a, scale_kernel, 0, 0, 2.0f));
    aclmdlRI graph = end_capture(tasks, 1);
    *task = tasks[0];
    return graph;
}

static inline aclmdlRI reducing(aclmdlRITask *task)
{
    aclmdlRITask tasks[TASKS_MAX];
    WORKS(aclmdlRICaptureBegin(a, GLOBAL));
    WORKS((int)HcclAllReduce(in[0], out[0], ELEMENTS, FP32, SUM, comm, a));
    aclmdlRI graph = end_capture(tasks, 1);
    *task = tasks[0];
    return graph;
}

static inline aclmdlRITaskParams params_of(aclmdlRITask task)
{
    aclmdlRITaskParams params;
    memset(&params, 0x5a, sizeof(params));
    WORKS(aclmdlRITaskGetParams(task, &params));
    return params;
}

static inline aclmdlRITaskParams kernel_params(aclrtFuncHandle kernel, struct work *work)
{
    aclmdlRITaskParams params = { .type = ACL_MODEL_RI_TASK_KERNEL };
    params.kernelTaskParams = (aclmdlRIKernelTaskParams){ .funcHandle = kernel,
        .args = work,
        .isHostArgs = 1,
        .argsSize = sizeof(*work),
        .numBlocks = 5 };
    return params;
}

#endif
