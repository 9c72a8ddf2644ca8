// Small copies in place, larger ones by the widest registers of this processor.

#include "kernels/copy.h"

#include <stdatomic.h>
#include <string.h>

#include "kernels/copy_impl.h"

static const struct rp_copy_impl *const impls[] = {
#if defined(__x86_64__)
    &rp_copy_avx2,
#endif
    &rp_copy_baseline,
};

// NULL until the first larger copy. Every thread that finds NULL computes the same answer.
static const struct rp_copy_impl *_Atomic chosen;

static const struct rp_copy_impl *choose(void)
{
    size_t i = 0;
    struct rp_cpu cpu;

    rp_cpu_detect(&cpu);
    while (i + 1 < sizeof impls / sizeof impls[0] && !impls[i]->usable(&cpu)) {
        i++; // the last one needs no asking
    }
    // relaxed: it points to constant data that no one has written.
    atomic_store_explicit(&chosen, impls[i], memory_order_relaxed);
    return impls[i];
}

static const struct rp_copy_impl *impl(void)
{
    // relaxed: as in choose().
    const struct rp_copy_impl *known = atomic_load_explicit(&chosen, memory_order_relaxed);

    return known != NULL ? known : choose();
}

// The first and the last `width` bytes, which together are all when `width` is half or more. The
// width is a constant at every call, so that no memcpy() is left.
#define COPY_ENDS(width)                            \
    do {                                            \
        unsigned char first[width];                 \
        unsigned char last[width];                  \
        memcpy(first, src, width);                  \
        memcpy(last, src + bytes - (width), width); \
        memcpy(dst, first, width);                  \
        memcpy(dst + bytes - (width), last, width); \
    } while (0)

static inline void copy_small(char *dst, const char *src, size_t bytes)
{
    if (bytes >= 64) {
        COPY_ENDS(64);
    } else if (bytes >= 32) {
        COPY_ENDS(32);
    } else if (bytes >= 16) {
        COPY_ENDS(16);
    } else if (bytes >= 8) {
        COPY_ENDS(8);
    } else if (bytes >= 4) {
        COPY_ENDS(4);
    } else if (bytes >= 2) {
        COPY_ENDS(2);
    } else if (bytes == 1) {
        *dst = *src;
    }
}

void rp_copy(void *dst, const void *src, size_t bytes)
{
    if (dst == src) {
        return;
    }
    if (bytes < RP_COPY_MIN) {
        copy_small(dst, src, bytes);
    } else if (bytes < RP_STREAM_BYTES / 2) {
        impl()->cached(dst, src, bytes);
    } else {
        rp_copy_stream(dst, src, bytes);
    }
}

void rp_copy_stream(void *dst, const void *src, size_t bytes)
{
    if (dst == src) {
        return;
    }
    if (bytes < RP_COPY_MIN) {
        copy_small(dst, src, bytes);
        return;
    }
    impl()->streamed(dst, src, bytes);
    rp_stream_fence();
}

void rp_fill(void *dst, int value, size_t bytes)
{
    memset(dst, value, bytes);
}

void rp_copy_2d(
        void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height)
{
    if (dst_pitch == width && src_pitch == width) {
        rp_copy(dst, src, width * height);
        return;
    }
    for (size_t row = 0; row < height; row++) {
        rp_copy((char *)dst + row * dst_pitch, (const char *)src + row * src_pitch, width);
    }
}
