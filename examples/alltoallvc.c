/* Four devices of this process exchange blocks of different sizes by a matrix that all of them
 * have: rank r has r + s values for rank s, back to back. */
#include <stdio.h>
#include <stdlib.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#define RANKS 4
#define ROOM (RANKS * 2 * RANKS)

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
    int *send[RANKS], *recv[RANKS];
    uint64_t matrix[RANKS][RANKS]; // [i][j]: elements from i to j

    for (int i = 0; i < RANKS * RANKS; i++) {
        matrix[i / RANKS][i % RANKS] = (uint64_t)(i / RANKS + i % RANKS);
    }
    check(aclrtSetDevice(0), "aclrtSetDevice");
    check((int)HcclCommInitAll(RANKS, devices, comm), "HcclCommInitAll");
    for (int r = 0; r < RANKS; r++) {
        check(aclrtSetDevice(devices[r]), "aclrtSetDevice");
        check(aclrtCreateStream(&stream[r]), "aclrtCreateStream");
        check(aclrtMalloc((void **)&send[r], ROOM * sizeof(int), ACL_MEM_MALLOC_HUGE_FIRST),
                "send");
        check(aclrtMalloc((void **)&recv[r], ROOM * sizeof(int), ACL_MEM_MALLOC_HUGE_FIRST),
                "recv");
        for (int i = 0; i < ROOM; i++) {
            send[r][i] = 100 * r + i; // device memory is this host's memory
        }
        check((int)HcclAlltoAllVC(send[r], matrix, HCCL_DATA_TYPE_INT32, recv[r],
                      HCCL_DATA_TYPE_INT32, comm[r], stream[r]),
                "HcclAlltoAllVC"); // it is only queued: the other ranks' calls come later
    }
    for (int r = 0; r < RANKS; r++) {
        check(aclrtSetDevice(devices[r]), "aclrtSetDevice");
        check(aclrtSynchronizeStream(stream[r]), "aclrtSynchronizeStream");
        printf("rank %d:", r);
        for (int i = 0; i < 4 * r + 6; i++) {
            printf(" %d", recv[r][i]);
        }
        printf("\n");
    }
    return recv[1][0] == 0 && recv[1][1] == 101 ? 0 : 1;
}
