#ifndef TRAIN_DIGITS_TRAINER_H
#define TRAIN_DIGITS_TRAINER_H

#include <acl/acl.h>
#include <hccl/hccl.h>

#include "model.h"

#define MAX_STEPS 4096

/*
 * A training run in one mode: a model, its gradient buffers on the device and
 * its measurements. Both modes put exactly the same tasks on the same stream:
 * gradients (host function), one all-reduce a tensor, update (host function).
 */
struct trainer {
    struct model model;
    HcclComm comm;
    aclrtStream stream;
    aclmdlRI graph; /* graph mode: the captured step; NULL: eager */
    int captured;
    int steps;
    double backward_done;        /* seconds; written by the host functions of the running step */
    double step_us[MAX_STEPS];   /* launch to synchronised */
    double comm_us[MAX_STEPS];   /* gradients ready to update begun */
    double launch_us[MAX_STEPS]; /* host time of the launch calls */
};

/** trainer_open: buffers and start weights; with `capture`, captures one step (nothing runs yet).
 */
int trainer_open(struct trainer *trainer, const struct digits *digits, int rank, int ranks,
        HcclComm comm, aclrtStream stream, int capture);

/** trainer_step: one training step, synchronised. */
int trainer_step(struct trainer *trainer);

/** trainer_close: frees graph and buffers. */
void trainer_close(struct trainer *trainer);

/** seconds_now: monotonic time in seconds. */
double seconds_now(void);

/** failed: prints `what` with the code and the runtime's sentence; returns -1. */
int failed(const char *what, int code);

#endif
