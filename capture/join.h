#ifndef REPRISE_CAPTURE_JOIN_H
#define REPRISE_CAPTURE_JOIN_H

#include "base/status.h"
#include "capture/graph.h"

/**
 * rp_capture_check_joined: whether every side stream's last task is the record
 * of an event that leads, wait by wait, to the origin (lane 0). RP_EUNJOINED
 * names the first that does not: its stream, the event that forked it and its
 * last task.
 */
RP_MUST_USE rp_status rp_capture_check_joined(struct rp_graph *graph);

#endif
