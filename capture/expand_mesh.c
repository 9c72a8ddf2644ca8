// Mesh: every pair of ranks exchanges directly, all links at once.
//
//   reduce-scatter  every rank puts block q to rank q, which folds all of them in rank order
//   all-gather      every rank puts its block to all others
//   all-reduce      the two in turn, over slices of the vector
//   reduce          the same, but that the slices of the result go to the root alone
//   broadcast       the root scatters slices over the others, which exchange them
//   scatter         the root puts block q to rank q
//   all-to-all      every rank puts block q to rank q
//   barrier         one signal to and from everyone
//
// Cost for p ranks, n bytes a rank: 1 step (all-reduce, reduce and broadcast 2); n (p - 1) / p
// bytes out and in, twice for all-reduce; n for each peer in an all-gather. The fold is in rank
// order, so the bits are those of every other form.
//
// Every put is answered by a signal once its data has been used, the credit. In an all-reduce the
// result's signal is also the credit for the inputs: who sends a result has read all of them.

#include "capture/expand_list.h"

// Peers in the order rank + 1, rank + 2, ...: so that not everybody turns to rank 0 first.
static uint32_t peer_at(const struct rp_expand_request *request, uint32_t step)
{
    return (request->rank + step) % request->size;
}

static void signal_all(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    for (uint32_t step = 1; step < request->size; step++) {
        rp_build_signal(builder, peer_at(request, step));
    }
}

static void wait_all(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    for (uint32_t step = 1; step < request->size; step++) {
        rp_build_wait(builder, peer_at(request, step));
    }
}

// Folds this rank's part of everyone's input: the peers' from window-in, the own from `own`.
static void fold(struct rp_list_builder *builder, const struct rp_expand_request *request,
        struct rp_ht_addr result, struct rp_ht_addr own, uint64_t bytes)
{
    const struct rp_fold inputs = {
        .off = rp_expand_slot_off(request, 0),
        .step = rp_expand_slot(request),
        .count = request->size,
        .own = request->rank,
    };
    rp_build_reduce(builder, result, own, bytes, &inputs);
}

static void reduce_scatter(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    const uint64_t bytes = request->count * rp_expand_element_bytes(request);
    const struct rp_ht_addr theirs =
            rp_ht_at(RP_HT_WIN_IN, 0, rp_expand_slot_off(request, request->rank));
    for (uint32_t step = 1; step < request->size; step++) {
        const uint32_t peer = peer_at(request, step);
        rp_build_put(builder, peer, theirs, rp_ht_at(RP_HT_SEND, peer, 0), bytes);
        rp_build_signal(builder, peer);
    }
    wait_all(builder, request);
    fold(builder, request, rp_ht_at(RP_HT_RECV, rp_expand_one(request, request->rank), 0),
            rp_ht_at(RP_HT_SEND, request->rank, 0), bytes);
    signal_all(builder, request);
    wait_all(builder, request);
}

static void all_gather(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    const uint64_t bytes = request->count * rp_expand_element_bytes(request);
    const struct rp_ht_addr own = rp_ht_at(RP_HT_SEND, rp_expand_one(request, request->rank), 0);
    for (uint32_t step = 1; step < request->size; step++) {
        const uint32_t peer = peer_at(request, step);
        rp_build_put(builder, peer,
                rp_ht_at(RP_HT_WIN_IN, 0, rp_expand_slot_off(request, request->rank)), own, bytes);
        rp_build_signal(builder, peer);
    }
    rp_build_copy(builder, rp_ht_at(RP_HT_RECV, request->rank, 0), own, bytes);
    for (uint32_t step = 1; step < request->size; step++) {
        const uint32_t peer = peer_at(request, request->size - step);
        rp_build_wait(builder, peer);
        rp_build_copy(builder, rp_ht_at(RP_HT_RECV, peer, 0),
                rp_ht_at(RP_HT_WIN_IN, 0, rp_expand_slot_off(request, peer)), bytes);
        rp_build_signal(builder, peer);
    }
    wait_all(builder, request);
}

static void all_to_all(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    for (uint32_t step = 1; step < request->size; step++) {
        rp_build_block_out(builder, request, peer_at(request, step));
    }
    rp_build_copy(builder, rp_ht_at(RP_HT_RECV, request->rank, 0),
            rp_ht_at(RP_HT_SEND, request->rank, 0),
            request->count * rp_expand_element_bytes(request));
    for (uint32_t step = 1; step < request->size; step++) {
        const uint32_t peer = peer_at(request, request->size - step);
        rp_build_block_in(builder, request, peer);
        rp_build_credit_out(builder, request, peer);
    }
    for (uint32_t step = 1; step < request->size; step++) {
        rp_build_credit_in(builder, request, peer_at(request, step));
    }
}

// The second half of all-reduce: slice r of the result stands in rank r's output.
static void share_slices(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    const struct rp_part own = rp_expand_part(request, request->rank, request->size);
    for (uint32_t step = 1; step < request->size; step++) {
        const uint32_t peer = peer_at(request, step);
        rp_build_put(builder, peer,
                rp_ht_at(RP_HT_WIN_OUT, 0, rp_expand_slot_off(request, request->rank)),
                rp_ht_at(RP_HT_RECV, 0, own.off), own.bytes);
        rp_build_signal(builder, peer);
    }
    for (uint32_t step = 1; step < request->size; step++) {
        const uint32_t peer = peer_at(request, request->size - step);
        const struct rp_part part = rp_expand_part(request, peer, request->size);
        rp_build_wait(builder, peer);
        rp_build_copy(builder, rp_ht_at(RP_HT_RECV, 0, part.off),
                rp_ht_at(RP_HT_WIN_OUT, 0, rp_expand_slot_off(request, peer)), part.bytes);
        rp_build_signal(builder, peer);
    }
    wait_all(builder, request);
}

// The first half of all-reduce and reduce: slice r of everyone's input stands on rank r, the peers'
// in window-in.
static void scatter_slices(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    const struct rp_ht_addr theirs =
            rp_ht_at(RP_HT_WIN_IN, 0, rp_expand_slot_off(request, request->rank));
    for (uint32_t step = 1; step < request->size; step++) {
        const uint32_t peer = peer_at(request, step);
        const struct rp_part part = rp_expand_part(request, peer, request->size);
        rp_build_put(builder, peer, theirs, rp_ht_at(RP_HT_SEND, 0, part.off), part.bytes);
        rp_build_signal(builder, peer);
    }
    wait_all(builder, request);
}

static void all_reduce(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    const struct rp_part own = rp_expand_part(request, request->rank, request->size);
    scatter_slices(builder, request);
    fold(builder, request, rp_ht_at(RP_HT_RECV, 0, own.off), rp_ht_at(RP_HT_SEND, 0, own.off),
            own.bytes);
    share_slices(builder, request);
}

// Where the slices of the result go. Each peer's signal says that its slice stands in window-out,
// and is the credit for our input as well.
static void reduce_root(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    const struct rp_part own = rp_expand_part(request, request->rank, request->size);
    scatter_slices(builder, request);
    fold(builder, request, rp_ht_at(RP_HT_RECV, 0, own.off), rp_ht_at(RP_HT_SEND, 0, own.off),
            own.bytes);
    for (uint32_t step = 1; step < request->size; step++) {
        const uint32_t peer = peer_at(request, request->size - step);
        const struct rp_part part = rp_expand_part(request, peer, request->size);
        rp_build_wait(builder, peer);
        rp_build_copy(builder, rp_ht_at(RP_HT_RECV, 0, part.off),
                rp_ht_at(RP_HT_WIN_OUT, 0, rp_expand_slot_off(request, peer)), part.bytes);
        rp_build_signal(builder, peer); // the credit for both: the fold is behind us
    }
}

// The own slot of the own window-in, which no peer writes, is where a slice of the result waits:
// the output of a rank that is not the root is not ours to write.
static void reduce_other(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    const uint64_t own_slot = rp_expand_slot_off(request, request->rank);
    const struct rp_part own = rp_expand_part(request, request->rank, request->size);
    const struct rp_ht_addr result = rp_ht_at(RP_HT_WIN_IN, 0, own_slot);
    scatter_slices(builder, request);
    fold(builder, request, result, rp_ht_at(RP_HT_SEND, 0, own.off), own.bytes);
    rp_build_put(builder, request->root, rp_ht_at(RP_HT_WIN_OUT, 0, own_slot), result, own.bytes);
    signal_all(builder, request);
    wait_all(builder, request);
}

static void reduce(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    if (request->rank == request->root) {
        reduce_root(builder, request);
    } else {
        reduce_other(builder, request);
    }
}

// Slices of a broadcast go to the ranks other than the root, in rank order.
static struct rp_part slice_of(const struct rp_expand_request *request, uint32_t rank)
{
    return rp_expand_part(request, rank < request->root ? rank : rank - 1, request->size - 1);
}

static void broadcast_root(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    for (uint32_t step = 1; step < request->size; step++) {
        const uint32_t peer = peer_at(request, step);
        const struct rp_part part = slice_of(request, peer);
        rp_build_put(builder, peer,
                rp_ht_at(RP_HT_WIN_IN, 0, rp_expand_slot_off(request, request->rank)),
                rp_ht_at(RP_HT_SEND, 0, part.off), part.bytes);
        rp_build_signal(builder, peer);
    }
    wait_all(builder, request);
}

static void broadcast_other(
        struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    const struct rp_part own = slice_of(request, request->rank);
    const struct rp_ht_addr scattered =
            rp_ht_at(RP_HT_WIN_IN, 0, rp_expand_slot_off(request, request->root));
    rp_build_wait(builder, request->root);
    for (uint32_t step = 1; step < request->size; step++) {
        const uint32_t peer = peer_at(request, step);
        if (peer != request->root) {
            rp_build_put(builder, peer,
                    rp_ht_at(RP_HT_WIN_OUT, 0, rp_expand_slot_off(request, request->rank)),
                    scattered, own.bytes);
            rp_build_signal(builder, peer);
        }
    }
    rp_build_copy(builder, rp_ht_at(RP_HT_RECV, 0, own.off), scattered, own.bytes);
    rp_build_signal(builder, request->root);
    for (uint32_t step = 1; step < request->size; step++) {
        const uint32_t peer = peer_at(request, request->size - step);
        if (peer != request->root) {
            const struct rp_part part = slice_of(request, peer);
            rp_build_wait(builder, peer);
            rp_build_copy(builder, rp_ht_at(RP_HT_RECV, 0, part.off),
                    rp_ht_at(RP_HT_WIN_OUT, 0, rp_expand_slot_off(request, peer)), part.bytes);
            rp_build_signal(builder, peer);
        }
    }
    for (uint32_t step = 1; step < request->size; step++) {
        const uint32_t peer = peer_at(request, step);
        if (peer != request->root) {
            rp_build_wait(builder, peer);
        }
    }
}

static void broadcast(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    if (request->rank == request->root) {
        broadcast_root(builder, request);
    } else {
        broadcast_other(builder, request);
    }
}

static void scatter(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    const uint64_t at = rp_expand_slot_off(request, request->root);
    const uint64_t bytes = request->count * rp_expand_element_bytes(request);
    const struct rp_ht_addr output = rp_ht_at(RP_HT_RECV, 0, 0);
    if (request->rank != request->root) {
        rp_build_wait(builder, request->root);
        rp_build_copy(builder, output, rp_ht_at(RP_HT_WIN_IN, 0, at), bytes);
        rp_build_signal(builder, request->root);
        return;
    }
    for (uint32_t step = 1; step < request->size; step++) {
        const uint32_t peer = peer_at(request, step);
        rp_build_put(
                builder, peer, rp_ht_at(RP_HT_WIN_IN, 0, at), rp_ht_at(RP_HT_SEND, peer, 0), bytes);
        rp_build_signal(builder, peer);
    }
    rp_build_copy(builder, output, rp_ht_at(RP_HT_SEND, request->rank, 0), bytes);
    wait_all(builder, request);
}

static void barrier(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    signal_all(builder, request);
    wait_all(builder, request);
}

static uint64_t round_count(const struct rp_expand_request *request)
{
    const uint64_t limit = rp_expand_limit(rp_expand_slot(request));
    const uint64_t elements = limit / rp_expand_element_bytes(request);
    switch (request->op) {
    case RP_OP_ALL_REDUCE:
    case RP_OP_REDUCE:
        return elements * request->size;
    case RP_OP_BROADCAST:
        return elements * (request->size - 1);
    case RP_OP_ALLTOALL_V:
    case RP_OP_ALLTOALL_VC:
        return rp_expand_block_limit(request) / rp_expand_element_bytes(request);
    default:
        return elements;
    }
}

static bool build(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    switch (request->op) {
    case RP_OP_ALL_REDUCE:
        all_reduce(builder, request);
        return true;
    case RP_OP_REDUCE_SCATTER:
    case RP_OP_REDUCE_SCATTER_V:
        reduce_scatter(builder, request);
        return true;
    case RP_OP_ALL_GATHER:
    case RP_OP_ALL_GATHER_V:
        all_gather(builder, request);
        return true;
    case RP_OP_ALLTOALL:
    case RP_OP_ALLTOALL_V:
    case RP_OP_ALLTOALL_VC:
        all_to_all(builder, request);
        return true;
    case RP_OP_BROADCAST:
        broadcast(builder, request);
        return true;
    case RP_OP_REDUCE:
        reduce(builder, request);
        return true;
    case RP_OP_SCATTER:
        scatter(builder, request);
        return true;
    case RP_OP_BARRIER:
        barrier(builder, request);
        return true;
    default:
        return false;
    }
}

const struct rp_algorithm_form rp_algorithm_mesh = { .round_count = round_count, .build = build };
