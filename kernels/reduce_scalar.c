// Reductions one element at a time: runs anywhere, and is what the other
// instruction sets must equal bit for bit. It shares no code with them.

#include <float.h>
#include <stdint.h>
#include <string.h>

#include "kernels/half.h"
#include "kernels/reduce.h"

#if FLT_EVAL_METHOD != 0
#error "equal bits need float arithmetic in float: build with SSE2 on x86"
#endif
#if defined(__FAST_MATH__)
#error "equal bits need IEEE arithmetic: build without -ffast-math"
#endif

#define SCALAR_INLINE static inline __attribute__((always_inline))

// Every type has: get and put between memory and the accumulator, apply and finish on it.

#define DEFINE_INTEGER(name, type, wrapping)                                 \
    SCALAR_INLINE type get_##name(const void *base, size_t i)                \
    {                                                                        \
        type value;                                                          \
        memcpy(&value, (const char *)base + i * sizeof value, sizeof value); \
        return value;                                                        \
    }                                                                        \
    SCALAR_INLINE void put_##name(void *base, size_t i, type value)          \
    {                                                                        \
        memcpy((char *)base + i * sizeof value, &value, sizeof value);       \
    }                                                                        \
    SCALAR_INLINE type apply_##name(enum rp_reduce_op op, type a, type b)    \
    {                                                                        \
        switch (op) {                                                        \
        case RP_REDUCE_PROD:                                                 \
            return (type)((wrapping)a * (wrapping)b);                        \
        case RP_REDUCE_MAX:                                                  \
            return a > b ? a : b;                                            \
        case RP_REDUCE_MIN:                                                  \
            return a < b ? a : b;                                            \
        case RP_REDUCE_SUM:                                                  \
        default:                                                             \
            return (type)((wrapping)a + (wrapping)b);                        \
        }                                                                    \
    }                                                                        \
    SCALAR_INLINE type finish_##name(type value)                             \
    {                                                                        \
        return value;                                                        \
    }

// `wrapping` is an unsigned type that is not promoted to int: a product of two uint16_t overflows
// it.
DEFINE_INTEGER(s8, int8_t, uint32_t)
DEFINE_INTEGER(u8, uint8_t, uint32_t)
DEFINE_INTEGER(s16, int16_t, uint32_t)
DEFINE_INTEGER(u16, uint16_t, uint32_t)
DEFINE_INTEGER(s32, int32_t, uint32_t)
DEFINE_INTEGER(u32, uint32_t, uint32_t)
DEFINE_INTEGER(s64, int64_t, uint64_t)
DEFINE_INTEGER(u64, uint64_t, uint64_t)

#define DEFINE_FLOAT_APPLY(name, type, sign_of)                                          \
    SCALAR_INLINE type apply_##name(enum rp_reduce_op op, type a, type b)                \
    {                                                                                    \
        switch (op) {                                                                    \
        case RP_REDUCE_PROD:                                                             \
            return a * b;                                                                \
        case RP_REDUCE_MAX:                                                              \
        case RP_REDUCE_MIN:                                                              \
            if (a != a) {                                                                \
                return a;                                                                \
            }                                                                            \
            if (b != b) {                                                                \
                return b;                                                                \
            }                                                                            \
            if (a == b) { /* the same value, or two zeros: max wants the positive one */ \
                return (sign_of(a) != 0) == (op == RP_REDUCE_MIN) ? a : b;               \
            }                                                                            \
            return (a > b) == (op == RP_REDUCE_MAX) ? a : b;                             \
        case RP_REDUCE_SUM:                                                              \
        default:                                                                         \
            return a + b;                                                                \
        }                                                                                \
    }

DEFINE_FLOAT_APPLY(f32, float, __builtin_signbit)
DEFINE_FLOAT_APPLY(f64, double, __builtin_signbit)
#define apply_fp16 apply_f32
#define apply_bf16 apply_f32

SCALAR_INLINE float get_f32(const void *base, size_t i)
{
    float value;

    memcpy(&value, (const char *)base + i * sizeof value, sizeof value);
    return value;
}

SCALAR_INLINE void put_f32(void *base, size_t i, float value)
{
    memcpy((char *)base + i * sizeof value, &value, sizeof value);
}

SCALAR_INLINE float finish_f32(float value)
{
    return value != value ? rp_fp32_from_bits(RP_FP32_NAN) : value;
}

SCALAR_INLINE double get_f64(const void *base, size_t i)
{
    double value;

    memcpy(&value, (const char *)base + i * sizeof value, sizeof value);
    return value;
}

SCALAR_INLINE void put_f64(void *base, size_t i, double value)
{
    memcpy((char *)base + i * sizeof value, &value, sizeof value);
}

SCALAR_INLINE double finish_f64(double value)
{
    const uint64_t nan_bits = RP_FP64_NAN;
    double nan;

    memcpy(&nan, &nan_bits, sizeof nan);
    return value != value ? nan : value;
}

SCALAR_INLINE float get_fp16(const void *base, size_t i)
{
    return rp_fp16_to_fp32(get_u16(base, i));
}

// Narrowing makes the canonical NaN by itself.
SCALAR_INLINE void put_fp16(void *base, size_t i, float value)
{
    put_u16(base, i, rp_fp16_from_fp32(value));
}

SCALAR_INLINE float get_bf16(const void *base, size_t i)
{
    return rp_bf16_to_fp32(get_u16(base, i));
}

SCALAR_INLINE void put_bf16(void *base, size_t i, float value)
{
    put_u16(base, i, rp_bf16_from_fp32(value));
}

SCALAR_INLINE float finish_half(float value)
{
    return value;
}
#define finish_fp16 finish_half
#define finish_bf16 finish_half

// Streaming is a hint about stores, which an element at a time does not take.
#define DEFINE_FOLD(name, accumulator, suffix, op)                                              \
    static void suffix##_##name(void *const *dsts, unsigned dst_count, const void *const *srcs, \
            unsigned src_count, size_t first, size_t end, bool stream)                          \
    {                                                                                           \
        (void)stream;                                                                           \
        for (size_t i = first; i < end; i++) {                                                  \
            accumulator value = get_##name(srcs[0], i);                                         \
            for (unsigned s = 1; s < src_count; s++) {                                          \
                value = apply_##name(op, value, get_##name(srcs[s], i));                        \
            }                                                                                   \
            value = finish_##name(value);                                                       \
            for (unsigned d = 0; d < dst_count; d++) {                                          \
                put_##name(dsts[d], i, value);                                                  \
            }                                                                                   \
        }                                                                                       \
    }

#define DEFINE_FOLDS(name, accumulator)                  \
    DEFINE_FOLD(name, accumulator, sum, RP_REDUCE_SUM)   \
    DEFINE_FOLD(name, accumulator, prod, RP_REDUCE_PROD) \
    DEFINE_FOLD(name, accumulator, max, RP_REDUCE_MAX)   \
    DEFINE_FOLD(name, accumulator, min, RP_REDUCE_MIN)

DEFINE_FOLDS(s8, int8_t)
DEFINE_FOLDS(u8, uint8_t)
DEFINE_FOLDS(s16, int16_t)
DEFINE_FOLDS(u16, uint16_t)
DEFINE_FOLDS(s32, int32_t)
DEFINE_FOLDS(u32, uint32_t)
DEFINE_FOLDS(s64, int64_t)
DEFINE_FOLDS(u64, uint64_t)
DEFINE_FOLDS(f32, float)
DEFINE_FOLDS(f64, double)
DEFINE_FOLDS(fp16, float)
DEFINE_FOLDS(bf16, float)

static bool usable(const struct rp_cpu *cpu)
{
    (void)cpu;
    return true;
}

#define ROW(name)                                                     \
    {                                                                 \
        [RP_REDUCE_SUM] = sum_##name, [RP_REDUCE_PROD] = prod_##name, \
        [RP_REDUCE_MAX] = max_##name, [RP_REDUCE_MIN] = min_##name,   \
    }

// clang-format off
#define TABLE                                                                                      \
    {                                                                                              \
        [RP_DTYPE_INT8] = ROW(s8), [RP_DTYPE_INT16] = ROW(s16), [RP_DTYPE_INT32] = ROW(s32),       \
        [RP_DTYPE_INT64] = ROW(s64), [RP_DTYPE_UINT8] = ROW(u8), [RP_DTYPE_UINT16] = ROW(u16),     \
        [RP_DTYPE_UINT32] = ROW(u32), [RP_DTYPE_UINT64] = ROW(u64), [RP_DTYPE_FP16] = ROW(fp16),   \
        [RP_DTYPE_BFP16] = ROW(bf16), [RP_DTYPE_FP32] = ROW(f32), [RP_DTYPE_FP64] = ROW(f64),      \
    }
// clang-format on

const struct rp_reduce_impl rp_reduce_scalar = {
    .isa = "scalar",
    .usable = usable,
    .fold = TABLE,
};
