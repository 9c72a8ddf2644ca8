#ifndef TESTS_SUPPORT_RANDOM_PROGRAM_SHRINK_H
#define TESTS_SUPPORT_RANDOM_PROGRAM_SHRINK_H

/* What to say about a random program that fails: the smallest part of it that still does. */

#include <stdint.h>

#include "support/random_program_run.h"

/** random_features: all, or those of the number in REPRISE_FEATURES. */
unsigned random_features(void);

/**
 * random_run: the programs of the seeds `first`, `first` + 3, ... as ranks of
 * their own kind. NULL, or what was wrong, once the smallest failing part of the
 * program has been printed to standard error.
 */
const char *random_run(
        uint64_t first, uint64_t count, unsigned features, enum rank_mode mode, unsigned timeout_s);

#endif
