// Contexts, primary contexts, the calling thread's state.

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "support/acl_test.h"

Test(context, no_call_needs_acl_init, .init = small_device)
{
    WORKS(aclrtSetDevice(0));
    aclrtStream stream;
    WORKS(aclrtCreateStream(&stream));
    WORKS(aclrtSynchronizeStream(stream));
    WORKS(aclrtDestroyStream(stream));
    WORKS(aclrtResetDevice(0));
}

Test(context, a_thread_without_one_is_told_so, .init = small_device)
{
    aclrtContext context;
    aclrtStream stream;
    int32_t device;
    void *memory;
    ANSWERS(107002, aclrtGetCurrentContext(&context));
    ANSWERS(107002, aclrtGetDevice(&device));
    ANSWERS(107002, aclrtCreateStream(&stream));
    ANSWERS(107002, aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    ANSWERS(107002, aclrtSynchronizeDevice());
    ANSWERS(107002, aclrtCtxGetCurrentDefaultStream(&stream));
    ANSWERS(107002, aclrtSynchronizeStream(NULL));
}

Test(context, null_pointers_are_refused, .init = on_device)
{
    int32_t active;
    uint32_t flags;
    ANSWERS(100000, aclrtCreateContext(NULL, 0));
    ANSWERS(100000, aclrtDestroyContext(NULL));
    ANSWERS(100000, aclrtSetCurrentContext(NULL));
    ANSWERS(100000, aclrtGetCurrentContext(NULL));
    ANSWERS(100000, aclrtGetDevice(NULL));
    ANSWERS(100000, aclrtCtxGetCurrentDefaultStream(NULL));
    ANSWERS(100000, aclrtGetPrimaryCtxState(0, NULL, NULL));
    ANSWERS(100000, aclrtGetPrimaryCtxState(0, &flags, &active));
}

Test(context, set_device_shares_one_context_and_is_counted, .init = small_device)
{
    aclrtContext first;
    aclrtContext second;
    int32_t active;
    WORKS(aclrtGetPrimaryCtxState(1, NULL, &active));
    cr_assert(eq(int, active, 0));
    WORKS(aclrtSetDevice(1));
    WORKS(aclrtGetCurrentContext(&first));
    WORKS(aclrtSetDevice(1));
    WORKS(aclrtGetCurrentContext(&second));
    cr_assert(eq(ptr, first, second));
    WORKS(aclrtResetDevice(1));
    WORKS(aclrtGetPrimaryCtxState(1, NULL, &active));
    cr_assert(eq(int, active, 1));
    WORKS(aclrtResetDevice(1));
    WORKS(aclrtGetPrimaryCtxState(1, NULL, &active));
    cr_assert(eq(int, active, 0));
    ANSWERS(107002, aclrtGetCurrentContext(&first));
    ANSWERS(507007, aclrtResetDevice(1));
}

Test(context, force_ends_whatever_the_count, .init = small_device)
{
    aclrtContext context;
    for (int i = 0; i < 3; i++) {
        WORKS(aclrtSetDevice(0));
    }
    WORKS(aclrtResetDevice(0));
    WORKS(aclrtResetDeviceForce(0));
    ANSWERS(507007, aclrtResetDevice(0));
    ANSWERS(507007, aclrtResetDeviceForce(0));
    ANSWERS(107002, aclrtGetCurrentContext(&context));
    WORKS(aclrtSetDevice(0)); // and it comes up again
    WORKS(aclrtSynchronizeDevice());
    WORKS(aclrtResetDevice(0));
}

Test(context, bad_device_ids, .init = small_device)
{
    aclrtContext context;
    int32_t active;
    const int32_t bad[] = { -1, 8, 1 << 30 };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ANSWERS(107001, aclrtSetDevice(bad[i]));
        ANSWERS(107001, aclrtResetDevice(bad[i]));
        ANSWERS(107001, aclrtResetDeviceForce(bad[i]));
        ANSWERS(107001, aclrtCreateContext(&context, bad[i]));
        ANSWERS(107001, aclrtGetPrimaryCtxState(bad[i], NULL, &active));
    }
}

Test(context, the_last_one_set_wins, .init = on_device)
{
    aclrtContext primary;
    aclrtContext other;
    aclrtContext now;
    int32_t device;
    WORKS(aclrtGetCurrentContext(&primary));
    WORKS(aclrtCreateContext(&other, 2));
    WORKS(aclrtGetCurrentContext(&now));
    cr_assert(eq(ptr, now, other));
    WORKS(aclrtGetDevice(&device));
    cr_assert(eq(int, device, 2));
    WORKS(aclrtSetCurrentContext(primary));
    WORKS(aclrtGetDevice(&device));
    cr_assert(eq(int, device, 0));
    WORKS(aclrtDestroyContext(other));
    WORKS(aclrtGetCurrentContext(&now));
    cr_assert(eq(ptr, now, primary));
}

Test(context, each_has_a_default_stream_of_its_own, .init = on_device)
{
    aclrtStream first;
    aclrtStream second;
    aclrtContext other;
    int32_t id;
    WORKS(aclrtCtxGetCurrentDefaultStream(&first));
    WORKS(aclrtCreateContext(&other, 0));
    WORKS(aclrtCtxGetCurrentDefaultStream(&second));
    cr_assert(ne(ptr, first, second));
    ANSWERS(107003, aclrtStreamGetId(first, &id)); // of the other context
    WORKS(aclrtStreamGetId(second, &id));
    WORKS(aclrtDestroyContext(other));
    ANSWERS(107002, aclrtStreamGetId(second, &id)); // the current context is gone
}

Test(context, destroyed_ones_answer_no_context, .init = on_device)
{
    aclrtContext context;
    aclrtContext now;
    WORKS(aclrtCreateContext(&context, 0));
    WORKS(aclrtDestroyContext(context));
    ANSWERS(107002, aclrtDestroyContext(context));
    ANSWERS(107002, aclrtSetCurrentContext(context));
    ANSWERS(107002, aclrtGetCurrentContext(&now));
    int nobody;
    ANSWERS(107002, aclrtSetCurrentContext(&nobody));
    ANSWERS(107002, aclrtDestroyContext(&nobody));
}

Test(context, the_primary_one_cannot_be_destroyed, .init = on_device)
{
    aclrtContext context;
    WORKS(aclrtGetCurrentContext(&context));
    ANSWERS(107002, aclrtDestroyContext(context));
    WORKS(aclrtSynchronizeDevice());
}

Test(context, its_streams_end_with_it, .init = on_device)
{
    aclrtContext context;
    aclrtStream stream;
    aclrtContext primary;
    WORKS(aclrtGetCurrentContext(&primary));
    WORKS(aclrtCreateContext(&context, 0));
    WORKS(aclrtCreateStream(&stream));
    WORKS(aclrtDestroyContext(context));
    WORKS(aclrtSetCurrentContext(primary));
    ANSWERS(107017, aclrtSynchronizeStream(stream));
    ANSWERS(107017, aclrtDestroyStream(stream));
}

// ---- threads ----

struct shared {
    aclrtContext context;
    int without;
    int with;
    int destroyed;
    pthread_barrier_t barrier;
};

static void *other_thread(void *arg)
{
    struct shared *shared = arg;
    aclrtContext now;
    shared->without = aclrtGetCurrentContext(&now); // nothing is inherited
    shared->with = aclrtSetCurrentContext(shared->context);
    pthread_barrier_wait(&shared->barrier);
    pthread_barrier_wait(&shared->barrier); // it is destroyed between the two
    shared->destroyed = aclrtSynchronizeDevice();
    return NULL;
}

Test(context, threads_do_not_inherit_it_and_notice_its_end, .init = on_device)
{
    struct shared shared;
    pthread_t thread;
    pthread_barrier_init(&shared.barrier, NULL, 2);
    WORKS(aclrtCreateContext(&shared.context, 0));
    cr_assert(eq(int, pthread_create(&thread, NULL, other_thread, &shared), 0));
    pthread_barrier_wait(&shared.barrier);
    WORKS(aclrtDestroyContext(shared.context));
    pthread_barrier_wait(&shared.barrier);
    pthread_join(thread, NULL);
    cr_assert(eq(int, shared.without, 107002));
    cr_assert(eq(int, shared.with, 0));
    cr_assert(eq(int, shared.destroyed, 107002));
}

static void *set_and_reset(void *arg)
{
    _Atomic int *failures = arg;
    for (int i = 0; i < 50; i++) {
        aclrtStream stream;
        int bad = aclrtSetDevice(3) != 0;
        bad |= aclrtCreateStream(&stream) != 0;
        bad |= aclrtSynchronizeStream(stream) != 0;
        bad |= aclrtDestroyStream(stream) != 0;
        bad |= aclrtResetDevice(3) != 0;
        atomic_fetch_add(failures, bad);
    }
    return NULL;
}

Test(context, many_threads_set_and_reset_one_device, .init = small_device, .timeout = 60)
{
    _Atomic int failures = 0;
    pthread_t threads[4];
    WORKS(aclrtSetDevice(3));
    for (int i = 0; i < 4; i++) {
        cr_assert(eq(int, pthread_create(&threads[i], NULL, set_and_reset, &failures), 0));
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    cr_assert(eq(int, failures, 0));
    WORKS(aclrtResetDevice(3));
    ANSWERS(507007, aclrtResetDevice(3));
}

// ---- options ----

Test(context, options_of_the_context_outrank_those_of_the_process, .init = on_device)
{
    int64_t value = -1;
    WORKS(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    cr_assert(eq(i64, value, 0));
    ANSWERS(107021, aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    WORKS(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
    WORKS(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 2));
    WORKS(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    cr_assert(eq(i64, value, 1));
    WORKS(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    cr_assert(eq(i64, value, 2));
    WORKS(aclrtSetSysParamOpt(ACL_OPT_ENABLE_KERNEL_EARLY_START, 5));
    ANSWERS(100000, aclrtCtxSetSysParamOpt(ACL_OPT_ENABLE_KERNEL_EARLY_START, 5));
    ANSWERS(100000, aclrtSetSysParamOpt((aclSysParamOpt)4, 5));
    ANSWERS(100000, aclrtGetSysParamOpt((aclSysParamOpt)-1, &value));
    ANSWERS(100000, aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, NULL));
    ANSWERS(100000, aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, NULL));
}

// ---- short memory ----

Test(context, creating_survives_every_failing_allocation, .init = on_device, .timeout = 60)
{
    aclrtContext context;
    int tries = 0;
    for (int64_t n = 0;; n++) {
        rp_alloc_fail_after(n);
        const int answer = aclrtCreateContext(&context, 0);
        const bool over = rp_alloc_fail_pending();
        rp_alloc_fail_after(-1);
        if (answer == 0) {
            WORKS(aclrtDestroyContext(context));
        } else {
            cr_assert(eq(int, answer, 207001));
            tries++;
        }
        if (over) {
            break;
        }
    }
    cr_assert(ge(int, tries, 2));
    WORKS(aclrtCreateContext(&context, 0));
    WORKS(aclrtDestroyContext(context));
}
