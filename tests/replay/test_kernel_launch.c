// Launches of kernels: every form of the call, blocks, and what is refused. What runs them, and in
// which order, is in test_kernel_cores.c.

#include <reprise/kernel.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "replay/launch.h"
#include "support/gate.h"
#include "support/kernel_case.h"

TestSuite(kernel_launch, .init = on_device, .timeout = 60);

// y[i] += alpha * x[i]
struct axpy {
    const float *x;
    float *y;
    uint32_t count;
    float alpha;
};

static void axpy(void *args, uint32_t block, uint32_t blocks)
{
    const struct axpy *a = args;
    for (uint32_t i = block; i < a->count; i += blocks) {
        a->y[i] += a->alpha * a->x[i];
    }
}

static const struct reprise_kernel_param axpy_params[] = { REPRISE_PARAM(struct axpy, x),
    REPRISE_PARAM(struct axpy, y), REPRISE_PARAM(struct axpy, count),
    REPRISE_PARAM(struct axpy, alpha) };

static aclrtFuncHandle axpy_kernel(void)
{
    aclrtFuncHandle function = NULL;
    WORKS(reprise_kernel_register_params("axpy", axpy, axpy_params, 4, &function));
    return function;
}

#define COUNT 1000
static float x[COUNT];
static float y[COUNT];

static struct axpy axpy_args(float alpha)
{
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    return (struct axpy){ .x = x, .y = y, .count = COUNT, .alpha = alpha };
}

static void check_axpy(float alpha)
{
    WORKS(aclrtSynchronizeStream(NULL));
    for (int i = 0; i < COUNT; i++) {
        cr_assert(eq(flt, y[i], 1 + alpha * (float)i));
    }
}

Test(kernel_launch, with_one_block_of_arguments)
{
    aclrtFuncHandle function = axpy_kernel();
    struct axpy args = axpy_args(2);
    WORKS(aclrtLaunchKernel(function, 3, &args, sizeof(args), NULL));
    memset(&args, 0, sizeof(args));
    check_axpy(2);
    args = axpy_args(3);
    WORKS(aclrtLaunchKernelV2(function, 5000, &args, sizeof(args), NULL, NULL));
    memset(&args, 0, sizeof(args));
    check_axpy(3);
    args = axpy_args(4);
    WORKS(aclrtLaunchKernelWithHostArgs(function, 1, NULL, NULL, &args, sizeof(args), NULL, 0));
    memset(&args, 0, sizeof(args));
    check_axpy(4);
}

Test(kernel_launch, with_arguments_in_device_memory)
{
    aclrtFuncHandle function = axpy_kernel();
    struct axpy args = axpy_args(2);
    void *device = NULL;
    WORKS(aclrtMalloc(&device, sizeof(args), ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclrtMemcpy(device, sizeof(args), &args, sizeof(args), ACL_MEMCPY_HOST_TO_DEVICE));
    WORKS(aclrtLaunchKernel(function, 7, device, sizeof(args), NULL));
    check_axpy(2);
    WORKS(aclrtFree(device));
}

Test(kernel_launch, with_a_pointer_to_each_parameter)
{
    aclrtFuncHandle function = axpy_kernel();
    struct axpy args = axpy_args(-2);
    void *array[] = { &args.x, &args.y, &args.count, &args.alpha };
    WORKS(aclrtLaunchKernelWithArgsArray(function, 4, NULL, NULL, array));
    memset(&args, 0, sizeof(args));
    check_axpy(-2);
    args = axpy_args(9);
    WORKS(aclrtLaunchKernelWithArgsArray((void *)(uintptr_t)axpy, 4, NULL, NULL, array));
    memset(&args, 0, sizeof(args));
    check_axpy(9);
    array[2] = NULL;
    ANSWERS(ACL_ERROR_INVALID_PARAM,
            aclrtLaunchKernelWithArgsArray(function, 4, NULL, NULL, array));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtLaunchKernelWithArgsArray(function, 4, NULL, NULL, NULL));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtLaunchKernelWithArgsArray(NULL, 4, NULL, NULL, array));
    ANSWERS(ACL_ERROR_RT_INVALID_DEVICE_FUNCTION,
            aclrtLaunchKernelWithArgsArray(&args, 4, NULL, NULL, array));
}

// 12 bytes in a struct of 16, which is read as a whole.
struct padded {
    struct padded *out;
    uint32_t value;
};

static void copy_padded(void *args, uint32_t block, uint32_t blocks)
{
    (void)block;
    (void)blocks;
    memcpy(((struct padded *)args)->out, args, sizeof(struct padded));
}

Test(kernel_launch, arguments_may_be_read_as_a_struct)
{
    static const struct reprise_kernel_param params[] = { REPRISE_PARAM(struct padded, out),
        REPRISE_PARAM(struct padded, value) };
    aclrtFuncHandle function = NULL;
    struct padded out;
    struct padded *to = &out;
    uint32_t value = 77;
    void *array[] = { &to, &value };
    static const unsigned char zeros[4];
    memset(&out, 0xff, sizeof(out));
    WORKS(reprise_kernel_register_params("copy_padded", copy_padded, params, 2, &function));
    WORKS(aclrtLaunchKernelWithArgsArray(function, 1, NULL, NULL, array));
    WORKS(aclrtSynchronizeStream(NULL));
    cr_expect(eq(u32, out.value, 77));
    cr_expect(eq(int, memcmp((char *)&out + 12, zeros, 4), 0));
}

// The data of one launch beside the others': { where to, pointer to carried data } and the data.
struct carrier {
    uint32_t *out;
    const uint32_t *data;
    uint32_t carried[4];
};

static void copy_carried(void *args, uint32_t block, uint32_t blocks)
{
    const struct carrier *carrier = args;
    (void)blocks;
    carrier->out[block] = carrier->data[block];
}

Test(kernel_launch, placeholders_become_pointers_into_the_copy)
{
    aclrtFuncHandle function = NULL;
    WORKS(reprise_kernel_register("copy_carried", copy_carried, &function));
    uint32_t out[2][4] = { { 0 } };
    aclrtPlaceHolderInfo place = { offsetof(struct carrier, data),
        offsetof(struct carrier, carried) };
    struct carrier args = { .carried = { 5, 6, 7, 8 } };
    struct gate gate;
    gate_init(&gate);
    WORKS(gate_put(&gate, NULL));
    for (int i = 0; i < 2; i++) {
        args.out = out[i];
        WORKS(aclrtLaunchKernelWithHostArgs(
                function, 4, NULL, NULL, &args, sizeof(args), &place, 1));
        cr_expect(eq(ptr, (void *)(uintptr_t)args.data, NULL)); // the caller's block stays as it is
        memset(args.carried, 0xff, sizeof(args.carried));
    }
    memset(&args, 0, sizeof(args));
    gate_open(&gate);
    WORKS(aclrtSynchronizeStream(NULL));
    for (uint32_t i = 0; i < 4; i++) {
        cr_expect(eq(u32, out[0][i], 5 + i));
        cr_expect(eq(u32, out[1][i], UINT32_MAX));
    }
    place.dataOffset = sizeof(args);
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            aclrtLaunchKernelWithHostArgs(function, 4, NULL, NULL, &args, sizeof(args), &place, 1));
    place = (aclrtPlaceHolderInfo){ sizeof(args) - 4, 0 };
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            aclrtLaunchKernelWithHostArgs(function, 4, NULL, NULL, &args, sizeof(args), &place, 1));
    ANSWERS(ACL_ERROR_INVALID_PARAM,
            aclrtLaunchKernelWithHostArgs(function, 4, NULL, NULL, &args, sizeof(args), NULL, 1));
}

// The arguments of a captured launch are changed by passing on what was got: pointers into the old
// copy then mean the data that travels along.
Test(kernel_launch, a_replacement_leads_into_its_own_arguments)
{
    aclrtFuncHandle function = NULL;
    WORKS(reprise_kernel_register("copy_carried", copy_carried, &function));
    uint32_t out[4] = { 0 };
    const aclrtPlaceHolderInfo place = { offsetof(struct carrier, data),
        offsetof(struct carrier, carried) };
    struct carrier args = { .out = out, .carried = { 1, 2, 3, 4 } };
    struct rp_launch *before = NULL;
    struct rp_launch *after = NULL;
    struct rp_launch_spec spec = { .func = function,
        .blocks = 4,
        .args = &args,
        .args_bytes = sizeof(args),
        .place = &place,
        .place_count = 1 };
    cr_assert(eq(int, rp_launch_create(&spec, &before), RP_OK));
    cr_expect(eq(ptr, rp_launch_handle(before), function));
    cr_expect(eq(str, (char *)(uintptr_t)rp_launch_name(before), "copy_carried"));
    struct carrier changed;
    memcpy(&changed, before->args, sizeof(changed));
    changed.carried[2] = 99;
    spec = (struct rp_launch_spec){
        .func = function, .blocks = 3, .args = &changed, .args_bytes = sizeof(changed)
    };
    cr_assert(eq(int, rp_launch_replace(before, &spec, &after), RP_OK));
    const struct carrier *copy = (const struct carrier *)after->args;
    cr_expect(eq(ptr, (void *)(uintptr_t)copy->data, (void *)(uintptr_t)copy->carried));
    cr_expect(eq(u32, copy->data[2], 99));
    cr_expect(eq(u32, after->blocks, 3));
    rp_launch_unref(before);
    // Once more: the second copy knows where its pointers are, too. One to elsewhere stays.
    memcpy(&changed, after->args, sizeof(changed));
    cr_assert(eq(int, rp_launch_replace(after, &spec, &before), RP_OK));
    copy = (const struct carrier *)before->args;
    cr_expect(eq(ptr, (void *)(uintptr_t)copy->data, (void *)(uintptr_t)copy->carried));
    rp_launch_unref(before);
    changed.data = out;
    cr_assert(eq(int, rp_launch_replace(after, &spec, &before), RP_OK));
    copy = (const struct carrier *)before->args;
    cr_expect(eq(ptr, (void *)(uintptr_t)copy->data, out));
    rp_launch_unref(before);
    rp_launch_unref(after);
}

Test(kernel_launch, attributes_of_a_launch_are_told)
{
    aclrtFuncHandle function = axpy_kernel();
    struct axpy args = axpy_args(1);
    aclrtLaunchKernelAttr attr[] = {
        { ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE, { .schemMode = 1 } },
        { ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US, { .timeoutUs = { 5, 6 } } },
    };
    aclrtLaunchKernelCfg cfg = { attr, 2 };
    struct rp_launch *launch[2] = { NULL };
    struct rp_launch_spec spec = {
        .func = function, .blocks = 1, .args = &args, .args_bytes = sizeof(args), .cfg = &cfg
    };
    cr_assert(eq(int, rp_launch_create(&spec, &launch[0]), RP_OK));
    spec.cfg = NULL;
    cr_assert(eq(int, rp_launch_create(&spec, &launch[1]), RP_OK));
    for (int id = -1; id <= 11; id++) {
        for (int i = 0; i < 2; i++) {
            aclrtLaunchKernelAttrValue value;
            memset(&value, 0xff, sizeof(value));
            const rp_status st = rp_launch_attr(launch[i], (aclrtLaunchKernelAttrId)id, &value);
            const bool told = id == 1 || id == 2 || (id >= 6 && id <= 9);
            cr_assert(eq(int, st, told ? RP_OK : RP_EPARAM), "%d", id);
            if (told) {
                const uint32_t expected = i == 1 ? 0 : id == 1 ? 1 : id == 8 ? 5 : 0;
                cr_expect(eq(u32, value.rsv[0], expected));
            }
        }
    }
    rp_launch_unref(launch[0]);
    rp_launch_unref(launch[1]);
}

// What each block of a grid sees.
struct grid_args {
    uint32_t *visits; // [blocks]
    struct reprise_grid *grid;
};

static void see_grid(void *args, uint32_t block, uint32_t blocks)
{
    const struct grid_args *a = args;
    a->visits[block] += 1 + blocks;
    *a->grid = *reprise_kernel_grid();
}

static const struct reprise_kernel_param grid_params[] = { REPRISE_PARAM(struct grid_args, visits),
    REPRISE_PARAM(struct grid_args, grid) };

Test(kernel_launch, grids_run_a_block_at_a_time)
{
    aclrtFuncHandle function = NULL;
    WORKS(reprise_kernel_register_params("see_grid", see_grid, grid_params, 2, &function));
    uint32_t visits[24] = { 0 };
    struct reprise_grid grid = { .local_bytes = 1 };
    struct grid_args args = { visits, &grid };
    void *array[] = { &args.visits, &args.grid };
    const dim3 blocks = { 2, 3, 4 };
    const dim3 threads = { 32, 4, 1 };
    WORKS(aclrtLaunchSIMTKernelWithArgsArray(function, blocks, threads, 4096, NULL, NULL, array));
    WORKS(aclrtSynchronizeStream(NULL));
    for (int i = 0; i < 24; i++) {
        cr_expect(eq(u32, visits[i], 25));
    }
    cr_expect(eq(u32, grid.grid[0], 2));
    cr_expect(eq(u32, grid.grid[1], 3));
    cr_expect(eq(u32, grid.grid[2], 4));
    cr_expect(eq(u32, grid.threads[0], 32));
    cr_expect(eq(u32, grid.threads[1], 4));
    cr_expect(eq(sz, grid.local_bytes, 4096));
    WORKS(aclrtLaunchSIMTKernelWithHostArgs((void *)(uintptr_t)see_grid, blocks, threads, 0, NULL,
            NULL, &args, sizeof(args), NULL, 0));
    WORKS(aclrtLaunchKernel(function, 5, &args, sizeof(args), NULL));
    WORKS(aclrtSynchronizeStream(NULL));
    cr_expect(eq(u32, visits[23], 50));
    cr_expect(eq(u32, visits[4], 56));
    cr_expect(eq(u32, grid.grid[0], 5));
    cr_expect(eq(u32, grid.threads[0], 1));
    cr_expect(eq(ptr, (void *)(uintptr_t)reprise_kernel_grid(), NULL));
    const dim3 none = { 2, 0, 4 };
    const dim3 huge = { 1 << 20, 1 << 20, 1 << 30 };
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            aclrtLaunchSIMTKernelWithArgsArray(function, none, threads, 0, NULL, NULL, array));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            aclrtLaunchSIMTKernelWithArgsArray(function, blocks, none, 0, NULL, NULL, array));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            aclrtLaunchSIMTKernelWithArgsArray(function, huge, threads, 0, NULL, NULL, array));
    ANSWERS(ACL_ERROR_RT_INVALID_DEVICE_FUNCTION,
            aclrtLaunchSIMTKernelWithHostArgs(
                    &grid, blocks, threads, 0, NULL, NULL, &args, sizeof(args), NULL, 0));
}

static void count_block(void *args, uint32_t block, uint32_t blocks)
{
    (void)blocks;
    uint8_t **visits = args;
    (*visits)[block]++;
}

Test(kernel_launch, every_block_runs_once)
{
    enum { BLOCKS = 200000 };
    aclrtFuncHandle function = NULL;
    WORKS(reprise_kernel_register("count_block", count_block, &function));
    uint8_t *visits = calloc(BLOCKS + 1, 1);
    WORKS(aclrtLaunchKernel(function, BLOCKS, &visits, sizeof(visits), NULL));
    WORKS(aclrtSynchronizeStream(NULL));
    for (int i = 0; i < BLOCKS; i++) {
        cr_assert(eq(u8, visits[i], 1));
    }
    cr_expect(eq(u8, visits[BLOCKS], 0));
    free(visits);
}

// ---- what a launch refuses ----

Test(kernel_launch, bad_arguments_are_refused)
{
    aclrtFuncHandle function = axpy_kernel();
    struct axpy args = axpy_args(1);
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtLaunchKernel(NULL, 1, &args, sizeof(args), NULL));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtLaunchKernel(function, 0, &args, sizeof(args), NULL));
    cr_expect(ne(ptr, strstr(aclGetRecentErrMsg(), "axpy"), NULL));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtLaunchKernel(function, 1, NULL, sizeof(args), NULL));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtLaunchKernel(function, 1, &args, SIZE_MAX, NULL));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE,
            aclrtLaunchKernel(function, 1, &args, sizeof(args), &args));
    aclrtStream stream = NULL;
    WORKS(aclrtCreateStream(&stream));
    WORKS(aclrtDestroyStream(stream));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE,
            aclrtLaunchKernel(function, 1, &args, sizeof(args), stream));
    for (int i = 0; i < COUNT; i++) {
        cr_assert(eq(flt, y[i], 1)); // none of them ran
    }
}

Test(kernel_launch, configurations_are_checked)
{
    aclrtFuncHandle function = axpy_kernel();
    struct axpy args = axpy_args(1);
    aclrtLaunchKernelAttr attr[] = {
        { ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE, { .schemMode = 1 } },
        { ACL_RT_LAUNCH_KERNEL_ATTR_DYN_UBUF_SIZE, { .dynUBufSize = 1024 } },
        { ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE, { .engineType = ACL_RT_ENGINE_TYPE_AIV } },
        { ACL_RT_LAUNCH_KERNEL_ATTR_BLOCKDIM_OFFSET, { .blockDimOffset = 2 } },
        { ACL_RT_LAUNCH_KERNEL_ATTR_BLOCK_TASK_PREFETCH, { .isBlockTaskPrefetch = 1 } },
        { ACL_RT_LAUNCH_KERNEL_ATTR_DATA_DUMP, { .isDataDump = 1 } },
        { ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT, { .timeout = 30 } },
        { ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US, { .timeoutUs = { 30000000, 0 } } },
        { ACL_RT_LAUNCH_KERNEL_ATTR_ENABLE_PROFILING, { .enableProfiling = 1 } },
    };
    aclrtLaunchKernelCfg cfg = { attr, 9 };
    WORKS(aclrtLaunchKernelV2(function, 1, &args, sizeof(args), &cfg, NULL));
    check_axpy(1);
    cfg = (aclrtLaunchKernelCfg){ NULL, 0 };
    WORKS(aclrtLaunchKernelV2(function, 1, &args, sizeof(args), &cfg, NULL));
    WORKS(aclrtSynchronizeStream(NULL));
    cfg = (aclrtLaunchKernelCfg){ NULL, 1 };
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            aclrtLaunchKernelV2(function, 1, &args, sizeof(args), &cfg, NULL));
    static const struct {
        int id;
        aclrtLaunchKernelAttrValue value;
    } bad[] = {
        { 0, { .rsv = { 0 } } },
        { 10, { .rsv = { 0 } } },
        { -1, { .rsv = { 0 } } },
        { ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE, { .engineType = (aclrtEngineType)2 } },
        { ACL_RT_LAUNCH_KERNEL_ATTR_DATA_DUMP, { .isDataDump = 2 } },
        { ACL_RT_LAUNCH_KERNEL_ATTR_BLOCK_TASK_PREFETCH, { .isBlockTaskPrefetch = 2 } },
        { ACL_RT_LAUNCH_KERNEL_ATTR_ENABLE_PROFILING, { .enableProfiling = 2 } },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        aclrtLaunchKernelAttr one = { (aclrtLaunchKernelAttrId)bad[i].id, bad[i].value };
        cfg = (aclrtLaunchKernelCfg){ &one, 1 };
        ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
                aclrtLaunchKernelV2(function, 1, &args, sizeof(args), &cfg, NULL));
    }
}

Test(kernel_launch, registrations_are_checked)
{
    static const struct reprise_kernel_param empty[] = { { 0, 8 }, { 8, 0 } };
    static const struct reprise_kernel_param overlap[] = { { 0, 8 }, { 4, 8 } };
    aclrtFuncHandle function = NULL;
    ANSWERS(ACL_ERROR_INVALID_PARAM, reprise_kernel_register(NULL, axpy, &function));
    ANSWERS(ACL_ERROR_INVALID_PARAM, reprise_kernel_register("axpy", NULL, &function));
    ANSWERS(ACL_ERROR_INVALID_PARAM,
            reprise_kernel_register_params("axpy", axpy, NULL, 1, &function));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            reprise_kernel_register_params("axpy", axpy, empty, 2, &function));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            reprise_kernel_register_params("axpy", axpy, overlap, 2, &function));
    cr_expect(eq(ptr, function, NULL));
    WORKS(reprise_kernel_register("axpy", axpy, NULL));
    ANSWERS(ACL_ERROR_RT_KERNEL_DUPLICATE, reprise_kernel_register("again", axpy, &function));
    WORKS(aclrtGetFuncBySymbol((void *)(uintptr_t)axpy, &function));
    aclrtBinHandle binary = NULL;
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtFunctionGetBinary(function, &binary));
    // Without a table its parameters are not known.
    void *array[4] = { NULL };
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            aclrtLaunchKernelWithArgsArray(function, 4, NULL, NULL, array));
    WORKS(reprise_kernel_unregister(function));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, reprise_kernel_unregister(function));
    ANSWERS(ACL_ERROR_INVALID_PARAM, reprise_kernel_unregister(NULL));
    binary = load_module();
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            reprise_kernel_unregister(get_kernel(binary, "module_add")));
    WORKS(aclrtBinaryUnLoad(binary));
}

Test(kernel_launch, an_unregistered_kernel_that_is_queued_still_runs)
{
    aclrtFuncHandle function = axpy_kernel();
    struct axpy args = axpy_args(6);
    struct gate gate;
    gate_init(&gate);
    WORKS(gate_put(&gate, NULL));
    WORKS(aclrtLaunchKernel(function, 2, &args, sizeof(args), NULL));
    WORKS(reprise_kernel_unregister(function));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclrtLaunchKernel(function, 2, &args, sizeof(args), NULL));
    gate_open(&gate);
    check_axpy(6);
    WORKS(reprise_kernel_register("axpy", axpy, &function));
}

// Each allocation of a launch fails in turn.
Test(kernel_launch, a_launch_without_memory_fails_cleanly)
{
    aclrtFuncHandle function = axpy_kernel();
    struct axpy args = axpy_args(1);
    aclrtLaunchKernelAttr attr = { ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT, { .timeout = 30 } };
    aclrtLaunchKernelCfg cfg = { &attr, 1 };
    void *array[] = { &args.x, &args.y, &args.count, &args.alpha };
    WORKS(aclrtLaunchKernelWithArgsArray(function, 1, NULL, &cfg, array)); // fills the pools
    WORKS(aclrtSynchronizeStream(NULL));
    args = axpy_args(1);
    int failed = 0;
    for (int64_t count = 0;; count++) {
        rp_alloc_fail_after(count);
        const aclError answer = aclrtLaunchKernelWithArgsArray(function, 1, NULL, &cfg, array);
        const bool pending = rp_alloc_fail_pending();
        rp_alloc_fail_after(-1);
        if (pending) {
            cr_expect(eq(int, answer, ACL_SUCCESS));
            break;
        }
        cr_expect(eq(int, answer, ACL_ERROR_RT_MEMORY_ALLOCATION));
        failed++;
    }
    cr_expect(ge(int, failed, 3));
    check_axpy(1);
}
