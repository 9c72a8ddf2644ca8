// Predicted times against the formulas of Hockney's model, and what they are for: the order of
// algorithms by size and number of ranks.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/util.h"
#include "capture/cost.h"
#include "capture/select.h"
#include "kernels/dtype.h"

#define WINDOW (UINT64_C(200) << 20)

// Nothing but links and reductions, so that the formulas are exact.
static const struct rp_cost_model hockney = {
    .link = {
            [RP_LINK_NODE] = { .alpha_ns = 1000, .beta_ns = 0.5 },
            [RP_LINK_NET] = { .alpha_ns = 5000, .beta_ns = 0.25, .wire = true },
    },
    .gamma_ns = 0.125,
};

static double predict(const struct rp_cost_model *model, enum rp_op_kind op,
        enum rp_algorithm algorithm, uint32_t nodes, uint32_t cards, uint64_t bytes)
{
    const struct rp_layout layout = { .nodes = nodes, .cards = cards };
    const struct rp_expand_request request = {
        .op = (uint16_t)op,
        .dtype = RP_DTYPE_INT8,
        .algorithm = (uint8_t)algorithm,
        .size = nodes * cards,
        .window_bytes = WINDOW,
        .layout = &layout,
    };
    double ns = -1;
    cr_assert(eq(int, rp_cost_predict(model, &request, bytes, &ns), RP_OK));
    cr_assert(gt(dbl, ns, 0));
    return ns;
}

static double net(enum rp_op_kind op, enum rp_algorithm algorithm, uint32_t ranks, uint64_t bytes)
{
    return predict(&rp_cost_default, op, algorithm, ranks, 1, bytes);
}

static double log2_up(uint32_t ranks)
{
    return ceil(log2(ranks));
}

// n bytes a rank over p ranks; the last credit is one alpha more.
static void holds(double ns, double steps, double bytes_out, double bytes_reduced, const char *what)
{
    const struct rp_link_cost *link = &hockney.link[RP_LINK_NET];
    const double want = steps * link->alpha_ns + bytes_out * link->beta_ns +
                        2 * bytes_reduced * hockney.gamma_ns; // it reads two inputs
    cr_assert(fabs(ns - want - link->alpha_ns) < 1e-6 * want, "%s: %f ns, not %f", what, ns,
            want + link->alpha_ns);
}

Test(cost, the_formulas_of_the_model_hold)
{
    for (uint32_t p = 2; p <= 40; p++) {
        const uint64_t block = 1000;
        const double passed = (p - 1) * (double)block;
        holds(predict(&hockney, RP_OP_REDUCE_SCATTER, RP_ALGORITHM_RING, p, 1, block), p - 1,
                passed, passed, "ring, reduce-scatter");
        holds(predict(&hockney, RP_OP_ALL_GATHER, RP_ALGORITHM_RING, p, 1, block), p - 1, passed, 0,
                "ring, all-gather");
        holds(predict(&hockney, RP_OP_ALL_REDUCE, RP_ALGORITHM_RING, p, 1, p * block), 2 * (p - 1),
                2 * passed, passed, "ring, all-reduce");
        for (int a = RP_ALGORITHM_NHR; a <= RP_ALGORITHM_NB; a++) {
            const enum rp_algorithm algorithm = (enum rp_algorithm)a;
            holds(predict(&hockney, RP_OP_REDUCE_SCATTER, algorithm, p, 1, block), log2_up(p),
                    passed, passed, "NHR, NB, reduce-scatter");
            holds(predict(&hockney, RP_OP_ALL_GATHER, algorithm, p, 1, block), log2_up(p), passed,
                    0, "NHR, NB, all-gather");
            holds(predict(&hockney, RP_OP_ALL_REDUCE, algorithm, p, 1, p * block), 2 * log2_up(p),
                    2 * passed, passed, "NHR, NB, all-reduce");
        }
        holds(predict(&hockney, RP_OP_BROADCAST, RP_ALGORITHM_STAR, p, 1, block), 1, passed, 0,
                "star, broadcast");
        if ((p & (p - 1)) == 0) {
            holds(predict(&hockney, RP_OP_ALL_REDUCE, RP_ALGORITHM_HD, p, 1, p * block),
                    2 * log2_up(p), 2 * passed, passed, "H-D_R, all-reduce");
            holds(predict(&hockney, RP_OP_BROADCAST, RP_ALGORITHM_HD, p, 1, block), log2_up(p),
                    log2_up(p) * (double)block, 0, "H-D_R, broadcast");
        }
    }
}

// Two more steps of the whole vector, where the ranks are no power of two. A pair's rank may hear
// of its partner and of the block at once; its port takes one after the other.
Test(cost, halving_and_doubling_pays_for_pairs)
{
    for (uint32_t p = 3; p <= 40; p++) {
        if ((p & (p - 1)) == 0) {
            continue;
        }
        const double q = exp2(floor(log2(p)));
        const uint64_t n = (uint64_t)q * 1000;
        const double swapped = (q - 1) * 1000;
        const double ns = predict(&hockney, RP_OP_ALL_REDUCE, RP_ALGORITHM_HD, p, 1, n);
        const struct rp_link_cost *link = &hockney.link[RP_LINK_NET];
        const double want = (2 * log2(q) + 3) * link->alpha_ns +
                            (2 * swapped + 2 * (double)n) * link->beta_ns +
                            2 * (swapped + (double)n) * hockney.gamma_ns;
        cr_assert(ge(dbl, ns, want * (1 - 1e-9)), "%u ranks", p);
        cr_assert(le(dbl, ns, want + 2 * (double)n * link->beta_ns), "%u ranks", p);
    }
}

Test(cost, rounds_add_up)
{
    const double one = net(RP_OP_ALL_REDUCE, RP_ALGORITHM_NHR, 8, 1 << 10);
    const double many = net(RP_OP_ALL_REDUCE, RP_ALGORITHM_NHR, 8, 64 << 20);
    cr_assert(gt(dbl, many, 100 * one));
    cr_assert(eq(dbl, many, net(RP_OP_ALL_REDUCE, RP_ALGORITHM_NHR, 8, 64 << 20)), "repeatable");
}

Test(cost, few_steps_win_for_small_data_and_many_ranks, .timeout = 120)
{
    static const uint32_t ranks_of[] = { 16, 37, 64, 256 };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(ranks_of); i++) {
        const uint32_t p = ranks_of[i];
        const double ring = net(RP_OP_ALL_REDUCE, RP_ALGORITHM_RING, p, 4096);
        cr_assert(lt(dbl, 2 * net(RP_OP_ALL_REDUCE, RP_ALGORITHM_NHR, p, 4096), ring));
        cr_assert(lt(dbl, 2 * net(RP_OP_ALL_REDUCE, RP_ALGORITHM_NB, p, 4096), ring));
        cr_assert(lt(dbl, 2 * net(RP_OP_ALL_REDUCE, RP_ALGORITHM_HD, p, 4096), ring));
        const double chain = net(RP_OP_BROADCAST, RP_ALGORITHM_RING, p, 1024);
        cr_assert(lt(dbl, net(RP_OP_BROADCAST, RP_ALGORITHM_NHR, p, 1024), chain));
        cr_assert(lt(dbl, net(RP_OP_BROADCAST, RP_ALGORITHM_HD, p, 1024), chain));
    }
}

Test(cost, a_ring_wins_for_large_data)
{
    static const uint32_t ranks_of[] = { 4, 6, 16 };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(ranks_of); i++) {
        const uint32_t p = ranks_of[i];
        const uint64_t n = UINT64_C(256) << 20;
        const double ring = net(RP_OP_ALL_REDUCE, RP_ALGORITHM_RING, p, n);
        cr_assert(lt(dbl, ring, net(RP_OP_ALL_REDUCE, RP_ALGORITHM_NHR, p, n)));
        cr_assert(lt(dbl, ring, net(RP_OP_ALL_REDUCE, RP_ALGORITHM_NB, p, n)));
        cr_assert(lt(dbl, ring, net(RP_OP_ALL_REDUCE, RP_ALGORITHM_HD, p, n)));
        const double chain = net(RP_OP_BROADCAST, RP_ALGORITHM_RING, p, n);
        cr_assert(lt(dbl, chain, net(RP_OP_BROADCAST, RP_ALGORITHM_HD, p, n)));
        cr_assert(lt(dbl, chain, net(RP_OP_BROADCAST, RP_ALGORITHM_STAR, p, n)));
    }
}

// H-D_R pays for numbers that are no power of two, NHR does not.
Test(cost, nhr_wins_where_ranks_are_no_power_of_two)
{
    const uint64_t n = 1 << 20;
    cr_assert(lt(dbl, net(RP_OP_ALL_REDUCE, RP_ALGORITHM_NHR, 24, n),
            net(RP_OP_ALL_REDUCE, RP_ALGORITHM_HD, 24, n)));
}

// A flat ring takes p - 1 steps at the pace of the network, a pipeline one a node.
Test(cost, a_pipeline_wins_over_nodes_of_several_cards)
{
    const struct rp_cost_model *model = &rp_cost_default;
    for (uint64_t n = 1 << 20; n <= 64 << 20; n *= 8) {
        const double flat = predict(model, RP_OP_ALL_REDUCE, RP_ALGORITHM_RING, 4, 8, n);
        cr_assert(lt(dbl, predict(model, RP_OP_ALL_REDUCE, RP_ALGORITHM_PIPELINE, 4, 8, n), flat));
    }
}

Test(cost, a_thousand_ranks, .timeout = 120)
{
    const double small = net(RP_OP_ALL_REDUCE, RP_ALGORITHM_NHR, 1024, 4096);
    const double pairs = net(RP_OP_ALL_REDUCE, RP_ALGORITHM_HD, 1000, 4096);
    const double steps = rp_cost_default.link[RP_LINK_NET].alpha_ns;
    cr_assert(gt(dbl, small, 20 * steps));
    cr_assert(lt(dbl, small, 60 * steps), "%f", small);
    cr_assert(gt(dbl, pairs, 20 * steps));
    cr_assert(lt(dbl, pairs, 60 * steps), "%f", pairs);
}

// The selector's thresholds are this model's: what it picks is near the best within a node.
Test(cost, what_the_selector_picks_is_near_the_best, .timeout = 120)
{
    static const enum rp_op_kind ops[] = { RP_OP_ALL_REDUCE, RP_OP_ALL_GATHER, RP_OP_REDUCE_SCATTER,
        RP_OP_BROADCAST };
    static const uint32_t ranks_of[] = { 2, 4, 8, 16, 24, 64, 100 };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(ranks_of) * RP_ARRAY_LENGTH(ops); i++) {
        const enum rp_op_kind op = ops[i % RP_ARRAY_LENGTH(ops)];
        const uint32_t p = ranks_of[i / RP_ARRAY_LENGTH(ops)];
        const unsigned algorithms = rp_matrix_row(op)->algorithms;
        for (uint64_t n = 16; n <= 1 << 20; n *= 16) {
            const bool blocks = op == RP_OP_ALL_GATHER || op == RP_OP_REDUCE_SCATTER;
            const uint64_t bytes = blocks ? n / p + 1 : n;
            const enum rp_algorithm picked = rp_select_adaptive(op, bytes, p);
            const double ns = predict(&rp_cost_default, op, picked, 1, p, bytes);
            for (int a = RP_ALGORITHM_MESH; a < RP_ALGORITHM_PIPELINE; a++) {
                if (algorithms & RP_ALGORITHM_BIT(a)) {
                    const double other =
                            predict(&rp_cost_default, op, (enum rp_algorithm)a, 1, p, bytes);
                    cr_assert(le(dbl, ns, 2 * other), "op %d, %u ranks, %llu bytes: %d, not %d", op,
                            p, (unsigned long long)bytes, a, picked);
                }
            }
        }
    }
}

static bool takes_blocks(enum rp_op_kind op)
{
    return op != RP_OP_ALL_REDUCE && op != RP_OP_BROADCAST && op != RP_OP_REDUCE;
}

static enum rp_algorithm two_levels(unsigned between)
{
    return between == RP_ALGORITHM_PIPELINE ? RP_ALGORITHM_PIPELINE
                                            : (enum rp_algorithm)(between | RP_TWO_LEVELS);
}

// The same between nodes: near the best of two levels, and for small data far better than one.
Test(cost, what_the_selector_picks_between_nodes_is_near_the_best, .timeout = 120)
{
    static const enum rp_op_kind ops[] = { RP_OP_ALL_REDUCE, RP_OP_ALL_GATHER, RP_OP_REDUCE_SCATTER,
        RP_OP_BROADCAST, RP_OP_REDUCE, RP_OP_ALLTOALL, RP_OP_SCATTER };
    static const uint32_t layouts[][2] = { { 2, 2 }, { 2, 4 }, { 4, 8 }, { 8, 8 }, { 6, 4 },
        { 16, 4 }, { 32, 2 } };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(layouts) * RP_ARRAY_LENGTH(ops); i++) {
        const enum rp_op_kind op = ops[i % RP_ARRAY_LENGTH(ops)];
        const uint32_t *at = layouts[i / RP_ARRAY_LENGTH(ops)];
        const struct rp_layout layout = { .nodes = at[0], .cards = at[1] };
        for (uint64_t n = 64; n <= 16 << 20; n *= 64) {
            const uint64_t bytes = takes_blocks(op) ? n / (at[0] * at[1]) + 1 : n;
            const unsigned picked = rp_select_between(op, bytes, &layout);
            const double ns =
                    predict(&rp_cost_default, op, two_levels(picked), at[0], at[1], bytes);
            for (unsigned a = RP_ALGORITHM_MESH; a < RP_ALGORITHMS; a++) {
                const bool pipe = a == RP_ALGORITHM_PIPELINE &&
                                  (rp_matrix_row(op)->algorithms & RP_ALGORITHM_BIT(a)) != 0;
                if (pipe || rp_matrix_between(op, a, &layout)) {
                    const double other =
                            predict(&rp_cost_default, op, two_levels(a), at[0], at[1], bytes);
                    cr_assert(le(dbl, ns, 2 * other), "op %d, %ux%u, %llu bytes: %u, not %u", op,
                            at[0], at[1], (unsigned long long)bytes, a, picked);
                }
            }
            const double flat =
                    predict(&rp_cost_default, op, RP_ALGORITHM_MESH, at[0], at[1], bytes);
            cr_assert(le(dbl, ns, 1.5 * flat), "op %d, %ux%u, %llu bytes", op, at[0], at[1],
                    (unsigned long long)bytes);
            if (n == 64 && at[0] * at[1] >= 32) {
                cr_assert(lt(dbl, 1.5 * ns, flat), "op %d, %ux%u", op, at[0], at[1]);
            }
        }
    }
}

// Few steps for little on many nodes, the fewest bytes on the wire for much.
Test(cost, the_selector_goes_from_steps_to_bytes)
{
    const struct rp_layout many = { .nodes = 32, .cards = 2 };
    const struct rp_layout few = { .nodes = 4, .cards = 8 };
    const struct rp_layout singles = { .nodes = 64, .cards = 1 };
    cr_assert(eq(int, (int)rp_select_between(RP_OP_ALL_REDUCE, 64, &many), RP_ALGORITHM_NHR));
    cr_assert(eq(int, (int)rp_select_between(RP_OP_ALL_GATHER, 64, &singles), RP_ALGORITHM_NHR));
    cr_assert(eq(int, (int)rp_select_between(RP_OP_ALL_REDUCE, 64, &few), RP_ALGORITHM_MESH));
    cr_assert(eq(int, (int)rp_select_between(RP_OP_BROADCAST, 64, &few), RP_ALGORITHM_STAR));
    cr_assert(eq(
            int, (int)rp_select_between(RP_OP_ALL_REDUCE, 64 << 20, &many), RP_ALGORITHM_PIPELINE));
    cr_assert(eq(int, (int)rp_select_between(RP_OP_ALLTOALL, 64 << 20, &many), RP_ALGORITHM_MESH));
}

Test(cost, what_cannot_be_told_is_an_error)
{
    struct rp_expand_request request = { .op = RP_OP_ALL_GATHER,
        .dtype = RP_DTYPE_FP32,
        .algorithm = RP_ALGORITHM_STAR,
        .size = 4,
        .window_bytes = WINDOW };
    double ns = 7;
    cr_assert(eq(int, rp_cost_predict(&hockney, &request, 10, &ns), RP_ENOTSUP));
    request.algorithm = RP_ALGORITHM_NHR;
    cr_assert(eq(int, rp_cost_predict(&hockney, &request, 0, &ns), RP_EPARAM));
    request.window_bytes = 64;
    cr_assert(eq(int, rp_cost_predict(&hockney, &request, 10, &ns), RP_EPARAM));
    cr_assert(eq(dbl, ns, 7), "untouched");
}

Test(cost, every_failed_allocation_is_reported)
{
    const struct rp_expand_request request = { .op = RP_OP_ALL_REDUCE,
        .dtype = RP_DTYPE_FP32,
        .algorithm = RP_ALGORITHM_NB,
        .size = 5,
        .window_bytes = WINDOW };
    int64_t n = 0;
    for (bool failed = true; failed; n++) {
        double ns = 0;
        rp_alloc_fail_after(n);
        const rp_status st = rp_cost_predict(&hockney, &request, 100, &ns);
        failed = !rp_alloc_fail_pending();
        rp_alloc_fail_after(-1);
        cr_assert(eq(int, st, failed ? RP_ENOMEM : RP_OK));
    }
    cr_assert(gt(i64, n, 10));
}
