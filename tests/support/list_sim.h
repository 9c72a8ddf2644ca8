#ifndef TESTS_SUPPORT_LIST_SIM_H
#define TESTS_SUPPORT_LIST_SIM_H

/*
 * Runs all ranks' task lists in one thread, task by task, in an order drawn from
 * a seed; no library code but the expansion itself takes part.
 *
 * Beyond the order that happens to be drawn, every access to a window is checked
 * with vector clocks: two accesses of which one writes must be ordered by
 * signals, or some other order would have been a race. The ranks run through all
 * operators that were added without a barrier between them.
 */

#include <stdbool.h>
#include <stdint.h>

#include "capture/expand.h"
#include "support/oracle_collective.h"

struct list_sim;

struct list_sim_op {
    uint16_t op; /* enum rp_op_kind */
    uint8_t dtype;
    uint8_t reduce;
    uint8_t algorithm;
    bool in_place; /* equal sizes: one buffer; the others: the own block of the larger one;
                      all-to-all: never */
    uint32_t root;
    uint64_t count;
};

/** list_sim_create: `ranks` ranks with windows of `window_bytes` (in and out). Never NULL. */
struct list_sim *list_sim_create(uint32_t ranks, uint64_t window_bytes, uint64_t seed);
void list_sim_destroy(struct list_sim *sim);

/** list_sim_round_count: what the expansion says of one round of `op`. */
uint64_t list_sim_round_count(const struct list_sim *sim, const struct list_sim_op *op);

/** list_sim_add: every rank's next operator, with random inputs; false if it cannot be expanded. */
bool list_sim_add(struct list_sim *sim, const struct list_sim_op *op);

/**
 * list_sim_run: run everything that was added. False, and a sentence on standard error, when the
 * ranks stand still, accesses race or leave a buffer, or a signal is left over.
 */
bool list_sim_run(struct list_sim *sim);

/** list_sim_check: whether all outputs of op `index` are what the oracle says; says what differs.
 */
bool list_sim_check(const struct list_sim *sim, uint32_t index);

/* Views until the simulation is destroyed. */
const void *list_sim_input(const struct list_sim *sim, uint32_t index, uint32_t rank);
const void *list_sim_output(const struct list_sim *sim, uint32_t index, uint32_t rank);

#endif
