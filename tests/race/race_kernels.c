// Kernels on several streams, from threads that also load and unload binaries, register and
// unregister kernels, and share one. All data is plain memory that only stream order and
// synchronising protect.

#include <acl/acl.h>
#include <pthread.h>
#include <reprise/kernel.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4
#define ROUNDS 150
#define BINARY RP_TEST_BINARY_DIR "/tests/modules/module_kernels.so"

static void hold(int code, const char *what)
{
    if (code != 0) {
        const char *why = aclGetRecentErrMsg();
        fprintf(stderr, "%s: %d: %s\n", what, code, why != NULL ? why : "no message");
        exit(1);
    }
}

struct step {
    long *counter;
    long by;
};

static void shared_kernel(void *args, uint32_t block, uint32_t blocks)
{
    const struct step *step = args;
    (void)blocks;
    if (block == 0) {
        *step->counter += step->by;
    }
}

static void own_kernel_0(void *args, uint32_t block, uint32_t blocks)
{
    shared_kernel(args, block, blocks);
}

static void own_kernel_1(void *args, uint32_t block, uint32_t blocks)
{
    shared_kernel(args, block, blocks);
}

static aclrtFuncHandle shared;

// Two threads each have a kernel that comes and goes; the others load a binary instead.
static const reprise_kernel_fn own[2] = { own_kernel_0, own_kernel_1 };

static void launch_own(int thread, const struct step *step, aclrtStream stream)
{
    aclrtFuncHandle function;
    hold(reprise_kernel_register("own", own[thread], &function), "reprise_kernel_register");
    hold(aclrtLaunchKernel(function, 3, step, sizeof(*step), stream), "aclrtLaunchKernel");
    hold(reprise_kernel_unregister(function), "reprise_kernel_unregister");
}

static void launch_loaded(float *x, aclrtStream stream)
{
    struct {
        const float *x;
        float *y;
        uint32_t count;
    } args = { &x[0], &x[1], 1 };
    aclrtBinHandle binary;
    aclrtFuncHandle function;
    aclrtArgsHandle list;
    aclrtParamHandle param;
    hold(aclrtBinaryLoadFromFile(BINARY, NULL, &binary), "aclrtBinaryLoadFromFile");
    hold(aclrtBinaryGetFunction(binary, "module_add", &function), "aclrtBinaryGetFunction");
    hold(aclrtKernelArgsInit(function, &list), "aclrtKernelArgsInit");
    hold(aclrtKernelArgsAppend(list, &args, sizeof(args), &param), "aclrtKernelArgsAppend");
    hold(aclrtKernelArgsFinalize(list), "aclrtKernelArgsFinalize");
    hold(aclrtLaunchKernelWithConfig(function, 2, stream, NULL, list, NULL), "WithConfig");
    hold(aclrtBinaryUnLoad(binary), "aclrtBinaryUnLoad");
}

static void *work(void *arg)
{
    const int thread = (int)(intptr_t)arg;
    aclrtStream stream;
    long counter = 0;
    float x[2] = { 1, 0 };
    hold(aclrtSetDevice(0), "aclrtSetDevice");
    hold(aclrtCreateStream(&stream), "aclrtCreateStream");
    for (int round = 0; round < ROUNDS; round++) {
        struct step step = { &counter, 1 };
        hold(aclrtLaunchKernel(shared, 2, &step, sizeof(step), stream), "aclrtLaunchKernel");
        step.by = 1000;
        if (thread < 2) {
            launch_own(thread, &step, stream);
        } else {
            launch_loaded(x, stream);
        }
        if (round % 8 == 7) {
            hold(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
        }
    }
    hold(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
    const long expected = thread < 2 ? ROUNDS * 1001L : ROUNDS;
    hold(counter != expected, "the counter is not what was added");
    hold(x[1] != (float)(thread < 2 ? 0 : ROUNDS), "the sum is not what was added");
    hold(aclrtDestroyStream(stream), "aclrtDestroyStream");
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    setenv("REPRISE_DEVICE_MEMORY", "64M", 0);
    hold(aclrtSetDevice(0), "aclrtSetDevice");
    hold(reprise_kernel_register("shared", shared_kernel, &shared), "reprise_kernel_register");
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&thread[i], NULL, work, (void *)(intptr_t)i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    hold(aclrtResetDevice(0), "aclrtResetDevice");
    return 0;
}
