// What a framework relies on besides: captured callbacks, which the thread subscribed to the
// capturing stream serves at each replay, captured host functions in great number, values that the
// program writes and waits for, and the switch of op infos.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <sys/resource.h>

#include "support/rules.h"

TestSuite(rules_callbacks, .init = rules_setup, .fini = rules_teardown, .timeout = 120);

// ---- a thread that serves callbacks ----

struct server {
    pthread_t thread;
    _Atomic uint64_t id;
    _Atomic bool stop;
    _Atomic int served;
    _Atomic bool wrong; // a callback ran elsewhere
};

static struct server server;

static void *serve(void *arg)
{
    (void)arg;
    ok(aclrtSetDevice(0));
    atomic_store(&server.id, (uint64_t)pthread_self());
    while (!atomic_load(&server.stop)) {
        aclrtProcessReport(10); // not subscribed yet, nothing came: all the same here
        aclGetRecentErrMsg();
    }
    ok(aclrtResetDevice(0));
    return NULL;
}

static void server_start(void)
{
    server = (struct server){ 0 };
    cr_assert(eq(int, pthread_create(&server.thread, NULL, serve, NULL), 0));
    while (atomic_load(&server.id) == 0) {
        sched_yield();
    }
}

static void server_stop(void)
{
    atomic_store(&server.stop, true);
    pthread_join(server.thread, NULL);
}

static void served(void *word)
{
    if ((uint64_t)pthread_self() != atomic_load(&server.id)) {
        atomic_store(&server.wrong, true);
    }
    if (word != NULL) {
        ++*(uint32_t *)word;
    }
    atomic_fetch_add(&server.served, 1);
}

static void wait_for_served(int count)
{
    for (int i = 0; i < 200000 && atomic_load(&server.served) < count; i++) {
        sched_yield();
        if (i > 1000) {
            const struct timespec pause = { .tv_nsec = 100000 };
            nanosleep(&pause, NULL);
        }
    }
    cr_assert(eq(int, atomic_load(&server.served), count));
    cr_assert(not(atomic_load(&server.wrong)));
}

/* BLOCK: what follows in the graph waits for the callback. Replayed on other streams. */
Test(rules_callbacks, a_blocking_callback_is_served_by_the_capturing_streams_thread)
{
    uint32_t *word = rules.pinned;
    server_start();
    ok(aclrtSubscribeReport(atomic_load(&server.id), rules.a));
    begin(rules.a, GLOBAL);
    ok(aclrtLaunchCallback(served, word, ACL_CALLBACK_BLOCK, rules.a));
    ok(aclrtMemcpyAsync(rules.device, 4, word, 4, ACL_MEMCPY_HOST_TO_DEVICE, rules.a));
    aclmdlRI graph = end(rules.a);
    cr_assert(eq(int, atomic_load(&server.served), 0));
    aclrtStream streams[] = { rules.a, rules.b, rules.c, NULL };
    for (uint32_t round = 1; round <= 400; round++) {
        ok(aclmdlRIExecuteAsync(graph, streams[round % 4]));
        ok(aclrtSynchronizeStream(streams[round % 4]));
        cr_assert(eq(u32, rules.device[0], round));
    }
    wait_for_served(400);
    ok(aclrtUnSubscribeReport(atomic_load(&server.id), rules.a));
    ok(aclmdlRIDestroy(graph));
    assert_usable(NULL);
    server_stop();
}

Test(rules_callbacks, a_callback_that_does_not_block_is_served_too)
{
    server_start();
    ok(aclrtSubscribeReport(atomic_load(&server.id), rules.a));
    begin(rules.a, RELAXED);
    ok(aclrtLaunchCallback(served, NULL, ACL_CALLBACK_NO_BLOCK, rules.a));
    ok(aclrtLaunchCallback(served, NULL, ACL_CALLBACK_NO_BLOCK, rules.a));
    aclmdlRI graph = end(rules.a);
    for (int round = 0; round < 100; round++) {
        ok(aclmdlRIExecuteAsync(graph, round % 2 == 0 ? rules.b : rules.c));
    }
    ok(aclrtSynchronizeDevice());
    wait_for_served(200);
    ok(aclrtUnSubscribeReport(atomic_load(&server.id), rules.a));
    ok(aclmdlRIDestroy(graph));
    assert_usable(NULL);
    server_stop();
}

/* The subscription must be in force during the replay; it may be a new one. */
Test(rules_callbacks, without_a_subscription_the_replay_fails_and_the_graph_lives)
{
    server_start();
    refused(aclrtLaunchCallback(served, NULL, ACL_CALLBACK_BLOCK, rules.a), 107015,
            stream_name(rules.a));
    ok(aclrtSubscribeReport(atomic_load(&server.id), rules.a));
    begin(rules.a, GLOBAL);
    ok(aclrtLaunchCallback(served, NULL, ACL_CALLBACK_BLOCK, rules.a));
    refused(aclrtLaunchHostFunc(rules.a, count_call, NULL), 107011, stream_name(rules.a));
    aclmdlRI graph = end(rules.a);
    ok(aclrtUnSubscribeReport(atomic_load(&server.id), rules.a));
    ok(aclmdlRIExecuteAsync(graph, rules.b));
    refused(aclrtSynchronizeStream(rules.b), 107015, stream_name(rules.a));
    cr_assert(eq(int, atomic_load(&server.served), 0));
    ok(aclrtSubscribeReport(atomic_load(&server.id), rules.a));
    ok(aclmdlRIExecuteAsync(graph, rules.b));
    ok(aclrtSynchronizeStream(rules.b));
    wait_for_served(1);
    ok(aclrtUnSubscribeReport(atomic_load(&server.id), rules.a));
    ok(aclmdlRIDestroy(graph));
    assert_usable(NULL);
    server_stop();
}

/* Streams used for capturing may be destroyed: then nobody serves the callback any more. */
Test(rules_callbacks, the_capturing_stream_may_be_gone)
{
    aclrtStream stream = NULL;
    ok(aclrtCreateStream(&stream));
    server_start();
    ok(aclrtSubscribeReport(atomic_load(&server.id), stream));
    begin(stream, GLOBAL);
    ok(aclrtLaunchCallback(served, NULL, ACL_CALLBACK_BLOCK, stream));
    aclmdlRI graph = end(stream);
    ok(aclmdlRIExecuteAsync(graph, rules.b));
    ok(aclrtSynchronizeStream(rules.b));
    wait_for_served(1);
    ok(aclrtDestroyStream(stream));
    ok(aclmdlRIExecuteAsync(graph, rules.b));
    code(aclrtSynchronizeStream(rules.b), 107015);
    ok(aclmdlRIDestroy(graph));
    assert_usable(NULL);
    server_stop();
}

/* A side stream's callback goes to the side stream's thread. */
Test(rules_callbacks, a_joined_streams_callback_is_its_own)
{
    server_start();
    ok(aclrtSubscribeReport(atomic_load(&server.id), rules.b));
    begin(rules.a, GLOBAL);
    put_call(rules.a);
    join(rules.b, rules.a);
    ok(aclrtLaunchCallback(served, NULL, ACL_CALLBACK_BLOCK, rules.b));
    join_back(rules.b, rules.a);
    aclmdlRI graph = end(rules.a);
    for (int round = 0; round < 20; round++) {
        run_calls(graph, rules.c, 1);
    }
    wait_for_served(20);
    ok(aclrtUnSubscribeReport(atomic_load(&server.id), rules.b));
    ok(aclmdlRIDestroy(graph));
    assert_usable(NULL);
    server_stop();
}

Test(rules_callbacks, ten_thousand_callbacks)
{
    server_start();
    ok(aclrtSubscribeReport(atomic_load(&server.id), rules.a));
    begin(rules.a, GLOBAL);
    for (int i = 0; i < 10000; i++) {
        ok(aclrtLaunchCallback(served, rules.pinned, ACL_CALLBACK_BLOCK, rules.a));
    }
    aclmdlRI graph = end(rules.a);
    for (uint32_t round = 1; round <= 2; round++) {
        ok(aclmdlRIExecuteAsync(graph, rules.b));
        ok(aclrtSynchronizeStream(rules.b));
        cr_assert(eq(u32, rules.pinned[0], 10000 * round));
    }
    ok(aclrtUnSubscribeReport(atomic_load(&server.id), rules.a));
    ok(aclmdlRIDestroy(graph));
    server_stop();
}

Test(rules_callbacks, ten_thousand_host_functions)
{
    begin(rules.a, GLOBAL);
    for (int i = 0; i < 10000; i++) {
        put_call(rules.a);
    }
    aclmdlRI graph = end(rules.a);
    for (int round = 0; round < 3; round++) {
        run_calls(graph, rules.b, 10000);
    }
    ok(aclmdlRIDestroy(graph));
    assert_usable(NULL);
}

// ---- values ----

static uint64_t cpu_us(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* A captured wait on 32 bytes of aclrtMallocAlign32: released by an eager write, by a copy, by the
 * host's own store; and while it waits it does not burn a core. */
Test(rules_callbacks, a_captured_value_wait_sees_any_writer)
{
    uint64_t *flag = NULL;
    ok(aclrtMallocAlign32((void **)&flag, 32, ACL_MEM_MALLOC_HUGE_FIRST));
    *flag = 0;
    begin(rules.a, GLOBAL);
    ok(aclrtValueWait(flag, 1, ACL_STREAM_WAIT_VALUE_GEQ, rules.a));
    ok(aclrtValueWrite(flag, 0, 0, rules.a));
    put_call(rules.a);
    aclmdlRI graph = end(rules.a);
    for (int round = 0; round < 60; round++) {
        const int before = atomic_load(&rules_calls);
        ok(aclmdlRIExecuteAsync(graph, rules.b));
        if (round == 0) {
            const struct timespec second = { .tv_sec = 1 };
            const uint64_t began_us = cpu_us();
            nanosleep(&second, NULL);
            cr_assert(lt(u64, cpu_us() - began_us, 500000)); // half a core
        }
        cr_assert(eq(int, atomic_load(&rules_calls), before));
        if (round % 3 == 0) {
            ok(aclrtValueWrite(flag, 1, 0, rules.c));
        } else if (round % 3 == 1) {
            *(uint64_t *)rules.pinned = 1;
            ok(aclrtMemcpyAsync(flag, 8, rules.pinned, 8, ACL_MEMCPY_HOST_TO_DEVICE, rules.c));
        } else {
            __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
        }
        ok(aclrtSynchronizeStream(rules.b));
        cr_assert(eq(int, atomic_load(&rules_calls), before + 1));
        cr_assert(eq(u64, *flag, 0));
    }
    ok(aclrtSynchronizeStream(rules.c));
    ok(aclmdlRIDestroy(graph));
    ok(aclrtFree(flag));
    assert_usable(NULL);
}

// ---- the switch of op infos ----

static uint32_t op_info_switch(aclrtStream stream)
{
    aclrtStreamAttrValue value = { .cacheOpInfoSwitch = 9 };
    ok(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_CACHE_OP_INFO, &value));
    return value.cacheOpInfoSwitch;
}

static void set_op_info_switch(aclrtStream stream, uint32_t on)
{
    aclrtStreamAttrValue value = { .cacheOpInfoSwitch = on };
    ok(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_CACHE_OP_INFO, &value));
}

/* Set before Begin, inside, and taken back before End; streams that join have it, too. */
Test(rules_callbacks, the_switch_of_op_infos_is_the_captures)
{
    set_op_info_switch(rules.a, 1);
    cr_assert(eq(u32, op_info_switch(rules.a), 0)); // reads 1 only while it captures
    begin(rules.a, GLOBAL);
    cr_assert(eq(u32, op_info_switch(rules.a), 1));
    join(rules.b, rules.a);
    cr_assert(eq(u32, op_info_switch(rules.b), 1));
    cr_assert(eq(u32, op_info_switch(rules.c), 0));
    join_back(rules.b, rules.a);
    ok(aclmdlRIDestroy(end(rules.a)));
    cr_assert(eq(u32, op_info_switch(rules.a), 0));
    begin(rules.a, GLOBAL);
    cr_assert(eq(u32, op_info_switch(rules.a), 0)); // gone with the first capture
    set_op_info_switch(rules.a, 1);
    cr_assert(eq(u32, op_info_switch(rules.a), 1));
    set_op_info_switch(rules.a, 0);
    cr_assert(eq(u32, op_info_switch(rules.a), 0));
    ok(aclmdlRIDestroy(end(rules.a)));
    assert_usable(NULL);
}
