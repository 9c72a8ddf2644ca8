#ifndef REPRISE_CAPTURE_EXPAND_NONUNIFORM_H
#define REPRISE_CAPTURE_EXPAND_NONUNIFORM_H

/*
 * NHR and NB: ceil(log2 p) steps for any number of ranks, with the distance
 * doubled in each. The two are mirror images: where NHR sends a partial sum to
 * the rank d behind, NB sends it to the rank d ahead.
 */

#include "capture/expand_list.h"

struct rp_nonuniform {
    enum rp_region region;
    bool ahead; /* sums go to rank + d */
};

uint64_t rp_nonuniform_count(
        const struct rp_nonuniform *form, const struct rp_expand_request *request);
bool rp_nonuniform_build(const struct rp_nonuniform *form, struct rp_list_builder *builder,
        const struct rp_expand_request *request);

#endif
