// Tasks and replays on their way to a stream: what happens in the calling thread.

#include <inttypes.h>

#include "base/cpu.h"
#include "replay/callback.h"
#include "replay/scheduler.h"
#include "replay/stream.h"

// An eager call steps its own task for at most this long, and does not spin for a peer at all where
// ranks share cores.
#define EAGER_NS (20 * RP_NS_PER_US)
#define EAGER_SPIN_NS (5 * RP_NS_PER_US)
#define EAGER_BYTES RP_CHUNK_BYTES

rp_status rp_stream_submit(struct rp_stream *stream, const struct rp_task *task)
{
    // acquire [S2]: pairs with the store by which capture installs its table.
    const struct rp_submit_ops *ops = atomic_load_explicit(&stream->submit, memory_order_acquire);
    return ops->run(stream, task);
}

rp_status rp_stream_submit_event(struct rp_stream *stream, struct rp_event *event,
        enum rp_event_verb verb, uint32_t flag, uint64_t timeout_ns)
{
    // acquire [S2]: as above; an event recorded in a capture leads there from any stream.
    const struct rp_submit_ops *ops = atomic_load_explicit(&event->captured, memory_order_acquire);
    if (ops == NULL) {
        ops = atomic_load_explicit(&stream->submit, memory_order_acquire);
    }
    return ops->record(stream, event, verb, flag, timeout_ns);
}

// `sub` belongs to the stream from here on.
static void count(struct rp_stream *stream, struct rp_submission *sub)
{
    rp_stream_ref(stream);
    sub->stream = stream;
    sub->began = false;
    sub->failed = RP_OK;
    // seq_cst [S1]: whoever waits for the stream from now on waits for this one too. Before the
    // push, so that `ended` never overtakes it.
    sub->number = atomic_fetch_add_explicit(&stream->submitted, 1, memory_order_seq_cst) + 1;
}

// A communicator that a submission is about to name: counted as pending, unless it is gone.
static rp_status name_comm(struct rp_comm *comm, rp_status if_gone)
{
    // seq_cst [Q1]: before the look at `destroyed`; pairs with HcclCommDestroy, which stores that
    // first and then waits for 0.
    atomic_fetch_add_explicit(&comm->pending, 1, memory_order_seq_cst);
    if (RP_LIKELY(!atomic_load_explicit(&comm->destroyed, memory_order_seq_cst))) {
        return RP_OK;
    }
    atomic_fetch_sub_explicit(&comm->pending, 1, memory_order_seq_cst);
    return rp_fail(if_gone, "communicator %s has been destroyed", comm->name);
}

static uint64_t collective_bytes(const struct rp_op *op)
{
    if (rp_op_has_row(op->record.op)) {
        return rp_row_bytes(&op->record, op->counts);
    }
    return rp_max_u64(rp_record_send_bytes(&op->record, op->comm->size),
            rp_record_recv_bytes(&op->record, op->comm->size));
}

// How many bytes the task moves; more than EAGER_BYTES: not to be stepped by the caller.
static uint64_t eager_bytes(const struct rp_submission *sub)
{
    const struct rp_insn *insn = &sub->insn;
    switch (insn->kind) {
    case RP_INSN_COPY:
        return insn->u.copy.bytes;
    case RP_INSN_COPY_2D:
        return insn->u.copy_2d.height == 0 ? 0
               : insn->u.copy_2d.width > EAGER_BYTES / insn->u.copy_2d.height
                       ? UINT64_MAX
                       : insn->u.copy_2d.width * insn->u.copy_2d.height;
    case RP_INSN_FILL:
        return insn->u.fill.count;
    case RP_INSN_FILL_32:
        return insn->u.fill.count > EAGER_BYTES ? UINT64_MAX : insn->u.fill.count * 4;
    case RP_INSN_COLLECTIVE:
        return collective_bytes(&sub->op);
    case RP_INSN_HOST_FN:
    case RP_INSN_CALLBACK:
    case RP_INSN_KERNEL:
        return UINT64_MAX; // its thread would have to be woken; a waiter may run it itself
    default:
        return 0;
    }
}

// Steps the stream as long as `sub` is at its head and moves. Under the baton, which is why `sub`
// may be compared, and nothing else: once it has ended it is somebody else's.
static void step_eager(
        struct rp_device *device, struct rp_stream *stream, const struct rp_submission *sub)
{
    const uint64_t begin_ns = rp_now_ns();
    // relaxed: how busy the node is, roughly.
    const bool shared =
            atomic_load_explicit(&device->ranks, memory_order_relaxed) > rp_cpu_usable();
    uint64_t now_ns = begin_ns;
    uint64_t moved_ns = begin_ns;
    do {
        const bool moved = rp_device_step(device, stream, now_ns);
        if (rp_list_first(&stream->fifo) != &sub->in_stream) {
            return; // it has ended, or is not at the head
        }
        if (moved) {
            moved_ns = now_ns;
        } else if (shared || sub->lane.coll.phase == RP_COLL_TURN) {
            return; // only a peer on its own core is worth a moment
        } else {
            rp_cpu_pause();
        }
        now_ns = rp_now_ns();
    } while (now_ns - begin_ns < EAGER_NS && now_ns - moved_ns < EAGER_SPIN_NS);
}

void rp_device_push_eager(struct rp_device *device, struct rp_submission *submission)
{
    struct rp_stream *stream = submission->stream;
    const uint64_t number = submission->number;
    // seq_cst [S1]: all before it have ended, so it will be at the head.
    const bool first = atomic_load_explicit(&stream->ended, memory_order_seq_cst) + 1 == number;
    const bool may_step = first && device->progress != RP_PROGRESS_THREAD &&
                          !rp_thread_in_callback() && eager_bytes(submission) <= EAGER_BYTES;
    rp_mpsc_push(&device->queue, &submission->link);
    if (may_step && rp_baton_try(device)) {
        step_eager(device, stream, submission);
        rp_baton_unlock(device);
        rp_device_undriven(device);
    } else {
        rp_device_notify(device);
    }
}

static rp_status eager_run(struct rp_stream *stream, const struct rp_task *task)
{
    struct rp_submission *sub;
    rp_status st = rp_submission_create(stream->device, 1, 0, &sub);
    if (st != RP_OK) {
        return st;
    }
    sub->program = NULL;
    sub->insn = task->insn;
    if (task->insn.kind == RP_INSN_COLLECTIVE) {
        st = name_comm(task->op->comm, RP_EPARAM);
        if (st != RP_OK) {
            rp_pool_give(stream->device, sub);
            return st;
        }
        sub->op = *task->op;
        sub->insn.index = 0;
        rp_comm_ref(sub->op.comm);
        if (rp_op_batch(&sub->op) != NULL) {
            rp_batch_ref(sub->op.batch);
        }
    }
    rp_insn_hold(&sub->insn);
    count(stream, sub);
    rp_device_push_eager(stream->device, sub);
    return RP_OK;
}

// `number` is what the task waits for, or brings about.
static rp_status queue_event(struct rp_stream *stream, struct rp_event *event,
        enum rp_insn_kind kind, uint64_t number, uint64_t timeout_ns)
{
    struct rp_submission *sub;
    const rp_status st = rp_submission_create(stream->device, 0, 0, &sub);
    if (st != RP_OK) {
        return st;
    }
    sub->program = NULL;
    sub->insn = (struct rp_insn){ .kind = (uint8_t)kind };
    sub->insn.u.event.event = event;
    sub->insn.u.event.ticket = number;
    sub->insn.u.event.timeout_ns = timeout_ns;
    rp_event_ref(event);
    count(stream, sub);
    rp_device_push_eager(stream->device, sub);
    return RP_OK;
}

static rp_status record_event(struct rp_stream *stream, struct rp_event *event)
{
    // The number of a record that could not be queued would never be reached, so it is taken when
    // nothing can fail any more.
    struct rp_submission *sub;
    rp_status st = rp_submission_create(stream->device, 0, 0, &sub);
    if (st != RP_OK) {
        return st;
    }
    uint64_t number;
    st = rp_event_number(event, stream, &number);
    if (st != RP_OK) {
        rp_pool_give(stream->device, sub);
        return st;
    }
    sub->program = NULL;
    sub->insn = (struct rp_insn){ .kind = RP_INSN_EVENT_RECORD };
    sub->insn.u.event.event = event;
    sub->insn.u.event.ticket = number;
    rp_event_ref(event);
    count(stream, sub);
    rp_device_push_eager(stream->device, sub);
    return RP_OK;
}

static rp_status wait_event(struct rp_stream *stream, struct rp_event *event, uint64_t timeout_ns)
{
    // seq_cst [E1]: the wait binds to the latest record at the time of the call.
    const uint64_t number = atomic_load_explicit(rp_event_recorded(event), memory_order_seq_cst);
    if (event->kind == RP_EVENT_PLAIN && number == 0) {
        return rp_fail(RP_EPARAM, "event %" PRIu32 " has never been recorded", event->id);
    }
    if (event->kind != RP_EVENT_FLAG) {
        const bool over = number == 0 || rp_event_is_reached(event, number);
        // relaxed: compared only. The stream's own order does the rest, if no other process has
        // recorded the event since.
        if (over || (event->share == NULL && atomic_load_explicit(&event->last_stream,
                                                     memory_order_relaxed) == stream)) {
            return RP_OK;
        }
    }
    // seq_cst [E2]: pairs with the decrement when the wait is over.
    atomic_fetch_add_explicit(&event->waits_pending, 1, memory_order_seq_cst);
    const rp_status st = queue_event(stream, event, RP_INSN_EVENT_WAIT, number, timeout_ns);
    if (st != RP_OK) {
        atomic_fetch_sub_explicit(&event->waits_pending, 1, memory_order_seq_cst);
    }
    return st;
}

static rp_status eager_record(struct rp_stream *stream, struct rp_event *event,
        enum rp_event_verb verb, uint32_t flag, uint64_t timeout_ns)
{
    (void)flag; // EXTERNAL means something in a capture only; the API has checked it
    switch (verb) {
    case RP_EVENT_RECORD:
        return record_event(stream, event);
    case RP_EVENT_WAIT:
        return wait_event(stream, event, timeout_ns);
    case RP_EVENT_RESET:
        return queue_event(stream, event, RP_INSN_EVENT_RESET, 0, 0);
    }
    return rp_fail(RP_EINTERNAL, "unknown verb %d of an event", (int)verb);
}

const struct rp_submit_ops rp_submit_eager = {
    .run = eager_run,
    .record = eager_record,
};

// Takes back the first `count` names of name_comms.
static void unname_comms(struct rp_program *program, uint32_t count)
{
    while (count-- > 0) {
        // seq_cst [Q1]: as in name_comm.
        atomic_fetch_sub_explicit(&program->comm[count]->pending, 1, memory_order_seq_cst);
    }
}

// Names the program's communicators, all or none.
static rp_status name_comms(struct rp_program *program)
{
    for (uint32_t i = 0; i < program->comm_count; i++) {
        rp_status st = name_comm(program->comm[i], RP_EGRAPHSTATE);
        if (st == RP_OK) {
            // A broken one is told by this call and not only by the next synchronisation.
            st = rp_comm_status(program->comm[i]);
            if (st == RP_OK) {
                continue;
            }
            atomic_fetch_sub_explicit(&program->comm[i]->pending, 1, memory_order_seq_cst);
        }
        unname_comms(program, i);
        return st;
    }
    return RP_OK;
}

// The first `count` of the program's external records and waits will not come.
static void unbind_events(
        const struct rp_program *program, const struct rp_submission *sub, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct rp_insn *insn = &program->insn[program->bound[i]];
        struct rp_event *event = insn->u.event.event;
        if (insn->kind == RP_INSN_EVENT_RECORD) {
            rp_event_reach(event, sub->bound[i]);
        } else {
            // seq_cst [E2]: as in wait_event.
            atomic_fetch_sub_explicit(&event->waits_pending, 1, memory_order_seq_cst);
        }
    }
}

// Draws the tickets of the program's external records and waits: they are bound to what was
// recorded before this call.
static rp_status bind_events(
        struct rp_stream *stream, const struct rp_program *program, struct rp_submission *sub)
{
    for (uint32_t i = 0; i < program->bound_count; i++) {
        const struct rp_insn *insn = &program->insn[program->bound[i]];
        struct rp_event *event = insn->u.event.event;
        if (insn->kind == RP_INSN_EVENT_RECORD) {
            const rp_status st = rp_event_number(event, stream, &sub->bound[i]);
            if (st != RP_OK) {
                unbind_events(program, sub, i);
                rp_doorbell_ring(stream->device->bell);
                return st;
            }
        } else {
            // seq_cst [E1] [E2]: as in wait_event.
            sub->bound[i] = atomic_load_explicit(&event->recorded, memory_order_seq_cst);
            atomic_fetch_add_explicit(&event->waits_pending, 1, memory_order_seq_cst);
        }
    }
    return RP_OK;
}

rp_status rp_stream_replay(struct rp_stream *stream, struct rp_program *program)
{
    struct rp_submission *sub;
    rp_status st = rp_submission_create(stream->device, program->comm_count,
            program->bound_count + program->pair_use_count, &sub);
    if (st != RP_OK) {
        return st;
    }
    st = name_comms(program);
    if (st == RP_OK) {
        st = bind_events(stream, program, sub);
        if (st != RP_OK) {
            unname_comms(program, program->comm_count);
        }
    }
    if (st != RP_OK) {
        rp_pool_give(stream->device, sub);
        return st;
    }
    rp_program_ref(program);
    sub->program = program;
    sub->insn.kind = RP_INSN_NOP;
    // relaxed: for the profiler alone.
    atomic_fetch_add_explicit(&stream->replays, 1, memory_order_relaxed);
    count(stream, sub);
    rp_device_push(stream->device, sub);
    return RP_OK;
}
