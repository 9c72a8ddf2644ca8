#ifndef REPRISE_REPLAY_DEVICE_H
#define REPRISE_REPLAY_DEVICE_H

/*
 * The virtual device and its scheduler.
 *
 * One submission queue (many producers): its pop order is the call order. One
 * baton: whoever holds it pops submissions, steps lanes and the libuv loop. A
 * step is bounded (about 20 us), no task blocks the thread. Held by a thread
 * that waits, by a query (one step), by an eager call (its own small op only)
 * or by the device's TS thread, which takes undriven work over within 200 us.
 *
 * Lock order (outermost first): device table, context table, capture (per
 * context), communicator registry, process table, arena. The baton is taken
 * with none of them held; they may be taken under it.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "replay/submission.h"
#include "transport/arena.h"
#include "transport/loop.h"

struct rp_device;
struct rp_stream;
struct rp_context;

/** rp_device_count: visible devices (REPRISE_DEVICE_COUNT, default 8; ASCEND_RT_VISIBLE_DEVICES).
 */
uint32_t rp_device_count(void);

/**
 * rp_device_ref: device `id` in use by this process, brought up at first use:
 * arena, loop, TS thread. RP_EDEVICE for a bad id. rp_device_unref by the last
 * user takes it down (blocks for outstanding work).
 */
RP_MUST_USE rp_status rp_device_ref(int32_t id, struct rp_device **out);
void rp_device_unref(struct rp_device *device);
/** rp_device_peek: the device if it is in use, without a reference (caller's context keeps it). */
struct rp_device *rp_device_peek(int32_t id);

int32_t rp_device_id(const struct rp_device *device);
struct rp_arena *rp_device_arena(struct rp_device *device);
struct rp_loop *rp_device_loop(struct rp_device *device);

/** rp_device_push: queue a submission; wakes the TS thread if it sleeps. Never steps, never blocks.
 */
void rp_device_push(struct rp_device *device, struct rp_submission *submission);

/**
 * rp_device_push_eager: queue, then, if the baton is free and nothing is ahead,
 * step this submission alone for a bounded while (a small op finishes in the call).
 */
void rp_device_push_eager(struct rp_device *device, struct rp_submission *submission);

/** rp_device_poke: something outside the queue changed (a lane was unparked): wake a driver if none
 * runs. */
void rp_device_poke(struct rp_device *device);

/** rp_device_step_once: one step if the baton is free (queries). */
void rp_device_step_once(struct rp_device *device);

/**
 * rp_device_wait: return RP_OK once ready(arg), driving the device (and other
 * local devices that nobody drives) meanwhile; `on_timeout` after `timeout_ns`
 * (UINT64_MAX: none); RP_ECALLBACK at once, without waiting, in a callback.
 * `ready` is called with and without the baton held, reads atomics only.
 */
RP_MUST_USE rp_status rp_device_wait(struct rp_device *device, bool (*ready)(void *arg), void *arg,
        uint64_t timeout_ns, rp_status on_timeout);

/*
 * A wait that says what it waits for. Then a queued host function without which
 * it cannot end may run on the waiting thread itself, if nothing else is to be
 * done meanwhile and the wait has no timeout: two changes of thread are saved.
 */
struct rp_wait {
    bool (*ready)(void *arg);
    void *arg;
    uint64_t timeout_ns;
    rp_status on_timeout;
    const struct rp_stream *stream; /* all that it has queued must end; NULL: none in particular */
};

/** rp_device_wait_for: rp_device_wait() with the hints of `wait`. */
RP_MUST_USE rp_status rp_device_wait_for(struct rp_device *device, const struct rp_wait *wait);

/**
 * rp_device_enter / rp_device_leave: hold the baton for a short, non-blocking
 * piece of work (start a join, retire a communicator, destroy a loop object).
 * Enter waits for the present holder (bounded by one step plus its hand-over).
 */
void rp_device_enter(struct rp_device *device);
void rp_device_leave(struct rp_device *device);

/** rp_thread_in_callback: whether the calling thread runs a host function or callback of ours. */
bool rp_thread_in_callback(void);

#endif
