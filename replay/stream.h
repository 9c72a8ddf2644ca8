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

#include <pthread.h>
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
    const struct rp_op *op; /* COLLECTIVE only */
    bool pageable;          /* COPY: an end is pageable host memory */
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

/* What `update` of a stream points to: the first member of capture's object. */
struct rp_stream_update {
    /* The stream ends while it collects: give up everything. capture_lock held. */
    void (*drop)(struct rp_stream_update *update);
};

/* What `capture` of a stream points to: the first member of capture's object. */
struct rp_stream_capture {
    /* The stream ends by force while it captures: end the whole capture. No lock held. */
    void (*drop)(struct rp_stream *stream);
};

struct rp_stream {
    struct rp_context *context; /* its memory is referenced */
    struct rp_device *device;   /* the context's; in use until the context is destroyed */
    struct rp_list in_context;  /* under context->lock */
    int32_t id;
    _Atomic uint32_t priority;
    uint32_t flags;
    _Atomic uint32_t refs; /* handle + submissions queued */
    bool is_default;
    _Atomic uint32_t failure_mode; /* ACL_CONTINUE_ON_FAILURE / ACL_STOP_ON_FAILURE */
    /* aclrtStreamAbort: submissions up to this count end without running; it only grows.
     * aclrtDestroyStreamForce: UINT64_MAX. */
    _Atomic uint64_t dropped;

    _Atomic(const struct rp_submit_ops *) submit;

    /* Written by capture under context->capture_lock, read anywhere. */
    _Atomic uint32_t capture_status; /* enum rp_capture_status */
    void *capture;                   /* begins with a rp_stream_capture; under capture_lock */
    uint32_t capture_lane;           /* the stream's lane of its graph; under capture_lock */

    /* The same for a stream that is bound to a built graph (model), or collects an update of a task
     * group (update): capture's objects, NULL: neither. Set and cleared under capture_lock. */
    _Atomic(void *) model;
    _Atomic(struct rp_stream_update *) update;

    _Atomic uint64_t submitted; /* submissions queued so far */
    _Atomic uint64_t ended;     /* submissions ended so far, in order */
    _Atomic uint64_t replays;   /* of `submitted`, those that are replays of a graph */
    _Atomic int32_t error;      /* first failure not yet reported (rp_status); see rp_stream_fail */
    pthread_mutex_t error_lock; /* guards the text, changes of `error`, and `staged` */
    char error_text[512];

    struct rp_list staged; /* buffers that copies read from (copy_staged.c); under error_lock */

    /* Baton. */
    struct rp_list fifo;      /* submissions in order; the head runs */
    struct rp_list in_active; /* in the device's list of streams with work */

    /* Callback subscription (callback.c): pthread id or 0. */
    _Atomic uint64_t report_thread;
    _Atomic bool host_fn_used; /* aclrtLaunchHostFunc was called: the other scheme is closed */
    /* Where the counts stood as the profiler's session began (prof.c, under its lock). */
    uint64_t prof_eager;
    uint64_t prof_replays;
    /* Attributes kept for the API: see stream_attr.c. */
    _Atomic uint32_t overflow_switch;
    _Atomic uint32_t custom_tag;
    _Atomic uint32_t cache_op_info;
    _Atomic uint32_t res_limit[2]; /* aclrtDevResLimitType; 0: not set */
};

/**
 * rp_stream_create: a live stream of `context`. RP_ENOMEM, RP_ENOSTREAM.
 * Owner: the handle's reference is the caller's, until rp_stream_retire.
 */
RP_MUST_USE rp_status rp_stream_create(struct rp_context *context, uint32_t priority,
        uint32_t flags, bool is_default, struct rp_stream **out);

/**
 * rp_stream_retire: the handle of `stream` is gone (rp_handle_remove said true):
 * wait for its work, or with `force` drop it, and give up the handle's reference.
 */
void rp_stream_retire(struct rp_stream *stream, bool force);

/**
 * rp_stream_ref / rp_stream_unref: keep the memory. The last unref frees it, and
 * never blocks, so that the scheduler may call it under the baton.
 */
void rp_stream_ref(struct rp_stream *stream);
void rp_stream_unref(struct rp_stream *stream);

/** rp_stream_records: whether tasks given to `stream` are recorded instead of run: it captures, or
 * is bound to a built graph. */
static inline bool rp_stream_records(const struct rp_stream *stream)
{
    // acquire: pairs with capture's stores at the begin and end, and at bind and unbind.
    return atomic_load_explicit(&stream->capture_status, memory_order_acquire) != RP_CAPTURE_NONE ||
           atomic_load_explicit(&stream->model, memory_order_acquire) != NULL;
}

/**
 * rp_stream_fail: a submission of `stream` failed (scheduler, before `ended`
 * counts it). Kept if no earlier failure waits to be reported; in
 * ACL_STOP_ON_FAILURE the context is stopped by its first failure.
 */
void rp_stream_fail(struct rp_stream *stream, rp_status st, const char *sentence);

/**
 * rp_stream_refusal: RP_OK, or why a submission of `stream` must end without
 * running: its context is stopped (the first failure), or it was dropped
 * (RP_ESTREAMABORT; `number` counts from 1: the value of `submitted` after it was
 * queued). One or two loads; nothing is described.
 */
rp_status rp_stream_refusal(struct rp_stream *stream, uint64_t number);

/**
 * rp_stream_take_failure: the failure to report to the caller, posted to its
 * thread (rp_error_post), or RP_OK. Once per failure, except in a stopped
 * context, where every call reports the first one.
 */
RP_MUST_USE rp_status rp_stream_take_failure(struct rp_stream *stream);

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

/** rp_stream_replay: queue one run of `program` (aclmdlRIExecuteAsync). Never blocks, never steps.
 */
RP_MUST_USE rp_status rp_stream_replay(struct rp_stream *stream, struct rp_program *program);

/**
 * rp_stream_copy_staged: queue a copy of what is at `src` now; `src` may be changed
 * when the call returns. Not on a capturing stream. RP_ENOMEM and what submitting
 * answers.
 */
RP_MUST_USE rp_status rp_stream_copy_staged(
        struct rp_stream *stream, void *dst, const void *src, uint64_t bytes);

/** rp_stream_free_staged: free the buffers of copies that have ended, or with `all` every one. */
void rp_stream_free_staged(struct rp_stream *stream, bool all);

/**
 * rp_stream_told_abort: RP_OK, or RP_ESTREAMABORT described: what was waited for, up to number
 * `until`, has ended because it was dropped. For whoever found it unfinished and waited.
 */
RP_MUST_USE rp_status rp_stream_told_abort(const struct rp_stream *stream, uint64_t until);

/** rp_stream_drain: wait until everything submitted so far has ended; its first unreported failure,
 * or RP_ESTREAMABORT if it was dropped during the wait.
 */
RP_MUST_USE rp_status rp_stream_drain(struct rp_stream *stream, uint64_t timeout_ns);

/** rp_stream_await: the same for a call of the program, during which another thread may end the
 * stream. RP_EHANDLE: it has done so before. */
RP_MUST_USE rp_status rp_stream_await(struct rp_stream *stream, uint64_t timeout_ns);

#endif
