// aclrtDeviceTaskAbort: stopping what all streams of a device run, and dropping what they have
// queued.
//
// A capture is not work: what a capturing stream had queued before is dropped, and what it records
// stays. A stream that is bound to a graph runs nothing itself.

#include <acl/acl_rt.h>

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "replay/abort.h"
#include "replay/abort_callback.h"
#include "replay/primary.h"
#include "replay/scheduler.h"
#include "replay/stream_abort.h"

// A stream that had work, and how far it has to come.
struct entry {
    struct rp_stream *stream; // referenced
    uint64_t until;
};

struct stops {
    uint32_t count;
    struct entry entry[];
};

// Baton.
static rp_status stop_streams(struct rp_device *device, struct stops **out)
{
    struct stops *stops =
            rp_calloc(1, sizeof(*stops) + device->active_count * sizeof(stops->entry[0]));
    if (stops == NULL) {
        return rp_fail(RP_ENOMEM,
                "aclrtDeviceTaskAbort: no memory for a list of %" PRIu32 " streams",
                device->active_count);
    }
    char who[64];
    snprintf(who, sizeof(who), "aclrtDeviceTaskAbort of device %" PRId32, device->id);
    rp_list_each(link, &device->active)
    {
        struct rp_stream *stream = rp_container_of(link, struct rp_stream, in_active);
        // relaxed: what this thread has submitted, and what it has been told of.
        const uint64_t until = atomic_load_explicit(&stream->submitted, memory_order_relaxed);
        rp_stream_ref(stream); // it has work, and that a reference
        stops->entry[stops->count++] = (struct entry){ .stream = stream, .until = until };
        rp_stream_stop(stream, until, who);
    }
    *out = stops;
    return RP_OK;
}

// The first that has not ended, or NULL.
static const struct entry *unended(const struct stops *stops)
{
    for (uint32_t i = 0; i < stops->count; i++) {
        if (!rp_stream_has_ended(stops->entry[i].stream, stops->entry[i].until)) {
            return &stops->entry[i];
        }
    }
    return NULL;
}

static bool all_ended(void *stops)
{
    return unended(stops) == NULL;
}

static rp_status await_end(struct rp_device *device, struct stops *stops, uint32_t timeout_ms)
{
    const uint64_t timeout_ns = timeout_ms == 0 ? UINT64_MAX : timeout_ms * RP_NS_PER_MS;
    const rp_status st = rp_device_wait(device, all_ended, stops, timeout_ns, RP_ESYNCTIMEOUT);
    const struct entry *left = st == RP_ESYNCTIMEOUT ? unended(stops) : NULL;
    if (left == NULL) {
        return st == RP_ESYNCTIMEOUT ? RP_OK : st; // it has ended at the last moment
    }
    return rp_fail(st,
            "aclrtDeviceTaskAbort: what device %" PRId32 " has queued is dropped, but after "
            "%" PRIu32 " ms stream %" PRId32
            " is still in a function of the program, or a peer in its collective",
            device->id, timeout_ms, left->stream->id);
}

static rp_status stop_all(struct rp_device *device, uint32_t timeout_ms)
{
    struct stops *stops = NULL;
    rp_device_enter_admitted(device);
    rp_status st = stop_streams(device, &stops);
    rp_device_leave(device);
    if (st != RP_OK) {
        return st;
    }
    rp_device_poke(device);
    // It may be in the very function that a stream is in.
    st = rp_thread_in_callback() ? RP_OK : await_end(device, stops, timeout_ms);
    for (uint32_t i = 0; i < stops->count; i++) {
        rp_stream_unref(stops->entry[i].stream);
    }
    rp_free(stops);
    return st;
}

static rp_status abort_device(struct rp_device *device, uint32_t timeout_ms)
{
    // acq_rel: one call at a time; what the last one did is before this one.
    if (atomic_exchange_explicit(&device->aborting, true, memory_order_acq_rel)) {
        return rp_fail(RP_EDEVABORT,
                "aclrtDeviceTaskAbort: another call aborts the tasks of device %" PRId32,
                device->id);
    }
    rp_abort_callbacks_run(device->id, ACL_RT_DEVICE_TASK_ABORT_PRE, timeout_ms);
    const rp_status st = stop_all(device, timeout_ms);
    rp_abort_callbacks_run(device->id, ACL_RT_DEVICE_TASK_ABORT_POST, timeout_ms);
    // release: as above.
    atomic_store_explicit(&device->aborting, false, memory_order_release);
    return st;
}

static rp_status task_abort(int32_t device_id, uint32_t timeout_ms)
{
    struct rp_device *device;
    rp_status st = rp_device_check_id(device_id);
    if (st == RP_OK && rp_device_peek(device_id) == NULL) {
        st = rp_fail(RP_EDEVICE,
                "aclrtDeviceTaskAbort: device %" PRId32 " is not in use by this process",
                device_id);
    }
    st = st != RP_OK ? st : rp_device_ref(device_id, &device);
    if (st != RP_OK) {
        return st;
    }
    st = abort_device(device, timeout_ms);
    rp_device_unref(device);
    return st;
}

aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? task_abort(deviceId, timeout) : st);
}
