#ifndef REPRISE_CAPTURE_OP_H
#define REPRISE_CAPTURE_OP_H

/*
 * From an operator call to an op: the checks of the Hccl* entry points, the op
 * record and its expansion. One function for all operators and all modes.
 */

#include "base/status.h"
#include "replay/program.h"
#include "replay/stream.h"

/* What an operator's second count and type say. */
struct rp_op_receive {
    uint64_t count;
    int dtype;
};

/* The blocks of an operator with a table, in elements, one of each a rank. */
struct rp_op_blocks {
    const uint64_t *count; /* unchecked, may be NULL */
    const uint64_t *displacement;
};

/* One call as the API gives it. */
struct rp_op_call {
    const char *api; /* "HcclAllReduce", for messages */
    uint16_t op;     /* enum rp_op_kind */
    const void *send;
    void *recv;
    uint64_t count; /* elements, in the operator's own sense; with a table, of the own block */
    int dtype;      /* HcclDataType, unchecked */
    int reduce;     /* HcclReduceOp, unchecked; -1 where there is none */
    uint32_t root;
    const struct rp_op_receive *receive; /* NULL: the call has no second count and type */
    struct rp_op_blocks blocks;          /* of operators with a table; AlltoAllV: of what is sent */
    struct rp_op_blocks recv_blocks;     /* AlltoAllV: of what is received */
    const uint64_t *matrix;              /* AlltoAllVC: [size * size], unchecked, may be NULL */
    void *comm;                          /* HcclComm, unchecked */
    void *stream; /* aclrtStream, unchecked; NULL is an error for Hccl calls */
};

/**
 * rp_op_submit: check in the reference's order (spec/hccl-api.md section 7),
 * make the op, hand it to the stream (which runs or records it). Zero counts
 * (both, where there are two; all of a table) are success before any buffer is
 * looked at, and without a table before any pointer is. An AlltoAllV of zero
 * counts is an op as any other: its peers do not know that it has none.
 */
RP_MUST_USE rp_status rp_op_submit(const struct rp_op_call *call);

/**
 * rp_op_make: the op of such a call on `comm`, with the same checks, for a task
 * that is recorded already. `call->stream` and `call->comm` are not looked at; a
 * call that is success without an op is RP_EPARAM, since no task can stand for it. `op` is not the
 * communicator's user: whoever keeps it takes a reference, and keeps its lists.
 *
 * Threads: any, between rp_comm_call_begin() and its end.
 */
RP_MUST_USE rp_status rp_op_make(
        const struct rp_op_call *call, struct rp_comm *comm, struct rp_op *op);

/* ---- The parts of rp_op_submit(), for a call that is a list of such calls ---- */

/** rp_op_check: the call's buffers are there, its count, type, reduction and root are good. */
RP_MUST_USE rp_status rp_op_check(const struct rp_op_call *call, const struct rp_comm *comm);

/** rp_op_stream: the stream of the call, which is on the communicator's device; else RP_EPARAM. */
RP_MUST_USE rp_status rp_op_stream(
        const struct rp_op_call *call, const struct rp_comm *comm, struct rp_stream **out);

/** rp_op_is_empty: the call has a table of zeros: nothing moves, and all ranks can see that. */
bool rp_op_is_empty(const struct rp_op_call *call, const struct rp_comm *comm);

/** rp_op_log: the line of HCCL_ENTRY_LOG_ENABLE. */
void rp_op_log(
        const struct rp_op_call *call, const struct rp_comm *comm, const struct rp_stream *stream);

/** rp_op_lose_capture: `stream` gets no task for want of memory; a capture is invalid then. `st`.
 */
RP_MUST_USE rp_status rp_op_lose_capture(struct rp_stream *stream, rp_status st);

#endif
