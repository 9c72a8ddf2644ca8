// Users' functions on a stream: the two schemes, which one stream does not mix.
//
//   aclrtSubscribeReport ... aclrtLaunchCallback   run by the program's own thread in
//                                                  aclrtProcessReport; the queue is report.c's
//   aclrtLaunchHostFunc                            run by a thread of ours; callback.c

#include <acl/acl_rt.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/error.h"
#include "replay/callback.h"
#include "replay/context.h"
#include "replay/prof.h"
#include "replay/stream.h"

// The stream, unless it has chosen aclrtLaunchHostFunc.
static rp_status resolve_for_report(aclrtStream handle, const char *call, struct rp_stream **out)
{
    const rp_status st = rp_stream_resolve(handle, out);
    // relaxed: mixing the schemes from two threads at once is the program's error.
    if (st == RP_OK && atomic_load_explicit(&(*out)->host_fn_used, memory_order_relaxed)) {
        return rp_fail(RP_ESUBSCRIBE,
                "%s: stream %d uses aclrtLaunchHostFunc; one stream cannot do both", call,
                (*out)->id);
    }
    return st;
}

static rp_status subscribe(uint64_t thread_id, aclrtStream handle)
{
    struct rp_stream *stream;
    const rp_status st = resolve_for_report(handle, "aclrtSubscribeReport", &stream);
    if (st != RP_OK) {
        return st;
    }
    if (thread_id == 0) {
        return rp_fail(RP_EPARAM, "threadId is 0; it is the value of pthread_self() of a thread");
    }
    return rp_report_subscribe(thread_id, stream);
}

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? subscribe(threadId, stream) : st);
}

static rp_status unsubscribe(uint64_t thread_id, aclrtStream handle)
{
    struct rp_stream *stream;
    const rp_status st = resolve_for_report(handle, "aclrtUnSubscribeReport", &stream);
    return st == RP_OK ? rp_report_unsubscribe(thread_id, stream) : st;
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? unsubscribe(threadId, stream) : st);
}

static rp_status launch_callback(
        aclrtCallback fn, void *arg, aclrtCallbackBlockType block, aclrtStream handle)
{
    struct rp_stream *stream;
    if (block != ACL_CALLBACK_NO_BLOCK && block != ACL_CALLBACK_BLOCK) {
        return rp_fail(
                RP_EINVAL, "blockType is %d; it can be NO_BLOCK (0) or BLOCK (1)", (int)block);
    }
    if (fn == NULL) {
        return rp_fail(RP_EPARAM, "fn is a null pointer");
    }
    rp_status st = resolve_for_report(handle, "aclrtLaunchCallback", &stream);
    if (st == RP_OK) {
        st = rp_report_check(stream);
    }
    if (st != RP_OK) {
        return st;
    }
    struct rp_task task = { .insn = { .kind = RP_INSN_CALLBACK,
                                    .flag = block == ACL_CALLBACK_BLOCK } };
    task.insn.u.call.fn = fn;
    task.insn.u.call.arg = arg;
    task.insn.u.call.stream = stream; // captured, it is replayed on another one
    return rp_stream_submit(stream, &task);
}

aclError aclrtLaunchCallback(
        aclrtCallback fn, void *userData, aclrtCallbackBlockType blockType, aclrtStream stream)
{
    const uint64_t began_ns = rp_prof_begin();
    const rp_status st = rp_enter();
    const aclError answer =
            rp_acl(st == RP_OK ? launch_callback(fn, userData, blockType, stream) : st);
    rp_prof_end(RP_PROF_LAUNCH_CALLBACK, began_ns);
    return answer;
}

static rp_status process(int32_t timeout_ms)
{
    if (timeout_ms < -1 || timeout_ms == 0) {
        return rp_fail(
                RP_EINVAL, "timeout is %d ms; it can be -1 (no limit) or more than 0", timeout_ms);
    }
    return rp_report_process(timeout_ms == -1 ? UINT64_MAX : (uint64_t)timeout_ms * RP_NS_PER_MS);
}

aclError aclrtProcessReport(int32_t timeout)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? process(timeout) : st);
}

static rp_status launch_host_fn(aclrtStream handle, aclrtHostFunc fn, void *arg)
{
    struct rp_stream *stream;
    if (fn == NULL) {
        return rp_fail(RP_EPARAM, "fn is a null pointer");
    }
    const rp_status st = rp_stream_resolve(handle, &stream);
    if (st != RP_OK) {
        return st;
    }
    // relaxed, here and below: as in resolve_for_report.
    if (atomic_load_explicit(&stream->report_thread, memory_order_relaxed) != 0) {
        return rp_fail(RP_ESUBSCRIBE,
                "aclrtLaunchHostFunc: stream %d is subscribed to by a thread "
                "(aclrtSubscribeReport); "
                "one stream cannot do both",
                stream->id);
    }
    struct rp_task task = { .insn = { .kind = RP_INSN_HOST_FN } };
    task.insn.u.call.fn = fn;
    task.insn.u.call.arg = arg;
    const rp_status submitted = rp_stream_submit(stream, &task);
    if (submitted == RP_OK) {
        atomic_store_explicit(&stream->host_fn_used, true, memory_order_relaxed);
    }
    return submitted;
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void *args)
{
    const uint64_t began_ns = rp_prof_begin();
    const rp_status st = rp_enter();
    const aclError answer = rp_acl(st == RP_OK ? launch_host_fn(stream, fn, args) : st);
    rp_prof_end(RP_PROF_LAUNCH_HOST_FUNC, began_ns);
    return answer;
}
