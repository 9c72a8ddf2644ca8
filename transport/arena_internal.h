#ifndef REPRISE_TRANSPORT_ARENA_INTERNAL_H
#define REPRISE_TRANSPORT_ARENA_INTERNAL_H

/* The arena's struct, for the files arena*.c only. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "transport/arena.h"
#include "transport/arena_blocks.h"
#include "transport/arena_slabs.h"

/* Bytes [start, end) of the arena that a failed collective named. */
struct rp_hold {
    uint64_t start;
    uint64_t end;
    uint64_t count;
};

/* A reserved address range (aclrtReserveMemAddress). One bit a granule in both maps. */
struct rp_range {
    struct rp_list parked_link; /* in the arena's list while a granule is parked */
    struct rp_block *block;
    uint64_t granules;
    uint64_t backed_count;
    uint64_t parked_count;
    uint64_t *backed;
    uint64_t *parked; /* unbacked, but held: pages stay, the place is not backed again */
    bool released;    /* only its parked granules keep it */
};

struct rp_arena {
    int32_t device_id;
    int fd;
    uint8_t *base;
    uint64_t bytes;       /* of the mapping */
    uint64_t total_bytes; /* of memory: the sum of reserved pages stays below */
    char what[48];        /* "device memory of device 3", for sentences */

    pthread_mutex_t lock; /* guards all below; no other lock is taken under it */
    uint64_t used_bytes;  /* reserved pages */
    uint64_t peak_bytes;  /* the most of them so far */
    struct rp_blocks blocks;
    struct rp_slabs slabs;
    struct rp_list parked_blocks;
    struct rp_list parked_ranges;
    struct rp_hold *hold; /* [hold_room] */
    uint64_t hold_count;
    uint64_t hold_room;
    uint64_t hold_all; /* holds that found no heap: while there are any, everything is held */
};

/** rp_arena_contains: whether [ptr, ptr + bytes) lies wholly in the mapping; *off as an offset. */
bool rp_arena_contains(
        const struct rp_arena *arena, const void *ptr, uint64_t bytes, uint64_t *off);

/** rp_arena_charge: whether `bytes` more may be handed out; they then are. Under the lock. */
bool rp_arena_charge(struct rp_arena *arena, uint64_t bytes);

/** rp_arena_short: the failure that follows when they may not. Not under the lock. */
rp_status rp_arena_short(struct rp_arena *arena, uint64_t bytes);

/** rp_arena_give_back: punch and free `block`, which is MOVING and in no list. Not under the lock.
 */
void rp_arena_give_back(struct rp_arena *arena, struct rp_block *block);

/** rp_arena_is_held: whether a hold overlaps [start, start + bytes). Under the lock. */
bool rp_arena_is_held(const struct rp_arena *arena, uint64_t start, uint64_t bytes);

/** rp_range_unhold: give up what is parked in `range` and not held any more; true when nothing is
 * left of a released range, which is then freed with its block. Under the lock. */
bool rp_range_unhold(struct rp_arena *arena, struct rp_range *range);

/** rp_range_free: free the bookkeeping of a range. */
void rp_range_free(struct rp_range *range);

#endif
