#ifndef REPRISE_CAPTURE_GRAPH_JSON_TASK_H
#define REPRISE_CAPTURE_GRAPH_JSON_TASK_H

/*
 * One task of a graph as JSON: its type's name, its own name and its arguments.
 */

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "capture/graph.h"

/** rp_graph_json_type: "KERNEL_AIVEC", "EVENT_WAIT", ...: the names that the original uses. Static.
 */
const char *rp_graph_json_type(const struct rp_node *node);

/** rp_graph_json_task: the event of node `node` of `graph` in trace format; `begin` and `length`
 * are where it is drawn. NULL: no memory. The caller gives it up with json_decref(). */
json_t *rp_graph_json_task(
        struct rp_graph *graph, uint32_t node, bool verbose, double begin, double length);

#endif
