// Asking a communicator.

#include <inttypes.h>
#include <string.h>

#include <hccl/hccl_comm.h>

#include "base/clock.h"
#include "base/error.h"
#include "capture/comm_extra.h"
#include "capture/select.h"
#include "replay/context.h"

HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize)
{
    struct rp_comm *found = NULL;
    const rp_status st = rp_comm_call_enter("HcclGetRankSize", comm, "rankSize", rankSize, &found);
    if (st == RP_OK) {
        *rankSize = found->size;
        rp_comm_call_end(found);
    }
    return (HcclResult)rp_hccl(st);
}

HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank)
{
    struct rp_comm *found = NULL;
    const rp_status st = rp_comm_call_enter("HcclGetRankId", comm, "rank", rank, &found);
    if (st == RP_OK) {
        *rank = found->rank;
        rp_comm_call_end(found);
    }
    return (HcclResult)rp_hccl(st);
}

HcclResult HcclGetCommName(HcclComm comm, char *commName)
{
    struct rp_comm *found = NULL;
    const rp_status st = rp_comm_call_enter("HcclGetCommName", comm, "commName", commName, &found);
    if (st == RP_OK) {
        rp_text_copy(commName, COMM_NAME_MAX_LENGTH, found->name);
        rp_comm_call_end(found);
    }
    return (HcclResult)rp_hccl(st);
}

static rp_status handle_with_name(const char *name, HcclComm *comm)
{
    static const char api[] = "HcclCommGetHandleWithName";
    struct rp_context *context = NULL;
    rp_status st = rp_enter();
    if (st != RP_OK) {
        return st;
    }
    if (name == NULL || comm == NULL) {
        return rp_fail(RP_ENULL, "%s: %s is NULL", api, name == NULL ? "commName" : "comm");
    }
    st = rp_context_current(&context);
    if (st != RP_OK) {
        return st;
    }
    struct rp_comm *found = rp_comm_from_name(context->device_id, name);
    if (found == NULL) {
        return rp_fail(RP_EPARAM, "%s: device %" PRId32 " has no communicator \"%s\"", api,
                context->device_id, name);
    }
    *comm = found;
    rp_comm_unref(found); // the handle has its own reference
    return RP_OK;
}

HcclResult HcclCommGetHandleWithName(const char *commName, HcclComm *comm)
{
    return (HcclResult)rp_hccl(handle_with_name(commName, comm));
}

static rp_status config_get_info(HcclComm handle, HcclConfigType type, uint32_t bytes, void *info)
{
    static const char api[] = "HcclConfigGetInfo";
    struct rp_comm *comm = NULL;
    rp_status st = rp_comm_call_enter(api, handle, "info", info, &comm);
    if (st != RP_OK) {
        return st;
    }
    if (type != HCCL_CONFIG_TYPE_OP_EXPANSION_MODE) {
        st = rp_fail(RP_ENOTSUP, "%s: cfgType %d is not known", api, (int)type);
    } else if (bytes != sizeof(HcclOpExpansionMode)) {
        st = rp_fail(RP_EPARAM, "%s: infoLen is %" PRIu32 "; the answer has %zu bytes", api, bytes,
                sizeof(HcclOpExpansionMode));
    } else {
        const HcclOpExpansionMode mode = rp_select_mode(comm);
        memcpy(info, &mode, sizeof(mode));
    }
    rp_comm_call_end(comm);
    return st;
}

HcclResult HcclConfigGetInfo(HcclComm comm, HcclConfigType cfgType, uint32_t infoLen, void *info)
{
    return (HcclResult)rp_hccl(config_get_info(comm, cfgType, infoLen, info));
}

// Looks after the peers first, since nobody else may at the moment; that takes the baton for one
// look, and waits for nothing.
static rp_status async_error(struct rp_comm *comm)
{
    struct rp_device *device = rp_comm_extra_of(comm)->device;
    rp_device_enter(device);
    rp_comm_check(comm, rp_now_ns());
    rp_device_leave(device);
    // acquire [C3]: pairs with the store in rp_comm_fail.
    const int32_t own = atomic_load_explicit(&comm->error, memory_order_acquire);
    // acquire [C4]: pairs with the store in publish_remote.
    return (rp_status)(own != 0 ? own : atomic_load_explicit(&comm->remote, memory_order_acquire));
}

HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult *asyncError)
{
    struct rp_comm *found = NULL;
    const rp_status st =
            rp_comm_call_enter("HcclGetCommAsyncError", comm, "asyncError", asyncError, &found);
    if (st == RP_OK) {
        *asyncError = (HcclResult)rp_status_hccl(async_error(found));
        rp_comm_call_end(found);
    }
    return (HcclResult)rp_hccl(st);
}

const char *HcclGetErrorString(HcclResult code)
{
    static const char *const texts[] = {
        [HCCL_SUCCESS] = "no error",
        [HCCL_E_PARA] = "parameter error",
        [HCCL_E_PTR] = "empty pointer",
        [HCCL_E_MEMORY] = "memory error",
        [HCCL_E_INTERNAL] = "internal error",
        [HCCL_E_NOT_SUPPORT] = "not support feature",
        [HCCL_E_NOT_FOUND] = "not found specific resource",
        [HCCL_E_UNAVAIL] = "resource unavailable",
        [HCCL_E_SYSCALL] = "call system interface error",
        [HCCL_E_TIMEOUT] = "timeout",
        [HCCL_E_OPEN_FILE_FAILURE] = "open file fail",
        [HCCL_E_TCP_CONNECT] = "tcp connect fail",
        [HCCL_E_ROCE_CONNECT] = "roce connect fail",
        [HCCL_E_TCP_TRANSFER] = "tcp transfer fail",
        [HCCL_E_ROCE_TRANSFER] = "roce transfer fail",
        [HCCL_E_RUNTIME] = "call runtime api fail",
        [HCCL_E_DRV] = "call driver api fail",
        [HCCL_E_PROFILING] = "call profiling api fail",
        [HCCL_E_CCE] = "call cce api fail",
        [HCCL_E_NETWORK] = "call network api fail",
        [HCCL_E_AGAIN] = "try again",
        [HCCL_E_REMOTE] = "error cqe",
        [HCCL_E_SUSPENDING] = "error communicator suspending",
        [HCCL_E_OPRETRY_FAIL] = "retry constraint",
        [HCCL_E_OOM] = "out of memory",
    };
    const int number = (int)code;
    if (number < 0 || number >= HCCL_E_RESERVED) {
        return "unknown error";
    }
    return (size_t)number < RP_ARRAY_LENGTH(texts) ? texts[number] : "unknown err";
}
