// Recursive halving and doubling. With q the largest power of two <= p, the ranks 0 .. 2 (p - q) -
// 1 stand in pairs (2i, 2i + 1); one of each pair and all other ranks form a block of q. The rank
// of the block is b; m runs over the powers of two below q.
//
//   all-reduce      odd partners send everything to their even ones, which fold it; the vector is
//                   cut in q slices; m = q/2 .. 1: b and b ^ m swap the half that belongs to the
//                   other and fold; m = 1 .. q/2: they swap results; odd partners get the result
//   reduce-scatter  the same first half, over the op's blocks, of which a pair's rank has two
//   all-gather      the same second half
//   reduce          the first half of an all-reduce; m = 1 .. q/2: who is not on the root's side
//                   hands what it has of the result to b ^ m; an odd root gets it of its partner
//   broadcast       m = q/2 .. 1: who has the vector sends it to b ^ m; then to the partners
//   barrier         as all-reduce, with signals alone
//
// Cost for p = q and n bytes a rank: log2 q steps and n (q - 1) / q bytes, all-reduce twice that;
// otherwise two steps of n bytes more. Broadcast: ceil(log2 p) steps of n bytes. Slices are folded
// in an order that p alone decides, which is not that of the mesh.

#include "capture/expand_exchange.h"

#define NO_BLOCK UINT32_MAX

// Steps are numbered alike on all ranks; those of pairs are the first and the last.
#define FIRST_STEP 1
#define LAST_STEP 100

struct halving {
    struct rp_exchange x;
    uint32_t rank, size;
    uint32_t block;       // q
    uint32_t bits;        // log2 q
    uint32_t pairs;       // p - q
    uint32_t own;         // rank within the block; NO_BLOCK: none
    uint32_t odd;         // 1: the odd ranks of pairs are in the block
    struct rp_part whole; // of the region: what a partner sends or gets
    uint64_t swaps_off;   // of the region: a lane for each m, of m slices
    uint64_t slice_bytes; // room of one slice
    uint64_t tree_off;    // of the region: lanes of equal length
    uint64_t tree_bytes;
};

static void set_layout(struct halving *h, const struct rp_expand_request *request)
{
    const struct rp_part region = rp_expand_region(request, RP_REGION_HD);
    const uint64_t quarter = region.bytes / 4 - region.bytes / 4 % RP_CACHELINE;
    const uint32_t steps = rp_expand_log2(request->size);
    *h = (struct halving){
        .rank = request->rank,
        .size = request->size,
        .bits = UINT64_C(1) << steps > request->size ? steps - 1 : steps,
    };
    h->block = 1u << h->bits;
    h->pairs = h->size - h->block;
    const uint64_t whole = h->pairs == 0 ? 0 : quarter; // without pairs the swaps have this, too
    h->whole = (struct rp_part){ .off = region.off, .bytes = whole };
    h->swaps_off = region.off + whole;
    h->slice_bytes = rp_expand_limit((2 * quarter - whole) / h->block);
    h->tree_off = region.off + 2 * quarter;
    h->tree_bytes = rp_expand_limit(2 * quarter / (2 * h->bits + 1));
}

// `odd`: which rank of each pair is in the block.
static void set_block(struct halving *h, uint32_t odd)
{
    h->odd = odd;
    if (h->rank >= 2 * h->pairs) {
        h->own = h->rank - h->pairs;
    } else {
        h->own = h->rank % 2 == odd ? h->rank / 2 : NO_BLOCK;
    }
}

static uint32_t rank_of(const struct halving *h, uint32_t b)
{
    return b < h->pairs ? 2 * b + h->odd : b + h->pairs;
}

static bool in_pair(const struct halving *h)
{
    return h->rank < 2 * h->pairs;
}

static uint32_t partner(const struct halving *h)
{
    return h->rank ^ 1u;
}

// The slices of the block's ranks b .. b + m - 1: one each; of blocks two where there is a pair.
static struct rp_slice_set slices_of(const struct halving *h, uint32_t b, uint32_t m)
{
    uint32_t first = b;
    uint32_t end = b + m;
    if (h->x.blocks) {
        first += first < h->pairs ? first : h->pairs;
        end += end < h->pairs ? end : h->pairs;
    }
    return (struct rp_slice_set){ .first = first, .stride = 1, .count = end - first };
}

static struct rp_ht_addr whole_lane(const struct halving *h, enum rp_ht_base window)
{
    return rp_ht_at(window, 0, h->whole.off);
}

static struct rp_ht_addr swap_lane(const struct halving *h, enum rp_ht_base window, uint32_t m)
{
    return rp_ht_at(window, 0, h->swaps_off + (m - 1) * h->slice_bytes);
}

// The last step of a pair: what the partner outside the block lacks.
static void hand_back(struct halving *h, struct rp_ht_addr lane, const struct rp_slice_set *set)
{
    h->x.step = LAST_STEP;
    if (h->own == NO_BLOCK) {
        rp_exchange_take(&h->x, partner(h), lane, set);
    } else {
        rp_exchange_send(&h->x, partner(h), lane, set);
    }
}

static void halve(struct halving *h)
{
    for (uint32_t m = h->block / 2; m != 0; m /= 2) {
        const uint32_t other = h->own ^ m;
        const struct rp_slice_set out = slices_of(h, other & ~(m - 1), m);
        const struct rp_slice_set in = slices_of(h, h->own & ~(m - 1), m);
        const struct rp_ht_addr lane = swap_lane(h, RP_HT_WIN_IN, m);
        h->x.step++;
        rp_exchange_send(&h->x, rank_of(h, other), lane, &out);
        rp_exchange_fold(&h->x, rank_of(h, other), lane, &in, m == 1);
    }
}

static void redouble(struct halving *h)
{
    for (uint32_t m = 1; m < h->block; m *= 2) {
        const uint32_t other = h->own ^ m;
        const struct rp_slice_set out = slices_of(h, h->own & ~(m - 1), m);
        const struct rp_slice_set in = slices_of(h, other & ~(m - 1), m);
        const struct rp_ht_addr lane = swap_lane(h, RP_HT_WIN_OUT, m);
        h->x.step++;
        rp_exchange_send(&h->x, rank_of(h, other), lane, &out);
        rp_exchange_take(&h->x, rank_of(h, other), lane, &in);
    }
}

// Partners outside the block hand in their slices before it works, and get theirs after.
static void all_reduce(struct halving *h)
{
    const struct rp_slice_set all = rp_exchange_all(&h->x);
    if (h->own == NO_BLOCK) {
        rp_exchange_send(&h->x, partner(h), whole_lane(h, RP_HT_WIN_IN), &all);
        hand_back(h, whole_lane(h, RP_HT_WIN_OUT), &all);
        return;
    }
    if (in_pair(h)) {
        rp_exchange_fold(&h->x, partner(h), whole_lane(h, RP_HT_WIN_IN), &all, false);
    }
    halve(h);
    redouble(h);
    if (in_pair(h)) {
        hand_back(h, whole_lane(h, RP_HT_WIN_OUT), &all);
    }
}

// The slices of the result go to the root's rank of the block, twice as many in each step.
static void collect(struct halving *h, uint32_t top)
{
    for (uint32_t m = 1; m < h->block; m *= 2) {
        const uint32_t apart = (h->own ^ top) % (2 * m); // below m: still in
        const uint32_t other = h->own ^ m;
        const struct rp_ht_addr lane = swap_lane(h, RP_HT_WIN_OUT, m);
        h->x.step++;
        if (apart == m) {
            const struct rp_slice_set out = slices_of(h, h->own & ~(m - 1), m);
            rp_exchange_send(&h->x, rank_of(h, other), lane, &out);
        } else if (apart == 0) {
            const struct rp_slice_set in = slices_of(h, other & ~(m - 1), m);
            rp_exchange_take(&h->x, rank_of(h, other), lane, &in);
        }
    }
}

static void reduce(struct halving *h)
{
    const uint32_t root = h->x.request->root;
    const struct rp_slice_set all = rp_exchange_all(&h->x);
    const bool paired = root < 2 * h->pairs;
    const bool odd_root = paired && root % 2 != 0;
    const uint32_t top = paired ? root / 2 : root - h->pairs;
    if (h->own == NO_BLOCK) {
        rp_exchange_send(&h->x, partner(h), whole_lane(h, RP_HT_WIN_IN), &all);
    } else {
        if (in_pair(h)) {
            rp_exchange_fold(&h->x, partner(h), whole_lane(h, RP_HT_WIN_IN), &all, false);
        }
        halve(h);
        collect(h, top);
    }
    if (odd_root && (h->rank == root || h->own == top)) {
        hand_back(h, whole_lane(h, RP_HT_WIN_OUT), &all);
    }
}

static void reduce_scatter(struct halving *h)
{
    const struct rp_slice_set all = rp_exchange_all(&h->x);
    const uint32_t odd = h->rank | 1u;
    const struct rp_slice_set theirs = { .first = odd, .stride = 1, .count = 1 };
    if (h->own == NO_BLOCK) {
        rp_exchange_send(&h->x, partner(h), whole_lane(h, RP_HT_WIN_IN), &all);
        hand_back(h, whole_lane(h, RP_HT_WIN_OUT), &theirs);
        return;
    }
    if (in_pair(h)) {
        rp_exchange_fold(&h->x, partner(h), whole_lane(h, RP_HT_WIN_IN), &all, false);
    }
    halve(h);
    if (in_pair(h)) {
        hand_back(h, whole_lane(h, RP_HT_WIN_OUT), &theirs);
    }
}

static void all_gather(struct halving *h)
{
    const uint32_t odd = h->rank | 1u;
    const struct rp_slice_set theirs = { .first = odd, .stride = 1, .count = 1 };
    const struct rp_slice_set others = {
        .first = (odd + 1) % h->size,
        .stride = 1,
        .count = h->size - 1,
    };
    rp_build_copy(h->x.builder, rp_ht_at(RP_HT_RECV, h->rank, 0), rp_ht_at(RP_HT_SEND, 0, 0),
            h->x.request->count * rp_expand_element_bytes(h->x.request));
    if (h->own == NO_BLOCK) {
        rp_exchange_send(&h->x, partner(h), whole_lane(h, RP_HT_WIN_IN), &theirs);
        hand_back(h, whole_lane(h, RP_HT_WIN_OUT), &others);
        return;
    }
    if (in_pair(h)) {
        rp_exchange_take(&h->x, partner(h), whole_lane(h, RP_HT_WIN_IN), &theirs);
    }
    redouble(h);
    if (in_pair(h)) {
        hand_back(h, whole_lane(h, RP_HT_WIN_OUT), &others);
    }
}

// A rank hears of b ^ m, which is either one of a pair: a lane for each keeps to one writer a byte.
static struct rp_ht_addr tree_lane(const struct halving *h, uint32_t bit)
{
    const uint32_t index = bit == h->bits ? 2 * bit : 2 * bit + h->odd;
    return rp_ht_at(RP_HT_WIN_IN, 0, h->tree_off + index * h->tree_bytes);
}

static void broadcast(struct halving *h)
{
    const uint32_t root = h->x.request->root;
    const struct rp_slice_set all = rp_exchange_all(&h->x);
    set_block(h, root < 2 * h->pairs ? root % 2 : 0);
    const uint32_t top = root < 2 * h->pairs ? root / 2 : root - h->pairs;
    if (h->own == NO_BLOCK) {
        hand_back(h, tree_lane(h, h->bits), &all);
        return;
    }
    for (uint32_t bit = h->bits; bit-- > 0;) {
        const uint32_t m = 1u << bit;
        h->x.step++;
        const uint32_t below = (h->own ^ top) % (2 * m); // who has it: the multiples of 2m
        if (below == 0) {
            rp_exchange_send(&h->x, rank_of(h, h->own ^ m), tree_lane(h, bit), &all);
        } else if (below == m) {
            rp_exchange_take(&h->x, rank_of(h, h->own ^ m), tree_lane(h, bit), &all);
        }
    }
    if (in_pair(h)) {
        hand_back(h, tree_lane(h, h->bits), &all);
    }
}

static void barrier(struct halving *h, struct rp_list_builder *builder)
{
    if (h->own == NO_BLOCK) {
        rp_build_signal(builder, partner(h));
        rp_build_wait(builder, partner(h));
        return;
    }
    if (in_pair(h)) {
        rp_build_wait(builder, partner(h));
    }
    for (uint32_t m = h->block / 2; m != 0; m /= 2) {
        rp_build_signal(builder, rank_of(h, h->own ^ m));
        rp_build_wait(builder, rank_of(h, h->own ^ m));
    }
    if (in_pair(h)) {
        rp_build_signal(builder, partner(h));
    }
}

static uint64_t round_count(const struct rp_expand_request *request)
{
    struct halving h;
    set_layout(&h, request);
    const uint64_t element = rp_expand_element_bytes(request);
    switch (request->op) {
    case RP_OP_ALL_REDUCE:
    case RP_OP_REDUCE:
        return h.slice_bytes / element * h.block;
    case RP_OP_BROADCAST:
        return h.tree_bytes / element;
    default: // a pair's rank has two blocks
        return h.slice_bytes / element / (h.pairs == 0 ? 1 : 2);
    }
}

static bool build(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    struct halving h;
    set_layout(&h, request);
    set_block(&h, 0);
    if (request->op == RP_OP_BARRIER) {
        barrier(&h, builder);
        return true;
    }
    const bool blocks = request->op == RP_OP_REDUCE_SCATTER || request->op == RP_OP_ALL_GATHER;
    if (!rp_exchange_init(&h.x, builder, request, blocks ? h.size : h.block)) {
        return true;
    }
    h.x.step = FIRST_STEP;
    bool known = true;
    switch (request->op) {
    case RP_OP_ALL_REDUCE:
        all_reduce(&h);
        break;
    case RP_OP_REDUCE_SCATTER:
        reduce_scatter(&h);
        break;
    case RP_OP_REDUCE:
        reduce(&h);
        break;
    case RP_OP_ALL_GATHER:
        all_gather(&h);
        break;
    case RP_OP_BROADCAST:
        broadcast(&h);
        break;
    default:
        known = false;
        break;
    }
    rp_exchange_end(&h.x);
    return known;
}

const struct rp_algorithm_form rp_algorithm_hd = { .round_count = round_count, .build = build };
