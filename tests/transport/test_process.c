#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/util.h"
#include "support/child.h"
#include "transport/arena.h"
#include "transport/process.h"

#define MIB (UINT64_C(1) << 20)
#define PEERS_MAX 40

// A peer process: tells who it is, passes its descriptors, then does what it is told.
enum order {
    ORDER_EXIT,
    ORDER_SLEEP,      // on its bell; exits with what woke it
    ORDER_LEAVE_MAIN, // its main thread ends, another one goes on
    ORDER_NEW_ARENA,  // as after a reset of the device; passes all again
};

struct hello {
    struct rp_process_id id;
    int64_t pid;
    uint64_t arena_bytes;
    uint64_t mark_off; // where its name stands in its arena
};

struct peer {
    pid_t pid;
    int socket;
    struct hello hello;
    struct rp_process_fds fds;
    int arena_fd;
};

static bool pass_arena(int socket, struct rp_arena *arena, const char *mark)
{
    void *text;
    struct hello hello = { .pid = getpid(), .arena_bytes = rp_arena_bytes(arena) };
    struct rp_process_fds fds;
    hello.id = rp_process_self_id();
    if (rp_arena_alloc(arena, 100, 64, RP_ARENA_DEVICE, &text) != RP_OK ||
            !rp_arena_offset(arena, text, 100, &hello.mark_off) ||
            rp_process_self_fds(&fds) != RP_OK) {
        return false;
    }
    strcpy(text, mark);
    const int sent[4] = { fds.page_fd, fds.event_fd, fds.pid_fd, rp_arena_fd(arena) };
    return fds_send(socket, sent, 4, &hello, sizeof(hello));
}

static int sleep_on_bell(int socket)
{
    struct rp_doorbell_end *bell = rp_process_bell(rp_process_self());
    struct rp_sleep sleep;
    rp_doorbell_prepare(bell, &sleep);
    if (write(socket, "s", 1) != 1) {
        return 50;
    }
    return (int)rp_doorbell_wait(bell, &sleep, 20 * RP_NS_PER_S);
}

static void *outlive_main(void *arg)
{
    uint8_t order;
    int socket = (int)(intptr_t)arg; // the main thread's stack is gone
    _exit(read(socket, &order, 1) == 1 ? 0 : 54);
}

static int peer_main(void *arg)
{
    int socket = *(int *)arg;
    struct rp_arena *arena;
    setenv("REPRISE_DEVICE_MEMORY", "16M", 1);
    if (rp_arena_create(0, &arena) != RP_OK || !pass_arena(socket, arena, "first")) {
        return 51;
    }
    for (;;) {
        uint8_t order;
        if (read(socket, &order, 1) != 1) {
            return 52;
        }
        if (order == ORDER_EXIT) {
            return 0;
        }
        if (order == ORDER_SLEEP) {
            return sleep_on_bell(socket);
        }
        if (order == ORDER_LEAVE_MAIN) {
            pthread_t thread;
            pthread_create(&thread, NULL, outlive_main, (void *)(intptr_t)socket);
            pthread_exit(NULL);
        }
        rp_arena_destroy(arena);
        if (rp_arena_create(0, &arena) != RP_OK || !pass_arena(socket, arena, "second")) {
            return 53;
        }
    }
}

static void tell(const struct peer *peer, enum order order)
{
    uint8_t byte = (uint8_t)order;
    cr_assert(eq(sz, (size_t)write(peer->socket, &byte, 1), 1));
}

static void hear(struct peer *peer)
{
    int fds[4];
    cr_assert(fds_receive(peer->socket, fds, 4, &peer->hello, sizeof(peer->hello)));
    peer->fds = (struct rp_process_fds){ fds[0], fds[1], fds[2] };
    peer->arena_fd = fds[3];
}

// Before this process has used the library: a child of one that has could not use it.
static void start(struct peer *peer)
{
    int sockets[2];
    cr_assert(eq(int, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0));
    peer->pid = child_start(peer_main, &sockets[1]);
    close(sockets[1]);
    peer->socket = sockets[0];
    hear(peer);
}

static void end(struct peer *peer)
{
    tell(peer, ORDER_EXIT);
    cr_assert(eq(int, child_wait(peer->pid, 20), 0));
    close(peer->socket);
}

static struct rp_process *meet(const struct peer *peer)
{
    struct rp_process *process = NULL;
    cr_assert(eq(int, rp_process_ref_peer(&peer->hello.id, peer->pid, peer->fds, &process), RP_OK));
    return process;
}

static struct rp_process_fds dup_fds(const struct rp_process_fds *fds)
{
    return (struct rp_process_fds){ dup(fds->page_fd), dup(fds->event_fd), dup(fds->pid_fd) };
}

// The first descriptors are used up: new ones.
static void hear_again(struct peer *peer)
{
    close(peer->arena_fd);
    tell(peer, ORDER_NEW_ARENA);
    hear(peer);
}

static bool dies_soon(struct rp_process *process)
{
    const struct timespec pause = { .tv_nsec = 1000000 };
    for (int i = 0; i < 5000; i++) {
        rp_process_sweep();
        if (rp_process_died(process)) {
            return true;
        }
        nanosleep(&pause, NULL);
    }
    return false;
}

// ---- the own process ----

Test(process, self_is_an_entry_like_any_other)
{
    struct rp_arena *arena;
    uint8_t *base = NULL;
    setenv("REPRISE_DEVICE_MEMORY", "16M", 1);
    struct rp_process *self = rp_process_self();
    struct rp_process_id id = rp_process_self_id();
    struct rp_process_id again = rp_process_self_id();
    const struct rp_process_id zero = { { 0 } };
    cr_assert(ne(ptr, self, NULL));
    cr_assert(eq(int, memcmp(&id, &again, sizeof(id)), 0));
    cr_assert(ne(int, memcmp(&id, &zero, sizeof(id)), 0));
    cr_assert(rp_process_is_self(self));
    cr_assert(eq(i64, rp_process_pid(self), getpid()));
    cr_assert(eq(int, rp_process_map_arena(self, 3, -1, 1, &base), RP_ENOTFOUND));
    cr_assert(eq(int, rp_arena_create(3, &arena), RP_OK));
    cr_assert(eq(int, rp_process_map_arena(self, 3, -1, rp_arena_bytes(arena), &base), RP_OK));
    cr_assert(eq(ptr, base, rp_arena_base(arena))); // the same mapping, not another one
    cr_assert(eq(
            int, rp_process_map_arena(self, 3, -1, rp_arena_bytes(arena) + 1, &base), RP_EPARAM));
    struct rp_process *met = NULL;
    const struct rp_process_fds none = { -1, -1, -1 };
    cr_assert(eq(int, rp_process_ref_peer(&id, getpid(), none, &met), RP_OK));
    cr_assert(eq(ptr, met, self));
    rp_process_unref(met);
    rp_process_sweep();
    cr_assert(not(rp_process_died(self)));
    rp_arena_destroy(arena);
}

// ---- meeting ----

Test(process, peer_is_met_once_and_duplicates_are_closed)
{
    struct peer peer;
    start(&peer);
    rp_process_self();
    struct rp_process_fds first = peer.fds;
    struct rp_process_fds second = dup_fds(&first);
    struct rp_process *process = meet(&peer);
    unsigned fds = fds_open();
    peer.fds = second;
    cr_assert(eq(ptr, meet(&peer), process));
    cr_assert(eq(uint, fds_open(), fds - 3));
    cr_assert(not(rp_process_is_self(process)));
    cr_assert(eq(i64, rp_process_pid(process), peer.pid));
    rp_process_unref(process);
    cr_assert(not(rp_process_died(process)));
    rp_process_unref(process);
    cr_assert(eq(uint, fds_open(), fds - 3 - 2)); // eventfd and pidfd
    end(&peer);
}

Test(process, ring_wakes_the_peer)
{
    struct peer peer;
    char asleep;
    start(&peer);
    struct rp_process *process = meet(&peer);
    tell(&peer, ORDER_SLEEP);
    cr_assert(eq(sz, (size_t)read(peer.socket, &asleep, 1), 1));
    rp_doorbell_ring(rp_process_bell(process));
    cr_assert(eq(int, child_wait(peer.pid, 20), RP_WAKE_BELL));
    rp_process_unref(process);
}

Test(process, wrong_descriptors_are_refused_and_closed)
{
    struct peer peer;
    struct rp_process *process = NULL;
    int pipes[2];
    start(&peer);
    rp_process_unref(meet(&peer)); // what is made once for all is there
    hear_again(&peer);
    cr_assert(eq(int, pipe(pipes), 0));
    int loose = memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    cr_assert(eq(int, ftruncate(loose, 4096), 0));
    const struct rp_process_fds bad[] = {
        { loose, peer.fds.event_fd, peer.fds.pid_fd },         // a page that can be cut off
        { pipes[0], peer.fds.event_fd, peer.fds.pid_fd },      // no page at all
        { -1, peer.fds.event_fd, peer.fds.pid_fd },            //
        { peer.fds.page_fd, -1, peer.fds.pid_fd },             //
        { peer.fds.page_fd, pipes[1], peer.fds.pid_fd },       // blocks whoever rings
        { peer.fds.page_fd, peer.fds.event_fd, pipes[0] },     // never says that the peer has died
        { peer.arena_fd, peer.fds.event_fd, peer.fds.pid_fd }, // sealed, but no page
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(bad); i++) {
        unsigned fds = fds_open();
        struct rp_process_fds given = dup_fds(&bad[i]);
        cr_assert(
                eq(int, rp_process_ref_peer(&peer.hello.id, peer.pid, given, &process), RP_EPARAM),
                "%zu", i);
        cr_assert(eq(uint, fds_open(), fds), "%zu", i);
        cr_assert(eq(ptr, process, NULL));
    }
    process = meet(&peer); // none of them has left anything behind
    rp_process_unref(process);
    end(&peer);
}

Test(process, every_allocation_of_a_meeting_may_fail)
{
    struct peer peer;
    struct rp_process *process = NULL;
    uint8_t *base;
    start(&peer);
    rp_process_self();
    bool failed = true;
    for (int64_t n = 0; failed; n++) {
        struct rp_process_fds given = dup_fds(&peer.fds);
        unsigned fds = fds_open();
        rp_alloc_fail_after(n);
        rp_status st = rp_process_ref_peer(&peer.hello.id, peer.pid, given, &process);
        failed = !rp_alloc_fail_pending();
        rp_alloc_fail_after(-1);
        cr_assert(eq(int, st, failed ? RP_ENOMEM : RP_OK));
        cr_assert(eq(uint, fds_open(), failed ? fds - 3 : fds - 1 + 1)); // page closed, epoll new
    }
    int fd = dup(peer.arena_fd);
    rp_alloc_fail_after(0);
    cr_assert(eq(
            int, rp_process_map_arena(process, 0, fd, peer.hello.arena_bytes, &base), RP_ENOMEM));
    cr_assert(eq(int, fcntl(fd, F_GETFD), -1));
    rp_process_unref(process);
    end(&peer);
}

// ---- death ----

Test(process, death_is_noticed_by_pidfd, .timeout = 30)
{
    struct peer dies;
    struct peer lives;
    start(&dies);
    start(&lives);
    cr_assert(ge(int, dies.fds.pid_fd, 0));
    struct rp_process *dead = meet(&dies);
    struct rp_process *alive = meet(&lives);
    rp_process_sweep();
    cr_assert(not(rp_process_died(dead)));
    kill(dies.pid, SIGKILL);
    cr_assert(dies_soon(dead)); // also while nobody has waited for it
    cr_assert(not(rp_process_died(alive)));
    cr_assert(eq(int, child_wait(dies.pid, 20), -SIGKILL));
    rp_process_sweep();
    cr_assert(rp_process_died(dead));
    rp_process_unref(dead);
    rp_process_unref(alive);
    end(&lives);
}

// A container that refuses pidfd_open: the pid serves, because /proc shows that it has the page.
Test(process, death_is_noticed_without_pidfd, .timeout = 30)
{
    struct peer peer;
    start(&peer);
    close(peer.fds.pid_fd);
    peer.fds.pid_fd = -1;
    struct rp_process *process = meet(&peer);
    rp_process_sweep();
    cr_assert(not(rp_process_died(process)));
    kill(peer.pid, SIGKILL);
    cr_assert(dies_soon(process)); // a zombie still
    cr_assert(eq(int, child_wait(peer.pid, 20), -SIGKILL));
    rp_process_unref(process);
}

// The main thread's end makes the process look like a zombie.
static void assert_outlives_main(bool pidfd)
{
    const struct timespec pause = { .tv_nsec = 50000000 };
    struct peer peer;
    start(&peer);
    if (!pidfd) {
        close(peer.fds.pid_fd);
        peer.fds.pid_fd = -1;
    }
    struct rp_process *process = meet(&peer);
    tell(&peer, ORDER_LEAVE_MAIN);
    nanosleep(&pause, NULL);
    rp_process_sweep();
    cr_assert(not(rp_process_died(process)));
    tell(&peer, ORDER_EXIT);
    cr_assert(dies_soon(process));
    cr_assert(eq(int, child_wait(peer.pid, 20), 0));
    rp_process_unref(process);
}

Test(process, process_outlives_its_main_thread)
{
    assert_outlives_main(true);
}

Test(process, process_outlives_its_main_thread_without_pidfd)
{
    assert_outlives_main(false);
}

static int just_exit(void *arg)
{
    (void)arg;
    return 0;
}

// Another pid namespace: the peer's number is somebody else here, whose death says nothing.
Test(process, pid_that_is_not_the_peers_proves_nothing)
{
    struct peer peer;
    start(&peer);
    struct rp_process *process = NULL;
    pid_t other = child_start(just_exit, NULL);
    close(peer.fds.pid_fd);
    peer.fds.pid_fd = -1;
    cr_assert(eq(int, rp_process_ref_peer(&peer.hello.id, other, peer.fds, &process), RP_OK));
    cr_assert(eq(int, child_wait(other, 20), 0));
    rp_process_sweep();
    cr_assert(not(rp_process_died(process)));
    rp_process_unref(process);
    end(&peer);
}

Test(process, many_deaths_are_noticed_by_one_sweep, .timeout = 60)
{
    static struct peer peer[PEERS_MAX];
    struct rp_process *process[PEERS_MAX];
    for (int i = 0; i < PEERS_MAX; i++) {
        start(&peer[i]);
    }
    for (int i = 0; i < PEERS_MAX; i++) {
        process[i] = meet(&peer[i]);
    }
    for (int i = 0; i < PEERS_MAX; i++) {
        end(&peer[i]);
    }
    rp_process_sweep();
    for (int i = 0; i < PEERS_MAX; i++) {
        cr_assert(rp_process_died(process[i]), "%d", i);
        rp_process_unref(process[i]);
    }
    rp_process_sweep();
}

// ---- arenas ----

static unsigned mappings_of_devices(void)
{
    char line[512];
    unsigned count = 0;
    FILE *file = fopen("/proc/self/maps", "re");
    while (fgets(line, sizeof(line), file) != NULL) {
        count += strstr(line, "reprise-device") != NULL;
    }
    fclose(file);
    return count;
}

Test(process, arena_is_mapped_once_and_unmapped_with_the_entry)
{
    struct peer peer;
    uint8_t *base = NULL;
    uint8_t *again = NULL;
    start(&peer);
    struct rp_process *process = meet(&peer);
    uint64_t bytes = peer.hello.arena_bytes;
    int more = dup(peer.arena_fd);
    unsigned fds = fds_open();
    cr_assert(eq(int, rp_process_map_arena(process, 0, -1, bytes, &base), RP_ENOTFOUND));
    cr_assert(eq(int, rp_process_map_arena(process, 0, peer.arena_fd, bytes, &base), RP_OK));
    cr_assert(eq(str, (char *)base + peer.hello.mark_off, "first"));
    cr_assert(eq(int, rp_process_map_arena(process, 0, more, bytes, &again), RP_OK));
    cr_assert(eq(ptr, again, base));
    cr_assert(eq(int, rp_process_map_arena(process, 0, -1, bytes, &again), RP_OK));
    cr_assert(eq(ptr, again, base));
    cr_assert(eq(int, rp_process_map_arena(process, 0, -1, bytes + 1, &again), RP_EPARAM));
    cr_assert(eq(int, rp_process_map_arena(process, 1, -1, bytes, &again), RP_ENOTFOUND));
    cr_assert(eq(uint, fds_open(), fds - 2));
    cr_assert(eq(uint, mappings_of_devices(), 1));
    rp_process_unref(process);
    cr_assert(eq(uint, mappings_of_devices(), 0));
    end(&peer);
}

Test(process, arena_of_a_device_that_was_reset_is_another_one)
{
    struct peer peer;
    uint8_t *old = NULL;
    uint8_t *base = NULL;
    start(&peer);
    struct rp_process *process = meet(&peer);
    uint64_t bytes = peer.hello.arena_bytes;
    cr_assert(eq(int, rp_process_map_arena(process, 0, peer.arena_fd, bytes, &old), RP_OK));
    tell(&peer, ORDER_NEW_ARENA);
    hear(&peer);
    cr_assert(eq(ptr, meet(&peer), process));
    cr_assert(eq(int, rp_process_map_arena(process, 0, peer.arena_fd, bytes, &base), RP_OK));
    cr_assert(ne(ptr, base, old));
    cr_assert(eq(str, (char *)base + peer.hello.mark_off, "second"));
    cr_assert(eq(int, rp_process_map_arena(process, 0, -1, bytes, &base), RP_OK));
    cr_assert(eq(str, (char *)base + peer.hello.mark_off, "second"));
    rp_process_unref(process);
    rp_process_unref(process);
    end(&peer);
}

Test(process, arena_that_could_fault_is_refused)
{
    struct peer peer;
    uint8_t *base = NULL;
    start(&peer);
    struct rp_process *process = meet(&peer);
    int loose = memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    cr_assert(eq(int, ftruncate(loose, (off_t)MIB), 0));
    cr_assert(eq(int, rp_process_map_arena(process, 0, loose, MIB, &base), RP_EPARAM));
    uint64_t bytes = peer.hello.arena_bytes;
    int more = dup(peer.arena_fd);
    cr_assert(eq(int, rp_process_map_arena(process, 0, more, bytes + 4096, &base), RP_EPARAM));
    cr_assert(eq(int, rp_process_map_arena(process, 0, peer.arena_fd, 0, &base), RP_EPARAM));
    cr_assert(eq(ptr, base, NULL));
    rp_process_unref(process);
    end(&peer);
}

Test(process, arena_that_the_address_limit_forbids_is_out_of_memory)
{
    if (!address_limit_works()) {
        cr_skip("AddressSanitizer's shadow alone takes terabytes of address space");
    }
    struct peer peer;
    uint8_t *base = NULL;
    start(&peer);
    struct rp_process *process = meet(&peer);
    const struct rlimit limit = { 64 * 1024, RLIM_INFINITY }; // below what is in use
    struct rlimit before;
    getrlimit(RLIMIT_AS, &before);
    setrlimit(RLIMIT_AS, &limit);
    rp_status st = rp_process_map_arena(process, 0, peer.arena_fd, peer.hello.arena_bytes, &base);
    setrlimit(RLIMIT_AS, &before);
    cr_assert(eq(int, st, RP_ENOMEM));
    cr_assert(eq(ptr, base, NULL));
    rp_process_unref(process);
    end(&peer);
}
