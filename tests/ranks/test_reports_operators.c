// Many collectives at once, and ranks that are not alike: kernels of several communicators beside
// each other and beside host functions, another order on each rank, several threads on one
// communicator, a host that is slower or set up otherwise.
//
// R29, R31, R36 and R51 of the user reports; R35 is test_mismatch_pairs.c.

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "support/rank_test.h"

static void two_cores(void)
{
    cpu_set_t all, two;
    CPU_ZERO(&two);
    must_hold(sched_getaffinity(0, sizeof(all), &all) == 0, "sched_getaffinity");
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; cpu++) {
        if (CPU_ISSET(cpu, &all)) {
            CPU_SET(cpu, &two);
        }
    }
    must_hold(sched_setaffinity(0, sizeof(two), &two) == 0, "sched_setaffinity");
}

struct comms_info {
    HcclRootInfo info;
};

// One more communicator of all ranks, by the root info in the shared memory.
static void open_comm(struct rank *rank, HcclComm *comm)
{
    struct comms_info *shared = rank->shared;
    if (rank->id == 0) {
        must(HcclGetRootInfo(&shared->info));
    }
    rank_barrier(rank);
    must(HcclCommInitRootInfo(rank->count, &shared->info, rank->id, comm));
    rank_barrier(rank);
}

static const char *run_shared(struct rank_job *job)
{
    job->shared = rank_shared_create(sizeof(struct comms_info));
    const char *wrong = rank_run(job);
    rank_shared_destroy(job->shared, sizeof(struct comms_info));
    return wrong;
}

static uint32_t power(uint32_t base, unsigned exponent)
{
    uint32_t value = 1;
    while (exponent-- > 0) {
        value *= base;
    }
    return value;
}

static uint32_t *words(struct rank *rank, size_t count, unsigned which)
{
    uint32_t *data = NULL;
    must(aclrtMalloc((void **)&data, count * sizeof(*data), ACL_MEM_MALLOC_HUGE_FIRST));
    for (size_t i = 0; i < count; i++) {
        data[i] = word(rank->id, which, i);
    }
    return data;
}

// A sum in place, `times` times: the second one multiplies by the number of ranks, and so on.
static void expect_sums(
        struct rank *rank, const uint32_t *data, size_t count, unsigned which, unsigned times)
{
    const uint32_t factor = power(rank->count, times - 1);
    for (size_t i = 0; i < count; i += 1 + count / 97) {
        must_hold(data[i] == factor * sum_of_words(rank->count, which, i),
                "communicator %u, element %zu after %u sums", which, i, times);
    }
}

// ---- R29: kernels that wait for peers hold nothing that the peers need ----

enum { STARVE_COUNT = 9000 };

static void sleep_50_ms(void *arg)
{
    ++*(unsigned *)arg;
    rank_sleep_us(50000);
}

struct starving {
    struct rank *rank;
    HcclComm other;
    aclrtStream stream[3];
    uint32_t *sum, *blocks, *dealt;
    unsigned slept;
};

static void starve_round(struct starving *s)
{
    must(HcclAllReduce(s->sum, s->sum, STARVE_COUNT, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM,
            s->rank->comm, s->stream[0]));
    must(HcclAlltoAll(s->blocks, STARVE_COUNT, HCCL_DATA_TYPE_UINT32, s->dealt, STARVE_COUNT,
            HCCL_DATA_TYPE_UINT32, s->other, s->stream[1]));
}

static void starve_wait(struct starving *s)
{
    for (unsigned i = 0; i < 3; i++) {
        must(aclrtSynchronizeStream(s->stream[i]));
    }
}

static aclmdlRI starve_graph(struct starving *s, aclrtStream stream, unsigned which)
{
    capture_begin(stream);
    if (which == 0) {
        must(HcclAllReduce(s->sum, s->sum, STARVE_COUNT, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM,
                s->rank->comm, stream));
    } else {
        must(HcclAlltoAll(s->blocks, STARVE_COUNT, HCCL_DATA_TYPE_UINT32, s->dealt, STARVE_COUNT,
                HCCL_DATA_TYPE_UINT32, s->other, stream));
    }
    return capture_end(stream);
}

static void starve_rank(struct rank *rank)
{
    const unsigned rounds = soak_rounds(60, 500);
    struct starving s = { .rank = rank };
    two_cores();
    rank_open(rank);
    open_comm(rank, &s.other);
    s.stream[0] = rank->stream;
    must(aclrtCreateStream(&s.stream[1]));
    must(aclrtCreateStream(&s.stream[2]));
    s.sum = words(rank, STARVE_COUNT, 0);
    s.blocks = words(rank, rank->count * STARVE_COUNT, 1);
    s.dealt = words(rank, rank->count * STARVE_COUNT, 2);
    for (unsigned k = 0; k < rounds; k++) {
        if (k % 20 == 0) {
            must(aclrtLaunchHostFunc(s.stream[2], sleep_50_ms, &s.slept));
        }
        starve_round(&s);
    }
    starve_wait(&s);
    aclmdlRI graph[2] = { starve_graph(&s, s.stream[0], 0), starve_graph(&s, s.stream[1], 1) };
    for (unsigned k = 0; k < rounds; k++) {
        if (k % 20 == 0) {
            must(aclrtLaunchHostFunc(s.stream[2], sleep_50_ms, &s.slept));
        }
        replay(graph[0], s.stream[0]);
        replay(graph[1], s.stream[1]);
    }
    starve_wait(&s);
    must_hold(s.slept == 2 * ((rounds + 19) / 20), "%u host functions ran", s.slept);
    expect_sums(rank, s.sum, STARVE_COUNT, 0, 2 * rounds);
    for (unsigned r = 0; r < rank->count; r++) {
        for (size_t i = 0; i < STARVE_COUNT; i += 101) {
            must_hold(s.dealt[r * STARVE_COUNT + i] == word(r, 1, rank->id * STARVE_COUNT + i),
                    "block of rank %u, element %zu", r, i);
        }
    }
    must(aclmdlRIDestroy(graph[0]));
    must(aclmdlRIDestroy(graph[1]));
    must(HcclCommDestroy(s.other));
    must(aclrtFree(s.sum));
    must(aclrtFree(s.blocks));
    must(aclrtFree(s.dealt));
    must(aclrtDestroyStream(s.stream[1]));
    must(aclrtDestroyStream(s.stream[2]));
    rank_close(rank);
}

Test(reports, r29_kernels_of_two_communicators_and_a_host_function_share_two_cores, .timeout = 200)
{
    struct rank_job job = { .ranks = 4, .fn = starve_rank, .env = AIV };
    assert_well(run_shared(&job), "processes");
    job.mode = RANK_THREADS;
    assert_well(run_shared(&job), "threads");
}

// ---- R31: another order on each rank ----

#define ORDER_COMMS_MAX 128

static void order_rank(struct rank *rank)
{
    enum { COUNT = 2000 };
    const unsigned comms = *(const unsigned *)rank->arg;
    const unsigned rounds = comms == 3 ? soak_rounds(200, 1000) : 5;
    HcclComm comm[ORDER_COMMS_MAX];
    aclrtStream stream[ORDER_COMMS_MAX];
    uint32_t *data[ORDER_COMMS_MAX];
    must(aclrtSetDevice(rank->device));
    for (unsigned i = 0; i < comms; i++) {
        open_comm(rank, &comm[i]);
        must(aclrtCreateStream(&stream[i]));
        data[i] = words(rank, COUNT, i);
    }
    for (unsigned k = 0; k < rounds; k++) {
        for (unsigned i = 0; i < comms; i++) {
            const unsigned c = rank->id % 2 == 0 ? i : comms - 1 - i;
            must(HcclAllReduce(data[c], data[c], COUNT, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM,
                    comm[c], stream[c]));
        }
    }
    for (unsigned i = 0; i < comms; i++) {
        const unsigned c = rank->id % 2 == 0 ? i : comms - 1 - i;
        must(aclrtSynchronizeStream(stream[c]));
        expect_sums(rank, data[c], COUNT, c, rounds);
    }
    for (unsigned i = 0; i < comms; i++) {
        must(HcclCommDestroy(comm[i]));
        must(aclrtDestroyStream(stream[i]));
        must(aclrtFree(data[i]));
    }
    must(aclrtResetDevice(rank->device));
}

Test(reports, r31_communicators_in_another_order_on_each_rank_never_wait_for_each_other,
        .timeout = 200)
{
    static const unsigned counts[] = { 3, 24, ORDER_COMMS_MAX };
    const char *const *const settings[] = {
        ENV("HCCL_OP_EXPANSION_MODE=AIV", "REPRISE_AIV_CORES=1", "HCCL_BUFFSIZE=1"),
        ENV("HCCL_OP_EXPANSION_MODE=HOST_TS", "HCCL_BUFFSIZE=1"),
    };
    for (size_t i = 0; i < (soaking() ? 3 : 2); i++) {
        for (size_t form = 0; form < RP_ARRAY_LENGTH(settings); form++) {
            struct rank_job job = {
                .ranks = 4, .fn = order_rank, .arg = &counts[i], .env = settings[form]
            };
            assert_well(run_shared(&job), "%u communicators, %s", counts[i], settings[form][0]);
        }
    }
}

// ---- R36: hosts that differ ----

static void limit_host(const struct rank *rank)
{
    cpu_set_t one;
    if (rank->id == 1) { // a single core
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        must_hold(sched_setaffinity(0, sizeof(one), &one) == 0, "sched_setaffinity");
    } else if (rank->id == 2) {
        setenv("REPRISE_ISA", "scalar", 1); // none of the vector extensions
    } else if (rank->id == 3) {
        setenv("REPRISE_AIV_CORES", "3", 1);
    }
}

static void uneven_rank(struct rank *rank)
{
    limit_host(rank);
    rank_open(rank);
    const double most = soaking() ? 8e6 : 3e5; // elements
    unsigned seed = 0;
    for (double size = 1; size < most; size = size * 1.3 + 1) {
        const struct oracle_call what = { .op = seed % 2 == 0 ? ORACLE_ALL_REDUCE
                                                              : ORACLE_REDUCE_SCATTER,
            .dtype = RP_DTYPE_FP32,
            .count = (size_t)size,
            .ranks = rank->count };
        struct rank_call call;
        rank_call_open(
                &call, rank, &what, &(struct rank_call_options){ .versions = 1, .seed = seed++ });
        rank_call_load(&call, 0);
        must(rank_call_issue(&call, rank->comm, rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(&call, 0, "on hosts that differ"); // bit-equal to the fold in rank order
        rank_call_close(&call);
    }
    rank_close(rank);
}

Test(reports, r36_ranks_whose_hosts_differ_choose_alike_at_every_size, .timeout = 200)
{
    struct rank_job job = { .ranks = 4, .fn = uneven_rank, .env = AIV };
    assert_job(&job, "AIV");
    job.env = HOST_TS;
    assert_job(&job, "HOST_TS");
}

static void threshold_rank(struct rank *rank)
{
    HcclComm comm = NULL;
    if (rank->id == 2) {
        setenv("REPRISE_SMALL_BYTES", "777", 1);
    }
    must(aclrtSetDevice(rank->device));
    const HcclResult result = rank_join(rank, 0, rank->count, rank->id, NULL, &comm);
    const char *text = rank_error_text();
    must_hold(result == HCCL_E_PARA && comm == NULL, "init answers %d: %s", (int)result, text);
    must_hold(strstr(text, "REPRISE_SMALL_BYTES") != NULL && strstr(text, "777") != NULL &&
                      strstr(text, "rank 2") != NULL,
            "the setting is not named: \"%s\"", text);
    must(aclrtResetDevice(rank->device));
}

Test(reports, r36_thresholds_that_differ_are_named_at_init)
{
    const struct rank_job job = { .ranks = 4, .fn = threshold_rank };
    assert_job(&job, "REPRISE_SMALL_BYTES");
}

// ---- R51: threads of one communicator ----

#define CALLERS 4
#define CALLER_ROUNDS 100

struct caller {
    const struct rank *rank;
    HcclComm comm;
    unsigned which;
    size_t count;
    bool alike; // all callers make the same call, which may meet any of the peer's
    uint32_t *data;
    int error;         // of a call or of synchronising
    const char *wrong; // about the data
};

// A value that tells who gave it: caller t of rank r adds 1 << (8 * r + 2 * t).
static uint32_t mark(unsigned rank, unsigned which)
{
    return 1u << (8 * rank + 2 * which);
}

static bool is_a_pair(uint32_t value)
{
    for (unsigned a = 0; a < CALLERS; a++) {
        for (unsigned b = 0; b < CALLERS; b++) {
            if (value == mark(0, a) + mark(1, b)) {
                return true;
            }
        }
    }
    return false;
}

static void call_once(struct caller *caller, aclrtStream stream)
{
    for (size_t i = 0; i < caller->count; i++) {
        caller->data[i] = mark(caller->rank->id, caller->which);
    }
    caller->error = (int)HcclAllReduce(caller->data, caller->data, caller->count,
            HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, caller->comm, stream);
    const int late = aclrtSynchronizeStream(stream);
    caller->error = caller->error == 0 ? late : caller->error;
    if (caller->error != 0) {
        return;
    }
    const uint32_t own = mark(0, caller->which) + mark(1, caller->which);
    if (caller->alike ? !is_a_pair(caller->data[0]) : caller->data[0] != own) {
        caller->wrong = "a sum that nobody asked for";
    }
    for (size_t i = 1; i < caller->count; i++) {
        if (caller->data[i] != caller->data[0]) {
            caller->wrong = "the payloads of two calls are mixed";
        }
    }
}

static void *caller_main(void *arg)
{
    struct caller *caller = arg;
    aclrtStream stream = NULL;
    caller->error = aclrtSetDevice(caller->rank->device);
    caller->error = caller->error != 0 ? caller->error : aclrtCreateStream(&stream);
    for (unsigned k = 0; k < CALLER_ROUNDS && caller->error == 0 && caller->wrong == NULL; k++) {
        call_once(caller, stream);
    }
    if (stream != NULL && aclrtDestroyStream(stream) != 0 && caller->error == 0) {
        caller->wrong = "the stream is not destroyed";
    }
    return NULL;
}

enum sharing { OWN_COMMS, ONE_COMM_ALIKE, ONE_COMM_UNLIKE };

static void callers_rank(struct rank *rank)
{
    const enum sharing sharing = *(const enum sharing *)rank->arg;
    struct caller caller[CALLERS];
    pthread_t thread[CALLERS];
    HcclComm comm[CALLERS];
    must(aclrtSetDevice(rank->device));
    for (unsigned t = 0; t < CALLERS; t++) {
        if (t == 0 || sharing == OWN_COMMS) {
            open_comm(rank, &comm[t]);
        }
        caller[t] = (struct caller){ .rank = rank,
            .comm = comm[sharing == OWN_COMMS ? t : 0],
            .which = t,
            .count = sharing == ONE_COMM_UNLIKE ? 3000 + t : 3000,
            .alike = sharing == ONE_COMM_ALIKE };
        must(aclrtMalloc((void **)&caller[t].data, 4 * caller[t].count, ACL_MEM_MALLOC_HUGE_FIRST));
    }
    rank_barrier(rank);
    for (unsigned t = 0; t < CALLERS; t++) {
        must_hold(pthread_create(&thread[t], NULL, caller_main, &caller[t]) == 0, "pthread_create");
    }
    for (unsigned t = 0; t < CALLERS; t++) {
        pthread_join(thread[t], NULL);
        must_hold(caller[t].wrong == NULL, "thread %u: %s", t, caller[t].wrong);
        // Threads whose order differs between ranks are told so, where their calls differ.
        const int error = caller[t].error;
        must_hold(error == 0 ||
                          (sharing == ONE_COMM_UNLIKE && (error == ACL_ERROR_RT_INTERNAL_ERROR ||
                                                                 error == (int)HCCL_E_PARA)),
                "thread %u: the answer is %d", t, error);
    }
    rank_barrier(rank);
    for (unsigned t = 0; t < CALLERS; t++) {
        must(aclrtFree(caller[t].data));
        if (t == 0 || sharing == OWN_COMMS) {
            must(HcclCommDestroy(comm[t]));
        }
    }
    must(aclrtResetDevice(rank->device));
}

Test(reports, r51_calls_of_several_threads_are_whole_and_told_when_their_order_differs,
        .timeout = 100)
{
    static const enum sharing rows[] = { OWN_COMMS, ONE_COMM_ALIKE, ONE_COMM_UNLIKE };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        struct rank_job job = { .ranks = 2, .fn = callers_rank, .arg = &rows[i], .env = AIV };
        assert_well(run_shared(&job), "row %zu, AIV", i);
        job.env = HOST_TS;
        assert_well(run_shared(&job), "row %zu, HOST_TS", i);
    }
}
