// Two levels: geometry, what the operators share, and the translation of lists between the nodes.

#include "capture/expand_levels.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"

// ---- geometry ----

void rp_level_find(const struct rp_levels *l, uint32_t rank, uint32_t *node, uint32_t *card)
{
    for (uint32_t n = 0; n < l->nodes; n++) {
        for (uint32_t c = 0; c < rp_level_cards(l, n); c++) {
            if (rp_level_rank(l, n, c) == rank) {
                *node = n;
                *card = c;
            }
        }
    }
}

static struct rp_levels make_levels(const struct rp_expand_request *request)
{
    const struct rp_part region = rp_expand_region(request, RP_REGION_LEVELS);
    const uint64_t half = region.bytes / 2 - region.bytes / 2 % RP_CACHELINE;
    struct rp_levels l = {
        .request = request,
        .nodes = request->layout->nodes,
        .planes = rp_layout_least(request->layout),
        .most = request->layout->cards,
        .slot_off = region.off,
        .between = { .off = region.off + half, .bytes = half },
    };
    const uint64_t slot = half / l.most;
    l.slot_bytes = slot - slot % RP_CACHELINE;
    l.wide = (l.most + l.planes - 1) / l.planes;
    l.bytes = request->op == RP_OP_BARRIER ? 0 : request->count * rp_expand_element_bytes(request);
    rp_level_find(&l, request->rank, &l.node, &l.card);
    l.cards = rp_level_cards(&l, l.node);
    l.acts = l.card < l.planes;
    return l;
}

static struct rp_expand_request between_request(
        const struct rp_levels *l, uint16_t op, uint32_t root_node, uint64_t count)
{
    const struct rp_expand_request *request = l->request;
    return (struct rp_expand_request){
        .op = op,
        .dtype = request->dtype,
        .reduce = request->reduce,
        .algorithm = request->algorithm & (uint8_t)~RP_TWO_LEVELS,
        .nested = true,
        .root = root_node,
        .rank = l->node,
        .size = l->nodes,
        .count = count,
        .window_bytes = l->between.bytes,
    };
}

// What the operator is between the nodes.
static uint16_t plain_op(uint16_t op)
{
    switch (op) {
    case RP_OP_ALL_GATHER_V:
        return RP_OP_ALL_GATHER;
    case RP_OP_REDUCE_SCATTER_V:
        return RP_OP_REDUCE_SCATTER;
    default:
        return op;
    }
}

// ---- within the node ----

void rp_level_put(struct rp_levels *l, uint32_t card, struct rp_ht_addr dst, struct rp_ht_addr src,
        uint64_t bytes)
{
    rp_build_put(l->builder, rp_level_near(l, card), dst, src, bytes);
}

void rp_level_fold(struct rp_levels *l, struct rp_ht_addr dst, struct rp_ht_addr own, uint64_t off,
        uint64_t bytes)
{
    const struct rp_fold inputs = {
        .off = l->slot_off + off,
        .step = l->slot_bytes,
        .count = l->cards,
        .own = l->card,
    };
    if (l->cards == 1) {
        rp_build_copy(l->builder, dst, own, bytes);
    } else {
        rp_build_reduce(l->builder, dst, own, bytes, &inputs);
    }
}

void rp_level_signal(struct rp_levels *l, uint32_t end)
{
    for (uint32_t step = 1; step < l->cards; step++) {
        if (rp_level_other(l, step) < end) {
            rp_build_signal(l->builder, rp_level_near(l, rp_level_other(l, step)));
        }
    }
}

void rp_level_wait(struct rp_levels *l, uint32_t end)
{
    for (uint32_t step = 1; step < l->cards; step++) {
        if (rp_level_other(l, step) < end) {
            rp_build_wait(l->builder, rp_level_near(l, rp_level_other(l, step)));
        }
    }
}

// ---- between the nodes ----

// `at` of a list between the nodes, as it is here; `*room`: bytes that lie side by side from there.
static struct rp_ht_addr translate(const struct rp_levels *l, const struct rp_level_map *map,
        struct rp_ht_addr at, uint64_t *room)
{
    if (at.base == RP_HT_WIN_IN || at.base == RP_HT_WIN_OUT) {
        at.off += l->between.off;
        *room = UINT64_MAX;
        return at;
    }
    const struct rp_ht_addr *pieces = at.base == RP_HT_SEND ? map->send : map->recv;
    const uint64_t index = (uint64_t)at.block * map->pieces + at.off / map->piece_bytes;
    const uint64_t within = at.off % map->piece_bytes;
    struct rp_ht_addr here = pieces[index];
    here.off += within;
    *room = map->piece_bytes - within;
    return here;
}

// One stretch of a task that lies side by side at both ends.
static void add_stretch(struct rp_levels *l, const struct rp_ht_task *task, struct rp_ht_addr dst,
        struct rp_ht_addr src, uint64_t done, uint64_t bytes)
{
    const struct rp_fold inputs = {
        .off = l->between.off + task->fold_off + done,
        .step = task->fold_step,
        .count = task->fold_count,
        .own = task->fold_own,
    };
    const bool same = dst.base == src.base && dst.block == src.block && dst.off == src.off;
    if (dst.base == RP_HT_NOWHERE || src.base == RP_HT_NOWHERE) {
        return;
    }
    switch ((enum rp_ht_kind)task->kind) {
    case RP_HT_PUT:
        rp_build_put(l->builder, rp_level_rank(l, task->peer, l->card), dst, src, bytes);
        break;
    case RP_HT_REDUCE:
        rp_build_reduce(l->builder, dst, src, bytes, &inputs);
        break;
    default:
        if (!same) {
            rp_build_copy(l->builder, dst, src, bytes);
        }
        break;
    }
}

static void add_move(
        struct rp_levels *l, const struct rp_level_map *map, const struct rp_ht_task *task)
{
    struct rp_ht_addr dst = task->dst;
    struct rp_ht_addr src = task->src;
    uint64_t bytes = 0;
    for (uint64_t done = 0; done < task->bytes; done += bytes) {
        uint64_t dst_room = 0;
        uint64_t src_room = 0;
        const struct rp_ht_addr to = translate(l, map, dst, &dst_room);
        const struct rp_ht_addr from = translate(l, map, src, &src_room);
        bytes = rp_min_u64(task->bytes - done, rp_min_u64(dst_room, src_room));
        add_stretch(l, task, to, from, done, bytes);
        dst.off += bytes;
        src.off += bytes;
    }
}

static void add_task(
        struct rp_levels *l, const struct rp_level_map *map, const struct rp_ht_task *task)
{
    switch ((enum rp_ht_kind)task->kind) {
    case RP_HT_SIGNAL:
        rp_build_signal(l->builder, rp_level_rank(l, task->peer, l->card));
        break;
    case RP_HT_WAIT:
        rp_build_wait(l->builder, rp_level_rank(l, task->peer, l->card));
        break;
    default:
        add_move(l, map, task);
        break;
    }
}

bool rp_level_between(struct rp_levels *l, uint16_t op, uint32_t root_node, uint64_t count,
        const struct rp_level_map *map)
{
    if (count == 0) {
        return true; // a slice of a vector that has fewer elements than planes
    }
    const struct rp_expand_request request = between_request(l, op, root_node, count);
    struct rp_task_list *list = NULL;
    const rp_status st = rp_expand(&request, &list);
    if (st != RP_OK) {
        assert(st == RP_ENOMEM || st == RP_ENOTSUP);
        l->builder->failed = l->builder->failed || st == RP_ENOMEM;
        return st == RP_ENOMEM;
    }
    for (uint32_t i = 0; i < list->task_count; i++) {
        add_task(l, map, &list->task[i]);
    }
    rp_free(list);
    return true;
}

bool rp_level_can(const struct rp_levels *l)
{
    const unsigned algorithm = l->request->algorithm & ~RP_TWO_LEVELS;
    return l->wide == 1 || algorithm == RP_ALGORITHM_MESH || algorithm == RP_ALGORITHM_PAIRWISE ||
           algorithm == RP_ALGORITHM_STAR;
}

bool rp_level_map_create(struct rp_levels *l, struct rp_level_map *map, uint32_t pieces)
{
    const size_t count = (size_t)l->nodes * pieces;
    *map = (struct rp_level_map){ .pieces = pieces, .piece_bytes = l->bytes };
    map->send = rp_calloc(2 * count, sizeof(*map->send));
    if (map->send == NULL) {
        l->builder->failed = true;
        return false;
    }
    map->recv = map->send + count;
    for (size_t i = 0; i < 2 * count; i++) {
        map->send[i] = rp_level_nowhere();
    }
    return true;
}

bool rp_level_blocks(struct rp_levels *l, uint16_t op, uint32_t root_node, struct rp_level_map *map)
{
    const uint64_t count = l->request->count * map->pieces;
    const bool known = rp_level_between(l, op, root_node, count, map);
    rp_free(map->send);
    return known;
}

// ---- rounds ----

// Blocks that must find room in a slot within the node, and in a block between the nodes.
static void shares_of(const struct rp_levels *l, uint64_t *near, uint64_t *far)
{
    const bool uneven = l->wide > 1;
    *near = (uint64_t)l->nodes * l->wide;
    *far = l->wide;
    if (l->request->op == RP_OP_SCATTER) {
        *near = uneven ? (uint64_t)l->nodes * l->most : l->most;
        *far = l->most;
    } else if (l->request->op == RP_OP_ALLTOALL) {
        *near *= uneven ? l->most : 1;
        *far *= l->most;
    }
}

static uint64_t round_count(const struct rp_expand_request *request)
{
    const struct rp_levels l = make_levels(request);
    const uint16_t op = plain_op(request->op);
    const struct rp_expand_request between = between_request(&l, op, 0, 0);
    const uint64_t element = rp_expand_element_bytes(request);
    const uint64_t far_most = rp_expand_round_count(&between);
    if (op == RP_OP_ALL_REDUCE || op == RP_OP_REDUCE || op == RP_OP_BROADCAST) {
        const uint64_t bytes = rp_min_u64(l.slot_bytes, far_most * element);
        return rp_expand_limit(bytes) / element * l.planes;
    }
    uint64_t near = 0;
    uint64_t far = 0;
    shares_of(&l, &near, &far);
    return rp_min_u64(l.slot_bytes / element / near, far_most / far);
}

static bool build(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    struct rp_levels l = make_levels(request);
    l.builder = builder;
    switch (request->op) {
    case RP_OP_ALL_REDUCE:
        return rp_levels_all_reduce(&l);
    case RP_OP_REDUCE:
        return rp_levels_reduce(&l);
    case RP_OP_BROADCAST:
        return rp_levels_broadcast(&l);
    case RP_OP_REDUCE_SCATTER:
    case RP_OP_REDUCE_SCATTER_V:
        return rp_levels_reduce_scatter(&l);
    case RP_OP_ALL_GATHER:
    case RP_OP_ALL_GATHER_V:
        return rp_levels_all_gather(&l);
    case RP_OP_SCATTER:
        return rp_levels_scatter(&l);
    case RP_OP_ALLTOALL:
        return rp_levels_alltoall(&l);
    case RP_OP_BARRIER:
        return rp_levels_barrier(&l);
    default:
        return false;
    }
}

const struct rp_algorithm_form rp_algorithm_levels = { .round_count = round_count, .build = build };
