// What is illegal while something captures, whatever the mode: every such call, on the stream that
// began, on one that joined, on one that does not capture, from another thread, and from another
// context. A refused call names stream or event, and the capture goes on.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "support/rules.h"

TestSuite(rules_calls, .init = rules_setup, .fini = rules_teardown, .timeout = 60);

static aclmdlRI idle_graph; // one that can be executed

// ---- calls about a stream ----

static int synchronize(aclrtStream stream)
{
    return aclrtSynchronizeStream(stream);
}

static int synchronize_timeout(aclrtStream stream)
{
    return aclrtSynchronizeStreamWithTimeout(stream, 1000);
}

static int query(aclrtStream stream)
{
    aclrtStreamStatus status;
    return aclrtStreamQuery(stream, &status);
}

static int execute(aclrtStream stream)
{
    return aclmdlRIExecuteAsync(idle_graph, stream);
}

static int set_overflow_switch(aclrtStream stream)
{
    return aclrtSetStreamOverflowSwitch(stream, 1);
}

static int set_tag(aclrtStream stream)
{
    aclrtStreamAttrValue value = { .userCustomTag = 7 };
    return aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value);
}

static int set_overflow_attribute(aclrtStream stream)
{
    aclrtStreamAttrValue value = { .overflowSwitch = 1 };
    return aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK, &value);
}

static int get_overflow(aclrtStream stream)
{
    return aclrtGetOverflowStatus(rules.device, 64, stream);
}

static int reset_overflow(aclrtStream stream)
{
    return aclrtResetOverflowStatus(stream);
}

static int begin_again(aclrtStream stream)
{
    return aclmdlRICaptureBegin(stream, RELAXED);
}

static const struct stream_call {
    const char *name;
    int (*call)(aclrtStream stream);
    bool begins; // a capture, where it is allowed
} stream_calls[] = {
    { "aclrtSynchronizeStream", synchronize, false },
    { "aclrtSynchronizeStreamWithTimeout", synchronize_timeout, false },
    { "aclrtStreamQuery", query, false },
    { "aclmdlRIExecuteAsync", execute, false },
    { "aclrtSetStreamOverflowSwitch", set_overflow_switch, false },
    { "aclrtSetStreamAttribute", set_tag, false },
    { "aclrtSetStreamAttribute", set_overflow_attribute, false },
    { "aclrtGetOverflowStatus", get_overflow, false },
    { "aclrtResetOverflowStatus", reset_overflow, false },
    { "aclmdlRICaptureBegin", begin_again, true },
};
#define STREAM_CALLS (sizeof(stream_calls) / sizeof(stream_calls[0]))

static void expect(const struct stream_call *call, aclrtStream stream, int expected,
        const char *where, const char *name)
{
    aclGetRecentErrMsg();
    const int answer = call->call(stream);
    const char *text = aclGetRecentErrMsg();
    cr_assert(eq(int, answer, expected), "%s on %s: %s", call->name, where,
            text == NULL ? "-" : text);
    if (expected != 0) {
        cr_assert(ne(ptr, strstr(text, call->name), NULL), "%s: %s", where, text);
        cr_assert(name == NULL || strstr(text, name) != NULL, "%s: %s", where, text);
    } else if (call->begins) {
        aclmdlRI graph = NULL;
        ok(aclmdlRICaptureEnd(stream, &graph));
        ok(aclmdlRIDestroy(graph));
    }
}

static void stream_calls_here(void *unused)
{
    (void)unused;
    for (size_t i = 0; i < STREAM_CALLS; i++) {
        const struct stream_call *call = &stream_calls[i];
        expect(call, rules.a, ACL_ERROR_RT_STREAM_CAPTURED, "the origin", stream_name(rules.a));
        expect(call, rules.b, ACL_ERROR_RT_STREAM_CAPTURED, "a joined one", stream_name(rules.b));
        expect(call, rules.c, 0, "another one", NULL);
        expect(call, NULL, call->begins ? ACL_ERROR_INVALID_PARAM : 0, "the default one", NULL);
    }
}

/* What goes on being allowed on a capturing stream: host-only questions. */
static void questions_here(void *unused)
{
    aclrtStream streams[] = { rules.a, rules.b };
    (void)unused;
    for (int s = 0; s < 2; s++) {
        int32_t id = -1;
        uint32_t value = 9;
        aclrtStreamAttrValue attr = { .cacheOpInfoSwitch = 9 };
        aclrtPtrAttributes where;
        ok(aclrtStreamGetId(streams[s], &id));
        cr_assert(ge(int, id, 0));
        ok(aclrtStreamGetPriority(streams[s], &value));
        ok(aclrtStreamGetFlags(streams[s], &value));
        ok(aclrtGetStreamOverflowSwitch(streams[s], &value));
        ok(aclrtGetStreamAttribute(streams[s], ACL_STREAM_ATTR_CACHE_OP_INFO, &attr));
        ok(aclrtPointerGetAttributes(rules.device, &where));
        cr_assert(eq(int, (int)where.location.type, (int)ACL_MEM_LOCATION_TYPE_DEVICE));
        ok(aclrtPointerGetAttributes(rules.pinned, &where));
        cr_assert(eq(int, (int)where.location.type, (int)ACL_MEM_LOCATION_TYPE_HOST));
        cr_assert(
                eq(int, (int)capture_status(streams[s]), (int)ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE));
    }
}

static void device_here(void *unused)
{
    (void)unused;
    refused(aclrtSynchronizeDevice(), ACL_ERROR_RT_STREAM_CAPTURED, "stream");
    refused(aclrtSynchronizeDeviceWithTimeout(1000), ACL_ERROR_RT_STREAM_CAPTURED, "stream");
}

static void destroy_here(void *unused)
{
    aclrtStream streams[] = { rules.a, rules.b };
    (void)unused;
    for (int s = 0; s < 2; s++) {
        const char *name = stream_name(streams[s]);
        refused(aclrtDestroyStream(streams[s]), ACL_ERROR_RT_STREAM_CAPTURED, name);
        refused(aclrtDestroyStreamForce(streams[s]), ACL_ERROR_RT_STREAM_CAPTURED, name);
    }
    aclrtStream other = NULL;
    ok(aclrtCreateStream(&other));
    ok(aclrtDestroyStream(other));
    ok(aclrtCreateStream(&other));
    ok(aclrtDestroyStreamForce(other));
}

/* Calls that need more than a stream: they are refused on a capturing one, and tested where they
 * work elsewhere. */
struct things {
    aclmdlRI built;
    aclrtLabel label;
    aclrtTaskGrp group;
};
static struct things things;

static void build_and_update_here(void *unused)
{
    aclrtStream streams[] = { rules.a, rules.b };
    const int captured = ACL_ERROR_RT_STREAM_CAPTURED;
    (void)unused;
    for (int s = 0; s < 2; s++) {
        const char *name = stream_name(streams[s]);
        refused(aclmdlRIBindStream(things.built, streams[s], ACL_MODEL_STREAM_FLAG_HEAD), captured,
                name);
        refused(aclmdlRIUnbindStream(things.built, streams[s]), captured, name);
        refused(aclmdlRIEndTask(things.built, streams[s]), captured, name);
        refused(aclrtSetLabel(things.label, streams[s]), captured, name);
        refused(aclmdlRICaptureTaskUpdateBegin(streams[s], things.group), captured, name);
    }
}

static void make_things(void)
{
    aclmdlRI *graph = &idle_graph;
    ok(aclmdlRIBuildBegin(&things.built, 0));
    ok(aclrtCreateLabel(&things.label));
    begin(rules.a, RELAXED);
    ok(aclmdlRICaptureTaskGrpBegin(rules.a));
    ok(HcclAllReduce(rules.device, rules.other, 1, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM,
            rules_comm(), rules.a));
    ok(aclmdlRICaptureTaskGrpEnd(rules.a, &things.group));
    put_call(rules.a);
    *graph = end(rules.a);
}

static void unmake_things(void)
{
    ok(aclmdlRIDestroy(idle_graph));
    ok(aclrtDestroyLabel(things.label));
    ok(aclmdlRIDestroy(things.built));
}

static void graph_here(void *graph)
{
    const char *name = graph_name(graph);
    refused(aclmdlRIExecuteAsync(graph, rules.c), ACL_ERROR_RT_MODEL_CAPTURED, name);
    refused(aclmdlRIExecuteAsync(graph, NULL), ACL_ERROR_RT_MODEL_CAPTURED, name);
    refused(aclmdlRIExecute(graph, 1000), ACL_ERROR_RT_MODEL_CAPTURED, name);
    refused(aclmdlRIDestroy(graph), ACL_ERROR_RT_MODEL_CAPTURED, name);
}

static aclrtContext own_context, other_context;

/* Streams are of their context; only what is of the other context too is another matter. */
static void other_context_here(void *unused)
{
    (void)unused;
    ok(aclrtSetCurrentContext(other_context));
    for (size_t i = 0; i < STREAM_CALLS; i++) {
        expect(&stream_calls[i], rules.a, ACL_ERROR_RT_STREAM_CONTEXT, "another context", NULL);
    }
    ok(aclrtSynchronizeDevice()); // no stream of this context captures
    ok(aclrtSetCurrentContext(own_context));
}

Test(rules_calls, what_waits_asks_or_executes_is_refused_on_every_captured_stream)
{
    ok(aclrtGetCurrentContext(&own_context));
    ok(aclrtCreateContext(&other_context, 0));
    ok(aclrtSetCurrentContext(own_context));
    make_things();
    for (int mode = GLOBAL; mode <= (int)RELAXED; mode++) {
        begin(rules.a, (aclmdlRICaptureMode)mode);
        join(rules.b, rules.a);
        void (*const parts[])(void *) = { stream_calls_here, questions_here, device_here,
            destroy_here, build_and_update_here, other_context_here };
        for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
            parts[p](NULL);
            in_thread(parts[p], NULL);
        }
        graph_here(capture_graph(rules.a));
        in_thread(graph_here, capture_graph(rules.a));
        put_call(rules.b);
        join_back(rules.b, rules.a);
        aclmdlRI graph = end(rules.a); // none of it has harmed the capture
        ok(aclrtSynchronizeStream(rules.c));
        run_calls(graph, rules.c, 1);
        ok(aclmdlRIDestroy(graph));
    }
    unmake_things();
    ok(aclrtDestroyContext(other_context));
    ok(aclrtSetCurrentContext(own_context));
    assert_usable(NULL);
}

Test(rules_calls, a_context_does_not_end_while_it_captures)
{
    aclrtContext context = NULL;
    aclrtStream stream = NULL;
    ok(aclrtGetCurrentContext(&own_context));
    ok(aclrtCreateContext(&context, 0));
    ok(aclrtCreateStream(&stream));
    begin(stream, GLOBAL);
    const char *name = stream_name(stream);
    refused(aclrtDestroyContext(context), ACL_ERROR_RT_STREAM_CAPTURED, name);
    aclmdlRI graph = end(stream);
    ok(aclmdlRIDestroy(graph));
    ok(aclrtDestroyContext(context));
    ok(aclrtSetCurrentContext(own_context));
    assert_usable(NULL);
}

// ---- calls about an event ----

static void event_here(void *event)
{
    aclrtEventStatus old_status;
    aclrtEventRecordedStatus status;
    aclrtEventWaitStatus waits;
    aclrtEvent fresh = ex_event();
    uint64_t stamp;
    float ms;
    const char *name = event_name(event);
    const int captured = ACL_ERROR_RT_EVENT_CAPTURED;
    refused(aclrtSynchronizeEvent(event), captured, name);
    refused(aclrtSynchronizeEventWithTimeout(event, 1000), captured, name);
    refused(aclrtQueryEvent(event, &old_status), captured, name);
    refused(aclrtQueryEventStatus(event, &status), captured, name);
    refused(aclrtQueryEventWaitStatus(event, &waits), captured, name);
    refused(aclrtEventElapsedTime(&ms, event, fresh), captured, name);
    refused(aclrtEventElapsedTime(&ms, fresh, event), captured, name);
    refused(aclrtEventGetTimestamp(event, &stamp), captured, name);
    ok(aclrtDestroyEvent(fresh));
}

static void event_in_other_context(void *event)
{
    ok(aclrtSetCurrentContext(other_context));
    event_here(event);
    ok(aclrtSetCurrentContext(own_context));
}

Test(rules_calls, a_captured_event_answers_no_questions)
{
    const uint32_t flags[] = { ACL_EVENT_SYNC, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE,
        ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS, 0x4 };
    ok(aclrtGetCurrentContext(&own_context));
    ok(aclrtCreateContext(&other_context, 0));
    ok(aclrtSetCurrentContext(own_context));
    for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++) {
        aclrtEvent event = NULL;
        ok(aclrtCreateEventExWithFlag(&event, flags[f]));
        // An eager record before the capture is untouched by it.
        ok(aclrtRecordEvent(event, rules.c));
        ok(aclrtSynchronizeEvent(event));
        begin(rules.a, GLOBAL);
        ok(aclrtRecordEvent(event, rules.a));
        event_here(event);
        in_thread(event_here, event);
        event_in_other_context(event);
        ok(aclrtStreamWaitEvent(rules.b, event));
        put_call(rules.b);
        join_back(rules.b, rules.a);
        aclmdlRI graph = end(rules.a);
        aclrtEventRecordedStatus status;
        ok(aclrtQueryEventStatus(event, &status));
        cr_assert(eq(int, (int)status, (int)ACL_EVENT_RECORDED_STATUS_COMPLETE));
        ok(aclrtSynchronizeEvent(event));
        run_calls(graph, rules.c, 1);
        ok(aclmdlRIDestroy(graph));
        assert_usable(event);
        ok(aclrtDestroyEvent(event));
    }
    ok(aclrtDestroyContext(other_context));
    ok(aclrtSetCurrentContext(own_context));
}

/* Record, wait and reset of a captured event on the default stream: NULL and by handle. */
Test(rules_calls, the_default_stream_takes_no_captured_event)
{
    aclrtStream by_handle = NULL;
    ok(aclrtCtxGetCurrentDefaultStream(&by_handle));
    for (int i = 0; i < 6; i++) {
        const aclrtStream stream = i % 2 == 0 ? NULL : by_handle;
        aclrtEvent event = ex_event();
        begin(rules.a, GLOBAL);
        ok(aclrtRecordEvent(event, rules.a));
        const char *names[] = { event_name(event), stream_name(stream), stream_name(rules.a) };
        const int implicit = ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT;
        if (i / 2 == 0) {
            refused(aclrtRecordEvent(event, stream), implicit, names[0], names[1], names[2]);
        } else if (i / 2 == 1) {
            refused(aclrtStreamWaitEvent(stream, event), implicit, names[0], names[1], names[2]);
        } else {
            refused(aclrtResetEvent(event, stream), implicit, names[0], names[1], names[2]);
        }
        cr_assert(eq(
                int, (int)capture_status(rules.a), (int)ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED));
        refused(aclrtLaunchHostFunc(rules.a, count_call, NULL),
                ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, names[0], names[2]);
        end_refused(rules.a, ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
        put_call(stream);
        ok(aclrtSynchronizeStream(stream));
        assert_usable(event);
        ok(aclrtDestroyEvent(event));
    }
}

Test(rules_calls, the_default_stream_is_not_captured)
{
    aclrtStream by_handle = NULL;
    ok(aclrtCtxGetCurrentDefaultStream(&by_handle));
    refused(aclmdlRICaptureBegin(NULL, GLOBAL), ACL_ERROR_INVALID_PARAM, "stream");
    refused(aclmdlRICaptureBegin(by_handle, GLOBAL), ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
            stream_name(by_handle));
    cr_assert(eq(int, (int)capture_status(by_handle), (int)ACL_MODEL_RI_CAPTURE_STATUS_NONE));
    assert_usable(NULL);
}

// ---- events of kinds that are not captured ----

static void kind_is_refused(aclrtEvent event)
{
    const char *names[] = { event_name(event), stream_name(rules.a), stream_name(rules.b) };
    const int unsupported = ACL_ERROR_RT_FEATURE_NOT_SUPPORT;
    begin(rules.a, GLOBAL);
    join(rules.b, rules.a);
    refused(aclrtRecordEvent(event, rules.a), unsupported, names[0], names[1],
            "takes an event of aclrtCreateEventExWithFlag");
    refused(aclrtRecordEvent(event, rules.b), unsupported, names[0], names[2]);
    refused(aclrtStreamWaitEvent(rules.a, event), unsupported, names[0]);
    refused(aclrtStreamWaitEvent(rules.b, event), unsupported, names[0]);
    refused(aclrtResetEvent(event, rules.a), unsupported, names[0]);
    put_call(rules.b);
    join_back(rules.b, rules.a);
    aclmdlRI graph = end(rules.a); // refused, and the capture goes on
    run_calls(graph, rules.c, 1);
    ok(aclmdlRIDestroy(graph));
}

Test(rules_calls, events_of_the_older_kinds_are_not_captured)
{
    aclrtEvent event = NULL;
    ok(aclrtCreateEvent(&event));
    kind_is_refused(event);
    ok(aclrtRecordEvent(event, rules.c)); // none of it counted as its record
    ok(aclrtSynchronizeEvent(event));
    kind_is_refused(event);
    ok(aclrtDestroyEvent(event));
    const uint32_t flags[] = { ACL_EVENT_SYNC, ACL_EVENT_TIME_LINE, 0x4,
        ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE };
    for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++) {
        ok(aclrtCreateEventWithFlag(&event, flags[f]));
        kind_is_refused(event);
        ok(aclrtDestroyEvent(event));
    }
    assert_usable(NULL);
}

Test(rules_calls, events_for_other_processes_are_not_captured)
{
    aclrtEvent event = NULL;
    ok(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    ok(aclrtRecordEvent(event, rules.c));
    begin(rules.a, GLOBAL);
    const char *name = stream_name(rules.a); // such events have no number
    refused(aclrtRecordEvent(event, rules.a), ACL_ERROR_RT_FEATURE_NOT_SUPPORT, name);
    refused(aclrtStreamWaitEvent(rules.a, event), ACL_ERROR_RT_FEATURE_NOT_SUPPORT, name);
    ok(aclrtStreamWaitEvent(rules.b, event)); // b captures nothing
    put_call(rules.a);
    aclmdlRI graph = end(rules.a);
    run_calls(graph, rules.b, 1);
    ok(aclmdlRIDestroy(graph));
    ok(aclrtSynchronizeEvent(event));
    ok(aclrtDestroyEvent(event));
    assert_usable(NULL);
}

Test(rules_calls, an_ex_event_that_orders_nothing_leaves_no_trace)
{
    aclrtEvent event = NULL;
    uint32_t tasks = 0, streams = 1;
    aclrtStream captured = NULL;
    ok(aclrtCreateEventExWithFlag(&event, ACL_EVENT_TIME_LINE));
    begin(rules.a, GLOBAL);
    ok(aclrtRecordEvent(event, rules.a));
    aclmdlRI graph = end(rules.a);
    ok(aclmdlRIGetStreams(graph, &captured, &streams));
    ok(aclmdlRIGetTasksByStream(captured, NULL, &tasks));
    cr_assert(eq(u32, tasks, 0));
    refused(aclrtResetEvent(event, rules.a), ACL_ERROR_RT_FEATURE_NOT_SUPPORT, event_name(event));
    ok(aclmdlRIDestroy(graph));
    ok(aclrtDestroyEvent(event));
}

Test(rules_calls, streams_of_other_kinds_are_not_captured)
{
    const uint32_t never[] = { ACL_STREAM_PERSISTENT, ACL_STREAM_CPU_SCHEDULE,
        ACL_STREAM_DEVICE_USE_ONLY };
    const uint32_t always[] = { ACL_STREAM_FAST_LAUNCH, ACL_STREAM_FAST_SYNC, ACL_STREAM_HUGE };
    aclrtStream stream = NULL;
    for (int i = 0; i < 3; i++) {
        ok(aclrtCreateStreamWithConfig(&stream, 0, never[i]));
        refused(aclmdlRICaptureBegin(stream, GLOBAL), ACL_ERROR_RT_INTERNAL_ERROR,
                stream_name(stream));
        ok(aclrtDestroyStream(stream));
        ok(aclrtCreateStreamWithConfig(&stream, 0, always[i]));
        begin(stream, GLOBAL);
        put_call(stream);
        aclmdlRI graph = end(stream);
        run_calls(graph, stream, 1);
        ok(aclmdlRIDestroy(graph));
        ok(aclrtDestroyStream(stream));
    }
}
