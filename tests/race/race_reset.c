// A device is reset by force while threads wait for it: for the default stream, another stream, all
// of the device, an event, and a graph. Each is told, and looks at nothing that went with the
// device.

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <acl/acl.h>

#define ROUNDS 20
#define WAITERS 5

static pthread_barrier_t together;

#define check(call) check_code((int)(call), #call, __LINE__)

static void check_code(int code, const char *call, int line)
{
    if (code != 0) {
        const char *text = aclGetRecentErrMsg();
        fprintf(stderr, "line %d: %s answers %d: %s\n", line, call, code, text == NULL ? "" : text);
        _exit(1);
    }
}

static aclrtStream stuck_stream(void *word)
{
    aclrtStream stream;
    check(aclrtCreateStream(&stream));
    check(aclrtValueWait(word, 1, ACL_STREAM_WAIT_VALUE_EQ, stream));
    return stream;
}

static aclmdlRI stuck_graph(void *word)
{
    aclrtStream stream;
    aclmdlRI graph;
    check(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_PERSISTENT));
    check(aclmdlRIBuildBegin(&graph, 0));
    check(aclmdlRIBindStream(graph, stream, ACL_MODEL_STREAM_FLAG_HEAD));
    check(aclrtValueWait(word, 1, ACL_STREAM_WAIT_VALUE_EQ, stream));
    check(aclmdlRIEndTask(graph, stream));
    check(aclmdlRIBuildEnd(graph, NULL));
    return graph;
}

static int wait_somehow(uintptr_t how, void *word, aclmdlRI *graph)
{
    aclrtStream stream = stuck_stream(word);
    aclrtEvent event;
    check(aclrtCreateEvent(&event));
    check(aclrtRecordEvent(event, stream));
    *graph = stuck_graph(word);
    pthread_barrier_wait(&together);
    switch (how) {
    case 0:
        return aclmdlRIExecute(*graph, -1);
    case 1:
        return aclrtSynchronizeStream(stream);
    case 2:
        return aclrtSynchronizeDevice();
    case 3:
        return aclrtSynchronizeEvent(event);
    default:
        return aclmdlRIExecute(*graph, 30000);
    }
}

static void *wait_for_it(void *how)
{
    void *word;
    aclmdlRI graph;
    check(aclrtSetDevice(0));
    check(aclrtMalloc(&word, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    check(aclrtMemset(word, 64, 0, 64));
    const int code = wait_somehow((uintptr_t)how, word, &graph);
    // The record of a stream that is dropped counts as reached.
    if (code == 0 && (uintptr_t)how != 3) {
        fprintf(stderr, "waiter %d saw the end of what cannot end\n", (int)(uintptr_t)how);
        _exit(1);
    }
    check(aclmdlRIDestroy(graph));
    return NULL;
}

int main(void)
{
    setenv("REPRISE_DEVICE_MEMORY", "64M", 1);
    pthread_barrier_init(&together, NULL, WAITERS + 1);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread[WAITERS];
        for (uintptr_t w = 0; w < WAITERS; w++) {
            if (pthread_create(&thread[w], NULL, wait_for_it, (void *)w) != 0) {
                return 1;
            }
        }
        pthread_barrier_wait(&together);
        usleep(100000); // they wait by now; what calls do at that moment is not the matter here
        check(aclrtResetDeviceForce(0));
        for (int w = 0; w < WAITERS; w++) {
            pthread_join(thread[w], NULL);
        }
    }
    return 0;
}
