// Record, wait and reset of events, as tasks.
//
// A record has a number, and a wait is bound to one (event_tickets.c). A FLAG event is a flag
// besides.

#include <inttypes.h>

#include "replay/event.h"
#include "replay/scheduler.h"
#include "replay/share.h"
#include "replay/stream.h"

rp_status rp_task_event_record(struct rp_step *step)
{
    struct rp_event *event = step->insn->u.event.event;
    // relaxed: published by rp_event_reach. The clock is read here: elapsed times are for people
    // who measure.
    atomic_store_explicit(&event->stamp_ns, rp_now_ns(), memory_order_relaxed);
    rp_event_reach(event, rp_submission_event_ticket(step->sub, step->insn));
    rp_doorbell_ring(step->device->bell);
    return RP_OK;
}

rp_status rp_event_check_recorder(const struct rp_event *event, uint64_t ticket)
{
    const int32_t pid = event->share == NULL ? 0 : rp_share_abandoned(event->share, ticket);
    // It may have reached the event as the last thing that it did.
    if (pid == 0 || atomic_load_explicit(rp_event_reached(event), memory_order_seq_cst) >= ticket) {
        return RP_OK;
    }
    return rp_fail(RP_EREMOTE,
            "event %" PRIu32 " is not recorded any more: process %" PRId32
            " was to do so and has ended",
            event->id, pid);
}

static bool is_over(struct rp_event *event, uint64_t ticket)
{
    if (event->kind == RP_EVENT_FLAG) {
        // seq_cst [E3]: pairs with the store in rp_task_event_record.
        return atomic_load_explicit(&event->set, memory_order_seq_cst) != 0;
    }
    return rp_event_is_reached(event, ticket);
}

rp_status rp_task_event_wait(struct rp_step *step)
{
    struct rp_event *event = step->insn->u.event.event;
    const uint64_t ticket = rp_submission_event_ticket(step->sub, step->insn);
    const uint64_t timeout_ns = step->insn->u.event.timeout_ns;
    struct rp_lane *lane = step->lane;
    if (is_over(event, ticket)) {
        return RP_OK;
    }
    // A wait is no work that has begun: nobody may come any more to record the event.
    const rp_status refusal = rp_stream_refusal(step->stream, step->sub->number);
    if (refusal != RP_OK) {
        return rp_fail(refusal,
                "stream %" PRId32 " waited for event %" PRIu32 " when it was stopped",
                step->stream->id, event->id);
    }
    if (lane->since_ns == 0) {
        lane->since_ns = step->now_ns;
    }
    const uint64_t waited_ns = step->now_ns - lane->since_ns;
    if (timeout_ns != 0 && waited_ns >= timeout_ns) {
        return rp_fail(RP_EWAITTIMEOUT,
                "stream %" PRId32 " waited %" PRIu64 " ms for a record of event %" PRIu32,
                step->stream->id, waited_ns / RP_NS_PER_MS, event->id);
    }
    // lane->progress counts the looks into it.
    if (waited_ns >= (lane->progress + 1) * RP_STALL_NS) {
        lane->progress++;
        rp_order_check(step->device, step->stream, event);
        const rp_status st = rp_event_check_recorder(event, ticket);
        if (st != RP_OK) {
            return st;
        }
    }
    return RP_AGAIN;
}

rp_status rp_task_event_reset(struct rp_step *step)
{
    // seq_cst [E3]: as the record's store.
    atomic_store_explicit(&step->insn->u.event.event->set, 0, memory_order_seq_cst);
    return RP_OK;
}
