/* Four devices of this process sum a vector; the result is on one of them alone. */
#include <stdio.h>
#include <stdlib.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#define RANKS 4
#define COUNT 3
#define ROOT 2

static void check(int code, const char *what)
{
    if (code != 0) {
        const char *why = aclGetRecentErrMsg();
        fprintf(stderr, "%s: %d: %s", what, code, why != NULL ? why : "no message\n");
        exit(1);
    }
}

int main(void)
{
    int32_t devices[RANKS] = { 0, 1, 2, 3 };
    HcclComm comm[RANKS];
    aclrtStream stream[RANKS];
    void *send[RANKS], *recv[RANKS];

    check(aclrtSetDevice(0), "aclrtSetDevice");
    check((int)HcclCommInitAll(RANKS, devices, comm), "HcclCommInitAll");
    for (int r = 0; r < RANKS; r++) {
        check(aclrtSetDevice(devices[r]), "aclrtSetDevice");
        check(aclrtCreateStream(&stream[r]), "aclrtCreateStream");
        check(aclrtMalloc(&send[r], COUNT * sizeof(int), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
        check(aclrtMalloc(&recv[r], COUNT * sizeof(int), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
        for (int i = 0; i < COUNT; i++) {
            ((int *)send[r])[i] = 10 * r + i; // device memory is this host's memory
        }
        check((int)HcclReduce(send[r], recv[r], COUNT, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, ROOT,
                      comm[r], stream[r]),
                "HcclReduce"); // it is only queued: the other ranks' calls come later
    }
    for (int r = 0; r < RANKS; r++) {
        check(aclrtSetDevice(devices[r]), "aclrtSetDevice");
        check(aclrtSynchronizeStream(stream[r]), "aclrtSynchronizeStream");
    }
    const int *sum = recv[ROOT];
    printf("rank %d: %d %d %d\n", ROOT, sum[0], sum[1], sum[2]);
    return sum[0] == 60 && sum[1] == 64 && sum[2] == 68 ? 0 : 1; // the process takes what is left
}
