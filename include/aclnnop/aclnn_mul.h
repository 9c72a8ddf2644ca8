/* out = self * other. Link with -lopapi -lnnopbase. */
#ifndef REPRISE_ACLNNOP_ACLNN_MUL_H
#define REPRISE_ACLNNOP_ACLNN_MUL_H

#include "../aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** As aclnnAddGetWorkspaceSize(), without a factor. */
ACLNN_API aclnnStatus aclnnMulGetWorkspaceSize(const aclTensor *self, const aclTensor *other,
        aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor);
ACLNN_API aclnnStatus aclnnMul(
        void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/** The same with selfRef for `out`. */
ACLNN_API aclnnStatus aclnnInplaceMulGetWorkspaceSize(const aclTensor *selfRef,
        const aclTensor *other, uint64_t *workspaceSize, aclOpExecutor **executor);
ACLNN_API aclnnStatus aclnnInplaceMul(
        void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
