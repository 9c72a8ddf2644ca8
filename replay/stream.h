#ifndef REPRISE_REPLAY_STREAM_H
#define REPRISE_REPLAY_STREAM_H

/*
 * Streams: a FIFO of submissions on one device, owned by a context.
 *
 * A stream submits through a two-entry table. The table of replay runs tasks;
 * capture installs its own at CaptureBegin, which records them, and takes it
 * back at the end. replay never includes capture: the capture fields below are
 * written by capture and only read by replay's checks.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"
#include "replay/context.h"
#include "replay/device.h"
#include "replay/event.h"
#include "replay/program.h"

enum rp_capture_status {
    RP_CAPTURE_NONE = 0,
    RP_CAPTURE_ACTIVE = 1,
    RP_CAPTURE_INVALIDATED = 2,
};

enum rp_event_verb {
    RP_EVENT_RECORD = 0,
    RP_EVENT_WAIT = 1,
    RP_EVENT_RESET = 2,
};

/* A task on its way to a stream. Copied by the callee. */
struct rp_task {
    struct rp_insn insn;
    const struct rp_op *op;        /* COLLECTIVE only */
    bool pageable;                 /* COPY: an end is pageable host memory */
};

struct rp_submit_ops {
    /* A task. RP_OK: queued (or recorded). */
    rp_status (*run)(struct rp_stream *stream, const struct rp_task *task);
    /* Record, wait or reset of an event. `flag` and `timeout_ns` as the API call gives them. */
    rp_status (*record)(struct rp_stream *stream, struct rp_event *event, enum rp_event_verb verb,
            uint32_t flag, uint64_t timeout_ns);
};

/* replay's own table: everything runs. */
extern const struct rp_submit_ops rp_submit_eager;

struct rp_stream {
    uint64_t magic;
    struct rp_context *context;
    struct rp_device *device;
    int32_t id;
    uint32_t priority;
    uint32_t flags;
    _Atomic uint32_t refs; /* handle + submissions queued */
    bool is_default;
    _Atomic uint32_t failure_mode; /* ACL_CONTINUE_ON_FAILURE / ACL_STOP_ON_FAILURE */

    _Atomic(const struct rp_submit_ops *) submit;

    /* Written by capture under context->capture_lock, read anywhere. */
    _Atomic uint32_t capture_status; /* enum rp_capture_status */
    void *capture;                   /* capture's object; under capture_lock */

    _Atomic uint64_t submitted; /* submissions queued so far */
    _Atomic uint64_t ended;     /* submissions ended so far, in order */
    _Atomic int32_t error;      /* first failure not yet reported (rp_status) */
    char error_text[256];       /* its sentence, written before `error` */

    /* Baton. */
    struct rp_list fifo;   /* submissions in order; the head runs */
    struct rp_list in_active; /* in the device's list of streams with work */

    /* Callback subscription (callback.c): pthread id or 0. */
    _Atomic uint64_t report_thread;
    /* Attributes kept for the API: see stream_attr.c. */
    uint32_t overflow_switch;
    uint32_t custom_tag;
    uint32_t cache_op_info;
};

/** rp_stream_resolve: handle (NULL: default stream of the current context) to a live stream of
 *  the current context. RP_ENOCTX, RP_EHANDLE, RP_ESTREAMCTX. */
RP_MUST_USE rp_status rp_stream_resolve(void *handle, struct rp_stream **out);

/** rp_stream_from_handle: any live stream, whatever its context; NULL otherwise. */
struct rp_stream *rp_stream_from_handle(const void *handle);

/** rp_stream_submit: hand a task to the stream's current table. */
RP_MUST_USE rp_status rp_stream_submit(struct rp_stream *stream, const struct rp_task *task);

/** rp_stream_submit_event: the same for record, wait, reset. */
RP_MUST_USE rp_status rp_stream_submit_event(struct rp_stream *stream, struct rp_event *event,
        enum rp_event_verb verb, uint32_t flag, uint64_t timeout_ns);

/** rp_stream_replay: queue one run of `program` (aclmdlRIExecuteAsync). Never blocks, never steps. */
RP_MUST_USE rp_status rp_stream_replay(struct rp_stream *stream, struct rp_program *program);

/** rp_stream_drain: wait until everything submitted so far has ended; its first unreported failure. */
RP_MUST_USE rp_status rp_stream_drain(struct rp_stream *stream, uint64_t timeout_ns);

#endif
