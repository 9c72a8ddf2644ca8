/* Sizes and offsets of the structs of the communication interface, on a 64-bit machine. */
#include <hccl/hccl.h>
#include <hccl/hccl_rank_graph.h>

#include "check.h"

CHECK_SIZE(HcclRootInfo, 4108);
CHECK_SIZE(HcclConfigValue, 4);

CHECK_SIZE(HcclSendRecvItem, 32);
CHECK_OFFSET(HcclSendRecvItem, sendRecvType, 0);
CHECK_OFFSET(HcclSendRecvItem, buf, 8);
CHECK_OFFSET(HcclSendRecvItem, count, 16);
CHECK_OFFSET(HcclSendRecvItem, dataType, 24);
CHECK_OFFSET(HcclSendRecvItem, remoteRank, 28);

CHECK_SIZE(HcclCommConfig, 2248);
CHECK_OFFSET(HcclCommConfig, reserved, 0);
CHECK_MEMBER_SIZE(HcclCommConfig, reserved, 24);
CHECK_OFFSET(HcclCommConfig, hcclBufferSize, 24);
CHECK_MEMBER_SIZE(HcclCommConfig, hcclBufferSize, 4);
CHECK_OFFSET(HcclCommConfig, hcclDeterministic, 28);
CHECK_MEMBER_SIZE(HcclCommConfig, hcclDeterministic, 4);
CHECK_OFFSET(HcclCommConfig, hcclCommName, 32);
CHECK_MEMBER_SIZE(HcclCommConfig, hcclCommName, 128);
CHECK_OFFSET(HcclCommConfig, hcclUdi, 160);
CHECK_MEMBER_SIZE(HcclCommConfig, hcclUdi, 128);
CHECK_OFFSET(HcclCommConfig, hcclOpExpansionMode, 288);
CHECK_MEMBER_SIZE(HcclCommConfig, hcclOpExpansionMode, 4);
CHECK_OFFSET(HcclCommConfig, hcclRdmaTrafficClass, 292);
CHECK_MEMBER_SIZE(HcclCommConfig, hcclRdmaTrafficClass, 4);
CHECK_OFFSET(HcclCommConfig, hcclRdmaServiceLevel, 296);
CHECK_MEMBER_SIZE(HcclCommConfig, hcclRdmaServiceLevel, 4);
CHECK_OFFSET(HcclCommConfig, hcclWorldRankID, 300);
CHECK_MEMBER_SIZE(HcclCommConfig, hcclWorldRankID, 4);
CHECK_OFFSET(HcclCommConfig, hcclJobID, 304);
CHECK_MEMBER_SIZE(HcclCommConfig, hcclJobID, 8);
CHECK_OFFSET(HcclCommConfig, aclGraphZeroCopyEnable, 312);
CHECK_MEMBER_SIZE(HcclCommConfig, aclGraphZeroCopyEnable, 1);
CHECK_OFFSET(HcclCommConfig, hcclExecTimeOut, 316);
CHECK_MEMBER_SIZE(HcclCommConfig, hcclExecTimeOut, 4);
CHECK_OFFSET(HcclCommConfig, hcclAlgo, 320);
CHECK_MEMBER_SIZE(HcclCommConfig, hcclAlgo, 1600);
CHECK_OFFSET(HcclCommConfig, hcclRetryEnable, 1920);
CHECK_MEMBER_SIZE(HcclCommConfig, hcclRetryEnable, 50);
CHECK_OFFSET(HcclCommConfig, hcclRetryParams, 1970);
CHECK_MEMBER_SIZE(HcclCommConfig, hcclRetryParams, 128);
CHECK_OFFSET(HcclCommConfig, hcclBufferName, 2098);
CHECK_MEMBER_SIZE(HcclCommConfig, hcclBufferName, 128);
CHECK_OFFSET(HcclCommConfig, hcclQos, 2228);
CHECK_MEMBER_SIZE(HcclCommConfig, hcclQos, 4);
CHECK_OFFSET(HcclCommConfig, hcclSymWinMaxMemSizePerRank, 2232);
CHECK_MEMBER_SIZE(HcclCommConfig, hcclSymWinMaxMemSizePerRank, 8);
CHECK_OFFSET(HcclCommConfig, hcclChannelSqDepth, 2240);

CHECK_SIZE(CommAbiHeader, 16);
CHECK_OFFSET(CommAbiHeader, magicWord, 4);
CHECK_OFFSET(CommAbiHeader, size, 8);
CHECK_SIZE(CommAddr, 40);
CHECK_OFFSET(CommAddr, addr, 4);
CHECK_OFFSET(CommAddr, addr6, 4);
CHECK_OFFSET(CommAddr, id, 4);
CHECK_OFFSET(CommAddr, eid, 4);
CHECK_SIZE(EndpointLoc, 64);
CHECK_OFFSET(EndpointLoc, device, 4);
CHECK_OFFSET(EndpointLoc, device.superDevId, 8);
CHECK_OFFSET(EndpointLoc, device.serverIdx, 12);
CHECK_OFFSET(EndpointLoc, device.superPodIdx, 16);
CHECK_OFFSET(EndpointLoc, host.id, 4);
CHECK_SIZE(EndpointDesc, 160);
CHECK_OFFSET(EndpointDesc, commAddr, 4);
CHECK_OFFSET(EndpointDesc, loc, 44);
CHECK_OFFSET(EndpointDesc, raws, 108);
CHECK_SIZE(CommLink, 464);
CHECK_OFFSET(CommLink, srcEndpointDesc, 16);
CHECK_OFFSET(CommLink, dstEndpointDesc, 176);
CHECK_OFFSET(CommLink, linkAttr, 336);
CHECK_OFFSET(CommLink, linkAttr.linkProtocol, 336);
CHECK_OFFSET(CommLink, linkAttr.hop, 340);
