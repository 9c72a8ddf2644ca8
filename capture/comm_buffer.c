// HcclGetHcclBuffer: a communicator's buffer for the program's own use. Operators go through
// windows that nobody but them may write, so this is device memory beside those, made when it is
// asked for.

#include "capture/comm_buffer.h"

#include <inttypes.h>

#include <hccl/hccl_res.h>

#include "base/error.h"
#include "base/log.h"
#include "capture/comm_extra.h"
#include "replay/context.h"

#define BUFFER_ALIGN 64u // as of aclrtMalloc

// The program gets an address inside the block, so that aclrtFree refuses it: were it freed, the
// communicator's end would free whoever got the block next.
#define BUFFER_OFFSET BUFFER_ALIGN

// Under the lock.
static rp_status make(struct rp_comm *comm, struct rp_comm_extra *extra)
{
    if (extra->buffer != NULL) {
        return RP_OK;
    }
    const uint64_t bytes = comm->settings.buffer_bytes;
    void *block;
    const rp_status st = rp_arena_alloc(
            comm->arena, BUFFER_OFFSET + bytes, BUFFER_ALIGN, RP_ARENA_DEVICE, &block);
    if (st != RP_OK) {
        return rp_fail(st,
                "HcclGetHcclBuffer: the buffer of communicator %s has %" PRIu64
                " bytes (HCCL_BUFFSIZE), and device %" PRId32 " has no room",
                comm->name, bytes, comm->device_id);
    }
    extra->buffer = (uint8_t *)block + BUFFER_OFFSET;
    return RP_OK;
}

void rp_comm_buffer_free(struct rp_comm *comm)
{
    struct rp_comm_extra *extra = rp_comm_extra_of(comm);
    pthread_mutex_lock(&extra->lock);
    void *buffer = extra->buffer;
    extra->buffer = NULL;
    pthread_mutex_unlock(&extra->lock);
    if (buffer != NULL && rp_arena_free(comm->arena, (uint8_t *)buffer - BUFFER_OFFSET,
                                  RP_ARENA_DEVICE) != RP_OK) {
        rp_log_warn("HcclCommDestroy: the block of the buffer of communicator %s is not there",
                comm->name);
    }
}

static rp_status get_buffer(HcclComm handle, void **buffer, uint64_t *bytes)
{
    static const char api[] = "HcclGetHcclBuffer";
    struct rp_comm *comm = NULL;
    rp_status st = rp_enter();
    if (st == RP_OK && (buffer == NULL || bytes == NULL)) {
        st = rp_fail(RP_ENULL, "%s: %s is NULL", api, buffer == NULL ? "buffer" : "size");
    }
    st = st != RP_OK ? st : rp_comm_call_begin(api, handle, &comm);
    if (st != RP_OK) {
        return st;
    }
    struct rp_comm_extra *extra = rp_comm_extra_of(comm);
    pthread_mutex_lock(&extra->lock);
    st = make(comm, extra);
    if (st == RP_OK) {
        *buffer = extra->buffer;
        *bytes = comm->settings.buffer_bytes;
    }
    pthread_mutex_unlock(&extra->lock);
    rp_comm_call_end(comm);
    return st;
}

HcclResult HcclGetHcclBuffer(HcclComm comm, void **buffer, uint64_t *size)
{
    return (HcclResult)rp_hccl(get_buffer(comm, buffer, size));
}
