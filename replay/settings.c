// Settings of the process and of a context: timeouts, options, limits, the overflow mode.
//
// All of them are plain values; a call that changes one is ordered before the calls that it is
// about by the program, so relaxed accesses do throughout.

#include "replay/settings.h"

#include <acl/acl_rt.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "replay/context.h"
#include "replay/primary.h"

/* The unit in which kernels are timed, and the longest time: as on an A2 server, but exact. */
#define OP_TIMEOUT_UNIT_US UINT64_C(1000)
#define OP_TIMEOUT_DEFAULT_US (UINT64_C(1836) * 1000000)
#define OP_TIMEOUT_MAX_US ((UINT64_C(1) << 32) * 1000 - 1000)

static _Atomic uint32_t op_wait_s;
static _Atomic uint64_t op_execute_us = OP_TIMEOUT_DEFAULT_US;
static _Atomic int64_t sys_param[RP_CONTEXT_OPTS];

// ---- timeouts ----

uint64_t rp_op_wait_timeout_ns(void)
{
    return atomic_load_explicit(&op_wait_s, memory_order_relaxed) * RP_NS_PER_S;
}

uint64_t rp_op_execute_timeout_ns(void)
{
    return atomic_load_explicit(&op_execute_us, memory_order_relaxed) * RP_NS_PER_US;
}

aclError aclrtSetOpWaitTimeout(uint32_t timeout)
{
    const rp_status st = rp_enter();
    if (st == RP_OK) {
        atomic_store_explicit(&op_wait_s, timeout, memory_order_relaxed);
    }
    return rp_acl(st);
}

// Rounded up to the unit; 0 asks for the longest. Answers what counts.
static uint64_t set_op_execute(uint64_t us)
{
    uint64_t actual_us = OP_TIMEOUT_MAX_US;
    if (us != 0 && us < OP_TIMEOUT_MAX_US) {
        actual_us = (us + OP_TIMEOUT_UNIT_US - 1) / OP_TIMEOUT_UNIT_US * OP_TIMEOUT_UNIT_US;
    }
    atomic_store_explicit(&op_execute_us, actual_us, memory_order_relaxed);
    return actual_us;
}

aclError aclrtSetOpExecuteTimeOut(uint32_t timeout)
{
    const rp_status st = rp_enter();
    if (st == RP_OK) {
        set_op_execute((uint64_t)timeout * 1000000);
    }
    return rp_acl(st);
}

aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t timeout)
{
    const rp_status st = rp_enter();
    if (st == RP_OK) {
        set_op_execute((uint64_t)timeout * 1000);
    }
    return rp_acl(st);
}

aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t *actualTimeout)
{
    rp_status st = rp_enter();
    if (st == RP_OK && actualTimeout == NULL) {
        st = rp_fail(RP_ENULL, "actualTimeout is a null pointer");
    }
    if (st == RP_OK) {
        *actualTimeout = set_op_execute(timeout);
    }
    return rp_acl(st);
}

aclError aclrtGetOpExecuteTimeout(uint32_t *const timeoutMs)
{
    rp_status st = rp_enter();
    if (st == RP_OK && timeoutMs == NULL) {
        st = rp_fail(RP_ENULL, "timeoutMs is a null pointer");
    }
    if (st == RP_OK) {
        *timeoutMs = (uint32_t)(rp_op_execute_timeout_ns() / RP_NS_PER_MS);
    }
    return rp_acl(st);
}

aclError aclrtGetOpTimeOutInterval(uint64_t *interval)
{
    rp_status st = rp_enter();
    if (st == RP_OK && interval == NULL) {
        st = rp_fail(RP_ENULL, "interval is a null pointer");
    }
    if (st == RP_OK) {
        *interval = OP_TIMEOUT_UNIT_US;
    }
    return rp_acl(st);
}

// ---- options ----

int64_t rp_sys_param(struct rp_context *context, uint32_t opt)
{
    if ((atomic_load_explicit(&context->opts_set, memory_order_relaxed) >> opt & 1) != 0) {
        return atomic_load_explicit(&context->opt[opt], memory_order_relaxed);
    }
    return atomic_load_explicit(&sys_param[opt], memory_order_relaxed);
}

static rp_status check_opt(aclSysParamOpt opt, aclSysParamOpt last)
{
    if ((int)opt < 0 || opt > last) {
        return rp_fail(RP_EINVAL, "opt is %d; it can be 0 to %d here", (int)opt, (int)last);
    }
    return RP_OK;
}

static rp_status set_opt(aclSysParamOpt opt, int64_t value)
{
    const rp_status st = check_opt(opt, ACL_OPT_ENABLE_KERNEL_EARLY_START);
    if (st == RP_OK) {
        atomic_store_explicit(&sys_param[opt], value, memory_order_relaxed);
    }
    return st;
}

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? set_opt(opt, value) : st);
}

static rp_status get_opt(aclSysParamOpt opt, int64_t *value)
{
    if (value == NULL) {
        return rp_fail(RP_ENULL, "value is a null pointer");
    }
    const rp_status st = check_opt(opt, ACL_OPT_ENABLE_KERNEL_EARLY_START);
    if (st == RP_OK) {
        *value = atomic_load_explicit(&sys_param[opt], memory_order_relaxed);
    }
    return st;
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t *value)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_opt(opt, value) : st);
}

static rp_status set_context_opt(aclSysParamOpt opt, int64_t value)
{
    struct rp_context *context;
    rp_status st = check_opt(opt, ACL_OPT_STRONG_CONSISTENCY);
    if (st == RP_OK) {
        st = rp_context_current(&context);
    }
    if (st == RP_OK) {
        atomic_store_explicit(&context->opt[opt], value, memory_order_relaxed);
        atomic_fetch_or_explicit(&context->opts_set, 1u << (unsigned)opt, memory_order_relaxed);
    }
    return st;
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? set_context_opt(opt, value) : st);
}

static rp_status get_context_opt(aclSysParamOpt opt, int64_t *value)
{
    struct rp_context *context;
    if (value == NULL) {
        return rp_fail(RP_ENULL, "value is a null pointer");
    }
    rp_status st = check_opt(opt, ACL_OPT_STRONG_CONSISTENCY);
    if (st == RP_OK) {
        st = rp_context_current(&context);
    }
    if (st != RP_OK) {
        return st;
    }
    const uint32_t set = atomic_load_explicit(&context->opts_set, memory_order_relaxed);
    if ((set >> (unsigned)opt & 1) == 0) {
        return rp_fail(RP_ENOTSET, "option %d was never set in this context", (int)opt);
    }
    *value = atomic_load_explicit(&context->opt[opt], memory_order_relaxed);
    return RP_OK;
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_context_opt(opt, value) : st);
}

// ---- the overflow mode of a device ----

// Our arithmetic is IEEE's, so infinities and NaN are what an overflow gives until it is asked for
// otherwise: 1 + the mode that was set, 0 none.
static _Atomic uint32_t saturation[RP_ENV_DEVICES_MAX];

static rp_status set_mode(aclrtFloatOverflowMode mode)
{
    struct rp_context *context;
    if (mode != ACL_RT_OVERFLOW_MODE_SATURATION && mode != ACL_RT_OVERFLOW_MODE_INFNAN) {
        return rp_fail(RP_EPARAM, "mode is %d; it can be SATURATION (0) or INFNAN (1)", (int)mode);
    }
    const rp_status st = rp_context_current(&context);
    if (st == RP_OK) {
        atomic_store_explicit(
                &saturation[context->device_id], 1u + (uint32_t)mode, memory_order_relaxed);
    }
    return st;
}

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? set_mode(mode) : st);
}

static rp_status get_mode(aclrtFloatOverflowMode *mode)
{
    struct rp_context *context;
    if (mode == NULL) {
        return rp_fail(RP_ENULL, "mode is a null pointer");
    }
    const rp_status st = rp_context_current(&context);
    if (st == RP_OK) {
        const uint32_t set =
                atomic_load_explicit(&saturation[context->device_id], memory_order_relaxed);
        *mode = set == 0 ? ACL_RT_OVERFLOW_MODE_INFNAN : (aclrtFloatOverflowMode)(set - 1);
    }
    return st;
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode *mode)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_mode(mode) : st);
}
