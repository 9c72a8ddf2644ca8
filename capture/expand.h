#ifndef REPRISE_CAPTURE_EXPAND_H
#define REPRISE_CAPTURE_EXPAND_H

/*
 * Expansion: from one collective to one rank's HOST_TS task list. Pure
 * functions of their arguments, so a test can make all ranks' lists in one
 * process and prove what they do.
 */

#include <stdint.h>

#include "base/status.h"
#include "kernels/record.h"
#include "replay/task_list.h"

/* Ranks on nodes, the same number on each; for algorithms that look at it. */
struct rp_layout {
    uint32_t nodes;
    uint32_t cards;          /* ranks of each node */
    const uint32_t *rank_of; /* [nodes * cards], node by node; NULL: 0, 1, 2, ... */
};

struct rp_expand_request {
    uint16_t op;       /* enum rp_op_kind */
    uint8_t dtype;     /* enum rp_dtype */
    uint8_t reduce;    /* enum rp_reduce_op */
    uint8_t algorithm; /* enum rp_algorithm, but FUSED */
    uint32_t root;
    uint32_t rank;
    uint32_t size;
    uint64_t count;                 /* elements of each block that this round handles, >= 1 */
    uint64_t window_bytes;          /* of window-in and of window-out */
    const struct rp_layout *layout; /* NULL: every rank is a node of its own */
};

/** rp_expand_round_count: most elements of each block that one round can handle; 0 if not even one
 * fits. */
uint64_t rp_expand_round_count(const struct rp_expand_request *request);

/** rp_expand_window_bytes: how much of each window the ranks' lists use, at most. */
uint64_t rp_expand_window_bytes(const struct rp_expand_request *request);

/**
 * rp_expand: a new list (malloc; the caller frees it with rp_free).
 * RP_ENOTSUP for an operator that the algorithm does not know, RP_ENOMEM.
 */
RP_MUST_USE rp_status rp_expand(const struct rp_expand_request *request, struct rp_task_list **out);

#endif
