#ifndef TESTS_SUPPORT_ORACLE_COLLECTIVE_H
#define TESTS_SUPPORT_ORACLE_COLLECTIVE_H

/*
 * What a collective must leave in each rank's output, computed from all ranks'
 * inputs by definition: reductions are the left fold in rank order. Knows
 * nothing of forms, lines or slices.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/dtype.h"

enum oracle_op {
    ORACLE_ALL_REDUCE,
    ORACLE_REDUCE_SCATTER,
    ORACLE_ALL_GATHER,
    ORACLE_BROADCAST,
    ORACLE_REDUCE,
    ORACLE_SCATTER,
    ORACLE_ALLTOALL,
    ORACLE_ALL_GATHER_V, /* by the tables of oracle_table() */
    ORACLE_REDUCE_SCATTER_V,
    ORACLE_OPS,
};

#define ORACLE_RANKS_MAX 16

struct oracle_call {
    enum oracle_op op;
    enum rp_dtype dtype;
    enum rp_reduce_op reduce;
    size_t count; /* as the API counts: of one block where a buffer has a block for every rank; of
                     a table: its largest */
    unsigned root;
    unsigned ranks;
};

/** oracle_reduces, oracle_rooted: whether the operator has a reduction, a root. */
bool oracle_reduces(enum oracle_op op);
bool oracle_rooted(enum oracle_op op);

/**
 * oracle_table: counts and displacements of a call with a table, made from its
 * count: one block has all of it, others less or nothing; they lie in another
 * order than the ranks and not back to back.
 */
struct oracle_table {
    uint64_t count[ORACLE_RANKS_MAX];
    uint64_t place[ORACLE_RANKS_MAX];
    uint64_t extent; /* elements up to the last block's end */
};
struct oracle_table oracle_table(const struct oracle_call *call);
bool oracle_has_table(enum oracle_op op);

/** oracle_sends, oracle_receives: whether the operator reads `rank`'s input, writes its output. */
bool oracle_sends(const struct oracle_call *call, unsigned rank);
bool oracle_receives(const struct oracle_call *call, unsigned rank);

/** oracle_send_bytes, oracle_recv_bytes: of one rank's input and output, where it has them; of the
 * largest, where a table makes them differ. */
size_t oracle_send_bytes(const struct oracle_call *call);
size_t oracle_recv_bytes(const struct oracle_call *call);

/**
 * oracle_collective: the output of rank `rank` into `dst`, which is none of the
 * inputs. sends[r] is rank r's input; for broadcast and scatter only the root's
 * counts. Nothing is written where the rank receives nothing, nor between blocks.
 */
void oracle_collective(
        const struct oracle_call *call, const void *const *sends, unsigned rank, void *dst);

/**
 * oracle_fill: an input that tells rounding orders apart: any bits for
 * integers, finite values of mixed signs and sizes for floats. The same `seed`
 * gives the same bytes.
 */
void oracle_fill(enum rp_dtype dtype, void *buffer, size_t count, uint64_t seed);

#endif
