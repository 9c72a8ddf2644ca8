// One order per communicator: eager calls, replays of several graphs and forked
// streams match across ranks in call order, without a host synchronisation and
// without events between streams; and work of a stream is ordered with the replays
// on it. R13, R14, R15 and R19 of the user reports.

#include <signal.h>

#include "support/rank_test.h"

static struct rank_call_options seeded(uint64_t seed)
{
    return (struct rank_call_options){ .seed = seed };
}

static aclrtEvent sync_event(void)
{
    aclrtEvent event = NULL;
    must(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    return event;
}

static void in_both_expansions(struct rank_job *job)
{
    job->env = AIV;
    assert_job(job, "AIV, %u ranks", job->ranks);
    job->env = HOST_TS;
    assert_job(job, "HOST_TS, %u ranks", job->ranks);
}

// ---- Eager calls and two graphs on one communicator, in turns ----

enum {
    G1_CALLS = 3,
    G2_CALLS = 2,
    EAGER_CALLS = 4,
    INTERLEAVED = G1_CALLS + G2_CALLS + EAGER_CALLS
};

// Every operator, small and large, in each of the three.
static void open_interleaved(struct rank *rank, struct rank_call *call)
{
    for (unsigned k = 0; k < INTERLEAVED; k++) {
        const struct oracle_call what = {
            .op = (enum oracle_op)(k % 4),
            .dtype = k % 2 == 0 ? RP_DTYPE_FP32 : RP_DTYPE_INT16,
            .count = k % 3 == 0   ? 7
                     : k % 3 == 1 ? 1500
                                  : 40000,
            .root = k % rank->count,
            .ranks = rank->count,
        };
        rank_call_open(
                &call[k], rank, &what, &(struct rank_call_options){ .seed = k, .versions = 5 });
    }
}

static aclmdlRI capture_calls(struct rank *rank, struct rank_call *call, unsigned count)
{
    capture_begin(rank->stream);
    for (unsigned k = 0; k < count; k++) {
        must(rank_call_issue(&call[k], rank->comm, rank->stream));
    }
    return capture_end(rank->stream);
}

static void interleaved_rank(struct rank *rank)
{
    const unsigned rounds = *(const unsigned *)rank->arg;
    struct rank_call call[INTERLEAVED];
    struct rank_call *eager = &call[G1_CALLS + G2_CALLS];
    uint64_t agreed = 7; // the same choices on all ranks
    rank_open(rank);
    open_interleaved(rank, call);
    aclmdlRI g1 = capture_calls(rank, &call[0], G1_CALLS);
    aclmdlRI g2 = capture_calls(rank, &call[G1_CALLS], G2_CALLS);
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned k = 0; k < INTERLEAVED; k++) {
            rank_call_load(&call[k], round + k);
        }
        rank_sleep_us(rank_random(rank, 300));
        agreed = agreed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const unsigned first = (unsigned)(agreed >> 33) % 3;
        for (unsigned turn = 0; turn < 3; turn++) {
            switch ((first + turn) % 3) {
            case 0:
                replay(g1, rank->stream);
                break;
            case 1:
                replay(g2, rank->stream);
                break;
            default:
                for (unsigned k = 0; k < EAGER_CALLS; k++) {
                    must(rank_call_issue(&eager[k], rank->comm, rank->stream));
                }
            }
        }
        must(aclrtSynchronizeStream(rank->stream));
        for (unsigned k = 0; k < INTERLEAVED; k++) {
            rank_call_check(&call[k], round + k, "interleaved");
        }
    }
    must(aclmdlRIDestroy(g1));
    must(aclmdlRIDestroy(g2));
    for (unsigned k = 0; k < INTERLEAVED; k++) {
        rank_call_close(&call[k]);
    }
    rank_close(rank);
}

Test(rank_order, of_eager_calls_and_two_graphs_on_one_communicator)
{
    const unsigned rounds = soak_rounds(60, 10000);
    for (unsigned ranks = 2; ranks <= 4; ranks += 2) {
        struct rank_job job = {
            .ranks = ranks,
            .mode = ranks == 4 ? RANK_MIXED : RANK_PROCESSES,
            .fn = interleaved_rank,
            .arg = &rounds,
            .timeout_s = soaking() ? 1200 : 60,
        };
        in_both_expansions(&job);
    }
}

// ---- Forked streams in a capture, operators on both ----

static void forked_rank(struct rank *rank)
{
    const unsigned rounds = *(const unsigned *)rank->arg;
    struct rank_call call[3];
    struct guard copy;
    aclrtStream side = NULL;
    rank_open(rank);
    must(aclrtCreateStream(&side));
    for (unsigned k = 0; k < 3; k++) {
        const struct oracle_call what = {
            .op = k == 1 ? ORACLE_ALL_GATHER : ORACLE_ALL_REDUCE,
            .dtype = RP_DTYPE_INT32,
            .count = k == 2 ? 100 : 20000,
            .ranks = rank->count,
        };
        const struct rank_call_options options = seeded(k);
        rank_call_open(&call[k], rank, &what, &options);
    }
    must(guard_create(&copy, call[1].recv_bytes, 0));
    aclrtEvent fork = sync_event(), join = sync_event();
    capture_begin(rank->stream);
    must(aclrtRecordEvent(fork, rank->stream));
    must(aclrtStreamWaitEvent(side, fork));
    must(rank_call_issue(&call[0], rank->comm, rank->stream));
    must(rank_call_issue(&call[1], rank->comm, side));
    must(rank_call_issue(&call[2], rank->comm, rank->stream));
    must(aclrtRecordEvent(join, side));
    must(aclrtStreamWaitEvent(rank->stream, join));
    must(aclrtMemcpyAsync(copy.data, copy.bytes, call[1].recv, call[1].recv_bytes,
            ACL_MEMCPY_DEVICE_TO_DEVICE, rank->stream));
    aclmdlRI graph = capture_end(rank->stream);
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned k = 0; k < 3; k++) {
            rank_call_load(&call[k], round + k);
        }
        guard_poison(&copy);
        replay(graph, round % 2 == 0 ? rank->stream : side);
        must(aclrtSynchronizeStream(round % 2 == 0 ? rank->stream : side));
        for (unsigned k = 0; k < 3; k++) {
            rank_call_check(&call[k], round + k, "forked");
        }
        must_hold(memcmp(copy.data, call[1].recv, copy.bytes) == 0 && guard_intact(&copy),
                "the copy after the join ran before the side stream's operator");
    }
    must(aclmdlRIDestroy(graph));
    must(aclrtDestroyEvent(fork));
    must(aclrtDestroyEvent(join));
    must(guard_destroy(&copy));
    for (unsigned k = 0; k < 3; k++) {
        rank_call_close(&call[k]);
    }
    must(aclrtDestroyStream(side));
    rank_close(rank);
}

Test(rank_order, r15_of_operators_on_forked_streams_in_one_capture)
{
    const unsigned rounds = soak_rounds(80, 5000);
    struct rank_job job = {
        .ranks = 3, .fn = forked_rank, .arg = &rounds, .timeout_s = soaking() ? 1200 : 60
    };
    in_both_expansions(&job);
}

// ---- No host synchronisation between copies and replays ----

#define CHAIN_WORDS 64

struct chain {
    uint32_t *in;  // [steps][CHAIN_WORDS], pinned
    uint32_t *out; // the same
    uint32_t *send, *recv;
    aclmdlRI graph[2];
};

static void chain_open(struct rank *rank, struct chain *chain, unsigned steps)
{
    const size_t bytes = CHAIN_WORDS * sizeof(uint32_t);
    must(aclrtMallocHost((void **)&chain->in, steps * bytes));
    must(aclrtMallocHost((void **)&chain->out, steps * bytes));
    must(aclrtMalloc((void **)&chain->send, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMalloc((void **)&chain->recv, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    for (unsigned g = 0; g < 2; g++) {
        capture_begin(rank->stream);
        must(HcclAllReduce(chain->send, chain->recv, CHAIN_WORDS, HCCL_DATA_TYPE_INT32,
                HCCL_REDUCE_SUM, rank->comm, rank->stream));
        chain->graph[g] = capture_end(rank->stream);
    }
    for (unsigned step = 0; step < steps; step++) {
        for (unsigned i = 0; i < CHAIN_WORDS; i++) {
            chain->in[step * CHAIN_WORDS + i] = word(rank->id, step, i);
        }
    }
    memset(chain->out, GUARD_POISON, steps * bytes);
}

static void chain_check(const struct rank *rank, const struct chain *chain, unsigned steps)
{
    for (unsigned step = 0; step < steps; step++) {
        for (unsigned i = 0; i < CHAIN_WORDS; i++) {
            const uint32_t got = chain->out[step * CHAIN_WORDS + i];
            const uint32_t right = sum_of_words(rank->count, step, i);
            must_hold(got == right, "step %u, element %u: %#x instead of %#x", step, i, got, right);
        }
    }
}

static void chain_close(struct chain *chain)
{
    must(aclmdlRIDestroy(chain->graph[0]));
    must(aclmdlRIDestroy(chain->graph[1]));
    must(aclrtFree(chain->send));
    must(aclrtFree(chain->recv));
    must(aclrtFreeHost(chain->in));
    must(aclrtFreeHost(chain->out));
}

static void chain_on_one_stream_rank(struct rank *rank)
{
    const unsigned steps = *(const unsigned *)rank->arg;
    const size_t bytes = CHAIN_WORDS * sizeof(uint32_t);
    struct chain chain;
    rank_open(rank);
    chain_open(rank, &chain, steps);
    for (unsigned step = 0; step < steps; step++) {
        const size_t at = (size_t)step * CHAIN_WORDS;
        must(aclrtMemcpyAsync(
                chain.send, bytes, &chain.in[at], bytes, ACL_MEMCPY_HOST_TO_DEVICE, rank->stream));
        replay(chain.graph[step % 2], rank->stream);
        must(aclrtMemcpyAsync(
                &chain.out[at], bytes, chain.recv, bytes, ACL_MEMCPY_DEVICE_TO_HOST, rank->stream));
    }
    must(aclrtSynchronizeStream(rank->stream));
    chain_check(rank, &chain, steps);
    chain_close(&chain);
    rank_close(rank);
}

Test(rank_order, r13_of_copies_and_replays_on_one_stream_without_a_host_synchronisation)
{
    const unsigned steps = 2000;
    struct rank_job job = { .ranks = 2, .fn = chain_on_one_stream_rank, .arg = &steps };
    in_both_expansions(&job);
}

static void chain_by_events_rank(struct rank *rank)
{
    const unsigned steps = *(const unsigned *)rank->arg;
    const size_t bytes = CHAIN_WORDS * sizeof(uint32_t);
    struct chain chain;
    aclrtStream producer = NULL, consumer = NULL;
    rank_open(rank);
    must(aclrtCreateStream(&producer));
    must(aclrtCreateStream(&consumer));
    chain_open(rank, &chain, steps);
    aclrtEvent loaded = sync_event(), summed = sync_event(), stored = sync_event();
    for (unsigned step = 0; step < steps; step++) {
        const size_t at = (size_t)step * CHAIN_WORDS;
        must(aclrtMemcpyAsync(
                chain.send, bytes, &chain.in[at], bytes, ACL_MEMCPY_HOST_TO_DEVICE, producer));
        must(aclrtRecordEvent(loaded, producer));
        must(aclrtStreamWaitEvent(rank->stream, loaded));
        replay(chain.graph[step % 2], rank->stream);
        must(aclrtRecordEvent(summed, rank->stream));
        must(aclrtStreamWaitEvent(consumer, summed));
        must(aclrtMemcpyAsync(
                &chain.out[at], bytes, chain.recv, bytes, ACL_MEMCPY_DEVICE_TO_HOST, consumer));
        must(aclrtRecordEvent(stored, consumer));
        must(aclrtStreamWaitEvent(producer, stored));
    }
    must(aclrtSynchronizeDevice());
    chain_check(rank, &chain, steps);
    must(aclrtDestroyEvent(loaded));
    must(aclrtDestroyEvent(summed));
    must(aclrtDestroyEvent(stored));
    chain_close(&chain);
    must(aclrtDestroyStream(producer));
    must(aclrtDestroyStream(consumer));
    rank_close(rank);
}

Test(rank_order, r13_of_producer_replay_and_consumer_tied_by_events_only)
{
    const unsigned steps = soak_rounds(500, 2000);
    struct rank_job job = { .ranks = 2, .fn = chain_by_events_rank, .arg = &steps };
    in_both_expansions(&job);
}

// ---- Two streams, no events at all ----

static void two_streams_rank(struct rank *rank)
{
    const unsigned rounds = *(const unsigned *)rank->arg;
    struct rank_call eager[2], graphed[2];
    aclmdlRI graph[2];
    aclrtStream b = NULL;
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_FP32, .count = 65536, .ranks = rank->count
    };
    rank_open(rank);
    must(aclrtCreateStream(&b));
    for (unsigned k = 0; k < 2; k++) {
        const struct rank_call_options options = { .seed = k, .versions = 3 };
        const struct rank_call_options other = { .seed = k + 2, .versions = 3 };
        rank_call_open(&eager[k], rank, &what, &options);
        rank_call_open(&graphed[k], rank, &what, &other);
        capture_begin(b);
        must(rank_call_issue(&graphed[k], rank->comm, b));
        graph[k] = capture_end(b);
    }
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned k = 0; k < 2; k++) {
            rank_call_load(&eager[k], round);
            rank_call_load(&graphed[k], round);
        }
        for (unsigned k = 0; k < 2; k++) {
            must(rank_call_issue(&eager[k], rank->comm, rank->stream));
            replay(graph[k], b);
        }
        must(aclrtSynchronizeStream(b));
        must(aclrtSynchronizeStream(rank->stream));
        for (unsigned k = 0; k < 2; k++) {
            rank_call_check(&eager[k], round, "eager on one stream");
            rank_call_check(&graphed[k], round, "replayed on the other");
        }
    }
    for (unsigned k = 0; k < 2; k++) {
        must(aclmdlRIDestroy(graph[k]));
        rank_call_close(&eager[k]);
        rank_call_close(&graphed[k]);
    }
    must(aclrtDestroyStream(b));
    rank_close(rank);
}

Test(rank_order, r15_is_the_call_order_also_between_streams_without_events)
{
    const unsigned rounds = soak_rounds(60, 1000);
    struct rank_job job = {
        .ranks = 4, .fn = two_streams_rank, .arg = &rounds, .timeout_s = soaking() ? 1200 : 60
    };
    in_both_expansions(&job);
}

// ---- One rank calls eagerly what the others replay ----

// Matching is by the communicator's sequence, not by where an operator comes from.
static void mixed_origin_rank(struct rank *rank)
{
    struct rank_call call;
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_FP32, .count = 1024, .ranks = rank->count
    };
    const struct rank_call_options options = seeded(1);
    rank_open(rank);
    rank_call_open(&call, rank, &what, &options);
    aclmdlRI graph = capture_calls(rank, &call, 1);
    for (unsigned round = 0; round < 100; round++) {
        rank_call_load(&call, round);
        if (round % rank->count == rank->id) {
            must(rank_call_issue(&call, rank->comm, rank->stream));
        } else {
            replay(graph, rank->stream);
        }
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(&call, round, "eager among replays");
    }
    must(aclmdlRIDestroy(graph));
    rank_call_close(&call);
    rank_close(rank);
}

Test(rank_order, r14_matches_a_replay_with_an_eager_call)
{
    struct rank_job job = { .ranks = 4, .fn = mixed_origin_rank };
    in_both_expansions(&job);
}

// ---- The next input overwrites what a slow peer may still read ----

#define NEXT_WORDS 20000

// In place; a captured copy writes the next step's input into the same buffer right after.
static void overwritten_rank(struct rank *rank)
{
    const unsigned steps = *(const unsigned *)rank->arg;
    const size_t bytes = NEXT_WORDS * sizeof(uint32_t);
    uint32_t *buffer = NULL, *next = NULL, *result = NULL;
    rank_open(rank);
    must(aclrtMalloc((void **)&buffer, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMalloc((void **)&result, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMallocHost((void **)&next, bytes));
    capture_begin(rank->stream);
    must(HcclAllReduce(buffer, buffer, NEXT_WORDS, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM,
            rank->comm, rank->stream));
    must(aclrtMemcpyAsync(result, bytes, buffer, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, rank->stream));
    must(aclrtMemcpyAsync(buffer, bytes, next, bytes, ACL_MEMCPY_HOST_TO_DEVICE, rank->stream));
    aclmdlRI graph = capture_end(rank->stream);
    for (size_t i = 0; i < NEXT_WORDS; i++) {
        buffer[i] = word(rank->id, 0, i);
    }
    for (unsigned step = 0; step < steps; step++) {
        for (size_t i = 0; i < NEXT_WORDS; i++) {
            next[i] = word(rank->id, step + 1, i);
        }
        rank_step(rank, step + 1);
        replay(graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        for (size_t i = 0; i < NEXT_WORDS; i += 61) {
            must_hold(result[i] == sum_of_words(rank->count, step, i),
                    "step %u, element %zu is wrong", step, i);
        }
    }
    must(aclmdlRIDestroy(graph));
    must(aclrtFree(buffer));
    must(aclrtFree(result));
    must(aclrtFreeHost(next));
    rank_close(rank);
}

static void stop_for_5_ms(struct rank_crew *crew, unsigned rank)
{
    kill(rank_pid(crew, rank), SIGSTOP);
    rank_sleep_us(5000);
    kill(rank_pid(crew, rank), SIGCONT);
}

Test(rank_order, r19_of_reads_and_the_next_write_of_a_buffer_with_ranks_that_stop)
{
    const unsigned steps = soak_rounds(300, 5000);
    struct rank_job job = { .ranks = 8, .fn = overwritten_rank, .arg = &steps };
    for (unsigned expansion = 0; expansion < 2; expansion++) {
        job.env = expansion == 0 ? AIV : HOST_TS;
        struct rank_crew *crew = rank_start(&job);
        for (unsigned step = 10; step < steps; step += 25) {
            if (rank_await(crew, 0, step, 30000)) {
                stop_for_5_ms(crew, step * 7 % 8);
            }
        }
        assert_crew(crew, "%s", job.env[0]);
    }
}
