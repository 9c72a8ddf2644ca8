#ifndef REPRISE_REPLAY_STREAM_CONTROL_H
#define REPRISE_REPLAY_STREAM_CONTROL_H

/*
 * What the calls that steer a built graph from within have in common.
 */

#include "base/status.h"
#include "replay/stream.h"

/** rp_stream_check_bound: RP_OK for a stream that is bound to a built graph; RP_ESTREAMCAPTURED,
 * RP_EBOUND. `api` is the call's name for the sentence. */
RP_MUST_USE rp_status rp_stream_check_bound(const char *api, const struct rp_stream *stream);

/** rp_check_device_word: `ptr` is `bytes` (a power of two) of device memory, aligned. RP_ENULL,
 * RP_EPARAM. */
RP_MUST_USE rp_status rp_check_device_word(
        const char *api, const char *name, const void *ptr, uint64_t bytes);

#endif
