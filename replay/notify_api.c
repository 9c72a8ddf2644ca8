// One-shot notifies: the calls. A record sets the notify, a wait ends once it is set and clears it.

#include <acl/acl_rt.h>

#include "base/clock.h"
#include "base/error.h"
#include "replay/context.h"
#include "replay/notify.h"
#include "replay/stream.h"

aclError aclrtCreateNotify(aclrtNotify *notify, uint64_t flag)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? rp_notify_open("notify", false, flag, notify) : st);
}

aclError aclrtDestroyNotify(aclrtNotify notify)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? rp_notify_close(notify, "notify", false) : st);
}

static rp_status record(aclrtNotify notify, aclrtStream stream)
{
    struct rp_insn insn = {
        .kind = RP_INSN_NOTIFY_RECORD,
        .flag = ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE,
    };
    insn.u.notify.value = 1;
    return rp_notify_submit(notify, "notify", false, stream, insn);
}

aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? record(notify, stream) : st);
}

static rp_status wait_and_reset(aclrtNotify notify, aclrtStream stream, uint32_t timeout_s)
{
    struct rp_insn insn = {
        .kind = RP_INSN_NOTIFY_WAIT,
        .flag = ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE,
        .clear = 1,
    };
    insn.u.notify.value = 1;
    insn.u.notify.timeout_ns = timeout_s == UINT32_MAX ? 0 : timeout_s * RP_NS_PER_S;
    return rp_notify_submit(notify, "notify", false, stream, insn);
}

aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream, uint32_t timeout)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? wait_and_reset(notify, stream, timeout) : st);
}

static rp_status get_id(aclrtNotify handle, uint32_t *out)
{
    struct rp_notify *notify;
    rp_status st = rp_notify_resolve(handle, "notify", false, &notify);
    if (st == RP_OK && out == NULL) {
        st = rp_fail(RP_ENULL, "notifyId is a null pointer");
    }
    if (st == RP_OK) {
        *out = notify->id;
    }
    return st;
}

aclError aclrtGetNotifyId(aclrtNotify notify, uint32_t *notifyId)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_id(notify, notifyId) : st);
}

// All of them, or none.
static rp_status batch_reset(aclrtNotify *handles, size_t count)
{
    struct rp_notify *notify;
    if (handles == NULL) {
        return rp_fail(RP_ENULL, "notifies is a null pointer");
    }
    if (count == 0 || count > UINT32_MAX) {
        return rp_fail(RP_EPARAM, "num is %zu; it can be 1 to %u", count, UINT32_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        const rp_status st = rp_notify_resolve(handles[i], "a notify of the array", false, &notify);
        if (st != RP_OK) {
            return st;
        }
    }
    for (size_t i = 0; i < count; i++) {
        rp_notify_clear(handles[i]); // no wait can end by it, so nobody is rung
    }
    return RP_OK;
}

aclError aclrtNotifyBatchReset(aclrtNotify *notifies, size_t num)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? batch_reset(notifies, num) : st);
}
