/* Contexts, and groups of cores within one. */
#ifndef REPRISE_RT_CONTEXT_H
#define REPRISE_RT_CONTEXT_H

#include "rt_handles.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A context belongs to one device and owns its streams, events and graphs. The
 * current one belongs to the calling thread: the last create, set-current or
 * set-device wins. What belongs to another context is refused
 * (ACL_ERROR_RT_STREAM_CONTEXT, ACL_ERROR_RT_MODEL_CONTEXT). */

/** Creates a context with a default stream of its own on a device and makes it
 * current. */
ACL_FUNC_VISIBILITY aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId);

/** Destroys it with what it owns. The default context of aclrtSetDevice() cannot
 * be destroyed. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyContext(aclrtContext context);

/** Makes a context, and with it perhaps another device, current for this thread. */
ACL_FUNC_VISIBILITY aclError aclrtSetCurrentContext(aclrtContext context);

/** The thread's context; ACL_ERROR_RT_CONTEXT_NULL when there is none. */
ACL_FUNC_VISIBILITY aclError aclrtGetCurrentContext(aclrtContext *context);

/** The handle behind a NULL stream. It cannot be captured. */
ACL_FUNC_VISIBILITY aclError aclrtCtxGetCurrentDefaultStream(aclrtStream *stream);

/** `*active` is 1 while the device's default context lives. `flags` is NULL. */
ACL_FUNC_VISIBILITY aclError aclrtGetPrimaryCtxState(
        int32_t deviceId, uint32_t *flags, int32_t *active);

/** A setting of the current context, which outranks the process's. */
ACL_FUNC_VISIBILITY aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value);

/** Reads it; ACL_ERROR_RT_SYSPARAMOPT_NOT_SET when it was never set. */
ACL_FUNC_VISIBILITY aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value);

/** What aclrtGetGroupInfoDetail() tells of a group; each value is an int32_t. */
typedef enum aclrtGroupAttr {
    ACL_GROUP_AICORE_INT = 0,
    ACL_GROUP_AIV_INT = 1,
    ACL_GROUP_AIC_INT = 2,
    ACL_GROUP_SDMANUM_INT = 3,
    ACL_GROUP_ASQNUM_INT = 4,
    ACL_GROUP_GROUPID_INT = 5,
} aclrtGroupAttr;

typedef struct tagRtGroupInfo aclrtGroupInfo;

/** Chooses a group of cores for the current context. */
ACL_FUNC_VISIBILITY aclError aclrtSetGroup(int32_t groupId);

/** How many groups there are. */
ACL_FUNC_VISIBILITY aclError aclrtGetGroupCount(uint32_t *count);

/** An object that receives the description of all groups. */
ACL_FUNC_VISIBILITY aclrtGroupInfo *aclrtCreateGroupInfo(void);
ACL_FUNC_VISIBILITY aclError aclrtDestroyGroupInfo(aclrtGroupInfo *groupInfo);
ACL_FUNC_VISIBILITY aclError aclrtGetAllGroupInfo(aclrtGroupInfo *groupInfo);

/** One attribute of group `groupIndex` (-1: of all), as an array of int32_t of
 * `valueLen` bytes. */
ACL_FUNC_VISIBILITY aclError aclrtGetGroupInfoDetail(const aclrtGroupInfo *groupInfo,
        int32_t groupIndex, aclrtGroupAttr attr, void *attrValue, size_t valueLen,
        size_t *paramRetSize);

/** Device address of the overflow state of the current context. */
ACL_FUNC_VISIBILITY aclError aclrtCtxGetFloatOverflowAddr(void **overflowAddr);

#ifdef __cplusplus
}
#endif

#endif
