/* Memory pools whose allocations and frees take their place in a stream. */
#ifndef REPRISE_ACL_ACL_RT_MEMORY_SOMA_H
#define REPRISE_ACL_ACL_RT_MEMORY_SOMA_H

#include "acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void *aclrtMemPool;

/** Reuse switches (uint32_t, 0 or 1); bytes kept when idle (uint64_t); bytes
 * reserved and used, now and at most (uint64_t; the two maxima may be set to
 * 0). */
typedef enum aclrtMemPoolAttr {
    ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
    ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC = 2,
    ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
    ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD = 4,
    ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT = 5,
    ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH = 6,
    ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT = 7,
    ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH = 8,
} aclrtMemPoolAttr;

/** A pool: `maxSize` in bytes, 0 for the default; `reserved` is zero. */
typedef struct aclrtMemPoolProps {
    aclrtMemAllocationType allocType;
    aclrtMemHandleType handleType;
    aclrtMemLocation location;
    size_t maxSize;
    unsigned char reserved[32];
} aclrtMemPoolProps;

/** A pool of one device. */
ACL_FUNC_VISIBILITY aclError aclrtMemPoolCreate(
        aclrtMemPool *memPool, const aclrtMemPoolProps *poolProps);
ACL_FUNC_VISIBILITY aclError aclrtMemPoolDestroy(const aclrtMemPool memPool);

/** One attribute. */
ACL_FUNC_VISIBILITY aclError aclrtMemPoolSetAttr(
        aclrtMemPool memPool, aclrtMemPoolAttr attr, void *value);
ACL_FUNC_VISIBILITY aclError aclrtMemPoolGetAttr(
        aclrtMemPool memPool, aclrtMemPoolAttr attr, void *value);

/** Memory that the stream may use from here on; other streams need an event in
 * between. */
ACL_FUNC_VISIBILITY aclError aclrtMemPoolMallocAsync(
        void **ptr, size_t size, aclrtMemPool memPool, aclrtStream stream);

/** Gives memory back to its pool at this place of the stream. */
ACL_FUNC_VISIBILITY aclError aclrtMemPoolFreeAsync(void *ptr, aclrtStream stream);

/** Gives idle memory back to the system down to `minBytesToKeep`. */
ACL_FUNC_VISIBILITY aclError aclrtMemPoolTrimTo(aclrtMemPool memPool, size_t minBytesToKeep);

#ifdef __cplusplus
}
#endif

#endif
