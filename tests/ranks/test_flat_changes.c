// Nothing grows, part two (see test_flat.c): graphs with everything else that one can hold, graphs
// that are changed over and over, built graphs, launches and eager calls without end.

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <reprise/graph.h>
#include <reprise/kernel.h>

#include "support/rank_test.h"
#include "support/usage.h"

#define WORDS 400
#define BLOCKS 8

static const char *const aiv[] = { "HCCL_OP_EXPANSION_MODE=AIV", "REPRISE_DEVICE_MEMORY=256M",
    NULL };
static const char *const host_ts[] = { "HCCL_OP_EXPANSION_MODE=HOST_TS",
    "REPRISE_DEVICE_MEMORY=256M", "HCCL_BUFFSIZE=4", NULL };

static void in_both_expansions(struct rank_job *job)
{
    job->timeout_s = soaking() ? 1200 : 60;
    job->env = aiv;
    assert_job(job, "AIV");
    job->env = host_ts;
    assert_job(job, "HOST_TS");
}

/* What a job repeats, and what it repeats it with. */
struct setting {
    struct rank *rank;
    uint32_t *block[BLOCKS]; /* WORDS each */
    uint64_t *signal;        /* 32 bytes */
    aclrtStream side;
    aclrtFuncHandle kernel;
    unsigned destroyed; /* destroy callbacks */
    aclmdlRI graph;     /* of all rounds, with its one task and group */
    aclmdlRITask task;
    aclrtTaskGrp group;
};

struct flat_job {
    void (*round)(struct setting *s, unsigned round);
    unsigned rounds;
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

static void open_setting(struct setting *s, struct rank *rank)
{
    *s = (struct setting){ .rank = rank };
    rank_open(rank);
    must(aclrtCreateStream(&s->side));
    for (unsigned b = 0; b < BLOCKS; b++) {
        must(aclrtMalloc((void **)&s->block[b], WORDS * 4, ACL_MEM_MALLOC_HUGE_FIRST));
        memset(s->block[b], 0, WORDS * 4);
    }
    must(aclrtMallocAlign32((void **)&s->signal, 32, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(s->signal, 0, 32);
    must(reprise_kernel_register("add_words", add_words, &s->kernel));
}

static void close_setting(struct setting *s)
{
    for (unsigned b = 0; b < BLOCKS; b++) {
        must(aclrtFree(s->block[b]));
    }
    must(aclrtFree(s->signal));
    must(aclrtDestroyStream(s->side));
    rank_close(s->rank);
}

static void flat_rank(struct rank *rank)
{
    const struct flat_job *job = rank->arg;
    struct setting s;
    struct usage early = { 0 };
    size_t early_device_bytes = 0;
    open_setting(&s, rank);
    for (unsigned round = 0; round < job->rounds; round++) {
        job->round(&s, round);
        if (round == job->rounds / 10) {
            early = usage_now();
            early_device_bytes = usage_device_bytes();
        }
    }
    usage_expect_flat(&early, "rounds");
    must_hold(usage_device_bytes() <= early_device_bytes, "device memory grew from %zu to %zu",
            early_device_bytes, usage_device_bytes());
    if (s.graph != NULL) {
        must(aclmdlRIDestroy(s.graph));
    }
    close_setting(&s);
}

static void run_flat(void (*round)(struct setting *s, unsigned round), unsigned rounds)
{
    const struct flat_job arg = { round, rounds };
    struct rank_job job = { .ranks = 2, .fn = flat_rank, .arg = &arg };
    in_both_expansions(&job);
}

static void all_reduce(struct setting *s, unsigned from, unsigned to, aclrtStream stream)
{
    must(HcclAllReduce(s->block[from], s->block[to], WORDS, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM,
            s->rank->comm, stream));
}

static void load(struct setting *s, unsigned round)
{
    for (unsigned i = 0; i < WORDS; i++) {
        s->block[0][i] = word(s->rank->id, round, i);
    }
}

static void check(const struct setting *s, unsigned block, unsigned round, uint32_t factor)
{
    for (unsigned i = 0; i < WORDS; i++) {
        must_hold(s->block[block][i] == factor * sum_of_words(s->rank->count, round, i),
                "round %u, block %u, word %u is wrong", round, block, i);
    }
}

// ---- Everything that test_flat.c leaves out ----

static void count_destroyed(void *arg)
{
    ++*(unsigned *)arg;
}

// A conditional with one arm that sums block 0 into block 1.
static void add_condition(struct setting *s)
{
    aclmdlRI graph = NULL, arm[2] = { NULL };
    aclmdlRICondHandle handle = NULL;
    must(aclmdlRICaptureGetInfo(s->rank->stream, NULL, &graph));
    must(aclmdlRICondHandleCreate(graph, 1, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &handle));
    const aclmdlRICondTaskParams params = {
        .handle = handle, .type = ACL_MODEL_RI_COND_TYPE_IF, .size = 2, .modelRIArray = arm
    };
    must(aclmdlRIAddCondTask(params, s->rank->stream, 0));
    must(aclmdlRICaptureToModelRIBegin(s->side, arm[0], RELAXED));
    all_reduce(s, 0, 1, s->side);
    must(aclmdlRICaptureEnd(s->side, NULL));
}

static void add_kernel(struct setting *s, unsigned from, unsigned to)
{
    struct add_args args = { s->block[from], s->block[to] };
    must(aclrtLaunchKernelWithHostArgs(
            s->kernel, 2, s->rank->stream, NULL, &args, sizeof(args), NULL, 0));
}

static void look_at_tasks(aclmdlRI graph)
{
    aclrtStream streams[8];
    uint32_t stream_count = 8;
    must(aclmdlRIGetStreams(graph, streams, &stream_count));
    for (uint32_t k = 0; k < stream_count; k++) {
        aclmdlRITask tasks[64];
        uint32_t task_count = 64;
        must(aclmdlRIGetTasksByStream(streams[k], tasks, &task_count));
        for (uint32_t t = 0; t < task_count; t++) {
            aclmdlRITaskType type;
            aclmdlRITaskParams params;
            uint32_t seq;
            must(aclmdlRITaskGetType(tasks[t], &type));
            must(aclmdlRITaskGetSeqId(tasks[t], &seq));
            if (type != ACL_MODEL_RI_TASK_DEFAULT) {
                must(aclmdlRITaskGetParams(tasks[t], &params));
            }
        }
    }
}

static void everything_else(struct setting *s, unsigned round)
{
    aclrtStream stream = s->rank->stream;
    aclrtStreamAttrValue cache = { .cacheOpInfoSwitch = 1 };
    aclrtNotify notify = NULL;
    aclrtEvent outside = NULL;
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = NULL;
    char name[64];
    must(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
    must(aclrtCreateEventExWithFlag(&outside, ACL_EVENT_SYNC));
    must(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_CACHE_OP_INFO, &cache));
    capture_begin(stream);
    must(aclmdlRICaptureGetInfo(stream, NULL, &graph));
    snprintf(name, sizeof(name), "round %u", round);
    must(aclmdlRISetName(graph, name));
    must(aclmdlRIDestroyRegisterCallback(graph, count_destroyed, &s->destroyed));
    add_condition(s);
    must(aclrtValueWait(s->signal, 1, ACL_STREAM_WAIT_VALUE_EQ, stream));
    must(aclrtCacheLastTaskOpInfo(name, sizeof(name)));
    must(aclrtCacheLastTaskExtendInfo("{}", 2));
    must(aclrtValueWrite(s->signal, 0, 0, stream));
    must(aclrtRecordNotify(notify, stream));
    must(aclrtWaitAndResetNotify(notify, stream, 0));
    must(aclmdlRICaptureTaskGrpBegin(stream));
    all_reduce(s, 0, 2, stream);
    must(aclmdlRICaptureTaskGrpEnd(stream, &group));
    add_kernel(s, 1, 2);
    must(aclrtRecordEventWithFlag(outside, stream, ACL_EVENT_RECORD_EXTERNAL));
    aclmdlRI ended = capture_end(stream);
    must_hold(ended == graph, "the graph has another handle at its end");
    must(aclmdlRICaptureTaskUpdateBegin(s->side, group));
    all_reduce(s, 0, 3, s->side);
    must(aclmdlRICaptureTaskUpdateEnd(s->side));
    must(aclrtSynchronizeStream(s->side));
    look_at_tasks(graph);
    must(aclmdlRIDebugJsonPrint(graph, "/dev/null", ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE));
    load(s, round);
    memset(s->block[2], 0, WORDS * 4);
    replay(graph, stream);
    must(aclrtValueWrite(s->signal, 1, 0, s->side));
    must(aclrtStreamWaitEvent(s->side, outside));
    must(aclrtSynchronizeStream(s->side));
    must(aclrtSynchronizeStream(stream));
    check(s, 1, round, 1);
    check(s, 2, round, 1); // of the kernel alone: the group's sum went to block 3
    check(s, 3, round, 1);
    must(aclmdlRIDestroy(graph));
    must_hold(s->destroyed == round + 1, "destroy callbacks ran %u times", s->destroyed);
    must(aclrtDestroyNotify(notify));
    must(aclrtDestroyEvent(outside));
}

Test(flat, graphs_with_everything_else_leave_nothing, .timeout = 300)
{
    run_flat(everything_else, soak_rounds(500, 10000));
}

// ---- One graph, changed over and over ----

static void open_changing(struct setting *s)
{
    aclrtStream lane = NULL;
    uint32_t one = 1;
    capture_begin(s->rank->stream);
    must(aclmdlRICaptureTaskGrpBegin(s->rank->stream));
    all_reduce(s, 0, 1, s->rank->stream);
    must(aclmdlRICaptureTaskGrpEnd(s->rank->stream, &s->group));
    s->graph = capture_end(s->rank->stream);
    must(aclmdlRIGetStreams(s->graph, &lane, &one));
    must(aclmdlRIGetTasksByStream(lane, &s->task, &one));
    must_hold(one == 1, "one collective is %u tasks", one);
}

static void change_by_params(struct setting *s, unsigned to)
{
    aclmdlRITaskParams params;
    must(aclmdlRITaskGetParams(s->task, &params));
    struct reprise_collective_args args =
            *(const struct reprise_collective_args *)params.kernelTaskParams.args;
    args.recvBuf = s->block[to];
    params.taskGrp = NULL;
    params.kernelTaskParams.args = &args;
    must(aclmdlRITaskSetParams(s->task, &params));
    must(aclmdlRIUpdate(s->graph));
}

// By its group or by its parameters, and replayed each time.
static void change(struct setting *s, unsigned round)
{
    const unsigned to = 1 + round % (BLOCKS - 1);
    if (s->graph == NULL) {
        open_changing(s);
    }
    if (round % 2 == 0) {
        must(aclmdlRICaptureTaskUpdateBegin(s->rank->stream, s->group));
        all_reduce(s, 0, to, s->rank->stream);
        must(aclmdlRICaptureTaskUpdateEnd(s->rank->stream));
    } else {
        change_by_params(s, to);
    }
    load(s, round);
    replay(s->graph, s->rank->stream);
    must(aclrtSynchronizeStream(s->rank->stream));
    check(s, to, round, 1);
}

Test(flat, changes_of_one_graph_leave_nothing, .timeout = 300)
{
    run_flat(change, soak_rounds(2000, 100000));
}

// Ever new counts are ever new task lists of HOST_TS. A list is kept as long as the graph has it,
// and the cache of a communicator holds a few hundred more.
#define LISTS_BYTES (512 * 1024)
#define COUNTS 3000

static void new_counts_rank(struct rank *rank)
{
    struct setting s;
    size_t early_bytes = 0;
    uint32_t *send = NULL;
    uint32_t *recv = NULL;
    open_setting(&s, rank);
    open_changing(&s);
    must(aclrtMalloc((void **)&send, COUNTS * 4, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMalloc((void **)&recv, COUNTS * 4, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(send, 1, COUNTS * 4);
    for (unsigned round = 0; round < COUNTS; round++) {
        const uint64_t count = 1 + round;
        must(aclmdlRICaptureTaskUpdateBegin(rank->stream, s.group));
        must(HcclAllReduce(send, recv, count, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, rank->comm,
                rank->stream));
        must(aclmdlRICaptureTaskUpdateEnd(rank->stream));
        replay(s.graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        must_hold(recv[count - 1] == 0x01010101u * rank->count, "count %llu: %x",
                (unsigned long long)count, recv[count - 1]);
        if (round == COUNTS / 3) {
            early_bytes = usage_now().heap_bytes;
        }
    }
    const size_t late_bytes = usage_now().heap_bytes;
    must_hold(late_bytes <= early_bytes + LISTS_BYTES, "the heap grew from %zu to %zu bytes",
            early_bytes, late_bytes);
    must(aclmdlRIDestroy(s.graph));
    must(aclrtFree(send));
    must(aclrtFree(recv));
    close_setting(&s);
}

Test(flat, updates_with_ever_new_counts_keep_few_lists, .timeout = 300)
{
    struct rank_job job = { .ranks = 2, .fn = new_counts_rank };
    in_both_expansions(&job);
}

// ---- Graphs built by hand ----

static void build(struct setting *s, unsigned round)
{
    aclrtStream bound = NULL;
    aclmdlRI graph = NULL;
    must(aclrtCreateStreamWithConfig(&bound, 0, ACL_STREAM_PERSISTENT));
    must(aclmdlRIBuildBegin(&graph, 0));
    must(aclmdlRIBindStream(graph, bound, ACL_MODEL_STREAM_FLAG_HEAD));
    all_reduce(s, 0, 1, bound);
    must(aclrtMemcpyAsync(
            s->block[2], WORDS * 4, s->block[1], WORDS * 4, ACL_MEMCPY_DEVICE_TO_DEVICE, bound));
    must(aclmdlRIEndTask(graph, bound));
    must(aclmdlRIBuildEnd(graph, NULL));
    load(s, round);
    must(aclmdlRIExecute(graph, 10000));
    check(s, 2, round, 1);
    must(aclmdlRIUnbindStream(graph, bound));
    must(aclmdlRIDestroy(graph));
    must(aclrtDestroyStream(bound));
}

Test(flat, built_graphs_leave_nothing, .timeout = 300)
{
    run_flat(build, soak_rounds(500, 10000));
}

// ---- Launches and eager calls without end ----

#define BURST 100

// Bursts of everything that is queued: what a queue grows by for one, it keeps for the next.
static void launch(struct setting *s, unsigned round)
{
    aclrtStream stream = s->rank->stream;
    aclrtEvent event = NULL;
    if (s->graph == NULL) {
        open_changing(s);
    }
    must(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    load(s, round);
    for (unsigned n = 0; n < BURST; n++) {
        replay(s->graph, stream);
        must(aclrtRecordEvent(event, stream));
        must(aclrtStreamWaitEvent(s->side, event));
        all_reduce(s, 1, 2, s->side);
        add_kernel(s, 1, 3);
        must(aclrtMemcpyAsync(s->block[4], WORDS * 4, s->block[1], WORDS * 4,
                ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    }
    must(aclrtSynchronizeStream(s->side));
    must(aclrtSynchronizeStream(stream));
    check(s, 1, round, 1);
    check(s, 2, round, s->rank->count);
    check(s, 4, round, 1);
    must(aclrtDestroyEvent(event));
}

Test(flat, launches_and_eager_calls_leave_nothing, .timeout = 300)
{
    run_flat(launch, soak_rounds(40, 1000));
}
