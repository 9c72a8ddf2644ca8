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
#include "capture/join.h"

static void set_status(struct rp_capture *capture, enum rp_capture_status status)
{
    for (uint32_t l = 0; l < capture->graph->lane_count; l++) {
        // release [C1]: pairs with the loads in replay's checks; the table was set before.
        atomic_store_explicit(
                &capture->graph->lane[l].stream->capture_status, status, memory_order_release);
    }
}

/* A failure inside a record, wait or reset, or want of memory: only CaptureEnd is left. */
static rp_status invalidate(struct rp_capture *capture, rp_status st)
{
    if (!capture->invalidated) {
        capture->invalidated = true;
        snprintf(capture->cause, sizeof capture->cause, "%s", rp_status_text(st));
        atomic_store_explicit(&capture->graph->state, RP_GRAPH_INVALIDATED, memory_order_release);
        set_status(capture, RP_CAPTURE_INVALIDATED);
    }
    return st;
}

static rp_status check_valid(const struct rp_capture *capture, const struct rp_stream *stream)
{
    if (capture->invalidated) {
        return rp_fail(RP_ECAPINVALID,
                "the capture on stream %d was invalidated earlier (%s); only "
                "aclmdlRICaptureEnd is possible",
                stream->id, capture->cause);
    }
    return RP_OK;
}

static uint32_t lane_of(const struct rp_capture *capture, const struct rp_stream *stream)
{
    uint32_t lane = 0;
    while (capture->graph->lane[lane].stream != stream) {
        lane++;
    }
    return lane;
}

/* `stream` becomes a lane of the capture. capture_lock held. */
static rp_status add_stream(struct rp_capture *capture, struct rp_stream *stream, void *forked_by)
{
    uint32_t lane;
    const rp_status st = rp_graph_add_lane(capture->graph, stream, forked_by, &lane);
    if (st != RP_OK) {
        return st;
    }
    rp_stream_ref(stream); // a reset by force may end it while it captures
    stream->capture = capture;
    // release [C2]: pairs with the load in rp_stream_submit; `capture` is set.
    atomic_store_explicit(&stream->submit, &rp_submit_capture, memory_order_release);
    atomic_store_explicit(&stream->capture_status, RP_CAPTURE_ACTIVE, memory_order_release);
    return RP_OK;
}

static void release_event(struct rp_event *event)
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
        stream->cache_op_info = 0;
        atomic_store_explicit(&stream->submit, &rp_submit_eager, memory_order_release);
        atomic_store_explicit(&stream->capture_status, RP_CAPTURE_NONE, memory_order_release);
        rp_stream_unref(stream);
    }
    for (uint32_t e = 0; e < capture->event_count; e++) {
        if (capture->event[e]->capture == capture) {
            release_event(capture->event[e]);
        }
        rp_event_unref(capture->event[e]);
    }
    // relaxed: read for the unsafe-call rule only, which other threads may see a moment later.
    atomic_fetch_sub_explicit(&graph->context->captures[capture->mode], 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(
            &capture->thread->own_captures[capture->mode], 1, memory_order_relaxed);
    rp_thread_unref(capture->thread);
    rp_free(capture->event);
    rp_free(capture);
}

static rp_status check_begin(struct rp_stream *stream)
{
    const uint32_t uncapturable =
            ACL_STREAM_PERSISTENT | ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY;
    if (stream->is_default) {
        return rp_fail(RP_ENOTSUP, "the default stream cannot be captured");
    }
    if ((stream->flags & uncapturable) != 0) {
        return rp_fail(RP_EINTERNAL,
                "stream %d was created with flags 0x%x: PERSISTENT, CPU_SCHEDULE and "
                "DEVICE_USE_ONLY streams cannot be captured",
                stream->id, stream->flags);
    }
    return RP_OK;
}

/* An empty capture of `stream`. capture_lock held. */
static rp_status open_capture(struct rp_stream *stream, enum rp_capture_mode mode)
{
    struct rp_context *context = stream->context;
    struct rp_thread *thread = rp_thread_self();
    struct rp_capture *capture = rp_calloc(1, sizeof *capture);
    if (thread == NULL || capture == NULL) {
        rp_free(capture);
        return rp_fail(RP_ENOMEM, "no memory for a capture of stream %d", stream->id);
    }
    *capture = (struct rp_capture){ .origin = stream, .thread = thread, .mode = mode };
    rp_status st = rp_graph_create(context, &capture->graph);
    if (st != RP_OK) {
        goto undo_capture;
    }
    st = add_stream(capture, stream, NULL);
    if (st != RP_OK) {
        goto undo_graph;
    }
    rp_thread_ref(thread);
    atomic_fetch_add_explicit(&thread->own_captures[mode], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&context->captures[mode], 1, memory_order_relaxed);
    return RP_OK;

undo_graph:
    rp_graph_destroy(capture->graph);
undo_capture:
    rp_free(capture);
    return st;
}

rp_status rp_capture_begin(struct rp_stream *stream, enum rp_capture_mode mode)
{
    rp_status st = check_begin(stream);
    if (st != RP_OK) {
        return st;
    }
    pthread_mutex_lock(&stream->context->capture_lock);
    if (stream->capture != NULL) {
        st = rp_fail(RP_ESTREAMCAPTURED, "stream %d is already capturing", stream->id);
    } else {
        st = open_capture(stream, mode);
    }
    pthread_mutex_unlock(&stream->context->capture_lock);
    return st;
}

/* Checks 4 to 7 of CaptureEnd, then freeze: RP_OK leaves a READY graph. capture_lock held. */
static rp_status finish(struct rp_capture *capture)
{
    struct rp_stream *stream = capture->origin;
    if (capture->mode != RP_CAPTURE_RELAXED && capture->thread != rp_thread_self()) {
        return rp_fail(RP_EWRONGTHREAD,
                "the capture on stream %d began in another thread, and its mode is not RELAXED",
                stream->id);
    }
    if (capture->invalidated) {
        return rp_fail(RP_ECAPINVALID, "the capture on stream %d was invalidated: %s", stream->id,
                capture->cause);
    }
    rp_status st = rp_capture_check_joined(capture->graph);
    if (st == RP_OK) {
        st = rp_graph_freeze(capture->graph);
    }
    return st;
}

rp_status rp_capture_end(struct rp_stream *stream, struct rp_graph **graph)
{
    pthread_mutex_t *lock = &stream->context->capture_lock;
    pthread_mutex_lock(lock);
    struct rp_capture *capture = stream->capture;
    rp_status st = RP_OK;
    if (capture == NULL) {
        st = rp_fail(RP_ENOTCAPTURED, "stream %d is not capturing", stream->id);
    } else if (capture->origin != stream) {
        st = rp_fail(RP_ECAPUNMATCHED,
                "stream %d joined the capture of stream %d; only stream %d can end it", stream->id,
                capture->origin->id, capture->origin->id);
    }
    if (st != RP_OK) {
        pthread_mutex_unlock(lock);
        return st;
    }
    *graph = NULL;
    struct rp_graph *ended = capture->graph;
    // Not before close_capture is the recording dropped: it needs the lanes' streams.
    st = finish(capture);
    close_capture(capture);
    if (st == RP_OK) {
        rp_graph_drop_recording(ended);
        // release: pairs with the loads of `state` in the calls that use the graph.
        atomic_store_explicit(&ended->state, RP_GRAPH_READY, memory_order_release);
        *graph = ended;
    } else {
        rp_graph_destroy(ended);
    }
    pthread_mutex_unlock(lock);
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

static rp_status record_task(
        struct rp_capture *capture, struct rp_stream *stream, const struct rp_task *task)
{
    rp_status st = check_valid(capture, stream);
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
    st = rp_graph_add_task(capture->graph, lane_of(capture, stream), task, &node);
    return st == RP_OK ? st : invalidate(capture, st);
}

static rp_status capture_run(struct rp_stream *stream, const struct rp_task *task)
{
    pthread_mutex_lock(&stream->context->capture_lock);
    struct rp_capture *capture = stream->capture;
    if (capture != NULL) {
        const rp_status st = record_task(capture, stream, task);
        pthread_mutex_unlock(&stream->context->capture_lock);
        return st;
    }
    // The capture ended between the caller's look at the table and here.
    pthread_mutex_unlock(&stream->context->capture_lock);
    return rp_submit_eager.run(stream, task);
}

/* Remember the event so that it can be released at the end. */
static rp_status own_event(struct rp_capture *capture, struct rp_event *event)
{
    if (event->capture == capture) {
        return RP_OK;
    }
    if (capture->event_count == capture->event_cap) {
        const uint32_t cap = capture->event_cap == 0 ? 8 : 2 * capture->event_cap;
        struct rp_event **larger = rp_realloc(capture->event, cap * sizeof *larger);
        if (larger == NULL) {
            return rp_fail(RP_ENOMEM, "no memory for %u captured events", cap);
        }
        capture->event = larger;
        capture->event_cap = cap;
    }
    rp_event_ref(event);
    capture->event[capture->event_count++] = event;
    return RP_OK;
}

/* A record on a capturing stream: an edge begins here. */
static rp_status capture_record(
        struct rp_capture *capture, struct rp_stream *stream, struct rp_event *event)
{
    if ((event->flags & ACL_EVENT_SYNC) == 0) {
        return RP_OK; // an Ex event without SYNC leaves no trace in a graph
    }
    rp_status st = own_event(capture, event);
    uint32_t edge = 0;
    if (st == RP_OK) {
        st = rp_graph_add_edge(capture->graph, lane_of(capture, stream), &edge);
    }
    if (st != RP_OK) {
        return st;
    }
    event->capture = capture;
    event->capture_edge = edge;
    atomic_store_explicit(&event->captured, &rp_submit_capture, memory_order_release);
    return RP_OK;
}

/* A wait for an event of this capture: `stream` joins if it is not in it yet. */
static rp_status capture_wait(
        struct rp_capture *capture, struct rp_stream *stream, struct rp_event *event)
{
    if (stream->capture == NULL) {
        rp_status st = check_begin(stream);
        if (st == RP_OK) {
            st = add_stream(capture, stream, event);
        }
        if (st != RP_OK) {
            return st;
        }
    }
    return rp_graph_add_wait(capture->graph, lane_of(capture, stream), event->capture_edge);
}

/* An external event: record, wait and reset are tasks like any other, bound when the graph runs. */
static rp_status capture_external(struct rp_capture *capture, struct rp_stream *stream,
        struct rp_event *event, enum rp_event_verb verb, uint64_t timeout_ns)
{
    static const uint8_t kinds[] = {
        [RP_EVENT_RECORD] = RP_INSN_EVENT_RECORD,
        [RP_EVENT_WAIT] = RP_INSN_EVENT_WAIT,
        [RP_EVENT_RESET] = RP_INSN_EVENT_RESET,
    };
    const struct rp_task task = {
        .insn = { .kind = kinds[verb], .u.event = { .event = event, .timeout_ns = timeout_ns } }
    };
    uint32_t node;
    return rp_graph_add_task(capture->graph, lane_of(capture, stream), &task, &node);
}

static rp_status wait_uncaptured(struct rp_stream *stream, const struct rp_event *event)
{
    // acquire: a record submitted before this call counts.
    if (atomic_load_explicit(&event->recorded, memory_order_acquire) == 0) {
        return RP_OK; // never recorded: nothing to wait for, no node
    }
    return rp_fail(RP_ECAPDEP,
            "event %u was recorded outside the capture; a wait on capturing stream %d cannot "
            "depend on it",
            event->id, stream->id);
}

/* Events that never take part in a capture: refused, the capture stays valid. */
static rp_status check_capturable(
        const struct rp_stream *stream, const struct rp_event *event, enum rp_event_verb verb)
{
    static const char *const verbs[] = { "recorded", "waited for", "reset" };
    const bool external = event->kind == RP_EVENT_FLAG && (event->flags & ACL_EVENT_EXTERNAL) != 0;
    const bool ex = event->kind == RP_EVENT_EX && (event->flags & ACL_EVENT_IPC) == 0;
    if (external || (ex && verb != RP_EVENT_RESET)) {
        return RP_OK;
    }
    return rp_fail(RP_ENOTSUP,
            "event %u cannot be %s on capturing stream %d: only events of "
            "aclrtCreateEventExWithFlag form edges, and only external ones are reset",
            event->id, verbs[verb], stream->id);
}

static rp_status record_event(struct rp_capture *capture, struct rp_stream *stream,
        struct rp_event *event, enum rp_event_verb verb, uint64_t timeout_ns)
{
    if (event->kind == RP_EVENT_FLAG) {
        return capture_external(capture, stream, event, verb, timeout_ns);
    }
    if (verb == RP_EVENT_RECORD) {
        return capture_record(capture, stream, event);
    }
    if (event->capture == NULL) {
        return wait_uncaptured(stream, event);
    }
    return capture_wait(capture, stream, event);
}

/* The captures of event and stream agree, or there is only one. */
static rp_status check_same_capture(struct rp_capture *of_stream, struct rp_capture *of_event,
        const struct rp_stream *stream, const struct rp_event *event, enum rp_event_verb verb)
{
    if (stream->is_default) {
        return rp_fail(RP_ECAPIMPLICIT,
                "event %u is captured and cannot be used on the default stream", event->id);
    }
    if (verb == RP_EVENT_WAIT && of_stream != NULL && of_event != NULL && of_stream != of_event) {
        return rp_fail(RP_ECAPCONFLICT,
                "event %u belongs to the capture of stream %d, stream %d to that of stream %d",
                event->id, of_event->origin->id, stream->id, of_stream->origin->id);
    }
    return RP_OK;
}

/* capture_lock held; one of the two captures is not NULL. */
static rp_status handle_event(struct rp_stream *stream, struct rp_event *event,
        enum rp_event_verb verb, uint64_t timeout_ns)
{
    struct rp_capture *of_event = event->capture;
    struct rp_capture *capture = stream->capture != NULL ? stream->capture : of_event;
    rp_status st = check_valid(capture, stream);
    if (st != RP_OK) {
        return st;
    }
    st = check_same_capture(stream->capture, of_event, stream, event, verb);
    if (st != RP_OK) {
        return invalidate(capture, st);
    }
    st = check_capturable(stream, event, verb);
    if (st != RP_OK) {
        return st;
    }
    st = record_event(capture, stream, event, verb, timeout_ns);
    return st == RP_OK ? st : invalidate(capture, st);
}

static rp_status capture_event(struct rp_stream *stream, struct rp_event *event,
        enum rp_event_verb verb, uint32_t flag, uint64_t timeout_ns)
{
    pthread_mutex_t *lock = &stream->context->capture_lock;
    pthread_mutex_lock(lock);
    const bool stream_captures = stream->capture != NULL;
    bool eager = !stream_captures && event->capture == NULL;
    if (!stream_captures && event->capture != NULL && verb == RP_EVENT_RECORD &&
            !stream->is_default) {
        // An eager record replaces the captured one: the event is an eager event again.
        release_event(event);
        eager = true;
    }
    const rp_status st = eager ? RP_OK : handle_event(stream, event, verb, timeout_ns);
    pthread_mutex_unlock(lock);
    return eager ? rp_submit_eager.record(stream, event, verb, flag, timeout_ns) : st;
}

const struct rp_submit_ops rp_submit_capture = {
    .run = capture_run,
    .record = capture_event,
};
