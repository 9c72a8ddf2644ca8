#include "transport/netif.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/util.h"
#include "transport/port_holder.h"

// Joiners dial at once when the root info reaches them; all of a node's ranks fit.
#define LISTEN_BACKLOG 4096

// Addresses of the blocks that are set aside for documentation: routed like any other, owned by
// nobody.
#define OUTSIDE_V4 "192.0.2.1"
#define OUTSIDE_V6 "2001:db8::1"

static size_t address_bytes(int family)
{
    return family == AF_INET ? 4 : 16;
}

// Copies what is of use in `entry`; false when it is no address of ours.
static bool take_entry(const struct ifaddrs *entry, struct rp_netif *out)
{
    if (entry->ifa_addr == NULL) {
        return false;
    }
    *out = (struct rp_netif){
        .up = (entry->ifa_flags & IFF_UP) != 0,
        .loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0,
        .family = entry->ifa_addr->sa_family,
    };
    // An alias such as "eth0:1" is an address of eth0.
    snprintf(out->name, sizeof(out->name), "%.*s", (int)strcspn(entry->ifa_name, ":"),
            entry->ifa_name);
    if (out->family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, entry->ifa_addr, sizeof(v4));
        memcpy(out->address, &v4.sin_addr, sizeof(v4.sin_addr));
        return true;
    }
    if (out->family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, entry->ifa_addr, sizeof(v6));
        memcpy(out->address, &v6.sin6_addr, sizeof(v6.sin6_addr));
        out->scope_id = v6.sin6_scope_id;
        return true;
    }
    return false;
}

rp_status rp_netif_list(struct rp_netif **out, size_t *count)
{
    struct ifaddrs *entries;
    if (getifaddrs(&entries) != 0) {
        return rp_fail_sys(RP_ESYS, "getifaddrs", NULL);
    }
    size_t room = 0;
    for (struct ifaddrs *entry = entries; entry != NULL; entry = entry->ifa_next) {
        room++;
    }
    struct rp_netif *list = rp_calloc(room + 1, sizeof(*list));
    if (list == NULL) {
        freeifaddrs(entries);
        return rp_fail(RP_ENOMEM, "no memory for a list of %zu interface addresses", room);
    }
    size_t used = 0;
    for (struct ifaddrs *entry = entries; entry != NULL; entry = entry->ifa_next) {
        if (take_entry(entry, &list[used])) {
            used++;
        }
    }
    freeifaddrs(entries);
    *out = list;
    *count = used;
    return RP_OK;
}

bool rp_netif_route(int family, uint8_t address[16])
{
    struct rp_netif outside = { .family = family };
    if (inet_pton(family, family == AF_INET ? OUTSIDE_V4 : OUTSIDE_V6, outside.address) != 1) {
        return false;
    }
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return false;
    }
    struct sockaddr_storage remote;
    struct sockaddr_storage local = { 0 };
    socklen_t bytes = rp_netif_sockaddr(&outside, 9, &remote);
    bool found = connect(fd, (struct sockaddr *)&remote, bytes) == 0;
    bytes = sizeof(local);
    found = found && getsockname(fd, (struct sockaddr *)&local, &bytes) == 0;
    close(fd);
    if (!found) {
        return false;
    }
    if (family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, &local, sizeof(v4));
        memcpy(address, &v4.sin_addr, sizeof(v4.sin_addr));
    } else {
        struct sockaddr_in6 v6;
        memcpy(&v6, &local, sizeof(v6));
        memcpy(address, &v6.sin6_addr, sizeof(v6.sin6_addr));
    }
    return true;
}

void rp_netif_text(const struct rp_netif *netif, char text[RP_NETIF_TEXT_BYTES])
{
    char address[INET6_ADDRSTRLEN] = "?";
    inet_ntop(netif->family, netif->address, address, sizeof(address));
    bool scoped = netif->family == AF_INET6 && netif->scope_id != 0;
    snprintf(text, RP_NETIF_TEXT_BYTES, "%s%s%s", address, scoped ? "%" : "",
            scoped ? netif->name : "");
}

socklen_t rp_netif_sockaddr(
        const struct rp_netif *netif, uint16_t port, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof(*out));
    if (netif->family == AF_INET) {
        struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
        memcpy(&v4.sin_addr, netif->address, sizeof(v4.sin_addr));
        memcpy(out, &v4, sizeof(v4));
        return sizeof(v4);
    }
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6,
        .sin6_port = htons(port),
        .sin6_scope_id = netif->scope_id,
    };
    memcpy(&v6.sin6_addr, netif->address, sizeof(v6.sin6_addr));
    memcpy(out, &v6, sizeof(v6));
    return sizeof(v6);
}

// "eth0 (10.0.0.1, fd00::1), lo (127.0.0.1)": what there is to choose from.
static void describe(const struct rp_netif *list, size_t count, char *text, size_t bytes)
{
    size_t used = (size_t)snprintf(text, bytes, "%s", count == 0 ? "none" : "");
    for (size_t i = 0; i < count && used < bytes; i++) {
        char address[RP_NETIF_TEXT_BYTES];
        rp_netif_text(&list[i], address);
        used += (size_t)snprintf(text + used, bytes - used, "%s%s (%s%s)", i == 0 ? "" : ", ",
                list[i].name, address, list[i].up ? "" : ", down");
    }
}

static bool is_link_local(const struct rp_netif *netif)
{
    return netif->family == AF_INET6 && netif->address[0] == 0xfe &&
           (netif->address[1] & 0xc0) == 0x80;
}

// Where an interface stands when nobody named it: 0 ordinary, 1 docker, 2 loopback.
static int kind_order(const struct rp_netif *netif)
{
    if (netif->loopback) {
        return 2;
    }
    return strncmp(netif->name, "docker", strlen("docker")) == 0 ? 1 : 0;
}

// Whether `a` goes before `b`, both of which the names (may be unset) let through.
static bool goes_before(const struct rp_netif *a, const struct rp_netif *b,
        const struct rp_ifname_filter *names, int family)
{
    int order = rp_ifname_match(names, a->name) - rp_ifname_match(names, b->name);
    if (order == 0 && (names->count == 0 || names->exclude)) {
        order = kind_order(a) - kind_order(b);
    }
    if (order == 0) {
        order = (int)is_link_local(a) - (int)is_link_local(b);
    }
    if (order == 0) {
        order = (int)(a->family != family) - (int)(b->family != family);
    }
    if (order == 0) {
        order = strcmp(a->name, b->name);
    }
    return order < 0;
}

static rp_status pick_ip(
        const struct rp_netif *list, size_t count, const struct rp_ip *ip, struct rp_netif *out)
{
    struct rp_netif wanted = { .family = ip->family };
    memcpy(wanted.address, ip->address, address_bytes(ip->family));
    bool elsewhere = false;
    for (size_t i = 0; i < count; i++) {
        if (list[i].family == ip->family &&
                memcmp(list[i].address, wanted.address, address_bytes(ip->family)) == 0) {
            if (ip->scope[0] == '\0' || strcmp(ip->scope, list[i].name) == 0) {
                *out = list[i];
                return RP_OK;
            }
            elsewhere = true;
        }
    }
    char address[RP_NETIF_TEXT_BYTES];
    char found[512];
    rp_netif_text(&wanted, address);
    describe(list, count, found, sizeof(found));
    return rp_fail(RP_EPARAM, "HCCL_IF_IP is %s%s%s, which is no address of %s; found: %s", address,
            ip->scope[0] == '\0' ? "" : "%", ip->scope,
            elsewhere ? "that interface" : "this machine", found);
}

static bool is_routed(const struct rp_netif *netif, const uint8_t *route, int family)
{
    return route != NULL && netif->family == family &&
           memcmp(netif->address, route, address_bytes(family)) == 0;
}

// The address that the default route sends from, the preferred family's first; NULL if none.
static const struct rp_netif *pick_route(
        const struct rp_netif *list, size_t count, const struct rp_netif_rules *rules)
{
    const struct rp_netif *other = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!list[i].up || !(is_routed(&list[i], rules->route_v4, AF_INET) ||
                                   is_routed(&list[i], rules->route_v6, AF_INET6))) {
            continue;
        }
        if (list[i].family == rules->family) {
            return &list[i];
        }
        other = &list[i];
    }
    return other;
}

rp_status rp_netif_pick(const struct rp_netif *list, size_t count,
        const struct rp_netif_rules *rules, struct rp_netif *out)
{
    if (rules->ip->family != 0) {
        return pick_ip(list, count, rules->ip, out);
    }
    const struct rp_netif *best = NULL;
    if (rules->names->count == 0) {
        best = pick_route(list, count, rules);
    }
    if (best == NULL) {
        for (size_t i = 0; i < count; i++) {
            if (list[i].up && rp_ifname_match(rules->names, list[i].name) >= 0 &&
                    (best == NULL || goes_before(&list[i], best, rules->names, rules->family))) {
                best = &list[i];
            }
        }
    }
    if (best != NULL) {
        *out = *best;
        return RP_OK;
    }
    char found[512];
    describe(list, count, found, sizeof(found));
    if (rules->names->count == 0) {
        return rp_fail(RP_ENORES, "no network interface is up; found: %s", found);
    }
    const struct rp_ifname_filter *names = rules->names;
    return rp_fail(RP_EPARAM,
            "HCCL_SOCKET_IFNAME (%s%s%s%s) fits no interface that is up; found: %s",
            names->exclude ? "^" : "", names->exact ? "=" : "", names->name[0],
            names->count > 1 ? ",..." : "", found);
}

rp_status rp_netif_choose(const struct rp_hccl_env *env, struct rp_netif *out)
{
    struct rp_netif *list;
    size_t count;
    rp_status st = rp_netif_list(&list, &count);
    if (st != RP_OK) {
        return st;
    }
    uint8_t v4[16];
    uint8_t v6[16];
    struct rp_netif_rules rules = {
        .ip = &env->if_ip,
        .names = &env->ifnames,
        .family = env->socket_family,
        .route_v4 = rp_netif_route(AF_INET, v4) ? v4 : NULL,
        .route_v6 = rp_netif_route(AF_INET6, v6) ? v6 : NULL,
    };
    st = rp_netif_pick(list, count, &rules, out);
    rp_free(list);
    return st;
}

int rp_netif_listen_port(const struct rp_netif *netif, uint16_t port)
{
    int fd = socket(netif->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    // So that a restarted job gets its fixed port back while connections of the last run linger.
    // Two listeners at once are refused all the same, though perhaps only by listen().
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    struct sockaddr_storage address;
    socklen_t bytes = rp_netif_sockaddr(netif, port, &address);
    if (bind(fd, (struct sockaddr *)&address, bytes) != 0 || listen(fd, LISTEN_BACKLOG) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static uint16_t bound_port(int fd)
{
    struct sockaddr_storage address = { 0 };
    socklen_t bytes = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &bytes) != 0) {
        return 0;
    }
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (address.ss_family == AF_INET) {
        memcpy(&v4, &address, sizeof(v4));
        return ntohs(v4.sin_port);
    }
    memcpy(&v6, &address, sizeof(v6));
    return ntohs(v6.sin6_port);
}

// "60000-60003, 60050"
static void describe_ports(const struct rp_port_list *ports, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < ports->count && used < bytes; i++) {
        const struct rp_port_range *range = &ports->range[i];
        used += (size_t)snprintf(text + used, bytes - used,
                range->first == range->last ? "%s%u" : "%s%u-%u", i == 0 ? "" : ", ",
                (unsigned)range->first, (unsigned)range->last);
    }
}

static rp_status no_port(const struct rp_netif *netif, const struct rp_port_list *ports, int error)
{
    char address[RP_NETIF_TEXT_BYTES];
    char tried[256];
    char holders[256];
    rp_netif_text(netif, address);
    if (ports->count == 0) {
        return rp_fail(RP_EPORT, "the kernel has no free port on %s", address);
    }
    describe_ports(ports, tried, sizeof(tried));
    rp_port_holders(ports, holders, sizeof(holders));
    return rp_fail(RP_EPORT, "no port of %s is free on %s: %s%s%s", tried, address,
            strerrordesc_np(error), holders[0] == '\0' ? "" : "; held by ", holders);
}

// Whether the next port may be free although this one is not.
static bool is_taken(int error)
{
    return error == EADDRINUSE || error == EACCES;
}

// The first free port of `range`, -1 and errno when there is none, or when it is no matter of
// ports.
static int listen_in(const struct rp_netif *netif, const struct rp_port_range *range)
{
    int listener = -1;
    for (uint32_t port = range->first; port <= range->last; port++) {
        listener = rp_netif_listen_port(netif, (uint16_t)port);
        if (listener >= 0 || !is_taken(errno)) {
            break;
        }
    }
    return listener;
}

rp_status rp_netif_listen(
        const struct rp_netif *netif, const struct rp_port_list *ports, int *fd, uint16_t *port)
{
    static const struct rp_port_list any = { .count = 1, .range = { { 0, 0 } } };
    const struct rp_port_list *tried = ports->count == 0 ? &any : ports;
    int listener = -1;
    for (uint32_t i = 0; i < tried->count; i++) {
        listener = listen_in(netif, &tried->range[i]);
        if (listener >= 0 || !is_taken(errno)) {
            break;
        }
    }
    if (listener >= 0) {
        *port = bound_port(listener);
        *fd = listener;
        return RP_OK;
    }
    if (is_taken(errno)) {
        return no_port(netif, ports, errno);
    }
    char address[RP_NETIF_TEXT_BYTES];
    rp_status st = errno == EMFILE || errno == ENFILE ? RP_ENORES : RP_ESYS;
    rp_netif_text(netif, address);
    return rp_fail_sys(st, "listening", address);
}
