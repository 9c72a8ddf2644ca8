#ifndef REPRISE_TRANSPORT_NODE_GROUPS_H
#define REPRISE_TRANSPORT_NODE_GROUPS_H

/*
 * The partition of a communicator's ranks into nodes, which stands in each
 * member's `node`. Nodes are numbered by their lowest rank, which leads. Root
 * and ranks compute every change with the same functions, so they agree.
 */

#include "transport/bootstrap_msg.h"

/** rp_groups_number: ranks whose `node` is equal are of one node: number the nodes. Returns how
 *  many there are. */
uint32_t rp_groups_number(struct rp_roster_entry *roster, uint32_t size);

/** rp_groups_split: each rank in `alone` becomes a node of its own. Returns how many there are. */
uint32_t rp_groups_split(
        struct rp_roster_entry *roster, uint32_t size, const uint8_t alone[RP_RANK_SET_BYTES]);

/** rp_groups_leader: the lowest rank of `rank`'s node. */
uint32_t rp_groups_leader(const struct rp_roster_entry *roster, uint32_t rank);

/** rp_groups_members: how many ranks `rank`'s node has. */
uint32_t rp_groups_members(const struct rp_roster_entry *roster, uint32_t size, uint32_t rank);

#endif
