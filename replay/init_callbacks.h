#ifndef REPRISE_REPLAY_INIT_CALLBACKS_H
#define REPRISE_REPLAY_INIT_CALLBACKS_H

/*
 * Functions of other libraries that aclInit and aclFinalize call.
 */

#include <acl/acl_rt.h>
#include <stddef.h>

#include "base/status.h"

/** rp_init_callback_add: RP_EINVAL for a null function or an unknown type, RP_ENOMEM. */
RP_MUST_USE rp_status rp_init_callback_add(
        aclRegisterCallbackType type, aclInitCallbackFunc fn, void *arg);

/** rp_init_callbacks_run: call them in the order of registration; the first answer that is not 0.
 */
aclError rp_init_callbacks_run(const char *config, size_t bytes);
aclError rp_finalize_callbacks_run(void);

#endif
