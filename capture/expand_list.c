#include "capture/expand_list.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernels/aiv.h"
#include "kernels/dtype.h"

// A round that is much larger than the caches gains nothing, and windows beyond this much of it
// are never touched: they cost addresses only.
#define WINDOW_BYTES_MIN (1024u * 1024u) // of communicators
#define REGION_BYTES_MAX (512u * 1024u)
#define LEVELS_BYTES_MAX UINT64_C(8388608)
#define PIPELINE_BYTES_MAX UINT64_C(131072) // for each rank: two of its places at most
#define SLOTS_BYTES_MAX (4u * 1024u * 1024u)
#define SLOT_BYTES_MAX (1024u * 1024u)
#define SLOT_BYTES_MIN (64u * 1024u) // of many ranks; the window itself may allow less

// Parts of at least this size are cut between cache lines.
#define LINE_CUT_BYTES 4096u

#define ELEMENT_BYTES_MAX 16u

#define FIRST_ROOM 32

rp_status rp_builder_finish(
        struct rp_list_builder *builder, uint64_t round_count, struct rp_task_list **out)
{
    if (builder->list == NULL && !builder->failed) {
        // A round of one rank's broadcast, say: there is nothing to do, but it is a list.
        builder->list = rp_calloc(1, sizeof(*builder->list));
    }
    if (builder->failed || builder->list == NULL) {
        rp_free(builder->list);
        builder->list = NULL;
        return rp_fail(RP_ENOMEM, "no memory for the task list of a collective");
    }
    builder->list->round_count = round_count;
    *out = builder->list;
    return RP_OK;
}

// A cleared task at the end of the list; NULL once memory has been short.
static struct rp_ht_task *add(struct rp_list_builder *builder, enum rp_ht_kind kind)
{
    if (builder->failed) {
        return NULL;
    }
    struct rp_task_list *list = builder->list;
    const uint32_t count = list == NULL ? 0 : list->task_count;
    if (list == NULL || count == builder->room) {
        const uint32_t room = count == 0 ? FIRST_ROOM : 2 * count;
        list = rp_realloc(list, sizeof(*list) + room * sizeof(list->task[0]));
        if (list == NULL) {
            builder->failed = true;
            return NULL;
        }
        if (count == 0) {
            *list = (struct rp_task_list){ .task_count = 0 };
        }
        builder->list = list;
        builder->room = room;
    }
    struct rp_ht_task *task = &list->task[list->task_count++];
    memset(task, 0, sizeof(*task));
    task->kind = (uint8_t)kind;
    return task;
}

static struct rp_ht_task *add_move(struct rp_list_builder *builder, enum rp_ht_kind kind,
        struct rp_ht_addr dst, struct rp_ht_addr src, uint64_t bytes)
{
    struct rp_ht_task *task = bytes == 0 ? NULL : add(builder, kind);
    if (task != NULL) {
        task->dst = dst;
        task->src = src;
        task->bytes = bytes;
    }
    return task;
}

void rp_build_copy(struct rp_list_builder *builder, struct rp_ht_addr dst, struct rp_ht_addr src,
        uint64_t bytes)
{
    add_move(builder, RP_HT_COPY, dst, src, bytes);
}

void rp_build_put(struct rp_list_builder *builder, uint32_t peer, struct rp_ht_addr dst,
        struct rp_ht_addr src, uint64_t bytes)
{
    struct rp_ht_task *task = add_move(builder, RP_HT_PUT, dst, src, bytes);
    if (task != NULL) {
        task->peer = peer;
    }
}

void rp_build_reduce(struct rp_list_builder *builder, struct rp_ht_addr dst, struct rp_ht_addr src,
        uint64_t bytes, const struct rp_fold *fold)
{
    struct rp_ht_task *task = add_move(builder, RP_HT_REDUCE, dst, src, bytes);
    if (task != NULL) {
        assert(fold->step <= UINT32_MAX && fold->count <= UINT16_MAX && fold->own < fold->count);
        task->fold_off = fold->off;
        task->fold_step = (uint32_t)fold->step;
        task->fold_count = (uint16_t)fold->count;
        task->fold_own = (uint16_t)fold->own;
    }
}

void rp_build_signal(struct rp_list_builder *builder, uint32_t peer)
{
    struct rp_ht_task *task = add(builder, RP_HT_SIGNAL);
    if (task != NULL) {
        task->peer = peer;
    }
}

void rp_build_wait(struct rp_list_builder *builder, uint32_t peer)
{
    struct rp_ht_task *task = add(builder, RP_HT_WAIT);
    if (task != NULL) {
        task->peer = peer;
    }
}

void rp_build_check(struct rp_list_builder *builder, uint32_t peer, struct rp_ht_addr src)
{
    struct rp_ht_task *task = add(builder, RP_HT_CHECK);
    if (task != NULL) {
        task->peer = peer;
        task->src = src;
        task->bytes = sizeof(uint64_t);
    }
}

void rp_build_when(
        struct rp_list_builder *builder, uint32_t first, uint32_t peer, enum rp_ht_when when)
{
    for (uint32_t i = first; i < rp_build_next(builder); i++) {
        builder->list->task[i].when = (uint8_t)when;
        builder->list->task[i].peer = peer; // a copy has none otherwise
    }
}

uint64_t rp_expand_element_bytes(const struct rp_expand_request *request)
{
    return rp_dtype_bytes((enum rp_dtype)request->dtype);
}

// HCCL_BUFFSIZE gives no communicator a smaller window.
static uint64_t regions_off(const struct rp_expand_request *request)
{
    return request->window_bytes >= WINDOW_BYTES_MIN && !request->nested ? RP_AIV_WINDOW_BYTES : 0;
}
static_assert(WINDOW_BYTES_MIN >= 4 * RP_AIV_WINDOW_BYTES, "the kernels' share is a small one");

// A small window is one half slots; the other is shared by the regions, of which the levels' counts
// for four.
static uint64_t share_bytes(const struct rp_expand_request *request)
{
    const uint64_t bytes = request->window_bytes - regions_off(request);
    const uint64_t shares = RP_REGION_PIPELINE + 1 + (request->nested ? 0 : 4);
    const uint64_t share = bytes / (2 * shares);
    return share - share % RP_CACHELINE;
}

static uint64_t region_bytes(const struct rp_expand_request *request)
{
    return rp_min_u64(share_bytes(request), REGION_BYTES_MAX);
}

static uint64_t levels_bytes(const struct rp_expand_request *request)
{
    return request->nested ? 0 : rp_min_u64(4 * share_bytes(request), LEVELS_BYTES_MAX);
}

static uint64_t slots_off(const struct rp_expand_request *request)
{
    return regions_off(request) + RP_REGION_PIPELINE * region_bytes(request);
}

struct rp_part rp_expand_region(const struct rp_expand_request *request, enum rp_region region)
{
    const uint64_t bytes = region_bytes(request);
    if (region < RP_REGION_PIPELINE) {
        return (struct rp_part){ .off = regions_off(request) + region * bytes, .bytes = bytes };
    }
    const uint64_t off = rp_expand_slot_off(request, request->size);
    const uint64_t levels = levels_bytes(request);
    const uint64_t room = request->window_bytes - off - levels;
    const uint64_t pipeline = rp_min_u64(room, request->size * PIPELINE_BYTES_MAX);
    const uint64_t lines = pipeline - pipeline % RP_CACHELINE;
    return region == RP_REGION_PIPELINE ? (struct rp_part){ .off = off, .bytes = lines }
                                        : (struct rp_part){ .off = off + lines, .bytes = levels };
}

uint64_t rp_expand_slot(const struct rp_expand_request *request)
{
    uint64_t most = SLOTS_BYTES_MAX / request->size;
    most = rp_min_u64(rp_max_u64(most, SLOT_BYTES_MIN), SLOT_BYTES_MAX);
    const uint64_t room = request->window_bytes - slots_off(request) - region_bytes(request) -
                          levels_bytes(request);
    const uint64_t slot = rp_min_u64(room / request->size, most);
    return slot - slot % RP_CACHELINE;
}

uint64_t rp_expand_slot_off(const struct rp_expand_request *request, uint32_t sender)
{
    return slots_off(request) + sender * rp_expand_slot(request);
}

uint32_t rp_expand_log2(uint32_t ranks)
{
    uint32_t steps = 0;
    while (UINT64_C(1) << steps < ranks) {
        steps++;
    }
    return steps;
}

// Not of the request's own element: where lanes begin must not hang on the type, or two operators'
// lanes of different peers would overlap.
uint64_t rp_expand_limit(uint64_t bytes)
{
    const uint64_t unit = bytes >= LINE_CUT_BYTES ? RP_CACHELINE : ELEMENT_BYTES_MAX;
    return bytes - bytes % unit;
}

struct rp_part rp_expand_part(
        const struct rp_expand_request *request, uint32_t index, uint32_t parts)
{
    const uint64_t element = rp_expand_element_bytes(request);
    const uint64_t total = request->count * element;
    const uint64_t unit = total / parts >= LINE_CUT_BYTES ? RP_CACHELINE : element;
    const uint64_t units = (total + unit - 1) / unit;
    const uint64_t each = units / parts;
    const uint64_t more = units % parts; // the first `more` parts have one unit more
    const uint64_t first = (each * index + rp_min_u64(more, index)) * unit;
    const uint64_t end = first + (each + (index < more ? 1 : 0)) * unit;
    return (struct rp_part){
        .off = rp_min_u64(first, total),
        .bytes = rp_min_u64(end, total) - rp_min_u64(first, total),
    };
}
