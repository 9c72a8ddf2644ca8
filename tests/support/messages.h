#ifndef TESTS_SUPPORT_MESSAGES_H
#define TESTS_SUPPORT_MESSAGES_H

/* Messages between ranks whose bytes tell who sent which one to whom. For ranks of rank_runner.h.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/rank_test.h"

/** message_byte: byte `i` of message `number` from rank `from` to rank `to`. */
static inline uint8_t message_byte(unsigned from, unsigned to, uint64_t number, size_t i)
{
    return (uint8_t)(word(from * RANKS_MAX + to, number, i / 4) >> (i % 4 * 8));
}

static inline void message_write(
        void *buffer, unsigned from, unsigned to, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        ((uint8_t *)buffer)[i] = message_byte(from, to, number, i);
    }
}

static inline void message_check(const void *buffer, unsigned from, unsigned to, uint64_t number,
        size_t bytes, const char *when)
{
    for (size_t i = 0; i < bytes; i++) {
        const uint8_t got = ((const uint8_t *)buffer)[i];
        must_hold(got == message_byte(from, to, number, i),
                "%s: byte %zu of %zu of message %llu from %u to %u is %u, not %u", when, i, bytes,
                (unsigned long long)number, from, to, got, message_byte(from, to, number, i));
    }
}

/** message_room: device memory, `skew` bytes behind a boundary; freed with the process. */
static inline uint8_t *message_room(size_t bytes, size_t skew)
{
    void *room = NULL;
    must(aclrtMalloc(&room, bytes + skew + 1, ACL_MEM_MALLOC_HUGE_FIRST));
    return (uint8_t *)room + skew;
}

#endif
