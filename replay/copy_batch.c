// Copies of many pieces in one call: all to the device, or all from it, in no order.

#include <acl/acl_rt.h>

#include "base/error.h"
#include "replay/context.h"
#include "replay/copy_plan.h"
#include "replay/place.h"
#include "replay/stream.h"

struct batch {
    void *const *dst;
    const size_t *room;
    void *const *src;
    const size_t *bytes;
    size_t count;
    const aclrtMemcpyBatchAttr *attr;
    const size_t *attr_first; // attr[k] counts from copy attr_first[k] on
    size_t attr_count;
    size_t *failed; // NULL: nobody asks
};

static void set_failed(const struct batch *batch, size_t index)
{
    if (batch->failed != NULL) {
        *batch->failed = index;
    }
}

static bool all_empty(const struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

static rp_status check_batch(const struct batch *batch)
{
    const struct {
        const void *pointer;
        const char *name;
    } pointers[] = {
        { batch->dst, "dsts" },
        { batch->room, "destMaxs" },
        { batch->src, "srcs" },
        { batch->attr, "attrs" },
        { batch->attr_first, "attrsIndexes" },
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(pointers); i++) {
        if (pointers[i].pointer == NULL) {
            return rp_fail(RP_ENULL, "%s is a null pointer", pointers[i].name);
        }
    }
    if (batch->attr_count == 0 || batch->attr_count > batch->count) {
        return rp_fail(RP_EPARAM, "numAttrs is %zu; it can be 1 to numBatches, %zu",
                batch->attr_count, batch->count);
    }
    for (size_t k = 0; k < batch->attr_count; k++) {
        const size_t first = batch->attr_first[k];
        if (k == 0 ? first != 0 : first <= batch->attr_first[k - 1] || first >= batch->count) {
            return rp_fail(RP_EPARAM,
                    "attrsIndexes[%zu] is %zu; they begin with 0 and ascend below numBatches", k,
                    first);
        }
    }
    return RP_OK;
}

// Whether memory at `ptr` is where the attribute says.
static rp_status check_location(
        const void *ptr, const aclrtMemLocation *said, const char *name, size_t index, bool *device)
{
    struct rp_location at;
    if (!rp_locate(ptr, &at)) {
        return rp_fail(RP_EPARAM, "%s[%zu] %p: nothing is allocated there", name, index, ptr);
    }
    *device = at.place == RP_PLACE_DEVICE;
    const bool said_device = said->type == ACL_MEM_LOCATION_TYPE_DEVICE;
    if (*device != said_device || (*device && said->id != (uint32_t)at.device_id)) {
        return rp_fail(RP_EPARAM, "%s[%zu] %p is memory of %s, and not what its attribute says",
                name, index, ptr, *device ? "a device" : "the host");
    }
    return RP_OK;
}

static rp_status check_copy(
        const struct batch *batch, size_t i, const aclrtMemcpyBatchAttr *attr, bool pinned_only)
{
    struct rp_copy_plan plan;
    bool to_device;
    bool from_device;
    if (batch->dst[i] == NULL || batch->src[i] == NULL) {
        return rp_fail(RP_EPARAM, "dsts[%zu] or srcs[%zu] is a null pointer", i, i);
    }
    if (batch->bytes[i] == 0 || batch->bytes[i] > batch->room[i]) {
        return rp_fail(RP_EPARAM, "sizes[%zu] is %zu; it can be 1 to destMaxs[%zu], %zu", i,
                batch->bytes[i], i, batch->room[i]);
    }
    rp_status st = check_location(batch->dst[i], &attr->dstLoc, "dsts", i, &to_device);
    if (st == RP_OK) {
        st = check_location(batch->src[i], &attr->srcLoc, "srcs", i, &from_device);
    }
    if (st == RP_OK && to_device == from_device) {
        st = rp_fail(RP_EPARAM, "copy %zu is not between host and device", i);
    }
    if (st == RP_OK) {
        st = rp_copy_plan(batch->dst[i], batch->bytes[i], batch->src[i], batch->bytes[i],
                to_device ? ACL_MEMCPY_HOST_TO_DEVICE : ACL_MEMCPY_DEVICE_TO_HOST, &plan);
    }
    if (st == RP_OK && pinned_only && plan.pageable) {
        st = rp_fail(RP_EPARAM, "copy %zu: its host memory is pageable; use aclrtMallocHost", i);
    }
    return st;
}

// All copies are checked before the first one runs.
static rp_status check_copies(const struct batch *batch, bool pinned_only)
{
    size_t k = 0;
    for (size_t i = 0; i < batch->count; i++) {
        if (k + 1 < batch->attr_count && i >= batch->attr_first[k + 1]) {
            k++;
        }
        const rp_status st = check_copy(batch, i, &batch->attr[k], pinned_only);
        if (st != RP_OK) {
            set_failed(batch, i);
            return st;
        }
    }
    return RP_OK;
}

// *ends: there is nothing (more) to do.
static rp_status check_call(const struct batch *batch, bool *ends)
{
    *ends = true;
    if (batch->bytes == NULL) {
        return rp_fail(RP_ENULL, "sizes is a null pointer");
    }
    if (batch->count == 0) {
        return rp_fail(RP_EINVAL, "numBatches is 0");
    }
    set_failed(batch, SIZE_MAX);
    *ends = all_empty(batch);
    return *ends ? RP_OK : check_batch(batch);
}

static rp_status copy_sync(const struct batch *batch)
{
    struct rp_context *context;
    bool ends;
    rp_status st = check_call(batch, &ends);
    if (st == RP_OK && !ends) {
        st = rp_context_current(&context);
    }
    if (st == RP_OK && !ends) {
        st = check_copies(batch, false);
    }
    for (size_t i = 0; st == RP_OK && !ends && i < batch->count; i++) {
        rp_copy_now(batch->dst[i], batch->src[i], batch->bytes[i]);
    }
    return st;
}

static rp_status copy_async(const struct batch *batch, aclrtStream handle)
{
    struct rp_stream *stream;
    bool ends;
    rp_status st = check_call(batch, &ends);
    if (st == RP_OK && !ends) {
        st = rp_stream_resolve(handle, &stream);
    }
    if (st == RP_OK && !ends) {
        st = check_copies(batch, true);
    }
    for (size_t i = 0; st == RP_OK && !ends && i < batch->count; i++) {
        struct rp_task task = { .insn = { .kind = RP_INSN_COPY } };
        task.insn.u.copy.dst = batch->dst[i];
        task.insn.u.copy.src = batch->src[i];
        task.insn.u.copy.bytes = batch->bytes[i];
        st = rp_stream_submit(stream, &task);
        if (st != RP_OK) {
            set_failed(batch, i);
        }
    }
    return st;
}

aclError aclrtMemcpyBatch(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes,
        size_t numBatches, aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs,
        size_t *failIndex)
{
    const struct batch batch = { dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes,
        numAttrs, failIndex };
    rp_status st = rp_enter();
    if (st == RP_OK && failIndex == NULL) {
        st = rp_fail(RP_ENULL, "failIndex is a null pointer");
    }
    return rp_acl(st == RP_OK ? copy_sync(&batch) : st);
}

aclError aclrtMemcpyBatchV2(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes,
        size_t numBatches, aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs)
{
    const struct batch batch = { dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes,
        numAttrs, NULL };
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? copy_sync(&batch) : st);
}

aclError aclrtMemcpyBatchAsync(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes,
        size_t numBatches, aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs,
        size_t *failIndex, aclrtStream stream)
{
    const struct batch batch = { dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes,
        numAttrs, failIndex };
    rp_status st = rp_enter();
    if (st == RP_OK && failIndex == NULL) {
        st = rp_fail(RP_ENULL, "failIndex is a null pointer");
    }
    return rp_acl(st == RP_OK ? copy_async(&batch, stream) : st);
}

aclError aclrtMemcpyBatchAsyncV2(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes,
        size_t numBatches, aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs,
        aclrtStream stream)
{
    const struct batch batch = { dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes,
        numAttrs, NULL };
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? copy_async(&batch, stream) : st);
}
