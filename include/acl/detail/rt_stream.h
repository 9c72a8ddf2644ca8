/* Streams: tasks of one run in the order of submission, streams run side by
 * side. */
#ifndef REPRISE_RT_STREAM_H
#define REPRISE_RT_STREAM_H

#include "rt_device.h"
#include "rt_handles.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Calls that take a stream accept NULL for the current context's default
 * stream, unless they say otherwise. Several threads may submit to one stream;
 * the order between them is theirs to make. */

/** Flags of a stream. */
#define ACL_STREAM_FAST_LAUNCH 0x00000001U
#define ACL_STREAM_FAST_SYNC 0x00000002U
#define ACL_STREAM_PERSISTENT 0x00000004U
#define ACL_STREAM_HUGE 0x00000008U
#define ACL_STREAM_CPU_SCHEDULE 0x00000010U
#define ACL_STREAM_DEVICE_USE_ONLY 0x00000020U

/** What a stream does when a task fails. */
#define ACL_CONTINUE_ON_FAILURE 0x00000000U
#define ACL_STOP_ON_FAILURE 0x00000001U

/** Answers of aclrtStreamQuery(). */
typedef enum aclrtStreamStatus {
    ACL_STREAM_STATUS_COMPLETE = 0,
    ACL_STREAM_STATUS_NOT_READY = 1,
    ACL_STREAM_STATUS_RESERVED = 65535,
} aclrtStreamStatus;

/** Members of a stream configuration. */
typedef enum aclrtStreamConfigAttr {
    ACL_RT_STREAM_WORK_ADDR_PTR = 0,
    ACL_RT_STREAM_WORK_SIZE = 1,
    ACL_RT_STREAM_FLAG = 2,
    ACL_RT_STREAM_PRIORITY = 3,
} aclrtStreamConfigAttr;

/** Made by aclrtCreateStreamConfigHandle(), filled by aclrtSetStreamConfigOpt(). */
typedef struct aclrtStreamConfigHandle {
    void *workptr;
    size_t workSize;
    size_t flag;
    uint32_t priority;
} aclrtStreamConfigHandle;

/** Attributes of a stream. */
typedef enum aclrtStreamAttr {
    ACL_STREAM_ATTR_FAILURE_MODE = 1,
    ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK = 2,
    ACL_STREAM_ATTR_USER_CUSTOM_TAG = 3,
    ACL_STREAM_ATTR_CACHE_OP_INFO = 4,
    ACL_STREAM_ATTR_PRIORITY = 5,
} aclrtStreamAttr;

/** The member that the attribute names is used. */
typedef union aclrtStreamAttrValue {
    uint64_t failureMode;
    uint32_t overflowSwitch;
    uint32_t userCustomTag;
    uint32_t cacheOpInfoSwitch;
    uint32_t streamPriority;
    uint32_t reserve[4];
} aclrtStreamAttrValue;

/** When a stream callback runs. */
typedef enum aclrtStreamState {
    ACL_RT_STREAM_STATE_CREATE_POST = 1,
    ACL_RT_STREAM_STATE_DESTROY_PRE = 2,
} aclrtStreamState;

typedef void (*aclrtStreamStateCallback)(aclrtStream stm, aclrtStreamState state, void *args);

/** Comparisons of aclrtSwitchStream(). */
typedef enum aclrtCondition {
    ACL_RT_EQUAL = 0,
    ACL_RT_NOT_EQUAL = 1,
    ACL_RT_GREATER = 2,
    ACL_RT_GREATER_OR_EQUAL = 3,
    ACL_RT_LESS = 4,
    ACL_RT_LESS_OR_EQUAL = 5,
} aclrtCondition;

/** Width of the words that aclrtSwitchStream() compares. */
typedef enum aclrtCompareDataType {
    ACL_RT_SWITCH_INT32 = 0,
    ACL_RT_SWITCH_INT64 = 1,
} aclrtCompareDataType;

/** A stream of priority 0 without flags. */
ACL_FUNC_VISIBILITY aclError aclrtCreateStream(aclrtStream *stream);

/** `priority` runs from 0 (highest) to 7 and is clamped; `flag` is a union of
 * ACL_STREAM_*. */
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamWithConfig(
        aclrtStream *stream, uint32_t priority, uint32_t flag);

/** A configuration with defaults; NULL when no memory is left. */
ACL_FUNC_VISIBILITY aclrtStreamConfigHandle *aclrtCreateStreamConfigHandle(void);

/** Sets one member; `valueSize` must be the size of that member. */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle *handle,
        aclrtStreamConfigAttr attr, const void *attrValue, size_t valueSize);

/** Frees a configuration. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle *handle);

/** A stream made from a configuration. */
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamV2(
        aclrtStream *stream, const aclrtStreamConfigHandle *handle);

/** Waits for the stream's work and destroys it. Refused for the default stream,
 * while capturing (ACL_ERROR_RT_STREAM_CAPTURED) and while bound to a graph. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStream(aclrtStream stream);

/** Destroys it without waiting; what was queued is dropped. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStreamForce(aclrtStream stream);

/** Waits for the stream's work and reports its first failure. While capturing:
 * ACL_ERROR_RT_STREAM_CAPTURED. */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStream(aclrtStream stream);

/** The same for at most `timeout` ms (-1: no limit, 0: refused), then
 * ACL_ERROR_RT_STREAM_SYNC_TIMEOUT. */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);

/** Whether all work is done, without waiting. */
ACL_FUNC_VISIBILITY aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status);

/** What the stream was created with, and its number. */
ACL_FUNC_VISIBILITY aclError aclrtStreamGetId(aclrtStream stream, int32_t *streamId);
ACL_FUNC_VISIBILITY aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t *priority);
ACL_FUNC_VISIBILITY aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t *flags);

/** How many more streams the current device can have. */
ACL_FUNC_VISIBILITY aclError aclrtGetStreamAvailableNum(uint32_t *streamCount);

/** ACL_CONTINUE_ON_FAILURE, or once ACL_STOP_ON_FAILURE: after a task failed, no
 * stream of this context runs another. */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode);

/** One attribute of a stream. */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamAttribute(
        aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue *value);
ACL_FUNC_VISIBILITY aclError aclrtGetStreamAttribute(
        aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue *value);

/** Overflow detection in saturation mode: 1 on, 0 off. */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag);
ACL_FUNC_VISIBILITY aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t *flag);

/** Stops what runs, also a graph that would not end, and drops what is queued; a
 * wait in progress ends with ACL_ERROR_RT_STREAM_ABORT. The stream can be used
 * again. A kernel or host function that has begun is waited for, 10 s at most, then
 * ACL_ERROR_RT_STREAM_SYNC_TIMEOUT. A communicator of which a collective was
 * stopped or dropped is in error from then on, on every rank. */
ACL_FUNC_VISIBILITY aclError aclrtStreamAbort(aclrtStream stream);

/** Stops the running task and keeps the queue. */
ACL_FUNC_VISIBILITY aclError aclrtStreamStop(aclrtStream stream);

/** Empties an ACL_STREAM_PERSISTENT stream so that it can be filled again. */
ACL_FUNC_VISIBILITY aclError aclrtPersistentTaskClean(aclrtStream stream);

/** A task of `stream` that starts `activeStream`; both are bound to one graph. */
ACL_FUNC_VISIBILITY aclError aclrtActiveStream(aclrtStream activeStream, aclrtStream stream);

/** A task of `stream` that compares two words of device memory and starts
 * `trueStream` if they satisfy `cond`. `falseStream` is NULL. */
ACL_FUNC_VISIBILITY aclError aclrtSwitchStream(void *leftValue, aclrtCondition cond,
        void *rightValue, aclrtCompareDataType dataType, aclrtStream trueStream,
        aclrtStream falseStream, aclrtStream stream);

/** Registers `callback` under a name of its own, or removes it when `callback`
 * is NULL. */
ACL_FUNC_VISIBILITY aclError aclrtRegStreamStateCallback(
        const char *regName, aclrtStreamStateCallback callback, void *args);

/** Cores that kernels of a stream may use; it counts in threads that called
 * aclrtUseStreamResInCurrentThread(). */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamResLimit(
        aclrtStream stream, aclrtDevResLimitType type, uint32_t value);
ACL_FUNC_VISIBILITY aclError aclrtGetStreamResLimit(
        aclrtStream stream, aclrtDevResLimitType type, uint32_t *value);
ACL_FUNC_VISIBILITY aclError aclrtResetStreamResLimit(aclrtStream stream);

/** Whether kernels that this thread launches obey the stream's limits. */
ACL_FUNC_VISIBILITY aclError aclrtUseStreamResInCurrentThread(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream);

/** The limit that counts in this thread. */
ACL_FUNC_VISIBILITY aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t *value);

/** Seconds that an event wait on a stream may last, in this process; 0: no limit
 * (the default). */
ACL_FUNC_VISIBILITY aclError aclrtSetOpWaitTimeout(uint32_t timeout);

/** Longest time that a kernel may run, in seconds and in ms. */
ACL_FUNC_VISIBILITY aclError aclrtSetOpExecuteTimeOut(uint32_t timeout);
ACL_FUNC_VISIBILITY aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t timeout);

/** The same in microseconds; `*actualTimeout` is what counts. */
ACL_FUNC_VISIBILITY aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t *actualTimeout);

/** The time in force, in ms. */
ACL_FUNC_VISIBILITY aclError aclrtGetOpExecuteTimeout(uint32_t *const timeoutMs);

/** Granularity of that time, in microseconds. */
ACL_FUNC_VISIBILITY aclError aclrtGetOpTimeOutInterval(uint64_t *interval);

#ifdef __cplusplus
}
#endif

#endif
