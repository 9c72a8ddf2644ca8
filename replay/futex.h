#ifndef REPRISE_REPLAY_FUTEX_H
#define REPRISE_REPLAY_FUTEX_H

/* The two futex calls, on words that only this process shares. Both keep errno. */

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/** rp_futex_wait: sleep while `*word` is `expected`, at most `timeout_ns`; may also wake for
 *  nothing. The caller looks again. */
static inline void rp_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
    int error = errno;
    struct timespec timeout = {
        .tv_sec = (time_t)(timeout_ns / RP_NS_PER_S),
        .tv_nsec = (long)(timeout_ns % RP_NS_PER_S),
    };
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &timeout, NULL, 0);
    errno = error;
}

/** rp_futex_wake: wake at most `count` threads that sleep on `*word`. */
static inline void rp_futex_wake(_Atomic uint32_t *word, int count)
{
    int error = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
    errno = error;
}

#endif
