// Threads that allocate, free, hold and look up in one arena while other arenas come and go. What a
// thread was given it writes without a lock, so memory handed out twice is a data race.

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "transport/arena.h"

#define THREADS 4
#define STEPS 3000
#define PIECES 12
#define GRANULE ((size_t)RP_ARENA_GRANULE)

static struct rp_arena *arena;
static _Atomic bool failed;

static void fail(const char *what)
{
    const char *why = rp_error_take();
    fprintf(stderr, "%s: %s\n", what, why == NULL ? "" : why);
    atomic_store(&failed, true);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static void *work(void *arg)
{
    uint64_t random = *(uint64_t *)arg;
    struct {
        uint8_t *ptr;
        size_t bytes;
    } piece[PIECES] = { 0 };
    for (int step = 0; step < STEPS && !atomic_load(&failed); step++) {
        uint64_t i = next_random(&random) % PIECES;
        if (piece[i].ptr == NULL) {
            void *ptr;
            piece[i].bytes = 1 + next_random(&random) % (UINT64_C(2) << next_random(&random) % 17);
            if (rp_arena_alloc(arena, piece[i].bytes, 64, RP_ARENA_DEVICE, &ptr) == RP_OK) {
                piece[i].ptr = ptr;
                memset(ptr, (int)i, piece[i].bytes);
            }
            continue;
        }
        bool hold = next_random(&random) % 4 == 0;
        if (rp_arena_find(piece[i].ptr) != arena) {
            fail("a pointer is in no arena");
        }
        if (hold) {
            rp_arena_hold(arena, piece[i].ptr, piece[i].bytes);
        }
        if (rp_arena_free(arena, piece[i].ptr, RP_ARENA_DEVICE) != RP_OK) {
            fail("free");
        }
        if (hold) {
            piece[i].ptr[piece[i].bytes - 1]++; // as a peer may still
            rp_arena_unhold(arena, piece[i].ptr, piece[i].bytes);
        }
        piece[i].ptr = NULL;
    }
    return NULL;
}

static void *map_ranges(void *arg)
{
    (void)arg;
    for (int i = 0; i < STEPS / 10 && !atomic_load(&failed); i++) {
        void *range;
        if (rp_arena_reserve(arena, 2 * GRANULE, &range) != RP_OK) {
            continue; // the others have fragmented the addresses
        }
        if (rp_arena_back(arena, range, GRANULE) == RP_OK) {
            memset(range, 1, 4096);
            if (rp_arena_unback(arena, range, GRANULE) != RP_OK) {
                fail("unback");
            }
        }
        if (rp_arena_release(arena, range) != RP_OK) {
            fail("release");
        }
    }
    return NULL;
}

static void *come_and_go(void *arg)
{
    (void)arg;
    for (int32_t i = 0; i < 40 && !atomic_load(&failed); i++) {
        struct rp_arena *other;
        if (rp_arena_create(1 + i % 3, &other) != RP_OK) {
            fail("create");
            break;
        }
        if (rp_arena_find(rp_arena_base(other)) != other ||
                rp_arena_of_device(1 + i % 3) != other) {
            fail("a new arena is not found");
        }
        rp_arena_destroy(other);
    }
    return NULL;
}

#define LATE_DEVICE 9

// An arena that another thread makes is used as soon as it can be found.
static void *use_late_arena(void *arg)
{
    struct rp_arena *late;
    void *ptr;
    (void)arg;
    while ((late = rp_arena_of_device(LATE_DEVICE)) == NULL) {
        sched_yield();
    }
    if (rp_arena_alloc(late, 100, 64, RP_ARENA_DEVICE, &ptr) != RP_OK ||
            rp_arena_find(ptr) != late) {
        fail("the late arena");
    }
    return NULL;
}

int main(void)
{
    struct rp_arena *late;
    pthread_t thread[THREADS + 3];
    uint64_t seed[THREADS];
    setenv("REPRISE_DEVICE_MEMORY", "32M", 1);
    if (rp_arena_create(0, &arena) != RP_OK) {
        fail("create");
        return 1;
    }
    // Places in the table that were used before: nothing but the pointer publishes their next
    // owner.
    struct rp_arena *before[3];
    for (int32_t i = 0; i < 3; i++) {
        if (rp_arena_create(20 + i, &before[i]) != RP_OK) {
            fail("create");
            return 1;
        }
    }
    for (int i = 0; i < 3; i++) {
        rp_arena_destroy(before[i]);
    }
    for (uint64_t i = 0; i < THREADS; i++) {
        seed[i] = i + 1;
        pthread_create(&thread[i], NULL, work, &seed[i]);
    }
    pthread_create(&thread[THREADS], NULL, map_ranges, NULL);
    pthread_create(&thread[THREADS + 1], NULL, come_and_go, NULL);
    pthread_create(&thread[THREADS + 2], NULL, use_late_arena, NULL);
    if (rp_arena_create(LATE_DEVICE, &late) != RP_OK) {
        fail("create");
        return 1;
    }
    for (int i = 0; i < THREADS + 3; i++) {
        pthread_join(thread[i], NULL);
    }
    rp_arena_destroy(late);
    rp_arena_destroy(arena);
    return atomic_load(&failed) ? 1 : 0;
}
