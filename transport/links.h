#ifndef REPRISE_TRANSPORT_LINKS_H
#define REPRISE_TRANSPORT_LINKS_H

/*
 * The links of a rank: one TCP connection to each rank on another node. Of two
 * ranks the higher one dials. After the handshake with the root info's secret
 * (transport/wire.h), which gets strangers no further:
 *
 *     dialer                 listener
 *     hello{from, to}  ->                  both are ranks, and await each other
 *                      <-    welcome
 *
 * Then each end takes the bare descriptor; whatever goes over it from there on is
 * the channel's (transport/channel_tcp.h), and nothing does before every rank has
 * its communicator. A rank dials a few others at a time, so many ranks do not
 * crowd at one door.
 *
 * When a peer goes away here, the root tells why, a little later; only if it does
 * not is the lost connection reported.
 *
 * Threads: all of it under the baton of the loop's device.
 */

#include <stdint.h>

#include "base/env.h"
#include "base/status.h"
#include "transport/bootstrap_msg.h"
#include "transport/loop.h"

struct rp_links;

struct rp_links_events {
    /* Once: a connection to each stands; rp_links_take() may be called. */
    void (*linked)(void *owner);
    /* Instead: it failed, and has stopped. */
    void (*failed)(void *owner, rp_status status, const char *sentence);
};

struct rp_links_setup {
    struct rp_loop *loop;
    const struct rp_hccl_env *env;
    uint32_t rank;
    uint32_t size;
    const struct rp_roster_entry *roster; /* [size]; outlives the links */
    const struct rp_door *door;           /* [size]; outlives the links */
    const uint8_t *secret;                /* outlives the links */
    uint64_t deadline_ns;                 /* who cannot be reached by then is named */
    int listen_fd;                        /* this rank's door; consumed, also on failure */
    const struct rp_links_events *events;
    void *owner;
};

/** rp_links_create: begin. No event comes before the loop's next step. RP_ENOMEM, RP_ESYS. */
RP_MUST_USE rp_status rp_links_create(const struct rp_links_setup *setup, struct rp_links **out);

/** rp_links_take: after `linked`: the descriptors, [size], -1 for ranks of this node; guarded
 *  (base/fork.h), non-blocking. The taker owns them and the array (rp_links_release). */
int *rp_links_take(struct rp_links *links);

/** rp_links_release: close those that are left, and free the array. NULL: nothing. */
void rp_links_release(int *fd, uint32_t size);

/** rp_links_destroy: end it and close what was not taken; frees itself later. NULL: nothing. */
void rp_links_destroy(struct rp_links *links);

#endif
