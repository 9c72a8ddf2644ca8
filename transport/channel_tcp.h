#ifndef REPRISE_TRANSPORT_CHANNEL_TCP_H
#define REPRISE_TRANSPORT_CHANNEL_TCP_H

/*
 * The channel between ranks of different nodes: one TCP connection a pair.
 *
 * It carries what ranks of one node find in shared memory: puts into the
 * receiver's windows, signals, point-to-point words, and this rank's line,
 * records and status, which the other end stores into its copy of this rank's
 * block (kernels/line.h).
 *
 * While somebody waits the data path reads and writes the descriptor itself.
 * When nobody does, the device's loop does it: it watches the descriptor, so
 * this end never stops reading, and a sleeper who polls the loop wakes.
 */

#include "transport/channel.h"
#include "transport/loop.h"

struct rp_comm;

/**
 * rp_channel_tcp_open: the channel of `comm` to rank `peer` of another node over `fd`: a connected
 * stream socket, authenticated, non-blocking, CLOEXEC, on which nothing is left unread and which is
 * taken over (on failure it stays the caller's). The peer does the same with its end.
 *
 * Sets lines.peer[peer].block to a copy of the peer's block that the channel keeps up to date, and
 * lines.publish. `comm->lines` must have been initialised, with this rank's own entry and
 * window_bytes filled in, and comm->channel been allocated; the caller enters *out there.
 *
 *   RP_ENOMEM  no memory
 *   RP_ESYS    the socket cannot be watched
 *
 * Threads: the holder of the device's baton; rp_channel_close() may come from any thread, without
 * it. What has not been sent then is sent by the loop, for at most RP_TCP_LINGER_MS; the loop's
 * destruction ends that at once.
 */
RP_MUST_USE rp_status rp_channel_tcp_open(
        struct rp_comm *comm, struct rp_loop *loop, uint32_t peer, int fd, struct rp_channel **out);

#define RP_TCP_LINGER_MS 5000

#endif
