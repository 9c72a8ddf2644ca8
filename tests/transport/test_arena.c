#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/util.h"
#include "support/child.h"
#include "transport/arena.h"
#include "transport/arena_limits.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)

static struct rp_arena *arena_of(const char *memory)
{
    struct rp_arena *arena = NULL;
    setenv("REPRISE_DEVICE_MEMORY", memory, 1);
    cr_assert(eq(int, rp_arena_create(0, &arena), RP_OK));
    return arena;
}

static void *get(struct rp_arena *arena, size_t bytes)
{
    void *ptr = NULL;
    cr_assert(eq(int, rp_arena_alloc(arena, bytes, 64, RP_ARENA_DEVICE, &ptr), RP_OK));
    return ptr;
}

static void put(struct rp_arena *arena, void *ptr)
{
    cr_assert(eq(int, rp_arena_free(arena, ptr, RP_ARENA_DEVICE), RP_OK));
}

static uint64_t free_bytes(struct rp_arena *arena)
{
    struct rp_arena_info info;
    rp_arena_query(arena, &info);
    return info.free_bytes;
}

// Bytes of the file that have pages.
static uint64_t pages_bytes(const struct rp_arena *arena)
{
    struct stat file;
    cr_assert(eq(int, fstat(rp_arena_fd(arena), &file), 0));
    return (uint64_t)file.st_blocks * 512;
}

static void assert_sentence(const char *part)
{
    const char *sentence = rp_error_take();
    cr_assert(ne(ptr, (void *)(uintptr_t)sentence, NULL));
    cr_assert(ne(ptr, strstr(sentence, part), NULL), "\"%s\" in \"%s\"", part, sentence);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

// ---- allocation ----

struct piece {
    uint8_t *ptr;
    size_t bytes;
    enum rp_arena_kind kind;
    uint8_t mark;
};

static void random_piece(
        struct rp_arena *arena, uint64_t *random, struct piece *piece, unsigned *refused)
{
    // Small, medium and large; sizes near the boundaries of each come up too.
    uint64_t shift = next_random(random) % 22;
    size_t bytes = 1 + next_random(random) % (UINT64_C(2) << shift);
    size_t align = (size_t)64 << next_random(random) % 9;
    enum rp_arena_kind kind = next_random(random) % 2 ? RP_ARENA_DEVICE : RP_ARENA_HOST;
    void *ptr;
    rp_status st = rp_arena_alloc(arena, bytes, align, kind, &ptr);
    if (st != RP_OK) {
        cr_assert(eq(int, st, RP_ENOMEM));
        (*refused)++;
        return;
    }
    cr_assert(eq(u64, (uintptr_t)ptr % align, 0));
    *piece = (struct piece){ ptr, bytes, kind, (uint8_t)next_random(random) };
    memset(ptr, piece->mark, bytes);
}

// Another allocation that overlapped would have written its own mark.
static void check_piece(struct rp_arena *arena, const struct piece *piece)
{
    void *start;
    size_t bytes;
    enum rp_arena_kind kind;
    size_t same = 0;
    while (same < piece->bytes && piece->ptr[same] == piece->mark) {
        same++;
    }
    cr_assert(eq(sz, same, piece->bytes)); // else byte `same` was overwritten
    cr_assert(rp_arena_block(arena, piece->ptr + piece->bytes - 1, &start, &bytes, &kind));
    cr_assert(eq(ptr, start, piece->ptr));
    cr_assert(ge(sz, bytes, piece->bytes));
    cr_assert(eq(int, kind, piece->kind));
}

Test(arena, random_allocations_never_overlap_and_leave_one_free_block, .timeout = 120)
{
    enum { PIECES = 200 };
    static struct piece piece[PIECES];
    struct rp_arena *arena = arena_of("64M");
    uint64_t random = 11;
    unsigned refused = 0;
    for (int step = 0; step < 8000; step++) {
        struct piece *one = &piece[next_random(&random) % PIECES];
        if (one->ptr == NULL) {
            random_piece(arena, &random, one, &refused);
        } else {
            check_piece(arena, one);
            cr_assert(eq(int, rp_arena_free(arena, one->ptr, one->kind), RP_OK));
            one->ptr = NULL;
        }
    }
    cr_assert(gt(uint, refused, 0)); // it was full at times
    for (int i = 0; i < PIECES; i++) {
        if (piece[i].ptr != NULL) {
            check_piece(arena, &piece[i]);
            cr_assert(eq(int, rp_arena_free(arena, piece[i].ptr, piece[i].kind), RP_OK));
        }
    }
    void *all = get(arena, 64 * MIB); // all pieces have become one again
    put(arena, all);
    cr_assert(eq(u64, free_bytes(arena), 64 * MIB));
    cr_assert(eq(u64, pages_bytes(arena), 0));
    rp_arena_destroy(arena);
}

Test(arena, sizes_around_each_boundary)
{
    static const size_t sizes[] = { 1, 63, 64, 65, 4095, 4096, 4097, 32767, 32768, 32769, 65535,
        65536, 65537, 2097151, 2097152, 2097153 };
    struct rp_arena *arena = arena_of("64M");
    for (size_t i = 0; i < RP_ARRAY_LENGTH(sizes); i++) {
        uint8_t *ptr = get(arena, sizes[i]);
        memset(ptr, 1, sizes[i]);
        put(arena, ptr);
    }
    rp_arena_destroy(arena);
}

Test(arena, wide_alignments)
{
    struct rp_arena *arena = arena_of("64M");
    for (size_t align = 64; align <= 16 * MIB; align *= 2) {
        void *ptr;
        cr_assert(eq(int, rp_arena_alloc(arena, 100, align, RP_ARENA_DEVICE, &ptr), RP_OK));
        cr_assert(eq(u64, (uintptr_t)ptr % align, 0));
        put(arena, ptr);
    }
    void *ptr;
    size_t absurd = (size_t)1 << 62;
    cr_assert(eq(int, rp_arena_alloc(arena, 100, absurd, RP_ARENA_DEVICE, &ptr), RP_ENOMEM));
    rp_arena_destroy(arena);
}

Test(arena, exhaustion_is_an_error_that_says_what_to_change)
{
    struct rp_arena *arena = arena_of("16M");
    void *ptr[16];
    void *more = NULL;
    for (int i = 0; i < 16; i++) {
        ptr[i] = get(arena, MIB);
        memset(ptr[i], i, MIB);
    }
    cr_assert(eq(int, rp_arena_alloc(arena, 64, 64, RP_ARENA_DEVICE, &more), RP_ENOMEM));
    cr_assert(eq(int, rp_arena_alloc(arena, MIB, 64, RP_ARENA_DEVICE, &more), RP_ENOMEM));
    assert_sentence("1048576 bytes are needed, 0 of 16777216 are left");
    cr_assert(eq(int, rp_arena_alloc(arena, SIZE_MAX, 64, RP_ARENA_DEVICE, &more), RP_ENOMEM));
    assert_sentence("REPRISE_DEVICE_MEMORY");
    cr_assert(eq(ptr, more, NULL));
    put(arena, ptr[3]);
    more = get(arena, MIB);
    rp_arena_destroy(arena);
}

// Small pieces that are kept for the next small allocation do not stand in the way of a large one.
Test(arena, empty_slabs_are_given_back_when_room_is_short)
{
    struct rp_arena *arena = arena_of("16M");
    for (size_t bytes = 64; bytes <= 32768; bytes *= 2) {
        put(arena, get(arena, bytes));
    }
    cr_assert(lt(u64, free_bytes(arena), 16 * MIB));
    put(arena, get(arena, 16 * MIB));
    rp_arena_destroy(arena);
}

Test(arena, more_than_the_machine_has_is_an_error)
{
    struct rp_arena *arena = arena_of("8T");
    void *ptr;
    cr_assert(
            eq(int, rp_arena_alloc(arena, 4096 * KIB * MIB, 64, RP_ARENA_DEVICE, &ptr), RP_ENOMEM));
    assert_sentence("bytes are needed, the");
    cr_assert(eq(u64, pages_bytes(arena), 0));
    struct rp_arena_info info;
    rp_arena_query(arena, &info);
    cr_assert(eq(u64, info.used_bytes, 0));
    rp_arena_destroy(arena);
}

Test(arena, default_size_is_the_memory_of_the_machine)
{
    struct rp_arena *arena;
    struct rp_arena_info info;
    uint64_t ram = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    unsetenv("REPRISE_DEVICE_MEMORY");
    cr_assert(eq(int, rp_arena_create(0, &arena), RP_OK));
    rp_arena_query(arena, &info);
    cr_assert(gt(u64, info.total_bytes, 0));
    cr_assert(le(u64, info.total_bytes, ram + RP_ARENA_GRANULE));
    cr_assert(gt(u64, info.free_bytes, 0));
    cr_assert(le(u64, info.free_bytes, info.total_bytes));
    rp_arena_destroy(arena);
}

// ---- free ----

Test(arena, bad_frees_are_errors_that_say_why)
{
    struct rp_arena *arena = arena_of("64M");
    static const size_t sizes[] = { 100, 5 * MIB };
    for (int i = 0; i < 2; i++) {
        uint8_t *ptr = get(arena, sizes[i]);
        uint8_t *neighbour = get(arena, sizes[i]); // keeps the slab
        cr_assert(eq(int, rp_arena_free(arena, ptr + 64, RP_ARENA_DEVICE), RP_EPARAM));
        assert_sentence("is not the start");
        cr_assert(eq(int, rp_arena_free(arena, ptr, RP_ARENA_HOST), RP_EPARAM));
        assert_sentence("is device memory, not pinned host memory");
        put(arena, ptr);
        cr_assert(eq(int, rp_arena_free(arena, ptr, RP_ARENA_DEVICE), RP_EPARAM));
        assert_sentence("nothing is allocated there");
        put(arena, neighbour);
    }
    int local;
    cr_assert(eq(int, rp_arena_free(arena, &local, RP_ARENA_DEVICE), RP_EPARAM));
    assert_sentence("is not in the memory of device 0");
    uint8_t *end = (uint8_t *)rp_arena_base(arena) + rp_arena_bytes(arena);
    cr_assert(eq(int, rp_arena_free(arena, end, RP_ARENA_DEVICE), RP_EPARAM));
    cr_assert(eq(int, rp_arena_free(arena, NULL, RP_ARENA_DEVICE), RP_EPARAM));
    rp_arena_destroy(arena);
}

Test(arena, freed_memory_goes_back_to_the_system)
{
    struct rp_arena *arena = arena_of("64M");
    uint8_t *ptr = get(arena, 32 * MIB);
    cr_assert(eq(u64, pages_bytes(arena), 32 * MIB)); // reserved before the first touch
    ptr[0] = 1;
    put(arena, ptr);
    cr_assert(eq(u64, pages_bytes(arena), 0));
    rp_arena_destroy(arena);
}

// ---- holds ----

Test(arena, held_memory_is_kept_as_it_was_until_the_last_hold_goes)
{
    struct rp_arena *arena = arena_of("16M");
    static const size_t sizes[] = { 64, 3000, 4 * MIB };
    for (int i = 0; i < 3; i++) {
        uint8_t *ptr = get(arena, sizes[i]);
        memset(ptr, 0x5a, sizes[i]);
        rp_arena_hold(arena, ptr + sizes[i] / 2, 1); // one byte of it is enough
        rp_arena_hold(arena, ptr + sizes[i] / 2, 1);
        put(arena, ptr);
        cr_assert(eq(int, rp_arena_free(arena, ptr, RP_ARENA_DEVICE), RP_EPARAM)); // as any freed
        void *other[64];
        for (int k = 0; k < 64; k++) {
            other[k] = get(arena, sizes[0]);
            cr_assert(ne(ptr, other[k], ptr));
        }
        rp_arena_unhold(arena, ptr + sizes[i] / 2, 1);
        uint64_t left = free_bytes(arena);
        for (size_t k = 0; k < sizes[i]; k++) {
            cr_assert(eq(int, ptr[k], 0x5a));
        }
        rp_arena_unhold(arena, ptr + sizes[i] / 2, 1);
        if (sizes[i] > 32 * KIB) {
            cr_assert(eq(u64, free_bytes(arena), left + sizes[i]));
        }
        for (int k = 0; k < 64; k++) {
            put(arena, other[k]);
        }
    }
    put(arena, get(arena, 16 * MIB));
    rp_arena_destroy(arena);
}

Test(arena, piece_is_reused_after_its_hold)
{
    struct rp_arena *arena = arena_of("16M");
    void *keep = get(arena, 64);
    void *ptr = get(arena, 64);
    rp_arena_hold(arena, ptr, 64);
    put(arena, ptr);
    void *other = get(arena, 64);
    cr_assert(ne(ptr, other, ptr));
    rp_arena_unhold(arena, ptr, 64);
    cr_assert(eq(ptr, get(arena, 64), ptr));
    put(arena, keep);
    rp_arena_destroy(arena);
}

Test(arena, hold_that_touches_two_allocations_keeps_both)
{
    struct rp_arena *arena = arena_of("16M");
    uint8_t *low = get(arena, MIB);
    uint8_t *high = get(arena, MIB);
    cr_assert(eq(ptr, high, low + MIB));
    rp_arena_hold(arena, high - 1, 2);
    put(arena, low);
    put(arena, high);
    cr_assert(eq(u64, pages_bytes(arena), 2 * MIB));
    rp_arena_unhold(arena, high - 1, 2);
    cr_assert(eq(u64, pages_bytes(arena), 0));
    rp_arena_destroy(arena);
}

Test(arena, holds_end_just_outside_what_they_name)
{
    struct rp_arena *arena = arena_of("16M");
    uint8_t *low = get(arena, MIB);
    uint8_t *middle = get(arena, MIB);
    uint8_t *high = get(arena, MIB);
    rp_arena_hold(arena, middle, MIB);
    put(arena, low);
    put(arena, high);
    cr_assert(eq(u64, pages_bytes(arena), MIB));
    int local;
    rp_arena_hold(arena, &local, sizeof(local)); // not of this arena
    rp_arena_hold(arena, middle, 0);
    put(arena, middle);
    rp_arena_unhold(arena, &local, sizeof(local));
    rp_arena_unhold(arena, middle, 0);
    cr_assert(eq(u64, pages_bytes(arena), MIB));
    rp_arena_unhold(arena, middle, MIB);
    cr_assert(eq(u64, pages_bytes(arena), 0));
    rp_arena_destroy(arena);
}

Test(arena, many_holds_and_holds_without_heap)
{
    enum { HOLDS = 500 };
    struct rp_arena *arena = arena_of("16M");
    uint8_t *ptr = get(arena, MIB);
    uint8_t *other = get(arena, MIB);
    for (size_t i = 0; i < HOLDS; i++) {
        rp_alloc_fail_after(0); // for each that would have to grow the list
        rp_arena_hold(arena, ptr + i, 1);
        rp_alloc_fail_after(-1);
    }
    put(arena, other); // held by those that found no heap
    put(arena, ptr);
    cr_assert(eq(u64, pages_bytes(arena), 2 * MIB));
    for (size_t i = 0; i < HOLDS; i++) {
        cr_assert(ge(u64, pages_bytes(arena), MIB));
        rp_arena_unhold(arena, ptr + i, 1);
    }
    cr_assert(eq(u64, pages_bytes(arena), 0));
    rp_arena_destroy(arena);
}

// ---- questions ----

Test(arena, offset_only_of_what_lies_wholly_inside)
{
    struct rp_arena *arena = arena_of("16M");
    uint8_t *base = rp_arena_base(arena);
    uint64_t bytes = rp_arena_bytes(arena);
    uint64_t off = 77;
    cr_assert(rp_arena_offset(arena, base, bytes, &off));
    cr_assert(eq(u64, off, 0));
    cr_assert(rp_arena_offset(arena, base + 100, bytes - 100, &off));
    cr_assert(eq(u64, off, 100));
    cr_assert(rp_arena_offset(arena, base + bytes, 0, &off));
    cr_assert(not(rp_arena_offset(arena, base + 100, bytes - 99, &off)));
    cr_assert(not(rp_arena_offset(arena, base - 1, 1, &off)));
    cr_assert(not(rp_arena_offset(arena, base + 1, UINT64_MAX, &off)));
    cr_assert(not(rp_arena_offset(arena, NULL, UINT64_MAX, &off)));
    rp_arena_destroy(arena);
}

Test(arena, pointers_are_found_in_their_arena)
{
    struct rp_arena *arena[3];
    setenv("REPRISE_DEVICE_MEMORY", "16M", 1);
    for (int i = 0; i < 3; i++) {
        cr_assert(eq(int, rp_arena_create(i, &arena[i]), RP_OK));
    }
    uint8_t *gone = rp_arena_base(arena[1]);
    for (int i = 0; i < 3; i++) {
        uint8_t *base = rp_arena_base(arena[i]);
        cr_assert(eq(ptr, rp_arena_find(base), arena[i]));
        cr_assert(eq(ptr, rp_arena_find(base + rp_arena_bytes(arena[i]) - 1), arena[i]));
        cr_assert(eq(ptr, rp_arena_of_device(i), arena[i]));
        cr_assert(eq(int, rp_arena_device(arena[i]), i));
    }
    cr_assert(eq(ptr, rp_arena_find(arena), NULL));
    cr_assert(eq(ptr, rp_arena_find(NULL), NULL));
    rp_arena_destroy(arena[1]);
    cr_assert(eq(ptr, rp_arena_find(gone), NULL));
    cr_assert(eq(ptr, rp_arena_of_device(1), NULL));
    cr_assert(eq(ptr, rp_arena_of_device(2), arena[2]));
    cr_assert(eq(int, rp_arena_create(1, &arena[1]), RP_OK));
    cr_assert(eq(ptr, rp_arena_of_device(1), arena[1]));
    for (int i = 0; i < 3; i++) {
        rp_arena_destroy(arena[i]);
    }
}

// ---- virtual memory ----

#define G ((size_t)RP_ARENA_GRANULE)

Test(arena_ranges, memory_is_put_under_a_range_piece_by_piece)
{
    struct rp_arena *arena = arena_of("16M");
    uint8_t *range = NULL;
    void *out;
    cr_assert(eq(int, rp_arena_reserve(arena, 4 * G, &out), RP_OK));
    range = out;
    cr_assert(eq(u64, (uintptr_t)range % G, 0));
    cr_assert(eq(u64, pages_bytes(arena), 0));
    cr_assert(eq(int, rp_arena_back(arena, range + G, 2 * G), RP_OK));
    memset(range + G, 1, 2 * G);
    cr_assert(eq(u64, pages_bytes(arena), 2 * G));
    cr_assert(eq(int, rp_arena_back(arena, range, G), RP_OK));
    cr_assert(eq(u64, free_bytes(arena), 16 * MIB - 3 * G));
    cr_assert(eq(int, rp_arena_unback(arena, range + G, G), RP_OK));
    cr_assert(eq(u64, pages_bytes(arena), 2 * G));
    cr_assert(eq(int, range[2 * G], 1));
    cr_assert(eq(int, rp_arena_back(arena, range + G, G), RP_OK));
    cr_assert(eq(int, range[G], 0)); // new pages
    cr_assert(eq(int, rp_arena_unback(arena, range, 3 * G), RP_OK));
    cr_assert(eq(int, rp_arena_release(arena, range), RP_OK));
    cr_assert(eq(u64, free_bytes(arena), 16 * MIB));
    put(arena, get(arena, 16 * MIB));
    rp_arena_destroy(arena);
}

Test(arena_ranges, reservations_do_not_crowd_out_memory)
{
    struct rp_arena *arena = arena_of("16M");
    void *range;
    cr_assert(eq(int, rp_arena_reserve(arena, 16 * MIB, &range), RP_OK));
    void *ptr = get(arena, 16 * MIB);
    cr_assert(eq(int, rp_arena_back(arena, range, G), RP_ENOMEM)); // the memory is out, though
    assert_sentence("REPRISE_DEVICE_MEMORY");
    put(arena, ptr);
    cr_assert(eq(int, rp_arena_back(arena, range, 16 * MIB), RP_OK));
    rp_arena_destroy(arena);
}

Test(arena_ranges, wrong_calls_are_errors)
{
    struct rp_arena *arena = arena_of("16M");
    void *out;
    cr_assert(eq(int, rp_arena_reserve(arena, 0, &out), RP_EPARAM));
    cr_assert(eq(int, rp_arena_reserve(arena, G + 1, &out), RP_EPARAM));
    cr_assert(eq(int, rp_arena_reserve(arena, 1024 * G, &out), RP_ENOMEM));
    cr_assert(eq(int, rp_arena_reserve(arena, 3 * G, &out), RP_OK));
    uint8_t *range = out;
    uint8_t *block = get(arena, 3 * G);
    const struct {
        uint8_t *at;
        size_t bytes;
    } bad[] = { { range + 1, G }, { range, 0 }, { range, G + 4096 }, { range + G, 3 * G },
        { block, G }, { NULL, G }, { range, SIZE_MAX - G + 1 } };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(bad); i++) {
        cr_assert(eq(int, rp_arena_back(arena, bad[i].at, bad[i].bytes), RP_EPARAM), "%zu", i);
        cr_assert(eq(int, rp_arena_unback(arena, bad[i].at, bad[i].bytes), RP_EPARAM), "%zu", i);
    }
    cr_assert(eq(int, rp_arena_back(arena, range + G, G), RP_OK));
    cr_assert(eq(int, rp_arena_back(arena, range, 2 * G), RP_EPARAM)); // half of it already
    assert_sentence("has memory mapped already");
    cr_assert(eq(int, rp_arena_unback(arena, range, 2 * G), RP_EPARAM));
    assert_sentence("has no memory mapped");
    cr_assert(eq(int, rp_arena_release(arena, range), RP_EPARAM));
    assert_sentence("2097152 bytes of memory mapped");
    cr_assert(eq(int, rp_arena_free(arena, range, RP_ARENA_DEVICE), RP_EPARAM));
    assert_sentence("is a reserved address range");
    cr_assert(eq(int, rp_arena_release(arena, range + G), RP_EPARAM));
    cr_assert(eq(int, rp_arena_unback(arena, range + G, G), RP_OK));
    cr_assert(eq(int, rp_arena_release(arena, range), RP_OK));
    cr_assert(eq(int, rp_arena_release(arena, range), RP_EPARAM));
    rp_arena_destroy(arena);
}

Test(arena_ranges, held_memory_survives_unmapping_and_release)
{
    struct rp_arena *arena = arena_of("16M");
    void *out;
    cr_assert(eq(int, rp_arena_reserve(arena, 3 * G, &out), RP_OK));
    uint8_t *range = out;
    cr_assert(eq(int, rp_arena_back(arena, range, 3 * G), RP_OK));
    memset(range, 7, 3 * G);
    rp_arena_hold(arena, range + G + 100, 1);
    cr_assert(eq(int, rp_arena_unback(arena, range, 3 * G), RP_OK));
    cr_assert(eq(u64, pages_bytes(arena), G));
    cr_assert(eq(int, range[G + 5], 7));
    cr_assert(eq(int, rp_arena_back(arena, range + G, G), RP_EBUSY));
    cr_assert(eq(int, rp_arena_back(arena, range, G), RP_OK));
    cr_assert(eq(int, rp_arena_unback(arena, range, G), RP_OK));
    cr_assert(eq(int, rp_arena_release(arena, range), RP_OK));
    size_t bytes;
    enum rp_arena_kind kind;
    cr_assert(not(rp_arena_block(arena, range, &out, &bytes, &kind)));
    cr_assert(eq(int, rp_arena_back(arena, range, G), RP_EPARAM));
    cr_assert(eq(int, range[G + 5], 7));
    rp_arena_unhold(arena, range + G + 100, 1);
    cr_assert(eq(u64, pages_bytes(arena), 0));
    cr_assert(eq(u64, free_bytes(arena), 16 * MIB));
    put(arena, get(arena, 16 * MIB));
    rp_arena_destroy(arena);
}

Test(arena_ranges, range_is_a_block_of_its_own_kind)
{
    struct rp_arena *arena = arena_of("16M");
    void *range;
    void *start;
    size_t bytes;
    enum rp_arena_kind kind;
    cr_assert(eq(int, rp_arena_reserve(arena, 2 * G, &range), RP_OK));
    cr_assert(rp_arena_block(arena, (uint8_t *)range + G, &start, &bytes, &kind));
    cr_assert(eq(ptr, start, range));
    cr_assert(eq(sz, bytes, 2 * G));
    cr_assert(eq(int, kind, RP_ARENA_RESERVED));
    rp_arena_destroy(arena);
}

// ---- limits ----

static int create_with_limits(const struct rlimit *address, const struct rlimit *file)
{
    struct rp_arena *arena;
    struct rp_arena_info info;
    child_no_core();
    unsetenv("REPRISE_DEVICE_MEMORY");
    setrlimit(RLIMIT_AS, address);
    setrlimit(RLIMIT_FSIZE, file);
    rp_status st = rp_arena_create(0, &arena);
    if (st != RP_OK) {
        const char *sentence = rp_error_take();
        fputs(sentence, stderr);
        return st == RP_ENOMEM && strstr(sentence, "RLIMIT_") != NULL ? 20 : 1;
    }
    rp_arena_query(arena, &info);
    if (info.total_bytes < RP_ARENA_BYTES_MIN || info.total_bytes > rp_arena_bytes(arena) ||
            rp_arena_bytes(arena) > file->rlim_cur || rp_arena_bytes(arena) > address->rlim_cur) {
        return 2;
    }
    void *ptr;
    if (rp_arena_alloc(arena, 4 * MIB, 64, RP_ARENA_DEVICE, &ptr) != RP_OK) {
        return 3;
    }
    memset(ptr, 1, 4 * MIB);
    void *heap = malloc(16 * MIB); // half was left to others
    if (heap == NULL) {
        return 4;
    }
    free(heap);
    rp_arena_destroy(arena);
    return 0;
}

static int under_address_limit(void *arg)
{
    const struct rlimit limit = { *(rlim_t *)arg, RLIM_INFINITY };
    const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
    return create_with_limits(&limit, &none);
}

static int under_file_limit(void *arg)
{
    const struct rlimit limit = { *(rlim_t *)arg, RLIM_INFINITY };
    const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
    return create_with_limits(&none, &limit);
}

Test(arena, size_is_cut_to_the_file_limit)
{
    rlim_t file = 100 * MIB;
    cr_assert(eq(int, child_run(under_file_limit, &file, 30), 0));
    file = MIB;
    cr_assert(eq(int, child_run(under_file_limit, &file, 30), 20));
}

Test(arena, size_is_cut_to_the_address_limit)
{
    if (!address_limit_works()) {
        cr_skip("AddressSanitizer's shadow alone takes terabytes of address space");
    }
    rlim_t address = 2048 * MIB;
    cr_assert(eq(int, child_run(under_address_limit, &address, 30), 0));
    address = 64 * KIB; // less than is in use
    cr_assert(eq(int, child_run(under_address_limit, &address, 30), 20));
}

// ---- sharing ----

struct shared {
    int socket;
    uint64_t bytes;
    uint64_t off;
};

// The peer: maps the arena it is sent, reads and writes, and cannot take it away from its owner.
static int peer_process(void *arg)
{
    struct shared *shared = arg;
    struct {
        uint64_t bytes;
        uint64_t off;
    } told;
    int fd;
    if (!fds_receive(shared->socket, &fd, 1, &told, sizeof(told))) {
        return 1;
    }
    uint8_t *base = mmap(NULL, told.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED || memcmp(base + told.off, "from the owner", 15) != 0) {
        return 2;
    }
    memcpy(base + told.off, "from the peer", 14);
    if (ftruncate(fd, 0) == 0 || ftruncate(fd, 1 << 30) == 0 ||
            fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0) {
        return 3;
    }
    return 0;
}

Test(arena, peer_process_reaches_memory_by_offset)
{
    int socket[2];
    cr_assert(eq(int, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket), 0));
    struct shared shared = { .socket = socket[1] };
    pid_t peer = child_start(peer_process, &shared);
    struct rp_arena *arena = arena_of("64M");
    char *text = get(arena, MIB); // also what is allocated after the peer has mapped it
    memcpy(text, "from the owner", 15);
    uint64_t told[2] = { rp_arena_bytes(arena), 0 };
    cr_assert(rp_arena_offset(arena, text, 15, &told[1]));
    int fd = rp_arena_fd(arena);
    cr_assert(fds_send(socket[0], &fd, 1, told, sizeof(told)));
    cr_assert(eq(int, child_wait(peer, 30), 0));
    cr_assert(eq(str, text, "from the peer"));
    rp_arena_destroy(arena);
}

// ---- failures and threads ----

Test(arena, every_allocation_of_a_creation_may_fail)
{
    setenv("REPRISE_DEVICE_MEMORY", "16M", 1);
    unsigned fds = 0;
    struct rp_arena *arena = NULL;
    bool failed = true;
    for (int64_t n = 0; failed; n++) {
        fds = fds_open();
        rp_alloc_fail_after(n);
        rp_status st = rp_arena_create(0, &arena);
        failed = !rp_alloc_fail_pending();
        rp_alloc_fail_after(-1);
        cr_assert(eq(int, st, failed ? RP_ENOMEM : RP_OK), "allocation %d", (int)n);
        if (failed) {
            cr_assert(eq(ptr, arena, NULL));
            cr_assert(eq(uint, fds_open(), fds));
            cr_assert(eq(ptr, rp_arena_of_device(0), NULL));
        }
    }
    cr_assert(eq(uint, fds_open(), fds + 1));
    rp_arena_destroy(arena);
    cr_assert(eq(uint, fds_open(), fds));
}

Test(arena, every_allocation_of_a_call_may_fail)
{
    static const size_t sizes[] = { 100, 100 * KIB };
    struct rp_arena *arena = arena_of("16M");
    void *first = get(arena, 100 * KIB); // so that an aligned block needs two parts cut off
    for (int i = 0; i < 2; i++) {
        bool failed = true;
        for (int64_t n = 0; failed; n++) {
            void *ptr = NULL;
            rp_alloc_fail_after(n);
            rp_status st = rp_arena_alloc(
                    arena, sizes[i], 64 * KIB >> (1 - i) * 10, RP_ARENA_DEVICE, &ptr);
            failed = !rp_alloc_fail_pending();
            rp_alloc_fail_after(-1);
            cr_assert(eq(int, st, failed ? RP_ENOMEM : RP_OK));
            if (!failed) {
                put(arena, ptr);
            }
        }
    }
    void *range = NULL;
    rp_alloc_fail_after(0);
    cr_assert(eq(int, rp_arena_reserve(arena, G, &range), RP_ENOMEM));
    put(arena, first);
    put(arena, get(arena, 16 * MIB)); // nothing was lost
    rp_arena_destroy(arena);
}

struct worker {
    struct rp_arena *arena;
    unsigned seed;
    bool well;
};

static void *work(void *arg)
{
    enum { PIECES = 16 };
    struct worker *worker = arg;
    struct piece piece[PIECES] = { 0 };
    uint64_t random = worker->seed;
    for (int step = 0; step < 3000; step++) {
        struct piece *one = &piece[next_random(&random) % PIECES];
        if (one->ptr != NULL) {
            bool held = next_random(&random) % 4 == 0;
            worker->well &= one->ptr[0] == one->mark && one->ptr[one->bytes - 1] == one->mark;
            if (held) {
                rp_arena_hold(worker->arena, one->ptr, one->bytes);
            }
            worker->well &= rp_arena_free(worker->arena, one->ptr, RP_ARENA_DEVICE) == RP_OK;
            if (held) {
                worker->well &= one->ptr[one->bytes / 2] == one->mark;
                rp_arena_unhold(worker->arena, one->ptr, one->bytes);
            }
            one->ptr = NULL;
            continue;
        }
        void *ptr;
        one->bytes = 1 + next_random(&random) % (UINT64_C(2) << next_random(&random) % 18);
        if (rp_arena_alloc(worker->arena, one->bytes, 64, RP_ARENA_DEVICE, &ptr) == RP_OK) {
            one->ptr = ptr;
            one->mark = (uint8_t)(worker->seed * 16 + (unsigned)step % 16);
            memset(ptr, one->mark, one->bytes);
            worker->well &= rp_arena_find(ptr) == worker->arena;
        }
    }
    for (int i = 0; i < PIECES; i++) {
        if (piece[i].ptr != NULL) {
            worker->well &= rp_arena_free(worker->arena, piece[i].ptr, RP_ARENA_DEVICE) == RP_OK;
        }
    }
    return NULL;
}

Test(arena, threads_do_not_get_each_others_memory, .timeout = 120)
{
    enum { THREADS = 8 };
    struct rp_arena *arena = arena_of("64M");
    struct worker worker[THREADS];
    pthread_t thread[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        worker[i] = (struct worker){ arena, i + 1, true };
        pthread_create(&thread[i], NULL, work, &worker[i]);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        cr_assert(worker[i].well, "thread %u", i);
    }
    put(arena, get(arena, 64 * MIB));
    rp_arena_destroy(arena);
}
