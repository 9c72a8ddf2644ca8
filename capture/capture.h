#ifndef REPRISE_CAPTURE_CAPTURE_H
#define REPRISE_CAPTURE_CAPTURE_H

/*
 * Stream capture: the state machine between CaptureBegin and CaptureEnd.
 *
 * While a stream captures, its submit table is `rp_submit_capture`, which
 * records what replay would run. A wait on a captured event lets another stream
 * join; only the stream that began can end it. Everything here is under the
 * capture_lock of the context (spec/aclgraph.md sections 2 to 6).
 */

#include "base/status.h"
#include "capture/graph.h"
#include "replay/context.h"
#include "replay/stream.h"

struct rp_capture {
    struct rp_graph *graph;
    struct rp_stream *origin;
    struct rp_thread *thread; /* that began it; referenced */
    enum rp_capture_mode mode;
    bool invalidated;
    struct rp_event **event; /* captured events, referenced */
    uint32_t event_count, event_cap;
    char cause[256]; /* why it was invalidated */
};

extern const struct rp_submit_ops rp_submit_capture;

RP_MUST_USE rp_status rp_capture_begin(struct rp_stream *stream, enum rp_capture_mode mode);

/** rp_capture_end: on success *graph is READY; on every failure from the third check on it is gone
 * and *graph NULL. */
RP_MUST_USE rp_status rp_capture_end(struct rp_stream *stream, struct rp_graph **graph);

/** rp_capture_info: status of `stream` and the graph it is captured into (NULL: none). */
void rp_capture_info(
        struct rp_stream *stream, enum rp_capture_status *status, struct rp_graph **graph);

#endif
