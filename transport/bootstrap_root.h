#ifndef REPRISE_TRANSPORT_BOOTSTRAP_ROOT_H
#define REPRISE_TRANSPORT_BOOTSTRAP_ROOT_H

/*
 * The root of a bootstrap as its files share it: bootstrap_listen.c opens it and
 * says where it listens and whom it sends away; bootstrap_root.c has its life and
 * its callers; root_gather.c hears their hellos, root_steps.c leads those who are
 * all there, root_verdict.c tells them how it ended.
 */

#include "transport/bootstrap.h"
#include "transport/bootstrap_msg.h"
#include "transport/listener.h"
#include "transport/rendezvous.h"

enum rp_root_phase {
    ROOT_GATHER,    /* until every rank has said hello */
    ROOT_DISAGREED, /* has failed; until every rank has said hello, or the rest takes too long */
    ROOT_EXCHANGE,  /* until every rank has mapped the others of its node */
    ROOT_LISTEN,    /* until every rank has a door for those of other nodes */
    ROOT_LINK,      /* until every rank is connected to those */
    ROOT_PREPARE,   /* until every rank has its communicator */
    ROOT_ENDED,     /* told everyone; waiting for them to hang up */
};

/* How far a rank has come. */
enum rp_root_progress {
    RANK_CONNECTED,
    RANK_HELLO,
    RANK_REACHED,
    RANK_MAPPED,
    RANK_LISTENING,
    RANK_LINKED,
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
    uint8_t machine[RP_MACHINE_BYTES];
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
    /* From the last hello on. */
    uint32_t nodes;
    struct rp_door *door; /* [size]; NULL while one node is all there is */
    /* From a failure on. */
    uint32_t told; /* ranks that know of it, or are dead */
    bool *heard;   /* [size] which ones */
    rp_status status;
    char sentence[RP_SENTENCE_BYTES];
};

/** rp_root_set_timer: the end of what it waits for. rp_root_left_ms: until the deadline. */
void rp_root_set_timer(struct rp_root *root, uint64_t ms);
uint64_t rp_root_left_ms(const struct rp_root *root);

void rp_root_caller_free(struct rp_root_caller *caller);

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

/* Its hearing (root_gather.c, root_steps.c). */
void rp_root_hello(struct rp_root *root, struct rp_root_caller *caller, struct rp_frame *frame);
/** rp_root_all_arrived: the ranks are there, and agree. */
void rp_root_all_arrived(struct rp_root *root);
/** rp_root_step: `caller` says that it is one step further. False: it is not its turn to. */
bool rp_root_step(struct rp_root *root, struct rp_root_caller *caller, struct rp_frame *frame);
/** rp_root_regroup: whoever does not reach its leader becomes a node of its own. */
void rp_root_regroup(struct rp_root *root);

/* Its verdict (root_verdict.c). */
/** rp_root_fail: fails the attempt for everyone. Later failures are consequences of the first. */
void rp_root_fail(struct rp_root *root, rp_status status, const char *format, ...) RP_PRINTF(3, 4);
void rp_root_fail_no_memory(struct rp_root *root);
/** rp_root_disagree: those who have come disagree. The rest is waited for a little. */
void rp_root_disagree(struct rp_root *root, rp_status status, const char *format, ...)
        RP_PRINTF(3, 4);
/** rp_root_fail_timeout: the deadline has passed. */
void rp_root_fail_timeout(struct rp_root *root);
/** rp_root_commit: everyone's communicator stands. */
void rp_root_commit(struct rp_root *root);
void rp_root_tell_everyone(struct rp_root *root);
/** rp_root_count_told: `rank` knows of the failure, or is dead. */
void rp_root_count_told(struct rp_root *root, uint32_t rank);
/** rp_root_tell_late: to a rank that comes after the end: why. */
void rp_root_tell_late(struct rp_root *root, struct rp_root_caller *caller);
void rp_root_broadcast(
        struct rp_root *root, enum rp_bootstrap_message type, const void *payload, size_t bytes);

#endif
