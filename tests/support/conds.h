#ifndef TESTS_SUPPORT_CONDS_H
#define TESTS_SUPPORT_CONDS_H

/* Conditionals, for suites with support/rules.h. */

#include "support/rules.h"

#define ARMS_MAX 300

#define IF ACL_MODEL_RI_COND_TYPE_IF
#define WHILE ACL_MODEL_RI_COND_TYPE_WHILE
#define SWITCH ACL_MODEL_RI_COND_TYPE_SWITCH

/* One that was added to a graph. */
struct cond {
    aclmdlRICondHandle handle;
    uint64_t *word;
    aclmdlRI arm[ARMS_MAX];
};

/** cond_handle: of the graph that `stream` captures into; `first` NULL: no default. */
static inline void cond_handle(struct cond *cond, aclrtStream stream, const uint32_t *first)
{
    const aclmdlRICondHandleFlag flag =
            first == NULL ? (aclmdlRICondHandleFlag)0 : ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT;
    ok(aclmdlRICondHandleCreate(
            capture_graph(stream), first == NULL ? 0 : *first, flag, &cond->handle));
    ok(aclmdlRICondHandleGetCondPtr(cond->handle, &cond->word));
}

static inline int cond_add(
        struct cond *cond, aclrtStream stream, aclmdlRICondTaskType type, uint32_t size)
{
    const aclmdlRICondTaskParams params = {
        .handle = cond->handle, .type = type, .size = size, .modelRIArray = cond->arm
    };
    return aclmdlRIAddCondTask(params, stream, 0);
}

/** cond_put: handle and task at once. */
static inline void cond_put(struct cond *cond, aclrtStream stream, aclmdlRICondTaskType type,
        uint32_t size, const uint32_t *first)
{
    cond_handle(cond, stream, first);
    ok(cond_add(cond, stream, type, size));
}

/** arm_begin, arm_end: the capture of one arm on `stream`. */
static inline void arm_begin(const struct cond *cond, uint32_t arm, aclrtStream stream)
{
    ok(aclmdlRICaptureToModelRIBegin(stream, cond->arm[arm], RELAXED));
}

static inline void arm_end(aclrtStream stream)
{
    ok(aclmdlRICaptureEnd(stream, NULL));
}

#endif
