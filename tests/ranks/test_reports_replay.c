// Replay as users meet it: ranks that disagree on replay or eager, graphs that share one
// communicator and are launched from several streams, data that must be of the start and not of
// the capture.
//
// R14, R17 and R20 of the user reports. R11 is in test_replay.c; R13, R15, R19 and the rest of R14
// in test_rank_order.c, by their names. AlltoAll, Scatter, Gather and Reduce, and two nodes, come
// with their issues.

#include <stdlib.h>

#include "support/rank_test.h"

#define KIB UINT64_C(1024)

static void in_both_expansions(struct rank_job *job)
{
    job->env = AIV;
    assert_job(job, "AIV, %u ranks", job->ranks);
    job->env = HOST_TS;
    assert_job(job, "HOST_TS, %u ranks", job->ranks);
}

// ---- Ranks that do not run the same graph ----

// One rank destroys its graph and captures anew, with other buffers; the others replay the old one.
// What was frozen of that rank's addresses must not be used.
static void captured_anew_rank(struct rank *rank)
{
    const unsigned rounds = *(const unsigned *)rank->arg;
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_INT32, .count = 30000, .ranks = rank->count
    };
    struct rank_call call, filler;
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .seed = 1, .versions = 2 });
    capture_begin(rank->stream);
    must(rank_call_issue(&call, rank->comm, rank->stream));
    must(rank_call_issue(&call, rank->comm, rank->stream));
    aclmdlRI graph = capture_end(rank->stream);
    for (unsigned round = 0; round < rounds; round++) {
        if (round > 0 && round % rank->count == rank->id) {
            must(aclmdlRIDestroy(graph));
            rank_call_close(&call);
            rank_call_open(&filler, rank, &what,
                    &(struct rank_call_options){ .seed = 99, .versions = 1 }); // takes the place
            rank_call_open(&call, rank, &what,
                    &(struct rank_call_options){ .seed = 1, .versions = 2, .skew = round % 64 });
            rank_call_close(&filler);
            capture_begin(rank->stream);
            must(rank_call_issue(&call, rank->comm, rank->stream));
            must(rank_call_issue(&call, rank->comm, rank->stream));
            graph = capture_end(rank->stream);
        }
        rank_call_load(&call, round);
        replay(graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(&call, round, "after a rank captured anew");
    }
    must(aclmdlRIDestroy(graph));
    rank_call_close(&call);
    rank_close(rank);
}

Test(reports, r14_a_graph_captured_anew_matches_the_others_old_ones, .timeout = 120)
{
    const unsigned rounds = soak_rounds(40, 2000);
    struct rank_job job = { .ranks = 4, .fn = captured_anew_rank, .arg = &rounds };
    in_both_expansions(&job);
    job.mode = RANK_MIXED;
    job.env = AIV;
    assert_job(&job, "AIV, processes of two threads");
}

// Ranks 0 and 1 replay, ranks 2 and 3 call eagerly, each round the other way around, while all
// agree on the sequence of operators: a graph of three against three calls, or against one call
// and a graph of the other two.
static void split_rank(struct rank *rank)
{
    struct rank_call call[3];
    aclmdlRI whole = NULL, rest = NULL;
    rank_open(rank);
    for (unsigned k = 0; k < 3; k++) {
        const struct oracle_call what = { .op = k == 1 ? ORACLE_BROADCAST : ORACLE_ALL_REDUCE,
            .dtype = RP_DTYPE_INT32,
            .count = k == 0 ? 1024 : 20,
            .root = 3,
            .ranks = rank->count };
        rank_call_open(&call[k], rank, &what, &(struct rank_call_options){ .seed = k });
    }
    for (unsigned g = 0; g < 2; g++) {
        capture_begin(rank->stream);
        for (unsigned k = g; k < 3; k++) {
            must(rank_call_issue(&call[k], rank->comm, rank->stream));
        }
        *(g == 0 ? &whole : &rest) = capture_end(rank->stream);
    }
    for (unsigned round = 0; round < 100; round++) {
        for (unsigned k = 0; k < 3; k++) {
            rank_call_load(&call[k], round + k);
        }
        switch ((rank->id / 2 + round) % 3) {
        case 0:
            replay(whole, rank->stream);
            break;
        case 1:
            for (unsigned k = 0; k < 3; k++) {
                must(rank_call_issue(&call[k], rank->comm, rank->stream));
            }
            break;
        default:
            must(rank_call_issue(&call[0], rank->comm, rank->stream));
            replay(rest, rank->stream);
        }
        must(aclrtSynchronizeStream(rank->stream));
        for (unsigned k = 0; k < 3; k++) {
            rank_call_check(&call[k], round + k, "eager against replay");
        }
    }
    must(aclmdlRIDestroy(whole));
    must(aclmdlRIDestroy(rest));
    for (unsigned k = 0; k < 3; k++) {
        rank_call_close(&call[k]);
    }
    rank_close(rank);
}

Test(reports, r14_matching_is_by_sequence_however_graphs_are_cut, .timeout = 60)
{
    struct rank_job job = { .ranks = 4, .fn = split_rank };
    in_both_expansions(&job);
}

// ---- A replay against what does not match it ----

enum {
    THIS_GRAPH,  // what ranks 0 to 2 replay: 3 all-reduces of 1024
    OTHER_GRAPH, // a broadcast comes second
    EAGER,       // the second call has 1000 elements
    OTHER_SIDES
};

static const struct {
    const char *what;
    const char *common_word;
    const char *odd_word;
} sides[OTHER_SIDES] = {
    [OTHER_GRAPH] = { "another graph", "AllReduce #2, count 1024", "Broadcast #2, count 1024" },
    [EAGER] = { "eager calls", "AllReduce #2, count 1024", "AllReduce #2, count 1000" },
};

static aclError run_side(struct rank *rank, uint8_t *send, uint8_t *recv, int side)
{
    aclmdlRI graph = NULL;
    if (side != EAGER) {
        capture_begin(rank->stream);
    }
    HcclResult result = HCCL_SUCCESS;
    for (unsigned k = 0; k < 3 && result == HCCL_SUCCESS; k++) {
        if (k == 1 && side == OTHER_GRAPH) {
            result = HcclBroadcast(recv, 1024, HCCL_DATA_TYPE_FP32, 0, rank->comm, rank->stream);
        } else {
            result = HcclAllReduce(send, recv, k == 1 && side == EAGER ? 1000 : 1024,
                    HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, rank->comm, rank->stream);
        }
    }
    if (side != EAGER) {
        must(result);
        graph = capture_end(rank->stream);
        rank_barrier(rank);
        replay(graph, rank->stream);
    } else {
        rank_barrier(rank);
    }
    const aclError error =
            result == HCCL_SUCCESS ? aclrtSynchronizeStream(rank->stream) : (aclError)result;
    if (graph != NULL) {
        must(aclmdlRIDestroy(graph));
    }
    return error;
}

static void unmatched_rank(struct rank *rank)
{
    const int odd = *(const int *)rank->arg;
    uint8_t *send = NULL, *recv = NULL;
    HcclResult later = HCCL_SUCCESS;
    rank_open(rank);
    must(aclrtMalloc((void **)&send, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMalloc((void **)&recv, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    (void)rank_error_text();
    const aclError error = run_side(rank, send, recv, rank->id == 3 ? odd : THIS_GRAPH);
    const char *text = rank_error_text();
    must_hold(error == ACL_ERROR_RT_INTERNAL_ERROR || error == (aclError)HCCL_E_PARA,
            "against %s: %d: %s", sides[odd].what, error, text);
    must_hold(strstr(text, sides[odd].common_word) != NULL &&
                      strstr(text, sides[odd].odd_word) != NULL,
            "against %s, not both sides are named: \"%s\"", sides[odd].what, text);
    must_hold(strstr(text, " of graph ") != NULL, "against %s, the graph is not named: \"%s\"",
            sides[odd].what, text);
    must(HcclGetCommAsyncError(rank->comm, &later));
    must_hold(later == HCCL_E_PARA, "the asynchronous error is %d", (int)later);
    must(aclrtFree(send));
    must(aclrtFree(recv));
    rank_close(rank);
}

Test(reports, r14_a_replay_that_does_not_match_is_told_with_both_sides, .timeout = 60)
{
    for (int odd = OTHER_GRAPH; odd < OTHER_SIDES; odd++) {
        struct rank_job job = { .ranks = 4, .fn = unmatched_rank, .arg = &odd };
        in_both_expansions(&job);
    }
}

// ---- Four graphs of one communicator, launched from four streams ----

enum {
    GRAPHS = 4,
    REDUCES = 32,
    GATHERS = 4,
    REDUCE_BYTES = 20 * 1024,
    GATHER_BYTES = 500 * 1024, // of the whole output
    CALLS = REDUCES + GATHERS,
};

struct shared_graph {
    aclmdlRI graph;
    aclrtStream stream;
    uint8_t *reduce_in;  // REDUCE_BYTES, a byte of this rank and round all over
    uint8_t *reduce_out; // [REDUCES][REDUCE_BYTES]
    uint8_t *gather_in;  // a rank's part of GATHER_BYTES
    uint8_t *gather_out; // [GATHERS][GATHER_BYTES]
    uint8_t *seen;       // pinned, [rounds][CALLS][2]: the first and the last byte of every output
};

// Without a host synchronisation inputs are filled, and outputs looked at, on the graph's stream.
static void shared_open(
        struct rank *rank, struct shared_graph *s, unsigned rounds, uint64_t reduce_count)
{
    const uint64_t part = GATHER_BYTES / rank->count;
    const aclrtMemMallocPolicy policy = ACL_MEM_MALLOC_HUGE_FIRST;
    must(aclrtCreateStream(&s->stream));
    must(aclrtMalloc((void **)&s->reduce_in, REDUCE_BYTES, policy));
    must(aclrtMalloc((void **)&s->reduce_out, REDUCES * REDUCE_BYTES, policy));
    must(aclrtMalloc((void **)&s->gather_in, part, policy));
    must(aclrtMalloc((void **)&s->gather_out, GATHERS * GATHER_BYTES, policy));
    must(aclrtMallocHost((void **)&s->seen, (size_t)rounds * CALLS * 2));
    memset(s->seen, 0xee, (size_t)rounds * CALLS * 2);
    capture_begin(s->stream);
    for (unsigned k = 0; k < CALLS; k++) {
        if (k % 9 == 8) {
            must(HcclAllGather(s->gather_in, s->gather_out + k / 9 * GATHER_BYTES, part,
                    HCCL_DATA_TYPE_INT8, rank->comm, s->stream));
        } else {
            must(HcclAllReduce(s->reduce_in, s->reduce_out + (k - k / 9) * REDUCE_BYTES,
                    reduce_count, HCCL_DATA_TYPE_UINT8, HCCL_REDUCE_SUM, rank->comm, s->stream));
        }
    }
    s->graph = capture_end(s->stream);
}

static void shared_close(struct shared_graph *s)
{
    must(aclmdlRIDestroy(s->graph));
    must(aclrtFree(s->reduce_in));
    must(aclrtFree(s->reduce_out));
    must(aclrtFree(s->gather_in));
    must(aclrtFree(s->gather_out));
    must(aclrtFreeHost(s->seen));
    must(aclrtDestroyStream(s->stream));
}

static uint8_t input_byte(unsigned rank, unsigned graph, unsigned round)
{
    return (uint8_t)(1 + rank * 17 + graph * 5 + round * 3);
}

// One column of bytes out of all outputs of a kind.
static void look(uint8_t *seen, const uint8_t *outputs, size_t pitch, size_t at, unsigned count,
        aclrtStream stream)
{
    must(aclrtMemcpy2dAsync(
            seen, 2, outputs + at, pitch, 1, count, ACL_MEMCPY_DEVICE_TO_HOST, stream));
}

static void shared_launch(
        const struct rank *rank, const struct shared_graph *s, unsigned graph, unsigned round)
{
    const size_t part = GATHER_BYTES / rank->count;
    const int byte = input_byte(rank->id, graph, round);
    uint8_t *seen = s->seen + (size_t)round * CALLS * 2;
    must(aclrtMemsetAsync(s->reduce_in, REDUCE_BYTES, byte, REDUCE_BYTES, s->stream));
    must(aclrtMemsetAsync(s->gather_in, part, byte, part, s->stream));
    replay(s->graph, s->stream);
    look(seen, s->reduce_out, REDUCE_BYTES, 0, REDUCES, s->stream);
    look(seen + 1, s->reduce_out, REDUCE_BYTES, REDUCE_BYTES - 1, REDUCES, s->stream);
    look(seen + REDUCES * 2, s->gather_out, GATHER_BYTES, 0, GATHERS, s->stream);
    look(seen + REDUCES * 2 + 1, s->gather_out, GATHER_BYTES, GATHER_BYTES - 1, GATHERS, s->stream);
}

static void shared_check(
        const struct rank *rank, const struct shared_graph *s, unsigned graph, unsigned rounds)
{
    for (unsigned round = 0; round < rounds; round++) {
        const uint8_t *seen = s->seen + (size_t)round * CALLS * 2;
        const uint8_t last = input_byte(rank->count - 1, graph, round);
        uint8_t sum = 0;
        for (unsigned r = 0; r < rank->count; r++) {
            sum = (uint8_t)(sum + input_byte(r, graph, round));
        }
        for (unsigned k = 0; k < CALLS; k++) {
            const uint8_t first = k < REDUCES ? sum : input_byte(0, graph, round);
            const uint8_t end = k < REDUCES ? sum : last;
            must_hold(seen[2 * k] == first && seen[2 * k + 1] == end,
                    "round %u, graph %u, output %u: %u and %u instead of %u and %u", round, graph,
                    k, seen[2 * k], seen[2 * k + 1], first, end);
        }
    }
}

static void shared_rank(struct rank *rank)
{
    const unsigned rounds = *(const unsigned *)rank->arg;
    struct shared_graph s[GRAPHS];
    rank_open(rank);
    for (unsigned g = 0; g < GRAPHS; g++) {
        shared_open(rank, &s[g], rounds, REDUCE_BYTES);
    }
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned g = 0; g < GRAPHS; g++) {
            const unsigned turn = (g + round) % GRAPHS; // the same on all ranks
            shared_launch(rank, &s[turn], turn, round);
        }
    }
    must(aclrtSynchronizeDevice());
    for (unsigned g = 0; g < GRAPHS; g++) {
        shared_check(rank, &s[g], g, rounds);
        shared_close(&s[g]);
    }
    rank_close(rank);
}

Test(reports, r17_graphs_of_one_communicator_on_four_streams_finish_and_are_exact, .timeout = 120)
{
    const unsigned rounds = soak_rounds(15, 200);
    struct rank_job job = { .ranks = 4, .fn = shared_rank, .arg = &rounds };
    in_both_expansions(&job);
    job.mode = RANK_THREADS;
    job.env = AIV;
    assert_job(&job, "AIV, threads");
}

// Each rank begins with another graph. The graphs' counts differ, so what meets does not match, and
// every rank is told of the two calls.
static void rotated_rank(struct rank *rank)
{
    char own[64];
    struct shared_graph s[GRAPHS];
    rank_open(rank);
    for (unsigned g = 0; g < GRAPHS; g++) {
        shared_open(rank, &s[g], 1, REDUCE_BYTES - g);
    }
    (void)rank_error_text();
    for (unsigned g = 0; g < GRAPHS; g++) {
        const unsigned turn = (g + rank->id) % GRAPHS;
        const aclError error = aclmdlRIExecuteAsync(s[turn].graph, s[turn].stream);
        must_hold(error == ACL_SUCCESS || error == ACL_ERROR_RT_INTERNAL_ERROR, "launch: %d: %s",
                error, rank_error_text());
    }
    const aclError error = aclrtSynchronizeStream(s[rank->id].stream);
    const char *text = rank_error_text();
    must_hold(error == ACL_ERROR_RT_INTERNAL_ERROR, "the first graph answers %d: %s", error, text);
    snprintf(own, sizeof(own), "AllReduce #1, count %u,", REDUCE_BYTES - rank->id);
    const char *one = strstr(text, "AllReduce #1, count");
    must_hold(strstr(text, own) != NULL && strstr(one + 1, "AllReduce #1, count") != NULL,
            "not both calls are named: \"%s\"", text);
    for (unsigned g = 0; g < GRAPHS; g++) {
        (void)aclrtSynchronizeStream(s[g].stream);
        shared_close(&s[g]);
    }
    rank_close(rank);
}

Test(reports, r17_graphs_in_another_order_on_each_rank_are_told, .timeout = 60)
{
    struct rank_job job = { .ranks = 4, .fn = rotated_rank };
    in_both_expansions(&job);
}

// The same graphs with equal shapes: what meets matches, in the communicator's sequence, so the
// first graph of one rank is summed with the first of another, whichever it is.
static void rotated_alike_rank(struct rank *rank)
{
    struct shared_graph s[GRAPHS];
    rank_open(rank);
    for (unsigned g = 0; g < GRAPHS; g++) {
        shared_open(rank, &s[g], 1, REDUCE_BYTES);
    }
    for (unsigned g = 0; g < GRAPHS; g++) {
        const unsigned turn = (g + rank->id) % GRAPHS;
        shared_launch(rank, &s[turn], g, 0); // the data tells the place in the order
    }
    must(aclrtSynchronizeDevice());
    for (unsigned g = 0; g < GRAPHS; g++) {
        const unsigned turn = (g + rank->id) % GRAPHS;
        shared_check(rank, &s[turn], g, 1);
    }
    for (unsigned g = 0; g < GRAPHS; g++) {
        shared_close(&s[g]);
    }
    rank_close(rank);
}

Test(reports, r17_graphs_alike_in_another_order_match_by_sequence, .timeout = 60)
{
    struct rank_job job = { .ranks = 4, .fn = rotated_alike_rank };
    in_both_expansions(&job);
}

// ---- Nothing of the capture's time is in a replay ----

enum { ROOTED = 4, FRESH = ROOTED + 3 };

// A broadcast of every root and one of each other operator, with data in the buffers at the
// capture, other data before the first start, and new data at each start.
static void fresh_rank(struct rank *rank)
{
    const size_t count = *(const size_t *)rank->arg;
    struct rank_call call[FRESH];
    rank_open(rank);
    for (unsigned k = 0; k < FRESH; k++) {
        const struct oracle_call what = { .op = k < ROOTED ? ORACLE_BROADCAST
                                                           : (enum oracle_op)(k - ROOTED),
            .dtype = RP_DTYPE_INT16,
            .count = count,
            .root = k % rank->count,
            .ranks = rank->count };
        rank_call_open(&call[k], rank, &what,
                &(struct rank_call_options){ .seed = k, .in_place = k % 2 == 1, .versions = 4 });
        rank_call_load(&call[k], 0);
    }
    capture_begin(rank->stream);
    for (unsigned k = 0; k < FRESH; k++) {
        must(rank_call_issue(&call[k], rank->comm, rank->stream));
    }
    aclmdlRI graph = capture_end(rank->stream);
    for (unsigned start = 1; start <= 3; start++) {
        for (unsigned k = 0; k < FRESH; k++) {
            rank_call_load(&call[k], start + k);
        }
        replay(graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        for (unsigned k = 0; k < FRESH; k++) {
            rank_call_check(&call[k], start + k, "started anew");
        }
    }
    must(aclmdlRIDestroy(graph));
    for (unsigned k = 0; k < FRESH; k++) {
        rank_call_close(&call[k]);
    }
    rank_close(rank);
}

Test(reports, r20_each_start_reads_todays_data_for_every_root, .timeout = 60)
{
    static const size_t counts[] = { 10, 700, 60000 }; // tiny, small and large
    for (size_t i = 0; i < 3; i++) {
        struct rank_job job = { .ranks = 4, .fn = fresh_rank, .arg = &counts[i] };
        in_both_expansions(&job);
    }
}
