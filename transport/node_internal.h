#ifndef REPRISE_TRANSPORT_NODE_INTERNAL_H
#define REPRISE_TRANSPORT_NODE_INTERNAL_H

/*
 * The node exchange as its three files share it: node_exchange.c has what both
 * sides need, node_leader.c and node_member.c have one side each.
 */

#include "transport/conn.h"
#include "transport/listener.h"
#include "transport/node_exchange.h"

#define RP_NODE_PROOF_BYTES 32

enum rp_node_message {
    RP_NODE_JOIN = 1, /* u32 rank */
    RP_NODE_SEGMENT,  /* token; memfd */
    RP_NODE_GIVE,     /* u32 the receiver's rank */
    RP_NODE_OFFER,    /* u32 the sender's rank; its descriptors */
    RP_NODE_MEMBER,   /* u32 rank; its descriptors */
    RP_NODE_SEEN,     /* u32 rank */
    RP_NODE_PROOF,    /* MAC */
};

/* A rank's descriptors, in this order; the last one may be missing. */
enum rp_node_fd {
    RP_NODE_FD_PAGE,
    RP_NODE_FD_EVENT,
    RP_NODE_FD_ARENA,
    RP_NODE_FD_PID,
    RP_NODE_FDS_LEAST = RP_NODE_FD_PID,
};

/* What the leader keeps of a member. */
struct rp_node_seat {
    struct rp_node *node;
    struct rp_conn *conn;
    bool seen; /* it has seen the rank that is described now */
    bool proved;
};

struct rp_node_leader {
    struct rp_listener *listener;
    struct rp_list lobby;      /* struct rp_conn that has not said which rank it is */
    struct rp_node_seat *seat; /* [size]; the own one and those of other nodes stay empty */
    uint32_t joined;
    uint32_t step; /* the rank that is described now; size: all were */
    uint32_t seen; /* how many ranks have seen it */
    uint32_t proofs;
};

struct rp_node_member {
    struct rp_conn *conn;
    bool ready;     /* the handshake is over */
    bool given;     /* it has described itself */
    uint32_t known; /* other ranks that it has seen */
};

struct rp_node {
    struct rp_node_setup setup;
    uint32_t members; /* ranks of the node, this one included */
    uv_timer_t timer; /* the start, a member's next dial, the grace */
    bool ended;       /* failed or destroyed: no more events */
    bool finished;    /* `mapped` was told */
    char lost[256];   /* why a connection was lost; "" while none was */
    struct rp_node_result result;
    struct rp_node_leader leader;
    struct rp_node_member member;
};

/** rp_node_has: whether `rank`, which may be any number, is of this node. */
static inline bool rp_node_has(const struct rp_node *node, uint32_t rank)
{
    const struct rp_roster_entry *roster = node->setup.roster;
    return rank < node->setup.size &&
           roster[rank].member.node == roster[node->setup.rank].member.node;
}

/* One side's entry points: begin, on the loop; and close every connection. */
void rp_node_leader_begin(struct rp_node *node);
void rp_node_leader_regroup(struct rp_node *node);
void rp_node_leader_stop(struct rp_node *node);
void rp_node_member_begin(struct rp_node *node);
void rp_node_member_stop(struct rp_node *node);

/** rp_node_leader_listen: at creation. RP_ENOMEM, RP_ESYS. */
RP_MUST_USE rp_status rp_node_leader_listen(struct rp_node *node, int fd);

/** rp_node_admits: whether memory may be shared with the other end of `fd`: the same user, or
 *  either side is root. `uid` (may be NULL) is the other end's. */
bool rp_node_admits(int fd, uid_t *uid);

/* Ends of an exchange. All but the first stop it and tell `failed`; nothing happens twice. */
void rp_node_finish(struct rp_node *node);
void rp_node_fail(struct rp_node *node, rp_status status, const char *sentence);
void rp_node_fail_described(struct rp_node *node, rp_status status); /* just described */
void rp_node_fail_protocol(struct rp_node *node, uint32_t rank);     /* `rank` spoke nonsense */
/** rp_node_lost: the connection to `rank` is gone. Our own doing fails at once; of a peer's end the
 *  root hears first, so it gets some time to tell why. */
void rp_node_lost(struct rp_node *node, uint32_t rank, bool by_peer, const char *why);

/** rp_node_send: a message with a rank; false when the exchange has failed over it. */
bool rp_node_send(struct rp_node *node, struct rp_conn *conn, enum rp_node_message type,
        uint32_t rank, struct rp_fd_set *fds);

/** rp_node_own_fds: duplicates of this rank's descriptors. */
RP_MUST_USE rp_status rp_node_own_fds(struct rp_node *node, struct rp_fd_set **out);

/** rp_node_adopt: take over the descriptors of rank `rank` out of `frame`, which has at least
 *  RP_NODE_FDS_LEAST. An arena that cannot be mapped only ends zero copy. */
RP_MUST_USE rp_status rp_node_adopt(struct rp_node *node, uint32_t rank, struct rp_frame *frame);

/** rp_node_proof: what shows that `rank` reads the token in the segment. */
void rp_node_proof(const struct rp_node *node, uint32_t rank, uint8_t out[RP_NODE_PROOF_BYTES]);

/** rp_node_address: `name` as an abstract address; returns its length. */
struct sockaddr_un;
uint32_t rp_node_address(const char *name, struct sockaddr_un *out);

#endif
