// HcclCommSuspend and HcclCommResume: a communicator that was suspended, or that failed in the
// middle of a collective or of a replay, is taken into use again by all its ranks, and then every
// eager call and every replay of a graph from before is right.

#include <signal.h>
#include <string.h>

#include "support/rank_test.h"

enum { WORDS = 20000, ROUNDS = 100, SMALL = 5, LIMIT_MS = 20000 };

static const char *const aiv[] = { "HCCL_OP_EXPANSION_MODE=AIV", "HCCL_EXEC_TIMEOUT=120",
    "REPRISE_DEVICE_MEMORY=64M", NULL };
static const char *const host_ts[] = { "HCCL_OP_EXPANSION_MODE=HOST_TS", "HCCL_BUFFSIZE=1",
    "HCCL_EXEC_TIMEOUT=120", "REPRISE_DEVICE_MEMORY=64M", NULL };

struct work {
    uint32_t *in, *out;
    aclmdlRI graph; // an all-reduce of WORDS, and one of SMALL
};

static void fill(const struct work *w, const struct rank *rank, uint64_t round)
{
    for (size_t i = 0; i < WORDS; i++) {
        w->in[i] = word(rank->id, round, i);
        w->out[i] = 0;
    }
}

static void expect(const struct work *w, const struct rank *rank, uint64_t round, size_t words)
{
    for (size_t i = 0; i < words; i++) {
        const uint32_t sum = sum_of_words(rank->count, round, i);
        must_hold(w->out[i] == sum, "round %llu: word %zu is %u, not %u", (unsigned long long)round,
                i, w->out[i], sum);
    }
}

static int all_reduce(const struct work *w, const struct rank *rank, uint64_t words)
{
    return (int)HcclAllReduce(
            w->in, w->out, words, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, rank->comm, rank->stream);
}

static void work_open(struct work *w, struct rank *rank)
{
    rank_open(rank);
    must(aclrtMalloc((void **)&w->in, WORDS * 4, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMalloc((void **)&w->out, WORDS * 4, ACL_MEM_MALLOC_HUGE_FIRST));
    fill(w, rank, 0);
    capture_begin(rank->stream);
    must(all_reduce(w, rank, WORDS));
    must(all_reduce(w, rank, SMALL));
    w->graph = capture_end(rank->stream);
}

static void work_close(struct work *w, struct rank *rank)
{
    must(aclmdlRIDestroy(w->graph));
    must(aclrtFree(w->in));
    must(aclrtFree(w->out));
    rank_close(rank);
}

/* 100 rounds of every size, eager and replayed, with other values each time. */
static void work_on(const struct work *w, struct rank *rank)
{
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        const size_t words = round % 3 == 0 ? WORDS : SMALL + round;
        fill(w, rank, round);
        rank_barrier(rank);
        if (round % 2 == 0) {
            replay(w->graph, rank->stream);
            must(aclrtSynchronizeStream(rank->stream));
            expect(w, rank, round, WORDS);
        } else {
            must(all_reduce(w, rank, words));
            must(aclrtSynchronizeStream(rank->stream));
            expect(w, rank, round, words);
        }
        rank_barrier(rank);
    }
}

static HcclCommStatus status_of(const struct rank *rank)
{
    HcclCommStatus status = HCCL_COMM_STATUS_RESERVED;
    char name[COMM_NAME_MAX_LENGTH];
    must(HcclCommGetStatus(rank->comm, &status));
    must(HcclGetCommName(rank->comm, name));
    HcclCommStatus by_name = HCCL_COMM_STATUS_RESERVED;
    must(HcclCommGetStatus(name, &by_name));
    must_hold(by_name == status, "by name %d, by handle %d", (int)by_name, (int)status);
    return status;
}

static void resume(const struct rank *rank)
{
    HcclResult async = HCCL_E_RESERVED;
    must(HcclCommResume(rank->comm));
    must_hold(status_of(rank) == HCCL_COMM_STATUS_READY, "resumed, and not ready");
    must(HcclGetCommAsyncError(rank->comm, &async));
    must_be(async, HCCL_SUCCESS);
}

// ---- suspended ----

static void suspend_rank(struct rank *rank)
{
    struct work w;
    work_open(&w, rank);
    for (int again = 0; again < 3; again++) {
        must_hold(status_of(rank) == HCCL_COMM_STATUS_READY, "not ready");
        work_on(&w, rank);
        rank_barrier(rank);
        if (rank->id % 2 == 0 || again == 1) { // the others notice, or do not
            must(HcclCommSuspend(rank->comm));
            must(HcclCommSuspend(rank->comm));
            must_be(all_reduce(&w, rank, WORDS), HCCL_E_SUSPENDING);
            must_hold(status_of(rank) == HCCL_COMM_STATUS_SUSPENDING, "not suspended");
            must_hold(aclmdlRIExecuteAsync(w.graph, rank->stream) != 0, "a replay was taken");
            must_be(HcclBarrier(rank->comm, rank->stream), HCCL_E_SUSPENDING);
        }
        resume(rank);
    }
    work_on(&w, rank);
    work_close(&w, rank);
}

static void run_both(struct rank_job *job, const char *what)
{
    static const enum rank_mode modes[] = { RANK_PROCESSES, RANK_THREADS };
    for (int m = 0; m < 2; m++) {
        job->mode = modes[m];
        job->env = aiv;
        assert_job(job, "%s: AIV, %u ranks, mode %d", what, job->ranks, m);
        job->env = host_ts;
        assert_job(job, "%s: HOST_TS, %u ranks, mode %d", what, job->ranks, m);
    }
}

Test(resume, after_a_suspension_everything_works, .timeout = 240)
{
    struct rank_job job = { .ranks = 3, .fn = suspend_rank };
    run_both(&job, "suspended");
    job.ranks = 1;
    run_both(&job, "alone");
}

// ---- stopped in the middle ----

/* Rank 0 gives up what it has begun, and what stands behind it; the others are in it, or come to it
 * later. */
static void abort_rank(struct rank *rank)
{
    struct work w;
    const bool replayed = rank->arg != NULL;
    work_open(&w, rank);
    for (uint64_t again = 0; again < 4; again++) {
        const bool late = again % 2 == 0 && rank->id == rank->count - 1;
        rank_barrier(rank);
        if (!late) { // who is late has nothing to do with it
            for (int i = 0; i < 3; i++) {
                const int answer = replayed ? aclmdlRIExecuteAsync(w.graph, rank->stream)
                                            : all_reduce(&w, rank, again < 2 ? WORDS : SMALL);
                must_hold(answer == 0 || rank->id != 0, "the call answers %d", answer);
            }
        }
        rank_sleep_us(again * 3000 + 300 * rank->id);
        if (rank->id == 0 || again == 3) {
            must(aclrtStreamAbort(rank->stream));
        }
        (void)aclrtSynchronizeStream(rank->stream); // well, failed or stopped
        resume(rank);
        work_on(&w, rank);
    }
    work_close(&w, rank);
}

Test(resume, after_an_abort_in_a_collective_everything_works, .timeout = 240)
{
    struct rank_job job = { .ranks = 3, .fn = abort_rank };
    run_both(&job, "collective");
}

Test(resume, after_an_abort_in_a_replay_everything_works, .timeout = 240)
{
    struct rank_job job = { .ranks = 3, .fn = abort_rank, .arg = "" };
    run_both(&job, "replay");
}

// ---- the whole device stopped ----

/* Every rank has collectives, or replays, on two streams; some ranks, or all, abort their device in
 * the middle. */
static void task_abort_rank(struct rank *rank)
{
    struct work w;
    aclrtStream other;
    const bool replayed = rank->arg != NULL;
    work_open(&w, rank);
    must(aclrtCreateStream(&other));
    for (uint64_t again = 0; again < 4; again++) {
        rank_barrier(rank);
        for (int i = 0; i < 3; i++) { // until a peer's abort is heard of
            (void)(replayed ? (int)aclmdlRIExecuteAsync(w.graph, rank->stream)
                            : all_reduce(&w, rank, again < 2 ? WORDS : SMALL));
            (void)HcclBarrier(rank->comm, other);
        }
        rank_sleep_us(again * 1000 + 300 * rank->id);
        if (again % 2 == 0 || rank->id == 0) {
            must(aclrtDeviceTaskAbort(rank->device, LIMIT_MS));
        }
        (void)aclrtSynchronizeStream(rank->stream); // well, failed or stopped
        (void)aclrtSynchronizeStream(other);
        resume(rank);
        must(HcclBarrier(rank->comm, other));
        must(aclrtSynchronizeStream(other));
        work_on(&w, rank);
    }
    must(aclrtDestroyStream(other));
    work_close(&w, rank);
}

Test(resume, after_the_devices_are_stopped_in_collectives_everything_works, .timeout = 240)
{
    struct rank_job job = { .ranks = 3, .fn = task_abort_rank };
    run_both(&job, "stopped collectives");
}

Test(resume, after_the_devices_are_stopped_in_replays_everything_works, .timeout = 240)
{
    struct rank_job job = { .ranks = 3, .fn = task_abort_rank, .arg = "" };
    run_both(&job, "stopped replays");
}

/* A collective that cannot end: rank 1 never calls it, and learns of the stop. */
static void heard_rank(struct rank *rank)
{
    struct work w;
    work_open(&w, rank);
    rank_barrier(rank);
    if (rank->id == 0) {
        must(all_reduce(&w, rank, WORDS));
        rank_sleep_us(20000);
        must(aclrtDeviceTaskAbort(rank->device, LIMIT_MS));
        must_hold(all_reduce(&w, rank, WORDS) != 0, "a stopped communicator takes a call");
        must_hold(
                strstr(rank_error_text(), "aclrtDeviceTaskAbort") != NULL, "%s", rank_error_text());
    } else {
        HcclResult async = HCCL_SUCCESS;
        const uint64_t start_ms = rank_now_ms();
        while (async == HCCL_SUCCESS && rank_now_ms() - start_ms < LIMIT_MS) {
            must(HcclGetCommAsyncError(rank->comm, &async));
        }
        must_hold(async != HCCL_SUCCESS, "nobody hears of it");
    }
    resume(rank);
    work_on(&w, rank);
    work_close(&w, rank);
}

Test(resume, peers_hear_of_a_device_that_is_stopped, .timeout = 120)
{
    struct rank_job job = { .ranks = 2, .fn = heard_rank };
    run_both(&job, "heard");
}

/* Sends and receives that are stopped, halfway or unmatched, and as many as wanted afterwards. */
static void pass_on(const struct work *w, struct rank *rank)
{
    const uint32_t next = (rank->id + 1) % rank->count;
    const uint32_t before = (rank->id + rank->count - 1) % rank->count;
    HcclSendRecvItem item[2] = {
        { HCCL_SEND, w->in, WORDS, HCCL_DATA_TYPE_UINT32, next },
        { HCCL_RECV, w->out, WORDS, HCCL_DATA_TYPE_UINT32, before },
    };
    for (uint64_t round = 1; round <= ROUNDS / 5; round++) {
        fill(w, rank, round);
        rank_barrier(rank);
        must(HcclBatchSendRecv(item, 2, rank->comm, rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
        for (size_t i = 0; i < WORDS; i++) {
            must_hold(w->out[i] == word(before, round, i), "round %llu: word %zu",
                    (unsigned long long)round, i);
        }
    }
}

static void pairs_rank(struct rank *rank)
{
    struct work w;
    work_open(&w, rank);
    for (uint64_t again = 0; again < 3; again++) {
        pass_on(&w, rank);
        rank_barrier(rank);
        if (rank->id == 0) { // more sends than receives
            (void)HcclSend(w.in, WORDS, HCCL_DATA_TYPE_UINT32, 1, rank->comm, rank->stream);
            (void)HcclSend(w.in, WORDS, HCCL_DATA_TYPE_UINT32, 1, rank->comm, rank->stream);
        } else if (rank->id == 1 && again != 1) {
            (void)HcclRecv(w.out, WORDS, HCCL_DATA_TYPE_UINT32, 0, rank->comm, rank->stream);
        }
        rank_sleep_us(2000 * again);
        if (rank->id == 0) {
            must(aclrtDeviceTaskAbort(rank->device, LIMIT_MS));
        }
        (void)aclrtSynchronizeStream(rank->stream);
        resume(rank);
    }
    pass_on(&w, rank);
    work_on(&w, rank);
    work_close(&w, rank);
}

Test(resume, after_sends_and_receives_are_stopped_everything_works, .timeout = 240)
{
    static const enum rank_mode modes[] = { RANK_PROCESSES, RANK_THREADS };
    struct rank_job job = { .ranks = 3, .fn = pairs_rank, .env = host_ts };
    for (int m = 0; m < 2; m++) {
        job.mode = modes[m];
        assert_job(&job, "pairs, mode %d", m);
    }
}

// ---- after a mismatch ----

static void mismatch_rank(struct rank *rank)
{
    struct work w;
    work_open(&w, rank);
    must(all_reduce(&w, rank, rank->id == 0 ? WORDS : WORDS - 1));
    must_hold(aclrtSynchronizeStream(rank->stream) != 0, "ranks differ, and nobody is told");
    must_hold(status_of(rank) == HCCL_COMM_STATUS_INVALID, "in error, and not invalid");
    must_be(all_reduce(&w, rank, WORDS), HCCL_E_PARA);
    must(HcclCommSuspend(rank->comm));
    must_be(all_reduce(&w, rank, WORDS), HCCL_E_SUSPENDING);
    must_hold(status_of(rank) == HCCL_COMM_STATUS_SUSPENDING, "not suspended");
    resume(rank);
    work_on(&w, rank);
    work_close(&w, rank);
}

Test(resume, after_a_mismatch_everything_works, .timeout = 240)
{
    struct rank_job job = { .ranks = 3, .fn = mismatch_rank };
    run_both(&job, "mismatch");
}

// ---- who does not come ----

static void late_rank(struct rank *rank)
{
    struct work w;
    work_open(&w, rank);
    work_on(&w, rank);
    must(HcclCommSuspend(rank->comm));
    if (rank->id != 1) {
        must_be(HcclCommResume(rank->comm), HCCL_E_TIMEOUT);
        const char *text = rank_error_text();
        must_hold(strstr(text, "rank 1 of") != NULL && strstr(text, "HCCL_CONNECT_TIMEOUT") != NULL,
                "%s", text);
        must_be(all_reduce(&w, rank, WORDS), HCCL_E_SUSPENDING);
    }
    rank_barrier(rank);
    resume(rank); // the others go on from where they gave up
    work_on(&w, rank);
    work_close(&w, rank);
}

Test(resume, names_who_does_not_call_it_and_goes_on_later, .timeout = 120)
{
    struct rank_job job = { .ranks = 3, .fn = late_rank };
    job.env = ENV("HCCL_CONNECT_TIMEOUT=1", "HCCL_BUFFSIZE=1", "REPRISE_DEVICE_MEMORY=64M");
    assert_job(&job, "late");
    job.mode = RANK_THREADS;
    assert_job(&job, "late, threads");
}

static void death_rank(struct rank *rank)
{
    struct work w;
    work_open(&w, rank);
    work_on(&w, rank);
    rank_step(rank, 1);
    if (rank->id == 1) {
        rank_sleep_us(1000000000);
    }
    const uint64_t start_ms = rank_now_ms();
    must_be(HcclCommResume(rank->comm), HCCL_E_REMOTE);
    must_hold(rank_now_ms() - start_ms < LIMIT_MS, "told too late");
    must_be(HcclCommResume(rank->comm), HCCL_E_REMOTE);
    must_hold(all_reduce(&w, rank, WORDS) != 0, "a call was taken");
    must(HcclCommDestroy(rank->comm));
    must(aclmdlRIDestroy(w.graph));
    must(aclrtResetDeviceForce(rank->device));
}

Test(resume, fails_when_a_rank_has_died, .timeout = 120)
{
    struct rank_job job = { .ranks = 2, .fn = death_rank };
    struct rank_crew *crew = rank_start(&job);
    cr_assert(rank_await(crew, 1, 1, 20000));
    rank_kill(crew, 1, SIGKILL);
    assert_crew(crew, "death");
}

static void leave_rank(struct rank *rank)
{
    struct work w;
    work_open(&w, rank);
    if (rank->id == 1) {
        must(HcclCommDestroy(rank->comm));
    }
    rank_barrier(rank);
    if (rank->id != 1) {
        must_be(HcclCommResume(rank->comm), HCCL_E_REMOTE);
        const char *text = rank_error_text();
        must_hold(strstr(text, "rank 1 ") != NULL, "%s", text);
        must(HcclCommDestroy(rank->comm));
    }
    must(aclmdlRIDestroy(w.graph));
    must(aclrtFree(w.in));
    must(aclrtFree(w.out));
    must(aclrtDestroyStream(rank->stream));
    must(aclrtResetDevice(rank->device));
}

Test(resume, fails_when_a_rank_has_left, .timeout = 120)
{
    struct rank_job job = { .ranks = 3, .fn = leave_rank };
    assert_job(&job, "left");
}
