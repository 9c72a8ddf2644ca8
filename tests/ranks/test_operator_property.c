// Random collectives (support/operator_case.h): any operator, type, reduction, counts, root,
// memory, mode, expansion and algorithm over 1 to 8 ranks, against an oracle that knows blocks
// alone. REPRISE_SEED=<seed> runs one case.

#include "support/rank_test.h"

#include "base/util.h"
#include "support/operator_world.h"

#ifdef __SANITIZE_ADDRESS__
#define CI_SHARE 4
#else
#define CI_SHARE 1
#endif

// ordered: the mesh, the pairs and the star fold in rank order, as kernels do; a ring does not.
static const struct operator_form forms[] = {
    { "AIV", 3, 0, NULL, true },
    { "AIV strict", 3, 2, NULL, true },
    { "mesh", 1, 0, "level0:fullmesh", true },
    { "ring", 1, 0, "level0:ring", false },
    { "H-D_R", 1, 1, "level0:H-D_R", false },
    { "NHR", 1, 0, "level0:NHR", false },
    { "NB", 1, 0, "level0:NB", false },
    { "pairwise", 1, 0, "level0:pairwise", true },
    { "star", 1, 0, "level0:star", true },
    { "pipeline", 1, 0, "level0:pipeline", false },
    { "strict ring", 1, 2, "level0:ring", true },
    { "strict NHR", 1, 2, "level0:NHR", true },
    { "default", 0, 1, NULL, true },
};

struct slice {
    uint64_t first; // of the seeds; the others follow in steps of OPERATOR_RANKS
    unsigned count;
    bool nodes; // the ranks, processes then, are on several
};

// Ranks in turn, side by side, or all but one on the same node; two levels of sums have the fold in
// rank order only where strict asks for it.
static void split(const struct rank *rank, uint64_t seed, struct operator_form *several)
{
    const unsigned nodes[] = { rank->id % 2, rank->id / 2, rank->id == 0, rank->id % 3 };
    char name[16];
    snprintf(name, sizeof(name), "node %u", nodes[seed / OPERATOR_RANKS % RP_ARRAY_LENGTH(nodes)]);
    setenv("REPRISE_NODE_ID", name, 1);
    for (size_t i = 0; i < RP_ARRAY_LENGTH(forms); i++) {
        several[i] = forms[i];
        several[i].ordered = forms[i].determinism == 2;
    }
}

static void slice_rank(struct rank *rank)
{
    const struct slice *slice = rank->arg;
    const unsigned form_count = RP_ARRAY_LENGTH(forms);
    static _Thread_local struct operator_case c;
    struct operator_form several[RP_ARRAY_LENGTH(forms)];
    const struct operator_form *used = slice->nodes ? several : forms;
    struct operator_world world;
    if (slice->nodes) {
        split(rank, slice->first, several);
    }
    operator_world_open(&world, rank, used, form_count);
    for (unsigned i = 0; i < slice->count; i++) {
        operator_case_make(&c, slice->first + i * OPERATOR_RANKS, used, form_count);
        operator_world_run(&world, &c);
    }
    operator_world_close(&world);
}

static void run_slice(uint64_t first, unsigned count, enum rank_mode mode, bool nodes)
{
    const struct slice slice = { first, count, nodes };
    void *shared = rank_shared_create(sizeof(struct operator_shared));
    const struct rank_job job = {
        .ranks = operator_case_ranks(first),
        .mode = mode,
        .fn = slice_rank,
        .arg = &slice,
        .shared = shared,
        .timeout_s = soaking() ? 7200 : 120,
    };
    const char *wrong = rank_run(&job);
    rank_shared_destroy(shared, sizeof(struct operator_shared));
    assert_well(wrong, "cases %llu, %llu, ... by %s", (unsigned long long)first,
            (unsigned long long)first + OPERATOR_RANKS,
            nodes                    ? "processes on several nodes"
            : mode == RANK_THREADS   ? "threads"
            : mode == RANK_PROCESSES ? "processes"
                                     : "processes of two threads");
}

// `count` cases, as many for each number of ranks.
static void run_cases(uint64_t first, unsigned count, enum rank_mode mode, bool nodes)
{
    if (getenv("REPRISE_SEED") != NULL) {
        cr_skip("REPRISE_SEED asks for one case alone");
    }
    for (unsigned kind = 0; kind < OPERATOR_RANKS; kind++) {
        run_slice(first + kind, count / OPERATOR_RANKS, mode, nodes);
    }
}

Test(operator_property, cases_by_threads, .timeout = 0)
{
    run_cases(0, soak_rounds(560 / CI_SHARE, 12000), RANK_THREADS, false);
}

Test(operator_property, cases_by_processes, .timeout = 0)
{
    run_cases(100000, soak_rounds(160 / CI_SHARE, 3200), RANK_PROCESSES, false);
}

Test(operator_property, cases_by_processes_of_two_threads, .timeout = 0)
{
    run_cases(200000, soak_rounds(120 / CI_SHARE, 2400), RANK_MIXED, false);
}

// Four layouts by as many ranges of seeds.
Test(operator_property, cases_between_nodes, .timeout = 0)
{
    for (uint64_t layout = 0; layout < 4; layout++) {
        run_cases(300000 + layout * (100000 + OPERATOR_RANKS),
                soak_rounds(160 / CI_SHARE, 2400) / 4, RANK_PROCESSES, true);
    }
}

Test(operator_property, run_alone_by_their_seed)
{
    const char *text = getenv("REPRISE_SEED");
    char words[4096];
    if (text == NULL) {
        cr_skip("REPRISE_SEED names no case");
    }
    static struct operator_case c;
    operator_case_make(&c, strtoull(text, NULL, 10), forms, RP_ARRAY_LENGTH(forms));
    operator_case_words(&c, forms, words, sizeof(words));
    fprintf(stderr, "%s\n", words);
    run_slice(c.seed, 1, RANK_THREADS, false);
    run_slice(c.seed, 1, RANK_PROCESSES, false);
    run_slice(c.seed, 1, RANK_PROCESSES, true);
}
