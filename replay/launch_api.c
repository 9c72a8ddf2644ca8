// Launches: whatever form the arguments come in, they end as one block that is copied.

#include <acl/acl_rt.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "replay/context.h"
#include "replay/kernel_args.h"
#include "replay/kernel_function.h"
#include "replay/launch.h"
#include "replay/stream.h"

static rp_status launch_on(aclrtStream handle, const struct rp_launch_spec *spec)
{
    struct rp_launch *launch;
    rp_status st = rp_launch_create(spec, &launch);
    if (st != RP_OK) {
        return st;
    }
    struct rp_stream *stream;
    st = rp_stream_resolve(handle, &stream);
    if (st == RP_OK) {
        struct rp_task task = { .insn = { .kind = RP_INSN_KERNEL } };
        task.insn.u.kernel.launch = launch;
        st = rp_stream_submit(stream, &task);
    }
    rp_launch_unref(launch); // the task has its own reference
    return st;
}

// ---- one block of arguments ----

aclError aclrtLaunchKernel(aclrtFuncHandle funcHandle, uint32_t numBlocks, const void *argsData,
        size_t argsSize, aclrtStream stream)
{
    const struct rp_launch_spec spec = {
        .func = funcHandle,
        .blocks = numBlocks,
        .args = argsData,
        .args_bytes = argsSize,
    };
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? launch_on(stream, &spec) : st);
}

aclError aclrtLaunchKernelV2(aclrtFuncHandle funcHandle, uint32_t numBlocks, const void *argsData,
        size_t argsSize, aclrtLaunchKernelCfg *cfg, aclrtStream stream)
{
    const struct rp_launch_spec spec = {
        .func = funcHandle,
        .blocks = numBlocks,
        .cfg = cfg,
        .args = argsData,
        .args_bytes = argsSize,
    };
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? launch_on(stream, &spec) : st);
}

aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle funcHandle, uint32_t numBlocks,
        aclrtStream stream, aclrtLaunchKernelCfg *cfg, void *hostArgs, size_t argsSize,
        aclrtPlaceHolderInfo *placeHolderArray, size_t placeHolderNum)
{
    const struct rp_launch_spec spec = {
        .func = funcHandle,
        .blocks = numBlocks,
        .cfg = cfg,
        .args = hostArgs,
        .args_bytes = argsSize,
        .place = placeHolderArray,
        .place_count = placeHolderNum,
    };
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? launch_on(stream, &spec) : st);
}

// ---- an argument list ----

static rp_status launch_list(
        aclrtArgsHandle handle, aclrtStream stream, void *reserve, struct rp_launch_spec *spec)
{
    if (reserve != NULL) {
        return rp_fail(RP_EINVAL, "reserve is not a null pointer");
    }
    aclrtPlaceHolderInfo place[RP_ARG_PARAMS];
    const rp_status st = rp_arg_list_spec(handle, spec, place);
    return st == RP_OK ? launch_on(stream, spec) : st;
}

aclError aclrtLaunchKernelWithConfig(aclrtFuncHandle funcHandle, uint32_t numBlocks,
        aclrtStream stream, aclrtLaunchKernelCfg *cfg, aclrtArgsHandle argsHandle, void *reserve)
{
    struct rp_launch_spec spec = {
        .func = funcHandle,
        .blocks = numBlocks,
        .cfg = cfg,
    };
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? launch_list(argsHandle, stream, reserve, &spec) : st);
}

// ---- one pointer for each parameter ----

static rp_status gather(const struct rp_function *function, void **args, unsigned char *block)
{
    for (uint32_t i = 0; i < function->param_count; i++) {
        if (args[i] == NULL) {
            return rp_fail(RP_ENULL, "parameter %" PRIu32 " of kernel %s is a null pointer", i,
                    function->name);
        }
        memcpy(block + function->param[i].offset, args[i], function->param[i].bytes);
    }
    return RP_OK;
}

static rp_status launch_gathered(const struct rp_function *function, void **args,
        aclrtStream stream, struct rp_launch_spec *spec)
{
    spec->func = function;
    if (function->param_count == 0 && args == NULL) {
        return launch_on(stream, spec);
    }
    if (function->param_count == 0) {
        return rp_fail(RP_EPARAM,
                "the parameters of kernel %s are not known: its binary has no table %s_params, or "
                "it was registered without (see reprise/kernel.h)",
                function->name, function->name);
    }
    if (args == NULL) {
        return rp_fail(RP_ENULL, "args is a null pointer, and kernel %s has %" PRIu32 " parameters",
                function->name, function->param_count);
    }
    unsigned char *block = rp_calloc(1, function->param_bytes);
    if (block == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the arguments of kernel %s", function->name);
    }
    rp_status st = gather(function, args, block);
    if (st == RP_OK) {
        spec->args = block;
        spec->args_bytes = function->param_bytes;
        st = launch_on(stream, spec);
    }
    rp_free(block);
    return st;
}

static rp_status launch_array(
        const void *func, void **args, aclrtStream stream, struct rp_launch_spec *spec)
{
    struct rp_function *function;
    rp_status st = rp_function_find(func, &function);
    if (st != RP_OK) {
        return st;
    }
    st = launch_gathered(function, args, stream, spec);
    rp_function_unref(function);
    return st;
}

aclError aclrtLaunchKernelWithArgsArray(
        void *func, uint32_t numBlocks, aclrtStream stream, aclrtLaunchKernelCfg *cfg, void **args)
{
    struct rp_launch_spec spec = { .blocks = numBlocks, .cfg = cfg };
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? launch_array(func, args, stream, &spec) : st);
}

// ---- grids ----

static struct reprise_grid make_grid(dim3 grid, dim3 threads, size_t local_bytes)
{
    return (struct reprise_grid){
        .grid = { grid.x, grid.y, grid.z },
        .threads = { threads.x, threads.y, threads.z },
        .local_bytes = local_bytes,
    };
}

aclError aclrtLaunchSIMTKernelWithArgsArray(void *func, dim3 gridDim, dim3 blockDim,
        size_t dynUbufSize, aclrtStream stream, aclrtLaunchKernelCfg *cfg, void **args)
{
    const struct reprise_grid grid = make_grid(gridDim, blockDim, dynUbufSize);
    struct rp_launch_spec spec = { .cfg = cfg, .grid = &grid };
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? launch_array(func, args, stream, &spec) : st);
}

static rp_status launch_found(const void *func, aclrtStream stream, struct rp_launch_spec *spec)
{
    struct rp_function *function;
    rp_status st = rp_function_find(func, &function);
    if (st != RP_OK) {
        return st;
    }
    spec->func = function;
    st = launch_on(stream, spec);
    rp_function_unref(function);
    return st;
}

aclError aclrtLaunchSIMTKernelWithHostArgs(void *func, dim3 gridDim, dim3 blockDim,
        size_t dynUbufSize, aclrtStream stream, aclrtLaunchKernelCfg *cfg, void *hostArgs,
        size_t argsSize, aclrtPlaceHolderInfo *placeHolderArray, size_t placeHolderNum)
{
    const struct reprise_grid grid = make_grid(gridDim, blockDim, dynUbufSize);
    struct rp_launch_spec spec = {
        .cfg = cfg,
        .args = hostArgs,
        .args_bytes = argsSize,
        .place = placeHolderArray,
        .place_count = placeHolderNum,
        .grid = &grid,
    };
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? launch_found(func, stream, &spec) : st);
}
