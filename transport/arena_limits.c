// The arena's size. It is fixed once peers have mapped it, so it is chosen generously: pages are
// taken only as they are handed out. What it does cost is address space, here and in every peer.

#include "transport/arena_limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "base/util.h"
#include "transport/arena.h"
#include "transport/memory.h"

// Of what RLIMIT_AS leaves: the rest is for the peers' arenas, the heap and the stacks.
#define ADDRESS_SHARE 2

// Bytes of address space in use; 0 when the kernel does not say.
static uint64_t address_space_used(void)
{
    uint64_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        if (fscanf(file, "%" SCNu64, &pages) != 1) {
            pages = 0;
        }
        fclose(file);
    }
    return pages * rp_memory_page_bytes();
}

static uint64_t limit_bytes(const struct rlimit *limit)
{
    return limit->rlim_cur == RLIM_INFINITY ? UINT64_MAX : (uint64_t)limit->rlim_cur;
}

static uint64_t wanted_bytes(void)
{
    uint64_t bytes = rp_env_device()->device_memory_bytes;
    if (bytes == 0) {
        struct rp_memory_room room;
        rp_memory_room_read("", &room);
        bytes = room.limit_bytes;
        if (bytes == UINT64_MAX) { // no /proc
            bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * rp_memory_page_bytes();
        }
    }
    bytes = rp_min_u64(bytes, UINT64_MAX / 4); // the sums below fit
    return rp_align_up(rp_max_u64(bytes, RP_ARENA_BYTES_MIN), RP_ARENA_GRANULE);
}

rp_status rp_arena_choose_size(int32_t device_id, struct rp_arena_size *size)
{
    uint64_t total = wanted_bytes();
    uint64_t mapping = 2 * total;
    struct rlimit file = { .rlim_cur = RLIM_INFINITY };
    struct rlimit address = { .rlim_cur = RLIM_INFINITY };
    (void)getrlimit(RLIMIT_FSIZE, &file); // neither can fail for these
    (void)getrlimit(RLIMIT_AS, &address);
    uint64_t file_limit = limit_bytes(&file);
    uint64_t address_limit = limit_bytes(&address);
    uint64_t used = address_space_used();
    uint64_t address_share = address_limit == UINT64_MAX ? UINT64_MAX
                             : address_limit > used      ? (address_limit - used) / ADDRESS_SHARE
                                                         : 0;
    mapping = rp_min_u64(mapping, rp_min_u64(file_limit, address_share));
    mapping &= ~(uint64_t)(RP_ARENA_GRANULE - 1);
    if (mapping < RP_ARENA_BYTES_MIN) {
        if (file_limit < address_share) {
            return rp_fail(RP_ENOMEM,
                    "device %d: RLIMIT_FSIZE is %" PRIu64
                    " bytes, device memory needs at least %" PRIu64 "; raise it (ulimit -f)",
                    device_id, file_limit, RP_ARENA_BYTES_MIN);
        }
        return rp_fail(RP_ENOMEM,
                "device %d: RLIMIT_AS is %" PRIu64 " bytes, %" PRIu64
                " are in use; half of the rest is less than the %" PRIu64
                " that device memory needs; raise it (ulimit -v)",
                device_id, address_limit, used, RP_ARENA_BYTES_MIN);
    }
    if (mapping < total) {
        rp_log_info("device %d: memory cut from %" PRIu64 " to %" PRIu64 " bytes by %s", device_id,
                total, mapping, file_limit < address_share ? "RLIMIT_FSIZE" : "RLIMIT_AS");
    }
    size->total_bytes = rp_min_u64(total, mapping);
    size->mapping_bytes = mapping;
    return RP_OK;
}
