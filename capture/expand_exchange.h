#ifndef REPRISE_CAPTURE_EXPAND_EXCHANGE_H
#define REPRISE_CAPTURE_EXPAND_EXCHANGE_H

/*
 * What algorithms of about log2(p) steps share: in each step a rank sends a set
 * of slices to one peer and receives another set of another peer.
 *
 * The exchange knows where the current value of every slice stands: in the
 * input, in a lane where a partial result was folded, or in the output. Slices
 * are told apart by their position: the order in which they lie in memory.
 * Slices of a set travel in the order of their positions, those that lie side by
 * side in one put.
 *
 * A lane is used once a phase and round, so there are no credits within a round;
 * rp_exchange_end() gives one to every peer that sent and waits for one of every
 * peer that was sent to, where what was sent in a later step does not say as
 * much. That needs one numbering of the steps on all ranks, from 1.
 */

#include <stdbool.h>
#include <stdint.h>

#include "capture/expand_list.h"

struct rp_exchange {
    const struct rp_expand_request *request;
    struct rp_list_builder *builder;
    uint32_t parts;        /* slices */
    bool blocks;           /* slices are the op's blocks, not parts of one block */
    bool keeps;            /* what arrives stays there: the output has no place for every slice */
    struct rp_ht_addr *at; /* [parts] by position: where its current value stands */
    uint32_t *position;    /* [parts] of each slice */
    uint8_t *wanted;       /* [parts] scratch: the positions of a set */
    uint16_t *heard;       /* [size] last step in which each rank sent; 0: never */
    uint16_t *told;        /* [size] last step in which each rank was sent to; 0: never */
    uint16_t step;         /* the caller's, before it sends or receives */
    void *memory;          /* holds the arrays */
};

/* Slices first, first + stride, first + 2 * stride, ... modulo the number of slices. */
struct rp_slice_set {
    uint32_t first;
    uint32_t stride;
    uint32_t count;
};

/**
 * rp_exchange_init: `parts` slices, slice i at position i, each standing in the
 * input (in an all-gather: in the output, where the caller must have put it).
 * False: no memory, and the builder says so when it finishes. Freed by
 * rp_exchange_end().
 */
RP_MUST_USE bool rp_exchange_init(struct rp_exchange *x, struct rp_list_builder *builder,
        const struct rp_expand_request *request, uint32_t parts);

/** rp_exchange_send: the current values of `set` to `peer`, into its window at `to`. */
void rp_exchange_send(
        struct rp_exchange *x, uint32_t peer, struct rp_ht_addr to, const struct rp_slice_set *set);

/**
 * rp_exchange_fold: what `peer` put at `from` is folded into the current values of `set`. The sums
 * stay where they arrived, or go to the output where it has a place for every slice; `last`: this
 * rank's own slice is complete and goes to the output in any case.
 */
void rp_exchange_fold(struct rp_exchange *x, uint32_t peer, struct rp_ht_addr from,
        const struct rp_slice_set *set, bool last);

/** rp_exchange_take: what `peer` put at `from` is the final value of `set`; the output gets what it
 *  has a place for, the rest stays there. */
void rp_exchange_take(struct rp_exchange *x, uint32_t peer, struct rp_ht_addr from,
        const struct rp_slice_set *set);

/** rp_exchange_end: credits both ways, and frees what init allocated. */
void rp_exchange_end(struct rp_exchange *x);

/** rp_exchange_all: the set of all slices. */
static inline struct rp_slice_set rp_exchange_all(const struct rp_exchange *x)
{
    return (struct rp_slice_set){ .first = 0, .stride = 1, .count = x->parts };
}

#endif
