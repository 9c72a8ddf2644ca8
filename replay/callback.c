// Host functions: who calls them, and the callback threads.
//
// A lane that comes to one is parked; whoever calls the function lets it go on afterwards. There is
// one callback thread a device, and one more whenever all are busy and another call waits: a
// function that blocks holds up its own lane and nothing else. They are made when they are first
// needed, by the announcement of a call; a call that a waiting thread takes for itself (driver.c)
// needs none.

#include "replay/callback.h"

#include <stdio.h>

#include "base/alloc.h"
#include "replay/scheduler.h"
#include "replay/stream.h"

static _Thread_local unsigned depth; // of users' functions on this thread

void rp_callback_enter(void)
{
    depth++;
}

void rp_callback_leave(void)
{
    depth--;
}

bool rp_thread_in_callback(void)
{
    return depth != 0;
}

void rp_call_return(struct rp_call *call, rp_status failed)
{
    struct rp_device *device = call->device;
    struct rp_lane *lane = call->lane;
    call->failed = failed;
    // seq_cst [K1] [B1]: pairs with lane_state() in scheduler.c: what the function did is seen by
    // the lane's next task. `call` is the lane's from here on.
    atomic_store_explicit(&lane->state, RP_LANE_RUNNABLE, memory_order_seq_cst);
    rp_device_poke(device);
}

void rp_call_invoke(struct rp_call *call)
{
    rp_callback_enter();
    call->fn(call->arg);
    rp_callback_leave();
}

void rp_call_run(struct rp_call *call)
{
    rp_call_invoke(call);
    rp_call_return(call, RP_OK);
}

rp_status rp_callbacks_init(struct rp_callbacks *callbacks)
{
    *callbacks = (struct rp_callbacks){ 0 };
    rp_list_init(&callbacks->queued);
    pthread_mutex_init(&callbacks->lock, NULL); // neither fails on Linux
    pthread_cond_init(&callbacks->come, NULL);
    return RP_OK;
}

void rp_callbacks_fini(struct rp_callbacks *callbacks)
{
    pthread_mutex_lock(&callbacks->lock);
    callbacks->stop = true;
    pthread_cond_broadcast(&callbacks->come);
    pthread_mutex_unlock(&callbacks->lock);
    for (uint32_t i = 0; i < callbacks->threads; i++) {
        pthread_join(callbacks->thread[i], NULL);
    }
    rp_free(callbacks->thread);
    pthread_cond_destroy(&callbacks->come);
    pthread_mutex_destroy(&callbacks->lock);
}

void rp_callbacks_post(struct rp_device *device, struct rp_call *call)
{
    struct rp_callbacks *callbacks = &device->callbacks;
    pthread_mutex_lock(&callbacks->lock);
    rp_list_push_back(&callbacks->queued, &call->link);
    callbacks->queued_count++;
    pthread_mutex_unlock(&callbacks->lock);
    device->calls_fresh = true;
}

// Under the lock.
static struct rp_call *unqueue(struct rp_callbacks *callbacks, struct rp_list *link)
{
    rp_list_remove(link);
    callbacks->queued_count--;
    return rp_container_of(link, struct rp_call, link);
}

struct rp_call *rp_callbacks_take(struct rp_device *device, const struct rp_stream *stream)
{
    struct rp_callbacks *callbacks = &device->callbacks;
    struct rp_call *found = NULL;
    pthread_mutex_lock(&callbacks->lock);
    rp_list_each(link, &callbacks->queued)
    {
        const struct rp_call *call = rp_container_of(link, struct rp_call, link);
        if (call->stream == stream) {
            found = unqueue(callbacks, link);
            break;
        }
    }
    pthread_mutex_unlock(&callbacks->lock);
    return found;
}

bool rp_callbacks_waiting(struct rp_device *device)
{
    struct rp_callbacks *callbacks = &device->callbacks;
    pthread_mutex_lock(&callbacks->lock);
    const bool waiting = callbacks->queued_count != 0;
    pthread_mutex_unlock(&callbacks->lock);
    return waiting;
}

static void *callback_main(void *arg)
{
    struct rp_callbacks *callbacks = arg;
    pthread_mutex_lock(&callbacks->lock);
    for (;;) {
        struct rp_list *link = rp_list_first(&callbacks->queued);
        if (link != NULL) {
            struct rp_call *call = unqueue(callbacks, link);
            callbacks->busy++;
            pthread_mutex_unlock(&callbacks->lock);
            rp_call_run(call);
            pthread_mutex_lock(&callbacks->lock);
            callbacks->busy--;
        } else if (callbacks->stop) {
            break;
        } else {
            pthread_cond_wait(&callbacks->come, &callbacks->lock);
        }
    }
    pthread_mutex_unlock(&callbacks->lock);
    return NULL;
}

// One more thread. Under the lock.
static rp_status add_thread(struct rp_device *device)
{
    struct rp_callbacks *callbacks = &device->callbacks;
    if (callbacks->threads == callbacks->thread_room) {
        const uint32_t room = callbacks->thread_room == 0 ? 4 : 2 * callbacks->thread_room;
        pthread_t *grown = rp_realloc(callbacks->thread, room * sizeof(*grown));
        if (grown == NULL) {
            return rp_fail(RP_ENOMEM, "no memory for another callback thread");
        }
        callbacks->thread = grown;
        callbacks->thread_room = room;
    }
    char name[16];
    snprintf(name, sizeof(name), "rp-cb-%d.%u", (int)device->id, callbacks->threads % 1000);
    const rp_status st = rp_thread_create(
            &callbacks->thread[callbacks->threads], name, callback_main, callbacks);
    if (st == RP_OK) {
        callbacks->threads++;
    }
    return st;
}

// Without any thread to come the calls would wait for ever.
static void refuse_all(struct rp_list *refused, rp_status st)
{
    struct rp_list *link;
    while ((link = rp_list_pop_front(refused)) != NULL) {
        rp_call_return(rp_container_of(link, struct rp_call, link), st);
    }
}

void rp_callbacks_announce(struct rp_device *device)
{
    struct rp_callbacks *callbacks = &device->callbacks;
    struct rp_error_capture capture; // what fails here is no failure of the call that drives
    struct rp_list refused;
    rp_list_init(&refused);
    rp_status st = RP_OK;
    rp_error_capture_begin(&capture);
    pthread_mutex_lock(&callbacks->lock);
    while (st == RP_OK && callbacks->queued_count > callbacks->threads - callbacks->busy) {
        st = add_thread(device);
    }
    if (callbacks->threads == 0) {
        rp_list_splice_back(&refused, &callbacks->queued);
        callbacks->queued_count = 0;
    }
    for (uint32_t i = 0; i < callbacks->queued_count; i++) {
        pthread_cond_signal(&callbacks->come);
    }
    pthread_mutex_unlock(&callbacks->lock);
    rp_error_capture_end(&capture);
    refuse_all(&refused, st);
}

// Hands the lane's call over once; later looks find that it has returned.
static bool hand_over(struct rp_step *step, void (*fn)(void *), void *arg)
{
    struct rp_lane *lane = step->lane;
    if (lane->progress != 0) {
        return false;
    }
    lane->progress = 1;
    lane->call.fn = fn;
    lane->call.arg = arg;
    lane->call.device = step->device;
    lane->call.stream = step->stream;
    lane->call.lane = lane;
    lane->call.failed = RP_OK;
    // relaxed: published with the call, by the lock of its queue.
    atomic_store_explicit(&lane->state, RP_LANE_PARKED, memory_order_relaxed);
    step->moved = true;
    return true;
}

rp_status rp_callback_task(struct rp_step *step, void (*fn)(void *), void *arg)
{
    if (hand_over(step, fn, arg)) {
        rp_callbacks_post(step->device, &step->lane->call);
        return RP_AGAIN;
    }
    const rp_status st = step->lane->call.failed;
    return st == RP_OK ? RP_OK : rp_fail(st, "a user's function could not be given a thread");
}

rp_status rp_task_host_fn(struct rp_step *step)
{
    return rp_callback_task(step, step->insn->u.call.fn, step->insn->u.call.arg);
}

rp_status rp_task_callback(struct rp_step *step)
{
    struct rp_lane *lane = step->lane;
    if (step->insn->flag == 0) {
        struct rp_call call = {
            .fn = step->insn->u.call.fn,
            .arg = step->insn->u.call.arg,
            .device = step->device,
            .stream = step->stream,
        };
        return rp_report_post(step->stream, &call);
    }
    if (hand_over(step, step->insn->u.call.fn, step->insn->u.call.arg)) {
        const rp_status st = rp_report_post(step->stream, &lane->call);
        if (st == RP_OK) {
            return RP_AGAIN;
        }
        // relaxed: nobody else has the call.
        atomic_store_explicit(&lane->state, RP_LANE_RUNNABLE, memory_order_relaxed);
        return st;
    }
    const rp_status st = lane->call.failed;
    return st == RP_OK ? RP_OK
                       : rp_fail(st, "the thread of a callback gave up its subscription first");
}
