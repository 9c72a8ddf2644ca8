// Streams of a built graph that start each other: aclrtActiveStream, aclrtSwitchStream.
//
// The tasks name a stream by its lane of the graph; capture's table of a bound stream looks whether
// that lane may be started.

#include "replay/stream_control.h"

#include <acl/acl_rt.h>

#include "base/error.h"
#include "replay/place.h"

static const void *model_of(const struct rp_stream *stream)
{
    // acquire: pairs with capture's stores at bind and unbind.
    return atomic_load_explicit(&stream->model, memory_order_acquire);
}

rp_status rp_stream_check_bound(const char *api, const struct rp_stream *stream)
{
    // acquire: pairs with capture's stores at the begin and end.
    if (atomic_load_explicit(&stream->capture_status, memory_order_acquire) != RP_CAPTURE_NONE) {
        return rp_fail(RP_ESTREAMCAPTURED,
                "%s: stream %d is capturing; only streams of a built graph take this call", api,
                stream->id);
    }
    if (model_of(stream) == NULL) {
        return rp_fail(RP_EBOUND, "%s: stream %d is not bound to a graph by aclmdlRIBindStream",
                api, stream->id);
    }
    return RP_OK;
}

rp_status rp_check_device_word(const char *api, const char *name, const void *ptr, uint64_t bytes)
{
    enum rp_place place;
    if (ptr == NULL) {
        return rp_fail(RP_ENULL, "%s: %s is a null pointer", api, name);
    }
    const rp_status st = rp_place_of(ptr, bytes, name, &place);
    if (st != RP_OK) {
        return st;
    }
    if (place != RP_PLACE_DEVICE || (uintptr_t)ptr % bytes != 0) {
        return rp_fail(RP_EPARAM, "%s: %s %p is not %llu aligned bytes of device memory", api, name,
                ptr, (unsigned long long)bytes);
    }
    return RP_OK;
}

// The stream that runs the task, and the one that it starts; both bound to one graph.
static rp_status resolve_pair(const char *api, const char *name, aclrtStream other_handle,
        aclrtStream handle, struct rp_stream **other, struct rp_stream **stream)
{
    if (other_handle == NULL) {
        return rp_fail(RP_ENULL, "%s: %s is a null pointer", api, name);
    }
    rp_status st = rp_stream_resolve(handle, stream);
    if (st == RP_OK) {
        st = rp_stream_check_bound(api, *stream);
    }
    if (st == RP_OK) {
        st = rp_stream_resolve(other_handle, other);
    }
    if (st == RP_OK) {
        st = rp_stream_check_bound(api, *other);
    }
    if (st == RP_OK && model_of(*other) != model_of(*stream)) {
        st = rp_fail(RP_EBOUND, "%s: streams %d and %d are bound to different graphs", api,
                (*stream)->id, (*other)->id);
    }
    return st;
}

static rp_status activate(aclrtStream active, aclrtStream handle)
{
    struct rp_stream *other = NULL;
    struct rp_stream *stream = NULL;
    const rp_status st =
            resolve_pair("aclrtActiveStream", "activeStream", active, handle, &other, &stream);
    if (st != RP_OK) {
        return st;
    }
    const struct rp_task task = { .insn = { .kind = RP_INSN_LANE_ACTIVATE,
                                          .index = other->capture_lane } };
    return rp_stream_submit(stream, &task);
}

aclError aclrtActiveStream(aclrtStream activeStream, aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? activate(activeStream, stream) : st);
}

struct comparison {
    const void *left, *right;
    aclrtCondition cond;
    aclrtCompareDataType type;
};

static rp_status check_comparison(const char *api, const struct comparison *c)
{
    if ((unsigned)c->cond > ACL_RT_LESS_OR_EQUAL) {
        return rp_fail(RP_EPARAM, "%s: cond is %d, which is no aclrtCondition", api, (int)c->cond);
    }
    if ((unsigned)c->type > ACL_RT_SWITCH_INT64) {
        return rp_fail(RP_EPARAM, "%s: dataType is %d; it can be INT32 (0) or INT64 (1)", api,
                (int)c->type);
    }
    const uint64_t bytes = c->type == ACL_RT_SWITCH_INT32 ? sizeof(int32_t) : sizeof(int64_t);
    const rp_status st = rp_check_device_word(api, "leftValue", c->left, bytes);
    return st == RP_OK ? rp_check_device_word(api, "rightValue", c->right, bytes) : st;
}

static rp_status switch_stream(const struct comparison *c, aclrtStream true_handle,
        const void *false_handle, aclrtStream handle)
{
    static const char *const api = "aclrtSwitchStream";
    struct rp_stream *other = NULL;
    struct rp_stream *stream = NULL;
    rp_status st = check_comparison(api, c);
    if (st == RP_OK && false_handle != NULL) {
        st = rp_fail(RP_EPARAM, "%s: falseStream is reserved and must be NULL", api);
    }
    if (st == RP_OK) {
        st = resolve_pair(api, "trueStream", true_handle, handle, &other, &stream);
    }
    if (st != RP_OK) {
        return st;
    }
    struct rp_task task = { .insn = { .kind = RP_INSN_LANE_SWITCH, .index = other->capture_lane } };
    task.insn.u.lane_switch.left = c->left;
    task.insn.u.lane_switch.right = c->right;
    task.insn.u.lane_switch.cond = (uint32_t)c->cond;
    task.insn.u.lane_switch.type = (uint32_t)c->type;
    return rp_stream_submit(stream, &task);
}

aclError aclrtSwitchStream(void *leftValue, aclrtCondition cond, void *rightValue,
        aclrtCompareDataType dataType, aclrtStream trueStream, aclrtStream falseStream,
        aclrtStream stream)
{
    const struct comparison comparison = {
        .left = leftValue, .right = rightValue, .cond = cond, .type = dataType
    };
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? switch_stream(&comparison, trueStream, falseStream, stream) : st);
}
