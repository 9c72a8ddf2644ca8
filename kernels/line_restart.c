// Starting the lines anew: what a rank cleans, and what it forgets.

#include "kernels/line_restart.h"

#include <string.h>

#define SIGNAL_STRIDE (RP_CACHELINE / sizeof(uint64_t)) // counters, a line apart

void rp_lines_resume_say(struct rp_lines *lines, uint32_t word)
{
    // seq_cst [R1] [D1]: pairs with rp_lines_resume_word, and stands before the look at `sleeping`.
    atomic_store_explicit(
            &lines->peer[lines->rank].block->status.resume, word, memory_order_seq_cst);
    rp_lines_ring(lines);
}

// relaxed, all stores below: nobody reads these words before this rank's next word of `resume`
// [R1].
static void clean_block(struct rp_rank_block *block, uint64_t base)
{
    for (unsigned i = 0; i < 2; i++) {
        struct rp_line *line = &block->line[i];
        atomic_store_explicit(&line->arrived, base, memory_order_relaxed);
        atomic_store_explicit(&line->done, base, memory_order_relaxed);
        atomic_store_explicit(&line->word, 0, memory_order_relaxed);
        memset(line->payload, 0, sizeof(line->payload));
    }
    // `left` is not among them: who has left resumes nothing.
    atomic_store_explicit(&block->status.revoked_from, 0, memory_order_relaxed);
    atomic_store_explicit(&block->status.error, 0, memory_order_relaxed);
    atomic_store_explicit(&block->status.culprit, 0, memory_order_relaxed);
    atomic_store_explicit(&block->status.error_seq, 0, memory_order_relaxed);
    atomic_store_explicit(&block->status.uneven, 0, memory_order_relaxed);
    atomic_store_explicit(&block->stage.arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&block->stage.done, 0, memory_order_relaxed);
    memset(block->record, 0, sizeof(block->record));
}

static void clean_pair(struct rp_pair *pair)
{
    atomic_store_explicit(&pair->sends, 0, memory_order_relaxed);
    atomic_store_explicit(&pair->recvs, 0, memory_order_relaxed);
    atomic_store_explicit(&pair->put, 0, memory_order_relaxed);
    atomic_store_explicit(&pair->taken, 0, memory_order_relaxed);
    memset(pair->send, 0, sizeof(pair->send));
    memset(pair->recv, 0, sizeof(pair->recv));
}

void rp_lines_clean(struct rp_lines *lines, uint64_t base)
{
    struct rp_peer *own = &lines->peer[lines->rank];
    clean_block(own->block, base);
    for (uint32_t q = 0; q < lines->size; q++) {
        atomic_store_explicit(&own->signal[q * SIGNAL_STRIDE], 0, memory_order_relaxed);
        clean_pair(&own->pair[q]);
    }
}

void rp_lines_restart(struct rp_lines *lines, uint64_t base)
{
    lines->base = base;
    lines->announced = base;
    lines->finished = base;
    lines->published = base;
    lines->completed = base;
    lines->stage_round = 0;
    lines->culprit = RP_NO_RANK;
    lines->uneven = (struct rp_uneven){ .seq = 0 };
    lines->ring_due = false;
    for (uint32_t q = 0; q < lines->size; q++) {
        lines->peer[q].seen_arrived = base;
        lines->peer[q].seen_done = base;
    }
}
