// The tables of virtual memory; replay/vmm.h says what lies where.

#include "replay/vmm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/list.h"
#include "base/util.h"
#include "replay/device.h"
#include "replay/place.h"
#include "transport/arena.h"

#define GRANULE ((uint64_t)RP_ARENA_GRANULE)

struct rp_physical {
    uint64_t bytes;
    aclrtPhysicalMemProp prop;
    struct rp_device *device; // referenced
    uint32_t holds;           // of the handle; 0: only mappings keep it
    uint32_t maps;
    uint8_t *home;           // where its pages are in the arena; NULL: none yet
    struct reservation *lot; // in which `home` is; NULL: a block of its own
};

struct mapping {
    struct rp_physical *physical;
    uint8_t *start;
    bool alias; // other pages of a file lie under these addresses
};

struct granule {
    struct mapping *mapping;  // that covers it
    struct rp_physical *home; // whose pages are at its offset
};

struct reservation {
    struct rp_list link;
    struct rp_device *device; // referenced
    uint8_t *start;
    uint64_t granules;
    uint32_t mappings;
    uint32_t homes; // physical memory whose pages are here
    bool released;  // by the program; goes with the last home
    struct granule at[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rp_list reservations = RP_LIST_INIT(reservations);
// Bytes of each device that handles were promised and that have no pages yet. Under the lock.
static uint64_t promised[RP_ENV_DEVICES_MAX];
// Aliases in the process; relaxed: one that is being mapped is not used yet.
static _Atomic uint32_t alias_count;

static struct rp_arena *arena_of(const struct rp_physical *physical)
{
    return rp_device_arena(physical->device);
}

// ---- reservations ----

// The reservation that holds `ptr`, and the granule. Under the lock.
static struct reservation *find(const void *ptr, uint64_t *granule)
{
    rp_list_each(link, &reservations)
    {
        struct reservation *lot = rp_container_of(link, struct reservation, link);
        const uintptr_t off = (uintptr_t)ptr - (uintptr_t)lot->start;
        if ((uintptr_t)ptr >= (uintptr_t)lot->start && off < lot->granules * GRANULE) {
            *granule = off / GRANULE;
            return lot;
        }
    }
    return NULL;
}

rp_status rp_vmm_reserve(int32_t device_id, size_t bytes, void **out)
{
    struct rp_device *device;
    const uint64_t granules = bytes / GRANULE + (bytes % GRANULE != 0 ? 1 : 0);
    rp_status st = rp_device_ref(device_id, &device);
    if (st != RP_OK) {
        return st;
    }
    const uint64_t most = rp_arena_bytes(rp_device_arena(device)) / GRANULE;
    if (granules > most) {
        st = rp_fail(RP_ENOMEM, "device %d has addresses for %llu bytes, and not for %zu",
                device_id, (unsigned long long)(most * GRANULE), bytes);
        goto undo_device;
    }
    struct reservation *lot = rp_calloc(1, sizeof(*lot) + granules * sizeof(lot->at[0]));
    if (lot == NULL) {
        st = rp_fail(RP_ENOMEM, "no memory for the books of a reserved address range");
        goto undo_device;
    }
    lot->device = device;
    lot->granules = granules;
    st = rp_arena_reserve(rp_device_arena(device), granules * GRANULE, (void **)&lot->start);
    if (st != RP_OK) {
        goto undo_alloc;
    }
    pthread_mutex_lock(&lock);
    rp_list_push_back(&reservations, &lot->link);
    pthread_mutex_unlock(&lock);
    *out = lot->start;
    return RP_OK;

undo_alloc:
    rp_free(lot);
undo_device:
    rp_device_unref(device);
    return st;
}

// Gives the addresses back. Not under the lock.
static rp_status drop_reservation(struct reservation *lot)
{
    const rp_status st = rp_arena_release(rp_device_arena(lot->device), lot->start);
    rp_device_unref(lot->device);
    rp_free(lot);
    return st;
}

rp_status rp_vmm_release(void *start)
{
    uint64_t granule;
    rp_status st = RP_OK;
    pthread_mutex_lock(&lock);
    struct reservation *lot = find(start, &granule);
    if (lot == NULL || lot->start != start || lot->released) {
        st = rp_fail(RP_EPARAM, "virPtr %p is not the start of a reserved range", start);
    } else if (lot->mappings != 0) {
        st = rp_fail(RP_EPARAM, "virPtr %p: %u pieces of memory are still mapped in the range",
                start, lot->mappings);
    }
    bool ends = false;
    if (st == RP_OK) {
        lot->released = true;
        ends = lot->homes == 0;
        if (ends) {
            rp_list_remove(&lot->link);
        }
    }
    pthread_mutex_unlock(&lock);
    return ends ? drop_reservation(lot) : st;
}

// ---- physical memory ----

rp_status rp_vmm_physical_create(
        const aclrtPhysicalMemProp *prop, int32_t device_id, size_t bytes, struct rp_physical **out)
{
    struct rp_arena_info info;
    struct rp_device *device;
    rp_status st = rp_device_ref(device_id, &device);
    if (st != RP_OK) {
        return st;
    }
    struct rp_physical *physical = rp_calloc(1, sizeof(*physical));
    if (physical == NULL) {
        st = rp_fail(RP_ENOMEM, "no memory for the books of physical memory");
        goto undo_device;
    }
    *physical = (struct rp_physical){ .bytes = bytes, .prop = *prop, .device = device, .holds = 1 };
    rp_arena_query(rp_device_arena(device), &info);
    pthread_mutex_lock(&lock);
    const uint64_t left = info.free_bytes - rp_min_u64(info.free_bytes, promised[device_id]);
    const bool fits = bytes <= left;
    promised[device_id] += fits ? bytes : 0;
    pthread_mutex_unlock(&lock);
    if (!fits) {
        st = rp_fail(RP_ENOMEM, "device %d: %zu bytes of physical memory are needed, %llu are left",
                device_id, bytes, (unsigned long long)left);
        goto undo_alloc;
    }
    st = rp_handle_add(RP_HANDLE_PHYSICAL, physical);
    if (st != RP_OK) {
        goto undo_promise;
    }
    *out = physical;
    return RP_OK;

undo_promise:
    pthread_mutex_lock(&lock);
    promised[device_id] -= bytes;
    pthread_mutex_unlock(&lock);
undo_alloc:
    rp_free(physical);
undo_device:
    rp_device_unref(device);
    return st;
}

// Writes `physical`, or NULL, as whose pages are at its home. Under the lock.
static void mark_home(const struct rp_physical *physical, struct rp_physical *owner)
{
    struct reservation *lot = physical->lot;
    const uint64_t first = (uint64_t)(physical->home - lot->start) / GRANULE;
    for (uint64_t i = 0; i < physical->bytes / GRANULE; i++) {
        lot->at[first + i].home = owner;
    }
}

// Frees memory that nothing holds any more. Not under the lock.
static rp_status free_physical(struct rp_physical *physical)
{
    struct reservation *lot = physical->lot;
    rp_status st = RP_OK;
    if (lot != NULL) {
        st = rp_arena_unback(arena_of(physical), physical->home, physical->bytes);
    } else if (physical->home != NULL) {
        st = rp_arena_free(arena_of(physical), physical->home, RP_ARENA_DEVICE);
    }
    bool lot_ends = false;
    pthread_mutex_lock(&lock);
    if (physical->home == NULL) {
        promised[rp_device_id(physical->device)] -= physical->bytes;
    } else if (lot != NULL) {
        mark_home(physical, NULL);
        lot->homes--;
        lot_ends = lot->released && lot->homes == 0;
        if (lot_ends) {
            rp_list_remove(&lot->link);
        }
    }
    pthread_mutex_unlock(&lock);
    if (lot_ends) {
        const rp_status dropped = drop_reservation(lot);
        st = st == RP_OK ? dropped : st;
    }
    rp_device_unref(physical->device);
    rp_free(physical);
    return st;
}

// Takes one hold or mapping off; frees it with the last. The lock is held, and given up.
static rp_status leave_physical(struct rp_physical *physical, uint32_t *count)
{
    (*count)--;
    const bool ends = physical->holds == 0 && physical->maps == 0;
    pthread_mutex_unlock(&lock);
    return ends ? free_physical(physical) : RP_OK;
}

static rp_status no_handle(const void *handle)
{
    return rp_fail(RP_EHANDLE, "handle %p is no physical memory, or was freed", handle);
}

rp_status rp_vmm_physical_destroy(void *handle)
{
    pthread_mutex_lock(&lock);
    if (!rp_handle_live(RP_HANDLE_PHYSICAL, handle)) {
        pthread_mutex_unlock(&lock);
        return no_handle(handle);
    }
    struct rp_physical *physical = handle;
    if (physical->holds == 1) {
        rp_handle_remove(RP_HANDLE_PHYSICAL, handle);
    }
    return leave_physical(physical, &physical->holds);
}

rp_status rp_vmm_physical_prop(void *handle, aclrtPhysicalMemProp *prop)
{
    pthread_mutex_lock(&lock);
    const bool live = rp_handle_live(RP_HANDLE_PHYSICAL, handle);
    if (live) {
        *prop = ((const struct rp_physical *)handle)->prop;
    }
    pthread_mutex_unlock(&lock);
    return live ? RP_OK : no_handle(handle);
}

// ---- mappings ----

// Puts [off, off + bytes) of an arena's file under the addresses at `start`.
static rp_status put_pages(
        uint8_t *start, uint64_t bytes, struct rp_arena *arena, const void *pages)
{
    uint64_t off;
    if (!rp_arena_offset(arena, pages, bytes, &off)) {
        return rp_fail(RP_EINTERNAL, "%p is not in its arena", pages);
    }
    if (mmap(start, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
                rp_arena_fd(arena), (off_t)off) == MAP_FAILED) {
        return rp_fail_sys(RP_ENOMEM, "mmap", "memory of a device");
    }
    madvise(start, bytes, MADV_DONTDUMP); // as the arena does, and as unimportant
    return RP_OK;
}

// Gives memory that is mapped for the first time its pages: at `start`, unless others are there.
// Under the lock.
static rp_status settle(struct rp_physical *physical, struct reservation *lot, uint64_t first)
{
    struct rp_error_capture capture;
    uint8_t *start = lot->start + first * GRANULE;
    bool vacant = lot->device == physical->device;
    for (uint64_t i = 0; i < physical->bytes / GRANULE; i++) {
        vacant = vacant && lot->at[first + i].home == NULL;
    }
    rp_status st = RP_EBUSY;
    if (vacant) {
        rp_error_capture_begin(&capture); // busy is no failure of the call: there is another way
        st = rp_arena_back(arena_of(physical), start, physical->bytes);
        rp_error_capture_end(&capture);
        if (st != RP_OK && st != RP_EBUSY) {
            rp_error_post(st, capture.sentence);
        }
    }
    if (st == RP_OK) {
        physical->home = start;
        physical->lot = lot;
        lot->homes++;
        mark_home(physical, physical);
    } else if (st == RP_EBUSY) {
        st = rp_arena_alloc(arena_of(physical), physical->bytes, GRANULE, RP_ARENA_DEVICE,
                (void **)&physical->home);
    }
    if (st == RP_OK) {
        promised[rp_device_id(physical->device)] -= physical->bytes;
    }
    return st;
}

// The place for a mapping: free granules of one reservation. Under the lock.
static rp_status find_place(
        const void *ptr, size_t bytes, struct reservation **lot, uint64_t *first)
{
    *lot = find(ptr, first);
    if (*lot == NULL || (*lot)->released) {
        return rp_fail(RP_EPARAM, "virPtr %p is in no reserved range", ptr);
    }
    if (((uintptr_t)ptr - (uintptr_t)(*lot)->start) % GRANULE != 0) {
        return rp_fail(RP_EPARAM, "virPtr %p is not a multiple of the granularity, %u", ptr,
                RP_ARENA_GRANULE);
    }
    if (bytes / GRANULE > (*lot)->granules - *first) {
        return rp_fail(RP_EPARAM, "%zu bytes at virPtr %p run past the end of the reserved range",
                bytes, ptr);
    }
    for (uint64_t i = 0; i < bytes / GRANULE; i++) {
        if ((*lot)->at[*first + i].mapping != NULL) {
            return rp_fail(
                    RP_EPARAM, "part of %zu bytes at virPtr %p is mapped already", bytes, ptr);
        }
    }
    return RP_OK;
}

static rp_status map_locked(
        void *ptr, size_t bytes, struct rp_physical *physical, struct mapping *mapping)
{
    struct reservation *lot;
    uint64_t first;
    if (bytes != physical->bytes) {
        return rp_fail(RP_EPARAM, "size is %zu, the handle has %llu bytes", bytes,
                (unsigned long long)physical->bytes);
    }
    rp_status st = find_place(ptr, bytes, &lot, &first);
    if (st == RP_OK && physical->home == NULL) {
        st = settle(physical, lot, first);
    }
    if (st != RP_OK) {
        return st;
    }
    *mapping =
            (struct mapping){ .physical = physical, .start = ptr, .alias = physical->home != ptr };
    if (mapping->alias) {
        st = put_pages(ptr, bytes, arena_of(physical), physical->home);
        if (st != RP_OK) {
            return st;
        }
        atomic_fetch_add_explicit(&alias_count, 1, memory_order_relaxed);
    }
    for (uint64_t i = 0; i < bytes / GRANULE; i++) {
        lot->at[first + i].mapping = mapping;
    }
    lot->mappings++;
    physical->maps++;
    return RP_OK;
}

rp_status rp_vmm_map(void *ptr, size_t bytes, void *handle)
{
    struct mapping *mapping = rp_calloc(1, sizeof(*mapping));
    if (mapping == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the books of a mapping");
    }
    pthread_mutex_lock(&lock);
    const rp_status st = rp_handle_live(RP_HANDLE_PHYSICAL, handle)
                                 ? map_locked(ptr, bytes, handle, mapping)
                                 : no_handle(handle);
    pthread_mutex_unlock(&lock);
    if (st != RP_OK) {
        rp_free(mapping);
    }
    return st;
}

rp_status rp_vmm_unmap(void *ptr)
{
    uint64_t first;
    pthread_mutex_lock(&lock);
    struct reservation *lot = find(ptr, &first);
    struct mapping *mapping = lot == NULL ? NULL : lot->at[first].mapping;
    if (mapping == NULL || mapping->start != ptr) {
        pthread_mutex_unlock(&lock);
        return rp_fail(RP_EPARAM, "virPtr %p is not the start of mapped memory", ptr);
    }
    struct rp_physical *physical = mapping->physical;
    rp_status st = RP_OK;
    if (mapping->alias) {
        st = put_pages(
                mapping->start, physical->bytes, rp_device_arena(lot->device), mapping->start);
        atomic_fetch_sub_explicit(&alias_count, 1, memory_order_relaxed);
    }
    for (uint64_t i = 0; i < physical->bytes / GRANULE; i++) {
        lot->at[first + i].mapping = NULL;
    }
    lot->mappings--;
    rp_free(mapping);
    const rp_status left = leave_physical(physical, &physical->maps);
    return st == RP_OK ? left : st;
}

// ---- questions ----

// Under the lock.
static const struct mapping *mapping_at(const void *ptr)
{
    uint64_t granule;
    const struct reservation *lot = find(ptr, &granule);
    return lot == NULL ? NULL : lot->at[granule].mapping;
}

rp_status rp_vmm_physical_of(const void *ptr, struct rp_physical **out)
{
    rp_status st = RP_OK;
    pthread_mutex_lock(&lock);
    const struct mapping *mapping = mapping_at(ptr);
    if (mapping == NULL) {
        st = rp_fail(RP_EPARAM, "virPtr %p: no memory is mapped there", ptr);
    } else {
        struct rp_physical *physical = mapping->physical;
        st = physical->holds > 0 ? RP_OK : rp_handle_add(RP_HANDLE_PHYSICAL, physical);
        if (st == RP_OK) {
            physical->holds++;
            *out = physical;
        }
    }
    pthread_mutex_unlock(&lock);
    return st;
}

bool rp_vmm_locate(const void *ptr, struct rp_location *out)
{
    pthread_mutex_lock(&lock);
    const struct mapping *mapping = mapping_at(ptr);
    if (mapping != NULL) {
        const aclrtMemLocationType type = mapping->physical->prop.location.type;
        out->place = type == ACL_MEM_LOCATION_TYPE_DEVICE ? RP_PLACE_DEVICE : RP_PLACE_PINNED;
        out->device_id = rp_device_id(mapping->physical->device);
        out->start = mapping->start;
        out->bytes = mapping->physical->bytes;
    }
    pthread_mutex_unlock(&lock);
    return mapping != NULL;
}

bool rp_vmm_covers(const void *ptr, uint64_t bytes)
{
    uint64_t granule;
    pthread_mutex_lock(&lock);
    const struct reservation *lot = find(ptr, &granule);
    bool covered = lot != NULL && bytes <= lot->granules * GRANULE;
    const uint64_t off = covered ? (uintptr_t)ptr - (uintptr_t)lot->start : 0;
    const uint64_t end = (off + bytes + GRANULE - 1) / GRANULE;
    covered = covered && end <= lot->granules;
    for (; covered && granule < end; granule++) {
        covered = lot->at[granule].mapping != NULL;
    }
    pthread_mutex_unlock(&lock);
    return covered;
}

const void *rp_vmm_home(const void *ptr, uint64_t bytes)
{
    if (RP_LIKELY(atomic_load_explicit(&alias_count, memory_order_relaxed) == 0)) {
        return ptr;
    }
    const uint8_t *home = NULL;
    uint64_t granule;
    pthread_mutex_lock(&lock);
    const struct reservation *lot = find(ptr, &granule);
    if (lot == NULL) {
        home = ptr;
    }
    // Piece by piece: each must continue where the last one ended.
    for (uint64_t seen = 0; lot != NULL && seen < bytes; granule++) {
        const struct mapping *mapping = granule < lot->granules ? lot->at[granule].mapping : NULL;
        if (mapping == NULL) {
            home = NULL;
            break;
        }
        const uint8_t *at = (const uint8_t *)ptr + seen;
        const uint8_t *here = mapping->physical->home + (at - mapping->start);
        if (seen == 0) {
            home = here;
        } else if (here != home + seen) {
            home = NULL;
            break;
        }
        seen += GRANULE - (uint64_t)(at - lot->start) % GRANULE;
    }
    pthread_mutex_unlock(&lock);
    return home;
}
