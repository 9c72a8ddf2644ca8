#ifndef REPRISE_TRANSPORT_LISTENER_H
#define REPRISE_TRANSPORT_LISTENER_H

/*
 * A listening socket on a device's loop, open to the world. It hands its owner
 * only those who have proved that they know the secret; the others are few
 * (RP_LISTENER_STRANGERS_MAX), cheap, and gone after RP_LISTENER_PATIENCE_NS.
 * When one too many comes, the oldest of those that said nothing sensible goes,
 * so strangers cost a rank that wants in nothing but its turn.
 *
 * Threads: all of it under the baton of the loop's device.
 */

#include "base/status.h"
#include "transport/conn.h"
#include "transport/loop.h"

#define RP_LISTENER_STRANGERS_MAX 64
#define RP_LISTENER_PATIENCE_NS (5 * RP_NS_PER_S)

struct rp_listener;

struct rp_listener_setup {
    struct rp_loop *loop;
    int fd; /* listening, non-blocking; consumed, also on failure */
    enum rp_wire_scope scope;
    const uint8_t *secret; /* outlives the listener and its connections */
    /* Whether to speak with the other end of `fd` at all; NULL: with everyone. */
    bool (*admit)(int fd);
    /* A connection whose other side has proved itself; the owner adopts or closes it. */
    void (*accepted)(struct rp_listener *listener, void *owner, struct rp_conn *conn);
    void *owner;
};

/** rp_listener_create: RP_ENOMEM, RP_ESYS. */
RP_MUST_USE rp_status rp_listener_create(
        const struct rp_listener_setup *setup, struct rp_listener **out);

/** rp_listener_close: at once, with the strangers in it; frees itself later. NULL: nothing. */
void rp_listener_close(struct rp_listener *listener);

#endif
