// Parameters of tasks: asked for, replaced, and put into force by aclmdlRIUpdate.
//
// What a kernel runs with is in the program as soon as there is one: updates of task groups change
// it there. Everything else of a task is in the recording.

#include "capture/task_params.h"

#include <acl/acl_rt.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "capture/collective_args.h"
#include "capture/expand_cache.h"
#include "capture/graph_info.h"
#include "capture/introspect.h"
#include "capture/task.h"
#include "capture/task_group.h"
#include "capture/task_update.h"
#include "replay/device.h"
#include "replay/launch.h"
#include "replay/value.h"

// uthash leaves the process when memory is short unless it is told otherwise.
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(given) ((given)->refused = true)
#define uthash_malloc(bytes) rp_malloc(bytes)
#define uthash_free(memory, bytes) rp_free(memory)
#include <uthash.h>

/* What kernelTaskParams.args of one task points to. A table by node; under the capture_lock. */
struct rp_task_params {
    uint32_t node;
    bool refused;             // the table had no memory for it
    struct rp_launch *launch; // of a kernel; referenced
    struct reprise_collective_args args;
    UT_hash_handle hh;
};

void rp_task_params_free(struct rp_graph *graph)
{
    struct rp_task_params *table = graph->params;
    for (struct rp_task_params *given = table, *next; given != NULL; given = next) {
        next = given->hh.next;
        HASH_DEL(table, given);
        if (given->launch != NULL) {
            rp_launch_unref(given->launch);
        }
        rp_free(given);
    }
    graph->params = NULL;
}

/* The entry of a node, made if there is none; NULL when memory is short. capture_lock held. */
static struct rp_task_params *given_of(struct rp_graph *graph, uint32_t node)
{
    struct rp_task_params *given = NULL;
    HASH_FIND(hh, graph->params, &node, sizeof node, given);
    if (given != NULL) {
        return given;
    }
    given = rp_calloc(1, sizeof *given);
    if (given == NULL) {
        return NULL;
    }
    given->node = node;
    HASH_ADD(hh, graph->params, node, sizeof given->node, given);
    if (given->refused) {
        rp_free(given);
        return NULL;
    }
    return given;
}

// ---- asking ----

/* The task as it would run now; of a graph that is still recorded, under the capture_lock. */
static void see(struct rp_graph *graph, uint32_t node, struct rp_task_seen *seen)
{
    const bool recorded = graph->program == NULL;
    if (recorded) {
        rp_graph_hold_still(graph);
    }
    rp_task_see(graph, node, seen);
    if (recorded) {
        rp_graph_let_go(graph);
    }
}

/* capture_lock held. */
static rp_status show_kernel(struct rp_graph *graph, uint32_t node, const struct rp_task_seen *seen,
        aclmdlRIKernelTaskParams *params)
{
    struct rp_task_params *given = given_of(graph, node);
    if (given == NULL) {
        return rp_fail(RP_ENOMEM,
                "no memory to show the arguments of task %" PRIu32 " of graph %" PRIu32, node,
                graph->id);
    }
    if (seen->insn.kind == RP_INSN_COLLECTIVE) {
        rp_collective_args_fill(&seen->op, &given->args);
        params->funcHandle = reprise_collective_function(given->args.op);
        params->args = &given->args;
        params->argsSize = sizeof given->args;
        params->numBlocks = 1;
        return RP_OK;
    }
    struct rp_launch *launch = seen->insn.u.kernel.launch;
    rp_launch_ref(launch);
    if (given->launch != NULL) {
        rp_launch_unref(given->launch);
    }
    given->launch = launch;
    params->funcHandle = rp_launch_handle(launch);
    params->args = launch->args;
    params->argsSize = launch->args_bytes;
    params->numBlocks = launch->blocks;
    return RP_OK;
}

/* An event of aclrtCreateEventExWithFlag becomes a task of its own through the external flags
 * alone; other kinds have none. */
static uint32_t external_flag(const struct rp_insn *insn)
{
    const bool is_task = insn->kind == RP_INSN_EVENT_RECORD || insn->kind == RP_INSN_EVENT_WAIT;
    // ACL_EVENT_RECORD_EXTERNAL and ACL_EVENT_WAIT_EXTERNAL are the same number.
    return is_task && insn->u.event.event->kind == RP_EVENT_EX ? ACL_EVENT_RECORD_EXTERNAL
                                                               : ACL_EVENT_RECORD_DEFAULT;
}

/* capture_lock held. */
static rp_status show(struct rp_graph *graph, uint32_t node, const struct rp_task_seen *seen,
        aclmdlRITaskParams *params)
{
    const struct rp_insn *insn = &seen->insn;
    memset(params, 0, sizeof *params);
    params->type = seen->type;
    params->taskGrp = rp_task_group_of(graph, node);
    // The API has no const here; the info is for reading.
    params->opInfoPtr =
            (void *)(uintptr_t)rp_task_info(graph, node, RP_TASK_OP_INFO, &params->opInfoSize);
    switch (seen->type) {
    case ACL_MODEL_RI_TASK_KERNEL:
        return show_kernel(graph, node, seen, &params->kernelTaskParams);
    case ACL_MODEL_RI_TASK_EVENT_RECORD:
        params->eventRecordTaskParams = (aclmdlRIEventRecordTaskParams){ insn->u.event.event,
            insn->u.event.event->flags, external_flag(insn) };
        return RP_OK;
    case ACL_MODEL_RI_TASK_EVENT_WAIT:
        params->eventWaitTaskParams = (aclmdlRIEventWaitTaskParams){ insn->u.event.event,
            insn->u.event.event->flags, external_flag(insn) };
        return RP_OK;
    case ACL_MODEL_RI_TASK_EVENT_RESET:
        params->eventResetTaskParams = (aclmdlRIEventResetTaskParams){ insn->u.event.event,
            insn->u.event.event->flags, 0 };
        return RP_OK;
    case ACL_MODEL_RI_TASK_VALUE_WRITE:
        params->valueWriteTaskParams =
                (aclmdlRIValueWriteTaskParams){ insn->u.value.addr, insn->u.value.value };
        return RP_OK;
    case ACL_MODEL_RI_TASK_VALUE_WAIT:
        params->valueWaitTaskParams = (aclmdlRIValueWaitTaskParams){ insn->u.value.addr,
            insn->u.value.value, insn->flag };
        return RP_OK;
    case ACL_MODEL_RI_TASK_DEFAULT:
        break;
    }
    return RP_OK;
}

static rp_status check_has_params(
        const char *api, const struct rp_graph *graph, uint32_t node, aclmdlRITaskType type)
{
    if (type == ACL_MODEL_RI_TASK_DEFAULT) {
        return rp_fail(RP_EPARAM,
                "%s: task %" PRIu32 " of graph %" PRIu32 " is of type DEFAULT, which has no "
                "parameters",
                api, node, graph->id);
    }
    return RP_OK;
}

static rp_status get_params(aclmdlRITask task, aclmdlRITaskParams *params)
{
    static const char *const api = "aclmdlRITaskGetParams";
    struct rp_graph *graph = NULL;
    uint32_t node = 0;
    rp_status st = rp_enter();
    if (st == RP_OK && params == NULL) {
        st = rp_fail(RP_EINVAL, "%s: params is NULL", api);
    }
    if (st == RP_OK) {
        st = rp_task_find(api, task, &graph, &node);
    }
    if (st != RP_OK) {
        return st;
    }
    struct rp_task_seen seen;
    see(graph, node, &seen);
    rp_graph_hold_still(graph);
    st = check_has_params(api, graph, node, seen.type);
    if (st == RP_OK) {
        st = show(graph, node, &seen, params);
    }
    rp_graph_let_go(graph);
    rp_task_see_no_more(&seen);
    return st;
}

aclError aclmdlRITaskGetParams(aclmdlRITask task, aclmdlRITaskParams *params)
{
    return rp_acl(get_params(task, params));
}

static rp_status attribute_of(const char *api, const struct rp_graph *graph, uint32_t node,
        const struct rp_task_seen *seen, aclrtLaunchKernelAttrId id,
        aclrtLaunchKernelAttrValue *value)
{
    if (seen->type != ACL_MODEL_RI_TASK_KERNEL) {
        return rp_fail(RP_EPARAM, "%s: task %" PRIu32 " of graph %" PRIu32 " is no kernel", api,
                node, graph->id);
    }
    if (seen->insn.kind == RP_INSN_KERNEL) {
        return rp_launch_attr(seen->insn.u.kernel.launch, id, value);
    }
    const struct rp_launch plain = { 0 }; // a collective has no attributes, like a launch without
    return rp_launch_attr(&plain, id, value);
}

static rp_status get_attribute(
        aclmdlRITask task, aclrtLaunchKernelAttrId id, aclrtLaunchKernelAttrValue *value)
{
    static const char *const api = "aclmdlRIKernelTaskGetAttribute";
    struct rp_graph *graph = NULL;
    uint32_t node = 0;
    rp_status st = rp_enter();
    if (st == RP_OK && value == NULL) {
        st = rp_fail(RP_EINVAL, "%s: attrValue is NULL", api);
    }
    if (st == RP_OK) {
        st = rp_task_find(api, task, &graph, &node);
    }
    if (st != RP_OK) {
        return st;
    }
    struct rp_task_seen seen;
    see(graph, node, &seen);
    st = attribute_of(api, graph, node, &seen, id, value);
    rp_task_see_no_more(&seen);
    return st;
}

aclError aclmdlRIKernelTaskGetAttribute(
        aclmdlRITask task, aclrtLaunchKernelAttrId attrId, aclrtLaunchKernelAttrValue *attrValue)
{
    return rp_acl(get_attribute(task, attrId, attrValue));
}

// ---- changing ----

static bool is_idle(const struct rp_graph *graph)
{
    // acquire: pairs with rp_program_unref; replays and updates have left the program.
    return graph->program == NULL ||
           atomic_load_explicit(&graph->program->refs, memory_order_acquire) == 1;
}

/* Whether tasks can be changed now. capture_lock held. */
static rp_status check_changeable(const char *api, struct rp_graph *graph)
{
    // acquire: pairs with the stores of capture and build.
    const uint32_t state = atomic_load_explicit(&graph->state, memory_order_acquire);
    if (state != RP_GRAPH_READY && state != RP_GRAPH_UPDATING) {
        return rp_fail(RP_EUPDATE, "%s: graph %" PRIu32 " %s", api, graph->id,
                state == RP_GRAPH_FAULT ? "cannot be changed any more: an earlier change failed"
                                        : "is still being captured or built");
    }
    if (!is_idle(graph)) {
        return rp_fail(RP_EUPDATE,
                "%s: graph %" PRIu32 " is queued or running, or an update of a task group is "
                "queued; synchronise first",
                api, graph->id);
    }
    return RP_OK;
}

/* A change of a task that succeeded or failed. capture_lock held. */
static void changed(struct rp_graph *graph, rp_status st)
{
    // release: pairs with the loads in the calls that execute the graph.
    atomic_store_explicit(
            &graph->state, st == RP_OK ? RP_GRAPH_UPDATING : RP_GRAPH_FAULT, memory_order_release);
}

/* The configuration that `before` was launched with: the parameters of a task do not tell it. */
static const aclrtLaunchKernelCfg *keep_cfg(const struct rp_launch *before,
        aclrtLaunchKernelAttr attr[static RP_KERNEL_ATTRS], aclrtLaunchKernelCfg *cfg)
{
    const struct rp_launch_extra *extra = before->extra;
    *cfg = (aclrtLaunchKernelCfg){ .attrs = attr };
    for (uint32_t id = 0; extra != NULL && id < RP_KERNEL_ATTRS; id++) {
        if ((extra->attrs & 1u << id) != 0) {
            attr[cfg->numAttrs++] = (aclrtLaunchKernelAttr){ .id = (aclrtLaunchKernelAttrId)id,
                .value = extra->attr[id] };
        }
    }
    return cfg->numAttrs == 0 ? NULL : cfg;
}

/* A launch of the kernel that `params` names, in place of the task's. */
static rp_status make_launch(const struct rp_launch *before, const aclmdlRIKernelTaskParams *params,
        struct rp_launch **out)
{
    aclrtLaunchKernelAttr attr[RP_KERNEL_ATTRS];
    aclrtLaunchKernelCfg cfg;
    const bool same_grid =
            before->extra != NULL && before->extra->has_grid && params->numBlocks == before->blocks;
    const struct rp_launch_spec spec = {
        .func = params->funcHandle,
        .blocks = same_grid ? 0 : params->numBlocks,
        .cfg = params->cfg != NULL ? params->cfg : keep_cfg(before, attr, &cfg),
        .args = params->args,
        .args_bytes = params->argsSize,
        .grid = same_grid ? &before->extra->grid : NULL,
    };
    return rp_launch_replace(before, &spec, out);
}

static rp_status set_kernel(
        struct rp_graph *graph, uint32_t node, const aclmdlRIKernelTaskParams *params)
{
    struct rp_insn *recorded = &graph->node[node].insn;
    struct rp_insn *frozen = rp_graph_node_insn(graph, node);
    struct rp_insn *now = frozen == NULL ? recorded : frozen;
    struct rp_launch *launch = NULL;
    const rp_status st = make_launch(now->u.kernel.launch, params, &launch);
    if (st != RP_OK) {
        return st;
    }
    if (launch->function != now->u.kernel.launch->function) {
        rp_task_drop_info(graph, node);
    }
    rp_launch_unref(recorded->u.kernel.launch);
    recorded->u.kernel.launch = launch;
    if (frozen != NULL) {
        rp_launch_ref(launch);
        rp_launch_unref(frozen->u.kernel.launch);
        frozen->u.kernel.launch = launch;
    }
    return RP_OK;
}

static rp_status set_collective(const char *api, struct rp_graph *graph, uint32_t node,
        const aclmdlRIKernelTaskParams *params)
{
    struct rp_op *op = rp_graph_node_op(graph, node);
    if (params->funcHandle != reprise_collective_function((HcclCMDType)op->record.op)) {
        return rp_fail(RP_EPARAM,
                "%s: task %" PRIu32 " of graph %" PRIu32 " is a collective (%s), and its "
                "funcHandle cannot change",
                api, node, graph->id, rp_op_kind_name(op->record.op));
    }
    struct reprise_collective_args args;
    if (params->argsSize != sizeof args) {
        return rp_fail(RP_EPARAM,
                "%s: task %" PRIu32 " of graph %" PRIu32 " is a collective, whose arguments have "
                "%zu bytes; argsSize is %zu",
                api, node, graph->id, sizeof args, params->argsSize);
    }
    memcpy(&args, params->args, sizeof args); // it need not be aligned
    struct rp_op changed_op;
    const rp_status st = rp_collective_args_change(api, op, &args, &changed_op);
    if (st == RP_OK) {
        rp_expand_release(op);
        *op = changed_op;
    }
    return st;
}

static rp_status set_kernel_task(const char *api, struct rp_graph *graph, uint32_t node,
        const aclmdlRIKernelTaskParams *params)
{
    if (params->args == NULL || params->argsSize == 0) {
        return rp_fail(RP_EPARAM,
                "%s: the arguments of task %" PRIu32 " of graph %" PRIu32 " are %s", api, node,
                graph->id, params->args == NULL ? "a null pointer" : "0 bytes");
    }
    return graph->node[node].insn.kind == RP_INSN_COLLECTIVE
                   ? set_collective(api, graph, node, params)
                   : set_kernel(graph, node, params);
}

static rp_status set_value(struct rp_insn *insn, void *address, uint64_t value, uint32_t flag)
{
    rp_status st = rp_value_check_address(address);
    if (st == RP_OK && insn->kind == RP_INSN_VALUE_WAIT) {
        st = rp_value_check_wait(flag);
    }
    if (st == RP_OK) {
        insn->flag = (uint8_t)flag;
        insn->u.value.addr = address;
        insn->u.value.value = value;
    }
    return st;
}

static rp_status set_by_type(
        const char *api, struct rp_graph *graph, uint32_t node, const aclmdlRITaskParams *params)
{
    struct rp_insn *insn = &graph->node[node].insn;
    switch (params->type) {
    case ACL_MODEL_RI_TASK_KERNEL:
        return set_kernel_task(api, graph, node, &params->kernelTaskParams);
    case ACL_MODEL_RI_TASK_VALUE_WRITE:
        return set_value(
                insn, params->valueWriteTaskParams.devAddr, params->valueWriteTaskParams.value, 0);
    case ACL_MODEL_RI_TASK_VALUE_WAIT:
        return set_value(insn, params->valueWaitTaskParams.devAddr,
                params->valueWaitTaskParams.value, params->valueWaitTaskParams.flag);
    default:
        return rp_fail(RP_EPARAM,
                "%s: task %" PRIu32 " of graph %" PRIu32 " has type %d; only KERNEL, VALUE_WRITE "
                "and VALUE_WAIT can be changed",
                api, node, graph->id, (int)params->type);
    }
}

static rp_status check_params(const char *api, const struct rp_graph *graph, uint32_t node,
        const aclmdlRITaskParams *params)
{
    const aclmdlRITaskType type = rp_task_type(&graph->node[node]);
    if (params->type != type) {
        return rp_fail(RP_EPARAM,
                "%s: params.type is %d, and task %" PRIu32 " of graph %" PRIu32 " has type %d", api,
                (int)params->type, node, graph->id, (int)type);
    }
    if (params->taskGrp != NULL) {
        return rp_fail(RP_EPARAM,
                "%s: params.taskGrp of task %" PRIu32 " of graph %" PRIu32 " is not NULL; a task "
                "stays in its group",
                api, node, graph->id);
    }
    if (params->opInfoPtr != NULL && params->opInfoSize > RP_TASK_OP_INFO_MAX) {
        return rp_fail(RP_EPARAM, "%s: params.opInfoSize is %zu; at most %zu bytes are kept", api,
                params->opInfoSize, RP_TASK_OP_INFO_MAX);
    }
    return RP_OK;
}

/* capture_lock held. */
static rp_status set(
        const char *api, struct rp_graph *graph, uint32_t node, const aclmdlRITaskParams *params)
{
    rp_status st = check_params(api, graph, node, params);
    if (st == RP_OK) {
        st = set_by_type(api, graph, node, params);
    }
    if (st == RP_OK && params->opInfoPtr != NULL && params->opInfoSize != 0) {
        st = rp_task_set_info(graph, node, RP_TASK_OP_INFO, params->opInfoPtr, params->opInfoSize);
    }
    return st;
}

static rp_status set_params(aclmdlRITask task, const aclmdlRITaskParams *params)
{
    static const char *const api = "aclmdlRITaskSetParams";
    struct rp_graph *graph = NULL;
    uint32_t node = 0;
    rp_status st = rp_enter();
    if (st == RP_OK && params == NULL) {
        st = rp_fail(RP_EINVAL, "%s: params is NULL", api);
    }
    if (st == RP_OK) {
        st = rp_task_find(api, task, &graph, &node);
    }
    if (st != RP_OK) {
        return st;
    }
    rp_graph_hold_still(graph);
    st = check_changeable(api, graph);
    if (st == RP_OK) {
        st = set(api, graph, node, params);
        changed(graph, st);
    }
    rp_graph_let_go(graph);
    return st;
}

aclError aclmdlRITaskSetParams(aclmdlRITask task, aclmdlRITaskParams *params)
{
    return rp_acl(set_params(task, params));
}

static rp_status disable(aclmdlRITask task)
{
    static const char *const api = "aclmdlRITaskDisable";
    struct rp_graph *graph = NULL;
    uint32_t node = 0;
    rp_status st = rp_enter();
    if (st == RP_OK) {
        st = rp_task_find(api, task, &graph, &node);
    }
    if (st != RP_OK) {
        return st;
    }
    rp_graph_hold_still(graph);
    st = check_changeable(api, graph);
    if (st == RP_OK) {
        st = check_has_params(api, graph, node, rp_task_type(&graph->node[node]));
        graph->node[node].flags |= st == RP_OK ? RP_NODE_DISABLED : 0;
        changed(graph, st);
    }
    rp_graph_let_go(graph);
    return st;
}

aclError aclmdlRITaskDisable(aclmdlRITask task)
{
    return rp_acl(disable(task));
}

/* capture_lock held. */
static rp_status put_into_force(const char *api, struct rp_graph *graph)
{
    // acquire: pairs with the stores of capture and build.
    if (atomic_load_explicit(&graph->state, memory_order_acquire) == RP_GRAPH_READY) {
        return RP_OK;
    }
    rp_status st = check_changeable(api, graph);
    if (st == RP_OK) {
        rp_update_adopt(graph);
        st = rp_graph_freeze(graph);
    }
    if (st == RP_OK) {
        // release: pairs with the loads in the calls that execute the graph.
        atomic_store_explicit(&graph->state, RP_GRAPH_READY, memory_order_release);
    }
    return st;
}

static rp_status update(aclmdlRI model)
{
    static const char *const api = "aclmdlRIUpdate";
    struct rp_graph *graph = NULL;
    rp_status st = rp_graph_argument(api, model, &graph);
    if (st == RP_OK) {
        st = rp_graph_check_current(api, graph);
    }
    if (st == RP_OK) {
        st = rp_graph_check_root(api, graph, "is updated with it");
    }
    if (st != RP_OK) {
        return st;
    }
    rp_graph_hold_still(graph);
    st = put_into_force(api, graph);
    rp_graph_let_go(graph);
    return st;
}

aclError aclmdlRIUpdate(aclmdlRI modelRI)
{
    return rp_acl(update(modelRI));
}
