// What a program attaches to graphs and to their tasks: name, id, destroy callbacks, op infos.

#include <acl/acl_rt.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "capture/graph_info.h"
#include "capture/introspect.h"
#include "capture/task.h"

// ---- name and id ----

static rp_status set_name(aclmdlRI model, const char *name)
{
    static const char *const api = "aclmdlRISetName";
    struct rp_graph *graph = NULL;
    rp_status st = rp_graph_argument(api, model, &graph);
    if (st != RP_OK) {
        return st;
    }
    if (name == NULL) {
        return rp_fail(RP_EINVAL, "%s: name is NULL (graph %u)", api, graph->id);
    }
    if (strnlen(name, RP_GRAPH_NAME_MAX + 1) > RP_GRAPH_NAME_MAX) {
        return rp_fail(RP_EPARAM, "%s: the name for graph %u is longer than %d bytes", api,
                graph->id, RP_GRAPH_NAME_MAX);
    }
    st = rp_graph_check_current(api, graph);
    return st == RP_OK ? rp_graph_set_name(graph, name) : st;
}

aclError aclmdlRISetName(aclmdlRI modelRI, const char *name)
{
    return rp_acl(set_name(modelRI, name));
}

static rp_status get_name(aclmdlRI model, uint32_t room, char *name)
{
    static const char *const api = "aclmdlRIGetName";
    struct rp_graph *graph = NULL;
    rp_status st = rp_graph_argument(api, model, &graph);
    if (st != RP_OK) {
        return st;
    }
    if (name == NULL) {
        return rp_fail(RP_EINVAL, "%s: name is NULL (graph %u)", api, graph->id);
    }
    st = rp_graph_check_current(api, graph);
    if (st != RP_OK) {
        return st;
    }
    const size_t bytes = rp_graph_get_name(graph, name, room);
    if (bytes >= room) {
        return rp_fail(RP_EPARAM, "%s: maxLen is %u; the name of graph %u needs %zu bytes", api,
                room, graph->id, bytes + 1);
    }
    return RP_OK;
}

aclError aclmdlRIGetName(aclmdlRI modelRI, uint32_t maxLen, char *name)
{
    return rp_acl(get_name(modelRI, maxLen, name));
}

static rp_status get_id(aclmdlRI model, uint32_t *id)
{
    static const char *const api = "aclmdlRIGetId";
    struct rp_graph *graph = NULL;
    const rp_status st = rp_graph_argument(api, model, &graph);
    if (st == RP_OK && id == NULL) {
        return rp_fail(RP_EINVAL, "%s: modelRIId is NULL (graph %u)", api, graph->id);
    }
    if (st == RP_OK) {
        *id = graph->id;
    }
    return st;
}

aclError aclmdlRIGetId(aclmdlRI modelRI, uint32_t *modelRIId)
{
    return rp_acl(get_id(modelRI, modelRIId));
}

// ---- destroy callbacks ----

/* A root graph, and a function. */
static rp_status callback_arguments(
        const char *api, aclmdlRI model, aclrtCallback func, struct rp_graph **graph)
{
    const rp_status st = rp_graph_argument(api, model, graph);
    if (st != RP_OK) {
        return st;
    }
    if (func == NULL) {
        return rp_fail(RP_EINVAL, "%s: func is NULL (graph %u)", api, (*graph)->id);
    }
    return rp_graph_check_root(api, *graph, "has no destroy callbacks, it ends with its root");
}

aclError aclmdlRIDestroyRegisterCallback(aclmdlRI modelRI, aclrtCallback func, void *userData)
{
    struct rp_graph *graph = NULL;
    const rp_status st =
            callback_arguments("aclmdlRIDestroyRegisterCallback", modelRI, func, &graph);
    return rp_acl(st == RP_OK ? rp_graph_add_callback(graph, func, userData) : st);
}

aclError aclmdlRIDestroyUnregisterCallback(aclmdlRI modelRI, aclrtCallback func)
{
    struct rp_graph *graph = NULL;
    const rp_status st =
            callback_arguments("aclmdlRIDestroyUnregisterCallback", modelRI, func, &graph);
    return rp_acl(st == RP_OK ? rp_graph_remove_callback(graph, func) : st);
}

// ---- infos of the task submitted last ----

/* The graph's lane, or its first one, whose stream began the capture, has the switch on. */
static bool caches_op_info(const struct rp_graph *graph, uint32_t lane)
{
    const struct rp_stream *own = graph->lane[lane].stream;
    const struct rp_stream *origin = graph->lane[0].stream;
    // relaxed: ordered by the program, which switched it before it submitted the task.
    return (own != NULL && atomic_load_explicit(&own->cache_op_info, memory_order_relaxed) != 0) ||
           (origin != NULL &&
                   atomic_load_explicit(&origin->cache_op_info, memory_order_relaxed) != 0);
}

/* The graph and node of the task that this thread recorded last. */
static rp_status last_task(const char *api, struct rp_graph **graph, uint32_t *node)
{
    struct rp_context *context = NULL;
    const rp_status st = rp_context_current(&context);
    if (st != RP_OK) {
        return st;
    }
    const struct rp_thread *thread = rp_thread_self();
    const uint64_t handle = thread == NULL ? 0 : thread->last_task;
    if (!rp_task_locate((void *)(uintptr_t)handle, graph, node)) {
        return rp_fail(RP_EINTERNAL,
                "%s: this thread has submitted no task to a stream that captures or is bound to a "
                "graph being built",
                api);
    }
    if ((*graph)->context != context) {
        return rp_fail(RP_ESTREAMCTX, "%s: the last task is of graph %u, of another context", api,
                (*graph)->id);
    }
    return RP_OK;
}

/* Whether the last task can take an info of this kind. Graph held still. */
static rp_status check_open(
        const char *api, const struct rp_graph *graph, uint32_t node, enum rp_task_info_kind kind)
{
    // acquire: pairs with the store at the end of a capture or build.
    if (atomic_load_explicit(&graph->state, memory_order_acquire) != RP_GRAPH_CAPTURING) {
        return rp_fail(RP_EINTERNAL,
                "%s: graph %u, which has this thread's last task, is complete; infos are taken "
                "while it is captured or built",
                api, graph->id);
    }
    if (kind == RP_TASK_EXTEND_INFO) {
        return RP_OK;
    }
    if (graph->kind == RP_GRAPH_BUILT) {
        return rp_fail(RP_EINTERNAL, "%s: graph %u is not captured but built", api, graph->id);
    }
    const uint32_t lane = graph->node[node].lane;
    if (!caches_op_info(graph, lane)) {
        return rp_fail(RP_EINTERNAL,
                "%s: ACL_STREAM_ATTR_CACHE_OP_INFO is off for the capture on stream %d (graph %u)",
                api, graph->lane[lane].stream_id, graph->id);
    }
    return RP_OK;
}

static rp_status cache_info(
        const char *api, enum rp_task_info_kind kind, const void *data, size_t bytes)
{
    struct rp_graph *graph = NULL;
    uint32_t node = 0;
    rp_status st = last_task(api, &graph, &node);
    if (st != RP_OK) {
        return st;
    }
    rp_graph_hold_still(graph);
    st = check_open(api, graph, node, kind);
    rp_graph_let_go(graph);
    return st == RP_OK ? rp_task_set_info(graph, node, kind, data, bytes) : st;
}

static rp_status cache_op_info(const void *data, size_t bytes)
{
    static const char *const api = "aclrtCacheLastTaskOpInfo";
    const rp_status st = rp_enter();
    if (st != RP_OK) {
        return st;
    }
    if (data == NULL) {
        return rp_fail(RP_EINVAL, "%s: infoPtr is NULL", api);
    }
    if (bytes == 0 || bytes > RP_TASK_OP_INFO_MAX) {
        return rp_fail(RP_EPARAM, "%s: infoSize is %zu; it can be 1 to %zu", api, bytes,
                RP_TASK_OP_INFO_MAX);
    }
    return cache_info(api, RP_TASK_OP_INFO, data, bytes);
}

aclError aclrtCacheLastTaskOpInfo(const void *const infoPtr, const size_t infoSize)
{
    return rp_acl(cache_op_info(infoPtr, infoSize));
}

static rp_status cache_extend_info(const char *text, size_t bytes)
{
    static const char *const api = "aclrtCacheLastTaskExtendInfo";
    const rp_status st = rp_enter();
    if (st != RP_OK) {
        return st;
    }
    if (text == NULL) {
        return rp_fail(RP_EINVAL, "%s: extendInfoPtr is NULL", api);
    }
    if (bytes == 0) {
        return rp_fail(RP_EPARAM, "%s: infoSize is 0", api);
    }
    if (bytes > RP_TASK_EXTEND_INFO_MAX) {
        rp_log_warn("%s: %zu bytes are cut to %zu", api, bytes, RP_TASK_EXTEND_INFO_MAX);
        bytes = RP_TASK_EXTEND_INFO_MAX;
    }
    return cache_info(api, RP_TASK_EXTEND_INFO, text, bytes);
}

aclError aclrtCacheLastTaskExtendInfo(const char *const extendInfoPtr, const size_t infoSize)
{
    return rp_acl(cache_extend_info(extendInfoPtr, infoSize));
}
