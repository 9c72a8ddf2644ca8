#include "support/proof_case.h"

#include <assert.h>
#include <criterion/criterion.h>
#include <inttypes.h>

#include "base/util.h"
#include "capture/select.h"
#include "kernels/record.h"

const uint16_t proof_ops[] = { RP_OP_ALL_REDUCE, RP_OP_REDUCE_SCATTER, RP_OP_ALL_GATHER,
    RP_OP_BROADCAST, RP_OP_REDUCE, RP_OP_SCATTER, RP_OP_ALLTOALL, RP_OP_ALL_GATHER_V,
    RP_OP_REDUCE_SCATTER_V, RP_OP_BARRIER };

bool proof_in_place(uint16_t op)
{
    return rp_matrix_row(op)->in_place;
}

bool proof_knows_op(uint8_t algorithm, uint16_t op)
{
    return (rp_matrix_row(op)->algorithms & RP_ALGORITHM_BIT(algorithm)) != 0;
}

bool proof_strict(uint8_t algorithm)
{
    return (RP_ALGORITHMS_STRICT & RP_ALGORITHM_BIT(algorithm)) != 0;
}

void proof_prove(struct list_proof *proof, const struct list_proof_op *op, uint32_t ranks)
{
    const struct rp_record record = { .op = op->op, .algorithm = op->algorithm };
    cr_assert(list_proof_run(proof, op),
            "%s, %s, %u ranks, %" PRIu64 " elements of type %u, root %u, in place %d: %s",
            rp_op_kind_name(op->op), rp_record_words(&record).algorithm, ranks, op->count,
            op->dtype, op->root, op->in_place, list_proof_fault(proof));
}

uint64_t proof_window(uint32_t ranks)
{
    return 8192 + UINT64_C(1400) * ranks;
}

uint64_t proof_levels_window(uint32_t ranks)
{
    return 98304 + UINT64_C(6000) * ranks;
}

static_assert(RP_ARRAY_LENGTH(proof_ops) == PROOF_OPS, "as the header says");

uint32_t proof_random(uint64_t *state, uint32_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % below;
}

void proof_shuffle(uint32_t *rank_of, uint32_t ranks, uint64_t seed)
{
    for (uint32_t i = 0; i < ranks; i++) {
        const uint32_t k = proof_random(&seed, i + 1);
        rank_of[i] = rank_of[k];
        rank_of[k] = i;
    }
}

static void deal(struct proof_nodes *nodes, const uint32_t *cards)
{
    uint32_t rank = 0;
    for (uint32_t card = 0; rank < nodes->ranks; card++) {
        for (uint32_t node = 0; node < nodes->layout.nodes; node++) {
            if (card < cards[node]) {
                nodes->rank_of[nodes->first[node] + card] = rank++;
            }
        }
    }
}

void proof_nodes(struct proof_nodes *nodes, const uint32_t *cards, uint32_t count,
        enum proof_numbering numbering)
{
    bool even = true;
    *nodes = (struct proof_nodes){ .layout = { .nodes = count, .rank_of = nodes->rank_of } };
    for (uint32_t node = 0; node < count; node++) {
        nodes->first[node + 1] = nodes->first[node] + cards[node];
        even = even && cards[node] == cards[0];
        nodes->layout.cards = cards[node] > nodes->layout.cards ? cards[node] : nodes->layout.cards;
    }
    nodes->ranks = nodes->first[count];
    nodes->layout.first = even ? NULL : nodes->first;
    if (numbering == IN_ORDER) {
        nodes->layout.rank_of = NULL;
    } else if (numbering == DEALT) {
        deal(nodes, cards);
    } else {
        proof_shuffle(nodes->rank_of, nodes->ranks, nodes->ranks);
    }
}

const struct proof_layout proof_layouts[] = {
    { 2, { 2, 2 } },
    { 2, { 4, 4 } },
    { 4, { 2, 2, 2, 2 } },
    { 3, { 3, 3, 3 } },
    { 5, { 2, 2, 2, 2, 2 } },
    { 2, { 3, 1 } },
    { 2, { 1, 4 } },
    { 3, { 2, 1, 1 } },
    { 3, { 5, 3, 1 } },
    { 3, { 5, 2, 4 } },
    { 4, { 2, 3, 2, 5 } },
    { 6, { 1, 2, 1, 1, 2, 1 } },
    { 2, { 8, 8 } }, // soak from here on
    { 11, { 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3 } },
    { 4, { 8, 8, 8, 8 } },
    { 5, { 7, 3, 8, 4, 11 } },
    { 3, { 16, 16, 1 } },
};
static_assert(RP_ARRAY_LENGTH(proof_layouts) == PROOF_LAYOUTS, "as the header says");
