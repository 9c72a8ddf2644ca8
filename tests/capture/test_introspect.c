// Looking into graphs through the public API: streams, their tasks, what kind each is and in which
// order they were submitted; and that nothing can be asked of what is not there.

#include "support/acl_test.h"

#include <hccl/hccl.h>
#include <reprise/kernel.h>
#include <string.h>

#include "base/util.h"

#define BYTES 256
#define ROOM 32
#define RELAXED ACL_MODEL_RI_CAPTURE_MODE_RELAXED

static aclrtStream a, b;
static char *device, *other;
static aclrtEvent fork_event, join_event;

static void setup(void)
{
    on_device();
    WORKS(aclrtCreateStream(&a));
    WORKS(aclrtCreateStream(&b));
    WORKS(aclrtMalloc((void **)&device, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclrtMalloc((void **)&other, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclrtCreateEventExWithFlag(&fork_event, ACL_EVENT_SYNC));
    WORKS(aclrtCreateEventExWithFlag(&join_event, ACL_EVENT_SYNC));
}

static void teardown(void)
{
    WORKS(aclrtDestroyEvent(fork_event));
    WORKS(aclrtDestroyEvent(join_event));
    WORKS(aclrtFree(device));
    WORKS(aclrtFree(other));
    WORKS(aclrtDestroyStream(a));
    WORKS(aclrtDestroyStream(b));
    WORKS(aclrtResetDevice(0));
}

TestSuite(introspect, .init = setup, .fini = teardown, .timeout = 60);

static void copy_on(aclrtStream stream)
{
    WORKS(aclrtMemcpyAsync(other, BYTES, device, BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
}

/* Stream `a` copies, forks to `b`, which fills, and joins it again: 2 streams, 3 and 3 tasks. */
static aclmdlRI capture_two_streams(void)
{
    aclmdlRI graph = NULL;
    WORKS(aclmdlRICaptureBegin(a, RELAXED));
    copy_on(a);
    WORKS(aclrtRecordEvent(fork_event, a));
    WORKS(aclrtStreamWaitEvent(b, fork_event));
    WORKS(aclrtMemsetAsync(other, BYTES, 1, BYTES, b));
    WORKS(aclrtRecordEvent(join_event, b));
    WORKS(aclrtStreamWaitEvent(a, join_event));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    return graph;
}

/* The tasks of the graph's stream number `index`; returns how many there are. */
static uint32_t tasks_of(aclmdlRI graph, uint32_t index, aclmdlRITask *tasks)
{
    aclrtStream streams[ROOM];
    uint32_t count = ROOM;
    WORKS(aclmdlRIGetStreams(graph, streams, &count));
    cr_assert(gt(u32, count, index));
    count = ROOM;
    WORKS(aclmdlRIGetTasksByStream(streams[index], tasks, &count));
    return count;
}

static aclmdlRITaskType type_of(aclmdlRITask task)
{
    aclmdlRITaskType type = (aclmdlRITaskType)-1;
    WORKS(aclmdlRITaskGetType(task, &type));
    return type;
}

static uint32_t seq_of(aclmdlRITask task)
{
    uint32_t id = UINT32_MAX;
    WORKS(aclmdlRITaskGetSeqId(task, &id));
    return id;
}

Test(introspect, streams_are_counted_listed_and_padded_with_null)
{
    const aclmdlRI graph = capture_two_streams();
    uint32_t count = 77;
    WORKS(aclmdlRIGetStreams(graph, NULL, &count));
    cr_assert(eq(u32, count, 2));
    aclrtStream streams[4] = { a, a, a, a };
    count = 4;
    WORKS(aclmdlRIGetStreams(graph, streams, &count));
    cr_assert(eq(u32, count, 2));
    cr_assert(ne(ptr, streams[0], NULL));
    cr_assert(ne(ptr, streams[1], NULL));
    cr_assert(ne(ptr, streams[0], streams[1]));
    cr_assert(eq(ptr, streams[2], NULL));
    cr_assert(eq(ptr, streams[3], NULL));
    WORKS(aclmdlRIDestroy(graph));
}

Test(introspect, an_array_that_is_too_small_is_filled_and_the_real_count_told)
{
    const aclmdlRI graph = capture_two_streams();
    aclrtStream streams[3] = { NULL, a, a };
    uint32_t count = 1;
    ANSWERS(107039, aclmdlRIGetStreams(graph, streams, &count));
    cr_assert(eq(u32, count, 2));
    cr_assert(ne(ptr, streams[0], NULL));
    cr_assert(eq(ptr, streams[1], a), "nothing is written behind the room that was told");
    count = 0;
    ANSWERS(107039, aclmdlRIGetStreams(graph, streams, &count));
    cr_assert(eq(u32, count, 2));

    aclmdlRITask tasks[4] = { NULL, NULL, a, a };
    count = 2;
    ANSWERS(107039, aclmdlRIGetTasksByStream(streams[0], tasks, &count));
    cr_assert(eq(u32, count, 3));
    cr_assert(ne(ptr, tasks[1], NULL));
    cr_assert(eq(ptr, tasks[2], a));
    WORKS(aclmdlRIDestroy(graph));
}

Test(introspect, a_graphs_streams_have_the_ids_of_those_that_were_captured)
{
    const aclmdlRI graph = capture_two_streams();
    aclrtStream streams[2];
    uint32_t count = 2;
    int32_t ids[2] = { -1, -1 }, own[2] = { -1, -1 };
    WORKS(aclmdlRIGetStreams(graph, streams, &count));
    WORKS(aclrtStreamGetId(a, &own[0]));
    WORKS(aclrtStreamGetId(b, &own[1]));
    for (int i = 0; i < 2; i++) {
        WORKS(aclrtStreamGetId(streams[i], &ids[i]));
        cr_assert(eq(int, ids[i], own[i]));
    }
    ANSWERS(107017, aclrtSynchronizeStream(streams[0])); // there is nothing to wait for
    WORKS(aclmdlRIDestroy(graph));
    ANSWERS(107017, aclrtStreamGetId(streams[0], &ids[0]));
}

Test(introspect, tasks_of_a_stream_come_in_order_of_submission)
{
    const aclmdlRI graph = capture_two_streams();
    aclmdlRITask on_a[ROOM], on_b[ROOM];
    cr_assert(eq(u32, tasks_of(graph, 0, on_a), 3));
    cr_assert(eq(u32, tasks_of(graph, 1, on_b), 3));
    cr_assert(eq(ptr, on_a[3], NULL));
    cr_assert(eq(int, (int)type_of(on_a[0]), ACL_MODEL_RI_TASK_DEFAULT));
    cr_assert(eq(int, (int)type_of(on_a[1]), ACL_MODEL_RI_TASK_EVENT_RECORD));
    cr_assert(eq(int, (int)type_of(on_a[2]), ACL_MODEL_RI_TASK_EVENT_WAIT));
    cr_assert(eq(int, (int)type_of(on_b[0]), ACL_MODEL_RI_TASK_EVENT_WAIT));
    cr_assert(eq(int, (int)type_of(on_b[1]), ACL_MODEL_RI_TASK_DEFAULT));
    cr_assert(eq(int, (int)type_of(on_b[2]), ACL_MODEL_RI_TASK_EVENT_RECORD));
    const aclmdlRITask submitted[] = { on_a[0], on_a[1], on_b[0], on_b[1], on_b[2], on_a[2] };
    for (size_t i = 1; i < RP_ARRAY_LENGTH(submitted); i++) {
        cr_assert(lt(u32, seq_of(submitted[i - 1]), seq_of(submitted[i])), "%zu", i);
    }
    WORKS(aclmdlRIDestroy(graph));
}

static void nothing(void *args, uint32_t block, uint32_t blocks)
{
    (void)args;
    (void)block;
    (void)blocks;
}

static void host_nothing(void *arg)
{
    (void)arg;
}

Test(introspect, every_kind_of_task_is_told)
{
    HcclRootInfo info;
    HcclComm comm = NULL;
    aclrtFuncHandle kernel = NULL;
    aclrtEvent external = NULL;
    aclmdlRI graph = NULL;
    uint64_t *word = NULL;
    cr_assert(eq(int, (int)HcclGetRootInfo(&info), 0));
    cr_assert(eq(int, (int)HcclCommInitRootInfo(1, &info, 0, &comm), 0));
    WORKS(reprise_kernel_register("nothing", nothing, &kernel));
    WORKS(aclrtCreateEventWithFlag(&external, ACL_EVENT_EXTERNAL));
    WORKS(aclrtMallocAlign32((void **)&word, 32, ACL_MEM_MALLOC_HUGE_FIRST));

    WORKS(aclmdlRICaptureBegin(a, RELAXED));
    WORKS(aclrtLaunchKernel(kernel, 2, device, BYTES, a));
    cr_assert(eq(int,
            (int)HcclAllReduce(device, other, 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, a),
            0));
    WORKS(aclrtStreamWaitEvent(a, external));
    WORKS(aclrtResetEvent(external, a));
    WORKS(aclrtValueWrite(word, 5, 0, a));
    WORKS(aclrtValueWait(word, 5, ACL_STREAM_WAIT_VALUE_GEQ, a));
    WORKS(aclrtLaunchHostFunc(a, host_nothing, NULL));
    WORKS(aclmdlRICaptureEnd(a, &graph));

    static const aclmdlRITaskType expected[] = { ACL_MODEL_RI_TASK_KERNEL, ACL_MODEL_RI_TASK_KERNEL,
        ACL_MODEL_RI_TASK_EVENT_WAIT, ACL_MODEL_RI_TASK_EVENT_RESET, ACL_MODEL_RI_TASK_VALUE_WRITE,
        ACL_MODEL_RI_TASK_VALUE_WAIT, ACL_MODEL_RI_TASK_DEFAULT };
    aclmdlRITask tasks[ROOM];
    cr_assert(eq(u32, tasks_of(graph, 0, tasks), (uint32_t)RP_ARRAY_LENGTH(expected)));
    for (size_t i = 0; i < RP_ARRAY_LENGTH(expected); i++) {
        cr_assert(eq(int, (int)type_of(tasks[i]), (int)expected[i]), "task %zu", i);
    }
    WORKS(aclmdlRIDestroy(graph));
    WORKS(reprise_kernel_unregister(kernel));
    WORKS(aclrtDestroyEvent(external));
    WORKS(aclrtFree(word));
    cr_assert(eq(int, (int)HcclCommDestroy(comm), 0));
}

Test(introspect, a_graph_can_be_looked_into_while_it_is_captured)
{
    aclmdlRI graph = NULL;
    uint32_t count = 0;
    aclmdlRITask tasks[ROOM];
    WORKS(aclmdlRICaptureBegin(a, RELAXED));
    WORKS(aclmdlRICaptureGetInfo(a, NULL, &graph));
    WORKS(aclmdlRIGetStreams(graph, NULL, &count));
    cr_assert(eq(u32, count, 1));
    cr_assert(eq(u32, tasks_of(graph, 0, tasks), 0));
    copy_on(a);
    cr_assert(eq(u32, tasks_of(graph, 0, tasks), 1));
    const aclmdlRITask before = tasks[0];
    WORKS(aclmdlRICaptureEnd(a, &graph));
    tasks_of(graph, 0, tasks);
    cr_assert(eq(ptr, tasks[0], before), "a task keeps its handle");
    WORKS(aclmdlRIDestroy(graph));
}

Test(introspect, handles_of_a_destroyed_graph_are_stale)
{
    const aclmdlRI graph = capture_two_streams();
    aclrtStream streams[2];
    aclmdlRITask tasks[ROOM];
    aclmdlRITaskType type;
    uint32_t count = 2;
    WORKS(aclmdlRIGetStreams(graph, streams, &count));
    tasks_of(graph, 0, tasks);
    WORKS(aclmdlRIDestroy(graph));
    const aclmdlRI next = capture_two_streams(); // at the same address, perhaps
    ANSWERS(107017, aclmdlRITaskGetType(tasks[0], &type));
    ANSWERS(107017, aclmdlRITaskGetSeqId(tasks[0], &count));
    ANSWERS(107017, aclmdlRIGetTasksByStream(streams[0], NULL, &count));
    ANSWERS(107017, aclmdlRIGetStreams(a, NULL, &count));
    WORKS(aclmdlRIDestroy(next));
    ANSWERS(107017, aclmdlRIGetStreams(next, NULL, &count));
}

Test(introspect, a_users_own_stream_has_no_tasks_to_list)
{
    const aclmdlRI graph = capture_two_streams();
    uint32_t count = 0;
    ANSWERS(107000, aclmdlRIGetTasksByStream(a, NULL, &count));
    cr_assert(ne(ptr, strstr(aclGetRecentErrMsg(), "aclmdlRIGetTasksByStream"), NULL));
    WORKS(aclmdlRIDestroy(graph));
}

Test(introspect, null_pointers_are_refused)
{
    const aclmdlRI graph = capture_two_streams();
    aclrtStream streams[2];
    aclmdlRITask tasks[ROOM];
    aclmdlRITaskType type;
    uint32_t count = 2;
    WORKS(aclmdlRIGetStreams(graph, streams, &count));
    tasks_of(graph, 0, tasks);
    ANSWERS(100000, aclmdlRIGetStreams(NULL, NULL, &count));
    ANSWERS(100000, aclmdlRIGetStreams(graph, streams, NULL));
    ANSWERS(100000, aclmdlRIGetTasksByStream(NULL, NULL, &count));
    ANSWERS(100000, aclmdlRIGetTasksByStream(streams[0], tasks, NULL));
    ANSWERS(100000, aclmdlRITaskGetType(NULL, &type));
    ANSWERS(100000, aclmdlRITaskGetType(tasks[0], NULL));
    ANSWERS(100000, aclmdlRITaskGetSeqId(NULL, &count));
    ANSWERS(100000, aclmdlRITaskGetSeqId(tasks[0], NULL));
    WORKS(aclmdlRIDestroy(graph));
}

Test(introspect, another_context_sees_nothing_of_a_graph)
{
    const aclmdlRI graph = capture_two_streams();
    aclrtContext own = NULL, foreign = NULL;
    aclrtStream streams[2];
    aclmdlRITask tasks[ROOM];
    aclmdlRITaskType type;
    uint32_t count = 2;
    WORKS(aclmdlRIGetStreams(graph, streams, &count));
    tasks_of(graph, 0, tasks);
    WORKS(aclrtGetCurrentContext(&own));
    WORKS(aclrtCreateContext(&foreign, 0));
    ANSWERS(107004, aclmdlRIGetStreams(graph, NULL, &count));
    ANSWERS(107004, aclmdlRIGetTasksByStream(streams[0], NULL, &count));
    ANSWERS(107004, aclmdlRITaskGetType(tasks[0], &type));
    ANSWERS(107004, aclmdlRIDebugJsonPrint(graph, "/dev/null", 0));
    WORKS(aclrtSetCurrentContext(own));
    WORKS(aclrtDestroyContext(foreign));
    WORKS(aclmdlRIDestroy(graph));
}

/* A capture on `a` with a conditional whose sub-graph is captured on `b`. */
static aclmdlRI capture_condition(aclmdlRI *sub)
{
    aclmdlRI graph = NULL;
    aclmdlRICondHandle handle = NULL;
    WORKS(aclmdlRICaptureBegin(a, RELAXED));
    WORKS(aclmdlRICaptureGetInfo(a, NULL, &graph));
    WORKS(aclmdlRICondHandleCreate(graph, 1, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &handle));
    const aclmdlRICondTaskParams params = {
        .handle = handle, .type = ACL_MODEL_RI_COND_TYPE_IF, .size = 1, .modelRIArray = sub
    };
    WORKS(aclmdlRIAddCondTask(params, a, 0));
    WORKS(aclmdlRICaptureToModelRIBegin(b, *sub, RELAXED));
    copy_on(b);
    WORKS(aclmdlRICaptureEnd(b, NULL));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    return graph;
}

Test(introspect, sub_graphs_tell_their_id_and_nothing_else)
{
    aclmdlRI sub = NULL;
    const aclmdlRI graph = capture_condition(&sub);
    uint32_t count = 0, id = 0, root_id = 0;
    aclmdlRITask tasks[ROOM];
    cr_assert(eq(u32, tasks_of(graph, 0, tasks), 1));
    cr_assert(eq(int, (int)type_of(tasks[0]), ACL_MODEL_RI_TASK_DEFAULT));
    WORKS(aclmdlRIGetId(graph, &root_id));
    WORKS(aclmdlRIGetId(sub, &id));
    cr_assert(ne(u32, id, root_id));
    ANSWERS(207000, aclmdlRIGetStreams(sub, NULL, &count));
    cr_assert(ne(ptr, strstr(aclGetRecentErrMsg(), "sub-graph"), NULL));
    WORKS(aclmdlRIDestroy(graph));
}

Test(introspect, tasks_of_a_built_graph_have_no_sequence_id)
{
    aclmdlRI graph = NULL;
    aclrtStream bound = NULL;
    aclmdlRITask tasks[ROOM];
    uint32_t id = 0;
    WORKS(aclrtCreateStreamWithConfig(&bound, 0, ACL_STREAM_PERSISTENT));
    WORKS(aclmdlRIBuildBegin(&graph, 0));
    WORKS(aclmdlRIBindStream(graph, bound, 0));
    copy_on(bound);
    WORKS(aclmdlRIEndTask(graph, bound));
    WORKS(aclmdlRIBuildEnd(graph, NULL));
    cr_assert(ge(u32, tasks_of(graph, 0, tasks), 1));
    cr_assert(eq(int, (int)type_of(tasks[0]), ACL_MODEL_RI_TASK_DEFAULT));
    ANSWERS(207000, aclmdlRITaskGetSeqId(tasks[0], &id));
    WORKS(aclmdlRIUnbindStream(graph, bound));
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyStream(bound));
}
