#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "base/clock.h"
#include "base/util.h"
#include "base/wait.h"

struct tally {
    unsigned spins;
    unsigned yields;
    uint64_t ns;
};

// Waits until told to sleep; the verdicts must come in the order spin, yield, sleep.
static struct tally wait_until_sleep(struct rp_backoff *backoff)
{
    struct tally tally = { 0 };
    enum rp_backoff_verdict last = RP_SPIN;
    uint64_t start_ns = rp_now_ns();
    for (;;) {
        enum rp_backoff_verdict verdict = rp_backoff_next(backoff);
        cr_assert(ge(int, verdict, last));
        last = verdict;
        tally.spins += verdict == RP_SPIN;
        tally.yields += verdict == RP_YIELDED;
        if (verdict == RP_SLEEP) {
            tally.ns = rp_now_ns() - start_ns;
            return tally;
        }
    }
}

Test(wait, with_a_core_for_each_rank_it_spins_for_microseconds)
{
    struct rp_backoff backoff;
    rp_backoff_init(&backoff, 2, 2);
    struct tally tally = wait_until_sleep(&backoff);
    cr_assert(ge(u64, tally.ns, 50 * RP_NS_PER_US));
    cr_assert(gt(uint, tally.spins, 100));
    cr_assert(ge(uint, tally.yields, 1));
}

Test(wait, with_more_ranks_than_cores_it_gives_the_core_away_soon)
{
    static const struct {
        unsigned ranks;
        unsigned cores;
    } rows[] = { { 3, 2 }, { 8, 2 }, { 16, 1 }, { 1000, 2 } };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        struct rp_backoff backoff;
        rp_backoff_init(&backoff, rows[i].ranks, rows[i].cores);
        struct tally tally = wait_until_sleep(&backoff);
        cr_assert(le(uint, tally.spins, 32), "row %zu", i);
        cr_assert(ge(uint, tally.yields, 1), "row %zu", i);
        cr_assert(le(uint, tally.yields, 8), "row %zu", i);
    }
}

Test(wait, keeps_saying_sleep_until_reset)
{
    struct rp_backoff backoff;
    rp_backoff_init(&backoff, 8, 2);
    struct tally first = wait_until_sleep(&backoff);
    for (int i = 0; i < 10; i++) {
        cr_assert(eq(int, rp_backoff_next(&backoff), RP_SLEEP));
    }
    rp_backoff_reset(&backoff);
    struct tally second = wait_until_sleep(&backoff);
    cr_assert(eq(uint, second.spins, first.spins));
    cr_assert(eq(uint, second.yields, first.yields));
}

Test(wait, zero_cores_count_as_one)
{
    struct rp_backoff backoff;
    rp_backoff_init(&backoff, 4, 0);
    struct tally tally = wait_until_sleep(&backoff);
    cr_assert(le(uint, tally.spins, 32));
    rp_backoff_init(&backoff, 0, 0);
    cr_assert(eq(int, rp_backoff_next(&backoff), RP_SPIN));
}
