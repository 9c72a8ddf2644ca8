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

// Every input is read from a line, also the own one: the output may be the input.
static void fold(struct rp_aiv_op *op, uint64_t at)
{
    struct rp_lines *lines = op->lines;
    void *dst = op->recv;
    for (uint32_t q = 0; q < lines->size; q++) {
        lines->srcs[q] = payload_of(op, q) + at;
    }
    rp_aiv_fold(op, &dst, 1, op->block_bytes);
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
        fold(op, 0);
        break;
    case RP_OP_REDUCE_SCATTER:
        fold(op, op->lines->rank * op->block_bytes);
        break;
    case RP_OP_ALL_GATHER:
        for (uint32_t q = 0; q < op->lines->size; q++) {
            memcpy(op->recv + q * op->block_bytes, payload_of(op, q), op->block_bytes);
        }
        break;
    case RP_OP_BROADCAST:
        if (op->record.root != op->lines->rank) {
            memcpy(op->recv, payload_of(op, op->record.root), op->block_bytes);
        }
        break;
    case RP_OP_BARRIER:
        break;
    }
    return RP_OK;
}
