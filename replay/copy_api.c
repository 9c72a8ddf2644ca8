// Copies of one piece: aclrtMemcpy, aclrtMemcpyAsync.

#include <acl/acl_rt.h>
#include <stdatomic.h>

#include "base/error.h"
#include "replay/context.h"
#include "replay/copy_plan.h"
#include "replay/prof.h"
#include "replay/stream.h"

static rp_status check_args(
        const void *dst, size_t room, const void *src, size_t count, aclrtMemcpyKind kind)
{
    if (dst == NULL || src == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", dst == NULL ? "dst" : "src");
    }
    if ((int)kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE) {
        return rp_fail(RP_EINVAL, "kind is %d; it can be %d to %d here", (int)kind,
                ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE);
    }
    if (count > room) {
        return rp_fail(RP_EPARAM, "count is %zu, but destMax only %zu", count, room);
    }
    return RP_OK;
}

// ---- synchronous ----

static rp_status copy_sync(
        void *dst, size_t room, const void *src, size_t count, aclrtMemcpyKind kind)
{
    struct rp_context *context;
    struct rp_copy_plan plan;
    if (count == 0) {
        return RP_OK;
    }
    rp_status st = check_args(dst, room, src, count, kind);
    if (st == RP_OK) {
        st = rp_context_current(&context);
    }
    if (st != RP_OK || dst == src) {
        return st;
    }
    st = rp_copy_plan(dst, count, src, count, kind, &plan);
    if (st == RP_OK) {
        st = rp_capture_unsafe_allowed(context, "aclrtMemcpy", RP_ECAPMODE);
    }
    if (st == RP_OK) {
        rp_copy_now(dst, src, count);
    }
    return st;
}

aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind)
{
    const uint64_t began_ns = rp_prof_begin();
    const rp_status st = rp_enter();
    const aclError answer = rp_acl(st == RP_OK ? copy_sync(dst, destMax, src, count, kind) : st);
    rp_prof_end(RP_PROF_MEMCPY, began_ns);
    return answer;
}

// ---- asynchronous ----

static struct rp_task copy_task(void *dst, const void *src, size_t count, bool pageable)
{
    struct rp_task task = { .insn = { .kind = RP_INSN_COPY }, .pageable = pageable };
    task.insn.u.copy.dst = dst;
    task.insn.u.copy.src = src;
    task.insn.u.copy.bytes = count;
    return task;
}

// A captured copy would have to take the data at each replay, when it is too late: refused as
// pageable memory is.
static rp_status copy_staged(struct rp_stream *stream, void *dst, const void *src, size_t count)
{
    if (!rp_stream_records(stream)) {
        return rp_stream_copy_staged(stream, dst, src, count);
    }
    const struct rp_task refused = copy_task(dst, src, count, true);
    return rp_copy_pageable(stream, &refused, "aclrtMemcpyAsync of kind HOST_TO_BUF_TO_DEVICE");
}

static rp_status copy_async(void *dst, size_t room, const void *src, size_t count,
        aclrtMemcpyKind kind, aclrtStream handle)
{
    struct rp_stream *stream;
    struct rp_copy_plan plan;
    if (count == 0) {
        return RP_OK;
    }
    rp_status st = check_args(dst, room, src, count, kind);
    if (st == RP_OK) {
        st = rp_stream_resolve(handle, &stream);
    }
    if (st == RP_OK) {
        st = rp_copy_plan(dst, count, src, count, kind, &plan);
    }
    if (st != RP_OK) {
        return st;
    }
    if (plan.direction == RP_HOST_TO_HOST) {
        return rp_fail(RP_ENOTSUP, "an asynchronous copy from host to host is not supported");
    }
    if (dst == src) {
        return RP_OK;
    }
    if (kind == ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE && plan.direction == RP_HOST_TO_DEVICE) {
        return copy_staged(stream, dst, src, count);
    }
    const struct rp_task task = copy_task(dst, src, count, plan.pageable);
    if (!plan.pageable) {
        return rp_stream_submit(stream, &task);
    }
    st = rp_copy_pageable(stream, &task, "aclrtMemcpyAsync of pageable host memory");
    if (st == RP_OK) {
        rp_copy_now(dst, src, count);
    }
    return st;
}

aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count,
        aclrtMemcpyKind kind, aclrtStream stream)
{
    const uint64_t began_ns = rp_prof_begin();
    const rp_status st = rp_enter();
    const aclError answer =
            rp_acl(st == RP_OK ? copy_async(dst, destMax, src, count, kind, stream) : st);
    rp_prof_end(RP_PROF_MEMCPY_ASYNC, began_ns);
    return answer;
}

aclError aclrtMemcpyAsyncWithCondition(void *dst, size_t destMax, const void *src, size_t count,
        aclrtMemcpyKind kind, aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? copy_async(dst, destMax, src, count, kind, stream) : st);
}
