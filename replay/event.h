#ifndef REPRISE_REPLAY_EVENT_H
#define REPRISE_REPLAY_EVENT_H

/*
 * Events. Three creators, three kinds (spec/acl-runtime.md section 5):
 *   PLAIN  aclrtCreateEvent: timing and order, re-recordable, never captured
 *   FLAG   aclrtCreateEventWithFlag: a flag; a wait may precede the record, the
 *          flag stays set until reset
 *   EX     aclrtCreateEventExWithFlag: re-recordable, waits bind to the latest
 *          record at call time; with SYNC the only kind that forms capture edges
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct rp_event_run;
struct rp_share;
struct rp_stream;
struct rp_submit_ops;

enum rp_event_kind {
    RP_EVENT_PLAIN = 0,
    RP_EVENT_FLAG = 1,
    RP_EVENT_EX = 2,
};

#define RP_EVENT_FLAG_OPEN UINT32_MAX

/* A flag without a name in the public header: order as ACL_EVENT_SYNC, on another kind of
 * hardware. */
#define RP_EVENT_DDSYNC 0x4u

/* What an ACL_EVENT_IPC event has in common with other processes, in a share's page. */
struct rp_event_mark {
    _Atomic uint64_t recorded; /* as in rp_event */
    _Atomic uint64_t reached;
};

struct rp_event {
    _Atomic uint32_t refs; /* handle + tasks queued */
    uint32_t id;
    int32_t device_id;
    uint8_t kind;               /* enum rp_event_kind */
    uint32_t flags;             /* ACL_EVENT_* */
    struct rp_context *context; /* its memory is referenced */

    _Atomic uint64_t recorded;      /* tickets given to records so far (API threads) */
    _Atomic uint64_t reached;       /* largest ticket whose record has run */
    _Atomic uint32_t set;           /* FLAG: set by record, cleared by reset */
    _Atomic uint32_t waits_pending; /* waits queued and not satisfied */
    _Atomic uint64_t stamp_ns;      /* when the latest record ran; 0: never */
    _Atomic(struct rp_stream *)
            last_stream; /* of the latest record, for no-op waits; never followed */

    /* Records that a later one may overtake (event_tickets.c). */
    pthread_mutex_t lock;                /* of the numbers; the last lock that is taken */
    uint64_t run_first;                  /* number of the first record of last_stream's run */
    _Atomic(struct rp_event_run *) runs; /* earlier ones that are not over; mostly none */

    _Atomic uint32_t built; /* tasks of built graphs that name it */

    struct rp_share *share;       /* ACL_EVENT_IPC; owned; set before the handle is known */
    struct rp_event_mark *common; /* in its page: instead of `recorded` and `reached` above */

    /* ACL_EVENT_RECORD_* and ACL_EVENT_WAIT_* of the first call, which later ones must
     * repeat; RP_EVENT_FLAG_OPEN: none yet. */
    _Atomic uint32_t record_flag;
    _Atomic uint32_t wait_flag;

    /*
     * Written by capture under context->capture_lock. While `captured` is not
     * NULL the event's latest record is a node of an open capture; record, wait
     * and reset of the event then go to that table whatever the stream (a wait
     * lets a stream join the capture), see rp_stream_submit_event.
     */
    void *capture;         /* capture that recorded it last; NULL: none */
    uint32_t capture_edge; /* that record's edge */
    _Atomic(const struct rp_submit_ops *) captured;
};

/**
 * rp_event_create: an event of `context`, without a handle. RP_ENOEVENT, RP_ENOMEM.
 * Owner: the reference is the caller's.
 */
RP_MUST_USE rp_status rp_event_create(
        struct rp_context *context, enum rp_event_kind kind, uint32_t flags, struct rp_event **out);

/** rp_event_number: a record by `stream` gets its number, `*out`. RP_ENOMEM. */
RP_MUST_USE rp_status rp_event_number(
        struct rp_event *event, struct rp_stream *stream, uint64_t *out);

/** rp_event_is_reached: whether the record `ticket` has run, whatever became of later ones. 0:
 * true. */
bool rp_event_is_reached(struct rp_event *event, uint64_t ticket);

/** rp_event_forget_runs: the event ends. */
void rp_event_forget_runs(struct rp_event *event);

/** rp_event_reach: the record `ticket` has run, or never will: whoever waits for it goes on. The
 *  caller rings the doorbell. */
void rp_event_reach(struct rp_event *event, uint64_t ticket);

/** rp_event_recorded / rp_event_reached: where to read `recorded` and `reached`. */
static inline const _Atomic uint64_t *rp_event_recorded(const struct rp_event *event)
{
    return event->common != NULL ? &event->common->recorded : &event->recorded;
}

static inline const _Atomic uint64_t *rp_event_reached(const struct rp_event *event)
{
    return event->common != NULL ? &event->common->reached : &event->reached;
}

/** rp_event_check_recorder: RP_EREMOTE: nobody will reach `ticket`, for the process that had drawn
 *  it has ended. Makes system calls; for who has waited long. */
RP_MUST_USE rp_status rp_event_check_recorder(const struct rp_event *event, uint64_t ticket);

/** rp_event_share: `event`, which nobody else has yet, is one of several processes. Takes `share`
 *  over. */
void rp_event_share(struct rp_event *event, struct rp_share *share);

/** rp_event_publish: give `event` a handle. RP_ENOMEM: the caller's reference is gone, too. */
RP_MUST_USE rp_status rp_event_publish(struct rp_event *event, void **out);

/** rp_event_from_handle: the live event, NULL otherwise. */
struct rp_event *rp_event_from_handle(const void *handle);
/** rp_event_ref / rp_event_unref: keep the memory; the last unref frees it, never blocks. */
void rp_event_ref(struct rp_event *event);
void rp_event_unref(struct rp_event *event);

#endif
