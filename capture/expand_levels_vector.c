// Two levels, operators of one vector, which is cut in a slice for each plane.
//
//   all-reduce  reduce-scatter within each node, all-reduce between, all-gather within
//   reduce      reduce-scatter within each node, reduce between, gather to the root within its node
//   broadcast   scatter within the root's node, broadcast between, all-gather within each
//   barrier     to card 0 within each node, between, and back
//
// Cost for k planes and n bytes: n / k bytes pass between the nodes on each plane, as often as the
// algorithm between says; within the nodes two steps.

#include "capture/expand_levels.h"

static struct rp_part slice(const struct rp_levels *l, uint32_t plane)
{
    return rp_expand_part(l->request, plane, l->planes);
}

static struct rp_ht_addr slice_at(const struct rp_levels *l, enum rp_ht_base base, uint32_t plane)
{
    return rp_ht_at(base, 0, slice(l, plane).off);
}

// Every card's slice d is on card d, which folds them to `result`.
static void fold_slices(struct rp_levels *l, struct rp_ht_addr result)
{
    for (uint32_t step = 1; step < l->cards; step++) {
        const uint32_t plane = rp_level_other(l, step);
        if (plane < l->planes) {
            rp_level_put(l, plane, rp_level_slot(l, RP_HT_WIN_IN, l->card, 0),
                    slice_at(l, RP_HT_SEND, plane), slice(l, plane).bytes);
            rp_build_signal(l->builder, rp_level_near(l, plane));
        }
    }
    if (l->acts) {
        rp_level_wait(l, l->cards);
        rp_level_fold(l, result, slice_at(l, RP_HT_SEND, l->card), 0, slice(l, l->card).bytes);
    }
}

// Every other plane's slice of the result, as its card puts it into window-out, to the output.
static void take_slices(struct rp_levels *l)
{
    for (uint32_t step = 1; step < l->cards; step++) {
        const uint32_t plane = rp_level_other(l, step);
        if (plane < l->planes) {
            rp_build_wait(l->builder, rp_level_near(l, plane));
            rp_build_copy(l->builder, slice_at(l, RP_HT_RECV, plane),
                    rp_level_slot(l, RP_HT_WIN_OUT, plane, 0), slice(l, plane).bytes);
            rp_build_signal(l->builder, rp_level_near(l, plane));
        }
    }
}

// Slice d of the output of card d to all cards but `except`, which has everything already.
static void share_slices(struct rp_levels *l, uint32_t except)
{
    for (uint32_t step = 1; l->acts && step < l->cards; step++) {
        const uint32_t card = rp_level_other(l, step);
        if (card != except) {
            rp_level_put(l, card, rp_level_slot(l, RP_HT_WIN_OUT, l->card, 0),
                    slice_at(l, RP_HT_RECV, l->card), slice(l, l->card).bytes);
            rp_build_signal(l->builder, rp_level_near(l, card));
        }
    }
    if (l->card != except) {
        take_slices(l);
    }
    for (uint32_t step = 1; l->acts && step < l->cards; step++) {
        const uint32_t card = rp_level_other(l, step);
        if (card != except) {
            rp_build_wait(l->builder, rp_level_near(l, card));
        }
    }
}

// The plane's operator over this card's slice.
static bool between(struct rp_levels *l, uint16_t op, uint32_t root_node, struct rp_ht_addr send,
        struct rp_ht_addr recv)
{
    const uint64_t bytes = l->acts ? slice(l, l->card).bytes : 0;
    const struct rp_level_map map = {
        .send = &send,
        .recv = &recv,
        .pieces = 1,
        .piece_bytes = bytes,
    };
    const uint64_t count = bytes / rp_expand_element_bytes(l->request);
    return rp_level_between(l, op, root_node, count, &map);
}

#define NOBODY UINT32_MAX

// What comes back from a plane says that it has used the input.
bool rp_levels_all_reduce(struct rp_levels *l)
{
    const struct rp_ht_addr own = slice_at(l, RP_HT_RECV, l->acts ? l->card : 0);
    fold_slices(l, own);
    if (!between(l, RP_OP_ALL_REDUCE, 0, own, own)) {
        return false;
    }
    share_slices(l, NOBODY);
    return true;
}

// The result's slices go to the root from the cards of its node.
static void gather_slices(struct rp_levels *l, uint32_t root_card)
{
    const uint32_t root = rp_level_near(l, root_card);
    if (l->card == root_card) {
        take_slices(l);
    } else if (l->acts) {
        const struct rp_ht_addr own = rp_level_slot(l, RP_HT_WIN_OUT, l->card, 0);
        rp_level_put(l, root_card, own, own, slice(l, l->card).bytes);
        rp_build_signal(l->builder, root);
        rp_build_wait(l->builder, root);
    }
}

// Only the root has an output; partial results of the others wait in their own slots.
bool rp_levels_reduce(struct rp_levels *l)
{
    uint32_t root_node = 0;
    uint32_t root_card = 0;
    rp_level_find(l, l->request->root, &root_node, &root_card);
    const bool is_root = l->request->rank == l->request->root;
    const uint32_t own = l->acts ? l->card : 0;
    struct rp_ht_addr partial = rp_level_slot(l, RP_HT_WIN_IN, l->card, 0);
    struct rp_ht_addr result = rp_level_slot(l, RP_HT_WIN_OUT, l->card, 0);
    if (is_root) {
        partial = slice_at(l, RP_HT_RECV, own);
        result = partial;
    }
    fold_slices(l, partial);
    if (l->acts) {
        rp_level_signal(l, l->cards); // their inputs have been used
    }
    if (!between(l, RP_OP_REDUCE, root_node, partial, result)) {
        return false;
    }
    rp_level_wait(l, l->planes);
    if (l->node == root_node) {
        gather_slices(l, root_card);
    }
    return true;
}

// Slice d of the root's vector goes to card d of its node.
static void scatter_slices(struct rp_levels *l, uint32_t root_card)
{
    const struct rp_ht_addr slot = rp_level_slot(l, RP_HT_WIN_IN, root_card, 0);
    if (l->card != root_card) {
        if (l->acts) {
            rp_build_wait(l->builder, rp_level_near(l, root_card));
            rp_build_copy(
                    l->builder, slice_at(l, RP_HT_RECV, l->card), slot, slice(l, l->card).bytes);
            rp_build_signal(l->builder, rp_level_near(l, root_card));
        }
        return;
    }
    for (uint32_t step = 1; step < l->cards; step++) {
        const uint32_t plane = rp_level_other(l, step);
        if (plane < l->planes) {
            rp_level_put(l, plane, slot, slice_at(l, RP_HT_SEND, plane), slice(l, plane).bytes);
            rp_build_signal(l->builder, rp_level_near(l, plane));
        }
    }
}

// A broadcast has one buffer: what the root sends stands in its output.
bool rp_levels_broadcast(struct rp_levels *l)
{
    uint32_t root_node = 0;
    uint32_t root_card = 0;
    rp_level_find(l, l->request->root, &root_node, &root_card);
    const bool at_root = l->node == root_node;
    const struct rp_ht_addr own = slice_at(l, RP_HT_RECV, l->acts ? l->card : 0);
    if (at_root) {
        scatter_slices(l, root_card);
    }
    if (!between(l, RP_OP_BROADCAST, root_node, own, own)) {
        return false;
    }
    share_slices(l, at_root ? root_card : NOBODY);
    if (at_root && l->card == root_card) {
        rp_level_wait(l, l->planes);
    }
    return true;
}

bool rp_levels_barrier(struct rp_levels *l)
{
    const struct rp_level_map none = { .pieces = 1, .piece_bytes = 1 };
    if (l->card != 0) {
        rp_build_signal(l->builder, rp_level_near(l, 0));
        rp_build_wait(l->builder, rp_level_near(l, 0));
        return true;
    }
    rp_level_wait(l, l->cards);
    if (!rp_level_between(l, RP_OP_BARRIER, 0, 1, &none)) {
        return false;
    }
    rp_level_signal(l, l->cards);
    return true;
}
