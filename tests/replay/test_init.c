// aclInit and its file, versions, names, data types, half precision, error calls.

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/acl_test.h"

static char path[64];

// A file with `text`, removed at the end.
static const char *config(const char *text)
{
    snprintf(path, sizeof(path), "/tmp/reprise-test-init-%d.json", (int)getpid());
    FILE *file = fopen(path, "w");
    cr_assert(ne(ptr, file, NULL));
    fputs(text, file);
    fclose(file);
    return path;
}

static void remove_config(void)
{
    unlink(path);
}

// ---- counting ----

Test(init, repeats_are_counted)
{
    uint64_t count = 77;
    ANSWERS(100037, aclFinalize());
    WORKS(aclInit(NULL));
    ANSWERS(100002, aclInit(NULL));
    ANSWERS(100002, aclInit(""));
    cr_assert(eq(int, aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), 0)); // to be ignored
    const char *why = aclGetRecentErrMsg();
    cr_assert(why != NULL && strncmp(why, "E100002: aclInit: ", 18) == 0, "%s", why);
    WORKS(aclFinalizeReference(&count));
    cr_assert(eq(u64, count, 2));
    WORKS(aclFinalizeReference(NULL));
    WORKS(aclFinalizeReference(&count));
    cr_assert(eq(u64, count, 0));
    ANSWERS(100037, aclFinalizeReference(&count));
    cr_assert(eq(u64, count, 0));
    WORKS(aclInit(NULL));
    ANSWERS(100002, aclInit(NULL));
    WORKS(aclFinalize()); // all at once
    ANSWERS(100037, aclFinalize());
}

Test(init, finalize_destroys_nothing_that_is_held, .init = small_device)
{
    aclrtStream stream;
    void *memory;
    WORKS(aclInit(NULL));
    WORKS(aclrtSetDevice(0));
    WORKS(aclrtCreateStream(&stream));
    WORKS(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclFinalize());
    WORKS(aclrtMemsetAsync(memory, 4096, 3, 4096, stream));
    WORKS(aclrtSynchronizeStream(stream));
    cr_assert(eq(u8, ((uint8_t *)memory)[4095], 3));
    WORKS(aclrtFree(memory));
    WORKS(aclrtDestroyStream(stream));
    WORKS(aclrtResetDevice(0));
}

Test(init, the_first_configuration_is_the_only_one, .fini = remove_config)
{
    WORKS(aclInit(config("{}")));
    ANSWERS(100002, aclInit(config("{ \"x\": 1 }"))); // while it counts, content is not looked at
    WORKS(aclFinalize());
    ANSWERS(100000, aclInit(config("{ \"x\": 1 }")));
    WORKS(aclInit(config("{}")));
    WORKS(aclFinalize());
}

// ---- the file ----

Test(init, files_that_cannot_be_used, .fini = remove_config)
{
    const char *const bad[] = { "{", "[]", "7", "{ \"a\": }", "{ \"a\": 1, \"a\": 2 }", "no" };
    ANSWERS(100003, aclInit("/nonexistent/reprise.json"));
    ANSWERS(100003, aclInit("/tmp")); // a directory
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ANSWERS(100006, aclInit(config(bad[i])));
    }
    ANSWERS(100037, aclFinalize());
    WORKS(aclInit(config(" \n\t")));
    WORKS(aclFinalize());
}

static const char *nested(int depth, char open, char close)
{
    static char text[256];
    char *at = text;
    at += sprintf(at, "{\"a\":");
    for (int i = 0; i < depth; i++) {
        at += open == '{' ? sprintf(at, "{\"b\":") : sprintf(at, "%c", open);
    }
    at += sprintf(at, "1");
    for (int i = 0; i < depth; i++) {
        *at++ = close;
    }
    strcpy(at, "}");
    return text;
}

Test(init, nesting_is_limited_to_ten_of_each, .fini = remove_config)
{
    ANSWERS(100006, aclInit(config(nested(10, '{', '}')))); // eleven with the outermost
    ANSWERS(100006, aclInit(config(nested(11, '[', ']'))));
    WORKS(aclInit(config("{\"a\":\"{{{{{{{{{{{{[[[[[[[[[[[[\\\"{\"}"))); // quoted ones do not count
    WORKS(aclFinalize());
}

Test(init, nesting_of_ten_is_fine, .fini = remove_config)
{
    WORKS(aclInit(config(nested(10, '[', ']'))));
    WORKS(aclFinalize());
}

Test(init, values_that_make_no_sense, .fini = remove_config)
{
    ANSWERS(100000, aclInit(config("{\"defaultDevice\":{}}")));
    ANSWERS(100000, aclInit(config("{\"defaultDevice\":{\"default_device\":\"x\"}}")));
    ANSWERS(100000, aclInit(config("{\"defaultDevice\":{\"default_device\":\"-1\"}}")));
    ANSWERS(107001, aclInit(config("{\"defaultDevice\":{\"default_device\":\"8\"}}")));
    ANSWERS(100000, aclInit(config("{\"err_msg_mode\":\"2\"}")));
    ANSWERS(148048, aclInit(config("{\"max_opqueue_num\":\"0\"}")));
    ANSWERS(148048, aclInit(config("{\"max_opqueue_num\":\"many\"}")));
    WORKS(aclInit(config("{\"max_opqueue_num\":\"20000\",\"dump\":{},\"profiler\":{}}")));
    WORKS(aclFinalize());
}

Test(init, the_default_device_is_set_by_itself, .init = small_device, .fini = remove_config)
{
    int32_t device = -1;
    aclrtStream stream;
    WORKS(aclInit(config("{\"defaultDevice\":{\"default_device\":\"3\"}}")));
    WORKS(aclrtGetDevice(&device));
    cr_assert(eq(int, device, 3));
    WORKS(aclrtCreateStream(&stream)); // without aclrtSetDevice
    aclrtContext context;
    WORKS(aclrtGetCurrentContext(&context));
    WORKS(aclrtDestroyStream(stream));
    WORKS(aclrtSetDevice(1)); // an explicit choice wins
    WORKS(aclrtGetDevice(&device));
    cr_assert(eq(int, device, 1));
}

static void *fail_elsewhere(void *arg)
{
    (void)arg;
    aclrtSetDevice(-5);
    return NULL;
}

static const char *message_after_a_failure_elsewhere(void)
{
    pthread_t thread;
    aclGetRecentErrMsg();
    pthread_create(&thread, NULL, fail_elsewhere, NULL);
    pthread_join(thread, NULL);
    return aclGetRecentErrMsg();
}

Test(init, messages_belong_to_the_thread)
{
    WORKS(aclInit(NULL));
    cr_assert(eq(ptr, (void *)message_after_a_failure_elsewhere(), NULL));
}

Test(init, messages_can_belong_to_the_process, .fini = remove_config)
{
    WORKS(aclInit(config("{\"err_msg_mode\":\"1\"}")));
    const char *text = message_after_a_failure_elsewhere();
    cr_assert(ne(ptr, (void *)text, NULL));
    cr_assert(ne(ptr, (void *)strstr(text, "-5"), NULL), "%s", text);
}

// ---- callbacks ----

static struct {
    int calls;
    char config[32];
    size_t bytes;
    aclError answer;
} seen;

static aclError on_init(const char *text, size_t bytes, void *arg)
{
    seen.calls += *(int *)arg;
    seen.bytes = bytes;
    snprintf(seen.config, sizeof(seen.config), "%s", text);
    return seen.answer;
}

static aclError on_finalize(void *arg)
{
    seen.calls += *(int *)arg;
    return seen.answer;
}

Test(init, callbacks_of_other_libraries, .fini = remove_config)
{
    int one = 1;
    int ten = 10;
    WORKS(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, on_init, &one));
    WORKS(aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, on_finalize, &ten));
    WORKS(aclInit(config("{\"a\":1}")));
    cr_assert(eq(int, seen.calls, 1));
    cr_assert(eq(str, seen.config, "{\"a\":1}"));
    cr_assert(eq(sz, seen.bytes, 7));
    WORKS(aclInitCallbackRegister(ACL_REG_TYPE_ACL_DVPP, on_init, &ten)); // late: at once
    cr_assert(eq(int, seen.calls, 11));
    WORKS(aclFinalize());
    cr_assert(eq(int, seen.calls, 21));
    WORKS(aclInitCallbackUnRegister(ACL_REG_TYPE_ACL_DVPP, on_init));
    ANSWERS(100000, aclInitCallbackUnRegister(ACL_REG_TYPE_ACL_DVPP, on_init));
    seen.answer = 4711;
    ANSWERS(4711, aclInit(config("{\"a\":1}"))); // its answer is passed on
    ANSWERS(4711, aclFinalize());
    seen.answer = 0;
    WORKS(aclFinalizeCallbackUnRegister(ACL_REG_TYPE_OTHER, on_finalize));
    ANSWERS(100000, aclFinalizeCallbackUnRegister(ACL_REG_TYPE_OTHER, on_finalize));
    ANSWERS(100000, aclInitCallbackRegister(ACL_REG_TYPE_OTHER, NULL, &one));
    ANSWERS(100000, aclInitCallbackRegister((aclRegisterCallbackType)8, on_init, &one));
    ANSWERS(100000, aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, NULL, &one));
}

// ---- versions and names ----

Test(init, versions)
{
    int32_t numbers[3] = { -1, -1, -1 };
    char text[ACL_PKG_VERSION_MAX_SIZE];
    aclCANNPackageVersion version;
    WORKS(aclrtGetVersion(&numbers[0], &numbers[1], &numbers[2]));
    cr_assert(all(eq(int, numbers[0], 1), eq(int, numbers[1], 17), eq(int, numbers[2], 0)));
    ANSWERS(100000, aclrtGetVersion(NULL, &numbers[1], &numbers[2]));
    WORKS(aclsysGetVersionStr("runtime", text));
    cr_assert(eq(str, text, "9.0.0"));
    WORKS(aclsysGetVersionNum("hccl", &numbers[0]));
    cr_assert(eq(int, numbers[0], 90000000));
    ANSWERS(100003, aclsysGetVersionStr("nonsense", text));
    ANSWERS(100000, aclsysGetVersionStr(NULL, text));
    ANSWERS(100000, aclsysGetVersionStr("runtime", NULL));
    ANSWERS(100000, aclsysGetVersionNum("runtime", NULL));
    WORKS(aclsysGetCANNVersion(ACL_PKG_NAME_DRIVER, &version));
    cr_assert(eq(str, version.version, "9.0.0"));
    cr_assert(eq(str, version.majorVersion, "9"));
    ANSWERS(100000, aclsysGetCANNVersion((aclCANNPackageName)8, &version));
    ANSWERS(100000, aclsysGetCANNVersion(ACL_PKG_NAME_CANN, NULL));
}

Test(init, soc_name)
{
    cr_assert(eq(str, (char *)aclrtGetSocName(), "Ascend910B1")); // no device is needed
}

Test(init, soc_name_from_the_environment)
{
    setenv("REPRISE_SOC_NAME", "Ascend910B4", 1);
    cr_assert(eq(str, (char *)aclrtGetSocName(), "Ascend910B4"));
}

Test(init, abilities)
{
    const aclCannAttr *list;
    size_t count;
    int32_t value;
    WORKS(aclGetCannAttributeList(&list, &count));
    cr_assert(eq(sz, count, 2));
    WORKS(aclGetCannAttribute(ACL_CANN_ATTR_BF16, &value));
    cr_assert(eq(int, value, 1));
    WORKS(aclGetCannAttribute(ACL_CANN_ATTR_JIT_COMPILE, &value));
    cr_assert(eq(int, value, 0));
    ANSWERS(100000, aclGetCannAttribute(ACL_CANN_ATTR_UNDEFINED, &value));
    ANSWERS(100000, aclGetCannAttribute(ACL_CANN_ATTR_BF16, NULL));
    ANSWERS(100000, aclGetCannAttributeList(NULL, &count));
    ANSWERS(100000, aclGetCannAttributeList(&list, NULL));
}

// ---- data ----

Test(init, sizes_of_types)
{
    const struct {
        aclDataType type;
        size_t size;
    } rows[] = {
        { ACL_DT_UNDEFINED, 0 },
        { ACL_STRING, 0 },
        { ACL_BOOL, 1 },
        { ACL_INT8, 1 },
        { ACL_UINT8, 1 },
        { ACL_HIFLOAT8, 1 },
        { ACL_FLOAT8_E5M2, 1 },
        { ACL_INT4, 1 },
        { ACL_FLOAT16, 2 },
        { ACL_BF16, 2 },
        { ACL_INT16, 2 },
        { ACL_UINT16, 2 },
        { ACL_FLOAT, 4 },
        { ACL_INT32, 4 },
        { ACL_UINT32, 4 },
        { ACL_COMPLEX32, 4 },
        { ACL_DOUBLE, 8 },
        { ACL_INT64, 8 },
        { ACL_UINT64, 8 },
        { ACL_COMPLEX64, 8 },
        { ACL_COMPLEX128, 16 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cr_assert(eq(sz, aclDataTypeSize(rows[i].type), rows[i].size), "type %d", rows[i].type);
    }
}

Test(init, half_precision_as_the_interface_wants_it)
{
    cr_assert(eq(flt, aclFloat16ToFloat(0x3c00), 1.0f));
    cr_assert(eq(flt, aclFloat16ToFloat(0xc000), -2.0f));
    cr_assert(eq(flt, aclFloat16ToFloat(0x0001), 0x1p-24f));
    cr_assert(eq(flt, aclFloat16ToFloat(0x03ff), 0x3ffp-24f));
    cr_assert(eq(flt, aclFloat16ToFloat(0x7c00), 65536.0f)); // infinity is a number here
    cr_assert(eq(flt, aclFloat16ToFloat(0xfc00), -65536.0f));
    cr_assert(eq(flt, aclFloat16ToFloat(0x7e00), 98304.0f));
    cr_assert(eq(u16, aclFloatToFloat16(65504.0f), 0x7bff));
    cr_assert(eq(u16, aclFloatToFloat16(65520.0f), 0x7bff)); // would round to infinity
    cr_assert(eq(u16, aclFloatToFloat16(1e30f), 0x7bff));
    cr_assert(eq(u16, aclFloatToFloat16(INFINITY), 0x7bff));
    cr_assert(eq(u16, aclFloatToFloat16(-INFINITY), 0xfbff));
    cr_assert(eq(u16, aclFloatToFloat16(NAN) & 0x7fff, 0x7bff));
    cr_assert(eq(u16, aclFloatToFloat16(1.0f + 0x1p-11f), 0x3c00)); // ties to even
    cr_assert(eq(u16, aclFloatToFloat16(1.0f + 3 * 0x1p-11f), 0x3c02));
    cr_assert(eq(u16, aclFloatToFloat16(0x1p-25f), 0));
    cr_assert(eq(u16, aclFloatToFloat16(0x1.8p-25f), 1));
    cr_assert(eq(u16, aclFloatToFloat16(-0.0f), 0x8000));
    for (unsigned bits = 0; bits < 0x10000; bits++) { // every finite one survives the round trip
        if ((bits & 0x7c00) != 0x7c00) {
            cr_assert(eq(u16, aclFloatToFloat16(aclFloat16ToFloat((aclFloat16)bits)), bits));
        }
    }
}

Test(init, data_buffers)
{
    int data;
    aclDataBuffer *buffer = aclCreateDataBuffer(&data, (size_t)5 << 30);
    cr_assert(ne(ptr, buffer, NULL));
    cr_assert(eq(ptr, aclGetDataBufferAddr(buffer), &data));
    cr_assert(eq(sz, aclGetDataBufferSizeV2(buffer), (size_t)5 << 30));
    cr_assert(eq(u32, aclGetDataBufferSize(buffer), UINT32_C(1) << 30)); // cut to 32 bits
    WORKS(aclUpdateDataBuffer(buffer, NULL, 8));
    cr_assert(eq(sz, aclGetDataBufferSizeV2(buffer), 8));
    cr_assert(eq(ptr, aclGetDataBufferAddr(NULL), NULL));
    cr_assert(eq(sz, aclGetDataBufferSizeV2(NULL), 0));
    WORKS(aclDestroyDataBuffer(buffer));
    ANSWERS(107017, aclDestroyDataBuffer(buffer));
    ANSWERS(100000, aclDestroyDataBuffer(NULL));
    ANSWERS(100000, aclUpdateDataBuffer(NULL, NULL, 0));
}

// ---- error calls ----

Test(init, last_errors)
{
    cr_assert(eq(int, aclrtGetLastError(ACL_RT_THREAD_LEVEL), 0));
    cr_assert(eq(int, aclrtSetDevice(-1), 107001));
    cr_assert(eq(int, aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), 107001));
    cr_assert(eq(int, aclrtGetLastError(ACL_RT_THREAD_LEVEL), 107001));
    cr_assert(eq(int, aclrtGetLastError(ACL_RT_THREAD_LEVEL), 0));
    ANSWERS(107000, aclrtGetLastError((aclrtLastErrLevel)1));
    ANSWERS(107000, aclrtPeekAtLastError((aclrtLastErrLevel)1));
}

Test(init, messages_name_the_argument)
{
    aclGetRecentErrMsg();
    cr_assert(eq(int, aclrtGetDeviceCount(NULL), 100000));
    const char *text = aclGetRecentErrMsg();
    cr_assert(ne(ptr, (void *)text, NULL));
    cr_assert(ne(ptr, (void *)strstr(text, "count"), NULL), "%s", text);
    cr_assert(eq(ptr, (void *)aclGetRecentErrMsg(), NULL));
}

Test(init, the_application_log_goes_to_the_log)
{
    char text[4096] = "";
    int ends[2];
    cr_assert(eq(int, pipe(ends), 0));
    setenv("ASCEND_SLOG_PRINT_TO_STDOUT", "1", 1);
    setenv("ASCEND_GLOBAL_LOG_LEVEL", "2", 1);
    fflush(stdout);
    const int saved = dup(STDOUT_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    ACL_APP_LOG(ACL_WARNING, "value %d", 42);
    ACL_APP_LOG(ACL_INFO, "too quiet");
    aclAppLog(ACL_ERROR, NULL, NULL, 7, "%s", "no place");
    aclAppLog(ACL_ERROR, "f", "file", 7, NULL);
    dup2(saved, STDOUT_FILENO);
    close(ends[1]);
    for (ssize_t got = 0, part;
            (part = read(ends[0], text + got, sizeof(text) - 1 - (size_t)got)) > 0; got += part) {
    }
    cr_assert(ne(ptr, strstr(text, "value 42"), NULL), "%s", text);
    cr_assert(ne(ptr, strstr(text, "test_init.c"), NULL), "%s", text);
    cr_assert(ne(ptr, strstr(text, "no place"), NULL), "%s", text);
    cr_assert(eq(ptr, strstr(text, "too quiet"), NULL), "%s", text);
}
