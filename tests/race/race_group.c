// Groups of one process: ranks that are threads, each with groups of its own, eager and replayed,
// while one more thread is all ranks of another communicator, and others leave groups open.

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#include "race/race_check.h"

#define RANKS 3
#define ROUNDS 60
#define COUNT 3000

static HcclComm comms[RANKS];
static int32_t devices[RANKS] = { 0, 1, 2 };

// What one rank says in one group.
static bool record(HcclComm comm, uint32_t rank, aclrtStream stream, uint32_t *data)
{
    const uint32_t next = (rank + 1) % RANKS, previous = (rank + RANKS - 1) % RANKS;
    uint32_t *sum = data, *out = data + COUNT, *in = data + 2 * COUNT;
    for (uint32_t i = 0; i < COUNT; i++) {
        sum[i] = i;
        out[i] = rank + i;
        in[i] = 0;
    }
    return check(HcclSend(out, COUNT, HCCL_DATA_TYPE_UINT32, next, comm, stream)) &&
           check(HcclRecv(in, COUNT, HCCL_DATA_TYPE_UINT32, previous, comm, stream)) &&
           check(HcclAllReduce(
                   sum, sum, COUNT, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, comm, stream));
}

static bool right(uint32_t rank, const uint32_t *data)
{
    const uint32_t previous = (rank + RANKS - 1) % RANKS;
    return check(data[COUNT - 1] != RANKS * (COUNT - 1)) &&
           check(data[3 * COUNT - 1] != previous + COUNT - 1);
}

static bool open_data(int32_t device, aclrtStream *stream, uint32_t **data)
{
    return check(aclrtSetDevice(device)) && check(aclrtCreateStream(stream)) &&
           check(aclrtMalloc((void **)data, 3 * COUNT * sizeof(**data), ACL_MEM_MALLOC_HUGE_FIRST));
}

static void *leave_open(void *arg)
{
    static uint32_t words[COUNT];
    const uint32_t rank = *(const uint32_t *)arg;
    aclrtStream stream = NULL;
    if (check(aclrtSetDevice(devices[rank])) && check(aclrtCreateStream(&stream)) &&
            check(HcclGroupStart()) &&
            check(HcclSend(words, COUNT, HCCL_DATA_TYPE_UINT32, rank, comms[rank], stream))) {
        check(aclrtDestroyStream(stream));
    }
    return NULL;
}

static bool run_graph(uint32_t rank, aclrtStream stream, uint32_t *data)
{
    aclmdlRI graph = NULL;
    bool ok = check(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL)) &&
              check(HcclGroupStart()) && record(comms[rank], rank, stream, data) &&
              check(HcclGroupEnd()) && check(aclmdlRICaptureEnd(stream, &graph));
    ok = ok && check(aclmdlRIExecuteAsync(graph, stream)) && check(aclrtSynchronizeStream(stream));
    ok = ok && right(rank, data);
    return graph != NULL && check(aclmdlRIDestroy(graph)) && ok;
}

static void *rank_main(void *arg)
{
    const uint32_t rank = *(const uint32_t *)arg;
    uint32_t *data = NULL;
    aclrtStream stream = NULL;
    bool ok = open_data(devices[rank], &stream, &data);
    for (int round = 0; ok && round < ROUNDS; round++) {
        pthread_t thread;
        const bool leaves = pthread_create(&thread, NULL, leave_open, arg) == 0;
        ok = check(HcclGroupStart()) && record(comms[rank], rank, stream, data) &&
             check(HcclGroupEnd()) && right(rank, data) && run_graph(rank, stream, data);
        if (leaves) {
            pthread_join(thread, NULL);
        }
    }
    return NULL;
}

// One thread, all ranks: it makes, uses and destroys them in groups.
static void *all_main(void *arg)
{
    (void)arg;
    uint32_t *data[RANKS];
    aclrtStream stream[RANKS];
    bool ok = true;
    for (uint32_t r = 0; ok && r < RANKS; r++) {
        ok = open_data(devices[r], &stream[r], &data[r]);
    }
    for (int round = 0; ok && round < ROUNDS / 3; round++) {
        HcclRootInfo info;
        HcclComm own[RANKS];
        ok = check(HcclGetRootInfo(&info)) && check(HcclGroupStart());
        for (uint32_t r = 0; ok && r < RANKS; r++) {
            ok = check(aclrtSetDevice(devices[r])) &&
                 check(HcclCommInitRootInfo(RANKS, &info, r, &own[r]));
        }
        ok = ok && check(HcclGroupEnd()) && check(HcclGroupStart());
        for (uint32_t r = 0; ok && r < RANKS; r++) {
            ok = record(own[r], r, stream[r], data[r]);
        }
        ok = ok && check(HcclGroupEnd()) && check(HcclGroupStart());
        for (uint32_t r = 0; ok && r < RANKS; r++) {
            ok = right(r, data[r]) && check(HcclCommDestroy(own[r]));
        }
        ok = ok && check(HcclGroupEnd());
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[RANKS + 1];
    uint32_t id[RANKS];
    setenv("REPRISE_DEVICE_MEMORY", "64M", 1);
    setenv("HCCL_BUFFSIZE", "1", 1);
    setenv("HCCL_OP_EXPANSION_MODE", "HOST_TS", 1);
    if (!check(HcclCommInitAll(RANKS, devices, comms))) {
        return 1;
    }
    for (uint32_t r = 0; r < RANKS; r++) {
        id[r] = r;
        pthread_create(&threads[r], NULL, rank_main, &id[r]);
    }
    pthread_create(&threads[RANKS], NULL, all_main, NULL);
    for (uint32_t r = 0; r <= RANKS; r++) {
        pthread_join(threads[r], NULL);
    }
    for (uint32_t r = 0; r < RANKS; r++) {
        check(HcclCommDestroy(comms[r]));
    }
    return atomic_load(&failed) ? 1 : 0;
}
