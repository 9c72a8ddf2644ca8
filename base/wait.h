#ifndef RP_BASE_WAIT_H
#define RP_BASE_WAIT_H

/*
 * How long to look before sleeping.
 *
 * With one rank a core, an answer is a cache miss away and a spinning waiter sees it at once. With
 * eight ranks on two cores a spinning waiter burns the time that the awaited rank needs: there
 * the core must be given away almost at once. So the limits follow from how many ranks of this
 * machine are busy and how many cores they share; the policy is here, what "sleep" means is the
 * caller's (base/doorbell.h).
 *
 *     struct rp_backoff wait;
 *     rp_backoff_init(&wait, busy_ranks, rp_cpu_usable());
 *     while (!arrived()) {
 *         if (rp_backoff_next(&wait) == RP_SLEEP) {
 *             ... prepare, look again, wait ...
 *         }
 *     }
 *
 * Threads: one at a time per struct.
 */

#include <stdint.h>

enum rp_backoff_verdict {
    RP_SPIN,    /* paused for a moment: look again */
    RP_YIELDED, /* gave the core away once: look again */
    RP_SLEEP,   /* looking is of no more use: sleep, then look again */
};

struct rp_backoff {
    uint64_t spin_until_ns; /* 0: the clock has not been read yet */
    uint32_t spin_ns;       /* how long to spin, when there is a core for each rank */
    uint32_t spins_max;     /* how often to spin, whatever the time */
    uint32_t yields_max;
    uint32_t spins; /* since the last reset */
    uint32_t yields;
};

/** rp_backoff_init: limits for `busy_ranks` waiting or running ranks on `cores` cores. */
void rp_backoff_init(struct rp_backoff *backoff, unsigned busy_ranks, unsigned cores);

/** rp_backoff_next: wait a little, or say that it is time to sleep. Bounded by microseconds. */
enum rp_backoff_verdict rp_backoff_next(struct rp_backoff *backoff);

/** rp_backoff_reset: there was progress; the next wait starts from the beginning. */
static inline void rp_backoff_reset(struct rp_backoff *backoff)
{
    backoff->spin_until_ns = 0;
    backoff->spins = 0;
    backoff->yields = 0;
}

#endif /* RP_BASE_WAIT_H */
