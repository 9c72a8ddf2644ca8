// Control flow inside a graph: conditionals, labels, and lanes that others start.
//
// Sub-graphs are lanes of the same program. A conditional starts them, waits until they have all
// ended, and for WHILE looks again. Like everything a lane does this is a few loads a step.

#include <acl/acl_rt.h>
#include <string.h>

#include "replay/scheduler.h"

static bool lane_ended(struct rp_lane *lane)
{
    // relaxed: lanes end under the baton.
    return atomic_load_explicit(&lane->state, memory_order_relaxed) == RP_LANE_ENDED;
}

static bool sub_ended(const struct rp_program *program, const struct rp_sub *sub)
{
    for (uint32_t i = 0; i < sub->lane_count; i++) {
        if (!lane_ended(&program->run->lane[sub->lane_first + i])) {
            return false;
        }
    }
    return true;
}

static void sub_start(struct rp_program *program, const struct rp_sub *sub)
{
    memset(&program->run->edge[sub->edge_first], 0, sub->edge_count);
    for (uint32_t i = 0; i < sub->lane_count; i++) {
        const uint32_t lane = sub->lane_first + i;
        rp_lane_restart(program, lane, program->lane_first[lane]);
    }
}

// Which of its sub-graphs the conditional runs now; insn->u.cond.count: none.
static uint32_t choose(const struct rp_insn *insn)
{
    // acquire [V1]: pairs with a value write, or whatever else has set the word.
    const uint64_t value = atomic_load_explicit(insn->u.cond.word, memory_order_acquire);
    const uint32_t none = insn->u.cond.count;
    switch ((aclmdlRICondTaskType)insn->flag) {
    case ACL_MODEL_RI_COND_TYPE_IF:
        return value != 0 ? 0 : rp_min_u32(1, none);
    case ACL_MODEL_RI_COND_TYPE_WHILE:
        return value != 0 ? 0 : none;
    case ACL_MODEL_RI_COND_TYPE_SWITCH:
        return value < none ? (uint32_t)value : none;
    }
    return none;
}

// lane->progress: 0, or 1 + the sub-graph that runs.
rp_status rp_task_cond(struct rp_step *step)
{
    struct rp_program *program = step->sub->program;
    const struct rp_insn *insn = step->insn;
    struct rp_lane *lane = step->lane;
    if (lane->progress != 0) {
        if (!sub_ended(program, &program->sub[insn->index + lane->progress - 1])) {
            return RP_AGAIN;
        }
        if (insn->flag != ACL_MODEL_RI_COND_TYPE_WHILE) {
            return RP_OK;
        }
    }
    const uint32_t chosen = choose(insn);
    if (chosen == insn->u.cond.count) {
        return RP_OK;
    }
    sub_start(program, &program->sub[insn->index + chosen]);
    lane->progress = UINT64_C(1) + chosen;
    rp_step_spend(step, RP_TASK_WORK);
    step->moved = true;
    return RP_AGAIN;
}

static void end_own_lane(struct rp_step *step)
{
    // relaxed: lanes end under the baton.
    atomic_store_explicit(&step->lane->state, RP_LANE_ENDED, memory_order_relaxed);
    step->jumped = true;
}

// Starts lane `index` at `pc`; RP_AGAIN while it still runs. The own lane jumps.
static rp_status start_lane(struct rp_step *step, uint32_t index, uint32_t pc)
{
    struct rp_program *program = step->sub->program;
    struct rp_lane *lane = &program->run->lane[index];
    if (lane != step->lane && !lane_ended(lane)) {
        return RP_AGAIN;
    }
    rp_lane_restart(program, index, pc);
    step->jumped = lane == step->lane;
    step->moved = true;
    return RP_OK;
}

rp_status rp_task_label_switch(struct rp_step *step)
{
    const struct rp_program *program = step->sub->program;
    const struct rp_insn *insn = step->insn;
    uint32_t which;
    memcpy(&which, insn->u.label_switch.which, sizeof(which));
    which = rp_min_u32(which, insn->u.label_switch.max);
    const struct rp_target *target = &program->target[insn->index + which];
    const rp_status st = start_lane(step, target->lane, target->pc);
    if (st == RP_OK && !step->jumped) {
        end_own_lane(step);
    }
    return st;
}

rp_status rp_task_lane_activate(struct rp_step *step)
{
    const uint32_t lane = step->insn->index;
    return start_lane(step, lane, step->sub->program->lane_first[lane]);
}

static int compare(const struct rp_insn *insn)
{
    int64_t left = 0;
    int64_t right = 0;
    if (insn->u.lane_switch.type == ACL_RT_SWITCH_INT32) {
        int32_t word;
        memcpy(&word, insn->u.lane_switch.left, sizeof(word));
        left = word;
        memcpy(&word, insn->u.lane_switch.right, sizeof(word));
        right = word;
    } else {
        memcpy(&left, insn->u.lane_switch.left, sizeof(left));
        memcpy(&right, insn->u.lane_switch.right, sizeof(right));
    }
    return (left > right) - (left < right);
}

static bool condition_holds(const struct rp_insn *insn)
{
    const int order = compare(insn);
    switch (insn->u.lane_switch.cond) {
    case ACL_RT_EQUAL:
        return order == 0;
    case ACL_RT_NOT_EQUAL:
        return order != 0;
    case ACL_RT_GREATER:
        return order > 0;
    case ACL_RT_GREATER_OR_EQUAL:
        return order >= 0;
    case ACL_RT_LESS:
        return order < 0;
    default: // ACL_RT_LESS_OR_EQUAL
        return order <= 0;
    }
}

// The stream that is switched to runs instead of this one.
rp_status rp_task_lane_switch(struct rp_step *step)
{
    if (!condition_holds(step->insn)) {
        return RP_OK;
    }
    const uint32_t lane = step->insn->index;
    const rp_status st = start_lane(step, lane, step->sub->program->lane_first[lane]);
    if (st == RP_OK && !step->jumped) {
        end_own_lane(step);
    }
    return st;
}
