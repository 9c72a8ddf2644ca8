#ifndef TESTS_SUPPORT_NODE_CASE_H
#define TESTS_SUPPORT_NODE_CASE_H

/*
 * A node's communicators without a bootstrap: the test is the switchboard that
 * passes each process's descriptors to all others. For tests of transport/.
 */

#include <stdbool.h>
#include <stdint.h>

#include "transport/arena.h"
#include "transport/comm.h"

#define NODE_PROCESSES_MAX 8
#define NODE_RANKS_MAX 16
#define NODE_BASE (3 * RP_SEQ_BASE_UNIT)

struct node_shape {
    uint32_t processes;
    uint32_t per_process; /* ranks: threads of one process, on devices 0, 1, ... */
    uint64_t window_bytes;
    bool no_pidfd; /* as in a container that refuses pidfd_open */
};

/** Runs as one rank; 0: all was well. What it writes goes to standard error. */
typedef int node_fn(struct rp_comm *comm, void *arg);

/**
 * node_run: fork the processes, let each make the communicators of its ranks,
 * and run `fn` for every rank; then wait for all. result[p] is as child_wait()
 * tells it; true when all are 0. Only before this process has used the library.
 */
bool node_run(const struct node_shape *shape, node_fn *fn, void *arg, unsigned timeout_s,
        int result[NODE_PROCESSES_MAX]);

/* The ranks of one communicator in this process alone. */
struct node_local {
    uint32_t ranks;
    struct rp_arena *arena[NODE_RANKS_MAX];
    struct rp_comm *comm[NODE_RANKS_MAX];
};

/** node_local_parts: what rank `rank` of `ranks` passes to rp_comm_create, on arenas 0 .. ranks - 1
 *  of this process; `segment` is referenced. Ends the program when memory is short. */
struct rp_comm_parts node_local_parts(struct rp_arena *const *arena, uint32_t rank, uint32_t ranks,
        const char *name, struct rp_segment *segment);

/** node_parts_free: what rp_comm_create did not take over. */
void node_parts_free(const struct rp_comm_parts *parts);

/** node_local_open: 16 MiB of memory a device, windows of `window_bytes`. Ends the program on
 *  failure. */
void node_local_open(struct node_local *local, uint32_t ranks, uint64_t window_bytes);
/** node_local_close: retire the communicators that are left and destroy the arenas. */
void node_local_close(struct node_local *local);

#endif
