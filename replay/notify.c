// Notifies: the objects. Their tasks are in tasks_notify.c, the calls in notify_api.c and
// cnt_notify_api.c.

#include "replay/notify.h"

#include <acl/acl_rt.h>
#include <inttypes.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/error.h"
#include "base/handle.h"
#include "replay/context.h"
#include "replay/share.h"
#include "replay/stream.h"

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
    if (atomic_fetch_sub_explicit(&notify->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    // relaxed: nobody else has it any more.
    struct rp_share *share = atomic_load_explicit(&notify->share, memory_order_relaxed);
    if (share != NULL) {
        rp_share_close(share);
    }
    atomic_fetch_sub_explicit(&live_count[notify->device_id], 1, memory_order_relaxed);
    rp_free(notify);
}

// ---- the value ----

uint32_t rp_notify_look(struct rp_notify *notify, _Atomic uint32_t **word)
{
    *word = &notify->value;
    // seq_cst [N1]: pairs with the exchange of a record; [N2] with that of an export.
    uint32_t now = atomic_load_explicit(*word, memory_order_seq_cst);
    if (RP_UNLIKELY(now == RP_NOTIFY_MOVED) && !notify->counts) {
        // relaxed [N2]: stored before what was read above.
        struct rp_share *share = atomic_load_explicit(&notify->share, memory_order_relaxed);
        *word = &rp_share_page(share)->u.value;
        now = atomic_load_explicit(*word, memory_order_seq_cst);
    }
    return now;
}

void rp_notify_clear(struct rp_notify *notify)
{
    _Atomic uint32_t *word;
    uint32_t now;
    do {
        now = rp_notify_look(notify, &word);
        // seq_cst [N1]: as a record's exchange.
    } while (!atomic_compare_exchange_weak_explicit(
            word, &now, 0, memory_order_seq_cst, memory_order_relaxed));
}

rp_status rp_notify_export(struct rp_notify *notify, struct rp_share **out)
{
    // relaxed: one thread at a time.
    struct rp_share *share = atomic_load_explicit(&notify->share, memory_order_relaxed);
    if (share == NULL) {
        const rp_status st =
                rp_share_create(RP_SHARE_NOTIFY, notify->id, notify->device_id, &share);
        if (st != RP_OK) {
            return st;
        }
        // relaxed [N2]: the exchange publishes it.
        atomic_store_explicit(&notify->share, share, memory_order_relaxed);
        // seq_cst [N2]: pairs with the load in rp_notify_look.
        const uint32_t value =
                atomic_exchange_explicit(&notify->value, RP_NOTIFY_MOVED, memory_order_seq_cst);
        // A record may have come to the new place already, and is not undone.
        atomic_fetch_or_explicit(&rp_share_page(share)->u.value, value, memory_order_seq_cst);
    }
    *out = share;
    return RP_OK;
}

// ---- life ----

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

static rp_status create_here(bool counts, struct rp_notify **out)
{
    struct rp_context *context;
    const rp_status st = rp_context_current(&context);
    return st == RP_OK ? rp_notify_create(context->device_id, counts, out) : st;
}

rp_status rp_notify_open(const char *name, bool counts, uint64_t flag, void **out)
{
    struct rp_notify *notify;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", name);
    }
    if (flag != ACL_NOTIFY_DEFAULT && flag != ACL_NOTIFY_DEVICE_USE_ONLY) {
        return rp_fail(RP_EPARAM,
                "flag is %llu; it can be ACL_NOTIFY_DEFAULT or ACL_NOTIFY_DEVICE_USE_ONLY",
                (unsigned long long)flag);
    }
    rp_status st = create_here(counts, &notify);
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

rp_status rp_notify_import(struct rp_share *share, struct rp_notify **out)
{
    struct rp_notify *notify;
    rp_status st = create_here(false, &notify);
    if (st != RP_OK) {
        return st;
    }
    notify->id = rp_share_page(share)->id;
    // relaxed: nobody else has it yet.
    atomic_store_explicit(&notify->value, RP_NOTIFY_MOVED, memory_order_relaxed);
    atomic_store_explicit(&notify->share, share, memory_order_relaxed);
    st = rp_handle_add(RP_HANDLE_NOTIFY, notify);
    if (st != RP_OK) {
        atomic_store_explicit(&notify->share, NULL, memory_order_relaxed);
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

// The submission takes a reference of its own.
rp_status rp_notify_submit(
        void *handle, const char *name, bool counts, void *stream_handle, struct rp_insn insn)
{
    struct rp_notify *notify;
    struct rp_stream *stream;
    rp_status st = rp_notify_resolve(handle, name, counts, &notify);
    if (st == RP_OK) {
        st = rp_stream_resolve(stream_handle, &stream);
    }
    if (st != RP_OK) {
        return st;
    }
    insn.u.notify.notify = notify;
    const struct rp_task task = { .insn = insn };
    return rp_stream_submit(stream, &task);
}
