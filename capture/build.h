#ifndef REPRISE_CAPTURE_BUILD_H
#define REPRISE_CAPTURE_BUILD_H

/*
 * Graphs that a program builds by hand: streams are bound to them, and what is
 * submitted to a bound stream becomes a node of its lane.
 *
 * The state of such a graph is CAPTURING while it is built, READY after BuildEnd,
 * and FAULT once it cannot run: its end was never marked, or a stream has been
 * unbound. All of it changes under the context's capture_lock.
 */

#include "base/status.h"
#include "capture/graph.h"
#include "replay/stream.h"

/* The table of a bound stream. */
extern const struct rp_submit_ops rp_submit_build;

/** rp_build_bind: `stream` becomes a lane of `graph`. RP_EPARAM: the graph is not being built, or
 * the stream is not PERSISTENT; RP_ESTREAMCAPTURED, RP_EBOUND, RP_ENOTSUP. */
RP_MUST_USE rp_status rp_build_bind(
        struct rp_graph *graph, struct rp_stream *stream, bool on_demand);

/** rp_build_unbind: `stream` is an ordinary one again, and `graph` cannot be run any more.
 * RP_EBOUND: it is not bound to this graph. */
RP_MUST_USE rp_status rp_build_unbind(struct rp_graph *graph, struct rp_stream *stream);

/** rp_build_end_task: the end of the graph is here, behind all of `stream`. Once a graph. */
RP_MUST_USE rp_status rp_build_end_task(struct rp_graph *graph, struct rp_stream *stream);

/**
 * rp_build_end: check and freeze. RP_EGRAPHSTATE: no stream starts with the graph, or
 * a label that is switched to stands nowhere; the graph can still be completed then.
 * A graph whose end was not marked is frozen, but does not run.
 */
RP_MUST_USE rp_status rp_build_end(struct rp_graph *graph);

/** rp_build_explain: for a sentence, why a built graph in FAULT cannot run. */
void rp_build_explain(const struct rp_graph *graph, char *text, size_t bytes);

/** rp_build_clean: forget the tasks of a stream that is bound to a graph which is still built.
 * RP_EBOUND: the graph is built already. A stream that is not bound has nothing to forget. */
RP_MUST_USE rp_status rp_build_clean(struct rp_stream *stream);

/** rp_build_release: `graph` is about to be destroyed: unbind its streams, let go of its labels and
 * events. */
void rp_build_release(struct rp_graph *graph);

#endif
