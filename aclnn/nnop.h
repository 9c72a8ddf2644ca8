#ifndef REPRISE_ACLNN_NNOP_H
#define REPRISE_ACLNN_NNOP_H

/*
 * What libnnopbase and libopapi share: the objects behind the handles, and how an
 * operator fails. Both stand on the public headers alone.
 */

#include <aclnn/aclnn_base.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NN_DIMS_MAX 8
#define NN_TENSORS_MAX 3 /* of one operator, outputs included */
#define NN_ARGS_BYTES 512

/* The codes of aclnn. */
#define NN_SUCCESS 0
#define NN_ERR_NULL 161001
#define NN_ERR_INVALID 161002
#define NN_ERR_RUNTIME 361001
#define NN_ERR_MEMORY 561103

struct aclTensor {
    int64_t shape[NN_DIMS_MAX];
    int64_t stride[NN_DIMS_MAX]; /* elements */
    uint64_t dims;
    int64_t offset; /* elements */
    int64_t storage[NN_DIMS_MAX];
    uint64_t storage_dims;
    aclDataType type;
    aclFormat format;
    void *data; /* where the storage begins */
};

struct aclScalar {
    aclDataType type;
    double real;     /* its value, if it is of a floating-point type */
    int64_t integer; /* otherwise */
};

/* Which address in the arguments belongs to a tensor. */
struct nn_slot {
    size_t at;            /* bytes into args, of a pointer to the first element */
    int64_t offset_bytes; /* of that element in the storage */
};

/* One operator with all it needs to be launched, any number of times. */
struct aclOpExecutor {
    aclOpExecutor *next; /* among those that live */
    aclrtFuncHandle kernel;
    uint32_t blocks; /* 0: nothing to compute */
    bool repeatable;
    uint32_t inputs, outputs;
    struct nn_slot slot[NN_TENSORS_MAX]; /* inputs, then outputs */
    size_t args_bytes;
    _Alignas(16) unsigned char args[NN_ARGS_BYTES];
};

#define NN_SHARED __attribute__((visibility("default")))

/** reprise_nn_executor_add: a copy of `model` on the heap, live until it is run or destroyed.
 *  NULL: no memory. */
NN_SHARED aclOpExecutor *reprise_nn_executor_add(const aclOpExecutor *model);

/** reprise_nn_executor_run: launch it, and free it unless it is repeatable. 161001, 161002 for an
 *  executor that is gone, 361001. */
NN_SHARED aclnnStatus reprise_nn_executor_run(
        aclOpExecutor *executor, const char *call, aclrtStream stream);

/** reprise_nn_fail: tell aclGetRecentErrMsg() why `code` is answered. */
NN_SHARED aclnnStatus reprise_nn_fail(aclnnStatus code, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/** reprise_nn_type_name: "fp32"; "type 7" for those that no operator here computes with. Static, or
 *  the calling thread's until its next call. */
NN_SHARED const char *reprise_nn_type_name(aclDataType type);

#endif
