#ifndef TESTS_SUPPORT_RANK_CALL_H
#define TESTS_SUPPORT_RANK_CALL_H

/*
 * One collective of a rank with its guarded device buffers and, in several
 * versions, its inputs and the outputs that the oracle gives. For use in ranks
 * of rank_runner.h: what is wrong ends the rank with a sentence.
 *
 * A version is loaded, the collective runs (eager, captured, replayed), and the
 * output must be that version's. Versions differ everywhere, so what an earlier
 * run left behind is never right.
 */

#include "support/guard.h"
#include "support/oracle_collective.h"
#include "support/rank_runner.h"

struct rank_call {
    struct oracle_call call;
    bool in_place;
    unsigned rank;
    unsigned versions;
    size_t send_bytes;
    size_t recv_bytes;
    uint8_t *inputs;   /* [versions][send_bytes] */
    uint8_t *expected; /* [versions][recv_bytes] */
    struct guard area[2];
    uint8_t *send; /* NULL for broadcast */
    uint8_t *recv;
};

struct rank_call_options {
    bool in_place;     /* broadcast always is, all-to-all never */
    unsigned versions; /* 0: 13 */
    uint64_t seed;     /* the same on all ranks; differs between calls of a test */
    size_t skew;       /* of the buffers, in bytes; less than 64 */
};

/** rank_call_open: allocate buffers, make inputs, compute what must come out. */
void rank_call_open(struct rank_call *call, const struct rank *rank, const struct oracle_call *what,
        const struct rank_call_options *options);
void rank_call_close(struct rank_call *call);

/** rank_call_load: put input `version` (taken modulo their number) into the buffers, poison into
 * the output. */
void rank_call_load(struct rank_call *call, uint64_t version);

/** rank_call_issue: the Hccl call on `comm` and `stream`. */
HcclResult rank_call_issue(struct rank_call *call, HcclComm comm, aclrtStream stream);

/** rank_call_check: the output is that of `version`, the input is unchanged, the guards too. `when`
 * is told if not. */
void rank_call_check(const struct rank_call *call, uint64_t version, const char *when);

/** rank_call_name: "HcclAllReduce" and so on. */
const char *rank_call_name(enum oracle_op op);

#endif
