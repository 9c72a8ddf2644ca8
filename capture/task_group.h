#ifndef REPRISE_CAPTURE_TASK_GROUP_H
#define REPRISE_CAPTURE_TASK_GROUP_H

/*
 * Task groups: runs of kernels and collectives of one captured stream whose
 * arguments can be replaced later, without capturing again.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "capture/graph.h"

struct rp_capture;

struct rp_task_group {
    struct rp_task_group *next; /* of the root graph's */
    struct rp_graph *graph;     /* root or sub-graph */
    uint32_t first, count;      /* nodes; they follow one another */
    uint32_t lane;
    _Atomic uint32_t updating; /* a stream collects an update for it */
};

/** rp_task_group_admit: while the capture has an open group: whether `task` on `stream` may be
 * recorded. RP_OK; RP_ETASKTYPE, kept as the group's failure; RP_ETASKGROUP2 which invalidates the
 * capture. capture_lock held. */
RP_MUST_USE rp_status rp_task_group_admit(struct rp_capture *capture,
        const struct rp_stream *stream, enum rp_insn_kind kind);

/** rp_task_group_free_all: the groups of a root that is destroyed. */
void rp_task_group_free_all(struct rp_graph *root);

#endif
