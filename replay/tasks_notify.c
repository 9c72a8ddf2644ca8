// Record, wait and reset of notifies, as tasks.

#include <inttypes.h>

#include "replay/notify.h"
#include "replay/scheduler.h"
#include "replay/share.h"
#include "replay/stream.h"

// Values of aclrtCntNotifyRecordMode.
static uint32_t recorded_value(uint32_t before, uint32_t value, uint8_t mode)
{
    switch (mode) {
    case 1: // ADD
        return before + value;
    case 2: // BIT_OR
        return before | value;
    case 4: // BIT_AND
        return before & value;
    default: // SET
        return value;
    }
}

// Wakes whoever may wait for it, here and in other processes.
static void ring(const struct rp_step *step, struct rp_notify *notify)
{
    rp_doorbell_ring(step->device->bell);
    // relaxed: whoever exports it from now on makes it known to others later still.
    struct rp_share *share = atomic_load_explicit(&notify->share, memory_order_relaxed);
    if (RP_UNLIKELY(share != NULL)) {
        rp_share_ring(share);
    }
}

rp_status rp_task_notify_record(struct rp_step *step)
{
    struct rp_notify *notify = step->insn->u.notify.notify;
    const uint32_t value = (uint32_t)step->insn->u.notify.value;
    _Atomic uint32_t *word;
    uint32_t before;
    do {
        before = rp_notify_look(notify, &word);
        // seq_cst [N1] [D1]: pairs with the look of a wait. Streams of other devices record it,
        // too.
    } while (!atomic_compare_exchange_weak_explicit(word, &before,
            recorded_value(before, value, step->insn->flag), memory_order_seq_cst,
            memory_order_relaxed));
    ring(step, notify);
    return RP_OK;
}

// Values of aclrtCntNotifyWaitMode.
static bool is_reached(uint32_t now, uint32_t value, uint8_t mode)
{
    switch (mode) {
    case 0: // LESS
        return now < value;
    case 1: // EQUAL
        return now == value;
    case 2: // BIGGER
        return now > value;
    case 3: // BIGGER_OR_EQUAL
        return now >= value;
    default: // EQUAL_WITH_BITMASK
        return (now & value) == value;
    }
}

// Whether the wait is over; its clearing is one step with the look.
static bool take(const struct rp_step *step)
{
    const struct rp_insn *insn = step->insn;
    struct rp_notify *notify = insn->u.notify.notify;
    _Atomic uint32_t *word;
    uint32_t now = rp_notify_look(notify, &word);
    while (is_reached(now, (uint32_t)insn->u.notify.value, insn->flag)) {
        if (!insn->clear) {
            return true;
        }
        // seq_cst [N1]: as a record's exchange.
        if (atomic_compare_exchange_weak_explicit(
                    word, &now, 0, memory_order_seq_cst, memory_order_relaxed)) {
            if (notify->counts) {
                rp_doorbell_ring(step->device->bell); // a wait for a small value may be over
            }
            return true;
        }
        now = rp_notify_look(notify, &word);
    }
    return false;
}

rp_status rp_task_notify_wait(struct rp_step *step)
{
    const struct rp_insn *insn = step->insn;
    struct rp_lane *lane = step->lane;
    if (take(step)) {
        return RP_OK;
    }
    // As with events: nobody may come any more to record it.
    const rp_status refusal = rp_stream_refusal(step->stream, step->sub->number);
    if (refusal != RP_OK) {
        return rp_fail(refusal,
                "stream %" PRId32 " waited for notify %" PRIu32 " when it was stopped",
                step->stream->id, insn->u.notify.notify->id);
    }
    if (lane->since_ns == 0) {
        lane->since_ns = step->now_ns;
    }
    const uint64_t waited_ns = step->now_ns - lane->since_ns;
    if (insn->u.notify.timeout_ns != 0 && waited_ns >= insn->u.notify.timeout_ns) {
        return rp_fail(RP_EWAITTIMEOUT,
                "stream %" PRId32 " waited %" PRIu64 " ms for notify %" PRIu32, step->stream->id,
                waited_ns / RP_NS_PER_MS, insn->u.notify.notify->id);
    }
    return RP_AGAIN;
}

rp_status rp_task_notify_reset(struct rp_step *step)
{
    rp_notify_clear(step->insn->u.notify.notify);
    rp_doorbell_ring(step->device->bell); // a wait for a small value may be over
    return RP_OK;
}
