#include "base/wait.h"

#include <sched.h>

#include "base/clock.h"
#include "base/cpu.h"

// With a core for each rank: longer than a small collective takes, shorter than it costs to notice
// that the others are busy elsewhere.
#define SPIN_NS 60000
#define SPINS_PER_CLOCK 32 // a pause takes 10 to 50 ns, reading the clock about 25
#define YIELDS 4

// With more ranks than cores: the awaited rank may have no core at all, so looking again soon only
// pays for the moment in which it is publishing right now. Giving the core away is what helps: a
// barrier of 8 ranks on 2 cores took 12 to 20 us with 4 or 8 yields, 60 to 90 us with none (every
// wait a sleep), and twice as long with 100 spins before them.
#define SPINS_SHARED 8
#define YIELDS_SHARED_MIN 4
#define YIELDS_SHARED_MAX 8

void rp_backoff_init(struct rp_backoff *backoff, unsigned busy_ranks, unsigned cores)
{
    *backoff = (struct rp_backoff){ 0 };
    if (cores == 0) {
        cores = 1;
    }
    if (busy_ranks <= cores) {
        backoff->spin_ns = SPIN_NS;
        backoff->spins_max = UINT32_MAX;
        backoff->yields_max = YIELDS;
        return;
    }
    // One yield lets one other rank of this core run; after a round of them all have had a turn.
    uint64_t ranks_per_core = ((uint64_t)busy_ranks + cores - 1) / cores;
    backoff->spin_ns = UINT32_MAX;
    backoff->spins_max = SPINS_SHARED;
    backoff->yields_max =
            (uint32_t)rp_max_u64(YIELDS_SHARED_MIN, rp_min_u64(ranks_per_core, YIELDS_SHARED_MAX));
}

// Whether spinning has lasted long enough; reads the clock now and then only.
static int spin_is_over(struct rp_backoff *backoff)
{
    if (backoff->spins >= backoff->spins_max) {
        return 1;
    }
    if (backoff->spins % SPINS_PER_CLOCK != 0) {
        return 0;
    }
    uint64_t now_ns = rp_now_ns();
    if (backoff->spin_until_ns == 0) {
        backoff->spin_until_ns = now_ns + backoff->spin_ns;
        return 0;
    }
    return now_ns >= backoff->spin_until_ns;
}

enum rp_backoff_verdict rp_backoff_next(struct rp_backoff *backoff)
{
    if (backoff->yields == 0) {
        if (!spin_is_over(backoff)) {
            backoff->spins++;
            rp_cpu_pause();
            return RP_SPIN;
        }
    }
    if (backoff->yields < backoff->yields_max) {
        backoff->yields++;
        sched_yield();
        return RP_YIELDED;
    }
    return RP_SLEEP;
}
