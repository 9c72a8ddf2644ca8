#ifndef TESTS_SUPPORT_FAKE_COMM_H
#define TESTS_SUPPORT_FAKE_COMM_H

/*
 * A communicator of kernels/ alone: blocks, slots, windows, signals and arenas
 * of all ranks in one shared anonymous mapping, without transport. Ranks are
 * threads of the test or processes forked from it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "kernels/aiv.h"
#include "kernels/line.h"

#define FAKE_RANKS_MAX 16
#define FAKE_BASE (7 * RP_SEQ_BASE_UNIT) /* any multiple of the unit */

struct fake_comm {
    uint32_t ranks;
    uint64_t arena_bytes;
    uint64_t window_bytes;
    uint8_t *shared; /* the mapping */
    size_t shared_bytes;
    struct rp_doorbell_end bell[FAKE_RANKS_MAX]; /* one a rank, as if each were a process */
    struct rp_lines lines[FAKE_RANKS_MAX];
    const struct rp_reduce_impl *reduce;
    struct rp_aiv_tuning tuning;
    uint64_t budget_bytes; /* of each step of fake_comm_call */
};

/** fake_comm_create: zero copy is possible, default tuning. Ends the test program on failure. */
struct fake_comm *fake_comm_create(uint32_t ranks, uint64_t arena_bytes, uint64_t window_bytes);
void fake_comm_destroy(struct fake_comm *comm);

static inline uint8_t *fake_comm_arena(const struct fake_comm *comm, uint32_t rank)
{
    return comm->lines[rank].peer[rank].arena;
}

enum fake_mode {
    FAKE_THREADS,
    FAKE_PROCESSES,
};

/** Runs as rank `rank`; returns whether all was well. What it writes goes to standard error. */
typedef bool fake_rank_fn(struct fake_comm *comm, uint32_t rank, void *arg);

/**
 * fake_comm_run: `fn` once for every rank, at the same time. True when every
 * rank said so, and within `timeout_s`; a process that takes longer is killed,
 * a thread ends the test program.
 */
bool fake_comm_run(struct fake_comm *comm, enum fake_mode mode, unsigned timeout_s,
        fake_rank_fn *fn, void *arg);

/** One call of a collective on one rank. */
struct fake_call {
    struct rp_record record; /* op, dtype, reduce, count, root; the rest is filled in */
    const void *send;
    void *recv;
    bool staged; /* the buffers are not in the arena */
};

/** fake_call_record: the record of `call` on `rank`, offsets and class included. */
struct rp_record fake_call_record(
        const struct fake_comm *comm, uint32_t rank, const struct fake_call *call);

/** fake_comm_finish: step `op` until it is over and complete, or fails, at most `timeout_s`. */
rp_status fake_comm_finish(struct rp_aiv_op *op, uint64_t budget_bytes, unsigned timeout_s);

/** fake_comm_call: begin `call` and finish it. */
rp_status fake_comm_call(struct fake_comm *comm, uint32_t rank, const struct fake_call *call);

/** fake_pause: give the core away; for loops that wait for another rank. */
void fake_pause(void);

#endif
