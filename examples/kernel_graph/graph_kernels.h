/* The arguments of the kernel, for both sides of a launch. */
#ifndef GRAPH_KERNELS_H
#define GRAPH_KERNELS_H

#include <stdint.h>

struct saxpy_args {
    const float *x;
    float *y;
    uint32_t count;
    float a;
};

#endif
