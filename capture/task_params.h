#ifndef REPRISE_CAPTURE_TASK_PARAMS_H
#define REPRISE_CAPTURE_TASK_PARAMS_H

/*
 * Parameters of tasks, and changes of a graph in place.
 *
 * SetParams and Disable change the recording; the graph is UPDATING then and
 * cannot run. aclmdlRIUpdate freezes the recording anew. A change that is refused
 * for its contents leaves a graph in state FAULT, as in the original; one that is
 * refused because the graph is queued, running or captured, or whose arguments
 * name no task, leaves it as it was. Update itself changes nothing when it fails,
 * and can be called again.
 */

#include "capture/graph.h"

/** rp_task_params_free: the arguments that were given out for tasks of the root `graph`. */
void rp_task_params_free(struct rp_graph *graph);

#endif
