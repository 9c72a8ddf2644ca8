// What the instructions do, one handler a kind. A handler goes on from what lane->progress says,
// moves at most a chunk, and never blocks.

#include <inttypes.h>
#include <string.h>

#include "kernels/copy.h"
#include "replay/collective.h"
#include "replay/pair_op.h"
#include "replay/scheduler.h"
#include "replay/stream.h"

// Of `left` bytes, what this call may move.
static uint64_t chunk(const struct rp_step *step, uint64_t left)
{
    return rp_min_u64(left, rp_min_u64(RP_CHUNK_BYTES, rp_max_u64(step->work_left, RP_CACHELINE)));
}

// `bytes` more of `total` are done.
static rp_status advance(struct rp_step *step, uint64_t bytes, uint64_t total)
{
    rp_step_spend(step, bytes);
    step->lane->progress += bytes;
    step->moved = true;
    return step->lane->progress == total ? RP_OK : RP_AGAIN;
}

static rp_status task_nop(struct rp_step *step)
{
    (void)step;
    return RP_OK;
}

static void copy_piece(void *dst, const void *src, uint64_t off, uint64_t bytes, uint64_t total)
{
    if (2 * total > RP_STREAM_BYTES) {
        rp_copy_stream((uint8_t *)dst + off, (const uint8_t *)src + off, bytes);
    } else {
        rp_copy((uint8_t *)dst + off, (const uint8_t *)src + off, bytes);
    }
}

static rp_status task_copy(struct rp_step *step)
{
    const uint64_t total = step->insn->u.copy.bytes;
    const uint64_t done = step->lane->progress;
    const uint64_t bytes = chunk(step, total - done);
    if (bytes != 0) {
        copy_piece(step->insn->u.copy.dst, step->insn->u.copy.src, done, bytes, total);
    }
    return advance(step, bytes, total);
}

// lane->progress counts the bytes of all rows before, plus those of the current one.
static rp_status task_copy_2d(struct rp_step *step)
{
    const uint64_t width = step->insn->u.copy_2d.width;
    const uint64_t total = width * step->insn->u.copy_2d.height;
    if (total == 0) {
        return RP_OK;
    }
    uint8_t *dst = step->insn->u.copy_2d.dst;
    const uint8_t *src = step->insn->u.copy_2d.src;
    const uint64_t most = chunk(step, total - step->lane->progress);
    uint64_t bytes = 0;
    while (bytes < most) {
        const uint64_t row = (step->lane->progress + bytes) / width;
        const uint64_t column = (step->lane->progress + bytes) % width;
        const uint64_t piece = rp_min_u64(width - column, most - bytes);
        rp_copy(dst + row * step->insn->u.copy_2d.dst_pitch + column,
                src + row * step->insn->u.copy_2d.src_pitch + column, piece);
        bytes += piece;
    }
    return advance(step, bytes, total);
}

static rp_status task_fill(struct rp_step *step)
{
    const uint64_t total = step->insn->u.fill.count;
    const uint64_t bytes = chunk(step, total - step->lane->progress);
    if (bytes != 0) {
        rp_fill((uint8_t *)step->insn->u.fill.dst + step->lane->progress,
                (int)(step->insn->u.fill.value & 0xff), bytes);
    }
    return advance(step, bytes, total);
}

static rp_status task_fill_32(struct rp_step *step)
{
    const uint32_t value = step->insn->u.fill.value;
    const uint64_t total = step->insn->u.fill.count * sizeof(value);
    const uint64_t bytes = chunk(step, total - step->lane->progress) & ~(sizeof(value) - 1);
    uint8_t *dst = (uint8_t *)step->insn->u.fill.dst + step->lane->progress;
    for (uint64_t i = 0; i < bytes; i += sizeof(value)) {
        memcpy(dst + i, &value, sizeof(value));
    }
    return advance(step, bytes, total);
}

static rp_status task_edge_signal(struct rp_step *step)
{
    step->sub->program->run->edge[step->insn->index] = 1;
    return RP_OK;
}

static rp_status task_edge_wait(struct rp_step *step)
{
    return step->sub->program->run->edge[step->insn->index] != 0 ? RP_OK : RP_AGAIN;
}

static rp_status task_value_write(struct rp_step *step)
{
    // seq_cst [V1] [D1]: pairs with the load in task_value_wait, on any device of the process;
    // another process that waits looks again when its backstop is over.
    atomic_store_explicit(
            step->insn->u.value.addr, step->insn->u.value.value, memory_order_seq_cst);
    rp_doorbell_ring(step->device->bell);
    return RP_OK;
}

// Values of ACL_STREAM_WAIT_VALUE_*.
enum value_wait {
    VALUE_GEQ = 0,
    VALUE_EQ = 1,
    VALUE_AND = 2,
    VALUE_NOR = 3,
};

static bool value_fits(uint64_t now, uint64_t value, enum value_wait how)
{
    switch (how) {
    case VALUE_GEQ: // cyclic
        return (int64_t)(now - value) >= 0;
    case VALUE_EQ:
        return now == value;
    case VALUE_AND:
        return (now & value) != 0;
    case VALUE_NOR:
        return ~(now | value) != 0;
    }
    return false;
}

// Writers that ring no bell (a store of the host, another process) are found when whoever drives
// wakes up to look, at the latest after RP_BACKSTOP_NS. To spin for them would cost a core.
static rp_status task_value_wait(struct rp_step *step)
{
    const struct rp_insn *insn = step->insn;
    // seq_cst [V1]: pairs with the store in task_value_write, and with a store of the host.
    const uint64_t now = atomic_load_explicit(insn->u.value.addr, memory_order_seq_cst);
    if (value_fits(now, insn->u.value.value, (enum value_wait)insn->flag)) {
        return RP_OK;
    }
    // As with events: nobody may come any more to write it.
    const rp_status refusal = rp_stream_refusal(step->stream, step->sub->number);
    if (refusal != RP_OK) {
        return rp_fail(refusal, "stream %" PRId32 " waited for a value at %p when it was stopped",
                step->stream->id, (void *)insn->u.value.addr);
    }
    return RP_AGAIN;
}

static rp_status task_apply(struct rp_step *step)
{
    return step->insn->u.apply.apply(step->insn->u.apply.arg);
}

// Which of its communicators the op uses. They are few, mostly one.
static uint32_t comm_index(const struct rp_submission *sub, const struct rp_op *op)
{
    uint32_t i = 0;
    if (sub->program != NULL) {
        while (sub->program->comm[i] != op->comm) {
            i++;
        }
    }
    return i;
}

// Jumps decide in which order the ops of a built graph come, so no edges keep those of one
// communicator apart: whether another lane is in the middle of one.
static bool comm_is_busy(const struct rp_step *step, const struct rp_comm *comm)
{
    const struct rp_program *program = step->sub->program;
    for (uint32_t i = 0; i < program->lane_count; i++) {
        const struct rp_lane *lane = &program->run->lane[i];
        if (lane == step->lane || lane->coll.phase == RP_COLL_TURN) {
            continue;
        }
        const struct rp_op *op = &program->op[program->insn[lane->pc].index];
        if (op->comm == comm && !rp_op_is_pairs(op->record.op)) { // those have their numbers
            return true;
        }
    }
    return false;
}

// What a collective's step is told of the submission, whose communicator `i` it uses.
static struct rp_coll_step coll_step(struct rp_step *step, uint32_t i)
{
    struct rp_submission *sub = step->sub;
    const struct rp_program *program = sub->program;
    return (struct rp_coll_step){
        .reduce = step->device->reduce,
        .ticket = *rp_submission_ticket(sub, i),
        .replay = program != NULL ? program->run->replays : 0,
        .stream_id = step->stream->id,
        .last_op = program == NULL || program->run->ops_left[i] == 1,
        .now_ns = step->now_ns,
        .budget_bytes = chunk(step, RP_CHUNK_BYTES),
    };
}

// A step of sends and receives.
static rp_status pairs_step(struct rp_step *step, const struct rp_op *op, bool number_only)
{
    struct rp_submission *sub = step->sub;
    const uint32_t i = comm_index(sub, op);
    struct rp_program *program = sub->program;
    struct rp_coll_step coll = coll_step(step, i);
    coll.number_late = program != NULL && program->open_ended;
    if (program != NULL && !program->open_ended) {
        coll.pair_base = rp_submission_pair_base(sub);
    }
    rp_step_publish(step);
    const rp_status st = number_only ? rp_pair_op_number_late(&step->lane->coll, op, &coll)
                                     : rp_collective_step(&step->lane->coll, op, &coll);
    step->moved = coll.moved;
    rp_step_spend(step, coll.spent_bytes);
    if (st == RP_OK && coll.pair_base != NULL) {
        program->run->pair_ops_left--;
    } else if (st < 0) {
        rp_submission_fail(sub, st, op->comm->cause);
    }
    return st;
}

static rp_status task_number(struct rp_step *step)
{
    return pairs_step(step, &step->sub->program->op[step->insn->index], true);
}

static rp_status task_collective(struct rp_step *step)
{
    struct rp_submission *sub = step->sub;
    struct rp_program *program = sub->program;
    const struct rp_op *op = program != NULL ? &program->op[step->insn->index] : &sub->op;
    const uint32_t i = comm_index(sub, op);
    if (program != NULL && program->open_ended && program->sub_count == 0 &&
            step->lane->coll.phase == RP_COLL_TURN && comm_is_busy(step, op->comm)) {
        return RP_AGAIN;
    }
    if (rp_op_is_pairs(op->record.op)) {
        return pairs_step(step, op, false);
    }
    struct rp_coll_step coll = coll_step(step, i);
    if (step->unpublished != op->comm) {
        rp_step_publish(step);
    }
    const rp_status st = rp_collective_step(&step->lane->coll, op, &coll);
    step->moved = coll.moved;
    step->unpublished = coll.last_op ? NULL : op->comm;
    if (coll.moved) {
        const uint64_t bytes = rp_op_has_row(op->record.op)
                                       ? rp_row_bytes(&op->record, op->counts)
                                       : rp_record_send_bytes(&op->record, op->comm->size);
        rp_step_spend(step, rp_min_u64(coll.budget_bytes, bytes));
    }
    if (st == RP_OK && program != NULL) {
        program->run->ops_left[i] -= !program->open_ended; // a loop's count would run out
    } else if (st < 0) {
        rp_submission_fail(sub, st, op->comm->cause);
    }
    return st;
}

rp_task_fn *const rp_tasks[RP_INSN_KINDS] = {
    [RP_INSN_NOP] = task_nop,
    [RP_INSN_COPY] = task_copy,
    [RP_INSN_COPY_2D] = task_copy_2d,
    [RP_INSN_FILL] = task_fill,
    [RP_INSN_FILL_32] = task_fill_32,
    [RP_INSN_HOST_FN] = rp_task_host_fn,
    [RP_INSN_CALLBACK] = rp_task_callback,
    [RP_INSN_EVENT_RECORD] = rp_task_event_record,
    [RP_INSN_EVENT_WAIT] = rp_task_event_wait,
    [RP_INSN_EVENT_RESET] = rp_task_event_reset,
    [RP_INSN_EDGE_SIGNAL] = task_edge_signal,
    [RP_INSN_EDGE_WAIT] = task_edge_wait,
    [RP_INSN_COLLECTIVE] = task_collective,
    [RP_INSN_NUMBER] = task_number,
    [RP_INSN_VALUE_WRITE] = task_value_write,
    [RP_INSN_VALUE_WAIT] = task_value_wait,
    [RP_INSN_KERNEL] = rp_task_kernel,
    [RP_INSN_NOTIFY_RECORD] = rp_task_notify_record,
    [RP_INSN_NOTIFY_WAIT] = rp_task_notify_wait,
    [RP_INSN_NOTIFY_RESET] = rp_task_notify_reset,
    [RP_INSN_APPLY] = task_apply,
    [RP_INSN_COND] = rp_task_cond,
    [RP_INSN_LABEL] = task_nop,
    [RP_INSN_LABEL_SWITCH] = rp_task_label_switch,
    [RP_INSN_LANE_ACTIVATE] = rp_task_lane_activate,
    [RP_INSN_LANE_SWITCH] = rp_task_lane_switch,
    [RP_INSN_END_GRAPH] = task_nop,
};
