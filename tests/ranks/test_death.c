// A rank is killed: during init, when nothing runs, before an eager operator, in
// the middle of a large one, during replays. The survivors are told within seconds
// which rank it was, by the operation, by the asynchronous error and by the next
// call; nothing ends their processes; and they make a new communicator among
// themselves and use it.

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "support/rank_test.h"

#define VICTIM 2
#define NOTICED_MS 3000 // about a second is the aim; the machine of a CI is shared

enum moment {
    WHEN_IDLE,
    BEFORE_EAGER,
    IN_LARGE_EAGER,
    IN_REPLAYS,
    IN_LARGE_REPLAY,
    MOMENTS,
};

static const char *const moment_names[] = { "when idle", "before an eager call",
    "in a large eager call", "between replays", "in a large replay" };

struct death {
    enum moment moment;
};

// Shared by the ranks.
struct death_time {
    _Atomic uint64_t at_ms;
};

static void die_now(struct rank *rank)
{
    struct death_time *time = rank->shared;
    atomic_store(&time->at_ms, rank_now_ms());
    rank_die(rank);
}

static void expect_named(const char *text)
{
    char name[16];
    snprintf(name, sizeof(name), "rank %d", VICTIM);
    must_hold(strstr(text, name) != NULL, "the dead %s is not named: \"%s\"", name, text);
}

// What every survivor's communicator says from now on.
static void expect_told(struct rank *rank, struct rank_call *call)
{
    const struct death_time *time = rank->shared;
    HcclResult error = HCCL_SUCCESS;
    const uint64_t until_ms = rank_now_ms() + 10000;
    while (error == HCCL_SUCCESS && rank_now_ms() < until_ms) {
        must(HcclGetCommAsyncError(rank->comm, &error));
        rank_sleep_us(1000);
    }
    must_hold(error == HCCL_E_REMOTE, "the asynchronous error is %d", (int)error);
    must_hold(atomic_load(&time->at_ms) != 0 &&
                      rank_now_ms() - atomic_load(&time->at_ms) < NOTICED_MS,
            "noticed only %d ms after the death", (int)(rank_now_ms() - atomic_load(&time->at_ms)));
    (void)rank_error_text();
    must_be(rank_call_issue(call, rank->comm, rank->stream), HCCL_E_REMOTE);
    expect_named(rank_error_text());
}

// Where the victim dies; the survivors go on until a call fails.
static aclError run_until_it_fails(
        struct rank *rank, enum moment moment, struct rank_call *call, aclmdlRI graph)
{
    aclError error = ACL_SUCCESS;
    for (unsigned round = 0; round < 2000 && error == ACL_SUCCESS; round++) {
        const bool last = rank->id == VICTIM && round == 20;
        if (last && (moment == BEFORE_EAGER || moment == IN_REPLAYS)) {
            die_now(rank);
        }
        rank_call_load(call, round);
        if (graph != NULL) {
            error = aclmdlRIExecuteAsync(graph, rank->stream);
        } else {
            error = (aclError)rank_call_issue(call, rank->comm, rank->stream);
        }
        if (last) {
            rank_sleep_us(500);
            die_now(rank);
        }
        if (error == ACL_SUCCESS) {
            error = aclrtSynchronizeStream(rank->stream);
        }
        if (error == ACL_SUCCESS) {
            rank_call_check(call, round, "before the death");
        }
    }
    return error;
}

static void survive(struct rank *rank, struct rank_call *call)
{
    const uint32_t as = rank->id > VICTIM ? rank->id - 1 : rank->id;
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_FP32, .count = 3000, .ranks = rank->count - 1
    };
    const struct rank survivor = { .id = as, .count = rank->count - 1 };
    struct rank_call again;
    HcclComm comm = NULL;
    rank_call_close(call);
    const uint64_t start_ms = rank_now_ms();
    must(HcclCommDestroy(rank->comm));
    must_hold(rank_now_ms() - start_ms < 2000, "HcclCommDestroy took %d ms",
            (int)(rank_now_ms() - start_ms));
    must(rank_join(rank, 1, rank->count - 1, as, NULL, &comm));
    rank_call_open(&again, &survivor, &what, &(struct rank_call_options){ .seed = 77 });
    for (unsigned round = 0; round < 5; round++) {
        rank_call_load(&again, round);
        must(rank_call_issue(&again, comm, rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(&again, round, "among the survivors");
    }
    rank_call_close(&again);
    must(aclrtDestroyStream(rank->stream));
    must(HcclCommDestroy(comm));
    must(aclrtResetDevice(rank->device));
}

static void death_rank(struct rank *rank)
{
    const enum moment moment = ((const struct death *)rank->arg)->moment;
    const bool large = moment == IN_LARGE_EAGER || moment == IN_LARGE_REPLAY;
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE,
        .dtype = RP_DTYPE_FP32,
        .count = large ? 4 << 20 : 1000,
        .ranks = rank->count,
    };
    struct rank_call call;
    aclmdlRI graph = NULL;
    rank_open(rank);
    rank_call_open(&call, rank, &what,
            &(struct rank_call_options){ .versions = large ? 1 : 3, .seed = 5 });
    if (moment == IN_REPLAYS || moment == IN_LARGE_REPLAY) {
        capture_begin(rank->stream);
        must(rank_call_issue(&call, rank->comm, rank->stream));
        must(rank_call_issue(&call, rank->comm, rank->stream));
        graph = capture_end(rank->stream);
        call.in_place = false;
    }
    rank_barrier(rank);
    if (moment == WHEN_IDLE) {
        if (rank->id == VICTIM) {
            die_now(rank);
        }
    } else {
        const aclError error = run_until_it_fails(rank, moment, &call, graph);
        must_hold(error == ACL_ERROR_RT_SUSPECT_REMOTE_ERROR || error == (aclError)HCCL_E_REMOTE,
                "the operation ends with %d: %s", error, rank_error_text());
        expect_named(rank_error_text());
    }
    expect_told(rank, &call);
    if (graph != NULL) {
        must(aclmdlRIDestroy(graph));
    }
    survive(rank, &call);
}

static void run_deaths(const char *const *env)
{
    for (int moment = 0; moment < MOMENTS; moment++) {
        struct death_time *time = rank_shared_create(sizeof(*time));
        const struct death death = { .moment = (enum moment)moment };
        const struct rank_job job = {
            .ranks = 4, .fn = death_rank, .arg = &death, .shared = time, .env = env
        };
        assert_job(&job, "a rank dies %s, %s", moment_names[moment], env[0]);
        rank_shared_destroy(time, sizeof(*time));
    }
}

Test(death, of_a_rank_is_told_and_survived_aiv)
{
    run_deaths(AIV);
}

Test(death, of_a_rank_is_told_and_survived_host_ts)
{
    run_deaths(HOST_TS);
}

// ---- During init ----

struct init_death {
    unsigned victim;
    bool late_rank; // the last rank comes after the death
};

static void init_rank(struct rank *rank)
{
    const struct init_death *death = rank->arg;
    HcclComm comm = NULL;
    char name[16];
    must(aclrtSetDevice(rank->device));
    if (rank->id == 3) {
        rank_step(rank, 1);
        // Until rank 3 comes nobody's init ends, so the victim dies in the middle of its own.
        rank_sleep_us(900000);
    }
    const uint64_t start_ms = rank_now_ms();
    rank_step(rank, 1);
    const HcclResult result = rank_join(rank, 0, rank->count, rank->id, NULL, &comm);
    const char *text = rank_error_text();
    must_hold(result == HCCL_E_REMOTE || result == HCCL_E_TIMEOUT || result == HCCL_E_TCP_CONNECT,
            "init answers %d: %s", (int)result, text);
    must_hold(rank_now_ms() - start_ms < 5000, "init took %d ms to fail",
            (int)(rank_now_ms() - start_ms));
    must_hold(comm == NULL, "a failed init leaves a handle");
    snprintf(name, sizeof(name), "rank %u", death->victim);
    must_hold(strstr(text, death->victim == 0 ? "root" : name) != NULL, "%s is not named: \"%s\"",
            death->victim == 0 ? "the root" : name, text);

    // Nothing of the failed one is in the way of the next, which begins when all have been told.
    rank_barrier(rank);
    const uint32_t as = rank->id > death->victim ? rank->id - 1 : rank->id;
    must(rank_join(rank, 1, rank->count - 1, as, NULL, &comm));
    must(HcclCommDestroy(comm));
    must(aclrtResetDevice(rank->device));
}

Test(death, of_a_rank_during_init_is_told_and_survived)
{
    static const unsigned victims[] = { 2, 1, 0 };
    for (size_t i = 0; i < 3; i++) {
        const struct init_death death = { .victim = victims[i] };
        const struct rank_job job = {
            .ranks = 4, .fn = init_rank, .arg = &death, .env = ENV("HCCL_CONNECT_TIMEOUT=4")
        };
        struct rank_crew *crew = rank_start(&job);
        for (unsigned r = 0; r < 4; r++) {
            rank_await(crew, r, 1, 10000);
        }
        rank_sleep_us(300000);
        rank_kill(crew, death.victim, SIGKILL);
        assert_crew(crew, "rank %u dies during init", death.victim);
    }
}

// Whatever the victim was doing, the others end in bounded time, well or with an error.
static void any_time_rank(struct rank *rank)
{
    HcclComm comm = NULL;
    aclrtStream stream = NULL;
    float *buffer = NULL;
    must(aclrtSetDevice(rank->device));
    must(aclrtCreateStream(&stream));
    must(aclrtMalloc((void **)&buffer, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(buffer, 0, 4096);
    rank_barrier(rank);
    rank_step(rank, 1);
    HcclResult result = rank_join(rank, 0, rank->count, rank->id, NULL, &comm);
    if (result == HCCL_SUCCESS) {
        aclError error = ACL_SUCCESS;
        while (result == HCCL_SUCCESS && error == ACL_SUCCESS) {
            result = HcclAllReduce(
                    buffer, buffer, 1024, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, comm, stream);
            error = result == HCCL_SUCCESS ? aclrtSynchronizeStream(stream) : ACL_SUCCESS;
        }
        must(HcclCommDestroy(comm));
    } else {
        must_hold(comm == NULL, "a failed init leaves a handle");
    }
    // A root that gets no core in time cannot say whom it misses.
    const char *text = rank_error_text();
    if (strstr(text, "HCCL_CONNECT_TIMEOUT") == NULL) {
        expect_named(text);
    }
    must(aclrtFree(buffer));
    must(aclrtDestroyStream(stream));
    must(aclrtResetDevice(rank->device));
}

Test(death, of_a_rank_at_any_time_from_init_on_ends_the_others_in_bounded_time)
{
    const unsigned tries = soak_rounds(12, 300);
    uint64_t random = 42;
    for (unsigned i = 0; i < tries; i++) {
        const struct rank_job job = {
            .ranks = 3,
            .fn = any_time_rank,
            .timeout_s = 25,
            .env = ENV("HCCL_CONNECT_TIMEOUT=4"),
        };
        struct rank_crew *crew = rank_start(&job);
        rank_await(crew, VICTIM, 1, 10000);
        random = random * UINT64_C(6364136223846793005) + 1;
        rank_sleep_us((random >> 33) % 40000);
        rank_kill(crew, VICTIM, SIGKILL);
        assert_crew(crew, "try %u", i);
    }
}

// ---- Two ranks in one process, killed together ----

static void pair_rank(struct rank *rank)
{
    struct rank_call call;
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_INT32, .count = 600, .ranks = rank->count
    };
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .seed = 1 });
    aclError error = ACL_SUCCESS;
    for (unsigned round = 0; error == ACL_SUCCESS; round++) {
        rank_step(rank, round + 1);
        rank_call_load(&call, round);
        error = (aclError)rank_call_issue(&call, rank->comm, rank->stream);
        if (error == ACL_SUCCESS) {
            error = aclrtSynchronizeStream(rank->stream);
        }
    }
    const char *text = rank_error_text();
    must_hold(strstr(text, "rank 2") != NULL || strstr(text, "rank 3") != NULL,
            "neither dead rank is named: \"%s\"", text);
    rank_call_close(&call);
    rank_close(rank);
}

Test(death, of_a_process_of_two_ranks_is_told)
{
    const struct rank_job job = { .ranks = 6, .mode = RANK_MIXED, .fn = pair_rank };
    struct rank_crew *crew = rank_start(&job);
    cr_assert(rank_await(crew, 2, 50, 20000));
    rank_kill(crew, 2, SIGKILL);
    assert_crew(crew, "processes of two ranks");
}
