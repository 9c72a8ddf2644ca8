// Primary contexts: aclrtSetDevice and aclrtResetDevice.
//
// The count of a device is the number of aclrtSetDevice calls less the aclrtResetDevice calls, of
// all threads. Each device has a lock of its own, so that bringing one up holds up nobody who uses
// another; the device table's lock is taken under it. Ending a context waits, and is done after the
// table has forgotten it, without the lock: a thread that sets the device meanwhile gets a new one.

#include "replay/primary.h"

#include <acl/acl_rt.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/env.h"
#include "base/error.h"
#include "replay/context.h"
#include "replay/device.h"

struct primary {
    pthread_mutex_t lock;
    struct rp_context *context;
    uint32_t count;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct primary primaries[RP_ENV_DEVICES_MAX];

// relaxed: aclInit sets it before the calls that depend on it.
static _Atomic int32_t default_device = -1;

static void init_locks(void)
{
    for (int i = 0; i < RP_ENV_DEVICES_MAX; i++) {
        pthread_mutex_init(&primaries[i].lock, NULL);
    }
}

rp_status rp_device_check_id(int32_t id)
{
    const uint32_t count = rp_device_count();
    if (count == 0) {
        return rp_fail(RP_EDEVICE,
                "device id %d: no device is visible; ASCEND_RT_VISIBLE_DEVICES names none of the "
                "%u",
                id, rp_env_device()->device_count);
    }
    if (id < 0 || (uint32_t)id >= count) {
        return rp_fail(RP_EDEVICE, "device id %d is not in 0 .. %u (%u devices are visible)", id,
                count - 1, count);
    }
    return RP_OK;
}

// The entry of `id`, locked.
static rp_status lock_entry(int32_t id, struct primary **out)
{
    const rp_status st = rp_device_check_id(id);
    if (st == RP_OK) {
        pthread_once(&once, init_locks);
        *out = &primaries[id];
        pthread_mutex_lock(&(*out)->lock);
    }
    return st;
}

rp_status rp_primary_retain(int32_t id, struct rp_context **out)
{
    struct primary *entry;
    rp_status st = lock_entry(id, &entry);
    if (st != RP_OK) {
        return st;
    }
    if (entry->context == NULL) {
        st = rp_context_create(id, true, &entry->context);
    }
    if (st == RP_OK) {
        entry->count++;
        rp_context_ref(entry->context);
        *out = entry->context;
    }
    pthread_mutex_unlock(&entry->lock);
    return st;
}

rp_status rp_primary_release(int32_t id, bool force)
{
    struct primary *entry;
    rp_status st = lock_entry(id, &entry);
    if (st != RP_OK) {
        return st;
    }
    struct rp_context *context = entry->context;
    const bool ends = force || entry->count == 1;
    if (context == NULL) {
        st = rp_fail(RP_ECTXRELEASE, "device %d is not set, or was reset already", id);
    } else if (ends) {
        st = rp_context_may_end(context, force);
    }
    if (st == RP_OK) {
        entry->context = ends ? NULL : context;
        entry->count = ends ? 0 : entry->count - 1;
    }
    pthread_mutex_unlock(&entry->lock);
    if (st == RP_OK && ends) {
        rp_context_destroy(context, force);
    }
    return st;
}

bool rp_primary_active(int32_t id)
{
    struct primary *entry;
    if (lock_entry(id, &entry) != RP_OK) {
        return false;
    }
    const bool active = entry->context != NULL;
    pthread_mutex_unlock(&entry->lock);
    return active;
}

void rp_primary_set_default(int32_t id)
{
    atomic_store_explicit(&default_device, id, memory_order_relaxed);
}

int32_t rp_primary_default(void)
{
    return atomic_load_explicit(&default_device, memory_order_relaxed);
}

// ---- public functions ----

static rp_status set_device(int32_t id)
{
    struct rp_context *context;
    rp_status st = rp_primary_retain(id, &context);
    if (st != RP_OK) {
        return st;
    }
    st = rp_thread_set_context(context);
    rp_context_unref(context);
    if (st != RP_OK) {
        const rp_status undone = rp_primary_release(id, false);
        return undone == RP_OK ? st : undone;
    }
    return st;
}

aclError aclrtSetDevice(int32_t deviceId)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? set_device(deviceId) : st);
}

aclError aclrtResetDevice(int32_t deviceId)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? rp_primary_release(deviceId, false) : st);
}

aclError aclrtResetDeviceForce(int32_t deviceId)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? rp_primary_release(deviceId, true) : st);
}

static rp_status get_device(int32_t *out)
{
    struct rp_context *context;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "deviceId is a null pointer");
    }
    const struct rp_thread *thread = rp_thread_self();
    if (thread != NULL && thread->context == NULL && rp_primary_default() >= 0) {
        *out = rp_primary_default();
        return RP_OK;
    }
    const rp_status st = rp_context_current(&context);
    if (st == RP_OK) {
        *out = context->device_id;
    }
    return st;
}

aclError aclrtGetDevice(int32_t *deviceId)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_device(deviceId) : st);
}

static rp_status get_state(int32_t id, const uint32_t *flags, int32_t *active)
{
    if (active == NULL) {
        return rp_fail(RP_ENULL, "active is a null pointer");
    }
    if (flags != NULL) {
        return rp_fail(RP_EINVAL, "flags is reserved and must be NULL");
    }
    const rp_status st = rp_device_check_id(id);
    if (st == RP_OK) {
        *active = rp_primary_active(id) ? 1 : 0;
    }
    return st;
}

aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t *flags, int32_t *active)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_state(deviceId, flags, active) : st);
}
