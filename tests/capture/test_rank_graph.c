// The rank graph: of one node as a program sees it; of several nodes from a communicator whose
// members are told to be elsewhere before its first query.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>
#include <string.h>

#include <acl/acl.h>
#include <hccl/hccl.h>
#include <hccl/hccl_rank_graph.h>

#include "base/util.h"
#include "transport/comm.h"

enum { RANKS = 5 };

static HcclComm comms[RANKS];

#define ok(call) cr_assert(eq(int, (int)(call), 0), "%s", #call)
#define code(call, expected) cr_assert(eq(int, (int)(call), (expected)), "%s", #call)

static void setup(void)
{
    int32_t devices[RANKS];
    setenv("REPRISE_DEVICE_MEMORY", "32M", 1);
    setenv("HCCL_BUFFSIZE", "1", 1);
    for (int i = 0; i < RANKS; i++) {
        devices[i] = RANKS - i; // device ids are not ranks
        ok(aclrtSetDevice(devices[i]));
    }
    ok(HcclCommInitAll(RANKS, devices, comms));
}

static void teardown(void)
{
    for (int i = 0; i < RANKS; i++) {
        ok(HcclCommDestroy(comms[i]));
        ok(aclrtResetDevice(RANKS - i));
    }
}

TestSuite(rank_graph, .init = setup, .fini = teardown, .timeout = 60);

// Ranks 0, 3 on node 0; 1, 2, 4 on node 1. Put back before the communicators are destroyed.
static void on_two_nodes(bool two)
{
    static const uint32_t node[RANKS] = { 0, 1, 1, 0, 1 };
    for (int i = 0; i < RANKS; i++) {
        struct rp_comm *comm = comms[i];
        comm->nodes = two ? 2 : 1;
        for (int q = 0; q < RANKS; q++) {
            comm->member[q].node = two ? node[q] : 0;
        }
    }
}

static void assert_list(
        const uint32_t *list, uint32_t count, const uint32_t *expected, uint32_t expected_count)
{
    cr_assert(eq(u32, count, expected_count));
    for (uint32_t i = 0; i < count; i++) {
        cr_assert(eq(u32, list[i], expected[i]), "%u", i);
    }
}

#define list_is(list, count, ...)                               \
    assert_list(list, count, (const uint32_t[]){ __VA_ARGS__ }, \
            (uint32_t)(sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)))

Test(rank_graph, of_one_node_is_one_mesh)
{
    uint32_t *list = NULL;
    uint32_t count = 0;
    CommTopo topo = COMM_TOPO_RESERVED;
    HcclHeterogMode mode = HCCL_HETEROG_MODE_INVALID;
    ok(HcclRankGraphGetLayers(comms[2], &list, &count));
    list_is(list, count, 0);
    ok(HcclRankGraphGetRanksByLayer(comms[2], 0, &list, &count));
    list_is(list, count, 0, 1, 2, 3, 4);
    ok(HcclRankGraphGetRankSizeByLayer(comms[2], 0, &count));
    cr_assert(eq(u32, count, RANKS));
    ok(HcclRankGraphGetTopoTypeByLayer(comms[2], 0, &topo));
    cr_assert(eq(int, topo, COMM_TOPO_1DMESH));
    ok(HcclRankGraphGetInstSizeListByLayer(comms[2], 0, &list, &count));
    list_is(list, count, RANKS);
    ok(HcclRankGraphGetTopoInstsByLayer(comms[2], 0, &list, &count));
    list_is(list, count, 0);
    ok(HcclRankGraphGetRanksByTopoInst(comms[2], 0, 0, &list, &count));
    list_is(list, count, 0, 1, 2, 3, 4);
    ok(HcclGetHeterogMode(comms[2], &mode));
    cr_assert(eq(int, mode, HCCL_HETEROG_MODE_HOMOGENEOUS));
    code(HcclRankGraphGetRanksByLayer(comms[2], 1, &list, &count), HCCL_E_PARA);
    code(HcclRankGraphGetTopoTypeByLayer(comms[2], 1, &topo), HCCL_E_PARA);
}

Test(rank_graph, of_two_nodes_has_a_layer_between_them)
{
    uint32_t *list = NULL;
    uint32_t count = 0;
    CommTopo topo = COMM_TOPO_RESERVED;
    on_two_nodes(true);
    ok(HcclRankGraphGetLayers(comms[2], &list, &count));
    list_is(list, count, 0, 1);
    ok(HcclRankGraphGetRanksByLayer(comms[2], 0, &list, &count));
    list_is(list, count, 1, 2, 4);
    ok(HcclRankGraphGetRanksByLayer(comms[3], 0, &list, &count));
    list_is(list, count, 0, 3);
    ok(HcclRankGraphGetRanksByLayer(comms[2], 1, &list, &count));
    list_is(list, count, 0, 1, 2, 3, 4);
    ok(HcclRankGraphGetRankSizeByLayer(comms[2], 0, &count));
    cr_assert(eq(u32, count, 3));
    ok(HcclRankGraphGetRankSizeByLayer(comms[2], 1, &count));
    cr_assert(eq(u32, count, RANKS));
    ok(HcclRankGraphGetTopoTypeByLayer(comms[2], 0, &topo));
    cr_assert(eq(int, topo, COMM_TOPO_1DMESH));
    ok(HcclRankGraphGetTopoTypeByLayer(comms[2], 1, &topo));
    cr_assert(eq(int, topo, COMM_TOPO_CLOS));
    ok(HcclRankGraphGetInstSizeListByLayer(comms[2], 0, &list, &count));
    list_is(list, count, 2, 3);
    ok(HcclRankGraphGetInstSizeListByLayer(comms[2], 1, &list, &count));
    list_is(list, count, RANKS);
    on_two_nodes(false);
}

Test(rank_graph, of_two_nodes_has_an_instance_a_node)
{
    uint32_t *list = NULL;
    uint32_t count = 0;
    CommTopo topo = COMM_TOPO_RESERVED;
    on_two_nodes(true);
    ok(HcclRankGraphGetTopoInstsByLayer(comms[4], 0, &list, &count));
    list_is(list, count, 1);
    ok(HcclRankGraphGetTopoInstsByLayer(comms[4], 1, &list, &count));
    list_is(list, count, 0);
    ok(HcclRankGraphGetRanksByTopoInst(comms[4], 0, 0, &list, &count));
    list_is(list, count, 0, 3);
    ok(HcclRankGraphGetRanksByTopoInst(comms[4], 0, 1, &list, &count));
    list_is(list, count, 1, 2, 4);
    ok(HcclRankGraphGetRanksByTopoInst(comms[4], 1, 0, &list, &count));
    list_is(list, count, 0, 1, 2, 3, 4);
    ok(HcclRankGraphGetTopoType(comms[4], 0, 0, &topo));
    cr_assert(eq(int, topo, COMM_TOPO_1DMESH));
    ok(HcclRankGraphGetTopoType(comms[4], 1, 0, &topo));
    cr_assert(eq(int, topo, COMM_TOPO_CLOS));
    ok(HcclRankGraphGetEndpointNum(comms[4], 0, 0, &count));
    cr_assert(eq(u32, count, 0));
    ok(HcclRankGraphGetEndpointNum(comms[4], 0, 1, &count));
    cr_assert(eq(u32, count, 1));
    code(HcclRankGraphGetRanksByTopoInst(comms[4], 0, 2, &list, &count), HCCL_E_PARA);
    code(HcclRankGraphGetTopoType(comms[4], 1, 1, &topo), HCCL_E_PARA);
    code(HcclRankGraphGetEndpointNum(comms[4], 2, 0, &count), HCCL_E_PARA);
    on_two_nodes(false);
}

static void assert_link(
        const CommLink *link, CommProtocol protocol, uint32_t from, uint32_t to, uint32_t to_node)
{
    cr_assert(eq(u32, link->header.magicWord, COMM_LINK_MAGIC_WORD));
    cr_assert(eq(u32, link->header.version, COMM_LINK_VERSION));
    cr_assert(eq(u32, link->header.size, (uint32_t)sizeof(CommLink)));
    cr_assert(eq(int, link->linkAttr.linkProtocol, protocol));
    cr_assert(eq(int, link->linkAttr.hop, 1));
    cr_assert(eq(int, link->srcEndpointDesc.protocol, protocol));
    cr_assert(eq(int, link->srcEndpointDesc.commAddr.type, COMM_ADDR_TYPE_ID));
    cr_assert(eq(u32, link->srcEndpointDesc.commAddr.id, from));
    cr_assert(eq(u32, link->dstEndpointDesc.commAddr.id, to));
    cr_assert(eq(int, link->dstEndpointDesc.loc.locType, ENDPOINT_LOC_TYPE_DEVICE));
    cr_assert(eq(u32, link->dstEndpointDesc.loc.device.devPhyId, RANKS - to));
    cr_assert(eq(u32, link->dstEndpointDesc.loc.device.serverIdx, to_node));
}

Test(rank_graph, links_are_shared_memory_within_a_node_and_the_network_between)
{
    CommLink *links = NULL;
    uint32_t count = 9;
    on_two_nodes(true);
    ok(HcclRankGraphGetLinks(comms[0], 0, 1, 4, &links, &count)); // also of other ranks
    cr_assert(eq(u32, count, 1));
    assert_link(links, COMM_PROTOCOL_HCCS, 1, 4, 1);
    ok(HcclRankGraphGetLinks(comms[0], 1, 4, 3, &links, &count));
    cr_assert(eq(u32, count, 1));
    assert_link(links, COMM_PROTOCOL_ROCE, 4, 3, 0);
    const uint32_t none[][3] = { { 0, 0, 1 }, { 1, 0, 3 }, { 0, 2, 2 }, { 1, 2, 2 } };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(none); i++) {
        count = 9;
        ok(HcclRankGraphGetLinks(comms[0], none[i][0], none[i][1], none[i][2], &links, &count));
        cr_assert(eq(u32, count, 0), "%zu", i);
        cr_assert(eq(ptr, (void *)links, NULL), "%zu", i);
    }
    code(HcclRankGraphGetLinks(comms[0], 0, RANKS, 0, &links, &count), HCCL_E_PARA);
    code(HcclRankGraphGetLinks(comms[0], 0, 0, RANKS, &links, &count), HCCL_E_PARA);
    code(HcclRankGraphGetLinks(comms[0], 2, 0, 1, &links, &count), HCCL_E_PARA);
    on_two_nodes(false);
}

Test(rank_graph, endpoints_are_told_and_known_again)
{
    EndpointDesc endpoint[2];
    uint32_t count = 2;
    uint32_t value = 9;
    ok(HcclRankGraphGetEndpointNum(comms[1], 0, 0, &count));
    cr_assert(eq(u32, count, 1));
    count = 2;
    ok(HcclRankGraphGetEndpointDesc(comms[1], 0, 0, &count, endpoint));
    cr_assert(eq(u32, count, 1));
    cr_assert(eq(int, endpoint[0].protocol, COMM_PROTOCOL_HCCS));
    ok(HcclRankGraphGetEndpointInfo(comms[1], 1, endpoint, ENDPOINT_ATTR_BW_COEFF, 4, &value));
    cr_assert(eq(u32, value, 1));
    ok(HcclRankGraphGetEndpointInfo(comms[3], 1, endpoint, ENDPOINT_ATTR_DIE_ID, 4, &value));
    cr_assert(eq(u32, value, 0));
    value = 9;
    ok(HcclRankGraphGetEndpointInfo(comms[1], 1, endpoint, ENDPOINT_ATTR_LOCATION, 4, &value));
    cr_assert(eq(u32, value, ENDPOINT_LOC_TYPE_DEVICE));
    count = 0;
    code(HcclRankGraphGetEndpointDesc(comms[1], 0, 0, &count, endpoint), HCCL_E_PARA);
    code(HcclRankGraphGetEndpointDesc(comms[1], 0, 1, &count, endpoint), HCCL_E_PARA);
    code(HcclRankGraphGetEndpointInfo(comms[1], 2, endpoint, ENDPOINT_ATTR_DIE_ID, 4, &value),
            HCCL_E_PARA); // it is rank 1's
    code(HcclRankGraphGetEndpointInfo(comms[1], RANKS, endpoint, ENDPOINT_ATTR_DIE_ID, 4, &value),
            HCCL_E_PARA);
    code(HcclRankGraphGetEndpointInfo(comms[1], 1, endpoint, ENDPOINT_ATTR_DIE_ID, 8, &value),
            HCCL_E_PARA);
    code(HcclRankGraphGetEndpointInfo(comms[1], 1, endpoint, (EndpointAttr)3, 4, &value),
            HCCL_E_PARA);
    code(HcclRankGraphGetEndpointInfo(comms[1], 1, endpoint, ENDPOINT_ATTR_INVALID, 4, &value),
            HCCL_E_PARA);
}

Test(rank_graph, lists_outlive_other_queries)
{
    uint32_t *ranks = NULL;
    uint32_t *again = NULL;
    uint32_t count = 0;
    uint32_t more = 0;
    ok(HcclRankGraphGetRanksByLayer(comms[0], 0, &ranks, &count));
    ok(HcclRankGraphGetInstSizeListByLayer(comms[0], 0, &again, &more));
    ok(HcclRankGraphGetRanksByLayer(comms[0], 0, &again, &more));
    cr_assert(eq(ptr, (void *)again, (void *)ranks));
    list_is(ranks, count, 0, 1, 2, 3, 4);
}

Test(rank_graph, nowhere_to_answer_is_told_by_name)
{
    uint32_t *list = NULL;
    uint32_t count = 0;
    CommLink *links = NULL;
    CommTopo topo;
    HcclHeterogMode mode;
    EndpointDesc endpoint = { 0 };
    static char elsewhere[64];
    HcclComm comm = comms[0];
    code(HcclRankGraphGetLayers(NULL, &list, &count), HCCL_E_PTR);
    code(HcclRankGraphGetLayers(elsewhere, &list, &count), HCCL_E_PARA);
    code(HcclRankGraphGetLayers(comm, NULL, &count), HCCL_E_PTR);
    code(HcclRankGraphGetLayers(comm, &list, NULL), HCCL_E_PTR);
    const char *text = aclGetRecentErrMsg();
    cr_assert(
            ne(ptr, strstr(text, "HcclRankGraphGetLayers: netLayerNum is NULL"), NULL), "%s", text);
    code(HcclRankGraphGetRanksByLayer(comm, 0, NULL, &count), HCCL_E_PTR);
    code(HcclRankGraphGetRanksByLayer(comm, 0, &list, NULL), HCCL_E_PTR);
    code(HcclRankGraphGetRankSizeByLayer(comm, 0, NULL), HCCL_E_PTR);
    code(HcclRankGraphGetTopoTypeByLayer(comm, 0, NULL), HCCL_E_PTR);
    code(HcclRankGraphGetTopoTypeByLayer(NULL, 0, &topo), HCCL_E_PTR);
    code(HcclRankGraphGetInstSizeListByLayer(comm, 0, NULL, &count), HCCL_E_PTR);
    code(HcclRankGraphGetLinks(comm, 0, 0, 1, NULL, &count), HCCL_E_PTR);
    code(HcclRankGraphGetLinks(comm, 0, 0, 1, &links, NULL), HCCL_E_PTR);
    code(HcclRankGraphGetTopoInstsByLayer(comm, 0, NULL, &count), HCCL_E_PTR);
    code(HcclRankGraphGetTopoType(comm, 0, 0, NULL), HCCL_E_PTR);
    code(HcclRankGraphGetRanksByTopoInst(comm, 0, 0, &list, NULL), HCCL_E_PTR);
    code(HcclGetHeterogMode(comm, NULL), HCCL_E_PTR);
    code(HcclGetHeterogMode(NULL, &mode), HCCL_E_PTR);
    code(HcclRankGraphGetEndpointNum(comm, 0, 0, NULL), HCCL_E_PTR);
    code(HcclRankGraphGetEndpointDesc(comm, 0, 0, NULL, &endpoint), HCCL_E_PTR);
    code(HcclRankGraphGetEndpointDesc(comm, 0, 0, &count, NULL), HCCL_E_PTR);
    code(HcclRankGraphGetEndpointInfo(comm, 0, NULL, ENDPOINT_ATTR_DIE_ID, 4, &count), HCCL_E_PTR);
    code(HcclRankGraphGetEndpointInfo(comm, 0, &endpoint, ENDPOINT_ATTR_DIE_ID, 4, NULL),
            HCCL_E_PTR);
}
