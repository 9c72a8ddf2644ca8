/*
 * How fast the element kernels are on this machine: reductions on every
 * instruction set, streaming stores against ordinary ones, and copies against
 * memcpy() at two alignments. Bandwidth counts bytes read and written.
 *
 *   kernels_bench [CORE]     pins itself to CORE (default 0)
 *
 * The crossovers in kernels/copy.h and kernels/reduce.h come from here.
 */

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "bench_args.h"
#include "kernels/copy.h"
#include "kernels/reduce.h"

#define RUNS 9
#define RANKS_MAX 8
#define POOL_BYTES ((size_t)1152 << 20)
#define BYTES_PER_RUN ((size_t)8 << 20) // a run repeats small sizes until it has moved this much

static uint8_t *pool;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

// What is measured: one call, repeatable.
struct work {
    void (*call)(const struct work *w);
    const struct rp_reduce_impl *impl;
    enum rp_dtype dtype;
    unsigned src_count;
    unsigned dst_count;
    size_t bytes; // of one array
    void *dsts[RANKS_MAX];
    const void *srcs[RANKS_MAX];
};

struct figure {
    double min_ns;
    double median_ns;
};

static struct figure measure(const struct work *w)
{
    const size_t moved = w->bytes * (w->src_count + w->dst_count);
    const size_t repeats = BYTES_PER_RUN / moved + 1;
    double ns[RUNS];

    w->call(w); // warm-up
    for (size_t run = 0; run < RUNS; run++) {
        const uint64_t start = now_ns();
        for (size_t i = 0; i < repeats; i++) {
            w->call(w);
        }
        ns[run] = (double)(now_ns() - start) / (double)repeats;
    }
    qsort(ns, RUNS, sizeof ns[0], by_value);
    return (struct figure){ ns[0], ns[RUNS / 2] };
}

static void report(const struct work *w, const char *what)
{
    const struct figure f = measure(w);
    const double moved = (double)(w->bytes * (w->src_count + w->dst_count));

    printf("%-14s %u -> %u  %9zu B  min %11.1f ns  median %11.1f ns  %6.1f GB/s\n", what,
            w->src_count, w->dst_count, w->bytes, f.min_ns, f.median_ns, moved / f.median_ns);
}

// Arrays one after the other, each at the start of a page plus `shift` bytes for destinations.
static void place(struct work *w, size_t shift)
{
    const size_t pitch = (w->bytes + 8191) / 4096 * 4096;
    uint8_t *at = pool;

    for (unsigned s = 0; s < w->src_count; s++, at += pitch) {
        w->srcs[s] = at;
    }
    for (unsigned d = 0; d < w->dst_count; d++, at += pitch) {
        w->dsts[d] = at + shift;
    }
}

static void call_reduce(const struct work *w)
{
    rp_reduce(w->impl, w->dtype, RP_REDUCE_SUM, w->dsts, w->dst_count, w->srcs, w->src_count,
            w->bytes / rp_dtype_bytes(w->dtype));
}

static void call_reduce_stream(const struct work *w)
{
    rp_reduce_stream(w->impl, w->dtype, RP_REDUCE_SUM, w->dsts, w->dst_count, w->srcs, w->src_count,
            w->bytes / rp_dtype_bytes(w->dtype));
}

static void call_copy(const struct work *w)
{
    rp_copy(w->dsts[0], w->srcs[0], w->bytes);
}

static void call_copy_stream(const struct work *w)
{
    rp_copy_stream(w->dsts[0], w->srcs[0], w->bytes);
}

static void call_memcpy(const struct work *w)
{
    memcpy(w->dsts[0], w->srcs[0], w->bytes);
}

static void bench_isa(const struct rp_reduce_impl *impl)
{
    static const struct {
        enum rp_dtype dtype;
        const char *name;
    } types[] = { { RP_DTYPE_FP32, "fp32" }, { RP_DTYPE_BFP16, "bf16" }, { RP_DTYPE_FP16, "fp16" },
        { RP_DTYPE_INT8, "int8" } };
    static const unsigned src_counts[] = { 2, 4, 8 };
    static const size_t sizes[] = { 32, 4096, 65536, 1 << 20 };

    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        for (size_t n = 0; n < sizeof src_counts / sizeof src_counts[0]; n++) {
            for (size_t b = 0; b < sizeof sizes / sizeof sizes[0]; b++) {
                struct work w = { .call = call_reduce,
                    .impl = impl,
                    .dtype = types[t].dtype,
                    .src_count = src_counts[n],
                    .dst_count = 1,
                    .bytes = sizes[b] };
                char what[32];
                place(&w, 0);
                snprintf(what, sizeof what, "%s %s", impl->isa, types[t].name);
                report(&w, what);
            }
        }
    }
}

// A zero-copy all-reduce writes every rank's output: as many destinations as sources.
static void bench_streaming(const struct rp_reduce_impl *impl)
{
    static const size_t sizes[] = { 1 << 20, 4 << 20, 16 << 20, 64 << 20 };

    for (unsigned ranks = 2; ranks <= RANKS_MAX; ranks *= 2) {
        for (size_t b = 0; b < sizeof sizes / sizeof sizes[0]; b++) {
            struct work w = { .call = call_reduce,
                .impl = impl,
                .dtype = RP_DTYPE_FP32,
                .src_count = ranks,
                .dst_count = ranks,
                .bytes = sizes[b] };
            place(&w, 0);
            report(&w, "fp32 cached");
            w.call = call_reduce_stream;
            report(&w, "fp32 streamed");
        }
    }
}

static void bench_copies(void)
{
    static const size_t sizes[] = { 40, 512, 4096, 32768, 1 << 20, 8 << 20, 64 << 20 };
    static const struct {
        void (*call)(const struct work *w);
        const char *name;
    } calls[] = { { call_memcpy, "memcpy" }, { call_copy, "copy" },
        { call_copy_stream, "stream" } };

    for (size_t b = 0; b < sizeof sizes / sizeof sizes[0]; b++) {
        for (size_t shift = 0; shift <= 8; shift += 8) {
            for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
                struct work w = {
                    .call = calls[c].call, .src_count = 1, .dst_count = 1, .bytes = sizes[b]
                };
                char what[32];
                place(&w, shift);
                snprintf(what, sizeof what, "%s +%zu", calls[c].name, shift);
                report(&w, what);
            }
        }
    }
}

// Ordinary numbers in every type that is measured. Not zeros: a line of zeros that is written over
// zeros never leaves some processors, which doubles what streaming stores seem to give.
static void fill_pool(void)
{
    for (size_t at = 0; at < POOL_BYTES; at += sizeof(uint16_t)) {
        const uint16_t half = (uint16_t)(0x3c00 | (at >> 1 & 0x7f));
        memcpy(pool + at, &half, sizeof half);
    }
}

static void pin(int core)
{
    cpu_set_t cores;

    CPU_ZERO(&cores);
    CPU_SET((size_t)core, &cores);
    if (sched_setaffinity(0, sizeof cores, &cores) != 0) {
        printf("not pinned: core %d is not ours\n", core);
    }
}

int main(int argc, char **argv)
{
    struct rp_cpu cpu;

    bench_args(argc, argv, 1,
            "usage: kernels_bench [CORE]\n"
            "How fast sums and copies are on this machine, by instruction set and size.\n"
            "  CORE  the core to run on; without it 0\n");
    pin((int)bench_number(argc, argv, 1, 0, 0, CPU_SETSIZE - 1));
    pool = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pool == MAP_FAILED) {
        fprintf(stderr, "kernels_bench: no memory for %zu bytes\n", POOL_BYTES);
        return 1;
    }
    madvise(pool, POOL_BYTES, MADV_HUGEPAGE);
    fill_pool();
    rp_cpu_detect(&cpu);
    printf("sums: sources -> destinations, bytes of one array\n");
    for (size_t i = 0; rp_reduce_impls[i] != NULL; i++) {
        if (rp_reduce_impls[i]->usable(&cpu)) {
            bench_isa(rp_reduce_impls[i]);
        }
    }
    printf("\nstores around the caches, %s\n", rp_reduce_select("auto")->isa);
    bench_streaming(rp_reduce_select("auto"));
    printf("\ncopies, destination at a page or 8 bytes after one\n");
    bench_copies();
    munmap(pool, POOL_BYTES);
    return 0;
}
