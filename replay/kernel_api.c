// Kernels: what is asked of one, and kernels of the program itself.

#include <acl/acl_rt.h>
#include <dlfcn.h>
#include <elf.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "replay/binary.h"
#include "replay/context.h"
#include "replay/cores.h"
#include "replay/kernel_function.h"

// ---- kernels of the program ----

static rp_status register_kernel(const char *name, reprise_kernel_fn fn,
        const struct reprise_kernel_param *params, size_t param_count, aclrtFuncHandle *out)
{
    // One at a time, or two threads could register the same function.
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (name == NULL || fn == NULL || (params == NULL && param_count != 0)) {
        return rp_fail(RP_ENULL, "%s is a null pointer",
                name == NULL ? "name"
                : fn == NULL ? "fn"
                             : "params");
    }
    if (param_count > UINT32_MAX) {
        return rp_fail(RP_EPARAM, "kernel %s cannot have %zu parameters", name, param_count);
    }
    void *address;
    memcpy(&address, &fn, sizeof(address));
    struct rp_function *function = NULL;
    rp_status st = RP_OK;
    pthread_mutex_lock(&lock);
    struct rp_function *same = rp_function_at(address);
    if (same != NULL) {
        st = rp_fail(RP_EKERNELDUP, "kernel %s is registered already, as %s", name, same->name);
        rp_function_unref(same);
    } else {
        st = rp_function_create(NULL, name, fn, params, (uint32_t)param_count, &function);
    }
    pthread_mutex_unlock(&lock);
    if (st == RP_OK && out != NULL) {
        *out = function;
    }
    return st;
}

aclError reprise_kernel_register(const char *name, reprise_kernel_fn fn, aclrtFuncHandle *out)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? register_kernel(name, fn, NULL, 0, out) : st);
}

aclError reprise_kernel_register_params(const char *name, reprise_kernel_fn fn,
        const struct reprise_kernel_param *params, size_t param_count, aclrtFuncHandle *out)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? register_kernel(name, fn, params, param_count, out) : st);
}

static rp_status unregister_kernel(aclrtFuncHandle handle)
{
    struct rp_function *function;
    rp_status st = rp_function_get(handle, &function);
    if (st != RP_OK) {
        return st;
    }
    if (function->binary != NULL) {
        st = rp_fail(RP_EPARAM,
                "kernel %s comes from a binary and ends with it (aclrtBinaryUnLoad)",
                function->name);
    } else if (!rp_function_retire(function)) {
        st = rp_fail(RP_EHANDLE, "another thread has unregistered the kernel %p meanwhile", handle);
    }
    rp_function_unref(function);
    return st;
}

aclError reprise_kernel_unregister(aclrtFuncHandle func)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? unregister_kernel(func) : st);
}

static rp_status get_by_symbol(const void *symbol, aclrtFuncHandle *out)
{
    if (symbol == NULL || out == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", symbol == NULL ? "symbol" : "funcHandle");
    }
    struct rp_function *function = rp_function_at(symbol);
    if (function == NULL) {
        return rp_fail(RP_EFUNCTION,
                "%p is not the address of a kernel that was registered or found in a binary",
                symbol);
    }
    *out = function;
    rp_function_unref(function);
    return RP_OK;
}

aclError aclrtGetFuncBySymbol(const void *symbol, aclrtFuncHandle *funcHandle)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_by_symbol(symbol, funcHandle) : st);
}

void reprise_error_report(const char *sentence)
{
    if (rp_enter() == RP_OK && sentence != NULL) {
        rp_error_post(RP_EINVAL, sentence);
    }
}

// ---- what is asked of one; each `out` is not NULL where it is not checked ----

static rp_status get_name(aclrtFuncHandle handle, uint32_t room, char *out)
{
    struct rp_function *function;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "name is a null pointer");
    }
    rp_status st = rp_function_get(handle, &function);
    if (st != RP_OK) {
        return st;
    }
    if (strlen(function->name) >= room) {
        st = rp_fail(RP_EPARAM, "maxLen is %" PRIu32 "; the name %s needs %zu bytes", room,
                function->name, strlen(function->name) + 1);
    } else {
        (void)rp_text_copy(out, room, function->name); // it fits
    }
    rp_function_unref(function);
    return st;
}

aclError aclrtGetFunctionName(aclrtFuncHandle funcHandle, uint32_t maxLen, char *name)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_name(funcHandle, maxLen, name) : st);
}

static rp_status get_attribute(aclrtFuncHandle handle, aclrtFuncAttribute type, int64_t *out)
{
    struct rp_function *function;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "attrValue is a null pointer");
    }
    rp_status st = rp_function_get(handle, &function);
    if (st != RP_OK) {
        return st;
    }
    switch ((uint32_t)type) {
    case ACL_FUNC_ATTR_KERNEL_TYPE:
        *out = function->for_cpu ? ACL_KERNEL_TYPE_AICPU : ACL_KERNEL_TYPE_VECTOR;
        break;
    case ACL_FUNC_ATTR_KERNEL_RATIO:
        *out = function->for_cpu ? 0 : 1; // cube cores in the upper half, vector cores in the lower
        break;
    case ACL_FUNC_ATTR_KERNEL_SCHED_MODE:
        *out = 0;
        break;
    default:
        st = rp_fail(RP_EPARAM, "attrType is %d; there is no such attribute", (int)type);
        break;
    }
    rp_function_unref(function);
    return st;
}

aclError aclrtGetFunctionAttribute(
        aclrtFuncHandle funcHandle, aclrtFuncAttribute attrType, int64_t *attrValue)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_attribute(funcHandle, attrType, attrValue) : st);
}

static rp_status get_address(aclrtFuncHandle handle, void **cube, void **vector)
{
    struct rp_function *function;
    if (cube == NULL || vector == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", cube == NULL ? "aicAddr" : "aivAddr");
    }
    const rp_status st = rp_function_get(handle, &function);
    if (st == RP_OK) {
        *cube = NULL;
        memcpy(vector, &function->fn, sizeof(*vector));
        rp_function_unref(function);
    }
    return st;
}

aclError aclrtGetFunctionAddr(aclrtFuncHandle funcHandle, void **aicAddr, void **aivAddr)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_address(funcHandle, aicAddr, aivAddr) : st);
}

// Bytes of code, as far as the dynamic loader knows: 0 for a function that nobody exports.
static size_t code_bytes(const struct rp_function *function)
{
    void *address;
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    memcpy(&address, &function->fn, sizeof(address));
    if (dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) == 0 || symbol == NULL ||
            info.dli_saddr != address) {
        return 0;
    }
    return symbol->st_size;
}

static rp_status get_size(aclrtFuncHandle handle, size_t *cube, size_t *vector)
{
    struct rp_function *function;
    if (cube == NULL || vector == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", cube == NULL ? "aicSize" : "aivSize");
    }
    const rp_status st = rp_function_get(handle, &function);
    if (st == RP_OK) {
        *cube = 0;
        *vector = code_bytes(function);
        rp_function_unref(function);
    }
    return st;
}

aclError aclrtGetFunctionSize(aclrtFuncHandle funcHandle, size_t *aicSize, size_t *aivSize)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_size(funcHandle, aicSize, aivSize) : st);
}

static rp_status get_binary(const void *handle, aclrtBinHandle *out)
{
    struct rp_function *function;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "binHandle is a null pointer");
    }
    rp_status st = rp_function_get(handle, &function);
    if (st != RP_OK) {
        return st;
    }
    if (function->binary == NULL) {
        st = rp_fail(RP_EPARAM, "kernel %s is the program's own and in no binary", function->name);
    } else {
        *out = function->binary;
    }
    rp_function_unref(function);
    return st;
}

aclError aclrtFunctionGetBinary(const aclrtFuncHandle funcHandle, aclrtBinHandle *binHandle)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_binary(funcHandle, binHandle) : st);
}

// ---- parameters ----

static rp_status find_with_params(const void *func, struct rp_function **out)
{
    const rp_status st = rp_function_find(func, out);
    if (st == RP_OK && (*out)->param == NULL) {
        const rp_status unknown = rp_fail(RP_EPARAM,
                "the parameters of kernel %s are not known (see REPRISE_KERNEL_PARAMS)",
                (*out)->name);
        rp_function_unref(*out);
        return unknown;
    }
    return st;
}

static rp_status get_param_count(const void *func, size_t *out)
{
    struct rp_function *function;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "paramCount is a null pointer");
    }
    const rp_status st = find_with_params(func, &function);
    if (st == RP_OK) {
        *out = function->param_count;
        rp_function_unref(function);
    }
    return st;
}

aclError aclrtFunctionGetParamCount(const void *func, size_t *paramCount)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_param_count(func, paramCount) : st);
}

static rp_status get_param(const void *func, size_t index, size_t *offset, size_t *bytes)
{
    struct rp_function *function;
    if (offset == NULL && bytes == NULL) {
        return rp_fail(RP_ENULL, "paramOffset and paramSize are both null");
    }
    rp_status st = find_with_params(func, &function);
    if (st != RP_OK) {
        return st;
    }
    if (index >= function->param_count) {
        st = rp_fail(RP_EPARAM, "paramIndex is %zu; kernel %s has %" PRIu32 " parameters", index,
                function->name, function->param_count);
    } else {
        if (offset != NULL) {
            *offset = function->param[index].offset;
        }
        if (bytes != NULL) {
            *bytes = function->param[index].bytes;
        }
    }
    rp_function_unref(function);
    return st;
}

aclError aclrtFunctionGetParamInfo(
        const void *func, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_param(func, paramIndex, paramOffset, paramSize) : st);
}

static rp_status get_local_bytes(const void *func, uint32_t flags, size_t *out)
{
    struct rp_function *function;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "dynamicUbufSize is a null pointer");
    }
    if (flags != 0) {
        return rp_fail(RP_EPARAM, "flags is %" PRIu32 "; it is reserved and 0", flags);
    }
    const rp_status st = rp_function_find(func, &function);
    if (st == RP_OK) {
        *out = rp_chip()->vector_local_bytes;
        rp_function_unref(function);
    }
    return st;
}

aclError aclrtFunctionGetAvailDynUbufPerBlock(void *func, uint32_t flags, size_t *dynamicUbufSize)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_local_bytes(func, flags, dynamicUbufSize) : st);
}
