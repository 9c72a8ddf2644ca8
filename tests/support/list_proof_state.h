#ifndef TESTS_SUPPORT_LIST_PROOF_STATE_H
#define TESTS_SUPPORT_LIST_PROOF_STATE_H

/* The world of a proof: what ranks know, signals under way, and memory. Only support/list_proof.c
 * and list_proof_world.c include it. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/list_expr.h"
#include "support/list_proof.h"

#define PAGE_CELLS 256
#define NOBODY UINT16_MAX

/* A byte of a window. Times are those of the writer's and of the owner's own clock. */
struct cell {
    uint32_t epoch; /* of the operator that touched it last; the next four are of that */
    uint32_t value;
    uint32_t write_time;
    uint32_t owner_time; /* the owner read or wrote it last; 0: did not */
    uint16_t putter;     /* who put here last; NOBODY */
    uint16_t writer;     /* the one rank that ever writes it; NOBODY: none yet */
};

/* What a rank knew at some moment: of every rank's clock, shared by signals and the rank itself. */
struct knowledge {
    uint32_t refs;
    uint32_t at[];
};

struct signal {
    struct knowledge *knows;
    uint32_t time; /* of the sender's own clock */
};

struct mailbox {
    struct signal *signal;
    uint32_t first, end, room;
};

struct page {
    uint32_t epoch; /* of the operator that touched it last */
    uint32_t owner;
    struct cell cell[PAGE_CELLS];
};

struct rank {
    struct page **page[2]; /* of window-in and window-out */
    struct rp_task_list *list, *tail;
    struct knowledge *knows; /* the own entry counts for nothing: `time` does */
    uint32_t time;
    uint32_t task;
    uint64_t done; /* elements of each block in finished rounds */
    uint32_t *send, *recv;
    uint32_t *memory;
    uint16_t waits_for; /* NOBODY: it can run, or is over */
};

struct list_proof {
    uint32_t ranks;
    uint64_t window_bytes;
    uint64_t random;
    uint32_t epoch;
    uint64_t tasks;
    struct rank *rank;
    struct mailbox *box; /* [receiver * ranks + sender] */
    uint32_t *ready;
    uint32_t ready_count;
    struct page **touched; /* by the operator under way */
    uint32_t touched_count, touched_room;
    struct expr_table expr;
    /* The operator under way. */
    const struct list_proof_op *op;
    uint64_t element_bytes, block_bytes, send_bytes, recv_bytes;
    char fault[256];
};

static inline void *need(void *memory)
{
    if (memory == NULL) {
        perror("list_proof");
        _exit(99);
    }
    return memory;
}

/* The first fault of an operator counts: what follows may come of it. */
void proof_complain(struct list_proof *proof, uint32_t rank, const char *fmt, ...) RP_PRINTF(3, 4);
bool proof_broken(const struct list_proof *proof);

uint32_t proof_draw(struct list_proof *proof, uint32_t below);

struct knowledge *proof_knowledge_new(const struct list_proof *proof, const struct knowledge *from);
void proof_knowledge_unref(struct knowledge *knows);

/** proof_knows: whether `rank` knows what `other` did at `time`. */
bool proof_knows(const struct list_proof *proof, uint32_t rank, uint32_t other, uint32_t time);

void proof_make_ready(struct list_proof *proof, uint32_t rank);
void proof_send_signal(struct list_proof *proof, uint32_t rank, uint32_t peer);
/** proof_take_signal: false: there is none. */
bool proof_take_signal(struct list_proof *proof, uint32_t rank, uint32_t peer);

/* Accesses of `rank`; faults for races, bytes that were never written, and all bounds. */
void proof_read(struct list_proof *proof, uint32_t rank, struct rp_ht_addr addr, uint64_t bytes,
        uint32_t *values);
void proof_write(struct list_proof *proof, uint32_t rank, struct rp_ht_addr addr, uint64_t bytes,
        const uint32_t *values);
void proof_put(struct list_proof *proof, uint32_t rank, const struct rp_ht_task *task,
        const uint32_t *values);

/* AlltoAllV: blocks of elements lie back to back in rank order. */
uint64_t proof_pair(const struct list_proof *proof, uint32_t from, uint32_t to);
/** proof_send_off, proof_recv_off: bytes before `rank`'s block for or of `peer`. */
uint64_t proof_send_off(const struct list_proof *proof, uint32_t rank, uint32_t peer);
uint64_t proof_recv_off(const struct list_proof *proof, uint32_t rank, uint32_t peer);
/** proof_count_symbol: byte `i` of the count that `from` puts in front of its block for `to`. */
uint32_t proof_count_symbol(struct list_proof *proof, uint32_t from, uint32_t to, uint64_t i);

#endif
