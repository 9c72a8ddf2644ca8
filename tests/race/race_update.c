// A graph of two task groups is replayed by one thread, updated by two and asked by a fourth, all
// at once; then it is destroyed while updates of it are still queued.

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <acl/acl.h>
#include <hccl/hccl.h>
#include <reprise/graph.h>
#include <reprise/kernel.h>

#define REPLAYS 3000
#define LIVES 3
#define WORDS 64

struct args {
    uint32_t *out;
    uint32_t value;
};

static aclrtContext context;
static aclrtFuncHandle store_kernel;
static HcclComm comm;
static uint32_t *data[4];
static aclmdlRI graph;
static aclrtTaskGrp groups[2];
static aclmdlRITask tasks[4];
static atomic_bool over;

#define check(call) check_code((int)(call), #call, __LINE__)

static void check_code(int code, const char *call, int line)
{
    if (code != 0) {
        const char *text = aclGetRecentErrMsg();
        fprintf(stderr, "line %d: %s answers %d: %s\n", line, call, code, text == NULL ? "" : text);
        _Exit(1);
    }
}

static void store(void *memory, uint32_t block, uint32_t blocks)
{
    const struct args *args = memory;
    for (uint32_t i = block; i < WORDS; i += blocks) {
        args->out[i] = args->value;
    }
}

// The tasks of group `g`: a kernel stores `value`, a collective of one rank copies it.
static void submit(aclrtStream stream, int g, uint32_t value)
{
    const struct args args = { data[2 * g], value };
    check(aclrtLaunchKernel(store_kernel, 1, &args, sizeof(args), stream));
    check(HcclAllReduce(data[2 * g], data[2 * g + 1], WORDS - value % 2, HCCL_DATA_TYPE_UINT32,
            HCCL_REDUCE_SUM, comm, stream));
}

static void capture(aclrtStream stream)
{
    aclrtStream lane[2] = { NULL };
    uint32_t lanes = 2, count = 4;
    check(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    for (int g = 0; g < 2; g++) {
        check(aclmdlRICaptureTaskGrpBegin(stream));
        submit(stream, g, 0);
        check(aclmdlRICaptureTaskGrpEnd(stream, &groups[g]));
    }
    check(aclmdlRICaptureEnd(stream, &graph));
    check(aclmdlRIGetStreams(graph, lane, &lanes));
    check(aclmdlRIGetTasksByStream(lane[0], tasks, &count));
    check(count != 4);
}

static void update(aclrtStream stream, int g, uint32_t value)
{
    check(aclmdlRICaptureTaskUpdateBegin(stream, groups[g]));
    submit(stream, g, value);
    check(aclmdlRICaptureTaskUpdateEnd(stream));
}

static void *update_main(void *arg)
{
    const int g = *(const int *)arg;
    aclrtStream stream = NULL;
    check(aclrtSetCurrentContext(context));
    check(aclrtCreateStream(&stream));
    for (uint32_t value = 1; !atomic_load(&over); value++) {
        update(stream, g, value);
        if (value % 3 == 0) {
            check(aclrtSynchronizeStream(stream));
        }
    }
    check(aclrtSynchronizeStream(stream));
    check(aclrtDestroyStream(stream));
    return NULL;
}

static void *ask_main(void *arg)
{
    (void)arg;
    check(aclrtSetCurrentContext(context));
    while (!atomic_load(&over)) {
        for (int t = 0; t < 4; t++) {
            aclmdlRITaskParams params;
            check(aclmdlRITaskGetParams(tasks[t], &params));
            const void *out =
                    t % 2 == 0
                            ? ((const struct args *)params.kernelTaskParams.args)->out
                            : ((const struct reprise_collective_args *)params.kernelTaskParams.args)
                                      ->sendBuf;
            check(out != data[t / 2 * 2]);
        }
    }
    return NULL;
}

static void live(aclrtStream stream)
{
    static const int group[2] = { 0, 1 };
    pthread_t thread[3];
    capture(stream);
    atomic_store(&over, false);
    check(pthread_create(&thread[0], NULL, update_main, (void *)(uintptr_t)&group[0]));
    check(pthread_create(&thread[1], NULL, update_main, (void *)(uintptr_t)&group[1]));
    check(pthread_create(&thread[2], NULL, ask_main, NULL));
    for (int i = 0; i < REPLAYS; i++) {
        check(aclmdlRIExecuteAsync(graph, stream));
        check(aclrtSynchronizeStream(stream));
        for (int w = 1; w < WORDS - 1; w++) {
            check(data[1][w] != data[0][0] || data[3][w] != data[2][0]);
        }
    }
    atomic_store(&over, true);
    for (int i = 0; i < 3; i++) {
        check(pthread_join(thread[i], NULL));
    }
    check(aclmdlRIExecuteAsync(graph, stream));
    for (uint32_t value = 1; value < 20; value++) {
        update(stream, (int)(value % 2), value);
    }
    check(aclmdlRIDestroy(graph));
    check(aclrtSynchronizeStream(stream));
}

int main(void)
{
    int32_t device = 0;
    aclrtStream stream = NULL;
    setenv("REPRISE_DEVICE_MEMORY", "64M", 1);
    check(aclrtSetDevice(0));
    check(aclrtGetCurrentContext(&context));
    check(aclrtCreateStream(&stream));
    check(HcclCommInitAll(1, &device, &comm));
    check(reprise_kernel_register("store", store, &store_kernel));
    for (int i = 0; i < 4; i++) {
        check(aclrtMalloc((void **)&data[i], WORDS * sizeof(uint32_t), ACL_MEM_MALLOC_HUGE_FIRST));
    }
    for (int i = 0; i < LIVES; i++) {
        live(stream);
    }
    for (int i = 0; i < 4; i++) {
        check(aclrtFree(data[i]));
    }
    check(reprise_kernel_unregister(store_kernel));
    check(HcclCommDestroy(comm));
    check(aclrtDestroyStream(stream));
    check(aclrtResetDevice(0));
    return 0;
}
