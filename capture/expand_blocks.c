// All-to-all between one pair of ranks, from the block in the sender's input to that in the
// receiver's output. The algorithms differ only in when they turn to which peer.
//
//     sender's slot in the receiver's window-in:    | data ... |
//     by a row:                                     | count |   data ... |
//
// By a row, blocks differ from pair to pair and a list is made for as much as a slot holds: a rank
// goes through it as often as its own largest block asks for, and a pair that is through takes no
// part any more. What a round has of a pair is known to both of its ranks, so they skip the same
// signals.

#include "base/util.h"
#include "capture/expand_list.h"

#define COUNT_BYTES RP_CACHELINE // data begins on a line, as without a count

static uint64_t block_bytes(const struct rp_expand_request *request)
{
    return request->count * rp_expand_element_bytes(request);
}

static uint64_t data_off(const struct rp_expand_request *request, uint32_t sender)
{
    const uint64_t off = rp_expand_slot_off(request, sender);
    return rp_op_has_row(request->op) ? off + COUNT_BYTES : off;
}

// Without rows every task is one always.
static void end_pair(struct rp_list_builder *builder, const struct rp_expand_request *request,
        uint32_t first, uint32_t peer, enum rp_ht_when when)
{
    if (rp_op_has_row(request->op)) {
        rp_build_when(builder, first, peer, when);
    }
}

uint64_t rp_expand_block_limit(const struct rp_expand_request *request)
{
    const uint64_t slot = rp_expand_slot(request);
    const uint64_t used = rp_op_has_row(request->op) ? rp_min_u64(slot, COUNT_BYTES) : 0;
    return rp_expand_limit(slot - used);
}

void rp_build_block_out(
        struct rp_list_builder *builder, const struct rp_expand_request *request, uint32_t peer)
{
    uint32_t first = rp_build_next(builder);
    if (rp_op_has_row(request->op)) {
        const uint64_t off = rp_expand_slot_off(request, request->rank);
        rp_build_put(builder, peer, rp_ht_at(RP_HT_WIN_IN, 0, off), rp_ht_at(RP_HT_ROW, peer, 0),
                sizeof(uint64_t));
        rp_build_when(builder, first, peer, RP_HT_FIRST);
        first = rp_build_next(builder);
    }
    rp_build_put(builder, peer, rp_ht_at(RP_HT_WIN_IN, 0, data_off(request, request->rank)),
            rp_ht_at(RP_HT_SEND, peer, 0), block_bytes(request));
    rp_build_signal(builder, peer);
    end_pair(builder, request, first, peer, RP_HT_OUT);
}

void rp_build_block_in(
        struct rp_list_builder *builder, const struct rp_expand_request *request, uint32_t peer)
{
    uint32_t first = rp_build_next(builder);
    rp_build_wait(builder, peer);
    if (rp_op_has_row(request->op)) {
        rp_build_when(builder, first, peer, RP_HT_IN);
        first = rp_build_next(builder);
        rp_build_check(builder, peer, rp_ht_at(RP_HT_WIN_IN, 0, rp_expand_slot_off(request, peer)));
        rp_build_when(builder, first, peer, RP_HT_FIRST);
        first = rp_build_next(builder);
    }
    rp_build_copy(builder, rp_ht_at(RP_HT_RECV, peer, 0),
            rp_ht_at(RP_HT_WIN_IN, 0, data_off(request, peer)), block_bytes(request));
    end_pair(builder, request, first, peer, RP_HT_IN);
}

void rp_build_credit_out(
        struct rp_list_builder *builder, const struct rp_expand_request *request, uint32_t peer)
{
    const uint32_t first = rp_build_next(builder);
    rp_build_signal(builder, peer);
    end_pair(builder, request, first, peer, RP_HT_IN); // for what came from there
}

void rp_build_credit_in(
        struct rp_list_builder *builder, const struct rp_expand_request *request, uint32_t peer)
{
    const uint32_t first = rp_build_next(builder);
    rp_build_wait(builder, peer);
    end_pair(builder, request, first, peer, RP_HT_OUT);
}
