// Live handles: one open-addressing table a kind. A slot is free, an address or
// a tombstone. Readers probe without a lock; a table that has grown is kept, for
// a reader may still be in it. Each is at least twice as large as the one before,
// so all old tables together are smaller than the last, and tombstones at the end
// of a chain are freed again, so that coming and going does not make it grow.

#include "base/handle.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"

#define FIRST_SLOTS 64
#define FREE ((uintptr_t)0)
#define TOMBSTONE ((uintptr_t)1)

struct table {
    struct table *older;
    size_t slots; /* a power of two */
    _Atomic uintptr_t slot[];
};

struct set {
    pthread_mutex_t lock;
    _Atomic(struct table *) table;
    size_t used; /* slots that are not free, tombstones included; under lock */
    size_t live; /* under lock */
};

static struct set sets[RP_HANDLE_KINDS] = {
    [RP_HANDLE_CONTEXT] = { .lock = PTHREAD_MUTEX_INITIALIZER },
    [RP_HANDLE_STREAM] = { .lock = PTHREAD_MUTEX_INITIALIZER },
    [RP_HANDLE_EVENT] = { .lock = PTHREAD_MUTEX_INITIALIZER },
    [RP_HANDLE_GRAPH] = { .lock = PTHREAD_MUTEX_INITIALIZER },
    [RP_HANDLE_COMM] = { .lock = PTHREAD_MUTEX_INITIALIZER },
    [RP_HANDLE_PHYSICAL] = { .lock = PTHREAD_MUTEX_INITIALIZER },
    [RP_HANDLE_NOTIFY] = { .lock = PTHREAD_MUTEX_INITIALIZER },
    [RP_HANDLE_LABEL] = { .lock = PTHREAD_MUTEX_INITIALIZER },
    [RP_HANDLE_LABEL_LIST] = { .lock = PTHREAD_MUTEX_INITIALIZER },
    [RP_HANDLE_COND] = { .lock = PTHREAD_MUTEX_INITIALIZER },
    [RP_HANDLE_TASK_GROUP] = { .lock = PTHREAD_MUTEX_INITIALIZER },
    [RP_HANDLE_BINARY] = { .lock = PTHREAD_MUTEX_INITIALIZER },
    [RP_HANDLE_FUNCTION] = { .lock = PTHREAD_MUTEX_INITIALIZER },
    [RP_HANDLE_ARGS] = { .lock = PTHREAD_MUTEX_INITIALIZER },
    [RP_HANDLE_OTHER] = { .lock = PTHREAD_MUTEX_INITIALIZER },
};

static size_t first_probe(const struct table *table, uintptr_t address)
{
    // Allocators align to 16 and more: the low bits say nothing.
    return (size_t)((uint64_t)(address >> 4) * 0x9e3779b97f4a7c15ull >> 20) & (table->slots - 1);
}

static struct table *current_table(struct set *set)
{
    // acquire [H1]: pairs with the store in grow; the new table's slots are filled.
    return atomic_load_explicit(&set->table, memory_order_acquire);
}

/* The slot that holds `address`, or NULL. */
static _Atomic uintptr_t *find(struct table *table, uintptr_t address)
{
    if (table == NULL) {
        return NULL;
    }
    size_t at = first_probe(table, address);
    for (size_t probes = 0; probes < table->slots; probes++) {
        // acquire [H2]: pairs with the store in insert; the object behind it is complete.
        const uintptr_t held = atomic_load_explicit(&table->slot[at], memory_order_acquire);
        if (held == address) {
            return &table->slot[at];
        }
        if (held == FREE) {
            return NULL;
        }
        at = (at + 1) & (table->slots - 1);
    }
    return NULL;
}

/* Returns how many free slots it took: 0 when a tombstone was there to be had. */
static size_t insert(struct table *table, uintptr_t address)
{
    size_t at = first_probe(table, address);
    // relaxed: only lock holders write slots.
    while (atomic_load_explicit(&table->slot[at], memory_order_relaxed) > TOMBSTONE) {
        at = (at + 1) & (table->slots - 1);
    }
    const bool was_free = atomic_load_explicit(&table->slot[at], memory_order_relaxed) == FREE;
    // release [H2]: pairs with the load in find.
    atomic_store_explicit(&table->slot[at], address, memory_order_release);
    return was_free;
}

/*
 * Buries the slot `at` and returns how many slots became free. Where the next slot is free no probe
 * goes on beyond this one, so it and the tombstones before it need not be kept.
 */
static size_t bury(struct table *table, size_t at)
{
    const size_t mask = table->slots - 1;
    size_t freed = 0;
    // relaxed: only lock holders write slots, and a reader that misses the removal is in the race
    // described in the header.
    atomic_store_explicit(&table->slot[at], TOMBSTONE, memory_order_relaxed);
    if (atomic_load_explicit(&table->slot[(at + 1) & mask], memory_order_relaxed) != FREE) {
        return 0;
    }
    while (atomic_load_explicit(&table->slot[at], memory_order_relaxed) == TOMBSTONE) {
        atomic_store_explicit(&table->slot[at], FREE, memory_order_relaxed);
        freed++;
        at = (at - 1) & mask;
    }
    return freed;
}

/* A larger table without tombstones takes over. Lock held. */
static rp_status grow(struct set *set)
{
    struct table *old = current_table(set);
    size_t slots = old == NULL ? FIRST_SLOTS : 2 * old->slots;
    while (slots < 4 * (set->live + 1)) {
        slots *= 2;
    }
    struct table *table = rp_calloc(1, sizeof *table + slots * sizeof table->slot[0]);
    if (table == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for a table of %zu handles", slots);
    }
    table->slots = slots;
    table->older = old;
    for (size_t i = 0; old != NULL && i < old->slots; i++) {
        const uintptr_t held = atomic_load_explicit(&old->slot[i], memory_order_relaxed);
        if (held > TOMBSTONE) {
            insert(table, held);
        }
    }
    set->used = set->live;
    // release [H1]: pairs with the load in current_table.
    atomic_store_explicit(&set->table, table, memory_order_release);
    return RP_OK;
}

/* Room for one more: at most half of the slots are ever used. Lock held. */
static rp_status make_room(struct set *set)
{
    const struct table *table = current_table(set);
    if (table != NULL && 2 * (set->used + 1) <= table->slots) {
        return RP_OK;
    }
    return grow(set);
}

rp_status rp_handle_add(enum rp_handle_kind kind, const void *object)
{
    struct set *set = &sets[kind];
    pthread_mutex_lock(&set->lock);
    const rp_status st = make_room(set);
    if (st == RP_OK) {
        set->used += insert(current_table(set), (uintptr_t)object);
        set->live++;
    }
    pthread_mutex_unlock(&set->lock);
    return st;
}

bool rp_handle_remove(enum rp_handle_kind kind, const void *object)
{
    struct set *set = &sets[kind];
    if ((uintptr_t)object <= TOMBSTONE) {
        return false;
    }
    pthread_mutex_lock(&set->lock);
    struct table *table = current_table(set);
    _Atomic uintptr_t *slot = find(table, (uintptr_t)object);
    if (slot != NULL) {
        set->used -= bury(table, (size_t)(slot - table->slot));
        set->live--;
    }
    pthread_mutex_unlock(&set->lock);
    return slot != NULL;
}

bool rp_handle_live(enum rp_handle_kind kind, const void *object)
{
    return (uintptr_t)object > TOMBSTONE &&
           find(current_table(&sets[kind]), (uintptr_t)object) != NULL;
}

bool rp_handle_ref(enum rp_handle_kind kind, void *object, void (*ref)(void *object))
{
    struct set *set = &sets[kind];
    pthread_mutex_lock(&set->lock);
    const bool live = rp_handle_live(kind, object);
    if (live) {
        ref(object);
    }
    pthread_mutex_unlock(&set->lock);
    return live;
}

void rp_handle_each(enum rp_handle_kind kind, void (*fn)(void *object, void *arg), void *arg)
{
    struct set *set = &sets[kind];
    pthread_mutex_lock(&set->lock);
    struct table *table = current_table(set);
    for (size_t i = 0; table != NULL && i < table->slots; i++) {
        const uintptr_t held = atomic_load_explicit(&table->slot[i], memory_order_relaxed);
        if (held > TOMBSTONE) {
            fn((void *)held, arg);
        }
    }
    pthread_mutex_unlock(&set->lock);
}
