#ifndef REPRISE_ACLNN_OPAPI_POINTWISE_H
#define REPRISE_ACLNN_OPAPI_POINTWISE_H

/*
 * Operators of two tensors, element by element: what their kernels are given, and how
 * it is made of tensors.
 */

#include <stdint.h>

#include "aclnn/nnop.h"

/* One tensor; strides of 0 where it is broadcast. */
struct pw_operand {
    void *first;                 /* element */
    int64_t stride[NN_DIMS_MAX]; /* elements, in the order of `shape` below */
    int32_t type;                /* aclDataType */
    int32_t reserved;
};

/* The argument block of a kernel. The dimensions are those of the output, in its order, without
 * those that have one element or can be walked together with their neighbour. */
struct pw_args {
    struct pw_operand self, other, out;
    int64_t shape[NN_DIMS_MAX];
    uint64_t count; /* elements of out, at least 1 */
    uint32_t dims;  /* at least 1 */
    int32_t type;   /* aclDataType that is computed with */
    double alpha;   /* of an addition of floating-point numbers */
    int64_t integer_alpha;
};

enum pw_op { PW_ADD = 0, PW_MUL, PW_OPS };

/** pw_kernel: the registered kernel of `op`; NULL: it could not be registered. */
aclrtFuncHandle pw_kernel(enum pw_op op);

/* What is to be computed, as the call gives it. */
struct pw_call {
    const char *name; /* of the call, for sentences */
    enum pw_op op;
    const aclTensor *self;
    const aclTensor *other;
    const aclScalar *alpha; /* NULL for a multiplication */
    const aclTensor *out;
};

/** pw_prepare: check the call and make its executor. 161001, 161002, 361001, 561103. */
aclnnStatus pw_prepare(const struct pw_call *call, uint64_t *workspace_bytes, aclOpExecutor **out);

#endif
