// Stopping what a stream runs and dropping what it has queued: aclrtStreamAbort, and what
// aclrtDeviceTaskAbort does to each stream of a device.
//
// The scheduler drops by number (stream->dropped), so all that is left to do here is to hurry what
// it would see through or wait for: a collective under way ends with its communicator, and a user's
// function that nobody has begun is taken back. What was dropped is no failure of the stream: who
// waits for it at that moment is told, and nobody later.

#include "replay/stream_abort.h"

#include <acl/acl_rt.h>

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/handle.h"
#include "replay/callback.h"
#include "replay/scheduler.h"
#include "replay/stream.h"

// Functions that run, and peers in the middle of a collective, are waited for this long.
#define END_WAIT_NS (10 * RP_NS_PER_S)

bool rp_stream_has_ended(const struct rp_stream *stream, uint64_t until)
{
    // seq_cst [S1]: pairs with the scheduler's store, as a sleeper's second look.
    return atomic_load_explicit(&stream->ended, memory_order_seq_cst) >= until;
}

// Everything up to number `until` is dropped; aborts may meet, and the later one counts.
static void drop_until(struct rp_stream *stream, uint64_t until)
{
    // relaxed, both: a hint to the scheduler, which is poked about it.
    uint64_t dropped = atomic_load_explicit(&stream->dropped, memory_order_relaxed);
    while (dropped < until && !atomic_compare_exchange_weak_explicit(&stream->dropped, &dropped,
                                      until, memory_order_relaxed, memory_order_relaxed)) {
    }
}

static void fail_collective(struct rp_submission *sub, const struct rp_lane *lane, const char *who)
{
    const struct rp_program *program = sub->program;
    struct rp_comm *comm =
            program == NULL ? sub->op.comm : program->op[program->insn[lane->pc].index].comm;
    if (rp_comm_failure(comm) != RP_OK) {
        return;
    }
    const uint64_t seq = lane->coll.seq != 0 ? lane->coll.seq : comm->lines.announced + 1;
    char sentence[RP_OP_SENTENCE_BYTES];
    snprintf(sentence, sizeof(sentence),
            "communicator %s, rank %" PRIu32 ": collective %" PRIu64 " of stream %" PRId32
            " was stopped by %s",
            comm->name, comm->rank, seq, sub->stream->id, who);
    rp_comm_fail(comm, RP_ESTREAMABORT, RP_NO_RANK, seq, sentence);
}

// What the head of the stream is in the middle of. Baton.
static void hurry(struct rp_stream *stream, uint64_t until, const char *who)
{
    if (rp_list_empty(&stream->fifo)) {
        return;
    }
    struct rp_submission *sub =
            rp_container_of(rp_list_first(&stream->fifo), struct rp_submission, in_stream);
    if (!sub->began || sub->number > until) {
        return;
    }
    const uint32_t lanes = rp_submission_lanes(sub);
    for (uint32_t i = 0; i < lanes; i++) {
        struct rp_lane *lane = rp_submission_lane(sub, i);
        if (lane->coll.phase != RP_COLL_TURN && lane->coll.phase != RP_COLL_RELEASE) {
            fail_collective(sub, lane, who);
        }
        // acquire: pairs with rp_call_return; a call that has returned is not looked for.
        if (atomic_load_explicit(&lane->state, memory_order_acquire) == RP_LANE_PARKED) {
            rp_call_withdraw(&lane->call, RP_ESTREAMABORT);
        }
    }
}

void rp_stream_stop(struct rp_stream *stream, uint64_t until, const char *who)
{
    struct rp_error_capture capture; // a communicator's failure is told by its calls
    drop_until(stream, until);
    rp_error_capture_begin(&capture);
    hurry(stream, until, who);
    rp_error_capture_end(&capture);
}

struct end {
    const struct rp_stream *stream;
    uint64_t until;
};

static bool end_reached(void *arg)
{
    const struct end *end = arg;
    return rp_stream_has_ended(end->stream, end->until);
}

static rp_status await_end(struct rp_stream *stream, uint64_t until)
{
    struct end end = { .stream = stream, .until = until };
    const rp_status st =
            rp_device_wait(stream->device, end_reached, &end, END_WAIT_NS, RP_ESYNCTIMEOUT);
    return st == RP_ESYNCTIMEOUT
                   ? rp_fail(st,
                             "aclrtStreamAbort: what stream %" PRId32
                             " has queued is dropped, but it is still in a function of the "
                             "program, or a peer in its collective",
                             stream->id)
                   : st;
}

static rp_status check(const struct rp_stream *stream)
{
    // acquire, both: pair with capture's stores at begin and end, and at bind and unbind.
    if (atomic_load_explicit(&stream->capture_status, memory_order_acquire) != RP_CAPTURE_NONE) {
        return rp_fail(RP_ESTREAMCAPTURED,
                "aclrtStreamAbort: stream %" PRId32 " is capturing; aclmdlRICaptureEnd ends that",
                stream->id);
    }
    if (atomic_load_explicit(&stream->model, memory_order_acquire) != NULL) {
        return rp_fail(RP_EBOUND,
                "aclrtStreamAbort: stream %" PRId32
                " is bound to a graph and runs nothing itself; abort the stream that the graph "
                "runs on, or call aclmdlRIAbort",
                stream->id);
    }
    return RP_OK;
}

static void hold(void *stream)
{
    rp_stream_ref(stream);
}

static rp_status abort_work(struct rp_stream *stream)
{
    // relaxed: what this thread has submitted, and what it has been told of.
    const uint64_t until = atomic_load_explicit(&stream->submitted, memory_order_relaxed);
    if (rp_stream_has_ended(stream, until)) {
        return RP_OK;
    }
    rp_device_enter(stream->device);
    rp_stream_stop(stream, until, "aclrtStreamAbort");
    rp_device_leave(stream->device);
    rp_device_poke(stream->device);
    // It may be in the very function that the stream is in.
    return rp_thread_in_callback() ? RP_OK : await_end(stream, until);
}

static rp_status abort_stream(aclrtStream handle)
{
    struct rp_stream *stream;
    rp_status st = rp_stream_resolve(handle, &stream);
    if (st == RP_OK) {
        st = check(stream);
    }
    if (st != RP_OK) {
        return st;
    }
    if (!rp_handle_ref(RP_HANDLE_STREAM, stream, hold)) {
        return rp_fail(RP_EHANDLE, "stream %p was destroyed meanwhile", (void *)stream);
    }
    st = abort_work(stream);
    rp_stream_unref(stream);
    return st;
}

aclError aclrtStreamAbort(aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? abort_stream(stream) : st);
}
