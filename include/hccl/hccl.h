/* The collective and point-to-point operators.
 *
 * Every operator is queued on `stream` and runs there. Data lies in device
 * memory; counts and displacements count elements, and arrays of them are
 * uint64_t in host memory, read before the call returns. N is the number of
 * ranks. All ranks of a communicator call the same operators in the same order,
 * with equal counts, type, operation and root where nothing else is said; what
 * differs is reported as an error on every rank.
 *
 * A count of 0 is HCCL_SUCCESS before anything else is checked. A NULL
 * communicator, stream or needed buffer is HCCL_E_PTR; a root or peer that is no
 * rank, or a count whose bytes over all ranks exceed 2^62, HCCL_E_PARA; a type or
 * operation that the operator does not have, HCCL_E_NOT_SUPPORT. */
#ifndef REPRISE_HCCL_H
#define REPRISE_HCCL_H

#include <stdint.h>

#include <acl/acl.h>

#include "hccl_comm.h"
#include "hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** recvBuf[i] = sendBuf[i] combined over all ranks, for i < count. The two may be one buffer. */
HCCL_FUNC_VISIBILITY HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count,
        HcclDataType dataType, HcclReduceOp op, HcclComm comm, aclrtStream stream);

/** `count` elements of the root's `buf` come to every rank's. */
HCCL_FUNC_VISIBILITY HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType,
        uint32_t root, HcclComm comm, aclrtStream stream);

/** Rank r receives block r, of `recvCount` elements, of the combined N * recvCount elements. In
 * place: recvBuf is the own block of sendBuf. */
HCCL_FUNC_VISIBILITY HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount,
        HcclDataType dataType, HcclReduceOp op, HcclComm comm, aclrtStream stream);

/** The same with blocks of sendCounts[r] elements at sendDispls[r]; recvCount is the own count. The
 * buffers differ. */
HCCL_FUNC_VISIBILITY HcclResult HcclReduceScatterV(void *sendBuf, const void *sendCounts,
        const void *sendDispls, void *recvBuf, uint64_t recvCount, HcclDataType dataType,
        HcclReduceOp op, HcclComm comm, aclrtStream stream);

/** Block r, of `recvCount` elements, of the root's sendBuf comes to rank r. Elsewhere sendBuf may
 * be NULL. */
HCCL_FUNC_VISIBILITY HcclResult HcclScatter(void *sendBuf, void *recvBuf, uint64_t recvCount,
        HcclDataType dataType, uint32_t root, HcclComm comm, aclrtStream stream);

/** Block r of recvBuf, of `sendCount` elements, is what rank r sends. In place: sendBuf is the own
 * block of recvBuf. */
HCCL_FUNC_VISIBILITY HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount,
        HcclDataType dataType, HcclComm comm, aclrtStream stream);

/** The same with blocks of recvCounts[r] elements at recvDispls[r]; sendCount is the own count. The
 * buffers differ. */
HCCL_FUNC_VISIBILITY HcclResult HcclAllGatherV(void *sendBuf, uint64_t sendCount, void *recvBuf,
        const void *recvCounts, const void *recvDispls, HcclDataType dataType, HcclComm comm,
        aclrtStream stream);

/** Sends to one rank. Sends and receives between two ranks pair in the order of the calls. */
HCCL_FUNC_VISIBILITY HcclResult HcclSend(void *sendBuf, uint64_t count, HcclDataType dataType,
        uint32_t destRank, HcclComm comm, aclrtStream stream);

/** Receives from one rank. */
HCCL_FUNC_VISIBILITY HcclResult HcclRecv(void *recvBuf, uint64_t count, HcclDataType dataType,
        uint32_t srcRank, HcclComm comm, aclrtStream stream);

/** As HcclAlltoAllV(), by a matrix that all ranks pass: element [i][j], at i * N + j, is what rank
 * i sends to rank j. Blocks lie back to back in rank order. */
HCCL_FUNC_VISIBILITY HcclResult HcclAlltoAllVC(const void *sendBuf, const void *sendCountMatrix,
        HcclDataType sendType, const void *recvBuf, HcclDataType recvType, HcclComm comm,
        aclrtStream stream);

/** Sends sendCounts[r] elements at sdispls[r] to rank r and receives recvCounts[r] at rdispls[r]
 * from it. The buffers differ. */
HCCL_FUNC_VISIBILITY HcclResult HcclAlltoAllV(const void *sendBuf, const void *sendCounts,
        const void *sdispls, HcclDataType sendType, const void *recvBuf, const void *recvCounts,
        const void *rdispls, HcclDataType recvType, HcclComm comm, aclrtStream stream);

/** Block r of recvBuf on rank s is block s of sendBuf on rank r, of `sendCount` elements, which is
 * `recvCount` too. The buffers differ. */
HCCL_FUNC_VISIBILITY HcclResult HcclAlltoAll(const void *sendBuf, uint64_t sendCount,
        HcclDataType sendType, const void *recvBuf, uint64_t recvCount, HcclDataType recvType,
        HcclComm comm, aclrtStream stream);

/** As HcclAllReduce(), with the result on the root alone. */
HCCL_FUNC_VISIBILITY HcclResult HcclReduce(void *sendBuf, void *recvBuf, uint64_t count,
        HcclDataType dataType, HcclReduceOp op, uint32_t root, HcclComm comm, aclrtStream stream);

/** `itemNum` sends and receives that do not wait for each other. Items with a NULL buffer are left
 * out. */
HCCL_FUNC_VISIBILITY HcclResult HcclBatchSendRecv(
        HcclSendRecvItem *sendRecvInfo, uint32_t itemNum, HcclComm comm, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
