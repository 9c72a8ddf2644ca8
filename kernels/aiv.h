#ifndef REPRISE_KERNELS_AIV_H
#define REPRISE_KERNELS_AIV_H

/*
 * AIV: one fused kernel per collective and rank. The algorithm is inside the
 * kernel; a kernel is a resumable state machine that never blocks and does a
 * bounded amount of work per step.
 *
 * Forms, chosen by bytes and ranks alone (so all ranks agree):
 *   tiny    the payload rides in the line (up to RP_LINE_PAYLOAD_BYTES)
 *   small   it is copied to a slot; every rank folds all slots itself
 *   large   zero copy: all-reduce: rank r folds slice r of all inputs and stores
 *           it into all outputs, for reduce into the root's; reduce-scatter folds
 *           its block of all inputs; the others pull from the peers' buffers
 *   staged  some rank's buffers are not contiguous: rounds through the windows
 *
 * An operator with a table (kernels/counts.h) does what the one without does. An
 * all-to-all with rows has no bytes that all ranks know, and is large always. A
 * rank's row goes to its slot, and whoever reads from it finds there how much
 * and where; a reader that expects another count fails the op before a byte is
 * written. Such an op is complete, in every form, when all ranks are done with
 * it: so that one which fails on two ranks succeeds on none.
 *
 * Every reduction is the left fold in rank order; 16-bit floats accumulate in
 * FP32 and round once. All forms therefore give the same bits.
 */

#include "kernels/counts.h"
#include "kernels/line.h"
#include "kernels/reduce.h"

/* The staged form uses at most this much of each window. */
#define RP_AIV_WINDOW_BYTES (256u * 1024u)

/* A rank's row of an all-to-all as it stands in its slot. */
struct rp_row_cell {
    uint64_t count; /* elements for one rank */
    uint64_t place; /* and where in the input they are */
};
struct rp_row_slot {
    uint64_t most; /* elements of the rank's largest block, in or out */
    uint64_t reserved;
    struct rp_row_cell to[]; /* [ranks] */
};

/* Between more ranks an all-to-all with rows has no kernel. */
#define RP_ROW_RANKS_MAX ((RP_SLOT_BYTES - sizeof(struct rp_row_slot)) / sizeof(struct rp_row_cell))

/* Crossovers in bytes of the exchanged payload per rank; equal on all ranks (agreed at init). */
struct rp_aiv_tuning {
    uint32_t tiny_bytes;  /* at most RP_LINE_PAYLOAD_BYTES */
    uint32_t small_bytes; /* at most RP_SLOT_BYTES */
};

/* The state of one collective on one rank. Plain data: it lives in a lane and may be reset at will.
 */
struct rp_aiv_op {
    struct rp_lines *lines;
    const struct rp_reduce_impl *reduce;
    struct rp_record record; /* own; digest and seq filled in */
    const uint8_t *send;     /* own buffers, this process's addresses */
    uint8_t *recv;
    const struct rp_counts *counts; /* NULL: all blocks have block_bytes */
    uint64_t seq;                   /* 0 before it is announced */
    uint64_t block_bytes;           /* count elements; of the largest block, of all ranks' rows */
    uint64_t offset;                /* bytes of the current piece of work that are finished */
    uint64_t filled;                /* staged: rounds whose window-in this rank has filled */
    uint64_t folded;                /* staged: rounds whose windows-in this rank has read */
    uint64_t round;                 /* staged: rounds finished within this op */
    uint32_t peer;                  /* next rank to look at in the current phase */
    uint8_t form;                   /* enum rp_aiv_form in aiv_forms.h */
    uint8_t phase;                  /* enum in aiv.c */
    uint8_t reserved[2];
};

/**
 * rp_aiv_begin: reset `op` for one run of the collective described by `record`.
 * `send` and `recv` are this rank's buffers (equal for in-place calls; for
 * broadcast both are the buffer). Nothing is announced yet.
 *
 * Buffers that overlap other than exactly in place (AllReduce: send == recv;
 * ReduceScatter, Scatter: recv a whole block of send; AllGather: send a whole
 * block of recv; AlltoAll: never) are the caller's error: no memory but recv's
 * is written, and what is written there is unspecified. A rank other than the
 * root may give any `send` to a scatter and any `recv` to a reduce.
 */
void rp_aiv_begin(struct rp_aiv_op *op, struct rp_lines *lines, const struct rp_reduce_impl *reduce,
        const struct rp_aiv_tuning *tuning, const struct rp_record *record, const void *send,
        void *recv);

/** rp_aiv_set_counts: after rp_aiv_begin() of an operator with a table; it outlives the run. */
static inline void rp_aiv_set_counts(struct rp_aiv_op *op, const struct rp_counts *counts)
{
    op->counts = counts;
}

/**
 * rp_aiv_step: run until something must be waited for, or about `budget_bytes`
 * have been read or written, or this rank's part is over.
 *
 * RP_OK     this rank's reads and writes are finished and `done` is marked
 *           (rp_lines_finish); the caller may pass the turn. `done` is published
 *           with the next announcement, or by rp_lines_flush, which must come
 *           before this thread waits for anything; rp_aiv_complete follows
 * RP_AGAIN  waiting (`done` is published) or out of budget; *progress (never
 *           NULL) tells whether anything moved
 * else      the failure; the caller calls rp_lines_fail with lines->culprit
 */
RP_MUST_USE rp_status rp_aiv_step(struct rp_aiv_op *op, uint64_t budget_bytes, bool *progress);

/**
 * rp_aiv_complete: after rp_aiv_step returned RP_OK: RP_OK once the op is
 * complete (its buffers may be reused and its result used), RP_AGAIN while a
 * peer may still touch them (zero copy), or the failure.
 */
RP_MUST_USE rp_status rp_aiv_complete(struct rp_aiv_op *op);

#endif
