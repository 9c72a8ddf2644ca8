#ifndef REPRISE_CAPTURE_COMM_LAYOUT_H
#define REPRISE_CAPTURE_COMM_LAYOUT_H

/* Which ranks of a communicator share a node, as expansion wants to have it told. */

#include "base/status.h"
#include "capture/expand.h"

struct rp_comm;
struct rp_member;

/**
 * rp_comm_layout: NULL for a communicator on one node. Made at the first call, and kept as long as
 * the communicator. RP_ENOMEM.
 *
 * Threads: any, between rp_comm_call_begin() and its end.
 */
RP_MUST_USE rp_status rp_comm_layout(struct rp_comm *comm, const struct rp_layout **out);

/**
 * rp_layout_create: nodes in the order of their first rank, ranks of a node in theirs; one block of
 * memory for rp_free. RP_ENOMEM.
 */
RP_MUST_USE rp_status rp_layout_create(
        const struct rp_member *member, uint32_t ranks, struct rp_layout **out);

#endif
