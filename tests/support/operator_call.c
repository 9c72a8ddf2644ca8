#include "support/operator_call.h"

#include <stdlib.h>
#include <string.h>

#include "capture/select.h"
#include "support/oracle_collective.h"
#include "support/oracle_reduce.h"

// ---- shapes ----

bool operator_has_blocks(unsigned op)
{
    return op == RP_OP_ALL_GATHER_V || op == RP_OP_REDUCE_SCATTER_V || op == RP_OP_ALLTOALL_V ||
           op == RP_OP_ALLTOALL_VC || op == RP_OP_BATCH_SEND_RECV;
}

// Elements that rank s gives to rank d.
static uint64_t elements(const struct operator_call *call, unsigned s, unsigned d)
{
    switch (call->op) {
    case RP_OP_BARRIER:
        return 0;
    case RP_OP_BROADCAST:
    case RP_OP_SCATTER:
        return s == call->root ? call->count : 0;
    case RP_OP_REDUCE:
        return d == call->root ? call->count : 0;
    case RP_OP_SEND:
    case RP_OP_RECEIVE:
        return s == call->root && d == call->peer ? call->count : 0;
    default:
        return operator_has_blocks(call->op) ? call->block[s][d] : call->count;
    }
}

static bool sends_blocks(unsigned op)
{
    return op == RP_OP_REDUCE_SCATTER || op == RP_OP_SCATTER || op == RP_OP_ALLTOALL;
}

static bool receives_blocks(unsigned op)
{
    return op == RP_OP_ALL_GATHER || op == RP_OP_ALLTOALL;
}

// Where the block for d lies in s's input, and that of s in d's output.
static uint64_t send_at(const struct operator_call *call, unsigned s, unsigned d)
{
    return operator_has_blocks(call->op) ? call->send_place[s][d]
           : sends_blocks(call->op)      ? d * call->count
                                         : 0;
}

static uint64_t recv_at(const struct operator_call *call, unsigned d, unsigned s)
{
    return operator_has_blocks(call->op) ? call->recv_place[d][s]
           : receives_blocks(call->op)   ? s * call->count
                                         : 0;
}

static bool reduces(const struct operator_call *call)
{
    return rp_matrix_row(call->op)->reduces;
}

// Backwards, with a gap before every second block; `packed`: in order and without.
static void place(uint64_t *places, const uint64_t *counts, unsigned ranks, bool packed)
{
    uint64_t at = packed ? 0 : 1;
    for (unsigned i = 0; i < ranks; i++) {
        const unsigned r = packed ? i : ranks - 1 - i;
        places[r] = at;
        at += counts[r] + (packed ? 0 : r % 2 * 3);
    }
}

void operator_place_blocks(struct operator_call *call)
{
    const bool packed = call->op == RP_OP_ALLTOALL_VC;
    for (unsigned r = 0; r < call->ranks; r++) {
        uint64_t from[OPERATOR_RANKS];
        for (unsigned s = 0; s < call->ranks; s++) {
            from[s] = call->block[s][r];
        }
        place(call->send_place[r], call->block[r], call->ranks, packed);
        place(call->recv_place[r], from, call->ranks, packed);
        // What is given to all alike, or received as one, has one place.
        for (unsigned q = 0; q < call->ranks; q++) {
            call->send_place[r][q] = call->op == RP_OP_ALL_GATHER_V ? 0 : call->send_place[r][q];
            call->recv_place[r][q] =
                    call->op == RP_OP_REDUCE_SCATTER_V ? 0 : call->recv_place[r][q];
        }
    }
}

bool operator_calls(const struct operator_call *call, unsigned rank)
{
    const bool pair = call->op == RP_OP_SEND || call->op == RP_OP_RECEIVE;
    return !pair || rank == call->root || rank == call->peer;
}

size_t operator_send_bytes(const struct operator_call *call, unsigned rank)
{
    uint64_t end = 0;
    for (unsigned d = 0; d < call->ranks; d++) {
        const uint64_t count = elements(call, rank, d);
        const uint64_t at = count == 0 ? 0 : send_at(call, rank, d) + count;
        end = at > end ? at : end;
    }
    if (call->op == RP_OP_REDUCE) {
        end = call->count; // one that is no root gives to the root alone
    }
    return end * rp_dtype_bytes(call->dtype);
}

size_t operator_recv_bytes(const struct operator_call *call, unsigned rank)
{
    uint64_t end = 0;
    for (unsigned s = 0; s < call->ranks; s++) {
        const uint64_t count = elements(call, s, rank);
        const uint64_t at = count == 0 ? 0 : recv_at(call, rank, s) + count;
        end = at > end ? at : end;
    }
    return end * rp_dtype_bytes(call->dtype);
}

bool operator_in_place(const struct operator_call *call, unsigned rank, size_t *offset)
{
    const size_t own = rank * call->count * rp_dtype_bytes(call->dtype);
    *offset = 0;
    if (call->op == RP_OP_BROADCAST) {
        return true;
    }
    if (!call->in_place || !rp_matrix_row(call->op)->in_place) {
        return false;
    }
    switch (call->op) {
    case RP_OP_ALL_REDUCE:
        return true;
    case RP_OP_REDUCE:
        return rank == call->root;
    case RP_OP_SCATTER:
        *offset = own;
        return rank == call->root;
    case RP_OP_REDUCE_SCATTER:
    case RP_OP_ALL_GATHER:
        *offset = own;
        return true;
    default:
        return false; // in-place forms of their own are in the operators' tests
    }
}

// ---- values ----

// Small whole numbers, and for products powers of two: any order of additions, multiplications or
// comparisons gives the same bits.
static void fill_exact(
        const struct operator_call *call, unsigned rank, unsigned round, uint8_t *to, size_t count)
{
    const size_t bytes = rp_dtype_bytes(call->dtype);
    uint64_t state = (call->fill + rank * 131 + round * 8191 + 1) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const unsigned bits = (unsigned)(state >> 59);
        const int whole =
                call->reduce == RP_REDUCE_PROD ? (bits % 2 ? 2 : -1) : (int)(bits % 15) + 1;
        const double number = bits & 16 ? whole : -whole;
        const float single = (float)number;
        const uint16_t half = call->dtype == RP_DTYPE_FP16 || call->dtype == RP_DTYPE_BFP16
                                      ? oracle_half_round(call->dtype, number)
                                      : 0;
        memcpy(to + i * bytes,
                call->dtype == RP_DTYPE_FP64   ? (const void *)&number
                : call->dtype == RP_DTYPE_FP32 ? (const void *)&single
                                               : (const void *)&half,
                bytes);
    }
}

static bool is_float(enum rp_dtype dtype)
{
    return dtype == RP_DTYPE_FP16 || dtype == RP_DTYPE_BFP16 || dtype == RP_DTYPE_FP32 ||
           dtype == RP_DTYPE_FP64;
}

void operator_fill(const struct operator_call *call, unsigned rank, unsigned round, void *to)
{
    const size_t count = operator_send_bytes(call, rank) / rp_dtype_bytes(call->dtype);
    if (call->exact && reduces(call) && is_float(call->dtype)) {
        fill_exact(call, rank, round, to, count);
    } else {
        oracle_fill(call->dtype, to, count, call->fill + rank * 131 + round * 8191);
    }
}

void operator_expect(
        const struct operator_call *call, unsigned rank, const void *const *send, uint8_t *recv)
{
    const size_t element = rp_dtype_bytes(call->dtype);
    const void *source[OPERATOR_RANKS];
    for (unsigned s = 0; s < call->ranks; s++) {
        const uint64_t count = elements(call, s, rank);
        source[s] = (const uint8_t *)send[s] + send_at(call, s, rank) * element;
        if (!reduces(call) && count != 0) {
            memcpy(recv + recv_at(call, rank, s) * element, source[s], count * element);
        }
    }
    if (reduces(call) && elements(call, 0, rank) != 0) {
        oracle_reduce(
                call->dtype, call->reduce, source, call->ranks, recv, elements(call, 0, rank));
    }
}

// ---- calls ----

static void column(const struct operator_call *call, unsigned rank, uint64_t *counts)
{
    for (unsigned s = 0; s < call->ranks; s++) {
        counts[s] = call->block[s][rank];
    }
}

bool operator_knows(unsigned op)
{
    switch (op) {
    case RP_OP_ALL_REDUCE:
    case RP_OP_REDUCE_SCATTER:
    case RP_OP_ALL_GATHER:
    case RP_OP_BROADCAST:
    case RP_OP_REDUCE:
    case RP_OP_SCATTER:
    case RP_OP_ALLTOALL:
    case RP_OP_ALLTOALL_V:
    case RP_OP_ALLTOALL_VC:
    case RP_OP_ALL_GATHER_V:
    case RP_OP_REDUCE_SCATTER_V:
    case RP_OP_SEND:
    case RP_OP_RECEIVE:
    case RP_OP_BATCH_SEND_RECV:
    case RP_OP_BARRIER:
        return true;
    default:
        return false;
    }
}

// A send and a receive for every rank, itself too, blocks without elements as well.
static HcclResult issue_batch(const struct operator_call *call, unsigned rank, uint8_t *send,
        uint8_t *recv, HcclComm comm, aclrtStream stream)
{
    HcclSendRecvItem items[2 * OPERATOR_RANKS];
    const size_t element = rp_dtype_bytes(call->dtype);
    for (unsigned q = 0; q < call->ranks; q++) {
        items[2 * q] = (HcclSendRecvItem){ HCCL_SEND, send + call->send_place[rank][q] * element,
            call->block[rank][q], (HcclDataType)call->dtype, q };
        items[2 * q + 1] =
                (HcclSendRecvItem){ HCCL_RECV, recv + call->recv_place[rank][q] * element,
                    call->block[q][rank], (HcclDataType)call->dtype, q };
    }
    return HcclBatchSendRecv(items, 2 * call->ranks, comm, stream);
}

HcclResult operator_issue(const struct operator_call *call, unsigned rank, void *send, void *recv,
        HcclComm comm, aclrtStream stream)
{
    const HcclDataType dtype = (HcclDataType)call->dtype;
    const HcclReduceOp reduce = (HcclReduceOp)call->reduce;
    const uint64_t count = call->count;
    uint64_t counts[OPERATOR_RANKS];
    switch (call->op) {
    case RP_OP_SEND:
    case RP_OP_RECEIVE:
        return rank == call->root ? HcclSend(send, count, dtype, call->peer, comm, stream)
                                  : HcclRecv(recv, count, dtype, call->root, comm, stream);
    case RP_OP_BATCH_SEND_RECV:
        return issue_batch(call, rank, send, recv, comm, stream);
    case RP_OP_ALL_REDUCE:
        return HcclAllReduce(send, recv, count, dtype, reduce, comm, stream);
    case RP_OP_REDUCE_SCATTER:
        return HcclReduceScatter(send, recv, count, dtype, reduce, comm, stream);
    case RP_OP_ALL_GATHER:
        return HcclAllGather(send, recv, count, dtype, comm, stream);
    case RP_OP_BROADCAST:
        return HcclBroadcast(recv, count, dtype, call->root, comm, stream);
    case RP_OP_REDUCE:
        return HcclReduce(send, recv, count, dtype, reduce, call->root, comm, stream);
    case RP_OP_SCATTER:
        return HcclScatter(
                rank == call->root ? send : NULL, recv, count, dtype, call->root, comm, stream);
    case RP_OP_ALLTOALL:
        return HcclAlltoAll(send, count, dtype, recv, count, dtype, comm, stream);
    case RP_OP_ALLTOALL_V:
        column(call, rank, counts);
        return HcclAlltoAllV(send, call->block[rank], call->send_place[rank], dtype, recv, counts,
                call->recv_place[rank], dtype, comm, stream);
    case RP_OP_ALLTOALL_VC: {
        uint64_t matrix[OPERATOR_RANKS * OPERATOR_RANKS];
        for (unsigned i = 0; i < call->ranks * call->ranks; i++) {
            matrix[i] = call->block[i / call->ranks][i % call->ranks];
        }
        return HcclAlltoAllVC(send, matrix, dtype, recv, dtype, comm, stream);
    }
    case RP_OP_ALL_GATHER_V:
        column(call, rank, counts);
        return HcclAllGatherV(send, call->block[rank][0], recv, counts, call->recv_place[rank],
                dtype, comm, stream);
    case RP_OP_REDUCE_SCATTER_V:
        return HcclReduceScatterV(send, call->block[rank], call->send_place[rank], recv,
                call->block[0][rank], dtype, reduce, comm, stream);
    case RP_OP_BARRIER:
        return HcclBarrier(comm, stream);
    default:
        return HCCL_E_NOT_SUPPORT;
    }
}
