// Freeze: from a recorded graph to a program.
//
// The recording is a tree of graphs: the root, and the sub-graphs of its
// conditionals. All become lanes of one program. First every graph is planned
// (freeze_plan.c): which nodes it needs, and which edges between lanes. Then the
// program of the right size is made, the lanes are written one after another,
// and what refers to a place (labels, conditionals) is filled in. Only then do
// the graphs take the new program over; before that nothing can fail any more.

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "capture/cond.h"
#include "capture/freeze_plan.h"
#include "replay/label.h"
#include "replay/pair_op.h"
#include "transport/comm.h"

/* The program while it is written. */
struct writer {
    const struct rp_plan *plan;
    struct rp_program *program;
    uint32_t end;   /* instructions so far */
    uint32_t fresh; /* the next instruction must not be merged with one before this */
    uint32_t bounds;
    uint32_t targets;
};

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

/* Appends to the lane; merges copies. Where the instruction is. */
static uint32_t emit(struct writer *w, const struct rp_insn *insn)
{
    struct rp_insn *before = w->end > w->fresh ? &w->program->insn[w->end - 1] : NULL;
    if (before != NULL && continues(before, insn)) {
        before->u.copy.bytes += insn->u.copy.bytes;
        return RP_NODE_NOWHERE; // a part of an instruction cannot be changed alone
    }
    w->program->insn[w->end] = *insn;
    rp_insn_hold(insn);
    return w->end++;
}

static void emit_edge(struct writer *w, enum rp_insn_kind kind, uint32_t edge)
{
    const struct rp_insn insn = { .kind = (uint8_t)kind, .index = edge };
    (void)emit(w, &insn);
}

static void emit_links(struct writer *w, const struct rp_part *part, uint32_t link, bool wait)
{
    for (; link != RP_NONE; link = part->link[link].next) {
        emit_edge(w, wait ? RP_INSN_EDGE_WAIT : RP_INSN_EDGE_SIGNAL,
                part->edge_first + part->link[link].edge);
    }
}

/* An external record or wait: its ticket is drawn when the replay is queued. */
static uint32_t emit_bound(struct writer *w, struct rp_insn insn)
{
    insn.flag = RP_INSN_BOUND;
    insn.index = w->bounds;
    const uint32_t at = emit(w, &insn);
    w->program->bound[w->bounds++] = at;
    return at;
}

/* Room for the list's targets, filled in by resolve_targets(). */
static uint32_t emit_label_switch(struct writer *w, struct rp_insn insn)
{
    insn.index = w->targets;
    w->targets += insn.u.label_switch.max + 1;
    return emit(w, &insn);
}

static uint32_t emit_cond(struct writer *w, const struct rp_part *part, struct rp_insn insn)
{
    const struct rp_graph_cond *cond = &part->graph->cond[insn.index];
    insn.flag = cond->type;
    insn.u.cond.word = cond->handle->word;
    insn.u.cond.count = cond->count;
    insn.index = part->cond_sub[insn.index];
    return emit(w, &insn);
}

/* The node's own instruction. */
static uint32_t emit_task(struct writer *w, const struct rp_part *part, const struct rp_node *node)
{
    struct rp_insn insn = node->insn;
    switch ((enum rp_insn_kind)insn.kind) {
    case RP_INSN_EDGE_SIGNAL:
    case RP_INSN_EDGE_WAIT:
        emit_edge(w, insn.kind, part->edge_first + part->edge_number[insn.index]);
        return RP_NODE_NOWHERE;
    case RP_INSN_COLLECTIVE:
        insn.index += part->op_first;
        break;
    case RP_INSN_LANE_ACTIVATE:
    case RP_INSN_LANE_SWITCH:
        insn.index += part->lane_first;
        break;
    case RP_INSN_EVENT_RECORD:
    case RP_INSN_EVENT_WAIT:
        return emit_bound(w, insn);
    case RP_INSN_LABEL:
        w->fresh = w->end;
        return w->end; // what comes next
    case RP_INSN_LABEL_SWITCH:
        return emit_label_switch(w, insn);
    case RP_INSN_COND:
        return emit_cond(w, part, insn);
    default:
        break;
    }
    return emit(w, &insn);
}

/* Sends and receives let the next op of their communicator go when they have their numbers. */
static void emit_number(struct writer *w, const struct rp_part *part, const struct rp_node *node)
{
    const struct rp_insn insn = { .kind = RP_INSN_NUMBER,
        .index = part->op_first + node->insn.index };
    (void)emit(w, &insn);
}

/* The defaults of the conditions, before anything else of the root's first lane. */
static void emit_defaults(struct writer *w, const struct rp_graph *root)
{
    for (const struct rp_cond *cond = root->conds; cond != NULL; cond = cond->next) {
        if (cond->has_default) {
            const struct rp_insn insn = { .kind = RP_INSN_VALUE_WRITE,
                .u.value = { .addr = cond->word, .value = cond->default_value } };
            (void)emit(w, &insn);
        }
    }
}

static void write_lane(struct writer *w, struct rp_part *part, uint32_t lane)
{
    struct rp_program *program = w->program;
    const bool root = part->graph->root == part->graph;
    w->fresh = w->end;
    program->lane_first[part->lane_first + lane] = w->end;
    program->lane_starts[part->lane_first + lane] = root && !part->graph->lane[lane].on_demand;
    if (root && lane == 0) {
        emit_defaults(w, part->graph);
    }
    for (uint32_t n = part->lane_node[lane]; n != RP_NONE; n = part->node[n].next_in_lane) {
        struct rp_plan_node *planned = &part->node[n];
        planned->at = RP_NODE_NOWHERE;
        if (!planned->keep) {
            continue;
        }
        const struct rp_node *node = &part->graph->node[n];
        emit_links(w, part, planned->waits, true);
        if (rp_plan_numbers(part, n)) {
            emit_number(w, part, node);
            emit_links(w, part, planned->signals, false);
            planned->at = emit_task(w, part, node);
        } else {
            planned->at = emit_task(w, part, node);
            emit_links(w, part, planned->signals, false);
        }
    }
}

static void write_lanes(struct writer *w, const struct rp_plan *plan)
{
    for (uint32_t p = 0; p < plan->part_count; p++) {
        struct rp_part *part = &plan->part[p];
        for (uint32_t lane = 0; lane < part->graph->lane_count; lane++) {
            write_lane(w, part, lane);
        }
        if (p != 0) {
            w->program->sub[p - 1] = (struct rp_sub){
                .lane_first = part->lane_first,
                .lane_count = part->graph->lane_count,
                .edge_first = part->edge_first,
                .edge_count = part->edges,
            };
        }
    }
    w->program->lane_first[plan->size.lanes] = w->end;
}

/* Each label learns where it stands; all that are switched to stand somewhere, or the graph would
 * not have been accepted. */
static void place_labels(const struct rp_part *part)
{
    for (uint32_t n = 0; n < part->graph->node_count; n++) {
        const struct rp_node *node = &part->graph->node[n];
        if (node->insn.kind == RP_INSN_LABEL) {
            node->insn.u.label.label->lane = part->lane_first + node->lane;
            node->insn.u.label.label->pc = part->node[n].at;
        }
    }
}

/* Labels are a built graph's, which has no sub-graphs. */
static void resolve_targets(struct rp_program *program, const struct rp_part *part)
{
    if (program->target_count == 0) {
        return;
    }
    place_labels(part);
    const uint32_t insns = program->lane_first[program->lane_count];
    for (uint32_t i = 0; i < insns; i++) {
        const struct rp_insn *insn = &program->insn[i];
        if (insn->kind != RP_INSN_LABEL_SWITCH) {
            continue;
        }
        for (uint32_t l = 0; l <= insn->u.label_switch.max; l++) {
            const struct rp_label *label = insn->u.label_switch.list->label[l];
            program->target[insn->index + l] =
                    (struct rp_target){ .lane = label->lane, .pc = label->pc };
        }
    }
}

static void write_ops(const struct rp_plan *plan, struct rp_program *program)
{
    for (uint32_t c = 0; c < plan->size.comms; c++) {
        program->comm[c] = plan->comm[c];
        rp_comm_ref(program->comm[c]);
    }
    for (uint32_t p = 0; p < plan->part_count; p++) {
        const struct rp_part *part = &plan->part[p];
        const struct rp_graph *graph = part->graph;
        if (graph->op_count != 0) {
            memcpy(&program->op[part->op_first], graph->op, graph->op_count * sizeof *graph->op);
        }
        for (uint32_t n = 0; n < graph->node_count; n++) {
            if (graph->node[n].insn.kind != RP_INSN_COLLECTIVE || !part->node[n].keep) {
                continue;
            }
            const struct rp_op *op = &graph->op[graph->node[n].insn.index];
            uint32_t c = 0;
            while (program->comm[c] != op->comm) {
                c++;
            }
            if (rp_op_is_pairs(op->record.op)) {
                program->pair_ops++;
            } else {
                program->comm_ops[c]++;
            }
        }
    }
}

/* The program's sends and receives of one pair and direction: index of their use, added if new. */
static bool find_use(struct rp_program *program, uint32_t *room, struct rp_comm *comm,
        const struct rp_pair_item *item, uint32_t *index)
{
    uint32_t u = 0;
    while (u < program->pair_use_count &&
            (program->pair_use[u].comm != comm || program->pair_use[u].peer != item->peer ||
                    program->pair_use[u].sends != item->sends)) {
        u++;
    }
    if (u == program->pair_use_count) {
        struct rp_pair_use *uses = rp_array_room(program->pair_use, u, room, sizeof *uses);
        if (uses == NULL) {
            return false;
        }
        program->pair_use = uses;
        uses[u] = (struct rp_pair_use){ .comm = comm, .peer = item->peer, .sends = item->sends };
        program->pair_use_count++;
    }
    *index = u;
    return true;
}

/* Counts the sends and receives of the root, in the order in which they were called; with `settle`
 * each learns its place, which cannot fail any more. */
static bool count_pairs(struct rp_program *program, const struct rp_part *part, bool settle)
{
    const struct rp_graph *graph = part->graph;
    uint32_t room = program->pair_use_count;
    for (uint32_t u = 0; u < program->pair_use_count; u++) {
        program->pair_use[u].count = 0;
    }
    for (uint32_t n = 0; !program->open_ended && n < graph->node_count; n++) {
        const struct rp_insn *insn = &graph->node[n].insn;
        if (insn->kind != RP_INSN_COLLECTIVE || !part->node[n].keep ||
                !rp_op_is_pairs(program->op[part->op_first + insn->index].record.op)) {
            continue;
        }
        struct rp_op *op = &program->op[part->op_first + insn->index];
        for (uint32_t i = 0; i < rp_pair_items(op); i++) {
            const struct rp_pair_item item = rp_pair_item_of(op, i);
            uint32_t u = 0;
            if (!find_use(program, &room, op->comm, &item, &u)) {
                return false;
            }
            const struct rp_pair_place place = { .use = u, .index = program->pair_use[u].count++ };
            if (settle) {
                *rp_pair_place_of(op, i) = place;
            }
        }
    }
    return true;
}

/* The graphs take the program over: their ops lie in it from now on. */
static void adopt(const struct rp_plan *plan, struct rp_program *program)
{
    struct rp_graph *root = plan->part[0].graph;
    for (uint32_t p = 0; p < plan->part_count; p++) {
        const struct rp_part *part = &plan->part[p];
        struct rp_graph *graph = part->graph;
        if (!graph->op_borrowed) {
            for (uint32_t o = 0; o < graph->op_count; o++) {
                rp_comm_unref(graph->op[o].comm); // the program has its own reference
            }
            rp_free(graph->op);
            graph->op_borrowed = true;
        }
        graph->op = &program->op[part->op_first];
        for (uint32_t n = 0; n < graph->node_count; n++) {
            const bool is_place = graph->node[n].insn.kind == RP_INSN_LABEL;
            graph->node[n].at = is_place ? RP_NODE_NOWHERE : part->node[n].at;
        }
    }
    if (root->program != NULL) {
        rp_program_unref(root->program);
    }
    root->program = program;
}

rp_status rp_graph_freeze(struct rp_graph *graph)
{
    struct rp_plan plan;
    rp_status st = rp_plan_make(graph, &plan);
    if (st == RP_OK) {
        struct rp_program *program = rp_program_create(&plan.size);
        if (program == NULL) {
            st = rp_fail(RP_ENOMEM, "no memory for a program of %u tasks", graph->next_seq);
        } else {
            struct writer writer = { .plan = &plan, .program = program };
            program->id = graph->id;
            program->open_ended = plan.open_ended;
            write_lanes(&writer, &plan);
            resolve_targets(program, &plan.part[0]);
            write_ops(&plan, program);
            if (count_pairs(program, &plan.part[0], false)) {
                (void)count_pairs(program, &plan.part[0], true);
                adopt(&plan, program);
            } else {
                st = rp_fail(RP_ENOMEM, "no memory for the sends and receives of a program");
                rp_program_unref(program);
            }
        }
    }
    rp_plan_free(&plan);
    return st;
}
