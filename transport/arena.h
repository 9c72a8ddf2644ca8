#ifndef REPRISE_TRANSPORT_ARENA_H
#define REPRISE_TRANSPORT_ARENA_H

/*
 * The arena: all device and pinned host memory of one device in use.
 *
 * One sparse memfd, mapped once per process and shared with the node's other
 * ranks, so that any buffer is reachable by any peer at peer_base + offset
 * with no registration and no copy. Pages are reserved (fallocate) when they
 * are handed out: exhaustion is RP_ENOMEM here and never a bus error later.
 * Freed large blocks are punched back to the kernel.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct rp_arena;

/* What an allocation was made by; aclrtFree and aclrtFreeHost check it. */
enum rp_arena_kind {
    RP_ARENA_DEVICE = 1,
    RP_ARENA_HOST = 2,    /* pinned host memory */
    RP_ARENA_RESERVED = 3 /* address range of aclrtReserveMemAddress, backed by map */
};

/**
 * rp_arena_create: make the arena of device `device_id` of this process.
 *
 * Bytes: REPRISE_DEVICE_MEMORY, or the RAM that this process may use (its control
 * group's limit where that is less than the machine's), cut to RLIMIT_FSIZE and to
 * half of what RLIMIT_AS leaves; fixed from then on; sealed against resizing by
 * peers. The address range is twice as long where the limits allow it, so that
 * reserved ranges without memory do not crowd out allocations.
 *
 *   RP_ENOMEM  the limits leave less than 8 MiB; the sentence names the limit
 *   RP_ESYS    memfd or mmap failed
 */
RP_MUST_USE rp_status rp_arena_create(int32_t device_id, struct rp_arena **out);

/** rp_arena_destroy: unmap and close. Peers' mappings live on; nothing waits, and no other thread
 * is in a call with this arena. */
void rp_arena_destroy(struct rp_arena *arena);

/**
 * rp_arena_alloc: `bytes` (> 0) of zero-initialised-or-reused memory, `align` a
 * power of two >= 64; kind DEVICE or HOST. RP_ENOMEM when cgroup, free memory or
 * arena is exhausted. Thread-safe, as all functions here.
 */
RP_MUST_USE rp_status rp_arena_alloc(
        struct rp_arena *arena, size_t bytes, size_t align, enum rp_arena_kind kind, void **out);

/** rp_arena_free: RP_EPARAM when `ptr` is not the start of a live block of `kind`. A reserved range
 * is released instead. */
RP_MUST_USE rp_status rp_arena_free(struct rp_arena *arena, void *ptr, enum rp_arena_kind kind);

/**
 * rp_arena_hold / rp_arena_unhold: while held (counted), a freed block that
 * overlaps [ptr, ptr + bytes) is neither reused nor punched: a failed collective
 * named it and a peer may still touch it (design: quarantine). Bytes outside the
 * arena are ignored. Every unhold names a range as its hold did. Neither fails:
 * without heap for the note, everything is held until that unhold.
 */
void rp_arena_hold(struct rp_arena *arena, const void *ptr, size_t bytes);
void rp_arena_unhold(struct rp_arena *arena, const void *ptr, size_t bytes);

/** rp_arena_block: start and size (as rounded up) of the live block or reserved range that holds
 * `ptr`; false if none. */
bool rp_arena_block(struct rp_arena *arena, const void *ptr, void **start, size_t *bytes,
        enum rp_arena_kind *kind);

/** rp_arena_offset: true and the offset if [ptr, ptr + bytes) lies wholly in the arena's mapping.
 */
bool rp_arena_offset(const struct rp_arena *arena, const void *ptr, uint64_t bytes, uint64_t *off);

/**
 * Virtual memory: reserve a range without pages, back parts of it, take the
 * pages back, release the range (by its start, when nothing of it is backed).
 * Sizes and addresses are multiples of RP_ARENA_GRANULE. RP_EPARAM for ranges that
 * were not reserved / are (not) backed; RP_EBUSY for backing a place that was
 * unbacked while held and still is.
 */
#define RP_ARENA_GRANULE (2u * 1024u * 1024u)
RP_MUST_USE rp_status rp_arena_reserve(struct rp_arena *arena, size_t bytes, void **out);
RP_MUST_USE rp_status rp_arena_release(struct rp_arena *arena, void *ptr);
RP_MUST_USE rp_status rp_arena_back(struct rp_arena *arena, void *ptr, size_t bytes);
RP_MUST_USE rp_status rp_arena_unback(struct rp_arena *arena, void *ptr, size_t bytes);

struct rp_arena_info {
    uint64_t total_bytes;
    uint64_t free_bytes; /* least of: arena not handed out, cgroup headroom, MemAvailable */
    uint64_t used_bytes; /* handed out, and the most that ever was */
    uint64_t peak_bytes;
};
void rp_arena_query(struct rp_arena *arena, struct rp_arena_info *info);

int rp_arena_fd(const struct rp_arena *arena); /* to pass to peers; stays ours */
void *rp_arena_base(const struct rp_arena *arena);
uint64_t rp_arena_bytes(const struct rp_arena *arena); /* length of the mapping */
int32_t rp_arena_device(const struct rp_arena *arena);

/** rp_arena_find: the arena of this process that contains `ptr`, or NULL. For classifying pointers.
 */
struct rp_arena *rp_arena_find(const void *ptr);

/** rp_arena_of_device: this process's arena of device `device_id`, or NULL. */
struct rp_arena *rp_arena_of_device(int32_t device_id);

#endif
