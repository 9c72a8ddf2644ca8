// Argument lists. A thread has one of ours, which aclrtKernelArgsInit begins anew each time, as on
// a device: nothing has to be freed, and the handle is good until the thread's next such call.
// Others lie in the caller's memory.
//
//     buffer  | parameters, in order, pointers for placeholders | data of placeholders |
//
// Parameters stand where the kernel's table says. Without a table they stand at multiples of 8
// bytes, or one after the other for a CPU kernel.

#include "replay/kernel_args.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "replay/context.h"
#include "replay/kernel_function.h"

#define OWN_BYTES ((size_t)64 * 1024) // of the thread's own list
#define ALIGNMENT 8
#define DATA_ALIGNMENT 16
#define MAGIC UINT64_C(0x72702d617267734c)

struct param {
    size_t offset;
    size_t bytes;
    size_t data_offset; // of a placeholder's data; SIZE_MAX: it has none yet
    bool is_place;
};

struct arg_list {
    uint64_t magic;
    struct rp_function *function; // only compared, but for what is copied below
    bool packed;                  // of a CPU kernel
    bool finalized;
    bool has_data; // no more parameters
    uint32_t count;
    size_t bytes; // used
    size_t room;
    unsigned char *buffer;
    struct param param[RP_ARG_PARAMS];
};

// ---- the thread's own ----

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool key_made;

static void list_free(void *memory)
{
    struct arg_list *list = memory;
    (void)rp_handle_remove(RP_HANDLE_ARGS, list);
    rp_free(list->buffer);
    rp_free(list);
}

static void make_key(void)
{
    key_made = pthread_key_create(&key, list_free) == 0;
}

static struct arg_list *make_own(void)
{
    struct arg_list *list = rp_calloc(1, sizeof(*list));
    if (list == NULL) {
        return NULL;
    }
    list->buffer = rp_malloc(OWN_BYTES);
    list->room = OWN_BYTES;
    if (list->buffer == NULL || rp_handle_add(RP_HANDLE_ARGS, list) != RP_OK) {
        goto undo_alloc;
    }
    if (pthread_setspecific(key, list) != 0) {
        goto undo_handle;
    }
    return list;

undo_handle:
    (void)rp_handle_remove(RP_HANDLE_ARGS, list);
undo_alloc:
    rp_free(list->buffer);
    rp_free(list);
    return NULL;
}

static rp_status find_own(struct arg_list **out)
{
    pthread_once(&key_once, make_key);
    struct arg_list *list = key_made ? pthread_getspecific(key) : NULL;
    if (list == NULL) {
        list = key_made ? make_own() : NULL;
    }
    if (list == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for an argument list");
    }
    *out = list;
    return RP_OK;
}

static void begin(struct arg_list *list, struct rp_function *function, void *buffer, size_t room)
{
    list->magic = MAGIC;
    list->function = function;
    list->packed = function->for_cpu;
    list->finalized = false;
    list->has_data = false;
    list->count = 0;
    list->bytes = 0;
    list->buffer = buffer;
    list->room = room;
}

static rp_status init_own(aclrtFuncHandle handle, aclrtArgsHandle *out)
{
    struct rp_function *function;
    struct arg_list *list;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "argsHandle is a null pointer");
    }
    rp_status st = rp_function_get(handle, &function);
    if (st != RP_OK) {
        return st;
    }
    st = find_own(&list);
    if (st == RP_OK) {
        begin(list, function, list->buffer, OWN_BYTES);
        *out = list;
    }
    rp_function_unref(function);
    return st;
}

aclError aclrtKernelArgsInit(aclrtFuncHandle funcHandle, aclrtArgsHandle *argsHandle)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? init_own(funcHandle, argsHandle) : st);
}

// ---- in the caller's memory ----

// Whether it is a kernel; RP_OK leaves no reference behind.
static rp_status check_function(aclrtFuncHandle handle)
{
    struct rp_function *function;
    const rp_status st = rp_function_get(handle, &function);
    if (st == RP_OK) {
        rp_function_unref(function);
    }
    return st;
}

static rp_status check_user_memory(const void *list, const void *memory, size_t bytes)
{
    if (list == NULL || memory == NULL) {
        return rp_fail(
                RP_ENULL, "%s is a null pointer", list == NULL ? "argsHandle" : "userHostMem");
    }
    if ((uintptr_t)list % _Alignof(struct arg_list) != 0) {
        return rp_fail(RP_EPARAM, "argsHandle is %p; it has to be aligned to %zu bytes", list,
                _Alignof(struct arg_list));
    }
    if (bytes == 0) {
        return rp_fail(RP_EPARAM, "actualArgsSize is 0");
    }
    return RP_OK;
}

static rp_status init_user(aclrtFuncHandle handle, void *memory, void *buffer, size_t bytes)
{
    struct rp_function *function;
    rp_status st = check_user_memory(memory, buffer, bytes);
    if (st == RP_OK) {
        st = rp_function_get(handle, &function);
    }
    if (st != RP_OK) {
        return st;
    }
    // The caller's memory has no end that we are told of; used again it is the same handle.
    if (!rp_handle_live(RP_HANDLE_ARGS, memory)) {
        st = rp_handle_add(RP_HANDLE_ARGS, memory);
    }
    if (st == RP_OK) {
        begin(memory, function, buffer, bytes);
    }
    rp_function_unref(function);
    return st;
}

aclError aclrtKernelArgsInitByUserMem(aclrtFuncHandle funcHandle, aclrtArgsHandle argsHandle,
        void *userHostMem, size_t actualArgsSize)
{
    const rp_status st = rp_enter();
    return rp_acl(
            st == RP_OK ? init_user(funcHandle, argsHandle, userHostMem, actualArgsSize) : st);
}

aclError aclrtKernelArgsGetHandleMemSize(aclrtFuncHandle funcHandle, size_t *memSize)
{
    rp_status st = rp_enter();
    if (st == RP_OK && memSize == NULL) {
        st = rp_fail(RP_ENULL, "memSize is a null pointer");
    }
    if (st == RP_OK) {
        st = check_function(funcHandle);
    }
    if (st == RP_OK) {
        *memSize = sizeof(struct arg_list);
    }
    return rp_acl(st);
}

aclError aclrtKernelArgsGetMemSize(
        aclrtFuncHandle funcHandle, size_t userArgsSize, size_t *actualArgsSize)
{
    rp_status st = rp_enter();
    if (st == RP_OK && actualArgsSize == NULL) {
        st = rp_fail(RP_ENULL, "actualArgsSize is a null pointer");
    }
    if (st == RP_OK) {
        st = check_function(funcHandle);
    }
    if (st == RP_OK) {
        // Each parameter, and each placeholder's data, may have a gap before it.
        *actualArgsSize = userArgsSize + (size_t)2 * RP_ARG_PARAMS * DATA_ALIGNMENT;
    }
    return rp_acl(st);
}

// ---- filling one ----

static rp_status find_list(aclrtArgsHandle handle, struct arg_list **out)
{
    struct arg_list *list = handle;
    if (handle == NULL) {
        return rp_fail(RP_ENULL, "argsHandle is a null pointer");
    }
    if (!rp_handle_live(RP_HANDLE_ARGS, handle) || list->magic != MAGIC) {
        return rp_fail(RP_EHANDLE, "%p is no argument list", handle);
    }
    *out = list;
    return RP_OK;
}

static rp_status find_param(
        const struct arg_list *list, aclrtParamHandle handle, struct param **out)
{
    if (handle == NULL) {
        return rp_fail(RP_ENULL, "paramHandle is a null pointer");
    }
    const uintptr_t at = (uintptr_t)handle - (uintptr_t)list->param; // wraps if it lies before
    if (at / sizeof(struct param) >= list->count || at % sizeof(struct param) != 0) {
        return rp_fail(RP_EHANDLE, "%p is no parameter of this argument list", handle);
    }
    *out = handle;
    return RP_OK;
}

// Where the next parameter, of `bytes`, belongs.
static rp_status next_offset(struct arg_list *list, size_t bytes, size_t *offset)
{
    struct rp_function *function;
    rp_status st = rp_function_get(list->function, &function);
    if (st != RP_OK) {
        return st;
    }
    if (function->param == NULL) {
        *offset = list->packed ? list->bytes : rp_align_up(list->bytes, ALIGNMENT);
    } else if (list->count >= function->param_count) {
        st = rp_fail(RP_EPARAM, "kernel %s has %" PRIu32 " parameters, and here comes another",
                function->name, function->param_count);
    } else if (function->param[list->count].bytes != bytes) {
        st = rp_fail(RP_EPARAM,
                "parameter %" PRIu32 " of kernel %s has %" PRIu32 " bytes, and here come %zu",
                list->count, function->name, function->param[list->count].bytes, bytes);
    } else {
        *offset = function->param[list->count].offset;
    }
    rp_function_unref(function);
    return st;
}

// `bytes` more at `offset`; what is skipped is cleared.
static rp_status reserve(struct arg_list *list, size_t offset, size_t bytes)
{
    if (offset > list->room || bytes > list->room - offset) {
        return rp_fail(RP_EPARAM, "%zu bytes at offset %zu do not fit into an argument list of %zu",
                bytes, offset, list->room);
    }
    memset(list->buffer + list->bytes, 0, offset - list->bytes);
    list->bytes = offset + bytes;
    return RP_OK;
}

static rp_status add_param(struct arg_list *list, size_t bytes, bool is_place, struct param **out)
{
    size_t offset;
    if (list->finalized || list->has_data) {
        return rp_fail(RP_ENOTSUP, "the argument list %s, so no parameter can follow",
                list->finalized ? "is finalized" : "has data of placeholders");
    }
    if (list->count == RP_ARG_PARAMS) {
        return rp_fail(RP_EPARAM, "an argument list has at most %d parameters", RP_ARG_PARAMS);
    }
    rp_status st = next_offset(list, bytes, &offset);
    if (st == RP_OK) {
        st = reserve(list, offset, bytes);
    }
    if (st != RP_OK) {
        return st;
    }
    struct param *param = &list->param[list->count++];
    *param = (struct param){
        .offset = offset,
        .bytes = bytes,
        .data_offset = SIZE_MAX,
        .is_place = is_place,
    };
    *out = param;
    return RP_OK;
}

static rp_status append(
        aclrtArgsHandle handle, const void *value, size_t bytes, aclrtParamHandle *out)
{
    struct arg_list *list;
    struct param *param;
    if (value == NULL || out == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", value == NULL ? "param" : "paramHandle");
    }
    if (bytes == 0) {
        return rp_fail(RP_EPARAM, "paramSize is 0");
    }
    rp_status st = find_list(handle, &list);
    if (st == RP_OK) {
        st = add_param(list, bytes, false, &param);
    }
    if (st == RP_OK) {
        memcpy(list->buffer + param->offset, value, bytes);
        *out = param;
    }
    return st;
}

aclError aclrtKernelArgsAppend(
        aclrtArgsHandle argsHandle, void *param, size_t paramSize, aclrtParamHandle *paramHandle)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? append(argsHandle, param, paramSize, paramHandle) : st);
}

static rp_status append_place(aclrtArgsHandle handle, aclrtParamHandle *out)
{
    struct arg_list *list;
    struct param *param;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "paramHandle is a null pointer");
    }
    rp_status st = find_list(handle, &list);
    if (st == RP_OK) {
        st = add_param(list, sizeof(void *), true, &param);
    }
    if (st == RP_OK) {
        memset(list->buffer + param->offset, 0, sizeof(void *));
        *out = param;
    }
    return st;
}

aclError aclrtKernelArgsAppendPlaceHolder(aclrtArgsHandle argsHandle, aclrtParamHandle *paramHandle)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? append_place(argsHandle, paramHandle) : st);
}

static rp_status place_buffer(
        aclrtArgsHandle handle, aclrtParamHandle param_handle, size_t bytes, void **out)
{
    struct arg_list *list;
    struct param *param;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "bufferAddr is a null pointer");
    }
    rp_status st = find_list(handle, &list);
    if (st == RP_OK) {
        st = find_param(list, param_handle, &param);
    }
    if (st != RP_OK) {
        return st;
    }
    if (!param->is_place || bytes == 0) {
        return rp_fail(
                RP_EPARAM, !param->is_place ? "the parameter is no placeholder" : "dataSize is 0");
    }
    if (list->finalized) {
        return rp_fail(RP_ENOTSUP, "the argument list is finalized, so no data can follow");
    }
    const size_t offset = rp_align_up(list->bytes, DATA_ALIGNMENT);
    st = reserve(list, offset, bytes);
    if (st == RP_OK) {
        list->has_data = true;
        param->data_offset = offset;
        memset(list->buffer + offset, 0, bytes);
        *out = list->buffer + offset;
    }
    return st;
}

aclError aclrtKernelArgsGetPlaceHolderBuffer(aclrtArgsHandle argsHandle,
        aclrtParamHandle paramHandle, size_t dataSize, void **bufferAddr)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? place_buffer(argsHandle, paramHandle, dataSize, bufferAddr) : st);
}

static rp_status update(
        aclrtArgsHandle handle, aclrtParamHandle param_handle, const void *value, size_t bytes)
{
    struct arg_list *list;
    struct param *param;
    if (value == NULL) {
        return rp_fail(RP_ENULL, "param is a null pointer");
    }
    rp_status st = find_list(handle, &list);
    if (st == RP_OK) {
        st = find_param(list, param_handle, &param);
    }
    if (st != RP_OK) {
        return st;
    }
    if (param->is_place) {
        return rp_fail(RP_EPARAM, "the parameter is a placeholder: write to its buffer instead");
    }
    if (param->bytes != bytes) {
        return rp_fail(
                RP_EPARAM, "the parameter has %zu bytes, and here come %zu", param->bytes, bytes);
    }
    memcpy(list->buffer + param->offset, value, bytes);
    list->finalized = false;
    return RP_OK;
}

aclError aclrtKernelArgsParaUpdate(
        aclrtArgsHandle argsHandle, aclrtParamHandle paramHandle, void *param, size_t paramSize)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? update(argsHandle, paramHandle, param, paramSize) : st);
}

// Every parameter of the kernel has to be there: it will read them all.
static rp_status finalize(aclrtArgsHandle handle)
{
    struct arg_list *list;
    struct rp_function *function;
    rp_status st = find_list(handle, &list);
    if (st == RP_OK) {
        st = rp_function_get(list->function, &function);
    }
    if (st != RP_OK) {
        return st;
    }
    if (list->count < function->param_count) {
        st = rp_fail(RP_EPARAM,
                "kernel %s has %" PRIu32 " parameters, and the argument list only %" PRIu32,
                function->name, function->param_count, list->count);
    } else {
        list->finalized = true;
    }
    rp_function_unref(function);
    return st;
}

aclError aclrtKernelArgsFinalize(aclrtArgsHandle argsHandle)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? finalize(argsHandle) : st);
}

rp_status rp_arg_list_spec(aclrtArgsHandle handle, struct rp_launch_spec *spec,
        aclrtPlaceHolderInfo place[RP_ARG_PARAMS])
{
    struct arg_list *list;
    const rp_status st = find_list(handle, &list);
    if (st != RP_OK) {
        return st;
    }
    if (!list->finalized) {
        return rp_fail(RP_EPARAM, "the argument list is not finalized (aclrtKernelArgsFinalize)");
    }
    if (spec->func != NULL && spec->func != list->function) {
        return rp_fail(RP_EPARAM, "the argument list was begun for another kernel");
    }
    spec->args = list->buffer;
    spec->args_bytes = list->bytes;
    spec->place = place;
    spec->place_count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct param *param = &list->param[i];
        if (param->is_place && param->data_offset != SIZE_MAX) {
            place[spec->place_count++] = (aclrtPlaceHolderInfo){
                .addrOffset = (uint32_t)param->offset,
                .dataOffset = (uint32_t)param->data_offset,
            };
        }
    }
    return RP_OK;
}
