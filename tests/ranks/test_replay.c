// A graph replayed many times reads and writes today's data: every replay gets
// new input, and what an earlier one left behind is never right. Every operator,
// both expansions, all sizes of message, one to eight ranks as processes and
// threads, a slow rank. R11 and part of R20 of the user reports; AlltoAll and two
// nodes come with their issues.

#include "support/rank_test.h"

#define CALLS_MAX 7

struct replay_case {
    struct oracle_call what; // .ranks is filled in by the rank
    unsigned calls;          // of `what` in the graph, each with buffers of its own
    bool in_place;
    size_t skew;
    unsigned replays;
    unsigned delay_us; // rank 0 is late by up to this
};

static void expect_expansion(const struct rank *rank)
{
    const char *wanted = getenv("HCCL_OP_EXPANSION_MODE");
    HcclOpExpansionMode mode = HCCL_OP_EXPANSION_MODE_INVALID;
    must(HcclConfigGetInfo(rank->comm, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, sizeof(mode), &mode));
    must_hold(
            wanted == NULL || mode == (strcmp(wanted, "AIV") == 0 ? HCCL_OP_EXPANSION_MODE_AIV
                                                                  : HCCL_OP_EXPANSION_MODE_HOST_TS),
            "asked for %s, the communicator says %d", wanted, (int)mode);
}

static void replay_case(struct rank *rank, const struct replay_case *c)
{
    struct oracle_call what = c->what;
    struct rank_call call[CALLS_MAX];
    what.ranks = rank->count;
    for (unsigned k = 0; k < c->calls; k++) {
        rank_call_open(&call[k], rank, &what,
                &(struct rank_call_options){ .in_place = c->in_place,
                        .skew = c->skew,
                        .seed = k + 1,
                        .versions = what.count > 10000 ? 4 : 13 });
    }
    capture_begin(rank->stream);
    for (unsigned k = 0; k < c->calls; k++) {
        must(rank_call_issue(&call[k], rank->comm, rank->stream));
    }
    aclmdlRI graph = capture_end(rank->stream);
    for (unsigned round = 0; round < c->replays; round++) {
        for (unsigned k = 0; k < c->calls; k++) {
            rank_call_load(&call[k], round + k);
        }
        if (rank->id == 0 && c->delay_us > 0) {
            rank_sleep_us(rank_random(rank, c->delay_us));
        }
        replay(graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        rank_step(rank, round + 1);
        for (unsigned k = 0; k < c->calls; k++) {
            rank_call_check(&call[k], round + k, "replayed");
        }
    }
    must(aclmdlRIDestroy(graph));
    for (unsigned k = 0; k < c->calls; k++) {
        rank_call_close(&call[k]);
    }
}

static void replay_rank(struct rank *rank)
{
    rank_open(rank);
    expect_expansion(rank);
    replay_case(rank, rank->arg);
    rank_close(rank);
}

static void run_case(
        const struct replay_case *c, unsigned ranks, enum rank_mode mode, const char *const *env)
{
    const struct rank_job job = {
        .ranks = ranks,
        .mode = mode,
        .fn = replay_rank,
        .arg = c,
        .env = env,
        .seed = 11,
        .timeout_s = soaking() ? 1200 : 60,
    };
    assert_job(&job, "%u calls of %s, %zu elements of type %d, %u ranks, mode %d, %s", c->calls,
            rank_call_name(c->what.op), c->what.count, (int)c->what.dtype, ranks, (int)mode,
            env != NULL ? env[0] : "no setting");
}

Test(replay, r11_of_one_two_three_and_seven_all_reduces_with_a_late_rank)
{
    static const unsigned calls[] = { 1, 2, 3, 7 };
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        const struct replay_case c = {
            .what = { .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_FP32, .count = 4096 },
            .calls = calls[i],
            .replays = soak_rounds(400, 10000),
            .delay_us = 2000,
        };
        run_case(&c, 4, RANK_PROCESSES, AIV);
    }
}

// Tiny messages ride in the announcement, small ones in slots, large ones are read in place.
static void every_operator_rank(struct rank *rank)
{
    static const size_t counts[] = { 8, 1000, 70001 };
    rank_open(rank);
    expect_expansion(rank);
    for (unsigned o = 0; o < ORACLE_OPS; o++) {
        for (unsigned n = 0; n < 3; n++) {
            const struct replay_case c = {
                .what = { .op = (enum oracle_op)o,
                        .dtype = RP_DTYPE_INT32,
                        .reduce = (enum rp_reduce_op)((o + n) % 4),
                        .count = counts[n],
                        .root = n },
                .calls = 3,
                .in_place = (o + n) % 2 == 0,
                .replays = soak_rounds(n == 2 ? 20 : 60, 10000),
                .delay_us = 1000,
            };
            replay_case(rank, &c);
        }
    }
    rank_close(rank);
}

Test(replay, r11_of_every_operator_and_size_in_both_expansions)
{
    struct rank_job job = {
        .ranks = 4, .fn = every_operator_rank, .timeout_s = soaking() ? 3600 : 60
    };
    job.env = AIV;
    assert_job(&job, "AIV");
    job.env = HOST_TS;
    assert_job(&job, "HOST_TS");
}

Test(replay, of_ring_and_mesh_algorithms)
{
    for (unsigned o = 0; o < ORACLE_OPS; o++) {
        for (unsigned ring = 0; ring < 2; ring++) {
            const struct replay_case c = {
                .what = { .op = (enum oracle_op)o,
                        .dtype = RP_DTYPE_INT64,
                        .count = ring ? 30011 : 501,
                        .root = 2 },
                .calls = 2,
                .replays = soak_rounds(40, 10000),
                .delay_us = 500,
            };
            run_case(&c, 5, RANK_PROCESSES,
                    ENV("HCCL_OP_EXPANSION_MODE=HOST_TS", "HCCL_BUFFSIZE=4",
                            ring ? "HCCL_ALGO=level0:ring;level1:ring"
                                 : "HCCL_ALGO=level0:fullmesh;level1:ring"));
        }
    }
}

Test(replay, with_every_number_of_ranks_as_processes_threads_and_both)
{
    static const unsigned ranks[] = { 1, 2, 3, 5, 8 };
    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        for (int mode = RANK_PROCESSES; mode <= RANK_MIXED; mode++) {
            const struct replay_case c = {
                .what = { .op = (enum oracle_op)((i + 3 * (unsigned)mode) % ORACLE_OPS),
                        .dtype = RP_DTYPE_BFP16,
                        .count = 3000,
                        .root = ranks[i] - 1 },
                .calls = 3,
                .replays = soak_rounds(50, 5000),
                .delay_us = 300,
            };
            run_case(&c, ranks[i], (enum rank_mode)mode, AIV);
            run_case(&c, ranks[i], (enum rank_mode)mode, HOST_TS);
        }
    }
}

Test(replay, of_buffers_at_any_address)
{
    for (size_t skew = 1; skew < 64; skew = 2 * skew + 3) {
        const struct replay_case c = {
            .what = { .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_UINT8, .count = 100003 },
            .calls = 2,
            .skew = skew,
            .replays = soak_rounds(15, 1000),
        };
        run_case(&c, 3, RANK_PROCESSES, AIV);
        run_case(&c, 3, RANK_PROCESSES, HOST_TS);
    }
}

// ---- What the memory held at the capture is never seen ----

static void capture_time_data_rank(struct rank *rank)
{
    struct rank_call call[ORACLE_OPS];
    rank_open(rank);
    for (unsigned o = 0; o < ORACLE_OPS; o++) {
        const struct oracle_call what = {
            .op = (enum oracle_op)o,
            .dtype = RP_DTYPE_FP16,
            .count = 5000,
            .root = 1,
            .ranks = rank->count,
        };
        rank_call_open(&call[o], rank, &what, &(struct rank_call_options){ .seed = o });
        rank_call_load(&call[o], 0);
    }
    capture_begin(rank->stream);
    for (unsigned o = 0; o < ORACLE_OPS; o++) {
        must(rank_call_issue(&call[o], rank->comm, rank->stream));
    }
    aclmdlRI graph = capture_end(rank->stream);
    for (unsigned version = 1; version <= 3; version++) {
        for (unsigned o = 0; o < ORACLE_OPS; o++) {
            rank_call_load(&call[o], version);
        }
        replay(graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        for (unsigned o = 0; o < ORACLE_OPS; o++) {
            rank_call_check(&call[o], version, "replayed");
        }
    }
    must(aclmdlRIDestroy(graph));
    for (unsigned o = 0; o < ORACLE_OPS; o++) {
        rank_call_close(&call[o]);
    }
    rank_close(rank);
}

Test(replay, r20_never_uses_what_the_memory_held_at_the_capture)
{
    struct rank_job job = { .ranks = 4, .fn = capture_time_data_rank, .env = AIV };
    assert_job(&job, "AIV");
    job.env = HOST_TS;
    assert_job(&job, "HOST_TS");
}

// ---- The same bits as eager ----

static void same_bits_rank(struct rank *rank)
{
    static const enum rp_dtype types[] = { RP_DTYPE_FP16, RP_DTYPE_BFP16, RP_DTYPE_FP32,
        RP_DTYPE_FP64, RP_DTYPE_INT8 };
    static const size_t counts[] = { 5, 2048, 60013 };
    static const enum oracle_op ops[] = { ORACLE_ALL_REDUCE, ORACLE_REDUCE_SCATTER, ORACLE_REDUCE };
    rank_open(rank);
    for (unsigned t = 0; t < 5; t++) {
        for (unsigned n = 0; n < 3; n++) {
            const struct oracle_call what = {
                .op = ops[(t + n) % 3],
                .root = 1,
                .dtype = types[t],
                .count = counts[n],
                .ranks = rank->count,
            };
            struct rank_call call;
            rank_call_open(&call, rank, &what,
                    &(struct rank_call_options){ .versions = 1, .seed = t * 3 + n });
            rank_call_load(&call, 0);
            must(rank_call_issue(&call, rank->comm, rank->stream));
            must(aclrtSynchronizeStream(rank->stream));
            uint8_t *eager = malloc(call.recv_bytes);
            must_hold(eager != NULL, "malloc");
            memcpy(eager, call.recv, call.recv_bytes);
            capture_begin(rank->stream);
            must(rank_call_issue(&call, rank->comm, rank->stream));
            aclmdlRI graph = capture_end(rank->stream);
            for (unsigned round = 0; round < 3; round++) {
                rank_call_load(&call, 0);
                replay(graph, rank->stream);
                must(aclrtSynchronizeStream(rank->stream));
                must_hold(memcmp(eager, call.recv, call.recv_bytes) == 0,
                        "replay %u of %s, %zu elements of type %d, differs from eager", round,
                        rank_call_name(what.op), what.count, (int)what.dtype);
            }
            free(eager);
            must(aclmdlRIDestroy(graph));
            rank_call_close(&call);
        }
    }
    rank_close(rank);
}

Test(replay, gives_the_bits_of_the_eager_call)
{
    struct rank_job job = { .ranks = 5, .fn = same_bits_rank };
    const char *const *const settings[] = { AIV, HOST_TS,
        ENV("HCCL_OP_EXPANSION_MODE=HOST_TS", "HCCL_BUFFSIZE=4",
                "HCCL_ALGO=level0:ring;level1:ring"),
        ENV("HCCL_OP_EXPANSION_MODE=AIV", "HCCL_DETERMINISTIC=strict"),
        ENV("HCCL_OP_EXPANSION_MODE=HOST_TS", "HCCL_BUFFSIZE=4", "HCCL_DETERMINISTIC=strict",
                "HCCL_ALGO=level0:ring;level1:ring") };
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        job.env = settings[i];
        assert_job(&job, "settings %zu", i);
    }
}

// ---- Frozen settings ----

// A ring adds in another order than rank order, so that a graph that went along with HcclSetConfig
// would give other bits.
static void frozen_settings_rank(struct rank *rank)
{
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_FP32, .count = 50001, .ranks = rank->count
    };
    struct rank_call call;
    HcclComm strict = NULL;
    HcclCommConfig config;
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .versions = 1 });
    capture_begin(rank->stream);
    must(rank_call_issue(&call, rank->comm, rank->stream));
    aclmdlRI graph = capture_end(rank->stream);
    uint8_t *first = malloc(call.recv_bytes);
    must_hold(first != NULL, "malloc");
    rank_call_load(&call, 0);
    replay(graph, rank->stream);
    must(aclrtSynchronizeStream(rank->stream));
    memcpy(first, call.recv, call.recv_bytes);
    must_hold(memcmp(first, call.expected, call.recv_bytes) != 0,
            "the ring adds in rank order, so this test shows nothing");

    must(HcclSetConfig(HCCL_DETERMINISTIC, (HcclConfigValue){ .value = 2 }));
    HcclCommConfigInit(&config);
    config.hcclDeterministic = 2;
    config.hcclOpExpansionMode = 3;
    must(rank_join(rank, 1, rank->count, rank->id, &config, &strict));
    for (unsigned round = 0; round < 5; round++) {
        rank_call_load(&call, 0);
        replay(graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        must_hold(memcmp(first, call.recv, call.recv_bytes) == 0,
                "replay %u follows a setting made after the capture", round);
        rank_call_load(&call, 0);
        must(rank_call_issue(&call, round % 2 == 0 ? rank->comm : strict, rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(&call, 0, "eager, strict"); // which eager calls do
    }
    free(first);
    must(aclmdlRIDestroy(graph));
    must(HcclCommDestroy(strict));
    rank_call_close(&call);
    rank_close(rank);
}

Test(replay, is_not_changed_by_settings_made_after_the_capture)
{
    const struct rank_job job = {
        .ranks = 3,
        .fn = frozen_settings_rank,
        .env = ENV("HCCL_OP_EXPANSION_MODE=HOST_TS", "HCCL_BUFFSIZE=4",
                "HCCL_ALGO=level0:ring;level1:ring"),
    };
    assert_job(&job, "ring");
}
