// Star: one rank, the hub, exchanges directly with every other.
//
//   broadcast   the root puts the vector to all others
//   scatter     the root puts block q to rank q
//   reduce      everyone puts its vector to the root, which folds them in rank order
//   all-reduce  the same to rank 0, which puts the result to all others
//   barrier     everyone signals rank 0, which signals everyone
//
// Cost for p ranks, n bytes a rank: one step (all-reduce and barrier two), in which n (p - 1) bytes
// pass the hub. The bits are those of the mesh.
//
// What leaves the hub lies in window-out, what comes to it in window-in. In an all-reduce the
// result says that the input has been used as well; elsewhere there is a signal for that alone.

#include "capture/expand_list.h"

static bool comes(const struct rp_expand_request *request)
{
    return request->op == RP_OP_REDUCE || request->op == RP_OP_ALL_REDUCE;
}

static bool leaves(const struct rp_expand_request *request)
{
    return request->op != RP_OP_REDUCE && request->op != RP_OP_BARRIER;
}

static uint32_t hub_of(const struct rp_expand_request *request)
{
    return request->op == RP_OP_ALL_REDUCE || request->op == RP_OP_BARRIER ? 0 : request->root;
}

static void wait_others(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    for (uint32_t step = 1; step < request->size; step++) {
        rp_build_wait(builder, (request->rank + step) % request->size);
    }
}

// What the hub has for `peer`.
static struct rp_ht_addr source_of(const struct rp_expand_request *request, uint32_t peer)
{
    if (request->op == RP_OP_SCATTER) {
        return rp_ht_at(RP_HT_SEND, peer, 0);
    }
    return rp_ht_at(request->op == RP_OP_ALL_REDUCE ? RP_HT_RECV : RP_HT_SEND, 0, 0);
}

// Nothing to put leaves a signal.
static void tell_others(
        struct rp_list_builder *builder, const struct rp_expand_request *request, uint64_t bytes)
{
    const struct rp_ht_addr theirs =
            rp_ht_at(RP_HT_WIN_OUT, 0, rp_expand_slot_off(request, request->rank));
    for (uint32_t step = 1; step < request->size; step++) {
        const uint32_t peer = (request->rank + step) % request->size;
        if (leaves(request)) {
            rp_build_put(builder, peer, theirs, source_of(request, peer), bytes);
        }
        rp_build_signal(builder, peer);
    }
}

static void build_hub(
        struct rp_list_builder *builder, const struct rp_expand_request *request, uint64_t bytes)
{
    if (comes(request) || request->op == RP_OP_BARRIER) {
        wait_others(builder, request);
    }
    if (comes(request)) {
        const struct rp_fold inputs = {
            .off = rp_expand_slot_off(request, 0),
            .step = rp_expand_slot(request),
            .count = request->size,
            .own = request->rank,
        };
        rp_build_reduce(
                builder, rp_ht_at(RP_HT_RECV, 0, 0), rp_ht_at(RP_HT_SEND, 0, 0), bytes, &inputs);
    }
    if (request->op == RP_OP_SCATTER) {
        rp_build_copy(
                builder, rp_ht_at(RP_HT_RECV, 0, 0), source_of(request, request->rank), bytes);
    }
    tell_others(builder, request, bytes);
    if (leaves(request)) {
        wait_others(builder, request);
    }
}

static void build_other(
        struct rp_list_builder *builder, const struct rp_expand_request *request, uint64_t bytes)
{
    const uint32_t hub = hub_of(request);
    if (comes(request)) {
        rp_build_put(builder, hub,
                rp_ht_at(RP_HT_WIN_IN, 0, rp_expand_slot_off(request, request->rank)),
                rp_ht_at(RP_HT_SEND, 0, 0), bytes);
    }
    if (comes(request) || request->op == RP_OP_BARRIER) {
        rp_build_signal(builder, hub);
    }
    rp_build_wait(builder, hub);
    if (leaves(request)) {
        rp_build_copy(builder, rp_ht_at(RP_HT_RECV, 0, 0),
                rp_ht_at(RP_HT_WIN_OUT, 0, rp_expand_slot_off(request, hub)), bytes);
        rp_build_signal(builder, hub);
    }
}

static uint64_t round_count(const struct rp_expand_request *request)
{
    return rp_expand_slot(request) / rp_expand_element_bytes(request);
}

static bool build(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    const bool barrier = request->op == RP_OP_BARRIER;
    if (!barrier && !comes(request) && request->op != RP_OP_BROADCAST &&
            request->op != RP_OP_SCATTER) {
        return false;
    }
    const uint64_t bytes = barrier ? 0 : request->count * rp_expand_element_bytes(request);
    if (request->rank == hub_of(request)) {
        build_hub(builder, request, bytes);
    } else {
        build_other(builder, request, bytes);
    }
    return true;
}

const struct rp_algorithm_form rp_algorithm_star = { .round_count = round_count, .build = build };
