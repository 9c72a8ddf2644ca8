// Waiting for all streams of a context: aclrtSynchronizeDevice, and what frees memory after it.

#include <acl/acl_rt.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/util.h"
#include "replay/context.h"
#include "replay/device.h"
#include "replay/prof.h"
#include "replay/stream.h"

// The streams of a context at the time of the call, and how far each has to come.
struct entry {
    struct rp_stream *stream; // referenced
    uint64_t until;           // value of `ended`
    bool waited;              // it was behind that
};

struct streams {
    uint32_t count;
    struct entry entry[];
};

static bool entry_ended(void *arg)
{
    const struct entry *entry = arg;
    // seq_cst [S1]: pairs with the scheduler's store, as a sleeper's second look.
    return atomic_load_explicit(&entry->stream->ended, memory_order_seq_cst) >= entry->until;
}

static void put(struct streams *streams, struct rp_stream *stream)
{
    rp_stream_ref(stream);
    streams->entry[streams->count].stream = stream;
    // relaxed: what this thread has submitted, and what it has been told of.
    streams->entry[streams->count].until =
            atomic_load_explicit(&stream->submitted, memory_order_relaxed);
    streams->count++;
}

static void release(struct streams *streams)
{
    for (uint32_t i = 0; i < streams->count; i++) {
        rp_stream_unref(streams->entry[i].stream);
    }
    rp_free(streams);
}

static bool waitable(const struct rp_stream *stream)
{
    return (stream->flags & (ACL_STREAM_PERSISTENT | ACL_STREAM_DEVICE_USE_ONLY |
                                    ACL_STREAM_CPU_SCHEDULE)) == 0;
}

// RP_ESTREAMCAPTURED when one of them is capturing. Under the context's lock.
static rp_status collect_locked(struct rp_context *context, struct streams *streams, uint32_t room)
{
    put(streams, context->default_stream);
    rp_list_each(link, &context->streams)
    {
        struct rp_stream *stream = rp_container_of(link, struct rp_stream, in_context);
        // acquire: pairs with capture's store at the begin and end.
        if (atomic_load_explicit(&stream->capture_status, memory_order_acquire) !=
                RP_CAPTURE_NONE) {
            return rp_fail(RP_ESTREAMCAPTURED,
                    "the device cannot be synchronised: stream %d of the context is capturing",
                    stream->id);
        }
        if (waitable(stream) && streams->count < room) {
            put(streams, stream);
        }
    }
    return RP_OK;
}

static uint32_t count_streams(struct rp_context *context)
{
    uint32_t count = 1; // the default stream
    pthread_mutex_lock(&context->lock);
    rp_list_each(link, &context->streams)
    {
        count++;
    }
    pthread_mutex_unlock(&context->lock);
    return count;
}

static rp_status collect(struct rp_context *context, struct streams **out)
{
    // A stream that another thread creates meanwhile is not among those to be waited for.
    const uint32_t room = count_streams(context);
    struct streams *streams = rp_calloc(1, sizeof(*streams) + room * sizeof(streams->entry[0]));
    if (streams == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for a list of %u streams", room);
    }
    pthread_mutex_lock(&context->lock);
    const rp_status st = collect_locked(context, streams, room);
    pthread_mutex_unlock(&context->lock);
    if (st != RP_OK) {
        release(streams);
        return st;
    }
    *out = streams;
    return RP_OK;
}

// The first failure that waits to be told; the others keep theirs.
static rp_status first_failure(const struct streams *streams)
{
    rp_status st = RP_OK;
    for (uint32_t i = 0; st == RP_OK && i < streams->count; i++) {
        const struct entry *entry = &streams->entry[i];
        st = rp_stream_take_failure(entry->stream);
        if (st == RP_OK && entry->waited) {
            st = rp_stream_told_abort(entry->stream, entry->until);
        }
    }
    return st;
}

// One stream after the other, so that host functions of these streams, and of no others of the
// device, may run on this thread.
static rp_status wait_all(struct rp_context *context, struct streams *streams, uint64_t deadline_ns)
{
    rp_status st = RP_OK;
    for (uint32_t i = 0; st == RP_OK && i < streams->count; i++) {
        const uint64_t now_ns = rp_now_ns();
        const struct rp_wait wait = {
            .ready = entry_ended,
            .arg = &streams->entry[i],
            .timeout_ns = deadline_ns == UINT64_MAX ? UINT64_MAX
                          : deadline_ns > now_ns    ? deadline_ns - now_ns
                                                    : 0,
            .on_timeout = RP_ESYNCTIMEOUT,
            .stream = streams->entry[i].stream,
        };
        if (!entry_ended(&streams->entry[i])) {
            st = rp_device_wait_for(context->device, &wait);
            streams->entry[i].waited = st == RP_OK;
        }
    }
    return st;
}

rp_status rp_context_drain(struct rp_context *context, uint64_t timeout_ns)
{
    struct streams *streams;
    const uint64_t deadline_ns = rp_deadline_ns(timeout_ns);
    rp_status st = collect(context, &streams);
    if (st != RP_OK) {
        return st;
    }
    st = wait_all(context, streams, deadline_ns);
    if (st == RP_OK) {
        st = first_failure(streams);
    }
    release(streams);
    return st;
}

static rp_status synchronize(int32_t timeout_ms)
{
    struct rp_context *context;
    if (timeout_ms < -1 || timeout_ms == 0) {
        return rp_fail(
                RP_EPARAM, "timeout is %d ms; it can be -1 (no limit) or more than 0", timeout_ms);
    }
    const rp_status st = rp_context_current(&context);
    if (st != RP_OK) {
        return st;
    }
    return rp_context_drain(
            context, timeout_ms == -1 ? UINT64_MAX : (uint64_t)timeout_ms * RP_NS_PER_MS);
}

aclError aclrtSynchronizeDevice(void)
{
    const uint64_t began_ns = rp_prof_begin();
    const rp_status st = rp_enter();
    const aclError answer = rp_acl(st == RP_OK ? synchronize(-1) : st);
    rp_prof_end(RP_PROF_SYNC_DEVICE, began_ns);
    return answer;
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? synchronize(timeout) : st);
}
