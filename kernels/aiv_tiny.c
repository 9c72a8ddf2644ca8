// Tiny: the payload rides in the line. One exchange of cache lines; every rank reads every line
// that the operator needs and computes its own result.
//
// Cost: one store of a line, one load of a line a peer; N x payload folded on each rank.

#include <string.h>

#include "kernels/aiv_forms.h"

static const uint8_t *payload_of(const struct rp_aiv_op *op, uint32_t q)
{
    return op->lines->peer[q].block->line[op->seq % 2].payload; // ordered by [L1]
}

// The inputs are folded from copies: a vector load at a payload reaches into the next line, which
// its owner is about to write. The own input does not come from the own line, whose stores may
// still be on their way: to load from it would be to wait for them, half of an exchange.
static void fold(struct rp_aiv_op *op, uint64_t at, uint64_t bytes)
{
    struct rp_lines *lines = op->lines;
    void *dst = op->recv;
    for (uint32_t q = 0; q < lines->size; q++) {
        uint8_t *copy = lines->copies + (size_t)q * RP_CACHELINE;
        if (q == lines->rank) {
            if (op->counts == NULL) {
                memcpy(copy, op->send, rp_record_send_bytes(&op->record, lines->size));
            } else {
                rp_aiv_pack(op, copy);
            }
        } else {
            memcpy(copy, payload_of(op, q), RP_LINE_PAYLOAD_BYTES);
        }
        lines->srcs[q] = copy + at;
    }
    rp_aiv_fold(op, &dst, 1, bytes);
}

// Byte `at` on of every rank's payload becomes that rank's block of the output.
static void gather(struct rp_aiv_op *op, uint64_t at)
{
    const struct rp_lines *lines = op->lines;
    for (uint32_t q = 0; q < lines->size; q++) {
        const struct rp_slice block = rp_aiv_block(op, q);
        const uint8_t *payload = q == lines->rank ? op->send : payload_of(op, q);
        if (block.bytes != 0) {
            memmove(op->recv + block.start, payload + at, block.bytes);
        }
    }
}

static void scatter(struct rp_aiv_op *op)
{
    const uint64_t at = op->lines->rank * op->block_bytes;
    if (rp_aiv_is_root(op)) {
        memmove(op->recv, op->send + at, op->block_bytes);
    } else {
        memcpy(op->recv, payload_of(op, op->record.root) + at, op->block_bytes);
    }
}

rp_status rp_aiv_tiny_work(struct rp_aiv_op *op, uint64_t budget_bytes, bool *progress)
{
    (void)budget_bytes; // one line a peer
    (void)progress;
    if (op->block_bytes == 0) {
        return RP_OK; // a barrier, or a count of 0
    }
    switch ((enum rp_op_kind)op->record.op) {
    case RP_OP_ALL_REDUCE:
        fold(op, 0, op->block_bytes);
        break;
    case RP_OP_REDUCE_SCATTER:
    case RP_OP_REDUCE_SCATTER_V:
        fold(op, op->lines->rank * op->block_bytes, rp_aiv_block(op, op->lines->rank).bytes);
        break;
    case RP_OP_ALL_GATHER:
    case RP_OP_ALL_GATHER_V:
        gather(op, 0);
        break;
    case RP_OP_ALLTOALL:
        gather(op, op->lines->rank * op->block_bytes);
        break;
    case RP_OP_BROADCAST:
        if (!rp_aiv_is_root(op)) {
            memcpy(op->recv, payload_of(op, op->record.root), op->block_bytes);
        }
        break;
    case RP_OP_SCATTER:
        scatter(op);
        break;
    case RP_OP_REDUCE:
        if (rp_aiv_is_root(op)) {
            fold(op, 0, op->block_bytes);
        }
        break;
    default:
        break; // a barrier moves nothing
    }
    return RP_OK;
}
