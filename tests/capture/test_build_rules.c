// What graphs that are built by hand refuse, and how.

#include "support/acl_test.h"
#include "support/build_case.h"
#include "support/build_run.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

TestSuite(build_rules, .init = on_device, .timeout = 60);

// ---- what is refused ----

Test(build_rules, codes_of_build_begin)
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

Test(build_rules, codes_of_bind_stream)
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

Test(build_rules, codes_of_the_end)
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

Test(build_rules, codes_of_execution)
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

Test(build_rules, without_end_task_it_ends_but_does_not_run)
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

Test(build_rules, the_sentence_says_why_it_cannot_run)
{
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    aclrtStream other = bound_stream(graph, HEAD);
    int32_t id = -1;
    char want[64];
    end_graph(graph, stream);
    WORKS(aclrtStreamGetId(other, &id));
    WORKS(aclmdlRIUnbindStream(graph, other));
    ANSWERS(507011, aclmdlRIExecute(graph, -1));
    snprintf(want, sizeof(want), "its stream %d was unbound", id);
    cr_assert(ne(ptr, strstr(aclGetRecentErrMsg(), want), NULL));
    WORKS(aclmdlRIDestroy(graph));
}

static void run_inside(void *arg)
{
    if (aclrtSetDevice(0) == 0) {
        atomic_store(&calls, aclmdlRIExecute(arg, -1));
    }
}

Test(build_rules, a_function_cannot_execute_and_wait)
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

Test(build_rules, of_another_context)
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

Test(build_rules, events_of_a_bound_stream)
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

Test(build_rules, a_captured_event_does_not_draw_a_bound_stream_into_the_capture)
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

Test(build_rules, pageable_memory_is_refused_in_every_copy)
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

Test(build_rules, a_bound_stream_is_never_waited_for)
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
