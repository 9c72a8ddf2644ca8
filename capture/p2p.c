// Send, Recv and BatchSendRecv.

#include "capture/p2p.h"

#include <hccl/hccl.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "capture/comm_extra.h"
#include "capture/expand_list.h"
#include "capture/group.h"
#include "capture/select.h"
#include "replay/batch.h"
#include "replay/place.h"

#define API_BYTES 48

// Larger pieces would leave the cache before the receiver takes them.
#define PIECE_BYTES_MAX (UINT64_C(128) * 1024)

struct rp_pair_lanes rp_pairs_lanes(uint64_t window_bytes, uint32_t ranks)
{
    const struct rp_expand_request request = { .window_bytes = window_bytes, .size = ranks };
    const struct rp_part region = rp_expand_region(&request, RP_REGION_PAIRS);
    const uint64_t half = region.bytes / ranks / 2;
    const uint64_t half_bytes = half - half % RP_CACHELINE;
    return (struct rp_pair_lanes){
        .off = region.off,
        .half_bytes = half_bytes,
        .piece_bytes = rp_min_u64(half_bytes, PIECE_BYTES_MAX),
    };
}

rp_status rp_pairs_reserve(struct rp_comm *comm)
{
    const struct rp_pair_lanes *lanes = &comm->pair_lanes;
    if (lanes->piece_bytes == 0) {
        return rp_fail(RP_EPARAM,
                "windows of %" PRIu64 " bytes have no room for sends between %" PRIu32
                " ranks; raise HCCL_BUFFSIZE",
                comm->lines.window_bytes, comm->size);
    }
    return rp_comm_reserve_window(comm, lanes->off + 2 * lanes->half_bytes * comm->size);
}

HcclResult HcclSend(void *sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank,
        HcclComm comm, aclrtStream stream)
{
    const struct rp_op_call call = {
        .api = "HcclSend",
        .op = RP_OP_SEND,
        .send = sendBuf,
        .count = count,
        .dtype = (int)dataType,
        .reduce = -1,
        .root = destRank,
        .comm = comm,
        .stream = stream,
    };
    return (HcclResult)rp_hccl(rp_op_submit(&call));
}

HcclResult HcclRecv(void *recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank,
        HcclComm comm, aclrtStream stream)
{
    const struct rp_op_call call = {
        .api = "HcclRecv",
        .op = RP_OP_RECEIVE,
        .recv = recvBuf,
        .count = count,
        .dtype = (int)dataType,
        .reduce = -1,
        .root = srcRank,
        .comm = comm,
        .stream = stream,
    };
    return (HcclResult)rp_hccl(rp_op_submit(&call));
}

// ---- batches ----

static bool moves_something(const struct rp_op_call *call)
{
    return call->count != 0 && (call->op == RP_OP_SEND ? call->send : call->recv) != NULL;
}

rp_status rp_batch_item(
        const struct rp_op_call *call, const struct rp_comm *comm, struct rp_pair_item *item)
{
    rp_status st = rp_op_check(call, comm);
    if (st != RP_OK) {
        return st;
    }
    const bool sends = call->op == RP_OP_SEND;
    *item = (struct rp_pair_item){
        .buf = sends ? (void *)(uintptr_t)call->send : call->recv,
        .count = call->count,
        .peer = call->root,
        .dtype = (uint8_t)call->dtype,
        .sends = sends,
    };
    char name[API_BYTES + 16];
    snprintf(name, sizeof(name), "%s: %s", call->api, sends ? "sendBuf" : "recvBuf");
    enum rp_place place;
    return rp_place_of(
            item->buf, call->count * rp_dtype_bytes((enum rp_dtype)call->dtype), name, &place);
}

// NULL in *out: nothing moves.
static rp_status make_batch(const struct rp_op_call *calls, uint32_t count,
        const struct rp_comm *comm, struct rp_batch **out)
{
    uint32_t items = 0;
    for (uint32_t i = 0; i < count; i++) {
        items += moves_something(&calls[i]);
    }
    *out = NULL;
    if (items == 0) {
        return RP_OK;
    }
    struct rp_batch *batch = NULL;
    rp_status st = rp_batch_create(items, &batch);
    items = 0;
    for (uint32_t i = 0; st == RP_OK && i < count; i++) {
        if (moves_something(&calls[i])) {
            st = rp_batch_item(&calls[i], comm, &batch->item[items++]);
        }
    }
    if (st == RP_OK) {
        *out = batch;
    } else if (batch != NULL) {
        rp_batch_unref(batch);
    }
    return st;
}

rp_status rp_batch_op(struct rp_comm *comm, struct rp_batch *batch, struct rp_op *op)
{
    enum rp_expansion expansion = RP_EXPANSION_HOST_TS;
    enum rp_algorithm algorithm = RP_ALGORITHM_FUSED;
    rp_status st = rp_select(comm, RP_OP_BATCH_SEND_RECV, 0, 0, &expansion, &algorithm);
    st = st != RP_OK ? st : rp_pairs_reserve(comm);
    if (st != RP_OK) {
        return st;
    }
    *op = (struct rp_op){
        .comm = comm,
        .batch = batch,
        .record = {
                .count = batch->count,
                .op = RP_OP_BATCH_SEND_RECV,
                .expansion = (uint8_t)expansion,
                .algorithm = (uint8_t)algorithm,
                .buffer_class = RP_CLASS_STAGED,
        },
    };
    op->record.digest = rp_record_digest(&op->record);
    return RP_OK;
}

// A line an item, as for the calls of a group.
static void log_batch(const struct rp_op_call *calls, uint32_t count, const struct rp_comm *comm,
        const struct rp_stream *stream)
{
    for (uint32_t i = 0; i < count; i++) {
        if (moves_something(&calls[i])) {
            rp_op_log(&calls[i], comm, stream);
        }
    }
}

static rp_status submit_batch(
        struct rp_comm *comm, struct rp_stream *stream, struct rp_batch *batch)
{
    struct rp_op op;
    const rp_status st = rp_batch_op(comm, batch, &op);
    const struct rp_task task = { .insn = { .kind = RP_INSN_COLLECTIVE }, .op = &op };
    return st != RP_OK ? st : rp_stream_submit(stream, &task);
}

rp_status rp_batch_submit(
        const struct rp_op_call *frame, const struct rp_op_call *calls, uint32_t count)
{
    struct rp_comm *comm = NULL;
    struct rp_stream *stream = NULL;
    struct rp_batch *batch = NULL;
    if (frame->stream == NULL) {
        return rp_fail(RP_ENULL, "%s: stream is NULL", frame->api);
    }
    rp_status st = rp_comm_call_begin(frame->api, frame->comm, &comm);
    if (st != RP_OK) {
        return st;
    }
    st = rp_op_stream(frame, comm, &stream);
    st = st != RP_OK ? st : rp_comm_status(comm);
    st = st != RP_OK ? st : make_batch(calls, count, comm, &batch);
    if (st == RP_OK && batch != NULL) {
        log_batch(calls, count, comm, stream);
        st = submit_batch(comm, stream, batch);
        rp_batch_unref(batch);
    }
    rp_comm_call_end(comm);
    return st == RP_ENOMEM && stream != NULL ? rp_op_lose_capture(stream, st) : st;
}

// The item as the call that it stands for. `api` names the item.
static rp_status call_of(const HcclSendRecvItem *item, uint32_t index, char *api,
        const struct rp_op_call *frame, struct rp_op_call *call)
{
    snprintf(api, API_BYTES, "HcclBatchSendRecv: item %" PRIu32, index);
    const bool sends = item->sendRecvType == HCCL_SEND;
    if (!sends && item->sendRecvType != HCCL_RECV) {
        return rp_fail(RP_EPARAM, "%s: sendRecvType %d is neither HCCL_SEND nor HCCL_RECV", api,
                (int)item->sendRecvType);
    }
    *call = (struct rp_op_call){
        .api = api,
        .op = sends ? RP_OP_SEND : RP_OP_RECEIVE,
        .send = sends ? item->buf : NULL,
        .recv = sends ? NULL : item->buf,
        .count = item->count,
        .dtype = (int)item->dataType,
        .reduce = -1,
        .root = item->remoteRank,
        .comm = frame->comm,
        .stream = frame->stream,
    };
    return RP_OK;
}

static rp_status batch_send_recv(
        const struct rp_op_call *frame, const HcclSendRecvItem *items, uint32_t count)
{
    const char *name = frame->stream == NULL ? "stream"
                       : frame->comm == NULL ? "comm"
                       : items == NULL       ? "sendRecvInfo"
                                             : NULL;
    if (name != NULL) {
        return rp_fail(RP_ENULL, "%s: %s is NULL", frame->api, name);
    }
    struct rp_op_call *calls = rp_calloc(count, sizeof(*calls));
    char(*api)[API_BYTES] = rp_calloc(count, sizeof(*api));
    rp_status st = RP_OK;
    if (calls == NULL || api == NULL) {
        st = rp_fail(RP_ENOMEM, "%s: no memory for %" PRIu32 " items", frame->api, count);
    }
    for (uint32_t i = 0; st == RP_OK && i < count; i++) {
        st = call_of(&items[i], i, api[i], frame, &calls[i]);
    }
    if (st == RP_OK) {
        st = rp_group_is_open() ? rp_group_add_batch(calls, count)
                                : rp_batch_submit(frame, calls, count);
    }
    rp_free(api);
    rp_free(calls);
    return st;
}

HcclResult HcclBatchSendRecv(
        HcclSendRecvItem *sendRecvInfo, uint32_t itemNum, HcclComm comm, aclrtStream stream)
{
    const struct rp_op_call frame = {
        .api = "HcclBatchSendRecv",
        .op = RP_OP_BATCH_SEND_RECV,
        .comm = comm,
        .stream = stream,
    };
    rp_status st = rp_enter();
    if (st == RP_OK && itemNum != 0) {
        st = rp_group_note(batch_send_recv(&frame, sendRecvInfo, itemNum));
    }
    return (HcclResult)rp_hccl(st);
}
