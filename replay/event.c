// Events: life, record, wait and reset. What can be asked of them is in event_query.c.

#include "replay/event.h"

#include <acl/acl_rt.h>
#include <inttypes.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "base/handle.h"
#include "replay/context.h"
#include "replay/prof.h"
#include "replay/settings.h"
#include "replay/share.h"
#include "replay/stream.h"

#define FLAG_EVENT_BITS                                                                           \
    (ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | RP_EVENT_DDSYNC | ACL_EVENT_TIME_LINE | \
            ACL_EVENT_DEVICE_USE_ONLY | ACL_EVENT_EXTERNAL)
#define EX_EVENT_BITS \
    (ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | RP_EVENT_DDSYNC | ACL_EVENT_TIME_LINE)

/* With none of these an event orders nothing: it cannot be waited for on a stream, or reset. */
#define ORDER_BITS (ACL_EVENT_SYNC | RP_EVENT_DDSYNC | ACL_EVENT_EXTERNAL | ACL_EVENT_IPC)

// Per device. relaxed throughout: plain counts, nothing is published with them.
static _Atomic uint32_t live_count[RP_ENV_DEVICES_MAX];
static _Atomic uint32_t next_id[RP_ENV_DEVICES_MAX];

// ---- the object ----

void rp_event_ref(struct rp_event *event)
{
    // relaxed: the caller's own reference keeps it.
    atomic_fetch_add_explicit(&event->refs, 1, memory_order_relaxed);
}

void rp_event_unref(struct rp_event *event)
{
    // acq_rel [E0]: the last one sees what the others wrote.
    if (atomic_fetch_sub_explicit(&event->refs, 1, memory_order_acq_rel) == 1) {
        atomic_fetch_sub_explicit(&live_count[event->device_id], 1, memory_order_relaxed);
        rp_context_unref(event->context);
        if (event->share != NULL) {
            rp_share_close(event->share);
        }
        rp_event_forget_runs(event);
        pthread_mutex_destroy(&event->lock);
        rp_free(event);
    }
}

struct rp_event *rp_event_from_handle(const void *handle)
{
    return rp_handle_live(RP_HANDLE_EVENT, handle) ? (struct rp_event *)handle : NULL;
}

static bool count_in(int32_t device_id)
{
    uint32_t live = atomic_load_explicit(&live_count[device_id], memory_order_relaxed);
    do {
        if (live >= rp_env_device()->event_limit) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(
            &live_count[device_id], &live, live + 1, memory_order_relaxed, memory_order_relaxed));
    return true;
}

rp_status rp_event_create(
        struct rp_context *context, enum rp_event_kind kind, uint32_t flags, struct rp_event **out)
{
    const int32_t device_id = context->device_id;
    if (!count_in(device_id)) {
        return rp_fail(RP_ENOEVENT,
                "device %d has %u events, and REPRISE_EVENT_LIMIT allows no more", device_id,
                rp_env_device()->event_limit);
    }
    struct rp_event *event = rp_calloc(1, sizeof(*event));
    if (event == NULL) {
        atomic_fetch_sub_explicit(&live_count[device_id], 1, memory_order_relaxed);
        return rp_fail(RP_ENOMEM, "no memory for an event of device %d", device_id);
    }
    event->id = atomic_fetch_add_explicit(&next_id[device_id], 1, memory_order_relaxed);
    event->device_id = device_id;
    event->kind = (uint8_t)kind;
    event->flags = flags;
    event->context = context;
    rp_context_ref(context);
    event->run_first = 1;
    pthread_mutex_init(&event->lock, NULL);
    atomic_init(&event->refs, 1);
    atomic_init(&event->record_flag, RP_EVENT_FLAG_OPEN);
    atomic_init(&event->wait_flag, RP_EVENT_FLAG_OPEN);
    *out = event;
    return RP_OK;
}

void rp_event_share(struct rp_event *event, struct rp_share *share)
{
    event->share = share;
    event->common = &rp_share_page(share)->u.mark;
}

rp_status rp_event_publish(struct rp_event *event, void **out)
{
    const rp_status st = rp_handle_add(RP_HANDLE_EVENT, event);
    if (st != RP_OK) {
        rp_event_unref(event);
        return st;
    }
    *out = event;
    return RP_OK;
}

static rp_status create(aclrtEvent *out, enum rp_event_kind kind, uint32_t flags)
{
    struct rp_context *context;
    struct rp_event *event;
    rp_status st = rp_context_current(&context);
    if (st == RP_OK) {
        st = rp_event_create(context, kind, flags, &event);
    }
    return st == RP_OK ? rp_event_publish(event, out) : st;
}

// Any process of the user that is given its handle may open it.
static rp_status create_ipc(aclrtEvent *out)
{
    struct rp_context *context;
    struct rp_event *event;
    struct rp_share *share;
    rp_status st = rp_context_current(&context);
    if (st == RP_OK) {
        st = rp_event_create(context, RP_EVENT_EX, ACL_EVENT_IPC, &event);
    }
    if (st != RP_OK) {
        return st;
    }
    st = rp_share_create(RP_SHARE_EVENT, event->id, event->device_id, &share);
    if (st != RP_OK) {
        rp_event_unref(event);
        return st;
    }
    rp_share_allow_all(share);
    rp_event_share(event, share);
    return rp_event_publish(event, out);
}

// ---- public functions: life ----

static rp_status create_plain(aclrtEvent *out)
{
    return out == NULL ? rp_fail(RP_ENULL, "event is a null pointer")
                       : create(out, RP_EVENT_PLAIN, 0);
}

aclError aclrtCreateEvent(aclrtEvent *event)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? create_plain(event) : st);
}

// Whether `bit` is among `flags` and not alone.
static bool joined(uint32_t flags, uint32_t bit)
{
    return (flags & bit) != 0 && flags != bit;
}

static rp_status create_flag(aclrtEvent *out, uint32_t flags)
{
    if (out == NULL) {
        return rp_fail(RP_ENULL, "event is a null pointer");
    }
    if (flags == 0 || (flags & ~FLAG_EVENT_BITS) != 0 || joined(flags, ACL_EVENT_DEVICE_USE_ONLY) ||
            joined(flags, ACL_EVENT_EXTERNAL)) {
        return rp_fail(RP_EPARAM,
                "flag 0x%x: this call takes a union of ACL_EVENT_SYNC, "
                "ACL_EVENT_CAPTURE_STREAM_PROGRESS and ACL_EVENT_TIME_LINE, or one of "
                "ACL_EVENT_DEVICE_USE_ONLY and ACL_EVENT_EXTERNAL alone%s",
                flags,
                (flags & ACL_EVENT_IPC) == 0 ? ""
                                             : "; ACL_EVENT_IPC is for aclrtCreateEventExWithFlag");
    }
    return create(out, RP_EVENT_FLAG, flags);
}

aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? create_flag(event, flag) : st);
}

static rp_status create_ex(aclrtEvent *out, uint32_t flags)
{
    if (out == NULL) {
        return rp_fail(RP_ENULL, "event is a null pointer");
    }
    if (flags == ACL_EVENT_IPC) {
        return create_ipc(out);
    }
    if (flags == 0 || (flags & ~EX_EVENT_BITS) != 0) {
        const uint32_t others = ACL_EVENT_DEVICE_USE_ONLY | ACL_EVENT_EXTERNAL;
        return rp_fail(RP_EPARAM,
                "flag 0x%x: this call takes a union of ACL_EVENT_SYNC, "
                "ACL_EVENT_CAPTURE_STREAM_PROGRESS and ACL_EVENT_TIME_LINE, or ACL_EVENT_IPC "
                "alone%s",
                flags,
                (flags & others) == 0
                        ? ""
                        : "; ACL_EVENT_DEVICE_USE_ONLY and ACL_EVENT_EXTERNAL are for "
                          "aclrtCreateEventWithFlag");
    }
    return create(out, RP_EVENT_EX, flags);
}

aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? create_ex(event, flag) : st);
}

static rp_status destroy(aclrtEvent handle)
{
    if (handle == NULL) {
        return rp_fail(RP_ENULL, "event is a null pointer");
    }
    if (!rp_handle_remove(RP_HANDLE_EVENT, handle)) {
        return rp_fail(RP_EHANDLE, "event %p is no event, or was destroyed before", handle);
    }
    rp_event_unref(handle); // tasks and captures that name it keep it
    return RP_OK;
}

aclError aclrtDestroyEvent(aclrtEvent event)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? destroy(event) : st);
}

// ---- public functions: record, wait, reset ----

static const char *const verb_names[] = {
    [RP_EVENT_RECORD] = "recorded",
    [RP_EVENT_WAIT] = "waited for",
    [RP_EVENT_RESET] = "reset",
};

static bool captures(const struct rp_stream *stream)
{
    // acquire: pairs with capture's store at the begin and end.
    return atomic_load_explicit(&stream->capture_status, memory_order_acquire) != RP_CAPTURE_NONE;
}

// What the event's kind says to a verb, whatever the stream.
static rp_status check_kind(const struct rp_event *event, enum rp_event_verb verb, uint32_t flag)
{
    if (event->flags == ACL_EVENT_DEVICE_USE_ONLY) {
        return rp_fail(RP_EPARAM, "event %" PRIu32 " is for use on the device only", event->id);
    }
    if (verb == RP_EVENT_RESET && event->kind != RP_EVENT_FLAG) {
        return rp_fail(RP_ENOTSUP,
                "event %" PRIu32 " cannot be reset; aclrtCreateEventWithFlag makes events that can",
                event->id);
    }
    if (verb != RP_EVENT_RECORD && event->kind != RP_EVENT_PLAIN &&
            (event->flags & ORDER_BITS) == 0) {
        return rp_fail(RP_ENOTSUP,
                "event %" PRIu32 " cannot be %s: it was created without ACL_EVENT_SYNC", event->id,
                verb_names[verb]);
    }
    if (flag != 0 && (event->kind != RP_EVENT_EX || event->flags != ACL_EVENT_SYNC)) {
        return rp_fail(RP_ENOTSUP,
                "event %" PRIu32 " cannot be %s externally: that takes an event of "
                "aclrtCreateEventExWithFlag with ACL_EVENT_SYNC alone",
                event->id, verb_names[verb]);
    }
    return RP_OK;
}

// An event's flag is fixed by its first use, even where that fails.
static rp_status fix_flag(
        const struct rp_event *event, _Atomic uint32_t *fixed, uint32_t flag, const char *what)
{
    uint32_t first = RP_EVENT_FLAG_OPEN;
    // relaxed: nothing is published with it.
    if (atomic_compare_exchange_strong_explicit(
                fixed, &first, flag, memory_order_relaxed, memory_order_relaxed) ||
            first == flag) {
        return RP_OK;
    }
    return rp_fail(RP_EPARAM,
            "event %" PRIu32 ": its %s flag is %u since its first use, and not %u", event->id, what,
            first, flag);
}

static rp_status submit(aclrtEvent handle, aclrtStream stream_handle, enum rp_event_verb verb,
        uint32_t flag, uint64_t timeout_ns)
{
    struct rp_stream *stream;
    if (handle == NULL) {
        return rp_fail(RP_ENULL, "event is a null pointer");
    }
    struct rp_event *event = rp_event_from_handle(handle);
    if (event == NULL) {
        return rp_fail(RP_EHANDLE, "event %p is no event, or was destroyed", handle);
    }
    rp_status st = rp_stream_resolve(stream_handle, &stream);
    if (st != RP_OK) {
        return st;
    }
    // A captured event on the default stream: what its kind allows is not even asked.
    // acquire: pairs with capture's store.
    const bool implicit = stream->is_default && flag == 0 &&
                          atomic_load_explicit(&event->captured, memory_order_acquire) != NULL;
    st = implicit ? RP_OK : check_kind(event, verb, flag);
    if (st == RP_OK && verb == RP_EVENT_RECORD) {
        st = fix_flag(event, &event->record_flag, flag, "record");
    } else if (st == RP_OK && verb == RP_EVENT_WAIT) {
        st = fix_flag(event, &event->wait_flag, flag, "wait");
    }
    if (st != RP_OK) {
        return st;
    }
    if (flag != 0 && !captures(stream)) {
        return rp_fail(RP_ENOTCAPTURED,
                "event %" PRIu32 " cannot be %s externally on stream %d, which is not capturing",
                event->id, verb_names[verb], stream->id);
    }
    return rp_stream_submit_event(stream, event, verb, flag, timeout_ns);
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream)
{
    const uint64_t began_ns = rp_prof_begin();
    const rp_status st = rp_enter();
    const aclError answer = rp_acl(st == RP_OK ? submit(event, stream, RP_EVENT_RECORD, 0, 0) : st);
    rp_prof_end(RP_PROF_RECORD_EVENT, began_ns);
    return answer;
}

static rp_status record_with_flag(aclrtEvent event, aclrtStream stream, uint32_t flag)
{
    if (event != NULL && flag != ACL_EVENT_RECORD_DEFAULT && flag != ACL_EVENT_RECORD_EXTERNAL) {
        return rp_fail(RP_EINVAL,
                "flag is %u; it can be ACL_EVENT_RECORD_DEFAULT or ACL_EVENT_RECORD_EXTERNAL",
                flag);
    }
    return submit(event, stream, RP_EVENT_RECORD, flag, 0);
}

aclError aclrtRecordEventWithFlag(aclrtEvent event, aclrtStream stream, uint32_t flag)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? record_with_flag(event, stream, flag) : st);
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? submit(event, stream, RP_EVENT_RESET, 0, 0) : st);
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event)
{
    const uint64_t began_ns = rp_prof_begin();
    const rp_status st = rp_enter();
    const aclError answer = rp_acl(
            st == RP_OK ? submit(event, stream, RP_EVENT_WAIT, 0, rp_op_wait_timeout_ns()) : st);
    rp_prof_end(RP_PROF_WAIT_EVENT, began_ns);
    return answer;
}

static rp_status wait_with_timeout(aclrtStream stream, aclrtEvent event, int32_t timeout_s)
{
    if (timeout_s < 0) {
        return rp_fail(RP_EPARAM, "timeout is %d s; it can be 0 (no limit) or more", timeout_s);
    }
    return submit(event, stream, RP_EVENT_WAIT, 0, (uint64_t)timeout_s * RP_NS_PER_S);
}

aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? wait_with_timeout(stream, event, timeout) : st);
}

static rp_status wait_with_flag(
        aclrtStream stream, aclrtEvent event, uint32_t timeout_s, uint32_t flag)
{
    if (event != NULL && flag != ACL_EVENT_WAIT_DEFAULT && flag != ACL_EVENT_WAIT_EXTERNAL) {
        return rp_fail(RP_EINVAL,
                "flag is %u; it can be ACL_EVENT_WAIT_DEFAULT or ACL_EVENT_WAIT_EXTERNAL", flag);
    }
    if (event != NULL && flag == ACL_EVENT_WAIT_EXTERNAL && timeout_s != 0) {
        return rp_fail(
                RP_EINVAL, "timeout is %u s; an external wait has none: it must be 0", timeout_s);
    }
    return submit(event, stream, RP_EVENT_WAIT, flag, (uint64_t)timeout_s * RP_NS_PER_S);
}

aclError aclrtStreamWaitEventWithFlag(
        aclrtStream stream, aclrtEvent event, uint32_t timeout, uint32_t flag)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? wait_with_flag(stream, event, timeout, flag) : st);
}

// ---- public functions: numbers ----

static rp_status get_id(aclrtEvent handle, uint32_t *out)
{
    if (handle == NULL || out == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", handle == NULL ? "event" : "eventId");
    }
    const struct rp_event *event = rp_event_from_handle(handle);
    if (event == NULL) {
        return rp_fail(RP_EHANDLE, "event %p is no event, or was destroyed", handle);
    }
    if (event->flags == ACL_EVENT_IPC) {
        return rp_fail(RP_ENOTSUP, "an ACL_EVENT_IPC event has no number that processes agree on");
    }
    *out = event->id;
    return RP_OK;
}

aclError aclrtGetEventId(aclrtEvent event, uint32_t *eventId)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_id(event, eventId) : st);
}

static rp_status available(uint32_t *out)
{
    struct rp_context *context;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "eventCount is a null pointer");
    }
    const rp_status st = rp_context_current(&context);
    if (st == RP_OK) {
        *out = rp_env_device()->event_limit -
               atomic_load_explicit(&live_count[context->device_id], memory_order_relaxed);
    }
    return st;
}

aclError aclrtGetEventAvailNum(uint32_t *eventCount)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? available(eventCount) : st);
}
