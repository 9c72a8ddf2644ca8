#ifndef REPRISE_REPLAY_VMM_H
#define REPRISE_REPLAY_VMM_H

/*
 * Virtual memory: reserved address ranges, physical memory, mappings of the one
 * into the other.
 *
 * Peers reach an arena's memory by its offset, so memory should lie at the
 * offset of the address that the program uses: the first mapping of a handle
 * backs the range in place. A handle that is mapped somewhere else as well is an
 * *alias* there: the same file pages under another address, which only this
 * process sees. rp_vmm_home answers the address by which peers find them.
 *
 *     reservation   |granule|granule|granule|granule|      at[]: the mapping that covers it
 *     mapping       |  handle A     |       | B     |
 *     home          A at its first address; B in a block of its own, because the
 *                   pages there belong to a handle that was unmapped but lives
 *
 * A handle's memory keeps its content while it is not mapped. Its pages go with
 * the last of its handle and its mappings.
 *
 * Threads: any function from any thread; one mutex. The arena's lock is taken
 * under it, the device table's before it.
 */

#include <acl/acl_rt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct rp_location;
struct rp_physical;

/** rp_vmm_reserve: `bytes` (rounded up to granules) of addresses on device `device_id`. */
RP_MUST_USE rp_status rp_vmm_reserve(int32_t device_id, size_t bytes, void **out);

/** rp_vmm_release: RP_EPARAM when `start` is not the start of a reservation or something is mapped
 *  in it. */
RP_MUST_USE rp_status rp_vmm_release(void *start);

/** rp_vmm_physical_create: memory of `bytes`, a multiple of the granule, on `prop`'s device.
 * RP_ENOMEM when there is not as much left. The handle is the caller's, until
 * rp_vmm_physical_destroy. */
RP_MUST_USE rp_status rp_vmm_physical_create(const aclrtPhysicalMemProp *prop, int32_t device_id,
        size_t bytes, struct rp_physical **out);

/** rp_vmm_physical_destroy: give one hold on the handle back. RP_EHANDLE. */
RP_MUST_USE rp_status rp_vmm_physical_destroy(void *handle);

/** rp_vmm_physical_prop: what it was made with. RP_EHANDLE. */
RP_MUST_USE rp_status rp_vmm_physical_prop(void *handle, aclrtPhysicalMemProp *prop);

/** rp_vmm_physical_of: the handle behind a mapped address, held once more. RP_EPARAM: nothing is
 *  mapped there. */
RP_MUST_USE rp_status rp_vmm_physical_of(const void *ptr, struct rp_physical **out);

/** rp_vmm_map: all of `handle` at `ptr`. RP_EHANDLE; RP_EPARAM for a wrong size, or an address that
 *  is not free in a reservation; RP_ENOMEM. */
RP_MUST_USE rp_status rp_vmm_map(void *ptr, size_t bytes, void *handle);

/** rp_vmm_unmap: take away what was mapped at `ptr`. RP_EPARAM when nothing was. */
RP_MUST_USE rp_status rp_vmm_unmap(void *ptr);

/** rp_vmm_locate: the mapping that holds `ptr`; false: nothing is mapped there. */
bool rp_vmm_locate(const void *ptr, struct rp_location *out);

/** rp_vmm_covers: whether all of [ptr, ptr + bytes) is mapped, in one piece or several. */
bool rp_vmm_covers(const void *ptr, uint64_t bytes);

/**
 * rp_vmm_home: the address of [ptr, ptr + bytes) whose offset in the arena peers
 * may use: `ptr` itself, except in an alias; NULL when the bytes are not one piece
 * there. One load while there is no alias in the process.
 */
const void *rp_vmm_home(const void *ptr, uint64_t bytes);

#endif
