#ifndef REPRISE_KERNELS_PAIR_H
#define REPRISE_KERNELS_PAIR_H

/*
 * Point to point: what one rank tells one peer, and nobody else. There is one
 * struct for every ordered pair of a communicator, written by the first of the
 * two; between nodes each end has a copy of the other's, which the channel keeps
 * up to date (transport/channel.h).
 *
 * A pair has a sequence of its own in either direction: the sends of rank a to
 * rank b and the receives of b from a are numbered from 1 and matched one to one.
 * Number n is posted only when this rank is through with n - 1, so two records,
 * used in turn, are enough.
 *
 * The data goes through the sender's lane of the receiver's window-in, which is
 * cut in two halves that are used in turn: piece k lies in half k % 2, and is put
 * only when `taken` of the receiver covers piece k - 2.
 *
 * Orders. [P1] the stores of `sends` and `recvs` publish the record; the loads
 * that see them may read it. [P2] the store of `put` publishes the piece, the
 * load that sees it may read it. [P3] the store of `taken` ends the reading of a
 * piece, the load that sees it may overwrite it.
 */

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/record.h"

struct rp_pair {
    _Alignas(RP_CACHELINE) _Atomic uint64_t sends; /* posted to the peer */
    _Atomic uint64_t recvs;                        /* posted: receives from the peer */
    _Atomic uint64_t put;                          /* pieces put, of all sends together */
    _Atomic uint64_t taken;                        /* pieces of the peer's that were taken */
    uint64_t reserved[4];
    struct rp_record send[2]; /* send n in send[n % 2] */
    struct rp_record recv[2]; /* receive n in recv[n % 2] */
};
static_assert(sizeof(struct rp_pair) == 5 * RP_CACHELINE, "the layout is shared");

/*
 * What a rank keeps for itself of a pair. Numbers are given to sends and receives
 * when their call or replay is popped from the device's queue, those of a program
 * with conditions as they come, while it has the turn (docs/adr/0009); those of a
 * pair are then worked off one after the other.
 */
struct rp_pair_end {
    uint64_t sends, recvs;           /* numbered */
    uint64_t sends_over, recvs_over; /* finished */
    uint64_t moved_ns;               /* when anything of the pair moved last */
    const void *own_data;            /* a rank's pair with itself: what the posted send sends */
    bool publish_due;                /* the shared words are newer than what the channel took */
};

/** rp_pair_digest: of a record of a pair: what the two ends must agree on. Never 0. */
static inline uint64_t rp_pair_digest(const struct rp_record *record)
{
    const uint64_t digest = rp_mix_u64(rp_mix_u64(record->dtype + 1) ^ record->count);
    return digest != 0 ? digest : 1;
}

#endif
