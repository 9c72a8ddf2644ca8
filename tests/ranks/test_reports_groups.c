// Task groups around collectives: what is in one can be given other buffers and another count
// without capturing again, before a replay, between replays on a stream, and while a replay is
// held by an external event; and peers never read through what they knew before.
//
// R30 of the user reports, and updates of collectives of every kind; AlltoAll comes with its issue.

#include <string.h>

#include "support/rank_test.h"

static void in_both_expansions(struct rank_job *job)
{
    job->env = AIV;
    assert_job(job, "AIV, %u ranks", job->ranks);
    job->env = HOST_TS;
    assert_job(job, "HOST_TS, %u ranks", job->ranks);
}

static void open_call(
        struct rank_call *call, const struct rank *rank, enum oracle_op op, size_t count)
{
    const struct oracle_call what = { .op = op,
        .dtype = RP_DTYPE_INT32,
        .count = count,
        .root = rank->count - 1,
        .ranks = rank->count };
    rank_call_open(call, rank, &what,
            &(struct rank_call_options){ .seed = count + (uint64_t)op, .versions = 5 });
}

static aclrtTaskGrp capture_group(struct rank *rank, struct rank_call *call)
{
    aclrtTaskGrp group = NULL;
    must(aclmdlRICaptureTaskGrpBegin(rank->stream));
    must(rank_call_issue(call, rank->comm, rank->stream));
    must(aclmdlRICaptureTaskGrpEnd(rank->stream, &group));
    must_hold(group != NULL, "a task group has no handle");
    return group;
}

static void update_group(
        struct rank *rank, aclrtTaskGrp group, struct rank_call *call, aclrtStream stream)
{
    must(aclmdlRICaptureTaskUpdateBegin(stream, group));
    must(rank_call_issue(call, rank->comm, stream));
    must(aclmdlRICaptureTaskUpdateEnd(stream));
}

// ---- A group, its replay, its update and its replay ----

// Operators before and after the group are as frozen as ever.
static void expect_replay(struct rank *rank, aclmdlRI graph, struct rank_call *const fixed[2],
        struct rank_call *grouped, uint64_t round)
{
    rank_call_load(fixed[0], round);
    rank_call_load(grouped, round + 1);
    rank_call_load(fixed[1], round + 2);
    replay(graph, rank->stream);
    must(aclrtSynchronizeStream(rank->stream));
    rank_call_check(fixed[0], round, "before the group");
    rank_call_check(grouped, round + 1, "in the group");
    rank_call_check(fixed[1], round + 2, "after the group");
}

static void group_rank(struct rank *rank)
{
    static const size_t counts[] = { 8, 1000, 50000 }; // tiny, small and large
    struct rank_call before, after;
    struct rank_call *const fixed[2] = { &before, &after };
    aclrtStream update = NULL;
    rank_open(rank);
    must(aclrtCreateStream(&update));
    open_call(&before, rank, ORACLE_ALL_REDUCE, 300);
    open_call(&after, rank, ORACLE_ALL_GATHER, 700);
    for (unsigned o = 0; o < 4; o++) {
        for (unsigned n = 0; n < 3; n++) {
            struct rank_call call[3]; // captured, other buffers, another count
            for (unsigned k = 0; k < 3; k++) {
                open_call(&call[k], rank, (enum oracle_op)o,
                        counts[n] - (k == 2 ? counts[n] / 3 : 0));
            }
            capture_begin(rank->stream);
            must(rank_call_issue(&before, rank->comm, rank->stream));
            const aclrtTaskGrp group = capture_group(rank, &call[0]);
            must(rank_call_issue(&after, rank->comm, rank->stream));
            aclmdlRI graph = capture_end(rank->stream);
            expect_replay(rank, graph, fixed, &call[0], n);
            for (unsigned k = 1; k <= 3; k++) {
                update_group(rank, group, &call[k % 3], update);
                must(aclrtSynchronizeStream(update));
                expect_replay(rank, graph, fixed, &call[k % 3], n + k);
                expect_replay(rank, graph, fixed, &call[k % 3], n + k + 1);
            }
            must(aclmdlRIDestroy(graph));
            for (unsigned k = 0; k < 3; k++) {
                rank_call_close(&call[k]);
            }
        }
    }
    must(aclrtDestroyStream(update));
    rank_call_close(&before);
    rank_call_close(&after);
    rank_close(rank);
}

Test(reports, r30_a_task_group_around_a_collective_works_and_can_be_updated, .timeout = 60)
{
    struct rank_job job = { .ranks = 2, .fn = group_rank };
    in_both_expansions(&job);
    job.mode = RANK_THREADS;
    in_both_expansions(&job);
}

// ---- Only some ranks change their buffers ----

// Each round one rank moves its buffers and frees the old ones; the others know nothing of it.
static void lone_update_rank(struct rank *rank)
{
    struct rank_call call[2];
    rank_open(rank);
    open_call(&call[0], rank, ORACLE_ALL_REDUCE, 40000);
    capture_begin(rank->stream);
    const aclrtTaskGrp group = capture_group(rank, &call[0]);
    aclmdlRI graph = capture_end(rank->stream);
    for (unsigned round = 0; round < 20; round++) {
        struct rank_call *now = &call[0];
        if (round % (rank->count + 1) == rank->id) {
            open_call(&call[1], rank, ORACLE_ALL_REDUCE, 40000);
            update_group(rank, group, &call[1], rank->stream);
            must(aclrtSynchronizeStream(rank->stream));
            rank_call_close(&call[0]);
            call[0] = call[1];
        }
        rank_call_load(now, round);
        replay(graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(now, round, "after one rank's update");
    }
    must(aclmdlRIDestroy(graph));
    rank_call_close(&call[0]);
    rank_close(rank);
}

Test(reports, r30_peers_follow_an_update_that_one_rank_makes, .timeout = 60)
{
    struct rank_job job = { .ranks = 3, .fn = lone_update_rank };
    in_both_expansions(&job);
    job.mode = RANK_THREADS;
    in_both_expansions(&job);
}

// ---- Updates between replays, in stream order ----

enum { PIECES = 6, TURNS = 60 };

// Nothing is synchronised until the end: replay k writes the buffers that update k gave it.
static void ordered_rank(struct rank *rank)
{
    struct rank_call call[PIECES];
    rank_open(rank);
    for (unsigned k = 0; k < PIECES; k++) {
        const struct oracle_call what = { .op = ORACLE_ALL_REDUCE,
            .dtype = RP_DTYPE_INT32,
            .count = 100 + 900 * (k % 2),
            .ranks = rank->count };
        rank_call_open(
                &call[k], rank, &what, &(struct rank_call_options){ .seed = k, .versions = 3 });
    }
    capture_begin(rank->stream);
    const aclrtTaskGrp group = capture_group(rank, &call[0]);
    aclmdlRI graph = capture_end(rank->stream);
    for (unsigned turn = 0; turn < TURNS; turn += PIECES) {
        for (unsigned k = 0; k < PIECES; k++) {
            rank_call_load(&call[k], turn + k);
        }
        for (unsigned k = 0; k < PIECES; k++) {
            update_group(rank, group, &call[k], rank->stream);
            replay(graph, rank->stream);
        }
        must(aclrtSynchronizeStream(rank->stream));
        for (unsigned k = 0; k < PIECES; k++) {
            rank_call_check(&call[k], turn + k, "updated in stream order");
        }
    }
    must(aclmdlRIDestroy(graph));
    for (unsigned k = 0; k < PIECES; k++) {
        rank_call_close(&call[k]);
    }
    rank_close(rank);
}

Test(reports, r30_updates_between_replays_take_effect_in_stream_order, .timeout = 60)
{
    struct rank_job job = { .ranks = 2, .fn = ordered_rank };
    in_both_expansions(&job);
}

// ---- A replay that waits for its update ----

static void held_rank(struct rank *rank)
{
    struct rank_call call[2], plain;
    aclrtStream update = NULL;
    aclrtEvent released = NULL;
    rank_open(rank);
    must(aclrtCreateStream(&update));
    must(aclrtCreateEventWithFlag(&released, ACL_EVENT_EXTERNAL));
    open_call(&call[0], rank, ORACLE_ALL_REDUCE, 5000);
    open_call(&call[1], rank, ORACLE_ALL_REDUCE, 3000);
    open_call(&plain, rank, ORACLE_ALL_REDUCE, 100);
    capture_begin(rank->stream);
    must(rank_call_issue(&plain, rank->comm, rank->stream));
    must(aclrtStreamWaitEvent(rank->stream, released));
    must(aclrtResetEvent(released, rank->stream));
    const aclrtTaskGrp group = capture_group(rank, &call[0]);
    aclmdlRI graph = capture_end(rank->stream);
    for (unsigned round = 0; round < 50; round++) {
        struct rank_call *now = &call[(round + 1) % 2];
        rank_call_load(&plain, round);
        rank_call_load(now, round);
        replay(graph, rank->stream);
        rank_sleep_us(rank_random(rank, 500));
        update_group(rank, group, now, update);
        must(aclrtRecordEvent(released, update));
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(&plain, round, "before the wait");
        rank_call_check(now, round, "updated while the replay waited");
    }
    must(aclrtSynchronizeStream(update));
    must(aclmdlRIDestroy(graph));
    must(aclrtDestroyEvent(released));
    must(aclrtDestroyStream(update));
    rank_call_close(&call[0]);
    rank_call_close(&call[1]);
    rank_call_close(&plain);
    rank_close(rank);
}

Test(reports, r30_a_replay_held_by_an_external_event_uses_the_update, .timeout = 60)
{
    struct rank_job job = { .ranks = 2, .fn = held_rank };
    in_both_expansions(&job);
}

// ---- Ranks that disagree, and what a group refuses ----

static void disagreeing_rank(struct rank *rank)
{
    struct rank_call call;
    rank_open(rank);
    open_call(&call, rank, ORACLE_ALL_REDUCE, 2000);
    capture_begin(rank->stream);
    const aclrtTaskGrp group = capture_group(rank, &call);
    aclmdlRI graph = capture_end(rank->stream);
    rank_call_load(&call, 1);
    replay(graph, rank->stream);
    must(aclrtSynchronizeStream(rank->stream));
    rank_call_check(&call, 1, "before the update");
    call.call.count = rank->id == 0 ? 1500 : 1600;
    update_group(rank, group, &call, rank->stream);
    must(aclrtSynchronizeStream(rank->stream));
    (void)rank_error_text();
    aclError error = aclmdlRIExecuteAsync(graph, rank->stream);
    if (error == ACL_SUCCESS) {
        error = aclrtSynchronizeStream(rank->stream);
    }
    const char *text = rank_error_text();
    must_hold(error == ACL_ERROR_RT_INTERNAL_ERROR, "the replay answers %d: %s", error, text);
    must_hold(strstr(text, "count 1500") != NULL && strstr(text, "count 1600") != NULL,
            "not both counts are named: \"%s\"", text);
    must(aclmdlRIDestroy(graph));
    rank_call_close(&call);
    rank_close(rank);
}

Test(reports, r30_ranks_that_disagree_on_a_new_count_are_told_both, .timeout = 60)
{
    struct rank_job job = { .ranks = 2, .fn = disagreeing_rank };
    in_both_expansions(&job);
}

// A copy in a group is told at once, and the group's end says so; what follows is a clean capture.
static void refused_rank(struct rank *rank)
{
    struct rank_call call;
    aclrtTaskGrp group = &call;
    aclmdlRI graph = NULL;
    rank_open(rank);
    open_call(&call, rank, ORACLE_ALL_REDUCE, 2000);
    capture_begin(rank->stream);
    must(aclmdlRICaptureTaskGrpBegin(rank->stream));
    must(rank_call_issue(&call, rank->comm, rank->stream));
    must_be(aclrtMemcpyAsync(
                    call.recv, 64, call.send, 64, ACL_MEMCPY_DEVICE_TO_DEVICE, rank->stream),
            ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT);
    must_hold(aclmdlRICaptureTaskGrpEnd(rank->stream, &group) != ACL_SUCCESS && group == NULL,
            "a bad group gets a handle");
    const aclError ended = aclmdlRICaptureEnd(rank->stream, &graph);
    if (ended == ACL_SUCCESS) {
        must(aclmdlRIDestroy(graph));
    }
    capture_begin(rank->stream);
    group = capture_group(rank, &call);
    graph = capture_end(rank->stream);
    rank_call_load(&call, 2);
    replay(graph, rank->stream);
    must(aclrtSynchronizeStream(rank->stream));
    rank_call_check(&call, 2, "after a bad group");
    // An update of another kind or number changes nothing.
    must(aclmdlRICaptureTaskUpdateBegin(rank->stream, group));
    must_hold(HcclBroadcast(call.recv, 10, HCCL_DATA_TYPE_INT32, 0, rank->comm, rank->stream) !=
                              HCCL_SUCCESS ||
                      aclmdlRICaptureTaskUpdateEnd(rank->stream) != ACL_SUCCESS,
            "a broadcast replaces an all-reduce");
    (void)aclmdlRICaptureTaskUpdateEnd(rank->stream);
    must(aclmdlRICaptureTaskUpdateBegin(rank->stream, group));
    must_be(aclmdlRICaptureTaskUpdateEnd(rank->stream), ACL_ERROR_RT_INTERNAL_ERROR);
    rank_call_load(&call, 3);
    replay(graph, rank->stream);
    must(aclrtSynchronizeStream(rank->stream));
    rank_call_check(&call, 3, "after a bad update");
    must(aclmdlRIDestroy(graph));
    rank_call_close(&call);
    rank_close(rank);
}

Test(reports, r30_what_a_group_refuses_is_told_and_harms_nothing, .timeout = 60)
{
    struct rank_job job = { .ranks = 2, .fn = refused_rank };
    in_both_expansions(&job);
}
