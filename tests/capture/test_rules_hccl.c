// A capture is closed under our own calls: every Hccl call, in every mode and exchange mode,
// between Begin and End, works as it does outside, needs no warm-up, leaves no stream unjoined, and
// is recorded only if it is an operator. And our own threads disturb no capture.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>
#include <unistd.h>

#include "support/rules.h"

TestSuite(rules_hccl, .init = rules_setup, .fini = rules_teardown, .timeout = 120);

static uint32_t captured_tasks(aclrtStream stream)
{
    aclmdlRI graph = capture_graph(stream);
    aclrtStream streams[4];
    uint32_t count = 4, tasks = 0, of_stream = 0;
    ok(aclmdlRIGetStreams(graph, streams, &count));
    for (uint32_t s = 0; s < count; s++) {
        ok(aclmdlRIGetTasksByStream(streams[s], NULL, &of_stream));
        tasks += of_stream;
    }
    return tasks;
}

// ---- operators ----

static void all_reduce(HcclComm comm, aclrtStream stream)
{
    ok(HcclAllReduce(
            rules.device, rules.other, 4, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, comm, stream));
}

static void broadcast(HcclComm comm, aclrtStream stream)
{
    ok(HcclBroadcast(rules.other, 4, HCCL_DATA_TYPE_UINT32, 0, comm, stream));
}

static void all_gather(HcclComm comm, aclrtStream stream)
{
    ok(HcclAllGather(rules.device, rules.other, 4, HCCL_DATA_TYPE_UINT32, comm, stream));
}

static void reduce_scatter(HcclComm comm, aclrtStream stream)
{
    ok(HcclReduceScatter(
            rules.device, rules.other, 4, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, comm, stream));
}

static void barrier(HcclComm comm, aclrtStream stream)
{
    ok(HcclBarrier(comm, stream));
}

static void (*const operators[])(HcclComm comm, aclrtStream stream) = { all_reduce, broadcast,
    all_gather, reduce_scatter, barrier };
#define OPERATORS (sizeof(operators) / sizeof(operators[0]))

// ---- everything else ----

static void life_of_a_communicator(void)
{
    HcclComm comm = NULL;
    HcclRootInfo info;
    HcclCommConfig config;
    ok(HcclGetRootInfo(&info));
    ok(HcclCommInitRootInfo(1, &info, 0, &comm));
    ok(HcclCommDestroy(comm));
    HcclCommConfigInit(&config);
    ok(HcclGetRootInfo(&info));
    ok(HcclCommInitRootInfoConfig(1, &info, 0, &config, &comm));
    ok(HcclCommDestroy(comm));
    int32_t devices[] = { 0 };
    ok(HcclCommInitAll(1, devices, &comm));
    ok(HcclCommDestroy(comm));
}

static void questions(HcclComm comm)
{
    uint32_t rank = 9, size = 9;
    HcclResult error = HCCL_E_INTERNAL;
    char name[128];
    ok(HcclGetRankId(comm, &rank));
    ok(HcclGetRankSize(comm, &size));
    ok(HcclGetCommName(comm, name));
    ok(HcclGetCommAsyncError(comm, &error));
    cr_assert(eq(u32, rank, 0));
    cr_assert(eq(u32, size, 1));
    cr_assert(eq(int, (int)error, (int)HCCL_SUCCESS));
    cr_assert(ne(ptr, (void *)HcclGetErrorString(HCCL_E_PARA), NULL));
}

static void in_mode(int capture, int exchange, HcclComm comm)
{
    aclmdlRICaptureMode mode = (aclmdlRICaptureMode)exchange;
    ok(aclmdlRICaptureThreadExchangeMode(&mode));
    begin(rules.a, (aclmdlRICaptureMode)capture);
    join(rules.b, rules.a);
    const uint32_t before = captured_tasks(rules.a);
    life_of_a_communicator();
    questions(comm);
    cr_assert(eq(u32, captured_tasks(rules.a), before)); // host-only calls leave no trace
    for (size_t o = 0; o < OPERATORS; o++) {
        operators[o](comm, o % 2 == 0 ? rules.a : rules.b);
        cr_assert(eq(u32, captured_tasks(rules.a), before + 1 + o)); // one task each
    }
    put_call(rules.b);
    join_back(rules.b, rules.a);
    aclmdlRI graph = end(rules.a);
    ok(aclmdlRICaptureThreadExchangeMode(&mode));
    for (uint32_t round = 0; round < 3; round++) {
        rules.device[3] = 77 + round;
        rules.other[3] = 0;
        run_calls(graph, rules.c, 1);
        cr_assert(eq(u32, rules.other[3], 77 + round));
    }
    ok(aclmdlRIDestroy(graph));
}

Test(rules_hccl, every_call_works_in_every_mode)
{
    for (int capture = GLOBAL; capture <= (int)RELAXED; capture++) {
        for (int exchange = GLOBAL; exchange <= (int)RELAXED; exchange++) {
            in_mode(capture, exchange, rules_comm());
        }
    }
    assert_usable(NULL);
}

/* The communicator is made inside the capture and its first operator is captured: no warm-up. */
Test(rules_hccl, a_new_communicator_needs_no_warm_up)
{
    for (size_t o = 0; o < OPERATORS; o++) {
        HcclComm comm = NULL;
        HcclRootInfo info;
        begin(rules.a, GLOBAL);
        ok(HcclGetRootInfo(&info));
        ok(HcclCommInitRootInfo(1, &info, 0, &comm));
        operators[o](comm, rules.a);
        put_call(rules.a);
        aclmdlRI graph = end(rules.a);
        run_calls(graph, rules.b, 1);
        run_calls(graph, rules.c, 1);
        ok(aclmdlRIDestroy(graph));
        ok(HcclCommDestroy(comm));
    }
    assert_usable(NULL);
}

/* A communicator destroyed inside the capture that has recorded it: the graph does not run. */
Test(rules_hccl, a_communicator_destroyed_inside_is_reported_at_execute)
{
    HcclComm comm = NULL;
    HcclRootInfo info;
    ok(HcclGetRootInfo(&info));
    ok(HcclCommInitRootInfo(1, &info, 0, &comm));
    begin(rules.a, GLOBAL);
    all_reduce(comm, rules.a);
    ok(HcclCommDestroy(comm));
    code(HcclBarrier(comm, rules.a), HCCL_E_PARA);
    aclmdlRI graph = end(rules.a);
    refused(aclmdlRIExecuteAsync(graph, rules.a), ACL_ERROR_RT_MODEL_EXECUTE, graph_name(graph));
    ok(aclmdlRIDestroy(graph));
    rules_comm();
    assert_usable(NULL);
}

/* A refused operator leaves no task and does no harm; one on an invalidated capture says so. */
Test(rules_hccl, a_refused_operator_leaves_the_capture_whole)
{
    HcclComm comm = rules_comm();
    begin(rules.a, GLOBAL);
    code(HcclAllReduce(
                 rules.device, NULL, 4, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, comm, rules.a),
            HCCL_E_PTR);
    code(HcclBroadcast(rules.other, 4, HCCL_DATA_TYPE_UINT32, 7, comm, rules.a), HCCL_E_PARA);
    refused(HcclAllReduce(
                    rules.device, rules.other, 4, (HcclDataType)99, HCCL_REDUCE_SUM, comm, rules.a),
            HCCL_E_NOT_SUPPORT, "99");
    cr_assert(eq(u32, captured_tasks(rules.a), 0));
    put_call(rules.a);
    aclmdlRI graph = end(rules.a);
    run_calls(graph, rules.a, 1);
    ok(aclmdlRIDestroy(graph));
    aclrtEvent event = ex_event();
    begin(rules.a, GLOBAL);
    ok(aclrtRecordEvent(event, rules.a));
    code(aclrtRecordEvent(event, NULL), ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT);
    refused(HcclAllReduce(rules.device, rules.other, 4, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM,
                    comm, rules.a),
            HCCL_E_RUNTIME, stream_name(rules.a), event_name(event));
    end_refused(rules.a, ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
    assert_usable(event);
    ok(aclrtDestroyEvent(event));
}

// ---- other threads ----

/* R07: eager work not waited for, and a capture right behind it. */
Test(rules_hccl, eager_work_before_does_not_disturb)
{
    HcclComm comm = rules_comm();
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 30; i++) {
            all_reduce(comm, rules.b);
        }
        begin(rules.a, GLOBAL);
        for (int i = 0; i < 3; i++) {
            all_reduce(comm, rules.a);
        }
        aclmdlRI graph = end(rules.a);
        ok(aclmdlRIDestroy(graph));
    }
    ok(aclrtSynchronizeDevice());
    assert_usable(NULL);
}

/* R04: another thread copies and communicates on a communicator of its own meanwhile. */
struct busy {
    HcclComm comm;
    aclmdlRICaptureMode mode;
    _Atomic bool stop;
    _Atomic int copies;
    _Atomic int refusals;
};

static void *be_busy(void *arg)
{
    struct busy *busy = arg;
    uint32_t *in = NULL, *out = NULL, host = 0;
    aclrtStream stream = NULL;
    ok(aclrtSetDevice(0));
    ok(aclrtCreateStream(&stream));
    ok(aclrtMalloc((void **)&in, RULE_BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    ok(aclrtMalloc((void **)&out, RULE_BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    for (uint32_t i = 0; !atomic_load(&busy->stop); i++) {
        *in = i;
        ok(HcclAllReduce(in, out, 1, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, busy->comm, stream));
        ok(aclrtSynchronizeStream(stream));
        host = UINT32_MAX;
        const int st =
                aclrtMemcpy(&host, sizeof(host), out, sizeof(host), ACL_MEMCPY_DEVICE_TO_HOST);
        if (st == 0) {
            cr_assert(eq(u32, host, i));
            atomic_fetch_add(&busy->copies, 1);
        } else {
            cr_assert(eq(int, st, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT));
            cr_assert(eq(u32, host, UINT32_MAX));
            atomic_fetch_add(&busy->refusals, 1);
        }
    }
    ok(aclrtFree(in));
    ok(aclrtFree(out));
    ok(aclrtDestroyStream(stream));
    ok(aclrtResetDevice(0));
    return NULL;
}

Test(rules_hccl, another_thread_does_not_disturb)
{
    const aclmdlRICaptureMode modes[] = { THREAD_LOCAL, RELAXED, GLOBAL };
    HcclRootInfo info;
    rules_comm();
    for (int m = 0; m < 3; m++) {
        struct busy busy = { .mode = modes[m] };
        pthread_t thread;
        ok(HcclGetRootInfo(&info));
        ok(HcclCommInitRootInfo(1, &info, 0, &busy.comm));
        cr_assert(eq(int, pthread_create(&thread, NULL, be_busy, &busy), 0));
        for (int round = 0; round < 500; round++) {
            begin(rules.a, modes[m]);
            all_reduce(rules.comm, rules.a);
            put_call(rules.a);
            aclmdlRI graph = end(rules.a);
            if (round % 50 == 0) {
                run_calls(graph, rules.a, 1);
                usleep(1000);
            }
            ok(aclmdlRIDestroy(graph));
        }
        atomic_store(&busy.stop, true);
        pthread_join(thread, NULL);
        cr_assert(modes[m] == GLOBAL || atomic_load(&busy.refusals) == 0);
        cr_assert(gt(int, atomic_load(&busy.copies) + atomic_load(&busy.refusals), 0));
        ok(HcclCommDestroy(busy.comm));
    }
    assert_usable(NULL);
}

/* R09: what a program may ask while it captures answers at once. */
static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

Test(rules_hccl, nothing_waits_inside_a_capture)
{
    HcclComm comm = rules_comm();
    HcclResult error;
    aclrtStreamStatus status;
    aclrtEventRecordedStatus recorded;
    aclrtEvent event = ex_event();
    begin(rules.a, GLOBAL);
    all_reduce(comm, rules.a);
    ok(aclrtRecordEvent(event, rules.a));
    const uint64_t before_us = now_us();
    code(aclrtStreamQuery(rules.a, &status), ACL_ERROR_RT_STREAM_CAPTURED);
    code(aclrtSynchronizeStreamWithTimeout(rules.a, 1000), ACL_ERROR_RT_STREAM_CAPTURED);
    code(aclrtSynchronizeDeviceWithTimeout(1000), ACL_ERROR_RT_STREAM_CAPTURED);
    code(aclrtQueryEventStatus(event, &recorded), ACL_ERROR_RT_EVENT_CAPTURED);
    code(aclrtSynchronizeEventWithTimeout(event, 1000), ACL_ERROR_RT_EVENT_CAPTURED);
    ok(HcclGetCommAsyncError(comm, &error));
    cr_assert(lt(u64, now_us() - before_us, 500000));
    aclmdlRI graph = end(rules.a);
    ok(aclmdlRIDestroy(graph));
    assert_usable(event);
    ok(aclrtDestroyEvent(event));
}
