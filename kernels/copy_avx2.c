// Copying in AVX2. AVX-512 was measured too and gains nothing over it.

#include <immintrin.h>

#define COPY_BYTES 32
#define COPY_STREAM(to, v) _mm256_stream_si256((void *)(to), (__m256i)(v))
#include "kernels/copy_simd.h"

static bool usable(const struct rp_cpu *cpu)
{
    return cpu->avx2;
}

const struct rp_copy_impl rp_copy_avx2 = {
    .usable = usable,
    .cached = copy_cached,
    .streamed = copy_streamed,
};
