// graph_sample FILE: captures the graph that docs/graph.svg shows, on rank 0 of two, and dumps it.
// Nothing is executed, so rank 1 only makes its communicators.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acl/acl.h>
#include <hccl/hccl.h>
#include <reprise/kernel.h>

#define RANKS 2
#define ELEMENTS 65536
#define BYTES (ELEMENTS * sizeof(float))
#define RELAXED ACL_MODEL_RI_CAPTURE_MODE_RELAXED

static void need(int answer, const char *call)
{
    if (answer != 0) {
        const char *text = aclGetRecentErrMsg();
        fprintf(stderr, "%s: %d, %s\n", call, answer, text == NULL ? "-" : text);
        exit(1);
    }
}
#define NEED(call) need((int)(call), #call)

static void backward(void *args, uint32_t block, uint32_t blocks)
{
    (void)args;
    (void)block;
    (void)blocks;
}

static void report(void *arg)
{
    (void)arg;
}

/* One rank's part: gradients go as kernels, weights as lists of tasks. */
struct rank {
    int32_t number;
    HcclRootInfo gradients_info, weights_info;
    HcclComm gradients, weights;
};

struct sample {
    aclrtStream compute, reduce, arm;
    aclrtEvent ready, reduced;
    aclrtFuncHandle kernel;
    struct rank rank[RANKS];
    float *host, *batch, *gradient, *sum;
};

static HcclComm make_comm(
        const struct rank *rank, const HcclRootInfo *info, const char *name, uint32_t expansion)
{
    HcclComm comm = NULL;
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    snprintf(config.hcclCommName, sizeof config.hcclCommName, "%s", name);
    config.hcclOpExpansionMode = expansion;
    NEED(HcclCommInitRootInfoConfig(RANKS, info, (uint32_t)rank->number, &config, &comm));
    return comm;
}

static void *join_ranks(void *arg)
{
    struct rank *rank = arg;
    NEED(aclrtSetDevice(rank->number));
    rank->gradients = make_comm(rank, &rank->gradients_info, "gradients", 3); // AIV
    rank->weights = make_comm(rank, &rank->weights_info, "weights", 1);       // host
    return NULL;
}

static void join_all(struct rank *rank)
{
    pthread_t other;
    NEED(HcclGetRootInfo(&rank[0].gradients_info));
    NEED(HcclGetRootInfo(&rank[0].weights_info));
    rank[1] = rank[0];
    rank[1].number = 1;
    NEED(pthread_create(&other, NULL, join_ranks, &rank[1]));
    join_ranks(&rank[0]);
    NEED(pthread_join(other, NULL));
}

static void prepare(struct sample *sample)
{
    NEED(aclrtSetDevice(0));
    join_all(sample->rank);
    NEED(aclrtCreateStream(&sample->compute));
    NEED(aclrtCreateStream(&sample->reduce));
    NEED(aclrtCreateStream(&sample->arm));
    NEED(aclrtCreateEventExWithFlag(&sample->ready, ACL_EVENT_SYNC));
    NEED(aclrtCreateEventExWithFlag(&sample->reduced, ACL_EVENT_SYNC));
    NEED(reprise_kernel_register("backward", backward, &sample->kernel));
    NEED(aclrtMallocHost((void **)&sample->host, BYTES));
    NEED(aclrtMalloc((void **)&sample->batch, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    NEED(aclrtMalloc((void **)&sample->gradient, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    NEED(aclrtMalloc((void **)&sample->sum, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
}

/* If the word is not 0, weights are taken from rank 0; else the sum is cleared. */
static void capture_condition(struct sample *sample)
{
    aclmdlRI graph = NULL, arms[2];
    aclmdlRICondHandle handle = NULL;
    NEED(aclmdlRICaptureGetInfo(sample->compute, NULL, &graph));
    NEED(aclmdlRICondHandleCreate(graph, 0, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &handle));
    const aclmdlRICondTaskParams params = {
        .handle = handle, .type = ACL_MODEL_RI_COND_TYPE_IF, .size = 2, .modelRIArray = arms
    };
    NEED(aclmdlRIAddCondTask(params, sample->compute, 0));
    NEED(aclmdlRICaptureToModelRIBegin(sample->arm, arms[0], RELAXED));
    NEED(HcclBroadcast(
            sample->sum, ELEMENTS, HCCL_DATA_TYPE_FP32, 0, sample->rank[0].weights, sample->arm));
    NEED(aclmdlRICaptureEnd(sample->arm, NULL));
    NEED(aclmdlRICaptureToModelRIBegin(sample->arm, arms[1], RELAXED));
    NEED(aclrtMemsetAsync(sample->sum, BYTES, 0, BYTES, sample->arm));
    NEED(aclmdlRICaptureEnd(sample->arm, NULL));
}

static aclmdlRI capture(struct sample *sample)
{
    aclmdlRI graph = NULL;
    const aclrtStream compute = sample->compute, reduce = sample->reduce;
    NEED(aclmdlRICaptureBegin(compute, RELAXED));
    NEED(aclrtMemcpyAsync(
            sample->batch, BYTES, sample->host, BYTES, ACL_MEMCPY_HOST_TO_DEVICE, compute));
    NEED(aclrtLaunchKernel(sample->kernel, 8, &sample->batch, sizeof sample->batch, compute));
    NEED(aclrtRecordEvent(sample->ready, compute));
    NEED(aclrtStreamWaitEvent(reduce, sample->ready));
    NEED(HcclAllReduce(sample->gradient, sample->sum, ELEMENTS, HCCL_DATA_TYPE_FP32,
            HCCL_REDUCE_SUM, sample->rank[0].gradients, reduce));
    NEED(aclrtRecordEvent(sample->reduced, reduce));
    NEED(aclrtLaunchHostFunc(compute, report, NULL));
    NEED(aclrtStreamWaitEvent(compute, sample->reduced));
    capture_condition(sample);
    NEED(aclrtMemcpyAsync(
            sample->host, BYTES, sample->sum, BYTES, ACL_MEMCPY_DEVICE_TO_HOST, compute));
    NEED(aclmdlRICaptureEnd(compute, &graph));
    NEED(aclmdlRISetName(graph, "training step"));
    return graph;
}

int main(int argc, char **argv)
{
    struct sample sample;
    memset(&sample, 0, sizeof sample);
    if (argc != 2) {
        fprintf(stderr, "usage: graph_sample FILE\n");
        return 2;
    }
    prepare(&sample);
    const aclmdlRI graph = capture(&sample);
    NEED(aclmdlRIDebugJsonPrint(graph, argv[1], ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE));
    NEED(aclmdlRIDestroy(graph));
    for (int rank = 0; rank < RANKS; rank++) {
        NEED(HcclCommDestroy(sample.rank[rank].gradients));
        NEED(HcclCommDestroy(sample.rank[rank].weights));
    }
    NEED(aclrtResetDevice(0));
    return 0;
}
