/* Four devices of this process exchange blocks of different sizes: s + 1 values go to rank s. */
#include <stdio.h>
#include <stdlib.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#define RANKS 4
#define ROOM (RANKS * RANKS)

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

    check(aclrtSetDevice(0), "aclrtSetDevice");
    check((int)HcclCommInitAll(RANKS, devices, comm), "HcclCommInitAll");
    for (int r = 0; r < RANKS; r++) {
        uint64_t out[RANKS], in[RANKS], from[RANKS], to[RANKS]; // free once the call returns
        check(aclrtSetDevice(devices[r]), "aclrtSetDevice");
        check(aclrtCreateStream(&stream[r]), "aclrtCreateStream");
        check(aclrtMalloc((void **)&send[r], ROOM * sizeof(int), ACL_MEM_MALLOC_HUGE_FIRST),
                "send");
        check(aclrtMalloc((void **)&recv[r], ROOM * sizeof(int), ACL_MEM_MALLOC_HUGE_FIRST),
                "recv");
        for (int s = 0; s < RANKS; s++) {
            out[s] = s == r ? 0 : (uint64_t)s + 1;
            in[s] = s == r ? 0 : (uint64_t)r + 1;
            from[s] = to[s] = (uint64_t)s * RANKS; // in elements
            for (int i = 0; i < RANKS; i++) {
                send[r][s * RANKS + i] = 100 * r + 10 * s + i; // device memory is the host's
            }
        }
        check((int)HcclAlltoAllV(send[r], out, from, HCCL_DATA_TYPE_INT32, recv[r], in, to,
                      HCCL_DATA_TYPE_INT32, comm[r], stream[r]),
                "HcclAlltoAllV"); // it is only queued: the other ranks' calls come later
    }
    for (int r = 0; r < RANKS; r++) {
        check(aclrtSetDevice(devices[r]), "aclrtSetDevice");
        check(aclrtSynchronizeStream(stream[r]), "aclrtSynchronizeStream");
        printf("rank %d:", r);
        for (int s = (r + 1) % RANKS; s != r; s = (s + 1) % RANKS) {
            printf(" %d", recv[r][s * RANKS + r]); // the last of what rank s had for it
        }
        printf("\n");
    }
    return recv[3][4] == 130 ? 0 : 1;
}
