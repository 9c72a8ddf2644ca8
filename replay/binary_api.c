// Binaries and what is in them: the public calls.

#include <acl/acl_rt.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "replay/binary.h"
#include "replay/context.h"

// ---- loading ----

static rp_status check_out(const void *out)
{
    return out == NULL ? rp_fail(RP_ENULL, "binHandle is a null pointer") : RP_OK;
}

static rp_status load_file(
        const char *path, const aclrtBinaryLoadOptions *options, aclrtBinHandle *out)
{
    struct rp_binary *binary;
    rp_status st = check_out(out);
    if (st == RP_OK && path == NULL) {
        st = rp_fail(RP_ENULL, "binPath is a null pointer");
    }
    if (st == RP_OK) {
        rp_binaries_close();
        st = rp_binary_open(path, options, &binary);
    }
    if (st == RP_OK) {
        *out = binary;
    }
    return st;
}

aclError aclrtBinaryLoadFromFile(
        const char *binPath, aclrtBinaryLoadOptions *options, aclrtBinHandle *binHandle)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? load_file(binPath, options, binHandle) : st);
}

static rp_status load_data(
        const void *data, size_t length, const aclrtBinaryLoadOptions *options, aclrtBinHandle *out)
{
    struct rp_binary *binary;
    rp_status st = check_out(out);
    if (st == RP_OK && data == NULL) {
        st = rp_fail(RP_ENULL, "data is a null pointer");
    }
    if (st == RP_OK) {
        rp_binaries_close();
        st = rp_binary_open_data(data, length, options, &binary);
    }
    if (st == RP_OK) {
        *out = binary;
    }
    return st;
}

aclError aclrtBinaryLoadFromData(const void *data, size_t length,
        const aclrtBinaryLoadOptions *options, aclrtBinHandle *binHandle)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? load_data(data, length, options, binHandle) : st);
}

static rp_status unload(aclrtBinHandle handle)
{
    struct rp_binary *binary;
    rp_status st = rp_binary_get(handle, &binary);
    if (st != RP_OK) {
        return st;
    }
    if (!rp_binary_retire(binary)) {
        st = rp_fail(RP_EHANDLE, "another thread has unloaded the binary %p meanwhile", handle);
    }
    rp_binary_unref(binary);
    rp_binaries_close();
    return st;
}

aclError aclrtBinaryUnLoad(aclrtBinHandle binHandle)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? unload(binHandle) : st);
}

// ---- bytes in a wrapper ----

struct wrapper {
    enum rp_binary_tag tag; // RP_BINARY_WRAPPED
    const void *data;       // the caller's
    size_t bytes;
};

static rp_status wrap(const void *data, size_t bytes, struct wrapper **out)
{
    if (data == NULL || bytes == 0) {
        return rp_fail(RP_EINVAL, "%s", data == NULL ? "data is a null pointer" : "dataLen is 0");
    }
    struct wrapper *wrapper = rp_calloc(1, sizeof(*wrapper));
    if (wrapper == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for a binary");
    }
    *wrapper = (struct wrapper){ .tag = RP_BINARY_WRAPPED, .data = data, .bytes = bytes };
    const rp_status st = rp_handle_add(RP_HANDLE_BINARY, wrapper);
    if (st != RP_OK) {
        rp_free(wrapper);
        return st;
    }
    *out = wrapper;
    return RP_OK;
}

aclrtBinary aclrtCreateBinary(const void *data, size_t dataLen)
{
    struct wrapper *wrapper = NULL;
    rp_status st = rp_enter();
    if (st == RP_OK) {
        st = wrap(data, dataLen, &wrapper);
    }
    (void)rp_acl(st); // NULL tells the rest
    return wrapper;
}

static rp_status find_wrapper(const void *handle, struct wrapper **out)
{
    if (handle == NULL) {
        return rp_fail(RP_ENULL, "binary is a null pointer");
    }
    struct wrapper *wrapper = (void *)(uintptr_t)handle; // a handle is the object's address
    if (!rp_handle_live(RP_HANDLE_BINARY, wrapper) || wrapper->tag != RP_BINARY_WRAPPED) {
        return rp_fail(RP_EHANDLE, "%p was not made by aclrtCreateBinary, or is destroyed", handle);
    }
    *out = wrapper;
    return RP_OK;
}

static rp_status unwrap(const void *handle)
{
    struct wrapper *wrapper;
    const rp_status st = find_wrapper(handle, &wrapper);
    if (st != RP_OK) {
        return st;
    }
    if (!rp_handle_remove(RP_HANDLE_BINARY, wrapper)) {
        return rp_fail(RP_EHANDLE, "another thread has destroyed the binary %p meanwhile", handle);
    }
    rp_free(wrapper);
    return RP_OK;
}

aclError aclrtDestroyBinary(aclrtBinary binary)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? unwrap(binary) : st);
}

static rp_status load_wrapper(const void *handle, aclrtBinHandle *out)
{
    struct wrapper *wrapper;
    const rp_status st = find_wrapper(handle, &wrapper);
    return st == RP_OK ? load_data(wrapper->data, wrapper->bytes, NULL, out) : st;
}

aclError aclrtBinaryLoad(const aclrtBinary binary, aclrtBinHandle *binHandle)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? load_wrapper(binary, binHandle) : st);
}

// ---- what is in one ----

static rp_status get_function(const void *handle, const char *name, aclrtFuncHandle *out)
{
    struct rp_binary *binary;
    struct rp_function *function;
    if (name == NULL || out == NULL) {
        return rp_fail(
                RP_ENULL, "%s is a null pointer", name == NULL ? "kernelName" : "funcHandle");
    }
    rp_status st = rp_binary_get(handle, &binary);
    if (st != RP_OK) {
        return st;
    }
    st = rp_binary_function(binary, name, &function);
    if (st == RP_OK) {
        *out = function;
    }
    rp_binary_unref(binary);
    return st;
}

aclError aclrtBinaryGetFunction(
        const aclrtBinHandle binHandle, const char *kernelName, aclrtFuncHandle *funcHandle)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_function(binHandle, kernelName, funcHandle) : st);
}

// The name that the binary's table of numbers has for `number`; NULL: it has no such table or
// entry.
static const char *name_of(const struct rp_binary *binary, uint64_t number)
{
    struct rp_binary_symbol symbol;
    if (!rp_binary_symbol(binary, "reprise_kernel_entries", &symbol) || symbol.is_code) {
        return NULL;
    }
    const struct reprise_kernel_entry *entry = symbol.address;
    const size_t entries = symbol.bytes / sizeof(*entry);
    for (size_t i = 0; i < entries && entry[i].name != NULL; i++) {
        if (entry[i].entry == number) {
            return entry[i].name;
        }
    }
    return NULL;
}

static rp_status get_function_by_entry(const void *handle, uint64_t number, aclrtFuncHandle *out)
{
    struct rp_binary *binary;
    struct rp_function *function;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "funcHandle is a null pointer");
    }
    rp_status st = rp_binary_get(handle, &binary);
    if (st != RP_OK) {
        return st;
    }
    const char *name = name_of(binary, number);
    if (name == NULL) {
        st = rp_fail(RP_EPARAM,
                "the binary has no kernel %" PRIu64 " (REPRISE_KERNEL_ENTRIES gives the numbers)",
                number);
    } else {
        st = rp_binary_function(binary, name, &function);
    }
    if (st == RP_OK) {
        *out = function;
    }
    rp_binary_unref(binary);
    return st;
}

aclError aclrtBinaryGetFunctionByEntry(
        aclrtBinHandle binHandle, uint64_t funcEntry, aclrtFuncHandle *funcHandle)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_function_by_entry(binHandle, funcEntry, funcHandle) : st);
}

static rp_status register_cpu(
        const void *handle, const char *symbol, const char *name, aclrtFuncHandle *out)
{
    struct rp_binary *binary;
    struct rp_function *function;
    if (symbol == NULL || name == NULL || out == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer",
                symbol == NULL ? "funcName"
                : name == NULL ? "kernelName"
                               : "funcHandle");
    }
    rp_status st = rp_binary_get(handle, &binary);
    if (st != RP_OK) {
        return st;
    }
    st = rp_binary_cpu_function(binary, symbol, name, &function);
    if (st == RP_OK) {
        *out = function;
    }
    rp_binary_unref(binary);
    return st;
}

aclError aclrtRegisterCpuFunc(const aclrtBinHandle handle, const char *funcName,
        const char *kernelName, aclrtFuncHandle *funcHandle)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? register_cpu(handle, funcName, kernelName, funcHandle) : st);
}

static rp_status get_extent(const void *handle, void **begin, size_t *bytes)
{
    struct rp_binary *binary;
    if (begin == NULL || bytes == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", begin == NULL ? "binAddr" : "binSize");
    }
    const rp_status st = rp_binary_get(handle, &binary);
    if (st == RP_OK) {
        rp_binary_extent(binary, begin, bytes);
        rp_binary_unref(binary);
    }
    return st;
}

aclError aclrtBinaryGetDevAddress(const aclrtBinHandle binHandle, void **binAddr, size_t *binSize)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_extent(binHandle, binAddr, binSize) : st);
}

static rp_status get_global(const void *handle, const char *name, void **address, size_t *bytes)
{
    struct rp_binary *binary;
    struct rp_binary_symbol symbol;
    if (name == NULL || (address == NULL && bytes == NULL)) {
        return rp_fail(RP_ENULL, "%s null", name == NULL ? "name is" : "dptr and size are both");
    }
    rp_status st = rp_binary_get(handle, &binary);
    if (st != RP_OK) {
        return st;
    }
    if (!rp_binary_symbol(binary, name, &symbol) || symbol.is_code) {
        st = rp_fail(RP_ESYMBOL, "the binary exports no variable %s", name);
    } else {
        if (address != NULL) {
            *address = symbol.address;
        }
        if (bytes != NULL) {
            *bytes = symbol.bytes;
        }
    }
    rp_binary_unref(binary);
    return st;
}

aclError aclrtBinaryGetGlobal(aclrtBinHandle binHandle, const char *name, void **dptr, size_t *size)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_global(binHandle, name, dptr, size) : st);
}

// A kernel that faults here is a fault of this process, which its own handlers or the end of it
// answer, so the callback is kept and has no occasion.
static rp_status set_callback(const void *handle, aclrtOpExceptionCallback callback, void *arg)
{
    struct rp_binary *binary;
    if (callback == NULL) {
        return rp_fail(RP_ENULL, "callback is a null pointer");
    }
    const rp_status st = rp_binary_get(handle, &binary);
    if (st == RP_OK) {
        pthread_mutex_lock(&binary->lock);
        binary->on_exception = callback;
        binary->on_exception_arg = arg;
        pthread_mutex_unlock(&binary->lock);
        rp_binary_unref(binary);
    }
    return st;
}

aclError aclrtBinarySetExceptionCallback(
        aclrtBinHandle binHandle, aclrtOpExceptionCallback callback, void *userData)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? set_callback(binHandle, callback, userData) : st);
}
