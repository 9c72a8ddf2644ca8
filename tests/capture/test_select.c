// Which form an operator takes: every setting that can ask for one, against what design.md says.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <string.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/util.h"
#include "capture/comm_extra.h"
#include "capture/expand.h"
#include "capture/select.h"
#include "kernels/dtype.h"

#define AIV RP_EXPANSION_AIV
#define HOST RP_EXPANSION_HOST_TS

// A communicator as far as the selector looks. `node`: its ranks share one.
static struct rp_comm make_comm(uint32_t config, int32_t env, bool node)
{
    struct rp_comm comm = { .rank = 0, .size = 2 };
    comm.settings.expansion_config = config;
    comm.settings.expansion_env = env;
    comm.nodes = node ? 1 : 2;
    return comm;
}

static const struct {
    uint32_t config;
    int32_t env;
    int expansion; // on one node, of an operator with a kernel
    HcclOpExpansionMode answer;
} rows[] = {
    { 0, -1, AIV, HCCL_OP_EXPANSION_MODE_AIV },
    { 0, RP_EXPANSION_MODE_UNSET, AIV, HCCL_OP_EXPANSION_MODE_AIV },
    { 0, RP_EXPANSION_MODE_HOST, HOST, HCCL_OP_EXPANSION_MODE_HOST },
    { 0, RP_EXPANSION_MODE_HOST_TS, HOST, HCCL_OP_EXPANSION_MODE_HOST_TS },
    { 0, RP_EXPANSION_MODE_AIV, AIV, HCCL_OP_EXPANSION_MODE_AIV },
    { 0, RP_EXPANSION_MODE_AI_CPU, HOST, HCCL_OP_EXPANSION_MODE_AI_CPU },
    { 0, RP_EXPANSION_MODE_AICPU_TS, HOST, HCCL_OP_EXPANSION_MODE_AI_CPU },
    { 1, RP_EXPANSION_MODE_AIV, HOST, HCCL_OP_EXPANSION_MODE_HOST },
    { 2, RP_EXPANSION_MODE_AIV, HOST, HCCL_OP_EXPANSION_MODE_AI_CPU },
    { 3, RP_EXPANSION_MODE_HOST, AIV, HCCL_OP_EXPANSION_MODE_AIV },
    { 4, RP_EXPANSION_MODE_HOST, AIV, HCCL_OP_EXPANSION_AIV_ONLY },
    { 7, RP_EXPANSION_MODE_AIV, HOST, HCCL_OP_EXPANSION_MODE_AI_CPU },
};

Test(select, every_setting_on_one_node)
{
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        struct rp_comm comm = make_comm(rows[i].config, rows[i].env, true);
        cr_assert(eq(int, rp_select_mode(&comm), rows[i].answer), "row %zu", i);
        for (unsigned op = 0; op < rp_matrix_rows; op++) {
            enum rp_expansion expansion;
            enum rp_algorithm algorithm;
            const bool only =
                    !rp_matrix[op].aiv && rp_select_mode(&comm) == HCCL_OP_EXPANSION_AIV_ONLY;
            cr_assert(eq(int, rp_select(&comm, rp_matrix[op].op, 64, 0, &expansion, &algorithm),
                    only ? RP_ENOTSUP : RP_OK));
            if (only) {
                continue;
            }
            const bool aiv = rows[i].expansion == AIV && rp_matrix[op].aiv;
            const bool chooses = !aiv && rp_matrix[op].algorithms != 0;
            cr_assert(eq(int, (int)expansion, aiv ? AIV : HOST), "row %zu", i);
            cr_assert(eq(int, (int)algorithm, chooses ? RP_ALGORITHM_MESH : RP_ALGORITHM_FUSED));
        }
    }
}

Test(select, without_a_common_node_kernels_do_not_reach)
{
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        struct rp_comm comm = make_comm(rows[i].config, rows[i].env, false);
        enum rp_expansion expansion = AIV;
        enum rp_algorithm algorithm = RP_ALGORITHM_FUSED;
        const rp_status st = rp_select(&comm, RP_OP_ALL_REDUCE, 64, 0, &expansion, &algorithm);
        if (rows[i].config == 4) {
            cr_assert(eq(int, st, RP_ENOTSUP));
        } else {
            cr_assert(eq(int, st, RP_OK));
            cr_assert(eq(int, (int)expansion, HOST), "row %zu", i);
            cr_assert(eq(int, (int)algorithm, RP_ALGORITHM_MESH));
        }
    }
    const struct rp_comm comm = make_comm(0, -1, false);
    cr_assert(eq(int, rp_select_mode(&comm), HCCL_OP_EXPANSION_MODE_HOST_TS));
}

// The rows are what the tests of every cell go by, so each has its cells filled.
Test(select, rows_of_the_matrix_are_whole_and_there_is_one_for_each_operator)
{
    for (unsigned i = 0; i < rp_matrix_rows; i++) {
        const struct rp_matrix_row *row = &rp_matrix[i];
        const char *name = rp_op_kind_name(row->op);
        const bool moves = row->op != RP_OP_BARRIER;
        cr_assert(eq(ptr, (void *)(uintptr_t)rp_matrix_row(row->op), (void *)(uintptr_t)row),
                "%s has two rows", name);
        cr_assert(eq(uint, row->modes, RP_MODES_ALL), "%s", name);
        cr_assert(row->host_ts && row->between_nodes, "%s", name);
        if (rp_op_is_pairs(row->op)) {
            cr_assert(eq(uint, row->algorithms, 0), "%s", name);
        } else {
            cr_assert(
                    ne(uint, row->algorithms & RP_ALGORITHM_BIT(RP_ALGORITHM_MESH), 0), "%s", name);
        }
        cr_assert(eq(uint, row->types,
                          row->reduces ? RP_TYPES_REDUCIBLE
                          : moves      ? RP_TYPES_ALL
                                       : 0),
                "%s", name);
        cr_assert(eq(uint, row->reductions, row->reduces ? RP_REDUCTIONS_ALL : 0), "%s", name);
        cr_assert(eq(int, row->strict, row->reduces), "%s", name);
    }
}

Test(select, an_operator_that_is_not_built_is_not_supported)
{
    struct rp_comm comm = make_comm(0, -1, true);
    enum rp_expansion expansion;
    enum rp_algorithm algorithm;
    cr_assert(zero(ptr, (void *)(uintptr_t)rp_matrix_row(11)));
    cr_assert(eq(int, rp_select(&comm, 11, 64, 0, &expansion, &algorithm), RP_ENOTSUP));
}

static enum rp_algorithm algorithm_of(const char *text, unsigned op, unsigned determinism)
{
    struct rp_algo_config algo = { .text = "" };
    struct rp_comm_extra *extra = NULL;
    struct rp_comm comm = make_comm(1, -1, true);
    enum rp_expansion expansion;
    enum rp_algorithm algorithm;
    cr_assert(eq(int, rp_env_parse_algo("test", text, &algo), RP_OK));
    cr_assert(eq(int, rp_comm_extra_create(NULL, &algo, &extra), RP_OK));
    rp_comm_extra_attach(&comm, extra);
    cr_assert(eq(int, rp_select(&comm, op, 64, determinism, &expansion, &algorithm), RP_OK));
    cr_assert(eq(int, (int)expansion, HOST));
    rp_comm_extra_free(extra);
    return algorithm;
}

Test(select, the_algorithm_follows_hccl_algo_at_level_0)
{
    static const unsigned ops[] = { RP_OP_ALL_REDUCE, RP_OP_REDUCE_SCATTER, RP_OP_ALL_GATHER,
        RP_OP_BROADCAST, RP_OP_REDUCE, RP_OP_SCATTER };
    static const char *const names[] = { "allreduce", "reducescatter", "allgather", "broadcast",
        "reduce", "scatter" };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(ops); i++) {
        char text[64];
        cr_assert(eq(int, algorithm_of("", ops[i], 0), RP_ALGORITHM_MESH));
        cr_assert(eq(int, algorithm_of("level0:NA;level1:ring", ops[i], 0), RP_ALGORITHM_MESH));
        cr_assert(eq(int, algorithm_of("level0:fullmesh", ops[i], 0), RP_ALGORITHM_MESH));
        cr_assert(eq(int, algorithm_of("level0:ring", ops[i], 0), RP_ALGORITHM_RING));
        for (size_t k = 0; k < RP_ARRAY_LENGTH(ops); k++) {
            strcpy(text, names[k]);
            strcat(text, "=level0:ring");
            cr_assert(eq(int, algorithm_of(text, ops[i], 0),
                    i == k ? RP_ALGORITHM_RING : RP_ALGORITHM_MESH));
        }
    }
    cr_assert(eq(int, algorithm_of("level0:ring", RP_OP_BARRIER, 0), RP_ALGORITHM_MESH));
    cr_assert(eq(int, algorithm_of("level0:ring", RP_OP_ALLTOALL, 0), RP_ALGORITHM_MESH));
    cr_assert(eq(
            int, algorithm_of("allgather=level0:ring", RP_OP_ALL_GATHER_V, 0), RP_ALGORITHM_RING));
    cr_assert(eq(int, algorithm_of("reducescatter=level0:ring", RP_OP_REDUCE_SCATTER_V, 0),
            RP_ALGORITHM_RING));
}

// Every name, for every operator: taken where the matrix says that the operator has the algorithm,
// replaced by the mesh where not; under strict also where it would fold in another order.
Test(select, every_algorithm_that_an_operator_has_may_be_asked_for)
{
    for (unsigned a = RP_ALGORITHM_MESH; a < RP_ALGORITHMS; a++) {
        char text[64] = "level0:";
        strcat(text, rp_matrix_algorithm_name(a));
        for (unsigned i = 0; i < rp_matrix_rows; i++) {
            const struct rp_matrix_row *row = &rp_matrix[i];
            if (row->algorithms == 0) {
                continue; // there is nothing to choose between two ranks
            }
            const bool has = row->algo >= 0 && (row->algorithms & RP_ALGORITHM_BIT(a)) != 0;
            const bool in_order = !row->reduces || (RP_ALGORITHMS_STRICT & RP_ALGORITHM_BIT(a));
            cr_assert(
                    eq(int, (int)algorithm_of(text, row->op, 0), has ? (int)a : RP_ALGORITHM_MESH),
                    "%s, row %u", text, i);
            cr_assert(eq(int, (int)algorithm_of(text, row->op, 2),
                              has &&in_order ? (int)a : RP_ALGORITHM_MESH),
                    "%s, row %u, strict", text, i);
        }
    }
}

// The matrix says what the expansion can do, and nothing else.
Test(select, the_matrix_has_the_algorithms_that_can_be_expanded)
{
    for (unsigned i = 0; i < rp_matrix_rows; i++) {
        for (uint8_t a = RP_ALGORITHM_MESH; a < RP_ALGORITHMS; a++) {
            const struct rp_expand_request request = { .op = rp_matrix[i].op,
                .dtype = RP_DTYPE_FP32,
                .algorithm = a,
                .size = 3,
                .count = 1,
                .window_bytes = 1 << 20 };
            struct rp_task_list *list = NULL;
            const bool has = (rp_matrix[i].algorithms & RP_ALGORITHM_BIT(a)) != 0;
            cr_assert(eq(int, rp_expand(&request, &list), has ? RP_OK : RP_ENOTSUP),
                    "row %u, algorithm %u", i, a);
            rp_free(list);
        }
    }
}

// Nothing asked for: the mesh for the ranks of a server; beyond, few steps where there is little to
// move, in rank order under strict.
Test(select, unasked_the_algorithm_follows_ranks_and_bytes)
{
    for (unsigned i = 0; i < rp_matrix_rows; i++) {
        const unsigned op = rp_matrix[i].op;
        for (uint32_t ranks = 1; ranks <= 15; ranks++) {
            cr_assert(eq(int, (int)rp_select_adaptive(op, 8, ranks), RP_ALGORITHM_MESH));
        }
        if (rp_matrix[i].algorithms & RP_ALGORITHM_BIT(RP_ALGORITHM_HD)) {
            cr_assert(eq(int, (int)rp_select_adaptive(op, 0, 64), RP_ALGORITHM_HD));
            cr_assert(eq(int, (int)rp_select_adaptive(op, 0, 100), RP_ALGORITHM_NHR));
        }
        if (op != RP_OP_BARRIER) {
            cr_assert(eq(int, (int)rp_select_adaptive(op, 64 << 20, 64), RP_ALGORITHM_MESH));
        }
    }
    struct rp_comm comm = make_comm(1, -1, true);
    enum rp_expansion expansion;
    enum rp_algorithm algorithm;
    comm.size = 20;
    cr_assert(eq(int, rp_select(&comm, RP_OP_ALL_REDUCE, 64, 1, &expansion, &algorithm), RP_OK));
    cr_assert(eq(int, (int)algorithm, RP_ALGORITHM_NHR));
    cr_assert(eq(int, rp_select(&comm, RP_OP_ALL_REDUCE, 64, 2, &expansion, &algorithm), RP_OK));
    cr_assert(eq(int, (int)algorithm, RP_ALGORITHM_MESH));
    cr_assert(eq(int, rp_select(&comm, RP_OP_ALL_GATHER, 64, 2, &expansion, &algorithm), RP_OK));
    cr_assert(eq(int, (int)algorithm, RP_ALGORITHM_NHR));
}

// A ring folds each slice from another rank on: repeatable, but not the order that strict asks for.
Test(select, strict_determinism_takes_reductions_from_the_ring)
{
    cr_assert(eq(int, algorithm_of("level0:ring", RP_OP_ALL_REDUCE, 1), RP_ALGORITHM_RING));
    cr_assert(eq(int, algorithm_of("level0:ring", RP_OP_ALL_REDUCE, 2), RP_ALGORITHM_MESH));
    cr_assert(eq(int, algorithm_of("level0:ring", RP_OP_REDUCE_SCATTER, 2), RP_ALGORITHM_MESH));
    cr_assert(eq(int, algorithm_of("level0:ring", RP_OP_ALL_GATHER, 2), RP_ALGORITHM_RING));
    cr_assert(eq(int, algorithm_of("level0:ring", RP_OP_BROADCAST, 2), RP_ALGORITHM_RING));
    cr_assert(eq(int, algorithm_of("level0:ring", RP_OP_REDUCE, 2), RP_ALGORITHM_MESH));
    cr_assert(eq(int, algorithm_of("level0:ring", RP_OP_REDUCE_SCATTER_V, 2), RP_ALGORITHM_MESH));
    cr_assert(eq(int, algorithm_of("level0:ring", RP_OP_SCATTER, 2), RP_ALGORITHM_RING));
}

// ---- several nodes ----

// The algorithm on nodes by name ('a' is a node), of a block of 64 bytes.
static unsigned algorithm_on(const char *nodes, const char *text, unsigned op, unsigned determinism)
{
    struct rp_algo_config algo = { .text = "" };
    struct rp_comm_extra *extra = NULL;
    struct rp_member member[16] = { { .node = 0 } };
    struct rp_comm comm = make_comm(1, -1, true);
    enum rp_expansion expansion;
    enum rp_algorithm algorithm;
    comm.size = (uint32_t)strlen(nodes);
    comm.member = member;
    comm.lines.window_bytes = 1 << 20;
    for (uint32_t r = 0; r < comm.size; r++) {
        member[r].node = (uint32_t)(nodes[r] - 'a');
        comm.nodes = member[r].node + 1 > comm.nodes ? member[r].node + 1 : comm.nodes;
    }
    cr_assert(eq(int, rp_env_parse_algo("test", text, &algo), RP_OK));
    cr_assert(eq(int, rp_comm_extra_create(NULL, &algo, &extra), RP_OK));
    rp_comm_extra_attach(&comm, extra);
    cr_assert(eq(int, rp_select(&comm, op, 64, determinism, &expansion, &algorithm), RP_OK));
    rp_comm_extra_free(extra);
    return algorithm;
}

static unsigned levels(enum rp_algorithm between)
{
    return between | RP_TWO_LEVELS;
}

Test(select, between_nodes_level_1_is_asked)
{
    const unsigned op = RP_OP_ALL_REDUCE;
    cr_assert(eq(u32, algorithm_on("aabb", "", op, 0), levels(RP_ALGORITHM_MESH)));
    cr_assert(eq(u32, algorithm_on("aabb", "level0:ring", op, 0), levels(RP_ALGORITHM_MESH)));
    cr_assert(eq(
            u32, algorithm_on("aabb", "level0:NA;level1:ring", op, 0), levels(RP_ALGORITHM_RING)));
    cr_assert(eq(u32, algorithm_on("aabb", "level1:NHR_V1", op, 0), levels(RP_ALGORITHM_NHR)));
    cr_assert(eq(u32, algorithm_on("abab", "level1:H-D_R", op, 0), levels(RP_ALGORITHM_HD)));
    cr_assert(eq(u32, algorithm_on("aabb", "level1:pipeline", op, 0), RP_ALGORITHM_PIPELINE));
    cr_assert(eq(u32, algorithm_on("aaab", "level1:pipeline", op, 0), levels(RP_ALGORITHM_MESH)));
    cr_assert(eq(u32, algorithm_on("aaab", "level1:AHC", op, 0), levels(RP_ALGORITHM_MESH)));
    cr_assert(eq(u32, algorithm_on("aaab", "level1:NB", op, 0), levels(RP_ALGORITHM_NB)));
    cr_assert(eq(u32, algorithm_on("aabb", "alltoall=level1:pairwise", op, 0),
            levels(RP_ALGORITHM_MESH)));
    cr_assert(eq(u32, algorithm_on("aabb", "alltoall=level1:pairwise", RP_OP_ALLTOALL, 0),
            levels(RP_ALGORITHM_PAIRWISE)));
    cr_assert(eq(u32, algorithm_on("aabb", "level1:NHR", RP_OP_ALLTOALL, 0),
                      levels(RP_ALGORITHM_MESH)),
            "replaced");
    cr_assert(eq(u32, algorithm_on("aaab", "level1:ring", RP_OP_ALL_GATHER, 0),
                      levels(RP_ALGORITHM_MESH)),
            "no blocks of different sizes");
    cr_assert(eq(u32, algorithm_on("abc", "level1:ring", op, 0), RP_ALGORITHM_RING), "one level");
}

// Sums on the way are not in rank order.
Test(select, strict_has_one_level)
{
    cr_assert(eq(u32, algorithm_on("aabb", "level1:ring", RP_OP_ALL_REDUCE, 2), RP_ALGORITHM_MESH));
    cr_assert(eq(u32, algorithm_on("aabb", "level1:pairwise", RP_OP_REDUCE_SCATTER, 2),
            RP_ALGORITHM_PAIRWISE));
    cr_assert(eq(u32, algorithm_on("aabb", "level1:ring", RP_OP_ALL_GATHER, 2),
            levels(RP_ALGORITHM_RING)));
}

// Rows that only their rank knows have one level, too.
Test(select, rows_have_one_level)
{
    cr_assert(eq(u32, algorithm_on("aabb", "", RP_OP_ALLTOALL_V, 0), RP_ALGORITHM_MESH));
    cr_assert(eq(u32, algorithm_on("aabb", "level1:pairwise", RP_OP_ALLTOALL_V, 0),
            RP_ALGORITHM_PAIRWISE));
}
