// What the host asks of an event: whether it is reached, to wait for it, and when it was.

#include <acl/acl_rt.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/error.h"
#include "replay/context.h"
#include "replay/device.h"
#include "replay/event.h"
#include "replay/prof.h"
#include "replay/share.h"

#define PEER_LOOK_NS (50 * RP_NS_PER_MS)

// The latest record at the time of the call.
struct point {
    struct rp_event *event;
    uint64_t ticket; // 0: never recorded
};

static struct point latest(struct rp_event *event)
{
    return (struct point){
        .event = event,
        // seq_cst [E1]: pairs with the increment of a record.
        .ticket = atomic_load_explicit(rp_event_recorded(event), memory_order_seq_cst),
    };
}

static bool reached(void *arg)
{
    const struct point *point = arg;
    return rp_event_is_reached(point->event, point->ticket); // a sleeper's second look, too
}

// A wait of the host for it.
struct vigil {
    struct point point;
    uint64_t next_look_ns; // at the process that is to record it
    bool abandoned;
};

static rp_status resolve(aclrtEvent handle, const char *name, struct rp_event **out)
{
    if (handle == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", name);
    }
    *out = rp_event_from_handle(handle);
    if (*out == NULL) {
        return rp_fail(RP_EHANDLE, "%s %p is no event, or was destroyed", name, handle);
    }
    return RP_OK;
}

// What no question of the host is answered for.
static rp_status check_askable(const struct rp_event *event)
{
    if (event->flags == ACL_EVENT_EXTERNAL) {
        return rp_fail(RP_ENOTSUP,
                "event %" PRIu32
                " has ACL_EVENT_EXTERNAL: the host can neither wait for it nor ask",
                event->id);
    }
    // acquire: pairs with capture's store.
    if (atomic_load_explicit(&event->captured, memory_order_acquire) != NULL) {
        return rp_fail(RP_EEVENTCAPTURED,
                "event %" PRIu32 " was recorded in a capture that is open", event->id);
    }
    return RP_OK;
}

// The device whose scheduler brings the event about; its context keeps it.
static rp_status device_of(const struct rp_event *event, struct rp_device **out)
{
    // acquire [C2]: pairs with the store in rp_context_destroy.
    if (atomic_load_explicit(&event->context->destroyed, memory_order_acquire)) {
        return rp_fail(RP_ENOCTX, "the context of event %" PRIu32 " has been destroyed", event->id);
    }
    *out = event->context->device;
    return RP_OK;
}

// Whether the latest record is reached, after one step of the device if it is not yet.
static rp_status look(struct rp_event *event, bool *out)
{
    struct point point = latest(event);
    struct rp_device *device;
    *out = reached(&point);
    if (*out) {
        return RP_OK;
    }
    const rp_status st = device_of(event, &device);
    if (st == RP_OK) {
        rp_device_step_once(device);
        *out = reached(&point);
    }
    return st;
}

// ---- whether ----

// Both older questions are not for events of the newest kind; that one is captured is said first.
static rp_status check_old_kind(const struct rp_event *event, const char *call)
{
    const rp_status st = check_askable(event);
    if (st == RP_OK && event->kind == RP_EVENT_EX) {
        return rp_fail(RP_ENOTSUP,
                "%s: event %" PRIu32 " is of aclrtCreateEventExWithFlag; use aclrtQueryEventStatus",
                call, event->id);
    }
    return st;
}

static rp_status query(aclrtEvent handle, aclrtEventStatus *out)
{
    struct rp_event *event;
    bool complete;
    rp_status st = resolve(handle, "event", &event);
    if (st == RP_OK && out == NULL) {
        st = rp_fail(RP_ENULL, "status is a null pointer");
    }
    if (st == RP_OK) {
        st = check_old_kind(event, "aclrtQueryEvent");
    }
    if (st == RP_OK) {
        st = look(event, &complete);
    }
    if (st == RP_OK) {
        *out = complete ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    }
    return st;
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus *status)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? query(event, status) : st);
}

static rp_status query_status(aclrtEvent handle, aclrtEventRecordedStatus *out)
{
    struct rp_event *event;
    bool complete;
    rp_status st = resolve(handle, "event", &event);
    if (st == RP_OK && out == NULL) {
        st = rp_fail(RP_ENULL, "status is a null pointer");
    }
    if (st == RP_OK) {
        st = check_askable(event);
    }
    if (st == RP_OK) {
        st = look(event, &complete);
    }
    if (st == RP_OK) {
        // Never recorded: complete for the newest kind, not so for the others.
        complete = complete && (event->kind == RP_EVENT_EX || latest(event).ticket != 0);
        *out = complete ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    }
    return st;
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? query_status(event, status) : st);
}

static rp_status query_waits(aclrtEvent handle, aclrtEventWaitStatus *out)
{
    struct rp_event *event;
    struct rp_device *device;
    rp_status st = resolve(handle, "event", &event);
    if (st == RP_OK && out == NULL) {
        st = rp_fail(RP_ENULL, "status is a null pointer");
    }
    if (st == RP_OK) {
        st = check_old_kind(event, "aclrtQueryEventWaitStatus");
    }
    if (st == RP_OK) {
        st = device_of(event, &device);
    }
    if (st != RP_OK) {
        return st;
    }
    // seq_cst [E2]: pairs with the scheduler's decrement.
    if (atomic_load_explicit(&event->waits_pending, memory_order_seq_cst) != 0) {
        rp_device_step_once(device);
    }
    *out = atomic_load_explicit(&event->waits_pending, memory_order_seq_cst) == 0
                   ? ACL_EVENT_WAIT_STATUS_COMPLETE
                   : ACL_EVENT_WAIT_STATUS_NOT_READY;
    return RP_OK;
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus *status)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? query_waits(event, status) : st);
}

// ---- waiting ----

// Another process that was to record the event may end without a word, so it is looked at, too.
static bool settled(void *arg)
{
    struct vigil *vigil = arg;
    if (reached(&vigil->point)) {
        return true;
    }
    const struct rp_event *event = vigil->point.event;
    const uint64_t now_ns = event->share == NULL ? 0 : rp_now_ns();
    if (now_ns >= vigil->next_look_ns) {
        vigil->next_look_ns = now_ns + PEER_LOOK_NS;
        vigil->abandoned = rp_share_abandoned(event->share, vigil->point.ticket) != 0;
    }
    return vigil->abandoned;
}

static rp_status wait_for(struct rp_device *device, struct rp_event *event, int32_t timeout_ms)
{
    struct vigil vigil = {
        .point = latest(event),
        .next_look_ns = event->share == NULL ? UINT64_MAX : rp_now_ns() + PEER_LOOK_NS,
    };
    const rp_status st = rp_device_wait(device, settled, &vigil,
            timeout_ms == -1 ? UINT64_MAX : (uint64_t)timeout_ms * RP_NS_PER_MS, RP_EEVENTTIMEOUT);
    return st == RP_OK && vigil.abandoned ? rp_event_check_recorder(event, vigil.point.ticket) : st;
}

static rp_status synchronize(aclrtEvent handle, int32_t timeout_ms)
{
    struct rp_event *event;
    struct rp_device *device;
    if (timeout_ms < -1 || timeout_ms == 0) {
        return rp_fail(
                RP_EPARAM, "timeout is %d ms; it can be -1 (no limit) or more than 0", timeout_ms);
    }
    rp_status st = resolve(handle, "event", &event);
    if (st == RP_OK) {
        st = check_askable(event);
    }
    // relaxed: set by the program's own calls.
    if (st == RP_OK && atomic_load_explicit(&event->built, memory_order_relaxed) != 0) {
        st = rp_fail(RP_EPARAM,
                "event %" PRIu32 " is used in a built graph: the host cannot wait for it",
                event->id);
    }
    if (st != RP_OK) {
        return st;
    }
    struct point point = latest(event);
    if (reached(&point)) {
        return RP_OK;
    }
    st = device_of(event, &device);
    if (st != RP_OK) {
        return st;
    }
    rp_event_ref(event); // it may be destroyed meanwhile
    st = wait_for(device, event, timeout_ms);
    rp_event_unref(event);
    return st;
}

aclError aclrtSynchronizeEvent(aclrtEvent event)
{
    const uint64_t began_ns = rp_prof_begin();
    const rp_status st = rp_enter();
    const aclError answer = rp_acl(st == RP_OK ? synchronize(event, -1) : st);
    rp_prof_end(RP_PROF_SYNC_EVENT, began_ns);
    return answer;
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? synchronize(event, timeout) : st);
}

// ---- when ----

// When the latest record was reached.
static rp_status stamp_of(struct rp_event *event, uint64_t *stamp_ns)
{
    struct point point = latest(event);
    if (event->kind != RP_EVENT_PLAIN && (event->flags & ACL_EVENT_TIME_LINE) == 0) {
        return rp_fail(RP_ETIMESTAMP,
                "event %" PRIu32 " takes no time stamp: it was created without ACL_EVENT_TIME_LINE",
                event->id);
    }
    if (point.ticket == 0 || !reached(&point)) {
        return rp_fail(RP_ETIMESTAMP, "event %" PRIu32 " %s", event->id,
                point.ticket == 0 ? "was never recorded"
                                  : "is not reached yet; synchronise it first");
    }
    // acquire [E3]: pairs with the scheduler's store before that of `reached`.
    *stamp_ns = atomic_load_explicit(&event->stamp_ns, memory_order_acquire);
    if (*stamp_ns == 0) {
        return rp_fail(RP_ETIMESTAMP,
                "event %" PRIu32 " has no time stamp: its record was dropped with its stream",
                event->id);
    }
    return RP_OK;
}

static rp_status elapsed(float *ms, aclrtEvent start_handle, aclrtEvent end_handle)
{
    struct rp_event *start;
    struct rp_event *end;
    uint64_t start_ns;
    uint64_t end_ns;
    if (ms == NULL) {
        return rp_fail(RP_ENULL, "ms is a null pointer");
    }
    rp_status st = resolve(start_handle, "startEvent", &start);
    if (st == RP_OK) {
        st = resolve(end_handle, "endEvent", &end);
    }
    if (st == RP_OK) {
        st = check_askable(start);
    }
    if (st == RP_OK) {
        st = check_askable(end);
    }
    if (st == RP_OK) {
        st = stamp_of(start, &start_ns);
    }
    if (st == RP_OK) {
        st = stamp_of(end, &end_ns);
    }
    if (st != RP_OK) {
        return st;
    }
    if (end_ns < start_ns) {
        return rp_fail(RP_EREVERSAL,
                "event %" PRIu32 " was reached %.3f us before event %" PRIu32 ", the start",
                end->id, (double)(start_ns - end_ns) / 1e3, start->id);
    }
    *ms = (float)((double)(end_ns - start_ns) / 1e6);
    return RP_OK;
}

aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? elapsed(ms, startEvent, endEvent) : st);
}

static rp_status get_timestamp(aclrtEvent handle, uint64_t *timestamp)
{
    struct rp_event *event;
    uint64_t stamp_ns;
    if (timestamp == NULL) {
        return rp_fail(RP_ENULL, "timestamp is a null pointer");
    }
    rp_status st = resolve(handle, "event", &event);
    if (st == RP_OK) {
        st = check_askable(event);
    }
    if (st == RP_OK) {
        st = stamp_of(event, &stamp_ns);
    }
    if (st == RP_OK) {
        *timestamp = stamp_ns / RP_NS_PER_US;
    }
    return st;
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t *timestamp)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_timestamp(event, timestamp) : st);
}
