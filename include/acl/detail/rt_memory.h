/* Device memory, host memory that is registered with the device, and questions
 * about both. */
#ifndef REPRISE_RT_MEMORY_H
#define REPRISE_RT_MEMORY_H

#include "rt_handles.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Page size to allocate with. HUGE_FIRST falls back to normal pages. Use one;
 * only aclrtMallocWithCfg() lets one of the last three be added. */
typedef enum aclrtMemMallocPolicy {
    ACL_MEM_MALLOC_HUGE_FIRST = 0,
    ACL_MEM_MALLOC_HUGE_ONLY = 1,
    ACL_MEM_MALLOC_NORMAL_ONLY = 2,
    ACL_MEM_MALLOC_HUGE_FIRST_P2P = 3,
    ACL_MEM_MALLOC_HUGE_ONLY_P2P = 4,
    ACL_MEM_MALLOC_NORMAL_ONLY_P2P = 5,
    ACL_MEM_MALLOC_HUGE1G_ONLY = 6,
    ACL_MEM_MALLOC_HUGE1G_ONLY_P2P = 7,
    ACL_MEM_TYPE_LOW_BAND_WIDTH = 256,
    ACL_MEM_TYPE_HIGH_BAND_WIDTH = 4096,
    ACL_MEM_ACCESS_USER_SPACE_READONLY = 0x100000,
} aclrtMemMallocPolicy;

/** Kinds of memory. */
typedef enum aclrtMemAttr {
    ACL_DDR_MEM = 0,
    ACL_HBM_MEM = 1,
    ACL_DDR_MEM_HUGE = 2,
    ACL_DDR_MEM_NORMAL = 3,
    ACL_HBM_MEM_HUGE = 4,
    ACL_HBM_MEM_NORMAL = 5,
    ACL_DDR_MEM_P2P_HUGE = 6,
    ACL_DDR_MEM_P2P_NORMAL = 7,
    ACL_HBM_MEM_P2P_HUGE = 8,
    ACL_HBM_MEM_P2P_NORMAL = 9,
    ACL_HBM_MEM_HUGE1G = 10,
    ACL_HBM_MEM_P2P_HUGE1G = 11,
    ACL_MEM_NORMAL = 12,
    ACL_MEM_HUGE = 13,
    ACL_MEM_HUGE1G = 14,
    ACL_MEM_P2P_NORMAL = 15,
    ACL_MEM_P2P_HUGE = 16,
    ACL_MEM_P2P_HUGE1G = 17,
} aclrtMemAttr;

/** Page sizes. */
typedef enum aclrtMemPgType {
    NORMAL_PAGE_TYPE = 0,
    HUGE_PAGE_TYPE = 1,
    HUGE1G_PAGE_TYPE = 2,
} aclrtMemPgType;

/** Where device memory lies. */
typedef enum aclrtMemType {
    HBM_TYPE = 0,
    DDR_TYPE = 1,
    P2P_HBM_TYPE = 2,
    P2P_DDR_TYPE = 3,
} aclrtMemType;

/** Attributes of one allocation. */
typedef enum aclrtMallocAttrType {
    ACL_RT_MEM_ATTR_RSV = 0,
    ACL_RT_MEM_ATTR_MODULE_ID = 1,
    ACL_RT_MEM_ATTR_DEVICE_ID = 2,
    ACL_RT_MEM_ATTR_VA_FLAG = 3,
} aclrtMallocAttrType;

/** One attribute. */
typedef union aclrtMallocAttrValue {
    uint16_t moduleId;
    uint32_t deviceId;
    uint32_t vaFlag;
    uint8_t rsv[8];
} aclrtMallocAttrValue;

typedef struct aclrtMallocAttribute {
    aclrtMallocAttrType attr;
    aclrtMallocAttrValue value;
} aclrtMallocAttribute;

/** `numAttrs` attributes. */
typedef struct aclrtMallocConfig {
    aclrtMallocAttribute *attrs;
    size_t numAttrs;
} aclrtMallocConfig;

/** How aclrtHostRegister() maps; only MAPPED works, the others are reserved. */
typedef enum aclrtHostRegisterType {
    ACL_HOST_REGISTER_MAPPED = 0,
    ACL_HOST_REGISTER_IOMEMORY = 4,
    ACL_HOST_REGISTER_READONLY = 8,
} aclrtHostRegisterType;

/** Flags of aclrtHostRegisterV2(); IOMEMORY and READONLY are reserved. */
#define ACL_HOST_REG_MAPPED 0x2UL
#define ACL_HOST_REG_IOMEMORY 0x4UL
#define ACL_HOST_REG_READONLY 0x8UL
#define ACL_HOST_REG_PINNED 0x10000000UL

/** Kinds of address that aclrtCheckMemType() checks for. */
#define ACL_RT_MEM_TYPE_DEV 0x2U
#define ACL_RT_MEM_TYPE_DVPP 0x8U
#define ACL_RT_MEM_TYPE_RSVD 0x10U

/** Where an address belongs. */
typedef enum aclrtMemLocationType {
    ACL_MEM_LOCATION_TYPE_HOST = 0,
    ACL_MEM_LOCATION_TYPE_DEVICE = 1,
    ACL_MEM_LOCATION_TYPE_UNREGISTERED = 2,
    ACL_MEM_LOCATION_TYPE_MANAGED = 3,
    ACL_MEM_LOCATION_TYPE_HOST_NUMA = 4,
} aclrtMemLocationType;

/** `id` is a device or NUMA node, as `type` says. */
typedef struct aclrtMemLocation {
    uint32_t id;
    aclrtMemLocationType type;
} aclrtMemLocation;

/** What aclrtPointerGetAttributes() tells: where the address belongs, and its
 * page size in bytes. */
typedef struct aclrtPtrAttributes {
    aclrtMemLocation location;
    uint32_t pageSize;
    uint32_t rsv[4];
} aclrtPtrAttributes;

/** What one component of the runtime holds: bytes now, and at most so far. */
typedef struct aclrtMemUsageInfo {
    char name[32];
    uint64_t curMemSize;
    uint64_t memPeakSize;
    size_t reserved[8];
} aclrtMemUsageInfo;

/** Engines of a device. */
typedef enum aclrtHacType {
    ACL_RT_HAC_TYPE_STARS = 0,
    ACL_RT_HAC_TYPE_AICPU = 1,
    ACL_RT_HAC_TYPE_AIC = 2,
    ACL_RT_HAC_TYPE_AIV = 3,
    ACL_RT_HAC_TYPE_PCIEDMA = 4,
    ACL_RT_HAC_TYPE_RDMA = 5,
    ACL_RT_HAC_TYPE_SDMA = 6,
    ACL_RT_HAC_TYPE_DVPP = 7,
    ACL_RT_HAC_TYPE_UDMA = 8,
    ACL_RT_HAC_TYPE_CCU = 9,
} aclrtHacType;

/** Whether an engine reaches registered host memory. */
typedef enum aclrtHostMemMapCapability {
    ACL_RT_HOST_MEM_MAP_NOT_SUPPORTED = 0,
    ACL_RT_HOST_MEM_MAP_SUPPORTED = 1,
} aclrtHostMemMapCapability;

/** `size` bytes on the current device, 64-byte aligned, not initialised. size 0:
 * ACL_ERROR_INVALID_PARAM; none left: ACL_ERROR_RT_MEMORY_ALLOCATION. Freed by
 * aclrtFree(). */
ACL_FUNC_VISIBILITY aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy);

/** The same without the 32 bytes of padding that aclrtMalloc() adds. */
ACL_FUNC_VISIBILITY aclError aclrtMallocAlign32(
        void **devPtr, size_t size, aclrtMemMallocPolicy policy);

/** The same in memory that the device caches. */
ACL_FUNC_VISIBILITY aclError aclrtMallocCached(
        void **devPtr, size_t size, aclrtMemMallocPolicy policy);

/** The same without rounding `size`, and with attributes; `cfg` may be NULL. */
ACL_FUNC_VISIBILITY aclError aclrtMallocWithCfg(
        void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg);

/** Memory that the task scheduler reaches. */
ACL_FUNC_VISIBILITY aclError aclrtMallocForTaskScheduler(
        void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg);

/** Frees at once and does not wait for queued tasks that use the memory. NULL:
 * ACL_ERROR_INVALID_PARAM. */
ACL_FUNC_VISIBILITY aclError aclrtFree(void *devPtr);

/** Waits for the device first. */
ACL_FUNC_VISIBILITY aclError aclrtFreeWithDevSync(void *devPtr);

/** `size` bytes of pinned host memory, 64-byte aligned: what asynchronous and
 * captured copies need. Freed by aclrtFreeHost(). */
ACL_FUNC_VISIBILITY aclError aclrtMallocHost(void **hostPtr, size_t size);

/** The same with attributes; `cfg` may be NULL. */
ACL_FUNC_VISIBILITY aclError aclrtMallocHostWithCfg(
        void **ptr, uint64_t size, aclrtMallocConfig *cfg);

/** Frees memory of the two calls above. NULL: an error. */
ACL_FUNC_VISIBILITY aclError aclrtFreeHost(void *hostPtr);

/** Waits for the device first. */
ACL_FUNC_VISIBILITY aclError aclrtFreeHostWithDevSync(void *hostPtr);

/** Gives kernels a device address, `*devPtr`, for 4 KiB-aligned host memory.
 * Twice: ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED. */
ACL_FUNC_VISIBILITY aclError aclrtHostRegister(
        void *ptr, uint64_t size, aclrtHostRegisterType type, void **devPtr);

/** Maps and/or pins host memory, as `flag` says. */
ACL_FUNC_VISIBILITY aclError aclrtHostRegisterV2(void *ptr, uint64_t size, uint32_t flag);

/** The device address of mapped host memory; `flag` is 0. */
ACL_FUNC_VISIBILITY aclError aclrtHostGetDevicePointer(void *pHost, void **pDevice, uint32_t flag);

/** Takes a registration back; there is none: ACL_ERROR_HOST_MEMORY_NOT_REGISTERED. */
ACL_FUNC_VISIBILITY aclError aclrtHostUnregister(void *ptr);

/** Whether an engine reaches registered host memory. */
ACL_FUNC_VISIBILITY aclError aclrtHostMemMapCapabilities(
        uint32_t deviceId, aclrtHacType hacType, aclrtHostMemMapCapability *capabilities);

/** Free and total bytes of a kind of memory of the current device; 0 and 0 for a
 * kind it lacks. */
ACL_FUNC_VISIBILITY aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total);

/** Fills up to `inputNum` entries; `*outputNum` receives how many there are. */
ACL_FUNC_VISIBILITY aclError aclrtGetMemUsageInfo(
        int32_t deviceId, aclrtMemUsageInfo *memUsageInfo, size_t inputNum, size_t *outputNum);

/** `*checkResult` is 1 when all `size` addresses are of the kinds in `memType`
 * (ACL_RT_MEM_TYPE_*). `reserve` is 0. */
ACL_FUNC_VISIBILITY aclError aclrtCheckMemType(
        void **addrList, uint32_t size, uint32_t memType, uint32_t *checkResult, uint32_t reserve);

/** Where an address belongs. */
ACL_FUNC_VISIBILITY aclError aclrtPointerGetAttributes(
        const void *ptr, aclrtPtrAttributes *attributes);

/** Writes back and invalidates, or only invalidates, cached device memory. */
ACL_FUNC_VISIBILITY aclError aclrtMemFlush(void *devPtr, size_t size);
ACL_FUNC_VISIBILITY aclError aclrtMemInvalidate(void *devPtr, size_t size);

/** Device address through which cores synchronise. */
ACL_FUNC_VISIBILITY aclError aclrtGetHardwareSyncAddr(void **addr);

#ifdef __cplusplus
}
#endif

#endif
