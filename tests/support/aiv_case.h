#ifndef TESTS_SUPPORT_AIV_CASE_H
#define TESTS_SUPPORT_AIV_CASE_H

/*
 * One collective on a fake communicator with everything that a caller may vary,
 * and the check of what every rank got: the oracle's bytes, nothing written
 * beside them, the input as it was.
 */

#include <stdbool.h>

#include "support/fake_comm.h"
#include "support/oracle_collective.h"

struct aiv_case {
    struct oracle_call call;
    bool in_place;   /* where the operator can be */
    uint32_t staged; /* bit r: rank r's buffers are outside its arena */
    unsigned skew;   /* bytes by which buffers miss their alignment, less than 64 */
    uint64_t seed;
    uint8_t *expected; /* aiv_case_expect(); one output, or one a rank where they differ */
};

/** aiv_case_expect: compute `expected`. aiv_case_free() frees it. */
void aiv_case_expect(struct aiv_case *item);
void aiv_case_free(struct aiv_case *item);

/** aiv_case_arena_bytes: what the arena of a rank must hold for cases up to `bytes` of one buffer.
 */
uint64_t aiv_case_arena_bytes(uint64_t bytes);

/** aiv_case_run: rank `rank`'s part of the case; says on standard error what was wrong. */
bool aiv_case_run(struct fake_comm *comm, uint32_t rank, const struct aiv_case *item);

/* The same in steps, for a thread that plays several ranks. */
struct aiv_run {
    const struct aiv_case *item;
    struct fake_comm *comm;
    uint32_t rank;
    uint8_t *area; /* in the arena, or allocated */
    uint8_t *send;
    uint8_t *recv;
    bool offers; /* the kernel is given `send`, `recv`; NULL otherwise */
    bool takes;
    size_t area_bytes;
    struct rp_counts *counts;
    struct rp_aiv_op op;
};
void aiv_run_begin(
        struct aiv_run *run, struct fake_comm *comm, uint32_t rank, const struct aiv_case *item);
bool aiv_run_check(struct aiv_run *run); /* and end */
void aiv_run_end(struct aiv_run *run);   /* of one that is not checked */

/** aiv_case_print: the case in one line on standard error. */
void aiv_case_print(const struct aiv_case *item);

#endif
