// Collectives that change without being captured again: through task groups and through
// aclmdlRITaskSetParams. New buffers, and new counts of every size, in both expansions; a
// rank that changes alone; ranks that do not agree; replays beside updates.

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <reprise/graph.h>

#include "support/rank_test.h"

#define FORMS 3 // of one collective: other buffers, another count

// What a job does with the same operator in three sizes: its message is tiny, small and large.
struct operator
{
    enum oracle_op op;
    enum rp_dtype dtype;
    enum rp_reduce_op reduce;
    unsigned root;
};

static const struct operator operators[] = {
    { ORACLE_ALL_REDUCE, RP_DTYPE_INT32, RP_REDUCE_SUM, 0 },
    { ORACLE_REDUCE_SCATTER, RP_DTYPE_FP32, RP_REDUCE_MAX, 0 },
    { ORACLE_ALL_GATHER, RP_DTYPE_INT64, RP_REDUCE_SUM, 0 },
    { ORACLE_BROADCAST, RP_DTYPE_FP16, RP_REDUCE_SUM, 1 },
    { ORACLE_REDUCE, RP_DTYPE_BFP16, RP_REDUCE_MIN, 1 },
    { ORACLE_SCATTER, RP_DTYPE_INT8, RP_REDUCE_SUM, 0 },
    { ORACLE_ALLTOALL, RP_DTYPE_FP64, RP_REDUCE_SUM, 0 },
    { ORACLE_ALL_GATHER_V, RP_DTYPE_INT16, RP_REDUCE_SUM, 0 },
    { ORACLE_REDUCE_SCATTER_V, RP_DTYPE_FP32, RP_REDUCE_SUM, 0 },
};
#define OPERATORS (sizeof(operators) / sizeof(operators[0]))

static void open_forms(struct rank_call call[FORMS], const struct rank *rank,
        const struct operator* op, const size_t counts[FORMS])
{
    for (unsigned f = 0; f < FORMS; f++) {
        const struct oracle_call what = { op->op, op->dtype, op->reduce, counts[f], op->root,
            rank->count };
        rank_call_open(&call[f], rank, &what,
                &(struct rank_call_options){ .seed = f + 1, .versions = 4, .skew = 8 * f });
    }
}

static void close_forms(struct rank_call call[FORMS])
{
    for (unsigned f = 0; f < FORMS; f++) {
        rank_call_close(&call[f]);
    }
}

// A graph of one group of one call.
static aclmdlRI group_of(struct rank_call *call, const struct rank *rank, aclrtTaskGrp *group)
{
    capture_begin(rank->stream);
    must(aclmdlRICaptureTaskGrpBegin(rank->stream));
    must(rank_call_issue(call, rank->comm, rank->stream));
    must(aclmdlRICaptureTaskGrpEnd(rank->stream, group));
    return capture_end(rank->stream);
}

static void update(
        struct rank_call *call, const struct rank *rank, aclrtTaskGrp group, aclrtStream stream)
{
    must(aclmdlRICaptureTaskUpdateBegin(stream, group));
    must(rank_call_issue(call, rank->comm, stream));
    must(aclmdlRICaptureTaskUpdateEnd(stream));
}

static aclmdlRITask only_task(aclmdlRI graph)
{
    aclrtStream streams[2] = { NULL };
    aclmdlRITask tasks[2] = { NULL };
    uint32_t stream_count = 2, task_count = 2;
    must(aclmdlRIGetStreams(graph, streams, &stream_count));
    must(aclmdlRIGetTasksByStream(streams[0], tasks, &task_count));
    must_hold(task_count == 1, "a collective is %u tasks", (unsigned)task_count);
    return tasks[0];
}

// The task of a collective becomes `call`.
static void set_params(aclmdlRITask task, const struct rank_call *call)
{
    aclmdlRITaskParams params;
    must(aclmdlRITaskGetParams(task, &params));
    must_hold(params.type == ACL_MODEL_RI_TASK_KERNEL, "its type is %d", (int)params.type);
    struct reprise_collective_args args =
            *(const struct reprise_collective_args *)params.kernelTaskParams.args;
    args.sendBuf = call->send != NULL ? call->send : call->recv;
    args.recvBuf = call->recv;
    args.count = call->call.count;
    struct oracle_table table;
    if (oracle_has_table(call->call.op)) {
        table = oracle_table(&call->call);
        args.count = table.count[call->rank];
        args.counts = table.count;
        args.displs = table.place;
    }
    params.taskGrp = NULL;
    params.kernelTaskParams.args = &args;
    must(aclmdlRITaskSetParams(task, &params));
}

static void replay_and_check(
        struct rank_call *call, const struct rank *rank, aclmdlRI graph, uint64_t version)
{
    rank_call_load(call, version);
    replay(graph, rank->stream);
    must(aclrtSynchronizeStream(rank->stream));
    rank_call_check(call, version, "replayed");
}

// ---- every operator, every size ----

static void every_operator_rank(struct rank *rank)
{
    static const size_t counts[FORMS] = { 2, 600, 70001 };
    aclrtStream side = NULL;
    rank_open(rank);
    must(aclrtCreateStream(&side));
    for (unsigned o = 0; o < OPERATORS; o++) {
        struct rank_call call[FORMS];
        aclrtTaskGrp group = NULL;
        open_forms(call, rank, &operators[o], counts);
        aclmdlRI graph = group_of(&call[0], rank, &group);
        aclmdlRITask task = only_task(graph);
        replay_and_check(&call[0], rank, graph, 0);
        for (unsigned round = 1; round <= soak_rounds(24, 1000); round++) {
            // By turns: each way finds what the other one left.
            struct rank_call *next = &call[(round * 2 + o) % FORMS];
            if (round % 2 == 0) {
                update(next, rank, group, side);
                must(aclrtSynchronizeStream(side));
            } else {
                set_params(task, next);
                must(aclmdlRIUpdate(graph));
            }
            replay_and_check(next, rank, graph, round);
            replay_and_check(next, rank, graph, round + 1);
        }
        must(aclmdlRIDestroy(graph));
        close_forms(call);
    }
    must(aclrtDestroyStream(side));
    rank_close(rank);
}

static void run_everywhere(rank_fn *fn, unsigned ranks)
{
    const char *const *const envs[] = { AIV, HOST_TS };
    for (unsigned e = 0; e < 2; e++) {
        for (unsigned mode = 0; mode < 2; mode++) {
            const struct rank_job job = { .ranks = ranks,
                .mode = mode == 0 ? RANK_THREADS : RANK_PROCESSES,
                .fn = fn,
                .env = envs[e],
                .timeout_s = soaking() ? 1200 : 120 };
            assert_job(&job, "%u ranks, mode %d, %s", ranks, (int)job.mode, envs[e][0]);
        }
    }
}

Test(update, of_every_operator_and_size)
{
    run_everywhere(every_operator_rank, 2);
    run_everywhere(every_operator_rank, 4);
}

// ---- a rank that changes alone ----

// Where a rank's buffers are is its own business: peers read what it says in each replay.
static void alone_rank(struct rank *rank)
{
    static const size_t sizes[] = { 2, 600, 70001 };
    rank_open(rank);
    for (unsigned o = 0; o < OPERATORS; o++) {
        for (unsigned n = 0; n < 3; n++) {
            const size_t counts[FORMS] = { sizes[n], sizes[n], sizes[n] };
            struct rank_call call[FORMS];
            aclrtTaskGrp group = NULL;
            open_forms(call, rank, &operators[o], counts);
            aclmdlRI graph = group_of(&call[0], rank, &group);
            unsigned form = 0;
            for (unsigned round = 0; round < soak_rounds(12, 500); round++) {
                if (round % rank->count == rank->id) {
                    // The inputs of all ranks belong to form 0; only the places change.
                    form = (form + 1) % FORMS;
                    struct rank_call *moved = &call[form];
                    memcpy(moved->inputs, call[0].inputs, 4 * call[0].send_bytes);
                    memcpy(moved->expected, call[0].expected, 4 * call[0].recv_bytes);
                    update(moved, rank, group, rank->stream);
                }
                replay_and_check(&call[form], rank, graph, round);
            }
            must(aclmdlRIDestroy(graph));
            close_forms(call);
        }
    }
    rank_close(rank);
}

Test(update, of_one_ranks_buffers_alone)
{
    run_everywhere(alone_rank, 3);
}

// ---- held updates ----

// The replay waits for an external event, which is recorded behind the update: 200 times. Ranks
// are not in step: whoever comes first waits in the collective or at the event.
static void held_rank(struct rank *rank)
{
    static const size_t counts[FORMS] = { 9, 3000, 40000 };
    struct rank_call call[FORMS];
    aclrtEvent gate = NULL;
    aclrtStream side = NULL;
    aclrtTaskGrp group = NULL;
    rank_open(rank);
    must(aclrtCreateStream(&side));
    must(aclrtCreateEventWithFlag(&gate, ACL_EVENT_EXTERNAL));
    open_forms(call, rank, &operators[0], counts);
    capture_begin(rank->stream);
    must(aclrtStreamWaitEvent(rank->stream, gate));
    must(aclrtResetEvent(gate, rank->stream));
    must(aclmdlRICaptureTaskGrpBegin(rank->stream));
    must(rank_call_issue(&call[0], rank->comm, rank->stream));
    must(aclmdlRICaptureTaskGrpEnd(rank->stream, &group));
    aclmdlRI graph = capture_end(rank->stream);
    for (unsigned round = 0; round < 200; round++) {
        struct rank_call *next = &call[round % FORMS];
        rank_call_load(next, round);
        replay(graph, rank->stream);
        if (rank_random(rank, 4) == 0) {
            rank_sleep_us(rank_random(rank, 500));
        }
        update(next, rank, group, side);
        must(aclrtRecordEvent(gate, side));
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(next, round, "held and replayed");
        rank_step(rank, round + 1);
    }
    must(aclmdlRIDestroy(graph));
    close_forms(call);
    must(aclrtDestroyEvent(gate));
    must(aclrtDestroyStream(side));
    rank_close(rank);
}

Test(update, holds_a_replay_back_two_hundred_times)
{
    run_everywhere(held_rank, 2);
    run_everywhere(held_rank, 3);
}

// ---- replays beside updates ----

#define WORDS 3000
#define PLACES 4

struct mover {
    aclrtContext context;
    HcclComm comm;
    aclrtStream stream;
    aclrtTaskGrp group;
    int32_t *in[PLACES];
    int32_t *out[2];
    _Atomic bool stop;
    unsigned updates;
    int failed;
};

// Both collectives of the group read from the same place.
static int move_to(struct mover *mover, unsigned place, aclrtStream stream)
{
    int error = 0;
    for (unsigned k = 0; k < 2 && error == 0; k++) {
        error = (int)HcclAllReduce(mover->in[place], mover->out[k], WORDS, HCCL_DATA_TYPE_INT32,
                HCCL_REDUCE_SUM, mover->comm, stream);
    }
    return error;
}

static void *move_all_the_time(void *arg)
{
    struct mover *mover = arg;
    int error = aclrtSetCurrentContext(mover->context);
    while (error == 0 && !atomic_load(&mover->stop)) {
        error = aclmdlRICaptureTaskUpdateBegin(mover->stream, mover->group);
        if (error == 0) {
            error = move_to(mover, ++mover->updates % PLACES, mover->stream);
        }
        if (error == 0) {
            error = aclmdlRICaptureTaskUpdateEnd(mover->stream);
        }
        if (error == 0) {
            error = aclrtSynchronizeStream(mover->stream);
        }
    }
    mover->failed = error;
    return NULL;
}

// A replay takes all of an update or none of it, on each rank by itself: the two collectives of the
// group agree whatever the ranks are doing to it meanwhile.
static void beside_rank(struct rank *rank)
{
    struct mover mover = { 0 };
    pthread_t thread;
    rank_open(rank);
    mover.comm = rank->comm;
    must(aclrtGetCurrentContext(&mover.context));
    must(aclrtCreateStream(&mover.stream));
    for (unsigned p = 0; p < PLACES; p++) {
        must(aclrtMalloc((void **)&mover.in[p], WORDS * 4, ACL_MEM_MALLOC_HUGE_FIRST));
        for (int i = 0; i < WORDS; i++) {
            mover.in[p][i] = (int32_t)((p + 1) << (8 * rank->id)) + i;
        }
    }
    must(aclrtMalloc((void **)&mover.out[0], WORDS * 4, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMalloc((void **)&mover.out[1], WORDS * 4, ACL_MEM_MALLOC_HUGE_FIRST));
    capture_begin(rank->stream);
    must(aclmdlRICaptureTaskGrpBegin(rank->stream));
    must(move_to(&mover, 0, rank->stream));
    must(aclmdlRICaptureTaskGrpEnd(rank->stream, &mover.group));
    aclmdlRI graph = capture_end(rank->stream);
    must(pthread_create(&thread, NULL, move_all_the_time, &mover));
    const unsigned rounds = soak_rounds(300, 10000);
    for (unsigned round = 0; round < rounds; round++) {
        replay(graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        must_hold(memcmp(mover.out[0], mover.out[1], WORDS * 4) == 0,
                "round %u: the replay saw half of an update", round);
        for (unsigned r = 0; r < rank->count; r++) {
            const unsigned place = (unsigned)mover.out[0][0] >> (8 * r) & 0xff;
            must_hold(place >= 1 && place <= PLACES, "round %u: rank %u was at place %u", round, r,
                    place);
        }
        must_hold(mover.out[0][7] - mover.out[0][0] == 7 * (int32_t)rank->count,
                "round %u: the sum is wrong", round);
    }
    atomic_store(&mover.stop, true);
    must(pthread_join(thread, NULL));
    must_hold(mover.failed == 0, "an update answers %d", mover.failed);
    must_hold(mover.updates > 1, "there were %u updates only", mover.updates);
    must(aclmdlRIDestroy(graph));
    for (unsigned p = 0; p < PLACES; p++) {
        must(aclrtFree(mover.in[p]));
    }
    must(aclrtFree(mover.out[0]));
    must(aclrtFree(mover.out[1]));
    must(aclrtDestroyStream(mover.stream));
    rank_close(rank);
}

Test(update, beside_replays_is_seen_whole)
{
    run_everywhere(beside_rank, 2);
}

// ---- ranks that do not agree ----

// Rank 1 changes its count and rank 0 does not: told to both at once, with both calls.
static void disagree_rank(struct rank *rank)
{
    static const size_t counts[FORMS] = { 500, 501, 501 };
    const bool by_group = *(const bool *)rank->arg;
    struct rank_call call[FORMS];
    aclrtTaskGrp group = NULL;
    HcclResult later = HCCL_SUCCESS;
    rank_open(rank);
    open_forms(call, rank, &operators[0], counts);
    aclmdlRI graph = group_of(&call[0], rank, &group);
    replay_and_check(&call[0], rank, graph, 1);
    if (rank->id == 1 && by_group) {
        update(&call[1], rank, group, rank->stream);
    } else if (rank->id == 1) {
        set_params(only_task(graph), &call[1]);
        must(aclmdlRIUpdate(graph));
    }
    (void)rank_error_text();
    const uint64_t start_ms = rank_now_ms();
    aclError error = aclmdlRIExecuteAsync(graph, rank->stream);
    if (error == ACL_SUCCESS) {
        error = aclrtSynchronizeStream(rank->stream);
    }
    const char *text = rank_error_text();
    must_hold(error == ACL_ERROR_RT_INTERNAL_ERROR || error == (aclError)HCCL_E_PARA,
            "the replay answers %d: %s", error, text);
    must_hold(strstr(text, "count 500") != NULL && strstr(text, "count 501") != NULL,
            "not both calls are named: \"%s\"", text);
    must_hold(rank_now_ms() - start_ms < 5000, "told after %d ms only",
            (int)(rank_now_ms() - start_ms));
    must(HcclGetCommAsyncError(rank->comm, &later));
    must_hold(later == HCCL_E_PARA, "the asynchronous error is %d", (int)later);
    must_hold(guard_intact(&call[0].area[0]) && guard_intact(&call[1].area[1]),
            "bytes beside a buffer were written");
    must(aclmdlRIDestroy(graph));
    close_forms(call);
    rank_close(rank);
}

Test(update, of_a_count_on_one_rank_is_a_mismatch_that_names_both)
{
    const char *const *const envs[] = { AIV, HOST_TS };
    for (unsigned e = 0; e < 2; e++) {
        for (unsigned mode = 0; mode < 2; mode++) {
            for (int way = 0; way < 2; way++) {
                const bool by_group = way == 0;
                const struct rank_job job = { .ranks = 2,
                    .mode = mode == 0 ? RANK_THREADS : RANK_PROCESSES,
                    .fn = disagree_rank,
                    .arg = &by_group,
                    .env = envs[e] };
                assert_job(&job, "by %s, mode %d, %s", by_group ? "group" : "SetParams",
                        (int)job.mode, envs[e][0]);
            }
        }
    }
}
