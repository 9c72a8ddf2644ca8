// The operators.

#include <aclnnop/aclnn_add.h>
#include <aclnnop/aclnn_mul.h>

#include "aclnn/opapi_pointwise.h"

// The second half of every operator: the workspace is not used.
static aclnnStatus launch(const char *name, void *workspace, uint64_t workspace_bytes,
        aclOpExecutor *executor, aclrtStream stream)
{
    (void)workspace;
    (void)workspace_bytes;
    return reprise_nn_executor_run(executor, name, stream);
}

aclnnStatus aclnnAddGetWorkspaceSize(const aclTensor *self, const aclTensor *other,
        const aclScalar *alpha, aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor)
{
    const struct pw_call call = { "aclnnAdd", PW_ADD, self, other, alpha, out };
    return pw_prepare(&call, workspaceSize, executor);
}

aclnnStatus aclnnAdd(
        void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream)
{
    return launch("aclnnAdd", workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnInplaceAddGetWorkspaceSize(const aclTensor *selfRef, const aclTensor *other,
        const aclScalar *alpha, uint64_t *workspaceSize, aclOpExecutor **executor)
{
    const struct pw_call call = { "aclnnInplaceAdd", PW_ADD, selfRef, other, alpha, selfRef };
    return pw_prepare(&call, workspaceSize, executor);
}

aclnnStatus aclnnInplaceAdd(
        void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream)
{
    return launch("aclnnInplaceAdd", workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnMulGetWorkspaceSize(const aclTensor *self, const aclTensor *other, aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor)
{
    const struct pw_call call = { "aclnnMul", PW_MUL, self, other, NULL, out };
    return pw_prepare(&call, workspaceSize, executor);
}

aclnnStatus aclnnMul(
        void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream)
{
    return launch("aclnnMul", workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnInplaceMulGetWorkspaceSize(const aclTensor *selfRef, const aclTensor *other,
        uint64_t *workspaceSize, aclOpExecutor **executor)
{
    const struct pw_call call = { "aclnnInplaceMul", PW_MUL, selfRef, other, NULL, selfRef };
    return pw_prepare(&call, workspaceSize, executor);
}

aclnnStatus aclnnInplaceMul(
        void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream)
{
    return launch("aclnnInplaceMul", workspace, workspaceSize, executor, stream);
}
