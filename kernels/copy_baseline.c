// Copying in 16-byte registers, which every processor that we build for has.

#if defined(__x86_64__)
#include <emmintrin.h>
#define COPY_STREAM(to, v) _mm_stream_si128((void *)(to), (__m128i)(v))
#else
#define COPY_STREAM(to, v) (*(copy_vec *)(void *)(to) = (v))
#endif
#define COPY_BYTES 16
#include "kernels/copy_simd.h"

static bool usable(const struct rp_cpu *cpu)
{
    (void)cpu;
    return true;
}

const struct rp_copy_impl rp_copy_baseline = {
    .usable = usable,
    .cached = copy_cached,
    .streamed = copy_streamed,
};
