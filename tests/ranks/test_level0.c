// Every algorithm that HCCL_ALGO may ask for within a node, run by ranks: results, with a buffer so
// small that operators take many rounds, and another algorithm for each operator.

#include "support/rank_test.h"

#include "base/util.h"

#define FORM(algo, ...) \
    ENV("HCCL_OP_EXPANSION_MODE=HOST_TS", "HCCL_BUFFSIZE=1", "HCCL_ALGO=" algo, ##__VA_ARGS__)

static const char *const *const forms[] = {
    FORM("level0:H-D_R"),
    FORM("level0:NHR"),
    FORM("level0:NB"),
    FORM("level0:pairwise"),
    FORM("level0:star"),
    FORM("level0:pipeline"),
    FORM("allreduce=level0:NHR/reducescatter=level0:NB/allgather=level0:H-D_R/"
         "broadcast=level0:star"),
};
static const unsigned rank_counts[] = { 2, 3, 4, 7 };

struct sweep {
    enum rp_dtype dtype;
    const size_t *counts;
    size_t counts_length;
};

static void run_one(struct rank *rank, const struct oracle_call *what, uint64_t seed)
{
    struct rank_call call;
    rank_call_open(&call, rank, what,
            &(struct rank_call_options){ .in_place = seed % 2 == 0, .versions = 2, .seed = seed });
    for (unsigned version = 0; version < 2; version++) {
        rank_call_load(&call, version);
        must(rank_call_issue(&call, rank->comm, rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(&call, version, "eager");
    }
    rank_call_close(&call);
}

static void sweep_rank(struct rank *rank)
{
    const struct sweep *sweep = rank->arg;
    uint64_t seed = 0;
    rank_open(rank);
    for (size_t n = 0; n < sweep->counts_length; n++) {
        for (int op = ORACLE_ALL_REDUCE; op <= ORACLE_BROADCAST; op++) {
            const struct oracle_call what = {
                .op = (enum oracle_op)op,
                .dtype = sweep->dtype,
                .count = sweep->counts[n],
                .root = (unsigned)seed % rank->count,
                .ranks = rank->count,
            };
            run_one(rank, &what, seed++);
        }
    }
    rank_close(rank);
}

static void run_forms(const struct sweep *sweep, unsigned ranks, enum rank_mode mode)
{
    for (size_t form = 0; form < RP_ARRAY_LENGTH(forms); form++) {
        const struct rank_job job = {
            .ranks = ranks, .mode = mode, .fn = sweep_rank, .arg = sweep, .env = forms[form]
        };
        assert_job(&job, "%s, %u ranks, mode %d", forms[form][2], ranks, (int)mode);
    }
}

Test(level0, every_algorithm_over_every_number_of_ranks, .timeout = 280)
{
    static const size_t counts[] = { 1, 7, 600, 9000 };
    const struct sweep sweep = {
        .dtype = RP_DTYPE_INT32, .counts = counts, .counts_length = RP_ARRAY_LENGTH(counts)
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rank_counts); i++) {
        run_forms(&sweep, rank_counts[i], RANK_THREADS);
    }
}

Test(level0, large_operators_take_many_rounds, .timeout = 280)
{
    static const size_t counts[] = { 300007 };
    const struct sweep sweep = {
        .dtype = RP_DTYPE_INT32, .counts = counts, .counts_length = RP_ARRAY_LENGTH(counts)
    };
    run_forms(&sweep, 3, RANK_MIXED);
}
