// Unsafe calls: which of them who may make while what is captured. Every set of open captures of
// this thread, every set of another thread's, every exchange mode, every call; what is expected
// comes from the rule itself, written down once below.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "support/rules.h"

#define MODES 3
#define NONE MODES // stricter than nothing

TestSuite(rules_modes, .init = rules_setup, .fini = rules_teardown, .timeout = 120);

// ---- the rule ----

static int strictest(unsigned set)
{
    for (int mode = 0; mode < MODES; mode++) {
        if ((set >> mode & 1) != 0) {
            return mode;
        }
    }
    return NONE;
}

/* C: the context's strictest, T: the thread's own, X: its exchange mode. */
static bool rule_refuses(int c, int t, int x)
{
    if (c == NONE || x == RELAXED) {
        return false;
    }
    return x == GLOBAL ? c == GLOBAL || t == THREAD_LOCAL : t == GLOBAL || t == THREAD_LOCAL;
}

// ---- the calls ----

#define idle rules.c // captures nothing

static int copy_to_device(void)
{
    return aclrtMemcpy(
            rules.device, RULE_BYTES, rules.pinned, RULE_BYTES, ACL_MEMCPY_HOST_TO_DEVICE);
}

static int copy_pageable_to_device(void)
{
    return aclrtMemcpy(
            rules.device, RULE_BYTES, rules.pageable, RULE_BYTES, ACL_MEMCPY_HOST_TO_DEVICE);
}

static int copy_within_device(void)
{
    return aclrtMemcpy(
            rules.device, RULE_BYTES, rules.other, RULE_BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE);
}

static int copy_rows(void)
{
    return aclrtMemcpy2d(
            rules.device, 64, rules.pinned, 64, 64, RULE_BYTES / 64, ACL_MEMCPY_HOST_TO_DEVICE);
}

static int fill(void)
{
    return aclrtMemset(rules.device, RULE_BYTES, 1, RULE_BYTES);
}

static int copy_async_pageable(void)
{
    return aclrtMemcpyAsync(
            rules.device, RULE_BYTES, rules.pageable, RULE_BYTES, ACL_MEMCPY_HOST_TO_DEVICE, idle);
}

static int copy_async_pageable_on_default(void)
{
    return aclrtMemcpyAsync(
            rules.device, RULE_BYTES, rules.pageable, RULE_BYTES, ACL_MEMCPY_HOST_TO_DEVICE, NULL);
}

static int copy_async_condition(void)
{
    return aclrtMemcpyAsyncWithCondition(
            rules.device, RULE_BYTES, rules.pageable, RULE_BYTES, ACL_MEMCPY_HOST_TO_DEVICE, idle);
}

static int copy_rows_async_pageable(void)
{
    return aclrtMemcpy2dAsync(rules.device, 64, rules.pageable, 64, 64, RULE_BYTES / 64,
            ACL_MEMCPY_HOST_TO_DEVICE, idle);
}

static int copy_async_pinned(void)
{
    return aclrtMemcpyAsync(
            rules.device, RULE_BYTES, rules.pinned, RULE_BYTES, ACL_MEMCPY_HOST_TO_DEVICE, idle);
}

static int copy_rows_async_pinned(void)
{
    return aclrtMemcpy2dAsync(rules.device, 64, rules.pinned, 64, 64, RULE_BYTES / 64,
            ACL_MEMCPY_HOST_TO_DEVICE, idle);
}

static int fill_async(void)
{
    return aclrtMemsetAsync(rules.device, RULE_BYTES, 1, RULE_BYTES, idle);
}

static int fill_words(void)
{
    return aclrtMemsetD32(rules.device, RULE_BYTES, 0x01010101, RULE_WORDS);
}

static int fill_words_async(void)
{
    return aclrtMemsetD32Async(rules.device, RULE_BYTES, 0x01010101, RULE_WORDS, idle);
}

static int copy_batch(void)
{
    void *dst = rules.device;
    void *src = rules.pinned;
    size_t bytes = RULE_BYTES, first = 0, failed = 0;
    aclrtMemcpyBatchAttr attr = { .dstLoc = { 0, ACL_MEM_LOCATION_TYPE_DEVICE },
        .srcLoc = { 0, ACL_MEM_LOCATION_TYPE_HOST } };
    return aclrtMemcpyBatch(&dst, &bytes, &src, &bytes, 1, &attr, &first, 1, &failed);
}

/* Host-only calls, which no mode restricts: 0 if all of them work. */
static int resources(void)
{
    void *memory = NULL, *host = NULL;
    aclrtStream stream = NULL;
    aclrtEvent event = NULL;
    int st = aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST);
    st = st != 0 ? st : aclrtFree(memory);
    st = st != 0 ? st : aclrtMallocHost(&host, 4096);
    st = st != 0 ? st : aclrtFreeHost(host);
    st = st != 0 ? st : aclrtCreateStream(&stream);
    st = st != 0 ? st : aclrtSynchronizeStream(stream);
    st = st != 0 ? st : aclrtDestroyStream(stream);
    st = st != 0 ? st : aclrtCreateEvent(&event);
    st = st != 0 ? st : aclrtRecordEvent(event, idle);
    st = st != 0 ? st : aclrtSynchronizeEvent(event);
    return st != 0 ? st : aclrtDestroyEvent(event);
}

/* All that write do so to rules.device: 0x01010101. */
static const struct {
    const char *name;
    int (*call)(void);
    int refusal; // 0: it is no unsafe call
    bool writes;
} calls[] = {
    { "aclrtMemcpy", copy_to_device, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, true },
    { "aclrtMemcpy", copy_pageable_to_device, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, true },
    { "aclrtMemcpy", copy_within_device, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, true },
    { "aclrtMemcpy2d", copy_rows, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, true },
    { "aclrtMemset", fill, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, true },
    { "aclrtMemcpyAsync", copy_async_pageable, ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC, true },
    { "aclrtMemcpyAsync", copy_async_pageable_on_default, ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC,
            true },
    { "aclrtMemcpyAsyncWithCondition", copy_async_condition, ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC,
            true },
    { "aclrtMemcpy2dAsync", copy_rows_async_pageable, ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC, true },
    { "aclrtMemcpyAsync", copy_async_pinned, 0, true },
    { "aclrtMemcpy2dAsync", copy_rows_async_pinned, 0, true },
    { "aclrtMemsetAsync", fill_async, 0, true },
    { "aclrtMemsetD32", fill_words, 0, true },
    { "aclrtMemsetD32Async", fill_words_async, 0, true },
    { "aclrtMemcpyBatch", copy_batch, 0, true },
    { "resources", resources, 0, false },
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

static void try_call(size_t i, bool refuses, const char *state)
{
    memset(rules.pinned, 1, RULE_BYTES);
    memset(rules.other, 1, RULE_BYTES);
    memset(rules.pageable, 1, RULE_BYTES);
    memset(rules.device, 0, RULE_BYTES); // device memory is the host's, too
    aclGetRecentErrMsg();
    const int answer = calls[i].call();
    const int expected = refuses ? calls[i].refusal : 0;
    const char *text = aclGetRecentErrMsg();
    cr_assert(eq(int, answer, expected), "%s, %s: %s", state, calls[i].name,
            text == NULL ? "-" : text);
    ok(aclrtSynchronizeStream(idle));
    ok(aclrtSynchronizeStream(NULL));
    const uint32_t written = calls[i].writes && expected == 0 ? 0x01010101 : 0;
    for (int w = 0; w < RULE_WORDS; w++) {
        cr_assert(eq(u32, rules.device[w], written), "%s, %s: word %d", state, calls[i].name, w);
    }
    if (expected != 0) {
        cr_assert(ne(ptr, strstr(text, calls[i].name), NULL), "%s: %s", state, text);
        cr_assert(ne(ptr, strstr(text, "stream "), NULL), "%s: %s", state, text);
    }
}

// ---- the states ----

/* A thread with one stream for each mode. */
struct capturer {
    aclrtStream stream[MODES];
    unsigned set;
};

static void open_set(void *arg)
{
    const struct capturer *capturer = arg;
    for (int mode = 0; mode < MODES; mode++) {
        if ((capturer->set >> mode & 1) != 0) {
            begin(capturer->stream[mode], (aclmdlRICaptureMode)mode);
            put_call(capturer->stream[mode]);
        }
    }
}

static void close_set(void *arg)
{
    const struct capturer *capturer = arg;
    for (int mode = 0; mode < MODES; mode++) {
        if ((capturer->set >> mode & 1) != 0) {
            aclmdlRI graph = end(capturer->stream[mode]); // nothing refused has harmed it
            run_calls(graph, capturer->stream[mode], 1);
            ok(aclmdlRIDestroy(graph));
        }
    }
}

static void capturer_open(struct capturer *capturer)
{
    for (int mode = 0; mode < MODES; mode++) {
        ok(aclrtCreateStream(&capturer->stream[mode]));
    }
}

static void capturer_close(struct capturer *capturer)
{
    for (int mode = 0; mode < MODES; mode++) {
        ok(aclrtDestroyStream(capturer->stream[mode]));
    }
}

static void try_all(unsigned own, unsigned others)
{
    const int c = strictest(own | others);
    for (int x = 0; x < MODES; x++) {
        aclmdlRICaptureMode mode = (aclmdlRICaptureMode)x;
        char state[96];
        snprintf(state, sizeof(state), "own captures 0x%x, others' 0x%x, exchanged for %d", own,
                others, x);
        ok(aclmdlRICaptureThreadExchangeMode(&mode));
        cr_assert(eq(int, (int)mode, (int)GLOBAL)); // what every thread begins with
        for (size_t i = 0; i < CALLS; i++) {
            try_call(i, rule_refuses(c, strictest(own), x), state);
        }
        ok(aclmdlRICaptureThreadExchangeMode(&mode));
        cr_assert(eq(int, (int)mode, x));
    }
}

static void try_all_without_own(void *others)
{
    try_all(0, *(unsigned *)others);
}

Test(rules_modes, unsafe_calls_obey_the_rule_in_every_state)
{
    struct capturer here = { .set = 0 }, there = { .set = 0 };
    struct worker worker;
    capturer_open(&here);
    capturer_open(&there);
    worker_start(&worker);
    for (unsigned own = 0; own < 1 << MODES; own++) {
        for (unsigned others = 0; others < 1 << MODES; others++) {
            here.set = own;
            there.set = others;
            open_set(&here);
            worker_do(&worker, open_set, &there);
            try_all(own, others);
            // A third thread captures nothing itself.
            unsigned both = own | others;
            in_thread(try_all_without_own, &both);
            worker_do(&worker, close_set, &there);
            close_set(&here);
        }
    }
    worker_stop(&worker);
    capturer_close(&here);
    capturer_close(&there);
    assert_usable(NULL);
}

// ---- on the capturing stream itself ----

Test(rules_modes, a_pageable_copy_on_a_capturing_stream_is_refused_in_any_mode)
{
    for (int capture = 0; capture < MODES; capture++) {
        for (int x = 0; x < MODES; x++) {
            aclmdlRICaptureMode mode = (aclmdlRICaptureMode)x;
            begin(rules.a, (aclmdlRICaptureMode)capture);
            join(rules.b, rules.a);
            ok(aclmdlRICaptureThreadExchangeMode(&mode));
            aclrtStream streams[] = { rules.a, rules.b };
            for (int s = 0; s < 2; s++) {
                memset(rules.device, 0, RULE_BYTES);
                memset(rules.pageable, 9, RULE_BYTES);
                const char *name = stream_name(streams[s]);
                refused(aclrtMemcpyAsync(rules.device, RULE_BYTES, rules.pageable, RULE_BYTES,
                                ACL_MEMCPY_HOST_TO_DEVICE, streams[s]),
                        ACL_ERROR_RT_PARAM_INVALID, name);
                refused(aclrtMemcpyAsync(rules.pageable, RULE_BYTES, rules.device, RULE_BYTES,
                                ACL_MEMCPY_DEVICE_TO_HOST, streams[s]),
                        ACL_ERROR_RT_PARAM_INVALID, name);
                refused(aclrtMemcpyAsync(rules.device, RULE_BYTES, rules.pinned, RULE_BYTES,
                                ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, streams[s]),
                        ACL_ERROR_RT_PARAM_INVALID, name);
                refused(aclrtMemcpyAsyncWithCondition(rules.device, RULE_BYTES, rules.pageable,
                                RULE_BYTES, ACL_MEMCPY_HOST_TO_DEVICE, streams[s]),
                        ACL_ERROR_RT_PARAM_INVALID, name);
                refused(aclrtMemcpy2dAsync(rules.device, 64, rules.pageable, 64, 64, 2,
                                ACL_MEMCPY_HOST_TO_DEVICE, streams[s]),
                        ACL_ERROR_RT_PARAM_INVALID, name);
            }
            ok(aclmdlRICaptureThreadExchangeMode(&mode));
            put_call(rules.b);
            join_back(rules.b, rules.a);
            aclmdlRI graph = end(rules.a);
            run_calls(graph, rules.c, 1);
            cr_assert(eq(u32, rules.device[0], 0)); // neither at once nor by the graph
            cr_assert(eq(u32, rules.pageable[0], 0x09090909));
            ok(aclmdlRIDestroy(graph));
        }
    }
    assert_usable(NULL);
}

static void fill_words_of(uint32_t *words, uint32_t first)
{
    for (uint32_t i = 0; i < RULE_WORDS; i++) {
        words[i] = first + i;
    }
}

Test(rules_modes, pinned_memory_is_captured_both_ways)
{
    uint32_t *back = NULL;
    // Registered memory of the program's own is as good.
    static _Alignas(4096) uint32_t registered[1024];
    ok(aclrtMallocHost((void **)&back, RULE_BYTES));
    ok(aclrtHostRegisterV2(registered, sizeof(registered), ACL_HOST_REG_PINNED));
    begin(rules.a, GLOBAL);
    ok(aclrtMemcpyAsync(rules.device, RULE_BYTES, rules.pinned, RULE_BYTES,
            ACL_MEMCPY_HOST_TO_DEVICE, rules.a));
    ok(aclrtMemcpy2dAsync(rules.other, 32, rules.device, 32, 32, RULE_BYTES / 32,
            ACL_MEMCPY_DEVICE_TO_DEVICE, rules.a));
    ok(aclrtMemcpyAsync(
            back, RULE_BYTES, rules.other, RULE_BYTES, ACL_MEMCPY_DEVICE_TO_HOST, rules.a));
    ok(aclrtMemcpyAsync(
            registered, RULE_BYTES, rules.other, RULE_BYTES, ACL_MEMCPY_DEVICE_TO_HOST, rules.a));
    aclmdlRI graph = end(rules.a);
    for (uint32_t round = 0; round < 100; round++) {
        fill_words_of(rules.pinned, 1000 * round);
        ok(aclmdlRIExecuteAsync(graph, rules.b));
        ok(aclrtSynchronizeStream(rules.b));
        cr_assert(eq(int, memcmp(back, rules.pinned, RULE_BYTES), 0));
        cr_assert(eq(int, memcmp(registered, rules.pinned, RULE_BYTES), 0));
    }
    ok(aclmdlRIDestroy(graph));
    ok(aclrtHostUnregister(registered));
    ok(aclrtFreeHost(back));
}

Test(rules_modes, the_mode_of_a_thread_is_its_own)
{
    aclmdlRICaptureMode mode = RELAXED;
    ok(aclmdlRICaptureThreadExchangeMode(&mode));
    unsigned none = 0;
    in_thread(try_all_without_own, &none); // begins with GLOBAL
    ok(aclmdlRICaptureThreadExchangeMode(&mode));
    cr_assert(eq(int, (int)mode, (int)RELAXED));
    mode = (aclmdlRICaptureMode)3;
    refused(aclmdlRICaptureThreadExchangeMode(&mode), ACL_ERROR_RT_PARAM_INVALID, "mode 3");
    mode = (aclmdlRICaptureMode)-1;
    refused(aclmdlRICaptureThreadExchangeMode(&mode), ACL_ERROR_RT_PARAM_INVALID, "mode -1");
    refused(aclmdlRICaptureThreadExchangeMode(NULL), ACL_ERROR_INVALID_PARAM, "mode");
}

/* C is of the context: a capture in one does not restrict work in another. */
Test(rules_modes, another_context_is_not_restricted)
{
    aclrtContext first = NULL, second = NULL;
    ok(aclrtGetCurrentContext(&first));
    ok(aclrtCreateContext(&second, 0));
    ok(aclrtSetCurrentContext(first));
    begin(rules.a, GLOBAL);
    refused(aclrtMemset(rules.device, RULE_BYTES, 1, RULE_BYTES),
            ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, stream_name(rules.a), "GLOBAL");
    ok(aclrtSetCurrentContext(second));
    ok(aclrtMemset(rules.device, RULE_BYTES, 1, RULE_BYTES));
    ok(aclrtSynchronizeDevice());
    ok(aclrtSetCurrentContext(first));
    aclmdlRI graph = end(rules.a);
    ok(aclmdlRIDestroy(graph));
    ok(aclrtDestroyContext(second));
    ok(aclrtSetCurrentContext(first));
    assert_usable(NULL);
}
