// Registered host memory. There is one address space: the device address of a registered range is
// the address itself, and what registering gives is that copies of it need not fall back to the
// synchronous path. The pages are not locked; nothing here depends on it, and the limit on locked
// memory is low on many machines.

#include "replay/host_register.h"

#include <acl/acl_rt.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/list.h"
#include "replay/context.h"
#include "replay/place.h"
#include "transport/arena.h"

#define ALIGN_BYTES 4096

struct range {
    struct rp_list link;
    uintptr_t start;
    uint64_t bytes;
    bool mapped; // a device address may be asked for
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rp_list ranges = RP_LIST_INIT(ranges); // disjoint; few
// How many; relaxed: a range that is being registered is not used yet.
static _Atomic uint32_t range_count;

// The range that overlaps [start, start + bytes). Under the lock.
static struct range *find(uintptr_t start, uint64_t bytes)
{
    rp_list_each(link, &ranges)
    {
        struct range *range = rp_container_of(link, struct range, link);
        if (start < range->start + range->bytes && range->start < start + bytes) {
            return range;
        }
    }
    return NULL;
}

bool rp_host_range_find(const void *ptr, void **start, uint64_t *bytes)
{
    if (atomic_load_explicit(&range_count, memory_order_relaxed) == 0) {
        return false;
    }
    pthread_mutex_lock(&lock);
    const struct range *range = find((uintptr_t)ptr, 1);
    if (range != NULL) {
        *start = (void *)range->start;
        *bytes = range->bytes;
    }
    pthread_mutex_unlock(&lock);
    return range != NULL;
}

// Whether every page exists. mincore fails with ENOMEM where nothing is mapped; what it writes of
// the others is of no interest.
static bool is_mapped(const void *ptr, uint64_t size)
{
    unsigned char pages[256];
    const uint64_t step_bytes = sizeof(pages) * ALIGN_BYTES;
    for (uint64_t at = 0; at < size; at += step_bytes) {
        void *from = (void *)((uintptr_t)ptr + at); // mincore takes no const, but only looks
        const uint64_t left_bytes = size - at;
        const size_t bytes = (size_t)(left_bytes < step_bytes ? left_bytes : step_bytes);
        if (mincore(from, bytes, pages) != 0 && errno == ENOMEM) {
            return false;
        }
    }
    return true;
}

static rp_status check_memory(const void *ptr, uint64_t size, bool pins)
{
    struct rp_location at;
    if (ptr == NULL) {
        return rp_fail(RP_ENULL, "ptr is a null pointer");
    }
    if (size == 0) {
        return rp_fail(RP_EINVAL, "size is 0");
    }
    if ((uintptr_t)ptr % ALIGN_BYTES != 0) {
        return rp_fail(RP_EPARAM, "ptr %p is not a multiple of %d", ptr, ALIGN_BYTES);
    }
    if (size > UINTPTR_MAX - (uintptr_t)ptr) {
        return rp_fail(RP_EPARAM, "%llu bytes at %p do not fit into the address space",
                (unsigned long long)size, ptr);
    }
    if (rp_arena_find(ptr) == NULL) {
        return is_mapped(ptr, size)
                       ? RP_OK
                       : rp_fail(RP_EPARAM, "ptr %p: there is no memory at some of the %llu bytes",
                                 ptr, (unsigned long long)size);
    }
    if (!rp_locate(ptr, &at) || at.place != RP_PLACE_PINNED) {
        return rp_fail(RP_EPARAM, "ptr %p is not host memory", ptr);
    }
    return pins ? rp_fail(RP_EREGISTERED, "ptr %p is memory of aclrtMallocHost, which is pinned",
                          ptr)
                : RP_OK;
}

static rp_status add(void *ptr, uint64_t size, bool mapped)
{
    struct range *range = rp_calloc(1, sizeof(*range));
    if (range == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the books of registered host memory");
    }
    range->start = (uintptr_t)ptr;
    range->bytes = size;
    range->mapped = mapped;
    pthread_mutex_lock(&lock);
    const struct range *other = find(range->start, size);
    if (other == NULL) {
        rp_list_push_back(&ranges, &range->link);
        atomic_fetch_add_explicit(&range_count, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&lock);
    if (other != NULL) {
        rp_free(range);
        return rp_fail(RP_EREGISTERED,
                "%llu bytes at %p overlap a range that is registered already",
                (unsigned long long)size, ptr);
    }
    return RP_OK;
}

static rp_status register_mapped(
        void *ptr, uint64_t size, aclrtHostRegisterType type, void **device_ptr)
{
    struct rp_context *context;
    rp_status st = check_memory(ptr, size, false);
    if (st == RP_OK && device_ptr == NULL) {
        st = rp_fail(RP_ENULL, "devPtr is a null pointer");
    }
    if (st == RP_OK && type != ACL_HOST_REGISTER_MAPPED) {
        st = rp_fail(RP_ENOTSUP, "type is %d; only ACL_HOST_REGISTER_MAPPED (0) is supported",
                (int)type);
    }
    if (st == RP_OK) {
        st = rp_context_current(&context);
    }
    if (st == RP_OK) {
        st = add(ptr, size, true);
    }
    if (st == RP_OK) {
        *device_ptr = ptr;
    }
    return st;
}

aclError aclrtHostRegister(void *ptr, uint64_t size, aclrtHostRegisterType type, void **devPtr)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? register_mapped(ptr, size, type, devPtr) : st);
}

static rp_status register_flags(void *ptr, uint64_t size, uint32_t flag)
{
    const uint32_t reserved = ACL_HOST_REG_IOMEMORY | ACL_HOST_REG_READONLY;
    const uint32_t known = ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED | reserved;
    struct rp_context *context;
    rp_status st = check_memory(ptr, size, (flag & ACL_HOST_REG_PINNED) != 0);
    if (st != RP_OK) {
        return st;
    }
    if (flag == 0 || (flag & ~known) != 0) {
        return rp_fail(RP_EPARAM, "flag 0x%x is not a union of ACL_HOST_REG_* flags", flag);
    }
    if ((flag & reserved) != 0) {
        return rp_fail(RP_ENOTSUP,
                "flag 0x%x: only MAPPED (0x2) and PINNED (0x10000000) are supported", flag);
    }
    st = rp_context_current(&context);
    return st == RP_OK ? add(ptr, size, (flag & ACL_HOST_REG_MAPPED) != 0) : st;
}

aclError aclrtHostRegisterV2(void *ptr, uint64_t size, uint32_t flag)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? register_flags(ptr, size, flag) : st);
}

static rp_status get_device_pointer(void *host, void **device_ptr, uint32_t flag)
{
    if (host == NULL || device_ptr == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", host == NULL ? "pHost" : "pDevice");
    }
    if (flag != 0) {
        return rp_fail(RP_EINVAL, "flag is %u; it is reserved and must be 0", flag);
    }
    pthread_mutex_lock(&lock);
    const struct range *range = find((uintptr_t)host, 1);
    const bool mapped = range != NULL && range->mapped;
    pthread_mutex_unlock(&lock);
    if (!mapped) {
        return rp_fail(RP_ENOTREGISTERED, "pHost %p is in no range registered as MAPPED", host);
    }
    *device_ptr = host;
    return RP_OK;
}

aclError aclrtHostGetDevicePointer(void *pHost, void **pDevice, uint32_t flag)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_device_pointer(pHost, pDevice, flag) : st);
}

static rp_status unregister(void *ptr)
{
    if (ptr == NULL) {
        return rp_fail(RP_ENULL, "ptr is a null pointer");
    }
    pthread_mutex_lock(&lock);
    struct range *range = find((uintptr_t)ptr, 1);
    const bool found = range != NULL && range->start == (uintptr_t)ptr;
    if (found) {
        rp_list_remove(&range->link);
        atomic_fetch_sub_explicit(&range_count, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&lock);
    if (!found) {
        return rp_fail(RP_ENOTREGISTERED, "ptr %p is not the start of a registered range", ptr);
    }
    rp_free(range);
    return RP_OK;
}

aclError aclrtHostUnregister(void *ptr)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? unregister(ptr) : st);
}
