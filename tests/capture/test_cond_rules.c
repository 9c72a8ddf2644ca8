// Conditional tasks: what is refused. Handles, tasks, captures of arms, arms used as roots, and
// what a failed arm does to the graph around it.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "support/conds.h"

TestSuite(cond_rules, .init = rules_setup, .fini = rules_teardown, .timeout = 60);

#define PARAM ACL_ERROR_RT_PARAM_INVALID
#define UNSUPPORTED ACL_ERROR_RT_FEATURE_NOT_SUPPORT
#define INVALIDATED ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED
#define SUB_OPEN 107045

static const uint32_t one = 1;

static void destroy(aclmdlRI graph)
{
    ok(aclmdlRIDestroy(graph));
    assert_usable(NULL);
}

/* A root on `a` with one IF of one arm. */
static void begin_with_arm(struct cond *cond)
{
    begin(rules.a, GLOBAL);
    cond_put(cond, rules.a, IF, 1, &one);
}

// ---- handles ----

Test(cond_rules, handles)
{
    aclmdlRICondHandle handle = NULL;
    uint64_t *word = NULL;
    const aclmdlRICondHandleFlag none = (aclmdlRICondHandleFlag)0;
    begin(rules.a, GLOBAL);
    aclmdlRI graph = capture_graph(rules.a);
    refused(aclmdlRICondHandleCreate(NULL, 0, none, &handle), ACL_ERROR_INVALID_PARAM, "modelRI");
    refused(aclmdlRICondHandleCreate(graph, 0, none, NULL), ACL_ERROR_INVALID_PARAM, "handle");
    refused(aclmdlRICondHandleCreate(graph, 0, (aclmdlRICondHandleFlag)2, &handle), PARAM, "flag");
    refused(aclmdlRICondHandleCreate(rules.a, 0, none, &handle), ACL_ERROR_RT_INVALID_HANDLE,
            "no graph");
    cr_assert(eq(ptr, handle, NULL));
    ok(aclmdlRICondHandleCreate(graph, 0, none, &handle));
    refused(aclmdlRICondHandleGetCondPtr(NULL, &word), ACL_ERROR_INVALID_PARAM, "handle");
    refused(aclmdlRICondHandleGetCondPtr(handle, NULL), ACL_ERROR_INVALID_PARAM, "ptr");
    refused(aclmdlRICondHandleGetCondPtr(graph, &word), ACL_ERROR_RT_INVALID_HANDLE,
            "no condition");
    ok(aclmdlRICondHandleGetCondPtr(handle, &word));
    end(rules.a);
    // The graph captures no more.
    aclmdlRICondHandle late = NULL;
    refused(aclmdlRICondHandleCreate(graph, 0, none, &late), PARAM, graph_name(graph));
    ok(aclmdlRIDestroy(graph));
    refused(aclmdlRICondHandleGetCondPtr(handle, &word), ACL_ERROR_RT_INVALID_HANDLE,
            "no condition"); // gone with its graph
    refused(aclmdlRICondHandleCreate(graph, 0, none, &late), ACL_ERROR_RT_INVALID_HANDLE,
            "no graph");
    assert_usable(NULL);
}

Test(cond_rules, a_condition_ends_with_its_context)
{
    aclrtContext context = NULL;
    aclrtStream stream = NULL;
    aclmdlRI graph = NULL;
    aclmdlRICondHandle handle = NULL;
    uint64_t *word = NULL;
    ok(aclrtCreateContext(&context, 0));
    ok(aclrtCreateStream(&stream));
    begin(stream, RELAXED);
    ok(aclmdlRICondHandleCreate(capture_graph(stream), 0, (aclmdlRICondHandleFlag)0, &handle));
    ok(aclmdlRICaptureEnd(stream, &graph));
    ok(aclmdlRICondHandleGetCondPtr(handle, &word));
    ok(aclrtDestroyContext(context));
    // Where the word was may be the memory of others now.
    refused(aclmdlRICondHandleGetCondPtr(handle, &word), ACL_ERROR_RT_MODEL_CONTEXT, "context");
    ok(aclmdlRIDestroy(graph));
}

Test(cond_rules, a_built_or_invalidated_graph_has_no_handles)
{
    aclmdlRICondHandle handle = NULL;
    aclmdlRI built = NULL;
    ok(aclmdlRIBuildBegin(&built, 0));
    refused(aclmdlRICondHandleCreate(built, 0, (aclmdlRICondHandleFlag)0, &handle), UNSUPPORTED,
            graph_name(built));
    ok(aclmdlRIDestroy(built));
    aclrtEvent event = ex_event();
    begin(rules.a, GLOBAL);
    ok(aclrtRecordEvent(event, rules.a));
    code(aclrtRecordEvent(event, NULL), ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT);
    refused(aclmdlRICondHandleCreate(capture_graph(rules.a), 0, (aclmdlRICondHandleFlag)0, &handle),
            PARAM, graph_name(capture_graph(rules.a)), event_name(event));
    end_refused(rules.a, INVALIDATED);
    assert_usable(event);
    ok(aclrtDestroyEvent(event));
}

// ---- tasks ----

Test(cond_rules, sizes_and_arguments)
{
    static struct cond cond;
    const struct {
        int type;
        uint32_t size;
    } bad[] = { { IF, 0 }, { IF, 3 }, { WHILE, 0 }, { WHILE, 2 }, { SWITCH, 0 }, { 3, 1 },
        { -1, 1 } };
    begin(rules.a, GLOBAL);
    cond_handle(&cond, rules.a, NULL);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        code(cond_add(&cond, rules.a, (aclmdlRICondTaskType)bad[i].type, bad[i].size), PARAM);
    }
    aclmdlRICondTaskParams params = { cond.handle, IF, 1, cond.arm };
    refused(aclmdlRIAddCondTask(params, rules.a, 1), PARAM, "flags");
    params.modelRIArray = NULL;
    refused(aclmdlRIAddCondTask(params, rules.a, 0), ACL_ERROR_INVALID_PARAM, "modelRIArray");
    params = (aclmdlRICondTaskParams){ NULL, IF, 1, cond.arm };
    refused(aclmdlRIAddCondTask(params, rules.a, 0), ACL_ERROR_INVALID_PARAM, "handle");
    params.handle = rules.a;
    refused(aclmdlRIAddCondTask(params, rules.a, 0), ACL_ERROR_RT_INVALID_HANDLE, "condition");
    params.handle = cond.handle;
    refused(aclmdlRIAddCondTask(params, rules.b, 0), ACL_ERROR_RT_STREAM_NOT_CAPTURED,
            stream_name(rules.b));
    refused(aclmdlRIAddCondTask(params, NULL, 0), ACL_ERROR_RT_STREAM_NOT_CAPTURED,
            stream_name(NULL));
    ok(cond_add(&cond, rules.a, IF, 1)); // none of those has used the handle
    refused(aclmdlRIAddCondTask(params, rules.a, 0), PARAM, graph_name(capture_graph(rules.a)));
    destroy(end(rules.a));
}

Test(cond_rules, a_handle_is_of_its_graph)
{
    static struct cond root, other, arm;
    begin(rules.a, GLOBAL);
    begin(rules.b, GLOBAL);
    cond_handle(&root, rules.a, NULL);
    cond_handle(&other, rules.b, NULL);
    aclmdlRICondTaskParams params = { root.handle, IF, 1, root.arm };
    refused(aclmdlRIAddCondTask(params, rules.b, 0), PARAM, stream_name(rules.b),
            graph_name(capture_graph(rules.a)), graph_name(capture_graph(rules.b)));
    // An arm is a graph of its own, too.
    cond_put(&arm, rules.a, IF, 1, NULL);
    arm_begin(&arm, 0, rules.c);
    refused(aclmdlRIAddCondTask(params, rules.c, 0), PARAM, stream_name(rules.c),
            graph_name(capture_graph(rules.a)));
    arm_end(rules.c);
    ok(aclmdlRIDestroy(end(rules.b)));
    destroy(end(rules.a));
}

// ---- captures of arms ----

Test(cond_rules, only_arms_are_captured_into)
{
    static struct cond cond;
    begin_with_arm(&cond);
    aclmdlRI root = capture_graph(rules.a);
    begin(rules.c, RELAXED);
    aclmdlRI ended = end(rules.c);
    const char *name = stream_name(rules.b);
    refused(aclmdlRICaptureToModelRIBegin(rules.b, root, GLOBAL), PARAM, graph_name(root));
    refused(aclmdlRICaptureToModelRIBegin(rules.b, ended, GLOBAL), PARAM, graph_name(ended));
    refused(aclmdlRICaptureToModelRIBegin(rules.b, rules.b, GLOBAL), PARAM, "no graph");
    refused(aclmdlRICaptureToModelRIBegin(rules.b, NULL, GLOBAL), ACL_ERROR_INVALID_PARAM,
            "modelRI");
    refused(aclmdlRICaptureToModelRIBegin(NULL, cond.arm[0], GLOBAL), ACL_ERROR_INVALID_PARAM,
            "stream");
    refused(aclmdlRICaptureToModelRIBegin(rules.b, cond.arm[0], (aclmdlRICaptureMode)3), PARAM,
            "mode 3");
    refused(aclmdlRICaptureToModelRIBegin(rules.a, cond.arm[0], GLOBAL),
            ACL_ERROR_RT_STREAM_CAPTURED, stream_name(rules.a));
    aclrtStream by_default = NULL;
    ok(aclrtCtxGetCurrentDefaultStream(&by_default));
    refused(aclmdlRICaptureToModelRIBegin(by_default, cond.arm[0], GLOBAL), UNSUPPORTED,
            stream_name(by_default));
    // It begins, and cannot begin again: not now, and not later.
    arm_begin(&cond, 0, rules.b);
    cr_assert(eq(ptr, capture_graph(rules.b), cond.arm[0]));
    refused(aclmdlRICaptureToModelRIBegin(rules.c, cond.arm[0], GLOBAL),
            ACL_ERROR_RT_MODEL_CAPTURED, graph_name(cond.arm[0]));
    refused(aclmdlRICaptureToModelRIBegin(rules.b, cond.arm[0], GLOBAL),
            ACL_ERROR_RT_STREAM_CAPTURED, name);
    put_call(rules.b);
    aclmdlRI given = NULL;
    ok(aclmdlRICaptureEnd(rules.b, &given)); // the argument may also be there
    cr_assert(eq(ptr, given, cond.arm[0]));
    refused(aclmdlRICaptureToModelRIBegin(rules.b, cond.arm[0], GLOBAL),
            ACL_ERROR_RT_MODEL_CAPTURED, graph_name(cond.arm[0]));
    end(rules.a);
    refused(aclmdlRICaptureToModelRIBegin(rules.b, cond.arm[0], GLOBAL),
            ACL_ERROR_RT_MODEL_CAPTURED, graph_name(cond.arm[0]));
    run_calls(root, rules.b, 1);
    ok(aclmdlRIDestroy(root));
    refused(aclmdlRICaptureToModelRIBegin(rules.b, cond.arm[0], GLOBAL), PARAM, "no graph");
    destroy(ended);
}

/* An arm that was left empty is captured into as long as the root is, and no longer. */
Test(cond_rules, an_empty_arm_of_an_ended_graph_stays_empty)
{
    static struct cond cond;
    begin_with_arm(&cond);
    aclmdlRI root = end(rules.a);
    refused(aclmdlRICaptureToModelRIBegin(rules.b, cond.arm[0], GLOBAL), PARAM, graph_name(root));
    run_calls(root, rules.b, 0);
    destroy(root);
}

/* 107045, and the arm's capture is gone with the root's. */
Test(cond_rules, the_root_does_not_end_before_its_arms)
{
    static struct cond cond, inner;
    for (int depth = 1; depth <= 2; depth++) {
        begin_with_arm(&cond);
        aclmdlRI root = capture_graph(rules.a);
        arm_begin(&cond, 0, rules.b);
        if (depth == 2) {
            cond_put(&inner, rules.b, WHILE, 1, NULL);
            arm_begin(&inner, 0, rules.c);
            // An arm does not end before its own arms either; that fails it, and with it the root.
            refused(aclmdlRICaptureEnd(rules.b, NULL), SUB_OPEN, stream_name(rules.b),
                    stream_name(rules.c));
            cr_assert(eq(int, (int)capture_status(rules.c), (int)ACL_MODEL_RI_CAPTURE_STATUS_NONE));
            refused(aclmdlRICaptureEnd(rules.c, NULL), PARAM, stream_name(rules.c));
            end_refused(rules.a, INVALIDATED);
        } else {
            refused(aclmdlRICaptureEnd(rules.a, &root), SUB_OPEN, stream_name(rules.a),
                    stream_name(rules.b));
            cr_assert(eq(ptr, root, NULL));
            cr_assert(eq(int, (int)capture_status(rules.b), (int)ACL_MODEL_RI_CAPTURE_STATUS_NONE));
        }
        assert_usable(NULL);
    }
}

// ---- failed arms ----

enum failure {
    UNJOINED_SIDE,
    CROSSED_BORDER,
    DEFAULT_STREAM,
    WRONG_THREAD,
    FAILURES,
};

static void end_arm_there(void *unused)
{
    (void)unused;
    aclmdlRI graph = &rules;
    refused(aclmdlRICaptureEnd(rules.b, &graph), ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD,
            stream_name(rules.b));
    cr_assert(eq(ptr, graph, NULL));
}

static void fail_arm(enum failure how, aclrtEvent event)
{
    switch (how) {
    case UNJOINED_SIDE:
        ok(aclrtRecordEvent(event, rules.b));
        ok(aclrtStreamWaitEvent(rules.c, event));
        refused(aclmdlRICaptureEnd(rules.b, NULL), ACL_ERROR_RT_STREAM_UNJOINED,
                stream_name(rules.c), stream_name(rules.b), event_name(event));
        break;
    case CROSSED_BORDER: // an edge from the root into the arm
        ok(aclrtRecordEvent(event, rules.a));
        refused(aclrtStreamWaitEvent(rules.b, event), ACL_ERROR_STREAM_CAPTURE_CONFLICT,
                event_name(event), stream_name(rules.b), stream_name(rules.a));
        refused(aclmdlRICaptureEnd(rules.b, NULL), INVALIDATED, stream_name(rules.b),
                event_name(event));
        break;
    case DEFAULT_STREAM:
        ok(aclrtRecordEvent(event, rules.b));
        refused(aclrtStreamWaitEvent(NULL, event), ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT,
                event_name(event));
        refused(aclmdlRICaptureEnd(rules.b, NULL), INVALIDATED, stream_name(rules.b),
                event_name(event));
        break;
    case WRONG_THREAD:
        in_thread(end_arm_there, NULL);
        break;
    case FAILURES:
        break;
    }
}

/* The graph around a failed arm cannot be finished: only its end is left, and says why. */
Test(cond_rules, a_failed_arm_invalidates_the_root)
{
    rules_comm();
    for (int how = 0; how < FAILURES; how++) {
        static struct cond cond;
        aclrtEvent event = ex_event();
        begin(rules.a, GLOBAL);
        cond_put(&cond, rules.a, IF, 2, &one);
        ok(aclmdlRICaptureToModelRIBegin(rules.b, cond.arm[0], GLOBAL));
        put_call(rules.b);
        fail_arm((enum failure)how, event);
        cr_assert(eq(int, (int)capture_status(rules.b), (int)ACL_MODEL_RI_CAPTURE_STATUS_NONE));
        cr_assert(eq(int, (int)capture_status(rules.c), (int)ACL_MODEL_RI_CAPTURE_STATUS_NONE));
        cr_assert(eq(
                int, (int)capture_status(rules.a), (int)ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED));
        refused(aclrtLaunchHostFunc(rules.a, count_call, NULL), INVALIDATED, stream_name(rules.a),
                stream_name(rules.b));
        refused(aclmdlRICaptureToModelRIBegin(rules.b, cond.arm[1], GLOBAL), INVALIDATED,
                stream_name(rules.a));
        refused(aclmdlRICaptureToModelRIBegin(rules.b, cond.arm[0], GLOBAL),
                ACL_ERROR_RT_MODEL_CAPTURED, graph_name(cond.arm[0]));
        end_refused(rules.a, INVALIDATED);
        assert_usable(event);
        ok(aclrtDestroyEvent(event));
    }
}

/* A root that fails while an arm is captured takes the arm's streams out, too. */
Test(cond_rules, a_failed_root_ends_the_captures_of_its_arms)
{
    static struct cond cond;
    aclrtEvent event = ex_event();
    begin_with_arm(&cond);
    ok(aclmdlRICaptureToModelRIBegin(rules.b, cond.arm[0], GLOBAL));
    join(rules.c, rules.b);
    ok(aclrtRecordEvent(event, rules.a));
    code(aclrtStreamWaitEvent(NULL, event), ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT);
    put_call(rules.c); // the arm's own capture goes on
    end_refused(rules.a, INVALIDATED);
    cr_assert(eq(int, (int)capture_status(rules.b), (int)ACL_MODEL_RI_CAPTURE_STATUS_NONE));
    cr_assert(eq(int, (int)capture_status(rules.c), (int)ACL_MODEL_RI_CAPTURE_STATUS_NONE));
    assert_usable(event);
    ok(aclrtDestroyEvent(event));
}

/* Inside an arm the outside world is out of reach. */
Test(cond_rules, no_external_events_in_arms)
{
    static struct cond cond;
    aclrtEvent event = ex_event(), flag = NULL;
    ok(aclrtCreateEventWithFlag(&flag, ACL_EVENT_EXTERNAL));
    begin_with_arm(&cond);
    arm_begin(&cond, 0, rules.b);
    const char *name = stream_name(rules.b);
    refused(aclrtStreamWaitEventWithFlag(rules.b, event, 0, ACL_EVENT_WAIT_EXTERNAL), UNSUPPORTED,
            event_name(event), name);
    refused(aclrtRecordEventWithFlag(event, rules.b, ACL_EVENT_RECORD_EXTERNAL), UNSUPPORTED,
            event_name(event), name);
    refused(aclrtStreamWaitEvent(rules.b, flag), UNSUPPORTED, event_name(flag), name);
    refused(aclrtRecordEvent(flag, rules.b), UNSUPPORTED, event_name(flag), name);
    refused(aclrtResetEvent(flag, rules.b), UNSUPPORTED, event_name(flag), name);
    put_call(rules.b);
    arm_end(rules.b); // refused, and the arm is whole
    aclmdlRI graph = end(rules.a);
    run_calls(graph, rules.c, 1);
    ok(aclrtDestroyEvent(event));
    ok(aclrtDestroyEvent(flag));
    destroy(graph);
}

/* The mode of an arm's capture counts like any other. */
Test(cond_rules, the_mode_of_an_arm_restricts)
{
    static struct cond cond;
    begin(rules.a, RELAXED);
    cond_put(&cond, rules.a, IF, 1, &one);
    ok(aclrtMemset(rules.device, RULE_BYTES, 0, RULE_BYTES));
    ok(aclmdlRICaptureToModelRIBegin(rules.b, cond.arm[0], GLOBAL));
    refused(aclrtMemset(rules.device, RULE_BYTES, 1, RULE_BYTES),
            ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, "GLOBAL");
    arm_end(rules.b);
    ok(aclrtMemset(rules.device, RULE_BYTES, 0, RULE_BYTES));
    destroy(end(rules.a));
}

// ---- arms as roots ----

static void arm_is_no_root(aclmdlRI arm, aclmdlRI root)
{
    uint32_t count = 4, id = 0;
    aclrtStream streams[4];
    aclrtStream bound = NULL;
    const char *name = graph_name(arm);
    (void)root;
    ok(aclmdlRIGetId(arm, &id));
    refused(aclmdlRIExecuteAsync(arm, rules.c), UNSUPPORTED, name);
    refused(aclmdlRIExecute(arm, 1000), UNSUPPORTED, name);
    refused(aclmdlRIDestroy(arm), UNSUPPORTED, name);
    refused(aclmdlRIGetStreams(arm, streams, &count), UNSUPPORTED, name);
    refused(aclmdlRIUpdate(arm), UNSUPPORTED, name);
    refused(aclmdlRIAbort(arm), UNSUPPORTED, name);
    refused(aclmdlRIBuildEnd(arm, NULL), UNSUPPORTED, name);
    ok(aclrtCreateStreamWithConfig(&bound, 0, ACL_STREAM_PERSISTENT));
    refused(aclmdlRIBindStream(arm, bound, ACL_MODEL_STREAM_FLAG_HEAD), UNSUPPORTED, name);
    refused(aclmdlRIUnbindStream(arm, bound), UNSUPPORTED, name);
    refused(aclmdlRIEndTask(arm, bound), UNSUPPORTED, name);
    ok(aclrtDestroyStream(bound));
}

Test(cond_rules, an_arm_is_no_root)
{
    static struct cond cond;
    begin_with_arm(&cond);
    aclmdlRI root = capture_graph(rules.a);
    arm_is_no_root(cond.arm[0], root); // empty
    arm_begin(&cond, 0, rules.b);
    put_call(rules.b);
    arm_is_no_root(cond.arm[0], root); // while it is captured
    arm_end(rules.b);
    arm_is_no_root(cond.arm[0], root);
    end(rules.a);
    arm_is_no_root(cond.arm[0], root); // of a graph that is ready
    run_calls(root, rules.c, 1);
    ok(aclmdlRIDestroy(root));
    // Gone with the root: no handle of anything.
    code(aclmdlRIExecuteAsync(cond.arm[0], rules.c), ACL_ERROR_RT_INVALID_HANDLE);
    assert_usable(NULL);
}
