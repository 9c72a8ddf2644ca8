#ifndef REPRISE_REPLAY_BATCH_H
#define REPRISE_REPLAY_BATCH_H

/*
 * The items of a BatchSendRecv, and how far each of them is. A batch lives as
 * long as a graph, an update or a queued task has an op with it. Its items are
 * read-only; the run state has one user at a time, since runs of a program are
 * serialised and an eager call has a batch of its own.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "replay/program.h"

enum rp_pair_phase {
    RP_PAIR_NUMBERED = 0, /* the pair's previous one is not over */
    RP_PAIR_POSTED,       /* the peer can see it; the peer's is awaited */
    RP_PAIR_MOVING,       /* both ends say the same */
    RP_PAIR_DRAINING,     /* a send: everything is put, and not yet taken */
    RP_PAIR_OVER,
};

/* How far a send or receive is. */
struct rp_pair_run {
    uint64_t number;      /* among this rank's sends to, or receives from, that peer */
    uint64_t moved_bytes; /* put, or taken */
    uint8_t phase;        /* enum rp_pair_phase */
};

struct rp_pair_item {
    void *buf; /* of a send it is only read */
    uint64_t count;
    uint32_t peer;
    uint8_t dtype; /* enum rp_dtype */
    bool sends;
    struct rp_pair_place place; /* in a program */
};

struct rp_batch {
    _Atomic uint32_t refs;
    uint32_t count;
    struct rp_pair_run *run;    /* [count], in the same allocation */
    struct rp_pair_item item[]; /* [count] */
};

/** rp_batch_create: of `count` items, which the caller fills; refs 1. RP_ENOMEM. */
RP_MUST_USE rp_status rp_batch_create(uint32_t count, struct rp_batch **out);
void rp_batch_ref(struct rp_batch *batch);
void rp_batch_unref(struct rp_batch *batch);

#endif
