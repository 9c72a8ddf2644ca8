#ifndef REPRISE_REPLAY_PRIMARY_H
#define REPRISE_REPLAY_PRIMARY_H

/*
 * Primary contexts: the one that aclrtSetDevice makes for a device, counted.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct rp_context;

/**
 * rp_primary_retain: the primary context of device `id`, made by the first call;
 * every call counts once. RP_EDEVICE and what bringing up the device answers.
 * Owner: its memory is referenced for the caller, since another thread may end it
 * at once; rp_context_unref.
 */
RP_MUST_USE rp_status rp_primary_retain(int32_t id, struct rp_context **out);

/**
 * rp_primary_release: take one off the count, or all with `force`; the context
 * ends with the last. RP_ECTXRELEASE when the device is not set; RP_ESTREAMCAPTURED,
 * RP_ECALLBACK as rp_context_may_end: nothing has happened then.
 */
RP_MUST_USE rp_status rp_primary_release(int32_t id, bool force);

/** rp_primary_active: whether device `id` has a primary context. */
bool rp_primary_active(int32_t id);

/** rp_primary_set_default: the device that calls without a context use from now on; -1: none. */
void rp_primary_set_default(int32_t id);
int32_t rp_primary_default(void);

/** rp_device_check_id: RP_OK, or RP_EDEVICE with its sentence. */
RP_MUST_USE rp_status rp_device_check_id(int32_t id);

#endif
