// Several captures at once, and what crosses the border of one: events of another capture, of one
// that has ended, of none; captures inside captures; in one thread and in several, with one
// communicator and with two. A broken rule costs the capture that broke it and nothing else.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "support/conds.h"

TestSuite(rules_borders, .init = rules_setup, .fini = rules_teardown, .timeout = 60);

static void all_reduce(uint32_t *to, aclrtStream stream)
{
    ok(HcclAllReduce(
            rules.device, to, 1, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, rules.comm, stream));
}

// ---- several at once ----

/* One capture begun and ended inside another; both with collectives of one communicator. */
Test(rules_borders, a_capture_inside_a_capture)
{
    rules_comm();
    uint32_t *inner_result = rules.other + 1;
    for (int outer_mode = GLOBAL; outer_mode <= (int)RELAXED; outer_mode++) {
        for (int inner_mode = GLOBAL; inner_mode <= (int)RELAXED; inner_mode++) {
            begin(rules.a, (aclmdlRICaptureMode)outer_mode);
            all_reduce(rules.other, rules.a);
            begin(rules.b, (aclmdlRICaptureMode)inner_mode);
            all_reduce(inner_result, rules.b);
            put_call(rules.b);
            aclmdlRI inner = end(rules.b);
            all_reduce(rules.other + 2, rules.a);
            put_call(rules.a);
            aclmdlRI outer = end(rules.a);
            aclmdlRI order[] = { inner, outer, outer, inner };
            for (uint32_t i = 0; i < 4; i++) {
                *rules.device = 100 + i;
                memset(rules.other, 0, RULE_BYTES);
                run_calls(order[i], rules.c, 1);
                const bool is_inner = order[i] == inner;
                cr_assert(eq(u32, rules.other[0], is_inner ? 0 : 100 + i));
                cr_assert(eq(u32, rules.other[1], is_inner ? 100 + i : 0));
                cr_assert(eq(u32, rules.other[2], is_inner ? 0 : 100 + i));
            }
            ok(aclmdlRIDestroy(inner));
            ok(aclmdlRIDestroy(outer));
        }
    }
    assert_usable(NULL);
}

Test(rules_borders, captures_that_overlap_end_in_any_order)
{
    begin(rules.a, GLOBAL);
    begin(rules.b, THREAD_LOCAL);
    begin(rules.c, RELAXED);
    cr_assert(ne(ptr, capture_graph(rules.a), capture_graph(rules.b)));
    put_call(rules.a);
    put_call(rules.b);
    put_call(rules.c);
    aclmdlRI first = end(rules.a);
    put_call(rules.b);
    aclmdlRI third = end(rules.c);
    put_call(rules.b);
    aclmdlRI second = end(rules.b);
    run_calls(first, rules.a, 1);
    run_calls(second, rules.a, 3);
    run_calls(third, rules.a, 1);
    ok(aclmdlRIDestroy(second));
    ok(aclmdlRIDestroy(first));
    ok(aclmdlRIDestroy(third));
    assert_usable(NULL);
}

/* One thread's captures, one after another. */
struct looper {
    HcclComm comm;
    aclmdlRICaptureMode mode;
    uint32_t seed;
};

static void capture_rounds(void *arg)
{
    const struct looper *looper = arg;
    aclrtStream stream = NULL, side = NULL;
    uint32_t *in = NULL, *out = NULL;
    ok(aclrtCreateStream(&stream));
    ok(aclrtCreateStream(&side));
    ok(aclrtMalloc((void **)&in, RULE_BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    ok(aclrtMalloc((void **)&out, RULE_BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    for (uint32_t round = 0; round < 200; round++) {
        begin(stream, looper->mode);
        join(side, stream);
        ok(HcclAllReduce(in, out, 1, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, looper->comm, side));
        ok(HcclAllReduce(
                out, out + 1, 1, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, looper->comm, side));
        join_back(side, stream);
        aclmdlRI graph = end(stream);
        *in = looper->seed + round;
        out[1] = 0;
        ok(aclmdlRIExecuteAsync(graph, side));
        ok(aclrtSynchronizeStream(side));
        cr_assert(eq(u32, out[1], looper->seed + round));
        ok(aclmdlRIDestroy(graph));
    }
    ok(aclrtFree(in));
    ok(aclrtFree(out));
    ok(aclrtDestroyStream(stream));
    ok(aclrtDestroyStream(side));
}

static void *loop_main(void *arg)
{
    ok(aclrtSetDevice(0));
    capture_rounds(arg);
    ok(aclrtResetDevice(0));
    return NULL;
}

static void two_threads(HcclComm first, HcclComm second, aclmdlRICaptureMode mode)
{
    struct looper looper[2] = { { first, mode, 1000 }, { second, mode, 500000 } };
    pthread_t thread[2];
    for (int t = 0; t < 2; t++) {
        cr_assert(eq(int, pthread_create(&thread[t], NULL, loop_main, &looper[t]), 0));
    }
    for (int t = 0; t < 2; t++) {
        pthread_join(thread[t], NULL);
    }
}

Test(rules_borders, two_threads_capture_with_one_communicator)
{
    rules_comm();
    two_threads(rules.comm, rules.comm, GLOBAL);
    two_threads(rules.comm, rules.comm, RELAXED);
    assert_usable(NULL);
}

Test(rules_borders, two_threads_capture_with_a_communicator_each)
{
    HcclComm second = NULL;
    HcclRootInfo info;
    rules_comm();
    ok(HcclGetRootInfo(&info));
    ok(HcclCommInitRootInfo(1, &info, 0, &second));
    two_threads(rules.comm, second, GLOBAL);
    two_threads(rules.comm, second, THREAD_LOCAL);
    ok(HcclCommDestroy(second));
    assert_usable(NULL);
}

// ---- events of another capture ----

#define CONFLICT ACL_ERROR_STREAM_CAPTURE_CONFLICT
#define INVALIDATED ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED

static void add_side(aclrtStream side, aclrtStream origin)
{
    put_call(side);
    join_back(side, origin);
}

/* An origin or a joined stream waits for an event of another capture's origin or joined stream. */
Test(rules_borders, a_wait_across_two_captures_costs_the_one_that_waits)
{
    for (int waits_joined = 0; waits_joined < 2; waits_joined++) {
        for (int recorded_joined = 0; recorded_joined < 2; recorded_joined++) {
            aclrtStream d = NULL;
            aclrtEvent event = ex_event();
            ok(aclrtCreateStream(&d));
            begin(rules.a, GLOBAL);
            join(rules.b, rules.a);
            begin(rules.c, RELAXED);
            join(d, rules.c);
            const aclrtStream recorded = recorded_joined ? rules.b : rules.a;
            const aclrtStream waits = waits_joined ? d : rules.c;
            ok(aclrtRecordEvent(event, recorded));
            refused(aclrtStreamWaitEvent(waits, event), CONFLICT, event_name(event),
                    stream_name(waits), stream_name(rules.a), stream_name(rules.c));
            refused(aclrtLaunchHostFunc(rules.c, count_call, NULL), INVALIDATED,
                    stream_name(rules.c), event_name(event));
            refused(aclrtLaunchHostFunc(d, count_call, NULL), INVALIDATED, stream_name(d));
            end_refused(rules.c, INVALIDATED);
            cr_assert(eq(int, (int)capture_status(d), (int)ACL_MODEL_RI_CAPTURE_STATUS_NONE));
            add_side(rules.b, rules.a);
            aclmdlRI graph = end(rules.a); // the other one is whole
            run_calls(graph, d, 1);
            ok(aclmdlRIDestroy(graph));
            assert_usable(event);
            ok(aclrtDestroyStream(d));
            ok(aclrtDestroyEvent(event));
        }
    }
}

/* A record takes an event over: it is of the capture that recorded it last. */
Test(rules_borders, an_event_is_of_the_capture_that_recorded_it_last)
{
    aclrtEvent event = ex_event();
    begin(rules.a, GLOBAL);
    ok(aclrtRecordEvent(event, rules.a));
    begin(rules.b, GLOBAL);
    ok(aclrtRecordEvent(event, rules.b));
    ok(aclrtStreamWaitEvent(rules.c, event)); // joins b's
    cr_assert(eq(ptr, capture_graph(rules.c), capture_graph(rules.b)));
    add_side(rules.c, rules.b);
    aclmdlRI second = end(rules.b);
    ok(aclrtStreamWaitEvent(rules.a, event)); // never recorded as far as a's capture knows
    put_call(rules.a);
    aclmdlRI first = end(rules.a);
    run_calls(first, rules.a, 1);
    run_calls(second, rules.a, 1);
    ok(aclmdlRIDestroy(first));
    ok(aclmdlRIDestroy(second));
    assert_usable(event);
    ok(aclrtDestroyEvent(event));
}

// ---- events from outside, and of captures that have ended ----

Test(rules_borders, a_wait_for_a_record_from_outside_is_refused_and_does_no_harm)
{
    aclrtEvent event = ex_event();
    ok(aclrtRecordEvent(event, rules.c));
    ok(aclrtSynchronizeEvent(event)); // whether it is over does not matter
    begin(rules.a, GLOBAL);
    join(rules.b, rules.a);
    aclrtStream streams[] = { rules.a, rules.b };
    for (int s = 0; s < 2; s++) {
        refused(aclrtStreamWaitEvent(streams[s], event), ACL_ERROR_RT_CAPTURE_DEPENDENCY,
                event_name(event), stream_name(streams[s]));
        refused(aclrtStreamWaitEventWithTimeout(streams[s], event, 5),
                ACL_ERROR_RT_CAPTURE_DEPENDENCY, event_name(event), stream_name(streams[s]));
    }
    add_side(rules.b, rules.a);
    aclmdlRI graph = end(rules.a);
    run_calls(graph, rules.a, 1);
    ok(aclmdlRIDestroy(graph));
    assert_usable(event);
    ok(aclrtDestroyEvent(event));
}

static uint32_t task_count(aclmdlRI graph)
{
    aclrtStream streams[8];
    uint32_t count = 8, tasks = 0;
    ok(aclmdlRIGetStreams(graph, streams, &count));
    for (uint32_t s = 0; s < count; s++) {
        uint32_t of_stream = 0;
        ok(aclmdlRIGetTasksByStream(streams[s], NULL, &of_stream));
        tasks += of_stream;
    }
    return tasks;
}

Test(rules_borders, a_record_of_an_ended_capture_is_none)
{
    aclrtEvent event = ex_event();
    for (int how = 0; how < 2; how++) { // ended well, and not
        begin(rules.a, GLOBAL);
        ok(aclrtRecordEvent(event, rules.a));
        if (how == 0) {
            ok(aclmdlRIDestroy(end(rules.a)));
        } else {
            join(rules.b, rules.a);
            end_refused(rules.a, ACL_ERROR_RT_STREAM_UNJOINED);
        }
        begin(rules.a, GLOBAL);
        ok(aclrtStreamWaitEvent(rules.a, event)); // never recorded: success, no node
        ok(aclrtStreamWaitEvent(rules.b, event)); // outside, too: b joins nothing
        cr_assert(eq(int, (int)capture_status(rules.b), (int)ACL_MODEL_RI_CAPTURE_STATUS_NONE));
        aclmdlRI graph = end(rules.a);
        cr_assert(eq(u32, task_count(graph), 0));
        ok(aclmdlRIExecuteAsync(graph, rules.a)); // an empty graph
        ok(aclrtSynchronizeStream(rules.a));
        ok(aclmdlRIDestroy(graph));
    }
    assert_usable(event);
    ok(aclrtDestroyEvent(event));
}

/* The program's own record state is not touched by what is captured. */
Test(rules_borders, an_eager_record_lives_through_a_capture)
{
    uint64_t before_us = 0, after_us = 0;
    aclrtEvent event = NULL;
    ok(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
    ok(aclrtRecordEvent(event, rules.c));
    ok(aclrtSynchronizeEvent(event));
    ok(aclrtEventGetTimestamp(event, &before_us));
    begin(rules.a, GLOBAL);
    ok(aclrtRecordEvent(event, rules.a));
    ok(aclrtStreamWaitEvent(rules.b, event));
    add_side(rules.b, rules.a);
    aclmdlRI graph = end(rules.a);
    run_calls(graph, rules.a, 1);
    ok(aclrtEventGetTimestamp(event, &after_us));
    cr_assert(eq(u64, before_us, after_us)); // neither the capture nor the replay recorded it
    ok(aclmdlRIDestroy(graph));
    assert_usable(event);
    ok(aclrtDestroyEvent(event));
}

/* A stream outside records the event eagerly: it is no captured one any more. */
Test(rules_borders, an_eager_record_replaces_the_captured_one)
{
    aclrtEvent event = ex_event();
    begin(rules.a, GLOBAL);
    ok(aclrtRecordEvent(event, rules.a));
    ok(aclrtRecordEvent(event, rules.c));
    ok(aclrtSynchronizeEvent(event));
    ok(aclrtStreamWaitEvent(rules.b, event));
    cr_assert(eq(int, (int)capture_status(rules.b), (int)ACL_MODEL_RI_CAPTURE_STATUS_NONE));
    put_call(rules.a);
    aclmdlRI graph = end(rules.a);
    run_calls(graph, rules.a, 1);
    ok(aclmdlRIDestroy(graph));
    assert_usable(event);
    ok(aclrtDestroyEvent(event));
}

Test(rules_borders, a_stream_of_another_kind_does_not_join)
{
    const uint32_t kinds[] = { ACL_STREAM_PERSISTENT, ACL_STREAM_CPU_SCHEDULE,
        ACL_STREAM_DEVICE_USE_ONLY };
    aclrtEvent event = ex_event();
    begin(rules.a, GLOBAL);
    ok(aclrtRecordEvent(event, rules.a));
    for (int k = 0; k < 3; k++) {
        aclrtStream stream = NULL;
        ok(aclrtCreateStreamWithConfig(&stream, 0, kinds[k]));
        refused(aclrtStreamWaitEvent(stream, event), ACL_ERROR_RT_INTERNAL_ERROR,
                stream_name(stream));
        ok(aclrtDestroyStream(stream));
    }
    put_call(rules.a);
    aclmdlRI graph = end(rules.a); // refused, and the capture goes on
    run_calls(graph, rules.a, 1);
    ok(aclmdlRIDestroy(graph));
    assert_usable(event);
    ok(aclrtDestroyEvent(event));
}

// ---- other contexts ----

Test(rules_borders, an_event_of_another_context_does_not_cross)
{
    aclrtContext own = NULL, other = NULL;
    aclrtStream there = NULL;
    ok(aclrtGetCurrentContext(&own));
    ok(aclrtCreateContext(&other, 0));
    ok(aclrtCreateStream(&there));
    aclrtEvent foreign = ex_event();
    ok(aclrtSetCurrentContext(own));
    aclrtEvent event = ex_event();
    begin(rules.a, GLOBAL);
    ok(aclrtRecordEvent(event, rules.a));
    const char *names[] = { event_name(event), stream_name(rules.a), event_name(foreign) };
    refused(aclrtRecordEvent(foreign, rules.a), ACL_ERROR_RT_STREAM_CONTEXT, names[2], names[1]);
    refused(aclrtStreamWaitEvent(rules.a, foreign), ACL_ERROR_RT_STREAM_CONTEXT, names[2],
            names[1]);
    ok(aclrtSetCurrentContext(other));
    refused(aclrtStreamWaitEvent(there, event), ACL_ERROR_RT_STREAM_CONTEXT, names[0]);
    refused(aclrtRecordEvent(event, there), ACL_ERROR_RT_STREAM_CONTEXT, names[0]);
    refused(aclrtStreamWaitEvent(NULL, event), ACL_ERROR_RT_STREAM_CONTEXT, names[0]);
    // That it captures may be asked from anywhere.
    cr_assert(eq(int, (int)capture_status(rules.a), (int)ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE));
    ok(aclrtSetCurrentContext(own));
    ok(aclrtStreamWaitEvent(rules.b, event));
    add_side(rules.b, rules.a);
    aclmdlRI graph = end(rules.a); // none of it has harmed the capture
    // Graphs and streams of different contexts do not go together either.
    ok(aclrtSetCurrentContext(other));
    refused(aclmdlRIExecuteAsync(graph, there), ACL_ERROR_RT_STREAM_CONTEXT, graph_name(graph));
    ok(aclrtDestroyContext(other));
    ok(aclrtSetCurrentContext(own));
    run_calls(graph, rules.c, 1);
    ok(aclmdlRIDestroy(graph));
    assert_usable(event);
    ok(aclrtDestroyEvent(event));
    ok(aclrtDestroyEvent(foreign));
}

/* A device that is reset by force ends what captures; a new start works. */
Test(rules_reset, a_capture_ends_with_its_device_by_force, .timeout = 60)
{
    for (int mode = GLOBAL; mode <= (int)RELAXED; mode++) {
        static struct cond cond;
        rules_setup();
        begin(rules.a, (aclmdlRICaptureMode)mode);
        aclmdlRI graph = capture_graph(rules.a);
        ok(aclmdlRIDestroyRegisterCallback(graph, count_call, NULL));
        cond_put(&cond, rules.a, IF, 1, NULL);
        ok(aclmdlRICaptureToModelRIBegin(rules.c, cond.arm[0], (aclmdlRICaptureMode)mode));
        put_call(rules.c);
        join(rules.b, rules.a);
        put_call(rules.b);
        ok(aclrtResetDeviceForce(0));
        cr_assert(eq(int, atomic_load(&rules_calls), mode + 1)); // the graph is gone
        ok(aclmdlRIDestroy(graph));
        // Nothing is left of it in this thread's modes either.
        rules_setup();
        begin(rules.a, RELAXED);
        ok(aclrtMemset(rules.device, RULE_BYTES, 0, RULE_BYTES));
        ok(aclmdlRIDestroy(end(rules.a)));
        rules_teardown();
    }
    rules_setup();
    assert_usable(NULL);
    rules_teardown();
}
