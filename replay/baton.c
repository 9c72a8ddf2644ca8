// The baton, and how its holders hear that there is something to do.
//
// The baton is a lock of three states (free, held, held and somebody sleeps for it) and no more:
// steps are short, so whoever must have it waits for the present holder's step. A driver that
// keeps it over many steps looks at `wanted` between them, because a lock that is retaken at once
// would starve everybody else.
//
// What can be missed, and why it is not:
//
//   [B1] A submission is pushed while a driver falls asleep. The driver counts itself in `asleep`,
//        then looks at the queue; the producer pushes, then looks at `asleep`. Both seq_cst.
//   [B2] The same with the TS thread, `ts_asleep` and its own futex: a push then wakes that thread
//        alone.
//   [B3] A step by somebody who does not stay (a query, an eager call) pops a submission while the
//        TS thread looks, finds an empty queue and falls asleep. The step stores `work` before the
//        baton is laid down, and whoever lays it down looks at `ts_asleep` after that.

#include <assert.h>

#include "base/cpu.h"
#include "replay/futex.h"
#include "replay/scheduler.h"

enum baton {
    BATON_FREE,
    BATON_HELD,
    BATON_AWAITED, // held, and somebody sleeps on the word
};

#define SPINS 64 // about a microsecond; a step is often shorter

static _Thread_local uint32_t held; // batons of this thread

bool rp_baton_held(void)
{
    return held != 0;
}

bool rp_baton_try(struct rp_device *device)
{
    uint32_t expected = BATON_FREE;
    // relaxed: a look that avoids taking the line from its holder.
    if (atomic_load_explicit(&device->baton, memory_order_relaxed) != BATON_FREE ||
            // acquire [B4]: pairs with the exchange in rp_baton_unlock: all that is called "baton".
            !atomic_compare_exchange_strong_explicit(&device->baton, &expected, BATON_HELD,
                    memory_order_acquire, memory_order_relaxed)) {
        return false;
    }
    held++;
    return true;
}

void rp_baton_lock(struct rp_device *device)
{
    for (unsigned i = 0; i < SPINS; i++) {
        if (rp_baton_try(device)) {
            return;
        }
        rp_cpu_pause();
    }
    while (!rp_baton_await(device)) {
    }
}

bool rp_baton_await(struct rp_device *device)
{
    // acquire [B4]: as in rp_baton_try. Taken this way it stays "awaited", which at worst costs one
    // wake for nobody.
    if (atomic_exchange_explicit(&device->baton, BATON_AWAITED, memory_order_acquire) ==
            BATON_FREE) {
        held++;
        return true;
    }
    rp_futex_wait(&device->baton, BATON_AWAITED, RP_BACKSTOP_NS);
    return false;
}

void rp_baton_unlock(struct rp_device *device)
{
    assert(held != 0);
    const bool fresh = device->calls_fresh;
    device->calls_fresh = false;
    held--;
    // release [B4]: pairs with the acquisitions above.
    if (atomic_exchange_explicit(&device->baton, BATON_FREE, memory_order_release) ==
            BATON_AWAITED) {
        rp_futex_wake(&device->baton, 1);
    }
    if (fresh) {
        rp_callbacks_announce(device);
    }
}

void rp_device_notify(struct rp_device *device)
{
    // seq_cst [B1]: pairs with the increment in driver.c; stands after the caller's publication.
    if (atomic_load_explicit(&device->asleep, memory_order_seq_cst) != 0) {
        rp_doorbell_ring(device->bell);
    }
    // seq_cst [B2] [B3]: pairs with the stores in ts_thread.c and driver.c.
    if ((atomic_load_explicit(&device->ts_asleep, memory_order_seq_cst) |
                atomic_load_explicit(&device->unattended, memory_order_seq_cst)) != 0) {
        rp_ts_wake(device);
    }
}

void rp_device_undriven(struct rp_device *device)
{
    // seq_cst [B3]: pairs with the look of the TS thread at `work`.
    if (atomic_load_explicit(&device->work, memory_order_seq_cst) != RP_WORK_NONE ||
            rp_device_queue_waits(device) || rp_loop_active(device->loop)) {
        rp_device_notify(device);
    }
}

void rp_device_push(struct rp_device *device, struct rp_submission *submission)
{
    rp_mpsc_push(&device->queue, &submission->link);
    rp_device_notify(device);
}

void rp_device_poke(struct rp_device *device)
{
    rp_device_notify(device);
    // relaxed: whoever takes the role a moment later steps the device first of all.
    if (atomic_load_explicit(&device->role, memory_order_relaxed) == RP_ROLE_FREE) {
        rp_ts_wake(device);
    }
}

void rp_device_step_once(struct rp_device *device)
{
    if (!rp_baton_try(device)) {
        return; // somebody steps it just now
    }
    (void)rp_device_step(device, NULL, rp_now_ns());
    rp_baton_unlock(device);
    rp_device_undriven(device);
}

void rp_device_enter(struct rp_device *device)
{
    // relaxed: a hint to a driver; the lock orders everything else.
    atomic_fetch_add_explicit(&device->wanted, 1, memory_order_relaxed);
    rp_baton_lock(device);
    atomic_fetch_sub_explicit(&device->wanted, 1, memory_order_relaxed);
}

void rp_device_leave(struct rp_device *device)
{
    rp_baton_unlock(device);
    rp_device_undriven(device);
}
