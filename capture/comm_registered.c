#include "capture/comm_registered.h"

#include <inttypes.h>

#include <hccl/hccl_ex.h>

#include "base/alloc.h"
#include "base/error.h"
#include "capture/comm_extra.h"
#include "replay/context.h"

#define PEERS_MAX 768u

struct registration {
    struct rp_list in_extra;
    void *start;
    uint64_t bytes;
};

static struct registration *registration_of(struct rp_list *link)
{
    return rp_container_of(link, struct registration, in_extra);
}

void rp_comm_registered_forget(struct rp_comm_extra *extra)
{
    struct rp_list *link;
    while ((link = rp_list_pop_front(&extra->registered)) != NULL) {
        rp_free(registration_of(link));
    }
}

// By its handle, which is its address and is only compared. Under the lock.
static struct registration *find(struct rp_comm_extra *extra, const void *handle)
{
    rp_list_each(link, &extra->registered)
    {
        if (registration_of(link) == handle) {
            return registration_of(link);
        }
    }
    return NULL;
}

// ---- HcclCommRegister ----

static rp_status add(struct rp_comm *comm, void *start, uint64_t bytes, void **out)
{
    static const char api[] = "HcclCommRegister";
    struct rp_comm_extra *extra = rp_comm_extra_of(comm);
    uint64_t off = 0;
    if (bytes == 0) {
        return rp_fail(RP_EPARAM, "%s: size is 0", api);
    }
    if (!rp_arena_offset(comm->arena, start, bytes, &off)) {
        return rp_fail(RP_EPARAM, "%s: [%p, + %" PRIu64 ") is not memory of device %" PRId32, api,
                start, bytes, comm->device_id);
    }
    struct registration *made = rp_calloc(1, sizeof(*made));
    if (made == NULL) {
        return rp_fail(RP_ENOMEM, "%s: no memory", api);
    }
    made->start = start;
    made->bytes = bytes;
    pthread_mutex_lock(&extra->lock);
    rp_list_push_back(&extra->registered, &made->in_extra);
    pthread_mutex_unlock(&extra->lock);
    *out = made;
    return RP_OK;
}

static rp_status register_memory(HcclComm handle, void *start, uint64_t bytes, void **out)
{
    struct rp_comm *comm = NULL;
    rp_status st = rp_comm_call_enter("HcclCommRegister", handle, start == NULL ? "addr" : "handle",
            start == NULL ? start : (const void *)out, &comm);
    if (st == RP_OK) {
        st = add(comm, start, bytes, out);
        rp_comm_call_end(comm);
    }
    return st;
}

// No flag changes anything here.
HcclResult HcclCommRegister(HcclComm comm, void *addr, uint64_t size, void **handle, uint32_t flag)
{
    (void)flag;
    return (HcclResult)rp_hccl(register_memory(comm, addr, size, handle));
}

// ---- HcclCommDeregister ----

static rp_status deregister_memory(HcclComm handle, const void *registration)
{
    static const char api[] = "HcclCommDeregister";
    struct rp_comm *comm = NULL;
    rp_status st = rp_comm_call_enter(api, handle, "handle", registration, &comm);
    if (st != RP_OK) {
        return st;
    }
    struct rp_comm_extra *extra = rp_comm_extra_of(comm);
    pthread_mutex_lock(&extra->lock);
    struct registration *found = find(extra, registration);
    if (found != NULL) {
        rp_list_remove(&found->in_extra);
    }
    pthread_mutex_unlock(&extra->lock);
    rp_free(found);
    if (found == NULL) {
        st = rp_fail(RP_EPARAM,
                "%s: handle %p is no registration of communicator %s, or one that has ended", api,
                registration, comm->name);
    }
    rp_comm_call_end(comm);
    return st;
}

HcclResult HcclCommDeregister(HcclComm comm, void *handle)
{
    return (HcclResult)rp_hccl(deregister_memory(comm, handle));
}

// ---- HcclCommExchangeMem ----

static rp_status check_peers(const struct rp_comm *comm, const uint32_t *peers, uint32_t count)
{
    static const char api[] = "HcclCommExchangeMem";
    if (count == 0 || count > PEERS_MAX) {
        return rp_fail(RP_EPARAM, "%s: peerRankNum is %" PRIu32 "; it can be 1 to %u", api, count,
                PEERS_MAX);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (peers[i] >= comm->size) {
            return rp_fail(RP_EPARAM,
                    "%s: peerRanks[%" PRIu32 "] is %" PRIu32 ", none of the %" PRIu32
                    " ranks of %s",
                    api, i, peers[i], comm->size, comm->name);
        }
    }
    return RP_OK;
}

static rp_status exchange_memory(
        HcclComm handle, const void *registration, const uint32_t *peers, uint32_t count)
{
    static const char api[] = "HcclCommExchangeMem";
    struct rp_comm *comm = NULL;
    rp_status st =
            rp_comm_call_enter(api, handle, registration == NULL ? "windowHandle" : "peerRanks",
                    registration == NULL ? registration : peers, &comm);
    if (st != RP_OK) {
        return st;
    }
    struct rp_comm_extra *extra = rp_comm_extra_of(comm);
    st = check_peers(comm, peers, count);
    pthread_mutex_lock(&extra->lock);
    const bool known = find(extra, registration) != NULL;
    pthread_mutex_unlock(&extra->lock);
    if (st == RP_OK && !known) {
        st = rp_fail(RP_EPARAM,
                "%s: windowHandle %p is no registration of communicator %s, or one that has ended",
                api, registration, comm->name);
    }
    rp_comm_call_end(comm);
    return st;
}

HcclResult HcclCommExchangeMem(
        HcclComm comm, void *windowHandle, uint32_t *peerRanks, uint32_t peerRankNum)
{
    return (HcclResult)rp_hccl(exchange_memory(comm, windowHandle, peerRanks, peerRankNum));
}
