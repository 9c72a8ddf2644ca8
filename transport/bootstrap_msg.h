#ifndef REPRISE_TRANSPORT_BOOTSTRAP_MSG_H
#define REPRISE_TRANSPORT_BOOTSTRAP_MSG_H

/*
 * What a rank and the root tell each other, in this order, and how it is
 * spelled. Pure functions over bytes; whatever comes from the wire is checked
 * here before anybody looks at it.
 *
 *     rank                          root
 *     hello            ->                    who I am, what I have set
 *                      <-           terms    base and nonce of the communicator
 *                      <-           members  all ranks, once all are there
 *     reached          ->                    my node's leader answers me, or not
 *                      <-           alone    these ranks are nodes of their own; if some are
 *     mapped           ->                    I hold my node's memory
 *                      <-           listen   and where several nodes are:
 *     listening        ->                    the others reach me there
 *                      <-           doors    where to reach each of them
 *     linked           ->                    I have a connection to each of them
 *                      <-           prepare  make your communicator
 *     ready            ->                    it stands
 *                      <-           commit   all stand: it is yours
 *
 * Either side says "abort" with a status and a sentence instead, at any time.
 * A root whose rendezvous is used again and again answers a hello that belongs to
 * another attempt with "later" and a sentence: dial again.
 * Since no rank is told to commit before all were ready, none succeeds where
 * another has failed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/env.h"
#include "base/status.h"
#include "transport/agreement.h"
#include "transport/comm.h"
#include "transport/machine.h"
#include "transport/netif.h"
#include "transport/wire.h"

#define RP_BOOTSTRAP_RANKS_MAX 4096
#define RP_NODE_ID_BYTES (RP_ENV_NAME_MAX + RP_SERVER_ID_BYTES)
#define RP_SERVER_ID_BYTES 65   /* of a rank table, with a zero */
#define RP_NODE_SOCKET_BYTES 48 /* abstract name of a rank's node socket, with a zero */
#define RP_SENTENCE_BYTES 1024
#define RP_ABORT_BYTES (4 + 2 + RP_SENTENCE_BYTES) /* the longest abort */

enum rp_bootstrap_message {
    RP_MSG_HELLO = 1,
    RP_MSG_MEMBERS,
    RP_MSG_REACHED,
    RP_MSG_ALONE,
    RP_MSG_MAPPED,
    RP_MSG_LISTEN,
    RP_MSG_LISTENING,
    RP_MSG_DOORS,
    RP_MSG_LINKED,
    RP_MSG_PREPARE,
    RP_MSG_READY,
    RP_MSG_COMMIT,
    RP_MSG_ABORT,
    RP_MSG_TERMS,
    RP_MSG_LATER,
};

struct rp_hello {
    uint32_t rank;
    uint32_t size;
    struct rp_member member;
    uint32_t timeout_s;             /* HCCL_CONNECT_TIMEOUT of this rank */
    uint32_t remaining_ms;          /* how much of it is left */
    char node_id[RP_NODE_ID_BYTES]; /* REPRISE_NODE_ID and the rank table's server_id; "" unset */
    uint8_t machine[RP_MACHINE_BYTES];
    char node_socket[RP_NODE_SOCKET_BYTES];
    struct rp_agreement agreement;
};

void rp_hello_write(const struct rp_hello *hello, struct rp_writer *writer);

/** rp_hello_read: RP_EPARAM, without a sentence, when it is malformed. */
RP_MUST_USE rp_status rp_hello_read(struct rp_reader *reader, struct rp_hello *out);

/* One rank in the table that the root sends. */
struct rp_roster_entry {
    struct rp_member member;
    char node_socket[RP_NODE_SOCKET_BYTES];
};

/* An upper bound of an entry's bytes in a message. */
#define RP_ROSTER_ENTRY_BYTES \
    (RP_PROCESS_ID_BYTES + 8 + 4 + 8 + 2 + 64 + 4 + 2 + RP_NODE_SOCKET_BYTES)

/** rp_roster_write: as many entries as fit, from `first` on; returns how many. */
uint32_t rp_roster_write(const struct rp_roster_entry *roster, uint32_t size, uint32_t first,
        struct rp_writer *writer);

/**
 * rp_roster_read: the entries of one message into `roster`, which has `size`; they must begin at
 * `*count`, which grows. RP_EPARAM, without a sentence.
 */
RP_MUST_USE rp_status rp_roster_read(
        struct rp_reader *reader, struct rp_roster_entry *roster, uint32_t size, uint32_t *count);

/** rp_abort_write, rp_abort_read: RP_EPARAM when malformed. A status that this library does not
 *  know becomes RP_EREMOTE; control characters in the sentence become blanks. */
void rp_abort_write(rp_status status, const char *sentence, struct rp_writer *writer);
RP_MUST_USE rp_status rp_abort_read(
        struct rp_reader *reader, rp_status *status, char sentence[RP_SENTENCE_BYTES]);

/** rp_later_write, rp_later_read: the sentence of a "later". RP_EPARAM when malformed. */
void rp_later_write(const char *sentence, struct rp_writer *writer);
RP_MUST_USE rp_status rp_later_read(struct rp_reader *reader, char sentence[RP_SENTENCE_BYTES]);

/** rp_flag_read: the one byte of reached, mapped, prepare; RP_EPARAM unless it is 0 or 1. */
RP_MUST_USE rp_status rp_flag_read(struct rp_reader *reader, bool *flag);

/* Where a rank listens for those of other nodes. Port 0: nowhere. */
struct rp_door {
    struct rp_netif address; /* name: only for the scope */
    uint16_t port;
};

/* An upper bound of a door's bytes in a message. */
#define RP_DOOR_BYTES (2 + 1 + 16 + 2 + IFNAMSIZ)

/** rp_door_write, rp_door_read: one of them. Reading looks a scope's name up on this machine, and
 *  leaves the scope 0 where it is unknown. RP_EPARAM, without a sentence. */
void rp_door_write(const struct rp_door *door, struct rp_writer *writer);
RP_MUST_USE rp_status rp_door_read(struct rp_reader *reader, struct rp_door *out);

/** rp_doors_write, rp_doors_read: as rp_roster_write and rp_roster_read. */
uint32_t rp_doors_write(
        const struct rp_door *door, uint32_t size, uint32_t first, struct rp_writer *writer);
RP_MUST_USE rp_status rp_doors_read(
        struct rp_reader *reader, struct rp_door *door, uint32_t size, uint32_t *count);

/* A set of ranks: rank r is bit r % 8 of byte r / 8. */
#define RP_RANK_SET_BYTES (RP_BOOTSTRAP_RANKS_MAX / 8)

/** rp_rank_set_read: the set of alone; RP_EPARAM, without a sentence, when its length is not that
 *  of `size` ranks. */
RP_MUST_USE rp_status rp_rank_set_read(
        struct rp_reader *reader, uint32_t size, uint8_t set[RP_RANK_SET_BYTES]);

static inline bool rp_rank_set_has(const uint8_t set[RP_RANK_SET_BYTES], uint32_t rank)
{
    return (set[rank / 8] >> (rank % 8) & 1) != 0;
}

/**
 * rp_rank_list_text: "rank 3", "ranks 0-2, 5" of the ranks below `size` for which `in` says true;
 * "..." ends a list that does not fit. Returns how many there are.
 */
uint32_t rp_rank_list_text(bool (*in)(const void *arg, uint32_t rank), const void *arg,
        uint32_t size, char *text, size_t bytes);

#endif
