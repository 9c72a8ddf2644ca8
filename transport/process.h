#ifndef REPRISE_TRANSPORT_PROCESS_H
#define REPRISE_TRANSPORT_PROCESS_H

/*
 * Processes of this node that this process shares memory with.
 *
 * Every process makes one random identity at first use. A peer process is met
 * once, through the node exchange of a communicator's bootstrap, and then
 * shared by all communicators: its process page (doorbell), eventfd, pidfd and
 * the mappings of its arenas. The own process is an entry like any other, so
 * ranks that are threads take the same path, on the same mapping.
 *
 * Lock: one mutex for the table (rank: below the communicator registry,
 * above nothing).
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/doorbell.h"
#include "base/status.h"

#define RP_PROCESS_ID_BYTES 16

struct rp_process_id {
    uint8_t bytes[RP_PROCESS_ID_BYTES];
};

/* A peer process, reference counted. */
struct rp_process;

/** rp_process_self_id: this process's identity (made at first call, new after fork is never used). */
struct rp_process_id rp_process_self_id(void);

/** rp_process_self: the own entry; never freed. */
struct rp_process *rp_process_self(void);

/* What a peer sends through SCM_RIGHTS. The receiver owns the descriptors after the call. */
struct rp_process_fds {
    int page_fd;
    int event_fd;
    int pid_fd;
};

/**
 * rp_process_ref_peer: find or add the process `id`. Maps the page and keeps
 * eventfd and pidfd on first meeting, closes duplicates otherwise. `pid` is for
 * reports. All descriptors are consumed, also on failure.
 */
RP_MUST_USE rp_status rp_process_ref_peer(const struct rp_process_id *id, int64_t pid,
        struct rp_process_fds fds, struct rp_process **out);
struct rp_process *rp_process_ref(struct rp_process *process);
void rp_process_unref(struct rp_process *process);

struct rp_doorbell_end *rp_process_bell(struct rp_process *process);
int64_t rp_process_pid(const struct rp_process *process);
bool rp_process_is_self(const struct rp_process *process);

/**
 * rp_process_map_arena: this process's mapping of device `device_id`'s arena of
 * `process`; made at first call from `arena_fd` (consumed; -1 allowed when it is
 * known already or the process is our own). RP_ENOMEM when it cannot be mapped
 * (RLIMIT_AS): the communicator then goes without zero copy. The mapping lives
 * as long as the process entry.
 */
RP_MUST_USE rp_status rp_process_map_arena(struct rp_process *process, int32_t device_id,
        int arena_fd, uint64_t bytes, uint8_t **base);

/** rp_process_died: whether its pidfd says it has ended. One poll(2); remembered once true. */
bool rp_process_died(struct rp_process *process);

#endif
