#ifndef TESTS_SUPPORT_TASK_CASE_H
#define TESTS_SUPPORT_TASK_CASE_H

/*
 * Kernels that scale and shift floats of device memory, and the check of what they
 * wrote: for suites of task groups and of the parameters of tasks.
 */

#include <reprise/kernel.h>

#include "support/acl_test.h"

#define ELEMENTS 100
#define BYTES (ELEMENTS * sizeof(float))
#define GLOBAL ACL_MODEL_RI_CAPTURE_MODE_GLOBAL

struct work {
    const float *in;
    float *out;
    float factor;
};

static aclrtStream a, b;
static float *in[2], *out[2]; /* device memory */
static aclrtFuncHandle scale_kernel, shift_kernel;

static inline void scale(void *args, uint32_t block, uint32_t blocks)
{
    const struct work *work = args;
    for (uint32_t i = block; i < ELEMENTS; i += blocks) {
        work->out[i] = work->in[i] * work->factor;
    }
}

static inline void shift(void *args, uint32_t block, uint32_t blocks)
{
    const struct work *work = args;
    for (uint32_t i = block; i < ELEMENTS; i += blocks) {
        work->out[i] = work->in[i] + work->factor;
    }
}

/** poison: what no kernel writes, into both outputs. */
static inline void poison(void)
{
    for (int e = 0; e < ELEMENTS; e++) {
        out[0][e] = -1.0f;
        out[1][e] = -1.0f;
    }
}

static inline void work_setup(void)
{
    on_device();
    WORKS(aclrtCreateStream(&a));
    WORKS(aclrtCreateStream(&b));
    for (int i = 0; i < 2; i++) {
        WORKS(aclrtMalloc((void **)&in[i], BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
        WORKS(aclrtMalloc((void **)&out[i], BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
        for (int e = 0; e < ELEMENTS; e++) {
            in[i][e] = (float)(e + 1000 * i);
        }
    }
    poison();
    WORKS(reprise_kernel_register("scale", scale, &scale_kernel));
    WORKS(reprise_kernel_register("shift", shift, &shift_kernel));
}

/** work_teardown: the last thing of a suite: the device is reset. */
static inline void work_teardown(void)
{
    for (int i = 0; i < 2; i++) {
        WORKS(aclrtFree(in[i]));
        WORKS(aclrtFree(out[i]));
    }
    WORKS(aclrtDestroyStream(a));
    WORKS(aclrtDestroyStream(b));
    WORKS(reprise_kernel_unregister(scale_kernel));
    WORKS(reprise_kernel_unregister(shift_kernel));
    WORKS(aclrtResetDevice(0));
}

static inline aclError launch_blocks(
        aclrtStream stream, aclrtFuncHandle kernel, uint32_t blocks, int from, int to, float factor)
{
    const struct work work = { in[from], out[to], factor };
    return aclrtLaunchKernel(kernel, blocks, &work, sizeof(work), stream);
}

static inline void expect_scaled(int from, int to, float factor)
{
    for (int e = 0; e < ELEMENTS; e++) {
        cr_assert(eq(flt, out[to][e], in[from][e] * factor), "element %d", e);
    }
}

static inline void expect_untouched(int to)
{
    for (int e = 0; e < ELEMENTS; e++) {
        cr_assert(eq(flt, out[to][e], -1.0f), "element %d", e);
    }
}

static inline void count_call(void *arg)
{
    ++*(int *)arg;
}

#endif
