// Numbers that stand for tasks and for streams of a graph.

#include "capture/task.h"

#include "base/error.h"
#include "replay/device.h"
#include "replay/launch.h"

#define STREAM_BIT 0x80000000u

static void *encode(uint32_t graph, uint32_t low)
{
    return (void *)(uintptr_t)((uint64_t)graph << 32 | low);
}

/* The live graph whose id is the handle's upper half. A program asks for many tasks of one graph in
 * a row, so the last one is remembered; whether it is still there costs less than a search. */
static struct rp_graph *graph_of(const void *handle, uint32_t *low)
{
    static _Thread_local const void *last;
    const uint64_t number = (uintptr_t)handle;
    const uint32_t id = (uint32_t)(number >> 32);
    *low = (uint32_t)number;
    if (id == 0) {
        return NULL;
    }
    struct rp_graph *graph = rp_graph_from_handle(last);
    if (graph == NULL || graph->id != id) {
        graph = rp_graph_from_id(id);
        last = graph;
    }
    return graph;
}

void *rp_task_handle(const struct rp_graph *graph, uint32_t node)
{
    return encode(graph->id, node + 1);
}

bool rp_task_locate(const void *handle, struct rp_graph **graph, uint32_t *node)
{
    uint32_t low;
    struct rp_graph *found = graph_of(handle, &low);
    if (found == NULL || low == 0 || low > found->node_count) {
        return false;
    }
    *graph = found;
    *node = low - 1;
    return true;
}

rp_status rp_task_find(const char *api, void *handle, struct rp_graph **graph, uint32_t *node)
{
    struct rp_context *context = NULL;
    struct rp_graph *found = NULL;
    uint32_t index = 0;
    if (handle == NULL) {
        return rp_fail(RP_EINVAL, "%s: task is NULL", api);
    }
    const rp_status st = rp_context_current(&context);
    if (st != RP_OK) {
        return st;
    }
    if (!rp_task_locate(handle, &found, &index)) {
        return rp_fail(RP_EHANDLE, "%s: %p is no task, or one of a destroyed graph", api, handle);
    }
    if (found->context != context) {
        return rp_fail(RP_EGRAPHCTX, "%s: task %u is of graph %u, which is of another context", api,
                index, found->id);
    }
    if (found->root != found) {
        return rp_fail(RP_ENOTSUP,
                "%s: task %u is of sub-graph %u of graph %u; tasks of sub-graphs cannot be looked "
                "at or changed",
                api, index, found->id, found->root->id);
    }
    *graph = found;
    *node = index;
    return RP_OK;
}

aclmdlRITaskType rp_task_type(const struct rp_node *node)
{
    switch (node->insn.kind) {
    case RP_INSN_KERNEL:
    case RP_INSN_COLLECTIVE:
        return ACL_MODEL_RI_TASK_KERNEL;
    case RP_INSN_EVENT_RECORD:
    case RP_INSN_EDGE_SIGNAL:
        return ACL_MODEL_RI_TASK_EVENT_RECORD;
    case RP_INSN_EVENT_WAIT:
    case RP_INSN_EDGE_WAIT:
        return ACL_MODEL_RI_TASK_EVENT_WAIT;
    case RP_INSN_EVENT_RESET:
        return ACL_MODEL_RI_TASK_EVENT_RESET;
    case RP_INSN_VALUE_WRITE:
        return ACL_MODEL_RI_TASK_VALUE_WRITE;
    case RP_INSN_VALUE_WAIT:
        return ACL_MODEL_RI_TASK_VALUE_WAIT;
    default:
        return ACL_MODEL_RI_TASK_DEFAULT;
    }
}

static void look(struct rp_graph *graph, uint32_t node, struct rp_task_seen *seen)
{
    seen->insn = graph->node[node].insn;
    seen->type = rp_task_type(&graph->node[node]);
    if (seen->insn.kind == RP_INSN_COLLECTIVE) {
        seen->op = *rp_graph_node_op(graph, node);
    } else if (seen->insn.kind == RP_INSN_KERNEL) {
        const struct rp_insn *running = rp_graph_node_insn(graph, node);
        seen->insn = running == NULL ? seen->insn : *running;
        rp_launch_ref(seen->insn.u.kernel.launch);
    }
}

void rp_task_see(struct rp_graph *graph, uint32_t node, struct rp_task_seen *seen)
{
    const uint8_t kind = graph->node[node].insn.kind;
    if (graph->root->program == NULL || (kind != RP_INSN_KERNEL && kind != RP_INSN_COLLECTIVE)) {
        look(graph, node, seen);
        return;
    }
    rp_device_enter(graph->context->device);
    look(graph, node, seen);
    rp_device_leave(graph->context->device);
}

void rp_task_see_no_more(const struct rp_task_seen *seen)
{
    if (seen->insn.kind == RP_INSN_KERNEL) {
        rp_launch_unref(seen->insn.u.kernel.launch);
    }
}

void *rp_task_stream(const struct rp_graph *graph, uint32_t lane)
{
    return encode(graph->id, STREAM_BIT | lane);
}

bool rp_task_stream_locate(const void *handle, struct rp_graph **graph, uint32_t *lane)
{
    uint32_t low;
    struct rp_graph *found = graph_of(handle, &low);
    if (found == NULL || (low & STREAM_BIT) == 0 || (low & ~STREAM_BIT) >= found->lane_count) {
        return false;
    }
    *graph = found;
    *lane = low & ~STREAM_BIT;
    return true;
}
