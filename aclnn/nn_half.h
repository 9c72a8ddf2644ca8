#ifndef REPRISE_ACLNN_NN_HALF_H
#define REPRISE_ACLNN_NN_HALF_H

/*
 * IEEE half precision in bits: infinities and NaNs included, which the conversions of
 * acl_base.h leave out. No intrinsics: they would need a processor that has them.
 */

#include <stdint.h>
#include <string.h>

static inline float nn_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/** nn_half_to_float: exact. */
static inline float nn_half_to_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t exponent = (half >> 10) & 0x1fu;
    const uint32_t fraction = half & 0x3ffu;
    if (exponent == 0x1f) { /* infinity; NaN keeps its payload */
        return nn_float_of_bits(sign | 0x7f800000u | fraction << 13);
    }
    if (exponent == 0) { /* fraction * 2^-24, exact in fp32 */
        const float value = (float)fraction * 0x1p-24f;
        return sign != 0 ? -value : value;
    }
    return nn_float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

/** nn_float_to_half: to the nearest, ties to even; too large becomes infinity. */
static inline uint16_t nn_float_to_half(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) { /* NaN, made quiet */
        return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
    }
    if (magnitude >= 0x477ff000u) { /* rounds to 2^16 or more */
        return (uint16_t)(sign | 0x7c00u);
    }
    if (magnitude < 0x38800000u) { /* below 2^-14: a multiple of 2^-24, found by adding 0.5 */
        const float shifted = nn_float_of_bits(magnitude) + 0.5f;
        uint32_t rounded;
        memcpy(&rounded, &shifted, sizeof(rounded));
        return (uint16_t)(sign | (rounded - 0x3f000000u));
    }
    const uint32_t odd = magnitude >> 13 & 1u;
    return (uint16_t)(sign | ((magnitude - (112u << 23) + 0xfffu + odd) >> 13));
}

#endif
