// Three numberings of devices: user (as ASCEND_RT_VISIBLE_DEVICES renumbers), logic and physical.
// No container sits between logic and physical ids here, so those two are the same.

#include <acl/acl_rt.h>

#include "base/env.h"
#include "base/error.h"
#include "replay/context.h"
#include "replay/primary.h"

enum numbering {
    USER,
    LOGIC,
    PHYSICAL,
};

// An id of the machine to the user's id.
static rp_status to_user(int32_t id, int32_t *out)
{
    const struct rp_device_list *visible = &rp_env_device()->visible;
    for (uint32_t i = 0; i < visible->count; i++) {
        if (visible->id[i] == id) {
            *out = (int32_t)i;
            return RP_OK;
        }
    }
    return rp_fail(
            RP_EDEVICE, "device %d of the machine is not among ASCEND_RT_VISIBLE_DEVICES", id);
}

static rp_status to_machine(int32_t id, int32_t *out)
{
    const rp_status st = rp_device_check_id(id);
    if (st == RP_OK) {
        *out = rp_env_device()->visible.id[id];
    }
    return st;
}

static rp_status check_machine(int32_t id, int32_t *out)
{
    const uint32_t count = rp_env_device()->device_count;
    if (id < 0 || (uint32_t)id >= count) {
        return rp_fail(RP_EDEVICE, "device id %d is not in 0 .. %u", id, count - 1);
    }
    *out = id;
    return RP_OK;
}

static rp_status convert(enum numbering from, enum numbering to, int32_t id, int32_t *out)
{
    if (out == NULL) {
        return rp_fail(RP_ENULL, "the pointer for the result is null");
    }
    if (from == USER) {
        return to_machine(id, out);
    }
    int32_t checked;
    const rp_status st = check_machine(id, &checked);
    if (st != RP_OK) {
        return st;
    }
    if (to == USER) {
        return to_user(checked, out);
    }
    *out = checked;
    return RP_OK;
}

static rp_status enter_and_convert(enum numbering from, enum numbering to, int32_t id, int32_t *out)
{
    const rp_status st = rp_enter();
    return st == RP_OK ? convert(from, to, id, out) : st;
}

aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevid, int32_t *const logicDevId)
{
    return rp_acl(enter_and_convert(USER, LOGIC, userDevid, logicDevId));
}

aclError aclrtGetUserDevIdByLogicDevId(const int32_t logicDevId, int32_t *const userDevid)
{
    return rp_acl(enter_and_convert(LOGIC, USER, logicDevId, userDevid));
}

aclError aclrtGetLogicDevIdByPhyDevId(const int32_t phyDevId, int32_t *const logicDevId)
{
    return rp_acl(enter_and_convert(PHYSICAL, LOGIC, phyDevId, logicDevId));
}

aclError aclrtGetPhyDevIdByLogicDevId(const int32_t logicDevId, int32_t *const phyDevId)
{
    return rp_acl(enter_and_convert(LOGIC, PHYSICAL, logicDevId, phyDevId));
}

aclError aclrtGetUserDevIdByPhyDevId(const int32_t phyDevId, int32_t *const userDevId)
{
    return rp_acl(enter_and_convert(PHYSICAL, USER, phyDevId, userDevId));
}

aclError aclrtGetPhyDevIdByUserDevId(const int32_t userDevId, int32_t *const phyDevId)
{
    return rp_acl(enter_and_convert(USER, PHYSICAL, userDevId, phyDevId));
}
