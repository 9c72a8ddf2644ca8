#ifndef REPRISE_KERNELS_REDUCE_H
#define REPRISE_KERNELS_REDUCE_H

/*
 * Reduction of N inputs in one pass, for every type and operation, with one
 * implementation per instruction set and the same bits from each of them.
 *
 * The value of an element is the left fold in array order,
 * ((s0 op s1) op s2) ..., and nothing else: neither the count, the alignment,
 * the position in the array, nor the CPU changes a bit of it. A collective that
 * passes its inputs in rank order therefore has one possible result.
 *
 *   integers     wrap (two's complement)
 *   fp32, fp64   IEEE 754, each step rounded to nearest even, subnormals kept
 *   fp16, bf16   the whole fold runs in FP32 and is rounded once, at its end
 *   max, min     a NaN in any input makes the result NaN; -0 is below +0
 *   NaN          every NaN result is the quiet NaN of the type without sign or
 *                payload (0x7e00, 0x7fc0, 0x7fc00000, 0x7ff8000000000000),
 *                because CPUs disagree on what they keep of an operand
 *   one input    is copied: no bit changes, a NaN's payload included
 *
 * The caller's rounding mode, flush-to-zero and exception masks do not count:
 * a rank steps its kernels on whichever thread waits, and a program built with
 * -ffast-math would otherwise get other bits than its peers.
 */

#include <stdbool.h>
#include <stddef.h>

#include "kernels/cpu_features.h"
#include "kernels/dtype.h"

/*
 * Elements [first, end) of all arrays, as in rp_reduce(), with at least two
 * sources. `stream` stores around the caches; element `first` of every
 * destination is then RP_STREAM_ALIGN-aligned (kernels/copy.h).
 */
typedef void rp_reduce_fn(void *const *dsts, unsigned dst_count, const void *const *srcs,
        unsigned src_count, size_t first, size_t end, bool stream);

/* One instruction set. Rows of types that are not reduced do not exist; every entry is set. */
struct rp_reduce_impl {
    const char *isa; /* "avx512", "avx2", "neon", "scalar": the values of REPRISE_ISA */
    bool (*usable)(const struct rp_cpu *cpu);
    rp_reduce_fn *fold[RP_DTYPE_REDUCIBLE][RP_REDUCE_OPS];
};

/* Each is defined where its processor is compiled for. */
extern const struct rp_reduce_impl rp_reduce_avx512;
extern const struct rp_reduce_impl rp_reduce_avx2;
extern const struct rp_reduce_impl rp_reduce_neon;
extern const struct rp_reduce_impl rp_reduce_scalar;

/* Every implementation of this architecture, best first, NULL last. The last one runs anywhere. */
extern const struct rp_reduce_impl *const rp_reduce_impls[];

/**
 * rp_reduce_select: the implementation called `isa`, or the best one that this
 * CPU runs for "auto". NULL when there is none of that name or the CPU lacks it.
 */
const struct rp_reduce_impl *rp_reduce_select(const char *isa);

/**
 * rp_reduce: fold `count` elements of `src_count` arrays and store the result
 * into each of `dst_count` arrays.
 *
 * `dtype` must be reducible and `src_count` at least 1; a `dst_count` or `count`
 * of 0 does nothing. No alignment is needed. A destination is the very same
 * array as a source (in place) or touches none; destinations never overlap.
 *
 * Threads: any number at once, over memory that does not overlap.
 */
void rp_reduce(const struct rp_reduce_impl *impl, enum rp_dtype dtype, enum rp_reduce_op op,
        void *const *dsts, unsigned dst_count, const void *const *srcs, unsigned src_count,
        size_t count);

/**
 * rp_reduce_stream: rp_reduce() with stores that go around the caches: the
 * same bits, for results that nobody reads soon.
 *
 * It pays once what all ranks of a node together read and write in one
 * collective exceeds the last cache, RP_STREAM_BYTES (kernels/copy.h): 1.2
 * times the bandwidth with two ranks, 1.6 with eight, twice that on a busy
 * machine; it loses up to 40 percent where the data fits. Who cuts an operation
 * into chunks therefore decides by the whole operation, not by the chunk. Where
 * the destinations do not share their alignment, it is rp_reduce().
 *
 * When it returns, the stores are ordered like ordinary ones.
 */
void rp_reduce_stream(const struct rp_reduce_impl *impl, enum rp_dtype dtype, enum rp_reduce_op op,
        void *const *dsts, unsigned dst_count, const void *const *srcs, unsigned src_count,
        size_t count);

#endif
