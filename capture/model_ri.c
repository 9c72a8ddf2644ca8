// The aclmdlRI entry points of a captured graph: capture, execute, destroy.

#include <acl/acl_rt.h>

#include "base/error.h"
#include "base/handle.h"
#include "capture/capture.h"
#include "transport/comm.h"

/* aclmdlRIDestroy waits this long for queued replays to end (spec/aclgraph.md section 9). */
#define DESTROY_WAIT_NS (10ull * 1000 * 1000 * 1000)

/* A live stream of the current context, or its default stream for NULL. */
static rp_status enter_with_stream(aclrtStream handle, struct rp_stream **stream)
{
    const rp_status st = rp_enter();
    return st == RP_OK ? rp_stream_resolve(handle, stream) : st;
}

static rp_status capture_begin(
        const char *api, aclrtStream handle, struct rp_graph *into, aclmdlRICaptureMode mode)
{
    struct rp_stream *stream = NULL;
    if (handle == NULL) {
        return rp_fail(RP_EINVAL, "%s: stream is NULL", api);
    }
    if ((unsigned)mode >= RP_CAPTURE_MODES) {
        return rp_fail(RP_EPARAM, "%s: mode %d is not GLOBAL, THREAD_LOCAL or RELAXED", api,
                (int)mode);
    }
    const rp_status st = enter_with_stream(handle, &stream);
    return st == RP_OK ? rp_capture_begin(stream, into, (enum rp_capture_mode)mode) : st;
}

aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode)
{
    return rp_acl(capture_begin("aclmdlRICaptureBegin", stream, NULL, mode));
}

static rp_status capture_into(aclrtStream stream, aclmdlRI model, aclmdlRICaptureMode mode)
{
    const char *api = "aclmdlRICaptureToModelRIBegin";
    if (model == NULL) {
        return rp_fail(RP_EINVAL, "%s: modelRI is NULL", api);
    }
    struct rp_graph *graph = rp_graph_from_handle(model);
    if (graph == NULL) {
        return rp_fail(RP_EPARAM, "%s: %p is no graph, or a destroyed one", api, model);
    }
    return capture_begin(api, stream, graph, mode);
}

aclError aclmdlRICaptureToModelRIBegin(
        aclrtStream stream, aclmdlRI modelRI, aclmdlRICaptureMode mode)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? capture_into(stream, modelRI, mode) : st);
}

static rp_status capture_get_info(
        aclrtStream handle, aclmdlRICaptureStatus *status, aclmdlRI *model)
{
    struct rp_stream *stream = NULL;
    if (status == NULL && model == NULL) {
        return rp_fail(RP_EINVAL, "aclmdlRICaptureGetInfo: status and modelRI are both NULL");
    }
    const rp_status st = enter_with_stream(handle, &stream);
    if (st != RP_OK) {
        return st;
    }
    enum rp_capture_status found;
    struct rp_graph *graph = NULL;
    rp_capture_info(stream, &found, &graph);
    if (status != NULL) {
        *status = (aclmdlRICaptureStatus)found;
    }
    if (model != NULL) {
        *model = graph;
    }
    return RP_OK;
}

aclError aclmdlRICaptureGetInfo(
        aclrtStream stream, aclmdlRICaptureStatus *status, aclmdlRI *modelRI)
{
    return rp_acl(capture_get_info(stream, status, modelRI));
}

static rp_status capture_end(aclrtStream handle, aclmdlRI *model)
{
    struct rp_stream *stream = NULL;
    rp_status st = enter_with_stream(handle, &stream);
    if (st != RP_OK) {
        return st;
    }
    if (model == NULL) {
        return rp_capture_end(stream, NULL);
    }
    struct rp_graph *graph = *model;
    st = rp_capture_end(stream, &graph);
    if (st != RP_ENOTCAPTURED && st != RP_ECAPUNMATCHED) {
        *model = graph;
    }
    return st;
}

aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *modelRI)
{
    return rp_acl(capture_end(stream, modelRI));
}

static rp_status exchange_mode(aclmdlRICaptureMode *mode)
{
    rp_status st = rp_enter();
    if (st != RP_OK) {
        return st;
    }
    if (mode == NULL) {
        return rp_fail(RP_EINVAL, "aclmdlRICaptureThreadExchangeMode: mode is NULL");
    }
    if ((unsigned)*mode >= RP_CAPTURE_MODES) {
        return rp_fail(RP_EPARAM,
                "aclmdlRICaptureThreadExchangeMode: mode %d is not GLOBAL, THREAD_LOCAL or RELAXED",
                (int)*mode);
    }
    struct rp_thread *thread = rp_thread_self();
    if (thread == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the thread's state");
    }
    const enum rp_capture_mode before = thread->exchange_mode;
    thread->exchange_mode = (enum rp_capture_mode) * mode;
    *mode = (aclmdlRICaptureMode)before;
    return RP_OK;
}

aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode *mode)
{
    return rp_acl(exchange_mode(mode));
}

/* A live root graph that is neither captured nor built any more. */
static rp_status check_graph(const char *api, aclmdlRI model, struct rp_graph **out)
{
    if (model == NULL) {
        return rp_fail(RP_EINVAL, "%s: modelRI is NULL", api);
    }
    struct rp_graph *graph = rp_graph_from_handle(model);
    if (graph == NULL) {
        return rp_fail(RP_EHANDLE, "%s: %p is no graph, or a destroyed one", api, model);
    }
    if (graph->kind == RP_GRAPH_SUB) {
        return rp_fail(RP_ENOTSUP,
                "%s: graph %u is a sub-graph of a conditional of graph %u, and used through that "
                "alone",
                api, graph->id, graph->root->id);
    }
    // acquire: pairs with the store at the capture's end; the program is complete.
    const uint32_t state = atomic_load_explicit(&graph->state, memory_order_acquire);
    if (graph->kind == RP_GRAPH_CAPTURED &&
            (state == RP_GRAPH_CAPTURING || state == RP_GRAPH_INVALIDATED)) {
        return rp_fail(RP_EMODELCAPTURED, "%s: graph %u is still being captured", api, graph->id);
    }
    *out = graph;
    return RP_OK;
}

static rp_status check_ready(const char *api, const struct rp_graph *graph)
{
    // acquire: as above.
    switch (atomic_load_explicit(&graph->state, memory_order_acquire)) {
    case RP_GRAPH_READY:
        return RP_OK;
    case RP_GRAPH_UPDATING:
        return rp_fail(RP_EGRAPHSTATE,
                "%s: tasks of graph %u were changed; call aclmdlRIUpdate first", api, graph->id);
    case RP_GRAPH_FAULT:
        return rp_fail(RP_EGRAPHSTATE,
                "%s: graph %u cannot run any more: a change of its tasks failed, or a stream was "
                "unbound",
                api, graph->id);
    default:
        return rp_fail(RP_EGRAPHSTATE,
                "%s: graph %u is not built yet: aclmdlRIEndTask and aclmdlRIBuildEnd are missing",
                api, graph->id);
    }
}

/* Every communicator of the graph is there and healthy. */
static rp_status check_comms(const struct rp_graph *graph)
{
    for (uint32_t c = 0; c < graph->program->comm_count; c++) {
        struct rp_comm *comm = graph->program->comm[c];
        // acquire: pairs with the store in HcclCommDestroy.
        if (atomic_load_explicit(&comm->destroyed, memory_order_acquire)) {
            return rp_fail(RP_EGRAPHSTATE,
                    "aclmdlRIExecuteAsync: communicator %s of graph %u was destroyed", comm->name,
                    graph->id);
        }
        const rp_status st = rp_comm_status(comm);
        if (st != RP_OK) {
            return st;
        }
    }
    return RP_OK;
}

static rp_status check_target(const struct rp_graph *graph, const struct rp_stream *stream)
{
    // acquire: pairs with the stores at a capture's begin and end.
    if (atomic_load_explicit(&stream->capture_status, memory_order_acquire) != RP_CAPTURE_NONE) {
        return rp_fail(RP_ESTREAMCAPTURED,
                "aclmdlRIExecuteAsync: stream %d is capturing and cannot replay graph %u",
                stream->id, graph->id);
    }
    if (graph->context != stream->context) {
        return rp_fail(RP_ESTREAMCTX,
                "aclmdlRIExecuteAsync: graph %u was captured in another context than stream %d's",
                graph->id, stream->id);
    }
    return RP_OK;
}

static rp_status execute_async(aclmdlRI model, aclrtStream handle)
{
    struct rp_graph *graph = NULL;
    struct rp_stream *stream = NULL;
    rp_status st = check_graph("aclmdlRIExecuteAsync", model, &graph);
    if (st == RP_OK) {
        st = check_ready("aclmdlRIExecuteAsync", graph);
    }
    if (st == RP_OK) {
        st = enter_with_stream(handle, &stream);
    }
    if (st == RP_OK) {
        st = check_target(graph, stream);
    }
    if (st == RP_OK) {
        st = check_comms(graph);
    }
    return st == RP_OK ? rp_stream_replay(stream, graph->program) : st;
}

aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream)
{
    return rp_acl(execute_async(modelRI, stream));
}

static rp_status execute(aclmdlRI model, int32_t timeout_ms)
{
    struct rp_graph *graph = NULL;
    rp_status st = rp_enter();
    if (st == RP_OK) {
        st = check_graph("aclmdlRIExecute", model, &graph);
    }
    if (st != RP_OK) {
        return st;
    }
    if (timeout_ms < -1 || timeout_ms == 0) {
        return rp_fail(
                RP_EPARAM, "aclmdlRIExecute: timeout %d ms is neither -1 nor positive", timeout_ms);
    }
    return rp_fail(RP_EPARAM,
            "aclmdlRIExecute: graph %u was captured; only explicitly built graphs execute "
            "synchronously, use aclmdlRIExecuteAsync",
            graph->id);
}

aclError aclmdlRIExecute(aclmdlRI modelRI, int32_t timeout)
{
    return rp_acl(execute(modelRI, timeout));
}

/* No replay of the program is queued or running: only the graph refers to it. */
static bool program_idle(void *arg)
{
    struct rp_program *program = arg;
    // seq_cst: pairs with rp_program_unref at a replay's end, ahead of the doorbell's check.
    return atomic_load_explicit(&program->refs, memory_order_seq_cst) == 1;
}

static rp_status destroy(aclmdlRI model)
{
    struct rp_graph *graph = NULL;
    rp_status st = rp_enter();
    if (st != RP_OK) {
        return st;
    }
    if (model != NULL && rp_graph_from_handle(model) == NULL) {
        return RP_OK; // an unknown handle is accepted silently, as in the original
    }
    st = check_graph("aclmdlRIDestroy", model, &graph);
    if (st != RP_OK) {
        return st;
    }
    if (!rp_handle_remove(RP_HANDLE_GRAPH, graph)) {
        return RP_OK; // another thread destroys it
    }
    if (graph->program != NULL) {
        st = rp_device_wait(graph->context->device, program_idle, graph->program, DESTROY_WAIT_NS,
                RP_EMODELRUNNING);
    }
    if (st == RP_OK) {
        rp_graph_destroy(graph);
        return RP_OK;
    }
    const uint32_t id = graph->id;
    const rp_status kept = rp_handle_add(RP_HANDLE_GRAPH, graph); // it lives on
    return kept != RP_OK ? kept
                         : rp_fail(st, "aclmdlRIDestroy: graph %u is still queued or running", id);
}

aclError aclmdlRIDestroy(aclmdlRI modelRI)
{
    return rp_acl(destroy(modelRI));
}
