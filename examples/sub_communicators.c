/* Four ranks in two rows and two columns: each row and each column gets a communicator. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#define RANKS 4

static HcclComm world[RANKS];

static void check(int code, const char *what)
{
    if (code != 0) {
        fprintf(stderr, "%s: %d: %s", what, code, aclGetRecentErrMsg());
        exit(1);
    }
}

static void sum(float *value, uint32_t rank, uint32_t *members, uint64_t id, uint32_t own)
{
    HcclComm comm;
    aclrtStream stream;
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    check((int)HcclCreateSubCommConfig(&world[rank], 2, members, id, own, &config, &comm),
            "HcclCreateSubCommConfig");
    check(aclrtCreateStream(&stream), "aclrtCreateStream");
    check((int)HcclAllReduce(value, value, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream),
            "HcclAllReduce");
    check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
}

static void *run(void *arg)
{
    uint32_t rank = (uint32_t)(uintptr_t)arg, row = rank / 2, column = rank % 2;
    uint32_t in_row[2] = { 2 * row, 2 * row + 1 }, in_column[2] = { column, column + 2 };
    float by_row = (float)rank, by_column = (float)rank;
    check(aclrtSetDevice((int32_t)rank), "aclrtSetDevice");
    sum(&by_row, rank, in_row, 1, column); // one id for both rows: their members differ
    sum(&by_column, rank, in_column, 2, row);
    printf("rank %u: row %g, column %g\n", rank, (double)by_row, (double)by_column);
    return by_row == (float)(4 * row + 1) && by_column == (float)(2 * column + 2) ? NULL : world;
}

int main(void)
{
    int32_t devices[RANKS] = { 0, 1, 2, 3 };
    pthread_t thread[RANKS];
    void *wrong = NULL;
    check((int)HcclCommInitAll(RANKS, devices, world), "HcclCommInitAll");
    for (uintptr_t r = 0; r < RANKS; r++) {
        pthread_create(&thread[r], NULL, run, (void *)r);
    }
    for (int r = 0; r < RANKS && wrong == NULL; r++) {
        pthread_join(thread[r], &wrong);
    }
    return wrong != NULL;
}
