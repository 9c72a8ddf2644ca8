#ifndef REPRISE_TRANSPORT_BOOTSTRAP_ROOT_H
#define REPRISE_TRANSPORT_BOOTSTRAP_ROOT_H

/*
 * The root of a bootstrap as its files share it: bootstrap_root.c goes through
 * the phases with the ranks; bootstrap_listen.c opens it and says where it
 * listens and whom it sends away.
 */

#include "transport/bootstrap.h"
#include "transport/bootstrap_msg.h"
#include "transport/listener.h"
#include "transport/rendezvous.h"

enum rp_root_phase {
    ROOT_GATHER,    /* until every rank has said hello */
    ROOT_DISAGREED, /* has failed; until every rank has said hello, or the rest takes too long */
    ROOT_EXCHANGE,  /* until every rank has mapped the others */
    ROOT_PREPARE,   /* until every rank has its communicator */
    ROOT_ENDED,     /* told everyone; waiting for them to hang up */
};

/* How far a rank has come. */
enum rp_root_progress {
    RANK_CONNECTED,
    RANK_HELLO,
    RANK_REACHED,
    RANK_MAPPED,
    RANK_READY,
};

/* A connection that has proved itself. */
struct rp_root_caller {
    struct rp_list link;
    struct rp_root *root;
    struct rp_conn *conn;
    enum rp_root_progress progress;
    bool reached; /* it can speak with its node's leader */
    bool seated;  /* it is root->rank[rank] */
    uint32_t rank;
    char node_id[RP_NODE_ID_BYTES];
};

struct rp_root {
    struct rp_loop_object object;
    struct rp_loop *loop;
    struct rp_rendezvous meet;
    struct rp_terms terms;
    int32_t device_id;
    bool open; /* it listens, or is about to */
    uint32_t listeners;
    struct rp_listener *listener[RP_ENDPOINTS_MAX]; /* of the first `listeners` endpoints */
    char unbound[160];                              /* why not of all; "" otherwise */
    uv_timer_t timer;
    uv_timer_t retry; /* to listen */
    int handles;      /* open or closing */
    enum rp_root_phase phase;
    struct rp_list callers; /* struct rp_root_caller */
    uint32_t timeout_s;     /* of the rank whose patience ends first */
    uint64_t deadline_ns;
    bool zero_copy;
    bool unreached; /* some rank cannot speak with its leader */
    /* From the first hello on. */
    uint32_t size; /* 0: none yet */
    uint32_t met;  /* hellos, of ranks that do not fit, too */
    uint32_t arrived;
    uint32_t first_rank;
    struct rp_root_caller **rank; /* [size] */
    struct rp_roster_entry *roster;
    struct rp_agreement agreement; /* the first one's */
    uint8_t digest[RP_AGREEMENT_DIGEST_BYTES];
    char doubled[320]; /* who else came as one of the ranks; "" nobody */
    /* From a failure on. */
    uint32_t told; /* ranks that know of it, or are dead */
    bool *heard;   /* [size] which ones */
    rp_status status;
    char sentence[RP_SENTENCE_BYTES];
};

/** rp_root_set_timer: the end of what it waits for. */
void rp_root_set_timer(struct rp_root *root, uint64_t ms);

/** rp_root_accepted: a connection has proved itself (rp_listener_setup.accepted). */
void rp_root_accepted(struct rp_listener *listener, void *owner, struct rp_conn *conn);

/** rp_root_on_loop_destroyed: the `close` of its loop object. */
void rp_root_on_loop_destroyed(struct rp_loop_object *object);

/** rp_root_free_if_idle: end it when nobody is left to talk to and nobody else is awaited. */
void rp_root_free_if_idle(struct rp_root *root);

/** rp_root_destroy: free the memory; nothing of it is on the loop. */
void rp_root_destroy(struct rp_root *root);

/** rp_root_close_listeners: nobody else gets in. */
void rp_root_close_listeners(struct rp_root *root);

/** rp_root_is_foreign: whether the hello belongs to another attempt than this root's; why, in
 *  `why`. */
bool rp_root_is_foreign(
        struct rp_root *root, const struct rp_hello *hello, char *why, size_t bytes);

#endif
