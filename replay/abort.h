#ifndef REPRISE_REPLAY_ABORT_H
#define REPRISE_REPLAY_ABORT_H

/*
 * Stopping a graph that runs.
 */

#include "replay/device.h"
#include "replay/program.h"

/**
 * rp_device_enter_admitted: rp_device_enter(), with all that was queued before the
 * call in its streams. rp_device_leave() ends it.
 */
void rp_device_enter_admitted(struct rp_device *device);

/**
 * rp_program_abort: the run of `program` that is under way on `device`, and all that
 * were queued before this call, fail with RP_EGRAPHABORT and `sentence`. Lanes end
 * where they are; a collective whose turn has come is seen through, or ends with
 * its communicator, and a user's function that runs is waited for. Does not wait
 * itself.
 *
 * Threads: any, without the baton.
 */
void rp_program_abort(
        struct rp_device *device, const struct rp_program *program, const char *sentence);

#endif
