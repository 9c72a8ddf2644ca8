#include "capture/comm_attempt.h"

#include <hccl/hccl_comm.h>

#include "base/clock.h"
#include "base/error.h"
#include "capture/comm_extra.h"
#include "replay/context.h"

// The join has its own timeout; this one is for a loop that nobody steps any more.
#define WAIT_MARGIN_NS (30 * RP_NS_PER_S)
// How long the other ranks of this process may take once one has finished.
#define OTHERS_NS (3 * RP_NS_PER_S)

rp_status rp_attempt_begin(struct rp_attempt *attempt, const struct rp_join_request *request,
        const struct rp_algo_config *algo)
{
    struct rp_join_request own = *request;
    *attempt = (struct rp_attempt){ .device = NULL };
    rp_status st = rp_device_ref(request->device_id, &attempt->device);
    if (st != RP_OK) {
        return st;
    }
    st = rp_comm_extra_create(attempt->device, algo, &attempt->extra);
    if (st != RP_OK) {
        goto undo_device;
    }
    own.arena = rp_device_arena(attempt->device);
    rp_device_enter(attempt->device);
    st = rp_join_start(rp_device_loop(attempt->device), &own, &attempt->join);
    rp_device_leave(attempt->device);
    if (st != RP_OK) {
        goto undo_extra;
    }
    return RP_OK;

undo_extra:
    rp_comm_extra_free(attempt->extra);
undo_device:
    rp_device_unref(attempt->device);
    *attempt = (struct rp_attempt){ .device = NULL };
    return st;
}

rp_status rp_attempt_end(struct rp_attempt *attempt, rp_status unfinished, HcclComm *comm)
{
    struct rp_comm *made = NULL;
    rp_status st = rp_join_poll(attempt->join, &made);
    if (st == RP_AGAIN) {
        st = unfinished;
    }
    rp_device_enter(attempt->device);
    rp_join_free(attempt->join);
    rp_device_leave(attempt->device);
    if (st != RP_OK) {
        rp_comm_extra_free(attempt->extra);
        rp_device_unref(attempt->device);
    } else {
        rp_comm_extra_attach(made, attempt->extra); // with the hold on the device
        *comm = made;
    }
    *attempt = (struct rp_attempt){ .device = NULL };
    return st;
}

static int weight(rp_status st)
{
    switch (st) {
    case RP_OK:
        return 0;
    case RP_EREMOTE:
        return 1;
    case RP_ECONNTIMEOUT:
        return 2;
    default:
        return 3;
    }
}

rp_status rp_attempt_cause(rp_status first, rp_status second)
{
    return weight(second) > weight(first) ? second : first;
}

static bool all_finished(void *arg)
{
    const struct rp_attempts *attempts = arg;
    for (uint32_t i = 0; i < attempts->count; i++) {
        if (!rp_join_finished(attempts->item[i].join)) {
            return false;
        }
    }
    return true;
}

static bool any_finished(void *arg)
{
    const struct rp_attempts *attempts = arg;
    for (uint32_t i = 0; i < attempts->count; i++) {
        if (rp_join_finished(attempts->item[i].join)) {
            return true;
        }
    }
    return false;
}

// None succeeds where another has failed, so the first one to finish decides: the others are about
// to hear of it, unless they wait for the very rank that failed.
rp_status rp_attempts_await(struct rp_attempts *attempts, const struct rp_comm_settings *settings)
{
    struct rp_device *device = attempts->item[0].device;
    const uint64_t timeout_ns = settings->connect_timeout_s * RP_NS_PER_S + WAIT_MARGIN_NS;
    const rp_status st =
            rp_device_wait(device, any_finished, attempts, timeout_ns, RP_ECONNTIMEOUT);
    if (st != RP_OK) {
        return st;
    }
    return rp_device_wait(device, all_finished, attempts, OTHERS_NS, RP_EREMOTE);
}

rp_status rp_attempt_check_thread(const char *api)
{
    if (rp_thread_in_callback()) {
        return rp_fail(RP_ECALLBACK, "%s: a callback may not make a communicator", api);
    }
    return RP_OK;
}

rp_status rp_attempt_join(
        const struct rp_join_request *request, const struct rp_algo_config *algo, HcclComm *comm)
{
    struct rp_attempt attempt;
    const rp_status st = rp_attempt_begin(&attempt, request, algo);
    if (st != RP_OK) {
        return st;
    }
    struct rp_attempts one = { .item = &attempt, .count = 1 };
    const rp_status waited = rp_attempts_await(&one, &request->settings);
    return rp_attempt_end(&attempt, waited, comm);
}
