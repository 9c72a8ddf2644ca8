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

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum rp_event_kind {
    RP_EVENT_PLAIN = 0,
    RP_EVENT_FLAG = 1,
    RP_EVENT_EX = 2,
};

struct rp_event {
    uint64_t magic;
    _Atomic uint32_t refs; /* handle + tasks queued */
    uint32_t id;
    int32_t device_id;
    uint8_t kind;   /* enum rp_event_kind */
    uint32_t flags; /* ACL_EVENT_* */
    struct rp_context *context;

    _Atomic uint64_t recorded; /* tickets given to records so far (API threads) */
    _Atomic uint64_t reached;  /* largest ticket whose record has run */
    _Atomic uint32_t set;      /* FLAG: set by record, cleared by reset */
    _Atomic uint32_t waits_pending; /* waits queued and not satisfied */
    _Atomic uint64_t stamp_ns; /* when the latest record ran; 0: never */
    _Atomic(struct rp_stream *) last_stream; /* of the latest record, for no-op waits; never followed */

    /* Written by capture under context->capture_lock. */
    void *capture;      /* capture that recorded it last; NULL: none */
    void *capture_node; /* that record's node */
    _Atomic uint32_t captured; /* 1 while `capture` is not NULL */
};

struct rp_event *rp_event_from_handle(const void *handle);
void rp_event_ref(struct rp_event *event);
void rp_event_unref(struct rp_event *event);

#endif
