// The acl calls from many threads at once: each creates, uses and destroys what is its own on a
// device that it shares with others; events and buffers pass between pairs of threads; one sets and
// resets devices, one profiles, one serves callbacks, one maps and unmaps. All data is plain
// memory, so ThreadSanitizer checks that streams and events order it.

#include <acl/acl.h>
#include <acl/acl_prof.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 60
#define BYTES 5000

static _Atomic int faults;
static _Atomic bool over; // those that only look around end

static void check(int answer, int expected, const char *call)
{
    if (answer != expected) {
        const char *why = aclGetRecentErrMsg();
        fprintf(stderr, "%s: %d, not %d: %s\n", call, answer, expected, why == NULL ? "-" : why);
        atomic_fetch_add(&faults, 1);
    }
}

// libuv opens its descriptors where ThreadSanitizer looks and closes them by a plain system call,
// so that the next file with the same number seems to race with the loop of a device gone by.
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:epoll_create1\nrace:eventfd\nrace:pipe2\n";
}

#define WORKS(call) check((call), 0, #call)

static void hold(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "%s\n", what);
        atomic_fetch_add(&faults, 1);
    }
}

static void add_one(void *number)
{
    ++*(int *)number; // plain: the stream orders it
}

// ---- streams of one's own ----

static void *use_streams(void *arg)
{
    (void)arg;
    WORKS(aclrtSetDevice(0));
    for (int round = 0; round < ROUNDS; round++) {
        aclrtStream stream;
        uint8_t *memory;
        uint8_t *host;
        int number = 0;
        WORKS(aclrtCreateStream(&stream));
        WORKS(aclrtMalloc((void **)&memory, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
        WORKS(aclrtMallocHost((void **)&host, BYTES));
        WORKS(aclrtMemsetAsync(memory, BYTES, round, BYTES, stream));
        WORKS(aclrtLaunchHostFunc(stream, add_one, &number));
        WORKS(aclrtMemcpyAsync(host, BYTES, memory, BYTES, ACL_MEMCPY_DEVICE_TO_HOST, stream));
        WORKS(aclrtLaunchHostFunc(stream, add_one, &number));
        if (round % 3 == 0) {
            WORKS(aclrtSynchronizeDevice());
        } else {
            WORKS(aclrtSynchronizeStream(stream));
        }
        hold(number == 2 && host[BYTES - 1] == (uint8_t)round, "a stream's work was not done");
        WORKS(aclrtMemcpyAsync(
                memory, BYTES, host, BYTES, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
        WORKS(aclrtDestroyStream(stream));
        WORKS(aclrtFree(memory));
        WORKS(aclrtFreeHost(host));
    }
    return NULL;
}

// ---- a number passed to and fro ----

struct pair {
    aclrtContext context;
    aclrtEvent ready[2]; // flags: [i] is set by thread i
    int number;
};

struct player {
    struct pair *pair;
    int side;
};

static void *play(void *arg)
{
    const struct player *player = arg;
    struct pair *pair = player->pair;
    aclrtStream stream;
    WORKS(aclrtSetCurrentContext(pair->context));
    WORKS(aclrtCreateStream(&stream));
    for (int round = 0; round < ROUNDS; round++) {
        if (player->side == 1 || round > 0) {
            WORKS(aclrtStreamWaitEvent(stream, pair->ready[1 - player->side]));
            WORKS(aclrtResetEvent(pair->ready[1 - player->side], stream));
        }
        WORKS(aclrtLaunchHostFunc(stream, add_one, &pair->number));
        WORKS(aclrtRecordEvent(pair->ready[player->side], stream));
    }
    WORKS(aclrtSynchronizeStream(stream));
    WORKS(aclrtDestroyStream(stream));
    return NULL;
}

// ---- devices that come and go ----

static void *set_devices(void *arg)
{
    (void)arg;
    for (int round = 0; round < ROUNDS / 4; round++) {
        const int32_t device = 1 + round % 2;
        aclrtContext context;
        int number = 0;
        WORKS(aclrtSetDevice(device));
        WORKS(aclrtCreateContext(&context, device));
        WORKS(aclrtLaunchHostFunc(NULL, add_one, &number));
        WORKS(aclrtDestroyContext(context)); // waits
        hold(number == 1, "a context ended before its work");
        WORKS(aclrtSetDevice(device));
        WORKS(aclrtResetDevice(device));
        WORKS(aclrtResetDevice(device));
    }
    return NULL;
}

// ---- callbacks ----

static void *serve(void *arg)
{
    pthread_barrier_t *ready = arg;
    WORKS(aclrtSetDevice(0));
    pthread_barrier_wait(ready);
    while (!atomic_load(&over)) {
        const int answer = aclrtProcessReport(10);
        hold(answer == 0 || answer == 507012 || answer == 107012, "aclrtProcessReport failed");
        if (answer == 107012) {
            usleep(500);
        }
    }
    return NULL;
}

static void *launch_callbacks(void *arg)
{
    const uint64_t thread = (uint64_t)(uintptr_t)arg;
    WORKS(aclrtSetDevice(0));
    for (int round = 0; round < ROUNDS; round++) {
        aclrtStream stream;
        int number = 0;
        WORKS(aclrtCreateStream(&stream));
        WORKS(aclrtSubscribeReport(thread, stream));
        for (int i = 0; i < 3; i++) {
            WORKS(aclrtLaunchCallback(add_one, &number, ACL_CALLBACK_BLOCK, stream));
        }
        WORKS(aclrtSynchronizeStream(stream));
        hold(number == 3, "callbacks did not run");
        WORKS(aclrtUnSubscribeReport(thread, stream));
        WORKS(aclrtDestroyStream(stream));
    }
    return NULL;
}

// ---- those that look around ----

static void *profile(void *directory)
{
    uint32_t device = 0;
    WORKS(aclrtSetDevice(0));
    WORKS(aclprofInit(directory, strlen(directory)));
    aclprofConfig *config = aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, NULL, 0);
    while (!atomic_load(&over)) {
        WORKS(aclprofStart(config));
        WORKS(aclprofMarkEx("mark", 4, NULL));
        usleep(3000);
        WORKS(aclprofStop(config));
    }
    WORKS(aclprofDestroyConfig(config));
    WORKS(aclprofFinalize());
    return NULL;
}

static void *ask(void *event)
{
    WORKS(aclrtSetDevice(0));
    while (!atomic_load(&over)) {
        size_t free_bytes;
        size_t total;
        aclrtStreamStatus stream_status;
        aclrtEventRecordedStatus event_status;
        uint32_t count;
        WORKS(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
        WORKS(aclrtStreamQuery(NULL, &stream_status));
        WORKS(aclrtQueryEventStatus(event, &event_status));
        WORKS(aclrtRecordEvent(event, NULL));
        WORKS(aclrtSynchronizeEvent(event));
        WORKS(aclrtGetStreamAvailableNum(&count));
        usleep(200);
    }
    return NULL;
}

static void *map_memory(void *arg)
{
    const size_t granule = (size_t)2 << 20;
    const aclrtPhysicalMemProp prop = { .memAttr = ACL_HBM_MEM_HUGE,
        .location = { .id = 0, .type = ACL_MEM_LOCATION_TYPE_DEVICE } };
    uint8_t *range;
    (void)arg;
    WORKS(aclrtSetDevice(0));
    WORKS(aclrtReserveMemAddress((void **)&range, 2 * granule, 0, NULL, 0));
    while (!atomic_load(&over)) {
        aclrtDrvMemHandle handle;
        WORKS(aclrtMallocPhysical(&handle, granule, &prop, 0));
        WORKS(aclrtMapMem(range, granule, 0, handle, 0));
        WORKS(aclrtMapMem(range + granule, granule, 0, handle, 0));
        WORKS(aclrtMemset(range, granule, 9, 100));
        hold(range[granule + 99] == 9, "an alias shows other memory");
        WORKS(aclrtUnmapMem(range));
        WORKS(aclrtUnmapMem(range + granule));
        WORKS(aclrtFreePhysical(handle));
    }
    WORKS(aclrtReleaseMemAddress(range));
    return NULL;
}

static pthread_t start(void *(*fn)(void *), void *arg)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, fn, arg) != 0) {
        perror("pthread_create");
        exit(1);
    }
    return thread;
}

int main(void)
{
    char directory[64];
    char command[80];
    pthread_barrier_t ready;
    struct pair pair = { .number = 0 };
    struct player players[2] = { { &pair, 0 }, { &pair, 1 } };
    aclrtEvent asked;
    alarm(300); // a hang is a failure
    setenv("REPRISE_DEVICE_MEMORY", "128M", 1);
    snprintf(directory, sizeof(directory), "/tmp/reprise-race-acl-%d", (int)getpid());
    WORKS(aclrtSetDevice(0));
    WORKS(aclrtGetCurrentContext(&pair.context));
    WORKS(aclrtCreateEventWithFlag(&pair.ready[0], ACL_EVENT_SYNC));
    WORKS(aclrtCreateEventWithFlag(&pair.ready[1], ACL_EVENT_SYNC));
    WORKS(aclrtCreateEventExWithFlag(&asked, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
    pthread_barrier_init(&ready, NULL, 2);

    const pthread_t server = start(serve, &ready);
    pthread_barrier_wait(&ready);
    const pthread_t around[] = { start(profile, directory), start(ask, asked),
        start(map_memory, NULL) };
    const pthread_t workers[] = { start(use_streams, NULL), start(use_streams, NULL),
        start(play, &players[0]), start(play, &players[1]), start(set_devices, NULL),
        start(launch_callbacks, (void *)(uintptr_t)server) };
    for (size_t i = 0; i < sizeof(workers) / sizeof(workers[0]); i++) {
        pthread_join(workers[i], NULL);
    }
    atomic_store(&over, true);
    for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
        pthread_join(around[i], NULL);
    }
    pthread_join(server, NULL);
    hold(pair.number == 2 * ROUNDS, "the number was not passed on in order");
    WORKS(aclrtDestroyEvent(asked));
    WORKS(aclrtResetDeviceForce(0));
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    hold(system(command) == 0, "the profiles could not be removed");
    return atomic_load(&faults) == 0 ? 0 : 1;
}
