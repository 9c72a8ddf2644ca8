// Contexts: the owner of streams on one device, and what a thread's calls refer to.
//
// A context ends in two steps. Its handle goes, so that nobody finds it any more, its streams end,
// and its hold on the device is given up: that may wait, and happens on the thread that asked for
// it. Its memory stays until the last stream, event and thread that names it has let go, which may
// be under a baton, and so frees memory and nothing else.

#include <acl/acl_rt.h>
#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "replay/context.h"
#include "replay/device.h"
#include "replay/primary.h"
#include "replay/stream.h"

// ---- the object ----

void rp_context_ref(struct rp_context *context)
{
    // relaxed: the caller's own reference keeps it.
    atomic_fetch_add_explicit(&context->refs, 1, memory_order_relaxed);
}

void rp_context_unref(struct rp_context *context)
{
    // acq_rel [C1]: the last one sees what the others wrote.
    if (atomic_fetch_sub_explicit(&context->refs, 1, memory_order_acq_rel) == 1) {
        pthread_mutex_destroy(&context->lock);
        pthread_mutex_destroy(&context->capture_lock);
        rp_free(context);
    }
}

static struct rp_context *context_alloc(int32_t device_id, bool is_primary)
{
    struct rp_context *context = rp_calloc(1, sizeof(*context));
    if (context == NULL) {
        return NULL;
    }
    context->device_id = device_id;
    context->is_primary = is_primary;
    atomic_init(&context->refs, 1);
    pthread_mutex_init(&context->lock, NULL);
    pthread_mutex_init(&context->capture_lock, NULL);
    rp_list_init(&context->streams);
    return context;
}

rp_status rp_context_create(int32_t device_id, bool is_primary, struct rp_context **out)
{
    struct rp_context *context = context_alloc(device_id, is_primary);
    if (context == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for a context of device %d", device_id);
    }
    rp_status st = rp_device_ref(device_id, &context->device);
    if (st != RP_OK) {
        goto undo_alloc;
    }
    st = rp_stream_create(context, 0, 0, true, &context->default_stream);
    if (st != RP_OK) {
        goto undo_device;
    }
    st = rp_handle_add(RP_HANDLE_CONTEXT, context);
    if (st != RP_OK) {
        goto undo_stream;
    }
    *out = context;
    return RP_OK;

undo_stream:
    rp_handle_remove(RP_HANDLE_STREAM, context->default_stream);
    rp_stream_retire(context->default_stream, false);
undo_device:
    rp_device_unref(context->device);
undo_alloc:
    rp_context_unref(context);
    return st;
}

// Whether some stream of `context` takes part in an open capture.
static bool captures_open(struct rp_context *context)
{
    for (int mode = 0; mode < RP_CAPTURE_MODES; mode++) {
        // acquire: pairs with capture's update under its lock.
        if (atomic_load_explicit(&context->captures[mode], memory_order_acquire) > 0) {
            return true;
        }
    }
    return false;
}

// Takes the first stream whose handle nobody else is removing; NULL: there is none left.
static struct rp_stream *take_stream(struct rp_context *context)
{
    struct rp_stream *taken = NULL;
    pthread_mutex_lock(&context->lock);
    rp_list_each(link, &context->streams)
    {
        struct rp_stream *stream = rp_container_of(link, struct rp_stream, in_context);
        if (rp_handle_remove(RP_HANDLE_STREAM, stream)) {
            taken = stream;
            break;
        }
    }
    pthread_mutex_unlock(&context->lock);
    return taken;
}

int32_t rp_context_capturing_stream(struct rp_context *context)
{
    int32_t id = -1;
    pthread_mutex_lock(&context->lock);
    rp_list_each(link, &context->streams)
    {
        const struct rp_stream *stream = rp_container_of(link, struct rp_stream, in_context);
        // relaxed: nothing is read by it.
        if (id < 0 && atomic_load_explicit(&stream->capture_status, memory_order_relaxed) !=
                              RP_CAPTURE_NONE) {
            id = stream->id;
        }
    }
    pthread_mutex_unlock(&context->lock);
    return id;
}

rp_status rp_context_may_end(struct rp_context *context, bool force)
{
    if (!force && captures_open(context)) {
        return rp_fail(RP_ESTREAMCAPTURED,
                "stream %" PRId32 " of the context is capturing; end the capture first",
                rp_context_capturing_stream(context));
    }
    if (rp_thread_in_callback()) {
        return rp_fail(RP_ECALLBACK, "a callback cannot end a context: it would wait for itself");
    }
    return RP_OK;
}

void rp_context_destroy(struct rp_context *context, bool force)
{
    rp_handle_remove(RP_HANDLE_CONTEXT, context);
    for (struct rp_stream *stream = take_stream(context); stream != NULL;
            stream = take_stream(context)) {
        rp_stream_retire(stream, force);
    }
    rp_handle_remove(RP_HANDLE_STREAM, context->default_stream);
    rp_stream_retire(context->default_stream, force);
    // release [C2]: pairs with the load in rp_context_current; the device is not to be used any
    // more.
    atomic_store_explicit(&context->destroyed, true, memory_order_release);
    rp_device_unref(context->device);
    struct rp_thread *thread = rp_thread_self();
    if (thread != NULL && thread->context == context) {
        thread->context = NULL;
        rp_context_unref(context);
    }
    rp_context_unref(context);
}

rp_status rp_context_current(struct rp_context **out)
{
    const struct rp_thread *thread = rp_thread_self();
    if (thread == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the thread's current context");
    }
    if (thread->context == NULL && rp_primary_default() >= 0) {
        struct rp_context *context;
        rp_status st = rp_primary_retain(rp_primary_default(), &context);
        if (st == RP_OK) {
            st = rp_thread_set_context(context);
            rp_context_unref(context);
        }
        if (st != RP_OK) {
            return st;
        }
    }
    struct rp_context *context = thread->context;
    if (context == NULL) {
        return rp_fail(RP_ENOCTX, "this thread has no current context; call aclrtSetDevice or "
                                  "aclrtSetCurrentContext first");
    }
    // acquire [C2]: pairs with the store in rp_context_destroy.
    if (atomic_load_explicit(&context->destroyed, memory_order_acquire)) {
        return rp_fail(RP_ENOCTX, "the current context of this thread has been destroyed");
    }
    *out = context;
    return RP_OK;
}

// ---- public functions ----

static rp_status create_context(aclrtContext *out, int32_t device_id)
{
    struct rp_context *context;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "context is a null pointer");
    }
    rp_status st = rp_device_check_id(device_id);
    if (st == RP_OK) {
        st = rp_context_create(device_id, false, &context);
    }
    if (st != RP_OK) {
        return st;
    }
    st = rp_thread_set_context(context);
    if (st != RP_OK) {
        rp_context_destroy(context, false);
        return st;
    }
    *out = context;
    return RP_OK;
}

aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? create_context(context, deviceId) : st);
}

// Contexts answer 107002 for a stale handle, not 107017 as all other objects do.
static rp_status check_live(aclrtContext handle)
{
    if (handle == NULL) {
        return rp_fail(RP_ENULL, "context is a null pointer");
    }
    if (!rp_handle_live(RP_HANDLE_CONTEXT, handle)) {
        return rp_fail(RP_ENOCTX, "context %p is no context, or was destroyed", handle);
    }
    return RP_OK;
}

static rp_status destroy_context(aclrtContext handle)
{
    rp_status st = check_live(handle);
    if (st != RP_OK) {
        return st;
    }
    struct rp_context *context = handle;
    if (context->is_primary) {
        return rp_fail(RP_ENOCTX,
                "context %p is the default context of device %d; aclrtResetDevice ends it", handle,
                context->device_id);
    }
    st = rp_context_may_end(context, false);
    if (st == RP_OK) {
        rp_context_destroy(context, false);
    }
    return st;
}

aclError aclrtDestroyContext(aclrtContext context)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? destroy_context(context) : st);
}

static rp_status set_current(aclrtContext context)
{
    const rp_status st = check_live(context);
    return st == RP_OK ? rp_thread_set_context(context) : st;
}

aclError aclrtSetCurrentContext(aclrtContext context)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? set_current(context) : st);
}

static rp_status get_current(aclrtContext *out)
{
    struct rp_context *context;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "context is a null pointer");
    }
    const rp_status st = rp_context_current(&context);
    if (st == RP_OK) {
        *out = context;
    }
    return st;
}

aclError aclrtGetCurrentContext(aclrtContext *context)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_current(context) : st);
}

static rp_status get_default_stream(aclrtStream *out)
{
    struct rp_context *context;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "stream is a null pointer");
    }
    const rp_status st = rp_context_current(&context);
    if (st == RP_OK) {
        *out = context->default_stream;
    }
    return st;
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream *stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_default_stream(stream) : st);
}
