// Large, zero copy: every buffer lies in its owner's arena, which all ranks map, and is read and
// written in place. Where an input lies is its owner's choice, told by its record.
//
//   AllReduce      rank r folds slice r of all inputs and stores it into all outputs: each byte is
//                  read once and written once a rank. 2 x bytes of traffic a rank.
//   Reduce         the same, stored into the root's output alone
//   ReduceScatter  rank r folds block r of all inputs into its own output
//   AllGather      pulls every peer's block, the next rank's first, so that readers spread
//   AlltoAll       pulls its block of every peer's input, in the same order
//   AlltoAllV, VC  the same; where that block is, the peer's slot says
//   Broadcast      pulls the root's buffer
//   Scatter        pulls its block of the root's input
//
// A record is bytes from another process: its range is checked against the arena that we have
// mapped, once a step, and a copy of it is used.

#include <inttypes.h>

#include "base/error.h"
#include "kernels/aiv_forms.h"

// Between two looks for a revocation, of each array that is read or written.
#define PIECE_BYTES_MAX (32u * 1024u)
#define PIECE_BYTES_MIN (4u * 1024u)

static uint64_t piece_bytes(uint64_t budget_bytes, uint64_t arrays)
{
    const uint64_t each = budget_bytes / arrays / RP_CACHELINE * RP_CACHELINE;
    return rp_min_u64(rp_max_u64(each, PIECE_BYTES_MIN), PIECE_BYTES_MAX);
}

typedef void reduce_fn(const struct rp_reduce_impl *impl, enum rp_dtype dtype, enum rp_reduce_op op,
        void *const *dsts, unsigned dst_count, const void *const *srcs, unsigned src_count,
        size_t count);

// Whether all ranks together touch more than a cache holds: then stores go around it.
static bool streams(const struct rp_aiv_op *op)
{
    const uint64_t ranks = op->lines->size;
    const uint64_t of_all = rp_record_send_bytes(&op->record, op->lines->size) +
                            rp_record_recv_bytes(&op->record, op->lines->size);
    return of_all >= RP_STREAM_BYTES / ranks;
}

static rp_status out_of_bounds(struct rp_aiv_op *op, uint32_t q, uint64_t off, uint64_t bytes)
{
    char text[RP_RECORD_TEXT_BYTES];
    rp_record_describe(&op->record, text, sizeof(text));
    op->lines->culprit = q;
    return rp_fail(RP_EMISMATCH,
            "%s: rank %" PRIu32 " names %" PRIu64 " bytes at offset %" PRIu64
            " of its device memory, of which %" PRIu64 " bytes are mapped here",
            text, q, bytes, off, op->lines->peer[q].arena_bytes);
}

// Where `bytes` bytes at `off` of rank q's arena are in this process.
static rp_status locate(
        struct rp_aiv_op *op, uint32_t q, uint64_t off, uint64_t bytes, uint8_t **out)
{
    const struct rp_peer *peer = &op->lines->peer[q];
    if (peer->arena == NULL || off > peer->arena_bytes || bytes > peer->arena_bytes - off) {
        return out_of_bounds(op, q, off, bytes);
    }
    *out = peer->arena + off;
    return RP_OK;
}

static rp_status locate_send(struct rp_aiv_op *op, uint32_t q, const uint8_t **out)
{
    if (q == op->lines->rank) {
        *out = op->send;
        return RP_OK;
    }
    const struct rp_record record = rp_lines_record(op->lines, q, op->seq);
    uint8_t *at = NULL;
    const rp_status st = locate(op, q, record.send_off,
            rp_input_bytes(&op->record, op->counts, q, op->lines->size), &at);
    *out = at;
    return st;
}

// Where `block` of rank q's input is in this process.
static rp_status locate_block(
        struct rp_aiv_op *op, uint32_t q, struct rp_slice block, const uint8_t **out)
{
    if (!rp_aiv_has_row(op) || q == op->lines->rank) {
        const rp_status st = locate_send(op, q, out);
        *out += st == RP_OK ? block.start : 0;
        return st;
    }
    // Both summands are the peer's: each is bounded by the arena before they are added.
    const uint64_t most = op->lines->peer[q].arena_bytes;
    const uint64_t send_off = rp_lines_record(op->lines, q, op->seq).send_off;
    uint8_t *at = NULL;
    if (send_off > most || block.start > most) {
        return out_of_bounds(op, q, rp_max_u64(send_off, block.start), block.bytes);
    }
    const rp_status st = locate(op, q, send_off + block.start, block.bytes, &at);
    *out = at;
    return st;
}

static rp_status locate_recv(struct rp_aiv_op *op, uint32_t q, uint8_t **out)
{
    if (q == op->lines->rank) {
        *out = op->recv;
        return RP_OK;
    }
    const struct rp_record record = rp_lines_record(op->lines, q, op->seq);
    return locate(op, q, record.recv_off,
            rp_output_bytes(&op->record, op->counts, q, op->lines->size), out);
}

// Whose outputs take what this rank has folded.
struct outputs {
    uint32_t first; // rank
    uint32_t count;
    uint64_t at; // byte of each
};

static struct outputs outputs_of(const struct rp_aiv_op *op, struct rp_slice part)
{
    const struct rp_lines *lines = op->lines;
    switch (op->record.op) {
    case RP_OP_REDUCE_SCATTER: // the part is this rank's block
    case RP_OP_REDUCE_SCATTER_V:
        return (struct outputs){ .first = lines->rank, .count = 1 };
    case RP_OP_REDUCE:
        return (struct outputs){ .first = op->record.root, .count = 1, .at = part.start };
    default:
        return (struct outputs){ .count = lines->size, .at = part.start };
    }
}

// Points lines->srcs at byte `at` of every input, and lines->dsts at the outputs, op->offset on.
static rp_status point(struct rp_aiv_op *op, uint64_t at, const struct outputs *outputs)
{
    struct rp_lines *lines = op->lines;
    for (uint32_t q = 0; q < lines->size; q++) {
        const uint8_t *send = NULL;
        const rp_status st = locate_send(op, q, &send);
        if (st != RP_OK) {
            return st;
        }
        lines->srcs[q] = send + at;
    }
    for (uint32_t i = 0; i < outputs->count; i++) {
        uint8_t *recv = NULL;
        const rp_status st = locate_recv(op, outputs->first + i, &recv);
        if (st != RP_OK) {
            return st;
        }
        lines->dsts[i] = recv + outputs->at + op->offset;
    }
    return RP_OK;
}

static void advance(struct rp_lines *lines, uint64_t bytes, unsigned dst_count)
{
    for (uint32_t q = 0; q < lines->size; q++) {
        lines->srcs[q] = (const uint8_t *)lines->srcs[q] + bytes;
    }
    for (unsigned i = 0; i < dst_count; i++) {
        lines->dsts[i] = (uint8_t *)lines->dsts[i] + bytes;
    }
}

// Folds `part` of the inputs.
static rp_status fold(
        struct rp_aiv_op *op, struct rp_slice part, uint64_t budget_bytes, bool *progress)
{
    struct rp_lines *lines = op->lines;
    const struct outputs outputs = outputs_of(op, part);
    const unsigned dst_count = outputs.count;
    const uint64_t arrays = (uint64_t)lines->size + dst_count;
    const uint64_t piece = piece_bytes(budget_bytes, arrays);
    reduce_fn *const reduce = streams(op) ? rp_reduce_stream : rp_reduce;
    uint64_t spent = 0;
    rp_status st = point(op, part.start + op->offset, &outputs);
    if (st != RP_OK) {
        return st;
    }
    while (op->offset < part.bytes) {
        if (spent >= budget_bytes && spent != 0) {
            return RP_AGAIN;
        }
        st = rp_lines_check(lines, op->seq);
        if (st != RP_OK) {
            return st;
        }
        const uint64_t bytes = rp_min_u64(part.bytes - op->offset, piece);
        reduce(op->reduce, (enum rp_dtype)op->record.dtype, (enum rp_reduce_op)op->record.reduce,
                lines->dsts, dst_count, lines->srcs, lines->size, bytes / rp_aiv_element_bytes(op));
        advance(lines, bytes, dst_count);
        op->offset += bytes;
        spent += bytes * arrays;
        *progress = true;
    }
    return rp_lines_check(lines, op->seq); // after the last access too
}

// Copies `block` of rank q's input to `dst`, from op->offset on. `*spent` counts
// against the budget.
static rp_status pull(struct rp_aiv_op *op, uint32_t q, struct rp_slice block, uint8_t *dst,
        uint64_t budget_bytes, uint64_t *spent, bool *progress)
{
    const uint8_t *src = NULL;
    if (block.bytes == 0) {
        return RP_OK;
    }
    rp_status st = locate_block(op, q, block, &src);
    if (st != RP_OK) {
        return st;
    }
    if (src == dst) {
        return RP_OK; // in place
    }
    void (*const copy)(void *, const void *, size_t) = streams(op) ? rp_copy_stream : rp_copy;
    while (op->offset < block.bytes) {
        if (*spent >= budget_bytes && *spent != 0) {
            return RP_AGAIN;
        }
        st = rp_lines_check(op->lines, op->seq);
        if (st != RP_OK) {
            return st;
        }
        const uint64_t bytes = rp_min_u64(block.bytes - op->offset, PIECE_BYTES_MAX);
        copy(dst + op->offset, src + op->offset, bytes);
        op->offset += bytes;
        *spent += 2 * bytes;
        *progress = true;
    }
    return RP_OK;
}

static rp_status pull_all(struct rp_aiv_op *op, uint64_t at, uint64_t budget_bytes, bool *progress)
{
    const struct rp_lines *lines = op->lines;
    uint64_t spent = 0;
    for (; op->peer < lines->size; op->peer++) {
        const uint32_t q = (lines->rank + 1 + op->peer) % lines->size;
        const struct rp_slice to = rp_aiv_block(op, q);
        const struct rp_slice from = { .start = at, .bytes = to.bytes };
        const rp_status st = pull(op, q, from, op->recv + to.start, budget_bytes, &spent, progress);
        if (st != RP_OK) {
            return st;
        }
        op->offset = 0;
    }
    return rp_lines_check(op->lines, op->seq); // after the last access too
}

// Where rank q's block for this rank begins in q's input.
static uint64_t row_start(const struct rp_aiv_op *op, uint32_t q)
{
    const struct rp_lines *lines = op->lines;
    const uint64_t element = rp_aiv_element_bytes(op);
    if (q == lines->rank) {
        return rp_counts_place(op->counts, q) * element;
    }
    const uint64_t place = rp_aiv_row_place(op, q);
    return place > lines->peer[q].arena_bytes ? UINT64_MAX : place * element;
}

static rp_status pull_row(struct rp_aiv_op *op, uint64_t budget_bytes, bool *progress)
{
    const struct rp_lines *lines = op->lines;
    uint64_t spent = 0;
    for (; op->peer < lines->size; op->peer++) {
        const uint32_t q = (lines->rank + 1 + op->peer) % lines->size;
        const struct rp_slice to = rp_aiv_output_block(op, q);
        const struct rp_slice from = { .start = row_start(op, q), .bytes = to.bytes };
        uint8_t *dst = to.bytes == 0 ? NULL : op->recv + to.start;
        const rp_status st = pull(op, q, from, dst, budget_bytes, &spent, progress);
        if (st != RP_OK) {
            return st;
        }
        op->offset = 0;
    }
    return rp_lines_check(op->lines, op->seq); // after the last access too
}

static rp_status pull_root(struct rp_aiv_op *op, uint64_t at, uint64_t budget_bytes, bool *progress)
{
    uint64_t spent = 0;
    const struct rp_slice from = { .start = at, .bytes = op->block_bytes };
    const rp_status st = pull(op, op->record.root, from, op->recv, budget_bytes, &spent, progress);
    return st == RP_OK ? rp_lines_check(op->lines, op->seq) : st;
}

rp_status rp_aiv_zero_copy_work(struct rp_aiv_op *op, uint64_t budget_bytes, bool *progress)
{
    const uint32_t rank = op->lines->rank;
    const uint64_t own_block = rank * op->block_bytes;
    switch ((enum rp_op_kind)op->record.op) {
    case RP_OP_ALL_REDUCE:
    case RP_OP_REDUCE:
        return fold(
                op, rp_aiv_slice(op->block_bytes, rank, op->lines->size), budget_bytes, progress);
    case RP_OP_REDUCE_SCATTER:
    case RP_OP_REDUCE_SCATTER_V:
        return fold(op, rp_aiv_block(op, rank), budget_bytes, progress);
    case RP_OP_ALL_GATHER:
    case RP_OP_ALL_GATHER_V:
        return pull_all(op, 0, budget_bytes, progress);
    case RP_OP_ALLTOALL:
        return pull_all(op, own_block, budget_bytes, progress);
    case RP_OP_ALLTOALL_V:
    case RP_OP_ALLTOALL_VC:
        return pull_row(op, budget_bytes, progress);
    case RP_OP_BROADCAST:
        return rp_aiv_is_root(op) ? RP_OK : pull_root(op, 0, budget_bytes, progress);
    case RP_OP_SCATTER:
        return pull_root(op, own_block, budget_bytes, progress);
    default:
        return RP_OK; // a barrier moves nothing
    }
    return RP_OK;
}
