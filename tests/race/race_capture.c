// Captures under ThreadSanitizer: two threads capture with one communicator, one makes unsafe calls
// and waits for the device, one asks about the others' streams and uses an event that they capture.
// What is refused is refused; nothing is torn.

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#define ROUNDS 60
#define CAPTURERS 2

static HcclComm comm;
static aclrtStream streams[CAPTURERS], sides[CAPTURERS];
static aclrtEvent shared; // recorded by captures and by others
static _Atomic bool stop;
static _Atomic int faults;

#define must(call) check((int)(call), #call, __LINE__)

static void check(int answer, const char *call, int line)
{
    if (answer != 0) {
        const char *text = aclGetRecentErrMsg();
        fprintf(stderr, "line %d: %s: %d: %s\n", line, call, answer, text == NULL ? "" : text);
        atomic_fetch_add(&faults, 1);
    }
}

/* One of several answers; others are faults. */
static void may(int answer, const int *allowed, const char *call)
{
    for (; *allowed != -1; allowed++) {
        if (answer == *allowed) {
            return;
        }
    }
    check(answer, call, 0);
}

static void capture_once(int who, aclrtEvent fork, aclrtEvent back, uint32_t *buffer)
{
    aclmdlRI graph = NULL;
    must(aclmdlRICaptureBegin(streams[who], ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    must(aclrtRecordEvent(fork, streams[who]));
    must(aclrtStreamWaitEvent(sides[who], fork));
    must(HcclAllReduce(
            buffer, buffer + 16, 16, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, comm, sides[who]));
    must(aclrtRecordEvent(back, sides[who]));
    must(aclrtStreamWaitEvent(streams[who], back));
    must(aclmdlRICaptureEnd(streams[who], &graph));
    for (uint32_t i = 0; i < 3; i++) {
        buffer[0] = i + 1;
        must(aclmdlRIExecuteAsync(graph, sides[who]));
        must(aclrtSynchronizeStream(sides[who]));
        if (buffer[16] != i + 1) {
            fprintf(stderr, "a wrong sum: %u, not %u\n", buffer[16], i + 1);
            atomic_fetch_add(&faults, 1);
        }
    }
    must(aclmdlRIDestroy(graph));
}

/* A capture that the other threads may break through `shared`: it ends in one way or another. */
static void capture_shared(int who)
{
    static const int ends[] = { 0, ACL_ERROR_RT_STREAM_UNJOINED,
        ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, -1 };
    static const int records[] = { 0, ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, -1 };
    aclmdlRI graph = NULL;
    must(aclmdlRICaptureBegin(streams[who], ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    may(aclrtRecordEvent(shared, streams[who]), records, "record of the shared event");
    may(aclmdlRICaptureEnd(streams[who], &graph), ends, "end with the shared event");
    if (graph != NULL) {
        must(aclmdlRIDestroy(graph));
    }
}

static void *capturer(void *arg)
{
    const int who = *(int *)arg;
    aclrtEvent fork = NULL, back = NULL;
    uint32_t *buffer = NULL;
    must(aclrtSetDevice(0));
    must(aclrtCreateEventExWithFlag(&fork, ACL_EVENT_SYNC));
    must(aclrtCreateEventExWithFlag(&back, ACL_EVENT_SYNC));
    must(aclrtMalloc((void **)&buffer, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(buffer, 0, 4096);
    for (int round = 0; round < ROUNDS; round++) {
        capture_once(who, fork, back, buffer);
        capture_shared(who);
    }
    must(aclrtFree(buffer));
    must(aclrtDestroyEvent(fork));
    must(aclrtDestroyEvent(back));
    must(aclrtResetDevice(0));
    return NULL;
}

static void *unsafe_caller(void *arg)
{
    static const int copies[] = { 0, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, -1 };
    static const int waits[] = { 0, ACL_ERROR_RT_STREAM_CAPTURED, -1 };
    uint32_t *buffer = NULL;
    (void)arg;
    must(aclrtSetDevice(0));
    must(aclrtMalloc((void **)&buffer, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    while (!atomic_load(&stop)) {
        aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
        may(aclrtMemset(buffer, 4096, 1, 4096), copies, "aclrtMemset");
        must(aclmdlRICaptureThreadExchangeMode(&mode));
        must(aclrtMemset(buffer, 4096, 2, 4096));
        must(aclmdlRICaptureThreadExchangeMode(&mode));
        may(aclrtSynchronizeDevice(), waits, "aclrtSynchronizeDevice");
        may(aclrtSynchronizeStream(streams[0]), waits, "aclrtSynchronizeStream");
    }
    must(aclrtFree(buffer));
    must(aclrtResetDevice(0));
    return NULL;
}

static void *asker(void *arg)
{
    static const int asked[] = { 0, ACL_ERROR_RT_EVENT_CAPTURED, -1 };
    static const int waits[] = { 0, ACL_ERROR_RT_STREAM_CAPTURED, -1 };
    aclrtStream own = NULL;
    (void)arg;
    must(aclrtSetDevice(0));
    must(aclrtCreateStream(&own));
    while (!atomic_load(&stop)) {
        aclmdlRICaptureStatus status;
        aclrtStreamStatus done;
        aclrtEventRecordedStatus recorded;
        aclmdlRI graph = NULL;
        for (int s = 0; s < CAPTURERS; s++) {
            must(aclmdlRICaptureGetInfo(streams[s], &status, &graph));
            may(aclrtStreamQuery(sides[s], &done), waits, "aclrtStreamQuery");
        }
        may(aclrtQueryEventStatus(shared, &recorded), asked, "aclrtQueryEventStatus");
        must(aclrtRecordEvent(shared, own)); // an eager one replaces the captured one
    }
    must(aclrtSynchronizeStream(own));
    must(aclrtDestroyStream(own));
    must(aclrtResetDevice(0));
    return NULL;
}

int main(void)
{
    pthread_t thread[CAPTURERS + 2];
    int who[CAPTURERS];
    HcclRootInfo info;
    setenv("REPRISE_DEVICE_MEMORY", "256M", 1);
    must(aclrtSetDevice(0));
    must(HcclGetRootInfo(&info));
    must(HcclCommInitRootInfo(1, &info, 0, &comm));
    must(aclrtCreateEventExWithFlag(&shared, ACL_EVENT_SYNC));
    for (int s = 0; s < CAPTURERS; s++) {
        must(aclrtCreateStream(&streams[s]));
        must(aclrtCreateStream(&sides[s]));
    }
    for (int s = 0; s < CAPTURERS; s++) {
        who[s] = s;
        pthread_create(&thread[s], NULL, capturer, &who[s]);
    }
    pthread_create(&thread[CAPTURERS], NULL, unsafe_caller, NULL);
    pthread_create(&thread[CAPTURERS + 1], NULL, asker, NULL);
    for (int s = 0; s < CAPTURERS; s++) {
        pthread_join(thread[s], NULL);
    }
    atomic_store(&stop, true);
    pthread_join(thread[CAPTURERS], NULL);
    pthread_join(thread[CAPTURERS + 1], NULL);
    for (int s = 0; s < CAPTURERS; s++) {
        must(aclrtDestroyStream(streams[s]));
        must(aclrtDestroyStream(sides[s]));
    }
    must(aclrtDestroyEvent(shared));
    must(HcclCommDestroy(comm));
    must(aclrtResetDevice(0));
    return atomic_load(&faults) == 0 ? 0 : 1;
}
