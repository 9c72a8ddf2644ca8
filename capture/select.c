#include "capture/select.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "capture/comm_extra.h"
#include "capture/comm_layout.h"
#include "kernels/aiv.h"

// Every collective has an AIV kernel, so that a communicator runs all of them in one expansion:
// kernels that go through the windows and task lists give parts of them away by other
// rules.

// Sets of algorithms. Mesh is in each: it is what others are replaced by.
enum {
    WITH_MESH = RP_ALGORITHM_BIT(RP_ALGORITHM_MESH),
    WITH_RING = RP_ALGORITHM_BIT(RP_ALGORITHM_RING),
    WITH_NONUNIFORM = RP_ALGORITHM_BIT(RP_ALGORITHM_NHR) | RP_ALGORITHM_BIT(RP_ALGORITHM_NB),
    WITH_LOG = RP_ALGORITHM_BIT(RP_ALGORITHM_HD) | WITH_NONUNIFORM,
    WITH_PAIRWISE = RP_ALGORITHM_BIT(RP_ALGORITHM_PAIRWISE),
    WITH_STAR = RP_ALGORITHM_BIT(RP_ALGORITHM_STAR),
    WITH_PIPELINE = RP_ALGORITHM_BIT(RP_ALGORITHM_PIPELINE),
    WITH_ONE_STEP = WITH_MESH | WITH_PAIRWISE | WITH_STAR,
    WITH_TABLE = WITH_MESH | WITH_RING | WITH_NONUNIFORM | WITH_PAIRWISE,
    WITH_BLOCKS = WITH_MESH | WITH_RING | WITH_LOG | WITH_PAIRWISE | WITH_PIPELINE,
};

const struct rp_matrix_row rp_matrix[] = {
    {
            .op = RP_OP_BROADCAST,
            .modes = RP_MODES_ALL,
            .aiv = true,
            .host_ts = true,
            .between_nodes = true,
            .algorithms = WITH_MESH | WITH_RING | WITH_LOG | WITH_STAR,
            .types = RP_TYPES_ALL,
            .rooted = true,
            .in_place = true,
            .algo = RP_ALGO_OP_BROADCAST,
    },
    {
            .op = RP_OP_ALL_REDUCE,
            .modes = RP_MODES_ALL,
            .aiv = true,
            .host_ts = true,
            .between_nodes = true,
            .algorithms = WITH_BLOCKS | WITH_STAR,
            .types = RP_TYPES_REDUCIBLE,
            .reductions = RP_REDUCTIONS_ALL,
            .reduces = true,
            .strict = true,
            .in_place = true,
            .algo = RP_ALGO_OP_ALLREDUCE,
    },
    {
            .op = RP_OP_ALL_GATHER,
            .modes = RP_MODES_ALL,
            .aiv = true,
            .host_ts = true,
            .between_nodes = true,
            .algorithms = WITH_BLOCKS,
            .types = RP_TYPES_ALL,
            .in_place = true,
            .algo = RP_ALGO_OP_ALLGATHER,
    },
    {
            .op = RP_OP_REDUCE_SCATTER,
            .modes = RP_MODES_ALL,
            .aiv = true,
            .host_ts = true,
            .between_nodes = true,
            .algorithms = WITH_BLOCKS,
            .types = RP_TYPES_REDUCIBLE,
            .reductions = RP_REDUCTIONS_ALL,
            .reduces = true,
            .strict = true,
            .in_place = true,
            .algo = RP_ALGO_OP_REDUCESCATTER,
    },
    {
            .op = RP_OP_REDUCE,
            .modes = RP_MODES_ALL,
            .aiv = true,
            .host_ts = true,
            .between_nodes = true,
            .algorithms = WITH_MESH | WITH_RING | WITH_LOG | WITH_STAR,
            .types = RP_TYPES_REDUCIBLE,
            .reductions = RP_REDUCTIONS_ALL,
            .reduces = true,
            .strict = true,
            .rooted = true,
            .in_place = true,
            .algo = RP_ALGO_OP_REDUCE,
    },
    {
            .op = RP_OP_SCATTER,
            .modes = RP_MODES_ALL,
            .aiv = true,
            .host_ts = true,
            .between_nodes = true,
            .algorithms = WITH_MESH | WITH_RING | WITH_NONUNIFORM | WITH_STAR,
            .types = RP_TYPES_ALL,
            .rooted = true,
            .in_place = true,
            .algo = RP_ALGO_OP_SCATTER,
    },
    {
            .op = RP_OP_ALLTOALL,
            .modes = RP_MODES_ALL,
            .aiv = true,
            .host_ts = true,
            .between_nodes = true,
            .algorithms = WITH_MESH | WITH_PAIRWISE,
            .types = RP_TYPES_ALL,
            .algo = RP_ALGO_OP_ALLTOALL,
    },
    {
            .op = RP_OP_ALLTOALL_V,
            .modes = RP_MODES_ALL,
            .aiv = true,
            .host_ts = true,
            .between_nodes = true,
            .algorithms = WITH_MESH | WITH_PAIRWISE,
            .types = RP_TYPES_ALL,
            .algo = RP_ALGO_OP_ALLTOALL,
    },
    {
            .op = RP_OP_ALLTOALL_VC,
            .modes = RP_MODES_ALL,
            .aiv = true,
            .host_ts = true,
            .between_nodes = true,
            .algorithms = WITH_MESH | WITH_PAIRWISE,
            .types = RP_TYPES_ALL,
            .algo = RP_ALGO_OP_ALLTOALL,
    },
    {
            .op = RP_OP_ALL_GATHER_V,
            .modes = RP_MODES_ALL,
            .aiv = true,
            .host_ts = true,
            .between_nodes = true,
            .algorithms = WITH_TABLE | WITH_PIPELINE,
            .types = RP_TYPES_ALL,
            .algo = RP_ALGO_OP_ALLGATHER,
    },
    {
            .op = RP_OP_REDUCE_SCATTER_V,
            .modes = RP_MODES_ALL,
            .aiv = true,
            .host_ts = true,
            .between_nodes = true,
            .algorithms = WITH_TABLE,
            .types = RP_TYPES_REDUCIBLE,
            .reductions = RP_REDUCTIONS_ALL,
            .reduces = true,
            .strict = true,
            .algo = RP_ALGO_OP_REDUCESCATTER,
    },
    {
            .op = RP_OP_SEND,
            .modes = RP_MODES_ALL,
            .host_ts = true,
            .between_nodes = true,
            .types = RP_TYPES_ALL,
            .algo = -1,
    },
    {
            .op = RP_OP_RECEIVE,
            .modes = RP_MODES_ALL,
            .host_ts = true,
            .between_nodes = true,
            .types = RP_TYPES_ALL,
            .algo = -1,
    },
    {
            .op = RP_OP_BATCH_SEND_RECV,
            .modes = RP_MODES_ALL,
            .host_ts = true,
            .between_nodes = true,
            .types = RP_TYPES_ALL,
            .algo = -1,
    },
    {
            .op = RP_OP_BARRIER,
            .modes = RP_MODES_ALL,
            .aiv = true,
            .host_ts = true,
            .between_nodes = true,
            .algorithms = WITH_MESH | WITH_LOG | WITH_PAIRWISE | WITH_STAR,
            .algo = -1,
    },
};
const unsigned rp_matrix_rows = RP_ARRAY_LENGTH(rp_matrix);

const struct rp_matrix_row *rp_matrix_row(unsigned op)
{
    for (unsigned i = 0; i < rp_matrix_rows; i++) {
        if (rp_matrix[i].op == op) {
            return &rp_matrix[i];
        }
    }
    return NULL;
}

static bool has_vector(unsigned op)
{
    return op == RP_OP_ALL_REDUCE || op == RP_OP_REDUCE || op == RP_OP_BROADCAST ||
           op == RP_OP_BARRIER;
}

// What goes between two ranks alone, or by rows that the list does not know, has one level.
static bool has_levels(unsigned op)
{
    return !rp_op_has_row(op) && !rp_op_is_pairs(op);
}

bool rp_matrix_between(unsigned op, unsigned algorithm, const struct rp_layout *layout)
{
    const struct rp_matrix_row *row = rp_matrix_row(op);
    const bool uneven = rp_layout_least(layout) != layout->cards;
    const unsigned may = row->algorithms & ~(unsigned)WITH_PIPELINE &
                         (uneven && !has_vector(op) ? (unsigned)WITH_ONE_STEP : ~0u);
    return has_levels(op) && algorithm < RP_ALGORITHMS && (may & RP_ALGORITHM_BIT(algorithm)) != 0;
}

// HcclCommConfig.hcclOpExpansionMode; other numbers never get past its loading.
enum config_mode {
    CONFIG_UNSET = 0,
    CONFIG_HOST = 1,
    CONFIG_AI_CPU = 2,
    CONFIG_AIV = 3,
    CONFIG_AIV_ONLY = 4,
    CONFIG_AICPU_TS = 7,
};

HcclOpExpansionMode rp_select_mode(const struct rp_comm *comm)
{
    switch (comm->settings.expansion_config) {
    case CONFIG_HOST:
        return HCCL_OP_EXPANSION_MODE_HOST;
    case CONFIG_AI_CPU:
    case CONFIG_AICPU_TS:
        return HCCL_OP_EXPANSION_MODE_AI_CPU;
    case CONFIG_AIV:
        return HCCL_OP_EXPANSION_MODE_AIV;
    case CONFIG_AIV_ONLY:
        return HCCL_OP_EXPANSION_AIV_ONLY;
    default:
        break;
    }
    switch (comm->settings.expansion_env) {
    case RP_EXPANSION_MODE_HOST:
        return HCCL_OP_EXPANSION_MODE_HOST;
    case RP_EXPANSION_MODE_HOST_TS:
        return HCCL_OP_EXPANSION_MODE_HOST_TS;
    case RP_EXPANSION_MODE_AIV:
        return HCCL_OP_EXPANSION_MODE_AIV;
    case RP_EXPANSION_MODE_AI_CPU:
    case RP_EXPANSION_MODE_AICPU_TS:
        return HCCL_OP_EXPANSION_MODE_AI_CPU;
    default:
        break;
    }
    return comm->nodes == 1 ? HCCL_OP_EXPANSION_MODE_AIV : HCCL_OP_EXPANSION_MODE_HOST_TS;
}

static void say_once(atomic_flag *said, const char *what)
{
    // relaxed: orders nothing; one of several threads says it.
    if (!atomic_flag_test_and_set_explicit(said, memory_order_relaxed)) {
        rp_log_warn("%s", what);
    }
}

// Whether the operator runs as a kernel.
static rp_status wants_aiv(const struct rp_comm *comm, const struct rp_matrix_row *row, bool *aiv)
{
    static atomic_flag said_ai_cpu = ATOMIC_FLAG_INIT;
    static atomic_flag said_fallback = ATOMIC_FLAG_INIT;
    const bool fits = !rp_op_has_row(row->op) || comm->size <= RP_ROW_RANKS_MAX;
    const bool reaches = row->aiv && comm->nodes == 1 && fits;
    *aiv = false;
    switch (rp_select_mode(comm)) {
    case HCCL_OP_EXPANSION_AIV_ONLY:
        if (!reaches) {
            return rp_fail(RP_ENOTSUP,
                    "communicator %s is AIV only (hcclOpExpansionMode 4), and %s has no AIV kernel "
                    "%s",
                    comm->name, rp_op_kind_name(row->op),
                    !row->aiv          ? "here"
                    : comm->nodes != 1 ? "between nodes"
                                       : "between so many ranks");
        }
        *aiv = true;
        break;
    case HCCL_OP_EXPANSION_MODE_AIV:
        *aiv = reaches;
        if (!reaches) {
            say_once(&said_fallback, "operators without an AIV kernel run as HOST_TS");
        }
        break;
    case HCCL_OP_EXPANSION_MODE_AI_CPU:
        say_once(&said_ai_cpu, "the expansion AI_CPU (AICPU_TS) runs as HOST_TS here");
        break;
    default:
        break;
    }
    return RP_OK;
}

static const struct {
    const char *text;
    uint8_t asked; // enum rp_algo_name
} names[RP_ALGORITHMS] = {
    [RP_ALGORITHM_MESH] = { "fullmesh", RP_ALGO_FULLMESH },
    [RP_ALGORITHM_RING] = { "ring", RP_ALGO_RING },
    [RP_ALGORITHM_HD] = { "H-D_R", RP_ALGO_HDR },
    [RP_ALGORITHM_NHR] = { "NHR", RP_ALGO_NHR },
    [RP_ALGORITHM_NB] = { "NB", RP_ALGO_NB },
    [RP_ALGORITHM_PAIRWISE] = { "pairwise", RP_ALGO_PAIRWISE },
    [RP_ALGORITHM_STAR] = { "star", RP_ALGO_STAR },
    [RP_ALGORITHM_PIPELINE] = { "pipeline", RP_ALGO_PIPELINE },
};

const char *rp_matrix_algorithm_name(unsigned algorithm)
{
    return algorithm < RP_ALGORITHMS ? names[algorithm].text : NULL;
}

// The algorithm of a name in HCCL_ALGO; FUSED: it asks for none. AHC groups unequal nodes, as two
// levels always do here; what runs between them is left to us. NHR_V1 is NHR of another time.
static enum rp_algorithm named_algorithm(uint8_t asked)
{
    for (unsigned a = RP_ALGORITHM_MESH; a < RP_ALGORITHMS; a++) {
        if (names[a].asked == (asked == RP_ALGO_NHR_V1 ? RP_ALGO_NHR : asked)) {
            return (enum rp_algorithm)a;
        }
    }
    return RP_ALGORITHM_FUSED;
}

// What HCCL_ALGO asks for within the node, or between nodes.
static enum rp_algorithm asked_algorithm(
        struct rp_comm *comm, const struct rp_matrix_row *row, bool between)
{
    const struct rp_comm_extra *extra = rp_comm_extra_of(comm);
    if (row->algo < 0 || extra == NULL) {
        return RP_ALGORITHM_FUSED;
    }
    return named_algorithm(between ? extra->between[row->algo] : extra->algorithm[row->algo]);
}

// Beyond this many ranks, the signals of a mesh take longer than the steps of an algorithm that has
// fewer of them, as long as there is little to move: by the cost model (tests/capture/test_cost.c),
// for the whole vector's bytes a rank.
#define FEW_RANKS 15

static const struct {
    uint16_t op;
    bool blocks; // the vector is a block a rank
    uint32_t bytes_max;
} few_steps[] = {
    { RP_OP_ALL_REDUCE, false, 1024 },
    { RP_OP_ALL_GATHER, true, 4096 },
    { RP_OP_REDUCE_SCATTER, true, 512 },
    { RP_OP_REDUCE, false, 128 },
    { RP_OP_BROADCAST, false, 128 },
    { RP_OP_BARRIER, false, 1 },
};

enum rp_algorithm rp_select_adaptive(unsigned op, uint64_t block_bytes, uint32_t ranks)
{
    const bool power = (ranks & (ranks - 1)) == 0;
    for (size_t i = 0; i < RP_ARRAY_LENGTH(few_steps) && ranks > FEW_RANKS; i++) {
        const uint64_t bytes = few_steps[i].blocks ? block_bytes : block_bytes / ranks;
        if (few_steps[i].op == op && bytes <= few_steps[i].bytes_max) {
            return power ? RP_ALGORITHM_HD : RP_ALGORITHM_NHR;
        }
    }
    return RP_ALGORITHM_MESH;
}

// Between nodes, by the same model. The calls for a signal on the wire are what a mesh of many
// nodes takes long for; NHR makes as few for any number of them. A root that moves little is
// through sooner with a signal to each than with two steps.
#define FEW_NODES 16
#define FEW_STEPS_BYTES_MAX 1024u
#define STAR_BYTES_MAX 16384u

// Of a block or slice, from which on the two kinds of links of a pipeline gain by working side by
// side.
#define PIPELINE_BYTES_MIN 16384u

static bool pipelines(const struct rp_matrix_row *row, const struct rp_layout *layout)
{
    return (row->algorithms & WITH_PIPELINE) != 0 && layout->first == NULL;
}

// `bytes`: of a block, or of the part of a vector that one plane of the nodes has.
static enum rp_algorithm between_nodes(unsigned op, uint64_t bytes, uint32_t nodes)
{
    const uint64_t piece = has_vector(op) ? bytes / nodes : bytes;
    const bool roots = op == RP_OP_BROADCAST || op == RP_OP_REDUCE;
    if (nodes > FEW_NODES && op != RP_OP_SCATTER && piece <= FEW_STEPS_BYTES_MAX) {
        return RP_ALGORITHM_NHR;
    }
    return roots && bytes <= STAR_BYTES_MAX ? RP_ALGORITHM_STAR : RP_ALGORITHM_MESH;
}

enum rp_algorithm rp_select_between(
        unsigned op, uint64_t block_bytes, const struct rp_layout *layout)
{
    const uint64_t bytes = has_vector(op) ? block_bytes / rp_layout_least(layout) : block_bytes;
    const uint64_t piece = has_vector(op) ? bytes / layout->nodes : bytes;
    if (layout->cards > 1 && pipelines(rp_matrix_row(op), layout) && piece >= PIPELINE_BYTES_MIN) {
        return RP_ALGORITHM_PIPELINE;
    }
    const enum rp_algorithm picked = between_nodes(op, bytes, layout->nodes);
    return rp_matrix_between(op, picked, layout) ? picked : RP_ALGORITHM_MESH;
}

// On several nodes: two levels, unless no node has two ranks, or rank order and rounding forbid
// sums on the way.
static unsigned across(struct rp_comm *comm, const struct rp_matrix_row *row,
        const struct rp_layout *layout, uint64_t block_bytes)
{
    const enum rp_algorithm asked = asked_algorithm(comm, row, true);
    if (layout->cards == 1) {
        return row->algorithms & RP_ALGORITHM_BIT(asked)
                       ? asked
                       : rp_select_between(row->op, block_bytes, layout);
    }
    const bool may = asked == RP_ALGORITHM_PIPELINE ? pipelines(row, layout)
                                                    : rp_matrix_between(row->op, asked, layout);
    const enum rp_algorithm picked = may ? asked : rp_select_between(row->op, block_bytes, layout);
    return picked == RP_ALGORITHM_PIPELINE ? picked : picked | RP_TWO_LEVELS;
}

// Whether the windows have room for it: those of very many ranks may be too small for two levels.
static bool fits(
        const struct rp_comm *comm, unsigned op, unsigned algorithm, const struct rp_layout *layout)
{
    const struct rp_expand_request request = {
        .op = (uint16_t)op,
        .dtype = RP_DTYPE_INT128, // the widest
        .algorithm = (uint8_t)algorithm,
        .size = comm->size,
        .count = 1,
        .window_bytes = comm->lines.window_bytes,
        .layout = layout,
    };
    return rp_expand_round_count(&request) != 0;
}

// An algorithm that the operator does not have is replaced, as is one that would fold in another
// order than the ranks' where strict determinism asks for that.
static unsigned host_algorithm(struct rp_comm *comm, const struct rp_matrix_row *row,
        const struct rp_layout *layout, uint64_t block_bytes, unsigned determinism)
{
    const bool strict = determinism == RP_DETERMINISM_STRICT && row->strict;
    if (layout != NULL && !strict && has_levels(row->op)) {
        const unsigned picked = across(comm, row, layout, block_bytes);
        return fits(comm, row->op, picked, layout) ? picked : RP_ALGORITHM_MESH;
    }
    if (row->algorithms == 0) {
        return RP_ALGORITHM_FUSED; // two ranks alone have nothing to choose
    }
    enum rp_algorithm asked = asked_algorithm(comm, row, layout != NULL);
    if (asked == RP_ALGORITHM_FUSED) {
        asked = rp_select_adaptive(row->op, block_bytes, comm->size);
    }
    const unsigned may = row->algorithms & (strict ? RP_ALGORITHMS_STRICT : ~0u);
    return may & RP_ALGORITHM_BIT(asked) ? asked : RP_ALGORITHM_MESH;
}

rp_status rp_select(struct rp_comm *comm, unsigned op, uint64_t block_bytes, unsigned determinism,
        enum rp_expansion *expansion, enum rp_algorithm *algorithm)
{
    const struct rp_matrix_row *row = rp_matrix_row(op);
    bool aiv = false;
    if (row == NULL) {
        return rp_fail(RP_ENOTSUP, "operator %u is not built", op);
    }
    const struct rp_layout *layout = NULL;
    rp_status st = wants_aiv(comm, row, &aiv);
    st = st != RP_OK ? st : rp_comm_layout(comm, &layout);
    if (st != RP_OK) {
        return st;
    }
    if (!aiv && !(row->host_ts && (comm->nodes == 1 || row->between_nodes))) {
        return rp_fail(RP_ENOTSUP, "communicator %s: %s has no form for %" PRIu32 " nodes",
                comm->name, rp_op_kind_name(op), comm->nodes);
    }
    *expansion = aiv ? RP_EXPANSION_AIV : RP_EXPANSION_HOST_TS;
    *algorithm =
            aiv ? RP_ALGORITHM_FUSED
                : (enum rp_algorithm)host_algorithm(comm, row, layout, block_bytes, determinism);
    return RP_OK;
}
