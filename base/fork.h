#ifndef RP_BASE_FORK_H
#define RP_BASE_FORK_H

/*
 * A process that forks after it used the library keeps its own communicators; the child gets one
 * clear error from every call. The child owns none of our threads, and its copies of our sockets
 * would keep a dead parent's connections open, so they are closed in it at once. Memory that is
 * mapped shared is left alone: whoever holds a pointer into it may still read it.
 */

#include <stdatomic.h>
#include <stdbool.h>

#include "base/status.h"

enum rp_process_state {
    RP_PROCESS_FRESH,  /* no acl or Hccl call yet: forking is harmless */
    RP_PROCESS_ARMED,  /* the fork handlers stand */
    RP_PROCESS_FORKED, /* a child of an armed process */
};

extern _Atomic int rp_process_state;

/* Out of line: arms the process, or says why it cannot be used. */
RP_MUST_USE rp_status rp_process_check_slow(void);

/**
 * rp_process_check: the first line of every public call.
 *
 *   RP_EFORKED  this process was forked from one that had used the library
 *   RP_ENOMEM   the fork handlers could not be installed
 */
static inline RP_MUST_USE rp_status rp_process_check(void)
{
    // relaxed: only this process' first call and the fork itself change it, and a thread that sees
    // it late takes the slow path, which is ordered.
    if (RP_LIKELY(atomic_load_explicit(&rp_process_state, memory_order_relaxed) ==
                  RP_PROCESS_ARMED)) {
        return RP_OK;
    }
    return rp_process_check_slow();
}

/** rp_process_forked: this process is such a child; for destructors, which then leave all alone. */
static inline bool rp_process_forked(void)
{
    // relaxed: stored by the only thread of the child, before anything else runs in it.
    return atomic_load_explicit(&rp_process_state, memory_order_relaxed) == RP_PROCESS_FORKED;
}

/**
 * rp_fork_guard_fd: close `fd` in every child that is forked from now on.
 *
 *   RP_ENOMEM  no room in the list; nothing was registered
 */
RP_MUST_USE rp_status rp_fork_guard_fd(int fd);

/** rp_fork_unguard_fd: forget `fd`, before it is closed. Unknown ones are ignored. */
void rp_fork_unguard_fd(int fd);

#endif /* RP_BASE_FORK_H */
