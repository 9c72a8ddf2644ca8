// The fused kernels against the oracle: every operator in every form, with counts around each
// boundary between forms, on 1, 2, 3, 5 and 8 ranks that are threads or processes. What happens
// when a rank fails is in test_aiv_failure.c.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <criterion/parameterized.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/util.h"
#include "kernels/aiv_forms.h"
#include "support/aiv_case.h"

#define LARGEST_BYTES (320u * 1024u)
#define WINDOW_BYTES (64u * 1024u)
#define TIMEOUT_S 100

struct list {
    struct aiv_case *item;
    size_t count;
    size_t room;
};

static void add(struct list *list, struct aiv_case item)
{
    if (list->count == list->room) {
        list->room = list->room == 0 ? 64 : 2 * list->room;
        list->item = realloc(list->item, list->room * sizeof(item));
    }
    item.seed = list->count;
    aiv_case_expect(&item);
    list->item[list->count++] = item;
}

static void empty(struct list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        aiv_case_free(&list->item[i]);
    }
    free(list->item);
    *list = (struct list){ 0 };
}

static bool run_list(struct fake_comm *comm, uint32_t rank, void *arg)
{
    const struct list *list = arg;
    for (size_t i = 0; i < list->count; i++) {
        if (!aiv_case_run(comm, rank, &list->item[i])) {
            return false;
        }
    }
    return true;
}

static struct fake_comm *make_comm(uint32_t ranks, uint64_t window_bytes)
{
    return fake_comm_create(
            ranks, aiv_case_arena_bytes((uint64_t)ranks * LARGEST_BYTES), window_bytes);
}

static void run_and_empty(struct list *list, struct fake_comm *comm, enum fake_mode mode)
{
    cr_assert(fake_comm_run(comm, mode, TIMEOUT_S, run_list, list));
    fake_comm_destroy(comm);
    empty(list);
}

// Counts whose payload is just below, at and just above each limit, then zero-copy sizes.
static size_t pick_counts(size_t unit_bytes, size_t *counts)
{
    static const size_t limits[] = { RP_LINE_PAYLOAD_BYTES, RP_SLOT_BYTES };
    size_t n = 0;
    counts[n++] = 0;
    counts[n++] = 1;
    for (size_t i = 0; i < RP_ARRAY_LENGTH(limits); i++) {
        const size_t at = limits[i] / unit_bytes;
        if (at > 2) {
            counts[n++] = at - 1;
            counts[n++] = at;
        }
        counts[n++] = at + 1;
    }
    counts[n++] = 50001 / unit_bytes + 1;
    counts[n++] = (LARGEST_BYTES - 13) / unit_bytes;
    return n;
}

static const enum oracle_op ops[] = {
    ORACLE_ALL_REDUCE,
    ORACLE_REDUCE_SCATTER,
    ORACLE_ALL_GATHER,
    ORACLE_BROADCAST,
    ORACLE_REDUCE,
    ORACLE_SCATTER,
    ORACLE_ALLTOALL,
    ORACLE_ALL_GATHER_V,
    ORACLE_REDUCE_SCATTER_V,
};

// One type with one operator: every count, in place and not. Alignments, roots and reductions take
// turns, so that a list stays short.
static void add_counts(
        struct list *list, enum oracle_op op, enum rp_dtype dtype, uint32_t ranks, uint32_t staged)
{
    size_t counts[16];
    const size_t element = rp_dtype_bytes(dtype);
    const bool blocks = op == ORACLE_REDUCE_SCATTER || op == ORACLE_SCATTER ||
                        op == ORACLE_ALLTOALL || op == ORACLE_REDUCE_SCATTER_V;
    const size_t unit = blocks ? ranks * element : element;
    const size_t n = pick_counts(unit, counts);
    for (size_t i = 0; i < 2 * n; i++) {
        static const unsigned skews[] = { 0, 1, 8, 63 };
        const struct oracle_call call = {
            .op = op,
            .dtype = dtype,
            .reduce = (enum rp_reduce_op)(i % RP_REDUCE_OPS),
            .count = counts[i / 2],
            .root = (unsigned)(i % ranks),
            .ranks = ranks,
        };
        add(list, (struct aiv_case){ .call = call,
                          .in_place = i % 2 != 0,
                          .staged = staged,
                          .skew = skews[i % RP_ARRAY_LENGTH(skews)] });
    }
}

static void add_types(struct list *list, uint32_t ranks, uint32_t staged)
{
    static const enum rp_dtype reduced[] = { RP_DTYPE_FP32, RP_DTYPE_BFP16, RP_DTYPE_INT8 };
    static const enum rp_dtype moved[] = { RP_DTYPE_INT128, RP_DTYPE_FP16, RP_DTYPE_FP8E4M3 };
    for (size_t o = 0; o < RP_ARRAY_LENGTH(ops); o++) {
        const enum rp_dtype *types = oracle_reduces(ops[o]) ? reduced : moved;
        for (size_t t = 0; t < RP_ARRAY_LENGTH(reduced); t++) {
            add_counts(list, ops[o], types[t], ranks, staged);
        }
    }
}

static uint32_t rank_counts[] = { 1, 2, 3, 5, 8 };

ParameterizedTestParameters(aiv, equals_the_oracle_between_threads)
{
    return cr_make_param_array(uint32_t, rank_counts, RP_ARRAY_LENGTH(rank_counts));
}

ParameterizedTest(uint32_t *ranks, aiv, equals_the_oracle_between_threads, .timeout = TIMEOUT_S)
{
    struct list list = { 0 };
    add_types(&list, *ranks, 0);
    run_and_empty(&list, make_comm(*ranks, WINDOW_BYTES), FAKE_THREADS);
}

ParameterizedTestParameters(aiv, equals_the_oracle_between_processes)
{
    return cr_make_param_array(uint32_t, rank_counts, RP_ARRAY_LENGTH(rank_counts));
}

ParameterizedTest(uint32_t *ranks, aiv, equals_the_oracle_between_processes, .timeout = TIMEOUT_S)
{
    struct list list = { 0 };
    for (size_t o = 0; o < RP_ARRAY_LENGTH(ops); o++) {
        add_counts(&list, ops[o], RP_DTYPE_FP32, *ranks, 0);
        add_counts(&list, ops[o], RP_DTYPE_FP16, *ranks, 1);
    }
    run_and_empty(&list, make_comm(*ranks, WINDOW_BYTES), FAKE_PROCESSES);
}

// One rank outside its arena is enough: all must then go through the windows.
ParameterizedTestParameters(aiv, equals_the_oracle_when_one_rank_is_staged)
{
    return cr_make_param_array(uint32_t, rank_counts, RP_ARRAY_LENGTH(rank_counts));
}

ParameterizedTest(
        uint32_t *ranks, aiv, equals_the_oracle_when_one_rank_is_staged, .timeout = TIMEOUT_S)
{
    struct list list = { 0 };
    add_types(&list, *ranks, UINT32_C(1) << (*ranks - 1));
    run_and_empty(&list, make_comm(*ranks, WINDOW_BYTES), FAKE_THREADS);
}

// A window of a few lines: thousands of rounds, and pieces of reduce-scatter that are no multiple
// of a line.
ParameterizedTestParameters(aiv, goes_through_small_windows_in_many_rounds)
{
    return cr_make_param_array(uint32_t, rank_counts, RP_ARRAY_LENGTH(rank_counts));
}

ParameterizedTest(
        uint32_t *ranks, aiv, goes_through_small_windows_in_many_rounds, .timeout = TIMEOUT_S)
{
    struct list list = { 0 };
    for (size_t o = 0; o < RP_ARRAY_LENGTH(ops); o++) {
        const struct oracle_call call = {
            .op = ops[o],
            .dtype = RP_DTYPE_INT32,
            .count = 20011,
            .root = *ranks - 1,
            .ranks = *ranks,
        };
        add(&list, (struct aiv_case){ .call = call, .staged = 1 });
        add(&list, (struct aiv_case){ .call = call, .staged = 1, .in_place = true });
    }
    run_and_empty(&list, make_comm(*ranks, 1024), FAKE_THREADS);
}

// Ranks that cannot map each other's arenas: nobody is staged, yet nobody reaches the others.
Test(aiv, goes_through_windows_without_zero_copy, .timeout = TIMEOUT_S)
{
    struct list list = { 0 };
    struct fake_comm *comm = make_comm(3, WINDOW_BYTES);
    for (uint32_t r = 0; r < 3; r++) {
        comm->lines[r].zero_copy = false;
        for (uint32_t q = 0; q < 3; q++) {
            comm->lines[r].peer[q].arena = q == r ? comm->lines[r].peer[q].arena : NULL;
            comm->lines[r].peer[q].arena_bytes = 0;
        }
    }
    add_counts(&list, ORACLE_ALL_REDUCE, RP_DTYPE_FP32, 3, 0);
    add_counts(&list, ORACLE_BROADCAST, RP_DTYPE_FP32, 3, 0);
    add_counts(&list, ORACLE_REDUCE, RP_DTYPE_FP32, 3, 0);
    add_counts(&list, ORACLE_SCATTER, RP_DTYPE_FP32, 3, 0);
    add_counts(&list, ORACLE_ALLTOALL, RP_DTYPE_FP32, 3, 0);
    run_and_empty(&list, comm, FAKE_THREADS);
}

// Every step stops after its first piece of work.
Test(aiv, finishes_with_the_smallest_budget, .timeout = TIMEOUT_S)
{
    struct list list = { 0 };
    struct fake_comm *comm = make_comm(3, WINDOW_BYTES);
    comm->budget_bytes = 1;
    add_types(&list, 3, 0);
    add_counts(&list, ORACLE_ALL_REDUCE, RP_DTYPE_FP32, 3, 1);
    add_counts(&list, ORACLE_REDUCE_SCATTER, RP_DTYPE_FP32, 3, 1);
    add_counts(&list, ORACLE_REDUCE, RP_DTYPE_FP32, 3, 1);
    add_counts(&list, ORACLE_SCATTER, RP_DTYPE_FP32, 3, 1);
    add_counts(&list, ORACLE_ALLTOALL, RP_DTYPE_FP32, 3, 1);
    add_counts(&list, ORACLE_ALL_GATHER_V, RP_DTYPE_FP32, 3, 1);
    add_counts(&list, ORACLE_REDUCE_SCATTER_V, RP_DTYPE_FP32, 3, 1);
    run_and_empty(&list, comm, FAKE_THREADS);
}

Test(aiv, obeys_the_tuning_it_was_given, .timeout = TIMEOUT_S)
{
    static const struct rp_aiv_tuning tunings[] = {
        { .tiny_bytes = 0, .small_bytes = 0 }, // all is large
        { .tiny_bytes = 0, .small_bytes = UINT32_MAX },
        { .tiny_bytes = UINT32_MAX, .small_bytes = 0 }, // no slots
        { .tiny_bytes = 8, .small_bytes = 100 },
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(tunings); i++) {
        struct list list = { 0 };
        struct fake_comm *comm = make_comm(2, WINDOW_BYTES);
        comm->tuning = tunings[i];
        for (size_t o = 0; o < RP_ARRAY_LENGTH(ops); o++) {
            add_counts(&list, ops[o], RP_DTYPE_FP32, 2, 0);
        }
        run_and_empty(&list, comm, FAKE_THREADS);
    }
}

// Beyond RP_STREAM_BYTES the stores go around the caches.
Test(aiv, streams_what_no_cache_holds, .timeout = TIMEOUT_S)
{
    struct list list = { 0 };
    const size_t count = 3u << 20; // 12 MiB of fp32
    for (size_t o = 0; o < RP_ARRAY_LENGTH(ops); o++) {
        const struct oracle_call call = {
            .op = ops[o],
            .dtype = RP_DTYPE_INT32,
            .count = count + 5,
            .root = 1,
            .ranks = 2,
        };
        add(&list, (struct aiv_case){ .call = call, .skew = 4 });
    }
    struct fake_comm *comm = fake_comm_create(
            2, aiv_case_arena_bytes(2 * (count + 5) * sizeof(int32_t)), WINDOW_BYTES);
    run_and_empty(&list, comm, FAKE_THREADS);
}

struct sequence {
    struct list list;
    uint32_t delays; // one op in so many is preceded by a pause
};

static bool run_sequence(struct fake_comm *comm, uint32_t rank, void *arg)
{
    const struct sequence *sequence = arg;
    unsigned seed = rank * 7919 + 1;
    for (size_t i = 0; i < sequence->list.count; i++) {
        if ((unsigned)rand_r(&seed) % sequence->delays == 0) {
            const struct timespec nap = { .tv_nsec = rand_r(&seed) % 300000 };
            nanosleep(&nap, NULL);
        }
        if (!aiv_case_run(comm, rank, &sequence->list.item[i])) {
            return false;
        }
    }
    return true;
}

// Mostly small counts, one in eight large, any operator, type, place, root and buffers.
static void add_random(struct list *list, uint32_t ranks, size_t count, unsigned seed)
{
    static const enum rp_dtype types[] = { RP_DTYPE_FP32, RP_DTYPE_FP64, RP_DTYPE_FP16,
        RP_DTYPE_BFP16, RP_DTYPE_INT16, RP_DTYPE_UINT64 };
    for (size_t i = 0; i < count; i++) {
        const unsigned most[] = { 8, 12, 100, 1000, 3000, 12, 12, 20000 };
        const struct oracle_call call = {
            .op = ops[(unsigned)rand_r(&seed) % RP_ARRAY_LENGTH(ops)],
            .dtype = types[(unsigned)rand_r(&seed) % RP_ARRAY_LENGTH(types)],
            .reduce = (enum rp_reduce_op)((unsigned)rand_r(&seed) % RP_REDUCE_OPS),
            .count = (unsigned)rand_r(&seed) % most[(unsigned)rand_r(&seed) % 8],
            .root = (unsigned)rand_r(&seed) % ranks,
            .ranks = ranks,
        };
        const bool staged = rand_r(&seed) % 4 == 0;
        add(list, (struct aiv_case){ .call = call,
                          .in_place = rand_r(&seed) % 2 != 0,
                          .staged = staged ? UINT32_C(1) << ((unsigned)rand_r(&seed) % ranks) : 0,
                          .skew = (unsigned)rand_r(&seed) % 64 });
    }
}

ParameterizedTestParameters(aiv, survives_a_thousand_random_ops_with_delays)
{
    return cr_make_param_array(uint32_t, rank_counts, RP_ARRAY_LENGTH(rank_counts));
}

ParameterizedTest(
        uint32_t *ranks, aiv, survives_a_thousand_random_ops_with_delays, .timeout = TIMEOUT_S)
{
    for (unsigned m = 0; m < 2; m++) {
        struct sequence sequence = { .delays = m == 0 ? 20 : 100 };
        struct fake_comm *comm = make_comm(*ranks, WINDOW_BYTES);
        add_random(&sequence.list, *ranks, 1000, *ranks + m);
        cr_assert(fake_comm_run(
                comm, m == 0 ? FAKE_THREADS : FAKE_PROCESSES, TIMEOUT_S, run_sequence, &sequence));
        fake_comm_destroy(comm);
        empty(&sequence.list);
    }
}

// HcclCommInitAll: one thread owns all ranks. A step never waits for another rank, so stepping
// them in turn, in any order, must end.
Test(aiv, one_thread_can_play_all_ranks, .timeout = TIMEOUT_S)
{
    enum { RANKS = 5 };
    struct list list = { 0 };
    struct fake_comm *comm = make_comm(RANKS, 4096);
    add_random(&list, RANKS, 300, 4242);
    unsigned seed = 1;
    for (size_t i = 0; i < list.count; i++) {
        struct aiv_run run[RANKS];
        bool over[RANKS] = { false };
        for (uint32_t r = 0; r < RANKS; r++) {
            aiv_run_begin(&run[r], comm, r, &list.item[i]);
        }
        for (unsigned ended = 0, steps = 0; ended < RANKS; steps++) {
            cr_assert(lt(uint, steps, 1000000));
            const uint32_t r = (unsigned)rand_r(&seed) % RANKS;
            bool progress = false;
            rp_status st = rp_aiv_step(&run[r].op, 8192, &progress);
            rp_lines_flush(&comm->lines[r]);
            st = st == RP_OK ? rp_aiv_complete(&run[r].op) : st;
            cr_assert(ge(int, st, 0));
            if (st == RP_OK && !over[r]) {
                over[r] = true;
                ended++;
            }
        }
        for (uint32_t r = 0; r < RANKS; r++) {
            cr_assert(aiv_run_check(&run[r]));
        }
    }
    fake_comm_destroy(comm);
    empty(&list);
}

static rp_status step_once(struct rp_aiv_op *op)
{
    bool progress = false;
    return rp_aiv_step(op, UINT64_MAX, &progress);
}

static void begin_barrier(struct rp_aiv_op *op, struct fake_comm *comm, uint32_t rank)
{
    const struct fake_call call = { .record = { .op = RP_OP_BARRIER } };
    const struct rp_record record = fake_call_record(comm, rank, &call);
    rp_aiv_begin(op, &comm->lines[rank], comm->reduce, &comm->tuning, &record, NULL, NULL);
}

Test(aiv, barrier_holds_until_the_last_rank_arrives)
{
    enum { RANKS = 3 };
    struct fake_comm *comm = make_comm(RANKS, 4096);
    for (unsigned round = 0; round < 100; round++) {
        struct rp_aiv_op op[RANKS];
        for (uint32_t r = 0; r < RANKS; r++) {
            begin_barrier(&op[r], comm, r);
        }
        const uint32_t last = round % RANKS;
        for (uint32_t r = 0; r < RANKS; r++) {
            if (r != last) {
                cr_assert(eq(int, step_once(&op[r]), RP_AGAIN));
                cr_assert(eq(int, step_once(&op[r]), RP_AGAIN));
            }
        }
        cr_assert(eq(int, step_once(&op[last]), RP_OK));
        for (uint32_t r = 0; r < RANKS; r++) {
            cr_assert(eq(int, step_once(&op[r]), RP_OK));
            cr_assert(eq(int, rp_aiv_complete(&op[r]), RP_OK));
        }
    }
    fake_comm_destroy(comm);
}

static void begin_all_reduce(
        struct rp_aiv_op *op, struct fake_comm *comm, uint32_t rank, uint64_t count)
{
    uint8_t *arena = fake_comm_arena(comm, rank);
    const struct fake_call call = {
        .record = { .op = RP_OP_ALL_REDUCE, .dtype = RP_DTYPE_FP32, .count = count },
        .send = arena,
        .recv = arena + count * sizeof(float),
    };
    const struct rp_record record = fake_call_record(comm, rank, &call);
    rp_aiv_begin(
            op, &comm->lines[rank], comm->reduce, &comm->tuning, &record, call.send, call.recv);
}

// The last reader of a buffer is a peer: zero copy is complete only with the peers' `done`.
Test(aiv, zero_copy_completes_with_the_peers_done)
{
    struct fake_comm *comm = make_comm(2, 4096);
    struct rp_aiv_op op[2];
    begin_all_reduce(&op[0], comm, 0, 20000);
    begin_all_reduce(&op[1], comm, 1, 20000);
    cr_assert(eq(int, step_once(&op[0]), RP_AGAIN));
    cr_assert(eq(int, step_once(&op[1]), RP_OK));
    cr_assert(eq(int, rp_aiv_complete(&op[1]), RP_AGAIN));
    cr_assert(eq(int, step_once(&op[0]), RP_OK));
    cr_assert(eq(int, rp_aiv_complete(&op[1]), RP_OK)); // published with the end of the work
    cr_assert(eq(int, rp_aiv_complete(&op[0]), RP_OK));
    cr_assert(eq(u64, comm->lines[0].completed, FAKE_BASE + 1));
    fake_comm_destroy(comm);
}

static void begin_broadcast(struct rp_aiv_op *op, struct fake_comm *comm, uint32_t rank)
{
    const struct fake_call call = {
        .record = { .op = RP_OP_BROADCAST, .dtype = RP_DTYPE_INT8, .count = 4, .root = 1 },
        .send = fake_comm_arena(comm, rank),
        .recv = fake_comm_arena(comm, rank),
    };
    const struct rp_record record = fake_call_record(comm, rank, &call);
    rp_aiv_begin(
            op, &comm->lines[rank], comm->reduce, &comm->tuning, &record, call.send, call.recv);
}

// The turn passes while a large op still waits for `done`. Rank 2 is slow in op 1; op 2 brings rank
// 0 a payload from rank 1, but compares its call with rank 2's, too.
Test(aiv, a_later_op_waits_for_who_is_slow_in_an_earlier_one)
{
    enum { RANKS = 3 };
    struct fake_comm *comm = make_comm(RANKS, 4096);
    struct rp_lines *lines = comm->lines;
    struct rp_aiv_op large[RANKS];
    struct rp_aiv_op tiny[RANKS];
    for (uint32_t r = 0; r < RANKS; r++) {
        begin_all_reduce(&large[r], comm, r, 20000);
        begin_broadcast(&tiny[r], comm, r);
    }
    cr_assert(eq(int, step_once(&large[2]), RP_AGAIN));
    cr_assert(eq(int, step_once(&large[1]), RP_AGAIN));
    cr_assert(eq(int, step_once(&large[0]), RP_OK));
    cr_assert(eq(int, step_once(&large[1]), RP_OK));
    cr_assert(eq(int, rp_aiv_complete(&large[0]), RP_AGAIN));

    cr_assert(eq(int, step_once(&tiny[1]), RP_AGAIN));
    cr_assert(eq(int, step_once(&tiny[0]), RP_AGAIN));
    cr_assert(eq(int, rp_aiv_complete(&large[0]), RP_AGAIN));
    cr_assert(eq(u64, lines[0].completed, FAKE_BASE)); // op 1 is open, and would be revoked

    cr_assert(eq(int, step_once(&large[2]), RP_OK));
    rp_lines_flush(&lines[2]);
    cr_assert(eq(int, rp_aiv_complete(&large[0]), RP_OK));
    cr_assert(ge(u64, lines[0].completed, FAKE_BASE + 1));
    cr_assert(eq(int, step_once(&tiny[0]), RP_AGAIN));
    cr_assert(eq(int, step_once(&tiny[2]), RP_OK));
    cr_assert(eq(int, step_once(&tiny[0]), RP_OK));
    cr_assert(eq(int, rp_aiv_complete(&tiny[0]), RP_OK));
    fake_comm_destroy(comm);
}

// One rank: the sequence counts, a copy of overlapping buffers is right from both sides.
Test(aiv, one_rank_copies_and_counts)
{
    enum { COUNT = 1000 };
    struct fake_comm *comm = make_comm(1, 4096);
    comm->budget_bytes = 128;
    uint8_t *arena = fake_comm_arena(comm, 0);
    static const int shifts[] = { 0, 1, -1, 64, -64, 999, -999 };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(shifts); i++) {
        for (size_t b = 0; b < 3 * COUNT; b++) {
            arena[b] = (uint8_t)(b * 7);
        }
        const struct fake_call call = {
            .record = { .op = RP_OP_ALL_REDUCE, .dtype = RP_DTYPE_UINT8, .count = COUNT },
            .send = arena + COUNT,
            .recv = arena + COUNT + shifts[i],
        };
        cr_assert(eq(int, fake_comm_call(comm, 0, &call), RP_OK));
        cr_assert(eq(u64, comm->lines[0].completed, FAKE_BASE + 1 + i));
        for (size_t b = 0; b < COUNT; b++) {
            cr_assert(eq(u8, ((uint8_t *)call.recv)[b], (uint8_t)((COUNT + b) * 7)));
        }
    }
    fake_comm_destroy(comm);
}

Test(aiv_slice, covers_everything_once_on_element_boundaries)
{
    static const uint64_t sizes[] = { 0, 1, 63, 64, 65, 4096, 100003, UINT64_C(5) << 32 };
    for (size_t s = 0; s < RP_ARRAY_LENGTH(sizes); s++) {
        for (uint32_t ranks = 1; ranks < 20; ranks++) {
            uint64_t at = 0;
            for (uint32_t r = 0; r < ranks; r++) {
                const struct rp_slice slice = rp_aiv_slice(sizes[s], r, ranks);
                cr_assert(eq(u64, slice.start, at));
                cr_assert(slice.start % 64 == 0 || slice.bytes == 0);
                cr_assert(le(u64, slice.bytes, sizes[s] / ranks + 64));
                at += slice.bytes;
            }
            cr_assert(eq(u64, at, sizes[s]));
        }
    }
}
