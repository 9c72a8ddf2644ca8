#ifndef REPRISE_TRANSPORT_CONN_H
#define REPRISE_TRANSPORT_CONN_H

/*
 * One connection of the bootstrap: a TCP or Unix stream socket on a device's
 * loop that shakes hands (transport/wire.h) and then carries sealed frames both
 * ways, on Unix sockets with descriptors.
 *
 * libuv only watches the descriptor. Its own stream writes have no MSG_NOSIGNAL
 * (a peer's death would kill a user's thread that happens to drive the loop)
 * and know no abstract names.
 *
 * Before the handshake is over a connection costs its struct and nothing else,
 * and no byte of what the other side says is looked at beyond the greeting and
 * the proof.
 *
 * Threads: all of it under the baton of the loop's device.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"
#include "transport/fd_set.h"
#include "transport/loop.h"
#include "transport/netif.h"
#include "transport/wire.h"

struct rp_conn;

/* A frame that has arrived. Valid during the callback; it takes a descriptor by leaving -1, the
 * rest is closed. */
struct rp_frame {
    uint16_t type;
    uint16_t fd_count;
    int fd[RP_WIRE_FDS_MAX];
    struct rp_reader payload;
};

/* A callback may close any connection, this one included. */
struct rp_conn_events {
    /* The other side has proved itself; frames may be sent. */
    void (*ready)(struct rp_conn *conn, void *owner);
    void (*frame)(struct rp_conn *conn, void *owner, struct rp_frame *frame);
    /* The connection is over; `why` is a phrase ("its connection was closed", "Connection
     * refused"), `by_peer` false when it was given up at this end. It is closed already: forget
     * it. Never called after rp_conn_close(). */
    void (*lost)(struct rp_conn *conn, void *owner, bool by_peer, const char *why);
};

struct rp_conn_setup {
    struct rp_loop *loop;
    int fd; /* connected or connecting, non-blocking; consumed, also on failure */
    enum rp_wire_scope scope;
    enum rp_wire_role role; /* ours */
    const uint8_t *secret;  /* outlives the connection */
    const struct rp_conn_events *events;
    void *owner;
};

/** rp_conn_create: RP_ENOMEM, RP_ESYS. Frees itself some turns of the loop after rp_conn_close(),
 *  or after `lost`. */
RP_MUST_USE rp_status rp_conn_create(const struct rp_conn_setup *setup, struct rp_conn **out);

/** rp_conn_close: at once; what was not sent yet is dropped, no event comes any more. NULL:
 * nothing. */
void rp_conn_close(struct rp_conn *conn);

/**
 * rp_conn_detach: take the descriptor, guarded (base/fork.h) and non-blocking, and end the
 * connection as rp_conn_close() does. -1, and nothing is changed, unless it is ready and nothing is
 * buffered either way, but for the frame that the owner is being handed.
 */
int rp_conn_detach(struct rp_conn *conn);

/** rp_conn_adopt: from now on events go to `owner`. */
void rp_conn_adopt(struct rp_conn *conn, const struct rp_conn_events *events, void *owner);

/**
 * rp_conn_send: queue a frame with `bytes` (at most RP_WIRE_PAYLOAD_MAX) of payload and, on Unix
 * sockets, the descriptors of `fds` (NULL: none), which it references. Only when ready. A socket
 * error shows later, as `lost`; on a connection that is over (or NULL) nothing happens. RP_ENOMEM:
 * nothing was queued.
 */
RP_MUST_USE rp_status rp_conn_send(struct rp_conn *conn, uint16_t type, const void *payload,
        size_t bytes, struct rp_fd_set *fds);

/** rp_conn_reserve: put memory aside, so that one rp_conn_send() of at most `bytes` will not fail.
 */
RP_MUST_USE rp_status rp_conn_reserve(struct rp_conn *conn, size_t bytes);

/** rp_conn_finish: the last frame was queued: once it is out, close our direction and drop what
 *  still comes in, so that no unread byte turns into a reset that overtakes the frame. `lost`
 *  tells when the other side has closed too. */
void rp_conn_finish(struct rp_conn *conn);

bool rp_conn_is_ready(const struct rp_conn *conn);

/** rp_conn_has_spoken: a valid greeting has come. */
bool rp_conn_has_spoken(const struct rp_conn *conn);

/** rp_conn_peer_text: "10.0.0.2:4711", "uid 1000, pid 17": who it is, for the log. */
void rp_conn_peer_text(const struct rp_conn *conn, char *text, size_t bytes);

/** rp_conn_local: the address of this end; false when it is none of TCP's. */
bool rp_conn_local(const struct rp_conn *conn, struct rp_netif *out);

/** rp_conn_link: a link for whoever holds the connection in a list; see rp_conn_of_link. */
struct rp_list *rp_conn_link(struct rp_conn *conn);
struct rp_conn *rp_conn_of_link(struct rp_list *link);
uint64_t rp_conn_born_ns(const struct rp_conn *conn);

#endif
