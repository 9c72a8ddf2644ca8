// Ranks that do not do the same: calls that differ are an error on every rank that
// names both, at once, eager and replayed; a rank that stays away is named when
// the time is up, and gets the error itself when it comes. Nothing hangs, and no
// byte beside a buffer is written.

#include <stdlib.h>
#include <string.h>

#include "support/rank_test.h"

#define ODD 2 /* the rank that differs, or stays away */

// ---- Calls that differ ----

enum difference {
    OTHER_OPERATOR,
    OTHER_COUNT,
    OTHER_DTYPE,
    OTHER_REDUCTION,
    OTHER_ROOT,
    OTHER_REDUCES_ROOT,
    OTHER_SCATTERS_ROOT,
    OTHER_BLOCKS,
    OTHER_ORDER,
    DIFFERENCES,
};

struct difference_case {
    const char *what;
    struct oracle_call common;
    struct oracle_call odd;
    const char *common_word; // of the common call in the message
    const char *odd_word;
};

static const struct difference_case differences[DIFFERENCES] = {
    [OTHER_OPERATOR] = { "operator",
            { .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_FP32, .count = 500 },
            { .op = ORACLE_BROADCAST, .dtype = RP_DTYPE_FP32, .count = 500, .root = 1 },
            "AllReduce", "Broadcast" },
    [OTHER_COUNT] = { "count", { .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_FP32, .count = 500 },
            { .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_FP32, .count = 501 }, "count 500",
            "count 501" },
    [OTHER_DTYPE] = { "type", { .op = ORACLE_ALL_GATHER, .dtype = RP_DTYPE_FP32, .count = 800 },
            { .op = ORACLE_ALL_GATHER, .dtype = RP_DTYPE_INT32, .count = 800 }, "fp32", "int32" },
    [OTHER_REDUCTION] = { "reduction",
            { .op = ORACLE_REDUCE_SCATTER, .dtype = RP_DTYPE_INT8, .count = 64 },
            { .op = ORACLE_REDUCE_SCATTER,
                    .dtype = RP_DTYPE_INT8,
                    .reduce = RP_REDUCE_MAX,
                    .count = 64 },
            "sum", "max" },
    [OTHER_ROOT] = { "root",
            { .op = ORACLE_BROADCAST, .dtype = RP_DTYPE_FP16, .count = 20000, .root = 1 },
            { .op = ORACLE_BROADCAST, .dtype = RP_DTYPE_FP16, .count = 20000, .root = 3 }, "root 1",
            "root 3" },
    [OTHER_REDUCES_ROOT] = { "root of a reduce",
            { .op = ORACLE_REDUCE, .dtype = RP_DTYPE_FP16, .count = 900, .root = 2 },
            { .op = ORACLE_REDUCE, .dtype = RP_DTYPE_FP16, .count = 900, .root = 0 }, "root 2",
            "root 0" },
    [OTHER_SCATTERS_ROOT] = { "root of a scatter",
            { .op = ORACLE_SCATTER, .dtype = RP_DTYPE_FP32, .count = 20000, .root = 1 },
            { .op = ORACLE_SCATTER, .dtype = RP_DTYPE_FP32, .count = 20000, .root = 2 }, "root 1",
            "root 2" },
    [OTHER_BLOCKS] = { "count of an all-to-all",
            { .op = ORACLE_ALLTOALL, .dtype = RP_DTYPE_INT16, .count = 300 },
            { .op = ORACLE_ALLTOALL, .dtype = RP_DTYPE_INT16, .count = 299 }, "count 300",
            "count 299" },
    [OTHER_ORDER] = { "order",
            { .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_INT64, .count = 100000 },
            { .op = ORACLE_REDUCE_SCATTER, .dtype = RP_DTYPE_INT64, .count = 100000 }, "AllReduce",
            "ReduceScatter" },
};

struct mismatch {
    enum difference difference;
    bool captured;
};

static struct oracle_call among(const struct rank *rank, struct oracle_call what)
{
    what.ranks = rank->count;
    return what;
}

// Every rank is told, by the operation, by the asynchronous error and by the next call.
static void expect_mismatch(
        struct rank *rank, const struct difference_case *c, aclError error, struct rank_call *call)
{
    HcclResult later = HCCL_SUCCESS;
    const char *text = rank_error_text();
    must_hold(error == ACL_ERROR_RT_INTERNAL_ERROR || error == (aclError)HCCL_E_PARA,
            "%s: the operation answers %d: %s", c->what, error, text);
    must_hold(strstr(text, c->common_word) != NULL && strstr(text, c->odd_word) != NULL,
            "%s: not both calls are named: \"%s\"", c->what, text);
    must(HcclGetCommAsyncError(rank->comm, &later));
    must_hold(later == HCCL_E_PARA, "%s: the asynchronous error is %d", c->what, (int)later);
    must_be(rank_call_issue(call, rank->comm, rank->stream), HCCL_E_PARA);
}

static void mismatch_rank(struct rank *rank)
{
    const struct mismatch *m = rank->arg;
    const struct difference_case *c = &differences[m->difference];
    const bool odd = rank->id == ODD;
    struct rank_call good, call, second;
    const struct oracle_call common = among(rank, c->common), other = among(rank, c->odd);
    const struct oracle_call fine = { ORACLE_ALL_REDUCE, RP_DTYPE_INT32, RP_REDUCE_MIN, 300, 0,
        rank->count };
    rank_open(rank);
    rank_call_open(&good, rank, &fine, &(struct rank_call_options){ .seed = 1 });
    rank_call_open(&call, rank, odd ? &other : &common,
            &(struct rank_call_options){ .seed = 2, .versions = 1 });
    rank_call_open(&second, rank, odd ? &common : &other,
            &(struct rank_call_options){ .seed = 3, .versions = 1 });
    aclmdlRI graph = NULL;
    if (m->captured) {
        capture_begin(rank->stream);
        must(rank_call_issue(&good, rank->comm, rank->stream));
        must(rank_call_issue(&call, rank->comm, rank->stream));
        if (m->difference == OTHER_ORDER) {
            must(rank_call_issue(&second, rank->comm, rank->stream));
        }
        graph = capture_end(rank->stream);
    } else {
        rank_call_load(&good, 3);
        must(rank_call_issue(&good, rank->comm, rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(&good, 3, "before the mismatch");
    }
    rank_barrier(rank);
    const uint64_t start_ms = rank_now_ms();
    (void)rank_error_text();
    aclError error;
    if (m->captured) {
        error = aclmdlRIExecuteAsync(graph, rank->stream);
    } else {
        error = (aclError)rank_call_issue(&call, rank->comm, rank->stream);
        if (error == ACL_SUCCESS && m->difference == OTHER_ORDER) {
            error = (aclError)rank_call_issue(&second, rank->comm, rank->stream);
        }
    }
    if (error == ACL_SUCCESS) {
        error = aclrtSynchronizeStream(rank->stream);
    }
    must_hold(rank_now_ms() - start_ms < 2000, "%s: told after %d ms only", c->what,
            (int)(rank_now_ms() - start_ms));
    expect_mismatch(rank, c, error, &good);
    must_hold(guard_intact(&call.area[0]) && (call.in_place || guard_intact(&call.area[1])),
            "%s: bytes beside a buffer were written", c->what);
    if (graph != NULL) {
        must(aclmdlRIDestroy(graph));
    }
    rank_call_close(&good);
    rank_call_close(&call);
    rank_call_close(&second);
    rank_close(rank);
}

static void run_mismatches(const char *const *env, enum rank_mode mode)
{
    for (int captured = 0; captured < 2; captured++) {
        for (int d = 0; d < DIFFERENCES; d++) {
            const struct mismatch m = { (enum difference)d, captured };
            const struct rank_job job = {
                .ranks = 4, .mode = mode, .fn = mismatch_rank, .arg = &m, .env = env
            };
            assert_job(&job, "another %s, %s, %s", differences[d].what,
                    captured ? "captured" : "eager", env[0]);
        }
    }
}

Test(mismatch, of_calls_is_told_to_every_rank_aiv)
{
    run_mismatches(AIV, RANK_PROCESSES);
}

Test(mismatch, of_calls_is_told_to_every_rank_host_ts)
{
    run_mismatches(HOST_TS, RANK_PROCESSES);
}

Test(mismatch, of_calls_is_told_to_ranks_that_are_threads)
{
    run_mismatches(AIV, RANK_THREADS);
}

// Ranks that each take themselves for the root of a broadcast or a scatter, or the other one for
// the root of a reduce, wait for no data; they must find out all the same, whatever form the bytes
// take.
struct roots {
    enum oracle_op op;
    uint64_t count;
};

static void two_roots_rank(struct rank *rank)
{
    const struct roots *roots = rank->arg;
    const unsigned root = roots->op == ORACLE_REDUCE ? 1 - rank->id : rank->id;
    const struct oracle_call what = {
        .op = roots->op, .dtype = RP_DTYPE_FP32, .count = roots->count, .root = root, .ranks = 2
    };
    struct rank_call call;
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .versions = 1 });
    aclError error = (aclError)rank_call_issue(&call, rank->comm, rank->stream);
    if (error == ACL_SUCCESS) {
        error = aclrtSynchronizeStream(rank->stream);
    }
    must_hold(error == ACL_ERROR_RT_INTERNAL_ERROR || error == (aclError)HCCL_E_PARA,
            "count %d: %s answers %d", (int)roots->count, rank_call_name(roots->op), error);
    const char *text = rank_error_text();
    must_hold(strstr(text, "root 0") != NULL && strstr(text, "root 1") != NULL,
            "not both roots are named: \"%s\"", text);
    rank_call_close(&call);
    rank_close(rank);
}

Test(mismatch, of_roots_is_told_though_no_root_waits_for_data)
{
    static const uint64_t counts[] = { 1, 10, 11, 500, 100000 }; // tiny, small and large
    static const enum oracle_op ops[] = { ORACLE_BROADCAST, ORACLE_SCATTER, ORACLE_REDUCE };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        for (int row = 0; row < 6; row++) {
            const char *const *env = row % 2 == 0 ? AIV : HOST_TS;
            const struct roots roots = { ops[row / 2], counts[i] };
            const struct rank_job job = {
                .ranks = 2, .fn = two_roots_rank, .arg = &roots, .env = env
            };
            assert_job(&job, "%s of %d elements, %s", rank_call_name(roots.op), (int)counts[i],
                    env[0]);
        }
    }
}

// Tables of the same largest count, of which each rank's own part is what it says: only the tables
// themselves differ.
static void two_tables_rank(struct rank *rank)
{
    const uint64_t *counts = rank->arg;
    const uint64_t most = counts[0] > counts[1] ? counts[0] : counts[1];
    const uint64_t table[2] = { counts[rank->id], counts[1 - rank->id] };
    const uint64_t places[2] = { 0, table[0] };
    struct guard send, recv;
    rank_open(rank);
    must(guard_create(&send, most * sizeof(float), 0));
    must(guard_create(&recv, 2 * most * sizeof(float), 0));
    aclError error = (aclError)HcclAllGatherV(send.data, table[rank->id], recv.data, table, places,
            HCCL_DATA_TYPE_FP32, rank->comm, rank->stream);
    if (error == ACL_SUCCESS) {
        error = aclrtSynchronizeStream(rank->stream);
    }
    must_hold(error == ACL_ERROR_RT_INTERNAL_ERROR || error == (aclError)HCCL_E_PARA,
            "the call answers %d", error);
    const char *text = rank_error_text();
    const char *first = strstr(text, ", table ");
    const char *second = first == NULL ? NULL : strstr(first + 1, ", table ");
    must_hold(second != NULL && memcmp(first, second, 16) != 0, "not both tables are named: \"%s\"",
            text);
    must(guard_destroy(&send));
    must(guard_destroy(&recv));
    rank_close(rank);
}

Test(mismatch, of_tables_is_told)
{
    static const uint64_t counts[][2] = { { 5, 3 }, { 0, 900 }, { 70000, 50000 } };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        for (int form = 0; form < 2; form++) {
            const char *const *env = form == 0 ? AIV : HOST_TS;
            const struct rank_job job = {
                .ranks = 2, .fn = two_tables_rank, .arg = counts[i], .env = env
            };
            assert_job(&job, "row %zu, %s", i, env[0]);
        }
    }
}

// A graph of two calls against one of the same two in the other order is caught in both too; a
// count that differs in one of many captured calls names that call's number.
static void deep_mismatch_rank(struct rank *rank)
{
    struct guard send, recv;
    rank_open(rank);
    must(guard_create(&send, 4096, 0));
    must(guard_create(&recv, 4096, 0));
    capture_begin(rank->stream);
    for (unsigned k = 1; k <= 50; k++) {
        const uint64_t count = k == 37 && rank->id == ODD ? 17 : 16;
        must(HcclAllReduce(send.data, recv.data, count, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                rank->comm, rank->stream));
    }
    aclmdlRI graph = capture_end(rank->stream);
    aclError error = aclmdlRIExecuteAsync(graph, rank->stream);
    if (error == ACL_SUCCESS) {
        error = aclrtSynchronizeStream(rank->stream);
    }
    must_hold(error == ACL_ERROR_RT_INTERNAL_ERROR || error == (aclError)HCCL_E_PARA,
            "the replay answers %d", error);
    const char *text = rank_error_text();
    must_hold(strstr(text, "#37") != NULL, "call 37 is not named: \"%s\"", text);
    must(aclmdlRIDestroy(graph));
    must(guard_destroy(&send));
    must(guard_destroy(&recv));
    rank_close(rank);
}

Test(mismatch, deep_in_a_graph_names_the_call)
{
    struct rank_job job = { .ranks = 3, .fn = deep_mismatch_rank, .env = AIV };
    assert_job(&job, "AIV");
    job.env = HOST_TS;
    assert_job(&job, "HOST_TS");
}

// ---- A rank that stays away ----

struct absence {
    bool captured;
    unsigned before; // calls, or replays, that all make
};

static void absence_rank(struct rank *rank)
{
    const struct absence *a = rank->arg;
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_FP32, .count = 700, .ranks = rank->count
    };
    struct rank_call call;
    aclmdlRI graph = NULL;
    char number[16];
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .seed = 6 });
    if (a->captured) {
        capture_begin(rank->stream);
        must(rank_call_issue(&call, rank->comm, rank->stream));
        must(rank_call_issue(&call, rank->comm, rank->stream));
        graph = capture_end(rank->stream);
        call.in_place = false;
    }
    aclError error = ACL_SUCCESS;
    uint64_t start_ms = 0;
    for (unsigned round = 0; round <= a->before; round++) {
        must(error);
        if (round == a->before && rank->id == ODD) {
            rank_sleep_us(4500000);
        }
        start_ms = rank_now_ms();
        rank_call_load(&call, round);
        (void)rank_error_text();
        error = graph != NULL ? aclmdlRIExecuteAsync(graph, rank->stream)
                              : (aclError)rank_call_issue(&call, rank->comm, rank->stream);
        if (error == ACL_SUCCESS) {
            error = aclrtSynchronizeStream(rank->stream);
        }
    }
    const uint64_t lasted_ms = rank_now_ms() - start_ms;
    const char *text = rank_error_text();
    must_hold(error == ACL_ERROR_RT_TASK_TIMEOUT || error == (aclError)HCCL_E_TIMEOUT,
            "the operation answers %d: %s", error, text);
    if (rank->id != ODD) {
        must_hold(lasted_ms >= 2900 && lasted_ms < 4200, "the limit of 3 s took %d ms",
                (int)lasted_ms);
        snprintf(number, sizeof(number), "#%u", a->captured ? 2 * a->before + 1 : a->before + 1);
        must_hold(strstr(text, "AllReduce") != NULL && strstr(text, number) != NULL &&
                          strstr(text, "count 700") != NULL && strstr(text, "fp32") != NULL,
                "AllReduce %s is not named: \"%s\"", number, text);
        must_hold(strstr(text, "missing: 2") != NULL ||
                          (strstr(text, "gave up") != NULL && strstr(text, "because of rank 2")),
                "the missing rank is not named: \"%s\"", text);
    } else {
        must_hold(lasted_ms < 1000, "who comes late waits %d ms for the error", (int)lasted_ms);
    }
    HcclResult later = HCCL_SUCCESS;
    must(HcclGetCommAsyncError(rank->comm, &later));
    must_hold(later == HCCL_E_TIMEOUT, "the asynchronous error is %d", (int)later);
    must_be(rank_call_issue(&call, rank->comm, rank->stream), HCCL_E_TIMEOUT);
    if (graph != NULL) {
        must_hold(aclmdlRIExecuteAsync(graph, rank->stream) != ACL_SUCCESS,
                "a replay on the failed communicator is taken on");
        must(aclmdlRIDestroy(graph));
    }
    rank_call_close(&call);
    rank_close(rank);
}

static void run_absence(bool captured, unsigned before)
{
    const struct absence a = { captured, before };
    const char *const *const settings[] = {
        ENV("HCCL_EXEC_TIMEOUT=3", "HCCL_OP_EXPANSION_MODE=AIV"),
        ENV("HCCL_EXEC_TIMEOUT=3", "HCCL_OP_EXPANSION_MODE=HOST_TS", "HCCL_BUFFSIZE=4"),
    };
    for (size_t i = 0; i < 2; i++) {
        const struct rank_job job = {
            .ranks = 4, .fn = absence_rank, .arg = &a, .env = settings[i]
        };
        assert_job(&job, "%s, %s", captured ? "captured" : "eager", settings[i][1]);
    }
}

Test(mismatch, a_rank_that_does_not_call_is_named_when_the_time_is_up)
{
    run_absence(false, 3);
}

Test(mismatch, a_rank_that_does_not_replay_is_named_when_the_time_is_up)
{
    run_absence(true, 6);
}

// ---- A rank that comes late to the init ----

static void late_init_rank(struct rank *rank)
{
    const bool in_time = *(const bool *)rank->arg;
    HcclComm comm = NULL;
    must(aclrtSetDevice(rank->device));
    if (rank->id == ODD) {
        rank_sleep_us(in_time ? 1500000 : 4000000);
    }
    const uint64_t start_ms = rank_now_ms();
    const HcclResult result = rank_join(rank, 0, rank->count, rank->id, NULL, &comm);
    const char *text = rank_error_text();
    if (in_time) {
        must_hold(result == HCCL_SUCCESS, "init answers %d: %s", (int)result, text);
    } else {
        must_hold(result == HCCL_E_TIMEOUT, "init answers %d: %s", (int)result, text);
        must_hold(strstr(text, "rank 2") != NULL && strstr(text, "HCCL_CONNECT_TIMEOUT") != NULL,
                "the missing rank or the setting is not named: \"%s\"", text);
        must_hold(rank_now_ms() - start_ms < 3500, "a limit of 3 s took %d ms",
                (int)(rank_now_ms() - start_ms));
        rank_barrier(rank);
        must(rank_join(rank, 1, rank->count, rank->id, NULL, &comm));
    }
    must(HcclCommDestroy(comm));
    must(aclrtResetDevice(rank->device));
}

Test(mismatch, a_rank_that_comes_late_to_the_init_is_waited_for_or_named)
{
    for (int in_time = 0; in_time < 2; in_time++) {
        const bool arg = in_time;
        const struct rank_job job = {
            .ranks = 4, .fn = late_init_rank, .arg = &arg, .env = ENV("HCCL_CONNECT_TIMEOUT=3")
        };
        assert_job(&job, in_time ? "in time" : "too late");
    }
}

// ---- Settings that differ ----

// With an argument rank 1 comes when the others have long been found to differ, and learns why,
// too.
static void settings_rank(struct rank *rank)
{
    HcclComm comm = NULL;
    if (rank->id == ODD) {
        setenv("HCCL_BUFFSIZE", "17", 1);
    }
    if (rank->arg != NULL && rank->id == 1) {
        rank_sleep_us(1500 * 1000);
    }
    must(aclrtSetDevice(rank->device));
    const HcclResult result = rank_join(rank, 0, rank->count, rank->id, NULL, &comm);
    const char *text = rank_error_text();
    must_hold(result == HCCL_E_PARA && comm == NULL, "init answers %d: %s", (int)result, text);
    must_hold(strstr(text, "17") != NULL && strstr(text, "16") != NULL &&
                      strstr(text, "rank 2") != NULL,
            "not both values are named: \"%s\"", text);
    must(aclrtResetDevice(rank->device));
}

Test(mismatch, of_a_setting_is_told_at_init_with_both_values)
{
    const struct rank_job job = { .ranks = 3, .fn = settings_rank, .env = ENV("HCCL_BUFFSIZE=16") };
    assert_job(&job, "HCCL_BUFFSIZE");
    const struct rank_job late = {
        .ranks = 3, .fn = settings_rank, .arg = "late", .env = ENV("HCCL_BUFFSIZE=16")
    };
    assert_job(&late, "one rank comes late");
}
