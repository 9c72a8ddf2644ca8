// One rank's part in taking a failed communicator into use again.

#include "transport/comm_resume.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "kernels/line_restart.h"

void rp_comm_suspend(struct rp_comm *comm, const char *sentence)
{
    // relaxed: published by `error`, or told a moment later to who finds that set already.
    atomic_store_explicit(&comm->suspended, true, memory_order_relaxed);
    rp_comm_fail(comm, RP_ESUSPEND, comm->rank, comm->lines.announced, sentence);
}

// Every submission that names the communicator has ended, and those that ended before their turn
// came have passed it.
static bool has_ended(const struct rp_comm *comm)
{
    // seq_cst [Q1]: pairs with the decrement when a submission has ended.
    return atomic_load_explicit(&comm->pending, memory_order_seq_cst) == 0 &&
           comm->turn.serving == comm->turn.next_ticket;
}

static bool is_gone(const struct rp_comm *comm, uint32_t q)
{
    const struct rp_peer *peer = &comm->lines.peer[q];
    // acquire, both [L5]: pair with rp_lines_leave and the liveness check.
    return atomic_load_explicit(&peer->gone, memory_order_acquire) != 0 ||
           atomic_load_explicit(&peer->block->status.left, memory_order_acquire) != 0;
}

// RP_OK when every peer has said what this rank has, or more.
static rp_status await_peers(const struct rp_comm *comm)
{
    rp_status st = RP_OK;
    for (uint32_t q = 0; q < comm->size; q++) {
        if (q == comm->rank || rp_lines_resume_word(&comm->lines, q) >= comm->resume) {
            continue;
        }
        st = RP_AGAIN;
        if (is_gone(comm, q)) {
            return rp_fail(RP_EREMOTE,
                    "HcclCommResume: rank %" PRIu32 " (process %" PRId64
                    ") of communicator %s has died or destroyed it; only a new communicator helps",
                    q, comm->member[q].pid, comm->name);
        }
    }
    return st;
}

static void say(struct rp_comm *comm)
{
    comm->resume++;
    rp_lines_resume_say(&comm->lines, comm->resume);
}

// Every member is clean.
static void use_again(struct rp_comm *comm, uint64_t base)
{
    rp_lines_restart(&comm->lines, base);
    for (uint32_t q = 0; q < comm->size; q++) {
        if (q != comm->rank) {
            rp_channel_shm_restart(comm->channel[q]);
        }
    }
    memset(comm->pairs, 0, comm->size * sizeof(*comm->pairs));
    comm->quiet = false;
    comm->checked_ns = 0;
    comm->remote_culprit = 0;
    // release, all [C3] [C4]: pair with the loads in rp_comm_status; what was cleaned is before.
    atomic_store_explicit(&comm->suspended, false, memory_order_release);
    atomic_store_explicit(&comm->remote, 0, memory_order_release);
    atomic_store_explicit(&comm->error, 0, memory_order_release);
    rp_log_info("communicator %s, rank %" PRIu32 ": in use again, from #1 of base %" PRIx64,
            comm->name, comm->rank, base);
}

rp_status rp_comm_resume_step(struct rp_comm *comm)
{
    const uint64_t base = comm->lines.base + RP_SEQ_BASE_UNIT; // the same everywhere
    rp_comm_check(comm, rp_now_ns());
    if (!comm->quiet) {
        if (!has_ended(comm)) {
            return RP_AGAIN;
        }
        comm->quiet = true;
        say(comm);
    }
    rp_status st = await_peers(comm);
    if (st == RP_OK && comm->resume % 2 != 0) {
        rp_lines_clean(&comm->lines, base);
        say(comm);
        st = await_peers(comm);
    }
    if (st == RP_OK) {
        use_again(comm, base);
    }
    return st;
}

bool rp_comm_resume_moved(void *arg)
{
    struct rp_comm *comm = arg;
    // The own word, where the peers read it: no peer of a communicator in use is behind that.
    const uint32_t own = rp_lines_resume_word(&comm->lines, comm->rank);
    // seq_cst [Q1]: as in has_ended.
    bool moved = atomic_load_explicit(&comm->pending, memory_order_seq_cst) == 0;
    for (uint32_t q = 0; q < comm->size; q++) {
        if (q == comm->rank) {
            continue;
        }
        if (is_gone(comm, q)) {
            return true;
        }
        moved = moved && rp_lines_resume_word(&comm->lines, q) >= own;
    }
    return moved;
}

void rp_comm_resume_missing(struct rp_comm *comm, char *text, size_t bytes)
{
    size_t used = 0;
    *text = '\0';
    for (uint32_t q = 0; q < comm->size && comm->quiet; q++) {
        if (q == comm->rank || rp_lines_resume_word(&comm->lines, q) >= comm->resume) {
            continue;
        }
        const int more = snprintf(text + used, bytes - used, "%s%" PRIu32, used == 0 ? "" : ",", q);
        if (more < 0 || (size_t)more >= bytes - used) {
            return; // cut
        }
        used += (size_t)more;
    }
}
