#ifndef REPRISE_TRANSPORT_PROCESS_WATCH_H
#define REPRISE_TRANSPORT_PROCESS_WATCH_H

/*
 * Noticing that a process has ended.
 *
 * By its pidfd, which it passed itself: all pidfds are in one epoll set, so that
 * looking at hundreds of peers is one system call. Where a kernel or container
 * refuses pidfd_open, by its pid and start time in /proc, provided that /proc
 * proves the pid to be that process. Where neither works it counts as alive.
 *
 * Threads: the process table's lock, but rp_watch_ended.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"

struct rp_watch {
    _Atomic bool ended;
    bool in_set;         /* of the epoll set */
    struct rp_list link; /* among those that are looked at one by one */
    int pid_fd;          /* -1: none */
    int64_t pid;         /* as seen from here; 0: not known */
    uint64_t start_time; /* of `pid`, in clock ticks since boot */
};

/** rp_watch_self: only holds the own pidfd, if there is one. */
void rp_watch_self(struct rp_watch *watch);

/**
 * rp_watch_open: watch a peer. Takes `pid_fd` (-1: none) on success. `page_fd` is the peer's
 * process page, by which `pid` is proved.
 *
 *   RP_EPARAM  pid_fd is not a pidfd
 */
RP_MUST_USE rp_status rp_watch_open(struct rp_watch *watch, int pid_fd, int64_t pid, int page_fd);

/** rp_watch_close: stop, and close the pidfd. */
void rp_watch_close(struct rp_watch *watch);

/** rp_watch_abandon: stop, but leave the pidfd that was given to its owner. */
void rp_watch_abandon(struct rp_watch *watch);

int rp_watch_fd(const struct rp_watch *watch);

/** rp_watch_sweep: mark all whose process has ended. */
void rp_watch_sweep(void);

/** rp_watch_ended: whether a sweep has found it ended. Any thread. */
static inline bool rp_watch_ended(const struct rp_watch *watch)
{
    // acquire [W1]: pairs with the store in mark_ended; what the process wrote is visible.
    return atomic_load_explicit(&watch->ended, memory_order_acquire);
}

#endif
