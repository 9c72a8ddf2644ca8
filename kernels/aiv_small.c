// Small: as tiny, but the payload is copied to a slot first. Each rank folds all slots itself, so
// the op takes one exchange, and no rank touches a peer's buffers: it is complete at once.
//
// Cost: one copy of the payload; all-reduce reads N payloads on each rank, the others what they
// need. Slots are read in pieces, so that N of them stay within a step's budget. The own slot is
// for the peers only: here the input itself is in cache.

#include <string.h>

#include "kernels/aiv_forms.h"

#define PIECE_BYTES (8u * 1024u)

void rp_aiv_small_fill(struct rp_aiv_op *op)
{
    const struct rp_lines *lines = op->lines;
    uint8_t *slot = lines->peer[lines->rank].slot[(lines->announced + 1) % 2];
    rp_aiv_pack(op, slot);
}

static const uint8_t *slot_of(const struct rp_aiv_op *op, uint32_t q)
{
    return op->lines->peer[q].slot[op->seq % 2]; // ordered by [L1]
}

// Folds `block` of the own input and what the others have packed for it, which lies at byte `at`.
static rp_status fold(struct rp_aiv_op *op, struct rp_slice block, uint64_t at,
        uint64_t budget_bytes, bool *progress)
{
    struct rp_lines *lines = op->lines;
    uint64_t spent = 0;
    while (op->offset < block.bytes) {
        if (spent >= budget_bytes && spent != 0) {
            return RP_AGAIN;
        }
        const uint64_t bytes = rp_min_u64(block.bytes - op->offset, PIECE_BYTES);
        void *dst = op->recv + op->offset;
        for (uint32_t q = 0; q < lines->size; q++) {
            lines->srcs[q] = slot_of(op, q) + at + op->offset;
        }
        lines->srcs[lines->rank] = op->send + block.start + op->offset;
        rp_aiv_fold(op, &dst, 1, bytes);
        op->offset += bytes;
        spent += bytes * (lines->size + 1);
        *progress = true;
    }
    return RP_OK;
}

// Byte `at` on of every rank's payload becomes that rank's block of the output.
static rp_status gather(struct rp_aiv_op *op, uint64_t at, uint64_t budget_bytes, bool *progress)
{
    const uint32_t rank = op->lines->rank;
    const struct rp_slice own = rp_aiv_block(op, rank);
    uint64_t spent = 0;
    if (op->peer == 0 && own.bytes != 0) {
        memmove(op->recv + own.start, op->send + at, own.bytes);
    }
    for (; op->peer < op->lines->size; op->peer++) {
        const struct rp_slice block = rp_aiv_block(op, op->peer);
        if (op->peer == rank || block.bytes == 0) {
            continue;
        }
        if (spent >= budget_bytes && spent != 0) {
            return RP_AGAIN;
        }
        rp_copy(op->recv + block.start, slot_of(op, op->peer) + at, block.bytes);
        spent += 2 * block.bytes;
        *progress = true;
    }
    return RP_OK;
}

static void scatter(struct rp_aiv_op *op)
{
    const uint64_t at = op->lines->rank * op->block_bytes;
    if (rp_aiv_is_root(op)) {
        memmove(op->recv, op->send + at, op->block_bytes);
    } else {
        rp_copy(op->recv, slot_of(op, op->record.root) + at, op->block_bytes);
    }
}

rp_status rp_aiv_small_work(struct rp_aiv_op *op, uint64_t budget_bytes, bool *progress)
{
    const uint64_t own_place = op->lines->rank * op->block_bytes;
    const struct rp_slice whole = { .bytes = op->block_bytes };
    switch ((enum rp_op_kind)op->record.op) {
    case RP_OP_ALL_REDUCE:
        return fold(op, whole, 0, budget_bytes, progress);
    case RP_OP_REDUCE_SCATTER:
    case RP_OP_REDUCE_SCATTER_V:
        return fold(op, rp_aiv_block(op, op->lines->rank), own_place, budget_bytes, progress);
    case RP_OP_ALL_GATHER:
    case RP_OP_ALL_GATHER_V:
        return gather(op, 0, budget_bytes, progress);
    case RP_OP_ALLTOALL:
        return gather(op, own_place, budget_bytes, progress);
    case RP_OP_BROADCAST:
        if (!rp_aiv_is_root(op)) {
            rp_copy(op->recv, slot_of(op, op->record.root), op->block_bytes);
        }
        return RP_OK;
    case RP_OP_SCATTER:
        scatter(op);
        return RP_OK;
    case RP_OP_REDUCE:
        return rp_aiv_is_root(op) ? fold(op, whole, 0, budget_bytes, progress) : RP_OK;
    default:
        return RP_OK; // a barrier moves nothing
    }
    return RP_OK;
}
