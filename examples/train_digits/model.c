#include "model.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

const int tensor_count[TENSORS] = { IMAGE_PIXELS * HIDDEN, HIDDEN, HIDDEN *CLASSES, CLASSES };
static const float learning_rate = 0.8f;

struct activations {
    float hidden[HIDDEN];
    float prob[CLASSES];
};

void model_init(struct model *model)
{
    // A small fixed generator: every rank and both modes start from equal bits.
    uint32_t state = 12345;
    for (int t = 0; t < TENSORS; t++) {
        const float scale = t == W1 ? 0.2f : 0.3f;
        for (int i = 0; i < tensor_count[t]; i++) {
            state = state * 1664525u + 1013904223u;
            const float unit = (float)(state >> 8) / (float)(1u << 24) - 0.5f;
            model->param[t][i] = t == B1 || t == B2 ? 0.0f : scale * unit;
        }
    }
    model->step = 0;
    model->loss = 0.0;
}

int model_steps_per_epoch(int ranks)
{
    const int steps = TRAIN_ROWS / (BATCH * ranks);
    return steps > 0 ? steps : 1;
}

static void forward(const struct model *model, const float *image, struct activations *out)
{
    for (int h = 0; h < HIDDEN; h++) {
        out->hidden[h] = model->param[B1][h];
    }
    for (int p = 0; p < IMAGE_PIXELS; p++) {
        const float *row = model->param[W1] + p * HIDDEN;
        for (int h = 0; h < HIDDEN; h++) {
            out->hidden[h] += image[p] * row[h];
        }
    }
    float logit[CLASSES];
    memcpy(logit, model->param[B2], sizeof logit);
    for (int h = 0; h < HIDDEN; h++) {
        out->hidden[h] = out->hidden[h] > 0.0f ? out->hidden[h] : 0.0f;
        for (int c = 0; c < CLASSES; c++) {
            logit[c] += out->hidden[h] * model->param[W2][h * CLASSES + c];
        }
    }
    float largest = logit[0];
    for (int c = 1; c < CLASSES; c++) {
        largest = logit[c] > largest ? logit[c] : largest;
    }
    float sum = 0.0f;
    for (int c = 0; c < CLASSES; c++) {
        out->prob[c] = expf(logit[c] - largest);
        sum += out->prob[c];
    }
    for (int c = 0; c < CLASSES; c++) {
        out->prob[c] /= sum;
    }
}

static void backward(
        struct model *model, const float *image, const struct activations *act, int label)
{
    float delta[CLASSES];
    for (int c = 0; c < CLASSES; c++) {
        delta[c] = act->prob[c] - (c == label ? 1.0f : 0.0f);
        model->grad[B2][c] += delta[c];
    }
    float hidden_delta[HIDDEN];
    for (int h = 0; h < HIDDEN; h++) {
        float back = 0.0f;
        for (int c = 0; c < CLASSES; c++) {
            model->grad[W2][h * CLASSES + c] += act->hidden[h] * delta[c];
            back += model->param[W2][h * CLASSES + c] * delta[c];
        }
        hidden_delta[h] = act->hidden[h] > 0.0f ? back : 0.0f;
        model->grad[B1][h] += hidden_delta[h];
    }
    for (int p = 0; p < IMAGE_PIXELS; p++) {
        float *row = model->grad[W1] + p * HIDDEN;
        for (int h = 0; h < HIDDEN; h++) {
            row[h] += image[p] * hidden_delta[h];
        }
    }
}

void model_gradients(struct model *model)
{
    for (int t = 0; t < TENSORS; t++) {
        memset(model->grad[t], 0, sizeof(float) * (size_t)tensor_count[t]);
    }
    // Consecutive batches of all ranks tile the training set, in an order that a stride
    // prime to its size mixes: the table is sorted by writer, and order would teach.
    const long first = ((long)model->step * model->ranks + model->rank) * BATCH;
    for (int b = 0; b < BATCH; b++) {
        const long row = (first + b) * 487 % TRAIN_ROWS;
        const float *image = model->digits->image[row];
        const int label = model->digits->label[row];
        struct activations act;
        forward(model, image, &act);
        backward(model, image, &act, label);
        model->loss -= log((double)act.prob[label] + 1e-12);
    }
}

void model_update(struct model *model)
{
    const float rate = learning_rate / (float)(BATCH * model->ranks);
    for (int t = 0; t < TENSORS; t++) {
        for (int i = 0; i < tensor_count[t]; i++) {
            model->param[t][i] -= rate * model->grad[t][i];
        }
    }
    model->step++;
}

double model_accuracy(const struct model *model)
{
    int right = 0;
    for (int row = TRAIN_ROWS; row < model->digits->rows; row++) {
        struct activations act;
        forward(model, model->digits->image[row], &act);
        int best = 0;
        for (int c = 1; c < CLASSES; c++) {
            best = act.prob[c] > act.prob[best] ? c : best;
        }
        right += best == model->digits->label[row];
    }
    return (double)right / (model->digits->rows - TRAIN_ROWS);
}
