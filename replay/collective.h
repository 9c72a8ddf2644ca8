#ifndef REPRISE_REPLAY_COLLECTIVE_H
#define REPRISE_REPLAY_COLLECTIVE_H

/*
 * One collective task, whatever its expansion: wait for the communicator's
 * turn, announce, run the AIV kernel or the HOST_TS list, publish `done`, pass
 * the turn, wait until complete. A failure revokes, waits until no peer can
 * touch our memory, and only then is delivered.
 */

#include "base/status.h"
#include "replay/submission.h"

/**
 * rp_collective_step: advance `run` of `op`, whose turn is `ticket`.
 * `last_op`: no later op of this submission uses the communicator, so the turn
 * passes as soon as this rank's own part is over.
 *
 * RP_OK complete; RP_AGAIN waiting or out of budget (*progress says whether
 * anything moved); else the failure to deliver, with the sentence in `sentence`.
 */
RP_MUST_USE rp_status rp_collective_step(struct rp_coll_run *run, const struct rp_op *op,
        uint64_t ticket, bool last_op, uint64_t now_ns, uint64_t budget_bytes, bool *progress,
        char *sentence, size_t sentence_bytes);

/** rp_hts_step: one op's HOST_TS lists; same returns. The op has been announced as `seq`. */
RP_MUST_USE rp_status rp_hts_step(struct rp_hts_run *run, const struct rp_op *op, uint64_t seq,
        uint64_t budget_bytes, bool *progress);

#endif
