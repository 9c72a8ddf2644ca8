/* Collectives in a graph: the arguments of their tasks.
 *
 * A captured collective is one task of type ACL_MODEL_RI_TASK_KERNEL, whatever its expansion.
 * aclmdlRITaskGetParams() answers for it:
 *
 *     kernelTaskParams.funcHandle   reprise_collective_function() of the operator
 *     kernelTaskParams.args         a struct reprise_collective_args, owned by the runtime; valid
 *                                   until the next aclmdlRITaskGetParams() of the same task, or the
 *                                   graph's end
 *     kernelTaskParams.argsSize     sizeof(struct reprise_collective_args)
 *     kernelTaskParams.numBlocks    1
 *     kernelTaskParams.isHostArgs   0
 *     kernelTaskParams.cfg          NULL
 *
 * aclmdlRITaskSetParams() takes the same; `args` may be any memory of the program, and numBlocks,
 * isHostArgs and cfg are not looked at. What it may change are the buffers and the count; they are
 * checked as by the operator's call. The new arguments count from aclmdlRIUpdate() on. Ranks that
 * do not change a count alike get the error that a mismatch of eager calls gets. */
#ifndef REPRISE_GRAPH_H
#define REPRISE_GRAPH_H

#include <acl/acl_rt.h>
#include <hccl/hccl_types.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A collective. All members must be set for aclmdlRITaskSetParams(); change a copy of what
 * aclmdlRITaskGetParams() gave. */
struct reprise_collective_args {
    HcclCMDType op;        /**< the operator; cannot change */
    HcclDataType dataType; /**< cannot change */
    HcclReduceOp reduceOp; /**< cannot change; HCCL_REDUCE_RESERVED where nothing is reduced */
    uint32_t root;         /**< cannot change; send and receive: the other rank; else 0 where there
                            * is none */
    HcclComm comm;         /**< cannot change */
    void *sendBuf;  /**< broadcast: its only buffer; NULL for a barrier, a receive, a batch */
    void *recvBuf;  /**< broadcast: the same as sendBuf; NULL for a barrier, a send, a batch */
    uint64_t count; /**< elements, as the operator's call counts them; not 0, unless it is
                     * the own block of a table; AlltoAllV, AlltoAllVC: 0.
                     * HcclBatchSendRecv: items, and nothing of such a task can be set */
    const uint64_t *counts;     /**< AllGatherV, ReduceScatterV: of every rank's block; AlltoAllV:
                                 * sendCounts; AlltoAllVC: sendCountMatrix; else NULL. What
                                 * aclmdlRITaskGetParams() gives is valid until the task changes */
    const uint64_t *displs;     /**< likewise: where the blocks lie; AlltoAllVC: NULL */
    const uint64_t *recvCounts; /**< AlltoAllV; else NULL */
    const uint64_t *recvDispls; /**< AlltoAllV; else NULL */
    uint64_t rsv[4];            /**< room for operators to come; 0 */
};

/**
 * reprise_collective_function: the funcHandle that stands for an operator in the parameters of its
 * tasks, so that a program can tell collectives from kernels.
 *
 * The same in the whole process, and never NULL for an operator of hccl.h that this version has,
 * NULL for any other. It cannot be launched.
 */
__attribute__((visibility("default"))) aclrtFuncHandle reprise_collective_function(HcclCMDType op);

#ifdef __cplusplus
}
#endif

#endif
