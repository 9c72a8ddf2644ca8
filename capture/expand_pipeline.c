// Pipeline: a ring between the nodes, at the same time as a mesh within each. Node s of P has m
// cards; card l talks to the cards of its node, and to card l of the nodes before and after.
//
//   all-gather      step t = 0 .. P-1: the block of node s - t, own or received, goes to the next
//                   node and to the other cards here, which send theirs
//   reduce-scatter  step t = 0 .. P-1: the cards here send each other their parts of the blocks of
//                   node s - 1 - t; card l folds those of block l, and what the previous node sends
//                   for it, and passes it on; the last one is its own
//   all-reduce      the two in turn, over slices of the vector
//
// Cost for n bytes a rank: P steps of n / p bytes to the next node and of (m - 1) n / p within; for
// all-reduce twice that. A block is folded node by node, in each by card: the same bits every time,
// though not those of the mesh.
//
// Every step has a place of its own for each sender, so there are no credits within a round:
//
//     step 0: | card 0 | card 1 | ... | previous node |  step 1: ...
//
// The place of the own card holds the sum that goes to the next node.

#include "capture/expand_list.h"

struct pipeline {
    const struct rp_expand_request *request;
    const struct rp_layout *layout; // NULL: every rank is a node of its own
    uint32_t nodes, cards;
    uint32_t node, card;
    uint64_t off;
    uint64_t place_bytes;
};

static uint32_t rank_at(const struct pipeline *pipe, uint32_t node, uint32_t card)
{
    const struct rp_layout *layout = pipe->layout;
    return layout == NULL ? node : rp_layout_rank(layout, node, card);
}

static struct pipeline make_pipeline(const struct rp_expand_request *request)
{
    const bool even = request->layout != NULL && request->layout->first == NULL;
    const struct rp_layout *layout = even ? request->layout : NULL;
    const struct rp_part region = rp_expand_region(request, RP_REGION_PIPELINE);
    struct pipeline pipe = {
        .request = request,
        .layout = layout,
        .nodes = layout == NULL ? request->size : layout->nodes,
        .cards = layout == NULL ? 1 : layout->cards,
        .off = region.off,
    };
    const uint64_t places = (uint64_t)pipe.nodes * (pipe.cards + 1);
    pipe.place_bytes = rp_expand_limit(region.bytes / places);
    for (uint32_t i = 0; i < request->size; i++) {
        if (rank_at(&pipe, i / pipe.cards, i % pipe.cards) == request->rank) {
            pipe.node = i / pipe.cards;
            pipe.card = i % pipe.cards;
        }
    }
    return pipe;
}

static uint32_t next_node(const struct pipeline *pipe)
{
    return (pipe->node + 1) % pipe->nodes;
}

static uint32_t node_behind(const struct pipeline *pipe, uint32_t back)
{
    return (pipe->node + pipe->nodes - back % pipe->nodes) % pipe->nodes;
}

// Where a card's, or (number `cards`) the previous node's data of step `step` lies.
static struct rp_ht_addr place(
        const struct pipeline *pipe, enum rp_ht_base window, uint32_t step, uint32_t sender)
{
    const uint64_t index = (uint64_t)step * (pipe->cards + 1) + sender;
    return rp_ht_at(window, 0, pipe->off + index * pipe->place_bytes);
}

static struct rp_part part_of(const struct pipeline *pipe, uint32_t rank)
{
    const struct rp_expand_request *request = pipe->request;
    if (request->op == RP_OP_ALL_REDUCE) {
        return rp_expand_part(request, rank, request->size);
    }
    return (struct rp_part){ .bytes = request->count * rp_expand_element_bytes(request) };
}

// The block or slice of `rank`.
static struct rp_ht_addr block_at(const struct pipeline *pipe, enum rp_ht_base base, uint32_t rank)
{
    const bool slices = pipe->request->op == RP_OP_ALL_REDUCE;
    return rp_ht_at(base, slices ? 0 : rank, part_of(pipe, rank).off);
}

static void put(struct rp_list_builder *builder, uint32_t peer, struct rp_ht_addr dst,
        struct rp_ht_addr src, uint64_t bytes)
{
    rp_build_put(builder, peer, dst, src, bytes);
    rp_build_signal(builder, peer);
}

// The other cards of this node, the next one first.
static uint32_t other_card(const struct pipeline *pipe, uint32_t index)
{
    return (pipe->card + index) % pipe->cards;
}

static void reduce_steps(
        struct rp_list_builder *builder, const struct pipeline *pipe, struct rp_ht_addr result)
{
    for (uint32_t step = 0; step < pipe->nodes; step++) {
        const uint32_t target = node_behind(pipe, 1 + step);
        const uint32_t owner = rank_at(pipe, target, pipe->card);
        const struct rp_ht_addr mine = place(pipe, RP_HT_WIN_IN, step, pipe->card);
        for (uint32_t i = 1; i < pipe->cards; i++) {
            const uint32_t block = rank_at(pipe, target, other_card(pipe, i));
            put(builder, rank_at(pipe, pipe->node, other_card(pipe, i)), mine,
                    block_at(pipe, RP_HT_SEND, block), part_of(pipe, block).bytes);
        }
        for (uint32_t i = 1; i < pipe->cards; i++) {
            rp_build_wait(builder, rank_at(pipe, pipe->node, other_card(pipe, i)));
        }
        if (step > 0) {
            rp_build_wait(builder, rank_at(pipe, node_behind(pipe, 1), pipe->card));
        }
        const bool last = step + 1 == pipe->nodes;
        const struct rp_fold inputs = {
            .off = place(pipe, RP_HT_WIN_IN, step, 0).off,
            .step = pipe->place_bytes,
            .count = pipe->cards + (step > 0 ? 1 : 0),
            .own = pipe->card,
        };
        rp_build_reduce(builder, last ? result : mine, block_at(pipe, RP_HT_SEND, owner),
                part_of(pipe, owner).bytes, &inputs);
        if (!last) {
            put(builder, rank_at(pipe, next_node(pipe), pipe->card),
                    place(pipe, RP_HT_WIN_IN, step + 1, pipe->cards), mine,
                    part_of(pipe, owner).bytes);
        }
    }
}

// The own block stands in the output.
static void gather_steps(
        struct rp_list_builder *builder, const struct pipeline *pipe, enum rp_ht_base window)
{
    for (uint32_t step = 0; step < pipe->nodes; step++) {
        const uint32_t node = node_behind(pipe, step);
        const uint32_t owner = rank_at(pipe, node, pipe->card);
        const struct rp_ht_addr block = block_at(pipe, RP_HT_RECV, owner);
        const uint64_t bytes = part_of(pipe, owner).bytes;
        if (step > 0) {
            rp_build_wait(builder, rank_at(pipe, node_behind(pipe, 1), pipe->card));
            rp_build_copy(builder, block, place(pipe, window, step, pipe->cards), bytes);
        }
        if (step + 1 < pipe->nodes) {
            put(builder, rank_at(pipe, next_node(pipe), pipe->card),
                    place(pipe, window, step + 1, pipe->cards), block, bytes);
        }
        for (uint32_t i = 1; i < pipe->cards; i++) {
            put(builder, rank_at(pipe, pipe->node, other_card(pipe, i)),
                    place(pipe, window, step, pipe->card), block, bytes);
        }
        for (uint32_t i = 1; i < pipe->cards; i++) {
            const uint32_t card = other_card(pipe, i);
            const uint32_t theirs = rank_at(pipe, node, card);
            rp_build_wait(builder, rank_at(pipe, pipe->node, card));
            rp_build_copy(builder, block_at(pipe, RP_HT_RECV, theirs),
                    place(pipe, window, step, card), part_of(pipe, theirs).bytes);
        }
    }
}

static void end_round(struct rp_list_builder *builder, const struct pipeline *pipe)
{
    const bool ring = pipe->nodes > 1;
    for (uint32_t i = 1; i < pipe->cards; i++) {
        rp_build_signal(builder, rank_at(pipe, pipe->node, other_card(pipe, i)));
    }
    if (ring) {
        rp_build_signal(builder, rank_at(pipe, node_behind(pipe, 1), pipe->card));
    }
    for (uint32_t i = 1; i < pipe->cards; i++) {
        rp_build_wait(builder, rank_at(pipe, pipe->node, other_card(pipe, i)));
    }
    if (ring) {
        rp_build_wait(builder, rank_at(pipe, next_node(pipe), pipe->card));
    }
}

static uint64_t round_count(const struct rp_expand_request *request)
{
    const struct pipeline pipe = make_pipeline(request);
    const uint64_t elements = pipe.place_bytes / rp_expand_element_bytes(request);
    return request->op == RP_OP_ALL_REDUCE ? elements * request->size : elements;
}

static bool build(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    const struct pipeline pipe = make_pipeline(request);
    const struct rp_ht_addr result = block_at(&pipe, RP_HT_RECV, request->rank);
    switch (request->op) {
    case RP_OP_ALL_REDUCE:
        reduce_steps(builder, &pipe, result);
        gather_steps(builder, &pipe, RP_HT_WIN_OUT);
        break;
    case RP_OP_REDUCE_SCATTER:
        reduce_steps(builder, &pipe, rp_ht_at(RP_HT_RECV, 0, 0));
        break;
    case RP_OP_ALL_GATHER:
    case RP_OP_ALL_GATHER_V:
        rp_build_copy(builder, result,
                rp_ht_at(RP_HT_SEND, rp_expand_one(request, request->rank), 0),
                part_of(&pipe, request->rank).bytes);
        gather_steps(builder, &pipe, RP_HT_WIN_IN);
        break;
    default:
        return false;
    }
    end_round(builder, &pipe);
    return true;
}

const struct rp_algorithm_form rp_algorithm_pipeline = {
    .round_count = round_count,
    .build = build,
};
