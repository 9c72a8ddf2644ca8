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
    struct rp_stream_capture base;
    struct rp_graph *graph; /* a root, or a conditional's sub-graph */
    struct rp_stream *origin;
    struct rp_thread *thread; /* that began it; referenced */
    enum rp_capture_mode mode;
    bool invalidated;
    struct rp_event **event; /* captured events, referenced */
    uint32_t event_count, event_cap;
    struct rp_event **external; /* recorded or waited for externally; the graph holds them */
    uint32_t external_count, external_cap;
    struct rp_task_group *group;    /* the open one (task_group.h); NULL: none */
    struct rp_stream *group_stream; /* it is open on */
    rp_status group_failure;        /* what was refused inside it */
    char cause[256];                /* why it was invalidated */
};

extern const struct rp_submit_ops rp_submit_capture;

/** rp_capture_begin: into a new graph, or with `into` into that sub-graph. */
RP_MUST_USE rp_status rp_capture_begin(
        struct rp_stream *stream, struct rp_graph *into, enum rp_capture_mode mode);

/** rp_capture_end: on success *graph is READY (a sub-graph: ENDED); on every failure from the third
 * check on it is gone and *graph NULL, and of a sub-graph the root's capture is invalid. `graph`
 * may be NULL for a sub-graph. */
RP_MUST_USE rp_status rp_capture_end(struct rp_stream *stream, struct rp_graph **graph);

/* What capture.c and capture_event.c share. All with the capture_lock held. */

/** rp_capture_check_stream: RP_OK, or why streams of this kind are never captured. */
RP_MUST_USE rp_status rp_capture_check_stream(const struct rp_stream *stream);
/** rp_capture_add_stream: `stream` becomes a lane; forked_by NULL: the origin. */
RP_MUST_USE rp_status rp_capture_add_stream(
        struct rp_capture *capture, struct rp_stream *stream, const struct rp_event *forked_by);
/** rp_capture_release_event: the event is an eager one again. */
void rp_capture_release_event(struct rp_event *event);
/** rp_capture_remember: `node` is what the calling thread has submitted last. */
void rp_capture_remember(const struct rp_graph *graph, uint32_t node);

/** rp_capture_record: `task` becomes a node of the stream's lane; what fails for want of memory
 * invalidates the capture. */
RP_MUST_USE rp_status rp_capture_record(
        struct rp_capture *capture, struct rp_stream *stream, const struct rp_task *task);

/** rp_capture_invalidate: only CaptureEnd is left; `st`, described, is kept as the cause and
 * returned. capture_lock held. */
rp_status rp_capture_invalidate(struct rp_capture *capture, rp_status st);

/** rp_capture_check_valid: RP_OK, or RP_ECAPINVALID with the cause. capture_lock held. */
RP_MUST_USE rp_status rp_capture_check_valid(
        const struct rp_capture *capture, const struct rp_stream *stream);

/** rp_capture_info: status of `stream` and the graph it is captured into (NULL: none). */
void rp_capture_info(
        struct rp_stream *stream, enum rp_capture_status *status, struct rp_graph **graph);

#endif
