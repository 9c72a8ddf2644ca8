#ifndef REPRISE_CAPTURE_EXPAND_CACHE_H
#define REPRISE_CAPTURE_EXPAND_CACHE_H

/*
 * The expansion cache: a communicator's task lists by shape. Training calls the
 * same few shapes again and again; a program whose shapes never repeat must not
 * fill the memory, so a full cache drops what nobody can be using.
 *
 * A list lives as long as queued work may run it or a graph holds it, and at the
 * longest as long as the communicator.
 */

#include "base/status.h"
#include "capture/expand.h"

struct rp_comm;
struct rp_expand_cache;

/** rp_expand_cache_free: with all lists. NULL: nothing. */
void rp_expand_cache_free(struct rp_expand_cache *cache);

/**
 * rp_expand_cached: the lists of an operator of `request->count` elements a
 * block: `*list` for its full rounds, `*tail` for the last, shorter one, NULL if
 * there is none. The request's rank, size and window are the communicator's.
 *
 * The lists stay until the caller's rp_comm_call_end(), and after it as long as
 * a submission that was queued in between is pending. RP_EPARAM when not even
 * one element fits the windows, RP_ENOTSUP, RP_ENOMEM.
 *
 * Threads: any, between rp_comm_call_begin() and its end.
 */
RP_MUST_USE rp_status rp_expand_cached(struct rp_comm *comm,
        const struct rp_expand_request *request, const struct rp_task_list **list,
        const struct rp_task_list **tail);

/**
 * rp_expand_hold: a graph, or an update of one, has an op with these lists (NULL: none) of `comm`:
 * they stay until rp_expand_release. The caller's reference of the communicator covers both.
 */
void rp_expand_hold(
        struct rp_comm *comm, const struct rp_task_list *list, const struct rp_task_list *tail);
void rp_expand_release(
        struct rp_comm *comm, const struct rp_task_list *list, const struct rp_task_list *tail);

#endif
