// Looking into a graph: its streams, their tasks, a task's kind and number, and the two debug
// prints. Nothing here changes a graph.

#include "capture/introspect.h"

#include <acl/acl_rt.h>

#include "base/error.h"
#include "capture/graph_json.h"
#include "capture/task.h"
#include "replay/stream_alias.h"

// ---- graphs as arguments ----

rp_status rp_graph_argument(const char *api, void *model, struct rp_graph **graph)
{
    const rp_status st = rp_enter();
    if (st != RP_OK) {
        return st;
    }
    if (model == NULL) {
        return rp_fail(RP_EINVAL, "%s: modelRI is NULL", api);
    }
    struct rp_graph *found = rp_graph_from_handle(model);
    if (found == NULL) {
        return rp_fail(RP_EHANDLE, "%s: %p is no graph, or a destroyed one", api, model);
    }
    *graph = found;
    return RP_OK;
}

rp_status rp_graph_check_root(const char *api, const struct rp_graph *graph, const char *what)
{
    if (graph->root != graph) {
        return rp_fail(RP_ENOTSUP, "%s: graph %u is a sub-graph of graph %u; a sub-graph %s", api,
                graph->id, graph->root->id, what);
    }
    return RP_OK;
}

rp_status rp_graph_check_current(const char *api, const struct rp_graph *graph)
{
    struct rp_context *context = NULL;
    const rp_status st = rp_context_current(&context);
    if (st == RP_OK && graph->context != context) {
        return rp_fail(RP_EGRAPHCTX, "%s: graph %u is of another context than the current one", api,
                graph->id);
    }
    return st;
}

void rp_graph_hold_still(const struct rp_graph *graph)
{
    pthread_mutex_lock(&graph->context->capture_lock);
}

void rp_graph_let_go(const struct rp_graph *graph)
{
    pthread_mutex_unlock(&graph->context->capture_lock);
}

// ---- streams and their tasks ----

/* Where handles go: an array of the caller, which may be too small, or a count alone. */
struct handles {
    void **array; // NULL: only counted
    uint32_t room;
    uint32_t found;
};

static void put(struct handles *handles, void *handle)
{
    if (handles->array != NULL && handles->found < handles->room) {
        handles->array[handles->found] = handle;
    }
    handles->found++;
}

/* The count goes out, and NULL into what is left of the array. */
static rp_status finish(
        const char *api, const char *what, const struct handles *handles, uint32_t *count)
{
    *count = handles->found;
    if (handles->array == NULL) {
        return RP_OK;
    }
    for (uint32_t i = handles->found; i < handles->room; i++) {
        handles->array[i] = NULL;
    }
    if (handles->found > handles->room) {
        return rp_fail(RP_EARRAY, "%s: the array has room for %u %s of %u", api, handles->room,
                what, handles->found);
    }
    return RP_OK;
}

/* For aclrtStreamGetId: the id of the stream that was captured or bound. */
static bool lane_id(const void *handle, int32_t *id)
{
    struct rp_graph *graph = NULL;
    uint32_t lane = 0;
    if (!rp_task_stream_locate(handle, &graph, &lane)) {
        return false;
    }
    rp_graph_hold_still(graph);
    *id = graph->lane[lane].stream_id;
    rp_graph_let_go(graph);
    return true;
}

static rp_status get_streams(aclmdlRI model, aclrtStream *streams, uint32_t *count)
{
    static const char *const api = "aclmdlRIGetStreams";
    struct rp_graph *graph = NULL;
    rp_status st = rp_graph_argument(api, model, &graph);
    if (st == RP_OK && count == NULL) {
        st = rp_fail(RP_EINVAL, "%s: numStreams is NULL (graph %u)", api, graph->id);
    }
    if (st == RP_OK) {
        st = rp_graph_check_current(api, graph);
    }
    if (st == RP_OK) {
        st = rp_graph_check_root(api, graph, "does not tell its streams");
    }
    if (st != RP_OK) {
        return st;
    }
    // release [A1]: pairs with the load in aclrtStreamGetId.
    atomic_store_explicit(&rp_stream_alias, lane_id, memory_order_release);
    struct handles handles = { .array = streams, .room = *count };
    rp_graph_hold_still(graph);
    for (uint32_t lane = 0; lane < graph->lane_count; lane++) {
        put(&handles, rp_task_stream(graph, lane));
    }
    rp_graph_let_go(graph);
    return finish(api, "streams", &handles, count);
}

aclError aclmdlRIGetStreams(aclmdlRI modelRI, aclrtStream *streams, uint32_t *numStreams)
{
    return rp_acl(get_streams(modelRI, streams, numStreams));
}

/* The lane that a stream handle of aclmdlRIGetStreams stands for. */
static rp_status find_lane(
        const char *api, aclrtStream stream, struct rp_graph **graph, uint32_t *lane)
{
    if (stream == NULL) {
        return rp_fail(RP_EINVAL, "%s: stream is NULL", api);
    }
    const struct rp_stream *own = rp_stream_from_handle(stream);
    if (own != NULL) {
        return rp_fail(RP_EPARAM,
                "%s: stream %d is not a graph's; only streams that aclmdlRIGetStreams gave out "
                "have tasks to list",
                api, own->id);
    }
    if (!rp_task_stream_locate(stream, graph, lane)) {
        return rp_fail(RP_EHANDLE, "%s: %p is no stream, or one of a destroyed graph", api, stream);
    }
    return rp_graph_check_root(api, *graph, "does not tell its tasks");
}

static rp_status get_tasks(aclrtStream stream, aclmdlRITask *tasks, uint32_t *count)
{
    static const char *const api = "aclmdlRIGetTasksByStream";
    struct rp_graph *graph = NULL;
    uint32_t lane = 0;
    rp_status st = rp_enter();
    if (st == RP_OK && count == NULL) {
        st = rp_fail(RP_EINVAL, "%s: numTasks is NULL", api);
    }
    if (st == RP_OK) {
        st = find_lane(api, stream, &graph, &lane);
    }
    if (st == RP_OK) {
        st = rp_graph_check_current(api, graph);
    }
    if (st != RP_OK) {
        return st;
    }
    struct handles handles = { .array = tasks, .room = *count };
    rp_graph_hold_still(graph);
    for (uint32_t node = 0; node < graph->node_count; node++) {
        if (graph->node[node].lane == lane) {
            put(&handles, rp_task_handle(graph, node));
        }
    }
    rp_graph_let_go(graph);
    return finish(api, "tasks", &handles, count);
}

aclError aclmdlRIGetTasksByStream(aclrtStream stream, aclmdlRITask *tasks, uint32_t *numTasks)
{
    return rp_acl(get_tasks(stream, tasks, numTasks));
}

// ---- one task ----

static rp_status get_type(aclmdlRITask task, aclmdlRITaskType *type)
{
    static const char *const api = "aclmdlRITaskGetType";
    struct rp_graph *graph = NULL;
    uint32_t node = 0;
    rp_status st = rp_enter();
    if (st == RP_OK && type == NULL) {
        st = rp_fail(RP_EINVAL, "%s: type is NULL", api);
    }
    if (st == RP_OK) {
        st = rp_task_find(api, task, &graph, &node);
    }
    if (st != RP_OK) {
        return st;
    }
    rp_graph_hold_still(graph);
    *type = rp_task_type(&graph->node[node]);
    rp_graph_let_go(graph);
    return RP_OK;
}

aclError aclmdlRITaskGetType(aclmdlRITask task, aclmdlRITaskType *type)
{
    return rp_acl(get_type(task, type));
}

static rp_status get_seq_id(aclmdlRITask task, uint32_t *id)
{
    static const char *const api = "aclmdlRITaskGetSeqId";
    struct rp_graph *graph = NULL;
    uint32_t node = 0;
    rp_status st = rp_enter();
    if (st == RP_OK && id == NULL) {
        st = rp_fail(RP_EINVAL, "%s: id is NULL", api);
    }
    if (st == RP_OK) {
        st = rp_task_find(api, task, &graph, &node);
    }
    if (st == RP_OK && graph->kind != RP_GRAPH_CAPTURED) {
        st = rp_fail(RP_ENOTSUP,
                "%s: graph %u was built; only the tasks of captured graphs have a sequence id", api,
                graph->id);
    }
    if (st != RP_OK) {
        return st;
    }
    rp_graph_hold_still(graph);
    *id = graph->node[node].seq;
    rp_graph_let_go(graph);
    return RP_OK;
}

aclError aclmdlRITaskGetSeqId(aclmdlRITask task, uint32_t *id)
{
    return rp_acl(get_seq_id(task, id));
}

// ---- debug prints ----

/* While tasks can still be added to a graph or its relatives none is; a complete graph needs no
 * lock for as long as a slow file may take. */
static bool hold_recording(const struct rp_graph *graph)
{
    // acquire: pairs with the store at the end of a capture or build.
    const uint32_t state = atomic_load_explicit(&graph->root->state, memory_order_acquire);
    const bool recording = state == RP_GRAPH_CAPTURING || state == RP_GRAPH_INVALIDATED;
    if (recording) {
        rp_graph_hold_still(graph);
    }
    return recording;
}

static void let_go_recording(const struct rp_graph *graph, bool held)
{
    if (held) {
        rp_graph_let_go(graph);
    }
}

static rp_status debug_json(aclmdlRI model, const char *path, uint32_t flags)
{
    static const char *const api = "aclmdlRIDebugJsonPrint";
    struct rp_graph *graph = NULL;
    rp_status st = rp_graph_argument(api, model, &graph);
    if (st == RP_OK && path == NULL) {
        st = rp_fail(RP_EINVAL, "%s: path is NULL (graph %u)", api, graph->id);
    }
    if (st == RP_OK && flags > ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE) {
        st = rp_fail(
                RP_EPARAM, "%s: flags is 0x%x; it can be SUMMARY (0) or VERBOSE (1)", api, flags);
    }
    if (st == RP_OK) {
        st = rp_graph_check_current(api, graph);
    }
    if (st != RP_OK) {
        return st;
    }
    const bool held = hold_recording(graph);
    st = rp_graph_json_write(graph, path, flags == ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE);
    let_go_recording(graph, held);
    return st;
}

aclError aclmdlRIDebugJsonPrint(aclmdlRI modelRI, const char *path, uint32_t flags)
{
    return rp_acl(debug_json(modelRI, path, flags));
}

static rp_status debug_print(aclmdlRI model)
{
    static const char *const api = "aclmdlRIDebugPrint";
    struct rp_graph *graph = NULL;
    rp_status st = rp_graph_argument(api, model, &graph);
    if (st == RP_OK) {
        st = rp_graph_check_current(api, graph);
    }
    if (st == RP_OK) {
        const bool held = hold_recording(graph);
        st = rp_graph_json_log(graph);
        let_go_recording(graph, held);
    }
    return st;
}

aclError aclmdlRIDebugPrint(aclmdlRI modelRI)
{
    return rp_acl(debug_print(modelRI));
}
