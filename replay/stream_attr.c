// Attributes of streams: what a stream was created with, what it does when a task fails, and the
// values that it keeps for its users.

#include <acl/acl_rt.h>
#include <stdatomic.h>

#include "base/error.h"
#include "replay/context.h"
#include "replay/stream.h"
#include "replay/stream_alias.h"

#define PRIORITY_LOWEST 7

_Atomic(rp_stream_alias_fn *) rp_stream_alias;

// ---- what it was created with ----

/* A stream of a graph, which has no live handle. */
static bool get_alias_id(aclrtStream handle, int32_t *id)
{
    // acquire [A1]: pairs with the store in aclmdlRIGetStreams, which gave the handle out.
    rp_stream_alias_fn *const alias = atomic_load_explicit(&rp_stream_alias, memory_order_acquire);
    return alias != NULL && handle != NULL && rp_stream_from_handle(handle) == NULL &&
           alias(handle, id);
}

static rp_status get_id(aclrtStream handle, int32_t *id)
{
    struct rp_stream *stream;
    if (id == NULL) {
        return rp_fail(RP_ENULL, "streamId is a null pointer");
    }
    if (get_alias_id(handle, id)) {
        return RP_OK;
    }
    const rp_status st = rp_stream_resolve(handle, &stream);
    if (st == RP_OK) {
        *id = stream->id;
    }
    return st;
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t *streamId)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_id(stream, streamId) : st);
}

static rp_status get_priority(aclrtStream handle, uint32_t *priority)
{
    struct rp_stream *stream;
    if (priority == NULL) {
        return rp_fail(RP_ENULL, "priority is a null pointer");
    }
    const rp_status st = rp_stream_resolve(handle, &stream);
    if (st == RP_OK) {
        *priority = atomic_load_explicit(&stream->priority, memory_order_relaxed);
    }
    return st;
}

aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t *priority)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_priority(stream, priority) : st);
}

static rp_status get_flags(aclrtStream handle, uint32_t *flags)
{
    struct rp_stream *stream;
    if (flags == NULL) {
        return rp_fail(RP_ENULL, "flags is a null pointer");
    }
    const rp_status st = rp_stream_resolve(handle, &stream);
    if (st == RP_OK) {
        *flags = stream->flags;
    }
    return st;
}

aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t *flags)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_flags(stream, flags) : st);
}

aclError aclrtDeviceGetStreamPriorityRange(int32_t *leastPriority, int32_t *greatestPriority)
{
    const rp_status st = rp_enter();
    if (st == RP_OK && leastPriority != NULL) {
        *leastPriority = PRIORITY_LOWEST;
    }
    if (st == RP_OK && greatestPriority != NULL) {
        *greatestPriority = 0;
    }
    return rp_acl(st);
}

// ---- what it keeps ----

// ACL_STOP_ON_FAILURE is for good.
static rp_status set_failure_mode(struct rp_stream *stream, uint64_t mode)
{
    if (mode != ACL_CONTINUE_ON_FAILURE && mode != ACL_STOP_ON_FAILURE) {
        return rp_fail(RP_EPARAM,
                "mode is %llu; it can be ACL_CONTINUE_ON_FAILURE (0) or ACL_STOP_ON_FAILURE (1)",
                (unsigned long long)mode);
    }
    // relaxed: ordered before the tasks that it is about by the program.
    const uint32_t now = atomic_load_explicit(&stream->failure_mode, memory_order_relaxed);
    if (now == ACL_STOP_ON_FAILURE && mode != now) {
        return rp_fail(RP_EPARAM, "stream %d is in ACL_STOP_ON_FAILURE, which cannot be taken back",
                stream->id);
    }
    atomic_store_explicit(&stream->failure_mode, (uint32_t)mode, memory_order_relaxed);
    return RP_OK;
}

// What capture does not allow while the stream takes part.
static rp_status check_not_capturing(const struct rp_stream *stream, const char *what)
{
    // acquire: pairs with capture's store at the begin and end.
    if (atomic_load_explicit(&stream->capture_status, memory_order_acquire) != RP_CAPTURE_NONE) {
        return rp_fail(RP_ESTREAMCAPTURED, "%s of stream %d cannot be set: it is capturing", what,
                stream->id);
    }
    return RP_OK;
}

// relaxed, here and below: plain values that the program sets before it depends on them.
static rp_status set_switch(struct rp_stream *stream, _Atomic uint32_t *field, const char *what,
        uint32_t value, bool while_capturing)
{
    if (value > 1) {
        return rp_fail(RP_EPARAM, "%s is %u; it can be 0 or 1", what, value);
    }
    const rp_status st = while_capturing ? RP_OK : check_not_capturing(stream, what);
    if (st == RP_OK) {
        atomic_store_explicit(field, value, memory_order_relaxed);
    }
    return st;
}

static rp_status set_custom_tag(struct rp_stream *stream, uint32_t tag)
{
    const rp_status st = check_not_capturing(stream, "the custom tag");
    if (st == RP_OK) {
        atomic_store_explicit(&stream->custom_tag, tag, memory_order_relaxed);
    }
    return st;
}

static rp_status set_priority(struct rp_stream *stream, uint32_t priority)
{
    if (priority > PRIORITY_LOWEST) {
        return rp_fail(RP_EPARAM, "priority is %u; it can be 0 (highest) to %d", priority,
                PRIORITY_LOWEST);
    }
    atomic_store_explicit(&stream->priority, priority, memory_order_relaxed);
    return RP_OK;
}

static rp_status set_attribute(
        aclrtStream handle, aclrtStreamAttr attr, const aclrtStreamAttrValue *value)
{
    struct rp_stream *stream;
    if (value == NULL) {
        return rp_fail(RP_ENULL, "value is a null pointer");
    }
    const rp_status st = rp_stream_resolve(handle, &stream);
    if (st != RP_OK) {
        return st;
    }
    switch (attr) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
        return set_failure_mode(stream, value->failureMode);
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
        return set_switch(stream, &stream->overflow_switch, "the overflow switch",
                value->overflowSwitch, false);
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
        return set_custom_tag(stream, value->userCustomTag);
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
        return set_switch(stream, &stream->cache_op_info, "the op info switch",
                value->cacheOpInfoSwitch, true);
    case ACL_STREAM_ATTR_PRIORITY:
        return set_priority(stream, value->streamPriority);
    }
    return rp_fail(RP_EPARAM, "stmAttrType is %d; there is no such attribute", (int)attr);
}

aclError aclrtSetStreamAttribute(
        aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue *value)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? set_attribute(stream, stmAttrType, value) : st);
}

static rp_status get_attribute(
        aclrtStream handle, aclrtStreamAttr attr, aclrtStreamAttrValue *value)
{
    struct rp_stream *stream;
    if (value == NULL) {
        return rp_fail(RP_ENULL, "value is a null pointer");
    }
    const rp_status st = rp_stream_resolve(handle, &stream);
    if (st != RP_OK) {
        return st;
    }
    bool capturing;
    switch (attr) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
        value->failureMode = atomic_load_explicit(&stream->failure_mode, memory_order_relaxed);
        return RP_OK;
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
        value->overflowSwitch =
                atomic_load_explicit(&stream->overflow_switch, memory_order_relaxed);
        return RP_OK;
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
        value->userCustomTag = atomic_load_explicit(&stream->custom_tag, memory_order_relaxed);
        return RP_OK;
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
        // acquire: pairs with capture's store at the begin and end.
        capturing = atomic_load_explicit(&stream->capture_status, memory_order_acquire) !=
                    RP_CAPTURE_NONE;
        value->cacheOpInfoSwitch =
                capturing ? atomic_load_explicit(&stream->cache_op_info, memory_order_relaxed) : 0;
        return RP_OK;
    case ACL_STREAM_ATTR_PRIORITY:
        value->streamPriority = atomic_load_explicit(&stream->priority, memory_order_relaxed);
        return RP_OK;
    }
    return rp_fail(RP_EPARAM, "stmAttrType is %d; there is no such attribute", (int)attr);
}

aclError aclrtGetStreamAttribute(
        aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue *value)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_attribute(stream, stmAttrType, value) : st);
}

static rp_status set_mode(aclrtStream handle, uint64_t mode)
{
    struct rp_stream *stream;
    const rp_status st = rp_stream_resolve(handle, &stream);
    return st == RP_OK ? set_failure_mode(stream, mode) : st;
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? set_mode(stream, mode) : st);
}

static rp_status set_overflow(aclrtStream handle, uint32_t flag)
{
    struct rp_stream *stream;
    if (flag > 1) {
        return rp_fail(RP_EINVAL, "flag is %u; it can be 0 or 1", flag);
    }
    const rp_status st = rp_stream_resolve(handle, &stream);
    return st == RP_OK ? set_switch(stream, &stream->overflow_switch, "the overflow switch", flag,
                                 false)
                       : st;
}

aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? set_overflow(stream, flag) : st);
}

static rp_status get_overflow(aclrtStream handle, uint32_t *flag)
{
    struct rp_stream *stream;
    if (flag == NULL) {
        return rp_fail(RP_ENULL, "flag is a null pointer");
    }
    const rp_status st = rp_stream_resolve(handle, &stream);
    if (st == RP_OK) {
        *flag = atomic_load_explicit(&stream->overflow_switch, memory_order_relaxed);
    }
    return st;
}

aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t *flag)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_overflow(stream, flag) : st);
}
