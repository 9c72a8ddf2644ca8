#ifndef REPRISE_CAPTURE_EXPAND_LIST_H
#define REPRISE_CAPTURE_EXPAND_LIST_H

/*
 * What the algorithms share: a list that grows, the layout of windows, and the
 * division of a round into slices.
 *
 * Windows. Whatever the operator, the algorithm and the round, rank s writes
 * only bytes [s * slot, (s + 1) * slot) of a peer's window-in and window-out,
 * and `slot` depends on the window and the number of ranks alone. So when s has
 * its credit for what it wrote last, nothing that it writes next can meet
 * another rank's unread data, however far apart the two are: that is what makes
 * rounds and operators independent of each other without a barrier.
 */

#include <stdbool.h>
#include <stdint.h>

#include "capture/expand.h"

/* A list under construction. After a failed allocation every call is a no-op. */
struct rp_list_builder {
    struct rp_task_list *list;
    uint32_t room; /* tasks */
    bool failed;
};

/** rp_builder_finish: the list, or RP_ENOMEM (and nothing is left). */
RP_MUST_USE rp_status rp_builder_finish(
        struct rp_list_builder *builder, uint64_t round_count, struct rp_task_list **out);

static inline struct rp_ht_addr rp_ht_at(enum rp_ht_base base, uint32_t block, uint64_t off)
{
    return (struct rp_ht_addr){ .base = (uint8_t)base, .block = block, .off = off };
}

/* One task each; nothing for 0 bytes. */
void rp_build_copy(struct rp_list_builder *builder, struct rp_ht_addr dst, struct rp_ht_addr src,
        uint64_t bytes);
void rp_build_put(struct rp_list_builder *builder, uint32_t peer, struct rp_ht_addr dst,
        struct rp_ht_addr src, uint64_t bytes);
void rp_build_signal(struct rp_list_builder *builder, uint32_t peer);
void rp_build_wait(struct rp_list_builder *builder, uint32_t peer);

/* The inputs of a reduction: position p at off + p * step of the own window-in, but `own` at src.
 */
struct rp_fold {
    uint64_t off;
    uint64_t step;
    uint32_t count;
    uint32_t own;
};
void rp_build_reduce(struct rp_list_builder *builder, struct rp_ht_addr dst, struct rp_ht_addr src,
        uint64_t bytes, const struct rp_fold *fold);

/** rp_expand_element_bytes: of the request's type. */
uint64_t rp_expand_element_bytes(const struct rp_expand_request *request);

/** rp_expand_slot: bytes of each sender's part of a window, a multiple of RP_CACHELINE. */
uint64_t rp_expand_slot(const struct rp_expand_request *request);

/**
 * rp_expand_one: the block to name in the buffer that has one block alone: 0; by a table the
 * executor must know which it is, `rank`'s.
 */
static inline uint32_t rp_expand_one(const struct rp_expand_request *request, uint32_t rank)
{
    return rp_op_has_table(request->op) ? rank : 0;
}

struct rp_part {
    uint64_t off; /* bytes */
    uint64_t bytes;
};

/**
 * rp_expand_part: part `index` of `parts` of the request's block, cut between
 * elements, in large blocks also between cache lines. Parts differ by at most
 * one element or line.
 */
struct rp_part rp_expand_part(
        const struct rp_expand_request *request, uint32_t index, uint32_t parts);

/** rp_expand_limit: the largest multiple of an element, in large slots also of a cache line, up to
 *  `bytes`: parts of `n * limit` bytes in `n` then never exceed `limit`. */
uint64_t rp_expand_limit(const struct rp_expand_request *request, uint64_t bytes);

/* Most elements of each block in one round, per algorithm; 0: not even one fits. */
uint64_t rp_expand_mesh_count(const struct rp_expand_request *request);
uint64_t rp_expand_ring_count(const struct rp_expand_request *request);

#endif
