#ifndef REPRISE_CAPTURE_EXPAND_CACHE_H
#define REPRISE_CAPTURE_EXPAND_CACHE_H

/*
 * The expansion cache: a communicator's task lists by shape, and its tables of
 * counts by content. Training calls the same few shapes again and again; a
 * program whose shapes never repeat must not fill the memory, so a full cache
 * drops what nobody can be using.
 *
 * A list or table lives as long as queued work may use it or a graph holds it,
 * and at the longest as long as the communicator.
 */

#include "base/status.h"
#include "capture/expand.h"

struct rp_comm;
struct rp_counts;
struct rp_expand_cache;
struct rp_op;

/** rp_expand_cache_free: with all lists and tables. NULL: nothing. */
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
 * rp_counts_cached: the cache's own copy of the table `counts`, which stays as lists do. RP_ENOMEM.
 */
RP_MUST_USE rp_status rp_counts_cached(
        struct rp_comm *comm, const struct rp_counts *counts, const struct rp_counts **out);

/**
 * rp_expand_hold: a graph, or an update of one, has `op`: its lists and its table, or its batch,
 * stay until rp_expand_release. The caller's reference of the communicator covers both.
 */
void rp_expand_hold(const struct rp_op *op);
void rp_expand_release(const struct rp_op *op);

#endif
