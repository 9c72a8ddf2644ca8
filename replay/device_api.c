// Questions about devices, their number and their health.

#include <acl/acl_rt.h>
#include <unistd.h>

#include "base/error.h"
#include "replay/context.h"
#include "replay/device.h"
#include "replay/primary.h"

aclError aclrtGetDeviceCount(uint32_t *count)
{
    rp_status st = rp_enter();
    if (st == RP_OK && count == NULL) {
        st = rp_fail(RP_ENULL, "count is a null pointer");
    }
    if (st == RP_OK) {
        *count = rp_device_count();
    }
    return rp_acl(st);
}

aclError aclrtGetRunMode(aclrtRunMode *runMode)
{
    rp_status st = rp_enter();
    if (st == RP_OK && runMode == NULL) {
        st = rp_fail(RP_ENULL, "runMode is a null pointer");
    }
    if (st == RP_OK) {
        *runMode = ACL_HOST;
    }
    return rp_acl(st);
}

static rp_status query_status(int32_t id, aclrtDeviceStatus *status)
{
    if (status == NULL) {
        return rp_fail(RP_ENULL, "deviceStatus is a null pointer");
    }
    const rp_status st = rp_device_check_id(id);
    if (st == RP_OK) {
        *status = ACL_RT_DEVICE_STATUS_NORMAL; // memory and cores of this host do not fail alone
    }
    return st;
}

aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus *deviceStatus)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? query_status(deviceId, deviceStatus) : st);
}

aclError aclrtDeviceGetBareTgid(int32_t *pid)
{
    rp_status st = rp_enter();
    if (st == RP_OK && pid == NULL) {
        st = rp_fail(RP_ENULL, "pid is a null pointer");
    }
    if (st == RP_OK) {
        *pid = (int32_t)getpid();
    }
    return rp_acl(st);
}
