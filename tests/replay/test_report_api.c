// Users' functions on streams: both schemes, from outside.

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "support/acl_test.h"
#include "support/gate.h"

static void count_up(void *arg)
{
    atomic_fetch_add((_Atomic int *)arg, 1);
}

// ---- the thread that serves callbacks ----

struct server {
    pthread_t thread;
    pthread_barrier_t ready;
    _Atomic bool stop;
    _Atomic int processed; // calls that ran something
    _Atomic int last;      // answer of the last call
};

static void *serve(void *arg)
{
    struct server *server = arg;
    aclrtSetDevice(0);
    pthread_barrier_wait(&server->ready);
    while (!atomic_load(&server->stop)) {
        const int answer = aclrtProcessReport(20);
        atomic_fetch_add(&server->processed, answer == 0);
        atomic_store(&server->last, answer);
        if (answer == 107012) { // not subscribed yet, or no more
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        }
    }
    return NULL;
}

static uint64_t server_start(struct server *server)
{
    memset(server, 0, sizeof(*server));
    pthread_barrier_init(&server->ready, NULL, 2);
    cr_assert(eq(int, pthread_create(&server->thread, NULL, serve, server), 0));
    pthread_barrier_wait(&server->ready);
    return (uint64_t)server->thread;
}

static void server_stop(struct server *server)
{
    atomic_store(&server->stop, true);
    pthread_join(server->thread, NULL);
}

Test(report_api, callbacks_run_on_the_subscribed_thread, .init = on_device, .timeout = 30)
{
    struct server server;
    aclrtStream stream;
    _Atomic int ran = 0;
    const uint64_t id = server_start(&server);
    WORKS(aclrtCreateStream(&stream));
    WORKS(aclrtSubscribeReport(id, stream));
    for (int i = 0; i < 10; i++) {
        WORKS(aclrtLaunchCallback(count_up, (void *)&ran, ACL_CALLBACK_BLOCK, stream));
    }
    WORKS(aclrtSynchronizeStream(stream));
    cr_assert(eq(int, ran, 10));
    cr_assert(ge(int, server.processed, 1));
    WORKS(aclrtUnSubscribeReport(id, stream));
    server_stop(&server);
    WORKS(aclrtDestroyStream(stream));
}

Test(report_api, only_blocking_ones_hold_the_stream_up, .init = on_device, .timeout = 30)
{
    static struct gate gate;
    struct server server;
    aclrtStream stream;
    const uint64_t id = server_start(&server);
    gate_init(&gate);
    WORKS(aclrtCreateStream(&stream));
    WORKS(aclrtSubscribeReport(id, stream));
    WORKS(aclrtLaunchCallback(gate_wait, &gate, ACL_CALLBACK_NO_BLOCK, stream));
    WORKS(aclrtSynchronizeStream(stream)); // although the callback has not returned
    gate_open(&gate);
    WORKS(aclrtLaunchCallback(gate_wait, &gate, ACL_CALLBACK_BLOCK, stream));
    ANSWERS(507046, aclrtSynchronizeStreamWithTimeout(stream, 30));
    gate_open(&gate);
    WORKS(aclrtSynchronizeStream(stream));
    cr_assert(eq(int, gate.reached, 2));
    WORKS(aclrtUnSubscribeReport(id, stream));
    server_stop(&server);
}

Test(report_api, one_thread_serves_several_streams, .init = on_device, .timeout = 30)
{
    struct server server;
    aclrtStream streams[4];
    _Atomic int ran = 0;
    const uint64_t id = server_start(&server);
    for (int i = 0; i < 4; i++) {
        WORKS(aclrtCreateStream(&streams[i]));
        WORKS(aclrtSubscribeReport(id, streams[i]));
        WORKS(aclrtLaunchCallback(count_up, (void *)&ran, ACL_CALLBACK_BLOCK, streams[i]));
    }
    WORKS(aclrtSynchronizeDevice());
    cr_assert(eq(int, ran, 4));
    for (int i = 0; i < 4; i++) {
        WORKS(aclrtDestroyStream(streams[i])); // ends the subscription too
    }
    server_stop(&server);
    cr_assert(eq(int, server.last, 107012));
}

Test(report_api, codes_of_the_subscription, .init = on_device, .timeout = 30)
{
    struct server server;
    aclrtStream stream;
    aclrtStream elsewhere;
    const uint64_t id = server_start(&server);
    WORKS(aclrtCreateStream(&stream));
    ANSWERS(107015, aclrtLaunchCallback(count_up, NULL, ACL_CALLBACK_BLOCK, stream));
    ANSWERS(107000, aclrtSubscribeReport(0, stream));
    ANSWERS(107011, aclrtUnSubscribeReport(id, stream));
    WORKS(aclrtSubscribeReport(id, stream));
    ANSWERS(107011, aclrtSubscribeReport(id, stream));
    ANSWERS(107012, aclrtUnSubscribeReport(id + 1, stream));
    ANSWERS(100000, aclrtLaunchCallback(count_up, NULL, (aclrtCallbackBlockType)2, stream));
    ANSWERS(107000, aclrtLaunchCallback(NULL, NULL, ACL_CALLBACK_BLOCK, stream));
    int foreign;
    ANSWERS(107017, aclrtSubscribeReport(id, &foreign));
    ANSWERS(107017, aclrtLaunchCallback(count_up, NULL, ACL_CALLBACK_BLOCK, &foreign));
    WORKS(aclrtSetDevice(1)); // a thread serves one device
    WORKS(aclrtCreateStream(&elsewhere));
    ANSWERS(107012, aclrtSubscribeReport(id, elsewhere));
    WORKS(aclrtSetDevice(0));
    WORKS(aclrtUnSubscribeReport(id, stream));
    ANSWERS(107011, aclrtUnSubscribeReport(id, stream));
    server_stop(&server);
}

Test(report_api, codes_of_processing, .init = on_device, .timeout = 30)
{
    ANSWERS(100000, aclrtProcessReport(0));
    ANSWERS(100000, aclrtProcessReport(-2));
    ANSWERS(107012, aclrtProcessReport(10));
    WORKS(aclrtSubscribeReport((uint64_t)pthread_self(), NULL)); // the default stream
    ANSWERS(507012, aclrtProcessReport(10));
    _Atomic int ran = 0;
    WORKS(aclrtLaunchCallback(count_up, (void *)&ran, ACL_CALLBACK_BLOCK, NULL));
    WORKS(aclrtProcessReport(10000));
    cr_assert(eq(int, ran, 1));
    WORKS(aclrtSynchronizeStream(NULL));
    WORKS(aclrtUnSubscribeReport((uint64_t)pthread_self(), NULL));
    ANSWERS(107012, aclrtProcessReport(10));
}

Test(report_api, the_schemes_do_not_mix, .init = on_device, .timeout = 30)
{
    aclrtStream first;
    aclrtStream second;
    _Atomic int ran = 0;
    const uint64_t self = (uint64_t)pthread_self();
    WORKS(aclrtCreateStream(&first));
    WORKS(aclrtSubscribeReport(self, first));
    ANSWERS(107011, aclrtLaunchHostFunc(first, count_up, (void *)&ran));
    WORKS(aclrtUnSubscribeReport(self, first));
    WORKS(aclrtCreateStream(&second));
    WORKS(aclrtLaunchHostFunc(second, count_up, (void *)&ran));
    ANSWERS(107011, aclrtSubscribeReport(self, second));
    ANSWERS(107011, aclrtUnSubscribeReport(self, second));
    ANSWERS(107011, aclrtLaunchCallback(count_up, NULL, ACL_CALLBACK_BLOCK, second));
    WORKS(aclrtSynchronizeDevice());
    cr_assert(eq(int, ran, 1));
}

Test(report_api, host_functions_run_in_order_and_hold_the_stream_up, .init = on_device,
        .timeout = 30)
{
    static struct gate gate;
    aclrtStream stream;
    _Atomic int ran = 0;
    gate_init(&gate);
    WORKS(aclrtCreateStream(&stream));
    ANSWERS(107000, aclrtLaunchHostFunc(stream, NULL, NULL));
    WORKS(gate_put(&gate, stream));
    for (int i = 0; i < 100; i++) {
        WORKS(aclrtLaunchHostFunc(stream, count_up, (void *)&ran));
    }
    ANSWERS(507046, aclrtSynchronizeStreamWithTimeout(stream, 20));
    cr_assert(eq(int, ran, 0));
    gate_open(&gate);
    WORKS(aclrtSynchronizeStream(stream));
    cr_assert(eq(int, ran, 100));
}

static void process_inside(void *arg)
{
    *(int *)arg = aclrtProcessReport(10);
}

Test(report_api, a_callback_may_not_process_callbacks, .init = on_device, .timeout = 30)
{
    int answer = 0;
    WORKS(aclrtSubscribeReport((uint64_t)pthread_self(), NULL));
    WORKS(aclrtLaunchCallback(process_inside, &answer, ACL_CALLBACK_BLOCK, NULL));
    WORKS(aclrtProcessReport(10000));
    cr_assert(eq(int, answer, 207006));
    WORKS(aclrtUnSubscribeReport((uint64_t)pthread_self(), NULL));
}
