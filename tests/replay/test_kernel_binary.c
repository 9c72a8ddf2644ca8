// Binaries with kernels: loading, what is found in one, and when it ends.

#include <dirent.h>
#include <reprise/kernel.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/gate.h"
#include "support/kernel_case.h"

TestSuite(kernel_binary, .init = on_device, .timeout = 60);

static int32_t *values_of(aclrtBinHandle binary)
{
    void *values = NULL;
    size_t bytes = 0;
    WORKS(aclrtBinaryGetGlobal(binary, "module_values", &values, &bytes));
    cr_assert(eq(sz, bytes, 4 * sizeof(int32_t)));
    return values;
}

static void bump(aclrtBinHandle binary)
{
    WORKS(aclrtLaunchKernel(get_kernel(binary, "module_bump"), 4, NULL, 0, NULL));
    WORKS(aclrtSynchronizeStream(NULL));
}

Test(kernel_binary, loads_from_a_file_and_from_memory)
{
    size_t bytes;
    void *data = read_module(MODULE_KERNELS, &bytes);
    aclrtBinHandle from_file = load_module();
    aclrtBinHandle from_data = NULL;
    aclrtBinHandle from_wrapper = NULL;
    WORKS(aclrtBinaryLoadFromData(data, bytes, NULL, &from_data));
    aclrtBinary wrapper = aclrtCreateBinary(data, bytes);
    cr_assert(ne(ptr, wrapper, NULL));
    WORKS(aclrtBinaryLoad(wrapper, &from_wrapper));
    WORKS(aclrtDestroyBinary(wrapper));
    memset(data, 0, bytes);
    free(data);
    // Each from memory is one of its own.
    bump(from_data);
    bump(from_data);
    bump(from_wrapper);
    cr_expect(eq(int, values_of(from_file)[1], 22));
    cr_expect(eq(int, values_of(from_data)[1], 24));
    cr_expect(eq(int, values_of(from_wrapper)[1], 23));
    WORKS(aclrtBinaryUnLoad(from_file));
    WORKS(aclrtBinaryUnLoad(from_data));
    WORKS(aclrtBinaryUnLoad(from_wrapper));
}

Test(kernel_binary, options_are_read)
{
    aclrtBinaryLoadOption option[] = {
        { ACL_RT_BINARY_LOAD_OPT_LAZY_LOAD, { .isLazyLoad = 1 } },
        { ACL_RT_BINARY_LOAD_OPT_MAGIC, { .magic = ACL_RT_BINARY_MAGIC_ELF_VECTOR_CORE } },
        { ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE, { .cpuKernelMode = 2 } },
    };
    aclrtBinaryLoadOptions options = { option, 3 };
    aclrtBinHandle binary = NULL;
    WORKS(aclrtBinaryLoadFromFile(MODULE_KERNELS, &options, &binary));
    WORKS(aclrtBinaryUnLoad(binary));
    binary = NULL;
    option[0].value.isLazyLoad = 2;
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtBinaryLoadFromFile(MODULE_KERNELS, &options, &binary));
    option[0].value.isLazyLoad = 0;
    option[1].value.magic = 1;
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtBinaryLoadFromFile(MODULE_KERNELS, &options, &binary));
    option[1].value.magic = ACL_RT_BINARY_MAGIC_ELF_AICORE;
    option[2].value.cpuKernelMode = 3;
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtBinaryLoadFromFile(MODULE_KERNELS, &options, &binary));
    option[2].type = 9;
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtBinaryLoadFromFile(MODULE_KERNELS, &options, &binary));
    options.options = NULL;
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtBinaryLoadFromFile(MODULE_KERNELS, &options, &binary));
    cr_expect(eq(ptr, binary, NULL));
}

Test(kernel_binary, what_is_no_shared_object_is_refused)
{
    aclrtBinHandle binary = NULL;
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtBinaryLoadFromFile(NULL, NULL, &binary));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtBinaryLoadFromFile(MODULE_KERNELS, NULL, NULL));
    ANSWERS(ACL_ERROR_INVALID_FILE, aclrtBinaryLoadFromFile("/nowhere/kernels.so", NULL, &binary));
    cr_expect(ne(ptr, strstr(aclGetRecentErrMsg(), "/nowhere/kernels.so"), NULL));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            aclrtBinaryLoadFromFile("/proc/self/status", NULL, &binary));

    size_t bytes;
    char *data = read_module(MODULE_KERNELS, &bytes);
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtBinaryLoadFromData(NULL, bytes, NULL, &binary));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtBinaryLoadFromData(data, bytes, NULL, NULL));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtBinaryLoadFromData(data, 0, NULL, &binary));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtBinaryLoadFromData(data, 40, NULL, &binary));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtBinaryLoadFromData(data, 64, NULL, &binary));
    data[18] ^= 0x5a; // another machine's
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtBinaryLoadFromData(data, bytes, NULL, &binary));
    data[0] = 'X';
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtBinaryLoadFromData(data, bytes, NULL, &binary));
    cr_expect(eq(ptr, aclrtCreateBinary(NULL, bytes), NULL));
    cr_expect(eq(ptr, aclrtCreateBinary(data, 0), NULL));
    cr_expect(eq(ptr, binary, NULL));
    free(data);
}

// The loader maps what the headers say, and would die of bytes that are not there.
Test(kernel_binary, one_that_is_cut_off_is_refused)
{
    char path[] = "/tmp/reprise-cut-XXXXXX";
    aclrtBinHandle binary = NULL;
    size_t bytes;
    char *data = read_module(MODULE_KERNELS, &bytes);
    for (size_t cut = 0; cut < bytes / 4; cut += 509) {
        ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtBinaryLoadFromData(data, cut, NULL, &binary));
    }
    cr_expect(ne(ptr, strstr(aclGetRecentErrMsg(), "cut off"), NULL));
    const int fd = mkstemp(path);
    cr_assert(ge(int, fd, 0));
    cr_assert(eq(sz, (size_t)write(fd, data, bytes / 4), bytes / 4));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtBinaryLoadFromFile(path, NULL, &binary));
    close(fd);
    unlink(path);
    cr_assert(eq(int, mkfifo(path, 0600), 0));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtBinaryLoadFromFile(path, NULL, &binary));
    unlink(path);
    free(data);
}

Test(kernel_binary, a_function_has_one_handle)
{
    aclrtBinHandle binary = load_module();
    aclrtFuncHandle add = get_kernel(binary, "module_add");
    aclrtFuncHandle again = get_kernel(binary, "module_add");
    aclrtFuncHandle by_entry = NULL;
    cr_expect(eq(ptr, again, add));
    WORKS(aclrtBinaryGetFunctionByEntry(binary, 7, &by_entry));
    cr_expect(eq(ptr, by_entry, add));
    WORKS(aclrtBinaryGetFunctionByEntry(binary, UINT64_MAX, &by_entry));
    cr_expect(eq(ptr, by_entry, get_kernel(binary, "module_scale")));
    WORKS(aclrtBinaryGetFunctionByEntry(binary, 0, &by_entry));
    cr_expect(eq(ptr, by_entry, get_kernel(binary, "module_bump")));
    WORKS(aclrtBinaryUnLoad(binary));
}

Test(kernel_binary, only_its_own_functions_are_kernels)
{
    aclrtBinHandle binary = load_module();
    aclrtFuncHandle function = NULL;
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            aclrtBinaryGetFunction(binary, "module_nothing", &function));
    // The C library's is visible through the object, but not in it; and a variable is no function.
    long parsed = 0;
    struct {
        const char *text;
        long *out;
    } args = { "417", &parsed };
    WORKS(aclrtLaunchKernel(get_kernel(binary, "module_parse"), 1, &args, sizeof(args), NULL));
    WORKS(aclrtSynchronizeStream(NULL));
    cr_expect(eq(long, parsed, 417)); // it is linked with that library
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtBinaryGetFunction(binary, "exit", &function));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtBinaryGetFunction(binary, "module_values", &function));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtBinaryGetFunction(binary, NULL, &function));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtBinaryGetFunction(binary, "module_add", NULL));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtBinaryGetFunction(NULL, "module_add", &function));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtBinaryGetFunctionByEntry(binary, 3, &function));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtBinaryGetFunctionByEntry(binary, 8, &function));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtBinaryGetFunctionByEntry(binary, 7, NULL));
    cr_expect(eq(ptr, function, NULL));
    WORKS(aclrtBinaryUnLoad(binary));
}

Test(kernel_binary, variables_are_found_with_their_size)
{
    aclrtBinHandle binary = load_module();
    void *address = NULL;
    size_t bytes = 0;
    cr_expect(eq(int, values_of(binary)[3], 44));
    WORKS(aclrtBinaryGetGlobal(binary, "module_values", &address, NULL));
    cr_expect(eq(ptr, address, values_of(binary)));
    WORKS(aclrtBinaryGetGlobal(binary, "module_values", NULL, &bytes));
    cr_expect(eq(sz, bytes, 16));
    ANSWERS(ACL_ERROR_RT_SYMBOL_NOT_FOUND,
            aclrtBinaryGetGlobal(binary, "nothing", &address, &bytes));
    ANSWERS(ACL_ERROR_RT_SYMBOL_NOT_FOUND,
            aclrtBinaryGetGlobal(binary, "environ", &address, &bytes));
    ANSWERS(ACL_ERROR_RT_SYMBOL_NOT_FOUND,
            aclrtBinaryGetGlobal(binary, "module_add", &address, &bytes));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtBinaryGetGlobal(binary, NULL, &address, &bytes));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtBinaryGetGlobal(binary, "module_values", NULL, NULL));
    void *begin = NULL;
    WORKS(aclrtBinaryGetDevAddress(binary, &begin, &bytes));
    cr_expect(ge(ptr, address, begin));
    cr_expect(lt(ptr, address, (void *)((char *)begin + bytes)));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtBinaryGetDevAddress(binary, NULL, &bytes));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtBinaryGetDevAddress(binary, &begin, NULL));
    WORKS(aclrtBinaryUnLoad(binary));
}

Test(kernel_binary, a_function_tells_about_itself)
{
    aclrtBinHandle binary = load_module();
    aclrtFuncHandle scale = get_kernel(binary, "module_scale");
    char name[16];
    WORKS(aclrtGetFunctionName(scale, sizeof(name), name));
    cr_expect(eq(str, name, "module_scale"));
    WORKS(aclrtGetFunctionName(scale, sizeof("module_scale"), name));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            aclrtGetFunctionName(scale, sizeof("module_scale") - 1, name));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtGetFunctionName(scale, 0, name));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtGetFunctionName(scale, 16, NULL));

    int64_t value = -1;
    WORKS(aclrtGetFunctionAttribute(scale, ACL_FUNC_ATTR_KERNEL_TYPE, &value));
    cr_expect(eq(i64, value, ACL_KERNEL_TYPE_VECTOR));
    WORKS(aclrtGetFunctionAttribute(scale, ACL_FUNC_ATTR_KERNEL_RATIO, &value));
    cr_expect(eq(i64, value, 1));
    WORKS(aclrtGetFunctionAttribute(scale, ACL_FUNC_ATTR_KERNEL_SCHED_MODE, &value));
    cr_expect(eq(i64, value, 0));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            aclrtGetFunctionAttribute(scale, (aclrtFuncAttribute)4, &value));
    ANSWERS(ACL_ERROR_INVALID_PARAM,
            aclrtGetFunctionAttribute(scale, ACL_FUNC_ATTR_KERNEL_TYPE, NULL));

    void *cube = &cube;
    void *vector = NULL;
    size_t cube_bytes = 1;
    size_t vector_bytes = 0;
    WORKS(aclrtGetFunctionAddr(scale, &cube, &vector));
    cr_expect(eq(ptr, cube, NULL));
    WORKS(aclrtGetFunctionSize(scale, &cube_bytes, &vector_bytes));
    cr_expect(eq(sz, cube_bytes, 0));
    cr_expect(gt(sz, vector_bytes, 0));
    aclrtFuncHandle by_symbol = NULL;
    WORKS(aclrtGetFuncBySymbol(vector, &by_symbol));
    cr_expect(eq(ptr, by_symbol, scale));
    aclrtBinHandle from = NULL;
    WORKS(aclrtFunctionGetBinary(scale, &from));
    cr_expect(eq(ptr, from, binary));
    WORKS(aclrtBinaryUnLoad(binary));
    ANSWERS(ACL_ERROR_RT_INVALID_DEVICE_FUNCTION, aclrtGetFuncBySymbol(vector, &by_symbol));
}

Test(kernel_binary, a_function_tells_its_parameters)
{
    aclrtBinHandle binary = load_module();
    aclrtFuncHandle scale = get_kernel(binary, "module_scale");
    static const size_t offsets[] = { 0, 8, 12, 16 };
    static const size_t sizes[] = { 8, 4, 2, 8 };
    size_t count = 0;
    WORKS(aclrtFunctionGetParamCount(scale, &count));
    cr_assert(eq(sz, count, 4));
    for (size_t i = 0; i < count; i++) {
        size_t offset = 99;
        size_t bytes = 99;
        WORKS(aclrtFunctionGetParamInfo(scale, i, &offset, &bytes));
        cr_expect(eq(sz, offset, offsets[i]));
        cr_expect(eq(sz, bytes, sizes[i]));
        offset = 99;
        WORKS(aclrtFunctionGetParamInfo(scale, i, &offset, NULL));
        cr_expect(eq(sz, offset, offsets[i]));
        WORKS(aclrtFunctionGetParamInfo(scale, i, NULL, &bytes));
    }
    size_t offset;
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtFunctionGetParamInfo(scale, 4, &offset, NULL));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtFunctionGetParamInfo(scale, 0, NULL, NULL));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtFunctionGetParamCount(scale, NULL));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtFunctionGetParamCount(NULL, &count));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            aclrtFunctionGetParamCount(get_kernel(binary, "module_add"), &count));
    ANSWERS(ACL_ERROR_RT_INVALID_DEVICE_FUNCTION, aclrtFunctionGetParamCount(&count, &count));
    size_t local = 0;
    WORKS(aclrtFunctionGetAvailDynUbufPerBlock(scale, 0, &local));
    cr_expect(eq(sz, local, 192 * 1024));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtFunctionGetAvailDynUbufPerBlock(scale, 1, &local));
    WORKS(aclrtBinaryUnLoad(binary));
}

Test(kernel_binary, cpu_functions_are_registered_by_name)
{
    aclrtBinaryLoadOption option = { ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE,
        { .cpuKernelMode = 1 } };
    aclrtBinaryLoadOptions options = { &option, 1 };
    aclrtBinHandle binary = NULL;
    aclrtFuncHandle packed = NULL;
    // The description of CPU kernels stands for the object beside it.
    WORKS(aclrtBinaryLoadFromFile(
            RP_TEST_BINARY_DIR "/tests/modules/module_kernels.json", &options, &binary));
    WORKS(aclrtRegisterCpuFunc(binary, "module_packed", "Packed", &packed));
    cr_expect(eq(ptr, get_kernel(binary, "Packed"), packed));
    int64_t type = 0;
    WORKS(aclrtGetFunctionAttribute(packed, ACL_FUNC_ATTR_KERNEL_TYPE, &type));
    cr_expect(eq(i64, type, ACL_KERNEL_TYPE_AICPU));
    aclrtFuncHandle other = NULL;
    ANSWERS(ACL_ERROR_RT_KERNEL_DUPLICATE,
            aclrtRegisterCpuFunc(binary, "module_add", "Packed", &other));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtRegisterCpuFunc(binary, "nothing", "Other", &other));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtRegisterCpuFunc(binary, NULL, "Other", &other));

    uint8_t value = 77;
    uint8_t result = 0;
    uint8_t *out = &result;
    aclrtArgsHandle args = NULL;
    aclrtParamHandle param = NULL;
    WORKS(aclrtKernelArgsInit(packed, &args));
    WORKS(aclrtKernelArgsAppend(args, &value, sizeof(value), &param));
    WORKS(aclrtKernelArgsAppend(args, &out, sizeof(out), &param));
    WORKS(aclrtKernelArgsFinalize(args));
    WORKS(aclrtLaunchKernelWithConfig(packed, 1, NULL, NULL, args, NULL));
    WORKS(aclrtSynchronizeStream(NULL));
    cr_expect(eq(u8, result, 77));
    WORKS(aclrtBinaryUnLoad(binary));

    binary = load_module();
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            aclrtRegisterCpuFunc(binary, "module_packed", "Packed", &other));
    WORKS(aclrtBinaryUnLoad(binary));
}

Test(kernel_binary, stale_and_foreign_handles_are_refused)
{
    size_t bytes;
    void *data = read_module(MODULE_KERNELS, &bytes);
    aclrtBinHandle binary = load_module();
    aclrtFuncHandle add = get_kernel(binary, "module_add");
    aclrtBinary wrapper = aclrtCreateBinary(data, bytes);
    aclrtFuncHandle function = NULL;
    char name[32];
    int64_t value;
    // Two kinds of handles that look alike.
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclrtBinaryUnLoad(wrapper));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclrtDestroyBinary(binary));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclrtBinaryGetFunction(wrapper, "module_add", &function));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclrtBinaryUnLoad(add));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtBinaryUnLoad(NULL));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtDestroyBinary(NULL));
    WORKS(aclrtDestroyBinary(wrapper));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclrtDestroyBinary(wrapper));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclrtBinaryLoad(wrapper, &binary));
    WORKS(aclrtBinaryUnLoad(binary));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclrtBinaryUnLoad(binary));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclrtBinaryGetFunction(binary, "module_add", &function));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclrtGetFunctionName(add, sizeof(name), name));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE,
            aclrtGetFunctionAttribute(add, ACL_FUNC_ATTR_KERNEL_TYPE, &value));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclrtLaunchKernel(add, 1, &value, 8, NULL));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclrtLaunchKernel(&value, 1, &value, 8, NULL));
    free(data);
}

static void ignore(aclrtExceptionInfo *info, void *arg)
{
    (void)info;
    (void)arg;
}

Test(kernel_binary, an_exception_callback_is_kept)
{
    aclrtBinHandle binary = load_module();
    WORKS(aclrtBinarySetExceptionCallback(binary, ignore, NULL));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtBinarySetExceptionCallback(binary, NULL, NULL));
    WORKS(aclrtBinaryUnLoad(binary));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclrtBinarySetExceptionCallback(binary, ignore, NULL));
}

// A kernel that is queued keeps its code, though the binary is unloaded, and for not a call longer.
Test(kernel_binary, unloading_leaves_queued_launches_alone)
{
    struct {
        const float *x;
        float *y;
        uint32_t count;
    } args;
    float x[] = { 1, 2, 3 };
    float y[] = { 10, 20, 30 };
    args.x = x;
    args.y = y;
    args.count = 3;
    size_t bytes;
    void *data = read_module(MODULE_KERNELS, &bytes);
    aclrtBinHandle binary = NULL;
    struct gate gate;
    gate_init(&gate);
    WORKS(aclrtBinaryLoadFromData(data, bytes, NULL, &binary));
    free(data);
    WORKS(gate_put(&gate, NULL));
    for (int i = 0; i < 3; i++) {
        WORKS(aclrtLaunchKernel(get_kernel(binary, "module_add"), 2, &args, sizeof(args), NULL));
    }
    WORKS(aclrtBinaryUnLoad(binary));
    gate_open(&gate);
    WORKS(aclrtSynchronizeStream(NULL));
    cr_expect(eq(flt, y[0], 13));
    cr_expect(eq(flt, y[1], 26));
    cr_expect(eq(flt, y[2], 39));
}

static int count_entries(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

static int count_maps(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[512];
    int count = 0;
    while (fgets(line, sizeof(line), file) != NULL) {
        count += strstr(line, "reprise-binary") != NULL;
    }
    fclose(file);
    return count;
}

Test(kernel_binary, rounds_of_loading_and_launching_leave_nothing)
{
    size_t bytes;
    void *data = read_module(MODULE_KERNELS, &bytes);
    int fds = 0;
    for (int round = 0; round < 300; round++) {
        aclrtBinHandle binary = NULL;
        WORKS(aclrtBinaryLoadFromData(data, bytes, NULL, &binary));
        WORKS(aclrtLaunchKernel(get_kernel(binary, "module_bump"), 4, NULL, 0, NULL));
        // Every other time the launch is what keeps it.
        if (round % 2 == 0) {
            WORKS(aclrtSynchronizeStream(NULL));
        }
        WORKS(aclrtBinaryUnLoad(binary));
        WORKS(aclrtSynchronizeStream(NULL));
        if (round == 9) {
            fds = count_entries("/proc/self/fd");
        }
    }
    aclrtBinHandle last = load_module(); // closes what the last round left
    cr_expect(eq(int, count_maps(), 0));
    cr_expect(le(int, count_entries("/proc/self/fd"), fds));
    WORKS(aclrtBinaryUnLoad(last));
    free(data);
}

// The loader keeps some objects for good. Their memory files must not be mistaken for later ones.
Test(kernel_binary, an_object_that_stays_is_not_taken_for_another)
{
    size_t resident_bytes;
    size_t bytes;
    void *resident = read_module(MODULE_RESIDENT, &resident_bytes);
    void *data = read_module(MODULE_KERNELS, &bytes);
    for (int round = 0; round < 3; round++) {
        aclrtBinHandle binary = NULL;
        void *value = NULL;
        WORKS(aclrtBinaryLoadFromData(resident, resident_bytes, NULL, &binary));
        WORKS(aclrtLaunchKernel(get_kernel(binary, "resident_bump"), 1, NULL, 0, NULL));
        WORKS(aclrtSynchronizeStream(NULL));
        WORKS(aclrtBinaryGetGlobal(binary, "resident_value", &value, NULL));
        cr_expect(eq(int, *(int32_t *)value, 2));
        WORKS(aclrtBinaryUnLoad(binary));
        WORKS(aclrtBinaryLoadFromData(data, bytes, NULL, &binary));
        (void)get_kernel(binary, "module_add");
        WORKS(aclrtBinaryUnLoad(binary));
    }
    free(resident);
    free(data);
}

// Each allocation of a load fails in turn; nothing is left of it.
Test(kernel_binary, a_load_without_memory_fails_cleanly)
{
    size_t bytes;
    void *data = read_module(MODULE_KERNELS, &bytes);
    aclrtBinHandle binary = NULL;
    aclrtFuncHandle function = NULL;
    int failed = 0;
    for (int64_t count = 0;; count++) {
        rp_alloc_fail_after(count);
        aclError answer = aclrtBinaryLoadFromData(data, bytes, NULL, &binary);
        if (answer == ACL_SUCCESS) {
            answer = aclrtBinaryGetFunction(binary, "module_scale", &function);
        }
        const bool pending = rp_alloc_fail_pending();
        rp_alloc_fail_after(-1);
        if (binary != NULL) {
            WORKS(aclrtBinaryUnLoad(binary));
            binary = NULL;
        }
        if (pending) {
            cr_expect(eq(int, answer, ACL_SUCCESS));
            break;
        }
        failed += answer != ACL_SUCCESS;
        cr_expect(answer == ACL_SUCCESS || answer == ACL_ERROR_RT_MEMORY_ALLOCATION);
    }
    cr_expect(ge(int, failed, 3));
    cr_expect(eq(int, count_maps(), 0));
    free(data);
}
