#ifndef REPRISE_REPLAY_KERNEL_ARGS_H
#define REPRISE_REPLAY_KERNEL_ARGS_H

/*
 * Argument lists: the arguments of a launch, collected one by one.
 */

#include <acl/acl_rt.h>

#include "base/status.h"
#include "replay/launch.h"

#define RP_ARG_PARAMS 128 /* of one list */

/**
 * rp_arg_list_spec: fill in the arguments of a launch of `spec->func` from a
 * finalized list. They are borrowed from it, and `place` holds its placeholders.
 * RP_ENULL, RP_EHANDLE; RP_EPARAM: it is not finalized, or is another kernel's.
 */
RP_MUST_USE rp_status rp_arg_list_spec(aclrtArgsHandle handle, struct rp_launch_spec *spec,
        aclrtPlaceHolderInfo place[RP_ARG_PARAMS]);

#endif
