// The arena: creation, allocation, free. Who has which part of it: arena_blocks.c (large) and
// arena_slabs.c (small). What is freed but still held: arena_holds.c. Reserved address ranges:
// arena_ranges.c. How large it is: arena_limits.c.
//
// The kernel is never asked for pages, nor given any, under the lock: that takes a millisecond for
// each ten megabytes. Meanwhile the block is MOVING, which no call takes for live or for free.

#include "transport/arena.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/util.h"
#include "transport/arena_internal.h"
#include "transport/arena_limits.h"
#include "transport/arena_registry.h"
#include "transport/memory.h"
#include "transport/placement.h"

#define HOLDS_FIRST 64

// ---- creation ----

// An address range for `*bytes` bytes at a multiple of the granule. Where the kernel has less, half
// of it, and so on: containers limit address space in more ways than RLIMIT_AS.
static rp_status find_addresses(struct rp_arena *arena, uint64_t *bytes)
{
    for (;;) {
        void *range = mmap(NULL, *bytes + RP_ARENA_GRANULE, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (range != MAP_FAILED) {
            uintptr_t start = (uintptr_t)range;
            uintptr_t base = (uintptr_t)rp_align_up(start, RP_ARENA_GRANULE);
            uintptr_t end = base + *bytes;
            if (base > start) {
                munmap(range, base - start);
            }
            if (start + RP_ARENA_GRANULE > base) {
                munmap((uint8_t *)range + (end - start), start + RP_ARENA_GRANULE - base);
            }
            arena->base = (uint8_t *)range + (base - start);
            return RP_OK;
        }
        if (*bytes / 2 < RP_ARENA_BYTES_MIN) {
            return rp_fail(RP_ENOMEM, "%s: there is no address space for %" PRIu64 " bytes",
                    arena->what, *bytes);
        }
        *bytes = rp_align_up(*bytes / 2, RP_ARENA_GRANULE);
    }
}

static rp_status map_file(struct rp_arena *arena, uint64_t bytes)
{
    char name[48];
    snprintf(name, sizeof(name), "reprise-device-%d", arena->device_id);
    rp_status st = rp_memory_file_create(name, bytes, &arena->fd);
    if (st != RP_OK) {
        return st;
    }
    if (mmap(arena->base, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
                arena->fd, 0) == MAP_FAILED) {
        st = rp_fail_sys(RP_ENOMEM, "mmap", arena->what);
        close(arena->fd);
        return st;
    }
    // A core dump would touch, and so make, every page of the sparse file.
    if (madvise(arena->base, bytes, MADV_DONTDUMP) != 0) {
        rp_log_debug("madvise(MADV_DONTDUMP): errno %d", errno);
    }
    return RP_OK;
}

static rp_status init_books(struct rp_arena *arena)
{
    arena->hold = rp_calloc(HOLDS_FIRST, sizeof(*arena->hold));
    if (arena->hold == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the books of %s", arena->what);
    }
    arena->hold_room = HOLDS_FIRST;
    rp_slabs_init(&arena->slabs);
    rp_list_init(&arena->parked_blocks);
    rp_list_init(&arena->parked_ranges);
    rp_status st = rp_blocks_init(&arena->blocks, arena->bytes);
    if (st != RP_OK) {
        rp_free(arena->hold);
        return rp_fail(st, "no memory for the books of %s", arena->what);
    }
    pthread_mutex_init(&arena->lock, NULL);
    return RP_OK;
}

rp_status rp_arena_create(int32_t device_id, struct rp_arena **out)
{
    struct rp_arena_size size;
    rp_status st = rp_arena_choose_size(device_id, &size);
    if (st != RP_OK) {
        return st;
    }
    struct rp_arena *arena = rp_calloc(1, sizeof(*arena));
    if (arena == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the books of device %d's memory", device_id);
    }
    arena->device_id = device_id;
    snprintf(arena->what, sizeof(arena->what), "memory of device %d", device_id);
    st = find_addresses(arena, &size.mapping_bytes);
    if (st != RP_OK) {
        goto undo_alloc;
    }
    arena->bytes = size.mapping_bytes;
    arena->total_bytes = rp_min_u64(size.total_bytes, size.mapping_bytes);
    st = map_file(arena, arena->bytes);
    if (st != RP_OK) {
        goto undo_addresses;
    }
    st = init_books(arena);
    if (st != RP_OK) {
        goto undo_file;
    }
    st = rp_arena_registry_add(arena);
    if (st != RP_OK) {
        goto undo_books;
    }
    const int node = rp_placement_prefer(device_id, arena->base, arena->bytes);
    rp_log_info("device %d: %" PRIu64 " bytes of memory at %p, mapping of %" PRIu64
                ", NUMA node %d (-1: no choice)",
            device_id, arena->total_bytes, (void *)arena->base, arena->bytes, node);
    *out = arena;
    return RP_OK;

undo_books:
    pthread_mutex_destroy(&arena->lock);
    rp_blocks_fini(&arena->blocks);
    rp_free(arena->hold);
undo_file:
    close(arena->fd);
undo_addresses:
    munmap(arena->base, size.mapping_bytes);
undo_alloc:
    rp_free(arena);
    return st;
}

void rp_arena_destroy(struct rp_arena *arena)
{
    rp_arena_registry_remove(arena);
    munmap(arena->base, arena->bytes);
    close(arena->fd);
    rp_list_each(link, &arena->blocks.order)
    {
        struct rp_block *block = rp_container_of(link, struct rp_block, order);
        if (block->use == RP_BLOCK_SLAB) {
            rp_free(block->owner);
        } else if (block->use == RP_BLOCK_RANGE) {
            rp_range_free(block->owner);
        }
    }
    rp_blocks_fini(&arena->blocks);
    rp_free(arena->hold);
    pthread_mutex_destroy(&arena->lock);
    rp_free(arena);
}

// ---- pages and blocks ----

bool rp_arena_charge(struct rp_arena *arena, uint64_t bytes)
{
    if (bytes > arena->total_bytes - arena->used_bytes) {
        return false;
    }
    arena->used_bytes += bytes;
    arena->peak_bytes = rp_max_u64(arena->peak_bytes, arena->used_bytes);
    return true;
}

rp_status rp_arena_short(struct rp_arena *arena, uint64_t bytes)
{
    pthread_mutex_lock(&arena->lock);
    uint64_t left = arena->total_bytes - arena->used_bytes;
    uint64_t largest = rp_blocks_largest(&arena->blocks);
    pthread_mutex_unlock(&arena->lock);
    if (bytes > left) {
        return rp_fail(RP_ENOMEM,
                "%s: %" PRIu64 " bytes are needed, %" PRIu64 " of %" PRIu64
                " are left; free some, or raise REPRISE_DEVICE_MEMORY",
                arena->what, bytes, left, arena->total_bytes);
    }
    return rp_fail(RP_ENOMEM,
            "%s: %" PRIu64 " bytes in one piece are needed, the largest piece left has %" PRIu64
            "; release reserved address ranges, or raise REPRISE_DEVICE_MEMORY",
            arena->what, bytes, largest);
}

void rp_arena_give_back(struct rp_arena *arena, struct rp_block *block)
{
    rp_memory_punch(arena->fd, block->start, block->bytes);
    pthread_mutex_lock(&arena->lock);
    arena->used_bytes -= block->bytes;
    rp_blocks_release(&arena->blocks, block);
    pthread_mutex_unlock(&arena->lock);
}

// Gives the empty slabs back that are kept for the next small allocation. Whether there were any.
static bool trim(struct rp_arena *arena)
{
    bool any = false;
    for (;;) {
        pthread_mutex_lock(&arena->lock);
        struct rp_slab *slab = rp_slabs_pop_empty(&arena->slabs);
        if (slab != NULL) {
            slab->block->use = RP_BLOCK_MOVING;
        }
        pthread_mutex_unlock(&arena->lock);
        if (slab == NULL) {
            return any;
        }
        rp_arena_give_back(arena, slab->block);
        rp_free(slab);
        any = true;
    }
}

// RP_ENORES: the arena has no room for it. RP_ENOMEM: no heap. Neither is described yet.
static rp_status carve(
        struct rp_arena *arena, uint64_t bytes, uint64_t align, struct rp_block **block)
{
    pthread_mutex_lock(&arena->lock);
    rp_status st = RP_ENORES;
    if (rp_arena_charge(arena, bytes)) {
        st = rp_blocks_carve(&arena->blocks, bytes, align, (uintptr_t)arena->base, block);
        if (st != RP_OK) {
            arena->used_bytes -= bytes;
        }
    }
    pthread_mutex_unlock(&arena->lock);
    return st;
}

// A block with its pages, still MOVING.
static rp_status obtain(
        struct rp_arena *arena, uint64_t bytes, uint64_t align, struct rp_block **out)
{
    struct rp_block *block;
    rp_status st = carve(arena, bytes, align, &block);
    if (st == RP_ENORES && trim(arena)) {
        st = carve(arena, bytes, align, &block);
    }
    if (st == RP_ENORES) {
        return rp_arena_short(arena, bytes);
    }
    if (st != RP_OK) {
        return rp_fail(st, "no memory for the books of %s", arena->what);
    }
    st = rp_memory_reserve(arena->fd, block->start, bytes, arena->what);
    if (st != RP_OK) {
        pthread_mutex_lock(&arena->lock);
        arena->used_bytes -= bytes;
        rp_blocks_release(&arena->blocks, block);
        pthread_mutex_unlock(&arena->lock);
        return st;
    }
    *out = block;
    return RP_OK;
}

// ---- allocation ----

static unsigned kind_index(enum rp_arena_kind kind)
{
    return (unsigned)kind - RP_ARENA_DEVICE;
}
static_assert(RP_ARENA_HOST - RP_ARENA_DEVICE + 1 == RP_SLAB_KINDS, "one list a kind");

static rp_status alloc_small(
        struct rp_arena *arena, int size_class, enum rp_arena_kind kind, uint64_t *offset)
{
    pthread_mutex_lock(&arena->lock);
    bool found = rp_slabs_take(&arena->slabs, kind_index(kind), size_class, offset);
    pthread_mutex_unlock(&arena->lock);
    if (found) {
        return RP_OK;
    }
    struct rp_slab *slab = rp_calloc(1, sizeof(*slab));
    if (slab == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the books of %s", arena->what);
    }
    struct rp_block *block;
    uint64_t bytes = rp_align_up(rp_slab_bytes(size_class), rp_memory_page_bytes());
    rp_status st = obtain(arena, bytes, RP_SLAB_ALIGN, &block);
    if (st != RP_OK) {
        rp_free(slab);
        return st;
    }
    pthread_mutex_lock(&arena->lock);
    block->kind = (uint8_t)kind;
    rp_slabs_add(&arena->slabs, slab, block, kind_index(kind), size_class);
    found = rp_slabs_take(&arena->slabs, kind_index(kind), size_class, offset);
    pthread_mutex_unlock(&arena->lock);
    assert(found); // the new slab, if no other
    return RP_OK;
}

static rp_status alloc_large(struct rp_arena *arena, uint64_t bytes, uint64_t align,
        enum rp_arena_kind kind, uint64_t *offset)
{
    struct rp_block *block;
    rp_status st = obtain(arena, bytes, align, &block);
    if (st != RP_OK) {
        return st;
    }
    pthread_mutex_lock(&arena->lock);
    block->kind = (uint8_t)kind;
    block->use = RP_BLOCK_USER;
    *offset = block->start;
    pthread_mutex_unlock(&arena->lock);
    return RP_OK;
}

rp_status rp_arena_alloc(
        struct rp_arena *arena, size_t bytes, size_t align, enum rp_arena_kind kind, void **out)
{
    assert(bytes > 0 && align > 0 && (align & (align - 1)) == 0);
    assert(kind == RP_ARENA_DEVICE || kind == RP_ARENA_HOST);
    uint64_t offset = 0;
    rp_status st;
    int size_class = rp_slab_class(bytes, align);
    if (size_class >= 0) {
        st = alloc_small(arena, size_class, kind, &offset);
    } else if (bytes > arena->total_bytes || align > arena->bytes) {
        st = rp_arena_short(arena, rp_max_u64(bytes, align));
    } else {
        uint64_t page = rp_memory_page_bytes();
        st = alloc_large(arena, rp_align_up(bytes, page), rp_max_u64(align, page), kind, &offset);
    }
    if (st == RP_OK) {
        *out = arena->base + offset;
    }
    return st;
}

// ---- free ----

// One live allocation or reservation.
struct live {
    struct rp_block *block;
    int piece; // of a slab
    uint64_t start;
    uint64_t bytes;
    enum rp_arena_kind kind;
};

// What lives at `offset`; false: nothing. Under the lock.
static bool find_live(struct rp_arena *arena, uint64_t offset, struct live *live)
{
    struct rp_block *block = rp_blocks_at(&arena->blocks, offset);
    *live = (struct live){
        .block = block,
        .start = block->start,
        .bytes = block->bytes,
        .kind = block->kind,
    };
    if (block->use == RP_BLOCK_SLAB) {
        struct rp_slab *slab = block->owner;
        live->piece = rp_slab_piece(slab, offset);
        live->bytes = rp_slab_class_bytes((int)slab->size_class);
        live->start += live->piece >= 0 ? (uint64_t)live->piece * live->bytes : 0;
        return live->piece >= 0;
    }
    if (block->use == RP_BLOCK_RANGE) {
        struct rp_range *range = block->owner;
        live->kind = RP_ARENA_RESERVED;
        return !range->released;
    }
    return block->use == RP_BLOCK_USER;
}

static const char *kind_name(enum rp_arena_kind kind)
{
    static const char *const names[] = {
        [RP_ARENA_DEVICE] = "device memory",
        [RP_ARENA_HOST] = "pinned host memory",
        [RP_ARENA_RESERVED] = "a reserved address range",
    };
    return names[kind];
}

// Takes the allocation out of use. The block to give back, if it is empty now, and its slab.
static struct rp_block *retire(
        struct rp_arena *arena, const struct live *live, struct rp_slab **dead_slab)
{
    struct rp_block *block = live->block;
    bool held = rp_arena_is_held(arena, live->start, live->bytes);
    if (block->use == RP_BLOCK_SLAB) {
        struct rp_slab *slab = block->owner;
        if (held) {
            rp_slabs_park(&arena->slabs, slab, (uint32_t)live->piece);
            return NULL;
        }
        if (!rp_slabs_put(&arena->slabs, slab, kind_index(live->kind), (uint32_t)live->piece)) {
            return NULL;
        }
        *dead_slab = slab;
    } else if (held) {
        block->use = RP_BLOCK_PARKED;
        rp_list_push_back(&arena->parked_blocks, &block->link);
        return NULL;
    }
    block->use = RP_BLOCK_MOVING;
    return block;
}

rp_status rp_arena_free(struct rp_arena *arena, void *ptr, enum rp_arena_kind kind)
{
    uint64_t offset;
    struct live live;
    struct rp_block *dead = NULL;
    struct rp_slab *dead_slab = NULL;
    if (!rp_arena_contains(arena, ptr, 1, &offset)) {
        return rp_fail(
                RP_EPARAM, "pointer %p is not in the memory of device %d", ptr, arena->device_id);
    }
    pthread_mutex_lock(&arena->lock);
    bool found = find_live(arena, offset, &live);
    if (found && live.start == offset && live.kind == kind) {
        dead = retire(arena, &live, &dead_slab);
        pthread_mutex_unlock(&arena->lock);
        if (dead != NULL) {
            rp_arena_give_back(arena, dead);
        }
        rp_free(dead_slab);
        return RP_OK;
    }
    pthread_mutex_unlock(&arena->lock);
    if (!found) {
        return rp_fail(RP_EPARAM, "pointer %p: nothing is allocated there (freed before?)", ptr);
    }
    if (live.start != offset) {
        return rp_fail(RP_EPARAM, "pointer %p is not the start of its allocation, that is %p", ptr,
                (void *)(arena->base + live.start));
    }
    return rp_fail(
            RP_EPARAM, "pointer %p is %s, not %s", ptr, kind_name(live.kind), kind_name(kind));
}

// ---- questions ----

bool rp_arena_contains(const struct rp_arena *arena, const void *ptr, uint64_t bytes, uint64_t *off)
{
    uintptr_t at = (uintptr_t)ptr;
    uintptr_t base = (uintptr_t)arena->base;
    if (at < base || at - base > arena->bytes || bytes > arena->bytes - (at - base)) {
        return false;
    }
    *off = at - base;
    return true;
}

bool rp_arena_offset(const struct rp_arena *arena, const void *ptr, uint64_t bytes, uint64_t *off)
{
    return rp_arena_contains(arena, ptr, bytes, off);
}

bool rp_arena_block(struct rp_arena *arena, const void *ptr, void **start, size_t *bytes,
        enum rp_arena_kind *kind)
{
    uint64_t offset;
    struct live live;
    if (!rp_arena_contains(arena, ptr, 1, &offset)) {
        return false;
    }
    pthread_mutex_lock(&arena->lock);
    bool found = find_live(arena, offset, &live);
    pthread_mutex_unlock(&arena->lock);
    if (found) {
        *start = arena->base + live.start;
        *bytes = live.bytes;
        *kind = live.kind;
    }
    return found;
}

void rp_arena_query(struct rp_arena *arena, struct rp_arena_info *info)
{
    struct rp_memory_room room;
    rp_memory_room_read("", &room);
    pthread_mutex_lock(&arena->lock);
    uint64_t left = arena->total_bytes - arena->used_bytes;
    info->used_bytes = arena->used_bytes;
    info->peak_bytes = arena->peak_bytes;
    pthread_mutex_unlock(&arena->lock);
    info->total_bytes = arena->total_bytes;
    info->free_bytes = rp_min_u64(left, room.bytes);
}

int rp_arena_fd(const struct rp_arena *arena)
{
    return arena->fd;
}

void *rp_arena_base(const struct rp_arena *arena)
{
    return arena->base;
}

uint64_t rp_arena_bytes(const struct rp_arena *arena)
{
    return arena->bytes;
}

int32_t rp_arena_device(const struct rp_arena *arena)
{
    return arena->device_id;
}
