// Building a graph by hand: binding streams, collecting their tasks, the end.
//
// Everything here is under the capture_lock of the graph's context, as in captures. Lanes need no
// edges: what is ordered across streams is ordered by events, which are tasks like all others.

#include "capture/build.h"

#include <acl/acl_rt.h>
#include <stdio.h>

#include "base/error.h"
#include "base/log.h"
#include "capture/capture.h"
#include "capture/graph_info.h"
#include "replay/label.h"
#include "transport/comm.h"

static struct rp_graph *graph_of(const struct rp_stream *stream)
{
    // relaxed: changed under the lock.
    return atomic_load_explicit(&stream->model, memory_order_relaxed);
}

static enum rp_graph_state state_of(const struct rp_graph *graph)
{
    // acquire: pairs with set_state, and with the stores of updates.
    return (enum rp_graph_state)atomic_load_explicit(&graph->state, memory_order_acquire);
}

static void set_state(struct rp_graph *graph, enum rp_graph_state state)
{
    // release: pairs with the loads in the calls that use the graph; the program is complete.
    atomic_store_explicit(&graph->state, state, memory_order_release);
}

static bool has_ended(const struct rp_graph *graph, uint32_t lane)
{
    const uint32_t last = graph->lane[lane].last_node;
    return last != UINT32_MAX && graph->node[last].insn.kind == RP_INSN_END_GRAPH;
}

/* Whether the graph of a bound stream takes tasks from it. */
static rp_status check_open(const struct rp_graph *graph, const struct rp_stream *stream)
{
    if (state_of(graph) != RP_GRAPH_CAPTURING) {
        return rp_fail(RP_EBOUND,
                "stream %d is bound to graph %u, which is not being built any more: it takes no "
                "tasks until it is unbound",
                stream->id, graph->id);
    }
    if (has_ended(graph, stream->capture_lane)) {
        return rp_fail(RP_EBOUND,
                "stream %d ends graph %u with aclmdlRIEndTask and takes no more tasks", stream->id,
                graph->id);
    }
    return RP_OK;
}

// ---- tasks ----

static rp_status check_target(
        const struct rp_graph *graph, const struct rp_stream *stream, uint32_t index)
{
    const struct rp_graph_lane *lane = index < graph->lane_count ? &graph->lane[index] : NULL;
    if (lane == NULL || lane->stream == NULL) {
        return rp_fail(RP_EBOUND, "the stream that stream %d starts is not bound to graph %u",
                stream->id, graph->id);
    }
    if (!lane->on_demand) {
        return rp_fail(RP_EPARAM,
                "stream %d cannot start stream %d, which starts with graph %u; bind it with "
                "ACL_MODEL_STREAM_FLAG_DEFAULT",
                stream->id, lane->stream_id, graph->id);
    }
    return RP_OK;
}

static rp_status check_task(
        const struct rp_graph *graph, const struct rp_stream *stream, const struct rp_task *task)
{
    if (task->pageable) {
        return rp_fail(RP_EPARAM,
                "a copy on stream %d, which is bound to graph %u, touches pageable host memory; "
                "use aclrtMallocHost or register it",
                stream->id, graph->id);
    }
    switch (task->insn.kind) {
    case RP_INSN_LANE_ACTIVATE:
    case RP_INSN_LANE_SWITCH:
        return check_target(graph, stream, task->insn.index);
    case RP_INSN_LABEL:
        if (task->insn.u.label.label->placed != NULL) {
            return rp_fail(RP_EPARAM,
                    "label %u cannot be set on stream %d: it stands in a graph already",
                    task->insn.u.label.label->id, stream->id);
        }
        return RP_OK;
    default:
        return RP_OK;
    }
}

/* What an instruction names knows that a built graph uses it; `graph` NULL: no more. */
static void mark_use(const struct rp_insn *insn, const struct rp_graph *graph)
{
    if (rp_insn_names_event(insn)) {
        // relaxed, both: read by the program's own calls.
        if (graph != NULL) {
            atomic_fetch_add_explicit(&insn->u.event.event->built, 1, memory_order_relaxed);
        } else {
            atomic_fetch_sub_explicit(&insn->u.event.event->built, 1, memory_order_relaxed);
        }
    } else if (insn->kind == RP_INSN_LABEL) {
        insn->u.label.label->placed = graph;
    }
}

static rp_status add(struct rp_graph *graph, uint32_t lane, const struct rp_task *task)
{
    uint32_t node;
    const rp_status st = rp_graph_add_task(graph, lane, task, &node);
    if (st == RP_OK) {
        mark_use(&task->insn, graph);
        rp_capture_remember(graph, node);
    }
    return st;
}

static rp_status submit(
        struct rp_graph *graph, struct rp_stream *stream, const struct rp_task *task)
{
    rp_status st = check_open(graph, stream);
    if (st == RP_OK) {
        st = check_task(graph, stream, task);
    }
    return st == RP_OK ? add(graph, stream->capture_lane, task) : st;
}

static rp_status build_run(struct rp_stream *stream, const struct rp_task *task)
{
    pthread_mutex_t *lock = &stream->context->capture_lock;
    pthread_mutex_lock(lock);
    struct rp_graph *graph = graph_of(stream);
    const rp_status st = graph == NULL ? RP_OK : submit(graph, stream, task);
    pthread_mutex_unlock(lock);
    if (graph != NULL) {
        return st;
    }
    // It was unbound between the caller's look at the table and here.
    if (task->insn.kind >= RP_INSN_COND) {
        return rp_fail(RP_EBOUND, "stream %d was unbound from its graph meanwhile", stream->id);
    }
    return rp_submit_eager.run(stream, task);
}

static rp_status check_event(const struct rp_graph *graph, const struct rp_stream *stream,
        const struct rp_event *event, enum rp_event_verb verb)
{
    static const char *const verbs[] = { "recorded", "waited for", "reset" };
    if (event->context != stream->context) {
        return rp_fail(RP_ESTREAMCTX, "event %u belongs to another context than stream %d",
                event->id, stream->id);
    }
    if (event->kind != RP_EVENT_FLAG ||
            (event->flags & (ACL_EVENT_SYNC | ACL_EVENT_EXTERNAL)) == 0) {
        return rp_fail(RP_ENOTSUP,
                "event %u cannot be %s on stream %d, which is bound to graph %u: that takes an "
                "event of aclrtCreateEventWithFlag with ACL_EVENT_SYNC",
                event->id, verbs[verb], stream->id, graph->id);
    }
    return RP_OK;
}

static rp_status submit_event(struct rp_graph *graph, struct rp_stream *stream,
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
    const rp_status st = check_event(graph, stream, event, verb);
    return st == RP_OK ? submit(graph, stream, &task) : st;
}

static rp_status build_record(struct rp_stream *stream, struct rp_event *event,
        enum rp_event_verb verb, uint32_t flag, uint64_t timeout_ns)
{
    pthread_mutex_t *lock = &stream->context->capture_lock;
    pthread_mutex_lock(lock);
    struct rp_graph *graph = graph_of(stream);
    const rp_status st =
            graph == NULL ? RP_OK : submit_event(graph, stream, event, verb, timeout_ns);
    pthread_mutex_unlock(lock);
    return graph != NULL ? st : rp_submit_eager.record(stream, event, verb, flag, timeout_ns);
}

const struct rp_submit_ops rp_submit_build = {
    .run = build_run,
    .record = build_record,
};

// ---- binding ----

static rp_status check_stream(const struct rp_stream *stream)
{
    if (stream->capture != NULL) {
        return rp_fail(RP_ESTREAMCAPTURED, "stream %d is capturing and cannot be bound to a graph",
                stream->id);
    }
    if (graph_of(stream) != NULL) {
        return rp_fail(RP_EBOUND, "stream %d is bound to graph %u already", stream->id,
                graph_of(stream)->id);
    }
    if ((stream->flags & ACL_STREAM_PERSISTENT) == 0) {
        return rp_fail(RP_EPARAM,
                "stream %d was not created with ACL_STREAM_PERSISTENT and cannot be bound to a "
                "graph",
                stream->id);
    }
    // relaxed: set before by the program's own call.
    const uint32_t mode = atomic_load_explicit(&stream->failure_mode, memory_order_relaxed);
    if ((stream->flags & ACL_STREAM_FAST_LAUNCH) != 0 || mode == ACL_STOP_ON_FAILURE) {
        return rp_fail(RP_ENOTSUP,
                "stream %d cannot be bound to a graph: it has ACL_STREAM_FAST_LAUNCH or "
                "ACL_STOP_ON_FAILURE",
                stream->id);
    }
    return RP_OK;
}

static rp_status check_building(const struct rp_graph *graph)
{
    if (state_of(graph) != RP_GRAPH_CAPTURING) {
        return rp_fail(RP_EPARAM, "graph %u is not being built any more", graph->id);
    }
    return RP_OK;
}

/* Checked: a new lane. */
static rp_status attach(struct rp_graph *graph, struct rp_stream *stream, bool on_demand)
{
    uint32_t lane;
    const rp_status st = rp_graph_add_lane(graph, stream, NULL, &lane);
    if (st != RP_OK) {
        return st;
    }
    graph->lane[lane].on_demand = on_demand;
    rp_stream_ref(stream); // a reset of the device may end it while it is bound
    stream->capture_lane = lane;
    // release, both: pair with the loads in replay's checks and in rp_stream_submit; the lane is
    // set.
    atomic_store_explicit(&stream->model, graph, memory_order_release);
    atomic_store_explicit(&stream->submit, &rp_submit_build, memory_order_release);
    return RP_OK;
}

rp_status rp_build_bind(struct rp_graph *graph, struct rp_stream *stream, bool on_demand)
{
    pthread_mutex_t *lock = &graph->context->capture_lock;
    pthread_mutex_lock(lock);
    rp_status st = check_stream(stream);
    if (st == RP_OK) {
        st = check_building(graph);
    }
    if (st == RP_OK) {
        st = attach(graph, stream, on_demand);
    }
    pthread_mutex_unlock(lock);
    return st;
}

static void detach(struct rp_graph_lane *lane)
{
    struct rp_stream *stream = lane->stream;
    lane->stream = NULL;
    // release, both: as in attach.
    atomic_store_explicit(&stream->submit, &rp_submit_eager, memory_order_release);
    atomic_store_explicit(&stream->model, NULL, memory_order_release);
    rp_stream_unref(stream);
}

static rp_status check_bound(const struct rp_graph *graph, const struct rp_stream *stream)
{
    if (stream->capture != NULL) {
        return rp_fail(RP_ESTREAMCAPTURED, "stream %d is capturing; it is not bound to graph %u",
                stream->id, graph->id);
    }
    if (graph_of(stream) != graph) {
        return rp_fail(RP_EBOUND, "stream %d is not bound to graph %u", stream->id, graph->id);
    }
    return RP_OK;
}

rp_status rp_build_unbind(struct rp_graph *graph, struct rp_stream *stream)
{
    pthread_mutex_t *lock = &graph->context->capture_lock;
    pthread_mutex_lock(lock);
    const rp_status st = check_bound(graph, stream);
    if (st == RP_OK) {
        detach(&graph->lane[stream->capture_lane]);
        set_state(graph, RP_GRAPH_FAULT);
    }
    pthread_mutex_unlock(lock);
    return st;
}

void rp_build_release(struct rp_graph *graph)
{
    pthread_mutex_t *lock = &graph->context->capture_lock;
    pthread_mutex_lock(lock);
    for (uint32_t lane = 0; lane < graph->lane_count; lane++) {
        if (graph->lane[lane].stream != NULL) {
            detach(&graph->lane[lane]);
        }
    }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        mark_use(&graph->node[n].insn, NULL);
    }
    pthread_mutex_unlock(lock);
}

// ---- the end ----

/* The node that ends the graph; RP_NODE_NOWHERE: none. */
static uint32_t find_end(const struct rp_graph *graph)
{
    for (uint32_t lane = 0; lane < graph->lane_count; lane++) {
        if (has_ended(graph, lane)) {
            return graph->lane[lane].last_node;
        }
    }
    return RP_NODE_NOWHERE;
}

static rp_status end_task(struct rp_graph *graph, const struct rp_stream *stream)
{
    const uint32_t end = find_end(graph);
    if (end != RP_NODE_NOWHERE) {
        return rp_fail(RP_EPARAM, "graph %u has its end on stream %d already", graph->id,
                graph->lane[graph->node[end].lane].stream_id);
    }
    const struct rp_task task = { .insn = { .kind = RP_INSN_END_GRAPH } };
    return add(graph, stream->capture_lane, &task);
}

rp_status rp_build_end_task(struct rp_graph *graph, struct rp_stream *stream)
{
    pthread_mutex_t *lock = &graph->context->capture_lock;
    pthread_mutex_lock(lock);
    rp_status st = check_bound(graph, stream);
    if (st == RP_OK) {
        st = check_building(graph);
    }
    if (st == RP_OK) {
        st = end_task(graph, stream);
    }
    pthread_mutex_unlock(lock);
    return st;
}

static rp_status check_head(const struct rp_graph *graph)
{
    for (uint32_t lane = 0; lane < graph->lane_count; lane++) {
        if (!graph->lane[lane].on_demand) {
            return RP_OK;
        }
    }
    return rp_fail(RP_EGRAPHSTATE,
            "graph %u would never begin: of its %u streams none is bound with "
            "ACL_MODEL_STREAM_FLAG_HEAD",
            graph->id, graph->lane_count);
}

static rp_status check_labels(const struct rp_graph *graph, const struct rp_node *node)
{
    const struct rp_label_list *list = node->insn.u.label_switch.list;
    for (uint32_t i = 0; i <= node->insn.u.label_switch.max; i++) {
        if (list->label[i]->placed != graph) {
            return rp_fail(RP_EGRAPHSTATE,
                    "label %u, to which stream %d of graph %u switches, was not set in that graph",
                    list->label[i]->id, graph->lane[node->lane].stream_id, graph->id);
        }
    }
    return RP_OK;
}

/* On a device such a stream is idle for ever, and that is no error. It is seldom meant, though. */
static void warn_of_idle(const struct rp_graph *graph, uint32_t lane)
{
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const struct rp_insn *insn = &graph->node[n].insn;
        const bool starts =
                insn->kind == RP_INSN_LANE_ACTIVATE || insn->kind == RP_INSN_LANE_SWITCH;
        const bool enters = insn->kind == RP_INSN_LABEL && graph->node[n].lane == lane;
        if ((starts && insn->index == lane) || enters) {
            return;
        }
    }
    rp_log_warn("graph %u: nothing starts stream %d and its %u tasks", graph->id,
            graph->lane[lane].stream_id, graph->lane[lane].node_count);
}

static rp_status check_complete(const struct rp_graph *graph)
{
    rp_status st = check_head(graph);
    for (uint32_t n = 0; n < graph->node_count && st == RP_OK; n++) {
        if (graph->node[n].insn.kind == RP_INSN_LABEL_SWITCH) {
            st = check_labels(graph, &graph->node[n]);
        }
    }
    return st;
}

rp_status rp_build_end(struct rp_graph *graph)
{
    pthread_mutex_t *lock = &graph->context->capture_lock;
    pthread_mutex_lock(lock);
    rp_status st = check_building(graph);
    if (st == RP_OK) {
        st = check_complete(graph);
    }
    if (st == RP_OK) {
        st = rp_graph_freeze(graph);
    }
    for (uint32_t lane = 0; lane < graph->lane_count && st == RP_OK; lane++) {
        if (graph->lane[lane].on_demand && graph->lane[lane].node_count != 0) {
            warn_of_idle(graph, lane);
        }
    }
    if (st == RP_OK) {
        set_state(graph, find_end(graph) == RP_NODE_NOWHERE ? RP_GRAPH_FAULT : RP_GRAPH_READY);
    }
    pthread_mutex_unlock(lock);
    return st;
}

void rp_build_explain(const struct rp_graph *graph, char *text, size_t bytes)
{
    pthread_mutex_t *lock = &graph->context->capture_lock;
    pthread_mutex_lock(lock);
    const struct rp_graph_lane *unbound = NULL;
    for (uint32_t lane = 0; lane < graph->lane_count && unbound == NULL; lane++) {
        unbound = graph->lane[lane].stream == NULL ? &graph->lane[lane] : NULL;
    }
    if (unbound != NULL) {
        snprintf(text, bytes, "its stream %d was unbound", unbound->stream_id);
    } else if (find_end(graph) == RP_NODE_NOWHERE) {
        snprintf(text, bytes, "aclmdlRIEndTask did not mark its end before aclmdlRIBuildEnd");
    } else {
        snprintf(text, bytes, "a change of its tasks failed");
    }
    pthread_mutex_unlock(lock);
}

// ---- starting over ----

static rp_status move_infos(struct rp_graph *graph, uint32_t from, uint32_t to)
{
    rp_status st = RP_OK;
    for (int kind = 0; kind < RP_TASK_INFO_KINDS && st == RP_OK; kind++) {
        size_t bytes = 0;
        const void *data = rp_task_info(graph, from, (enum rp_task_info_kind)kind, &bytes);
        if (data != NULL) {
            st = rp_task_set_info(graph, to, (enum rp_task_info_kind)kind, data, bytes);
        }
    }
    rp_task_drop_info(graph, from);
    return st;
}

static void drop_node(struct rp_graph *graph, uint32_t n)
{
    struct rp_node *node = &graph->node[n];
    mark_use(&node->insn, NULL);
    rp_insn_release(&node->insn);
    if (node->insn.kind == RP_INSN_COLLECTIVE) {
        rp_comm_unref(rp_graph_node_op(graph, n)->comm);
    }
    rp_task_drop_info(graph, n);
}

/* Takes the nodes of `lane` out; the others move up, and so do the ops, which are in the same
 * order. An info that finds no memory is lost; that is reported, the rest is done all the same. */
static rp_status clean(struct rp_graph *graph, uint32_t lane)
{
    rp_status st = RP_OK;
    uint32_t kept = 0;
    uint32_t ops = 0;
    for (uint32_t l = 0; l < graph->lane_count; l++) {
        graph->lane[l].last_node = UINT32_MAX;
    }
    graph->lane[lane].node_count = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        struct rp_node *node = &graph->node[n];
        if (node->lane == lane) {
            drop_node(graph, n);
            continue;
        }
        if (node->insn.kind == RP_INSN_COLLECTIVE) {
            graph->op[ops] = graph->op[node->insn.index];
            node->insn.index = ops++;
        }
        if (kept != n) {
            graph->node[kept] = *node;
            const rp_status moved = move_infos(graph, n, kept);
            st = st == RP_OK ? moved : st;
        }
        graph->lane[graph->node[kept].lane].last_node = kept;
        kept++;
    }
    graph->node_count = kept;
    graph->op_count = ops;
    return st;
}

rp_status rp_build_clean(struct rp_stream *stream)
{
    pthread_mutex_t *lock = &stream->context->capture_lock;
    rp_status st = RP_OK;
    pthread_mutex_lock(lock);
    struct rp_graph *graph = graph_of(stream);
    if (graph != NULL && graph->program != NULL) {
        st = rp_fail(RP_EBOUND,
                "the tasks of stream %d are part of graph %u, which is built; unbind the stream "
                "first",
                stream->id, graph->id);
    } else if (graph != NULL) {
        st = clean(graph, stream->capture_lane);
    }
    pthread_mutex_unlock(lock);
    return st;
}
