#ifndef TESTS_SUPPORT_LIST_PROOF_H
#define TESTS_SUPPORT_LIST_PROOF_H

/*
 * Proves what all ranks' task lists of one operator do, for any number of ranks.
 *
 * Memory holds no numbers but expressions: each byte of an input is a symbol, a
 * reduction makes a node of what it folds, equal nodes are one. So the result
 * says which inputs it holds, how often, in which order and with how many
 * roundings; the same node on two ranks means the same bits there.
 *
 * A wait names its peer and signals of a peer are taken in order. So which
 * signal ends which wait is the same in every order of execution, and with it
 * what happens before what: one order that ends proves that all of them end, and
 * one order without a race by vector clocks proves that no other has one. Orders
 * are drawn from a seed all the same, to hold the checker itself to that.
 *
 * What makes operators independent of each other is proved over all operators
 * that were run in one world: no byte of a window is written by two ranks, and a
 * rank ends an operator knowing that the owner is through with all it put.
 */

#include <stdbool.h>
#include <stdint.h>

#include "capture/expand.h"

struct list_proof;

struct list_proof_op {
    uint16_t op; /* enum rp_op_kind */
    uint8_t dtype;
    uint8_t algorithm;
    bool in_place;
    bool strict; /* results must be the left fold in rank order, rounded once */
    uint32_t root;
    uint64_t count;
    const uint64_t *matrix; /* AlltoAllV: elements from rank i to j at [i * ranks + j]; `count` is
                               then the largest */
    const struct rp_layout *layout;
    /* Called with the ranks' lists of full rounds before they run; NULL: nothing. */
    void (*mutate)(struct rp_task_list **lists, uint32_t ranks, void *arg);
    void *arg;
};

/** list_proof_create: a world of `ranks` ranks with windows of `window_bytes`. Never NULL. */
struct list_proof *list_proof_create(uint32_t ranks, uint64_t window_bytes, uint64_t seed);
void list_proof_destroy(struct list_proof *proof);

/** list_proof_round_count: what the expansion says of one round of `op`. */
uint64_t list_proof_round_count(const struct list_proof *proof, const struct list_proof_op *op);

/** list_proof_run: expand, run and check; false: list_proof_fault() says what is wrong. */
bool list_proof_run(struct list_proof *proof, const struct list_proof_op *op);

/** list_proof_fault: of the last run, one sentence; "" if there was none. Until the next run. */
const char *list_proof_fault(const struct list_proof *proof);

/** list_proof_tasks: tasks run since the world was created. */
uint64_t list_proof_tasks(const struct list_proof *proof);

#endif
