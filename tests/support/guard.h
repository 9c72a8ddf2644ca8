#ifndef TESTS_SUPPORT_GUARD_H
#define TESTS_SUPPORT_GUARD_H

/*
 * Device buffers between poisoned zones, so that a byte written beside one is
 * found. Device memory is read and written by the host directly.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <acl/acl.h>

#define GUARD_BYTES 512 /* of each zone */
#define GUARD_POISON 0xa5

struct guard {
    uint8_t *block; /* what aclrtMalloc gave */
    uint8_t *data;
    size_t bytes;
};

/**
 * guard_create: `bytes` (0 allowed) between two zones, filled with poison.
 * `skew` is how far the address is from a multiple of 64.
 */
static inline aclError guard_create(struct guard *guard, size_t bytes, size_t skew)
{
    const size_t whole = bytes + 2 * GUARD_BYTES + skew;
    void *block = NULL;
    const aclError error = aclrtMalloc(&block, whole, ACL_MEM_MALLOC_HUGE_FIRST);
    *guard = (struct guard){ .block = block, .bytes = bytes };
    if (error == ACL_SUCCESS) {
        guard->data = guard->block + GUARD_BYTES + skew;
        memset(block, GUARD_POISON, whole);
    }
    return error;
}

static inline aclError guard_destroy(struct guard *guard)
{
    const aclError error = guard->block != NULL ? aclrtFree(guard->block) : ACL_SUCCESS;
    *guard = (struct guard){ 0 };
    return error;
}

/** guard_poison: fill the buffer itself. */
static inline void guard_poison(struct guard *guard)
{
    memset(guard->data, GUARD_POISON, guard->bytes);
}

/** guard_intact: nothing was written beside the buffer. */
static inline bool guard_intact(const struct guard *guard)
{
    const uint8_t *end = guard->data + guard->bytes;
    for (const uint8_t *p = guard->block; p < guard->data; p++) {
        if (*p != GUARD_POISON) {
            return false;
        }
    }
    for (const uint8_t *p = end; p < end + GUARD_BYTES; p++) {
        if (*p != GUARD_POISON) {
            return false;
        }
    }
    return true;
}

#endif
