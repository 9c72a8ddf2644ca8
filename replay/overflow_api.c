// The overflow state of floating-point arithmetic. Ours is IEEE's: what overflows becomes infinite
// and nothing is ever cut to the largest number, which is what the state would tell of. So it is
// always clear; who asks for it gets it in stream order all the same.

#include <acl/acl_rt.h>
#include <stdatomic.h>

#include "base/error.h"
#include "replay/context.h"
#include "replay/place.h"
#include "replay/stream.h"

#define STATE_BYTES 64

static rp_status resolve(aclrtStream handle, const char *call, struct rp_stream **out)
{
    const rp_status st = rp_stream_resolve(handle, out);
    // acquire: pairs with capture's store at the begin and end.
    if (st == RP_OK && atomic_load_explicit(&(*out)->capture_status, memory_order_acquire) !=
                               RP_CAPTURE_NONE) {
        return rp_fail(RP_ESTREAMCAPTURED, "%s: stream %d is capturing", call, (*out)->id);
    }
    return st;
}

static rp_status get_state(void *out, size_t bytes, aclrtStream handle)
{
    struct rp_stream *stream;
    enum rp_place place;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "outputAddr is a null pointer");
    }
    if (bytes != STATE_BYTES) {
        return rp_fail(RP_EPARAM, "outputSize is %zu; the state has %d bytes", bytes, STATE_BYTES);
    }
    rp_status st = rp_place_of(out, bytes, "outputAddr", &place);
    if (st == RP_OK && place != RP_PLACE_DEVICE) {
        st = rp_fail(RP_EPARAM, "outputAddr %p is no device memory", out);
    }
    if (st == RP_OK) {
        st = resolve(handle, "aclrtGetOverflowStatus", &stream);
    }
    if (st != RP_OK) {
        return st;
    }
    struct rp_task task = { .insn = { .kind = RP_INSN_FILL } };
    task.insn.u.fill.dst = out;
    task.insn.u.fill.count = bytes;
    return rp_stream_submit(stream, &task);
}

aclError aclrtGetOverflowStatus(void *outputAddr, size_t outputSize, aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_state(outputAddr, outputSize, stream) : st);
}

static rp_status reset_state(aclrtStream handle)
{
    struct rp_stream *stream;
    const rp_status st = resolve(handle, "aclrtResetOverflowStatus", &stream);
    const struct rp_task nothing = { .insn = { .kind = RP_INSN_NOP } };
    return st == RP_OK ? rp_stream_submit(stream, &nothing) : st;
}

aclError aclrtResetOverflowStatus(aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? reset_state(stream) : st);
}
