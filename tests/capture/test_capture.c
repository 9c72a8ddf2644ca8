// Capture through the public API: what is recorded, what is refused and how, and
// that after any failure everything is usable at once. One device, and a
// communicator of one rank where a collective is needed.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#define ELEMENTS 64
#define BYTES (ELEMENTS * sizeof(float))
#define GLOBAL ACL_MODEL_RI_CAPTURE_MODE_GLOBAL
#define THREAD_LOCAL ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL
#define RELAXED ACL_MODEL_RI_CAPTURE_MODE_RELAXED

static aclrtStream a, b;
static float *device, *other, *host;
static int calls;

#define ok(call) cr_assert(eq(int, (int)(call), 0), "%s", #call)
#define code(call, expected) cr_assert(eq(int, (int)(call), (expected)), "%s", #call)

static void setup(void)
{
    setenv("REPRISE_DEVICE_MEMORY", "256M", 1);
    ok(aclrtSetDevice(0));
    ok(aclrtCreateStream(&a));
    ok(aclrtCreateStream(&b));
    ok(aclrtMalloc((void **)&device, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    ok(aclrtMalloc((void **)&other, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    ok(aclrtMallocHost((void **)&host, BYTES));
    memset(device, 0, BYTES);
    memset(other, 0, BYTES);
    memset(host, 0, BYTES);
}

static void teardown(void)
{
    ok(aclrtFree(device));
    ok(aclrtFree(other));
    ok(aclrtFreeHost(host));
    ok(aclrtDestroyStream(a));
    ok(aclrtDestroyStream(b));
    ok(aclrtResetDevice(0));
}

static void count_call(void *arg)
{
    (void)arg;
    calls++;
}

static void fill_host(float value)
{
    for (int i = 0; i < ELEMENTS; i++) {
        host[i] = value + (float)i;
    }
}

static aclrtEvent sync_event(void)
{
    aclrtEvent event = NULL;
    ok(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    return event;
}

static aclmdlRICaptureStatus status_of(aclrtStream stream)
{
    aclmdlRICaptureStatus status;
    ok(aclmdlRICaptureGetInfo(stream, &status, NULL));
    return status;
}

/* The stream captures nothing, runs eager work and can capture anew. */
static void assert_usable(aclrtStream stream)
{
    cr_assert(eq(int, (int)status_of(stream), (int)ACL_MODEL_RI_CAPTURE_STATUS_NONE));
    calls = 0;
    ok(aclrtLaunchHostFunc(stream, count_call, NULL));
    ok(aclrtSynchronizeStream(stream));
    cr_assert(eq(int, calls, 1));
    aclmdlRI graph = NULL;
    ok(aclmdlRICaptureBegin(stream, GLOBAL));
    ok(aclrtLaunchHostFunc(stream, count_call, NULL));
    ok(aclmdlRICaptureEnd(stream, &graph));
    ok(aclmdlRIExecuteAsync(graph, stream));
    ok(aclrtSynchronizeStream(stream));
    cr_assert(eq(int, calls, 2));
    ok(aclmdlRIDestroy(graph));
}

TestSuite(capture, .init = setup, .fini = teardown, .timeout = 60);

Test(capture, records_instead_of_running_and_replays_with_new_data)
{
    aclmdlRI graph = NULL;
    ok(aclmdlRICaptureBegin(a, GLOBAL));
    ok(aclrtMemcpyAsync(device, BYTES, host, BYTES, ACL_MEMCPY_HOST_TO_DEVICE, a));
    ok(aclrtMemcpyAsync(other, BYTES, device, BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE, a));
    ok(aclrtLaunchHostFunc(a, count_call, NULL));
    ok(aclmdlRICaptureEnd(a, &graph));
    ok(aclrtSynchronizeStream(a));
    cr_assert(eq(int, calls, 0));
    cr_assert(eq(flt, other[5], 0.0f));
    for (int round = 1; round <= 100; round++) {
        fill_host((float)round);
        ok(aclmdlRIExecuteAsync(graph, b)); // any stream of the context may replay
        ok(aclrtSynchronizeStream(b));
        cr_assert(eq(int, calls, round));
        cr_assert(eq(int, memcmp(other, host, BYTES), 0));
    }
    ok(aclmdlRIDestroy(graph));
}

Test(capture, memset_and_2d_copies_are_recorded)
{
    aclmdlRI graph = NULL;
    fill_host(1.0f);
    ok(aclmdlRICaptureBegin(a, GLOBAL));
    ok(aclrtMemsetAsync(device, BYTES, 0x7f, BYTES, a));
    ok(aclrtMemcpy2dAsync(other, 64, host, 32, 16, 4, ACL_MEMCPY_HOST_TO_DEVICE, a));
    ok(aclmdlRICaptureEnd(a, &graph));
    ok(aclmdlRIExecuteAsync(graph, a));
    ok(aclrtSynchronizeStream(a));
    cr_assert(eq(int, ((unsigned char *)device)[BYTES - 1], 0x7f));
    for (int row = 0; row < 4; row++) {
        cr_assert(eq(int, memcmp((char *)other + 64 * row, (char *)host + 32 * row, 16), 0));
        cr_assert(eq(flt, other[16 * row + 4], 0.0f));
    }
    ok(aclmdlRIDestroy(graph));
}

Test(capture, info_gives_the_handle_that_end_returns)
{
    aclmdlRICaptureStatus status;
    aclmdlRI during = NULL, graph = NULL;
    ok(aclmdlRICaptureGetInfo(a, &status, &during));
    cr_assert(eq(int, (int)status, (int)ACL_MODEL_RI_CAPTURE_STATUS_NONE));
    cr_assert(eq(ptr, during, NULL));
    ok(aclmdlRICaptureBegin(a, GLOBAL));
    ok(aclmdlRICaptureGetInfo(a, &status, &during));
    cr_assert(eq(int, (int)status, (int)ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE));
    ok(aclmdlRICaptureEnd(a, &graph));
    cr_assert(eq(ptr, graph, during));
    code(aclmdlRICaptureGetInfo(a, NULL, NULL), ACL_ERROR_INVALID_PARAM);
    ok(aclmdlRIDestroy(graph));
}

Test(capture, begin_refuses_what_the_spec_refuses)
{
    aclrtStream persistent = NULL, standard = NULL;
    ok(aclrtCreateStreamWithConfig(&persistent, 0, ACL_STREAM_PERSISTENT));
    ok(aclrtCtxGetCurrentDefaultStream(&standard));
    code(aclmdlRICaptureBegin(NULL, GLOBAL), ACL_ERROR_INVALID_PARAM);
    code(aclmdlRICaptureBegin(a, (aclmdlRICaptureMode)3), ACL_ERROR_RT_PARAM_INVALID);
    code(aclmdlRICaptureBegin(standard, GLOBAL), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    code(aclmdlRICaptureBegin(persistent, GLOBAL), ACL_ERROR_RT_INTERNAL_ERROR);
    ok(aclmdlRICaptureBegin(a, GLOBAL));
    code(aclmdlRICaptureBegin(a, GLOBAL), ACL_ERROR_RT_STREAM_CAPTURED);
    aclmdlRI graph = NULL;
    ok(aclmdlRICaptureEnd(a, &graph)); // the refused second begin harmed nothing
    ok(aclmdlRIDestroy(graph));
    ok(aclrtDestroyStream(persistent));
}

Test(capture, end_checks_in_the_documented_order)
{
    aclmdlRI graph = NULL;
    code(aclmdlRICaptureEnd(a, NULL), ACL_ERROR_RT_PARAM_INVALID);
    code(aclmdlRICaptureEnd(a, &graph), ACL_ERROR_RT_STREAM_NOT_CAPTURED);
    aclrtEvent fork = sync_event();
    ok(aclmdlRICaptureBegin(a, GLOBAL));
    ok(aclrtRecordEvent(fork, a));
    ok(aclrtStreamWaitEvent(b, fork));
    code(aclmdlRICaptureEnd(b, &graph), ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED);
    cr_assert(eq(int, (int)status_of(b), (int)ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE));
    code(aclmdlRICaptureEnd(a, &graph), ACL_ERROR_RT_STREAM_UNJOINED);
    cr_assert(eq(ptr, graph, NULL));
    assert_usable(a);
    assert_usable(b);
    ok(aclrtDestroyEvent(fork));
}

Test(capture, an_unjoined_stream_is_named)
{
    aclmdlRI graph = NULL;
    aclrtEvent fork = sync_event();
    int32_t id;
    char name[32];
    ok(aclrtStreamGetId(b, &id));
    ok(aclmdlRICaptureBegin(a, GLOBAL));
    ok(aclrtRecordEvent(fork, a));
    ok(aclrtStreamWaitEvent(b, fork));
    ok(aclrtLaunchHostFunc(b, count_call, NULL));
    aclGetRecentErrMsg();
    code(aclmdlRICaptureEnd(a, &graph), ACL_ERROR_RT_STREAM_UNJOINED);
    const char *message = aclGetRecentErrMsg();
    snprintf(name, sizeof name, "stream %d", id);
    cr_assert(ne(ptr, (void *)message, NULL));
    cr_assert(ne(ptr, (void *)strstr(message, name), NULL), "%s", message);
    ok(aclrtDestroyEvent(fork));
}

/* The same graph with 0, 1, 2 or 3 of three forked streams joined: only 3 may succeed. */
Test(capture, only_a_capture_with_every_stream_joined_ends)
{
    aclrtStream side[3];
    for (int joined = 0; joined <= 3; joined++) {
        aclmdlRI graph = NULL;
        aclrtEvent fork = sync_event(), join[3];
        ok(aclmdlRICaptureBegin(a, GLOBAL));
        ok(aclrtRecordEvent(fork, a));
        for (int s = 0; s < 3; s++) {
            ok(aclrtCreateStream(&side[s]));
            join[s] = sync_event();
            ok(aclrtStreamWaitEvent(side[s], fork));
            ok(aclrtLaunchHostFunc(side[s], count_call, NULL));
            if (s < joined) {
                ok(aclrtRecordEvent(join[s], side[s]));
                ok(aclrtStreamWaitEvent(a, join[s]));
            }
        }
        code(aclmdlRICaptureEnd(a, &graph), joined == 3 ? 0 : ACL_ERROR_RT_STREAM_UNJOINED);
        if (graph != NULL) {
            calls = 0;
            ok(aclmdlRIExecuteAsync(graph, a));
            ok(aclrtSynchronizeStream(a));
            cr_assert(eq(int, calls, 3));
            ok(aclmdlRIDestroy(graph));
        }
        for (int s = 0; s < 3; s++) {
            ok(aclrtDestroyStream(side[s]));
            ok(aclrtDestroyEvent(join[s]));
        }
        ok(aclrtDestroyEvent(fork));
    }
}

Test(capture, a_task_after_the_join_is_unjoined)
{
    aclmdlRI graph = NULL;
    aclrtEvent fork = sync_event(), join = sync_event();
    ok(aclmdlRICaptureBegin(a, GLOBAL));
    ok(aclrtRecordEvent(fork, a));
    ok(aclrtStreamWaitEvent(b, fork));
    ok(aclrtRecordEvent(join, b));
    ok(aclrtStreamWaitEvent(a, join));
    ok(aclrtLaunchHostFunc(b, count_call, NULL));
    code(aclmdlRICaptureEnd(a, &graph), ACL_ERROR_RT_STREAM_UNJOINED);
    assert_usable(a);
    assert_usable(b);
    ok(aclrtDestroyEvent(fork));
    ok(aclrtDestroyEvent(join));
}

Test(capture, fork_and_join_order_the_replay)
{
    // b copies what a fetched; a then copies b's result back to the host's second half.
    aclmdlRI graph = NULL;
    aclrtEvent fork = sync_event(), join = sync_event();
    float *back;
    ok(aclrtMallocHost((void **)&back, BYTES));
    ok(aclmdlRICaptureBegin(a, GLOBAL));
    ok(aclrtMemcpyAsync(device, BYTES, host, BYTES, ACL_MEMCPY_HOST_TO_DEVICE, a));
    ok(aclrtRecordEvent(fork, a));
    ok(aclrtStreamWaitEvent(b, fork));
    ok(aclrtMemcpyAsync(other, BYTES, device, BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE, b));
    ok(aclrtRecordEvent(join, b));
    ok(aclrtStreamWaitEvent(a, join));
    ok(aclrtMemcpyAsync(back, BYTES, other, BYTES, ACL_MEMCPY_DEVICE_TO_HOST, a));
    ok(aclmdlRICaptureEnd(a, &graph));
    for (int round = 0; round < 500; round++) {
        fill_host((float)round);
        ok(aclmdlRIExecuteAsync(graph, a));
        ok(aclrtSynchronizeStream(a));
        cr_assert(eq(int, memcmp(back, host, BYTES), 0));
    }
    ok(aclmdlRIDestroy(graph));
    ok(aclrtFreeHost(back));
    ok(aclrtDestroyEvent(fork));
    ok(aclrtDestroyEvent(join));
}

Test(capture, calls_that_wait_or_query_are_refused_and_do_no_harm)
{
    aclmdlRI graph = NULL, running = NULL;
    aclrtStreamStatus status;
    ok(aclmdlRICaptureBegin(b, RELAXED));
    ok(aclmdlRICaptureEnd(b, &running));
    ok(aclmdlRICaptureBegin(a, GLOBAL));
    ok(aclmdlRICaptureGetInfo(a, NULL, &graph));
    code(aclrtSynchronizeStream(a), ACL_ERROR_RT_STREAM_CAPTURED);
    code(aclrtSynchronizeStreamWithTimeout(a, 1000), ACL_ERROR_RT_STREAM_CAPTURED);
    code(aclrtStreamQuery(a, &status), ACL_ERROR_RT_STREAM_CAPTURED);
    code(aclrtSynchronizeDevice(), ACL_ERROR_RT_STREAM_CAPTURED);
    code(aclrtDestroyStream(a), ACL_ERROR_RT_STREAM_CAPTURED);
    code(aclmdlRIExecuteAsync(running, a), ACL_ERROR_RT_STREAM_CAPTURED);
    code(aclmdlRIExecuteAsync(graph, b), ACL_ERROR_RT_MODEL_CAPTURED);
    code(aclmdlRIDestroy(graph), ACL_ERROR_RT_MODEL_CAPTURED);
    ok(aclrtLaunchHostFunc(a, count_call, NULL));
    ok(aclmdlRICaptureEnd(a, &graph));
    ok(aclmdlRIExecuteAsync(graph, a));
    ok(aclrtSynchronizeStream(a));
    cr_assert(eq(int, calls, 1));
    ok(aclmdlRIDestroy(graph));
    ok(aclmdlRIDestroy(running));
}

Test(capture, captured_events_cannot_be_queried)
{
    aclmdlRI graph = NULL;
    aclrtEvent event = sync_event(), timed = NULL;
    aclrtEventRecordedStatus recorded;
    ok(aclrtCreateEvent(&timed));
    ok(aclmdlRICaptureBegin(a, GLOBAL));
    ok(aclrtRecordEvent(event, a));
    code(aclrtSynchronizeEvent(event), ACL_ERROR_RT_EVENT_CAPTURED);
    code(aclrtQueryEventStatus(event, &recorded), ACL_ERROR_RT_EVENT_CAPTURED);
    code(aclrtRecordEvent(timed, a), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    ok(aclmdlRICaptureEnd(a, &graph));
    // After the end the event behaves as if the captured record had not happened.
    ok(aclrtQueryEventStatus(event, &recorded));
    cr_assert(eq(int, (int)recorded, (int)ACL_EVENT_RECORDED_STATUS_COMPLETE));
    ok(aclrtRecordEvent(event, b));
    ok(aclrtSynchronizeEvent(event));
    ok(aclmdlRIDestroy(graph));
    ok(aclrtDestroyEvent(event));
    ok(aclrtDestroyEvent(timed));
}

Test(capture, an_event_recorded_outside_is_refused_and_does_no_harm)
{
    aclmdlRI graph = NULL;
    aclrtEvent event = sync_event();
    ok(aclrtRecordEvent(event, b));
    ok(aclmdlRICaptureBegin(a, GLOBAL));
    code(aclrtStreamWaitEvent(a, event), ACL_ERROR_RT_CAPTURE_DEPENDENCY);
    cr_assert(eq(int, (int)status_of(a), (int)ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE));
    ok(aclmdlRICaptureEnd(a, &graph));
    ok(aclmdlRIDestroy(graph));
    assert_usable(a);
    ok(aclrtDestroyEvent(event));
}

Test(capture, an_event_never_recorded_is_no_wait)
{
    aclmdlRI graph = NULL;
    aclrtEvent event = sync_event();
    ok(aclmdlRICaptureBegin(a, GLOBAL));
    ok(aclrtStreamWaitEvent(a, event));
    ok(aclmdlRICaptureEnd(a, &graph));
    ok(aclmdlRIExecuteAsync(graph, a));
    ok(aclrtSynchronizeStream(a));
    ok(aclmdlRIDestroy(graph));
    ok(aclrtDestroyEvent(event));
}

Test(capture, events_of_two_captures_do_not_mix)
{
    aclmdlRI graph = NULL;
    aclrtEvent event = sync_event();
    ok(aclmdlRICaptureBegin(a, GLOBAL));
    ok(aclmdlRICaptureBegin(b, GLOBAL));
    ok(aclrtRecordEvent(event, a));
    code(aclrtStreamWaitEvent(b, event), ACL_ERROR_STREAM_CAPTURE_CONFLICT);
    code(aclmdlRICaptureEnd(b, &graph), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
    ok(aclmdlRICaptureEnd(a, &graph));
    ok(aclmdlRIDestroy(graph));
    assert_usable(b);
    ok(aclrtDestroyEvent(event));
}

Test(capture, the_default_stream_does_not_join)
{
    aclmdlRI graph = NULL;
    aclrtEvent event = sync_event();
    ok(aclmdlRICaptureBegin(a, GLOBAL));
    ok(aclrtRecordEvent(event, a));
    code(aclrtStreamWaitEvent(NULL, event), ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT);
    code(aclmdlRICaptureEnd(a, &graph), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
    ok(aclrtLaunchHostFunc(NULL, count_call, NULL));
    ok(aclrtSynchronizeStream(NULL));
    cr_assert(eq(int, calls, 1));
    ok(aclrtDestroyEvent(event));
}

Test(capture, pageable_copies_are_refused_and_the_capture_stays)
{
    aclmdlRI graph = NULL;
    static float pageable[ELEMENTS];
    ok(aclmdlRICaptureBegin(a, RELAXED));
    code(aclrtMemcpyAsync(device, BYTES, pageable, BYTES, ACL_MEMCPY_HOST_TO_DEVICE, a),
            ACL_ERROR_RT_PARAM_INVALID);
    ok(aclmdlRICaptureEnd(a, &graph));
    ok(aclmdlRIDestroy(graph));
}

struct unsafe_case {
    aclmdlRICaptureMode capture;
    aclmdlRICaptureMode exchange;
    int in_capturing_thread; /* expected code there */
    int in_other_thread;     /* expected code in another thread with the same exchange mode */
};

#define REFUSED ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT
static const struct unsafe_case unsafe_cases[] = {
    { GLOBAL, GLOBAL, REFUSED, REFUSED },
    { GLOBAL, THREAD_LOCAL, REFUSED, 0 },
    { GLOBAL, RELAXED, 0, 0 },
    { THREAD_LOCAL, GLOBAL, REFUSED, 0 },
    { THREAD_LOCAL, THREAD_LOCAL, REFUSED, 0 },
    { THREAD_LOCAL, RELAXED, 0, 0 },
    { RELAXED, GLOBAL, 0, 0 },
    { RELAXED, THREAD_LOCAL, 0, 0 },
    { RELAXED, RELAXED, 0, 0 },
};

static int unsafe_copy(aclmdlRICaptureMode exchange)
{
    aclmdlRICaptureMode mode = exchange;
    ok(aclmdlRICaptureThreadExchangeMode(&mode));
    const int result = aclrtMemcpy(device, BYTES, host, BYTES, ACL_MEMCPY_HOST_TO_DEVICE);
    ok(aclmdlRICaptureThreadExchangeMode(&mode));
    cr_assert(eq(int, (int)mode, (int)exchange)); // swapped out and back
    return result;
}

struct other_thread {
    aclmdlRICaptureMode exchange;
    int result;
};

static void *copy_in_other_thread(void *arg)
{
    struct other_thread *other_thread = arg;
    ok(aclrtSetDevice(0));
    other_thread->result = unsafe_copy(other_thread->exchange);
    ok(aclrtResetDevice(0));
    return NULL;
}

Test(capture, unsafe_calls_follow_the_modes)
{
    for (size_t i = 0; i < sizeof unsafe_cases / sizeof unsafe_cases[0]; i++) {
        const struct unsafe_case *c = &unsafe_cases[i];
        aclmdlRI graph = NULL;
        pthread_t thread;
        struct other_thread there = { .exchange = c->exchange };
        ok(aclmdlRICaptureBegin(a, c->capture));
        fill_host((float)i);
        memset(device, 0, BYTES);
        const int here = unsafe_copy(c->exchange);
        cr_assert(eq(int, here, c->in_capturing_thread), "case %zu", i);
        cr_assert(eq(flt, device[1], here == 0 ? host[1] : 0.0f), "case %zu", i);
        pthread_create(&thread, NULL, copy_in_other_thread, &there);
        pthread_join(thread, NULL);
        cr_assert(eq(int, there.result, c->in_other_thread), "case %zu", i);
        ok(aclmdlRICaptureEnd(a, &graph)); // a refused call leaves the capture valid
        ok(aclmdlRIDestroy(graph));
    }
}

Test(capture, exchange_mode_checks_its_argument)
{
    aclmdlRICaptureMode mode = (aclmdlRICaptureMode)7;
    code(aclmdlRICaptureThreadExchangeMode(NULL), ACL_ERROR_INVALID_PARAM);
    code(aclmdlRICaptureThreadExchangeMode(&mode), ACL_ERROR_RT_PARAM_INVALID);
}

static void *end_in_other_thread(void *arg)
{
    aclmdlRI *graph = arg;
    ok(aclrtSetDevice(0));
    const int result = aclmdlRICaptureEnd(a, graph);
    ok(aclrtResetDevice(0));
    return (void *)(intptr_t)result;
}

Test(capture, only_a_relaxed_capture_ends_in_another_thread)
{
    const aclmdlRICaptureMode modes[] = { GLOBAL, THREAD_LOCAL, RELAXED };
    for (int m = 0; m < 3; m++) {
        aclmdlRI graph = NULL;
        pthread_t thread;
        void *result;
        ok(aclmdlRICaptureBegin(a, modes[m]));
        ok(aclrtLaunchHostFunc(a, count_call, NULL));
        pthread_create(&thread, NULL, end_in_other_thread, &graph);
        pthread_join(thread, &result);
        const int expected = modes[m] == RELAXED ? 0 : ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD;
        cr_assert(eq(int, (int)(intptr_t)result, expected));
        cr_assert(eq(int, graph != NULL, modes[m] == RELAXED));
        if (graph != NULL) {
            ok(aclmdlRIDestroy(graph));
        }
        assert_usable(a);
    }
}

Test(capture, execute_and_destroy_check_their_handles)
{
    aclmdlRI graph = NULL;
    code(aclmdlRIExecuteAsync(NULL, a), ACL_ERROR_INVALID_PARAM);
    code(aclmdlRIExecuteAsync(a, a), ACL_ERROR_RT_INVALID_HANDLE); // a stream is no graph
    code(aclmdlRIDestroy(NULL), ACL_ERROR_INVALID_PARAM);
    ok(aclmdlRICaptureBegin(a, GLOBAL));
    ok(aclmdlRICaptureEnd(a, &graph));
    code(aclmdlRIExecute(graph, 1000), ACL_ERROR_RT_PARAM_INVALID);
    code(aclmdlRIExecute(graph, 0), ACL_ERROR_RT_PARAM_INVALID);
    ok(aclmdlRIExecuteAsync(graph, NULL)); // the default stream may replay
    ok(aclrtSynchronizeStream(NULL));
    ok(aclmdlRIDestroy(graph));
    code(aclmdlRIExecuteAsync(graph, a), ACL_ERROR_RT_INVALID_HANDLE);
    ok(aclmdlRIDestroy(graph)); // a destroyed handle is accepted silently
}

Test(capture, a_graph_of_a_destroyed_communicator_does_not_run)
{
    HcclComm comm = NULL;
    HcclRootInfo info;
    aclmdlRI graph = NULL;
    ok(HcclGetRootInfo(&info));
    ok(HcclCommInitRootInfo(1, &info, 0, &comm));
    ok(aclmdlRICaptureBegin(a, GLOBAL));
    ok(HcclAllReduce(device, other, ELEMENTS, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, a));
    ok(aclmdlRICaptureEnd(a, &graph));
    device[3] = 4.5f;
    ok(aclmdlRIExecuteAsync(graph, a));
    ok(aclrtSynchronizeStream(a));
    cr_assert(eq(flt, other[3], 4.5f));
    ok(HcclCommDestroy(comm));
    code(aclmdlRIExecuteAsync(graph, a), ACL_ERROR_RT_MODEL_EXECUTE);
    ok(aclmdlRIDestroy(graph));
}

/* R13: many replays and copies queued on one stream without a host synchronisation. */
Test(capture, replays_are_ordered_with_eager_work_of_their_stream)
{
    enum { STEPS = 400 };
    aclmdlRI graph = NULL;
    float *in, *out;
    ok(aclrtMallocHost((void **)&in, STEPS * sizeof(float)));
    ok(aclrtMallocHost((void **)&out, STEPS * sizeof(float)));
    ok(aclmdlRICaptureBegin(a, GLOBAL));
    ok(aclrtMemcpyAsync(
            other, sizeof(float), device, sizeof(float), ACL_MEMCPY_DEVICE_TO_DEVICE, a));
    ok(aclmdlRICaptureEnd(a, &graph));
    for (int i = 0; i < STEPS; i++) {
        in[i] = (float)(3 * i + 1);
        out[i] = -1.0f;
        ok(aclrtMemcpyAsync(device, 4, &in[i], 4, ACL_MEMCPY_HOST_TO_DEVICE, a));
        ok(aclmdlRIExecuteAsync(graph, a));
        ok(aclrtMemcpyAsync(&out[i], 4, other, 4, ACL_MEMCPY_DEVICE_TO_HOST, a));
    }
    ok(aclrtSynchronizeStream(a));
    cr_assert(eq(int, memcmp(in, out, STEPS * sizeof(float)), 0));
    ok(aclmdlRIDestroy(graph));
    ok(aclrtFreeHost(in));
    ok(aclrtFreeHost(out));
}
