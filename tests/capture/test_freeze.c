// Freeze, by hand-made recordings: lanes and communicators are stand-ins that
// freeze only counts and compares, nothing runs.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <string.h>

#include "capture/graph.h"
#include "transport/comm.h"

#define LANES 3
#define COMMS 2

static struct rp_stream streams[LANES];
static struct rp_comm comms[COMMS];
static struct rp_graph *graph;
static char memory[256];

static void setup(void)
{
    for (int c = 0; c < COMMS; c++) {
        atomic_store(&comms[c].refs, 1000); // never the last reference: these are not on the heap
    }
    cr_assert(eq(int, rp_graph_create(NULL, RP_GRAPH_CAPTURED, NULL, &graph), RP_OK));
    for (int l = 0; l < LANES; l++) {
        uint32_t lane;
        streams[l].id = l;
        cr_assert(eq(int, rp_graph_add_lane(graph, &streams[l], NULL, &lane), RP_OK));
    }
}

static void teardown(void)
{
    rp_graph_destroy(graph);
    for (int c = 0; c < COMMS; c++) {
        cr_assert(eq(u32, atomic_load(&comms[c].refs), 1000));
    }
}

static void add(uint32_t lane, enum rp_insn_kind kind)
{
    const struct rp_task task = { .insn = { .kind = (uint8_t)kind } };
    uint32_t node;
    cr_assert(eq(int, rp_graph_add_task(graph, lane, &task, &node), RP_OK));
}

static void add_copy(uint32_t lane, int dst, int src, uint64_t bytes)
{
    const struct rp_task task = { .insn = { .kind = RP_INSN_COPY,
                                          .u.copy = { memory + dst, memory + src, bytes } } };
    uint32_t node;
    cr_assert(eq(int, rp_graph_add_task(graph, lane, &task, &node), RP_OK));
}

static void add_collective(uint32_t lane, int comm)
{
    const struct rp_op op = { .comm = &comms[comm] };
    const struct rp_task task = { .insn = { .kind = RP_INSN_COLLECTIVE }, .op = &op };
    uint32_t node;
    cr_assert(eq(int, rp_graph_add_task(graph, lane, &task, &node), RP_OK));
}

static uint32_t add_record(uint32_t lane)
{
    uint32_t edge = 0;
    cr_assert(eq(int, rp_graph_add_edge(graph, lane, NULL, &edge), RP_OK));
    return edge;
}

static void add_wait(uint32_t lane, uint32_t edge)
{
    cr_assert(eq(int, rp_graph_add_wait(graph, lane, NULL, edge), RP_OK));
}

/* The kinds of a lane of the program as letters: c copy, C collective, h host, S signal, W wait. */
static const char *lane_text(uint32_t lane)
{
    static char text[64];
    static const char letter[RP_INSN_KINDS] = { [RP_INSN_COPY] = 'c',
        [RP_INSN_HOST_FN] = 'h',
        [RP_INSN_COLLECTIVE] = 'C',
        [RP_INSN_EDGE_SIGNAL] = 'S',
        [RP_INSN_EDGE_WAIT] = 'W' };
    const struct rp_program *program = graph->program;
    size_t length = 0;
    for (uint32_t i = program->lane_first[lane]; i < program->lane_first[lane + 1]; i++) {
        text[length++] = letter[program->insn[i].kind];
    }
    text[length] = '\0';
    return text;
}

static void freeze(void)
{
    cr_assert(eq(int, rp_graph_freeze(graph), RP_OK));
    cr_assert(eq(u32, graph->program->id, graph->id));
    cr_assert(eq(u32, graph->program->lane_count, LANES));
}

TestSuite(freeze, .init = setup, .fini = teardown, .timeout = 20);

Test(freeze, an_empty_recording_is_an_empty_program)
{
    freeze();
    cr_assert(eq(u32, graph->program->lane_first[LANES], 0));
    cr_assert(eq(u32, graph->program->edge_count, 0));
}

Test(freeze, lane_order_is_call_order)
{
    add(0, RP_INSN_HOST_FN);
    add(1, RP_INSN_HOST_FN);
    add_collective(0, 0);
    add(0, RP_INSN_HOST_FN);
    freeze();
    cr_assert(eq(str, (char *)lane_text(0), "hCh"));
    cr_assert(eq(str, (char *)lane_text(1), "h"));
    cr_assert(eq(str, (char *)lane_text(2), ""));
}

Test(freeze, a_fork_and_join_keeps_two_edges)
{
    add(0, RP_INSN_HOST_FN);
    add_wait(1, add_record(0));
    add(1, RP_INSN_HOST_FN);
    add_wait(0, add_record(1));
    add(0, RP_INSN_HOST_FN);
    freeze();
    cr_assert(eq(str, (char *)lane_text(0), "hSWh"));
    cr_assert(eq(str, (char *)lane_text(1), "WhS"));
    cr_assert(eq(u32, graph->program->edge_count, 2));
}

Test(freeze, a_record_nobody_waits_for_is_dropped)
{
    add(0, RP_INSN_HOST_FN);
    add_record(0);
    freeze();
    cr_assert(eq(str, (char *)lane_text(0), "h"));
    cr_assert(eq(u32, graph->program->edge_count, 0));
}

Test(freeze, a_wait_in_the_recording_lane_is_dropped)
{
    const uint32_t edge = add_record(0);
    add(0, RP_INSN_HOST_FN);
    add_wait(0, edge);
    freeze();
    cr_assert(eq(str, (char *)lane_text(0), "h"));
}

Test(freeze, a_wait_that_another_wait_implies_is_dropped)
{
    // Lane 1 waits for lane 0, lane 2 for lane 1: a further wait of 2 for 0 says nothing new.
    const uint32_t first = add_record(0);
    add_wait(1, first);
    add(1, RP_INSN_HOST_FN);
    add_wait(2, add_record(1));
    add_wait(2, first);
    add(2, RP_INSN_HOST_FN);
    freeze();
    cr_assert(eq(str, (char *)lane_text(2), "Wh"));
    cr_assert(eq(u32, graph->program->edge_count, 2));
}

Test(freeze, collectives_of_a_communicator_are_chained_across_lanes)
{
    add_collective(0, 0);
    add_collective(1, 0);
    add_collective(0, 0);
    freeze();
    cr_assert(eq(str, (char *)lane_text(0), "CSWC"));
    cr_assert(eq(str, (char *)lane_text(1), "WCS"));
    cr_assert(eq(u32, graph->program->comm_count, 1));
    cr_assert(eq(u32, graph->program->comm_ops[0], 3));
}

Test(freeze, a_chain_that_the_user_ordered_needs_no_edge_of_ours)
{
    add_collective(0, 0);
    add_wait(1, add_record(0));
    add_collective(1, 0);
    freeze();
    cr_assert(eq(str, (char *)lane_text(0), "CS"));
    cr_assert(eq(str, (char *)lane_text(1), "WC"));
    cr_assert(eq(u32, graph->program->edge_count, 1));
}

Test(freeze, communicators_do_not_order_each_other)
{
    add_collective(0, 0);
    add_collective(1, 1);
    add_collective(0, 0);
    freeze();
    cr_assert(eq(str, (char *)lane_text(0), "CC"));
    cr_assert(eq(str, (char *)lane_text(1), "C"));
    cr_assert(eq(u32, graph->program->comm_count, 2));
    cr_assert(eq(u32, graph->program->comm_ops[0], 2));
    cr_assert(eq(u32, graph->program->comm_ops[1], 1));
}

Test(freeze, copies_that_continue_each_other_merge)
{
    add_copy(0, 0, 128, 16);
    add_copy(0, 16, 144, 16);
    add_copy(0, 32, 160, 8);
    freeze();
    cr_assert(eq(str, (char *)lane_text(0), "c"));
    cr_assert(eq(u64, graph->program->insn[0].u.copy.bytes, 40));
}

Test(freeze, copies_that_read_what_was_written_do_not_merge)
{
    // The second copy reads the bytes that the first one wrote.
    add_copy(0, 16, 0, 16);
    add_copy(0, 32, 16, 16);
    freeze();
    cr_assert(eq(str, (char *)lane_text(0), "cc"));
}

Test(freeze, copies_with_a_gap_or_another_task_between_do_not_merge)
{
    add_copy(0, 0, 128, 16);
    add_copy(0, 20, 144, 16);
    add(0, RP_INSN_HOST_FN);
    add_copy(0, 36, 160, 8);
    freeze();
    cr_assert(eq(str, (char *)lane_text(0), "cchc"));
}

/* Every order that a chain of random records and waits demands still holds after the pruning:
 * run the program in the most adverse legal order and look. */
Test(freeze, pruning_keeps_every_order_of_random_recordings)
{
    unsigned state = 7;
    uint32_t open_edge = UINT32_MAX;
    for (int i = 0; i < 200; i++) {
        state = state * 1103515245u + 12345u;
        const uint32_t lane = (state >> 16) % LANES;
        switch ((state >> 20) % 4) {
        case 0:
            open_edge = add_record(lane);
            break;
        case 1:
            if (open_edge != UINT32_MAX) {
                add_wait(lane, open_edge);
            }
            break;
        default:
            add_collective(lane, 0);
        }
    }
    const uint32_t ops = graph->op_count;
    freeze();
    const struct rp_program *program = graph->program;
    bool set[512] = { false };
    uint32_t at[LANES];
    memcpy(at, program->lane_first, sizeof at);
    uint32_t next_op = 0;
    bool moved = true;
    while (moved) {
        moved = false;
        for (int l = LANES - 1; l >= 0; l--) { // the last lane first: against call order
            while (at[l] < program->lane_first[l + 1]) {
                const struct rp_insn *insn = &program->insn[at[l]];
                if (insn->kind == RP_INSN_EDGE_WAIT && !set[insn->index]) {
                    break;
                }
                set[insn->index] |= insn->kind == RP_INSN_EDGE_SIGNAL;
                if (insn->kind == RP_INSN_COLLECTIVE) {
                    cr_assert(eq(u32, insn->index, next_op));
                    next_op++;
                }
                at[l]++;
                moved = true;
            }
        }
    }
    cr_assert(eq(u32, next_op, ops));
}
