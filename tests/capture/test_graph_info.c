// Names, ids, destroy callbacks and infos of tasks: what a program attaches to a graph.

#include "support/acl_test.h"

#include <string.h>

#include "base/alloc.h"
#include "capture/graph_info.h"
#include "capture/task.h"

#define BYTES 64
#define RELAXED ACL_MODEL_RI_CAPTURE_MODE_RELAXED

static aclrtStream a, b;
static char *device;
static int called[3]; // at which place each callback ran, from 1; 0: not
static int calls;

static void setup(void)
{
    on_device();
    WORKS(aclrtCreateStream(&a));
    WORKS(aclrtCreateStream(&b));
    WORKS(aclrtMalloc((void **)&device, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
}

static void teardown(void)
{
    WORKS(aclrtFree(device));
    WORKS(aclrtDestroyStream(a));
    WORKS(aclrtDestroyStream(b));
    WORKS(aclrtResetDevice(0));
}

TestSuite(graph_info, .init = setup, .fini = teardown, .timeout = 60);

static void fill_on(aclrtStream stream)
{
    WORKS(aclrtMemsetAsync(device, BYTES, 0, BYTES, stream));
}

static aclmdlRI begin(void)
{
    aclmdlRI graph = NULL;
    WORKS(aclmdlRICaptureBegin(a, RELAXED));
    WORKS(aclmdlRICaptureGetInfo(a, NULL, &graph));
    return graph;
}

static aclmdlRI end(void)
{
    aclmdlRI graph = NULL;
    WORKS(aclmdlRICaptureEnd(a, &graph));
    return graph;
}

static aclmdlRI capture_one(void)
{
    begin();
    fill_on(a);
    return end();
}

static void named(aclmdlRI graph, const char *expected)
{
    char name[RP_GRAPH_NAME_MAX + 1];
    memset(name, 'x', sizeof name);
    WORKS(aclmdlRIGetName(graph, sizeof name, name));
    cr_assert(eq(str, name, (char *)expected));
}

// ---- names and ids ----

Test(graph_info, a_name_can_be_set_from_the_captures_begin_and_the_last_one_counts)
{
    const aclmdlRI graph = begin();
    named(graph, "");
    WORKS(aclmdlRISetName(graph, "first"));
    named(graph, "first");
    fill_on(a);
    cr_assert(eq(ptr, end(), graph));
    named(graph, "first");
    WORKS(aclmdlRISetName(graph, "a second, longer name"));
    named(graph, "a second, longer name");
    WORKS(aclmdlRISetName(graph, ""));
    named(graph, "");
    WORKS(aclmdlRIDestroy(graph));
}

Test(graph_info, a_name_has_up_to_512_bytes_and_needs_room_for_its_nul)
{
    const aclmdlRI graph = capture_one();
    char name[RP_GRAPH_NAME_MAX + 2];
    char out[RP_GRAPH_NAME_MAX + 1] = "";
    memset(name, 'n', sizeof name);
    name[RP_GRAPH_NAME_MAX + 1] = '\0';
    ANSWERS(107000, aclmdlRISetName(graph, name));
    name[RP_GRAPH_NAME_MAX] = '\0';
    WORKS(aclmdlRISetName(graph, name));
    ANSWERS(107000, aclmdlRIGetName(graph, RP_GRAPH_NAME_MAX, out));
    cr_assert(eq(str, out, ""), "nothing is stored without room for all of it");
    WORKS(aclmdlRIGetName(graph, RP_GRAPH_NAME_MAX + 1, out));
    cr_assert(eq(str, out, name));
    ANSWERS(107000, aclmdlRIGetName(graph, 0, out));
    WORKS(aclmdlRIDestroy(graph));
}

Test(graph_info, two_graphs_have_names_and_ids_of_their_own)
{
    const aclmdlRI first = capture_one();
    const aclmdlRI second = capture_one();
    uint32_t ids[2] = { 0, 0 };
    WORKS(aclmdlRISetName(first, "one"));
    WORKS(aclmdlRISetName(second, "two"));
    named(first, "one");
    named(second, "two");
    WORKS(aclmdlRIGetId(first, &ids[0]));
    WORKS(aclmdlRIGetId(second, &ids[1]));
    cr_assert(ne(u32, ids[0], ids[1]));
    WORKS(aclmdlRIDestroy(first));
    named(second, "two");
    WORKS(aclmdlRIDestroy(second));
}

Test(graph_info, names_and_ids_ask_for_a_live_graph_and_for_pointers)
{
    const aclmdlRI graph = capture_one();
    char name[8];
    uint32_t id = 0;
    ANSWERS(100000, aclmdlRISetName(NULL, "n"));
    ANSWERS(100000, aclmdlRISetName(graph, NULL));
    ANSWERS(100000, aclmdlRIGetName(NULL, sizeof name, name));
    ANSWERS(100000, aclmdlRIGetName(graph, sizeof name, NULL));
    ANSWERS(100000, aclmdlRIGetId(NULL, &id));
    ANSWERS(100000, aclmdlRIGetId(graph, NULL));
    WORKS(aclmdlRIDestroy(graph));
    ANSWERS(107017, aclmdlRISetName(graph, "n"));
    ANSWERS(107017, aclmdlRIGetName(graph, sizeof name, name));
    ANSWERS(107017, aclmdlRIGetId(graph, &id));
}

/* A capture with a sub-graph, which has one fill and in which `between` runs. */
static aclmdlRI capture_with_sub(aclmdlRI *sub, void (*between)(void))
{
    aclmdlRICondHandle handle = NULL;
    const aclmdlRI graph = begin();
    WORKS(aclmdlRICondHandleCreate(graph, 0, 0, &handle));
    const aclmdlRICondTaskParams params = {
        .handle = handle, .type = ACL_MODEL_RI_COND_TYPE_IF, .size = 1, .modelRIArray = sub
    };
    WORKS(aclmdlRIAddCondTask(params, a, 0));
    WORKS(aclmdlRICaptureToModelRIBegin(b, *sub, RELAXED));
    fill_on(b);
    if (between != NULL) {
        between();
    }
    WORKS(aclmdlRICaptureEnd(b, NULL));
    return end();
}

Test(graph_info, a_sub_graph_has_a_name_too)
{
    aclmdlRI sub = NULL;
    const aclmdlRI graph = capture_with_sub(&sub, NULL);
    WORKS(aclmdlRISetName(graph, "root"));
    WORKS(aclmdlRISetName(sub, "then"));
    named(graph, "root");
    named(sub, "then");
    WORKS(aclmdlRIDestroy(graph));
    ANSWERS(107017, aclmdlRISetName(sub, "gone"));
}

// ---- destroy callbacks ----

static void callback_0(void *arg)
{
    called[0] = ++calls;
    *(int *)arg += 1;
}

static void callback_1(void *arg)
{
    called[1] = ++calls;
    *(int *)arg += 10;
}

static void callback_2(void *arg)
{
    called[2] = ++calls;
    *(int *)arg += 100;
}

Test(graph_info, callbacks_run_once_in_order_when_the_graph_is_destroyed)
{
    int sum = 0;
    const aclmdlRI graph = begin();
    WORKS(aclmdlRIDestroyRegisterCallback(graph, callback_2, &sum));
    fill_on(a);
    end();
    WORKS(aclmdlRIDestroyRegisterCallback(graph, callback_0, &sum));
    WORKS(aclmdlRIDestroyRegisterCallback(graph, callback_1, &sum));
    WORKS(aclmdlRIExecuteAsync(graph, b));
    WORKS(aclrtSynchronizeStream(b));
    cr_assert(eq(int, calls, 0));
    WORKS(aclmdlRIDestroy(graph));
    cr_assert(eq(int, sum, 111));
    cr_assert(eq(int, called[2], 1));
    cr_assert(eq(int, called[0], 2));
    cr_assert(eq(int, called[1], 3));
}

Test(graph_info, a_function_is_registered_once_and_can_be_taken_back)
{
    int sum = 0;
    const aclmdlRI graph = capture_one();
    ANSWERS(107000, aclmdlRIDestroyUnregisterCallback(graph, callback_0));
    WORKS(aclmdlRIDestroyRegisterCallback(graph, callback_0, &sum));
    WORKS(aclmdlRIDestroyRegisterCallback(graph, callback_1, &sum));
    WORKS(aclmdlRIDestroyRegisterCallback(graph, callback_2, &sum));
    ANSWERS(107000, aclmdlRIDestroyRegisterCallback(graph, callback_0, NULL));
    WORKS(aclmdlRIDestroyUnregisterCallback(graph, callback_0));
    ANSWERS(107000, aclmdlRIDestroyUnregisterCallback(graph, callback_0));
    WORKS(aclmdlRIDestroy(graph));
    cr_assert(eq(int, sum, 110));
    cr_assert(eq(int, called[1], 1));
    cr_assert(eq(int, called[2], 2));
}

Test(graph_info, callbacks_ask_for_a_root_graph_and_a_function)
{
    int sum = 0;
    aclmdlRI sub = NULL;
    const aclmdlRI graph = capture_with_sub(&sub, NULL);
    ANSWERS(100000, aclmdlRIDestroyRegisterCallback(NULL, callback_0, &sum));
    ANSWERS(100000, aclmdlRIDestroyRegisterCallback(graph, NULL, &sum));
    ANSWERS(100000, aclmdlRIDestroyUnregisterCallback(NULL, callback_0));
    ANSWERS(100000, aclmdlRIDestroyUnregisterCallback(graph, NULL));
    ANSWERS(207000, aclmdlRIDestroyRegisterCallback(sub, callback_0, &sum));
    ANSWERS(207000, aclmdlRIDestroyUnregisterCallback(sub, callback_0));
    WORKS(aclmdlRIDestroy(graph));
    ANSWERS(107017, aclmdlRIDestroyRegisterCallback(graph, callback_0, &sum));
    cr_assert(eq(int, sum, 0));
}

/* Works on the device, captures, and destroys another graph. */
static void busy_callback(void *arg)
{
    char name[4];
    ANSWERS(107017, aclmdlRIGetName(*(aclmdlRI *)arg, sizeof name, name)); // it is gone already
    fill_on(b);
    WORKS(aclrtSynchronizeStream(b));
    WORKS(aclmdlRIDestroy(capture_one()));
    calls++;
}

Test(graph_info, a_callback_may_call_acl_functions)
{
    aclmdlRI graph = capture_one();
    WORKS(aclmdlRIDestroyRegisterCallback(graph, busy_callback, &graph));
    WORKS(aclmdlRIDestroy(graph));
    cr_assert(eq(int, calls, 1));
}

Test(graph_info, callbacks_run_when_a_capture_fails_and_its_graph_is_lost)
{
    aclmdlRI graph = begin();
    aclrtEvent event = NULL;
    WORKS(aclmdlRIDestroyRegisterCallback(graph, busy_callback, &graph));
    WORKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    WORKS(aclrtRecordEvent(event, a));
    WORKS(aclrtStreamWaitEvent(b, event)); // b joins, and never comes back
    aclmdlRI ended = graph;
    ANSWERS(107025, aclmdlRICaptureEnd(a, &ended));
    cr_assert(eq(ptr, ended, NULL));
    cr_assert(eq(int, calls, 1));
    WORKS(aclrtDestroyEvent(event));
}

// ---- infos of tasks ----

static void switch_op_info(uint32_t on)
{
    aclrtStreamAttrValue value = { .cacheOpInfoSwitch = on };
    WORKS(aclrtSetStreamAttribute(a, ACL_STREAM_ATTR_CACHE_OP_INFO, &value));
}

/* What is kept for the first task of the graph's first stream. */
static void assert_info(aclmdlRI model, enum rp_task_info_kind kind, const char *expected)
{
    struct rp_graph *graph = rp_graph_from_handle(model);
    size_t bytes = 77;
    const char *info = rp_task_info(graph, 0, kind, &bytes);
    if (expected == NULL) {
        cr_assert(eq(ptr, (void *)info, NULL));
        cr_assert(eq(sz, bytes, 0));
        return;
    }
    cr_assert(eq(sz, bytes, strlen(expected)));
    cr_assert(eq(int, memcmp(info, expected, bytes + 1), 0));
}

Test(graph_info, op_info_is_kept_for_the_last_task_while_the_switch_is_on)
{
    const aclmdlRI graph = begin();
    switch_op_info(1);
    fill_on(a);
    WORKS(aclrtCacheLastTaskOpInfo("first", 5));
    WORKS(aclrtCacheLastTaskOpInfo("shape", 5));
    fill_on(a);
    switch_op_info(0);
    ANSWERS(507000, aclrtCacheLastTaskOpInfo("late", 4));
    cr_assert(ne(ptr, strstr(aclGetRecentErrMsg(), "ACL_STREAM_ATTR_CACHE_OP_INFO"), NULL));
    end();
    assert_info(graph, RP_TASK_OP_INFO, "shape");
    assert_info(graph, RP_TASK_EXTEND_INFO, NULL);
    WORKS(aclmdlRIDestroy(graph));
}

Test(graph_info, a_joined_stream_and_a_switch_set_before_the_capture_count_too)
{
    aclrtEvent event = NULL;
    WORKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    switch_op_info(1);
    const aclmdlRI graph = begin();
    WORKS(aclrtRecordEvent(event, a));
    WORKS(aclrtStreamWaitEvent(b, event));
    fill_on(b);
    WORKS(aclrtCacheLastTaskOpInfo("side", 4));
    WORKS(aclrtRecordEvent(event, b));
    WORKS(aclrtStreamWaitEvent(a, event));
    cr_assert(eq(ptr, end(), graph));
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyEvent(event));
}

Test(graph_info, infos_have_bounds)
{
    static char large[RP_TASK_OP_INFO_MAX + 1];
    begin();
    switch_op_info(1);
    fill_on(a);
    ANSWERS(100000, aclrtCacheLastTaskOpInfo(NULL, 1));
    ANSWERS(107000, aclrtCacheLastTaskOpInfo(large, 0));
    ANSWERS(107000, aclrtCacheLastTaskOpInfo(large, sizeof large));
    WORKS(aclrtCacheLastTaskOpInfo(large, RP_TASK_OP_INFO_MAX));
    ANSWERS(100000, aclrtCacheLastTaskExtendInfo(NULL, 1));
    ANSWERS(107000, aclrtCacheLastTaskExtendInfo(large, 0));
    memset(large, 'e', sizeof large);
    WORKS(aclrtCacheLastTaskExtendInfo(large, sizeof large)); // cut
    const aclmdlRI graph = end();
    large[RP_TASK_EXTEND_INFO_MAX] = '\0';
    assert_info(graph, RP_TASK_EXTEND_INFO, large);
    WORKS(aclmdlRIDestroy(graph));
}

Test(graph_info, infos_need_a_task_of_an_open_capture)
{
    ANSWERS(507000, aclrtCacheLastTaskOpInfo("none", 4));
    ANSWERS(507000, aclrtCacheLastTaskExtendInfo("none", 4));
    const aclmdlRI graph = begin();
    switch_op_info(1);
    fill_on(a);
    end();
    ANSWERS(507000, aclrtCacheLastTaskOpInfo("late", 4));
    ANSWERS(507000, aclrtCacheLastTaskExtendInfo("late", 4));
    cr_assert(ne(ptr, strstr(aclGetRecentErrMsg(), "complete"), NULL));
    WORKS(aclmdlRIDestroy(graph));
    ANSWERS(507000, aclrtCacheLastTaskExtendInfo("gone", 4));
}

static void extend_in_sub(void)
{
    WORKS(aclrtCacheLastTaskExtendInfo("inner", 5));
}

Test(graph_info, tasks_of_sub_graphs_take_infos)
{
    aclmdlRI sub = NULL;
    const aclmdlRI graph = capture_with_sub(&sub, extend_in_sub);
    assert_info(sub, RP_TASK_EXTEND_INFO, "inner");
    assert_info(graph, RP_TASK_EXTEND_INFO, NULL);
    rp_task_drop_info(rp_graph_from_handle(sub), 0);
    assert_info(sub, RP_TASK_EXTEND_INFO, NULL);
    WORKS(aclmdlRIDestroy(graph));
}

Test(graph_info, each_allocation_may_fail_and_leaves_the_graph_as_it_was)
{
    const aclmdlRI graph = capture_one();
    int failures = 0;
    for (int64_t n = 0;; n++) {
        rp_alloc_fail_after(n);
        const aclError answer = aclmdlRISetName(graph, "name");
        if (answer == ACL_SUCCESS) {
            break;
        }
        ANSWERS(207001, answer);
        rp_alloc_fail_after(-1);
        named(graph, "");
        failures++;
    }
    rp_alloc_fail_after(-1);
    cr_assert(ge(int, failures, 3), "the copy, the graph's infos, the entry");
    named(graph, "name");
    rp_alloc_fail_after(0);
    ANSWERS(207001, aclmdlRIDestroyRegisterCallback(graph, callback_0, NULL));
    rp_alloc_fail_after(-1);
    ANSWERS(107000, aclmdlRIDestroyUnregisterCallback(graph, callback_0));
    WORKS(aclmdlRIDestroy(graph));
}
