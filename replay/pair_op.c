// Sends and receives, from their numbers to the end.
//
//     NUMBERED --previous number of the pair is over--> POSTED
//     POSTED   --the peer's record is there, and equal--> MOVING
//     MOVING   a send puts piece k into half k % 2 of its lane once piece k - 2 was taken; a
//              receive takes what was put
//     DRAINING a send, until the peer has taken its last piece
//
// A send puts nothing before the receive is posted: until then the receiver need not have the
// pages of its window, and calls that differ are found before a byte was moved.
//
// A rank's pair with itself has both ends in one struct. Its data does not pass a window: the
// receive copies it from where the send left it.

#include "replay/pair_op.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "kernels/copy.h"
#include "kernels/dtype.h"
#include "replay/batch.h"

// A wait of this length is more than a moment's: are the peers alive?
#define CHECK_NS (200 * RP_NS_PER_US)

// One item, while it is looked at.
struct walk {
    const struct rp_op *op;
    struct rp_comm *comm;
    struct rp_coll_step *step;
    struct rp_pair_item item;
    struct rp_pair_run *run;
    struct rp_pair_end *end;
    struct rp_channel *channel; // NULL: the rank's pair with itself
    struct rp_pair *own;
    const struct rp_pair *peers;
};

uint32_t rp_pair_items(const struct rp_op *op)
{
    return op->record.op == RP_OP_BATCH_SEND_RECV ? op->batch->count : 1;
}

struct rp_pair_item rp_pair_item_of(const struct rp_op *op, uint32_t index)
{
    if (op->record.op == RP_OP_BATCH_SEND_RECV) {
        return op->batch->item[index];
    }
    const bool sends = op->record.op == RP_OP_SEND;
    return (struct rp_pair_item){
        .buf = sends ? (void *)(uintptr_t)op->send : op->recv,
        .count = op->record.count,
        .peer = op->record.root,
        .dtype = op->record.dtype,
        .sends = sends,
    };
}

static struct rp_pair_run *run_of(struct rp_coll_run *run, const struct rp_op *op, uint32_t index)
{
    return op->record.op == RP_OP_BATCH_SEND_RECV ? &op->batch->run[index] : &run->u.pairs.one;
}

struct rp_pair_place *rp_pair_place_of(struct rp_op *op, uint32_t index)
{
    return op->record.op == RP_OP_BATCH_SEND_RECV ? &op->batch->item[index].place : &op->place;
}

static struct rp_pair_place place_of(const struct rp_op *op, uint32_t index)
{
    return op->record.op == RP_OP_BATCH_SEND_RECV ? op->batch->item[index].place : op->place;
}

static struct walk walk_of(
        struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step, uint32_t index)
{
    struct rp_comm *comm = op->comm;
    struct walk walk = {
        .op = op,
        .comm = comm,
        .step = step,
        .item = rp_pair_item_of(op, index),
        .run = run_of(run, op, index),
    };
    walk.end = &comm->pairs[walk.item.peer];
    walk.channel = comm->channel[walk.item.peer];
    if (walk.channel != NULL) {
        walk.own = walk.channel->own;
        walk.peers = walk.channel->peers;
    } else {
        walk.own = &comm->lines.peer[comm->rank].pair[comm->lines.peer[comm->rank].index];
        walk.peers = walk.own;
    }
    return walk;
}

static uint64_t total_bytes(const struct walk *walk)
{
    return walk->item.count * rp_dtype_bytes((enum rp_dtype)walk->item.dtype);
}

static void moved(struct walk *walk)
{
    walk->step->moved = true;
    walk->end->moved_ns = walk->step->now_ns;
}

// ---- words ----

// "rank 0 sends 5 fp32 to rank 1 as send #3", as the rank `rank` says it in `record`.
static void describe(const struct rp_record *record, uint32_t rank, char *text, size_t bytes)
{
    const bool sends = record->op == RP_OP_SEND;
    snprintf(text, bytes,
            "rank %" PRIu32 " %s %" PRIu64 " %s %s rank %" PRIu32 " as its %s #%" PRIu64, rank,
            sends ? "sends" : "receives", record->count, rp_record_words(record).dtype,
            sends ? "to" : "from", record->root, sends ? "send" : "receive", record->seq);
}

static struct rp_record record_of(const struct walk *walk)
{
    struct rp_record record = {
        .seq = walk->run->number,
        .count = walk->item.count,
        .graph = walk->op->record.graph,
        .task = walk->op->record.task,
        .root = walk->item.peer,
        .op = walk->item.sends ? RP_OP_SEND : RP_OP_RECEIVE,
        .dtype = walk->item.dtype,
        .expansion = RP_EXPANSION_HOST_TS,
    };
    record.digest = rp_pair_digest(&record);
    return record;
}

static void describe_item(const struct walk *walk, char *text, size_t bytes)
{
    const struct rp_record record = record_of(walk);
    describe(&record, walk->comm->rank, text, bytes);
}

// ---- the shared words ----

// Hands what stands in `own` to the channel, now or with a later step.
static rp_status publish(struct walk *walk)
{
    if (!walk->end->publish_due) {
        return RP_OK;
    }
    const rp_status st = rp_channel_publish(walk->channel);
    if (st == RP_OK) {
        walk->end->publish_due = false;
    } else if (st == RP_AGAIN) {
        (void)rp_channel_progress(walk->channel, 1);
    }
    return st;
}

static rp_status tell(struct walk *walk)
{
    walk->end->publish_due = walk->channel != NULL;
    const rp_status st = publish(walk);
    return st == RP_AGAIN ? RP_OK : st; // it goes on with the next step
}

static rp_status post(struct walk *walk)
{
    const uint64_t over = walk->item.sends ? walk->end->sends_over : walk->end->recvs_over;
    const uint64_t number = walk->run->number;
    if (over + 1 != number) {
        return RP_AGAIN;
    }
    const struct rp_record record = record_of(walk);
    *(walk->item.sends ? &walk->own->send[number % 2] : &walk->own->recv[number % 2]) = record;
    if (walk->item.sends) {
        walk->end->own_data = walk->item.buf;
    }
    // release [P1]: pairs with the load in match().
    atomic_store_explicit(
            walk->item.sends ? &walk->own->sends : &walk->own->recvs, number, memory_order_release);
    walk->run->phase = RP_PAIR_POSTED;
    moved(walk);
    return tell(walk);
}

static rp_status mismatch(const struct walk *walk, const struct rp_record *theirs)
{
    const struct rp_record own = record_of(walk);
    char own_text[RP_RECORD_TEXT_BYTES];
    char their_text[RP_RECORD_TEXT_BYTES];
    describe(&own, walk->comm->rank, own_text, sizeof(own_text));
    describe(theirs, walk->item.peer, their_text, sizeof(their_text));
    const bool sends = walk->item.sends; // the send first, on both ends
    walk->comm->lines.culprit = walk->item.peer;
    return rp_fail(RP_EMISMATCH, "the calls of the ranks differ: %s; %s",
            sends ? own_text : their_text, sends ? their_text : own_text);
}

static uint64_t peers_posted(const struct walk *walk)
{
    // seq_cst [P1] [D1]: pairs with the store in post(); a sleeper's second look.
    return atomic_load_explicit(
            walk->item.sends ? &walk->peers->recvs : &walk->peers->sends, memory_order_seq_cst);
}

static rp_status match(struct walk *walk)
{
    const uint64_t number = walk->run->number;
    if (peers_posted(walk) < number) {
        return RP_AGAIN;
    }
    const struct rp_record theirs =
            walk->item.sends ? walk->peers->recv[number % 2] : walk->peers->send[number % 2];
    const struct rp_record own = record_of(walk);
    if (RP_UNLIKELY(theirs.digest != own.digest)) {
        return mismatch(walk, &theirs);
    }
    walk->run->phase =
            walk->item.sends && walk->channel == NULL ? RP_PAIR_DRAINING : RP_PAIR_MOVING;
    moved(walk);
    return RP_OK;
}

// ---- data ----

// Of the current piece, what the budget allows.
static uint64_t next_bytes(const struct walk *walk)
{
    const uint64_t piece_bytes = walk->comm->pair_lanes.piece_bytes;
    const uint64_t in_piece = piece_bytes - walk->run->moved_bytes % piece_bytes;
    const uint64_t left = total_bytes(walk) - walk->run->moved_bytes;
    return rp_min_u64(walk->step->budget_bytes, rp_min_u64(in_piece, left));
}

// Where the next bytes lie in the receiver's window; they belong to piece `piece` of the pair.
static uint64_t window_off(const struct walk *walk, uint64_t piece)
{
    const struct rp_pair_lanes *lanes = &walk->comm->pair_lanes;
    const uint32_t sender = walk->item.sends ? walk->comm->rank : walk->item.peer;
    return lanes->off + (2 * (uint64_t)sender + piece % 2) * lanes->half_bytes +
           walk->run->moved_bytes % lanes->piece_bytes;
}

// `bytes` more have been moved; whether that ends a piece.
static bool advance(struct walk *walk, uint64_t bytes)
{
    walk->run->moved_bytes += bytes;
    walk->step->budget_bytes -= bytes;
    walk->step->spent_bytes += bytes;
    moved(walk);
    return walk->run->moved_bytes % walk->comm->pair_lanes.piece_bytes == 0 ||
           walk->run->moved_bytes == total_bytes(walk);
}

static uint64_t pieces_put(const struct walk *walk)
{
    // relaxed: only this rank stores it.
    return atomic_load_explicit(&walk->own->put, memory_order_relaxed);
}

static uint64_t peers_taken(const struct walk *walk)
{
    // seq_cst [P3] [D1]: pairs with the store in take(); a sleeper's second look.
    return atomic_load_explicit(&walk->peers->taken, memory_order_seq_cst);
}

// One put; RP_AGAIN when there is no room, or no budget.
static rp_status put(struct walk *walk)
{
    const uint64_t piece = pieces_put(walk);
    const uint64_t bytes = next_bytes(walk);
    if (bytes == 0 || piece >= peers_taken(walk) + 2) {
        return RP_AGAIN;
    }
    const uint8_t *src = (const uint8_t *)walk->item.buf + walk->run->moved_bytes;
    const rp_status st =
            rp_channel_put(walk->channel, RP_WINDOW_IN, window_off(walk, piece), src, bytes);
    if (st != RP_OK || !advance(walk, bytes)) {
        return st;
    }
    // release [P2]: pairs with the load in take().
    atomic_store_explicit(&walk->own->put, piece + 1, memory_order_release);
    return tell(walk);
}

static rp_status take(struct walk *walk)
{
    // relaxed: only this rank stores it.
    const uint64_t piece = atomic_load_explicit(&walk->own->taken, memory_order_relaxed);
    const uint64_t bytes = next_bytes(walk);
    // seq_cst [P2] [D1]: pairs with the store in put(); a sleeper's second look.
    if (bytes == 0 || atomic_load_explicit(&walk->peers->put, memory_order_seq_cst) <= piece) {
        return RP_AGAIN;
    }
    const struct rp_peer *self = &walk->comm->lines.peer[walk->comm->rank];
    rp_copy((uint8_t *)walk->item.buf + walk->run->moved_bytes,
            self->window_in + window_off(walk, piece), bytes);
    if (!advance(walk, bytes)) {
        return RP_OK;
    }
    // release [P3]: pairs with the load in peers_taken().
    atomic_store_explicit(&walk->own->taken, piece + 1, memory_order_release);
    return tell(walk);
}

static rp_status copy_own(struct walk *walk)
{
    const uint64_t bytes = next_bytes(walk);
    uint8_t *dst = (uint8_t *)walk->item.buf + walk->run->moved_bytes;
    const uint8_t *src = (const uint8_t *)walk->end->own_data + walk->run->moved_bytes;
    if (bytes == 0) {
        return RP_AGAIN;
    }
    if (dst != src) {
        rp_copy(dst, src, bytes);
    }
    (void)advance(walk, bytes);
    return RP_OK;
}

static rp_status move(struct walk *walk)
{
    rp_status (*const next)(struct walk *) = walk->channel == NULL ? copy_own
                                             : walk->item.sends    ? put
                                                                   : take;
    const uint64_t total = total_bytes(walk);
    rp_status st = RP_OK;
    while (st == RP_OK && walk->run->moved_bytes != total) {
        st = next(walk);
    }
    if (walk->run->moved_bytes == total && st == RP_OK) {
        walk->run->phase = RP_PAIR_DRAINING;
    }
    return st;
}

// Everything was moved by this rank. A receive is over then, once its channel knows.
static rp_status drain(struct walk *walk)
{
    const uint64_t number = walk->run->number;
    if (walk->end->publish_due) {
        return RP_AGAIN;
    }
    if (walk->item.sends && (walk->channel == NULL ? walk->end->recvs_over < number
                                                   : peers_taken(walk) < pieces_put(walk))) {
        return RP_AGAIN;
    }
    *(walk->item.sends ? &walk->end->sends_over : &walk->end->recvs_over) = number;
    walk->run->phase = RP_PAIR_OVER;
    moved(walk);
    return RP_OK;
}

// As far as the item goes now; RP_OK when it is over.
static rp_status step_item(struct walk *walk)
{
    static rp_status (*const phases[])(struct walk *) = {
        [RP_PAIR_NUMBERED] = post,
        [RP_PAIR_POSTED] = match,
        [RP_PAIR_MOVING] = move,
        [RP_PAIR_DRAINING] = drain,
    };
    rp_status st = walk->run->phase == RP_PAIR_NUMBERED ? RP_OK : publish(walk);
    while (st == RP_OK && walk->run->phase != RP_PAIR_OVER) {
        st = phases[walk->run->phase](walk);
    }
    if (st == RP_AGAIN && walk->channel != NULL) {
        (void)rp_channel_progress(walk->channel, 1);
    }
    return st;
}

// One look at every open item, each step beginning with another one: a large item must not keep
// the budget to itself.
static rp_status work(struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step)
{
    const uint32_t items = rp_pair_items(op);
    const uint32_t first = run->u.pairs.first;
    for (uint32_t i = 0; i < items; i++) {
        const uint32_t index = i < items - first ? first + i : i - (items - first);
        if (run_of(run, op, index)->phase == RP_PAIR_OVER) {
            continue;
        }
        struct walk walk = walk_of(run, op, step, index);
        const rp_status st = step_item(&walk);
        if (st == RP_OK) {
            run->u.pairs.left--;
        } else if (st != RP_AGAIN) {
            return st;
        }
    }
    run->u.pairs.first = first + 1 < items ? first + 1 : 0;
    return run->u.pairs.left == 0 ? RP_OK : RP_AGAIN;
}

// ---- failure ----

static rp_status deliver(struct rp_coll_run *run, const struct rp_op *op)
{
    run->phase = RP_COLL_TURN;
    return rp_comm_failure(op->comm);
}

static rp_status fail(struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step,
        rp_status st, uint32_t culprit)
{
    step->moved = true;
    rp_coll_keep_failure(op, step, 0, st, culprit, rp_error_captured());
    return deliver(run, op);
}

static rp_status time_out(struct rp_coll_run *run, const struct walk *walk, uint64_t waited_ns)
{
    struct rp_comm *comm = walk->comm;
    const uint32_t peer = walk->item.peer;
    char what[RP_RECORD_TEXT_BYTES];
    describe_item(walk, what, sizeof(what));
    char where[160];
    const uint64_t posted = peers_posted(walk);
    if (posted < walk->run->number) {
        snprintf(where, sizeof(where),
                "rank %" PRIu32 " has called %" PRIu64 " %s rank %" PRIu32 " so far", peer, posted,
                walk->item.sends ? "receives from" : "sends to", comm->rank);
    } else {
        snprintf(where, sizeof(where),
                "rank %" PRIu32 " has called it, too, and %" PRIu64 " of %" PRIu64
                " bytes are moved",
                peer, walk->run->moved_bytes, total_bytes(walk));
    }
    char who[128] = "";
    if (peer != comm->rank && comm->member != NULL) {
        snprintf(who, sizeof(who), "; rank %" PRIu32 " is process %" PRId64 " on %.63s", peer,
                comm->member[peer].pid, comm->member[peer].host);
    }
    (void)rp_fail(RP_ETASKTIMEOUT, "%s: not over after %" PRIu64 " ms; %s%s", what,
            waited_ns / RP_NS_PER_MS, where, who);
    return fail(run, walk->op, walk->step, RP_ETASKTIMEOUT, peer);
}

// An item waits as long as its pair stands still. One that is not posted yet stands behind another
// one, whose wait it is.
static rp_status check_time(
        struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step)
{
    const uint64_t limit_ns = op->comm->settings.exec_timeout_ns;
    for (uint32_t i = 0; limit_ns != 0 && i < rp_pair_items(op); i++) {
        const struct walk walk = walk_of(run, op, step, i);
        if (walk.run->phase == RP_PAIR_OVER || walk.run->phase == RP_PAIR_NUMBERED) {
            continue;
        }
        const uint64_t since_ns = rp_max_u64(run->started_ns, walk.end->moved_ns);
        if (step->now_ns - since_ns >= limit_ns) {
            return time_out(run, &walk, step->now_ns - since_ns);
        }
    }
    return RP_AGAIN;
}

// The first open item whose peer is lost, or, where any rank has failed or died, the first open
// one; false: there is no reason to worry.
static bool find_lost(struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step,
        struct walk *out)
{
    bool found = false;
    for (uint32_t i = 0; i < rp_pair_items(op); i++) {
        const struct walk walk = walk_of(run, op, step, i);
        if (walk.run->phase == RP_PAIR_OVER) {
            continue;
        }
        if (walk.channel != NULL && rp_lines_lost(&op->comm->lines, walk.item.peer)) {
            *out = walk;
            return true;
        }
        // relaxed: stored under the baton.
        if (!found && atomic_load_explicit(&op->comm->remote, memory_order_relaxed) != 0) {
            *out = walk;
            found = true;
        }
    }
    return found;
}

static rp_status explain(const struct walk *walk, uint32_t *culprit)
{
    struct rp_comm *comm = walk->comm;
    char what[RP_RECORD_TEXT_BYTES];
    describe_item(walk, what, sizeof(what));
    if (walk->channel != NULL && rp_lines_lost(&comm->lines, walk->item.peer)) {
        const rp_status st = rp_lines_explain(&comm->lines, walk->item.peer, what);
        *culprit = comm->lines.culprit;
        return st;
    }
    *culprit = comm->remote_culprit;
    // relaxed: stored under the baton.
    const int32_t remote = atomic_load_explicit(&comm->remote, memory_order_relaxed);
    return rp_fail((rp_status)remote, "%s: %s", what, comm->remote_cause);
}

// Nothing moved. Looks into a wait that lasts.
static rp_status linger(struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step)
{
    if (step->moved) {
        run->moved_ns = step->now_ns;
        return RP_AGAIN;
    }
    if (RP_LIKELY(step->now_ns - run->moved_ns < CHECK_NS)) {
        return RP_AGAIN;
    }
    rp_comm_check(op->comm, step->now_ns);
    struct walk lost;
    if (RP_LIKELY(!find_lost(run, op, step, &lost))) {
        return check_time(run, op, step);
    }
    // What a rank has told before it failed, left or died counts.
    rp_status st = work(run, op, step);
    if (st != RP_AGAIN) {
        return st == RP_OK ? RP_OK : fail(run, op, step, st, op->comm->lines.culprit);
    }
    if (step->moved || !find_lost(run, op, step, &lost)) {
        return RP_AGAIN;
    }
    uint32_t culprit = RP_NO_RANK;
    st = explain(&lost, &culprit);
    return fail(run, op, step, st, culprit);
}

// ---- the op ----

void rp_pair_op_number(struct rp_coll_run *run, const struct rp_op *op)
{
    for (uint32_t i = 0; i < rp_pair_items(op); i++) {
        const struct rp_pair_item item = rp_pair_item_of(op, i);
        struct rp_pair_end *end = &op->comm->pairs[item.peer];
        run_of(run, op, i)->number = item.sends ? ++end->sends : ++end->recvs;
    }
}

static void begin(struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step)
{
    run->seq = 0;
    run->held = false;
    run->started_ns = step->now_ns;
    run->moved_ns = step->now_ns;
    run->u.pairs.first = 0;
    run->u.pairs.left = rp_pair_items(op);
    for (uint32_t i = 0; i < rp_pair_items(op); i++) {
        struct rp_pair_run *item = run_of(run, op, i);
        if (step->pair_base != NULL) {
            const struct rp_pair_place place = place_of(op, i);
            item->number = step->pair_base[place.use] + place.index + 1;
        }
        item->moved_bytes = 0;
        item->phase = RP_PAIR_NUMBERED;
    }
    run->phase = RP_COLL_RUN;
    step->moved = true;
}

rp_status rp_pair_op_number_late(
        struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step)
{
    const rp_status st = rp_comm_failure(op->comm);
    if (RP_UNLIKELY(st != RP_OK)) {
        return st;
    }
    if (op->comm->turn.serving != step->ticket) {
        return RP_AGAIN;
    }
    rp_pair_op_number(run, op);
    begin(run, op, step);
    return RP_OK;
}

rp_status rp_pair_op_step(
        struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step)
{
    if (RP_UNLIKELY(rp_comm_failure(op->comm) != RP_OK)) {
        step->moved = true;
        return deliver(run, op);
    }
    if (run->phase == RP_COLL_TURN && step->number_late) {
        const rp_status late = rp_pair_op_number_late(run, op, step);
        if (late != RP_OK) {
            return late;
        }
    } else if (run->phase == RP_COLL_TURN) {
        begin(run, op, step);
    }
    rp_status st = work(run, op, step);
    if (st == RP_AGAIN) {
        st = linger(run, op, step);
        if (st != RP_OK) {
            return st;
        }
    } else if (st != RP_OK) {
        return fail(run, op, step, st, op->comm->lines.culprit);
    }
    run->phase = RP_COLL_TURN;
    step->moved = true;
    return RP_OK;
}
