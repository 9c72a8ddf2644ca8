#ifndef REPRISE_KERNELS_COPY_SIMD_H
#define REPRISE_KERNELS_COPY_SIMD_H

/*
 * Copying with the compiler's vector types, for any register width. A file
 * defines COPY_BYTES and COPY_STREAM(to, v), a streaming store to an aligned
 * address, includes this file, and has copy_cached() and copy_streamed().
 *
 * Both copy one block wherever the destination begins, continue from the next
 * cache line, and end with a block that overlaps what was already copied, so
 * that no loop over single bytes is left. Aligned stores are worth it even
 * when every load is then misaligned: half as fast without, from 4 MiB on.
 */

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/copy_impl.h"

typedef unsigned char copy_vec __attribute__((vector_size(COPY_BYTES)));
typedef copy_vec copy_mem __attribute__((aligned(1), may_alias));

static_assert(4 * COPY_BYTES >= RP_COPY_LINE && 4 * COPY_BYTES <= RP_COPY_MIN, "one block fits");

#define COPY_INLINE static inline __attribute__((always_inline))

#define COPY_BLOCK (4 * COPY_BYTES)

COPY_INLINE copy_vec copy_load(const char *from)
{
    return *(const copy_mem *)from;
}

COPY_INLINE void copy_store(char *to, copy_vec v, bool stream)
{
    if (stream) {
        COPY_STREAM(to, v);
    } else {
        *(copy_mem *)to = v;
    }
}

COPY_INLINE void copy_block(char *to, const char *from, bool stream)
{
    const copy_vec a = copy_load(from);
    const copy_vec b = copy_load(from + COPY_BYTES);
    const copy_vec c = copy_load(from + 2 * COPY_BYTES);
    const copy_vec d = copy_load(from + 3 * COPY_BYTES);

    copy_store(to, a, stream);
    copy_store(to + COPY_BYTES, b, stream);
    copy_store(to + 2 * COPY_BYTES, c, stream);
    copy_store(to + 3 * COPY_BYTES, d, stream);
}

COPY_INLINE void copy_blocks(char *to, const char *from, size_t bytes, bool stream)
{
    const size_t head = RP_COPY_LINE - (uintptr_t)to % RP_COPY_LINE;

    copy_block(to, from, false);
    to += head;
    from += head;
    bytes -= head;
    for (; bytes > COPY_BLOCK; bytes -= COPY_BLOCK) {
        copy_block(to, from, stream);
        to += COPY_BLOCK;
        from += COPY_BLOCK;
    }
    copy_block(to + bytes - COPY_BLOCK, from + bytes - COPY_BLOCK, false);
}

static void copy_cached(void *dst, const void *src, size_t bytes)
{
    copy_blocks(dst, src, bytes, false);
}

static void copy_streamed(void *dst, const void *src, size_t bytes)
{
    copy_blocks(dst, src, bytes, true);
}

#endif
