// Questions about memory: how much there is, and what an address belongs to.

#include <acl/acl_rt.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "base/util.h"
#include "replay/context.h"
#include "replay/device.h"
#include "replay/place.h"
#include "replay/primary.h"
#include "transport/arena.h"
#include "transport/memory.h"

// ---- how much ----

static bool is_ddr(aclrtMemAttr attr)
{
    return attr == ACL_DDR_MEM || attr == ACL_DDR_MEM_HUGE || attr == ACL_DDR_MEM_NORMAL ||
           attr == ACL_DDR_MEM_P2P_HUGE || attr == ACL_DDR_MEM_P2P_NORMAL;
}

// The small chips have DDR memory only, and answer for it when they are asked for HBM.
static bool chip_lacks(aclrtMemAttr attr)
{
    const char *soc = rp_env_device()->soc_name;
    return is_ddr(attr) && strncmp(soc, "Ascend310", strlen("Ascend310")) != 0;
}

static rp_status get_info(aclrtMemAttr attr, size_t *free, size_t *total)
{
    struct rp_context *context;
    if (free == NULL || total == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", free == NULL ? "free" : "total");
    }
    if ((int)attr < ACL_DDR_MEM || attr > ACL_MEM_P2P_HUGE1G) {
        return rp_fail(RP_EMEMTYPE, "attr is %d; it can be %d to %d", (int)attr, ACL_DDR_MEM,
                ACL_MEM_P2P_HUGE1G);
    }
    const rp_status st = rp_context_current(&context);
    if (st != RP_OK) {
        return st;
    }
    struct rp_arena_info info = { 0 };
    if (!chip_lacks(attr)) {
        rp_arena_query(rp_device_arena(context->device), &info);
    }
    *free = info.free_bytes;
    *total = info.total_bytes;
    return RP_OK;
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_info(attr, free, total) : st);
}

// One component holds all of a device's memory: the program.
static rp_status get_usage(int32_t id, aclrtMemUsageInfo *usage, size_t room, size_t *count)
{
    struct rp_device *device;
    if (usage == NULL || count == NULL) {
        return rp_fail(
                RP_ENULL, "%s is a null pointer", usage == NULL ? "memUsageInfo" : "outputNum");
    }
    if (room == 0) {
        return rp_fail(RP_EPARAM, "inputNum is 0");
    }
    rp_status st = rp_device_check_id(id);
    if (st != RP_OK) {
        return st;
    }
    struct rp_arena_info info = { 0 };
    if (rp_device_peek(id) != NULL) {
        st = rp_device_ref(id, &device);
        if (st != RP_OK) {
            return st;
        }
        rp_arena_query(rp_device_arena(device), &info);
        rp_device_unref(device);
    }
    usage[0] = (aclrtMemUsageInfo){
        .name = "APP", .curMemSize = info.used_bytes, .memPeakSize = info.peak_bytes
    };
    *count = 1;
    return RP_OK;
}

aclError aclrtGetMemUsageInfo(
        int32_t deviceId, aclrtMemUsageInfo *memUsageInfo, size_t inputNum, size_t *outputNum)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_usage(deviceId, memUsageInfo, inputNum, outputNum) : st);
}

// ---- what it is ----

static rp_status get_attributes(const void *ptr, aclrtPtrAttributes *attributes)
{
    static const aclrtMemLocationType types[] = {
        [RP_PLACE_PAGEABLE] = ACL_MEM_LOCATION_TYPE_UNREGISTERED,
        [RP_PLACE_PINNED] = ACL_MEM_LOCATION_TYPE_HOST,
        [RP_PLACE_DEVICE] = ACL_MEM_LOCATION_TYPE_DEVICE,
    };
    struct rp_location at;
    if (ptr == NULL || attributes == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", ptr == NULL ? "ptr" : "attributes");
    }
    if (!rp_locate(ptr, &at)) {
        at.place = RP_PLACE_PAGEABLE; // memory of a device, and nobody's
    }
    *attributes = (aclrtPtrAttributes){
        .location = { .id = at.place == RP_PLACE_DEVICE ? (uint32_t)at.device_id : 0,
                .type = types[at.place] },
        .pageSize = (uint32_t)rp_memory_page_bytes(),
    };
    return RP_OK;
}

aclError aclrtPointerGetAttributes(const void *ptr, aclrtPtrAttributes *attributes)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_attributes(ptr, attributes) : st);
}

static rp_status check_type(
        void *const *addresses, uint32_t count, uint32_t type, uint32_t *result, uint32_t reserve)
{
    if (addresses == NULL || result == NULL) {
        return rp_fail(
                RP_ENULL, "%s is a null pointer", addresses == NULL ? "addrList" : "checkResult");
    }
    if (count == 0 || reserve != 0) {
        return rp_fail(RP_EPARAM, "size is %u and must not be 0, reserve is %u and must be 0",
                count, reserve);
    }
    const uint32_t known = ACL_RT_MEM_TYPE_DEV | ACL_RT_MEM_TYPE_DVPP | ACL_RT_MEM_TYPE_RSVD;
    if (type == 0 || (type & ~known) != 0) {
        return rp_fail(RP_EPARAM, "memType 0x%x is not a union of ACL_RT_MEM_TYPE_*", type);
    }
    bool all = (type & ACL_RT_MEM_TYPE_DEV) != 0; // the host has none of the other kinds
    for (uint32_t i = 0; all && i < count; i++) {
        struct rp_location at;
        all = rp_locate(addresses[i], &at) && at.place == RP_PLACE_DEVICE;
    }
    *result = all ? 1 : 0;
    return RP_OK;
}

aclError aclrtCheckMemType(
        void **addrList, uint32_t size, uint32_t memType, uint32_t *checkResult, uint32_t reserve)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? check_type(addrList, size, memType, checkResult, reserve) : st);
}

static rp_status get_range(const void *ptr, void **base, size_t *size)
{
    struct rp_location at;
    if (ptr == NULL) {
        return rp_fail(RP_ENULL, "ptr is a null pointer");
    }
    if (!rp_locate(ptr, &at) || at.place == RP_PLACE_PAGEABLE) {
        return rp_fail(RP_EPARAM, "ptr %p is in no allocation of a device", ptr);
    }
    if (base != NULL) {
        *base = at.start;
    }
    if (size != NULL) {
        *size = at.bytes;
    }
    return RP_OK;
}

aclError aclrtMemGetAddressRange(void *ptr, void **pbase, size_t *psize)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_range(ptr, pbase, psize) : st);
}
