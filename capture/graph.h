#ifndef REPRISE_CAPTURE_GRAPH_H
#define REPRISE_CAPTURE_GRAPH_H

/*
 * The task graph: what a capture or a build records and freeze turns into a
 * program.
 *
 * Lanes (one a captured or bound stream) of nodes in submission order; edges
 * between lanes come from captured event records and waits. Growable arrays
 * while recording; afterwards they stay, for introspection and updates. A
 * conditional's sub-graphs are graphs of their own that share the root's
 * program.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "replay/program.h"
#include "replay/stream.h"

enum rp_graph_kind {
    RP_GRAPH_CAPTURED = 0,
    RP_GRAPH_BUILT, /* aclmdlRIBuildBegin */
    RP_GRAPH_SUB,   /* of a conditional */
};

enum rp_graph_state {
    RP_GRAPH_CAPTURING = 0, /* or being built */
    RP_GRAPH_INVALIDATED,
    RP_GRAPH_READY,
    RP_GRAPH_UPDATING, /* tasks were changed; aclmdlRIUpdate is due */
    RP_GRAPH_FAULT,    /* a change failed; it cannot run any more */
    RP_GRAPH_EMPTY,    /* a sub-graph that nobody has captured into */
    RP_GRAPH_ENDED,    /* a sub-graph whose capture has ended */
};

#define RP_NODE_NOWHERE UINT32_MAX

/* Flags of a node. */
#define RP_NODE_DISABLED 1u /* aclmdlRITaskDisable: skipped by the next freeze */

struct rp_node {
    /* As submitted, what it names is held. COLLECTIVE: `index` of the op; EDGE_*: of the edge, and
     * the event; COND: of the conditional; LANE_*: of the lane. */
    struct rp_insn insn;
    uint32_t lane;
    uint32_t seq;   /* submission number within the root graph, from 1 */
    uint32_t at;    /* its instruction of the program; RP_NODE_NOWHERE: it needed none */
    uint32_t flags; /* RP_NODE_* */
};
static_assert(sizeof(struct rp_node) == 80, "with its instruction and op a task is 256 bytes");

struct rp_graph_lane {
    struct rp_stream *stream; /* the user's stream; NULL once it has left */
    int32_t stream_id;
    uint32_t node_count;
    uint32_t last_node;  /* index of its last node; UINT32_MAX: none */
    uint32_t fork_event; /* id of the event whose wait made it join; UINT32_MAX: none */
    bool reaches_origin;
    bool on_demand; /* BUILT: started by another lane only */
};

struct rp_graph_edge {
    uint32_t from_node; /* record */
    uint32_t waits;     /* waits bound to it so far */
};

struct rp_graph_cond {
    struct rp_cond *handle; /* the root's (capture/cond.h) */
    uint8_t type;           /* aclmdlRICondTaskType */
    uint32_t count;
    struct rp_graph **sub; /* [count], owned */
};

struct rp_capture;     /* capture/capture.h */
struct rp_graph_info;  /* capture/graph_info.h: name, callbacks, op infos */
struct rp_task_group;  /* capture/task_group.h */
struct rp_task_params; /* capture/task_params.h */

struct rp_graph {
    uint64_t magic;
    uint32_t id;
    uint8_t kind;            /* enum rp_graph_kind */
    bool op_borrowed;        /* `op` lies in the program */
    _Atomic uint32_t state;  /* enum rp_graph_state */
    _Atomic bool ending;     /* aclmdlRIDestroy waits for its runs: no more are queued */
    _Atomic uint32_t aborts; /* threads in aclmdlRIAbort */
    struct rp_context *context;
    struct rp_graph *root;      /* itself, but for a sub-graph */
    struct rp_capture *capture; /* while it is captured into; under capture_lock */

    struct rp_node *node;
    uint32_t node_count, node_cap;
    struct rp_op *op;
    uint32_t op_count, op_cap;
    struct rp_graph_lane *lane;
    uint32_t lane_count, lane_cap;
    struct rp_graph_edge *edge;
    uint32_t edge_count, edge_cap;
    struct rp_graph_cond *cond;
    uint32_t cond_count, cond_cap;

    /* Of the root alone. */
    uint32_t next_seq;
    uint32_t sub_count;            /* sub-graphs in all, of sub-graphs too */
    struct rp_program *program;    /* after freeze */
    struct rp_cond *conds;         /* list */
    struct rp_task_group *groups;  /* list */
    struct rp_graph_info *info;    /* NULL: none yet */
    struct rp_task_params *params; /* what aclmdlRITaskGetParams gave out; NULL: nothing */
};

/** rp_graph_create: empty graph of `context` (referenced; NULL only in tests), entered into the
 * handle registry. `root`: of the graph that a sub-graph belongs to; NULL for a root. */
RP_MUST_USE rp_status rp_graph_create(struct rp_context *context, enum rp_graph_kind kind,
        struct rp_graph *root, struct rp_graph **out);

/** rp_graph_from_handle: a live graph, NULL otherwise. */
struct rp_graph *rp_graph_from_handle(const void *handle);

/** rp_graph_from_id: the live graph with that id, NULL otherwise. */
struct rp_graph *rp_graph_from_id(uint32_t id);

/** rp_graph_destroy: leave the registry, drop the program (queued replays keep it), run the
 * destroy callbacks, free; with all sub-graphs, conditions and groups. */
void rp_graph_destroy(struct rp_graph *graph);

/** Building; under the context's capture_lock. RP_ENOMEM leaves the graph as it was. */
RP_MUST_USE rp_status rp_graph_add_lane(struct rp_graph *graph, struct rp_stream *stream,
        const struct rp_event *forked_by, uint32_t *lane);
RP_MUST_USE rp_status rp_graph_add_task(
        struct rp_graph *graph, uint32_t lane, const struct rp_task *task, uint32_t *node);

/**
 * rp_graph_add_edge: a captured record of `event` (NULL only in tests): a node of
 * `lane` that signals the new edge. rp_graph_add_wait: a node of `lane` that waits
 * for it.
 */
RP_MUST_USE rp_status rp_graph_add_edge(
        struct rp_graph *graph, uint32_t lane, struct rp_event *event, uint32_t *edge);
RP_MUST_USE rp_status rp_graph_add_wait(
        struct rp_graph *graph, uint32_t lane, struct rp_event *event, uint32_t edge);

/** rp_graph_add_cond: a conditional with `count` empty sub-graphs, at graph->cond[*index]; its node
 * is added by rp_graph_add_task. */
RP_MUST_USE rp_status rp_graph_add_cond(struct rp_graph *graph, struct rp_cond *handle,
        uint8_t type, uint32_t count, uint32_t *index);

/** rp_graph_node_op: the op of a COLLECTIVE node. */
static inline struct rp_op *rp_graph_node_op(struct rp_graph *graph, uint32_t node)
{
    return &graph->op[graph->node[node].insn.index];
}

/** rp_graph_node_insn: the node's instruction in the program; NULL: it has none. */
static inline struct rp_insn *rp_graph_node_insn(struct rp_graph *graph, uint32_t node)
{
    const uint32_t at = graph->node[node].at;
    return at == RP_NODE_NOWHERE || graph->root->program == NULL ? NULL
                                                                 : &graph->root->program->insn[at];
}

/**
 * rp_graph_freeze: addresses, ops, expansion are fixed; collectives of one
 * communicator are chained in call order across lanes; edges nobody waits on,
 * and those that lane order implies, are dropped; adjacent copies merge;
 * everything, sub-graphs too, is flattened into graph->program, which replaces
 * the one before. `graph` is a root; no replay of it is queued or running.
 * RP_ENOMEM leaves all as it was.
 */
RP_MUST_USE rp_status rp_graph_freeze(struct rp_graph *graph);

#endif
