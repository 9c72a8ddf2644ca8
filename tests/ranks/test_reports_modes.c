// The rules of capture as users meet them: a loose stream is named, the modes refuse exactly what
// they say to whom they say, and a second thread's work is no concern of a thread-local capture.
//
// R02, R03 and R04 of the user reports. A call that is refused leaves the capture valid, which the
// last clauses of R03 and R04 take for invalidated.

#include <pthread.h>
#include <string.h>

#include "support/rank_test.h"

#define MODES 3

static const char *const mode_names[MODES] = { "GLOBAL", "THREAD_LOCAL", "RELAXED" };

static aclrtEvent sync_event(void)
{
    aclrtEvent event = NULL;
    must(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    return event;
}

static void in_both_expansions(struct rank_job *job)
{
    job->env = AIV;
    assert_job(job, "AIV, %u ranks", job->ranks);
    job->env = HOST_TS;
    assert_job(job, "HOST_TS, %u ranks", job->ranks);
}

static void open_all_reduce(struct rank_call *call, const struct rank *rank, size_t count)
{
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_FP32, .count = count, .ranks = rank->count
    };
    rank_call_open(call, rank, &what, &(struct rank_call_options){ .seed = count });
}

static void expect_replay(
        struct rank *rank, struct rank_call *call, aclmdlRI graph, uint64_t version)
{
    rank_call_load(call, version);
    replay(graph, rank->stream);
    must(aclrtSynchronizeStream(rank->stream));
    rank_call_check(call, version, "replayed");
}

// ---- A loose stream is named ----

#define SIDES 3

// Whether the last error names this side stream, the event that forked it and its last call.
static void expect_named(const char *text, aclrtStream side, aclrtEvent fork)
{
    char stream_name[32], event_name[32];
    int32_t stream_id = -1;
    uint32_t event_id = 0;
    must(aclrtStreamGetId(side, &stream_id));
    must(aclrtGetEventId(fork, &event_id));
    snprintf(stream_name, sizeof(stream_name), "stream %d", stream_id);
    snprintf(event_name, sizeof(event_name), "event %u", event_id);
    must_hold(strstr(text, stream_name) != NULL, "%s is not named: \"%s\"", stream_name, text);
    must_hold(strstr(text, event_name) != NULL, "%s is not named: \"%s\"", event_name, text);
    must_hold(strstr(text, "AllReduce") != NULL, "its last call is not named: \"%s\"", text);
}

// Bit k of `joined`: side k is joined back.
static void fork_three(
        struct rank *rank, const aclrtStream *side, struct rank_call *call, unsigned joined)
{
    aclmdlRI graph = NULL;
    aclrtEvent fork[SIDES], join[SIDES];
    capture_begin(rank->stream);
    for (unsigned k = 0; k < SIDES; k++) {
        fork[k] = sync_event();
        join[k] = sync_event();
        must(aclrtRecordEvent(fork[k], rank->stream));
        must(aclrtStreamWaitEvent(side[k], fork[k]));
        must(rank_call_issue(call, rank->comm, side[k]));
        if ((joined >> k & 1) != 0) {
            must(aclrtRecordEvent(join[k], side[k]));
            must(aclrtStreamWaitEvent(rank->stream, join[k]));
        }
    }
    if (joined == (1u << SIDES) - 1) {
        graph = capture_end(rank->stream);
        expect_replay(rank, call, graph, joined);
        must(aclmdlRIDestroy(graph));
    } else {
        unsigned loose = 0;
        while ((joined >> loose & 1) != 0) {
            loose++;
        }
        must_be(aclmdlRICaptureEnd(rank->stream, &graph), ACL_ERROR_RT_STREAM_UNJOINED);
        expect_named(rank_error_text(), side[loose], fork[loose]);
    }
    for (unsigned k = 0; k < SIDES; k++) {
        must(aclrtDestroyEvent(fork[k]));
        must(aclrtDestroyEvent(join[k]));
    }
}

static void loose_rank(struct rank *rank)
{
    struct rank_call call;
    aclrtStream side[SIDES];
    rank_open(rank);
    open_all_reduce(&call, rank, 3000);
    for (unsigned k = 0; k < SIDES; k++) {
        must(aclrtCreateStream(&side[k]));
    }
    for (unsigned joined = 0; joined < 1u << SIDES; joined++) {
        fork_three(rank, side, &call, joined);
        rank_call_load(&call, joined); // every stream is usable at once
        must(rank_call_issue(&call, rank->comm, side[joined % SIDES]));
        must(aclrtSynchronizeStream(side[joined % SIDES]));
        rank_call_check(&call, joined, "eager after the end");
    }
    for (unsigned k = 0; k < SIDES; k++) {
        must(aclrtDestroyStream(side[k]));
    }
    rank_call_close(&call);
    rank_close(rank);
}

Test(reports, r02_an_unjoined_stream_is_named_with_its_event_and_call, .timeout = 60)
{
    struct rank_job job = { .ranks = 2, .fn = loose_rank };
    in_both_expansions(&job);
}

// ---- What the modes refuse ----

struct modes {
    aclmdlRICaptureMode capture;  // of the open capture
    aclmdlRICaptureMode exchange; // of the calling thread
    bool capturing_thread;
};

// The rule as documented: the calling thread's exchange mode, the strictest open capture of the
// context and of the thread itself.
static bool unsafe_is_refused(const struct modes *m)
{
    if (m->exchange == RELAXED) {
        return false;
    }
    if (m->exchange == GLOBAL) {
        return m->capture == GLOBAL || (m->capturing_thread && m->capture == THREAD_LOCAL);
    }
    return m->capturing_thread && (m->capture == GLOBAL || m->capture == THREAD_LOCAL);
}

#define BLOCK 4096

struct table {
    struct rank *rank;
    struct modes modes;
    aclrtStream other; // never captured
    aclrtEvent eager, captured;
    uint8_t *device[2]; // BLOCK bytes each
    uint8_t *pinned;
    const char *wrong; // of the second thread, which cannot fail the rank
    int got, expected;
};

struct unsafe_call {
    const char *name;
    aclError (*call)(struct table *t);
    aclError refused;
};

static aclError copy_sync(struct table *t)
{
    return aclrtMemcpy(t->device[1], BLOCK, t->device[0], BLOCK, ACL_MEMCPY_DEVICE_TO_DEVICE);
}

static aclError copy_rows_sync(struct table *t)
{
    return aclrtMemcpy2d(
            t->device[1], 64, t->pinned, 64, 64, BLOCK / 64, ACL_MEMCPY_HOST_TO_DEVICE);
}

static aclError fill_sync(struct table *t)
{
    return aclrtMemset(t->device[1], BLOCK, t->device[0][0], BLOCK);
}

// Memory of the program's own that nobody has pinned.
static aclError copy_pageable(struct table *t)
{
    static _Thread_local uint8_t pageable[BLOCK];
    memcpy(pageable, t->device[0], BLOCK);
    const aclError error = aclrtMemcpyAsync(
            t->device[1], BLOCK, pageable, BLOCK, ACL_MEMCPY_HOST_TO_DEVICE, t->other);
    return error == ACL_SUCCESS ? aclrtSynchronizeStream(t->other) : error;
}

static const struct unsafe_call unsafe_calls[] = {
    { "aclrtMemcpy", copy_sync, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT },
    { "aclrtMemcpy2d", copy_rows_sync, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT },
    { "aclrtMemset", fill_sync, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT },
    { "aclrtMemcpyAsync of pageable memory", copy_pageable, ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC },
};

#define UNSAFE_CALLS (sizeof(unsafe_calls) / sizeof(unsafe_calls[0]))

static bool note(struct table *t, const char *call, int got, int expected)
{
    if (got == expected) {
        return true;
    }
    t->wrong = call;
    t->got = got;
    t->expected = expected;
    return false;
}

// Calls that no mode forbids to anybody.
static bool try_safe_calls(struct table *t)
{
    void *block = NULL, *host = NULL;
    aclrtStream stream = NULL;
    aclrtEvent event = NULL;
    aclrtEventRecordedStatus status;
    HcclResult error = HCCL_E_INTERNAL;
    return note(t, "aclrtMalloc", aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST), 0) &&
           note(t, "aclrtFree", aclrtFree(block), 0) &&
           note(t, "aclrtMallocHost", aclrtMallocHost(&host, 4096), 0) &&
           note(t, "aclrtFreeHost", aclrtFreeHost(host), 0) &&
           note(t, "aclrtCreateStream", aclrtCreateStream(&stream), 0) &&
           note(t, "aclrtMemcpyAsync",
                   aclrtMemcpyAsync(
                           t->device[0], 64, t->pinned, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream),
                   0) &&
           note(t, "aclrtCreateEventExWithFlag", aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC),
                   0) &&
           note(t, "aclrtRecordEvent", aclrtRecordEvent(event, stream), 0) &&
           note(t, "aclrtSynchronizeEvent", aclrtSynchronizeEvent(event), 0) &&
           note(t, "aclrtSynchronizeStream", aclrtSynchronizeStream(stream), 0) &&
           note(t, "aclrtDestroyEvent", aclrtDestroyEvent(event), 0) &&
           note(t, "aclrtDestroyStream", aclrtDestroyStream(stream), 0) &&
           note(t, "aclrtQueryEventStatus", aclrtQueryEventStatus(t->eager, &status), 0) &&
           note(t, "HcclGetCommAsyncError", HcclGetCommAsyncError(t->rank->comm, &error), 0) &&
           note(t, "the communicator's error", (int)error, 0);
}

// Calls that no mode allows, since they ask for the end of what has not begun.
static bool try_captured_things(struct table *t)
{
    aclrtEventRecordedStatus status;
    aclrtStream stream = t->rank->stream;
    return note(t, "aclrtSynchronizeStream, capturing", aclrtSynchronizeStream(stream),
                   ACL_ERROR_RT_STREAM_CAPTURED) &&
           note(t, "aclrtSynchronizeDevice, capturing", aclrtSynchronizeDevice(),
                   ACL_ERROR_RT_STREAM_CAPTURED) &&
           note(t, "aclrtQueryEventStatus, captured", aclrtQueryEventStatus(t->captured, &status),
                   ACL_ERROR_RT_EVENT_CAPTURED) &&
           note(t, "aclrtSynchronizeEvent, captured", aclrtSynchronizeEvent(t->captured),
                   ACL_ERROR_RT_EVENT_CAPTURED);
}

static bool try_unsafe_call(struct table *t, const struct unsafe_call *unsafe)
{
    const bool refused = unsafe_is_refused(&t->modes);
    memset(t->device[0], 0x11, BLOCK);
    memset(t->pinned, 0x11, BLOCK);
    memset(t->device[1], 0x22, BLOCK);
    if (!note(t, unsafe->name, unsafe->call(t), refused ? unsafe->refused : 0)) {
        return false;
    }
    const uint8_t now = refused ? 0x22 : 0x11; // a refused call does none of its work
    for (size_t i = 0; i < BLOCK; i++) {
        if (!note(t, "what a call left in memory", t->device[1][i], now)) {
            return false;
        }
    }
    return true;
}

static void *try_all(void *arg)
{
    struct table *t = arg;
    aclmdlRICaptureMode mode = t->modes.exchange;
    bool ok = note(t, "aclrtSetDevice", aclrtSetDevice(t->rank->device), 0) &&
              note(t, "aclmdlRICaptureThreadExchangeMode", aclmdlRICaptureThreadExchangeMode(&mode),
                      0) &&
              try_safe_calls(t) && try_captured_things(t);
    for (size_t i = 0; ok && i < UNSAFE_CALLS; i++) {
        ok = try_unsafe_call(t, &unsafe_calls[i]);
    }
    (void)note(t, "aclmdlRICaptureThreadExchangeMode", aclmdlRICaptureThreadExchangeMode(&mode), 0);
    return NULL;
}

static void try_in_thread(struct table *t, bool capturing_thread)
{
    t->modes.capturing_thread = capturing_thread;
    if (capturing_thread) {
        (void)try_all(t);
    } else {
        pthread_t thread;
        must_hold(pthread_create(&thread, NULL, try_all, t) == 0, "pthread_create");
        pthread_join(thread, NULL);
    }
    must_hold(t->wrong == NULL, "capture %s, exchange mode %s, %s thread: %s answers %d, not %d",
            mode_names[t->modes.capture], mode_names[t->modes.exchange],
            capturing_thread ? "capturing" : "other", t->wrong, t->got, t->expected);
}

// One capture, in whose middle everything is tried; it stays valid.
static void try_in_capture(struct table *t, struct rank_call *call, uint64_t round)
{
    struct rank *rank = t->rank;
    HcclComm fresh = NULL;
    aclmdlRICaptureStatus status;
    aclmdlRI graph = NULL;
    must(aclmdlRICaptureBegin(rank->stream, t->modes.capture));
    must(rank_call_issue(call, rank->comm, rank->stream));
    must(aclrtRecordEvent(t->captured, rank->stream));
    try_in_thread(t, true);
    try_in_thread(t, false);
    rank_barrier(rank);
    must(rank_join_again(rank, round + 1, &fresh)); // slot 0 is rank_open()'s
    must(HcclCommDestroy(fresh));
    must(aclmdlRICaptureGetInfo(rank->stream, &status, NULL));
    must_hold(status == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE, "a refused call ended the capture");
    must(aclmdlRICaptureEnd(rank->stream, &graph));
    expect_replay(rank, call, graph, round);
    must(aclmdlRIDestroy(graph));
}

static void table_rank(struct rank *rank)
{
    struct table t = { .rank = rank };
    struct rank_call call;
    rank_open(rank);
    open_all_reduce(&call, rank, 2000);
    must(aclrtCreateStream(&t.other));
    t.eager = sync_event();
    t.captured = sync_event();
    must(aclrtRecordEvent(t.eager, t.other));
    must(aclrtMalloc((void **)&t.device[0], BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMalloc((void **)&t.device[1], BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMallocHost((void **)&t.pinned, BLOCK));
    for (unsigned i = 0; i < MODES * MODES; i++) {
        t.modes.capture = (aclmdlRICaptureMode)(i / MODES);
        t.modes.exchange = (aclmdlRICaptureMode)(i % MODES);
        try_in_capture(&t, &call, i);
    }
    must(aclrtFree(t.device[0]));
    must(aclrtFree(t.device[1]));
    must(aclrtFreeHost(t.pinned));
    must(aclrtDestroyEvent(t.eager));
    must(aclrtDestroyEvent(t.captured));
    must(aclrtDestroyStream(t.other));
    rank_call_close(&call);
    rank_close(rank);
}

Test(reports, r03_each_mode_refuses_what_it_says_and_the_capture_stays_valid, .timeout = 60)
{
    struct rank_job job = { .ranks = 2, .fn = table_rank };
    in_both_expansions(&job);
}

// ---- Another thread's copies and calls ----

#define BUSY_FLOATS 2000

struct busy {
    struct rank *rank;
    HcclComm comm; // a second one
    unsigned rounds;
    pthread_barrier_t turn; // before a forced meeting of the two threads
    unsigned meetings;
    const char *wrong;
    int got;
};

static bool busy_note(struct busy *b, const char *what, int got, int expected)
{
    if (got != expected && b->wrong == NULL) {
        b->wrong = what;
        b->got = got;
    }
    return got == expected;
}

static bool busy_round(struct busy *b, float *device, float *host, aclrtStream stream, unsigned i)
{
    const size_t bytes = BUSY_FLOATS * sizeof(float);
    for (unsigned k = 0; k < BUSY_FLOATS; k++) {
        host[k] = (float)(b->rank->id + k % 7 + i);
    }
    if (!busy_note(b, "aclrtMemcpy to the device",
                aclrtMemcpy(device, bytes, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE), 0) ||
            !busy_note(b, "HcclAllReduce",
                    (int)HcclAllReduce(device, device, BUSY_FLOATS, HCCL_DATA_TYPE_FP32,
                            HCCL_REDUCE_SUM, b->comm, stream),
                    0) ||
            !busy_note(b, "aclrtSynchronizeStream", aclrtSynchronizeStream(stream), 0) ||
            !busy_note(b, "aclrtMemcpy to the host",
                    aclrtMemcpy(host, bytes, device, bytes, ACL_MEMCPY_DEVICE_TO_HOST), 0)) {
        return false;
    }
    for (unsigned k = 0; k < BUSY_FLOATS; k++) {
        if (!busy_note(b, "the second thread's sum", (int)host[k], (int)(1 + 2 * (k % 7 + i)))) {
            return false;
        }
    }
    return true;
}

static void *busy_thread(void *arg)
{
    struct busy *b = arg;
    static _Thread_local float host[BUSY_FLOATS];
    float *device = NULL;
    aclrtStream stream = NULL;
    bool ok = busy_note(b, "aclrtSetDevice", aclrtSetDevice(b->rank->device), 0) &&
              busy_note(b, "aclrtCreateStream", aclrtCreateStream(&stream), 0) &&
              busy_note(b, "aclrtMalloc",
                      aclrtMalloc((void **)&device, sizeof(host), ACL_MEM_MALLOC_HUGE_FIRST), 0);
    for (unsigned i = 0; ok && i < b->rounds; i++) {
        ok = busy_round(b, device, host, stream, i);
    }
    if (ok) {
        (void)aclrtFree(device);
        (void)aclrtDestroyStream(stream);
    }
    return NULL;
}

static void capture_beside_rank(struct rank *rank)
{
    const unsigned rounds = *(const unsigned *)rank->arg;
    struct busy b = { .rank = rank, .rounds = rounds };
    struct rank_call call;
    pthread_t thread;
    rank_open(rank);
    must(rank_join(rank, 1, rank->count, rank->id, NULL, &b.comm));
    open_all_reduce(&call, rank, 1000);
    must_hold(pthread_create(&thread, NULL, busy_thread, &b) == 0, "pthread_create");
    for (unsigned round = 0; round < rounds; round++) {
        aclmdlRI graph = NULL;
        must(aclmdlRICaptureBegin(rank->stream, THREAD_LOCAL));
        must(rank_call_issue(&call, rank->comm, rank->stream));
        must(rank_call_issue(&call, rank->comm, rank->stream));
        must(aclmdlRICaptureEnd(rank->stream, &graph));
        if (round % 10 == 0) {
            expect_replay(rank, &call, graph, round);
        }
        must(aclmdlRIDestroy(graph));
    }
    pthread_join(thread, NULL);
    must_hold(b.wrong == NULL, "the other thread: %s: %d", b.wrong, b.got);
    must(HcclCommDestroy(b.comm));
    rank_call_close(&call);
    rank_close(rank);
}

Test(reports, r04_another_threads_copies_do_not_disturb_a_thread_local_capture, .timeout = 60)
{
    const unsigned rounds = 500;
    struct rank_job job = { .ranks = 2, .fn = capture_beside_rank, .arg = &rounds };
    in_both_expansions(&job);
}

// In global mode the other thread is refused while the capture is open, and says so; its operators
// go on, and the capture stays valid.
static void *refused_thread(void *arg)
{
    struct busy *b = arg;
    float *device = NULL;
    aclrtStream stream = NULL;
    float host[16] = { 0 };
    bool ok = busy_note(b, "aclrtSetDevice", aclrtSetDevice(b->rank->device), 0) &&
              busy_note(b, "aclrtCreateStream", aclrtCreateStream(&stream), 0) &&
              busy_note(b, "aclrtMalloc",
                      aclrtMalloc((void **)&device, 4096, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    for (unsigned i = 0; i < b->meetings; i++) {
        pthread_barrier_wait(&b->turn); // the capture is open
        if (ok) {
            device[0] = 1.0f;
            host[0] = 5.0f;
            ok = busy_note(b, "aclrtMemcpy during the capture",
                         aclrtMemcpy(device, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE),
                         ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT) &&
                 busy_note(b, "what a refused copy has written", (int)device[0], 1) &&
                 busy_note(b, "HcclAllReduce",
                         (int)HcclAllReduce(device, device, 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                                 b->comm, stream),
                         0) &&
                 busy_note(b, "aclrtSynchronizeStream", aclrtSynchronizeStream(stream), 0) &&
                 busy_note(b, "the second thread's sum", (int)device[0], 2);
        }
        pthread_barrier_wait(&b->turn); // it goes on and ends
        pthread_barrier_wait(&b->turn);
        ok = ok && busy_note(b, "aclrtMemcpy after the capture",
                           aclrtMemcpy(device, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE), 0);
        pthread_barrier_wait(&b->turn);
    }
    if (ok) {
        (void)aclrtFree(device);
        (void)aclrtDestroyStream(stream);
    }
    return NULL;
}

static void global_beside_rank(struct rank *rank)
{
    struct busy b = { .rank = rank, .meetings = 50 };
    struct rank_call call;
    pthread_t thread;
    rank_open(rank);
    must(rank_join(rank, 1, rank->count, rank->id, NULL, &b.comm));
    open_all_reduce(&call, rank, 1000);
    pthread_barrier_init(&b.turn, NULL, 2);
    must_hold(pthread_create(&thread, NULL, refused_thread, &b) == 0, "pthread_create");
    for (unsigned round = 0; round < b.meetings; round++) {
        aclmdlRI graph = NULL;
        must(aclmdlRICaptureBegin(rank->stream, GLOBAL));
        must(rank_call_issue(&call, rank->comm, rank->stream));
        pthread_barrier_wait(&b.turn);
        pthread_barrier_wait(&b.turn);
        must_hold(b.wrong == NULL, "the other thread: %s: %d", b.wrong, b.got);
        must(rank_call_issue(&call, rank->comm, rank->stream));
        must(aclmdlRICaptureEnd(rank->stream, &graph));
        pthread_barrier_wait(&b.turn);
        pthread_barrier_wait(&b.turn);
        expect_replay(rank, &call, graph, round);
        must(aclmdlRIDestroy(graph));
    }
    pthread_join(thread, NULL);
    must_hold(b.wrong == NULL, "the other thread: %s: %d", b.wrong, b.got);
    pthread_barrier_destroy(&b.turn);
    must(HcclCommDestroy(b.comm));
    rank_call_close(&call);
    rank_close(rank);
}

Test(reports, r04_in_global_mode_the_other_thread_is_refused_and_the_capture_valid, .timeout = 60)
{
    struct rank_job job = { .ranks = 2, .fn = global_beside_rank };
    in_both_expansions(&job);
}
