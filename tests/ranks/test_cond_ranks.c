// Collectives inside conditionals: how many there are is known only when the graph runs, on every
// rank alike. Loops, arms by value, forks inside arms, eager calls between replays, in both
// expansions; and a rank whose condition differs is reported, not waited for.

#include <string.h>

#include "support/rank_test.h"

#define WORDS 5000

/* Buffers and one conditional of a rank. */
struct setting {
    struct rank *rank;
    uint32_t *in, *out, *after;
    aclrtStream arm_stream, side_stream;
    aclmdlRICondHandle handle;
    uint64_t *word;
    aclmdlRI arm[3];
};

static void open_setting(struct setting *s, struct rank *rank)
{
    *s = (struct setting){ .rank = rank };
    rank_open(rank);
    must(aclrtMalloc((void **)&s->in, WORDS * 4, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMalloc((void **)&s->out, WORDS * 4, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMalloc((void **)&s->after, WORDS * 4, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtCreateStream(&s->arm_stream));
    must(aclrtCreateStream(&s->side_stream));
}

static void close_setting(struct setting *s)
{
    must(aclrtFree(s->in));
    must(aclrtFree(s->out));
    must(aclrtFree(s->after));
    must(aclrtDestroyStream(s->arm_stream));
    must(aclrtDestroyStream(s->side_stream));
    rank_close(s->rank);
}

static void add_cond(struct setting *s, aclmdlRICondTaskType type, uint32_t size)
{
    aclmdlRI graph = NULL;
    must(aclmdlRICaptureGetInfo(s->rank->stream, NULL, &graph));
    must(aclmdlRICondHandleCreate(graph, 0, (aclmdlRICondHandleFlag)0, &s->handle));
    must(aclmdlRICondHandleGetCondPtr(s->handle, &s->word));
    const aclmdlRICondTaskParams params = {
        .handle = s->handle, .type = type, .size = size, .modelRIArray = s->arm
    };
    must(aclmdlRIAddCondTask(params, s->rank->stream, 0));
}

static void all_reduce(struct setting *s, uint32_t *from, uint32_t *to, aclrtStream stream)
{
    must(HcclAllReduce(
            from, to, WORDS, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, s->rank->comm, stream));
}

static void step_down(void *word)
{
    --*(uint64_t *)word;
}

static void load(struct setting *s, uint64_t round)
{
    for (size_t i = 0; i < WORDS; i++) {
        s->in[i] = word(s->rank->id, round, i);
    }
}

/* `buffer` has `factor` times the sum of the inputs. */
static void check(const struct setting *s, const uint32_t *buffer, uint64_t round, uint32_t factor,
        const char *what)
{
    for (size_t i = 0; i < WORDS; i++) {
        const uint32_t expected = factor * sum_of_words(s->rank->count, round, i);
        must_hold(buffer[i] == expected, "%s, round %llu, word %zu: %u, not %u", what,
                (unsigned long long)round, i, buffer[i], expected);
    }
}

// ---- a loop ----

/* Each pass sums `out` over the ranks into `after` and copies it back: n passes multiply by the
 * number of ranks n times. Before it out = sum of the inputs. */
static aclmdlRI loop_graph(struct setting *s)
{
    capture_begin(s->rank->stream);
    all_reduce(s, s->in, s->out, s->rank->stream);
    add_cond(s, ACL_MODEL_RI_COND_TYPE_WHILE, 1);
    must(aclmdlRICaptureToModelRIBegin(s->arm_stream, s->arm[0], GLOBAL));
    all_reduce(s, s->out, s->after, s->arm_stream);
    must(aclrtMemcpyAsync(
            s->out, WORDS * 4, s->after, WORDS * 4, ACL_MEMCPY_DEVICE_TO_DEVICE, s->arm_stream));
    must(aclrtLaunchHostFunc(s->arm_stream, step_down, s->word));
    must(aclmdlRICaptureEnd(s->arm_stream, NULL));
    all_reduce(s, s->out, s->after, s->rank->stream);
    return capture_end(s->rank->stream);
}

static uint32_t power(uint32_t base, uint64_t exponent)
{
    uint32_t result = 1;
    for (uint64_t i = 0; i < exponent; i++) {
        result *= base;
    }
    return result;
}

static void loop_rank(struct rank *rank)
{
    struct setting s;
    open_setting(&s, rank);
    aclmdlRI graph = loop_graph(&s);
    for (uint64_t round = 0; round < 150; round++) {
        const uint64_t passes = round % 9;
        load(&s, round);
        must(aclrtValueWrite(s.word, passes, 0, rank->stream));
        replay(graph, rank->stream);
        if (round % 4 == 0) { // an eager call right behind, in the same order on every rank
            all_reduce(&s, s.in, s.out, s.side_stream);
            must(aclrtSynchronizeStream(s.side_stream));
            check(&s, s.out, round, 1, "eager behind the loop");
        }
        must(aclrtSynchronizeStream(rank->stream));
        check(&s, s.after, round, power(rank->count, passes + 1), "behind the loop");
    }
    must(aclmdlRIDestroy(graph));
    close_setting(&s);
}

// ---- arms by value, with forks inside ----

/* Arm 0: nothing. Arm 1: one all-reduce. Arm 2: two, on forked streams, in call order. */
static aclmdlRI switch_graph(struct setting *s)
{
    aclrtEvent fork = NULL, back = NULL;
    must(aclrtCreateEventExWithFlag(&fork, ACL_EVENT_SYNC));
    must(aclrtCreateEventExWithFlag(&back, ACL_EVENT_SYNC));
    capture_begin(s->rank->stream);
    add_cond(s, ACL_MODEL_RI_COND_TYPE_SWITCH, 3);
    must(aclmdlRICaptureToModelRIBegin(s->arm_stream, s->arm[1], RELAXED));
    all_reduce(s, s->in, s->out, s->arm_stream);
    must(aclmdlRICaptureEnd(s->arm_stream, NULL));
    must(aclmdlRICaptureToModelRIBegin(s->arm_stream, s->arm[2], RELAXED));
    must(aclrtRecordEvent(fork, s->arm_stream));
    must(aclrtStreamWaitEvent(s->side_stream, fork));
    all_reduce(s, s->in, s->after, s->side_stream);
    all_reduce(s, s->in, s->out, s->arm_stream);
    must(aclrtRecordEvent(back, s->side_stream));
    must(aclrtStreamWaitEvent(s->arm_stream, back));
    must(aclmdlRICaptureEnd(s->arm_stream, NULL));
    aclmdlRI graph = capture_end(s->rank->stream);
    must(aclrtDestroyEvent(fork));
    must(aclrtDestroyEvent(back));
    return graph;
}

static void switch_rank(struct rank *rank)
{
    struct setting s;
    open_setting(&s, rank);
    aclmdlRI graph = switch_graph(&s);
    for (uint64_t round = 0; round < 200; round++) {
        const uint64_t arm = round * 7 / 3 % 4; // 3: none
        load(&s, round);
        memset(s.out, 0, WORDS * 4);
        memset(s.after, 0, WORDS * 4);
        must(aclrtValueWrite(s.word, arm, 0, rank->stream));
        replay(graph, round % 2 == 0 ? rank->stream : s.side_stream);
        must(aclrtSynchronizeDevice());
        check(&s, s.out, round, arm == 1 || arm == 2, "out");
        check(&s, s.after, round, arm == 2, "after");
    }
    must(aclmdlRIDestroy(graph));
    close_setting(&s);
}

// ---- ranks that disagree ----

/* The last rank skips its arm and comes to the broadcast behind it: both calls are named. */
static void differ_rank(struct rank *rank)
{
    struct setting s;
    open_setting(&s, rank);
    capture_begin(rank->stream);
    add_cond(&s, ACL_MODEL_RI_COND_TYPE_IF, 1);
    must(aclmdlRICaptureToModelRIBegin(s.arm_stream, s.arm[0], GLOBAL));
    all_reduce(&s, s.in, s.out, s.arm_stream);
    must(aclmdlRICaptureEnd(s.arm_stream, NULL));
    must(HcclBroadcast(s.after, WORDS, HCCL_DATA_TYPE_UINT32, 0, rank->comm, rank->stream));
    aclmdlRI graph = capture_end(rank->stream);
    must(aclrtValueWrite(s.word, 1, 0, rank->stream));
    replay(graph, rank->stream); // alike at first
    must(aclrtSynchronizeStream(rank->stream));
    must(aclrtValueWrite(s.word, rank->id + 1 != rank->count, 0, rank->stream));
    replay(graph, rank->stream);
    must_be(aclrtSynchronizeStream(rank->stream), ACL_ERROR_RT_INTERNAL_ERROR);
    const char *text = rank_error_text();
    must_hold(strstr(text, "AllReduce") != NULL && strstr(text, "Broadcast") != NULL,
            "not both calls are named: \"%s\"", text);
    must(aclmdlRIDestroy(graph));
    must(HcclCommDestroy(rank->comm));
    rank->comm = NULL;
}

// ----

static void run(rank_fn *fn, const char *what)
{
    const char *const *const expansions[] = { AIV, HOST_TS };
    static const enum rank_mode modes[] = { RANK_PROCESSES, RANK_THREADS };
    for (int e = 0; e < 2; e++) {
        for (int m = 0; m < 2; m++) {
            const struct rank_job job = {
                .ranks = 2, .mode = modes[m], .fn = fn, .env = expansions[e], .timeout_s = 60
            };
            assert_job(&job, "%s, mode %d, %s", what, (int)modes[m], expansions[e][0]);
        }
    }
}

Test(cond_ranks, a_loop_of_collectives)
{
    run(loop_rank, "a loop");
}

Test(cond_ranks, arms_of_collectives)
{
    run(switch_rank, "arms");
}

Test(cond_ranks, ranks_whose_conditions_differ_are_told_so)
{
    run(differ_rank, "a difference");
}
