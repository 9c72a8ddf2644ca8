#ifndef REPRISE_CAPTURE_FREEZE_PLAN_H
#define REPRISE_CAPTURE_FREEZE_PLAN_H

/*
 * What freezing decides before anything is written: which nodes a program needs,
 * which edges between lanes, and how large it is.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "capture/graph.h"

#define RP_NONE UINT32_MAX

/* An edge that is no recorded event: it keeps collectives in call order. Lists of a node. */
struct rp_plan_link {
    uint32_t edge; /* of the part */
    uint32_t next; /* index into link; RP_NONE */
};

struct rp_plan_node {
    uint32_t next_in_lane; /* RP_NONE: the lane's last */
    uint32_t waits;        /* links to wait for before the node; RP_NONE */
    uint32_t signals;      /* links to signal after it; RP_NONE */
    uint32_t at;           /* where it was written */
    bool keep;
};

/* One graph of the tree: the root is part 0, sub-graph s of the program is part s + 1. */
struct rp_part {
    struct rp_graph *graph;
    struct rp_plan_node *node; /* [nodes] */
    uint32_t *lane_node;       /* [lanes]: first node; RP_NONE */
    uint32_t *edge_number;     /* [recorded edges]: number in the part; RP_NONE: dropped */
    uint32_t *cond_sub;        /* [conds]: the first sub-graph of each */
    struct rp_plan_link *link;
    uint32_t link_count, link_cap;
    uint32_t edges;                            /* of the part in the program */
    uint32_t lane_first, edge_first, op_first; /* where the part's lie in the program */
};

struct rp_plan {
    struct rp_part *part;
    uint32_t part_count;
    struct rp_comm **comm; /* [size.comms] */
    bool open_ended;
    struct rp_program_size size; /* insns: at most so many */
};

/** rp_plan_numbers: whether the node is a collective of sends and receives that another lane waits
 * for: the wait ends when they are numbered, which is an instruction of its own then. */
bool rp_plan_numbers(const struct rp_part *part, uint32_t node);

/** rp_plan_make: plan `root` and its sub-graphs. rp_plan_free is due after a failure too. */
RP_MUST_USE rp_status rp_plan_make(struct rp_graph *root, struct rp_plan *plan);
void rp_plan_free(struct rp_plan *plan);

#endif
