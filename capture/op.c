// One operator call, from the arguments to the stream. The checks come in the reference's order
// (a count of 0 is success before anything is looked at, then pointers, count, type, reduction,
// root), so that a program that relies on which of two errors it gets is not surprised.

#include "capture/op.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "capture/capture.h"
#include "capture/comm_config.h"
#include "capture/comm_extra.h"
#include "capture/comm_layout.h"
#include "capture/expand_cache.h"
#include "capture/group.h"
#include "capture/op_table.h"
#include "capture/p2p.h"
#include "capture/select.h"
#include "kernels/dtype.h"
#include "replay/context.h"
#include "replay/place.h"

// ---- checks ----

static rp_status check_handles(const struct rp_op_call *call)
{
    const char *name = call->stream == NULL ? "stream" : call->comm == NULL ? "comm" : NULL;
    return name == NULL ? RP_OK : rp_fail(RP_ENULL, "%s: %s is NULL", call->api, name);
}

// The arrays of a call with a table or a row: "sendCounts", of those that it lacks the first one.
static const char *missing_array(const struct rp_op_call *call)
{
    const struct rp_op_blocks *blocks = &call->blocks;
    switch (call->op) {
    case RP_OP_ALLTOALL_VC:
        return call->matrix == NULL ? "sendCountMatrix" : NULL;
    case RP_OP_ALL_GATHER_V:
        return blocks->count == NULL          ? "recvCounts"
               : blocks->displacement == NULL ? "recvDispls"
                                              : NULL;
    case RP_OP_ALLTOALL_V:
        return blocks->count == NULL                    ? "sendCounts"
               : blocks->displacement == NULL           ? "sdispls"
               : call->recv_blocks.count == NULL        ? "recvCounts"
               : call->recv_blocks.displacement == NULL ? "rdispls"
                                                        : NULL;
    default:
        return blocks->count == NULL          ? "sendCounts"
               : blocks->displacement == NULL ? "sendDispls"
                                              : NULL;
    }
}

static rp_status check_arrays(const struct rp_op_call *call)
{
    const char *name = missing_array(call);
    return name == NULL ? RP_OK : rp_fail(RP_ENULL, "%s: %s is NULL", call->api, name);
}

// A scatter's input is the root's alone, and who that is hangs on the communicator: check_source.
static rp_status check_pointers(const struct rp_op_call *call)
{
    const char *name = NULL;
    if (call->op == RP_OP_BARRIER) {
        return RP_OK;
    }
    if (rp_op_is_uneven(call->op)) {
        return check_arrays(call);
    }
    if (rp_op_is_pairs(call->op)) {
        name = call->op == RP_OP_SEND ? call->send == NULL ? "sendBuf" : NULL
               : call->recv == NULL   ? "recvBuf"
                                      : NULL;
    } else if (call->send == NULL && call->op != RP_OP_SCATTER) {
        name = call->op == RP_OP_BROADCAST ? "buf" : "sendBuf";
    } else if (call->recv == NULL) {
        name = "recvBuf";
    }
    return name == NULL ? RP_OK : rp_fail(RP_ENULL, "%s: %s is NULL", call->api, name);
}

static rp_status check_source(const struct rp_op_call *call, const struct rp_comm *comm)
{
    if (call->op == RP_OP_SCATTER && call->root == comm->rank && call->send == NULL) {
        return rp_fail(RP_ENULL, "%s: sendBuf is NULL on the root, rank %" PRIu32 " of %s",
                call->api, comm->rank, comm->name);
    }
    return RP_OK;
}

// What an all-to-all says twice, and that it has no form in place.
static rp_status check_receive(const struct rp_op_call *call, const struct rp_matrix_row *row)
{
    const struct rp_op_receive *receive = call->receive;
    if (receive != NULL && receive->count != call->count) {
        return rp_fail(RP_EPARAM, "%s: sendCount %" PRIu64 " is not recvCount %" PRIu64, call->api,
                call->count, receive->count);
    }
    if (receive != NULL && receive->dtype != call->dtype) {
        return rp_fail(RP_EPARAM, "%s: sendType %d is not recvType %d", call->api, call->dtype,
                receive->dtype);
    }
    if (!row->in_place && call->send != NULL && call->send == call->recv) {
        return rp_fail(
                RP_EPARAM, "%s: sendBuf and recvBuf are the same buffer %p", call->api, call->send);
    }
    return RP_OK;
}

static rp_status check_type(const struct rp_op_call *call, const struct rp_matrix_row *row)
{
    if (rp_op_element_bytes(call) == 0) {
        return rp_fail(RP_ENOTSUP, "%s: dataType %d is not known", call->api, call->dtype);
    }
    if (!row->reduces) {
        return RP_OK;
    }
    if ((row->types >> call->dtype & 1) == 0) {
        return rp_fail(RP_ENOTSUP, "%s: values of dataType %d can be moved, not reduced", call->api,
                call->dtype);
    }
    if (call->reduce < 0 || call->reduce >= RP_REDUCE_OPS ||
            (row->reductions >> call->reduce & 1) == 0) {
        return rp_fail(
                RP_ENOTSUP, "%s: op %d is not sum, prod, max or min", call->api, call->reduce);
    }
    return RP_OK;
}

static rp_status check_peer(const struct rp_op_call *call, const struct rp_comm *comm)
{
    if (rp_op_is_pairs(call->op) && call->root >= comm->size) {
        return rp_fail(RP_EPARAM, "%s: %s %" PRIu32 " is none of the %" PRIu32 " ranks of %s",
                call->api, call->op == RP_OP_SEND ? "destRank" : "srcRank", call->root, comm->size,
                comm->name);
    }
    return RP_OK;
}

static rp_status check_values(
        const struct rp_op_call *call, const struct rp_comm *comm, const struct rp_matrix_row *row)
{
    const uint64_t most = rp_op_elements_max(call, comm);
    rp_status st = check_source(call, comm);
    st = st != RP_OK ? st : check_receive(call, row);
    if (st != RP_OK) {
        return st;
    }
    if (call->count > most) {
        return rp_fail(RP_EPARAM,
                "%s: count %" PRIu64 " is too large; at most %" PRIu64 " elements of dataType %d "
                "between %" PRIu32 " ranks",
                call->api, call->count, most, call->dtype, comm->size);
    }
    st = check_type(call, row);
    if (st == RP_OK && row->rooted && call->root >= comm->size) {
        return rp_fail(RP_EPARAM, "%s: root %" PRIu32 " is none of the %" PRIu32 " ranks of %s",
                call->api, call->root, comm->size, comm->name);
    }
    return st != RP_OK ? st : check_peer(call, comm);
}

rp_status rp_op_check(const struct rp_op_call *call, const struct rp_comm *comm)
{
    const rp_status st = check_pointers(call);
    return st != RP_OK ? st : check_values(call, comm, rp_matrix_row(call->op));
}

rp_status rp_op_stream(
        const struct rp_op_call *call, const struct rp_comm *comm, struct rp_stream **out)
{
    struct rp_stream *stream = rp_stream_from_handle(call->stream);
    if (stream == NULL) {
        return rp_fail(RP_EPARAM, "%s: stream %p is no stream, or has been destroyed", call->api,
                call->stream);
    }
    if (rp_device_id(stream->device) != comm->device_id) {
        return rp_fail(RP_EPARAM,
                "%s: stream %" PRId32 " is on device %" PRId32
                ", communicator %s on device %" PRId32,
                call->api, stream->id, rp_device_id(stream->device), comm->name, comm->device_id);
    }
    *out = stream;
    return RP_OK;
}

// ---- the op ----

static bool overlaps(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
    return a < b ? b - a < a_bytes : a - b < b_bytes;
}

// Whether two buffers are one in the way that an operator may be called in place: equal, or the
// smaller one this rank's own block of the larger. Any other block is some peer's to read or write.
static bool exactly_in_place(
        uint64_t send, uint64_t send_bytes, uint64_t recv, uint64_t recv_bytes, uint32_t rank)
{
    if (send_bytes == recv_bytes) {
        return send == recv;
    }
    return send_bytes > recv_bytes ? recv == send + rank * recv_bytes
                                   : send == recv + rank * send_bytes;
}

// A call that runs past the end of an allocation would have every rank read and write what lies
// behind it. Host memory that is none of ours cannot be checked. A buffer that the operator has no
// use for on this rank may be anything.
static rp_status check_buffers(const struct rp_op_call *call, const struct rp_comm *comm,
        const struct rp_matrix_row *row, const struct rp_op *op)
{
    if (call->op == RP_OP_BARRIER) {
        return RP_OK;
    }
    const uint64_t send_bytes = rp_input_bytes(&op->record, op->counts, comm->rank, comm->size);
    const uint64_t recv_bytes = rp_output_bytes(&op->record, op->counts, comm->rank, comm->size);
    const bool one_buffer = op->send == op->recv && send_bytes == recv_bytes;
    const char *send_name = one_buffer ? "the buffer" : "sendBuf";
    enum rp_place place;
    rp_status st = send_bytes == 0 ? RP_OK : rp_place_of(op->send, send_bytes, send_name, &place);
    if (st != RP_OK || one_buffer) {
        return st;
    }
    st = recv_bytes == 0 ? RP_OK : rp_place_of(op->recv, recv_bytes, "recvBuf", &place);
    if (send_bytes == 0 || recv_bytes == 0) {
        return st;
    }
    const uint64_t send = (uint64_t)(uintptr_t)op->send;
    const uint64_t recv = (uint64_t)(uintptr_t)op->recv;
    // Refused and not staged: a round's result would overwrite what later rounds still read.
    if (st == RP_OK && overlaps(send, send_bytes, recv, recv_bytes) &&
            !(row->in_place && exactly_in_place(send, send_bytes, recv, recv_bytes, comm->rank))) {
        return rp_fail(RP_EPARAM,
                "%s: sendBuf %p (%" PRIu64 " bytes) and recvBuf %p (%" PRIu64 " bytes) overlap, "
                "and neither as one buffer nor as rank %" PRIu32 "'s own block",
                call->api, op->send, send_bytes, op->recv, recv_bytes, comm->rank);
    }
    return st;
}

// Where the buffers lie. What peers can reach at one offset of the arena is contiguous; everything
// else goes through windows.
static void classify(const struct rp_comm *comm, struct rp_op *op)
{
    struct rp_record *record = &op->record;
    record->buffer_class = RP_CLASS_CONTIGUOUS;
    if (record->op == RP_OP_BARRIER) {
        return;
    }
    const uint64_t send_bytes = rp_input_bytes(record, op->counts, comm->rank, comm->size);
    const uint64_t recv_bytes = rp_output_bytes(record, op->counts, comm->rank, comm->size);
    uint64_t send = 0;
    uint64_t recv = 0;
    if ((send_bytes != 0 && !rp_arena_offset(comm->arena, op->send, send_bytes, &send)) ||
            (recv_bytes != 0 && !rp_arena_offset(comm->arena, op->recv, recv_bytes, &recv))) {
        record->buffer_class = RP_CLASS_STAGED;
        return;
    }
    record->send_off = send;
    record->recv_off = recv;
}

// The pages that a kernel may use of this rank's windows: exhaustion is an error here and no bus
// error later. Whether the op is staged hangs on every rank's buffers, so a large one is prepared.
static rp_status reserve_for_kernel(struct rp_comm *comm, const struct rp_record *record)
{
    // By rows there is no knowing how much the others have.
    const bool large = rp_op_has_row(record->op) ||
                       rp_record_send_bytes(record, comm->size) >
                               rp_min_u64(comm->settings.tuning.small_bytes, RP_SLOT_BYTES);
    return large && comm->size > 1 ? rp_comm_reserve_window(comm, RP_AIV_WINDOW_BYTES) : RP_OK;
}

// The op's lists, and the pages of the windows that they use.
static rp_status expand(struct rp_comm *comm, struct rp_op *op)
{
    const struct rp_record *record = &op->record;
    const struct rp_layout *layout = NULL;
    rp_status st = rp_comm_layout(comm, &layout);
    struct rp_expand_request request = {
        .op = record->op,
        .dtype = record->dtype,
        .reduce = record->reduce,
        .algorithm = record->algorithm,
        .root = op->counts == NULL ? record->root : 0, // one list for all tables
        .rank = comm->rank,
        .size = comm->size,
        .count = record->count,
        .window_bytes = comm->lines.window_bytes,
        .layout = layout,
    };
    if (rp_op_has_row(record->op)) {
        request.count = rp_expand_round_count(&request); // one list for all rows
    }
    st = st != RP_OK ? st : rp_comm_reserve_window(comm, rp_expand_window_bytes(&request));
    return st == RP_OK ? rp_expand_cached(comm, &request, &op->list, &op->tail) : st;
}

static uint64_t block_bytes_of(const struct rp_op_call *call, const struct rp_counts *counts)
{
    const uint64_t count = counts == NULL ? call->count : counts->most; // the same on all ranks
    return call->op == RP_OP_BARRIER ? 0 : count * rp_dtype_bytes((enum rp_dtype)call->dtype);
}

static rp_status make_op(const struct rp_op_call *call, struct rp_comm *comm,
        const struct rp_matrix_row *row, const struct rp_counts *counts, struct rp_op *op)
{
    // relaxed: a setting; ranks that differ in it find out by the digest.
    const uint32_t determinism = atomic_load_explicit(&comm->deterministic, memory_order_relaxed);
    enum rp_expansion expansion = RP_EXPANSION_AIV;
    enum rp_algorithm algorithm = RP_ALGORITHM_FUSED;
    const uint64_t bytes = block_bytes_of(call, counts);
    rp_status st = rp_select(comm, call->op, bytes, determinism, &expansion, &algorithm);
    if (st != RP_OK) {
        return st;
    }
    const bool aiv = expansion == RP_EXPANSION_AIV;
    *op = (struct rp_op){
        .comm = comm,
        .send = call->send,
        .recv = call->recv,
        .counts = counts,
        .record = {
                .count = call->count,
                .root = row->rooted || rp_op_is_pairs(call->op) ? call->root : 0,
                .op = call->op,
                .dtype = (uint8_t)call->dtype,
                .reduce = row->reduces ? (uint8_t)call->reduce : 0,
                .expansion = (uint8_t)expansion,
                .algorithm = (uint8_t)algorithm,
                .determinism = (uint8_t)determinism,
        },
    };
    if (call->op == RP_OP_ALLTOALL_V) {
        op->record.count = counts->total;
    } else if (counts != NULL) {
        op->record.count = counts->most;
        op->record.root = (uint32_t)counts->hash;
    }
    st = check_buffers(call, comm, row, op);
    if (st != RP_OK) {
        return st;
    }
    classify(comm, op);
    op->record.digest = rp_record_digest(&op->record);
    return aiv                        ? reserve_for_kernel(comm, &op->record)
           : rp_op_is_pairs(call->op) ? rp_pairs_reserve(comm)
                                      : expand(comm, op);
}

rp_status rp_op_make(const struct rp_op_call *call, struct rp_comm *comm, struct rp_op *op)
{
    const struct rp_matrix_row *row = rp_matrix_row(call->op);
    const struct rp_counts *counts = NULL;
    rp_status st = check_pointers(call);
    if (st == RP_OK &&
            (rp_op_is_uneven(call->op) ? rp_op_is_empty(call, comm) : call->count == 0)) {
        st = rp_fail(RP_EPARAM, "%s: count is 0, and a task that is recorded moves something",
                call->api);
    }
    st = st != RP_OK ? st : rp_op_check_table_buffers(call, comm);
    st = st != RP_OK ? st : check_values(call, comm, row);
    st = st != RP_OK ? st : rp_comm_status(comm);
    st = st != RP_OK ? st : rp_op_find_table(call, comm, &counts);
    return st != RP_OK ? st : make_op(call, comm, row, counts, op);
}

// HCCL_ENTRY_LOG_ENABLE.
void rp_op_log(
        const struct rp_op_call *call, const struct rp_comm *comm, const struct rp_stream *stream)
{
    const struct rp_hccl_env *env = NULL;
    if (!rp_log_enabled(RP_LOG_INFO) || rp_comm_environment(&env) != RP_OK || !env->entry_log) {
        return;
    }
    rp_log_info("Entry-%s: sendBuf[%p], recvBuf[%p], count[%" PRIu64 "], dataType[%d], op[%d], "
                "root[%" PRIu32 "], localRank[%" PRIu32 "], streamId[%" PRId32 "], comm[%s], "
                "deviceLogicId[%" PRId32 "]",
            call->api, call->send, call->recv, call->count, call->dtype, call->reduce, call->root,
            comm->rank, stream->id, comm->name, comm->device_id);
}

// Want of memory while the operator is made is want of memory for its task: a capture that went on
// would end as a graph that lacks it.
rp_status rp_op_lose_capture(struct rp_stream *stream, rp_status st)
{
    pthread_mutex_lock(&stream->context->capture_lock);
    if (stream->capture != NULL) {
        (void)rp_capture_invalidate(stream->capture, st);
    }
    pthread_mutex_unlock(&stream->context->capture_lock);
    return st;
}

static rp_status submit(const struct rp_op_call *call, struct rp_comm *comm)
{
    const struct rp_matrix_row *row = rp_matrix_row(call->op);
    struct rp_stream *stream = NULL;
    const struct rp_counts *counts = NULL;
    struct rp_op op;
    if (rp_op_is_empty(call, comm)) {
        return RP_OK;
    }
    rp_status st = rp_op_check_table_buffers(call, comm);
    st = st != RP_OK ? st : check_values(call, comm, row);
    st = st != RP_OK ? st : rp_op_stream(call, comm, &stream);
    st = st != RP_OK ? st : rp_comm_status(comm);
    st = st != RP_OK ? st : rp_op_find_table(call, comm, &counts);
    st = st != RP_OK ? st : make_op(call, comm, row, counts, &op);
    if (st != RP_OK) {
        return st == RP_ENOMEM && stream != NULL ? rp_op_lose_capture(stream, st) : st;
    }
    rp_op_log(call, comm, stream);
    const struct rp_task task = { .insn = { .kind = RP_INSN_COLLECTIVE }, .op = &op };
    return rp_stream_submit(stream, &task);
}

static bool moves_nothing(const struct rp_op_call *call)
{
    return !rp_op_is_uneven(call->op) && call->count == 0 &&
           (call->receive == NULL || call->receive->count == 0);
}

rp_status rp_op_submit(const struct rp_op_call *call)
{
    struct rp_comm *comm = NULL;
    rp_status st = rp_enter();
    if (st != RP_OK || moves_nothing(call)) {
        return st;
    }
    if (rp_group_is_open()) {
        return rp_group_note(rp_group_add(call));
    }
    st = check_handles(call);
    st = st != RP_OK ? st : check_pointers(call);
    st = st != RP_OK ? st : rp_comm_call_begin(call->api, call->comm, &comm);
    if (st != RP_OK) {
        return st;
    }
    st = submit(call, comm);
    rp_comm_call_end(comm);
    return st;
}
