#ifndef REPRISE_CAPTURE_GRAPH_JSON_H
#define REPRISE_CAPTURE_GRAPH_JSON_H

/*
 * A graph as text: a JSON array of complete events, which Chrome's trace viewer and
 * Perfetto load and `reprise graph` draws. docs/graph.md lists the fields.
 */

#include <stdbool.h>

#include "base/status.h"
#include "capture/graph.h"

/**
 * rp_graph_json_write: `graph` and its sub-graphs to the file `path`, which is made or
 * emptied. `verbose` adds the tasks' parameters.
 *
 *   RP_EPARAM      `path` cannot be opened, or is neither a file nor a character device
 *   RP_EWRITEFILE  writing failed; what was written stays
 *   RP_ENOMEM
 *
 * Threads: the graph does not change meanwhile.
 */
RP_MUST_USE rp_status rp_graph_json_write(struct rp_graph *graph, const char *path, bool verbose);

/** rp_graph_json_log: the same events as lines of the log, at level info. RP_ENOMEM. */
RP_MUST_USE rp_status rp_graph_json_log(struct rp_graph *graph);

#endif
