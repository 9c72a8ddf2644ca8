/* Two devices of this process sum a vector, first by a call, then by replays of a captured one. */
#include <stdio.h>
#include <stdlib.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#define RANKS 2
#define COUNT 1024

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
    aclmdlRI graph[RANKS];
    float *data[RANKS];

    check(aclrtSetDevice(0), "aclrtSetDevice");
    check((int)HcclCommInitAll(RANKS, devices, comm), "HcclCommInitAll");
    for (int r = 0; r < RANKS; r++) {
        void *memory;
        check(aclrtSetDevice(devices[r]), "aclrtSetDevice");
        check(aclrtCreateStream(&stream[r]), "aclrtCreateStream");
        check(aclrtMalloc(&memory, COUNT * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST),
                "aclrtMalloc");
        data[r] = memory; // device memory is this host's memory
        data[r][0] = (float)(r + 1);
        check(aclmdlRICaptureBegin(stream[r], ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), "CaptureBegin");
        check((int)HcclAllReduce(data[r], data[r], COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                      comm[r], stream[r]),
                "HcclAllReduce");
        check(aclmdlRICaptureEnd(stream[r], &graph[r]), "CaptureEnd"); // nothing has run yet
    }
    for (int step = 0; step < 3; step++) { // 1 + 2 = 3, then 6, then 12
        for (int r = 0; r < RANKS; r++) {
            check(aclrtSetDevice(devices[r]), "aclrtSetDevice");
            check(aclmdlRIExecuteAsync(graph[r], stream[r]), "aclmdlRIExecuteAsync");
        }
        check(aclrtSynchronizeStream(stream[RANKS - 1]), "aclrtSynchronizeStream");
        printf("after replay %d: %g\n", step + 1, (double)data[RANKS - 1][0]);
    }
    return data[RANKS - 1][0] == 12.0f ? 0 : 1; // the process takes what is left with it
}
