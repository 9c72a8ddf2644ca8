// Values and notifies in graphs: every replay waits and records anew, against eager streams, other
// lanes and other graphs.

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "support/acl_test.h"

#define REPLAYS 1000
#define MODE ACL_MODEL_RI_CAPTURE_MODE_GLOBAL

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

static aclrtEvent new_event(void)
{
    aclrtEvent event;
    WORKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    return event;
}

// 32 bytes of a signal, or of data, all 0.
static uint64_t *new_words(void)
{
    void *words;
    WORKS(aclrtMallocAlign32(&words, 32, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclrtMemset(words, 32, 0, 32));
    return words;
}

static aclError copy_word(uint64_t *to, const uint64_t *from, aclrtStream stream)
{
    return aclrtMemcpyAsync(to, 8, from, 8, ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
}

static aclmdlRI end_capture(aclrtStream stream)
{
    aclmdlRI graph = NULL;
    WORKS(aclmdlRICaptureEnd(stream, &graph));
    return graph;
}

static void hangs(aclrtStream stream)
{
    ANSWERS(507046, aclrtSynchronizeStreamWithTimeout(stream, 5));
}

static void ends(aclrtStream stream)
{
    WORKS(aclrtSynchronizeStreamWithTimeout(stream, 5000));
}

// ---- values ----

// What a framework does: the graph waits for its word, clears it, and works.
static aclmdlRI capture_value_wait(
        aclrtStream stream, uint64_t *word, uint64_t *to, const uint64_t *from)
{
    WORKS(aclmdlRICaptureBegin(stream, MODE));
    WORKS(aclrtValueWait(word, 1, ACL_STREAM_WAIT_VALUE_EQ, stream));
    WORKS(aclrtValueWrite(word, 0, 0, stream));
    WORKS(copy_word(to, from, stream));
    return end_capture(stream);
}

Test(signal_capture, an_eager_write_releases_each_replay, .init = on_device, .timeout = 120)
{
    uint64_t *word = new_words();
    uint64_t *data = new_words();
    aclrtStream stream = new_stream();
    aclrtStream writes = new_stream();
    aclmdlRI graph = capture_value_wait(stream, word, &data[1], &data[0]);
    cr_assert(eq(u64, word[0], 0)); // nothing ran
    const uint64_t begin_ns = rp_now_ns();
    for (uint64_t i = 1; i <= REPLAYS; i++) {
        WORKS(aclmdlRIExecuteAsync(graph, stream));
        if (i % 100 == 0) {
            hangs(stream);
        }
        cr_assert(eq(u64, data[1], i - 1));
        data[0] = i;
        WORKS(aclrtValueWrite(word, 1, 0, writes));
        WORKS(aclrtSynchronizeStream(stream));
        cr_assert(eq(u64, data[1], i));
    }
    printf("%d held replays, %.0f us each\n", REPLAYS,
            (double)(rp_now_ns() - begin_ns) / REPLAYS / 1e3);
    WORKS(aclmdlRIDestroy(graph));
}

Test(signal_capture, a_store_of_the_host_releases_a_replay, .init = on_device, .timeout = 60)
{
    uint64_t *word = new_words();
    uint64_t *data = new_words();
    const struct timespec nap = { .tv_nsec = 15000000 };
    aclrtStream stream = new_stream();
    aclmdlRI graph = capture_value_wait(stream, word, &data[1], &data[0]);
    for (uint64_t i = 1; i <= 20; i++) {
        data[0] = i;
        WORKS(aclmdlRIExecuteAsync(graph, stream));
        nanosleep(&nap, NULL);
        atomic_store((_Atomic uint64_t *)word, 1);
        ends(stream);
        cr_assert(eq(u64, data[1], i));
    }
    WORKS(aclmdlRIDestroy(graph));
}

// One graph writes what the other waits for, and both are queued many times over.
Test(signal_capture, two_graphs_play_ping_pong, .init = on_device, .timeout = 120)
{
    uint64_t *words = new_words();
    uint64_t *data = new_words();
    aclrtStream a = new_stream();
    aclrtStream b = new_stream();
    WORKS(aclmdlRICaptureBegin(a, MODE));
    WORKS(aclrtValueWrite(&words[0], 1, 0, a));
    WORKS(aclrtValueWait(&words[1], 1, ACL_STREAM_WAIT_VALUE_EQ, a));
    WORKS(aclrtValueWrite(&words[1], 0, 0, a));
    WORKS(copy_word(&data[0], &data[1], a));
    aclmdlRI serve = end_capture(a);
    WORKS(aclmdlRICaptureBegin(b, MODE));
    WORKS(aclrtValueWait(&words[0], 1, ACL_STREAM_WAIT_VALUE_EQ, b));
    WORKS(aclrtValueWrite(&words[0], 0, 0, b));
    WORKS(aclrtMemsetAsync(&data[1], 8, 0x5a, 8, b));
    WORKS(aclrtValueWrite(&words[1], 1, 0, b));
    aclmdlRI back = end_capture(b);
    for (int i = 0; i < REPLAYS; i++) {
        WORKS(aclmdlRIExecuteAsync(serve, a));
        WORKS(aclmdlRIExecuteAsync(back, b));
    }
    WORKS(aclrtSynchronizeStreamWithTimeout(a, 60000));
    WORKS(aclrtSynchronizeStreamWithTimeout(b, 60000));
    cr_assert(eq(u64, data[0], UINT64_C(0x5a5a5a5a5a5a5a5a)));
    cr_assert(eq(u64, words[0] | words[1], 0));
    WORKS(aclmdlRIDestroy(serve));
    WORKS(aclmdlRIDestroy(back));
}

Test(signal_capture, bad_arguments_leave_the_capture_valid, .init = on_device)
{
    uint64_t *word = new_words();
    uint64_t local = 0;
    aclrtNotify notify = new_notify();
    aclrtCntNotifyWaitInfo bad = { .mode = (aclrtCntNotifyWaitMode)9 };
    aclrtCntNotify counter;
    aclrtStream stream = new_stream();
    WORKS(aclrtCntNotifyCreate(&counter, 0));
    WORKS(aclmdlRICaptureBegin(stream, MODE));
    ANSWERS(100000, aclrtValueWrite(NULL, 1, 0, stream));
    ANSWERS(107000, aclrtValueWait((char *)word + 4, 1, 0, stream));
    ANSWERS(107000, aclrtValueWrite(&local, 1, 0, stream));
    ANSWERS(107017, aclrtRecordNotify(counter, stream));
    ANSWERS(107000, aclrtCntNotifyWaitWithTimeout(counter, stream, &bad));
    WORKS(aclrtNotifyBatchReset(&notify, 1)); // of the host: not captured
    WORKS(aclrtValueWrite(word, 3, 0, stream));
    aclmdlRI graph = end_capture(stream);
    WORKS(aclmdlRIExecuteAsync(graph, stream));
    ends(stream);
    cr_assert(eq(u64, word[0], 3));
    WORKS(aclmdlRIDestroy(graph));
}

// Events of several processes stay outside of graphs.
Test(signal_capture, refuses_events_of_several_processes, .init = on_device)
{
    aclrtEvent event;
    aclrtStream stream = new_stream();
    WORKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    WORKS(aclrtRecordEvent(event, stream));
    WORKS(aclmdlRICaptureBegin(stream, MODE));
    ANSWERS(207000, aclrtRecordEvent(event, stream));
    ANSWERS(207000, aclrtStreamWaitEvent(stream, event));
    WORKS(aclrtSynchronizeEvent(event));
    aclmdlRI graph = end_capture(stream);
    WORKS(aclmdlRIExecuteAsync(graph, stream));
    ends(stream);
    WORKS(aclmdlRIDestroy(graph));
}

// ---- notifies ----

// a forks b; b works and notifies a. The wait of a is what orders the two copies.
Test(signal_capture, forked_streams_notify_each_other, .init = on_device, .timeout = 120)
{
    uint64_t *data = new_words();
    aclrtNotify there = new_notify();
    aclrtNotify back = new_notify();
    aclrtEvent fork = new_event();
    aclrtEvent join = new_event();
    aclrtStream a = new_stream();
    aclrtStream b = new_stream();
    WORKS(aclmdlRICaptureBegin(a, MODE));
    WORKS(aclrtRecordEvent(fork, a));
    WORKS(aclrtStreamWaitEvent(b, fork));
    WORKS(copy_word(&data[1], &data[0], a));
    WORKS(aclrtRecordNotify(there, a));
    WORKS(aclrtWaitAndResetNotify(back, a, 5));
    WORKS(copy_word(&data[3], &data[2], a));
    WORKS(aclrtWaitAndResetNotify(there, b, 5));
    WORKS(copy_word(&data[2], &data[1], b));
    WORKS(aclrtRecordNotify(back, b));
    WORKS(aclrtRecordEvent(join, b));
    WORKS(aclrtStreamWaitEvent(a, join));
    aclmdlRI graph = end_capture(a);
    WORKS(aclrtDestroyNotify(there)); // the graph keeps both
    WORKS(aclrtDestroyNotify(back));
    for (uint64_t i = 1; i <= REPLAYS; i++) {
        data[0] = i;
        WORKS(aclmdlRIExecuteAsync(graph, b));
        WORKS(aclrtSynchronizeStream(b));
        cr_assert(eq(u64, data[3], i));
    }
    WORKS(aclmdlRIDestroy(graph));
}

Test(signal_capture, another_streams_record_releases_a_replay, .init = on_device, .timeout = 60)
{
    uint64_t *data = new_words();
    aclrtNotify go = new_notify();
    aclrtNotify done = new_notify();
    aclrtStream stream = new_stream();
    aclrtStream eager = new_stream();
    WORKS(aclmdlRICaptureBegin(stream, MODE));
    WORKS(aclrtWaitAndResetNotify(go, stream, 0));
    WORKS(copy_word(&data[1], &data[0], stream));
    WORKS(aclrtRecordNotify(done, stream));
    aclmdlRI graph = end_capture(stream);
    // Recorded before, while it waits, and from another device.
    for (uint64_t i = 1; i <= 300; i++) {
        data[0] = i;
        if (i % 3 == 0) {
            WORKS(aclrtRecordNotify(go, eager));
        }
        WORKS(aclmdlRIExecuteAsync(graph, stream));
        if (i % 3 == 1) {
            WORKS(aclrtRecordNotify(go, eager));
        } else if (i % 3 == 2) {
            WORKS(aclrtSetDevice(1));
            WORKS(aclrtRecordNotify(go, NULL));
            WORKS(aclrtSetDevice(0));
        }
        WORKS(aclrtWaitAndResetNotify(done, eager, 5));
        WORKS(aclrtSynchronizeStream(eager));
        cr_assert(eq(u64, data[1], i));
    }
    ends(stream);
    WORKS(aclmdlRIDestroy(graph));
}

Test(signal_capture, a_counter_counts_replays, .init = on_device, .timeout = 60)
{
    aclrtCntNotify counter;
    aclrtStream stream = new_stream();
    aclrtStream taker = new_stream();
    aclrtCntNotifyRecordInfo add = { .mode = ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, .value = 2 };
    aclrtCntNotifyWaitInfo all = {
        .mode = ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE,
        .value = 200,
        .isClear = 1,
    };
    aclrtCntNotifyWaitInfo none = {
        .mode = ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE,
        .value = 1,
        .timeout = 5,
    };
    WORKS(aclrtCntNotifyCreate(&counter, 0));
    WORKS(aclmdlRICaptureBegin(stream, MODE));
    WORKS(aclrtCntNotifyRecord(counter, stream, &add));
    aclmdlRI graph = end_capture(stream);
    WORKS(aclmdlRICaptureBegin(taker, MODE));
    WORKS(aclrtCntNotifyWaitWithTimeout(counter, taker, &all));
    WORKS(aclrtCntNotifyWaitWithTimeout(counter, taker, &none));
    aclmdlRI take = end_capture(taker);
    for (int round = 0; round < 5; round++) {
        WORKS(aclmdlRIExecuteAsync(take, taker));
        for (int i = 0; i < 99; i++) {
            WORKS(aclmdlRIExecuteAsync(graph, stream));
        }
        ends(stream);
        hangs(taker);
        WORKS(aclmdlRIExecuteAsync(graph, stream));
        ends(taker);
    }
    WORKS(aclmdlRICaptureBegin(stream, MODE));
    WORKS(aclrtCntNotifyReset(counter, stream));
    aclmdlRI reset = end_capture(stream);
    WORKS(aclrtCntNotifyRecord(counter, stream, &add));
    WORKS(aclrtCntNotifyWaitWithTimeout(counter, taker, &none));
    ends(stream);
    hangs(taker);
    WORKS(aclmdlRIExecuteAsync(reset, stream));
    ends(taker);
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclmdlRIDestroy(take));
    WORKS(aclmdlRIDestroy(reset));
}

// ---- waits that fail, or that nobody ends ----

Test(signal_capture, a_wait_that_times_out_fails_its_replay_only, .init = on_device, .timeout = 60)
{
    uint64_t *data = new_words();
    aclrtNotify notify = new_notify();
    aclrtStream stream = new_stream();
    WORKS(aclmdlRICaptureBegin(stream, MODE));
    WORKS(aclrtWaitAndResetNotify(notify, stream, 1));
    WORKS(aclrtMemsetAsync(data, 8, 1, 1, stream));
    aclmdlRI graph = end_capture(stream);
    WORKS(aclmdlRIExecuteAsync(graph, stream));
    ANSWERS(107019, aclrtSynchronizeStream(stream));
    cr_assert(ne(ptr, strstr(aclGetRecentErrMsg(), "for notify"), NULL));
    cr_assert(eq(u64, data[0], 0));
    WORKS(aclrtRecordNotify(notify, stream));
    WORKS(aclmdlRIExecuteAsync(graph, stream));
    ends(stream);
    cr_assert(eq(u64, data[0], 1));
    WORKS(aclmdlRIDestroy(graph));
}

Test(signal_capture, a_held_replay_ends_with_its_stream, .init = on_device, .timeout = 30)
{
    uint64_t *word = new_words();
    uint64_t *data = new_words();
    aclrtStream stream = new_stream();
    aclmdlRI graph = capture_value_wait(stream, word, &data[1], &data[0]);
    data[0] = 7;
    WORKS(aclmdlRIExecuteAsync(graph, stream));
    hangs(stream);
    WORKS(aclrtDestroyStreamForce(stream));
    stream = new_stream();
    WORKS(aclrtValueWrite(word, 1, 0, stream)); // for the next replay
    WORKS(aclmdlRIExecuteAsync(graph, stream));
    ends(stream);
    cr_assert(eq(u64, data[1], 7));
    WORKS(aclmdlRIDestroy(graph));
}
