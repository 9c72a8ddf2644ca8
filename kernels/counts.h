#ifndef REPRISE_KERNELS_COUNTS_H
#define REPRISE_KERNELS_COUNTS_H

/*
 * The table of an operator whose blocks differ.
 *
 * AllGatherV and ReduceScatterV have a block a rank. All ranks give the same
 * table, so that a rank knows from its own where a peer's blocks are; the record
 * carries the largest count and a hash of the rest, by which ranks that differ
 * are found out.
 *
 * AlltoAllV and AlltoAllVC have a block for each pair of ranks, and a rank's
 * table is its row: what it sends to each rank and what it expects of each. It
 * does not know where a peer's blocks lie, nor whether the peer's row agrees
 * with its own: that the ranks tell each other in the op's course. A row of
 * AlltoAllVC is made from a matrix that all ranks give alike, and has it behind.
 *
 * A table is read-only and lives beside the op that it belongs to. Without one
 * (NULL) all blocks have record.count elements and lie back to back.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/record.h"

struct rp_counts {
    uint64_t hash;        /* of `at`; of a matrix, where there is one: the same on all ranks */
    uint64_t most;        /* the largest count; of a row of a matrix: of all of that */
    uint64_t extent;      /* elements up to the end of the block that ends last; 0: all are empty */
    uint64_t recv_extent; /* of a row: the same of what is received */
    uint64_t total;       /* of a row: elements that are sent */
    uint32_t ranks;
    uint32_t words; /* of `at`; tells the three kinds apart */
    uint64_t at[];  /* [ranks] counts, then [ranks] displacements, in elements; of a row: those of
                       what is sent, then of what is received; perhaps the matrix */
};

/* What a table is. */
enum rp_counts_kind {
    RP_COUNTS_TABLE,  /* a block a rank */
    RP_COUNTS_ROW,    /* a block for each pair of ranks */
    RP_COUNTS_MATRIX, /* the same, with the matrix that it was made from */
};

/** rp_counts_words: how many words of numbers a table has. */
static inline uint32_t rp_counts_words(enum rp_counts_kind kind, uint32_t ranks)
{
    return kind == RP_COUNTS_TABLE ? 2 * ranks
           : kind == RP_COUNTS_ROW ? 4 * ranks
                                   : 4 * ranks + ranks * ranks;
}

/** rp_counts_bytes: of a table for `ranks` ranks. */
static inline size_t rp_counts_bytes(enum rp_counts_kind kind, uint32_t ranks)
{
    return sizeof(struct rp_counts) + rp_counts_words(kind, ranks) * sizeof(uint64_t);
}

/**
 * rp_counts_fill: make the table in `counts`, which has RP_COUNTS_TABLE's bytes.
 * The displacement of a block without elements does not count. False, and
 * `*wrong` the rank, when a block ends beyond `elements_max`.
 */
bool rp_counts_fill(struct rp_counts *counts, uint32_t ranks, const uint64_t *count,
        const uint64_t *displacement, uint64_t elements_max, uint32_t *wrong);

/* One direction of a row, unchecked. */
struct rp_counts_side {
    const uint64_t *count;
    const uint64_t *displacement;
};

/**
 * rp_counts_fill_row: the same for one rank's row of an all-to-all. `*wrong` is
 * then a rank to send to, or `ranks` more than one to receive from.
 */
bool rp_counts_fill_row(struct rp_counts *counts, uint32_t ranks, struct rp_counts_side send,
        struct rp_counts_side recv, uint64_t elements_max, uint32_t *wrong);

/**
 * rp_counts_fill_matrix: the row of `rank` by a matrix [ranks * ranks], in which
 * element [i * ranks + j] is what i sends to j; blocks lie back to back. `*wrong`
 * is the element that is larger than `elements_max`.
 */
bool rp_counts_fill_matrix(struct rp_counts *counts, uint32_t ranks, uint32_t rank,
        const uint64_t *matrix, uint64_t elements_max, uint32_t *wrong);

/** rp_counts_kind_of: which of the three it is. */
static inline enum rp_counts_kind rp_counts_kind_of(const struct rp_counts *counts)
{
    return counts->words == 2 * counts->ranks   ? RP_COUNTS_TABLE
           : counts->words == 4 * counts->ranks ? RP_COUNTS_ROW
                                                : RP_COUNTS_MATRIX;
}

/** rp_counts_matrix: that of a row that has one. */
static inline const uint64_t *rp_counts_matrix(const struct rp_counts *counts)
{
    return counts->at + 4 * (size_t)counts->ranks;
}

/* What a row says of rank `rank`: elements from it, and where they go. Of what goes to it: at[rank]
 * and rp_counts_place(). */
static inline uint64_t rp_counts_expected(const struct rp_counts *counts, uint32_t rank)
{
    return counts->at[2 * (size_t)counts->ranks + rank];
}
static inline uint64_t rp_counts_recv_place(const struct rp_counts *counts, uint32_t rank)
{
    return counts->at[3 * (size_t)counts->ranks + rank];
}

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
 * of the last block, and the own block alone. Of a row `rank` is whose it is.
 */
uint64_t rp_input_bytes(const struct rp_record *record, const struct rp_counts *counts,
        uint32_t rank, uint32_t ranks);
uint64_t rp_output_bytes(const struct rp_record *record, const struct rp_counts *counts,
        uint32_t rank, uint32_t ranks);

/** rp_row_bytes: the larger of the two by a row, with which all work is measured. */
uint64_t rp_row_bytes(const struct rp_record *record, const struct rp_counts *counts);

#endif
