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
 *       status      left, revoked_from, error: written once, read when waiting;
 *                   and how far this rank is in starting anew
 *       stage       counters of the rounds of staged ops
 *       record[64]  ring of op records, op k in record[k % 64]
 *     slot[2]       payload of small ops: exchange k uses slot k % 2
 *     window in     staged ops and HOST_TS: written by the owner (AIV) or peers (puts)
 *     window out    results that peers store for the owner
 *     signal[N]     HOST_TS: signal[i] counts what the node's rank i has signalled to the owner
 *     pair[N]       point to point: what the owner says to the node's rank i alone
 *                   (kernels/pair.h)
 *
 * Counters are monotone 64-bit sequence numbers that start at a base unique to
 * the communicator. `arrived` = k: my inputs up to op k are ready and my
 * outputs up to op k may be written. `done` = k: my reads and writes of peers'
 * memory up to op k are finished. Both lines carry both; the larger holds.
 *
 * Rules (checked with Spin, tests/model/lines.pml):
 *  - line k % 2 and slot k % 2 are written for op k only when every peer's
 *    `done` covers op k - 2, their last user. Every op uses its line, also a
 *    zero-copy one: its digest stands there;
 *  - `done` is published before every wait, by every op, also a rooted one;
 *  - a zero-copy op is complete when every peer's `done` covers it;
 *  - a failure revokes every op announced and not complete (`revoked_from`),
 *    peers look before the first access, once a chunk and after the last;
 *  - a rank looks for revocations of an op only after it has announced it, so a
 *    peer that is seen not to have announced a revoked op will never touch its
 *    memory (rp_lines_released);
 *  - a death or a leave counts only after that rank's counters have been read
 *    once more.
 *
 * Orders. Payloads, slots, windows, records and arenas are plain memory:
 *  [L1] the store of `arrived` publishes a rank's inputs, its record and its
 *       word; the load that sees it may read them;
 *  [L2] the store of `done` ends a rank's reads; the load that sees it may
 *       overwrite what was read;
 *  [L3] `revoked_from` against `arrived`: store one, fence, load the other, on
 *       both sides; one of the two ranks sees the other;
 *  [L4] `error` publishes all that stands beside it;
 *  [L5] `left` and `gone` come after the rank's last counters;
 *  [L6] the stage counters, as [L1] and [L2] for window halves.
 * The counters' loads are seq_cst, which costs nothing on x86-64 and AArch64,
 * because a thread that is about to sleep looks with them once more (the
 * doorbell's rule, [D1] in base/doorbell.h).
 */

#include <stdatomic.h>
#include <stdbool.h>

#include "base/doorbell.h"
#include "base/status.h"
#include "kernels/pair.h"
#include "kernels/record.h"

#if defined(__SANITIZE_THREAD__)
#define RP_LINES_TSAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RP_LINES_TSAN
#endif
#endif

#define RP_LINE_PAYLOAD_BYTES 40
#define RP_RECORD_RING 64
#define RP_SLOT_BYTES (32u * 1024u)
#define RP_NO_RANK UINT32_MAX

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
    _Atomic uint32_t error;     /* acknowledged: -(rp_status); this rank touches no peer any more */
    _Atomic uint32_t culprit;   /* rank that caused it, or RP_NO_RANK */
    _Atomic uint32_t resume;    /* how far its HcclCommResume is: kernels/line_restart.h */
    _Atomic uint32_t uneven;    /* 1: two ranks' counts for each other differ, as the rest tells */
    _Atomic uint64_t error_seq; /* op at which it happened; 0: a send or receive */
    _Atomic uint32_t sender, expects; /* of the block in question */
    _Atomic uint64_t sent, expected;  /* its elements, by either */
};
static_assert(sizeof(struct rp_rank_status) == RP_CACHELINE, "one status, one cache line");

struct rp_stage_counters {
    _Alignas(RP_CACHELINE) _Atomic uint64_t arrived; /* rounds whose window-in is filled */
    _Atomic uint64_t done; /* rounds whose accesses to peers' windows are finished */
};
static_assert(sizeof(struct rp_stage_counters) == RP_CACHELINE, "one cache line");

struct rp_rank_block {
    struct rp_line line[2];
    struct rp_rank_status status;
    struct rp_stage_counters stage;
    struct rp_record record[RP_RECORD_RING];
};
static_assert(sizeof(struct rp_rank_block) == 256 + 64 * 64, "block layout is shared");
static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a lock would not cross processes");

struct rp_window_table;

/*
 * One rank of the communicator as this rank's process sees it. Filled by transport at init.
 *
 * Of a rank on another node there is a block, too: this process's own copy, which the channel to
 * that rank keeps up to date; no slots, no arena, no bell, and windows only its channel reaches.
 */
struct rp_peer {
    struct rp_rank_block *block;
    uint64_t seen_arrived; /* largest values read so far; only grow */
    uint64_t seen_done;
    uint8_t *slot[2];                /* RP_SLOT_BYTES each */
    _Atomic uint32_t gone;           /* set by transport's liveness check: the process has died */
    uint32_t index;                  /* its place in the signals and pairs of its node's ranks */
    uint8_t *window_in;              /* window_bytes */
    uint8_t *window_out;             /* window_bytes */
    _Atomic uint64_t *signal;        /* one counter per rank of its node, RP_CACHELINE apart */
    struct rp_pair *pair;            /* what it says to each rank of its node alone */
    struct rp_window_table *windows; /* what it has registered: transport/segment.h */
    uint8_t *arena;                  /* this process's mapping of the rank's arena; NULL: none */
    uint64_t arena_bytes;
    struct rp_doorbell_end *bell; /* of the rank's process */
};

/* One block of an all-to-all of which two ranks think differently. */
struct rp_uneven {
    uint64_t seq; /* of the op; 0: none was found */
    uint32_t sender;
    uint32_t expects;        /* rank */
    uint64_t sent, expected; /* elements */
};

/* One rank's end of the protocol. Used by one thread at a time (the device's baton). */
struct rp_lines {
    uint32_t rank;
    uint32_t size;
    struct rp_peer *peer;           /* [size], own entry included */
    struct rp_doorbell_end **bells; /* see rp_lines_add_bell */
    uint32_t bell_count;
    bool zero_copy;        /* every pair of ranks can map each other's arena */
    uint64_t window_bytes; /* of each rank's window-in and window-out */
    uint64_t base;         /* sequence number before the first op; a multiple of RP_SEQ_BASE_UNIT */
    uint64_t announced;    /* own `arrived` */
    uint64_t finished;     /* own `done`, perhaps not yet published */
    uint64_t published;    /* own `done` as peers can see it */
    uint64_t completed;    /* every op up to here is complete on this rank */
    uint64_t stage_round;  /* staged rounds this rank has finished */
    uint32_t culprit;      /* rank named by the last failure that a function here returned */
    struct rp_uneven
            uneven;    /* what rp_lines_uneven found, or a peer that was asked why it failed */
    bool ring_due;     /* a counter was stored, and sleepers were not looked for yet */
    const void **srcs; /* [size], scratch of the kernel that is being stepped */
    void **dsts;       /* [size], the same */
    uint8_t *copies;   /* [size] x RP_CACHELINE, the same */
    /* Called after every publication, under the baton: hands what is new to the ranks that are on
     * other nodes. NULL: there are none. */
    void (*publish)(struct rp_lines *lines);
};

/** rp_rank_block_init: counters at `base`, the rest 0. By the block's owner, before peers map it.
 */
void rp_rank_block_init(struct rp_rank_block *block, uint64_t base);

/**
 * rp_lines_init: the end of rank `rank` of `size`, with cleared entries in
 * `peer` and no bells; nothing is published. The caller then fills the shared
 * fields of each peer, zero_copy and window_bytes, and adds the bells. Every
 * block must have been initialised with the same `base`.
 *
 *   RP_ENOMEM  nothing was allocated
 */
RP_MUST_USE rp_status rp_lines_init(
        struct rp_lines *lines, uint32_t rank, uint32_t size, uint64_t base);

/** rp_lines_fini: free what rp_lines_init allocated. Publishes nothing. */
void rp_lines_fini(struct rp_lines *lines);

/**
 * rp_lines_add_bell: a bell to ring with every publication: that of each other
 * process with a member, and this process's own when it holds another member.
 * The same bell counts once. At most `size` bells. `bell` outlives `lines`.
 */
void rp_lines_add_bell(struct rp_lines *lines, struct rp_doorbell_end *bell);

/**
 * rp_lines_ready: RP_OK when op announced + 1 may be announced and its slot
 * filled; else what rp_lines_announce would answer.
 */
RP_MUST_USE rp_status rp_lines_ready(struct rp_lines *lines);

/**
 * rp_lines_announce: try to announce op announced + 1 with a copy of `record`
 * (in which seq is filled in, and the digest where it is 0) and up to
 * RP_LINE_PAYLOAD_BYTES of `payload` (NULL: none).
 *
 * RP_OK        announced, `done` published with it, peers' doorbells rung
 * RP_AGAIN     a peer's `done` does not yet cover the line's last use; nothing
 *              was written (but an unpublished `done` was)
 * else         as rp_lines_done: that peer will never get there
 */
RP_MUST_USE rp_status rp_lines_announce(struct rp_lines *lines, const struct rp_record *record,
        const void *payload, size_t payload_bytes);

/**
 * rp_lines_announce_quietly: rp_lines_announce() that rings nobody yet. The
 * caller calls rp_lines_settle() before it waits or returns, and before it
 * looks whether an op is revoked in whose course it touches a peer's arena.
 *
 * A seq_cst store has to own its cache line before the core goes on, and the
 * peers' cores have it: that was a sixth of a tiny exchange. A fence that comes
 * when the peers' lines have been read finds the store long done.
 */
RP_MUST_USE rp_status rp_lines_announce_quietly(struct rp_lines *lines,
        const struct rp_record *record, const void *payload, size_t payload_bytes);

/* Out of line: look at both lines, then for the reason why a wait will not end. */
RP_MUST_USE rp_status rp_lines_arrived_slow(struct rp_lines *lines, uint32_t q, uint64_t seq);
RP_MUST_USE rp_status rp_lines_done_slow(struct rp_lines *lines, uint32_t q, uint64_t seq);
RP_MUST_USE rp_status rp_lines_revoked(struct rp_lines *lines, uint32_t q, uint64_t seq);
RP_MUST_USE rp_status rp_lines_differ(
        struct rp_lines *lines, uint32_t q, uint64_t seq, uint64_t digest);

/**
 * rp_lines_uneven: in op `seq` rank `q` sends this one `sent` elements, where it
 * expects `expected`: RP_EMISMATCH with a sentence that names both. What is said
 * goes to the other ranks with rp_lines_fail().
 */
RP_MUST_USE rp_status rp_lines_uneven(
        struct rp_lines *lines, uint32_t q, uint64_t seq, uint64_t sent, uint64_t expected);

/**
 * rp_lines_describe_difference: "; rank 0 called ...; rank 2 called ..." of op
 * `seq`, which `q` found to differ from that of `culprit`; "; rank 2 sends 5
 * elements to rank 0, which expects 7" where that was it. "" where a ring of
 * records has gone on since.
 */
void rp_lines_describe_difference(struct rp_lines *lines, uint32_t q, uint32_t culprit,
        uint64_t seq, char *text, size_t bytes);
#define RP_DIFFERENCE_TEXT_BYTES (2 * RP_RECORD_TEXT_BYTES + 64)

/** rp_lines_describe_place: where a rank gave up: "op #17", "a send or receive" for 0. */
void rp_lines_describe_place(uint64_t seq, char *text, size_t bytes);
#define RP_PLACE_TEXT_BYTES 32

/**
 * rp_lines_lost: whether rank `q` has given up, left or died. What it told
 * before must then be looked at once more. If that does not help,
 * rp_lines_explain() tells why it will never come: as rp_lines_done(); the
 * sentence begins with `own`.
 */
bool rp_lines_lost(struct rp_lines *lines, uint32_t q);
RP_MUST_USE rp_status rp_lines_explain(struct rp_lines *lines, uint32_t q, const char *own);

/**
 * rp_lines_arrived, rp_lines_done: whether rank `q` has arrived at / is done
 * with op `seq`. RP_OK, RP_AGAIN, or the error that explains why it never will
 * (q died, left, or revoked it; the sentence names q, the op and the cause).
 * A failure that q published is returned as q's own cause; `lines->culprit` is
 * the rank behind it.
 */
RP_MUST_USE static inline rp_status rp_lines_arrived(
        struct rp_lines *lines, uint32_t q, uint64_t seq)
{
    struct rp_peer *peer = &lines->peer[q];
    if (peer->seen_arrived >= seq) {
        return RP_OK;
    }
    // seq_cst [L1] [D1]: pairs with the store in rp_lines_announce_quietly.
    const struct rp_line *line = &peer->block->line[seq % 2];
    const uint64_t arrived = atomic_load_explicit(&line->arrived, memory_order_seq_cst);
    if (RP_UNLIKELY(arrived < seq)) {
        return rp_lines_arrived_slow(lines, q, seq);
    }
    peer->seen_arrived = arrived;
    // seq_cst [L2]: pairs with the stores of `done` in line.c; the same cache line, so it is free.
    const uint64_t done = atomic_load_explicit(&line->done, memory_order_seq_cst);
    if (done > peer->seen_done) {
        peer->seen_done = done;
    }
    return RP_OK;
}

RP_MUST_USE static inline rp_status rp_lines_done(struct rp_lines *lines, uint32_t q, uint64_t seq)
{
    return RP_LIKELY(lines->peer[q].seen_done >= seq) ? RP_OK : rp_lines_done_slow(lines, q, seq);
}

/** rp_lines_all_arrived, rp_lines_all_done: the same over every peer. */
RP_MUST_USE rp_status rp_lines_all_arrived(struct rp_lines *lines, uint64_t seq);
RP_MUST_USE rp_status rp_lines_all_done(struct rp_lines *lines, uint64_t seq);

/**
 * rp_lines_stage_arrived / _done: the same for the round counters of staged
 * ops. A failure counts when it covers the op announced last.
 */
RP_MUST_USE rp_status rp_lines_stage_arrived(struct rp_lines *lines, uint32_t q, uint64_t round);
RP_MUST_USE rp_status rp_lines_stage_done(struct rp_lines *lines, uint32_t q, uint64_t round);

/** rp_lines_stage_fill, rp_lines_stage_finish: publish own arrived / done = `round` and ring. */
void rp_lines_stage_fill(struct rp_lines *lines, uint64_t round);
void rp_lines_stage_finish(struct rp_lines *lines, uint64_t round);

/* What stands before the look at `revoked_from` that ends an access: the access's own loads must
 * not be satisfied after it. x86-64 keeps loads in order, so only the compiler must be told. */
static inline void rp_lines_order_loads(void)
{
    atomic_signal_fence(memory_order_acquire);
#if defined(__aarch64__)
    __asm__ volatile("dmb ishld" ::: "memory");
#elif !defined(__x86_64__)
    atomic_thread_fence(memory_order_acquire);
#endif
}

/** rp_lines_check_one: RP_OK while rank `q` has not revoked op `seq`; else the error. */
RP_MUST_USE static inline rp_status rp_lines_check_one(
        struct rp_lines *lines, uint32_t q, uint64_t seq)
{
    // seq_cst [L3]: pairs with the store in rp_lines_fail.
    const uint64_t revoked_from =
            atomic_load_explicit(&lines->peer[q].block->status.revoked_from, memory_order_seq_cst);
    // 0 is no op at all; less one it is larger than any.
    return RP_LIKELY(revoked_from - 1 >= seq) ? RP_OK : rp_lines_revoked(lines, q, seq);
}

/**
 * rp_lines_check: RP_OK while no peer has revoked op `seq`; else the error.
 * One load a peer. Called before the first access, once a chunk, after the last.
 */
RP_MUST_USE static inline rp_status rp_lines_check(struct rp_lines *lines, uint64_t seq)
{
    rp_lines_order_loads();
    for (uint32_t q = 0; q < lines->size; q++) {
        if (q == lines->rank) {
            continue;
        }
        const rp_status st = rp_lines_check_one(lines, q, seq);
        if (RP_UNLIKELY(st != RP_OK)) {
            return st;
        }
    }
    return RP_OK;
}

/**
 * rp_lines_match: RP_OK when the digest that `q` announced for `seq` equals
 * `digest`; RP_EMISMATCH with both calls named otherwise. Only after
 * rp_lines_arrived(lines, q, seq) was RP_OK and before this rank's `done` covers seq.
 */
RP_MUST_USE static inline rp_status rp_lines_match(
        struct rp_lines *lines, uint32_t q, uint64_t seq, uint64_t digest)
{
    // relaxed: [L1] has ordered it; q writes it again only when our `done` covers seq.
    const uint64_t word =
            atomic_load_explicit(&lines->peer[q].block->line[seq % 2].word, memory_order_relaxed);
    return RP_LIKELY(word == digest) ? RP_OK : rp_lines_differ(lines, q, seq, digest);
}

/** rp_lines_record: copy of q's record of op `seq`; same conditions as rp_lines_match. */
struct rp_record rp_lines_record(const struct rp_lines *lines, uint32_t q, uint64_t seq);

/** rp_lines_finish: own reads and writes of op `seq` are over; published by the next flush. */
static inline void rp_lines_finish(struct rp_lines *lines, uint64_t seq)
{
    lines->finished = seq;
}

/**
 * rp_lines_flush: publish `done` if it is ahead of what peers see, and settle.
 * Before every wait. rp_lines_flush_quietly leaves settling to the caller.
 */
void rp_lines_flush(struct rp_lines *lines);
void rp_lines_flush_quietly(struct rp_lines *lines);

/**
 * rp_lines_complete: op `seq` is complete on this rank. Ops may complete out of
 * order; `completed` advances when no earlier one is open.
 */
void rp_lines_complete(struct rp_lines *lines, uint64_t seq);

/** rp_lines_ring: ring every process that sleeps (after a store of any shared word). */
static inline void rp_lines_ring(struct rp_lines *lines)
{
    for (uint32_t i = 0; i < lines->bell_count; i++) {
        rp_doorbell_ring(lines->bells[i]);
    }
    if (RP_UNLIKELY(lines->publish != NULL)) {
        lines->publish(lines);
    }
}

/* A full fence. TSan knows none, and needs none: it sees no more than happens-before. What stands
 * in for it there is local, so that it orders no two threads. */
static inline void rp_lines_fence(void)
{
#if defined(RP_LINES_TSAN)
    _Atomic int local = 0;
    atomic_fetch_add_explicit(&local, 1, memory_order_seq_cst);
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

/** rp_lines_settle: ring for the counters that were stored quietly. */
static inline void rp_lines_settle(struct rp_lines *lines)
{
    if (lines->ring_due) {
        // seq_cst [L3] [D1]: between our counters and the looks at the peers' `sleeping` and
        // `revoked_from`.
        rp_lines_fence();
        lines->ring_due = false;
        rp_lines_ring(lines);
    }
}

/**
 * rp_lines_fail: this rank gives up at op `seq` (0: at a send or receive): revoke every op
 * announced and not complete, publish cause and culprit (RP_NO_RANK: unknown), ring. After it this
 * rank makes no access to a peer's memory. Idempotent: the first cause stays.
 */
void rp_lines_fail(struct rp_lines *lines, rp_status cause, uint32_t culprit, uint64_t seq);

/**
 * rp_lines_released: after rp_lines_fail, whether no peer can touch this rank's
 * memory any more: each peer is done with every revoked op that it has
 * announced, has acknowledged (its own error is published), or is dead.
 */
bool rp_lines_released(struct rp_lines *lines);

/** rp_lines_leave: publish `left` and ring. The block must stay mapped by peers, not by us. */
void rp_lines_leave(struct rp_lines *lines);

/**
 * rp_lines_waiting_for: writes "arrived: 0-3,5; missing: 4 (last done #16)" for
 * op `seq` into `text`, or "arrived: 0-3; missing: none; not done: 2" once all
 * have come; for timeout reports. Names no rank it has not looked at. Returns the
 * lowest missing rank, or the only peer that is not done, or RP_NO_RANK.
 */
uint32_t rp_lines_waiting_for(struct rp_lines *lines, uint64_t seq, char *text, size_t bytes);

#endif
