// Collectives in graphs that are built by hand: in order, inside loops, on streams
// that others start; and graphs with collectives that are stopped. Both expansions,
// ranks as processes and as threads.

#include "support/rank_test.h"

#include <stdlib.h>

#define WORKS(call) must(call)
#include "support/build_case.h"

static void run_ranks(rank_fn *fn, unsigned ranks)
{
    static const enum rank_mode modes[] = { RANK_PROCESSES, RANK_THREADS };
    for (size_t m = 0; m < 2; m++) {
        struct rank_job job = { .ranks = ranks, .mode = modes[m], .fn = fn, .timeout_s = 60 };
        job.env = AIV;
        assert_job(&job, "AIV, mode %d", (int)modes[m]);
        job.env = HOST_TS;
        assert_job(&job, "HOST_TS, mode %d", (int)modes[m]);
    }
}

static void run_and_wait(aclmdlRI graph, uint64_t round)
{
    if (round % 2 == 0) {
        must(aclmdlRIExecute(graph, 30000));
    } else {
        must(aclmdlRIExecuteAsync(graph, NULL));
        must(aclrtSynchronizeStream(NULL));
    }
}

// ---- in order ----

#define CALLS 8

static void open_call(struct rank_call *call, const struct rank *rank, unsigned k, size_t count)
{
    static const enum oracle_op ops[] = { ORACLE_ALL_REDUCE, ORACLE_BROADCAST, ORACLE_ALL_GATHER,
        ORACLE_REDUCE_SCATTER, ORACLE_REDUCE, ORACLE_ALLTOALL, ORACLE_SCATTER };
    const struct oracle_call what = { .op = ops[k % (sizeof(ops) / sizeof(ops[0]))],
        .dtype = RP_DTYPE_INT32,
        .count = count,
        .ranks = rank->count };
    rank_call_open(call, rank, &what,
            &(struct rank_call_options){ .seed = k + 1, .in_place = k % 2 == 0 });
}

// Three calls on each of two streams that start together, issued in turns: the communicator keeps
// them in order.
static void in_order_rank(struct rank *rank)
{
    struct rank_call call[CALLS];
    rank_open(rank);
    aclmdlRI graph = begin_graph();
    aclrtStream stream[2] = { bound_stream(graph, HEAD), bound_stream(graph, HEAD) };
    for (unsigned k = 0; k < CALLS; k++) {
        open_call(&call[k], rank, k, k < 3 ? 64 : 20000);
        must(rank_call_issue(&call[k], rank->comm, stream[k % 2]));
    }
    end_graph(graph, stream[0]);
    for (uint64_t round = 0; round < 200; round++) {
        for (unsigned k = 0; k < CALLS; k++) {
            rank_call_load(&call[k], round + k);
        }
        run_and_wait(graph, round);
        for (unsigned k = 0; k < CALLS; k++) {
            rank_call_check(&call[k], round + k, "built");
        }
    }
    must(aclmdlRIDestroy(graph));
    for (unsigned k = 0; k < CALLS; k++) {
        rank_call_close(&call[k]);
    }
    rank_close(rank);
}

Test(build_ranks, calls_on_two_streams_stay_in_order)
{
    run_ranks(in_order_rank, 2);
}

// ---- in a loop ----

#define PASSES 13

// A value that is summed over the ranks in every pass, in place: ranks^PASSES times as much.
struct loop {
    struct counter counter;
    struct labels labels;
    int64_t *value;
    size_t count;
    aclrtStream stream;
    aclmdlRI graph;
};

static struct loop make_loop(struct rank *rank, size_t count)
{
    struct loop loop = {
        .counter = make_counter(PASSES),
        .labels = make_labels(2),
        .value = device_bytes(count * sizeof(int64_t)),
        .count = count,
        .graph = begin_graph(),
    };
    loop.stream = bound_stream(loop.graph, HEAD);
    counter_start(loop.counter, loop.stream);
    WORKS(aclrtSetLabel(loop.labels.label[0], loop.stream));
    must(HcclAllReduce(loop.value, loop.value, count, HCCL_DATA_TYPE_INT64, HCCL_REDUCE_SUM,
            rank->comm, loop.stream));
    counter_step(loop.counter, loop.stream);
    switch_label(loop.labels, loop.counter.list, loop.stream);
    WORKS(aclrtSetLabel(loop.labels.label[1], loop.stream));
    end_graph(loop.graph, loop.stream);
    return loop;
}

static void load_loop(const struct loop *loop, const struct rank *rank, uint64_t round)
{
    for (size_t i = 0; i < loop->count; i++) {
        loop->value[i] = (int64_t)(round + i) * (rank->id + 1);
    }
}

static void check_loop(const struct loop *loop, const struct rank *rank, uint64_t round)
{
    int64_t factor = (int64_t)rank->count * (rank->count + 1) / 2; // the first pass
    for (unsigned p = 1; p < PASSES; p++) {
        factor *= (int64_t)rank->count;
    }
    for (size_t i = 0; i < loop->count; i++) {
        must_hold(loop->value[i] == (int64_t)(round + i) * factor, "round %lu, element %zu: %ld",
                (unsigned long)round, i, (long)loop->value[i]);
    }
}

static void free_loop(struct loop *loop)
{
    must(aclmdlRIDestroy(loop->graph));
    must(aclrtDestroyStream(loop->stream));
    must(aclrtFree(loop->value));
    free_labels(loop->labels);
    free_counter(loop->counter);
}

static void loop_rank(struct rank *rank)
{
    static const size_t counts[] = { 1, 1000, 40000 };
    rank_open(rank);
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        struct loop loop = make_loop(rank, counts[c]);
        for (uint64_t round = 0; round < (c == 2 ? 10u : 60u); round++) {
            load_loop(&loop, rank, round);
            run_and_wait(loop.graph, round);
            check_loop(&loop, rank, round);
        }
        free_loop(&loop);
    }
    rank_close(rank);
}

Test(build_ranks, a_collective_in_a_loop)
{
    run_ranks(loop_rank, 2);
}

// Destroyed at once: the run is waited for.
static void destroy_rank(struct rank *rank)
{
    rank_open(rank);
    for (uint64_t round = 0; round < 20; round++) {
        struct loop loop = make_loop(rank, 500);
        load_loop(&loop, rank, round);
        must(aclmdlRIExecuteAsync(loop.graph, rank->stream));
        const struct loop kept = loop;
        must(aclmdlRIDestroy(loop.graph));
        check_loop(&kept, rank, round);
        must(aclrtSynchronizeStream(rank->stream));
        must(aclrtDestroyStream(loop.stream));
        must(aclrtFree(loop.value));
        free_labels(loop.labels);
        free_counter(loop.counter);
    }
    rank_close(rank);
}

Test(build_ranks, destroy_waits_for_a_loop_of_collectives)
{
    run_ranks(destroy_rank, 2);
}

// ---- on streams that others start ----

// The head goes on with a call of its own while the stream that it started has one on the same
// communicator: one at a time, or both are wrong.
static void started_rank(struct rank *rank)
{
    struct rank_call call[4];
    rank_open(rank);
    aclmdlRI graph = begin_graph();
    aclrtStream head = bound_stream(graph, HEAD);
    aclrtStream side = bound_stream(graph, ON_DEMAND);
    for (unsigned k = 0; k < 4; k++) {
        open_call(&call[k], rank, k, 30000);
    }
    WORKS(aclrtActiveStream(side, head));
    must(rank_call_issue(&call[0], rank->comm, head));
    must(rank_call_issue(&call[1], rank->comm, side));
    must(rank_call_issue(&call[2], rank->comm, side));
    WORKS(aclrtActiveStream(side, head)); // waits until it has ended
    must(rank_call_issue(&call[3], rank->comm, head));
    end_graph(graph, head);
    for (uint64_t round = 0; round < 50; round++) {
        for (unsigned k = 0; k < 4; k++) {
            rank_call_load(&call[k], round + k);
        }
        run_and_wait(graph, round);
        rank_call_check(&call[0], round, "head");
        rank_call_check(&call[3], round + 3, "head, last");
        // Run twice, a broadcast and a gathering in place are what they are after one run.
        rank_call_check(&call[1], round + 1, "side");
        rank_call_check(&call[2], round + 2, "side, last");
    }
    must(aclmdlRIDestroy(graph));
    for (unsigned k = 0; k < 4; k++) {
        rank_call_close(&call[k]);
    }
    rank_close(rank);
}

Test(build_ranks, streams_that_run_beside_each_other_share_a_communicator)
{
    run_ranks(started_rank, 2);
}

// ---- stopped ----

static aclmdlRI endless_collectives(HcclComm comm, int64_t *value, uint32_t *zero)
{
    const struct labels labels = make_labels(1);
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    WORKS(aclrtSetLabel(labels.label[0], stream));
    must(HcclAllReduce(value, value, 1000, HCCL_DATA_TYPE_INT64, HCCL_REDUCE_MAX, comm, stream));
    switch_label(labels, zero, stream);
    end_graph(graph, stream);
    free_labels(labels);
    return graph;
}

// Every rank stops its own, or only rank 0 does: the others' communicator fails with it. A new one
// works, the old one can be destroyed.
static void stopped_rank(struct rank *rank)
{
    rank_open(rank);
    int64_t *value = device_bytes(1000 * sizeof(int64_t));
    uint32_t *zero = device_bytes(sizeof(uint32_t));
    for (unsigned round = 0; round < 4; round++) {
        HcclComm comm = NULL;
        must(rank_join(rank, round + 1, rank->count, rank->id, NULL, &comm));
        aclmdlRI graph = endless_collectives(comm, value, zero);
        must(aclmdlRIExecuteAsync(graph, rank->stream));
        must_be(aclrtSynchronizeStreamWithTimeout(rank->stream, 20), 507046);
        rank_barrier(rank); // all have seen that it goes on
        if (rank->id == 0 || round % 2 == 0) {
            must(aclmdlRIAbort(graph));
        }
        const int answer = aclrtSynchronizeStream(rank->stream);
        must_hold(answer != 0, "round %u: the stopped graph ended well", round);
        must_hold(rank->id != 0 || answer == 507023 || round % 2 == 0, "round %u: %d: %s", round,
                answer, rank_error_text());
        must(aclmdlRIDestroy(graph));
        must(HcclCommDestroy(comm));
        *value = rank->id;
        must(HcclAllReduce(
                value, value, 1, HCCL_DATA_TYPE_INT64, HCCL_REDUCE_SUM, rank->comm, rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
        must_hold(*value == rank->count * (rank->count - 1) / 2, "the sum is %ld", (long)*value);
    }
    rank_close(rank);
}

Test(build_ranks, an_endless_loop_of_collectives_is_stopped)
{
    run_ranks(stopped_rank, 2);
}
