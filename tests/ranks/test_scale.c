// No small ceiling: thousands of graphs alive, more streams and events than the chips have, graphs
// of very many streams, graphs of a million tasks; and what all of it costs.
//
// R26 and the bytes of R24 of the user reports.

#include <stdlib.h>
#include <string.h>

#include "support/flat_case.h"
#include "support/rank_test.h"
#include "support/usage.h"

#define CALLS 10

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
#define BYTES_PER_CALL 700 // with its share of a graph of ten, whichever the expansion

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

Test(scale, r24_graphs_alive_cost_few_bytes_a_call)
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
    buffer[7] = (float)rank->id;
    for (unsigned g = 0; g < graphs; g += soak_rounds(100, 1)) { // and many of them in flight
        replay(graph[g], rank->stream);
    }
    must(aclrtSynchronizeStream(rank->stream));
    must_hold(buffer[7] == (float)(rank->count - 1), "graphs in flight are wrong");
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

Test(scale, r26_five_thousand_graphs_of_fifty_calls_on_four_communicators)
{
    const unsigned graphs = THOUSANDS;
    struct rank_job job = { .ranks = 2, .fn = thousands_rank, .arg = &graphs };
    in_both_expansions(&job, "processes");
}

// Where a limit is set, reaching it is told with the limit and takes nothing that was there.
#define LIMIT 64

static void out_of_streams_rank(struct rank *rank)
{
    aclrtStream stream[LIMIT];
    unsigned count = 0;
    aclError error = ACL_SUCCESS;
    rank_open(rank);
    float *buffer = buffer_create();
    aclmdlRI graph = capture_all_reduces(rank, buffer, rank->comm, CALLS);
    while (error == ACL_SUCCESS && count < LIMIT) {
        error = aclrtCreateStream(&stream[count]);
        count += error == ACL_SUCCESS;
    }
    const char *text = rank_error_text();
    must_hold(error == ACL_ERROR_RT_NO_STREAM_RESOURCE && count == LIMIT - 1,
            "after %u streams and the rank's: %d: %s", count, error, text);
    must_hold(strstr(text, "64") != NULL && strstr(text, "REPRISE_STREAM_LIMIT") != NULL,
            "limit and setting are not named: \"%s\"", text);
    buffer[7] = (float)rank->id;
    replay(graph, rank->stream);
    must(aclrtSynchronizeStream(rank->stream));
    must_hold(buffer[7] == (float)(rank->count - 1), "the graph is wrong afterwards");
    must(aclmdlRIDestroy(graph));
    must(aclmdlRIDestroy(capture_all_reduces(rank, buffer, rank->comm, CALLS)));
    must(aclrtDestroyStream(stream[--count])); // makes room again
    must(aclrtCreateStream(&stream[count++]));
    while (count > 0) {
        must(aclrtDestroyStream(stream[--count]));
    }
    use_once(rank, buffer);
    must(aclrtFree(buffer));
    rank_close(rank);
}

Test(scale, r26_a_limit_of_streams_is_told_and_takes_nothing)
{
    const struct rank_job job = {
        .ranks = 2, .fn = out_of_streams_rank, .env = ENV("REPRISE_STREAM_LIMIT=64")
    };
    assert_job(&job, "processes");
}

// Without one there are more than the chips have.
static void many_streams_and_events_rank(struct rank *rank)
{
    static aclrtStream stream[5000];
    static aclrtEvent event[70000];
    must(aclrtSetDevice(rank->device));
    for (unsigned k = 0; k < 5000; k++) {
        must(aclrtCreateStream(&stream[k]));
    }
    for (unsigned k = 0; k < 70000; k++) {
        must(aclrtCreateEventExWithFlag(&event[k], ACL_EVENT_SYNC));
    }
    must(aclrtRecordEvent(event[69999], stream[4999]));
    must(aclrtSynchronizeEvent(event[69999]));
    for (unsigned k = 0; k < 70000; k++) {
        must(aclrtDestroyEvent(event[k]));
    }
    for (unsigned k = 0; k < 5000; k++) {
        must(aclrtDestroyStream(stream[k]));
    }
    must(aclrtResetDevice(rank->device));
}

Test(scale, r26_streams_and_events_have_no_small_ceiling)
{
    const struct rank_job job = { .ranks = 1, .fn = many_streams_and_events_rank };
    assert_job(&job, "one rank");
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

Test(scale, graphs_of_a_thousand_streams_run)
{
    const struct rank_job job = { .ranks = 1, .fn = many_streams_rank };
    assert_job(&job, "one rank");
}

// Collectives on every stream, so many that the freeze keeps no account of what each lane knows of
// each other: call order is kept all the same.
#define WIDE_MAX 1900
#define WIDE_WORDS 4
#define WIDE_CALLS 2

static aclmdlRI capture_wide(struct rank *rank, const aclrtStream *side, const aclrtEvent *event,
        uint32_t *data, unsigned wide)
{
    capture_begin(rank->stream);
    must(aclrtRecordEvent(event[0], rank->stream));
    for (unsigned k = 0; k < wide; k++) {
        must(aclrtStreamWaitEvent(side[k], event[0]));
    }
    for (unsigned call = 0; call < WIDE_CALLS; call++) {
        for (unsigned k = 0; k < wide; k++) {
            uint32_t *from = data + k * WIDE_WORDS;
            must(HcclAllReduce(from, from + WIDE_WORDS, WIDE_WORDS, HCCL_DATA_TYPE_UINT32,
                    HCCL_REDUCE_SUM, rank->comm, side[k]));
        }
    }
    for (unsigned k = 0; k < wide; k++) {
        must(aclrtRecordEvent(event[k], side[k]));
        must(aclrtStreamWaitEvent(rank->stream, event[k]));
    }
    return capture_end(rank->stream);
}

// Call k sums link k of a chain into link k + 1, on stream k, all of it twice.
static void wide_rank(struct rank *rank)
{
    static aclrtStream side[WIDE_MAX];
    static aclrtEvent event[WIDE_MAX];
    const unsigned wide = *(const unsigned *)rank->arg;
    uint32_t *data = NULL;
    rank_open(rank);
    must(aclrtMalloc(
            (void **)&data, (wide + 1) * WIDE_WORDS * sizeof(*data), ACL_MEM_MALLOC_HUGE_FIRST));
    for (unsigned k = 0; k < wide; k++) {
        must(aclrtCreateStream(&side[k]));
        must(aclrtCreateEventExWithFlag(&event[k], ACL_EVENT_SYNC));
    }
    aclmdlRI graph = capture_wide(rank, side, event, data, wide);
    for (unsigned round = 0; round < 2; round++) {
        for (size_t i = 0; i < WIDE_WORDS; i++) {
            data[i] = word(rank->id, round, i);
        }
        replay(graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        for (size_t i = 0; i < WIDE_WORDS; i++) {
            uint32_t expected = sum_of_words(rank->count, round, i);
            for (unsigned k = 1; k <= wide; k++) {
                must_hold(data[k * WIDE_WORDS + i] == expected, "round %u: link %u is wrong", round,
                        k);
                expected *= rank->count;
            }
        }
    }
    must(aclmdlRIDestroy(graph));
    for (unsigned k = 0; k < wide; k++) {
        must(aclrtDestroyStream(side[k]));
        must(aclrtDestroyEvent(event[k]));
    }
    must(aclrtFree(data));
    rank_close(rank);
}

Test(scale, graphs_of_collectives_on_very_many_streams_keep_call_order)
{
    static const unsigned streams[] = { WIDE_MAX, 150 };
    for (unsigned i = 0; i < 2; i++) {
        struct rank_job job = { .ranks = 1 + 2 * i, .fn = wide_rank, .arg = &streams[i] };
        in_both_expansions(&job, "processes");
    }
}

// ---- A graph of a million tasks ----

#define MILLION 1000000
#define BIG_BLOCK 1024
#define TASK_BYTES 256
#define SLACK_BYTES ((size_t)4 << 20)

// A tenth of a million are all-reduces, of a communicator of one rank; the copies do not continue
// each other, so that each is a task of its own. Both kinds alone too.
static void million_rank(struct rank *rank)
{
    const unsigned reduces = *(const unsigned *)rank->arg; // every so manieth; 0: none
    uint32_t *block = NULL;
    rank_open(rank);
    must(aclrtMalloc((void **)&block, 4 * BIG_BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(block, 0, 4 * BIG_BLOCK);
    const size_t before = usage_now().resident_bytes;
    capture_begin(rank->stream);
    for (unsigned k = 0; k < MILLION; k++) {
        uint32_t *from = &block[k % BIG_BLOCK], *to = &block[(k + 1) % BIG_BLOCK];
        if (reduces != 0 && k % reduces == 0) {
            must(HcclAllReduce(
                    from, to, 1, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, rank->comm, rank->stream));
        } else {
            must(aclrtMemcpyAsync(to, 4, from, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, rank->stream));
        }
    }
    aclmdlRI graph = capture_end(rank->stream);
    const size_t now = usage_now().resident_bytes;
    must_hold(now <= before + (size_t)MILLION * TASK_BYTES + SLACK_BYTES, "a task costs %zu bytes",
            (now - before) / MILLION);
    for (unsigned round = 1; round <= 2; round++) {
        block[0] = round;
        replay(graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        must_hold(block[MILLION % BIG_BLOCK] == round, "the last task is wrong");
    }
    must(aclmdlRIDestroy(graph));
    must(aclrtFree(block));
    rank_close(rank);
}

Test(scale, a_graph_of_a_million_tasks_costs_at_most_256_bytes_each)
{
    static const unsigned every[] = { 0, 1, 10 };
    for (size_t i = 0; i < 3; i++) {
        struct rank_job job = { .ranks = 1, .fn = million_rank, .arg = &every[i], .env = aiv };
        assert_job(&job, "AIV, one in %u is a collective", every[i]);
        if (every[i] == 1) {
            job.env = host_ts;
            assert_job(&job, "HOST_TS, all are collectives");
        }
    }
}
