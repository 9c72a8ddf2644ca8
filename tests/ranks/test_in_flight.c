// Many replays at once: 64 graphs on as many communicators do not hold each other up, on one
// communicator they run in call order; one graph queued many times runs that often, one at a time;
// a graph that is queued or running can be destroyed.

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "support/gate.h"
#include "support/rank_test.h"

#define FLIGHT 64
#define WORDS 500

// With 64 communicators the buffers of each are small.
static const char *const aiv[] = { "HCCL_OP_EXPANSION_MODE=AIV", "HCCL_BUFFSIZE=1", NULL };
static const char *const host_ts[] = { "HCCL_OP_EXPANSION_MODE=HOST_TS", "HCCL_BUFFSIZE=1", NULL };

static void in_both_expansions(struct rank_job *job)
{
    job->env = aiv;
    assert_job(job, "AIV, %u ranks", job->ranks);
    job->env = host_ts;
    assert_job(job, "HOST_TS, %u ranks", job->ranks);
}

static uint32_t *words_create(size_t count)
{
    uint32_t *words = NULL;
    must(aclrtMalloc((void **)&words, count * sizeof(uint32_t), ACL_MEM_MALLOC_HUGE_FIRST));
    memset(words, 0xa5, count * sizeof(uint32_t));
    return words;
}

static void all_reduce(const uint32_t *in, uint32_t *out, HcclComm comm, aclrtStream stream)
{
    must(HcclAllReduce((void *)(uintptr_t)in, out, WORDS, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM,
            comm, stream));
}

// Holds streams back until all is queued: each waits for an event behind a gate.
struct start {
    struct gate gate;
    aclrtStream stream;
    aclrtEvent go;
};

static void start_open(struct start *start)
{
    gate_init(&start->gate);
    must(aclrtCreateStream(&start->stream));
    must(aclrtCreateEventWithFlag(&start->go, ACL_EVENT_SYNC));
}

static void start_arm(struct start *start)
{
    must(gate_put(&start->gate, start->stream));
    must(aclrtRecordEvent(start->go, start->stream));
}

static void start_close(struct start *start)
{
    must(aclrtSynchronizeStream(start->stream));
    must(aclrtDestroyStream(start->stream));
    must(aclrtDestroyEvent(start->go));
}

// ---- On different communicators ----

struct strand {
    HcclComm comm;
    aclrtStream stream;
    aclmdlRI graph;
    uint32_t *in, *out; // WORDS
    struct gate gate;   // only in some, on rank 0
};

static bool is_gated(const struct rank *rank, unsigned strand)
{
    return rank->id == 0 && strand % 8 == 3;
}

static void strand_open(struct rank *rank, struct strand *s, unsigned number)
{
    must(aclrtCreateStream(&s->stream));
    s->in = words_create(WORDS);
    s->out = words_create(WORDS);
    gate_init(&s->gate);
    capture_begin(s->stream);
    if (is_gated(rank, number)) {
        must(gate_put(&s->gate, s->stream));
    }
    all_reduce(s->in, s->out, s->comm, s->stream);
    must(HcclBroadcast(s->out, WORDS, HCCL_DATA_TYPE_UINT32, 1, s->comm, s->stream));
    s->graph = capture_end(s->stream);
}

static void strand_check(const struct rank *rank, const struct strand *s, uint64_t round)
{
    for (size_t i = 0; i < WORDS; i++) {
        must_hold(s->out[i] == sum_of_words(rank->count, round, i), "element %zu is wrong", i);
    }
}

static void strand_close(struct strand *s)
{
    must(aclmdlRIDestroy(s->graph));
    must(aclrtDestroyStream(s->stream));
    must(aclrtFree(s->in));
    must(aclrtFree(s->out));
}

// Every rank launches in an order of its own. Those that a host function of rank 0 holds up are
// the last to end, and hold up nobody.
static void fly_once(struct rank *rank, struct strand *strand, struct start *start, unsigned round)
{
    start_arm(start);
    for (unsigned c = 0; c < FLIGHT; c++) {
        const unsigned turn = (c * (2 * rank->id + 1) + 7 * round) % FLIGHT;
        struct strand *s = &strand[turn];
        for (size_t i = 0; i < WORDS; i++) {
            s->in[i] = word(rank->id, round + turn, i);
        }
        must(aclrtStreamWaitEvent(s->stream, start->go));
        replay(s->graph, s->stream);
    }
    gate_open(&start->gate);
    for (unsigned c = 0; c < FLIGHT; c++) {
        if (c % 8 != 3) {
            must(aclrtSynchronizeStream(strand[c].stream));
            strand_check(rank, &strand[c], round + c);
        }
    }
    rank_barrier(rank);
    for (unsigned c = 3; c < FLIGHT; c += 8) {
        aclrtStreamStatus status;
        must(aclrtStreamQuery(strand[c].stream, &status));
        must_hold(status == ACL_STREAM_STATUS_NOT_READY, "a graph ended without its peer");
    }
    rank_barrier(rank);
    for (unsigned c = 3; c < FLIGHT; c += 8) {
        if (is_gated(rank, c)) {
            gate_open(&strand[c].gate);
        }
        must(aclrtSynchronizeStream(strand[c].stream));
        strand_check(rank, &strand[c], round + c);
    }
}

static void many_communicators_rank(struct rank *rank)
{
    const unsigned rounds = *(const unsigned *)rank->arg;
    static struct strand strand[FLIGHT];
    struct start start;
    rank_open(rank);
    start_open(&start);
    strand[0].comm = rank->comm;
    for (unsigned c = 0; c < FLIGHT; c++) {
        if (c > 0) {
            rank_barrier(rank);
            must(rank_join_again(rank, c, &strand[c].comm));
        }
        strand_open(rank, &strand[c], c);
    }
    for (unsigned round = 0; round < rounds; round++) {
        fly_once(rank, strand, &start, round);
    }
    start_close(&start);
    for (unsigned c = 0; c < FLIGHT; c++) {
        strand_close(&strand[c]);
        if (c > 0) {
            must(HcclCommDestroy(strand[c].comm));
        }
    }
    rank_close(rank);
}

Test(in_flight, graphs_on_64_communicators_do_not_hold_each_other_up, .timeout = 120)
{
    const unsigned rounds = soak_rounds(10, 500);
    struct rank_job job = { .ranks = 2, .fn = many_communicators_rank, .arg = &rounds };
    in_both_expansions(&job);
}

// ---- On one communicator ----

// Graph k on stream k sums link k of a chain into link k + 1. No event ties the streams.
static void one_communicator_rank(struct rank *rank)
{
    const unsigned rounds = *(const unsigned *)rank->arg;
    aclrtStream stream[FLIGHT];
    aclmdlRI graph[FLIGHT];
    uint32_t *link[FLIGHT + 1];
    struct start start;
    rank_open(rank);
    start_open(&start);
    for (unsigned k = 0; k <= FLIGHT; k++) {
        link[k] = words_create(WORDS);
    }
    for (unsigned k = 0; k < FLIGHT; k++) {
        must(aclrtCreateStream(&stream[k]));
        capture_begin(stream[k]);
        all_reduce(link[k], link[k + 1], rank->comm, stream[k]);
        graph[k] = capture_end(stream[k]);
    }
    for (unsigned round = 0; round < rounds; round++) {
        const bool held = round % 2 == 0;
        for (size_t i = 0; i < WORDS; i++) {
            link[0][i] = word(rank->id, round, i);
        }
        if (held) {
            start_arm(&start);
        }
        for (unsigned k = 0; k < FLIGHT; k++) {
            // The first half is held; the second, which nothing holds, comes after it all the same.
            if (held && k < FLIGHT / 2) {
                must(aclrtStreamWaitEvent(stream[k], start.go));
            }
            replay(graph[k], stream[k]);
        }
        if (held) {
            rank_sleep_us(rank_random(rank, 300));
            gate_open(&start.gate);
        }
        must(aclrtSynchronizeStream(stream[FLIGHT - 1]));
        for (size_t i = 0; i < WORDS; i++) {
            uint32_t expected = sum_of_words(rank->count, round, i);
            for (unsigned k = 1; k <= FLIGHT; k++) {
                must_hold(link[k][i] == expected, "round %u, link %u, element %zu is wrong", round,
                        k, i);
                expected *= rank->count;
            }
        }
    }
    start_close(&start);
    for (unsigned k = 0; k < FLIGHT; k++) {
        must(aclmdlRIDestroy(graph[k]));
        must(aclrtDestroyStream(stream[k]));
        must(aclrtFree(link[k]));
    }
    must(aclrtFree(link[FLIGHT]));
    rank_close(rank);
}

Test(in_flight, graphs_of_one_communicator_run_in_call_order, .timeout = 60)
{
    const unsigned rounds = soak_rounds(30, 2000);
    struct rank_job job = { .ranks = 3, .fn = one_communicator_rank, .arg = &rounds };
    in_both_expansions(&job);
}

// ---- One graph many times ----

struct counted {
    _Atomic int inside; // replays between their first and last host function
    _Atomic int overlaps;
    _Atomic unsigned done;
};

static void enter_replay(void *arg)
{
    struct counted *c = arg;
    if (atomic_fetch_add(&c->inside, 1) != 0) {
        atomic_fetch_add(&c->overlaps, 1);
    }
}

static void leave_replay(void *arg)
{
    struct counted *c = arg;
    atomic_fetch_sub(&c->inside, 1);
    atomic_fetch_add(&c->done, 1);
}

enum { SAME_STREAMS = 5 };

// In place, so that each replay multiplies by the number of ranks what the one before left.
static void same_graph_rank(struct rank *rank)
{
    const unsigned launches = *(const unsigned *)rank->arg;
    aclrtStream stream[SAME_STREAMS];
    struct counted counted = { 0 };
    rank_open(rank);
    uint32_t *data = words_create(2 * WORDS);
    for (unsigned k = 0; k < SAME_STREAMS; k++) {
        must(aclrtCreateStream(&stream[k]));
    }
    capture_begin(rank->stream);
    must(aclrtLaunchHostFunc(rank->stream, enter_replay, &counted));
    all_reduce(data, data, rank->comm, rank->stream);
    must(aclrtMemcpyAsync(
            data + WORDS, WORDS * 4, data, WORDS * 4, ACL_MEMCPY_DEVICE_TO_DEVICE, rank->stream));
    must(aclrtLaunchHostFunc(rank->stream, leave_replay, &counted));
    aclmdlRI graph = capture_end(rank->stream);
    for (unsigned streams = 1; streams <= SAME_STREAMS; streams++) {
        for (size_t i = 0; i < WORDS; i++) {
            data[i] = word(rank->id, streams, i);
        }
        for (unsigned n = 0; n < launches; n++) {
            replay(graph, stream[n % streams]);
        }
        for (unsigned k = 0; k < streams; k++) {
            must(aclrtSynchronizeStream(stream[k]));
        }
        must_hold(atomic_load(&counted.done) == streams * launches,
                "%u launches on %u streams: %u replays", launches, streams,
                atomic_load(&counted.done) - (streams - 1) * launches);
        must_hold(atomic_load(&counted.overlaps) == 0, "replays of one graph overlap");
        for (size_t i = 0; i < WORDS; i++) {
            uint32_t expected = sum_of_words(rank->count, streams, i);
            for (unsigned n = 1; n < launches; n++) {
                expected *= rank->count;
            }
            must_hold(data[i] == expected && data[WORDS + i] == expected,
                    "%u streams: element %zu is wrong", streams, i);
        }
    }
    must(aclmdlRIDestroy(graph));
    for (unsigned k = 0; k < SAME_STREAMS; k++) {
        must(aclrtDestroyStream(stream[k]));
    }
    must(aclrtFree(data));
    rank_close(rank);
}

Test(in_flight, one_graph_queued_many_times_runs_as_often_one_at_a_time, .timeout = 60)
{
    const unsigned few = 12, many = 500;
    struct rank_job job = { .ranks = 3, .fn = same_graph_rank, .arg = &few };
    in_both_expansions(&job);
    job.arg = &many;
    job.env = aiv;
    assert_job(&job, "500 launches");
}

// ---- Destroying what is queued or running ----

#define HELD_US 200000

static void *open_later(void *arg)
{
    rank_sleep_us(HELD_US);
    gate_open(arg);
    return NULL;
}

// Destroys while the gate is shut; `times` replays are queued.
static void destroy_held(struct rank *rank, aclmdlRI graph, struct gate *gate, const char *when)
{
    pthread_t thread;
    must_hold(pthread_create(&thread, NULL, open_later, gate) == 0, "pthread_create");
    const uint64_t start_ms = rank_now_ms();
    must(aclmdlRIDestroy(graph));
    const uint64_t lasted_ms = rank_now_ms() - start_ms;
    pthread_join(thread, NULL);
    must_hold(lasted_ms >= HELD_US / 2000, "%s: destroyed after %d ms, before it had ended", when,
            (int)lasted_ms);
    must_hold(lasted_ms < 3000, "%s: destroying took %d ms", when, (int)lasted_ms);
    must_be(aclmdlRIExecuteAsync(graph, rank->stream), ACL_ERROR_RT_INVALID_HANDLE);
    must(aclmdlRIDestroy(graph)); // an unknown handle is none
}

static void destroy_rank(struct rank *rank)
{
    struct gate gate;
    aclrtStream other = NULL;
    struct counted counted = { 0 };
    gate_init(&gate);
    rank_open(rank);
    must(aclrtCreateStream(&other));
    uint32_t *data = words_create(2 * WORDS);
    for (unsigned round = 0; round < 3; round++) {
        for (size_t i = 0; i < WORDS; i++) {
            data[i] = word(rank->id, round, i);
        }
        capture_begin(rank->stream);
        if (round == 0) { // the graph itself is held
            must(gate_put(&gate, rank->stream));
        }
        all_reduce(data, data + WORDS, rank->comm, rank->stream);
        must(aclrtLaunchHostFunc(rank->stream, leave_replay, &counted));
        aclmdlRI graph = capture_end(rank->stream);
        atomic_store(&counted.done, 0);
        if (round > 0) { // what is before it on the stream is held, or on one of two streams
            must(gate_put(&gate, round == 1 ? rank->stream : other));
        }
        const unsigned queued = round == 0 ? 1 : 6;
        for (unsigned n = 0; n < queued; n++) {
            replay(graph, round == 2 && n % 2 == 1 ? other : rank->stream);
        }
        destroy_held(rank, graph, &gate, round == 0 ? "running" : "queued");
        must_hold(atomic_load(&counted.done) == queued, "%u of %u replays ran before the end",
                atomic_load(&counted.done), queued);
        for (size_t i = 0; i < WORDS; i++) {
            must_hold(data[WORDS + i] == sum_of_words(rank->count, round, i), "wrong result");
        }
        must(aclrtSynchronizeStream(rank->stream));
        must(aclrtSynchronizeStream(other));
    }
    must(aclrtFree(data));
    must(aclrtDestroyStream(other));
    rank_close(rank);
}

Test(in_flight, a_graph_that_is_queued_or_running_is_destroyed_when_it_has_ended, .timeout = 60)
{
    struct rank_job job = { .ranks = 2, .fn = destroy_rank };
    in_both_expansions(&job);
    job.mode = RANK_THREADS;
    in_both_expansions(&job);
}

// Who must not wait is refused: a host function of the graph itself.
struct suicide {
    aclmdlRI graph;
    aclError answer;
};

static void destroy_own_graph(void *arg)
{
    struct suicide *s = arg;
    s->answer = aclmdlRIDestroy(s->graph);
}

static void suicide_rank(struct rank *rank)
{
    struct suicide s = { .answer = ACL_SUCCESS };
    rank_open(rank);
    capture_begin(rank->stream);
    must(aclrtLaunchHostFunc(rank->stream, destroy_own_graph, &s));
    s.graph = capture_end(rank->stream);
    const uint64_t start_ms = rank_now_ms();
    replay(s.graph, rank->stream);
    must(aclrtSynchronizeStream(rank->stream));
    must_hold(rank_now_ms() - start_ms < 3000, "it took %d ms", (int)(rank_now_ms() - start_ms));
    must_hold(s.answer != ACL_SUCCESS, "a graph is destroyed by its own host function");
    must(aclmdlRIDestroy(s.graph));
    rank_close(rank);
}

Test(in_flight, a_host_function_cannot_destroy_its_own_graph, .timeout = 60)
{
    const struct rank_job job = { .ranks = 1, .fn = suicide_rank };
    assert_job(&job, "one rank");
}

// A peer stays away for longer than the call waits. What could not be destroyed is as it was.
#define DESTROY_LIMIT_MS 10000

static void unfinished_rank(struct rank *rank)
{
    rank_open(rank);
    uint32_t *data = words_create(2 * WORDS);
    for (size_t i = 0; i < WORDS; i++) {
        data[i] = word(rank->id, 0, i);
    }
    capture_begin(rank->stream);
    all_reduce(data, data + WORDS, rank->comm, rank->stream);
    aclmdlRI graph = capture_end(rank->stream);
    if (rank->id == 0) {
        replay(graph, rank->stream);
        const uint64_t start_ms = rank_now_ms();
        must_be(aclmdlRIDestroy(graph), ACL_ERROR_RT_MODEL_RUNNING);
        const uint64_t lasted_ms = rank_now_ms() - start_ms;
        must_hold(lasted_ms >= DESTROY_LIMIT_MS - 500 && lasted_ms < DESTROY_LIMIT_MS + 2000,
                "the limit is %d ms", (int)lasted_ms);
        must_hold(strstr(rank_error_text(), "graph") != NULL, "the graph is not named: \"%s\"",
                rank_error_text());
    }
    rank_barrier(rank);
    if (rank->id != 0) {
        replay(graph, rank->stream);
    }
    must(aclrtSynchronizeStream(rank->stream));
    replay(graph, rank->stream);
    must(aclrtSynchronizeStream(rank->stream));
    for (size_t i = 0; i < WORDS; i++) {
        must_hold(data[WORDS + i] == sum_of_words(rank->count, 0, i), "wrong result");
    }
    must(aclmdlRIDestroy(graph));
    must(aclrtFree(data));
    rank_close(rank);
}

// Ten seconds, nearly all of them asleep.
Test(in_flight, destroying_what_cannot_end_is_given_up_after_the_limit, .timeout = 60)
{
    const struct rank_job job = { .ranks = 2, .fn = unfinished_rank, .env = aiv };
    assert_job(&job, "AIV");
}
