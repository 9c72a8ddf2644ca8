// aclrtStreamAbort: what runs is stopped, what is queued is dropped, who waits is told, and the
// stream goes on. It is the way out of a captured graph that does not end.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <unistd.h>

#include "support/conds.h"
#include "support/gate.h"

TestSuite(stream_abort, .init = rules_setup, .fini = rules_teardown, .timeout = 60);

static const uint32_t one = 1;

/* A graph whose loop nobody ends. */
static aclmdlRI endless(struct cond *cond)
{
    begin(rules.a, GLOBAL);
    cond_put(cond, rules.a, WHILE, 1, &one);
    arm_begin(cond, 0, rules.b);
    put_call(rules.b);
    arm_end(rules.b);
    return end(rules.a);
}

static void expect_usable(aclrtStream stream)
{
    const int before = atomic_load(&rules_calls);
    put_call(stream);
    ok(aclrtSynchronizeStream(stream)); // what was dropped is not told again
    cr_assert(eq(int, atomic_load(&rules_calls) - before, 1));
}

static void expect_begun(int calls)
{
    while (atomic_load(&rules_calls) == calls) {
        usleep(1000);
    }
}

Test(stream_abort, ends_a_loop_that_nobody_ends)
{
    static struct cond cond;
    aclmdlRI graph = endless(&cond);
    for (int round = 0; round < 5; round++) {
        const int before = atomic_load(&rules_calls);
        ok(aclmdlRIExecuteAsync(graph, rules.c));
        expect_begun(before);
        ok(aclrtStreamAbort(rules.c));
        const int made = atomic_load(&rules_calls);
        expect_usable(rules.c);
        cr_assert(eq(int, atomic_load(&rules_calls), made + 1)); // it runs no more
    }
    ok(aclmdlRIDestroy(graph));
}

struct waiter {
    pthread_t thread;
    aclrtStream stream;
    bool device;
    _Atomic int began;
    int answer;
    char why[256];
};

static void *wait_for_it(void *arg)
{
    struct waiter *w = arg;
    if (aclrtSetDevice(0) != ACL_SUCCESS) {
        return NULL;
    }
    atomic_store(&w->began, 1);
    w->answer = w->device ? aclrtSynchronizeDevice() : aclrtSynchronizeStream(w->stream);
    const char *why = aclGetRecentErrMsg();
    snprintf(w->why, sizeof(w->why), "%s", why == NULL ? "" : why);
    return NULL;
}

static void waiter_start(struct waiter *w, aclrtStream stream, bool device)
{
    w->stream = stream;
    w->device = device;
    w->answer = -1;
    atomic_init(&w->began, 0);
    cr_assert(eq(int, pthread_create(&w->thread, NULL, wait_for_it, w), 0));
    while (atomic_load(&w->began) == 0) {
        usleep(1000);
    }
    usleep(50000); // it waits by now; else it finds an idle stream, and the test says so
}

static void expect_told(struct waiter *w)
{
    pthread_join(w->thread, NULL);
    cr_assert(eq(int, w->answer, ACL_ERROR_RT_STREAM_ABORT), "%s", w->why);
    cr_assert(strstr(w->why, "aborted") != NULL, "%s", w->why);
    cr_assert(strstr(w->why, stream_name(w->stream)) != NULL, "%s", w->why);
}

Test(stream_abort, tells_who_waits_for_the_stream_or_the_device)
{
    static struct cond cond;
    static struct waiter waiter[2];
    aclmdlRI graph = endless(&cond);
    ok(aclmdlRIExecuteAsync(graph, rules.c));
    waiter_start(&waiter[0], rules.c, false);
    waiter_start(&waiter[1], rules.c, true);
    ok(aclrtStreamAbort(rules.c));
    expect_told(&waiter[0]);
    expect_told(&waiter[1]);
    expect_usable(rules.c);
    ok(aclmdlRIDestroy(graph));
}

Test(stream_abort, drops_what_is_queued_behind_a_wait)
{
    aclrtEvent event = ex_event();
    const int before = atomic_load(&rules_calls);
    *rules.device = 0;
    for (int round = 0; round < 3; round++) {
        ok(aclrtValueWait(rules.device, 1, ACL_STREAM_WAIT_VALUE_EQ, rules.c));
        put_call(rules.c);
        ok(aclrtRecordEvent(event, rules.c));
        ok(aclrtStreamWaitEvent(rules.b, event));
        ok(aclrtStreamAbort(rules.c));
        ok(aclrtSynchronizeStream(rules.b)); // its record will not come: it is not waited for
        ok(aclrtSynchronizeStream(rules.c));
    }
    cr_assert(eq(int, atomic_load(&rules_calls), before));
    expect_usable(rules.c);
    assert_usable(event);
}

Test(stream_abort, takes_back_a_function_that_nobody_has_begun)
{
    uint64_t self = (uint64_t)pthread_self();
    const int before = atomic_load(&rules_calls);
    ok(aclrtSubscribeReport(self, rules.c));
    ok(aclrtLaunchCallback(count_call, NULL, ACL_CALLBACK_BLOCK, rules.c)); // served by nobody
    ok(aclrtStreamAbort(rules.c));
    ok(aclrtSynchronizeStream(rules.c));
    cr_assert(aclrtProcessReport(10) != ACL_SUCCESS, "there was a callback to process");
    cr_assert(eq(int, atomic_load(&rules_calls), before));
    ok(aclrtUnSubscribeReport(self, rules.c));
}

Test(stream_abort, waits_for_a_function_that_runs)
{
    static struct gate gate;
    const int before = atomic_load(&rules_calls);
    gate_init(&gate);
    ok(gate_put(&gate, rules.c));
    put_call(rules.c);
    while (atomic_load(&gate.reached) == 0) {
        usleep(1000);
    }
    refused(aclrtStreamAbort(rules.c), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, stream_name(rules.c));
    gate_open(&gate);
    ok(aclrtStreamAbort(rules.c)); // or it has ended by now
    expect_usable(rules.c);
    cr_assert(eq(int, atomic_load(&rules_calls), before + 1));
}

static aclrtContext context; // of the test; a callback thread has none

static void abort_own(void *stream)
{
    (void)aclrtSetCurrentContext(context);
    atomic_fetch_add(&rules_calls, aclrtStreamAbort(stream) == ACL_SUCCESS ? 1 : 100);
}

Test(stream_abort, by_a_function_of_the_stream_does_not_wait_for_itself)
{
    const int before = atomic_load(&rules_calls);
    ok(aclrtGetCurrentContext(&context));
    ok(aclrtLaunchHostFunc(rules.c, abort_own, rules.c));
    put_call(rules.c);
    (void)aclrtSynchronizeStream(rules.c); // told or not: it may come after the abort
    cr_assert(eq(int, atomic_load(&rules_calls), before + 1));
    expect_usable(rules.c);
}

Test(stream_abort, stops_no_context_of_a_stream_that_stops_it_by_failing)
{
    ok(aclrtSetStreamFailureMode(rules.c, ACL_STOP_ON_FAILURE));
    *rules.device = 0;
    ok(aclrtValueWait(rules.device, 1, ACL_STREAM_WAIT_VALUE_EQ, rules.c));
    ok(aclrtStreamAbort(rules.c));
    expect_usable(rules.c);
    expect_usable(rules.b);
}

Test(stream_abort, leaves_a_capture_of_another_stream_alone)
{
    begin(rules.a, RELAXED);
    put_call(rules.a);
    *rules.device = 0;
    ok(aclrtValueWait(rules.device, 1, ACL_STREAM_WAIT_VALUE_EQ, rules.c));
    ok(aclrtStreamAbort(rules.c));
    refused(aclrtStreamAbort(rules.a), ACL_ERROR_RT_STREAM_CAPTURED, stream_name(rules.a));
    put_call(rules.a);
    run_calls(end(rules.a), rules.c, 2);
}

Test(stream_abort, codes)
{
    int foreign;
    aclrtStream gone;
    ok(aclrtStreamAbort(rules.a)); // nothing to drop
    ok(aclrtStreamAbort(NULL));    // the default stream
    ok(aclrtCreateStream(&gone));
    ok(aclrtDestroyStream(gone));
    code(aclrtStreamAbort(gone), ACL_ERROR_RT_INVALID_HANDLE);
    code(aclrtStreamAbort(&foreign), ACL_ERROR_RT_INVALID_HANDLE);
}
