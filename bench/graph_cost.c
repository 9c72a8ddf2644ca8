/*
 * graph_cost: what a captured task costs, in bytes and in time.
 *
 *     graph_cost [TASKS]    default 1,000,000
 *
 * Two rank processes capture a graph of TASKS tasks of one kind, freeze it
 * (aclmdlRICaptureEnd), replay it and destroy it. A row a kind:
 *   capture   host time of the call that captures a task
 *   freeze    of the whole graph
 *   bytes     resident memory that the frozen graph takes, a task; the goal is 256 at most
 *   peak      the most that was resident between the capture's begin and its end, a task
 *   launch    host time of aclmdlRIExecuteAsync
 *   replay    launch to synchronised, a task; the second replay, which finds memory as it is
 *   destroy   of the whole graph
 * The copies go round a block without continuing one another, so that none is merged. The last rows
 * are like a training step: one task in ten is a collective, one a host function, and three streams
 * are forked and joined over and over.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#include "bench_args.h"

#define RANKS 2
#define TASKS_DEFAULT 1000000
#define WORDS 1024
#define FLOATS 8
#define GOAL_BYTES 256
#define SIDES 3

/* What the two processes share apart from the library. */
struct shared {
    HcclRootInfo root_info;
    _Atomic int ready;
    _Atomic int arrived[RANKS]; /* barriers passed */
};

struct rank {
    struct shared *shared;
    int id;
    int barriers;
    HcclComm comm;
    aclrtStream stream, side[SIDES];
    aclrtEvent fork, join[SIDES];
    uint32_t *words;
    float *floats;
    uint64_t calls; /* of the host function */
};

static void must(int code, const char *what)
{
    if (code != 0) {
        const char *why = aclGetRecentErrMsg();
        fprintf(stderr, "graph_cost: %s: %d: %s\n", what, code, why ? why : "no message");
        _exit(1);
    }
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void barrier(struct rank *rank)
{
    const int turn = ++rank->barriers;
    atomic_store_explicit(&rank->shared->arrived[rank->id], turn, memory_order_release);
    while (atomic_load_explicit(&rank->shared->arrived[1 - rank->id], memory_order_acquire) <
            turn) {
        usleep(100);
    }
}

/* A number of /proc/self/status in bytes: "VmRSS:" or "VmHWM:". */
static double status_bytes(const char *name)
{
    char line[256];
    double kib = 0.0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            kib = strtod(line + strlen(name), NULL);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kib * 1024.0;
}

/* Sets VmHWM back to VmRSS. */
static void reset_peak(void)
{
    const int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "5", 1) != 1) {
        fprintf(stderr, "graph_cost: the peak cannot be reset here\n");
    }
    if (fd >= 0) {
        close(fd);
    }
}

/* ---- The kinds of task: each captures task `i` ---- */

static void copy_task(struct rank *rank, uint64_t i)
{
    must(aclrtMemcpyAsync(&rank->words[(i + 1) % WORDS], 4, &rank->words[i % WORDS], 4,
                 ACL_MEMCPY_DEVICE_TO_DEVICE, rank->stream),
            "aclrtMemcpyAsync");
}

static void fill_task(struct rank *rank, uint64_t i)
{
    must(aclrtMemsetAsync(&rank->words[i % WORDS], 4, (int)i, 4, rank->stream), "aclrtMemsetAsync");
}

static void all_reduce_task(struct rank *rank, uint64_t i)
{
    (void)i;
    must((int)HcclAllReduce(rank->floats, rank->floats, FLOATS, HCCL_DATA_TYPE_FP32,
                 HCCL_REDUCE_MAX, rank->comm, rank->stream),
            "HcclAllReduce");
}

static void count_call(void *arg)
{
    ++*(uint64_t *)arg;
}

static void host_task(struct rank *rank, uint64_t i)
{
    (void)i;
    must(aclrtLaunchHostFunc(rank->stream, count_call, &rank->calls), "aclrtLaunchHostFunc");
}

/* Thirty tasks make a round: a fork to three streams, work on all, and the way back. */
static void mixed_task(struct rank *rank, uint64_t i)
{
    const uint64_t at = i % 30;
    if (at == 0) {
        must(aclrtRecordEvent(rank->fork, rank->stream), "aclrtRecordEvent");
    } else if (at <= SIDES) {
        must(aclrtStreamWaitEvent(rank->side[at - 1], rank->fork), "aclrtStreamWaitEvent");
    } else if (at == 10 || at == 15 || at == 20) {
        all_reduce_task(rank, i);
    } else if (at == 11 || at == 16 || at == 21) {
        host_task(rank, i);
    } else if (at < 24) {
        must(aclrtMemcpyAsync(&rank->words[(i + 1) % WORDS], 4, &rank->words[i % WORDS], 4,
                     ACL_MEMCPY_DEVICE_TO_DEVICE, rank->side[at % SIDES]),
                "aclrtMemcpyAsync");
    } else if (at < 24 + SIDES) {
        must(aclrtRecordEvent(rank->join[at - 24], rank->side[at - 24]), "aclrtRecordEvent");
    } else {
        must(aclrtStreamWaitEvent(rank->stream, rank->join[at - 27]), "aclrtStreamWaitEvent");
    }
}

struct kind {
    const char *name;
    const char *expansion;
    void (*task)(struct rank *rank, uint64_t i);
};

/* Whatever is made once is made before it counts. */
static void warm_up(struct rank *rank, const struct kind *kind)
{
    aclmdlRI graph = NULL;
    must(aclmdlRICaptureBegin(rank->stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), "CaptureBegin");
    for (uint64_t i = 0; i < 30; i++) {
        kind->task(rank, i);
    }
    must(aclmdlRICaptureEnd(rank->stream, &graph), "aclmdlRICaptureEnd");
    must(aclmdlRIExecuteAsync(graph, rank->stream), "aclmdlRIExecuteAsync");
    must(aclrtSynchronizeStream(rank->stream), "aclrtSynchronizeStream");
    must(aclmdlRIDestroy(graph), "aclmdlRIDestroy");
}

static void measure(struct rank *rank, const struct kind *kind, uint64_t tasks)
{
    aclmdlRI graph = NULL;
    barrier(rank);
    reset_peak();
    const double before_bytes = status_bytes("VmRSS:");
    const double begin = now_s();
    must(aclmdlRICaptureBegin(rank->stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), "CaptureBegin");
    for (uint64_t i = 0; i < tasks; i++) {
        kind->task(rank, i);
    }
    const double captured = now_s();
    must(aclmdlRICaptureEnd(rank->stream, &graph), "aclmdlRICaptureEnd");
    const double frozen = now_s();
    const double bytes = status_bytes("VmRSS:") - before_bytes;
    const double peak = status_bytes("VmHWM:") - before_bytes;
    double launch = 0.0, replay = 0.0;
    for (int round = 0; round < 2; round++) {
        barrier(rank);
        const double start = now_s();
        must(aclmdlRIExecuteAsync(graph, rank->stream), "aclmdlRIExecuteAsync");
        launch = now_s() - start;
        must(aclrtSynchronizeStream(rank->stream), "aclrtSynchronizeStream");
        replay = now_s() - start;
    }
    const double destroying = now_s();
    must(aclmdlRIDestroy(graph), "aclmdlRIDestroy");
    const double destroyed = now_s();
    if (rank->id == 0) {
        const double n = (double)tasks;
        printf("%-22s %9.0f %11.1f %8.0f %8.0f %11.0f %11.0f %12.1f%s\n", kind->name,
                1e9 * (captured - begin) / n, 1e3 * (frozen - captured), bytes / n, peak / n,
                1e9 * launch, 1e9 * replay / n, 1e3 * (destroyed - destroying),
                bytes / n >= GOAL_BYTES + 0.5 ? "  over the goal" : "");
    }
}

static void open_rank(struct rank *rank)
{
    must(aclInit(NULL), "aclInit");
    must(aclrtSetDevice(rank->id), "aclrtSetDevice");
    if (rank->id == 0) {
        must((int)HcclGetRootInfo(&rank->shared->root_info), "HcclGetRootInfo");
        atomic_store_explicit(&rank->shared->ready, 1, memory_order_release);
    }
    while (atomic_load_explicit(&rank->shared->ready, memory_order_acquire) == 0) {
        usleep(100);
    }
    must((int)HcclCommInitRootInfo(
                 RANKS, &rank->shared->root_info, (uint32_t)rank->id, &rank->comm),
            "HcclCommInitRootInfo");
    must(aclrtCreateStream(&rank->stream), "aclrtCreateStream");
    must(aclrtCreateEventExWithFlag(&rank->fork, ACL_EVENT_SYNC), "aclrtCreateEventExWithFlag");
    for (int s = 0; s < SIDES; s++) {
        must(aclrtCreateStream(&rank->side[s]), "aclrtCreateStream");
        must(aclrtCreateEventExWithFlag(&rank->join[s], ACL_EVENT_SYNC),
                "aclrtCreateEventExWithFlag");
    }
    must(aclrtMalloc((void **)&rank->words, WORDS * 4, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    must(aclrtMalloc((void **)&rank->floats, FLOATS * 4, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    memset(rank->words, 0, WORDS * 4);
    memset(rank->floats, 0, FLOATS * 4);
}

static void close_rank(struct rank *rank)
{
    must(aclrtFree(rank->words), "aclrtFree");
    must(aclrtFree(rank->floats), "aclrtFree");
    for (int s = 0; s < SIDES; s++) {
        must(aclrtDestroyStream(rank->side[s]), "aclrtDestroyStream");
        must(aclrtDestroyEvent(rank->join[s]), "aclrtDestroyEvent");
    }
    must(aclrtDestroyEvent(rank->fork), "aclrtDestroyEvent");
    must(aclrtDestroyStream(rank->stream), "aclrtDestroyStream");
    must((int)HcclCommDestroy(rank->comm), "HcclCommDestroy");
    must(aclrtResetDevice(rank->id), "aclrtResetDevice");
    must(aclFinalize(), "aclFinalize");
}

static void run_rank(struct rank *rank, const struct kind *kind, uint64_t tasks)
{
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET((unsigned)rank->id, &core);
    (void)sched_setaffinity(0, sizeof core, &core); /* where there are two cores */
    open_rank(rank);
    warm_up(rank, kind);
    measure(rank, kind, tasks);
    close_rank(rank);
}

/* Each kind has processes of its own: none takes memory that another one has given back, and the
 * environment is read once a process. */
static bool run_pair(const struct kind *kind, uint64_t tasks)
{
    struct shared *shared =
            mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("graph_cost: mmap");
        return false;
    }
    fflush(stdout);
    for (int id = 0; id < RANKS; id++) {
        if (fork() == 0) {
            static struct rank rank;
            setenv("HCCL_OP_EXPANSION_MODE", kind->expansion, 1);
            rank.shared = shared;
            rank.id = id;
            run_rank(&rank, kind, tasks);
            fflush(stdout);
            _exit(0);
        }
    }
    bool ok = true;
    for (int id = 0; id < RANKS; id++) {
        int status = 0;
        ok = wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 && ok;
    }
    munmap(shared, sizeof *shared);
    return ok;
}

int main(int argc, char **argv)
{
    static const struct kind kinds[] = {
        { "copy", "AIV", copy_task },
        { "fill", "AIV", fill_task },
        { "host function", "AIV", host_task },
        { "all-reduce, AIV", "AIV", all_reduce_task },
        { "all-reduce, HOST_TS", "HOST_TS", all_reduce_task },
        { "mixed, AIV", "AIV", mixed_task },
        { "mixed, HOST_TS", "HOST_TS", mixed_task },
    };
    bench_args(argc, argv, 1,
            "usage: graph_cost [TASKS]\n"
            "What a captured task costs, in bytes and in time, a row a kind of task.\n"
            "  TASKS  tasks of each graph, 30 to 100000000; without it 1000000\n");
    const uint64_t wanted = bench_number(argc, argv, 1, TASKS_DEFAULT, 30, 100000000);
    const uint64_t tasks = wanted / 30 * 30;
    printf("%llu tasks, %d ranks; a task's figures, and a graph's\n", (unsigned long long)tasks,
            RANKS);
    printf("%-22s %9s %11s %8s %8s %11s %11s %12s\n", "task", "capture", "freeze", "bytes", "peak",
            "launch", "replay", "destroy");
    printf("%-22s %9s %11s %8s %8s %11s %11s %12s\n", "", "ns/task", "ms", "a task", "a task", "ns",
            "ns/task", "ms");
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (!run_pair(&kinds[k], tasks)) {
            return 1;
        }
    }
    return 0;
}
