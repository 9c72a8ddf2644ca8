// Events in a capture: a record begins an edge between lanes, a wait ends it and lets a stream
// join; external ones become tasks of the graph.

#include "capture/capture_event.h"

#include <acl/acl_rt.h>

#include "base/alloc.h"
#include "base/error.h"
#include "capture/build.h"
#include "capture/capture.h"
#include "capture/task_group.h"

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
    if ((event->flags & (ACL_EVENT_SYNC | RP_EVENT_DDSYNC)) == 0) {
        return RP_OK; // an Ex event that orders nothing leaves no trace in a graph
    }
    rp_status st = own_event(capture, event);
    uint32_t edge = 0;
    if (st == RP_OK) {
        st = rp_graph_add_edge(capture->graph, stream->capture_lane, event, &edge);
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
        const rp_status st = rp_capture_add_stream(capture, stream, event);
        if (st != RP_OK) {
            return st;
        }
    }
    return rp_graph_add_wait(capture->graph, stream->capture_lane, event, event->capture_edge);
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
    const rp_status st = rp_graph_add_task(capture->graph, stream->capture_lane, &task, &node);
    if (st == RP_OK) {
        rp_capture_remember(capture->graph, node);
    }
    return st;
}

/* ACL_EVENT_RECORD_EXTERNAL and ACL_EVENT_WAIT_EXTERNAL: once a graph, and only one of the two. */
static rp_status own_external(
        struct rp_capture *capture, const struct rp_stream *stream, struct rp_event *event)
{
    for (uint32_t i = 0; i < capture->external_count; i++) {
        if (capture->external[i] == event) {
            return rp_fail(RP_EPARAM,
                    "event %u is recorded or waited for externally already in the graph that "
                    "stream %d captures; a graph does one of them, and once",
                    event->id, stream->id);
        }
    }
    if (capture->external_count == capture->external_cap) {
        const uint32_t cap = capture->external_cap == 0 ? 8 : 2 * capture->external_cap;
        struct rp_event **larger = rp_realloc(capture->external, cap * sizeof *larger);
        if (larger == NULL) {
            return rp_fail(RP_ENOMEM, "no memory for %u external events", cap);
        }
        capture->external = larger;
        capture->external_cap = cap;
    }
    capture->external[capture->external_count++] = event;
    return RP_OK;
}

static bool is_external(const struct rp_event *event, uint32_t flag)
{
    // Both flags have the value 1.
    return flag == ACL_EVENT_RECORD_EXTERNAL || (event->flags & ACL_EVENT_EXTERNAL) != 0;
}

static rp_status wait_uncaptured(struct rp_stream *stream, const struct rp_event *event)
{
    // acquire: a record submitted before this call counts.
    if (atomic_load_explicit(&event->recorded, memory_order_acquire) == 0) {
        return RP_OK; // never recorded: nothing to wait for, no node
    }
    return rp_fail(RP_ECAPDEP,
            "event %u was recorded outside the capture; a wait on capturing stream %d cannot "
            "depend on it (ACL_EVENT_WAIT_EXTERNAL can)",
            event->id, stream->id);
}

/* What kind of event the verb would take, for a sentence. */
static const char *why_not(const struct rp_event *event, enum rp_event_verb verb)
{
    if (verb == RP_EVENT_RESET) {
        return "only an event of aclrtCreateEventWithFlag with ACL_EVENT_EXTERNAL is reset in a "
               "capture";
    }
    return event->kind == RP_EVENT_EX ? "an event with ACL_EVENT_IPC orders nothing in a graph"
                                      : "that takes an event of aclrtCreateEventExWithFlag with "
                                        "ACL_EVENT_SYNC";
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
    return rp_fail(RP_ENOTSUP, "event %u cannot be %s on capturing stream %d: %s", event->id,
            verbs[verb], stream->id, why_not(event, verb));
}

/* What an external use needs; refused, the capture stays valid. */
static rp_status check_external(struct rp_capture *capture, const struct rp_stream *stream,
        struct rp_event *event, uint32_t flag)
{
    if (!is_external(event, flag)) {
        return RP_OK;
    }
    if (capture->graph->kind == RP_GRAPH_SUB) {
        return rp_fail(RP_ENOTSUP,
                "event %u is external, and stream %d captures a sub-graph of a conditional, which "
                "cannot use it",
                event->id, stream->id);
    }
    return event->kind == RP_EVENT_EX ? own_external(capture, stream, event) : RP_OK;
}

static rp_status add_event(struct rp_capture *capture, struct rp_stream *stream,
        struct rp_event *event, enum rp_event_verb verb, uint32_t flag, uint64_t timeout_ns)
{
    if (is_external(event, flag)) {
        return capture_external(capture, stream, event, verb, timeout_ns);
    }
    if (verb == RP_EVENT_RECORD) {
        return capture_record(capture, stream, event);
    }
    return capture_wait(capture, stream, event);
}

/* Whether a stream that is not capturing can take a captured event at all. */
static rp_status check_free(const struct rp_stream *stream, const struct rp_event *event)
{
    // relaxed, both: changed under the capture_lock.
    if (atomic_load_explicit(&stream->model, memory_order_relaxed) != NULL) {
        return rp_fail(RP_ENOTSUP,
                "event %u is captured and cannot be used on stream %d, which is bound to a graph",
                event->id, stream->id);
    }
    if (atomic_load_explicit(&stream->update, memory_order_relaxed) != NULL) {
        return rp_fail(RP_ETASKTYPE,
                "event %u is captured and cannot be used on stream %d, which collects an update of "
                "a task group",
                event->id, stream->id);
    }
    return RP_OK;
}

/* The captures of event and stream agree, or there is only one. */
static rp_status check_same_capture(struct rp_capture *of_stream, struct rp_capture *of_event,
        const struct rp_stream *stream, const struct rp_event *event, enum rp_event_verb verb)
{
    if (stream->is_default) {
        return rp_fail(RP_ECAPIMPLICIT,
                "event %u is captured (stream %d) and cannot be used on the default stream %d",
                event->id, of_event->origin->id, stream->id);
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
        enum rp_event_verb verb, uint32_t flag, uint64_t timeout_ns)
{
    static const enum rp_insn_kind kinds[] = {
        [RP_EVENT_RECORD] = RP_INSN_EVENT_RECORD,
        [RP_EVENT_WAIT] = RP_INSN_EVENT_WAIT,
        [RP_EVENT_RESET] = RP_INSN_EVENT_RESET,
    };
    struct rp_capture *of_event = event->capture;
    struct rp_capture *capture = stream->capture != NULL ? stream->capture : of_event;
    rp_status st = rp_capture_check_valid(capture, stream);
    if (st != RP_OK) {
        return st;
    }
    st = check_same_capture(stream->capture, of_event, stream, event, verb);
    if (st != RP_OK) {
        return rp_capture_invalidate(capture, st);
    }
    st = stream->capture != NULL ? RP_OK : rp_capture_check_stream(stream);
    if (st == RP_OK) {
        st = rp_task_group_admit(capture, stream, kinds[verb]);
    }
    if (st == RP_OK) {
        st = check_capturable(stream, event, verb);
    }
    if (st == RP_OK) {
        st = check_external(capture, stream, event, flag);
    }
    if (st != RP_OK) {
        return st;
    }
    if (verb == RP_EVENT_WAIT && of_event == NULL && !is_external(event, flag)) {
        return wait_uncaptured(stream, event);
    }
    st = add_event(capture, stream, event, verb, flag, timeout_ns);
    return st == RP_OK ? st : rp_capture_invalidate(capture, st);
}

/* What goes on to the stream's own table: neither captures, or an eager record replaces the
 * captured one, and the event is an eager event again. capture_lock held. */
static rp_status choose(
        struct rp_stream *stream, struct rp_event *event, enum rp_event_verb verb, bool *eager)
{
    *eager = false;
    if (stream->capture != NULL || stream->is_default) {
        *eager = stream->capture == NULL && event->capture == NULL;
        return RP_OK;
    }
    if (event->capture != NULL) {
        const rp_status st = check_free(stream, event);
        if (st != RP_OK) {
            return st;
        }
        if (verb == RP_EVENT_RECORD) {
            rp_capture_release_event(event);
        }
    }
    *eager = event->capture == NULL;
    return RP_OK;
}

/* Captures are a context's own, and so is the lock. */
static rp_status other_context(struct rp_stream *stream, struct rp_event *event,
        enum rp_event_verb verb, uint32_t flag, uint64_t timeout_ns)
{
    // acquire, both: pair with capture's stores.
    if (atomic_load_explicit(&stream->capture_status, memory_order_acquire) == RP_CAPTURE_NONE &&
            atomic_load_explicit(&event->captured, memory_order_acquire) == NULL) {
        return rp_submit_eager.record(stream, event, verb, flag, timeout_ns);
    }
    return rp_fail(RP_ESTREAMCTX,
            "event %u belongs to another context than stream %d; a capture takes those of its own",
            event->id, stream->id);
}

rp_status rp_capture_event(struct rp_stream *stream, struct rp_event *event,
        enum rp_event_verb verb, uint32_t flag, uint64_t timeout_ns)
{
    pthread_mutex_t *lock = &stream->context->capture_lock;
    bool eager;
    // acquire: pairs with the stores at bind and unbind.
    if (atomic_load_explicit(&stream->model, memory_order_acquire) != NULL) {
        return rp_submit_build.record(stream, event, verb, flag, timeout_ns); // which refuses it
    }
    if (stream->context != event->context) {
        return other_context(stream, event, verb, flag, timeout_ns);
    }
    pthread_mutex_lock(lock);
    rp_status st = choose(stream, event, verb, &eager);
    if (st == RP_OK && !eager) {
        st = handle_event(stream, event, verb, flag, timeout_ns);
    }
    pthread_mutex_unlock(lock);
    return st == RP_OK && eager ? rp_submit_eager.record(stream, event, verb, flag, timeout_ns)
                                : st;
}
