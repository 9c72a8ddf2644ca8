#ifndef REPRISE_TRANSPORT_ARENA_BLOCKS_H
#define REPRISE_TRANSPORT_ARENA_BLOCKS_H

/*
 * Blocks: who has which part of the arena's address range. Offsets only; no
 * memory of the arena itself is touched, since peers can write there, so
 * nothing that they scribble misleads the allocator.
 *
 * The range is cut into blocks without a gap. Free blocks are never neighbours:
 * they are joined as soon as they are. Best fit; every call is O(log n).
 *
 * Threads: the arena's lock.
 */

#include <stdint.h>

#include "base/list.h"
#include "base/status.h"
#include "base/util.h"
#include "transport/tree.h"

enum rp_block_use {
    RP_BLOCK_FREE,
    RP_BLOCK_MOVING, /* pages are being reserved or given back: nobody's for the moment */
    RP_BLOCK_USER,   /* one allocation */
    RP_BLOCK_SLAB,   /* many small allocations; `owner` is its struct rp_slab */
    RP_BLOCK_RANGE,  /* a reserved address range; `owner` is its struct rp_range */
    RP_BLOCK_PARKED, /* freed, but held */
};

struct rp_block {
    struct rp_tree_node by_start; /* key: start, 0 */
    struct rp_tree_node by_bytes; /* key: bytes, start; in the tree while free */
    struct rp_list order;         /* all blocks by address */
    struct rp_list link;          /* parked blocks, or those about to be freed */
    uint64_t start;
    uint64_t bytes;
    uint8_t use;  /* enum rp_block_use */
    uint8_t kind; /* enum rp_arena_kind of USER and SLAB */
    void *owner;
};

struct rp_blocks {
    struct rp_tree by_start;
    struct rp_tree by_bytes;
    struct rp_list order;
};

/** rp_blocks_init: one free block of `bytes` bytes. RP_ENOMEM: no heap. */
RP_MUST_USE rp_status rp_blocks_init(struct rp_blocks *blocks, uint64_t bytes);

/** rp_blocks_fini: free the bookkeeping of all blocks; `owner`s are the caller's. */
void rp_blocks_fini(struct rp_blocks *blocks);

/**
 * rp_blocks_carve: take `bytes` out of a free block, in state MOVING.
 *
 * `start + bias` is a multiple of `align`, a power of two; `bytes` is not 0.
 *
 *   RP_ENORES  no free block is large enough
 *   RP_ENOMEM  no heap for the bookkeeping; nothing has changed
 */
RP_MUST_USE rp_status rp_blocks_carve(struct rp_blocks *blocks, uint64_t bytes, uint64_t align,
        uint64_t bias, struct rp_block **out);

/** rp_blocks_release: make `block` free and join it with its free neighbours. Cannot fail. */
void rp_blocks_release(struct rp_blocks *blocks, struct rp_block *block);

/** rp_blocks_at: the block that holds `offset`, which is below the size given to init. */
struct rp_block *rp_blocks_at(const struct rp_blocks *blocks, uint64_t offset);

/** rp_blocks_largest: bytes of the largest free block; 0: none. */
uint64_t rp_blocks_largest(const struct rp_blocks *blocks);

#endif
