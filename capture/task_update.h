#ifndef REPRISE_CAPTURE_TASK_UPDATE_H
#define REPRISE_CAPTURE_TASK_UPDATE_H

/*
 * Updates of task groups: between TaskUpdateBegin and TaskUpdateEnd a stream runs
 * nothing; what is submitted to it is collected, and replaces the arguments of a
 * group's tasks in stream order.
 *
 * The stream's submit table is exchanged for the time being, as for a capture. At
 * the end the collection becomes one task of the stream, an RP_INSN_APPLY, that
 * changes the program in place under the baton. It holds the program, so the
 * graph is as good as running until it is over: aclmdlRIDestroy waits for it.
 */

#include "base/status.h"
#include "capture/graph.h"
#include "replay/stream.h"

struct rp_update;

/** rp_update_lose_group: the group is destroyed while `update` collects; the end will say so.
 * capture_lock held. */
void rp_update_lose_group(struct rp_update *update);

/** rp_update_check: RP_OK, or RP_ETASKTYPE when `stream` collects an update: for what does not go
 * through its submit table. `what` begins the sentence: "a replay of graph 7". */
RP_MUST_USE rp_status rp_update_check(const struct rp_stream *stream, const char *what);

/** rp_update_adopt: what updates have changed in the program of the root `graph` becomes its
 * recording, before it is frozen anew. No update is queued. */
void rp_update_adopt(struct rp_graph *graph);

#endif
