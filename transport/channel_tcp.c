// A tcp channel's life: opened on a socket that the bootstrap has set up, watched by the device's
// loop, lost, or closed and then seen off by the loop.
//
//     OPEN --lost: the peer counts as gone--------> OVER --handles closed, communicator
//       |                                            ^     gone too: freed
//       +--closed by the communicator--> LINGERING --+
//
// A communicator may go on any thread, its handles only with the baton. So closing hands the
// channel to the loop, through the one call that libuv allows from elsewhere.

#include "transport/channel_tcp.h"

#include <assert.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/util.h"
#include "transport/channel_tcp_internal.h"

// A machine that has gone without a word is noticed after about half a minute.
#define KEEP_ALIVE_IDLE_S 15
#define KEEP_ALIVE_INTERVAL_S 5
#define KEEP_ALIVE_PROBES 3

// ---- the end ----

static void free_channel(struct rp_tcp_channel *tcp)
{
    pthread_mutex_destroy(&tcp->lock);
    rp_free(tcp->out.ring);
    rp_free(tcp->in.buffer);
    rp_free(tcp);
}

static void handle_closed(struct rp_tcp_channel *tcp)
{
    if (--tcp->handles != 0) {
        return;
    }
    rp_loop_count_end(tcp->loop);
    pthread_mutex_lock(&tcp->lock);
    tcp->handles_over = true;
    const bool last = tcp->comm == NULL;
    pthread_mutex_unlock(&tcp->lock);
    if (last) {
        free_channel(tcp);
    }
}

static void on_poll_closed(uv_handle_t *handle)
{
    handle_closed(rp_container_of(handle, struct rp_tcp_channel, poll));
}

static void on_idle_closed(uv_handle_t *handle)
{
    handle_closed(rp_container_of(handle, struct rp_tcp_channel, idle));
}

static void on_handed_over_closed(uv_handle_t *handle)
{
    handle_closed(rp_container_of(handle, struct rp_tcp_channel, handed_over));
}

static void on_patience_closed(uv_handle_t *handle)
{
    handle_closed(rp_container_of(handle, struct rp_tcp_channel, patience));
}

// Closes the socket and the handles. Under `lock`, or with a reference to the communicator: nobody
// closes the channel meanwhile.
static void end(struct rp_tcp_channel *tcp)
{
    if (tcp->state == RP_TCP_OVER) {
        return;
    }
    tcp->state = RP_TCP_OVER;
    tcp->wakeable = false;
    uv_close((uv_handle_t *)&tcp->poll, on_poll_closed);
    uv_close((uv_handle_t *)&tcp->idle, on_idle_closed);
    uv_close((uv_handle_t *)&tcp->handed_over, on_handed_over_closed);
    uv_close((uv_handle_t *)&tcp->patience, on_patience_closed);
    rp_fork_unguard_fd(tcp->fd);
    close(tcp->fd);
    tcp->fd = -1;
    tcp->out.head = 0;
    tcp->out.tail = 0;
    rp_loop_detach(&tcp->object);
}

void rp_tcp_lose(struct rp_tcp_channel *tcp, const char *why)
{
    if (tcp->state != RP_TCP_OPEN) {
        return;
    }
    end(tcp);
    if (!tcp->in.left) {
        rp_comm_lose(tcp->comm, tcp->base.peer, why);
    }
}

// ---- the loop ----

static void on_poll(uv_poll_t *poll, int status, int events);
static void on_idle(uv_idle_t *idle);

// Watches for what the socket can be used for.
static void watch(struct rp_tcp_channel *tcp)
{
    const int interest = UV_READABLE | (rp_tcp_unsent(tcp) ? UV_WRITABLE : 0);
    if (tcp->state != RP_TCP_OVER && interest != tcp->interest) {
        tcp->interest = interest;
        uv_poll_start(&tcp->poll, interest, on_poll);
    }
}

void rp_tcp_stir(struct rp_tcp_channel *tcp)
{
    if (tcp->state != RP_TCP_OVER) {
        uv_idle_start(&tcp->idle, on_idle);
    }
}

// Sends the rest, then says that nothing more comes, and waits until the other side has said so
// too: a socket that is closed while bytes are unread resets the connection, and a reset may
// overtake what was sent.
static void linger(struct rp_tcp_channel *tcp)
{
    (void)rp_tcp_flush(tcp);
    if (!rp_tcp_unsent(tcp) && !tcp->closed_direction) {
        tcp->closed_direction = true;
        shutdown(tcp->fd, SHUT_WR);
    }
    if (!rp_tcp_drain(tcp)) {
        end(tcp);
    }
}

static void on_patience_over(uv_timer_t *patience)
{
    struct rp_tcp_channel *tcp = rp_container_of(patience, struct rp_tcp_channel, patience);
    rp_loop_ran(tcp->loop);
    rp_log_info("what was left for rank %" PRIu32 " could not be sent within %d ms", tcp->base.peer,
            RP_TCP_LINGER_MS);
    pthread_mutex_lock(&tcp->lock);
    end(tcp);
    pthread_mutex_unlock(&tcp->lock);
}

// The communicator has gone.
static void begin_to_linger(struct rp_tcp_channel *tcp)
{
    tcp->state = RP_TCP_LINGERING;
    uv_timer_start(&tcp->patience, on_patience_over, RP_TCP_LINGER_MS, 0);
}

// Every callback: moves the channel on, whoever owns it.
static void turn(struct rp_tcp_channel *tcp)
{
    rp_loop_ran(tcp->loop);
    pthread_mutex_lock(&tcp->lock);
    if (tcp->comm == NULL && tcp->state == RP_TCP_OPEN) {
        begin_to_linger(tcp);
    }
    if (tcp->state == RP_TCP_LINGERING) {
        linger(tcp);
    } else if (tcp->state == RP_TCP_OPEN) {
        (void)rp_tcp_flush(tcp);
        for (unsigned i = 0; i < RP_TCP_READS_A_TURN && rp_tcp_read(tcp); i++) {
        }
    }
    watch(tcp);
    pthread_mutex_unlock(&tcp->lock);
}

// An error makes libuv stop watching; what is left to read ends with it.
static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct rp_tcp_channel *tcp = rp_container_of(poll, struct rp_tcp_channel, poll);
    (void)events;
    if (status < 0) {
        tcp->interest = 0;
    }
    turn(tcp);
}

static void on_idle(uv_idle_t *idle)
{
    struct rp_tcp_channel *tcp = rp_container_of(idle, struct rp_tcp_channel, idle);
    uv_idle_stop(idle);
    turn(tcp);
}

static void on_handed_over(uv_async_t *handed_over)
{
    turn(rp_container_of(handed_over, struct rp_tcp_channel, handed_over));
}

// The loop is destroyed.
static void close_object(struct rp_loop_object *object)
{
    struct rp_tcp_channel *tcp = rp_container_of(object, struct rp_tcp_channel, object);
    pthread_mutex_lock(&tcp->lock);
    if (tcp->comm != NULL) {
        rp_tcp_lose(tcp, "this rank's device was reset");
    } else {
        tcp->state = RP_TCP_LINGERING;
        linger(tcp);
        end(tcp);
    }
    pthread_mutex_unlock(&tcp->lock);
}

// ---- opening and closing ----

static void channel_close(struct rp_channel *ch)
{
    struct rp_tcp_channel *tcp = rp_tcp_of(ch);
    pthread_mutex_lock(&tcp->lock);
    tcp->comm = NULL;
    const bool last = tcp->handles_over;
    if (tcp->wakeable) {
        uv_async_send(&tcp->handed_over);
    }
    pthread_mutex_unlock(&tcp->lock);
    if (last) {
        free_channel(tcp);
    }
}

static const struct rp_channel_ops tcp_ops = {
    .name = "tcp",
    .put = rp_tcp_put,
    .signal = rp_tcp_signal,
    .publish = rp_tcp_publish,
    .update = rp_tcp_update,
    .test = rp_tcp_test,
    .progress = rp_tcp_progress,
    .close = channel_close,
};

// None of it is needed for anything to work.
static void set_options(int fd)
{
    const int on = 1;
    const int idle_s = KEEP_ALIVE_IDLE_S;
    const int interval_s = KEEP_ALIVE_INTERVAL_S;
    const int probes = KEEP_ALIVE_PROBES;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

static rp_status allocate(uint32_t peer, struct rp_tcp_channel **out)
{
    // The copy of the peer's block is cut in cache lines.
    struct rp_tcp_channel *tcp = rp_aligned_calloc(RP_CACHELINE, sizeof(*tcp));
    if (tcp != NULL) {
        tcp->out.ring = rp_malloc(RP_TCP_RING_BYTES);
        tcp->in.buffer = rp_malloc(RP_TCP_BUFFER_BYTES);
    }
    if (tcp == NULL || tcp->out.ring == NULL || tcp->in.buffer == NULL) {
        if (tcp != NULL) {
            rp_free(tcp->out.ring);
            rp_free(tcp->in.buffer);
            rp_free(tcp);
        }
        return rp_fail(RP_ENOMEM, "no memory for the channel to rank %" PRIu32, peer);
    }
    pthread_mutex_init(&tcp->lock, NULL);
    *out = tcp;
    return RP_OK;
}

static void init_state(struct rp_tcp_channel *tcp, struct rp_comm *comm, struct rp_loop *loop,
        uint32_t peer, int fd)
{
    const uint64_t base = comm->lines.base;
    tcp->base = (struct rp_channel){
        .ops = &tcp_ops,
        .peer = peer,
        .own = &tcp->own,
        .peers = &tcp->peers,
    };
    tcp->comm = comm;
    tcp->loop = loop;
    tcp->fd = fd;
    tcp->object.close = close_object;
    rp_list_init(&tcp->object.link);
    tcp->out.arrived = base;
    tcp->out.done = base;
    tcp->in.arrived = base;
    tcp->in.done = base;
    rp_rank_block_init(&tcp->block, base);
}

// Only the watching of a descriptor can fail, and it comes first.
static rp_status start_handles(struct rp_tcp_channel *tcp)
{
    uv_loop_t *uv = rp_loop_uv(tcp->loop);
    int error = uv_poll_init(uv, &tcp->poll, tcp->fd);
    if (error != 0) {
        return rp_fail(error == UV_ENOMEM ? RP_ENOMEM : RP_ESYS, "watching a socket failed: %s",
                uv_strerror(error));
    }
    uv_idle_init(uv, &tcp->idle);
    uv_timer_init(uv, &tcp->patience);
    error = uv_async_init(uv, &tcp->handed_over, on_handed_over);
    assert(error == 0); // the loop's own wake-up has opened what it needs
    (void)error;
    tcp->handles = 4;
    tcp->wakeable = true;
    rp_loop_count_begin(tcp->loop);
    rp_loop_attach(tcp->loop, &tcp->object);
    return RP_OK;
}

rp_status rp_channel_tcp_open(
        struct rp_comm *comm, struct rp_loop *loop, uint32_t peer, int fd, struct rp_channel **out)
{
    assert(peer < comm->lines.size && peer != comm->lines.rank);
    struct rp_tcp_channel *tcp;
    rp_status st = allocate(peer, &tcp);
    if (st != RP_OK) {
        return st;
    }
    init_state(tcp, comm, loop, peer, fd);
    st = rp_fork_guard_fd(fd);
    if (st != RP_OK) {
        st = rp_fail(st, "no memory for the channel to rank %" PRIu32, peer);
        goto undo_alloc;
    }
    st = start_handles(tcp);
    if (st != RP_OK) {
        goto undo_guard;
    }
    set_options(fd);
    comm->lines.peer[peer].block = &tcp->block;
    comm->lines.publish = rp_comm_publish;
    rp_tcp_stir(tcp); // the loop's first turn begins to watch
    *out = &tcp->base;
    return RP_OK;

undo_guard:
    rp_fork_unguard_fd(fd);
undo_alloc:
    free_channel(tcp);
    return st;
}
