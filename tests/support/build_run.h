#ifndef TESTS_SUPPORT_BUILD_RUN_H
#define TESTS_SUPPORT_BUILD_RUN_H

/*
 * Running graphs that are built by hand: host functions that count, buffers of
 * words. For one suite an executable; it has defined WORKS(call).
 */

#include <acl/acl_rt.h>
#include <stdatomic.h>
#include <stdint.h>

#define WORDS 256
#define BYTES (WORDS * sizeof(uint32_t))

static _Atomic int calls;

static inline void count_call(void *arg)
{
    (void)arg;
    atomic_fetch_add(&calls, 1);
}

static inline void fill(uint32_t *words, uint32_t seed)
{
    for (uint32_t i = 0; i < WORDS; i++) {
        words[i] = seed * 2654435761u + i;
    }
}

static inline void run_and_wait(aclmdlRI graph, aclrtStream stream)
{
    WORKS(aclmdlRIExecuteAsync(graph, stream));
    WORKS(aclrtSynchronizeStream(stream));
}

#endif
