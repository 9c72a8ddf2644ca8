// Order cycles: stream A holds the turn of a communicator and waits for an event; the record of
// that event stands, in its stream, behind a collective that waits for the same turn. Neither can
// ever go on.
//
// Everything that waits here waits for all of its reasons, so a path of reasons from a turn back
// to itself is a deadlock and no guess:
//
//     the turn's release --> the end of all that stands before its holder, and the holder's lanes
//     the end of a submission --> its lanes; each turn that it has yet to get --> that release
//     a lane --> the event, edge or turn that its instruction waits for
//     an event --> the end of all that stands before its record
//
// The one choice is an event that several queued records would satisfy: then each of them must
// lead back. A record that is not queued, or is on another device, leads nowhere: it may still
// come. The search is cut off in depth; it runs once per 50 ms of a wait.

#include <inttypes.h>
#include <stdio.h>

#include "replay/event.h"
#include "replay/scheduler.h"
#include "replay/stream.h"

#define DEPTH_MAX 16
#define COMMS_MAX 32
#define LOOKS_MAX 10000 // a few hundred microseconds; the device stands still meanwhile
#define CALL_TEXT_BYTES 80

struct walk {
    struct rp_device *device;
    const struct rp_comm *goal;
    const struct rp_comm *seen[COMMS_MAX]; // whose release has been looked into
    uint32_t seen_count;
    uint32_t depth;
    uint32_t looks;
    struct rp_submission *found; // waits for the goal's turn
};

static bool release_leads_back(struct walk *walk, struct rp_comm *comm);
static bool end_leads_back(struct walk *walk, struct rp_submission *sub);

static struct rp_submission *in_stream(struct rp_list *link)
{
    return rp_container_of(link, struct rp_submission, in_stream);
}

// Whether all before `sub` in its stream, and `sub` itself where `itself`, must wait for the goal.
static bool queue_leads_back(struct walk *walk, struct rp_submission *sub, bool itself)
{
    rp_list_each(link, &sub->stream->fifo)
    {
        if (link == &sub->in_stream) {
            break;
        }
        if (end_leads_back(walk, in_stream(link))) {
            return true;
        }
    }
    return itself && end_leads_back(walk, sub);
}

static const struct rp_insn *insns_of(const struct rp_submission *sub)
{
    return sub->program != NULL ? sub->program->insn : &sub->insn;
}

// Whether `sub` satisfies a wait for `event` to reach `ticket`.
static bool records(const struct rp_submission *sub, const struct rp_event *event, uint64_t ticket)
{
    const struct rp_insn *insns = insns_of(sub);
    const uint32_t count =
            sub->program != NULL ? sub->program->lane_first[sub->program->lane_count] : 1;
    for (uint32_t i = 0; i < count; i++) {
        if (insns[i].kind == RP_INSN_EVENT_RECORD && insns[i].u.event.event == event &&
                (event->kind == RP_EVENT_FLAG ||
                        rp_submission_event_ticket(sub, &insns[i]) == ticket)) {
            return true;
        }
    }
    return false;
}

static bool is_over(struct rp_event *event, uint64_t ticket)
{
    // acquire [E3]: pairs with the stores of the record.
    return event->kind == RP_EVENT_FLAG
                   ? atomic_load_explicit(&event->set, memory_order_acquire) != 0
                   : rp_event_is_reached(event, ticket);
}

static bool event_leads_back(struct walk *walk, struct rp_event *event, uint64_t ticket)
{
    bool any = false;
    if (is_over(event, ticket)) {
        return false;
    }
    rp_list_each(stream_link, &walk->device->active)
    {
        struct rp_stream *stream = rp_container_of(stream_link, struct rp_stream, in_active);
        rp_list_each(link, &stream->fifo)
        {
            struct rp_submission *sub = in_stream(link);
            if (!records(sub, event, ticket)) {
                continue;
            }
            if (!queue_leads_back(walk, sub, sub->program != NULL)) {
                return false; // this one can come
            }
            any = true;
            break; // the later ones of this stream come after it
        }
    }
    return any;
}

static bool turn_leads_back(struct walk *walk, struct rp_submission *sub, uint32_t i)
{
    struct rp_comm *comm = rp_submission_comm(sub, i);
    if (comm->turn.serving >= *rp_submission_ticket(sub, i)) {
        return false; // has it, or has passed it
    }
    if (comm == walk->goal) {
        walk->found = sub;
        return true;
    }
    return release_leads_back(walk, comm);
}

static bool lane_leads_back(struct walk *walk, struct rp_submission *sub, struct rp_lane *lane);

// The lane that is still to set edge `index`.
static bool edge_leads_back(struct walk *walk, struct rp_submission *sub, uint32_t index)
{
    for (uint32_t i = 0; i < sub->program->lane_count; i++) {
        struct rp_lane *lane = &sub->program->run->lane[i];
        for (uint32_t pc = lane->pc; pc < lane->end; pc++) {
            const struct rp_insn *insn = &sub->program->insn[pc];
            if (insn->kind == RP_INSN_EDGE_SIGNAL && insn->index == index) {
                return lane_leads_back(walk, sub, lane);
            }
        }
    }
    return false;
}

// Whether a lane of the sub-graph that a conditional runs must wait for the goal.
static bool sub_leads_back(struct walk *walk, struct rp_submission *sub, const struct rp_sub *part)
{
    for (uint32_t i = 0; i < part->lane_count; i++) {
        if (lane_leads_back(walk, sub, &sub->program->run->lane[part->lane_first + i])) {
            return true;
        }
    }
    return false;
}

// What the lane's present instruction waits for. Of a collective that is under way the peers
// decide.
static bool lane_leads_back(struct walk *walk, struct rp_submission *sub, struct rp_lane *lane)
{
    // relaxed: lanes end under the baton. One that has not been started waits for nothing.
    if (lane->pc == lane->end || walk->depth == DEPTH_MAX ||
            atomic_load_explicit(&lane->state, memory_order_relaxed) == RP_LANE_ENDED) {
        return false;
    }
    const struct rp_insn *insn = &insns_of(sub)[lane->pc];
    bool back = false;
    walk->depth++;
    if (insn->kind == RP_INSN_EVENT_WAIT) {
        back = event_leads_back(walk, insn->u.event.event, rp_submission_event_ticket(sub, insn));
    } else if (insn->kind == RP_INSN_COND && lane->progress != 0) {
        back = sub_leads_back(walk, sub, &sub->program->sub[insn->index + lane->progress - 1]);
    } else if (insn->kind == RP_INSN_EDGE_WAIT && sub->program->run->edge[insn->index] == 0) {
        back = edge_leads_back(walk, sub, insn->index);
    } else if ((insn->kind == RP_INSN_COLLECTIVE || insn->kind == RP_INSN_NUMBER) &&
               lane->coll.phase == RP_COLL_TURN) {
        for (uint32_t i = 0; !back && i < rp_submission_comms(sub); i++) {
            const bool its = sub->program == NULL ||
                             sub->program->op[insn->index].comm == sub->program->comm[i];
            back = its && turn_leads_back(walk, sub, i);
        }
    }
    walk->depth--;
    return back;
}

// Whether `sub` cannot end before the goal is released; what stands before it is not looked at.
static bool end_leads_back(struct walk *walk, struct rp_submission *sub)
{
    if (sub->failed != RP_OK || walk->depth == DEPTH_MAX || walk->looks++ == LOOKS_MAX) {
        return false;
    }
    bool back = false;
    walk->depth++;
    for (uint32_t i = 0; !back && i < rp_submission_comms(sub); i++) {
        back = turn_leads_back(walk, sub, i);
    }
    if (back) {
        // found already
    } else if (sub->began) {
        for (uint32_t i = 0; !back && i < rp_submission_lanes(sub); i++) {
            back = lane_leads_back(walk, sub, rp_submission_lane(sub, i));
        }
    } else if (sub->program != NULL) {
        struct rp_submission *owner = sub->program->run->owner;
        back = owner != NULL && queue_leads_back(walk, owner, true);
    } else if (sub->insn.kind == RP_INSN_EVENT_WAIT) {
        back = event_leads_back(walk, sub->insn.u.event.event, sub->insn.u.event.ticket);
    }
    walk->depth--;
    return back;
}

static struct rp_submission *holder_of(struct rp_device *device, const struct rp_comm *comm)
{
    rp_list_each(stream_link, &device->active)
    {
        struct rp_stream *stream = rp_container_of(stream_link, struct rp_stream, in_active);
        rp_list_each(link, &stream->fifo)
        {
            struct rp_submission *sub = in_stream(link);
            for (uint32_t i = 0; i < rp_submission_comms(sub); i++) {
                if (rp_submission_comm(sub, i) == comm &&
                        *rp_submission_ticket(sub, i) == comm->turn.serving) {
                    return sub;
                }
            }
        }
    }
    return NULL;
}

// Whether lane `i` of the program has ops on `comm` left.
static bool lane_uses(
        const struct rp_program *program, const struct rp_lane *lane, const struct rp_comm *comm)
{
    for (uint32_t pc = lane->pc; pc < lane->end; pc++) {
        const struct rp_insn *insn = &program->insn[pc];
        if (insn->kind == RP_INSN_COLLECTIVE && program->op[insn->index].comm == comm) {
            return true;
        }
    }
    return false;
}

// Whether the turn of `comm` cannot be passed before the goal is.
static bool release_leads_back(struct walk *walk, struct rp_comm *comm)
{
    for (uint32_t i = 0; i < walk->seen_count; i++) {
        if (walk->seen[i] == comm) {
            return false;
        }
    }
    struct rp_submission *holder = holder_of(walk->device, comm);
    if (holder == NULL || holder->failed != RP_OK || walk->seen_count == COMMS_MAX) {
        return false;
    }
    walk->seen[walk->seen_count++] = comm;
    if (!holder->began) {
        return queue_leads_back(walk, holder, true);
    }
    if (holder->program == NULL) {
        return false; // it runs; the peers decide
    }
    for (uint32_t i = 0; i < holder->program->lane_count; i++) {
        struct rp_lane *lane = &holder->program->run->lane[i];
        if (lane_uses(holder->program, lane, comm) && lane_leads_back(walk, holder, lane)) {
            return true;
        }
    }
    return false;
}

// The first call of `sub` on `comm`, for the report. It has no number yet.
static void describe_call(
        const struct rp_submission *sub, const struct rp_comm *comm, char *text, size_t bytes)
{
    const struct rp_op *op = &sub->op;
    for (uint32_t i = 0; sub->program != NULL && i < sub->program->op_count; i++) {
        op = &sub->program->op[i];
        if (op->comm == comm) {
            break;
        }
    }
    int used = snprintf(text, bytes, "%s of %" PRIu64 " elements", rp_op_kind_name(op->record.op),
            op->record.count);
    if (op->record.graph != 0 && used > 0 && (size_t)used < bytes) {
        snprintf(text + used, bytes - (size_t)used, " (task %" PRIu32 " of graph %" PRIu64 ")",
                op->record.task, op->record.graph);
    }
}

static void report(struct walk *walk, struct rp_comm *comm, const struct rp_submission *holder,
        const struct rp_event *event)
{
    char first[CALL_TEXT_BYTES];
    char second[CALL_TEXT_BYTES];
    describe_call(holder, comm, first, sizeof(first));
    describe_call(walk->found, comm, second, sizeof(second));
    char sentence[RP_OP_SENTENCE_BYTES];
    snprintf(sentence, sizeof(sentence),
            "communicator %s, rank %" PRIu32 ": an order cycle: stream %" PRId32
            " waits for event %" PRIu32 " before %s, which is next on the communicator; the "
            "event's record waits for %s on stream %" PRId32 ", which comes after it",
            comm->name, comm->rank, holder->stream->id, event->id, first, second,
            walk->found->stream->id);
    (void)rp_fail(RP_ECYCLE, "%s", sentence);
    rp_comm_fail(comm, RP_ECYCLE, comm->rank, comm->lines.announced + 1, sentence);
}

void rp_order_check(
        struct rp_device *device, struct rp_stream *stream, const struct rp_event *event)
{
    rp_list_each(link, &stream->fifo)
    {
        struct rp_submission *sub = in_stream(link);
        for (uint32_t i = 0; i < rp_submission_comms(sub); i++) {
            struct rp_comm *comm = rp_submission_comm(sub, i);
            if (comm->turn.serving != *rp_submission_ticket(sub, i) ||
                    rp_comm_failure(comm) != RP_OK) {
                continue;
            }
            struct walk walk = { .device = device, .goal = comm };
            if (release_leads_back(&walk, comm) && walk.found != NULL) {
                report(&walk, comm, sub, event);
                return;
            }
        }
    }
}
