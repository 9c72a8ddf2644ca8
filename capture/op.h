#ifndef REPRISE_CAPTURE_OP_H
#define REPRISE_CAPTURE_OP_H

/*
 * From an operator call to an op: the checks of the Hccl* entry points, the op
 * record and its expansion. One function for all operators and all modes.
 */

#include "base/status.h"
#include "replay/program.h"
#include "replay/stream.h"

/* One call as the API gives it. */
struct rp_op_call {
    const char *api; /* "HcclAllReduce", for messages */
    uint16_t op;     /* enum rp_op_kind */
    const void *send;
    void *recv;
    uint64_t count; /* elements, in the operator's own sense */
    int dtype;      /* HcclDataType, unchecked */
    int reduce;     /* HcclReduceOp, unchecked; -1 where there is none */
    uint32_t root;
    void *comm;   /* HcclComm, unchecked */
    void *stream; /* aclrtStream, unchecked; NULL is an error for Hccl calls */
};

/**
 * rp_op_submit: check in the reference's order (spec/hccl-api.md section 7),
 * make the op, hand it to the stream (which runs or records it). Zero counts
 * are success before any pointer is looked at.
 */
RP_MUST_USE rp_status rp_op_submit(const struct rp_op_call *call);

#endif
