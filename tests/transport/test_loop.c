#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/util.h"
#include "support/child.h"
#include "transport/conn.h"
#include "transport/listener.h"
#include "transport/loop.h"

static struct rp_loop *loop;

static void start(void)
{
    cr_assert(eq(int, rp_process_check(), RP_OK));
    cr_assert(eq(int, rp_loop_create(&loop), RP_OK));
}

static void end(void)
{
    rp_loop_destroy(loop);
}

TestSuite(loop, .init = start, .fini = end, .timeout = 30);

// A handle that is announced, as every object on the loop does it.
struct ticker {
    struct rp_loop_object object;
    uv_timer_t timer;
    int ticks;
    bool closed;
};

static void on_tick(uv_timer_t *timer)
{
    struct ticker *ticker = rp_container_of(timer, struct ticker, timer);
    ticker->ticks++;
    rp_loop_ran(loop);
    (void)rp_fail(RP_EINTERNAL, "tick %d", ticker->ticks);
}

static void on_ticker_closed(uv_handle_t *handle)
{
    struct ticker *ticker = rp_container_of(handle, struct ticker, timer);
    ticker->closed = true;
    rp_loop_count_end(loop);
}

static void close_ticker(struct rp_loop_object *object)
{
    struct ticker *ticker = rp_container_of(object, struct ticker, object);
    uv_close((uv_handle_t *)&ticker->timer, on_ticker_closed);
}

static void start_ticker(struct ticker *ticker, uint64_t after_ms)
{
    *ticker = (struct ticker){ .object.close = close_ticker };
    uv_timer_init(rp_loop_uv(loop), &ticker->timer);
    uv_update_time(rp_loop_uv(loop));
    uv_timer_start(&ticker->timer, on_tick, after_ms, 0);
    rp_loop_count_begin(loop);
    rp_loop_attach(loop, &ticker->object);
}

Test(loop, is_active_while_something_is_open)
{
    static struct ticker ticker; // outlives the test: the teardown closes it
    cr_assert(not(rp_loop_active(loop)));
    cr_assert(eq(int, rp_loop_timeout_ms(loop), -1));
    start_ticker(&ticker, 0);
    cr_assert(rp_loop_active(loop));
    rp_loop_detach(&ticker.object);
    close_ticker(&ticker.object);
    cr_assert(rp_loop_active(loop), "until the close callback has run");
    cr_assert(eq(int, rp_loop_timeout_ms(loop), 0));
    rp_loop_step(loop);
    cr_assert(ticker.closed);
    cr_assert(not(rp_loop_active(loop)));
}

Test(loop, a_step_tells_whether_anything_ran)
{
    static struct ticker ticker; // outlives the test: the teardown closes it
    start_ticker(&ticker, 30);
    cr_assert(not(rp_loop_step(loop)));
    int timeout_ms = rp_loop_timeout_ms(loop);
    cr_assert(gt(int, timeout_ms, 0));
    cr_assert(le(int, timeout_ms, 30));
    usleep(40000);
    cr_assert(eq(int, rp_loop_timeout_ms(loop), 0), "the hint knows how long nobody stepped");
    cr_assert(rp_loop_step(loop));
    cr_assert(eq(int, ticker.ticks, 1));
    cr_assert(not(rp_loop_step(loop)));
}

Test(loop, what_fails_in_a_callback_is_not_the_drivers_failure)
{
    static struct ticker ticker; // outlives the test: the teardown closes it
    (void)rp_fail(RP_EPARAM, "my own");
    start_ticker(&ticker, 0);
    cr_assert(rp_loop_step(loop));
    cr_assert(eq(int, ticker.ticks, 1));
    cr_assert(eq(str, (char *)rp_error_take(), "E107000: my own\n"));
    cr_assert(eq(str, (char *)rp_error_captured(), ""), "outside of a step nothing is captured");
}

Test(loop, destroying_closes_what_is_attached)
{
    static struct ticker ticker; // outlives the test: the teardown closes it
    struct rp_loop *kept = loop;
    cr_assert(eq(int, rp_loop_create(&loop), RP_OK));
    start_ticker(&ticker, 60000);
    rp_loop_destroy(loop);
    cr_assert(ticker.closed);
    cr_assert(eq(int, ticker.ticks, 0));
    loop = kept;
}

static void *wake_later(void *arg)
{
    usleep(20000);
    rp_loop_wake(arg);
    return NULL;
}

Test(loop, a_wake_ends_a_poll)
{
    pthread_t thread;
    struct pollfd poll_fd = { .fd = rp_loop_fd(loop), .events = POLLIN };
    rp_loop_step(loop); // libuv registers its handles with the first one
    cr_assert(eq(int, poll(&poll_fd, 1, 0), 0));
    pthread_create(&thread, NULL, wake_later, loop);
    cr_assert(eq(int, poll(&poll_fd, 1, 10000), 1));
    cr_assert(rp_loop_step(loop));
    pthread_join(thread, NULL);
    cr_assert(eq(int, poll(&poll_fd, 1, 0), 0), "one wake, one end");
}

static _Atomic bool wake_stop;

static void *wake_always(void *arg)
{
    while (!atomic_load_explicit(&wake_stop, memory_order_relaxed)) {
        rp_loop_wake(arg);
    }
    return NULL;
}

Test(loop, many_wakes_are_survived)
{
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread[i], NULL, wake_always, loop);
    }
    for (int i = 0; i < 20000; i++) {
        rp_loop_step(loop);
    }
    atomic_store_explicit(&wake_stop, true, memory_order_relaxed);
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
    }
}

Test(loop, creating_and_destroying_leaves_no_descriptor)
{
    unsigned before = fds_open();
    for (int i = 0; i < 50; i++) {
        struct rp_loop *other;
        cr_assert(eq(int, rp_loop_create(&other), RP_OK));
        rp_loop_destroy(other);
    }
    cr_assert(eq(uint, fds_open(), before));
}

Test(loop, no_signal_disposition_changes)
{
    for (int signal = 1; signal < 32; signal++) {
        struct sigaction action;
        if (signal == SIGKILL || signal == SIGSTOP || sigaction(signal, NULL, &action) != 0) {
            continue;
        }
        // Criterion itself handles the ones that a crashing test raises.
        bool crash = signal == SIGSEGV || signal == SIGFPE || signal == SIGILL ||
                     signal == SIGBUS || signal == SIGABRT;
        cr_assert(crash || action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN,
                "signal %d", signal);
    }
    struct sigaction pipe_action;
    sigaction(SIGPIPE, NULL, &pipe_action);
    cr_assert(eq(ptr, (void *)pipe_action.sa_handler, (void *)SIG_DFL));
}

// ---- connections ----

static uint8_t secret[RP_WIRE_SECRET_BYTES] = { 1, 2, 3 };
static uint8_t other_secret[RP_WIRE_SECRET_BYTES] = { 3, 2, 1 };

// One end of a connection, and what has happened there.
struct end {
    struct rp_conn *conn;
    bool ready;
    bool lost;
    bool by_peer;
    char why[128];
    unsigned frames;
    uint16_t type;
    size_t bytes;
    int fd; // the first one that a frame brought
};

static void end_ready(struct rp_conn *conn, void *owner)
{
    struct end *end = owner;
    (void)conn;
    end->ready = true;
}

static void end_frame(struct rp_conn *conn, void *owner, struct rp_frame *frame)
{
    struct end *end = owner;
    (void)conn;
    end->frames++;
    end->type = frame->type;
    end->bytes = frame->payload.left;
    if (frame->fd_count > 0) {
        end->fd = frame->fd[0];
        frame->fd[0] = -1;
    }
}

static void end_lost(struct rp_conn *conn, void *owner, bool by_peer, const char *why)
{
    struct end *end = owner;
    (void)conn;
    end->lost = true;
    end->by_peer = by_peer;
    end->conn = NULL;
    rp_text_copy(end->why, sizeof(end->why), why);
}

static const struct rp_conn_events end_events = { end_ready, end_frame, end_lost };

static void make_end(struct end *end, int fd, enum rp_wire_role role, const uint8_t *key)
{
    struct rp_conn_setup setup = {
        .loop = loop,
        .fd = fd,
        .scope = RP_WIRE_NODE,
        .role = role,
        .secret = key,
        .events = &end_events,
        .owner = end,
    };
    *end = (struct end){ .fd = -1 };
    cr_assert(eq(int, rp_conn_create(&setup, &end->conn), RP_OK));
}

static void make_pair(struct end *dialer, struct end *listener, const uint8_t *listener_secret)
{
    int pair[2];
    cr_assert(zero(int, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair)));
    make_end(dialer, pair[0], RP_WIRE_DIALER, secret);
    make_end(listener, pair[1], RP_WIRE_LISTENER, listener_secret);
}

static void step_until(const bool *flag)
{
    uint64_t deadline_ns = rp_deadline_ns(10 * RP_NS_PER_S);
    while (!*flag && rp_now_ns() < deadline_ns) {
        rp_loop_step(loop);
    }
    bool come = *flag;
    cr_assert(come);
}

static void step_a_while(void)
{
    for (int i = 0; i < 200; i++) {
        rp_loop_step(loop);
    }
}

Test(loop, both_ends_of_a_connection_prove_themselves)
{
    struct end dialer;
    struct end listener;
    make_pair(&dialer, &listener, secret);
    cr_assert(not(rp_conn_is_ready(dialer.conn)));
    step_until(&dialer.ready);
    cr_assert(listener.ready);
    cr_assert(eq(int, rp_conn_send(dialer.conn, 7, "abc", 3, NULL), RP_OK));
    step_a_while();
    cr_assert(eq(u16, listener.type, 7));
    cr_assert(eq(sz, listener.bytes, 3));
    rp_conn_close(dialer.conn);
    step_until(&listener.lost);
    cr_assert(listener.by_peer);
    cr_assert(not(dialer.lost), "who closes is not told");
}

Test(loop, a_wrong_secret_ends_the_connection)
{
    struct end dialer;
    struct end listener;
    make_pair(&dialer, &listener, other_secret);
    step_until(&listener.lost);
    step_until(&dialer.lost);
    cr_assert(not(dialer.ready));
    cr_assert(not(listener.ready));
    cr_assert(ne(ptr, strstr(listener.why, "does not know"), NULL), "%s", listener.why);
}

Test(loop, many_frames_arrive_in_order_and_whole)
{
    struct end dialer;
    struct end listener;
    static uint8_t payload[RP_WIRE_PAYLOAD_MAX];
    make_pair(&dialer, &listener, secret);
    step_until(&dialer.ready);
    // Far more than the sockets hold.
    for (uint16_t i = 0; i < 1000; i++) {
        cr_assert(eq(int, rp_conn_send(dialer.conn, i, payload, sizeof(payload), NULL), RP_OK));
        cr_assert(eq(int, rp_conn_send(dialer.conn, i, payload, 0, NULL), RP_OK));
    }
    uint64_t deadline_ns = rp_deadline_ns(20 * RP_NS_PER_S);
    while (listener.frames < 2000 && rp_now_ns() < deadline_ns) {
        rp_loop_step(loop);
    }
    cr_assert(eq(uint, listener.frames, 2000));
    cr_assert(eq(u16, listener.type, 999));
    rp_conn_close(dialer.conn);
    rp_conn_close(listener.conn);
}

Test(loop, descriptors_travel_with_their_frame)
{
    struct end dialer;
    struct end listener;
    struct rp_fd_set *set;
    int pipe_fd[2];
    char byte = 0;
    make_pair(&dialer, &listener, secret);
    step_until(&dialer.ready);
    cr_assert(zero(int, pipe(pipe_fd)));
    cr_assert(eq(int, rp_fd_set_create(&pipe_fd[1], 1, &set), RP_OK));
    close(pipe_fd[1]);
    cr_assert(eq(int, rp_conn_send(dialer.conn, 1, NULL, 0, NULL), RP_OK));
    cr_assert(eq(int, rp_conn_send(dialer.conn, 2, "x", 1, set), RP_OK));
    rp_fd_set_unref(set);
    step_a_while();
    cr_assert(eq(uint, listener.frames, 2));
    cr_assert(ge(int, listener.fd, 0));
    cr_assert(eq(i64, write(listener.fd, "!", 1), 1));
    cr_assert(eq(i64, read(pipe_fd[0], &byte, 1), 1));
    close(listener.fd);
    cr_assert(eq(i64, read(pipe_fd[0], &byte, 1), 0), "nobody else holds it");
    close(pipe_fd[0]);
    rp_conn_close(dialer.conn);
    rp_conn_close(listener.conn);
}

// The frame before the end is read although the sender hangs up and drops what it was sent.
Test(loop, last_words_are_heard)
{
    struct end dialer;
    struct end listener;
    make_pair(&dialer, &listener, secret);
    step_until(&dialer.ready);
    for (int i = 0; i < 20; i++) {
        cr_assert(eq(int, rp_conn_send(dialer.conn, 1, "chatter", 7, NULL), RP_OK));
    }
    cr_assert(eq(int, rp_conn_send(listener.conn, 9, "bye", 3, NULL), RP_OK));
    rp_conn_finish(listener.conn);
    step_until(&dialer.lost);
    cr_assert(eq(u16, dialer.type, 9));
    step_until(&listener.lost);
    cr_assert(eq(uint, listener.frames, 0));
}

// Writing to a peer that is gone raises no signal: its default action would end this test.
Test(loop, a_dead_peer_raises_no_signal)
{
    struct end dialer;
    struct end listener;
    static uint8_t payload[RP_WIRE_PAYLOAD_MAX];
    for (int i = 0; i < 50; i++) {
        make_pair(&dialer, &listener, secret);
        step_until(&dialer.ready);
        rp_conn_close(listener.conn);
        for (int j = 0; j < 100; j++) {
            cr_assert(eq(int, rp_conn_send(dialer.conn, 1, payload, sizeof(payload), NULL), RP_OK));
        }
        step_until(&dialer.lost);
    }
}

Test(loop, connections_leave_no_descriptor)
{
    struct end dialer;
    struct end listener;
    step_a_while();
    unsigned before = fds_open();
    for (int i = 0; i < 20; i++) {
        make_pair(&dialer, &listener, secret);
        for (int j = 0; j < i; j++) {
            rp_loop_step(loop);
        }
        rp_conn_close(dialer.conn);
        rp_conn_close(listener.conn);
    }
    step_a_while();
    cr_assert(eq(uint, fds_open(), before));
    cr_assert(not(rp_loop_active(loop)));
}

// In a child the copies of our sockets close, so a dead parent's peers see its end at once.
Test(loop, a_forked_child_holds_no_connection)
{
    struct end dialer;
    struct end listener;
    int hold[2];
    char byte;
    make_pair(&dialer, &listener, secret);
    step_until(&dialer.ready);
    cr_assert(zero(int, pipe(hold)));
    pid_t child = fork();
    if (child == 0) {
        close(hold[1]);
        _exit(read(hold[0], &byte, 1) == 0 ? 0 : 1); // lives until the parent lets go
    }
    rp_conn_close(dialer.conn);
    step_until(&listener.lost);
    close(hold[0]);
    close(hold[1]);
    cr_assert(eq(int, child_wait(child, 10), 0));
}
