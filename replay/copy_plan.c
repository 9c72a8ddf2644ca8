// Which way a copy goes. Everything is memory of one host, so "which way" does not change how bytes
// move; it decides whether the call may be asynchronous, and which calls are errors on a chip.

#include "replay/copy_plan.h"

#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "kernels/copy.h"
#include "replay/context.h"
#include "replay/stream.h"

// The direction for memory that no device knows at one or both ends.
static enum rp_direction direction_by_kind(
        enum rp_place dst, enum rp_place src, aclrtMemcpyKind kind)
{
    const bool to_device = kind == ACL_MEMCPY_HOST_TO_DEVICE ||
                           kind == ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE ||
                           kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
    const bool from_device =
            kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
    const bool dst_device = dst == RP_PLACE_DEVICE || (dst == RP_PLACE_PAGEABLE && to_device);
    const bool src_device = src == RP_PLACE_DEVICE || (src == RP_PLACE_PAGEABLE && from_device);
    if (dst_device) {
        return src_device ? RP_DEVICE_TO_DEVICE : RP_HOST_TO_DEVICE;
    }
    return src_device ? RP_DEVICE_TO_HOST : RP_HOST_TO_HOST;
}

rp_status rp_copy_plan(const void *dst, uint64_t dst_bytes, const void *src, uint64_t src_bytes,
        aclrtMemcpyKind kind, struct rp_copy_plan *out)
{
    enum rp_place to;
    enum rp_place from;
    rp_status st = rp_place_of(dst, dst_bytes, "dst", &to);
    if (st == RP_OK) {
        st = rp_place_of(src, src_bytes, "src", &from);
    }
    if (st != RP_OK) {
        return st;
    }
    out->direction = direction_by_kind(to, from, kind);
    out->pageable = (to == RP_PLACE_PAGEABLE || from == RP_PLACE_PAGEABLE) &&
                    out->direction != RP_DEVICE_TO_DEVICE;
    return RP_OK;
}

void rp_copy_now(void *dst, const void *src, size_t bytes)
{
    const uintptr_t to = (uintptr_t)dst;
    const uintptr_t from = (uintptr_t)src;
    if (to - from < bytes || from - to < bytes) {
        memmove(dst, src, bytes);
    } else {
        rp_copy(dst, src, bytes);
    }
}

rp_status rp_copy_pageable(struct rp_stream *stream, const struct rp_task *task, const char *call)
{
    if (rp_stream_records(stream)) {
        const rp_status st = rp_stream_submit(stream, task);
        return st != RP_OK ? st
                           : rp_fail(RP_EPARAM,
                                     "%s: a copy of pageable host memory cannot be captured; use "
                                     "aclrtMallocHost",
                                     call);
    }
    const rp_status st = rp_capture_unsafe_allowed(stream->context, call, RP_EBLOCKASYNC);
    return st == RP_OK ? rp_stream_await(stream, UINT64_MAX) : st;
}
