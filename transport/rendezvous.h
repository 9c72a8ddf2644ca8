#ifndef REPRISE_TRANSPORT_RENDEZVOUS_H
#define REPRISE_TRANSPORT_RENDEZVOUS_H

/*
 * A rendezvous: where the ranks of a communicator in the making find its root,
 * and the secret that they show each other there.
 *
 * Root infos say it by value. Rank tables and sub-communicators have no such
 * thing to pass round: what every rank knows beforehand (a file's content, a
 * parent's secret) is hashed to a secret and to the name of an abstract Unix
 * socket. Such a name is used again and again, by one attempt after another, so
 * a root there tells who comes from another attempt to come again later
 * (RP_MSG_LATER), where the root of a root info would see a mistake.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "transport/bootstrap_msg.h"
#include "transport/netif.h"
#include "transport/root_info.h"
#include "transport/wire.h"

#define RP_ENDPOINTS_MAX 3
#define RP_ENDPOINT_TEXT_BYTES (RP_NETIF_TEXT_BYTES + 32)

/* One place to meet: an abstract Unix socket, or an address and a port. */
struct rp_endpoint {
    char socket[RP_NODE_SOCKET_BYTES]; /* its name; "": TCP */
    struct rp_netif address;
    uint16_t port;
};

struct rp_rendezvous {
    bool standing; /* known beforehand and used again; false: a root info's, for once */
    uint32_t root; /* standing only: the rank that listens */
    uint8_t secret[RP_WIRE_SECRET_BYTES];
    uint32_t count;
    struct rp_endpoint endpoint[RP_ENDPOINTS_MAX]; /* the root listens on all; others dial them in
                                                      turn */
    char identifier[RP_ROOT_IDENTIFIER_BYTES];     /* for reports; a root info's is also the
                                                      communicator's default name */
    const char *hint;                /* what all ranks must have alike to meet; static, or NULL */
    char parent[RP_COMM_NAME_BYTES]; /* of a sub-communicator; "" */
    uint32_t *parent_rank;           /* the members' ranks in it; NULL without a parent */
};

/** rp_rendezvous_copy: `out` gets its own `parent_rank`, of `size`. RP_ENOMEM. */
RP_MUST_USE rp_status rp_rendezvous_copy(
        const struct rp_rendezvous *meet, uint32_t size, struct rp_rendezvous *out);

/** rp_rendezvous_clear: wipe the secret and free what the copy has. */
void rp_rendezvous_clear(struct rp_rendezvous *meet);

/** rp_rendezvous_from_info: where a root info leads. */
void rp_rendezvous_from_info(const struct rp_root_info *info, struct rp_rendezvous *out);

/** rp_rendezvous_add_socket: the abstract socket whose name follows from the secret. */
void rp_rendezvous_add_socket(struct rp_rendezvous *meet);

/** rp_rendezvous_add_address: a TCP endpoint. */
void rp_rendezvous_add_address(
        struct rp_rendezvous *meet, const struct rp_netif *address, uint16_t port);

#define RP_RENDEZVOUS_TEXT_BYTES (RP_ENDPOINTS_MAX * (RP_ENDPOINT_TEXT_BYTES + 4))

/** rp_rendezvous_text: "10.0.0.1:4711 or 10.0.0.2:4711", "the local socket @reprise-...". */
void rp_rendezvous_text(const struct rp_rendezvous *meet, char *text, size_t bytes);

/** rp_rendezvous_ranks: in a list of ranks' own numbering, the parent's: ` (ranks 3, 5 of "tp")`;
 * "" without a parent. */
void rp_rendezvous_ranks(const struct rp_rendezvous *meet,
        bool (*in)(const void *arg, uint32_t rank), const void *arg, uint32_t size, char *text,
        size_t bytes);

/** rp_endpoint_listen: a listening non-blocking socket, -1 and errno. */
int rp_endpoint_listen(const struct rp_endpoint *endpoint);

/** rp_endpoint_connect: a non-blocking socket on its way there, -1 and errno. `source` may be NULL,
 * and counts for TCP of its family. */
int rp_endpoint_connect(const struct rp_endpoint *endpoint, const struct rp_netif *source);

/** rp_endpoint_text: "10.0.0.1:4711", "[fd00::1]:4711", "the local socket @reprise-...". */
void rp_endpoint_text(const struct rp_endpoint *endpoint, char text[RP_ENDPOINT_TEXT_BYTES]);

/* What a root adds to a secret so that every communicator has its own: told in the clear, worth
 * nothing without the secret. */
struct rp_terms {
    uint64_t base; /* sequence number before the communicator's first op */
    uint8_t nonce[RP_WIRE_NONCE_BYTES];
};

/** rp_terms_write, rp_terms_read: RP_EPARAM, without a sentence, when malformed. */
void rp_terms_write(const struct rp_terms *terms, struct rp_writer *writer);
RP_MUST_USE rp_status rp_terms_read(struct rp_reader *reader, struct rp_terms *out);

/** rp_terms_secret: the communicator's own secret. */
void rp_terms_secret(const struct rp_terms *terms, const uint8_t secret[RP_WIRE_SECRET_BYTES],
        uint8_t out[RP_WIRE_SECRET_BYTES]);

#endif
