// The support matrix, cell by cell: what it says runs and is compared with the oracle, on the path
// that was asked for; what it denies gives its documented answer. The table is walked, so that a
// new row needs no test here; how its operator is called is in support/operator_call.c.

#include "support/rank_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "capture/comm_extra.h"
#include "capture/select.h"
#include "support/operator_world.h"

#define RANKS 4
#define DETERMINISMS 3
#define AIV_FALLS_BACK 3 /* hcclOpExpansionMode */
#define AIV_ONLY 4
#define HOST 1

// ---- forms: AIV and each algorithm, under each determinism ----

struct walk {
    struct operator_form form[OPERATOR_FORMS_MAX];
    unsigned algorithm[OPERATOR_FORMS_MAX];
    char name[OPERATOR_FORMS_MAX][32];
    char algo[OPERATOR_FORMS_MAX][32];
    unsigned forms;
    bool nodes; // ranks are on two
};

// Whether the algorithm folds in rank order. Between nodes more than one takes part.
static bool folds_in_order(const struct walk *walk, unsigned algorithm, unsigned determinism)
{
    return determinism == 2 ||
           (!walk->nodes && (RP_ALGORITHMS_STRICT & RP_ALGORITHM_BIT(algorithm)) != 0);
}

static void add_form(struct walk *walk, unsigned algorithm, unsigned determinism)
{
    static const char *const suffixes[DETERMINISMS] = { "", ", deterministic", ", strict" };
    const unsigned i = walk->forms++;
    const bool aiv = algorithm == RP_ALGORITHM_FUSED;
    const char *name = aiv ? "AIV" : rp_matrix_algorithm_name(algorithm);
    snprintf(walk->name[i], sizeof(walk->name[i]), "%s%s", name, suffixes[determinism]);
    snprintf(walk->algo[i], sizeof(walk->algo[i]), "level0:%s", name);
    walk->algorithm[i] = algorithm;
    walk->form[i] = (struct operator_form){
        .name = walk->name[i],
        .expansion = aiv ? AIV_FALLS_BACK : HOST,
        .determinism = determinism,
        .algo = aiv ? NULL : walk->algo[i],
        .ordered = (aiv && !walk->nodes) || folds_in_order(walk, algorithm, determinism),
    };
}

static void make_forms(struct walk *walk, bool nodes)
{
    memset(walk, 0, sizeof(*walk));
    walk->nodes = nodes;
    for (unsigned determinism = 0; determinism < DETERMINISMS; determinism++) {
        for (unsigned a = RP_ALGORITHM_FUSED; a < RP_ALGORITHMS; a++) {
            add_form(walk, a, determinism);
        }
    }
}

// ---- the cells that say yes ----

// Sizes of each form of the kernels, and more than one round of the windows of 1 MiB.
static const uint64_t counts[] = { 1, 3, 700, 4099, 33333 };

static void make_call(struct operator_call *call, const struct rp_matrix_row *row, unsigned ranks,
        unsigned type, unsigned number)
{
    *call = (struct operator_call){
        .op = row->op,
        .dtype = (enum rp_dtype)type,
        .reduce = row->reduces ? (enum rp_reduce_op)(number % RP_REDUCE_OPS) : RP_REDUCE_SUM,
        .ranks = ranks,
        .root = number % ranks,
        .peer = (number + 1) % ranks,
        .count = row->types == 0 ? 0 : counts[number % RP_ARRAY_LENGTH(counts)],
        .in_place = number % 2 == 1,
        .fill = number,
    };
    for (unsigned s = 0; operator_has_blocks(row->op) && s < ranks; s++) {
        for (unsigned d = 0; d < ranks; d++) {
            const unsigned which = row->op == RP_OP_ALL_GATHER_V       ? s
                                   : row->op == RP_OP_REDUCE_SCATTER_V ? d
                                                                       : s * 3 + d;
            call->block[s][d] = call->count * (which % 3) / 2;
        }
    }
    operator_place_blocks(call);
}

// What runs: the selector's answer on the communicator itself.
static void expect_path(
        struct operator_world *world, const struct walk *walk, const struct operator_call *call)
{
    const struct rp_matrix_row *row = rp_matrix_row(call->op);
    const unsigned i = call->comm;
    const unsigned asked = walk->algorithm[i];
    const unsigned determinism = walk->form[i].determinism;
    enum rp_expansion expansion = RP_EXPANSION_HOST_TS;
    enum rp_algorithm algorithm = RP_ALGORITHM_FUSED;
    struct rp_comm *comm = NULL;
    must(rp_comm_call_begin("test", world->comm[i], &comm));
    must(rp_select(comm, call->op, call->count * rp_dtype_bytes(call->dtype), determinism,
            &expansion, &algorithm));
    rp_comm_call_end(comm);
    const bool aiv = asked == RP_ALGORITHM_FUSED && row->aiv && !walk->nodes;
    must_hold((expansion == RP_EXPANSION_AIV) == aiv, "%s on %s is %s", rp_op_kind_name(call->op),
            walk->name[i], aiv ? "no kernel" : "a kernel");
    const bool has = row->algo >= 0 && (row->algorithms & RP_ALGORITHM_BIT(asked)) != 0 &&
                     (determinism != 2 || !row->strict ||
                             (RP_ALGORITHMS_STRICT & RP_ALGORITHM_BIT(asked)) != 0);
    if (!walk->nodes && asked != RP_ALGORITHM_FUSED && has) {
        must_hold(algorithm == asked, "%s on %s runs by %s", rp_op_kind_name(call->op),
                walk->name[i], rp_matrix_algorithm_name(algorithm));
    }
}

static void walk_cell(struct operator_world *world, const struct walk *walk,
        const struct rp_matrix_row *row, unsigned form, unsigned *number)
{
    static _Thread_local struct operator_case c;
    const unsigned types = row->types == 0 ? 1u << RP_DTYPE_INT8 : row->types;
    for (unsigned type = 0; type < 32; type++) {
        if ((types >> type & 1) == 0) {
            continue;
        }
        c = (struct operator_case){ .seed = *number,
            .ranks = world->rank->count,
            .mode = OPERATOR_MIXED, // a round of each
            .rounds = 2,
            .calls = 1 };
        make_call(&c.call[0], row, c.ranks, type, *number);
        c.call[0].comm = form;
        c.call[0].exact = !walk->form[form].ordered;
        expect_path(world, walk, &c.call[0]);
        operator_world_run(world, &c);
        ++*number;
    }
}

static void walk_rank(struct rank *rank)
{
    static _Thread_local struct walk walk;
    struct operator_world world;
    const bool nodes = rank->arg != NULL;
    unsigned number = 0;
    if (nodes) {
        setenv("REPRISE_NODE_ID", ((const char *const *)rank->arg)[rank->id], 1);
    }
    make_forms(&walk, nodes);
    operator_world_open(&world, rank, walk.form, walk.forms);
    for (unsigned i = 0; i < rp_matrix_rows; i++) {
        must_hold(operator_knows(rp_matrix[i].op), "how %s is called is not known",
                rp_op_kind_name(rp_matrix[i].op));
        for (unsigned form = 0; form < walk.forms; form++) {
            walk_cell(&world, &walk, &rp_matrix[i], form, &number);
        }
    }
    operator_world_close(&world);
}

static void run_walk(unsigned ranks, enum rank_mode mode, const char *const *nodes)
{
    void *shared = rank_shared_create(sizeof(struct operator_shared));
    const struct rank_job job = { .ranks = ranks,
        .mode = mode,
        .fn = walk_rank,
        .arg = nodes,
        .shared = shared,
        .timeout_s = 240 };
    const char *wrong = rank_run(&job);
    rank_shared_destroy(shared, sizeof(struct operator_shared));
    assert_well(wrong, "%u ranks", ranks);
}

Test(matrix, what_it_says_runs_within_a_node_by_threads, .timeout = 280)
{
    run_walk(RANKS, RANK_THREADS, NULL);
}

Test(matrix, what_it_says_runs_within_a_node_by_processes, .timeout = 280)
{
    run_walk(3, RANK_PROCESSES, NULL);
}

// ---- the cells that say no ----

static HcclResult issue_one(
        struct operator_world *world, const struct operator_call *call, bool same_buffer)
{
    const unsigned id = world->rank->id;
    uint8_t *send = world->pool[OPERATOR_ARENA];
    uint8_t *recv = same_buffer ? send : send + OPERATOR_BUFFER_BYTES;
    return operator_issue(call, id, send, recv, world->comm[call->comm], world->stream[0]);
}

static void refuse(struct operator_world *world, const struct operator_call *call, bool same_buffer,
        HcclResult answer, const char *why)
{
    if (!operator_calls(call, world->rank->id)) {
        return;
    }
    (void)rank_error_text();
    const HcclResult got = issue_one(world, call, same_buffer);
    const char *text = rank_error_text();
    must_hold(got == answer, "%s, %s: the answer is %d and not %d: \"%s\"",
            rp_op_kind_name(call->op), why, (int)got, (int)answer, text);
    const bool pair = call->op == RP_OP_SEND || call->op == RP_OP_RECEIVE; // each end has its call
    const char *name = !pair                           ? rp_op_kind_name(call->op)
                       : world->rank->id == call->root ? "Send"
                                                       : "Recv";
    must_hold(strstr(text, name) != NULL, "%s, %s: the operator is not named: \"%s\"",
            rp_op_kind_name(call->op), why, text);
}

static bool has_two_buffers(unsigned op)
{
    return op != RP_OP_BROADCAST && op != RP_OP_BARRIER && op != RP_OP_SEND &&
           op != RP_OP_RECEIVE && op != RP_OP_BATCH_SEND_RECV;
}

static void refuse_types(struct operator_world *world, const struct rp_matrix_row *row,
        const struct operator_call *good)
{
    char why[32];
    for (int type = -1; type < 40; type++) {
        if (type >= 0 && (row->types >> (type % 32) & 1) != 0 && type < 32) {
            continue;
        }
        struct operator_call bad = *good;
        bad.dtype = (enum rp_dtype)type;
        snprintf(why, sizeof(why), "type %d", type);
        refuse(world, &bad, false, HCCL_E_NOT_SUPPORT, why);
    }
    for (int reduce = -1; row->reduces && reduce < 8; reduce++) {
        if (reduce >= 0 && (row->reductions >> reduce & 1) != 0) {
            continue;
        }
        struct operator_call bad = *good;
        bad.reduce = (enum rp_reduce_op)reduce;
        snprintf(why, sizeof(why), "reduction %d", reduce);
        refuse(world, &bad, false, HCCL_E_NOT_SUPPORT, why);
    }
}

static void refusals_of(struct operator_world *world, const struct rp_matrix_row *row)
{
    struct operator_call good;
    make_call(&good, row, world->rank->count, RP_DTYPE_INT32, 2);
    if (row->types != 0) {
        refuse_types(world, row, &good);
    }
    if (row->rooted) {
        struct operator_call bad = good;
        bad.root = world->rank->count;
        refuse(world, &bad, false, HCCL_E_PARA, "a root that is no rank");
    }
    if (!row->in_place && has_two_buffers(row->op)) {
        refuse(world, &good, true, HCCL_E_PARA, "in place");
    }
}

// Refused by every rank alone, so nobody waits; the communicator is as good as before.
static void refusals_rank(struct rank *rank)
{
    static const struct operator_form forms[] = {
        { "AIV", AIV_FALLS_BACK, 0, NULL, true },
        { "mesh", HOST, 0, "level0:fullmesh", true },
    };
    static _Thread_local struct operator_case c;
    struct operator_world world;
    operator_world_open(&world, rank, forms, RP_ARRAY_LENGTH(forms));
    for (unsigned i = 0; i < rp_matrix_rows; i++) {
        refusals_of(&world, &rp_matrix[i]);
        c = (struct operator_case){ .ranks = rank->count, .rounds = 1, .calls = 2 };
        for (unsigned form = 0; form < 2; form++) {
            make_call(&c.call[form], &rp_matrix[i], rank->count, RP_DTYPE_INT32, 2);
            c.call[form].comm = form;
        }
        operator_world_run(&world, &c);
    }
    operator_world_close(&world);
}

Test(matrix, what_it_denies_is_refused_with_a_sentence, .timeout = 120)
{
    void *shared = rank_shared_create(sizeof(struct operator_shared));
    const struct rank_job job = { .ranks = 3, .fn = refusals_rank, .shared = shared };
    const char *wrong = rank_run(&job);
    rank_shared_destroy(shared, sizeof(struct operator_shared));
    assert_well(wrong, "refusals");
}

// A communicator that is AIV only refuses what has no kernel for its ranks, and runs the rest.
static void aiv_only_rank(struct rank *rank)
{
    static const struct operator_form forms[] = { { "AIV only", AIV_ONLY, 0, NULL, true } };
    static _Thread_local struct operator_case c;
    struct operator_world world;
    if (rank->arg != NULL) {
        setenv("REPRISE_NODE_ID", ((const char *const *)rank->arg)[rank->id], 1);
    }
    operator_world_open(&world, rank, forms, 1);
    for (unsigned i = 0; i < rp_matrix_rows; i++) {
        c = (struct operator_case){ .ranks = rank->count, .rounds = 1, .calls = 1 };
        make_call(&c.call[0], &rp_matrix[i], rank->count, RP_DTYPE_INT32, 2);
        if (rp_matrix[i].aiv && rank->arg == NULL) {
            operator_world_run(&world, &c);
        } else {
            refuse(&world, &c.call[0], false, HCCL_E_NOT_SUPPORT, "AIV only");
        }
    }
    operator_world_close(&world);
}

static void run_aiv_only(const char *const *nodes)
{
    void *shared = rank_shared_create(sizeof(struct operator_shared));
    const struct rank_job job = { .ranks = 3, .fn = aiv_only_rank, .arg = nodes, .shared = shared };
    const char *wrong = rank_run(&job);
    rank_shared_destroy(shared, sizeof(struct operator_shared));
    assert_well(wrong, "AIV only");
}

Test(matrix, aiv_only_refuses_what_has_no_kernel, .timeout = 60)
{
    run_aiv_only(NULL);
}

#define TWO_NODES ((const char *const[]){ "one", "two", "one", "two" })

Test(matrix, what_it_says_runs_between_nodes, .timeout = 280)
{
    run_walk(RANKS, RANK_PROCESSES, TWO_NODES);
}

Test(matrix, aiv_only_refuses_everything_between_nodes, .timeout = 60)
{
    run_aiv_only(TWO_NODES);
}
