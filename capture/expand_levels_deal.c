// Two levels, operators that deal blocks out: scatter and all-to-all. expand_levels_block.c tells
// what they do.

#include "capture/expand_levels.h"

// ---- scatter ----

// Of the root's blocks in the slot of a card that cannot act, where the one for a card is.
static uint64_t deal_place(const struct rp_levels *l, uint32_t node, uint32_t card)
{
    return ((uint64_t)node * l->most + card) * l->bytes;
}

static struct rp_ht_addr slot_of(const struct rp_levels *l, uint32_t card, uint64_t off)
{
    return rp_level_slot(l, RP_HT_WIN_IN, card, off);
}

// The root gives the cards of its node their blocks, and one that cannot act all the other nodes'
// to the card that does.
static void deal_at_root(struct rp_levels *l, uint32_t plane)
{
    for (uint32_t step = 1; step < l->cards; step++) {
        const uint32_t card = rp_level_other(l, step);
        for (uint32_t node = 0; node < l->nodes && card == plane; node++) {
            for (uint32_t c = 0; node != l->node && c < rp_level_cards(l, node); c++) {
                rp_level_put(l, plane, slot_of(l, l->card, deal_place(l, node, c)),
                        rp_ht_at(RP_HT_SEND, rp_level_rank(l, node, c), 0), l->bytes);
            }
        }
        rp_level_put(l, card, rp_level_slot(l, RP_HT_WIN_OUT, l->card, 0),
                rp_ht_at(RP_HT_SEND, rp_level_near(l, card), 0), l->bytes);
        rp_build_signal(l->builder, rp_level_near(l, card));
    }
    rp_build_copy(l->builder, rp_ht_at(RP_HT_RECV, 0, 0), rp_ht_at(RP_HT_SEND, l->request->rank, 0),
            l->bytes);
}

// The plane's part: from the root, or the slot that it filled, to the same card of every node.
static bool scatter_plane(struct rp_levels *l, uint32_t root_node, uint32_t root_card)
{
    struct rp_level_map map;
    if (!rp_level_map_create(l, &map, l->most)) {
        return true;
    }
    const bool source = l->node == root_node;
    for (uint32_t node = 0; source && node < l->nodes; node++) {
        for (uint32_t card = 0; node != root_node && card < rp_level_cards(l, node); card++) {
            map.send[(size_t)node * l->most + card] =
                    l->card == root_card ? rp_ht_at(RP_HT_SEND, rp_level_rank(l, node, card), 0)
                                         : slot_of(l, root_card, deal_place(l, node, card));
        }
    }
    for (uint32_t card = 0; !source && card < l->cards; card++) {
        map.recv[card] = card == l->card ? rp_ht_at(RP_HT_RECV, 0, 0)
                                         : slot_of(l, l->card, deal_place(l, 0, card));
    }
    return rp_level_blocks(l, RP_OP_SCATTER, root_node, &map);
}

// What a node's card of the plane has for the others.
static void deal_at_plane(struct rp_levels *l)
{
    for (uint32_t step = 1; step < l->cards; step++) {
        const uint32_t card = rp_level_other(l, step);
        rp_level_put(l, card, rp_level_slot(l, RP_HT_WIN_OUT, l->card, 0),
                slot_of(l, l->card, deal_place(l, 0, card)), l->bytes);
        rp_build_signal(l->builder, rp_level_near(l, card));
    }
}

static void take_block(struct rp_levels *l, uint32_t dealer)
{
    rp_build_copy(l->builder, rp_ht_at(RP_HT_RECV, 0, 0),
            rp_level_slot(l, RP_HT_WIN_OUT, dealer, 0), l->bytes);
    rp_build_signal(l->builder, rp_level_near(l, dealer));
}

bool rp_levels_scatter(struct rp_levels *l)
{
    uint32_t root_node = 0;
    uint32_t root_card = 0;
    rp_level_find(l, l->request->root, &root_node, &root_card);
    const uint32_t plane = root_card % l->planes;
    const uint32_t dealer = l->node == root_node ? root_card : plane;
    if (!rp_level_can(l)) {
        return false;
    }
    if (l->request->rank == l->request->root) {
        deal_at_root(l, plane);
    } else if (l->node == root_node) {
        rp_build_wait(l->builder, rp_level_near(l, root_card));
    }
    if (l->card == plane && !scatter_plane(l, root_node, root_card)) {
        return false;
    }
    if (l->node != root_node && l->card == plane) {
        deal_at_plane(l);
    }
    if (l->card == dealer) {
        rp_level_wait(l, l->cards);
        return true;
    }
    if (l->node != root_node) {
        rp_build_wait(l->builder, rp_level_near(l, dealer));
    }
    take_block(l, dealer);
    return true;
}

// ---- all-to-all ----

// Number of the block from `card` of a node to number `i` of a plane, in what that plane sends or
// receives for the node.
static uint32_t piece(const struct rp_levels *l, uint32_t card, uint32_t i)
{
    return card * l->wide + i;
}

// Where a card's block for another card of its node lies in its slot there: with those that the
// other sends on, if it does.
static uint64_t near_place(const struct rp_levels *l, uint32_t card)
{
    return card < l->planes ? rp_level_place(l, l->node, 0) : 0;
}

// To `card`: its own block, and those that it sends on for its plane.
static void send_blocks(struct rp_levels *l, uint32_t card)
{
    for (uint32_t node = 0; card < l->planes && node < l->nodes; node++) {
        for (uint32_t i = 0; node != l->node && i < l->wide; i++) {
            const uint32_t to = rp_level_card(l, card, node, i);
            if (to != RP_LEVEL_NONE) {
                rp_level_put(l, card, slot_of(l, l->card, rp_level_place(l, node, i)),
                        rp_ht_at(RP_HT_SEND, rp_level_rank(l, node, to), 0), l->bytes);
            }
        }
    }
    rp_level_put(l, card, slot_of(l, l->card, near_place(l, card)),
            rp_ht_at(RP_HT_SEND, rp_level_near(l, card), 0), l->bytes);
    rp_build_signal(l->builder, rp_level_near(l, card));
}

// Blocks for card `i` of the plane that came from `card` of `node`, in this card's slot.
static uint64_t far_place(const struct rp_levels *l, uint32_t node, uint32_t card, uint32_t i)
{
    return (((uint64_t)i * l->nodes + node) * l->most + card) * l->bytes;
}

static void map_sends(struct rp_levels *l, struct rp_level_map *map, uint32_t node)
{
    for (uint32_t i = 0; i < l->wide; i++) {
        const uint32_t to = rp_level_card(l, l->card, node, i);
        for (uint32_t card = 0; to != RP_LEVEL_NONE && card < l->cards; card++) {
            map->send[(size_t)node * map->pieces + piece(l, card, i)] =
                    card == l->card ? rp_ht_at(RP_HT_SEND, rp_level_rank(l, node, to), 0)
                                    : slot_of(l, card, rp_level_place(l, node, i));
        }
    }
}

static void map_receives(struct rp_levels *l, struct rp_level_map *map, uint32_t node)
{
    for (uint32_t i = 0; i < l->wide; i++) {
        const bool some = rp_level_card(l, l->card, l->node, i) != RP_LEVEL_NONE;
        for (uint32_t card = 0; some && card < rp_level_cards(l, node); card++) {
            map->recv[(size_t)node * map->pieces + piece(l, card, i)] =
                    i == 0 ? rp_ht_at(RP_HT_RECV, rp_level_rank(l, node, card), 0)
                           : rp_level_slot(l, RP_HT_WIN_OUT, l->card, far_place(l, node, card, i));
        }
    }
}

static bool exchange_plane(struct rp_levels *l)
{
    struct rp_level_map map;
    if (!rp_level_map_create(l, &map, l->most * l->wide)) {
        return true;
    }
    for (uint32_t node = 0; node < l->nodes; node++) {
        if (node != l->node) {
            map_sends(l, &map, node);
            map_receives(l, &map, node);
        }
    }
    return rp_level_blocks(l, RP_OP_ALLTOALL, 0, &map);
}

// The other nodes' blocks for card j >= k, which card j mod k received: `card` is either.
static void hand_blocks(struct rp_levels *l, uint32_t card)
{
    for (uint32_t node = 0; node < l->nodes; node++) {
        for (uint32_t c = 0; node != l->node && c < rp_level_cards(l, node); c++) {
            const uint64_t off = far_place(l, node, c, card / l->planes);
            const struct rp_ht_addr slot = rp_level_slot(l, RP_HT_WIN_OUT, card % l->planes, off);
            if (card == l->card) {
                rp_build_copy(l->builder, rp_ht_at(RP_HT_RECV, rp_level_rank(l, node, c), 0), slot,
                        l->bytes);
            } else {
                rp_level_put(l, card, slot, slot, l->bytes);
            }
        }
    }
}

// The last step of card j >= k and of the card that acts for it.
static void end_far(struct rp_levels *l)
{
    const uint32_t plane = rp_level_near(l, l->card % l->planes);
    if (!l->acts) {
        rp_build_wait(l->builder, plane);
        hand_blocks(l, l->card);
        rp_build_signal(l->builder, plane);
        return;
    }
    for (uint32_t card = l->card + l->planes; card < l->cards; card += l->planes) {
        hand_blocks(l, card);
        rp_build_signal(l->builder, rp_level_near(l, card));
    }
    for (uint32_t card = l->card + l->planes; card < l->cards; card += l->planes) {
        rp_build_wait(l->builder, rp_level_near(l, card));
    }
}

bool rp_levels_alltoall(struct rp_levels *l)
{
    if (!rp_level_can(l)) {
        return false;
    }
    for (uint32_t step = 1; step < l->cards; step++) {
        send_blocks(l, rp_level_other(l, step));
    }
    rp_build_copy(l->builder, rp_ht_at(RP_HT_RECV, l->request->rank, 0),
            rp_ht_at(RP_HT_SEND, l->request->rank, 0), l->bytes);
    for (uint32_t step = l->cards; step-- > 1;) {
        const uint32_t card = rp_level_other(l, step);
        rp_build_wait(l->builder, rp_level_near(l, card));
        rp_build_copy(l->builder, rp_ht_at(RP_HT_RECV, rp_level_near(l, card), 0),
                slot_of(l, card, near_place(l, l->card)), l->bytes);
    }
    if (l->acts && !exchange_plane(l)) {
        return false;
    }
    rp_level_signal(l, l->cards);
    rp_level_wait(l, l->cards);
    end_far(l);
    return true;
}
