#ifndef REPRISE_TRANSPORT_ARENA_LIMITS_H
#define REPRISE_TRANSPORT_ARENA_LIMITS_H

/* How large a device's arena becomes. Decided once, at the device's first use. */

#include <stdint.h>

#include "base/status.h"

/* Less is of no use: a granule of virtual memory and some slabs must fit. */
#define RP_ARENA_BYTES_MIN (UINT64_C(8) << 20)

struct rp_arena_size {
    uint64_t total_bytes;   /* how much may be handed out */
    uint64_t mapping_bytes; /* address range: as much again, for reservations without memory */
};

/**
 * rp_arena_choose_size: REPRISE_DEVICE_MEMORY, or the RAM that this process may use (the machine's,
 * or its control group's where that is less), cut to RLIMIT_FSIZE and to half of what RLIMIT_AS
 * leaves. Multiples of RP_ARENA_GRANULE.
 *
 *   RP_ENOMEM  a limit leaves less than RP_ARENA_BYTES_MIN; the sentence says which
 */
RP_MUST_USE rp_status rp_arena_choose_size(int32_t device_id, struct rp_arena_size *size);

#endif
