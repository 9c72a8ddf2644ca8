// Conditional tasks: what runs. Arms by value, loops whose word every kind of task changes,
// nesting, forks inside, defaults, empty arms, and a thousand replays of it.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <reprise/kernel.h>

#include "support/conds.h"

TestSuite(cond, .init = rules_setup, .fini = rules_teardown, .timeout = 60);

static const uint32_t zero = 0, one = 1;

/* An arm that adds `amount` to rules_calls. */
static uint32_t amounts[ARMS_MAX];

static void add_amount(void *amount)
{
    atomic_fetch_add(&rules_calls, *(int *)amount);
}

static void capture_arm(const struct cond *cond, uint32_t arm, int amount)
{
    amounts[arm] = (uint32_t)amount;
    arm_begin(cond, arm, rules.b);
    ok(aclrtLaunchHostFunc(rules.b, add_amount, &amounts[arm]));
    arm_end(rules.b);
}

static void run_with(aclmdlRI graph, const struct cond *cond, uint64_t value, int expected)
{
    const int before = atomic_load(&rules_calls);
    ok(aclrtValueWrite(cond->word, value, 0, rules.c));
    ok(aclmdlRIExecuteAsync(graph, rules.c));
    ok(aclrtSynchronizeStream(rules.c));
    const int made = atomic_load(&rules_calls) - before;
    cr_assert(eq(int, made, expected), "value %llu", (unsigned long long)value);
}

// ---- which arm ----

Test(cond, if_runs_its_first_arm_for_any_value_but_zero)
{
    const uint64_t values[] = { 1, 2, UINT64_C(1) << 32, UINT64_MAX };
    for (uint32_t size = 1; size <= 2; size++) {
        static struct cond cond;
        begin(rules.a, GLOBAL);
        cond_put(&cond, rules.a, IF, size, NULL);
        capture_arm(&cond, 0, 1);
        if (size == 2) {
            capture_arm(&cond, 1, 100);
        }
        put_call(rules.a); // what follows runs in any case
        aclmdlRI graph = end(rules.a);
        cr_assert(eq(u64, *cond.word, 0));
        run_with(graph, &cond, 0, size == 2 ? 101 : 1);
        for (int v = 0; v < 4; v++) {
            run_with(graph, &cond, values[v], 2);
        }
        ok(aclmdlRIDestroy(graph));
    }
    assert_usable(NULL);
}

Test(cond, switch_runs_the_arm_of_the_value_or_none)
{
    const uint32_t sizes[] = { 1, 2, 5, ARMS_MAX };
    for (int s = 0; s < 4; s++) {
        static struct cond cond;
        const uint32_t size = sizes[s];
        begin(rules.a, GLOBAL);
        cond_put(&cond, rules.a, SWITCH, size, NULL);
        for (uint32_t arm = 0; arm < size; arm++) {
            capture_arm(&cond, arm, (int)arm + 10);
        }
        aclmdlRI graph = end(rules.a);
        for (uint32_t arm = 0; arm < size; arm++) {
            run_with(graph, &cond, arm, (int)arm + 10);
        }
        run_with(graph, &cond, size, 0);
        run_with(graph, &cond, size + 1, 0);
        run_with(graph, &cond, UINT64_C(1) << 32, 0);
        run_with(graph, &cond, UINT64_MAX, 0);
        ok(aclmdlRIDestroy(graph));
    }
    assert_usable(NULL);
}

Test(cond, arms_may_stay_empty)
{
    static struct cond never, captured, loop;
    begin(rules.a, GLOBAL);
    cond_put(&never, rules.a, SWITCH, 3, NULL);
    capture_arm(&never, 1, 5); // 0 and 2 are captured by nobody
    cond_put(&captured, rules.a, IF, 2, NULL);
    arm_begin(&captured, 0, rules.b);
    arm_end(rules.b);
    cond_put(&loop, rules.a, WHILE, 1, &zero);
    put_call(rules.a);
    aclmdlRI graph = end(rules.a);
    run_with(graph, &never, 0, 1);
    run_with(graph, &never, 1, 6);
    run_with(graph, &never, 2, 1);
    run_with(graph, &captured, 1, 1 + 0);
    run_with(graph, &captured, 0, 1 + 0);
    ok(aclmdlRIDestroy(graph));
    assert_usable(NULL);
}

// ---- the word ----

Test(cond, a_default_is_written_at_the_start_of_each_execution)
{
    static struct cond with, without;
    const uint32_t default_value = 2;
    begin(rules.a, GLOBAL);
    cond_put(&with, rules.a, SWITCH, 4, &default_value);
    cond_put(&without, rules.a, SWITCH, 4, NULL);
    for (uint32_t arm = 0; arm < 4; arm++) {
        capture_arm(&with, arm, 1 << arm);
        arm_begin(&without, arm, rules.b);
        static int tens[4] = { 100, 200, 400, 800 };
        ok(aclrtLaunchHostFunc(rules.b, add_amount, &tens[arm]));
        arm_end(rules.b);
    }
    aclmdlRI graph = end(rules.a);
    run_with(graph, &with, 3, 4 + 100); // what was written before does not count
    cr_assert(eq(u64, *with.word, 2));
    run_with(graph, &without, 3, 4 + 800);
    run_calls(graph, rules.a, 4 + 800); // this one keeps its value
    ok(aclmdlRIDestroy(graph));
    assert_usable(NULL);
}

/* The words of two graphs, and of two handles, are their own; zero at first. */
Test(cond, every_handle_has_a_word)
{
    static struct cond conds[40];
    begin(rules.a, GLOBAL);
    for (int c = 0; c < 40; c++) {
        cond_handle(&conds[c], rules.a, NULL);
        cr_assert(eq(u64, *conds[c].word, 0));
        cr_assert(eq(u64, (uintptr_t)conds[c].word % 8, 0));
        *conds[c].word = (uint64_t)c + 1;
    }
    for (int c = 0; c < 40; c++) {
        cr_assert(eq(u64, *conds[c].word, (uint64_t)c + 1));
    }
    aclmdlRI graph = end(rules.a); // handles that decide nothing are no error
    run_calls(graph, rules.a, 0);
    ok(aclmdlRIDestroy(graph));
}

// ---- loops ----

/* What takes one off the word, as a task inside the loop's arm. */
struct loop {
    struct cond cond;
    aclrtFuncHandle kernel;
    uint64_t *stairs; // device memory: stairs[i] = i - 1
    int steps;
};

static void step_down(void *word)
{
    --*(uint64_t *)word;
}

static void by_host_function(struct loop *loop)
{
    ok(aclrtLaunchHostFunc(rules.b, step_down, loop->cond.word));
}

/* word = stairs[word], by a host function that stores what a captured copy moves to the word. */
static void next_stair(void *arg)
{
    struct loop *loop = arg;
    loop->stairs[100] = loop->stairs[*loop->cond.word];
}

static void by_copy(struct loop *loop)
{
    ok(aclrtLaunchHostFunc(rules.b, next_stair, loop));
    ok(aclrtMemcpyAsync(
            loop->cond.word, 8, &loop->stairs[100], 8, ACL_MEMCPY_DEVICE_TO_DEVICE, rules.b));
}

/* One pass only: the value is fixed by the capture. */
static void by_value_write(struct loop *loop)
{
    ok(aclrtValueWrite(loop->cond.word, 0, 0, rules.b));
}

static void kernel_step_down(void *args, uint32_t block, uint32_t blocks)
{
    (void)blocks;
    if (block == 0) {
        --**(uint64_t *const *)args;
    }
}

static void by_kernel(struct loop *loop)
{
    ok(aclrtLaunchKernel(loop->kernel, 4, &loop->cond.word, sizeof(loop->cond.word), rules.b));
}

static void by_fill(struct loop *loop)
{
    ok(aclrtMemsetAsync(loop->cond.word, 8, 0, 8, rules.b));
}

Test(cond, every_kind_of_task_changes_the_word_of_a_loop)
{
    static struct loop loop;
    const struct {
        void (*put)(struct loop *loop);
        bool counts; // else it ends the loop at once
    } ways[] = { { by_host_function, true }, { by_copy, true }, { by_value_write, false },
        { by_kernel, true }, { by_fill, false } };
    ok(reprise_kernel_register("step_down", kernel_step_down, &loop.kernel));
    ok(aclrtMalloc((void **)&loop.stairs, 101 * 8, ACL_MEM_MALLOC_HUGE_FIRST));
    for (uint64_t i = 1; i < 100; i++) {
        loop.stairs[i] = i - 1;
    }
    for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
        begin(rules.a, GLOBAL);
        cond_put(&loop.cond, rules.a, WHILE, 1, NULL);
        arm_begin(&loop.cond, 0, rules.b);
        put_call(rules.b);
        ways[w].put(&loop);
        arm_end(rules.b);
        aclmdlRI graph = end(rules.a);
        for (uint64_t passes = 0; passes < 100; passes = 2 * passes + 1) {
            run_with(graph, &loop.cond, passes, ways[w].counts || passes == 0 ? (int)passes : 1);
            cr_assert(eq(u64, *loop.cond.word, 0));
        }
        ok(aclmdlRIDestroy(graph));
    }
    ok(aclrtFree(loop.stairs));
    ok(reprise_kernel_unregister(loop.kernel));
    assert_usable(NULL);
}

Test(cond, a_loop_of_a_hundred_thousand_passes)
{
    static struct cond cond;
    begin(rules.a, GLOBAL);
    cond_put(&cond, rules.a, WHILE, 1, NULL);
    arm_begin(&cond, 0, rules.b);
    ok(aclrtLaunchHostFunc(rules.b, step_down, cond.word));
    arm_end(rules.b);
    aclmdlRI graph = end(rules.a);
    run_with(graph, &cond, 100000, 0);
    cr_assert(eq(u64, *cond.word, 0));
    ok(aclmdlRIDestroy(graph));
}

// ---- forks ----

/* The arm has a fork and a join of its own, and so has the graph around it. */
Test(cond, an_arm_forks_and_joins)
{
    static struct cond cond;
    aclrtStream d = NULL;
    ok(aclrtCreateStream(&d));
    begin(rules.a, GLOBAL);
    join(d, rules.a);
    put_call(d);
    cond_put(&cond, rules.a, WHILE, 1, NULL);
    arm_begin(&cond, 0, rules.b);
    join(rules.c, rules.b);
    cr_assert(eq(ptr, capture_graph(rules.c), cond.arm[0]));
    put_call(rules.c);
    put_call(rules.b);
    join_back(rules.c, rules.b);
    ok(aclrtLaunchHostFunc(rules.b, step_down, cond.word));
    arm_end(rules.b);
    cr_assert(eq(int, (int)capture_status(rules.c), (int)ACL_MODEL_RI_CAPTURE_STATUS_NONE));
    join_back(d, rules.a);
    aclmdlRI graph = end(rules.a);
    for (uint64_t passes = 0; passes < 50; passes++) {
        run_with(graph, &cond, passes, 1 + 2 * (int)passes);
    }
    ok(aclmdlRIDestroy(graph));
    ok(aclrtDestroyStream(d));
    assert_usable(NULL);
}

/* A conditional on a joined stream; what comes behind the join waits for it. */
static void note_passes(void *passes)
{
    *(int *)passes = atomic_load(&rules_calls);
}

Test(cond, a_conditional_on_a_joined_stream_is_waited_for)
{
    static struct cond cond;
    int seen = -1;
    aclrtStream d = NULL;
    ok(aclrtCreateStream(&d));
    begin(rules.a, GLOBAL);
    join(d, rules.a);
    cond_put(&cond, d, WHILE, 1, NULL);
    arm_begin(&cond, 0, rules.b);
    put_call(rules.b);
    ok(aclrtLaunchHostFunc(rules.b, step_down, cond.word));
    arm_end(rules.b);
    join_back(d, rules.a);
    ok(aclrtLaunchHostFunc(rules.a, note_passes, &seen));
    aclmdlRI graph = end(rules.a);
    for (uint64_t passes = 1; passes < 40; passes++) {
        const int before = atomic_load(&rules_calls);
        run_with(graph, &cond, passes, (int)passes);
        cr_assert(eq(int, seen, before + (int)passes));
    }
    ok(aclmdlRIDestroy(graph));
    ok(aclrtDestroyStream(d));
}

// ---- nesting ----

/* A loop in a loop: the inner one's word is set anew in each pass of the outer one. */
static void set_inner(void *word)
{
    *(uint64_t *)word = 3;
}

Test(cond, a_loop_in_a_loop)
{
    static struct cond outer, inner;
    begin(rules.a, GLOBAL);
    cond_put(&outer, rules.a, WHILE, 1, NULL);
    arm_begin(&outer, 0, rules.b);
    cond_handle(&inner, rules.b, NULL); // of the outer arm's graph
    ok(aclrtLaunchHostFunc(rules.b, set_inner, inner.word));
    ok(cond_add(&inner, rules.b, WHILE, 1));
    arm_begin(&inner, 0, rules.c);
    put_call(rules.c);
    ok(aclrtLaunchHostFunc(rules.c, step_down, inner.word));
    arm_end(rules.c);
    ok(aclrtLaunchHostFunc(rules.b, step_down, outer.word));
    arm_end(rules.b);
    aclmdlRI graph = end(rules.a);
    for (uint64_t passes = 0; passes < 30; passes++) {
        run_with(graph, &outer, passes, 3 * (int)passes);
    }
    ok(aclmdlRIDestroy(graph));
    assert_usable(NULL);
}

#define DEPTH 12

/* Twelve levels: level i runs its arm if bit i of the value is set, and so does what is in it. */
Test(cond, twelve_levels)
{
    static struct cond level[DEPTH];
    aclrtStream stream[DEPTH + 1];
    stream[0] = rules.a;
    begin(rules.a, GLOBAL);
    for (int i = 0; i < DEPTH; i++) {
        ok(aclrtCreateStream(&stream[i + 1]));
        cond_put(&level[i], stream[i], IF, 1, NULL);
        arm_begin(&level[i], 0, stream[i + 1]);
        put_call(stream[i + 1]);
    }
    for (int i = DEPTH; i > 0; i--) {
        arm_end(stream[i]);
        ok(aclrtDestroyStream(stream[i]));
    }
    aclmdlRI graph = end(rules.a);
    for (unsigned bits = 0; bits < 1 << DEPTH; bits += 37) {
        int expected = 0;
        while (expected < DEPTH && (bits >> expected & 1) != 0) {
            expected++;
        }
        for (int i = 0; i < DEPTH; i++) {
            *level[i].word = bits >> i & 1;
        }
        run_calls(graph, rules.c, expected);
    }
    ok(aclmdlRIDestroy(graph));
    assert_usable(NULL);
}

// ---- with everything else ----

/* A collective inside; ten thousand passes. On more ranks: tests/ranks/test_cond_ranks.c. */
Test(cond, a_collective_in_an_arm)
{
    static struct cond cond;
    HcclComm comm = rules_comm();
    begin(rules.a, GLOBAL);
    cond_put(&cond, rules.a, WHILE, 1, NULL);
    arm_begin(&cond, 0, rules.b);
    ok(HcclAllReduce(
            rules.device, rules.other, 1, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, comm, rules.b));
    ok(aclrtLaunchHostFunc(rules.b, step_down, cond.word));
    arm_end(rules.b);
    ok(HcclAllReduce(rules.other, rules.other + 1, 1, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, comm,
            rules.a));
    aclmdlRI graph = end(rules.a);
    *rules.device = 4;
    run_with(graph, &cond, 0, 0);
    cr_assert(eq(u32, rules.other[1], 0)); // the arm did not run
    for (uint32_t round = 5; round < 105; round++) {
        *rules.device = round;
        run_with(graph, &cond, 100, 0);
        cr_assert(eq(u32, rules.other[1], round));
    }
    ok(aclmdlRIDestroy(graph));
    assert_usable(NULL);
}

/* Captured in another thread than the graph around it, in any mode. */
static void capture_arm_there(void *cond)
{
    capture_arm(cond, 0, 1);
}

Test(cond, an_arm_may_be_captured_in_another_thread)
{
    static struct cond cond;
    begin(rules.a, GLOBAL);
    cond_put(&cond, rules.a, IF, 1, &one);
    in_thread(capture_arm_there, &cond);
    aclmdlRI graph = end(rules.a);
    for (int round = 0; round < 1000; round++) {
        run_calls(graph, round % 2 == 0 ? rules.a : rules.b, 1);
    }
    ok(aclmdlRIDestroy(graph));
    assert_usable(NULL);
}

/* Several executions queued at once run one after another, each with its own default. */
Test(cond, queued_executions)
{
    static struct cond cond;
    const uint32_t passes = 7;
    begin(rules.a, GLOBAL);
    cond_put(&cond, rules.a, WHILE, 1, &passes);
    arm_begin(&cond, 0, rules.b);
    put_call(rules.b);
    ok(aclrtLaunchHostFunc(rules.b, step_down, cond.word));
    arm_end(rules.b);
    aclmdlRI graph = end(rules.a);
    for (int i = 0; i < 64; i++) {
        ok(aclmdlRIExecuteAsync(graph, i % 2 == 0 ? rules.a : rules.c));
    }
    ok(aclrtSynchronizeDevice());
    cr_assert(eq(int, atomic_load(&rules_calls), 64 * 7));
    ok(aclmdlRIDestroy(graph));
    assert_usable(NULL);
}
