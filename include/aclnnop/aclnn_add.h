/* out = self + alpha * other. Link with -lopapi -lnnopbase. */
#ifndef REPRISE_ACLNNOP_ACLNN_ADD_H
#define REPRISE_ACLNNOP_ACLNN_ADD_H

#include "../aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Checks the arguments and makes an executor; the workspace has 0 bytes. Elements are fp32, fp16
 * or int32, and of different types the wider one is computed with; shapes broadcast to that of
 * `out`; any strides. `alpha` is converted to the type of the computation. */
ACLNN_API aclnnStatus aclnnAddGetWorkspaceSize(const aclTensor *self, const aclTensor *other,
        const aclScalar *alpha, aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor);

/** Launches it on `stream`: a kernel task, which can be captured and updated. */
ACLNN_API aclnnStatus aclnnAdd(
        void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/** The same with selfRef for `out`. */
ACLNN_API aclnnStatus aclnnInplaceAddGetWorkspaceSize(const aclTensor *selfRef,
        const aclTensor *other, const aclScalar *alpha, uint64_t *workspaceSize,
        aclOpExecutor **executor);
ACLNN_API aclnnStatus aclnnInplaceAdd(
        void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
