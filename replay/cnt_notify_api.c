// Counting notifies: the calls. A record changes a 32-bit value, a wait compares it.

#include <acl/acl_rt.h>

#include "base/clock.h"
#include "base/error.h"
#include "replay/context.h"
#include "replay/notify.h"
#include "replay/stream.h"

aclError aclrtCntNotifyCreate(aclrtCntNotify *cntNotify, uint64_t flag)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? rp_notify_open("cntNotify", true, flag, cntNotify) : st);
}

aclError aclrtCntNotifyDestroy(aclrtCntNotify cntNotify)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? rp_notify_close(cntNotify, "cntNotify", true) : st);
}

static bool is_record_mode(aclrtCntNotifyRecordMode mode)
{
    switch (mode) {
    case ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE:
    case ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE:
    case ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE:
    case ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE:
        return true;
    }
    return false;
}

static rp_status record(
        aclrtCntNotify notify, aclrtStream stream, const aclrtCntNotifyRecordInfo *info)
{
    if (info == NULL) {
        return rp_fail(RP_ENULL, "info is a null pointer");
    }
    if (!is_record_mode(info->mode)) {
        return rp_fail(RP_EPARAM,
                "info->mode is %d, which is none of ACL_RT_CNT_NOTIFY_RECORD_*_MODE: 0, 1, 2, 4",
                (int)info->mode);
    }
    struct rp_insn insn = { .kind = RP_INSN_NOTIFY_RECORD, .flag = (uint8_t)info->mode };
    insn.u.notify.value = info->value;
    return rp_notify_submit(notify, "cntNotify", true, stream, insn);
}

aclError aclrtCntNotifyRecord(
        aclrtCntNotify cntNotify, aclrtStream stream, aclrtCntNotifyRecordInfo *info)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? record(cntNotify, stream, info) : st);
}

static rp_status wait(aclrtCntNotify notify, aclrtStream stream, const aclrtCntNotifyWaitInfo *info)
{
    if (info == NULL) {
        return rp_fail(RP_ENULL, "info is a null pointer");
    }
    if ((unsigned)info->mode > ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE) {
        return rp_fail(RP_EPARAM,
                "info->mode is %d, which is none of ACL_RT_CNT_NOTIFY_WAIT_*_MODE: 0 to 4",
                (int)info->mode);
    }
    struct rp_insn insn = {
        .kind = RP_INSN_NOTIFY_WAIT,
        .flag = (uint8_t)info->mode,
        .clear = info->isClear != 0,
    };
    insn.u.notify.value = info->value;
    insn.u.notify.timeout_ns = info->timeout == UINT32_MAX ? 0 : info->timeout * RP_NS_PER_S;
    return rp_notify_submit(notify, "cntNotify", true, stream, insn);
}

aclError aclrtCntNotifyWaitWithTimeout(
        aclrtCntNotify cntNotify, aclrtStream stream, aclrtCntNotifyWaitInfo *info)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? wait(cntNotify, stream, info) : st);
}

aclError aclrtCntNotifyReset(aclrtCntNotify cntNotify, aclrtStream stream)
{
    const rp_status st = rp_enter();
    const struct rp_insn insn = { .kind = RP_INSN_NOTIFY_RESET };
    return rp_acl(st == RP_OK ? rp_notify_submit(cntNotify, "cntNotify", true, stream, insn) : st);
}

static rp_status get_id(aclrtCntNotify handle, uint32_t *out)
{
    struct rp_notify *notify;
    rp_status st = rp_notify_resolve(handle, "cntNotify", true, &notify);
    if (st == RP_OK && out == NULL) {
        st = rp_fail(RP_ENULL, "notifyId is a null pointer");
    }
    if (st == RP_OK) {
        *out = notify->id;
    }
    return st;
}

aclError aclrtCntNotifyGetId(aclrtCntNotify cntNotify, uint32_t *notifyId)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_id(cntNotify, notifyId) : st);
}
