// The interpreter of HOST_TS lists, on lists made by hand: each base, each task, rounds and tails.
// What the product's own lists do is tested where they are made.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "replay/collective.h"
#include "replay/scheduler.h"
#include "support/local_ranks.h"

static struct local_ranks ranks;

static void open_ranks(uint32_t size)
{
    local_env("auto");
    local_ranks_open(&ranks, size);
}

static struct rp_task_list *new_list(uint64_t round_count, uint32_t tasks)
{
    struct rp_task_list *list = calloc(1, sizeof(*list) + tasks * sizeof(list->task[0]));
    list->round_count = round_count;
    return list;
}

static void add(struct rp_task_list *list, struct rp_ht_task task)
{
    list->task[list->task_count++] = task;
}

static struct rp_ht_addr at(enum rp_ht_base base, uint32_t block, uint64_t off)
{
    return (struct rp_ht_addr){ .base = (uint8_t)base, .block = block, .off = off };
}

/*
 * One round of `count` elements of `bytes` bytes each: everybody puts its input into everybody's
 * window-in, at its own rank's place, and signals. Then either the blocks are copied out (a
 * gather) or folded in rank order. A second signal says that the window is free again.
 */
static struct rp_task_list *exchange(
        uint32_t rank, uint32_t size, uint64_t count, uint64_t bytes, bool folds)
{
    const uint64_t block = count * bytes;
    struct rp_task_list *list = new_list(count, 5 * size);
    for (uint32_t q = 0; q < size; q++) {
        if (q != rank) {
            add(list, (struct rp_ht_task){ .kind = RP_HT_PUT,
                              .peer = q,
                              .bytes = block,
                              .src = at(RP_HT_SEND, 0, 0),
                              .dst = at(RP_HT_WIN_IN, 0, rank * block) });
            add(list, (struct rp_ht_task){ .kind = RP_HT_SIGNAL, .peer = q });
        }
    }
    for (uint32_t q = 0; q < size; q++) {
        if (q != rank) {
            add(list, (struct rp_ht_task){ .kind = RP_HT_WAIT, .peer = q });
        }
    }
    if (folds) { // by way of window-out, to have that base too
        add(list, (struct rp_ht_task){ .kind = RP_HT_REDUCE,
                          .bytes = block,
                          .src = at(RP_HT_SEND, 0, 0),
                          .dst = at(RP_HT_WIN_OUT, 0, 64),
                          .fold_count = (uint16_t)size,
                          .fold_own = (uint16_t)rank,
                          .fold_step = (uint32_t)block });
        add(list, (struct rp_ht_task){ .kind = RP_HT_COPY,
                          .bytes = block,
                          .src = at(RP_HT_WIN_OUT, 0, 64),
                          .dst = at(RP_HT_RECV, 0, 0) });
    } else {
        for (uint32_t q = 0; q < size; q++) {
            add(list, (struct rp_ht_task){ .kind = RP_HT_COPY,
                              .bytes = block,
                              .src = q == rank ? at(RP_HT_SEND, 0, 0)
                                               : at(RP_HT_WIN_IN, 0, q * block),
                              .dst = at(RP_HT_RECV, q, 0) });
        }
    }
    for (uint32_t q = 0; q < size; q++) {
        if (q != rank) {
            add(list, (struct rp_ht_task){ .kind = RP_HT_SIGNAL, .peer = q });
        }
    }
    for (uint32_t q = 0; q < size; q++) {
        if (q != rank) {
            add(list, (struct rp_ht_task){ .kind = RP_HT_WAIT, .peer = q });
        }
    }
    return list;
}

// An op of `count` elements in rounds of `round_count`; its lists are the caller's to free.
static struct rp_op host_ts_op(const struct local_rank *rank, enum rp_op_kind kind,
        const void *send, void *recv, uint64_t count, uint64_t round_count)
{
    const uint32_t r = rank->comm->rank;
    const uint32_t size = rank->comm->size;
    const bool folds = kind == RP_OP_ALL_REDUCE;
    struct rp_op op = { .comm = rank->comm, .send = send, .recv = recv };
    op.record = (struct rp_record){
        .count = count,
        .op = (uint16_t)kind,
        .dtype = RP_DTYPE_INT32,
        .expansion = RP_EXPANSION_HOST_TS,
        .algorithm = RP_ALGORITHM_MESH,
        .buffer_class = RP_CLASS_STAGED,
    };
    op.record.digest = rp_record_digest(&op.record);
    if (count >= round_count) {
        op.list = exchange(r, size, round_count, sizeof(int32_t), folds);
    }
    if (count % round_count != 0) {
        op.tail = exchange(r, size, count % round_count, sizeof(int32_t), folds);
    }
    return op;
}

static void free_lists(struct rp_op *op)
{
    free((void *)op->list);
    free((void *)op->tail);
}

static int32_t value(uint32_t rank, uint64_t i, int round)
{
    return (int32_t)(rank * 1000003 + i * 7 + (uint64_t)round);
}

enum { ROUND_COUNT = 4000 };

// 0, 1 and around one and two rounds; the last is several budgets a task.
static const uint64_t counts[] = { 1, 3999, 4000, 4001, 7999, 8000, 8001, 100003 };

static void gather(struct local_rank *rank, void *arg)
{
    (void)arg;
    const uint32_t size = rank->comm->size;
    int32_t *send = malloc(100003 * sizeof(*send)); // any memory will do
    int32_t *recv = malloc(size * 100003 * sizeof(*recv));
    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        const uint64_t count = counts[k];
        struct rp_op op = host_ts_op(rank, RP_OP_ALL_GATHER, send, recv, count, ROUND_COUNT);
        for (int round = 0; round < 3; round++) {
            for (uint64_t i = 0; i < count; i++) {
                send[i] = value(rank->comm->rank, i, round);
            }
            memset(recv, 0xff, size * count * sizeof(*recv));
            local_run_op(rank->stream, &op);
            cr_assert(eq(int, local_drained(rank->stream, 20), RP_OK));
            for (uint32_t q = 0; q < size; q++) {
                for (uint64_t i = 0; i < count; i++) {
                    cr_assert(eq(i32, recv[q * count + i], value(q, i, round)));
                }
            }
        }
        free_lists(&op);
    }
    free(send);
    free(recv);
}

static void reduce(struct local_rank *rank, void *arg)
{
    (void)arg;
    const uint32_t size = rank->comm->size;
    int32_t *data = malloc(100003 * sizeof(*data)); // in place
    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        const uint64_t count = counts[k];
        struct rp_op op = host_ts_op(rank, RP_OP_ALL_REDUCE, data, data, count, ROUND_COUNT);
        for (int round = 0; round < 3; round++) {
            for (uint64_t i = 0; i < count; i++) {
                data[i] = value(rank->comm->rank, i, round);
            }
            local_run_op(rank->stream, &op);
            cr_assert(eq(int, local_drained(rank->stream, 20), RP_OK));
            for (uint64_t i = 0; i < count; i++) {
                int32_t sum = 0;
                for (uint32_t q = 0; q < size; q++) {
                    sum += value(q, i, round);
                }
                cr_assert(eq(i32, data[i], sum));
            }
        }
        free_lists(&op);
    }
    free(data);
}

#define OVER_RANKS(name, fn, size)                      \
    Test(host_ts, name##_##size##_ranks, .timeout = 60) \
    {                                                   \
        open_ranks(size);                               \
        local_each_rank(&ranks, fn, NULL);              \
        local_ranks_close(&ranks);                      \
    }
OVER_RANKS(gathers_over, gather, 1)
OVER_RANKS(gathers_over, gather, 2)
OVER_RANKS(gathers_over, gather, 3)
OVER_RANKS(gathers_over, gather, 5)
OVER_RANKS(reduces_over, reduce, 1)
OVER_RANKS(reduces_over, reduce, 2)
OVER_RANKS(reduces_over, reduce, 3)
OVER_RANKS(reduces_over, reduce, 8)

// The two expansions share turns and sequence numbers.
static void mix(struct local_rank *rank, void *arg)
{
    (void)arg;
    float *data = local_alloc(rank, 4096);
    int32_t *words = local_alloc(rank, 4096);
    struct rp_op host = host_ts_op(rank, RP_OP_ALL_REDUCE, words, words, 10, ROUND_COUNT);
    const struct rp_op aiv = local_all_reduce(rank, data, data, 10);
    data[9] = 1;
    words[9] = 1;
    for (int i = 0; i < 20; i++) {
        local_run_op(rank->stream, i % 3 == 0 ? &host : &aiv);
    }
    cr_assert(eq(int, local_drained(rank->stream, 20), RP_OK));
    cr_assert(eq(i32, words[9], 1 << 7));
    cr_assert(eq(flt, data[9], 1 << 13));
    free_lists(&host);
}
OVER_RANKS(mixes_with_aiv_over, mix, 2)

// Rank 1's list belongs to another call. The signals pair, so only the digests can tell.
static void differ(struct local_rank *rank, void *arg)
{
    (void)arg;
    int32_t *data = local_alloc(rank, 4096);
    memset(data, 0x11, 4096);
    const uint64_t count = rank->comm->rank == 1 ? 101 : 100;
    struct rp_op op = host_ts_op(rank, RP_OP_ALL_REDUCE, data, data, count, ROUND_COUNT);
    local_run_op(rank->stream, &op);
    cr_assert(eq(int, local_drained(rank->stream, 20), RP_EMISMATCH));
    const char *text = rp_error_take();
    if (strstr(text, "gave up") == NULL) {
        cr_assert(ne(ptr, strstr(text, "count 100"), NULL), "%s", text);
        cr_assert(ne(ptr, strstr(text, "count 101"), NULL), "%s", text);
    }
    cr_assert(eq(i32, data[0], 0x11111111), "nothing was stored");
    free_lists(&op);
}
OVER_RANKS(names_both_calls_over, differ, 2)
OVER_RANKS(names_both_calls_over, differ, 3)

// Nobody signals, so no wait is ever taken: the standstill itself is looked into.
static void differ_silently(struct local_rank *rank, void *arg)
{
    (void)arg;
    int32_t *data = local_alloc(rank, 4096);
    struct rp_task_list *list = new_list(0, 1);
    add(list, (struct rp_ht_task){ .kind = RP_HT_WAIT, .peer = 1 - rank->comm->rank });
    struct rp_op op = host_ts_op(rank, RP_OP_ALL_REDUCE, data, data, ROUND_COUNT, ROUND_COUNT);
    free_lists(&op);
    op.list = list;
    op.tail = NULL;
    op.record.count += rank->comm->rank;
    op.record.digest = rp_record_digest(&op.record);
    const uint64_t begin_ns = rp_now_ns();
    local_run_op(rank->stream, &op);
    cr_assert(eq(int, local_drained(rank->stream, 20), RP_EMISMATCH));
    cr_assert(lt(u64, rp_now_ns() - begin_ns, 5 * RP_NS_PER_S));
    free(list);
}
OVER_RANKS(compares_records_in_a_standstill_over, differ_silently, 2)

// A peer that dies in the middle of its list is named, not waited for.
Test(host_ts, names_the_peer_that_died, .timeout = 30)
{
    open_ranks(2);
    struct local_rank *rank = &ranks.rank[0];
    int32_t *data[2] = { local_alloc(rank, 4096), local_alloc(&ranks.rank[1], 4096) };
    struct rp_op op = host_ts_op(rank, RP_OP_ALL_REDUCE, data[0], data[0], 100, ROUND_COUNT);
    struct rp_op dead =
            host_ts_op(&ranks.rank[1], RP_OP_ALL_REDUCE, data[1], data[1], 100, ROUND_COUNT);
    dead.list = NULL; // arrives, then goes no further than a wait
    struct rp_task_list *stuck = new_list(0, 2);
    add(stuck, (struct rp_ht_task){ .kind = RP_HT_WAIT, .peer = 0 });
    add(stuck, (struct rp_ht_task){ .kind = RP_HT_WAIT, .peer = 0 });
    struct rp_task_list *tail = (struct rp_task_list *)dead.tail;
    dead.list = stuck;
    dead.tail = NULL;
    local_run_op(ranks.rank[1].stream, &dead);
    local_run_op(rank->stream, &op);
    cr_assert(eq(int, rp_stream_drain(rank->stream, 20 * RP_NS_PER_MS), RP_ESYNCTIMEOUT));
    rp_device_enter(rank->device);
    atomic_store(&rank->comm->lines.peer[1].gone, 1);
    rp_device_leave(rank->device);
    (void)rp_error_take();
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_EREMOTE));
    cr_assert(ne(ptr, strstr(rp_error_take(), "rank 1 has died"), NULL));
    local_ranks_close(&ranks);
    free_lists(&op);
    free(stuck);
    free(tail);
}

// A step of a few bytes at a time gives the same result as one that has no bound.
Test(host_ts, goes_on_wherever_its_budget_ended, .timeout = 30)
{
    open_ranks(1);
    struct local_rank *rank = &ranks.rank[0];
    for (uint64_t budget = 1; budget < 300; budget += 7) {
        int32_t send[40], recv[40];
        for (int i = 0; i < 40; i++) {
            send[i] = i * i;
            recv[i] = -1;
        }
        struct rp_op op = host_ts_op(rank, RP_OP_ALL_REDUCE, send, recv, 40, 16);
        struct rp_hts_run run = { 0 };
        rp_status st = RP_AGAIN;
        int steps = 0;
        rp_device_enter(rank->device);
        cr_assert(eq(int, rp_lines_announce(&rank->comm->lines, &op.record, NULL, 0), RP_OK));
        const uint64_t seq = rank->comm->lines.announced;
        for (; st == RP_AGAIN && steps < 10000; steps++) {
            bool moved;
            st = rp_hts_step(&run, &op, seq, rank->device->reduce, budget, &moved);
            cr_assert(moved);
        }
        rp_lines_finish(&rank->comm->lines, seq);
        rp_lines_complete(&rank->comm->lines, seq);
        rp_device_leave(rank->device);
        cr_assert(eq(int, st, RP_OK));
        cr_assert(eq(int, memcmp(send, recv, sizeof(send)), 0), "budget %d", (int)budget);
        cr_assert(eq(u64, run.round, 3));
        if (budget < 16) {
            cr_assert(gt(int, steps, 20));
        }
        free_lists(&op);
    }
    local_ranks_close(&ranks);
}
