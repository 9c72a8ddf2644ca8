// Stream capture: begin, record, join, end.
//
// A capture owns a graph. Each captured stream is a lane of it and points to
// the capture; each captured event points to the capture and to the edge that
// its latest record made. All of it changes under the context's capture_lock,
// which is the outermost lock here; the graph's objects need no other.

#include "capture/capture.h"

#include <stdio.h>
#include <string.h>

#include <acl/acl_rt.h>

#include "base/alloc.h"
#include "base/error.h"
#include "capture/capture_event.h"
#include "capture/join.h"
#include "capture/task.h"
#include "capture/task_group.h"

static void set_status(struct rp_capture *capture, enum rp_capture_status status)
{
    for (uint32_t l = 0; l < capture->graph->lane_count; l++) {
        // release [C1]: pairs with the loads in replay's checks; the table was set before.
        atomic_store_explicit(
                &capture->graph->lane[l].stream->capture_status, status, memory_order_release);
    }
}

/* A failure inside a record, wait or reset, or want of memory: only CaptureEnd is left. */
rp_status rp_capture_invalidate(struct rp_capture *capture, rp_status st)
{
    if (!capture->invalidated) {
        capture->invalidated = true;
        rp_error_newest(capture->cause, sizeof capture->cause);
        if (capture->cause[0] == '\0') {
            snprintf(capture->cause, sizeof capture->cause, "%s", rp_status_text(st));
        }
        atomic_store_explicit(&capture->graph->state, RP_GRAPH_INVALIDATED, memory_order_release);
        set_status(capture, RP_CAPTURE_INVALIDATED);
    }
    return st;
}

rp_status rp_capture_check_valid(const struct rp_capture *capture, const struct rp_stream *stream)
{
    if (capture->invalidated) {
        return rp_fail(RP_ECAPINVALID,
                "the capture on stream %d was invalidated earlier (%s); only "
                "aclmdlRICaptureEnd is possible",
                stream->id, capture->cause);
    }
    return RP_OK;
}

rp_status rp_capture_add_stream(
        struct rp_capture *capture, struct rp_stream *stream, const struct rp_event *forked_by)
{
    uint32_t lane;
    const rp_status st = rp_graph_add_lane(capture->graph, stream, forked_by, &lane);
    if (st != RP_OK) {
        return st;
    }
    rp_stream_ref(stream); // a reset by force may end it while it captures
    stream->capture = capture;
    stream->capture_lane = lane;
    if (forked_by != NULL) {
        // relaxed, both: only the capturing program's own calls look at it.
        atomic_store_explicit(&stream->cache_op_info,
                atomic_load_explicit(&capture->origin->cache_op_info, memory_order_relaxed),
                memory_order_relaxed);
    }
    // release [C2]: pairs with the load in rp_stream_submit; `capture` is set.
    atomic_store_explicit(&stream->submit, &rp_submit_capture, memory_order_release);
    atomic_store_explicit(&stream->capture_status, RP_CAPTURE_ACTIVE, memory_order_release);
    return RP_OK;
}

void rp_capture_release_event(struct rp_event *event)
{
    event->capture = NULL;
    // release [C3]: pairs with the load in rp_stream_submit_event.
    atomic_store_explicit(&event->captured, NULL, memory_order_release);
}

/* Streams and events leave the capture; the graph stays with the caller. capture_lock held. */
static void close_capture(struct rp_capture *capture)
{
    struct rp_graph *graph = capture->graph;
    for (uint32_t l = 0; l < graph->lane_count; l++) {
        struct rp_stream *stream = graph->lane[l].stream;
        stream->capture = NULL;
        // relaxed: as in rp_capture_add_stream.
        atomic_store_explicit(&stream->cache_op_info, 0, memory_order_relaxed);
        atomic_store_explicit(&stream->submit, &rp_submit_eager, memory_order_release);
        atomic_store_explicit(&stream->capture_status, RP_CAPTURE_NONE, memory_order_release);
        graph->lane[l].stream = NULL;
        rp_stream_unref(stream);
    }
    graph->capture = NULL;
    for (uint32_t e = 0; e < capture->event_count; e++) {
        if (capture->event[e]->capture == capture) {
            rp_capture_release_event(capture->event[e]);
        }
        rp_event_unref(capture->event[e]);
    }
    // relaxed: read for the unsafe-call rule only, which other threads may see a moment later.
    atomic_fetch_sub_explicit(&graph->context->captures[capture->mode], 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(
            &capture->thread->own_captures[capture->mode], 1, memory_order_relaxed);
    rp_thread_unref(capture->thread);
    rp_free(capture->event);
    rp_free(capture->external);
    rp_free(capture->group);
    rp_free(capture);
}

rp_status rp_capture_check_stream(const struct rp_stream *stream)
{
    const uint32_t uncapturable =
            ACL_STREAM_PERSISTENT | ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY;
    if (stream->is_default) {
        return rp_fail(
                RP_ENOTSUP, "stream %d is the default stream and cannot be captured", stream->id);
    }
    if ((stream->flags & uncapturable) != 0) {
        return rp_fail(RP_EINTERNAL,
                "stream %d was created with flags 0x%x: PERSISTENT, CPU_SCHEDULE and "
                "DEVICE_USE_ONLY streams cannot be captured",
                stream->id, stream->flags);
    }
    return RP_OK;
}

/* The capture of a sub-graph of `graph` that is still open; NULL: none. */
static struct rp_capture *open_sub(const struct rp_graph *graph)
{
    for (uint32_t c = 0; c < graph->cond_count; c++) {
        for (uint32_t s = 0; s < graph->cond[c].count; s++) {
            struct rp_graph *sub = graph->cond[c].sub[s];
            struct rp_capture *found = sub->capture != NULL ? sub->capture : open_sub(sub);
            if (found != NULL) {
                return found;
            }
        }
    }
    return NULL;
}

/* A capture is over: with it those of its sub-graphs. capture_lock held. */
static void close_tree(struct rp_capture *capture)
{
    struct rp_capture *sub;
    while ((sub = open_sub(capture->graph)) != NULL) {
        close_capture(sub);
    }
    close_capture(capture);
}

/* The whole capture that `stream` takes part in is given up. */
static void drop(struct rp_stream *stream)
{
    pthread_mutex_t *lock = &stream->context->capture_lock;
    struct rp_graph *lost = NULL;
    pthread_mutex_lock(lock);
    const struct rp_capture *capture = stream->capture;
    if (capture != NULL) {
        lost = capture->graph->root;
        close_tree(lost->capture); // it ends no earlier than its sub-graphs
    }
    pthread_mutex_unlock(lock);
    if (lost != NULL) {
        rp_graph_destroy(lost);
    }
}

/* An empty capture of `stream`. capture_lock held. */
static rp_status open_capture(
        struct rp_stream *stream, struct rp_graph *into, enum rp_capture_mode mode)
{
    struct rp_context *context = stream->context;
    struct rp_thread *thread = rp_thread_self();
    struct rp_capture *capture = rp_calloc(1, sizeof *capture);
    if (thread == NULL || capture == NULL) {
        rp_free(capture);
        return rp_fail(RP_ENOMEM, "no memory for a capture of stream %d", stream->id);
    }
    *capture = (struct rp_capture){
        .base.drop = drop, .graph = into, .origin = stream, .thread = thread, .mode = mode
    };
    rp_status st = into != NULL
                           ? RP_OK
                           : rp_graph_create(context, RP_GRAPH_CAPTURED, NULL, &capture->graph);
    if (st != RP_OK) {
        goto undo_capture;
    }
    st = rp_capture_add_stream(capture, stream, NULL);
    if (st != RP_OK) {
        goto undo_graph;
    }
    capture->graph->capture = capture;
    // release: pairs with the loads in the calls that use the graph.
    atomic_store_explicit(&capture->graph->state, RP_GRAPH_CAPTURING, memory_order_release);
    rp_thread_ref(thread);
    // relaxed, both: as in close_capture.
    atomic_fetch_add_explicit(&thread->own_captures[mode], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&context->captures[mode], 1, memory_order_relaxed);
    return RP_OK;

undo_graph:
    if (into == NULL) {
        rp_graph_destroy(capture->graph);
    }
undo_capture:
    rp_free(capture);
    return st;
}

/* Whether `graph` can be captured into. capture_lock held. */
static rp_status check_into(const struct rp_stream *stream, const struct rp_graph *graph)
{
    if (graph->kind != RP_GRAPH_SUB) {
        return rp_fail(RP_EPARAM,
                "graph %u is no sub-graph of a conditional, and only those are captured into",
                graph->id);
    }
    if (graph->context != stream->context) {
        return rp_fail(RP_EGRAPHCTX, "graph %u belongs to another context than stream %d",
                graph->id, stream->id);
    }
    // acquire: pairs with the stores of capture and freeze.
    if (atomic_load_explicit(&graph->state, memory_order_acquire) != RP_GRAPH_EMPTY) {
        return rp_fail(
                RP_EMODELCAPTURED, "sub-graph %u is being captured, or was already", graph->id);
    }
    if (graph->root->capture == NULL) {
        return rp_fail(RP_EPARAM,
                "the capture of graph %u, which sub-graph %u belongs to, has ended",
                graph->root->id, graph->id);
    }
    return rp_capture_check_valid(graph->root->capture, graph->root->capture->origin);
}

static rp_status check_unused(const struct rp_stream *stream)
{
    if (stream->capture != NULL) {
        return rp_fail(RP_ESTREAMCAPTURED, "stream %d is already capturing", stream->id);
    }
    // relaxed, both: changed under the capture_lock.
    if (atomic_load_explicit(&stream->model, memory_order_relaxed) != NULL) {
        return rp_fail(
                RP_EBOUND, "stream %d is bound to a graph and cannot be captured", stream->id);
    }
    if (atomic_load_explicit(&stream->update, memory_order_relaxed) != NULL) {
        return rp_fail(RP_ETASKGROUP,
                "stream %d collects an update of a task group and cannot be captured", stream->id);
    }
    return RP_OK;
}

rp_status rp_capture_begin(
        struct rp_stream *stream, struct rp_graph *into, enum rp_capture_mode mode)
{
    pthread_mutex_lock(&stream->context->capture_lock);
    // A stream of a kind that is never captured may be bound; that is said first.
    rp_status st = check_unused(stream);
    if (st == RP_OK) {
        st = rp_capture_check_stream(stream);
    }
    if (st == RP_OK && into != NULL) {
        st = check_into(stream, into);
    }
    if (st == RP_OK) {
        st = open_capture(stream, into, mode);
    }
    pthread_mutex_unlock(&stream->context->capture_lock);
    return st;
}

/* Checks 4 to 7 of CaptureEnd, then freeze: RP_OK leaves a READY graph. capture_lock held. */
static rp_status finish(struct rp_capture *capture)
{
    const struct rp_stream *stream = capture->origin;
    if (capture->mode != RP_CAPTURE_RELAXED && capture->thread != rp_thread_self()) {
        return rp_fail(RP_EWRONGTHREAD,
                "the capture on stream %d began in another thread, and its mode is not RELAXED",
                stream->id);
    }
    if (capture->invalidated) {
        return rp_fail(RP_ECAPINVALID, "the capture on stream %d was invalidated: %s", stream->id,
                capture->cause);
    }
    const struct rp_capture *sub = open_sub(capture->graph);
    if (sub != NULL) {
        return rp_fail(RP_ESUBGRAPH,
                "sub-graph %u is still being captured on stream %d; end that before stream %d",
                sub->graph->id, sub->origin->id, stream->id);
    }
    if (capture->group != NULL) {
        return rp_fail(RP_ETASKGROUP, "a task group is still open on stream %d",
                capture->group_stream->id);
    }
    const rp_status st = rp_capture_check_joined(capture->graph);
    return st != RP_OK || capture->graph->kind == RP_GRAPH_SUB ? st
                                                               : rp_graph_freeze(capture->graph);
}

static rp_status end_root(struct rp_capture *capture, struct rp_graph **out)
{
    struct rp_graph *graph = capture->graph;
    const rp_status st = finish(capture);
    close_tree(capture);
    if (st == RP_OK) {
        // release: pairs with the loads of `state` in the calls that use the graph.
        atomic_store_explicit(&graph->state, RP_GRAPH_READY, memory_order_release);
        *out = graph;
    }
    return st;
}

static rp_status end_sub(struct rp_capture *capture)
{
    struct rp_graph *graph = capture->graph;
    const rp_status st = finish(capture);
    close_tree(capture);
    atomic_store_explicit(&graph->state, st == RP_OK ? RP_GRAPH_ENDED : RP_GRAPH_INVALIDATED,
            memory_order_release);
    return st == RP_OK ? st : rp_capture_invalidate(graph->root->capture, st);
}

static rp_status check_end(const struct rp_stream *stream, bool no_graph)
{
    const struct rp_capture *capture = stream->capture;
    if (no_graph && (capture == NULL || capture->graph->kind != RP_GRAPH_SUB)) {
        return rp_fail(RP_EPARAM,
                "aclmdlRICaptureEnd: modelRI is NULL, and stream %d does not capture a sub-graph",
                stream->id);
    }
    if (capture == NULL) {
        return rp_fail(RP_ENOTCAPTURED, "stream %d is not capturing", stream->id);
    }
    if (capture->origin != stream) {
        return rp_fail(RP_ECAPUNMATCHED,
                "stream %d joined the capture of stream %d; only stream %d can end it", stream->id,
                capture->origin->id, capture->origin->id);
    }
    return RP_OK;
}

rp_status rp_capture_end(struct rp_stream *stream, struct rp_graph **graph)
{
    pthread_mutex_t *lock = &stream->context->capture_lock;
    pthread_mutex_lock(lock);
    rp_status st = check_end(stream, graph == NULL);
    if (st != RP_OK) {
        pthread_mutex_unlock(lock);
        return st;
    }
    struct rp_capture *capture = stream->capture;
    struct rp_graph *ended = capture->graph;
    struct rp_graph *lost = NULL;
    struct rp_graph *out = NULL;
    if (ended->kind == RP_GRAPH_SUB) {
        st = end_sub(capture);
        out = st == RP_OK ? ended : NULL;
    } else {
        st = end_root(capture, &out);
        lost = out == NULL ? ended : NULL;
    }
    pthread_mutex_unlock(lock);
    if (lost != NULL) {
        rp_graph_destroy(lost); // runs the program's destroy callbacks: without the lock
    }
    if (graph != NULL) {
        *graph = out;
    }
    return st;
}

void rp_capture_info(
        struct rp_stream *stream, enum rp_capture_status *status, struct rp_graph **graph)
{
    pthread_mutex_lock(&stream->context->capture_lock);
    const struct rp_capture *capture = stream->capture;
    if (capture == NULL) {
        *status = RP_CAPTURE_NONE;
        *graph = NULL;
    } else {
        *status = capture->invalidated ? RP_CAPTURE_INVALIDATED : RP_CAPTURE_ACTIVE;
        *graph = capture->graph;
    }
    pthread_mutex_unlock(&stream->context->capture_lock);
}

void rp_capture_remember(const struct rp_graph *graph, uint32_t node)
{
    struct rp_thread *thread = rp_thread_self();
    if (thread != NULL) {
        thread->last_task = (uint64_t)(uintptr_t)rp_task_handle(graph, node);
    }
}

rp_status rp_capture_record(
        struct rp_capture *capture, struct rp_stream *stream, const struct rp_task *task)
{
    rp_status st = rp_capture_check_valid(capture, stream);
    if (st == RP_OK) {
        st = rp_task_group_admit(capture, stream, (enum rp_insn_kind)task->insn.kind);
    }
    if (st != RP_OK) {
        return st;
    }
    if (task->pageable) {
        return rp_fail(RP_EPARAM,
                "a copy on capturing stream %d touches pageable host memory; use aclrtMallocHost "
                "or register it",
                stream->id);
    }
    uint32_t node;
    st = rp_graph_add_task(capture->graph, stream->capture_lane, task, &node);
    if (st != RP_OK) {
        return rp_capture_invalidate(capture, st);
    }
    rp_capture_remember(capture->graph, node);
    return RP_OK;
}

static rp_status capture_run(struct rp_stream *stream, const struct rp_task *task)
{
    pthread_mutex_lock(&stream->context->capture_lock);
    struct rp_capture *capture = stream->capture;
    if (capture != NULL) {
        const rp_status st = rp_capture_record(capture, stream, task);
        pthread_mutex_unlock(&stream->context->capture_lock);
        return st;
    }
    // The capture ended between the caller's look at the table and here.
    pthread_mutex_unlock(&stream->context->capture_lock);
    return rp_submit_eager.run(stream, task);
}

const struct rp_submit_ops rp_submit_capture = {
    .run = capture_run,
    .record = rp_capture_event,
};
