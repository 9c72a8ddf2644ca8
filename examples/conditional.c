/* A captured graph that decides for itself: it adds 5, 4, 3, 2, 1 to a sum in a loop, and then
 * calls a function of the host if the sum is odd. Link with -lascendcl. */
#include <acl/acl.h>
#include <reprise/kernel.h>
#include <stdio.h>
#include <stdlib.h>

#define MODE ACL_MODEL_RI_CAPTURE_MODE_GLOBAL
#define CHECK(call) check(call, #call)

struct words {
    uint64_t *left, *is_odd, *sum; /* in device memory */
};

static void check(aclError code, const char *what)
{
    if (code != 0) {
        fprintf(stderr, "%s: %d: %s\n", what, code, aclGetRecentErrMsg());
        exit(1);
    }
}

static void step(void *args, uint32_t block, uint32_t blocks)
{
    const struct words *words = args;
    (void)block, (void)blocks; /* there is one */
    *words->sum += *words->left;
    *words->is_odd = *words->sum % 2;
    *words->left -= 1; /* the loop ends at 0 */
}

static void say_odd(void *sum)
{
    printf("%d is odd\n", (int)*(uint64_t *)sum);
}

/* A conditional node whose word, returned, is 5 whenever the graph begins; `sub` is what it runs.
 */
static uint64_t *add_condition(aclmdlRICondTaskType type, aclmdlRI *sub, aclrtStream stream)
{
    aclmdlRICondTaskParams params = { .type = type, .size = 1, .modelRIArray = sub };
    aclmdlRICondHandleFlag flag = ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT;
    aclmdlRI graph;
    uint64_t *word;
    CHECK(aclmdlRICaptureGetInfo(stream, NULL, &graph));
    CHECK(aclmdlRICondHandleCreate(graph, 5, flag, &params.handle));
    CHECK(aclmdlRICondHandleGetCondPtr(params.handle, &word));
    CHECK(aclmdlRIAddCondTask(params, stream, 0));
    return word;
}

int main(void)
{
    struct words words;
    aclrtStream stream, inner;
    aclrtFuncHandle kernel;
    aclmdlRI graph, loop, then;
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&stream));
    CHECK(aclrtCreateStream(&inner)); /* sub-graphs are captured on another stream */
    CHECK(reprise_kernel_register("step", step, &kernel));
    CHECK(aclrtMalloc((void **)&words.sum, sizeof(*words.sum), ACL_MEM_MALLOC_HUGE_FIRST));
    *words.sum = 0; /* device memory is this host's memory */
    CHECK(aclmdlRICaptureBegin(stream, MODE));
    words.left = add_condition(ACL_MODEL_RI_COND_TYPE_WHILE, &loop, stream);
    words.is_odd = add_condition(ACL_MODEL_RI_COND_TYPE_IF, &then, stream);
    CHECK(aclmdlRICaptureToModelRIBegin(inner, loop, MODE));
    CHECK(aclrtLaunchKernel(kernel, 1, &words, sizeof(words), inner));
    CHECK(aclmdlRICaptureEnd(inner, NULL));
    CHECK(aclmdlRICaptureToModelRIBegin(inner, then, MODE));
    CHECK(aclrtLaunchHostFunc(inner, say_odd, words.sum));
    CHECK(aclmdlRICaptureEnd(inner, NULL));
    CHECK(aclmdlRICaptureEnd(stream, &graph));
    for (int replay = 0; replay < 2; replay++) { /* 0 + 15, then 15 + 15 */
        CHECK(aclmdlRIExecuteAsync(graph, stream));
        CHECK(aclrtSynchronizeStream(stream));
    }
    return *words.sum == 30 ? 0 : 1; /* the process takes what is left with it */
}
