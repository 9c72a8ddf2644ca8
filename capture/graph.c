// The task graph while it is being recorded: growable arrays, and the registry
// of graph handles. Freezing it into a program is freeze.c.

#include "capture/graph.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "capture/cond.h"
#include "capture/expand_cache.h"
#include "capture/graph_info.h"
#include "capture/task_group.h"
#include "capture/task_params.h"
#include "transport/comm.h"

#define GRAPH_MAGIC 0x52505f4752415048ull

static _Atomic uint32_t next_graph_id = 1;

/* Room for one more element of `bytes` each in a doubling array; the old array stays on failure. */
static rp_status reserve(void **array, uint32_t count, uint32_t *cap, size_t bytes)
{
    void *larger = rp_array_room(*array, count, cap, bytes);
    if (larger == NULL) {
        return rp_fail(
                RP_ENOMEM, "no memory for more than %u graph entries of %zu bytes", count, bytes);
    }
    *array = larger;
    return RP_OK;
}

rp_status rp_graph_create(struct rp_context *context, enum rp_graph_kind kind,
        struct rp_graph *root, struct rp_graph **out)
{
    struct rp_graph *graph = rp_calloc(1, sizeof *graph);
    if (graph == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for a graph");
    }
    graph->magic = GRAPH_MAGIC;
    graph->context = context;
    graph->kind = (uint8_t)kind;
    graph->root = root == NULL ? graph : root;
    graph->state = kind == RP_GRAPH_SUB ? RP_GRAPH_EMPTY : RP_GRAPH_CAPTURING;
    // relaxed: only uniqueness matters.
    graph->id = atomic_fetch_add_explicit(&next_graph_id, 1, memory_order_relaxed);
    const rp_status st = rp_handle_add(RP_HANDLE_GRAPH, graph);
    if (st != RP_OK) {
        rp_free(graph);
        return st;
    }
    if (context != NULL) {
        rp_context_ref(context); // a graph may outlive its context's last user
    }
    *out = graph;
    return RP_OK;
}

struct rp_graph *rp_graph_from_handle(const void *handle)
{
    if (!rp_handle_live(RP_HANDLE_GRAPH, handle)) {
        return NULL;
    }
    struct rp_graph *graph = (struct rp_graph *)(uintptr_t)handle;
    return graph->magic == GRAPH_MAGIC ? graph : NULL;
}

struct search {
    uint32_t id;
    struct rp_graph *found;
};

static void look_at_id(void *object, void *arg)
{
    struct search *search = arg;
    struct rp_graph *graph = object;
    if (graph->id == search->id) {
        search->found = graph;
    }
}

struct rp_graph *rp_graph_from_id(uint32_t id)
{
    struct search search = { .id = id };
    rp_handle_each(RP_HANDLE_GRAPH, look_at_id, &search);
    return search.found;
}

static void free_ops(struct rp_graph *graph)
{
    for (uint32_t i = 0; i < graph->op_count; i++) {
        const struct rp_op *op = &graph->op[i];
        rp_expand_release(op);
        if (!graph->op_borrowed) {
            rp_comm_unref(op->comm);
        }
    }
    if (!graph->op_borrowed) {
        rp_free(graph->op);
    }
}

static void free_recording(struct rp_graph *graph)
{
    free_ops(graph);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        rp_insn_release(&graph->node[i].insn);
    }
    rp_free(graph->node);
    rp_free(graph->lane);
    rp_free(graph->edge);
    rp_free(graph->cond);
}

/* The graph and its sub-graphs; no callbacks. */
static void free_tree(struct rp_graph *graph)
{
    rp_handle_remove(RP_HANDLE_GRAPH, graph);
    for (uint32_t c = 0; c < graph->cond_count; c++) {
        for (uint32_t i = 0; i < graph->cond[c].count; i++) {
            free_tree(graph->cond[c].sub[i]);
        }
        rp_free(graph->cond[c].sub);
    }
    free_recording(graph);
    if (graph->context != NULL) {
        rp_context_unref(graph->context);
    }
    graph->magic = 0;
    rp_free(graph);
}

void rp_graph_destroy(struct rp_graph *graph)
{
    struct rp_program *program = graph->program;
    struct rp_graph_info *info = graph->info;
    rp_handle_remove(RP_HANDLE_GRAPH, graph);
    rp_task_group_free_all(graph);
    rp_cond_free_all(graph);
    rp_task_params_free(graph);
    free_tree(graph);
    if (program != NULL) {
        rp_program_unref(program);
    }
    rp_graph_info_free(info);
}

rp_status rp_graph_add_lane(struct rp_graph *graph, struct rp_stream *stream,
        const struct rp_event *forked_by, uint32_t *lane)
{
    const rp_status st = reserve(
            (void **)&graph->lane, graph->lane_count, &graph->lane_cap, sizeof *graph->lane);
    if (st != RP_OK) {
        return st;
    }
    graph->lane[graph->lane_count] = (struct rp_graph_lane){
        .stream = stream,
        .stream_id = stream->id,
        .last_node = UINT32_MAX,
        .fork_event = forked_by == NULL ? UINT32_MAX : forked_by->id,
    };
    *lane = graph->lane_count++;
    return RP_OK;
}

/* A copy of the op for the collective node with number `seq`, with a reference to its communicator.
 */
static rp_status add_op(
        struct rp_graph *graph, const struct rp_op *op, uint32_t seq, uint32_t *index)
{
    const rp_status st =
            reserve((void **)&graph->op, graph->op_count, &graph->op_cap, sizeof *graph->op);
    if (st != RP_OK) {
        return st;
    }
    rp_comm_ref(op->comm);
    rp_expand_hold(op);
    struct rp_op *copy = &graph->op[graph->op_count];
    *copy = *op;
    copy->record.graph = graph->root->id;
    copy->record.task = seq;
    *index = graph->op_count++;
    return RP_OK;
}

rp_status rp_graph_add_task(
        struct rp_graph *graph, uint32_t lane, const struct rp_task *task, uint32_t *node)
{
    rp_status st = reserve(
            (void **)&graph->node, graph->node_count, &graph->node_cap, sizeof *graph->node);
    if (st != RP_OK) {
        return st;
    }
    struct rp_node *added = &graph->node[graph->node_count];
    *added = (struct rp_node){
        .insn = task->insn,
        .lane = lane,
        .seq = graph->root->next_seq + 1,
        .at = RP_NODE_NOWHERE,
    };
    if (task->insn.kind == RP_INSN_COLLECTIVE) {
        st = add_op(graph, task->op, added->seq, &added->insn.index);
        if (st != RP_OK) {
            return st;
        }
    }
    rp_insn_hold(&added->insn);
    graph->root->next_seq++;
    graph->lane[lane].last_node = graph->node_count;
    graph->lane[lane].node_count++;
    *node = graph->node_count++;
    return RP_OK;
}

rp_status rp_graph_add_edge(
        struct rp_graph *graph, uint32_t lane, struct rp_event *event, uint32_t *edge)
{
    rp_status st = reserve(
            (void **)&graph->edge, graph->edge_count, &graph->edge_cap, sizeof *graph->edge);
    if (st != RP_OK) {
        return st;
    }
    const struct rp_task task = {
        .insn = { .kind = RP_INSN_EDGE_SIGNAL, .index = graph->edge_count, .u.event.event = event }
    };
    uint32_t node;
    st = rp_graph_add_task(graph, lane, &task, &node);
    if (st != RP_OK) {
        return st;
    }
    graph->edge[graph->edge_count] = (struct rp_graph_edge){ .from_node = node };
    *edge = graph->edge_count++;
    return RP_OK;
}

rp_status rp_graph_add_wait(
        struct rp_graph *graph, uint32_t lane, struct rp_event *event, uint32_t edge)
{
    const struct rp_task task = {
        .insn = { .kind = RP_INSN_EDGE_WAIT, .index = edge, .u.event.event = event }
    };
    uint32_t node;
    const rp_status st = rp_graph_add_task(graph, lane, &task, &node);
    if (st == RP_OK) {
        graph->edge[edge].waits++;
    }
    return st;
}

static void free_subs(struct rp_graph **sub, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        free_tree(sub[i]);
    }
    rp_free(sub);
}

rp_status rp_graph_add_cond(struct rp_graph *graph, struct rp_cond *handle, uint8_t type,
        uint32_t count, uint32_t *index)
{
    rp_status st = reserve(
            (void **)&graph->cond, graph->cond_count, &graph->cond_cap, sizeof *graph->cond);
    if (st != RP_OK) {
        return st;
    }
    struct rp_graph **sub = rp_calloc(count, sizeof *sub);
    if (sub == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for %u sub-graphs", count);
    }
    for (uint32_t i = 0; i < count; i++) {
        st = rp_graph_create(graph->context, RP_GRAPH_SUB, graph->root, &sub[i]);
        if (st != RP_OK) {
            free_subs(sub, i);
            return st;
        }
    }
    graph->root->sub_count += count;
    graph->cond[graph->cond_count] =
            (struct rp_graph_cond){ .handle = handle, .type = type, .count = count, .sub = sub };
    *index = graph->cond_count++;
    return RP_OK;
}
