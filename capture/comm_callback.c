// Callbacks of a communicator's end and of its resumption, by name.

#include "capture/comm_callback.h"

#include <inttypes.h>

#include "base/callbacks.h"
#include "base/error.h"
#include "base/log.h"
#include "replay/context.h"

static struct rp_callbacks callbacks = RP_CALLBACKS_INIT(callbacks);

void rp_comm_tell(HcclComm comm, HcclCommStatePhase phase)
{
    struct rp_callback callback = { .number = 0 };
    while (rp_callbacks_next(&callbacks, &callback)) {
        const HcclResult answer = ((HcclCommStateCallback)callback.fn)(comm, phase, callback.args);
        if (answer != HCCL_SUCCESS) {
            rp_log_warn("callback %" PRIu64 " of communicators answered %d in phase %d",
                    callback.number, (int)answer, (int)phase);
        }
    }
}

HcclResult HcclCommRegCommStateCallback(
        const char *regName, HcclCommStateCallback callback, void *args)
{
    rp_status st = rp_enter();
    if (st == RP_OK) {
        st = rp_callbacks_set(&callbacks, "HcclCommRegCommStateCallback", regName,
                (rp_callback_fn)callback, args);
    }
    return (HcclResult)rp_hccl(st);
}
