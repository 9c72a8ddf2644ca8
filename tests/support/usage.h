#ifndef TESTS_SUPPORT_USAGE_H
#define TESTS_SUPPORT_USAGE_H

/*
 * What a process has in use, for tests that repeat something and expect that
 * nothing grows. For ranks of rank_runner.h: growth ends the rank.
 */

#include <stddef.h>

struct usage {
    unsigned descriptors;
    unsigned threads;
    unsigned mappings;
    size_t resident_bytes;
    size_t heap_bytes; /* that the allocator has given out */
};

/** usage_now: of the whole process, so of all ranks that are its threads. Under AddressSanitizer,
 *  which keeps freed memory back, mappings and memory read 0; it finds leaks itself. */
struct usage usage_now(void);

/** usage_expect_flat: no more than `before`, for which `of` is told if not. Waits a few seconds for
 *  descriptors that close a moment after the call that gave them up. */
void usage_expect_flat(const struct usage *before, const char *of);

/** usage_device_bytes: device memory in use on the current device. */
size_t usage_device_bytes(void);

#endif
