// Placement of device memory. On a machine with one node there is no choice, and
// that is all that can be seen; with several, pages must come from the device's
// own node whatever core touches them.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <numa.h>
#include <numaif.h>
#include <string.h>
#include <sys/mman.h>

#include "transport/placement.h"

#define BYTES (4u << 20)

Test(placement, devices_are_dealt_to_nodes_in_turn)
{
    for (uint32_t nodes = 1; nodes <= 4; nodes++) {
        uint32_t used[4] = { 0 };
        for (int32_t device = 0; device < 12; device++) {
            const uint32_t turn = rp_placement_turn(device, nodes);
            cr_assert(lt(u32, turn, nodes));
            used[turn]++;
        }
        for (uint32_t node = 0; node < nodes; node++) {
            cr_assert(eq(u32, used[node], 12 / nodes));
        }
    }
}

Test(placement, pages_come_from_the_devices_node)
{
    const int nodes = numa_available() < 0 ? 1 : (int)numa_bitmask_weight(numa_all_nodes_ptr);
    for (int32_t device = 0; device < 2 * nodes; device++) {
        char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        cr_assert(memory != MAP_FAILED);
        const int node = rp_placement_prefer(device, memory, BYTES);
        memset(memory, 1, BYTES); // usable in any case
        if (nodes < 2) {
            cr_assert(eq(int, node, -1));
        } else if (node >= 0) { // -1: a container that refuses mbind
            int found = -1;
            const long refused =
                    get_mempolicy(&found, NULL, 0, memory + BYTES / 2, MPOL_F_NODE | MPOL_F_ADDR);
            cr_assert(refused != 0 || found == node, "device %d: node %d, wanted %d", device, found,
                    node);
        }
        munmap(memory, BYTES);
    }
}
