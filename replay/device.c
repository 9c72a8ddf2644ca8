// The table of devices, and how one comes up and goes down.
//
// A device's structure is made once and never freed, because other devices' drivers look at it
// without a reference; what they use of it they use under its baton while `up` is set.

#include "replay/device.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <string.h>

#include "base/alloc.h"
#include "replay/callback.h"
#include "replay/scheduler.h"

// A device that still has work after this long is left up: its work hangs on something that will
// not come, and its memory is in use.
#define DOWN_TIMEOUT_NS (10 * RP_NS_PER_S)

enum device_state {
    DEVICE_DOWN,
    DEVICE_UP,
    DEVICE_CLOSING,
};

// Under table_lock, as all of `entries` but the pointers, which only ever change once, from NULL.
static struct {
    _Atomic(struct rp_device *) device;
    uint32_t refs;
    enum device_state state;
} entries[RP_ENV_DEVICES_MAX];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t table_changed = PTHREAD_COND_INITIALIZER;
static _Atomic uint32_t up_count;
static _Atomic int32_t top_id = -1; // of the devices that ever were up

static const char *const isa_names[] = {
    [RP_ISA_AUTO] = "auto",
    [RP_ISA_SCALAR] = "scalar",
    [RP_ISA_AVX2] = "avx2",
    [RP_ISA_AVX512] = "avx512",
    [RP_ISA_NEON] = "neon",
};

uint32_t rp_device_count(void)
{
    return rp_env_device()->visible.count;
}

int32_t rp_device_id(const struct rp_device *device)
{
    return device->id;
}

struct rp_arena *rp_device_arena(struct rp_device *device)
{
    return device->arena;
}

struct rp_loop *rp_device_loop(struct rp_device *device)
{
    return device->loop;
}

uint32_t rp_devices_up(void)
{
    // relaxed: a device that just came up has its own drivers.
    return atomic_load_explicit(&up_count, memory_order_relaxed);
}

struct rp_device *rp_device_next_up(int32_t id)
{
    // relaxed: as above.
    const int32_t top = atomic_load_explicit(&top_id, memory_order_relaxed);
    for (int32_t next = id + 1; next <= top; next++) {
        // acquire [T1]: pairs with the store in find_or_make: the structure is initialised.
        struct rp_device *device =
                atomic_load_explicit(&entries[next].device, memory_order_acquire);
        // relaxed: looked at again under the baton.
        if (device != NULL && atomic_load_explicit(&device->up, memory_order_relaxed)) {
            return device;
        }
    }
    return NULL;
}

// The structure of device `id`, initialised but down. Under table_lock.
static struct rp_device *find_or_make(int32_t id)
{
    // relaxed: stored under the same lock.
    struct rp_device *device = atomic_load_explicit(&entries[id].device, memory_order_relaxed);
    if (device != NULL) {
        return device;
    }
    device = rp_aligned_calloc(RP_CACHELINE, sizeof(*device));
    if (device == NULL) {
        return NULL;
    }
    device->id = id;
    rp_mpsc_init(&device->queue);
    rp_list_init(&device->active);
    rp_list_init(&device->ghosts);
    // relaxed: the thread that looks at it starts later.
    atomic_store_explicit(&device->ts_until_ns, UINT64_MAX, memory_order_relaxed);
    // release [T1]: pairs with rp_device_next_up and rp_device_peek.
    atomic_store_explicit(&entries[id].device, device, memory_order_release);
    if (id > atomic_load_explicit(&top_id, memory_order_relaxed)) {
        atomic_store_explicit(&top_id, id, memory_order_relaxed);
    }
    return device;
}

// Under the baton, so that no neighbour steps it half made or half gone.
static void set_up(struct rp_device *device, bool up)
{
    rp_baton_lock(device);
    // relaxed: ordered by the baton for those who rely on it.
    atomic_store_explicit(&device->up, up, memory_order_relaxed);
    rp_baton_unlock(device);
    if (up) {
        atomic_fetch_add_explicit(&up_count, 1, memory_order_relaxed);
    } else {
        atomic_fetch_sub_explicit(&up_count, 1, memory_order_relaxed);
    }
}

static rp_status bring_up(struct rp_device *device)
{
    const struct rp_device_env *env = rp_env_device();
    rp_status st = rp_env_device_status();
    if (st != RP_OK) {
        return st;
    }
    device->progress = env->progress;
    device->reduce = rp_reduce_select(isa_names[env->isa]);
    if (device->reduce == NULL) {
        device->reduce = rp_reduce_select("auto"); // docs/environment.md says so
    }
    st = rp_doorbell_self(&device->bell);
    if (st != RP_OK) {
        return st;
    }
    st = rp_arena_create(device->id, &device->arena);
    if (st != RP_OK) {
        return st;
    }
    st = rp_loop_create(&device->loop);
    if (st != RP_OK) {
        goto undo_arena;
    }
    st = rp_callbacks_init(&device->callbacks);
    if (st != RP_OK) {
        goto undo_loop;
    }
    rp_pool_init(device);
    // seq_cst [T2]: as in expel_waiters.
    atomic_store_explicit(&device->closing, false, memory_order_seq_cst);
    set_up(device, true);
    st = rp_ts_start(device);
    if (st != RP_OK) {
        goto undo_up;
    }
    return RP_OK;

undo_up:
    set_up(device, false);
    rp_pool_fini(device);
    rp_callbacks_fini(&device->callbacks);
undo_loop:
    rp_baton_lock(device);
    rp_loop_destroy(device->loop);
    device->loop = NULL;
    rp_baton_unlock(device);
undo_arena:
    rp_arena_destroy(device->arena);
    device->arena = NULL;
    return st;
}

// Threads that still wait for the device look at what it takes with it: they are sent away first.
// A function of the program that one of them runs for another device may hold it.
static rp_status expel_waiters(struct rp_device *device)
{
    const uint64_t deadline_ns = rp_deadline_ns(DOWN_TIMEOUT_NS);
    // seq_cst, both [T2]: pair with the looks in driver.c.
    atomic_store_explicit(&device->closing, true, memory_order_seq_cst);
    while (atomic_load_explicit(&device->waiters, memory_order_seq_cst) != 0) {
        if (rp_now_ns() >= deadline_ns) {
            atomic_store_explicit(&device->closing, false, memory_order_seq_cst);
            return RP_EBUSY;
        }
        rp_doorbell_ring(device->bell);
        sched_yield();
    }
    return RP_OK;
}

static void take_down(struct rp_device *device)
{
    rp_ts_stop(device);
    rp_callbacks_fini(&device->callbacks);
    set_up(device, false);
    rp_baton_lock(device);
    rp_ghosts_drop(device);
    rp_loop_destroy(device->loop);
    device->loop = NULL;
    rp_baton_unlock(device);
    rp_arena_destroy(device->arena);
    device->arena = NULL;
    rp_pool_fini(device);
}

rp_status rp_device_ref(int32_t id, struct rp_device **out)
{
    if (id < 0 || (uint32_t)id >= rp_device_count()) {
        return rp_fail(RP_EDEVICE, "device id %" PRId32 " is not in 0 .. %" PRId64, id,
                (int64_t)rp_device_count() - 1);
    }
    rp_status st = RP_OK;
    pthread_mutex_lock(&table_lock);
    while (entries[id].state == DEVICE_CLOSING) {
        pthread_cond_wait(&table_changed, &table_lock);
    }
    struct rp_device *device = find_or_make(id);
    if (device == NULL) {
        st = rp_fail(RP_ENOMEM, "no memory for device %" PRId32, id);
    } else if (entries[id].state == DEVICE_DOWN) {
        st = bring_up(device);
        if (st == RP_OK) {
            entries[id].state = DEVICE_UP;
        }
    }
    if (st == RP_OK) {
        entries[id].refs++;
        *out = device;
    }
    pthread_mutex_unlock(&table_lock);
    return st;
}

static bool nothing_left(void *arg)
{
    struct rp_device *device = arg;
    // seq_cst [B3]: the second look of a waiter.
    return atomic_load_explicit(&device->work, memory_order_seq_cst) == RP_WORK_NONE &&
           !rp_device_queue_waits(device);
}

void rp_device_unref(struct rp_device *device)
{
    const int32_t id = device->id;
    pthread_mutex_lock(&table_lock);
    // A thread of the device itself cannot take it down. It then stays up without users, for the
    // next one.
    const bool last = --entries[id].refs == 0;
    if (!last || rp_thread_in_callback() || rp_baton_held()) {
        pthread_mutex_unlock(&table_lock);
        return;
    }
    entries[id].state = DEVICE_CLOSING;
    pthread_mutex_unlock(&table_lock);

    struct rp_error_capture capture; // what goes wrong here is nobody's call
    rp_error_capture_begin(&capture);
    const struct rp_wait wait = {
        .ready = nothing_left,
        .arg = device,
        .timeout_ns = DOWN_TIMEOUT_NS,
        .on_timeout = RP_EBUSY,
    };
    rp_status st = rp_device_wait_for(device, &wait);
    rp_error_capture_end(&capture);
    if (st == RP_OK) {
        st = expel_waiters(device);
    }
    if (st == RP_OK) {
        take_down(device);
    }

    pthread_mutex_lock(&table_lock);
    entries[id].state = st == RP_OK ? DEVICE_DOWN : DEVICE_UP;
    pthread_cond_broadcast(&table_changed);
    pthread_mutex_unlock(&table_lock);
}

struct rp_device *rp_device_peek(int32_t id)
{
    if (id < 0 || id >= RP_ENV_DEVICES_MAX) {
        return NULL;
    }
    // acquire [T1]: pairs with the store in find_or_make.
    struct rp_device *device = atomic_load_explicit(&entries[id].device, memory_order_acquire);
    // relaxed: whoever asks holds a reference by other means, or does not rely on the answer.
    return device != NULL && atomic_load_explicit(&device->up, memory_order_relaxed) ? device
                                                                                     : NULL;
}
