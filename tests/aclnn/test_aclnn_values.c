// What the two operators compute, and fp16. What is expected is computed here, element by element,
// in double or 64-bit integers, from coordinates.

#include <aclnnop/aclnn_add.h>
#include <aclnnop/aclnn_mul.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aclnn/nn_half.h"
#include "support/aclnn_case.h"

TestSuite(aclnn, .init = on_device, .timeout = 60);

// ---- fp16 ----

// By the definition of the format.
static double half_value(uint16_t half)
{
    const int exponent = half >> 10 & 31;
    const double fraction = (half & 1023) / 1024.0;
    const double sign = half >> 15 ? -1 : 1;
    if (exponent == 31) {
        return fraction == 0 ? sign * INFINITY : NAN;
    }
    return sign * (exponent == 0 ? ldexp(fraction, -14) : ldexp(1 + fraction, exponent - 15));
}

Test(aclnn, every_half_is_exact_in_fp32_and_comes_back)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        const float value = nn_half_to_float((uint16_t)bits);
        const double expected = half_value((uint16_t)bits);
        if (isnan(expected)) {
            cr_assert(ne(int, isnan(value), 0));
            cr_assert(gt(int, nn_float_to_half(value) & 0x7fff, 0x7c00));
            continue;
        }
        cr_assert(eq(dbl, (double)value, expected), "0x%x", bits);
        cr_assert(eq(int, !signbit(value), !signbit(expected)), "0x%x", bits);
        cr_assert(eq(u16, nn_float_to_half(value), (uint16_t)bits));
    }
}

Test(aclnn, fp32_becomes_the_nearest_half)
{
    // Around the middle between each two neighbours: below, the tie, and above.
    for (uint32_t bits = 0; bits < 0x7bff; bits++) {
        const double low = half_value((uint16_t)bits);
        const double high = half_value((uint16_t)(bits + 1));
        const float middle = (float)((low + high) / 2); // exact
        const uint16_t even = (uint16_t)(bits % 2 == 0 ? bits : bits + 1);
        cr_assert(eq(u16, nn_float_to_half(middle), even));
        cr_assert(eq(u16, nn_float_to_half(nextafterf(middle, 0)), (uint16_t)bits));
        cr_assert(eq(u16, nn_float_to_half(nextafterf(middle, 1e9f)), (uint16_t)(bits + 1)));
        cr_assert(eq(u16, nn_float_to_half(-middle), (uint16_t)(even | 0x8000)));
    }
    cr_expect(eq(u16, nn_float_to_half(65519.99f), 0x7bff));
    cr_expect(eq(u16, nn_float_to_half(65520.f), 0x7c00));
    cr_expect(eq(u16, nn_float_to_half(3e38f), 0x7c00));
    cr_expect(eq(u16, nn_float_to_half(-INFINITY), 0xfc00));
    cr_expect(eq(u16, nn_float_to_half(1e-30f), 0));
}

// ---- a tensor of a test, and its oracle ----

struct view {
    uint64_t dims;
    int64_t shape[8];
    int64_t stride[8];
    int64_t offset;
    aclDataType type;
    void *data;
    size_t elements; // of the storage
};

static size_t size_of(aclDataType type)
{
    return type == ACL_FLOAT16 ? 2 : 4;
}

static void store(const struct view *view, size_t at, double value)
{
    if (view->type == ACL_FLOAT) {
        ((float *)view->data)[at] = (float)value;
    } else if (view->type == ACL_FLOAT16) {
        ((uint16_t *)view->data)[at] = nn_float_to_half((float)value);
    } else {
        ((int32_t *)view->data)[at] = (int32_t)value;
    }
}

static double load(const struct view *view, size_t at)
{
    return view->type == ACL_FLOAT     ? (double)((float *)view->data)[at]
           : view->type == ACL_FLOAT16 ? half_value(((uint16_t *)view->data)[at])
                                       : (double)((int32_t *)view->data)[at];
}

// Random strides: dimensions in any order, with gaps, or 0 where `repeats` allows it.
static void lay_out(struct view *view, unsigned *seed, bool repeats)
{
    int order[8];
    for (int i = 0; i < (int)view->dims; i++) {
        const int at = rand_r(seed) % (i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    int64_t step = 1;
    for (int i = (int)view->dims - 1; i >= 0; i--) {
        if (repeats && rand_r(seed) % 5 == 0) {
            view->stride[order[i]] = 0;
            continue;
        }
        view->stride[order[i]] = step;
        step *= view->shape[order[i]] == 0 ? 1 : view->shape[order[i]];
        step += rand_r(seed) % 3 == 0 ? rand_r(seed) % 3 : 0;
    }
    view->offset = rand_r(seed) % 4;
    view->elements = (size_t)(step + view->offset + 1);
    view->data = device_memory(view->elements * size_of(view->type));
    for (size_t i = 0; i < view->elements; i++) {
        // Integers also of more than the 11 bits that fp16 has.
        const int value = rand_r(seed) % 401 - 200;
        store(view, i, view->type == ACL_INT32 ? value * 37 : value + 0.25);
    }
}

static aclTensor *tensor_of(const struct view *view)
{
    const int64_t storage = (int64_t)view->elements;
    aclTensor *tensor = aclCreateTensor(view->shape, view->dims, view->type, view->stride,
            view->offset, ACL_FORMAT_ND, &storage, 1, view->data);
    cr_assert(ne(ptr, tensor, NULL));
    return tensor;
}

// Where the element of `view` is that belongs to `index` of the output.
static size_t element(const struct view *view, const struct view *out, const int64_t *index)
{
    int64_t at = view->offset;
    for (uint64_t i = 0; i < view->dims; i++) {
        const int64_t of_out = index[out->dims - view->dims + i];
        at += (view->shape[i] == 1 ? 0 : of_out) * view->stride[i];
    }
    return (size_t)at;
}

static float as_half(float value)
{
    return nn_half_to_float(nn_float_to_half(value));
}

// self + alpha * other or self * other in the promoted type, as the documents have it.
static double expect_one(bool add, double self, double other, double alpha, aclDataType type)
{
    if (type == ACL_INT32) {
        return (double)(int32_t)(uint32_t)(int64_t)(add ? self + alpha * other : self * other);
    }
    if (type == ACL_FLOAT16) {
        self = (double)as_half((float)self);
        other = (double)as_half((float)other);
        alpha = (double)as_half((float)alpha);
    }
    const float product = (float)((add ? (double)(float)alpha : self) * (double)(float)other);
    float result = add ? (float)(double)((float)self + product) : product;
    if (type == ACL_FLOAT16) {
        result = as_half(result);
    }
    return (double)result;
}

static aclDataType promoted(aclDataType a, aclDataType b)
{
    static const aclDataType order[] = { ACL_FLOAT, ACL_FLOAT16, ACL_INT32 };
    for (int i = 0; i < 3; i++) {
        if (a == order[i] || b == order[i]) {
            return order[i];
        }
    }
    return ACL_FLOAT;
}

static void run_and_check(bool add, const struct view *self, const struct view *other,
        const struct view *out, double alpha, aclrtStream stream)
{
    aclTensor *tensor[] = { tensor_of(self), tensor_of(other), tensor_of(out) };
    float alpha_float = (float)alpha;
    int32_t alpha_int = (int32_t)alpha;
    const aclDataType type = promoted(self->type, other->type);
    aclScalar *scalar = type == ACL_INT32 ? aclCreateScalar(&alpha_int, ACL_INT32)
                                          : aclCreateScalar(&alpha_float, ACL_FLOAT);
    uint64_t bytes = 99;
    aclOpExecutor *executor = NULL;
    if (add) {
        WORKS(aclnnAddGetWorkspaceSize(tensor[0], tensor[1], scalar, tensor[2], &bytes, &executor));
    } else {
        WORKS(aclnnMulGetWorkspaceSize(tensor[0], tensor[1], tensor[2], &bytes, &executor));
    }
    cr_assert(eq(u64, bytes, 0));
    double *before = malloc(out->elements * sizeof(*before));
    for (size_t i = 0; i < out->elements; i++) {
        before[i] = load(out, i);
    }
    // What describes the call may go before it runs.
    for (int i = 0; i < 3; i++) {
        WORKS(aclDestroyTensor(tensor[i]));
    }
    WORKS(aclDestroyScalar(scalar));
    WORKS((add ? aclnnAdd : aclnnMul)(NULL, 0, executor, stream));
    WORKS(aclrtSynchronizeStream(stream));

    int64_t index[8] = { 0 };
    uint64_t count = 1;
    for (uint64_t i = 0; i < out->dims; i++) {
        count *= (uint64_t)out->shape[i];
    }
    for (uint64_t n = 0; n < count; n++) {
        uint64_t rest = n;
        for (uint64_t i = out->dims; i-- > 0;) {
            index[i] = (int64_t)(rest % (uint64_t)out->shape[i]);
            rest /= (uint64_t)out->shape[i];
        }
        double expected = expect_one(add, load(self, element(self, out, index)),
                load(other, element(other, out, index)), alpha, type);
        if (out->type == ACL_FLOAT16) {
            expected = (double)as_half((float)expected);
        } else if (out->type == ACL_FLOAT) {
            expected = (double)(float)expected;
        }
        const size_t at = element(out, out, index);
        cr_assert(load(out, at) == expected, "element %zu is %g, not %g", at, load(out, at),
                expected);
        before[at] = load(out, at);
    }
    for (size_t i = 0; i < out->elements; i++) { // gaps are left alone
        cr_assert(load(out, i) == before[i]);
    }
    free(before);
}

Test(aclnn, random_shapes_strides_and_types)
{
    static const aclDataType types[] = { ACL_FLOAT, ACL_FLOAT16, ACL_INT32 };
    static const double alphas[] = { 1, -2, 3, 0 };
    aclrtStream stream = NULL;
    WORKS(aclrtCreateStream(&stream));
    for (unsigned round = 0; round < 400; round++) {
        unsigned seed = round * 7919 + 1;
        struct view self = { 0 };
        struct view other = { 0 };
        struct view out = { 0 };
        out.dims = (uint64_t)rand_r(&seed) % 5 + (round % 50 == 0 ? 4 : 0);
        self.dims = rand_r(&seed) % 3 == 0 ? (uint64_t)rand_r(&seed) % (out.dims + 1) : out.dims;
        other.dims = self.dims == out.dims ? (uint64_t)rand_r(&seed) % (out.dims + 1) : out.dims;
        for (uint64_t i = 0; i < out.dims; i++) {
            out.shape[i] = rand_r(&seed) % (out.dims > 4 ? 3 : 6) + 1;
        }
        // An operand has the output's size or 1, but not both 1 where the output has more.
        for (uint64_t back = 1; back <= out.dims; back++) {
            const int64_t size = out.shape[out.dims - back];
            const int which = rand_r(&seed) % 4;
            const bool only_self = back > other.dims;
            const bool only_other = back > self.dims;
            if (!only_other) {
                self.shape[self.dims - back] = which == 0 && !only_self ? 1 : size;
            }
            if (!only_self) {
                other.shape[other.dims - back] = which == 1 && !only_other ? 1 : size;
            }
        }
        self.type = types[rand_r(&seed) % 3];
        other.type = types[rand_r(&seed) % 3];
        out.type = promoted(self.type, other.type) == ACL_INT32 ? types[rand_r(&seed) % 3]
                                                                : types[rand_r(&seed) % 2];
        lay_out(&self, &seed, true);
        lay_out(&other, &seed, true);
        lay_out(&out, &seed, false);
        run_and_check(round % 2 == 0, &self, &other, &out, alphas[round / 2 % 4], stream);
        WORKS(aclrtFree(self.data));
        WORKS(aclrtFree(other.data));
        WORKS(aclrtFree(out.data));
    }
    WORKS(aclrtDestroyStream(stream));
}

Test(aclnn, large_tensors_run_in_several_blocks)
{
    static const aclDataType types[] = { ACL_FLOAT, ACL_FLOAT16, ACL_INT32 };
    for (int i = 0; i < 3; i++) {
        struct view view[3];
        for (int v = 0; v < 3; v++) {
            view[v] = (struct view){ .dims = 2,
                .shape = { 100, 1003 },
                .stride = { 1003, 1 },
                .type = types[i],
                .elements = 100300 };
            view[v].data = device_memory(view[v].elements * size_of(types[i]));
            for (size_t n = 0; n < view[v].elements; n++) {
                store(&view[v], n, (double)(n * (unsigned)(v + 3) % 1009));
            }
        }
        run_and_check(true, &view[0], &view[1], &view[2], 1, NULL);
        run_and_check(false, &view[0], &view[1], &view[2], 1, NULL);
    }
}

// In place, an element that two blocks compute shows.
Test(aclnn, blocks_do_not_overlap)
{
    const int64_t count = 101303;
    int32_t *x = device_memory((size_t)count * sizeof(*x));
    int32_t *one = device_memory(sizeof(*one));
    int64_t single = 1;
    *one = 1;
    aclTensor *tx = aclCreateTensor(&count, 1, ACL_INT32, NULL, 0, ACL_FORMAT_ND, &count, 1, x);
    aclTensor *t1 = aclCreateTensor(&single, 1, ACL_INT32, NULL, 0, ACL_FORMAT_ND, &single, 1, one);
    aclScalar *alpha = aclCreateScalar(one, ACL_INT32);
    uint64_t bytes;
    aclOpExecutor *executor = NULL;
    WORKS(aclnnInplaceAddGetWorkspaceSize(tx, t1, alpha, &bytes, &executor));
    WORKS(aclnnInplaceAdd(NULL, 0, executor, NULL));
    WORKS(aclrtSynchronizeStream(NULL));
    for (int64_t i = 0; i < count; i++) {
        cr_assert(eq(i32, x[i], 1));
    }
    aclDestroyScalar(alpha);
    aclDestroyTensor(tx);
    aclDestroyTensor(t1);
}

// ---- at the ends of a type ----

Test(aclnn, integers_wrap)
{
    int64_t count = 3;
    int32_t *x = device_memory(12);
    int32_t *y = device_memory(12);
    aclTensor *tx = aclCreateTensor(&count, 1, ACL_INT32, NULL, 0, ACL_FORMAT_ND, &count, 1, x);
    aclTensor *ty = aclCreateTensor(&count, 1, ACL_INT32, NULL, 0, ACL_FORMAT_ND, &count, 1, y);
    x[0] = INT32_MAX;
    x[1] = INT32_MIN;
    x[2] = 65536;
    y[0] = 1;
    y[1] = 1;
    y[2] = 65537;
    uint64_t bytes;
    aclOpExecutor *executor = NULL;
    int64_t alpha = 1;
    aclScalar *one = aclCreateScalar(&alpha, ACL_INT64);
    WORKS(aclnnInplaceAddGetWorkspaceSize(tx, ty, one, &bytes, &executor));
    WORKS(aclnnInplaceAdd(NULL, 0, executor, NULL));
    WORKS(aclnnInplaceMulGetWorkspaceSize(ty, ty, &bytes, &executor));
    WORKS(aclnnInplaceMul(NULL, 0, executor, NULL));
    WORKS(aclrtSynchronizeStream(NULL));
    cr_expect(eq(i32, x[0], INT32_MIN));
    cr_expect(eq(i32, x[1], INT32_MIN + 1));
    cr_expect(eq(i32, x[2], 131073));
    cr_expect(eq(i32, y[2], 131073)); // (2^16 + 1)^2 modulo 2^32
    aclDestroyScalar(one);
    aclDestroyTensor(tx);
    aclDestroyTensor(ty);
}

Test(aclnn, halves_overflow_to_infinity_and_keep_nans)
{
    int64_t count = 4;
    uint16_t *x = device_memory(8);
    uint16_t *y = device_memory(8);
    const uint16_t x_bits[] = { 0x7bff, 0xfbff, 0x7e00, 0x0001 };
    const uint16_t y_bits[] = { 0x7bff, 0x7bff, 0x3c00, 0x0001 };
    memcpy(x, x_bits, 8);
    memcpy(y, y_bits, 8);
    aclTensor *tx = aclCreateTensor(&count, 1, ACL_FLOAT16, NULL, 0, ACL_FORMAT_ND, &count, 1, x);
    aclTensor *ty = aclCreateTensor(&count, 1, ACL_FLOAT16, NULL, 0, ACL_FORMAT_ND, &count, 1, y);
    float alpha = 1;
    aclScalar *one = aclCreateScalar(&alpha, ACL_FLOAT);
    uint64_t bytes;
    aclOpExecutor *executor = NULL;
    WORKS(aclnnInplaceAddGetWorkspaceSize(tx, ty, one, &bytes, &executor));
    WORKS(aclnnInplaceAdd(NULL, 0, executor, NULL));
    WORKS(aclrtSynchronizeStream(NULL));
    cr_expect(eq(u16, x[0], 0x7c00));
    cr_expect(eq(u16, x[1], 0));
    cr_expect(gt(u16, (uint16_t)(x[2] & 0x7fff), 0x7c00));
    cr_expect(eq(u16, x[3], 0x0002));
    aclDestroyScalar(one);
    aclDestroyTensor(tx);
    aclDestroyTensor(ty);
}
