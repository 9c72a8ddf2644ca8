// Condition handles and conditional tasks.

#include "capture/cond.h"

#include <acl/acl_rt.h>
#include <assert.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "capture/capture.h"

#define WORD_ALIGN_BYTES 64

static struct rp_arena *arena_of(const struct rp_graph *graph)
{
    return rp_device_arena(graph->context->device);
}

static void free_word(const struct rp_graph *graph, struct rp_cond *cond)
{
    // acquire: pairs with the store in rp_context_destroy: the arena may have gone with the device.
    if (!atomic_load_explicit(&graph->context->destroyed, memory_order_acquire)) {
        const rp_status st = rp_arena_free(arena_of(graph), cond->word, RP_ARENA_DEVICE);
        assert(st == RP_OK);
        (void)st;
    }
}

void rp_cond_free_all(struct rp_graph *root)
{
    struct rp_cond *cond;
    while ((cond = root->conds) != NULL) {
        root->conds = cond->next;
        rp_handle_remove(RP_HANDLE_COND, cond);
        free_word(root, cond);
        rp_free(cond);
    }
}

static rp_status make(struct rp_graph *graph, struct rp_cond **out)
{
    struct rp_cond *cond = rp_calloc(1, sizeof *cond);
    if (cond == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for a condition of graph %u", graph->id);
    }
    void *word = NULL;
    rp_status st = rp_arena_alloc(
            arena_of(graph), sizeof *cond->word, WORD_ALIGN_BYTES, RP_ARENA_DEVICE, &word);
    if (st != RP_OK) {
        rp_free(cond);
        return st;
    }
    cond->word = word;
    cond->graph = graph;
    // relaxed: nobody else has it yet.
    atomic_store_explicit(cond->word, 0, memory_order_relaxed);
    st = rp_handle_add(RP_HANDLE_COND, cond);
    if (st != RP_OK) {
        free_word(graph, cond);
        rp_free(cond);
        return st;
    }
    *out = cond;
    return RP_OK;
}

/* Only a graph that is being captured at this moment. capture_lock held. */
static rp_status check_capturing(const struct rp_graph *graph)
{
    if (graph->kind == RP_GRAPH_BUILT) {
        return rp_fail(RP_ENOTSUP,
                "aclmdlRICondHandleCreate: graph %u is built, and only captured graphs have "
                "conditions",
                graph->id);
    }
    if (graph->capture == NULL) {
        return rp_fail(
                RP_EPARAM, "aclmdlRICondHandleCreate: graph %u is not being captured", graph->id);
    }
    if (graph->capture->invalidated) {
        return rp_fail(RP_EPARAM,
                "aclmdlRICondHandleCreate: the capture of graph %u was invalidated: %s", graph->id,
                graph->capture->cause);
    }
    return RP_OK;
}

static rp_status create(
        aclmdlRI model, uint32_t value, aclmdlRICondHandleFlag flag, aclmdlRICondHandle *out)
{
    if (model == NULL || out == NULL) {
        return rp_fail(RP_EINVAL, "aclmdlRICondHandleCreate: %s is NULL",
                model == NULL ? "modelRI" : "handle");
    }
    if ((unsigned)flag > ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT) {
        return rp_fail(RP_EPARAM,
                "aclmdlRICondHandleCreate: flag is %d; it can be 0 or ASSIGN_DEFAULT (1)",
                (int)flag);
    }
    struct rp_graph *graph = rp_graph_from_handle(model);
    if (graph == NULL) {
        return rp_fail(
                RP_EHANDLE, "aclmdlRICondHandleCreate: %p is no graph, or a destroyed one", model);
    }
    pthread_mutex_t *lock = &graph->context->capture_lock;
    pthread_mutex_lock(lock);
    struct rp_cond *cond = NULL;
    rp_status st = check_capturing(graph);
    if (st == RP_OK) {
        st = make(graph, &cond);
    }
    if (st == RP_OK) {
        cond->default_value = value;
        cond->has_default = flag == ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT;
        cond->next = graph->root->conds;
        graph->root->conds = cond;
        *out = cond;
    }
    pthread_mutex_unlock(lock);
    return st;
}

aclError aclmdlRICondHandleCreate(aclmdlRI modelRI, uint32_t defaultLaunchValue,
        aclmdlRICondHandleFlag flag, aclmdlRICondHandle *handle)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? create(modelRI, defaultLaunchValue, flag, handle) : st);
}

static rp_status find(const char *api, aclmdlRICondHandle handle, struct rp_cond **out)
{
    if (handle == NULL) {
        return rp_fail(RP_EINVAL, "%s: the condition's handle is NULL", api);
    }
    if (!rp_handle_live(RP_HANDLE_COND, handle)) {
        return rp_fail(
                RP_EHANDLE, "%s: %p is no condition, or one of a destroyed graph", api, handle);
    }
    *out = handle;
    return RP_OK;
}

static rp_status get_word(aclmdlRICondHandle handle, uint64_t **out)
{
    struct rp_cond *cond = NULL;
    if (out == NULL) {
        return rp_fail(RP_EINVAL, "aclmdlRICondHandleGetCondPtr: ptr is NULL");
    }
    const rp_status st = find("aclmdlRICondHandleGetCondPtr", handle, &cond);
    if (st != RP_OK) {
        return st;
    }
    // acquire: pairs with the store in rp_context_destroy.
    if (atomic_load_explicit(&cond->graph->context->destroyed, memory_order_acquire)) {
        return rp_fail(RP_EGRAPHCTX,
                "aclmdlRICondHandleGetCondPtr: the condition of graph %u ended with its context",
                cond->graph->id);
    }
    *out = (uint64_t *)cond->word;
    return RP_OK;
}

aclError aclmdlRICondHandleGetCondPtr(aclmdlRICondHandle handle, uint64_t **ptr)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_word(handle, ptr) : st);
}

static rp_status check_task(const aclmdlRICondTaskParams *params, uint32_t flags)
{
    const uint32_t size = params->size;
    if (flags != 0) {
        return rp_fail(RP_EPARAM, "aclmdlRIAddCondTask: flags is %u; it must be 0", flags);
    }
    if (params->modelRIArray == NULL) {
        return rp_fail(RP_EINVAL, "aclmdlRIAddCondTask: params.modelRIArray is NULL");
    }
    bool fits = false;
    switch ((int)params->type) {
    case ACL_MODEL_RI_COND_TYPE_IF:
        fits = size == 1 || size == 2;
        break;
    case ACL_MODEL_RI_COND_TYPE_WHILE:
        fits = size == 1;
        break;
    case ACL_MODEL_RI_COND_TYPE_SWITCH:
        fits = size >= 1;
        break;
    default:
        return rp_fail(RP_EPARAM, "aclmdlRIAddCondTask: type %d is not IF, WHILE or SWITCH",
                (int)params->type);
    }
    return fits ? RP_OK
                : rp_fail(RP_EPARAM,
                          "aclmdlRIAddCondTask: %u sub-graphs do not fit type %d: IF has 1 or 2, "
                          "WHILE 1, SWITCH at least 1",
                          size, (int)params->type);
}

/* capture_lock held. */
static rp_status check_stream(const struct rp_stream *stream, const struct rp_cond *cond)
{
    const struct rp_capture *capture = stream->capture;
    if (capture == NULL) {
        return rp_fail(
                RP_ENOTCAPTURED, "aclmdlRIAddCondTask: stream %d is not capturing", stream->id);
    }
    if (capture->graph != cond->graph) {
        return rp_fail(RP_EPARAM,
                "aclmdlRIAddCondTask: stream %d captures graph %u, the condition is of graph %u",
                stream->id, capture->graph->id, cond->graph->id);
    }
    if (cond->used) {
        return rp_fail(RP_EPARAM,
                "aclmdlRIAddCondTask: the condition of graph %u decides another task already",
                cond->graph->id);
    }
    return RP_OK;
}

/* The conditional goes through the stream's table like any task: what refuses those refuses it. */
static rp_status add(
        struct rp_stream *stream, struct rp_cond *cond, const aclmdlRICondTaskParams *params)
{
    struct rp_graph *graph = cond->graph;
    pthread_mutex_t *lock = &stream->context->capture_lock;
    uint32_t index = 0;
    pthread_mutex_lock(lock);
    rp_status st = check_stream(stream, cond);
    if (st == RP_OK) {
        st = rp_capture_check_valid(stream->capture, stream);
    }
    if (st == RP_OK) {
        st = rp_graph_add_cond(graph, cond, (uint8_t)params->type, params->size, &index);
    }
    if (st == RP_OK) {
        cond->used = true;
        const struct rp_task task = { .insn = { .kind = RP_INSN_COND, .index = index } };
        st = rp_capture_record(stream->capture, stream, &task);
    }
    for (uint32_t i = 0; st == RP_OK && i < params->size; i++) {
        params->modelRIArray[i] = graph->cond[index].sub[i];
    }
    pthread_mutex_unlock(lock);
    return st;
}

static rp_status add_task(const aclmdlRICondTaskParams *params, aclrtStream handle, uint32_t flags)
{
    struct rp_stream *stream = NULL;
    struct rp_cond *cond = NULL;
    rp_status st = check_task(params, flags);
    if (st == RP_OK) {
        st = find("aclmdlRIAddCondTask", params->handle, &cond);
    }
    if (st == RP_OK) {
        st = rp_stream_resolve(handle, &stream);
    }
    return st == RP_OK ? add(stream, cond, params) : st;
}

aclError aclmdlRIAddCondTask(aclmdlRICondTaskParams params, aclrtStream stream, uint32_t flags)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? add_task(&params, stream, flags) : st);
}
