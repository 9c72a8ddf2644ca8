#ifndef REPRISE_KERNELS_COPY_H
#define REPRISE_KERNELS_COPY_H

/*
 * Copies and fills of device memory.
 *
 * Not memcpy(): from a few KiB on, glibc 2.36 leaves a copy to the processor's
 * `rep movsb`, which on Zen 3 and 4 drops from 50 to 3.5 GB/s for some
 * alignments (a destination 8 bytes further into its page than the source is
 * one), and the slices of a collective have all alignments.
 */

#include <stddef.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/*
 * Bytes read and written, by all ranks of a node together, from which an
 * operation is quicker with streaming stores: roughly a last-level cache
 * (measured with 32 MiB). The size that the system reports is no guide: in
 * virtual machines it is often the whole host's.
 */
#define RP_STREAM_BYTES ((size_t)32 << 20)

/* Alignment of the first streaming store: the widest register. */
#define RP_STREAM_ALIGN 64

/** rp_stream_fence: streaming stores of this thread before it, ordinary stores after it. */
static inline void rp_stream_fence(void)
{
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

/**
 * rp_copy: copy `bytes` from `src` to `dst`, of any alignment, which are equal
 * or do not overlap. Streams by itself when one copy alone exceeds
 * RP_STREAM_BYTES, reads and writes together.
 */
void rp_copy(void *dst, const void *src, size_t bytes);

/**
 * rp_copy_stream: rp_copy() with stores that go around the caches, for a piece
 * of an operation that exceeds RP_STREAM_BYTES as a whole. When it returns,
 * the stores are ordered like ordinary ones.
 */
void rp_copy_stream(void *dst, const void *src, size_t bytes);

/** rp_fill: set `bytes` bytes to the low byte of `value`. */
void rp_fill(void *dst, int value, size_t bytes);

/**
 * rp_copy_2d: copy `height` rows of `width` bytes, whose starts are `dst_pitch`
 * and `src_pitch` bytes apart (at least `width`). The two areas do not overlap.
 */
void rp_copy_2d(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
        size_t height);

#endif
