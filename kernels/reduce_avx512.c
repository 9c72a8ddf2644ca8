// Reductions in AVX-512 (F, BW, DQ, VL): 64-byte registers, remainders by byte masks.

#include <immintrin.h>

#define SIMD_BYTES 64
#include "kernels/reduce_simd.h"

static inline full_u8 full_load_part(const void *from, size_t bytes)
{
    return (full_u8)_mm512_maskz_loadu_epi8(((__mmask64)1 << bytes) - 1, from);
}

static inline void full_store_part(void *to, full_u8 v, size_t bytes)
{
    _mm512_mask_storeu_epi8(to, ((__mmask64)1 << bytes) - 1, (__m512i)v);
}

static inline half_u16 half_load_part(const void *from, size_t bytes)
{
    return (half_u16)_mm256_maskz_loadu_epi8(((__mmask32)1 << bytes) - 1, from);
}

static inline void half_store_part(void *to, half_u16 v, size_t bytes)
{
    _mm256_mask_storeu_epi8(to, ((__mmask32)1 << bytes) - 1, (__m256i)v);
}

static FOLD_INLINE full_f32 fp16_widen(half_u16 bits)
{
    return (full_f32)_mm512_cvtph_ps((__m256i)bits);
}

static FOLD_INLINE half_u16 fp16_narrow(full_f32 v)
{
    return (half_u16)_mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static FOLD_INLINE void full_stream(void *to, full_u8 v)
{
    _mm512_stream_si512(to, (__m512i)v);
}

static FOLD_INLINE void half_stream(void *to, half_u16 v)
{
    _mm256_stream_si256(to, (__m256i)v);
}

static bool usable(const struct rp_cpu *cpu)
{
    return cpu->avx512;
}

const struct rp_reduce_impl rp_reduce_avx512 = {
    .isa = "avx512",
    .usable = usable,
    .fold = SIMD_TABLE,
};
