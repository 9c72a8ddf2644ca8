// The rule of CaptureEnd: every side stream has been joined back to the origin.

#include "capture/join.h"

#include <stdio.h>

#include "base/error.h"
#include "capture/graph_json_task.h"
#include "kernels/record.h"
#include "replay/event.h"

/* The edge that a lane's last node signals, or NULL when its last node is no record. */
static const struct rp_graph_edge *last_record(const struct rp_graph *graph, uint32_t lane)
{
    const uint32_t last = graph->lane[lane].last_node;
    if (last == UINT32_MAX || graph->node[last].insn.kind != RP_INSN_EDGE_SIGNAL) {
        return NULL;
    }
    return &graph->edge[graph->node[last].insn.index];
}

/* One pass: a lane reaches the origin if its last record is waited for in a lane that does. */
static bool spread(struct rp_graph *graph)
{
    bool changed = false;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const struct rp_node *wait = &graph->node[n];
        if (wait->insn.kind != RP_INSN_EDGE_WAIT || !graph->lane[wait->lane].reaches_origin) {
            continue;
        }
        const struct rp_graph_edge *edge = &graph->edge[wait->insn.index];
        const uint32_t from = graph->node[edge->from_node].lane;
        if (!graph->lane[from].reaches_origin && last_record(graph, from) == edge) {
            graph->lane[from].reaches_origin = true;
            changed = true;
        }
    }
    return changed;
}

/* What a task is called in the report. */
static const char *task_name(const struct rp_graph *graph, uint32_t node)
{
    const struct rp_insn *insn = &graph->node[node].insn;
    return insn->kind == RP_INSN_COLLECTIVE ? rp_op_kind_name(graph->op[insn->index].record.op)
                                            : rp_graph_json_type(&graph->node[node]);
}

static rp_status unjoined(const struct rp_graph *graph, uint32_t lane)
{
    const struct rp_graph_lane *side = &graph->lane[lane];
    const struct rp_graph_edge *edge = last_record(graph, lane);
    const bool external = side->last_node != UINT32_MAX &&
                          graph->node[side->last_node].insn.kind == RP_INSN_EVENT_RECORD;
    const char *why = external           ? "its last task records an external event"
                      : edge == NULL     ? "its last task is not an event record"
                      : edge->waits == 0 ? "nobody waits for the event that it records last"
                                         : "the waits for its last event do not lead to the origin";
    char last[64] = "it has no task";
    if (side->last_node != UINT32_MAX) {
        snprintf(last, sizeof last, "its last call is task %u of the capture, %s",
                graph->node[side->last_node].seq, task_name(graph, side->last_node));
    }
    return rp_fail(RP_EUNJOINED,
            "stream %d (handle %p), forked by event %u, was not joined to stream %d: %s (%s); %s "
            "on stream %d",
            side->stream_id, (void *)side->stream, side->fork_event, graph->lane[0].stream_id, why,
            last,
            edge != NULL && edge->waits == 0 ? "wait for it"
                                             : "record an event there and wait for it",
            graph->lane[0].stream_id);
}

rp_status rp_capture_check_joined(struct rp_graph *graph)
{
    graph->lane[0].reaches_origin = true;
    while (spread(graph)) {
    }
    for (uint32_t lane = 1; lane < graph->lane_count; lane++) {
        if (!graph->lane[lane].reaches_origin) {
            return unjoined(graph, lane);
        }
    }
    return RP_OK;
}
