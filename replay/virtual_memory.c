// Virtual memory calls; the tables are in vmm.c.

#include <acl/acl_rt.h>

#include "base/error.h"
#include "replay/context.h"
#include "replay/primary.h"
#include "replay/vmm.h"
#include "transport/arena.h"

// ---- addresses ----

static rp_status reserve(void **out, size_t size, size_t alignment, uint64_t flags)
{
    struct rp_context *context;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "virPtr is a null pointer");
    }
    if (size == 0) {
        return rp_fail(RP_EINVAL, "size is 0");
    }
    if (flags > 1) { // 1 is what older programs pass, and means nothing
        return rp_fail(RP_EINVAL, "flags is %llu; it is reserved and must be 0",
                (unsigned long long)flags);
    }
    if (alignment != 0) {
        return rp_fail(RP_EPARAM, "alignment is %zu; it is reserved and must be 0", alignment);
    }
    const rp_status st = rp_context_current(&context);
    return st == RP_OK ? rp_vmm_reserve(context->device_id, size, out) : st;
}

// `expectPtr` is a wish, which is not granted: the range must lie in the device's arena.
aclError aclrtReserveMemAddress(
        void **virPtr, size_t size, size_t alignment, void *expectPtr, uint64_t flags)
{
    (void)expectPtr;
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? reserve(virPtr, size, alignment, flags) : st);
}

aclError aclrtReserveMemAddressNoUCMemory(
        void **virPtr, size_t size, size_t alignment, void *expectPtr, uint64_t flags)
{
    (void)expectPtr;
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? reserve(virPtr, size, alignment, flags) : st);
}

aclError aclrtReleaseMemAddress(void *virPtr)
{
    rp_status st = rp_enter();
    if (st == RP_OK && virPtr == NULL) {
        st = rp_fail(RP_ENULL, "virPtr is a null pointer");
    }
    return rp_acl(st == RP_OK ? rp_vmm_release(virPtr) : st);
}

// ---- physical memory ----

// Which kinds of memory go with which place.
static rp_status check_attribute(const aclrtPhysicalMemProp *prop)
{
    const bool on_device = prop->location.type == ACL_MEM_LOCATION_TYPE_DEVICE;
    switch (prop->memAttr) {
    case ACL_DDR_MEM_HUGE:
    case ACL_DDR_MEM_NORMAL:
    case ACL_DDR_MEM_P2P_HUGE:
    case ACL_DDR_MEM_P2P_NORMAL:
        return on_device ? rp_fail(RP_EINVAL, "memAttr %d is of host memory", (int)prop->memAttr)
                         : RP_OK;
    case ACL_HBM_MEM_HUGE:
    case ACL_HBM_MEM_NORMAL:
    case ACL_HBM_MEM_P2P_HUGE:
    case ACL_HBM_MEM_P2P_NORMAL:
    case ACL_HBM_MEM_HUGE1G:
    case ACL_HBM_MEM_P2P_HUGE1G:
    case ACL_MEM_NORMAL:
    case ACL_MEM_HUGE:
    case ACL_MEM_HUGE1G:
    case ACL_MEM_P2P_NORMAL:
    case ACL_MEM_P2P_HUGE:
    case ACL_MEM_P2P_HUGE1G:
        return RP_OK;
    case ACL_DDR_MEM:
    case ACL_HBM_MEM:
        break;
    }
    return rp_fail(
            RP_EINVAL, "memAttr is %d; physical memory has no such attribute", (int)prop->memAttr);
}

// Whose arena it comes from: the device named, the current one for memory of the host.
static rp_status device_of(const aclrtPhysicalMemProp *prop, int32_t *out)
{
    struct rp_context *context;
    if (prop->location.type == ACL_MEM_LOCATION_TYPE_DEVICE) {
        *out = prop->location.id > INT32_MAX ? -1 : (int32_t)prop->location.id;
        return rp_device_check_id(*out);
    }
    const rp_status st = rp_context_current(&context);
    if (st == RP_OK) {
        *out = context->device_id;
    }
    return st;
}

static rp_status check_prop(const aclrtPhysicalMemProp *prop)
{
    if (prop->handleType != ACL_MEM_HANDLE_TYPE_NONE) {
        return rp_fail(RP_EINVAL, "handleType is %d; it can be ACL_MEM_HANDLE_TYPE_NONE (0)",
                (int)prop->handleType);
    }
    if (prop->allocationType != ACL_MEM_ALLOCATION_TYPE_PINNED) {
        return rp_fail(
                RP_EINVAL, "allocationType is %d; it can be PINNED (0)", (int)prop->allocationType);
    }
    if (prop->location.type != ACL_MEM_LOCATION_TYPE_HOST &&
            prop->location.type != ACL_MEM_LOCATION_TYPE_DEVICE &&
            prop->location.type != ACL_MEM_LOCATION_TYPE_HOST_NUMA) {
        return rp_fail(RP_EINVAL,
                "location.type is %d; it can be HOST (0), DEVICE (1), HOST_NUMA (4)",
                (int)prop->location.type);
    }
    return check_attribute(prop);
}

static rp_status malloc_physical(
        aclrtDrvMemHandle *out, size_t size, const aclrtPhysicalMemProp *prop, uint64_t flags)
{
    struct rp_physical *physical;
    int32_t device_id;
    if (out == NULL || prop == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", out == NULL ? "handle" : "prop");
    }
    if (size == 0) {
        return rp_fail(RP_EINVAL, "size is 0");
    }
    if (flags != 0) {
        return rp_fail(RP_EINVAL, "flags is %llu; it is reserved and must be 0",
                (unsigned long long)flags);
    }
    rp_status st = check_prop(prop);
    if (st == RP_OK) {
        st = device_of(prop, &device_id);
    }
    if (st == RP_OK && size % RP_ARENA_GRANULE != 0) {
        st = rp_fail(RP_EPARAM, "size %zu is not a multiple of the granularity, %u", size,
                RP_ARENA_GRANULE);
    }
    if (st == RP_OK) {
        st = rp_vmm_physical_create(prop, device_id, size, &physical);
    }
    if (st == RP_OK) {
        *out = physical;
    }
    return st;
}

aclError aclrtMallocPhysical(
        aclrtDrvMemHandle *handle, size_t size, const aclrtPhysicalMemProp *prop, uint64_t flags)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? malloc_physical(handle, size, prop, flags) : st);
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle)
{
    rp_status st = rp_enter();
    if (st == RP_OK && handle == NULL) {
        st = rp_fail(RP_ENULL, "handle is a null pointer");
    }
    return rp_acl(st == RP_OK ? rp_vmm_physical_destroy(handle) : st);
}

static rp_status get_granularity(
        const aclrtPhysicalMemProp *prop, aclrtMemGranularityOptions option, size_t *granularity)
{
    if (prop == NULL || granularity == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", prop == NULL ? "prop" : "granularity");
    }
    if (option != ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM &&
            option != ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
        return rp_fail(
                RP_EPARAM, "option is %d; it can be MINIMUM (0) or RECOMMENDED (1)", (int)option);
    }
    const rp_status st = check_attribute(prop);
    if (st == RP_OK) {
        *granularity = RP_ARENA_GRANULE;
    }
    return st;
}

aclError aclrtMemGetAllocationGranularity(
        aclrtPhysicalMemProp *prop, aclrtMemGranularityOptions option, size_t *granularity)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_granularity(prop, option, granularity) : st);
}

aclError aclrtMemGetAllocationPropertiesFromHandle(
        aclrtDrvMemHandle handle, aclrtPhysicalMemProp *prop)
{
    rp_status st = rp_enter();
    if (st == RP_OK && (handle == NULL || prop == NULL)) {
        st = rp_fail(RP_ENULL, "%s is a null pointer", handle == NULL ? "handle" : "prop");
    }
    return rp_acl(st == RP_OK ? rp_vmm_physical_prop(handle, prop) : st);
}

// ---- mappings ----

static rp_status map(
        void *ptr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags)
{
    if (ptr == NULL || handle == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", ptr == NULL ? "virPtr" : "handle");
    }
    if (size == 0) {
        return rp_fail(RP_EINVAL, "size is 0");
    }
    if (flags != 0) {
        return rp_fail(RP_EINVAL, "flags is %llu; it is reserved and must be 0",
                (unsigned long long)flags);
    }
    if (offset != 0) {
        return rp_fail(RP_EPARAM, "offset is %zu; it is reserved and must be 0", offset);
    }
    return rp_vmm_map(ptr, size, handle);
}

aclError aclrtMapMem(
        void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? map(virPtr, size, offset, handle, flags) : st);
}

aclError aclrtUnmapMem(void *virPtr)
{
    rp_status st = rp_enter();
    if (st == RP_OK && virPtr == NULL) {
        st = rp_fail(RP_ENULL, "virPtr is a null pointer");
    }
    return rp_acl(st == RP_OK ? rp_vmm_unmap(virPtr) : st);
}

static rp_status retain(const void *ptr, aclrtDrvMemHandle *out)
{
    struct rp_physical *physical;
    if (ptr == NULL || out == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", ptr == NULL ? "virPtr" : "handle");
    }
    const rp_status st = rp_vmm_physical_of(ptr, &physical);
    if (st == RP_OK) {
        *out = physical;
    }
    return st;
}

aclError aclrtMemRetainAllocationHandle(void *virPtr, aclrtDrvMemHandle *handle)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? retain(virPtr, handle) : st);
}
