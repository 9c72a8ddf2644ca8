// Tensors and scalars: descriptions of memory that belongs to the caller.

#include "aclnn/nnop.h"

#include <stdlib.h>
#include <string.h>

#include "aclnn/nn_half.h"

// ---- tensors ----

// NULL, or what is wrong with the dimensions.
static const char *check_dims(const int64_t *dims, uint64_t count)
{
    if (count > NN_DIMS_MAX) {
        return "has more than 8 dimensions";
    }
    if (count != 0 && dims == NULL) {
        return "has its dimensions at a null pointer";
    }
    int64_t elements = 1;
    for (uint64_t i = 0; i < count; i++) {
        if (dims[i] < 0) {
            return "has a negative dimension";
        }
        if (__builtin_mul_overflow(elements, dims[i] == 0 ? 1 : dims[i], &elements)) {
            return "has more elements than can be counted";
        }
    }
    return NULL;
}

static void make_contiguous(int64_t *stride, const int64_t *shape, uint64_t dims)
{
    int64_t step = 1;
    for (uint64_t i = dims; i-- > 0;) {
        stride[i] = step;
        step *= shape[i];
    }
}

aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType,
        const int64_t *stride, int64_t offset, aclFormat format, const int64_t *storageDims,
        uint64_t storageDimsNum, void *tensorData)
{
    const char *wrong = check_dims(viewDims, viewDimsNum);
    if (wrong == NULL && storageDims != NULL) {
        wrong = check_dims(storageDims, storageDimsNum);
    }
    if (wrong != NULL) {
        reprise_nn_fail(NN_ERR_INVALID, "aclCreateTensor: the tensor %s", wrong);
        return NULL;
    }
    aclTensor *tensor = calloc(1, sizeof(*tensor));
    if (tensor == NULL) {
        reprise_nn_fail(NN_ERR_MEMORY, "aclCreateTensor: no memory");
        return NULL;
    }
    tensor->dims = viewDimsNum;
    for (uint64_t i = 0; i < viewDimsNum; i++) {
        tensor->shape[i] = viewDims[i];
    }
    if (stride == NULL) {
        make_contiguous(tensor->stride, tensor->shape, tensor->dims);
    } else if (viewDimsNum != 0) {
        memcpy(tensor->stride, stride, viewDimsNum * sizeof(*stride));
    }
    if (storageDims != NULL && storageDimsNum != 0) {
        memcpy(tensor->storage, storageDims, storageDimsNum * sizeof(*storageDims));
        tensor->storage_dims = storageDimsNum;
    }
    tensor->offset = offset;
    tensor->type = dataType;
    tensor->format = format;
    tensor->data = tensorData;
    return tensor;
}

aclnnStatus aclDestroyTensor(const aclTensor *tensor)
{
    free((void *)(uintptr_t)tensor); // it was never const
    return NN_SUCCESS;
}

// A copy of `count` values for the caller, who frees it.
static aclnnStatus hand_out(
        const int64_t *values, uint64_t count, int64_t **out, uint64_t *out_count)
{
    int64_t *copy = malloc((count == 0 ? 1 : count) * sizeof(*copy));
    if (copy == NULL) {
        return reprise_nn_fail(NN_ERR_MEMORY, "no memory for the dimensions of a tensor");
    }
    memcpy(copy, values, count * sizeof(*copy));
    *out = copy;
    *out_count = count;
    return NN_SUCCESS;
}

static aclnnStatus null_in(const char *call)
{
    return reprise_nn_fail(NN_ERR_NULL, "%s: an argument is a null pointer", call);
}

aclnnStatus aclGetViewShape(const aclTensor *tensor, int64_t **viewDims, uint64_t *viewDimsNum)
{
    if (tensor == NULL || viewDims == NULL || viewDimsNum == NULL) {
        return null_in(__func__);
    }
    return hand_out(tensor->shape, tensor->dims, viewDims, viewDimsNum);
}

aclnnStatus aclGetStorageShape(
        const aclTensor *tensor, int64_t **storageDims, uint64_t *storageDimsNum)
{
    if (tensor == NULL || storageDims == NULL || storageDimsNum == NULL) {
        return null_in(__func__);
    }
    return hand_out(tensor->storage, tensor->storage_dims, storageDims, storageDimsNum);
}

aclnnStatus aclGetViewStrides(const aclTensor *tensor, int64_t **stridesValue, uint64_t *stridesNum)
{
    if (tensor == NULL || stridesValue == NULL || stridesNum == NULL) {
        return null_in(__func__);
    }
    return hand_out(tensor->stride, tensor->dims, stridesValue, stridesNum);
}

aclnnStatus aclGetViewOffset(const aclTensor *tensor, int64_t *offset)
{
    if (tensor == NULL || offset == NULL) {
        return null_in(__func__);
    }
    *offset = tensor->offset;
    return NN_SUCCESS;
}

aclnnStatus aclGetFormat(const aclTensor *tensor, aclFormat *format)
{
    if (tensor == NULL || format == NULL) {
        return null_in(__func__);
    }
    *format = tensor->format;
    return NN_SUCCESS;
}

aclnnStatus aclGetDataType(const aclTensor *tensor, aclDataType *dataType)
{
    if (tensor == NULL || dataType == NULL) {
        return null_in(__func__);
    }
    *dataType = tensor->type;
    return NN_SUCCESS;
}

aclnnStatus aclGetRawTensorAddr(const aclTensor *tensor, void **addr)
{
    if (tensor == NULL || addr == NULL) {
        return null_in(__func__);
    }
    *addr = tensor->data;
    return NN_SUCCESS;
}

aclnnStatus aclSetRawTensorAddr(aclTensor *tensor, void *addr)
{
    if (tensor == NULL) {
        return null_in(__func__);
    }
    tensor->data = addr;
    return NN_SUCCESS;
}

// ---- scalars ----

// Reads *value; false for a type that no scalar has here.
static bool read_value(aclScalar *scalar, const void *value, aclDataType type)
{
    scalar->type = type;
    switch (type) {
    case ACL_FLOAT:
        scalar->real = (double)*(const float *)value;
        return true;
    case ACL_DOUBLE:
        scalar->real = *(const double *)value;
        return true;
    case ACL_FLOAT16:
        scalar->real = (double)nn_half_to_float(*(const uint16_t *)value);
        return true;
    case ACL_INT8:
        scalar->integer = *(const int8_t *)value;
        return true;
    case ACL_UINT8:
        scalar->integer = *(const uint8_t *)value;
        return true;
    case ACL_BOOL:
        scalar->integer = *(const uint8_t *)value != 0;
        return true;
    case ACL_INT16:
        scalar->integer = *(const int16_t *)value;
        return true;
    case ACL_INT32:
        scalar->integer = *(const int32_t *)value;
        return true;
    case ACL_INT64:
        scalar->integer = *(const int64_t *)value;
        return true;
    default:
        return false;
    }
}

aclScalar *aclCreateScalar(void *value, aclDataType dataType)
{
    aclScalar *scalar = value == NULL ? NULL : calloc(1, sizeof(*scalar));
    if (scalar == NULL) {
        reprise_nn_fail(value == NULL ? NN_ERR_NULL : NN_ERR_MEMORY, "aclCreateScalar: %s",
                value == NULL ? "value is a null pointer" : "no memory");
        return NULL;
    }
    if (!read_value(scalar, value, dataType)) {
        reprise_nn_fail(NN_ERR_INVALID, "aclCreateScalar: a scalar cannot be of %s",
                reprise_nn_type_name(dataType));
        free(scalar);
        return NULL;
    }
    return scalar;
}

aclnnStatus aclDestroyScalar(const aclScalar *scalar)
{
    free((void *)(uintptr_t)scalar); // it was never const
    return NN_SUCCESS;
}
