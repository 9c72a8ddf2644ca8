#ifndef REPRISE_KERNELS_LINE_H
#define REPRISE_KERNELS_LINE_H

/*
 * Lines: how the ranks of one node tell each other where they are.
 *
 * Every communicator has one control segment in shared memory, and in it a
 * block per rank that only this rank writes (window-out apart):
 *
 *     struct rp_rank_block
 *       line[2]     arrived, done, word, payload: exchange k uses line k % 2
 *       status      left, revoked_from, error: written once, read when waiting
 *       stage       counters of the rounds of staged ops
 *       record[64]  ring of op records, op k in record[k % 64]
 *     slot[2]       payload of small ops: exchange k uses slot k % 2
 *     window in     staged ops and HOST_TS: written by the owner (AIV) or peers (puts)
 *     window out    results that peers store for the owner
 *     signal[N]     HOST_TS: signal[q] counts what rank q has signalled to the owner
 *
 * Counters are monotone 64-bit sequence numbers that start at a base unique to
 * the communicator. `arrived` = k: my inputs up to op k are ready and my
 * outputs up to op k may be written. `done` = k: my reads and writes of peers'
 * memory up to op k are finished. Both lines carry both; the larger holds.
 *
 * Rules (checked with Spin, tests/model/lines.pml):
 *  - line k % 2 and slot k % 2 are written for op k only when every peer's
 *    `done` covers op k - 2, their last user;
 *  - `done` is published before every wait, by every op, also a rooted one;
 *  - a zero-copy op is complete when every peer's `done` covers it;
 *  - a failure revokes every op announced and not complete (`revoked_from`),
 *    peers look before the first access, once a chunk and after the last;
 *  - a death or a leave counts only after that rank's counters have been read
 *    once more.
 */

#include <stdatomic.h>
#include <stdbool.h>

#include "base/doorbell.h"
#include "base/status.h"
#include "kernels/record.h"

#define RP_LINE_PAYLOAD_BYTES 40
#define RP_RECORD_RING 64
#define RP_SLOT_BYTES (32u * 1024u)

struct rp_line {
    _Alignas(RP_CACHELINE) _Atomic uint64_t arrived;
    _Atomic uint64_t done;
    _Atomic uint64_t word; /* digest of the op announced in this line */
    uint8_t payload[RP_LINE_PAYLOAD_BYTES];
};
static_assert(sizeof(struct rp_line) == RP_CACHELINE, "one line, one cache line");

struct rp_rank_status {
    _Alignas(RP_CACHELINE) _Atomic uint64_t revoked_from; /* first revoked op; 0: none */
    _Atomic uint32_t left;                                /* 1: HcclCommDestroy was called */
    _Atomic uint32_t error;   /* acknowledged: -(rp_status); this rank touches no peer any more */
    _Atomic uint32_t culprit; /* rank that caused it, or UINT32_MAX */
    _Atomic uint32_t reserved;
    _Atomic uint64_t error_seq; /* op at which it happened */
};
static_assert(sizeof(struct rp_rank_status) == RP_CACHELINE, "one status, one cache line");

struct rp_stage_counters {
    _Alignas(RP_CACHELINE) _Atomic uint64_t arrived; /* rounds whose window-in is filled */
    _Atomic uint64_t done;                           /* rounds whose reads are finished */
};
static_assert(sizeof(struct rp_stage_counters) == RP_CACHELINE, "one cache line");

struct rp_rank_block {
    struct rp_line line[2];
    struct rp_rank_status status;
    struct rp_stage_counters stage;
    struct rp_record record[RP_RECORD_RING];
};
static_assert(sizeof(struct rp_rank_block) == 256 + 64 * 64, "block layout is shared");

/* One rank of the communicator as this rank's process sees it. Filled by transport at init. */
struct rp_peer {
    struct rp_rank_block *block;
    uint8_t *slot[2];           /* RP_SLOT_BYTES each */
    uint8_t *window_in;         /* window_bytes */
    uint8_t *window_out;        /* window_bytes */
    _Atomic uint64_t *signal;   /* one counter per rank, RP_CACHELINE apart */
    uint8_t *arena;             /* this process's mapping of the rank's arena; NULL: none */
    uint64_t arena_bytes;
    struct rp_doorbell_end *bell; /* of the rank's process */
    _Atomic uint32_t gone;      /* set by transport's liveness check: the process has died */
    uint64_t seen_arrived;      /* largest values read so far; only grow */
    uint64_t seen_done;
};

/* One rank's end of the protocol. Used by one thread at a time (the device's baton). */
struct rp_lines {
    uint32_t rank;
    uint32_t size;
    struct rp_peer *peer; /* [size], own entry included */
    struct rp_doorbell_end **bells; /* one per peer process other than this one */
    uint32_t bell_count;
    bool zero_copy;        /* every pair of ranks can map each other's arena */
    uint64_t window_bytes; /* of each rank's window-in and window-out */
    uint64_t base;         /* sequence number before the first op */
    uint64_t announced;    /* own `arrived` */
    uint64_t finished;     /* own `done`, perhaps not yet published */
    uint64_t published;    /* own `done` as peers can see it */
    uint64_t completed;    /* every op up to here is complete on this rank */
    uint64_t stage_round;  /* staged rounds this rank has finished */
};

/**
 * rp_lines_announce: try to announce op announced + 1 with `record` (seq and
 * digest are filled in) and up to RP_LINE_PAYLOAD_BYTES of `payload` (NULL: none).
 *
 * RP_OK        announced, `done` published with it, peers' doorbells rung
 * RP_AGAIN     a peer's `done` does not yet cover the line's last use; nothing
 *              was written (but an unpublished `done` was)
 * RP_EREMOTE…  as rp_lines_wait_*: that peer will never get there
 */
RP_MUST_USE rp_status rp_lines_announce(struct rp_lines *lines, const struct rp_record *record,
        const void *payload, size_t payload_bytes);

/**
 * rp_lines_arrived, rp_lines_done: whether rank `q` has arrived at / is done
 * with op `seq`. RP_OK, RP_AGAIN, or the error that explains why it never will
 * (q died, left, or revoked it; the sentence names q, the op and the cause).
 */
RP_MUST_USE rp_status rp_lines_arrived(struct rp_lines *lines, uint32_t q, uint64_t seq);
RP_MUST_USE rp_status rp_lines_done(struct rp_lines *lines, uint32_t q, uint64_t seq);

/** rp_lines_all_arrived, rp_lines_all_done: the same over every peer. */
RP_MUST_USE rp_status rp_lines_all_arrived(struct rp_lines *lines, uint64_t seq);
RP_MUST_USE rp_status rp_lines_all_done(struct rp_lines *lines, uint64_t seq);

/** rp_lines_stage_arrived / _done: the same for the round counters of staged ops. */
RP_MUST_USE rp_status rp_lines_stage_arrived(struct rp_lines *lines, uint32_t q, uint64_t round);
RP_MUST_USE rp_status rp_lines_stage_done(struct rp_lines *lines, uint32_t q, uint64_t round);

/**
 * rp_lines_check: RP_OK while no peer has revoked op `seq`; else the error.
 * One load a peer. Called before the first access, once a chunk, after the last.
 */
RP_MUST_USE rp_status rp_lines_check(struct rp_lines *lines, uint64_t seq);

/**
 * rp_lines_match: RP_OK when the digest that `q` announced for `seq` equals
 * `digest`; RP_EMISMATCH with both calls named otherwise. Only after
 * rp_lines_arrived(lines, q, seq) was RP_OK and before this rank's `done` covers seq.
 */
RP_MUST_USE rp_status rp_lines_match(
        struct rp_lines *lines, uint32_t q, uint64_t seq, uint64_t digest);

/** rp_lines_record: copy of q's record of op `seq`; same conditions as rp_lines_match. */
struct rp_record rp_lines_record(const struct rp_lines *lines, uint32_t q, uint64_t seq);

/** rp_lines_finish: own reads and writes of op `seq` are over; published by the next flush. */
void rp_lines_finish(struct rp_lines *lines, uint64_t seq);

/** rp_lines_flush: publish `done` if it is ahead of what peers see. Before every wait. */
void rp_lines_flush(struct rp_lines *lines);

/** rp_lines_ring: ring every peer process that sleeps (after a store of any shared word). */
void rp_lines_ring(struct rp_lines *lines);

/**
 * rp_lines_fail: this rank gives up at op `seq`: revoke every op announced and
 * not complete, publish cause and culprit (UINT32_MAX: unknown), ring. After it
 * this rank makes no access to a peer's memory. Idempotent: the first cause stays.
 */
void rp_lines_fail(struct rp_lines *lines, rp_status cause, uint32_t culprit, uint64_t seq);

/**
 * rp_lines_released: after rp_lines_fail, whether no peer can touch this rank's
 * memory any more: each peer is done with every revoked op, has acknowledged
 * (its own error is published), has not announced any of them, or is dead.
 */
bool rp_lines_released(struct rp_lines *lines);

/** rp_lines_leave: publish `left` and ring. The block must stay mapped by peers, not by us. */
void rp_lines_leave(struct rp_lines *lines);

/**
 * rp_lines_waiting_for: writes "arrived: 0-3,5; missing: 4 (last done #16)" for
 * op `seq` into `text`; for timeout reports. Names no rank it has not looked at.
 * Returns the lowest missing rank or UINT32_MAX.
 */
uint32_t rp_lines_waiting_for(
        struct rp_lines *lines, uint64_t seq, char *text, size_t bytes);

#endif
