// Pairwise: what the mesh sends at once, one peer at a time. In step k = 1 .. p - 1 a rank sends to
// r + k and waits for what r - k sends, so that nobody is sent to by two ranks at a time.
//
//   reduce-scatter  every rank puts block q to rank q, which folds all of them in rank order
//   all-gather      every rank puts its block to all others
//   all-reduce      the two in turn, over slices of the vector
//   all-to-all      every rank puts block q to rank q
//
// Cost for p ranks, n bytes a rank: p - 1 steps; n (p - 1) / p bytes out and in, twice for
// all-reduce; n a step in an all-gather. The bits are those of the mesh.

#include "capture/expand_list.h"

static uint32_t ahead(const struct rp_expand_request *request, uint32_t step)
{
    return (request->rank + step) % request->size;
}

static uint32_t behind(const struct rp_expand_request *request, uint32_t step)
{
    return (request->rank + request->size - step) % request->size;
}

// What goes to or comes from `block` of the op, or of one buffer that is cut in slices.
static struct rp_part part_of(const struct rp_expand_request *request, uint32_t block)
{
    if (request->op == RP_OP_ALL_REDUCE) {
        return rp_expand_part(request, block, request->size);
    }
    return (struct rp_part){ .bytes = request->count * rp_expand_element_bytes(request) };
}

static struct rp_ht_addr block_at(
        const struct rp_expand_request *request, enum rp_ht_base base, uint32_t block)
{
    const bool slices = request->op == RP_OP_ALL_REDUCE;
    return rp_ht_at(base, slices ? 0 : block, part_of(request, block).off);
}

// Block `peer` of the input to each peer; the own one of all inputs is folded into `result`.
static void reduce_steps(struct rp_list_builder *builder, const struct rp_expand_request *request,
        struct rp_ht_addr result)
{
    const struct rp_ht_addr theirs =
            rp_ht_at(RP_HT_WIN_IN, 0, rp_expand_slot_off(request, request->rank));
    for (uint32_t step = 1; step < request->size; step++) {
        const uint32_t peer = ahead(request, step);
        rp_build_put(builder, peer, theirs, block_at(request, RP_HT_SEND, peer),
                part_of(request, peer).bytes);
        rp_build_signal(builder, peer);
        rp_build_wait(builder, behind(request, step));
    }
    const struct rp_fold inputs = {
        .off = rp_expand_slot_off(request, 0),
        .step = rp_expand_slot(request),
        .count = request->size,
        .own = request->rank,
    };
    rp_build_reduce(builder, result, block_at(request, RP_HT_SEND, request->rank),
            part_of(request, request->rank).bytes, &inputs);
}

// The own block, which stands at `own`, to everyone.
static void gather_steps(struct rp_list_builder *builder, const struct rp_expand_request *request,
        enum rp_ht_base window, struct rp_ht_addr own)
{
    for (uint32_t step = 1; step < request->size; step++) {
        const uint32_t peer = behind(request, step);
        rp_build_put(builder, ahead(request, step),
                rp_ht_at(window, 0, rp_expand_slot_off(request, request->rank)), own,
                part_of(request, request->rank).bytes);
        rp_build_signal(builder, ahead(request, step));
        rp_build_wait(builder, peer);
        rp_build_copy(builder, block_at(request, RP_HT_RECV, peer),
                rp_ht_at(window, 0, rp_expand_slot_off(request, peer)),
                part_of(request, peer).bytes);
    }
}

static void all_to_all(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    rp_build_copy(builder, block_at(request, RP_HT_RECV, request->rank),
            block_at(request, RP_HT_SEND, request->rank), part_of(request, request->rank).bytes);
    for (uint32_t step = 1; step < request->size; step++) {
        rp_build_block_out(builder, request, ahead(request, step));
        rp_build_block_in(builder, request, behind(request, step));
    }
    for (uint32_t step = 1; step < request->size; step++) {
        rp_build_credit_out(builder, request, ahead(request, step));
    }
    for (uint32_t step = 1; step < request->size; step++) {
        rp_build_credit_in(builder, request, behind(request, step));
    }
}

static void end_round(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    for (uint32_t step = 1; step < request->size; step++) {
        rp_build_signal(builder, ahead(request, step));
    }
    for (uint32_t step = 1; step < request->size; step++) {
        rp_build_wait(builder, behind(request, step));
    }
}

static uint64_t round_count(const struct rp_expand_request *request)
{
    const uint64_t limit = rp_expand_limit(rp_expand_slot(request));
    const uint64_t elements = limit / rp_expand_element_bytes(request);
    if (rp_op_has_row(request->op)) {
        return rp_expand_block_limit(request) / rp_expand_element_bytes(request);
    }
    return request->op == RP_OP_ALL_REDUCE ? elements * request->size : elements;
}

static bool build(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    const uint32_t one = rp_expand_one(request, request->rank);
    const struct rp_ht_addr send = rp_ht_at(RP_HT_SEND, one, 0);
    const struct rp_ht_addr result = block_at(request, RP_HT_RECV, request->rank);
    switch (request->op) {
    case RP_OP_ALL_REDUCE:
        reduce_steps(builder, request, result);
        gather_steps(builder, request, RP_HT_WIN_OUT, result);
        break;
    case RP_OP_REDUCE_SCATTER:
    case RP_OP_REDUCE_SCATTER_V:
        reduce_steps(builder, request, rp_ht_at(RP_HT_RECV, one, 0));
        break;
    case RP_OP_ALL_GATHER:
    case RP_OP_ALL_GATHER_V:
        rp_build_copy(builder, result, send, part_of(request, request->rank).bytes);
        gather_steps(builder, request, RP_HT_WIN_IN, send);
        break;
    case RP_OP_ALLTOALL:
    case RP_OP_ALLTOALL_V:
    case RP_OP_ALLTOALL_VC:
        all_to_all(builder, request);
        return true;
    case RP_OP_BARRIER:
        break; // its round is nothing but an end
    default:
        return false;
    }
    end_round(builder, request);
    return true;
}

const struct rp_algorithm_form rp_algorithm_pairwise = {
    .round_count = round_count,
    .build = build,
};
