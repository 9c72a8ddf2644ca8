// The kernels. A block takes a consecutive part of the output's elements, in pieces that lie in one
// row: they are read into arrays of the type that is computed with, computed, and written.
//
// fp16 is computed in fp32 and rounded once: for one operation of two fp16 numbers that gives what
// fp16 arithmetic would.

#include <pthread.h>
#include <reprise/kernel.h>
#include <stddef.h>

#include "aclnn/nn_half.h"
#include "aclnn/opapi_pointwise.h"

#define PIECE 256 // elements

static void read_floats(
        float *to, const struct pw_operand *from, int64_t at, int64_t stride, size_t count)
{
    switch (from->type) {
    case ACL_FLOAT: {
        const float *x = (const float *)from->first + at;
        for (size_t i = 0; i < count; i++) {
            to[i] = x[(int64_t)i * stride];
        }
        break;
    }
    case ACL_FLOAT16: {
        const uint16_t *x = (const uint16_t *)from->first + at;
        for (size_t i = 0; i < count; i++) {
            to[i] = nn_half_to_float(x[(int64_t)i * stride]);
        }
        break;
    }
    default: {
        const int32_t *x = (const int32_t *)from->first + at;
        for (size_t i = 0; i < count; i++) {
            to[i] = (float)x[(int64_t)i * stride];
        }
        break;
    }
    }
}

// An operand of another type becomes fp16 before it is computed with.
static void round_to_half(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = nn_half_to_float(nn_float_to_half(values[i]));
    }
}

static void write_floats(
        const struct pw_operand *to, int64_t at, int64_t stride, const float *from, size_t count)
{
    if (to->type == ACL_FLOAT) {
        float *x = (float *)to->first + at;
        for (size_t i = 0; i < count; i++) {
            x[(int64_t)i * stride] = from[i];
        }
    } else {
        uint16_t *x = (uint16_t *)to->first + at;
        for (size_t i = 0; i < count; i++) {
            x[(int64_t)i * stride] = nn_float_to_half(from[i]);
        }
    }
}

static void read_ints(
        uint32_t *to, const struct pw_operand *from, int64_t at, int64_t stride, size_t count)
{
    const int32_t *x = (const int32_t *)from->first + at;
    for (size_t i = 0; i < count; i++) {
        to[i] = (uint32_t)x[(int64_t)i * stride];
    }
}

static void write_ints(
        const struct pw_operand *to, int64_t at, int64_t stride, const uint32_t *from, size_t count)
{
    if (to->type == ACL_INT32) {
        int32_t *x = (int32_t *)to->first + at;
        for (size_t i = 0; i < count; i++) {
            x[(int64_t)i * stride] = (int32_t)from[i];
        }
        return;
    }
    float values[PIECE];
    for (size_t i = 0; i < count; i++) {
        values[i] = (float)(int32_t)from[i];
    }
    write_floats(to, at, stride, values, count);
}

// Elements to the first of a piece, and in the row.
struct piece {
    int64_t self, other, out;
    size_t count;
};

static void compute_floats(const struct pw_args *a, enum pw_op op, const struct piece *piece)
{
    float x[PIECE];
    float y[PIECE];
    const uint32_t inner = a->dims - 1;
    read_floats(x, &a->self, piece->self, a->self.stride[inner], piece->count);
    read_floats(y, &a->other, piece->other, a->other.stride[inner], piece->count);
    if (a->type == ACL_FLOAT16) {
        round_to_half(x, piece->count);
        round_to_half(y, piece->count);
    }
    const float alpha = (float)a->alpha;
    if (op == PW_MUL) {
        for (size_t i = 0; i < piece->count; i++) {
            x[i] = x[i] * y[i];
        }
    } else if (alpha == 1) {
        for (size_t i = 0; i < piece->count; i++) {
            x[i] = x[i] + y[i];
        }
    } else {
        for (size_t i = 0; i < piece->count; i++) {
            x[i] = x[i] + alpha * y[i];
        }
    }
    if (a->type == ACL_FLOAT16 && a->out.type != ACL_FLOAT16) {
        round_to_half(x, piece->count);
    }
    write_floats(&a->out, piece->out, a->out.stride[inner], x, piece->count);
}

// Without signs, so that an overflow wraps.
static void compute_ints(const struct pw_args *a, enum pw_op op, const struct piece *piece)
{
    uint32_t x[PIECE];
    uint32_t y[PIECE];
    const uint32_t inner = a->dims - 1;
    read_ints(x, &a->self, piece->self, a->self.stride[inner], piece->count);
    read_ints(y, &a->other, piece->other, a->other.stride[inner], piece->count);
    const uint32_t alpha = (uint32_t)a->integer_alpha;
    for (size_t i = 0; i < piece->count; i++) {
        x[i] = op == PW_MUL ? x[i] * y[i] : x[i] + alpha * y[i];
    }
    write_ints(&a->out, piece->out, a->out.stride[inner], x, piece->count);
}

// The piece that begins with element `at` of the output and has at most `limit`.
static struct piece find_piece(const struct pw_args *a, uint64_t at, uint64_t limit)
{
    struct piece piece = { 0 };
    uint64_t rest = at;
    uint64_t in_row = 0;
    for (uint32_t d = a->dims; d-- > 0;) {
        const uint64_t size = (uint64_t)a->shape[d];
        const int64_t index = (int64_t)(rest % size);
        rest /= size;
        piece.self += index * a->self.stride[d];
        piece.other += index * a->other.stride[d];
        piece.out += index * a->out.stride[d];
        if (d == a->dims - 1) {
            in_row = size - (uint64_t)index;
        }
    }
    uint64_t count = in_row < limit ? in_row : limit;
    piece.count = count < PIECE ? (size_t)count : PIECE;
    return piece;
}

static void run(const struct pw_args *a, enum pw_op op, uint32_t block, uint32_t blocks)
{
    const uint64_t share = a->count / blocks + (a->count % blocks != 0);
    uint64_t at = share * block < a->count ? share * block : a->count;
    const uint64_t end = a->count - at < share ? a->count : at + share;
    while (at < end) {
        const struct piece piece = find_piece(a, at, end - at);
        if (a->type == ACL_INT32) {
            compute_ints(a, op, &piece);
        } else {
            compute_floats(a, op, &piece);
        }
        at += piece.count;
    }
}

static void add_kernel(void *args, uint32_t block, uint32_t blocks)
{
    run(args, PW_ADD, block, blocks);
}

static void mul_kernel(void *args, uint32_t block, uint32_t blocks)
{
    run(args, PW_MUL, block, blocks);
}

// ---- their handles ----

static pthread_once_t once = PTHREAD_ONCE_INIT;
static aclrtFuncHandle kernels[PW_OPS];

static void register_kernels(void)
{
    (void)reprise_kernel_register("Add", add_kernel, &kernels[PW_ADD]);
    (void)reprise_kernel_register("Mul", mul_kernel, &kernels[PW_MUL]);
}

aclrtFuncHandle pw_kernel(enum pw_op op)
{
    pthread_once(&once, register_kernels);
    return kernels[op];
}
