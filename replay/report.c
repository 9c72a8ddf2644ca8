// Callbacks of aclrtLaunchCallback: a queue for each subscribed thread, served by that thread in
// aclrtProcessReport. Streams name their thread by number (stream->report_thread); the queues are
// found by it in one list, under one lock. Threads are few, and nothing here is on a hot path.

#include <inttypes.h>
#include <pthread.h>

#include "base/alloc.h"
#include "replay/callback.h"
#include "replay/scheduler.h"
#include "replay/stream.h"

// A thread that serves streams. Freed when it serves none and is not in rp_report_process.
struct reporter {
    struct rp_list link;
    uint64_t thread_id;
    int32_t device_id;
    uint32_t streams;
    bool inside;           // the thread is in rp_report_process
    struct rp_list queued; // rp_call.link
    pthread_cond_t come;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rp_list reporters = RP_LIST_INIT(reporters);
// Calls for which no lane waits are copied, and the copies kept for reuse.
static struct rp_list spare_calls = RP_LIST_INIT(spare_calls);

static struct reporter *find(uint64_t thread_id)
{
    rp_list_each(link, &reporters)
    {
        struct reporter *reporter = rp_container_of(link, struct reporter, link);
        if (reporter->thread_id == thread_id) {
            return reporter;
        }
    }
    return NULL;
}

static struct reporter *add(uint64_t thread_id, int32_t device_id)
{
    struct reporter *reporter = rp_calloc(1, sizeof(*reporter));
    if (reporter == NULL) {
        return NULL;
    }
    reporter->thread_id = thread_id;
    reporter->device_id = device_id;
    rp_list_init(&reporter->queued);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&reporter->come, &attr);
    pthread_condattr_destroy(&attr);
    rp_list_push_back(&reporters, &reporter->link);
    return reporter;
}

static void drop_if_unused(struct reporter *reporter)
{
    if (reporter->streams != 0 || reporter->inside) {
        return;
    }
    rp_list_remove(&reporter->link);
    pthread_cond_destroy(&reporter->come);
    rp_free(reporter);
}

static rp_status subscribe(uint64_t thread_id, struct rp_stream *stream)
{
    // relaxed, here and below: changed under the lock only; others look without to see 0 or not.
    if (atomic_load_explicit(&stream->report_thread, memory_order_relaxed) != 0) {
        return rp_fail(
                RP_ESUBSCRIBE, "stream %" PRId32 " is served by a thread already", stream->id);
    }
    struct reporter *reporter = find(thread_id);
    if (reporter == NULL) {
        reporter = add(thread_id, stream->device->id);
        if (reporter == NULL) {
            return rp_fail(RP_ENOMEM, "no memory to subscribe a thread to callbacks");
        }
    }
    if (reporter->device_id != stream->device->id) {
        return rp_fail(RP_ETHREADSUB,
                "the thread serves streams of device %" PRId32 "; this one is of device %" PRId32,
                reporter->device_id, stream->device->id);
    }
    reporter->streams++;
    atomic_store_explicit(&stream->report_thread, thread_id, memory_order_relaxed);
    return RP_OK;
}

rp_status rp_report_subscribe(uint64_t thread_id, struct rp_stream *stream)
{
    pthread_mutex_lock(&lock);
    const rp_status st = subscribe(thread_id, stream);
    pthread_mutex_unlock(&lock);
    return st;
}

// Moves what is queued of `stream` to `dropped`.
static void take_calls(
        struct reporter *reporter, const struct rp_stream *stream, struct rp_list *dropped)
{
    rp_list_each(link, &reporter->queued)
    {
        if (rp_container_of(link, struct rp_call, link)->stream == stream) {
            rp_list_remove(link);
            rp_list_push_back(dropped, link);
        }
    }
}

static rp_status unsubscribe(uint64_t thread_id, struct rp_stream *stream, struct rp_list *dropped)
{
    const uint64_t present = atomic_load_explicit(&stream->report_thread, memory_order_relaxed);
    if (present == 0) {
        return rp_fail(RP_ESUBSCRIBE, "stream %" PRId32 " is not served by any thread", stream->id);
    }
    if (present != thread_id) {
        return rp_fail(RP_ETHREADSUB, "stream %" PRId32 " is served by another thread", stream->id);
    }
    struct reporter *reporter = find(thread_id);
    atomic_store_explicit(&stream->report_thread, 0, memory_order_relaxed);
    reporter->streams--;
    take_calls(reporter, stream, dropped);
    pthread_cond_broadcast(&reporter->come);
    drop_if_unused(reporter);
    return RP_OK;
}

// A call that will not be made.
static void refuse(struct rp_call *call)
{
    if (call->lane != NULL) {
        rp_call_return(call, RP_ENOSUB);
        return;
    }
    pthread_mutex_lock(&lock);
    rp_list_push_front(&spare_calls, &call->link);
    pthread_mutex_unlock(&lock);
}

rp_status rp_report_unsubscribe(uint64_t thread_id, struct rp_stream *stream)
{
    struct rp_list dropped;
    rp_list_init(&dropped);
    pthread_mutex_lock(&lock);
    const rp_status st = unsubscribe(thread_id, stream, &dropped);
    pthread_mutex_unlock(&lock);
    struct rp_list *link;
    while ((link = rp_list_pop_front(&dropped)) != NULL) {
        refuse(rp_container_of(link, struct rp_call, link));
    }
    return st;
}

rp_status rp_report_check(struct rp_stream *stream)
{
    if (atomic_load_explicit(&stream->report_thread, memory_order_relaxed) != 0) {
        return RP_OK;
    }
    return rp_fail(
            RP_ENOSUB, "no thread is subscribed to callbacks of stream %" PRId32, stream->id);
}

static rp_status post(struct rp_stream *stream, struct rp_call *call)
{
    const rp_status st = rp_report_check(stream);
    if (st != RP_OK) {
        return st;
    }
    if (call->lane == NULL) {
        struct rp_list *spare = rp_list_pop_front(&spare_calls);
        struct rp_call *copy = spare != NULL ? rp_container_of(spare, struct rp_call, link)
                                             : rp_malloc(sizeof(*copy));
        if (copy == NULL) {
            return rp_fail(RP_ENOMEM, "no memory for a callback");
        }
        *copy = *call;
        rp_list_init(&copy->link);
        call = copy;
    }
    struct reporter *reporter =
            find(atomic_load_explicit(&stream->report_thread, memory_order_relaxed));
    rp_list_push_back(&reporter->queued, &call->link);
    pthread_cond_signal(&reporter->come);
    return RP_OK;
}

rp_status rp_report_post(struct rp_stream *stream, struct rp_call *call)
{
    pthread_mutex_lock(&lock);
    const rp_status st = post(stream, call);
    pthread_mutex_unlock(&lock);
    return st;
}

static bool withdraw(const struct rp_call *call)
{
    rp_list_each(reporter_link, &reporters)
    {
        struct reporter *reporter = rp_container_of(reporter_link, struct reporter, link);
        rp_list_each(link, &reporter->queued)
        {
            if (link == &call->link) {
                rp_list_remove(link);
                return true;
            }
        }
    }
    return false;
}

bool rp_report_withdraw(struct rp_call *call)
{
    pthread_mutex_lock(&lock);
    const bool had = withdraw(call);
    pthread_mutex_unlock(&lock);
    return had;
}

// Waits for the first call. Under the lock.
static void await_call(struct reporter *reporter, uint64_t deadline_ns)
{
    while (rp_list_empty(&reporter->queued) && reporter->streams != 0) {
        const uint64_t now_ns = rp_now_ns();
        if (now_ns >= deadline_ns) {
            return;
        }
        const uint64_t until_ns = now_ns + rp_min_u64(deadline_ns - now_ns, RP_WAIT_MAX_NS);
        const struct timespec until = {
            .tv_sec = (time_t)(until_ns / RP_NS_PER_S),
            .tv_nsec = (long)(until_ns % RP_NS_PER_S),
        };
        pthread_cond_timedwait(&reporter->come, &lock, &until);
    }
}

// Makes one call, with the lock given up meanwhile.
static void make_call(struct rp_call *call)
{
    const bool waited_for = call->lane != NULL;
    pthread_mutex_unlock(&lock);
    if (waited_for) {
        rp_call_run(call);
    } else {
        rp_callback_enter();
        call->fn(call->arg);
        rp_callback_leave();
    }
    pthread_mutex_lock(&lock);
    if (!waited_for) {
        rp_list_push_front(&spare_calls, &call->link);
    }
}

static rp_status process(uint64_t deadline_ns)
{
    struct reporter *reporter = find((uint64_t)pthread_self());
    if (reporter == NULL) {
        return rp_fail(RP_ETHREADSUB, "this thread is not subscribed to callbacks of any stream");
    }
    reporter->inside = true;
    await_call(reporter, deadline_ns);
    unsigned calls = 0;
    struct rp_list *link;
    while ((link = rp_list_pop_front(&reporter->queued)) != NULL) {
        make_call(rp_container_of(link, struct rp_call, link));
        calls++;
    }
    reporter->inside = false;
    const bool subscribed = reporter->streams != 0;
    drop_if_unused(reporter);
    if (calls != 0) {
        return RP_OK;
    }
    return subscribed ? rp_fail(RP_ENOREPORT, "no callback came in time")
                      : rp_fail(RP_ETHREADSUB, "the thread's last subscription ended meanwhile");
}

rp_status rp_report_process(uint64_t timeout_ns)
{
    if (rp_thread_in_callback()) {
        return rp_fail(RP_ECALLBACK, "a callback may not process callbacks");
    }
    const uint64_t deadline_ns = rp_deadline_ns(timeout_ns);
    pthread_mutex_lock(&lock);
    const rp_status st = process(deadline_ns);
    pthread_mutex_unlock(&lock);
    return st;
}
