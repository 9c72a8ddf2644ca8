// The leader's side of the node exchange: it seats the members, gives out the segment and describes
// one rank after the other to all of them.

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/util.h"
#include "transport/node_internal.h"

static uint32_t rank_of(const struct rp_node_seat *seat)
{
    return (uint32_t)(seat - seat->node->leader.seat);
}

static void describe_next(struct rp_node *node);

// The first rank of the node from `rank` on; the communicator's size when there is none.
static uint32_t member_from(const struct rp_node *node, uint32_t rank)
{
    while (rank < node->setup.size && !rp_node_has(node, rank)) {
        rank++;
    }
    return rank;
}

// One more rank has seen what is described; after the last it is the next one's turn.
static void count_seen(struct rp_node *node)
{
    struct rp_node_leader *leader = &node->leader;
    if (++leader->seen == node->members) {
        leader->step = member_from(node, leader->step + 1);
        describe_next(node);
    }
}

// Sends the descriptors of the rank of this step to all but itself and the leader, who have them.
static void describe(struct rp_node *node, struct rp_fd_set *fds)
{
    struct rp_node_leader *leader = &node->leader;
    leader->seen = 0;
    for (uint32_t i = member_from(node, 0); i < node->setup.size; i = member_from(node, i + 1)) {
        struct rp_node_seat *seat = &leader->seat[i];
        seat->seen = i == node->setup.rank || i == leader->step;
        if (!seat->seen && !rp_node_send(node, seat->conn, RP_NODE_MEMBER, leader->step, fds)) {
            return;
        }
    }
    if (leader->step != node->setup.rank) {
        leader->seen++;
    }
    count_seen(node);
}

static void describe_self(struct rp_node *node)
{
    struct rp_fd_set *fds;
    rp_status st = rp_node_own_fds(node, &fds);
    if (st != RP_OK) {
        rp_node_fail_described(node, st);
        return;
    }
    describe(node, fds);
    rp_fd_set_unref(fds);
}

static void finish_if_done(struct rp_node *node)
{
    if (node->leader.step == node->setup.size && node->leader.proofs == node->members - 1) {
        rp_node_finish(node);
    }
}

static void describe_next(struct rp_node *node)
{
    uint32_t step = node->leader.step;
    if (step == node->setup.size) {
        finish_if_done(node);
    } else if (step == node->setup.rank) {
        describe_self(node);
    } else {
        rp_node_send(node, node->leader.seat[step].conn, RP_NODE_GIVE, step, NULL);
    }
}

static rp_status give_segment(struct rp_node *node)
{
    struct rp_fd_set *fds;
    int fd = rp_segment_fd(node->result.segment);
    rp_status st = rp_fd_set_create(&fd, 1, &fds);
    if (st != RP_OK) {
        return st;
    }
    for (uint32_t i = 0; st == RP_OK && i < node->setup.size; i++) {
        if (i != node->setup.rank && rp_node_has(node, i)) {
            st = rp_conn_send(node->leader.seat[i].conn, RP_NODE_SEGMENT,
                    rp_segment_token(node->result.segment), RP_SEGMENT_TOKEN_BYTES, fds);
        }
    }
    rp_fd_set_unref(fds);
    return st;
}

static void all_joined(struct rp_node *node)
{
    rp_listener_close(node->leader.listener);
    node->leader.listener = NULL;
    rp_status st = rp_segment_create(
            node->members, node->setup.window_bytes, node->setup.base, &node->result.segment);
    if (st == RP_OK) {
        st = give_segment(node);
    }
    if (st != RP_OK) {
        rp_node_fail_described(node, st);
        return;
    }
    node->leader.step = member_from(node, 0);
    describe_next(node);
}

void rp_node_leader_regroup(struct rp_node *node)
{
    if (node->leader.joined == node->members - 1) {
        all_joined(node);
    }
}

// A member describes itself: keep a copy of its descriptors for the others, then adopt them.
static void offered(struct rp_node *node, uint32_t rank, struct rp_frame *frame)
{
    if (rank != node->leader.step || node->result.process[rank] != NULL ||
            frame->fd_count < RP_NODE_FDS_LEAST) {
        rp_node_fail_protocol(node, rank);
        return;
    }
    struct rp_fd_set *fds;
    rp_status st = rp_fd_set_create(frame->fd, frame->fd_count, &fds);
    if (st != RP_OK) {
        rp_node_fail_described(node, st);
        return;
    }
    st = rp_node_adopt(node, rank, frame);
    if (st == RP_OK) {
        describe(node, fds);
    } else {
        rp_node_fail_described(node, st);
    }
    rp_fd_set_unref(fds);
}

static void seen(struct rp_node *node, struct rp_node_seat *seat, struct rp_frame *frame)
{
    uint32_t rank = rp_read_u32(&frame->payload);
    if (!rp_reader_finished(&frame->payload) || rank != node->leader.step || seat->seen) {
        rp_node_fail_protocol(node, rank_of(seat));
        return;
    }
    seat->seen = true;
    count_seen(node);
}

static void proved(struct rp_node *node, struct rp_node_seat *seat, struct rp_frame *frame)
{
    uint8_t proof[RP_NODE_PROOF_BYTES];
    uint8_t expected[RP_NODE_PROOF_BYTES];
    uint32_t rank = rank_of(seat);
    rp_read_bytes(&frame->payload, proof, sizeof(proof));
    rp_node_proof(node, rank, expected);
    if (!rp_reader_finished(&frame->payload) || seat->proved) {
        rp_node_fail_protocol(node, rank);
        return;
    }
    if (sodium_memcmp(proof, expected, sizeof(proof)) != 0) {
        char sentence[128];
        snprintf(sentence, sizeof(sentence), "rank %u does not read the memory of rank %u", rank,
                node->setup.rank);
        rp_node_fail(node, RP_ENOTSUP, sentence);
        return;
    }
    seat->proved = true;
    node->leader.proofs++;
    finish_if_done(node);
}

static void on_seat_frame(struct rp_conn *conn, void *owner, struct rp_frame *frame)
{
    struct rp_node_seat *seat = owner;
    struct rp_node *node = seat->node;
    (void)conn;
    bool described = node->leader.step == node->setup.size;
    if (node->result.segment == NULL) {
        rp_node_fail_protocol(node, rank_of(seat)); // nothing was asked yet
    } else if (frame->type == RP_NODE_OFFER && !described) {
        offered(node, rank_of(seat), frame);
    } else if (frame->type == RP_NODE_SEEN && !described) {
        seen(node, seat, frame);
    } else if (frame->type == RP_NODE_PROOF) {
        proved(node, seat, frame);
    } else {
        rp_node_fail_protocol(node, rank_of(seat));
    }
}

static void on_seat_lost(struct rp_conn *conn, void *owner, bool by_peer, const char *why)
{
    struct rp_node_seat *seat = owner;
    (void)conn;
    seat->conn = NULL;
    rp_node_lost(seat->node, rank_of(seat), by_peer, why);
}

static const struct rp_conn_events seat_events = {
    .frame = on_seat_frame,
    .lost = on_seat_lost,
};

// The first frame of somebody who has proved itself: it takes its seat.
static void on_lobby_frame(struct rp_conn *conn, void *owner, struct rp_frame *frame)
{
    struct rp_node *node = owner;
    uint32_t rank = rp_read_u32(&frame->payload);
    if (frame->type != RP_NODE_JOIN || !rp_reader_finished(&frame->payload) ||
            !rp_node_has(node, rank) || rank == node->setup.rank ||
            node->leader.seat[rank].conn != NULL) {
        rp_log_warn("a connection to the node socket did not name a rank that is awaited");
        rp_conn_close(conn);
        return;
    }
    rp_list_remove(rp_conn_link(conn));
    node->leader.seat[rank] = (struct rp_node_seat){ .node = node, .conn = conn };
    rp_conn_adopt(conn, &seat_events, &node->leader.seat[rank]);
    if (++node->leader.joined == node->members - 1) {
        all_joined(node);
    }
}

static void on_lobby_lost(struct rp_conn *conn, void *owner, bool by_peer, const char *why)
{
    (void)conn;
    (void)owner;
    (void)by_peer;
    rp_log_info("a connection to the node socket was lost: %s", why);
}

static const struct rp_conn_events lobby_events = {
    .frame = on_lobby_frame,
    .lost = on_lobby_lost,
};

static void on_accepted(struct rp_listener *listener, void *owner, struct rp_conn *conn)
{
    struct rp_node *node = owner;
    (void)listener;
    rp_list_push_back(&node->leader.lobby, rp_conn_link(conn));
    rp_conn_adopt(conn, &lobby_events, node);
}

static bool admit(int fd)
{
    uid_t uid = 0;
    bool admitted = rp_node_admits(fd, &uid);
    if (!admitted) {
        rp_log_warn("a process of user %u was turned away at the node socket", uid);
    }
    return admitted;
}

rp_status rp_node_leader_listen(struct rp_node *node, int fd)
{
    struct rp_listener_setup setup = {
        .loop = node->setup.loop,
        .fd = fd,
        .scope = RP_WIRE_NODE,
        .secret = node->setup.secret,
        .admit = admit,
        .accepted = on_accepted,
        .owner = node,
    };
    return rp_listener_create(&setup, &node->leader.listener);
}

void rp_node_leader_begin(struct rp_node *node)
{
    node->setup.events->reached(node->setup.owner, true, "");
    if (!node->ended && node->members == 1) {
        all_joined(node);
    }
}

void rp_node_leader_stop(struct rp_node *node)
{
    rp_listener_close(node->leader.listener);
    node->leader.listener = NULL;
    rp_list_each(link, &node->leader.lobby)
    {
        rp_conn_close(rp_conn_of_link(link));
    }
    for (uint32_t i = 0; node->leader.seat != NULL && i < node->setup.size; i++) {
        rp_conn_close(node->leader.seat[i].conn);
        node->leader.seat[i].conn = NULL;
    }
}
