// Running a graph, stopping it, and its end: aclmdlRIExecuteAsync, aclmdlRIExecute, aclmdlRIAbort,
// aclmdlRIDestroy.

#include <acl/acl_rt.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/handle.h"
#include "capture/build.h"
#include "capture/introspect.h"
#include "capture/task_update.h"
#include "replay/abort.h"
#include "replay/stream.h"
#include "transport/comm.h"

/* aclmdlRIDestroy and aclmdlRIAbort wait this long for runs to end (spec: about 10 s). */
#define END_WAIT_NS (10 * RP_NS_PER_S)

/* A live root graph that is not being captured any more. */
static rp_status find_graph(const char *api, aclmdlRI model, struct rp_graph **out)
{
    struct rp_graph *graph = NULL;
    rp_status st = rp_graph_argument(api, model, &graph);
    if (st == RP_OK) {
        st = rp_graph_check_root(api, graph, "is used through its conditional alone");
    }
    if (st != RP_OK) {
        return st;
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

static rp_status refuse_fault(const char *api, const struct rp_graph *graph)
{
    char why[96] = "a change of its tasks failed";
    if (graph->kind == RP_GRAPH_BUILT) {
        rp_build_explain(graph, why, sizeof(why));
    }
    return rp_fail(RP_EGRAPHSTATE, "%s: graph %u cannot run: %s", api, graph->id, why);
}

static rp_status check_ready(const char *api, const struct rp_graph *graph)
{
    // acquire: pairs with the exchange in destroy().
    if (atomic_load_explicit(&graph->ending, memory_order_acquire)) {
        return rp_fail(
                RP_EHANDLE, "%s: graph %u is being destroyed by another thread", api, graph->id);
    }
    // acquire: as above.
    switch (atomic_load_explicit(&graph->state, memory_order_acquire)) {
    case RP_GRAPH_READY:
        return RP_OK;
    case RP_GRAPH_UPDATING:
        return rp_fail(RP_EGRAPHSTATE,
                "%s: tasks of graph %u were changed; call aclmdlRIUpdate first", api, graph->id);
    case RP_GRAPH_FAULT:
        return refuse_fault(api, graph);
    default:
        return rp_fail(RP_EGRAPHSTATE,
                "%s: graph %u is still being built: call aclmdlRIEndTask and aclmdlRIBuildEnd", api,
                graph->id);
    }
}

/* Every communicator of the graph is there and healthy. */
static rp_status check_comms(const char *api, const struct rp_graph *graph)
{
    for (uint32_t c = 0; c < graph->program->comm_count; c++) {
        struct rp_comm *comm = graph->program->comm[c];
        // acquire: pairs with the store in HcclCommDestroy.
        if (atomic_load_explicit(&comm->destroyed, memory_order_acquire)) {
            return rp_fail(RP_EGRAPHSTATE, "%s: communicator %s of graph %u was destroyed", api,
                    comm->name, graph->id);
        }
        const rp_status st = rp_comm_status(comm);
        if (st != RP_OK) {
            return st;
        }
    }
    return RP_OK;
}

// ---- execution ----

static rp_status check_target(
        const char *api, const struct rp_graph *graph, const struct rp_stream *stream)
{
    // acquire, both: pair with the stores at a capture's begin and end, and at bind and unbind.
    if (atomic_load_explicit(&stream->capture_status, memory_order_acquire) != RP_CAPTURE_NONE) {
        return rp_fail(RP_ESTREAMCAPTURED, "%s: stream %d is capturing and cannot run graph %u",
                api, stream->id, graph->id);
    }
    if (atomic_load_explicit(&stream->model, memory_order_acquire) != NULL) {
        return rp_fail(RP_EPARAM,
                "%s: stream %d is bound to a graph and cannot run graph %u; use another stream",
                api, stream->id, graph->id);
    }
    if (graph->context != stream->context) {
        return rp_fail(RP_ESTREAMCTX, "%s: graph %u was made in another context than stream %d's",
                api, graph->id, stream->id);
    }
    return rp_update_check(stream, "a replay of a graph");
}

static rp_status execute_async(aclmdlRI model, aclrtStream handle)
{
    static const char *const api = "aclmdlRIExecuteAsync";
    struct rp_graph *graph = NULL;
    struct rp_stream *stream = NULL;
    rp_status st = find_graph(api, model, &graph);
    if (st == RP_OK) {
        st = check_ready(api, graph);
    }
    if (st == RP_OK) {
        st = rp_stream_resolve(handle, &stream);
    }
    if (st == RP_OK) {
        st = check_target(api, graph, stream);
    }
    if (st == RP_OK) {
        st = check_comms(api, graph);
    }
    return st == RP_OK ? rp_stream_replay(stream, graph->program) : st;
}

aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream)
{
    return rp_acl(execute_async(modelRI, stream));
}

static rp_status check_execute(const char *api, const struct rp_graph *graph, int32_t timeout_ms)
{
    if (timeout_ms < -1 || timeout_ms == 0) {
        return rp_fail(RP_EPARAM, "%s: timeout %d ms (graph %u) is neither -1 nor positive", api,
                timeout_ms, graph->id);
    }
    if (graph->kind != RP_GRAPH_BUILT) {
        return rp_fail(RP_EPARAM,
                "%s: graph %u was captured; only graphs of aclmdlRIBuildBegin execute "
                "synchronously, use aclmdlRIExecuteAsync",
                api, graph->id);
    }
    if (rp_thread_in_callback()) {
        return rp_fail(RP_ECALLBACK, "%s: a callback cannot wait for graph %u", api, graph->id);
    }
    rp_status st = rp_graph_check_current(api, graph);
    if (st == RP_OK) {
        st = check_ready(api, graph);
    }
    return st == RP_OK ? check_comms(api, graph) : st;
}

/* On the default stream, as documented. */
static rp_status execute(aclmdlRI model, int32_t timeout_ms)
{
    static const char *const api = "aclmdlRIExecute";
    struct rp_graph *graph = NULL;
    rp_status st = find_graph(api, model, &graph);
    if (st == RP_OK) {
        st = check_execute(api, graph, timeout_ms);
    }
    if (st != RP_OK) {
        return st;
    }
    const uint32_t id = graph->id; // a thread that does not wait for the run may destroy it
    struct rp_stream *stream = graph->context->default_stream;
    st = rp_stream_replay(stream, graph->program);
    if (st != RP_OK) {
        return st;
    }
    st = rp_stream_await(
            stream, timeout_ms == -1 ? UINT64_MAX : (uint64_t)timeout_ms * RP_NS_PER_MS);
    return st == RP_ESYNCTIMEOUT
                   ? rp_fail(st,
                             "%s: graph %u, or what is before it on the default stream, goes on",
                             api, id)
                   : st;
}

aclError aclmdlRIExecute(aclmdlRI modelRI, int32_t timeout)
{
    return rp_acl(execute(modelRI, timeout));
}

// ---- the end ----

/* No run of the program is queued or under way: only the graph refers to it. */
static bool program_idle(void *arg)
{
    struct rp_program *program = arg;
    // seq_cst: pairs with rp_program_unref at a run's end, ahead of the doorbell's check.
    return atomic_load_explicit(&program->refs, memory_order_seq_cst) == 1;
}

static rp_status wait_idle(const struct rp_graph *graph)
{
    if (graph->program == NULL) {
        return RP_OK;
    }
    return rp_device_wait(
            graph->context->device, program_idle, graph->program, END_WAIT_NS, RP_EMODELRUNNING);
}

/* Nor is another thread in aclmdlRIAbort, which waits for the same. */
static bool graph_idle(void *arg)
{
    struct rp_graph *graph = arg;
    // acquire: pairs with the decrement at an abort's end.
    return (graph->program == NULL || program_idle(graph->program)) &&
           atomic_load_explicit(&graph->aborts, memory_order_acquire) == 0;
}

static rp_status abort_runs(const char *api, struct rp_graph *graph)
{
    char sentence[96];
    if (graph->program == NULL || program_idle(graph->program)) {
        return RP_OK;
    }
    snprintf(sentence, sizeof(sentence), "graph %u was stopped by %s", graph->id, api);
    rp_program_abort(graph->context->device, graph->program, sentence);
    if (rp_thread_in_callback()) {
        return RP_OK; // it may be the graph's own, which the runs wait for
    }
    const rp_status st = wait_idle(graph);
    return st == RP_OK ? st
                       : rp_fail(st,
                                 "%s: graph %u is stopped, but still in a collective or a function "
                                 "of the program",
                                 api, graph->id);
}

static rp_status abort_graph(aclmdlRI model)
{
    static const char *const api = "aclmdlRIAbort";
    struct rp_graph *graph = NULL;
    rp_status st = rp_graph_argument(api, model, &graph);
    if (st == RP_OK) {
        st = rp_graph_check_root(api, graph, "is stopped with its root");
    }
    if (st == RP_OK && graph->kind != RP_GRAPH_BUILT) {
        st = rp_fail(RP_EPARAM,
                "%s: graph %u was captured; only graphs of aclmdlRIBuildBegin can be stopped by "
                "this call; aclrtStreamAbort of the stream that runs it stops this one",
                api, graph->id);
    }
    if (st == RP_OK) {
        st = rp_graph_check_current(api, graph);
    }
    if (st != RP_OK) {
        return st;
    }
    // relaxed: a destroy that does not see it is the program's own race.
    atomic_fetch_add_explicit(&graph->aborts, 1, memory_order_relaxed);
    st = abort_runs(api, graph);
    // release: pairs with graph_idle(): the graph may go now.
    atomic_fetch_sub_explicit(&graph->aborts, 1, memory_order_release);
    return st;
}

aclError aclmdlRIAbort(aclmdlRI modelRI)
{
    return rp_acl(abort_graph(modelRI));
}

/* One that is still being built has no runs, and ends like any other. */
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
    st = find_graph("aclmdlRIDestroy", model, &graph);
    if (st != RP_OK) {
        return st;
    }
    // acq_rel: whoever comes second leaves it to the first. The handle stays meanwhile, so that
    // aclmdlRIAbort can help.
    if (atomic_exchange_explicit(&graph->ending, true, memory_order_acq_rel)) {
        return RP_OK; // another thread destroys it
    }
    st = rp_device_wait(graph->context->device, graph_idle, graph, END_WAIT_NS, RP_EMODELRUNNING);
    if (st == RP_OK) {
        if (graph->kind == RP_GRAPH_BUILT) {
            rp_build_release(graph);
        }
        rp_graph_destroy(graph);
        return RP_OK;
    }
    const char *const stop =
            graph->kind == RP_GRAPH_BUILT ? "aclmdlRIAbort" : "aclrtStreamAbort of its stream";
    st = rp_fail(st,
            "aclmdlRIDestroy: graph %u is still queued or running; %s stops a run that does not "
            "end",
            graph->id, stop);
    // release: pairs with the exchange above; it lives on.
    atomic_store_explicit(&graph->ending, false, memory_order_release);
    return st;
}

aclError aclmdlRIDestroy(aclmdlRI modelRI)
{
    return rp_acl(destroy(modelRI));
}
