// Fills: aclrtMemset by bytes, aclrtMemsetD32 by words.

#include <acl/acl_rt.h>

#include "base/error.h"
#include "kernels/copy.h"
#include "replay/context.h"
#include "replay/place.h"
#include "replay/prof.h"
#include "replay/stream.h"

// ---- bytes ----

static rp_status check_pointer(const void *ptr)
{
    return ptr == NULL ? rp_fail(RP_ENULL, "devPtr is a null pointer") : RP_OK;
}

static rp_status check_bytes(const void *ptr, size_t room, size_t count)
{
    enum rp_place place;
    if (count > room) {
        return rp_fail(RP_EPARAM, "count is %zu, but maxCount only %zu", count, room);
    }
    return rp_place_of(ptr, count, "devPtr", &place);
}

static rp_status fill_sync(void *ptr, size_t room, int32_t value, size_t count)
{
    struct rp_context *context;
    if (count == 0) {
        return RP_OK;
    }
    rp_status st = check_pointer(ptr);
    if (st == RP_OK) {
        st = rp_context_current(&context);
    }
    if (st == RP_OK) {
        st = check_bytes(ptr, room, count);
    }
    if (st == RP_OK) {
        st = rp_capture_unsafe_allowed(context, "aclrtMemset", RP_ECAPMODE);
    }
    if (st == RP_OK) {
        rp_fill(ptr, value, count);
    }
    return st;
}

aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count)
{
    const uint64_t began_ns = rp_prof_begin();
    const rp_status st = rp_enter();
    const aclError answer = rp_acl(st == RP_OK ? fill_sync(devPtr, maxCount, value, count) : st);
    rp_prof_end(RP_PROF_MEMSET, began_ns);
    return answer;
}

static rp_status fill_async(void *ptr, size_t room, int32_t value, size_t count, aclrtStream handle)
{
    struct rp_stream *stream;
    if (count == 0) {
        return RP_OK;
    }
    rp_status st = check_pointer(ptr);
    if (st == RP_OK) {
        st = rp_stream_resolve(handle, &stream);
    }
    if (st == RP_OK) {
        st = check_bytes(ptr, room, count);
    }
    if (st != RP_OK) {
        return st;
    }
    struct rp_task task = { .insn = { .kind = RP_INSN_FILL } };
    task.insn.u.fill.dst = ptr;
    task.insn.u.fill.count = count;
    task.insn.u.fill.value = (uint32_t)value;
    return rp_stream_submit(stream, &task);
}

aclError aclrtMemsetAsync(
        void *devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream)
{
    const uint64_t began_ns = rp_prof_begin();
    const rp_status st = rp_enter();
    const aclError answer =
            rp_acl(st == RP_OK ? fill_async(devPtr, maxCount, value, count, stream) : st);
    rp_prof_end(RP_PROF_MEMSET_ASYNC, began_ns);
    return answer;
}

// ---- words ----

static rp_status check_words(const void *ptr, size_t room, size_t count)
{
    enum rp_place place;
    if (ptr == NULL) {
        return rp_fail(RP_ENULL, "ptr is a null pointer");
    }
    if ((uintptr_t)ptr % sizeof(uint32_t) != 0) {
        return rp_fail(RP_EINVAL, "ptr %p is not a multiple of 4", ptr);
    }
    if (count > room / sizeof(uint32_t)) {
        return rp_fail(RP_EINVAL, "N is %zu words, but memSize only %zu bytes", count, room);
    }
    const rp_status st = rp_place_of(ptr, count * sizeof(uint32_t), "ptr", &place);
    if (st == RP_OK && place == RP_PLACE_PAGEABLE) {
        return rp_fail(RP_EINVAL, "ptr %p is neither device memory nor pinned host memory", ptr);
    }
    return st;
}

static rp_status fill_words_sync(void *ptr, size_t room, uint32_t value, size_t count)
{
    struct rp_context *context;
    if (count == 0) {
        return RP_OK;
    }
    rp_status st = check_words(ptr, room, count);
    if (st == RP_OK) {
        st = rp_context_current(&context);
    }
    if (st != RP_OK) {
        return st;
    }
    uint32_t *words = ptr;
    for (size_t i = 0; i < count; i++) {
        words[i] = value;
    }
    return RP_OK;
}

aclError aclrtMemsetD32(void *ptr, size_t memSize, uint32_t value, size_t N)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? fill_words_sync(ptr, memSize, value, N) : st);
}

static rp_status fill_words_async(
        void *ptr, size_t room, uint32_t value, size_t count, aclrtStream handle)
{
    struct rp_stream *stream;
    if (count == 0) {
        return RP_OK;
    }
    rp_status st = check_words(ptr, room, count);
    if (st == RP_OK) {
        st = rp_stream_resolve(handle, &stream);
    }
    if (st != RP_OK) {
        return st;
    }
    struct rp_task task = { .insn = { .kind = RP_INSN_FILL_32 } };
    task.insn.u.fill.dst = ptr;
    task.insn.u.fill.count = count;
    task.insn.u.fill.value = value;
    return rp_stream_submit(stream, &task);
}

aclError aclrtMemsetD32Async(
        void *ptr, size_t memSize, uint32_t value, size_t N, aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? fill_words_async(ptr, memSize, value, N, stream) : st);
}
