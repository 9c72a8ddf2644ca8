// Expansion: one rank's list for one round of a collective. The algorithms have a file each.

#include "capture/expand.h"

#include <inttypes.h>

#include "base/error.h"
#include "capture/expand_list.h"

// A single rank copies; a round of this much keeps its steps short.
#define ALONE_BYTES (1024u * 1024u)

static const struct rp_algorithm_form *const forms[RP_ALGORITHMS] = {
    [RP_ALGORITHM_MESH] = &rp_algorithm_mesh,
    [RP_ALGORITHM_RING] = &rp_algorithm_ring,
    [RP_ALGORITHM_HD] = &rp_algorithm_hd,
    [RP_ALGORITHM_NHR] = &rp_algorithm_nhr,
    [RP_ALGORITHM_NB] = &rp_algorithm_nb,
    [RP_ALGORITHM_PAIRWISE] = &rp_algorithm_pairwise,
    [RP_ALGORITHM_STAR] = &rp_algorithm_star,
    [RP_ALGORITHM_PIPELINE] = &rp_algorithm_pipeline,
};

static const struct rp_algorithm_form *form_of(const struct rp_expand_request *request)
{
    return request->algorithm & RP_TWO_LEVELS ? &rp_algorithm_levels : forms[request->algorithm];
}

uint32_t rp_layout_least(const struct rp_layout *layout)
{
    uint32_t least = layout->cards;
    for (uint32_t node = 0; node < layout->nodes; node++) {
        least = (uint32_t)rp_min_u64(least, rp_layout_cards(layout, node));
    }
    return least;
}

uint64_t rp_expand_round_count(const struct rp_expand_request *request)
{
    if (request->op == RP_OP_BARRIER) {
        return 1;
    }
    if (request->size == 1) {
        return ALONE_BYTES / rp_expand_element_bytes(request);
    }
    return form_of(request)->round_count(request);
}

static uint64_t region_end(const struct rp_expand_request *request, enum rp_region region)
{
    const struct rp_part part = rp_expand_region(request, region);
    return part.off + part.bytes;
}

// Algorithms with a region of their own leave what is behind it alone.
uint64_t rp_expand_window_bytes(const struct rp_expand_request *request)
{
    if (request->size == 1 || request->op == RP_OP_BARRIER) {
        return 0;
    }
    if (request->algorithm & RP_TWO_LEVELS) {
        return region_end(request, RP_REGION_LEVELS);
    }
    switch ((enum rp_algorithm)request->algorithm) {
    case RP_ALGORITHM_RING:
        return region_end(request, RP_REGION_RING);
    case RP_ALGORITHM_NHR:
        return region_end(request, RP_REGION_NHR);
    case RP_ALGORITHM_NB:
        return region_end(request, RP_REGION_NB);
    case RP_ALGORITHM_HD:
        return region_end(request, RP_REGION_HD);
    case RP_ALGORITHM_PIPELINE:
        return region_end(request, RP_REGION_PIPELINE);
    default:
        return rp_expand_slot_off(request, request->size);
    }
}

// One rank: its output is its input.
static void build_alone(struct rp_list_builder *builder, const struct rp_expand_request *request)
{
    if (request->op != RP_OP_BARRIER && request->op != RP_OP_BROADCAST) {
        rp_build_copy(builder, rp_ht_at(RP_HT_RECV, 0, 0), rp_ht_at(RP_HT_SEND, 0, 0),
                request->count * rp_expand_element_bytes(request));
    }
}

rp_status rp_expand(const struct rp_expand_request *request, struct rp_task_list **out)
{
    const uint64_t most = rp_expand_round_count(request);
    if (request->count == 0 || request->count > most) {
        return rp_fail(RP_EPARAM,
                "%" PRIu64 " elements do not fit one round of %s, which has room for %" PRIu64
                " in windows of %" PRIu64 " bytes between %" PRIu32 " ranks",
                request->count, rp_op_kind_name(request->op), most, request->window_bytes,
                request->size);
    }
    struct rp_list_builder builder = { .list = NULL };
    if (request->size == 1) {
        build_alone(&builder, request);
    } else if (!form_of(request)->build(&builder, request)) {
        const struct rp_record record = { .op = request->op, .algorithm = request->algorithm };
        return rp_fail(RP_ENOTSUP, "%s has no algorithm %s", rp_op_kind_name(request->op),
                rp_record_words(&record).algorithm);
    }
    return rp_builder_finish(&builder, request->count, out);
}
