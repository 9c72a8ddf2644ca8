#include "transport/conn.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/util.h"

#define FDS_HELD_MAX (2 * RP_WIRE_FDS_MAX) // received and not yet claimed by a frame
#define READS_A_TURN 16 // a talkative peer leaves the loop to the others after so many

enum conn_state {
    CONN_CONNECTING,
    CONN_GREETING, // waiting for the other side's greeting
    CONN_PROOF,    // waiting for its proof
    CONN_READY,
    CONN_CLOSED,
};

// Bytes to send; `fds` go with the first of them.
struct outgoing {
    struct rp_list link;
    struct rp_fd_set *fds;
    size_t bytes;
    size_t sent;
    uint8_t data[];
};

struct rp_conn {
    struct rp_loop *loop;
    uv_poll_t poll;
    int interest; // what `poll` watches for
    int fd;
    enum conn_state state;
    enum rp_wire_role role;
    struct rp_wire_session session;
    const struct rp_conn_events *events;
    void *owner;
    struct rp_list link; // the owner's
    uint64_t born_ns;
    uint64_t frames_sent;
    uint64_t frames_read;
    struct rp_list queue;   // struct outgoing
    struct outgoing *spare; // for when memory is short
    size_t spare_bytes;
    bool finishing;
    bool spoken;
    size_t used;                              // of `greeting`, and then of `in`
    size_t delivered;                         // of `in`: the frame that the owner looks at now
    uint8_t greeting[RP_WIRE_GREETING_BYTES]; // until ready: the greeting, then the proof
    uint8_t key[RP_WIRE_KEY_BYTES];
    uint8_t *in; // RP_WIRE_FRAME_MAX, from ready on
    uint32_t held;
    int held_fd[FDS_HELD_MAX];
};

static_assert(RP_WIRE_PROOF_BYTES <= RP_WIRE_GREETING_BYTES, "one buffer serves both");

static void close_fds(const int *fd, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (fd[i] >= 0) {
            close(fd[i]);
        }
    }
}

static void outgoing_free(struct outgoing *out)
{
    rp_list_remove(&out->link);
    rp_fd_set_unref(out->fds);
    rp_free(out);
}

static void on_closed(uv_handle_t *handle)
{
    struct rp_conn *conn = rp_container_of(handle, struct rp_conn, poll);
    rp_loop_count_end(conn->loop);
    rp_free(conn->spare);
    rp_free(conn->in);
    rp_free(conn);
}

// Ends everything but the descriptor.
static void let_go(struct rp_conn *conn)
{
    conn->state = CONN_CLOSED;
    uv_close((uv_handle_t *)&conn->poll, on_closed);
    rp_list_each(link, &conn->queue)
    {
        outgoing_free(rp_container_of(link, struct outgoing, link));
    }
    close_fds(conn->held_fd, conn->held);
    conn->held = 0;
    rp_list_remove(&conn->link);
}

void rp_conn_close(struct rp_conn *conn)
{
    if (conn == NULL || conn->state == CONN_CLOSED) {
        return;
    }
    let_go(conn);
    rp_fork_unguard_fd(conn->fd);
    close(conn->fd);
}

int rp_conn_detach(struct rp_conn *conn)
{
    if (conn->state != CONN_READY || conn->finishing || !rp_list_empty(&conn->queue) ||
            conn->used != conn->delivered || conn->held != 0) {
        return -1;
    }
    let_go(conn);
    return conn->fd;
}

// The other side closed it, or the network did.
static void lose(struct rp_conn *conn, const char *why)
{
    rp_conn_close(conn);
    conn->events->lost(conn, conn->owner, true, why);
}

static void give_up(struct rp_conn *conn, const char *why)
{
    rp_conn_close(conn);
    conn->events->lost(conn, conn->owner, false, why);
}

static void on_poll(uv_poll_t *poll, int status, int events);

// Watches for what the connection can use now.
static void watch(struct rp_conn *conn)
{
    int interest = conn->state == CONN_CONNECTING ? UV_WRITABLE : UV_READABLE;
    if (!rp_list_empty(&conn->queue)) {
        interest |= UV_WRITABLE;
    }
    if (interest != conn->interest) {
        conn->interest = interest;
        uv_poll_start(&conn->poll, interest, on_poll);
    }
}

static rp_status enqueue(struct rp_conn *conn, size_t bytes, struct outgoing **out)
{
    *out = rp_malloc(sizeof(**out) + bytes);
    if (*out == NULL && conn->spare_bytes >= bytes) {
        *out = conn->spare;
        conn->spare = NULL;
        conn->spare_bytes = 0;
    }
    if (*out == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for a message to another rank");
    }
    **out = (struct outgoing){ .bytes = bytes };
    rp_list_push_back(&conn->queue, &(*out)->link);
    return RP_OK;
}

static ssize_t send_some(struct rp_conn *conn, struct outgoing *out)
{
    struct iovec part = { .iov_base = out->data + out->sent, .iov_len = out->bytes - out->sent };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(RP_WIRE_FDS_MAX * sizeof(int))];
    } control;
    if (out->fds != NULL && out->sent == 0) {
        size_t bytes = out->fds->count * sizeof(int);
        memset(&control, 0, sizeof(control));
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(bytes);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(bytes);
        memcpy(CMSG_DATA(header), out->fds->fd, bytes);
    }
    return sendmsg(conn->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Sends what the socket takes. An error is left to the reading side, which first hands on what
// the other side still had to say.
static void flush(struct rp_conn *conn)
{
    struct rp_list *link;
    while ((link = rp_list_first(&conn->queue)) != NULL) {
        struct outgoing *out = rp_container_of(link, struct outgoing, link);
        ssize_t sent = send_some(conn, out);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        // ETOOMANYREFS: more descriptors are under way than this user may have; they arrive.
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ETOOMANYREFS)) {
            break;
        }
        if (sent < 0) {
            rp_log_info("sending to another rank failed: %s", strerrordesc_np(errno));
            rp_list_each(rest, &conn->queue)
            {
                outgoing_free(rp_container_of(rest, struct outgoing, link));
            }
            break;
        }
        out->sent += (size_t)sent;
        if (out->sent == out->bytes) {
            outgoing_free(out);
        }
    }
    if (conn->finishing && rp_list_empty(&conn->queue)) {
        shutdown(conn->fd, SHUT_WR);
    }
    watch(conn);
}

// Sends the greeting; our nonce is in the session already.
static rp_status send_greeting(struct rp_conn *conn)
{
    struct outgoing *out;
    rp_status st = enqueue(conn, RP_WIRE_GREETING_BYTES, &out);
    if (st == RP_OK) {
        rp_greeting_write(out->data, conn->role == RP_WIRE_DIALER ? conn->session.dialer_nonce
                                                                  : conn->session.listener_nonce);
    }
    return st;
}

static rp_status send_proof(struct rp_conn *conn)
{
    struct outgoing *out;
    rp_status st = enqueue(conn, RP_WIRE_PROOF_BYTES, &out);
    if (st == RP_OK) {
        rp_wire_proof(&conn->session, conn->role, out->data);
        flush(conn);
    }
    return st;
}

rp_status rp_conn_create(const struct rp_conn_setup *setup, struct rp_conn **out)
{
    rp_status st;
    struct rp_conn *conn = rp_calloc(1, sizeof(*conn));
    if (conn == NULL) {
        st = rp_fail(RP_ENOMEM, "no memory for a connection");
        goto undo_fd;
    }
    st = rp_fork_guard_fd(setup->fd);
    if (st != RP_OK) {
        rp_fail(st, "no memory for a connection");
        goto undo_alloc;
    }
    conn->loop = setup->loop;
    conn->fd = setup->fd;
    conn->role = setup->role;
    conn->state = setup->role == RP_WIRE_DIALER ? CONN_CONNECTING : CONN_GREETING;
    conn->session.scope = setup->scope;
    conn->session.secret = setup->secret;
    conn->events = setup->events;
    conn->owner = setup->owner;
    conn->born_ns = rp_now_ns();
    rp_list_init(&conn->link);
    rp_list_init(&conn->queue);
    randombytes_buf(setup->role == RP_WIRE_DIALER ? conn->session.dialer_nonce
                                                  : conn->session.listener_nonce,
            RP_WIRE_NONCE_BYTES);
    st = send_greeting(conn);
    if (st != RP_OK) {
        goto undo_guard;
    }
    int error = uv_poll_init(rp_loop_uv(setup->loop), &conn->poll, setup->fd);
    if (error != 0) {
        st = rp_fail(RP_ESYS, "watching a socket failed: %s", uv_strerror(error));
        goto undo_greeting;
    }
    int on = 1; // fails on Unix sockets, which need it not
    setsockopt(setup->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    rp_loop_count_begin(setup->loop);
    watch(conn);
    *out = conn;
    return RP_OK;

undo_greeting:
    outgoing_free(rp_container_of(rp_list_first(&conn->queue), struct outgoing, link));
undo_guard:
    rp_fork_unguard_fd(setup->fd);
undo_alloc:
    rp_free(conn);
undo_fd:
    close(setup->fd);
    return st;
}

void rp_conn_adopt(struct rp_conn *conn, const struct rp_conn_events *events, void *owner)
{
    conn->events = events;
    conn->owner = owner;
}

rp_status rp_conn_reserve(struct rp_conn *conn, size_t bytes)
{
    struct rp_frame_header header = { .payload_bytes = (uint32_t)bytes };
    assert(bytes <= RP_WIRE_PAYLOAD_MAX && conn->spare == NULL);
    conn->spare = rp_malloc(sizeof(*conn->spare) + rp_frame_bytes(&header));
    if (conn->spare == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for a message to another rank");
    }
    conn->spare_bytes = rp_frame_bytes(&header);
    return RP_OK;
}

rp_status rp_conn_send(struct rp_conn *conn, uint16_t type, const void *payload, size_t bytes,
        struct rp_fd_set *fds)
{
    assert(bytes <= RP_WIRE_PAYLOAD_MAX);
    if (conn == NULL || conn->state != CONN_READY || conn->finishing) {
        return RP_OK; // the other side has gone, and `lost` has told or will tell
    }
    struct rp_frame_header header = {
        .payload_bytes = (uint32_t)bytes,
        .type = type,
        .fd_count = fds == NULL ? 0 : (uint16_t)fds->count,
    };
    struct outgoing *out;
    rp_status st = enqueue(conn, rp_frame_bytes(&header), &out);
    if (st != RP_OK) {
        return st;
    }
    rp_frame_seal(out->data, conn->key, conn->role, conn->frames_sent++, &header, payload);
    if (fds != NULL) {
        fds->refs++;
        out->fds = fds;
    }
    flush(conn);
    return RP_OK;
}

void rp_conn_finish(struct rp_conn *conn)
{
    if (conn->state == CONN_CLOSED || conn->finishing) {
        return;
    }
    conn->finishing = true;
    flush(conn);
}

static void greeting_arrived(struct rp_conn *conn)
{
    bool dialer = conn->role == RP_WIRE_DIALER;
    uint8_t *nonce = dialer ? conn->session.listener_nonce : conn->session.dialer_nonce;
    if (rp_greeting_read(conn->greeting, nonce) != RP_OK) {
        lose(conn, "what answers there is not Reprise, or another version of it");
        return;
    }
    conn->spoken = true;
    conn->state = CONN_PROOF;
    // The dialer proves itself first: a stranger's port learns nothing that it could use, and a
    // stranger at ours gets no proof to look at.
    if (dialer && send_proof(conn) != RP_OK) {
        give_up(conn, "no memory");
    }
}

static void proof_arrived(struct rp_conn *conn)
{
    bool dialer = conn->role == RP_WIRE_DIALER;
    if (!rp_wire_proof_check(
                &conn->session, dialer ? RP_WIRE_LISTENER : RP_WIRE_DIALER, conn->greeting)) {
        lose(conn, "the other side does not know this root info's secret");
        return;
    }
    conn->in = rp_malloc(RP_WIRE_FRAME_MAX);
    if (conn->in == NULL || (!dialer && send_proof(conn) != RP_OK)) {
        give_up(conn, "no memory");
        return;
    }
    rp_wire_key(&conn->session, conn->key);
    conn->state = CONN_READY;
    conn->events->ready(conn, conn->owner);
}

// Reads no further than the handshake goes. Returns whether there may be more.
static bool read_handshake(struct rp_conn *conn)
{
    size_t needed = conn->state == CONN_GREETING ? RP_WIRE_GREETING_BYTES : RP_WIRE_PROOF_BYTES;
    ssize_t got = recv(conn->fd, conn->greeting + conn->used, needed - conn->used, MSG_DONTWAIT);
    if (got <= 0) {
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
            return errno == EINTR;
        }
        lose(conn, got == 0 ? "the other side closed it before it was set up"
                            : strerrordesc_np(errno));
        return false;
    }
    conn->used += (size_t)got;
    if (conn->used < needed) {
        return true;
    }
    conn->used = 0;
    if (conn->state == CONN_GREETING) {
        greeting_arrived(conn);
    } else {
        proof_arrived(conn);
    }
    return conn->state != CONN_CLOSED;
}

// Keeps the descriptors of a message that was received. False when some were lost.
static bool hold_fds(struct rp_conn *conn, struct msghdr *message)
{
    bool whole = (message->msg_flags & MSG_CTRUNC) == 0;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at != NULL; at = CMSG_NXTHDR(message, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(at) + i * sizeof(int), sizeof(fd));
            if (conn->held < FDS_HELD_MAX) {
                conn->held_fd[conn->held++] = fd;
            } else {
                close(fd);
                whole = false;
            }
        }
    }
    return whole;
}

// Hands on one whole frame at the start of `in`.
static void deliver(struct rp_conn *conn, const struct rp_frame_header *header)
{
    enum rp_wire_role sender = conn->role == RP_WIRE_DIALER ? RP_WIRE_LISTENER : RP_WIRE_DIALER;
    if (!rp_frame_check(conn->in, rp_frame_bytes(header), conn->key, sender, conn->frames_read++)) {
        give_up(conn, "a message was altered on its way");
        return;
    }
    if (header->fd_count > conn->held) {
        give_up(conn, "descriptors are missing from a message");
        return;
    }
    struct rp_frame frame = {
        .type = header->type,
        .fd_count = header->fd_count,
        .payload = rp_reader_view(conn->in + RP_WIRE_HEADER_BYTES, header->payload_bytes),
    };
    memcpy(frame.fd, conn->held_fd, frame.fd_count * sizeof(int));
    conn->held -= header->fd_count;
    memmove(conn->held_fd, conn->held_fd + header->fd_count, conn->held * sizeof(int));
    conn->events->frame(conn, conn->owner, &frame);
    close_fds(frame.fd, frame.fd_count);
}

static void deliver_all(struct rp_conn *conn)
{
    while (conn->state == CONN_READY && !conn->finishing && conn->used >= RP_WIRE_HEADER_BYTES) {
        struct rp_frame_header header;
        if (rp_frame_header_read(conn->in, &header) != RP_OK) {
            give_up(conn, "a message is longer than any that it could be");
            return;
        }
        size_t bytes = rp_frame_bytes(&header);
        if (conn->used < bytes) {
            return;
        }
        conn->delivered = bytes;
        deliver(conn, &header);
        conn->delivered = 0;
        conn->used -= bytes;
        memmove(conn->in, conn->in + bytes, conn->used);
    }
}

// Reads what fits behind what is there. Returns whether there may be more.
static bool read_frames(struct rp_conn *conn)
{
    if (conn->finishing) {
        conn->used = 0; // nobody asks for it any more
    }
    struct iovec part = { .iov_base = conn->in + conn->used,
        .iov_len = RP_WIRE_FRAME_MAX - conn->used };
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(RP_WIRE_FDS_MAX * sizeof(int))];
    } control;
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control),
    };
    ssize_t got = recvmsg(conn->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got <= 0) {
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
            return errno == EINTR;
        }
        lose(conn, got == 0 ? "its connection was closed" : strerrordesc_np(errno));
        return false;
    }
    conn->used += (size_t)got;
    if (!hold_fds(conn, &message)) {
        char limit[RP_LIMIT_TEXT_BYTES];
        char why[RP_LIMIT_TEXT_BYTES + 64];
        snprintf(why, sizeof(why), "descriptors could not be received%s",
                rp_descriptor_limit_text(EMFILE, limit));
        give_up(conn, why);
        return false;
    }
    deliver_all(conn);
    return conn->state != CONN_CLOSED;
}

// The end of a dial.
static void connected(struct rp_conn *conn)
{
    int error = 0;
    socklen_t bytes = sizeof(error);
    if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) {
        error = errno;
    }
    if (error != 0) {
        lose(conn, strerrordesc_np(error));
        return;
    }
    conn->state = CONN_GREETING;
    flush(conn);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct rp_conn *conn = rp_container_of(poll, struct rp_conn, poll);
    rp_loop_ran(conn->loop);
    if (status < 0) {
        conn->interest = 0; // libuv has stopped watching; what can still be read comes first
        events = UV_READABLE;
    }
    if (conn->state == CONN_CONNECTING) {
        connected(conn);
    } else if ((events & UV_WRITABLE) != 0) {
        flush(conn);
    }
    if (conn->state == CONN_CLOSED || (events & UV_READABLE) == 0) {
        return;
    }
    bool more = true;
    for (int i = 0; i < READS_A_TURN && more; i++) {
        more = conn->state == CONN_READY ? read_frames(conn) : read_handshake(conn);
    }
    if (status < 0 && !more && conn->state != CONN_CLOSED) {
        lose(conn, "its connection failed");
    } else if (conn->state != CONN_CLOSED) {
        watch(conn);
    }
}

bool rp_conn_is_ready(const struct rp_conn *conn)
{
    return conn->state == CONN_READY;
}

bool rp_conn_has_spoken(const struct rp_conn *conn)
{
    return conn->spoken;
}

void rp_conn_peer_text(const struct rp_conn *conn, char *text, size_t bytes)
{
    struct sockaddr_storage address = { 0 };
    socklen_t length = sizeof(address);
    char host[INET6_ADDRSTRLEN] = "?";
    snprintf(text, bytes, "an unknown address");
    if (conn->state == CONN_CLOSED ||
            getpeername(conn->fd, (struct sockaddr *)&address, &length) != 0) {
        return;
    }
    if (address.ss_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, &address, sizeof(v4));
        inet_ntop(AF_INET, &v4.sin_addr, host, sizeof(host));
        snprintf(text, bytes, "%s:%u", host, (unsigned)ntohs(v4.sin_port));
    } else if (address.ss_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, &address, sizeof(v6));
        inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof(host));
        snprintf(text, bytes, "[%s]:%u", host, (unsigned)ntohs(v6.sin6_port));
    } else {
        struct ucred peer;
        length = sizeof(peer);
        if (getsockopt(conn->fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0) {
            snprintf(text, bytes, "uid %u, pid %d", peer.uid, peer.pid);
        }
    }
}

bool rp_conn_local(const struct rp_conn *conn, struct rp_netif *out)
{
    struct sockaddr_storage address = { 0 };
    socklen_t length = sizeof(address);
    *out = (struct rp_netif){ 0 };
    if (conn->state == CONN_CLOSED ||
            getsockname(conn->fd, (struct sockaddr *)&address, &length) != 0) {
        return false;
    }
    if (address.ss_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, &address, sizeof(v4));
        memcpy(out->address, &v4.sin_addr, sizeof(v4.sin_addr));
    } else if (address.ss_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, &address, sizeof(v6));
        memcpy(out->address, &v6.sin6_addr, sizeof(v6.sin6_addr));
        out->scope_id = v6.sin6_scope_id;
        if (out->scope_id != 0 && if_indextoname(out->scope_id, out->name) == NULL) {
            out->name[0] = '\0';
        }
    }
    out->family = address.ss_family;
    return out->family == AF_INET || out->family == AF_INET6;
}

struct rp_list *rp_conn_link(struct rp_conn *conn)
{
    return &conn->link;
}

struct rp_conn *rp_conn_of_link(struct rp_list *link)
{
    return rp_container_of(link, struct rp_conn, link);
}

uint64_t rp_conn_born_ns(const struct rp_conn *conn)
{
    return conn->born_ns;
}
