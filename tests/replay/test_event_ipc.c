// Events of several processes (ACL_EVENT_IPC): recorded here, waited for there.

#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "support/gate.h"
#include "support/process_pair.h"

#define ROUNDS 200

static aclrtEvent new_event(void)
{
    aclrtEvent event;
    WORKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    return event;
}

static aclrtEvent tell_event(int fd)
{
    aclrtEvent event = new_event();
    aclrtIpcEventHandle handle;
    WORKS(aclrtIpcGetEventHandle(event, &handle));
    cr_assert(tell(fd, &handle, sizeof(handle)));
    return event;
}

static bool hear_event(int fd, aclrtEvent *event)
{
    aclrtIpcEventHandle handle;
    return hear(fd, &handle, sizeof(handle)) && aclrtIpcOpenEventHandle(handle, event) == 0;
}

static aclrtEventRecordedStatus status_of(aclrtEvent event)
{
    aclrtEventRecordedStatus status;
    WORKS(aclrtQueryEventStatus(event, &status));
    return status;
}

// ---- two processes ----

// Waits for what the parent has recorded and not reached, by its stream and by itself.
static int wait_for_parent(void *arg)
{
    struct pair *pair = arg;
    aclrtStream stream;
    aclrtEvent go;
    aclrtEvent done;
    aclrtEventRecordedStatus status;
    char said;
    const int failed = pair_child(&stream);
    if (failed != 0 || !hear_event(pair->end[1], &go) || !hear_event(pair->end[1], &done)) {
        return 10;
    }
    // Nobody has recorded it.
    MUST(0, 3, aclrtQueryEventStatus(go, &status));
    MUST(ACL_EVENT_RECORDED_STATUS_COMPLETE, 4, (int)status);
    MUST(0, 5, aclrtStreamWaitEvent(stream, go));
    MUST(0, 6, aclrtSynchronizeStream(stream));
    if (!tell(pair->end[1], "", 1) || !hear(pair->end[1], &said, 1)) {
        return 11;
    }
    MUST(0, 7, aclrtQueryEventStatus(go, &status));
    MUST(ACL_EVENT_RECORDED_STATUS_NOT_READY, 8, (int)status);
    MUST(507047, 9, aclrtSynchronizeEventWithTimeout(go, 20));
    MUST(0, 12, aclrtStreamWaitEvent(stream, go));
    MUST(0, 13, aclrtLaunchHostFunc(stream, pair_count, (void *)pair->count));
    MUST(0, 14, aclrtRecordEvent(done, stream));
    if (!tell(pair->end[1], "", 1)) {
        return 15;
    }
    MUST(0, 16, aclrtSynchronizeEvent(go)); // by itself
    MUST(0, 17, aclrtSynchronizeStream(stream));
    MUST(0, 18, aclrtDestroyEvent(go));
    MUST(0, 19, aclrtDestroyEvent(done));
    return 0;
}

Test(event_ipc, a_process_waits_for_another, .timeout = 60)
{
    struct pair pair;
    struct gate gate;
    aclrtStream stream;
    char said;
    pair_begin(&pair, wait_for_parent);
    gate_init(&gate);
    aclrtEvent go = tell_event(pair.end[0]);
    aclrtEvent done = tell_event(pair.end[0]);
    WORKS(aclrtCreateStream(&stream));
    cr_assert(hear(pair.end[0], &said, 1));
    WORKS(gate_put(&gate, stream));
    WORKS(aclrtRecordEvent(go, stream));
    cr_assert(tell(pair.end[0], "", 1) && hear(pair.end[0], &said, 1));
    cr_assert(eq(int, (int)status_of(go), ACL_EVENT_RECORDED_STATUS_NOT_READY));
    cr_assert(eq(int, (int)status_of(done), ACL_EVENT_RECORDED_STATUS_NOT_READY));
    cr_assert(eq(int, atomic_load(pair.count), 0));
    gate_open(&gate);
    WORKS(aclrtSynchronizeEventWithTimeout(done, 20000));
    cr_assert(eq(int, atomic_load(pair.count), 1));
    cr_assert(eq(int, (int)status_of(go), ACL_EVENT_RECORDED_STATUS_COMPLETE));
    pair_end(&pair);
    WORKS(aclrtDestroyEvent(go));
    WORKS(aclrtDestroyEvent(done));
}

// Records and waits in turns; who records next says so over the socket.
static int record_back(void *arg)
{
    struct pair *pair = arg;
    aclrtStream stream;
    aclrtEvent there;
    aclrtEvent back;
    char said;
    const int failed = pair_child(&stream);
    if (failed != 0 || !hear_event(pair->end[1], &there) || !hear_event(pair->end[1], &back)) {
        return 10;
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (!hear(pair->end[1], &said, 1)) {
            return 11;
        }
        MUST(0, 3, aclrtStreamWaitEvent(stream, there));
        MUST(0, 4, aclrtLaunchHostFunc(stream, pair_count, (void *)pair->count));
        MUST(0, 5, aclrtRecordEvent(back, stream));
        if (!tell(pair->end[1], "", 1)) {
            return 12;
        }
    }
    MUST(0, 6, aclrtSynchronizeStream(stream));
    return 0;
}

Test(event_ipc, two_processes_order_their_streams, .timeout = 60)
{
    struct pair pair;
    aclrtStream stream;
    char said;
    pair_begin(&pair, record_back);
    aclrtEvent there = tell_event(pair.end[0]);
    aclrtEvent back = tell_event(pair.end[0]);
    WORKS(aclrtCreateStream(&stream));
    for (int i = 1; i <= ROUNDS; i++) {
        WORKS(aclrtLaunchHostFunc(stream, pair_count, (void *)pair.count));
        WORKS(aclrtRecordEvent(there, stream));
        cr_assert(tell(pair.end[0], "", 1) && hear(pair.end[0], &said, 1));
        WORKS(aclrtStreamWaitEvent(stream, back));
        if (i % 10 == 0) {
            WORKS(aclrtSynchronizeStream(stream));
            cr_assert(eq(int, atomic_load(pair.count), 2 * i));
        }
    }
    pair_end(&pair);
}

// The child's stream and its own thread sleep, and are rung.
static int wait_asleep(void *arg)
{
    struct pair *pair = arg;
    aclrtStream stream;
    aclrtEvent event;
    char said;
    const int failed = pair_child(&stream);
    if (failed != 0 || !hear_event(pair->end[1], &event)) {
        return 10;
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (!hear(pair->end[1], &said, 1)) {
            return 11;
        }
        MUST(0, 3, aclrtSynchronizeEvent(event));
        atomic_fetch_add(pair->count, 1);
    }
    return 0;
}

Test(event_ipc, a_record_wakes_another_process, .timeout = 60)
{
    struct pair pair;
    const struct timespec nap = { .tv_nsec = 2000000 };
    const struct timespec moment = { .tv_nsec = 20000 };
    uint64_t total_ns = 0;
    struct gate gate;
    aclrtStream stream;
    pair_begin(&pair, wait_asleep);
    aclrtEvent event = tell_event(pair.end[0]);
    gate_init(&gate);
    WORKS(aclrtCreateStream(&stream));
    for (int i = 1; i <= ROUNDS; i++) {
        WORKS(gate_put(&gate, stream));
        WORKS(aclrtRecordEvent(event, stream));
        cr_assert(tell(pair.end[0], "", 1));
        nanosleep(&nap, NULL);
        cr_assert(eq(int, atomic_load(pair.count), i - 1));
        const uint64_t begin_ns = rp_now_ns();
        gate_open(&gate);
        while (atomic_load(pair.count) != i) {
            nanosleep(&moment, NULL);
        }
        total_ns += rp_now_ns() - begin_ns;
    }
    printf("a record wakes another process in %.0f us\n", (double)total_ns / ROUNDS / 1e3);
    cr_assert(lt(u64, total_ns / ROUNDS, 4 * RP_NS_PER_MS));
    pair_end(&pair);
}

// ---- one process, two handles ----

static aclrtEvent reopen(aclrtEvent event)
{
    aclrtIpcEventHandle handle;
    aclrtEvent again;
    WORKS(aclrtIpcGetEventHandle(event, &handle));
    WORKS(aclrtIpcOpenEventHandle(handle, &again));
    return again;
}

// A wait on the stream that recorded last is nothing only if nobody else has recorded since.
// Records behind what never comes, and is killed.
static int record_and_die(void *arg)
{
    struct pair *pair = arg;
    aclrtStream stream;
    aclrtEvent event;
    void *word;
    const int failed = pair_child(&stream);
    if (failed != 0 || !hear_event(pair->end[1], &event)) {
        return 10;
    }
    MUST(0, 11, aclrtMalloc(&word, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(0, 12, aclrtValueWrite(word, 0, 0, stream));
    MUST(0, 13, aclrtValueWait(word, 1, ACL_STREAM_WAIT_VALUE_EQ, stream));
    for (int i = 0; i < 3; i++) {
        MUST(0, 14, aclrtRecordEvent(event, stream));
    }
    child_no_core();
    raise(SIGKILL);
    return 15;
}

// It is not even waited for: a process that its parent has not buried is as dead.
Test(event_ipc, who_waits_for_a_process_that_has_died_is_told, .timeout = 60)
{
    struct pair pair;
    aclrtStream stream;
    char want[64];
    uint64_t queued = 0;
    pair_begin(&pair, record_and_die);
    aclrtEvent event = tell_event(pair.end[0]);
    WORKS(aclrtCreateStream(&stream));
    while (status_of(event) != ACL_EVENT_RECORDED_STATUS_NOT_READY) {
        usleep(1000);
        cr_assert(lt(u64, queued++, 30000));
    }
    WORKS(aclrtStreamWaitEvent(stream, event));
    ANSWERS(507057, aclrtSynchronizeStream(stream));
    snprintf(want, sizeof(want), "process %d", (int)pair.child);
    cr_assert(ne(ptr, strstr(aclGetRecentErrMsg(), want), NULL));
    ANSWERS(507057, aclrtSynchronizeEvent(event));
    cr_assert(eq(int, child_wait(pair.child, 20), -SIGKILL));
    WORKS(aclrtStreamWaitEvent(stream, event));
    ANSWERS(507057, aclrtSynchronizeStream(stream));

    WORKS(aclrtRecordEvent(event, stream)); // all goes on with those who live
    WORKS(aclrtStreamWaitEvent(stream, event));
    WORKS(aclrtSynchronizeStream(stream));
    WORKS(aclrtSynchronizeEvent(event));
    WORKS(aclrtDestroyEvent(event));
}

Test(event_ipc, a_wait_sees_records_through_other_handles, .init = on_device)
{
    aclrtEvent event = new_event();
    aclrtEvent other = reopen(event);
    aclrtStream a;
    aclrtStream b;
    struct gate gate;
    gate_init(&gate);
    WORKS(aclrtCreateStream(&a));
    WORKS(aclrtCreateStream(&b));
    WORKS(aclrtRecordEvent(event, a));
    WORKS(gate_put(&gate, b));
    WORKS(aclrtRecordEvent(other, b));
    WORKS(aclrtStreamWaitEvent(a, event));
    ANSWERS(507046, aclrtSynchronizeStreamWithTimeout(a, 10));
    gate_open(&gate);
    WORKS(aclrtSynchronizeStreamWithTimeout(a, 5000));
    WORKS(aclrtDestroyEvent(event)); // the other handle goes on
    WORKS(aclrtRecordEvent(other, b));
    WORKS(aclrtSynchronizeEvent(other));
    WORKS(aclrtDestroyEvent(other));
}

Test(event_ipc, a_dropped_record_leaves_nobody_waiting, .init = on_device, .timeout = 20)
{
    aclrtEvent event = new_event();
    aclrtEvent other = reopen(event);
    aclrtEvent never;
    aclrtStream stream;
    WORKS(aclrtCreateStream(&stream));
    WORKS(aclrtCreateEventWithFlag(&never, ACL_EVENT_SYNC));
    WORKS(aclrtStreamWaitEvent(stream, never));
    WORKS(aclrtRecordEvent(event, stream));
    ANSWERS(507047, aclrtSynchronizeEventWithTimeout(other, 10));
    WORKS(aclrtDestroyStreamForce(stream));
    WORKS(aclrtSynchronizeEventWithTimeout(other, 5000));
}

Test(event_ipc, nothing_is_left_open, .init = on_device)
{
    unsigned before = 0;
    for (int i = 0; i < 300; i++) {
        aclrtEvent event = new_event();
        aclrtEvent other = reopen(event);
        WORKS(aclrtRecordEvent(other, NULL));
        WORKS(aclrtSynchronizeEvent(event));
        WORKS(aclrtDestroyEvent(i % 2 == 0 ? event : other));
        WORKS(aclrtDestroyEvent(i % 2 == 0 ? other : event));
        before = i == 10 ? fds_open() : before;
    }
    cr_assert(eq(uint, fds_open(), before));
}

// ---- arguments ----

Test(event_ipc, arguments, .init = on_device)
{
    aclrtEvent event = new_event();
    aclrtEvent plain;
    aclrtEvent out;
    aclrtNotify notify;
    aclrtIpcEventHandle handle;
    aclrtIpcEventHandle bad;
    char key[65];
    WORKS(aclrtCreateEventExWithFlag(&plain, ACL_EVENT_SYNC));
    ANSWERS(107000, aclrtCreateEventExWithFlag(&out, ACL_EVENT_IPC | ACL_EVENT_SYNC));
    ANSWERS(100000, aclrtIpcGetEventHandle(NULL, &handle));
    ANSWERS(100000, aclrtIpcGetEventHandle(event, NULL));
    ANSWERS(107000, aclrtIpcGetEventHandle(plain, &handle));
    ANSWERS(107017, aclrtIpcGetEventHandle(&plain, &handle));
    WORKS(aclrtIpcGetEventHandle(event, &handle));
    ANSWERS(100000, aclrtIpcOpenEventHandle(handle, NULL));
    memset(&bad, 0, sizeof(bad));
    ANSWERS(107000, aclrtIpcOpenEventHandle(bad, &out));
    memset(&bad, 'r', sizeof(bad));
    ANSWERS(107000, aclrtIpcOpenEventHandle(bad, &out));
    bad = handle;
    bad.reserved[40] = bad.reserved[40] == '0' ? '1' : '0';
    ANSWERS(107000, aclrtIpcOpenEventHandle(bad, &out));
    WORKS(aclrtIpcOpenEventHandle(handle, &out));
    ANSWERS(107000, aclrtIpcGetEventHandle(out, &bad));
    WORKS(aclrtDestroyEvent(out));

    // A notify is no event.
    WORKS(aclrtCreateNotify(&notify, 0));
    WORKS(aclrtNotifyGetExportKey(notify, key, sizeof(key), 2));
    memset(&bad, 0, sizeof(bad));
    memcpy(bad.reserved, key, strlen(key));
    ANSWERS(107000, aclrtIpcOpenEventHandle(bad, &out));
    cr_assert(ne(ptr, strstr(aclGetRecentErrMsg(), "that of a notify"), NULL));
    ANSWERS(107000, aclrtNotifyImportByKey(&notify, handle.reserved, 0));

    WORKS(aclrtDestroyEvent(event));
    ANSWERS(107000, aclrtIpcOpenEventHandle(handle, &out)); // gone
    ANSWERS(107017, aclrtIpcGetEventHandle(event, &handle));
}

Test(event_ipc, what_such_an_event_cannot_do, .init = on_device)
{
    aclrtEvent event = new_event();
    aclrtEvent other = new_event();
    aclrtEventStatus status;
    aclrtEventWaitStatus waits;
    uint32_t id;
    uint64_t stamp;
    float ms;
    WORKS(aclrtRecordEvent(event, NULL));
    WORKS(aclrtRecordEvent(other, NULL));
    WORKS(aclrtSynchronizeEvent(other));
    ANSWERS(207000, aclrtGetEventId(event, &id));
    ANSWERS(207000, aclrtResetEvent(event, NULL));
    ANSWERS(207000, aclrtQueryEvent(event, &status));
    ANSWERS(207000, aclrtQueryEventWaitStatus(event, &waits));
    ANSWERS(207000, aclrtRecordEventWithFlag(event, NULL, ACL_EVENT_RECORD_EXTERNAL));
    ANSWERS(107006, aclrtEventElapsedTime(&ms, event, other));
    ANSWERS(107006, aclrtEventGetTimestamp(event, &stamp));
}
