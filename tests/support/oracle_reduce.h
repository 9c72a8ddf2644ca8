#ifndef REPRISE_TESTS_SUPPORT_ORACLE_REDUCE_H
#define REPRISE_TESTS_SUPPORT_ORACLE_REDUCE_H

/*
 * What a reduction must give, computed from the definition in kernels/reduce.h
 * and from nothing that the product contains: 16-bit floats by their value
 * (exponents and ldexp(), no bit tricks), fp32 by rounding exact doubles,
 * integers in 64 bits. Slow and simple; every test of a collective uses it.
 */

#include <stddef.h>
#include <stdint.h>

#include "kernels/dtype.h"

/**
 * oracle_reduce: left fold of `count` elements of `n` arrays in array order
 * into `dst`, which may be one of the arrays. Any alignment. The caller's
 * rounding mode is to nearest.
 */
void oracle_reduce(enum rp_dtype dtype, enum rp_reduce_op op, const void *const *srcs, unsigned n,
        void *dst, size_t count);

/** oracle_half_value: what the 16 bits mean; `dtype` is fp16 or bf16. NaN for every NaN. */
double oracle_half_value(enum rp_dtype dtype, uint16_t bits);

/**
 * oracle_half_round: nearest 16-bit float, ties to even; infinity from half a
 * unit above the largest; one NaN.
 */
uint16_t oracle_half_round(enum rp_dtype dtype, double value);

#endif
