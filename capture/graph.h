#ifndef REPRISE_CAPTURE_GRAPH_H
#define REPRISE_CAPTURE_GRAPH_H

/*
 * The task graph: what a capture records and freeze turns into a program.
 *
 * Lanes (one a captured stream) of nodes in submission order; edges between
 * lanes come from captured event records and waits. Growable arrays while
 * capturing, read-only afterwards.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "replay/program.h"
#include "replay/stream.h"

enum rp_graph_state {
    RP_GRAPH_CAPTURING = 0,
    RP_GRAPH_INVALIDATED,
    RP_GRAPH_READY,
    RP_GRAPH_FAULT,
};

struct rp_node {
    struct rp_insn insn; /* COLLECTIVE: index into ops; EDGE_*: index of the edge */
    uint32_t lane;
    uint32_t seq; /* submission number within the graph, from 1 */
};

struct rp_graph_lane {
    struct rp_stream *stream; /* the captured user stream; NULL after the end */
    int32_t stream_id;
    uint32_t node_count;
    uint32_t last_node; /* index of its last node; UINT32_MAX: none */
    void *forked_by;    /* event whose wait made it join; NULL: the origin */
    bool reaches_origin;
};

struct rp_graph_edge {
    uint32_t from_node; /* record */
    uint32_t waits;     /* waits bound to it so far */
};

struct rp_graph {
    uint64_t magic;
    uint32_t id;
    _Atomic uint32_t state; /* enum rp_graph_state */
    struct rp_context *context;

    struct rp_node *node;
    uint32_t node_count, node_cap;
    struct rp_op *op;
    uint32_t op_count, op_cap;
    struct rp_graph_lane *lane;
    uint32_t lane_count, lane_cap;
    struct rp_graph_edge *edge;
    uint32_t edge_count, edge_cap;

    struct rp_program *program; /* after freeze */
};

/** rp_graph_create: empty graph of `context` (referenced; NULL only in tests), entered into the
 * handle registry. */
RP_MUST_USE rp_status rp_graph_create(struct rp_context *context, struct rp_graph **out);

/** rp_graph_from_handle: a live graph, NULL otherwise. */
struct rp_graph *rp_graph_from_handle(const void *handle);

/** rp_graph_destroy: leave the registry, drop the program (queued replays keep it), free. */
void rp_graph_destroy(struct rp_graph *graph);

/** Building; under the context's capture_lock. RP_ENOMEM leaves the graph as it was. */
RP_MUST_USE rp_status rp_graph_add_lane(
        struct rp_graph *graph, struct rp_stream *stream, void *forked_by, uint32_t *lane);
RP_MUST_USE rp_status rp_graph_add_task(
        struct rp_graph *graph, uint32_t lane, const struct rp_task *task, uint32_t *node);

/**
 * rp_graph_add_edge: a captured event record: a node of `lane` that signals the
 * new edge. rp_graph_add_wait: a node of `lane` that waits for it.
 */
RP_MUST_USE rp_status rp_graph_add_edge(struct rp_graph *graph, uint32_t lane, uint32_t *edge);
RP_MUST_USE rp_status rp_graph_add_wait(struct rp_graph *graph, uint32_t lane, uint32_t edge);

/** rp_graph_drop_recording: free nodes, ops, lanes and edges with their references. */
void rp_graph_drop_recording(struct rp_graph *graph);

/**
 * rp_graph_freeze: addresses, ops, expansion are fixed; collectives of one
 * communicator are chained in call order across lanes; edges nobody waits on,
 * and those that lane order implies, are dropped; adjacent copies merge;
 * everything is flattened into graph->program. The recording stays as it is.
 */
RP_MUST_USE rp_status rp_graph_freeze(struct rp_graph *graph);

#endif
