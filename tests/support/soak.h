#ifndef TESTS_SUPPORT_SOAK_H
#define TESTS_SUPPORT_SOAK_H

/* Tests that repeat something run a slice of it in CI, and all of it where
 * REPRISE_SOAK is 1, as `make soak` sets it. */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool soaking(void)
{
    const char *value = getenv("REPRISE_SOAK");
    return value != NULL && strcmp(value, "1") == 0;
}

/** soak_rounds: `ci` or `soak`. */
static inline unsigned soak_rounds(unsigned ci, unsigned soak)
{
    return soaking() ? soak : ci;
}

#endif
