// Two levels, operators of a block for each rank. The block of card j goes through plane j mod k.
//
//   reduce-scatter  within each node the inputs are folded, a plane's blocks on its card; then
//                   reduce-scatter between
//   all-gather      all-gather between; then every card hands its plane's blocks out
//   scatter         the root's plane takes the other nodes' blocks there, its cards hand them out
//   all-to-all      within each node blocks go to the card of their plane; then all-to-all between
//
// Cost for k planes, p ranks, n bytes a block: every block passes between two nodes once, so about
// n p / k bytes each plane and node. Within a node every block is copied once or twice.
//
// The reference has reduce-scatter and all-gather the other way round, so that what it sends
// between nodes lies side by side; then each card sends what all cards of its node have. A list has
// no need of the former, and the latter makes the wires carry everything as often as there are
// cards.
//
// A node that has more cards than planes: card j >= k deals with card j mod k, which acts for it.
// Nodes have different numbers of such blocks then, so the algorithm between must be one that moves
// every block in one step from and to the buffers: mesh or pairwise, star for a scatter.

#include "capture/expand_levels.h"

// ---- reduce-scatter ----

// All blocks of plane `plane` to its card, or to be folded on it.
static void send_plane(struct rp_levels *l, uint32_t plane)
{
    for (uint32_t node = 0; node < l->nodes; node++) {
        for (uint32_t i = 0; i < l->wide; i++) {
            const uint32_t card = rp_level_card(l, plane, node, i);
            if (card != RP_LEVEL_NONE) {
                rp_level_put(l, plane,
                        rp_level_slot(l, RP_HT_WIN_IN, l->card, rp_level_place(l, node, i)),
                        rp_ht_at(RP_HT_SEND, rp_level_rank(l, node, card), 0), l->bytes);
            }
        }
    }
    rp_build_signal(l->builder, rp_level_near(l, plane));
}

// The node's sums for the blocks of this card's plane, in its own slot.
static void fold_plane(struct rp_levels *l, struct rp_level_map *map)
{
    for (uint32_t node = 0; node < l->nodes; node++) {
        for (uint32_t i = 0; i < l->wide; i++) {
            const uint32_t card = rp_level_card(l, l->card, node, i);
            if (card != RP_LEVEL_NONE) {
                const struct rp_ht_addr own = rp_ht_at(RP_HT_SEND, rp_level_rank(l, node, card), 0);
                const struct rp_ht_addr sum =
                        rp_level_slot(l, RP_HT_WIN_IN, l->card, rp_level_place(l, node, i));
                rp_level_fold(l, sum, own, rp_level_place(l, node, i), l->bytes);
                map->send[node * l->wide + i] = sum;
            }
        }
    }
}

// Card j >= k gets its result of card j mod k.
static void hand_results(struct rp_levels *l)
{
    const struct rp_ht_addr output =
            rp_ht_at(RP_HT_RECV, rp_expand_one(l->request, l->request->rank), 0);
    const uint32_t plane = l->card % l->planes;
    if (!l->acts) {
        rp_build_wait(l->builder, rp_level_near(l, plane));
        rp_build_copy(l->builder, output,
                rp_level_slot(l, RP_HT_WIN_OUT, plane, rp_level_place(l, 0, l->card / l->planes)),
                l->bytes);
        rp_build_signal(l->builder, rp_level_near(l, plane));
        return;
    }
    for (uint32_t card = l->card + l->planes; card < l->cards; card += l->planes) {
        const struct rp_ht_addr own =
                rp_level_slot(l, RP_HT_WIN_OUT, l->card, rp_level_place(l, 0, card / l->planes));
        rp_level_put(l, card, own, own, l->bytes);
        rp_build_signal(l->builder, rp_level_near(l, card));
    }
    for (uint32_t card = l->card + l->planes; card < l->cards; card += l->planes) {
        rp_build_wait(l->builder, rp_level_near(l, card));
    }
}

static bool reduce_plane(struct rp_levels *l)
{
    struct rp_level_map map;
    if (!rp_level_map_create(l, &map, l->wide)) {
        return true;
    }
    rp_level_wait(l, l->cards);
    fold_plane(l, &map);
    rp_level_signal(l, l->cards);
    map.recv[0] = rp_ht_at(RP_HT_RECV, rp_expand_one(l->request, l->request->rank), 0);
    for (uint32_t i = 1; i < l->wide; i++) {
        if (rp_level_card(l, l->card, l->node, i) != RP_LEVEL_NONE) {
            map.recv[i] = rp_level_slot(l, RP_HT_WIN_OUT, l->card, rp_level_place(l, 0, i));
        }
    }
    return rp_level_blocks(l, RP_OP_REDUCE_SCATTER, 0, &map);
}

bool rp_levels_reduce_scatter(struct rp_levels *l)
{
    if (!rp_level_can(l)) {
        return false;
    }
    for (uint32_t step = 1; step < l->cards; step++) {
        if (rp_level_other(l, step) < l->planes) {
            send_plane(l, rp_level_other(l, step));
        }
    }
    if (l->acts && !reduce_plane(l)) {
        return false;
    }
    rp_level_wait(l, l->planes);
    hand_results(l);
    return true;
}

// ---- all-gather ----

// Card j >= k hands its block to card j mod k; what that sends later says that it was used.
static void collect_blocks(struct rp_levels *l)
{
    const uint32_t plane = l->card % l->planes;
    const uint32_t one = rp_expand_one(l->request, l->request->rank);
    rp_build_copy(l->builder, rp_ht_at(RP_HT_RECV, l->request->rank, 0),
            rp_ht_at(RP_HT_SEND, one, 0), l->bytes);
    if (!l->acts) {
        rp_level_put(l, plane, rp_level_slot(l, RP_HT_WIN_IN, l->card, 0),
                rp_ht_at(RP_HT_SEND, one, 0), l->bytes);
        rp_build_signal(l->builder, rp_level_near(l, plane));
        return;
    }
    for (uint32_t card = l->card + l->planes; card < l->cards; card += l->planes) {
        rp_build_wait(l->builder, rp_level_near(l, card));
        rp_build_copy(l->builder, rp_ht_at(RP_HT_RECV, rp_level_near(l, card), 0),
                rp_level_slot(l, RP_HT_WIN_IN, card, 0), l->bytes);
    }
}

static bool gather_plane(struct rp_levels *l)
{
    struct rp_level_map map;
    if (!rp_level_map_create(l, &map, l->wide)) {
        return true;
    }
    for (uint32_t node = 0; node < l->nodes; node++) {
        for (uint32_t i = 0; i < l->wide; i++) {
            const uint32_t card = rp_level_card(l, l->card, node, i);
            if (card != RP_LEVEL_NONE) {
                map.recv[node * l->wide + i] =
                        rp_ht_at(RP_HT_RECV, rp_level_rank(l, node, card), 0);
            }
        }
    }
    for (uint32_t i = 0; i < l->wide; i++) {
        map.send[i] = map.recv[l->node * l->wide + i];
    }
    return rp_level_blocks(l, RP_OP_ALL_GATHER, 0, &map);
}

// The blocks of `plane` to `card`, or on it from there; its own it has.
static void hand_plane(struct rp_levels *l, uint32_t plane, uint32_t card)
{
    for (uint32_t node = 0; node < l->nodes; node++) {
        for (uint32_t i = 0; i < l->wide; i++) {
            const uint32_t owner = rp_level_card(l, plane, node, i);
            if (owner == RP_LEVEL_NONE || (node == l->node && owner == card)) {
                continue;
            }
            const struct rp_ht_addr slot =
                    rp_level_slot(l, RP_HT_WIN_OUT, plane, rp_level_place(l, node, i));
            const struct rp_ht_addr block = rp_ht_at(RP_HT_RECV, rp_level_rank(l, node, owner), 0);
            if (card == l->card) {
                rp_build_copy(l->builder, block, slot, l->bytes);
            } else {
                rp_level_put(l, card, slot, block, l->bytes);
            }
        }
    }
}

bool rp_levels_all_gather(struct rp_levels *l)
{
    if (!rp_level_can(l)) {
        return false;
    }
    collect_blocks(l);
    if (l->acts && !gather_plane(l)) {
        return false;
    }
    for (uint32_t step = 1; l->acts && step < l->cards; step++) {
        hand_plane(l, l->card, rp_level_other(l, step));
        rp_build_signal(l->builder, rp_level_near(l, rp_level_other(l, step)));
    }
    for (uint32_t step = 1; step < l->cards; step++) {
        const uint32_t plane = rp_level_other(l, step);
        if (plane < l->planes) {
            rp_build_wait(l->builder, rp_level_near(l, plane));
            hand_plane(l, plane, l->card);
            rp_build_signal(l->builder, rp_level_near(l, plane));
        }
    }
    if (l->acts) {
        rp_level_wait(l, l->cards);
    }
    return true;
}
