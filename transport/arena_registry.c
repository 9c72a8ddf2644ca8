// A table that is searched without a lock: every copy and every collective asks whose memory a
// pointer is. An entry carries the addresses itself, so the arena is not looked at: it may be on
// its way out. Only the caller can keep the arena that it gets alive.

#include "transport/arena_registry.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "transport/arena_internal.h"

#define ARENAS_MAX 1024 // as many as REPRISE_DEVICE_COUNT allows devices

struct entry {
    _Atomic(struct rp_arena *) arena; // NULL: free
    _Atomic uintptr_t base;
    _Atomic uint64_t bytes;
    _Atomic int32_t device_id;
};

static struct entry table[ARENAS_MAX];
static _Atomic uint32_t entries_used;                    // entries from here on were never used
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of writers; nothing is taken under it

rp_status rp_arena_registry_add(struct rp_arena *arena)
{
    pthread_mutex_lock(&lock);
    // relaxed: the lock orders writers.
    uint32_t used = atomic_load_explicit(&entries_used, memory_order_relaxed);
    uint32_t i = 0;
    while (i < used && atomic_load_explicit(&table[i].arena, memory_order_relaxed) != NULL) {
        i++;
    }
    if (i == ARENAS_MAX) {
        pthread_mutex_unlock(&lock);
        return rp_fail(RP_ENORES, "%d devices are in use already", ARENAS_MAX);
    }
    // relaxed: published by the store of `arena`.
    atomic_store_explicit(&table[i].base, (uintptr_t)arena->base, memory_order_relaxed);
    atomic_store_explicit(&table[i].bytes, arena->bytes, memory_order_relaxed);
    atomic_store_explicit(&table[i].device_id, arena->device_id, memory_order_relaxed);
    // release [AR1]: pairs with the loads in rp_arena_find and rp_arena_of_device.
    atomic_store_explicit(&table[i].arena, arena, memory_order_release);
    if (i == used) {
        // release [AR2]: pairs with the loads in rp_arena_find and rp_arena_of_device.
        atomic_store_explicit(&entries_used, used + 1, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return RP_OK;
}

void rp_arena_registry_remove(struct rp_arena *arena)
{
    pthread_mutex_lock(&lock);
    // relaxed, both: the lock orders writers; a reader that still sees the entry is as good as one
    // that came earlier.
    uint32_t used = atomic_load_explicit(&entries_used, memory_order_relaxed);
    for (uint32_t i = 0; i < used; i++) {
        if (atomic_load_explicit(&table[i].arena, memory_order_relaxed) == arena) {
            atomic_store_explicit(&table[i].arena, NULL, memory_order_relaxed);
        }
    }
    pthread_mutex_unlock(&lock);
}

struct rp_arena *rp_arena_find(const void *ptr)
{
    uintptr_t at = (uintptr_t)ptr;
    // acquire [AR2]: pairs with the store in rp_arena_registry_add.
    uint32_t used = atomic_load_explicit(&entries_used, memory_order_acquire);
    for (uint32_t i = 0; i < used; i++) {
        // acquire [AR1]: pairs with the store in rp_arena_registry_add.
        struct rp_arena *arena = atomic_load_explicit(&table[i].arena, memory_order_acquire);
        // relaxed: written before `arena`. An entry that changes hands meanwhile shows another
        // arena's addresses, and `ptr` lies in neither the old one nor one that is just being made.
        uintptr_t base = atomic_load_explicit(&table[i].base, memory_order_relaxed);
        uint64_t bytes = atomic_load_explicit(&table[i].bytes, memory_order_relaxed);
        if (arena != NULL && at >= base && at - base < bytes) {
            return arena;
        }
    }
    return NULL;
}

struct rp_arena *rp_arena_of_device(int32_t device_id)
{
    // acquire [AR2]: pairs with the store in rp_arena_registry_add.
    uint32_t used = atomic_load_explicit(&entries_used, memory_order_acquire);
    for (uint32_t i = 0; i < used; i++) {
        // acquire [AR1]: pairs with the store in rp_arena_registry_add.
        struct rp_arena *arena = atomic_load_explicit(&table[i].arena, memory_order_acquire);
        // relaxed: as in rp_arena_find.
        int32_t id = atomic_load_explicit(&table[i].device_id, memory_order_relaxed);
        if (arena != NULL && id == device_id) {
            return arena;
        }
    }
    return NULL;
}
