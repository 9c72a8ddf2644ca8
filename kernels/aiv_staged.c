// Staged: some rank's buffers are not where its peers can reach them, so every rank runs the op in
// rounds through the windows. No rank touches a peer's buffers: the op is complete with its own
// result.
//
//     window-in, window-out:  | part 0 | part 1 | part 2 | part 3 |      round t uses part t % 4
//
//   fill     copy this round's piece of the own input into window-in; stage.arrived = t
//   fold     read all windows-in (all-reduce and reduce of many ranks: the own slice only, stored
//            into all windows-out, or the root's); stage.done = t
//   collect  all-reduce and reduce of many ranks: copy the own window-out to the output
//
// Rounds are counted through all ops of the communicator, so a peer that is one op ahead is told
// from one that is behind. A part of window-in is filled again once every peer's stage.done covers
// its last round. A part of window-out needs no counter of its own: peers store into it after our
// stage.arrived = t, and that we publish only after we have collected round t - 4.
//
// Sizes follow from the record, the window and the number of ranks, so all ranks count the same
// rounds. A round reads about ROUND_BYTES on each rank: that bounds a step and stays in cache.
//
// Cost per byte and rank: one copy in, then N reads and one write; with many ranks one copy in,
// 1 + 1 for the slice, one copy out.

#include <inttypes.h>

#include "base/error.h"
#include "kernels/aiv_forms.h"

#define PARTS 4
#define AHEAD 2 // rounds that are filled before the first of them is finished
#define PART_BYTES_MAX (64u * 1024u)
#define ROUND_BYTES (512u * 1024u)
#define SLICED_RANKS_MIN 4 // all-reduce, reduce: from here on slices cost less than N reads a rank

static_assert(PARTS * PART_BYTES_MAX <= RP_AIV_WINDOW_BYTES, "what is reserved");
static_assert(AHEAD <= PARTS, "a part is filled again only after its own fold");

struct plan {
    uint64_t part_bytes;  // of a window
    uint64_t piece_bytes; // of a rank's contribution (of each block where it has many) in a round
    uint64_t rounds;
};

// Whether an input has a block for every rank: then a part has a piece for every rank.
static bool has_blocks(const struct rp_aiv_op *op)
{
    switch (op->record.op) {
    case RP_OP_REDUCE_SCATTER:
    case RP_OP_REDUCE_SCATTER_V:
    case RP_OP_SCATTER:
    case RP_OP_ALLTOALL:
    case RP_OP_ALLTOALL_V:
    case RP_OP_ALLTOALL_VC:
        return true;
    default:
        return false;
    }
}

static rp_status make_plan(const struct rp_aiv_op *op, struct plan *plan)
{
    const struct rp_lines *lines = op->lines;
    const uint64_t least = has_blocks(op) ? lines->size * RP_CACHELINE : 1024;
    uint64_t part_bytes = rp_min_u64(PART_BYTES_MAX, rp_max_u64(ROUND_BYTES / lines->size, least));
    part_bytes = rp_min_u64(lines->window_bytes / PARTS, part_bytes);
    part_bytes -= part_bytes % RP_CACHELINE;
    uint64_t piece_bytes = part_bytes;
    if (has_blocks(op)) {
        piece_bytes /= lines->size;
        piece_bytes -= piece_bytes % rp_aiv_element_bytes(op);
    }
    if (piece_bytes == 0) {
        return rp_fail(RP_EINTERNAL,
                "windows of %" PRIu64 " bytes are too small for staged ops of %" PRIu32 " ranks",
                lines->window_bytes, lines->size);
    }
    *plan = (struct plan){
        .part_bytes = part_bytes,
        .piece_bytes = piece_bytes,
        .rounds = (op->block_bytes + piece_bytes - 1) / piece_bytes,
    };
    return RP_OK;
}

// One round as this rank sees it.
struct round {
    uint64_t number; // counted through all ops
    uint64_t part;   // offset of its part in every window
    uint64_t at;     // offset of its piece in a block
    uint64_t bytes;  // of its piece of the largest block
};

// This round's piece of a block, where it lies in the block's buffer.
static struct rp_slice cut(const struct round *round, struct rp_slice block)
{
    const uint64_t left = block.bytes - rp_min_u64(block.bytes, round->at);
    return (struct rp_slice){
        .start = block.start + round->at,
        .bytes = rp_min_u64(round->bytes, left),
    };
}

// The piece of rank q's block of the buffer that has all blocks; of an all-to-all, of its input.
static struct rp_slice piece_of(const struct rp_aiv_op *op, const struct round *round, uint32_t q)
{
    return cut(round, rp_aiv_block(op, q));
}

static struct round make_round(const struct rp_aiv_op *op, const struct plan *plan, uint64_t index)
{
    const uint64_t number = op->lines->stage_round + 1 + index;
    const uint64_t at = index * plan->piece_bytes;
    return (struct round){
        .number = number,
        .part = number % PARTS * plan->part_bytes,
        .at = at,
        .bytes = rp_min_u64(plan->piece_bytes, op->block_bytes - at),
    };
}

static bool is_sliced(const struct rp_aiv_op *op)
{
    return (op->record.op == RP_OP_ALL_REDUCE || op->record.op == RP_OP_REDUCE) &&
           op->lines->size >= SLICED_RANKS_MIN;
}

// Whether this rank gets what is folded.
static bool has_result(const struct rp_aiv_op *op)
{
    return op->record.op != RP_OP_REDUCE || rp_aiv_is_root(op);
}

static rp_status all_stage_done(struct rp_lines *lines, uint64_t number)
{
    for (uint32_t q = 0; q < lines->size; q++) {
        const rp_status st = q == lines->rank ? RP_OK : rp_lines_stage_done(lines, q, number);
        if (st != RP_OK) {
            return st;
        }
    }
    return RP_OK;
}

static rp_status all_stage_arrived(struct rp_lines *lines, uint64_t number)
{
    for (uint32_t q = 0; q < lines->size; q++) {
        const rp_status st = q == lines->rank ? RP_OK : rp_lines_stage_arrived(lines, q, number);
        if (st != RP_OK) {
            return st;
        }
    }
    return RP_OK;
}

static rp_status fill(struct rp_aiv_op *op, const struct plan *plan)
{
    struct rp_lines *lines = op->lines;
    const struct round round = make_round(op, plan, op->filled);
    if (!rp_aiv_offers(op)) {
        op->filled++; // nobody waits for it
        return RP_OK;
    }
    const rp_status st = round.number > PARTS ? all_stage_done(lines, round.number - PARTS) : RP_OK;
    if (st != RP_OK) {
        return st;
    }
    uint8_t *window = lines->peer[lines->rank].window_in + round.part;
    if (has_blocks(op)) {
        for (uint32_t q = 0; q < lines->size; q++) {
            const struct rp_slice piece = piece_of(op, &round, q);
            if (piece.bytes != 0) { // else there is perhaps no input at all
                rp_copy(window + q * plan->piece_bytes, op->send + piece.start, piece.bytes);
            }
        }
    } else {
        const uint64_t bytes = op->record.op == RP_OP_ALL_GATHER_V
                                       ? piece_of(op, &round, lines->rank).bytes
                                       : round.bytes;
        if (bytes != 0) {
            rp_copy(window, op->send + round.at, bytes);
        }
    }
    rp_lines_stage_fill(lines, round.number);
    op->filled++;
    return RP_OK;
}

// lines->srcs: byte `at` of the round's part of every window-in.
static void point_at_windows(struct rp_lines *lines, const struct round *round, uint64_t at)
{
    for (uint32_t q = 0; q < lines->size; q++) {
        lines->srcs[q] = lines->peer[q].window_in + round->part + at;
    }
}

static void fold_slice(struct rp_aiv_op *op, const struct round *round)
{
    struct rp_lines *lines = op->lines;
    const struct rp_slice slice = rp_aiv_slice(round->bytes, lines->rank, lines->size);
    const bool to_all = op->record.op == RP_OP_ALL_REDUCE;
    const uint32_t first = to_all ? 0 : op->record.root;
    const uint32_t outputs = to_all ? lines->size : 1;
    point_at_windows(lines, round, slice.start);
    for (uint32_t i = 0; i < outputs; i++) {
        lines->dsts[i] = lines->peer[first + i].window_out + round->part + slice.start;
    }
    rp_aiv_fold(op, lines->dsts, outputs, slice.bytes);
}

static void fold_whole(struct rp_aiv_op *op, const struct round *round, uint64_t at, uint64_t bytes)
{
    void *dst = bytes == 0 ? NULL : op->recv + round->at;
    point_at_windows(op->lines, round, at);
    rp_aiv_fold(op, &dst, 1, bytes);
}

// This round's piece of every rank's block of the output: byte `at` of that rank's part.
static void gather(struct rp_aiv_op *op, const struct round *round, uint64_t at)
{
    for (uint32_t q = 0; q < op->lines->size; q++) {
        const struct rp_slice piece = cut(round, rp_aiv_output_block(op, q));
        if (piece.bytes != 0) {
            rp_copy(op->recv + piece.start, op->lines->peer[q].window_in + round->part + at,
                    piece.bytes);
        }
    }
}

// The root's own block never goes through its window: perhaps it lies where it belongs already.
static void take_block(struct rp_aiv_op *op, const struct round *round, uint64_t at)
{
    const struct rp_lines *lines = op->lines;
    const uint8_t *src = rp_aiv_is_root(op)
                                 ? op->send + lines->rank * op->block_bytes + round->at
                                 : lines->peer[op->record.root].window_in + round->part + at;
    if (src != op->recv + round->at) {
        rp_copy(op->recv + round->at, src, round->bytes);
    }
}

static void read_windows(struct rp_aiv_op *op, const struct plan *plan, const struct round *round)
{
    const uint64_t own_piece = op->lines->rank * plan->piece_bytes;
    switch ((enum rp_op_kind)op->record.op) {
    case RP_OP_ALL_REDUCE:
    case RP_OP_REDUCE:
        if (is_sliced(op)) {
            fold_slice(op, round);
        } else if (has_result(op)) {
            fold_whole(op, round, 0, round->bytes);
        }
        break;
    case RP_OP_REDUCE_SCATTER:
    case RP_OP_REDUCE_SCATTER_V:
        fold_whole(op, round, own_piece, piece_of(op, round, op->lines->rank).bytes);
        break;
    case RP_OP_ALL_GATHER:
    case RP_OP_ALL_GATHER_V:
        gather(op, round, 0);
        break;
    case RP_OP_ALLTOALL:
    case RP_OP_ALLTOALL_V:
    case RP_OP_ALLTOALL_VC:
        gather(op, round, own_piece);
        break;
    case RP_OP_BROADCAST:
        if (!rp_aiv_is_root(op)) {
            take_block(op, round, 0);
        }
        break;
    case RP_OP_SCATTER:
        take_block(op, round, own_piece);
        break;
    default:
        break; // a barrier moves nothing
    }
}

static rp_status fold(struct rp_aiv_op *op, const struct plan *plan)
{
    struct rp_lines *lines = op->lines;
    const struct round round = make_round(op, plan, op->folded);
    rp_status st = RP_OK;
    if (!rp_aiv_has_source(op)) {
        st = all_stage_arrived(lines, round.number);
    } else if (!rp_aiv_is_root(op)) {
        st = rp_lines_stage_arrived(lines, op->record.root, round.number);
    }
    if (st == RP_OK) {
        st = rp_lines_check(lines, op->seq);
    }
    if (st != RP_OK) {
        return st;
    }
    read_windows(op, plan, &round);
    rp_lines_stage_finish(lines, round.number);
    op->folded++;
    return RP_OK;
}

static rp_status collect(struct rp_aiv_op *op, const struct plan *plan)
{
    struct rp_lines *lines = op->lines;
    if (is_sliced(op) && has_result(op)) {
        const struct round round = make_round(op, plan, op->round);
        const rp_status st = all_stage_done(lines, round.number);
        if (st != RP_OK) {
            return st;
        }
        rp_copy(op->recv + round.at, lines->peer[lines->rank].window_out + round.part, round.bytes);
    }
    op->round++;
    return RP_OK;
}

// One pass over the three stages, each at most once. A stage that has to wait holds up none of the
// others. `*moved`: how many of them did something.
static rp_status pass(struct rp_aiv_op *op, const struct plan *plan, unsigned *moved)
{
    rp_status st = RP_OK;
    *moved = 0;
    if (op->filled < plan->rounds && op->filled - op->round < AHEAD) {
        st = fill(op, plan);
        if (st < 0) {
            return st;
        }
        *moved += st == RP_OK;
    }
    if (op->folded < op->filled) {
        st = fold(op, plan);
        if (st < 0) {
            return st;
        }
        *moved += st == RP_OK;
    }
    if (op->round < op->folded) {
        st = collect(op, plan);
        if (st < 0) {
            return st;
        }
        *moved += st == RP_OK;
    }
    return RP_OK;
}

rp_status rp_aiv_staged_work(struct rp_aiv_op *op, uint64_t budget_bytes, bool *progress)
{
    struct plan plan = { 0 };
    rp_status st = make_plan(op, &plan);
    if (st != RP_OK) {
        return st;
    }
    uint64_t spent = 0;
    while (op->round < plan.rounds) {
        unsigned moved = 0;
        st = pass(op, &plan, &moved);
        if (st != RP_OK) {
            return st;
        }
        if (moved == 0) {
            return RP_AGAIN;
        }
        *progress = true;
        spent += moved * plan.part_bytes * op->lines->size;
        if (spent >= budget_bytes && op->round < plan.rounds) {
            return RP_AGAIN;
        }
    }
    st = rp_lines_check(op->lines, op->seq);
    if (st == RP_OK) {
        op->lines->stage_round += plan.rounds;
    }
    return st;
}
