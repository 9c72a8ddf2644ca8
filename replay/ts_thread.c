// The TS thread: one a device. It takes over what nobody drives, and is otherwise out of the way:
// on a machine with as many ranks as cores every wake-up of it takes time from somebody's rank.
//
//   recent work   it sleeps in slices of RP_SLICE_NS and looks; while it finds a driver the slices
//                 double up to RP_SLICE_MAX_NS. A driver that leaves during a longer one wakes it
//                 once (driver.c), so that the promise of RP_TAKEOVER_NS holds again
//   quiet         it sleeps until the next submission, which pays for one wake
//   taken over    it is a driver like any other, until nothing is left or a caller comes to wait,
//                 who takes the role from it
//
// With REPRISE_PROGRESS=thread it is the only driver, stays one for RP_QUIET_NS after the last
// work, and is woken by the next; with "caller" there is no thread.

#include <stdio.h>
#include <sys/prctl.h>

#include "replay/futex.h"
#include "replay/scheduler.h"

#define TIMER_SLACK_NS 10000ul

void rp_ts_wake(struct rp_device *device)
{
    // relaxed: another device's driver may ask while this one goes down; the word stays.
    if (!atomic_load_explicit(&device->ts_runs, memory_order_relaxed)) {
        return;
    }
    // relaxed: whoever finds it 0 relies on the wake that follows; the word orders the rest.
    atomic_store_explicit(&device->ts_asleep, 0, memory_order_relaxed);
    atomic_store_explicit(&device->unattended, 0, memory_order_relaxed);
    // seq_cst [B2]: pairs with the loads in sleep_*: it does not sleep on a word that has moved.
    atomic_fetch_add_explicit(&device->ts_word, 1, memory_order_seq_cst);
    rp_futex_wake(&device->ts_word, 1);
}

static bool stopping(struct rp_device *device)
{
    // seq_cst [B6]: pairs with the store in rp_ts_stop.
    return atomic_load_explicit(&device->ts_stop, memory_order_seq_cst);
}

// Whether stepping may move something. seq_cst [B2] [B3]: also a second look before sleeping.
static bool something_to_step(struct rp_device *device)
{
    return atomic_load_explicit(&device->work, memory_order_seq_cst) == RP_WORK_RUNNABLE ||
           rp_device_queue_waits(device) || rp_loop_active(device->loop);
}

static void sleep_slice(struct rp_device *device, uint64_t slice_ns)
{
    // seq_cst [B2]: pairs with rp_ts_wake.
    const uint32_t word = atomic_load_explicit(&device->ts_word, memory_order_seq_cst);
    // relaxed: for a comparison by a driver that leaves.
    atomic_store_explicit(&device->ts_until_ns, rp_now_ns() + slice_ns, memory_order_relaxed);
    if (!stopping(device)) {
        rp_futex_wait(&device->ts_word, word, slice_ns);
    }
}

// Until a publication wakes it. What was published before `ts_asleep` is found by the second look.
static void sleep_deep(struct rp_device *device)
{
    // seq_cst [B2]: pairs with rp_ts_wake.
    const uint32_t word = atomic_load_explicit(&device->ts_word, memory_order_seq_cst);
    // relaxed: as in sleep_slice; the end of time means that nobody needs to shorten it.
    atomic_store_explicit(&device->ts_until_ns, UINT64_MAX, memory_order_relaxed);
    // seq_cst [B2] [B3]: pairs with the load in rp_device_notify.
    atomic_store_explicit(&device->ts_asleep, 1, memory_order_seq_cst);
    if (!something_to_step(device) && !stopping(device)) {
        rp_futex_wait(&device->ts_word, word, RP_WAIT_MAX_NS);
    }
    // relaxed: one wake too many at worst.
    atomic_store_explicit(&device->ts_asleep, 0, memory_order_relaxed);
}

static bool driven(struct rp_device *device, uint64_t now_ns)
{
    // relaxed: hints, looked at again after a slice.
    return atomic_load_explicit(&device->role, memory_order_relaxed) == RP_ROLE_CALLER ||
           atomic_load_explicit(&device->neighbour_ns, memory_order_relaxed) + RP_TAKEOVER_NS / 2 >
                   now_ns;
}

// Drives the device until nothing is left, or a caller has taken the role.
static void lead(struct rp_device *device)
{
    uint32_t role = RP_ROLE_FREE;
    // seq_cst [B5]: pairs with role_take in driver.c.
    if (!atomic_compare_exchange_strong_explicit(
                &device->role, &role, RP_ROLE_THREAD, memory_order_seq_cst, memory_order_relaxed)) {
        return;
    }
    const bool lingers = device->progress == RP_PROGRESS_THREAD;
    struct rp_driver driver;
    rp_driver_init(&driver, device, NULL, UINT64_MAX);
    driver.leads = true;
    uint64_t busy_ns = driver.now_ns;
    do {
        rp_driver_turn(&driver);
        // relaxed: stored by this thread's own steps.
        if (atomic_load_explicit(&device->work, memory_order_relaxed) != RP_WORK_NONE ||
                rp_device_queue_waits(device) || rp_loop_active(device->loop)) {
            busy_ns = driver.now_ns;
        } else if (!lingers || driver.now_ns - busy_ns >= RP_QUIET_NS) {
            break;
        }
        // relaxed: a caller who took it waits for the baton, which is laid down below.
    } while (atomic_load_explicit(&device->role, memory_order_relaxed) == RP_ROLE_THREAD &&
             !stopping(device));
    rp_driver_fini(&driver);
    role = RP_ROLE_THREAD;
    // seq_cst [B5] [D1]: as role_leave in driver.c.
    if (atomic_compare_exchange_strong_explicit(
                &device->role, &role, RP_ROLE_FREE, memory_order_seq_cst, memory_order_relaxed)) {
        rp_doorbell_ring(device->bell);
    }
}

static void *ts_main(void *arg)
{
    struct rp_device *device = arg;
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS); // of this thread; the default would add 50 us
    const bool thread_only = device->progress == RP_PROGRESS_THREAD;
    uint64_t slice_ns = RP_SLICE_NS;
    uint64_t busy_ns = 0;
    while (!stopping(device)) {
        const uint64_t now_ns = rp_now_ns();
        if (!something_to_step(device)) {
            slice_ns = RP_SLICE_NS;
            if (thread_only || now_ns - busy_ns >= RP_QUIET_NS) {
                sleep_deep(device);
                // The caller who woke it is likely to come and wait: give it a moment.
                if (!thread_only) {
                    sleep_slice(device, RP_SLICE_NS / 2);
                }
                busy_ns = rp_now_ns();
            } else {
                sleep_slice(device, slice_ns);
            }
            continue;
        }
        busy_ns = now_ns;
        if (driven(device, now_ns)) {
            sleep_slice(device, slice_ns);
            slice_ns = rp_min_u64(2 * slice_ns, RP_SLICE_MAX_NS);
            continue;
        }
        slice_ns = RP_SLICE_NS;
        lead(device);
    }
    return NULL;
}

rp_status rp_ts_start(struct rp_device *device)
{
    // relaxed: the thread does not exist yet.
    atomic_store_explicit(&device->ts_stop, false, memory_order_relaxed);
    if (device->progress == RP_PROGRESS_CALLER) {
        return RP_OK;
    }
    char name[16];
    snprintf(name, sizeof(name), "rp-ts-%d", (int)device->id);
    // relaxed: the thread starts later.
    atomic_store_explicit(&device->ts_runs, true, memory_order_relaxed);
    const rp_status st = rp_thread_create(&device->ts, name, ts_main, device);
    if (st != RP_OK) {
        atomic_store_explicit(&device->ts_runs, false, memory_order_relaxed);
    }
    return st;
}

void rp_ts_stop(struct rp_device *device)
{
    // relaxed: stored by whoever brought the device up, under the table's lock.
    if (!atomic_load_explicit(&device->ts_runs, memory_order_relaxed)) {
        return;
    }
    // seq_cst [B6]: pairs with stopping(); before the wake and the ring.
    atomic_store_explicit(&device->ts_stop, true, memory_order_seq_cst);
    rp_ts_wake(device);
    rp_doorbell_ring(device->bell);
    pthread_join(device->ts, NULL);
    atomic_store_explicit(&device->ts_runs, false, memory_order_relaxed);
}
