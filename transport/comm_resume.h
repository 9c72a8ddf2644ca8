#ifndef REPRISE_TRANSPORT_COMM_RESUME_H
#define REPRISE_TRANSPORT_COMM_RESUME_H

/*
 * Suspending a communicator, and taking one that has failed into use again on all
 * its ranks. How the ranks agree is in kernels/line_restart.h; here is one rank's
 * part, as a machine that a waiting call steps:
 *
 *     in use --own ops have ended--> quiet --all quiet--> clean --all clean--> in use
 *
 * From its first step on a communicator that was well is suspended, so that its
 * peers' ops end, too. While it is quiet it stays failed, which is what keeps new
 * ops out of it. A step that has been taken is not taken back: a call that gave up
 * waiting leaves the rank where it is, and the next one goes on from there.
 *
 * Ranks of one node only.
 */

#include "transport/comm.h"

/** rp_comm_suspend: this rank's ops end, and later calls answer, with RP_ESUSPEND; whatever has
 * failed before. Baton. */
void rp_comm_suspend(struct rp_comm *comm, const char *sentence);

/**
 * rp_comm_resume_step: go on as far as it goes without waiting. Baton.
 *
 *   RP_OK        in use, on this rank; the peers are, or are about to be
 *   RP_AGAIN     waits for what rp_comm_resume_moved() tells
 *   RP_EREMOTE   a member has died or left: it never will be again; says who
 */
RP_MUST_USE rp_status rp_comm_resume_step(struct rp_comm *comm);

/** rp_comm_resume_moved: whether a step may find something to do: for a wait. Atomics only. */
bool rp_comm_resume_moved(void *comm);

/** rp_comm_resume_missing: the ranks that a waiting rank waits for, "1,3"; "" when its own ops have
 * not ended. Baton. */
void rp_comm_resume_missing(struct rp_comm *comm, char *text, size_t bytes);

#endif
