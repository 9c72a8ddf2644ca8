// Making communicators from a root info: one rank's join, or all ranks of one process at once.

#include <inttypes.h>
#include <string.h>

#include <hccl/hccl_comm.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "capture/comm_attempt.h"
#include "capture/comm_config.h"
#include "capture/comm_destroy.h"
#include "capture/group.h"
#include "replay/context.h"
#include "transport/bootstrap.h"

static_assert(sizeof(HcclRootInfo) == RP_ROOT_INFO_BYTES, "the size is given");

// ---- root info ----

static rp_status make_root_info(struct rp_device *device, int32_t device_id, void *info)
{
    rp_device_enter(device);
    const rp_status st = rp_bootstrap_root(rp_device_loop(device), device_id, info);
    rp_device_leave(device);
    return st;
}

static rp_status get_root_info(HcclRootInfo *info)
{
    const struct rp_hccl_env *env = NULL;
    struct rp_context *context = NULL;
    HcclRootInfo made;
    rp_status st = rp_enter();
    if (st != RP_OK) {
        return st;
    }
    if (info == NULL) {
        return rp_fail(RP_ENULL, "HcclGetRootInfo: rootInfo is NULL");
    }
    st = rp_comm_environment(&env);
    st = st != RP_OK ? st : rp_context_current(&context);
    st = st != RP_OK ? st : make_root_info(context->device, context->device_id, &made);
    if (st == RP_OK) {
        *info = made;
    }
    return st;
}

HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo)
{
    return (HcclResult)rp_hccl(get_root_info(rootInfo));
}

// ---- one rank ----

static rp_status check_ranks(const char *api, uint32_t ranks, uint32_t rank)
{
    if (ranks == 0) {
        return rp_fail(RP_EPARAM, "%s: nRanks is 0", api);
    }
    if (rank >= ranks) {
        return rp_fail(
                RP_EPARAM, "%s: rank %" PRIu32 " is not below nRanks %" PRIu32, api, rank, ranks);
    }
    return RP_OK;
}

static rp_status check_root_info(const char *api, const HcclRootInfo *info, const HcclComm *comm)
{
    if (info == NULL || comm == NULL) {
        return rp_fail(RP_ENULL, "%s: %s is NULL", api, info == NULL ? "rootInfo" : "comm");
    }
    return RP_OK;
}

static rp_status join(const char *api, uint32_t ranks, const HcclRootInfo *info, uint32_t rank,
        const HcclCommConfig *config, HcclComm *comm)
{
    struct rp_context *context = NULL;
    struct rp_algo_config algo;
    struct rp_join_request request = { .root_info = info, .size = ranks, .rank = rank };
    rp_status st = check_ranks(api, ranks, rank);
    st = st != RP_OK ? st : check_root_info(api, info, comm);
    st = st != RP_OK ? st : rp_attempt_check_thread(api);
    st = st != RP_OK ? st : rp_comm_settings_load(api, config, &request.settings, &algo);
    st = st != RP_OK ? st : rp_context_current(&context);
    if (st != RP_OK) {
        return st;
    }
    request.device_id = context->device_id;
    return rp_group_is_open() ? rp_group_add_init(api, &request, &algo, comm)
                              : rp_attempt_join(&request, &algo, comm);
}

static rp_status init_root_info(
        uint32_t ranks, const HcclRootInfo *info, uint32_t rank, HcclComm *comm)
{
    const rp_status st = rp_enter();
    return rp_group_note(
            st != RP_OK ? st : join("HcclCommInitRootInfo", ranks, info, rank, NULL, comm));
}

HcclResult HcclCommInitRootInfo(
        uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank, HcclComm *comm)
{
    return (HcclResult)rp_hccl(init_root_info(nRanks, rootInfo, rank, comm));
}

static rp_status init_root_info_config(uint32_t ranks, const HcclRootInfo *info, uint32_t rank,
        const HcclCommConfig *config, HcclComm *comm)
{
    static const char api[] = "HcclCommInitRootInfoConfig";
    const rp_status st = rp_enter();
    if (st != RP_OK) {
        return st;
    }
    if (config == NULL) {
        return rp_group_note(rp_fail(RP_EPARAM, "%s: config is NULL", api));
    }
    return rp_group_note(join(api, ranks, info, rank, config, comm));
}

HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank,
        const HcclCommConfig *config, HcclComm *comm)
{
    return (HcclResult)rp_hccl(init_root_info_config(nRanks, rootInfo, rank, config, comm));
}

// ---- all ranks of one process ----

static rp_status check_devices(uint32_t count, const int32_t *devices)
{
    for (uint32_t i = 0; i < count; i++) {
        if (devices[i] < 0 || (uint32_t)devices[i] >= rp_device_count()) {
            return rp_fail(RP_EDEVICE,
                    "HcclCommInitAll: devices[%" PRIu32 "] is %" PRId32 "; there are %" PRIu32
                    " devices",
                    i, devices[i], rp_device_count());
        }
        for (uint32_t k = 0; k < i; k++) {
            if (devices[k] == devices[i]) {
                return rp_fail(RP_EPARAM,
                        "HcclCommInitAll: device %" PRId32 " stands in devices twice, at %" PRIu32
                        " and %" PRIu32,
                        devices[i], k, i);
            }
        }
    }
    return RP_OK;
}

static rp_status check_all(uint32_t count, const int32_t *devices, const HcclComm *comms)
{
    if (count == 0) {
        return rp_fail(RP_EPARAM, "HcclCommInitAll: ndev is 0");
    }
    if (devices == NULL || comms == NULL) {
        return rp_fail(
                RP_ENULL, "HcclCommInitAll: %s is NULL", devices == NULL ? "devices" : "comms");
    }
    const rp_status st = rp_attempt_check_thread("HcclCommInitAll");
    return st != RP_OK ? st : check_devices(count, devices);
}

static rp_status begin_all(struct rp_attempts *attempts, struct rp_join_request *request,
        const int32_t *devices, const struct rp_algo_config *algo)
{
    rp_status st = RP_OK;
    for (uint32_t i = 0; i < request->size && st == RP_OK; i++) {
        request->rank = i;
        request->device_id = devices[i];
        st = rp_attempt_begin(&attempts->item[i], request, algo);
        attempts->count += st == RP_OK;
    }
    return st;
}

static rp_status join_all(uint32_t count, const int32_t *devices, struct rp_device *root,
        struct rp_attempt *items, HcclComm *comms)
{
    HcclRootInfo info;
    struct rp_algo_config algo;
    struct rp_attempts attempts = { .item = items };
    struct rp_join_request request = { .root_info = &info, .size = count };
    rp_status st = rp_comm_settings_load("HcclCommInitAll", NULL, &request.settings, &algo);
    st = st != RP_OK ? st : make_root_info(root, devices[0], &info);
    st = st != RP_OK ? st : begin_all(&attempts, &request, devices, &algo);
    const rp_status began = st;
    if (st == RP_OK) {
        st = rp_attempts_await(&attempts, &request.settings);
    }
    const rp_status unfinished = st == RP_OK ? RP_EINTERNAL : st;
    st = began;
    for (uint32_t i = 0; i < attempts.count; i++) {
        const rp_status ended = rp_attempt_end(&items[i], unfinished, &comms[i]);
        st = rp_attempt_cause(st, ended);
    }
    return st;
}

static rp_status init_all(uint32_t count, const int32_t *devices, HcclComm *comms)
{
    struct rp_device *root = NULL;
    rp_status st = rp_enter();
    st = st != RP_OK ? st : check_all(count, devices, comms);
    if (st != RP_OK) {
        return st;
    }
    struct rp_attempt *items = rp_calloc(count, sizeof(*items));
    if (items == NULL) {
        return rp_fail(RP_ENOMEM, "HcclCommInitAll: no memory for %" PRIu32 " ranks", count);
    }
    memset(comms, 0, count * sizeof(*comms));
    st = rp_device_ref(devices[0], &root);
    if (st == RP_OK) {
        st = join_all(count, devices, root, items, comms);
        rp_device_unref(root);
    }
    for (uint32_t i = 0; st != RP_OK && i < count; i++) {
        if (comms[i] != NULL) {
            rp_comm_close(comms[i]);
            comms[i] = NULL;
        }
    }
    rp_free(items);
    return st;
}

HcclResult HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms)
{
    return (HcclResult)rp_hccl(init_all(ndev, devices, comms));
}
