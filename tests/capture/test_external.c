// A graph and the outside world: events recorded and waited for with the external flags, bound when
// ExecuteAsync is called, and ACL_EVENT_EXTERNAL events, which hold a replay until they are
// recorded.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <unistd.h>

#include "support/gate.h"
#include "support/rules.h"

TestSuite(external, .init = rules_setup, .fini = rules_teardown, .timeout = 60);

#define UNSUPPORTED ACL_ERROR_RT_FEATURE_NOT_SUPPORT
#define PARAM ACL_ERROR_RT_PARAM_INVALID

static int wait_outside(aclrtStream stream, aclrtEvent event)
{
    return aclrtStreamWaitEventWithFlag(stream, event, 0, ACL_EVENT_WAIT_EXTERNAL);
}

static int record_outside(aclrtStream stream, aclrtEvent event)
{
    return aclrtRecordEventWithFlag(event, stream, ACL_EVENT_RECORD_EXTERNAL);
}

/* A graph of an external wait (or record) of `event` and a call after (before) it. */
static aclmdlRI waiting_graph(aclrtEvent event)
{
    begin(rules.a, GLOBAL);
    ok(wait_outside(rules.a, event));
    put_call(rules.a);
    return end(rules.a);
}

static aclmdlRI recording_graph(aclrtEvent event)
{
    begin(rules.a, GLOBAL);
    put_call(rules.a);
    ok(record_outside(rules.a, event));
    return end(rules.a);
}

static void rest(void)
{
    usleep(20 * 1000); // a replay that does not wait would have run by then
}

static aclrtStreamStatus status_of(aclrtStream stream)
{
    aclrtStreamStatus status;
    ok(aclrtStreamQuery(stream, &status));
    return status;
}

static void destroy(aclmdlRI graph, aclrtEvent event)
{
    ok(aclmdlRIDestroy(graph));
    assert_usable(NULL);
    ok(aclrtDestroyEvent(event));
}

// ---- external waits ----

Test(external, a_wait_is_for_the_record_before_execute)
{
    struct gate gate;
    gate_init(&gate);
    aclrtEvent event = ex_event();
    aclmdlRI graph = waiting_graph(event);
    // Nothing recorded yet: nothing to wait for.
    run_calls(graph, rules.a, 1);
    for (int round = 0; round < 20; round++) {
        const int before = atomic_load(&rules_calls);
        ok(gate_put(&gate, rules.c));
        ok(aclrtRecordEvent(event, rules.c));
        ok(aclmdlRIExecuteAsync(graph, rules.b));
        if (round < 3) {
            rest();
        }
        cr_assert(eq(int, atomic_load(&rules_calls), before));
        cr_assert(eq(int, (int)status_of(rules.b), (int)ACL_STREAM_STATUS_NOT_READY));
        gate_open(&gate);
        ok(aclrtSynchronizeStream(rules.b));
        cr_assert(eq(int, atomic_load(&rules_calls), before + 1));
    }
    ok(aclrtSynchronizeStream(rules.c));
    destroy(graph, event);
}

/* A record after ExecuteAsync is one for the next execution. */
Test(external, a_wait_is_not_for_a_later_record)
{
    struct gate before, after;
    gate_init(&before);
    gate_init(&after);
    aclrtEvent event = ex_event();
    aclmdlRI graph = waiting_graph(event);
    ok(gate_put(&before, rules.c));
    ok(aclrtRecordEvent(event, rules.c));
    ok(aclmdlRIExecuteAsync(graph, rules.b)); // waits for this record
    ok(gate_put(&after, rules.c));
    ok(aclrtRecordEvent(event, rules.c)); // and not for this one
    gate_open(&before);
    ok(aclrtSynchronizeStream(rules.b));
    cr_assert(eq(int, atomic_load(&rules_calls), 1));
    ok(aclmdlRIExecuteAsync(graph, rules.b)); // this one does
    rest();
    cr_assert(eq(int, atomic_load(&rules_calls), 1));
    gate_open(&after);
    ok(aclrtSynchronizeStream(rules.b));
    cr_assert(eq(int, atomic_load(&rules_calls), 2));
    ok(aclrtSynchronizeStream(rules.c));
    destroy(graph, event);
}

// ---- external records ----

Test(external, a_record_lets_a_stream_outside_go_on)
{
    struct gate gate;
    gate_init(&gate);
    aclrtEvent event = ex_event();
    begin(rules.a, GLOBAL);
    ok(gate_put(&gate, rules.a));
    put_call(rules.a);
    ok(record_outside(rules.a, event));
    aclmdlRI graph = end(rules.a);
    for (int round = 0; round < 20; round++) {
        aclrtEventRecordedStatus status;
        const int before = atomic_load(&rules_calls);
        ok(aclmdlRIExecuteAsync(graph, rules.b));
        ok(aclrtStreamWaitEvent(rules.c, event)); // the record of that execution
        put_call(rules.c);
        if (round < 3) {
            rest();
        }
        cr_assert(eq(int, atomic_load(&rules_calls), before));
        ok(aclrtQueryEventStatus(event, &status));
        cr_assert(eq(int, (int)status, (int)ACL_EVENT_RECORDED_STATUS_NOT_READY));
        gate_open(&gate);
        ok(aclrtSynchronizeEvent(event)); // the host may wait for it, too
        ok(aclrtSynchronizeStream(rules.c));
        cr_assert(eq(int, atomic_load(&rules_calls), before + 2));
    }
    ok(aclrtSynchronizeStream(rules.b));
    destroy(graph, event);
}

/* Graph to graph, executed in that order: the second sees what the first has done. */
Test(external, one_graph_records_what_another_waits_for)
{
    aclrtEvent event = ex_event();
    begin(rules.a, GLOBAL);
    ok(aclrtMemcpyAsync(rules.device, RULE_BYTES, rules.pinned, RULE_BYTES,
            ACL_MEMCPY_HOST_TO_DEVICE, rules.a));
    ok(record_outside(rules.a, event));
    aclmdlRI first = end(rules.a);
    begin(rules.a, GLOBAL);
    ok(wait_outside(rules.a, event));
    ok(aclrtMemcpyAsync(rules.other, RULE_BYTES, rules.device, RULE_BYTES,
            ACL_MEMCPY_DEVICE_TO_DEVICE, rules.a));
    aclmdlRI second = end(rules.a);
    struct gate gate;
    gate_init(&gate);
    for (uint32_t round = 1; round <= 1000; round++) {
        rules.pinned[RULE_WORDS - 1] = round;
        if (round % 100 == 1) { // held now and then, so that the order is put to the test
            ok(gate_put(&gate, rules.b));
        }
        ok(aclmdlRIExecuteAsync(first, rules.b));
        ok(aclmdlRIExecuteAsync(second, rules.c));
        if (round % 100 == 1) {
            cr_assert(eq(int, (int)status_of(rules.c), (int)ACL_STREAM_STATUS_NOT_READY));
            gate_open(&gate);
        }
        ok(aclrtSynchronizeStream(rules.c));
        cr_assert(eq(u32, rules.other[RULE_WORDS - 1], round));
        ok(aclrtSynchronizeStream(rules.b));
    }
    ok(aclmdlRIDestroy(first));
    destroy(second, event);
}

// ---- ACL_EVENT_EXTERNAL ----

static aclrtEvent flag_event(void)
{
    aclrtEvent event = NULL;
    ok(aclrtCreateEventWithFlag(&event, ACL_EVENT_EXTERNAL));
    return event;
}

/* Wait and reset in the graph: every replay is held until somebody records. */
Test(external, a_replay_is_held_until_the_event_is_recorded)
{
    aclrtEvent event = flag_event();
    begin(rules.a, GLOBAL);
    ok(aclrtStreamWaitEvent(rules.a, event));
    ok(aclrtResetEvent(event, rules.a));
    put_call(rules.a);
    aclmdlRI graph = end(rules.a);
    for (int round = 0; round < 1000; round++) {
        const int before = atomic_load(&rules_calls);
        ok(aclmdlRIExecuteAsync(graph, rules.b));
        if (round < 3) {
            rest();
        }
        cr_assert(eq(int, atomic_load(&rules_calls), before), "round %d", round);
        cr_assert(eq(int, (int)status_of(rules.b), (int)ACL_STREAM_STATUS_NOT_READY));
        ok(aclrtRecordEvent(event, rules.c));
        ok(aclrtSynchronizeStream(rules.b));
        cr_assert(eq(int, atomic_load(&rules_calls), before + 1), "round %d", round);
    }
    // Recorded first: the replay passes, and the one after it is held again.
    ok(aclrtRecordEvent(event, rules.c));
    ok(aclrtSynchronizeStream(rules.c));
    run_calls(graph, rules.b, 1);
    ok(aclmdlRIExecuteAsync(graph, rules.b));
    rest();
    cr_assert(eq(int, (int)status_of(rules.b), (int)ACL_STREAM_STATUS_NOT_READY));
    ok(aclrtRecordEvent(event, rules.c));
    ok(aclrtSynchronizeStream(rules.b));
    destroy(graph, event);
}

/* It never forms an edge: a stream that waits for it does not join, and it is recorded outside
 * while a capture that names it is open. */
Test(external, an_external_event_is_no_edge)
{
    aclrtEvent event = flag_event();
    begin(rules.a, GLOBAL);
    ok(aclrtStreamWaitEvent(rules.a, event));
    ok(aclrtRecordEvent(event, rules.b));
    ok(aclrtStreamWaitEvent(rules.b, event));
    ok(aclrtResetEvent(event, rules.b));
    ok(aclrtSynchronizeStream(rules.b));
    cr_assert(eq(int, (int)capture_status(rules.b), (int)ACL_MODEL_RI_CAPTURE_STATUS_NONE));
    ok(aclrtResetEvent(event, rules.a));
    put_call(rules.a);
    aclmdlRI graph = end(rules.a);
    refused(aclrtSynchronizeEvent(event), UNSUPPORTED, event_name(event));
    ok(aclmdlRIExecuteAsync(graph, rules.a));
    rest();
    cr_assert(eq(int, atomic_load(&rules_calls), 0));
    ok(aclrtRecordEvent(event, rules.c));
    ok(aclrtSynchronizeStream(rules.a));
    cr_assert(eq(int, atomic_load(&rules_calls), 1));
    destroy(graph, event);
}

// ---- the rules ----

Test(external, an_event_is_used_once_in_a_graph)
{
    for (int first = 0; first < 2; first++) {
        for (int second = 0; second < 2; second++) {
            aclrtEvent event = ex_event(), other = ex_event();
            begin(rules.a, GLOBAL);
            join(rules.b, rules.a);
            ok(first == 0 ? wait_outside(rules.a, event) : record_outside(rules.a, event));
            const char *name = event_name(event);
            if (second == 0) {
                refused(aclrtStreamWaitEventWithFlag(rules.b, event, 0, ACL_EVENT_WAIT_EXTERNAL),
                        PARAM, name, stream_name(rules.b));
            } else {
                refused(aclrtRecordEventWithFlag(event, rules.b, ACL_EVENT_RECORD_EXTERNAL), PARAM,
                        name, stream_name(rules.b));
            }
            ok(wait_outside(rules.b, other)); // other events may
            put_call(rules.b);
            join_back(rules.b, rules.a);
            aclmdlRI graph = end(rules.a); // refused, and the capture is whole
            run_calls(graph, rules.c, 1);
            begin(rules.a, GLOBAL); // and another graph may use the event again
            ok(first == 0 ? wait_outside(rules.a, event) : record_outside(rules.a, event));
            ok(aclmdlRIDestroy(end(rules.a)));
            ok(aclrtDestroyEvent(other));
            destroy(graph, event);
        }
    }
}

Test(external, the_flag_is_fixed_by_the_first_use)
{
    // External first, even where that fails because nothing captures.
    aclrtEvent event = ex_event();
    refused(aclrtRecordEventWithFlag(event, rules.a, ACL_EVENT_RECORD_EXTERNAL),
            ACL_ERROR_RT_STREAM_NOT_CAPTURED, event_name(event), stream_name(rules.a));
    refused(aclrtRecordEvent(event, rules.a), PARAM, event_name(event));
    refused(aclrtStreamWaitEventWithFlag(rules.a, event, 0, ACL_EVENT_WAIT_EXTERNAL),
            ACL_ERROR_RT_STREAM_NOT_CAPTURED, event_name(event), stream_name(rules.a));
    refused(aclrtStreamWaitEvent(rules.a, event), PARAM, event_name(event));
    refused(aclrtStreamWaitEventWithTimeout(rules.a, event, 1), PARAM, event_name(event));
    refused(aclrtStreamWaitEventWithFlag(rules.a, event, 0, ACL_EVENT_WAIT_DEFAULT), PARAM,
            event_name(event));
    ok(aclrtDestroyEvent(event));
    // Plain first.
    event = ex_event();
    ok(aclrtRecordEvent(event, rules.b));
    ok(aclrtStreamWaitEvent(rules.c, event));
    begin(rules.a, GLOBAL);
    refused(aclrtRecordEventWithFlag(event, rules.a, ACL_EVENT_RECORD_EXTERNAL), PARAM,
            event_name(event));
    refused(aclrtStreamWaitEventWithFlag(rules.a, event, 0, ACL_EVENT_WAIT_EXTERNAL), PARAM,
            event_name(event));
    put_call(rules.a);
    aclmdlRI graph = end(rules.a);
    run_calls(graph, rules.a, 1);
    destroy(graph, event);
}

Test(external, only_ex_events_with_sync_alone_have_external_flags)
{
    aclrtEvent events[5];
    ok(aclrtCreateEvent(&events[0]));
    ok(aclrtCreateEventWithFlag(&events[1], ACL_EVENT_SYNC));
    ok(aclrtCreateEventWithFlag(&events[2], ACL_EVENT_EXTERNAL));
    ok(aclrtCreateEventExWithFlag(&events[3], ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
    ok(aclrtCreateEventExWithFlag(&events[4], ACL_EVENT_TIME_LINE));
    begin(rules.a, GLOBAL);
    for (int e = 0; e < 5; e++) {
        refused(aclrtRecordEventWithFlag(events[e], rules.a, ACL_EVENT_RECORD_EXTERNAL),
                UNSUPPORTED, event_name(events[e]));
        refused(aclrtStreamWaitEventWithFlag(rules.a, events[e], 0, ACL_EVENT_WAIT_EXTERNAL),
                UNSUPPORTED, event_name(events[e]));
    }
    put_call(rules.a);
    aclmdlRI graph = end(rules.a);
    run_calls(graph, rules.a, 1);
    for (int e = 1; e < 5; e++) {
        ok(aclrtDestroyEvent(events[e]));
    }
    destroy(graph, events[0]);
}

Test(external, arguments_are_checked)
{
    aclrtEvent event = ex_event();
    begin(rules.a, GLOBAL);
    refused(aclrtRecordEventWithFlag(event, rules.a, 2), ACL_ERROR_INVALID_PARAM, "flag is 2");
    refused(aclrtStreamWaitEventWithFlag(rules.a, event, 0, 2), ACL_ERROR_INVALID_PARAM,
            "flag is 2");
    refused(aclrtStreamWaitEventWithFlag(rules.a, event, 3, ACL_EVENT_WAIT_EXTERNAL),
            ACL_ERROR_INVALID_PARAM, "timeout is 3");
    refused(aclrtRecordEventWithFlag(NULL, rules.a, ACL_EVENT_RECORD_EXTERNAL),
            ACL_ERROR_INVALID_PARAM, "event");
    ok(wait_outside(rules.a, event)); // none of those was a use
    aclmdlRI graph = end(rules.a);
    destroy(graph, event);
}

// ---- queued and failed replays ----

/* Executions queued behind one another each have their own record. */
Test(external, every_queued_execution_is_bound_by_itself)
{
    enum { COUNT = 50 };
    aclrtEvent event = ex_event();
    aclmdlRI graph = recording_graph(event);
    struct gate gate;
    gate_init(&gate);
    ok(gate_put(&gate, rules.b));
    for (int i = 0; i < COUNT; i++) {
        ok(aclmdlRIExecuteAsync(graph, rules.b));
        ok(aclrtStreamWaitEvent(rules.c, event));
        put_call(rules.c);
    }
    rest();
    cr_assert(eq(int, atomic_load(&rules_calls), 0));
    gate_open(&gate);
    ok(aclrtSynchronizeStream(rules.c));
    cr_assert(eq(int, atomic_load(&rules_calls), 2 * COUNT));
    destroy(graph, event);
}

/* A replay whose wait times out ends without its record task; who waits for that goes on. */
Test(external, a_failed_replay_still_reaches_its_records)
{
    struct gate gate;
    gate_init(&gate);
    aclrtEvent hold = flag_event(), event = ex_event();
    begin(rules.a, GLOBAL);
    ok(aclrtStreamWaitEventWithTimeout(rules.a, hold, 1));
    ok(record_outside(rules.a, event));
    aclmdlRI graph = end(rules.a);
    ok(aclmdlRIExecuteAsync(graph, rules.b));
    ok(aclrtStreamWaitEvent(rules.c, event));
    put_call(rules.c);
    ok(aclrtSynchronizeStream(rules.c));
    cr_assert(eq(int, atomic_load(&rules_calls), 1));
    ok(aclrtSynchronizeEvent(event));
    refused(aclrtSynchronizeStream(rules.b), ACL_ERROR_RT_WAIT_TIMEOUT, event_name(hold));
    // The next replay works.
    ok(aclrtRecordEvent(hold, rules.c));
    ok(aclmdlRIExecuteAsync(graph, rules.b));
    ok(aclrtSynchronizeStream(rules.b));
    ok(aclrtDestroyEvent(hold));
    destroy(graph, event);
}

/* Dropped with its stream: the same. */
Test(external, a_dropped_replay_still_reaches_its_records)
{
    aclrtStream stream = NULL;
    aclrtEvent hold = flag_event(), event = ex_event();
    begin(rules.a, GLOBAL);
    ok(aclrtStreamWaitEvent(rules.a, hold));
    ok(record_outside(rules.a, event));
    aclmdlRI graph = end(rules.a);
    ok(aclrtCreateStream(&stream));
    ok(aclmdlRIExecuteAsync(graph, stream));
    ok(aclmdlRIExecuteAsync(graph, stream));
    ok(aclrtStreamWaitEvent(rules.c, event));
    ok(aclrtDestroyStreamForce(stream));
    ok(aclrtSynchronizeStream(rules.c));
    ok(aclrtSynchronizeEvent(event));
    ok(aclrtDestroyEvent(hold));
    destroy(graph, event);
}

/* The events of a graph live as long as it does, whatever the program destroys. */
Test(external, a_destroyed_event_is_still_the_graphs)
{
    aclrtEvent event = ex_event();
    aclmdlRI graph = recording_graph(event);
    ok(aclrtDestroyEvent(event));
    for (int round = 0; round < 10; round++) {
        run_calls(graph, rules.b, 1);
    }
    ok(aclmdlRIDestroy(graph));
    assert_usable(NULL);
}
