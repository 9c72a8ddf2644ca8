#ifndef TESTS_SUPPORT_KERNEL_CASE_H
#define TESTS_SUPPORT_KERNEL_CASE_H

/*
 * For suites of kernels: the binaries of tests/modules, and their bytes.
 */

#include <stdio.h>
#include <stdlib.h>

#include "support/acl_test.h"

#define MODULE_KERNELS RP_TEST_BINARY_DIR "/tests/modules/module_kernels.so"
#define MODULE_RESIDENT RP_TEST_BINARY_DIR "/tests/modules/module_resident.so"

/** read_module: the bytes of a file, to be freed. */
static inline void *read_module(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    cr_assert(ne(ptr, file, NULL), "%s cannot be opened", path);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    void *data = malloc(*bytes);
    cr_assert(eq(sz, fread(data, 1, *bytes, file), *bytes));
    fclose(file);
    return data;
}

/** load_module: a binary of tests/modules, from its file. */
static inline aclrtBinHandle load_module(void)
{
    aclrtBinHandle binary = NULL;
    WORKS(aclrtBinaryLoadFromFile(MODULE_KERNELS, NULL, &binary));
    return binary;
}

static inline aclrtFuncHandle get_kernel(aclrtBinHandle binary, const char *name)
{
    aclrtFuncHandle function = NULL;
    WORKS(aclrtBinaryGetFunction(binary, name, &function));
    cr_assert(ne(ptr, function, NULL));
    return function;
}

#endif
