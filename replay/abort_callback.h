#ifndef REPRISE_REPLAY_ABORT_CALLBACK_H
#define REPRISE_REPLAY_ABORT_CALLBACK_H

/*
 * Functions of other libraries that aclrtDeviceTaskAbort calls, by name.
 */

#include <acl/acl_rt.h>

/** rp_abort_callbacks_run: call them in the order of registration. No lock is held; one may
 * register or remove others. */
void rp_abort_callbacks_run(
        int32_t device_id, aclrtDeviceTaskAbortStage stage, uint32_t timeout_ms);

#endif
