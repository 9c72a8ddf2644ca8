// Slabs: powers of two and the steps halfway between, from a cache line to half a slab's alignment.

#include "transport/arena_slabs.h"

#include <assert.h>

static const uint32_t class_bytes[] = { 64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072,
    4096, 6144, 8192, 12288, 16384, 24576, 32768 };
static_assert(RP_ARRAY_LENGTH(class_bytes) == RP_SLAB_CLASSES, "one list a class");

#define SLAB_SMALL_BYTES (64u * 1024u)
#define SLAB_LARGE_BYTES (256u * 1024u)
#define SLAB_SMALL_CLASS_MAX 4096 // larger pieces come in large slabs
static_assert(SLAB_SMALL_BYTES / 64 == RP_SLAB_PIECES_MAX, "a bit a piece");

// A class is aligned to its lowest bit: 192-byte pieces lie at multiples of 64.
static uint32_t class_align(int size_class)
{
    return class_bytes[size_class] & (~class_bytes[size_class] + 1);
}

int rp_slab_class(size_t bytes, size_t align)
{
    for (int size_class = 0; size_class < RP_SLAB_CLASSES; size_class++) {
        if (bytes <= class_bytes[size_class] && align <= class_align(size_class)) {
            return size_class;
        }
    }
    return -1;
}

uint64_t rp_slab_class_bytes(int size_class)
{
    return class_bytes[size_class];
}

uint64_t rp_slab_bytes(int size_class)
{
    return class_bytes[size_class] <= SLAB_SMALL_CLASS_MAX ? SLAB_SMALL_BYTES : SLAB_LARGE_BYTES;
}

static bool bit_get(const uint64_t *words, uint32_t index)
{
    return (words[index / 64] >> (index % 64) & 1) != 0;
}

static void bit_set(uint64_t *words, uint32_t index)
{
    words[index / 64] |= UINT64_C(1) << (index % 64);
}

static void bit_clear(uint64_t *words, uint32_t index)
{
    words[index / 64] &= ~(UINT64_C(1) << (index % 64));
}

void rp_slabs_init(struct rp_slabs *slabs)
{
    for (unsigned kind = 0; kind < RP_SLAB_KINDS; kind++) {
        for (unsigned size_class = 0; size_class < RP_SLAB_CLASSES; size_class++) {
            rp_list_init(&slabs->open[kind][size_class]);
        }
    }
    rp_list_init(&slabs->parked);
}

// The lowest free piece of a slab that has one; handed out afterwards.
static uint32_t take_piece(struct rp_slab *slab)
{
    uint32_t word = 0;
    while (~slab->used[word] == 0) {
        word++;
    }
    uint32_t index = word * 64 + (uint32_t)__builtin_ctzll(~slab->used[word]);
    assert(index < slab->count);
    bit_set(slab->used, index);
    slab->free_count--;
    return index;
}

bool rp_slabs_take(struct rp_slabs *slabs, unsigned kind_index, int size_class, uint64_t *offset)
{
    struct rp_list *link = rp_list_first(&slabs->open[kind_index][size_class]);
    if (link == NULL) {
        return false;
    }
    struct rp_slab *slab = rp_container_of(link, struct rp_slab, link);
    uint32_t index = take_piece(slab);
    if (slab->free_count == 0) {
        rp_list_remove(&slab->link);
    }
    *offset = slab->block->start + (uint64_t)index * class_bytes[size_class];
    return true;
}

void rp_slabs_add(struct rp_slabs *slabs, struct rp_slab *slab, struct rp_block *block,
        unsigned kind_index, int size_class)
{
    slab->block = block;
    slab->size_class = (uint32_t)size_class;
    slab->count = (uint32_t)(block->bytes / class_bytes[size_class]);
    slab->free_count = slab->count;
    rp_list_init(&slab->parked_link);
    rp_list_push_back(&slabs->open[kind_index][size_class], &slab->link);
    block->owner = slab;
    block->use = RP_BLOCK_SLAB;
}

int rp_slab_piece(const struct rp_slab *slab, uint64_t offset)
{
    uint64_t index = (offset - slab->block->start) / class_bytes[slab->size_class];
    if (index >= slab->count || !bit_get(slab->used, (uint32_t)index) ||
            bit_get(slab->parked, (uint32_t)index)) {
        return -1;
    }
    return (int)index;
}

bool rp_slabs_put(struct rp_slabs *slabs, struct rp_slab *slab, unsigned kind_index, uint32_t index)
{
    struct rp_list *open = &slabs->open[kind_index][slab->size_class];
    bit_clear(slab->used, index);
    slab->free_count++;
    if (slab->free_count == 1) {
        rp_list_push_front(open, &slab->link);
    }
    bool alone = open->next == &slab->link && open->prev == &slab->link;
    if (slab->free_count < slab->count || alone) {
        return false;
    }
    rp_list_remove(&slab->link);
    return true;
}

void rp_slabs_park(struct rp_slabs *slabs, struct rp_slab *slab, uint32_t index)
{
    bit_set(slab->parked, index);
    slab->parked_count++;
    if (slab->parked_count == 1) {
        rp_list_push_back(&slabs->parked, &slab->parked_link);
    }
}

void rp_slabs_unpark(struct rp_slab *slab, uint32_t index)
{
    bit_clear(slab->parked, index);
    slab->parked_count--;
    if (slab->parked_count == 0) {
        rp_list_remove(&slab->parked_link);
    }
}

struct rp_slab *rp_slabs_pop_empty(struct rp_slabs *slabs)
{
    for (unsigned kind = 0; kind < RP_SLAB_KINDS; kind++) {
        for (unsigned size_class = 0; size_class < RP_SLAB_CLASSES; size_class++) {
            rp_list_each(link, &slabs->open[kind][size_class])
            {
                struct rp_slab *slab = rp_container_of(link, struct rp_slab, link);
                if (slab->free_count == slab->count) {
                    rp_list_remove(link);
                    return slab;
                }
            }
        }
    }
    return NULL;
}
