// A graph is dumped, named and looked into by two threads while a third updates its task group and
// executes it: what the others see is one state or the other, and nothing they touch goes away.

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <acl/acl.h>
#include <reprise/kernel.h>

#define ROUNDS 2000
#define ROOM 8

static aclrtContext context;
static aclmdlRI graph;
static atomic_bool over;
static atomic_uint dumps, looks;

#define check(call) check_code((int)(call), #call, __LINE__)

static void check_code(int code, const char *call, int line)
{
    if (code != 0) {
        const char *text = aclGetRecentErrMsg();
        fprintf(stderr, "line %d: %s answers %d: %s\n", line, call, code, text == NULL ? "" : text);
        _Exit(1);
    }
}

static void kernel(void *args, uint32_t block, uint32_t blocks)
{
    uint64_t *const *word = args;
    if (block == 0) {
        **word += blocks;
    }
}

static void *dump(void *arg)
{
    (void)arg;
    check(aclrtSetCurrentContext(context));
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        check(aclmdlRIDebugJsonPrint(graph, "/dev/null", ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE));
        atomic_fetch_add_explicit(&dumps, 1, memory_order_relaxed);
    }
    return NULL;
}

static void look(uint32_t round)
{
    aclrtStream streams[ROOM];
    aclmdlRITask tasks[ROOM];
    aclmdlRITaskType type;
    char name[16];
    uint32_t count = ROOM, id = 0;
    snprintf(name, sizeof name, "round %u", round);
    check(aclmdlRISetName(graph, name));
    check(aclmdlRIGetName(graph, sizeof name, name));
    check(aclmdlRIGetStreams(graph, streams, &count));
    check(count != 1);
    count = ROOM;
    check(aclmdlRIGetTasksByStream(streams[0], tasks, &count));
    check(count != 2);
    check(aclmdlRITaskGetType(tasks[1], &type));
    check(type != ACL_MODEL_RI_TASK_KERNEL);
    check(aclmdlRITaskGetSeqId(tasks[1], &id));
}

static void *look_on(void *arg)
{
    (void)arg;
    check(aclrtSetCurrentContext(context));
    for (uint32_t round = 0; !atomic_load_explicit(&over, memory_order_relaxed); round++) {
        look(round);
        atomic_fetch_add_explicit(&looks, 1, memory_order_relaxed);
    }
    return NULL;
}

/* The other threads have had enough turns beside this one. */
static bool waits_for_others(void)
{
    return atomic_load_explicit(&dumps, memory_order_relaxed) < ROUNDS ||
           atomic_load_explicit(&looks, memory_order_relaxed) < ROUNDS;
}

int main(void)
{
    aclrtStream stream = NULL, side = NULL;
    aclrtFuncHandle function = NULL;
    aclrtTaskGrp group = NULL;
    uint64_t *words[2];
    pthread_t dumping, looking;
    setenv("REPRISE_DEVICE_MEMORY", "64M", 1);
    check(aclrtSetDevice(0));
    check(aclrtGetCurrentContext(&context));
    check(aclrtCreateStream(&stream));
    check(aclrtCreateStream(&side));
    check(aclrtMalloc((void **)&words[0], 64, ACL_MEM_MALLOC_HUGE_FIRST));
    check(aclrtMalloc((void **)&words[1], 64, ACL_MEM_MALLOC_HUGE_FIRST));
    check(aclrtMemset(words[0], 64, 0, 64));
    check(aclrtMemset(words[1], 64, 0, 64));
    check(reprise_kernel_register("kernel", kernel, &function));
    check(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    check(aclrtMemsetAsync(words[0] + 1, 8, 1, 8, stream));
    check(aclmdlRICaptureTaskGrpBegin(stream));
    check(aclrtLaunchKernel(function, 1, &words[0], sizeof words[0], stream));
    check(aclmdlRICaptureTaskGrpEnd(stream, &group));
    check(aclmdlRICaptureEnd(stream, &graph));
    check(pthread_create(&dumping, NULL, dump, NULL));
    check(pthread_create(&looking, NULL, look_on, NULL));
    uint32_t rounds = 0;
    for (; rounds < ROUNDS || waits_for_others(); rounds++) {
        check(aclmdlRICaptureTaskUpdateBegin(side, group));
        check(aclrtLaunchKernel(
                function, rounds % 8 + 1, &words[rounds & 1], sizeof words[0], side));
        check(aclmdlRICaptureTaskUpdateEnd(side));
        check(aclrtSynchronizeStream(side));
        check(aclmdlRIExecuteAsync(graph, stream));
    }
    check(aclrtSynchronizeStream(stream));
    atomic_store_explicit(&over, true, memory_order_relaxed);
    check(pthread_join(dumping, NULL));
    check(pthread_join(looking, NULL));
    // Each execution runs an update or the one after it, and adds at least 1.
    check(words[0][0] + words[1][0] < rounds);
    check(aclmdlRIDestroy(graph));
    check(reprise_kernel_unregister(function));
    check(aclrtResetDevice(0));
    return 0;
}
