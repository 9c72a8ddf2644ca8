// Ring: rank r sends to r + 1 and receives from r - 1, p - 1 steps a phase.
//
//   reduce-scatter  step s: send block r - 1 - s, receive block r - 2 - s and fold the own one in
//   all-gather      step s: send block r - s, receive block r - 1 - s
//   all-reduce      the two in turn, over slices of the vector
//   broadcast       the vector passes round the ring in pieces
//   reduce          the same from the root's next rank to the root, each rank folding its own in
//   scatter         the root sends the block of its previous rank first; who has received its own
//                   block has passed on all others
//
// Cost for p ranks, n bytes a rank: p - 1 steps, n (p - 1) / p bytes out and in; all-reduce twice
// that; all-gather n a step; broadcast and reduce p - 2 + pieces steps, n bytes. Block b is folded
// in the order b + 1, b + 2, ..., b, a reduce's vector in that of the root's block: the same bits
// every time, but not those of mesh.
//
// What arrives in step s has a place of its own in the sender's slot of window-in (window-out in
// the second half of an all-reduce), so nobody waits for credits within a round: one signal at its
// end says that all has been used.

#include "base/error.h"
#include "capture/expand_list.h"

// Pieces of a broadcast or reduce: while a rank passes one on, the next is under way to it.
#define PIECES_MAX 8
#define PIECE_BYTES_MIN (16u * 1024u)

struct ring {
    const struct rp_expand_request *request;
    uint32_t next;
    uint32_t prev;
    uint64_t slot; // bytes of a sender's part of a window
    uint64_t step; // bytes of one step's part of that
};

static struct ring make_ring(const struct rp_expand_request *request)
{
    const uint64_t slot = rp_expand_slot(request);
    return (struct ring){
        .request = request,
        .next = (request->rank + 1) % request->size,
        .prev = (request->rank + request->size - 1) % request->size,
        .slot = slot,
        .step = rp_expand_limit(request, slot / (request->size - 1)),
    };
}

// The block that is `back` places behind this rank.
static uint32_t block_behind(const struct ring *ring, uint32_t back)
{
    const uint32_t size = ring->request->size;
    return (ring->request->rank + size - back % size) % size;
}

// Where step `step` of this rank's sending lies in the next rank's window, and of its receiving in
// its own.
static struct rp_ht_addr sent(const struct ring *ring, enum rp_ht_base window, uint32_t step)
{
    return rp_ht_at(window, 0, ring->request->rank * ring->slot + step * ring->step);
}

static struct rp_ht_addr received(const struct ring *ring, enum rp_ht_base window, uint32_t step)
{
    return rp_ht_at(window, 0, ring->prev * ring->slot + step * ring->step);
}

static void send(struct rp_list_builder *builder, const struct ring *ring, struct rp_ht_addr dst,
        struct rp_ht_addr src, uint64_t bytes)
{
    rp_build_put(builder, ring->next, dst, src, bytes);
    rp_build_signal(builder, ring->next);
}

// Everything that came from the previous rank has been used; so has what went to the next.
static void end_round(struct rp_list_builder *builder, const struct ring *ring)
{
    rp_build_signal(builder, ring->prev);
    rp_build_wait(builder, ring->next);
}

// What a block of the vector is: a slice of one buffer (all-reduce), or a block of many.
static struct rp_part block_part(const struct ring *ring, uint32_t block)
{
    const struct rp_expand_request *request = ring->request;
    if (request->op == RP_OP_ALL_REDUCE) {
        return rp_expand_part(request, block, request->size);
    }
    return (struct rp_part){ .bytes = request->count * rp_expand_element_bytes(request) };
}

static struct rp_ht_addr block_at(const struct ring *ring, enum rp_ht_base base, uint32_t block)
{
    const bool slices = ring->request->op == RP_OP_ALL_REDUCE;
    return rp_ht_at(base, slices ? 0 : block, block_part(ring, block).off);
}

// The p - 1 steps of a reduce-scatter; the own block's result goes to `result`. Partial results
// stay in window-in, for the input belongs to the caller.
static void reduce_steps(
        struct rp_list_builder *builder, const struct ring *ring, struct rp_ht_addr result)
{
    const uint32_t last = ring->request->size - 2;
    struct rp_ht_addr partial = block_at(ring, RP_HT_SEND, block_behind(ring, 1));
    for (uint32_t step = 0; step <= last; step++) {
        const uint32_t out = block_behind(ring, 1 + step);
        const uint32_t in = block_behind(ring, 2 + step);
        const struct rp_ht_addr arrived = received(ring, RP_HT_WIN_IN, step);
        const struct rp_fold inputs = { .off = arrived.off, .count = 2, .own = 1 };
        send(builder, ring, sent(ring, RP_HT_WIN_IN, step), partial, block_part(ring, out).bytes);
        rp_build_wait(builder, ring->prev);
        partial = step == last ? result : arrived;
        rp_build_reduce(builder, partial, block_at(ring, RP_HT_SEND, in),
                block_part(ring, in).bytes, &inputs);
    }
}

// The p - 1 steps of an all-gather; the own block stands in the output already.
static void gather_steps(
        struct rp_list_builder *builder, const struct ring *ring, enum rp_ht_base window)
{
    for (uint32_t step = 0; step + 1 < ring->request->size; step++) {
        const uint32_t out = block_behind(ring, step);
        const uint32_t in = block_behind(ring, 1 + step);
        send(builder, ring, sent(ring, window, step), block_at(ring, RP_HT_RECV, out),
                block_part(ring, out).bytes);
        rp_build_wait(builder, ring->prev);
        rp_build_copy(builder, block_at(ring, RP_HT_RECV, in), received(ring, window, step),
                block_part(ring, in).bytes);
    }
}

static void all_reduce(struct rp_list_builder *builder, const struct ring *ring)
{
    reduce_steps(builder, ring, block_at(ring, RP_HT_RECV, ring->request->rank));
    gather_steps(builder, ring, RP_HT_WIN_OUT);
    end_round(builder, ring);
}

static void reduce_scatter(struct rp_list_builder *builder, const struct ring *ring)
{
    const uint32_t one = rp_expand_one(ring->request, ring->request->rank);
    reduce_steps(builder, ring, rp_ht_at(RP_HT_RECV, one, 0));
    end_round(builder, ring);
}

static void all_gather(struct rp_list_builder *builder, const struct ring *ring)
{
    const uint32_t own = ring->request->rank;
    rp_build_copy(builder, block_at(ring, RP_HT_RECV, own),
            rp_ht_at(RP_HT_SEND, rp_expand_one(ring->request, own), 0),
            block_part(ring, own).bytes);
    gather_steps(builder, ring, RP_HT_WIN_IN);
    end_round(builder, ring);
}

static uint32_t pieces_of(const struct rp_expand_request *request)
{
    const uint64_t bytes = request->count * rp_expand_element_bytes(request);
    return (uint32_t)rp_min_u64(rp_max_u64(bytes / PIECE_BYTES_MIN, 1), PIECES_MAX);
}

static void broadcast(struct rp_list_builder *builder, const struct ring *ring)
{
    const struct rp_expand_request *request = ring->request;
    const uint32_t pieces = pieces_of(request);
    const bool receives = request->rank != request->root;
    const bool sends = ring->next != request->root;
    const enum rp_ht_base source = receives ? RP_HT_RECV : RP_HT_SEND;
    for (uint32_t i = 0; i < pieces; i++) {
        const struct rp_part part = rp_expand_part(request, i, pieces);
        if (receives) {
            rp_build_wait(builder, ring->prev);
            rp_build_copy(builder, rp_ht_at(RP_HT_RECV, 0, part.off),
                    rp_ht_at(RP_HT_WIN_IN, 0, ring->prev * ring->slot + part.off), part.bytes);
        }
        if (sends) {
            send(builder, ring, rp_ht_at(RP_HT_WIN_IN, 0, request->rank * ring->slot + part.off),
                    rp_ht_at(source, 0, part.off), part.bytes);
        }
    }
    if (receives) {
        rp_build_signal(builder, ring->prev);
    }
    if (sends) {
        rp_build_wait(builder, ring->next);
    }
}

// What has arrived is folded where it lies, at the root into its output.
static void reduce(struct rp_list_builder *builder, const struct ring *ring)
{
    const struct rp_expand_request *request = ring->request;
    const uint32_t pieces = pieces_of(request);
    const bool sends = request->rank != request->root;
    const bool receives = ring->prev != request->root;
    for (uint32_t i = 0; i < pieces; i++) {
        const struct rp_part part = rp_expand_part(request, i, pieces);
        const struct rp_ht_addr own = rp_ht_at(RP_HT_SEND, 0, part.off);
        struct rp_ht_addr partial = own;
        if (receives) {
            const struct rp_fold inputs = {
                .off = ring->prev * ring->slot + part.off, .count = 2, .own = 1
            };
            partial = sends ? rp_ht_at(RP_HT_WIN_IN, 0, inputs.off)
                            : rp_ht_at(RP_HT_RECV, 0, part.off);
            rp_build_wait(builder, ring->prev);
            rp_build_reduce(builder, partial, own, part.bytes, &inputs);
        }
        if (sends) {
            send(builder, ring, rp_ht_at(RP_HT_WIN_IN, 0, request->rank * ring->slot + part.off),
                    partial, part.bytes);
        }
    }
    if (receives) {
        rp_build_signal(builder, ring->prev);
    }
    if (sends) {
        rp_build_wait(builder, ring->next);
    }
}

// A rank at distance d from the root receives p - d blocks and passes on all but the last.
static void scatter(struct rp_list_builder *builder, const struct ring *ring)
{
    const struct rp_expand_request *request = ring->request;
    const uint32_t size = request->size;
    const uint32_t distance = (request->rank + size - request->root) % size;
    const uint64_t bytes = request->count * rp_expand_element_bytes(request);
    const struct rp_ht_addr output = rp_ht_at(RP_HT_RECV, 0, 0);
    const uint32_t passed = size - 1 - distance;
    for (uint32_t step = 0; step < passed; step++) {
        const struct rp_ht_addr block =
                distance == 0 ? rp_ht_at(RP_HT_SEND, block_behind(ring, 1 + step), 0)
                              : received(ring, RP_HT_WIN_IN, step);
        if (distance != 0) {
            rp_build_wait(builder, ring->prev);
        }
        send(builder, ring, sent(ring, RP_HT_WIN_IN, step), block, bytes);
    }
    if (distance == 0) {
        rp_build_copy(builder, output, rp_ht_at(RP_HT_SEND, request->rank, 0), bytes);
    } else {
        rp_build_wait(builder, ring->prev);
        rp_build_copy(builder, output, received(ring, RP_HT_WIN_IN, passed), bytes);
        rp_build_signal(builder, ring->prev);
    }
    if (passed != 0) {
        rp_build_wait(builder, ring->next);
    }
}

uint64_t rp_expand_ring_count(const struct rp_expand_request *request)
{
    const struct ring ring = make_ring(request);
    const uint64_t element = rp_expand_element_bytes(request);
    switch (request->op) {
    case RP_OP_ALL_REDUCE:
        return ring.step / element * request->size;
    case RP_OP_BROADCAST:
    case RP_OP_REDUCE:
        return ring.slot / element;
    default:
        return ring.step / element;
    }
}

rp_status rp_expand_ring(const struct rp_expand_request *request, struct rp_task_list **out)
{
    struct rp_list_builder builder = { .list = NULL };
    const struct ring ring = make_ring(request);
    switch (request->op) {
    case RP_OP_ALL_REDUCE:
        all_reduce(&builder, &ring);
        break;
    case RP_OP_REDUCE_SCATTER:
    case RP_OP_REDUCE_SCATTER_V:
        reduce_scatter(&builder, &ring);
        break;
    case RP_OP_ALL_GATHER:
    case RP_OP_ALL_GATHER_V:
        all_gather(&builder, &ring);
        break;
    case RP_OP_BROADCAST:
        broadcast(&builder, &ring);
        break;
    case RP_OP_REDUCE:
        reduce(&builder, &ring);
        break;
    case RP_OP_SCATTER:
        scatter(&builder, &ring);
        break;
    default:
        return rp_fail(RP_ENOTSUP, "%s has no ring algorithm", rp_op_kind_name(request->op));
    }
    return rp_builder_finish(&builder, request->count, out);
}
