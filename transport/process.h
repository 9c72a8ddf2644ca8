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
 * Threads: any function from any thread. One mutex guards the table; nothing is
 * taken under it.
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

/** rp_process_self_id: this process's identity (made at first call, new after fork is never used).
 */
struct rp_process_id rp_process_self_id(void);

/** rp_process_self: the own entry; never freed. NULL, described, when it cannot be made. */
struct rp_process *rp_process_self(void);

/* What a peer sends through SCM_RIGHTS. The receiver owns the descriptors after the call. */
struct rp_process_fds {
    int page_fd;
    int event_fd;
    int pid_fd; /* -1: the kernel, or the container, refuses pidfd_open */
};

/** rp_process_self_fds: what this process sends. The descriptors stay its own. */
RP_MUST_USE rp_status rp_process_self_fds(struct rp_process_fds *fds);

/**
 * rp_process_ref_peer: find or add the process `id`. Maps the page and keeps
 * eventfd and pidfd on first meeting, closes duplicates otherwise. All
 * descriptors are consumed, also on failure; those of the own process may be -1.
 *
 * `pid` is for reports. Without a pidfd it also serves to notice the process's
 * end, if /proc shows that this pid, as seen from here, has mapped the page; if
 * it does not (another pid namespace, hidden /proc), the process counts as alive.
 *
 *   RP_EPARAM  a descriptor is not what it should be; the page must be sealed
 *   RP_ENOMEM, RP_ESYS  it could not be mapped
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
 * known already or the process is our own). The mapping lives as long as the
 * process entry. A device that was reset has a new arena, told from the old one
 * by its file; -1 then means the one met last.
 *
 *   RP_ENOMEM    it cannot be mapped (RLIMIT_AS): the communicator then goes
 *                without zero copy. Logged, not described
 *   RP_EPARAM    the file is not sealed against shrinking, or shorter than `bytes`
 *   RP_ENOTFOUND -1, and no arena of the device is known
 */
RP_MUST_USE rp_status rp_process_map_arena(struct rp_process *process, int32_t device_id,
        int arena_fd, uint64_t bytes, uint8_t **base);

/** rp_process_sweep: look, with one system call, which of all peers have ended since. */
void rp_process_sweep(void);

/** rp_process_died: whether it has ended, as far as rp_process_sweep has noticed. One load. Never
 * true of the own process; true for ever once it is. */
bool rp_process_died(const struct rp_process *process);

#endif
