/* Graphs (model running instances): capture, replay, update, build,
 * introspection. */
#ifndef REPRISE_RT_MODEL_RI_H
#define REPRISE_RT_MODEL_RI_H

#include "rt_handles.h"
#include "rt_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* While a stream is capturing, what is submitted to it becomes nodes of a
 * graph and does not run until aclmdlRIExecuteAsync(). Everything that
 * captured tasks refer to (buffers, kernels, user data of host functions,
 * events, communicators) must live until the graph is destroyed. */

/** Who may make unsafe calls (synchronous copies and fills, copies of pageable
 * memory) while a capture is open: no thread of the context; any but the
 * capturing one; every one. */
typedef enum aclmdlRICaptureMode {
    ACL_MODEL_RI_CAPTURE_MODE_GLOBAL = 0,
    ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL = 1,
    ACL_MODEL_RI_CAPTURE_MODE_RELAXED = 2,
} aclmdlRICaptureMode;

/** State of a stream. INVALIDATED: the capture failed and can only be ended. */
typedef enum aclmdlRICaptureStatus {
    ACL_MODEL_RI_CAPTURE_STATUS_NONE = 0,
    ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE = 1,
    ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED = 2,
} aclmdlRICaptureStatus;

/** Kinds of task that can be read and changed; everything else is DEFAULT. */
typedef enum aclmdlRITaskType {
    ACL_MODEL_RI_TASK_DEFAULT = 0,
    ACL_MODEL_RI_TASK_KERNEL = 1,
    ACL_MODEL_RI_TASK_EVENT_RECORD = 2,
    ACL_MODEL_RI_TASK_EVENT_WAIT = 3,
    ACL_MODEL_RI_TASK_EVENT_RESET = 4,
    ACL_MODEL_RI_TASK_VALUE_WRITE = 5,
    ACL_MODEL_RI_TASK_VALUE_WAIT = 6,
} aclmdlRITaskType;

/** Kinds of conditional node. */
typedef enum aclmdlRICondTaskType {
    ACL_MODEL_RI_COND_TYPE_IF = 0,
    ACL_MODEL_RI_COND_TYPE_WHILE = 1,
    ACL_MODEL_RI_COND_TYPE_SWITCH = 2,
} aclmdlRICondTaskType;

/** Whether the condition word gets its default at the start of each execution;
 * 0: it does not. */
typedef enum aclmdlRICondHandleFlag {
    ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT = 1,
} aclmdlRICondHandleFlag;

/** How much aclmdlRIDebugJsonPrint() writes; VERBOSE adds kernel arguments. */
#define ACL_MDLRI_DEBUG_JSON_PRINT_SUMMARY 0x0UL
#define ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE 0x1UL

/** A conditional node. The call stores `size` new sub-graphs in `modelRIArray`. */
typedef struct aclmdlRICondTaskParams {
    aclmdlRICondHandle handle;
    aclmdlRICondTaskType type;
    uint32_t size;
    aclmdlRI *modelRIArray;
} aclmdlRICondTaskParams;

/** A kernel launch. `args` is host memory where `isHostArgs` is 1. */
typedef struct aclmdlRIKernelTaskParams {
    aclrtFuncHandle funcHandle;
    aclrtLaunchKernelCfg *cfg;
    void *args;
    uint32_t isHostArgs;
    size_t argsSize;
    uint32_t numBlocks;
    uint32_t rsv[10];
} aclmdlRIKernelTaskParams;

/** A record, wait or reset of an event. */
typedef struct aclmdlRIEventRecordTaskParams {
    aclrtEvent event;
    uint32_t eventFlag;
    uint32_t recordFlag;
} aclmdlRIEventRecordTaskParams;

typedef struct aclmdlRIEventWaitTaskParams {
    aclrtEvent event;
    uint32_t eventFlag;
    uint32_t waitFlag;
} aclmdlRIEventWaitTaskParams;

typedef struct aclmdlRIEventResetTaskParams {
    aclrtEvent event;
    uint32_t eventFlag;
    uint32_t resetFlag;
} aclmdlRIEventResetTaskParams;

/** A write of, or wait for, 8 bytes of device memory. */
typedef struct aclmdlRIValueWriteTaskParams {
    void *devAddr;
    uint64_t value;
} aclmdlRIValueWriteTaskParams;

typedef struct aclmdlRIValueWaitTaskParams {
    void *devAddr;
    uint64_t value;
    uint32_t flag;
} aclmdlRIValueWaitTaskParams;

/** A task: the member of the union that `type` names is used. */
typedef struct aclmdlRITaskParams {
    aclmdlRITaskType type;
    uint32_t rsv0[3];
    aclrtTaskGrp taskGrp;
    void *opInfoPtr;
    size_t opInfoSize;
    uint8_t rsv1[32];
    union {
        uint8_t rsv2[128];
        aclmdlRIKernelTaskParams kernelTaskParams;
        aclmdlRIEventRecordTaskParams eventRecordTaskParams;
        aclmdlRIEventWaitTaskParams eventWaitTaskParams;
        aclmdlRIEventResetTaskParams eventResetTaskParams;
        aclmdlRIValueWriteTaskParams valueWriteTaskParams;
        aclmdlRIValueWaitTaskParams valueWaitTaskParams;
    };
} aclmdlRITaskParams;

/** Starts capturing a stream, which is not the default stream. NULL:
 * ACL_ERROR_INVALID_PARAM; already capturing: ACL_ERROR_RT_STREAM_CAPTURED. */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode);

/** State of a stream and the graph that it captures into (NULL when it does
 * not); one of the two pointers may be NULL. */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureGetInfo(
        aclrtStream stream, aclmdlRICaptureStatus *status, aclmdlRI *modelRI);

/** Swaps `*mode` with the mode of this thread, GLOBAL at first. Use it in pairs
 * around unsafe calls. */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode *mode);

/** Ends the capture that was begun on `stream`, in the same thread unless the
 * mode is RELAXED, with all streams joined back. On failure, except on a stream
 * that did not begin it, the capture is over, the graph is gone and `*modelRI`
 * is NULL. */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *modelRI);

/** Captures a stream, which does not capture yet, into a sub-graph of aclmdlRIAddCondTask().
 * aclmdlRICaptureEnd() on that stream ends it, before the capture of the root ends; its
 * `modelRI` may be NULL, and gets the same handle otherwise. Once a sub-graph. */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureToModelRIBegin(
        aclrtStream stream, aclmdlRI modelRI, aclmdlRICaptureMode mode);

/** Queues one execution of a graph on a stream of the same context, NULL
 * included. Costs the same for any number of tasks. */
ACL_FUNC_VISIBILITY aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream);

/** Executes a graph of aclmdlRIBuildBegin() and waits at most `timeout` ms (-1:
 * no limit). A captured graph: ACL_ERROR_RT_PARAM_INVALID. */
ACL_FUNC_VISIBILITY aclError aclmdlRIExecute(aclmdlRI modelRI, int32_t timeout);

/** Destroys a graph. While it runs it waits some seconds, then
 * ACL_ERROR_RT_MODEL_RUNNING; while capturing: ACL_ERROR_RT_MODEL_CAPTURED. */
ACL_FUNC_VISIBILITY aclError aclmdlRIDestroy(aclmdlRI modelRI);

/** Stops a running graph of aclmdlRIBuildBegin(). */
ACL_FUNC_VISIBILITY aclError aclmdlRIAbort(aclmdlRI modelRI);

/** A name of up to 512 bytes; empty at first. `maxLen` is the room at `name`. Dumps have it. */
ACL_FUNC_VISIBILITY aclError aclmdlRISetName(aclmdlRI modelRI, const char *name);
ACL_FUNC_VISIBILITY aclError aclmdlRIGetName(aclmdlRI modelRI, uint32_t maxLen, char *name);

/** A number that is unique in the process while the graph lives. */
ACL_FUNC_VISIBILITY aclError aclmdlRIGetId(aclmdlRI modelRI, uint32_t *modelRIId);

/** Runs `func` when the graph is destroyed; each function once per graph. */
ACL_FUNC_VISIBILITY aclError aclmdlRIDestroyRegisterCallback(
        aclmdlRI modelRI, aclrtCallback func, void *userData);
ACL_FUNC_VISIBILITY aclError aclmdlRIDestroyUnregisterCallback(
        aclmdlRI modelRI, aclrtCallback func);

/** Mark a run of kernels and collectives of a capturing stream that can be updated later;
 * other tasks are refused (ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT). The handle lives as long as
 * the graph. */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp *handle);

/** Between the two, the same number of kernels and collectives submitted to a stream that
 * does not capture replaces those of the group, in the order of that stream, instead of
 * running. Of a kernel all may change, function, blocks and the size of the arguments too;
 * it is the program that answers for their fitting each other. Of a collective buffers and
 * count may. An update that fails leaves everything as it was: the group has its old
 * arguments, and after UpdateEnd, whatever that answers, the stream runs its tasks again. */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureTaskUpdateBegin(
        aclrtStream stream, aclrtTaskGrp handle);
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream);

/** A graph to be built by hand. `flag` is 0. */
ACL_FUNC_VISIBILITY aclError aclmdlRIBuildBegin(aclmdlRI *modelRI, uint32_t flag);

/** Binds an ACL_STREAM_PERSISTENT stream; `flag` is ACL_MODEL_STREAM_FLAG_HEAD
 * or _DEFAULT of acl_mdl.h. Its tasks are stored from now on. */
ACL_FUNC_VISIBILITY aclError aclmdlRIBindStream(
        aclmdlRI modelRI, aclrtStream stream, uint32_t flag);

/** Marks the end of the graph on its last stream. Without it aclmdlRIBuildEnd() works, but the
 * graph never runs (ACL_ERROR_RT_MODEL_EXECUTE). */
ACL_FUNC_VISIBILITY aclError aclmdlRIEndTask(aclmdlRI modelRI, aclrtStream stream);

/** Makes the graph ready. `reserve` is NULL. */
ACL_FUNC_VISIBILITY aclError aclmdlRIBuildEnd(aclmdlRI modelRI, void *reserve);

/** Unbinds a stream, before that is destroyed; the graph cannot run any more. */
ACL_FUNC_VISIBILITY aclError aclmdlRIUnbindStream(aclmdlRI modelRI, aclrtStream stream);

/** A condition: a word of 8 bytes of device memory, which belongs to a graph that is being
 * captured; aclmdlRICaptureGetInfo() tells that graph. The word is 0 at first. With
 * ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT it is `defaultLaunchValue`, widened to 64 bits,
 * at the beginning of every execution; with `flag` 0 there is no default, and it stays what
 * it is. A handle decides one conditional node. */
ACL_FUNC_VISIBILITY aclError aclmdlRICondHandleCreate(aclmdlRI modelRI, uint32_t defaultLaunchValue,
        aclmdlRICondHandleFlag flag, aclmdlRICondHandle *handle);

/** Its device address, for kernels, copies and value writes that set it. */
ACL_FUNC_VISIBILITY aclError aclmdlRICondHandleGetCondPtr(
        aclmdlRICondHandle handle, uint64_t **ptr);

/** Adds a conditional node. IF runs sub-graph 0 when the word is not 0, else
 * sub-graph 1 if there is one; WHILE repeats sub-graph 0 while it is not 0;
 * SWITCH runs the one whose index it is. `flags` is 0.
 *
 * Each sub-graph is captured on another stream than the node's, with
 * aclmdlRICaptureToModelRIBegin(); one that nobody captures into is empty. Sub-graphs end
 * with their root and are never executed, updated or destroyed by themselves.
 *
 * A WHILE whose word nobody clears never ends. aclrtStreamAbort() or
 * aclrtDestroyStreamForce() of the stream that executes the graph ends it. */
ACL_FUNC_VISIBILITY aclError aclmdlRIAddCondTask(
        aclmdlRICondTaskParams params, aclrtStream stream, uint32_t flags);

/** Streams of a graph, and tasks of a stream in their order. The count goes in
 * as room and comes out as what there is; a NULL array only counts; too little
 * room: ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY. */
ACL_FUNC_VISIBILITY aclError aclmdlRIGetStreams(
        aclmdlRI modelRI, aclrtStream *streams, uint32_t *numStreams);
ACL_FUNC_VISIBILITY aclError aclmdlRIGetTasksByStream(
        aclrtStream stream, aclmdlRITask *tasks, uint32_t *numTasks);

/** Kind of a task, and its number in the order of submission. */
ACL_FUNC_VISIBILITY aclError aclmdlRITaskGetType(aclmdlRITask task, aclmdlRITaskType *type);
ACL_FUNC_VISIBILITY aclError aclmdlRITaskGetSeqId(aclmdlRITask task, uint32_t *id);

/** Parameters of a task. Setting is for kernels, value writes and value waits;
 * it counts from the next aclmdlRIUpdate() on. */
ACL_FUNC_VISIBILITY aclError aclmdlRITaskGetParams(aclmdlRITask task, aclmdlRITaskParams *params);
ACL_FUNC_VISIBILITY aclError aclmdlRITaskSetParams(aclmdlRITask task, aclmdlRITaskParams *params);

/** One attribute of a kernel launch. */
ACL_FUNC_VISIBILITY aclError aclmdlRIKernelTaskGetAttribute(
        aclmdlRITask task, aclrtLaunchKernelAttrId attrId, aclrtLaunchKernelAttrValue *attrValue);

/** Skips a task from the next aclmdlRIUpdate() on. */
ACL_FUNC_VISIBILITY aclError aclmdlRITaskDisable(aclmdlRITask task);

/** Applies the changes; needed before the next execution. */
ACL_FUNC_VISIBILITY aclError aclmdlRIUpdate(aclmdlRI modelRI);

/** Writes the tasks to a file, as a trace that a browser can show. The graph's context must be
 * current: ACL_ERROR_RT_MODEL_CONTEXT otherwise. */
ACL_FUNC_VISIBILITY aclError aclmdlRIDebugJsonPrint(
        aclmdlRI modelRI, const char *path, uint32_t flags);

/** Writes the tasks to the log. Deprecated. */
ACL_FUNC_VISIBILITY aclError aclmdlRIDebugPrint(aclmdlRI modelRI);

#ifdef __cplusplus
}
#endif

#endif
