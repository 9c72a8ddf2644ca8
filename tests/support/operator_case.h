#ifndef TESTS_SUPPORT_OPERATOR_CASE_H
#define TESTS_SUPPORT_OPERATOR_CASE_H

/*
 * A case: up to four collectives in a row, their buffers, and how they are run.
 * Random ones are a function of a seed, and their ranks too, so that a seed is
 * all that a failing case needs.
 */

#include <stdio.h>

#include "support/operator_call.h"

#define OPERATOR_CALLS 4
#define OPERATOR_ROUNDS_MAX 5
#define OPERATOR_BUFFER_BYTES (3u << 20) /* no buffer is larger */

/* How a communicator is made. */
struct operator_form {
    const char *name;
    uint32_t expansion;   /* hcclOpExpansionMode */
    uint32_t determinism; /* hcclDeterministic */
    const char *algo;     /* hcclAlgo; NULL: not set */
    bool ordered; /* reductions are the fold in rank order, so the oracle knows their bits */
};

enum operator_mode {
    OPERATOR_EAGER,
    OPERATOR_CAPTURED, /* every round is a replay */
    OPERATOR_MIXED,    /* rounds take turns */
    OPERATOR_MODES,
};

struct operator_case {
    uint64_t seed;
    unsigned ranks;
    enum operator_mode mode;
    unsigned rounds; /* each with other data */
    unsigned queued; /* replays that are queued at once before a round, of the round before */
    bool forked;     /* captured calls lie on two streams */
    unsigned calls;
    struct operator_call call[OPERATOR_CALLS];
};

/** operator_case_ranks: of the case with that seed. */
unsigned operator_case_ranks(uint64_t seed);

/** operator_case_make: the case of `seed` on communicators of `forms`. */
void operator_case_make(struct operator_case *c, uint64_t seed, const struct operator_form *forms,
        unsigned form_count);

/** operator_case_words: the case for people; at most `bytes` bytes. */
void operator_case_words(
        const struct operator_case *c, const struct operator_form *forms, char *text, size_t bytes);

#endif
