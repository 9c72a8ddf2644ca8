#ifndef REPRISE_CAPTURE_INTROSPECT_H
#define REPRISE_CAPTURE_INTROSPECT_H

/*
 * Graphs as arguments of the calls that look at them.
 */

#include "base/status.h"
#include "capture/graph.h"

/** rp_graph_argument: the live graph that `model` names, whatever its state. `api` is the call's
 * name for the sentence. RP_EINVAL: NULL; RP_EHANDLE; what rp_enter() answers. */
RP_MUST_USE rp_status rp_graph_argument(const char *api, void *model, struct rp_graph **graph);

/** rp_graph_check_root: RP_ENOTSUP for a sub-graph, with `what` as the end of the sentence "a
 * sub-graph ...". */
RP_MUST_USE rp_status rp_graph_check_root(
        const char *api, const struct rp_graph *graph, const char *what);

/** rp_graph_check_current: RP_EGRAPHCTX for a graph of another context than the thread's current
 * one, RP_ENOCTX. */
RP_MUST_USE rp_status rp_graph_check_current(const char *api, const struct rp_graph *graph);

/** rp_graph_hold_still / rp_graph_let_go: between the two a graph that is still captured gets no
 * tasks. */
void rp_graph_hold_still(const struct rp_graph *graph);
void rp_graph_let_go(const struct rp_graph *graph);

#endif
