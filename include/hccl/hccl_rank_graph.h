/* The rank graph: how the ranks of a communicator are laid out and linked.
 *
 * Layer 0 is within a server, layer 1 between servers. Lists belong to the
 * library, are never to be freed, and are valid until the next query of the
 * same communicator. */
#ifndef REPRISE_HCCL_RANK_GRAPH_H
#define REPRISE_HCCL_RANK_GRAPH_H

#include <stdint.h>
#include <string.h>

#include "hccl_res.h"

#ifdef __cplusplus
extern "C" {
#endif

#define COMM_LINK_MAGIC_WORD 0x0f0e0f0fU
#define COMM_LINK_VERSION 1U

/** Shapes of a layer. */
typedef enum CommTopo {
    COMM_TOPO_RESERVED = -1,
    COMM_TOPO_CLOS = 0,
    COMM_TOPO_1DMESH = 1,
    COMM_TOPO_910_93 = 2,
    COMM_TOPO_310P = 3,
    COMM_TOPO_A2AXSERVER = 4,
    COMM_TOPO_CUSTOM = 5,
} CommTopo;

/** Whether all ranks run on chips of one kind. */
typedef enum HcclHeterogMode {
    HCCL_HETEROG_MODE_INVALID = -1,
    HCCL_HETEROG_MODE_HOMOGENEOUS = 0,
    HCCL_HETEROG_MODE_MIX_A2_A3 = 1,
} HcclHeterogMode;

/** What HcclRankGraphGetEndpointInfo() tells of an endpoint; each value is a uint32_t. */
typedef enum EndpointAttr {
    ENDPOINT_ATTR_INVALID = -1,
    ENDPOINT_ATTR_BW_COEFF = 0,
    ENDPOINT_ATTR_DIE_ID = 1,
    ENDPOINT_ATTR_LOCATION = 2,
} EndpointAttr;

typedef uint32_t EndpointAttrBwCoeff;
typedef uint32_t EndpointAttrDieId;
typedef uint32_t EndpointAttrLocation;

/** A link between two ranks. */
typedef struct CommLink {
    CommAbiHeader header;
    EndpointDesc srcEndpointDesc;
    EndpointDesc dstEndpointDesc;
    union {
        uint8_t raws[128];
        __extension__ struct {
            CommProtocol linkProtocol;
            uint8_t hop;
        };
    } linkAttr;
} CommLink;

/** CommLinkInit: says in `linkNum` links that nothing is set. NULL with `linkNum` above 0 is
 * HCCL_E_PTR. */
static inline HcclResult CommLinkInit(CommLink *commLink, uint32_t linkNum)
{
    if (commLink == NULL) {
        return linkNum == 0 ? HCCL_SUCCESS : HCCL_E_PTR;
    }
    for (uint32_t i = 0; i < linkNum; ++i) {
        memset(&commLink[i], 0xff, sizeof(commLink[i]));
        commLink[i].header.version = COMM_LINK_VERSION;
        commLink[i].header.magicWord = COMM_LINK_MAGIC_WORD;
        commLink[i].header.size = (uint32_t)sizeof(commLink[i]);
        commLink[i].header.reserved = 0;
        (void)EndpointDescInit(&commLink[i].srcEndpointDesc, 1);
        (void)EndpointDescInit(&commLink[i].dstEndpointDesc, 1);
        commLink[i].linkAttr.linkProtocol = COMM_PROTOCOL_RESERVED;
        commLink[i].linkAttr.hop = 1;
    }
    return HCCL_SUCCESS;
}

/** The layers that there are. */
HCCL_FUNC_VISIBILITY HcclResult HcclRankGraphGetLayers(
        HcclComm comm, uint32_t **netLayers, uint32_t *netLayerNum);

/** The ranks that this rank shares a layer with, itself included. */
HCCL_FUNC_VISIBILITY HcclResult HcclRankGraphGetRanksByLayer(
        HcclComm comm, uint32_t netLayer, uint32_t **ranks, uint32_t *rankNum);

/** How many they are. */
HCCL_FUNC_VISIBILITY HcclResult HcclRankGraphGetRankSizeByLayer(
        HcclComm comm, uint32_t netLayer, uint32_t *rankNum);

/** The shape of a layer. */
HCCL_FUNC_VISIBILITY HcclResult HcclRankGraphGetTopoTypeByLayer(
        HcclComm comm, uint32_t netLayer, CommTopo *topoType);

/** How many ranks each instance of a layer has: of layer 0, each server. */
HCCL_FUNC_VISIBILITY HcclResult HcclRankGraphGetInstSizeListByLayer(
        HcclComm comm, uint32_t netLayer, uint32_t **instSizeList, uint32_t *listSize);

/** The links between two ranks on a layer. */
HCCL_FUNC_VISIBILITY HcclResult HcclRankGraphGetLinks(HcclComm comm, uint32_t netLayer,
        uint32_t srcRank, uint32_t dstRank, CommLink **links, uint32_t *linkNum);

/** The topology instances of a layer that this rank belongs to. */
HCCL_FUNC_VISIBILITY HcclResult HcclRankGraphGetTopoInstsByLayer(
        HcclComm comm, uint32_t netLayer, uint32_t **topoInsts, uint32_t *topoInstNum);

/** The shape of one. */
HCCL_FUNC_VISIBILITY HcclResult HcclRankGraphGetTopoType(
        HcclComm comm, uint32_t netLayer, uint32_t topoInstId, CommTopo *topoType);

/** Its ranks. */
HCCL_FUNC_VISIBILITY HcclResult HcclRankGraphGetRanksByTopoInst(
        HcclComm comm, uint32_t netLayer, uint32_t topoInstId, uint32_t **ranks, uint32_t *rankNum);

/** Whether all ranks run on chips of one kind. */
HCCL_FUNC_VISIBILITY HcclResult HcclGetHeterogMode(HcclComm comm, HcclHeterogMode *mode);

/** How many endpoints this rank has in an instance. */
HCCL_FUNC_VISIBILITY HcclResult HcclRankGraphGetEndpointNum(
        HcclComm comm, uint32_t layer, uint32_t topoInstId, uint32_t *num);

/** Those endpoints; `*descNum` goes in as room in the caller's array and comes out as how many
 * there are. */
HCCL_FUNC_VISIBILITY HcclResult HcclRankGraphGetEndpointDesc(HcclComm comm, uint32_t layer,
        uint32_t topoInstId, uint32_t *descNum, EndpointDesc *endpointDesc);

/** One attribute of an endpoint of `rankId`; `infoLen` is the size of the value. */
HCCL_FUNC_VISIBILITY HcclResult HcclRankGraphGetEndpointInfo(HcclComm comm, uint32_t rankId,
        const EndpointDesc *endpointDesc, EndpointAttr endpointAttr, uint32_t infoLen, void *info);

#ifdef __cplusplus
}
#endif

#endif
