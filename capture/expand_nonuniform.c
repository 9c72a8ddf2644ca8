// The steps of NHR and NB. With L = ceil(log2 p), "on" the direction of the sums, d = 2^s and
// c(s) = floor((p - 1 + d) / 2d), which add up to p - 1:
//
//   reduce-scatter  step s = 0 .. L-1: send to the rank d on its own slice and every 2d-th further
//                   on, c(s) in all; fold what comes from the rank d back
//   all-gather      the same steps in reverse: s = L-1 .. 0, to the rank d back
//   all-reduce      the two in turn, over slices of the vector
//   broadcast       large: the slices are scattered down the tree of the reduce-scatter, then
//                   gathered; small: the vector goes down a binomial tree
//   reduce          the mirror image of the broadcast: large: reduce-scatter, then the slices are
//                   gathered up its tree; small: the vector is folded up a binomial tree
//   scatter         the first half of a large broadcast, over the op's blocks
//   barrier         L steps, each a signal d on and one from d back
//
// Cost for p ranks and n bytes a rank: L steps, n (p - 1) / p bytes out and in; all-reduce and
// large broadcast twice that; small broadcast L steps of n bytes. Each slice is folded in an order
// that p alone decides: the same bits every time, though not those of the mesh.
//
// An all-reduce and a broadcast may lay their slices out as they like: in an order in which the
// slices of a step lie side by side, wholly so where p is a power of two.

#include "capture/expand_nonuniform.h"

#include "base/alloc.h"
#include "capture/expand_exchange.h"

// Where a tree's fewer steps outweigh that it sends everything in each.
#define TREE_BYTES_MAX (16u * 1024u)

struct walk {
    struct rp_exchange x;
    const struct rp_nonuniform *form;
    uint32_t rank, size, steps;
    struct rp_part slices; // of the region: a lane for each step, as long as its slices
    struct rp_part tree;   // of the region: lanes of equal length
    uint64_t slice_bytes;  // room of one slice
    uint64_t tree_bytes;   // length of a tree's lane
};

static void set_layout(struct walk *walk, const struct rp_nonuniform *form,
        const struct rp_expand_request *request)
{
    const struct rp_part region = rp_expand_region(request, form->region);
    const uint64_t half = region.bytes / 2 - region.bytes / 2 % RP_CACHELINE;
    *walk = (struct walk){
        .form = form,
        .rank = request->rank,
        .size = request->size,
        .steps = rp_expand_log2(request->size),
        .slices = { .off = region.off, .bytes = half },
        .tree = { .off = region.off + half, .bytes = half },
    };
    walk->slice_bytes = rp_expand_limit(half / (request->size - 1));
    walk->tree_bytes = rp_expand_limit(half / walk->steps);
}

// The rank `distance` on from `rank`, or back from it.
static uint32_t on(const struct walk *walk, uint32_t rank, uint32_t distance)
{
    const uint32_t step = distance % walk->size;
    return (rank + (walk->form->ahead ? step : walk->size - step)) % walk->size;
}

static uint32_t back(const struct walk *walk, uint32_t rank, uint32_t distance)
{
    return on(walk, rank, walk->size - distance % walk->size);
}

// How far on `rank` is from `base`.
static uint32_t distance_on(const struct walk *walk, uint32_t base, uint32_t rank)
{
    const uint32_t ahead = (rank + walk->size - base) % walk->size;
    return walk->form->ahead ? ahead : (walk->size - ahead) % walk->size;
}

static uint32_t slices_of_step(uint32_t size, uint32_t step)
{
    return (size - 1 + (1u << step)) >> (step + 1);
}

// `first` and every 2^(step + 1)-th slice further on.
static struct rp_slice_set every(
        const struct walk *walk, uint32_t first, uint32_t step, uint32_t count)
{
    return (struct rp_slice_set){
        .first = first,
        .stride = on(walk, 0, 2u << step),
        .count = count,
    };
}

static struct rp_ht_addr lane(const struct walk *walk, enum rp_ht_base window, uint32_t step)
{
    uint64_t before = 0;
    for (uint32_t s = 0; s < step; s++) {
        before += slices_of_step(walk->size, s);
    }
    return rp_ht_at(window, 0, walk->slices.off + before * walk->slice_bytes);
}

// Gives the exchange the order in which the slices of each step lie close together: round after
// round, those at even places of every group come before those at odd ones.
static bool arrange(struct walk *walk)
{
    struct rp_exchange *x = &walk->x;
    uint32_t *order = rp_calloc(2, walk->size * sizeof(*order)); // slices by position, and the next
    if (order == NULL) {
        x->builder->failed = true;
        return false;
    }
    uint32_t *next = order + walk->size;
    uint32_t *memory = order;
    for (uint32_t i = 0; i < walk->size; i++) {
        order[i] = i;
    }
    uint32_t length = walk->size;
    for (uint32_t step = 0; slices_of_step(walk->size, step) > 1; step++) {
        for (uint32_t i = 0; i < walk->size; i++) {
            const uint32_t at = i % length;
            const uint32_t to = at % 2 == 0 ? at / 2 : (length + 1) / 2 + at / 2;
            next[i - at + to] = order[i];
        }
        uint32_t *done = order;
        order = next;
        next = done;
        if (length % 2 != 0) {
            break;
        }
        length /= 2;
    }
    for (uint32_t i = 0; i < walk->size; i++) {
        x->position[order[i]] = i;
    }
    rp_free(memory);
    return true;
}

static void reduce_steps(struct walk *walk)
{
    for (uint32_t step = 0; step < walk->steps; step++) {
        const uint32_t count = slices_of_step(walk->size, step);
        const uint32_t to = on(walk, walk->rank, 1u << step);
        const struct rp_ht_addr at = lane(walk, RP_HT_WIN_IN, step);
        const struct rp_slice_set out = every(walk, to, step, count);
        const struct rp_slice_set in = every(walk, walk->rank, step, count);
        walk->x.step++;
        rp_exchange_send(&walk->x, to, at, &out);
        rp_exchange_fold(
                &walk->x, back(walk, walk->rank, 1u << step), at, &in, step + 1 == walk->steps);
    }
}

static void gather_steps(struct walk *walk)
{
    for (uint32_t step = walk->steps; step-- > 0;) {
        const uint32_t count = slices_of_step(walk->size, step);
        const uint32_t from = on(walk, walk->rank, 1u << step);
        const struct rp_ht_addr at = lane(walk, RP_HT_WIN_OUT, step);
        const struct rp_slice_set out = every(walk, walk->rank, step, count);
        const struct rp_slice_set in = every(walk, from, step, count);
        walk->x.step++;
        rp_exchange_send(&walk->x, back(walk, walk->rank, 1u << step), at, &out);
        rp_exchange_take(&walk->x, from, at, &in);
    }
}

// Rank r gets the slices that its part of the tree will need, from the rank d back, once that has
// its own: the ranks less than d on from the root.
static void scatter_steps(struct walk *walk)
{
    const uint32_t distance = distance_on(walk, walk->x.request->root, walk->rank);
    for (uint32_t step = 0; step < walk->steps; step++) {
        const uint32_t d = 1u << step;
        const struct rp_ht_addr at = lane(walk, RP_HT_WIN_IN, step);
        walk->x.step++;
        if (distance < d && distance + d < walk->size) {
            const uint32_t to = on(walk, walk->rank, d);
            const uint32_t count = (walk->size - 1 - distance - d) / (2 * d) + 1;
            const struct rp_slice_set out = every(walk, to, step, count);
            rp_exchange_send(&walk->x, to, at, &out);
        } else if (distance >= d && distance < 2 * d) {
            const uint32_t count = (walk->size - 1 - distance) / (2 * d) + 1;
            const struct rp_slice_set in = every(walk, walk->rank, step, count);
            rp_exchange_take(&walk->x, back(walk, walk->rank, d), at, &in);
        }
    }
}

// Far ranks first: a rank that is an odd multiple of d back from the root hears of the one d
// nearer.
static void tree_steps(struct walk *walk)
{
    const uint32_t distance = distance_on(walk, walk->rank, walk->x.request->root);
    const struct rp_slice_set all = rp_exchange_all(&walk->x);
    for (uint32_t step = walk->steps; step-- > 0;) {
        const uint32_t d = 1u << step;
        const struct rp_ht_addr at =
                rp_ht_at(RP_HT_WIN_OUT, 0, walk->tree.off + step * walk->tree_bytes);
        walk->x.step++;
        if (distance % (2 * d) == 0 && distance + d < walk->size) {
            rp_exchange_send(&walk->x, back(walk, walk->rank, d), at, &all);
        } else if (distance % (2 * d) == d) {
            rp_exchange_take(&walk->x, on(walk, walk->rank, d), at, &all);
        }
    }
}

// The scatter backwards: what a rank's part of the tree has of the result goes to the rank d back.
static void collect_steps(struct walk *walk)
{
    const uint32_t distance = distance_on(walk, walk->x.request->root, walk->rank);
    for (uint32_t step = walk->steps; step-- > 0;) {
        const uint32_t d = 1u << step;
        const struct rp_ht_addr at = lane(walk, RP_HT_WIN_OUT, step);
        walk->x.step++;
        if (distance < d && distance + d < walk->size) {
            const uint32_t from = on(walk, walk->rank, d);
            const uint32_t count = (walk->size - 1 - distance - d) / (2 * d) + 1;
            const struct rp_slice_set in = every(walk, from, step, count);
            rp_exchange_take(&walk->x, from, at, &in);
        } else if (distance >= d && distance < 2 * d) {
            const uint32_t count = (walk->size - 1 - distance) / (2 * d) + 1;
            const struct rp_slice_set out = every(walk, walk->rank, step, count);
            rp_exchange_send(&walk->x, back(walk, walk->rank, d), at, &out);
        }
    }
}

// The tree of a small broadcast backwards, near ranks first.
static void fold_steps(struct walk *walk)
{
    const uint32_t distance = distance_on(walk, walk->rank, walk->x.request->root);
    const struct rp_slice_set all = rp_exchange_all(&walk->x);
    for (uint32_t step = 0; step < walk->steps; step++) {
        const uint32_t d = 1u << step;
        const struct rp_ht_addr at =
                rp_ht_at(RP_HT_WIN_IN, 0, walk->tree.off + step * walk->tree_bytes);
        walk->x.step++;
        if (distance % (2 * d) == 0 && distance + d < walk->size) {
            rp_exchange_fold(&walk->x, back(walk, walk->rank, d), at, &all, false);
        } else if (distance % (2 * d) == d) {
            rp_exchange_send(&walk->x, on(walk, walk->rank, d), at, &all);
        }
    }
}

static void barrier(struct walk *walk, struct rp_list_builder *builder)
{
    for (uint32_t step = 0; step < walk->steps; step++) {
        rp_build_signal(builder, on(walk, walk->rank, 1u << step));
        rp_build_wait(builder, back(walk, walk->rank, 1u << step));
    }
}

static void all_gather(struct walk *walk)
{
    rp_build_copy(walk->x.builder, rp_ht_at(RP_HT_RECV, walk->rank, 0),
            rp_ht_at(RP_HT_SEND, rp_expand_one(walk->x.request, walk->rank), 0),
            walk->x.request->count * rp_expand_element_bytes(walk->x.request));
    gather_steps(walk);
}

static bool small(const struct walk *walk, const struct rp_expand_request *request)
{
    const uint64_t bytes = request->count * rp_expand_element_bytes(request);
    return walk->size == 2 || bytes <= rp_min_u64(walk->tree_bytes, TREE_BYTES_MAX);
}

static void broadcast(struct walk *walk)
{
    if (small(walk, walk->x.request)) {
        tree_steps(walk);
    } else if (arrange(walk)) {
        scatter_steps(walk);
        gather_steps(walk);
    }
}

static void reduce(struct walk *walk)
{
    if (small(walk, walk->x.request)) {
        fold_steps(walk);
    } else if (arrange(walk)) {
        reduce_steps(walk);
        collect_steps(walk);
    }
}

static void scatter(struct walk *walk)
{
    const struct rp_expand_request *request = walk->x.request;
    if (walk->rank == request->root) {
        rp_build_copy(walk->x.builder, rp_ht_at(RP_HT_RECV, 0, 0),
                rp_ht_at(RP_HT_SEND, walk->rank, 0),
                request->count * rp_expand_element_bytes(request));
    }
    scatter_steps(walk);
}

uint64_t rp_nonuniform_count(
        const struct rp_nonuniform *form, const struct rp_expand_request *request)
{
    struct walk walk;
    set_layout(&walk, form, request);
    const uint64_t elements = walk.slice_bytes / rp_expand_element_bytes(request);
    switch (request->op) {
    case RP_OP_ALL_REDUCE:
        return elements * request->size;
    case RP_OP_BROADCAST:
    case RP_OP_REDUCE:
        return request->size == 2 ? walk.tree_bytes / rp_expand_element_bytes(request)
                                  : elements * request->size;
    default:
        return elements;
    }
}

bool rp_nonuniform_build(const struct rp_nonuniform *form, struct rp_list_builder *builder,
        const struct rp_expand_request *request)
{
    struct walk walk;
    set_layout(&walk, form, request);
    if (request->op == RP_OP_BARRIER) {
        barrier(&walk, builder);
        return true;
    }
    if (!rp_exchange_init(&walk.x, builder, request, request->size)) {
        return true;
    }
    bool known = true;
    switch (request->op) {
    case RP_OP_ALL_REDUCE:
        if (arrange(&walk)) {
            reduce_steps(&walk);
            gather_steps(&walk);
        }
        break;
    case RP_OP_REDUCE_SCATTER:
    case RP_OP_REDUCE_SCATTER_V:
        reduce_steps(&walk);
        break;
    case RP_OP_REDUCE:
        reduce(&walk);
        break;
    case RP_OP_SCATTER:
        scatter(&walk);
        break;
    case RP_OP_ALL_GATHER:
    case RP_OP_ALL_GATHER_V:
        all_gather(&walk);
        break;
    case RP_OP_BROADCAST:
        broadcast(&walk);
        break;
    default:
        known = false;
        break;
    }
    rp_exchange_end(&walk.x);
    return known;
}
