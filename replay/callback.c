// Host functions and kernels: who calls them.
//
// A lane that comes to one is parked; whoever calls the function lets it go on afterwards. A device
// has two crews for it. There is one callback thread, and one more whenever all are busy and
// another call waits: a host function that blocks holds up its own lane and nothing else. Kernels,
// which compute, share the device's cores: a fixed number of threads. Both are made when they are
// first needed, by the announcement of a call; a call that a waiting thread takes for itself
// (driver.c) needs none.

#include "replay/callback.h"

#include <stdio.h>

#include "base/alloc.h"
#include "replay/scheduler.h"
#include "replay/stream.h"

#define CORES 1 // threads that run kernels

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

static void crew_init(struct rp_callbacks *callbacks, enum rp_crew_kind kind, const char *name,
        uint32_t threads_max)
{
    struct rp_crew *crew = &callbacks->crew[kind];
    crew->callbacks = callbacks;
    crew->name = name;
    crew->threads_max = threads_max;
    rp_list_init(&crew->queued);
    pthread_cond_init(&crew->come, NULL);
}

rp_status rp_callbacks_init(struct rp_callbacks *callbacks)
{
    *callbacks = (struct rp_callbacks){ 0 };
    pthread_mutex_init(&callbacks->lock, NULL); // neither this nor a condition fails on Linux
    crew_init(callbacks, RP_CREW_CALLBACKS, "rp-cb", UINT32_MAX);
    crew_init(callbacks, RP_CREW_CORES, "rp-core", CORES);
    return RP_OK;
}

void rp_callbacks_fini(struct rp_callbacks *callbacks)
{
    pthread_mutex_lock(&callbacks->lock);
    callbacks->stop = true;
    for (unsigned kind = 0; kind < RP_CREWS; kind++) {
        pthread_cond_broadcast(&callbacks->crew[kind].come);
    }
    pthread_mutex_unlock(&callbacks->lock);
    for (unsigned kind = 0; kind < RP_CREWS; kind++) {
        struct rp_crew *crew = &callbacks->crew[kind];
        for (uint32_t i = 0; i < crew->threads; i++) {
            pthread_join(crew->thread[i], NULL);
        }
        rp_free(crew->thread);
        pthread_cond_destroy(&crew->come);
    }
    pthread_mutex_destroy(&callbacks->lock);
}

// Queues a call; whoever lays the baton down announces it.
static void post(struct rp_device *device, enum rp_crew_kind kind, struct rp_call *call)
{
    struct rp_callbacks *callbacks = &device->callbacks;
    struct rp_crew *crew = &callbacks->crew[kind];
    pthread_mutex_lock(&callbacks->lock);
    rp_list_push_back(&crew->queued, &call->link);
    crew->queued_count++;
    pthread_mutex_unlock(&callbacks->lock);
    device->calls_fresh = true;
}

// Under the lock.
static struct rp_call *unqueue(struct rp_crew *crew, struct rp_list *link)
{
    rp_list_remove(link);
    crew->queued_count--;
    return rp_container_of(link, struct rp_call, link);
}

// Under the lock.
static struct rp_call *take_of(struct rp_crew *crew, const struct rp_stream *stream)
{
    rp_list_each(link, &crew->queued)
    {
        const struct rp_call *call = rp_container_of(link, struct rp_call, link);
        if (call->stream == stream) {
            return unqueue(crew, link);
        }
    }
    return NULL;
}

struct rp_call *rp_callbacks_take(struct rp_device *device, const struct rp_stream *stream)
{
    struct rp_callbacks *callbacks = &device->callbacks;
    struct rp_call *found = NULL;
    pthread_mutex_lock(&callbacks->lock);
    for (unsigned kind = 0; kind < RP_CREWS && found == NULL; kind++) {
        found = take_of(&callbacks->crew[kind], stream);
    }
    pthread_mutex_unlock(&callbacks->lock);
    return found;
}

bool rp_callbacks_waiting(struct rp_device *device)
{
    struct rp_callbacks *callbacks = &device->callbacks;
    bool waiting = false;
    pthread_mutex_lock(&callbacks->lock);
    for (unsigned kind = 0; kind < RP_CREWS; kind++) {
        waiting |= callbacks->crew[kind].queued_count != 0;
    }
    pthread_mutex_unlock(&callbacks->lock);
    return waiting;
}

static void *crew_main(void *arg)
{
    struct rp_crew *crew = arg;
    struct rp_callbacks *callbacks = crew->callbacks;
    pthread_mutex_lock(&callbacks->lock);
    for (;;) {
        struct rp_list *link = rp_list_first(&crew->queued);
        if (link != NULL) {
            struct rp_call *call = unqueue(crew, link);
            crew->busy++;
            pthread_mutex_unlock(&callbacks->lock);
            rp_call_run(call);
            pthread_mutex_lock(&callbacks->lock);
            crew->busy--;
        } else if (callbacks->stop) {
            break;
        } else {
            pthread_cond_wait(&crew->come, &callbacks->lock);
        }
    }
    pthread_mutex_unlock(&callbacks->lock);
    return NULL;
}

// One more thread. Under the lock.
static rp_status add_thread(struct rp_device *device, struct rp_crew *crew)
{
    if (crew->threads == crew->thread_room) {
        const uint32_t room = crew->thread_room == 0 ? 4 : 2 * crew->thread_room;
        pthread_t *grown = rp_realloc(crew->thread, room * sizeof(*grown));
        if (grown == NULL) {
            return rp_fail(RP_ENOMEM, "no memory for another thread %s", crew->name);
        }
        crew->thread = grown;
        crew->thread_room = room;
    }
    char name[16];
    if (crew->threads_max == 1) {
        snprintf(name, sizeof(name), "%s-%d", crew->name, (int)device->id);
    } else {
        snprintf(name, sizeof(name), "%s-%d.%u", crew->name, (int)device->id, crew->threads % 1000);
    }
    const rp_status st = rp_thread_create(&crew->thread[crew->threads], name, crew_main, crew);
    if (st == RP_OK) {
        crew->threads++;
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

// Under the lock. Calls that nobody will ever come for go to `refused`.
static rp_status announce(struct rp_device *device, struct rp_crew *crew, struct rp_list *refused)
{
    rp_status st = RP_OK;
    while (st == RP_OK && crew->queued_count > crew->threads - crew->busy &&
            crew->threads < crew->threads_max) {
        st = add_thread(device, crew);
    }
    if (crew->threads == 0) {
        rp_list_splice_back(refused, &crew->queued);
        crew->queued_count = 0;
    }
    for (uint32_t i = 0; i < rp_min_u32(crew->queued_count, crew->threads); i++) {
        pthread_cond_signal(&crew->come);
    }
    return st;
}

void rp_callbacks_announce(struct rp_device *device)
{
    struct rp_callbacks *callbacks = &device->callbacks;
    struct rp_error_capture capture; // what fails here is no failure of the call that drives
    rp_error_capture_begin(&capture);
    for (unsigned kind = 0; kind < RP_CREWS; kind++) {
        struct rp_list refused;
        rp_list_init(&refused);
        pthread_mutex_lock(&callbacks->lock);
        const rp_status st = announce(device, &callbacks->crew[kind], &refused);
        pthread_mutex_unlock(&callbacks->lock);
        refuse_all(&refused, st);
    }
    rp_error_capture_end(&capture);
}

// Takes a call out of the crews' queues; false: it is in none.
static bool crews_withdraw(struct rp_callbacks *callbacks, const struct rp_call *call)
{
    bool had = false;
    pthread_mutex_lock(&callbacks->lock);
    for (unsigned kind = 0; kind < RP_CREWS; kind++) {
        rp_list_each(link, &callbacks->crew[kind].queued)
        {
            if (link == &call->link) {
                (void)unqueue(&callbacks->crew[kind], link);
                had = true;
                break;
            }
        }
    }
    pthread_mutex_unlock(&callbacks->lock);
    return had;
}

void rp_call_withdraw(struct rp_call *call, rp_status st)
{
    if (crews_withdraw(&call->device->callbacks, call) || rp_report_withdraw(call)) {
        rp_call_return(call, st);
    }
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

rp_status rp_callback_task(
        struct rp_step *step, enum rp_crew_kind kind, void (*fn)(void *), void *arg)
{
    if (hand_over(step, fn, arg)) {
        post(step->device, kind, &step->lane->call);
        return RP_AGAIN;
    }
    const rp_status st = step->lane->call.failed;
    return st == RP_OK ? RP_OK : rp_fail(st, "a user's function could not be given a thread");
}

rp_status rp_task_host_fn(struct rp_step *step)
{
    return rp_callback_task(step, RP_CREW_CALLBACKS, step->insn->u.call.fn, step->insn->u.call.arg);
}

// The thread is that of the stream on which the callback was launched. When that was captured, the
// replay runs on another one.
rp_status rp_task_callback(struct rp_step *step)
{
    struct rp_stream *launched_on = step->insn->u.call.stream;
    struct rp_lane *lane = step->lane;
    if (launched_on == NULL) {
        launched_on = step->stream;
    }
    if (step->insn->flag == 0) {
        struct rp_call call = {
            .fn = step->insn->u.call.fn,
            .arg = step->insn->u.call.arg,
            .device = step->device,
            .stream = launched_on,
        };
        return rp_report_post(launched_on, &call);
    }
    if (hand_over(step, step->insn->u.call.fn, step->insn->u.call.arg)) {
        lane->call.stream = launched_on;
        const rp_status st = rp_report_post(launched_on, &lane->call);
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
