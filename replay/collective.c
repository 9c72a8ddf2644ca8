// One collective, from its turn to its end.
//
//     TURN -> BEGIN -> RUN -> COMPLETE -> over
//       |       |       |        |
//       |       +-------+--------+---> RELEASE -> the failure is delivered
//       +--> a communicator that has failed before: delivered at once
//
// What fails, fails the communicator: its first failure is what every op of it delivers, this one
// too. An op that has announced itself may be in a peer's hands then, so its buffers are held and
// the failure is kept back until no peer can touch them. Where peers reach windows alone it is not.

#include "replay/collective.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "replay/pair_op.h"
#include "replay/scheduler.h"

// A wait of this length is more than a moment's: are the peers alive?
#define CHECK_NS (200 * RP_NS_PER_US)

// A call that differs is on its way from another node: how long it is waited for.
#define CALL_NS (500 * RP_NS_PER_MS)

static bool is_aiv(const struct rp_op *op)
{
    return op->record.expansion == RP_EXPANSION_AIV;
}

static void hold_buffers(struct rp_coll_run *run, const struct rp_op *op, bool hold)
{
    if (hold == run->held || op->record.buffer_class != RP_CLASS_CONTIGUOUS || !is_aiv(op)) {
        return; // windows are the communicator's, and kept until all members have left
    }
    struct rp_comm *comm = op->comm;
    void (*change)(struct rp_arena *, const void *, size_t) =
            hold ? rp_arena_hold : rp_arena_unhold;
    change(comm->arena, op->send, rp_input_bytes(&op->record, op->counts, comm->rank, comm->size));
    change(comm->arena, op->recv, rp_output_bytes(&op->record, op->counts, comm->rank, comm->size));
    run->held = hold;
}

static rp_status deliver(struct rp_coll_run *run, const struct rp_op *op)
{
    hold_buffers(run, op, false);
    run->phase = RP_COLL_TURN;
    return rp_comm_failure(op->comm);
}

static rp_status release(struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step)
{
    rp_comm_check(op->comm, step->now_ns); // a peer that died holds nothing
    if (!rp_lines_released(&op->comm->lines)) {
        return RP_AGAIN;
    }
    step->moved = true;
    return deliver(run, op);
}

// The communicator has failed.
static rp_status give_up(struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step)
{
    step->moved = true;
    if (run->seq == 0) {
        return deliver(run, op); // never announced
    }
    hold_buffers(run, op, true);
    if (!run->held) {
        return deliver(run, op); // peers reach windows only
    }
    run->phase = RP_COLL_RELEASE;
    return release(run, op, step);
}

// A peer that gave up because the calls differ says less than the two records do, and lines outlive
// a failure: whether they explain it; `names` then names both calls. Only until this rank is done
// with the op: the peer's line may be another op's then.
static bool calls_differ(
        const struct rp_coll_run *run, const struct rp_op *op, struct rp_error_capture *names)
{
    rp_error_capture_begin(names);
    const bool differ = run->phase == RP_COLL_RUN && run->seq != 0 &&
                        rp_hts_compare(op, run->seq) == RP_EMISMATCH;
    rp_error_capture_end(names);
    return differ;
}

void rp_coll_keep_failure(const struct rp_op *op, const struct rp_coll_step *step, uint64_t seq,
        rp_status st, uint32_t culprit, const char *why)
{
    struct rp_comm *comm = op->comm;
    char replay[40] = "";
    if (step->replay != 0) {
        snprintf(replay, sizeof(replay), ", replay %" PRIu64, step->replay);
    }
    char sentence[RP_OP_SENTENCE_BYTES];
    const int used = snprintf(sentence, sizeof(sentence),
            "communicator %s, rank %" PRIu32 " of %" PRIu32 ", stream %" PRId32 "%s: ", comm->name,
            comm->rank, comm->size, step->stream_id, replay);
    rp_text_copy(sentence + used, sizeof(sentence) - (size_t)used, why);
    rp_comm_fail(comm, st, culprit, seq, sentence);
}

// A rank of this node gave up because its call and that of a rank on another one differ, and that
// call has not come here yet: it is worth a moment, since it makes the sentence.
static bool awaits_call(
        const struct rp_coll_run *run, const struct rp_op *op, const struct rp_coll_step *step)
{
    if (run->heard_ns == 0 || step->now_ns - run->heard_ns >= CALL_NS) {
        return false;
    }
    (void)rp_channel_progress(op->comm->channel[run->heard_of], 1);
    return rp_lines_arrived(&op->comm->lines, run->heard_of, run->seq) == RP_AGAIN;
}

static bool may_await_call(
        const struct rp_coll_run *run, const struct rp_op *op, rp_status st, uint32_t culprit)
{
    const struct rp_comm *comm = op->comm;
    return st == RP_EMISMATCH && run->phase == RP_COLL_RUN && run->seq != 0 && run->heard_ns == 0 &&
           comm->nodes > 1 && culprit < comm->size && culprit != comm->rank;
}

static rp_status fail(struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step,
        rp_status st, uint32_t culprit)
{
    struct rp_error_capture names;
    const uint64_t seq = run->seq != 0 ? run->seq : op->comm->lines.announced + 1;
    if (may_await_call(run, op, st, culprit)) {
        run->heard_ns = step->now_ns;
        run->heard_of = culprit;
        step->moved = true; // look again at once: it may be here already
        return RP_AGAIN;
    }
    if (st != RP_ETASKTIMEOUT && calls_differ(run, op, &names)) {
        rp_coll_keep_failure(op, step, seq, RP_EMISMATCH, op->comm->lines.culprit, names.sentence);
    } else {
        rp_coll_keep_failure(op, step, seq, st, culprit, rp_error_captured());
    }
    return give_up(run, op, step);
}

// A barrier waits as long as it takes.
static uint64_t limit_ns(const struct rp_op *op)
{
    const struct rp_comm_settings *settings = &op->comm->settings;
    return op->record.op == RP_OP_BARRIER ? 0
           : is_aiv(op)                   ? settings->aiv_timeout_ns
                                          : settings->exec_timeout_ns;
}

static rp_status time_out(
        struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step)
{
    struct rp_comm *comm = op->comm;
    struct rp_record record = op->record;
    record.seq = run->seq != 0 ? run->seq : comm->lines.announced + 1;
    char call[RP_RECORD_TEXT_BYTES];
    rp_record_describe(&record, call, sizeof(call));
    char ranks[256];
    uint32_t missing = rp_lines_waiting_for(&comm->lines, record.seq, ranks, sizeof(ranks));
    char awaited[48] = "";
    if (missing == RP_NO_RANK && run->phase == RP_COLL_RUN && !is_aiv(op)) {
        missing = rp_hts_awaited(&run->u.hts, op);
        if (missing != RP_NO_RANK) {
            snprintf(awaited, sizeof(awaited), "; waits for a signal of rank %" PRIu32, missing);
        }
    }
    char who[128] = "";
    if (missing != RP_NO_RANK && comm->member != NULL) {
        snprintf(who, sizeof(who), "; rank %" PRIu32 " is process %" PRId64 " on %.63s", missing,
                comm->member[missing].pid, comm->member[missing].host);
    }
    (void)rp_fail(RP_ETASKTIMEOUT, "%s: not over after %" PRIu64 " ms; %s%s%s", call,
            (step->now_ns - run->started_ns) / RP_NS_PER_MS, ranks, awaited, who);
    return fail(run, op, step, RP_ETASKTIMEOUT, missing);
}

// A kernel waits for one rank at a time. Another one may have failed or died meanwhile, and then
// the op will not end well even if the awaited rank takes its time.
static rp_status look_at_all(const struct rp_coll_run *run, const struct rp_op *op)
{
    struct rp_lines *lines = &op->comm->lines;
    if (run->seq != 0) {
        const rp_status st = rp_lines_check(lines, run->seq);
        if (st != RP_OK) {
            return st;
        }
    }
    for (uint32_t q = 0; q < lines->size; q++) {
        if (q == lines->rank) {
            continue;
        }
        // Not announced: the line's last user but one is awaited.
        const rp_status st = run->phase == RP_COLL_COMPLETE ? rp_lines_done(lines, q, run->seq)
                             : run->seq != 0                ? rp_lines_arrived(lines, q, run->seq)
                                             : rp_lines_done(lines, q, lines->announced - 1);
        if (st < 0) {
            return st;
        }
    }
    return RP_OK;
}

// Nothing moved. Looks into a wait that lasts.
static rp_status linger(struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step)
{
    if (step->moved) {
        run->moved_ns = step->now_ns;
        return RP_AGAIN;
    }
    const uint64_t waited_ns = step->now_ns - run->started_ns;
    if (RP_LIKELY(waited_ns < CHECK_NS)) {
        return RP_AGAIN;
    }
    rp_comm_check(op->comm, step->now_ns);
    rp_status st = look_at_all(run, op);
    const uint64_t limit = limit_ns(op);
    if (st == RP_OK && limit != 0 && waited_ns >= limit) {
        return time_out(run, op, step);
    }
    if (st == RP_OK && !is_aiv(op) && run->seq != 0 &&
            step->now_ns - run->moved_ns >= RP_STALL_NS) {
        run->moved_ns = step->now_ns;
        st = rp_hts_compare(op, run->seq);
    }
    return st == RP_OK ? RP_AGAIN : fail(run, op, step, st, op->comm->lines.culprit);
}

static void begin(struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step)
{
    struct rp_comm *comm = op->comm;
    run->seq = 0;
    run->held = false;
    run->heard_ns = 0;
    run->started_ns = step->now_ns;
    run->moved_ns = step->now_ns;
    if (is_aiv(op)) {
        rp_aiv_begin(&run->u.aiv, &comm->lines, step->reduce, &comm->settings.tuning, &op->record,
                op->send, op->recv);
        rp_aiv_set_counts(&run->u.aiv, op->counts);
    } else {
        run->u.hts = (struct rp_hts_run){ 0 };
    }
    run->phase = RP_COLL_BEGIN;
    step->moved = true;
}

static rp_status announce(
        struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step)
{
    if (!is_aiv(op)) { // an AIV kernel announces itself
        struct rp_lines *lines = &op->comm->lines;
        const rp_status st = rp_lines_announce(lines, &op->record, NULL, 0);
        if (st != RP_OK) {
            return st;
        }
        run->seq = lines->announced;
        step->moved = true;
    }
    run->phase = RP_COLL_RUN;
    return RP_OK;
}

static rp_status work(struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step)
{
    struct rp_lines *lines = &op->comm->lines;
    bool moved = false;
    rp_status st;
    if (is_aiv(op)) {
        st = rp_aiv_step(&run->u.aiv, step->budget_bytes, &moved);
        run->seq = run->u.aiv.seq;
    } else {
        st = rp_hts_step(&run->u.hts, op, run->seq, step->reduce, step->budget_bytes, &moved);
        if (st == RP_OK) {
            rp_lines_finish(lines, run->seq);
        }
    }
    step->moved |= moved;
    if (st != RP_OK) {
        return st;
    }
    if (step->last_op) {
        // `done` before the turn: the next op may be any submission's. Otherwise the submission's
        // next op publishes it with its own arrival, or the end of the step does (scheduler.c).
        rp_lines_flush(lines);
        op->comm->turn.serving = step->ticket + 1;
    }
    run->phase = RP_COLL_COMPLETE;
    step->moved = true;
    return RP_OK;
}

static rp_status complete(
        struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step)
{
    if (is_aiv(op)) {
        const rp_status st = rp_aiv_complete(&run->u.aiv);
        if (st != RP_OK) {
            return st;
        }
    } else {
        // The list's last waits saw to it; but two ranks whose rows differ are everybody's failure.
        if (rp_op_has_row(op->record.op)) {
            const rp_status st = rp_lines_all_done(&op->comm->lines, run->seq);
            if (st != RP_OK) {
                return st;
            }
        }
        rp_lines_complete(&op->comm->lines, run->seq);
    }
    run->phase = RP_COLL_TURN;
    step->moved = true;
    return RP_OK;
}

static rp_status advance(struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step)
{
    rp_status st = RP_OK;
    switch ((enum rp_coll_phase)run->phase) {
    case RP_COLL_TURN:
        begin(run, op, step);
        // fallthrough
    case RP_COLL_BEGIN:
        st = announce(run, op, step);
        if (st != RP_OK) {
            return st;
        }
        // fallthrough
    case RP_COLL_RUN:
        st = work(run, op, step);
        if (st != RP_OK) {
            return st;
        }
        // fallthrough
    case RP_COLL_COMPLETE:
        return complete(run, op, step);
    case RP_COLL_RELEASE:
        break; // not ours
    }
    return RP_AGAIN;
}

rp_status rp_collective_step(
        struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step)
{
    step->moved = false;
    if (rp_op_is_pairs(op->record.op)) {
        return rp_pair_op_step(run, op, step);
    }
    if (run->phase == RP_COLL_RELEASE) {
        return release(run, op, step);
    }
    if (run->phase == RP_COLL_TURN) {
        run->seq = 0;
        run->held = false;
    }
    if (RP_UNLIKELY(rp_comm_failure(op->comm) != RP_OK)) {
        return give_up(run, op, step);
    }
    if (run->phase == RP_COLL_TURN && op->comm->turn.serving != step->ticket) {
        // A replay keeps its turn from its first op on, so it has it before the later ones.
        return RP_AGAIN;
    }
    if (RP_UNLIKELY(run->phase == RP_COLL_RUN && awaits_call(run, op, step))) {
        return RP_AGAIN;
    }
    const rp_status st = advance(run, op, step);
    if (RP_LIKELY(st == RP_OK)) {
        return RP_OK;
    }
    return st == RP_AGAIN ? linger(run, op, step)
                          : fail(run, op, step, st, op->comm->lines.culprit);
}
