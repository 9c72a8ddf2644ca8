// Communicators that are stopped and taken into use again, by ranks that are threads, while others
// ask for their state; and destroyed in the middle.

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <acl/acl.h>
#include <hccl/hccl.h>
#include <hccl/hccl_comm.h>

#include "race/race_check.h"

#define RANKS 3
#define ROUNDS 3
#define STOPS 6
#define WORDS 5000

static HcclComm comms[RANKS];
static int32_t devices[RANKS] = { 0, 1, 2 };
static pthread_barrier_t ranks_only, together; // together: ranks, watcher, main
static _Atomic bool watched;

static int all_reduce(uint32_t rank, aclrtStream stream, uint32_t *data)
{
    return (int)HcclAllReduce(
            data, data + WORDS, WORDS, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, comms[rank], stream);
}

// Calls that are stopped in the middle, in one of three ways, then one that is right.
static void stop_and_resume(uint32_t rank, uint32_t turn, aclrtStream stream, uint32_t *data)
{
    pthread_barrier_wait(&ranks_only);
    for (int i = 0; i < 2; i++) {
        (void)all_reduce(rank, stream, data); // a peer may have stopped already
    }
    if (turn % RANKS == rank) {
        check(turn % 2 == 0 ? (int)aclrtDeviceTaskAbort(devices[rank], 20000)
                            : (int)HcclCommSuspend(comms[rank]));
    } else if (turn % 4 == 0) {
        check(aclrtStreamAbort(stream));
    }
    (void)aclrtSynchronizeStream(stream); // well, failed or stopped
    check(HcclCommResume(comms[rank]));
    for (uint32_t i = 0; i < WORDS; i++) {
        data[i] = turn + i;
    }
    check(all_reduce(rank, stream, data));
    check(aclrtSynchronizeStream(stream));
    check(data[2 * WORDS - 1] != RANKS * (turn + WORDS - 1));
}

static void *rank_main(void *arg)
{
    const uint32_t rank = *(uint32_t *)arg;
    aclrtStream stream = NULL;
    uint32_t *data = NULL;
    check(aclrtSetDevice(devices[rank]));
    check(aclrtCreateStream(&stream));
    check(aclrtMalloc((void **)&data, 2 * WORDS * sizeof(*data), ACL_MEM_MALLOC_NORMAL_ONLY));
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&together);
        for (uint32_t turn = 0; turn < STOPS; turn++) {
            stop_and_resume(rank, turn, stream, data);
        }
        pthread_barrier_wait(&ranks_only);
        if (rank == 0) {
            atomic_store(&watched, false);
        }
        pthread_barrier_wait(&together);
        (void)all_reduce(rank, stream, data); // while others destroy theirs
        if (rank == 0) {
            check(aclrtDeviceTaskAbort(devices[rank], 20000));
        }
        check(HcclCommDestroy(comms[rank]));
        (void)aclrtSynchronizeStream(stream);
        pthread_barrier_wait(&together);
    }
    check(aclrtFree(data));
    check(aclrtDestroyStream(stream));
    return NULL;
}

static void *watch(void *arg)
{
    (void)arg;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&together);
        for (uint32_t k = 0; atomic_load(&watched); k++) {
            HcclCommStatus status = HCCL_COMM_STATUS_RESERVED;
            HcclResult error = HCCL_SUCCESS;
            check(HcclCommGetStatus(comms[k % RANKS], &status));
            check(HcclGetCommAsyncError(comms[k % RANKS], &error));
            (void)HcclGetErrorString(error);
        }
        pthread_barrier_wait(&together);
        pthread_barrier_wait(&together);
    }
    return NULL;
}

static int run_all(void)
{
    pthread_t rank[RANKS], watcher;
    uint32_t id[RANKS];
    pthread_barrier_init(&ranks_only, NULL, RANKS);
    pthread_barrier_init(&together, NULL, RANKS + 2);
    for (uint32_t r = 0; r < RANKS; r++) {
        id[r] = r;
        pthread_create(&rank[r], NULL, rank_main, &id[r]);
    }
    pthread_create(&watcher, NULL, watch, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        if (!check(HcclCommInitAll(RANKS, devices, comms))) {
            return 1;
        }
        atomic_store(&watched, true);
        pthread_barrier_wait(&together);
        pthread_barrier_wait(&together);
        pthread_barrier_wait(&together);
    }
    for (uint32_t r = 0; r < RANKS; r++) {
        pthread_join(rank[r], NULL);
    }
    pthread_join(watcher, NULL);
    return atomic_load(&failed) ? 1 : 0;
}

// The environment is read once a process, so each form has its own.
static bool run_form(const char *expansion)
{
    const pid_t pid = fork();
    if (pid == 0) {
        setenv("REPRISE_DEVICE_MEMORY", "64M", 1);
        setenv("HCCL_BUFFSIZE", "1", 1);
        setenv("HCCL_OP_EXPANSION_MODE", expansion, 1);
        exit(run_all());
    }
    int status = -1;
    const bool ok = pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
    if (!ok) {
        fprintf(stderr, "%s: status 0x%x\n", expansion, (unsigned)status);
    }
    return ok;
}

int main(void)
{
    bool ok = run_form("AIV");
    ok = run_form("HOST_TS") && ok;
    return ok ? 0 : 1;
}
