#ifndef TRAIN_DIGITS_MODEL_H
#define TRAIN_DIGITS_MODEL_H

#include "data.h"

#define HIDDEN 32
#define BATCH 16 /* images a rank and step */
#define TENSORS 4

/* The parameter tensors: weights and biases of the two layers. */
enum { W1, B1, W2, B2 };
extern const int tensor_count[TENSORS]; /* floats in each */

/*
 * One rank's copy of the network: 64 inputs, HIDDEN rectified units, 10 classes,
 * softmax and cross entropy. `grad` points into device memory, since the
 * gradients are what the ranks all-reduce.
 */
struct model {
    const struct digits *digits;
    int rank, ranks;
    int step;    /* steps finished; selects the batch */
    double loss; /* sum over this epoch's batches, this rank's share */
    float *param[TENSORS];
    float *grad[TENSORS];
};

/** model_init: the same start on every rank, whatever the mode. */
void model_init(struct model *model);

/** model_gradients: forward and backward over this rank's next batch; writes grad, adds to loss. */
void model_gradients(struct model *model);

/** model_update: one step of gradient descent with the summed gradients of all ranks. */
void model_update(struct model *model);

/** model_accuracy: share of the test images that are classified right. */
double model_accuracy(const struct model *model);

/** model_steps_per_epoch: batches until every training image was seen about once. */
int model_steps_per_epoch(int ranks);

#endif
