// Stopping a graph that runs.
//
// A run that has failed stops at the scheduler's next look, so to abort one is to fail it from
// outside, under the baton. Runs that are still in the device's queue are let into their streams
// first.

#include "replay/abort.h"

#include <sched.h>

#include "replay/scheduler.h"
#include "replay/stream.h"

// A producer that lost its core in the middle of a push hides what is behind it. It is waited for,
// but not for ever: what its thread queues is not ordered with the abort.
#define LOOKS_MAX 1000

static void fail_runs(struct rp_stream *stream, const struct rp_program *program, const char *why)
{
    rp_list_each(link, &stream->fifo)
    {
        struct rp_submission *sub = rp_container_of(link, struct rp_submission, in_stream);
        if (sub->program == program) {
            rp_submission_fail(sub, RP_EGRAPHABORT, why);
        }
    }
}

static void admit_all(struct rp_device *device)
{
    struct rp_mpsc_node *node;
    while ((node = rp_mpsc_pop(&device->queue)) != NULL) {
        rp_submission_admit(device, rp_container_of(node, struct rp_submission, link));
    }
}

void rp_device_enter_admitted(struct rp_device *device)
{
    for (unsigned look = 1;; look++) {
        rp_device_enter(device);
        admit_all(device);
        if (!rp_device_queue_waits(device) || look == LOOKS_MAX) {
            return;
        }
        rp_device_leave(device);
        sched_yield();
    }
}

void rp_program_abort(
        struct rp_device *device, const struct rp_program *program, const char *sentence)
{
    rp_device_enter_admitted(device);
    rp_list_each(link, &device->active)
    {
        fail_runs(rp_container_of(link, struct rp_stream, in_active), program, sentence);
    }
    rp_device_leave(device);
    rp_device_poke(device);
}
