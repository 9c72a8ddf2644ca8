// Reserved address ranges: part of the arena's addresses without memory, which is put under it and
// taken away granule by granule. Peers reach what is backed like any other memory of the arena.
//
// The pages of an unbacked granule are given back under the arena's lock, unlike a freed block's: a
// place between "backed" and "not backed" would need a third map, and the call is rare.

#include <pthread.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/util.h"
#include "transport/arena_internal.h"
#include "transport/memory.h"

// Granules [first, last) of a range.
struct part {
    struct rp_range *range;
    uint64_t first;
    uint64_t last;
};

static bool bit_get(const uint64_t *words, uint64_t index)
{
    return (words[index / 64] >> (index % 64) & 1) != 0;
}

static void bit_put(uint64_t *words, uint64_t index, bool value)
{
    uint64_t bit = UINT64_C(1) << (index % 64);
    words[index / 64] = value ? words[index / 64] | bit : words[index / 64] & ~bit;
}

static uint64_t granule_start(const struct rp_range *range, uint64_t index)
{
    return range->block->start + index * RP_ARENA_GRANULE;
}

static struct rp_range *range_create(uint64_t granules)
{
    uint64_t words = (granules + 63) / 64;
    struct rp_range *range = rp_calloc(1, sizeof(*range) + 2 * words * sizeof(uint64_t));
    if (range != NULL) {
        range->granules = granules;
        range->backed = (uint64_t *)(void *)(range + 1);
        range->parked = range->backed + words;
        rp_list_init(&range->parked_link);
    }
    return range;
}

void rp_range_free(struct rp_range *range)
{
    rp_free(range);
}

rp_status rp_arena_reserve(struct rp_arena *arena, size_t bytes, void **out)
{
    if (bytes == 0 || bytes % RP_ARENA_GRANULE != 0) {
        return rp_fail(RP_EPARAM, "size %zu is not a multiple of the granularity, %u", bytes,
                RP_ARENA_GRANULE);
    }
    struct rp_range *range = range_create(bytes / RP_ARENA_GRANULE);
    if (range == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the books of a reserved address range");
    }
    pthread_mutex_lock(&arena->lock);
    uint64_t largest = rp_blocks_largest(&arena->blocks);
    rp_status st = rp_blocks_carve(
            &arena->blocks, bytes, RP_ARENA_GRANULE, (uintptr_t)arena->base, &range->block);
    if (st == RP_OK) {
        range->block->owner = range;
        range->block->use = RP_BLOCK_RANGE;
        *out = arena->base + range->block->start;
    }
    pthread_mutex_unlock(&arena->lock);
    if (st != RP_OK) {
        rp_free(range);
        return rp_fail(RP_ENOMEM,
                "%s: %zu bytes of address space are needed, the largest piece left has %llu; raise "
                "REPRISE_DEVICE_MEMORY",
                arena->what, bytes, (unsigned long long)largest);
    }
    return RP_OK;
}

// The range that holds `ptr`; NULL: none. Under the lock.
static struct rp_range *range_at(struct rp_arena *arena, const void *ptr, uint64_t *offset)
{
    if (!rp_arena_contains(arena, ptr, 1, offset)) {
        return NULL;
    }
    struct rp_block *block = rp_blocks_at(&arena->blocks, *offset);
    struct rp_range *range = block->use == RP_BLOCK_RANGE ? block->owner : NULL;
    return range == NULL || range->released ? NULL : range;
}

// Frees the range and its addresses. Under the lock.
static void range_drop(struct rp_arena *arena, struct rp_range *range)
{
    rp_blocks_release(&arena->blocks, range->block);
    rp_free(range);
}

rp_status rp_arena_release(struct rp_arena *arena, void *ptr)
{
    uint64_t offset;
    uint64_t backed = 0;
    pthread_mutex_lock(&arena->lock);
    struct rp_range *range = range_at(arena, ptr, &offset);
    bool found = range != NULL && range->block->start == offset;
    if (found) {
        backed = range->backed_count;
        if (backed == 0 && range->parked_count > 0) {
            range->released = true; // rp_range_unhold drops it
        } else if (backed == 0) {
            range_drop(arena, range);
        }
    }
    pthread_mutex_unlock(&arena->lock);
    if (!found) {
        return rp_fail(RP_EPARAM, "address %p is not the start of a reserved range", ptr);
    }
    if (backed > 0) {
        return rp_fail(RP_EPARAM, "the range at %p still has %llu bytes of memory mapped", ptr,
                (unsigned long long)backed * RP_ARENA_GRANULE);
    }
    return RP_OK;
}

// The granules of [ptr, ptr + bytes). Under the lock; not described.
static rp_status find_part(
        struct rp_arena *arena, const void *ptr, uint64_t bytes, struct part *part)
{
    uint64_t offset;
    struct rp_range *range = range_at(arena, ptr, &offset);
    if (range == NULL) {
        return RP_ENOTFOUND;
    }
    uint64_t within = offset - range->block->start;
    if (within % RP_ARENA_GRANULE != 0 || bytes == 0 || bytes % RP_ARENA_GRANULE != 0 ||
            bytes > range->block->bytes - within) {
        return RP_EPARAM;
    }
    part->range = range;
    part->first = within / RP_ARENA_GRANULE;
    part->last = part->first + bytes / RP_ARENA_GRANULE;
    return RP_OK;
}

static rp_status describe(rp_status st, const void *ptr, uint64_t bytes)
{
    unsigned long long size = bytes;
    switch (st) {
    case RP_ENOTFOUND:
        return rp_fail(RP_EPARAM, "address %p is in no reserved range", ptr);
    case RP_EPARAM:
        return rp_fail(st,
                "%llu bytes at %p are not whole granules (%u bytes) within one reserved range",
                size, ptr, RP_ARENA_GRANULE);
    case RP_EBUSY:
        return rp_fail(st, "a peer may still use %llu bytes at %p: a collective failed on them",
                size, ptr);
    case RP_EHANDLE:
        return rp_fail(RP_EPARAM, "part of %llu bytes at %p has memory mapped already", size, ptr);
    case RP_ENOTSET:
        return rp_fail(RP_EPARAM, "part of %llu bytes at %p has no memory mapped", size, ptr);
    default:
        return st;
    }
}

// Says that the granules have (no) pages, which the budget follows. Under the lock.
static void mark_backed(struct rp_arena *arena, const struct part *part, bool backed)
{
    uint64_t count = part->last - part->first;
    for (uint64_t i = part->first; i < part->last; i++) {
        bit_put(part->range->backed, i, backed);
    }
    if (backed) {
        part->range->backed_count += count;
    } else {
        part->range->backed_count -= count;
        arena->used_bytes -= count * RP_ARENA_GRANULE;
    }
}

rp_status rp_arena_back(struct rp_arena *arena, void *ptr, size_t bytes)
{
    struct part part;
    pthread_mutex_lock(&arena->lock);
    rp_status st = find_part(arena, ptr, bytes, &part);
    for (uint64_t i = st == RP_OK ? part.first : 1; st == RP_OK && i < part.last; i++) {
        st = bit_get(part.range->backed, i)   ? RP_EHANDLE
             : bit_get(part.range->parked, i) ? RP_EBUSY
                                              : RP_OK;
    }
    if (st == RP_OK && !rp_arena_charge(arena, bytes)) {
        st = RP_ENOMEM;
    }
    if (st == RP_OK) {
        mark_backed(arena, &part, true); // before the pages are there: nobody else may back it now
    }
    pthread_mutex_unlock(&arena->lock);
    if (st == RP_ENOMEM) {
        return rp_arena_short(arena, bytes);
    }
    if (st != RP_OK) {
        return describe(st, ptr, bytes);
    }
    st = rp_memory_reserve(arena->fd, granule_start(part.range, part.first), bytes, arena->what);
    if (st != RP_OK) {
        pthread_mutex_lock(&arena->lock);
        mark_backed(arena, &part, false);
        pthread_mutex_unlock(&arena->lock);
    }
    return st;
}

// Parks one backed granule instead of unbacking it.
static void park(struct rp_arena *arena, struct rp_range *range, uint64_t index)
{
    bit_put(range->parked, index, true);
    if (range->parked_count++ == 0) {
        rp_list_push_back(&arena->parked_ranges, &range->parked_link);
    }
    arena->used_bytes += RP_ARENA_GRANULE; // its pages stay
}

rp_status rp_arena_unback(struct rp_arena *arena, void *ptr, size_t bytes)
{
    struct part part;
    pthread_mutex_lock(&arena->lock);
    rp_status st = find_part(arena, ptr, bytes, &part);
    for (uint64_t i = st == RP_OK ? part.first : 1; st == RP_OK && i < part.last; i++) {
        st = bit_get(part.range->backed, i) ? RP_OK : RP_ENOTSET;
    }
    if (st == RP_OK) {
        mark_backed(arena, &part, false);
        for (uint64_t i = part.first; i < part.last; i++) {
            uint64_t start = granule_start(part.range, i);
            if (rp_arena_is_held(arena, start, RP_ARENA_GRANULE)) {
                park(arena, part.range, i);
            } else {
                rp_memory_punch(arena->fd, start, RP_ARENA_GRANULE);
            }
        }
    }
    pthread_mutex_unlock(&arena->lock);
    return describe(st, ptr, bytes);
}

bool rp_range_unhold(struct rp_arena *arena, struct rp_range *range)
{
    for (uint64_t i = 0; i < range->granules; i++) {
        uint64_t start = granule_start(range, i);
        if (bit_get(range->parked, i) && !rp_arena_is_held(arena, start, RP_ARENA_GRANULE)) {
            rp_memory_punch(arena->fd, start, RP_ARENA_GRANULE);
            bit_put(range->parked, i, false);
            range->parked_count--;
            arena->used_bytes -= RP_ARENA_GRANULE;
        }
    }
    if (range->parked_count > 0) {
        return false;
    }
    rp_list_remove(&range->parked_link);
    if (range->released) {
        range_drop(arena, range);
        return true;
    }
    return false;
}
