// Programs: one allocation, so that a replay walks through memory in order.

#include "replay/program.h"

#include "base/alloc.h"
#include "replay/event.h"
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
};

static struct pieces lay_out(struct carver *carver, uint32_t lanes, uint32_t insns, uint32_t edges,
        uint32_t ops, uint32_t comms)
{
    return (struct pieces){
        .program = carve(carver, 1, sizeof(struct rp_program)),
        .insn = carve(carver, insns, sizeof(struct rp_insn)),
        .op = carve(carver, ops, sizeof(struct rp_op)),
        .lane_first = carve(carver, UINT64_C(1) + lanes, sizeof(uint32_t)),
        .comm = carve(carver, comms, sizeof(struct rp_comm *)),
        .comm_ops = carve(carver, comms, sizeof(uint32_t)),
        .run = carve(carver, 1, sizeof(struct rp_run)),
        .lane = carve(carver, lanes, sizeof(struct rp_lane)),
        .edge = carve(carver, edges, sizeof(uint8_t)),
        .ops_left = carve(carver, comms, sizeof(uint32_t)),
    };
}

struct rp_program *rp_program_create(
        uint32_t lanes, uint32_t insns, uint32_t edges, uint32_t ops, uint32_t comms)
{
    struct carver carver = { 0 };
    (void)lay_out(&carver, lanes, insns, edges, ops, comms);
    carver.memory = rp_aligned_calloc(RP_CACHELINE, carver.used);
    if (carver.memory == NULL) {
        return NULL;
    }
    carver.used = 0;
    const struct pieces pieces = lay_out(&carver, lanes, insns, edges, ops, comms);
    *pieces.run = (struct rp_run){
        .lane = pieces.lane,
        .edge = pieces.edge,
        .ops_left = pieces.ops_left,
    };
    for (uint32_t i = 0; i < lanes; i++) {
        rp_list_init(&pieces.lane[i].call.link);
    }
    struct rp_program *program = pieces.program;
    program->lane_count = lanes;
    program->edge_count = edges;
    program->op_count = ops;
    program->comm_count = comms;
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
        const struct rp_insn *insn = &program->insn[i];
        if (rp_insn_names_event(insn) && insn->u.event.event != NULL) {
            rp_event_unref(insn->u.event.event);
        }
    }
    for (uint32_t i = 0; i < program->comm_count; i++) {
        if (program->comm[i] != NULL) {
            rp_comm_unref(program->comm[i]);
        }
    }
    if (program->release != NULL) {
        program->release(program, program->owner);
    }
    rp_free(program);
}
