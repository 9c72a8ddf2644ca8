/* Two devices of this process: rank 0 sends numbers, rank 1 receives them. */
#include <stdio.h>
#include <stdlib.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#define RANKS 2
#define COUNT 4

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
    int32_t devices[RANKS] = { 0, 1 };
    HcclComm comm[RANKS];
    aclrtStream stream[RANKS];
    void *buffer[RANKS];

    check(aclrtSetDevice(0), "aclrtSetDevice");
    check((int)HcclCommInitAll(RANKS, devices, comm), "HcclCommInitAll");
    for (int r = 0; r < RANKS; r++) {
        check(aclrtSetDevice(devices[r]), "aclrtSetDevice");
        check(aclrtCreateStream(&stream[r]), "aclrtCreateStream");
        check(aclrtMalloc(&buffer[r], COUNT * sizeof(int), ACL_MEM_MALLOC_HUGE_FIRST),
                "aclrtMalloc");
        for (int i = 0; i < COUNT; i++) {
            ((int *)buffer[r])[i] = r == 0 ? 10 + i : 0; // device memory is this host's memory
        }
        if (r == 0) { // it is only queued: the other rank's call comes later
            check((int)HcclSend(buffer[r], COUNT, HCCL_DATA_TYPE_INT32, 1, comm[r], stream[r]),
                    "HcclSend");
        } else {
            check((int)HcclRecv(buffer[r], COUNT, HCCL_DATA_TYPE_INT32, 0, comm[r], stream[r]),
                    "HcclRecv");
        }
    }
    for (int r = 0; r < RANKS; r++) {
        check(aclrtSetDevice(devices[r]), "aclrtSetDevice");
        check(aclrtSynchronizeStream(stream[r]), "aclrtSynchronizeStream");
    }
    const int *got = buffer[1];
    printf("rank 1: %d %d %d %d\n", got[0], got[1], got[2], got[3]);
    return got[COUNT - 1] == 13 ? 0 : 1; // the process takes what is left with it
}
