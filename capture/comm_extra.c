#include "capture/comm_extra.h"

#include "base/alloc.h"
#include "base/error.h"
#include "capture/comm_memory.h"
#include "capture/comm_registered.h"
#include "capture/expand_cache.h"
#include "capture/p2p.h"
#include "capture/rank_graph.h"
#include "capture/sym_window.h"
#include "replay/context.h"

void rp_comm_extra_free(struct rp_comm_extra *extra)
{
    if (extra == NULL) {
        return;
    }
    rp_expand_cache_free(extra->expansions);
    rp_free(extra->layout);
    rp_comm_memory_forget(extra);
    rp_sym_windows_forget(extra);
    rp_comm_registered_forget(extra);
    rp_rank_graph_free(extra->rank_graph);
    pthread_mutex_destroy(&extra->lock);
    rp_free(extra);
}

static void release(struct rp_comm_attachment *attachment)
{
    rp_comm_extra_free(rp_container_of(attachment, struct rp_comm_extra, attachment));
}

rp_status rp_comm_extra_create(
        struct rp_device *device, const struct rp_algo_config *algo, struct rp_comm_extra **out)
{
    struct rp_comm_extra *extra = rp_calloc(1, sizeof(*extra));
    if (extra == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for a communicator");
    }
    extra->attachment.release = release;
    extra->device = device;
    for (unsigned op = 0; op < RP_ALGO_OP_COUNT; op++) {
        extra->algorithm[op] = algo->level[op][0];
        extra->between[op] = algo->level[op][1];
    }
    pthread_mutex_init(&extra->lock, NULL);
    rp_list_init(&extra->ranges);
    rp_list_init(&extra->windows);
    rp_list_init(&extra->registered);
    *out = extra;
    return RP_OK;
}

void rp_comm_extra_attach(struct rp_comm *comm, struct rp_comm_extra *extra)
{
    comm->pair_lanes = rp_pairs_lanes(comm->lines.window_bytes, comm->size);
    // release [X1]: pairs with the load in rp_comm_extra_of.
    atomic_store_explicit(&comm->attachment, &extra->attachment, memory_order_release);
}

rp_status rp_comm_call_begin(const char *api, const void *handle, struct rp_comm **out)
{
    if (handle == NULL) {
        return rp_fail(RP_ENULL, "%s: comm is NULL", api);
    }
    struct rp_comm *comm = rp_comm_from_handle(handle);
    struct rp_comm_extra *extra = comm == NULL ? NULL : rp_comm_extra_of(comm);
    if (extra != NULL) {
        // seq_cst [X2]: before the look at `destroyed`; HcclCommDestroy stores that first and looks
        // here then, so one of the two sees the other.
        atomic_fetch_add_explicit(&extra->calls, 1, memory_order_seq_cst);
        if (RP_LIKELY(!atomic_load_explicit(&comm->destroyed, memory_order_seq_cst))) {
            *out = comm;
            return RP_OK;
        }
        // release [X3]: as in rp_comm_call_end.
        atomic_fetch_sub_explicit(&extra->calls, 1, memory_order_release);
    }
    if (comm != NULL) {
        rp_comm_unref(comm);
    }
    return rp_fail(RP_EPARAM,
            "%s: comm %p is no communicator of this process, or has been destroyed", api, handle);
}

rp_status rp_comm_call_enter(const char *api, const void *handle, const char *name,
        const void *pointer, struct rp_comm **out)
{
    rp_status st = rp_enter();
    if (st == RP_OK && pointer == NULL) {
        st = rp_fail(RP_ENULL, "%s: %s is NULL", api, name);
    }
    return st != RP_OK ? st : rp_comm_call_begin(api, handle, out);
}

void rp_comm_call_end(struct rp_comm *comm)
{
    // release [X3]: pairs with the loads of `calls` in HcclCommDestroy and the expansion cache;
    // what the call queued is counted in `pending` before.
    atomic_fetch_sub_explicit(&rp_comm_extra_of(comm)->calls, 1, memory_order_release);
    rp_comm_unref(comm);
}
