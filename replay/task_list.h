#ifndef REPRISE_REPLAY_TASK_LIST_H
#define REPRISE_REPLAY_TASK_LIST_H

/*
 * HOST_TS: what one rank does for one round of a collective, as a flat list.
 *
 * Lists are made by pure functions (capture/expand.h) and only read here. They
 * name no pointer and no communicator: an address is a base, a block index and
 * an offset, and the executor adds the user's buffers, the block stride and the
 * round's offset. One list therefore serves every call of the same shape.
 *
 * Flow control is inside the list: a round ends with everything received and
 * every window free again (a rank that consumed a peer's data signals it; a
 * rank that put data waits for that signal), so rounds and ops never overlap.
 */

#include <assert.h>
#include <stdint.h>

enum rp_ht_kind {
    RP_HT_COPY = 0,   /* dst <- src, `bytes`                                        */
    RP_HT_REDUCE = 1, /* dst <- left fold of `fold_count` inputs, see below         */
    RP_HT_PUT = 2,    /* peer's window dst.base at dst.off <- src, `bytes`          */
    RP_HT_SIGNAL = 3, /* one signal to `peer`, after all earlier puts to it         */
    RP_HT_WAIT = 4,   /* take one signal of `peer`                                  */
    RP_HT_CHECK = 5,  /* the 8 bytes at src are what the row expects of `peer`, or the op fails */
};

/*
 * When a task of an all-to-all with rows is one: a pair's blocks may be shorter
 * than another's, and what has nothing left in a round is passed over, by both
 * of its ranks. The first round has every pair: there the sender puts its count
 * in front of the data, and the receiver compares it with what it expects.
 */
enum rp_ht_when {
    RP_HT_ALWAYS = 0,
    RP_HT_FIRST = 1, /* in the first round                                  */
    RP_HT_OUT = 2,   /* in the first, and while there is something for peer */
    RP_HT_IN = 3,    /* in the first, and while something comes from peer   */
};

enum rp_ht_base {
    RP_HT_SEND = 0,    /* user's send buffer: + block * stride + round offset + off */
    RP_HT_RECV = 1,    /* user's receive buffer: the same                           */
    RP_HT_WIN_IN = 2,  /* own (for PUT: the peer's) window-in: + off                */
    RP_HT_WIN_OUT = 3, /* own (for PUT: the peer's) window-out: + off               */
    RP_HT_ROW = 4,     /* source only: the row's count for rank `block`, 8 bytes    */
};

struct rp_ht_addr {
    uint8_t base; /* enum rp_ht_base */
    uint8_t reserved[3];
    uint32_t block; /* SEND, RECV only: block index; the stride is the op's block in bytes, or a
                       table says where it lies and how much of the task there is */
    uint64_t off;   /* bytes */
};

/*
 * REDUCE folds positions 0 .. fold_count - 1 in order. Position `fold_own` is
 * read from `src`; position p from own window-in at fold_off + p * fold_step.
 */
struct rp_ht_task {
    uint8_t kind; /* enum rp_ht_kind */
    uint8_t when; /* enum rp_ht_when */
    uint8_t reserved[2];
    uint32_t peer; /* of a copy: only where `when` asks for it */
    struct rp_ht_addr dst;
    struct rp_ht_addr src;
    uint64_t bytes; /* COPY, PUT: bytes; REDUCE: bytes of one input */
    uint64_t fold_off;
    uint32_t fold_step; /* bytes between two inputs in window-in */
    uint16_t fold_count;
    uint16_t fold_own;
};
static_assert(sizeof(struct rp_ht_task) == 64, "one task, one cache line");

struct rp_task_list {
    uint64_t round_count; /* elements of each block that one round handles */
    uint32_t task_count;
    uint32_t reserved;
    struct rp_ht_task task[];
};

#endif
