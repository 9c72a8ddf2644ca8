// aclrtSetDeviceTaskAbortCallback: who wants to know that a device's tasks are aborted.

#include "replay/abort_callback.h"

#include <inttypes.h>

#include "base/callbacks.h"
#include "base/error.h"
#include "base/log.h"
#include "replay/context.h"

static struct rp_callbacks callbacks = RP_CALLBACKS_INIT(callbacks);

void rp_abort_callbacks_run(int32_t device_id, aclrtDeviceTaskAbortStage stage, uint32_t timeout_ms)
{
    struct rp_callback callback = { .number = 0 };
    while (rp_callbacks_next(&callbacks, &callback)) {
        const int32_t answer = ((aclrtDeviceTaskAbortCallback)callback.fn)(
                device_id, stage, timeout_ms, callback.args);
        if (answer != 0) {
            rp_log_warn("callback %" PRIu64 " of aclrtDeviceTaskAbort answered %" PRId32
                        " in stage %d of device %" PRId32,
                    callback.number, answer, (int)stage, device_id);
        }
    }
}

aclError aclrtSetDeviceTaskAbortCallback(
        const char *regName, aclrtDeviceTaskAbortCallback callback, void *args)
{
    rp_status st = rp_enter();
    if (st == RP_OK) {
        st = rp_callbacks_set(&callbacks, "aclrtSetDeviceTaskAbortCallback", regName,
                (rp_callback_fn)callback, args);
    }
    return rp_acl(st);
}
