#ifndef REPRISE_KERNELS_REDUCE_SIMD_H
#define REPRISE_KERNELS_REDUCE_SIMD_H

/*
 * The reductions in the compiler's vector types: one text for every
 * instruction set. A reduce_<isa>.c file defines SIMD_BYTES, the width of a
 * register (16, 32 or 64), includes this file, then defines the few functions
 * declared below that vector types cannot express, and builds its
 * rp_reduce_impl from SIMD_TABLE.
 *
 * Plain loops were tried first: at -O2 gcc 12 vectorises only loops that leave
 * no remainder, and it keeps the accumulators of N inputs in memory.
 */

#include <stdint.h>

#include "kernels/half.h"
#include "kernels/reduce.h"

#if defined(__FAST_MATH__)
#error "equal bits need IEEE arithmetic: build without -ffast-math"
#endif

#define FOLD_INLINE inline __attribute__((always_inline))

/* full_X: a register of X. mem_X: the same in memory, at any address, of any declared type. */
#define SIMD_TYPE(name, element)                                          \
    typedef element full_##name __attribute__((vector_size(SIMD_BYTES))); \
    typedef full_##name mem_##name __attribute__((aligned(1), may_alias))

SIMD_TYPE(s8, int8_t);
SIMD_TYPE(u8, uint8_t);
SIMD_TYPE(s16, int16_t);
SIMD_TYPE(u16, uint16_t);
SIMD_TYPE(s32, int32_t);
SIMD_TYPE(u32, uint32_t);
SIMD_TYPE(s64, int64_t);
SIMD_TYPE(u64, uint64_t);
SIMD_TYPE(f32, float);
SIMD_TYPE(f64, double);

/* 16-bit floats in memory: as many as there are fp32 in a register, so half a register. */
typedef uint16_t half_u16 __attribute__((vector_size(SIMD_BYTES / 2)));
typedef half_u16 mem_half_u16 __attribute__((aligned(1), may_alias));

/* What the including file defines. A streaming store's address is a multiple of SIMD_BYTES. */
static FOLD_INLINE full_f32 fp16_widen(half_u16 bits); /* exact */
static FOLD_INLINE half_u16 fp16_narrow(full_f32 v);   /* nearest even; any NaN is canonical */

static FOLD_INLINE void full_stream(void *to, full_u8 v);
static FOLD_INLINE void half_stream(void *to, half_u16 v);

/*
 * And less than a register: the first `bytes`, below its width; a load clears
 * the rest. Where they are more than an instruction they must not be inlined:
 * they would be most of the code.
 */
static full_u8 full_load_part(const void *from, size_t bytes);
static void full_store_part(void *to, full_u8 v, size_t bytes);
static half_u16 half_load_part(const void *from, size_t bytes);
static void half_store_part(void *to, half_u16 v, size_t bytes);

/* part_copy: fewer than 32 bytes in at most five moves; memcpy() would be a call each time. */
static inline void part_copy(void *to, const void *from, size_t bytes)
{
    char *t = to;
    const char *f = from;

    if (bytes & 16) {
        memcpy(t, f, 16);
        t += 16;
        f += 16;
    }
    if (bytes & 8) {
        memcpy(t, f, 8);
        t += 8;
        f += 8;
    }
    if (bytes & 4) {
        memcpy(t, f, 4);
        t += 4;
        f += 4;
    }
    if (bytes & 2) {
        memcpy(t, f, 2);
        t += 2;
        f += 2;
    }
    if (bytes & 1) {
        *t = *f;
    }
}

/* Loads and stores of a type that is folded as it lies in memory. `at` is in bytes. */
#define SIMD_MEMORY(name)                                                                         \
    static FOLD_INLINE full_##name load_##name(const void *base, size_t at)                       \
    {                                                                                             \
        return *(const mem_##name *)((const char *)base + at);                                    \
    }                                                                                             \
    static FOLD_INLINE full_##name load_part_##name(const void *base, size_t at, size_t bytes)    \
    {                                                                                             \
        return (full_##name)full_load_part((const char *)base + at, bytes);                       \
    }                                                                                             \
    static FOLD_INLINE void store_##name(void *base, size_t at, full_##name v)                    \
    {                                                                                             \
        *(mem_##name *)((char *)base + at) = v;                                                   \
    }                                                                                             \
    static FOLD_INLINE void stream_##name(void *base, size_t at, full_##name v)                   \
    {                                                                                             \
        full_stream((char *)base + at, (full_u8)v);                                               \
    }                                                                                             \
    static FOLD_INLINE void store_part_##name(void *base, size_t at, full_##name v, size_t bytes) \
    {                                                                                             \
        full_store_part((char *)base + at, (full_u8)v, bytes);                                    \
    }

/* Vector comparisons give all ones or zeros a lane; both compilers make blends of this. */
#define SIMD_SELECT(mask, yes, no) (((mask) & (yes)) | (~(mask) & (no)))

/* Sum and product wrap, so they are computed unsigned; the order depends on the sign. */
#define SIMD_INTEGER(name, mask_type, wrapping)                          \
    SIMD_MEMORY(name)                                                    \
    static FOLD_INLINE full_##name apply_##name(                         \
            enum rp_reduce_op op, full_##name a, full_##name b)          \
    {                                                                    \
        const mask_type ia = (mask_type)a;                               \
        const mask_type ib = (mask_type)b;                               \
        switch (op) {                                                    \
        case RP_REDUCE_PROD:                                             \
            return (full_##name)((wrapping)a * (wrapping)b);             \
        case RP_REDUCE_MAX:                                              \
            return (full_##name)SIMD_SELECT((mask_type)(a > b), ia, ib); \
        case RP_REDUCE_MIN:                                              \
            return (full_##name)SIMD_SELECT((mask_type)(a < b), ia, ib); \
        case RP_REDUCE_SUM:                                              \
        default:                                                         \
            return (full_##name)((wrapping)a + (wrapping)b);             \
        }                                                                \
    }                                                                    \
    static FOLD_INLINE full_##name finish_##name(full_##name v)          \
    {                                                                    \
        return v;                                                        \
    }

/*
 * Maximum: b is taken where it is larger or a NaN, so a NaN in `a` stays too.
 * Equal operands differ at most in the sign of zero: ANDing their bits keeps +0
 * for max, ORing keeps -0 for min.
 */
#define SIMD_FLOAT_APPLY(name, mask_type)                                                \
    static FOLD_INLINE full_##name apply_##name(                                         \
            enum rp_reduce_op op, full_##name a, full_##name b)                          \
    {                                                                                    \
        const mask_type ia = (mask_type)a;                                               \
        const mask_type ib = (mask_type)b;                                               \
        const mask_type equal = (mask_type)(a == b);                                     \
        const mask_type b_is_nan = (mask_type)(b != b);                                  \
        switch (op) {                                                                    \
        case RP_REDUCE_PROD:                                                             \
            return a * b;                                                                \
        case RP_REDUCE_MAX:                                                              \
            return (full_##name)(                                                        \
                    SIMD_SELECT((mask_type)(b > a) | b_is_nan, ib, ia) & (ib | ~equal)); \
        case RP_REDUCE_MIN:                                                              \
            return (full_##name)(                                                        \
                    SIMD_SELECT((mask_type)(b < a) | b_is_nan, ib, ia) | (ib & equal));  \
        case RP_REDUCE_SUM:                                                              \
        default:                                                                         \
            return a + b;                                                                \
        }                                                                                \
    }                                                                                    \
    static FOLD_INLINE full_##name canonical_##name(full_##name v, mask_type nan)        \
    {                                                                                    \
        return (full_##name)SIMD_SELECT((mask_type)(v != v), nan, (mask_type)v);         \
    }

SIMD_INTEGER(s8, full_s8, full_u8)
SIMD_INTEGER(u8, full_s8, full_u8)
SIMD_INTEGER(s16, full_s16, full_u16)
SIMD_INTEGER(u16, full_s16, full_u16)
SIMD_INTEGER(s32, full_s32, full_u32)
SIMD_INTEGER(u32, full_s32, full_u32)
SIMD_INTEGER(s64, full_s64, full_u64)
SIMD_INTEGER(u64, full_s64, full_u64)

SIMD_MEMORY(f32)
SIMD_FLOAT_APPLY(f32, full_s32)
SIMD_MEMORY(f64)
SIMD_FLOAT_APPLY(f64, full_s64)

static FOLD_INLINE full_f32 finish_f32(full_f32 v)
{
    return canonical_f32(v, (full_s32){ 0 } + (int32_t)RP_FP32_NAN);
}

static FOLD_INLINE full_f64 finish_f64(full_f64 v)
{
    return canonical_f64(v, (full_s64){ 0 } + (int64_t)RP_FP64_NAN);
}

/*
 * fp16: half a register in memory widens to one of fp32.
 */
static FOLD_INLINE full_f32 load_fp16(const void *base, size_t at)
{
    return fp16_widen(*(const mem_half_u16 *)((const char *)base + at));
}

static FOLD_INLINE full_f32 load_part_fp16(const void *base, size_t at, size_t bytes)
{
    return fp16_widen(half_load_part((const char *)base + at, bytes));
}

static FOLD_INLINE void store_fp16(void *base, size_t at, full_f32 v)
{
    *(mem_half_u16 *)((char *)base + at) = fp16_narrow(v);
}

static FOLD_INLINE void stream_fp16(void *base, size_t at, full_f32 v)
{
    half_stream((char *)base + at, fp16_narrow(v));
}

static FOLD_INLINE void store_part_fp16(void *base, size_t at, full_f32 v, size_t bytes)
{
    half_store_part((char *)base + at, fp16_narrow(v), bytes);
}

static FOLD_INLINE full_f32 apply_fp16(enum rp_reduce_op op, full_f32 a, full_f32 b)
{
    return apply_f32(op, a, b);
}

static FOLD_INLINE full_f32 finish_fp16(full_f32 v)
{
    return finish_f32(v);
}

/*
 * bf16 is the upper half of an fp32, so the elements at odd places of a
 * register are fp32 once their neighbours are masked off, and those at even
 * places after a shift. Folding the two apart moves nothing between lanes,
 * which made it twice as fast as widening half a register like fp16.
 */
struct split_bf16 {
    full_f32 even;
    full_f32 odd;
};

static FOLD_INLINE struct split_bf16 split_bf16(full_u32 bits)
{
    return (struct split_bf16){ (full_f32)(bits << 16), (full_f32)(bits & 0xffff0000u) };
}

/*
 * round_bf16: rp_bf16_from_fp32() before its last shift, for a NaN that is
 * canonical already. AVX-512's own converter flushes subnormals to zero.
 */
static FOLD_INLINE full_u32 round_bf16(full_f32 v)
{
    const full_u32 bits = (full_u32)v;

    return bits + 0x7fffu + (bits >> 16 & 1u);
}

static FOLD_INLINE full_u32 join_bf16(struct split_bf16 v)
{
    return round_bf16(v.even) >> 16 | (round_bf16(v.odd) & 0xffff0000u);
}

static FOLD_INLINE struct split_bf16 load_bf16(const void *base, size_t at)
{
    return split_bf16(load_u32(base, at));
}

static FOLD_INLINE struct split_bf16 load_part_bf16(const void *base, size_t at, size_t bytes)
{
    return split_bf16(load_part_u32(base, at, bytes));
}

static FOLD_INLINE void store_bf16(void *base, size_t at, struct split_bf16 v)
{
    store_u32(base, at, join_bf16(v));
}

static FOLD_INLINE void stream_bf16(void *base, size_t at, struct split_bf16 v)
{
    stream_u32(base, at, join_bf16(v));
}

static FOLD_INLINE void store_part_bf16(void *base, size_t at, struct split_bf16 v, size_t bytes)
{
    store_part_u32(base, at, join_bf16(v), bytes);
}

static FOLD_INLINE struct split_bf16 apply_bf16(
        enum rp_reduce_op op, struct split_bf16 a, struct split_bf16 b)
{
    return (struct split_bf16){ apply_f32(op, a.even, b.even), apply_f32(op, a.odd, b.odd) };
}

static FOLD_INLINE struct split_bf16 finish_bf16(struct split_bf16 v)
{
    return (struct split_bf16){ finish_f32(v.even), finish_f32(v.odd) };
}

#define FOLD_TYPE s8
#define FOLD_VEC full_s8
#define FOLD_BYTES SIMD_BYTES
#define FOLD_ELEM 1
#include "kernels/reduce_fold.h"

#define FOLD_TYPE u8
#define FOLD_VEC full_u8
#define FOLD_BYTES SIMD_BYTES
#define FOLD_ELEM 1
#include "kernels/reduce_fold.h"

#define FOLD_TYPE s16
#define FOLD_VEC full_s16
#define FOLD_BYTES SIMD_BYTES
#define FOLD_ELEM 2
#include "kernels/reduce_fold.h"

#define FOLD_TYPE u16
#define FOLD_VEC full_u16
#define FOLD_BYTES SIMD_BYTES
#define FOLD_ELEM 2
#include "kernels/reduce_fold.h"

#define FOLD_TYPE s32
#define FOLD_VEC full_s32
#define FOLD_BYTES SIMD_BYTES
#define FOLD_ELEM 4
#include "kernels/reduce_fold.h"

#define FOLD_TYPE u32
#define FOLD_VEC full_u32
#define FOLD_BYTES SIMD_BYTES
#define FOLD_ELEM 4
#include "kernels/reduce_fold.h"

#define FOLD_TYPE s64
#define FOLD_VEC full_s64
#define FOLD_BYTES SIMD_BYTES
#define FOLD_ELEM 8
#include "kernels/reduce_fold.h"

#define FOLD_TYPE u64
#define FOLD_VEC full_u64
#define FOLD_BYTES SIMD_BYTES
#define FOLD_ELEM 8
#include "kernels/reduce_fold.h"

#define FOLD_TYPE f32
#define FOLD_VEC full_f32
#define FOLD_BYTES SIMD_BYTES
#define FOLD_ELEM 4
#include "kernels/reduce_fold.h"

#define FOLD_TYPE f64
#define FOLD_VEC full_f64
#define FOLD_BYTES SIMD_BYTES
#define FOLD_ELEM 8
#include "kernels/reduce_fold.h"

#define FOLD_TYPE fp16
#define FOLD_VEC full_f32
#define FOLD_BYTES (SIMD_BYTES / 2)
#define FOLD_ELEM 2
#include "kernels/reduce_fold.h"

#define FOLD_TYPE bf16
#define FOLD_VEC struct split_bf16
#define FOLD_BYTES SIMD_BYTES
#define FOLD_ELEM 2
#include "kernels/reduce_fold.h"

#define SIMD_ROW(type)                                                \
    {                                                                 \
        [RP_REDUCE_SUM] = sum_##type, [RP_REDUCE_PROD] = prod_##type, \
        [RP_REDUCE_MAX] = max_##type, [RP_REDUCE_MIN] = min_##type,   \
    }

#define SIMD_TABLE                                                            \
    {                                                                         \
        [RP_DTYPE_INT8] = SIMD_ROW(s8), [RP_DTYPE_INT16] = SIMD_ROW(s16),     \
        [RP_DTYPE_INT32] = SIMD_ROW(s32), [RP_DTYPE_FP16] = SIMD_ROW(fp16),   \
        [RP_DTYPE_FP32] = SIMD_ROW(f32), [RP_DTYPE_INT64] = SIMD_ROW(s64),    \
        [RP_DTYPE_UINT64] = SIMD_ROW(u64), [RP_DTYPE_UINT8] = SIMD_ROW(u8),   \
        [RP_DTYPE_UINT16] = SIMD_ROW(u16), [RP_DTYPE_UINT32] = SIMD_ROW(u32), \
        [RP_DTYPE_FP64] = SIMD_ROW(f64), [RP_DTYPE_BFP16] = SIMD_ROW(bf16),   \
    }

#endif
