#ifndef REPRISE_KERNELS_COPY_IMPL_H
#define REPRISE_KERNELS_COPY_IMPL_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/cpu_features.h"

#define RP_COPY_LINE 64
#define RP_COPY_MIN 128

/* One register width. Both copy at least RP_COPY_MIN bytes; `streamed` leaves the fence to its
 * caller. */
struct rp_copy_impl {
    bool (*usable)(const struct rp_cpu *cpu);
    void (*cached)(void *dst, const void *src, size_t bytes);
    void (*streamed)(void *dst, const void *src, size_t bytes);
};

extern const struct rp_copy_impl rp_copy_avx2;
extern const struct rp_copy_impl rp_copy_baseline;

#endif
