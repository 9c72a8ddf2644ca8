// See doorbell.h for the protocol. Two ways to sleep on one bell:
//
//   futex   `count` is the word. The futex is a shared one, although most bells have sleepers of
//           one process only: the kernel finds the waiters by page, whoever maps it.
//   poll    the process' eventfd, plus a private one for each polling thread. Private ones live in
//           a table whose descriptors are kept for the next poller, so a wait opens nothing.

#include "base/doorbell.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

#define POLLERS_MAX 256
#define POLL_BLIND_NS RP_NS_PER_MS // a poller without a private eventfd looks this often

static struct {
    pthread_mutex_t lock;
    int fd[POLLERS_MAX];    // private eventfds [0, opened)
    bool used[POLLERS_MAX]; // a thread polls it now
    int opened;
} pollers = { .lock = PTHREAD_MUTEX_INITIALIZER };

void rp_doorbell_init(struct rp_doorbell *bell)
{
    atomic_init(&bell->sleeping, 0);
    atomic_init(&bell->count, 0);
    atomic_init(&bell->polling, 0);
    memset(bell->pad, 0, sizeof(bell->pad));
}

static void write_eventfd(int fd)
{
    uint64_t one = 1;
    // Nonblocking: a full counter (EAGAIN) is readable already, which is all that we want.
    while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

static bool read_eventfd(int fd)
{
    uint64_t rings;
    return read(fd, &rings, sizeof(rings)) == (ssize_t)sizeof(rings);
}

void rp_doorbell_ring_slow(const struct rp_doorbell_end *end)
{
    int error = errno;
    struct rp_doorbell *bell = end->bell;
    // seq_cst [D2]: pairs with the load in rp_doorbell_prepare: a sleeper that read count before
    // this increment does not block on it any more.
    atomic_fetch_add_explicit(&bell->count, 1, memory_order_seq_cst);
    // relaxed: rp_doorbell_ring has looked in order; a sleeper who came since looks again himself.
    if (atomic_load_explicit(&bell->sleeping, memory_order_relaxed) != 0) {
        syscall(SYS_futex, &bell->count, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
    if (end->eventfd >= 0 && atomic_load_explicit(&bell->polling, memory_order_relaxed) != 0) {
        write_eventfd(end->eventfd);
    }
    errno = error;
}

static struct timespec bounded_timeout(uint64_t timeout_ns)
{
    uint64_t ns = rp_min_u64(timeout_ns, RP_WAIT_MAX_NS);
    return (struct timespec){ .tv_sec = (time_t)(ns / RP_NS_PER_S),
        .tv_nsec = (long)(ns % RP_NS_PER_S) };
}

void rp_doorbell_cancel(const struct rp_doorbell_end *end, const struct rp_sleep *sleep)
{
    (void)sleep;
    // relaxed: seen late, it costs a publisher one needless system call.
    atomic_fetch_sub_explicit(&end->bell->sleeping, 1, memory_order_relaxed);
}

enum rp_wake rp_doorbell_wait(
        const struct rp_doorbell_end *end, const struct rp_sleep *sleep, uint64_t timeout_ns)
{
    int error = errno;
    struct timespec timeout = bounded_timeout(timeout_ns);
    long result =
            syscall(SYS_futex, &end->bell->count, FUTEX_WAIT, sleep->count, &timeout, NULL, 0);
    // EAGAIN is a ring before the futex slept; EINTR a signal handler, after which to look is
    // right.
    bool timed_out = result != 0 && errno == ETIMEDOUT;
    rp_doorbell_cancel(end, sleep);
    errno = error;
    return timed_out ? RP_WAKE_TIMEOUT : RP_WAKE_BELL;
}

// A private eventfd that no other thread polls, as an index; -1 when there is none to be had.
static int32_t poller_take(void)
{
    int32_t found = -1;
    pthread_mutex_lock(&pollers.lock);
    for (int i = 0; i < pollers.opened && found < 0; i++) {
        if (!pollers.used[i]) {
            found = i;
        }
    }
    if (found < 0 && pollers.opened < POLLERS_MAX) {
        int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (fd >= 0) {
            found = pollers.opened++;
            pollers.fd[found] = fd;
        }
    }
    if (found >= 0) {
        pollers.used[found] = true;
    }
    pthread_mutex_unlock(&pollers.lock);
    return found;
}

static void poller_give_back(int32_t index)
{
    if (index < 0) {
        return;
    }
    pthread_mutex_lock(&pollers.lock);
    pollers.used[index] = false;
    pthread_mutex_unlock(&pollers.lock);
}

// The common eventfd was read by the poller `index`: no other poller will see that ring there. Who
// registers after this walk is safe too: he locks the table after us, so his second look sees
// whatever the publisher had stored before it wrote the eventfd that we read.
static void pass_ring_on(int32_t index)
{
    pthread_mutex_lock(&pollers.lock);
    for (int32_t i = 0; i < pollers.opened; i++) {
        if (i != index && pollers.used[i]) {
            write_eventfd(pollers.fd[i]);
        }
    }
    pthread_mutex_unlock(&pollers.lock);
}

void rp_doorbell_prepare_poll(const struct rp_doorbell_end *end, struct rp_sleep *sleep)
{
    int error = errno;
    // In the table before in `polling`: a ring that counts on us must find us there.
    sleep->poller = poller_take();
    sleep->count = 0;
    // seq_cst [D1]: pairs with the loads in rp_doorbell_ring; stands before the caller's look.
    atomic_fetch_add_explicit(&end->bell->polling, 1, memory_order_seq_cst);
    errno = error;
}

void rp_doorbell_cancel_poll(const struct rp_doorbell_end *end, const struct rp_sleep *sleep)
{
    // relaxed: as in rp_doorbell_cancel.
    atomic_fetch_sub_explicit(&end->bell->polling, 1, memory_order_relaxed);
    poller_give_back(sleep->poller);
}

enum rp_wake rp_doorbell_poll(const struct rp_doorbell_end *end, const struct rp_sleep *sleep,
        int extra_fd, uint64_t timeout_ns)
{
    enum { COMMON, PRIVATE, EXTRA, POLLED };
    int error = errno;
    bool blind = sleep->poller < 0;
    // Only the owner of an index changes its descriptor, and only in poller_take.
    struct pollfd polled[POLLED] = {
        [COMMON] = { .fd = end->eventfd, .events = POLLIN },
        [PRIVATE] = { .fd = blind ? -1 : pollers.fd[sleep->poller], .events = POLLIN },
        [EXTRA] = { .fd = extra_fd, .events = POLLIN }, // a negative one is skipped
    };
    struct timespec timeout =
            bounded_timeout(blind ? rp_min_u64(timeout_ns, POLL_BLIND_NS) : timeout_ns);
    int ready = ppoll(polled, POLLED, &timeout, NULL);

    unsigned woke = ready < 0 ? (unsigned)RP_WAKE_BELL : 0; // EINTR: look again
    if (ready > 0) {
        if (polled[PRIVATE].revents != 0) {
            read_eventfd(polled[PRIVATE].fd);
            woke |= RP_WAKE_BELL;
        }
        if (polled[COMMON].revents != 0) {
            if (read_eventfd(end->eventfd)) {
                pass_ring_on(sleep->poller);
            }
            woke |= RP_WAKE_BELL;
        }
        if (polled[EXTRA].revents != 0) {
            woke |= RP_WAKE_FD;
        }
    }
    rp_doorbell_cancel_poll(end, sleep);
    errno = error;
    return (enum rp_wake)woke;
}
