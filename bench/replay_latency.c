/*
 * replay_latency: what one call costs, and what one captured collective costs.
 *
 * Two rank processes, each pinned to a core. For graphs of 1, 10, 100, 1,000
 * and 10,000 dependent 32-byte all-reduces it measures, in turn and in one run:
 *   launch    host time of aclmdlRIExecuteAsync, in bursts of eight launches; and of one that
 *             follows a whole replay, which has driven the launch's code out of the caches
 *   replay    launch to synchronised, per replay and per operator
 *   eager     the same operators called one by one, per operator
 *   floor     a symmetric exchange of one cache line between the same two cores
 * and the takeover: how long until the work is done when the caller computes
 * after the launch instead of waiting. Every figure is the median of several
 * rounds; rounds rotate through the measurements, since machines change speed.
 */
#include <sched.h>
#include <stdatomic.h>
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
#define ROUNDS 9
#define FLOATS 8
#define SIZES 5
#define EXCHANGES 20000
#define BURST 8
#define BURSTS 3
#define TAKEOVERS 40

static const int op_counts[SIZES] = { 1, 10, 100, 1000, 10000 };

/* What the two processes share apart from the library: root info, a barrier, the floor's lines. */
struct shared {
    HcclRootInfo root_info;
    _Atomic int ready;
    struct {
        _Alignas(64) _Atomic uint64_t value;
        char payload[56];
    } line[RANKS];
    struct {
        _Alignas(64) _Atomic uint64_t value;
    } gate[RANKS];
};

struct rank {
    struct shared *shared;
    int id;
    uint64_t gate; /* barriers passed */
    uint64_t exchanged;
    HcclComm comm;
    aclrtStream stream;
    float *buffer;
    aclmdlRI graph[SIZES];
    aclmdlRI takeover_graph;
    double stamp; /* written by the takeover graph's host function */
};

struct figures {
    double launch_ns[ROUNDS], cold_launch_ns[ROUNDS], replay_ns[ROUNDS];
    double eager_ns[ROUNDS], eager_launch_ns[ROUNDS];
};

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void must(int code, const char *what)
{
    if (code != 0) {
        const char *why = aclGetRecentErrMsg();
        fprintf(stderr, "replay_latency: %s: %d: %s\n", what, code, why ? why : "no message");
        _exit(1);
    }
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(double), by_value);
    return values[count / 2];
}

/* Both ranks are here. Spins: the ranks have a core each. */
static void barrier(struct rank *rank)
{
    rank->gate++;
    atomic_store_explicit(&rank->shared->gate[rank->id].value, rank->gate, memory_order_release);
    while (atomic_load_explicit(&rank->shared->gate[1 - rank->id].value, memory_order_acquire) <
            rank->gate) {
        sched_yield();
    }
}

/* One line each way per exchange: what any all-reduce between two cores must pay at least. */
static double floor_ns(struct rank *rank)
{
    barrier(rank);
    const double begin = now_ns();
    for (int i = 0; i < EXCHANGES; i++) {
        rank->exchanged++;
        memcpy(rank->shared->line[rank->id].payload, &rank->exchanged, sizeof rank->exchanged);
        atomic_store_explicit(
                &rank->shared->line[rank->id].value, rank->exchanged, memory_order_release);
        while (atomic_load_explicit(&rank->shared->line[1 - rank->id].value, memory_order_acquire) <
                rank->exchanged) {
        }
    }
    return (now_ns() - begin) / EXCHANGES;
}

static void all_reduce(struct rank *rank)
{
    must((int)HcclAllReduce(rank->buffer, rank->buffer, FLOATS, HCCL_DATA_TYPE_FP32,
                 HCCL_REDUCE_SUM, rank->comm, rank->stream),
            "HcclAllReduce");
}

static void set_buffer(struct rank *rank, float value)
{
    for (int i = 0; i < FLOATS; i++) {
        rank->buffer[i] = value;
    }
}

/* Repetitions per round, so that a round takes milliseconds whatever the graph's size. */
static int repeats(int ops)
{
    return ops >= 2000 ? 3 : 6000 / ops < 400 ? 6000 / ops : 400;
}

static void measure_replay(struct rank *rank, int size, struct figures *figures, int round)
{
    const int count = repeats(op_counts[size]);
    double launch = 0.0;
    set_buffer(rank, 0.0f);
    barrier(rank);
    const double begin = now_ns();
    for (int i = 0; i < count; i++) {
        const double called = now_ns();
        must(aclmdlRIExecuteAsync(rank->graph[size], rank->stream), "aclmdlRIExecuteAsync");
        launch += now_ns() - called;
        must(aclrtSynchronizeStream(rank->stream), "aclrtSynchronizeStream");
    }
    figures->replay_ns[round] = (now_ns() - begin) / count;
    figures->cold_launch_ns[round] = launch / count;
}

/* Launches that follow each other: what the call itself costs. */
static void measure_launch(struct rank *rank, int size, struct figures *figures, int round)
{
    double sample[BURST * BURSTS];
    for (int burst = 0; burst < BURSTS; burst++) {
        barrier(rank);
        for (int i = 0; i < BURST; i++) {
            const double called = now_ns();
            must(aclmdlRIExecuteAsync(rank->graph[size], rank->stream), "aclmdlRIExecuteAsync");
            sample[burst * BURST + i] = now_ns() - called;
        }
        must(aclrtSynchronizeStream(rank->stream), "aclrtSynchronizeStream");
    }
    figures->launch_ns[round] = median(sample, BURST * BURSTS);
}

static void measure_eager(struct rank *rank, int size, struct figures *figures, int round)
{
    const int count = repeats(op_counts[size]);
    double launch = 0.0;
    set_buffer(rank, 0.0f);
    barrier(rank);
    const double begin = now_ns();
    for (int i = 0; i < count; i++) {
        const double called = now_ns();
        for (int op = 0; op < op_counts[size]; op++) {
            all_reduce(rank);
        }
        launch += now_ns() - called;
        must(aclrtSynchronizeStream(rank->stream), "aclrtSynchronizeStream");
    }
    figures->eager_ns[round] = (now_ns() - begin) / count;
    figures->eager_launch_ns[round] = launch / count;
}

static void capture(struct rank *rank, int ops, aclrtHostFunc last, aclmdlRI *graph)
{
    must(aclmdlRICaptureBegin(rank->stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), "CaptureBegin");
    for (int op = 0; op < ops; op++) {
        all_reduce(rank);
    }
    if (last != NULL) {
        must(aclrtLaunchHostFunc(rank->stream, last, rank), "aclrtLaunchHostFunc");
    }
    must(aclmdlRICaptureEnd(rank->stream, graph), "CaptureEnd");
}

static void take_stamp(void *arg)
{
    ((struct rank *)arg)->stamp = now_ns();
}

/* The caller launches and then computes for 3 ms; the runtime must take the work over. */
static double takeover_ns(struct rank *rank)
{
    static double sample[TAKEOVERS];
    for (int i = 0; i < TAKEOVERS; i++) {
        barrier(rank);
        const double begin = now_ns();
        must(aclmdlRIExecuteAsync(rank->takeover_graph, rank->stream), "aclmdlRIExecuteAsync");
        while (now_ns() < begin + 3e6) {
        }
        must(aclrtSynchronizeStream(rank->stream), "aclrtSynchronizeStream");
        sample[i] = rank->stamp - begin;
    }
    return median(sample, TAKEOVERS);
}

/* n in-place sums over two ranks multiply by 2^n: checked where that fits a float. */
static void check(struct rank *rank, int size)
{
    set_buffer(rank, 1.0f);
    must(aclmdlRIExecuteAsync(rank->graph[size], rank->stream), "aclmdlRIExecuteAsync");
    must(aclrtSynchronizeStream(rank->stream), "aclrtSynchronizeStream");
    float expected = 1.0f;
    for (int op = 0; op < op_counts[size]; op++) {
        expected *= 2.0f;
    }
    for (int i = 0; i < FLOATS; i++) {
        if (rank->buffer[i] != expected) {
            fprintf(stderr, "replay_latency: element %d is %g, not %g\n", i,
                    (double)rank->buffer[i], (double)expected);
            _exit(1);
        }
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
    void *buffer = NULL;
    must(aclrtMalloc(&buffer, FLOATS * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    rank->buffer = buffer;
    for (int size = 0; size < SIZES; size++) {
        capture(rank, op_counts[size], NULL, &rank->graph[size]);
    }
    capture(rank, 1, take_stamp, &rank->takeover_graph);
}

static void close_rank(struct rank *rank)
{
    for (int size = 0; size < SIZES; size++) {
        must(aclmdlRIDestroy(rank->graph[size]), "aclmdlRIDestroy");
    }
    must(aclmdlRIDestroy(rank->takeover_graph), "aclmdlRIDestroy");
    must(aclrtFree(rank->buffer), "aclrtFree");
    must(aclrtDestroyStream(rank->stream), "aclrtDestroyStream");
    must((int)HcclCommDestroy(rank->comm), "HcclCommDestroy");
    must(aclrtResetDevice(rank->id), "aclrtResetDevice");
    must(aclFinalize(), "aclFinalize");
}

static void print_table(struct figures *figures, double *floors, double takeover)
{
    const double floor = median(floors, ROUNDS * SIZES);
    printf("%7s %12s %12s %12s %12s %14s %16s %9s %9s\n", "ops", "launch (ns)", "after replay",
            "replay (ns)", "per op (ns)", "eager/op (ns)", "eager call (ns)", "x floor", "x eager");
    for (int size = 0; size < SIZES; size++) {
        const int ops = op_counts[size];
        const double replay = median(figures[size].replay_ns, ROUNDS);
        const double eager = median(figures[size].eager_ns, ROUNDS);
        printf("%7d %12.0f %12.0f %12.0f %12.1f %14.1f %16.1f %9.2f %9.2f\n", ops,
                median(figures[size].launch_ns, ROUNDS),
                median(figures[size].cold_launch_ns, ROUNDS), replay, replay / ops, eager / ops,
                median(figures[size].eager_launch_ns, ROUNDS) / ops, replay / ops / floor,
                replay / eager);
    }
    printf("\nfloor: one line each way between the two cores: %.1f ns\n", floor);
    printf("takeover: launch to done while the caller computes: %.1f us\n", takeover / 1e3);
}

static void run_rank(struct rank *rank)
{
    static struct figures figures[SIZES];
    static double floors[ROUNDS * SIZES];
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET((unsigned)rank->id, &core);
    if (sched_setaffinity(0, sizeof core, &core) != 0 && rank->id == 0) {
        printf("(ranks are not pinned: fewer than two cores may be used here)\n");
    }
    open_rank(rank);
    for (int size = 0; size < 3; size++) {
        check(rank, size);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int size = 0; size < SIZES; size++) {
            floors[round * SIZES + size] = floor_ns(rank);
            measure_launch(rank, size, &figures[size], round);
            measure_replay(rank, size, &figures[size], round);
            measure_eager(rank, size, &figures[size], round);
        }
    }
    const double takeover = takeover_ns(rank);
    if (rank->id == 0) {
        print_table(figures, floors, takeover);
    }
    close_rank(rank);
}

int main(int argc, char **argv)
{
    bench_args(argc, argv, 0,
            "usage: replay_latency\n"
            "What launching and replaying captured all-reduces of 32 bytes costs, per replay and\n"
            "per operator, against eager calls and the floor. Two ranks, on two cores.\n");
    struct shared *shared =
            mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("replay_latency: mmap");
        return 1;
    }
    for (int id = 0; id < RANKS; id++) {
        if (fork() == 0) {
            static struct rank rank;
            rank.shared = shared;
            rank.id = id;
            run_rank(&rank);
            fflush(stdout);
            _exit(0);
        }
    }
    int result = 0;
    for (int id = 0; id < RANKS; id++) {
        int status = 0;
        if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            result = 1;
        }
    }
    return result;
}
