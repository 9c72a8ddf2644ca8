// Events: the three kinds, what may precede what, queries, times.

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "replay/event.h"
#include "replay/stream.h"
#include "support/acl_test.h"
#include "support/gate.h"

static aclrtStream new_stream(void)
{
    aclrtStream stream;
    WORKS(aclrtCreateStream(&stream));
    return stream;
}

static void count_up(void *arg)
{
    atomic_fetch_add((_Atomic int *)arg, 1);
}

static void nap(void *arg)
{
    (void)arg;
    const struct timespec time = { .tv_nsec = 20000000 };
    nanosleep(&time, NULL);
}

// ---- creation ----

Test(event, flags_of_each_kind, .init = on_device)
{
    aclrtEvent event;
    const uint32_t good[] = { 1, 2, 4, 8, 9, 11, 15, 0x10, 0x20 };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        WORKS(aclrtCreateEventWithFlag(&event, good[i]));
        WORKS(aclrtDestroyEvent(event));
    }
    const uint32_t bad[] = { 0, 0x11, 0x21, 0x30, 0x40, 0x80, UINT32_MAX };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ANSWERS(107000, aclrtCreateEventWithFlag(&event, bad[i]));
    }
    const uint32_t good_ex[] = { 1, 2, 4, 8, 9, 11, 15 };
    for (size_t i = 0; i < sizeof(good_ex) / sizeof(good_ex[0]); i++) {
        WORKS(aclrtCreateEventExWithFlag(&event, good_ex[i]));
        WORKS(aclrtDestroyEvent(event));
    }
    const uint32_t bad_ex[] = { 0, 0x10, 0x20, 0x41, 0x80 };
    for (size_t i = 0; i < sizeof(bad_ex) / sizeof(bad_ex[0]); i++) {
        ANSWERS(107000, aclrtCreateEventExWithFlag(&event, bad_ex[i]));
    }
    WORKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    WORKS(aclrtDestroyEvent(event));
}

Test(event, a_flag_of_the_other_kind_is_told_where_it_belongs, .init = on_device)
{
    aclrtEvent event;
    const char *said;
    (void)aclGetRecentErrMsg();
    ANSWERS(107000, aclrtCreateEventWithFlag(&event, ACL_EVENT_IPC));
    said = aclGetRecentErrMsg();
    cr_assert(ne(ptr, strstr(said, "flag 0x40"), NULL), "%s", said);
    cr_assert(ne(ptr, strstr(said, "is for aclrtCreateEventExWithFlag"), NULL), "%s", said);
    ANSWERS(107000, aclrtCreateEventExWithFlag(&event, ACL_EVENT_EXTERNAL));
    said = aclGetRecentErrMsg();
    cr_assert(ne(ptr, strstr(said, "are for aclrtCreateEventWithFlag"), NULL), "%s", said);
    ANSWERS(107000, aclrtCreateEventExWithFlag(&event, 0x80));
    said = aclGetRecentErrMsg();
    cr_assert(ne(ptr, strstr(said, "ACL_EVENT_SYNC"), NULL), "%s", said);
    cr_assert(eq(ptr, strstr(said, "for aclrtCreateEventWithFlag"), NULL), "%s", said);
}

Test(event, null_stale_and_foreign_handles, .init = on_device)
{
    aclrtEvent event;
    aclrtEvent other;
    aclrtEventStatus status;
    aclrtEventRecordedStatus recorded;
    aclrtEventWaitStatus waits;
    float ms;
    uint64_t stamp;
    uint32_t id;
    ANSWERS(100000, aclrtCreateEvent(NULL));
    ANSWERS(100000, aclrtCreateEventWithFlag(NULL, 1));
    ANSWERS(100000, aclrtCreateEventExWithFlag(NULL, 1));
    ANSWERS(100000, aclrtDestroyEvent(NULL));
    ANSWERS(100000, aclrtRecordEvent(NULL, NULL));
    ANSWERS(100000, aclrtRecordEventWithFlag(NULL, NULL, 0));
    ANSWERS(100000, aclrtResetEvent(NULL, NULL));
    ANSWERS(100000, aclrtStreamWaitEvent(NULL, NULL));
    ANSWERS(100000, aclrtStreamWaitEventWithFlag(NULL, NULL, 0, 0));
    ANSWERS(100000, aclrtQueryEvent(NULL, &status));
    ANSWERS(100000, aclrtQueryEventStatus(NULL, &recorded));
    ANSWERS(100000, aclrtQueryEventWaitStatus(NULL, &waits));
    ANSWERS(100000, aclrtSynchronizeEvent(NULL));
    ANSWERS(100000, aclrtGetEventId(NULL, &id));
    ANSWERS(100000, aclrtGetEventAvailNum(NULL));
    ANSWERS(100000, aclrtEventGetTimestamp(NULL, &stamp));
    WORKS(aclrtCreateEvent(&event));
    WORKS(aclrtCreateEvent(&other));
    ANSWERS(100000, aclrtQueryEvent(event, NULL));
    ANSWERS(100000, aclrtQueryEventStatus(event, NULL));
    ANSWERS(100000, aclrtQueryEventWaitStatus(event, NULL));
    ANSWERS(100000, aclrtGetEventId(event, NULL));
    ANSWERS(100000, aclrtEventElapsedTime(NULL, event, other));
    ANSWERS(100000, aclrtEventElapsedTime(&ms, NULL, other));
    ANSWERS(100000, aclrtEventElapsedTime(&ms, event, NULL));
    ANSWERS(100000, aclrtEventGetTimestamp(event, NULL));
    WORKS(aclrtDestroyEvent(event));
    ANSWERS(107017, aclrtDestroyEvent(event));
    ANSWERS(107017, aclrtRecordEvent(event, NULL));
    ANSWERS(107017, aclrtResetEvent(event, NULL));
    ANSWERS(107017, aclrtStreamWaitEvent(NULL, event));
    ANSWERS(107017, aclrtSynchronizeEvent(event));
    ANSWERS(107017, aclrtQueryEventStatus(event, &recorded));
    ANSWERS(107017, aclrtEventElapsedTime(&ms, other, event));
    ANSWERS(107017, aclrtRecordEvent(&ms, NULL));
    ANSWERS(107017, aclrtRecordEvent(other, &ms)); // the stream is none
}

static void with_65536_events(void)
{
    setenv("REPRISE_EVENT_LIMIT", "65536", 1);
    on_device();
}

Test(event, the_chips_limit_can_be_set, .init = with_65536_events, .timeout = 120)
{
    static aclrtEvent events[65536];
    aclrtEvent more;
    uint32_t left;
    WORKS(aclrtGetEventAvailNum(&left));
    cr_assert(eq(u32, left, 65536));
    for (int i = 0; i < 65536; i++) {
        WORKS(aclrtCreateEvent(&events[i]));
    }
    ANSWERS(207007, aclrtCreateEvent(&more));
    ANSWERS(207007, aclrtCreateEventWithFlag(&more, 1));
    WORKS(aclrtDestroyEvent(events[5]));
    WORKS(aclrtCreateEvent(&events[5]));
    for (int i = 0; i < 65536; i++) {
        WORKS(aclrtDestroyEvent(events[i]));
    }
    WORKS(aclrtGetEventAvailNum(&left));
    cr_assert(eq(u32, left, 65536));
}

Test(event, ids_differ, .init = on_device)
{
    aclrtEvent events[2];
    uint32_t ids[2];
    for (int i = 0; i < 2; i++) {
        WORKS(aclrtCreateEvent(&events[i]));
        WORKS(aclrtGetEventId(events[i], &ids[i]));
    }
    cr_assert(ne(u32, ids[0], ids[1]));
}

Test(event, creating_survives_every_failing_allocation, .init = on_device)
{
    for (int64_t n = 0;; n++) {
        aclrtEvent event = NULL;
        rp_alloc_fail_after(n);
        const int answer = aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC);
        const bool over = rp_alloc_fail_pending();
        rp_alloc_fail_after(-1);
        if (answer == 0) {
            WORKS(aclrtDestroyEvent(event));
        } else {
            cr_assert(eq(int, answer, 207001));
        }
        if (over) {
            cr_assert(ge(i64, n, 1));
            break;
        }
    }
    uint32_t left;
    WORKS(aclrtGetEventAvailNum(&left));
    cr_assert(eq(u32, left, 16777216));
}

// ---- order ----

Test(event, a_stream_waits_for_another_one, .init = on_device, .timeout = 30)
{
    static struct gate gate;
    const aclrtStream first = new_stream();
    const aclrtStream second = new_stream();
    aclrtEvent events[3];
    gate_init(&gate);
    WORKS(aclrtCreateEvent(&events[0]));
    WORKS(aclrtCreateEventWithFlag(&events[1], ACL_EVENT_SYNC));
    WORKS(aclrtCreateEventExWithFlag(&events[2], ACL_EVENT_SYNC));
    for (int i = 0; i < 3; i++) {
        _Atomic int ran = 0;
        aclrtEventRecordedStatus status;
        aclrtStreamStatus stream_status;
        WORKS(gate_put(&gate, first));
        WORKS(aclrtRecordEvent(events[i], first));
        WORKS(aclrtStreamWaitEvent(second, events[i]));
        WORKS(aclrtLaunchHostFunc(second, count_up, (void *)&ran));
        ANSWERS(507046, aclrtSynchronizeStreamWithTimeout(second, 20));
        WORKS(aclrtStreamQuery(second, &stream_status));
        cr_assert(eq(int, stream_status, ACL_STREAM_STATUS_NOT_READY));
        WORKS(aclrtQueryEventStatus(events[i], &status));
        cr_assert(eq(int, status, ACL_EVENT_RECORDED_STATUS_NOT_READY));
        cr_assert(eq(int, ran, 0));
        gate_open(&gate);
        WORKS(aclrtSynchronizeStream(second));
        cr_assert(eq(int, ran, 1));
        WORKS(aclrtQueryEventStatus(events[i], &status));
        cr_assert(eq(int, status, ACL_EVENT_RECORDED_STATUS_COMPLETE));
    }
}

Test(event, devices_wait_for_each_other, .init = on_device, .timeout = 30)
{
    static struct gate gate;
    const aclrtStream first = new_stream();
    aclrtEvent event;
    _Atomic int ran = 0;
    gate_init(&gate);
    WORKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    WORKS(gate_put(&gate, first));
    WORKS(aclrtRecordEvent(event, first));
    WORKS(aclrtSetDevice(1));
    const aclrtStream second = new_stream();
    WORKS(aclrtStreamWaitEvent(second, event));
    WORKS(aclrtLaunchHostFunc(second, count_up, (void *)&ran));
    ANSWERS(507046, aclrtSynchronizeStreamWithTimeout(second, 20));
    gate_open(&gate);
    WORKS(aclrtSynchronizeStreamWithTimeout(second, 10000));
    cr_assert(eq(int, ran, 1));
}

Test(event, a_plain_one_cannot_be_waited_for_before_its_record, .init = on_device)
{
    const aclrtStream stream = new_stream();
    aclrtEvent event;
    WORKS(aclrtCreateEvent(&event));
    ANSWERS(107000, aclrtStreamWaitEvent(stream, event));
    WORKS(aclrtRecordEvent(event, stream));
    WORKS(aclrtStreamWaitEvent(NULL, event));
    WORKS(aclrtSynchronizeDevice());
}

Test(event, the_newest_kind_never_recorded_is_complete, .init = on_device)
{
    const aclrtStream stream = new_stream();
    aclrtEvent event;
    aclrtEventRecordedStatus status;
    WORKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    WORKS(aclrtQueryEventStatus(event, &status));
    cr_assert(eq(int, status, ACL_EVENT_RECORDED_STATUS_COMPLETE));
    WORKS(aclrtSynchronizeEvent(event));
    WORKS(aclrtStreamWaitEvent(stream, event)); // no task
    WORKS(aclrtSynchronizeStream(stream));
}

Test(event, the_older_kinds_never_recorded_are_not_recorded, .init = on_device)
{
    aclrtEvent event;
    aclrtEventRecordedStatus status;
    aclrtEventStatus old_status;
    WORKS(aclrtCreateEvent(&event));
    WORKS(aclrtQueryEventStatus(event, &status));
    cr_assert(eq(int, status, ACL_EVENT_RECORDED_STATUS_NOT_READY));
    WORKS(aclrtQueryEvent(event, &old_status)); // nothing is under way
    cr_assert(eq(int, old_status, ACL_EVENT_STATUS_COMPLETE));
    WORKS(aclrtSynchronizeEvent(event));
}

// hccl_test's device-time mode: wait and reset are queued first, the host opens the gate later.
Test(event, a_flag_may_be_waited_for_before_its_record, .init = on_device, .timeout = 30)
{
    const aclrtStream stream = new_stream();
    const aclrtStream opener = new_stream();
    aclrtEvent event;
    _Atomic int ran = 0;
    WORKS(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    for (int i = 1; i <= 3; i++) { // reset by the stream itself, so again and again
        WORKS(aclrtStreamWaitEvent(stream, event));
        WORKS(aclrtResetEvent(event, stream));
        WORKS(aclrtLaunchHostFunc(stream, count_up, (void *)&ran));
        ANSWERS(507046, aclrtSynchronizeStreamWithTimeout(stream, 20));
        cr_assert(eq(int, ran, i - 1));
        WORKS(aclrtRecordEvent(event, opener));
        WORKS(aclrtSynchronizeStreamWithTimeout(stream, 10000));
        cr_assert(eq(int, ran, i));
    }
}

Test(event, a_flag_stays_set_until_reset, .init = on_device, .timeout = 30)
{
    const aclrtStream stream = new_stream();
    aclrtEvent event;
    WORKS(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    WORKS(aclrtRecordEvent(event, stream));
    WORKS(aclrtSynchronizeStream(stream));
    for (int i = 0; i < 3; i++) {
        WORKS(aclrtStreamWaitEvent(stream, event));
    }
    WORKS(aclrtSynchronizeStream(stream));
    WORKS(aclrtResetEvent(event, stream));
    WORKS(aclrtStreamWaitEventWithTimeout(stream, event, 1));
    ANSWERS(107019, aclrtSynchronizeStream(stream));
}

Test(event, each_record_of_the_newest_kind_replaces_the_last, .init = on_device, .timeout = 30)
{
    static struct gate gate;
    const aclrtStream first = new_stream();
    const aclrtStream second = new_stream();
    aclrtEvent event;
    aclrtEventRecordedStatus status;
    gate_init(&gate);
    WORKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    WORKS(aclrtRecordEvent(event, second));
    WORKS(aclrtSynchronizeStream(second));
    WORKS(aclrtQueryEventStatus(event, &status));
    cr_assert(eq(int, status, ACL_EVENT_RECORDED_STATUS_COMPLETE));
    WORKS(gate_put(&gate, first));
    WORKS(aclrtRecordEvent(event, first));
    WORKS(aclrtQueryEventStatus(event, &status));
    cr_assert(eq(int, status, ACL_EVENT_RECORDED_STATUS_NOT_READY));
    WORKS(aclrtStreamWaitEvent(first, event)); // on its own stream: no task
    gate_open(&gate);
    WORKS(aclrtSynchronizeEvent(event));
    WORKS(aclrtSynchronizeDevice());
}

Test(event, destroying_does_not_wait_and_disturbs_nothing, .init = on_device, .timeout = 30)
{
    static struct gate gate;
    const aclrtStream first = new_stream();
    const aclrtStream second = new_stream();
    aclrtEvent event;
    _Atomic int ran = 0;
    gate_init(&gate);
    WORKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    WORKS(gate_put(&gate, first));
    WORKS(aclrtRecordEvent(event, first));
    WORKS(aclrtStreamWaitEvent(second, event));
    WORKS(aclrtLaunchHostFunc(second, count_up, (void *)&ran));
    WORKS(aclrtDestroyEvent(event));
    gate_open(&gate);
    WORKS(aclrtSynchronizeStream(second));
    cr_assert(eq(int, ran, 1));
}

// ---- what the kinds refuse ----

Test(event, reset_is_for_flags, .init = on_device)
{
    aclrtEvent event;
    WORKS(aclrtCreateEvent(&event));
    ANSWERS(207000, aclrtResetEvent(event, NULL));
    WORKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    ANSWERS(207000, aclrtResetEvent(event, NULL));
    WORKS(aclrtCreateEventWithFlag(&event, ACL_EVENT_TIME_LINE));
    ANSWERS(207000, aclrtResetEvent(event, NULL));
    WORKS(aclrtCreateEventWithFlag(&event, ACL_EVENT_EXTERNAL));
    WORKS(aclrtResetEvent(event, NULL));
}

Test(event, without_order_no_stream_waits_for_it, .init = on_device)
{
    aclrtEvent event;
    WORKS(aclrtCreateEventWithFlag(&event, ACL_EVENT_TIME_LINE));
    WORKS(aclrtRecordEvent(event, NULL));
    ANSWERS(207000, aclrtStreamWaitEvent(NULL, event));
    WORKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_CAPTURE_STREAM_PROGRESS));
    ANSWERS(207000, aclrtStreamWaitEvent(NULL, event));
}

Test(event, device_only_ones_are_not_for_the_host, .init = on_device)
{
    aclrtEvent event;
    WORKS(aclrtCreateEventWithFlag(&event, ACL_EVENT_DEVICE_USE_ONLY));
    ANSWERS(107000, aclrtRecordEvent(event, NULL));
    ANSWERS(107000, aclrtStreamWaitEvent(NULL, event));
    ANSWERS(107000, aclrtResetEvent(event, NULL));
}

Test(event, external_ones_are_not_asked, .init = on_device)
{
    aclrtEvent event;
    aclrtEventStatus status;
    aclrtEventRecordedStatus recorded;
    aclrtEventWaitStatus waits;
    uint64_t stamp;
    float ms;
    WORKS(aclrtCreateEventWithFlag(&event, ACL_EVENT_EXTERNAL));
    WORKS(aclrtRecordEvent(event, NULL));
    ANSWERS(207000, aclrtSynchronizeEvent(event));
    ANSWERS(207000, aclrtSynchronizeEventWithTimeout(event, 5));
    ANSWERS(207000, aclrtQueryEvent(event, &status));
    ANSWERS(207000, aclrtQueryEventStatus(event, &recorded));
    ANSWERS(207000, aclrtQueryEventWaitStatus(event, &waits));
    ANSWERS(207000, aclrtEventGetTimestamp(event, &stamp));
    ANSWERS(207000, aclrtEventElapsedTime(&ms, event, event));
}

Test(event, the_newest_kind_refuses_the_old_queries, .init = on_device)
{
    aclrtEvent event;
    aclrtEventStatus status;
    aclrtEventWaitStatus waits;
    WORKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    ANSWERS(207000, aclrtQueryEvent(event, &status));
    ANSWERS(207000, aclrtQueryEventWaitStatus(event, &waits));
}

Test(event, external_flags, .init = on_device)
{
    aclrtEvent ex;
    aclrtEvent other;
    WORKS(aclrtCreateEventExWithFlag(&ex, ACL_EVENT_SYNC));
    ANSWERS(100000, aclrtRecordEventWithFlag(ex, NULL, 2));
    ANSWERS(100000, aclrtStreamWaitEventWithFlag(NULL, ex, 0, 2));
    ANSWERS(100000, aclrtStreamWaitEventWithFlag(NULL, ex, 1, ACL_EVENT_WAIT_EXTERNAL));
    ANSWERS(107029, aclrtRecordEventWithFlag(ex, NULL, ACL_EVENT_RECORD_EXTERNAL));
    ANSWERS(107000, aclrtRecordEvent(ex, NULL)); // fixed by the first use, though it failed
    ANSWERS(107029, aclrtStreamWaitEventWithFlag(NULL, ex, 0, ACL_EVENT_WAIT_EXTERNAL));
    ANSWERS(107000, aclrtStreamWaitEvent(NULL, ex));
    WORKS(aclrtCreateEventExWithFlag(&other, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
    ANSWERS(207000, aclrtRecordEventWithFlag(other, NULL, ACL_EVENT_RECORD_EXTERNAL));
    WORKS(aclrtCreateEventWithFlag(&other, ACL_EVENT_SYNC));
    ANSWERS(207000, aclrtStreamWaitEventWithFlag(NULL, other, 0, ACL_EVENT_WAIT_EXTERNAL));
    WORKS(aclrtRecordEventWithFlag(other, NULL, ACL_EVENT_RECORD_DEFAULT));
    WORKS(aclrtStreamWaitEventWithFlag(NULL, other, 5, ACL_EVENT_WAIT_DEFAULT));
    WORKS(aclrtSynchronizeDevice());
}

Test(event, streams_of_other_contexts_are_refused, .init = on_device)
{
    const aclrtStream stream = new_stream();
    aclrtEvent event;
    aclrtContext other;
    WORKS(aclrtCreateEvent(&event));
    WORKS(aclrtCreateContext(&other, 0));
    ANSWERS(107003, aclrtRecordEvent(event, stream));
    WORKS(aclrtRecordEvent(event, NULL));
    ANSWERS(107003, aclrtStreamWaitEvent(stream, event));
}

// ---- waiting and asking ----

Test(event, synchronising_waits_for_the_latest_record, .init = on_device, .timeout = 30)
{
    static struct gate gate;
    const aclrtStream stream = new_stream();
    aclrtEvent event;
    aclrtEventStatus status;
    gate_init(&gate);
    WORKS(aclrtCreateEvent(&event));
    WORKS(gate_put(&gate, stream));
    WORKS(aclrtRecordEvent(event, stream));
    ANSWERS(107000, aclrtSynchronizeEventWithTimeout(event, 0));
    ANSWERS(107000, aclrtSynchronizeEventWithTimeout(event, -2));
    ANSWERS(507047, aclrtSynchronizeEventWithTimeout(event, 20));
    WORKS(aclrtQueryEvent(event, &status));
    cr_assert(eq(int, status, ACL_EVENT_STATUS_NOT_READY));
    gate_open(&gate);
    WORKS(aclrtSynchronizeEventWithTimeout(event, 10000));
    WORKS(aclrtSynchronizeEventWithTimeout(event, -1));
    WORKS(aclrtQueryEvent(event, &status));
    cr_assert(eq(int, status, ACL_EVENT_STATUS_COMPLETE));
}

Test(event, waits_are_counted, .init = on_device, .timeout = 30)
{
    const aclrtStream stream = new_stream();
    const aclrtStream opener = new_stream();
    aclrtEvent event;
    aclrtEventWaitStatus status;
    WORKS(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    WORKS(aclrtQueryEventWaitStatus(event, &status));
    cr_assert(eq(int, status, ACL_EVENT_WAIT_STATUS_COMPLETE));
    WORKS(aclrtStreamWaitEvent(stream, event));
    WORKS(aclrtQueryEventWaitStatus(event, &status));
    cr_assert(eq(int, status, ACL_EVENT_WAIT_STATUS_NOT_READY));
    WORKS(aclrtRecordEvent(event, opener));
    WORKS(aclrtSynchronizeStream(stream));
    WORKS(aclrtQueryEventWaitStatus(event, &status));
    cr_assert(eq(int, status, ACL_EVENT_WAIT_STATUS_COMPLETE));
}

Test(event, a_wait_has_its_own_or_the_process_timeout, .init = on_device, .timeout = 30)
{
    const aclrtStream stream = new_stream();
    aclrtEvent event;
    WORKS(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    ANSWERS(107000, aclrtStreamWaitEventWithTimeout(stream, event, -1));
    WORKS(aclrtStreamWaitEventWithTimeout(stream, event, 1));
    ANSWERS(107019, aclrtSynchronizeStream(stream));
    WORKS(aclrtSetOpWaitTimeout(1));
    WORKS(aclrtStreamWaitEvent(stream, event));
    ANSWERS(107019, aclrtSynchronizeStream(stream));
}

struct from_callback {
    aclrtEvent event;
    int sync;
};

static void sync_from_callback(void *arg)
{
    struct from_callback *answers = arg;
    aclrtSetDevice(0);
    answers->sync = aclrtSynchronizeEvent(answers->event);
}

Test(event, a_callback_may_not_wait_for_one, .init = on_device, .timeout = 30)
{
    const aclrtStream stream = new_stream();
    struct from_callback answers = { .sync = 0 };
    WORKS(aclrtCreateEvent(&answers.event));
    WORKS(aclrtLaunchHostFunc(stream, sync_from_callback, &answers));
    WORKS(aclrtRecordEvent(answers.event, stream));
    WORKS(aclrtSynchronizeStream(stream));
    cr_assert(eq(int, answers.sync, 207006));
}

// A capture in effigy.
Test(event, captured_ones_are_not_asked, .init = on_device)
{
    aclrtEvent event;
    aclrtEvent plain;
    aclrtEventRecordedStatus recorded;
    float ms;
    uint64_t stamp;
    WORKS(aclrtCreateEvent(&plain));
    WORKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
    atomic_store(&rp_event_from_handle(event)->captured, &rp_submit_eager);
    ANSWERS(107028, aclrtSynchronizeEvent(event));
    ANSWERS(107028, aclrtSynchronizeEventWithTimeout(event, 5));
    ANSWERS(107028, aclrtQueryEventStatus(event, &recorded));
    ANSWERS(107028, aclrtEventGetTimestamp(event, &stamp));
    ANSWERS(107028, aclrtEventElapsedTime(&ms, event, plain));
    ANSWERS(107028, aclrtEventElapsedTime(&ms, plain, event));
    atomic_store(&rp_event_from_handle(event)->captured, NULL);
    WORKS(aclrtSynchronizeEvent(event));
}

// ---- times ----

Test(event, time_between_two, .init = on_device, .timeout = 30)
{
    const aclrtStream stream = new_stream();
    aclrtEvent start;
    aclrtEvent end;
    float ms = -1;
    uint64_t start_us;
    uint64_t end_us;
    WORKS(aclrtCreateEvent(&start));
    WORKS(aclrtCreateEventExWithFlag(&end, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
    WORKS(aclrtRecordEvent(start, stream));
    WORKS(aclrtLaunchHostFunc(stream, nap, NULL));
    WORKS(aclrtRecordEvent(end, stream));
    WORKS(aclrtSynchronizeStream(stream));
    WORKS(aclrtEventElapsedTime(&ms, start, end));
    cr_assert(all(ge(flt, ms, 20.0f), le(flt, ms, 5000.0f)));
    WORKS(aclrtEventGetTimestamp(start, &start_us));
    WORKS(aclrtEventGetTimestamp(end, &end_us));
    cr_assert(ge(u64, end_us - start_us, 20000 - 1));
    ANSWERS(107007, aclrtEventElapsedTime(&ms, end, start));
    WORKS(aclrtEventElapsedTime(&ms, start, start));
    cr_assert(eq(flt, ms, 0.0f));
}

Test(event, times_that_are_not_there, .init = on_device, .timeout = 30)
{
    static struct gate gate;
    const aclrtStream stream = new_stream();
    aclrtEvent event;
    aclrtEvent timeless;
    float ms;
    uint64_t stamp;
    gate_init(&gate);
    WORKS(aclrtCreateEvent(&event));
    WORKS(aclrtCreateEventWithFlag(&timeless, ACL_EVENT_SYNC));
    ANSWERS(107006, aclrtEventGetTimestamp(event, &stamp)); // never recorded
    WORKS(gate_put(&gate, stream));
    WORKS(aclrtRecordEvent(event, stream));
    WORKS(aclrtRecordEvent(timeless, stream));
    ANSWERS(107006, aclrtEventGetTimestamp(event, &stamp)); // not reached
    ANSWERS(107006, aclrtEventElapsedTime(&ms, event, event));
    gate_open(&gate);
    WORKS(aclrtSynchronizeStream(stream));
    WORKS(aclrtEventGetTimestamp(event, &stamp));
    ANSWERS(107006, aclrtEventGetTimestamp(timeless, &stamp));
    ANSWERS(107006, aclrtEventElapsedTime(&ms, event, timeless));
}

// ---- threads ----

struct ping_pong {
    aclrtEvent own;
    aclrtEvent other;
    bool serves;
    aclrtContext context;
    int bad;
};

static int await_other(struct ping_pong *game, aclrtStream stream)
{
    return aclrtStreamWaitEvent(stream, game->other) != 0 ||
           aclrtResetEvent(game->other, stream) != 0;
}

static void *ping(void *arg)
{
    struct ping_pong *game = arg;
    aclrtStream stream;
    game->bad = aclrtSetCurrentContext(game->context) != 0;
    game->bad |= aclrtCreateStream(&stream) != 0;
    for (int i = 0; i < 500; i++) {
        game->bad |= game->serves ? 0 : await_other(game, stream);
        game->bad |= aclrtRecordEvent(game->own, stream) != 0;
        game->bad |= game->serves ? await_other(game, stream) : 0;
    }
    game->bad |= aclrtSynchronizeStream(stream) != 0;
    game->bad |= aclrtDestroyStream(stream) != 0;
    return NULL;
}

Test(event, two_threads_play_through_flags, .init = on_device, .timeout = 60)
{
    struct ping_pong games[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        WORKS(aclrtGetCurrentContext(&games[i].context));
        WORKS(aclrtCreateEventWithFlag(&games[i].own, ACL_EVENT_SYNC));
        games[1 - i].other = games[i].own;
        games[i].serves = i == 0;
    }
    for (int i = 0; i < 2; i++) {
        cr_assert(eq(int, pthread_create(&threads[i], NULL, ping, &games[i]), 0));
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        cr_assert(eq(int, games[i].bad, 0));
    }
}
