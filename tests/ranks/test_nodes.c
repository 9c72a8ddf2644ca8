// Operators between nodes: ranks of one machine that are told apart by REPRISE_NODE_ID, so that
// what is between them is TCP. Every operator and size against the oracle, eager and replayed, in
// several layouts; nodes' ranks need not be neighbours.

#include <stdatomic.h>
#include <string.h>

#include "base/util.h"
#include "support/rank_test.h"

struct layout {
    const char *node; // a letter a rank
    enum rank_mode mode;
};

// Threads of a process share its node, so RANK_MIXED has its ranks in pairs.
static const struct layout layouts[] = {
    { "ab", RANK_PROCESSES },
    { "aabb", RANK_PROCESSES },
    { "aabb", RANK_MIXED },
    { "abab", RANK_PROCESSES },
    { "aaba", RANK_PROCESSES },
    { "aabc", RANK_PROCESSES },
    { "abcde", RANK_PROCESSES },
};

#define SMALL_WINDOWS ENV("HCCL_BUFFSIZE=1")

static void run_layouts(rank_fn *fn, const void *arg, const char *const *env)
{
    for (size_t i = 0; i < RP_ARRAY_LENGTH(layouts); i++) {
        const struct rank_job job = {
            .ranks = (unsigned)strlen(layouts[i].node),
            .mode = layouts[i].mode,
            .node = layouts[i].node,
            .fn = fn,
            .arg = arg,
            .env = env,
        };
        assert_job(&job, "nodes %s, mode %d", layouts[i].node, (int)layouts[i].mode);
    }
}

// ---- operators ----

static struct oracle_call a_call(
        const struct rank *rank, int op, enum rp_dtype dtype, size_t count, unsigned root)
{
    return (struct oracle_call){
        .op = (enum oracle_op)op,
        .dtype = dtype,
        .count = count,
        .root = root % rank->count,
        .ranks = rank->count,
    };
}

static void run_eager(struct rank *rank, struct rank_call *call)
{
    for (unsigned version = 0; version < call->versions; version++) {
        rank_call_load(call, version);
        must(rank_call_issue(call, rank->comm, rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(call, version, "eager");
    }
}

static void eager_rank(struct rank *rank)
{
    static const size_t counts[] = { 1, 7, 600, 9000, 60001, 400000 };
    unsigned n = 0;
    rank_open(rank);
    for (int op = 0; op < ORACLE_OPS; op++) {
        for (size_t i = 0; i < RP_ARRAY_LENGTH(counts); i++, n++) {
            const struct oracle_call what = a_call(rank, op, RP_DTYPE_INT32, counts[i], n);
            struct rank_call call;
            rank_call_open(&call, rank, &what,
                    &(struct rank_call_options){
                            .in_place = n % 2 == 0, .versions = 2, .seed = n, .skew = n % 3 });
            run_eager(rank, &call);
            rank_call_close(&call);
        }
        must(HcclBarrier(rank->comm, rank->stream));
    }
    must(aclrtSynchronizeStream(rank->stream));
    rank_close(rank);
}

Test(nodes, every_operator, .timeout = 280)
{
    run_layouts(eager_rank, NULL, SMALL_WINDOWS);
}

static void types_rank(struct rank *rank)
{
    unsigned n = 0;
    rank_open(rank);
    for (int op = 0; op < ORACLE_OPS; op++) {
        for (int dtype = 0; dtype <= RP_DTYPE_FP8E8M0; dtype++) {
            const enum rp_dtype type = (enum rp_dtype)dtype;
            const bool reduces = oracle_reduces((enum oracle_op)op);
            if (dtype == 13 || (reduces && !rp_dtype_reducible(type))) {
                continue;
            }
            for (int reduce = 0; reduce < (reduces ? 4 : 1); reduce++, n++) {
                struct oracle_call what = a_call(rank, op, type, 700, n);
                struct rank_call call;
                what.reduce = (enum rp_reduce_op)reduce;
                rank_call_open(&call, rank, &what,
                        &(struct rank_call_options){ .versions = 1, .seed = n });
                run_eager(rank, &call);
                rank_call_close(&call);
            }
        }
    }
    rank_close(rank);
}

// Under strict sums are in rank order on all layouts, as the oracle's are.
Test(nodes, every_type_and_reduction, .timeout = 280)
{
    const struct rank_job job = {
        .ranks = 3,
        .node = "aba",
        .fn = types_rank,
        .env = ENV("HCCL_BUFFSIZE=1", "HCCL_DETERMINISTIC=strict"),
    };
    assert_job(&job, "nodes %s", job.node);
}

#define GRAPH_CALLS ORACLE_OPS

static void replayed_rank(struct rank *rank)
{
    static const size_t counts[] = { 5, 3000, 150000 };
    struct rank_call call[GRAPH_CALLS];
    rank_open(rank);
    for (size_t i = 0; i < RP_ARRAY_LENGTH(counts); i++) {
        for (int op = 0; op < ORACLE_OPS; op++) {
            const struct oracle_call what =
                    a_call(rank, op, RP_DTYPE_INT32, counts[i], (unsigned)op);
            rank_call_open(&call[op], rank, &what,
                    &(struct rank_call_options){ .versions = 3, .seed = (uint64_t)op + i });
        }
        capture_begin(rank->stream);
        for (int op = 0; op < ORACLE_OPS; op++) {
            must(rank_call_issue(&call[op], rank->comm, rank->stream));
            if (op == ORACLE_SCATTER) {
                must(HcclBarrier(rank->comm, rank->stream));
            }
        }
        aclmdlRI graph = capture_end(rank->stream);
        for (unsigned round = 0; round < (counts[i] > 10000 ? 6 : 40); round++) {
            for (int op = 0; op < ORACLE_OPS; op++) {
                rank_call_load(&call[op], round);
            }
            replay(graph, rank->stream);
            must(aclrtSynchronizeStream(rank->stream));
            for (int op = 0; op < ORACLE_OPS; op++) {
                rank_call_check(&call[op], round, "replayed");
            }
        }
        must(aclmdlRIDestroy(graph));
        for (int op = 0; op < ORACLE_OPS; op++) {
            rank_call_close(&call[op]);
        }
    }
    rank_close(rank);
}

Test(nodes, graphs_of_every_operator, .timeout = 280)
{
    run_layouts(replayed_rank, NULL, SMALL_WINDOWS);
}

// Graphs that are replayed without a look in between, and eager calls beside them.
static void in_flight_rank(struct rank *rank)
{
    const struct oracle_call what = a_call(rank, ORACLE_ALL_REDUCE, RP_DTYPE_INT32, 2000, 0);
    struct rank_call call, eager;
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .versions = 2, .seed = 1 });
    rank_call_open(&eager, rank, &what, &(struct rank_call_options){ .versions = 2, .seed = 2 });
    capture_begin(rank->stream);
    must(rank_call_issue(&call, rank->comm, rank->stream));
    must(rank_call_issue(&call, rank->comm, rank->stream));
    aclmdlRI graph = capture_end(rank->stream);
    for (unsigned round = 0; round < 30; round++) {
        rank_call_load(&call, round);
        rank_call_load(&eager, round);
        for (unsigned k = 0; k < 5; k++) {
            replay(graph, rank->stream);
            must(rank_call_issue(&eager, rank->comm, rank->stream));
        }
        if (rank->id == 0) {
            rank_sleep_us(rank_random(rank, 3000));
        }
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(&call, round, "replayed");
        rank_call_check(&eager, round, "eager");
    }
    must(aclmdlRIDestroy(graph));
    rank_call_close(&call);
    rank_call_close(&eager);
    rank_close(rank);
}

Test(nodes, graphs_in_flight_beside_eager_calls, .timeout = 280)
{
    run_layouts(in_flight_rank, NULL, SMALL_WINDOWS);
}

static void zero_rank(struct rank *rank)
{
    struct guard send, recv;
    rank_open(rank);
    must(guard_create(&send, 64, 0));
    must(guard_create(&recv, 64, 0));
    for (unsigned round = 0; round < 3; round++) {
        must(HcclAllReduce(send.data, recv.data, 0, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                rank->comm, rank->stream));
        must(HcclBroadcast(send.data, 0, HCCL_DATA_TYPE_INT32, 1, rank->comm, rank->stream));
        must(HcclAllGather(
                send.data, recv.data, 0, HCCL_DATA_TYPE_INT32, rank->comm, rank->stream));
        must(HcclReduceScatter(send.data, recv.data, 0, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                rank->comm, rank->stream));
        must(HcclBarrier(rank->comm, rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
        must_hold(guard_intact(&send) && guard_intact(&recv), "bytes were written");
    }
    must(guard_destroy(&send));
    must(guard_destroy(&recv));
    rank_close(rank);
}

Test(nodes, nothing_and_barriers)
{
    run_layouts(zero_rank, NULL, SMALL_WINDOWS);
}

// Nobody leaves a barrier before the last has come, in either mode.
static void barrier_rank(struct rank *rank)
{
    _Atomic uint64_t *arrived = rank->shared;
    rank_open(rank);
    capture_begin(rank->stream);
    must(HcclBarrier(rank->comm, rank->stream));
    aclmdlRI graph = capture_end(rank->stream);
    for (uint64_t round = 1; round <= 60; round++) {
        if (round % rank->count == rank->id) {
            rank_sleep_us(rank_random(rank, 4000));
        }
        atomic_fetch_add(arrived, 1);
        if (round % 2 == 0) {
            replay(graph, rank->stream);
        } else {
            must(HcclBarrier(rank->comm, rank->stream));
        }
        must(aclrtSynchronizeStream(rank->stream));
        must_hold(atomic_load(arrived) >= round * rank->count,
                "round %d is over when %d of %d have come", (int)round, (int)atomic_load(arrived),
                (int)(round * rank->count));
    }
    must(aclmdlRIDestroy(graph));
    rank_close(rank);
}

Test(nodes, nobody_leaves_a_barrier_before_the_last_has_come)
{
    uint64_t *arrived = rank_shared_create(sizeof(*arrived));
    for (size_t i = 0; i < RP_ARRAY_LENGTH(layouts); i++) {
        *arrived = 0;
        const struct rank_job job = { .ranks = (unsigned)strlen(layouts[i].node),
            .mode = layouts[i].mode,
            .node = layouts[i].node,
            .fn = barrier_rank,
            .env = SMALL_WINDOWS,
            .shared = arrived };
        assert_job(&job, "nodes %s, mode %d", layouts[i].node, (int)layouts[i].mode);
    }
    rank_shared_destroy(arrived, sizeof(*arrived));
}

// Both ring and mesh, over the whole communicator.
static void large_rank(struct rank *rank)
{
    rank_open(rank);
    for (int op = 0; op < ORACLE_OPS; op++) {
        const struct oracle_call what = a_call(rank, op, RP_DTYPE_INT8, 3u << 20, 1);
        struct rank_call call;
        rank_call_open(&call, rank, &what, &(struct rank_call_options){ .versions = 1 });
        run_eager(rank, &call);
        rank_call_close(&call);
    }
    rank_close(rank);
}

Test(nodes, some_mebibytes_in_several_rounds, .timeout = 280)
{
    static const char *const algorithms[] = { "HCCL_ALGO=level0:fullmesh",
        "HCCL_ALGO=level0:ring" };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(algorithms); i++) {
        const struct rank_job job = { .ranks = 4,
            .node = "abba",
            .fn = large_rank,
            .env = ENV("HCCL_BUFFSIZE=1", algorithms[i]) };
        assert_job(&job, "%s", algorithms[i]);
    }
}

// ---- communicators ----

static void many_rank(struct rank *rank)
{
    HcclComm comm[RANK_SLOTS];
    must(aclrtSetDevice(rank->device));
    must(aclrtCreateStream(&rank->stream));
    for (unsigned slot = 0; slot < RANK_SLOTS; slot++) {
        must(rank_join(rank, slot, rank->count, rank->id, NULL, &comm[slot]));
    }
    const struct oracle_call what = a_call(rank, ORACLE_ALL_REDUCE, RP_DTYPE_INT32, 1000, 0);
    struct rank_call call;
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .versions = 3 });
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned slot = 0; slot < RANK_SLOTS; slot++) {
            rank_call_load(&call, round + slot);
            must(rank_call_issue(&call, comm[slot], rank->stream));
            must(aclrtSynchronizeStream(rank->stream));
            rank_call_check(&call, round + slot, "among many communicators");
        }
    }
    rank_call_close(&call);
    // In an order of each rank's own, and at once after the last operator.
    for (unsigned i = 0; i < RANK_SLOTS; i++) {
        must(HcclCommDestroy(comm[(i * 3 + rank->id) % RANK_SLOTS]));
    }
    must(aclrtDestroyStream(rank->stream));
    must(aclrtResetDevice(rank->device));
}

Test(nodes, many_communicators_at_once)
{
    run_layouts(many_rank, NULL, SMALL_WINDOWS);
}

static void destroy_at_once_rank(struct rank *rank)
{
    const struct oracle_call what = a_call(rank, ORACLE_ALL_REDUCE, RP_DTYPE_INT32, 100000, 0);
    struct rank_call call;
    must(aclrtSetDevice(rank->device));
    must(aclrtCreateStream(&rank->stream));
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .versions = 3 });
    for (unsigned round = 0; round < 20; round++) {
        HcclComm comm = NULL;
        must(rank_join_again(rank, round, &comm));
        rank_call_load(&call, round);
        must(rank_call_issue(&call, comm, rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
        if (round % rank->count == rank->id) {
            rank_sleep_us(2000); // the others have left by now
        }
        must(HcclCommDestroy(comm));
        rank_call_check(&call, round, "before it was destroyed");
        rank_barrier(rank);
    }
    rank_call_close(&call);
    must(aclrtDestroyStream(rank->stream));
    must(aclrtResetDevice(rank->device));
}

Test(nodes, communicators_come_and_go_in_any_order)
{
    run_layouts(destroy_at_once_rank, NULL, SMALL_WINDOWS);
}

// ---- kernels do not reach so far ----

static void only_kernels_rank(struct rank *rank)
{
    HcclCommConfig config;
    HcclComm comm = NULL;
    float data[4] = { 1, 2, 3, 4 };
    HcclCommConfigInit(&config);
    config.hcclOpExpansionMode = 4; // kernels or nothing
    must(aclrtSetDevice(rank->device));
    must(aclrtCreateStream(&rank->stream));
    must(rank_join(rank, 0, rank->count, rank->id, &config, &comm));
    must_be(HcclAllReduce(data, data, 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, rank->stream),
            HCCL_E_NOT_SUPPORT);
    must(HcclCommDestroy(comm));
    must(aclrtDestroyStream(rank->stream));
    must(aclrtResetDevice(rank->device));
}

Test(nodes, kernels_or_nothing_is_nothing)
{
    const struct rank_job job = { .ranks = 2, .node = "ab", .fn = only_kernels_rank };
    assert_job(&job, "AIV only");
}

static void falls_back_rank(struct rank *rank)
{
    HcclOpExpansionMode mode = HCCL_OP_EXPANSION_MODE_INVALID;
    const struct oracle_call what = a_call(rank, ORACLE_ALL_GATHER, RP_DTYPE_FP16, 500, 0);
    struct rank_call call;
    rank_open(rank);
    must(HcclConfigGetInfo(rank->comm, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, sizeof(mode), &mode));
    must_hold(
            mode == *(const HcclOpExpansionMode *)rank->arg, "the expansion mode is %d", (int)mode);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .versions = 2 });
    run_eager(rank, &call);
    rank_call_close(&call);
    rank_close(rank);
}

Test(nodes, kernels_give_way_to_task_lists)
{
    static const HcclOpExpansionMode asked = HCCL_OP_EXPANSION_MODE_AIV;
    static const HcclOpExpansionMode chosen = HCCL_OP_EXPANSION_MODE_HOST_TS;
    struct rank_job job = { .ranks = 3, .node = "aba", .fn = falls_back_rank };
    job.arg = &asked;
    job.env = ENV("HCCL_OP_EXPANSION_MODE=AIV", "HCCL_BUFFSIZE=1");
    assert_job(&job, "AIV asked for");
    job.arg = &chosen;
    job.env = ENV("HCCL_BUFFSIZE=1");
    assert_job(&job, "nothing asked for");
}
