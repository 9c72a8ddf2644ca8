/* One thread is two ranks: it makes them, lets them swap numbers and ends them, each in a group. */
#include <stdio.h>
#include <stdlib.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#define RANKS 2

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
    HcclRootInfo info;
    HcclComm comm[RANKS];
    aclrtStream stream[RANKS];
    int out[RANKS] = { 10, 11 }, in[RANKS] = { 0, 0 };

    check(aclrtSetDevice(0), "aclrtSetDevice");
    check((int)HcclGetRootInfo(&info), "HcclGetRootInfo");
    check((int)HcclGroupStart(), "HcclGroupStart");
    for (int r = 0; r < RANKS; r++) {
        check(aclrtSetDevice(r), "aclrtSetDevice"); // the rank's device: the one at the call
        check(aclrtCreateStream(&stream[r]), "aclrtCreateStream");
        check((int)HcclCommInitRootInfo(RANKS, &info, (uint32_t)r, &comm[r]),
                "HcclCommInitRootInfo");
    }
    check((int)HcclGroupEnd(), "HcclGroupEnd"); // only now the communicators are there

    check((int)HcclGroupStart(), "HcclGroupStart");
    for (uint32_t r = 0; r < RANKS; r++) {
        check((int)HcclSend(&out[r], 1, HCCL_DATA_TYPE_INT32, 1 - r, comm[r], stream[r]),
                "HcclSend");
        check((int)HcclRecv(&in[r], 1, HCCL_DATA_TYPE_INT32, 1 - r, comm[r], stream[r]),
                "HcclRecv");
    }
    check((int)HcclGroupEnd(), "HcclGroupEnd"); // has waited for the streams
    printf("got %d and %d\n", in[0], in[1]);

    check((int)HcclGroupStart(), "HcclGroupStart");
    for (int r = 0; r < RANKS; r++) {
        check((int)HcclCommDestroy(comm[r]), "HcclCommDestroy");
    }
    check((int)HcclGroupEnd(), "HcclGroupEnd");
    return in[0] == 11 && in[1] == 10 ? 0 : 1;
}
