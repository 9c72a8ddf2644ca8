#include "capture/expand_exchange.h"

#include <string.h>

#include "base/alloc.h"

// A run of slices that lie side by side at both ends of a move.
struct run {
    struct rp_ht_addr dst;
    struct rp_ht_addr src;
    uint64_t lane_off; // of the arrived bytes in the lane
    uint64_t bytes;
};

static struct rp_part slice_part(const struct rp_exchange *x, uint32_t position)
{
    if (!x->blocks) {
        return rp_expand_part(x->request, position, x->parts);
    }
    return (struct rp_part){ .bytes = x->request->count * rp_expand_element_bytes(x->request) };
}

static struct rp_ht_addr slice_at(
        const struct rp_exchange *x, enum rp_ht_base base, uint32_t position)
{
    return rp_ht_at(base, x->blocks ? position : 0, slice_part(x, position).off);
}

// A reduction to one root: who is not the root has no output, who is has a place for every slice.
static bool is_target(const struct rp_exchange *x)
{
    return x->request->op == RP_OP_REDUCE && x->request->rank == x->request->root;
}

// Whether the output has a place for the slice at `position`; a reduce-scatter's and a scatter's
// only have one.
static bool has_home(const struct rp_exchange *x, uint32_t position)
{
    if (x->request->op == RP_OP_REDUCE) {
        return is_target(x);
    }
    return !x->keeps || position == x->request->rank;
}

static struct rp_ht_addr home(const struct rp_exchange *x, uint32_t position)
{
    const bool one = x->keeps && x->request->op != RP_OP_REDUCE;
    return one ? rp_ht_at(RP_HT_RECV, rp_expand_one(x->request, x->request->rank), 0)
               : slice_at(x, RP_HT_RECV, position);
}

bool rp_exchange_init(struct rp_exchange *x, struct rp_list_builder *builder,
        const struct rp_expand_request *request, uint32_t parts)
{
    const bool gathers = request->op == RP_OP_ALL_GATHER || request->op == RP_OP_ALL_GATHER_V;
    const bool deals = request->op == RP_OP_REDUCE_SCATTER ||
                       request->op == RP_OP_REDUCE_SCATTER_V || request->op == RP_OP_SCATTER;
    *x = (struct rp_exchange){
        .request = request,
        .builder = builder,
        .parts = parts,
        .blocks = gathers || deals,
        .keeps = deals || request->op == RP_OP_REDUCE,
    };
    const size_t each = sizeof(*x->at) + sizeof(*x->position) + sizeof(*x->wanted);
    const size_t steps = 2 * request->size * sizeof(*x->heard);
    x->memory = rp_calloc(1, parts * each + steps);
    if (x->memory == NULL) {
        builder->failed = true;
        return false;
    }
    x->at = x->memory;
    x->position = (uint32_t *)(void *)(x->at + parts);
    x->heard = (uint16_t *)(void *)(x->position + parts);
    x->told = x->heard + request->size;
    x->wanted = (uint8_t *)(x->told + request->size);
    for (uint32_t i = 0; i < parts; i++) {
        x->at[i] = slice_at(x, gathers ? RP_HT_RECV : RP_HT_SEND, i);
        x->position[i] = i;
    }
    return true;
}

static void mark(struct rp_exchange *x, const struct rp_slice_set *set)
{
    memset(x->wanted, 0, x->parts);
    uint64_t slice = set->first;
    for (uint32_t i = 0; i < set->count; i++) {
        x->wanted[x->position[slice]] = 1;
        slice = (slice + set->stride) % x->parts;
    }
}

static bool follows(struct rp_ht_addr a, uint64_t bytes, struct rp_ht_addr b)
{
    return a.base == b.base && a.block == b.block && a.off + bytes == b.off;
}

// Adds a slice to the run; false when it begins another.
static bool extend(struct run *run, struct rp_ht_addr dst, struct rp_ht_addr src, uint64_t bytes)
{
    if (run->bytes == 0) {
        run->dst = dst;
        run->src = src;
    } else if (!follows(run->dst, run->bytes, dst) || !follows(run->src, run->bytes, src)) {
        return false;
    }
    run->bytes += bytes;
    return true;
}

static void next_run(struct run *run)
{
    run->lane_off += run->bytes;
    run->bytes = 0;
}

void rp_exchange_send(
        struct rp_exchange *x, uint32_t peer, struct rp_ht_addr to, const struct rp_slice_set *set)
{
    mark(x, set);
    struct run run = { .bytes = 0 };
    for (uint32_t i = 0; i < x->parts; i++) {
        const uint64_t bytes = x->wanted[i] ? slice_part(x, i).bytes : 0;
        struct rp_ht_addr dst = to;
        dst.off += run.lane_off + run.bytes;
        if (bytes != 0 && !extend(&run, dst, x->at[i], bytes)) {
            rp_build_put(x->builder, peer, run.dst, run.src, run.bytes);
            next_run(&run);
            (void)extend(&run, dst, x->at[i], bytes);
        }
    }
    rp_build_put(x->builder, peer, run.dst, run.src, run.bytes);
    rp_build_signal(x->builder, peer);
    x->told[peer] = x->step;
}

// One run of arrived data: dst <- arrived + src.
static void fold_run(struct rp_exchange *x, struct rp_ht_addr from, const struct run *run)
{
    const struct rp_fold inputs = { .off = from.off + run->lane_off, .count = 2, .own = 1 };
    rp_build_reduce(x->builder, run->dst, run->src, run->bytes, &inputs);
}

void rp_exchange_fold(struct rp_exchange *x, uint32_t peer, struct rp_ht_addr from,
        const struct rp_slice_set *set, bool last)
{
    const bool everywhere = !x->keeps || is_target(x);
    rp_build_wait(x->builder, peer);
    x->heard[peer] = x->step;
    mark(x, set);
    struct run run = { .bytes = 0 };
    for (uint32_t i = 0; i < x->parts; i++) {
        const uint64_t bytes = x->wanted[i] ? slice_part(x, i).bytes : 0;
        if (bytes == 0) {
            continue;
        }
        struct rp_ht_addr dst = from;
        dst.off += run.lane_off + run.bytes;
        if (everywhere || (last && has_home(x, i))) {
            dst = home(x, i);
        }
        if (!extend(&run, dst, x->at[i], bytes)) {
            fold_run(x, from, &run);
            next_run(&run);
            (void)extend(&run, dst, x->at[i], bytes);
        }
        x->at[i] = dst;
    }
    fold_run(x, from, &run);
}

void rp_exchange_take(struct rp_exchange *x, uint32_t peer, struct rp_ht_addr from,
        const struct rp_slice_set *set)
{
    rp_build_wait(x->builder, peer);
    x->heard[peer] = x->step;
    if (x->request->op == RP_OP_BROADCAST && x->request->rank == x->request->root) {
        return; // it sent this itself
    }
    mark(x, set);
    struct run run = { .bytes = 0 };
    for (uint32_t i = 0; i < x->parts; i++) {
        const uint64_t bytes = x->wanted[i] ? slice_part(x, i).bytes : 0;
        if (bytes == 0) {
            continue;
        }
        struct rp_ht_addr src = from;
        src.off += run.lane_off + run.bytes;
        if (!has_home(x, i)) {
            rp_build_copy(x->builder, run.dst, run.src, run.bytes);
            next_run(&run);
            x->at[i] = src;
            run.lane_off += bytes;
            continue;
        }
        const struct rp_ht_addr dst = home(x, i);
        if (!extend(&run, dst, src, bytes)) {
            rp_build_copy(x->builder, run.dst, run.src, run.bytes);
            next_run(&run);
            (void)extend(&run, dst, src, bytes);
        }
        x->at[i] = dst;
    }
    rp_build_copy(x->builder, run.dst, run.src, run.bytes);
}

// What was sent in a later step than `step` says that all was used which had come until then. Where
// sums or blocks stay where they arrived it does not.
static bool told_by(const struct rp_exchange *x, uint16_t step, uint16_t later)
{
    return later > step && !x->keeps;
}

void rp_exchange_end(struct rp_exchange *x)
{
    for (uint32_t peer = 0; peer < x->request->size; peer++) {
        if (x->heard[peer] != 0 && !told_by(x, x->heard[peer], x->told[peer])) {
            rp_build_signal(x->builder, peer);
        }
    }
    for (uint32_t peer = 0; peer < x->request->size; peer++) {
        if (x->told[peer] != 0 && !told_by(x, x->told[peer], x->heard[peer])) {
            rp_build_wait(x->builder, peer);
        }
    }
    rp_free(x->memory);
    x->memory = NULL;
}
