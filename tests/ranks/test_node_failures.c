// What goes wrong between nodes is told as within one: a rank that dies, calls that differ, a rank
// that stays away. Every rank hears of it at once, also one that shares no node with any that is to
// blame. Nothing hangs.

#include <stdatomic.h>
#include <string.h>

#include "base/util.h"
#include "support/rank_test.h"

#define ODD 2           /* the rank that dies, differs, or stays away */
#define NOTICED_MS 3000 /* about a second is the aim; the machine of a CI is shared */

static const char *const layouts[] = { "aab", "aabb", "abab", "aaba", "abcd", "abbca" };

static void run_layouts(rank_fn *fn, const void *arg, const char *const *env)
{
    uint64_t *shared = rank_shared_create(sizeof(*shared));
    for (size_t i = 0; i < RP_ARRAY_LENGTH(layouts); i++) {
        *shared = 0;
        const struct rank_job job = { .ranks = (unsigned)strlen(layouts[i]),
            .node = layouts[i],
            .fn = fn,
            .arg = arg,
            .env = env,
            .shared = shared };
        assert_job(&job, "nodes %s", layouts[i]);
    }
    rank_shared_destroy(shared, sizeof(*shared));
}

static aclError finish(struct rank *rank, HcclResult issued)
{
    return issued == HCCL_SUCCESS ? aclrtSynchronizeStream(rank->stream) : (aclError)issued;
}

// ---- a rank dies ----

enum moment {
    WHEN_IDLE,
    BETWEEN_CALLS,
    IN_A_LARGE_CALL,
    BETWEEN_REPLAYS,
    MOMENTS,
};

static void die_now(struct rank *rank)
{
    _Atomic uint64_t *at_ms = rank->shared;
    atomic_store(at_ms, rank_now_ms());
    rank_die(rank);
}

static void expect_told(struct rank *rank, struct rank_call *call)
{
    _Atomic uint64_t *at_ms = rank->shared;
    HcclResult error = HCCL_SUCCESS;
    const uint64_t until_ms = rank_now_ms() + 10000;
    while (error == HCCL_SUCCESS && rank_now_ms() < until_ms) {
        must(HcclGetCommAsyncError(rank->comm, &error));
        rank_sleep_us(1000);
    }
    must_hold(error == HCCL_E_REMOTE, "the asynchronous error is %d", (int)error);
    must_hold(rank_now_ms() - atomic_load(at_ms) < NOTICED_MS, "noticed after %d ms only",
            (int)(rank_now_ms() - atomic_load(at_ms)));
    (void)rank_error_text();
    must_be(rank_call_issue(call, rank->comm, rank->stream), HCCL_E_REMOTE);
    must_hold(strstr(rank_error_text(), "rank 2") != NULL, "rank 2 is not named");
}

static void death_rank(struct rank *rank)
{
    const enum moment moment = *(const enum moment *)rank->arg;
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE,
        .dtype = RP_DTYPE_INT32,
        .count = moment == IN_A_LARGE_CALL ? 4u << 20 : 1000,
        .ranks = rank->count,
    };
    struct rank_call call;
    aclmdlRI graph = NULL;
    aclError error = ACL_SUCCESS;
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .versions = 1 });
    if (moment == BETWEEN_REPLAYS) {
        capture_begin(rank->stream);
        must(rank_call_issue(&call, rank->comm, rank->stream));
        must(rank_call_issue(&call, rank->comm, rank->stream));
        graph = capture_end(rank->stream);
    }
    rank_barrier(rank);
    for (unsigned round = 0; moment != WHEN_IDLE && error == ACL_SUCCESS; round++) {
        const bool last = rank->id == ODD && round == (moment == IN_A_LARGE_CALL ? 1 : 20);
        if (last && moment != IN_A_LARGE_CALL) {
            die_now(rank);
        }
        rank_call_load(&call, 0);
        const HcclResult issued = graph != NULL
                                          ? (HcclResult)aclmdlRIExecuteAsync(graph, rank->stream)
                                          : rank_call_issue(&call, rank->comm, rank->stream);
        if (last) {
            rank_sleep_us(3000);
            die_now(rank);
        }
        error = finish(rank, issued);
    }
    if (moment == WHEN_IDLE && rank->id == ODD) {
        die_now(rank);
    }
    must_hold(moment == WHEN_IDLE || error == ACL_ERROR_RT_SUSPECT_REMOTE_ERROR ||
                      error == (aclError)HCCL_E_REMOTE,
            "the operation ends with %d: %s", error, rank_error_text());
    expect_told(rank, &call);
    if (graph != NULL) {
        must(aclmdlRIDestroy(graph));
    }
    rank_call_close(&call);
    rank_close(rank);
}

Test(node_failures, a_rank_that_dies_is_named_on_every_node, .timeout = 200)
{
    for (enum moment moment = WHEN_IDLE; moment < MOMENTS; moment++) {
        run_layouts(death_rank, &moment, ENV("HCCL_BUFFSIZE=1"));
    }
}

// ---- calls that differ ----

struct difference {
    struct oracle_call common, odd;
    const char *common_word, *odd_word;
};

struct mismatch {
    const struct difference *difference;
    bool replayed;
};

static const struct difference differences[] = {
    { { .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_FP32, .count = 500 },
            { .op = ORACLE_BROADCAST, .dtype = RP_DTYPE_FP32, .count = 500, .root = 1 },
            "AllReduce", "Broadcast" },
    { { .op = ORACLE_ALL_GATHER, .dtype = RP_DTYPE_INT8, .count = 90000 },
            { .op = ORACLE_ALL_GATHER, .dtype = RP_DTYPE_INT8, .count = 90001 }, "count 90000",
            "count 90001" },
    { { .op = ORACLE_BROADCAST, .dtype = RP_DTYPE_FP16, .count = 20000, .root = 1 },
            { .op = ORACLE_BROADCAST, .dtype = RP_DTYPE_FP16, .count = 20000, .root = 0 }, "root 1",
            "root 0" },
    { { .op = ORACLE_REDUCE, .dtype = RP_DTYPE_INT32, .count = 900, .root = 2 },
            { .op = ORACLE_REDUCE, .dtype = RP_DTYPE_INT32, .count = 900, .root = 0 }, "root 2",
            "root 0" },
};

static void mismatch_rank(struct rank *rank)
{
    const struct mismatch *mismatch = rank->arg;
    const struct difference *difference = mismatch->difference;
    struct oracle_call what = rank->id == ODD ? difference->odd : difference->common;
    struct rank_call call;
    aclmdlRI graph = NULL;
    HcclResult later = HCCL_SUCCESS;
    what.ranks = rank->count;
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .versions = 1 });
    if (mismatch->replayed) {
        capture_begin(rank->stream);
        must(rank_call_issue(&call, rank->comm, rank->stream));
        graph = capture_end(rank->stream);
    }
    rank_barrier(rank);
    const uint64_t start_ms = rank_now_ms();
    const aclError error =
            finish(rank, graph != NULL ? (HcclResult)aclmdlRIExecuteAsync(graph, rank->stream)
                                       : rank_call_issue(&call, rank->comm, rank->stream));
    const char *text = rank_error_text();
    must_hold(error == ACL_ERROR_RT_INTERNAL_ERROR || error == (aclError)HCCL_E_PARA,
            "the operation answers %d: %s", error, text);
    must_hold(strstr(text, difference->common_word) != NULL &&
                      strstr(text, difference->odd_word) != NULL,
            "not both calls are named: \"%s\"", text);
    must_hold(rank_now_ms() - start_ms < 2000, "told after %d ms only",
            (int)(rank_now_ms() - start_ms));
    must(HcclGetCommAsyncError(rank->comm, &later));
    must_hold(later == HCCL_E_PARA, "the asynchronous error is %d", (int)later);
    if (graph != NULL) {
        must(aclmdlRIDestroy(graph));
    }
    rank_call_close(&call);
    rank_close(rank);
}

Test(node_failures, calls_that_differ_are_named_on_every_node, .timeout = 200)
{
    for (size_t i = 0; i < 2 * RP_ARRAY_LENGTH(differences); i++) {
        const struct mismatch mismatch = { &differences[i / 2], .replayed = i % 2 == 1 };
        run_layouts(mismatch_rank, &mismatch, ENV("HCCL_BUFFSIZE=1"));
    }
}

// ---- a rank stays away ----

static void absence_rank(struct rank *rank)
{
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_FP32, .count = 700, .ranks = rank->count
    };
    struct rank_call call;
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .versions = 1 });
    rank_barrier(rank);
    if (rank->id == ODD) {
        rank_sleep_us(3500000);
    }
    const uint64_t start_ms = rank_now_ms();
    const aclError error = finish(rank, rank_call_issue(&call, rank->comm, rank->stream));
    const char *text = rank_error_text();
    must_hold(error == ACL_ERROR_RT_TASK_TIMEOUT || error == (aclError)HCCL_E_TIMEOUT,
            "the operation answers %d: %s", error, text);
    must_hold(rank->id == ODD || strstr(text, "missing: 2") != NULL ||
                      strstr(text, "because of rank 2") != NULL,
            "the missing rank is not named: \"%s\"", text);
    must_hold(rank_now_ms() - start_ms < (rank->id == ODD ? 1000 : 3200), "it took %d ms",
            (int)(rank_now_ms() - start_ms));
    rank_call_close(&call);
    rank_close(rank);
}

Test(node_failures, who_stays_away_is_named_on_every_node, .timeout = 200)
{
    run_layouts(absence_rank, NULL, ENV("HCCL_EXEC_TIMEOUT=2", "HCCL_BUFFSIZE=1"));
}
