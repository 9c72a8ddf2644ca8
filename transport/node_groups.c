#include "transport/node_groups.h"

uint32_t rp_groups_leader(const struct rp_roster_entry *roster, uint32_t rank)
{
    uint32_t leader = 0;
    while (roster[leader].member.node != roster[rank].member.node) {
        leader++;
    }
    return leader;
}

uint32_t rp_groups_members(const struct rp_roster_entry *roster, uint32_t size, uint32_t rank)
{
    uint32_t members = 0;
    for (uint32_t i = 0; i < size; i++) {
        members += roster[i].member.node == roster[rank].member.node ? 1 : 0;
    }
    return members;
}

uint32_t rp_groups_number(struct rp_roster_entry *roster, uint32_t size)
{
    // From the last rank down, since those below it must still stand as they were.
    for (uint32_t i = size; i-- > 0;) {
        roster[i].member.node = rp_groups_leader(roster, i);
    }
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t leader = roster[i].member.node;
        roster[i].member.node = leader == i ? nodes++ : roster[leader].member.node;
    }
    return nodes;
}

uint32_t rp_groups_split(
        struct rp_roster_entry *roster, uint32_t size, const uint8_t alone[RP_RANK_SET_BYTES])
{
    for (uint32_t i = 0; i < size; i++) {
        if (rp_rank_set_has(alone, i)) {
            roster[i].member.node = size + i; // above every number that is in use
        }
    }
    return rp_groups_number(roster, size);
}
