// What the suites of capture's rules share.

#include "support/rules.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>

struct rules rules;
_Atomic int rules_calls;

// Printed here, and a crash for Criterion: an assertion of its own may not fail in every thread.
static _Noreturn void fail(int line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static _Noreturn void fail(int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: ", __FILE__, line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}

#define check(condition, ...) ((condition) ? (void)0 : fail(__LINE__, __VA_ARGS__))

void rules_answer(int got, int expected, const char *call, int line)
{
    const char *text = got == expected ? NULL : aclGetRecentErrMsg();
    check(got == expected, "line %d: %s: %s", line, call, text == NULL ? "-" : text);
}

// Whether `name` is in `text`, and not as the beginning of a longer number or word.
static bool mentions(const char *text, const char *name)
{
    const size_t bytes = strlen(name);
    for (const char *at = strstr(text, name); at != NULL; at = strstr(at + 1, name)) {
        if (!isalnum((unsigned char)at[bytes])) {
            return true;
        }
    }
    return false;
}

void rules_refused(int got, int expected, const char *call, int line, const char *const *names)
{
    const char *pending = aclGetRecentErrMsg();
    const char *text = pending == NULL ? "" : pending;
    check(got == expected, "line %d: %s: %s", line, call, text);
    char api[64];
    snprintf(api, sizeof(api), "%.*s", (int)strcspn(call, "("), call);
    check(mentions(text, api), "line %d: %s does not name itself: %s", line, call, text);
    for (; *names != NULL; names++) {
        check(mentions(text, *names), "line %d: %s does not say \"%s\": %s", line, call, *names,
                text);
    }
}

static char *name_buffer(void)
{
    static _Thread_local char buffer[8][32];
    static _Thread_local unsigned next;
    return buffer[next++ % 8];
}

const char *stream_name(aclrtStream stream)
{
    char *name = name_buffer();
    int32_t id = -1;
    if (stream == NULL) {
        ok(aclrtCtxGetCurrentDefaultStream(&stream));
    }
    ok(aclrtStreamGetId(stream, &id));
    snprintf(name, 32, "stream %d", id);
    return name;
}

const char *event_name(aclrtEvent event)
{
    char *name = name_buffer();
    uint32_t id = 0;
    ok(aclrtGetEventId(event, &id));
    snprintf(name, 32, "event %u", id);
    return name;
}

const char *graph_name(aclmdlRI graph)
{
    char *name = name_buffer();
    uint32_t id = 0;
    ok(aclmdlRIGetId(graph, &id));
    snprintf(name, 32, "graph %u", id);
    return name;
}

void rules_setup(void)
{
    setenv("REPRISE_DEVICE_MEMORY", "256M", 1);
    ok(aclrtSetDevice(0));
    ok(aclrtCreateStream(&rules.a));
    ok(aclrtCreateStream(&rules.b));
    ok(aclrtCreateStream(&rules.c));
    ok(aclrtMalloc((void **)&rules.device, RULE_BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    ok(aclrtMalloc((void **)&rules.other, RULE_BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    ok(aclrtMallocHost((void **)&rules.pinned, RULE_BYTES));
    memset(rules.device, 0, RULE_BYTES);
    memset(rules.other, 0, RULE_BYTES);
    memset(rules.pinned, 0, RULE_BYTES);
}

void rules_teardown(void)
{
    if (rules.comm != NULL) {
        ok(HcclCommDestroy(rules.comm));
    }
    ok(aclrtFree(rules.device));
    ok(aclrtFree(rules.other));
    ok(aclrtFreeHost(rules.pinned));
    ok(aclrtDestroyStream(rules.a));
    ok(aclrtDestroyStream(rules.b));
    ok(aclrtDestroyStream(rules.c));
    ok(aclrtResetDevice(0));
}

HcclComm rules_comm(void)
{
    if (rules.comm == NULL) {
        HcclRootInfo info;
        ok(HcclGetRootInfo(&info));
        ok(HcclCommInitRootInfo(1, &info, 0, &rules.comm));
    }
    return rules.comm;
}

aclrtEvent ex_event(void)
{
    aclrtEvent event = NULL;
    ok(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    return event;
}

aclmdlRICaptureStatus capture_status(aclrtStream stream)
{
    aclmdlRICaptureStatus status;
    ok(aclmdlRICaptureGetInfo(stream, &status, NULL));
    return status;
}

aclmdlRI capture_graph(aclrtStream stream)
{
    aclmdlRI graph = NULL;
    ok(aclmdlRICaptureGetInfo(stream, NULL, &graph));
    return graph;
}

void count_call(void *arg)
{
    (void)arg;
    atomic_fetch_add(&rules_calls, 1);
}

void put_call(aclrtStream stream)
{
    ok(aclrtLaunchHostFunc(stream, count_call, NULL));
}

void begin(aclrtStream stream, aclmdlRICaptureMode mode)
{
    ok(aclmdlRICaptureBegin(stream, mode));
    check(capture_status(stream) == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE,
            "capture_status(stream) is not ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE");
}

aclmdlRI end(aclrtStream stream)
{
    const aclmdlRI during = capture_graph(stream);
    aclmdlRI graph = NULL;
    ok(aclmdlRICaptureEnd(stream, &graph));
    check(graph != NULL && graph == during, "CaptureEnd gave %p, CaptureGetInfo %p", graph, during);
    check(capture_status(stream) == ACL_MODEL_RI_CAPTURE_STATUS_NONE,
            "capture_status(stream) is not ACL_MODEL_RI_CAPTURE_STATUS_NONE");
    return graph;
}

void end_refused(aclrtStream stream, int expected)
{
    aclmdlRI graph = &rules; // must be overwritten
    refused(aclmdlRICaptureEnd(stream, &graph), expected, stream_name(stream));
    check(graph == NULL, "a refused CaptureEnd gave a graph");
    check(capture_status(stream) == ACL_MODEL_RI_CAPTURE_STATUS_NONE,
            "capture_status(stream) is not ACL_MODEL_RI_CAPTURE_STATUS_NONE");
}

void run_calls(aclmdlRI graph, aclrtStream stream, int calls)
{
    const int before = atomic_load(&rules_calls);
    ok(aclmdlRIExecuteAsync(graph, stream));
    ok(aclrtSynchronizeStream(stream));
    const int made = atomic_load(&rules_calls) - before;
    check(made == calls, "%d calls of a host function, not %d", made, calls);
}

void join(aclrtStream side, aclrtStream from)
{
    aclrtEvent fork = ex_event();
    ok(aclrtRecordEvent(fork, from));
    ok(aclrtStreamWaitEvent(side, fork));
    ok(aclrtDestroyEvent(fork)); // captures and queued tasks keep it
}

void join_back(aclrtStream side, aclrtStream from)
{
    join(from, side);
}

// The streams of the test's context, eagerly.
static void assert_eager(aclrtEvent event)
{
    aclrtStream streams[] = { rules.a, rules.b, rules.c };
    for (int i = 0; i < 3; i++) {
        check(capture_status(streams[i]) == ACL_MODEL_RI_CAPTURE_STATUS_NONE,
                "capture_status(streams[i]) is not ACL_MODEL_RI_CAPTURE_STATUS_NONE");
        const int before = atomic_load(&rules_calls);
        put_call(streams[i]);
        if (event != NULL) {
            ok(aclrtRecordEvent(event, streams[i]));
            ok(aclrtSynchronizeEvent(event));
            check(atomic_load(&rules_calls) == before + 1, "the host function did not run once");
        }
        if (rules.comm != NULL) {
            *rules.device = 7u + (uint32_t)i;
            ok(HcclAllReduce(rules.device, rules.other, 1, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM,
                    rules.comm, streams[i]));
        }
        ok(aclrtSynchronizeStream(streams[i]));
        check(atomic_load(&rules_calls) == before + 1, "the host function did not run once");
        check(rules.comm == NULL || *rules.other == 7u + (uint32_t)i, "wrong sum");
    }
    ok(aclrtSynchronizeDevice());
    // An unsafe call is allowed in the default mode: no capture is left behind.
    ok(aclrtMemcpy(rules.device, RULE_BYTES, rules.pinned, RULE_BYTES, ACL_MEMCPY_HOST_TO_DEVICE));
}

static void assert_new_capture(aclrtEvent event)
{
    aclrtEvent fork = event != NULL ? event : ex_event();
    aclrtEvent back[2] = { ex_event(), ex_event() };
    aclrtStream sides[] = { rules.b, rules.c };
    begin(rules.a, GLOBAL);
    ok(aclrtRecordEvent(fork, rules.a));
    for (int i = 0; i < 2; i++) {
        ok(aclrtStreamWaitEvent(sides[i], fork));
        put_call(sides[i]);
        ok(aclrtRecordEvent(back[i], sides[i]));
        ok(aclrtStreamWaitEvent(rules.a, back[i]));
    }
    if (rules.comm != NULL) {
        ok(HcclAllReduce(rules.device, rules.other, 1, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM,
                rules.comm, rules.a));
    }
    put_call(rules.a);
    aclmdlRI graph = end(rules.a);
    for (int round = 0; round < 2; round++) {
        *rules.device = 90u + (uint32_t)round;
        run_calls(graph, sides[round], 3);
        check(rules.comm == NULL || *rules.other == 90u + (uint32_t)round, "wrong sum");
    }
    ok(aclmdlRIDestroy(graph));
    for (int i = 0; i < 2; i++) {
        ok(aclrtDestroyEvent(back[i]));
    }
    if (event == NULL) {
        ok(aclrtDestroyEvent(fork));
    }
}

static void assert_all(void *event)
{
    assert_new_capture(event);
    assert_eager(event);
}

void assert_usable(aclrtEvent event)
{
    // First the capture: after an eager record of the event a wait would not be of the capture.
    assert_all(event);
    in_thread(assert_all, event);
}

struct thread_call {
    void (*fn)(void *arg);
    void *arg;
};

static void *thread_main(void *arg)
{
    const struct thread_call *call = arg;
    ok(aclrtSetDevice(0));
    call->fn(call->arg);
    ok(aclrtResetDevice(0));
    return NULL;
}

void in_thread(void (*fn)(void *arg), void *arg)
{
    struct thread_call call = { fn, arg };
    pthread_t thread;
    check(pthread_create(&thread, NULL, thread_main, &call) == 0, "no thread");
    pthread_join(thread, NULL);
}

static void *worker_main(void *arg)
{
    struct worker *worker = arg;
    ok(aclrtSetDevice(0));
    pthread_mutex_lock(&worker->lock);
    while (!worker->stop) {
        if (worker->fn == NULL) {
            pthread_cond_wait(&worker->changed, &worker->lock);
            continue;
        }
        worker->fn(worker->arg);
        worker->fn = NULL;
        pthread_cond_broadcast(&worker->changed);
    }
    pthread_mutex_unlock(&worker->lock);
    ok(aclrtResetDevice(0));
    return NULL;
}

void worker_start(struct worker *worker)
{
    *worker = (struct worker){ 0 };
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->changed, NULL);
    check(pthread_create(&worker->thread, NULL, worker_main, worker) == 0, "no thread");
}

void worker_do(struct worker *worker, void (*fn)(void *arg), void *arg)
{
    pthread_mutex_lock(&worker->lock);
    worker->arg = arg;
    worker->fn = fn;
    pthread_cond_broadcast(&worker->changed);
    while (worker->fn != NULL) {
        pthread_cond_wait(&worker->changed, &worker->lock);
    }
    pthread_mutex_unlock(&worker->lock);
}

void worker_stop(struct worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    worker->stop = true;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    pthread_join(worker->thread, NULL);
}
