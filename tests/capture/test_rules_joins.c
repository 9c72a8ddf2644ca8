// Fork and join, and the order in which CaptureEnd looks: which capture has side streams that were
// not joined and what is said about it, who may end a capture, and what comes first when several
// things are wrong.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "support/rules.h"

TestSuite(rules_joins, .init = rules_setup, .fini = rules_teardown, .timeout = 60);

#define UNJOINED ACL_ERROR_RT_STREAM_UNJOINED

/* End of the capture on `origin` is 107025, names these, and gives the graph up. */
static void unjoined(aclrtStream origin, aclrtStream loose, const char *fork, const char *why)
{
    aclmdlRI graph = &rules;
    char handle[32], advice[64];
    snprintf(handle, sizeof(handle), "%p", loose);
    snprintf(advice, sizeof(advice), "wait for it on %s", stream_name(origin));
    refused(aclmdlRICaptureEnd(origin, &graph), UNJOINED, stream_name(loose), stream_name(origin),
            fork, handle, why, advice);
    cr_assert(eq(ptr, graph, NULL));
}

static aclrtEvent fork_to(aclrtStream side, aclrtStream from)
{
    aclrtEvent fork = ex_event();
    ok(aclrtRecordEvent(fork, from));
    ok(aclrtStreamWaitEvent(side, fork));
    return fork;
}

// ---- each reason of 107025 ----

enum loose {
    NO_RECORD,        // the side stream's last task is a host function
    NO_TASK,          // it has only waited
    NEVER_WAITED,     // it ends with a record that nobody waits for
    WAITED_TOO_EARLY, // the wait is for an earlier record of the same event
    TASK_AFTER,       // it was joined and then worked on
    EXTERNAL_LAST,    // its last record is an external one
    NO_PATH,          // its record leads to a stream that is loose itself
    WAITED_BY_ITSELF, // only it itself waits for its record
    LOOSE,
};

static const char *const reasons[LOOSE] = {
    [NO_RECORD] = "not an event record",
    [NO_TASK] = "not an event record",
    [NEVER_WAITED] = "nobody waits",
    [WAITED_TOO_EARLY] = "nobody waits",
    [TASK_AFTER] = "not an event record",
    [EXTERNAL_LAST] = "external event",
    [NO_PATH] = "do not lead to the origin",
    [WAITED_BY_ITSELF] = "not an event record",
};

static void make_loose(enum loose how, aclrtEvent event, aclrtEvent external)
{
    if (how != NO_TASK) {
        put_call(rules.b);
    }
    switch (how) {
    case NO_RECORD:
    case NO_TASK:
    case LOOSE:
        break;
    case NEVER_WAITED:
        ok(aclrtRecordEvent(event, rules.b));
        break;
    case WAITED_TOO_EARLY:
        ok(aclrtRecordEvent(event, rules.b));
        ok(aclrtStreamWaitEvent(rules.a, event));
        ok(aclrtRecordEvent(event, rules.b));
        break;
    case TASK_AFTER:
        ok(aclrtRecordEvent(event, rules.b));
        ok(aclrtStreamWaitEvent(rules.a, event));
        put_call(rules.b);
        break;
    case EXTERNAL_LAST:
        ok(aclrtRecordEvent(event, rules.b));
        ok(aclrtStreamWaitEvent(rules.a, event));
        ok(aclrtRecordEventWithFlag(external, rules.b, ACL_EVENT_RECORD_EXTERNAL));
        break;
    case NO_PATH:
        ok(aclrtRecordEvent(event, rules.b));
        ok(aclrtStreamWaitEvent(rules.c, event)); // joins, and is loose itself
        break;
    case WAITED_BY_ITSELF:
        ok(aclrtRecordEvent(event, rules.b));
        ok(aclrtStreamWaitEvent(rules.b, event));
        break;
    }
}

Test(rules_joins, a_loose_side_stream_is_named_with_the_reason)
{
    rules_comm();
    for (int how = 0; how < LOOSE; how++) {
        for (int mode = GLOBAL; mode <= (int)RELAXED; mode++) {
            aclrtEvent event = ex_event(), external = ex_event();
            begin(rules.a, (aclmdlRICaptureMode)mode);
            put_call(rules.a);
            aclrtEvent fork = fork_to(rules.b, rules.a);
            make_loose((enum loose)how, event, external);
            unjoined(rules.a, rules.b, event_name(fork), reasons[how]);
            assert_usable(event);
            ok(aclrtDestroyEvent(fork));
            ok(aclrtDestroyEvent(event));
            ok(aclrtDestroyEvent(external));
        }
    }
}

/* The stream that is named is the loose one, and not one that was joined. */
Test(rules_joins, of_several_side_streams_the_loose_one_is_named)
{
    aclrtStream side[] = { rules.b, rules.c };
    for (int loose = 0; loose < 2; loose++) {
        aclrtEvent fork[2];
        begin(rules.a, GLOBAL);
        for (int s = 0; s < 2; s++) {
            fork[s] = fork_to(side[s], rules.a);
            put_call(side[s]);
        }
        join_back(side[1 - loose], rules.a);
        unjoined(rules.a, side[loose], event_name(fork[loose]), "not an event record");
        assert_usable(fork[loose]);
        ok(aclrtDestroyEvent(fork[0]));
        ok(aclrtDestroyEvent(fork[1]));
    }
}

// ---- what is joined ----

/* Through another side stream, in a chain, repeatedly, and with one event for everything. */
Test(rules_joins, a_path_to_the_origin_is_enough)
{
    aclrtEvent event = ex_event();
    begin(rules.a, GLOBAL);
    put_call(rules.a);
    for (int round = 0; round < 3; round++) {
        ok(aclrtRecordEvent(event, rules.a));
        ok(aclrtStreamWaitEvent(rules.b, event));
        put_call(rules.b);
        ok(aclrtRecordEvent(event, rules.b)); // binds later waits to this record
        ok(aclrtStreamWaitEvent(rules.c, event));
        put_call(rules.c);
        ok(aclrtRecordEvent(event, rules.c));
        ok(aclrtStreamWaitEvent(rules.a, event));
        put_call(rules.a);
    }
    // b's last record was waited for by c alone, c's by the origin.
    aclmdlRI graph = end(rules.a);
    run_calls(graph, rules.c, 10);
    run_calls(graph, rules.a, 10);
    ok(aclmdlRIDestroy(graph));
    assert_usable(event);
    ok(aclrtDestroyEvent(event));
}

/* Order in the replay: each stage sees what the one before has stored. */
struct stage {
    int expected; // of the word before
    uint32_t *word;
    bool wrong;
};

static void run_stage(void *arg)
{
    struct stage *stage = arg;
    stage->wrong |= *stage->word % 4 != (uint32_t)stage->expected;
    ++*stage->word;
}

Test(rules_joins, edges_order_the_replay)
{
    uint32_t word = 0;
    struct stage stages[4];
    aclrtStream order[] = { rules.a, rules.b, rules.c, rules.a };
    aclrtEvent event = ex_event();
    begin(rules.a, GLOBAL);
    for (int s = 0; s < 4; s++) {
        stages[s] = (struct stage){ .expected = s, .word = &word };
        if (s > 0) {
            ok(aclrtStreamWaitEvent(order[s], event));
        }
        ok(aclrtLaunchHostFunc(order[s], run_stage, &stages[s]));
        ok(aclrtRecordEvent(event, order[s]));
    }
    aclmdlRI graph = end(rules.a);
    for (int round = 0; round < 500; round++) {
        ok(aclmdlRIExecuteAsync(graph, round % 2 == 0 ? rules.b : rules.c));
        ok(aclrtSynchronizeDevice());
    }
    cr_assert(eq(u32, word, 4 * 500));
    for (int s = 0; s < 4; s++) {
        cr_assert(not(stages[s].wrong), "stage %d", s);
    }
    ok(aclmdlRIDestroy(graph));
    ok(aclrtDestroyEvent(event));
}

Test(rules_joins, an_event_destroyed_inside_the_capture_still_orders)
{
    begin(rules.a, GLOBAL);
    for (int i = 0; i < 50; i++) { // every event is gone when the capture ends
        join(rules.b, rules.a);
        put_call(rules.b);
        join_back(rules.b, rules.a);
    }
    aclmdlRI graph = end(rules.a);
    run_calls(graph, rules.a, 50);
    ok(aclmdlRIDestroy(graph));
    assert_usable(NULL);
}

/* Work queued before the capture runs; work of a stream before it joined is not captured. */
Test(rules_joins, work_from_before_is_not_captured)
{
    put_call(rules.a);
    put_call(rules.b);
    begin(rules.a, GLOBAL);
    put_call(rules.b);
    join(rules.b, rules.a);
    put_call(rules.b);
    join_back(rules.b, rules.a);
    aclmdlRI graph = end(rules.a);
    ok(aclrtSynchronizeDevice());
    cr_assert(eq(int, atomic_load(&rules_calls), 3));
    run_calls(graph, rules.a, 1);
    ok(aclmdlRIDestroy(graph));
}

// ---- who may end it, and what comes first ----

struct ending {
    aclrtStream stream;
    int expected;
};

static void end_there(void *arg)
{
    const struct ending *ending = arg;
    aclmdlRI graph = NULL;
    if (ending->expected == 0) {
        graph = end(ending->stream);
        ok(aclmdlRIDestroy(graph));
    } else {
        end_refused(ending->stream, ending->expected);
    }
}

Test(rules_joins, nothing_changes_when_a_stream_cannot_end_it)
{
    aclmdlRI graph = &rules;
    refused(aclmdlRICaptureEnd(rules.a, NULL), ACL_ERROR_RT_PARAM_INVALID, stream_name(rules.a));
    refused(aclmdlRICaptureEnd(rules.a, &graph), ACL_ERROR_RT_STREAM_NOT_CAPTURED,
            stream_name(rules.a));
    cr_assert(eq(ptr, graph, &rules)); // untouched: there is nothing that could be lost
    begin(rules.a, GLOBAL);
    join(rules.b, rules.a);
    // A root needs somewhere to put the graph.
    refused(aclmdlRICaptureEnd(rules.a, NULL), ACL_ERROR_RT_PARAM_INVALID, stream_name(rules.a));
    refused(aclmdlRICaptureEnd(rules.b, NULL), ACL_ERROR_RT_PARAM_INVALID, stream_name(rules.b));
    refused(aclmdlRICaptureEnd(rules.b, &graph), ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED,
            stream_name(rules.b), stream_name(rules.a));
    refused(aclmdlRICaptureEnd(rules.c, &graph), ACL_ERROR_RT_STREAM_NOT_CAPTURED,
            stream_name(rules.c));
    refused(aclmdlRICaptureEnd(NULL, &graph), ACL_ERROR_RT_STREAM_NOT_CAPTURED, stream_name(NULL));
    put_call(rules.b);
    join_back(rules.b, rules.a);
    graph = end(rules.a);
    run_calls(graph, rules.a, 1);
    ok(aclmdlRIDestroy(graph));
    assert_usable(NULL);
}

Test(rules_joins, only_a_relaxed_capture_ends_in_another_thread)
{
    rules_comm();
    for (int mode = GLOBAL; mode <= (int)RELAXED; mode++) {
        for (int joined = 0; joined < 2; joined++) {
            begin(rules.a, (aclmdlRICaptureMode)mode);
            put_call(rules.a);
            if (joined != 0) {
                join(rules.b, rules.a);
                join_back(rules.b, rules.a);
            }
            struct ending ending = { rules.a,
                mode == (int)RELAXED ? 0 : ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD };
            in_thread(end_there, &ending);
            assert_usable(NULL);
        }
    }
}

static void begin_there(void *mode)
{
    begin(rules.a, *(aclmdlRICaptureMode *)mode);
}

/* The thread that began it has ended meanwhile: its captures count no more, and nothing is lost. */
Test(rules_joins, a_capture_outlives_the_thread_that_began_it)
{
    aclmdlRICaptureMode mode = RELAXED;
    in_thread(begin_there, &mode);
    put_call(rules.a);
    aclmdlRI graph = end(rules.a);
    run_calls(graph, rules.a, 1);
    ok(aclmdlRIDestroy(graph));
    mode = GLOBAL;
    in_thread(begin_there, &mode);
    end_refused(rules.a, ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD);
    assert_usable(NULL);
}

/* A capture with everything wrong at once, as far as `wrong` says. */
#define WRONG_THREAD 1u
#define INVALID 2u
#define SUB_OPEN 4u
#define LOOSE_SIDE 8u
#define ALL_WRONG 15u

static int first_of(unsigned wrong)
{
    return (wrong & WRONG_THREAD) != 0 ? ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD
           : (wrong & INVALID) != 0    ? ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED
           : (wrong & SUB_OPEN) != 0   ? 107045
           : (wrong & LOOSE_SIDE) != 0 ? UNJOINED
                                       : 0;
}

static void break_it(unsigned wrong)
{
    if ((wrong & SUB_OPEN) != 0) {
        aclmdlRI sub = NULL;
        aclmdlRICondTaskParams params = { .type = ACL_MODEL_RI_COND_TYPE_IF, .size = 1 };
        params.modelRIArray = &sub;
        ok(aclmdlRICondHandleCreate(
                capture_graph(rules.a), 0, (aclmdlRICondHandleFlag)0, &params.handle));
        ok(aclmdlRIAddCondTask(params, rules.a, 0));
        ok(aclmdlRICaptureToModelRIBegin(rules.c, sub, GLOBAL));
    }
    if ((wrong & LOOSE_SIDE) != 0) {
        join(rules.b, rules.a);
    }
    if ((wrong & INVALID) != 0) {
        aclrtEvent event = ex_event();
        ok(aclrtRecordEvent(event, rules.a));
        code(aclrtStreamWaitEvent(NULL, event), ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT);
        ok(aclrtDestroyEvent(event));
    }
}

Test(rules_joins, end_looks_in_the_documented_order)
{
    for (unsigned wrong = 0; wrong <= ALL_WRONG; wrong++) {
        struct ending ending = { rules.a, first_of(wrong) };
        uint32_t id = 0;
        begin(rules.a, GLOBAL);
        aclmdlRI graph = capture_graph(rules.a);
        ok(aclmdlRIDestroyRegisterCallback(graph, count_call, NULL));
        const int before = atomic_load(&rules_calls);
        break_it(wrong);
        if ((wrong & WRONG_THREAD) != 0) {
            in_thread(end_there, &ending);
        } else {
            end_there(&ending);
        }
        // The graph is gone: here, where the end failed, or by the test's destroy.
        cr_assert(eq(int, atomic_load(&rules_calls), before + 1), "wrong: 0x%x", wrong);
        code(aclmdlRIGetId(graph, &id), ACL_ERROR_RT_INVALID_HANDLE);
        assert_usable(NULL);
    }
}

Test(rules_joins, begin_on_a_stream_that_captures)
{
    begin(rules.a, GLOBAL);
    join(rules.b, rules.a);
    refused(aclmdlRICaptureBegin(rules.a, RELAXED), ACL_ERROR_RT_STREAM_CAPTURED,
            stream_name(rules.a));
    refused(aclmdlRICaptureBegin(rules.b, RELAXED), ACL_ERROR_RT_STREAM_CAPTURED,
            stream_name(rules.b));
    aclrtEvent event = ex_event();
    ok(aclrtRecordEvent(event, rules.a));
    code(aclrtRecordEvent(event, NULL), ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT);
    refused(aclmdlRICaptureBegin(rules.a, RELAXED), ACL_ERROR_RT_STREAM_CAPTURED,
            stream_name(rules.a)); // invalidated, and still not ended
    end_refused(rules.a, ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
    refused(aclmdlRICaptureBegin(rules.a, (aclmdlRICaptureMode)3), ACL_ERROR_RT_PARAM_INVALID,
            "mode 3");
    refused(aclmdlRICaptureGetInfo(rules.a, NULL, NULL), ACL_ERROR_INVALID_PARAM, "status");
    assert_usable(event);
    ok(aclrtDestroyEvent(event));
}
