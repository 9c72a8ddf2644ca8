// Failures that users could not tell apart: a rank that does not replay is found out within the
// timeout and named; want of memory is told as that, by the call that found it and by those after.
//
// R38 and R39 of the user reports.

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "support/rank_test.h"

static void in_both_expansions(struct rank_job *job)
{
    job->env = AIV;
    assert_job(job, "AIV, %u ranks", job->ranks);
    job->env = HOST_TS;
    assert_job(job, "HOST_TS, %u ranks", job->ranks);
}

// ---- A rank that leaves a replay out ----

enum { CALLS = 10, REPLAYS = 7, AWAY = 2, LIMIT_MS = 1000 };

static void expect_report(const struct rank *rank, aclmdlRI graph, const char *text)
{
    char parts[8][48];
    unsigned count = 0;
    uint32_t id = 0;
    must(aclmdlRIGetId(graph, &id));
    snprintf(parts[count++], sizeof(parts[0]), "of graph %u", id);
    snprintf(parts[count++], sizeof(parts[0]), "replay %u", REPLAYS);
    snprintf(parts[count++], sizeof(parts[0]), "AllReduce #%u", (REPLAYS - 1) * CALLS + 1);
    snprintf(parts[count++], sizeof(parts[0]), "count 700");
    snprintf(parts[count++], sizeof(parts[0]), "fp32");
    snprintf(parts[count++], sizeof(parts[0]), "rank %u of %u", rank->id, rank->count);
    for (unsigned i = 0; i < count; i++) {
        must_hold(strstr(text, parts[i]) != NULL, "\"%s\" is not said: \"%s\"", parts[i], text);
    }
    // Whose time is up first tells the others.
    must_hold(strstr(text, "missing: 2") != NULL || strstr(text, "because of rank 2") != NULL,
            "the missing rank is not named: \"%s\"", text);
}

static void left_out_rank(struct rank *rank)
{
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_FP32, .count = 700, .ranks = rank->count
    };
    struct rank_call call;
    HcclResult later = HCCL_SUCCESS;
    HcclComm fresh = NULL;
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .seed = 6 });
    capture_begin(rank->stream);
    for (unsigned k = 0; k < CALLS; k++) {
        must(rank_call_issue(&call, rank->comm, rank->stream));
    }
    aclmdlRI graph = capture_end(rank->stream);
    for (unsigned round = 1; round < REPLAYS; round++) {
        rank_call_load(&call, round);
        replay(graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(&call, round, "before one stays away");
    }
    if (rank->id == AWAY) {
        rank_sleep_us(2 * LIMIT_MS * 1000);
    }
    const uint64_t start_ms = rank_now_ms();
    aclError error = aclmdlRIExecuteAsync(graph, rank->stream);
    if (error == ACL_SUCCESS) {
        error = aclrtSynchronizeStream(rank->stream);
    }
    const int lasted_ms = (int)(rank_now_ms() - start_ms);
    const char *text = rank_error_text();
    must_hold(error == ACL_ERROR_RT_TASK_TIMEOUT || error == (aclError)HCCL_E_TIMEOUT,
            "the replay answers %d: %s", error, text);
    must_hold(lasted_ms < LIMIT_MS + 1000, "told after %d ms only", lasted_ms);
    if (rank->id != AWAY) {
        must_hold(lasted_ms >= LIMIT_MS - 100, "the limit is over after %d ms", lasted_ms);
        expect_report(rank, graph, text);
        must_be(aclmdlRIExecuteAsync(graph, rank->stream), ACL_ERROR_RT_TASK_TIMEOUT);
        expect_report(rank, graph, rank_error_text()); // instead of queueing more
    }
    must(HcclGetCommAsyncError(rank->comm, &later));
    must_hold(later == HCCL_E_TIMEOUT, "the asynchronous error is %d", (int)later);
    must_hold(aclmdlRIExecuteAsync(graph, rank->stream) != ACL_SUCCESS, "a replay is queued");
    must(aclmdlRIDestroy(graph));
    rank_barrier(rank);
    must(rank_join(rank, 1, rank->count, rank->id, NULL, &fresh)); // a new one goes on
    aclrtStream stream = NULL;
    must(aclrtCreateStream(&stream));
    rank_call_load(&call, 3);
    must(rank_call_issue(&call, fresh, stream));
    must(aclrtSynchronizeStream(stream));
    rank_call_check(&call, 3, "on a new communicator");
    must(aclrtDestroyStream(stream));
    must(HcclCommDestroy(fresh));
    rank_call_close(&call);
    rank_close(rank);
}

Test(reports, r38_a_replay_that_a_rank_leaves_out_is_reported_within_the_limit, .timeout = 60)
{
    static const char *const aiv[] = { "HCCL_EXEC_TIMEOUT=1", "HCCL_OP_EXPANSION_MODE=AIV", NULL };
    static const char *const host_ts[] = { "HCCL_EXEC_TIMEOUT=1", "HCCL_OP_EXPANSION_MODE=HOST_TS",
        "HCCL_BUFFSIZE=4", NULL };
    struct rank_job job = { .ranks = 4, .fn = left_out_rank, .env = aiv };
    assert_job(&job, "AIV");
    job.env = host_ts;
    assert_job(&job, "HOST_TS");
}

// ---- Want of memory ----

#define DEPTH 12 // operators in a capture

// One capture in which an allocation fails at some time. The first call that can say so says
// memory; all after it until CaptureEnd say that the capture is lost, and why. Returns the graph,
// NULL when it failed.
static aclmdlRI capture_short_of_memory(struct rank *rank, struct rank_call *call, int64_t after)
{
    aclmdlRI graph = NULL;
    rp_alloc_fail_after(after);
    const aclError begun = aclmdlRICaptureBegin(rank->stream, GLOBAL);
    if (begun != ACL_SUCCESS) {
        must_hold(begun == ACL_ERROR_RT_MEMORY_ALLOCATION, "CaptureBegin answers %d: %s", begun,
                rank_error_text());
        return NULL;
    }
    unsigned failed = 0; // 1: this call said why; more: calls after it
    for (unsigned k = 0; k < DEPTH; k++) {
        call->call.count = 500 + 100 * k; // another expansion each
        const HcclResult result = rank_call_issue(call, rank->comm, rank->stream);
        const char *text = rank_error_text();
        must_be(aclrtSynchronizeStream(rank->stream), ACL_ERROR_RT_STREAM_CAPTURED);
        if (result == HCCL_SUCCESS) {
            must_hold(failed == 0, "an operator works in a lost capture");
            continue;
        }
        failed++;
        must_hold(failed > 1 || result == HCCL_E_MEMORY, "operator %u answers %d: %s", k,
                (int)result, text);
        must_hold(strstr(text, "memory") != NULL, "operator %u does not say why: \"%s\"", k, text);
    }
    const aclError ended = aclmdlRICaptureEnd(rank->stream, &graph);
    const char *text = rank_error_text();
    if (failed > 0) {
        must_hold(ended == ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, "CaptureEnd answers %d: %s",
                ended, text);
    } else if (ended != ACL_SUCCESS) {
        must_hold(
                ended == ACL_ERROR_RT_MEMORY_ALLOCATION, "CaptureEnd answers %d: %s", ended, text);
    }
    must_hold(ended == ACL_SUCCESS || (graph == NULL && strstr(text, "memory") != NULL),
            "CaptureEnd does not say why: \"%s\"", text);
    return graph;
}

static void memory_rank(struct rank *rank)
{
    struct rank_call call;
    const struct oracle_call what = { .op = ORACLE_ALL_REDUCE,
        .dtype = RP_DTYPE_FP32,
        .count = 500 + 100 * DEPTH,
        .ranks = rank->count };
    unsigned failures = 0;
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .seed = 9 });
    // Another rank has its memory; only what replays is a matter of all.
    for (int64_t after = 0; rank->id == 0; after++) {
        aclmdlRI graph = capture_short_of_memory(rank, &call, after);
        const bool pending = rp_alloc_fail_pending();
        rp_alloc_fail_after(-1);
        if (graph != NULL) {
            must(aclmdlRIDestroy(graph));
        }
        must(aclrtSynchronizeStream(rank->stream)); // usable at once
        if (pending) {
            break;
        }
        failures += graph == NULL;
    }
    must_hold(rank->id != 0 || failures >= 4, "only %u allocations could fail", failures);
    call.call.count = what.count;
    capture_begin(rank->stream);
    must(rank_call_issue(&call, rank->comm, rank->stream));
    aclmdlRI graph = capture_end(rank->stream);
    for (unsigned round = 0; round < 3; round++) {
        rank_call_load(&call, round);
        // Neither a launch nor a replay allocates, so it cannot fail for want of memory.
        rp_alloc_fail_process_after(round == 0 ? -1 : 0);
        replay(graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        must_hold(round == 0 || rp_alloc_fail_pending(), "a replay allocates");
        rp_alloc_fail_process_after(-1);
        rank_call_check(&call, round, "after the memory was back");
    }
    must(aclmdlRIDestroy(graph));
    rank_call_close(&call);
    rank_close(rank);
}

Test(reports, r39_want_of_memory_is_told_as_such_by_the_call_and_those_after, .timeout = 60)
{
    struct rank_job job = { .ranks = 2, .fn = memory_rank };
    in_both_expansions(&job);
}
