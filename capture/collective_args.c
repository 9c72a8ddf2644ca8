// What aclmdlRITaskGetParams and SetParams know of a collective.

#include "capture/collective_args.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "capture/comm_extra.h"
#include "capture/expand_cache.h"
#include "capture/op.h"
#include "capture/select.h"
#include "kernels/dtype.h"
#include "replay/batch.h"

#define TEXT_BYTES (RP_COMM_NAME_BYTES + 64)

// One byte an operator: only their addresses are used.
static const char functions[UINT8_MAX + 1];

aclrtFuncHandle reprise_collective_function(HcclCMDType op)
{
    const unsigned index = (unsigned)op;
    if (index > UINT8_MAX || rp_matrix_row(index) == NULL) {
        return NULL;
    }
    // A handle is a pointer to void in the API; nobody writes through this one.
    return (aclrtFuncHandle)(uintptr_t)&functions[index];
}

/* Of an operator with a table or matrix that member is its hash, which an update changes. */
static uint32_t root_of(const struct rp_op *op)
{
    return rp_op_is_uneven(op->record.op) ? 0 : op->record.root;
}

static void fill_tables(const struct rp_op *op, struct reprise_collective_args *args)
{
    const struct rp_counts *counts = op->counts;
    switch (rp_counts_kind_of(counts)) {
    case RP_COUNTS_TABLE:
        args->count = counts->at[op->comm->rank];
        args->counts = counts->at;
        args->displs = counts->at + counts->ranks;
        break;
    case RP_COUNTS_ROW:
        args->count = 0;
        args->counts = counts->at;
        args->displs = counts->at + counts->ranks;
        args->recvCounts = counts->at + 2 * (size_t)counts->ranks;
        args->recvDispls = counts->at + 3 * (size_t)counts->ranks;
        break;
    case RP_COUNTS_MATRIX:
        args->count = 0;
        args->counts = rp_counts_matrix(counts);
        break;
    }
}

void rp_collective_args_fill(const struct rp_op *op, struct reprise_collective_args *args)
{
    const struct rp_record *record = &op->record;
    const bool reduces = rp_matrix_row(record->op)->reduces;
    *args = (struct reprise_collective_args){
        .op = (HcclCMDType)record->op,
        .dataType = (HcclDataType)record->dtype,
        .reduceOp = reduces ? (HcclReduceOp)record->reduce : HCCL_REDUCE_RESERVED,
        .root = root_of(op),
        .comm = op->comm,
        .sendBuf = (void *)(uintptr_t)op->send,
        .recvBuf = op->recv,
        .count = record->count,
    };
    if (op->counts != NULL) {
        fill_tables(op, args);
    }
}

static rp_status check_tables(
        const char *api, const struct rp_op *op, const struct reprise_collective_args *args)
{
    const unsigned kind = op->record.op;
    const char *name = rp_op_kind_name(kind);
    if (!rp_op_is_uneven(kind) && args->counts != NULL) {
        return rp_fail(RP_EPARAM, "%s: %s has no table, and counts is set", api, name);
    }
    if ((!rp_op_is_uneven(kind) || kind == RP_OP_ALLTOALL_VC) && args->displs != NULL) {
        return rp_fail(RP_EPARAM, "%s: %s has no displacements, and displs is set", api, name);
    }
    if (kind != RP_OP_ALLTOALL_V && (args->recvCounts != NULL || args->recvDispls != NULL)) {
        return rp_fail(RP_EPARAM,
                "%s: %s has no table of its own for what is received, and "
                "recvCounts or recvDispls is set",
                api, name);
    }
    if (rp_op_has_row(kind) && args->count != 0) {
        return rp_fail(RP_EPARAM, "%s: %s has counts and no count, which must be 0", api, name);
    }
    return RP_OK;
}

static rp_status check_fixed(
        const char *api, const struct rp_op *op, const struct reprise_collective_args *args)
{
    struct reprise_collective_args now;
    rp_collective_args_fill(op, &now);
    const char *name = NULL;
    if (args->op != now.op) {
        name = "op";
    } else if (args->dataType != now.dataType) {
        name = "dataType";
    } else if (args->reduceOp != now.reduceOp) {
        name = "reduceOp";
    } else if (args->root != now.root) {
        name = "root";
    } else if (args->comm != now.comm) {
        name = "comm";
    }
    for (unsigned i = 0; i < sizeof(args->rsv) / sizeof(args->rsv[0]); i++) {
        if (args->rsv[i] != 0) {
            return rp_fail(RP_EPARAM, "%s: rsv[%u] of the arguments is not 0", api, i);
        }
    }
    if (name == NULL && op->record.op == RP_OP_BATCH_SEND_RECV) {
        return rp_fail(RP_ENOTSUP,
                "%s: a BatchSendRecv's items are no arguments; they can be changed by an update of "
                "a task group",
                api);
    }
    if (name != NULL) {
        return rp_fail(RP_EPARAM,
                "%s: %s of the arguments differs from that of the task (%s on communicator %s); "
                "only buffers and count can be changed",
                api, name, rp_op_kind_name(op->record.op), op->comm->name);
    }
    const rp_status st = check_tables(api, op, args);
    if (st != RP_OK) {
        return st;
    }
    if (op->record.op == RP_OP_BARRIER && args->count != now.count) {
        return rp_fail(RP_EPARAM, "%s: a barrier has no count to change", api);
    }
    if (op->record.op == RP_OP_BROADCAST && args->sendBuf != args->recvBuf) {
        return rp_fail(RP_EPARAM, "%s: sendBuf and recvBuf of a broadcast differ", api);
    }
    return RP_OK;
}

rp_status rp_collective_args_change(const char *api, const struct rp_op *op,
        const struct reprise_collective_args *args, struct rp_op *out)
{
    rp_status st = check_fixed(api, op, args);
    if (st != RP_OK) {
        return st;
    }
    const struct rp_op_call call = {
        .api = api,
        .op = op->record.op,
        .send = args->sendBuf,
        .recv = args->recvBuf,
        .count = args->count,
        .dtype = (int)args->dataType,
        .reduce = (int)args->reduceOp,
        .root = args->root,
        .blocks = { .count = args->counts, .displacement = args->displs },
        .recv_blocks = { .count = args->recvCounts, .displacement = args->recvDispls },
        .matrix = args->counts,
    };
    struct rp_comm *comm = NULL;
    st = rp_comm_call_begin(api, args->comm, &comm);
    if (st != RP_OK) {
        return st;
    }
    st = rp_op_make(&call, comm, out);
    if (st == RP_OK) {
        rp_expand_hold(out);
        out->record.graph = op->record.graph;
        out->record.task = op->record.task;
    }
    rp_comm_call_end(comm);
    return st;
}

/* What an update leaves as it is, in words. Nothing else of `op` is read: the baton's holder may be
 * changing it. */
static void describe_fixed(const struct rp_op *op, char *text, size_t bytes)
{
    const struct rp_record fixed = {
        .op = op->record.op,
        .dtype = op->record.dtype,
        .reduce = op->record.reduce,
    };
    const struct rp_record_words words = rp_record_words(&fixed);
    snprintf(text, bytes, "%s %s %s root %" PRIu32 " on %s", words.op,
            words.dtype == NULL ? "" : words.dtype, words.reduce == NULL ? "" : words.reduce,
            root_of(op), op->comm->name);
}

/* Sequences of pairs are counted when a replay is queued, so who sends to whom stays. The items of
 * `now` take the places of those before. */
static rp_status check_same_items(
        const char *api, const struct rp_op *before, const struct rp_op *now)
{
    const struct rp_batch *had = before->batch;
    struct rp_batch *given = now->batch;
    bool same = had->count == given->count;
    for (uint32_t i = 0; same && i < had->count; i++) {
        same = had->item[i].peer == given->item[i].peer &&
               had->item[i].sends == given->item[i].sends;
        given->item[i].place = had->item[i].place;
    }
    return same ? RP_OK
                : rp_fail(RP_EPARAM,
                          "%s: a BatchSendRecv of %" PRIu32
                          " items on %s cannot become one of %" PRIu32
                          " that sends to or receives from other ranks, or in another order",
                          api, had->count, before->comm->name, given->count);
}

rp_status rp_collective_check_same(
        const char *api, const struct rp_op *before, const struct rp_op *now)
{
    const struct rp_record *a = &before->record;
    const struct rp_record *b = &now->record;
    if (a->op == RP_OP_BATCH_SEND_RECV && b->op == a->op && before->comm == now->comm) {
        return check_same_items(api, before, now);
    }
    if (before->comm == now->comm && a->op == b->op && a->dtype == b->dtype &&
            a->reduce == b->reduce && root_of(before) == root_of(now)) {
        return RP_OK;
    }
    char had[TEXT_BYTES];
    char given[TEXT_BYTES];
    describe_fixed(before, had, sizeof(had));
    describe_fixed(now, given, sizeof(given));
    return rp_fail(RP_EPARAM,
            "%s: a collective (%s) cannot become another (%s): operator, data type, reduction, "
            "root and communicator stay what they are",
            api, had, given);
}
