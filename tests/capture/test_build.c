// Graphs that are built by hand: binding, running, stopping, what is refused and
// how. Labels are test_labels.c.

#include "support/build_case.h"

#include <stdatomic.h>
#include <unistd.h>

#define WORDS 256
#define BYTES (WORDS * sizeof(uint32_t))

TestSuite(build, .init = on_device, .timeout = 60);

static _Atomic int calls;

static void count_call(void *arg)
{
    (void)arg;
    atomic_fetch_add(&calls, 1);
}

static void fill(uint32_t *words, uint32_t seed)
{
    for (uint32_t i = 0; i < WORDS; i++) {
        words[i] = seed * 2654435761u + i;
    }
}

static void run_and_wait(aclmdlRI graph, aclrtStream stream)
{
    WORKS(aclmdlRIExecuteAsync(graph, stream));
    WORKS(aclrtSynchronizeStream(stream));
}

// ---- running ----

Test(build, what_is_submitted_runs_when_the_graph_does_a_thousand_times)
{
    uint32_t *from = device_bytes(BYTES);
    uint32_t *middle = device_bytes(BYTES);
    uint32_t *to = device_bytes(BYTES);
    aclrtStream other = plain_stream();
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    copy(stream, middle, from, BYTES);
    copy(stream, to, middle, BYTES);
    WORKS(aclrtLaunchHostFunc(stream, count_call, NULL));
    end_graph(graph, stream);
    WORKS(aclrtSynchronizeDevice());
    cr_assert(eq(int, calls, 0));
    for (uint32_t round = 1; round <= 1000; round++) {
        fill(from, round);
        if (round % 2 == 0) {
            WORKS(aclmdlRIExecute(graph, round % 4 == 0 ? -1 : 30000));
        } else {
            run_and_wait(graph, other);
        }
        cr_assert(eq(int, memcmp(from, to, BYTES), 0), "round %u", round);
        cr_assert(eq(int, calls, (int)round));
    }
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyStream(stream));
    WORKS(aclrtDestroyStream(other));
}

Test(build, streams_that_start_together_are_ordered_by_flag_events)
{
    uint32_t *word[4];
    for (int i = 0; i < 4; i++) {
        word[i] = device_bytes(BYTES);
    }
    aclrtEvent go = flag_event();
    aclrtEvent done = flag_event();
    aclmdlRI graph = begin_graph();
    aclrtStream first = bound_stream(graph, HEAD);
    aclrtStream second = bound_stream(graph, HEAD);
    copy(first, word[1], word[0], BYTES);
    WORKS(aclrtRecordEvent(go, first));
    wait_for_flag(second, go);
    copy(second, word[2], word[1], BYTES);
    WORKS(aclrtRecordEvent(done, second));
    wait_for_flag(first, done);
    copy(first, word[3], word[2], BYTES);
    end_graph(graph, first);
    for (uint32_t round = 1; round <= 300; round++) {
        fill(word[0], round);
        WORKS(aclmdlRIExecute(graph, -1));
        cr_assert(eq(int, memcmp(word[0], word[3], BYTES), 0), "round %u", round);
    }
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyEvent(go));
    WORKS(aclrtDestroyEvent(done));
}

Test(build, an_external_event_holds_it_until_another_stream_records)
{
    uint32_t *from = device_bytes(BYTES);
    uint32_t *to = device_bytes(BYTES);
    aclrtEvent gate = NULL;
    aclrtStream other = plain_stream();
    aclrtStream keeper = plain_stream();
    WORKS(aclrtCreateEventWithFlag(&gate, ACL_EVENT_EXTERNAL));
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    wait_for_flag(stream, gate);
    copy(stream, to, from, BYTES);
    end_graph(graph, stream);
    for (uint32_t round = 1; round <= 20; round++) {
        fill(from, round);
        WORKS(aclmdlRIExecuteAsync(graph, other));
        ANSWERS(507046, aclrtSynchronizeStreamWithTimeout(other, 2));
        cr_assert(ne(int, memcmp(from, to, BYTES), 0));
        WORKS(aclrtRecordEvent(gate, keeper));
        WORKS(aclrtSynchronizeStream(other));
        cr_assert(eq(int, memcmp(from, to, BYTES), 0));
    }
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyEvent(gate));
}

Test(build, two_graphs_run_at_once)
{
    aclrtEvent ping = flag_event();
    aclrtEvent pong = flag_event();
    aclrtStream own[2] = { plain_stream(), plain_stream() };
    aclmdlRI graph[2] = { begin_graph(), begin_graph() };
    aclrtStream stream[2];
    // Neither can end without the other.
    for (int g = 0; g < 2; g++) {
        stream[g] = bound_stream(graph[g], HEAD);
        WORKS(aclrtRecordEvent(g == 0 ? ping : pong, stream[g]));
        wait_for_flag(stream[g], g == 0 ? pong : ping);
        WORKS(aclrtLaunchHostFunc(stream[g], count_call, NULL));
        end_graph(graph[g], stream[g]);
    }
    for (int round = 1; round <= 200; round++) {
        WORKS(aclmdlRIExecuteAsync(graph[round % 2], own[round % 2]));
        WORKS(aclmdlRIExecuteAsync(graph[1 - round % 2], own[1 - round % 2]));
        WORKS(aclrtSynchronizeStream(own[0]));
        WORKS(aclrtSynchronizeStream(own[1]));
        cr_assert(eq(int, calls, 2 * round));
    }
    WORKS(aclmdlRIDestroy(graph[0]));
    WORKS(aclmdlRIDestroy(graph[1]));
}

// ---- streams that start each other ----

Test(build, an_active_stream_runs_as_often_as_it_is_started)
{
    uint32_t *from = device_bytes(BYTES);
    uint32_t *to = device_bytes(BYTES);
    aclmdlRI graph = begin_graph();
    aclrtStream head = bound_stream(graph, HEAD);
    aclrtStream side = bound_stream(graph, ON_DEMAND);
    aclrtStream idle = bound_stream(graph, ON_DEMAND);
    WORKS(aclrtActiveStream(side, head));
    WORKS(aclrtActiveStream(side, head)); // once it is over
    WORKS(aclrtActiveStream(side, head));
    WORKS(aclrtLaunchHostFunc(side, count_call, NULL));
    copy(side, to, from, BYTES);
    WORKS(aclrtLaunchHostFunc(idle, count_call, NULL)); // nobody starts it
    end_graph(graph, head);
    for (uint32_t round = 1; round <= 200; round++) {
        fill(from, round);
        WORKS(aclmdlRIExecute(graph, -1));
        cr_assert(eq(int, calls, 3 * (int)round));
        cr_assert(eq(int, memcmp(from, to, BYTES), 0));
    }
    WORKS(aclmdlRIDestroy(graph));
}

// Each comparison, taken and not taken: the side stream runs instead of the rest of the head.
static void check_switch(
        aclrtCondition cond, aclrtCompareDataType type, int64_t left, int64_t right, bool taken)
{
    int64_t *value = device_bytes(2 * sizeof(int64_t));
    uint32_t *path = device_bytes(3 * sizeof(uint32_t));
    aclmdlRI graph = begin_graph();
    aclrtStream head = bound_stream(graph, HEAD);
    aclrtStream side = bound_stream(graph, ON_DEMAND);
    memcpy(&value[0], &left, sizeof(left)); // little end first: an int32 too
    memcpy(&value[1], &right, sizeof(right));
    WORKS(aclrtSwitchStream(&value[0], cond, &value[1], type, side, NULL, head));
    WORKS(aclrtMemsetAsync(&path[0], 4, 1, 4, head));
    WORKS(aclrtMemsetAsync(&path[1], 4, 2, 4, side));
    end_graph(graph, head);
    WORKS(aclmdlRIExecute(graph, -1));
    cr_assert(eq(u32, path[0], taken ? 0 : 0x01010101), "cond %d type %d %ld %ld", cond, type,
            (long)left, (long)right);
    cr_assert(eq(u32, path[1], taken ? 0x02020202 : 0));
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyStream(head));
    WORKS(aclrtDestroyStream(side));
    WORKS(aclrtFree(value));
    WORKS(aclrtFree(path));
}

Test(build, a_stream_is_switched_to_by_every_comparison)
{
    static const struct {
        int64_t left, right;
    } pairs[] = { { 1, 1 }, { 1, 2 }, { 2, 1 }, { -1, 1 }, { 1, -1 },
        { INT64_C(1) << 40, 5 } /* as int32: 0 and 5 */ };
    for (size_t p = 0; p < sizeof(pairs) / sizeof(pairs[0]); p++) {
        for (int type = ACL_RT_SWITCH_INT32; type <= ACL_RT_SWITCH_INT64; type++) {
            const bool narrow = type == ACL_RT_SWITCH_INT32;
            const int64_t l = narrow ? (int32_t)pairs[p].left : pairs[p].left;
            const int64_t r = narrow ? (int32_t)pairs[p].right : pairs[p].right;
            const bool taken[] = { l == r, l != r, l > r, l >= r, l < r, l <= r };
            for (int cond = ACL_RT_EQUAL; cond <= ACL_RT_LESS_OR_EQUAL; cond++) {
                check_switch((aclrtCondition)cond, (aclrtCompareDataType)type, pairs[p].left,
                        pairs[p].right, taken[cond]);
            }
        }
    }
}

static void decrement(void *arg)
{
    --*(int32_t *)arg;
    atomic_fetch_add(&calls, 1);
}

Test(build, two_streams_throw_the_ball_until_it_is_flat)
{
    int32_t *value = device_bytes(2 * sizeof(int32_t)); // left, and 0
    aclmdlRI graph = begin_graph();
    aclrtStream head = bound_stream(graph, HEAD);
    aclrtStream side[2] = { bound_stream(graph, ON_DEMAND), bound_stream(graph, ON_DEMAND) };
    WORKS(aclrtActiveStream(side[0], head));
    for (int s = 0; s < 2; s++) {
        WORKS(aclrtLaunchHostFunc(side[s], decrement, value));
        WORKS(aclrtSwitchStream(
                value, ACL_RT_GREATER, value + 1, ACL_RT_SWITCH_INT32, side[1 - s], NULL, side[s]));
    }
    end_graph(graph, head);
    for (int32_t throws = 1; throws <= 50; throws++) {
        calls = 0;
        *value = throws;
        WORKS(aclmdlRIExecute(graph, -1));
        cr_assert(eq(int, calls, throws));
        cr_assert(eq(int, *value, 0));
    }
    WORKS(aclmdlRIDestroy(graph));
}

// ---- what is refused ----

Test(build, codes_of_build_begin)
{
    aclmdlRI graph = NULL;
    ANSWERS(100000, aclmdlRIBuildBegin(NULL, 0));
    ANSWERS(107000, aclmdlRIBuildBegin(&graph, 1));
    WORKS(aclrtResetDevice(0));
    ANSWERS(107002, aclmdlRIBuildBegin(&graph, 0));
    cr_assert(eq(ptr, graph, NULL));
}

static aclmdlRI captured_graph(aclrtStream stream)
{
    aclmdlRI graph = NULL;
    WORKS(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    WORKS(aclrtLaunchHostFunc(stream, count_call, NULL));
    WORKS(aclmdlRICaptureEnd(stream, &graph));
    return graph;
}

Test(build, codes_of_bind_stream)
{
    aclrtStream plain = plain_stream();
    aclrtStream stream = persistent_stream();
    aclrtStream fast = NULL;
    aclrtStream stop = persistent_stream();
    aclrtStream gone = persistent_stream();
    aclmdlRI captured = captured_graph(plain);
    aclmdlRI graph = begin_graph();
    aclmdlRI other = begin_graph();
    aclmdlRI dead = begin_graph();
    WORKS(aclmdlRIDestroy(dead));
    WORKS(aclrtDestroyStream(gone));
    WORKS(aclrtCreateStreamWithConfig(&fast, 0, ACL_STREAM_PERSISTENT | ACL_STREAM_FAST_LAUNCH));
    WORKS(aclrtSetStreamFailureMode(stop, ACL_STOP_ON_FAILURE));
    ANSWERS(100000, aclmdlRIBindStream(NULL, stream, HEAD));
    ANSWERS(100000, aclmdlRIBindStream(graph, NULL, HEAD));
    ANSWERS(107017, aclmdlRIBindStream(dead, stream, HEAD));
    ANSWERS(107017, aclmdlRIBindStream(graph, gone, HEAD));
    ANSWERS(107000, aclmdlRIBindStream(captured, stream, HEAD));
    ANSWERS(107000, aclmdlRIBindStream(graph, stream, 1));
    ANSWERS(107000, aclmdlRIBindStream(graph, plain, HEAD));
    ANSWERS(207000, aclmdlRIBindStream(graph, fast, HEAD));
    ANSWERS(207000, aclmdlRIBindStream(graph, stop, HEAD));
    WORKS(aclmdlRICaptureBegin(plain, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    ANSWERS(107027, aclmdlRIBindStream(graph, plain, HEAD));
    ANSWERS(107027, aclmdlRIUnbindStream(graph, plain));
    ANSWERS(107027, aclmdlRIEndTask(graph, plain));
    aclmdlRI more = NULL;
    WORKS(aclmdlRICaptureEnd(plain, &more));
    WORKS(aclmdlRIDestroy(more));
    WORKS(aclmdlRIBindStream(graph, stream, HEAD));
    ANSWERS(107005, aclmdlRIBindStream(graph, stream, HEAD));
    ANSWERS(107005, aclmdlRIBindStream(other, stream, ON_DEMAND));
    ANSWERS(107005, aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    end_graph(graph, stream);
    ANSWERS(107000, aclmdlRIBindStream(graph, persistent_stream(), HEAD));
    WORKS(aclmdlRIDestroy(captured));
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclmdlRIDestroy(other));
}

Test(build, codes_of_the_end)
{
    aclrtStream plain = plain_stream();
    aclmdlRI captured = captured_graph(plain);
    aclmdlRI graph = begin_graph();
    aclmdlRI other = begin_graph();
    aclrtStream stream = persistent_stream();
    int reserve = 0;
    ANSWERS(100000, aclmdlRIEndTask(NULL, stream));
    ANSWERS(100000, aclmdlRIEndTask(graph, NULL));
    ANSWERS(107000, aclmdlRIEndTask(captured, stream));
    ANSWERS(107005, aclmdlRIEndTask(graph, stream));
    ANSWERS(107005, aclmdlRIUnbindStream(graph, stream));
    ANSWERS(100000, aclmdlRIBuildEnd(NULL, NULL));
    ANSWERS(107000, aclmdlRIBuildEnd(captured, NULL));
    ANSWERS(107000, aclmdlRIBuildEnd(graph, &reserve));
    ANSWERS(507011, aclmdlRIBuildEnd(graph, NULL)); // without any stream
    WORKS(aclmdlRIBindStream(graph, stream, ON_DEMAND));
    ANSWERS(507011, aclmdlRIBuildEnd(graph, NULL)); // nothing starts
    ANSWERS(107005, aclmdlRIEndTask(other, stream));
    ANSWERS(107005, aclmdlRIUnbindStream(other, stream));
    aclrtStream head = bound_stream(graph, HEAD);
    WORKS(aclmdlRIEndTask(graph, head));
    ANSWERS(107000, aclmdlRIEndTask(graph, head));
    ANSWERS(107000, aclmdlRIEndTask(graph, stream));
    ANSWERS(107005, aclrtLaunchHostFunc(head, count_call, NULL)); // behind the end
    WORKS(aclrtLaunchHostFunc(stream, count_call, NULL));
    WORKS(aclmdlRIBuildEnd(graph, NULL));
    ANSWERS(107000, aclmdlRIBuildEnd(graph, NULL));
    ANSWERS(107000, aclmdlRIEndTask(graph, head));
    WORKS(aclmdlRIExecute(graph, -1));
    ANSWERS(100000, aclmdlRIUnbindStream(NULL, stream));
    ANSWERS(100000, aclmdlRIUnbindStream(graph, NULL));
    ANSWERS(107000, aclmdlRIUnbindStream(captured, stream));
    WORKS(aclmdlRIDestroy(captured));
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclmdlRIDestroy(other));
}

Test(build, codes_of_execution)
{
    aclrtStream plain = plain_stream();
    aclmdlRI captured = captured_graph(plain);
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    ANSWERS(507011, aclmdlRIExecuteAsync(graph, plain)); // neither EndTask nor BuildEnd
    ANSWERS(507011, aclmdlRIExecute(graph, -1));
    WORKS(aclmdlRIEndTask(graph, stream));
    ANSWERS(507011, aclmdlRIExecuteAsync(graph, plain)); // no BuildEnd
    ANSWERS(507011, aclmdlRIExecute(graph, -1));
    WORKS(aclmdlRIBuildEnd(graph, NULL));
    ANSWERS(100000, aclmdlRIExecuteAsync(NULL, plain));
    ANSWERS(100000, aclmdlRIExecute(NULL, -1));
    ANSWERS(107000, aclmdlRIExecute(graph, 0));
    ANSWERS(107000, aclmdlRIExecute(graph, -2));
    ANSWERS(107000, aclmdlRIExecute(captured, -1));
    ANSWERS(107000, aclmdlRIExecuteAsync(graph, stream)); // bound
    ANSWERS(107000, aclmdlRIExecuteAsync(captured, stream));
    WORKS(aclmdlRICaptureBegin(plain, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    ANSWERS(107027, aclmdlRIExecuteAsync(graph, plain));
    aclmdlRI more = NULL;
    WORKS(aclmdlRICaptureEnd(plain, &more));
    run_and_wait(graph, plain);
    run_and_wait(graph, NULL);
    WORKS(aclmdlRIDestroy(graph));
    ANSWERS(107017, aclmdlRIExecute(graph, -1));
    ANSWERS(107017, aclmdlRIExecuteAsync(graph, plain));
    WORKS(aclmdlRIDestroy(graph)); // a second time
    WORKS(aclmdlRIDestroy(captured));
    WORKS(aclmdlRIDestroy(more));
}

Test(build, without_end_task_it_ends_but_does_not_run)
{
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    WORKS(aclrtLaunchHostFunc(stream, count_call, NULL));
    WORKS(aclmdlRIBuildEnd(graph, NULL));
    ANSWERS(507011, aclmdlRIExecute(graph, -1));
    ANSWERS(507011, aclmdlRIExecuteAsync(graph, NULL));
    cr_assert(ne(ptr, strstr(aclGetRecentErrMsg(), "aclmdlRIEndTask"), NULL));
    ANSWERS(107005, aclrtLaunchHostFunc(stream, count_call, NULL));
    cr_assert(eq(int, calls, 0));
    WORKS(aclmdlRIDestroy(graph));
}

static void run_inside(void *arg)
{
    if (aclrtSetDevice(0) == 0) {
        atomic_store(&calls, aclmdlRIExecute(arg, -1));
    }
}

Test(build, a_function_cannot_execute_and_wait)
{
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    end_graph(graph, stream);
    aclrtStream plain = plain_stream();
    WORKS(aclrtLaunchHostFunc(plain, run_inside, graph));
    WORKS(aclrtSynchronizeStream(plain));
    cr_assert(eq(int, calls, 207006));
    WORKS(aclmdlRIDestroy(graph));
}

Test(build, of_another_context)
{
    aclrtContext first = NULL;
    aclrtContext second = NULL;
    WORKS(aclrtGetCurrentContext(&first));
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    aclrtStream loose = persistent_stream();
    WORKS(aclrtCreateContext(&second, 0));
    aclrtStream foreign = persistent_stream();
    ANSWERS(107003, aclmdlRIBindStream(graph, loose, HEAD));
    ANSWERS(107004, aclmdlRIBindStream(graph, foreign, HEAD));
    ANSWERS(107004, aclmdlRIEndTask(graph, foreign));
    ANSWERS(107004, aclmdlRIUnbindStream(graph, foreign));
    ANSWERS(107004, aclmdlRIBuildEnd(graph, NULL));
    WORKS(aclrtSetCurrentContext(first));
    end_graph(graph, stream);
    WORKS(aclrtSetCurrentContext(second));
    ANSWERS(107004, aclmdlRIExecute(graph, -1));
    ANSWERS(107003, aclmdlRIExecuteAsync(graph, NULL));
    ANSWERS(107004, aclmdlRIAbort(graph));
    WORKS(aclrtDestroyContext(second));
    WORKS(aclrtSetCurrentContext(first));
    WORKS(aclmdlRIExecute(graph, -1));
    WORKS(aclmdlRIDestroy(graph));
}

// ---- what a bound stream takes ----

Test(build, events_of_a_bound_stream)
{
    aclrtEvent plain = NULL;
    aclrtEvent timing = NULL;
    aclrtEvent ex = NULL;
    WORKS(aclrtCreateEvent(&plain));
    WORKS(aclrtCreateEventWithFlag(&timing, ACL_EVENT_TIME_LINE));
    WORKS(aclrtCreateEventExWithFlag(&ex, ACL_EVENT_SYNC));
    aclrtEvent flag = flag_event();
    aclrtEvent unused = flag_event();
    aclrtStream eager = plain_stream();
    WORKS(aclrtRecordEvent(plain, eager));
    WORKS(aclrtRecordEvent(ex, eager));
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    ANSWERS(207000, aclrtRecordEvent(plain, stream));
    ANSWERS(207000, aclrtStreamWaitEvent(stream, plain));
    ANSWERS(207000, aclrtResetEvent(plain, stream));
    ANSWERS(207000, aclrtRecordEvent(ex, stream));
    ANSWERS(207000, aclrtStreamWaitEvent(stream, ex));
    ANSWERS(207000, aclrtResetEvent(ex, stream));
    ANSWERS(207000, aclrtRecordEvent(timing, stream));
    WORKS(aclrtRecordEvent(flag, stream));
    wait_for_flag(stream, flag);
    ANSWERS(107000, aclrtSynchronizeEvent(flag));
    ANSWERS(107000, aclrtSynchronizeEventWithTimeout(flag, 10));
    WORKS(aclrtSynchronizeEvent(unused));
    WORKS(aclrtSynchronizeEvent(plain));
    end_graph(graph, stream);
    WORKS(aclmdlRIExecute(graph, -1));
    ANSWERS(107000, aclrtSynchronizeEvent(flag));
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtRecordEvent(flag, eager)); // an ordinary event again
    WORKS(aclrtSynchronizeEvent(flag));
}

Test(build, a_captured_event_does_not_draw_a_bound_stream_into_the_capture)
{
    aclrtEvent ex = NULL;
    WORKS(aclrtCreateEventExWithFlag(&ex, ACL_EVENT_SYNC));
    aclrtStream origin = plain_stream();
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    WORKS(aclmdlRICaptureBegin(origin, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    WORKS(aclrtRecordEvent(ex, origin));
    ANSWERS(207000, aclrtStreamWaitEvent(stream, ex));
    ANSWERS(207000, aclrtRecordEvent(ex, stream));
    aclmdlRI captured = NULL;
    WORKS(aclmdlRICaptureEnd(origin, &captured)); // still valid
    end_graph(graph, stream);
    WORKS(aclmdlRIExecute(graph, -1));
    WORKS(aclmdlRIDestroy(captured));
    WORKS(aclmdlRIDestroy(graph));
}

Test(build, pageable_memory_is_refused_in_every_copy)
{
    static uint32_t pageable[WORDS];
    uint32_t *memory = device_bytes(BYTES);
    uint32_t *pinned = NULL;
    WORKS(aclrtMallocHost((void **)&pinned, BYTES));
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    ANSWERS(107000,
            aclrtMemcpyAsync(memory, BYTES, pageable, BYTES, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    ANSWERS(107000,
            aclrtMemcpyAsync(pageable, BYTES, memory, BYTES, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    ANSWERS(107000,
            aclrtMemcpy2dAsync(memory, 64, pageable, 64, 64, 4, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    ANSWERS(107000, aclrtMemcpyAsync(memory, BYTES, pageable, BYTES,
                            ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
    WORKS(aclrtMemcpyAsync(memory, BYTES, pinned, BYTES, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    end_graph(graph, stream);
    fill(pinned, 7);
    cr_assert(eq(u32, memory[3], 0));
    WORKS(aclmdlRIExecute(graph, -1));
    cr_assert(eq(int, memcmp(memory, pinned, BYTES), 0));
    WORKS(aclmdlRIDestroy(graph));
}

Test(build, a_bound_stream_is_never_waited_for)
{
    aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    WORKS(aclrtLaunchHostFunc(stream, count_call, NULL));
    WORKS(aclrtSynchronizeStream(stream));
    WORKS(aclrtSynchronizeStreamWithTimeout(stream, 1));
    WORKS(aclrtStreamQuery(stream, &status));
    cr_assert(eq(int, status, ACL_STREAM_STATUS_COMPLETE));
    WORKS(aclrtSynchronizeDevice());
    cr_assert(eq(int, calls, 0));
    WORKS(aclmdlRIDestroy(graph));
}

// ---- life ----

Test(build, an_unbound_stream_is_an_ordinary_one_and_the_graph_is_out_of_order)
{
    uint32_t *memory = device_bytes(BYTES);
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    aclrtStream second = bound_stream(graph, HEAD);
    WORKS(aclrtLaunchHostFunc(stream, count_call, NULL));
    end_graph(graph, stream);
    ANSWERS(107005, aclrtDestroyStream(stream));
    ANSWERS(107005, aclrtDestroyStreamForce(stream));
    ANSWERS(107005, aclrtLaunchHostFunc(stream, count_call, NULL));
    ANSWERS(107005, aclrtLaunchHostFunc(second, count_call, NULL));
    ANSWERS(107005, aclrtMemsetAsync(memory, BYTES, 1, BYTES, stream));
    WORKS(aclmdlRIExecute(graph, -1));
    cr_assert(eq(int, calls, 1));
    WORKS(aclmdlRIUnbindStream(graph, stream));
    ANSWERS(507011, aclmdlRIExecute(graph, -1));
    ANSWERS(507011, aclmdlRIExecuteAsync(graph, NULL));
    ANSWERS(107005, aclmdlRIUnbindStream(graph, stream));
    WORKS(aclrtMemsetAsync(memory, BYTES, 1, BYTES, stream)); // runs at once
    WORKS(aclrtDestroyStream(stream));
    cr_assert(eq(u32, memory[0], 0x01010101));
    WORKS(aclmdlRIDestroy(graph)); // unbinds the other one
    WORKS(aclrtDestroyStream(second));
}

Test(build, a_stream_is_bound_to_one_graph_after_another)
{
    aclrtStream stream = persistent_stream();
    for (int round = 1; round <= 200; round++) {
        aclmdlRI graph = begin_graph();
        WORKS(aclmdlRIBindStream(graph, stream, HEAD));
        WORKS(aclrtLaunchHostFunc(stream, count_call, NULL));
        end_graph(graph, stream);
        WORKS(aclmdlRIExecute(graph, -1));
        cr_assert(eq(int, calls, round));
        if (round % 2 == 0) {
            WORKS(aclmdlRIUnbindStream(graph, stream));
        }
        WORKS(aclmdlRIDestroy(graph));
    }
    WORKS(aclrtDestroyStream(stream));
}

Test(build, a_graph_that_is_still_built_can_be_destroyed)
{
    aclmdlRI graph = begin_graph();
    aclrtEvent flag = flag_event();
    aclrtStream stream = bound_stream(graph, HEAD);
    WORKS(aclrtLaunchHostFunc(stream, count_call, NULL));
    WORKS(aclrtRecordEvent(flag, stream));
    ANSWERS(107000, aclrtSynchronizeEvent(flag));
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtSynchronizeEvent(flag));
    WORKS(aclrtLaunchHostFunc(stream, count_call, NULL));
    WORKS(aclrtDestroyStream(stream));
    cr_assert(eq(int, calls, 1));
    graph = begin_graph();
    stream = bound_stream(graph, HEAD);
    WORKS(aclmdlRIUnbindStream(graph, stream));
    ANSWERS(107000, aclmdlRIBuildEnd(graph, NULL)); // it cannot become whole any more
    WORKS(aclmdlRIDestroy(graph));
}

Test(build, tasks_are_cleaned_before_the_end)
{
    uint32_t *memory = device_bytes(BYTES);
    aclrtEvent flag = flag_event();
    aclrtStream plain = plain_stream();
    aclrtStream loose = persistent_stream();
    ANSWERS(100000, aclrtPersistentTaskClean(NULL));
    ANSWERS(107000, aclrtPersistentTaskClean(plain));
    WORKS(aclrtPersistentTaskClean(loose));
    const struct labels labels = make_labels(1);
    uint32_t *zero = device_bytes(4);
    aclmdlRI graph = begin_graph();
    aclrtStream first = bound_stream(graph, HEAD);
    aclrtStream second = bound_stream(graph, HEAD);
    for (int i = 0; i < 10; i++) { // of both, mixed
        WORKS(aclrtLaunchHostFunc(first, count_call, NULL));
        WORKS(aclrtMemsetAsync((char *)memory + i, 1, i + 1, 1, second));
    }
    WORKS(aclrtRecordEvent(flag, first));
    WORKS(aclrtSetLabel(labels.label[0], first));
    switch_label(labels, zero, first); // for ever
    WORKS(aclmdlRIEndTask(graph, first));
    WORKS(aclrtPersistentTaskClean(first));
    WORKS(aclrtSynchronizeEvent(flag)); // it is not used any more
    WORKS(aclrtSetLabel(labels.label[0], first));
    WORKS(aclrtLaunchHostFunc(first, count_call, NULL));
    end_graph(graph, first);
    ANSWERS(107005, aclrtPersistentTaskClean(first));
    WORKS(aclmdlRIExecute(graph, 20000));
    cr_assert(eq(int, calls, 1));
    for (int i = 0; i < 10; i++) {
        cr_assert(eq(int, ((char *)memory)[i], i + 1));
    }
    WORKS(aclmdlRIDestroy(graph));
    free_labels(labels);
}

Test(build, a_reset_ends_bound_streams_and_what_runs)
{
    aclrtStream stream = NULL;
    uint32_t *again = NULL;
    aclrtStream plain = plain_stream();
    aclmdlRI graph = endless_graph(&stream, &again);
    aclmdlRI unfinished = begin_graph();
    (void)bound_stream(unfinished, HEAD);
    WORKS(aclmdlRIExecuteAsync(graph, plain));
    WORKS(aclrtResetDeviceForce(0));
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclmdlRIDestroy(unfinished));
    on_device();
    graph = begin_graph();
    stream = bound_stream(graph, HEAD);
    WORKS(aclrtLaunchHostFunc(stream, count_call, NULL));
    end_graph(graph, stream);
    WORKS(aclmdlRIExecute(graph, -1));
    cr_assert(eq(int, calls, 1));
    WORKS(aclmdlRIDestroy(graph));
}

// ---- stopping ----

static void *execute_thread(void *graph)
{
    static int answer;
    if (aclrtSetDevice(0) != 0) {
        return NULL;
    }
    answer = aclmdlRIExecute(graph, -1);
    return &answer;
}

Test(build, abort_stops_an_endless_graph_and_who_waits_for_it)
{
    aclrtStream stream = NULL;
    uint32_t *again = NULL;
    pthread_t thread;
    void *answer = NULL;
    aclmdlRI graph = endless_graph(&stream, &again);
    WORKS(aclmdlRIAbort(graph)); // there is nothing to stop
    for (int round = 0; round < 5; round++) {
        cr_assert(eq(int, pthread_create(&thread, NULL, execute_thread, graph), 0));
        usleep(20000);
        WORKS(aclmdlRIAbort(graph));
        cr_assert(eq(int, pthread_join(thread, &answer), 0));
        cr_assert(eq(int, *(int *)answer, 507023));
    }
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtFree(again));
}

Test(build, abort_stops_queued_runs_and_nothing_else)
{
    aclrtStream stream = NULL;
    uint32_t *again = NULL;
    aclrtStream own[3] = { plain_stream(), plain_stream(), plain_stream() };
    aclmdlRI graph = endless_graph(&stream, &again);
    aclmdlRI other = begin_graph();
    aclrtStream bound = bound_stream(other, HEAD);
    WORKS(aclrtLaunchHostFunc(bound, count_call, NULL));
    end_graph(other, bound);
    for (int s = 0; s < 3; s++) {
        WORKS(aclmdlRIExecuteAsync(graph, own[s]));
        WORKS(aclmdlRIExecuteAsync(other, own[s]));
        WORKS(aclmdlRIExecuteAsync(graph, own[s]));
        WORKS(aclrtLaunchHostFunc(own[s], count_call, NULL));
    }
    WORKS(aclmdlRIAbort(graph));
    for (int s = 0; s < 3; s++) {
        ANSWERS(507023, aclrtSynchronizeStream(own[s]));
        WORKS(aclrtSynchronizeStream(own[s]));
    }
    cr_assert(eq(int, calls, 6)); // all of the rest ran
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclmdlRIDestroy(other));
}

Test(build, abort_ends_lanes_that_wait)
{
    aclrtEvent never = flag_event();
    aclrtStream own = plain_stream();
    aclmdlRI graph = begin_graph();
    aclrtStream first = bound_stream(graph, HEAD);
    aclrtStream second = bound_stream(graph, HEAD);
    uint64_t *word = device_bytes(32);
    WORKS(aclrtStreamWaitEvent(first, never));
    WORKS(aclrtValueWait(word, 1, ACL_STREAM_WAIT_VALUE_EQ, second));
    end_graph(graph, first);
    WORKS(aclmdlRIExecuteAsync(graph, own));
    ANSWERS(507046, aclrtSynchronizeStreamWithTimeout(own, 20));
    WORKS(aclmdlRIAbort(graph));
    ANSWERS(507023, aclrtSynchronizeStream(own));
    WORKS(aclmdlRIExecuteAsync(graph, own)); // and again, to its end
    *word = 1;
    WORKS(aclrtRecordEvent(never, NULL));
    WORKS(aclrtSynchronizeStream(own));
    WORKS(aclmdlRIDestroy(graph));
}

Test(build, codes_of_abort)
{
    aclrtStream plain = plain_stream();
    aclmdlRI captured = captured_graph(plain);
    aclmdlRI graph = begin_graph();
    ANSWERS(100000, aclmdlRIAbort(NULL));
    ANSWERS(107000, aclmdlRIAbort(captured));
    WORKS(aclmdlRIAbort(graph)); // not even built
    WORKS(aclmdlRIDestroy(graph));
    ANSWERS(107017, aclmdlRIAbort(graph));
    WORKS(aclmdlRIDestroy(captured));
}

Test(build, execute_gives_up_after_its_time_and_can_be_stopped)
{
    aclrtStream stream = NULL;
    uint32_t *again = NULL;
    aclmdlRI graph = endless_graph(&stream, &again);
    ANSWERS(507046, aclmdlRIExecute(graph, 20));
    WORKS(aclmdlRIAbort(graph));
    ANSWERS(507023, aclrtSynchronizeStream(NULL)); // on which it ran
    ANSWERS(507046, aclmdlRIExecute(graph, 20));
    WORKS(aclmdlRIAbort(graph));
    WORKS(aclmdlRIDestroy(graph));
}

static void abort_own(void *graph)
{
    usleep(1000);
    calls = aclrtSetDevice(0) == 0 ? aclmdlRIAbort(graph) : -1;
}

Test(build, a_function_of_the_graph_stops_it)
{
    const struct labels labels = make_labels(1);
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    uint32_t *again = device_bytes(4);
    WORKS(aclrtSetLabel(labels.label[0], stream));
    WORKS(aclrtLaunchHostFunc(stream, abort_own, graph));
    switch_label(labels, again, stream);
    end_graph(graph, stream);
    calls = -1;
    ANSWERS(507023, aclmdlRIExecute(graph, 20000));
    cr_assert(eq(int, calls, 0));
    WORKS(aclmdlRIDestroy(graph));
    free_labels(labels);
}

static void *destroy_thread(void *graph)
{
    static int answer;
    answer = aclmdlRIDestroy(graph);
    return &answer;
}

Test(build, destroy_waits_for_a_run)
{
    aclrtEvent gate = flag_event();
    aclrtStream own = plain_stream();
    pthread_t thread;
    void *answer = NULL;
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    wait_for_flag(stream, gate);
    WORKS(aclrtLaunchHostFunc(stream, count_call, NULL));
    end_graph(graph, stream);
    WORKS(aclmdlRIExecuteAsync(graph, own));
    WORKS(aclmdlRIExecuteAsync(graph, own));
    cr_assert(eq(int, pthread_create(&thread, NULL, destroy_thread, graph), 0));
    for (int i = 1; i <= 2; i++) {
        usleep(20000);
        WORKS(aclrtRecordEvent(gate, NULL));
        while (calls < i) {
            usleep(1000);
        }
    }
    cr_assert(eq(int, pthread_join(thread, &answer), 0));
    cr_assert(eq(int, *(int *)answer, 0));
    WORKS(aclrtSynchronizeStream(own));
    cr_assert(eq(int, calls, 2));
    WORKS(aclrtDestroyStream(stream));
}

Test(build, destroy_of_an_endless_graph_gives_up_after_ten_seconds)
{
    aclrtStream stream = NULL;
    uint32_t *again = NULL;
    aclrtStream own = plain_stream();
    aclmdlRI graph = endless_graph(&stream, &again);
    WORKS(aclmdlRIExecuteAsync(graph, own));
    ANSWERS(107037, aclmdlRIDestroy(graph));
    WORKS(aclmdlRIAbort(graph));
    ANSWERS(507023, aclrtSynchronizeStream(own));
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyStream(stream));
}
