#ifndef REPRISE_CAPTURE_GRAPH_INFO_H
#define REPRISE_CAPTURE_GRAPH_INFO_H

/*
 * What a program attaches to a graph: its name, destroy callbacks, and infos of
 * single tasks. None of it is needed to run. Name and callbacks are each graph's
 * own; sub-graphs' infos lie with their root, which outlives them.
 *
 * Threads: every call may be made by any thread while the graph lives.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "capture/graph.h"

#define RP_GRAPH_NAME_MAX 512                   /* bytes, without the NUL */
#define RP_TASK_OP_INFO_MAX ((size_t)64 * 1024) /* bytes of one task */
#define RP_TASK_EXTEND_INFO_MAX ((size_t)4 * 1024)

enum rp_task_info_kind {
    RP_TASK_OP_INFO = 0, /* aclrtCacheLastTaskOpInfo: bytes */
    RP_TASK_EXTEND_INFO, /* aclrtCacheLastTaskExtendInfo: text */
    RP_TASK_INFO_KINDS,
};

/** rp_graph_set_name: the last call wins. RP_ENOMEM: the name is what it was. */
RP_MUST_USE rp_status rp_graph_set_name(struct rp_graph *graph, const char *name);

/** rp_graph_get_name: copies the name ("" if there is none) and a NUL to `out` if `room` bytes hold
 * both; returns the name's length in any case. */
size_t rp_graph_get_name(struct rp_graph *graph, char *out, size_t room);

/** rp_graph_add_callback: `fn(arg)` when the root `graph` is destroyed. RP_EPARAM: `fn` is
 * registered already. */
RP_MUST_USE rp_status rp_graph_add_callback(struct rp_graph *graph, void (*fn)(void *), void *arg);

/** rp_graph_remove_callback: RP_EPARAM: `fn` is not registered. */
RP_MUST_USE rp_status rp_graph_remove_callback(struct rp_graph *graph, void (*fn)(void *));

/** rp_task_set_info: keeps a copy of `bytes` bytes for node `node` of `graph`, in place of what was
 * kept before. */
RP_MUST_USE rp_status rp_task_set_info(struct rp_graph *graph, uint32_t node,
        enum rp_task_info_kind kind, const void *data, size_t bytes);

/** rp_task_info: what is kept for a node, NULL (and 0 bytes) if nothing. Extend infos end with a
 * NUL that `bytes` does not count. Valid until the next rp_task_set_info or rp_task_drop_info of
 * the node, or the graph's end. */
const void *rp_task_info(
        struct rp_graph *graph, uint32_t node, enum rp_task_info_kind kind, size_t *bytes);

/** rp_task_drop_info: forgets all infos of a node, whose task has become another one. */
void rp_task_drop_info(struct rp_graph *graph, uint32_t node);

/** rp_graph_info_free: runs the destroy callbacks in the order of their registration, then frees
 * all. Called without locks, once nobody finds the graph any more. NULL: nothing. */
void rp_graph_info_free(struct rp_graph_info *info);

#endif
