#ifndef REPRISE_TRANSPORT_BOOTSTRAP_H
#define REPRISE_TRANSPORT_BOOTSTRAP_H

/*
 * Bootstrap: from a root info to communicators.
 *
 * The root (whoever called HcclGetRootInfo) listens on TCP, on its device's
 * loop. Every rank dials it, both prove knowledge of the root info's secret
 * (keyed MAC over both nonces), and the rank tells what it is: rank, size,
 * layout version, digest and text of every setting that affects the protocol,
 * process identity, pid, device, arena size, address of its node socket. When
 * all are there the root sends everyone the table, or an error that names the
 * ranks that are missing, doubled or different (both values).
 *
 * Then the node exchange: the lowest rank of the node listens on an abstract
 * Unix socket (peer credentials and the same MAC); the others bring the
 * descriptors of their process page, eventfd, pidfd and arena, and take the
 * control segment's and everyone else's. A rank shares the node if and only if
 * it reads the leader's token out of the segment: host names prove nothing.
 *
 * Last, two rounds through the root: every rank makes its communicator, and
 * none gets it before all have made theirs.
 *
 * A rendezvous that every rank knows beforehand (transport/rendezvous.h) replaces
 * the root info for rank tables and sub-communicators: its root rank opens the
 * root when it joins.
 *
 * Everything is asynchronous on the device's loop. The caller waits with
 * replay's wait function and drives the device meanwhile.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "transport/comm.h"
#include "transport/loop.h"
#include "transport/root_info.h" /* RP_ROOT_INFO_BYTES */

/**
 * rp_bootstrap_root: open the listener on `loop` and describe it in `info`
 * (RP_ROOT_INFO_BYTES; printable address first).
 *
 * Address: HCCL_IF_IP, else HCCL_SOCKET_IFNAME, else the local end of the
 * default route, else the interfaces in HCCL's order. Port:
 * HCCL_HOST_SOCKET_PORT_RANGE, HCCL_IF_BASE_PORT if set, else chosen by the
 * kernel. The listener closes itself once its communicator is made, or after the
 * connect timeout if nobody ever came. When the init has failed it stays for
 * those who have not been told why, RP_BOOTSTRAP_LINGER_MS at most, or until the
 * next call on this loop.
 *
 *   RP_EPARAM  an HCCL_* variable is invalid, or fits no address of this machine
 *   RP_EPORT   none of the ports is free
 *   RP_ENORES  no interface is up; no descriptor is left
 *   RP_ENOMEM, RP_ESYS
 *
 * Threads: the baton of the loop's device.
 */
RP_MUST_USE rp_status rp_bootstrap_root(struct rp_loop *loop, int32_t device_id, void *info);

#define RP_BOOTSTRAP_LINGER_MS 10000

struct rp_rendezvous;

/**
 * rp_bootstrap_root_at: the root of a standing rendezvous, for `timeout_ms` at most; rp_join_start
 * calls it for the root's rank. A place that is taken (by the root of an earlier attempt, of
 * another job) is tried again until it is free. A failure is kept for those who have not heard of
 * it as above, but not one of time: who comes later belongs to another attempt.
 *
 *   RP_EPARAM  an address is none of this machine
 *   RP_EPORT   a port is not ours to use
 *   RP_ENORES  no descriptor is left
 *   RP_ENOMEM, RP_ESYS
 */
RP_MUST_USE rp_status rp_bootstrap_root_at(struct rp_loop *loop, const struct rp_rendezvous *meet,
        uint32_t size, int32_t device_id, uint64_t timeout_ms);

/** rp_bootstrap_unbound: why the root on this loop with that secret does not listen yet, a phrase;
 *  "" when it does, or is not there. */
const char *rp_bootstrap_unbound(struct rp_loop *loop, const struct rp_rendezvous *meet);

/* One rank's attempt to join. Opaque; polled by the waiter. */
struct rp_join;

struct rp_join_request {
    const void *root_info;            /* RP_ROOT_INFO_BYTES; read during the call only */
    const struct rp_rendezvous *meet; /* instead of a root info; read during the call only */
    const char *server; /* of a rank table: ranks of different ones share no node; NULL: none */
    uint32_t size;
    uint32_t rank;
    int32_t device_id;
    struct rp_arena *arena;
    struct rp_comm_settings settings;
    bool world;        /* the communicator is its device's world, from a rank table */
    const char *ranks; /* of a sub-communicator: its members, which all must name alike; or NULL */
};

/**
 * rp_join_start: begin; all work happens on `loop`, nothing of it in this call.
 *
 *   RP_EPARAM  rank, size or root info is none; an HCCL_* variable is invalid
 *   RP_ENOMEM, RP_ESYS, RP_ENORES (descriptors)
 *
 * Owner:    the arena outlives the join and its communicator.
 * Threads:  the baton of the loop's device.
 */
RP_MUST_USE rp_status rp_join_start(
        struct rp_loop *loop, const struct rp_join_request *request, struct rp_join **out);

/** rp_join_finished: whether rp_join_poll has an answer. Any thread, with or without the baton. */
bool rp_join_finished(const struct rp_join *join);

/**
 * rp_join_poll: RP_AGAIN while under way; then RP_OK and the communicator, which is the caller's
 * from then on, or the failure (recorded in the caller's error context by this call).
 *
 *   RP_ECONNTIMEOUT  ranks never arrived, or the root could not be reached, within the timeout
 *   RP_EPARAM        a rank is doubled, or the ranks' sizes differ, or the name is taken
 *   RP_EMISMATCH     a setting differs
 *   RP_ENOTSUP       some ranks do not share a node
 *   RP_EREMOTE       another rank died or failed meanwhile
 *   anything else    this rank's own failure
 *
 * Threads: any, one at a time; needs no baton.
 */
RP_MUST_USE rp_status rp_join_poll(struct rp_join *join, struct rp_comm **comm);

/** rp_join_free: end it (also under way: peers see it vanish). The communicator, if nobody polled
 *  it out, goes too. NULL: nothing. Baton. */
void rp_join_free(struct rp_join *join);

#endif
