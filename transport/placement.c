#include "transport/placement.h"

#include <numa.h>
#include <numaif.h>

#include "base/log.h"

uint32_t rp_placement_turn(int32_t device_id, uint32_t nodes)
{
    return (uint32_t)device_id % nodes;
}

// The node at place `turn` among those that have memory this process may use.
static int allowed_node(uint32_t turn)
{
    for (int node = 0; node <= numa_max_node(); node++) {
        if (numa_bitmask_isbitset(numa_all_nodes_ptr, (unsigned)node) && turn-- == 0) {
            return node;
        }
    }
    return -1;
}

int rp_placement_prefer(int32_t device_id, void *base, size_t bytes)
{
    if (numa_available() < 0) {
        return -1; // no NUMA here, or a container that does not let us ask
    }
    const unsigned nodes = numa_bitmask_weight(numa_all_nodes_ptr);
    if (nodes < 2) {
        return -1;
    }
    const int node = allowed_node(rp_placement_turn(device_id, nodes));
    struct bitmask *mask = node < 0 ? NULL : numa_allocate_nodemask();
    if (mask == NULL) {
        return -1;
    }
    numa_bitmask_setbit(mask, (unsigned)node);
    const long refused = mbind(base, bytes, MPOL_PREFERRED, mask->maskp, mask->size + 1, 0);
    numa_bitmask_free(mask);
    if (refused != 0) {
        rp_log_info("device %d: memory is not placed, the kernel refuses mbind", device_id);
        return -1;
    }
    return node;
}
