#ifndef RP_BASE_DOORBELL_H
#define RP_BASE_DOORBELL_H

/*
 * The doorbell: how a thread sleeps until another thread or process has published something.
 *
 * The problem: "look, then sleep" loses a publication that falls in between, and a system call for
 * every publication costs more than the exchange itself. The rule that solves both (checked with
 * Spin, tests/model/doorbell.pml):
 *
 *     publisher                             sleeper
 *     store the publication   seq_cst       rp_doorbell_prepare   sleeping++ seq_cst, reads count
 *     rp_doorbell_ring        loads         look again            seq_cst loads
 *       sleeping, polling     seq_cst       rp_doorbell_wait      blocks while count is unchanged
 *       and acts if not 0                     or rp_doorbell_cancel
 *
 * Whichever of the publisher's load and the sleeper's increment comes first in the total order of
 * seq_cst operations, one of the two sees the other. `sleeping` counts threads (as a flag, the
 * first to wake would clear it for the others), `count` is read before the second look, and a ring
 * wakes all.
 *
 * Each process has one bell for everything that reaches it from outside. It lies in the process
 * page, a sealed memfd of one page that every peer maps once, whatever communicators they share
 * (one bell per communicator was the first plan; a process in several would then say `sleeping` in
 * each of them). Who has sockets cannot block in a futex: it counts itself in `polling` instead and
 * polls descriptors, the bell's eventfd among them, which is written only while `polling` is not 0.
 * An eventfd wakes only whoever reads it. So each poller has a private eventfd too, and whoever
 * reads the common one passes the ring on to the private ones of all others.
 *
 *     process page (memfd)
 *     0    magic, version, pid              64   struct rp_doorbell
 *
 * A bell in ordinary memory (rp_doorbell_init) serves threads of one process; it has no eventfd.
 * Every wait is timed: a backstop against a peer that dies between its store and its ring.
 */

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* The longest that a sleeper should stay blind to a peer that died before it could ring. */
#define RP_BACKSTOP_NS UINT64_C(10000000)

/* A longer timeout is cut to this, so that no wait is without an end; sleepers look and go on. */
#define RP_WAIT_MAX_NS UINT64_C(60000000000)

struct rp_doorbell {
    _Alignas(RP_CACHELINE) _Atomic uint32_t sleeping; /* threads blocked, or about to, on count */
    _Atomic uint32_t count;                           /* rings; the futex word */
    _Atomic uint32_t polling;                         /* threads in poll(), or about to */
    uint8_t pad[RP_CACHELINE - 3 * sizeof(uint32_t)];
};
static_assert(sizeof(struct rp_doorbell) == RP_CACHELINE, "one bell, one line");
static_assert(ATOMIC_INT_LOCK_FREE == 2, "a lock would not cross processes");

/* One side of a bell: the line, and the eventfd that wakes its pollers, -1 when it has none. */
struct rp_doorbell_end {
    struct rp_doorbell *bell;
    int eventfd;
};

/* What a thread remembers between prepare and wait. */
struct rp_sleep {
    uint32_t count; /* the bell's count before the second look */
    int32_t poller; /* rp_doorbell_prepare_poll: this thread's private eventfd, -1: none */
};

/* What rp_doorbell_wait and rp_doorbell_poll return, or'ed; 0: the time is over. */
enum rp_wake {
    RP_WAKE_TIMEOUT = 0,
    RP_WAKE_BELL = 1, /* somebody rang; also spuriously */
    RP_WAKE_FD = 2,   /* extra_fd is readable, or has failed */
};

/** rp_doorbell_init: a silent bell in memory that the caller cleared or has just allocated. */
void rp_doorbell_init(struct rp_doorbell *bell);

/* Out of line: wake whoever says that it sleeps. */
void rp_doorbell_ring_slow(const struct rp_doorbell_end *end);

/**
 * rp_doorbell_ring: wake every thread that sleeps on `end`.
 *
 * Call it after the publication's own seq_cst store, or read-modify-write. Two loads when nobody
 * sleeps. Any thread or process, also one that holds locks; not from a signal handler. Keeps errno.
 */
static inline void rp_doorbell_ring(const struct rp_doorbell_end *end)
{
    // seq_cst [D1]: pairs with the increments in rp_doorbell_prepare and _prepare_poll.
    if (RP_UNLIKELY(
                (atomic_load_explicit(&end->bell->sleeping, memory_order_seq_cst) |
                        atomic_load_explicit(&end->bell->polling, memory_order_seq_cst)) != 0)) {
        rp_doorbell_ring_slow(end);
    }
}

/** rp_doorbell_prepare: say that this thread is about to sleep. Then look again, seq_cst. */
static inline void rp_doorbell_prepare(const struct rp_doorbell_end *end, struct rp_sleep *sleep)
{
    // seq_cst [D1]: pairs with the loads in rp_doorbell_ring; stands before the caller's look.
    atomic_fetch_add_explicit(&end->bell->sleeping, 1, memory_order_seq_cst);
    // seq_cst [D2]: pairs with the increment in rp_doorbell_ring_slow; stays before the look.
    sleep->count = atomic_load_explicit(&end->bell->count, memory_order_seq_cst);
    sleep->poller = -1;
}

/** rp_doorbell_cancel: the second look found something; this thread does not sleep. */
void rp_doorbell_cancel(const struct rp_doorbell_end *end, const struct rp_sleep *sleep);

/**
 * rp_doorbell_wait: block until a ring since rp_doorbell_prepare, at most `timeout_ns`.
 *
 * Ends the sleep; the next one starts with rp_doorbell_prepare again.
 */
enum rp_wake rp_doorbell_wait(
        const struct rp_doorbell_end *end, const struct rp_sleep *sleep, uint64_t timeout_ns);

/**
 * rp_doorbell_prepare_poll: as rp_doorbell_prepare, for a thread that will poll descriptors.
 *
 * `end` is rp_doorbell_self(). When no descriptor is left for the private eventfd the poll still
 * works, but is cut to a millisecond.
 */
void rp_doorbell_prepare_poll(const struct rp_doorbell_end *end, struct rp_sleep *sleep);

/** rp_doorbell_cancel_poll: as rp_doorbell_cancel, after rp_doorbell_prepare_poll. */
void rp_doorbell_cancel_poll(const struct rp_doorbell_end *end, const struct rp_sleep *sleep);

/**
 * rp_doorbell_poll: block until a ring since rp_doorbell_prepare_poll or until `extra_fd` is
 * readable (a libuv loop's backend descriptor; -1: none), at most `timeout_ns`. Ends the sleep.
 */
enum rp_wake rp_doorbell_poll(const struct rp_doorbell_end *end, const struct rp_sleep *sleep,
        int extra_fd, uint64_t timeout_ns);

/**
 * rp_doorbell_self: this process' own bell, in its process page.
 *
 * Made at the first call; valid until the process ends. Local ranks use this pointer, never a
 * mapping of their own.
 *
 *   RP_ESYS     memfd, mmap or eventfd failed
 *   RP_EFORKED  a forked child
 */
RP_MUST_USE rp_status rp_doorbell_self(struct rp_doorbell_end **end);

/** rp_process_page_fd: the memfd to pass to a peer; -1 before rp_doorbell_self succeeded. */
int rp_process_page_fd(void);

/**
 * rp_doorbell_attach: a peer's bell, from the two descriptors that it passed.
 *
 * `page_fd` is only mapped and stays the caller's; `eventfd` belongs to `end` on success.
 *
 *   RP_EPARAM  not a sealed process page of our layout
 *   RP_ESYS    it could not be mapped
 */
RP_MUST_USE rp_status rp_doorbell_attach(struct rp_doorbell_end *end, int page_fd, int eventfd);

/** rp_doorbell_detach: unmap the page and close the eventfd. Nobody rings `end` any more. */
void rp_doorbell_detach(struct rp_doorbell_end *end);

#endif /* RP_BASE_DOORBELL_H */
