#ifndef RP_BASE_ALLOC_H
#define RP_BASE_ALLOC_H

/*
 * The heap, with a hook: a test makes the n-th allocation fail, so that each allocation of a
 * "create" can be made to fail in turn. All return NULL when memory is short, without a sentence;
 * the caller knows what it was for.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"

/** rp_malloc: `bytes` bytes, not cleared. Free with rp_free(). */
RP_MUST_USE void *rp_malloc(size_t bytes);

/** rp_calloc: `count` elements of `bytes` each, cleared; NULL too when the product overflows. */
RP_MUST_USE void *rp_calloc(size_t count, size_t bytes);

/** rp_realloc: as realloc; on failure the old memory is untouched and still the caller's. */
RP_MUST_USE void *rp_realloc(void *memory, size_t bytes);

/**
 * rp_array_room: `array` of *room elements of `bytes` each, `count` of them used, with room for one
 * more: as it is, or twice as large. NULL without memory: then it is untouched, as *room is.
 */
RP_MUST_USE void *rp_array_room(void *array, uint32_t count, uint32_t *room, size_t bytes);

/** rp_aligned_calloc: cleared memory at a multiple of `alignment`, a power of two. */
RP_MUST_USE void *rp_aligned_calloc(size_t alignment, size_t bytes);

RP_MUST_USE char *rp_strdup(const char *text);

/** rp_free: frees what any function above returned; NULL is fine. Keeps errno. */
void rp_free(void *memory);

/**
 * rp_alloc_fail_after: `count` more allocations of this thread succeed, then one fails, then all
 * succeed again. Negative: none fails. For tests.
 */
void rp_alloc_fail_after(int64_t count);

/** rp_alloc_fail_process_after: the same, counted over all threads of the process. */
void rp_alloc_fail_process_after(int64_t count);

/** rp_alloc_fail_pending: the failure asked for last, by either function, has not happened yet. */
bool rp_alloc_fail_pending(void);

#endif /* RP_BASE_ALLOC_H */
