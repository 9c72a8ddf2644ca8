// Tables of counts and displacements.

#include "kernels/counts.h"

#include <string.h>

#include "kernels/dtype.h"

bool rp_counts_fill(struct rp_counts *counts, uint32_t ranks, const uint64_t *count,
        const uint64_t *displacement, uint64_t elements_max, uint32_t *wrong)
{
    *counts = (struct rp_counts){ .ranks = ranks };
    uint64_t hash = ranks;
    for (uint32_t q = 0; q < ranks; q++) {
        const uint64_t place = count[q] == 0 ? 0 : displacement[q];
        if (count[q] > elements_max || place > elements_max - count[q]) {
            *wrong = q;
            return false;
        }
        counts->at[q] = count[q];
        counts->at[ranks + q] = place;
        counts->most = rp_max_u64(counts->most, count[q]);
        counts->extent = rp_max_u64(counts->extent, place + count[q]);
        hash = rp_mix_u64(hash ^ count[q]);
        hash = rp_mix_u64(hash ^ place) + 1;
    }
    counts->hash = hash;
    return true;
}

bool rp_counts_equal(const struct rp_counts *a, const struct rp_counts *b)
{
    return a->hash == b->hash && a->ranks == b->ranks &&
           memcmp(a->at, b->at, 2 * (size_t)a->ranks * sizeof(a->at[0])) == 0;
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
    return bytes_of(record, record->op == RP_OP_ALL_GATHER_V ? counts->extent : counts->at[rank]);
}
