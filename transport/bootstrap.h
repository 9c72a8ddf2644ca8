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
 * Everything is asynchronous on the device's loop. The caller waits with
 * replay's wait function and drives the device meanwhile.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "transport/comm.h"
#include "transport/loop.h"

#define RP_ROOT_INFO_BYTES 4108

/**
 * rp_bootstrap_root: open the listener on `loop` and describe it in `info`
 * (RP_ROOT_INFO_BYTES; printable address first). Address: HCCL_IF_IP, else
 * HCCL_SOCKET_IFNAME, else the local end of the default route, else the
 * interfaces in HCCL's order. Port: HCCL_HOST_SOCKET_PORT_RANGE,
 * HCCL_IF_BASE_PORT if set, else chosen by the kernel. The listener closes
 * itself once its communicator is made or failed, or after the connect timeout
 * if nobody ever came. Baton of the loop's device.
 */
RP_MUST_USE rp_status rp_bootstrap_root(struct rp_loop *loop, int32_t device_id, void *info);

/* One rank's attempt to join. Opaque; polled by the waiter. */
struct rp_join;

struct rp_join_request {
    const void *root_info; /* RP_ROOT_INFO_BYTES; read during the call only */
    uint32_t size;
    uint32_t rank;
    int32_t device_id;
    struct rp_arena *arena;
    struct rp_comm_settings settings;
};

/** rp_join_start: begin; all work happens on `loop`. Baton of the loop's device. */
RP_MUST_USE rp_status rp_join_start(
        struct rp_loop *loop, const struct rp_join_request *request, struct rp_join **out);

/** rp_join_poll: RP_AGAIN while under way; then RP_OK and the communicator, or the failure
 *  (recorded in the caller's error context by this call). Any thread while it is under way. */
RP_MUST_USE rp_status rp_join_poll(struct rp_join *join, struct rp_comm **comm);

/** rp_join_free: end it (also under way: peers see it vanish). Baton. */
void rp_join_free(struct rp_join *join);

#endif
