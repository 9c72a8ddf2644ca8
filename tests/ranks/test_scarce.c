// Want of memory at any time: each allocation of a capture with everything in it, of its changes,
// its replay and its end fails in turn. Each call that fails says so, what it was to do is not done
// by halves, and afterwards all is usable. AddressSanitizer looks for what is left behind.

#include <stdlib.h>
#include <string.h>

#include <reprise/graph.h>
#include <reprise/kernel.h>

#include "base/alloc.h"
#include "support/rank_test.h"

#define WORDS 300
#define BLOCKS 6

struct scarce {
    struct rank *rank;
    uint32_t *block[BLOCKS];
    aclrtStream side, third;
    aclrtEvent fork, join, outside;
    aclrtNotify notify;
    aclrtFuncHandle kernel;
    aclmdlRI graph;
    aclrtTaskGrp group;
    uint64_t count;     // of the operators: another one needs another expansion
    const char *failed; // the first call that failed
    int code;
};

struct add_args {
    const uint32_t *from;
    uint32_t *to;
};

static void add_words(void *args, uint32_t block, uint32_t blocks)
{
    const struct add_args *a = args;
    for (uint32_t i = block; i < WORDS; i += blocks) {
        a->to[i] += a->from[i];
    }
}

static void open_scarce(struct scarce *s, struct rank *rank)
{
    *s = (struct scarce){ .rank = rank };
    rank_open(rank);
    must(aclrtCreateStream(&s->side));
    must(aclrtCreateStream(&s->third));
    must(aclrtCreateEventExWithFlag(&s->fork, ACL_EVENT_SYNC));
    must(aclrtCreateEventExWithFlag(&s->join, ACL_EVENT_SYNC));
    must(aclrtCreateEventExWithFlag(&s->outside, ACL_EVENT_SYNC));
    must(aclrtCreateNotify(&s->notify, ACL_NOTIFY_DEFAULT));
    must(reprise_kernel_register("add_words", add_words, &s->kernel));
    for (unsigned b = 0; b < BLOCKS; b++) {
        must(aclrtMalloc((void **)&s->block[b], WORDS * 4, ACL_MEM_MALLOC_HUGE_FIRST));
    }
}

static void close_scarce(struct scarce *s)
{
    for (unsigned b = 0; b < BLOCKS; b++) {
        must(aclrtFree(s->block[b]));
    }
    must(aclrtDestroyEvent(s->fork));
    must(aclrtDestroyEvent(s->join));
    must(aclrtDestroyEvent(s->outside));
    must(aclrtDestroyNotify(s->notify));
    must(aclrtDestroyStream(s->side));
    must(aclrtDestroyStream(s->third));
    rank_close(s->rank);
}

// Whether to go on. What fails first must say that memory was short.
static bool went(struct scarce *s, const char *call, int code, int memory)
{
    if (code == 0) {
        return true;
    }
    const char *text = rank_error_text();
    must_hold(code == memory && strstr(text, "memory") != NULL, "%s answers %d: \"%s\"", call, code,
            text);
    s->failed = call;
    s->code = code;
    return false;
}

#define acl(s, call) went((s), #call, (call), ACL_ERROR_RT_MEMORY_ALLOCATION)
#define hccl(s, call) went((s), #call, (int)(call), HCCL_E_MEMORY)

static bool all_reduce(struct scarce *s, unsigned from, unsigned to, aclrtStream stream)
{
    return hccl(s, HcclAllReduce(s->block[from], s->block[to], s->count, HCCL_DATA_TYPE_UINT32,
                           HCCL_REDUCE_SUM, s->rank->comm, stream));
}

static void no_call(void *arg)
{
    (void)arg;
}

static bool add_condition(struct scarce *s, aclmdlRI graph)
{
    aclmdlRI arm[2] = { NULL };
    aclmdlRICondHandle handle = NULL;
    if (!acl(s, aclmdlRICondHandleCreate(
                        graph, 1, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &handle))) {
        return false;
    }
    const aclmdlRICondTaskParams params = {
        .handle = handle, .type = ACL_MODEL_RI_COND_TYPE_IF, .size = 2, .modelRIArray = arm
    };
    if (!acl(s, aclmdlRIAddCondTask(params, s->rank->stream, 0)) ||
            !acl(s, aclmdlRICaptureToModelRIBegin(s->third, arm[0], RELAXED))) {
        return false;
    }
    const bool recorded = all_reduce(s, 0, 1, s->third);
    const aclError ended = aclmdlRICaptureEnd(s->third, NULL);
    return recorded && acl(s, ended);
}

static bool add_tasks(struct scarce *s, aclmdlRI graph)
{
    aclrtStream stream = s->rank->stream;
    struct add_args args = { s->block[1], s->block[3] };
    return acl(s, aclmdlRISetName(graph, "scarce")) &&
           acl(s, aclmdlRIDestroyRegisterCallback(graph, no_call, NULL)) &&
           add_condition(s, graph) && acl(s, aclrtRecordEvent(s->fork, stream)) &&
           acl(s, aclrtStreamWaitEvent(s->side, s->fork)) && all_reduce(s, 0, 2, s->side) &&
           acl(s, aclmdlRICaptureTaskGrpBegin(stream)) && all_reduce(s, 0, 3, stream) &&
           acl(s, aclmdlRICaptureTaskGrpEnd(stream, &s->group)) &&
           acl(s, aclrtLaunchKernelWithHostArgs(
                          s->kernel, 2, stream, NULL, &args, sizeof(args), NULL, 0)) &&
           acl(s, aclrtLaunchHostFunc(stream, no_call, NULL)) &&
           acl(s, aclrtRecordNotify(s->notify, s->side)) &&
           acl(s, aclrtWaitAndResetNotify(s->notify, stream, 0)) &&
           acl(s, aclrtRecordEventWithFlag(s->outside, stream, ACL_EVENT_RECORD_EXTERNAL)) &&
           acl(s, aclrtRecordEvent(s->join, s->side)) &&
           acl(s, aclrtStreamWaitEvent(stream, s->join));
}

// Ends what was begun, well or not.
static bool capture(struct scarce *s)
{
    aclmdlRI graph = NULL, begun = NULL;
    if (!acl(s, aclmdlRICaptureBegin(s->rank->stream, GLOBAL))) {
        return false;
    }
    must(aclmdlRICaptureGetInfo(s->rank->stream, NULL, &begun));
    const bool recorded = add_tasks(s, begun);
    const aclError ended = aclmdlRICaptureEnd(s->rank->stream, &graph);
    must_hold((ended == ACL_SUCCESS) == (graph != NULL), "CaptureEnd: %d, %p", ended, graph);
    s->graph = graph;
    return recorded && acl(s, ended);
}

static bool change_params(struct scarce *s)
{
    aclrtStream lanes[8];
    aclmdlRITask tasks[32];
    uint32_t lane_count = 8, task_count = 32;
    if (!acl(s, aclmdlRIGetStreams(s->graph, lanes, &lane_count)) ||
            !acl(s, aclmdlRIGetTasksByStream(lanes[1], tasks, &task_count))) {
        return false;
    }
    for (uint32_t t = 0; t < task_count; t++) {
        aclmdlRITaskType type;
        aclmdlRITaskParams params;
        must(aclmdlRITaskGetType(tasks[t], &type));
        if (type == ACL_MODEL_RI_TASK_KERNEL) {
            if (!acl(s, aclmdlRITaskGetParams(tasks[t], &params))) {
                return false;
            }
            params.taskGrp = NULL;
            struct reprise_collective_args args =
                    *(const struct reprise_collective_args *)params.kernelTaskParams.args;
            args.recvBuf = s->block[4];
            params.kernelTaskParams.args = &args;
            return acl(s, aclmdlRITaskSetParams(tasks[t], &params)) &&
                   acl(s, aclmdlRIUpdate(s->graph));
        }
    }
    return true;
}

static bool change_group(struct scarce *s)
{
    if (!acl(s, aclmdlRICaptureTaskUpdateBegin(s->third, s->group))) {
        return false;
    }
    const bool given = all_reduce(s, 0, 5, s->third);
    const aclError ended = aclmdlRICaptureTaskUpdateEnd(s->third);
    return given && acl(s, ended) && acl(s, aclrtSynchronizeStream(s->third));
}

static bool run(struct scarce *s)
{
    return acl(s, aclmdlRIExecuteAsync(s->graph, s->rank->stream)) &&
           acl(s, aclrtStreamWaitEvent(s->third, s->outside)) && all_reduce(s, 0, 1, s->third) &&
           acl(s, aclrtSynchronizeStream(s->third)) &&
           acl(s, aclrtSynchronizeStream(s->rank->stream)) &&
           acl(s, aclmdlRIDebugJsonPrint(
                          s->graph, "/dev/null", ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE));
}

// All of it once. True: every call worked.
static bool go_through(struct scarce *s)
{
    s->failed = NULL;
    s->graph = NULL;
    for (unsigned b = 0; b < BLOCKS; b++) {
        memset(s->block[b], 0, WORDS * 4);
    }
    for (unsigned i = 0; i < WORDS; i++) {
        s->block[0][i] = i + 1;
    }
    const bool ok = capture(s) && change_params(s) && change_group(s) && run(s);
    must(aclrtSynchronizeStream(s->rank->stream)); // whatever failed, nothing captures any more
    must(aclrtSynchronizeStream(s->side));
    must(aclrtSynchronizeStream(s->third));
    if (s->graph != NULL) {
        must(aclmdlRIDestroy(s->graph));
    }
    return ok;
}

// block 1: the conditional's sum; 4: the side stream's, whose place was changed; 5: the group's; 3:
// what the kernel added to nothing.
static void expect_results(const struct scarce *s, const char *when)
{
    static const unsigned summed[] = { 1, 3, 4, 5 };
    for (unsigned k = 0; k < 4; k++) {
        for (unsigned i = 0; i < s->count; i++) {
            must_hold(s->block[summed[k]][i] == i + 1, "%s: block %u, word %u is %u", when,
                    summed[k], i, s->block[summed[k]][i]);
        }
    }
}

static void scarce_rank(struct rank *rank)
{
    struct scarce s;
    unsigned failures = 0;
    open_scarce(&s, rank);
    s.count = WORDS;
    must_hold(go_through(&s), "%s answers %d: %s", s.failed, s.code, rank_error_text());
    expect_results(&s, "before");
    for (int64_t after = 0;; after++) {
        rank_step(rank, (uint64_t)after);
        s.count = WORDS - 1 - (uint64_t)after % (WORDS / 2);
        rp_alloc_fail_after(after);
        const bool ok = go_through(&s);
        const bool pending = rp_alloc_fail_pending();
        rp_alloc_fail_after(-1);
        if (ok) {
            expect_results(&s, "with an allocation that failed and was done without");
        }
        if (pending) {
            break;
        }
        failures += !ok;
        must_hold(go_through(&s), "after allocation %d had failed in %s: %s answers %d: %s",
                (int)after, s.failed, s.failed, s.code, rank_error_text());
        expect_results(&s, "after");
    }
    must_hold(failures >= 50, "only %u allocations could fail", failures);
    close_scarce(&s);
}

Test(scarce, each_allocation_of_a_graphs_life_fails_in_turn, .timeout = 120)
{
    struct rank_job job = { .ranks = 1, .fn = scarce_rank, .env = AIV };
    assert_job(&job, "AIV");
    job.env = HOST_TS;
    assert_job(&job, "HOST_TS");
}
