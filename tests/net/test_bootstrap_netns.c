// The bootstrap where ranks do not see the same network, file systems, processes or host name.
// Network namespaces joined by a veth pair are the other machines:
//
//     left   10.99.7.1, fd99:7::1  --- veth ---  right  10.99.7.2, fd99:7::2       lonely
//     (loopback)
//
// Each is held by a process that ends with the test, and everything goes with it.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/boot_crew.h"
#include "support/child.h"

TestSuite(bootstrap_netns, .timeout = 120);

enum place {
    LEFT,
    RIGHT,
    LONELY,
    PLACES,
};

static pid_t holder[PLACES];

static bool run(const char *format, ...) __attribute__((format(printf, 1, 2)));

static bool run(const char *format, ...)
{
    char command[256];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    return system(command) == 0;
}

static bool in(enum place place, const char *command)
{
    return run("nsenter -t %d -n ip %s", holder[place], command);
}

// A process in a network of its own, which lives until the test has ended.
static bool hold(enum place place, const int until[2])
{
    int ready[2];
    char byte = 0;
    if (pipe2(ready, O_CLOEXEC) != 0) {
        return false;
    }
    holder[place] = fork();
    if (holder[place] == 0) {
        close(until[1]);
        byte = unshare(CLONE_NEWNET) == 0 ? 'y' : 'n';
        bool told = write(ready[1], &byte, 1) == 1;
        _exit(told && read(until[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(ready[1]);
    bool held = read(ready[0], &byte, 1) == 1 && byte == 'y';
    close(ready[0]);
    return held;
}

static void make_places(void)
{
    int until[2]; // never written to: it ends when this process does
    if (geteuid() != 0) {
        cr_skip("needs root, for network namespaces");
    }
    cr_assert(zero(int, pipe2(until, O_CLOEXEC)));
    for (enum place place = LEFT; place < PLACES; place++) {
        if (!hold(place, until)) {
            cr_skip("this kernel, or this container, refuses network namespaces");
        }
    }
    if (!run("ip link add rpleft netns %d type veth peer name rpright netns %d 2>/dev/null",
                holder[LEFT], holder[RIGHT])) {
        cr_skip("no veth pairs here, or no iproute2");
    }
    cr_assert(in(LEFT, "link set lo up") && in(RIGHT, "link set lo up") &&
              in(LONELY, "link set lo up"));
    cr_assert(in(LEFT, "addr add 10.99.7.1/24 dev rpleft") && in(LEFT, "link set rpleft up"));
    cr_assert(in(RIGHT, "addr add 10.99.7.2/24 dev rpright") && in(RIGHT, "link set rpright up"));
    cr_assert(in(LEFT, "addr add fd99:7::1/64 dev rpleft nodad") &&
              in(RIGHT, "addr add fd99:7::2/64 dev rpright nodad"));
}

static bool enter(enum place place)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/ns/net", holder[place]);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && setns(fd, CLONE_NEWNET) == 0 && close(fd) == 0;
}

static bool enter_given(struct boot_crew *crew, uint32_t rank)
{
    const enum place *place = crew->arg;
    return enter(place[rank]);
}

#define CREW(places, count, seconds)                                     \
    {                                                                    \
        .size = (count), .timeout_s = (seconds), .prepare = enter_given, \
        .arg = (void *)(uintptr_t)(places)                               \
    }

// ---- two machines ----

// Same host name, no shared node.
Test(bootstrap_netns, ranks_on_two_machines_are_connected, .init = make_places)
{
    static const enum place places[] = { LEFT, LEFT, RIGHT, RIGHT };
    struct boot_crew crew = CREW(places, 4, 20);
    boot_crew_run(&crew);
    cr_assert(boot_crew_partition(&crew, "aabb"));
    // The address that the other machine can use, however the host's name resolves.
    cr_assert(eq(str, (char *)crew.shared->info, "10.99.7.1"));
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert(lt(u64, crew.shared->outcome[i].elapsed_ns, 5 * RP_NS_PER_S));
    }
    boot_crew_free(&crew);
}

Test(bootstrap_netns, ranks_of_two_machines_may_alternate, .init = make_places)
{
    static const enum place places[] = { RIGHT, LEFT, RIGHT, LEFT, RIGHT };
    struct boot_crew crew = CREW(places, 5, 20);
    boot_crew_run(&crew);
    cr_assert(boot_crew_partition(&crew, "ababa"));
    boot_crew_free(&crew);
}

Test(bootstrap_netns, ranks_on_one_machine_with_a_network_work, .init = make_places)
{
    static const enum place places[] = { RIGHT, RIGHT, RIGHT };
    struct boot_crew crew = CREW(places, 3, 20);
    boot_crew_run(&crew);
    cr_assert(boot_crew_all(&crew, RP_OK, ""));
    cr_assert(eq(str, (char *)crew.shared->info, "10.99.7.2"));
    boot_crew_free(&crew);
}

// Containers without a network of their own.
Test(bootstrap_netns, loopback_alone_is_enough_for_one_machine, .init = make_places)
{
    static const enum place places[] = { LONELY, LONELY };
    struct boot_crew crew = CREW(places, 2, 20);
    boot_crew_run(&crew);
    cr_assert(boot_crew_all(&crew, RP_OK, ""));
    cr_assert(eq(str, (char *)crew.shared->info, "127.0.0.1"));
    boot_crew_free(&crew);
}

Test(bootstrap_netns, ipv6_works, .init = make_places)
{
    static const enum place one[] = { LEFT, LEFT, LEFT };
    static const enum place two[] = { LEFT, RIGHT };
    setenv("HCCL_SOCKET_FAMILY", "AF_INET6", 1);
    struct boot_crew crew = CREW(one, 3, 20);
    boot_crew_run(&crew);
    cr_assert(boot_crew_all(&crew, RP_OK, ""));
    cr_assert(eq(str, (char *)crew.shared->info, "fd99:7::1"));
    boot_crew_free(&crew);
    struct boot_crew apart = CREW(two, 2, 20);
    boot_crew_run(&apart);
    cr_assert(boot_crew_partition(&apart, "ab"));
    boot_crew_free(&apart);
}

Test(bootstrap_netns, the_interface_can_be_chosen, .init = make_places)
{
    static const enum place places[] = { LEFT, LEFT };
    static const struct {
        const char *variable, *value, *address;
    } rows[] = {
        { "HCCL_SOCKET_IFNAME", "rp", "10.99.7.1" },
        { "HCCL_SOCKET_IFNAME", "=rpleft", "10.99.7.1" },
        { "HCCL_SOCKET_IFNAME", "^rp", "127.0.0.1" },
        { "HCCL_SOCKET_IFNAME", "^=rpleft", "127.0.0.1" },
        { "HCCL_IF_IP", "fd99:7::1", "fd99:7::1" },
        { "HCCL_IF_IP", "127.0.0.1", "127.0.0.1" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct boot_crew crew = CREW(places, 2, 20);
        setenv(rows[i].variable, rows[i].value, 1);
        boot_crew_run(&crew);
        cr_assert(boot_crew_all(&crew, RP_OK, ""), "row %zu", i);
        cr_assert(eq(str, (char *)crew.shared->info, (char *)rows[i].address), "row %zu", i);
        unsetenv(rows[i].variable);
        boot_crew_free(&crew);
    }
}

// A link-local address has a scope, which is part of what is printed.
Test(bootstrap_netns, a_link_local_address_can_be_chosen, .init = make_places)
{
    static const enum place places[] = { LEFT, LEFT };
    cr_assert(in(LEFT, "addr add fe80::7/64 dev rpleft nodad"));
    setenv("HCCL_IF_IP", "fe80::7%rpleft", 1);
    struct boot_crew crew = CREW(places, 2, 20);
    boot_crew_run(&crew);
    cr_assert(boot_crew_all(&crew, RP_OK, ""));
    cr_assert(eq(str, (char *)crew.shared->info, "fe80::7%rpleft"));
    boot_crew_free(&crew);
}

// No route to the root at all.
Test(bootstrap_netns, an_unreachable_root_is_named_in_time, .init = make_places)
{
    static const enum place places[] = { LEFT, LONELY };
    struct boot_crew crew = CREW(places, 2, 1);
    boot_crew_run(&crew);
    const struct boot_outcome *outcome = crew.shared->outcome;
    cr_assert(eq(int, outcome[0].status, RP_ECONNTIMEOUT));
    cr_assert(ne(ptr, strstr(outcome[0].sentence, "rank 1 never arrived within 1 s"), NULL));
    cr_assert(eq(int, outcome[1].status, RP_ECONNTIMEOUT));
    cr_assert(ne(ptr, strstr(outcome[1].sentence, "the root at 10.99.7.1:"), NULL), "%s",
            outcome[1].sentence);
    cr_assert(ne(ptr, strstr(outcome[1].sentence, "Network is unreachable"), NULL), "%s",
            outcome[1].sentence);
    cr_assert(lt(u64, outcome[1].elapsed_ns, 3 * RP_NS_PER_S));
    boot_crew_free(&crew);
}

// All reach the root, but not each other: the one that dials says so to everyone.
Test(bootstrap_netns, a_peer_out_of_reach_is_named_in_time, .init = make_places)
{
    static const enum place places[] = { LEFT, RIGHT, LONELY };
    cr_assert(run("ip link add rpnear netns %d type veth peer name rpfar netns %d", holder[LEFT],
            holder[LONELY]));
    cr_assert(in(LEFT, "addr add 10.99.8.1/24 dev rpnear") && in(LEFT, "link set rpnear up") &&
              in(LONELY, "addr add 10.99.8.2/24 dev rpfar") && in(LONELY, "link set rpfar up") &&
              in(LONELY, "route add 10.99.7.1/32 via 10.99.8.1"));
    struct boot_crew crew = CREW(places, 3, 2);
    boot_crew_run(&crew);
    for (uint32_t i = 0; i < 3; i++) {
        const struct boot_outcome *outcome = &crew.shared->outcome[i];
        cr_assert(eq(int, outcome->status, i == 2 ? RP_ECONNTIMEOUT : RP_EREMOTE), "%s",
                outcome->sentence);
        cr_assert(ne(ptr,
                          strstr(outcome->sentence,
                                  "rank 2 could not connect to rank 1 at 10.99.7.2:"),
                          NULL),
                "%s", outcome->sentence);
        cr_assert(ne(ptr, strstr(outcome->sentence, "Network is unreachable"), NULL), "%s",
                outcome->sentence);
        cr_assert(lt(u64, outcome->elapsed_ns, 3500 * RP_NS_PER_MS));
    }
    boot_crew_free(&crew);
}

// ---- what tells machines apart is hidden ----

// Without /proc all machines look alike, so that who does not reach the first rank of what seems to
// be its node is found to be elsewhere, and gets a node of its own.
static bool enter_and_hide(struct boot_crew *crew, uint32_t rank)
{
    return enter_given(crew, rank) && unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", "/proc", "tmpfs", 0, "size=64k") == 0;
}

Test(bootstrap_netns, ranks_that_do_not_reach_their_node_are_nodes, .init = make_places)
{
    static const struct {
        enum place places[5];
        uint32_t size;
        const char *nodes;
    } rows[] = {
        { { LEFT, LEFT, RIGHT, RIGHT }, 4, "aabc" },
        { { RIGHT, LEFT, RIGHT, LEFT, RIGHT }, 5, "abaca" },
        { { LEFT, RIGHT, RIGHT }, 3, "abc" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct boot_crew crew = CREW(rows[i].places, rows[i].size, 20);
        crew.prepare = enter_and_hide;
        boot_crew_run(&crew);
        cr_assert(boot_crew_partition(&crew, rows[i].nodes), "%s", rows[i].nodes);
        cr_assert(lt(u64, crew.shared->outcome[0].elapsed_ns, 5 * RP_NS_PER_S));
        boot_crew_free(&crew);
    }
}

// ---- the network goes ----

// The cable is pulled while the ranks wait for the last one, which is cut off: no reset, no end of
// the connection, nothing. Everyone's time runs out all the same.
static int pull_cable(void *unused)
{
    (void)unused;
    usleep(700000);
    return in(LEFT, "link set rpleft down") ? 0 : 1;
}

static bool wait_for_the_cable(struct boot_crew *crew, struct boot_rank *rank)
{
    (void)crew;
    rank->delay_ms = rank->request.rank == 2 ? 1200 : 0;
    return true;
}

Test(bootstrap_netns, a_pulled_cable_ends_in_time, .init = make_places)
{
    static const enum place places[] = { LEFT, RIGHT, RIGHT };
    struct boot_crew crew = CREW(places, 3, 2);
    crew.before_join = wait_for_the_cable;
    pid_t puller = child_start(pull_cable, NULL);
    boot_crew_run(&crew);
    cr_assert(eq(int, child_wait(puller, 10), 0));
    const struct boot_outcome *outcome = crew.shared->outcome;
    cr_assert(ne(ptr, strstr(outcome[0].sentence, "rank 2 never arrived within 2 s"), NULL), "%s",
            outcome[0].sentence);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert(eq(int, outcome[i].status, RP_ECONNTIMEOUT), "%s", outcome[i].sentence);
        cr_assert(lt(u64, outcome[i].elapsed_ns, 3500 * RP_NS_PER_MS));
    }
    boot_crew_free(&crew);
}

// ---- one machine, seen through different containers ----

// A /dev/shm with room for next to nothing, and full.
static bool tiny_shm(struct boot_crew *crew, uint32_t rank)
{
    (void)crew;
    (void)rank;
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=64k") != 0) {
        return false;
    }
    int fd = open("/dev/shm/full", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    char block[4096] = { 0 };
    while (write(fd, block, sizeof(block)) > 0) {
    }
    return close(fd) == 0;
}

Test(bootstrap_netns, dev_shm_does_not_matter, .init = make_places)
{
    struct boot_crew crew = { .size = 3, .timeout_s = 20, .prepare = tiny_shm };
    boot_crew_run(&crew);
    cr_assert(boot_crew_all(&crew, RP_OK, ""));
    boot_crew_free(&crew);
}

static bool other_host_name(struct boot_crew *crew, uint32_t rank)
{
    char name[32];
    snprintf(name, sizeof(name), "container-%u", rank);
    return tiny_shm(crew, rank) && unshare(CLONE_NEWUTS) == 0 &&
           sethostname(name, strlen(name)) == 0;
}

Test(bootstrap_netns, host_names_do_not_matter, .init = make_places)
{
    struct boot_crew crew = { .size = 3, .timeout_s = 20, .prepare = other_host_name };
    boot_crew_run(&crew);
    cr_assert(boot_crew_all(&crew, RP_OK, ""));
    boot_crew_free(&crew);
}

// Each rank is process 1 of its own container.
static bool own_processes(struct boot_crew *crew, uint32_t rank)
{
    (void)crew;
    (void)rank;
    if (unshare(CLONE_NEWPID) != 0) {
        return false;
    }
    pid_t inside = fork();
    if (inside > 0) {
        int status = 0;
        waitpid(inside, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
    }
    return inside == 0 && getpid() == 1;
}

Test(bootstrap_netns, process_numbers_do_not_matter, .init = make_places)
{
    struct boot_crew crew = { .size = 3, .timeout_s = 20, .prepare = own_processes };
    boot_crew_run(&crew);
    cr_assert(boot_crew_all(&crew, RP_OK, ""));
    boot_crew_free(&crew);
}
