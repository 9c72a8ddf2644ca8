#ifndef REPRISE_CAPTURE_COMM_ATTEMPT_H
#define REPRISE_CAPTURE_COMM_ATTEMPT_H

/*
 * One rank's attempt to get a communicator: a join on its device's loop, and
 * what capture keeps with the communicator. However the ranks find each other,
 * the calls that make communicators go through here.
 */

#include <hccl/hccl_types.h>

#include "base/env.h"
#include "base/status.h"
#include "replay/device.h"
#include "transport/bootstrap.h"

struct rp_attempt {
    struct rp_device *device;    /* referenced */
    struct rp_comm_extra *extra; /* until the communicator has it */
    struct rp_join *join;
};

/* Those of one thread. */
struct rp_attempts {
    struct rp_attempt *item;
    uint32_t count;
};

/** rp_attempt_check_thread: an init blocks, so a thread that the device waits for cannot make one:
 *  RP_ECALLBACK. */
RP_MUST_USE rp_status rp_attempt_check_thread(const char *api);

/** rp_attempt_begin: as rp_join_start; `request->arena` is filled in here. */
RP_MUST_USE rp_status rp_attempt_begin(struct rp_attempt *attempt,
        const struct rp_join_request *request, const struct rp_algo_config *algo);

/** rp_attempts_await: until all have finished, or one has and the others should have. */
RP_MUST_USE rp_status rp_attempts_await(
        struct rp_attempts *attempts, const struct rp_comm_settings *settings);

/** rp_attempt_end: take the communicator out, or the failure; what is not needed any more goes. A
 *  join that is still under way is given up with `unfinished`. */
RP_MUST_USE rp_status rp_attempt_end(
        struct rp_attempt *attempt, rp_status unfinished, HcclComm *comm);

/** rp_attempt_cause: of two ranks' answers the one that is the cause: a rank that fails makes the
 * others fail, or wait for it in vain. The first if neither is. */
rp_status rp_attempt_cause(rp_status first, rp_status second);

/** rp_attempt_join: all three, for one rank. */
RP_MUST_USE rp_status rp_attempt_join(
        const struct rp_join_request *request, const struct rp_algo_config *algo, HcclComm *comm);

#endif
