#ifndef REPRISE_CAPTURE_EXPAND_LIST_H
#define REPRISE_CAPTURE_EXPAND_LIST_H

/*
 * What the algorithms share: a list that grows, the layout of windows, and the
 * division of a round into slices.
 *
 * Windows. Every byte of a window has one writer besides its owner, whatever
 * the operator, the count, the root and the round. So when a rank has its
 * credit for what it wrote last, nothing that it writes next can meet another
 * rank's unread data, however far apart the two are: that is what makes rounds
 * and operators independent of each other without a barrier.
 *
 *     | kernels | ring | NHR | NB | H-D_R | pairs | slot 0 | slot 1 | ... | pipeline | levels |
 *
 * The AIV kernels' staged form has the head for itself: a rank that is through
 * with such an operator may begin on a list while others still read there.
 *
 * An algorithm in which every rank may put to every other has a slot for each
 * sender. In the others a rank hears of few peers, the same ones every time;
 * they have a region of their own, cut into a lane for each of those peers, so
 * that the room does not shrink with the number of ranks. The pipeline's, for
 * which links are far and bandwidth is wanted, is larger. The two levels' comes
 * last, since a communicator on one node has no use for it; the part of it that
 * belongs to the level between the nodes is cut like a window of its own.
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
void rp_build_check(struct rp_list_builder *builder, uint32_t peer, struct rp_ht_addr src);

/** rp_build_when: the tasks from number `first` on are for the pair with `peer`, and are such when
 * `when` says. */
void rp_build_when(
        struct rp_list_builder *builder, uint32_t first, uint32_t peer, enum rp_ht_when when);
static inline uint32_t rp_build_next(const struct rp_list_builder *builder)
{
    return builder->list == NULL ? 0 : builder->list->task_count;
}

/*
 * What an all-to-all does for one pair, the same in every algorithm. By a row,
 * the sender's count goes in front of the data, in a cache line of its own.
 */
void rp_build_block_out(
        struct rp_list_builder *builder, const struct rp_expand_request *request, uint32_t peer);
void rp_build_block_in(
        struct rp_list_builder *builder, const struct rp_expand_request *request, uint32_t peer);
void rp_build_credit_out(
        struct rp_list_builder *builder, const struct rp_expand_request *request, uint32_t peer);
void rp_build_credit_in(
        struct rp_list_builder *builder, const struct rp_expand_request *request, uint32_t peer);

/** rp_expand_block_limit: bytes of each block that such a pair's slot has room for. */
uint64_t rp_expand_block_limit(const struct rp_expand_request *request);

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

enum rp_region {
    RP_REGION_RING,
    RP_REGION_NHR,
    RP_REGION_NB,
    RP_REGION_HD,
    RP_REGION_PAIRS, /* point to point: a lane a sender, each of two halves */
    RP_REGION_PIPELINE,
    RP_REGION_LEVELS,
};

/** rp_expand_region: a region of a window, in whole cache lines. */
struct rp_part rp_expand_region(const struct rp_expand_request *request, enum rp_region region);

/** rp_expand_slot: bytes of each sender's slot, a multiple of RP_CACHELINE. */
uint64_t rp_expand_slot(const struct rp_expand_request *request);

/** rp_expand_slot_off: where the slot of `sender` begins in a window. */
uint64_t rp_expand_slot_off(const struct rp_expand_request *request, uint32_t sender);

/**
 * rp_expand_part: part `index` of `parts` of the request's block, cut between
 * elements, in large blocks also between cache lines. Parts differ by at most
 * one element or line.
 */
struct rp_part rp_expand_part(
        const struct rp_expand_request *request, uint32_t index, uint32_t parts);

/** rp_expand_limit: the largest multiple of every element, in large slots also of a cache line, up
 * to `bytes`: parts of `n * limit` bytes in `n` then never exceed `limit`. */
uint64_t rp_expand_limit(uint64_t bytes);

/** rp_expand_log2: least l with 2^l >= ranks. */
uint32_t rp_expand_log2(uint32_t ranks);

/*
 * An algorithm: the most elements of each block in one round, 0 when not even
 * one fits; and the tasks of one rank, after which `false` says that it does not
 * know the operator. Both are called for two ranks or more.
 */
struct rp_algorithm_form {
    uint64_t (*round_count)(const struct rp_expand_request *request);
    bool (*build)(struct rp_list_builder *builder, const struct rp_expand_request *request);
};

extern const struct rp_algorithm_form rp_algorithm_mesh;
extern const struct rp_algorithm_form rp_algorithm_ring;
extern const struct rp_algorithm_form rp_algorithm_hd;
extern const struct rp_algorithm_form rp_algorithm_nhr;
extern const struct rp_algorithm_form rp_algorithm_nb;
extern const struct rp_algorithm_form rp_algorithm_pairwise;
extern const struct rp_algorithm_form rp_algorithm_star;
extern const struct rp_algorithm_form rp_algorithm_pipeline;
extern const struct rp_algorithm_form rp_algorithm_levels; /* any of them between nodes */

#endif
