#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/error.h"
#include "transport/netif.h"

TestSuite(netif, .timeout = 60);

// A machine with the usual mixture. Index and name are what the tests speak of.
static const struct {
    const char *name;
    const char *address;
    bool up;
} machine[] = {
    { "lo", "127.0.0.1", true },
    { "lo", "::1", true },
    { "docker0", "172.17.0.1", true },
    { "eth1", "10.0.1.1", true },
    { "eth1", "fe80::1", true },
    { "eth1", "fd00:1::1", true },
    { "eth0", "10.0.0.1", false },
    { "enp3s0", "fd00:3::1", true },
    { "wlan0", "192.168.1.7", true },
};
#define MACHINE_COUNT (sizeof(machine) / sizeof(machine[0]))

static struct rp_netif list[MACHINE_COUNT];

static void fill_list(void)
{
    for (size_t i = 0; i < MACHINE_COUNT; i++) {
        bool v6 = strchr(machine[i].address, ':') != NULL;
        list[i] = (struct rp_netif){
            .up = machine[i].up,
            .loopback = strcmp(machine[i].name, "lo") == 0,
            .family = v6 ? AF_INET6 : AF_INET,
            .scope_id = strncmp(machine[i].address, "fe80", 4) == 0 ? 2 : 0,
        };
        rp_text_copy(list[i].name, sizeof(list[i].name), machine[i].name);
        cr_assert(eq(int, inet_pton(list[i].family, machine[i].address, list[i].address), 1));
    }
}

static struct rp_hccl_env env;

// Reads the variables as the library does.
static void set_env(const char *ip, const char *names, const char *family)
{
    const struct rp_hccl_env *read;
    setenv("HCCL_IF_IP", ip, 1);
    setenv("HCCL_SOCKET_IFNAME", names, 1);
    setenv("HCCL_SOCKET_FAMILY", family, 1);
    rp_env_reset();
    cr_assert(eq(int, rp_env_hccl(&read), RP_OK), "%s", rp_error_take());
    env = *read;
}

// What is picked; "" when nothing fits.
static const char *pick_from(size_t count, const char *route_v4, const char *route_v6)
{
    static char text[RP_NETIF_TEXT_BYTES];
    uint8_t v4[16];
    uint8_t v6[16];
    struct rp_netif picked;
    struct rp_netif_rules rules = {
        .ip = &env.if_ip,
        .names = &env.ifnames,
        .family = env.socket_family,
        .route_v4 = route_v4 != NULL && inet_pton(AF_INET, route_v4, v4) == 1 ? v4 : NULL,
        .route_v6 = route_v6 != NULL && inet_pton(AF_INET6, route_v6, v6) == 1 ? v6 : NULL,
    };
    fill_list();
    if (rp_netif_pick(list, count, &rules, &picked) != RP_OK) {
        return "";
    }
    rp_netif_text(&picked, text);
    return text;
}

Test(netif, the_order_is_hccls)
{
    static const struct {
        const char *ip, *names, *family, *route_v4, *route_v6, *expected;
    } rows[] = {
        // The default route.
        { "", "", "", "192.168.1.7", "fd00:1::1", "192.168.1.7" },
        { "", "", "AF_INET6", "192.168.1.7", "fd00:1::1", "fd00:1::1" },
        { "", "", "AF_INET6", "192.168.1.7", NULL, "192.168.1.7" },
        // A route from an address that no interface has any more says nothing.
        { "", "", "", "1.2.3.4", NULL, "10.0.1.1" },
        // No route: by name, but the family first; neither down, nor docker, nor loopback.
        { "", "", "", NULL, NULL, "10.0.1.1" },
        { "", "", "AF_INET6", NULL, NULL, "fd00:3::1" },
        // HCCL_SOCKET_IFNAME: prefixes, the list's order first.
        { "", "wlan,eth", "", "10.0.1.1", NULL, "192.168.1.7" },
        { "", "eth", "", "192.168.1.7", NULL, "10.0.1.1" },
        { "", "eth", "AF_INET6", NULL, NULL, "fd00:1::1" },
        { "", "lo", "", NULL, NULL, "127.0.0.1" },
        { "", "docker", "", NULL, NULL, "172.17.0.1" },
        { "", "enp", "", NULL, NULL, "fd00:3::1" },
        // Exactly.
        { "", "=eth1", "", NULL, NULL, "10.0.1.1" },
        { "", "=eth", "", NULL, NULL, "" },
        { "", "=wlan0,eth1", "", NULL, NULL, "192.168.1.7" },
        // Without.
        { "", "^eth", "", "10.0.1.1", NULL, "192.168.1.7" },
        { "", "^eth,wlan,enp", "", NULL, NULL, "172.17.0.1" },
        { "", "^eth,wlan,enp,docker", "", NULL, NULL, "127.0.0.1" },
        { "", "^=eth1", "", NULL, NULL, "192.168.1.7" },
        { "", "^=eth", "", NULL, NULL, "10.0.1.1" },
        // HCCL_IF_IP is above all.
        { "172.17.0.1", "eth", "AF_INET6", "10.0.1.1", NULL, "172.17.0.1" },
        { "fd00:1::1", "", "", NULL, NULL, "fd00:1::1" },
        { "fe80::1%eth1", "", "", NULL, NULL, "fe80::1%eth1" },
        { "fe80::1%enp3s0", "", "", NULL, NULL, "" },
        { "10.9.9.9", "", "", "10.0.1.1", NULL, "" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        set_env(rows[i].ip, rows[i].names, rows[i].family);
        cr_expect(eq(str, (char *)pick_from(MACHINE_COUNT, rows[i].route_v4, rows[i].route_v6),
                          (char *)rows[i].expected),
                "row %zu", i);
    }
}

Test(netif, docker_and_loopback_are_last_resorts)
{
    set_env("", "", "");
    cr_assert(eq(str, (char *)pick_from(3, NULL, NULL), "172.17.0.1"));
    cr_assert(eq(str, (char *)pick_from(2, NULL, NULL), "127.0.0.1"));
    cr_assert(eq(str, (char *)pick_from(0, NULL, NULL), ""));
}

// An address where a name is due, or the other way round: the sentence shows what there is.
Test(netif, a_wrong_choice_lists_the_interfaces_found)
{
    static const char *const names[] = { "10.0.1.1", "=eth7", "ib" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        set_env("", names[i], "");
        (void)rp_error_take();
        cr_assert(eq(str, (char *)pick_from(MACHINE_COUNT, NULL, NULL), ""));
        const char *text = rp_error_take();
        cr_assert(ne(ptr, (void *)text, NULL));
        cr_assert(ne(ptr, strstr(text, "HCCL_SOCKET_IFNAME"), NULL), "%s", text);
        cr_assert(ne(ptr, strstr(text, names[i]), NULL), "%s", text);
        cr_assert(ne(ptr, strstr(text, "eth1 (10.0.1.1)"), NULL), "%s", text);
        cr_assert(ne(ptr, strstr(text, "eth0 (10.0.0.1, down)"), NULL), "%s", text);
    }
    set_env("10.9.9.9", "", "");
    (void)rp_error_take();
    cr_assert(eq(str, (char *)pick_from(MACHINE_COUNT, NULL, NULL), ""));
    const char *text = rp_error_take();
    cr_assert(ne(ptr, strstr(text, "HCCL_IF_IP is 10.9.9.9"), NULL), "%s", text);
    cr_assert(ne(ptr, strstr(text, "eth1 (10.0.1.1)"), NULL), "%s", text);
}

Test(netif, this_machine_has_an_address_that_answers)
{
    struct rp_netif chosen;
    set_env("", "", "");
    cr_assert(eq(int, rp_netif_choose(&env, &chosen), RP_OK), "%s", rp_error_take());
    int fd;
    uint16_t port = 0;
    cr_assert(eq(int, rp_netif_listen(&chosen, &env.host_ports, &fd, &port), RP_OK));
    cr_assert(ne(u16, port, 0));
    struct sockaddr_storage address;
    socklen_t bytes = rp_netif_sockaddr(&chosen, port, &address);
    int dialer = socket(chosen.family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert(zero(int, connect(dialer, (struct sockaddr *)&address, bytes)));
    close(dialer);
    close(fd);
}

// ---- ports ----

static struct rp_netif loopback(int family)
{
    struct rp_netif netif = { .name = "lo", .up = true, .loopback = true, .family = family };
    if (family == AF_INET) {
        inet_pton(AF_INET, "127.0.0.1", netif.address);
    } else {
        inet_pton(AF_INET6, "::1", netif.address);
    }
    return netif;
}

// Four ports in a row that are free now.
static uint16_t free_ports(void)
{
    struct rp_netif lo = loopback(AF_INET);
    for (uint16_t first = 20000; first < 30000; first = (uint16_t)(first + 4)) {
        int fd[4];
        uint16_t port;
        int taken = 0;
        for (uint16_t i = 0; i < 4; i++) {
            uint16_t at = (uint16_t)(first + i);
            struct rp_port_list one = { .count = 1, .range = { { at, at } } };
            if (rp_netif_listen(&lo, &one, &fd[taken], &port) == RP_OK) {
                taken++;
            }
        }
        for (int i = 0; i < taken; i++) {
            close(fd[i]);
        }
        if (taken == 4) {
            return first;
        }
    }
    cr_skip("no four free ports in a row");
}

Test(netif, the_free_port_of_a_range_is_found_and_none_is_told)
{
    struct rp_netif lo = loopback(AF_INET);
    uint16_t first = free_ports();
    struct rp_port_list ports = { .count = 2,
        .range = { { first, (uint16_t)(first + 1) },
                { (uint16_t)(first + 3), (uint16_t)(first + 3) } } };
    int fd[4];
    uint16_t port;
    static const uint16_t order[] = { 0, 1, 3 };
    for (int i = 0; i < 3; i++) {
        cr_assert(eq(int, rp_netif_listen(&lo, &ports, &fd[i], &port), RP_OK));
        cr_assert(eq(u16, port, (uint16_t)(first + order[i])));
    }
    (void)rp_error_take();
    cr_assert(eq(int, rp_netif_listen(&lo, &ports, &fd[3], &port), RP_EPORT));
    char expected[128];
    const char *text = rp_error_take();
    snprintf(expected, sizeof(expected), "no port of %u-%u, %u is free on 127.0.0.1", first,
            first + 1, first + 3);
    cr_assert(ne(ptr, strstr(text, expected), NULL), "%s", text);
    snprintf(expected, sizeof(expected), "%u by test_netif (pid %d)", first + 3, getpid());
    cr_assert(ne(ptr, strstr(text, expected), NULL), "the holder is named: %s", text);
    close(fd[1]);
    cr_assert(eq(int, rp_netif_listen(&lo, &ports, &fd[1], &port), RP_OK));
    cr_assert(eq(u16, port, (uint16_t)(first + 1)));
    for (int i = 0; i < 3; i++) {
        close(fd[i]);
    }
}

// Connections of the last run linger in TIME_WAIT: the port is ours again all the same.
Test(netif, a_fixed_port_is_taken_again_at_once)
{
    struct rp_netif lo = loopback(AF_INET);
    uint16_t first = free_ports();
    struct rp_port_list one = { .count = 1, .range = { { first, first } } };
    for (int i = 0; i < 50; i++) {
        int listener;
        uint16_t port;
        cr_assert(eq(int, rp_netif_listen(&lo, &one, &listener, &port), RP_OK), "run %d: %s", i,
                rp_error_take());
        struct sockaddr_storage address;
        socklen_t bytes = rp_netif_sockaddr(&lo, port, &address);
        int dialer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        cr_assert(zero(int, connect(dialer, (struct sockaddr *)&address, bytes)));
        int accepted = accept(listener, NULL, NULL);
        close(accepted); // this side closes first, so this side waits
        close(dialer);
        close(listener);
    }
}

Test(netif, ipv6_listens_too)
{
    struct rp_netif lo = loopback(AF_INET6);
    static const struct rp_port_list any = { 0 };
    int listener;
    uint16_t port = 0;
    rp_status st = rp_netif_listen(&lo, &any, &listener, &port);
    if (st == RP_ESYS) {
        cr_skip("this machine has no IPv6");
    }
    cr_assert(eq(int, st, RP_OK));
    cr_assert(ne(u16, port, 0));
    close(listener);
}
