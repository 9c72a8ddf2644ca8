// Holds: after a failure a peer may still read or write what the failed collectives named here. The
// owner may free it meanwhile, and aclrtFree succeeds; but the memory is parked, in place and with
// its pages, until the last hold on it is gone.

#include <pthread.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/util.h"
#include "transport/arena_internal.h"
#include "transport/memory.h"

// The part of [ptr, ptr + bytes) that lies in the arena; false: none.
static bool clip(const struct rp_arena *arena, const void *ptr, size_t bytes, struct rp_hold *part)
{
    uintptr_t base = (uintptr_t)arena->base;
    uintptr_t limit = base + arena->bytes;
    uintptr_t start = (uintptr_t)ptr;
    uintptr_t end = bytes > UINTPTR_MAX - start ? UINTPTR_MAX : start + bytes;
    start = start < base ? base : start;
    end = end > limit ? limit : end;
    if (start >= end) {
        return false;
    }
    *part = (struct rp_hold){ .start = start - base, .end = end - base, .count = 1 };
    return true;
}

static struct rp_hold *find(struct rp_arena *arena, const struct rp_hold *part)
{
    for (uint64_t i = 0; i < arena->hold_count; i++) {
        if (arena->hold[i].start == part->start && arena->hold[i].end == part->end) {
            return &arena->hold[i];
        }
    }
    return NULL;
}

static bool grow(struct rp_arena *arena)
{
    uint64_t room = 2 * arena->hold_room;
    struct rp_hold *grown = rp_realloc(arena->hold, room * sizeof(*grown));
    if (grown == NULL) {
        return false;
    }
    arena->hold = grown;
    arena->hold_room = room;
    return true;
}

void rp_arena_hold(struct rp_arena *arena, const void *ptr, size_t bytes)
{
    struct rp_hold part;
    if (!clip(arena, ptr, bytes, &part)) {
        return;
    }
    pthread_mutex_lock(&arena->lock);
    struct rp_hold *known = find(arena, &part);
    if (known != NULL) {
        known->count++;
    } else if (arena->hold_count < arena->hold_room || grow(arena)) {
        arena->hold[arena->hold_count++] = part;
    } else {
        arena->hold_all++;
        rp_log_warn("%s: no memory for a hold; everything is held", arena->what);
    }
    pthread_mutex_unlock(&arena->lock);
}

bool rp_arena_is_held(const struct rp_arena *arena, uint64_t start, uint64_t bytes)
{
    if (arena->hold_all > 0) {
        return true;
    }
    for (uint64_t i = 0; i < arena->hold_count; i++) {
        if (start < arena->hold[i].end && arena->hold[i].start < start + bytes) {
            return true;
        }
    }
    return false;
}

static void unpark_blocks(struct rp_arena *arena, struct rp_list *dead)
{
    rp_list_each(link, &arena->parked_blocks)
    {
        struct rp_block *block = rp_container_of(link, struct rp_block, link);
        if (!rp_arena_is_held(arena, block->start, block->bytes)) {
            rp_list_remove(link);
            block->use = RP_BLOCK_MOVING;
            rp_list_push_back(dead, link);
        }
    }
}

static void unpark_pieces(struct rp_arena *arena, struct rp_slab *slab, struct rp_list *dead)
{
    uint64_t bytes = rp_slab_class_bytes((int)slab->size_class);
    bool empty = false;
    for (uint32_t i = 0; i < slab->count; i++) {
        bool parked = (slab->parked[i / 64] >> (i % 64) & 1) != 0;
        if (parked && !rp_arena_is_held(arena, slab->block->start + i * bytes, bytes)) {
            rp_slabs_unpark(slab, i);
            empty = rp_slabs_put(&arena->slabs, slab, slab->block->kind - RP_ARENA_DEVICE, i);
        }
    }
    if (empty) {
        slab->block->use = RP_BLOCK_MOVING;
        slab->block->owner = NULL;
        rp_list_push_back(dead, &slab->block->link);
        rp_free(slab);
    }
}

// Takes out of parking whatever no hold is left on; blocks to be given back go to `dead`.
static void unpark(struct rp_arena *arena, struct rp_list *dead)
{
    unpark_blocks(arena, dead);
    rp_list_each(link, &arena->slabs.parked)
    {
        unpark_pieces(arena, rp_container_of(link, struct rp_slab, parked_link), dead);
    }
    rp_list_each(link, &arena->parked_ranges)
    {
        (void)rp_range_unhold(arena, rp_container_of(link, struct rp_range, parked_link));
    }
}

void rp_arena_unhold(struct rp_arena *arena, const void *ptr, size_t bytes)
{
    struct rp_hold part;
    struct rp_list dead = RP_LIST_INIT(dead);
    if (!clip(arena, ptr, bytes, &part)) {
        return;
    }
    pthread_mutex_lock(&arena->lock);
    struct rp_hold *known = find(arena, &part);
    bool last = false;
    if (known == NULL) {
        last = arena->hold_all > 0 && --arena->hold_all == 0;
    } else if (--known->count == 0) {
        *known = arena->hold[--arena->hold_count];
        last = true;
    }
    if (last) {
        unpark(arena, &dead);
    }
    pthread_mutex_unlock(&arena->lock);
    rp_list_each(link, &dead)
    {
        rp_list_remove(link);
        rp_arena_give_back(arena, rp_container_of(link, struct rp_block, link));
    }
}
