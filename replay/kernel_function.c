// The life of a kernel, and how a handle or an address leads to one.

#include "replay/kernel_function.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "replay/binary.h"

void rp_function_ref(struct rp_function *function)
{
    // relaxed: whoever makes a reference has one.
    atomic_fetch_add_explicit(&function->refs, 1, memory_order_relaxed);
}

static void function_free(struct rp_function *function)
{
    if (function->binary != NULL) {
        rp_binary_unref(function->binary);
    }
    rp_free(function->param);
    rp_free(function->name);
    rp_free(function);
}

void rp_function_unref(struct rp_function *function)
{
    // acq_rel [G1]: pairs with itself: the last one sees all that the others did.
    if (atomic_fetch_sub_explicit(&function->refs, 1, memory_order_acq_rel) == 1) {
        function_free(function);
    }
}

static rp_status check_params(
        const char *name, const struct reprise_kernel_param *params, uint32_t count)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (params[i].bytes == 0 || params[i].offset < end) {
            return rp_fail(RP_EPARAM,
                    "parameter %" PRIu32 " of kernel %s has offset %" PRIu32 " and %" PRIu32
                    " bytes; they follow one another and none is empty",
                    i, name, params[i].offset, params[i].bytes);
        }
        end = (uint64_t)params[i].offset + params[i].bytes;
    }
    return RP_OK;
}

static bool fill(struct rp_function *function, const char *name,
        const struct reprise_kernel_param *params, uint32_t count)
{
    function->name = rp_strdup(name);
    if (function->name == NULL) {
        return false;
    }
    if (count == 0) {
        return true;
    }
    function->param = rp_calloc(count, sizeof(*params));
    if (function->param == NULL) {
        return false;
    }
    memcpy(function->param, params, count * sizeof(*params));
    function->param_count = count;
    function->param_bytes = (size_t)params[count - 1].offset + params[count - 1].bytes;
    return true;
}

rp_status rp_function_create(struct rp_binary *binary, const char *name, reprise_kernel_fn fn,
        const struct reprise_kernel_param *params, uint32_t param_count, struct rp_function **out)
{
    rp_status st = check_params(name, params, param_count);
    if (st != RP_OK) {
        return st;
    }
    struct rp_function *function = rp_calloc(1, sizeof(*function));
    if (function == NULL || !fill(function, name, params, param_count)) {
        st = rp_fail(RP_ENOMEM, "no memory for kernel %s", name);
        goto undo_alloc;
    }
    if (binary != NULL) {
        rp_binary_ref(binary);
        function->binary = binary;
    }
    function->fn = fn;
    // relaxed: nobody else has it yet.
    atomic_store_explicit(&function->refs, 1, memory_order_relaxed);
    st = rp_handle_add(RP_HANDLE_FUNCTION, function);
    if (st != RP_OK) {
        goto undo_alloc;
    }
    *out = function;
    return RP_OK;

undo_alloc:
    if (function != NULL) {
        function_free(function);
    }
    return st;
}

bool rp_function_retire(struct rp_function *function)
{
    if (!rp_handle_remove(RP_HANDLE_FUNCTION, function)) {
        return false;
    }
    rp_function_unref(function);
    return true;
}

static void ref_any(void *object)
{
    rp_function_ref(object);
}

rp_status rp_function_get(const void *handle, struct rp_function **out)
{
    if (handle == NULL) {
        return rp_fail(RP_ENULL, "funcHandle is a null pointer");
    }
    // A handle is the object's address; `const` is the caller's promise, not the object's.
    void *object = (void *)(uintptr_t)handle;
    if (!rp_handle_ref(RP_HANDLE_FUNCTION, object, ref_any)) {
        return rp_fail(RP_EHANDLE,
                "%p is no kernel: never one, or its binary was unloaded or its registration ended",
                handle);
    }
    *out = object;
    return RP_OK;
}

struct search {
    uintptr_t address;
    struct rp_function *found;
};

static void compare(void *object, void *arg)
{
    struct rp_function *function = object;
    struct search *search = arg;
    if (search->found == NULL && (uintptr_t)function->fn == search->address) {
        // It cannot end now: its handle is removed before its reference is given up.
        rp_function_ref(function);
        search->found = function;
    }
}

struct rp_function *rp_function_at(const void *address)
{
    struct search search = { .address = (uintptr_t)address };
    rp_handle_each(RP_HANDLE_FUNCTION, compare, &search);
    return search.found;
}

rp_status rp_function_find(const void *func, struct rp_function **out)
{
    if (func == NULL) {
        return rp_fail(RP_ENULL, "func is a null pointer");
    }
    void *object = (void *)(uintptr_t)func; // as above
    if (rp_handle_ref(RP_HANDLE_FUNCTION, object, ref_any)) {
        *out = object;
        return RP_OK;
    }
    struct rp_function *found = rp_function_at(func);
    if (found == NULL) {
        return rp_fail(RP_EFUNCTION,
                "%p is neither a kernel handle nor the address of a kernel that was registered or "
                "found in a binary",
                func);
    }
    *out = found;
    return RP_OK;
}
