// Kernels in graphs: captured, replayed, and updated.

#include <reprise/kernel.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "support/kernel_case.h"

TestSuite(kernel_capture, .init = on_device, .timeout = 60);

// to[i] = to[i] * factor + plus
struct affine {
    int64_t *to;
    uint32_t count;
    int32_t factor;
    int64_t plus;
};

static void affine(void *args, uint32_t block, uint32_t blocks)
{
    const struct affine *a = args;
    for (uint32_t i = block; i < a->count; i += blocks) {
        a->to[i] = a->to[i] * a->factor + a->plus;
    }
}

static aclrtFuncHandle affine_kernel(void)
{
    aclrtFuncHandle function = NULL;
    WORKS(reprise_kernel_register("affine", affine, &function));
    return function;
}

struct captured {
    aclrtStream stream;
    aclmdlRI graph;
};

static void begin(struct captured *captured)
{
    WORKS(aclrtCreateStream(&captured->stream));
    WORKS(aclmdlRICaptureBegin(captured->stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
}

static void launch(aclrtFuncHandle function, const struct affine *args, aclrtStream stream)
{
    WORKS(aclrtLaunchKernel(function, 2, args, sizeof(*args), stream));
}

static void replay(const struct captured *captured)
{
    WORKS(aclmdlRIExecuteAsync(captured->graph, captured->stream));
    WORKS(aclrtSynchronizeStream(captured->stream));
}

static void end(struct captured *captured)
{
    WORKS(aclmdlRIDestroy(captured->graph));
    WORKS(aclrtDestroyStream(captured->stream));
}

Test(kernel_capture, runs_at_every_replay_with_the_arguments_of_the_capture)
{
    aclrtFuncHandle function = affine_kernel();
    struct captured captured;
    int64_t data[3] = { 1, 2, 3 };
    struct affine args = { data, 3, 2, 1 };
    begin(&captured);
    launch(function, &args, captured.stream);
    args.factor = 3;
    launch(function, &args, captured.stream);
    memset(&args, 0, sizeof(args));
    cr_expect(eq(i64, data[0], 1)); // nothing has run yet
    WORKS(aclmdlRICaptureEnd(captured.stream, &captured.graph));
    WORKS(aclrtSynchronizeStream(captured.stream));
    cr_expect(eq(i64, data[0], 1));
    int64_t expected[3] = { 1, 2, 3 };
    for (int round = 0; round < 5; round++) {
        replay(&captured);
        for (int i = 0; i < 3; i++) {
            expected[i] = (expected[i] * 2 + 1) * 3 + 1;
            cr_assert(eq(i64, data[i], expected[i]));
        }
    }
    end(&captured);
}

Test(kernel_capture, a_replay_allocates_nothing)
{
    aclrtFuncHandle function = affine_kernel();
    struct captured captured;
    int64_t data = 0;
    struct affine args = { &data, 1, 1, 1 };
    begin(&captured);
    for (int i = 0; i < 10; i++) {
        launch(function, &args, captured.stream);
    }
    WORKS(aclmdlRICaptureEnd(captured.stream, &captured.graph));
    replay(&captured); // makes the core, if this thread does not run all of it
    WORKS(aclmdlRIExecuteAsync(captured.graph, captured.stream));
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    while (status != ACL_STREAM_STATUS_COMPLETE) {
        WORKS(aclrtStreamQuery(captured.stream, &status));
    }
    rp_alloc_fail_process_after(0);
    for (int round = 0; round < 100; round++) {
        WORKS(aclmdlRIExecuteAsync(captured.graph, captured.stream));
        WORKS(aclrtSynchronizeStream(captured.stream));
    }
    cr_expect(rp_alloc_fail_pending());
    rp_alloc_fail_process_after(-1);
    cr_expect(eq(i64, data, 1020));
    end(&captured);
}

Test(kernel_capture, the_binary_may_be_unloaded_before_the_replay)
{
    struct {
        const float *x;
        float *y;
        uint32_t count;
    } args;
    float x[] = { 1, 2 };
    float y[] = { 0, 0 };
    args.x = x;
    args.y = y;
    args.count = 2;
    size_t bytes;
    void *data = read_module(MODULE_KERNELS, &bytes);
    aclrtBinHandle binary = NULL;
    struct captured captured;
    WORKS(aclrtBinaryLoadFromData(data, bytes, NULL, &binary));
    free(data);
    begin(&captured);
    WORKS(aclrtLaunchKernel(
            get_kernel(binary, "module_add"), 1, &args, sizeof(args), captured.stream));
    WORKS(aclmdlRICaptureEnd(captured.stream, &captured.graph));
    WORKS(aclrtBinaryUnLoad(binary));
    replay(&captured);
    replay(&captured);
    cr_expect(eq(flt, y[1], 4));
    end(&captured);
}

Test(kernel_capture, forked_streams_keep_their_edges)
{
    enum { LANES = 4, STEPS = 30 };
    aclrtFuncHandle function = affine_kernel();
    struct captured captured;
    aclrtStream side[LANES];
    aclrtEvent fork = NULL;
    aclrtEvent join[LANES];
    int64_t data[LANES] = { 0 };
    begin(&captured);
    WORKS(aclrtCreateEventExWithFlag(&fork, ACL_EVENT_SYNC));
    struct affine args = { data, LANES, 0, 1 }; // all begin at 1
    launch(function, &args, captured.stream);
    WORKS(aclrtRecordEvent(fork, captured.stream));
    for (int lane = 0; lane < LANES; lane++) {
        WORKS(aclrtCreateStream(&side[lane]));
        WORKS(aclrtCreateEventExWithFlag(&join[lane], ACL_EVENT_SYNC));
        WORKS(aclrtStreamWaitEvent(side[lane], fork));
        for (int step = 0; step < STEPS; step++) {
            args = (struct affine){ &data[lane], 1, step % 3 - 1, lane + step };
            launch(function, &args, side[lane]);
        }
        WORKS(aclrtRecordEvent(join[lane], side[lane]));
    }
    for (int lane = 0; lane < LANES; lane++) {
        WORKS(aclrtStreamWaitEvent(captured.stream, join[lane]));
    }
    args = (struct affine){ data, LANES, 10, 0 };
    launch(function, &args, captured.stream);
    WORKS(aclmdlRICaptureEnd(captured.stream, &captured.graph));
    for (int round = 0; round < 20; round++) {
        replay(&captured);
        for (int lane = 0; lane < LANES; lane++) {
            int64_t expected = 1;
            for (int step = 0; step < STEPS; step++) {
                expected = expected * (step % 3 - 1) + lane + step;
            }
            cr_assert(eq(i64, data[lane], expected * 10));
        }
    }
    end(&captured);
    for (int lane = 0; lane < LANES; lane++) {
        WORKS(aclrtDestroyStream(side[lane]));
        WORKS(aclrtDestroyEvent(join[lane]));
    }
    WORKS(aclrtDestroyEvent(fork));
}

Test(kernel_capture, several_graphs_in_flight_do_not_mix)
{
    enum { GRAPHS = 16, ROUNDS = 20 };
    aclrtFuncHandle function = affine_kernel();
    struct captured captured[GRAPHS];
    int64_t data[GRAPHS] = { 0 };
    for (int i = 0; i < GRAPHS; i++) {
        begin(&captured[i]);
        struct affine args = { &data[i], 1, 3, i };
        launch(function, &args, captured[i].stream);
        args = (struct affine){ &data[i], 1, 1, -1 };
        launch(function, &args, captured[i].stream);
        WORKS(aclmdlRICaptureEnd(captured[i].stream, &captured[i].graph));
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < GRAPHS; i++) {
            WORKS(aclmdlRIExecuteAsync(captured[i].graph, captured[i].stream));
        }
    }
    for (int i = 0; i < GRAPHS; i++) {
        WORKS(aclrtSynchronizeStream(captured[i].stream));
        uint64_t expected = 0;
        for (int round = 0; round < ROUNDS; round++) {
            expected = expected * 3 + (uint64_t)i - 1;
        }
        cr_expect(eq(i64, data[i], (int64_t)expected));
        end(&captured[i]);
    }
}

// ---- updates ----

static void capture_group(struct captured *captured, aclrtFuncHandle function,
        const struct affine *args, aclrtTaskGrp *group)
{
    begin(captured);
    WORKS(aclmdlRICaptureTaskGrpBegin(captured->stream));
    launch(function, args, captured->stream);
    WORKS(aclmdlRICaptureTaskGrpEnd(captured->stream, group));
    WORKS(aclmdlRICaptureEnd(captured->stream, &captured->graph));
}

Test(kernel_capture, a_task_group_gets_new_arguments)
{
    aclrtFuncHandle function = affine_kernel();
    struct captured captured;
    aclrtTaskGrp group = NULL;
    aclrtStream update = NULL;
    int64_t data[2] = { 1, 1 };
    struct affine args = { &data[0], 1, 1, 100 };
    capture_group(&captured, function, &args, &group);
    WORKS(aclrtCreateStream(&update));
    replay(&captured);
    cr_expect(eq(i64, data[0], 101));
    for (int64_t round = 1; round <= 3; round++) {
        args = (struct affine){ &data[1], 1, 1, 1000 * round };
        WORKS(aclmdlRICaptureTaskUpdateBegin(update, group));
        launch(function, &args, update);
        WORKS(aclmdlRICaptureTaskUpdateEnd(update));
        memset(&args, 0, sizeof(args));
        WORKS(aclrtSynchronizeStream(update));
        replay(&captured);
    }
    cr_expect(eq(i64, data[0], 101));
    cr_expect(eq(i64, data[1], 6001));
    end(&captured);
    WORKS(aclrtDestroyStream(update));
}

static aclmdlRITask only_task(aclmdlRI graph)
{
    aclrtStream stream;
    aclmdlRITask task;
    uint32_t count = 1;
    WORKS(aclmdlRIGetStreams(graph, &stream, &count));
    count = 1;
    WORKS(aclmdlRIGetTasksByStream(stream, &task, &count));
    return task;
}

struct carrier {
    int64_t *out;
    const int64_t *data;
    int64_t carried;
};

static void copy_carried(void *args, uint32_t block, uint32_t blocks)
{
    const struct carrier *carrier = args;
    (void)block;
    (void)blocks;
    *carrier->out = *carrier->data;
}

// What a task's parameters lead to can be changed and set again, placeholders included.
Test(kernel_capture, data_beside_the_arguments_is_set_with_them)
{
    aclrtFuncHandle function = NULL;
    struct captured captured;
    int64_t out = 0;
    aclrtPlaceHolderInfo place = { offsetof(struct carrier, data),
        offsetof(struct carrier, carried) };
    struct carrier args = { &out, NULL, 5 };
    aclrtLaunchKernelAttr attr = { ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT, { .timeout = 30 } };
    aclrtLaunchKernelCfg cfg = { &attr, 1 };
    WORKS(reprise_kernel_register("copy_carried", copy_carried, &function));
    begin(&captured);
    WORKS(aclrtLaunchKernelWithHostArgs(
            function, 1, captured.stream, &cfg, &args, sizeof(args), &place, 1));
    WORKS(aclmdlRICaptureEnd(captured.stream, &captured.graph));
    replay(&captured);
    cr_expect(eq(i64, out, 5));
    aclmdlRITask task = only_task(captured.graph);
    aclrtLaunchKernelAttrValue value = { .timeout = 0 };
    WORKS(aclmdlRIKernelTaskGetAttribute(task, ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT, &value));
    cr_expect(eq(u16, value.timeout, 30));
    for (int64_t round = 6; round < 9; round++) {
        aclmdlRITaskParams params;
        WORKS(aclmdlRITaskGetParams(task, &params));
        memcpy(&args, params.kernelTaskParams.args, sizeof(args));
        args.carried = round;
        params.kernelTaskParams.args = &args;
        params.kernelTaskParams.isHostArgs = 1;
        WORKS(aclmdlRITaskSetParams(task, &params));
        WORKS(aclmdlRIUpdate(captured.graph));
        memset(&args, 0, sizeof(args));
        replay(&captured);
        cr_expect(eq(i64, out, round));
    }
    WORKS(aclmdlRITaskDisable(task));
    WORKS(aclmdlRIUpdate(captured.graph));
    out = 0;
    replay(&captured);
    cr_expect(eq(i64, out, 0));
    end(&captured);
}

Test(kernel_capture, parameters_are_told_and_set)
{
    aclrtFuncHandle function = affine_kernel();
    struct captured captured;
    int64_t data = 1;
    struct affine args = { &data, 1, 1, 100 };
    begin(&captured);
    launch(function, &args, captured.stream);
    WORKS(aclmdlRICaptureEnd(captured.stream, &captured.graph));
    aclmdlRITask task = only_task(captured.graph);
    aclmdlRITaskType type = ACL_MODEL_RI_TASK_DEFAULT;
    WORKS(aclmdlRITaskGetType(task, &type));
    cr_assert(eq(int, (int)type, (int)ACL_MODEL_RI_TASK_KERNEL));
    aclmdlRITaskParams params;
    WORKS(aclmdlRITaskGetParams(task, &params));
    cr_expect(eq(ptr, params.kernelTaskParams.funcHandle, function));
    cr_expect(eq(u32, params.kernelTaskParams.numBlocks, 2));
    cr_assert(eq(sz, params.kernelTaskParams.argsSize, sizeof(args)));
    cr_expect(eq(int, memcmp(params.kernelTaskParams.args, &args, sizeof(args)), 0));
    args.plus = 7;
    params.kernelTaskParams.args = &args;
    params.kernelTaskParams.isHostArgs = 1;
    params.taskGrp = NULL;
    WORKS(aclmdlRITaskSetParams(task, &params));
    WORKS(aclmdlRIUpdate(captured.graph));
    args.plus = 0;
    replay(&captured);
    cr_expect(eq(i64, data, 8));
    end(&captured);
}
