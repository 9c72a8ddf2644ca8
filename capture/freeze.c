// Freeze: from a recorded graph to a program.
//
// The recording is a list of nodes in call order, each in a lane. What the
// program needs besides lane order is edges between lanes, and as few of them
// as possible: a waiting lane is a lane that the scheduler looks at in vain.
//
//  - Collectives of one communicator must run in call order, also when they
//    were captured on forked streams: neighbours in different lanes get an edge.
//  - A wait is dropped when what it waits for is known to have finished anyway.
//    Known is kept as a vector clock per lane: the last node of every lane that
//    has finished when this lane gets to its next node.
//  - A signal that nobody waits for is dropped.
//  - Copies that continue one another become one.

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "capture/graph.h"
#include "transport/comm.h"

#define NONE UINT32_MAX
#define CLOCK_WORDS_MAX (1u << 24) /* beyond this the clocks are not worth their memory */

/* What freezing decides for one node. */
struct plan {
    bool keep;
    uint32_t chain_wait;   /* edge to wait for before the node; NONE */
    uint32_t chain_signal; /* edge to signal after it; NONE */
};

/* The last collective of one communicator seen so far. */
struct last_op {
    struct rp_comm *comm;
    uint32_t node;
    uint32_t *clock; /* [lanes] as of that node */
};

struct freezer {
    struct rp_graph *graph;
    struct plan *plan;     /* [nodes] */
    uint32_t *edge_number; /* [edges of the recording]: number in the program; NONE: dropped */
    uint32_t edges;        /* edges of the program */
    struct last_op *last;  /* [comms] */
    uint32_t comms;
    bool use_clocks;
    uint32_t *lane_clock; /* [lanes][lanes], entries are node + 1 */
    uint32_t *edge_clock; /* [edges of the recording][lanes] */
    uint32_t *last_clock; /* [comms cap][lanes] */
};

static uint32_t *clock_of(uint32_t *clocks, const struct freezer *f, uint32_t index)
{
    return clocks + (size_t)index * f->graph->lane_count;
}

static void merge_clock(const struct freezer *f, uint32_t *into, const uint32_t *from)
{
    for (uint32_t l = 0; l < f->graph->lane_count; l++) {
        into[l] = from[l] > into[l] ? from[l] : into[l];
    }
}

/* Whether `lane` is known to come after `node`. */
static bool known_finished(const struct freezer *f, uint32_t lane, uint32_t node)
{
    const uint32_t other = f->graph->node[node].lane;
    return other == lane || (f->use_clocks && clock_of(f->lane_clock, f, lane)[other] > node);
}

static rp_status freezer_init(struct freezer *f, struct rp_graph *graph)
{
    const size_t lanes = graph->lane_count;
    // Every communicator has at least one op, so op_count bounds their number.
    const size_t clocks = (lanes + graph->edge_count + graph->op_count) * lanes;
    *f = (struct freezer){ .graph = graph, .use_clocks = lanes > 1 && clocks <= CLOCK_WORDS_MAX };
    f->plan = rp_calloc(graph->node_count + 1u, sizeof *f->plan);
    f->edge_number = rp_calloc(graph->edge_count + 1u, sizeof *f->edge_number);
    f->last = rp_calloc(graph->op_count + 1u, sizeof *f->last);
    f->lane_clock = rp_calloc(f->use_clocks ? clocks : 1, sizeof *f->lane_clock);
    if (f->plan == NULL || f->edge_number == NULL || f->last == NULL || f->lane_clock == NULL) {
        return rp_fail(RP_ENOMEM, "no memory to freeze a graph of %u tasks", graph->node_count);
    }
    if (f->use_clocks) {
        f->edge_clock = clock_of(f->lane_clock, f, graph->lane_count);
        f->last_clock = clock_of(f->edge_clock, f, graph->edge_count);
    }
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        f->edge_number[e] = NONE;
    }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        f->plan[n] = (struct plan){ .keep = true, .chain_wait = NONE, .chain_signal = NONE };
    }
    return RP_OK;
}

static void freezer_fini(struct freezer *f)
{
    rp_free(f->plan);
    rp_free(f->edge_number);
    rp_free(f->last);
    rp_free(f->lane_clock);
}

static struct last_op *last_op_of(struct freezer *f, struct rp_comm *comm)
{
    for (uint32_t c = 0; c < f->comms; c++) {
        if (f->last[c].comm == comm) {
            return &f->last[c];
        }
    }
    struct last_op *added = &f->last[f->comms];
    *added = (struct last_op){ .comm = comm, .node = NONE };
    if (f->use_clocks) {
        added->clock = clock_of(f->last_clock, f, f->comms);
    }
    f->comms++;
    return added;
}

/* Call order on the communicator: after its previous collective, whatever its lane. */
static void plan_collective(struct freezer *f, uint32_t node)
{
    const struct rp_node *at = &f->graph->node[node];
    struct last_op *last = last_op_of(f, f->graph->op[at->insn.index].comm);
    if (last->node != NONE && !known_finished(f, at->lane, last->node)) {
        f->plan[last->node].chain_signal = f->edges;
        f->plan[node].chain_wait = f->edges;
        f->edges++;
        if (f->use_clocks) {
            merge_clock(f, clock_of(f->lane_clock, f, at->lane), last->clock);
        }
    }
    last->node = node;
    if (f->use_clocks) {
        uint32_t *own = clock_of(f->lane_clock, f, at->lane);
        memcpy(last->clock, own, f->graph->lane_count * sizeof *own);
        last->clock[at->lane] = node + 1;
    }
}

static void plan_wait(struct freezer *f, uint32_t node)
{
    const struct rp_node *at = &f->graph->node[node];
    const uint32_t edge = at->insn.index;
    if (known_finished(f, at->lane, f->graph->edge[edge].from_node)) {
        f->plan[node].keep = false;
        return;
    }
    if (f->edge_number[edge] == NONE) {
        f->edge_number[edge] = f->edges++;
    }
    if (f->use_clocks) {
        merge_clock(f, clock_of(f->lane_clock, f, at->lane), clock_of(f->edge_clock, f, edge));
    }
}

static void make_plan(struct freezer *f)
{
    const struct rp_graph *graph = f->graph;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const struct rp_node *at = &graph->node[n];
        if (at->insn.kind == RP_INSN_COLLECTIVE) {
            plan_collective(f, n);
        } else if (at->insn.kind == RP_INSN_EDGE_WAIT) {
            plan_wait(f, n);
        }
        if (f->use_clocks) {
            uint32_t *own = clock_of(f->lane_clock, f, at->lane);
            own[at->lane] = n + 1;
            if (at->insn.kind == RP_INSN_EDGE_SIGNAL) {
                memcpy(clock_of(f->edge_clock, f, at->insn.index), own,
                        graph->lane_count * sizeof *own);
            }
        }
    }
    // Now that all waits are known: signals that nobody waits for.
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const struct rp_insn *insn = &graph->node[n].insn;
        if (insn->kind == RP_INSN_EDGE_SIGNAL && f->edge_number[insn->index] == NONE) {
            f->plan[n].keep = false;
        }
    }
}

/* Whether `next` continues `copy`, and doing both at once reads nothing that was written before. */
static bool continues(const struct rp_insn *copy, const struct rp_insn *next)
{
    const uintptr_t dst = (uintptr_t)copy->u.copy.dst;
    const uintptr_t src = (uintptr_t)copy->u.copy.src;
    const uint64_t bytes = copy->u.copy.bytes + next->u.copy.bytes;
    return copy->kind == RP_INSN_COPY && next->kind == RP_INSN_COPY &&
           dst + copy->u.copy.bytes == (uintptr_t)next->u.copy.dst &&
           src + copy->u.copy.bytes == (uintptr_t)next->u.copy.src &&
           (dst + bytes <= src || src + bytes <= dst);
}

/* Appends to a lane that may hold up to its reserved instructions; merges copies. */
static void emit(
        struct rp_program *program, uint32_t first, uint32_t *end, const struct rp_insn *insn)
{
    struct rp_insn *before = *end > first ? &program->insn[*end - 1] : NULL;
    if (before != NULL && continues(before, insn)) {
        before->u.copy.bytes += insn->u.copy.bytes;
        return;
    }
    program->insn[*end] = *insn;
    if (rp_insn_names_event(insn)) {
        rp_event_ref(insn->u.event.event);
    }
    (*end)++;
}

static void emit_edge(struct rp_program *program, uint32_t first, uint32_t *end,
        enum rp_insn_kind kind, uint32_t edge)
{
    const struct rp_insn insn = { .kind = (uint8_t)kind, .index = edge };
    emit(program, first, end, &insn);
}

static void emit_node(const struct freezer *f, struct rp_program *program, uint32_t first,
        uint32_t *end, uint32_t node)
{
    const struct plan *plan = &f->plan[node];
    struct rp_insn insn = f->graph->node[node].insn;
    if (insn.kind == RP_INSN_EDGE_SIGNAL || insn.kind == RP_INSN_EDGE_WAIT) {
        insn.index = f->edge_number[insn.index];
    }
    if (plan->chain_wait != NONE) {
        emit_edge(program, first, end, RP_INSN_EDGE_WAIT, plan->chain_wait);
    }
    emit(program, first, end, &insn);
    if (plan->chain_signal != NONE) {
        emit_edge(program, first, end, RP_INSN_EDGE_SIGNAL, plan->chain_signal);
    }
}

/* Instructions in lane order. A pass over all nodes a lane: lanes are few, nodes many. */
static void flatten(const struct freezer *f, struct rp_program *program)
{
    const struct rp_graph *graph = f->graph;
    uint32_t end = 0;
    for (uint32_t lane = 0; lane < graph->lane_count; lane++) {
        const uint32_t first = end;
        program->lane_first[lane] = first;
        for (uint32_t n = 0; n < graph->node_count; n++) {
            if (graph->node[n].lane == lane && f->plan[n].keep) {
                emit_node(f, program, first, &end, n);
            }
        }
    }
    program->lane_first[graph->lane_count] = end;
}

static void fill_ops(const struct freezer *f, struct rp_program *program)
{
    const struct rp_graph *graph = f->graph;
    for (uint32_t c = 0; c < f->comms; c++) {
        program->comm[c] = f->last[c].comm;
        rp_comm_ref(program->comm[c]);
    }
    for (uint32_t o = 0; o < graph->op_count; o++) {
        program->op[o] = graph->op[o];
        for (uint32_t c = 0; c < f->comms; c++) {
            program->comm_ops[c] += program->comm[c] == graph->op[o].comm;
        }
    }
}

rp_status rp_graph_freeze(struct rp_graph *graph)
{
    struct freezer f;
    rp_status st = freezer_init(&f, graph);
    if (st == RP_OK) {
        make_plan(&f);
        // Each program edge adds at most one signal and one wait beyond the recorded nodes.
        struct rp_program *program = rp_program_create(graph->lane_count,
                graph->node_count + 2 * f.edges, f.edges, graph->op_count, f.comms);
        if (program == NULL) {
            st = rp_fail(RP_ENOMEM, "no memory for a program of %u tasks", graph->node_count);
        } else {
            program->id = graph->id;
            flatten(&f, program);
            fill_ops(&f, program);
            graph->program = program;
        }
    }
    freezer_fini(&f);
    return st;
}
