#ifndef REPRISE_KERNELS_AIV_FORMS_H
#define REPRISE_KERNELS_AIV_FORMS_H

/* Between aiv.c, which runs every op through the same phases, and the files of the forms. */

#include "kernels/aiv.h"
#include "kernels/copy.h"

enum rp_aiv_form {
    RP_FORM_LOCAL, /* one rank: a copy */
    RP_FORM_TINY,
    RP_FORM_SMALL,
    RP_FORM_LARGE, /* until the peers' records have been read: then one of the next two */
    RP_FORM_ZERO_COPY,
    RP_FORM_STAGED,
};

/* What a form does once every rank that it needs has arrived; returns as rp_aiv_step. */
typedef rp_status rp_aiv_work_fn(struct rp_aiv_op *op, uint64_t budget_bytes, bool *progress);

rp_aiv_work_fn rp_aiv_local_work;
rp_aiv_work_fn rp_aiv_tiny_work;
rp_aiv_work_fn rp_aiv_small_work;
rp_aiv_work_fn rp_aiv_zero_copy_work;
rp_aiv_work_fn rp_aiv_staged_work;

/** rp_aiv_payload_bytes: what this rank offers in its line or slot. */
uint64_t rp_aiv_payload_bytes(const struct rp_aiv_op *op);

/** rp_aiv_pack: that payload to `dst`. Blocks for the ranks lie block_bytes apart in it, whatever a
 * table says. */
void rp_aiv_pack(const struct rp_aiv_op *op, uint8_t *dst);

/** rp_aiv_small_fill: copy this rank's payload into its slot for the op that is announced next. */
void rp_aiv_small_fill(struct rp_aiv_op *op);

/** rp_aiv_row_fill: this rank's row into its slot for the op that is announced next. */
void rp_aiv_row_fill(struct rp_aiv_op *op);

/** rp_aiv_row_check: rank `q` has arrived: whether it sends what this rank's row expects of it.
 * Makes block_bytes that of the largest block seen so far. */
RP_MUST_USE rp_status rp_aiv_row_check(struct rp_aiv_op *op, uint32_t q);

/** rp_aiv_row_place: in which element of its input rank `q`'s block for this rank begins, as q
 * says.
 */
uint64_t rp_aiv_row_place(const struct rp_aiv_op *op, uint32_t q);

/** rp_aiv_has_row: of an all-to-all whose blocks differ from pair to pair. */
static inline bool rp_aiv_has_row(const struct rp_aiv_op *op)
{
    return rp_op_has_row(op->record.op);
}

/** rp_aiv_has_source: whether the operator has one rank's data for the others, the root's. */
static inline bool rp_aiv_has_source(const struct rp_aiv_op *op)
{
    return op->record.op == RP_OP_BROADCAST || op->record.op == RP_OP_SCATTER;
}

/** rp_aiv_is_root: of a rooted operator. */
static inline bool rp_aiv_is_root(const struct rp_aiv_op *op)
{
    return op->record.root == op->lines->rank;
}

/** rp_aiv_offers: whether this rank has something that others read. */
static inline bool rp_aiv_offers(const struct rp_aiv_op *op)
{
    return !rp_aiv_has_source(op) || rp_aiv_is_root(op);
}

/* A part of a buffer, in bytes. */
struct rp_slice {
    uint64_t start;
    uint64_t bytes;
};

/**
 * rp_aiv_slice: rank `rank`'s share of `bytes` bytes. A function of its arguments
 * alone, cut at multiples of 64, so also of every element's size; shares differ
 * by at most 64 bytes.
 */
static inline struct rp_slice rp_aiv_slice(uint64_t bytes, uint32_t rank, uint32_t ranks)
{
    const uint64_t units = (bytes + RP_CACHELINE - 1) / RP_CACHELINE;
    const uint64_t each = units / ranks;
    const uint64_t more = units % ranks; // the first `more` ranks have one unit more
    const uint64_t start = (each * rank + rp_min_u64(more, rank)) * RP_CACHELINE;
    const uint64_t end = start + (each + (rank < more ? 1 : 0)) * RP_CACHELINE;
    return (struct rp_slice){
        .start = rp_min_u64(start, bytes),
        .bytes = rp_min_u64(end, bytes) - rp_min_u64(start, bytes),
    };
}

static inline size_t rp_aiv_element_bytes(const struct rp_aiv_op *op)
{
    return rp_dtype_bytes((enum rp_dtype)op->record.dtype);
}

/** rp_aiv_block: rank `q`'s block of the buffer that has one for every rank. */
static inline struct rp_slice rp_aiv_block(const struct rp_aiv_op *op, uint32_t q)
{
    const struct rp_counts *counts = op->counts;
    if (counts == NULL) {
        return (struct rp_slice){ .start = q * op->block_bytes, .bytes = op->block_bytes };
    }
    const size_t element = rp_aiv_element_bytes(op);
    return (struct rp_slice){
        .start = rp_counts_place(counts, q) * element,
        .bytes = counts->at[q] * element,
    };
}

/** rp_aiv_output_block: where in the output what comes from rank `q` goes. */
static inline struct rp_slice rp_aiv_output_block(const struct rp_aiv_op *op, uint32_t q)
{
    if (!rp_aiv_has_row(op)) {
        return rp_aiv_block(op, q);
    }
    const size_t element = rp_aiv_element_bytes(op);
    return (struct rp_slice){
        .start = rp_counts_recv_place(op->counts, q) * element,
        .bytes = rp_counts_expected(op->counts, q) * element,
    };
}

/** rp_aiv_fold: `bytes` bytes of the arrays in lines->srcs, one a rank, into those in `dsts`. */
static inline void rp_aiv_fold(
        const struct rp_aiv_op *op, void *const *dsts, unsigned dst_count, uint64_t bytes)
{
    const struct rp_lines *lines = op->lines;

    if (bytes == 0) {
        return; // an empty block, whose output may be nowhere
    }
    rp_reduce(op->reduce, (enum rp_dtype)op->record.dtype, (enum rp_reduce_op)op->record.reduce,
            dsts, dst_count, lines->srcs, lines->size, bytes / rp_aiv_element_bytes(op));
}

#endif
