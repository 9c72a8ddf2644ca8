/* Four threads, a device each: what comes after a barrier comes after what all did before it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#define RANKS 4

static HcclComm comm[RANKS];
static atomic_int ready;
static int seen[RANKS];

static void check(int code, const char *what)
{
    if (code != 0) {
        const char *why = aclGetRecentErrMsg();
        fprintf(stderr, "%s: %d: %s", what, code, why != NULL ? why : "no message\n");
        exit(1);
    }
}

static void *run_rank(void *arg)
{
    const int rank = *(const int *)arg;
    aclrtStream stream;

    check(aclrtSetDevice(rank), "aclrtSetDevice");
    check(aclrtCreateStream(&stream), "aclrtCreateStream");
    atomic_fetch_add(&ready, 1); // what has to be done before anybody goes on
    check((int)HcclBarrier(comm[rank], stream), "HcclBarrier");
    check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
    seen[rank] = atomic_load(&ready);
    return NULL;
}

int main(void)
{
    int32_t devices[RANKS] = { 0, 1, 2, 3 };
    pthread_t thread[RANKS];
    int sum = 0;

    check((int)HcclCommInitAll(RANKS, devices, comm), "HcclCommInitAll");
    for (int r = 0; r < RANKS; r++) {
        check(pthread_create(&thread[r], NULL, run_rank, &devices[r]), "pthread_create");
    }
    for (int r = 0; r < RANKS; r++) {
        check(pthread_join(thread[r], NULL), "pthread_join");
        printf("rank %d: %d ranks were ready\n", r, seen[r]);
        sum += seen[r];
    }
    return sum == RANKS * RANKS ? 0 : 1; // the process takes what is left with it
}
