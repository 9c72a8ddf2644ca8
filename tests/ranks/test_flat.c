// Nothing grows: rounds of capture, replay and destroy, communicators, devices, graphs that stay
// alive, graphs of many streams, a million tasks. What is in use is measured after a tenth of the
// rounds, when caches and pools are full, and after all.
//
// R24 and R26 of the user reports; AlltoAll and connections to other nodes come with their issues.

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "support/rank_test.h"
#include "support/usage.h"

#define WORDS 500
#define BUFFER_BYTES (64 * 1024)

// With little device memory what is free of it does not depend on the machine.
static const char *const aiv[] = { "HCCL_OP_EXPANSION_MODE=AIV", "REPRISE_DEVICE_MEMORY=256M",
    NULL };
static const char *const host_ts[] = { "HCCL_OP_EXPANSION_MODE=HOST_TS",
    "REPRISE_DEVICE_MEMORY=256M", "HCCL_BUFFSIZE=4", NULL };

static void in_both_expansions(struct rank_job *job, const char *what)
{
    job->timeout_s = soaking() ? 1200 : 60;
    job->env = aiv;
    assert_job(job, "%s, AIV", what);
    job->env = host_ts;
    assert_job(job, "%s, HOST_TS", what);
}

static float *buffer_create(void)
{
    float *buffer = NULL;
    must(aclrtMalloc((void **)&buffer, BUFFER_BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(buffer, 0, BUFFER_BYTES);
    return buffer;
}

static void all_reduce(float *buffer, HcclComm comm, aclrtStream stream)
{
    must(HcclAllReduce(buffer, buffer, WORDS, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, comm, stream));
}

static void use_once(struct rank *rank, float *buffer)
{
    buffer[7] = (float)rank->id;
    all_reduce(buffer, rank->comm, rank->stream);
    must(aclrtSynchronizeStream(rank->stream));
    must_hold(buffer[7] == (float)(rank->count - 1), "wrong result");
}

// ---- Rounds of capture, replay and destroy ----

#define CALLS 10

static void count_call(void *counter)
{
    atomic_fetch_add((_Atomic unsigned *)counter, 1);
}

// A round leaves nothing behind of anything a capture can hold: operators of every kind, copies,
// fills, host functions, a stream and events that are made for it.
static aclmdlRI capture_everything(struct rank *rank, float *buffer, _Atomic unsigned *calls)
{
    const uint64_t part = WORDS / rank->count;
    aclrtStream side = NULL;
    aclrtEvent fork = NULL, join = NULL;
    must(aclrtCreateStream(&side));
    must(aclrtCreateEventExWithFlag(&fork, ACL_EVENT_SYNC));
    must(aclrtCreateEventExWithFlag(&join, ACL_EVENT_SYNC));
    capture_begin(rank->stream);
    for (unsigned k = 0; k + 4 < CALLS; k++) {
        all_reduce(buffer, rank->comm, rank->stream);
    }
    must(aclrtRecordEvent(fork, rank->stream));
    must(aclrtStreamWaitEvent(side, fork));
    must(aclrtMemsetAsync(buffer + 4096, 4096, 0, 4096, side));
    must(HcclAllGather(buffer, buffer + 4096, part, HCCL_DATA_TYPE_FP32, rank->comm, side));
    must(HcclReduceScatter(buffer, buffer + 8192, part, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX,
            rank->comm, rank->stream));
    must(HcclBroadcast(buffer, WORDS, HCCL_DATA_TYPE_FP32, 1, rank->comm, side));
    must(aclrtLaunchHostFunc(side, count_call, calls));
    must(aclrtRecordEvent(join, side));
    must(aclrtStreamWaitEvent(rank->stream, join));
    must(HcclBarrier(rank->comm, rank->stream));
    must(aclrtMemcpyAsync(
            buffer + 12288, 4096, buffer, 4096, ACL_MEMCPY_DEVICE_TO_DEVICE, rank->stream));
    aclmdlRI graph = capture_end(rank->stream);
    must(aclrtDestroyStream(side));
    must(aclrtDestroyEvent(fork));
    must(aclrtDestroyEvent(join));
    return graph;
}

static void rounds_rank(struct rank *rank)
{
    const unsigned rounds = *(const unsigned *)rank->arg;
    _Atomic unsigned calls = 0;
    struct usage early = { 0 };
    size_t early_device_bytes = 0;
    rank_open(rank);
    float *buffer = buffer_create();
    for (unsigned round = 0; round < rounds; round++) {
        aclmdlRI graph = capture_everything(rank, buffer, &calls);
        buffer[7] = (float)(rank->id + round);
        replay(graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        must_hold(buffer[12288 + 7] == (float)(rank->count - 1 + round), "round %u: %g", round,
                (double)buffer[12288 + 7]);
        must(aclmdlRIDestroy(graph));
        if (round == rounds / 10) {
            early = usage_now();
            early_device_bytes = usage_device_bytes();
        }
    }
    usage_expect_flat(&early, "captures");
    must_hold(usage_device_bytes() <= early_device_bytes, "device memory grew from %zu to %zu",
            early_device_bytes, usage_device_bytes());
    must_hold(atomic_load(&calls) == rounds, "%u host functions ran in %u rounds",
            atomic_load(&calls), rounds);
    must(aclrtFree(buffer));
    rank_close(rank);
}

Test(flat, r24_rounds_of_capture_replay_and_destroy_leave_nothing)
{
    const unsigned rounds = soak_rounds(1000, 10000);
    struct rank_job job = { .ranks = 2, .fn = rounds_rank, .arg = &rounds };
    in_both_expansions(&job, "processes");
    job.mode = RANK_THREADS;
    in_both_expansions(&job, "threads");
}

// Failed captures leave nothing either: abandoned forks, calls that are refused, wrong ends.
static void failures_rank(struct rank *rank)
{
    const unsigned rounds = *(const unsigned *)rank->arg;
    struct usage early = { 0 };
    rank_open(rank);
    float *buffer = buffer_create();
    for (unsigned round = 0; round < rounds; round++) {
        aclmdlRI graph = NULL;
        aclrtStream side = NULL;
        aclrtEvent fork = NULL;
        must(aclrtCreateStream(&side));
        must(aclrtCreateEventExWithFlag(&fork, ACL_EVENT_SYNC));
        capture_begin(rank->stream);
        all_reduce(buffer, rank->comm, rank->stream);
        must_be(aclrtMemcpy(buffer, 64, buffer + 100, 64, ACL_MEMCPY_DEVICE_TO_DEVICE),
                ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
        must(aclrtRecordEvent(fork, rank->stream));
        must(aclrtStreamWaitEvent(side, fork));
        all_reduce(buffer, rank->comm, side);
        if (round % 2 == 0) {
            must_be(aclmdlRICaptureEnd(rank->stream, &graph), ACL_ERROR_RT_STREAM_UNJOINED);
        } else {
            must_be(aclrtStreamWaitEvent(NULL, fork), ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT);
            must_be(aclmdlRICaptureEnd(rank->stream, &graph),
                    ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
        }
        must(aclrtDestroyStream(side));
        must(aclrtDestroyEvent(fork));
        if (round == rounds / 10) {
            early = usage_now();
        }
    }
    usage_expect_flat(&early, "failed captures");
    use_once(rank, buffer);
    must(aclrtFree(buffer));
    rank_close(rank);
}

Test(flat, captures_that_fail_leave_nothing)
{
    const unsigned rounds = soak_rounds(2000, 10000);
    struct rank_job job = { .ranks = 2, .fn = failures_rank, .arg = &rounds };
    in_both_expansions(&job, "processes");
}

// ---- Communicators and devices ----

static void communicators_rank(struct rank *rank)
{
    const unsigned rounds = *(const unsigned *)rank->arg;
    struct usage early = { 0 };
    size_t early_device_bytes = 0;
    must(aclrtSetDevice(rank->device));
    must(aclrtCreateStream(&rank->stream));
    float *buffer = buffer_create();
    for (unsigned round = 0; round < rounds; round++) {
        // Slots are used in turn; a root info is only taken once all have had the one before.
        rank_barrier(rank);
        must(rank_join_again(rank, round, &rank->comm));
        use_once(rank, buffer);
        must(HcclCommDestroy(rank->comm));
        if (round == rounds / 10) {
            rank_barrier(rank);
            early = usage_now();
            early_device_bytes = usage_device_bytes();
        }
    }
    rank_barrier(rank);
    usage_expect_flat(&early, "communicators");
    must_hold(usage_device_bytes() <= early_device_bytes, "device memory grew from %zu to %zu",
            early_device_bytes, usage_device_bytes());
    must(aclrtFree(buffer));
    must(aclrtDestroyStream(rank->stream));
    must(aclrtResetDevice(rank->device));
}

Test(flat, r24_communicators_leave_nothing)
{
    const unsigned rounds = soak_rounds(150, 1000);
    struct rank_job job = { .ranks = 2, .fn = communicators_rank, .arg = &rounds };
    in_both_expansions(&job, "processes");
    job.mode = RANK_THREADS;
    in_both_expansions(&job, "threads");
}

static void devices_rank(struct rank *rank)
{
    const unsigned rounds = *(const unsigned *)rank->arg;
    struct usage early = { 0 };
    for (unsigned round = 0; round < rounds; round++) {
        float *buffer = NULL;
        rank_barrier(rank);
        must(aclrtSetDevice(rank->device));
        must(aclrtCreateStream(&rank->stream));
        must(aclrtMalloc((void **)&buffer, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
        memset(buffer, 0, 1 << 20);
        must(rank_join_again(rank, round, &rank->comm));
        use_once(rank, buffer);
        must(aclrtFree(buffer));
        must(HcclCommDestroy(rank->comm));
        must(aclrtDestroyStream(rank->stream));
        must(aclrtResetDevice(rank->device));
        if (round == rounds / 5) {
            rank_barrier(rank);
            early = usage_now();
        }
    }
    rank_barrier(rank);
    usage_expect_flat(&early, "devices");
}

Test(flat, devices_leave_nothing)
{
    const unsigned rounds = soak_rounds(60, 500);
    struct rank_job job = { .ranks = 2, .fn = devices_rank, .arg = &rounds };
    assert_job(&job, "processes");
    job.mode = RANK_THREADS;
    assert_job(&job, "threads");
}

// ---- Graphs that stay ----

static aclmdlRI capture_all_reduces(struct rank *rank, float *buffer, HcclComm comm, unsigned calls)
{
    capture_begin(rank->stream);
    for (unsigned k = 0; k < calls; k++) {
        all_reduce(buffer, comm, rank->stream);
    }
    return capture_end(rank->stream);
}

#define ALIVE 300
#define BYTES_PER_CALL 1500 // of captured graphs, whichever the expansion

static void graphs_alive_rank(struct rank *rank)
{
    static aclmdlRI graph[ALIVE];
    rank_open(rank);
    float *buffer = buffer_create();
    must(aclmdlRIDestroy(capture_all_reduces(rank, buffer, rank->comm, CALLS)));
    const struct usage before = usage_now();
    for (unsigned g = 0; g < ALIVE; g++) {
        graph[g] = capture_all_reduces(rank, buffer, rank->comm, CALLS);
    }
    const struct usage now = usage_now();
    const size_t per_call = (now.resident_bytes - before.resident_bytes) / (ALIVE * CALLS);
    must_hold(per_call <= BYTES_PER_CALL, "a captured call costs %zu bytes", per_call);
    must_hold(now.descriptors <= before.descriptors + 2 && now.threads <= before.threads,
            "graphs take descriptors or threads");
    for (unsigned g = ALIVE; g >= 10; g -= 10) {
        replay(graph[g - 1], rank->stream);
    }
    must(aclrtSynchronizeStream(rank->stream));
    for (unsigned g = 0; g < ALIVE; g++) {
        must(aclmdlRIDestroy(graph[(g * 7) % ALIVE]));
    }
    must(aclrtFree(buffer));
    rank_close(rank);
}

Test(flat, r24_graphs_alive_cost_few_bytes_a_call)
{
    struct rank_job job = { .ranks = 2, .fn = graphs_alive_rank };
    in_both_expansions(&job, "processes");
}

// ---- No small ceiling on graphs ----

#define THOUSANDS 5000
#define LIVE_COMMS 4
#define MANY_CALLS 50

static void thousands_rank(struct rank *rank)
{
    const unsigned graphs = *(const unsigned *)rank->arg;
    aclmdlRI *graph = calloc(graphs, sizeof(aclmdlRI));
    HcclComm comm[LIVE_COMMS];
    must_hold(graph != NULL, "calloc");
    rank_open(rank);
    float *buffer = buffer_create();
    comm[0] = rank->comm;
    for (unsigned c = 1; c < LIVE_COMMS; c++) {
        must(rank_join(rank, c, rank->count, rank->id, NULL, &comm[c]));
    }
    const struct usage before = usage_now();
    for (unsigned g = 0; g < graphs; g++) {
        graph[g] = capture_all_reduces(rank, buffer, comm[g % LIVE_COMMS], MANY_CALLS);
    }
    const struct usage now = usage_now();
    must_hold(now.descriptors <= before.descriptors + 2 && now.threads <= before.threads,
            "graphs take descriptors or threads");
    for (unsigned g = 0; g < graphs; g += graphs / 25) {
        buffer[7] = (float)(rank->id + g);
        replay(graph[g], rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        must_hold(buffer[7] == (float)(rank->count - 1 + g), "graph %u is wrong", g);
    }
    for (unsigned g = 0; g < graphs; g++) {
        must(aclmdlRIDestroy(graph[g]));
    }
    free(graph);
    must(aclrtFree(buffer));
    for (unsigned c = 1; c < LIVE_COMMS; c++) {
        must(HcclCommDestroy(comm[c]));
    }
    rank_close(rank);
}

Test(flat, r26_five_thousand_graphs_of_fifty_calls_on_four_communicators)
{
    const unsigned graphs = THOUSANDS;
    struct rank_job job = { .ranks = 2, .fn = thousands_rank, .arg = &graphs };
    in_both_expansions(&job, "processes");
}

// Streams are what a device has a number of. Running out is told with the limit and takes nothing
// that was there.
#define STREAMS_TRIED 4096

static void out_of_streams_rank(struct rank *rank)
{
    static aclrtStream stream[STREAMS_TRIED];
    unsigned count = 0;
    aclError error = ACL_SUCCESS;
    char limit[16];
    rank_open(rank);
    float *buffer = buffer_create();
    aclmdlRI graph = capture_all_reduces(rank, buffer, rank->comm, CALLS);
    while (error == ACL_SUCCESS && count < STREAMS_TRIED) {
        error = aclrtCreateStream(&stream[count]);
        count += error == ACL_SUCCESS;
    }
    const char *text = rank_error_text();
    must_hold(error == ACL_ERROR_RT_NO_STREAM_RESOURCE, "after %u streams: %d: %s", count, error,
            text);
    snprintf(limit, sizeof(limit), "%u", count + 1); // and rank->stream
    must_hold(strstr(text, limit) != NULL, "the limit %s is not named: \"%s\"", limit, text);
    buffer[7] = (float)rank->id;
    replay(graph, rank->stream);
    must(aclrtSynchronizeStream(rank->stream));
    must_hold(buffer[7] == (float)(rank->count - 1), "the graph is wrong afterwards");
    must(aclmdlRIDestroy(graph));
    must(aclmdlRIDestroy(capture_all_reduces(rank, buffer, rank->comm, CALLS)));
    must(aclrtDestroyStream(stream[--count]));
    must(aclrtCreateStream(&stream[count++]));
    while (count > 0) {
        must(aclrtDestroyStream(stream[--count]));
    }
    use_once(rank, buffer);
    must(aclrtFree(buffer));
    rank_close(rank);
}

Test(flat, r26_running_out_of_streams_is_told_and_takes_nothing)
{
    const struct rank_job job = { .ranks = 2, .fn = out_of_streams_rank };
    assert_job(&job, "processes");
}

// ---- Graphs of many streams ----

#define MANY_STREAMS 1000

// A tree: stream k is forked from stream k / 2, and joins it back. Each counts its replays.
static aclmdlRI capture_tree(aclrtStream *stream, aclrtEvent *event, unsigned streams,
        uint32_t *count, const uint32_t *one)
{
    capture_begin(stream[0]);
    for (unsigned k = 1; k < streams; k++) {
        must(aclrtRecordEvent(event[k], stream[k / 2]));
        must(aclrtStreamWaitEvent(stream[k], event[k]));
        must(aclrtMemcpyAsync(
                &count[2 * k], 4, &count[2 * (k / 2)], 4, ACL_MEMCPY_DEVICE_TO_DEVICE, stream[k]));
        must(aclrtMemcpyAsync(
                &count[2 * k + 1], 4, one, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, stream[k]));
    }
    for (unsigned k = streams - 1; k >= 1; k--) {
        must(aclrtRecordEvent(event[k], stream[k]));
        must(aclrtStreamWaitEvent(stream[k / 2], event[k]));
    }
    return capture_end(stream[0]);
}

static void many_streams_rank(struct rank *rank)
{
    static aclrtStream stream[MANY_STREAMS];
    static aclrtEvent event[MANY_STREAMS];
    uint32_t *count = NULL;
    (void)rank;
    must(aclrtSetDevice(rank->device));
    must(aclrtMalloc((void **)&count, 8 * MANY_STREAMS + 64, ACL_MEM_MALLOC_HUGE_FIRST));
    uint32_t *one = &count[2 * MANY_STREAMS];
    for (unsigned k = 0; k < MANY_STREAMS; k++) {
        must(aclrtCreateStream(&stream[k]));
        must(aclrtCreateEventExWithFlag(&event[k], ACL_EVENT_SYNC));
    }
    struct usage early = { 0 };
    for (unsigned round = 0; round < 20; round++) {
        const unsigned streams = 1 + (round + 1) * (MANY_STREAMS - 1) / 20;
        memset(count, 0, 8 * MANY_STREAMS);
        aclmdlRI graph = capture_tree(stream, event, streams, count, one);
        count[0] = 1000 + round;
        *one = round + 1;
        replay(graph, stream[round]);
        must(aclrtSynchronizeStream(stream[round]));
        for (unsigned k = 1; k < streams; k++) {
            must_hold(count[2 * k] == 1000 + round && count[2 * k + 1] == round + 1,
                    "%u streams: stream %u copied %u and %u", streams, k, count[2 * k],
                    count[2 * k + 1]);
        }
        must(aclmdlRIDestroy(graph));
        early = round == 19 - 5 ? usage_now() : early;
    }
    must_hold(usage_now().threads <= early.threads, "streams of a graph take threads");
    for (unsigned k = 0; k < MANY_STREAMS; k++) {
        must(aclrtDestroyStream(stream[k]));
        must(aclrtDestroyEvent(event[k]));
    }
    must(aclrtFree(count));
    must(aclrtResetDevice(rank->device));
}

Test(flat, graphs_of_a_thousand_streams_run)
{
    const struct rank_job job = { .ranks = 1, .fn = many_streams_rank };
    assert_job(&job, "one rank");
}

// ---- A graph of a million tasks ----

#define MILLION 1000000
#define BIG_BLOCK 1024

// Copies that do not continue each other, so that each is a task of its own.
static void million_rank(struct rank *rank)
{
    const unsigned tasks = *(const unsigned *)rank->arg;
    uint32_t *block = NULL;
    must(aclrtSetDevice(rank->device));
    must(aclrtCreateStream(&rank->stream));
    must(aclrtMalloc((void **)&block, 4 * BIG_BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(block, 0, 4 * BIG_BLOCK);
    const size_t before = usage_now().resident_bytes;
    capture_begin(rank->stream);
    for (unsigned k = 0; k < tasks; k++) {
        must(aclrtMemcpyAsync(&block[(k + 1) % BIG_BLOCK], 4, &block[k % BIG_BLOCK], 4,
                ACL_MEMCPY_DEVICE_TO_DEVICE, rank->stream));
    }
    aclmdlRI graph = capture_end(rank->stream);
    const size_t now = usage_now().resident_bytes;
    must_hold(now <= before + (size_t)tasks * 256 + (4 << 20), "a task costs %zu bytes",
            (now - before) / tasks);
    for (unsigned round = 1; round <= 2; round++) {
        block[0] = round;
        replay(graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        must_hold(block[tasks % BIG_BLOCK] == round, "the last copy is wrong");
    }
    must(aclmdlRIDestroy(graph));
    must(aclrtFree(block));
    must(aclrtDestroyStream(rank->stream));
    must(aclrtResetDevice(rank->device));
}

Test(flat, a_graph_of_a_million_tasks_costs_at_most_256_bytes_each)
{
    const unsigned tasks = MILLION;
    const struct rank_job job = { .ranks = 1, .fn = million_rank, .arg = &tasks };
    assert_job(&job, "one rank");
}
