/* Start and end of the runtime, versions, capabilities, settings of the
 * process. */
#ifndef REPRISE_RT_SYSTEM_H
#define REPRISE_RT_SYSTEM_H

#include "rt_handles.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Version of this interface. */
#define ACL_MAJOR_VERSION 1
#define ACL_MINOR_VERSION 17
#define ACL_PATCH_VERSION 0

/** Where the calling process runs; always ACL_HOST here. */
typedef enum aclrtRunMode {
    ACL_DEVICE = 0,
    ACL_HOST = 1,
} aclrtRunMode;

/** Packages that aclsysGetCANNVersion() can be asked for. */
typedef enum aclCANNPackageName {
    ACL_PKG_NAME_CANN = 0,
    ACL_PKG_NAME_RUNTIME = 1,
    ACL_PKG_NAME_COMPILER = 2,
    ACL_PKG_NAME_HCCL = 3,
    ACL_PKG_NAME_TOOLKIT = 4,
    ACL_PKG_NAME_OPP = 5,
    ACL_PKG_NAME_OPP_KERNEL = 6,
    ACL_PKG_NAME_DRIVER = 7,
} aclCANNPackageName;

/** Room for a whole version, and for one part of it, in bytes. */
#define ACL_PKG_VERSION_MAX_SIZE 128
#define ACL_PKG_VERSION_PARTS_MAX_SIZE 64

/** NUL-terminated texts; parts that a version lacks are empty. */
typedef struct aclCANNPackageVersion {
    char version[ACL_PKG_VERSION_MAX_SIZE];
    char majorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
    char minorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
    char releaseVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
    char patchVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
    char reserved[ACL_PKG_VERSION_MAX_SIZE];
} aclCANNPackageVersion;

/** The module on whose behalf an init or finalize callback is registered. */
typedef enum aclRegisterCallbackType {
    ACL_REG_TYPE_ACL_MODEL = 0,
    ACL_REG_TYPE_ACL_OP_EXECUTOR = 1,
    ACL_REG_TYPE_ACL_OP_CBLAS = 2,
    ACL_REG_TYPE_ACL_OP_COMPILER = 3,
    ACL_REG_TYPE_ACL_TDT_CHANNEL = 4,
    ACL_REG_TYPE_ACL_TDT_QUEUE = 5,
    ACL_REG_TYPE_ACL_DVPP = 6,
    ACL_REG_TYPE_ACL_RETR = 7,
    ACL_REG_TYPE_OTHER = 65535,
} aclRegisterCallbackType;

typedef aclError (*aclInitCallbackFunc)(const char *configStr, size_t len, void *userData);
typedef aclError (*aclFinalizeCallbackFunc)(void *userData);

/** Reads the JSON configuration at `configPath` (NULL or {}: defaults). Counted:
 * a repeat returns ACL_ERROR_REPEAT_INITIALIZE, which may be ignored. After
 * aclFinalize it may be called again, and another content than the first
 * returns ACL_ERROR_INVALID_PARAM. No other call depends on it. */
ACL_FUNC_VISIBILITY aclError aclInit(const char *configPath);

/** Sets the count to 0. What the caller still holds stays valid.
 * ACL_ERROR_REPEAT_FINALIZE when it is 0 already. */
ACL_FUNC_VISIBILITY aclError aclFinalize(void);

/** Takes one off the count and stores what is left in `refCount` (may be NULL);
 * finalizes at 0. */
ACL_FUNC_VISIBILITY aclError aclFinalizeReference(uint64_t *refCount);

/** Runs `cbFunc` with the text of the configuration during aclInit(), or at once
 * when that was called before. */
ACL_FUNC_VISIBILITY aclError aclInitCallbackRegister(
        aclRegisterCallbackType type, aclInitCallbackFunc cbFunc, void *userData);

/** Removes a callback of aclInitCallbackRegister(). */
ACL_FUNC_VISIBILITY aclError aclInitCallbackUnRegister(
        aclRegisterCallbackType type, aclInitCallbackFunc cbFunc);

/** Runs `cbFunc` when the runtime is finalized. */
ACL_FUNC_VISIBILITY aclError aclFinalizeCallbackRegister(
        aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc, void *userData);

/** Removes a callback of aclFinalizeCallbackRegister(). */
ACL_FUNC_VISIBILITY aclError aclFinalizeCallbackUnRegister(
        aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc);

/** The version of this interface. Deprecated: use aclsysGetVersionStr(). */
ACL_FUNC_VISIBILITY aclError aclrtGetVersion(
        int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion);

/** Copies the version of the package `pkgName` ("runtime", "hccl", ...) to the
 * caller's `versionStr`, NUL-terminated, up to ACL_PKG_VERSION_MAX_SIZE bytes. */
ACL_FUNC_VISIBILITY aclError aclsysGetVersionStr(char *pkgName, char *versionStr);

/** The same version as one number that grows with it. */
ACL_FUNC_VISIBILITY aclError aclsysGetVersionNum(char *pkgName, int32_t *versionNum);

/** The version of a package, whole and in parts. Deprecated: use
 * aclsysGetVersionStr(). */
ACL_FUNC_VISIBILITY aclError aclsysGetCANNVersion(
        aclCANNPackageName name, aclCANNPackageVersion *version);

/** Name of the chip that the virtual device stands for; never to be freed, NULL
 * on failure. Needs no current device. */
ACL_FUNC_VISIBILITY const char *aclrtGetSocName(void);

/** Points `*cannAttrList` at the `*num` abilities that are supported. Owned by
 * the runtime. */
ACL_FUNC_VISIBILITY aclError aclGetCannAttributeList(const aclCannAttr **cannAttrList, size_t *num);

/** `*value` is 1 when the ability is supported, else 0. */
ACL_FUNC_VISIBILITY aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t *value);

/** A hardware number of a device. aclrtGetDeviceInfo() knows more of them. */
ACL_FUNC_VISIBILITY aclError aclGetDeviceCapability(
        uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t *value);

/** `*canCompatible` is 1 when binaries for the chip `socVersion` can run here,
 * else 0. */
ACL_FUNC_VISIBILITY aclError aclrtCheckArchCompatibility(
        const char *socVersion, int32_t *canCompatible);

/** A setting of the process; every one is 0 at first. */
ACL_FUNC_VISIBILITY aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value);

/** Reads it. */
ACL_FUNC_VISIBILITY aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t *value);

/** Where the calling process runs. */
ACL_FUNC_VISIBILITY aclError aclrtGetRunMode(aclrtRunMode *runMode);

/** Takes the sentences that describe the last failures of this thread, newest
 * first; NULL when there are none. Valid until the thread's next call of it. */
ACL_FUNC_VISIBILITY const char *aclGetRecentErrMsg(void);

/** Tensor dumps of models: start, read the JSON at `dumpCfgPath`, end. */
ACL_FUNC_VISIBILITY aclError aclmdlInitDump(void);
ACL_FUNC_VISIBILITY aclError aclmdlSetDump(const char *dumpCfgPath);
ACL_FUNC_VISIBILITY aclError aclmdlFinalizeDump(void);

#ifdef __cplusplus
}
#endif

#endif
