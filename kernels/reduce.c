// Which implementation runs, and what is the same for all of them.

#include "kernels/reduce.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "kernels/copy.h"
#include "kernels/float_env.h"

const struct rp_reduce_impl *const rp_reduce_impls[] = {
#if defined(__x86_64__)
    &rp_reduce_avx512,
    &rp_reduce_avx2,
#elif defined(__aarch64__)
    &rp_reduce_neon,
#endif
    &rp_reduce_scalar,
    NULL,
};

const struct rp_reduce_impl *rp_reduce_select(const char *isa)
{
    const bool any = strcmp(isa, "auto") == 0;
    struct rp_cpu cpu;

    rp_cpu_detect(&cpu);
    for (const struct rp_reduce_impl *const *impl = rp_reduce_impls; *impl != NULL; impl++) {
        if ((any || strcmp(isa, (*impl)->isa) == 0) && (*impl)->usable(&cpu)) {
            return *impl;
        }
    }
    return NULL;
}

static bool is_float(enum rp_dtype dtype)
{
    return dtype == RP_DTYPE_FP32 || dtype == RP_DTYPE_BFP16 || dtype == RP_DTYPE_FP16 ||
           dtype == RP_DTYPE_FP64;
}

static void run(const struct rp_reduce_impl *impl, enum rp_dtype dtype, enum rp_reduce_op op,
        void *const *dsts, unsigned dst_count, const void *const *srcs, unsigned src_count,
        size_t first, size_t end, bool stream)
{
    rp_reduce_fn *const fold = impl->fold[dtype][op];

    if (!is_float(dtype)) {
        fold(dsts, dst_count, srcs, src_count, first, end, stream);
        return;
    }
    const uint64_t env = rp_float_env_enter();
    fold(dsts, dst_count, srcs, src_count, first, end, stream);
    rp_float_env_leave(env);
}

// One source: its bits, whatever they mean.
static void copy_to_all(void *const *dsts, unsigned dst_count, const void *src, size_t bytes,
        void (*copy)(void *dst, const void *src, size_t bytes))
{
    for (unsigned d = 0; d < dst_count; d++) {
        copy(dsts[d], src, bytes);
    }
}

void rp_reduce(const struct rp_reduce_impl *impl, enum rp_dtype dtype, enum rp_reduce_op op,
        void *const *dsts, unsigned dst_count, const void *const *srcs, unsigned src_count,
        size_t count)
{
    assert(rp_dtype_reducible(dtype) && (unsigned)op < RP_REDUCE_OPS && src_count > 0);
    if (src_count == 1) {
        copy_to_all(dsts, dst_count, srcs[0], count * rp_dtype_bytes(dtype), rp_copy);
        return;
    }
    run(impl, dtype, op, dsts, dst_count, srcs, src_count, 0, count, false);
}

// Elements before the first at which every destination is aligned; SIZE_MAX where there is none.
static size_t count_to_alignment(void *const *dsts, unsigned dst_count, size_t element_bytes)
{
    const size_t misaligned = (uintptr_t)dsts[0] % RP_STREAM_ALIGN;
    const size_t bytes = (RP_STREAM_ALIGN - misaligned) % RP_STREAM_ALIGN;

    for (unsigned d = 1; d < dst_count; d++) {
        if ((uintptr_t)dsts[d] % RP_STREAM_ALIGN != misaligned) {
            return SIZE_MAX;
        }
    }
    return bytes % element_bytes == 0 ? bytes / element_bytes : SIZE_MAX;
}

void rp_reduce_stream(const struct rp_reduce_impl *impl, enum rp_dtype dtype, enum rp_reduce_op op,
        void *const *dsts, unsigned dst_count, const void *const *srcs, unsigned src_count,
        size_t count)
{
    assert(rp_dtype_reducible(dtype) && (unsigned)op < RP_REDUCE_OPS && src_count > 0);
    const size_t element_bytes = rp_dtype_bytes(dtype);
    if (src_count == 1) {
        copy_to_all(dsts, dst_count, srcs[0], count * element_bytes, rp_copy_stream);
        return;
    }
    if (dst_count == 0) {
        return;
    }
    const size_t head = count_to_alignment(dsts, dst_count, element_bytes);
    if (head >= count) {
        rp_reduce(impl, dtype, op, dsts, dst_count, srcs, src_count, count);
        return;
    }
    run(impl, dtype, op, dsts, dst_count, srcs, src_count, 0, head, false);
    run(impl, dtype, op, dsts, dst_count, srcs, src_count, head, count, true);
    rp_stream_fence();
}
