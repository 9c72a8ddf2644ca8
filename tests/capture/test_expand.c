// Task lists of all ranks, run together by a simulator in random orders: right results, no rank
// waits for ever, no two accesses of a window race, every signal is taken; within a round, between
// rounds and between operators of different shapes.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/util.h"
#include "capture/select.h"
#include "kernels/aiv.h"
#include "support/list_sim.h"
#include "support/oracle_reduce.h"

static const uint32_t ranks_of[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 16 };
static const uint16_t ops[] = { RP_OP_ALL_REDUCE, RP_OP_REDUCE_SCATTER, RP_OP_ALL_GATHER,
    RP_OP_BROADCAST, RP_OP_REDUCE, RP_OP_SCATTER, RP_OP_ALLTOALL, RP_OP_ALL_GATHER_V,
    RP_OP_REDUCE_SCATTER_V };
#define OPS RP_ARRAY_LENGTH(ops)

static bool knows(uint8_t algorithm, uint16_t op)
{
    return (rp_matrix_row(op)->algorithms & RP_ALGORITHM_BIT(algorithm)) != 0;
}

static void describe(const struct list_sim_op *op, uint32_t ranks)
{
    const struct rp_record record = { .op = op->op, .algorithm = op->algorithm };
    fprintf(stderr, "%s, %s, %" PRIu64 " elements of type %u, root %u, in place %d, %u ranks\n",
            rp_op_kind_name(op->op), rp_record_words(&record).algorithm, op->count, op->dtype,
            op->root, op->in_place, ranks);
}

// Alone in a fresh simulation; for types whose reduction does not depend on the order.
static void check_one(const struct list_sim_op *op, uint32_t ranks, uint64_t window, uint64_t seed)
{
    struct list_sim *sim = list_sim_create(ranks, window, seed);
    const bool ok = list_sim_add(sim, op) && list_sim_run(sim) && list_sim_check(sim, 0);
    if (!ok) {
        describe(op, ranks);
    }
    list_sim_destroy(sim);
    cr_assert(ok);
}

// Counts around nothing per slice, one per slice, and full windows.
static void check_counts(struct list_sim_op op, uint32_t ranks, uint64_t window)
{
    struct list_sim *sim = list_sim_create(ranks, window, 0);
    const uint64_t most = list_sim_round_count(sim, &op);
    list_sim_destroy(sim);
    cr_assert(gt(u64, most, 0));
    for (op.count = 1; op.count <= ranks + 3; op.count++) {
        op.root = (uint32_t)op.count % ranks;
        check_one(&op, ranks, window, op.count);
    }
    if (ranks == 1) {
        return; // its round is a megabyte whatever the window
    }
    const uint64_t around[] = { most - 1, most, most + 1, 2 * most, 3 * most + ranks + 1 };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(around); i++) {
        op.count = around[i];
        op.root = (uint32_t)i % ranks;
        check_one(&op, ranks, window, i);
    }
}

static void check_algorithm(enum rp_algorithm algorithm, uint64_t window_per_rank)
{
    for (size_t i = 0; i < RP_ARRAY_LENGTH(ranks_of); i++) {
        for (size_t o = 0; o < OPS; o++) {
            for (int in_place = 0; in_place < 2 && knows((uint8_t)algorithm, ops[o]); in_place++) {
                const struct list_sim_op op = {
                    .op = ops[o],
                    .dtype = RP_DTYPE_INT32,
                    .reduce = RP_REDUCE_SUM,
                    .algorithm = (uint8_t)algorithm,
                    .in_place = in_place != 0,
                };
                check_counts(op, ranks_of[i], ranks_of[i] * window_per_rank);
            }
        }
    }
}

Test(expand, mesh_is_right_in_any_order, .timeout = 120)
{
    check_algorithm(RP_ALGORITHM_MESH, 128);
}

Test(expand, ring_is_right_in_any_order, .timeout = 120)
{
    check_algorithm(RP_ALGORITHM_RING, 1024);
}

Test(expand, halving_and_doubling_is_right_in_any_order, .timeout = 120)
{
    check_algorithm(RP_ALGORITHM_HD, 3072);
}

Test(expand, nhr_and_nb_are_right_in_any_order, .timeout = 120)
{
    check_algorithm(RP_ALGORITHM_NHR, 2048);
    check_algorithm(RP_ALGORITHM_NB, 2048);
}

Test(expand, pairwise_and_star_are_right_in_any_order, .timeout = 120)
{
    check_algorithm(RP_ALGORITHM_PAIRWISE, 128);
    check_algorithm(RP_ALGORITHM_STAR, 128);
}

Test(expand, pipeline_is_right_in_any_order, .timeout = 120)
{
    check_algorithm(RP_ALGORITHM_PIPELINE, 2048);
}

// Slices of pages are cut between cache lines.
Test(expand, large_slices_are_cut_between_lines, .timeout = 120)
{
    static const uint8_t types[] = { RP_DTYPE_INT8, RP_DTYPE_INT16, RP_DTYPE_UINT64 };
    for (size_t o = 0; o < OPS; o++) {
        for (size_t t = 0; t < RP_ARRAY_LENGTH(types); t++) {
            for (uint32_t ranks = 2; ranks <= 5; ranks++) {
                struct list_sim_op op = { .op = ops[o], .dtype = types[t], .count = 70001 };
                for (uint8_t a = RP_ALGORITHM_MESH; a < RP_ALGORITHMS; a++) {
                    op.algorithm = a;
                    if (knows(a, op.op)) {
                        check_one(&op, ranks, ranks * (a == RP_ALGORITHM_MESH ? 16384 : 90000), t);
                    }
                }
            }
        }
    }
}

Test(expand, mesh_folds_in_rank_order, .timeout = 60)
{
    static const uint8_t types[] = { RP_DTYPE_FP16, RP_DTYPE_BFP16, RP_DTYPE_FP32, RP_DTYPE_FP64 };
    for (size_t t = 0; t < RP_ARRAY_LENGTH(types); t++) {
        for (uint32_t ranks = 2; ranks <= 9; ranks++) {
            struct list_sim_op op = { .op = RP_OP_ALL_REDUCE,
                .dtype = types[t],
                .algorithm = RP_ALGORITHM_MESH,
                .count = 301 };
            check_one(&op, ranks, ranks * 256, t);
            op.op = RP_OP_REDUCE_SCATTER;
            check_one(&op, ranks, ranks * 256, t);
            op.op = RP_OP_REDUCE_SCATTER_V;
            check_one(&op, ranks, ranks * 256, t);
            op.op = RP_OP_REDUCE;
            op.root = ranks / 2;
            check_one(&op, ranks, ranks * 256, t);
        }
    }
}

// Block b of a ring is ((x[b+1] + x[b+2]) + ...) + x[b], rounded at every step.
Test(expand, ring_folds_from_the_next_rank_on, .timeout = 60)
{
    static const uint8_t types[] = { RP_DTYPE_FP16, RP_DTYPE_FP32 };
    for (size_t t = 0; t < RP_ARRAY_LENGTH(types); t++) {
        for (uint32_t ranks = 2; ranks <= 8; ranks++) {
            const enum rp_dtype dtype = (enum rp_dtype)types[t];
            const size_t element = rp_dtype_bytes(dtype);
            const struct list_sim_op op = { .op = RP_OP_REDUCE_SCATTER,
                .dtype = types[t],
                .algorithm = RP_ALGORITHM_RING,
                .count = 5 };
            struct list_sim *sim = list_sim_create(ranks, 4096, ranks);
            cr_assert(list_sim_add(sim, &op));
            cr_assert(list_sim_run(sim));
            for (uint32_t block = 0; block < ranks; block++) {
                uint8_t want[5 * 8];
                const size_t off = block * op.count * element;
                memcpy(want, (const uint8_t *)list_sim_input(sim, 0, (block + 1) % ranks) + off,
                        op.count * element);
                for (uint32_t step = 2; step <= ranks; step++) {
                    const uint32_t rank = (block + step) % ranks;
                    const void *srcs[2] = { want,
                        (const uint8_t *)list_sim_input(sim, 0, rank) + off };
                    oracle_reduce(dtype, RP_REDUCE_SUM, srcs, 2, want, op.count);
                }
                cr_assert(eq(
                        int, memcmp(want, list_sim_output(sim, 0, block), op.count * element), 0));
            }
            list_sim_destroy(sim);
        }
    }
}

static uint8_t pick_algorithm(uint16_t op)
{
    uint8_t algorithm;
    do {
        algorithm = (uint8_t)(RP_ALGORITHM_MESH + rand() % (RP_ALGORITHMS - RP_ALGORITHM_MESH));
    } while (!knows(algorithm, op));
    return algorithm;
}

// Ranks drift: one may be operators ahead of another, and what it puts has another shape.
Test(expand, operators_of_all_shapes_follow_each_other, .timeout = 120)
{
    for (uint64_t seed = 0; seed < 150; seed++) {
        const uint32_t ranks = ranks_of[1 + seed % (RP_ARRAY_LENGTH(ranks_of) - 1)];
        struct list_sim *sim = list_sim_create(ranks, ranks * 4096, seed);
        const uint32_t count = 24;
        srand((unsigned)seed);
        for (uint32_t i = 0; i < count; i++) {
            const unsigned pick = (unsigned)rand() % (OPS + 1);
            const bool barrier = pick == OPS;
            const struct list_sim_op op = {
                .op = barrier ? RP_OP_BARRIER : ops[pick],
                .dtype = rand() % 2 ? RP_DTYPE_INT16 : RP_DTYPE_UINT64,
                .reduce = (uint8_t)(rand() % RP_REDUCE_OPS),
                .algorithm = pick_algorithm(barrier ? RP_OP_BARRIER : ops[pick]),
                .in_place = rand() % 2 != 0,
                .root = (uint32_t)rand() % ranks,
                .count = barrier ? 1 : 1 + (uint64_t)rand() % 700,
            };
            cr_assert(list_sim_add(sim, &op));
        }
        bool ok = list_sim_run(sim);
        for (uint32_t i = 0; i < count && ok; i++) {
            ok = list_sim_check(sim, i);
        }
        list_sim_destroy(sim);
        cr_assert(ok, "seed %" PRIu64, seed);
    }
}

// The very head belongs to the kernels.
Test(expand, nothing_touches_more_than_the_head_of_a_large_window)
{
    for (uint32_t ranks = 2; ranks <= 9; ranks++) {
        for (size_t o = 0; o < OPS; o++) {
            for (int a = RP_ALGORITHM_MESH; a < RP_ALGORITHMS; a++) {
                if (!knows((uint8_t)a, ops[o])) {
                    continue;
                }
                struct rp_expand_request request = { .op = ops[o],
                    .dtype = RP_DTYPE_FP32,
                    .algorithm = (uint8_t)a,
                    .size = ranks,
                    .window_bytes = UINT64_C(1) << 40 };
                request.count = rp_expand_round_count(&request);
                for (request.rank = 0; request.rank < ranks; request.rank++) {
                    struct rp_task_list *list = NULL;
                    cr_assert(eq(int, rp_expand(&request, &list), RP_OK));
                    for (uint32_t i = 0; i < list->task_count; i++) {
                        const struct rp_ht_task *task = &list->task[i];
                        if (task->kind == RP_HT_PUT) {
                            const uint64_t end = task->dst.off + task->bytes;
                            cr_assert(ge(u64, task->dst.off, RP_AIV_WINDOW_BYTES));
                            cr_assert(le(u64, end, rp_expand_window_bytes(&request)));
                            cr_assert(le(u64, end, 8u << 20));
                        }
                    }
                    rp_free(list);
                }
            }
        }
    }
}

Test(expand, a_window_without_room_for_one_element_is_an_error)
{
    struct rp_expand_request request = { .op = RP_OP_ALL_REDUCE,
        .dtype = RP_DTYPE_FP64,
        .algorithm = RP_ALGORITHM_MESH,
        .size = 100,
        .count = 1,
        .window_bytes = 12159 };
    struct rp_task_list *list = NULL;
    cr_assert(eq(u64, rp_expand_round_count(&request), 0));
    cr_assert(eq(int, rp_expand(&request, &list), RP_EPARAM));
    cr_assert(zero(ptr, list));
    request.window_bytes = 12160;
    cr_assert(eq(u64, rp_expand_round_count(&request), 800));
    request.algorithm = RP_ALGORITHM_NHR; // not even one element a slice
    cr_assert(eq(u64, rp_expand_round_count(&request), 0));
}

Test(expand, an_operator_without_the_algorithm_is_refused)
{
    struct rp_expand_request request = { .op = RP_OP_BARRIER,
        .algorithm = RP_ALGORITHM_RING,
        .size = 2,
        .count = 1,
        .window_bytes = 4096 };
    struct rp_task_list *list = NULL;
    cr_assert(eq(int, rp_expand(&request, &list), RP_ENOTSUP));
    request.op = RP_OP_ALLTOALL;
    cr_assert(eq(int, rp_expand(&request, &list), RP_ENOTSUP));
    cr_assert(zero(ptr, list));
}

// Block by block from the root's next rank on, rounded at every step.
Test(expand, ring_reduces_from_the_roots_next_rank_on, .timeout = 60)
{
    static const uint8_t types[] = { RP_DTYPE_BFP16, RP_DTYPE_FP32 };
    for (size_t t = 0; t < RP_ARRAY_LENGTH(types); t++) {
        for (uint32_t ranks = 2; ranks <= 8; ranks++) {
            const enum rp_dtype dtype = (enum rp_dtype)types[t];
            const size_t bytes = 9 * rp_dtype_bytes(dtype);
            const struct list_sim_op op = { .op = RP_OP_REDUCE,
                .dtype = types[t],
                .algorithm = RP_ALGORITHM_RING,
                .root = ranks / 2,
                .count = 9 };
            struct list_sim *sim = list_sim_create(ranks, 4096, ranks);
            cr_assert(list_sim_add(sim, &op));
            cr_assert(list_sim_run(sim));
            uint8_t want[9 * 8];
            memcpy(want, list_sim_input(sim, 0, (op.root + 1) % ranks), bytes);
            for (uint32_t step = 2; step <= ranks; step++) {
                const void *srcs[2] = { want, list_sim_input(sim, 0, (op.root + step) % ranks) };
                oracle_reduce(dtype, RP_REDUCE_SUM, srcs, 2, want, op.count);
            }
            cr_assert(eq(int, memcmp(want, list_sim_output(sim, 0, op.root), bytes), 0));
            list_sim_destroy(sim);
        }
    }
}

Test(expand, every_failed_allocation_is_reported)
{
    const struct rp_expand_request request = { .op = RP_OP_ALL_REDUCE,
        .dtype = RP_DTYPE_FP32,
        .algorithm = RP_ALGORITHM_MESH,
        .size = 16,
        .count = 100,
        .window_bytes = 1 << 20 };
    int64_t n = 0;
    for (bool failed = true; failed; n++) {
        struct rp_task_list *list = NULL;
        rp_alloc_fail_after(n);
        const rp_status st = rp_expand(&request, &list);
        failed = !rp_alloc_fail_pending();
        rp_alloc_fail_after(-1);
        cr_assert(eq(int, st, failed ? RP_ENOMEM : RP_OK));
        rp_free(list);
    }
    cr_assert(gt(i64, n, 2));
}
