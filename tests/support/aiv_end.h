#ifndef TESTS_SUPPORT_AIV_END_H
#define TESTS_SUPPORT_AIV_END_H

/* Ranks that fail: what a test does with a failure, and communicators that lose a rank. */

#include <stdbool.h>

#include "support/fake_comm.h"

/**
 * aiv_give_up: what a rank does with a failure: tell the others, then wait until
 * its memory is its own again. False when that takes too long.
 */
bool aiv_give_up(struct fake_comm *comm, uint32_t rank, rp_status st);

/** aiv_is_sentence: whether this thread's pending sentences contain `part`; takes them. */
bool aiv_is_sentence(const char *part);

/**
 * aiv_end_a_rank: threads run random ops until one of them dies, or gives up
 * and overwrites its memory as soon as that is allowed, at a step of an op that
 * `seed` chooses. True when every rank ended with an error that names it, and
 * every op that succeeded anywhere was right.
 */
bool aiv_end_a_rank(unsigned seed, bool dies);

#endif
