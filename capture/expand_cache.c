// Chained hash of entries by shape, under the lock of the communicator's extra.

#include "capture/expand_cache.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "capture/comm_extra.h"
#include "kernels/counts.h"
#include "kernels/dtype.h"
#include "replay/submission.h"

#define BUCKETS 128
#define ENTRIES_MAX 256 // that no graph holds; beyond it, those not in use are dropped

// Rank, size and window are the same for all of a communicator's lists. A table's shape is its
// hash, as the count of no operator.
struct shape {
    uint64_t count;
    uint32_t root;
    uint16_t op;
    uint8_t element_bytes;
    uint8_t algorithm;
};

struct entry {
    struct entry *next;
    struct shape shape;
    uint32_t holds; // by ops of graphs
    void *what;     // struct rp_task_list or, of a shape without operator, struct rp_counts
};

struct rp_expand_cache {
    uint32_t entries;
    uint32_t held;        // entries with holds
    struct entry *recent; // held or released last: graphs repeat themselves; NULL: none
    struct entry *bucket[BUCKETS];
};

static struct shape shape_of(const struct rp_expand_request *request)
{
    return (struct shape){
        .count = request->count,
        .root = request->root,
        .op = request->op,
        .element_bytes = (uint8_t)rp_dtype_bytes((enum rp_dtype)request->dtype),
        .algorithm = request->algorithm,
    };
}

static bool same_shape(const struct shape *a, const struct shape *b)
{
    return a->count == b->count && a->root == b->root && a->op == b->op &&
           a->element_bytes == b->element_bytes && a->algorithm == b->algorithm;
}

static struct entry **bucket_of(struct rp_expand_cache *cache, const struct shape *shape)
{
    const uint64_t key = shape->count ^ (uint64_t)shape->root << 32 ^ (uint64_t)shape->op << 20 ^
                         (uint64_t)shape->element_bytes << 8 ^ shape->algorithm;
    return &cache->bucket[(key * UINT64_C(0x9e3779b97f4a7c15)) >> 57];
}
static_assert(BUCKETS == 128, "seven bits of hash");

static void free_entry(struct entry *entry)
{
    rp_free(entry->what);
    rp_free(entry);
}

void rp_expand_cache_free(struct rp_expand_cache *cache)
{
    for (unsigned b = 0; cache != NULL && b < BUCKETS; b++) {
        while (cache->bucket[b] != NULL) {
            struct entry *entry = cache->bucket[b];
            cache->bucket[b] = entry->next;
            free_entry(entry);
        }
    }
    rp_free(cache);
}

// Whether no list can be in anybody's hands but a graph's: this is the only call under way, and
// nothing that was queued is pending.
static bool idle(struct rp_comm *comm, struct rp_comm_extra *extra)
{
    // acquire [X3]: pairs with the store in rp_comm_call_end; a call that ended has counted what it
    // queued in `pending`, which is loaded after.
    return atomic_load_explicit(&extra->calls, memory_order_acquire) == 1 &&
           atomic_load_explicit(&comm->pending, memory_order_seq_cst) == 0;
}

static void drop_unused(struct rp_expand_cache *cache)
{
    cache->recent = NULL;
    for (unsigned b = 0; b < BUCKETS; b++) {
        struct entry **link = &cache->bucket[b];
        while (*link != NULL) {
            struct entry *entry = *link;
            if (entry->holds != 0) {
                link = &entry->next;
                continue;
            }
            *link = entry->next;
            free_entry(entry);
            cache->entries--;
        }
    }
}

static rp_status make_entry(const struct rp_expand_request *request, struct entry **out)
{
    struct entry *entry = rp_calloc(1, sizeof(*entry));
    if (entry == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the task list of a collective");
    }
    struct rp_task_list *list = NULL;
    const rp_status st = rp_expand(request, &list);
    if (st != RP_OK) {
        rp_free(entry);
        return st;
    }
    entry->what = list;
    entry->shape = shape_of(request);
    *out = entry;
    return RP_OK;
}

static void insert(struct rp_expand_cache *cache, struct entry *entry)
{
    struct entry **bucket = bucket_of(cache, &entry->shape);
    entry->next = *bucket;
    *bucket = entry;
    cache->entries++;
}

static rp_status find_or_make(struct rp_expand_cache *cache,
        const struct rp_expand_request *request, const struct rp_task_list **out)
{
    const struct shape shape = shape_of(request);
    struct entry *entry = *bucket_of(cache, &shape);
    while (entry != NULL && !same_shape(&entry->shape, &shape)) {
        entry = entry->next;
    }
    if (entry == NULL) {
        const rp_status st = make_entry(request, &entry);
        if (st != RP_OK) {
            return st;
        }
        insert(cache, entry);
    }
    *out = entry->what;
    return RP_OK;
}

static rp_status find_or_copy(
        struct rp_expand_cache *cache, const struct rp_counts *counts, const struct rp_counts **out)
{
    const struct shape shape = { .count = counts->hash };
    for (struct entry *entry = *bucket_of(cache, &shape); entry != NULL; entry = entry->next) {
        if (same_shape(&entry->shape, &shape) && rp_counts_equal(entry->what, counts)) {
            *out = entry->what;
            return RP_OK;
        }
    }
    const size_t bytes = rp_counts_bytes(rp_counts_kind_of(counts), counts->ranks);
    struct entry *entry = rp_calloc(1, sizeof(*entry));
    struct rp_counts *copy = entry == NULL ? NULL : rp_calloc(1, bytes);
    if (copy == NULL) {
        rp_free(entry);
        return rp_fail(RP_ENOMEM, "no memory for the counts of a collective");
    }
    memcpy(copy, counts, bytes);
    entry->what = copy;
    entry->shape = shape;
    insert(cache, entry);
    *out = copy;
    return RP_OK;
}

static rp_status find_both(struct rp_expand_cache *cache, const struct rp_expand_request *request,
        const struct rp_task_list **list, const struct rp_task_list **tail)
{
    const uint64_t most = rp_expand_round_count(request);
    if (most == 0) {
        return rp_fail(RP_EPARAM,
                "windows of %" PRIu64 " bytes have no room for %s between %" PRIu32
                " ranks; raise HCCL_BUFFSIZE",
                request->window_bytes, rp_op_kind_name(request->op), request->size);
    }
    struct rp_expand_request round = *request;
    round.count = rp_min_u64(request->count, most);
    const struct rp_task_list *full = NULL;
    rp_status st = find_or_make(cache, &round, &full);
    if (st != RP_OK) {
        return st;
    }
    round.count = request->count % round.count;
    const struct rp_task_list *last = NULL;
    if (round.count != 0) {
        st = find_or_make(cache, &round, &last);
    }
    if (st == RP_OK) {
        *list = full;
        *tail = last;
    }
    return st;
}

// The cache, under the lock, with room for what comes. `keep`: this call has something in it that
// nobody holds yet.
static rp_status open_cache(struct rp_comm *comm, bool keep, struct rp_expand_cache **out)
{
    struct rp_comm_extra *extra = rp_comm_extra_of(comm);
    if (extra->expansions == NULL) {
        extra->expansions = rp_calloc(1, sizeof(*extra->expansions));
    }
    struct rp_expand_cache *cache = extra->expansions;
    if (cache == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the expansion cache of %s", comm->name);
    }
    if (RP_UNLIKELY(cache->entries - cache->held >= ENTRIES_MAX) && !keep && idle(comm, extra)) {
        drop_unused(cache);
    }
    *out = cache;
    return RP_OK;
}

rp_status rp_expand_cached(struct rp_comm *comm, const struct rp_expand_request *request,
        const struct rp_task_list **list, const struct rp_task_list **tail)
{
    struct rp_comm_extra *extra = rp_comm_extra_of(comm);
    struct rp_expand_cache *cache = NULL;
    pthread_mutex_lock(&extra->lock);
    rp_status st = open_cache(comm, rp_op_is_uneven(request->op), &cache);
    if (st == RP_OK) {
        st = find_both(cache, request, list, tail);
    }
    pthread_mutex_unlock(&extra->lock);
    return st;
}

rp_status rp_counts_cached(
        struct rp_comm *comm, const struct rp_counts *counts, const struct rp_counts **out)
{
    struct rp_comm_extra *extra = rp_comm_extra_of(comm);
    struct rp_expand_cache *cache = NULL;
    pthread_mutex_lock(&extra->lock);
    rp_status st = open_cache(comm, false, &cache);
    if (st == RP_OK) {
        st = find_or_copy(cache, counts, out);
    }
    pthread_mutex_unlock(&extra->lock);
    return st;
}

static struct entry *entry_of(struct rp_expand_cache *cache, const void *what)
{
    if (cache->recent != NULL && cache->recent->what == what) {
        return cache->recent;
    }
    for (unsigned b = 0; b < BUCKETS; b++) {
        for (struct entry *entry = cache->bucket[b]; entry != NULL; entry = entry->next) {
            if (entry->what == what) {
                cache->recent = entry;
                return entry;
            }
        }
    }
    return NULL;
}

// One hold more or less.
static void change_holds(struct rp_comm *comm, const void *what, bool more)
{
    struct rp_comm_extra *extra = what == NULL ? NULL : rp_comm_extra_of(comm);
    if (extra == NULL) {
        return;
    }
    pthread_mutex_lock(&extra->lock);
    struct rp_expand_cache *cache = extra->expansions;
    struct entry *entry = cache == NULL ? NULL : entry_of(cache, what);
    if (entry != NULL && more) {
        cache->held += entry->holds++ == 0;
    } else if (entry != NULL) {
        assert(entry->holds != 0);
        cache->held -= --entry->holds == 0;
    }
    pthread_mutex_unlock(&extra->lock);
}

void rp_expand_hold(const struct rp_op *op)
{
    if (rp_op_is_pairs(op->record.op)) { // which have no lists
        if (rp_op_batch(op) != NULL) {
            rp_batch_ref(op->batch);
        }
        return;
    }
    change_holds(op->comm, op->list, true);
    change_holds(op->comm, op->tail, true);
    change_holds(op->comm, op->counts, true);
}

void rp_expand_release(const struct rp_op *op)
{
    if (rp_op_is_pairs(op->record.op)) { // which have no lists
        if (rp_op_batch(op) != NULL) {
            rp_batch_unref(op->batch);
        }
        return;
    }
    change_holds(op->comm, op->list, false);
    change_holds(op->comm, op->tail, false);
    change_holds(op->comm, op->counts, false);
}
