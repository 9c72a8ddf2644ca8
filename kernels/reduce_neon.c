// Reductions in AArch64's Advanced SIMD: 16-byte registers. Converting fp16 is
// in the baseline; computing in it is not, and is not wanted.

#include <arm_neon.h>

#define SIMD_BYTES 16
#include "kernels/reduce_simd.h"

static FOLD_INLINE full_f32 fp16_widen(half_u16 bits)
{
    return (full_f32)vcvt_f32_f16((float16x4_t)bits);
}

static FOLD_INLINE half_u16 fp16_narrow(full_f32 v)
{
    return (half_u16)vcvt_f16_f32((float32x4_t)v);
}

static __attribute__((noinline)) full_u8 full_load_part(const void *from, size_t bytes)
{
    full_u8 v = { 0 };

    part_copy(&v, from, bytes);
    return v;
}

static __attribute__((noinline)) void full_store_part(void *to, full_u8 v, size_t bytes)
{
    part_copy(to, &v, bytes);
}

static __attribute__((noinline)) half_u16 half_load_part(const void *from, size_t bytes)
{
    half_u16 v = { 0 };

    part_copy(&v, from, bytes);
    return v;
}

static __attribute__((noinline)) void half_store_part(void *to, half_u16 v, size_t bytes)
{
    part_copy(to, &v, bytes);
}

// There is no intrinsic for STNP, and it is a weak hint: streaming stores are ordinary ones.
static FOLD_INLINE void full_stream(void *to, full_u8 v)
{
    *(full_u8 *)to = v;
}

static FOLD_INLINE void half_stream(void *to, half_u16 v)
{
    *(half_u16 *)to = v;
}

static bool usable(const struct rp_cpu *cpu)
{
    return cpu->neon;
}

const struct rp_reduce_impl rp_reduce_neon = {
    .isa = "neon",
    .usable = usable,
    .fold = SIMD_TABLE,
};
