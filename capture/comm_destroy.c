// HcclCommDestroy: local, and it never hangs. Work that is still queued gets a moment to end; what
// then waits for peers that will not come is aborted. Graphs that name the communicator keep its
// memory, and cannot be executed any more.

#include "capture/comm_destroy.h"

#include <inttypes.h>
#include <stdio.h>

#include <hccl/hccl_comm.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "capture/comm_buffer.h"
#include "capture/comm_callback.h"
#include "capture/comm_extra.h"
#include "capture/group.h"
#include "replay/context.h"

// How long queued work may take to end by itself, and then to notice that it was aborted. The
// second is long only if it stands behind something else, a host function say: it then ends as a
// failure later.
#define DRAIN_NS (1 * RP_NS_PER_S)
#define ABORT_NS (1 * RP_NS_PER_S)

void rp_comm_close(struct rp_comm *comm)
{
    struct rp_device *device = rp_comm_extra_of(comm)->device;
    rp_comm_buffer_free(comm);
    rp_device_enter(device);
    const bool ours = rp_comm_retire(comm);
    rp_device_leave(device);
    if (ours) {
        rp_device_unref(device);
    }
}

static bool has_drained(void *arg)
{
    struct rp_comm *comm = arg;
    // seq_cst: pairs with the decrement when a submission has ended.
    return atomic_load_explicit(&comm->pending, memory_order_seq_cst) == 0;
}

// Fails what is queued on this rank, and with it the peers' side of what they had begun together.
static void abort_pending(struct rp_comm *comm, struct rp_device *device)
{
    char sentence[RP_COMM_CAUSE_BYTES];
    snprintf(sentence, sizeof(sentence),
            "HcclCommDestroy aborted %" PRIu32 " pending calls on rank %" PRIu32
            " of communicator %s",
            atomic_load_explicit(&comm->pending, memory_order_seq_cst), comm->rank, comm->name);
    rp_log_warn("%s", sentence);
    rp_device_enter(device);
    rp_comm_fail(comm, RP_EREMOTE, comm->rank, comm->lines.announced, sentence);
    rp_device_leave(device);
    rp_device_poke(device);
}

// Until `deadline_ns` for all of them together; whether all have drained.
static bool drain(struct rp_comm *const *comms, uint32_t count, uint64_t deadline_ns)
{
    bool all = true;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t now_ns = rp_now_ns();
        const uint64_t left_ns = now_ns < deadline_ns ? deadline_ns - now_ns : 0;
        const rp_status st = rp_device_wait(rp_comm_extra_of(comms[i])->device, has_drained,
                comms[i], left_ns, RP_ESYNCTIMEOUT);
        all &= st == RP_OK || has_drained(comms[i]);
    }
    return all;
}

// Nothing new is taken on: `destroyed` is set.
static void drain_or_abort(struct rp_comm *const *comms, uint32_t count)
{
    if (drain(comms, count, rp_deadline_ns(DRAIN_NS))) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!has_drained(comms[i])) {
            abort_pending(comms[i], rp_comm_extra_of(comms[i])->device);
        }
    }
    (void)drain(comms, count, rp_deadline_ns(ABORT_NS));
    for (uint32_t i = 0; i < count; i++) {
        if (!has_drained(comms[i])) {
            rp_log_warn("communicator %s is destroyed while its last calls still wait for their "
                        "stream",
                    comms[i]->name);
        }
    }
}

// Whether this call is the one that destroys.
static rp_status claim(struct rp_comm *comm)
{
    struct rp_comm_extra *extra = rp_comm_extra_of(comm);
    // seq_cst [X2]: before the look at `calls`; pairs with rp_comm_call_begin.
    if (extra == NULL || atomic_exchange_explicit(&comm->destroyed, true, memory_order_seq_cst)) {
        return rp_fail(
                RP_EPARAM, "HcclCommDestroy: communicator %s is being destroyed", comm->name);
    }
    if (atomic_load_explicit(&extra->calls, memory_order_seq_cst) != 0) {
        // seq_cst: calls find it again.
        atomic_store_explicit(&comm->destroyed, false, memory_order_seq_cst);
        return rp_fail(RP_EBUSY,
                "HcclCommDestroy: another thread is in a call that uses communicator %s",
                comm->name);
    }
    return RP_OK;
}

rp_status rp_comm_destroy_find(const void *handle, struct rp_comm **out)
{
    *out = rp_comm_from_handle(handle);
    return *out != NULL ? RP_OK
                        : rp_fail(RP_EPARAM,
                                  "HcclCommDestroy: comm %p is no communicator of this process, or "
                                  "has been destroyed",
                                  handle);
}

rp_status rp_comm_destroy_begin(struct rp_comm *comm)
{
    rp_comm_tell(comm, HCCL_COMM_STATE_PHASE_DESTROY_PRE); // while calls still find it
    return claim(comm);
}

void rp_comm_destroy_finish(struct rp_comm *const *comms, uint32_t count)
{
    drain_or_abort(comms, count);
    for (uint32_t i = 0; i < count; i++) {
        rp_comm_close(comms[i]);
        rp_comm_tell(comms[i], HCCL_COMM_STATE_PHASE_DESTROY_POST);
    }
}

static rp_status destroy(HcclComm handle)
{
    if (handle == NULL) {
        rp_log_warn("HcclCommDestroy: comm is NULL, there is nothing to destroy");
        return RP_OK;
    }
    if (rp_group_is_open()) {
        return rp_group_add_destroy(handle);
    }
    struct rp_comm *comm = NULL;
    rp_status st = rp_comm_destroy_find(handle, &comm);
    if (st != RP_OK) {
        return st;
    }
    st = rp_comm_destroy_begin(comm);
    if (st == RP_OK) {
        rp_comm_destroy_finish(&comm, 1);
    }
    rp_comm_unref(comm);
    return st;
}

HcclResult HcclCommDestroy(HcclComm comm)
{
    const rp_status st = rp_enter();
    return (HcclResult)rp_hccl(rp_group_note(st == RP_OK ? destroy(comm) : st));
}
