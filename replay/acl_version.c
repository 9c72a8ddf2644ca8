// Versions and names that programs look at before they use anything.

#include <acl/acl_rt.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "base/util.h"
#include "replay/context.h"

#define CANN_VERSION "9.0.0"
#define CANN_VERSION_NUMBER (9 * 10000000) // major * 10^7 + minor * 10^5 + patch * 10^3

aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion)
{
    rp_status st = rp_enter();
    if (st == RP_OK && (majorVersion == NULL || minorVersion == NULL || patchVersion == NULL)) {
        st = rp_fail(RP_ENULL, "majorVersion, minorVersion or patchVersion is a null pointer");
    }
    if (st == RP_OK) {
        *majorVersion = ACL_MAJOR_VERSION;
        *minorVersion = ACL_MINOR_VERSION;
        *patchVersion = ACL_PATCH_VERSION;
    }
    return rp_acl(st);
}

// All packages have one version.
static rp_status check_package(const char *name)
{
    static const char *const names[] = { "cann", "runtime", "compiler", "hccl", "hcomm", "toolkit",
        "opp", "opp_kernel", "driver" };
    if (name == NULL) {
        return rp_fail(RP_ENULL, "pkgName is a null pointer");
    }
    for (size_t i = 0; i < RP_ARRAY_LENGTH(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            return RP_OK;
        }
    }
    return rp_fail(RP_EFILE, "there is no package \"%.64s\"", name);
}

aclError aclsysGetVersionStr(char *pkgName, char *versionStr)
{
    rp_status st = rp_enter();
    if (st == RP_OK && versionStr == NULL) {
        st = rp_fail(RP_ENULL, "versionStr is a null pointer");
    }
    if (st == RP_OK) {
        st = check_package(pkgName);
    }
    if (st == RP_OK) {
        memcpy(versionStr, CANN_VERSION, sizeof(CANN_VERSION));
    }
    return rp_acl(st);
}

aclError aclsysGetVersionNum(char *pkgName, int32_t *versionNum)
{
    rp_status st = rp_enter();
    if (st == RP_OK && versionNum == NULL) {
        st = rp_fail(RP_ENULL, "versionNum is a null pointer");
    }
    if (st == RP_OK) {
        st = check_package(pkgName);
    }
    if (st == RP_OK) {
        *versionNum = CANN_VERSION_NUMBER;
    }
    return rp_acl(st);
}

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion *version)
{
    rp_status st = rp_enter();
    if (st == RP_OK && version == NULL) {
        st = rp_fail(RP_ENULL, "version is a null pointer");
    }
    if (st == RP_OK && ((int)name < ACL_PKG_NAME_CANN || name > ACL_PKG_NAME_DRIVER)) {
        st = rp_fail(RP_EINVAL, "name is %d; there is no such package", (int)name);
    }
    if (st == RP_OK) {
        *version = (aclCANNPackageVersion){
            .version = CANN_VERSION, .majorVersion = "9", .minorVersion = "0", .releaseVersion = "0"
        };
    }
    return rp_acl(st);
}

const char *aclrtGetSocName(void)
{
    return rp_enter() == RP_OK ? rp_env_device()->soc_name : NULL;
}

// Arithmetic is IEEE 754's, with bfloat16.
static const aclCannAttr abilities[] = { ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16 };

aclError aclGetCannAttributeList(const aclCannAttr **cannAttrList, size_t *num)
{
    rp_status st = rp_enter();
    if (st == RP_OK && (cannAttrList == NULL || num == NULL)) {
        st = rp_fail(
                RP_ENULL, "%s is a null pointer", cannAttrList == NULL ? "cannAttrList" : "num");
    }
    if (st == RP_OK) {
        *cannAttrList = abilities;
        *num = RP_ARRAY_LENGTH(abilities);
    }
    return rp_acl(st);
}

static rp_status get_ability(aclCannAttr ability, int32_t *value)
{
    if (value == NULL) {
        return rp_fail(RP_ENULL, "value is a null pointer");
    }
    if ((int)ability < ACL_CANN_ATTR_INF_NAN || ability > ACL_CANN_ATTR_JIT_COMPILE) {
        return rp_fail(RP_EINVAL, "cannAttr is %d; there is no such ability", (int)ability);
    }
    *value = 0;
    for (size_t i = 0; i < RP_ARRAY_LENGTH(abilities); i++) {
        *value = abilities[i] == ability ? 1 : *value;
    }
    return RP_OK;
}

aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t *value)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_ability(cannAttr, value) : st);
}
