// Tables of counts and displacements.

#include "kernels/counts.h"

#include <string.h>

#include "kernels/dtype.h"

// A number more in a hash.
static uint64_t mix(uint64_t hash, uint64_t value)
{
    return rp_mix_u64(hash ^ value) + 1;
}

// One direction: counts and displacements to `at`. False, and `*wrong`, at the first block that
// ends too far away.
static bool fill(uint64_t *at, uint32_t ranks, struct rp_counts_side side, uint64_t elements_max,
        uint64_t *extent, uint64_t *most, uint32_t *wrong)
{
    for (uint32_t q = 0; q < ranks; q++) {
        const uint64_t count = side.count[q];
        const uint64_t place = count == 0 ? 0 : side.displacement[q];
        if (count > elements_max || place > elements_max - count) {
            *wrong = q;
            return false;
        }
        at[q] = count;
        at[ranks + q] = place;
        *most = rp_max_u64(*most, count);
        *extent = rp_max_u64(*extent, place + count);
    }
    return true;
}

static uint64_t hash_of(const uint64_t *at, size_t words, uint32_t ranks)
{
    uint64_t hash = ranks;
    for (size_t i = 0; i < words; i++) {
        hash = mix(hash, at[i]);
    }
    return hash;
}

bool rp_counts_fill(struct rp_counts *counts, uint32_t ranks, const uint64_t *count,
        const uint64_t *displacement, uint64_t elements_max, uint32_t *wrong)
{
    const struct rp_counts_side side = { .count = count, .displacement = displacement };
    *counts = (struct rp_counts){
        .ranks = ranks,
        .words = rp_counts_words(RP_COUNTS_TABLE, ranks),
    };
    if (!fill(counts->at, ranks, side, elements_max, &counts->extent, &counts->most, wrong)) {
        return false;
    }
    counts->hash = hash_of(counts->at, counts->words, ranks);
    return true;
}

static uint64_t sum_of(const uint64_t *count, uint32_t ranks)
{
    uint64_t sum = 0;
    for (uint32_t q = 0; q < ranks; q++) {
        sum += count[q];
    }
    return sum;
}

bool rp_counts_fill_row(struct rp_counts *counts, uint32_t ranks, struct rp_counts_side send,
        struct rp_counts_side recv, uint64_t elements_max, uint32_t *wrong)
{
    *counts = (struct rp_counts){
        .ranks = ranks,
        .words = rp_counts_words(RP_COUNTS_ROW, ranks),
    };
    uint64_t *const received = counts->at + 2 * (size_t)ranks;
    if (!fill(counts->at, ranks, send, elements_max, &counts->extent, &counts->most, wrong)) {
        return false;
    }
    if (!fill(received, ranks, recv, elements_max, &counts->recv_extent, &counts->most, wrong)) {
        *wrong += ranks;
        return false;
    }
    counts->total = sum_of(counts->at, ranks);
    counts->hash = hash_of(counts->at, counts->words, ranks);
    return true;
}

bool rp_counts_fill_matrix(struct rp_counts *counts, uint32_t ranks, uint32_t rank,
        const uint64_t *matrix, uint64_t elements_max, uint32_t *wrong)
{
    const size_t elements = (size_t)ranks * ranks;
    *counts = (struct rp_counts){
        .ranks = ranks,
        .words = rp_counts_words(RP_COUNTS_MATRIX, ranks),
    };
    for (size_t i = 0; i < elements; i++) {
        if (matrix[i] > elements_max) {
            *wrong = (uint32_t)i;
            return false;
        }
        counts->most = rp_max_u64(counts->most, matrix[i]);
        counts->at[4 * (size_t)ranks + i] = matrix[i];
    }
    for (uint32_t q = 0; q < ranks; q++) {
        const uint64_t out = matrix[(size_t)rank * ranks + q];
        const uint64_t in = matrix[(size_t)q * ranks + rank];
        counts->at[q] = out;
        counts->at[ranks + q] = counts->extent;
        counts->at[2 * (size_t)ranks + q] = in;
        counts->at[3 * (size_t)ranks + q] = counts->recv_extent;
        counts->extent += out;
        counts->recv_extent += in;
    }
    counts->total = counts->extent;
    counts->hash = hash_of(matrix, elements, ranks);
    return true;
}

bool rp_counts_equal(const struct rp_counts *a, const struct rp_counts *b)
{
    return a->hash == b->hash && a->ranks == b->ranks && a->words == b->words &&
           memcmp(a->at, b->at, a->words * sizeof(a->at[0])) == 0;
}

static uint64_t bytes_of(const struct rp_record *record, uint64_t count)
{
    return count * rp_dtype_bytes((enum rp_dtype)record->dtype);
}

uint64_t rp_input_bytes(const struct rp_record *record, const struct rp_counts *counts,
        uint32_t rank, uint32_t ranks)
{
    if (counts == NULL) {
        return rp_record_input_bytes(record, rank, ranks);
    }
    return bytes_of(record, record->op == RP_OP_ALL_GATHER_V ? counts->at[rank] : counts->extent);
}

uint64_t rp_output_bytes(const struct rp_record *record, const struct rp_counts *counts,
        uint32_t rank, uint32_t ranks)
{
    if (counts == NULL) {
        return rp_record_output_bytes(record, rank, ranks);
    }
    if (rp_op_has_row(record->op)) {
        return bytes_of(record, counts->recv_extent);
    }
    return bytes_of(record, record->op == RP_OP_ALL_GATHER_V ? counts->extent : counts->at[rank]);
}

uint64_t rp_row_bytes(const struct rp_record *record, const struct rp_counts *counts)
{
    return bytes_of(record, rp_max_u64(counts->extent, counts->recv_extent));
}
