// Where an address lies: three tables are asked, of which the first two know most addresses. Device
// and pinned memory are the arena's, ranges that a program reserved are in the arena too and have a
// table of mappings, and registered host memory is anywhere.

#include "replay/place.h"

#include "base/error.h"
#include "replay/host_register.h"
#include "replay/vmm.h"
#include "transport/arena.h"

static bool locate_in_arena(struct rp_arena *arena, const void *ptr, struct rp_location *out)
{
    enum rp_arena_kind kind;
    size_t bytes;
    *out = (struct rp_location){ .device_id = rp_arena_device(arena) };
    if (!rp_arena_block(arena, ptr, &out->start, &bytes, &kind)) {
        return false;
    }
    out->bytes = bytes;
    out->place = kind == RP_ARENA_HOST ? RP_PLACE_PINNED : RP_PLACE_DEVICE;
    return kind != RP_ARENA_RESERVED || rp_vmm_locate(ptr, out);
}

bool rp_locate(const void *ptr, struct rp_location *out)
{
    struct rp_arena *arena = rp_arena_find(ptr);
    if (arena != NULL) {
        return locate_in_arena(arena, ptr, out);
    }
    *out = (struct rp_location){ .place = RP_PLACE_PAGEABLE, .device_id = -1 };
    if (rp_host_range_find(ptr, &out->start, &out->bytes)) {
        out->place = RP_PLACE_PINNED;
    }
    return true;
}

rp_status rp_place_of(const void *ptr, uint64_t bytes, const char *name, enum rp_place *out)
{
    struct rp_location at;
    if (!rp_locate(ptr, &at)) {
        return rp_fail(RP_EPARAM,
                "%s %p: nothing is allocated there in the memory of device %d "
                "(freed, or not mapped?)",
                name, ptr, at.device_id);
    }
    if (at.start == NULL) {
        *out = at.place;
        return RP_OK;
    }
    const uint64_t left = at.bytes - ((uintptr_t)ptr - (uintptr_t)at.start);
    if (bytes <= left) {
        *out = at.place;
        return RP_OK;
    }
    if (at.device_id < 0) {
        *out = RP_PLACE_PAGEABLE; // only a part of it is registered
        return RP_OK;
    }
    // Pieces that are mapped side by side are one buffer to the program.
    if (rp_vmm_covers(ptr, bytes)) {
        *out = at.place;
        return RP_OK;
    }
    return rp_fail(RP_EPARAM, "%s %p: %llu bytes are used, %llu are left in its allocation", name,
            ptr, (unsigned long long)bytes, (unsigned long long)left);
}
