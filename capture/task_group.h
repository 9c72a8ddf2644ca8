#ifndef REPRISE_CAPTURE_TASK_GROUP_H
#define REPRISE_CAPTURE_TASK_GROUP_H

/*
 * Task groups: runs of kernels and collectives of one captured stream whose
 * arguments can be replaced later, without capturing again (task_update.h).
 *
 * A group is open between TaskGrpBegin and TaskGrpEnd; it belongs to the capture
 * then, and to the root graph afterwards. It may be empty. Everything here is
 * under the capture_lock of the context.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "capture/graph.h"

struct rp_capture;
struct rp_update; /* capture/task_update.h */

struct rp_task_group {
    struct rp_task_group *next; /* of the root graph's */
    struct rp_graph *graph;     /* root or sub-graph */
    uint32_t first, count;      /* nodes; they follow one another */
    uint32_t lane;
    struct rp_update *update; /* that a stream collects for it; NULL: none */
};

/**
 * rp_task_group_admit: while the capture has an open group: whether `task` on
 * `stream` may be recorded. RP_OK; RP_ETASKTYPE, kept as the group's failure;
 * RP_ETASKGROUPINTR, kept too, which invalidates the capture. capture_lock held.
 */
RP_MUST_USE rp_status rp_task_group_admit(
        struct rp_capture *capture, const struct rp_stream *stream, enum rp_insn_kind kind);

/** rp_task_group_of: the group that node `node` of `graph` is in, NULL: none. capture_lock held. */
struct rp_task_group *rp_task_group_of(const struct rp_graph *graph, uint32_t node);

/** rp_task_group_free_all: the groups of a root that is destroyed; updates that are collected for
 * them find out at their end. Takes the capture_lock if there are any. */
void rp_task_group_free_all(struct rp_graph *root);

#endif
