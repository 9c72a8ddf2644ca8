// Order cycles are found, and what merely looks like one is left alone.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "replay/submission.h"
#include "support/local_ranks.h"

static struct local_ranks ranks;
static struct local_rank *const rank = &ranks.rank[0];
static struct rp_stream *a, *b, *c;
static float *data[2];

static void open_two(void)
{
    local_env("auto");
    local_ranks_open(&ranks, 2);
    a = local_stream(rank);
    b = local_stream(rank);
    c = local_stream(rank);
    data[0] = local_alloc(&ranks.rank[0], 4096);
    data[1] = local_alloc(&ranks.rank[1], 4096);
}

static void close_all(void)
{
    local_stream_end(a);
    local_stream_end(b);
    local_stream_end(c);
    local_ranks_close(&ranks);
}

static void reduce(struct rp_stream *stream, struct rp_comm *comm, uint64_t count)
{
    struct rp_op op = local_all_reduce(rank, data[0], data[0], count);
    op.comm = comm;
    local_run_op(stream, &op);
}

// The other rank's calls, so that whatever may run here can.
static void reduce_there(uint64_t count)
{
    const struct rp_op op = local_all_reduce(&ranks.rank[1], data[1], data[1], count);
    local_run_op(ranks.rank[1].stream, &op);
}

static const char *taken(void)
{
    const char *text = rp_error_take();
    return text == NULL ? "" : text;
}

Test(order, a_cycle_names_both_calls, .init = open_two, .fini = close_all, .timeout = 20)
{
    struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
    local_wait(a, event, 0);
    reduce(a, rank->comm, 11); // called first: has the turn, waits for the event
    reduce(b, rank->comm, 22); // waits for the turn
    local_record(b, event);
    const uint64_t begin_ns = rp_now_ns();
    cr_assert(eq(int, local_drained(b, 10), RP_ECYCLE));
    cr_assert(lt(u64, rp_now_ns() - begin_ns, 5 * RP_NS_PER_S));
    const char *text = taken();
    cr_assert(ne(ptr, strstr(text, "AllReduce of 11 elements"), NULL), "%s", text);
    cr_assert(ne(ptr, strstr(text, "AllReduce of 22 elements"), NULL), "%s", text);
    cr_assert(ne(ptr, strstr(text, "communicator test"), NULL), "%s", text);
    cr_assert(eq(int, local_drained(a, 10), RP_ECYCLE));
    reduce_there(11); // the peer is told as well
    cr_assert(eq(int, local_drained(ranks.rank[1].stream, 10), RP_ECYCLE));
}

// a waits for c's event, which waits for b's, which stands behind the collective.
Test(order, a_cycle_over_three_streams_is_found, .init = open_two, .fini = close_all, .timeout = 20)
{
    struct rp_event *first = local_event(rank, RP_EVENT_FLAG);
    struct rp_event *second = local_event(rank, RP_EVENT_FLAG);
    local_wait(a, first, 0);
    reduce(a, rank->comm, 1);
    reduce(b, rank->comm, 2);
    local_fill(b, data[0], 0, 64);
    local_record(b, second);
    local_wait(c, second, 0);
    local_fill(c, data[0], 0, 64);
    local_record(c, first);
    cr_assert(eq(int, local_drained(a, 10), RP_ECYCLE));
    cr_assert(eq(int, local_drained(b, 10), RP_ECYCLE));
    cr_assert(eq(int, local_drained(c, 10), RP_OK));
}

// The turn of one communicator hangs on that of another, and that one on the first.
Test(order, a_cycle_over_two_communicators_is_found, .init = open_two, .fini = close_all,
        .timeout = 20)
{
    struct rp_comm *other[2];
    local_comm_open(&ranks, "other", other);
    struct rp_event *first = local_event(rank, RP_EVENT_FLAG);
    struct rp_event *second = local_event(rank, RP_EVENT_FLAG);
    local_wait(a, first, 0);
    reduce(a, rank->comm, 1); // holds "test", waits for b's record
    local_wait(c, second, 0);
    reduce(c, other[0], 2); // holds "other", waits for the end of the second call on "test"
    reduce(b, other[0], 3); // waits for "other"
    local_record(b, first);
    struct rp_stream *d = local_stream(rank);
    reduce(d, rank->comm, 4); // waits for "test"
    local_record(d, second);
    const rp_status st = local_drained(a, 10);
    const rp_status st_c = local_drained(c, 10);
    cr_assert(st == RP_ECYCLE || st_c == RP_ECYCLE, "%d %d", (int)st, (int)st_c);
    local_stream_end(d);
    local_comm_close(&ranks, other);
}

// The graph's second op waits for an event whose record waits for the graph's turn.
Test(order, a_graph_in_a_cycle_is_named_by_its_task, .init = open_two, .fini = close_all,
        .timeout = 20)
{
    struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
    struct rp_program *program = rp_program_create(
            &(struct rp_program_size){ .lanes = 1, .insns = 2, .ops = 1, .comms = 1 });
    program->lane_first[1] = 2;
    program->comm[0] = rank->comm;
    rp_comm_ref(rank->comm);
    program->comm_ops[0] = 1;
    program->insn[0].kind = RP_INSN_EVENT_WAIT;
    program->insn[0].u.event.event = event;
    rp_event_ref(event);
    program->insn[1].kind = RP_INSN_COLLECTIVE;
    program->op[0] = local_all_reduce(rank, data[0], data[0], 5);
    program->op[0].record.graph = 31;
    program->op[0].record.task = 1;
    cr_assert(eq(int, rp_stream_replay(a, program), RP_OK));
    reduce(b, rank->comm, 6);
    local_record(b, event);
    cr_assert(eq(int, local_drained(a, 10), RP_ECYCLE));
    cr_assert(ne(ptr, strstr(taken(), "task 1 of graph 31"), NULL));
    cr_assert(eq(int, local_drained(b, 10), RP_ECYCLE));
    rp_program_unref(program);
}

// ---- no cycles ----

Test(order, a_record_that_is_not_submitted_yet_is_no_cycle, .init = open_two, .fini = close_all,
        .timeout = 20)
{
    struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
    local_wait(a, event, 0);
    reduce(a, rank->comm, 1);
    reduce(b, rank->comm, 1);
    cr_assert(eq(int, rp_stream_drain(a, 300 * RP_NS_PER_MS), RP_ESYNCTIMEOUT));
    cr_assert(eq(int, rp_comm_status(rank->comm), RP_OK));
    reduce_there(1);
    reduce_there(1);
    local_record(c, event);
    cr_assert(eq(int, local_drained(a, 10), RP_OK));
    cr_assert(eq(int, local_drained(b, 10), RP_OK));
}

static void nap(void *arg)
{
    usleep(*(useconds_t *)arg);
}

Test(order, a_record_that_is_free_to_run_is_no_cycle, .init = open_two, .fini = close_all,
        .timeout = 20)
{
    static useconds_t us = 300000;
    struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
    local_wait(a, event, 0);
    reduce(a, rank->comm, 1);
    reduce(b, rank->comm, 1); // waits for the turn, but nothing waits for it
    local_host_fn(c, nap, &us);
    local_record(c, event);
    reduce_there(1);
    reduce_there(1);
    cr_assert(eq(int, local_drained(a, 10), RP_OK));
    cr_assert(eq(int, local_drained(b, 10), RP_OK));
}

// Two records would do, and one of them can come.
Test(order, another_record_of_the_event_is_no_cycle, .init = open_two, .fini = close_all,
        .timeout = 20)
{
    static useconds_t us = 300000;
    struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
    local_wait(a, event, 0);
    reduce(a, rank->comm, 1);
    reduce(b, rank->comm, 1);
    local_record(b, event);
    local_host_fn(c, nap, &us);
    local_record(c, event);
    reduce_there(1);
    reduce_there(1);
    cr_assert(eq(int, local_drained(a, 10), RP_OK));
    cr_assert(eq(int, local_drained(b, 10), RP_OK));
}

// The peer is late: a collective that runs is no member of a cycle, whoever waits for it.
Test(order, a_late_peer_is_no_cycle, .init = open_two, .fini = close_all, .timeout = 20)
{
    struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
    reduce(b, rank->comm, 1); // has the turn; the other rank is not there
    local_record(b, event);
    local_wait(a, event, 0);
    reduce(a, rank->comm, 1);
    cr_assert(eq(int, rp_stream_drain(a, 300 * RP_NS_PER_MS), RP_ESYNCTIMEOUT));
    cr_assert(eq(int, rp_comm_status(rank->comm), RP_OK));
    reduce_there(1);
    reduce_there(1);
    cr_assert(eq(int, local_drained(a, 10), RP_OK));
}

// One lane waits for the event; the other still has the communicator's op to do and can do it.
Test(order, a_lane_that_can_release_the_turn_is_no_cycle, .init = open_two, .fini = close_all,
        .timeout = 20)
{
    static useconds_t us = 300000;
    struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
    struct rp_program *program = rp_program_create(
            &(struct rp_program_size){ .lanes = 2, .insns = 3, .ops = 1, .comms = 1 });
    program->lane_first[1] = 1;
    program->lane_first[2] = 3;
    program->comm[0] = rank->comm;
    rp_comm_ref(rank->comm);
    program->comm_ops[0] = 1;
    program->insn[0].kind = RP_INSN_EVENT_WAIT;
    program->insn[0].u.event.event = event;
    rp_event_ref(event);
    program->insn[1].kind = RP_INSN_HOST_FN;
    program->insn[1].u.call.fn = nap;
    program->insn[1].u.call.arg = &us;
    program->insn[2].kind = RP_INSN_COLLECTIVE;
    program->op[0] = local_all_reduce(rank, data[0], data[0], 1);
    cr_assert(eq(int, rp_stream_replay(a, program), RP_OK));
    reduce(b, rank->comm, 1); // waits for the program's turn
    local_record(b, event);
    reduce_there(1);
    reduce_there(1);
    cr_assert(eq(int, local_drained(a, 10), RP_OK));
    cr_assert(eq(int, local_drained(b, 10), RP_OK));
    rp_program_unref(program);
}
