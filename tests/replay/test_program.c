// Programs: lanes, edges, replays, and what they hold.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "support/local_ranks.h"

static struct local_ranks ranks;
static struct local_rank *const rank = &ranks.rank[0];

static void open_one(void)
{
    local_env("auto");
    local_ranks_open(&ranks, 0);
}

static void open_two(void)
{
    local_env("auto");
    local_ranks_open(&ranks, 2);
}

static void close_all(void)
{
    local_ranks_close(&ranks);
}

static void set_copy(struct rp_insn *insn, void *dst, const void *src, uint64_t bytes)
{
    insn->kind = RP_INSN_COPY;
    insn->u.copy.dst = dst;
    insn->u.copy.src = src;
    insn->u.copy.bytes = bytes;
}

static void set_edge(struct rp_insn *insn, enum rp_insn_kind kind, uint32_t edge)
{
    insn->kind = (uint8_t)kind;
    insn->index = edge;
}

// counter += 1, on a callback thread.
static void add_one(void *counter)
{
    ++*(uint64_t *)counter;
}

static void set_call(struct rp_insn *insn, void (*fn)(void *), void *arg)
{
    insn->kind = RP_INSN_HOST_FN;
    insn->u.call.fn = fn;
    insn->u.call.arg = arg;
}

// One lane: `count` instructions, of which the caller fills.
static struct rp_program *one_lane(uint32_t count)
{
    struct rp_program *program =
            rp_program_create(&(struct rp_program_size){ .lanes = 1, .insns = count });
    program->lane_first[1] = count;
    return program;
}

Test(program, is_one_zeroed_allocation_with_a_run_state)
{
    static const uint32_t sizes[][5] = { { 0, 0, 0, 0, 0 }, { 1, 1, 0, 0, 0 }, { 3, 7, 5, 2, 1 },
        { 100, 10000, 300, 5000, 9 } };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const uint32_t *n = sizes[i];
        struct rp_program *program = rp_program_create(&(struct rp_program_size){
                .lanes = n[0], .insns = n[1], .edges = n[2], .ops = n[3], .comms = n[4] });
        cr_assert(ne(ptr, program, NULL));
        cr_assert(eq(int, (int)((uintptr_t)program->insn % 64), 0));
        for (uint32_t k = 0; k < n[1]; k++) {
            cr_assert(eq(int, program->insn[k].kind, RP_INSN_NOP));
        }
        cr_assert(ne(ptr, program->run, NULL));
        cr_assert(eq(ptr, program->run->owner, NULL));
        rp_program_unref(program);
    }
    rp_alloc_fail_after(0);
    cr_assert(
            eq(ptr, rp_program_create(&(struct rp_program_size){ .lanes = 1, .insns = 1 }), NULL));
    rp_alloc_fail_after(-1);
}

static int released;

static void note_release(struct rp_program *program, void *owner)
{
    (void)program;
    released += *(int *)owner;
}

Test(program, the_last_reference_releases_what_it_names, .init = open_two, .fini = close_all)
{
    int amount = 5;
    struct rp_program *program =
            rp_program_create(&(struct rp_program_size){ .lanes = 1, .insns = 2, .comms = 1 });
    struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
    program->lane_first[1] = 2;
    program->insn[0].kind = RP_INSN_EVENT_RECORD;
    program->insn[0].u.event.event = event;
    rp_event_ref(event);
    program->comm[0] = rank->comm;
    rp_comm_ref(rank->comm);
    program->release = note_release;
    program->owner = &amount;
    const uint32_t before = atomic_load(&rank->comm->refs);
    rp_program_ref(program);
    rp_program_unref(program);
    cr_assert(eq(int, released, 0));
    rp_program_unref(program);
    cr_assert(eq(int, released, 5));
    cr_assert(eq(u32, atomic_load(&event->refs), 1));
    cr_assert(eq(u32, atomic_load(&rank->comm->refs), before - 1));
}

// a -> b -> c -> ... along one lane: each copy needs the one before.
Test(program, a_lane_runs_in_order_and_again, .init = open_one, .fini = close_all, .timeout = 20)
{
    enum { STEPS = 100, BYTES = 3000 };
    uint8_t *row = local_alloc(rank, (STEPS + 1) * BYTES);
    struct rp_program *program = one_lane(STEPS);
    for (uint32_t i = 0; i < STEPS; i++) {
        set_copy(&program->insn[i], row + (i + 1) * BYTES, row + i * BYTES, BYTES);
    }
    for (int round = 1; round <= 50; round++) {
        memset(row, round, BYTES);
        cr_assert(eq(int, rp_stream_replay(rank->stream, program), RP_OK));
        cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
        cr_assert(eq(int, row[STEPS * BYTES], round));
        cr_assert(eq(int, row[(STEPS + 1) * BYTES - 1], round));
    }
    cr_assert(eq(u64, program->run->replays, 50));
    rp_program_unref(program);
}

// Two lanes that hand a token to and fro: lane 0 copies cell 2k to 2k+1, lane 1 copies 2k+1 to
// 2k+2, and each waits for the other by edges.
Test(program, edges_order_lanes_in_every_replay, .init = open_one, .fini = close_all, .timeout = 20)
{
    enum { TURNS = 40, BYTES = 100000 }; // several chunks each
    uint8_t *row = local_alloc(rank, (2 * TURNS + 1) * BYTES);
    struct rp_program *program = rp_program_create(
            &(struct rp_program_size){ .lanes = 2, .insns = 2 * 3 * TURNS, .edges = 2 * TURNS });
    uint32_t pc = 0;
    for (uint32_t k = 0; k < TURNS; k++) { // lane 0
        if (k != 0) {
            set_edge(&program->insn[pc++], RP_INSN_EDGE_WAIT, 2 * k - 1);
        }
        set_copy(&program->insn[pc++], row + (2 * k + 1) * BYTES, row + 2 * k * BYTES, BYTES);
        set_edge(&program->insn[pc++], RP_INSN_EDGE_SIGNAL, 2 * k);
    }
    program->lane_first[1] = pc;
    for (uint32_t k = 0; k < TURNS; k++) { // lane 1
        set_edge(&program->insn[pc++], RP_INSN_EDGE_WAIT, 2 * k);
        set_copy(&program->insn[pc++], row + (2 * k + 2) * BYTES, row + (2 * k + 1) * BYTES, BYTES);
        set_edge(&program->insn[pc++], RP_INSN_EDGE_SIGNAL, 2 * k + 1);
    }
    program->lane_first[2] = pc;
    for (int round = 1; round <= 10; round++) {
        memset(row, round, BYTES);
        cr_assert(eq(int, rp_stream_replay(rank->stream, program), RP_OK));
        cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
        cr_assert(eq(int, row[2 * TURNS * BYTES], round));
        cr_assert(eq(int, row[(2 * TURNS + 1) * BYTES - 1], round));
    }
    rp_program_unref(program);
}

Test(program, replays_of_a_stream_are_queued_without_waiting, .init = open_one, .fini = close_all,
        .timeout = 20)
{
    enum { REPLAYS = 2000 };
    static uint64_t counter;
    struct rp_program *program = one_lane(2);
    uint64_t *cell = local_alloc(rank, 16);
    set_call(&program->insn[0], add_one, &counter);
    set_copy(&program->insn[1], cell, &counter, sizeof(counter));
    for (int i = 0; i < REPLAYS; i++) {
        cr_assert(eq(int, rp_stream_replay(rank->stream, program), RP_OK));
    }
    cr_assert(eq(int, local_drained(rank->stream, 15), RP_OK));
    cr_assert(eq(u64, *cell, REPLAYS));
    cr_assert(eq(u64, program->run->replays, REPLAYS));
    cr_assert(eq(u32, atomic_load(&program->refs), 1));
    rp_program_unref(program);
}

// Inside the program a value that must be 0 whenever a run begins, whichever stream it came from.
static uint64_t inside, overlaps;

static void go_in(void *arg)
{
    (void)arg;
    overlaps += inside != 0;
    inside++;
}

static void go_out(void *arg)
{
    (void)arg;
    inside--;
}

Test(program, runs_of_one_program_are_serialised_across_streams, .init = open_one,
        .fini = close_all, .timeout = 20)
{
    struct rp_stream *other = local_stream(rank);
    uint8_t *a = local_alloc(rank, 1 << 20);
    uint8_t *b = local_alloc(rank, 1 << 20);
    struct rp_program *program = one_lane(3);
    set_call(&program->insn[0], go_in, NULL);
    set_copy(&program->insn[1], a, b, 1 << 20);
    set_call(&program->insn[2], go_out, NULL);
    for (int i = 0; i < 100; i++) {
        cr_assert(eq(int, rp_stream_replay(i % 2 == 0 ? rank->stream : other, program), RP_OK));
    }
    cr_assert(eq(int, local_drained(rank->stream, 15), RP_OK));
    cr_assert(eq(int, local_drained(other, 15), RP_OK));
    cr_assert(eq(u64, overlaps, 0));
    cr_assert(eq(u64, program->run->replays, 100));
    rp_program_unref(program);
    local_stream_end(other);
}

// Without communicators the order of the submissions is not the order of the runs: the first
// replay here waits, in its stream, for an event that is recorded after the second.
Test(program, a_blocked_stream_does_not_hold_the_program, .init = open_one, .fini = close_all,
        .timeout = 20)
{
    static uint64_t counter;
    struct rp_stream *other = local_stream(rank);
    struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
    struct rp_program *program = one_lane(1);
    set_call(&program->insn[0], add_one, &counter);
    local_wait(rank->stream, event, 0);
    cr_assert(eq(int, rp_stream_replay(rank->stream, program), RP_OK));
    cr_assert(eq(int, rp_stream_replay(other, program), RP_OK));
    local_record(other, event);
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
    cr_assert(eq(u64, counter, 2));
    rp_program_unref(program);
    local_stream_end(other);
}

Test(program, a_failure_ends_all_lanes_and_is_told_once, .init = open_one, .fini = close_all,
        .timeout = 20)
{
    static uint64_t early, late;
    struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
    struct rp_program *program =
            rp_program_create(&(struct rp_program_size){ .lanes = 2, .insns = 4, .edges = 1 });
    program->lane_first[1] = 1;
    program->lane_first[2] = 4;
    program->insn[0].kind = RP_INSN_EVENT_WAIT;
    program->insn[0].u.event.event = event;
    program->insn[0].u.event.timeout_ns = 20 * RP_NS_PER_MS;
    rp_event_ref(event);
    set_call(&program->insn[1], add_one, &early);
    set_edge(&program->insn[2], RP_INSN_EDGE_WAIT, 0); // nobody signals
    set_call(&program->insn[3], add_one, &late);
    for (int round = 1; round <= 3; round++) {
        cr_assert(eq(int, rp_stream_replay(rank->stream, program), RP_OK));
        cr_assert(eq(int, local_drained(rank->stream, 10), RP_EWAITTIMEOUT));
        (void)rp_error_take();
        cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
        cr_assert(eq(u64, early, (uint64_t)round));
        cr_assert(eq(u64, late, 0));
    }
    rp_program_unref(program);
}

// A graph of `count` all-reduces on `comms` communicators, in turn, in place over `data`.
static struct rp_program *reduce_program(
        struct local_rank *of, struct rp_comm **comm, uint32_t comms, uint32_t count, float *data)
{
    struct rp_program *program = rp_program_create(
            &(struct rp_program_size){ .lanes = 1, .insns = count, .ops = count, .comms = comms });
    program->id = 77;
    program->lane_first[1] = count;
    for (uint32_t i = 0; i < comms; i++) {
        program->comm[i] = comm[i];
        rp_comm_ref(comm[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        program->insn[i].kind = RP_INSN_COLLECTIVE;
        program->insn[i].index = i;
        program->op[i] = local_all_reduce(of, data, data, 8);
        program->op[i].comm = comm[i % comms];
        program->op[i].record.graph = 77;
        program->op[i].record.task = i;
        program->comm_ops[i % comms]++;
    }
    return program;
}

static struct rp_comm *many[5][2];

static void replay_many(struct local_rank *of, void *arg)
{
    const uint32_t comms = *(uint32_t *)arg;
    const uint32_t r = of->comm->rank;
    struct rp_comm *mine[5];
    for (uint32_t i = 0; i < comms; i++) {
        mine[i] = many[i][r];
    }
    float *data = local_alloc(of, 64);
    struct rp_program *program = reduce_program(of, mine, comms, 20, data);
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 8; i++) {
            data[i] = (float)(r + 1) / 1024;
        }
        cr_assert(eq(int, rp_stream_replay(of->stream, program), RP_OK));
        cr_assert(eq(int, local_drained(of->stream, 10), RP_OK));
        // 1 + 2 the first time, doubled by each further op.
        cr_assert(eq(flt, data[7], 3.0f / 1024 * (1 << 19)), "round %d", round);
    }
    for (uint32_t i = 0; i < comms; i++) {
        cr_assert(eq(u64, mine[i]->turn.serving, 1 + 200));
        cr_assert(eq(u32, atomic_load(&mine[i]->pending), 0));
    }
    rp_program_unref(program);
}

Test(program, a_replay_takes_one_turn_on_each_communicator, .init = open_two, .fini = close_all,
        .timeout = 60)
{
    for (uint32_t i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof(name), "many%u", i);
        local_comm_open(&ranks, name, many[i]);
    }
    for (uint32_t comms = 1; comms <= 5; comms += 2) { // inline tickets, and more
        if (comms > 1) {
            for (uint32_t i = 0; i < 5; i++) {
                for (uint32_t r = 0; r < 2; r++) {
                    many[i][r]->turn = (struct rp_turn){ .next_ticket = 1, .serving = 1 };
                }
            }
        }
        local_each_rank(&ranks, replay_many, &comms);
    }
    for (uint32_t i = 0; i < 5; i++) {
        local_comm_close(&ranks, many[i]);
    }
}

static void interleave(struct local_rank *of, void *arg)
{
    (void)arg;
    struct rp_stream *other = local_stream(of);
    float *data = local_alloc(of, 64);
    struct rp_program *program = reduce_program(of, &of->comm, 1, 3, data);
    struct rp_op op = local_all_reduce(of, data, data, 8);
    // eager(a), replay(b), eager(a), ... without any event: the communicator's order is the call
    // order, so the value is the same as on one stream.
    for (int i = 0; i < 8; i++) {
        data[i] = 1;
    }
    enum { ROUNDS = 25 };
    for (int round = 0; round < ROUNDS; round++) {
        local_run_op(of->stream, &op);
        cr_assert(eq(int, rp_stream_replay(other, program), RP_OK));
    }
    cr_assert(eq(int, local_drained(of->stream, 20), RP_OK));
    cr_assert(eq(int, local_drained(other, 20), RP_OK));
    cr_assert(eq(flt, data[0], __builtin_powif(2, 4 * ROUNDS)));
    rp_program_unref(program);
    local_stream_end(other);
}

Test(program, eager_calls_and_replays_keep_the_call_order, .init = open_two, .fini = close_all,
        .timeout = 60)
{
    local_each_rank(&ranks, interleave, NULL);
}

// After the first replay nothing of it comes from the heap, in whatever thread.
Test(program, a_replay_does_not_allocate, .init = open_one, .fini = close_all, .timeout = 20)
{
    uint8_t *a = local_alloc(rank, 128);
    struct rp_program *program = one_lane(10);
    for (int i = 0; i < 10; i++) {
        set_copy(&program->insn[i], a, a + 64, 64);
    }
    cr_assert(eq(int, rp_stream_replay(rank->stream, program), RP_OK));
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
    rp_alloc_fail_process_after(0);
    for (int i = 0; i < 30; i++) { // fewer than a block of submissions
        cr_assert(eq(int, rp_stream_replay(rank->stream, program), RP_OK));
    }
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
    const bool untouched = rp_alloc_fail_pending();
    rp_alloc_fail_process_after(-1);
    cr_assert(untouched);
    rp_program_unref(program);
}

Test(program, a_destroyed_communicator_refuses_the_replay, .init = open_two, .fini = close_all,
        .timeout = 20)
{
    float *data = local_alloc(rank, 64);
    struct rp_comm *comm[2];
    local_comm_open(&ranks, "gone", comm);
    struct rp_program *program = reduce_program(rank, comm, 1, 1, data);
    local_comm_close(&ranks, comm);
    const uint64_t before = atomic_load(&rank->stream->submitted);
    cr_assert(eq(int, rp_stream_replay(rank->stream, program), RP_EGRAPHSTATE));
    cr_assert(ne(ptr, strstr(rp_error_take(), "gone"), NULL));
    cr_assert(eq(u64, atomic_load(&rank->stream->submitted), before));
    cr_assert(eq(u32, atomic_load(&program->refs), 1));
    rp_program_unref(program);
}
