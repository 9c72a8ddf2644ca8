#ifndef REPRISE_REPLAY_PLACE_H
#define REPRISE_REPLAY_PLACE_H

/*
 * Where an address lies, which decides how a copy of it runs.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum rp_place {
    RP_PLACE_PAGEABLE = 0, /* ordinary memory of the process */
    RP_PLACE_PINNED,       /* of aclrtMallocHost, or registered */
    RP_PLACE_DEVICE,       /* of aclrtMalloc, or mapped into a reserved range */
};

struct rp_location {
    enum rp_place place;
    int32_t device_id; /* whose memory it is; PINNED by registration and PAGEABLE: -1 */
    void *start;       /* of the allocation, registration or mapping; NULL for PAGEABLE */
    uint64_t bytes;    /* of it */
};

/** rp_locate: what holds `ptr`; false when that is memory of a device in which nothing is
 * allocated. */
bool rp_locate(const void *ptr, struct rp_location *out);

/**
 * rp_place_of: where [ptr, ptr + bytes) lies; `name` is what the sentence calls `ptr`.
 *
 *   RP_EPARAM  nothing is allocated there, or the bytes run past the end of the allocation
 */
RP_MUST_USE rp_status rp_place_of(
        const void *ptr, uint64_t bytes, const char *name, enum rp_place *out);

#endif
