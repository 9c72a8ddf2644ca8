// The Hccl calls of one process: ranks that are threads run operators of every form, eager and
// replayed, while other threads ask, set, look handles up, and destroy.

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#include "base/util.h"
#include "race/race_check.h"

#define RANKS 3
#define ROUNDS 12
#define SHAPES 40 // counts that differ: the expansion cache fills

static HcclComm comms[RANKS];
static int32_t devices[RANKS] = { 0, 1, 2 };
static pthread_barrier_t together; // ranks, watcher, main

static bool run_calls(HcclComm comm, aclrtStream stream, uint32_t *data)
{
    bool ok = true;
    for (uint64_t count = 1; ok && count < SHAPES * 100; count += 100) {
        for (uint64_t i = 0; i < count; i++) {
            data[i] = (uint32_t)i;
        }
        ok = check(HcclAllReduce(
                     data, data, count, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, comm, stream)) &&
             check(HcclBarrier(comm, stream)) && check(aclrtSynchronizeStream(stream)) &&
             check(data[count - 1] != RANKS * (uint32_t)(count - 1));
    }
    return ok;
}

static bool run_graph(HcclComm comm, aclrtStream stream, uint32_t *data)
{
    static const uint64_t counts[RANKS] = { 500, 0, 300 }, places[RANKS] = { 400, 0, 10 };
    aclmdlRI graph = NULL;
    uint32_t rank = 0;
    bool ok = check(HcclGetRankId(comm, &rank)) &&
              check(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED)) &&
              check(HcclAllReduce(
                      data, data, 999, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_MAX, comm, stream)) &&
              check(HcclBroadcast(data, 999, HCCL_DATA_TYPE_UINT32, 1, comm, stream)) &&
              check(HcclReduce(
                      data, data, 999, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, 2, comm, stream)) &&
              check(HcclScatter(data, data + 3000, 900, HCCL_DATA_TYPE_UINT32, 0, comm, stream)) &&
              check(HcclReduceScatterV(data, counts, places, data + 3000, counts[rank],
                      HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, comm, stream)) &&
              check(HcclAllGatherV(data, counts[rank], data + 2000, counts, places,
                      HCCL_DATA_TYPE_UINT32, comm, stream)) &&
              check(HcclAlltoAll(data, 450, HCCL_DATA_TYPE_UINT32, data + 2000, 450,
                      HCCL_DATA_TYPE_UINT32, comm, stream)) &&
              check(aclmdlRICaptureEnd(stream, &graph));
    for (int i = 0; ok && i < 20; i++) {
        ok = check(aclmdlRIExecuteAsync(graph, stream));
    }
    ok = ok && check(aclrtSynchronizeStream(stream));
    return graph != NULL && check(aclmdlRIDestroy(graph)) && ok;
}

static void *rank_main(void *arg)
{
    const uint32_t rank = *(uint32_t *)arg;
    uint32_t *data = NULL;
    aclrtStream stream = NULL;
    bool ok = check(aclrtSetDevice(devices[rank])) && check(aclrtCreateStream(&stream)) &&
              check(aclrtMalloc((void **)&data, SHAPES * 400, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&together); // the communicators are there
        ok = ok && run_calls(comms[rank], stream, data) && run_graph(comms[rank], stream, data);
        pthread_barrier_wait(&together); // nobody uses them any more
    }
    if (ok) {
        check(aclrtFree(data));
        check(aclrtDestroyStream(stream));
    }
    return NULL;
}

// A watchdog of the program's: asks all the time, whatever the ranks do.
static void *watch(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&together);
        HcclComm comm = comms[i % RANKS];
        HcclComm found = NULL;
        HcclResult error = HCCL_SUCCESS;
        uint32_t size = 0;
        char name[COMM_NAME_MAX_LENGTH];
        check(aclrtSetDevice(devices[i % RANKS]));
        for (int k = 0; k < 200; k++) {
            check(HcclGetCommAsyncError(comm, &error));
            check(error);
            check(HcclGetRankSize(comm, &size));
            check(HcclGetCommName(comm, name));
            check(HcclCommGetHandleWithName(name, &found));
        }
        pthread_barrier_wait(&together);
    }
    return NULL;
}

static void *destroy_main(void *arg)
{
    check(HcclCommDestroy(*(HcclComm *)arg));
    return NULL;
}

static int run_all(void)
{
    pthread_t ranks[RANKS], watcher, ends[RANKS];
    uint32_t id[RANKS];
    pthread_barrier_init(&together, NULL, RANKS + 2);
    for (uint32_t r = 0; r < RANKS; r++) {
        id[r] = r;
        pthread_create(&ranks[r], NULL, rank_main, &id[r]);
    }
    pthread_create(&watcher, NULL, watch, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        // All change to strict and back together, between their rounds.
        const HcclConfigValue level = { .value = round % 3 };
        if (!check(HcclSetConfig(HCCL_DETERMINISTIC, level)) ||
                !check(HcclCommInitAll(RANKS, devices, comms))) {
            return 1;
        }
        pthread_barrier_wait(&together);
        pthread_barrier_wait(&together);
        for (uint32_t r = 0; r < RANKS; r++) {
            pthread_create(&ends[r], NULL, destroy_main, &comms[r]);
        }
        for (uint32_t r = 0; r < RANKS; r++) {
            pthread_join(ends[r], NULL);
        }
    }
    for (uint32_t r = 0; r < RANKS; r++) {
        pthread_join(ranks[r], NULL);
    }
    pthread_join(watcher, NULL);
    pthread_barrier_destroy(&together);
    return atomic_load(&failed) ? 1 : 0;
}

// The environment is read once a process, so each form has its own.
static bool run_form(const char *expansion, const char *algorithm)
{
    const pid_t pid = fork();
    if (pid == 0) {
        setenv("REPRISE_DEVICE_MEMORY", "64M", 1);
        setenv("HCCL_BUFFSIZE", "1", 1);
        setenv("HCCL_OP_EXPANSION_MODE", expansion, 1);
        setenv("HCCL_ALGO", algorithm, 1);
        exit(run_all());
    }
    int status = -1;
    const bool ok = pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
    if (!ok) {
        fprintf(stderr, "%s %s: status 0x%x\n", expansion, algorithm, (unsigned)status);
    }
    return ok;
}

int main(void)
{
    bool ok = run_form("AIV", "level0:NA");
    ok = run_form("HOST_TS", "level0:NA") && ok;
    ok = run_form("HOST_TS", "level0:ring") && ok;
    return ok ? 0 : 1;
}
