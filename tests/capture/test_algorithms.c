// Every algorithm and operator, by the proof of support/list_proof.h: which bytes end where, each
// input counted once, no deadlock, no race on any byte, for 1 to 33 ranks with counts of all kinds,
// and for samples up to 1,024 ranks; two levels over layouts of all kinds.
//
// CI runs a slice; REPRISE_SOAK=1 runs all of it.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "capture/select.h"
#include "kernels/dtype.h"
#include "support/proof_case.h"
#include "support/soak.h"

// No element for some slices, one each, one too many; a full round, and a tail of one.
static void prove_counts(struct list_proof *proof, struct list_proof_op op, uint32_t ranks)
{
    const uint64_t most = list_proof_round_count(proof, &op);
    const uint64_t counts[] = { 1, 2, ranks - 1, ranks, ranks + 1, 3 * (uint64_t)ranks + 1, most,
        most + 1, 2 * most + 3 };
    const size_t small = op.op == RP_OP_BARRIER ? 1 : soaking() || ranks < 10 ? 9 : 7;
    cr_assert(gt(u64, most, 0));
    for (size_t i = 0; i < small; i++) {
        op.count = counts[i];
        op.root = (uint32_t)(7 * i + ranks) % ranks;
        op.in_place = proof_in_place(op.op) && i % 2 != 0;
        if (op.count == 0 || (ranks == 1 && op.count > 10)) {
            continue; // a single rank's round is a megabyte whatever the window
        }
        proof_prove(proof, &op, ranks);
        if (soaking()) {
            op.in_place = proof_in_place(op.op) && !op.in_place;
            op.root = (op.root + 1) % ranks;
            proof_prove(proof, &op, ranks);
        }
    }
}

static void prove_all(struct list_proof *proof, uint32_t ranks)
{
    for (uint8_t a = RP_ALGORITHM_MESH; a < RP_ALGORITHMS; a++) {
        for (size_t o = 0; o < PROOF_OPS; o++) {
            const struct list_proof_op op = {
                .op = proof_ops[o],
                .algorithm = a,
                .dtype = RP_DTYPE_INT8,
                .strict = proof_strict(a),
            };
            if (proof_knows_op(a, op.op)) {
                prove_counts(proof, op, ranks);
            }
        }
    }
}

Test(algorithms, all_are_right_for_1_to_33_ranks, .timeout = 900)
{
    uint64_t tasks = 0;
    for (uint32_t ranks = 1; ranks <= 33; ranks++) {
        const bool slice = ranks < 10 || ranks == 12 || ranks == 16 || ranks == 17 || ranks == 31 ||
                           ranks == 33;
        if (!slice && !soaking()) {
            continue;
        }
        struct list_proof *proof = list_proof_create(ranks, proof_window(ranks), ranks);
        prove_all(proof, ranks);
        tasks += list_proof_tasks(proof);
        list_proof_destroy(proof);
    }
    fprintf(stderr, "%" PRIu64 " tasks\n", tasks);
}

#define ENOUGH_BYTES 33000u // seven slices of more than a page

// Elements of several bytes, and slices of pages, which are cut between cache lines.
Test(algorithms, large_slices_and_elements, .timeout = 300)
{
    static const uint8_t types[] = { RP_DTYPE_BFP16, RP_DTYPE_FP64 };
    static const uint32_t ranks_of[] = { 2, 3, 4, 7 };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(ranks_of) * RP_ARRAY_LENGTH(types); i++) {
        const uint32_t ranks = ranks_of[i / RP_ARRAY_LENGTH(types)];
        struct list_proof *proof = list_proof_create(ranks, ranks * UINT64_C(120000), i);
        for (uint8_t a = RP_ALGORITHM_MESH; a < RP_ALGORITHMS; a++) {
            for (size_t o = 0; o < PROOF_OPS - 1; o++) {
                struct list_proof_op op = { .op = proof_ops[o],
                    .algorithm = a,
                    .dtype = types[i % RP_ARRAY_LENGTH(types)],
                    .strict = proof_strict(a),
                    .in_place = proof_in_place(proof_ops[o]) && i % 2 == 0 };
                if (!proof_knows_op(a, op.op)) {
                    continue;
                }
                const uint64_t most = list_proof_round_count(proof, &op);
                const uint64_t enough = ENOUGH_BYTES / (i % 2 == 0 ? 2 : 8);
                op.count = (most < enough ? most : enough) + 5;
                proof_prove(proof, &op, ranks);
            }
        }
        list_proof_destroy(proof);
    }
}

static void prove_layout(uint32_t nodes, uint32_t cards, const uint32_t *rank_of)
{
    const uint32_t ranks = nodes * cards;
    const struct rp_layout layout = { .nodes = nodes, .cards = cards, .rank_of = rank_of };
    struct list_proof *proof = list_proof_create(ranks, 2 * proof_window(ranks), cards);
    for (size_t o = 0; o < 3; o++) {
        const struct list_proof_op op = {
            .op = proof_ops[o],
            .algorithm = RP_ALGORITHM_PIPELINE,
            .dtype = RP_DTYPE_INT8,
            .layout = &layout,
        };
        prove_counts(proof, op, ranks);
    }
    list_proof_destroy(proof);
}

// Nodes of 1 to 33 cards, the ranks in order, dealt out one a node in turn, and in disorder.
Test(algorithms, pipelines_over_every_layout_of_up_to_33_ranks, .timeout = 300)
{
    uint32_t rank_of[33];
    for (uint32_t nodes = 1; nodes <= 33; nodes++) {
        for (uint32_t cards = 1; nodes * cards <= 33; cards++) {
            const uint32_t ranks = nodes * cards;
            if (ranks < 2 || (!soaking() && ranks > 12 && ranks != 24)) {
                continue;
            }
            prove_layout(nodes, cards, NULL);
            for (uint32_t i = 0; i < ranks; i++) {
                rank_of[i] = i % cards * nodes + i / cards;
            }
            prove_layout(nodes, cards, rank_of);
            proof_shuffle(rank_of, ranks, ranks);
            prove_layout(nodes, cards, rank_of);
        }
    }
}

// ---- two levels ----

static void prove_levels(const struct proof_nodes *nodes)
{
    const uint32_t ranks = nodes->ranks;
    struct list_proof *proof = list_proof_create(ranks, proof_levels_window(ranks), ranks);
    for (uint8_t a = RP_ALGORITHM_MESH; a < RP_ALGORITHMS; a++) {
        for (size_t o = 0; o < PROOF_OPS; o++) {
            const struct list_proof_op op = {
                .op = proof_ops[o],
                .algorithm = (uint8_t)(a | RP_TWO_LEVELS),
                .dtype = RP_DTYPE_INT8,
                .layout = &nodes->layout,
            };
            if (rp_matrix_between(op.op, a, op.layout)) {
                prove_counts(proof, op, ranks);
            }
        }
    }
    list_proof_destroy(proof);
}

Test(algorithms, two_levels_over_layouts_of_all_kinds, .timeout = 900)
{
    struct proof_nodes nodes;
    for (size_t i = 0; i < (soaking() ? PROOF_LAYOUTS : PROOF_LAYOUTS_CI); i++) {
        for (unsigned n = 0; n < (soaking() ? (unsigned)NUMBERINGS : 1u); n++) {
            const enum proof_numbering numbering = (enum proof_numbering)((i + n) % NUMBERINGS);
            proof_nodes(&nodes, proof_layouts[i].cards, proof_layouts[i].nodes, numbering);
            prove_levels(&nodes);
        }
    }
}

// Signals of the form "everyone to everyone" and lists as long as the ranks are many cost the
// square of the ranks; those algorithms stop earlier.
static bool squares(uint8_t algorithm)
{
    return algorithm == RP_ALGORITHM_MESH || algorithm == RP_ALGORITHM_PAIRWISE ||
           algorithm == RP_ALGORITHM_RING || algorithm == RP_ALGORITHM_PIPELINE;
}

// Whose buffers grow with the ranks.
static bool has_blocks(uint16_t op)
{
    return op != RP_OP_ALL_REDUCE && op != RP_OP_BROADCAST && op != RP_OP_REDUCE;
}

static void prove_sample(uint32_t ranks, bool large)
{
    struct list_proof *proof = list_proof_create(ranks, proof_window(ranks), ranks);
    for (uint8_t a = RP_ALGORITHM_MESH; a < RP_ALGORITHMS; a++) {
        for (size_t o = 0; o < PROOF_OPS; o++) {
            struct list_proof_op op = {
                .op = proof_ops[o],
                .algorithm = a,
                .dtype = RP_DTYPE_INT8,
                .strict = proof_strict(a),
                .root = ranks - 2,
                .in_place = proof_in_place(proof_ops[o]) && o % 2 == 0,
            };
            if (!proof_knows_op(a, op.op) || (large && squares(a))) {
                continue;
            }
            op.count = has_blocks(op.op) || op.op == RP_OP_BARRIER ? 1 : ranks + 1;
            proof_prove(proof, &op, ranks);
        }
    }
    list_proof_destroy(proof);
}

Test(algorithms, samples_of_up_to_1024_ranks, .timeout = 900)
{
    static const uint32_t slice[] = { 48 };
    static const uint32_t large_slice[] = { 100, 1000 };
    static const uint32_t soak[] = { 96, 127, 129, 200, 256 };
    static const uint32_t large_soak[] = { 511, 512, 513, 768, 1023, 1024 };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(slice); i++) {
        prove_sample(slice[i], false);
    }
    for (size_t i = 0; i < RP_ARRAY_LENGTH(large_slice); i++) {
        prove_sample(large_slice[i], true);
    }
    for (size_t i = 0; soaking() && i < RP_ARRAY_LENGTH(soak); i++) {
        prove_sample(soak[i], false);
    }
    for (size_t i = 0; soaking() && i < RP_ARRAY_LENGTH(large_soak); i++) {
        prove_sample(large_soak[i], true);
    }
}
