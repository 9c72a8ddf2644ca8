// One side of the bell at a time, then two processes. Races between threads are hunted in
// tests/race/race_doorbell.c.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/doorbell.h"
#include "base/error.h"

#define SHORT_NS (20 * RP_NS_PER_MS)
#define LONG_NS (20 * RP_NS_PER_S)

static struct rp_doorbell_end *self_end(void)
{
    struct rp_doorbell_end *end = NULL;
    cr_assert(eq(int, rp_doorbell_self(&end), RP_OK));
    return end;
}

static uint32_t sleeping(const struct rp_doorbell_end *end)
{
    return atomic_load_explicit(&end->bell->sleeping, memory_order_seq_cst);
}

static uint32_t polling(const struct rp_doorbell_end *end)
{
    return atomic_load_explicit(&end->bell->polling, memory_order_seq_cst);
}

Test(doorbell, process_has_one_bell_in_one_sealed_page)
{
    cr_assert(eq(int, rp_process_page_fd(), -1));
    struct rp_doorbell_end *end = self_end();
    cr_assert(eq(ptr, self_end(), end));
    int seals = fcntl(rp_process_page_fd(), F_GET_SEALS);
    cr_assert(eq(int, seals, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
    cr_assert(eq(int, fcntl(rp_process_page_fd(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC));
    cr_assert(eq(int, fcntl(end->eventfd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC));
    cr_assert(ne(int, fcntl(end->eventfd, F_GETFL) & O_NONBLOCK, 0));
    cr_assert(eq(sz, (uintptr_t)end->bell % RP_CACHELINE, 0));
}

Test(doorbell, ring_without_sleepers_touches_nothing)
{
    struct rp_doorbell_end *end = self_end();
    struct pollfd readable = { .fd = end->eventfd, .events = POLLIN };
    rp_doorbell_ring(end);
    cr_assert(eq(u32, atomic_load_explicit(&end->bell->count, memory_order_seq_cst), 0));
    cr_assert(eq(int, poll(&readable, 1, 0), 0));
}

Test(doorbell, wait_times_out)
{
    struct rp_doorbell_end *end = self_end();
    struct rp_sleep sleep;
    rp_doorbell_prepare(end, &sleep);
    uint64_t start_ns = rp_now_ns();
    errno = EXDEV;
    cr_assert(eq(int, rp_doorbell_wait(end, &sleep, SHORT_NS), RP_WAKE_TIMEOUT));
    cr_assert(eq(int, errno, EXDEV));
    cr_assert(ge(u64, rp_now_ns() - start_ns, SHORT_NS));
    cr_assert(eq(u32, sleeping(end), 0));
}

Test(doorbell, ring_between_prepare_and_wait_is_not_lost)
{
    struct rp_doorbell_end *end = self_end();
    struct rp_sleep sleep;
    rp_doorbell_prepare(end, &sleep);
    cr_assert(eq(u32, sleeping(end), 1));
    rp_doorbell_ring(end);
    cr_assert(eq(int, rp_doorbell_wait(end, &sleep, LONG_NS), RP_WAKE_BELL));
    cr_assert(eq(u32, sleeping(end), 0));
}

Test(doorbell, cancelled_sleep_leaves_nothing_behind)
{
    struct rp_doorbell_end *end = self_end();
    struct rp_sleep sleep;
    rp_doorbell_prepare(end, &sleep);
    rp_doorbell_cancel(end, &sleep);
    rp_doorbell_prepare_poll(end, &sleep);
    rp_doorbell_cancel_poll(end, &sleep);
    cr_assert(eq(u32, sleeping(end), 0));
    cr_assert(eq(u32, polling(end), 0));
}

Test(doorbell, bell_in_ordinary_memory_works_without_an_eventfd)
{
    struct rp_doorbell bell;
    struct rp_doorbell_end end = { .bell = &bell, .eventfd = -1 };
    struct rp_sleep sleep;
    rp_doorbell_init(&bell);
    rp_doorbell_prepare(&end, &sleep);
    rp_doorbell_ring(&end);
    cr_assert(eq(int, rp_doorbell_wait(&end, &sleep, LONG_NS), RP_WAKE_BELL));
}

Test(doorbell, poll_times_out)
{
    struct rp_doorbell_end *end = self_end();
    struct rp_sleep sleep;
    rp_doorbell_prepare_poll(end, &sleep);
    cr_assert(eq(u32, polling(end), 1));
    uint64_t start_ns = rp_now_ns();
    cr_assert(eq(int, rp_doorbell_poll(end, &sleep, -1, SHORT_NS), RP_WAKE_TIMEOUT));
    cr_assert(ge(u64, rp_now_ns() - start_ns, SHORT_NS));
    cr_assert(eq(u32, polling(end), 0));
}

Test(doorbell, ring_between_prepare_and_poll_is_not_lost)
{
    struct rp_doorbell_end *end = self_end();
    struct rp_sleep sleep;
    for (int i = 0; i < 3; i++) {
        rp_doorbell_prepare_poll(end, &sleep);
        rp_doorbell_ring(end);
        cr_assert(eq(int, rp_doorbell_poll(end, &sleep, -1, LONG_NS), RP_WAKE_BELL));
    }
    rp_doorbell_prepare_poll(end, &sleep);
    cr_assert(eq(int, rp_doorbell_poll(end, &sleep, -1, SHORT_NS), RP_WAKE_TIMEOUT),
            "every ring has been read");
}

Test(doorbell, poll_sees_the_extra_descriptor)
{
    struct rp_doorbell_end *end = self_end();
    struct rp_sleep sleep;
    int pipe_fds[2];
    cr_assert(eq(int, pipe(pipe_fds), 0));
    cr_assert(eq(int, (int)write(pipe_fds[1], "x", 1), 1));
    rp_doorbell_prepare_poll(end, &sleep);
    cr_assert(eq(int, rp_doorbell_poll(end, &sleep, pipe_fds[0], LONG_NS), RP_WAKE_FD));
    rp_doorbell_prepare_poll(end, &sleep);
    rp_doorbell_ring(end);
    cr_assert(eq(int, (int)rp_doorbell_poll(end, &sleep, pipe_fds[0], LONG_NS),
            RP_WAKE_FD | RP_WAKE_BELL));
}

Test(doorbell, who_reads_the_eventfd_passes_the_ring_on)
{
    struct rp_doorbell_end *end = self_end();
    struct rp_sleep first;
    struct rp_sleep second;
    struct rp_sleep third;
    rp_doorbell_prepare_poll(end, &first);
    rp_doorbell_prepare_poll(end, &second);
    rp_doorbell_prepare_poll(end, &third);
    rp_doorbell_ring(end);
    // The first drains the common eventfd; the others have only what it passes on.
    cr_assert(eq(int, rp_doorbell_poll(end, &first, -1, LONG_NS), RP_WAKE_BELL));
    cr_assert(eq(int, rp_doorbell_poll(end, &second, -1, LONG_NS), RP_WAKE_BELL));
    cr_assert(eq(int, rp_doorbell_poll(end, &third, -1, LONG_NS), RP_WAKE_BELL));
}

Test(doorbell, one_ring_wakes_sleepers_and_pollers)
{
    struct rp_doorbell_end *end = self_end();
    struct rp_sleep sleeper;
    struct rp_sleep poller;
    rp_doorbell_prepare(end, &sleeper);
    rp_doorbell_prepare_poll(end, &poller);
    rp_doorbell_ring(end);
    cr_assert(eq(int, rp_doorbell_wait(end, &sleeper, LONG_NS), RP_WAKE_BELL));
    cr_assert(eq(int, rp_doorbell_poll(end, &poller, -1, LONG_NS), RP_WAKE_BELL));
}

Test(doorbell, poll_without_a_descriptor_left_looks_often)
{
    struct rp_doorbell_end *end = self_end();
    struct rp_sleep sleep;
    struct rlimit limit;
    cr_assert(eq(int, getrlimit(RLIMIT_NOFILE, &limit), 0));
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 0;
    cr_assert(eq(int, setrlimit(RLIMIT_NOFILE, &limit), 0));
    rp_doorbell_prepare_poll(end, &sleep);
    limit.rlim_cur = before;
    cr_assert(eq(int, setrlimit(RLIMIT_NOFILE, &limit), 0));
    cr_assert(eq(i32, sleep.poller, -1));
    uint64_t start_ns = rp_now_ns();
    cr_assert(eq(int, rp_doorbell_poll(end, &sleep, -1, LONG_NS), RP_WAKE_TIMEOUT));
    cr_assert(lt(u64, rp_now_ns() - start_ns, RP_NS_PER_S));
    rp_doorbell_prepare_poll(end, &sleep);
    rp_doorbell_ring(end);
    cr_assert(eq(int, rp_doorbell_poll(end, &sleep, -1, LONG_NS), RP_WAKE_BELL));
}

Test(doorbell, hundreds_of_pollers_at_once)
{
    static struct rp_sleep sleeps[300];
    struct rp_doorbell_end *end = self_end();
    for (int i = 0; i < 300; i++) {
        rp_doorbell_prepare_poll(end, &sleeps[i]);
    }
    rp_doorbell_ring(end);
    for (int i = 0; i < 300; i++) {
        enum rp_wake wake = rp_doorbell_poll(end, &sleeps[i], -1, LONG_NS);
        bool blind = sleeps[i].poller < 0;
        cr_assert(blind || wake == RP_WAKE_BELL, "poller %d", i);
    }
    cr_assert(eq(u32, polling(end), 0));
}

Test(doorbell, foreign_descriptors_are_refused)
{
    struct rp_doorbell_end end = { .eventfd = 77 };
    int plain = memfd_create("plain", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int pipe_fds[2];
    cr_assert(eq(int, ftruncate(plain, 4096), 0));
    cr_assert(eq(int, pipe(pipe_fds), 0));
    cr_assert(eq(int, rp_doorbell_attach(&end, plain, -1), RP_EPARAM), "not sealed");
    cr_assert(eq(int, rp_doorbell_attach(&end, pipe_fds[0], -1), RP_EPARAM), "no memfd");
    cr_assert(eq(int, rp_doorbell_attach(&end, -1, -1), RP_EPARAM));
    cr_assert(eq(int, fcntl(plain, F_ADD_SEALS, F_SEAL_SHRINK), 0));
    cr_assert(eq(int, rp_doorbell_attach(&end, plain, -1), RP_EPARAM), "no page of ours");
    int small = memfd_create("small", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    cr_assert(eq(int, ftruncate(small, 100), 0));
    cr_assert(eq(int, fcntl(small, F_ADD_SEALS, F_SEAL_SHRINK), 0));
    cr_assert(eq(int, rp_doorbell_attach(&end, small, -1), RP_EPARAM), "too small");
    cr_assert(eq(int, end.eventfd, 77), "untouched");
}

Test(doorbell, file_size_limit_is_an_error_and_no_signal)
{
    struct rp_doorbell_end *end;
    struct rlimit limit = { .rlim_cur = 100, .rlim_max = 100 };
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(rp_doorbell_self(&end) == RP_ENORES ? 0 : 1);
    }
    int status;
    cr_assert(eq(int, waitpid(child, &status, 0), child));
    cr_assert(eq(int, status, 0));
}

// With room for no descriptor, then for the memfd only.
Test(doorbell, running_out_of_descriptors_is_an_error_and_can_be_repeated)
{
    struct rp_doorbell_end *end = NULL;
    struct rlimit limit;
    cr_assert(eq(int, getrlimit(RLIMIT_NOFILE, &limit), 0));
    rlim_t before = limit.rlim_cur;
    int next = dup(0);
    close(next);
    for (int room = 0; room < 2; room++) {
        limit.rlim_cur = (rlim_t)(next + room);
        cr_assert(eq(int, setrlimit(RLIMIT_NOFILE, &limit), 0));
        rp_status st = rp_doorbell_self(&end);
        limit.rlim_cur = before;
        cr_assert(eq(int, setrlimit(RLIMIT_NOFILE, &limit), 0));
        cr_assert(eq(int, st, RP_ESYS));
        cr_assert(eq(ptr, end, NULL));
        cr_assert(eq(int, fcntl(next, F_GETFD), -1), "a descriptor was left open");
    }
    cr_assert(eq(int, rp_doorbell_self(&end), RP_OK));
}

// Two processes hand a number back and forth; each sleeps by `wait` until the other's has come.
struct shared {
    _Alignas(RP_CACHELINE) _Atomic uint32_t number[2];
    uint8_t pad[RP_CACHELINE - 8];
    struct rp_doorbell bell[2];
    _Atomic uint32_t timeouts;
};

static struct shared *shared;
static struct rp_doorbell_end ends[2];
static bool by_poll;

static bool await(int me, uint32_t number)
{
    struct rp_sleep sleep;
    uint64_t deadline_ns = rp_deadline_ns(LONG_NS);
    while (rp_now_ns() < deadline_ns) {
        if (atomic_load_explicit(&shared->number[1 - me], memory_order_seq_cst) >= number) {
            return true;
        }
        if (by_poll) {
            rp_doorbell_prepare_poll(&ends[me], &sleep);
        } else {
            rp_doorbell_prepare(&ends[me], &sleep);
        }
        bool there = atomic_load_explicit(&shared->number[1 - me], memory_order_seq_cst) >= number;
        enum rp_wake wake = RP_WAKE_BELL;
        if (there && by_poll) {
            rp_doorbell_cancel_poll(&ends[me], &sleep);
        } else if (there) {
            rp_doorbell_cancel(&ends[me], &sleep);
        } else if (by_poll) {
            wake = rp_doorbell_poll(&ends[me], &sleep, -1, 2 * RP_NS_PER_S);
        } else {
            wake = rp_doorbell_wait(&ends[me], &sleep, 2 * RP_NS_PER_S);
        }
        // The backstop would hide a lost ring: it must never be what wakes us.
        if (wake == RP_WAKE_TIMEOUT) {
            atomic_fetch_add_explicit(&shared->timeouts, 1, memory_order_relaxed);
        }
    }
    return false;
}

static bool play(int me, uint32_t rounds)
{
    for (uint32_t i = 1; i <= rounds; i++) {
        if (me == 1 && !await(me, i)) {
            return false;
        }
        atomic_store_explicit(&shared->number[me], i, memory_order_seq_cst);
        rp_doorbell_ring(&ends[1 - me]);
        if (me == 0 && !await(me, i)) {
            return false;
        }
    }
    return true;
}

static void play_with_a_child(uint32_t rounds)
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert(ne(ptr, shared, MAP_FAILED));
    for (int i = 0; i < 2; i++) {
        rp_doorbell_init(&shared->bell[i]);
        ends[i] = (struct rp_doorbell_end){ .bell = &shared->bell[i],
            .eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
    }
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(play(1, rounds) ? 0 : 1);
    }
    bool good = play(0, rounds);
    int status;
    cr_assert(eq(int, waitpid(child, &status, 0), child));
    cr_assert(good, "the child's answer never came");
    cr_assert(eq(int, status, 0));
    cr_assert(eq(u32, shared->timeouts, 0), "rings were lost");
}

Test(doorbell, two_processes_wake_each_other, .timeout = 120)
{
    play_with_a_child(20000);
}

Test(doorbell, two_processes_wake_each_other_by_descriptor, .timeout = 120)
{
    by_poll = true;
    play_with_a_child(20000);
}

// As transport does it: the peer maps the page from its descriptor.
Test(doorbell, peer_rings_through_the_process_page)
{
    struct rp_doorbell_end *end = self_end();
    struct rp_doorbell_end peer;
    struct rp_sleep sleep;
    int eventfd_copy = dup(end->eventfd);
    cr_assert(eq(int, rp_doorbell_attach(&peer, rp_process_page_fd(), eventfd_copy), RP_OK));
    cr_assert(ne(ptr, peer.bell, end->bell));
    rp_doorbell_prepare(end, &sleep);
    pid_t child = fork();
    if (child == 0) {
        usleep(20000); // the parent is asleep by now, most likely
        rp_doorbell_ring(&peer);
        _exit(0);
    }
    cr_assert(eq(int, rp_doorbell_wait(end, &sleep, LONG_NS), RP_WAKE_BELL));
    rp_doorbell_prepare_poll(end, &sleep);
    rp_doorbell_ring(&peer);
    cr_assert(eq(int, rp_doorbell_poll(end, &sleep, -1, LONG_NS), RP_WAKE_BELL));
    rp_doorbell_detach(&peer);
    cr_assert(eq(int, fcntl(eventfd_copy, F_GETFD), -1));
    cr_assert(eq(int, waitpid(child, NULL, 0), child));
}
