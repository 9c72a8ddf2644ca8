// Streams: life, waiting, failures. Submitting is the scheduler's side of them (submission.c);
// attributes are in stream_attr.c.
//
// Who waits for a stream remembers `submitted` and waits until `ended` has come as far; both only
// grow. A failure stays with its stream until somebody asks, and is told once. In
// ACL_STOP_ON_FAILURE it stops the whole context, for good, and is told to everybody who asks.

#include "replay/stream.h"

#include <acl/acl_rt.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/log.h"
#include "base/util.h"
#include "replay/callback.h"
#include "replay/prof.h"

#define PRIORITY_LOWEST 7

/* Streams that nobody drives by themselves: waiting for them would have no end. */
#define UNWAITABLE (ACL_STREAM_PERSISTENT | ACL_STREAM_DEVICE_USE_ONLY | ACL_STREAM_CPU_SCHEDULE)

// Per device. relaxed throughout: plain counts, nothing is published with them.
static _Atomic uint32_t live_count[RP_ENV_DEVICES_MAX];
static _Atomic uint32_t next_id[RP_ENV_DEVICES_MAX];

// ---- the object ----

void rp_stream_ref(struct rp_stream *stream)
{
    // relaxed: the caller's own reference keeps it.
    atomic_fetch_add_explicit(&stream->refs, 1, memory_order_relaxed);
}

void rp_stream_unref(struct rp_stream *stream)
{
    // acq_rel [S0]: the last one sees what the others wrote.
    if (atomic_fetch_sub_explicit(&stream->refs, 1, memory_order_acq_rel) == 1) {
        rp_stream_free_staged(stream, true);
        rp_context_unref(stream->context);
        pthread_mutex_destroy(&stream->error_lock);
        rp_free(stream);
    }
}

// Takes one of the device's places; false: there is none.
static bool count_in(int32_t device_id)
{
    uint32_t live = atomic_load_explicit(&live_count[device_id], memory_order_relaxed);
    do {
        if (live >= rp_env_device()->stream_limit) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(
            &live_count[device_id], &live, live + 1, memory_order_relaxed, memory_order_relaxed));
    return true;
}

static void count_out(int32_t device_id)
{
    atomic_fetch_sub_explicit(&live_count[device_id], 1, memory_order_relaxed);
}

rp_status rp_stream_create(struct rp_context *context, uint32_t priority, uint32_t flags,
        bool is_default, struct rp_stream **out)
{
    const int32_t device_id = context->device_id;
    if (!is_default && !count_in(device_id)) {
        return rp_fail(RP_ENOSTREAM,
                "device %d has %u streams, all made by the program, and REPRISE_STREAM_LIMIT "
                "allows "
                "no more; captured graphs take none",
                device_id, rp_env_device()->stream_limit);
    }
    rp_status st = RP_ENOMEM;
    struct rp_stream *stream = rp_calloc(1, sizeof(*stream));
    if (stream == NULL) {
        rp_fail(st, "no memory for a stream of device %d", device_id);
        goto undo_count;
    }
    stream->context = context;
    stream->device = context->device;
    atomic_init(&stream->priority, priority < PRIORITY_LOWEST ? priority : PRIORITY_LOWEST);
    stream->flags = flags;
    stream->is_default = is_default;
    stream->id = (int32_t)(atomic_fetch_add_explicit(&next_id[device_id], 1, memory_order_relaxed) &
                           INT32_MAX);
    atomic_init(&stream->refs, 1);
    atomic_init(&stream->submit, &rp_submit_eager);
    pthread_mutex_init(&stream->error_lock, NULL);
    rp_list_init(&stream->in_context);
    rp_list_init(&stream->staged);
    rp_list_init(&stream->fifo);
    rp_list_init(&stream->in_active);
    st = rp_handle_add(RP_HANDLE_STREAM, stream);
    if (st != RP_OK) {
        goto undo_alloc;
    }
    rp_context_ref(context);
    if (!is_default) {
        pthread_mutex_lock(&context->lock);
        rp_list_push_back(&context->streams, &stream->in_context);
        pthread_mutex_unlock(&context->lock);
    }
    *out = stream;
    return RP_OK;

undo_alloc:
    pthread_mutex_destroy(&stream->error_lock);
    rp_free(stream);
undo_count:
    if (!is_default) {
        count_out(device_id);
    }
    return st;
}

struct rp_stream *rp_stream_from_handle(const void *handle)
{
    return rp_handle_live(RP_HANDLE_STREAM, handle) ? (struct rp_stream *)handle : NULL;
}

rp_status rp_stream_resolve(void *handle, struct rp_stream **out)
{
    struct rp_context *context;
    const rp_status st = rp_context_current(&context);
    if (st != RP_OK) {
        return st;
    }
    struct rp_stream *stream = context->default_stream;
    if (handle != NULL) {
        stream = rp_stream_from_handle(handle);
        if (stream == NULL) {
            return rp_fail(RP_EHANDLE, "stream %p is no stream, or was destroyed", handle);
        }
    }
    if (stream->context != context) {
        return rp_fail(RP_ESTREAMCTX,
                "stream %d of device %d does not belong to this thread's current context",
                stream->id, stream->context->device_id);
    }
    *out = stream;
    return RP_OK;
}

// ---- failures ----

// Remembers the context's first failure.
static void stop_context(struct rp_context *context, rp_status st, const char *sentence)
{
    pthread_mutex_lock(&context->lock);
    // relaxed: only changed under this lock.
    if (atomic_load_explicit(&context->stopped, memory_order_relaxed) == RP_OK) {
        rp_text_copy(context->stopped_text, sizeof(context->stopped_text), sentence);
        // release [S2]: pairs with the loads in rp_stream_refusal and rp_stream_take_failure.
        atomic_store_explicit(&context->stopped, st, memory_order_release);
    }
    pthread_mutex_unlock(&context->lock);
}

void rp_stream_fail(struct rp_stream *stream, rp_status st, const char *sentence)
{
    const char *text = sentence == NULL || sentence[0] == '\0' ? rp_status_text(st) : sentence;
    pthread_mutex_lock(&stream->error_lock);
    // relaxed: only changed under this lock.
    if (atomic_load_explicit(&stream->error, memory_order_relaxed) == RP_OK) {
        rp_text_copy(stream->error_text, sizeof(stream->error_text), text);
        // relaxed: whoever sees it takes the lock before it reads the text.
        atomic_store_explicit(&stream->error, st, memory_order_relaxed);
    }
    pthread_mutex_unlock(&stream->error_lock);
    // relaxed: set before the tasks that it is about.
    if (atomic_load_explicit(&stream->failure_mode, memory_order_relaxed) == ACL_STOP_ON_FAILURE) {
        stop_context(stream->context, st, text);
    }
}

rp_status rp_stream_refusal(struct rp_stream *stream, uint64_t number)
{
    // relaxed: a submission that is past the check runs; dropping is no promise about it.
    if (number <= atomic_load_explicit(&stream->dropped, memory_order_relaxed)) {
        return RP_ESTREAMABORT;
    }
    // acquire [S2]: pairs with the store in stop_context.
    return (rp_status)atomic_load_explicit(&stream->context->stopped, memory_order_acquire);
}

rp_status rp_stream_take_failure(struct rp_stream *stream)
{
    const struct rp_context *context = stream->context;
    // acquire [S2]: pairs with the store in stop_context; the text never changes after it.
    rp_status st = (rp_status)atomic_load_explicit(&context->stopped, memory_order_acquire);
    if (st != RP_OK) {
        rp_error_post(st, context->stopped_text);
        return st;
    }
    // relaxed: the text is read under the lock. A failure that ended a submission is seen by
    // whoever has seen the submission ended.
    if (atomic_load_explicit(&stream->error, memory_order_relaxed) == RP_OK) {
        return RP_OK;
    }
    char text[sizeof(stream->error_text)];
    pthread_mutex_lock(&stream->error_lock);
    st = (rp_status)atomic_exchange_explicit(&stream->error, RP_OK, memory_order_relaxed);
    memcpy(text, stream->error_text, sizeof(text));
    pthread_mutex_unlock(&stream->error_lock);
    if (st != RP_OK) { // else another thread was told between the two looks
        rp_error_post(st, text);
    }
    return st;
}

// ---- waiting ----

rp_status rp_stream_told_abort(const struct rp_stream *stream, uint64_t until)
{
    // relaxed: who dropped it did so before the scheduler ended it, which the caller has seen.
    if (atomic_load_explicit(&stream->dropped, memory_order_relaxed) < until) {
        return RP_OK;
    }
    return rp_fail(RP_ESTREAMABORT,
            "stream %d was aborted or destroyed while this thread waited for its work", stream->id);
}

struct drain {
    struct rp_stream *stream;
    uint64_t until; // value of `ended`
};

static bool drained(void *arg)
{
    const struct drain *drain = arg;
    // seq_cst [S1]: pairs with the scheduler's store, as a sleeper's second look; what the
    // submissions wrote is visible then.
    return atomic_load_explicit(&drain->stream->ended, memory_order_seq_cst) >= drain->until;
}

rp_status rp_stream_drain(struct rp_stream *stream, uint64_t timeout_ns)
{
    struct drain drain = {
        .stream = stream,
        // relaxed: what this thread has submitted, and what it has been told of.
        .until = atomic_load_explicit(&stream->submitted, memory_order_relaxed),
    };
    const struct rp_wait wait = {
        .ready = drained,
        .arg = &drain,
        .timeout_ns = timeout_ns,
        .on_timeout = RP_ESYNCTIMEOUT,
        .stream = stream,
    };
    if (drained(&drain)) {
        return rp_stream_take_failure(stream);
    }
    rp_status st = rp_device_wait_for(stream->device, &wait);
    if (st == RP_OK) {
        st = rp_stream_take_failure(stream);
    }
    return st == RP_OK ? rp_stream_told_abort(stream, drain.until) : st;
}

static void hold(void *stream)
{
    rp_stream_ref(stream);
}

rp_status rp_stream_await(struct rp_stream *stream, uint64_t timeout_ns)
{
    if (!rp_handle_ref(RP_HANDLE_STREAM, stream, hold)) {
        return rp_fail(RP_EHANDLE, "stream %p was destroyed meanwhile", (void *)stream);
    }
    const rp_status st = rp_stream_drain(stream, timeout_ns);
    rp_stream_unref(stream);
    return st;
}

// A stream that ends has no thread for callbacks any more. Those still queued are not called.
static void end_subscription(struct rp_stream *stream)
{
    // relaxed: changes that race with destroying the stream are the program's error.
    const uint64_t thread = atomic_load_explicit(&stream->report_thread, memory_order_relaxed);
    if (thread != 0 && rp_report_unsubscribe(thread, stream) != RP_OK) {
        rp_log_debug("stream %d: another thread ended its subscription meanwhile", stream->id);
    }
}

// An update that nobody can end any more.
static void end_update(struct rp_stream *stream)
{
    pthread_mutex_t *lock = &stream->context->capture_lock;
    pthread_mutex_lock(lock);
    // relaxed: changed under the lock.
    struct rp_stream_update *update =
            atomic_exchange_explicit(&stream->update, NULL, memory_order_relaxed);
    if (update != NULL) {
        update->drop(update);
    }
    pthread_mutex_unlock(lock);
}

// A capture that nobody can end any more: its device is reset by force.
static void end_capture(struct rp_stream *stream)
{
    pthread_mutex_t *lock = &stream->context->capture_lock;
    pthread_mutex_lock(lock);
    const struct rp_stream_capture *capture = stream->capture;
    void (*drop)(struct rp_stream *) = capture == NULL ? NULL : capture->drop;
    pthread_mutex_unlock(lock);
    if (drop != NULL) {
        drop(stream);
    }
}

void rp_stream_retire(struct rp_stream *stream, bool force)
{
    end_update(stream);
    end_capture(stream);
    if (force) {
        end_subscription(stream);
        // relaxed: a hint to the scheduler, which is poked about it.
        atomic_store_explicit(&stream->dropped, UINT64_MAX, memory_order_relaxed);
        rp_device_poke(stream->device);
    } else {
        // Its failure has been logged, and there is nobody left to tell.
        const rp_status st = rp_stream_drain(stream, UINT64_MAX);
        if (st != RP_OK) {
            rp_log_debug("stream %d ended with %s", stream->id, rp_status_name(st));
        }
        end_subscription(stream);
    }
    if (!stream->is_default) {
        struct rp_context *context = stream->context;
        pthread_mutex_lock(&context->lock);
        rp_list_remove(&stream->in_context);
        pthread_mutex_unlock(&context->lock);
        count_out(context->device_id);
    }
    rp_stream_unref(stream);
}

static bool captures(const struct rp_stream *stream)
{
    // acquire: pairs with capture's store at the begin and end.
    return atomic_load_explicit(&stream->capture_status, memory_order_acquire) != RP_CAPTURE_NONE;
}

// ---- public functions: creation ----

static rp_status create(aclrtStream *out, uint32_t priority, uint32_t flags)
{
    struct rp_context *context;
    struct rp_stream *stream;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "stream is a null pointer");
    }
    if ((flags & ACL_STREAM_DEVICE_USE_ONLY) != 0 && flags != ACL_STREAM_DEVICE_USE_ONLY) {
        return rp_fail(RP_EPARAM,
                "flag 0x%x: ACL_STREAM_DEVICE_USE_ONLY cannot be joined with other flags", flags);
    }
    rp_status st = rp_context_current(&context);
    if (st == RP_OK) {
        st = rp_stream_create(context, priority, flags, false, &stream);
    }
    if (st == RP_OK) {
        *out = stream;
    }
    return st;
}

aclError aclrtCreateStream(aclrtStream *stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? create(stream, 0, 0) : st);
}

aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag)
{
    const uint32_t known = ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC | ACL_STREAM_PERSISTENT |
                           ACL_STREAM_HUGE | ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY;
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? create(stream, priority, flag & known) : st);
}

// Takes the stream out of the program's hands; it is still there for its queued work.
static rp_status take(aclrtStream handle, bool force, struct rp_stream **out)
{
    if (handle == NULL) {
        return rp_fail(
                RP_ENULL, "stream is a null pointer; the default stream cannot be destroyed");
    }
    struct rp_stream *stream = rp_stream_from_handle(handle);
    if (stream == NULL) {
        return rp_fail(RP_EHANDLE, "stream %p is no stream, or was destroyed before", handle);
    }
    if (stream->is_default) {
        return rp_fail(
                RP_EPARAM, "stream %d is a default stream; it ends with its context", stream->id);
    }
    if (captures(stream)) {
        return rp_fail(
                RP_ESTREAMCAPTURED, "stream %d is capturing; end the capture first", stream->id);
    }
    // acquire: pairs with capture's stores at bind and unbind.
    if (atomic_load_explicit(&stream->model, memory_order_acquire) != NULL) {
        return rp_fail(RP_EBOUND,
                "stream %d is bound to a graph; aclmdlRIUnbindStream or aclmdlRIDestroy first",
                stream->id);
    }
    if (!force && rp_thread_in_callback()) {
        return rp_fail(
                RP_ECALLBACK, "a callback cannot destroy a stream: it would wait for itself");
    }
    if (!rp_handle_remove(RP_HANDLE_STREAM, stream)) {
        return rp_fail(RP_EHANDLE, "another thread is destroying stream %p", handle);
    }
    *out = stream;
    return RP_OK;
}

static rp_status destroy(aclrtStream handle, bool force)
{
    struct rp_stream *stream;
    const rp_status st = take(handle, force, &stream);
    if (st == RP_OK) {
        rp_stream_retire(stream, force);
    }
    return st;
}

aclError aclrtDestroyStream(aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? destroy(stream, false) : st);
}

aclError aclrtDestroyStreamForce(aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? destroy(stream, true) : st);
}

// ---- public functions: waiting ----

// The stream, if it may be waited for at all; *waits: whether there is anything to wait for.
static rp_status resolve_for_wait(
        aclrtStream handle, const char *call, struct rp_stream **out, bool *waits)
{
    const rp_status st = rp_stream_resolve(handle, out);
    if (st != RP_OK) {
        return st;
    }
    if (captures(*out)) {
        return rp_fail(RP_ESTREAMCAPTURED, "%s: stream %d is capturing", call, (*out)->id);
    }
    *waits = ((*out)->flags & UNWAITABLE) == 0;
    return RP_OK;
}

static rp_status synchronize(aclrtStream handle, const char *call, int32_t timeout_ms)
{
    struct rp_stream *stream;
    bool waits;
    if (timeout_ms < -1 || timeout_ms == 0) {
        return rp_fail(
                RP_EPARAM, "timeout is %d ms; it can be -1 (no limit) or more than 0", timeout_ms);
    }
    const rp_status st = resolve_for_wait(handle, call, &stream, &waits);
    if (st != RP_OK || !waits) {
        return st;
    }
    return rp_stream_await(
            stream, timeout_ms == -1 ? UINT64_MAX : (uint64_t)timeout_ms * RP_NS_PER_MS);
}

aclError aclrtSynchronizeStream(aclrtStream stream)
{
    const uint64_t began_ns = rp_prof_begin();
    const rp_status st = rp_enter();
    const aclError answer =
            rp_acl(st == RP_OK ? synchronize(stream, "aclrtSynchronizeStream", -1) : st);
    rp_prof_end(RP_PROF_SYNC_STREAM, began_ns);
    return answer;
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout)
{
    const rp_status st = rp_enter();
    return rp_acl(
            st == RP_OK ? synchronize(stream, "aclrtSynchronizeStreamWithTimeout", timeout) : st);
}

static rp_status query(aclrtStream handle, aclrtStreamStatus *out)
{
    struct rp_stream *stream;
    bool waits;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "status is a null pointer");
    }
    rp_status st = resolve_for_wait(handle, "aclrtStreamQuery", &stream, &waits);
    if (st != RP_OK) {
        return st;
    }
    struct drain drain = {
        .stream = stream,
        // relaxed: as in rp_stream_drain.
        .until = atomic_load_explicit(&stream->submitted, memory_order_relaxed),
    };
    bool complete = !waits || drained(&drain);
    if (!complete) {
        rp_device_step_once(stream->device);
        complete = drained(&drain);
    }
    st = rp_stream_take_failure(stream);
    if (st == RP_OK) {
        *out = complete ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    }
    return st;
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? query(stream, status) : st);
}

// ---- public functions: numbers ----

static rp_status available(uint32_t *out)
{
    struct rp_context *context;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "streamCount is a null pointer");
    }
    const rp_status st = rp_context_current(&context);
    if (st == RP_OK) {
        *out = rp_env_device()->stream_limit -
               atomic_load_explicit(&live_count[context->device_id], memory_order_relaxed);
    }
    return st;
}

aclError aclrtGetStreamAvailableNum(uint32_t *streamCount)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? available(streamCount) : st);
}
