/* Events: points in the order of a stream, for other streams and for the host. */
#ifndef REPRISE_RT_EVENT_H
#define REPRISE_RT_EVENT_H

#include "rt_handles.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Three kinds. aclrtCreateEvent(): timing and order, recorded again and again,
 * no reset. aclrtCreateEventWithFlag(): with ACL_EVENT_SYNC it is a flag that
 * stays set until reset, and a wait may be queued before its record.
 * aclrtCreateEventExWithFlag(): each record replaces the last, a wait belongs
 * to the latest record at the time of the call, and only this kind with
 * ACL_EVENT_SYNC joins streams in a capture.
 *
 * Two ways let a replay of a captured graph wait for what is outside of it:
 *
 *     aclrtCreateEventWithFlag(ACL_EVENT_EXTERNAL)  every replay is held at the captured wait
 *                                                   until somebody records the event, before or
 *                                                   after; a captured aclrtResetEvent() behind the
 *                                                   wait makes the next replay wait again
 *     aclrtCreateEventExWithFlag(ACL_EVENT_SYNC),   a replay waits for the latest record at the
 *     waited for with ACL_EVENT_WAIT_EXTERNAL       time of its aclmdlRIExecuteAsync(); if there
 *                                                   is none, it does not wait
 */

/** Flags of an event: order between streams, progress, timing; the last three
 * stand alone. */
#define ACL_EVENT_SYNC 0x00000001U
#define ACL_EVENT_CAPTURE_STREAM_PROGRESS 0x00000002U
#define ACL_EVENT_TIME_LINE 0x00000008U
#define ACL_EVENT_DEVICE_USE_ONLY 0x00000010U
#define ACL_EVENT_EXTERNAL 0x00000020U
#define ACL_EVENT_IPC 0x00000040U

/** Flags of one record and of one wait. EXTERNAL: signal to, or wait for, what
 * is outside the captured graph. */
#define ACL_EVENT_RECORD_DEFAULT 0x0U
#define ACL_EVENT_RECORD_EXTERNAL 0x01U
#define ACL_EVENT_WAIT_DEFAULT 0x0U
#define ACL_EVENT_WAIT_EXTERNAL 0x01U

/** Bytes of an exported event. */
#define ACL_IPC_EVENT_HANDLE_SIZE 64U

/** An event on its way to another process. */
typedef struct aclrtIpcEventHandle {
    char reserved[ACL_IPC_EVENT_HANDLE_SIZE];
} aclrtIpcEventHandle;

/** Answers of aclrtQueryEvent(). Complete is 0 here, and 1 in
 * aclrtEventRecordedStatus. */
typedef enum aclrtEventStatus {
    ACL_EVENT_STATUS_COMPLETE = 0,
    ACL_EVENT_STATUS_NOT_READY = 1,
    ACL_EVENT_STATUS_RESERVED = 2,
} aclrtEventStatus;

/** Answers of aclrtQueryEventStatus(). */
typedef enum aclrtEventRecordedStatus {
    ACL_EVENT_RECORDED_STATUS_NOT_READY = 0,
    ACL_EVENT_RECORDED_STATUS_COMPLETE = 1,
} aclrtEventRecordedStatus;

/** Answers of aclrtQueryEventWaitStatus(). */
typedef enum aclrtEventWaitStatus {
    ACL_EVENT_WAIT_STATUS_COMPLETE = 0,
    ACL_EVENT_WAIT_STATUS_NOT_READY = 1,
    ACL_EVENT_WAIT_STATUS_RESERVED = 65535,
} aclrtEventWaitStatus;

/** An event for timing and order. It cannot be captured. */
ACL_FUNC_VISIBILITY aclError aclrtCreateEvent(aclrtEvent *event);

/** An event that can be reset. `flag` is a union of ACL_EVENT_SYNC, CAPTURE_STREAM_PROGRESS
 * and TIME_LINE, or one of DEVICE_USE_ONLY and EXTERNAL alone. EXTERNAL: in a capture its
 * records, waits and resets are tasks of the graph and join no streams; the host can
 * neither wait for it nor ask for it. */
ACL_FUNC_VISIBILITY aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag);

/** An event that each record replaces; complete at first. `flag`: SYNC,
 * CAPTURE_STREAM_PROGRESS and TIME_LINE together, or IPC. */
ACL_FUNC_VISIBILITY aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag);

/** Returns at once; what is pending still completes. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyEvent(aclrtEvent event);

/** Queues the point at which all earlier work of `stream` is done. */
ACL_FUNC_VISIBILITY aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);

/** The same; with ACL_EVENT_RECORD_EXTERNAL a node of the graph under capture
 * that signals outwards at every replay. */
ACL_FUNC_VISIBILITY aclError aclrtRecordEventWithFlag(
        aclrtEvent event, aclrtStream stream, uint32_t flag);

/** Queues a reset, for events of aclrtCreateEventWithFlag() with SYNC or EXTERNAL. In a
 * capture only an EXTERNAL event has one: ACL_ERROR_RT_FEATURE_NOT_SUPPORT for others. */
ACL_FUNC_VISIBILITY aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);

/** Whether the record is reached. Deprecated: use aclrtQueryEventStatus(). */
ACL_FUNC_VISIBILITY aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus *status);

/** Whether the latest record is reached. */
ACL_FUNC_VISIBILITY aclError aclrtQueryEventStatus(
        aclrtEvent event, aclrtEventRecordedStatus *status);

/** Whether all waits queued on the event are over. */
ACL_FUNC_VISIBILITY aclError aclrtQueryEventWaitStatus(
        aclrtEvent event, aclrtEventWaitStatus *status);

/** Waits on the host for the latest record. A captured event:
 * ACL_ERROR_RT_EVENT_CAPTURED. */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEvent(aclrtEvent event);

/** The same for at most `timeout` ms (-1: no limit, 0: refused), then
 * ACL_ERROR_RT_EVENT_SYNC_TIMEOUT. */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout);

/** Milliseconds between two records that are reached; else
 * ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID. */
ACL_FUNC_VISIBILITY aclError aclrtEventElapsedTime(
        float *ms, aclrtEvent startEvent, aclrtEvent endEvent);

/** When the record was reached, in microseconds since the device started. */
ACL_FUNC_VISIBILITY aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t *timestamp);

/** Later tasks of `stream` wait for the event. Any number of streams may. */
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);

/** The same for at most `timeout` seconds (0: no limit). */
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEventWithTimeout(
        aclrtStream stream, aclrtEvent event, int32_t timeout);

/** The same; with ACL_EVENT_WAIT_EXTERNAL (`timeout` 0) a node of the graph
 * under capture that waits for the outside at every replay. */
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEventWithFlag(
        aclrtStream stream, aclrtEvent event, uint32_t timeout, uint32_t flag);

/** The event's number; not for IPC events. */
ACL_FUNC_VISIBILITY aclError aclrtGetEventId(aclrtEvent event, uint32_t *eventId);

/** How many more events the current device can have. */
ACL_FUNC_VISIBILITY aclError aclrtGetEventAvailNum(uint32_t *eventCount);

/** Exports an ACL_EVENT_IPC event. */
ACL_FUNC_VISIBILITY aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle *handle);

/** Imports one; the importer destroys its own handle with aclrtDestroyEvent(). */
ACL_FUNC_VISIBILITY aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent *event);

#ifdef __cplusplus
}
#endif

#endif
