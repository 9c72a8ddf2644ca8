// Calls that differ, in every way that they can: each operator against each other one and against
// itself with another count, type, root, reduction or table, and two in the other order, by kernels
// and by lists of each algorithm, eager and replayed, over 2 to 5 ranks. Every rank is told within
// the second, by a sentence with both calls, long before any time limit.

#include "support/rank_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "capture/select.h"
#include "support/operator_call.h"

#define POOL_BYTES (4u << 20)
#define LIMIT_MS 3000 /* a second, and what a busy machine adds */
#define TEXT_BYTES 1024

enum field { OTHER_OP, OTHER_COUNT, OTHER_TYPE, OTHER_ROOT, OTHER_REDUCTION, OTHER_ORDER, FIELDS };

static const char *const field_names[FIELDS] = { "operator", "count", "type", "root", "reduction",
    "order" };

struct pair {
    enum field field;
    const struct rp_matrix_row *common, *odd;
    unsigned number; // of the case; chooses sizes, algorithm, the odd rank
};

struct shared {
    HcclRootInfo info;
};

enum reach { KERNELS, LISTS, LISTS_BETWEEN_NODES };

static const char *const reach_names[] = { "AIV", "HOST_TS", "HOST_TS between nodes" };

// What has the communicator's sequence: sends and receives have one for each pair of ranks.
static bool is_collective(const struct rp_matrix_row *row)
{
    return row->op != RP_OP_SEND && row->op != RP_OP_RECEIVE && row->op != RP_OP_BATCH_SEND_RECV;
}

// AlltoAllV agrees pair by pair on what each rank gives the other.
static bool counts_may_differ(const struct rp_matrix_row *row)
{
    return row->op == RP_OP_ALLTOALL_V;
}

static bool applies(const struct pair *pair)
{
    const struct rp_matrix_row *a = pair->common, *b = pair->odd;
    if (!is_collective(a) || !is_collective(b)) {
        return false;
    }
    switch (pair->field) {
    case OTHER_OP:
    case OTHER_ORDER:
        return a->op != b->op;
    case OTHER_COUNT:
        return a == b && a->types != 0 && !counts_may_differ(a);
    case OTHER_TYPE:
        return a == b && a->types != 0;
    case OTHER_ROOT:
        return a == b && a->rooted;
    case OTHER_REDUCTION:
        return a == b && a->reduces;
    case FIELDS:
        break;
    }
    return false;
}

static void make_call(struct operator_call *call, const struct rp_matrix_row *row, unsigned ranks,
        unsigned number)
{
    static const uint64_t counts[] = { 2, 700, 40000 }; // tiny, small, large
    *call = (struct operator_call){
        .op = row->op,
        .dtype = RP_DTYPE_INT32,
        .ranks = ranks,
        .root = number % ranks,
        .count = row->types == 0 ? 0 : counts[number % RP_ARRAY_LENGTH(counts)],
    };
}

static void make_blocks(struct operator_call *call)
{
    for (unsigned s = 0; operator_has_blocks(call->op) && s < call->ranks; s++) {
        for (unsigned d = 0; d < call->ranks; d++) {
            call->block[s][d] = call->count;
        }
    }
    operator_place_blocks(call);
}

static void make_odd(struct operator_call *call, const struct pair *pair, unsigned ranks)
{
    make_call(call, pair->odd, ranks, pair->number);
    switch (pair->field) {
    case OTHER_COUNT:
        call->count++;
        break;
    case OTHER_TYPE:
        call->dtype = RP_DTYPE_FP32;
        break;
    case OTHER_ROOT:
        call->root = (call->root + 1) % ranks;
        break;
    case OTHER_REDUCTION:
        call->reduce = RP_REDUCE_MAX;
        break;
    case OTHER_OP:
    case OTHER_ORDER:
    case FIELDS:
        break;
    }
}

// Kernels, lists by what the selector likes, and by each algorithm in turn.
static void open_comm(struct rank *rank, unsigned number, bool aiv, HcclComm *comm)
{
    struct shared *shared = rank->shared;
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    config.hcclBufferSize = 1;
    config.hcclOpExpansionMode = aiv ? 3 : 1;
    config.hcclExecTimeOut = 60;
    const unsigned algorithm = number % RP_ALGORITHMS;
    if (algorithm != RP_ALGORITHM_FUSED) {
        snprintf(config.hcclAlgo, sizeof(config.hcclAlgo), "level0:%s",
                rp_matrix_algorithm_name(algorithm));
    }
    if (rank->id == 0) {
        must(HcclGetRootInfo(&shared->info));
    }
    rank_barrier(rank);
    must(HcclCommInitRootInfoConfig(rank->count, &shared->info, rank->id, &config, comm));
    rank_barrier(rank);
}

struct buffers {
    uint8_t *send, *recv;
};

static HcclResult issue(struct rank *rank, const struct operator_call *call,
        const struct buffers *buffers, HcclComm comm)
{
    return operator_issue(call, rank->id, buffers->send, buffers->recv, comm, rank->stream);
}

static aclError run(struct rank *rank, const struct operator_call *calls, unsigned count,
        const struct buffers *buffers, HcclComm comm, bool captured, char *text)
{
    aclmdlRI graph = NULL;
    aclError error = ACL_SUCCESS;
    if (captured) {
        must(aclmdlRICaptureBegin(rank->stream, THREAD_LOCAL));
    }
    for (unsigned i = 0; i < count && error == ACL_SUCCESS; i++) {
        error = (aclError)issue(rank, &calls[i], buffers, comm);
    }
    if (captured) {
        must(error);
        graph = capture_end(rank->stream);
        rank_barrier(rank);
        error = aclmdlRIExecuteAsync(graph, rank->stream);
    }
    if (error == ACL_SUCCESS) {
        error = aclrtSynchronizeStream(rank->stream);
    }
    snprintf(text, TEXT_BYTES, "%s", rank_error_text());
    (void)aclrtSynchronizeStream(rank->stream); // what a refused second call left behind
    if (graph != NULL) {
        must(aclmdlRIDestroy(graph));
    }
    return error;
}

static bool says(const char *text, const struct operator_call *call, enum field field)
{
    static const char *const types[] = { "int32", "fp32" };
    char part[32];
    switch (field) {
    case OTHER_COUNT:
        snprintf(part, sizeof(part), "ount %llu,", (unsigned long long)call->count);
        break;
    case OTHER_TYPE:
        snprintf(part, sizeof(part), ", %s", types[call->dtype == RP_DTYPE_FP32]);
        break;
    case OTHER_ROOT:
        snprintf(part, sizeof(part), "root %u", call->root);
        break;
    case OTHER_REDUCTION:
        snprintf(part, sizeof(part), ", %s", call->reduce == RP_REDUCE_MAX ? "max" : "sum");
        break;
    case OTHER_OP:
    case OTHER_ORDER:
    case FIELDS:
        snprintf(part, sizeof(part), "called %s #", rp_op_kind_name(call->op));
        break;
    }
    return strstr(text, part) != NULL;
}

static void run_pair(
        struct rank *rank, const struct pair *pair, const struct buffers *buffers, bool aiv)
{
    const unsigned odd_rank = pair->number % rank->count;
    const bool captured = pair->number / 2 % 2 == 1;
    struct operator_call common[2], odd[2];
    char name[128], text[TEXT_BYTES], odd_name[32];
    HcclComm comm = NULL;
    HcclResult later = HCCL_SUCCESS;
    make_call(&common[0], pair->common, rank->count, pair->number);
    make_odd(&odd[0], pair, rank->count);
    make_blocks(&common[0]);
    make_blocks(&odd[0]);
    common[1] = odd[0];
    odd[1] = common[0];
    open_comm(rank, pair->number, aiv, &comm);
    snprintf(name, sizeof(name), "case %u: %s, %s and %s, %s, %s", pair->number,
            field_names[pair->field], rp_op_kind_name(pair->common->op),
            rp_op_kind_name(pair->odd->op), aiv ? "AIV" : "HOST_TS",
            captured ? "replayed" : "eager");
    (void)rank_error_text();
    const uint64_t start_ms = rank_now_ms();
    const aclError error = run(rank, rank->id == odd_rank ? odd : common,
            pair->field == OTHER_ORDER ? 2 : 1, buffers, comm, captured, text);
    const uint64_t lasted_ms = rank_now_ms() - start_ms;
    snprintf(odd_name, sizeof(odd_name), "rank %u called", odd_rank);
    must_hold(error == ACL_ERROR_RT_INTERNAL_ERROR || error == (aclError)HCCL_E_PARA,
            "%s: the answer is %d: %s", name, error, text);
    must_hold(lasted_ms < LIMIT_MS, "%s: told after %d ms", name, (int)lasted_ms);
    must(HcclGetCommAsyncError(comm, &later));
    must_hold(later == HCCL_E_PARA, "%s: the asynchronous error is %d", name, (int)later);
    must_hold(strstr(text, odd_name) != NULL && says(text, &common[0], pair->field) &&
                      says(text, &odd[0], pair->field),
            "%s: not both calls are named: \"%s\"", name, text);
    rank_barrier(rank);
    must(HcclCommDestroy(comm));
}

static unsigned next_pair(struct pair *pair)
{
    // In the order of fields and rows; the number counts what applies.
    static _Thread_local unsigned at;
    if (pair->number == 0) {
        at = 0;
    }
    const unsigned rows = rp_matrix_rows;
    for (; at < FIELDS * rows * rows; at++) {
        pair->field = (enum field)(at / (rows * rows));
        pair->common = &rp_matrix[at / rows % rows];
        pair->odd = &rp_matrix[at % rows];
        if (applies(pair)) {
            at++;
            return ++pair->number;
        }
    }
    return 0;
}

static void pairs_rank(struct rank *rank)
{
    const enum reach reach = *(const enum reach *)rank->arg;
    const bool aiv = reach == KERNELS;
    struct pair pair = { .number = 0 };
    struct buffers buffers;
    if (reach == LISTS_BETWEEN_NODES) {
        setenv("REPRISE_NODE_ID", rank->id % 2 == 0 ? "even" : "odd", 1);
    }
    must(aclrtSetDevice(rank->device));
    must(aclrtCreateStream(&rank->stream));
    must(aclrtMalloc((void **)&buffers.send, POOL_BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMalloc((void **)&buffers.recv, POOL_BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(buffers.send, 0, POOL_BYTES);
    while (next_pair(&pair) != 0) {
        rank_step(rank, pair.number);
        // Each number of ranks has its share of the pairs of operators, and all of the rest.
        if (pair.field != OTHER_OP && pair.field != OTHER_ORDER) {
            run_pair(rank, &pair, &buffers, aiv);
        } else if (soaking() || pair.number % 4 == rank->count % 4) {
            run_pair(rank, &pair, &buffers, aiv);
        }
    }
    must_hold(pair.number > 50, "only %u pairs", pair.number);
    must(aclrtFree(buffers.send));
    must(aclrtFree(buffers.recv));
    must(aclrtDestroyStream(rank->stream));
    must(aclrtResetDevice(rank->device));
}

static void run_pairs(unsigned ranks, enum reach reach, enum rank_mode mode)
{
    void *shared = rank_shared_create(sizeof(struct shared));
    const struct rank_job job = { .ranks = ranks,
        .mode = mode,
        .fn = pairs_rank,
        .arg = &reach,
        .shared = shared,
        .timeout_s = 240 };
    const char *wrong = rank_run(&job);
    rank_shared_destroy(shared, sizeof(struct shared));
    assert_well(wrong, "%u ranks, %s", ranks, reach_names[reach]);
}

Test(mismatch_pairs, of_kernels_are_told_to_every_rank, .timeout = 290)
{
    for (unsigned ranks = 2; ranks <= 5; ranks++) {
        run_pairs(ranks, KERNELS, ranks == 3 ? RANK_PROCESSES : RANK_THREADS);
    }
}

Test(mismatch_pairs, of_lists_are_told_to_every_rank, .timeout = 290)
{
    for (unsigned ranks = 2; ranks <= 5; ranks++) {
        run_pairs(ranks, LISTS, ranks == 3 ? RANK_PROCESSES : RANK_THREADS);
    }
}

Test(mismatch_pairs, of_lists_are_told_between_nodes, .timeout = 290)
{
    for (unsigned ranks = 2; ranks <= 5; ranks += soaking() ? 1 : 2) {
        run_pairs(ranks, LISTS_BETWEEN_NODES, RANK_PROCESSES);
    }
}
