// Stopping a communicator, asking how it is, and taking it into use again.

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <hccl/hccl_comm.h>

#include "base/clock.h"
#include "base/error.h"
#include "capture/comm_callback.h"
#include "capture/comm_extra.h"
#include "replay/context.h"
#include "transport/comm_resume.h"

// So often a waiting HcclCommResume looks whether the peers live.
#define SLICE_NS (20 * RP_NS_PER_MS)
#define NAP_NS (200 * RP_NS_PER_US)

static rp_status begin(const char *api, HcclComm handle, struct rp_comm **comm)
{
    const rp_status st = rp_enter();
    return st != RP_OK ? st : rp_comm_call_begin(api, handle, comm);
}

// ---- HcclCommSuspend ----

// Baton.
static void suspend(struct rp_comm *comm, const char *api)
{
    char sentence[RP_COMM_CAUSE_BYTES];
    snprintf(sentence, sizeof(sentence),
            "communicator %s is suspended: rank %" PRIu32 " has called %s", comm->name, comm->rank,
            api);
    rp_comm_suspend(comm, sentence);
}

static rp_status suspend_comm(HcclComm handle)
{
    struct rp_comm *comm = NULL;
    const rp_status st = begin("HcclCommSuspend", handle, &comm);
    if (st != RP_OK) {
        return st;
    }
    struct rp_device *device = rp_comm_extra_of(comm)->device;
    rp_device_enter(device);
    suspend(comm, "HcclCommSuspend");
    rp_device_leave(device);
    rp_device_poke(device); // what is under way ends now
    rp_comm_call_end(comm);
    return RP_OK;
}

HcclResult HcclCommSuspend(HcclComm comm)
{
    return (HcclResult)rp_hccl(suspend_comm(comm));
}

// ---- HcclCommResume ----

static rp_status step(struct rp_comm *comm, struct rp_device *device)
{
    rp_device_enter(device);
    const rp_status st = rp_comm_resume_step(comm);
    rp_device_leave(device);
    return st;
}

// Until the peers have moved, or for a slice.
static rp_status pass_time(struct rp_comm *comm, struct rp_device *device, uint64_t left_ns)
{
    if (rp_comm_resume_moved(comm)) { // and yet a step found nothing: turns are being passed on
        const struct timespec nap = { .tv_nsec = NAP_NS };
        rp_device_step_once(device);
        nanosleep(&nap, NULL);
        return RP_OK;
    }
    const rp_status st = rp_device_wait(
            device, rp_comm_resume_moved, comm, rp_min_u64(left_ns, SLICE_NS), RP_ESYNCTIMEOUT);
    return st == RP_ESYNCTIMEOUT ? RP_OK : st;
}

static rp_status time_out(struct rp_comm *comm, struct rp_device *device)
{
    char missing[256];
    rp_device_enter(device);
    rp_comm_resume_missing(comm, missing, sizeof(missing));
    rp_device_leave(device);
    if (*missing == '\0') {
        return rp_fail(RP_EBUSY,
                "HcclCommResume: %" PRIu32 " calls that use communicator %s have not ended after "
                "%" PRIu32 " s; aclrtDeviceTaskAbort or aclrtStreamAbort comes first",
                atomic_load_explicit(&comm->pending, memory_order_seq_cst), comm->name,
                comm->settings.connect_timeout_s);
    }
    return rp_fail(RP_ECONNTIMEOUT,
            "HcclCommResume: rank %s of communicator %s has not called it within %" PRIu32
            " s (HCCL_CONNECT_TIMEOUT); call it again to wait on",
            missing, comm->name, comm->settings.connect_timeout_s);
}

static rp_status await_resume(struct rp_comm *comm, struct rp_device *device)
{
    const uint64_t end_ns =
            rp_deadline_ns((uint64_t)comm->settings.connect_timeout_s * RP_NS_PER_S);
    rp_status st = step(comm, device);
    while (st == RP_AGAIN) {
        const uint64_t now_ns = rp_now_ns();
        if (now_ns >= end_ns) {
            return time_out(comm, device);
        }
        st = pass_time(comm, device, end_ns - now_ns);
        st = st == RP_OK ? step(comm, device) : st;
    }
    return st;
}

// A rank that has noticed nothing takes part like the others, so it is suspended first.
static rp_status resume(struct rp_comm *comm)
{
    struct rp_comm_extra *extra = rp_comm_extra_of(comm);
    if (comm->nodes > 1) {
        return rp_fail(RP_ENOTSUP,
                "HcclCommResume: communicator %s has ranks on %" PRIu32
                " nodes; only the ranks of one node can resume, make a new one",
                comm->name, comm->nodes);
    }
    if (rp_thread_in_callback()) {
        return rp_fail(RP_ECALLBACK, "HcclCommResume: a callback cannot wait for the other ranks");
    }
    // acq_rel: one call at a time; what the last one did is before this one.
    if (atomic_exchange_explicit(&extra->resuming, true, memory_order_acq_rel)) {
        return rp_fail(
                RP_EBUSY, "HcclCommResume: another thread resumes communicator %s", comm->name);
    }
    rp_device_enter(extra->device);
    if (rp_comm_failure(comm) == RP_OK) {
        suspend(comm, "HcclCommResume");
    }
    rp_device_leave(extra->device);
    rp_device_poke(extra->device);
    const rp_status st = await_resume(comm, extra->device);
    // release: as above.
    atomic_store_explicit(&extra->resuming, false, memory_order_release);
    return st;
}

static rp_status resume_comm(HcclComm handle)
{
    struct rp_comm *comm = NULL;
    rp_status st = begin("HcclCommResume", handle, &comm);
    if (st != RP_OK) {
        return st;
    }
    rp_comm_tell(handle, HCCL_COMM_STATE_PHASE_RESUME_PRE);
    st = resume(comm);
    if (st == RP_OK) {
        rp_comm_tell(handle, HCCL_COMM_STATE_PHASE_RESUME_POST);
    }
    rp_comm_call_end(comm);
    return st;
}

HcclResult HcclCommResume(HcclComm comm)
{
    return (HcclResult)rp_hccl(resume_comm(comm));
}

// ---- HcclCommGetStatus ----

// What may be a name, or a handle that has ended, whose memory is gone: read by a system call,
// which answers where an access would fault. Whether there is a text of a name's length.
static bool read_name(const void *from, char name[COMM_NAME_MAX_LENGTH])
{
    const uintptr_t start = (uintptr_t)from;
    const size_t to_page = 4096 - (size_t)(start % 4096);
    const size_t first = to_page < COMM_NAME_MAX_LENGTH ? to_page : COMM_NAME_MAX_LENGTH;
    // Two pieces: the second one may be on a page that is not there.
    const struct iovec remote[2] = {
        { .iov_base = (void *)start, .iov_len = first },
        { .iov_base = (void *)(start + first), .iov_len = COMM_NAME_MAX_LENGTH - first },
    };
    const struct iovec local = { .iov_base = name, .iov_len = COMM_NAME_MAX_LENGTH };
    const long got = syscall(SYS_process_vm_readv, (long)getpid(), &local, 1L, remote, 2L, 0L);
    if (got < 0 && (errno == EPERM || errno == ENOSYS)) { // a container that forbids the call
        const size_t length = strnlen(from, COMM_NAME_MAX_LENGTH);
        memcpy(name, from, length);
        name[length == COMM_NAME_MAX_LENGTH ? 0 : length] = '\0';
        return length != COMM_NAME_MAX_LENGTH;
    }
    return got > 0 && memchr(name, '\0', (size_t)got) != NULL;
}

static rp_status find(const void *key, struct rp_comm **out)
{
    static const char api[] = "HcclCommGetStatus";
    struct rp_context *context = NULL;
    char name[COMM_NAME_MAX_LENGTH];
    *out = rp_comm_from_handle(key);
    if (*out == NULL && read_name(key, name) && rp_context_current(&context) == RP_OK) {
        *out = rp_comm_from_name(context->device_id, name);
    }
    return *out != NULL ? RP_OK
                        : rp_fail(RP_EPARAM,
                                  "%s: comm %p is neither a communicator of this process nor the "
                                  "name of one on the current device",
                                  api, key);
}

static HcclCommStatus status_of(struct rp_comm *comm)
{
    // relaxed, all: one look at what changes by itself.
    const int32_t own = atomic_load_explicit(&comm->error, memory_order_relaxed);
    const int32_t remote = atomic_load_explicit(&comm->remote, memory_order_relaxed);
    if (own == 0 && remote == 0) {
        return HCCL_COMM_STATUS_READY;
    }
    const bool suspended = atomic_load_explicit(&comm->suspended, memory_order_relaxed) ||
                           (own != 0 ? own : remote) == RP_ESUSPEND;
    return suspended ? HCCL_COMM_STATUS_SUSPENDING : HCCL_COMM_STATUS_INVALID;
}

static rp_status get_status(const void *key, HcclCommStatus *status)
{
    struct rp_comm *comm = NULL;
    rp_status st = rp_enter();
    if (st != RP_OK) {
        return st;
    }
    if (key == NULL || status == NULL) {
        return rp_fail(RP_ENULL, "HcclCommGetStatus: %s is NULL", key == NULL ? "comm" : "status");
    }
    st = find(key, &comm);
    if (st == RP_OK) {
        *status = status_of(comm);
        rp_comm_unref(comm);
    }
    return st;
}

HcclResult HcclCommGetStatus(const void *comm, HcclCommStatus *status)
{
    return (HcclResult)rp_hccl(get_status(comm, status));
}

// ---- HcclCommWorkingDevNicSet ----

static rp_status set_nic(HcclComm handle, const uint32_t *ranks, const bool *use_backup)
{
    static const char api[] = "HcclCommWorkingDevNicSet";
    struct rp_comm *comm = NULL;
    rp_status st = rp_enter();
    if (st == RP_OK && (ranks == NULL || use_backup == NULL)) {
        st = rp_fail(RP_ENULL, "%s: %s is NULL", api, ranks == NULL ? "ranks" : "useBackup");
    }
    st = st != RP_OK ? st : rp_comm_call_begin(api, handle, &comm);
    if (st != RP_OK) {
        return st;
    }
    st = rp_fail(RP_ENOTSUP, "%s: ranks have no backup network card to switch to", api);
    rp_comm_call_end(comm);
    return st;
}

HcclResult HcclCommWorkingDevNicSet(
        HcclComm comm, uint32_t *ranks, bool *useBackup, uint32_t nRanks)
{
    (void)nRanks;
    return (HcclResult)rp_hccl(set_nic(comm, ranks, useBackup));
}
