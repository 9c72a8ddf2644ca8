#ifndef REPRISE_CAPTURE_SELECT_H
#define REPRISE_CAPTURE_SELECT_H

/*
 * The support matrix as one table (operators x expansions), and the selector
 * that reads it: AIV or HOST_TS, and which algorithm. Every input is agreed by
 * all ranks at init, so all ranks choose alike.
 */

#include <stdbool.h>

#include <hccl/hccl_comm.h>

#include "base/status.h"
#include "kernels/dtype.h"
#include "kernels/record.h"

struct rp_comm;
struct rp_layout;

/* The bit of an algorithm in a set. */
#define RP_ALGORITHM_BIT(algorithm) (1u << (algorithm))

/* Those that fold in rank order and round once: the only ones for reductions under strict. */
#define RP_ALGORITHMS_STRICT                                                         \
    (RP_ALGORITHM_BIT(RP_ALGORITHM_MESH) | RP_ALGORITHM_BIT(RP_ALGORITHM_PAIRWISE) | \
            RP_ALGORITHM_BIT(RP_ALGORITHM_STAR))

/* How an operator may be called. */
#define RP_MODE_SINGLE_OP 1u
#define RP_MODE_CAPTURED 2u
#define RP_MODES_ALL (RP_MODE_SINGLE_OP | RP_MODE_CAPTURED)

/* Sets of types, bit t for enum rp_dtype t, and of reductions. */
#define RP_TYPES_REDUCIBLE ((1u << RP_DTYPE_REDUCIBLE) - 1)
#define RP_TYPES_OPAQUE                                                     \
    (1u << RP_DTYPE_INT128 | 1u << RP_DTYPE_HIF8 | 1u << RP_DTYPE_FP8E4M3 | \
            1u << RP_DTYPE_FP8E5M2 | 1u << RP_DTYPE_FP8E8M0)
#define RP_TYPES_ALL (RP_TYPES_REDUCIBLE | RP_TYPES_OPAQUE)
#define RP_REDUCTIONS_ALL ((1u << RP_REDUCE_OPS) - 1)

/* Members that are left out mean no. Kernels never reach another node, and what reduces gives equal
 * bits with every setting. */
struct rp_matrix_row {
    uint16_t op; /* enum rp_op_kind */
    uint8_t modes;
    bool aiv; /* expansions that exist */
    bool host_ts;
    bool between_nodes;  /* HOST_TS, also where ranks are on several nodes */
    uint16_t algorithms; /* of HOST_TS: bit a for enum rp_algorithm a */
    uint32_t types;      /* of elements; none: it has no elements */
    uint8_t reductions;
    bool reduces;
    bool strict; /* HCCL_DETERMINISTIC=strict: the left fold in rank order, whatever runs it */
    bool rooted;
    bool in_place; /* output and input may be the same memory */
    int8_t algo;   /* enum rp_algo_op: its name in HCCL_ALGO; -1: none */
};

extern const struct rp_matrix_row rp_matrix[];
extern const unsigned rp_matrix_rows;

/** rp_matrix_row: the operator's row; NULL for an operator that is not built. */
const struct rp_matrix_row *rp_matrix_row(unsigned op);

/**
 * rp_select: expansion and algorithm of `op` on `comm` under `determinism` (enum
 * rp_determinism); `block_bytes` is its count in bytes. The algorithm has
 * RP_TWO_LEVELS where it runs between nodes. design.md "Which expansion": unset:
 * AIV on one node; HOST, HOST_TS, AI_CPU...: HOST_TS; AIV: AIV; the config's
 * field wins over the environment.
 *
 *   RP_ENOTSUP  AIV-only asked for where AIV does not reach; an operator that is
 *               not built
 */
RP_MUST_USE rp_status rp_select(struct rp_comm *comm, unsigned op, uint64_t block_bytes,
        unsigned determinism, enum rp_expansion *expansion, enum rp_algorithm *algorithm);

/** rp_select_adaptive: the algorithm that nobody asked for, within a node: the mesh for few ranks
 * and for large vectors, else one of few steps. */
enum rp_algorithm rp_select_adaptive(unsigned op, uint64_t block_bytes, uint32_t ranks);

/** rp_select_between: the same on several nodes: between them, or RP_ALGORITHM_PIPELINE. */
enum rp_algorithm rp_select_between(
        unsigned op, uint64_t block_bytes, const struct rp_layout *layout);

/**
 * rp_matrix_between: whether two levels of `layout` may have `algorithm` between
 * the nodes. Nodes of different sizes have blocks that only algorithms can move
 * which take each in one step from buffer to buffer.
 */
bool rp_matrix_between(unsigned op, unsigned algorithm, const struct rp_layout *layout);

/** rp_matrix_algorithm_name: as HCCL_ALGO spells it; NULL for what is no algorithm of HOST_TS. */
const char *rp_matrix_algorithm_name(unsigned algorithm);

/** rp_select_mode: what HcclConfigGetInfo answers: what was set, and AIV or HOST_TS if nothing was.
 */
HcclOpExpansionMode rp_select_mode(const struct rp_comm *comm);

#endif
