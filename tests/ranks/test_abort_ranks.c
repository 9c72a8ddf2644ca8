// aclrtStreamAbort in the middle of a collective that a peer has not joined, and of collectives
// that have not begun: the ranks are out of step then, so the communicator fails on all of them,
// promptly, and everything but it goes on.

#include <string.h>

#include "support/rank_test.h"

enum { WORDS = 5000, LIMIT_MS = 20000 };

static const char *const aiv[] = { "HCCL_OP_EXPANSION_MODE=AIV", "HCCL_EXEC_TIMEOUT=120", NULL };
static const char *const host_ts[] = { "HCCL_OP_EXPANSION_MODE=HOST_TS", "HCCL_BUFFSIZE=4",
    "HCCL_EXEC_TIMEOUT=120", NULL };

struct buffers {
    uint32_t *in, *out;
};

static void buffers_open(struct buffers *b)
{
    must(aclrtMalloc((void **)&b->in, WORDS * 4, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMalloc((void **)&b->out, WORDS * 4, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(b->in, 0, WORDS * 4);
}

static int all_reduce(const struct buffers *b, const struct rank *rank)
{
    return (int)HcclAllReduce(
            b->in, b->out, WORDS, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, rank->comm, rank->stream);
}

/* Rank 0 has given up its collectives; what the communicator is asked to do now fails. */
static void expect_failed(const struct buffers *b, const struct rank *rank)
{
    int answer = 0;
    const uint64_t start_ms = rank_now_ms();
    while (answer == 0 && rank_now_ms() - start_ms < LIMIT_MS) {
        answer = all_reduce(b, rank);
        if (answer == 0) {
            answer = aclrtSynchronizeStream(rank->stream);
        }
    }
    must_hold(answer != 0, "the communicator works on");
    must_hold(rank_now_ms() - start_ms < LIMIT_MS, "told after %llu ms only",
            (unsigned long long)(rank_now_ms() - start_ms));
    must(aclrtMemcpyAsync(
            b->out, 4, b->in, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, rank->stream)); // the stream works
    must(aclrtSynchronizeStream(rank->stream));
}

static void abort_rank(struct rank *rank)
{
    struct buffers b;
    rank_open(rank);
    buffers_open(&b);
    must(all_reduce(&b, rank));
    must(aclrtSynchronizeStream(rank->stream));
    if (rank->id == 0) {
        // The first is announced, and its peers stay away; the others have not begun.
        for (int i = 0; i < 3; i++) {
            must(all_reduce(&b, rank));
        }
        rank_sleep_us(20000);
        must(aclrtStreamAbort(rank->stream));
        must(aclrtSynchronizeStream(rank->stream)); // nothing is told later
    } else {
        rank_sleep_us(300000);
    }
    expect_failed(&b, rank);
    must(aclrtFree(b.in));
    must(aclrtFree(b.out));
    rank_close(rank);
}

static void replay_rank(struct rank *rank)
{
    struct buffers b;
    rank_open(rank);
    buffers_open(&b);
    capture_begin(rank->stream);
    for (int i = 0; i < 4; i++) {
        must(all_reduce(&b, rank));
    }
    aclmdlRI graph = capture_end(rank->stream);
    replay(graph, rank->stream);
    must(aclrtSynchronizeStream(rank->stream));
    if (rank->id == 0) {
        replay(graph, rank->stream);
        replay(graph, rank->stream);
        rank_sleep_us(20000);
        must(aclrtStreamAbort(rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
    } else {
        rank_sleep_us(300000);
    }
    expect_failed(&b, rank);
    must(aclmdlRIDestroy(graph));
    must(aclrtFree(b.in));
    must(aclrtFree(b.out));
    rank_close(rank);
}

static void in_both_expansions(struct rank_job *job)
{
    job->env = aiv;
    assert_job(job, "AIV, %u ranks", job->ranks);
    job->env = host_ts;
    assert_job(job, "HOST_TS, %u ranks", job->ranks);
}

Test(abort_ranks, of_eager_collectives_fails_the_communicator_on_every_rank, .timeout = 120)
{
    struct rank_job job = { .ranks = 2, .fn = abort_rank };
    in_both_expansions(&job);
}

Test(abort_ranks, of_a_replay_fails_the_communicator_on_every_rank, .timeout = 120)
{
    struct rank_job job = { .ranks = 2, .fn = replay_rank };
    in_both_expansions(&job);
}
