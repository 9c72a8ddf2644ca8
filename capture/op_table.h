#ifndef REPRISE_CAPTURE_OP_TABLE_H
#define REPRISE_CAPTURE_OP_TABLE_H

/*
 * The tables, rows and matrices of operators whose blocks differ, as a call gives
 * them (docs/adr/0007).
 */

#include "capture/op.h"
#include "kernels/counts.h"

/** rp_op_element_bytes: of the call's type; 0: no such type. */
uint64_t rp_op_element_bytes(const struct rp_op_call *call);

/** rp_op_elements_max: the most elements that a block of the call can have, or end at. */
uint64_t rp_op_elements_max(const struct rp_op_call *call, const struct rp_comm *comm);

/** rp_op_check_table_buffers: the buffers that the counts need are there; RP_ENULL. Always RP_OK
 * for a call whose blocks are equal. */
RP_MUST_USE rp_status rp_op_check_table_buffers(
        const struct rp_op_call *call, const struct rp_comm *comm);

/**
 * rp_op_find_table: the table of a call that has one and moves something, as the
 * communicator keeps it (rp_counts_cached); otherwise `*out` stays as it is.
 *
 *   RP_EPARAM  a block ends beyond all bounds, or this rank's own count is not the table's
 *   RP_ENOMEM
 */
RP_MUST_USE rp_status rp_op_find_table(
        const struct rp_op_call *call, struct rp_comm *comm, const struct rp_counts **out);

#endif
