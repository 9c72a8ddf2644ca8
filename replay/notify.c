// Notifies: the objects. Their tasks are in tasks_notify.c, the calls in notify_api.c and
// cnt_notify_api.c.

#include "replay/notify.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/error.h"
#include "base/handle.h"
#include "replay/context.h"

#define NOTIFIES_MAX (16u * 65536u) // of a device

// Per device. relaxed throughout: plain counts, nothing is published with them.
static _Atomic uint32_t live_count[RP_ENV_DEVICES_MAX];
static _Atomic uint32_t next_id[RP_ENV_DEVICES_MAX][2]; // one-shot, counting

void rp_notify_ref(struct rp_notify *notify)
{
    // relaxed: whoever makes a reference has one.
    atomic_fetch_add_explicit(&notify->refs, 1, memory_order_relaxed);
}

void rp_notify_unref(struct rp_notify *notify)
{
    // acq_rel [G1]: pairs with itself: the last one sees all that the others did.
    if (atomic_fetch_sub_explicit(&notify->refs, 1, memory_order_acq_rel) == 1) {
        atomic_fetch_sub_explicit(&live_count[notify->device_id], 1, memory_order_relaxed);
        rp_free(notify);
    }
}

static bool count_in(int32_t device_id)
{
    if (atomic_fetch_add_explicit(&live_count[device_id], 1, memory_order_relaxed) < NOTIFIES_MAX) {
        return true;
    }
    atomic_fetch_sub_explicit(&live_count[device_id], 1, memory_order_relaxed);
    return false;
}

rp_status rp_notify_create(int32_t device_id, bool counts, struct rp_notify **out)
{
    if (!count_in(device_id)) {
        return rp_fail(RP_ENONOTIFY, "device %" PRId32 " has %u notifies already", device_id,
                NOTIFIES_MAX);
    }
    struct rp_notify *notify = rp_calloc(1, sizeof(*notify));
    if (notify == NULL) {
        atomic_fetch_sub_explicit(&live_count[device_id], 1, memory_order_relaxed);
        return rp_fail(RP_ENOMEM, "no memory for a notify of device %" PRId32, device_id);
    }
    atomic_init(&notify->refs, 1);
    notify->id = atomic_fetch_add_explicit(&next_id[device_id][counts], 1, memory_order_relaxed);
    notify->device_id = device_id;
    notify->counts = counts;
    *out = notify;
    return RP_OK;
}

rp_status rp_notify_open(bool counts, struct rp_notify **out)
{
    struct rp_context *context;
    struct rp_notify *notify;
    rp_status st = rp_context_current(&context);
    if (st == RP_OK) {
        st = rp_notify_create(context->device_id, counts, &notify);
    }
    if (st != RP_OK) {
        return st;
    }
    st = rp_handle_add(RP_HANDLE_NOTIFY, notify);
    if (st != RP_OK) {
        rp_notify_unref(notify);
        return st;
    }
    *out = notify;
    return RP_OK;
}

rp_status rp_notify_resolve(void *handle, const char *name, bool counts, struct rp_notify **out)
{
    if (handle == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", name);
    }
    if (!rp_handle_live(RP_HANDLE_NOTIFY, handle)) {
        return rp_fail(RP_EHANDLE, "%s %p is no notify, or was destroyed", name, handle);
    }
    struct rp_notify *notify = handle;
    if (notify->counts != counts) {
        return rp_fail(RP_EHANDLE, "%s %p is %s", name, handle,
                notify->counts ? "a counting notify (aclrtCntNotify)"
                               : "a one-shot notify (aclrtNotify)");
    }
    *out = notify;
    return RP_OK;
}

rp_status rp_notify_close(void *handle, const char *name, bool counts)
{
    struct rp_notify *notify;
    const rp_status st = rp_notify_resolve(handle, name, counts, &notify);
    if (st != RP_OK) {
        return st;
    }
    if (!rp_handle_remove(RP_HANDLE_NOTIFY, handle)) {
        return rp_fail(RP_EHANDLE, "another thread is destroying %s %p", name, handle);
    }
    rp_notify_unref(notify);
    return RP_OK;
}
