// One step of a device: pop the queue, let ghosts go, walk the streams that have something to do.
//
//     queue --pop, tickets--> stream FIFO --head--> lanes --instruction--> handler
//
// Only the head of a stream runs. The lanes of a program run side by side; each goes on until its
// instruction waits. The walk stops when the step's work is used up, and the next one begins with
// the stream after the last, so no stream starves another.

#include "replay/scheduler.h"

#include <assert.h>

#include "replay/collective.h"
#include "replay/stream.h"

#define POPS_MAX 64 // a step; about 30 ns each

static bool pop_queue(struct rp_device *device)
{
    unsigned pops = 0;
    for (; pops < POPS_MAX; pops++) {
        struct rp_mpsc_node *node = rp_mpsc_pop(&device->queue);
        if (node == NULL) {
            break;
        }
        rp_submission_admit(device, rp_container_of(node, struct rp_submission, link));
    }
    return pops != 0;
}

// Whether the submission must stop where it is: it failed, or its stream was emptied.
static bool is_cancelled(struct rp_submission *sub)
{
    if (RP_UNLIKELY(sub->failed != RP_OK)) {
        return true;
    }
    // relaxed: who empties the stream pokes the device, which is looked at again then.
    if (RP_LIKELY(
                atomic_load_explicit(&sub->stream->dropped, memory_order_relaxed) < sub->number)) {
        return false;
    }
    rp_submission_fail(sub, RP_ESTREAMABORT, "the stream was destroyed or aborted meanwhile");
    return true;
}

// A cancelled lane begins nothing more, but a collective whose turn has come is seen through: the
// peers are in the middle of it.
static bool sees_through(const struct rp_lane *lane)
{
    return lane->coll.phase != RP_COLL_TURN;
}

static void end_lane(struct rp_lane *lane)
{
    // relaxed: only the baton's holder looks at it while no call is out.
    atomic_store_explicit(&lane->state, RP_LANE_ENDED, memory_order_relaxed);
}

static enum rp_lane_state lane_state(struct rp_lane *lane)
{
    // seq_cst [K1]: pairs with the store in rp_call_return; also a sleeper's second look.
    return (enum rp_lane_state)atomic_load_explicit(&lane->state, memory_order_seq_cst);
}

// Runs a lane that is neither parked nor ended; whether anything moved.
static bool lane_step(struct rp_step *step)
{
    struct rp_submission *sub = step->sub;
    struct rp_lane *lane = step->lane;
    const struct rp_insn *insns = sub->program != NULL ? sub->program->insn : &sub->insn;
    const bool cancelled = is_cancelled(sub);
    bool moved = false;
    while (step->work_left != 0) {
        if (lane->pc == lane->end || ((cancelled || sub->failed != RP_OK) && !sees_through(lane))) {
            end_lane(lane);
            return true;
        }
        step->insn = &insns[lane->pc];
        step->moved = false;
        const rp_status st = rp_tasks[step->insn->kind](step);
        if (st == RP_OK) {
            rp_step_spend(step, RP_TASK_WORK);
            moved = true;
            if (RP_UNLIKELY(step->jumped)) {
                step->jumped = false;
                if (lane_state(lane) == RP_LANE_ENDED) {
                    return true;
                }
                continue;
            }
            lane->pc++;
            lane->progress = 0;
            lane->since_ns = 0;
            continue;
        }
        if (st != RP_AGAIN) {
            rp_submission_fail(sub, st, rp_error_captured());
            assert(!sees_through(lane));
            moved = true;
            continue;
        }
        if (!step->moved) {
            step->runnable |= lane_state(lane) == RP_LANE_RUNNABLE;
            return moved;
        }
        moved = true;
        if (lane_state(lane) == RP_LANE_PARKED) {
            return true;
        }
    }
    step->runnable = true;
    return moved;
}

// Lanes that have not ended, after a lane may have started one that was looked at before it.
static uint32_t lanes_left(struct rp_submission *sub)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < sub->program->lane_count; i++) {
        left += lane_state(&sub->program->run->lane[i]) != RP_LANE_ENDED;
    }
    return left;
}

// Runs the lanes of the step's submission until none moves; whether all have ended.
static bool lanes_step(struct rp_step *step)
{
    struct rp_submission *sub = step->sub;
    const uint32_t lanes = rp_submission_lanes(sub);
    bool any_moved = false;
    uint32_t left;
    bool moved;
    do {
        moved = false;
        left = 0;
        for (uint32_t i = 0; i < lanes; i++) {
            struct rp_lane *lane = rp_submission_lane(sub, i);
            enum rp_lane_state state = lane_state(lane);
            if (state == RP_LANE_RUNNABLE) {
                step->lane = lane;
                moved |= lane_step(step);
                state = lane_state(lane);
            }
            left += state != RP_LANE_ENDED;
        }
        any_moved |= moved;
        if (left == 0 && lanes > 1 && sub->program->open_ended) {
            left = lanes_left(sub);
        }
    } while (moved && left != 0 && lanes > 1 && step->work_left != 0);
    step->moved = any_moved;
    return left == 0;
}

// Whether the submission at the head may run, or has ended without running.
enum begin {
    BEGIN_RUNS,
    BEGIN_WAITS,
    BEGIN_ENDS,
};

static enum begin begin(struct rp_submission *sub)
{
    if (sub->began) {
        return BEGIN_RUNS;
    }
    const rp_status st = rp_stream_refusal(sub->stream, sub->number);
    if (RP_UNLIKELY(st != RP_OK)) {
        rp_submission_fail(sub, st, rp_status_text(st));
    }
    if (RP_UNLIKELY(sub->failed != RP_OK)) {
        return BEGIN_ENDS;
    }
    return rp_submission_begin(sub) ? BEGIN_RUNS : BEGIN_WAITS;
}

// Runs the head of a stream, and what comes after it; whether anything moved.
static bool stream_step(struct rp_step *step, struct rp_stream *stream)
{
    bool moved = false;
    step->stream = stream;
    while (step->work_left != 0) {
        struct rp_list *head = rp_list_first(&stream->fifo);
        struct rp_submission *sub = rp_container_of(head, struct rp_submission, in_stream);
        step->sub = sub;
        const enum begin how = begin(sub);
        if (how == BEGIN_WAITS) {
            step->runnable = true;
            return moved;
        }
        if (how == BEGIN_RUNS && !lanes_step(step)) {
            return moved | step->moved;
        }
        moved = true;
        const bool last = head->next == &stream->fifo;
        rp_step_publish(step);                // while the communicator is sure to be there
        rp_submission_end(step->device, sub); // with the last one the stream may be gone
        if (last) {
            return true;
        }
    }
    step->runnable = true;
    return moved;
}

static bool streams_step(struct rp_step *step)
{
    struct rp_device *device = step->device;
    bool moved = false;
    for (uint32_t left = device->active_count; left != 0; left--) {
        if (step->work_left == 0) {
            step->runnable = true;
            break;
        }
        struct rp_list *link = rp_list_first(&device->active);
        if (device->active_count > 1) {
            rp_list_remove(link);
            rp_list_push_back(&device->active, link);
        }
        moved |= stream_step(step, rp_container_of(link, struct rp_stream, in_active));
    }
    return moved;
}

// One stream's part of the walk, for an eager call: what others left behind is not its business.
static bool one_stream_step(struct rp_step *step, struct rp_stream *stream)
{
    const bool moved = !rp_list_empty(&stream->fifo) && stream_step(step, stream);
    // As far as is known, any other stream that has something left can move.
    const uint32_t itself = !rp_list_empty(&stream->fifo);
    step->runnable |= step->device->active_count > itself;
    return moved;
}

bool rp_device_step(struct rp_device *device, struct rp_stream *only, uint64_t now_ns)
{
    struct rp_error_capture capture; // what fails here is told to whoever waits for it
    rp_error_capture_begin(&capture);
    device->clock_ns = rp_max_u64(device->clock_ns, now_ns);
    struct rp_step step = {
        .device = device,
        .now_ns = device->clock_ns,
        .work_left = RP_STEP_WORK,
    };
    bool moved = pop_queue(device);
    moved |= only == NULL ? streams_step(&step) : one_stream_step(&step, only);
    while (RP_UNLIKELY(!rp_list_empty(&device->ghosts)) && rp_ghosts_step(device)) {
        moved = true;
    }
    rp_step_publish(&step);
    rp_error_capture_end(&capture);

    const bool runnable = step.runnable || !rp_mpsc_empty(&device->queue);
    const enum rp_work work = runnable                    ? RP_WORK_RUNNABLE
                              : device->active_count != 0 ? RP_WORK_PARKED
                                                          : RP_WORK_NONE;
    // relaxed: stored under the baton.
    if (atomic_load_explicit(&device->work, memory_order_relaxed) != (uint32_t)work) {
        // seq_cst [B3]: before the baton is laid down and `ts_asleep` looked at.
        atomic_store_explicit(&device->work, (uint32_t)work, memory_order_seq_cst);
    }
    return moved;
}
