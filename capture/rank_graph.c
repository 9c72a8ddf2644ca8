// Making the rank graph of a communicator.

#include "capture/rank_graph.h"

#include "base/alloc.h"
#include "base/error.h"
#include "transport/comm.h"

void rp_rank_graph_free(struct rp_rank_graph *graph)
{
    if (graph == NULL) {
        return;
    }
    rp_free(graph->ranks);
    rp_free(graph->by_node);
    rp_free(graph->first);
    rp_free(graph->inst_size);
    rp_free(graph);
}

static void fill(struct rp_rank_graph *graph, const struct rp_comm *comm)
{
    for (uint32_t q = 0; q < graph->size; q++) {
        graph->ranks[q] = q;
        graph->inst_size[comm->member[q].node]++;
    }
    for (uint32_t n = 0; n < graph->nodes; n++) {
        graph->first[n + 1] = graph->first[n] + graph->inst_size[n];
    }
    for (uint32_t n = 0, at = 0; n < graph->nodes; n++) {
        for (uint32_t q = 0; q < graph->size; q++) {
            if (comm->member[q].node == n) {
                graph->by_node[at++] = q;
            }
        }
    }
}

rp_status rp_rank_graph_create(const struct rp_comm *comm, struct rp_rank_graph **out)
{
    struct rp_rank_graph *graph = rp_calloc(1, sizeof(*graph));
    if (graph != NULL) {
        *graph = (struct rp_rank_graph){
            .layer = { 0, 1 },
            .layers = comm->nodes > 1 ? 2 : 1,
            .nodes = comm->nodes,
            .size = comm->size,
            .node = comm->member[comm->rank].node,
            .ranks = rp_calloc(comm->size, sizeof(*graph->ranks)),
            .by_node = rp_calloc(comm->size, sizeof(*graph->by_node)),
            .first = rp_calloc((size_t)comm->nodes + 1, sizeof(*graph->first)),
            .inst_size = rp_calloc(comm->nodes, sizeof(*graph->inst_size)),
            .instance = { comm->member[comm->rank].node, 0 },
            .layer_1_size = comm->size,
        };
    }
    if (graph == NULL || graph->ranks == NULL || graph->by_node == NULL || graph->first == NULL ||
            graph->inst_size == NULL) {
        rp_rank_graph_free(graph);
        return rp_fail(RP_ENOMEM, "no memory for the rank graph of communicator %s", comm->name);
    }
    fill(graph, comm);
    *out = graph;
    return RP_OK;
}

uint32_t *rp_rank_graph_ranks(
        struct rp_rank_graph *graph, uint32_t layer, uint32_t inst, uint32_t *count)
{
    if (layer == 1) {
        *count = graph->size;
        return graph->ranks;
    }
    *count = graph->inst_size[inst];
    return &graph->by_node[graph->first[inst]];
}

// A device has no address of its own, neither in its memory nor where its process happens to listen
// for a peer; what tells two endpoints of a communicator apart is the rank.
void rp_rank_graph_endpoint(
        const struct rp_comm *comm, uint32_t layer, uint32_t rank, EndpointDesc *out)
{
    const uint32_t device_id = (uint32_t)comm->member[rank].device_id;
    (void)EndpointDescInit(out, 1);
    out->protocol = layer == 0 ? COMM_PROTOCOL_HCCS : COMM_PROTOCOL_ROCE;
    out->commAddr.type = COMM_ADDR_TYPE_ID;
    out->commAddr.id = rank;
    out->loc.locType = ENDPOINT_LOC_TYPE_DEVICE;
    out->loc.device = (EndpointLocDevice){
        .devPhyId = device_id,
        .superDevId = device_id,
        .serverIdx = comm->member[rank].node,
        .superPodIdx = 0,
    };
}

bool rp_rank_graph_linked(const struct rp_comm *comm, uint32_t layer, uint32_t a, uint32_t b)
{
    const bool together = comm->member[a].node == comm->member[b].node;
    return a != b && together == (layer == 0);
}
