#ifndef REPRISE_TRANSPORT_NODE_EXCHANGE_H
#define REPRISE_TRANSPORT_NODE_EXCHANGE_H

/*
 * The node exchange: the ranks of one node come to share memory.
 *
 * Every rank opens an abstract Unix socket under a random name before it knows
 * who leads, and tells the name in its hello. The node's lowest rank leads: the
 * others dial it, and who cannot is not on this node, whatever its host is
 * called; it is taken out of it (rp_node_regroup) before the rest go on. Ranks
 * are the communicator's throughout. After the handshake (peer credentials, then
 * the secret):
 *
 *     member                        leader
 *     join{rank}       ->
 *                      <-  segment{token} + memfd        when all are there
 *     then for each rank r, in turn:
 *                      <-  give                          to r
 *     offer + its descriptors  ->                        from r
 *                      <-  member{r} + its descriptors   to all but r
 *     seen{r, mapped}  ->                                from all but r
 *     and at the end:
 *     proof            ->
 *
 * One rank at a time, so that the leader holds the descriptors of one rank only
 * and few are ever under way: the usual limit of 1,024 serves 200 processes.
 * The proof is a MAC over the token as it stands in the mapped segment.
 *
 * When a peer goes away here, the root tells why, a little later; only if it
 * does not is the lost connection reported.
 *
 * Threads: all of it under the baton of the loop's device.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "transport/arena.h"
#include "transport/bootstrap_msg.h"
#include "transport/loop.h"
#include "transport/process.h"
#include "transport/segment.h"

/** rp_node_socket_open: a listening abstract socket under a random name. RP_ESYS, RP_ENORES. */
RP_MUST_USE rp_status rp_node_socket_open(int *fd, char name[RP_NODE_SOCKET_BYTES]);

struct rp_node;

struct rp_node_events {
    /* Once: whether the leader can be spoken to; `why` is a phrase when it cannot. */
    void (*reached)(void *owner, bool reached, const char *why);
    /* Once: this rank's part is done; rp_node_take() may be called. */
    void (*mapped)(void *owner);
    /* Instead: it failed, and has stopped. */
    void (*failed)(void *owner, rp_status status, const char *sentence);
};

struct rp_node_setup {
    struct rp_loop *loop;
    uint32_t rank;
    uint32_t leader;
    uint32_t size;                        /* of the communicator */
    const struct rp_roster_entry *roster; /* [size]; outlives the exchange */
    const uint8_t *secret;                /* outlives the exchange */
    struct rp_arena *arena;               /* of this rank */
    uint64_t window_bytes;
    uint64_t base;
    int listen_fd; /* leader only, else -1; consumed, also on failure; -1 too if it is alone */
    const struct rp_node_events *events;
    void *owner;
};

/** rp_node_create: begin. No event comes before the loop's next step. RP_ENOMEM, RP_ESYS. */
RP_MUST_USE rp_status rp_node_create(const struct rp_node_setup *setup, struct rp_node **out);

/** rp_node_regroup: ranks that had not reached the leader were taken out of the node, in the
 * roster.
 */
void rp_node_regroup(struct rp_node *node);

/** rp_node_destroy: end it and drop what was not taken; frees itself later. NULL: nothing. */
void rp_node_destroy(struct rp_node *node);

/* What the exchange yields; the taker owns references and array (rp_free). */
struct rp_node_result {
    struct rp_segment *segment;
    struct rp_process **process; /* [size]; NULL for ranks of other nodes */
    bool zero_copy;              /* this process maps the arena of every rank of the node */
};

/** rp_node_take: after `mapped`. */
struct rp_node_result rp_node_take(struct rp_node *node);

/** rp_node_result_release: for who does not want it after all. */
void rp_node_result_release(struct rp_node_result *result, uint32_t size);

#endif
