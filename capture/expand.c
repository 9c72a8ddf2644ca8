// Expansion: one rank's list for one round of a collective. The algorithms have a file each.

#include "capture/expand.h"

#include <inttypes.h>

#include "base/error.h"
#include "capture/expand_list.h"

// A single rank copies; a round of this much keeps its steps short.
#define ALONE_BYTES (1024u * 1024u)

uint64_t rp_expand_round_count(const struct rp_expand_request *request)
{
    if (request->op == RP_OP_BARRIER) {
        return 1;
    }
    if (request->size == 1) {
        return ALONE_BYTES / rp_expand_element_bytes(request);
    }
    return request->algorithm == RP_ALGORITHM_RING ? rp_expand_ring_count(request)
                                                   : rp_expand_mesh_count(request);
}

uint64_t rp_expand_window_bytes(const struct rp_expand_request *request)
{
    const bool none = request->size == 1 || request->op == RP_OP_BARRIER;
    return none ? 0 : request->size * rp_expand_slot(request);
}

// One rank: its output is its input.
static rp_status expand_alone(const struct rp_expand_request *request, struct rp_task_list **out)
{
    struct rp_list_builder builder = { .list = NULL };
    if (request->op != RP_OP_BARRIER && request->op != RP_OP_BROADCAST) {
        rp_build_copy(&builder, rp_ht_at(RP_HT_RECV, 0, 0), rp_ht_at(RP_HT_SEND, 0, 0),
                request->count * rp_expand_element_bytes(request));
    }
    return rp_builder_finish(&builder, request->count, out);
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
    if (request->size == 1) {
        return expand_alone(request, out);
    }
    return request->algorithm == RP_ALGORITHM_RING ? rp_expand_ring(request, out)
                                                   : rp_expand_mesh(request, out);
}
