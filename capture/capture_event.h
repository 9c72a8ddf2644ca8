#ifndef REPRISE_CAPTURE_CAPTURE_EVENT_H
#define REPRISE_CAPTURE_CAPTURE_EVENT_H

#include "base/status.h"
#include "replay/stream.h"

/** rp_capture_event: record, wait or reset where stream or event may be captured; what is not goes
 * on to the eager table. The arguments are those of rp_submit_ops.record. */
rp_status rp_capture_event(struct rp_stream *stream, struct rp_event *event,
        enum rp_event_verb verb, uint32_t flag, uint64_t timeout_ns);

#endif
