#ifndef REPRISE_REPLAY_PAIR_OP_H
#define REPRISE_REPLAY_PAIR_OP_H

/*
 * Sends, receives and batches of them (kernels/pair.h): one op of one item or
 * many. Items are numbered pair by pair in the order of the calls, when a call or
 * a replay is popped from the device's queue; the communicator's turn is not
 * needed. So these ops run beside others, and each item waits for the previous
 * number of its pair and for nothing else of its own rank.
 *
 * Of an open-ended program nobody knows how many there will be: those are
 * numbered as they come, while the replay has the communicator's turn.
 */

#include "replay/batch.h"
#include "replay/collective.h"

/** rp_pair_items: how many an op has; rp_pair_item_of: item `index`; rp_pair_place_of: where its
 * place in a program stands. */
uint32_t rp_pair_items(const struct rp_op *op);
struct rp_pair_item rp_pair_item_of(const struct rp_op *op, uint32_t index);
struct rp_pair_place *rp_pair_place_of(struct rp_op *op, uint32_t index);

/** rp_pair_op_number: give an eager op's items their numbers. Baton. */
void rp_pair_op_number(struct rp_coll_run *run, const struct rp_op *op);

/** rp_pair_op_number_late: for an op of an open-ended program: as rp_pair_op_number() when the turn
 * has come. RP_OK; RP_AGAIN; else the communicator's failure. */
RP_MUST_USE rp_status rp_pair_op_number_late(
        struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step);

/** rp_pair_op_step: as rp_collective_step(), for these operators. */
RP_MUST_USE rp_status rp_pair_op_step(
        struct rp_coll_run *run, const struct rp_op *op, struct rp_coll_step *step);

#endif
