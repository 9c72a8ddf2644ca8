// Objects that one thread ends while another uses them.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include <acl/acl.h>

static aclrtStream stream;
static _Atomic int started, release;

#define ok(call) cr_assert(eq(int, (int)(call), 0), "%s", #call)

static void setup(void)
{
    setenv("REPRISE_DEVICE_MEMORY", "64M", 1);
    ok(aclrtSetDevice(0));
    ok(aclrtCreateStream(&stream));
}

/* Keeps its stream busy until it is released. */
static void hold_stream(void *arg)
{
    (void)arg;
    atomic_store(&started, 1);
    while (atomic_load(&release) == 0) {
        usleep(1000);
    }
}

static void *synchronize(void *arg)
{
    (void)arg;
    if (aclrtSetDevice(0) != ACL_SUCCESS) {
        return (void *)-1;
    }
    return (void *)(intptr_t)aclrtSynchronizeStream(stream);
}

static pthread_t wait_in_another_thread(void)
{
    pthread_t thread;
    atomic_store(&started, 0);
    atomic_store(&release, 0);
    ok(aclrtLaunchHostFunc(stream, hold_stream, NULL));
    ok(aclrtLaunchHostFunc(stream, hold_stream, NULL)); // dropped by a forced end
    pthread_create(&thread, NULL, synchronize, NULL);
    while (atomic_load(&started) == 0) {
        usleep(1000);
    }
    usleep(20000); // the other thread waits by now, or soon: both orders are fine
    return thread;
}

static void expect_told(pthread_t thread)
{
    void *result;
    usleep(20000);
    atomic_store(&release, 1);
    pthread_join(thread, &result);
    const int code = (int)(intptr_t)result;
    cr_assert(code == ACL_ERROR_RT_STREAM_ABORT || code == ACL_ERROR_RT_INVALID_HANDLE,
            "the waiting thread is told %d", code);
}

TestSuite(ends, .init = setup, .timeout = 60);

Test(ends, of_a_stream_that_is_destroyed_by_force_while_a_thread_waits_for_it)
{
    for (int round = 0; round < 10; round++) {
        const pthread_t thread = wait_in_another_thread();
        ok(aclrtDestroyStreamForce(stream));
        expect_told(thread);
        ok(aclrtCreateStream(&stream));
    }
}

static void *reset_by_force(void *arg)
{
    (void)arg;
    return (void *)(intptr_t)aclrtResetDeviceForce(0);
}

Test(ends, of_a_device_that_is_reset_by_force_while_a_thread_waits_for_it)
{
    const pthread_t thread = wait_in_another_thread();
    pthread_t reset;
    void *unused;
    pthread_create(&reset, NULL, reset_by_force, NULL);
    expect_told(thread);
    pthread_join(reset, &unused);
}

static aclmdlRI graph;

static void *destroy_graph(void *arg)
{
    (void)arg;
    if (aclrtSetDevice(0) != ACL_SUCCESS) {
        return (void *)-1;
    }
    return (void *)(intptr_t)aclmdlRIDestroy(graph);
}

Test(ends, of_a_graph_that_two_threads_destroy_while_it_runs)
{
    for (int round = 0; round < 5; round++) {
        pthread_t threads[2];
        void *result[2];
        atomic_store(&started, 0);
        atomic_store(&release, 0);
        ok(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
        ok(aclrtLaunchHostFunc(stream, hold_stream, NULL));
        ok(aclmdlRICaptureEnd(stream, &graph));
        ok(aclmdlRIExecuteAsync(graph, stream));
        for (int t = 0; t < 2; t++) {
            pthread_create(&threads[t], NULL, destroy_graph, NULL);
        }
        usleep(20000);
        atomic_store(&release, 1);
        for (int t = 0; t < 2; t++) {
            pthread_join(threads[t], &result[t]);
            cr_assert(eq(int, (int)(intptr_t)result[t], 0)); // the loser finds an unknown handle
        }
        ok(aclrtSynchronizeStream(stream));
        cr_assert(eq(int, aclmdlRIExecuteAsync(graph, stream), ACL_ERROR_RT_INVALID_HANDLE));
    }
}
