// Streams: life, waiting, failures, attributes, configurations.

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "replay/stream.h"
#include "support/acl_test.h"
#include "support/gate.h"

static void sleep_ms(long ms)
{
    const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
    nanosleep(&time, NULL);
}

static void count_up(void *arg)
{
    atomic_fetch_add((_Atomic int *)arg, 1);
}

static void late_count_up(void *arg)
{
    sleep_ms(50);
    count_up(arg);
}

// ---- life ----

Test(stream, created_used_destroyed, .init = on_device)
{
    aclrtStream stream;
    int32_t id;
    WORKS(aclrtCreateStream(&stream));
    WORKS(aclrtStreamGetId(stream, &id));
    WORKS(aclrtSynchronizeStream(stream));
    WORKS(aclrtDestroyStream(stream));
    ANSWERS(107017, aclrtDestroyStream(stream));
    ANSWERS(107017, aclrtDestroyStreamForce(stream));
    ANSWERS(107017, aclrtSynchronizeStream(stream));
    ANSWERS(107017, aclrtStreamGetId(stream, &id));
    ANSWERS(107017, aclrtSetStreamFailureMode(stream, 1));
}

Test(stream, foreign_pointers_are_no_streams, .init = on_device)
{
    int foreign;
    aclrtEvent event;
    WORKS(aclrtCreateEvent(&event));
    ANSWERS(107017, aclrtSynchronizeStream(&foreign));
    ANSWERS(107017, aclrtSynchronizeStream((aclrtStream)1));
    ANSWERS(107017, aclrtSynchronizeStream(event));
    ANSWERS(107017, aclrtDestroyStream(event));
    WORKS(aclrtDestroyEvent(event));
}

Test(stream, null_pointers_are_refused, .init = on_device)
{
    aclrtStream stream;
    aclrtStreamStatus status;
    ANSWERS(100000, aclrtCreateStream(NULL));
    ANSWERS(100000, aclrtCreateStreamWithConfig(NULL, 0, 0));
    ANSWERS(100000, aclrtDestroyStream(NULL));
    ANSWERS(100000, aclrtDestroyStreamForce(NULL));
    ANSWERS(100000, aclrtStreamQuery(NULL, NULL));
    ANSWERS(100000, aclrtStreamGetId(NULL, NULL));
    ANSWERS(100000, aclrtStreamGetPriority(NULL, NULL));
    ANSWERS(100000, aclrtStreamGetFlags(NULL, NULL));
    ANSWERS(100000, aclrtGetStreamAvailableNum(NULL));
    ANSWERS(100000, aclrtSetStreamAttribute(NULL, ACL_STREAM_ATTR_PRIORITY, NULL));
    ANSWERS(100000, aclrtGetStreamAttribute(NULL, ACL_STREAM_ATTR_PRIORITY, NULL));
    ANSWERS(100000, aclrtGetStreamOverflowSwitch(NULL, NULL));
    ANSWERS(100000, aclrtCreateStreamV2(&stream, NULL));
    WORKS(aclrtStreamQuery(NULL, &status)); // the default stream
    cr_assert(eq(int, status, ACL_STREAM_STATUS_COMPLETE));
}

Test(stream, the_default_one_is_not_destroyable, .init = on_device)
{
    aclrtStream stream;
    WORKS(aclrtCtxGetCurrentDefaultStream(&stream));
    ANSWERS(107000, aclrtDestroyStream(stream));
    ANSWERS(107000, aclrtDestroyStreamForce(stream));
    WORKS(aclrtSynchronizeStream(stream));
}

Test(stream, belongs_to_its_context, .init = on_device)
{
    aclrtStream stream;
    aclrtContext other;
    _Atomic int ran = 0;
    WORKS(aclrtCreateStream(&stream));
    WORKS(aclrtCreateContext(&other, 0));
    ANSWERS(107003, aclrtSynchronizeStream(stream));
    ANSWERS(107003, aclrtLaunchHostFunc(stream, count_up, (void *)&ran));
    WORKS(aclrtDestroyStream(stream)); // destroying it is allowed from everywhere
    WORKS(aclrtDestroyContext(other));
    cr_assert(eq(int, ran, 0));
}

Test(stream, what_it_was_created_with, .init = on_device)
{
    aclrtStream stream;
    uint32_t value;
    WORKS(aclrtCreateStreamWithConfig(&stream, 3, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC));
    WORKS(aclrtStreamGetPriority(stream, &value));
    cr_assert(eq(u32, value, 3));
    WORKS(aclrtStreamGetFlags(stream, &value));
    cr_assert(eq(u32, value, 3));
    WORKS(aclrtDestroyStream(stream));
    WORKS(aclrtCreateStreamWithConfig(&stream, 1000, 0x10000 | ACL_STREAM_HUGE));
    WORKS(aclrtStreamGetPriority(stream, &value));
    cr_assert(eq(u32, value, 7)); // clamped
    WORKS(aclrtStreamGetFlags(stream, &value));
    cr_assert(eq(u32, value, ACL_STREAM_HUGE)); // unknown bits are dropped
    WORKS(aclrtDestroyStream(stream));
    ANSWERS(107000, aclrtCreateStreamWithConfig(
                            &stream, 0, ACL_STREAM_DEVICE_USE_ONLY | ACL_STREAM_FAST_SYNC));
}

Test(stream, ids_differ, .init = on_device)
{
    aclrtStream streams[8];
    int32_t ids[8];
    for (int i = 0; i < 8; i++) {
        WORKS(aclrtCreateStream(&streams[i]));
        WORKS(aclrtStreamGetId(streams[i], &ids[i]));
        for (int j = 0; j < i; j++) {
            cr_assert(ne(int, ids[i], ids[j]));
        }
    }
}

static void with_1984_streams(void)
{
    setenv("REPRISE_STREAM_LIMIT", "1984", 1);
    on_device();
}

Test(stream, a_device_has_more_streams_than_a_chip, .init = on_device, .timeout = 60)
{
    static aclrtStream streams[3000];
    for (int i = 0; i < 3000; i++) {
        WORKS(aclrtCreateStream(&streams[i]));
    }
    for (int i = 0; i < 3000; i++) {
        WORKS(aclrtDestroyStream(streams[i]));
    }
}

Test(stream, the_chips_limit_can_be_set, .init = with_1984_streams, .timeout = 60)
{
    static aclrtStream streams[1984];
    aclrtStream more;
    uint32_t left;
    WORKS(aclrtGetStreamAvailableNum(&left));
    cr_assert(eq(u32, left, 1984));
    for (int i = 0; i < 1984; i++) {
        WORKS(aclrtCreateStream(&streams[i]));
    }
    WORKS(aclrtGetStreamAvailableNum(&left));
    cr_assert(eq(u32, left, 0));
    ANSWERS(207008, aclrtCreateStream(&more));
    cr_assert(ne(ptr, strstr(aclGetRecentErrMsg(), "1984"), NULL));
    WORKS(aclrtDestroyStream(streams[77]));
    WORKS(aclrtCreateStream(&streams[77]));
    WORKS(aclrtSynchronizeDevice());
    for (int i = 0; i < 1984; i++) {
        WORKS(aclrtDestroyStream(streams[i]));
    }
}

Test(stream, creating_survives_every_failing_allocation, .init = on_device, .timeout = 60)
{
    int tries = 0;
    for (int64_t n = 0;; n++) {
        aclrtStream stream = NULL;
        rp_alloc_fail_after(n);
        const int answer = aclrtCreateStream(&stream);
        const bool over = rp_alloc_fail_pending();
        rp_alloc_fail_after(-1);
        if (answer == 0) {
            WORKS(aclrtDestroyStream(stream));
        } else {
            cr_assert(eq(int, answer, 207001));
            cr_assert(eq(ptr, stream, NULL));
            tries++;
        }
        if (over) {
            break;
        }
    }
    uint32_t left;
    WORKS(aclrtGetStreamAvailableNum(&left));
    cr_assert(eq(u32, left, 1048576));
    cr_assert(ge(int, tries, 1));
}

// ---- waiting ----

Test(stream, synchronising_waits_for_its_work, .init = on_device, .timeout = 30)
{
    aclrtStream stream;
    _Atomic int ran = 0;
    WORKS(aclrtCreateStream(&stream));
    for (int i = 0; i < 3; i++) {
        WORKS(aclrtLaunchHostFunc(stream, late_count_up, (void *)&ran));
    }
    WORKS(aclrtSynchronizeStream(stream));
    cr_assert(eq(int, ran, 3));
}

Test(stream, destroying_waits_for_its_work, .init = on_device, .timeout = 30)
{
    aclrtStream stream;
    _Atomic int ran = 0;
    WORKS(aclrtCreateStream(&stream));
    for (int i = 0; i < 3; i++) {
        WORKS(aclrtLaunchHostFunc(stream, late_count_up, (void *)&ran));
    }
    WORKS(aclrtDestroyStream(stream));
    cr_assert(eq(int, ran, 3));
}

Test(stream, forced_destroying_drops_what_is_queued, .init = on_device, .timeout = 30)
{
    aclrtStream stream;
    static struct gate gate; // a callback thread may still be in it at the end
    _Atomic int ran = 0;
    gate_init(&gate);
    WORKS(aclrtCreateStream(&stream));
    WORKS(gate_put(&gate, stream));
    WORKS(aclrtLaunchHostFunc(stream, count_up, (void *)&ran));
    WORKS(aclrtDestroyStreamForce(stream));
    ANSWERS(107017, aclrtSynchronizeStream(stream));
    gate_open(&gate);
    WORKS(aclrtResetDevice(0)); // waits for what is running
    cr_assert(eq(int, ran, 0));
}

Test(stream, waiting_ends_with_its_timeout, .init = on_device, .timeout = 30)
{
    aclrtStream stream;
    struct gate gate;
    gate_init(&gate);
    WORKS(aclrtCreateStream(&stream));
    WORKS(gate_put(&gate, stream));
    ANSWERS(107000, aclrtSynchronizeStreamWithTimeout(stream, 0));
    ANSWERS(107000, aclrtSynchronizeStreamWithTimeout(stream, -2));
    ANSWERS(107000, aclrtSynchronizeDeviceWithTimeout(0));
    ANSWERS(107000, aclrtSynchronizeDeviceWithTimeout(-2));
    ANSWERS(507046, aclrtSynchronizeStreamWithTimeout(stream, 20));
    ANSWERS(507046, aclrtSynchronizeDeviceWithTimeout(20));
    gate_open(&gate);
    WORKS(aclrtSynchronizeStreamWithTimeout(stream, 10000));
    WORKS(aclrtSynchronizeDeviceWithTimeout(10000));
    WORKS(aclrtSynchronizeStreamWithTimeout(stream, -1));
    WORKS(aclrtSynchronizeDeviceWithTimeout(-1));
}

Test(stream, a_query_does_not_wait, .init = on_device, .timeout = 30)
{
    aclrtStream stream;
    aclrtStreamStatus status;
    struct gate gate;
    gate_init(&gate);
    WORKS(aclrtCreateStream(&stream));
    WORKS(gate_put(&gate, stream));
    WORKS(aclrtStreamQuery(stream, &status));
    cr_assert(eq(int, status, ACL_STREAM_STATUS_NOT_READY));
    gate_open(&gate);
    for (int i = 0; i < 1000 && status != ACL_STREAM_STATUS_COMPLETE; i++) {
        sleep_ms(1);
        WORKS(aclrtStreamQuery(stream, &status));
    }
    cr_assert(eq(int, status, ACL_STREAM_STATUS_COMPLETE));
}

Test(stream, some_kinds_are_never_waited_for, .init = on_device, .timeout = 30)
{
    const uint32_t kinds[] = { ACL_STREAM_PERSISTENT, ACL_STREAM_DEVICE_USE_ONLY,
        ACL_STREAM_CPU_SCHEDULE };
    static struct gate gate; // a callback thread may still be in it at the end
    gate_init(&gate);
    for (int i = 0; i < 3; i++) {
        aclrtStream stream;
        aclrtStreamStatus status;
        WORKS(aclrtCreateStreamWithConfig(&stream, 0, kinds[i]));
        WORKS(gate_put(&gate, stream));
        WORKS(aclrtSynchronizeStream(stream));
        WORKS(aclrtStreamQuery(stream, &status));
        cr_assert(eq(int, status, ACL_STREAM_STATUS_COMPLETE));
    }
    WORKS(aclrtSynchronizeDevice());
    for (int i = 0; i < 3; i++) {
        gate_open(&gate);
    }
}

Test(stream, synchronising_the_device_waits_for_all_of_the_context, .init = on_device,
        .timeout = 30)
{
    aclrtStream streams[3];
    aclrtStream foreign;
    aclrtContext primary;
    aclrtContext other;
    static struct gate gate; // a callback thread may still be in it at the end
    _Atomic int ran = 0;
    gate_init(&gate);
    WORKS(aclrtGetCurrentContext(&primary));
    WORKS(aclrtCreateContext(&other, 0));
    WORKS(aclrtCreateStream(&foreign));
    WORKS(gate_put(&gate, foreign));
    WORKS(aclrtSetCurrentContext(primary));
    for (int i = 0; i < 3; i++) {
        WORKS(aclrtCreateStream(&streams[i]));
        WORKS(aclrtLaunchHostFunc(streams[i], late_count_up, (void *)&ran));
    }
    WORKS(aclrtLaunchHostFunc(NULL, late_count_up, (void *)&ran));
    WORKS(aclrtSynchronizeDevice()); // the other context's stream still stands
    cr_assert(eq(int, ran, 4));
    gate_open(&gate);
}

// ---- what a callback may not do ----

struct from_callback {
    aclrtStream stream;
    int sync;
    int sync_device;
    int destroy;
    int reset;
    int query;
};

static void call_from_callback(void *arg)
{
    struct from_callback *answers = arg;
    aclrtStreamStatus status;
    aclrtSetDevice(0); // a callback's thread has no context of its own
    answers->sync = aclrtSynchronizeStream(answers->stream);
    answers->sync_device = aclrtSynchronizeDevice();
    answers->destroy = aclrtDestroyStream(answers->stream);
    answers->query = aclrtStreamQuery(answers->stream, &status);
    answers->reset = aclrtResetDeviceForce(0);
}

Test(stream, a_callback_may_not_wait, .init = on_device, .timeout = 30)
{
    struct from_callback answers = { .sync = 0 };
    WORKS(aclrtCreateStream(&answers.stream));
    WORKS(aclrtLaunchHostFunc(answers.stream, call_from_callback, &answers));
    WORKS(aclrtSynchronizeStreamWithTimeout(answers.stream, 10000)); // on a thread of its own
    cr_assert(eq(int, answers.sync, 207006));
    cr_assert(eq(int, answers.sync_device, 207006));
    cr_assert(eq(int, answers.destroy, 207006));
    cr_assert(eq(int, answers.reset, 207006));
    cr_assert(eq(int, answers.query, 0));
    WORKS(aclrtSynchronizeStream(answers.stream)); // it is still there
}

// ---- failures ----

// A task that fails after a second: nobody records the event.
static void put_failure(aclrtStream stream)
{
    aclrtEvent event;
    WORKS(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    WORKS(aclrtStreamWaitEventWithTimeout(stream, event, 1));
    WORKS(aclrtDestroyEvent(event));
}

Test(stream, a_failure_is_told_once, .init = on_device, .timeout = 30)
{
    aclrtStream stream;
    _Atomic int ran = 0;
    WORKS(aclrtCreateStream(&stream));
    put_failure(stream);
    WORKS(aclrtLaunchHostFunc(stream, count_up, (void *)&ran));
    aclGetRecentErrMsg();
    cr_assert(eq(int, aclrtSynchronizeStream(stream), 107019));
    const char *text = aclGetRecentErrMsg();
    cr_assert(ne(ptr, (void *)text, NULL));
    cr_assert(ne(ptr, (void *)strstr(text, "waited"), NULL), "%s", text);
    cr_assert(eq(int, aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), 107019));
    WORKS(aclrtSynchronizeStream(stream));
    cr_assert(eq(int, ran, 1)); // the stream goes on
}

Test(stream, a_failure_is_told_by_a_query_too, .init = on_device, .timeout = 30)
{
    aclrtStream stream;
    aclrtStreamStatus status;
    int answer = 0;
    WORKS(aclrtCreateStream(&stream));
    put_failure(stream);
    for (int i = 0; i < 3000 && answer == 0; i++) {
        sleep_ms(1);
        answer = aclrtStreamQuery(stream, &status);
    }
    cr_assert(eq(int, answer, 107019));
    WORKS(aclrtStreamQuery(stream, &status));
    cr_assert(eq(int, status, ACL_STREAM_STATUS_COMPLETE));
}

Test(stream, a_failure_is_told_by_synchronising_the_device, .init = on_device, .timeout = 30)
{
    aclrtStream stream;
    WORKS(aclrtCreateStream(&stream));
    put_failure(stream);
    ANSWERS(107019, aclrtSynchronizeDevice());
    WORKS(aclrtSynchronizeDevice());
}

Test(stream, stop_on_failure_stops_the_context, .init = on_device, .timeout = 30)
{
    aclrtStream stream;
    aclrtStream neighbour;
    aclrtContext other;
    _Atomic int ran = 0;
    WORKS(aclrtCreateStream(&stream));
    WORKS(aclrtCreateStream(&neighbour));
    WORKS(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
    put_failure(stream);
    WORKS(aclrtLaunchHostFunc(stream, count_up, (void *)&ran));
    for (int i = 0; i < 3; i++) { // and keeps answering the first one
        ANSWERS(107019, aclrtSynchronizeStream(stream));
    }
    WORKS(aclrtLaunchHostFunc(neighbour, count_up, (void *)&ran));
    ANSWERS(107019, aclrtSynchronizeStream(neighbour));
    ANSWERS(107019, aclrtSynchronizeDevice());
    cr_assert(eq(int, ran, 0));
    WORKS(aclrtCreateContext(&other, 0)); // another context is not concerned
    WORKS(aclrtLaunchHostFunc(NULL, count_up, (void *)&ran));
    WORKS(aclrtSynchronizeDevice());
    cr_assert(eq(int, ran, 1));
}

Test(stream, stop_on_failure_ends_waits_that_have_begun, .init = on_device, .timeout = 30)
{
    aclrtStream stream;
    aclrtStream waiter;
    aclrtEvent event;
    WORKS(aclrtCreateStream(&stream));
    WORKS(aclrtCreateStream(&waiter));
    WORKS(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    WORKS(aclrtStreamWaitEvent(waiter, event)); // nobody records it
    WORKS(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
    put_failure(stream);
    ANSWERS(107019, aclrtSynchronizeStream(waiter));
    WORKS(aclrtDestroyStream(waiter));
    WORKS(aclrtDestroyStream(stream));
}

Test(stream, a_record_that_does_not_run_ends_the_waits_for_it, .init = on_device, .timeout = 30)
{
    aclrtStream stream;
    aclrtStream waiter;
    aclrtEvent event;
    static struct gate gate; // a callback thread may still be in it at the end
    gate_init(&gate);
    WORKS(aclrtCreateStream(&stream));
    WORKS(aclrtCreateStream(&waiter));
    WORKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    WORKS(gate_put(&gate, stream));
    WORKS(aclrtRecordEvent(event, stream));
    WORKS(aclrtStreamWaitEvent(waiter, event));
    WORKS(aclrtDestroyStreamForce(stream));
    gate_open(&gate);
    WORKS(aclrtSynchronizeEventWithTimeout(event, 10000));
    WORKS(aclrtSynchronizeStreamWithTimeout(waiter, 10000));
}

// ---- attributes ----

Test(stream, the_failure_mode_is_not_taken_back, .init = on_device)
{
    aclrtStream stream;
    aclrtStreamAttrValue value;
    WORKS(aclrtCreateStream(&stream));
    WORKS(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_FAILURE_MODE, &value));
    cr_assert(eq(u64, value.failureMode, ACL_CONTINUE_ON_FAILURE));
    ANSWERS(107000, aclrtSetStreamFailureMode(stream, 2));
    WORKS(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
    WORKS(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
    ANSWERS(107000, aclrtSetStreamFailureMode(stream, ACL_CONTINUE_ON_FAILURE));
    WORKS(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_FAILURE_MODE, &value));
    cr_assert(eq(u64, value.failureMode, ACL_STOP_ON_FAILURE));
    WORKS(aclrtSetStreamFailureMode(NULL, ACL_STOP_ON_FAILURE));
}

Test(stream, attributes, .init = on_device)
{
    aclrtStream stream;
    aclrtStreamAttrValue value;
    uint32_t flag;
    WORKS(aclrtCreateStream(&stream));
    value.overflowSwitch = 1;
    WORKS(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK, &value));
    WORKS(aclrtGetStreamOverflowSwitch(stream, &flag));
    cr_assert(eq(u32, flag, 1));
    WORKS(aclrtSetStreamOverflowSwitch(stream, 0));
    ANSWERS(100000, aclrtSetStreamOverflowSwitch(stream, 2));
    WORKS(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK, &value));
    cr_assert(eq(u32, value.overflowSwitch, 0));
    value.userCustomTag = 12345;
    WORKS(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value));
    value.userCustomTag = 0;
    WORKS(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value));
    cr_assert(eq(u32, value.userCustomTag, 12345));
    value.streamPriority = 5;
    WORKS(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_PRIORITY, &value));
    WORKS(aclrtStreamGetPriority(stream, &flag));
    cr_assert(eq(u32, flag, 5));
    value.streamPriority = 8;
    ANSWERS(107000, aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_PRIORITY, &value));
    value.cacheOpInfoSwitch = 1;
    WORKS(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_CACHE_OP_INFO, &value));
    WORKS(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_CACHE_OP_INFO, &value));
    cr_assert(eq(u32, value.cacheOpInfoSwitch, 0)); // 1 while it captures only
    value.cacheOpInfoSwitch = 2;
    ANSWERS(107000, aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_CACHE_OP_INFO, &value));
    ANSWERS(107000, aclrtSetStreamAttribute(stream, (aclrtStreamAttr)6, &value));
    ANSWERS(107000, aclrtGetStreamAttribute(stream, (aclrtStreamAttr)0, &value));
}

// A capture in effigy: what replay's checks read.
static void set_capturing(aclrtStream handle, enum rp_capture_status status)
{
    atomic_store(&rp_stream_from_handle(handle)->capture_status, status);
}

Test(stream, what_a_capturing_one_refuses, .init = on_device)
{
    aclrtStream stream;
    aclrtStreamStatus status;
    aclrtStreamAttrValue value = { .cacheOpInfoSwitch = 1 };
    WORKS(aclrtCreateStream(&stream));
    WORKS(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_CACHE_OP_INFO, &value));
    set_capturing(stream, RP_CAPTURE_ACTIVE);
    ANSWERS(107027, aclrtSynchronizeStream(stream));
    ANSWERS(107027, aclrtSynchronizeStreamWithTimeout(stream, 5));
    ANSWERS(107027, aclrtStreamQuery(stream, &status));
    ANSWERS(107027, aclrtSynchronizeDevice());
    ANSWERS(107027, aclrtSynchronizeDeviceWithTimeout(5));
    ANSWERS(107027, aclrtDestroyStream(stream));
    ANSWERS(107027, aclrtDestroyStreamForce(stream));
    ANSWERS(107027, aclrtSetStreamOverflowSwitch(stream, 1));
    ANSWERS(107027, aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value));
    WORKS(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_CACHE_OP_INFO, &value));
    WORKS(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_CACHE_OP_INFO, &value));
    cr_assert(eq(u32, value.cacheOpInfoSwitch, 1));
    ANSWERS(107027, aclrtStreamAbort(stream));
    set_capturing(stream, RP_CAPTURE_INVALIDATED);
    ANSWERS(107027, aclrtSynchronizeStream(stream));
    set_capturing(stream, RP_CAPTURE_NONE);
    WORKS(aclrtSynchronizeStream(stream));
    WORKS(aclrtDestroyStream(stream));
}

// ---- configurations ----

Test(stream, made_from_a_configuration, .init = on_device)
{
    aclrtStream stream;
    uint32_t priority = 2;
    size_t flag = ACL_STREAM_FAST_SYNC;
    uint32_t value;
    aclrtStreamConfigHandle *config = aclrtCreateStreamConfigHandle();
    cr_assert(ne(ptr, config, NULL));
    WORKS(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, &priority, sizeof(priority)));
    WORKS(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_FLAG, &flag, sizeof(flag)));
    ANSWERS(100000, aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_FLAG, &flag, 4));
    ANSWERS(100000, aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_FLAG, NULL, sizeof(flag)));
    ANSWERS(100000, aclrtSetStreamConfigOpt(config, (aclrtStreamConfigAttr)4, &flag, 8));
    ANSWERS(100000, aclrtSetStreamConfigOpt(NULL, ACL_RT_STREAM_FLAG, &flag, sizeof(flag)));
    WORKS(aclrtCreateStreamV2(&stream, config));
    WORKS(aclrtDestroyStreamConfigHandle(config));
    ANSWERS(107017, aclrtDestroyStreamConfigHandle(config));
    ANSWERS(107017, aclrtCreateStreamV2(&stream, config));
    ANSWERS(100000, aclrtDestroyStreamConfigHandle(NULL));
    WORKS(aclrtStreamGetPriority(stream, &value));
    cr_assert(eq(u32, value, 2));
    WORKS(aclrtStreamGetFlags(stream, &value));
    cr_assert(eq(u32, value, ACL_STREAM_FAST_SYNC));
    WORKS(aclrtDestroyStream(stream));
}

// ---- threads ----

static void *churn(void *arg)
{
    const intptr_t device = (intptr_t)arg;
    intptr_t bad = aclrtSetDevice((int32_t)device) != 0;
    for (int i = 0; i < 200; i++) {
        aclrtStream stream;
        _Atomic int ran = 0;
        bad |= aclrtCreateStream(&stream) != 0;
        bad |= aclrtLaunchHostFunc(stream, count_up, (void *)&ran) != 0;
        bad |= aclrtSynchronizeStream(stream) != 0;
        bad |= ran != 1;
        bad |= aclrtDestroyStream(stream) != 0;
    }
    return (void *)bad;
}

Test(stream, many_threads_create_and_destroy, .init = on_device, .timeout = 60)
{
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; i++) {
        cr_assert(eq(int, pthread_create(&threads[i], NULL, churn, (void *)(i / 2)), 0));
    }
    for (int i = 0; i < 4; i++) {
        void *bad;
        pthread_join(threads[i], &bad);
        cr_assert(eq(ptr, bad, NULL));
    }
}
