// The loop owns one handle of its own, the wake-up. It is the only thing that another thread may
// touch: libuv allows uv_async_send alone, and not once the handle may be gone. So a lock stands
// before it, and the handle closes first, under the lock.

#include "transport/loop.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/util.h"

struct rp_loop {
    uv_loop_t uv;
    uv_async_t wake;
    struct rp_list objects; // struct rp_loop_object
    _Atomic uint32_t open;  // handles announced and not yet closed
    uint64_t callbacks;     // how many have run
    bool wake_closed;       // the wake-up's close callback has run
    pthread_mutex_t wake_lock;
    bool wakeable; // under wake_lock: uv_async_send is allowed
};

static rp_status uv_fail(int error, const char *call)
{
    rp_status st = error == UV_ENOMEM ? RP_ENOMEM : RP_ESYS;
    return rp_fail(st, "%s failed: %s", call, uv_strerror(error));
}

static void on_wake(uv_async_t *wake)
{
    rp_loop_ran(rp_container_of(wake, struct rp_loop, wake));
}

static void on_wake_closed(uv_handle_t *handle)
{
    struct rp_loop *loop = rp_container_of(handle, struct rp_loop, wake);
    loop->wake_closed = true;
}

rp_status rp_loop_create(struct rp_loop **out)
{
    rp_status st;
    struct rp_loop *loop = rp_calloc(1, sizeof(*loop));
    if (loop == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for a device's event loop");
    }
    rp_list_init(&loop->objects);
    int error = uv_loop_init(&loop->uv);
    if (error != 0) {
        st = uv_fail(error, "uv_loop_init");
        goto undo_alloc;
    }
    error = uv_async_init(&loop->uv, &loop->wake, on_wake);
    if (error != 0) {
        st = uv_fail(error, "uv_async_init");
        goto undo_loop;
    }
    st = rp_fork_guard_fd(uv_backend_fd(&loop->uv));
    if (st != RP_OK) {
        rp_fail(st, "no memory for a device's event loop");
        goto undo_wake;
    }
    pthread_mutex_init(&loop->wake_lock, NULL);
    loop->wakeable = true;
    *out = loop;
    return RP_OK;

undo_wake:
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_run(&loop->uv, UV_RUN_NOWAIT);
undo_loop:
    uv_loop_close(&loop->uv);
undo_alloc:
    rp_free(loop);
    return st;
}

// A handle that no object closed is a mistake of ours; it must not keep the destroyer for ever.
static void close_leftover(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

static void close_wake(struct rp_loop *loop)
{
    pthread_mutex_lock(&loop->wake_lock);
    loop->wakeable = false;
    pthread_mutex_unlock(&loop->wake_lock);
    uv_close((uv_handle_t *)&loop->wake, on_wake_closed);
}

void rp_loop_destroy(struct rp_loop *loop)
{
    if (loop == NULL) {
        return;
    }
    struct rp_list *link;
    while ((link = rp_list_pop_front(&loop->objects)) != NULL) {
        struct rp_loop_object *object = rp_container_of(link, struct rp_loop_object, link);
        object->close(object);
    }
    close_wake(loop);
    uv_walk(&loop->uv, close_leftover, NULL);
    // Everything is closing, and a close callback comes with the next turn of the loop, so this
    // ends after one or two.
    while (uv_loop_alive(&loop->uv)) {
        uv_run(&loop->uv, UV_RUN_NOWAIT);
    }
    assert(loop->wake_closed && !rp_loop_active(loop));
    rp_fork_unguard_fd(uv_backend_fd(&loop->uv));
    int error = uv_loop_close(&loop->uv);
    assert(error == 0);
    (void)error;
    pthread_mutex_destroy(&loop->wake_lock);
    rp_free(loop);
}

uv_loop_t *rp_loop_uv(struct rp_loop *loop)
{
    return &loop->uv;
}

bool rp_loop_step(struct rp_loop *loop)
{
    uint64_t before = loop->callbacks;
    struct rp_error_capture capture; // what fails on the loop is no failure of who drives it
    rp_error_capture_begin(&capture);
    uv_run(&loop->uv, UV_RUN_NOWAIT);
    rp_error_capture_end(&capture);
    return loop->callbacks != before;
}

bool rp_loop_active(const struct rp_loop *loop)
{
    // relaxed: written under the baton; who reads it without the baton takes it as a hint.
    return atomic_load_explicit(&loop->open, memory_order_relaxed) != 0;
}

int rp_loop_fd(const struct rp_loop *loop)
{
    return uv_backend_fd(&loop->uv);
}

int rp_loop_timeout_ms(const struct rp_loop *loop)
{
    if (!rp_loop_active(loop)) {
        return -1;
    }
    int timeout_ms = uv_backend_timeout(&loop->uv);
    if (timeout_ms <= 0) {
        return timeout_ms;
    }
    // libuv counts from the time of the last step; what has passed since then is over.
    uint64_t passed_ms = uv_hrtime() / 1000000 - uv_now(&loop->uv);
    return passed_ms >= (uint64_t)timeout_ms ? 0 : timeout_ms - (int)passed_ms;
}

void rp_loop_count_begin(struct rp_loop *loop)
{
    // relaxed: see rp_loop_active.
    atomic_fetch_add_explicit(&loop->open, 1, memory_order_relaxed);
}

void rp_loop_count_end(struct rp_loop *loop)
{
    // relaxed: see rp_loop_active.
    uint32_t before = atomic_fetch_sub_explicit(&loop->open, 1, memory_order_relaxed);
    assert(before > 0);
    (void)before;
}

void rp_loop_ran(struct rp_loop *loop)
{
    loop->callbacks++;
}

void rp_loop_attach(struct rp_loop *loop, struct rp_loop_object *object)
{
    rp_list_push_back(&loop->objects, &object->link);
}

struct rp_list *rp_loop_objects(struct rp_loop *loop)
{
    return &loop->objects;
}

void rp_loop_detach(struct rp_loop_object *object)
{
    rp_list_remove(&object->link);
}

void rp_loop_wake(struct rp_loop *loop)
{
    pthread_mutex_lock(&loop->wake_lock);
    if (loop->wakeable) {
        uv_async_send(&loop->wake);
    }
    pthread_mutex_unlock(&loop->wake_lock);
}
