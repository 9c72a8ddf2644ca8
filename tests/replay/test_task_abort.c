// aclrtDeviceTaskAbort: what all streams of a device run is stopped, what they have queued is
// dropped, callbacks are told, and the streams go on. Captures are left alone.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <unistd.h>

#include "support/conds.h"
#include "support/gate.h"

TestSuite(task_abort, .init = rules_setup, .fini = rules_teardown, .timeout = 60);

static const uint32_t one = 1;

static void expect_usable(aclrtStream stream)
{
    const int before = atomic_load(&rules_calls);
    put_call(stream);
    ok(aclrtSynchronizeStream(stream)); // what was dropped is not told again
    cr_assert(eq(int, atomic_load(&rules_calls) - before, 1));
}

static void block(aclrtStream stream)
{
    *rules.device = 0;
    ok(aclrtValueWait(rules.device, 1, ACL_STREAM_WAIT_VALUE_EQ, stream));
    put_call(stream);
}

Test(task_abort, drops_what_all_streams_have)
{
    for (int round = 0; round < 20; round++) {
        const int before = atomic_load(&rules_calls);
        block(rules.a);
        block(rules.b);
        block(NULL);
        ok(aclrtDeviceTaskAbort(0, 10000));
        ok(aclrtSynchronizeDevice());
        cr_assert(eq(int, atomic_load(&rules_calls), before));
        expect_usable(rules.a);
        expect_usable(rules.b);
        expect_usable(rules.c);
        expect_usable(NULL);
    }
    ok(aclrtDeviceTaskAbort(0, 1)); // nothing to do
}

Test(task_abort, ends_a_replay_and_those_behind_it)
{
    static struct cond cond;
    begin(rules.a, GLOBAL);
    cond_put(&cond, rules.a, WHILE, 1, &one);
    arm_begin(&cond, 0, rules.b);
    put_call(rules.b);
    arm_end(rules.b);
    aclmdlRI graph = end(rules.a);
    for (int round = 0; round < 5; round++) {
        const int before = atomic_load(&rules_calls);
        ok(aclmdlRIExecuteAsync(graph, rules.c));
        ok(aclmdlRIExecuteAsync(graph, rules.b)); // waits for the first one's end
        while (atomic_load(&rules_calls) == before) {
            usleep(1000);
        }
        ok(aclrtDeviceTaskAbort(0, 0));
        const int made = atomic_load(&rules_calls);
        ok(aclrtSynchronizeDevice());
        cr_assert(eq(int, atomic_load(&rules_calls), made)); // it runs no more
        expect_usable(rules.b);
        expect_usable(rules.c);
    }
    ok(aclmdlRIDestroy(graph));
}

Test(task_abort, leaves_a_capture_alone)
{
    block(rules.a); // before the capture: work like any other
    begin(rules.a, RELAXED);
    put_call(rules.a);
    block(rules.c);
    ok(aclrtDeviceTaskAbort(0, 10000));
    cr_assert(eq(int, (int)capture_status(rules.a), (int)ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE));
    put_call(rules.a);
    run_calls(end(rules.a), rules.c, 2);
    expect_usable(rules.a);
}

Test(task_abort, says_what_still_runs_after_the_timeout)
{
    static struct gate gate;
    const int before = atomic_load(&rules_calls);
    gate_init(&gate);
    ok(gate_put(&gate, rules.c));
    put_call(rules.c);
    while (atomic_load(&gate.reached) == 0) {
        usleep(1000);
    }
    refused(aclrtDeviceTaskAbort(0, 100), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "device 0", "100 ms",
            stream_name(rules.c));
    expect_usable(rules.b);
    gate_open(&gate);
    ok(aclrtDeviceTaskAbort(0, 0)); // without a limit; it ends now
    expect_usable(rules.c);
    cr_assert(eq(int, atomic_load(&rules_calls), before + 2)); // not the one behind the gate
}

// ---- callbacks ----

static char told[16]; // the letters of callbacks: upper case before, lower case after
static uint32_t told_timeout_ms;
static int answer_within;

static void note(char letter, aclrtDeviceTaskAbortStage stage)
{
    const size_t length = strlen(told);
    told[length] = (char)(stage == ACL_RT_DEVICE_TASK_ABORT_PRE ? letter : letter + 'a' - 'A');
    told[length + 1] = '\0';
}

static int32_t tell(int32_t device, aclrtDeviceTaskAbortStage stage, uint32_t timeout, void *arg)
{
    cr_assert(eq(int, device, 0));
    told_timeout_ms = timeout;
    note(*(const char *)arg, stage);
    return 7; // logged, no more
}

/* May call everything: no lock is held. */
static int32_t call_all(
        int32_t device, aclrtDeviceTaskAbortStage stage, uint32_t timeout, void *arg)
{
    (void)timeout;
    note(*(const char *)arg, stage);
    answer_within = (int)aclrtDeviceTaskAbort(device, 1);
    if (stage == ACL_RT_DEVICE_TASK_ABORT_POST) {
        expect_usable(rules.b);
        ok(aclrtSetDeviceTaskAbortCallback("second", NULL, NULL));
    }
    return 0;
}

Test(task_abort, tells_callbacks_before_and_after)
{
    ok(aclrtSetDeviceTaskAbortCallback("first", tell, (char[]){ "A" }));
    ok(aclrtSetDeviceTaskAbortCallback("second", call_all, (char[]){ "B" }));
    block(rules.c);
    ok(aclrtDeviceTaskAbort(0, 1234));
    cr_assert(eq(str, told, "ABab"));
    cr_assert(eq(u32, told_timeout_ms, 1234));
    cr_assert(eq(int, answer_within, ACL_ERROR_RT_DEVICE_TASK_ABORT));
    told[0] = '\0';
    ok(aclrtSetDeviceTaskAbortCallback("first", tell, (char[]){ "C" })); // replaces it
    ok(aclrtDeviceTaskAbort(0, 1));
    cr_assert(eq(str, told, "Cc"));
    ok(aclrtSetDeviceTaskAbortCallback("first", NULL, NULL));
    refused(aclrtSetDeviceTaskAbortCallback("first", NULL, NULL), ACL_ERROR_RT_PARAM_INVALID,
            "\"first\"");
    code(aclrtSetDeviceTaskAbortCallback(NULL, tell, NULL), ACL_ERROR_INVALID_PARAM);
    code(aclrtSetDeviceTaskAbortCallback("", tell, NULL), ACL_ERROR_RT_PARAM_INVALID);
    ok(aclrtDeviceTaskAbort(0, 1));
    cr_assert(eq(str, told, "Cc"));
}

static _Atomic int aborter_answer;

static void *abort_and_wait(void *arg)
{
    (void)arg;
    int answer;
    do {                                          // the other one may be the first
        answer = (int)aclrtDeviceTaskAbort(0, 0); // needs no context
    } while (answer == ACL_ERROR_RT_DEVICE_TASK_ABORT);
    atomic_store(&aborter_answer, answer);
    return NULL;
}

Test(task_abort, of_two_at_a_time_one_is_refused)
{
    static struct gate gate;
    pthread_t thread;
    gate_init(&gate);
    ok(gate_put(&gate, rules.c));
    while (atomic_load(&gate.reached) == 0) {
        usleep(1000);
    }
    atomic_store(&aborter_answer, -1);
    cr_assert(eq(int, pthread_create(&thread, NULL, abort_and_wait, NULL), 0));
    int answer = 0;
    for (int i = 0; i < 2000 && answer != ACL_ERROR_RT_DEVICE_TASK_ABORT; i++) {
        usleep(1000);
        answer = (int)aclrtDeviceTaskAbort(0, 1);
    }
    cr_assert(eq(int, answer, ACL_ERROR_RT_DEVICE_TASK_ABORT));
    gate_open(&gate);
    pthread_join(thread, NULL);
    cr_assert(eq(int, atomic_load(&aborter_answer), 0));
    expect_usable(rules.c);
}

static void abort_own(void *arg)
{
    (void)arg;
    atomic_fetch_add(&rules_calls, aclrtDeviceTaskAbort(0, 0) == ACL_SUCCESS ? 1 : 100);
}

Test(task_abort, by_a_function_of_a_stream_does_not_wait_for_itself)
{
    const int before = atomic_load(&rules_calls);
    ok(aclrtLaunchHostFunc(rules.c, abort_own, NULL));
    put_call(rules.c);
    (void)aclrtSynchronizeStream(rules.c); // told or not: it may come after the abort
    cr_assert(eq(int, atomic_load(&rules_calls), before + 1));
    expect_usable(rules.c);
}

Test(task_abort, codes)
{
    refused(aclrtDeviceTaskAbort(-1, 1), ACL_ERROR_RT_INVALID_DEVICEID, "-1");
    refused(aclrtDeviceTaskAbort(1000, 1), ACL_ERROR_RT_INVALID_DEVICEID, "1000");
    refused(aclrtDeviceTaskAbort(1, 1), ACL_ERROR_RT_INVALID_DEVICEID, "not in use");
}
