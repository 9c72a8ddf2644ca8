// Copies of rows: aclrtMemcpy2d, aclrtMemcpy2dAsync.

#include <acl/acl_rt.h>

#include "base/error.h"
#include "kernels/copy.h"
#include "replay/context.h"
#include "replay/copy_plan.h"
#include "replay/stream.h"

/* Bounds of the interface. */
#define WIDTH_MAX 5000000
#define HEIGHT_MAX (5 * 1024 * 1024)

struct rows {
    void *dst;
    size_t dst_pitch;
    const void *src;
    size_t src_pitch;
    size_t width;
    size_t height;
};

static rp_status check_rows(const struct rows *rows, aclrtMemcpyKind kind)
{
    if (rows->dst == NULL || rows->src == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", rows->dst == NULL ? "dst" : "src");
    }
    if (rows->width > rows->src_pitch || rows->width > rows->dst_pitch) {
        return rp_fail(RP_EINVAL, "width is %zu; it can be at most spitch, %zu, and dpitch, %zu",
                rows->width, rows->src_pitch, rows->dst_pitch);
    }
    if (rows->width > WIDTH_MAX || rows->height > HEIGHT_MAX) {
        return rp_fail(RP_EINVAL, "width is %zu and height %zu; they can be at most %d and %d",
                rows->width, rows->height, WIDTH_MAX, HEIGHT_MAX);
    }
    if (kind != ACL_MEMCPY_HOST_TO_DEVICE && kind != ACL_MEMCPY_DEVICE_TO_HOST &&
            kind != ACL_MEMCPY_DEVICE_TO_DEVICE && kind != ACL_MEMCPY_DEFAULT) {
        return rp_fail(RP_EINVAL, "kind is %d; rows are copied with kinds 1 to 4", (int)kind);
    }
    return RP_OK;
}

// From the first byte of the first row to the last of the last. Pitches may be absurd.
static rp_status span(size_t pitch, const struct rows *rows, const char *name, uint64_t *out)
{
    uint64_t gaps;
    if (__builtin_mul_overflow((uint64_t)pitch, (uint64_t)rows->height - 1, &gaps) ||
            __builtin_add_overflow(gaps, (uint64_t)rows->width, out)) {
        return rp_fail(RP_EINVAL, "%s %zu and height %zu overflow", name, pitch, rows->height);
    }
    return RP_OK;
}

static rp_status plan_rows(const struct rows *rows, aclrtMemcpyKind kind, struct rp_copy_plan *plan)
{
    uint64_t dst_bytes;
    uint64_t src_bytes;
    rp_status st = span(rows->dst_pitch, rows, "dpitch", &dst_bytes);
    if (st == RP_OK) {
        st = span(rows->src_pitch, rows, "spitch", &src_bytes);
    }
    if (st == RP_OK) {
        st = rp_copy_plan(rows->dst, dst_bytes, rows->src, src_bytes, kind, plan);
    }
    if (st == RP_OK && plan->direction == RP_HOST_TO_HOST) {
        st = rp_fail(RP_EPARAM, "rows are not copied from host to host");
    }
    return st;
}

static void copy_rows_now(const struct rows *rows)
{
    rp_copy_2d(rows->dst, rows->dst_pitch, rows->src, rows->src_pitch, rows->width, rows->height);
}

static rp_status copy_sync(const struct rows *rows, aclrtMemcpyKind kind)
{
    struct rp_context *context;
    struct rp_copy_plan plan;
    if (rows->width == 0 || rows->height == 0) {
        return RP_OK;
    }
    rp_status st = check_rows(rows, kind);
    if (st == RP_OK && kind == ACL_MEMCPY_DEVICE_TO_DEVICE) {
        st = rp_fail(RP_ENOTSUP, "rows are not copied within the device synchronously");
    }
    if (st == RP_OK) {
        st = rp_context_current(&context);
    }
    if (st == RP_OK) {
        st = plan_rows(rows, kind, &plan);
    }
    if (st == RP_OK && plan.direction == RP_DEVICE_TO_DEVICE) {
        st = rp_fail(RP_EPARAM, "rows are not copied within the device synchronously");
    }
    if (st == RP_OK) {
        st = rp_capture_unsafe_allowed(context, "aclrtMemcpy2d", RP_ECAPMODE);
    }
    if (st == RP_OK) {
        copy_rows_now(rows);
    }
    return st;
}

aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
        size_t height, aclrtMemcpyKind kind)
{
    const struct rows rows = { dst, dpitch, src, spitch, width, height };
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? copy_sync(&rows, kind) : st);
}

static rp_status copy_async(const struct rows *rows, aclrtMemcpyKind kind, aclrtStream handle)
{
    struct rp_stream *stream;
    struct rp_copy_plan plan;
    if (rows->width == 0 || rows->height == 0) {
        return RP_OK;
    }
    rp_status st = check_rows(rows, kind);
    if (st == RP_OK) {
        st = rp_stream_resolve(handle, &stream);
    }
    if (st == RP_OK) {
        st = plan_rows(rows, kind, &plan);
    }
    if (st != RP_OK) {
        return st;
    }
    struct rp_task task = { .insn = { .kind = RP_INSN_COPY_2D }, .pageable = plan.pageable };
    task.insn.u.copy_2d.dst = rows->dst;
    task.insn.u.copy_2d.src = rows->src;
    task.insn.u.copy_2d.dst_pitch = rows->dst_pitch;
    task.insn.u.copy_2d.src_pitch = rows->src_pitch;
    task.insn.u.copy_2d.width = rows->width;
    task.insn.u.copy_2d.height = rows->height;
    if (!plan.pageable) {
        return rp_stream_submit(stream, &task);
    }
    st = rp_copy_pageable(stream, &task, "aclrtMemcpy2dAsync of pageable host memory");
    if (st == RP_OK) {
        copy_rows_now(rows);
    }
    return st;
}

aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
        size_t height, aclrtMemcpyKind kind, aclrtStream stream)
{
    const struct rows rows = { dst, dpitch, src, spitch, width, height };
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? copy_async(&rows, kind, stream) : st);
}
