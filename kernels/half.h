#ifndef REPRISE_KERNELS_HALF_H
#define REPRISE_KERNELS_HALF_H

/*
 * 16-bit floats in software: the same bits as F16C and AArch64's converters on
 * any machine, whatever rounding mode or flush-to-zero the thread has set,
 * since only integers are used.
 *
 * Widening is exact. Narrowing rounds to nearest, ties to even; values from
 * half a unit above the largest finite number on become infinity; subnormals
 * are kept. A NaN narrows to the one quiet NaN of the type, without sign or
 * payload, because the converters of different CPUs keep different ones.
 */

#include <stdint.h>
#include <string.h>

#define RP_FP16_NAN 0x7e00u
#define RP_BF16_NAN 0x7fc0u
#define RP_FP32_NAN 0x7fc00000u
#define RP_FP64_NAN 0x7ff8000000000000u

static inline float rp_fp32_from_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t rp_fp32_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/** rp_fp16_to_fp32: exact; a NaN stays a NaN with its payload. */
static inline float rp_fp16_to_fp32(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t magnitude = half & 0x7fffu;

    if (magnitude >= 0x7c00u) {
        return rp_fp32_from_bits(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    }
    if (magnitude >= 0x400u) {
        return rp_fp32_from_bits(sign | ((magnitude << 13) + (112u << 23)));
    }
    if (magnitude == 0) {
        return rp_fp32_from_bits(sign);
    }
    // Subnormal, in units of 2^-24. The leading one becomes implicit, so its place sets the
    // exponent.
    const uint32_t top = 31u - (uint32_t)__builtin_clz(magnitude);

    return rp_fp32_from_bits(sign | (top + 103u) << 23 | ((magnitude << (23u - top)) & 0x7fffffu));
}

/** rp_fp16_from_fp32: nearest, ties to even; NaN becomes RP_FP16_NAN. */
static inline uint16_t rp_fp16_from_fp32(float value)
{
    const uint32_t bits = rp_fp32_bits(value);
    const uint32_t sign = bits >> 16 & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;

    if (magnitude > 0x7f800000u) {
        return RP_FP16_NAN;
    }
    if (magnitude >= 0x47800000u) { // 2^16
        return (uint16_t)(sign | 0x7c00u);
    }
    if (magnitude >= 0x38800000u) { // 2^-14, the smallest normal
        // A carry out of the fraction correctly enters the exponent, up to infinity.
        const uint32_t rebased = magnitude - (112u << 23);
        return (uint16_t)(sign | (rebased + 0xfffu + (rebased >> 13 & 1u)) >> 13);
    }
    if (magnitude <= 0x33000000u) { // 2^-25, a tie between zero and the smallest subnormal
        return (uint16_t)sign;
    }
    // Subnormal: shift the fraction, leading one included, to units of 2^-24.
    const uint32_t shift = 126u - (magnitude >> 23);
    const uint32_t fraction = (magnitude & 0x7fffffu) | 0x800000u;
    const uint32_t below_half = (1u << (shift - 1u)) - 1u;

    return (uint16_t)(sign | (fraction + below_half + (fraction >> shift & 1u)) >> shift);
}

/** rp_bf16_to_fp32: exact; a NaN stays a NaN with its payload. */
static inline float rp_bf16_to_fp32(uint16_t half)
{
    return rp_fp32_from_bits((uint32_t)half << 16);
}

/** rp_bf16_from_fp32: nearest, ties to even; NaN becomes RP_BF16_NAN. */
static inline uint16_t rp_bf16_from_fp32(float value)
{
    const uint32_t bits = rp_fp32_bits(value);

    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return RP_BF16_NAN;
    }
    // A carry out of the fraction enters the exponent; past the largest it makes infinity.
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#endif
