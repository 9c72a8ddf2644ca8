// A thread that waits for something on a device, and drives it meanwhile.
//
// One driver a device is enough: it takes the role, keeps the baton from step to step, and lays it
// down when it hands over, sleeps, or runs a user's function. Others who wait on the same device
// follow: they spin briefly and sleep on the process' bell, which rings when a submission ends and
// when the role becomes free.
//
// A driver also steps local devices that nobody drives. One thread may own all ranks of a
// communicator (HcclCommInitAll), and the rank it waits for then hangs on the others.

#include <inttypes.h>
#include <sched.h>
#include <string.h>

#include "base/cpu.h"
#include "replay/callback.h"
#include "replay/scheduler.h"

#define TURNS_PER_CLOCK 16 // a turn without progress takes 30 to 60 ns, reading the clock 25
#define HAND_OVER_YIELDS 64

// Asleep with nothing but connections to serve, which wake the poll.
#define CALM_SLEEP_NS (500 * RP_NS_PER_MS)

// How long to spin before sleeping: as a driver of one of this node's ranks.
static void be_patient(struct rp_driver *driver)
{
    // relaxed: how busy the node is, roughly.
    const uint32_t ranks = atomic_load_explicit(&driver->device->ranks, memory_order_relaxed);
    rp_backoff_init(&driver->backoff, ranks, rp_cpu_usable());
}

// As a follower beside a driver, which needs the core more.
static void be_impatient(struct rp_driver *driver)
{
    rp_backoff_init(&driver->backoff, rp_cpu_usable() + 1, rp_cpu_usable());
}

void rp_driver_init(struct rp_driver *driver, struct rp_device *device, const struct rp_wait *wait,
        uint64_t deadline_ns)
{
    *driver = (struct rp_driver){
        .device = device,
        .wait = wait,
        .deadline_ns = deadline_ns,
        .now_ns = rp_now_ns(),
    };
    be_patient(driver);
}

void rp_driver_fini(struct rp_driver *driver)
{
    if (driver->holds) {
        driver->holds = false;
        rp_baton_unlock(driver->device);
    }
}

static void read_clock(struct rp_driver *driver)
{
    driver->now_ns = rp_now_ns();
    driver->turns = 0;
}

static bool came_true(const struct rp_driver *driver)
{
    return driver->wait != NULL && driver->wait->ready(driver->wait->arg);
}

static bool role_take(struct rp_device *device)
{
    // relaxed: decided by the exchange.
    uint32_t role = atomic_load_explicit(&device->role, memory_order_relaxed);
    // seq_cst [B5]: pairs with role_leave and the second look in follow().
    return role != RP_ROLE_CALLER &&
           atomic_compare_exchange_strong_explicit(&device->role, &role, RP_ROLE_CALLER,
                   memory_order_seq_cst, memory_order_relaxed);
}

static void role_leave(struct rp_device *device)
{
    // seq_cst [B5] [D1]: a follower who goes to sleep sees it, or is rung.
    atomic_store_explicit(&device->role, RP_ROLE_FREE, memory_order_seq_cst);
    rp_doorbell_ring(device->bell);
}

// The loop's callbacks work for whoever started what they go on with.
static bool step_loop(struct rp_device *device)
{
    if (!rp_loop_active(device->loop)) {
        return false;
    }
    struct rp_error_capture capture;
    rp_error_capture_begin(&capture);
    const bool moved = rp_loop_step(device->loop);
    rp_error_capture_end(&capture);
    return moved;
}

static bool step_neighbour(struct rp_driver *driver, struct rp_device *device)
{
    // relaxed: hints; a device that is skipped now is looked at again soon, or by its own thread.
    if (atomic_load_explicit(&device->role, memory_order_relaxed) != RP_ROLE_FREE ||
            !rp_baton_try(device)) {
        return false;
    }
    bool moved = false;
    // relaxed: changes under the baton.
    if (atomic_load_explicit(&device->up, memory_order_relaxed) &&
            device->progress != RP_PROGRESS_THREAD) {
        // relaxed: for the device's own thread, which only compares it with the time.
        atomic_store_explicit(&device->neighbour_ns, driver->now_ns, memory_order_relaxed);
        moved = step_loop(device);
        moved |= rp_device_step(device, NULL, driver->now_ns);
        driver->helped = true;
    }
    rp_baton_unlock(device);
    return moved;
}

// Everything but the own device's streams.
static bool look_around(struct rp_driver *driver)
{
    bool moved = step_loop(driver->device);
    if (rp_devices_up() <= 1) {
        return moved;
    }
    struct rp_device *next = rp_device_next_up(-1);
    for (; next != NULL; next = rp_device_next_up(next->id)) {
        if (next != driver->device) {
            moved |= step_neighbour(driver, next);
        }
    }
    return moved;
}

// Somebody is in rp_device_enter and must not be starved.
static void hand_over(struct rp_driver *driver)
{
    struct rp_device *device = driver->device;
    rp_driver_fini(driver);
    for (unsigned i = 0; i < HAND_OVER_YIELDS; i++) {
        // relaxed: a hint, as in rp_device_enter.
        if (atomic_load_explicit(&device->wanted, memory_order_relaxed) == 0) {
            break;
        }
        sched_yield();
    }
    read_clock(driver);
}

// Whether this thread may run a user's function itself: its wait cannot end without it, and has no
// end of its own that the function could make it miss.
static struct rp_call *own_call(struct rp_driver *driver)
{
    struct rp_device *device = driver->device;
    const struct rp_wait *wait = driver->wait;
    if (wait == NULL || wait->stream == NULL || driver->deadline_ns != UINT64_MAX ||
            came_true(driver)) {
        return NULL;
    }
    // relaxed: stored by this thread's last step.
    if (atomic_load_explicit(&device->work, memory_order_relaxed) != RP_WORK_PARKED ||
            rp_device_queue_waits(device) || rp_loop_active(device->loop)) {
        return NULL;
    }
    return rp_callbacks_take(device, wait->stream);
}

// Fresh calls: run one here, or tell the callback threads. The baton is down afterwards. The role
// is down while a function runs, and this thread's again afterwards unless another caller took it.
static void serve_calls(struct rp_driver *driver)
{
    struct rp_device *device = driver->device;
    struct rp_call *call = own_call(driver);
    if (call == NULL) {
        rp_driver_fini(driver); // laying the baton down tells them
        return;
    }
    device->calls_fresh = rp_callbacks_waiting(device);
    driver->leads = false;
    rp_driver_fini(driver);
    role_leave(device);
    // seq_cst [B2]: pairs with rp_device_notify: nobody drives while the function runs, so a push
    // wakes the TS thread however long its slice is.
    atomic_store_explicit(&device->unattended, 1, memory_order_seq_cst);
    rp_call_invoke(call);
    // This thread drives on, so the lane that goes on needs nobody to be woken for it: a wake of
    // the TS thread for every host function cost more than the collectives between two of them.
    driver->leads = role_take(device);
    // relaxed: one wake too many at worst.
    atomic_store_explicit(&device->unattended, 0, memory_order_relaxed);
    rp_call_return(call, RP_OK);
    read_clock(driver);
}

static uint64_t sleep_limit_ns(const struct rp_driver *driver, bool polls)
{
    const struct rp_device *device = driver->device;
    // Timeouts and the liveness of peers are looked at by stepping.
    uint64_t limit_ns = device->active_count == 0 && rp_devices_up() <= 1 && polls ? CALM_SLEEP_NS
                                                                                   : RP_BACKSTOP_NS;
    if (polls) {
        const int loop_ms = rp_loop_timeout_ms(device->loop);
        if (loop_ms >= 0) {
            limit_ns = rp_min_u64(limit_ns, (uint64_t)loop_ms * RP_NS_PER_MS);
        }
    }
    const uint64_t left_ns =
            driver->deadline_ns > driver->now_ns ? driver->deadline_ns - driver->now_ns : 0;
    return rp_min_u64(limit_ns, left_ns);
}

// Says that it is about to sleep, steps once more, and sleeps without the baton.
static void driver_sleep(struct rp_driver *driver)
{
    struct rp_device *device = driver->device;
    const bool polls = rp_loop_active(device->loop);
    struct rp_sleep sleep;
    if (polls) {
        rp_doorbell_prepare_poll(device->bell, &sleep);
    } else {
        rp_doorbell_prepare(device->bell, &sleep);
    }
    // seq_cst [B1]: pairs with rp_device_notify; stands before the second look.
    atomic_fetch_add_explicit(&device->asleep, 1, memory_order_seq_cst);
    read_clock(driver);
    bool stay = look_around(driver);
    stay |= rp_device_step(device, NULL, driver->now_ns);
    stay = stay || device->calls_fresh || rp_device_queue_waits(device) || came_true(driver) ||
           rp_loop_active(device->loop) != polls;
    const uint64_t limit_ns = sleep_limit_ns(driver, polls);
    if (stay || limit_ns == 0) {
        if (polls) {
            rp_doorbell_cancel_poll(device->bell, &sleep);
        } else {
            rp_doorbell_cancel(device->bell, &sleep);
        }
    } else {
        rp_driver_fini(driver);
        if (polls) {
            rp_doorbell_poll(device->bell, &sleep, rp_loop_fd(device->loop), limit_ns);
        } else {
            rp_doorbell_wait(device->bell, &sleep, limit_ns);
        }
    }
    // relaxed: one ring too many at worst.
    atomic_fetch_sub_explicit(&device->asleep, 1, memory_order_relaxed);
    read_clock(driver);
}

static void pause_or_sleep(struct rp_driver *driver)
{
    switch (rp_backoff_next(&driver->backoff)) {
    case RP_SPIN:
        break;
    case RP_YIELDED:
        read_clock(driver);
        break;
    case RP_SLEEP:
        if (driver->holds) {
            driver_sleep(driver);
        } else {
            driver->holds = rp_baton_await(driver->device);
            read_clock(driver);
        }
        break;
    }
}

void rp_driver_turn(struct rp_driver *driver)
{
    struct rp_device *device = driver->device;
    if (!driver->holds) {
        if (!rp_baton_try(device)) {
            pause_or_sleep(driver);
            return;
        }
        driver->holds = true;
    }
    // relaxed: a hint, as in rp_device_enter.
    if (RP_UNLIKELY(atomic_load_explicit(&device->wanted, memory_order_relaxed) != 0)) {
        hand_over(driver);
        return;
    }
    bool look = false;
    if (++driver->turns >= TURNS_PER_CLOCK) {
        read_clock(driver);
        look = true;
    }
    bool moved = rp_device_step(device, NULL, driver->now_ns);
    if (RP_UNLIKELY(device->calls_fresh)) {
        serve_calls(driver);
        return;
    }
    if (look) {
        moved |= look_around(driver);
    }
    if (moved) {
        rp_backoff_reset(&driver->backoff);
        return;
    }
    pause_or_sleep(driver);
}

// Waits for a driver to make it come true, or for the role.
static void follow(struct rp_driver *driver, bool may_lead)
{
    struct rp_device *device = driver->device;
    if (rp_backoff_next(&driver->backoff) != RP_SLEEP) {
        if (++driver->turns >= TURNS_PER_CLOCK) {
            read_clock(driver);
        }
        return;
    }
    struct rp_sleep sleep;
    rp_doorbell_prepare(device->bell, &sleep);
    // seq_cst [B5]: pairs with role_leave.
    const uint32_t role = atomic_load_explicit(&device->role, memory_order_seq_cst);
    if (came_true(driver) || (may_lead && role != RP_ROLE_CALLER)) {
        rp_doorbell_cancel(device->bell, &sleep);
    } else {
        const uint64_t left_ns =
                driver->deadline_ns > driver->now_ns ? driver->deadline_ns - driver->now_ns : 0;
        rp_doorbell_wait(device->bell, &sleep, rp_min_u64(left_ns, RP_BACKSTOP_NS));
    }
    read_clock(driver);
}

// Nobody drives `device` any more. What is undriven, or comes now, is to be noticed within
// RP_TAKEOVER_NS, but its TS thread has fallen into longer slices while it found a driver.
static void hand_back(struct rp_device *device, uint64_t now_ns)
{
    // relaxed: the time at which it looks again, for a comparison.
    const uint64_t until_ns = atomic_load_explicit(&device->ts_until_ns, memory_order_relaxed);
    if (until_ns != UINT64_MAX && until_ns > now_ns + RP_TAKEOVER_NS) {
        rp_ts_wake(device);
    }
}

// The wait is over.
static void leave(struct rp_driver *driver)
{
    struct rp_device *device = driver->device;
    rp_driver_fini(driver);
    if (driver->leads) {
        role_leave(device);
        hand_back(device, driver->now_ns);
        rp_device_undriven(device);
    }
    if (driver->helped) {
        struct rp_device *next = rp_device_next_up(-1);
        for (; next != NULL; next = rp_device_next_up(next->id)) {
            hand_back(next, driver->now_ns);
        }
    }
}

static bool is_closing(struct rp_device *device)
{
    // seq_cst [T2]: pairs with the store in expel_waiters.
    return atomic_load_explicit(&device->closing, memory_order_seq_cst);
}

// Until the count goes down again the device does not.
static bool enter(struct rp_device *device)
{
    // seq_cst [T2]: before the look at `closing`; pairs with the look in expel_waiters.
    atomic_fetch_add_explicit(&device->waiters, 1, memory_order_seq_cst);
    if (!is_closing(device)) {
        return true;
    }
    atomic_fetch_sub_explicit(&device->waiters, 1, memory_order_seq_cst);
    return false;
}

static rp_status drive(struct rp_device *device, const struct rp_wait *wait)
{
    struct rp_driver driver;
    rp_driver_init(&driver, device, wait, rp_deadline_ns(wait->timeout_ns));
    const bool may_lead = device->progress != RP_PROGRESS_THREAD;
    rp_status st = RP_OK;
    bool led = true; // in the last turn; the patience is that of a driver
    while (!wait->ready(wait->arg)) {
        if (driver.now_ns >= driver.deadline_ns) {
            st = wait->on_timeout;
            break;
        }
        if (is_closing(device)) {
            st = RP_ENOCTX;
            break;
        }
        if (may_lead && !driver.leads) {
            driver.leads = role_take(device);
            if (driver.leads != led) {
                led = driver.leads;
                (led ? be_patient : be_impatient)(&driver);
            }
        }
        if (driver.leads) {
            rp_driver_turn(&driver);
        } else {
            follow(&driver, may_lead);
        }
    }
    leave(&driver);
    return st;
}

rp_status rp_device_wait_for(struct rp_device *device, const struct rp_wait *wait)
{
    if (wait->ready(wait->arg)) {
        return RP_OK;
    }
    if (rp_thread_in_callback()) {
        return rp_fail(RP_ECALLBACK, "a kernel, host function or callback may not make a call that "
                                     "waits for its device");
    }
    rp_status st = RP_ENOCTX;
    if (enter(device)) {
        st = drive(device, wait);
        // seq_cst [T2]: the last look at what goes with the device.
        atomic_fetch_sub_explicit(&device->waiters, 1, memory_order_seq_cst);
    }
    if (st == RP_ENOCTX) {
        return rp_fail(
                st, "device %" PRId32 " was reset while this thread waited for it", device->id);
    }
    if (st != RP_OK) {
        return rp_fail(st, "nothing after %" PRIu64 " ms on device %" PRId32,
                wait->timeout_ns / RP_NS_PER_MS, device->id);
    }
    return RP_OK;
}

rp_status rp_device_wait(struct rp_device *device, bool (*ready)(void *arg), void *arg,
        uint64_t timeout_ns, rp_status on_timeout)
{
    const struct rp_wait wait = {
        .ready = ready,
        .arg = arg,
        .timeout_ns = timeout_ns,
        .on_timeout = on_timeout,
    };
    return rp_device_wait_for(device, &wait);
}
