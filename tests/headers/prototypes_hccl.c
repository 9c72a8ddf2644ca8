/* Prototypes of the communication interface: a second declaration of every function, which the
 * compiler compares with the header's. */
#include <hccl/hccl.h>
#include <hccl/hccl_ex.h>
#include <hccl/hccl_rank_graph.h>
#include <hccl/hccl_res.h>
#include <hccl/hccl_sym_win.h>

#include "check.h"

#ifdef __cplusplus
extern "C" {
#endif

HcclResult HcclCommInitClusterInfo(const char *clusterInfo, uint32_t rank, HcclComm *comm);
HcclResult HcclCommInitClusterInfoConfig(
        const char *clusterInfo, uint32_t rank, HcclCommConfig *config, HcclComm *comm);
HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t rankNum, uint32_t *rankIds,
        uint64_t subCommId, uint32_t subCommRankId, HcclCommConfig *config, HcclComm *subComm);
HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo);
HcclResult HcclCommInitRootInfo(
        uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank, HcclComm *comm);
HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank,
        const HcclCommConfig *config, HcclComm *comm);
HcclResult HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms);
HcclResult HcclCommDestroy(HcclComm comm);
HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue);
HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue *configValue);
uint32_t HcclGetCommConfigCapability(void);
HcclResult HcclGetCommName(HcclComm comm, char *commName);
HcclResult HcclCommGetHandleWithName(const char *commName, HcclComm *comm);
HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize);
HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank);
HcclResult HcclConfigGetInfo(HcclComm comm, HcclConfigType cfgType, uint32_t infoLen, void *info);
const char *HcclGetErrorString(HcclResult code);
HcclResult HcclBarrier(HcclComm comm, aclrtStream stream);
HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType,
        HcclReduceOp op, HcclComm comm, aclrtStream stream);
HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType, uint32_t root,
        HcclComm comm, aclrtStream stream);
HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount,
        HcclDataType dataType, HcclReduceOp op, HcclComm comm, aclrtStream stream);
HcclResult HcclReduceScatterV(void *sendBuf, const void *sendCounts, const void *sendDispls,
        void *recvBuf, uint64_t recvCount, HcclDataType dataType, HcclReduceOp op, HcclComm comm,
        aclrtStream stream);
HcclResult HcclScatter(void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType,
        uint32_t root, HcclComm comm, aclrtStream stream);
HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount, HcclDataType dataType,
        HcclComm comm, aclrtStream stream);
HcclResult HcclAllGatherV(void *sendBuf, uint64_t sendCount, void *recvBuf, const void *recvCounts,
        const void *recvDispls, HcclDataType dataType, HcclComm comm, aclrtStream stream);
HcclResult HcclSend(void *sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank,
        HcclComm comm, aclrtStream stream);
HcclResult HcclRecv(void *recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank,
        HcclComm comm, aclrtStream stream);
HcclResult HcclAlltoAllVC(const void *sendBuf, const void *sendCountMatrix, HcclDataType sendType,
        const void *recvBuf, HcclDataType recvType, HcclComm comm, aclrtStream stream);
HcclResult HcclAlltoAllV(const void *sendBuf, const void *sendCounts, const void *sdispls,
        HcclDataType sendType, const void *recvBuf, const void *recvCounts, const void *rdispls,
        HcclDataType recvType, HcclComm comm, aclrtStream stream);
HcclResult HcclAlltoAll(const void *sendBuf, uint64_t sendCount, HcclDataType sendType,
        const void *recvBuf, uint64_t recvCount, HcclDataType recvType, HcclComm comm,
        aclrtStream stream);
HcclResult HcclReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType,
        HcclReduceOp op, uint32_t root, HcclComm comm, aclrtStream stream);
HcclResult HcclBatchSendRecv(
        HcclSendRecvItem *sendRecvInfo, uint32_t itemNum, HcclComm comm, aclrtStream stream);
HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult *asyncError);
HcclResult HcclCommSuspend(HcclComm comm);
HcclResult HcclCommResume(HcclComm comm);
HcclResult HcclCommGetStatus(const void *comm, HcclCommStatus *status);
HcclResult HcclCommWorkingDevNicSet(
        HcclComm comm, uint32_t *ranks, bool *useBackup, uint32_t nRanks);
HcclResult HcclGroupStart(void);
HcclResult HcclGroupEnd(void);
HcclResult HcclGroupStatusGet(bool *isGroupEnabled);
HcclResult HcclCommSetMemoryRange(
        HcclComm comm, void *baseVirPtr, size_t size, size_t alignment, uint64_t flags);
HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void *baseVirPtr);
HcclResult HcclCommActivateCommMemory(HcclComm comm, void *virPtr, size_t size, size_t offset,
        aclrtDrvMemHandle handle, uint64_t flags);
HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void *virPtr);
HcclResult HcclCommSymWinRegister(
        HcclComm comm, void *addr, uint64_t size, HcclCommSymWindow *winHandle, uint32_t flag);
HcclResult HcclCommSymWinDeregister(HcclCommSymWindow winHandle);
HcclResult HcclCommSymWinGet(
        HcclComm comm, void *ptr, size_t size, HcclCommSymWindow *winHandle, size_t *offset);
HcclResult HcclSymWinGetPeerPointer(
        HcclCommSymWindow winHandle, size_t offset, uint32_t peerRank, void **ptr);
HcclResult HcclCommRegister(HcclComm comm, void *addr, uint64_t size, void **handle, uint32_t flag);
HcclResult HcclCommDeregister(HcclComm comm, void *handle);
HcclResult HcclCommExchangeMem(
        HcclComm comm, void *windowHandle, uint32_t *peerRanks, uint32_t peerRankNum);
HcclResult HcclRankGraphGetLayers(HcclComm comm, uint32_t **netLayers, uint32_t *netLayerNum);
HcclResult HcclRankGraphGetRanksByLayer(
        HcclComm comm, uint32_t netLayer, uint32_t **ranks, uint32_t *rankNum);
HcclResult HcclRankGraphGetRankSizeByLayer(HcclComm comm, uint32_t netLayer, uint32_t *rankNum);
HcclResult HcclRankGraphGetTopoTypeByLayer(HcclComm comm, uint32_t netLayer, CommTopo *topoType);
HcclResult HcclRankGraphGetInstSizeListByLayer(
        HcclComm comm, uint32_t netLayer, uint32_t **instSizeList, uint32_t *listSize);
HcclResult HcclRankGraphGetLinks(HcclComm comm, uint32_t netLayer, uint32_t srcRank,
        uint32_t dstRank, CommLink **links, uint32_t *linkNum);
HcclResult HcclRankGraphGetTopoInstsByLayer(
        HcclComm comm, uint32_t netLayer, uint32_t **topoInsts, uint32_t *topoInstNum);
HcclResult HcclRankGraphGetTopoType(
        HcclComm comm, uint32_t netLayer, uint32_t topoInstId, CommTopo *topoType);
HcclResult HcclRankGraphGetRanksByTopoInst(
        HcclComm comm, uint32_t netLayer, uint32_t topoInstId, uint32_t **ranks, uint32_t *rankNum);
HcclResult HcclGetHeterogMode(HcclComm comm, HcclHeterogMode *mode);
HcclResult HcclRankGraphGetEndpointNum(
        HcclComm comm, uint32_t layer, uint32_t topoInstId, uint32_t *num);
HcclResult HcclRankGraphGetEndpointDesc(HcclComm comm, uint32_t layer, uint32_t topoInstId,
        uint32_t *descNum, EndpointDesc *endpointDesc);
HcclResult HcclRankGraphGetEndpointInfo(HcclComm comm, uint32_t rankId,
        const EndpointDesc *endpointDesc, EndpointAttr endpointAttr, uint32_t infoLen, void *info);
HcclResult HcclCommRegCommStateCallback(const char *regName, HcclCommStateCallback cb, void *args);
HcclResult HcclGetHcclBuffer(HcclComm comm, void **buffer, uint64_t *size);

#ifdef __cplusplus
}
#endif
