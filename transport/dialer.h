#ifndef REPRISE_TRANSPORT_DIALER_H
#define REPRISE_TRANSPORT_DIALER_H

/*
 * Dials the root until somebody answers there who knows the secret. A refusal,
 * an unreachable network, a connection that ends before the handshake: all of
 * it may pass, so it tries again, soon at first and then four times a second,
 * one endpoint of the rendezvous after the other. The owner has the deadline.
 *
 * Where HCCL_IF_IP or HCCL_SOCKET_IFNAME is set, connections leave from that
 * address; otherwise from wherever the route to the root begins.
 *
 * Threads: all of it under the baton of the loop's device.
 */

#include "base/env.h"
#include "base/status.h"
#include "transport/conn.h"
#include "transport/loop.h"
#include "transport/rendezvous.h"

struct rp_dialer;

struct rp_dialer_setup {
    struct rp_loop *loop;
    const struct rp_hccl_env *env;
    const struct rp_rendezvous *meet; /* outlives the dialer and its connection */
    enum rp_wire_scope scope;         /* of the handshake */
    uint64_t delay_ms;                /* before the first attempt */
    /* The connection, whose other side has proved itself; the owner adopts it. Once. */
    void (*ready)(void *owner, struct rp_conn *conn);
    void *owner;
};

/** rp_dialer_create: begins with the loop's next step. RP_EPARAM when the variables fit no address
 *  of this machine; RP_ENOMEM, RP_ESYS. */
RP_MUST_USE rp_status rp_dialer_create(const struct rp_dialer_setup *setup, struct rp_dialer **out);

/** rp_dialer_why: why the last attempt failed, a phrase; "" while none did. */
const char *rp_dialer_why(const struct rp_dialer *dialer);

/** rp_dialer_destroy: stop; frees itself later. NULL: nothing. */
void rp_dialer_destroy(struct rp_dialer *dialer);

#endif
