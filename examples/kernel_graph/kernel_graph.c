/* A kernel of the user's own is loaded, captured in a task group, replayed, and given other
 * arguments without capturing again: first between two replays, then while a replay waits for them.
 *
 *     kernel_graph [BINARY]        BINARY: graph_kernels.so beside the program, unless it is given
 *
 * After `. set_env.sh` of an installation:
 *
 *     gcc -shared -fPIC graph_kernels.c -I$ASCEND_HOME_PATH/include -o graph_kernels.so
 *     gcc kernel_graph.c -I$ASCEND_HOME_PATH/include -L$ASCEND_HOME_PATH/lib64 -lascendcl \
 *         -o kernel_graph
 */
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acl/acl.h>

#include "graph_kernels.h"

#define COUNT 1000
#define BLOCKS 8

static void check(int code, const char *what)
{
    if (code != 0) {
        const char *why = aclGetRecentErrMsg();
        fprintf(stderr, "%s: %d: %s", what, code, why != NULL ? why : "no message\n");
        exit(1);
    }
}

static aclrtFuncHandle load(int argc, char **argv)
{
    char path[4096];
    aclrtBinHandle binary;
    aclrtFuncHandle saxpy;
    if (argc > 1) {
        snprintf(path, sizeof(path), "%s", argv[1]);
    } else {
        snprintf(path, sizeof(path), "%s/graph_kernels.so", dirname(argv[0]));
    }
    check(aclrtBinaryLoadFromFile(path, NULL, &binary), "aclrtBinaryLoadFromFile");
    check(aclrtBinaryGetFunction(binary, "saxpy", &saxpy), "aclrtBinaryGetFunction");
    return saxpy;
}

static void launch(aclrtFuncHandle saxpy, struct saxpy_args args, aclrtStream stream)
{
    /* The arguments are copied by the call. */
    check(aclrtLaunchKernel(saxpy, BLOCKS, &args, sizeof(args), stream), "aclrtLaunchKernel");
}

/* What is launched between the two calls replaces what the group has. */
static void update(
        aclrtFuncHandle saxpy, struct saxpy_args args, aclrtTaskGrp group, aclrtStream stream)
{
    check(aclmdlRICaptureTaskUpdateBegin(stream, group), "aclmdlRICaptureTaskUpdateBegin");
    launch(saxpy, args, stream);
    check(aclmdlRICaptureTaskUpdateEnd(stream), "aclmdlRICaptureTaskUpdateEnd");
}

static float *device_floats(float value)
{
    void *memory;
    check(aclrtMalloc(&memory, COUNT * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    float *floats = memory; /* device memory is this host's memory */
    for (int i = 0; i < COUNT; i++) {
        floats[i] = value;
    }
    return floats;
}

int main(int argc, char **argv)
{
    aclrtStream stream, updates;
    aclrtEvent ready;
    aclmdlRI graph;
    aclrtTaskGrp group;

    check(aclrtSetDevice(0), "aclrtSetDevice");
    check(aclrtCreateStream(&stream), "aclrtCreateStream");
    check(aclrtCreateStream(&updates), "aclrtCreateStream");
    check(aclrtCreateEventWithFlag(&ready, ACL_EVENT_EXTERNAL), "aclrtCreateEventWithFlag");
    const aclrtFuncHandle saxpy = load(argc, argv);
    float *one = device_floats(1);
    float *y = device_floats(0);
    struct saxpy_args args = { one, y, COUNT, 2 };

    /* Each replay waits for `ready`, takes the signal back, and runs the group. */
    check(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), "CaptureBegin");
    check(aclrtStreamWaitEvent(stream, ready), "aclrtStreamWaitEvent");
    check(aclrtResetEvent(ready, stream), "aclrtResetEvent");
    check(aclmdlRICaptureTaskGrpBegin(stream), "aclmdlRICaptureTaskGrpBegin");
    launch(saxpy, args, stream);
    check(aclmdlRICaptureTaskGrpEnd(stream, &group), "aclmdlRICaptureTaskGrpEnd");
    check(aclmdlRICaptureEnd(stream, &graph), "CaptureEnd");

    check(aclrtRecordEvent(ready, updates), "aclrtRecordEvent");
    check(aclmdlRIExecuteAsync(graph, stream), "aclmdlRIExecuteAsync");
    check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
    printf("as captured:          y = %g\n", (double)y[COUNT - 1]); /* 0 + 2 * 1 */

    args.a = 10;
    update(saxpy, args, group, updates);
    check(aclrtSynchronizeStream(updates), "aclrtSynchronizeStream");
    check(aclrtRecordEvent(ready, updates), "aclrtRecordEvent");
    check(aclmdlRIExecuteAsync(graph, stream), "aclmdlRIExecuteAsync");
    check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
    printf("updated between:      y = %g\n", (double)y[COUNT - 1]); /* 2 + 10 * 1 */

    args.a = 100;
    check(aclmdlRIExecuteAsync(graph, stream), "aclmdlRIExecuteAsync"); /* waits for `ready` */
    update(saxpy, args, group, updates);
    check(aclrtRecordEvent(ready, updates), "aclrtRecordEvent");
    check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
    printf("updated while queued: y = %g\n", (double)y[COUNT - 1]); /* 12 + 100 * 1 */

    const int right = y[0] == 112 && y[COUNT - 1] == 112;
    check(aclmdlRIDestroy(graph), "aclmdlRIDestroy");
    return right ? 0 : 1; /* the process takes what is left with it */
}
