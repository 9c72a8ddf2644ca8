// The line protocol and the AIV forms below the API: two ranks as pinned threads of one process,
// against the floor, an exchange of one cache line each way with the same fold. Time per operation
// in a back-to-back loop, minimum and median over rounds.
//
//     kernels_lines [ranks [tiny]]    default 2; rank r is pinned to core r mod cores
//
// With "tiny" it stops after the tiny ops.

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "bench_args.h"
#include "tests/support/fake_comm.h"

#define ROUNDS 31
#define ROUND_NS (3 * RP_NS_PER_MS)
#define ARENA_BYTES (96u << 20)
#define WINDOW_BYTES (1u << 20)
#define FLOOR_FLOATS 8

enum form {
    FORM_FLOOR,
    FORM_TINY,
    FORM_SMALL,
    FORM_ZERO_COPY,
    FORM_STAGED,
};
static const char *const form_names[] = { "floor", "tiny", "small", "zero copy", "staged" };

struct job {
    enum form form;
    enum rp_op_kind op;
    uint64_t bytes; // of one rank's send buffer
    uint64_t loops;
    double ns; // of one operation, the slowest rank's; written by rank 0 after a barrier
    pthread_barrier_t together;
};

struct floor_line {
    _Alignas(RP_CACHELINE) _Atomic uint64_t arrived;
    float payload[FLOOR_FLOATS];
};
static struct floor_line floor_lines[FAKE_RANKS_MAX][2];
static double rank_ns[FAKE_RANKS_MAX];

static void pin(uint32_t rank)
{
    cpu_set_t all;
    cpu_set_t one;
    if (sched_getaffinity(0, sizeof(all), &all) != 0) {
        return;
    }
    int skip = (int)rank % CPU_COUNT(&all);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all) && skip-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof(one), &one);
            return;
        }
    }
}

static void pause_or_yield(unsigned *spins)
{
    if (++*spins % 64 == 0) {
        sched_yield();
    } else {
        rp_cpu_pause();
    }
}

static void run_floor(const struct fake_comm *comm, uint32_t rank, uint64_t loops)
{
    float sum[FLOOR_FLOATS] = { 0 };
    unsigned spins = 0;
    // relaxed: own line.
    const uint64_t base =
            rp_max_u64(atomic_load_explicit(&floor_lines[rank][0].arrived, memory_order_relaxed),
                    atomic_load_explicit(&floor_lines[rank][1].arrived, memory_order_relaxed));
    for (uint64_t k = base + 1; k <= base + loops; k++) {
        struct floor_line *own = &floor_lines[rank][k % 2];
        for (unsigned i = 0; i < FLOOR_FLOATS; i++) {
            own->payload[i] = sum[i] * 0.5f + 1.0f;
        }
        // release: pairs with the loads below.
        atomic_store_explicit(&own->arrived, k, memory_order_release);
        memset(sum, 0, sizeof(sum));
        for (uint32_t q = 0; q < comm->ranks; q++) {
            const struct floor_line *line = &floor_lines[q][k % 2];
            // acquire: pairs with the store above.
            while (atomic_load_explicit(&line->arrived, memory_order_acquire) < k) {
                pause_or_yield(&spins);
            }
            for (unsigned i = 0; i < FLOOR_FLOATS; i++) {
                sum[i] += line->payload[i];
            }
        }
    }
}

static void run_op(struct fake_comm *comm, uint32_t rank, const struct job *job)
{
    uint8_t *arena = fake_comm_arena(comm, rank);
    const uint64_t count = job->bytes / sizeof(float);
    const struct fake_call call = {
        .record = { .op = (uint16_t)job->op,
                .dtype = RP_DTYPE_FP32,
                .count = job->op == RP_OP_REDUCE_SCATTER ? count / comm->ranks : count },
        .send = arena,
        .recv = arena + ARENA_BYTES / 2,
        .staged = job->form == FORM_STAGED,
    };
    const struct rp_record record = fake_call_record(comm, rank, &call);
    struct rp_lines lines = comm->lines[rank]; // in the array two ranks would share a cache line
    unsigned spins = 0;
    for (uint64_t i = 0; i < job->loops; i++) {
        struct rp_aiv_op op;
        bool progress = false;
        rp_status st = RP_OK;
        rp_aiv_begin(&op, &lines, comm->reduce, &comm->tuning, &record, call.send, call.recv);
        while ((st = rp_aiv_step(&op, 256u << 10, &progress)) == RP_AGAIN) {
            if (!progress) {
                pause_or_yield(&spins);
            }
        }
        while (st == RP_OK && (st = rp_aiv_complete(&op)) == RP_AGAIN) {
            pause_or_yield(&spins);
            st = RP_OK;
        }
        if (st != RP_OK) {
            fprintf(stderr, "rank %u: %s\n", rank, rp_status_name(st));
            exit(1);
        }
    }
    rp_lines_flush(&lines);
    comm->lines[rank] = lines;
}

static bool run_round(struct fake_comm *comm, uint32_t rank, void *arg)
{
    struct job *job = arg;
    pin(rank);
    pthread_barrier_wait(&job->together);
    const uint64_t start_ns = rp_now_ns();
    if (job->form == FORM_FLOOR) {
        run_floor(comm, rank, job->loops);
    } else {
        run_op(comm, rank, job);
    }
    rank_ns[rank] = (double)(rp_now_ns() - start_ns) / (double)job->loops;
    pthread_barrier_wait(&job->together);
    if (rank == 0) {
        job->ns = 0;
        for (uint32_t q = 0; q < comm->ranks; q++) {
            job->ns = rank_ns[q] > job->ns ? rank_ns[q] : job->ns;
        }
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void set_form(struct fake_comm *comm, enum form form)
{
    comm->tuning.tiny_bytes = form == FORM_TINY ? RP_LINE_PAYLOAD_BYTES : 0;
    comm->tuning.small_bytes = form == FORM_SMALL ? RP_SLOT_BYTES : 0;
}

static void measure(struct fake_comm *comm, enum form form, enum rp_op_kind op, uint64_t bytes)
{
    struct job job = { .form = form, .op = op, .bytes = bytes, .loops = 3 };
    double ns[ROUNDS];
    pthread_barrier_init(&job.together, NULL, comm->ranks);
    set_form(comm, form);
    for (unsigned warm = 0; warm < 4; warm++) {
        fake_comm_run(comm, FAKE_THREADS, 60, run_round, &job);
        job.loops = (uint64_t)((double)ROUND_NS / job.ns) + 1;
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        fake_comm_run(comm, FAKE_THREADS, 60, run_round, &job);
        ns[round] = job.ns;
    }
    qsort(ns, ROUNDS, sizeof(ns[0]), compare);
    printf("%-14s %-10s %10llu B  min %12.1f ns  median %12.1f ns\n",
            form == FORM_FLOOR ? "line" : rp_op_kind_name(op), form_names[form],
            (unsigned long long)bytes, ns[0], ns[ROUNDS / 2]);
    fflush(stdout);
    pthread_barrier_destroy(&job.together);
}

static void measure_sizes(struct fake_comm *comm)
{
    static const uint64_t sizes[] = { 64, 512, 2u << 10, 4u << 10, 8u << 10, 16u << 10, 32u << 10,
        64u << 10, 256u << 10, 2u << 20, 16u << 20, 40u << 20 };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(sizes); i++) {
        if (sizes[i] <= RP_SLOT_BYTES) {
            measure(comm, FORM_SMALL, RP_OP_ALL_REDUCE, sizes[i]);
        }
        measure(comm, FORM_ZERO_COPY, RP_OP_ALL_REDUCE, sizes[i]);
        measure(comm, FORM_STAGED, RP_OP_ALL_REDUCE, sizes[i]);
    }
    for (size_t i = 5; i < 10; i++) {
        measure(comm, FORM_ZERO_COPY, RP_OP_REDUCE_SCATTER, sizes[i]);
        measure(comm, FORM_ZERO_COPY, RP_OP_ALL_GATHER, sizes[i]);
        measure(comm, FORM_ZERO_COPY, RP_OP_BROADCAST, sizes[i]);
    }
}

int main(int argc, char **argv)
{
    bench_args(argc, argv, 2,
            "usage: kernels_lines [RANKS [tiny]]\n"
            "What one operation of the AIV kernels costs below the API, by form and size.\n"
            "  RANKS  threads, one a rank; without it 2\n"
            "  tiny   stop after the tiny operations\n");
    const uint32_t ranks = (uint32_t)bench_number(argc, argv, 1, 2, 1, FAKE_RANKS_MAX);
    if (argc > 2 && strcmp(argv[2], "tiny") != 0) {
        fprintf(stderr, "kernels_lines: unknown argument '%s'; see --help\n", argv[2]);
        return 2;
    }
    struct fake_comm *comm = fake_comm_create(ranks, ARENA_BYTES, WINDOW_BYTES);
    printf("ranks %u, %s\n", ranks, comm->reduce->isa);
    measure(comm, FORM_FLOOR, RP_OP_BARRIER, FLOOR_FLOATS * sizeof(float));
    measure(comm, FORM_TINY, RP_OP_BARRIER, 0);
    measure(comm, FORM_TINY, RP_OP_ALL_REDUCE, 8);
    measure(comm, FORM_TINY, RP_OP_ALL_REDUCE, 32);
    measure(comm, FORM_TINY, RP_OP_ALL_GATHER, 32);
    measure(comm, FORM_TINY, RP_OP_BROADCAST, 32);
    if (argc < 3) {
        measure_sizes(comm);
    }
    fake_comm_destroy(comm);
    return 0;
}
