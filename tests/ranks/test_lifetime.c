// How things end: every order of destroying, handles that are gone, a rank that
// lingers, forks, exits with work pending; and the process around the library
// stays as it was.

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/child.h"
#include "support/rank_test.h"

#define PROMPT_MS 2000

// The call answers 0 in time.
#define must_soon(call)                                                      \
    do {                                                                     \
        const uint64_t start = rank_now_ms();                                \
        must(call);                                                          \
        must_hold(rank_now_ms() - start < PROMPT_MS, "%s took %d ms", #call, \
                (int)(rank_now_ms() - start));                               \
    } while (0)

static struct oracle_call small_all_reduce(const struct rank *rank)
{
    return (struct oracle_call){
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_FP32, .count = 2000, .ranks = rank->count
    };
}

static aclmdlRI capture_two(struct rank *rank, struct rank_call *call)
{
    capture_begin(rank->stream);
    must(rank_call_issue(call, rank->comm, rank->stream));
    must(rank_call_issue(call, rank->comm, rank->stream));
    aclmdlRI graph = capture_end(rank->stream);
    rank_call_load(call, 1);
    replay(graph, rank->stream);
    must(aclrtSynchronizeStream(rank->stream));
    rank_call_check(call, 1, "replayed");
    return graph;
}

// ---- Every order of destroying graph, communicator and stream ----

enum object {
    GRAPH,
    COMM,
    STREAM,
    OBJECTS,
};

struct order {
    enum object object[OBJECTS];
    unsigned count; // the rest is left to the end of the process
};

static void end_object(struct rank *rank, enum object object, aclmdlRI graph)
{
    switch (object) {
    case GRAPH:
        must_soon(aclmdlRIDestroy(graph));
        break;
    case COMM:
        must_soon(HcclCommDestroy(rank->comm));
        break;
    case STREAM:
        must_soon(aclrtDestroyStream(rank->stream));
        break;
    case OBJECTS:
        break;
    }
}

static void order_rank(struct rank *rank)
{
    const struct order *order = rank->arg;
    const struct oracle_call what = small_all_reduce(rank);
    bool gone[OBJECTS] = { false };
    struct rank_call call;
    aclrtStream other = NULL;
    rank_open(rank);
    must(aclrtCreateStream(&other));
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .seed = 8 });
    aclmdlRI graph = capture_two(rank, &call);
    for (unsigned i = 0; i < order->count; i++) {
        end_object(rank, order->object[i], graph);
        gone[order->object[i]] = true;
        if (gone[COMM] && !gone[GRAPH]) {
            must_be(aclmdlRIExecuteAsync(graph, other), ACL_ERROR_RT_MODEL_EXECUTE);
        }
    }
    must(aclrtSynchronizeStream(other));
    rank_call_close(&call);
    if (order->count == OBJECTS) {
        must(aclrtDestroyStream(other));
        must_soon(aclrtResetDevice(rank->device));
    }
}

Test(lifetime, r22_ends_in_every_order_of_graph_communicator_and_stream)
{
    static const struct order orders[] = {
        { { GRAPH, COMM, STREAM }, 3 },
        { { GRAPH, STREAM, COMM }, 3 },
        { { COMM, GRAPH, STREAM }, 3 },
        { { COMM, STREAM, GRAPH }, 3 },
        { { STREAM, GRAPH, COMM }, 3 },
        { { STREAM, COMM, GRAPH }, 3 },
        { { GRAPH }, 1 },
        { { COMM }, 1 },
        { { STREAM }, 1 },
        { { GRAPH }, 0 },
    };
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        struct rank_job job = { .ranks = 4, .fn = order_rank, .arg = &orders[i], .env = AIV };
        assert_job(&job, "order %zu, AIV", i);
        job.env = HOST_TS;
        job.mode = RANK_THREADS;
        assert_job(&job, "order %zu, HOST_TS, threads", i);
    }
}

static void lingering_rank(struct rank *rank)
{
    const struct oracle_call what = small_all_reduce(rank);
    struct rank_call call;
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .seed = 8 });
    aclmdlRI graph = capture_two(rank, &call);
    if (rank->id == 1) {
        rank_sleep_us(
                soaking() ? 5000000 : 2500000); // the others' peers stay quarantined meanwhile
    }
    must_soon(aclmdlRIDestroy(graph));
    rank_call_close(&call);
    must_soon(aclrtDestroyStream(rank->stream));
    must_soon(HcclCommDestroy(rank->comm));
    must_soon(aclrtResetDevice(rank->device));
}

Test(lifetime, r22_a_rank_that_destroys_late_holds_nobody_up)
{
    struct rank_job job = { .ranks = 4, .fn = lingering_rank };
    assert_job(&job, "processes");
    job.mode = RANK_MIXED;
    assert_job(&job, "processes and threads");
}

// ---- Handles that are gone ----

static void gone_rank(struct rank *rank)
{
    const struct oracle_call what = small_all_reduce(rank);
    struct rank_call call;
    HcclResult error;
    uint32_t number;
    char name[COMM_NAME_MAX_LENGTH];
    HcclComm found = NULL;
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .seed = 1 });
    aclmdlRI graph = capture_two(rank, &call);
    must(HcclGetCommName(rank->comm, name));
    must(aclmdlRIDestroy(graph));
    must_be(aclmdlRIExecuteAsync(graph, rank->stream), ACL_ERROR_RT_INVALID_HANDLE);
    must(HcclCommDestroy(rank->comm));
    must_be(HcclCommDestroy(rank->comm), HCCL_E_PARA);
    must_be(rank_call_issue(&call, rank->comm, rank->stream), HCCL_E_PARA);
    must_be(HcclGetCommAsyncError(rank->comm, &error), HCCL_E_PARA);
    must_be(HcclGetRankId(rank->comm, &number), HCCL_E_PARA);
    must_be(HcclBarrier(rank->comm, rank->stream), HCCL_E_PARA);
    must_be(HcclCommGetHandleWithName(name, &found), HCCL_E_PARA);
    must_be(rank_call_issue(&call, (HcclComm)rank->stream, rank->stream), HCCL_E_PARA);
    must(HcclCommDestroy(NULL));
    must(aclrtDestroyStream(rank->stream));
    must_be(aclrtDestroyStream(rank->stream), ACL_ERROR_RT_INVALID_HANDLE);
    must_be(aclrtSynchronizeStream(rank->stream), ACL_ERROR_RT_INVALID_HANDLE);
    void *block = call.area[0].block;
    rank_call_close(&call);
    must_hold(aclrtFree(block) != ACL_SUCCESS, "a block is freed twice");
    must(aclrtResetDevice(rank->device));
}

Test(lifetime, handles_that_are_gone_are_refused)
{
    struct rank_job job = { .ranks = 2, .fn = gone_rank };
    assert_job(&job, "processes");
    job.mode = RANK_THREADS;
    assert_job(&job, "threads");
}

// ---- Destroying while peers still want something ----

// Rank 1 leaves; what the others then call fails with a sentence that says so.
static void leaver_rank(struct rank *rank)
{
    const struct oracle_call what = small_all_reduce(rank);
    struct rank_call call;
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .seed = 1 });
    rank_call_load(&call, 0);
    must(rank_call_issue(&call, rank->comm, rank->stream));
    must(aclrtSynchronizeStream(rank->stream));
    rank_call_check(&call, 0, "before anyone leaves");
    if (rank->id != 1) {
        const uint64_t start_ms = rank_now_ms();
        aclError error = (aclError)rank_call_issue(&call, rank->comm, rank->stream);
        if (error == ACL_SUCCESS) {
            error = aclrtSynchronizeStream(rank->stream);
        }
        const char *text = rank_error_text();
        must_hold(error != ACL_SUCCESS && strstr(text, "rank 1") != NULL,
                "the call answers %d and says \"%s\"", error, text);
        must_hold(rank_now_ms() - start_ms < 5000, "told after %d ms only",
                (int)(rank_now_ms() - start_ms));
    }
    rank_call_close(&call);
    rank_close(rank);
}

Test(lifetime, a_rank_that_left_is_named_to_those_who_still_call)
{
    struct rank_job job = { .ranks = 3, .fn = leaver_rank, .env = AIV };
    assert_job(&job, "AIV");
    job.env = HOST_TS;
    assert_job(&job, "HOST_TS");
}

// Work that no peer will ever join is queued when the communicator is destroyed.
static void pending_rank(struct rank *rank)
{
    const struct oracle_call what = small_all_reduce(rank);
    struct rank_call call;
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .seed = 1 });
    if (rank->id == 0) {
        for (unsigned i = 0; i < 20; i++) {
            must(rank_call_issue(&call, rank->comm, rank->stream));
        }
        const uint64_t start_ms = rank_now_ms();
        must(HcclCommDestroy(rank->comm));
        must_hold(rank_now_ms() - start_ms < 3000, "HcclCommDestroy took %d ms",
                (int)(rank_now_ms() - start_ms));
        must_hold(aclrtSynchronizeStream(rank->stream) != ACL_SUCCESS,
                "calls that nobody joined are said to have ended well");
    } else {
        rank_barrier(rank);
        must(HcclCommDestroy(rank->comm));
    }
    if (rank->id == 0) {
        rank_barrier(rank);
    }
    rank_call_close(&call);
    must_soon(aclrtDestroyStream(rank->stream));
    must_soon(aclrtResetDevice(rank->device));
}

Test(lifetime, destroying_a_communicator_with_work_that_nobody_joins_ends)
{
    struct rank_job job = { .ranks = 3, .fn = pending_rank, .env = AIV };
    assert_job(&job, "AIV");
    job.env = HOST_TS;
    assert_job(&job, "HOST_TS");
}

// ---- Forks after the first call ----

struct inherited {
    HcclComm comm;
    aclrtStream stream;
    aclmdlRI graph;
    void *block;
};

// What the child says is one error from every call; it hangs nowhere, whichever way it ends.
static int forked_child(void *arg)
{
    const struct inherited *i = arg;
    void *block = NULL;
    HcclResult error;
    aclrtStreamStatus status;
    HcclRootInfo info;
    const int acl[] = { aclInit(NULL), aclrtSetDevice(0), aclrtSynchronizeStream(i->stream),
        aclrtStreamQuery(i->stream, &status), aclmdlRIExecuteAsync(i->graph, i->stream),
        aclmdlRIDestroy(i->graph), aclrtMalloc(&block, 64, ACL_MEM_MALLOC_HUGE_FIRST),
        aclrtFree(i->block), aclrtSynchronizeDevice(), aclrtDestroyStream(i->stream) };
    const HcclResult hccl[] = { HcclGetCommAsyncError(i->comm, &error), HcclGetRootInfo(&info),
        HcclAllReduce(
                i->block, i->block, 1, HCCL_DATA_TYPE_INT8, HCCL_REDUCE_SUM, i->comm, i->stream),
        HcclCommDestroy(i->comm) };
    for (size_t c = 0; c < sizeof(acl) / sizeof(acl[0]); c++) {
        if (acl[c] != ACL_ERROR_RT_NO_DEVICE) {
            return 10 + (int)c;
        }
    }
    for (size_t c = 0; c < sizeof(hccl) / sizeof(hccl[0]); c++) {
        if (hccl[c] != HCCL_E_UNAVAIL) {
            return 40 + (int)c;
        }
    }
    const char *text = aclGetRecentErrMsg();
    return text != NULL && strstr(text, "fork") != NULL ? 0 : 60;
}

// Touches every page that it can write, as a data loader might, and ends through exit().
static int exiting_child(void *arg)
{
    char *memory = malloc(1 << 20);
    (void)arg;
    if (memory == NULL) {
        return 1;
    }
    memset(memory, 7, 1 << 20);
    free(memory);
    exit(0);
}

static int exec_child(void *arg)
{
    (void)arg;
    // Standard streams and what ls opens are all it has; anything else came from the library.
    execl("/bin/sh", "sh", "-c", "test $(ls /proc/self/fd | wc -l) -le 4", (char *)NULL);
    return 127;
}

// Descriptors of the test's own would be inherited too.
static void close_own_on_exec(void)
{
    for (int fd = 3; fd < 64; fd++) {
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
}

static void forking_rank(struct rank *rank)
{
    static child_fn *const children[] = { forked_child, exiting_child, exec_child };
    const struct oracle_call what = small_all_reduce(rank);
    struct rank_call call;
    close_own_on_exec();
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .seed = 1 });
    aclmdlRI graph = capture_two(rank, &call);
    struct inherited inherited = {
        .comm = rank->comm,
        .stream = rank->stream,
        .graph = graph,
        .block = call.area[0].block,
    };
    for (unsigned round = 0; round < 24; round++) {
        rank_call_load(&call, round);
        replay(graph, rank->stream);
        const pid_t child = child_start(children[round % 3], &inherited); // in the middle of it
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(&call, round, "replayed around a fork");
        const int status = child_wait(child, 20);
        must_hold(status == 0, "child %u of kind %u ends with %d", round, round % 3, status);
        rank_call_load(&call, round + 1);
        must(rank_call_issue(&call, rank->comm, rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(&call, round + 1, "eager after a child's end");
    }
    must(aclmdlRIDestroy(graph));
    rank_call_close(&call);
    rank_close(rank);
}

Test(lifetime, forked_children_get_one_error_and_do_the_parent_no_harm)
{
    struct rank_job job = { .ranks = 2, .fn = forking_rank, .env = AIV };
    assert_job(&job, "AIV");
    job.env = HOST_TS;
    assert_job(&job, "HOST_TS");
}

// ---- The process around the library ----

struct surroundings {
    struct sigaction action[65];
    sigset_t mask;
};

static void look_around(struct surroundings *s)
{
    memset(s, 0, sizeof(*s));
    for (int signal = 1; signal <= 64; signal++) {
        (void)sigaction(signal, NULL, &s->action[signal]);
    }
    pthread_sigmask(SIG_BLOCK, NULL, &s->mask);
}

static void expect_unchanged(const struct surroundings *before, const char *when)
{
    struct surroundings now;
    look_around(&now);
    for (int signal = 1; signal <= 64; signal++) {
        must_hold(before->action[signal].sa_handler == now.action[signal].sa_handler &&
                          before->action[signal].sa_flags == now.action[signal].sa_flags,
                "%s: the disposition of signal %d has changed", when, signal);
        must_hold(sigismember(&before->mask, signal) == sigismember(&now.mask, signal),
                "%s: signal %d is blocked or unblocked", when, signal);
    }
}

static volatile sig_atomic_t signals_seen;
static _Thread_local int is_main_thread;
static volatile sig_atomic_t on_other_thread;

static void count_signal(int signal)
{
    (void)signal;
    signals_seen++;
    on_other_thread |= !is_main_thread;
}

// The library's threads take no signal of the application, and its calls survive interruptions.
static void signal_rank(struct rank *rank)
{
    const struct oracle_call what = small_all_reduce(rank);
    struct surroundings before;
    struct rank_call call;
    struct sigaction action = { .sa_handler = count_signal };
    is_main_thread = 1;
    sigaction(SIGUSR1, &action, NULL); // without SA_RESTART
    look_around(&before);
    rank_open(rank);
    expect_unchanged(&before, "after init");
    rank_step(rank, 1);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .seed = 1 });
    for (unsigned round = 0; round < 300; round++) {
        rank_call_load(&call, round);
        must(rank_call_issue(&call, rank->comm, rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(&call, round, "under signals");
        rank_step(rank, round + 1);
        if (round % 50 == 49) {
            rank_sleep_us(20000);
        }
    }
    rank_call_close(&call);
    rank_close(rank);
    expect_unchanged(&before, "after destroy");
    must_hold(signals_seen > 0 && !on_other_thread, "%d signals were seen, elsewhere: %d",
            (int)signals_seen, (int)on_other_thread);
}

Test(lifetime, signals_are_the_applications_own_business)
{
    const struct rank_job job = { .ranks = 2, .fn = signal_rank };
    struct rank_crew *crew = rank_start(&job);
    for (unsigned r = 0; r < 2; r++) {
        cr_assert(rank_await(crew, r, 1, 20000));
    }
    for (uint64_t step = 1; step < 300 && rank_await(crew, 0, step, 5000); step += 3) {
        kill(rank_pid(crew, 0), SIGUSR1);
        kill(rank_pid(crew, 1), SIGUSR1);
    }
    assert_crew(crew, "under signals");
}

// ---- Exits with work pending ----

struct exit_case {
    bool from_second_thread;
    bool replayed;
    bool joined; // by the other rank: else the work never ends
};

static void *exit_here(void *arg)
{
    (void)arg;
    exit(0);
}

static void exiting_rank(struct rank *rank)
{
    const struct exit_case *c = rank->arg;
    const struct oracle_call what = small_all_reduce(rank);
    struct rank_call call;
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .seed = 1 });
    aclmdlRI graph = capture_two(rank, &call);
    if (rank->id == 0 || c->joined) {
        for (unsigned i = 0; i < 50; i++) {
            if (c->replayed) {
                replay(graph, rank->stream);
            } else {
                must(rank_call_issue(&call, rank->comm, rank->stream));
            }
        }
    }
    rank_barrier(rank);
    rank_done(rank);
    if (c->from_second_thread) {
        pthread_t thread;
        pthread_create(&thread, NULL, exit_here, NULL);
        pthread_join(thread, NULL);
    }
    exit(0);
}

Test(lifetime, r25_a_process_exits_cleanly_with_work_pending)
{
    for (unsigned i = 0; i < 8; i++) {
        const struct exit_case c = { i & 1, i & 2, i & 4 };
        const struct rank_job job = { .ranks = 2, .fn = exiting_rank, .arg = &c, .timeout_s = 20 };
        assert_job(&job, "thread %d, replayed %d, joined %d", c.from_second_thread, c.replayed,
                c.joined);
    }
}
