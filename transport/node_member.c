// A member's side of the node exchange: it dials the leader, describes itself when it is asked to
// and adopts the others as they are described.

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/util.h"
#include "transport/node_internal.h"

#define REDIAL_MS 20

static void prove_if_done(struct rp_node *node)
{
    struct rp_node_member *member = &node->member;
    if (node->ended || !member->given || member->known < node->members - 1) {
        return;
    }
    uint8_t proof[RP_NODE_PROOF_BYTES];
    rp_node_proof(node, node->setup.rank, proof);
    rp_status st = rp_conn_send(member->conn, RP_NODE_PROOF, proof, sizeof(proof), NULL);
    if (st != RP_OK) {
        rp_node_fail_described(node, st);
        return;
    }
    rp_node_finish(node);
}

static void take_segment(struct rp_node *node, struct rp_frame *frame)
{
    uint8_t token[RP_SEGMENT_TOKEN_BYTES];
    rp_read_bytes(&frame->payload, token, sizeof(token));
    if (!rp_reader_finished(&frame->payload) || frame->fd_count != 1 ||
            node->result.segment != NULL) {
        rp_node_fail_protocol(node, node->setup.leader);
        return;
    }
    int fd = frame->fd[0];
    frame->fd[0] = -1;
    rp_status st = rp_segment_open(fd, token, node->members, &node->result.segment);
    if (st != RP_OK) {
        rp_node_fail_described(node, st);
    } else if (rp_segment_base(node->result.segment) != node->setup.base ||
               rp_segment_window_bytes(node->result.segment) != node->setup.window_bytes) {
        rp_node_fail_protocol(node, node->setup.leader);
    }
}

static void give(struct rp_node *node)
{
    struct rp_fd_set *fds;
    rp_status st = rp_node_own_fds(node, &fds);
    if (st != RP_OK) {
        rp_node_fail_described(node, st);
        return;
    }
    node->member.given = true;
    rp_node_send(node, node->member.conn, RP_NODE_OFFER, node->setup.rank, fds);
    rp_fd_set_unref(fds);
    prove_if_done(node);
}

static void take_member(struct rp_node *node, struct rp_frame *frame)
{
    uint32_t rank = rp_read_u32(&frame->payload);
    if (!rp_reader_finished(&frame->payload) || !rp_node_has(node, rank) ||
            node->result.process[rank] != NULL || frame->fd_count < RP_NODE_FDS_LEAST) {
        rp_node_fail_protocol(node, node->setup.leader);
        return;
    }
    rp_status st = rp_node_adopt(node, rank, frame);
    if (st != RP_OK) {
        rp_node_fail_described(node, st);
        return;
    }
    node->member.known++;
    if (rp_node_send(node, node->member.conn, RP_NODE_SEEN, rank, NULL)) {
        prove_if_done(node);
    }
}

static void on_frame(struct rp_conn *conn, void *owner, struct rp_frame *frame)
{
    struct rp_node *node = owner;
    (void)conn;
    if (frame->type == RP_NODE_SEGMENT) {
        take_segment(node, frame);
    } else if (frame->type == RP_NODE_GIVE && node->result.segment != NULL && !node->member.given) {
        give(node);
    } else if (frame->type == RP_NODE_MEMBER && node->result.segment != NULL) {
        take_member(node, frame);
    } else {
        rp_node_fail_protocol(node, node->setup.leader);
    }
}

static void on_ready(struct rp_conn *conn, void *owner)
{
    struct rp_node *node = owner;
    node->member.ready = true;
    if (rp_node_send(node, conn, RP_NODE_JOIN, node->setup.rank, NULL)) {
        node->setup.events->reached(node->setup.owner, true, "");
    }
}

static void on_redial(uv_timer_t *timer)
{
    struct rp_node *node = rp_container_of(timer, struct rp_node, timer);
    rp_loop_ran(node->setup.loop);
    rp_node_member_begin(node);
}

static void on_lost(struct rp_conn *conn, void *owner, bool by_peer, const char *why)
{
    struct rp_node *node = owner;
    (void)conn;
    node->member.conn = NULL;
    if (by_peer && !node->member.ready) {
        // The leader had too many at its door, and let us go.
        uv_timer_start(&node->timer, on_redial, REDIAL_MS, 0);
        return;
    }
    rp_node_lost(node, node->setup.leader, by_peer, why);
}

static const struct rp_conn_events member_events = {
    .ready = on_ready,
    .frame = on_frame,
    .lost = on_lost,
};

// Speaks with the leader at the other end of `fd`.
static void attach(struct rp_node *node, int fd)
{
    uid_t uid = 0;
    if (!rp_node_admits(fd, &uid)) {
        char sentence[160];
        close(fd);
        snprintf(sentence, sizeof(sentence),
                "rank %u runs as user %u and rank %u as user %u; ranks that share memory must be "
                "the same user's",
                node->setup.rank, geteuid(), node->setup.leader, uid);
        rp_node_fail(node, RP_ENOTSUP, sentence);
        return;
    }
    struct rp_conn_setup setup = {
        .loop = node->setup.loop,
        .fd = fd,
        .scope = RP_WIRE_NODE,
        .role = RP_WIRE_DIALER,
        .secret = node->setup.secret,
        .events = &member_events,
        .owner = node,
    };
    rp_status st = rp_conn_create(&setup, &node->member.conn);
    if (st != RP_OK) {
        rp_node_fail_described(node, st);
    }
}

void rp_node_member_begin(struct rp_node *node)
{
    struct sockaddr_un address;
    socklen_t bytes = rp_node_address(node->setup.roster[node->setup.leader].node_socket, &address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        char limit[RP_LIMIT_TEXT_BYTES];
        char sentence[256];
        int error = errno;
        snprintf(sentence, sizeof(sentence), "opening a socket to rank %u failed: %s%s",
                node->setup.leader, strerrordesc_np(error), rp_descriptor_limit_text(error, limit));
        rp_node_fail(node, RP_ENORES, sentence);
        return;
    }
    if (connect(fd, (struct sockaddr *)&address, bytes) == 0) {
        attach(node, fd);
        return;
    }
    int error = errno;
    close(fd);
    if (error == EAGAIN || error == EINTR) {
        uv_timer_start(&node->timer, on_redial, REDIAL_MS, 0); // its backlog is full
    } else {
        node->setup.events->reached(node->setup.owner, false, strerrordesc_np(error));
    }
}

void rp_node_member_stop(struct rp_node *node)
{
    rp_conn_close(node->member.conn);
    node->member.conn = NULL;
}
