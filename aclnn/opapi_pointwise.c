// From tensors to the arguments of a kernel: types are promoted, shapes broadcast, dimensions
// merged.

#include "aclnn/opapi_pointwise.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aclnn/nn_half.h"

#define SHAPE_BYTES 200         // as text
#define BLOCK_ELEMENTS 4096     // less is not worth a core
#define BLOCKS_WITHOUT_ANSWER 1 // a thread without a context has no cores to plan with

// ---- text ----

static const char *shape_text(char text[SHAPE_BYTES], const int64_t *shape, uint64_t dims)
{
    size_t used = 0;
    text[used++] = '(';
    for (uint64_t i = 0; i < dims; i++) {
        used += (size_t)snprintf(
                text + used, SHAPE_BYTES - used, i == 0 ? "%" PRId64 : ", %" PRId64, shape[i]);
    }
    snprintf(text + used, SHAPE_BYTES - used, ")");
    return text;
}

// ---- types ----

static bool is_float(aclDataType type)
{
    return type == ACL_FLOAT || type == ACL_FLOAT16 || type == ACL_DOUBLE;
}

static aclnnStatus check_type(const struct pw_call *call, const char *what, const aclTensor *tensor)
{
    if (tensor->type != ACL_FLOAT && tensor->type != ACL_FLOAT16 && tensor->type != ACL_INT32) {
        return reprise_nn_fail(NN_ERR_INVALID, "%s: %s is of %s; fp32, fp16 and int32 are possible",
                call->name, what, reprise_nn_type_name(tensor->type));
    }
    return NN_SUCCESS;
}

// fp32 before fp16 before int32.
static aclDataType promote(aclDataType a, aclDataType b)
{
    if (a == ACL_FLOAT || b == ACL_FLOAT) {
        return ACL_FLOAT;
    }
    return a == ACL_FLOAT16 || b == ACL_FLOAT16 ? ACL_FLOAT16 : ACL_INT32;
}

static aclnnStatus set_types(const struct pw_call *call, struct pw_args *args)
{
    aclnnStatus status = check_type(call, "self", call->self);
    if (status == NN_SUCCESS) {
        status = check_type(call, "other", call->other);
    }
    if (status == NN_SUCCESS) {
        status = check_type(call, "out", call->out);
    }
    if (status != NN_SUCCESS) {
        return status;
    }
    const aclDataType type = promote(call->self->type, call->other->type);
    if (is_float(type) && !is_float(call->out->type)) {
        return reprise_nn_fail(NN_ERR_INVALID, "%s: the result is of %s and cannot become int32",
                call->name, reprise_nn_type_name(type));
    }
    if (call->alpha != NULL && !is_float(type) && is_float(call->alpha->type)) {
        return reprise_nn_fail(NN_ERR_INVALID,
                "%s: alpha is a floating-point number, and the result is of int32", call->name);
    }
    args->type = type;
    args->self.type = call->self->type;
    args->other.type = call->other->type;
    args->out.type = call->out->type;
    return NN_SUCCESS;
}

static void set_alpha(const aclScalar *alpha, struct pw_args *args)
{
    args->alpha = 1;
    args->integer_alpha = 1;
    if (alpha == NULL) {
        return;
    }
    args->integer_alpha = alpha->integer; // what is too large wraps, as the result does
    args->alpha = (double)(float)(is_float(alpha->type) ? alpha->real : (double)alpha->integer);
    if (args->type == ACL_FLOAT16) {
        args->alpha = (double)nn_half_to_float(nn_float_to_half((float)args->alpha));
    }
}

// ---- shapes ----

// Strides of `tensor` for a walk over `shape`; false if it does not broadcast to that.
static bool broadcast(
        const aclTensor *tensor, const int64_t *shape, uint64_t dims, struct pw_operand *operand)
{
    if (tensor->dims > dims) {
        return false;
    }
    const uint64_t ahead = dims - tensor->dims; // dimensions that it lacks
    for (uint64_t i = 0; i < dims; i++) {
        const int64_t size = i < ahead ? 1 : tensor->shape[i - ahead];
        if (size != shape[i] && size != 1) {
            return false;
        }
        operand->stride[i] = size == 1 ? 0 : tensor->stride[i - ahead];
    }
    return true;
}

// Whether `shape` is what self and other broadcast to, and not more.
static bool is_needed(const struct pw_call *call)
{
    const aclTensor *self = call->self;
    const aclTensor *other = call->other;
    const aclTensor *out = call->out;
    if (out->dims != (self->dims > other->dims ? self->dims : other->dims)) {
        return false;
    }
    for (uint64_t back = 1; back <= out->dims; back++) {
        const int64_t a = back > self->dims ? 1 : self->shape[self->dims - back];
        const int64_t b = back > other->dims ? 1 : other->shape[other->dims - back];
        if (out->shape[out->dims - back] != (a == 1 ? b : a)) {
            return false;
        }
    }
    return true;
}

static aclnnStatus set_shapes(const struct pw_call *call, struct pw_args *args)
{
    const aclTensor *out = call->out;
    char self_text[SHAPE_BYTES];
    char other_text[SHAPE_BYTES];
    char out_text[SHAPE_BYTES];
    if (!broadcast(call->self, out->shape, out->dims, &args->self) ||
            !broadcast(call->other, out->shape, out->dims, &args->other) || !is_needed(call)) {
        return reprise_nn_fail(NN_ERR_INVALID,
                "%s: self of shape %s and other of %s do not broadcast to %s, which out has",
                call->name, shape_text(self_text, call->self->shape, call->self->dims),
                shape_text(other_text, call->other->shape, call->other->dims),
                shape_text(out_text, out->shape, out->dims));
    }
    args->count = 1;
    args->dims = (uint32_t)out->dims;
    for (uint64_t i = 0; i < out->dims; i++) {
        args->shape[i] = out->shape[i];
        args->out.stride[i] = out->stride[i];
        args->count *= (uint64_t)out->shape[i];
    }
    return NN_SUCCESS;
}

static bool follows(
        const struct pw_operand *operand, uint32_t outer, uint32_t inner, const int64_t *shape)
{
    return operand->stride[outer] == operand->stride[inner] * shape[inner];
}

// Puts dimension `from` at `to`.
static void move(struct pw_args *args, uint32_t to, uint32_t from)
{
    args->shape[to] = args->shape[from];
    args->self.stride[to] = args->self.stride[from];
    args->other.stride[to] = args->other.stride[from];
    args->out.stride[to] = args->out.stride[from];
}

// Fewer and longer rows: a dimension whose step is the whole of the next one becomes one with it.
static void merge(struct pw_args *args)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < args->dims; i++) {
        if (args->shape[i] == 1) {
            continue;
        }
        move(args, kept, i);
        const uint32_t before = kept - 1;
        if (kept > 0 && follows(&args->self, before, kept, args->shape) &&
                follows(&args->other, before, kept, args->shape) &&
                follows(&args->out, before, kept, args->shape)) {
            const int64_t longer = args->shape[before] * args->shape[kept];
            move(args, before, kept);
            args->shape[before] = longer;
        } else {
            kept++;
        }
    }
    if (kept == 0) { // one element
        args->shape[0] = 1;
        args->self.stride[0] = args->other.stride[0] = args->out.stride[0] = 0;
        kept = 1;
    }
    args->dims = kept;
}

// ---- the executor ----

static aclnnStatus set_slot(const struct pw_call *call, const char *what, const aclTensor *tensor,
        size_t at, struct nn_slot *slot, void **first)
{
    if (tensor->data == NULL) {
        return reprise_nn_fail(
                NN_ERR_NULL, "%s: the data of %s is a null pointer", call->name, what);
    }
    slot->at = at;
    slot->offset_bytes = tensor->offset * (int64_t)aclDataTypeSize(tensor->type);
    *first = (char *)tensor->data + slot->offset_bytes;
    return NN_SUCCESS;
}

static aclnnStatus set_addresses(
        const struct pw_call *call, struct pw_args *args, aclOpExecutor *model)
{
    model->inputs = 2;
    model->outputs = 1;
    aclnnStatus status = set_slot(call, "self", call->self, offsetof(struct pw_args, self.first),
            &model->slot[0], &args->self.first);
    if (status == NN_SUCCESS) {
        status = set_slot(call, "other", call->other, offsetof(struct pw_args, other.first),
                &model->slot[1], &args->other.first);
    }
    if (status == NN_SUCCESS) {
        status = set_slot(call, "out", call->out, offsetof(struct pw_args, out.first),
                &model->slot[2], &args->out.first);
    }
    return status;
}

static uint32_t plan_blocks(uint64_t elements)
{
    uint32_t cores = 0;
    if (aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &cores) != ACL_SUCCESS) {
        cores = BLOCKS_WITHOUT_ANSWER;
    }
    const uint64_t useful = elements / BLOCK_ELEMENTS + (elements % BLOCK_ELEMENTS != 0);
    return useful < cores ? (uint32_t)useful : cores;
}

static aclnnStatus check_pointers(
        const struct pw_call *call, const uint64_t *workspace_bytes, aclOpExecutor *const *out)
{
    const char *null = call->self == NULL                          ? "self"
                       : call->other == NULL                       ? "other"
                       : call->op == PW_ADD && call->alpha == NULL ? "alpha"
                       : call->out == NULL                         ? "out"
                       : workspace_bytes == NULL                   ? "workspaceSize"
                       : out == NULL                               ? "executor"
                                                                   : NULL;
    return null == NULL
                   ? NN_SUCCESS
                   : reprise_nn_fail(NN_ERR_NULL, "%s: %s is a null pointer", call->name, null);
}

aclnnStatus pw_prepare(const struct pw_call *call, uint64_t *workspace_bytes, aclOpExecutor **out)
{
    static_assert(sizeof(struct pw_args) <= NN_ARGS_BYTES, "an executor has room for them");
    struct pw_args args = { 0 };
    aclOpExecutor model = { .args_bytes = sizeof(args) };
    aclnnStatus status = check_pointers(call, workspace_bytes, out);
    if (status == NN_SUCCESS) {
        status = set_types(call, &args);
    }
    if (status == NN_SUCCESS) {
        status = set_shapes(call, &args);
    }
    if (status != NN_SUCCESS) {
        return status;
    }
    set_alpha(call->alpha, &args);
    if (args.count != 0) {
        status = set_addresses(call, &args, &model);
        if (status != NN_SUCCESS) {
            return status;
        }
        merge(&args);
        model.blocks = plan_blocks(args.count);
    }
    model.kernel = pw_kernel(call->op);
    if (model.kernel == NULL) {
        return reprise_nn_fail(
                NN_ERR_RUNTIME, "%s: its kernel could not be registered", call->name);
    }
    memcpy(model.args, &args, sizeof(args));
    aclOpExecutor *executor = reprise_nn_executor_add(&model);
    if (executor == NULL) {
        return reprise_nn_fail(NN_ERR_MEMORY, "%s: no memory for an executor", call->name);
    }
    *workspace_bytes = 0;
    *out = executor;
    return NN_SUCCESS;
}
