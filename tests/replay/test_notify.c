// Notifies, one-shot and counting: what a record does, when a wait ends, who holds what.

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "support/acl_test.h"
#include "support/gate.h"

#define ROUNDS 10000

static aclrtStream new_stream(void)
{
    aclrtStream stream;
    WORKS(aclrtCreateStream(&stream));
    return stream;
}

static aclrtNotify new_notify(void)
{
    aclrtNotify notify;
    WORKS(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
    return notify;
}

static aclrtCntNotify new_counter(void)
{
    aclrtCntNotify counter;
    WORKS(aclrtCntNotifyCreate(&counter, ACL_NOTIFY_DEFAULT));
    return counter;
}

static void nap_ms(unsigned ms)
{
    const struct timespec time = { .tv_nsec = (long)ms * 1000000 };
    nanosleep(&time, NULL);
}

static bool is_idle(aclrtStream stream)
{
    aclrtStreamStatus status;
    WORKS(aclrtStreamQuery(stream, &status));
    return status == ACL_STREAM_STATUS_COMPLETE;
}

static void ends(aclrtStream stream)
{
    WORKS(aclrtSynchronizeStreamWithTimeout(stream, 5000));
}

static void hangs(aclrtStream stream)
{
    nap_ms(3);
    cr_assert(not(is_idle(stream)));
}

static aclError record(aclrtCntNotify counter, aclrtStream stream, int mode, uint32_t value)
{
    aclrtCntNotifyRecordInfo info = { .mode = (aclrtCntNotifyRecordMode)mode, .value = value };
    return aclrtCntNotifyRecord(counter, stream, &info);
}

static aclError wait_for(aclrtCntNotify counter, aclrtStream stream, int mode, uint32_t value,
        bool clear, uint32_t timeout_s)
{
    aclrtCntNotifyWaitInfo info = {
        .mode = (aclrtCntNotifyWaitMode)mode,
        .value = value,
        .timeout = timeout_s,
        .isClear = clear,
    };
    return aclrtCntNotifyWaitWithTimeout(counter, stream, &info);
}

// ---- arguments ----

Test(notify, flags_nulls_and_stale_handles, .init = on_device)
{
    aclrtNotify notify;
    uint32_t id;
    int local = 0;
    WORKS(aclrtCreateNotify(&notify, ACL_NOTIFY_DEVICE_USE_ONLY));
    WORKS(aclrtDestroyNotify(notify));
    ANSWERS(100000, aclrtCreateNotify(NULL, 0));
    ANSWERS(107000, aclrtCreateNotify(&notify, 2));
    ANSWERS(107000, aclrtCreateNotify(&notify, UINT64_C(1) << 32));
    ANSWERS(100000, aclrtDestroyNotify(NULL));
    ANSWERS(100000, aclrtRecordNotify(NULL, NULL));
    ANSWERS(100000, aclrtWaitAndResetNotify(NULL, NULL, 0));
    ANSWERS(100000, aclrtGetNotifyId(NULL, &id));
    ANSWERS(100000, aclrtNotifyBatchReset(NULL, 1));
    ANSWERS(107017, aclrtDestroyNotify(notify));
    ANSWERS(107017, aclrtRecordNotify(notify, NULL));
    ANSWERS(107017, aclrtWaitAndResetNotify(notify, NULL, 0));
    ANSWERS(107017, aclrtGetNotifyId(notify, &id));
    ANSWERS(107017, aclrtNotifyBatchReset(&notify, 1));
    ANSWERS(107017, aclrtRecordNotify(&local, NULL));
    notify = new_notify();
    ANSWERS(100000, aclrtGetNotifyId(notify, NULL));
    ANSWERS(107000, aclrtNotifyBatchReset(&notify, 0));
    ANSWERS(107017, aclrtRecordNotify(notify, &local));
    ANSWERS(107017, aclrtWaitAndResetNotify(notify, &local, 0));
    cr_assert(ne(ptr, strstr(aclGetRecentErrMsg(), "stream"), NULL));
}

Test(notify, arguments_of_counters, .init = on_device)
{
    aclrtCntNotify counter;
    aclrtCntNotifyRecordInfo record_info = { .value = 1 };
    aclrtCntNotifyWaitInfo wait_info = { .value = 1 };
    uint32_t id;
    WORKS(aclrtCntNotifyCreate(&counter, ACL_NOTIFY_DEVICE_USE_ONLY));
    ANSWERS(100000, aclrtCntNotifyCreate(NULL, 0));
    ANSWERS(107000, aclrtCntNotifyCreate(&counter, 3));
    ANSWERS(100000, aclrtCntNotifyDestroy(NULL));
    ANSWERS(100000, aclrtCntNotifyRecord(NULL, NULL, &record_info));
    ANSWERS(100000, aclrtCntNotifyRecord(counter, NULL, NULL));
    ANSWERS(100000, aclrtCntNotifyWaitWithTimeout(NULL, NULL, &wait_info));
    ANSWERS(100000, aclrtCntNotifyWaitWithTimeout(counter, NULL, NULL));
    ANSWERS(100000, aclrtCntNotifyReset(NULL, NULL));
    ANSWERS(100000, aclrtCntNotifyGetId(NULL, &id));
    ANSWERS(100000, aclrtCntNotifyGetId(counter, NULL));
    const int bad_records[] = { -1, 3, 5, 256 };
    for (size_t i = 0; i < sizeof(bad_records) / sizeof(bad_records[0]); i++) {
        ANSWERS(107000, record(counter, NULL, bad_records[i], 1));
    }
    const int bad_waits[] = { -1, 5, 256 };
    for (size_t i = 0; i < sizeof(bad_waits) / sizeof(bad_waits[0]); i++) {
        ANSWERS(107000, wait_for(counter, NULL, bad_waits[i], 1, false, 0));
    }
    WORKS(aclrtCntNotifyDestroy(counter));
    ANSWERS(107017, aclrtCntNotifyDestroy(counter));
    ANSWERS(107017, aclrtCntNotifyRecord(counter, NULL, &record_info));
    ANSWERS(107017, aclrtCntNotifyReset(counter, NULL));
}

Test(notify, one_kind_is_not_the_other, .init = on_device)
{
    aclrtNotify notify = new_notify();
    aclrtCntNotify counter = new_counter();
    uint32_t id;
    aclrtNotify both[2] = { notify, counter };
    ANSWERS(107017, aclrtRecordNotify(counter, NULL));
    cr_assert(ne(ptr, strstr(aclGetRecentErrMsg(), "counting notify"), NULL));
    ANSWERS(107017, aclrtDestroyNotify(counter));
    ANSWERS(107017, aclrtGetNotifyId(counter, &id));
    ANSWERS(107017, aclrtNotifyBatchReset(both, 2));
    ANSWERS(107017, record(notify, NULL, 0, 1));
    ANSWERS(107017, aclrtCntNotifyReset(notify, NULL));
    ANSWERS(107017, aclrtCntNotifyDestroy(notify));
}

static void *call_without_context(void *notify)
{
    ANSWERS(107002, aclrtCreateNotify(&(aclrtNotify){ NULL }, 0));
    ANSWERS(107002, aclrtCntNotifyCreate(&(aclrtCntNotify){ NULL }, 0));
    ANSWERS(107002, aclrtRecordNotify(notify, NULL));
    return NULL;
}

Test(notify, needs_a_context, .init = on_device)
{
    pthread_t thread;
    cr_assert(eq(int, pthread_create(&thread, NULL, call_without_context, new_notify()), 0));
    pthread_join(thread, NULL);
}

Test(notify, ids_differ, .init = on_device)
{
    uint32_t id[3];
    for (int i = 0; i < 3; i++) {
        WORKS(aclrtGetNotifyId(new_notify(), &id[i]));
    }
    cr_assert(id[0] != id[1] && id[1] != id[2] && id[0] != id[2]);
    WORKS(aclrtCntNotifyGetId(new_counter(), &id[0]));
    WORKS(aclrtCntNotifyGetId(new_counter(), &id[1]));
    cr_assert(id[0] != id[1]);
}

// A chip has 8192.
Test(notify, a_device_has_many, .init = on_device, .timeout = 120)
{
    enum { MOST = 16 * 65536 };
    static aclrtNotify all[MOST];
    aclrtNotify more;
    for (int i = 0; i < MOST; i++) {
        const aclError error =
                i % 2 == 0 ? aclrtCreateNotify(&all[i], 0) : aclrtCntNotifyCreate(&all[i], 0);
        cr_assert(eq(int, error, 0), "notify %d", i);
    }
    ANSWERS(207009, aclrtCreateNotify(&more, 0));
    ANSWERS(207009, aclrtCntNotifyCreate(&more, 0));
    WORKS(aclrtSetDevice(1)); // another device has its own
    WORKS(aclrtCreateNotify(&more, 0));
    WORKS(aclrtSetDevice(0));
    WORKS(aclrtDestroyNotify(all[0]));
    WORKS(aclrtCntNotifyDestroy(all[1]));
    WORKS(aclrtCreateNotify(&all[0], 0));
    WORKS(aclrtRecordNotify(all[0], NULL));
    WORKS(aclrtWaitAndResetNotify(all[0], NULL, 5));
    ends(NULL);
}

// ---- one-shot ----

Test(notify, a_wait_takes_the_record_whichever_came_first, .init = on_device)
{
    aclrtNotify notify = new_notify();
    aclrtStream a = new_stream();
    aclrtStream b = new_stream();
    WORKS(aclrtRecordNotify(notify, a));
    ends(a);
    WORKS(aclrtWaitAndResetNotify(notify, b, 0));
    ends(b);
    WORKS(aclrtWaitAndResetNotify(notify, b, 0)); // it was reset
    hangs(b);
    WORKS(aclrtRecordNotify(notify, a));
    ends(b);
}

Test(notify, is_one_bit, .init = on_device)
{
    aclrtNotify notify = new_notify();
    aclrtStream a = new_stream();
    aclrtStream b = new_stream();
    WORKS(aclrtRecordNotify(notify, a));
    WORKS(aclrtRecordNotify(notify, a));
    ends(a);
    WORKS(aclrtWaitAndResetNotify(notify, b, 0));
    ends(b);
    WORKS(aclrtWaitAndResetNotify(notify, b, UINT32_MAX)); // for ever, too
    hangs(b);
    WORKS(aclrtRecordNotify(notify, NULL));
    ends(b);
}

Test(notify, a_record_waits_for_the_work_before_it, .init = on_device)
{
    struct gate gate;
    gate_init(&gate);
    aclrtNotify notify = new_notify();
    aclrtStream a = new_stream();
    aclrtStream b = new_stream();
    WORKS(gate_put(&gate, a));
    WORKS(aclrtRecordNotify(notify, a));
    WORKS(aclrtWaitAndResetNotify(notify, b, 0));
    hangs(b);
    gate_open(&gate);
    ends(b);
    ends(a);
}

Test(notify, one_record_ends_one_wait, .init = on_device)
{
    enum { WAITERS = 5 };
    aclrtStream stream[WAITERS];
    aclrtNotify notify = new_notify();
    for (int i = 0; i < WAITERS; i++) {
        stream[i] = new_stream();
        WORKS(aclrtWaitAndResetNotify(notify, stream[i], 0));
    }
    for (int over = 0; over <= WAITERS; over++) {
        const uint64_t begin_ns = rp_now_ns();
        int idle;
        do {
            nap_ms(3);
            idle = 0;
            for (int i = 0; i < WAITERS; i++) {
                idle += is_idle(stream[i]);
            }
        } while (idle < over && rp_now_ns() - begin_ns < RP_NS_PER_S);
        cr_assert(eq(int, idle, over));
        if (over < WAITERS) {
            WORKS(aclrtRecordNotify(notify, NULL));
        }
    }
}

Test(notify, a_batch_is_reset_or_left_alone, .init = on_device)
{
    aclrtNotify batch[3] = { new_notify(), new_notify(), new_notify() };
    aclrtNotify with_stale[3] = { batch[0], batch[1], new_notify() };
    aclrtStream stream = new_stream();
    WORKS(aclrtDestroyNotify(with_stale[2]));
    for (int i = 0; i < 3; i++) {
        WORKS(aclrtRecordNotify(batch[i], stream));
    }
    ends(stream);
    ANSWERS(107017, aclrtNotifyBatchReset(with_stale, 3));
    WORKS(aclrtWaitAndResetNotify(batch[0], stream, 0)); // still set
    ends(stream);
    WORKS(aclrtNotifyBatchReset(batch, 3));
    for (int i = 0; i < 3; i++) {
        WORKS(aclrtWaitAndResetNotify(batch[i], stream, 0));
        hangs(stream);
        WORKS(aclrtRecordNotify(batch[i], NULL));
        ends(stream);
    }
}

// ---- counting ----

enum { SET = 0, ADD = 1, OR = 2, AND = 4 };
enum { LESS = 0, EQUAL = 1, BIGGER = 2, BIGGER_OR_EQUAL = 3, MASK = 4 };

static const struct {
    uint32_t before;
    int mode;
    uint32_t value, after;
} records[] = {
    { 7, SET, 5, 5 },
    { 7, SET, 0, 0 },
    { 7, ADD, 5, 12 },
    { UINT32_MAX, ADD, 2, 1 },
    { 0x0f, OR, 0xf1, 0xff },
    { 0x3c, AND, 0x0f, 0x0c },
    { UINT32_MAX, AND, 0, 0 },
};

Test(notify, each_mode_of_a_record, .init = on_device)
{
    aclrtCntNotify counter = new_counter();
    aclrtStream stream = new_stream();
    for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
        WORKS(record(counter, stream, SET, records[i].before));
        WORKS(record(counter, stream, records[i].mode, records[i].value));
        WORKS(wait_for(counter, stream, EQUAL, records[i].after, false, 1));
        cr_assert(eq(int, aclrtSynchronizeStream(stream), 0), "record %zu", i);
    }
}

static const struct {
    uint32_t now;
    int mode;
    uint32_t value;
    bool over;
    uint32_t then; // what ends it
} waits[] = {
    { 4, LESS, 5, true, 0 },
    { 5, LESS, 5, false, 4 },
    { 5, EQUAL, 5, true, 0 },
    { 6, EQUAL, 5, false, 5 },
    { 6, BIGGER, 5, true, 0 },
    { 5, BIGGER, 5, false, UINT32_MAX },
    { 5, BIGGER_OR_EQUAL, 5, true, 0 },
    { UINT32_MAX, BIGGER_OR_EQUAL, 1, true, 0 }, // no sign
    { 4, BIGGER_OR_EQUAL, 5, false, 6 },
    { 0xff, MASK, 0x81, true, 0 },
    { 0x7f, MASK, 0x81, false, 0x81 },
    { 0, MASK, 0, true, 0 },
};

Test(notify, each_mode_of_a_wait, .init = on_device)
{
    aclrtCntNotify counter = new_counter();
    aclrtStream a = new_stream();
    aclrtStream b = new_stream();
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        WORKS(record(counter, a, SET, waits[i].now));
        ends(a);
        WORKS(wait_for(counter, b, waits[i].mode, waits[i].value, false, 0));
        if (!waits[i].over) {
            nap_ms(3);
            cr_assert(not(is_idle(b)), "wait %zu", i);
            WORKS(record(counter, a, SET, waits[i].then));
        }
        ends(b);
    }
}

Test(notify, a_wait_clears_only_if_asked_to, .init = on_device)
{
    aclrtCntNotify counter = new_counter();
    aclrtStream stream = new_stream();
    WORKS(record(counter, stream, SET, 9));
    WORKS(wait_for(counter, stream, BIGGER, 8, false, 0));
    WORKS(wait_for(counter, stream, EQUAL, 9, true, 0));
    WORKS(wait_for(counter, stream, EQUAL, 0, false, 1));
    WORKS(aclrtSynchronizeStream(stream));
}

Test(notify, a_reset_and_a_clear_end_waits_for_less, .init = on_device)
{
    aclrtCntNotify counter = new_counter();
    aclrtStream a = new_stream();
    aclrtStream b = new_stream();
    WORKS(record(counter, a, SET, 9));
    ends(a);
    WORKS(wait_for(counter, b, LESS, 1, false, 0));
    hangs(b);
    WORKS(aclrtCntNotifyReset(counter, a));
    ends(b);
    WORKS(record(counter, a, SET, 9));
    ends(a);
    WORKS(wait_for(counter, b, LESS, 1, false, 0));
    hangs(b);
    WORKS(wait_for(counter, a, EQUAL, 9, true, 0));
    ends(b);
}

// Many streams add, one takes what is there when it is enough.
Test(notify, counts_what_many_streams_add, .init = on_device, .timeout = 60)
{
    enum { STREAMS = 8, EACH = 500 };
    aclrtCntNotify counter = new_counter();
    aclrtStream taker = new_stream();
    WORKS(wait_for(counter, taker, EQUAL, STREAMS * EACH, true, 0));
    for (int i = 0; i < STREAMS; i++) {
        aclrtStream stream = new_stream();
        for (int j = 0; j < EACH; j++) {
            cr_assert(eq(int, record(counter, stream, ADD, 1), 0));
        }
    }
    WORKS(wait_for(counter, taker, EQUAL, 0, false, 5));
    WORKS(aclrtSynchronizeStreamWithTimeout(taker, 20000));
}

// ---- time ----

Test(notify, a_wait_times_out, .init = on_device, .timeout = 20)
{
    aclrtNotify notify = new_notify();
    aclrtCntNotify counter = new_counter();
    aclrtStream stream = new_stream();
    char expected[64];
    uint32_t id;
    uint64_t begin_ns = rp_now_ns();
    WORKS(aclrtWaitAndResetNotify(notify, stream, 1));
    ANSWERS(107019, aclrtSynchronizeStream(stream));
    cr_assert(ge(u64, rp_now_ns() - begin_ns, RP_NS_PER_S));
    cr_assert(lt(u64, rp_now_ns() - begin_ns, 3 * RP_NS_PER_S));
    WORKS(aclrtGetNotifyId(notify, &id));
    snprintf(expected, sizeof(expected), "for notify %u", id);
    cr_assert(ne(ptr, strstr(aclGetRecentErrMsg(), expected), NULL));

    begin_ns = rp_now_ns();
    WORKS(wait_for(counter, stream, EQUAL, 1, true, 1));
    ANSWERS(107019, aclrtSynchronizeStream(stream));
    cr_assert(lt(u64, rp_now_ns() - begin_ns, 3 * RP_NS_PER_S));
    WORKS(aclrtRecordNotify(notify, stream)); // the stream works on
    WORKS(aclrtWaitAndResetNotify(notify, stream, 1));
    ends(stream);
}

// ---- devices, lifetimes ----

Test(notify, devices_notify_each_other, .init = on_device)
{
    enum { TIMES = 200 };
    aclrtNotify there = new_notify();
    WORKS(aclrtSetDevice(1));
    aclrtNotify back = new_notify();
    aclrtStream b = new_stream();
    for (int i = 0; i < TIMES; i++) {
        WORKS(aclrtWaitAndResetNotify(there, b, 0));
        WORKS(aclrtRecordNotify(back, b));
    }
    WORKS(aclrtSetDevice(0));
    aclrtStream a = new_stream();
    for (int i = 0; i < TIMES; i++) {
        WORKS(aclrtRecordNotify(there, a));
        WORKS(aclrtWaitAndResetNotify(back, a, 0));
    }
    ends(a);
    WORKS(aclrtSetDevice(1));
    ends(b);
}

Test(notify, queued_tasks_keep_a_destroyed_notify, .init = on_device)
{
    struct gate gate;
    gate_init(&gate);
    aclrtNotify notify = new_notify();
    aclrtCntNotify counter = new_counter();
    aclrtStream a = new_stream();
    aclrtStream b = new_stream();
    WORKS(gate_put(&gate, a));
    WORKS(aclrtRecordNotify(notify, a));
    WORKS(record(counter, a, ADD, 3));
    WORKS(aclrtWaitAndResetNotify(notify, b, 0));
    WORKS(wait_for(counter, b, EQUAL, 3, true, 0));
    WORKS(aclrtCntNotifyReset(counter, b));
    WORKS(aclrtDestroyNotify(notify));
    WORKS(aclrtCntNotifyDestroy(counter));
    gate_open(&gate);
    ends(b);
    ends(a);
}

Test(notify, outlives_a_reset_of_its_device, .init = on_device)
{
    aclrtNotify notify = new_notify();
    WORKS(aclrtRecordNotify(notify, NULL));
    WORKS(aclrtSynchronizeStream(NULL));
    WORKS(aclrtResetDevice(0));
    WORKS(aclrtSetDevice(0));
    WORKS(aclrtWaitAndResetNotify(notify, NULL, 1));
    WORKS(aclrtSynchronizeStream(NULL));
    WORKS(aclrtDestroyNotify(notify));
}

Test(notify, a_waiting_stream_can_be_destroyed_by_force, .init = on_device, .timeout = 10)
{
    aclrtNotify notify = new_notify();
    aclrtNotify after = new_notify();
    aclrtStream stream = new_stream();
    WORKS(aclrtWaitAndResetNotify(notify, stream, 0));
    WORKS(aclrtRecordNotify(after, stream));
    ANSWERS(507046, aclrtSynchronizeStreamWithTimeout(stream, 20));
    WORKS(aclrtDestroyStreamForce(stream));
    WORKS(aclrtSynchronizeDevice());
    stream = new_stream();
    WORKS(aclrtWaitAndResetNotify(after, stream, 0)); // it never came to that
    hangs(stream);
    WORKS(aclrtResetDeviceForce(0));
}

Test(notify, a_context_that_stops_ends_a_wait, .init = on_device, .timeout = 10)
{
    aclrtNotify notify = new_notify();
    aclrtStream fails = new_stream();
    aclrtStream waits_on = new_stream();
    WORKS(aclrtSetStreamFailureMode(fails, ACL_STOP_ON_FAILURE));
    WORKS(aclrtWaitAndResetNotify(notify, waits_on, 0));
    WORKS(wait_for(new_counter(), fails, EQUAL, 1, false, 1));
    ANSWERS(107019, aclrtSynchronizeStream(fails));
    ANSWERS(107019, aclrtSynchronizeStream(waits_on));
}

// ---- two streams ----

struct court {
    aclrtNotify ping, pong;
    int *cells; // in device memory
};

static void *answer_pings(void *arg)
{
    struct court *court = arg;
    aclrtStream stream;
    int failed = aclrtSetDevice(0) != 0 || aclrtCreateStream(&stream) != 0;
    for (int i = 0; i < ROUNDS; i++) {
        failed |= aclrtWaitAndResetNotify(court->ping, stream, 0);
        failed |= aclrtMemcpyAsync(&court->cells[1], sizeof(int), &court->cells[0], sizeof(int),
                ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
        failed |= aclrtRecordNotify(court->pong, stream);
    }
    failed |= aclrtSynchronizeStream(stream);
    return (void *)(intptr_t)failed;
}

// What one stream writes the other copies, ten thousand times.
Test(notify, two_threads_play_ping_pong, .init = on_device, .timeout = 120)
{
    struct court court = { .ping = new_notify(), .pong = new_notify() };
    pthread_t thread;
    void *failed;
    int wrong = 0;
    WORKS(aclrtMalloc((void **)&court.cells, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(court.cells, 0, 8);
    cr_assert(eq(int, pthread_create(&thread, NULL, answer_pings, &court), 0));
    aclrtStream stream = new_stream();
    for (int i = 1; i <= ROUNDS; i++) {
        WORKS(aclrtMemsetD32Async(court.cells, 4, (uint32_t)i, 1, stream));
        WORKS(aclrtRecordNotify(court.ping, stream));
        WORKS(aclrtWaitAndResetNotify(court.pong, stream, 0));
        if (i % 64 == 0) {
            WORKS(aclrtSynchronizeStream(stream));
            wrong += court.cells[1] != i;
        }
    }
    WORKS(aclrtSynchronizeStream(stream));
    pthread_join(thread, &failed);
    cr_assert(eq(ptr, failed, NULL));
    cr_assert(eq(int, wrong, 0));
    cr_assert(eq(int, court.cells[1], ROUNDS));
}

// Both streams of one thread, everything queued before anything is waited for.
Test(notify, two_streams_of_a_thread_play_ping_pong, .init = on_device, .timeout = 120)
{
    aclrtNotify ping = new_notify();
    aclrtNotify pong = new_notify();
    aclrtStream a = new_stream();
    aclrtStream b = new_stream();
    for (int i = 0; i < ROUNDS; i++) {
        WORKS(aclrtWaitAndResetNotify(ping, b, 0));
        WORKS(aclrtRecordNotify(pong, b));
    }
    for (int i = 0; i < ROUNDS; i++) {
        WORKS(aclrtRecordNotify(ping, a));
        WORKS(aclrtWaitAndResetNotify(pong, a, 0));
    }
    WORKS(aclrtSynchronizeStreamWithTimeout(a, 60000));
    WORKS(aclrtSynchronizeStreamWithTimeout(b, 60000));
}
