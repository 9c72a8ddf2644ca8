#include "capture/comm_memory.h"

#include <inttypes.h>

#include <hccl/hccl_comm.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "capture/comm_extra.h"
#include "replay/context.h"

struct range {
    struct rp_list in_extra;
    uint8_t *base;
    size_t bytes;
    struct rp_list active; // struct part
};

struct part {
    struct rp_list in_range;
    uint8_t *start;
    size_t bytes;
};

static bool overlap(const uint8_t *a, size_t a_bytes, const uint8_t *b, size_t b_bytes)
{
    const uintptr_t first = (uintptr_t)a;
    const uintptr_t second = (uintptr_t)b;
    return first < second ? second - first < a_bytes : first - second < b_bytes;
}

static bool inside(const uint8_t *start, size_t bytes, const uint8_t *outer, size_t outer_bytes)
{
    const uintptr_t off = (uintptr_t)start - (uintptr_t)outer;
    return (uintptr_t)start >= (uintptr_t)outer && off <= outer_bytes && bytes <= outer_bytes - off;
}

static struct range *range_of(struct rp_list *link)
{
    return rp_container_of(link, struct range, in_extra);
}

static struct part *part_of(struct rp_list *link)
{
    return rp_container_of(link, struct part, in_range);
}

void rp_comm_memory_forget(struct rp_comm_extra *extra)
{
    struct rp_list *link;
    while ((link = rp_list_pop_front(&extra->ranges)) != NULL) {
        struct range *range = range_of(link);
        while ((link = rp_list_pop_front(&range->active)) != NULL) {
            rp_free(part_of(link));
        }
        rp_free(range);
    }
}

// The zero that CANN asks for, where later releases may want something else.
static rp_status check_zero(const char *api, const char *name, uint64_t value)
{
    return value == 0 ? RP_OK
                      : rp_fail(RP_EPARAM, "%s: %s is %" PRIu64 "; it must be 0", api, name, value);
}

static rp_status check_pointer(const char *api, const char *name, const void *pointer)
{
    return pointer != NULL ? RP_OK : rp_fail(RP_ENULL, "%s: %s is NULL", api, name);
}

static rp_status check_bytes(const char *api, uint64_t bytes)
{
    return bytes != 0 ? RP_OK : rp_fail(RP_EPARAM, "%s: size is 0", api);
}

// ---- ranges ----

static rp_status check_reserved(struct rp_comm *comm, const void *base, size_t bytes)
{
    void *start = NULL;
    size_t room = 0;
    enum rp_arena_kind kind;
    if (!rp_arena_block(comm->arena, base, &start, &room, &kind) || kind != RP_ARENA_RESERVED ||
            !inside(base, bytes, start, room)) {
        return rp_fail(RP_EPARAM,
                "HcclCommSetMemoryRange: [%p, %p + %zu) is not within a range that "
                "aclrtReserveMemAddress reserved on device %d",
                base, base, bytes, comm->device_id);
    }
    return RP_OK;
}

static rp_status add_range(struct rp_comm *comm, void *base, size_t bytes)
{
    struct rp_comm_extra *extra = rp_comm_extra_of(comm);
    struct range *range = rp_calloc(1, sizeof(*range));
    rp_status st = RP_OK;
    if (range == NULL) {
        return rp_fail(RP_ENOMEM, "HcclCommSetMemoryRange: no memory");
    }
    range->base = base;
    range->bytes = bytes;
    rp_list_init(&range->active);
    pthread_mutex_lock(&extra->lock);
    rp_list_each(link, &extra->ranges)
    {
        const struct range *other = range_of(link);
        if (st == RP_OK && overlap(range->base, bytes, other->base, other->bytes)) {
            st = rp_fail(RP_EPARAM,
                    "HcclCommSetMemoryRange: [%p, %p + %zu) overlaps the range of %zu bytes at %p",
                    base, base, bytes, other->bytes, (void *)other->base);
        }
    }
    if (st == RP_OK) {
        rp_list_push_back(&extra->ranges, &range->in_extra);
    }
    pthread_mutex_unlock(&extra->lock);
    if (st != RP_OK) {
        rp_free(range);
    }
    return st;
}

static rp_status set_range(
        HcclComm handle, void *base, size_t bytes, size_t alignment, uint64_t flags)
{
    static const char api[] = "HcclCommSetMemoryRange";
    struct rp_comm *comm = NULL;
    rp_status st = rp_comm_call_enter(api, handle, "baseVirPtr", base, &comm);
    if (st != RP_OK) {
        return st;
    }
    st = check_bytes(api, bytes);
    st = st != RP_OK ? st : check_zero(api, "alignment", alignment);
    st = st != RP_OK ? st : check_zero(api, "flags", flags);
    st = st != RP_OK ? st : check_reserved(comm, base, bytes);
    st = st != RP_OK ? st : add_range(comm, base, bytes);
    rp_comm_call_end(comm);
    return st;
}

HcclResult HcclCommSetMemoryRange(
        HcclComm comm, void *baseVirPtr, size_t size, size_t alignment, uint64_t flags)
{
    return (HcclResult)rp_hccl(set_range(comm, baseVirPtr, size, alignment, flags));
}

static rp_status drop_range(struct rp_comm_extra *extra, const void *base)
{
    rp_list_each(link, &extra->ranges)
    {
        struct range *range = range_of(link);
        if (range->base != base) {
            continue;
        }
        if (!rp_list_empty(&range->active)) {
            return rp_fail(RP_EPARAM,
                    "HcclCommUnsetMemoryRange: memory at %p in the range at %p is still active; "
                    "HcclCommDeactivateCommMemory comes first",
                    (void *)part_of(rp_list_first(&range->active))->start, base);
        }
        rp_list_remove(link);
        rp_free(range);
        return RP_OK;
    }
    return rp_fail(RP_EPARAM,
            "HcclCommUnsetMemoryRange: no range of this communicator begins at baseVirPtr %p",
            base);
}

static rp_status unset_range(HcclComm handle, void *base)
{
    static const char api[] = "HcclCommUnsetMemoryRange";
    struct rp_comm *comm = NULL;
    rp_status st = rp_comm_call_enter(api, handle, "baseVirPtr", base, &comm);
    if (st != RP_OK) {
        return st;
    }
    struct rp_comm_extra *extra = rp_comm_extra_of(comm);
    pthread_mutex_lock(&extra->lock);
    st = drop_range(extra, base);
    pthread_mutex_unlock(&extra->lock);
    rp_comm_call_end(comm);
    return st;
}

HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void *baseVirPtr)
{
    return (HcclResult)rp_hccl(unset_range(comm, baseVirPtr));
}

// ---- active memory ----

static rp_status add_part(struct rp_comm_extra *extra, struct part *part)
{
    rp_list_each(link, &extra->ranges)
    {
        struct range *range = range_of(link);
        if (!inside(part->start, part->bytes, range->base, range->bytes)) {
            continue;
        }
        rp_list_each(other, &range->active)
        {
            if (overlap(part->start, part->bytes, part_of(other)->start, part_of(other)->bytes)) {
                return rp_fail(RP_EPARAM,
                        "HcclCommActivateCommMemory: [%p, + %zu) overlaps active memory at %p",
                        (void *)part->start, part->bytes, (void *)part_of(other)->start);
            }
        }
        rp_list_push_back(&range->active, &part->in_range);
        return RP_OK;
    }
    return rp_fail(RP_EPARAM,
            "HcclCommActivateCommMemory: [%p, + %zu) is not within a range of this communicator; "
            "HcclCommSetMemoryRange comes first",
            (void *)part->start, part->bytes);
}

static rp_status activate_part(struct rp_comm_extra *extra, void *start, size_t bytes)
{
    struct part *part = rp_calloc(1, sizeof(*part));
    if (part == NULL) {
        return rp_fail(RP_ENOMEM, "HcclCommActivateCommMemory: no memory");
    }
    part->start = start;
    part->bytes = bytes;
    pthread_mutex_lock(&extra->lock);
    const rp_status st = add_part(extra, part);
    pthread_mutex_unlock(&extra->lock);
    if (st != RP_OK) {
        rp_free(part);
    }
    return st;
}

static rp_status activate(HcclComm handle, void *start, size_t bytes, size_t offset,
        aclrtDrvMemHandle physical, uint64_t flags)
{
    static const char api[] = "HcclCommActivateCommMemory";
    struct rp_comm *comm = NULL;
    rp_status st = rp_comm_call_enter(api, handle, "virPtr", start, &comm);
    if (st != RP_OK) {
        return st;
    }
    st = check_pointer(api, "handle", physical);
    st = st != RP_OK ? st : check_bytes(api, bytes);
    st = st != RP_OK ? st : check_zero(api, "offset", offset);
    st = st != RP_OK ? st : check_zero(api, "flags", flags);
    if (st == RP_OK && !rp_handle_live(RP_HANDLE_PHYSICAL, physical)) {
        st = rp_fail(RP_EPARAM, "%s: handle %p is not of aclrtMallocPhysical", api, physical);
    }
    st = st != RP_OK ? st : activate_part(rp_comm_extra_of(comm), start, bytes);
    rp_comm_call_end(comm);
    return st;
}

HcclResult HcclCommActivateCommMemory(HcclComm comm, void *virPtr, size_t size, size_t offset,
        aclrtDrvMemHandle handle, uint64_t flags)
{
    return (HcclResult)rp_hccl(activate(comm, virPtr, size, offset, handle, flags));
}

static rp_status drop_part(struct rp_comm_extra *extra, const void *start)
{
    rp_list_each(outer, &extra->ranges)
    {
        rp_list_each(link, &range_of(outer)->active)
        {
            if (part_of(link)->start == start) {
                rp_list_remove(link);
                rp_free(part_of(link));
                return RP_OK;
            }
        }
    }
    return rp_fail(RP_EPARAM,
            "HcclCommDeactivateCommMemory: no active memory of this communicator begins at virPtr "
            "%p",
            start);
}

static rp_status deactivate(HcclComm handle, void *start)
{
    static const char api[] = "HcclCommDeactivateCommMemory";
    struct rp_comm *comm = NULL;
    rp_status st = rp_comm_call_enter(api, handle, "virPtr", start, &comm);
    if (st != RP_OK) {
        return st;
    }
    struct rp_comm_extra *extra = rp_comm_extra_of(comm);
    pthread_mutex_lock(&extra->lock);
    st = drop_part(extra, start);
    pthread_mutex_unlock(&extra->lock);
    rp_comm_call_end(comm);
    return st;
}

HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void *virPtr)
{
    return (HcclResult)rp_hccl(deactivate(comm, virPtr));
}
