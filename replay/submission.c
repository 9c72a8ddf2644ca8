// The life of one entry of a stream, from the queue to its end, and the turns that it takes and
// passes on the way. All under the baton.
//
// A turn is never skipped: a submission that ends before its turn has come (it failed elsewhere, or
// was dropped) stays behind as a ghost that holds nothing but its tickets, and passes each one when
// it comes. What it should have done on that communicator was not done, so the ranks are no longer
// in step: its turn puts the communicator into error on every rank, which is better than to pair
// this rank's next call with the peers' last.

#include "replay/submission.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "replay/event.h"
#include "replay/pair_op.h"
#include "replay/scheduler.h"
#include "replay/stream.h"

// Whether the turn `ticket` has been passed already.
static bool turn_is_over(const struct rp_turn *turn, uint64_t ticket)
{
    return turn->serving > ticket;
}

// Sends and receives have the order of their pairs alone, and get their numbers now.
static bool needs_turn(const struct rp_submission *sub, uint32_t i)
{
    return sub->program == NULL ? !rp_op_is_pairs(sub->op.record.op)
                                : sub->program->open_ended || sub->program->comm_ops[i] != 0;
}

static void take_tickets(struct rp_device *device, struct rp_submission *sub)
{
    const uint32_t comms = rp_submission_comms(sub);
    for (uint32_t i = 0; i < comms; i++) {
        struct rp_comm *comm = rp_submission_comm(sub, i);
        *rp_submission_ticket(sub, i) = needs_turn(sub, i) ? comm->turn.next_ticket++ : 0;
        // relaxed: a hint for drivers; only the baton's holder stores it.
        if (comm->lines.size > atomic_load_explicit(&device->ranks, memory_order_relaxed)) {
            atomic_store_explicit(&device->ranks, comm->lines.size, memory_order_relaxed);
        }
    }
    if (sub->program != NULL && comms != 0) {
        sub->run_ticket = sub->program->run->turn.next_ticket++;
    }
}

// Numbers of sends and receives, in the order of the calls like the tickets. Waiting for a turn
// with it was tried: a call behind another one of its stream kept its turn from those of other
// streams which the first one waited for.
static void take_numbers(struct rp_submission *sub)
{
    const struct rp_program *program = sub->program;
    if (program == NULL) {
        if (sub->insn.kind == RP_INSN_COLLECTIVE && rp_op_is_pairs(sub->op.record.op)) {
            rp_pair_op_number(&sub->lane.coll, &sub->op);
        }
        return;
    }
    for (uint32_t i = 0; i < program->pair_use_count; i++) {
        const struct rp_pair_use *use = &program->pair_use[i];
        struct rp_pair_end *end = &use->comm->pairs[use->peer];
        uint64_t *numbered = use->sends ? &end->sends : &end->recvs;
        rp_submission_pair_base(sub)[i] = *numbered;
        *numbered += use->count;
    }
}

void rp_submission_admit(struct rp_device *device, struct rp_submission *sub)
{
    struct rp_stream *stream = sub->stream;
    take_tickets(device, sub);
    take_numbers(sub);
    if (rp_list_empty(&stream->fifo)) {
        rp_list_push_back(&device->active, &stream->in_active);
        device->active_count++;
    }
    rp_list_push_back(&stream->fifo, &sub->in_stream);
}

static void reset_lane(struct rp_lane *lane, uint32_t pc, uint32_t end)
{
    lane->pc = pc;
    lane->end = end;
    lane->progress = 0;
    lane->since_ns = 0;
    lane->coll.phase = RP_COLL_TURN;
    // relaxed: no call of this lane is out.
    atomic_store_explicit(&lane->state, RP_LANE_RUNNABLE, memory_order_relaxed);
}

void rp_lane_restart(struct rp_program *program, uint32_t lane, uint32_t pc)
{
    reset_lane(&program->run->lane[lane], pc, program->lane_first[lane + 1]);
}

bool rp_submission_begin(struct rp_submission *sub)
{
    struct rp_program *program = sub->program;
    if (program == NULL) {
        reset_lane(&sub->lane, 0, 1);
        sub->began = true;
        return true;
    }
    struct rp_run *run = program->run;
    if (run->owner != NULL || (program->comm_count != 0 && run->turn.serving != sub->run_ticket)) {
        return false;
    }
    run->owner = sub;
    run->replays++;
    run->pair_ops_left = program->open_ended ? UINT32_MAX : program->pair_ops;
    for (uint32_t i = 0; i < program->lane_count; i++) {
        rp_lane_restart(program, i, program->lane_first[i]);
        if (!program->lane_starts[i]) {
            // relaxed: no call of this lane is out.
            atomic_store_explicit(&run->lane[i].state, RP_LANE_ENDED, memory_order_relaxed);
        }
    }
    for (uint32_t i = 0; i < program->edge_count; i++) {
        run->edge[i] = 0;
    }
    for (uint32_t i = 0; i < program->comm_count; i++) {
        // Where the number of ops is open the turn is kept to the end.
        run->ops_left[i] = program->open_ended ? UINT32_MAX : program->comm_ops[i];
    }
    sub->began = true;
    return true;
}

void rp_submission_fail(struct rp_submission *sub, rp_status st, const char *sentence)
{
    if (sub->failed != RP_OK) {
        return;
    }
    sub->failed = st;
    rp_text_copy(sub->sentence, sizeof(sub->sentence), sentence);
}

// What the submission should have done on communicator `i` will not be done.
static void fail_comm(struct rp_submission *sub, uint32_t i)
{
    struct rp_comm *comm = rp_submission_comm(sub, i);
    // relaxed: after it nobody looks at the communicator's state.
    if (rp_comm_failure(comm) != RP_OK ||
            atomic_load_explicit(&comm->destroyed, memory_order_relaxed)) {
        return;
    }
    char what[RP_RECORD_TEXT_BYTES];
    if (sub->program == NULL) {
        struct rp_record record = sub->op.record;
        record.seq = comm->lines.announced + 1;
        rp_record_describe(&record, what, sizeof(what));
    } else {
        snprintf(what, sizeof(what), "a replay of graph %" PRIu32, sub->program->id);
    }
    char sentence[RP_OP_SENTENCE_BYTES];
    const int used = snprintf(sentence, sizeof(sentence),
            "communicator %s, rank %" PRIu32 ": %s ended before it ran: ", comm->name, comm->rank,
            what);
    if (used > 0 && (size_t)used < sizeof(sentence)) {
        rp_text_copy(sentence + used, sizeof(sentence) - (size_t)used,
                sub->failed != RP_OK ? sub->sentence : "it was dropped");
    }
    rp_comm_fail(comm, sub->failed != RP_OK ? sub->failed : RP_ESTREAMABORT, RP_NO_RANK,
            comm->lines.announced + 1, sentence);
}

// The turn of communicator `i` has come to a submission that will not use it.
static void skip_turn(struct rp_submission *sub, uint32_t i)
{
    rp_submission_comm(sub, i)->turn.serving++;
    fail_comm(sub, i);
}

// Sends and receives that have their numbers and will not come: peers would wait for them. Called
// for a submission that failed.
static void abandon_pairs(struct rp_submission *sub)
{
    const struct rp_program *program = sub->program;
    if (program == NULL) {
        if (sub->insn.kind == RP_INSN_COLLECTIVE && rp_op_is_pairs(sub->op.record.op)) {
            fail_comm(sub, 0);
        }
        return;
    }
    const bool all_over = program->run->owner == sub && program->run->pair_ops_left == 0;
    for (uint32_t i = 0; !all_over && i < program->pair_use_count; i++) {
        uint32_t c = 0;
        while (program->comm[c] != program->pair_use[i].comm) {
            c++;
        }
        fail_comm(sub, c);
    }
}

// Passes every turn that has come (then *moved); whether none is left.
static bool pass_turns(struct rp_submission *sub, bool *moved)
{
    bool all = true;
    const uint32_t comms = rp_submission_comms(sub);
    for (uint32_t i = 0; i < comms; i++) {
        struct rp_turn *turn = &rp_submission_comm(sub, i)->turn;
        const uint64_t ticket = *rp_submission_ticket(sub, i);
        if (turn->serving == ticket) {
            if (sub->failed == RP_OK) {
                turn->serving++; // its conditions needed no more of it, or none at all
            } else {
                skip_turn(sub, i);
            }
            *moved = true;
        }
        all = all && turn_is_over(turn, ticket);
    }
    if (sub->program != NULL && comms != 0) {
        struct rp_turn *turn = &sub->program->run->turn;
        if (turn->serving == sub->run_ticket) {
            turn->serving++;
            *moved = true;
        }
        all = all && turn_is_over(turn, sub->run_ticket);
    }
    return all;
}

// The references that a ghost still needs, and the submission itself.
static void let_go(struct rp_device *device, struct rp_submission *sub)
{
    if (sub->program != NULL) {
        rp_program_unref(sub->program);
    } else if (sub->insn.kind == RP_INSN_COLLECTIVE) {
        if (rp_op_batch(&sub->op) != NULL) {
            rp_batch_unref(sub->op.batch);
        }
        rp_comm_unref(sub->op.comm);
    }
    rp_pool_give(device, sub);
}

// An event's task is over, or will never run.
static void leave_event(
        const struct rp_submission *sub, const struct rp_insn *insn, uint64_t ticket)
{
    struct rp_event *event = insn->u.event.event;
    if (insn->kind == RP_INSN_EVENT_WAIT) {
        // seq_cst [E2]: for whoever asks whether all waits are over.
        atomic_fetch_sub_explicit(&event->waits_pending, 1, memory_order_seq_cst);
    } else if (insn->kind == RP_INSN_EVENT_RECORD && sub->failed != RP_OK) {
        rp_event_reach(event, ticket); // else who waits for it waits for ever
    }
}

static void leave_events(struct rp_submission *sub)
{
    if (sub->program == NULL) {
        if (rp_insn_names_event(&sub->insn)) {
            leave_event(sub, &sub->insn, sub->insn.u.event.ticket);
        }
        rp_insn_release(&sub->insn);
        return;
    }
    for (uint32_t i = 0; i < sub->program->bound_count; i++) {
        leave_event(sub, &sub->program->insn[sub->program->bound[i]], sub->bound[i]);
    }
}

// Dropped by aclrtStreamAbort: no failure of the stream, which goes on (rp_stream_drain tells those
// who wait).
static bool was_aborted(const struct rp_submission *sub)
{
    // relaxed: the look that has failed it saw this value or an earlier one; it only grows.
    const uint64_t dropped = atomic_load_explicit(&sub->stream->dropped, memory_order_relaxed);
    return sub->failed == RP_ESTREAMABORT && sub->number <= dropped && dropped != UINT64_MAX;
}

void rp_submission_end(struct rp_device *device, struct rp_submission *sub)
{
    struct rp_stream *stream = sub->stream;
    rp_list_remove(&sub->in_stream);
    if (rp_list_empty(&stream->fifo)) {
        rp_list_remove(&stream->in_active);
        device->active_count--;
    }
    if (RP_UNLIKELY(sub->failed != RP_OK) && !was_aborted(sub)) {
        rp_stream_fail(stream, sub->failed, sub->sentence);
    }
    if (RP_UNLIKELY(sub->failed != RP_OK)) {
        abandon_pairs(sub);
    }
    if (sub->program != NULL && sub->program->run->owner == sub) {
        sub->program->run->owner = NULL;
    }
    bool passed = false;
    const bool done = pass_turns(sub, &passed);
    const uint32_t comms = rp_submission_comms(sub);
    for (uint32_t i = 0; i < comms; i++) {
        // seq_cst [Q1]: pairs with whoever waits for 0 before it destroys the communicator.
        atomic_fetch_sub_explicit(&rp_submission_comm(sub, i)->pending, 1, memory_order_seq_cst);
    }
    leave_events(sub);
    if (done) {
        let_go(device, sub);
    } else {
        rp_list_push_back(&device->ghosts, &sub->in_pool);
    }
    // Last, because whoever sees it may free what the submission named.
    // relaxed: only the baton's holder stores it.
    const uint64_t ended = atomic_load_explicit(&stream->ended, memory_order_relaxed) + 1;
    // seq_cst [S1] [D1]: pairs with the look of those who wait for the stream.
    atomic_store_explicit(&stream->ended, ended, memory_order_seq_cst);
    rp_doorbell_ring(device->bell);
    rp_stream_unref(stream);
}

bool rp_ghosts_step(struct rp_device *device)
{
    bool moved = false;
    rp_list_each(link, &device->ghosts)
    {
        struct rp_submission *sub = rp_container_of(link, struct rp_submission, in_pool);
        if (pass_turns(sub, &moved)) {
            rp_list_remove(link);
            let_go(device, sub);
        }
    }
    return moved;
}

void rp_ghosts_drop(struct rp_device *device)
{
    struct rp_list *link;
    while ((link = rp_list_pop_front(&device->ghosts)) != NULL) {
        let_go(device, rp_container_of(link, struct rp_submission, in_pool));
    }
}
