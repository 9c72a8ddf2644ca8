// Tables of counts and displacements: what they say of buffers, which differences they tell, and
// what is too large for them.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>

#include "base/util.h"
#include "kernels/counts.h"
#include "kernels/dtype.h"

#define RANKS 3

static struct rp_counts *make(const uint64_t *count, const uint64_t *place)
{
    uint32_t wrong = RANKS;
    struct rp_counts *counts = malloc(rp_counts_bytes(RP_COUNTS_TABLE, RANKS));
    cr_assert(rp_counts_fill(counts, RANKS, count, place, UINT64_MAX, &wrong));
    return counts;
}

Test(counts, say_where_blocks_are_and_how_long_buffers)
{
    static const uint64_t count[] = { 5, 0, 2 }, place[] = { 10, 900, 3 };
    struct rp_counts *counts = make(count, place);
    struct rp_record record = { .op = RP_OP_ALL_GATHER_V, .dtype = RP_DTYPE_FP64, .count = 5 };
    cr_assert(eq(u64, counts->most, 5));
    cr_assert(eq(u64, counts->extent, 15)); // where an empty block is does not count
    cr_assert(eq(u64, rp_counts_place(counts, 0), 10));
    cr_assert(eq(u64, rp_counts_place(counts, 2), 3));
    cr_assert(eq(u64, rp_input_bytes(&record, counts, 0, RANKS), 40));
    cr_assert(eq(u64, rp_input_bytes(&record, counts, 1, RANKS), 0));
    cr_assert(eq(u64, rp_output_bytes(&record, counts, 1, RANKS), 120));
    record.op = RP_OP_REDUCE_SCATTER_V;
    cr_assert(eq(u64, rp_input_bytes(&record, counts, 1, RANKS), 120));
    cr_assert(eq(u64, rp_output_bytes(&record, counts, 2, RANKS), 16));
    record.op = RP_OP_ALL_GATHER;
    cr_assert(eq(u64, rp_input_bytes(&record, NULL, 1, RANKS), 40));
    cr_assert(eq(u64, rp_output_bytes(&record, NULL, 1, RANKS), 120));
    free(counts);
}

// Any count and any place, also two that change places; not the place of an empty block.
Test(counts, that_differ_are_told_apart)
{
    static const struct {
        uint64_t count[RANKS], place[RANKS];
        bool same;
    } rows[] = {
        { { 5, 0, 2 }, { 10, 900, 3 }, true },
        { { 5, 0, 2 }, { 10, 901, 3 }, true },
        { { 5, 0, 2 }, { 10, 900, 4 }, false },
        { { 5, 0, 2 }, { 3, 900, 10 }, false },
        { { 2, 0, 5 }, { 10, 900, 3 }, false },
        { { 5, 2, 0 }, { 10, 3, 900 }, false },
        { { 5, 1, 2 }, { 10, 900, 3 }, false },
        { { 0, 0, 0 }, { 10, 900, 3 }, false },
    };
    struct rp_counts *first = make(rows[0].count, rows[0].place);
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        struct rp_counts *other = make(rows[i].count, rows[i].place);
        cr_assert(eq(int, rp_counts_equal(first, other), rows[i].same), "row %zu", i);
        cr_assert(eq(int, first->hash == other->hash, rows[i].same), "row %zu", i);
        cr_assert(eq(int, (uint32_t)first->hash == (uint32_t)other->hash, rows[i].same));
        free(other);
    }
    free(first);
}

Test(counts, end_at_their_limit)
{
    static const struct {
        uint64_t count, place;
        bool fits;
    } rows[] = {
        { 100, 0, true },
        { 101, 0, false },
        { 40, 60, true },
        { 40, 61, false },
        { 1, UINT64_MAX, false },
        { UINT64_MAX, 1, false },
        { 0, UINT64_MAX, true },
    };
    struct rp_counts *counts = malloc(rp_counts_bytes(RP_COUNTS_TABLE, RANKS));
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        for (uint32_t q = 0; q < RANKS; q++) {
            uint64_t count[RANKS] = { 1, 1, 1 }, place[RANKS] = { 0, 1, 2 };
            uint32_t wrong = RANKS;
            count[q] = rows[i].count;
            place[q] = rows[i].place;
            cr_assert(eq(
                    int, rp_counts_fill(counts, RANKS, count, place, 100, &wrong), rows[i].fits));
            cr_assert(eq(u32, wrong, rows[i].fits ? RANKS : q), "row %zu", i);
        }
    }
    free(counts);
}
