/* Four devices of this process give each other vectors of different lengths. */
#include <stdio.h>
#include <stdlib.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#define RANKS 4
#define MOST 4
#define TOTAL 10

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
    const uint64_t counts[RANKS] = { 4, 3, 1, 2 }, places[RANKS] = { 0, 4, 7, 8 };

    check(aclrtSetDevice(0), "aclrtSetDevice");
    check((int)HcclCommInitAll(RANKS, devices, comm), "HcclCommInitAll");
    for (int r = 0; r < RANKS; r++) {
        check(aclrtSetDevice(devices[r]), "aclrtSetDevice");
        check(aclrtCreateStream(&stream[r]), "aclrtCreateStream");
        check(aclrtMalloc(&send[r], MOST * sizeof(int), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
        check(aclrtMalloc(&recv[r], TOTAL * sizeof(int), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
        for (int i = 0; i < MOST; i++) {
            ((int *)send[r])[i] = 10 * r + i; // device memory is this host's memory
        }
        check((int)HcclAllGatherV(send[r], counts[r], recv[r], counts, places, HCCL_DATA_TYPE_INT32,
                      comm[r], stream[r]),
                "HcclAllGatherV"); // it is only queued: the other ranks' calls come later
    }
    for (int r = 0; r < RANKS; r++) {
        check(aclrtSetDevice(devices[r]), "aclrtSetDevice");
        check(aclrtSynchronizeStream(stream[r]), "aclrtSynchronizeStream");
    }
    for (int r = 0; r < RANKS; r++) {
        printf("rank %d:", r);
        for (int i = 0; i < TOTAL; i++) {
            printf(" %d", ((int *)recv[r])[i]);
        }
        printf("\n");
    }
    return ((int *)recv[0])[9] == 31 ? 0 : 1; // the process takes what is left with it
}
