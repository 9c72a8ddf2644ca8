#ifndef REPRISE_TRANSPORT_PLACEMENT_H
#define REPRISE_TRANSPORT_PLACEMENT_H

/*
 * Placement: which NUMA node a device's memory prefers. Devices are dealt to the
 * nodes that this process may use, in turn, so that ranks on different devices
 * do not share one node's memory. A preference, never a requirement: containers
 * refuse the calls, and a full node spills over.
 */

#include <stddef.h>
#include <stdint.h>

/**
 * rp_placement_turn: which of `nodes` (> 0) equal places device `device_id`
 * gets: neighbours differ, and all places are used alike.
 */
uint32_t rp_placement_turn(int32_t device_id, uint32_t nodes);

/**
 * rp_placement_prefer: let pages of [base, base + bytes) come from the node of
 * `device_id`, wherever the thread runs that touches them first. Returns the
 * node, or -1 where there is no choice or the kernel refuses. Any thread.
 */
int rp_placement_prefer(int32_t device_id, void *base, size_t bytes);

#endif
