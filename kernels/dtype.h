#ifndef REPRISE_KERNELS_DTYPE_H
#define REPRISE_KERNELS_DTYPE_H

/*
 * Element types and reductions as the kernels see them. The numbers are those
 * of HcclDataType and HcclReduceOp, so that a record can carry either; 13 is
 * unused there and stays a hole here.
 */

#include <stdbool.h>
#include <stddef.h>

enum rp_dtype {
    RP_DTYPE_INT8 = 0,
    RP_DTYPE_INT16 = 1,
    RP_DTYPE_INT32 = 2,
    RP_DTYPE_FP16 = 3,
    RP_DTYPE_FP32 = 4,
    RP_DTYPE_INT64 = 5,
    RP_DTYPE_UINT64 = 6,
    RP_DTYPE_UINT8 = 7,
    RP_DTYPE_UINT16 = 8,
    RP_DTYPE_UINT32 = 9,
    RP_DTYPE_FP64 = 10,
    RP_DTYPE_BFP16 = 11,
    RP_DTYPE_INT128 = 12,
    RP_DTYPE_HIF8 = 14,
    RP_DTYPE_FP8E4M3 = 15,
    RP_DTYPE_FP8E5M2 = 16,
    RP_DTYPE_FP8E8M0 = 17,
};

/* Types below this number are reduced; the rest only move, as opaque bytes. */
#define RP_DTYPE_REDUCIBLE 12

enum rp_reduce_op {
    RP_REDUCE_SUM = 0,
    RP_REDUCE_PROD = 1,
    RP_REDUCE_MAX = 2,
    RP_REDUCE_MIN = 3,
};

#define RP_REDUCE_OPS 4

/** rp_dtype_bytes: bytes of one element; 0 for any value that is not a type. */
static inline size_t rp_dtype_bytes(enum rp_dtype dtype)
{
    static const unsigned char bytes[] = {
        [RP_DTYPE_INT8] = 1,
        [RP_DTYPE_INT16] = 2,
        [RP_DTYPE_INT32] = 4,
        [RP_DTYPE_FP16] = 2,
        [RP_DTYPE_FP32] = 4,
        [RP_DTYPE_INT64] = 8,
        [RP_DTYPE_UINT64] = 8,
        [RP_DTYPE_UINT8] = 1,
        [RP_DTYPE_UINT16] = 2,
        [RP_DTYPE_UINT32] = 4,
        [RP_DTYPE_FP64] = 8,
        [RP_DTYPE_BFP16] = 2,
        [RP_DTYPE_INT128] = 16,
        [RP_DTYPE_HIF8] = 1,
        [RP_DTYPE_FP8E4M3] = 1,
        [RP_DTYPE_FP8E5M2] = 1,
        [RP_DTYPE_FP8E8M0] = 1,
    };
    const size_t index = (size_t)dtype;

    return index < sizeof bytes ? bytes[index] : 0;
}

/** rp_dtype_reducible: whether rp_reduce() takes the type. */
static inline bool rp_dtype_reducible(enum rp_dtype dtype)
{
    return (size_t)dtype < RP_DTYPE_REDUCIBLE;
}

#endif
