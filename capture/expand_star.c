// Star: one rank, the hub, exchanges directly with every other.
//
//   broadcast   the root puts the vector to all others
//   all-reduce  everyone puts its vector to rank 0, which folds them in rank order and puts the
//               result to all others
//   barrier     everyone signals rank 0, which signals everyone
//
// Cost for p ranks, n bytes a rank: one step (all-reduce and barrier two), in which n (p - 1) bytes
// pass the hub. The bits are those of the mesh.

#include "capture/expand_list.h"

static uint32_t hub_of(const struct rp_expand_request *request)
{
    return request->op == RP_OP_BROADCAST ? request->root : 0;
}

static void wait_others(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    for (uint32_t step = 1; step < request->size; step++) {
        rp_build_wait(builder, (request->rank + step) % request->size);
    }
}

// The hub's vector, which stands at `vector`, to all others.
static void put_others(struct rp_list_builder *builder, const struct rp_expand_request *request,
        struct rp_ht_addr vector, uint64_t bytes)
{
    const struct rp_ht_addr theirs =
            rp_ht_at(RP_HT_WIN_OUT, 0, rp_expand_slot_off(request, request->rank));
    for (uint32_t step = 1; step < request->size; step++) {
        const uint32_t peer = (request->rank + step) % request->size;
        rp_build_put(builder, peer, theirs, vector, bytes);
        rp_build_signal(builder, peer);
    }
}

static void build_hub(
        struct rp_list_builder *builder, const struct rp_expand_request *request, uint64_t bytes)
{
    if (request->op != RP_OP_BROADCAST) {
        wait_others(builder, request);
    }
    if (request->op == RP_OP_ALL_REDUCE) {
        const struct rp_fold inputs = {
            .off = rp_expand_slot_off(request, 0),
            .step = rp_expand_slot(request),
            .count = request->size,
            .own = request->rank,
        };
        rp_build_reduce(
                builder, rp_ht_at(RP_HT_RECV, 0, 0), rp_ht_at(RP_HT_SEND, 0, 0), bytes, &inputs);
    }
    const bool reduces = request->op == RP_OP_ALL_REDUCE;
    put_others(builder, request, rp_ht_at(reduces ? RP_HT_RECV : RP_HT_SEND, 0, 0), bytes);
    if (request->op != RP_OP_BARRIER) {
        wait_others(builder, request);
    }
}

static void build_other(
        struct rp_list_builder *builder, const struct rp_expand_request *request, uint64_t bytes)
{
    const uint32_t hub = hub_of(request);
    if (request->op == RP_OP_ALL_REDUCE) {
        rp_build_put(builder, hub,
                rp_ht_at(RP_HT_WIN_IN, 0, rp_expand_slot_off(request, request->rank)),
                rp_ht_at(RP_HT_SEND, 0, 0), bytes);
    }
    if (request->op != RP_OP_BROADCAST) {
        rp_build_signal(builder, hub);
    }
    rp_build_wait(builder, hub); // in an all-reduce the hub has used the input as well
    if (request->op != RP_OP_BARRIER) {
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
    if (request->op != RP_OP_BROADCAST && request->op != RP_OP_ALL_REDUCE &&
            request->op != RP_OP_BARRIER) {
        return false;
    }
    const bool barrier = request->op == RP_OP_BARRIER;
    const uint64_t bytes = barrier ? 0 : request->count * rp_expand_element_bytes(request);
    if (request->rank == hub_of(request)) {
        build_hub(builder, request, bytes);
    } else {
        build_other(builder, request, bytes);
    }
    return true;
}

const struct rp_algorithm_form rp_algorithm_star = { .round_count = round_count, .build = build };
