// Reductions in AVX2, with F16C for fp16: 32-byte registers.

#include <immintrin.h>

#define SIMD_BYTES 32
#include "kernels/reduce_simd.h"

static FOLD_INLINE full_f32 fp16_widen(half_u16 bits)
{
    return (full_f32)_mm256_cvtph_ps((__m128i)bits);
}

static FOLD_INLINE half_u16 fp16_narrow(full_f32 v)
{
    return (half_u16)_mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// Reading back in one piece what was just written in several stalls for some 12 ns. So whole 32-bit
// lanes are loaded under a mask; stores go in pieces, since masked ones are slow on AMD processors.

static __attribute__((noinline)) full_u8 full_load_part(const void *from, size_t bytes)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    full_u8 v = { 0 };

    if (bytes % 4 == 0) {
        const __m256i wanted = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(bytes / 4)), lane);
        return (full_u8)_mm256_maskload_epi32(from, wanted);
    }
    part_copy(&v, from, bytes);
    return v;
}

static __attribute__((noinline)) void full_store_part(void *to, full_u8 v, size_t bytes)
{
    part_copy(to, &v, bytes);
}

static __attribute__((noinline)) half_u16 half_load_part(const void *from, size_t bytes)
{
    const __m128i lane = _mm_setr_epi32(0, 1, 2, 3);
    half_u16 v = { 0 };

    if (bytes % 4 == 0) {
        const __m128i wanted = _mm_cmpgt_epi32(_mm_set1_epi32((int)(bytes / 4)), lane);
        return (half_u16)_mm_maskload_epi32(from, wanted);
    }
    part_copy(&v, from, bytes);
    return v;
}

static __attribute__((noinline)) void half_store_part(void *to, half_u16 v, size_t bytes)
{
    part_copy(to, &v, bytes);
}

static FOLD_INLINE void full_stream(void *to, full_u8 v)
{
    _mm256_stream_si256(to, (__m256i)v);
}

static FOLD_INLINE void half_stream(void *to, half_u16 v)
{
    _mm_stream_si128(to, (__m128i)v);
}

static bool usable(const struct rp_cpu *cpu)
{
    return cpu->avx2;
}

const struct rp_reduce_impl rp_reduce_avx2 = {
    .isa = "avx2",
    .usable = usable,
    .fold = SIMD_TABLE,
};
