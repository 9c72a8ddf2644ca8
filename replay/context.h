#ifndef REPRISE_REPLAY_CONTEXT_H
#define REPRISE_REPLAY_CONTEXT_H

/*
 * Contexts and the calling thread's state.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"

struct rp_device;
struct rp_stream;

/* Values of aclmdlRICaptureMode; order: strictest first. */
enum rp_capture_mode {
    RP_CAPTURE_GLOBAL = 0,
    RP_CAPTURE_THREAD_LOCAL = 1,
    RP_CAPTURE_RELAXED = 2,
    RP_CAPTURE_MODES = 3,
};

#define RP_CONTEXT_OPTS 4 /* values of aclSysParamOpt */

struct rp_context {
    struct rp_device *device; /* referenced until the context is destroyed */
    int32_t device_id;
    bool is_primary;       /* made by aclrtSetDevice */
    _Atomic uint32_t refs; /* of the memory: handle, threads, streams, events */
    _Atomic bool destroyed;
    struct rp_stream *default_stream;
    pthread_mutex_t lock;   /* streams list */
    struct rp_list streams; /* rp_stream.in_context, all but the default one */

    /*
     * ACL_STOP_ON_FAILURE: the first failure of a stream in that mode stops all
     * streams of the context. rp_status, 0: none; set once, text before it.
     */
    _Atomic int32_t stopped;
    char stopped_text[512];

    /* aclrtCtxSetSysParamOpt: value of aclSysParamOpt i while bit i of `opts_set` is set. */
    _Atomic uint32_t opts_set;
    _Atomic int64_t opt[RP_CONTEXT_OPTS];

    /* Open captures by mode, and capture's own lock: see replay/stream.h. */
    pthread_mutex_t capture_lock;
    _Atomic uint32_t captures[RP_CAPTURE_MODES];
};

/*
 * What a thread carries: current context, exchange mode, open captures it began.
 * On the heap and counted, because a capture outlives the thread that began it
 * and takes its count back at the end.
 */
struct rp_thread {
    _Atomic uint32_t refs;      /* the thread itself + open captures it began */
    struct rp_context *context; /* current; referenced; NULL: none; own thread only */
    struct rp_stream *planned;  /* whose cores it plans kernels with; referenced; own thread only */
    enum rp_capture_mode exchange_mode;              /* own thread only */
    _Atomic uint32_t own_captures[RP_CAPTURE_MODES]; /* written under a capture_lock */
    /* Handle (capture/task.h) of the task that this thread recorded last, for
     * aclrtCacheLastTask*; 0: none. Own thread only; the graph may be gone. */
    uint64_t last_task;
};

/** rp_thread_self: the calling thread's record, made at first use; NULL when memory is short. */
struct rp_thread *rp_thread_self(void);
/** rp_thread_set_context: make `context` current (NULL: none). RP_ENOMEM. */
RP_MUST_USE rp_status rp_thread_set_context(struct rp_context *context);
void rp_thread_ref(struct rp_thread *thread);
void rp_thread_unref(struct rp_thread *thread);

/**
 * rp_context_ref / rp_context_unref: keep the memory. The last unref frees it and
 * nothing else, so it may be called anywhere, also under the baton.
 */
void rp_context_ref(struct rp_context *context);
void rp_context_unref(struct rp_context *context);

/**
 * rp_context_create: a live context on device `device_id` with its default
 * stream. RP_EDEVICE, RP_ENOMEM and what bringing up the device answers.
 * Owner: the handle's reference is the caller's, until rp_context_destroy.
 */
RP_MUST_USE rp_status rp_context_create(
        int32_t device_id, bool is_primary, struct rp_context **out);

/**
 * rp_context_may_end: RP_OK, or why `context` cannot be destroyed now:
 * RP_ESTREAMCAPTURED while a stream captures (not with `force`), RP_ECALLBACK in
 * a callback, which would wait for itself.
 */
RP_MUST_USE rp_status rp_context_may_end(struct rp_context *context, bool force);

/** rp_context_capturing_stream: the id of a stream of `context` that captures, for sentences; -1:
 * none does any more. */
int32_t rp_context_capturing_stream(struct rp_context *context);

/** rp_context_destroy: end `context` and its streams. Waits for their work, or with `force` drops
 *  it. Once, after rp_context_may_end. */
void rp_context_destroy(struct rp_context *context, bool force);

/**
 * rp_context_current: the thread's live context, or RP_ENOCTX (a default_device
 * of aclInit is set implicitly). Borrowed: valid as long as the caller's own
 * program does not destroy it meanwhile.
 */
RP_MUST_USE rp_status rp_context_current(struct rp_context **out);

/**
 * rp_context_drain: wait until everything submitted so far to the streams of
 * `context` has ended; the first failure not told yet. RP_ESYNCTIMEOUT,
 * RP_ESTREAMCAPTURED while one of them captures, RP_ENOMEM.
 */
RP_MUST_USE rp_status rp_context_drain(struct rp_context *context, uint64_t timeout_ns);

/**
 * rp_capture_unsafe_allowed: the rule of spec/aclgraph.md section 4 for calls
 * that execute at once (aclrtMemcpy, aclrtMemset, pageable asynchronous copies):
 * RP_OK, or `refusal` (RP_ECAPMODE or RP_EBLOCKASYNC) naming `call`.
 */
RP_MUST_USE rp_status rp_capture_unsafe_allowed(
        struct rp_context *context, const char *call, rp_status refusal);

/** rp_enter: first line of every acl and Hccl entry: fork check, environment; RP_OK mostly one
 * load. */
RP_MUST_USE rp_status rp_enter(void);

#endif
