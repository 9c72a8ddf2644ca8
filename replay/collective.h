#ifndef REPRISE_REPLAY_COLLECTIVE_H
#define REPRISE_REPLAY_COLLECTIVE_H

/*
 * One collective task, whatever its expansion: wait for the communicator's
 * turn, announce, run the AIV kernel or the HOST_TS list, publish `done`, pass
 * the turn, wait until complete. A failure revokes, waits until no peer can
 * touch our memory, and only then is delivered.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "replay/submission.h"

/* What a step of a collective needs to know of the submission around it. */
struct rp_coll_step {
    const struct rp_reduce_impl *reduce;
    uint64_t ticket;   /* of the op's communicator */
    uint64_t replay;   /* which replay of its graph this is, from 1; 0: an eager call */
    int32_t stream_id; /* for reports */
    bool last_op;      /* no later op of the submission uses the communicator: the turn passes as
                          soon as this rank's own part is over */
    uint64_t now_ns;
    uint64_t budget_bytes;
    bool moved;                /* out: whether anything was done */
    const uint64_t *pair_base; /* sends and receives of a program: rp_submission_pair_base() */
    bool number_late;          /* they have no number yet: the program is open-ended */
    uint64_t spent_bytes;      /* out: of sends and receives: of the budget */
};

/**
 * rp_collective_step: advance `run` of `op`. Baton.
 *
 * RP_OK complete; RP_AGAIN waiting or out of budget; else the failure to
 * deliver: the first one of the communicator, whose sentence is op->comm->cause.
 */
RP_MUST_USE rp_status rp_collective_step(
        struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step);

/** rp_coll_keep_failure: the communicator fails, with a sentence that says where and `why`; `seq`
 * as in rp_lines_fail(). */
void rp_coll_keep_failure(const struct rp_op *op, const struct rp_coll_step *step, uint64_t seq,
        rp_status st, uint32_t culprit, const char *why);

/** rp_hts_step: one op's HOST_TS lists. The op has been announced as `seq`. RP_OK when the last
 *  round is over, RP_AGAIN as above, else a failure of the lines or a channel. */
RP_MUST_USE rp_status rp_hts_step(struct rp_hts_run *run, const struct rp_op *op, uint64_t seq,
        const struct rp_reduce_impl *reduce, uint64_t budget_bytes, bool *moved);

/** rp_hts_awaited: the rank whose signal the list waits for now, or RP_NO_RANK. */
uint32_t rp_hts_awaited(const struct rp_hts_run *run, const struct rp_op *op);

/** rp_hts_compare: the wait has lasted: compare the records of all peers that have arrived. */
RP_MUST_USE rp_status rp_hts_compare(const struct rp_op *op, uint64_t seq);

#endif
