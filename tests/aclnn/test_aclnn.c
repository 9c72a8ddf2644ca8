// Tensors, executors, and how calls of operators run, are captured and are refused. What operators
// compute is in test_aclnn_values.c.

#include <aclnnop/aclnn_add.h>
#include <aclnnop/aclnn_mul.h>
#include <stdlib.h>
#include <string.h>

#include "support/aclnn_case.h"

TestSuite(aclnn, .init = on_device, .timeout = 60);

#define NULLPTR 161001
#define INVALID 161002

// Contiguous tensors of floats.
static aclTensor *floats(float *data, int64_t count)
{
    return aclCreateTensor(&count, 1, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, &count, 1, data);
}

Test(aclnn, tensors_tell_what_they_were_created_with)
{
    const int64_t shape[] = { 2, 3 };
    const int64_t stride[] = { 1, 2 };
    const int64_t storage[] = { 3, 2, 1 };
    float data[7];
    aclTensor *tensor =
            aclCreateTensor(shape, 2, ACL_FLOAT, stride, 1, ACL_FORMAT_NCHW, storage, 3, data);
    int64_t *values = NULL;
    uint64_t count = 0;
    WORKS(aclGetViewShape(tensor, &values, &count));
    cr_expect(eq(u64, count, 2));
    cr_expect(eq(int, memcmp(values, shape, sizeof(shape)), 0));
    free(values);
    WORKS(aclGetViewStrides(tensor, &values, &count));
    cr_expect(eq(u64, count, 2));
    cr_expect(eq(int, memcmp(values, stride, sizeof(stride)), 0));
    free(values);
    WORKS(aclGetStorageShape(tensor, &values, &count));
    cr_expect(eq(u64, count, 3));
    cr_expect(eq(int, memcmp(values, storage, sizeof(storage)), 0));
    free(values);
    int64_t offset = 0;
    aclFormat format = ACL_FORMAT_ND;
    aclDataType type = ACL_INT32;
    void *address = NULL;
    WORKS(aclGetViewOffset(tensor, &offset));
    WORKS(aclGetFormat(tensor, &format));
    WORKS(aclGetDataType(tensor, &type));
    WORKS(aclGetRawTensorAddr(tensor, &address));
    cr_expect(eq(i64, offset, 1));
    cr_expect(eq(int, (int)format, (int)ACL_FORMAT_NCHW));
    cr_expect(eq(int, (int)type, (int)ACL_FLOAT));
    cr_expect(eq(ptr, address, data));
    WORKS(aclSetRawTensorAddr(tensor, &data[2]));
    WORKS(aclGetRawTensorAddr(tensor, &address));
    cr_expect(eq(ptr, address, &data[2]));
    ANSWERS(NULLPTR, aclGetViewShape(NULL, &values, &count));
    ANSWERS(NULLPTR, aclGetViewShape(tensor, NULL, &count));
    ANSWERS(NULLPTR, aclGetDataType(tensor, NULL));
    ANSWERS(NULLPTR, aclSetRawTensorAddr(NULL, data));
    WORKS(aclDestroyTensor(tensor));
    WORKS(aclDestroyTensor(NULL));
    WORKS(aclDestroyScalar(NULL));
    WORKS(aclDestroyAclOpExecutor(NULL));
}

Test(aclnn, what_cannot_be_created_is_null)
{
    const int64_t shape[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    const int64_t negative[] = { 2, -1 };
    const int64_t huge[] = { INT64_MAX, 2 };
    float value = 1;
    cr_expect(eq(ptr,
            aclCreateTensor(shape, 9, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, shape, 1, &value), NULL));
    cr_expect(ne(ptr, strstr(aclGetRecentErrMsg(), "more than 8 dimensions"), NULL));
    cr_expect(eq(ptr,
            aclCreateTensor(negative, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, shape, 1, &value),
            NULL));
    cr_expect(eq(ptr, aclCreateTensor(huge, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, shape, 1, &value),
            NULL));
    cr_expect(eq(ptr, aclCreateTensor(NULL, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, shape, 1, &value),
            NULL));
    cr_expect(eq(ptr, aclCreateScalar(NULL, ACL_FLOAT), NULL));
    cr_expect(eq(ptr, aclCreateScalar(&value, ACL_STRING), NULL));
}

Test(aclnn, an_executor_runs_once)
{
    float *x = device_memory(16);
    aclTensor *tensor = floats(x, 4);
    uint64_t bytes;
    aclOpExecutor *executor = NULL;
    x[0] = 3;
    WORKS(aclnnMulGetWorkspaceSize(tensor, tensor, tensor, &bytes, &executor));
    WORKS(aclnnMul(NULL, 0, executor, NULL));
    ANSWERS(INVALID, aclnnMul(NULL, 0, executor, NULL));
    ANSWERS(INVALID, aclDestroyAclOpExecutor(executor));
    ANSWERS(INVALID, aclSetAclOpExecutorRepeatable(executor));
    ANSWERS(NULLPTR, aclnnMul(NULL, 0, NULL, NULL));
    WORKS(aclrtSynchronizeStream(NULL));
    cr_expect(eq(flt, x[0], 9));
    WORKS(aclnnMulGetWorkspaceSize(tensor, tensor, tensor, &bytes, &executor));
    WORKS(aclDestroyAclOpExecutor(executor));
    ANSWERS(INVALID, aclnnMul(NULL, 0, executor, NULL));
    aclDestroyTensor(tensor);
}

Test(aclnn, a_repeatable_executor_takes_other_addresses)
{
    float *x = device_memory(4 * sizeof(float));
    aclTensor *self = floats(x, 1);
    aclTensor *other = floats(x + 1, 1);
    aclTensor *out = floats(x + 2, 1);
    float alpha = 10;
    aclScalar *scalar = aclCreateScalar(&alpha, ACL_FLOAT);
    uint64_t bytes;
    aclOpExecutor *executor = NULL;
    x[0] = 1;
    x[1] = 2;
    WORKS(aclnnAddGetWorkspaceSize(self, other, scalar, out, &bytes, &executor));
    WORKS(aclSetAclOpExecutorRepeatable(executor));
    WORKS(aclnnAdd(NULL, 0, executor, NULL));
    WORKS(aclSetInputTensorAddr(executor, 0, self, x + 2));
    WORKS(aclSetInputTensorAddr(executor, 1, other, x));
    WORKS(aclSetOutputTensorAddr(executor, 0, out, x + 3));
    WORKS(aclnnAdd(NULL, 0, executor, NULL));
    WORKS(aclrtSynchronizeStream(NULL));
    cr_expect(eq(flt, x[2], 21));
    cr_expect(eq(flt, x[3], 31));
    void *address = NULL;
    WORKS(aclGetRawTensorAddr(out, &address));
    cr_expect(eq(ptr, address, x + 3));
    ANSWERS(INVALID, aclSetInputTensorAddr(executor, 2, self, x));
    ANSWERS(INVALID, aclSetOutputTensorAddr(executor, 1, out, x));
    WORKS(aclDestroyAclOpExecutor(executor));
    ANSWERS(INVALID, aclSetInputTensorAddr(executor, 0, self, x));
    aclDestroyScalar(scalar);
    aclDestroyTensor(self);
    aclDestroyTensor(other);
    aclDestroyTensor(out);
}

// y = (x + factor * y) * x on a stream.
static void add_then_mul(float factor, aclTensor *x, aclTensor *y, aclrtStream stream)
{
    uint64_t bytes;
    aclOpExecutor *executor = NULL;
    aclScalar *alpha = aclCreateScalar(&factor, ACL_FLOAT);
    WORKS(aclnnAddGetWorkspaceSize(x, y, alpha, y, &bytes, &executor));
    WORKS(aclnnAdd(NULL, 0, executor, stream));
    WORKS(aclnnInplaceMulGetWorkspaceSize(y, x, &bytes, &executor));
    WORKS(aclnnInplaceMul(NULL, 0, executor, stream));
    WORKS(aclDestroyScalar(alpha));
}

Test(aclnn, operators_are_captured_replayed_and_updated)
{
    float *x = device_memory(2 * sizeof(float));
    aclTensor *tx = floats(x, 1);
    aclTensor *ty = floats(x + 1, 1);
    aclrtStream stream = NULL;
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = NULL;
    x[0] = 2;
    x[1] = 1;
    WORKS(aclrtCreateStream(&stream));
    WORKS(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    WORKS(aclmdlRICaptureTaskGrpBegin(stream));
    add_then_mul(3, tx, ty, stream);
    WORKS(aclmdlRICaptureTaskGrpEnd(stream, &group));
    WORKS(aclmdlRICaptureEnd(stream, &graph));
    float expected = 1;
    for (int round = 0; round < 6; round++) {
        const float factor = round < 3 ? 3 : -1;
        if (round == 3) {
            WORKS(aclmdlRICaptureTaskUpdateBegin(stream, group));
            add_then_mul(factor, tx, ty, stream);
            WORKS(aclmdlRICaptureTaskUpdateEnd(stream));
        }
        WORKS(aclmdlRIExecuteAsync(graph, stream));
        WORKS(aclrtSynchronizeStream(stream));
        expected = (2 + factor * expected) * 2;
        cr_assert(eq(flt, x[1], expected));
    }
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyStream(stream));
    aclDestroyTensor(tx);
    aclDestroyTensor(ty);
}

Test(aclnn, no_elements_need_no_launch)
{
    int64_t shape[] = { 3, 0 };
    aclTensor *empty = aclCreateTensor(shape, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, shape, 2, NULL);
    uint64_t bytes = 1;
    aclOpExecutor *executor = NULL;
    WORKS(aclnnMulGetWorkspaceSize(empty, empty, empty, &bytes, &executor));
    cr_expect(eq(u64, bytes, 0));
    WORKS(aclnnMul(NULL, 0, executor, NULL));
    aclDestroyTensor(empty);
}

Test(aclnn, bad_calls_are_refused_with_a_sentence)
{
    float *x = device_memory(64);
    int64_t six = 6;
    int64_t two_by_three[] = { 2, 3 };
    int64_t one_six[] = { 1, 6 };
    aclTensor *a = floats(x, 6);
    aclTensor *b =
            aclCreateTensor(two_by_three, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, two_by_three, 2, x);
    aclTensor *c = aclCreateTensor(one_six, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, &six, 1, x);
    aclTensor *ints = aclCreateTensor(&six, 1, ACL_INT32, NULL, 0, ACL_FORMAT_ND, &six, 1, x);
    aclTensor *longs = aclCreateTensor(&six, 1, ACL_INT64, NULL, 0, ACL_FORMAT_ND, &six, 1, x);
    aclTensor *nowhere = floats(NULL, 6);
    float value = 1.5f;
    aclScalar *alpha = aclCreateScalar(&value, ACL_FLOAT);
    uint64_t bytes = 99;
    aclOpExecutor *executor = NULL;
    ANSWERS(NULLPTR, aclnnAddGetWorkspaceSize(NULL, a, alpha, a, &bytes, &executor));
    ANSWERS(NULLPTR, aclnnAddGetWorkspaceSize(a, NULL, alpha, a, &bytes, &executor));
    ANSWERS(NULLPTR, aclnnAddGetWorkspaceSize(a, a, NULL, a, &bytes, &executor));
    ANSWERS(NULLPTR, aclnnAddGetWorkspaceSize(a, a, alpha, NULL, &bytes, &executor));
    ANSWERS(NULLPTR, aclnnAddGetWorkspaceSize(a, a, alpha, a, NULL, &executor));
    ANSWERS(NULLPTR, aclnnAddGetWorkspaceSize(a, a, alpha, a, &bytes, NULL));
    ANSWERS(NULLPTR, aclnnAddGetWorkspaceSize(a, nowhere, alpha, a, &bytes, &executor));
    (void)aclGetRecentErrMsg();
    ANSWERS(INVALID, aclnnMulGetWorkspaceSize(a, b, b, &bytes, &executor));
    const char *text = aclGetRecentErrMsg();
    cr_expect(ne(ptr, strstr(text, "aclnnMul: self of shape (6) and other of (2, 3)"), NULL), "%s",
            text);
    ANSWERS(INVALID, aclnnMulGetWorkspaceSize(a, a, c, &bytes, &executor)); // one dimension more
    ANSWERS(INVALID, aclnnMulGetWorkspaceSize(b, b, a, &bytes, &executor));
    ANSWERS(INVALID, aclnnInplaceMulGetWorkspaceSize(a, c, &bytes, &executor));
    ANSWERS(INVALID, aclnnMulGetWorkspaceSize(longs, a, a, &bytes, &executor));
    ANSWERS(INVALID, aclnnMulGetWorkspaceSize(a, ints, ints, &bytes, &executor)); // fp32 to int32
    ANSWERS(INVALID, aclnnAddGetWorkspaceSize(ints, ints, alpha, ints, &bytes, &executor));
    cr_expect(eq(ptr, executor, NULL));
    cr_expect(eq(u64, bytes, 99));
    // The runtime's own refusal comes through.
    WORKS(aclnnAddGetWorkspaceSize(a, a, alpha, a, &bytes, &executor));
    ANSWERS(361001, aclnnAdd(NULL, 0, executor, x));
    ANSWERS(INVALID, aclnnAdd(NULL, 0, executor, NULL)); // it has had its turn
    aclTensor *const tensors[] = { a, b, c, ints, longs, nowhere };
    for (int i = 0; i < 6; i++) {
        aclDestroyTensor(tensors[i]);
    }
    aclDestroyScalar(alpha);
}
