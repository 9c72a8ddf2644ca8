// Argument lists.

#include <pthread.h>
#include <reprise/kernel.h>
#include <stddef.h>
#include <string.h>

#include "support/kernel_case.h"

TestSuite(kernel_args, .init = on_device, .timeout = 30);

// What the last kernel was given.
static unsigned char seen[1024];

struct sight {
    uint64_t bytes;
};

static void look(void *args, uint32_t block, uint32_t blocks)
{
    (void)block;
    (void)blocks;
    struct sight sight;
    memcpy(&sight, args, sizeof(sight));
    memcpy(seen, args, sight.bytes);
}

static aclrtFuncHandle look_kernel(void)
{
    aclrtFuncHandle function = NULL;
    WORKS(reprise_kernel_register("look", look, &function));
    return function;
}

static void run(aclrtFuncHandle function, aclrtArgsHandle args)
{
    memset(seen, 0xee, sizeof(seen));
    WORKS(aclrtKernelArgsFinalize(args));
    WORKS(aclrtLaunchKernelWithConfig(function, 1, NULL, NULL, args, NULL));
    WORKS(aclrtSynchronizeStream(NULL));
}

// 8 bytes that say how many the kernel is to look at, then the rest.
static aclrtArgsHandle begin(aclrtFuncHandle function, uint64_t bytes)
{
    aclrtArgsHandle args = NULL;
    aclrtParamHandle param = NULL;
    WORKS(aclrtKernelArgsInit(function, &args));
    WORKS(aclrtKernelArgsAppend(args, &bytes, sizeof(bytes), &param));
    return args;
}

Test(kernel_args, parameters_stand_at_multiples_of_eight)
{
    aclrtFuncHandle function = look_kernel();
    aclrtArgsHandle args = begin(function, 41);
    aclrtParamHandle param = NULL;
    char small = 'a';
    int32_t middle = -5;
    struct {
        uint8_t byte[12];
    } large = { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 } };
    WORKS(aclrtKernelArgsAppend(args, &small, sizeof(small), &param));
    WORKS(aclrtKernelArgsAppend(args, &middle, sizeof(middle), &param));
    WORKS(aclrtKernelArgsAppend(args, &large, sizeof(large), &param));
    WORKS(aclrtKernelArgsAppend(args, &small, sizeof(small), &param));
    small = 'b'; // they are copies
    large.byte[0] = 0;
    run(function, args);
    unsigned char expected[41] = { 0 };
    expected[0] = 41;
    expected[8] = 'a';
    memcpy(expected + 16, &middle, 4);
    for (unsigned i = 0; i < 12; i++) {
        expected[24 + i] = (unsigned char)(i + 1);
    }
    expected[40] = 'a';
    cr_expect(eq(int, memcmp(seen, expected, sizeof(expected)), 0));
    // What was skipped is zero.
    cr_expect(eq(int, memcmp(seen + 9, expected + 9, 7), 0));
}

Test(kernel_args, a_table_decides_where_parameters_stand)
{
    aclrtBinHandle binary = load_module();
    aclrtFuncHandle scale = get_kernel(binary, "module_scale");
    int64_t data[] = { 1, 2, 3, 4, 5 };
    int64_t *pointer = data;
    uint32_t count = 5;
    int16_t by = -3;
    int64_t plus = 1000;
    aclrtArgsHandle args = NULL;
    aclrtParamHandle param = NULL;
    WORKS(aclrtKernelArgsInit(scale, &args));
    WORKS(aclrtKernelArgsAppend(args, &pointer, sizeof(pointer), &param));
    WORKS(aclrtKernelArgsAppend(args, &count, sizeof(count), &param));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtKernelArgsAppend(args, &plus, sizeof(plus), &param));
    WORKS(aclrtKernelArgsAppend(args, &by, sizeof(by), &param));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtKernelArgsFinalize(args)); // one is missing
    WORKS(aclrtKernelArgsAppend(args, &plus, sizeof(plus), &param));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtKernelArgsAppend(args, &by, sizeof(by), &param));
    run(scale, args);
    for (int i = 0; i < 5; i++) {
        cr_expect(eq(i64, data[i], -3 * (i + 1) + 1000));
    }
    WORKS(aclrtBinaryUnLoad(binary));
}

struct carried {
    uint64_t bytes;
    const uint32_t *first;
    const char *second;
};

static uint32_t sum;
static char text[32];

static void read_carried(void *args, uint32_t block, uint32_t blocks)
{
    (void)block;
    (void)blocks;
    const struct carried *carried = args;
    sum = 0;
    for (uint32_t i = 0; i < 4; i++) {
        sum += carried->first[i];
    }
    strncpy(text, carried->second == NULL ? "null" : carried->second, sizeof(text) - 1);
}

Test(kernel_args, placeholders_lead_to_data_that_travels_along)
{
    aclrtFuncHandle function = NULL;
    WORKS(reprise_kernel_register("carried", read_carried, &function));
    aclrtArgsHandle args = begin(function, sizeof(struct carried));
    aclrtParamHandle first = NULL;
    aclrtParamHandle second = NULL;
    void *numbers = NULL;
    void *letters = NULL;
    WORKS(aclrtKernelArgsAppendPlaceHolder(args, &first));
    WORKS(aclrtKernelArgsAppendPlaceHolder(args, &second));
    WORKS(aclrtKernelArgsGetPlaceHolderBuffer(args, second, 9, &letters));
    WORKS(aclrtKernelArgsGetPlaceHolderBuffer(args, first, 16, &numbers));
    cr_expect(eq(sz, (uintptr_t)numbers % 8, 0));
    strcpy(letters, "carried!");
    const uint32_t values[4] = { 1, 20, 300, 4000 };
    memcpy(numbers, values, sizeof(values));
    WORKS(aclrtKernelArgsFinalize(args));
    WORKS(aclrtLaunchKernelWithConfig(function, 1, NULL, NULL, args, NULL));
    // The launch has a copy; the list can be used at once.
    memset(numbers, 0, 16);
    memset(letters, 'x', 8);
    WORKS(aclrtSynchronizeStream(NULL));
    cr_expect(eq(u32, sum, 4321));
    cr_expect(eq(str, text, "carried!"));
}

Test(kernel_args, a_placeholder_without_data_is_null)
{
    aclrtFuncHandle function = NULL;
    WORKS(reprise_kernel_register("carried", read_carried, &function));
    aclrtArgsHandle args = begin(function, sizeof(struct carried));
    aclrtParamHandle first = NULL;
    aclrtParamHandle second = NULL;
    void *numbers = NULL;
    WORKS(aclrtKernelArgsAppendPlaceHolder(args, &first));
    WORKS(aclrtKernelArgsAppendPlaceHolder(args, &second));
    WORKS(aclrtKernelArgsGetPlaceHolderBuffer(args, first, 16, &numbers));
    ((uint32_t *)numbers)[2] = 9;
    run(function, args);
    cr_expect(eq(u32, sum, 9));
    cr_expect(eq(str, text, "null"));
}

Test(kernel_args, a_parameter_can_be_replaced)
{
    aclrtFuncHandle function = look_kernel();
    aclrtArgsHandle args = begin(function, 24);
    aclrtParamHandle first = NULL;
    aclrtParamHandle place = NULL;
    uint64_t value = 1;
    WORKS(aclrtKernelArgsAppend(args, &value, sizeof(value), &first));
    WORKS(aclrtKernelArgsAppendPlaceHolder(args, &place));
    run(function, args);
    cr_expect(eq(u64, ((uint64_t *)seen)[1], 1));
    value = 2;
    WORKS(aclrtKernelArgsParaUpdate(args, first, &value, sizeof(value)));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            aclrtLaunchKernelWithConfig(function, 1, NULL, NULL, args, NULL));
    run(function, args);
    cr_expect(eq(u64, ((uint64_t *)seen)[1], 2));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtKernelArgsParaUpdate(args, first, &value, 4));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtKernelArgsParaUpdate(args, place, &value, 8));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtKernelArgsParaUpdate(args, first, NULL, 8));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtKernelArgsParaUpdate(args, NULL, &value, 8));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclrtKernelArgsParaUpdate(args, &value, &value, 8));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE,
            aclrtKernelArgsParaUpdate(args, (char *)first + 1, &value, 8));
}

Test(kernel_args, at_most_128_parameters)
{
    aclrtFuncHandle function = look_kernel();
    aclrtArgsHandle args = begin(function, 1024);
    aclrtParamHandle param = NULL;
    for (uint64_t i = 1; i < 128; i++) {
        WORKS(aclrtKernelArgsAppend(args, &i, sizeof(i), &param));
    }
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtKernelArgsAppend(args, &param, 8, &param));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtKernelArgsAppendPlaceHolder(args, &param));
    run(function, args);
    for (uint64_t i = 1; i < 128; i++) {
        cr_expect(eq(u64, ((uint64_t *)seen)[i], i));
    }
}

Test(kernel_args, calls_in_the_wrong_order_are_refused)
{
    aclrtFuncHandle function = look_kernel();
    aclrtArgsHandle args = begin(function, 8);
    aclrtParamHandle place = NULL;
    aclrtParamHandle param = NULL;
    void *buffer = NULL;
    uint64_t value = 0;
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            aclrtLaunchKernelWithConfig(function, 1, NULL, NULL, args, NULL));
    cr_expect(ne(ptr, strstr(aclGetRecentErrMsg(), "aclrtKernelArgsFinalize"), NULL));
    WORKS(aclrtKernelArgsAppend(args, &value, 8, &param));
    WORKS(aclrtKernelArgsAppendPlaceHolder(args, &place));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            aclrtKernelArgsGetPlaceHolderBuffer(args, param, 8, &buffer));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            aclrtKernelArgsGetPlaceHolderBuffer(args, place, 0, &buffer));
    WORKS(aclrtKernelArgsGetPlaceHolderBuffer(args, place, 8, &buffer));
    ANSWERS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtKernelArgsAppend(args, &value, 8, &param));
    ANSWERS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtKernelArgsAppendPlaceHolder(args, &param));
    WORKS(aclrtKernelArgsFinalize(args));
    ANSWERS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtKernelArgsAppend(args, &value, 8, &param));
    ANSWERS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
            aclrtKernelArgsGetPlaceHolderBuffer(args, place, 8, &buffer));
    ANSWERS(ACL_ERROR_INVALID_PARAM,
            aclrtLaunchKernelWithConfig(function, 1, NULL, NULL, args, &value));
    ANSWERS(ACL_ERROR_INVALID_PARAM,
            aclrtLaunchKernelWithConfig(function, 1, NULL, NULL, NULL, NULL));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtLaunchKernelWithConfig(NULL, 1, NULL, NULL, args, NULL));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE,
            aclrtLaunchKernelWithConfig(function, 1, NULL, NULL, &value, NULL));
    aclrtFuncHandle other = NULL;
    WORKS(reprise_kernel_register("other", read_carried, &other));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            aclrtLaunchKernelWithConfig(other, 1, NULL, NULL, args, NULL));
}

Test(kernel_args, bad_arguments_are_refused)
{
    aclrtFuncHandle function = look_kernel();
    aclrtArgsHandle args = begin(function, 8);
    aclrtParamHandle param = NULL;
    static char big[64 * 1024];
    size_t bytes;
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtKernelArgsInit(NULL, &args));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtKernelArgsInit(function, NULL));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclrtKernelArgsInit(&bytes, &args));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtKernelArgsAppend(NULL, big, 8, &param));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtKernelArgsAppend(args, NULL, 8, &param));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtKernelArgsAppend(args, big, 8, NULL));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtKernelArgsAppend(args, big, 0, &param));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtKernelArgsAppend(args, big, sizeof(big), &param));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtKernelArgsAppend(args, big, SIZE_MAX - 4, &param));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclrtKernelArgsAppend(&bytes, big, 8, &param));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclrtKernelArgsFinalize(&bytes));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtKernelArgsFinalize(NULL));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtKernelArgsGetHandleMemSize(function, NULL));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtKernelArgsGetHandleMemSize(NULL, &bytes));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtKernelArgsGetMemSize(function, 8, NULL));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclrtKernelArgsGetMemSize(&bytes, 8, &bytes));
}

Test(kernel_args, a_list_can_lie_in_memory_of_the_caller)
{
    aclrtFuncHandle function = look_kernel();
    size_t list_bytes = 0;
    size_t args_bytes = 0;
    WORKS(aclrtKernelArgsGetHandleMemSize(function, &list_bytes));
    WORKS(aclrtKernelArgsGetMemSize(function, 24, &args_bytes));
    cr_expect(ge(sz, args_bytes, 24));
    void *list = malloc(list_bytes);
    void *memory = malloc(args_bytes);
    for (uint64_t round = 0; round < 3; round++) {
        aclrtParamHandle param = NULL;
        const uint64_t values[] = { 24, round, 100 + round };
        WORKS(aclrtKernelArgsInitByUserMem(function, list, memory, args_bytes));
        for (int i = 0; i < 3; i++) {
            WORKS(aclrtKernelArgsAppend(list, (void *)&values[i], 8, &param));
        }
        run(function, list);
        cr_expect(eq(int, memcmp(seen, values, sizeof(values)), 0));
    }
    WORKS(aclrtKernelArgsInitByUserMem(function, list, memory, 15));
    aclrtParamHandle param = NULL;
    uint64_t value = 8;
    WORKS(aclrtKernelArgsAppend(list, &value, 8, &param));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtKernelArgsAppend(list, &value, 8, &param));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID, aclrtKernelArgsInitByUserMem(function, list, memory, 0));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtKernelArgsInitByUserMem(function, NULL, memory, 64));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtKernelArgsInitByUserMem(function, list, NULL, 64));
    ANSWERS(ACL_ERROR_INVALID_PARAM, aclrtKernelArgsInitByUserMem(NULL, list, memory, 64));
    ANSWERS(ACL_ERROR_RT_PARAM_INVALID,
            aclrtKernelArgsInitByUserMem(function, (char *)list + 1, memory, 64));
    free(memory);
    free(list);
}

static void *begin_elsewhere(void *arg)
{
    aclrtArgsHandle args = NULL;
    WORKS(aclrtSetDevice(0));
    WORKS(aclrtKernelArgsInit(arg, &args));
    WORKS(aclrtKernelArgsFinalize(args));
    return args;
}

// The runtime's own list is the thread's: the next one takes its place, and it ends with the
// thread.
Test(kernel_args, a_thread_has_one_list_of_ours)
{
    aclrtFuncHandle function = look_kernel();
    aclrtArgsHandle first = begin(function, 8);
    aclrtArgsHandle second = begin(function, 8);
    cr_expect(eq(ptr, first, second));
    pthread_t thread;
    void *theirs = NULL;
    pthread_create(&thread, NULL, begin_elsewhere, function);
    pthread_join(thread, &theirs);
    cr_expect(ne(ptr, theirs, first));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclrtKernelArgsFinalize(theirs));
    WORKS(aclrtKernelArgsFinalize(first));
    WORKS(reprise_kernel_unregister(function));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE, aclrtKernelArgsFinalize(first));
    ANSWERS(ACL_ERROR_RT_INVALID_HANDLE,
            aclrtLaunchKernelWithConfig(function, 1, NULL, NULL, first, NULL));
}
