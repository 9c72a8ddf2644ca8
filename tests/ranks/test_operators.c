// Eager operators on every number and kind of ranks: all of them, in both expansions and both
// algorithms, every type and reduction, sizes around each boundary between forms, any address, in
// place and not, in device memory and elsewhere. Replays are in test_replay.c.

#include "support/rank_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

#define MESH ENV("HCCL_OP_EXPANSION_MODE=HOST_TS", "HCCL_BUFFSIZE=1")
#define RING ENV("HCCL_OP_EXPANSION_MODE=HOST", "HCCL_ALGO=level0:ring", "HCCL_BUFFSIZE=1")
#define KERNELS ENV("HCCL_OP_EXPANSION_MODE=AIV", "HCCL_BUFFSIZE=4")

static const char *const *const forms[] = { KERNELS, MESH, RING };
static const char *const form_names[] = { "AIV", "mesh", "ring" };
static const unsigned rank_counts[] = { 1, 2, 3, 5, 8 };

// The oracle folds in rank order; a ring does not, which floats would show.
static bool is_float(enum rp_dtype dtype)
{
    return dtype == RP_DTYPE_FP16 || dtype == RP_DTYPE_BFP16 || dtype == RP_DTYPE_FP32 ||
           dtype == RP_DTYPE_FP64;
}

struct sweep {
    bool ring;
    bool every_type;
    size_t skew;
    const size_t *counts;
    size_t counts_length;
};

static void run_one(struct rank *rank, const struct oracle_call *what, bool in_place, size_t skew,
        uint64_t seed)
{
    struct rank_call call;
    rank_call_open(&call, rank, what,
            &(struct rank_call_options){
                    .in_place = in_place, .versions = 2, .seed = seed, .skew = skew });
    for (unsigned version = 0; version < 2; version++) {
        rank_call_load(&call, version);
        must(rank_call_issue(&call, rank->comm, rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(&call, version, "eager");
    }
    rank_call_close(&call);
}

static void sweep_rank(struct rank *rank)
{
    const struct sweep *sweep = rank->arg;
    uint64_t seed = 0;
    rank_open(rank);
    for (int op = 0; op < ORACLE_OPS; op++) {
        const bool reduces = oracle_reduces((enum oracle_op)op);
        for (int dtype = 0; dtype <= RP_DTYPE_FP8E8M0; dtype++) {
            const enum rp_dtype type = (enum rp_dtype)dtype;
            const bool skipped = sweep->every_type ? dtype == 13 : dtype != RP_DTYPE_INT32;
            if (skipped ||
                    (reduces && (!rp_dtype_reducible(type) || (sweep->ring && is_float(type))))) {
                continue;
            }
            for (size_t n = 0; n < sweep->counts_length; n++) {
                for (int reduce = 0; reduce < (reduces && sweep->every_type ? 4 : 1); reduce++) {
                    const struct oracle_call what = {
                        .op = (enum oracle_op)op,
                        .dtype = type,
                        .reduce = (enum rp_reduce_op)reduce,
                        .count = sweep->counts[n],
                        .root = (unsigned)seed % rank->count,
                        .ranks = rank->count,
                    };
                    run_one(rank, &what, seed % 2 == 0, sweep->skew, seed);
                    seed++;
                }
            }
        }
    }
    rank_close(rank);
}

static void run_sweep(struct sweep sweep, size_t form, unsigned ranks, enum rank_mode mode)
{
    sweep.ring = forms[form] == forms[2];
    const struct rank_job job = {
        .ranks = ranks, .mode = mode, .fn = sweep_rank, .arg = &sweep, .env = forms[form]
    };
    assert_job(&job, "%s, %u ranks, mode %d, skew %zu", form_names[form], ranks, (int)mode,
            sweep.skew);
}

Test(operators, every_number_of_ranks_as_processes_threads_and_both, .timeout = 280)
{
    static const size_t counts[] = { 1, 7, 11, 600, 9000, 60001 };
    const struct sweep sweep = { .counts = counts, .counts_length = RP_ARRAY_LENGTH(counts) };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rank_counts); i++) {
        for (int mode = RANK_PROCESSES; mode <= RANK_MIXED; mode++) {
            for (size_t form = 0; form < RP_ARRAY_LENGTH(forms); form++) {
                run_sweep(sweep, form, rank_counts[i], (enum rank_mode)mode);
            }
        }
    }
}

Test(operators, every_type_and_reduction, .timeout = 280)
{
    static const size_t counts[] = { 3, 700, 20000 };
    const struct sweep sweep = {
        .every_type = true, .counts = counts, .counts_length = RP_ARRAY_LENGTH(counts)
    };
    for (size_t form = 0; form < RP_ARRAY_LENGTH(forms); form++) {
        run_sweep(sweep, form, 3, RANK_MIXED);
    }
}

Test(operators, any_address, .timeout = 280)
{
    static const size_t counts[] = { 5, 1000, 30000 };
    for (size_t skew = 1; skew < 64; skew = 2 * skew + 1) {
        const struct sweep sweep = {
            .skew = skew, .counts = counts, .counts_length = RP_ARRAY_LENGTH(counts)
        };
        for (size_t form = 0; form < RP_ARRAY_LENGTH(forms); form++) {
            run_sweep(sweep, form, 3, RANK_THREADS);
        }
    }
}

// ---- memory that peers cannot reach ----

// Ranks whose bit is set use malloc; a call is staged for all if it is for one.
static void foreign_memory_rank(struct rank *rank)
{
    static const size_t counts[] = { 2, 900, 200000 };
    const unsigned foreign = *(const unsigned *)rank->arg;
    rank_open(rank);
    for (int op = 0; op < ORACLE_OPS; op++) {
        for (size_t n = 0; n < RP_ARRAY_LENGTH(counts); n++) {
            const struct oracle_call what = {
                .op = (enum oracle_op)op,
                .dtype = RP_DTYPE_INT32,
                .count = counts[n],
                .root = 1,
                .ranks = rank->count,
            };
            struct rank_call call;
            rank_call_open(
                    &call, rank, &what, &(struct rank_call_options){ .versions = 2, .seed = n });
            uint8_t *send = call.send, *recv = call.recv;
            if ((foreign >> rank->id & 1) != 0) {
                send = malloc(call.send_bytes + 1);
                recv = op == ORACLE_BROADCAST ? send : malloc(call.recv_bytes + 1);
                must_hold(send != NULL && recv != NULL, "malloc");
            }
            for (unsigned version = 0; version < 2; version++) {
                struct rank_call moved = call;
                rank_call_load(&call, version);
                if (send != call.send) {
                    memcpy(send, call.send, call.send_bytes);
                    memset(recv, GUARD_POISON, recv == send ? 0 : call.recv_bytes);
                }
                moved.send = send;
                moved.recv = recv;
                must(rank_call_issue(&moved, rank->comm, rank->stream));
                must(aclrtSynchronizeStream(rank->stream));
                rank_call_check(&moved, version, "outside the arena");
            }
            if (send != call.send) {
                free(send);
                if (recv != send) {
                    free(recv);
                }
            }
            rank_call_close(&call);
        }
    }
    rank_close(rank);
}

Test(operators, buffers_outside_device_memory, .timeout = 280)
{
    static const unsigned foreign[] = { 7, 1, 2, 6 };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(foreign); i++) {
        for (size_t form = 0; form < RP_ARRAY_LENGTH(forms); form++) {
            const struct rank_job job = {
                .ranks = 3, .fn = foreign_memory_rank, .arg = &foreign[i], .env = forms[form]
            };
            assert_job(&job, "%s, ranks 0x%x", form_names[form], foreign[i]);
        }
    }
}

// ---- more than 2^31 bytes ----

#define HUGE_BYTES ((UINT64_C(1) << 31) + 70001)

static uint8_t huge_byte(unsigned rank, uint64_t at)
{
    return (uint8_t)(at / 4099 + rank * 7 + 1);
}

// What is not constant over 4,099 bytes: enough to find a piece that went elsewhere.
static void huge_rank(struct rank *rank)
{
    uint8_t *data = NULL;
    rank_open(rank);
    must(aclrtMalloc((void **)&data, HUGE_BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    for (uint64_t at = 0; at < HUGE_BYTES; at += 4099) {
        memset(data + at, huge_byte(rank->id, at), rp_min_u64(4099, HUGE_BYTES - at));
    }
    must(HcclAllReduce(data, data, HUGE_BYTES, HCCL_DATA_TYPE_UINT8, HCCL_REDUCE_SUM, rank->comm,
            rank->stream));
    must(aclrtSynchronizeStream(rank->stream));
    for (uint64_t at = 0; at < HUGE_BYTES; at += 61) {
        const uint8_t want = (uint8_t)(huge_byte(0, at) + huge_byte(1, at));
        must_hold(data[at] == want, "byte %llu is %u, not %u", (unsigned long long)at, data[at],
                want);
    }
    must_hold(data[HUGE_BYTES - 1] ==
                      (uint8_t)(huge_byte(0, HUGE_BYTES - 1) + huge_byte(1, HUGE_BYTES - 1)),
            "the last byte");
    must(aclrtFree(data));
    rank_close(rank);
}

Test(operators, more_than_2_to_the_31_bytes, .timeout = 280)
{
    for (size_t form = 0; form < (soaking() ? RP_ARRAY_LENGTH(forms) : 1); form++) {
        const struct rank_job job = { .ranks = 2, .fn = huge_rank, .env = forms[form] };
        assert_job(&job, "%s", form_names[form]);
    }
}

// ---- equal bits ----

// Reductions of floats have one result whatever the form, also by a ring when strict asks for it.
static void strict_rank(struct rank *rank)
{
    static const enum rp_dtype types[] = { RP_DTYPE_FP16, RP_DTYPE_BFP16, RP_DTYPE_FP32,
        RP_DTYPE_FP64 };
    static const size_t counts[] = { 3, 3000, 50000 };
    rank_open(rank);
    for (size_t t = 0; t < RP_ARRAY_LENGTH(types); t++) {
        for (size_t n = 0; n < RP_ARRAY_LENGTH(counts); n++) {
            for (int op = 0; op < ORACLE_OPS; op++) {
                if (!oracle_reduces((enum oracle_op)op)) {
                    continue;
                }
                const struct oracle_call what = {
                    .op = (enum oracle_op)op,
                    .dtype = types[t],
                    .count = counts[n],
                    .root = 3,
                    .ranks = rank->count,
                };
                run_one(rank, &what, false, 0, t * 7 + n);
            }
        }
    }
    rank_close(rank);
}

Test(operators, strict_gives_the_fold_in_rank_order_in_every_form, .timeout = 280)
{
    const char *const *const settings[] = {
        ENV("HCCL_OP_EXPANSION_MODE=AIV", "HCCL_DETERMINISTIC=strict"),
        ENV("HCCL_OP_EXPANSION_MODE=HOST", "HCCL_DETERMINISTIC=strict"),
        ENV("HCCL_OP_EXPANSION_MODE=HOST", "HCCL_DETERMINISTIC=strict", "HCCL_ALGO=level0:ring"),
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(settings); i++) {
        const struct rank_job job = { .ranks = 5, .fn = strict_rank, .env = settings[i] };
        assert_job(&job, "settings %zu", i);
    }
}

// A ring has an order of its own, and always the same.
static void ring_repeats_rank(struct rank *rank)
{
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_FP32, .count = 10007, .ranks = rank->count
    };
    struct rank_call call;
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .versions = 1 });
    uint8_t *first = malloc(call.recv_bytes);
    must_hold(first != NULL, "malloc");
    for (unsigned round = 0; round < 10; round++) {
        rank_call_load(&call, 0);
        must(rank_call_issue(&call, rank->comm, rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
        if (round == 0) {
            memcpy(first, call.recv, call.recv_bytes);
        }
        must_hold(memcmp(first, call.recv, call.recv_bytes) == 0, "round %u has other bits", round);
    }
    free(first);
    rank_call_close(&call);
    rank_close(rank);
}

Test(operators, a_ring_repeats_its_bits)
{
    const struct rank_job job = { .ranks = 5, .fn = ring_repeats_rank, .env = RING };
    assert_job(&job, "ring");
}

// ---- many calls under way ----

// No synchronisation between the calls: their order on the stream and the communicator does it all.
static void chain_rank(struct rank *rank)
{
    const unsigned length = 300;
    const size_t count = 1500;
    uint32_t *data = NULL, *gathered = NULL;
    rank_open(rank);
    must(aclrtMalloc((void **)&data, count * sizeof(*data), ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMalloc(
            (void **)&gathered, rank->count * count * sizeof(*data), ACL_MEM_MALLOC_HUGE_FIRST));
    for (size_t i = 0; i < count; i++) {
        data[i] = word(rank->id, 0, i);
    }
    for (unsigned k = 0; k < length; k++) {
        must(HcclAllGather(data, gathered, count, HCCL_DATA_TYPE_UINT32, rank->comm, rank->stream));
        must(HcclReduceScatter(gathered, data, count, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM,
                rank->comm, rank->stream)); // N times what it was
        must(HcclBroadcast(
                data, count / 3, HCCL_DATA_TYPE_UINT32, k % rank->count, rank->comm, rank->stream));
        must(HcclBarrier(rank->comm, rank->stream));
    }
    must(aclrtSynchronizeStream(rank->stream));
    uint32_t factor = 1;
    for (unsigned k = 0; k < length; k++) {
        factor *= rank->count;
    }
    for (size_t i = 0; i < count; i++) {
        const unsigned from = i < count / 3 ? 0 : rank->id; // the first root's values
        must_hold(data[i] == factor * word(from, 0, i), "element %zu", i);
    }
    must(aclrtFree(data));
    must(aclrtFree(gathered));
    rank_close(rank);
}

Test(operators, a_chain_of_calls_without_synchronisation, .timeout = 280)
{
    for (size_t form = 0; form < RP_ARRAY_LENGTH(forms); form++) {
        for (unsigned ranks = 2; ranks <= 5; ranks += 3) {
            const struct rank_job job = { .ranks = ranks, .fn = chain_rank, .env = forms[form] };
            assert_job(&job, "%s, %u ranks", form_names[form], ranks);
        }
    }
}

// Two communicators over the same ranks, of different forms, used in turn.
static void two_comms_rank(struct rank *rank)
{
    HcclComm other = NULL;
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    config.hcclOpExpansionMode = 1;
    config.hcclBufferSize = 2;
    strcpy(config.hcclAlgo, "level0:ring");
    rank_open(rank);
    must(rank_join(rank, 1, rank->count, rank->count - 1 - rank->id, &config, &other));
    HcclOpExpansionMode mode;
    must(HcclConfigGetInfo(other, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, sizeof(mode), &mode));
    must_hold(mode == HCCL_OP_EXPANSION_MODE_HOST, "mode %d", (int)mode);
    const size_t count = 4000;
    uint32_t *data = NULL;
    must(aclrtMalloc((void **)&data, count * sizeof(*data), ACL_MEM_MALLOC_HUGE_FIRST));
    for (size_t i = 0; i < count; i++) {
        data[i] = word(rank->id, 1, i);
    }
    uint32_t factor = 1;
    for (unsigned k = 0; k < 100; k++) {
        must(HcclAllReduce(data, data, count, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM,
                k % 2 == 0 ? rank->comm : other, rank->stream));
        factor *= k == 0 ? 1 : rank->count;
    }
    must(aclrtSynchronizeStream(rank->stream));
    for (size_t i = 0; i < count; i++) {
        must_hold(data[i] == factor * sum_of_words(rank->count, 1, i), "element %zu", i);
    }
    must(aclrtFree(data));
    must(HcclCommDestroy(other));
    rank_close(rank);
}

Test(operators, two_communicators_in_turn)
{
    const struct rank_job job = { .ranks = 3, .fn = two_comms_rank, .mode = RANK_MIXED };
    assert_job(&job, "AIV and ring");
}

// More shapes than the expansion cache keeps; a graph's lists outlive them.
static void many_shapes_rank(struct rank *rank)
{
    const size_t most = 700;
    uint32_t *data = NULL;
    rank_open(rank);
    must(aclrtMalloc((void **)&data, most * sizeof(*data), ACL_MEM_MALLOC_HUGE_FIRST));
    capture_begin(rank->stream);
    must(HcclAllReduce(
            data, data, most, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, rank->comm, rank->stream));
    aclmdlRI graph = capture_end(rank->stream);
    for (size_t count = 1; count < most; count++) {
        for (size_t i = 0; i < count; i++) {
            data[i] = word(rank->id, count, i);
        }
        must(HcclAllReduce(data, data, count, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, rank->comm,
                rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
        must_hold(
                data[count - 1] == sum_of_words(rank->count, count, count - 1), "count %zu", count);
        must_hold(data[0] == sum_of_words(rank->count, count, 0), "count %zu", count);
    }
    for (size_t i = 0; i < most; i++) {
        data[i] = word(rank->id, 0, i);
    }
    replay(graph, rank->stream);
    must(aclrtSynchronizeStream(rank->stream));
    for (size_t i = 0; i < most; i++) {
        must_hold(data[i] == sum_of_words(rank->count, 0, i), "replayed element %zu", i);
    }
    must(aclmdlRIDestroy(graph));
    must(aclrtFree(data));
    rank_close(rank);
}

Test(operators, more_shapes_than_the_cache_keeps)
{
    const struct rank_job job = { .ranks = 2, .fn = many_shapes_rank, .env = MESH };
    assert_job(&job, "mesh");
}

// ---- zero counts, barriers ----

static void zero_rank(struct rank *rank)
{
    rank_open(rank);
    // Not the same number of calls on every rank: they leave no trace.
    for (unsigned k = 0; k <= rank->id; k++) {
        must(HcclAllReduce(
                NULL, NULL, 0, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, rank->comm, rank->stream));
        must(HcclBroadcast(NULL, 0, HCCL_DATA_TYPE_FP32, 77, rank->comm, rank->stream));
    }
    const struct oracle_call what = {
        .op = ORACLE_ALL_GATHER, .dtype = RP_DTYPE_INT8, .count = 100, .ranks = rank->count
    };
    run_one(rank, &what, false, 3, 0);
    rank_close(rank);
}

Test(operators, counts_of_0_leave_no_trace)
{
    for (size_t form = 0; form < RP_ARRAY_LENGTH(forms); form++) {
        const struct rank_job job = { .ranks = 3, .fn = zero_rank, .env = forms[form] };
        assert_job(&job, "%s", form_names[form]);
    }
}

// The shared word counts the ranks that have come; behind the barrier it has all of them. It lasts
// longer than HCCL_EXEC_TIMEOUT, which does not hold for barriers.
static void barrier_rank(struct rank *rank)
{
    _Atomic unsigned *come = rank->shared;
    rank_open(rank);
    for (unsigned round = 1; round <= 3; round++) {
        if (rank->id == round % rank->count) {
            rank_sleep_us(round == 1 ? 1500000 : 20000);
        }
        atomic_fetch_add(come, 1);
        must(HcclBarrier(rank->comm, rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
        must_hold(atomic_load(come) >= round * rank->count, "round %u: only %u have come", round,
                atomic_load(come));
    }
    rank_close(rank);
}

Test(operators, a_barrier_waits_for_everyone_and_as_long_as_it_takes)
{
    const char *const *const settings[] = {
        ENV("HCCL_OP_EXPANSION_MODE=AIV", "HCCL_EXEC_TIMEOUT=1"),
        ENV("HCCL_OP_EXPANSION_MODE=HOST", "HCCL_EXEC_TIMEOUT=1"),
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(settings); i++) {
        void *come = rank_shared_create(4096);
        const struct rank_job job = {
            .ranks = 5, .fn = barrier_rank, .shared = come, .env = settings[i]
        };
        const char *wrong = rank_run(&job);
        rank_shared_destroy(come, 4096);
        assert_well(wrong, "settings %zu", i);
    }
}

// ---- calls that differ ----

struct difference {
    size_t count[2]; // rank 0, the others
    int dtype[2];
    bool gather;          // the others call AllGather
    bool set_config;      // rank 0 alone asks for strict determinism
    const char *words[2]; // that every rank's sentence has
};

static void difference_rank(struct rank *rank)
{
    const struct difference *d = rank->arg;
    const unsigned side = rank->id == 0 ? 0 : 1;
    void *data = NULL, *more = NULL;
    HcclResult error = HCCL_SUCCESS;
    rank_open(rank);
    must(aclrtMalloc(&data, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMalloc(&more, 4 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(data, 0, 1 << 20);
    if (d->set_config && side == 0) {
        must(HcclSetConfig(HCCL_DETERMINISTIC, (HcclConfigValue){ .value = 2 }));
    }
    const HcclDataType dtype = (HcclDataType)d->dtype[side];
    if (d->gather && side == 1) {
        must(HcclAllGather(data, more, d->count[side], dtype, rank->comm, rank->stream));
    } else {
        must(HcclAllReduce(
                data, more, d->count[side], dtype, HCCL_REDUCE_SUM, rank->comm, rank->stream));
    }
    const uint64_t began = rank_now_ms();
    (void)rank_error_text();
    const int got = (int)aclrtSynchronizeStream(rank->stream);
    must_hold(got == 507000, "synchronising answers %d", got);
    must_hold(rank_now_ms() - began < 10000, "it took %llu ms",
            (unsigned long long)(rank_now_ms() - began));
    const char *text = rank_error_text();
    for (int w = 0; w < 2; w++) {
        must_hold(strstr(text, d->words[w]) != NULL, "\"%s\" does not say %s", text, d->words[w]);
    }
    must(HcclGetCommAsyncError(rank->comm, &error));
    must_hold(error == HCCL_E_PARA, "the asynchronous error is %d", (int)error);
    must_be(HcclBarrier(rank->comm, rank->stream), HCCL_E_PARA);
    rank_barrier(rank); // nobody leaves before all have looked
    must(aclrtFree(data));
    must(aclrtFree(more));
    rank_close(rank);
}

Test(operators, calls_that_differ_are_named_on_every_rank, .timeout = 280)
{
    static const struct difference rows[] = {
        { { 64, 65 }, { 4, 4 }, false, false, { "count 64", "count 65" } },
        { { 64, 64 }, { 4, 2 }, false, false, { "fp32", "int32" } },
        { { 64, 64 }, { 4, 4 }, true, false, { "AllReduce", "AllGather" } },
        { { 60000, 60001 }, { 4, 4 }, false, false, { "count 60000", "count 60001" } },
        { { 64, 64 }, { 4, 4 }, false, true, { "strict", "AllReduce" } },
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        for (size_t form = 0; form < RP_ARRAY_LENGTH(forms); form++) {
            const struct rank_job job = {
                .ranks = 3, .fn = difference_rank, .arg = &rows[i], .env = forms[form]
            };
            assert_job(&job, "row %zu, %s", i, form_names[form]);
        }
    }
}

// ---- one process, all ranks at once ----

struct all_thread {
    HcclComm comm;
    int32_t device;
    uint32_t rank, count;
    bool ok;
};

static void *all_main(void *arg)
{
    struct all_thread *self = arg;
    uint32_t *data = NULL;
    aclrtStream stream = NULL;
    bool ok = aclrtSetDevice(self->device) == 0 && aclrtCreateStream(&stream) == 0 &&
              aclrtMalloc((void **)&data, 4096, ACL_MEM_MALLOC_HUGE_FIRST) == 0;
    for (size_t i = 0; ok && i < 1024; i++) {
        data[i] = word(self->rank, 2, i);
    }
    ok = ok &&
         HcclAllReduce(data, data, 1024, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, self->comm,
                 stream) == 0 &&
         aclrtSynchronizeStream(stream) == 0;
    for (size_t i = 0; ok && i < 1024; i++) {
        ok = data[i] == sum_of_words(self->count, 2, i);
    }
    self->ok = ok && aclrtFree(data) == 0 && aclrtDestroyStream(stream) == 0;
    return NULL;
}

static void init_all_rank(struct rank *rank)
{
    int32_t devices[] = { 5, 0, 3, 7 };
    HcclComm comms[4] = { NULL };
    pthread_t thread[4];
    struct all_thread threads[4];
    must(HcclCommInitAll(4, devices, comms));
    for (uint32_t r = 0; r < 4; r++) {
        uint32_t id = 9, size = 0;
        must(HcclGetRankId(comms[r], &id));
        must(HcclGetRankSize(comms[r], &size));
        must_hold(id == r && size == 4, "rank %u of %u instead of %u of 4", id, size, r);
        threads[r] = (struct all_thread){ comms[r], devices[r], r, 4, false };
        must_hold(pthread_create(&thread[r], NULL, all_main, &threads[r]) == 0, "pthread_create");
    }
    for (uint32_t r = 0; r < 4; r++) {
        pthread_join(thread[r], NULL);
        must_hold(threads[r].ok, "rank %u failed: %s", r, rank_error_text());
    }
    // One thread for all: nothing waits in a call, so the ranks' calls may come one by one.
    aclrtStream stream[4];
    uint32_t *data[4];
    for (uint32_t r = 0; r < 4; r++) {
        must(aclrtSetDevice(devices[r]));
        must(aclrtCreateStream(&stream[r]));
        must(aclrtMalloc((void **)&data[r], 400000, ACL_MEM_MALLOC_HUGE_FIRST));
        for (size_t i = 0; i < 100000; i++) {
            data[r][i] = word(r, 3, i);
        }
    }
    for (uint32_t r = 0; r < 4; r++) {
        must(HcclAllReduce(data[r], data[r], 100000, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM,
                comms[r], stream[r]));
    }
    for (uint32_t r = 0; r < 4; r++) {
        must(aclrtSetDevice(devices[r]));
        must(aclrtSynchronizeStream(stream[r]));
        for (size_t i = 0; i < 100000; i++) {
            must_hold(data[r][i] == sum_of_words(4, 3, i), "rank %u, element %zu", r, i);
        }
        must(aclrtFree(data[r]));
        must(aclrtDestroyStream(stream[r]));
        must(HcclCommDestroy(comms[r]));
    }
    (void)rank;
}

Test(operators, all_ranks_of_one_process_made_at_once)
{
    for (size_t form = 0; form < RP_ARRAY_LENGTH(forms); form++) {
        const struct rank_job job = { .ranks = 1, .fn = init_all_rank, .env = forms[form] };
        assert_job(&job, "%s", form_names[form]);
    }
}
