#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "transport/arena_blocks.h"
#include "transport/arena_slabs.h"

#define SPAN (UINT64_C(1) << 20)
#define UNIT 64
#define BIAS (UINT64_C(3) << 40) // where the range is mapped: a multiple of any alignment here

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

// Blocks cover the range without gap or overlap, no two free ones are neighbours, and the index
// finds each of them.
static void check(const struct rp_blocks *blocks)
{
    uint64_t at = 0;
    bool free_before = false;
    rp_list_each(link, &blocks->order)
    {
        struct rp_block *block = rp_container_of(link, struct rp_block, order);
        bool is_free = block->use == RP_BLOCK_FREE;
        cr_assert(eq(u64, block->start, at));
        cr_assert(gt(u64, block->bytes, 0));
        cr_assert(not(is_free && free_before));
        cr_assert(eq(ptr, rp_blocks_at(blocks, at), block));
        cr_assert(eq(ptr, rp_blocks_at(blocks, at + block->bytes - 1), block));
        at += block->bytes;
        free_before = is_free;
    }
    cr_assert(eq(u64, at, SPAN));
}

Test(arena_blocks, random_calls_never_overlap_and_end_in_one_block)
{
    enum { LIVE_MAX = 300 };
    static struct rp_block *live[LIVE_MAX];
    struct rp_blocks blocks;
    uint64_t random = 7;
    unsigned refused = 0;
    cr_assert(eq(int, rp_blocks_init(&blocks, SPAN), RP_OK));
    for (int step = 0; step < 30000; step++) {
        uint64_t i = next_random(&random) % LIVE_MAX;
        if (live[i] != NULL) {
            rp_blocks_release(&blocks, live[i]);
            live[i] = NULL;
        } else {
            uint64_t bytes = (1 + next_random(&random) % 128) * UNIT;
            uint64_t align = (uint64_t)UNIT << next_random(&random) % 8;
            rp_status st = rp_blocks_carve(&blocks, bytes, align, BIAS, &live[i]);
            if (st == RP_OK) {
                cr_assert(eq(u64, live[i]->bytes, bytes));
                cr_assert(eq(u64, (live[i]->start + BIAS) % align, 0));
                cr_assert(eq(int, live[i]->use, RP_BLOCK_MOVING));
            } else {
                cr_assert(eq(int, st, RP_ENORES));
                refused++;
            }
        }
        if (step % 64 == 0) {
            check(&blocks);
        }
    }
    cr_assert(gt(uint, refused, 0)); // the range was full at times
    for (int i = 0; i < LIVE_MAX; i++) {
        if (live[i] != NULL) {
            rp_blocks_release(&blocks, live[i]);
        }
    }
    check(&blocks);
    cr_assert(eq(u64, rp_blocks_largest(&blocks), SPAN));
    rp_blocks_fini(&blocks);
}

Test(arena_blocks, smallest_block_that_fits_is_taken)
{
    struct rp_blocks blocks;
    struct rp_block *block[6];
    const uint64_t bytes[6] = { 512, 64, 256, 64, 128, 64 };
    cr_assert(eq(int, rp_blocks_init(&blocks, SPAN), RP_OK));
    for (int i = 0; i < 6; i++) {
        cr_assert(eq(int, rp_blocks_carve(&blocks, bytes[i], 64, BIAS, &block[i]), RP_OK));
    }
    uint64_t start = block[2]->start;
    rp_blocks_release(&blocks, block[0]);
    rp_blocks_release(&blocks, block[2]);
    rp_blocks_release(&blocks, block[4]);
    struct rp_block *again;
    cr_assert(eq(int, rp_blocks_carve(&blocks, 192, 64, BIAS, &again), RP_OK));
    cr_assert(eq(u64, again->start, start));
    rp_blocks_fini(&blocks);
}

// The exact fit is at the wrong place for the alignment: another block serves.
Test(arena_blocks, alignment_is_kept_by_a_larger_block)
{
    struct rp_blocks blocks;
    struct rp_block *first;
    struct rp_block *gap;
    struct rp_block *last;
    struct rp_block *aligned;
    cr_assert(eq(int, rp_blocks_init(&blocks, SPAN), RP_OK));
    cr_assert(eq(int, rp_blocks_carve(&blocks, 64, 64, BIAS, &first), RP_OK));
    cr_assert(eq(int, rp_blocks_carve(&blocks, 4096, 64, BIAS, &gap), RP_OK));
    cr_assert(eq(int, rp_blocks_carve(&blocks, 64, 64, BIAS, &last), RP_OK));
    rp_blocks_release(&blocks, gap);
    cr_assert(eq(int, rp_blocks_carve(&blocks, 4096, 4096, BIAS, &aligned), RP_OK));
    cr_assert(eq(u64, aligned->start % 4096, 0));
    cr_assert(gt(u64, aligned->start, last->start));
    check(&blocks);
    rp_blocks_fini(&blocks);
}

Test(arena_blocks, heap_failure_changes_nothing)
{
    struct rp_blocks blocks;
    struct rp_block *first;
    struct rp_block *block = NULL;
    rp_alloc_fail_after(0);
    cr_assert(eq(int, rp_blocks_init(&blocks, SPAN), RP_ENOMEM));
    cr_assert(eq(int, rp_blocks_init(&blocks, SPAN), RP_OK));
    cr_assert(eq(int, rp_blocks_carve(&blocks, 64, 64, BIAS, &first), RP_OK));
    for (int64_t n = 0; n < 2; n++) { // a part in front and one behind
        rp_alloc_fail_after(n);
        cr_assert(eq(int, rp_blocks_carve(&blocks, 4096, 4096, BIAS, &block), RP_ENOMEM));
        cr_assert(eq(ptr, block, NULL));
        check(&blocks);
    }
    cr_assert(eq(int, rp_blocks_carve(&blocks, 4096, 4096, BIAS, &block), RP_OK));
    rp_blocks_fini(&blocks);
}

Test(arena_blocks, sizes_at_the_ends_of_the_range)
{
    struct rp_blocks blocks;
    struct rp_block *block;
    cr_assert(eq(int, rp_blocks_init(&blocks, SPAN), RP_OK));
    cr_assert(eq(int, rp_blocks_carve(&blocks, SPAN + 64, 64, BIAS, &block), RP_ENORES));
    cr_assert(eq(int, rp_blocks_carve(&blocks, UINT64_MAX, 64, BIAS, &block), RP_ENORES));
    cr_assert(eq(int, rp_blocks_carve(&blocks, SPAN, 64, BIAS, &block), RP_OK));
    cr_assert(eq(u64, rp_blocks_largest(&blocks), 0));
    rp_blocks_release(&blocks, block);
    cr_assert(eq(u64, rp_blocks_largest(&blocks), SPAN));
    rp_blocks_fini(&blocks);
}

// ---- slabs ----

Test(arena_slabs, class_is_the_smallest_with_room_and_alignment)
{
    static const struct {
        size_t bytes;
        size_t align;
        uint64_t piece; // 0: no class
    } rows[] = {
        { 1, 64, 64 },
        { 64, 64, 64 },
        { 65, 64, 128 },
        { 129, 64, 192 },
        { 129, 128, 256 },
        { 193, 64, 256 },
        { 257, 128, 384 },
        { 24577, 64, 32768 },
        { 24576, 64, 24576 },
        { 24576, 16384, 32768 },
        { 32768, 32768, 32768 },
        { 32769, 64, 0 },
        { 64, 4096, 4096 },
        { 64, 65536, 0 },
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        int size_class = rp_slab_class(rows[i].bytes, rows[i].align);
        uint64_t piece = size_class < 0 ? 0 : rp_slab_class_bytes(size_class);
        cr_assert(eq(u64, piece, rows[i].piece), "%zu at %zu", rows[i].bytes, rows[i].align);
    }
}

Test(arena_slabs, pieces_of_every_class_are_apart_and_aligned)
{
    for (int size_class = 0; size_class < RP_SLAB_CLASSES; size_class++) {
        struct rp_slabs slabs;
        struct rp_block block = { .start = 5 * RP_SLAB_ALIGN, .bytes = rp_slab_bytes(size_class) };
        struct rp_slab *slab = rp_calloc(1, sizeof(*slab));
        uint64_t bytes = rp_slab_class_bytes(size_class);
        rp_slabs_init(&slabs);
        rp_slabs_add(&slabs, slab, &block, 1, size_class);
        uint64_t offset;
        uint64_t count = 0;
        uint64_t last = 0;
        cr_assert(not(rp_slabs_take(&slabs, 0, size_class, &offset))); // of another kind
        while (rp_slabs_take(&slabs, 1, size_class, &offset)) {
            cr_assert(eq(u64, offset % (bytes & (~bytes + 1)), 0));
            cr_assert(count == 0 || offset >= last + bytes);
            cr_assert(le(u64, offset + bytes, block.start + block.bytes));
            last = offset;
            count++;
        }
        cr_assert(eq(u64, count, block.bytes / bytes));
        rp_free(slab);
    }
}
