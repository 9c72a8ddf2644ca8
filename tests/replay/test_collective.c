// Collectives through the scheduler: order, sums, and how failures are told.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "replay/submission.h"
#include "support/local_ranks.h"

static struct local_ranks ranks;

static void open_ranks(uint32_t size, const char *progress)
{
    local_env(progress);
    local_ranks_open(&ranks, size);
}

// What a drained stream says, with its sentence.
static rp_status told(struct rp_stream *stream, unsigned timeout_s, char *text, size_t bytes)
{
    const rp_status st = local_drained(stream, timeout_s);
    const char *taken = rp_error_take();
    rp_text_copy(text, bytes, taken == NULL ? "" : taken);
    return st;
}

#define assert_says(text, part) \
    cr_assert(ne(ptr, strstr(text, part), NULL), "\"%s\" is not in: %s", part, text)

// ---- order and sums ----

static void sum_up(struct local_rank *rank, void *arg)
{
    static const uint64_t counts[] = { 1, 10, 11, 1000, 2049, 100000 };
    (void)arg;
    const uint32_t size = rank->comm->size;
    const float all = (float)(size * (size + 1) / 2);
    float *send = local_alloc(rank, 100000 * sizeof(float));
    float *recv = local_alloc(rank, 100000 * sizeof(float));
    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        for (int round = 1; round <= 10; round++) {
            for (uint64_t i = 0; i < counts[k]; i++) {
                send[i] = (float)((rank->comm->rank + 1) * (uint32_t)round);
            }
            const struct rp_op op = local_all_reduce(rank, send, recv, counts[k]);
            local_run_op(rank->stream, &op);
            cr_assert(eq(int, local_drained(rank->stream, 20), RP_OK));
            for (uint64_t i = 0; i < counts[k]; i++) {
                cr_assert(eq(flt, recv[i], all * (float)round), "count %d at %d", (int)counts[k],
                        (int)i);
            }
        }
    }
    cr_assert(eq(u32, atomic_load(&rank->comm->pending), 0));
}

static void sum_up_with(uint32_t size, const char *progress)
{
    open_ranks(size, progress);
    local_each_rank(&ranks, sum_up, NULL);
    local_ranks_close(&ranks);
}

Test(collective, sums_with_1_rank, .timeout = 60)
{
    sum_up_with(1, "auto");
}
Test(collective, sums_with_2_ranks, .timeout = 60)
{
    sum_up_with(2, "auto");
}
Test(collective, sums_with_3_ranks, .timeout = 60)
{
    sum_up_with(3, "auto");
}
Test(collective, sums_with_5_ranks, .timeout = 60)
{
    sum_up_with(5, "auto");
}
Test(collective, sums_with_8_ranks, .timeout = 60)
{
    sum_up_with(8, "auto");
}
Test(collective, sums_where_callers_drive, .timeout = 60)
{
    sum_up_with(4, "caller");
}
Test(collective, sums_where_threads_drive, .timeout = 60)
{
    sum_up_with(4, "thread");
}

// As with HcclCommInitAll: the ranks have no thread of their own, and waiting for one must drive
// the others.
Test(collective, one_thread_drives_all_ranks, .timeout = 60)
{
    enum { RANKS = 4, COUNT = 50000 };
    open_ranks(RANKS, "caller");
    float *data[RANKS];
    for (uint32_t r = 0; r < RANKS; r++) {
        data[r] = local_alloc(&ranks.rank[r], COUNT * sizeof(float));
    }
    for (int round = 0; round < 20; round++) {
        for (uint32_t r = 0; r < RANKS; r++) {
            data[r][COUNT - 1] = (float)r;
            const struct rp_op op = local_all_reduce(&ranks.rank[r], data[r], data[r], COUNT);
            local_run_op(ranks.rank[r].stream, &op);
        }
        for (uint32_t r = 0; r < RANKS; r++) {
            cr_assert(eq(int, local_drained(ranks.rank[r].stream, 20), RP_OK));
            cr_assert(eq(flt, data[r][COUNT - 1], 6));
        }
    }
    local_ranks_close(&ranks);
}

static void in_call_order(struct local_rank *rank, void *arg)
{
    (void)arg;
    struct rp_stream *second = local_stream(rank);
    struct rp_stream *third = local_stream(rank);
    float *data = local_alloc(rank, 64);
    for (int round = 0; round < 20; round++) {
        struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
        data[0] = 1;
        // The op called first waits for an event; the one called second has to wait for it.
        const struct rp_op op = local_all_reduce(rank, data, data, 1);
        local_wait(rank->stream, event, 0);
        local_run_op(rank->stream, &op);
        local_run_op(second, &op);
        cr_assert(eq(int, rp_stream_drain(second, 5 * RP_NS_PER_MS), RP_ESYNCTIMEOUT));
        cr_assert(eq(flt, data[0], 1), "nothing has run");
        local_record(third, event);
        cr_assert(eq(int, local_drained(second, 20), RP_OK));
        cr_assert(eq(int, local_drained(rank->stream, 20), RP_OK));
        cr_assert(eq(flt, data[0], 4));
    }
    local_stream_end(second);
    local_stream_end(third);
}

Test(collective, the_order_of_calls_is_kept_across_streams, .timeout = 60)
{
    open_ranks(2, "auto");
    local_each_rank(&ranks, in_call_order, NULL);
    local_ranks_close(&ranks);
}

// Communicators X, Y, Z on streams of their own; even ranks call X, Y, Z, odd ones Z, Y, X.
static struct rp_comm *others[3][4];

static void in_any_order(struct local_rank *rank, void *arg)
{
    (void)arg;
    const uint32_t r = rank->comm->rank;
    struct rp_stream *stream[3];
    float *data = local_alloc(rank, 3 * 64);
    for (int i = 0; i < 3; i++) {
        stream[i] = local_stream(rank);
    }
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 3; i++) {
            const int which = r % 2 == 0 ? i : 2 - i;
            float *mine = data + 16 * which;
            struct rp_op op = local_all_reduce(rank, mine, mine, 1);
            op.comm = others[which][r];
            *mine = 1;
            local_run_op(stream[which], &op);
        }
        for (int i = 0; i < 3; i++) {
            cr_assert(eq(int, local_drained(stream[i], 20), RP_OK));
            cr_assert(eq(flt, data[16 * i], 4), "round %d", round);
        }
    }
    for (int i = 0; i < 3; i++) {
        local_stream_end(stream[i]);
    }
}

Test(collective, communicators_do_not_wait_for_each_other, .timeout = 60)
{
    open_ranks(4, "auto");
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof(name), "xyz%d", i);
        local_comm_open(&ranks, name, others[i]);
    }
    local_each_rank(&ranks, in_any_order, NULL);
    for (int i = 0; i < 3; i++) {
        local_comm_close(&ranks, others[i]);
    }
    local_ranks_close(&ranks);
}

// ---- failures ----

Test(collective, a_rank_that_never_comes_is_named, .timeout = 30)
{
    open_ranks(3, "auto");
    char text[2048];
    float *data[3];
    for (uint32_t r = 0; r < 3; r++) {
        data[r] = local_alloc(&ranks.rank[r], 64);
    }
    const uint64_t begin_ns = rp_now_ns();
    for (uint32_t r = 0; r < 2; r++) { // not rank 2
        struct rp_op op = local_all_reduce(&ranks.rank[r], data[r], data[r], 8);
        op.comm->settings.aiv_timeout_ns = 100 * RP_NS_PER_MS;
        local_run_op(ranks.rank[r].stream, &op);
    }
    for (uint32_t r = 0; r < 2; r++) {
        cr_assert(eq(int, told(ranks.rank[r].stream, 10, text, sizeof(text)), RP_ETASKTIMEOUT));
        assert_says(text, "communicator test");
        assert_says(text, "AllReduce #1, count 8, fp32, sum");
        if (strstr(text, "gave up") == NULL) { // the other one may have been quicker
            assert_says(text, "arrived: 0-1; missing: 2 (last done #0)");
            assert_says(text, "rank 2 is process");
        }
    }
    cr_assert(ge(u64, rp_now_ns() - begin_ns, 100 * RP_NS_PER_MS));
    cr_assert(lt(u64, rp_now_ns() - begin_ns, 5 * RP_NS_PER_S));
    // The rank that comes too late gets the same cause, and later calls at once.
    for (int late = 0; late < 2; late++) {
        const struct rp_op op = local_all_reduce(&ranks.rank[2], data[2], data[2], 8);
        local_run_op(ranks.rank[2].stream, &op);
        cr_assert(eq(int, told(ranks.rank[2].stream, 10, text, sizeof(text)), RP_ETASKTIMEOUT));
        assert_says(text, "gave up");
    }
    const struct rp_op op = local_all_reduce(&ranks.rank[0], data[0], data[0], 8);
    local_run_op(ranks.rank[0].stream, &op);
    cr_assert(eq(int, told(ranks.rank[0].stream, 10, text, sizeof(text)), RP_ETASKTIMEOUT));
    cr_assert(eq(int, rp_comm_status(ranks.rank[0].comm), RP_ETASKTIMEOUT));
    local_ranks_close(&ranks);
}

static void call_differently(struct local_rank *rank, void *arg)
{
    (void)arg;
    char text[2048];
    float *data = local_alloc(rank, 4096);
    data[0] = 5;
    const uint64_t count = rank->comm->rank == 1 ? 9 : 8;
    const struct rp_op op = local_all_reduce(rank, data, data, count);
    local_run_op(rank->stream, &op);
    cr_assert(eq(int, told(rank->stream, 10, text, sizeof(text)), RP_EMISMATCH), "rank %u: %s",
            rank->comm->rank, text);
    if (strstr(text, "gave up") == NULL) {
        assert_says(text, "count 8");
        assert_says(text, "count 9");
    }
    cr_assert(eq(flt, data[0], 5), "no output was touched");
}

Test(collective, calls_that_differ_are_both_named, .timeout = 30)
{
    open_ranks(4, "auto");
    local_each_rank(&ranks, call_differently, NULL);
    local_ranks_close(&ranks);
}

Test(collective, a_rank_that_died_is_named, .timeout = 30)
{
    open_ranks(3, "auto");
    char text[2048];
    float *data = local_alloc(&ranks.rank[0], 64);
    const struct rp_op op = local_all_reduce(&ranks.rank[0], data, data, 8);
    local_run_op(ranks.rank[0].stream, &op);
    rp_device_enter(ranks.rank[0].device);
    // What transport's liveness check does when a process has ended.
    atomic_store(&ranks.rank[0].comm->lines.peer[2].gone, 1);
    rp_device_leave(ranks.rank[0].device);
    cr_assert(eq(int, told(ranks.rank[0].stream, 10, text, sizeof(text)), RP_EREMOTE));
    assert_says(text, "rank 2 has died");
    local_ranks_close(&ranks);
}

Test(collective, a_failure_in_a_graph_names_replay_and_task, .timeout = 30)
{
    open_ranks(2, "auto");
    char text[2048];
    struct local_rank *rank = &ranks.rank[0];
    float *data[2] = { local_alloc(&ranks.rank[0], 64), local_alloc(&ranks.rank[1], 64) };
    struct rp_program *program[2];
    for (uint32_t r = 0; r < 2; r++) {
        program[r] = rp_program_create(
                &(struct rp_program_size){ .lanes = 1, .insns = 3, .ops = 3, .comms = 1 });
        program[r]->id = 12;
        program[r]->lane_first[1] = 3;
        program[r]->comm[0] = ranks.rank[r].comm;
        rp_comm_ref(ranks.rank[r].comm);
        program[r]->comm_ops[0] = 3;
        for (uint32_t i = 0; i < 3; i++) {
            program[r]->insn[i].kind = RP_INSN_COLLECTIVE;
            program[r]->insn[i].index = i;
            program[r]->op[i] = local_all_reduce(&ranks.rank[r], data[r], data[r], 8);
            ranks.rank[r].comm->settings.aiv_timeout_ns = 100 * RP_NS_PER_MS;
            program[r]->op[i].record.graph = 12;
            program[r]->op[i].record.task = i;
        }
    }
    for (int round = 0; round < 3; round++) {
        cr_assert(eq(int, rp_stream_replay(ranks.rank[0].stream, program[0]), RP_OK));
        if (round < 2) {
            cr_assert(eq(int, rp_stream_replay(ranks.rank[1].stream, program[1]), RP_OK));
        } else { // only one op of three
            const struct rp_op op = local_all_reduce(&ranks.rank[1], data[1], data[1], 8);
            local_run_op(ranks.rank[1].stream, &op);
        }
    }
    cr_assert(eq(int, told(rank->stream, 10, text, sizeof(text)), RP_ETASKTIMEOUT));
    assert_says(text, "AllReduce #8");
    assert_says(text, "task 1 of graph 12");
    assert_says(text, "replay 3");
    assert_says(text, "missing: 1 (last done #7)");
    cr_assert(eq(int, rp_stream_replay(rank->stream, program[0]), RP_ETASKTIMEOUT));
    (void)rp_error_take();
    for (uint32_t r = 0; r < 2; r++) {
        cr_assert(eq(u32, atomic_load(&program[r]->refs), 1));
        cr_assert(eq(u32, atomic_load(&ranks.rank[r].comm->pending), 0));
        rp_program_unref(program[r]);
    }
    local_ranks_close(&ranks);
}

// Rank 2 never comes to a zero-copy op. Rank 1 is there, and somebody holds its device still: it
// may be about to write into rank 0's memory. So rank 0's timeout is not told, and its memory not
// handed out again, before rank 1 has seen the revocation.
Test(collective, a_failure_is_told_when_no_peer_can_touch_our_memory, .timeout = 30)
{
    enum { COUNT = 100000 };
    open_ranks(3, "caller");
    struct local_rank *rank = &ranks.rank[0];
    float *data[2];
    for (uint32_t r = 0; r < 2; r++) {
        data[r] = local_alloc(&ranks.rank[r], COUNT * sizeof(float));
        struct rp_op op = local_all_reduce(&ranks.rank[r], data[r], data[r], COUNT);
        op.comm->settings.aiv_timeout_ns = r == 0 ? 30 * RP_NS_PER_MS : 0;
        local_run_op(ranks.rank[r].stream, &op);
        rp_device_step_once(ranks.rank[r].device); // both have arrived
    }
    rp_device_enter(ranks.rank[1].device);
    // However busy the machine is: drive until the timeout was noticed, then a while longer.
    for (unsigned tries = 0; rp_comm_status(rank->comm) == RP_OK && tries < 100; tries++) {
        cr_assert(eq(int, rp_stream_drain(rank->stream, 100 * RP_NS_PER_MS), RP_ESYNCTIMEOUT));
    }
    cr_assert(eq(int, rp_comm_status(rank->comm), RP_ETASKTIMEOUT));
    cr_assert(eq(int, rp_stream_drain(rank->stream, 100 * RP_NS_PER_MS), RP_ESYNCTIMEOUT));
    cr_assert(
            eq(int, rp_arena_free(rp_device_arena(rank->device), data[0], RP_ARENA_DEVICE), RP_OK));
    void *again;
    cr_assert(eq(int,
            rp_arena_alloc(rp_device_arena(rank->device), COUNT * sizeof(float), 64,
                    RP_ARENA_DEVICE, &again),
            RP_OK));
    cr_assert(ne(ptr, again, data[0]), "the memory was handed out again");
    rp_device_leave(ranks.rank[1].device);
    (void)rp_error_take();
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_ETASKTIMEOUT));
    cr_assert(eq(int, local_drained(ranks.rank[1].stream, 10), RP_ETASKTIMEOUT));
    local_ranks_close(&ranks);
}

// Its turn never comes to an op whose stream is emptied. What it should have exchanged is missing
// on this rank, so both ranks' communicators fail, and nobody hangs.
Test(collective, a_dropped_op_fails_its_communicator_in_order, .timeout = 30)
{
    open_ranks(2, "auto");
    char text[2048];
    struct local_rank *rank = &ranks.rank[0];
    struct rp_stream *second = local_stream(rank);
    struct rp_stream *third = local_stream(rank);
    struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
    float *data[2] = { local_alloc(&ranks.rank[0], 64), local_alloc(&ranks.rank[1], 64) };
    struct rp_op op = local_all_reduce(rank, data[0], data[0], 8);
    local_wait(rank->stream, event, 0);
    local_run_op(rank->stream, &op); // first, and held up
    local_run_op(second, &op);       // to be dropped
    local_run_op(third, &op);
    usleep(2000);
    atomic_store(&second->dropped, UINT64_MAX);
    rp_device_poke(rank->device);
    cr_assert(eq(int, told(second, 10, text, sizeof(text)), RP_ESTREAMABORT));
    cr_assert(eq(int, rp_comm_status(rank->comm), RP_OK), "not before its turn");
    op = local_all_reduce(&ranks.rank[1], data[1], data[1], 8);
    local_run_op(ranks.rank[1].stream, &op);
    local_record(third, event); // behind the third op, in another stream: see below
    local_record(local_stream(rank), event);
    cr_assert(eq(int, told(rank->stream, 10, text, sizeof(text)), RP_OK));
    cr_assert(eq(int, told(ranks.rank[1].stream, 10, text, sizeof(text)), RP_OK));
    cr_assert(eq(int, told(third, 10, text, sizeof(text)), RP_ESTREAMABORT));
    assert_says(text, "ended before it ran");
    op = local_all_reduce(&ranks.rank[1], data[1], data[1], 8);
    local_run_op(ranks.rank[1].stream, &op);
    cr_assert(eq(int, told(ranks.rank[1].stream, 10, text, sizeof(text)), RP_EREMOTE));
    assert_says(text, "gave up");
    cr_assert(eq(u64, rank->comm->turn.serving, rank->comm->turn.next_ticket));
    local_stream_end(third);
    local_ranks_close(&ranks);
}

Test(collective, a_failed_communicator_leaves_others_alone, .timeout = 30)
{
    open_ranks(2, "auto");
    struct rp_comm *healthy[2];
    float *data[2] = { local_alloc(&ranks.rank[0], 64), local_alloc(&ranks.rank[1], 64) };
    local_comm_open(&ranks, "healthy", healthy);
    struct rp_op op = local_all_reduce(&ranks.rank[0], data[0], data[0], 8);
    op.comm->settings.aiv_timeout_ns = 20 * RP_NS_PER_MS;
    local_run_op(ranks.rank[0].stream, &op);
    cr_assert(eq(int, local_drained(ranks.rank[0].stream, 10), RP_ETASKTIMEOUT));
    for (uint32_t r = 0; r < 2; r++) {
        data[r][3] = 2;
        op = local_all_reduce(&ranks.rank[r], data[r], data[r], 8);
        op.comm = healthy[r];
        local_run_op(ranks.rank[r].stream, &op);
    }
    for (uint32_t r = 0; r < 2; r++) {
        cr_assert(eq(int, local_drained(ranks.rank[r].stream, 10), RP_OK));
        cr_assert(eq(flt, data[r][3], 4));
    }
    local_comm_close(&ranks, healthy);
    local_ranks_close(&ranks);
}

// The driver of a failed op is somebody else: its own error context stays clean.
Test(collective, a_failure_is_told_to_its_waiter_alone, .timeout = 30)
{
    open_ranks(2, "caller");
    struct rp_stream *other = local_stream(&ranks.rank[0]);
    struct rp_event *event = local_event(&ranks.rank[0], RP_EVENT_FLAG);
    float *data = local_alloc(&ranks.rank[0], 64);
    struct rp_op op = local_all_reduce(&ranks.rank[0], data, data, 8);
    op.comm->settings.aiv_timeout_ns = 10 * RP_NS_PER_MS;
    local_run_op(ranks.rank[0].stream, &op);
    local_wait(other, event, 0);
    cr_assert(eq(int, rp_stream_drain(other, 50 * RP_NS_PER_MS), RP_ESYNCTIMEOUT));
    const char *text = rp_error_take();
    cr_assert(eq(ptr, strstr(text, "AllReduce"), NULL), "%s", text);
    cr_assert(eq(int, local_drained(ranks.rank[0].stream, 10), RP_ETASKTIMEOUT));
    cr_assert(ne(ptr, strstr(rp_error_take(), "AllReduce"), NULL));
    local_stream_end(other);
    local_ranks_close(&ranks);
}
