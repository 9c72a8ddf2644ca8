#ifndef REPRISE_KERNELS_LINE_RESTART_H
#define REPRISE_KERNELS_LINE_RESTART_H

/*
 * Starting a failed communicator's lines anew at another base, without losing
 * anything that is mapped. Every member takes part; `resume` in a rank's status
 * says how far it is. It only grows, by two a restart:
 *
 *     2e - 2   in use (0 at first)
 *     2e - 1   quiet: this rank's ops have all ended, and until it starts anew it
 *              looks at no counter, record, slot or window of a peer
 *     2e       clean: its own block, signals and pairs stand at the new base
 *
 * A rank cleans what it owns only when every member is quiet: until then a peer may
 * still read the old counters, write a window or add to a signal. It forgets what
 * it has seen of the peers (seen_arrived, seen_done, the signals it has taken) and
 * goes into use only when every member is clean: what it reads from then on are the
 * new values, and what it announces no peer can take for an old op, nor wipe out.
 * No rank can be two steps ahead of another, so a larger word is as good as the
 * awaited one. A rank whose call gives up in between keeps the word that it has
 * said, and its promise; its next call goes on from there.
 *
 * Checked with Spin: tests/model/resume.pml. Orders:
 *  [R1] the store of a word publishes what was done before it: 2e - 1 a rank's last
 *       accesses to peers' memory, 2e its cleaned block. The load that sees it may
 *       clean, or use, what it is about.
 */

#include "kernels/line.h"

/** rp_lines_resume_say: publish this rank's word, and ring. Baton. */
void rp_lines_resume_say(struct rp_lines *lines, uint32_t word);

/** rp_lines_resume_word: the word of rank `q`. Any thread. */
static inline uint32_t rp_lines_resume_word(const struct rp_lines *lines, uint32_t q)
{
    // seq_cst [R1] [D1]: pairs with the store in rp_lines_resume_say; a sleeper's second look.
    return atomic_load_explicit(&lines->peer[q].block->status.resume, memory_order_seq_cst);
}

/** rp_lines_clean: what this rank owns in shared memory begins at `base`; every member is quiet.
 * Baton. */
void rp_lines_clean(struct rp_lines *lines, uint64_t base);

/** rp_lines_restart: this rank's own end begins at `base`, with nothing seen of any peer; every
 * member is clean. Deaths stay known. Baton. */
void rp_lines_restart(struct rp_lines *lines, uint64_t base);

#endif
