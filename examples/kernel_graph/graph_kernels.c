/* A binary with one kernel: y = y + a * x, shared between the blocks. */
#include <reprise/kernel.h>

#include "graph_kernels.h"

REPRISE_KERNEL(saxpy)
{
    const struct saxpy_args *s = (const struct saxpy_args *)args;
    for (uint32_t i = block; i < s->count; i += blocks) {
        s->y[i] += s->a * s->x[i];
    }
}
