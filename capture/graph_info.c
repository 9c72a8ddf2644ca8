// What a program attaches to a graph. One table of the root holds infos of tasks and
// names of graphs, found by the task's handle; a graph's own entry has the handle of
// no task, whose lower half is 0. One lock for all graphs: these calls are rare, and
// nothing that runs a graph comes here.

#include "capture/graph_info.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "capture/task.h"

// uthash leaves the process when memory is short unless it is told otherwise.
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->refused = true)
#define uthash_malloc(bytes) rp_malloc(bytes)
#define uthash_free(memory, bytes) rp_free(memory)
#include <uthash.h>

struct entry {
    uint64_t key; // handle of the task
    void *data[RP_TASK_INFO_KINDS];
    size_t bytes[RP_TASK_INFO_KINDS]; // without the NUL that stands behind each
    bool refused;                     // the table had no memory for it
    UT_hash_handle hh;
};

struct callback {
    void (*fn)(void *);
    void *arg;
};

struct rp_graph_info {
    struct entry *entries;
    struct callback *callback; // in the order of registration
    uint32_t callback_count, callback_cap;
};

#define NAME RP_TASK_OP_INFO // the place of a graph's name in its own entry

static pthread_mutex_t info_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t key_of_graph(const struct rp_graph *graph)
{
    return (uint64_t)graph->id << 32;
}

static uint64_t key_of_node(const struct rp_graph *graph, uint32_t node)
{
    return (uintptr_t)rp_task_handle(graph, node);
}

/* The root's infos, made at first use; NULL when memory is short. info_lock held. */
static struct rp_graph_info *info_of(struct rp_graph *graph)
{
    struct rp_graph *root = graph->root;
    if (root->info == NULL) {
        root->info = rp_calloc(1, sizeof *root->info);
    }
    return root->info;
}

static struct entry *find_entry(const struct rp_graph *graph, uint64_t key)
{
    struct entry *entry = NULL;
    if (graph->root->info != NULL) {
        HASH_FIND(hh, graph->root->info->entries, &key, sizeof key, entry);
    }
    return entry;
}

/* The entry of `key`, made if there is none; NULL when memory is short. info_lock held. */
static struct entry *need_entry(struct rp_graph *graph, uint64_t key)
{
    struct rp_graph_info *info = info_of(graph);
    struct entry *entry = find_entry(graph, key);
    if (info == NULL || entry != NULL) {
        return entry;
    }
    entry = rp_calloc(1, sizeof *entry);
    if (entry == NULL) {
        return NULL;
    }
    entry->key = key;
    HASH_ADD(hh, info->entries, key, sizeof entry->key, entry);
    if (entry->refused) {
        rp_free(entry);
        return NULL;
    }
    return entry;
}

static void free_entry(struct rp_graph_info *info, struct entry *entry)
{
    HASH_DEL(info->entries, entry);
    for (int kind = 0; kind < RP_TASK_INFO_KINDS; kind++) {
        rp_free(entry->data[kind]);
    }
    rp_free(entry);
}

/* Keep a copy of `data` at `key`. */
static rp_status keep(
        struct rp_graph *graph, uint64_t key, unsigned kind, const void *data, size_t bytes)
{
    char *copy = rp_malloc(bytes + 1);
    pthread_mutex_lock(&info_lock);
    struct entry *entry = copy == NULL ? NULL : need_entry(graph, key);
    if (entry == NULL) {
        pthread_mutex_unlock(&info_lock);
        rp_free(copy);
        return rp_fail(RP_ENOMEM, "no memory for %zu bytes that graph %u should keep", bytes,
                graph->root->id);
    }
    memcpy(copy, data, bytes);
    copy[bytes] = '\0';
    rp_free(entry->data[kind]);
    entry->data[kind] = copy;
    entry->bytes[kind] = bytes;
    pthread_mutex_unlock(&info_lock);
    return RP_OK;
}

rp_status rp_graph_set_name(struct rp_graph *graph, const char *name)
{
    return keep(graph, key_of_graph(graph), NAME, name, strlen(name));
}

size_t rp_graph_get_name(struct rp_graph *graph, char *out, size_t room)
{
    pthread_mutex_lock(&info_lock);
    const struct entry *entry = find_entry(graph, key_of_graph(graph));
    const char *name = entry == NULL ? "" : entry->data[NAME];
    const size_t bytes = entry == NULL ? 0 : entry->bytes[NAME];
    if (bytes < room) {
        memcpy(out, name, bytes + 1);
    }
    pthread_mutex_unlock(&info_lock);
    return bytes;
}

rp_status rp_task_set_info(struct rp_graph *graph, uint32_t node, enum rp_task_info_kind kind,
        const void *data, size_t bytes)
{
    return keep(graph, key_of_node(graph, node), kind, data, bytes);
}

const void *rp_task_info(
        struct rp_graph *graph, uint32_t node, enum rp_task_info_kind kind, size_t *bytes)
{
    pthread_mutex_lock(&info_lock);
    const struct entry *entry = find_entry(graph, key_of_node(graph, node));
    const void *data = entry == NULL ? NULL : entry->data[kind];
    *bytes = entry == NULL ? 0 : entry->bytes[kind];
    pthread_mutex_unlock(&info_lock);
    return data;
}

void rp_task_drop_info(struct rp_graph *graph, uint32_t node)
{
    pthread_mutex_lock(&info_lock);
    struct entry *entry = find_entry(graph, key_of_node(graph, node));
    if (entry != NULL) {
        free_entry(graph->root->info, entry);
    }
    pthread_mutex_unlock(&info_lock);
}

static uint32_t callback_index(const struct rp_graph_info *info, void (*fn)(void *))
{
    uint32_t i = 0;
    while (i < info->callback_count && info->callback[i].fn != fn) {
        i++;
    }
    return i;
}

/* Room for one callback more. info_lock held. */
static rp_status reserve_callback(struct rp_graph_info *info)
{
    if (info == NULL) {
        return RP_ENOMEM;
    }
    if (info->callback_count < info->callback_cap) {
        return RP_OK;
    }
    const uint32_t cap = info->callback_cap == 0 ? 4 : 2 * info->callback_cap;
    struct callback *larger = rp_realloc(info->callback, cap * sizeof *larger);
    if (larger == NULL) {
        return RP_ENOMEM;
    }
    info->callback = larger;
    info->callback_cap = cap;
    return RP_OK;
}

rp_status rp_graph_add_callback(struct rp_graph *graph, void (*fn)(void *), void *arg)
{
    pthread_mutex_lock(&info_lock);
    struct rp_graph_info *info = info_of(graph);
    rp_status st = reserve_callback(info);
    if (st == RP_OK && callback_index(info, fn) < info->callback_count) {
        st = RP_EPARAM;
    }
    if (st == RP_OK) {
        info->callback[info->callback_count++] = (struct callback){ fn, arg };
    }
    pthread_mutex_unlock(&info_lock);
    if (st == RP_EPARAM) {
        return rp_fail(st,
                "the function is registered already as a destroy callback of graph %u; each can be "
                "registered once",
                graph->id);
    }
    return st == RP_OK ? st
                       : rp_fail(st, "no memory for a destroy callback of graph %u", graph->id);
}

rp_status rp_graph_remove_callback(struct rp_graph *graph, void (*fn)(void *))
{
    rp_status st = RP_EPARAM;
    pthread_mutex_lock(&info_lock);
    struct rp_graph_info *info = graph->root->info;
    const uint32_t at = info == NULL ? 0 : callback_index(info, fn);
    if (info != NULL && at < info->callback_count) {
        info->callback_count--;
        memmove(&info->callback[at], &info->callback[at + 1],
                (info->callback_count - at) * sizeof info->callback[0]);
        st = RP_OK;
    }
    pthread_mutex_unlock(&info_lock);
    return st == RP_OK ? st
                       : rp_fail(st, "the function is no destroy callback of graph %u", graph->id);
}

void rp_graph_info_free(struct rp_graph_info *info)
{
    if (info == NULL) {
        return;
    }
    for (uint32_t i = 0; i < info->callback_count; i++) {
        info->callback[i].fn(info->callback[i].arg);
    }
    for (struct entry *entry = info->entries, *next; entry != NULL; entry = next) {
        next = entry->hh.next;
        free_entry(info, entry);
    }
    rp_free(info->callback);
    rp_free(info);
}
