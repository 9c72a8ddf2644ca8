// The operators of hccl.h, and the barrier: each call becomes an rp_op_call.

#include <hccl/hccl.h>

#include "base/error.h"
#include "capture/op.h"
#include "kernels/dtype.h"

HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType,
        HcclReduceOp op, HcclComm comm, aclrtStream stream)
{
    const struct rp_op_call call = {
        .api = "HcclAllReduce",
        .op = RP_OP_ALL_REDUCE,
        .send = sendBuf,
        .recv = recvBuf,
        .count = count,
        .dtype = (int)dataType,
        .reduce = (int)op,
        .comm = comm,
        .stream = stream,
    };
    return (HcclResult)rp_hccl(rp_op_submit(&call));
}

HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount,
        HcclDataType dataType, HcclReduceOp op, HcclComm comm, aclrtStream stream)
{
    const struct rp_op_call call = {
        .api = "HcclReduceScatter",
        .op = RP_OP_REDUCE_SCATTER,
        .send = sendBuf,
        .recv = recvBuf,
        .count = recvCount,
        .dtype = (int)dataType,
        .reduce = (int)op,
        .comm = comm,
        .stream = stream,
    };
    return (HcclResult)rp_hccl(rp_op_submit(&call));
}

HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount, HcclDataType dataType,
        HcclComm comm, aclrtStream stream)
{
    const struct rp_op_call call = {
        .api = "HcclAllGather",
        .op = RP_OP_ALL_GATHER,
        .send = sendBuf,
        .recv = recvBuf,
        .count = sendCount,
        .dtype = (int)dataType,
        .reduce = -1,
        .comm = comm,
        .stream = stream,
    };
    return (HcclResult)rp_hccl(rp_op_submit(&call));
}

HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType, uint32_t root,
        HcclComm comm, aclrtStream stream)
{
    const struct rp_op_call call = {
        .api = "HcclBroadcast",
        .op = RP_OP_BROADCAST,
        .send = buf,
        .recv = buf,
        .count = count,
        .dtype = (int)dataType,
        .reduce = -1,
        .root = root,
        .comm = comm,
        .stream = stream,
    };
    return (HcclResult)rp_hccl(rp_op_submit(&call));
}

HcclResult HcclReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType,
        HcclReduceOp op, uint32_t root, HcclComm comm, aclrtStream stream)
{
    const struct rp_op_call call = {
        .api = "HcclReduce",
        .op = RP_OP_REDUCE,
        .send = sendBuf,
        .recv = recvBuf,
        .count = count,
        .dtype = (int)dataType,
        .reduce = (int)op,
        .root = root,
        .comm = comm,
        .stream = stream,
    };
    return (HcclResult)rp_hccl(rp_op_submit(&call));
}

HcclResult HcclScatter(void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType,
        uint32_t root, HcclComm comm, aclrtStream stream)
{
    const struct rp_op_call call = {
        .api = "HcclScatter",
        .op = RP_OP_SCATTER,
        .send = sendBuf,
        .recv = recvBuf,
        .count = recvCount,
        .dtype = (int)dataType,
        .reduce = -1,
        .root = root,
        .comm = comm,
        .stream = stream,
    };
    return (HcclResult)rp_hccl(rp_op_submit(&call));
}

HcclResult HcclAlltoAll(const void *sendBuf, uint64_t sendCount, HcclDataType sendType,
        const void *recvBuf, uint64_t recvCount, HcclDataType recvType, HcclComm comm,
        aclrtStream stream)
{
    const struct rp_op_receive receive = { .count = recvCount, .dtype = (int)recvType };
    const struct rp_op_call call = {
        .api = "HcclAlltoAll",
        .op = RP_OP_ALLTOALL,
        .send = sendBuf,
        .recv = (void *)(uintptr_t)recvBuf, // the API's const, though it is the output
        .count = sendCount,
        .dtype = (int)sendType,
        .reduce = -1,
        .receive = &receive,
        .comm = comm,
        .stream = stream,
    };
    return (HcclResult)rp_hccl(rp_op_submit(&call));
}

HcclResult HcclAllGatherV(void *sendBuf, uint64_t sendCount, void *recvBuf, const void *recvCounts,
        const void *recvDispls, HcclDataType dataType, HcclComm comm, aclrtStream stream)
{
    const struct rp_op_call call = {
        .api = "HcclAllGatherV",
        .op = RP_OP_ALL_GATHER_V,
        .send = sendBuf,
        .recv = recvBuf,
        .count = sendCount,
        .dtype = (int)dataType,
        .reduce = -1,
        .blocks = { .count = recvCounts, .displacement = recvDispls },
        .comm = comm,
        .stream = stream,
    };
    return (HcclResult)rp_hccl(rp_op_submit(&call));
}

HcclResult HcclReduceScatterV(void *sendBuf, const void *sendCounts, const void *sendDispls,
        void *recvBuf, uint64_t recvCount, HcclDataType dataType, HcclReduceOp op, HcclComm comm,
        aclrtStream stream)
{
    const struct rp_op_call call = {
        .api = "HcclReduceScatterV",
        .op = RP_OP_REDUCE_SCATTER_V,
        .send = sendBuf,
        .recv = recvBuf,
        .count = recvCount,
        .dtype = (int)dataType,
        .reduce = (int)op,
        .blocks = { .count = sendCounts, .displacement = sendDispls },
        .comm = comm,
        .stream = stream,
    };
    return (HcclResult)rp_hccl(rp_op_submit(&call));
}

HcclResult HcclAlltoAllV(const void *sendBuf, const void *sendCounts, const void *sdispls,
        HcclDataType sendType, const void *recvBuf, const void *recvCounts, const void *rdispls,
        HcclDataType recvType, HcclComm comm, aclrtStream stream)
{
    const struct rp_op_receive receive = { .dtype = (int)recvType };
    const struct rp_op_call call = {
        .api = "HcclAlltoAllV",
        .op = RP_OP_ALLTOALL_V,
        .send = sendBuf,
        .recv = (void *)(uintptr_t)recvBuf, // the API's const, though it is the output
        .dtype = (int)sendType,
        .reduce = -1,
        .receive = &receive,
        .blocks = { .count = sendCounts, .displacement = sdispls },
        .recv_blocks = { .count = recvCounts, .displacement = rdispls },
        .comm = comm,
        .stream = stream,
    };
    return (HcclResult)rp_hccl(rp_op_submit(&call));
}

HcclResult HcclAlltoAllVC(const void *sendBuf, const void *sendCountMatrix, HcclDataType sendType,
        const void *recvBuf, HcclDataType recvType, HcclComm comm, aclrtStream stream)
{
    const struct rp_op_receive receive = { .dtype = (int)recvType };
    const struct rp_op_call call = {
        .api = "HcclAlltoAllVC",
        .op = RP_OP_ALLTOALL_VC,
        .send = sendBuf,
        .recv = (void *)(uintptr_t)recvBuf,
        .dtype = (int)sendType,
        .reduce = -1,
        .receive = &receive,
        .matrix = sendCountMatrix,
        .comm = comm,
        .stream = stream,
    };
    return (HcclResult)rp_hccl(rp_op_submit(&call));
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream)
{
    const struct rp_op_call call = {
        .api = "HcclBarrier",
        .op = RP_OP_BARRIER,
        .count = 1,
        .dtype = RP_DTYPE_INT8,
        .reduce = -1,
        .comm = comm,
        .stream = stream,
    };
    return (HcclResult)rp_hccl(rp_op_submit(&call));
}
