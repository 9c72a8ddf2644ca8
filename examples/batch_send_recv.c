/* Three devices of this process pass a number on: a ring of sends and receives in one batch each.
 */
#include <stdio.h>
#include <stdlib.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#define RANKS 3

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
    int32_t devices[RANKS] = { 0, 1, 2 };
    HcclComm comm[RANKS];
    aclrtStream stream[RANKS];
    void *send[RANKS], *recv[RANKS];

    check(aclrtSetDevice(0), "aclrtSetDevice");
    check((int)HcclCommInitAll(RANKS, devices, comm), "HcclCommInitAll");
    for (uint32_t r = 0; r < RANKS; r++) {
        check(aclrtSetDevice(devices[r]), "aclrtSetDevice");
        check(aclrtCreateStream(&stream[r]), "aclrtCreateStream");
        check(aclrtMalloc(&send[r], sizeof(int), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
        check(aclrtMalloc(&recv[r], sizeof(int), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
        *(int *)send[r] = 100 + (int)r; // device memory is this host's memory
        HcclSendRecvItem items[] = {
            { HCCL_SEND, send[r], 1, HCCL_DATA_TYPE_INT32, (r + 1) % RANKS },
            { HCCL_RECV, recv[r], 1, HCCL_DATA_TYPE_INT32, (r + RANKS - 1) % RANKS },
        };
        check((int)HcclBatchSendRecv(items, 2, comm[r], stream[r]), "HcclBatchSendRecv");
    }
    for (int r = 0; r < RANKS; r++) {
        check(aclrtSetDevice(devices[r]), "aclrtSetDevice");
        check(aclrtSynchronizeStream(stream[r]), "aclrtSynchronizeStream");
        printf("rank %d: %d\n", r, *(int *)recv[r]);
    }
    return *(int *)recv[0] == 102 ? 0 : 1; // the process takes what is left with it
}
