#ifndef REPRISE_CAPTURE_GROUP_H
#define REPRISE_CAPTURE_GROUP_H

/*
 * What a thread's group records between HcclGroupStart and the outermost
 * HcclGroupEnd. How it is issued is in capture/group_run.h.
 */

#include <hccl/hccl_types.h>

#include <stdbool.h>

#include "base/env.h"
#include "base/status.h"
#include "capture/op.h"
#include "transport/bootstrap.h"

/** rp_group_is_open: whether the calling thread is inside a group, where calls are only recorded.
 */
bool rp_group_is_open(void);

/**
 * rp_group_note: the answer `st` of a call of the thread, which it returns. A
 * failure inside a group is kept: the group issues nothing then, since the other
 * ranks of the call that is missing could not tell.
 */
RP_MUST_USE rp_status rp_group_note(rp_status st);

/* The following are for a thread inside a group. What they are given is copied. Handles are looked
 * at, and nothing else of a call: RP_ENULL, RP_EPARAM; RP_ENOMEM. */

/** rp_group_add: an operator's call. */
RP_MUST_USE rp_status rp_group_add(const struct rp_op_call *call);

/** rp_group_add_batch: the sends and receives of one HcclBatchSendRecv; those without buffer or
 * without elements are skipped. */
RP_MUST_USE rp_status rp_group_add_batch(const struct rp_op_call *calls, uint32_t count);

/** rp_group_add_init: a rank's join by a root info, whose communicator goes to `*comm`. */
RP_MUST_USE rp_status rp_group_add_init(const char *api, const struct rp_join_request *request,
        const struct rp_algo_config *algo, HcclComm *comm);

/** rp_group_add_destroy: HcclCommDestroy of a live communicator; RP_EPARAM if the group has one of
 * it already. */
RP_MUST_USE rp_status rp_group_add_destroy(HcclComm comm);

#endif
