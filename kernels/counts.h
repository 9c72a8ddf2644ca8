#ifndef REPRISE_KERNELS_COUNTS_H
#define REPRISE_KERNELS_COUNTS_H

/*
 * The table of an operator whose blocks differ: AllGatherV and ReduceScatterV.
 * All ranks give the same one, so that a rank knows from its own where a peer's
 * blocks are; the record carries the largest count and a hash of the rest, by
 * which ranks that differ are found out.
 *
 * A table is read-only and lives beside the op that it belongs to. Without one
 * (NULL) all blocks have record.count elements and lie back to back.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/record.h"

struct rp_counts {
    uint64_t hash;   /* of everything below */
    uint64_t most;   /* the largest count */
    uint64_t extent; /* elements up to the end of the block that ends last; 0: all are empty */
    uint32_t ranks;
    uint32_t reserved;
    uint64_t at[]; /* [ranks] counts, then [ranks] displacements, in elements */
};

/** rp_counts_bytes: of a table for `ranks` ranks. */
static inline size_t rp_counts_bytes(uint32_t ranks)
{
    return sizeof(struct rp_counts) + 2 * (size_t)ranks * sizeof(uint64_t);
}

/**
 * rp_counts_fill: make the table in `counts`, which has rp_counts_bytes(ranks).
 * The displacement of a block without elements does not count. False, and
 * `*wrong` the rank, when a block ends beyond `elements_max`.
 */
bool rp_counts_fill(struct rp_counts *counts, uint32_t ranks, const uint64_t *count,
        const uint64_t *displacement, uint64_t elements_max, uint32_t *wrong);

/** rp_counts_equal: whether two tables say the same. */
bool rp_counts_equal(const struct rp_counts *a, const struct rp_counts *b);

/** rp_counts_place: displacement of rank `rank`'s block. */
static inline uint64_t rp_counts_place(const struct rp_counts *counts, uint32_t rank)
{
    return counts->at[counts->ranks + rank];
}

/**
 * rp_input_bytes, rp_output_bytes: what rp_record_input_bytes() and
 * rp_record_output_bytes() say, by the table where there is one: up to the end
 * of the last block, and the own block alone.
 */
uint64_t rp_input_bytes(const struct rp_record *record, const struct rp_counts *counts,
        uint32_t rank, uint32_t ranks);
uint64_t rp_output_bytes(const struct rp_record *record, const struct rp_counts *counts,
        uint32_t rank, uint32_t ranks);

#endif
