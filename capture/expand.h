#ifndef REPRISE_CAPTURE_EXPAND_H
#define REPRISE_CAPTURE_EXPAND_H

/*
 * Expansion: from one collective to one rank's HOST_TS task list. Pure
 * functions of their arguments, so a test can make all ranks' lists in one
 * process and prove what they do.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "kernels/record.h"
#include "replay/task_list.h"

/* Ranks on nodes; for algorithms that look at it. A rank's number within its node is its card. */
struct rp_layout {
    uint32_t nodes;
    uint32_t cards;          /* ranks of each node; where they differ: the most */
    const uint32_t *rank_of; /* [ranks], node by node; NULL: 0, 1, 2, ... */
    const uint32_t *first;   /* [nodes + 1] where each node begins in `rank_of`; NULL: all equal */
};

static inline uint32_t rp_layout_first(const struct rp_layout *layout, uint32_t node)
{
    return layout->first == NULL ? node * layout->cards : layout->first[node];
}

/** rp_layout_cards: ranks of `node`. */
static inline uint32_t rp_layout_cards(const struct rp_layout *layout, uint32_t node)
{
    return rp_layout_first(layout, node + 1) - rp_layout_first(layout, node);
}

static inline uint32_t rp_layout_rank(const struct rp_layout *layout, uint32_t node, uint32_t card)
{
    const uint32_t index = rp_layout_first(layout, node) + card;
    return layout->rank_of == NULL ? index : layout->rank_of[index];
}

/** rp_layout_least: ranks of the node that has the fewest. */
uint32_t rp_layout_least(const struct rp_layout *layout);

struct rp_expand_request {
    uint16_t op;       /* enum rp_op_kind */
    uint8_t dtype;     /* enum rp_dtype */
    uint8_t reduce;    /* enum rp_reduce_op */
    uint8_t algorithm; /* enum rp_algorithm, but FUSED; with RP_TWO_LEVELS: between the nodes */
    bool nested;       /* the window is a part of another one: nobody else has a share of it */
    uint32_t root;
    uint32_t rank;
    uint32_t size;
    uint64_t count;                 /* elements of each block that this round handles, >= 1 */
    uint64_t window_bytes;          /* of window-in and of window-out */
    const struct rp_layout *layout; /* NULL: every rank is a node of its own, or all share one */
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
