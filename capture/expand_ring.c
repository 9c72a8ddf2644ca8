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
// What arrives has one of a few places in window-in (window-out in the second half of an
// all-reduce), which are used in turn: a signal back says that a place is free again, where there
// are more steps than places. One more at the end of the round says that all has been used.

#include "capture/expand_list.h"

// Two would do: so many have the next ones under way while one is worked on.
#define PLACES_MAX 8

// Pieces of a broadcast or reduce: while a rank passes one on, the next is under way to it.
#define PIECES_MAX 8
#define PIECE_BYTES_MIN (16u * 1024u)

struct ring {
    const struct rp_expand_request *request;
    uint32_t next;
    uint32_t prev;
    struct rp_part lane; // of the windows
    uint32_t places;
    uint64_t place_bytes;
};

static struct ring make_ring(const struct rp_expand_request *request)
{
    const struct rp_part lane = rp_expand_region(request, RP_REGION_RING);
    const uint32_t places = (uint32_t)rp_min_u64(request->size - 1, PLACES_MAX);
    return (struct ring){
        .request = request,
        .next = (request->rank + 1) % request->size,
        .prev = (request->rank + request->size - 1) % request->size,
        .lane = lane,
        .places = places,
        .place_bytes = rp_expand_limit(lane.bytes / places),
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
static struct rp_ht_addr place(const struct ring *ring, enum rp_ht_base window, uint32_t step)
{
    return rp_ht_at(window, 0, ring->lane.off + step % ring->places * ring->place_bytes);
}

// Before step `step` of a phase sends: its place was used by an earlier step of the phase.
static void wait_place(struct rp_list_builder *builder, const struct ring *ring, uint32_t step)
{
    if (step >= ring->places) {
        rp_build_wait(builder, ring->next);
    }
}

// What arrived in step `step` of a phase has been used, and a later step may want its place.
static void free_place(struct rp_list_builder *builder, const struct ring *ring, uint32_t step)
{
    if (step + ring->places + 1 < ring->request->size) {
        rp_build_signal(builder, ring->prev);
    }
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
        const struct rp_ht_addr arrived = place(ring, RP_HT_WIN_IN, step);
        const struct rp_fold inputs = { .off = arrived.off, .count = 2, .own = 1 };
        wait_place(builder, ring, step);
        send(builder, ring, arrived, partial, block_part(ring, out).bytes);
        if (step > 0) {
            free_place(builder, ring, step - 1); // the partial result lay there
        }
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
        const struct rp_ht_addr arrived = place(ring, window, step);
        wait_place(builder, ring, step);
        send(builder, ring, arrived, block_at(ring, RP_HT_RECV, out), block_part(ring, out).bytes);
        rp_build_wait(builder, ring->prev);
        rp_build_copy(builder, block_at(ring, RP_HT_RECV, in), arrived, block_part(ring, in).bytes);
        free_place(builder, ring, step);
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
                    rp_ht_at(RP_HT_WIN_IN, 0, ring->lane.off + part.off), part.bytes);
        }
        if (sends) {
            send(builder, ring, rp_ht_at(RP_HT_WIN_IN, 0, ring->lane.off + part.off),
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
        const struct rp_ht_addr arrived = rp_ht_at(RP_HT_WIN_IN, 0, ring->lane.off + part.off);
        struct rp_ht_addr partial = own;
        if (receives) {
            const struct rp_fold inputs = { .off = arrived.off, .count = 2, .own = 1 };
            partial = sends ? arrived : rp_ht_at(RP_HT_RECV, 0, part.off);
            rp_build_wait(builder, ring->prev);
            rp_build_reduce(builder, partial, own, part.bytes, &inputs);
        }
        if (sends) {
            send(builder, ring, arrived, partial, part.bytes);
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
                              : place(ring, RP_HT_WIN_IN, step);
        if (distance != 0) {
            rp_build_wait(builder, ring->prev);
        }
        wait_place(builder, ring, step);
        send(builder, ring, place(ring, RP_HT_WIN_IN, step), block, bytes);
        if (distance != 0 && step + ring->places < size - distance) {
            rp_build_signal(builder, ring->prev); // a later block wants this one's place
        }
    }
    if (distance == 0) {
        rp_build_copy(builder, output, rp_ht_at(RP_HT_SEND, request->rank, 0), bytes);
    } else {
        rp_build_wait(builder, ring->prev);
        rp_build_copy(builder, output, place(ring, RP_HT_WIN_IN, passed), bytes);
        rp_build_signal(builder, ring->prev);
    }
    if (passed != 0) {
        rp_build_wait(builder, ring->next);
    }
}

static uint64_t round_count(const struct rp_expand_request *request)
{
    const struct ring ring = make_ring(request);
    const uint64_t element = rp_expand_element_bytes(request);
    switch (request->op) {
    case RP_OP_ALL_REDUCE:
        return ring.place_bytes / element * request->size;
    case RP_OP_BROADCAST:
    case RP_OP_REDUCE:
        return ring.lane.bytes / element;
    default:
        return ring.place_bytes / element;
    }
}

static bool build(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    const struct ring ring = make_ring(request);
    switch (request->op) {
    case RP_OP_ALL_REDUCE:
        all_reduce(builder, &ring);
        return true;
    case RP_OP_REDUCE_SCATTER:
    case RP_OP_REDUCE_SCATTER_V:
        reduce_scatter(builder, &ring);
        return true;
    case RP_OP_ALL_GATHER:
    case RP_OP_ALL_GATHER_V:
        all_gather(builder, &ring);
        return true;
    case RP_OP_BROADCAST:
        broadcast(builder, &ring);
        return true;
    case RP_OP_REDUCE:
        reduce(builder, &ring);
        return true;
    case RP_OP_SCATTER:
        scatter(builder, &ring);
        return true;
    default:
        return false;
    }
}

const struct rp_algorithm_form rp_algorithm_ring = { .round_count = round_count, .build = build };
