// Calls whose blocks differ: from the caller's arrays to the table that lives beside the op.

#include "capture/op_table.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/util.h"
#include "capture/expand_cache.h"
#include "kernels/dtype.h"
#include "transport/comm.h"

// Of all ranks' blocks together. The chip's own limit, 2^35 - 1 elements, is none here.
#define BYTES_MAX (UINT64_C(1) << 62)

uint64_t rp_op_element_bytes(const struct rp_op_call *call)
{
    return call->dtype < 0 ? 0 : rp_dtype_bytes((enum rp_dtype)call->dtype);
}

uint64_t rp_op_elements_max(const struct rp_op_call *call, const struct rp_comm *comm)
{
    return BYTES_MAX / (rp_max_u64(rp_op_element_bytes(call), 1) * comm->size);
}

static bool all_zero(const uint64_t *count, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (count[i] != 0) {
            return false;
        }
    }
    return true;
}

// Whether the call is none: nothing moves, and all ranks can see that.
bool rp_op_is_empty(const struct rp_op_call *call, const struct rp_comm *comm)
{
    if (call->op == RP_OP_ALLTOALL_VC) {
        return all_zero(call->matrix, (size_t)comm->size * comm->size);
    }
    return rp_op_has_table(call->op) && all_zero(call->blocks.count, comm->size);
}

// Whether this rank has something to send or to receive, by its row.
static bool row_moves(const struct rp_op_call *call, const struct rp_comm *comm, bool sends)
{
    const uint32_t size = comm->size;
    if (call->op == RP_OP_ALLTOALL_V) {
        return !all_zero(sends ? call->blocks.count : call->recv_blocks.count, size);
    }
    for (uint32_t q = 0; q < size; q++) {
        if (call->matrix[sends ? (size_t)comm->rank * size + q : (size_t)q * size + comm->rank] !=
                0) {
            return true;
        }
    }
    return false;
}

// The buffer that has a block of every rank is there, the other one unless its block is empty. By a
// row each is there if anything moves in its direction.
rp_status rp_op_check_table_buffers(const struct rp_op_call *call, const struct rp_comm *comm)
{
    const bool gathers = call->op == RP_OP_ALL_GATHER_V;
    bool sends = !gathers || call->count != 0;
    bool receives = gathers || call->count != 0;
    if (!rp_op_is_uneven(call->op)) {
        return RP_OK;
    }
    if (rp_op_has_row(call->op)) {
        sends = row_moves(call, comm, true);
        receives = row_moves(call, comm, false);
    }
    if (call->send == NULL && sends) {
        return rp_fail(RP_ENULL, "%s: sendBuf is NULL", call->api);
    }
    if (call->recv == NULL && receives) {
        return rp_fail(RP_ENULL, "%s: recvBuf is NULL", call->api);
    }
    return RP_OK;
}

// "sendCounts[3]" of a row, by the number that filling it gave.
static rp_status fail_row(const struct rp_op_call *call, const struct rp_comm *comm, uint32_t wrong)
{
    const bool receives = wrong >= comm->size;
    const uint32_t rank = receives ? wrong - comm->size : wrong;
    const struct rp_op_blocks *blocks = receives ? &call->recv_blocks : &call->blocks;
    return rp_fail(RP_EPARAM,
            "%s: %s[%" PRIu32 "] %" PRIu64 " and %s[%" PRIu32 "] %" PRIu64
            " are too large; a block ends at element %" PRIu64 " of dataType %d at the latest",
            call->api, receives ? "recvCounts" : "sendCounts", rank, blocks->count[rank],
            receives ? "rdispls" : "sdispls", rank, blocks->displacement[rank],
            rp_op_elements_max(call, comm), call->dtype);
}

static rp_status fill_row(
        const struct rp_op_call *call, const struct rp_comm *comm, struct rp_counts *counts)
{
    const uint32_t rank = comm->rank;
    uint32_t wrong = 0;
    const struct rp_counts_side send = {
        .count = call->blocks.count,
        .displacement = call->blocks.displacement,
    };
    const struct rp_counts_side recv = {
        .count = call->recv_blocks.count,
        .displacement = call->recv_blocks.displacement,
    };
    if (!rp_counts_fill_row(
                counts, comm->size, send, recv, rp_op_elements_max(call, comm), &wrong)) {
        return fail_row(call, comm, wrong);
    }
    if (send.count[rank] != recv.count[rank]) {
        return rp_fail(RP_EPARAM,
                "%s: sendCounts[%" PRIu32 "] %" PRIu64 " is not recvCounts[%" PRIu32 "] %" PRIu64
                ", and both are of this rank's own block",
                call->api, rank, send.count[rank], rank, recv.count[rank]);
    }
    return RP_OK;
}

static rp_status fill_matrix(
        const struct rp_op_call *call, const struct rp_comm *comm, struct rp_counts *counts)
{
    const uint64_t most = rp_op_elements_max(call, comm);
    uint32_t wrong = 0;
    if (!rp_counts_fill_matrix(counts, comm->size, comm->rank, call->matrix, most, &wrong)) {
        return rp_fail(RP_EPARAM,
                "%s: sendCountMatrix[%" PRIu32 "][%" PRIu32 "] %" PRIu64
                " is too large; at most %" PRIu64 " elements of dataType %d between %" PRIu32
                " ranks",
                call->api, wrong / comm->size, wrong % comm->size, call->matrix[wrong], most,
                call->dtype, comm->size);
    }
    return RP_OK;
}

static rp_status fill_table(
        const struct rp_op_call *call, const struct rp_comm *comm, struct rp_counts *counts)
{
    const bool gathers = call->op == RP_OP_ALL_GATHER_V;
    const uint64_t most = rp_op_elements_max(call, comm);
    uint32_t wrong = 0;
    if (call->op == RP_OP_ALLTOALL_V) {
        return fill_row(call, comm, counts);
    }
    if (call->op == RP_OP_ALLTOALL_VC) {
        return fill_matrix(call, comm, counts);
    }
    if (!rp_counts_fill(
                counts, comm->size, call->blocks.count, call->blocks.displacement, most, &wrong)) {
        return rp_fail(RP_EPARAM,
                "%s: %s[%" PRIu32 "] %" PRIu64 " and its displacement %" PRIu64
                " are too large; a block ends at element %" PRIu64 " of dataType %d at the latest",
                call->api, gathers ? "recvCounts" : "sendCounts", wrong, call->blocks.count[wrong],
                call->blocks.displacement[wrong], most, call->dtype);
    }
    if (call->count != counts->at[comm->rank]) {
        return rp_fail(RP_EPARAM,
                "%s: %s %" PRIu64 " is not %s[%" PRIu32 "], which is %" PRIu64 ", of this rank",
                call->api, gathers ? "sendCount" : "recvCount", call->count,
                gathers ? "recvCounts" : "sendCounts", comm->rank, counts->at[comm->rank]);
    }
    return RP_OK;
}

// The table of a call that has one and moves something, as the communicator keeps it.
rp_status rp_op_find_table(
        const struct rp_op_call *call, struct rp_comm *comm, const struct rp_counts **out)
{
    if (!rp_op_is_uneven(call->op)) {
        return RP_OK;
    }
    const enum rp_counts_kind kind = call->op == RP_OP_ALLTOALL_V    ? RP_COUNTS_ROW
                                     : call->op == RP_OP_ALLTOALL_VC ? RP_COUNTS_MATRIX
                                                                     : RP_COUNTS_TABLE;
    struct rp_counts *counts = rp_calloc(1, rp_counts_bytes(kind, comm->size));
    if (counts == NULL) {
        return rp_fail(RP_ENOMEM, "%s: no memory for the counts of %" PRIu32 " ranks", call->api,
                comm->size);
    }
    rp_status st = fill_table(call, comm, counts);
    st = st != RP_OK ? st : rp_counts_cached(comm, counts, out);
    rp_free(counts);
    return st;
}
