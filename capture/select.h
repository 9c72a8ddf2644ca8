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
#include "kernels/record.h"

struct rp_comm;

/* The bit of an algorithm in a set. */
#define RP_ALGORITHM_BIT(algorithm) (1u << (algorithm))

/* Those that fold in rank order and round once: the only ones for reductions under strict. */
#define RP_ALGORITHMS_STRICT                                                         \
    (RP_ALGORITHM_BIT(RP_ALGORITHM_MESH) | RP_ALGORITHM_BIT(RP_ALGORITHM_PAIRWISE) | \
            RP_ALGORITHM_BIT(RP_ALGORITHM_STAR))

struct rp_matrix_row {
    uint16_t op; /* enum rp_op_kind */
    bool aiv;    /* expansions that exist */
    bool host_ts;
    uint16_t algorithms; /* of HOST_TS: bit a for enum rp_algorithm a */
    bool reduces;
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
 * rp_determinism); `block_bytes` is its count in bytes. design.md "Which
 * expansion": unset: AIV on one node; HOST, HOST_TS, AI_CPU...: HOST_TS; AIV:
 * AIV; the config's field wins over the environment.
 *
 *   RP_ENOTSUP  AIV-only asked for where AIV does not reach; an operator that is
 *               not built
 */
RP_MUST_USE rp_status rp_select(struct rp_comm *comm, unsigned op, uint64_t block_bytes,
        unsigned determinism, enum rp_expansion *expansion, enum rp_algorithm *algorithm);

/** rp_select_adaptive: the algorithm that nobody asked for, within a node: the mesh for few ranks
 * and for large vectors, else one of few steps. */
enum rp_algorithm rp_select_adaptive(unsigned op, uint64_t block_bytes, uint32_t ranks);

/** rp_matrix_algorithm_name: as HCCL_ALGO spells it; NULL for what is no algorithm of HOST_TS. */
const char *rp_matrix_algorithm_name(unsigned algorithm);

/** rp_select_mode: what HcclConfigGetInfo answers: what was set, and AIV or HOST_TS if nothing was.
 */
HcclOpExpansionMode rp_select_mode(const struct rp_comm *comm);

#endif
