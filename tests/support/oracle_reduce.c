#include "support/oracle_reduce.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

// The two 16-bit formats: a sign, exponent bits, fraction bits.
struct format {
    int fraction_bits;
    int exponent_max; // the exponent field of infinities and NaNs
    int exponent_bias;
    uint16_t nan;
};

static struct format format_of(enum rp_dtype dtype)
{
    if (dtype == RP_DTYPE_FP16) {
        return (struct format){ 10, 31, 15, 0x7e00 };
    }
    return (struct format){ 7, 255, 127, 0x7fc0 };
}

double oracle_half_value(enum rp_dtype dtype, uint16_t bits)
{
    const struct format f = format_of(dtype);
    const int fraction = bits & ((1 << f.fraction_bits) - 1);
    const int exponent = (bits >> f.fraction_bits) & f.exponent_max;
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;

    if (exponent == f.exponent_max) {
        return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    }
    if (exponent == 0) {
        return sign * ldexp(fraction, 1 - f.exponent_bias - f.fraction_bits);
    }
    return sign *
           ldexp(fraction + (1 << f.fraction_bits), exponent - f.exponent_bias - f.fraction_bits);
}

uint16_t oracle_half_round(enum rp_dtype dtype, double value)
{
    const struct format f = format_of(dtype);
    const int sign = signbit(value) ? 0x8000 : 0;
    const int infinity = f.exponent_max << f.fraction_bits;
    const int normal_min = 1 - f.exponent_bias;
    int exponent;

    if (isnan(value)) {
        return f.nan;
    }
    if (isinf(value)) {
        return (uint16_t)(sign | infinity);
    }
    frexp(value, &exponent); // value = [0.5, 1) * 2^exponent
    exponent = value == 0 || exponent - 1 < normal_min ? normal_min : exponent - 1;
    // Whole units of the last place, so the rounding of nearbyint() is the format's.
    const int units = (int)nearbyint(ldexp(fabs(value), f.fraction_bits - exponent));
    const int field = exponent - normal_min;
    // A normal number's leading unit counts once in `field`; rounding up to a power of two carries.
    const int magnitude = (field << f.fraction_bits) + units;
    return (uint16_t)(sign | (magnitude < infinity ? magnitude : infinity));
}

static bool is_signed(enum rp_dtype dtype)
{
    return dtype == RP_DTYPE_INT8 || dtype == RP_DTYPE_INT16 || dtype == RP_DTYPE_INT32 ||
           dtype == RP_DTYPE_INT64;
}

// An integer element widened to 64 bits by its own sign rule; little-endian, as both architectures
// are.
static uint64_t integer_get(enum rp_dtype dtype, const uint8_t *from)
{
    const size_t bytes = rp_dtype_bytes(dtype);
    uint64_t value = 0;

    for (size_t i = 0; i < bytes; i++) {
        value |= (uint64_t)from[i] << 8 * i;
    }
    if (is_signed(dtype) && bytes < 8 && (from[bytes - 1] & 0x80) != 0) {
        value |= UINT64_MAX << 8 * bytes;
    }
    return value;
}

static uint64_t integer_apply(enum rp_dtype dtype, enum rp_reduce_op op, uint64_t a, uint64_t b)
{
    const bool a_is_less = is_signed(dtype) ? (int64_t)a < (int64_t)b : a < b;

    switch (op) {
    case RP_REDUCE_SUM:
        return a + b;
    case RP_REDUCE_PROD:
        return a * b;
    case RP_REDUCE_MAX:
        return a_is_less ? b : a;
    case RP_REDUCE_MIN:
    default:
        return a_is_less ? a : b;
    }
}

static double float_extreme(enum rp_reduce_op op, double a, double b)
{
    if (isnan(a) || isnan(b)) {
        return (double)NAN;
    }
    if (a == 0 && b == 0) {
        const bool negative =
                op == RP_REDUCE_MAX ? signbit(a) && signbit(b) : signbit(a) || signbit(b);
        return negative ? -0.0 : 0.0;
    }
    if (op == RP_REDUCE_MAX) {
        return a < b ? b : a;
    }
    return b < a ? b : a;
}

/*
 * One step on fp64, or on fp32 values held in doubles. A sum or product of two
 * fp32 rounded to fp64 and then to fp32 is rounded right: 53 >= 2 * 24 + 2.
 */
static double float_apply(bool single, enum rp_reduce_op op, double a, double b)
{
    double value;

    if (op == RP_REDUCE_MAX || op == RP_REDUCE_MIN) {
        return float_extreme(op, a, b);
    }
    value = op == RP_REDUCE_SUM ? a + b : a * b;
    return single ? (double)(float)value : value;
}

static double float_get(enum rp_dtype dtype, const uint8_t *from)
{
    uint16_t half;
    float single;
    double value;

    if (dtype == RP_DTYPE_FP64) {
        memcpy(&value, from, sizeof value);
        return value;
    }
    if (dtype == RP_DTYPE_FP32) {
        memcpy(&single, from, sizeof single);
        return (double)single;
    }
    memcpy(&half, from, sizeof half);
    return oracle_half_value(dtype, half);
}

static void float_put(enum rp_dtype dtype, uint8_t *to, double value)
{
    static const uint32_t single_nan = 0x7fc00000;
    static const uint64_t double_nan = 0x7ff8000000000000;
    const float single = (float)value;
    const bool nan = isnan(value);

    if (dtype == RP_DTYPE_FP64) {
        memcpy(to, nan ? (const void *)&double_nan : &value, sizeof value);
    } else if (dtype == RP_DTYPE_FP32) {
        memcpy(to, nan ? (const void *)&single_nan : &single, sizeof single);
    } else {
        const uint16_t half = oracle_half_round(dtype, value);
        memcpy(to, &half, sizeof half);
    }
}

static bool is_float(enum rp_dtype dtype)
{
    return dtype == RP_DTYPE_FP16 || dtype == RP_DTYPE_BFP16 || dtype == RP_DTYPE_FP32 ||
           dtype == RP_DTYPE_FP64;
}

void oracle_reduce(enum rp_dtype dtype, enum rp_reduce_op op, const void *const *srcs, unsigned n,
        void *dst, size_t count)
{
    const size_t bytes = rp_dtype_bytes(dtype);

    if (n == 1) {
        memmove(dst, srcs[0], count * bytes);
        return;
    }
    for (size_t at = 0; at < count * bytes; at += bytes) {
        uint8_t *to = (uint8_t *)dst + at;
        if (is_float(dtype)) {
            double value = float_get(dtype, (const uint8_t *)srcs[0] + at);
            for (unsigned s = 1; s < n; s++) {
                const double next = float_get(dtype, (const uint8_t *)srcs[s] + at);
                value = float_apply(dtype != RP_DTYPE_FP64, op, value, next);
            }
            float_put(dtype, to, value);
        } else {
            uint64_t value = integer_get(dtype, (const uint8_t *)srcs[0] + at);
            for (unsigned s = 1; s < n; s++) {
                const uint64_t next = integer_get(dtype, (const uint8_t *)srcs[s] + at);
                value = integer_apply(dtype, op, value, next);
            }
            memcpy(to, &value, bytes); // little-endian: the low bytes
        }
    }
}
