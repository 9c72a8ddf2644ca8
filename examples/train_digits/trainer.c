#include "trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int failed(const char *what, int code)
{
    const char *why = aclGetRecentErrMsg(); // a line each, newest first
    fprintf(stderr, "train_digits: %s failed with %d: %s", what, code, why ? why : "no message\n");
    return -1;
}

static void run_gradients(void *arg)
{
    struct trainer *trainer = arg;
    model_gradients(&trainer->model);
    trainer->backward_done = seconds_now();
}

static void run_update(void *arg)
{
    struct trainer *trainer = arg;
    trainer->comm_us[trainer->steps] = 1e6 * (seconds_now() - trainer->backward_done);
    model_update(&trainer->model);
}

/* The step as a user writes it. Eager it runs, on a capturing stream it is recorded. */
static int launch_step(struct trainer *trainer)
{
    aclError err = aclrtLaunchHostFunc(trainer->stream, run_gradients, trainer);
    if (err != ACL_SUCCESS) {
        return failed("aclrtLaunchHostFunc", err);
    }
    for (int t = 0; t < TENSORS; t++) {
        float *grad = trainer->model.grad[t];
        const HcclResult res = HcclAllReduce(grad, grad, (uint64_t)tensor_count[t],
                HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, trainer->comm, trainer->stream);
        if (res != HCCL_SUCCESS) {
            return failed("HcclAllReduce", (int)res);
        }
    }
    err = aclrtLaunchHostFunc(trainer->stream, run_update, trainer);
    return err == ACL_SUCCESS ? 0 : failed("aclrtLaunchHostFunc", err);
}

static int capture_step(struct trainer *trainer)
{
    aclError err = aclmdlRICaptureBegin(trainer->stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL);
    if (err != ACL_SUCCESS) {
        return failed("aclmdlRICaptureBegin", err);
    }
    const int launched = launch_step(trainer);
    err = aclmdlRICaptureEnd(trainer->stream, &trainer->graph);
    if (launched != 0) {
        return launched;
    }
    return err == ACL_SUCCESS ? 0 : failed("aclmdlRICaptureEnd", err);
}

int trainer_open(struct trainer *trainer, const struct digits *digits, int rank, int ranks,
        HcclComm comm, aclrtStream stream, int capture)
{
    trainer->model.digits = digits;
    trainer->model.rank = rank;
    trainer->model.ranks = ranks;
    trainer->comm = comm;
    trainer->stream = stream;
    trainer->captured = capture;
    for (int t = 0; t < TENSORS; t++) {
        const size_t bytes = sizeof(float) * (size_t)tensor_count[t];
        void *grad = NULL;
        const aclError err = aclrtMalloc(&grad, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
        trainer->model.param[t] = malloc(bytes);
        if (err != ACL_SUCCESS || trainer->model.param[t] == NULL) {
            return failed("aclrtMalloc", err);
        }
        trainer->model.grad[t] = grad;
    }
    model_init(&trainer->model);
    return capture ? capture_step(trainer) : 0;
}

int trainer_step(struct trainer *trainer)
{
    const double begin = seconds_now();
    if (trainer->captured) {
        const aclError err = aclmdlRIExecuteAsync(trainer->graph, trainer->stream);
        if (err != ACL_SUCCESS) {
            return failed("aclmdlRIExecuteAsync", err);
        }
    } else if (launch_step(trainer) != 0) {
        return -1;
    }
    const double launched = seconds_now();
    const aclError err = aclrtSynchronizeStream(trainer->stream);
    if (err != ACL_SUCCESS) {
        return failed("aclrtSynchronizeStream", err);
    }
    trainer->step_us[trainer->steps] = 1e6 * (seconds_now() - begin);
    trainer->launch_us[trainer->steps] = 1e6 * (launched - begin);
    trainer->steps++;
    return 0;
}

void trainer_close(struct trainer *trainer)
{
    if (trainer->graph != NULL) {
        aclmdlRIDestroy(trainer->graph);
    }
    for (int t = 0; t < TENSORS; t++) {
        if (trainer->model.grad[t] != NULL) {
            aclrtFree(trainer->model.grad[t]);
        }
        free(trainer->model.param[t]);
    }
}
