// Copies and fills: every size around a boundary, every alignment, and nothing beside the target.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/copy.h"
#include "kernels/copy_impl.h"

#define GUARD 128
#define BYTES_MAX 5000
#define ARRAY_BYTES (GUARD + BYTES_MAX + GUARD)

static _Alignas(64) uint8_t from[ARRAY_BYTES];
static _Alignas(64) uint8_t to[ARRAY_BYTES];
static uint8_t want[ARRAY_BYTES];

static void fill_arrays(void)
{
    for (size_t i = 0; i < ARRAY_BYTES; i++) {
        from[i] = (uint8_t)(i * 7 + i / 256);
        to[i] = (uint8_t)~from[i];
    }
    memcpy(want, to, sizeof want);
}

static void expect_copy(void (*copy)(void *dst, const void *src, size_t bytes), size_t dst_at,
        size_t src_at, size_t bytes)
{
    memcpy(to, want, sizeof to);
    copy(to + dst_at, from + src_at, bytes);
    cr_assert(memcmp(to + dst_at, from + src_at, bytes) == 0, "%zu bytes from %zu to %zu", bytes,
            src_at, dst_at);
    cr_assert(memcmp(to, want, dst_at) == 0 && memcmp(to + dst_at + bytes, want + dst_at + bytes,
                                                       ARRAY_BYTES - dst_at - bytes) == 0,
            "%zu bytes from %zu to %zu: wrote outside", bytes, src_at, dst_at);
}

Test(copy, copies_every_small_size)
{
    fill_arrays();
    for (size_t bytes = 0; bytes <= 600; bytes++) {
        expect_copy(rp_copy, GUARD, GUARD, bytes);
        expect_copy(rp_copy, GUARD + bytes % 64, GUARD + bytes / 7 % 64, bytes);
        expect_copy(rp_copy_stream, GUARD + bytes % 64, GUARD + bytes / 7 % 64, bytes);
    }
}

Test(copy, copies_at_every_alignment)
{
    fill_arrays();
    for (size_t at = 0; at < 64; at++) {
        expect_copy(rp_copy, at, GUARD, BYTES_MAX);
        expect_copy(rp_copy, GUARD, at, BYTES_MAX - 1);
        expect_copy(rp_copy_stream, at, 3, BYTES_MAX);
        expect_copy(rp_copy_stream, GUARD, at, BYTES_MAX - 1);
    }
}

// Both arrays end where the next page cannot be touched: an overrun crashes.
Test(copy, touches_nothing_past_the_end)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *end[2];

    for (size_t a = 0; a < 2; a++) {
        uint8_t *base =
                mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        cr_assert(base != MAP_FAILED);
        cr_assert(mprotect(base + page, page, PROT_NONE) == 0);
        end[a] = base + page;
    }
    for (size_t bytes = 0; bytes < 600; bytes++) {
        rp_copy(end[0] - bytes, end[1] - bytes, bytes);
        rp_copy_stream(end[0] - bytes, end[1] - bytes, bytes);
    }
}

// The wide registers usually hide the narrow ones.
Test(copy, every_register_width_copies)
{
    static const struct rp_copy_impl *const impls[] = {
#if defined(__x86_64__)
        &rp_copy_avx2,
#endif
        &rp_copy_baseline,
    };
    struct rp_cpu cpu;

    rp_cpu_detect(&cpu);
    fill_arrays();
    for (size_t i = 0; i < sizeof impls / sizeof impls[0]; i++) {
        for (size_t bytes = RP_COPY_MIN; bytes < 600 && impls[i]->usable(&cpu); bytes++) {
            expect_copy(impls[i]->cached, bytes % 64, GUARD, bytes);
            expect_copy(impls[i]->streamed, bytes % 64, GUARD, bytes);
            rp_stream_fence();
        }
    }
}

Test(copy, leaves_a_copy_onto_itself_alone)
{
    fill_arrays();
    rp_copy(to, to, ARRAY_BYTES);
    rp_copy_stream(to, to, ARRAY_BYTES);
    cr_assert(memcmp(to, want, ARRAY_BYTES) == 0);
}

Test(copy, copies_what_exceeds_the_caches)
{
    const size_t bytes = RP_STREAM_BYTES / 2 + 4099;
    uint32_t *src = malloc(bytes + 8);
    uint8_t *dst = malloc(bytes + 8);

    cr_assert(src != NULL && dst != NULL);
    for (size_t i = 0; i < bytes / 4 + 1; i++) {
        src[i] = (uint32_t)i * 2654435761u;
    }
    memset(dst, 0, bytes + 8);
    rp_copy(dst + 3, (const uint8_t *)src + 1, bytes);
    cr_assert(memcmp(dst + 3, (const uint8_t *)src + 1, bytes) == 0);
    cr_assert(dst[2] == 0 && dst[bytes + 3] == 0);
    free(dst);
    free(src);
}

Test(copy, fills_the_range_and_nothing_else)
{
    static const size_t sizes[] = { 0, 1, 31, 64, 65, 4097 };

    fill_arrays();
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        memcpy(to, want, sizeof to);
        rp_fill(to + GUARD + 1, 0x1a5, sizes[k]);
        for (size_t i = 0; i < ARRAY_BYTES; i++) {
            const bool inside = i > GUARD && i <= GUARD + sizes[k];
            cr_assert(to[i] == (inside ? 0xa5 : want[i]), "%zu bytes, [%zu]", sizes[k], i);
        }
    }
}

// Element [row][column] of an area that starts at `base`.
static size_t cell(size_t base, size_t pitch, size_t row, size_t column)
{
    return base + row * pitch + column;
}

static void expect_rows(size_t dst_pitch, size_t src_pitch, size_t width, size_t height)
{
    memcpy(to, want, sizeof to);
    rp_copy_2d(to + GUARD, dst_pitch, from + 5, src_pitch, width, height);
    for (size_t i = 0; i < ARRAY_BYTES; i++) {
        const size_t row = i >= GUARD ? (i - GUARD) / dst_pitch : height;
        const size_t column = i >= GUARD ? (i - GUARD) % dst_pitch : 0;
        const bool inside = row < height && column < width;
        const uint8_t byte = inside ? from[cell(5, src_pitch, row, column)] : want[i];
        cr_assert(to[i] == byte, "pitches %zu and %zu, %zu x %zu: [%zu]", dst_pitch, src_pitch,
                width, height, i);
    }
}

Test(copy, copies_rows_and_leaves_the_gaps)
{
    fill_arrays();
    expect_rows(100, 70, 64, 9);
    expect_rows(64, 200, 64, 9);
    expect_rows(200, 33, 33, 20);
    expect_rows(48, 48, 48, 50); // no gaps: one copy
    expect_rows(48, 48, 40, 50);
    expect_rows(10, 10, 0, 5);
    expect_rows(10, 10, 10, 0);
    expect_rows(3000, 4000, 1, 1);
}
