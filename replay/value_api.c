// Values in memory as signals: a stream stores 8 bytes, a stream waits until 8 bytes are as it
// wants them. Any writer will do: a stream, a copy, a kernel, the host, another process.

#include <acl/acl_rt.h>
#include <stdatomic.h>

#include "base/error.h"
#include "replay/context.h"
#include "replay/place.h"
#include "replay/stream.h"
#include "replay/value.h"

#define VALUE_BYTES sizeof(uint64_t)

rp_status rp_value_check_address(const void *address)
{
    enum rp_place place;
    if (address == NULL) {
        return rp_fail(RP_ENULL, "devAddr is a null pointer");
    }
    if ((uintptr_t)address % VALUE_BYTES != 0) {
        return rp_fail(RP_EPARAM, "devAddr %p is not a multiple of 8", address);
    }
    const rp_status st = rp_place_of(address, VALUE_BYTES, "devAddr", &place);
    if (st == RP_OK && place == RP_PLACE_PAGEABLE) {
        return rp_fail(
                RP_EPARAM, "devAddr %p is neither device memory nor pinned host memory", address);
    }
    return st;
}

static rp_status submit(
        void *address, uint64_t value, uint32_t flag, enum rp_insn_kind kind, aclrtStream handle)
{
    struct rp_stream *stream;
    rp_status st = rp_value_check_address(address);
    if (st == RP_OK) {
        st = rp_stream_resolve(handle, &stream);
    }
    if (st != RP_OK) {
        return st;
    }
    struct rp_task task = { .insn = { .kind = (uint8_t)kind, .flag = (uint8_t)flag } };
    task.insn.u.value.addr = address;
    task.insn.u.value.value = value;
    return rp_stream_submit(stream, &task);
}

static rp_status value_write(void *address, uint64_t value, uint32_t flag, aclrtStream stream)
{
    if (flag != 0) {
        return rp_fail(RP_EPARAM, "flag is %u; it is reserved and must be 0", flag);
    }
    return submit(address, value, flag, RP_INSN_VALUE_WRITE, stream);
}

aclError aclrtValueWrite(void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? value_write(devAddr, value, flag, stream) : st);
}

rp_status rp_value_check_wait(uint32_t flag)
{
    if (flag > ACL_STREAM_WAIT_VALUE_NOR) {
        return rp_fail(RP_EPARAM,
                "flag is %u, which is none of ACL_STREAM_WAIT_VALUE_GEQ, _EQ, _AND, _NOR: 0 to 3",
                flag);
    }
    return RP_OK;
}

static rp_status value_wait(void *address, uint64_t value, uint32_t flag, aclrtStream stream)
{
    const rp_status st = rp_value_check_wait(flag);
    if (st != RP_OK) {
        return st;
    }
    return submit(address, value, flag, RP_INSN_VALUE_WAIT, stream);
}

aclError aclrtValueWait(void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? value_wait(devAddr, value, flag, stream) : st);
}
