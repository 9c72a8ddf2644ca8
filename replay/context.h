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

struct rp_context {
    uint64_t magic;
    struct rp_device *device; /* referenced */
    bool is_primary;          /* made by aclrtSetDevice */
    _Atomic uint32_t refs;
    _Atomic bool destroyed;
    struct rp_stream *default_stream;
    pthread_mutex_t lock;     /* streams list */
    struct rp_list streams;   /* all but the default one */
    uint32_t stream_count;

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
    enum rp_capture_mode exchange_mode;              /* own thread only */
    _Atomic uint32_t own_captures[RP_CAPTURE_MODES]; /* written under a capture_lock */
};

/** rp_thread_self: the calling thread's record, made at first use; NULL when memory is short. */
struct rp_thread *rp_thread_self(void);
void rp_thread_ref(struct rp_thread *thread);
void rp_thread_unref(struct rp_thread *thread);

/** rp_context_current: the thread's live context or RP_ENOCTX (a default_device of aclInit is set implicitly). */
RP_MUST_USE rp_status rp_context_current(struct rp_context **out);

/**
 * rp_capture_unsafe_allowed: the rule of spec/aclgraph.md section 4 for calls
 * that execute at once (aclrtMemcpy, aclrtMemset, pageable asynchronous copies):
 * RP_OK, or `refusal` (RP_ECAPMODE or RP_EBLOCKASYNC) naming `call`.
 */
RP_MUST_USE rp_status rp_capture_unsafe_allowed(
        struct rp_context *context, const char *call, rp_status refusal);

/** rp_enter: first line of every acl and Hccl entry: fork check, environment; RP_OK mostly one load. */
RP_MUST_USE rp_status rp_enter(void);

#endif
