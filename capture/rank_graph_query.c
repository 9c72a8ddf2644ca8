// The calls that ask for the rank graph: hccl_rank_graph.h.

#include <inttypes.h>
#include <string.h>

#include <hccl/hccl_rank_graph.h>

#include "base/error.h"
#include "capture/comm_extra.h"
#include "capture/rank_graph.h"
#include "replay/context.h"

// One query: its name, and what it is about once query_begin has been through.
struct query {
    const char *api;
    const char *answer[2]; // names of where it goes, for a NULL
    struct rp_comm *comm;
    struct rp_rank_graph *graph;
};

static rp_status find_graph(struct query *query)
{
    struct rp_comm_extra *extra = rp_comm_extra_of(query->comm);
    rp_status st = RP_OK;
    pthread_mutex_lock(&extra->lock);
    if (extra->rank_graph == NULL) {
        st = rp_rank_graph_create(query->comm, &extra->rank_graph);
    }
    query->graph = extra->rank_graph;
    pthread_mutex_unlock(&extra->lock);
    return st;
}

static void query_end(const struct query *query)
{
    rp_comm_call_end(query->comm);
}

// `first` and `second` are where the answer goes.
static rp_status query_begin(
        struct query *query, HcclComm handle, const void *first, const void *second)
{
    rp_status st = rp_enter();
    if (st == RP_OK && (first == NULL || second == NULL)) {
        st = rp_fail(RP_ENULL, "%s: %s is NULL", query->api, query->answer[first == NULL ? 0 : 1]);
    }
    st = st != RP_OK ? st : rp_comm_call_begin(query->api, handle, &query->comm);
    if (st != RP_OK) {
        return st;
    }
    st = find_graph(query);
    if (st != RP_OK) {
        query_end(query);
    }
    return st;
}

static rp_status check_layer(const struct query *query, uint32_t layer)
{
    return layer < query->graph->layers
                   ? RP_OK
                   : rp_fail(RP_EPARAM, "%s: netLayer is %" PRIu32 "; communicator %s has %s",
                             query->api, layer, query->comm->name,
                             query->graph->layers == 1 ? "layer 0 alone, its ranks share a node"
                                                       : "layers 0 and 1");
}

static rp_status check_instance(const struct query *query, uint32_t layer, uint32_t inst)
{
    const rp_status st = check_layer(query, layer);
    const uint32_t count = layer == 0 ? query->graph->nodes : 1;
    return st != RP_OK || inst < count
                   ? st
                   : rp_fail(RP_EPARAM,
                             "%s: topoInstId is %" PRIu32 "; layer %" PRIu32
                             " of communicator %s has %" PRIu32 " instances, from 0 on",
                             query->api, inst, layer, query->comm->name, count);
}

static rp_status check_rank(const struct query *query, const char *name, uint32_t rank)
{
    return rank < query->comm->size
                   ? RP_OK
                   : rp_fail(RP_EPARAM,
                             "%s: %s is %" PRIu32 ", none of the %" PRIu32 " ranks of %s",
                             query->api, name, rank, query->comm->size, query->comm->name);
}

static CommTopo topology(uint32_t layer)
{
    return layer == 0 ? COMM_TOPO_1DMESH : COMM_TOPO_CLOS;
}

// ---- layers ----

HcclResult HcclRankGraphGetLayers(HcclComm comm, uint32_t **netLayers, uint32_t *netLayerNum)
{
    struct query query = { .api = "HcclRankGraphGetLayers",
        .answer = { "netLayers", "netLayerNum" } };
    const rp_status st = query_begin(&query, comm, netLayers, netLayerNum);
    if (st == RP_OK) {
        *netLayers = query.graph->layer;
        *netLayerNum = query.graph->layers;
        query_end(&query);
    }
    return (HcclResult)rp_hccl(st);
}

HcclResult HcclRankGraphGetRanksByLayer(
        HcclComm comm, uint32_t netLayer, uint32_t **ranks, uint32_t *rankNum)
{
    struct query query = { .api = "HcclRankGraphGetRanksByLayer",
        .answer = { "ranks", "rankNum" } };
    rp_status st = query_begin(&query, comm, ranks, rankNum);
    if (st == RP_OK) {
        st = check_layer(&query, netLayer);
        if (st == RP_OK) {
            *ranks = rp_rank_graph_ranks(
                    query.graph, netLayer, query.graph->instance[netLayer], rankNum);
        }
        query_end(&query);
    }
    return (HcclResult)rp_hccl(st);
}

HcclResult HcclRankGraphGetRankSizeByLayer(HcclComm comm, uint32_t netLayer, uint32_t *rankNum)
{
    struct query query = { .api = "HcclRankGraphGetRankSizeByLayer",
        .answer = { "rankNum", "rankNum" } };
    rp_status st = query_begin(&query, comm, rankNum, rankNum);
    if (st == RP_OK) {
        st = check_layer(&query, netLayer);
        if (st == RP_OK) {
            (void)rp_rank_graph_ranks(
                    query.graph, netLayer, query.graph->instance[netLayer], rankNum);
        }
        query_end(&query);
    }
    return (HcclResult)rp_hccl(st);
}

HcclResult HcclRankGraphGetTopoTypeByLayer(HcclComm comm, uint32_t netLayer, CommTopo *topoType)
{
    struct query query = { .api = "HcclRankGraphGetTopoTypeByLayer",
        .answer = { "topoType", "topoType" } };
    rp_status st = query_begin(&query, comm, topoType, topoType);
    if (st == RP_OK) {
        st = check_layer(&query, netLayer);
        if (st == RP_OK) {
            *topoType = topology(netLayer);
        }
        query_end(&query);
    }
    return (HcclResult)rp_hccl(st);
}

HcclResult HcclRankGraphGetInstSizeListByLayer(
        HcclComm comm, uint32_t netLayer, uint32_t **instSizeList, uint32_t *listSize)
{
    struct query query = { .api = "HcclRankGraphGetInstSizeListByLayer",
        .answer = { "instSizeList", "listSize" } };
    rp_status st = query_begin(&query, comm, instSizeList, listSize);
    if (st == RP_OK) {
        st = check_layer(&query, netLayer);
        if (st == RP_OK) {
            *instSizeList = netLayer == 0 ? query.graph->inst_size : &query.graph->layer_1_size;
            *listSize = netLayer == 0 ? query.graph->nodes : 1;
        }
        query_end(&query);
    }
    return (HcclResult)rp_hccl(st);
}

// ---- links ----

static void write_link(
        const struct rp_comm *comm, uint32_t layer, uint32_t from, uint32_t to, CommLink *out)
{
    (void)CommLinkInit(out, 1);
    rp_rank_graph_endpoint(comm, layer, from, &out->srcEndpointDesc);
    rp_rank_graph_endpoint(comm, layer, to, &out->dstEndpointDesc);
    out->linkAttr.linkProtocol = out->srcEndpointDesc.protocol;
    out->linkAttr.hop = 1;
}

static rp_status get_links(const struct query *query, uint32_t layer, uint32_t from, uint32_t to,
        CommLink **links, uint32_t *count)
{
    struct rp_comm_extra *extra = rp_comm_extra_of(query->comm);
    rp_status st = check_layer(query, layer);
    st = st != RP_OK ? st : check_rank(query, "srcRank", from);
    st = st != RP_OK ? st : check_rank(query, "dstRank", to);
    if (st != RP_OK) {
        return st;
    }
    *links = NULL;
    *count = 0;
    if (rp_rank_graph_linked(query->comm, layer, from, to)) {
        pthread_mutex_lock(&extra->lock);
        write_link(query->comm, layer, from, to, &query->graph->link);
        pthread_mutex_unlock(&extra->lock);
        *links = &query->graph->link;
        *count = 1;
    }
    return RP_OK;
}

HcclResult HcclRankGraphGetLinks(HcclComm comm, uint32_t netLayer, uint32_t srcRank,
        uint32_t dstRank, CommLink **links, uint32_t *linkNum)
{
    struct query query = { .api = "HcclRankGraphGetLinks", .answer = { "links", "linkNum" } };
    rp_status st = query_begin(&query, comm, links, linkNum);
    if (st == RP_OK) {
        st = get_links(&query, netLayer, srcRank, dstRank, links, linkNum);
        query_end(&query);
    }
    return (HcclResult)rp_hccl(st);
}

// ---- instances ----

HcclResult HcclRankGraphGetTopoInstsByLayer(
        HcclComm comm, uint32_t netLayer, uint32_t **topoInsts, uint32_t *topoInstNum)
{
    struct query query = { .api = "HcclRankGraphGetTopoInstsByLayer",
        .answer = { "topoInsts", "topoInstNum" } };
    rp_status st = query_begin(&query, comm, topoInsts, topoInstNum);
    if (st == RP_OK) {
        st = check_layer(&query, netLayer);
        if (st == RP_OK) {
            *topoInsts = &query.graph->instance[netLayer];
            *topoInstNum = 1;
        }
        query_end(&query);
    }
    return (HcclResult)rp_hccl(st);
}

HcclResult HcclRankGraphGetTopoType(
        HcclComm comm, uint32_t netLayer, uint32_t topoInstId, CommTopo *topoType)
{
    struct query query = { .api = "HcclRankGraphGetTopoType",
        .answer = { "topoType", "topoType" } };
    rp_status st = query_begin(&query, comm, topoType, topoType);
    if (st == RP_OK) {
        st = check_instance(&query, netLayer, topoInstId);
        if (st == RP_OK) {
            *topoType = topology(netLayer);
        }
        query_end(&query);
    }
    return (HcclResult)rp_hccl(st);
}

HcclResult HcclRankGraphGetRanksByTopoInst(
        HcclComm comm, uint32_t netLayer, uint32_t topoInstId, uint32_t **ranks, uint32_t *rankNum)
{
    struct query query = { .api = "HcclRankGraphGetRanksByTopoInst",
        .answer = { "ranks", "rankNum" } };
    rp_status st = query_begin(&query, comm, ranks, rankNum);
    if (st == RP_OK) {
        st = check_instance(&query, netLayer, topoInstId);
        if (st == RP_OK) {
            *ranks = rp_rank_graph_ranks(query.graph, netLayer, topoInstId, rankNum);
        }
        query_end(&query);
    }
    return (HcclResult)rp_hccl(st);
}

HcclResult HcclGetHeterogMode(HcclComm comm, HcclHeterogMode *mode)
{
    struct query query = { .api = "HcclGetHeterogMode", .answer = { "mode", "mode" } };
    const rp_status st = query_begin(&query, comm, mode, mode);
    if (st == RP_OK) {
        *mode = HCCL_HETEROG_MODE_HOMOGENEOUS;
        query_end(&query);
    }
    return (HcclResult)rp_hccl(st);
}

// ---- endpoints: one in each instance that this rank belongs to ----

HcclResult HcclRankGraphGetEndpointNum(
        HcclComm comm, uint32_t layer, uint32_t topoInstId, uint32_t *num)
{
    struct query query = { .api = "HcclRankGraphGetEndpointNum", .answer = { "num", "num" } };
    rp_status st = query_begin(&query, comm, num, num);
    if (st == RP_OK) {
        st = check_instance(&query, layer, topoInstId);
        if (st == RP_OK) {
            *num = topoInstId == query.graph->instance[layer] ? 1 : 0;
        }
        query_end(&query);
    }
    return (HcclResult)rp_hccl(st);
}

static rp_status get_endpoints(const struct query *query, uint32_t layer, uint32_t inst,
        uint32_t *count, EndpointDesc *endpoints)
{
    const rp_status st = check_instance(query, layer, inst);
    if (st != RP_OK) {
        return st;
    }
    const uint32_t here = inst == query->graph->instance[layer] ? 1 : 0;
    if (*count < here) {
        return rp_fail(RP_EPARAM,
                "%s: *descNum is %" PRIu32 ", and instance %" PRIu32 " of layer %" PRIu32
                " has %" PRIu32 " endpoints of this rank",
                query->api, *count, inst, layer, here);
    }
    if (here != 0) {
        rp_rank_graph_endpoint(query->comm, layer, query->comm->rank, endpoints);
    }
    *count = here;
    return RP_OK;
}

HcclResult HcclRankGraphGetEndpointDesc(HcclComm comm, uint32_t layer, uint32_t topoInstId,
        uint32_t *descNum, EndpointDesc *endpointDesc)
{
    struct query query = { .api = "HcclRankGraphGetEndpointDesc",
        .answer = { "endpointDesc", "descNum" } };
    rp_status st = query_begin(&query, comm, endpointDesc, descNum);
    if (st == RP_OK) {
        st = get_endpoints(&query, layer, topoInstId, descNum, endpointDesc);
        query_end(&query);
    }
    return (HcclResult)rp_hccl(st);
}

// Whether it is what HcclRankGraphGetEndpointDesc or a link has told of that rank.
static bool is_endpoint(const struct query *query, uint32_t rank, const EndpointDesc *endpoint)
{
    for (uint32_t layer = 0; layer < query->graph->layers; layer++) {
        EndpointDesc own;
        rp_rank_graph_endpoint(query->comm, layer, rank, &own);
        if (endpoint->protocol == own.protocol && endpoint->commAddr.type == own.commAddr.type &&
                endpoint->commAddr.id == own.commAddr.id &&
                endpoint->loc.locType == own.loc.locType &&
                endpoint->loc.device.devPhyId == own.loc.device.devPhyId &&
                endpoint->loc.device.serverIdx == own.loc.device.serverIdx) {
            return true;
        }
    }
    return false;
}

static rp_status get_attribute(const struct query *query, uint32_t rank,
        const EndpointDesc *endpoint, EndpointAttr attribute, uint32_t bytes, void *out)
{
    // All links are alike; a device is one die; endpoints are on devices.
    static const uint32_t values[] = {
        [ENDPOINT_ATTR_BW_COEFF] = 1,
        [ENDPOINT_ATTR_DIE_ID] = 0,
        [ENDPOINT_ATTR_LOCATION] = ENDPOINT_LOC_TYPE_DEVICE,
    };
    const rp_status st = check_rank(query, "rankId", rank);
    if (st != RP_OK) {
        return st;
    }
    if ((int)attribute < 0 || (size_t)attribute >= RP_ARRAY_LENGTH(values)) {
        return rp_fail(RP_EPARAM, "%s: endpointAttr %d is not known", query->api, (int)attribute);
    }
    if (bytes != sizeof(values[0])) {
        return rp_fail(RP_EPARAM, "%s: infoLen is %" PRIu32 "; the answer has %zu bytes",
                query->api, bytes, sizeof(values[0]));
    }
    if (!is_endpoint(query, rank, endpoint)) {
        return rp_fail(RP_EPARAM, "%s: endpointDesc is no endpoint of rank %" PRIu32 " of %s",
                query->api, rank, query->comm->name);
    }
    memcpy(out, &values[attribute], sizeof(values[0]));
    return RP_OK;
}

HcclResult HcclRankGraphGetEndpointInfo(HcclComm comm, uint32_t rankId,
        const EndpointDesc *endpointDesc, EndpointAttr endpointAttr, uint32_t infoLen, void *info)
{
    struct query query = { .api = "HcclRankGraphGetEndpointInfo",
        .answer = { "info", "endpointDesc" } };
    rp_status st = query_begin(&query, comm, info, endpointDesc);
    if (st == RP_OK) {
        st = get_attribute(&query, rankId, endpointDesc, endpointAttr, infoLen, info);
        query_end(&query);
    }
    return (HcclResult)rp_hccl(st);
}
