/* Two operators, y = (x + 2 * y) * x, are captured and replayed; then the addition's factor is
 * changed in the graph. After `. set_env.sh` of an installation:
 *
 *     gcc aclnn_graph.c -I$ASCEND_HOME_PATH/include -L$ASCEND_HOME_PATH/lib64 \
 *         -lopapi -lnnopbase -lascendcl -o aclnn_graph
 */
#include <stdio.h>
#include <stdlib.h>

#include <acl/acl.h>
#include <aclnnop/aclnn_add.h>
#include <aclnnop/aclnn_mul.h>

#define ROWS 4
#define COLUMNS 3

static void check(int code, const char *what)
{
    if (code != 0) {
        const char *why = aclGetRecentErrMsg();
        fprintf(stderr, "%s: %d: %s", what, code, why != NULL ? why : "no message\n");
        exit(1);
    }
}

static aclTensor *tensor(float *data, int64_t rows)
{
    const int64_t shape[] = { rows, COLUMNS };
    aclTensor *made = aclCreateTensor(shape, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, shape, 2, data);
    check(made == NULL, "aclCreateTensor");
    return made;
}

static float *device_floats(int count, float value)
{
    void *memory;
    check(aclrtMalloc(&memory, (size_t)count * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST),
            "aclrtMalloc");
    float *floats = memory; /* device memory is this host's memory */
    for (int i = 0; i < count; i++) {
        floats[i] = value;
    }
    return floats;
}

/* y = x + factor * y: an operator is planned, and the plan launched. */
static void add(aclTensor *x, aclTensor *y, float factor, aclrtStream stream)
{
    uint64_t bytes;
    aclOpExecutor *executor;
    aclScalar *alpha = aclCreateScalar(&factor, ACL_FLOAT);
    check(aclnnAddGetWorkspaceSize(x, y, alpha, y, &bytes, &executor), "aclnnAddGetWorkspaceSize");
    check(aclnnAdd(NULL, bytes, executor, stream), "aclnnAdd"); /* no operator here needs bytes */
    check(aclDestroyScalar(alpha), "aclDestroyScalar");
}

int main(void)
{
    aclrtStream stream;
    aclmdlRI graph;
    aclrtTaskGrp group;
    uint64_t bytes;
    aclOpExecutor *executor;

    check(aclrtSetDevice(0), "aclrtSetDevice");
    check(aclrtCreateStream(&stream), "aclrtCreateStream");
    float *values = device_floats(ROWS * COLUMNS, 1);
    aclTensor *x = tensor(device_floats(COLUMNS, 3), 1); /* one row, for every row of y */
    aclTensor *y = tensor(values, ROWS);

    check(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), "CaptureBegin");
    check(aclmdlRICaptureTaskGrpBegin(stream), "aclmdlRICaptureTaskGrpBegin");
    add(x, y, 2, stream);
    check(aclmdlRICaptureTaskGrpEnd(stream, &group), "aclmdlRICaptureTaskGrpEnd");
    check(aclnnMulGetWorkspaceSize(y, x, y, &bytes, &executor), "aclnnMulGetWorkspaceSize");
    check(aclnnMul(NULL, bytes, executor, stream), "aclnnMul");
    check(aclmdlRICaptureEnd(stream, &graph), "CaptureEnd");

    for (int step = 0; step < 2; step++) { /* (3 + 2 * 1) * 3 = 15, then 99 */
        check(aclmdlRIExecuteAsync(graph, stream), "aclmdlRIExecuteAsync");
        check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
        printf("replay %d: y = %g\n", step + 1, (double)values[ROWS * COLUMNS - 1]);
    }
    check(aclmdlRICaptureTaskUpdateBegin(stream, group), "aclmdlRICaptureTaskUpdateBegin");
    add(x, y, -1, stream);
    check(aclmdlRICaptureTaskUpdateEnd(stream), "aclmdlRICaptureTaskUpdateEnd");
    check(aclmdlRIExecuteAsync(graph, stream), "aclmdlRIExecuteAsync"); /* (3 - 99) * 3 */
    check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
    printf("updated:  y = %g\n", (double)values[ROWS * COLUMNS - 1]);

    const int right = values[0] == -288 && values[ROWS * COLUMNS - 1] == -288;
    check(aclmdlRIDestroy(graph), "aclmdlRIDestroy");
    check(aclDestroyTensor(x), "aclDestroyTensor");
    check(aclDestroyTensor(y), "aclDestroyTensor");
    return right ? 0 : 1; /* the process takes what is left with it */
}
