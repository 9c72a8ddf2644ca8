#ifndef REPRISE_TRANSPORT_NETIF_H
#define REPRISE_TRANSPORT_NETIF_H

/*
 * Which address of this machine the root listens on, and its port.
 *
 * No name is ever resolved: a host's own name often leads to 127.0.0.1 or
 * nowhere. The order is HCCL's, with the route in front of the guesses:
 *
 *   HCCL_IF_IP             an address that an interface of ours has
 *   HCCL_SOCKET_IFNAME     the first match in the list's order
 *   the default route      the address that it would send from
 *   other interfaces       ascending by name; docker after them, loopback last
 *
 * Within one step HCCL_SOCKET_FAMILY is preferred, the other family taken
 * otherwise; a link-local IPv6 address, which names nothing on another machine,
 * only when nothing else is left in that step.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/env.h"
#include "base/status.h"

#define RP_NETIF_TEXT_BYTES 64 /* "fe80::1%eth0" and a zero */

/* One address of one interface. */
struct rp_netif {
    char name[IFNAMSIZ];
    bool up;
    bool loopback;
    int family;          /* AF_INET, AF_INET6 */
    uint8_t address[16]; /* network order; 4 bytes for AF_INET */
    uint32_t scope_id;   /* of a link-local IPv6 address */
};

/** rp_netif_list: the addresses of this machine. Free with rp_free(). RP_ESYS, RP_ENOMEM. */
RP_MUST_USE rp_status rp_netif_list(struct rp_netif **out, size_t *count);

/**
 * rp_netif_route: the address that packets to the rest of the world leave from, in `family`.
 * False when there is no such route. Asks the kernel only; nothing is sent.
 */
bool rp_netif_route(int family, uint8_t address[16]);

/* What rp_netif_pick goes by; the routes are NULL where there is none. */
struct rp_netif_rules {
    const struct rp_ip *ip;               /* HCCL_IF_IP; family 0: unset */
    const struct rp_ifname_filter *names; /* HCCL_SOCKET_IFNAME; count 0: unset */
    int family;                           /* HCCL_SOCKET_FAMILY */
    const uint8_t *route_v4;
    const uint8_t *route_v6;
};

/**
 * rp_netif_pick: choose from `list` by the rules above; a function of its arguments alone.
 *
 *   RP_EPARAM  nothing fits the variable that is set; the sentence names it and what was found
 *   RP_ENORES  no variable is set and no interface is up
 */
RP_MUST_USE rp_status rp_netif_pick(const struct rp_netif *list, size_t count,
        const struct rp_netif_rules *rules, struct rp_netif *out);

/** rp_netif_choose: list, ask for the routes, and pick by the environment. */
RP_MUST_USE rp_status rp_netif_choose(const struct rp_hccl_env *env, struct rp_netif *out);

/** rp_netif_text: "10.0.0.1", "fe80::1%eth0". */
void rp_netif_text(const struct rp_netif *netif, char text[RP_NETIF_TEXT_BYTES]);

/** rp_netif_sockaddr: the same with a port; returns the length. */
socklen_t rp_netif_sockaddr(
        const struct rp_netif *netif, uint16_t port, struct sockaddr_storage *out);

/**
 * rp_netif_listen: a listening non-blocking TCP socket on `netif`, on the first free port of
 * `ports`, or one that the kernel chooses when the list is empty.
 *
 *   RP_EPORT  none was free: the sentence names the ports tried and who holds them, where visible
 *   RP_ESYS, RP_ENORES (descriptors)
 */
RP_MUST_USE rp_status rp_netif_listen(
        const struct rp_netif *netif, const struct rp_port_list *ports, int *fd, uint16_t *port);

/** rp_netif_listen_port: the same on exactly `port` (0: the kernel chooses); -1 and errno. */
int rp_netif_listen_port(const struct rp_netif *netif, uint16_t port);

#endif
