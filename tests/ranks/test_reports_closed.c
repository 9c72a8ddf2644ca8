// A capture is closed under the library's own calls: none needs a warm-up, leaves a stream unjoined
// or breaks a rule by itself, in any mode.
//
// R01 and R03 of the user reports; AlltoAll, Send and Recv, sub-communicators and groups come with
// their issues.

#include <string.h>
#include <sys/resource.h>

#include "support/child.h"
#include "support/rank_test.h"

#define MODES 3

static const char *const mode_names[MODES] = { "GLOBAL", "THREAD_LOCAL", "RELAXED" };

static void in_both_expansions(struct rank_job *job)
{
    job->env = AIV;
    assert_job(job, "AIV, %u ranks", job->ranks);
    job->env = HOST_TS;
    assert_job(job, "HOST_TS, %u ranks", job->ranks);
}
#define PART 500

struct inside {
    struct rank *rank;
    float *buffer; // 16 * PART
    HcclComm made;
    HcclCommSymWindow window;
    uint64_t round;
};

static HcclResult make_by_root_info(struct inside *in)
{
    rank_barrier(in->rank);
    return rank_join_again(in->rank, ++in->round, &in->made);
}

static HcclResult make_alone(struct inside *in)
{
    int32_t device = in->rank->device;
    return HcclCommInitAll(1, &device, &in->made);
}

static HcclResult use_made(struct inside *in)
{
    return HcclAllReduce(in->buffer, in->buffer + PART, PART, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
            in->made, in->rank->stream);
}

// It took part in the capture; the graph will say so when it is executed.
static HcclResult destroy_made(struct inside *in)
{
    return HcclCommDestroy(in->made);
}

static HcclResult all_reduce(struct inside *in)
{
    return HcclAllReduce(in->buffer, in->buffer + 2 * PART, PART, HCCL_DATA_TYPE_FP32,
            HCCL_REDUCE_SUM, in->rank->comm, in->rank->stream);
}

static HcclResult reduce_scatter(struct inside *in)
{
    return HcclReduceScatter(in->buffer, in->buffer + 4 * PART, PART / in->rank->count,
            HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, in->rank->comm, in->rank->stream);
}

static HcclResult all_gather(struct inside *in)
{
    return HcclAllGather(in->buffer, in->buffer + 6 * PART, PART, HCCL_DATA_TYPE_FP32,
            in->rank->comm, in->rank->stream);
}

static HcclResult broadcast(struct inside *in)
{
    return HcclBroadcast(
            in->buffer + 12 * PART, PART, HCCL_DATA_TYPE_FP32, 1, in->rank->comm, in->rank->stream);
}

static HcclResult barrier(struct inside *in)
{
    return HcclBarrier(in->rank->comm, in->rank->stream);
}

static HcclResult ask(struct inside *in)
{
    char name[COMM_NAME_MAX_LENGTH];
    HcclComm found = NULL;
    HcclResult error = HCCL_E_INTERNAL;
    HcclOpExpansionMode mode;
    HcclConfigValue value;
    uint32_t number;
    HcclRootInfo info;
    const HcclResult results[] = {
        HcclGetCommName(in->rank->comm, name),
        HcclCommGetHandleWithName(name, &found),
        HcclGetRankId(in->rank->comm, &number),
        HcclGetRankSize(in->rank->comm, &number),
        HcclGetCommAsyncError(in->rank->comm, &error),
        error,
        HcclConfigGetInfo(in->rank->comm, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, sizeof(mode), &mode),
        HcclGetConfig(HCCL_DETERMINISTIC, &value),
        HcclSetConfig(HCCL_DETERMINISTIC, value),
        HcclGetRootInfo(&info),
    };
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
        if (results[i] != HCCL_SUCCESS) {
            return results[i];
        }
    }
    return HcclGetCommConfigCapability() > 0 && HcclGetErrorString(HCCL_E_PARA) != NULL
                   ? HCCL_SUCCESS
                   : HCCL_E_INTERNAL;
}

static HcclResult register_window(struct inside *in)
{
    return HcclCommSymWinRegister(
            in->rank->comm, in->buffer, 16 * PART * sizeof(float), &in->window, 1);
}

static HcclResult deregister_window(struct inside *in)
{
    return HcclCommSymWinDeregister(in->window);
}

static const struct {
    const char *name;
    HcclResult (*call)(struct inside *in);
} hccl_calls[] = {
    { "HcclAllReduce", all_reduce },
    { "queries and settings", ask },
    { "HcclCommInitRootInfo", make_by_root_info },
    { "HcclReduceScatter", reduce_scatter },
    { "HcclAllReduce on the communicator made meanwhile", use_made },
    { "HcclCommSymWinRegister", register_window },
    { "HcclAllGather", all_gather },
    { "HcclCommSymWinDeregister", deregister_window },
    { "HcclBroadcast", broadcast },
    { "HcclCommDestroy of a communicator with captured calls", destroy_made },
    { "HcclBarrier", barrier },
    { "HcclCommInitAll", make_alone },
    { "HcclCommDestroy", destroy_made },
};

#define HCCL_CALLS (sizeof(hccl_calls) / sizeof(hccl_calls[0]))

// Without a warm-up, in a capture of its own and all in one.
static void inside_rank(struct rank *rank)
{
    struct inside in = { .rank = rank };
    aclmdlRICaptureStatus status;
    rank_open(rank);
    must(aclrtMalloc((void **)&in.buffer, 16 * PART * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
    for (unsigned m = 0; m < 2 * MODES; m++) {
        const bool all_in_one = m >= MODES;
        aclmdlRI graph = NULL;
        for (size_t c = 0; c < HCCL_CALLS; c++) {
            if (!all_in_one || c == 0) {
                must(aclmdlRICaptureBegin(rank->stream, (aclmdlRICaptureMode)(m % MODES)));
            }
            const HcclResult result = hccl_calls[c].call(&in);
            must(aclmdlRICaptureGetInfo(rank->stream, &status, NULL));
            must_hold(result == HCCL_SUCCESS && status == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE,
                    "mode %s: %s answers %d, the capture's status is %d: %s", mode_names[m % MODES],
                    hccl_calls[c].name, (int)result, (int)status, rank_error_text());
            if (!all_in_one || c == HCCL_CALLS - 1) {
                must(aclmdlRICaptureEnd(rank->stream, &graph));
                if (all_in_one) { // its second communicator is gone
                    must_be(aclmdlRIExecuteAsync(graph, rank->stream), ACL_ERROR_RT_MODEL_EXECUTE);
                }
                must(aclmdlRIDestroy(graph));
            }
        }
    }
    must(aclrtSynchronizeStream(rank->stream));
    must(aclrtFree(in.buffer));
    rank_close(rank);
}

Test(reports, r01_a_capture_is_closed_under_every_hccl_call_in_every_mode, .timeout = 60)
{
    struct rank_job job = { .ranks = 2, .fn = inside_rank };
    in_both_expansions(&job);
    job.mode = RANK_THREADS;
    in_both_expansions(&job);
}

// With an address space of 200 MB an operator may lack memory, and then says so; it never breaks a
// rule of the capture.
#define ADDRESS_SPACE (UINT64_C(200) << 20)

static void tight_rank(struct rank *rank)
{
    const struct rlimit limit = { ADDRESS_SPACE, ADDRESS_SPACE };
    struct inside in = { .rank = rank };
    must_hold(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
    rank_open(rank);
    must(aclrtMalloc((void **)&in.buffer, 16 * PART * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
    memset(in.buffer, 0, 16 * PART * sizeof(float));
    for (unsigned round = 0; round < 300; round++) {
        aclmdlRI graph = NULL;
        must(aclmdlRICaptureBegin(rank->stream, (aclmdlRICaptureMode)(round % MODES)));
        must(all_reduce(&in));
        must(reduce_scatter(&in));
        must(all_gather(&in));
        must(broadcast(&in));
        must(barrier(&in));
        must(aclmdlRICaptureEnd(rank->stream, &graph));
        in.buffer[3] = (float)(rank->id + round);
        replay(graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        must_hold(in.buffer[2 * PART + 3] == (float)(1 + 2 * round), "the sum is %g",
                (double)in.buffer[2 * PART + 3]);
        must(aclmdlRIDestroy(graph));
    }
    must(aclrtFree(in.buffer));
    rank_close(rank);
}

Test(reports, r03_operators_break_no_rule_in_a_tight_address_space, .timeout = 60)
{
    if (!address_limit_works()) {
        cr_skip("the sanitizer maps more");
    }
    struct rank_job job = { .ranks = 2, .fn = tight_rank };
    job.env = ENV("HCCL_OP_EXPANSION_MODE=AIV", "REPRISE_DEVICE_MEMORY=16M", "HCCL_BUFFSIZE=1");
    assert_job(&job, "AIV");
    job.env = ENV("HCCL_OP_EXPANSION_MODE=HOST_TS", "REPRISE_DEVICE_MEMORY=16M", "HCCL_BUFFSIZE=1");
    assert_job(&job, "HOST_TS");
}
