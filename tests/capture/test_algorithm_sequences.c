// Operators of all kinds one after the other, without a barrier, by the proof of
// support/list_proof.h.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "capture/select.h"
#include "kernels/dtype.h"
#include "support/proof_case.h"
#include "support/soak.h"

// One operator after the other, of every kind and type: the ranks drift, and no byte has two
// writers whatever the types.
static void prove_sequence(
        const struct proof_nodes *nodes, uint64_t window_bytes, unsigned length, uint64_t seed)
{
    static const uint8_t types[] = { RP_DTYPE_INT8, RP_DTYPE_INT16, RP_DTYPE_FP32, RP_DTYPE_FP64,
        RP_DTYPE_INT128 };
    const struct rp_layout *layout = &nodes->layout;
    struct list_proof *proof = list_proof_create(nodes->ranks, window_bytes, seed);
    for (unsigned n = 0; n < length; n++) {
        const uint16_t op = proof_ops[proof_random(&seed, PROOF_OPS)];
        const uint8_t a = (uint8_t)(1 + proof_random(&seed, RP_ALGORITHMS - 1));
        const bool levels = layout->nodes > 1 && proof_random(&seed, 2) != 0;
        struct list_proof_op what = {
            .op = op,
            .algorithm = levels ? (uint8_t)(a | RP_TWO_LEVELS) : a,
            .dtype = types[proof_random(&seed, 5)],
            .root = proof_random(&seed, nodes->ranks),
            .in_place = proof_random(&seed, 2) != 0 && proof_in_place(op),
            .strict = !levels && proof_strict(a),
            .count = 1 + proof_random(&seed, proof_random(&seed, 2)
                                                     ? 40
                                                     : (soaking() ? 20000 : 4000) / nodes->ranks),
            .layout = layout->nodes > 1 ? layout : NULL,
        };
        const bool opaque = what.dtype == RP_DTYPE_INT128 && rp_matrix_row(op)->reduces;
        what.count = op == RP_OP_BARRIER ? 1 : what.count;
        if (!opaque && (levels ? rp_matrix_between(op, a, layout) : proof_knows_op(a, op))) {
            proof_prove(proof, &what, nodes->ranks);
        }
    }
    list_proof_destroy(proof);
}

// As communicators have them: the regions and slots have their full size, or the smallest that
// HCCL_BUFFSIZE allows.
Test(algorithm_sequences, operators_follow_each_other_in_windows_of_any_size, .timeout = 900)
{
    static const uint32_t ranks_of[] = { 2, 3, 6, 8, 12 };
    static const uint64_t windows[] = { UINT64_C(1) << 20, UINT64_C(200) << 20 };
    struct proof_nodes nodes;
    for (size_t i = 0; i < RP_ARRAY_LENGTH(ranks_of) * 2; i++) {
        const uint32_t all = ranks_of[i / 2];
        proof_nodes(&nodes, &all, 1, IN_ORDER);
        prove_sequence(&nodes, windows[i % 2], soak_rounds(60, 1500), i);
    }
    for (size_t i = 0; i < PROOF_LAYOUTS_CI * 2; i++) {
        const unsigned at = (unsigned)(i / 2);
        proof_nodes(&nodes, proof_layouts[at].cards, proof_layouts[at].nodes,
                (enum proof_numbering)(i % NUMBERINGS));
        prove_sequence(&nodes, windows[i % 2], soak_rounds(40, 1500), i);
    }
}
