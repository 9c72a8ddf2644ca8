#ifndef REPRISE_CAPTURE_TASK_H
#define REPRISE_CAPTURE_TASK_H

/*
 * Handles of tasks and of captured streams, as introspection gives them out.
 *
 * A task handle is a number, not a pointer: the id of the graph (of a root or of
 * a sub-graph) in the upper half, the node's index plus 1 in the lower. Nothing
 * is allocated for it, and one that outlives its graph is recognised, since ids
 * are not used again. A stream handle has the lane in the lower half and bit 31
 * set, which no node's index reaches.
 */

#include <stdint.h>

#include <acl/acl_rt.h>

#include "base/status.h"
#include "capture/graph.h"

/** rp_task_handle: the handle of node `node` of `graph`; never NULL. */
void *rp_task_handle(const struct rp_graph *graph, uint32_t node);

/** rp_task_locate: the node of a live graph that `handle` names, in whatever state the graph is;
 * false when there is none. */
bool rp_task_locate(const void *handle, struct rp_graph **graph, uint32_t *node);

/**
 * rp_task_find: the task that a user's handle names. `api` is the call's name for
 * the sentence.
 *
 *   RP_EINVAL      `handle` is NULL
 *   RP_EHANDLE     it names no task, or one of a graph that was destroyed
 *   RP_EGRAPHCTX   the graph is of another context than the current one
 *   RP_ENOTSUP     the task is of a conditional's sub-graph
 *
 * The graph may be in any state: tasks can be looked at while it is still captured
 * (under the context's capture_lock), and a call that changes one asks for the
 * states that it needs itself.
 *
 * Threads: as the graph itself: it must not be destroyed meanwhile.
 */
RP_MUST_USE rp_status rp_task_find(
        const char *api, void *handle, struct rp_graph **graph, uint32_t *node);

/** rp_task_type: what aclmdlRITaskGetType says of a node. A collective is one KERNEL task, whatever
 * its expansion; everything without parameters of its own is DEFAULT. */
aclmdlRITaskType rp_task_type(const struct rp_node *node);

/* A task as it is at one moment. */
struct rp_task_seen {
    struct rp_insn insn; /* of a kernel: its launch is referenced */
    struct rp_op op;     /* of a collective */
    aclmdlRITaskType type;
};

/**
 * rp_task_see: a kernel or collective with the arguments that it would run with now; other tasks
 * as recorded. Updates change a program in stream order, under the baton, which is taken
 * for the moment where there is a program. Give it up with rp_task_see_no_more().
 *
 * Threads: without the capture_lock, but for a graph that is still recorded.
 */
void rp_task_see(struct rp_graph *graph, uint32_t node, struct rp_task_seen *seen);
void rp_task_see_no_more(const struct rp_task_seen *seen);

/** rp_task_stream: the handle of lane `lane` of `graph`; never NULL. */
void *rp_task_stream(const struct rp_graph *graph, uint32_t lane);

/** rp_task_stream_locate: the lane of a live graph that `handle` names; false when there is none,
 * as for the handle of a user's own stream. */
bool rp_task_stream_locate(const void *handle, struct rp_graph **graph, uint32_t *lane);

#endif
