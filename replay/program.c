// Programs: one allocation, so that a replay walks through memory in order.

#include "replay/program.h"

#include "base/alloc.h"
#include "replay/event.h"
#include "replay/label.h"
#include "replay/launch.h"
#include "replay/notify.h"
#include "replay/stream.h"
#include "replay/submission.h"

// Hands out consecutive pieces, each at the beginning of a cache line. Without memory it only
// counts.
struct carver {
    uint8_t *memory;
    uint64_t used;
};

static void *carve(struct carver *carver, uint64_t count, uint64_t bytes)
{
    void *piece = carver->memory == NULL ? NULL : carver->memory + carver->used;
    carver->used += rp_align_up(count * bytes, RP_CACHELINE);
    return piece;
}

struct pieces {
    struct rp_program *program;
    struct rp_insn *insn;
    struct rp_op *op;
    uint32_t *lane_first;
    struct rp_comm **comm;
    uint32_t *comm_ops;
    struct rp_run *run;
    struct rp_lane *lane;
    uint8_t *edge;
    uint32_t *ops_left;
    uint8_t *lane_starts;
    struct rp_sub *sub;
    struct rp_target *target;
    uint32_t *bound;
};

static struct pieces lay_out(struct carver *carver, const struct rp_program_size *size)
{
    return (struct pieces){
        .program = carve(carver, 1, sizeof(struct rp_program)),
        .insn = carve(carver, size->insns, sizeof(struct rp_insn)),
        .op = carve(carver, size->ops, sizeof(struct rp_op)),
        .lane_first = carve(carver, UINT64_C(1) + size->lanes, sizeof(uint32_t)),
        .comm = carve(carver, size->comms, sizeof(struct rp_comm *)),
        .comm_ops = carve(carver, size->comms, sizeof(uint32_t)),
        .run = carve(carver, 1, sizeof(struct rp_run)),
        .lane = carve(carver, size->lanes, sizeof(struct rp_lane)),
        .edge = carve(carver, size->edges, sizeof(uint8_t)),
        .ops_left = carve(carver, size->comms, sizeof(uint32_t)),
        .lane_starts = carve(carver, size->lanes, sizeof(uint8_t)),
        .sub = carve(carver, size->subs, sizeof(struct rp_sub)),
        .target = carve(carver, size->targets, sizeof(struct rp_target)),
        .bound = carve(carver, size->bounds, sizeof(uint32_t)),
    };
}

struct rp_program *rp_program_create(const struct rp_program_size *size)
{
    struct carver carver = { 0 };
    (void)lay_out(&carver, size);
    carver.memory = rp_aligned_calloc(RP_CACHELINE, carver.used);
    if (carver.memory == NULL) {
        return NULL;
    }
    carver.used = 0;
    const struct pieces pieces = lay_out(&carver, size);
    *pieces.run = (struct rp_run){
        .lane = pieces.lane,
        .edge = pieces.edge,
        .ops_left = pieces.ops_left,
    };
    for (uint32_t i = 0; i < size->lanes; i++) {
        rp_list_init(&pieces.lane[i].call.link);
        pieces.lane_starts[i] = 1;
    }
    struct rp_program *program = pieces.program;
    program->lane_count = size->lanes;
    program->edge_count = size->edges;
    program->op_count = size->ops;
    program->comm_count = size->comms;
    program->sub_count = size->subs;
    program->target_count = size->targets;
    program->bound_count = size->bounds;
    program->lane_starts = pieces.lane_starts;
    program->sub = pieces.sub;
    program->target = pieces.target;
    program->bound = pieces.bound;
    program->insn = pieces.insn;
    program->op = pieces.op;
    program->lane_first = pieces.lane_first;
    program->comm = pieces.comm;
    program->comm_ops = pieces.comm_ops;
    program->run = pieces.run;
    // relaxed: nobody else has it yet.
    atomic_store_explicit(&program->refs, 1, memory_order_relaxed);
    return program;
}

// One reference more, or less, to what the instruction names. An APPLY is held by nobody else.
static void change_refs(const struct rp_insn *insn, bool more)
{
    switch ((enum rp_insn_kind)insn->kind) {
    case RP_INSN_EVENT_RECORD:
    case RP_INSN_EVENT_WAIT:
    case RP_INSN_EVENT_RESET:
    case RP_INSN_EDGE_SIGNAL:
    case RP_INSN_EDGE_WAIT:
        if (insn->u.event.event != NULL) {
            (more ? rp_event_ref : rp_event_unref)(insn->u.event.event);
        }
        break;
    case RP_INSN_CALLBACK:
        if (insn->u.call.stream != NULL) {
            (more ? rp_stream_ref : rp_stream_unref)(insn->u.call.stream);
        }
        break;
    case RP_INSN_KERNEL:
        (more ? rp_launch_ref : rp_launch_unref)(insn->u.kernel.launch);
        break;
    case RP_INSN_NOTIFY_RECORD:
    case RP_INSN_NOTIFY_WAIT:
    case RP_INSN_NOTIFY_RESET:
        (more ? rp_notify_ref : rp_notify_unref)(insn->u.notify.notify);
        break;
    case RP_INSN_LABEL:
        (more ? rp_label_ref : rp_label_unref)(insn->u.label.label);
        break;
    case RP_INSN_LABEL_SWITCH:
        if (insn->u.label_switch.list != NULL) {
            (more ? rp_label_list_ref : rp_label_list_unref)(insn->u.label_switch.list);
        }
        break;
    default:
        break;
    }
}

void rp_insn_hold(const struct rp_insn *insn)
{
    change_refs(insn, true);
}

void rp_insn_release(const struct rp_insn *insn)
{
    if (insn->kind == RP_INSN_APPLY) {
        insn->u.apply.drop(insn->u.apply.arg);
    } else {
        change_refs(insn, false);
    }
}

void rp_program_ref(struct rp_program *program)
{
    // relaxed: whoever makes a reference has one.
    atomic_fetch_add_explicit(&program->refs, 1, memory_order_relaxed);
}

void rp_program_unref(struct rp_program *program)
{
    // acq_rel [G1]: pairs with itself: the last one sees all that the others did.
    if (atomic_fetch_sub_explicit(&program->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    const uint32_t insns = program->lane_first[program->lane_count];
    for (uint32_t i = 0; i < insns; i++) {
        rp_insn_release(&program->insn[i]);
    }
    for (uint32_t i = 0; i < program->comm_count; i++) {
        if (program->comm[i] != NULL) {
            rp_comm_unref(program->comm[i]);
        }
    }
    rp_free(program->pair_use);
    if (program->release != NULL) {
        program->release(program, program->owner);
    }
    rp_free(program);
}
