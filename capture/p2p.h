#ifndef REPRISE_CAPTURE_P2P_H
#define REPRISE_CAPTURE_P2P_H

/*
 * Sends, receives and lists of them: what is theirs alone on the way from a call
 * to an op. How they run is in replay/pair_op.h.
 */

#include "base/status.h"
#include "capture/op.h"
#include "transport/comm.h"

/** rp_pairs_lanes: where the data of sends goes in windows of `window_bytes` between `ranks` ranks;
 * both ends of a pair come to the same answer. */
struct rp_pair_lanes rp_pairs_lanes(uint64_t window_bytes, uint32_t ranks);

/** rp_pairs_reserve: the pages of this rank's lanes. RP_EPARAM when windows are too small for any,
 * else as rp_comm_reserve_window(). */
RP_MUST_USE rp_status rp_pairs_reserve(struct rp_comm *comm);

/**
 * rp_batch_submit: `count` sends and receives as one op of `frame`'s communicator
 * and stream, of which nothing else is looked at but `api`. Calls without buffer
 * or without elements are skipped. One that is wrong keeps all of them back; its
 * own `api` is in the sentence.
 */
RP_MUST_USE rp_status rp_batch_submit(
        const struct rp_op_call *frame, const struct rp_op_call *calls, uint32_t count);

/* ---- Its parts, for calls that come one by one ---- */

struct rp_pair_item;

/** rp_batch_item: the send or receive `call`, checked, as an item. */
RP_MUST_USE rp_status rp_batch_item(
        const struct rp_op_call *call, const struct rp_comm *comm, struct rp_pair_item *item);

/** rp_batch_op: the op of `batch`, which is full, whose reference stays the caller's. Between
 * rp_comm_call_begin() and its end. */
RP_MUST_USE rp_status rp_batch_op(struct rp_comm *comm, struct rp_batch *batch, struct rp_op *op);

#endif
