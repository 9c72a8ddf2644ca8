#include "capture/comm_layout.h"

#include "base/alloc.h"
#include "base/error.h"
#include "capture/comm_extra.h"

// Number of the first rank that shares `rank`'s node.
static uint32_t head_of(const struct rp_member *member, uint32_t rank)
{
    uint32_t head = 0;
    while (member[head].node != member[rank].node) {
        head++;
    }
    return head;
}

rp_status rp_layout_create(const struct rp_member *member, uint32_t ranks, struct rp_layout **out)
{
    const size_t numbers = 2 * (size_t)ranks + 1;
    struct rp_layout *layout = rp_calloc(1, sizeof(*layout) + numbers * sizeof(uint32_t));
    if (layout == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the nodes of %u ranks", ranks);
    }
    uint32_t *rank_of = (uint32_t *)(void *)(layout + 1);
    uint32_t *first = rank_of + ranks;
    uint32_t at = 0;
    for (uint32_t head = 0; head < ranks; head++) {
        if (head_of(member, head) != head) {
            continue;
        }
        first[layout->nodes] = at;
        for (uint32_t rank = head; rank < ranks; rank++) {
            if (member[rank].node == member[head].node) {
                rank_of[at++] = rank;
            }
        }
        const uint32_t cards = at - first[layout->nodes++];
        layout->cards = cards > layout->cards ? cards : layout->cards;
        first[layout->nodes] = at;
    }
    bool even = true;
    for (uint32_t node = 0; node < layout->nodes; node++) {
        even = even && first[node + 1] - first[node] == layout->cards;
    }
    layout->rank_of = rank_of;
    layout->first = even ? NULL : first;
    *out = layout;
    return RP_OK;
}

rp_status rp_comm_layout(struct rp_comm *comm, const struct rp_layout **out)
{
    struct rp_comm_extra *extra = rp_comm_extra_of(comm);
    rp_status st = RP_OK;
    *out = NULL;
    if (comm->nodes <= 1 || extra == NULL) {
        return RP_OK;
    }
    pthread_mutex_lock(&extra->lock);
    if (extra->layout == NULL) {
        st = rp_layout_create(comm->member, comm->size, &extra->layout);
    }
    *out = extra->layout;
    pthread_mutex_unlock(&extra->lock);
    return st;
}
