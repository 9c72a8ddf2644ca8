// NB, the nonuniform Bruck: partial sums go to the ranks 1, 2, 4, ... ahead, results come back the
// same way. Steps and costs are in expand_nonuniform.c.
//
// Of five ranks, each sends in the reduce-scatter to r + 1 the slices r + 1 and r + 3, to r + 2
// slice r + 2, to r + 4 slice r + 4; in the all-gather to r - 4 slice r, to r - 2 slice r, to r - 1
// the slices r and r + 2.

#include "capture/expand_nonuniform.h"

static const struct rp_nonuniform form = { .region = RP_REGION_NB, .ahead = true };

static uint64_t round_count(const struct rp_expand_request *request)
{
    return rp_nonuniform_count(&form, request);
}

static bool build(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    return rp_nonuniform_build(&form, builder, request);
}

const struct rp_algorithm_form rp_algorithm_nb = { .round_count = round_count, .build = build };
