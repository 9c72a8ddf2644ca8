// Cores: what the chip has, and the limits for a device, a stream and a thread.
//
// A program plans its kernels by these numbers. They are the chip's, not the host's: a program that
// was written for a chip finds what it expects, and how many threads really share a kernel is
// REPRISE_AIV_CORES. Of the limits a stream's outranks the device's, but only in threads that asked
// for it, and the device's outranks the chip.

#include "replay/cores.h"

#include <acl/acl_rt.h>
#include <stdatomic.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "base/util.h"
#include "replay/context.h"
#include "replay/primary.h"
#include "replay/stream.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define LIMIT_TYPES 2 // aclrtDevResLimitType

static const struct {
    const char *prefix;
    struct rp_chip chip;
} chips[] = {
    { "Ascend910B1", { 24, 48, 6, 192 * MIB, 192 * KIB } },
    { "Ascend910B2", { 24, 48, 6, 192 * MIB, 192 * KIB } },
    { "Ascend910B", { 20, 40, 6, 192 * MIB, 192 * KIB } },
    { "Ascend910_93", { 24, 48, 6, 192 * MIB, 192 * KIB } },
    { "", { 24, 48, 6, 192 * MIB, 192 * KIB } },
};

const struct rp_chip *rp_chip(void)
{
    const char *name = rp_env_device()->soc_name;
    size_t i = 0;
    while (strncmp(name, chips[i].prefix, strlen(chips[i].prefix)) != 0) {
        i++; // the last one fits all
    }
    return &chips[i].chip;
}

// relaxed throughout: plain values, ordered by the program before the launches they are about.
static _Atomic uint32_t device_limit[RP_ENV_DEVICES_MAX][LIMIT_TYPES]; // 0: not set

static uint32_t chip_cores(aclrtDevResLimitType type)
{
    return type == ACL_RT_DEV_RES_CUBE_CORE ? rp_chip()->cube_cores : rp_chip()->vector_cores;
}

static uint32_t device_cores(int32_t device_id, aclrtDevResLimitType type)
{
    const uint32_t limit =
            atomic_load_explicit(&device_limit[device_id][type], memory_order_relaxed);
    return limit != 0 ? limit : chip_cores(type);
}

static rp_status check_type(aclrtDevResLimitType type)
{
    if ((uint32_t)type >= LIMIT_TYPES) {
        return rp_fail(
                RP_EPARAM, "type is %d; it can be CUBE_CORE (0) or VECTOR_CORE (1)", (int)type);
    }
    return RP_OK;
}

static rp_status check_value(aclrtDevResLimitType type, uint32_t value)
{
    const rp_status st = check_type(type);
    if (st == RP_OK && (value == 0 || value > chip_cores(type))) {
        return rp_fail(RP_EPARAM, "value is %u; the chip has 1 to %u of these cores", value,
                chip_cores(type));
    }
    return st;
}

// ---- of a device ----

static rp_status get_device_limit(int32_t id, aclrtDevResLimitType type, uint32_t *value)
{
    if (value == NULL) {
        return rp_fail(RP_ENULL, "value is a null pointer");
    }
    rp_status st = rp_device_check_id(id);
    if (st == RP_OK) {
        st = check_type(type);
    }
    if (st == RP_OK) {
        *value = device_cores(id, type);
    }
    return st;
}

aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t *value)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_device_limit(deviceId, type, value) : st);
}

static rp_status set_device_limit(int32_t id, aclrtDevResLimitType type, uint32_t value)
{
    rp_status st = rp_device_check_id(id);
    if (st == RP_OK) {
        st = check_value(type, value);
    }
    if (st == RP_OK) {
        atomic_store_explicit(&device_limit[id][type], value, memory_order_relaxed);
    }
    return st;
}

aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? set_device_limit(deviceId, type, value) : st);
}

static rp_status reset_device_limit(int32_t id)
{
    const rp_status st = rp_device_check_id(id);
    for (int type = 0; st == RP_OK && type < LIMIT_TYPES; type++) {
        atomic_store_explicit(&device_limit[id][type], 0, memory_order_relaxed);
    }
    return st;
}

aclError aclrtResetDeviceResLimit(int32_t deviceId)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? reset_device_limit(deviceId) : st);
}

// ---- of a stream ----

static rp_status set_stream_limit(aclrtStream handle, aclrtDevResLimitType type, uint32_t value)
{
    struct rp_stream *stream;
    rp_status st = check_value(type, value);
    if (st == RP_OK) {
        st = rp_stream_resolve(handle, &stream);
    }
    if (st == RP_OK) {
        atomic_store_explicit(&stream->res_limit[type], value, memory_order_relaxed);
    }
    return st;
}

aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? set_stream_limit(stream, type, value) : st);
}

static rp_status get_stream_limit(aclrtStream handle, aclrtDevResLimitType type, uint32_t *value)
{
    struct rp_stream *stream;
    if (value == NULL) {
        return rp_fail(RP_ENULL, "value is a null pointer");
    }
    rp_status st = check_type(type);
    if (st == RP_OK) {
        st = rp_stream_resolve(handle, &stream);
    }
    if (st == RP_OK) {
        const uint32_t limit = atomic_load_explicit(&stream->res_limit[type], memory_order_relaxed);
        *value = limit != 0 ? limit : device_cores(stream->context->device_id, type);
    }
    return st;
}

aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t *value)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_stream_limit(stream, type, value) : st);
}

static rp_status reset_stream_limit(aclrtStream handle)
{
    struct rp_stream *stream;
    const rp_status st = rp_stream_resolve(handle, &stream);
    for (int type = 0; st == RP_OK && type < LIMIT_TYPES; type++) {
        atomic_store_explicit(&stream->res_limit[type], 0, memory_order_relaxed);
    }
    return st;
}

aclError aclrtResetStreamResLimit(aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? reset_stream_limit(stream) : st);
}

// ---- of the calling thread ----

// NULL: with none.
static rp_status plan_with(struct rp_stream *stream)
{
    struct rp_thread *thread = rp_thread_self();
    if (thread == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the thread's choice of cores");
    }
    if (stream != NULL) {
        rp_stream_ref(stream);
    }
    if (thread->planned != NULL) {
        rp_stream_unref(thread->planned);
    }
    thread->planned = stream;
    return RP_OK;
}

static rp_status use_stream(aclrtStream handle)
{
    struct rp_stream *stream;
    const rp_status st = rp_stream_resolve(handle, &stream);
    return st == RP_OK ? plan_with(stream) : st;
}

aclError aclrtUseStreamResInCurrentThread(aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? use_stream(stream) : st);
}

static rp_status unuse_stream(aclrtStream handle)
{
    struct rp_stream *stream;
    const rp_status st = rp_stream_resolve(handle, &stream);
    if (st != RP_OK) {
        return st;
    }
    const struct rp_thread *thread = rp_thread_self();
    return thread != NULL && thread->planned == stream ? plan_with(NULL) : RP_OK;
}

aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? unuse_stream(stream) : st);
}

static rp_status get_thread_limit(aclrtDevResLimitType type, uint32_t *value)
{
    struct rp_context *context;
    if (value == NULL) {
        return rp_fail(RP_ENULL, "value is a null pointer");
    }
    rp_status st = check_type(type);
    if (st == RP_OK) {
        st = rp_context_current(&context);
    }
    if (st != RP_OK) {
        return st;
    }
    const struct rp_thread *thread = rp_thread_self();
    uint32_t limit = 0;
    if (thread != NULL && thread->planned != NULL) {
        limit = atomic_load_explicit(&thread->planned->res_limit[type], memory_order_relaxed);
    }
    *value = limit != 0 ? limit : device_cores(context->device_id, type);
    return RP_OK;
}

aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t *value)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_thread_limit(type, value) : st);
}
