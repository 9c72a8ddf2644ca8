/* Virtual memory: address ranges and physical memory apart, and memory shared
 * between processes. */
#ifndef REPRISE_RT_VMM_H
#define REPRISE_RT_VMM_H

#include "rt_handles.h"
#include "rt_memory.h"
#include "rt_notify.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Order of use: reserve addresses, allocate physical memory, map, use, unmap,
 * free the physical memory, release the addresses. Sizes are multiples of the
 * granularity. */

/** Kinds of physical memory. */
typedef enum aclrtMemAllocationType {
    ACL_MEM_ALLOCATION_TYPE_PINNED = 0,
} aclrtMemAllocationType;

/** What a handle can be exported as. */
typedef enum aclrtMemHandleType {
    ACL_MEM_HANDLE_TYPE_NONE = 0,
    ACL_MEM_HANDLE_TYPE_POSIX = 2,
} aclrtMemHandleType;

/** Forms of a shared handle: a uint64_t, or an aclrtMemFabricHandle. */
typedef enum aclrtMemSharedHandleType {
    ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT = 1,
    ACL_MEM_SHARE_HANDLE_TYPE_FABRIC = 2,
} aclrtMemSharedHandleType;

/** Which granularity is meant. */
typedef enum aclrtMemGranularityOptions {
    ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
    ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1,
    ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF = 65535,
} aclrtMemGranularityOptions;

/** Rights to mapped memory. */
typedef enum aclrtMemAccessFlags {
    ACL_RT_MEM_ACCESS_FLAGS_NONE = 0,
    ACL_RT_MEM_ACCESS_FLAGS_READ = 1,
    ACL_RT_MEM_ACCESS_FLAGS_READWRITE = 3,
} aclrtMemAccessFlags;

/** Paths between devices. */
typedef enum aclrtMemLinkType {
    ACL_RT_MEM_ACCESS_LINK_SIO = 0,
    ACL_RT_MEM_ACCESS_LINK_HCCS = 1,
    ACL_RT_MEM_ACCESS_UB_ONE_PORT_PATH = 2,
    ACL_RT_MEM_ACCESS_UB_MULTI_PORT_PATH = 3,
} aclrtMemLinkType;

/** Links that aclrtMemMapSelectedLink() can choose. */
#define ACL_RT_MEM_LINK_IDX_0 0U
#define ACL_RT_MEM_LINK_IDX_1 1U

/** What to allocate, and where. `reserve` is 0. */
typedef struct aclrtPhysicalMemProp {
    aclrtMemHandleType handleType;
    aclrtMemAllocationType allocationType;
    aclrtMemAttr memAttr;
    aclrtMemLocation location;
    uint64_t reserve;
} aclrtPhysicalMemProp;

/** A handle on its way to another machine. */
typedef struct aclrtMemFabricHandle {
    uint8_t data[128];
} aclrtMemFabricHandle;

/** Rights of one device or of the host. */
typedef struct aclrtMemAccessDesc {
    aclrtMemAccessFlags flags;
    aclrtMemLocation location;
    uint8_t rsv[12];
} aclrtMemAccessDesc;

/** Flags of aclrtMemExportToShareableHandle(). */
#define ACL_RT_VMM_EXPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION 0x1UL

/** Flags of aclrtIpcMemGetExportKey() and aclrtIpcMemImportByKey(). */
#define ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION 0x1UL
#define ACL_RT_IPC_MEM_IMPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS 0x1UL

/** Attributes of shared memory. */
typedef enum aclrtIpcMemAttrType {
    ACL_RT_IPC_MEM_ATTR_ACCESS_LINK = 0,
} aclrtIpcMemAttrType;

/** Values of ACL_RT_IPC_MEM_ATTR_ACCESS_LINK. */
#define ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_SIO 0
#define ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_HCCS 1
#define ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_UB_ONE_PORT_PATH 2
#define ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_UB_MULTI_PORT_PATH 3

/** Reserves addresses. `alignment` is 0, `expectPtr` NULL or an address wished
 * for, `flags` 0 or 1. */
ACL_FUNC_VISIBILITY aclError aclrtReserveMemAddress(
        void **virPtr, size_t size, size_t alignment, void *expectPtr, uint64_t flags);

/** The same without a window of uncached memory. */
ACL_FUNC_VISIBILITY aclError aclrtReserveMemAddressNoUCMemory(
        void **virPtr, size_t size, size_t alignment, void *expectPtr, uint64_t flags);

/** Gives a reservation back; everything in it is unmapped before. */
ACL_FUNC_VISIBILITY aclError aclrtReleaseMemAddress(void *virPtr);

/** Allocates physical memory. `flags` is 0. */
ACL_FUNC_VISIBILITY aclError aclrtMallocPhysical(
        aclrtDrvMemHandle *handle, size_t size, const aclrtPhysicalMemProp *prop, uint64_t flags);

/** Frees it. */
ACL_FUNC_VISIBILITY aclError aclrtFreePhysical(aclrtDrvMemHandle handle);

/** Maps the whole of `handle` at an address of a reservation. `offset` and
 * `flags` are 0. */
ACL_FUNC_VISIBILITY aclError aclrtMapMem(
        void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags);

/** The same without any right to access; aclrtMemSetAccess() gives it. */
ACL_FUNC_VISIBILITY aclError aclrtMemMapNoAccess(
        void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags);

/** Unmaps the piece that was mapped at `virPtr`. */
ACL_FUNC_VISIBILITY aclError aclrtUnmapMem(void *virPtr);

/** Rights to mapped memory. */
ACL_FUNC_VISIBILITY aclError aclrtMemSetAccess(
        void *virPtr, size_t size, aclrtMemAccessDesc *desc, size_t count);
ACL_FUNC_VISIBILITY aclError aclrtMemGetAccess(
        void *virPtr, aclrtMemLocation *location, uint64_t *flag);

/** Smallest or recommended unit of physical memory, in bytes. */
ACL_FUNC_VISIBILITY aclError aclrtMemGetAllocationGranularity(
        aclrtPhysicalMemProp *prop, aclrtMemGranularityOptions option, size_t *granularity);

/** A number by which another process imports the memory. */
ACL_FUNC_VISIBILITY aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle,
        aclrtMemHandleType handleType, uint64_t flags, uint64_t *shareableHandle);

/** The processes that may import it. */
ACL_FUNC_VISIBILITY aclError aclrtMemSetPidToShareableHandle(
        uint64_t shareableHandle, int32_t *pid, size_t pidNum);

/** Imports another process's memory for aclrtMapMem(). */
ACL_FUNC_VISIBILITY aclError aclrtMemImportFromShareableHandle(
        uint64_t shareableHandle, int32_t deviceId, aclrtDrvMemHandle *handle);

/** The same for both forms of handle. */
ACL_FUNC_VISIBILITY aclError aclrtMemExportToShareableHandleV2(aclrtDrvMemHandle handle,
        uint64_t flags, aclrtMemSharedHandleType shareType, void *shareableHandle);
ACL_FUNC_VISIBILITY aclError aclrtMemSetPidToShareableHandleV2(
        void *shareableHandle, aclrtMemSharedHandleType shareType, int32_t *pid, size_t pidNum);
ACL_FUNC_VISIBILITY aclError aclrtMemImportFromShareableHandleV2(void *shareableHandle,
        aclrtMemSharedHandleType shareType, uint64_t flags, aclrtDrvMemHandle *handle);

/** The physical memory behind a mapped address; it is to be freed once more. */
ACL_FUNC_VISIBILITY aclError aclrtMemRetainAllocationHandle(
        void *virPtr, aclrtDrvMemHandle *handle);

/** What physical memory was allocated with. */
ACL_FUNC_VISIBILITY aclError aclrtMemGetAllocationPropertiesFromHandle(
        aclrtDrvMemHandle handle, aclrtPhysicalMemProp *prop);

/** Base and size of the block that holds `ptr`. */
ACL_FUNC_VISIBILITY aclError aclrtMemGetAddressRange(void *ptr, void **pbase, size_t *psize);

/** Maps memory of this device into another device of the process. */
ACL_FUNC_VISIBILITY aclError aclrtMemP2PMap(
        void *devPtr, size_t size, int32_t dstDevId, uint64_t flags);

/** Choose the path on which mapped memory is reached. */
ACL_FUNC_VISIBILITY aclError aclrtMemMapSelectedLink(
        void *virPtrDst, size_t size, void *virPtrSrc, uint32_t linkIdx);
ACL_FUNC_VISIBILITY aclError aclrtMemMapSetLink(
        aclrtDrvMemHandle handle, aclrtMemLinkType adviceLink);

/** Exports memory of aclrtMalloc() under a NUL-terminated name; `len` is 65. */
ACL_FUNC_VISIBILITY aclError aclrtIpcMemGetExportKey(
        void *devPtr, size_t size, char *key, size_t len, uint64_t flags);

/** The processes, or processes of servers, that may import it. */
ACL_FUNC_VISIBILITY aclError aclrtIpcMemSetImportPid(const char *key, int32_t *pid, size_t num);
ACL_FUNC_VISIBILITY aclError aclrtIpcMemImportPidInterServer(
        const char *key, aclrtServerPid *serverPids, size_t num);

/** Imports it at `*devPtr`. */
ACL_FUNC_VISIBILITY aclError aclrtIpcMemImportByKey(void **devPtr, const char *key, uint64_t flags);

/** One attribute of shared memory. */
ACL_FUNC_VISIBILITY aclError aclrtIpcMemSetAttr(
        const char *key, aclrtIpcMemAttrType type, uint64_t attr);

/** Ends the sharing: importers first, then the exporter, which may free only
 * afterwards. */
ACL_FUNC_VISIBILITY aclError aclrtIpcMemClose(const char *key);

#ifdef __cplusplus
}
#endif

#endif
