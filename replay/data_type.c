// Element types and half precision.

#include <acl/acl_base.h>
#include <stdint.h>
#include <string.h>

size_t aclDataTypeSize(aclDataType dataType)
{
    switch (dataType) {
    case ACL_DT_UNDEFINED:
    case ACL_STRING:
        return 0;
    case ACL_UINT1: // packed; a byte is the least there is
    case ACL_INT4:
    case ACL_BOOL:
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_HIFLOAT8:
    case ACL_FLOAT8_E5M2:
    case ACL_FLOAT8_E4M3FN:
    case ACL_FLOAT8_E8M0:
        return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
        return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32:
        return 4;
    case ACL_COMPLEX128:
        return 16;
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_DOUBLE:
    case ACL_COMPLEX64:
    case ACL_FLOAT6_E3M2: // as the interface answers for types that it does not size
    case ACL_FLOAT6_E2M3:
    case ACL_FLOAT4_E2M1:
    case ACL_FLOAT4_E1M2:
        break;
    }
    return 8;
}

// Every exponent is a number here, also the one that IEEE 754 keeps for infinity and NaN.
float aclFloat16ToFloat(aclFloat16 value)
{
    const uint32_t sign = (uint32_t)(value >> 15) << 31;
    uint32_t exponent = value >> 10 & 0x1f;
    uint32_t fraction = value & 0x3ff;
    uint32_t bits = sign;
    if (exponent == 0 && fraction != 0) {
        exponent = 1;
        while ((fraction & 0x400) == 0) { // a subnormal number becomes a normal one
            fraction <<= 1;
            exponent--;
        }
        fraction &= 0x3ff;
        bits |= (exponent + 127 - 15) << 23 | fraction << 13;
    } else if (exponent != 0) {
        bits |= (exponent + 127 - 15) << 23 | fraction << 13;
    }
    float out;
    memcpy(&out, &bits, sizeof(out));
    return out;
}

#define HALF_MAX 0x7bff // 65504

// `value` without its lowest `drop` bits, rounded to the nearest, a tie to the even one.
static uint32_t round_even(uint32_t value, unsigned drop)
{
    const uint32_t half = UINT32_C(1) << (drop - 1);
    const uint32_t rest = value & (2 * half - 1);
    const uint32_t kept = value >> drop;
    return kept + (rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0);
}

// What is too large, infinite or no number becomes the largest one of its sign.
aclFloat16 aclFloatToFloat16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    const uint32_t sign = bits >> 31 << 15;
    const uint32_t exponent = bits >> 23 & 0xff;
    const uint32_t fraction = bits & 0x7fffff;
    uint32_t half = 0;
    if (exponent > 127 + 15) {
        half = HALF_MAX;
    } else if (exponent > 127 - 15) {
        half = round_even(
                (exponent - (127 - 15)) << 23 | fraction, 13); // may carry into the exponent
        half = half > HALF_MAX ? HALF_MAX : half;
    } else if (exponent >= 127 - 24) {
        half = round_even(fraction | 0x800000, 127 - 15 + 14 - exponent);
    } else if (exponent == 127 - 25 && fraction != 0) {
        half = 1; // more than half of the smallest subnormal number
    }
    return (aclFloat16)(sign | half);
}
