#ifndef REPRISE_CAPTURE_COLLECTIVE_ARGS_H
#define REPRISE_CAPTURE_COLLECTIVE_ARGS_H

/*
 * A collective's task as its parameters show it: struct reprise_collective_args.
 */

#include <reprise/graph.h>

#include "base/status.h"
#include "replay/program.h"

/** rp_collective_args_fill: what `op` was called with. */
void rp_collective_args_fill(const struct rp_op *op, struct reprise_collective_args *args);

/**
 * rp_collective_args_change: what `op` becomes by `args`, checked as by the
 * operator's call. `api` is the call's name for the sentence. `out` shares the
 * reference of `op` to the communicator; its lists are held for it.
 *
 *   RP_ENULL   a buffer is NULL
 *   RP_EPARAM  the operator, type, reduction, root or communicator differs; the
 *              communicator was destroyed; a count of 0; a reserved member is set
 *   else       as the operator's call
 */
RP_MUST_USE rp_status rp_collective_args_change(const char *api, const struct rp_op *op,
        const struct reprise_collective_args *args, struct rp_op *out);

/** rp_collective_check_same: RP_OK, or RP_EPARAM naming what an update may not change and `now`
 * has different: operator, type, reduction, root, communicator. */
RP_MUST_USE rp_status rp_collective_check_same(
        const char *api, const struct rp_op *before, const struct rp_op *now);

#endif
