// Numbers that stand for tasks and for streams of a graph.

#include "capture/task.h"

#include "base/error.h"

#define STREAM_BIT 0x80000000u

static void *encode(uint32_t graph, uint32_t low)
{
    return (void *)(uintptr_t)((uint64_t)graph << 32 | low);
}

/* The live graph whose id is the handle's upper half. */
static struct rp_graph *graph_of(const void *handle, uint32_t *low)
{
    const uint64_t number = (uintptr_t)handle;
    const uint32_t id = (uint32_t)(number >> 32);
    *low = (uint32_t)number;
    return id == 0 ? NULL : rp_graph_from_id(id);
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
