// What runs kernels: the order of a stream, the core of a device, and what a kernel may not do on
// it.

#include <dirent.h>
#include <pthread.h>
#include <reprise/kernel.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/gate.h"
#include "support/kernel_case.h"

TestSuite(kernel_launch, .init = on_device, .timeout = 60);

// x = x * 31 + step: only one order of the steps has the right end.
struct step {
    uint64_t *state;
    uint64_t step;
};

static void take_step(void *args, uint32_t block, uint32_t blocks)
{
    (void)block;
    (void)blocks;
    const struct step *step = args;
    *step->state = *step->state * 31 + step->step;
}

enum { STREAMS = 8, STEPS = 400 };

struct chain {
    aclrtFuncHandle function;
    aclrtStream stream;
    uint64_t state;
    uint64_t expected;
};

static void host_step(void *arg)
{
    take_step(arg, 0, 1);
}

static void *run_chain(void *arg)
{
    struct chain *chain = arg;
    static const uint64_t host_number = 1000003;
    struct step host = { &chain->state, host_number };
    WORKS(aclrtSetDevice(0));
    WORKS(aclrtCreateStream(&chain->stream));
    for (uint64_t i = 0; i < STEPS; i++) {
        struct step step = { &chain->state, i };
        WORKS(aclrtLaunchKernel(chain->function, 1, &step, sizeof(step), chain->stream));
        chain->expected = chain->expected * 31 + i;
        if (i % 16 == 5) { // the two crews of a device take turns
            WORKS(aclrtLaunchHostFunc(chain->stream, host_step, &host));
            chain->expected = chain->expected * 31 + host_number;
        }
        if (i % 100 == 99) {
            WORKS(aclrtSynchronizeStream(chain->stream));
        }
    }
    WORKS(aclrtSynchronizeStream(chain->stream));
    WORKS(aclrtDestroyStream(chain->stream));
    return NULL;
}

Test(kernel_launch, streams_keep_their_order)
{
    struct chain chain[STREAMS] = { { 0 } };
    pthread_t thread[STREAMS];
    aclrtFuncHandle function = NULL;
    WORKS(reprise_kernel_register("take_step", take_step, &function));
    for (int i = 0; i < STREAMS; i++) {
        chain[i].function = function;
        chain[i].state = chain[i].expected = (uint64_t)i;
        pthread_create(&thread[i], NULL, run_chain, &chain[i]);
    }
    for (int i = 0; i < STREAMS; i++) {
        pthread_join(thread[i], NULL);
        cr_expect(eq(u64, chain[i].state, chain[i].expected));
    }
}

struct sight {
    char name[16];
    pthread_t thread;
    bool deaf;
};

static void look_around(void *args, uint32_t block, uint32_t blocks)
{
    (void)block;
    (void)blocks;
    struct sight *sight = *(struct sight **)args;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    sight->deaf = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGUSR1) == 1;
    sight->thread = pthread_self();
    pthread_getname_np(pthread_self(), sight->name, sizeof(sight->name));
}

static void wait_by_asking(aclrtStream stream)
{
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    while (status != ACL_STREAM_STATUS_COMPLETE) {
        WORKS(aclrtStreamQuery(stream, &status));
        usleep(1000);
    }
}

static int count_cores(void)
{
    DIR *folder = opendir("/proc/self/task");
    struct dirent *entry;
    int count = 0;
    while ((entry = readdir(folder)) != NULL) {
        char path[300];
        char name[32] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file != NULL) {
            count += fgets(name, sizeof(name), file) != NULL && strncmp(name, "rp-core", 7) == 0;
            fclose(file);
        }
    }
    closedir(folder);
    return count;
}

Test(kernel_launch, runs_on_a_core_that_comes_and_goes_with_the_device)
{
    aclrtFuncHandle function = NULL;
    struct sight sight[2] = { { .name = "" } };
    WORKS(reprise_kernel_register("look_around", look_around, &function));
    cr_expect(eq(int, count_cores(), 0));
    for (int i = 0; i < 2; i++) {
        struct sight *arg = &sight[i];
        WORKS(aclrtLaunchKernel(function, 1, &arg, sizeof(arg), NULL));
        wait_by_asking(NULL);
        cr_expect(eq(str, sight[i].name, "rp-core-0"));
        cr_expect(sight[i].deaf);
    }
    cr_expect(pthread_equal(sight[0].thread, sight[1].thread));
    cr_expect(eq(int, count_cores(), 1));
    WORKS(aclrtResetDevice(0));
    cr_expect(eq(int, count_cores(), 0));
    WORKS(aclrtSetDevice(0));
    struct sight *arg = &sight[0];
    WORKS(aclrtLaunchKernel(function, 1, &arg, sizeof(arg), NULL));
    WORKS(aclrtSynchronizeStream(NULL));
}

static void hold(void *args, uint32_t block, uint32_t blocks)
{
    (void)block;
    (void)blocks;
    gate_wait(*(void **)args);
}

static void count_call(void *arg)
{
    atomic_fetch_add((_Atomic int *)arg, 1);
}

// A kernel that stays busy holds up its own stream, and host functions of others go on.
Test(kernel_launch, host_functions_do_not_wait_for_kernels)
{
    struct gate gate;
    _Atomic int called = 0;
    aclrtStream other = NULL;
    gate_init(&gate);
    struct gate *arg = &gate;
    aclrtFuncHandle function = NULL;
    WORKS(reprise_kernel_register("hold", hold, &function));
    WORKS(aclrtCreateStream(&other));
    WORKS(aclrtLaunchKernel(function, 1, &arg, sizeof(arg), NULL));
    WORKS(aclrtLaunchHostFunc(other, count_call, &called));
    while (atomic_load(&called) == 0) {
        aclrtStreamStatus status;
        WORKS(aclrtStreamQuery(other, &status));
    }
    gate_open(&gate);
    WORKS(aclrtSynchronizeStream(NULL));
    WORKS(aclrtSynchronizeStream(other));
    WORKS(aclrtDestroyStream(other));
}

// ---- what a kernel may not do ----

struct answers {
    aclrtStream stream;
    int synchronize_stream;
    int synchronize_device;
    char sentence[200];
};

static void call_what_waits(void *args, uint32_t block, uint32_t blocks)
{
    (void)block;
    (void)blocks;
    struct answers *answers = *(struct answers **)args;
    (void)aclrtSetDevice(0);
    answers->synchronize_stream = aclrtSynchronizeStream(answers->stream);
    const char *text = aclGetRecentErrMsg();
    strncpy(answers->sentence, text == NULL ? "" : text, sizeof(answers->sentence) - 1);
    answers->synchronize_device = aclrtSynchronizeDevice();
}

Test(kernel_launch, a_kernel_may_not_wait_for_its_device)
{
    aclrtFuncHandle function = NULL;
    struct answers answers = { 0 };
    struct answers *arg = &answers;
    WORKS(reprise_kernel_register("call_what_waits", call_what_waits, &function));
    for (int by_asking = 0; by_asking < 2; by_asking++) {
        answers.synchronize_stream = answers.synchronize_device = 0;
        WORKS(aclrtLaunchKernel(function, 1, &arg, sizeof(arg), NULL));
        if (by_asking) {
            wait_by_asking(NULL);
        } else {
            WORKS(aclrtSynchronizeStream(NULL));
        }
        cr_expect(eq(int, answers.synchronize_stream, ACL_ERROR_RT_NO_PERMISSION));
        cr_expect(eq(int, answers.synchronize_device, ACL_ERROR_RT_NO_PERMISSION));
        cr_expect(ne(ptr, strstr(answers.sentence, "kernel"), NULL), "%s", answers.sentence);
    }
}

Test(kernel_launch, a_binarys_kernel_may_not_wait_either)
{
    struct {
        int (*call)(void *);
        void *arg;
        int *answer;
    } args;
    int answer = 0;
    aclrtBinHandle binary = load_module();
    args.call = aclrtSynchronizeStream;
    args.arg = NULL;
    args.answer = &answer;
    WORKS(aclrtLaunchKernel(get_kernel(binary, "module_call"), 1, &args, sizeof(args), NULL));
    WORKS(aclrtSynchronizeStream(NULL));
    // On a core there is no context, on the waiting thread there is one; neither waits.
    cr_expect(answer == ACL_ERROR_RT_NO_PERMISSION || answer == ACL_ERROR_RT_CONTEXT_NULL);
    WORKS(aclrtBinaryUnLoad(binary));
}
