// Threads as ranks, for ThreadSanitizer: whatever the line protocol orders is plain memory, so an
// access that it does not order is a race. A plain program; it says what went wrong and returns 1.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/util.h"
#include "support/aiv_case.h"
#include "support/aiv_end.h"

#define TIMEOUT_S 120
#define LARGEST_COUNT 20000

static const uint32_t rank_counts[] = { 2, 3, 5 };

static bool expect(bool ok, const char *what, unsigned detail)
{
    if (!ok) {
        fprintf(stderr, "race_lines: %s, %u\n", what, detail);
    }
    return ok;
}

struct sequence {
    struct aiv_case item[400];
    size_t count;
};

static bool run_sequence(struct fake_comm *comm, uint32_t rank, void *arg)
{
    const struct sequence *sequence = arg;
    for (size_t i = 0; i < sequence->count; i++) {
        if (!aiv_case_run(comm, rank, &sequence->item[i])) {
            return false;
        }
    }
    return true;
}

// Every operator in every form, in random order, so that each form's memory is used again by each.
static bool any_ops_in_any_order(uint32_t ranks)
{
    static const size_t counts[] = { 0, 1, 10, 11, 500, 500, 9000, LARGEST_COUNT };
    static struct sequence sequence;
    unsigned seed = ranks;
    sequence.count = RP_ARRAY_LENGTH(sequence.item);
    for (size_t i = 0; i < sequence.count; i++) {
        sequence.item[i] = (struct aiv_case){
            .call = {
                .op = (enum oracle_op)((unsigned)rand_r(&seed) % ORACLE_OPS),
                .dtype = i % 2 == 0 ? RP_DTYPE_FP32 : RP_DTYPE_INT16,
                .count = counts[(unsigned)rand_r(&seed) % RP_ARRAY_LENGTH(counts)],
                .root = (unsigned)rand_r(&seed) % ranks,
                .ranks = ranks,
            },
            .in_place = rand_r(&seed) % 2 != 0,
            .staged = rand_r(&seed) % 3 == 0 ? 1 : 0,
            .seed = i,
        };
        aiv_case_expect(&sequence.item[i]);
    }
    struct fake_comm *comm = fake_comm_create(
            ranks, aiv_case_arena_bytes(ranks * LARGEST_COUNT * sizeof(float)), 16384);
    const bool ok = fake_comm_run(comm, FAKE_THREADS, TIMEOUT_S, run_sequence, &sequence);
    for (size_t i = 0; i < sequence.count; i++) {
        aiv_case_free(&sequence.item[i]);
    }
    fake_comm_destroy(comm);
    return ok;
}

static struct fake_call tiny_all_reduce(const struct fake_comm *comm, uint32_t rank)
{
    uint8_t *arena = fake_comm_arena(comm, rank);
    return (struct fake_call){
        .record = { .op = RP_OP_ALL_REDUCE, .dtype = RP_DTYPE_INT32, .count = 4 },
        .send = arena,
        .recv = arena + 64,
    };
}

static bool run_and_leave(struct fake_comm *comm, uint32_t rank, void *arg)
{
    const unsigned ops = *(const unsigned *)arg;
    const struct fake_call call = tiny_all_reduce(comm, rank);
    for (unsigned i = 0; i < ops; i++) {
        if (fake_comm_call(comm, rank, &call) != RP_OK) {
            return false;
        }
    }
    rp_lines_leave(&comm->lines[rank]);
    return true;
}

// A rank leaves right after its last op, while the others are still looking for its counters.
static bool leaving_is_no_failure(void)
{
    for (unsigned i = 0; i < 400; i++) {
        unsigned ops = 1 + i % 3;
        struct fake_comm *comm = fake_comm_create(3, 4096, 4096);
        const bool ok = fake_comm_run(comm, FAKE_THREADS, TIMEOUT_S, run_and_leave, &ops);
        fake_comm_destroy(comm);
        if (!ok) {
            return false;
        }
    }
    return true;
}

#define SLEEPS 3000

// Sleeps whenever an op has to wait, as the device's thread does, with a backstop so long that a
// lost ring shows.
static bool run_asleep(struct fake_comm *comm, uint32_t rank, void *arg)
{
    (void)arg;
    const struct fake_call call = tiny_all_reduce(comm, rank);
    const struct rp_record record = fake_call_record(comm, rank, &call);
    const struct rp_doorbell_end *bell = &comm->bell[rank];
    for (unsigned i = 0; i < SLEEPS; i++) {
        struct rp_aiv_op op;
        struct rp_sleep sleep;
        bool progress = false;
        rp_aiv_begin(&op, &comm->lines[rank], comm->reduce, &comm->tuning, &record, call.send,
                call.recv);
        while (rp_aiv_step(&op, 4096, &progress) == RP_AGAIN) {
            rp_doorbell_prepare(bell, &sleep);
            const rp_status st = rp_aiv_step(&op, 4096, &progress);
            if (st != RP_AGAIN) {
                rp_doorbell_cancel(bell, &sleep);
                break;
            }
            const uint64_t before_ns = rp_now_ns();
            rp_doorbell_wait(bell, &sleep, 10 * RP_NS_PER_S);
            if (rp_now_ns() - before_ns > 9 * RP_NS_PER_S) {
                fprintf(stderr, "race_lines: rank %u was not woken, op %u\n", rank, i);
                return false;
            }
        }
        rp_lines_flush(&comm->lines[rank]);
    }
    return true;
}

static bool sleeping_ranks_are_woken(uint32_t ranks)
{
    struct fake_comm *comm = fake_comm_create(ranks, 4096, 4096);
    const bool ok = fake_comm_run(comm, FAKE_THREADS, TIMEOUT_S, run_asleep, NULL);
    fake_comm_destroy(comm);
    return ok;
}

#define HELD_COUNT 60000

// Rank 0 gives up in the middle of a zero-copy op and its user overwrites everything as soon as it
// is released: the others' reads and writes of its memory must all be before that.
static bool run_and_overwrite(struct fake_comm *comm, uint32_t rank, void *arg)
{
    const unsigned pieces = *(const unsigned *)arg;
    uint8_t *arena = fake_comm_arena(comm, rank);
    const struct fake_call call = {
        .record = { .op = RP_OP_ALL_REDUCE, .dtype = RP_DTYPE_INT32, .count = HELD_COUNT },
        .send = arena,
        .recv = arena + HELD_COUNT * sizeof(int32_t),
    };
    const struct rp_record record = fake_call_record(comm, rank, &call);
    const uint64_t until_ns = rp_deadline_ns(10 * RP_NS_PER_S);
    struct rp_aiv_op op;
    bool progress = false;
    rp_status st = RP_AGAIN;
    rp_aiv_begin(
            &op, &comm->lines[rank], comm->reduce, &comm->tuning, &record, call.send, call.recv);
    for (unsigned done = 0; st == RP_AGAIN && rp_now_ns() < until_ns;) {
        st = rp_aiv_step(&op, 1, &progress);
        done += op.offset != 0;
        if (rank == 0 && done > pieces) {
            break;
        }
        if (!progress) {
            fake_pause();
        }
    }
    if (st == RP_OK && rank != 0) {
        rp_lines_flush(&comm->lines[rank]);
        return true; // it was out before rank 0 gave up
    }
    st = st == RP_AGAIN || st == RP_OK ? RP_EDEVABORT : st;
    const bool ok = aiv_give_up(comm, rank, st);
    memset(arena, 0x55, comm->arena_bytes);
    return ok;
}

static bool memory_is_held_while_peers_use_it(void)
{
    for (unsigned i = 0; i < 200; i++) {
        unsigned pieces = i % 6;
        struct fake_comm *comm = fake_comm_create(2 + i % 3, 1u << 20, 4096);
        const bool ok = fake_comm_run(comm, FAKE_THREADS, TIMEOUT_S, run_and_overwrite, &pieces);
        fake_comm_destroy(comm);
        if (!ok) {
            return false;
        }
    }
    return true;
}

int main(void)
{
    bool ok = true;
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rank_counts); i++) {
        ok = expect(any_ops_in_any_order(rank_counts[i]), "ops in any order", rank_counts[i]) && ok;
        ok = expect(sleeping_ranks_are_woken(rank_counts[i]), "asleep", rank_counts[i]) && ok;
    }
    ok = expect(leaving_is_no_failure(), "leaving", 0) && ok;
    ok = expect(memory_is_held_while_peers_use_it(), "held memory", 0) && ok;
    for (unsigned seed = 1; seed <= 60; seed++) {
        ok = expect(aiv_end_a_rank(seed, true), "death", seed) && ok;
        ok = expect(aiv_end_a_rank(seed, false), "failure", seed) && ok;
    }
    return ok ? 0 : 1;
}
