/* Functions of the host as tasks of a stream. */
#ifndef REPRISE_RT_CALLBACK_H
#define REPRISE_RT_CALLBACK_H

#include "rt_handles.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Two schemes, not to be mixed on one stream (ACL_ERROR_RT_STREAM_SUBSCRIBE).
 * In the first a thread of the caller's subscribes and runs the callbacks in
 * aclrtProcessReport(). In the second, aclrtLaunchHostFunc(), a thread of the
 * runtime runs the function. */

/** Whether later tasks of the stream wait for the callback. */
typedef enum aclrtCallbackBlockType {
    ACL_CALLBACK_NO_BLOCK = 0,
    ACL_CALLBACK_BLOCK = 1,
} aclrtCallbackBlockType;

/** The thread `threadId`, a pthread_self(), serves the callbacks of `stream`. A
 * thread may serve several streams of one device. */
ACL_FUNC_VISIBILITY aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream);

/** Ends it. */
ACL_FUNC_VISIBILITY aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream);

/** Queues a callback. Nobody subscribed: ACL_ERROR_RT_STREAM_NO_CB_REG. */
ACL_FUNC_VISIBILITY aclError aclrtLaunchCallback(
        aclrtCallback fn, void *userData, aclrtCallbackBlockType blockType, aclrtStream stream);

/** Runs what is pending for this thread, or waits `timeout` ms (-1: no limit)
 * for something. Nothing came: ACL_ERROR_RT_REPORT_TIMEOUT. */
ACL_FUNC_VISIBILITY aclError aclrtProcessReport(int32_t timeout);

/** Queues `fn`; later tasks wait for it. In a capture it becomes a node and runs
 * at every replay. */
ACL_FUNC_VISIBILITY aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void *args);

/** The first scheme for host functions of graphs. */
ACL_FUNC_VISIBILITY aclError aclrtSubscribeHostFunc(
        uint64_t hostFuncThreadId, aclrtStream exeStream);
ACL_FUNC_VISIBILITY aclError aclrtProcessHostFunc(int32_t timeout);
ACL_FUNC_VISIBILITY aclError aclrtUnSubscribeHostFunc(
        uint64_t hostFuncThreadId, aclrtStream exeStream);

#ifdef __cplusplus
}
#endif

#endif
