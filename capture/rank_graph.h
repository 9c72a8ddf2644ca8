#ifndef REPRISE_CAPTURE_RANK_GRAPH_H
#define REPRISE_CAPTURE_RANK_GRAPH_H

/*
 * The rank graph: what the HcclRankGraph calls tell of a communicator's layout.
 *
 *     layer 0   within a node: an instance a node, full mesh of shared memory
 *     layer 1   between nodes, only where there are some: one instance, Clos
 *
 * It never changes, so it is made at the first query and kept: the lists that are
 * given out stay valid until the communicator ends, and threads may query at once.
 * Only a link is written anew by the next HcclRankGraphGetLinks.
 */

#include <stdbool.h>
#include <stdint.h>

#include <hccl/hccl_rank_graph.h>

#include "base/status.h"

struct rp_comm;

struct rp_rank_graph {
    uint32_t layer[2]; /* 0, 1 */
    uint32_t layers;   /* how many there are */
    uint32_t nodes;
    uint32_t size;
    uint32_t node;         /* of this rank */
    uint32_t *ranks;       /* [size]: 0, 1, 2 ... */
    uint32_t *by_node;     /* [size]: rank numbers, node by node, ascending in each */
    uint32_t *first;       /* [nodes + 1]: where a node begins in by_node */
    uint32_t *inst_size;   /* [nodes] ranks of each node */
    uint32_t instance[2];  /* of each layer: the one this rank belongs to */
    uint32_t layer_1_size; /* what the list of layer 1's sizes consists of */
    CommLink link;         /* as given out last */
};

/** rp_rank_graph_create: from members and their nodes. RP_ENOMEM. */
RP_MUST_USE rp_status rp_rank_graph_create(const struct rp_comm *comm, struct rp_rank_graph **out);
void rp_rank_graph_free(struct rp_rank_graph *graph);

/** rp_rank_graph_ranks: the ranks of instance `inst` of `layer`, and how many; both exist. */
uint32_t *rp_rank_graph_ranks(
        struct rp_rank_graph *graph, uint32_t layer, uint32_t inst, uint32_t *count);

/** rp_rank_graph_endpoint: the endpoint of rank `rank` on `layer`. */
void rp_rank_graph_endpoint(
        const struct rp_comm *comm, uint32_t layer, uint32_t rank, EndpointDesc *out);

/** rp_rank_graph_linked: whether two ranks are neighbours on `layer`: on 0 those of one node, on 1
 * those of two. */
bool rp_rank_graph_linked(const struct rp_comm *comm, uint32_t layer, uint32_t a, uint32_t b);

#endif
