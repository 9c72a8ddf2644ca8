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

// Nothing new is taken on: `destroyed` is set.
static void drain(struct rp_comm *comm, struct rp_device *device)
{
    rp_status st = rp_device_wait(device, has_drained, comm, DRAIN_NS, RP_ESYNCTIMEOUT);
    if (st == RP_OK || has_drained(comm)) {
        return;
    }
    abort_pending(comm, device);
    st = rp_device_wait(device, has_drained, comm, ABORT_NS, RP_ESYNCTIMEOUT);
    if (st != RP_OK) {
        rp_log_warn("communicator %s is destroyed while its last calls still wait for their stream",
                comm->name);
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

static rp_status destroy(HcclComm handle)
{
    rp_status st = rp_enter();
    if (st != RP_OK) {
        return st;
    }
    if (handle == NULL) {
        rp_log_warn("HcclCommDestroy: comm is NULL, there is nothing to destroy");
        return RP_OK;
    }
    struct rp_comm *comm = rp_comm_from_handle(handle);
    if (comm == NULL) {
        return rp_fail(RP_EPARAM,
                "HcclCommDestroy: comm %p is no communicator of this process, or has been "
                "destroyed",
                handle);
    }
    rp_comm_tell(handle, HCCL_COMM_STATE_PHASE_DESTROY_PRE); // while calls still find it
    st = claim(comm);
    if (st == RP_OK) {
        drain(comm, rp_comm_extra_of(comm)->device);
        rp_comm_close(comm);
        rp_comm_tell(handle, HCCL_COMM_STATE_PHASE_DESTROY_POST);
    }
    rp_comm_unref(comm);
    return st;
}

HcclResult HcclCommDestroy(HcclComm comm)
{
    return (HcclResult)rp_hccl(destroy(comm));
}
