// All-to-all with a block for each pair of ranks: what the ranks tell each other in their slots.
//
// Each rank knows its own row alone, so a reader learns from the sender's slot where its block is,
// and whether it is as large as it expects. A slot's rule for reuse is that of small payloads, and
// `done` of every rank comes after its last look at a row.

#include "kernels/aiv_forms.h"

static const struct rp_row_slot *row_of(const struct rp_aiv_op *op, uint32_t q)
{
    return (const struct rp_row_slot *)(const void *)op->lines->peer[q].slot[op->seq % 2]; // [L1]
}

void rp_aiv_row_fill(struct rp_aiv_op *op)
{
    const struct rp_lines *lines = op->lines;
    const struct rp_counts *row = op->counts;
    void *slot = lines->peer[lines->rank].slot[(lines->announced + 1) % 2];
    struct rp_row_slot *out = slot;
    out->most = row->most;
    for (uint32_t q = 0; q < lines->size; q++) {
        out->to[q] = (struct rp_row_cell){ .count = row->at[q], .place = rp_counts_place(row, q) };
    }
    op->block_bytes = row->most * rp_aiv_element_bytes(op);
}

rp_status rp_aiv_row_check(struct rp_aiv_op *op, uint32_t q)
{
    const struct rp_row_slot *row = row_of(op, q);
    const uint64_t sent = row->to[op->lines->rank].count;
    const uint64_t expected = rp_counts_expected(op->counts, q);
    if (sent != expected) {
        return rp_lines_uneven(op->lines, q, op->seq, sent, expected);
    }
    // The product is a peer's word, and bounds nothing but the number of rounds.
    op->block_bytes = rp_max_u64(op->block_bytes, row->most * rp_aiv_element_bytes(op));
    return RP_OK;
}

uint64_t rp_aiv_row_place(const struct rp_aiv_op *op, uint32_t q)
{
    return row_of(op, q)->to[op->lines->rank].place;
}
