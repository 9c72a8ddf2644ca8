// What a program needs besides lane order is edges between lanes, and as few of them as possible: a
// waiting lane is a lane that the scheduler looks at in vain.
//
//  - Collectives of one communicator must run in call order, also when they were captured on forked
//    streams: neighbours in different lanes get an edge. Sends and receives have
//    places in their pairs' sequences instead; where conditions decide how many there are, the edge
//    leads from where they are numbered. A conditional counts as a collective
//    of every communicator that its sub-graphs use.
//  - A wait is dropped when what it waits for is known to have finished anyway. Known is kept as a
//    vector clock per lane: the last node of every lane that has finished when this lane gets to
//    its next node.
//  - A signal that nobody waits for is dropped, and so is what was disabled.

#include "capture/freeze_plan.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "capture/cond.h"

#define CLOCK_WORDS_MAX (1u << 24) // beyond this the clocks are not worth their memory

// The last use of one communicator seen so far.
struct last_use {
    uint32_t node;   // RP_NONE: none
    uint32_t *clock; // [lanes] as of that node
};

// While one part is planned.
struct planner {
    struct rp_plan *plan;
    struct rp_part *part;
    const bool *uses;      // [parts][comms]: by its ops, and its sub-graphs'
    struct last_use *last; // [comms]
    bool use_clocks;
    uint32_t *clocks;     // all of them, in three pieces
    uint32_t *lane_clock; // [lanes][lanes], entries are node + 1
    uint32_t *edge_clock; // [recorded edges][lanes]
    uint32_t *last_clock; // [comms][lanes]
};

static rp_status no_memory(const struct rp_graph *graph)
{
    return rp_fail(RP_ENOMEM, "no memory to freeze a graph of %u tasks", graph->root->next_seq);
}

// ---- the parts ----

static rp_status part_init(struct rp_part *part, struct rp_graph *graph)
{
    part->graph = graph;
    part->node = rp_calloc(graph->node_count + 1u, sizeof *part->node);
    part->lane_node = rp_calloc(graph->lane_count + 1u, sizeof *part->lane_node);
    part->edge_number = rp_calloc(graph->edge_count + 1u, sizeof *part->edge_number);
    part->cond_sub = rp_calloc(graph->cond_count + 1u, sizeof *part->cond_sub);
    if (part->node == NULL || part->lane_node == NULL || part->edge_number == NULL ||
            part->cond_sub == NULL) {
        return no_memory(graph);
    }
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        part->edge_number[e] = RP_NONE;
    }
    for (uint32_t lane = 0; lane < graph->lane_count; lane++) {
        part->lane_node[lane] = RP_NONE;
    }
    for (uint32_t n = graph->node_count; n-- > 0;) {
        const struct rp_node *node = &graph->node[n];
        part->node[n] = (struct rp_plan_node){
            .next_in_lane = part->lane_node[node->lane],
            .waits = RP_NONE,
            .signals = RP_NONE,
            .at = RP_NODE_NOWHERE,
            .keep = (node->flags & RP_NODE_DISABLED) == 0,
        };
        part->lane_node[node->lane] = n;
    }
    return RP_OK;
}

// The tree in breadth: a conditional's sub-graphs are neighbours.
static rp_status collect_parts(struct rp_plan *plan, struct rp_graph *root)
{
    plan->part = rp_calloc(root->sub_count + 1u, sizeof *plan->part);
    if (plan->part == NULL) {
        return no_memory(root);
    }
    plan->part_count = 1;
    rp_status st = part_init(&plan->part[0], root);
    for (uint32_t p = 0; st == RP_OK && p < plan->part_count; p++) {
        const struct rp_graph *graph = plan->part[p].graph;
        for (uint32_t c = 0; st == RP_OK && c < graph->cond_count; c++) {
            plan->part[p].cond_sub[c] = plan->part_count - 1;
            for (uint32_t s = 0; st == RP_OK && s < graph->cond[c].count; s++) {
                st = part_init(&plan->part[plan->part_count++], graph->cond[c].sub[s]);
            }
        }
    }
    return st;
}

// ---- the communicators ----

static uint32_t comm_index(const struct rp_plan *plan, const struct rp_comm *comm)
{
    uint32_t c = 0;
    while (c < plan->size.comms && plan->comm[c] != comm) {
        c++;
    }
    return c;
}

static rp_status collect_comms(struct rp_plan *plan)
{
    uint32_t room = 0;
    for (uint32_t p = 0; p < plan->part_count; p++) {
        const struct rp_graph *graph = plan->part[p].graph;
        for (uint32_t o = 0; o < graph->op_count; o++) {
            const uint32_t c = comm_index(plan, graph->op[o].comm);
            if (c != plan->size.comms) {
                continue;
            }
            struct rp_comm **comms = rp_array_room(plan->comm, c, &room, sizeof(*comms));
            if (comms == NULL) {
                return no_memory(graph);
            }
            plan->comm = comms;
            plan->comm[plan->size.comms++] = graph->op[o].comm;
        }
    }
    return RP_OK;
}

// Which part uses which communicators; from the leaves to the root.
static void fill_uses(const struct rp_plan *plan, bool *uses)
{
    const uint32_t comms = plan->size.comms;
    for (uint32_t p = plan->part_count; p-- > 0;) {
        const struct rp_part *part = &plan->part[p];
        bool *own = uses + (size_t)p * comms;
        for (uint32_t o = 0; o < part->graph->op_count; o++) {
            own[comm_index(plan, part->graph->op[o].comm)] = true;
        }
        for (uint32_t c = 0; c < part->graph->cond_count; c++) {
            for (uint32_t s = 0; s < part->graph->cond[c].count; s++) {
                const bool *subs = uses + (size_t)(part->cond_sub[c] + 1 + s) * comms;
                for (uint32_t i = 0; i < comms; i++) {
                    own[i] = own[i] || subs[i];
                }
            }
        }
    }
}

// ---- clocks ----

static uint32_t *clock_of(uint32_t *clocks, const struct planner *f, uint32_t index)
{
    return clocks + (size_t)index * f->part->graph->lane_count;
}

static void merge_clock(const struct planner *f, uint32_t *into, const uint32_t *from)
{
    for (uint32_t l = 0; l < f->part->graph->lane_count; l++) {
        into[l] = from[l] > into[l] ? from[l] : into[l];
    }
}

// Whether `lane` is known to come after `node`.
static bool known_finished(const struct planner *f, uint32_t lane, uint32_t node)
{
    const uint32_t other = f->part->graph->node[node].lane;
    return other == lane || (f->use_clocks && clock_of(f->lane_clock, f, lane)[other] > node);
}

static rp_status planner_init(struct planner *f)
{
    const struct rp_graph *graph = f->part->graph;
    const size_t lanes = graph->lane_count;
    const size_t words = (lanes + graph->edge_count + f->plan->size.comms) * lanes;
    f->use_clocks = lanes > 1 && words <= CLOCK_WORDS_MAX;
    f->last = rp_calloc(f->plan->size.comms + 1u, sizeof *f->last);
    f->clocks = rp_calloc(f->use_clocks ? words : 1, sizeof *f->clocks);
    if (f->last == NULL || f->clocks == NULL) {
        return no_memory(graph);
    }
    if (f->use_clocks) {
        f->lane_clock = f->clocks;
        f->edge_clock = clock_of(f->lane_clock, f, graph->lane_count);
        f->last_clock = clock_of(f->edge_clock, f, graph->edge_count);
    }
    for (uint32_t c = 0; c < f->plan->size.comms; c++) {
        f->last[c].node = RP_NONE;
        f->last[c].clock = f->use_clocks ? clock_of(f->last_clock, f, c) : NULL;
    }
    return RP_OK;
}

static void planner_fini(struct planner *f)
{
    rp_free(f->last);
    rp_free(f->clocks);
    f->last = NULL;
    f->clocks = NULL;
}

// ---- edges ----

static rp_status add_link(struct rp_part *part, uint32_t *list, uint32_t edge)
{
    struct rp_plan_link *links =
            rp_array_room(part->link, part->link_count, &part->link_cap, sizeof *links);
    if (links == NULL) {
        return no_memory(part->graph);
    }
    part->link = links;
    part->link[part->link_count] = (struct rp_plan_link){ .edge = edge, .next = *list };
    *list = part->link_count++;
    return RP_OK;
}

// Call order on a communicator: after its previous use, whatever its lane.
static rp_status plan_use(struct planner *f, uint32_t node, uint32_t comm)
{
    struct rp_part *part = f->part;
    const uint32_t lane = part->graph->node[node].lane;
    struct last_use *last = &f->last[comm];
    if (last->node != RP_NONE && !known_finished(f, lane, last->node)) {
        rp_status st = add_link(part, &part->node[last->node].signals, part->edges);
        if (st == RP_OK) {
            st = add_link(part, &part->node[node].waits, part->edges);
        }
        if (st != RP_OK) {
            return st;
        }
        part->edges++;
        if (f->use_clocks) {
            merge_clock(f, clock_of(f->lane_clock, f, lane), last->clock);
        }
    }
    last->node = node;
    if (f->use_clocks) {
        const uint32_t *own = clock_of(f->lane_clock, f, lane);
        memcpy(last->clock, own, part->graph->lane_count * sizeof *own);
        last->clock[lane] = node + 1;
    }
    return RP_OK;
}

static rp_status plan_uses(struct planner *f, uint32_t node)
{
    const struct rp_insn *insn = &f->part->graph->node[node].insn;
    if (f->plan->open_ended && f->part->graph->kind == RP_GRAPH_BUILT) {
        return RP_OK; // jumps decide in which order they come
    }
    if (insn->kind == RP_INSN_COLLECTIVE &&
            rp_op_is_pairs(f->part->graph->op[insn->index].record.op) && !f->plan->open_ended) {
        return RP_OK; // they have the order of their pairs alone
    }
    if (insn->kind == RP_INSN_COLLECTIVE) {
        return plan_use(f, node, comm_index(f->plan, f->part->graph->op[insn->index].comm));
    }
    rp_status st = RP_OK;
    const uint32_t comms = f->plan->size.comms;
    for (uint32_t s = 0; s < f->part->graph->cond[insn->index].count; s++) {
        const bool *uses = f->uses + (size_t)(f->part->cond_sub[insn->index] + 1 + s) * comms;
        for (uint32_t c = 0; st == RP_OK && c < comms; c++) {
            if (uses[c] && f->last[c].node != node) {
                st = plan_use(f, node, c);
            }
        }
    }
    return st;
}

static void plan_wait(struct planner *f, uint32_t node)
{
    struct rp_part *part = f->part;
    const struct rp_node *at = &part->graph->node[node];
    const uint32_t edge = at->insn.index;
    const uint32_t from = part->graph->edge[edge].from_node;
    if (!part->node[from].keep || known_finished(f, at->lane, from)) {
        part->node[node].keep = false;
        return;
    }
    if (part->edge_number[edge] == RP_NONE) {
        part->edge_number[edge] = part->edges++;
    }
    if (f->use_clocks) {
        merge_clock(f, clock_of(f->lane_clock, f, at->lane), clock_of(f->edge_clock, f, edge));
    }
}

static void tick(struct planner *f, uint32_t node)
{
    const struct rp_node *at = &f->part->graph->node[node];
    uint32_t *own = clock_of(f->lane_clock, f, at->lane);
    own[at->lane] = node + 1;
    if (at->insn.kind == RP_INSN_EDGE_SIGNAL) {
        memcpy(clock_of(f->edge_clock, f, at->insn.index), own,
                f->part->graph->lane_count * sizeof *own);
    }
}

static rp_status plan_nodes(struct planner *f)
{
    struct rp_part *part = f->part;
    const struct rp_graph *graph = part->graph;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const struct rp_insn *insn = &graph->node[n].insn;
        if (!part->node[n].keep) {
            continue;
        }
        if (insn->kind == RP_INSN_COLLECTIVE || insn->kind == RP_INSN_COND) {
            const rp_status st = plan_uses(f, n);
            if (st != RP_OK) {
                return st;
            }
        } else if (insn->kind == RP_INSN_EDGE_WAIT) {
            plan_wait(f, n);
        }
        if (f->use_clocks) {
            tick(f, n);
        }
    }
    // Now that all waits are known: signals that nobody waits for.
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const struct rp_insn *insn = &graph->node[n].insn;
        if (insn->kind == RP_INSN_EDGE_SIGNAL && part->edge_number[insn->index] == RP_NONE) {
            part->node[n].keep = false;
        }
    }
    return RP_OK;
}

static rp_status plan_part(struct rp_plan *plan, struct rp_part *part, const bool *uses)
{
    struct planner f = { .plan = plan, .part = part, .uses = uses };
    rp_status st = planner_init(&f);
    if (st == RP_OK) {
        st = plan_nodes(&f);
    }
    planner_fini(&f);
    return st;
}

// ---- sizes ----

bool rp_plan_numbers(const struct rp_part *part, uint32_t node)
{
    const struct rp_insn *insn = &part->graph->node[node].insn;
    return insn->kind == RP_INSN_COLLECTIVE && part->node[node].signals != RP_NONE &&
           rp_op_is_pairs(part->graph->op[insn->index].record.op);
}

// Whether jumps decide what runs. A lane that only others start has them, or never runs at all.
static bool jumps(const struct rp_graph *graph)
{
    for (uint32_t lane = 0; lane < graph->lane_count; lane++) {
        if (graph->lane[lane].on_demand) {
            return true;
        }
    }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        switch (graph->node[n].insn.kind) {
        case RP_INSN_LABEL_SWITCH:
        case RP_INSN_LANE_ACTIVATE:
        case RP_INSN_LANE_SWITCH:
            return true;
        default:
            break;
        }
    }
    return false;
}

static void add_part_size(struct rp_plan *plan, struct rp_part *part)
{
    struct rp_program_size *size = &plan->size;
    part->lane_first = size->lanes;
    part->edge_first = size->edges;
    part->op_first = size->ops;
    size->lanes += part->graph->lane_count;
    size->edges += part->edges;
    size->ops += part->graph->op_count;
    size->insns += part->link_count;
    for (uint32_t n = 0; n < part->graph->node_count; n++) {
        const struct rp_insn *insn = &part->graph->node[n].insn;
        if (!part->node[n].keep) {
            continue;
        }
        size->insns += 1 + (uint32_t)rp_plan_numbers(part, n);
        if (insn->kind == RP_INSN_EVENT_RECORD || insn->kind == RP_INSN_EVENT_WAIT) {
            size->bounds++;
        } else if (insn->kind == RP_INSN_LABEL_SWITCH) {
            size->targets += insn->u.label_switch.max + 1;
        }
    }
}

static void add_sizes(struct rp_plan *plan)
{
    for (uint32_t p = 0; p < plan->part_count; p++) {
        add_part_size(plan, &plan->part[p]);
    }
    plan->size.subs = plan->part_count - 1;
    for (const struct rp_cond *c = plan->part[0].graph->conds; c != NULL; c = c->next) {
        plan->size.insns += c->has_default;
    }
}

rp_status rp_plan_make(struct rp_graph *root, struct rp_plan *plan)
{
    *plan = (struct rp_plan){ .open_ended = root->sub_count != 0 || jumps(root) };
    rp_status st = collect_parts(plan, root);
    if (st == RP_OK) {
        st = collect_comms(plan);
    }
    if (st != RP_OK) {
        return st;
    }
    bool *uses = rp_calloc((size_t)plan->part_count * (plan->size.comms + 1u), sizeof *uses);
    if (uses == NULL) {
        return no_memory(root);
    }
    fill_uses(plan, uses);
    for (uint32_t p = 0; st == RP_OK && p < plan->part_count; p++) {
        st = plan_part(plan, &plan->part[p], uses);
    }
    rp_free(uses);
    if (st == RP_OK) {
        add_sizes(plan);
    }
    return st;
}

void rp_plan_free(struct rp_plan *plan)
{
    for (uint32_t p = 0; p < plan->part_count; p++) {
        struct rp_part *part = &plan->part[p];
        rp_free(part->node);
        rp_free(part->lane_node);
        rp_free(part->edge_number);
        rp_free(part->cond_sub);
        rp_free(part->link);
    }
    rp_free(plan->part);
    rp_free(plan->comm);
}
