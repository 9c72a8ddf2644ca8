// What users of stream capture run into with collectives: a capture is closed
// under the library's own calls, whatever the operator, type and size; it needs no
// warm-up; eager work that is still running does not disturb it; nothing in it
// waits for what will never start.
//
// R01 and R06 to R09 of the user reports (R02 to R04 are in test_reports_modes.c).
// AlltoAll, Send and Recv, and two nodes come with their issues.

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/rank_test.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)

static aclrtEvent sync_event(void)
{
    aclrtEvent event = NULL;
    must(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    return event;
}

static void in_both_expansions(struct rank_job *job)
{
    job->env = AIV;
    assert_job(job, "AIV, %u ranks", job->ranks);
    job->env = HOST_TS;
    assert_job(job, "HOST_TS, %u ranks", job->ranks);
}

// ---- Every operator, type and size ends its capture; the user's own mistake is told ----

static void capture_every_call(struct rank *rank, uint8_t *send, uint8_t *recv)
{
    static const enum rp_dtype types[] = { RP_DTYPE_INT8, RP_DTYPE_BFP16, RP_DTYPE_FP32,
        RP_DTYPE_UINT64 };
    static const uint64_t sizes[] = { 8, 64 * KIB, 8 * MIB, 64 * MIB };
    for (unsigned o = 0; o < ORACLE_OPS; o++) {
        for (unsigned t = 0; t < 4; t++) {
            for (unsigned s = 0; s < 4; s++) {
                struct rank_call call = {
                    .call = { .op = (enum oracle_op)o,
                            .dtype = types[t],
                            .reduce = (enum rp_reduce_op)(s % 4),
                            .count = sizes[s] / rp_dtype_bytes(types[t]),
                            .root = t,
                            .ranks = rank->count },
                    .rank = rank->id,
                    .send = send,
                    .recv = recv,
                };
                const bool has_blocks = oracle_send_bytes(&call.call) > sizes[s] ||
                                        oracle_recv_bytes(&call.call) > sizes[s];
                call.call.count /= has_blocks && sizes[s] > 8 ? rank->count : 1;
                capture_begin(rank->stream);
                must(rank_call_issue(&call, rank->comm, rank->stream));
                must(aclmdlRIDestroy(capture_end(rank->stream)));
            }
        }
    }
}

// Fork to a second stream by an event, and no way back.
static void forget_to_join(struct rank *rank, aclrtStream side, struct rank_call *call)
{
    aclmdlRI graph = (aclmdlRI)call;
    aclrtEvent fork = sync_event();
    capture_begin(rank->stream);
    must(aclrtRecordEvent(fork, rank->stream));
    must(aclrtStreamWaitEvent(side, fork));
    must(rank_call_issue(call, rank->comm, side));
    must_be(aclmdlRICaptureEnd(rank->stream, &graph), ACL_ERROR_RT_STREAM_UNJOINED);
    must_hold(graph == NULL, "a failed CaptureEnd leaves a handle");
    must(aclrtDestroyEvent(fork));
}

// Eager work and a new capture, replayed.
static void expect_usable(struct rank *rank, aclrtStream stream, struct rank_call *call)
{
    rank_call_load(call, 1);
    must(rank_call_issue(call, rank->comm, stream));
    must(aclrtSynchronizeStream(stream));
    rank_call_check(call, 1, "eager after the failed capture");
    capture_begin(stream);
    must(rank_call_issue(call, rank->comm, stream));
    aclmdlRI graph = capture_end(stream);
    rank_call_load(call, 2);
    replay(graph, stream);
    must(aclrtSynchronizeStream(stream));
    rank_call_check(call, 2, "captured after the failed capture");
    must(aclmdlRIDestroy(graph));
}

static void closed_capture_rank(struct rank *rank)
{
    uint8_t *send = NULL, *recv = NULL;
    aclrtStream side = NULL;
    struct rank_call call;
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_FP16, .count = 10000, .ranks = rank->count
    };
    rank_open(rank);
    must(aclrtCreateStream(&side));
    must(aclrtMalloc((void **)&send, 64 * MIB + 64, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMalloc((void **)&recv, 64 * MIB + 64, ACL_MEM_MALLOC_HUGE_FIRST));
    capture_every_call(rank, send, recv);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .seed = 4 });
    forget_to_join(rank, side, &call);
    expect_usable(rank, rank->stream, &call);
    expect_usable(rank, side, &call);
    rank_call_close(&call);
    must(aclrtFree(send));
    must(aclrtFree(recv));
    must(aclrtDestroyStream(side));
    rank_close(rank);
}

Test(reports, r01_every_capture_ends_and_only_the_users_fork_is_unjoined)
{
    struct rank_job job = { .ranks = 4, .fn = closed_capture_rank };
    in_both_expansions(&job);
}

// ---- Capture right after eager work that is still running ----

enum { BACKLOG = 30, BACKLOG_WORDS = 1024, CAPTURED = 3 };

struct backlog {
    unsigned rounds;
    bool slow_threads;
};

// The library's own threads run only when nobody else wants their core.
static void make_own_threads_idle(void)
{
    const struct sched_param none = { 0 };
    const long self = syscall(SYS_gettid);
    DIR *tasks = opendir("/proc/self/task");
    must_hold(tasks != NULL, "/proc/self/task cannot be read");
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        const long tid = atol(entry->d_name);
        if (tid > 0 && tid != self) {
            must_hold(sched_setscheduler((pid_t)tid, SCHED_IDLE, &none) == 0,
                    "thread %ld does not become idle", tid);
        }
    }
    closedir(tasks);
}

static void backlog_rank(struct rank *rank)
{
    const struct backlog *b = rank->arg;
    struct rank_call eager, captured[CAPTURED];
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE,
        .dtype = RP_DTYPE_INT32,
        .count = BACKLOG_WORDS,
        .ranks = rank->count,
    };
    rank_open(rank);
    rank_call_open(&eager, rank, &what, &(struct rank_call_options){ .seed = 9 });
    for (unsigned k = 0; k < CAPTURED; k++) {
        rank_call_open(&captured[k], rank, &what, &(struct rank_call_options){ .seed = k });
    }
    if (b->slow_threads) {
        make_own_threads_idle();
    }
    for (unsigned round = 0; round < b->rounds; round++) {
        rank_call_load(&eager, round);
        for (unsigned i = 0; i < BACKLOG; i++) {
            must(rank_call_issue(&eager, rank->comm, rank->stream));
        }
        capture_begin(rank->stream);
        for (unsigned k = 0; k < CAPTURED; k++) {
            must(rank_call_issue(&captured[k], rank->comm, rank->stream));
        }
        aclmdlRI graph = capture_end(rank->stream);
        for (unsigned k = 0; k < CAPTURED; k++) {
            rank_call_load(&captured[k], round + k);
        }
        replay(graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(&eager, round, "eager before the capture");
        for (unsigned k = 0; k < CAPTURED; k++) {
            rank_call_check(&captured[k], round + k, "captured behind the backlog");
        }
        must(aclmdlRIDestroy(graph));
    }
    rank_call_close(&eager);
    for (unsigned k = 0; k < CAPTURED; k++) {
        rank_call_close(&captured[k]);
    }
    rank_close(rank);
}

Test(reports, r07_a_capture_behind_running_eager_work_never_fails)
{
    const struct backlog b = { .rounds = soak_rounds(50, 200) };
    struct rank_job job = { .ranks = 4, .fn = backlog_rank, .arg = &b };
    in_both_expansions(&job);
    job.env = ENV("REPRISE_PROGRESS=thread");
    assert_job(&job, "all work on the device's own thread");
}

// Instead of sleeps within the library: its threads get a core only when a hog leaves one.
Test(reports, r07_nor_when_the_librarys_threads_are_held_up)
{
    const struct backlog b = { .rounds = soak_rounds(25, 200), .slow_threads = true };
    const struct rank_job job = { .ranks = 4, .fn = backlog_rank, .arg = &b };
    pid_t hog = fork();
    if (hog == 0) {
        alarm(300);
        for (;;) {
        }
    }
    const char *wrong = rank_run(&job);
    kill(hog, SIGKILL);
    assert_well(wrong, "with idle threads");
}

// ---- The first use of a communicator is inside the capture ----

static void first_use_rank(struct rank *rank)
{
    const size_t words = *(const size_t *)rank->arg / sizeof(uint32_t);
    struct guard send, recv;
    rank_open(rank);
    must(guard_create(&send, words * sizeof(uint32_t), 0));
    must(guard_create(&recv, words * sizeof(uint32_t), 0));
    capture_begin(rank->stream);
    must(HcclAllReduce(send.data, recv.data, words, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM,
            rank->comm, rank->stream));
    aclmdlRI graph = capture_end(rank->stream);
    for (unsigned round = 0; round < 2; round++) {
        uint32_t *in = (uint32_t *)(void *)send.data;
        const uint32_t *out = (const uint32_t *)(const void *)recv.data;
        for (size_t i = 0; i < words; i++) {
            in[i] = word(rank->id, round, i);
        }
        replay(graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        for (size_t i = 0; i < words; i++) {
            must_hold(out[i] == sum_of_words(rank->count, round, i),
                    "replay %u, element %zu of %zu is wrong", round, i, words);
        }
        must_hold(guard_intact(&send) && guard_intact(&recv), "written beside a buffer");
    }
    must(aclmdlRIDestroy(graph));
    must(guard_destroy(&send));
    must(guard_destroy(&recv));
    rank_close(rank);
}

Test(reports, r08_a_fresh_communicator_is_captured_without_warming_up)
{
    static const size_t sizes[] = { KIB, 64 * MIB };
    for (size_t i = 0; i < 2; i++) {
        struct rank_job job = { .ranks = 4, .fn = first_use_rank, .arg = &sizes[i] };
        in_both_expansions(&job);
        job.mode = RANK_THREADS;
        in_both_expansions(&job);
    }
}

// ---- Queries and waits inside a capture ----

// The call answers `expected`, within 100 ms: in one of three tries, for the machine may be busy.
#define prompt(call, expected)                                                \
    do {                                                                      \
        uint64_t fastest_ms = UINT64_MAX;                                     \
        for (unsigned tries = 0; tries < 3 && fastest_ms >= 100; tries++) {   \
            const uint64_t start_ms = rank_now_ms();                          \
            must_be(call, expected);                                          \
            fastest_ms = rank_now_ms() - start_ms;                            \
        }                                                                     \
        must_hold(fastest_ms < 100, "%s took %d ms", #call, (int)fastest_ms); \
    } while (0)

static void ask_streams_and_events(struct rank *rank, aclrtStream other, aclrtEvent captured)
{
    aclrtEvent eager = sync_event();
    aclrtStreamStatus stream_status;
    aclrtEventRecordedStatus event_status;
    aclrtEventWaitStatus wait_status;
    aclmdlRICaptureStatus capture_status;
    float ms;
    prompt(aclrtStreamQuery(rank->stream, &stream_status), ACL_ERROR_RT_STREAM_CAPTURED);
    prompt(aclrtSynchronizeStream(rank->stream), ACL_ERROR_RT_STREAM_CAPTURED);
    prompt(aclrtSynchronizeStreamWithTimeout(rank->stream, 1000), ACL_ERROR_RT_STREAM_CAPTURED);
    prompt(aclrtSynchronizeDevice(), ACL_ERROR_RT_STREAM_CAPTURED);
    prompt(aclrtSynchronizeDeviceWithTimeout(1000), ACL_ERROR_RT_STREAM_CAPTURED);
    prompt(aclrtDestroyStream(rank->stream), ACL_ERROR_RT_STREAM_CAPTURED);
    prompt(aclrtQueryEventStatus(captured, &event_status), ACL_ERROR_RT_EVENT_CAPTURED);
    prompt(aclrtQueryEventWaitStatus(captured, &wait_status), ACL_ERROR_RT_EVENT_CAPTURED);
    prompt(aclrtSynchronizeEvent(captured), ACL_ERROR_RT_EVENT_CAPTURED);
    prompt(aclrtSynchronizeEventWithTimeout(captured, 1000), ACL_ERROR_RT_EVENT_CAPTURED);
    prompt(aclrtEventElapsedTime(&ms, captured, captured), ACL_ERROR_RT_EVENT_CAPTURED);
    prompt(aclmdlRICaptureGetInfo(rank->stream, &capture_status, NULL), ACL_SUCCESS);
    must_hold(capture_status == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE, "a query ended the capture");
    prompt(aclrtRecordEvent(eager, other), ACL_SUCCESS); // what is not captured answers as ever
    prompt(aclrtSynchronizeStream(other), ACL_SUCCESS);
    prompt(aclrtStreamQuery(other, &stream_status), ACL_SUCCESS);
    must_hold(stream_status == ACL_STREAM_STATUS_COMPLETE, "the other stream is not idle");
    prompt(aclrtSynchronizeEvent(eager), ACL_SUCCESS);
    prompt(aclrtQueryEventStatus(eager, &event_status), ACL_SUCCESS);
    must(aclrtDestroyEvent(eager));
}

static void ask_communicator(struct rank *rank)
{
    HcclResult error = HCCL_E_INTERNAL;
    uint32_t number;
    char name[COMM_NAME_MAX_LENGTH];
    HcclComm found = NULL;
    prompt(HcclGetCommAsyncError(rank->comm, &error), HCCL_SUCCESS);
    must_hold(error == HCCL_SUCCESS, "the communicator reports %d", (int)error);
    prompt(HcclGetRankSize(rank->comm, &number), HCCL_SUCCESS);
    prompt(HcclGetRankId(rank->comm, &number), HCCL_SUCCESS);
    prompt(HcclGetCommName(rank->comm, name), HCCL_SUCCESS);
    prompt(HcclCommGetHandleWithName(name, &found), HCCL_SUCCESS);
    must_hold(found == rank->comm, "the name leads elsewhere");
}

static void ask_in_capture_rank(struct rank *rank)
{
    struct rank_call call;
    aclrtStream other = NULL;
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_FP32, .count = 5000, .ranks = rank->count
    };
    rank_open(rank);
    must(aclrtCreateStream(&other));
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .seed = 2 });
    aclrtEvent captured = sync_event();
    capture_begin(rank->stream);
    must(rank_call_issue(&call, rank->comm, rank->stream));
    must(aclrtRecordEvent(captured, rank->stream));
    ask_streams_and_events(rank, other, captured);
    ask_communicator(rank);
    must(rank_call_issue(&call, rank->comm, rank->stream));
    aclmdlRI graph = capture_end(rank->stream);
    for (unsigned version = 0; version < 3; version++) {
        rank_call_load(&call, version);
        replay(graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(&call, version, "replayed");
    }
    must(aclmdlRIDestroy(graph));
    must(aclrtDestroyEvent(captured));
    rank_call_close(&call);
    must(aclrtDestroyStream(other));
    rank_close(rank);
}

Test(reports, r09_no_query_or_wait_inside_a_capture_blocks)
{
    struct rank_job job = { .ranks = 2, .fn = ask_in_capture_rank };
    in_both_expansions(&job);
    job.mode = RANK_THREADS;
    in_both_expansions(&job);
}

// ---- Two captures at once on one communicator ----

static void nested_rank(struct rank *rank)
{
    struct rank_call call[3];
    aclrtStream b = NULL;
    rank_open(rank);
    must(aclrtCreateStream(&b));
    for (unsigned k = 0; k < 3; k++) {
        const struct oracle_call what = {
            .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_INT16, .count = 900, .ranks = rank->count
        };
        rank_call_open(&call[k], rank, &what, &(struct rank_call_options){ .seed = k });
    }
    capture_begin(rank->stream);
    must(rank_call_issue(&call[0], rank->comm, rank->stream));
    capture_begin(b);
    must(rank_call_issue(&call[1], rank->comm, b));
    aclmdlRI inner = capture_end(b);
    must(rank_call_issue(&call[2], rank->comm, rank->stream));
    aclmdlRI outer = capture_end(rank->stream);
    for (unsigned round = 0; round < 50; round++) {
        for (unsigned k = 0; k < 3; k++) {
            rank_call_load(&call[k], round + k);
        }
        replay(round % 3 == 0 ? inner : outer, rank->stream);
        replay(round % 3 == 0 ? outer : inner, b);
        must(aclrtSynchronizeStream(rank->stream));
        must(aclrtSynchronizeStream(b));
        for (unsigned k = 0; k < 3; k++) {
            rank_call_check(&call[k], round + k, "nested");
        }
    }
    must(aclmdlRIDestroy(inner));
    must(aclmdlRIDestroy(outer));
    for (unsigned k = 0; k < 3; k++) {
        rank_call_close(&call[k]);
    }
    must(aclrtDestroyStream(b));
    rank_close(rank);
}

Test(reports, r06_two_captures_can_be_open_on_one_communicator)
{
    struct rank_job job = { .ranks = 2, .fn = nested_rank };
    in_both_expansions(&job);
}

struct second_capture {
    struct rank *rank;
    struct rank_call *call;
    aclrtStream stream;
    aclmdlRI graph;
    aclError error;
};

static void *capture_in_second_thread(void *arg)
{
    struct second_capture *s = arg;
    s->error = aclrtSetDevice(s->rank->device);
    if (s->error == ACL_SUCCESS) {
        s->error = aclmdlRICaptureBegin(s->stream, THREAD_LOCAL);
    }
    for (unsigned k = 0; k < 20 && s->error == ACL_SUCCESS; k++) {
        s->error = (aclError)rank_call_issue(s->call, s->rank->comm, s->stream);
    }
    if (s->error == ACL_SUCCESS) {
        s->error = aclmdlRICaptureEnd(s->stream, &s->graph);
    }
    return NULL;
}

static void two_threads_rank(struct rank *rank)
{
    struct rank_call call[2];
    struct second_capture second = { .rank = rank, .call = &call[1] };
    rank_open(rank);
    must(aclrtCreateStream(&second.stream));
    for (unsigned k = 0; k < 2; k++) {
        const struct oracle_call what = {
            .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_INT32, .count = 700, .ranks = rank->count
        };
        rank_call_open(&call[k], rank, &what, &(struct rank_call_options){ .seed = k });
    }
    for (unsigned round = 0; round < 50; round++) {
        pthread_t thread;
        aclmdlRI graph = NULL;
        must_hold(pthread_create(&thread, NULL, capture_in_second_thread, &second) == 0, "thread");
        must(aclmdlRICaptureBegin(rank->stream, THREAD_LOCAL));
        for (unsigned k = 0; k < 20; k++) {
            must(rank_call_issue(&call[0], rank->comm, rank->stream));
        }
        must(aclmdlRICaptureEnd(rank->stream, &graph));
        pthread_join(thread, NULL);
        must_hold(second.error == ACL_SUCCESS, "the second thread's capture answers %d",
                second.error);
        rank_call_load(&call[0], round);
        rank_call_load(&call[1], round + 1);
        replay(round % 2 == 0 ? graph : second.graph, rank->stream);
        replay(round % 2 == 0 ? second.graph : graph, second.stream);
        must(aclrtSynchronizeStream(rank->stream));
        must(aclrtSynchronizeStream(second.stream));
        rank_call_check(&call[0], round, "captured by the first thread");
        rank_call_check(&call[1], round + 1, "captured by the second thread");
        must(aclmdlRIDestroy(graph));
        must(aclmdlRIDestroy(second.graph));
    }
    rank_call_close(&call[0]);
    rank_call_close(&call[1]);
    must(aclrtDestroyStream(second.stream));
    rank_close(rank);
}

Test(reports, r06_two_threads_can_capture_on_one_communicator)
{
    struct rank_job job = { .ranks = 2, .fn = two_threads_rank };
    in_both_expansions(&job);
}
