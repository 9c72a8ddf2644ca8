// Reductions against the independent oracle, bit for bit, on every instruction set of this machine.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/copy.h"
#include "kernels/float_env.h"
#include "kernels/half.h"
#include "kernels/reduce.h"
#include "support/oracle_reduce.h"

#define SRC_MAX 8
#define COUNT_MAX 5000
#define ELEMENT_MAX 8
#define GUARD 128
#define ARRAY_BYTES (GUARD + COUNT_MAX * ELEMENT_MAX + GUARD)

static const unsigned src_counts[] = { 1, 2, 3, 5, 8 };
static const size_t counts[] = { 0, 1, 7, 8, 15, 16, 17, 63, 64, 65, 127, 1000 };

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

// Arrays as ranks would own them. `pristine` keeps what srcs held, for in-place runs and guards.
static _Alignas(64) uint8_t srcs[SRC_MAX][ARRAY_BYTES];
static _Alignas(64) uint8_t dsts[SRC_MAX][ARRAY_BYTES];
static uint8_t pristine[SRC_MAX][ARRAY_BYTES];
static uint8_t expected[ARRAY_BYTES];

static uint64_t random_state = 88172645463325252u;

static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

struct float_layout {
    enum rp_dtype dtype;
    unsigned fraction_bits;
    uint64_t one;
    uint64_t infinity;
    uint64_t sign;
};

static const struct float_layout layouts[] = {
    { RP_DTYPE_FP16, 10, 0x3c00, 0x7c00, 0x8000 },
    { RP_DTYPE_BFP16, 7, 0x3f80, 0x7f80, 0x8000 },
    { RP_DTYPE_FP32, 23, 0x3f800000, 0x7f800000, 0x80000000 },
    { RP_DTYPE_FP64, 52, 0x3ff0000000000000, 0x7ff0000000000000, 0x8000000000000000 },
};

static const struct float_layout *float_layout(enum rp_dtype dtype)
{
    for (size_t i = 0; i < LENGTH(layouts); i++) {
        if (layouts[i].dtype == dtype) {
            return &layouts[i];
        }
    }
    return NULL;
}

/*
 * Any bits at all would make nearly every sum NaN or swallowed, so most floats
 * lie within a few powers of two of one, where roundings differ; the rest are
 * the special ones.
 */
static uint64_t random_element(enum rp_dtype dtype)
{
    const struct float_layout *f = float_layout(dtype);
    const uint64_t bits = random_bits();

    if (f == NULL) {
        return bits % 8 == 0 ? UINT64_MAX << bits / 8 % 64 : bits;
    }
    const uint64_t fraction = bits >> 8 & ((UINT64_C(1) << f->fraction_bits) - 1);
    const uint64_t sign = (bits & 0x80) != 0 ? f->sign : 0;
    switch (bits % 32) {
    case 0:
        return sign; // zero
    case 1:
        return sign | f->infinity;
    case 2:
        return sign | f->infinity | fraction | 1; // NaN, signalling or quiet
    case 3:
    case 4:
        return sign | fraction; // subnormal
    case 5:
        return sign | (f->infinity - 1); // the largest
    case 6:
    case 7:
        return random_bits();
    default:
        return sign |
               (f->one + (random_bits() % 8 << f->fraction_bits) -
                       (UINT64_C(4) << f->fraction_bits)) |
               fraction;
    }
}

static void fill_sources(enum rp_dtype dtype)
{
    const size_t bytes = rp_dtype_bytes(dtype);

    for (unsigned s = 0; s < SRC_MAX; s++) {
        for (size_t at = 0; at + bytes <= ARRAY_BYTES; at += bytes) {
            const uint64_t element = random_element(dtype);
            memcpy(pristine[s] + at, &element, bytes);
        }
        memcpy(srcs[s], pristine[s], ARRAY_BYTES);
    }
}

// One reduction: where each array starts in its storage, and which destinations are sources.
struct run {
    const struct rp_reduce_impl *impl;
    enum rp_dtype dtype;
    enum rp_reduce_op op;
    unsigned src_count;
    unsigned dst_count;
    size_t count;
    size_t src_at[SRC_MAX]; // bytes into srcs[s] / pristine[s]
    size_t dst_at[SRC_MAX]; // bytes into dsts[d]; unused for one that is in place
    int in_place[SRC_MAX];  // source that destination d is, or -1
    bool stream;
};

static void expect_untouched(const struct run *r, const uint8_t *got, const uint8_t *was, size_t at,
        const char *what, unsigned index)
{
    const size_t bytes = r->count * rp_dtype_bytes(r->dtype);

    cr_assert(memcmp(got, was, at) == 0 &&
                      memcmp(got + at + bytes, was + at + bytes, ARRAY_BYTES - at - bytes) == 0,
            "%s, type %d, op %d, %u sources, %zu elements: wrote outside %s %u", r->impl->isa,
            (int)r->dtype, (int)r->op, r->src_count, r->count, what, index);
}

static void expect_result(const struct run *r, const uint8_t *got, unsigned index)
{
    const size_t bytes = rp_dtype_bytes(r->dtype);

    for (size_t i = 0; i < r->count; i++) {
        uint64_t have = 0;
        uint64_t want = 0;
        memcpy(&have, got + i * bytes, bytes);
        memcpy(&want, expected + i * bytes, bytes);
        cr_assert(have == want,
                "%s, type %d, op %d, %u sources, %zu elements, destination %u: [%zu] is %#llx, "
                "not %#llx",
                r->impl->isa, (int)r->dtype, (int)r->op, r->src_count, r->count, index, i,
                (unsigned long long)have, (unsigned long long)want);
    }
}

// Runs, compares every destination and its guards, and puts the sources back.
static void expect_oracle(const struct run *r)
{
    static uint8_t untouched[ARRAY_BYTES];
    const void *from[SRC_MAX];
    const void *oracle_from[SRC_MAX];
    void *to[SRC_MAX];
    const uint8_t guard = (uint8_t)random_bits();

    memset(untouched, guard, sizeof untouched);
    for (unsigned s = 0; s < r->src_count; s++) {
        from[s] = srcs[s] + r->src_at[s];
        oracle_from[s] = pristine[s] + r->src_at[s];
    }
    for (unsigned d = 0; d < r->dst_count; d++) {
        const int s = r->in_place[d];
        memset(dsts[d], guard, ARRAY_BYTES);
        to[d] = s >= 0 ? srcs[s] + r->src_at[s] : dsts[d] + r->dst_at[d];
    }
    oracle_reduce(r->dtype, r->op, oracle_from, r->src_count, expected, r->count);
    (r->stream ? rp_reduce_stream : rp_reduce)(
            r->impl, r->dtype, r->op, to, r->dst_count, from, r->src_count, r->count);
    for (unsigned d = 0; d < r->dst_count; d++) {
        const int s = r->in_place[d];
        expect_result(r, to[d], d);
        if (s >= 0) {
            expect_untouched(r, srcs[s], pristine[s], r->src_at[s], "source", (unsigned)s);
            memcpy(srcs[s], pristine[s], ARRAY_BYTES);
        } else {
            expect_untouched(r, dsts[d], untouched, r->dst_at[d], "destination", d);
        }
    }
    for (unsigned s = 0; s < r->src_count; s++) {
        cr_assert(memcmp(srcs[s], pristine[s], ARRAY_BYTES) == 0, "a source changed");
    }
}

// Calls `body` for every usable instruction set, reducible type and operation.
static void for_each_kernel(void (*body)(struct run *r))
{
    struct rp_cpu cpu;

    rp_cpu_detect(&cpu);
    for (unsigned dtype = 0; dtype < RP_DTYPE_REDUCIBLE; dtype++) {
        fill_sources((enum rp_dtype)dtype);
        for (unsigned op = 0; op < RP_REDUCE_OPS; op++) {
            for (size_t i = 0; rp_reduce_impls[i] != NULL; i++) {
                struct run r = { .impl = rp_reduce_impls[i],
                    .dtype = (enum rp_dtype)dtype,
                    .op = (enum rp_reduce_op)op };
                for (unsigned a = 0; a < SRC_MAX; a++) {
                    r.src_at[a] = GUARD;
                    r.dst_at[a] = GUARD;
                    r.in_place[a] = -1;
                }
                if (r.impl->usable(&cpu)) {
                    body(&r);
                }
            }
        }
    }
}

static void misalign(struct run *r)
{
    for (unsigned a = 0; a < SRC_MAX; a++) {
        r->src_at[a] = GUARD - random_bits() % 64;
        r->dst_at[a] = GUARD - random_bits() % 64;
    }
}

static void every_count(struct run *r)
{
    for (size_t n = 0; n < LENGTH(src_counts); n++) {
        for (size_t c = 0; c < LENGTH(counts); c++) {
            r->src_count = src_counts[n];
            r->count = counts[c];
            r->dst_count = 1;
            expect_oracle(r);
        }
    }
}

Test(reduce, equals_the_oracle_at_every_count)
{
    for_each_kernel(every_count);
}

static void every_count_misaligned(struct run *r)
{
    misalign(r);
    every_count(r);
}

Test(reduce, needs_no_alignment)
{
    for_each_kernel(every_count_misaligned);
}

static void every_place(struct run *r)
{
    static const size_t lengths[] = { 1, 9, 65, 300 };

    for (size_t c = 0; c < LENGTH(lengths); c++) {
        for (size_t n = 0; n < LENGTH(src_counts); n++) {
            misalign(r);
            r->src_count = src_counts[n];
            r->count = lengths[c];
            r->dst_count = 1;
            for (unsigned s = 0; s < r->src_count; s++) {
                r->in_place[0] = (int)s;
                expect_oracle(r);
            }
        }
    }
}

Test(reduce, may_write_over_any_source)
{
    for_each_kernel(every_place);
}

// As in a zero-copy all-reduce: a destination per rank, some of them in place, some not.
static void every_destination(struct run *r)
{
    static const size_t lengths[] = { 0, 1, 33, 257 };

    for (size_t c = 0; c < LENGTH(lengths); c++) {
        for (size_t n = 0; n < LENGTH(src_counts); n++) {
            for (unsigned d = 0; d <= SRC_MAX; d++) {
                r->src_count = src_counts[n];
                r->count = lengths[c];
                r->dst_count = d;
                misalign(r);
                for (unsigned a = 0; a < SRC_MAX; a++) {
                    r->in_place[a] = a < r->src_count && random_bits() % 2 != 0 ? (int)a : -1;
                }
                expect_oracle(r);
            }
        }
    }
}

Test(reduce, stores_into_every_destination)
{
    for_each_kernel(every_destination);
}

// Three arrays that end where the next page cannot be touched: an overrun crashes.
static uint8_t *edges[3];

static void map_edges(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    for (size_t a = 0; a < LENGTH(edges); a++) {
        uint8_t *base =
                mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        cr_assert(base != MAP_FAILED);
        cr_assert(mprotect(base + page, page, PROT_NONE) == 0);
        edges[a] = base + page;
    }
}

static void every_edge(struct run *r)
{
    const size_t bytes = rp_dtype_bytes(r->dtype);

    r->src_count = 2;
    for (r->count = 1; r->count <= 130; r->count++) {
        const void *from[] = { edges[0] - r->count * bytes, edges[1] - r->count * bytes };
        void *to[] = { edges[2] - r->count * bytes };
        memcpy(edges[0] - r->count * bytes, pristine[0], r->count * bytes);
        memcpy(edges[1] - r->count * bytes, pristine[1], r->count * bytes);
        oracle_reduce(r->dtype, r->op, from, 2, expected, r->count);
        rp_reduce(r->impl, r->dtype, r->op, to, 1, from, 2, r->count);
        expect_result(r, to[0], 0);
        rp_reduce_stream(r->impl, r->dtype, r->op, to, 1, from, 2, r->count);
        expect_result(r, to[0], 0);
    }
}

Test(reduce, touches_nothing_past_the_end)
{
    map_edges();
    for_each_kernel(every_edge);
}

// Alike, so that stores stream after an unaligned head; at odd addresses and apart, so that they
// cannot.
static void every_stream(struct run *r)
{
    static const size_t lengths[] = { 0, 1, 63, 64, 1000, COUNT_MAX };

    r->stream = true;
    for (size_t c = 0; c < LENGTH(lengths); c++) {
        for (size_t shift = 0; shift < 4; shift++) {
            misalign(r);
            r->count = lengths[c];
            r->src_count = 1 + (unsigned)(random_bits() % 4);
            r->dst_count = 1 + (unsigned)(random_bits() % 4);
            const size_t at = shift < 2 ? shift * rp_dtype_bytes(r->dtype) * 3 : shift;
            for (unsigned d = 0; d < SRC_MAX && shift < 3; d++) {
                r->dst_at[d] = GUARD - at % 64;
            }
            expect_oracle(r);
            r->in_place[0] = 0;
            r->src_at[0] = r->dst_at[0];
            expect_oracle(r);
            r->in_place[0] = -1;
        }
    }
}

Test(reduce, streaming_gives_the_same_bits)
{
    for_each_kernel(every_stream);
}

static uint64_t control_of(uint64_t env)
{
    return env & ~(uint64_t)FLOAT_ENV_FLAGS;
}

// A rank whose thread flushes subnormals or rounds upward must agree with the others.
static void hostile_environment(struct run *r)
{
    const uint64_t before = float_env_read();
    const void *from[] = { srcs[0] + GUARD, srcs[1] + GUARD, srcs[2] + GUARD };
    void *to[] = { dsts[0] + GUARD };

    r->count = 200;
    r->src_count = 3;
    oracle_reduce(r->dtype, r->op, from, 3, expected, r->count);
    cr_assert(fesetround(FE_UPWARD) == 0);
#if defined(__x86_64__)
    float_env_write(float_env_read() | 0x8040u); // flush to zero, denormals are zero
#elif defined(__aarch64__)
    float_env_write(float_env_read() | 1u << 24 | 1u << 26); // FZ, alternative half precision
#endif
    const uint64_t hostile = float_env_read();
    rp_reduce(r->impl, r->dtype, r->op, to, 1, from, 3, r->count);
    const uint64_t after = float_env_read();
    cr_assert(fesetround(FE_TONEAREST) == 0);
    float_env_write(before);
    cr_assert(control_of(after) == control_of(hostile), "%s leaves the thread another environment",
            r->impl->isa);
    expect_result(r, to[0], 0);
}

Test(reduce, does_not_depend_on_the_threads_float_environment)
{
    for_each_kernel(hostile_environment);
}

// The contract in numbers that can be read, apart from any oracle.
static void fold_fp32(const struct rp_reduce_impl *impl, enum rp_reduce_op op, const uint32_t *a,
        const uint32_t *b, uint32_t *result, size_t count)
{
    const void *from[] = { a, b };
    void *to[] = { result };

    rp_reduce(impl, RP_DTYPE_FP32, op, to, 1, from, 2, count);
}

Test(reduce, orders_zeros_and_propagates_nans)
{
    enum { ROWS = 6 };
    static const uint32_t a[ROWS] = { 0, 0x80000000, 0x80000000, 0xffc12345, 1, 0x7f800000 };
    static const uint32_t b[ROWS] = { 0x80000000, 0, 0x80000000, 0x7f800000, 0x7f800001,
        0xff800000 };
    static const uint32_t nan = 0x7fc00000;
    static const uint32_t max[ROWS] = { 0, 0, 0x80000000, nan, nan, 0x7f800000 };
    static const uint32_t min[ROWS] = { 0x80000000, 0x80000000, 0x80000000, nan, nan, 0xff800000 };
    static const uint32_t sum[ROWS] = { 0, 0, 0x80000000, nan, nan, nan };
    struct rp_cpu cpu;
    uint32_t result[ROWS];

    rp_cpu_detect(&cpu);
    for (size_t i = 0; rp_reduce_impls[i] != NULL; i++) {
        if (!rp_reduce_impls[i]->usable(&cpu)) {
            continue;
        }
        fold_fp32(rp_reduce_impls[i], RP_REDUCE_MAX, a, b, result, ROWS);
        cr_assert(memcmp(result, max, sizeof max) == 0, "max, %s", rp_reduce_impls[i]->isa);
        fold_fp32(rp_reduce_impls[i], RP_REDUCE_MIN, a, b, result, ROWS);
        cr_assert(memcmp(result, min, sizeof min) == 0, "min, %s", rp_reduce_impls[i]->isa);
        fold_fp32(rp_reduce_impls[i], RP_REDUCE_SUM, a, b, result, ROWS);
        cr_assert(memcmp(result, sum, sizeof sum) == 0, "sum, %s", rp_reduce_impls[i]->isa);
    }
}

// 1 + 7 * 2^-9 is 1 + 3.5 units of bf16: rounding at each step would leave 1, rounding once gives 4
// units.
Test(reduce, rounds_a_bf16_sum_once)
{
    static const uint16_t one = 0x3f80;
    static const uint16_t ninth = 0x3b00; // 2^-9
    const void *from[] = { &one, &ninth, &ninth, &ninth, &ninth, &ninth, &ninth, &ninth };
    uint16_t result = 0;
    void *to[] = { &result };

    rp_reduce(rp_reduce_select("auto"), RP_DTYPE_BFP16, RP_REDUCE_SUM, to, 1, from, 8, 1);
    cr_assert(eq(u16, result, 0x3f82));
}

Test(reduce, copies_a_single_source_bit_for_bit)
{
    static const uint32_t signalling = 0xff800001;
    const void *from[] = { &signalling };
    uint32_t result = 0;
    void *to[] = { &result };

    rp_reduce(rp_reduce_select("auto"), RP_DTYPE_FP32, RP_REDUCE_MAX, to, 1, from, 1, 1);
    cr_assert(eq(u32, result, signalling));
}

Test(reduce, selects_the_best_usable_implementation_or_the_named_one)
{
    struct rp_cpu cpu;
    size_t best = 0;

    rp_cpu_detect(&cpu);
    while (!rp_reduce_impls[best]->usable(&cpu)) {
        best++;
    }
    cr_assert(rp_reduce_select("auto") == rp_reduce_impls[best]);
    for (size_t i = 0; rp_reduce_impls[i] != NULL; i++) {
        const struct rp_reduce_impl *want =
                rp_reduce_impls[i]->usable(&cpu) ? rp_reduce_impls[i] : NULL;
        cr_assert(rp_reduce_select(rp_reduce_impls[i]->isa) == want);
    }
    cr_assert(rp_reduce_select("scalar") == &rp_reduce_scalar);
    cr_assert(rp_reduce_select("mmx") == NULL);
    cr_assert(rp_reduce_select("") == NULL);
}

Test(dtype, knows_the_size_of_every_type_and_nothing_else)
{
    static const size_t bytes[] = { 1, 2, 4, 2, 4, 8, 8, 1, 2, 4, 8, 2, 16, 0, 1, 1, 1, 1, 0, 0 };

    for (size_t i = 0; i < LENGTH(bytes); i++) {
        cr_assert(rp_dtype_bytes((enum rp_dtype)i) == bytes[i], "type %zu", i);
        cr_assert(rp_dtype_reducible((enum rp_dtype)i) == (i < 12), "type %zu", i);
    }
    cr_assert(rp_dtype_bytes((enum rp_dtype)255) == 0);
}
