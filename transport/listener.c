#include "transport/listener.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/util.h"

#define ACCEPTS_A_TURN 16 // so that those who came before are heard in between
#define SWEEP_MS 250

struct rp_listener {
    struct rp_listener_setup setup;
    uv_poll_t poll;
    uv_timer_t sweep;
    int handles; // open or closing
    bool closed;
    bool paused; // out of descriptors: the sweep looks again
    uint32_t strangers_count;
    struct rp_list strangers; // struct rp_conn, oldest first
};

static void on_ready(struct rp_conn *conn, void *owner);
static void on_frame(struct rp_conn *conn, void *owner, struct rp_frame *frame);
static void on_lost(struct rp_conn *conn, void *owner, bool by_peer, const char *why);

static const struct rp_conn_events stranger_events = {
    .ready = on_ready,
    .frame = on_frame,
    .lost = on_lost,
};

static void on_ready(struct rp_conn *conn, void *owner)
{
    struct rp_listener *listener = owner;
    rp_list_remove(rp_conn_link(conn));
    listener->strangers_count--;
    listener->setup.accepted(listener, listener->setup.owner, conn);
}

// Never called: whoever is ready has a new owner before its first frame is read.
static void on_frame(struct rp_conn *conn, void *owner, struct rp_frame *frame)
{
    (void)owner;
    (void)frame;
    rp_conn_close(conn);
}

static void on_lost(struct rp_conn *conn, void *owner, bool by_peer, const char *why)
{
    struct rp_listener *listener = owner;
    (void)conn;
    (void)by_peer;
    listener->strangers_count--;
    rp_log_info("a stranger at the bootstrap's socket was turned away: %s", why);
}

static void drop(struct rp_listener *listener, struct rp_conn *conn, const char *why)
{
    char who[96];
    rp_conn_peer_text(conn, who, sizeof(who));
    rp_log_info("%s at the bootstrap's socket was turned away: %s", who, why);
    rp_conn_close(conn);
    listener->strangers_count--;
}

// Makes room for one more: who has not even greeted goes first.
static void drop_oldest(struct rp_listener *listener)
{
    struct rp_list *victim = rp_list_first(&listener->strangers);
    rp_list_each(link, &listener->strangers)
    {
        if (!rp_conn_has_spoken(rp_conn_of_link(link))) {
            victim = link;
            break;
        }
    }
    if (victim != NULL) {
        drop(listener, rp_conn_of_link(victim), "too many others wait to be let in");
    }
}

static void drop_expired(struct rp_listener *listener)
{
    uint64_t now_ns = rp_now_ns();
    rp_list_each(link, &listener->strangers)
    {
        struct rp_conn *conn = rp_conn_of_link(link);
        if (now_ns - rp_conn_born_ns(conn) < RP_LISTENER_PATIENCE_NS) {
            break; // the others are younger
        }
        drop(listener, conn, "it did not prove itself in time");
    }
}

static void on_sweep(uv_timer_t *timer);

// The clock ticks only while there is somebody to lose patience with.
static void watch_time(struct rp_listener *listener)
{
    if (!uv_is_active((uv_handle_t *)&listener->sweep)) {
        uv_timer_start(&listener->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
    }
}

static void take_in(struct rp_listener *listener, int fd)
{
    if (listener->setup.admit != NULL && !listener->setup.admit(fd)) {
        close(fd);
        return;
    }
    if (listener->strangers_count >= RP_LISTENER_STRANGERS_MAX) {
        drop_oldest(listener);
    }
    struct rp_conn_setup setup = {
        .loop = listener->setup.loop,
        .fd = fd,
        .scope = listener->setup.scope,
        .role = RP_WIRE_LISTENER,
        .secret = listener->setup.secret,
        .events = &stranger_events,
        .owner = listener,
    };
    struct rp_conn *conn;
    if (rp_conn_create(&setup, &conn) == RP_OK) {
        rp_list_push_back(&listener->strangers, rp_conn_link(conn));
        listener->strangers_count++;
        watch_time(listener);
    }
}

static void on_acceptable(uv_poll_t *poll, int status, int events);

static void set_paused(struct rp_listener *listener, bool paused)
{
    listener->paused = paused;
    if (paused) {
        uv_poll_stop(&listener->poll);
        watch_time(listener);
    } else {
        uv_poll_start(&listener->poll, UV_READABLE, on_acceptable);
    }
}

static void on_acceptable(uv_poll_t *poll, int status, int events)
{
    struct rp_listener *listener = rp_container_of(poll, struct rp_listener, poll);
    (void)status;
    (void)events;
    rp_loop_ran(listener->setup.loop);
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        int fd = accept4(listener->setup.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            take_in(listener, fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            // The one that waits would wake us without end: free a descriptor, or wait a little.
            char limit[RP_LIMIT_TEXT_BYTES];
            rp_log_warn("accepting a connection failed: %s%s", strerrordesc_np(errno),
                    rp_descriptor_limit_text(errno, limit));
            drop_oldest(listener);
            set_paused(listener, true);
            return;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        }
        // Any other error belongs to the connection that was to be accepted (accept(2)).
    }
}

static void on_sweep(uv_timer_t *timer)
{
    struct rp_listener *listener = rp_container_of(timer, struct rp_listener, sweep);
    rp_loop_ran(listener->setup.loop);
    drop_expired(listener);
    if (listener->paused) {
        set_paused(listener, false);
    }
    if (listener->strangers_count == 0) {
        uv_timer_stop(&listener->sweep);
    }
}

static void on_handle_closed(struct rp_listener *listener)
{
    listener->handles--;
    if (listener->handles == 0) {
        rp_loop_count_end(listener->setup.loop);
        rp_free(listener);
    }
}

static void on_poll_closed(uv_handle_t *handle)
{
    on_handle_closed(rp_container_of(handle, struct rp_listener, poll));
}

static void on_sweep_closed(uv_handle_t *handle)
{
    on_handle_closed(rp_container_of(handle, struct rp_listener, sweep));
}

rp_status rp_listener_create(const struct rp_listener_setup *setup, struct rp_listener **out)
{
    rp_status st;
    struct rp_listener *listener = rp_calloc(1, sizeof(*listener));
    if (listener == NULL) {
        st = rp_fail(RP_ENOMEM, "no memory for a listener");
        goto undo_fd;
    }
    listener->setup = *setup;
    rp_list_init(&listener->strangers);
    st = rp_fork_guard_fd(setup->fd);
    if (st != RP_OK) {
        rp_fail(st, "no memory for a listener");
        goto undo_alloc;
    }
    uv_loop_t *uv = rp_loop_uv(setup->loop);
    int error = uv_poll_init(uv, &listener->poll, setup->fd);
    if (error != 0) {
        st = rp_fail(RP_ESYS, "watching a listening socket failed: %s", uv_strerror(error));
        goto undo_guard;
    }
    uv_timer_init(uv, &listener->sweep); // cannot fail
    listener->handles = 2;
    rp_loop_count_begin(setup->loop);
    set_paused(listener, false);
    *out = listener;
    return RP_OK;

undo_guard:
    rp_fork_unguard_fd(setup->fd);
undo_alloc:
    rp_free(listener);
undo_fd:
    close(setup->fd);
    return st;
}

void rp_listener_close(struct rp_listener *listener)
{
    if (listener == NULL || listener->closed) {
        return;
    }
    listener->closed = true;
    rp_list_each(link, &listener->strangers)
    {
        rp_conn_close(rp_conn_of_link(link));
    }
    uv_close((uv_handle_t *)&listener->poll, on_poll_closed);
    uv_close((uv_handle_t *)&listener->sweep, on_sweep_closed);
    rp_fork_unguard_fd(listener->setup.fd);
    close(listener->setup.fd);
}
