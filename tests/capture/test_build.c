// Graphs that are built by hand: binding, running, streams that start each other,
// life. What is refused is test_build_rules.c, stopping test_build_stop.c, labels
// test_labels.c.

#include "support/acl_test.h"
#include "support/build_case.h"
#include "support/build_run.h"

#include <stdatomic.h>
#include <unistd.h>

TestSuite(build, .init = on_device, .timeout = 60);

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
