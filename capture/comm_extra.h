#ifndef REPRISE_CAPTURE_COMM_EXTRA_H
#define REPRISE_CAPTURE_COMM_EXTRA_H

/*
 * What capture keeps with a communicator, and how an Hccl call takes hold of
 * one. It is freed with the communicator, which graphs and queued work may keep
 * beyond HcclCommDestroy; the hold on the device ends with the handle.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/env.h"
#include "base/list.h"
#include "base/status.h"
#include "replay/device.h"
#include "transport/comm.h"

struct rp_expand_cache;
struct rp_layout;
struct rp_rank_graph;

struct rp_comm_extra {
    struct rp_comm_attachment attachment; /* first */
    struct rp_device *device;             /* referenced while the handle lives */
    _Atomic uint32_t calls;               /* Hccl calls that use the handle at this moment */
    _Atomic bool resuming;                /* a thread is in HcclCommResume */
    /* HCCL_ALGO within the node, by enum rp_algo_op: an enum rp_algo_name. */
    uint8_t algorithm[RP_ALGO_OP_COUNT];
    uint8_t between[RP_ALGO_OP_COUNT]; /* the same between nodes */

    pthread_mutex_t lock;               /* guards the rest; nothing else is taken under it but the
                                           handle set and the arena */
    struct rp_expand_cache *expansions; /* expand_cache.c; NULL before the first */
    struct rp_layout *layout;           /* comm_layout.c; NULL: not yet made */
    struct rp_list ranges;              /* comm_memory.c */
    struct rp_list windows;             /* sym_window.c */
    struct rp_list registered;          /* comm_registered.c */
    struct rp_rank_graph *rank_graph;   /* rank_graph.c; NULL before the first query */
    void *buffer;                       /* comm_buffer.c; NULL before it was asked for */
};

/** rp_comm_extra_create: for a communicator on `device`, whose reference it takes over. RP_ENOMEM.
 */
RP_MUST_USE rp_status rp_comm_extra_create(
        struct rp_device *device, const struct rp_algo_config *algo, struct rp_comm_extra **out);

/** rp_comm_extra_free: one that was never attached; the device's reference stays the caller's. */
void rp_comm_extra_free(struct rp_comm_extra *extra);

/** rp_comm_extra_attach: from now on calls find the communicator, and free `extra` with it. */
void rp_comm_extra_attach(struct rp_comm *comm, struct rp_comm_extra *extra);

/** rp_comm_extra_of: NULL before it was attached. */
static inline struct rp_comm_extra *rp_comm_extra_of(struct rp_comm *comm)
{
    // acquire [X1]: pairs with the store in rp_comm_extra_attach.
    struct rp_comm_attachment *attachment =
            atomic_load_explicit(&comm->attachment, memory_order_acquire);
    return attachment == NULL ? NULL
                              : rp_container_of(attachment, struct rp_comm_extra, attachment);
}

/**
 * rp_comm_call_begin: the communicator behind a user's handle, for one call of
 * `api`; HcclCommDestroy answers HCCL_E_AGAIN until rp_comm_call_end().
 *
 *   RP_ENULL   the handle is NULL
 *   RP_EPARAM  it is no communicator, or one that is being destroyed
 */
RP_MUST_USE rp_status rp_comm_call_begin(const char *api, const void *handle, struct rp_comm **out);

/** rp_comm_call_enter: the beginning of a public call with a pointer that must not be NULL:
 * rp_enter(), the pointer, whose argument is called `name`, then rp_comm_call_begin(). */
RP_MUST_USE rp_status rp_comm_call_enter(const char *api, const void *handle, const char *name,
        const void *pointer, struct rp_comm **out);
void rp_comm_call_end(struct rp_comm *comm);

#endif
