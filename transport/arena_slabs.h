#ifndef REPRISE_TRANSPORT_ARENA_SLABS_H
#define REPRISE_TRANSPORT_ARENA_SLABS_H

/*
 * Slabs: small allocations. A slab is a block of the arena cut into pieces of
 * one class; a bit a piece says whether it is handed out. Like the blocks'
 * bookkeeping, all of it lies outside the arena.
 *
 * Threads: the arena's lock.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"
#include "transport/arena_blocks.h"

#define RP_SLAB_CLASSES 18
#define RP_SLAB_PIECES_MAX 1024 /* the smallest class in the smallest slab */
#define RP_SLAB_WORDS (RP_SLAB_PIECES_MAX / 64)
#define RP_SLAB_KINDS 2
#define RP_SLAB_ALIGN (64u * 1024u) /* of a slab: any piece's natural alignment holds */

struct rp_slab {
    struct rp_list link;        /* in its class's list while a piece is free */
    struct rp_list parked_link; /* in rp_slabs.parked while a piece is parked */
    struct rp_block *block;
    uint32_t size_class;
    uint32_t count; /* pieces */
    uint32_t free_count;
    uint32_t parked_count;
    uint64_t used[RP_SLAB_WORDS];   /* handed out, or parked */
    uint64_t parked[RP_SLAB_WORDS]; /* freed, but held */
};

struct rp_slabs {
    struct rp_list open[RP_SLAB_KINDS][RP_SLAB_CLASSES]; /* slabs with a free piece */
    struct rp_list parked;                               /* slabs with a parked piece */
};

void rp_slabs_init(struct rp_slabs *slabs);

/** rp_slab_class: the class for `bytes` at `align`; -1: too large, or aligned too widely. */
int rp_slab_class(size_t bytes, size_t align);

/** rp_slab_class_bytes, rp_slab_bytes: bytes of one piece, and of a whole slab of the class. */
uint64_t rp_slab_class_bytes(int size_class);
uint64_t rp_slab_bytes(int size_class);

/** rp_slabs_take: a free piece's offset in the arena; false when no slab has one. */
bool rp_slabs_take(struct rp_slabs *slabs, unsigned kind_index, int size_class, uint64_t *offset);

/** rp_slabs_add: make `block` a slab with all pieces free; `slab` is cleared heap memory, now owned
 * by the block. */
void rp_slabs_add(struct rp_slabs *slabs, struct rp_slab *slab, struct rp_block *block,
        unsigned kind_index, int size_class);

/** rp_slab_piece: the piece that holds `offset`; -1 when none does or it is not handed out. */
int rp_slab_piece(const struct rp_slab *slab, uint64_t offset);

/**
 * rp_slabs_put: piece `index` is free again.
 *
 * True when the slab is empty and no longer needed: it is then in no list, and the caller frees
 * `slab` and gives its block back. One empty slab of a class is kept as long as it is the only one
 * with room, so that a lone allocation made and freed in turn reserves no pages each time.
 */
bool rp_slabs_put(
        struct rp_slabs *slabs, struct rp_slab *slab, unsigned kind_index, uint32_t index);

/** rp_slabs_park: piece `index` is freed, but held: it stays out of use. */
void rp_slabs_park(struct rp_slabs *slabs, struct rp_slab *slab, uint32_t index);

/** rp_slabs_unpark: piece `index` is not held any more; rp_slabs_put follows. */
void rp_slabs_unpark(struct rp_slab *slab, uint32_t index);

/** rp_slabs_pop_empty: take a kept empty slab out; NULL: none. As after rp_slabs_put. */
struct rp_slab *rp_slabs_pop_empty(struct rp_slabs *slabs);

#endif
