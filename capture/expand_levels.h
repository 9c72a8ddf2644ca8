#ifndef REPRISE_CAPTURE_EXPAND_LEVELS_H
#define REPRISE_CAPTURE_EXPAND_LEVELS_H

/*
 * Two levels: a mesh within each node, and any algorithm between the nodes.
 *
 * The cards 0 .. k - 1 of every node, k being what the smallest node has, act
 * between the nodes: card d of all nodes are plane d, a group of one rank a node,
 * and the planes work side by side. Vectors are cut in k slices, one for each
 * plane; the block of card j goes through plane j mod k. Where all nodes have k
 * cards, every card acts, and only its own part passes through it.
 *
 * The algorithm between is one of expand_list.h as it is, for as many ranks as
 * there are nodes, in a window that is a part of ours; its tasks are translated:
 * rank s is card d of node s, and an address in its buffers is where we have that
 * byte. What it calls a block may be several of the op's, in pieces.
 *
 * Within a node, each card has a slot in the windows of the others. The slot that
 * a card has in its own windows nobody else writes: it holds what is on its way.
 */

#include <stdbool.h>
#include <stdint.h>

#include "capture/expand_list.h"

struct rp_levels {
    const struct rp_expand_request *request;
    struct rp_list_builder *builder;
    uint32_t nodes;
    uint32_t planes;   /* k */
    uint32_t most;     /* cards of the largest node */
    uint32_t wide;     /* most cards of a node whose blocks one plane has */
    uint32_t node;     /* of this rank */
    uint32_t card;     /* of this rank within its node */
    uint32_t cards;    /* of its node */
    bool acts;         /* it is in a plane, number `card` */
    uint64_t bytes;    /* of a block */
    uint64_t slot_off; /* of slots within the node, in both windows */
    uint64_t slot_bytes;
    struct rp_part between; /* the part of both windows that the planes have */
};

/* What stands for the buffers of an algorithm between the nodes. */
struct rp_level_map {
    struct rp_ht_addr *send; /* by block, `pieces` each */
    struct rp_ht_addr *recv;
    uint32_t pieces; /* of a block */
    uint64_t piece_bytes;
};

/* An address of nothing: pieces that a smaller node does not have. */
#define RP_HT_NOWHERE 255u

static inline struct rp_ht_addr rp_level_nowhere(void)
{
    return (struct rp_ht_addr){ .base = RP_HT_NOWHERE };
}

/** rp_level_rank: a card of a node. */
static inline uint32_t rp_level_rank(const struct rp_levels *l, uint32_t node, uint32_t card)
{
    return rp_layout_rank(l->request->layout, node, card);
}

static inline uint32_t rp_level_cards(const struct rp_levels *l, uint32_t node)
{
    return rp_layout_cards(l->request->layout, node);
}

/** rp_level_near: a card of this rank's node. */
static inline uint32_t rp_level_near(const struct rp_levels *l, uint32_t card)
{
    return rp_level_rank(l, l->node, card);
}

/** rp_level_other: the other cards of the node, 1 <= step < cards, the next one first. */
static inline uint32_t rp_level_other(const struct rp_levels *l, uint32_t step)
{
    return (l->card + step) % l->cards;
}

/** rp_level_slot: where `card` puts in the windows of its node. */
static inline struct rp_ht_addr rp_level_slot(
        const struct rp_levels *l, enum rp_ht_base window, uint32_t card, uint64_t off)
{
    return rp_ht_at(window, 0, l->slot_off + card * l->slot_bytes + off);
}

/* Moves within the node: a put to a card, and a fold of all cards' bytes at `off` of their slots,
 * the own ones at `own`. */
void rp_level_put(struct rp_levels *l, uint32_t card, struct rp_ht_addr dst, struct rp_ht_addr src,
        uint64_t bytes);
void rp_level_fold(struct rp_levels *l, struct rp_ht_addr dst, struct rp_ht_addr own, uint64_t off,
        uint64_t bytes);

/* Signals to and from the other cards of the node below `end`. */
void rp_level_signal(struct rp_levels *l, uint32_t end);
void rp_level_wait(struct rp_levels *l, uint32_t end);

/** rp_level_between: the tasks of this rank's plane for operator `op`; rooted: at a node. False:
 * the algorithm does not know it. */
bool rp_level_between(struct rp_levels *l, uint16_t op, uint32_t root_node, uint64_t count,
        const struct rp_level_map *map);

/** rp_level_blocks: the same for the blocks of `map`, which it frees; `root_node`: of a scatter. */
bool rp_level_blocks(
        struct rp_levels *l, uint16_t op, uint32_t root_node, struct rp_level_map *map);

/** rp_level_map_create: `pieces` a block, all of them nowhere. False: no memory, the builder knows.
 */
bool rp_level_map_create(struct rp_levels *l, struct rp_level_map *map, uint32_t pieces);

/** rp_level_can: whether the algorithm between may be used for blocks. */
bool rp_level_can(const struct rp_levels *l);

#define RP_LEVEL_NONE UINT32_MAX

/** rp_level_card: the card of `node` whose block is number `i` of `plane`; NONE: there is none. */
static inline uint32_t rp_level_card(
        const struct rp_levels *l, uint32_t plane, uint32_t node, uint32_t i)
{
    const uint32_t card = i * l->planes + plane;
    return card < rp_level_cards(l, node) ? card : RP_LEVEL_NONE;
}

/** rp_level_place: where block number `i` for `node` lies in a slot, or from there. */
static inline uint64_t rp_level_place(const struct rp_levels *l, uint32_t node, uint32_t i)
{
    return ((uint64_t)node * l->wide + i) * l->bytes;
}

/** rp_level_find: node and card of a rank. */
void rp_level_find(const struct rp_levels *l, uint32_t rank, uint32_t *node, uint32_t *card);

/* The operators of vectors, and of blocks (false: the algorithm between does not know them). */
bool rp_levels_all_reduce(struct rp_levels *l);
bool rp_levels_reduce(struct rp_levels *l);
bool rp_levels_broadcast(struct rp_levels *l);
bool rp_levels_barrier(struct rp_levels *l);
bool rp_levels_reduce_scatter(struct rp_levels *l);
bool rp_levels_all_gather(struct rp_levels *l);
bool rp_levels_scatter(struct rp_levels *l);
bool rp_levels_alltoall(struct rp_levels *l);

#endif
