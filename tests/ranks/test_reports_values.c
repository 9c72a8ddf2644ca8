// What comes out depends on the inputs alone: not on how much is reduced at once, nor by what, nor
// on a size between two forms or beyond 32 bits; and 16-bit sums are as exact as 16 bits allow.
//
// R64, R65, R66 and R68 of the user reports.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "capture/comm_extra.h"
#include "capture/select.h"
#include "kernels/line.h"
#include "support/operator_world.h"
#include "support/oracle_reduce.h"
#include "support/rank_test.h"

#define STRICT "HCCL_DETERMINISTIC=strict"

// Kernels on one core and on several, and lists of algorithms that fold in other orders unless
// strict.
static const char *const *const strict_forms[] = {
    ENV("HCCL_OP_EXPANSION_MODE=AIV", STRICT, "REPRISE_AIV_CORES=1"),
    ENV("HCCL_OP_EXPANSION_MODE=AIV", STRICT, "REPRISE_AIV_CORES=4"),
    ENV("HCCL_OP_EXPANSION_MODE=HOST_TS", STRICT, "HCCL_BUFFSIZE=1"),
    ENV("HCCL_OP_EXPANSION_MODE=HOST_TS", STRICT, "HCCL_BUFFSIZE=1", "HCCL_ALGO=level0:ring"),
    ENV("HCCL_OP_EXPANSION_MODE=HOST_TS", STRICT, "HCCL_BUFFSIZE=1", "HCCL_ALGO=level0:NHR"),
};

// ---- R64: bits and sizes ----

enum { VECTOR = 1000, LARGE = 150000, PLACES = 3 };

struct sums {
    HcclDataType dtype;
    size_t element;
    uint8_t *input, *large, *out; // VECTOR, LARGE, LARGE elements
    bool captured;
};

static void sum(struct rank *rank, const struct sums *s, const uint8_t *from, size_t count)
{
    aclmdlRI graph = NULL;
    if (s->captured) {
        capture_begin(rank->stream);
    }
    must(HcclAllReduce((void *)(uintptr_t)from, s->out, count, s->dtype, HCCL_REDUCE_SUM,
            rank->comm, rank->stream));
    if (s->captured) {
        graph = capture_end(rank->stream);
        replay(graph, rank->stream);
    }
    must(aclrtSynchronizeStream(rank->stream));
    if (graph != NULL) {
        must(aclmdlRIDestroy(graph));
    }
}

static void expect_bits(const struct sums *s, const uint8_t *out, const uint8_t *wanted,
        size_t count, const char *what)
{
    must_hold(memcmp(out, wanted, count * s->element) == 0, "type %d, %s%s: other bits",
            (int)s->dtype, what, s->captured ? ", captured" : "");
}

// The vector's sum is `wanted` by itself, anywhere in a larger one, and in two parts.
static void same_everywhere(struct rank *rank, const struct sums *s, const uint8_t *wanted)
{
    static const size_t places[PLACES] = { 0, 4097, LARGE - VECTOR };
    const size_t cut = 333;
    sum(rank, s, s->input, VECTOR);
    expect_bits(s, s->out, wanted, VECTOR, "alone");
    for (unsigned i = 0; i < PLACES; i++) {
        memset(s->large, 0, LARGE * s->element);
        memcpy(s->large + places[i] * s->element, s->input, VECTOR * s->element);
        sum(rank, s, s->large, LARGE);
        expect_bits(s, s->out + places[i] * s->element, wanted, VECTOR, "in a larger one");
    }
    sum(rank, s, s->input, cut);
    expect_bits(s, s->out, wanted, cut, "the first part");
    sum(rank, s, s->input + cut * s->element, VECTOR - cut);
    expect_bits(s, s->out, wanted + cut * s->element, VECTOR - cut, "the second part");
}

static void bits_rank(struct rank *rank)
{
    static const HcclDataType types[] = { HCCL_DATA_TYPE_FP16, HCCL_DATA_TYPE_BFP16,
        HCCL_DATA_TYPE_FP32 };
    struct sums s;
    uint8_t *wanted = malloc(4 * VECTOR), *inputs = malloc(4 * VECTOR * rank->count);
    const void *sources[RANKS_MAX];
    must_hold(wanted != NULL && inputs != NULL, "malloc");
    rank_open(rank);
    must(aclrtMalloc((void **)&s.input, 4 * VECTOR, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMalloc((void **)&s.large, 4 * LARGE, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMalloc((void **)&s.out, 4 * LARGE, ACL_MEM_MALLOC_HUGE_FIRST));
    for (size_t t = 0; t < RP_ARRAY_LENGTH(types); t++) {
        s.dtype = types[t];
        s.element = rp_dtype_bytes((enum rp_dtype)types[t]);
        for (unsigned r = 0; r < rank->count; r++) {
            sources[r] = inputs + (size_t)r * 4 * VECTOR;
            oracle_fill((enum rp_dtype)s.dtype, inputs + (size_t)r * 4 * VECTOR, VECTOR, r + 77);
        }
        oracle_reduce((enum rp_dtype)s.dtype, RP_REDUCE_SUM, sources, rank->count, wanted, VECTOR);
        memcpy(s.input, sources[rank->id], VECTOR * s.element);
        for (int captured = 0; captured < 2; captured++) {
            s.captured = captured;
            same_everywhere(rank, &s, wanted);
        }
    }
    must(aclrtFree(s.input));
    must(aclrtFree(s.large));
    must(aclrtFree(s.out));
    free(wanted);
    free(inputs);
    rank_close(rank);
}

Test(reports, r64_bits_of_a_sum_do_not_depend_on_how_much_is_summed, .timeout = 200)
{
    static const unsigned rank_counts[] = { 2, 5, 8 };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rank_counts); i++) {
        for (size_t form = 0; form < RP_ARRAY_LENGTH(strict_forms); form++) {
            const struct rank_job job = { .ranks = rank_counts[i],
                .mode = RANK_THREADS,
                .fn = bits_rank,
                .env = strict_forms[form] };
            assert_job(&job, "%u ranks, form %zu", rank_counts[i], form);
        }
    }
}

// ---- R65: sums of 16-bit floats ----

enum { SPECIALS = 4096 };

// Large and tiny ones, the largest of all, infinities, NaNs, zeros of both signs, subnormals.
static uint16_t special(enum rp_dtype dtype, unsigned rank, unsigned i)
{
    static const uint16_t fp16[] = { 0x7bff, 0x7c00, 0xfc00, 0x7e01, 0x8000, 0x0000, 0x0001,
        0x83ff };
    static const uint16_t bf16[] = { 0x7f7f, 0x7f80, 0xff80, 0x7fc1, 0x8000, 0x0000, 0x0001,
        0x807f };
    const unsigned kind = i % 16;
    const uint32_t bits = word(rank, 9, i);
    if (kind < 6) { // 2^k and what is tiny beside it
        return oracle_half_round(
                dtype, ldexp(1.0 + (bits % 64) / 64.0, rank == i % 8 ? 9 : -(int)(bits / 64 % 8)));
    }
    if (kind < 12) { // a cancelling pair with a rest
        const double value = ldexp(1.0 + (bits % 32) / 32.0, 3);
        return oracle_half_round(dtype, bits & 64 ? -value : value);
    }
    const uint16_t *values = dtype == RP_DTYPE_FP16 ? fp16 : bf16;
    return kind < 14 ? values[4 + bits % 4] : rank == bits % 8 ? values[bits / 8 % 8] : values[5];
}

// Half a unit in the last place of the exact sum, and what FP32 may have lost before.
static void expect_near(
        enum rp_dtype dtype, uint16_t got, double exact, double magnitudes, unsigned i)
{
    const double value = oracle_half_value(dtype, got);
    const int fraction = dtype == RP_DTYPE_FP16 ? 10 : 7;
    const int lowest = dtype == RP_DTYPE_FP16 ? -14 : -126;
    if (!isfinite(exact) || !isfinite(value)) {
        return; // the bits were compared
    }
    int exponent;
    frexp(exact, &exponent);
    exponent = exact == 0 || exponent - 1 < lowest ? lowest : exponent - 1;
    const double bound = ldexp(0.5, exponent - fraction) + magnitudes * 0x1p-21;
    must_hold(fabs(value - exact) <= bound, "type %d, element %u: %g and not %g, off by %g of %g",
            (int)dtype, i, value, exact, fabs(value - exact), bound);
}

static void accuracy_rank(struct rank *rank)
{
    static const HcclDataType types[] = { HCCL_DATA_TYPE_FP16, HCCL_DATA_TYPE_BFP16 };
    static _Thread_local uint16_t inputs[8][SPECIALS], wanted[SPECIALS];
    const void *sources[8];
    uint16_t *data = NULL;
    rank_open(rank);
    must(aclrtMalloc((void **)&data, sizeof(wanted), ACL_MEM_MALLOC_HUGE_FIRST));
    for (size_t t = 0; t < 2; t++) {
        const enum rp_dtype dtype = (enum rp_dtype)types[t];
        for (int op = 0; op < 3; op++) {
            static const HcclReduceOp ops[] = { HCCL_REDUCE_SUM, HCCL_REDUCE_MAX, HCCL_REDUCE_MIN };
            for (unsigned r = 0; r < rank->count; r++) {
                for (unsigned i = 0; i < SPECIALS; i++) {
                    inputs[r][i] = special(dtype, r, i);
                }
                sources[r] = inputs[r];
            }
            oracle_reduce(
                    dtype, (enum rp_reduce_op)ops[op], sources, rank->count, wanted, SPECIALS);
            memcpy(data, inputs[rank->id], sizeof(wanted));
            must(HcclAllReduce(data, data, SPECIALS, types[t], ops[op], rank->comm, rank->stream));
            must(aclrtSynchronizeStream(rank->stream));
            for (unsigned i = 0; i < SPECIALS; i++) {
                double exact = 0, magnitudes = 0;
                must_hold(data[i] == wanted[i], "type %d, op %d, element %u: 0x%04x, not 0x%04x",
                        (int)dtype, (int)ops[op], i, data[i], wanted[i]);
                for (unsigned r = 0; op == 0 && r < rank->count; r++) {
                    exact += oracle_half_value(dtype, inputs[r][i]);
                    magnitudes += fabs(oracle_half_value(dtype, inputs[r][i]));
                }
                if (op == 0) {
                    expect_near(dtype, data[i], exact, magnitudes, i);
                }
            }
        }
    }
    must(aclrtFree(data));
    rank_close(rank);
}

Test(reports, r65_sums_of_16_bit_floats_are_rounded_once_for_any_number_of_ranks, .timeout = 120)
{
    for (unsigned ranks = 2; ranks <= 8; ranks += 3) {
        for (size_t form = 0; form < RP_ARRAY_LENGTH(strict_forms); form++) {
            const struct rank_job job = {
                .ranks = ranks, .mode = RANK_THREADS, .fn = accuracy_rank, .env = strict_forms[form]
            };
            assert_job(&job, "%u ranks, form %zu", ranks, form);
        }
    }
}

// ---- R66: beyond 32 bits ----

#define FAR ((UINT64_C(1) << 32) + 12345) /* elements; device memory is sparse, so this is free */
#define NEAR 777

// Blocks around 2^31 and beyond 2^32 elements of a buffer of which only these are touched. That
// counts alone exceed 2^31 is in test_operators.c.
static void far_rank(struct rank *rank)
{
    const uint64_t counts[2] = { NEAR, NEAR };
    const uint64_t places[2] = { (UINT64_C(1) << 31) - 300, FAR };
    uint8_t *far = NULL, *near = NULL;
    rank_open(rank);
    must(aclrtMalloc((void **)&far, FAR + NEAR, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMalloc((void **)&near, NEAR, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int captured = 0; captured < 2; captured++) {
        aclmdlRI graph = NULL;
        for (size_t i = 0; i < NEAR; i++) {
            near[i] = (uint8_t)word(rank->id, (uint64_t)captured, i);
        }
        if (captured) {
            capture_begin(rank->stream);
        }
        must(HcclAllGatherV(
                near, NEAR, far, counts, places, HCCL_DATA_TYPE_UINT8, rank->comm, rank->stream));
        must(HcclReduceScatterV(far, counts, places, near, NEAR, HCCL_DATA_TYPE_UINT8,
                HCCL_REDUCE_SUM, rank->comm, rank->stream));
        if (captured) {
            graph = capture_end(rank->stream);
            replay(graph, rank->stream);
        }
        must(aclrtSynchronizeStream(rank->stream));
        for (unsigned r = 0; r < 2; r++) {
            for (size_t i = 0; i < NEAR; i++) {
                must_hold(far[places[r] + i] == (uint8_t)word(r, (uint64_t)captured, i),
                        "element %zu of rank %u's block", i, r);
            }
        }
        for (size_t i = 0; i < NEAR; i++) {
            must_hold(near[i] == (uint8_t)(2 * word(rank->id, (uint64_t)captured, i)),
                    "element %zu of the sum", i);
        }
        if (graph != NULL) {
            must(aclmdlRIDestroy(graph));
        }
    }
    must(aclrtFree(far));
    must(aclrtFree(near));
    rank_close(rank);
}

Test(reports, r66_displacements_beyond_2_to_the_32_elements, .timeout = 100)
{
    struct rank_job job = { .ranks = 2, .fn = far_rank, .env = AIV };
    assert_job(&job, "AIV");
    job.env = HOST_TS;
    assert_job(&job, "HOST_TS");
    job.env = ENV("HCCL_OP_EXPANSION_MODE=HOST_TS", "HCCL_BUFFSIZE=1", "HCCL_ALGO=level0:ring");
    assert_job(&job, "ring");
}

// ---- R68: no band of sizes falls through ----

static const struct operator_form band_forms[] = {
    { "AIV", 3, 0, NULL, true },
    { "mesh", 1, 0, "level0:fullmesh", true },
    { "default", 0, 0, NULL, true },
};

// Kernels whatever the size, lists by the algorithm that was asked for.
static void expect_path(struct operator_world *world, const struct operator_call *call)
{
    enum rp_expansion expansion = RP_EXPANSION_HOST_TS;
    enum rp_algorithm algorithm = RP_ALGORITHM_RING;
    struct rp_comm *comm = NULL;
    const struct rp_matrix_row *row = rp_matrix_row(call->op);
    const bool aiv = row->aiv && call->comm != 1;
    must(rp_comm_call_begin("test", world->comm[call->comm], &comm));
    must(rp_select(comm, call->op, call->count, 0, &expansion, &algorithm));
    rp_comm_call_end(comm);
    // A message between two ranks has no algorithm to choose.
    const bool lists = !aiv && row->algorithms != 0;
    must_hold((expansion == RP_EXPANSION_AIV) == aiv &&
                      algorithm == (lists ? RP_ALGORITHM_MESH : RP_ALGORITHM_FUSED),
            "%s of %llu bytes on %s takes another path", rp_op_kind_name(call->op),
            (unsigned long long)call->count, band_forms[call->comm].name);
}

static void band_case(struct operator_world *world, const struct rp_matrix_row *row, unsigned form,
        uint64_t bytes)
{
    static _Thread_local struct operator_case c;
    const unsigned ranks = world->rank->count;
    c = (struct operator_case){
        .seed = bytes, .ranks = ranks, .mode = OPERATOR_MIXED, .rounds = 2, .calls = 1
    };
    struct operator_call *call = &c.call[0];
    *call = (struct operator_call){ .op = row->op,
        .dtype = RP_DTYPE_UINT8,
        .ranks = ranks,
        .peer = 1,
        .count = row->types == 0 ? 0 : bytes,
        .fill = bytes,
        .comm = form };
    for (unsigned s = 0; operator_has_blocks(row->op) && s < ranks; s++) {
        for (unsigned d = 0; d < ranks; d++) {
            call->block[s][d] = bytes;
        }
    }
    operator_place_blocks(call);
    expect_path(world, call);
    operator_world_run(world, &c);
}

static void bands_of(struct operator_world *world, const struct rp_matrix_row *row, unsigned form)
{
    static const uint64_t edges[] = { RP_LINE_PAYLOAD_BYTES, RP_SLOT_BYTES, 256u << 10, 1u << 20,
        2u << 20 }; // line, slot, the kernels' window, window, two rounds
    const unsigned ranks = world->rank->count;
    const uint64_t most = (OPERATOR_BUFFER_BYTES - 4096) / ranks;
    const unsigned an_octave = soaking() ? 8 : 1;
    for (size_t e = 0; e < RP_ARRAY_LENGTH(edges); e++) {
        for (unsigned parts = 1; parts <= ranks; parts += ranks - 1) { // of a block, of them all
            for (uint64_t bytes = edges[e] / parts - 1; bytes <= edges[e] / parts + 1; bytes++) {
                if (bytes > 0 && bytes <= most) {
                    band_case(world, row, form, bytes);
                }
            }
        }
    }
    for (unsigned k = 0;; k++) {
        const uint64_t bytes = (uint64_t)exp2((double)k / an_octave + 0.1);
        if (bytes > most || row->types == 0) {
            break;
        }
        band_case(world, row, form, bytes);
    }
}

static void bands_rank(struct rank *rank)
{
    struct operator_world world;
    operator_world_open(&world, rank, band_forms, RP_ARRAY_LENGTH(band_forms));
    for (unsigned i = 0; i < rp_matrix_rows; i++) {
        for (unsigned form = 0; form < RP_ARRAY_LENGTH(band_forms); form++) {
            bands_of(&world, &rp_matrix[i], form);
        }
    }
    operator_world_close(&world);
}

Test(reports, r68_every_size_is_right_and_takes_the_path_that_was_asked_for, .timeout = 280)
{
    for (unsigned ranks = 2; ranks <= 4; ranks += 2) {
        void *shared = rank_shared_create(sizeof(struct operator_shared));
        const struct rank_job job = { .ranks = ranks,
            .mode = RANK_THREADS,
            .fn = bands_rank,
            .shared = shared,
            .timeout_s = 250 };
        const char *wrong = rank_run(&job);
        rank_shared_destroy(shared, sizeof(struct operator_shared));
        assert_well(wrong, "%u ranks", ranks);
    }
}
