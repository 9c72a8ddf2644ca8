#ifndef TESTS_SUPPORT_ACLNN_CASE_H
#define TESTS_SUPPORT_ACLNN_CASE_H

/*
 * For suites of operators: device memory to make tensors of.
 */

#include <string.h>

#include "support/acl_test.h"

/** device_memory: zeros. */
static inline void *device_memory(size_t bytes)
{
    void *memory = NULL;
    WORKS(aclrtMalloc(&memory, bytes == 0 ? 1 : bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(memory, 0, bytes);
    return memory;
}

#endif
