/* Operators' view of memory: tensors, scalars, and executors. Link with -lnnopbase. */
#ifndef REPRISE_ACLNN_ACL_META_H
#define REPRISE_ACLNN_ACL_META_H

#include "../acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aclOpExecutor aclOpExecutor;
typedef struct aclTensor aclTensor;
typedef struct aclScalar aclScalar;

/** 0, or a number of six digits: 161001 a null pointer, 161002 an invalid argument, 361001 a call
 * of the runtime failed, 561103 out of memory. aclGetRecentErrMsg() has a sentence. */
typedef int32_t aclnnStatus;
#ifdef __cplusplus
constexpr aclnnStatus OK = 0;
#endif

/** A tensor over `tensorData`, which stays the caller's: at most 8 dimensions, strides and offset
 * in elements. `stride` NULL: contiguous. NULL on failure. */
ACL_FUNC_VISIBILITY aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum,
        aclDataType dataType, const int64_t *stride, int64_t offset, aclFormat format,
        const int64_t *storageDims, uint64_t storageDimsNum, void *tensorData);

/** A scalar with a copy of `*value`. NULL on failure. */
ACL_FUNC_VISIBILITY aclScalar *aclCreateScalar(void *value, aclDataType dataType);

/** Free what was created; NULL is fine. An executor is freed by the call that runs it, unless it is
 * repeatable. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyTensor(const aclTensor *tensor);
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyScalar(const aclScalar *scalar);
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor);

/** From now on the executor may run any number of times, until it is destroyed. */
ACL_FUNC_VISIBILITY aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor);

/** Another address for a tensor of a repeatable executor: input or output `index`, in the order of
 * the operator's arguments. `tensor` learns it, too. */
ACL_FUNC_VISIBILITY aclnnStatus aclSetInputTensorAddr(
        aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);
ACL_FUNC_VISIBILITY aclnnStatus aclSetOutputTensorAddr(
        aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/** What a tensor was created with. Arrays are copies, to be freed with free() or delete[]. */
ACL_FUNC_VISIBILITY aclnnStatus aclGetViewShape(
        const aclTensor *tensor, int64_t **viewDims, uint64_t *viewDimsNum);
ACL_FUNC_VISIBILITY aclnnStatus aclGetStorageShape(
        const aclTensor *tensor, int64_t **storageDims, uint64_t *storageDimsNum);
ACL_FUNC_VISIBILITY aclnnStatus aclGetViewStrides(
        const aclTensor *tensor, int64_t **stridesValue, uint64_t *stridesNum);
ACL_FUNC_VISIBILITY aclnnStatus aclGetViewOffset(const aclTensor *tensor, int64_t *offset);
ACL_FUNC_VISIBILITY aclnnStatus aclGetFormat(const aclTensor *tensor, aclFormat *format);
ACL_FUNC_VISIBILITY aclnnStatus aclGetDataType(const aclTensor *tensor, aclDataType *dataType);

/** Where the tensor's storage begins. */
ACL_FUNC_VISIBILITY aclnnStatus aclGetRawTensorAddr(const aclTensor *tensor, void **addr);
ACL_FUNC_VISIBILITY aclnnStatus aclSetRawTensorAddr(aclTensor *tensor, void *addr);

#ifdef __cplusplus
}
#endif

#endif
