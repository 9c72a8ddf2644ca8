// aclmdlRIDebugJsonPrint: what a trace viewer asks of the file, what the interface's description
// says is in it, and what `reprise graph` needs to draw it. The file itself is in
// test_graph_json_file.c.

#include "support/acl_test.h"
#include "support/build_case.h"
#include "support/graph_json_case.h"

#include <hccl/hccl.h>
#include <inttypes.h>
#include <jansson.h>
#include <reprise/graph.h>
#include <reprise/kernel.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/graph.h"

TestSuite(graph_json, .init = json_setup, .fini = json_teardown, .timeout = 60);

static int32_t id_of(aclrtStream stream)
{
    int32_t id = -1;
    WORKS(aclrtStreamGetId(stream, &id));
    return id;
}

static void host_nothing(void *data)
{
    (void)data;
}

/* a: copy, record, (b: wait, fill, record), wait, host function. */
static aclmdlRI capture_fork(aclrtEvent *events)
{
    aclmdlRI graph = NULL;
    for (int i = 0; i < 2; i++) {
        WORKS(aclrtCreateEventExWithFlag(&events[i], ACL_EVENT_SYNC));
    }
    WORKS(aclmdlRICaptureBegin(a, RELAXED));
    copy_on(a);
    WORKS(aclrtRecordEvent(events[0], a));
    WORKS(aclrtStreamWaitEvent(b, events[0]));
    WORKS(aclrtMemsetAsync(other, BYTES, 3, BYTES, b));
    WORKS(aclrtRecordEvent(events[1], b));
    WORKS(aclrtStreamWaitEvent(a, events[1]));
    WORKS(aclrtLaunchHostFunc(a, host_nothing, device));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    return graph;
}

static void destroy_fork(aclmdlRI graph, aclrtEvent *events)
{
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyEvent(events[0]));
    WORKS(aclrtDestroyEvent(events[1]));
}

Test(graph_json, tasks_are_complete_events_on_the_row_of_their_stream)
{
    static const char *const types[] = { "MEMCPY_ASYNC", "EVENT_RECORD", "EVENT_WAIT",
        "MEMSET_ASYNC", "EVENT_RECORD", "EVENT_WAIT", "HOSTFUNC_CALLBACK" };
    static const bool on_b[] = { false, false, true, true, true, false, false };
    static const double begin[] = { 0, 10, 0, 15, 25, 15, 30 };
    static const double length[] = { 9.5, 4.5, 14.5, 9.5, 4.5, 14.5, 9.5 };
    aclrtEvent made[2];
    const aclmdlRI graph = capture_fork(made);
    json_t *events = dump(graph, SUMMARY);
    uint32_t id = 0;
    char pid[32], tid[32];
    WORKS(aclmdlRIGetId(graph, &id));
    snprintf(pid, sizeof pid, "%d aclGraph", (int)getpid());
    cr_assert(eq(sz, json_array_size(events), RP_ARRAY_LENGTH(types)));
    for (size_t i = 0; i < RP_ARRAY_LENGTH(types); i++) {
        const int32_t stream = id_of(on_b[i] ? b : a);
        snprintf(tid, sizeof tid, "stream%d", stream);
        cr_assert(eq(str, (char *)text(events, i, "ph"), "X"));
        cr_assert(eq(str, (char *)text(events, i, "pid"), pid));
        cr_assert(eq(str, (char *)text(events, i, "tid"), tid));
        cr_assert(eq(dbl, json_number_value(field(events, i, "ts")), begin[i]), "%zu", i);
        cr_assert(eq(dbl, json_number_value(field(events, i, "dur")), length[i]), "%zu", i);
        cr_assert(eq(int, strncmp(text(events, i, "name"), types[i], strlen(types[i])), 0));
        arg_is(events, i, "Task Type", types[i]);
        arg_number(events, i, "Model Id", id);
        arg_number(events, i, "Stream Id", stream);
        arg_number(events, i, "Task Id", (int64_t)i + 1);
        no_arg(events, i, "Dst");
        no_arg(events, i, "Kernel Args");
    }
    json_decref(events);
    destroy_fork(graph, made);
}

Test(graph_json, records_and_waits_name_their_event_and_share_an_edge)
{
    aclrtEvent made[2];
    const aclmdlRI graph = capture_fork(made);
    json_t *events = dump(graph, SUMMARY);
    uint32_t ids[2];
    char name[64];
    static const size_t records[] = { 1, 4 }, waits[] = { 2, 5 };
    for (size_t i = 0; i < 2; i++) {
        WORKS(aclrtGetEventId(made[i], &ids[i]));
        snprintf(name, sizeof name, "EVENT_RECORD_%u", ids[i]);
        cr_assert(eq(str, (char *)text(events, records[i], "name"), name));
        snprintf(name, sizeof name, "EVENT_WAIT_%u", ids[i]);
        cr_assert(eq(str, (char *)text(events, waits[i], "name"), name));
        cr_assert(json_equal(arg(events, records[i], "Edge"), arg(events, waits[i], "Edge")));
    }
    cr_assert(not(json_equal(arg(events, 1, "Edge"), arg(events, 4, "Edge"))));
    json_decref(events);
    destroy_fork(graph, made);
}

Test(graph_json, verbose_adds_parameters)
{
    aclrtEvent made[2];
    const aclmdlRI graph = capture_fork(made);
    json_t *events = dump(graph, VERBOSE);
    char address[32];
    snprintf(address, sizeof address, "%p", (void *)other);
    arg_is(events, 0, "Dst", address);
    snprintf(address, sizeof address, "%p", (void *)device);
    arg_is(events, 0, "Src", address);
    arg_number(events, 0, "Bytes", BYTES);
    arg_number(events, 3, "Bytes", BYTES);
    arg_number(events, 3, "Value", 3);
    arg_is(events, 6, "User Data", address);
    json_decref(events);
    destroy_fork(graph, made);
}

static void my_kernel(void *args, uint32_t block, uint32_t blocks)
{
    (void)args;
    (void)block;
    (void)blocks;
}

Test(graph_json, a_kernel_tells_its_name_blocks_and_argument_words)
{
    struct {
        uint64_t first, second;
        uint32_t third;
    } __attribute__((packed)) args = { 0x1122334455667788, 1, 0xabcdef01 };
    aclrtFuncHandle kernel = NULL;
    aclmdlRI graph = NULL;
    WORKS(reprise_kernel_register("my_kernel", my_kernel, &kernel));
    WORKS(aclmdlRICaptureBegin(a, RELAXED));
    WORKS(aclrtLaunchKernel(kernel, 8, &args, sizeof args, a));
    WORKS(aclmdlRICaptureEnd(a, &graph));

    json_t *events = dump(graph, SUMMARY);
    cr_assert(eq(str, (char *)text(events, 0, "name"), "my_kernel"));
    arg_is(events, 0, "Task Type", "KERNEL_AIVEC");
    arg_number(events, 0, "Numblocks", 8);
    arg_number(events, 0, "Task Ration", 0);
    arg_number(events, 0, "Schem Mode", 0);
    no_arg(events, 0, "Kernel Args");
    json_decref(events);

    events = dump(graph, VERBOSE);
    arg_is(events, 0, "Kernel Args", "0x1122334455667788 0x0000000000000001 0x00000000abcdef01");
    arg_number(events, 0, "Kernel Args Size", sizeof args);
    json_decref(events);
    WORKS(aclmdlRIDestroy(graph));
    WORKS(reprise_kernel_unregister(kernel));
}

Test(graph_json, an_update_of_a_task_group_shows)
{
    uint64_t args = 1;
    aclrtFuncHandle kernel = NULL;
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = NULL;
    WORKS(reprise_kernel_register("my_kernel", my_kernel, &kernel));
    WORKS(aclmdlRICaptureBegin(a, RELAXED));
    WORKS(aclmdlRICaptureTaskGrpBegin(a));
    WORKS(aclrtLaunchKernel(kernel, 8, &args, sizeof args, a));
    WORKS(aclmdlRICaptureTaskGrpEnd(a, &group));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    args = 2;
    WORKS(aclmdlRICaptureTaskUpdateBegin(b, group));
    WORKS(aclrtLaunchKernel(kernel, 3, &args, sizeof args, b));
    WORKS(aclmdlRICaptureTaskUpdateEnd(b));
    WORKS(aclrtSynchronizeStream(b));
    json_t *events = dump(graph, VERBOSE);
    arg_number(events, 0, "Numblocks", 3);
    arg_is(events, 0, "Kernel Args", "0x0000000000000002");
    json_decref(events);
    WORKS(aclmdlRIDestroy(graph));
    WORKS(reprise_kernel_unregister(kernel));
}

Test(graph_json, a_disabled_task_says_so)
{
    aclmdlRI graph = NULL;
    aclrtStream stream = NULL;
    aclmdlRITask tasks[2];
    uint32_t one = 1, two = 2;
    uint64_t *word = NULL;
    WORKS(aclrtMallocAlign32((void **)&word, 32, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclmdlRICaptureBegin(a, RELAXED));
    WORKS(aclrtValueWrite(word, 1, 0, a));
    WORKS(aclrtValueWrite(word, 2, 0, a));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    WORKS(aclmdlRIGetStreams(graph, &stream, &one));
    WORKS(aclmdlRIGetTasksByStream(stream, tasks, &two));
    WORKS(aclmdlRITaskDisable(tasks[1]));
    WORKS(aclmdlRIUpdate(graph));
    json_t *events = dump(graph, VERBOSE);
    no_arg(events, 0, "Disabled");
    cr_assert(ne(ptr, arg(events, 1, "Disabled"), NULL));
    arg_is(events, 1, "Value", "0x2");
    json_decref(events);
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtFree(word));
}

Test(graph_json, a_collective_tells_what_it_is_and_how_it_runs)
{
    HcclRootInfo info;
    HcclComm comm = NULL;
    aclmdlRI graph = NULL;
    char name[COMM_NAME_MAX_LENGTH];
    cr_assert(eq(int, (int)HcclGetRootInfo(&info), 0));
    cr_assert(eq(int, (int)HcclCommInitRootInfo(1, &info, 0, &comm), 0));
    cr_assert(eq(int, (int)HcclGetCommName(comm, name), 0));
    WORKS(aclmdlRICaptureBegin(a, RELAXED));
    cr_assert(eq(int,
            (int)HcclAllReduce(device, other, 16, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, comm, a),
            0));
    cr_assert(eq(int, (int)HcclBroadcast(device, 8, HCCL_DATA_TYPE_INT8, 0, comm, a), 0));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    json_t *events = dump(graph, VERBOSE);
    char address[32];
    cr_assert(eq(str, (char *)text(events, 0, "name"), "AllReduce"));
    arg_is(events, 0, "Task Type", "KERNEL_AIVEC");
    arg_is(events, 0, "Operator", "AllReduce");
    arg_is(events, 0, "Data Type", "fp32");
    arg_is(events, 0, "Reduce Op", "max");
    arg_number(events, 0, "Count", 16);
    arg_is(events, 0, "Expansion", "AIV");
    arg_is(events, 0, "Algorithm", "fused");
    arg_is(events, 0, "Communicator", name);
    arg_number(events, 0, "Rank Id", 0);
    arg_number(events, 0, "Rank Size", 1);
    snprintf(address, sizeof address, "%p", (void *)other);
    arg_is(events, 0, "Dst", address);
    no_arg(events, 0, "Root");
    // The block is struct reprise_collective_args: its last words are room for later.
    arg_number(events, 0, "Kernel Args Size", sizeof(struct reprise_collective_args));
    snprintf(address, sizeof address, "0x%016" PRIx64, (uint64_t)(uintptr_t)comm);
    cr_assert(ne(ptr, strstr(json_string_value(arg(events, 0, "Kernel Args")), address), NULL));
    arg_is(events, 1, "Operator", "Broadcast");
    arg_is(events, 1, "Data Type", "int8");
    arg_number(events, 1, "Root", 0);
    no_arg(events, 1, "Reduce Op");
    json_decref(events);
    WORKS(aclmdlRIDestroy(graph));
    cr_assert(eq(int, (int)HcclCommDestroy(comm), 0));
}

Test(graph_json, extend_info_is_shown_and_bad_bytes_in_it_do_no_harm)
{
    static const char bad[] = "ok \xc3\xa4 \xff\xfe \xc3";
    aclmdlRI graph = NULL;
    WORKS(aclmdlRICaptureBegin(a, RELAXED));
    copy_on(a);
    WORKS(aclrtCacheLastTaskExtendInfo("{\"op\":\"add\"}", 12));
    copy_on(a);
    WORKS(aclrtCacheLastTaskExtendInfo(bad, sizeof bad)); // with its NUL
    copy_on(a);
    WORKS(aclmdlRICaptureEnd(a, &graph));
    json_t *events = dump(graph, SUMMARY);
    arg_is(events, 0, "ExtendInfo", "{\"op\":\"add\"}");
    arg_is(events, 1, "ExtendInfo", "ok \xc3\xa4 ?? ?");
    no_arg(events, 2, "ExtendInfo");
    json_decref(events);
    WORKS(aclmdlRIDestroy(graph));
}

Test(graph_json, sub_graphs_follow_their_conditional_on_rows_of_their_own)
{
    aclmdlRI graph = NULL, subs[2] = { NULL, NULL };
    aclmdlRICondHandle handle = NULL;
    uint32_t ids[3];
    char tid[64];
    WORKS(aclmdlRICaptureBegin(a, RELAXED));
    WORKS(aclmdlRICaptureGetInfo(a, NULL, &graph));
    WORKS(aclmdlRICondHandleCreate(graph, 0, 0, &handle));
    copy_on(a);
    const aclmdlRICondTaskParams params = {
        .handle = handle, .type = ACL_MODEL_RI_COND_TYPE_IF, .size = 2, .modelRIArray = subs
    };
    WORKS(aclmdlRIAddCondTask(params, a, 0));
    for (int i = 0; i < 2; i++) {
        WORKS(aclmdlRICaptureToModelRIBegin(b, subs[i], RELAXED));
        copy_on(b);
        WORKS(aclmdlRICaptureEnd(b, NULL));
    }
    copy_on(a);
    WORKS(aclmdlRICaptureEnd(a, &graph));
    WORKS(aclmdlRIGetId(graph, &ids[2]));
    json_t *events = dump(graph, VERBOSE);
    cr_assert(eq(sz, json_array_size(events), 5));
    cr_assert(eq(str, (char *)text(events, 1, "name"), "CONDITION_OP"));
    arg_is(events, 1, "Condition", "IF");
    cr_assert(eq(sz, json_array_size(arg(events, 1, "Sub Models")), 2));
    for (size_t i = 0; i < 2; i++) {
        WORKS(aclmdlRIGetId(subs[i], &ids[i]));
        cr_assert(eq(
                i64, json_integer_value(json_array_get(arg(events, 1, "Sub Models"), i)), ids[i]));
        arg_number(events, 2 + i, "Model Id", ids[i]);
        snprintf(tid, sizeof tid, "stream%d of graph %u", id_of(b), ids[i]);
        cr_assert(eq(str, (char *)text(events, 2 + i, "tid"), tid));
        cr_assert(eq(dbl, json_number_value(field(events, 2 + i, "ts")), 10.0));
    }
    arg_number(events, 4, "Model Id", ids[2]);
    cr_assert(eq(dbl, json_number_value(field(events, 4, "ts")), 20.0));
    json_decref(events);

    events = dump(subs[1], SUMMARY); // alone
    cr_assert(eq(sz, json_array_size(events), 1));
    arg_number(events, 0, "Model Id", ids[1]);
    json_decref(events);
    WORKS(aclmdlRIDestroy(graph));
}

/* The index of the first event of that type; it fails when there is none. */
static size_t find_type(const json_t *events, const char *type)
{
    for (size_t i = 0; i < json_array_size(events); i++) {
        if (strcmp(json_string_value(arg(events, i, "Task Type")), type) == 0) {
            return i;
        }
    }
    cr_assert(false, "there is no %s", type);
    return 0;
}

Test(graph_json, a_condition_tells_its_word_and_its_default)
{
    aclmdlRI graph = NULL, sub = NULL;
    aclmdlRICondHandle handle = NULL;
    uint64_t *word = NULL;
    char address[32];
    for (int with = 0; with < 2; with++) {
        WORKS(aclmdlRICaptureBegin(a, RELAXED));
        WORKS(aclmdlRICaptureGetInfo(a, NULL, &graph));
        WORKS(aclmdlRICondHandleCreate(graph, 7, (aclmdlRICondHandleFlag)with, &handle));
        WORKS(aclmdlRICondHandleGetCondPtr(handle, &word));
        const aclmdlRICondTaskParams params = {
            .handle = handle, .type = ACL_MODEL_RI_COND_TYPE_WHILE, .size = 1, .modelRIArray = &sub
        };
        WORKS(aclmdlRIAddCondTask(params, a, 0));
        WORKS(aclmdlRICaptureEnd(a, &graph));
        json_t *events = dump(graph, VERBOSE);
        snprintf(address, sizeof address, "%p", (void *)word);
        arg_is(events, 0, "Condition", "WHILE");
        arg_is(events, 0, "Condition Addr", address);
        if (with == 0) {
            no_arg(events, 0, "Default Value");
        } else {
            arg_number(events, 0, "Default Value", 7);
        }
        json_decref(events);
        WORKS(aclmdlRIDestroy(graph));
    }
}

Test(graph_json, labels_have_numbers_and_a_switch_lists_where_it_leads)
{
    aclrtLabel labels[3];
    aclrtLabelList list = NULL;
    uint32_t *which = device_bytes(sizeof *which);
    aclmdlRI graph = begin_graph();
    aclrtStream first = bound_stream(graph, HEAD);
    aclrtStream second = bound_stream(graph, ON_DEMAND);
    char name[32], address[32];
    for (int i = 0; i < 3; i++) {
        WORKS(aclrtCreateLabel(&labels[i]));
    }
    WORKS(aclrtCreateLabelList(labels, 3, &list));
    WORKS(aclrtSetLabel(labels[1], first));
    WORKS(aclrtActiveStream(second, first));
    WORKS(aclrtSwitchStream(which, ACL_RT_LESS, which, ACL_RT_SWITCH_INT32, second, NULL, first));
    WORKS(aclrtSwitchLabelByIndex(which, 2, list, first));
    WORKS(aclrtSetLabel(labels[0], first));
    WORKS(aclrtMemsetAsync(other, BYTES, 3, BYTES, second));
    end_graph(graph, first);

    json_t *events = dump(graph, VERBOSE);
    const int64_t of_first = json_integer_value(arg(events, 0, "Label Id"));
    const int64_t of_second = json_integer_value(arg(events, 4, "Label Id"));
    snprintf(name, sizeof name, "LABEL_SET_%" PRId64, of_first);
    cr_assert(eq(str, (char *)text(events, 0, "name"), name));
    arg_number(events, 1, "Active Stream Id", id_of(second));
    arg_number(events, 2, "Active Stream Id", id_of(second));
    snprintf(address, sizeof address, "%p", (void *)which);
    arg_is(events, 2, "Compare", "<");
    arg_is(events, 2, "Left Addr", address);
    arg_is(events, 3, "Index Addr", address);
    arg_number(events, 3, "Max Value", 2); // as given to the call
    json_t *expected = json_pack("[I, I]", (json_int_t)of_second, (json_int_t)of_first);
    cr_assert(json_equal(arg(events, 3, "Label Ids"), expected));
    json_decref(expected);
    json_decref(events);
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyLabelList(list));
    for (int i = 0; i < 3; i++) {
        WORKS(aclrtDestroyLabel(labels[i]));
    }
    WORKS(aclrtFree(which));
}

Test(graph_json, what_waits_for_the_outside_says_so)
{
    aclrtEvent flag = NULL, made[2];
    aclmdlRI graph = NULL;
    char name[64];
    uint32_t id = 0;
    WORKS(aclrtCreateEventWithFlag(&flag, ACL_EVENT_EXTERNAL));
    WORKS(aclrtGetEventId(flag, &id));
    for (int i = 0; i < 2; i++) {
        WORKS(aclrtCreateEventExWithFlag(&made[i], ACL_EVENT_SYNC));
    }
    WORKS(aclmdlRICaptureBegin(a, RELAXED));
    WORKS(aclrtStreamWaitEvent(a, flag));
    WORKS(aclrtResetEvent(flag, a));
    WORKS(aclrtStreamWaitEventWithFlag(a, made[0], 0, ACL_EVENT_WAIT_EXTERNAL));
    WORKS(aclrtRecordEventWithFlag(made[1], a, ACL_EVENT_RECORD_EXTERNAL));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    json_t *events = dump(graph, SUMMARY);
    snprintf(name, sizeof name, "EVENT_WAIT_%u", id);
    cr_assert(eq(str, (char *)text(events, 0, "name"), name));
    snprintf(name, sizeof name, "EVENT_RESET_%u", id);
    cr_assert(eq(str, (char *)text(events, 1, "name"), name));
    cr_assert(eq(sz, find_type(events, "CAPTURE_WAIT_EXTERNAL"), 2));
    cr_assert(eq(sz, find_type(events, "CAPTURE_RECORD_EXTERNAL"), 3));
    for (size_t i = 0; i < 4; i++) {
        const bool external = json_is_true(arg(events, i, "External"));
        cr_assert(external, "%zu", i);
    }
    json_decref(events);
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyEvent(flag));
    WORKS(aclrtDestroyEvent(made[0]));
    WORKS(aclrtDestroyEvent(made[1]));

    const aclmdlRI fork = capture_fork(made); // edges are not external
    events = dump(fork, SUMMARY);
    for (size_t i = 0; i < json_array_size(events); i++) {
        no_arg(events, i, "External");
    }
    json_decref(events);
    destroy_fork(fork, made);
}

Test(graph_json, the_name_of_a_graph_is_with_its_tasks)
{
    aclmdlRI graph = NULL;
    WORKS(aclmdlRICaptureBegin(a, RELAXED));
    copy_on(a);
    WORKS(aclmdlRICaptureEnd(a, &graph));
    json_t *events = dump(graph, SUMMARY);
    no_arg(events, 0, "Model Name");
    json_decref(events);
    WORKS(aclmdlRISetName(graph, "step \xff 1"));
    events = dump(graph, SUMMARY);
    arg_is(events, 0, "Model Name", "step ? 1");
    json_decref(events);
    WORKS(aclmdlRIDestroy(graph));
}

Test(graph_json, sentences_and_dumps_give_a_task_the_same_number)
{
    HcclRootInfo info;
    HcclComm comm = NULL;
    aclmdlRI graph = NULL;
    cr_assert(eq(int, (int)HcclGetRootInfo(&info), 0));
    cr_assert(eq(int, (int)HcclCommInitRootInfo(1, &info, 0, &comm), 0));
    WORKS(aclmdlRICaptureBegin(a, RELAXED));
    copy_on(a);
    cr_assert(eq(int,
            (int)HcclAllReduce(device, other, 16, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, comm, a),
            0));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    json_t *events = dump(graph, SUMMARY);
    arg_number(events, 1, "Task Id", 2);
    cr_assert(eq(u32, rp_graph_from_handle(graph)->program->op[0].record.task, 2));
    json_decref(events);
    WORKS(aclmdlRIDestroy(graph));
    cr_assert(eq(int, (int)HcclCommDestroy(comm), 0));
}
