#ifndef REPRISE_TRANSPORT_JOIN_INTERNAL_H
#define REPRISE_TRANSPORT_JOIN_INTERNAL_H

/*
 * A rank's side of the bootstrap as its two files share it: bootstrap_join.c has
 * its life, the dial and its outcome, join_steps.c what follows the hello.
 */

#include <stdatomic.h>

#include "transport/bootstrap.h"
#include "transport/bootstrap_msg.h"
#include "transport/conn.h"
#include "transport/dialer.h"
#include "transport/links.h"
#include "transport/node_exchange.h"
#include "transport/rendezvous.h"

enum rp_join_state {
    JOIN_DIAL,
    JOIN_GATHER,   /* said hello; the members come */
    JOIN_EXCHANGE, /* with the node */
    JOIN_MAPPED,   /* told the root so */
    JOIN_LISTEN,   /* told the root where; the others' doors come */
    JOIN_LINK,     /* connects to the ranks of other nodes */
    JOIN_LINKED,   /* told the root so */
    JOIN_READY,    /* the communicator stands; told the root so */
    JOIN_FAILING,  /* told the root why; waiting for it to hang up */
    JOIN_ENDED,
};

enum rp_join_outcome {
    OUTCOME_NONE,
    OUTCOME_DONE,
    OUTCOME_FAILED,
};

struct rp_join {
    struct rp_loop_object object;
    struct rp_loop *loop; /* NULL once it is gone */
    struct rp_rendezvous meet;
    struct rp_terms terms;
    uint8_t secret[RP_WIRE_SECRET_BYTES]; /* the communicator's, by the terms */
    struct rp_comm_settings settings;
    char server[RP_SERVER_ID_BYTES];
    char ranks[RP_SETTING_VALUE_BYTES];
    bool world;
    uint32_t rank;
    uint32_t size;
    int32_t device_id;
    struct rp_arena *arena;
    enum rp_join_state state;
    uint64_t deadline_ns;
    uv_timer_t timer;
    bool timer_closed;
    bool freed; /* by the caller; the memory goes with the timer */
    struct rp_dialer *dialer;
    struct rp_conn *conn;
    int node_fd; /* our node socket, until the node exchange takes or closes it */
    char node_socket[RP_NODE_SOCKET_BYTES];
    struct rp_roster_entry *roster; /* [size] */
    uint32_t known;                 /* entries filled in */
    char later[256];                /* what a root said that we do not belong to */
    bool alone;                     /* does not reach the leader that it was given */
    struct rp_node *node;
    struct rp_node_result memory;
    /* Where there are several nodes. */
    int link_fd;          /* listens for ranks of other nodes, until `links` takes it */
    struct rp_door *door; /* [size] */
    uint32_t doors;       /* entries filled in */
    struct rp_links *links;
    int *link;            /* [size]; NULL: none */
    struct rp_comm *comm; /* until the caller takes it */
    rp_status status;
    char sentence[RP_SENTENCE_BYTES]; /* "" while there is no failure */
    _Atomic int outcome;              /* enum rp_join_outcome */
};

/* Events of the connection to the root; the owner is the join. */
extern const struct rp_conn_events rp_join_root_events;

/** rp_join_conclude: the outcome stands; lets go of everything else. */
void rp_join_conclude(struct rp_join *join, enum rp_join_outcome outcome);

/* Failures. The first one counts. */
/** rp_join_fail: of our own: the root tells the others, and hangs up. */
void rp_join_fail(struct rp_join *join, rp_status status, const char *sentence);
void rp_join_fail_described(struct rp_join *join, rp_status status); /* just described */
/** rp_join_fail_quietly: the root told it, or nobody is left to be told. */
void rp_join_fail_quietly(struct rp_join *join, rp_status status, const char *sentence);

/** rp_join_send: a message to the root; false when the join has failed over it. */
bool rp_join_send(
        struct rp_join *join, enum rp_bootstrap_message type, const void *payload, size_t bytes);

/** rp_join_dial: the root, after `delay_ms`. */
RP_MUST_USE rp_status rp_join_dial(struct rp_join *join, uint64_t delay_ms);

/** rp_join_close_fd: close a descriptor that is guarded (base/fork.h), if there is one. */
void rp_join_close_fd(int *fd);

#endif
