// The software conversions of 16-bit floats, over every 16-bit pattern and around every tie, and
// the processors' converters through reductions that change nothing but the rounding.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/half.h"
#include "kernels/reduce.h"
#include "support/oracle_reduce.h"

#define PATTERNS 65536u

static const struct half_type {
    enum rp_dtype dtype;
    float (*widen)(uint16_t bits);
    uint16_t (*narrow)(float value);
    uint16_t infinity;
    uint16_t nan;
} types[] = {
    { RP_DTYPE_FP16, rp_fp16_to_fp32, rp_fp16_from_fp32, 0x7c00, 0x7e00 },
    { RP_DTYPE_BFP16, rp_bf16_to_fp32, rp_bf16_from_fp32, 0x7f80, 0x7fc0 },
};

#define TYPE_COUNT (sizeof types / sizeof types[0])

static bool is_nan(const struct half_type *t, uint16_t bits)
{
    return (bits & 0x7fff) > t->infinity;
}

static void expect_narrow(const struct half_type *t, float value)
{
    const uint16_t got = t->narrow(value);
    const uint16_t want = oracle_half_round(t->dtype, (double)value);

    cr_assert(got == want, "type %d: %a narrows to %#x, not %#x", (int)t->dtype, (double)value, got,
            want);
}

Test(half, widens_every_pattern_exactly)
{
    for (size_t k = 0; k < TYPE_COUNT; k++) {
        for (uint32_t bits = 0; bits < PATTERNS; bits++) {
            const float got = types[k].widen((uint16_t)bits);
            const double want = oracle_half_value(types[k].dtype, (uint16_t)bits);
            if (is_nan(&types[k], (uint16_t)bits)) {
                cr_assert(isnan(got));
                continue;
            }
            cr_assert(want == (double)got && !signbit(got) == !signbit(want), "%#x is %a, not %a",
                    bits, (double)got, want);
        }
    }
}

Test(half, narrows_every_widened_pattern_to_itself)
{
    for (size_t k = 0; k < TYPE_COUNT; k++) {
        for (uint32_t bits = 0; bits < PATTERNS; bits++) {
            const uint16_t back = types[k].narrow(types[k].widen((uint16_t)bits));
            const uint16_t want = is_nan(&types[k], (uint16_t)bits) ? types[k].nan : (uint16_t)bits;
            cr_assert(back == want, "%#x comes back as %#x", bits, back);
        }
    }
}

// Between each number and its neighbour: the tie, the fp32 just below and just above it.
Test(half, rounds_every_tie_to_even_and_its_neighbours_to_nearest)
{
    for (size_t k = 0; k < TYPE_COUNT; k++) {
        for (uint32_t bits = 0; bits < types[k].infinity; bits++) {
            const double low = oracle_half_value(types[k].dtype, (uint16_t)bits);
            const double high =
                    bits + 1 < types[k].infinity
                            ? oracle_half_value(types[k].dtype, (uint16_t)(bits + 1))
                            : 2 * low - oracle_half_value(types[k].dtype, (uint16_t)(bits - 1));
            const float tie = (float)(low / 2 + high / 2);
            const float near[] = { tie, nextafterf(tie, 0.0F), nextafterf(tie, INFINITY) };
            const uint16_t even = (uint16_t)(bits + (bits & 1));
            cr_assert(types[k].narrow(tie) == even, "tie above %#x", bits);
            for (size_t i = 0; i < sizeof near / sizeof near[0]; i++) {
                expect_narrow(&types[k], near[i]);
                expect_narrow(&types[k], -near[i]);
            }
        }
    }
}

// Every exponent of fp32 with fractions that differ in the bits that are rounded away.
Test(half, narrows_fp32_of_every_exponent)
{
    uint32_t state = 1;

    for (size_t k = 0; k < TYPE_COUNT; k++) {
        for (uint32_t exponent = 0; exponent < 512; exponent++) { // with the sign
            for (uint32_t i = 0; i < 200; i++) {
                state = state * 1664525u + 1013904223u;
                expect_narrow(&types[k], rp_fp32_from_bits(exponent << 23 | state >> 9));
            }
        }
        cr_assert(eq(u16, types[k].narrow(INFINITY), types[k].infinity));
        cr_assert(eq(u16, types[k].narrow(-INFINITY), types[k].infinity | 0x8000));
        cr_assert(eq(u16, types[k].narrow(rp_fp32_from_bits(0xff800001u)), types[k].nan));
    }
}

static uint16_t column[3][PATTERNS];
static uint16_t got[PATTERNS];
static uint16_t want[PATTERNS];

static void expect_fold(enum rp_dtype dtype, enum rp_reduce_op op, unsigned src_count)
{
    const void *srcs[] = { column[0], column[1], column[2] };
    void *dsts[] = { got };
    struct rp_cpu cpu;

    rp_cpu_detect(&cpu);
    oracle_reduce(dtype, op, srcs, src_count, want, PATTERNS);
    for (const struct rp_reduce_impl *const *impl = rp_reduce_impls; *impl != NULL; impl++) {
        if (!(*impl)->usable(&cpu)) {
            continue;
        }
        rp_reduce(*impl, dtype, op, dsts, 1, srcs, src_count, PATTERNS);
        for (uint32_t i = 0; i < PATTERNS; i++) {
            cr_assert(got[i] == want[i], "%s, type %d: %#x op %#x is %#x, not %#x", (*impl)->isa,
                    (int)dtype, column[0][i], column[1][i], got[i], want[i]);
        }
    }
}

// x + -0 is x: shows each converter on every pattern.
Test(half, every_isa_converts_every_pattern)
{
    for (size_t k = 0; k < TYPE_COUNT; k++) {
        for (uint32_t i = 0; i < PATTERNS; i++) {
            column[0][i] = (uint16_t)i;
            column[1][i] = 0x8000;
        }
        expect_fold(types[k].dtype, RP_REDUCE_SUM, 2);
    }
}

// x * 0.5 makes every tie among the subnormals, x * y with a short y the others.
Test(half, every_isa_rounds_products_alike)
{
    static const double factors[] = { 0.5, 0.75, -1.5, 0x1.04p-3, 0x1.fcp-9, 0x1.02p6 };

    for (size_t k = 0; k < TYPE_COUNT; k++) {
        for (size_t f = 0; f < sizeof factors / sizeof factors[0]; f++) {
            for (uint32_t i = 0; i < PATTERNS; i++) {
                column[0][i] = (uint16_t)i;
                column[1][i] = oracle_half_round(types[k].dtype, factors[f]);
            }
            expect_fold(types[k].dtype, RP_REDUCE_PROD, 2);
        }
    }
}

// x + half a unit of x is a tie; a third addend far below it must not be lost to an early rounding.
Test(half, every_isa_rounds_sums_once)
{
    static const double nudges[] = { 0, 0x1p-12, -0x1p-12 };

    for (size_t k = 0; k < TYPE_COUNT; k++) {
        for (size_t n = 0; n < sizeof nudges / sizeof nudges[0]; n++) {
            for (uint32_t i = 0; i < PATTERNS; i++) {
                const uint16_t next = (uint16_t)(i + 1);
                const double x = oracle_half_value(types[k].dtype, (uint16_t)i);
                const double unit = oracle_half_value(types[k].dtype, next) - x;
                column[0][i] = (uint16_t)i;
                column[1][i] = oracle_half_round(types[k].dtype, unit / 2);
                column[2][i] = oracle_half_round(types[k].dtype, unit * nudges[n]);
            }
            expect_fold(types[k].dtype, RP_REDUCE_SUM, 3);
        }
    }
}
