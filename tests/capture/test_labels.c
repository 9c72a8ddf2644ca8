// Labels: loops and branches inside a built graph, and what is refused.

#include "support/acl_test.h"
#include "support/build_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <reprise/kernel.h>

TestSuite(labels, .init = on_device, .timeout = 60);

static int calls;

static void count_call(void *arg)
{
    (void)arg;
    calls++;
}

static void count_in(void *counter)
{
    ++*(int *)counter;
}

// ---- loops ----

// What a loop does goes to the end of a list in device memory, so that order is seen, too.
struct trace {
    uint32_t count;
    uint32_t what[4096];
};

struct note {
    struct trace *trace;
    uint32_t what;
};

static void write_note(void *arg)
{
    const struct note *note = arg;
    note->trace->what[note->trace->count++] = note->what;
}

static void expect_trace(const struct trace *trace, const uint32_t *what, uint32_t count)
{
    cr_assert(eq(u32, trace->count, count));
    cr_assert(eq(int, memcmp(trace->what, what, count * sizeof(*what)), 0));
}

Test(labels, a_loop_of_copies_runs_as_often_as_its_counter_says)
{
    static const uint32_t passes[] = { 1, 2, 3, 17, 60 };
    for (size_t p = 0; p < sizeof(passes) / sizeof(passes[0]); p++) {
        const struct labels labels = make_labels(2);
        struct counter counter = make_counter(passes[p]);
        aclmdlRI graph = begin_graph();
        aclrtStream stream = bound_stream(graph, HEAD);
        counter_start(counter, stream);
        WORKS(aclrtSetLabel(labels.label[0], stream));
        WORKS(aclrtLaunchHostFunc(stream, count_call, NULL));
        counter_step(counter, stream);
        switch_label(labels, counter.list, stream);
        WORKS(aclrtSetLabel(labels.label[1], stream));
        end_graph(graph, stream);
        for (int round = 0; round < 200; round++) {
            calls = 0;
            WORKS(aclmdlRIExecute(graph, 30000));
            cr_assert(eq(int, calls, (int)passes[p]));
        }
        WORKS(aclmdlRIDestroy(graph));
        WORKS(aclrtDestroyStream(stream));
        free_labels(labels);
        free_counter(counter);
    }
}

struct step_args {
    uint32_t *left;  // passes to go
    uint32_t *which; // 0 while there are some
    uint64_t *sum;
};

static void step_kernel(void *args, uint32_t block, uint32_t blocks)
{
    const struct step_args *a = args;
    (void)blocks;
    if (block == 0) {
        *a->sum += *a->left;
        --*a->left;
        *a->which = *a->left == 0;
    }
}

Test(labels, a_loop_that_a_kernel_counts)
{
    const struct labels labels = make_labels(2);
    uint32_t *word = device_bytes(2 * sizeof(uint32_t));
    uint64_t *sum = device_bytes(sizeof(uint64_t));
    const struct step_args args = { .left = word, .which = word + 1, .sum = sum };
    aclrtFuncHandle function = NULL;
    WORKS(reprise_kernel_register("step", step_kernel, &function));
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    WORKS(aclrtSetLabel(labels.label[0], stream));
    WORKS(aclrtLaunchKernel(function, 1, &args, sizeof(args), stream));
    switch_label(labels, args.which, stream);
    WORKS(aclrtSetLabel(labels.label[1], stream));
    end_graph(graph, stream);
    for (uint32_t passes = 1; passes <= 300; passes++) {
        *sum = 0;
        word[0] = passes;
        WORKS(aclmdlRIExecute(graph, -1));
        cr_assert(eq(u64, *sum, (uint64_t)passes * (passes + 1) / 2));
    }
    WORKS(aclmdlRIDestroy(graph));
    free_labels(labels);
}

Test(labels, loops_are_nested)
{
    enum { OUTER = 5, INNER = 7 };
    const struct labels outer = make_labels(2);
    const struct labels inner = make_labels(2);
    struct counter slow = make_counter(OUTER);
    struct counter fast = make_counter(INNER);
    static struct trace trace;
    static struct note notes[] = { { &trace, 1 }, { &trace, 2 }, { &trace, 3 } };
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    counter_start(slow, stream);
    WORKS(aclrtSetLabel(outer.label[0], stream));
    WORKS(aclrtLaunchHostFunc(stream, write_note, &notes[0]));
    counter_start(fast, stream);
    WORKS(aclrtSetLabel(inner.label[0], stream));
    WORKS(aclrtLaunchHostFunc(stream, write_note, &notes[1]));
    counter_step(fast, stream);
    switch_label(inner, fast.list, stream);
    WORKS(aclrtSetLabel(inner.label[1], stream));
    WORKS(aclrtLaunchHostFunc(stream, write_note, &notes[2]));
    counter_step(slow, stream);
    switch_label(outer, slow.list, stream);
    WORKS(aclrtSetLabel(outer.label[1], stream));
    end_graph(graph, stream);
    uint32_t expected[OUTER * (INNER + 2)];
    uint32_t count = 0;
    for (int o = 0; o < OUTER; o++) {
        expected[count++] = 1;
        for (int i = 0; i < INNER; i++) {
            expected[count++] = 2;
        }
        expected[count++] = 3;
    }
    for (int round = 0; round < 50; round++) {
        trace.count = 0;
        WORKS(aclmdlRIExecute(graph, 30000));
        expect_trace(&trace, expected, count);
    }
    WORKS(aclmdlRIDestroy(graph));
    free_labels(outer);
    free_labels(inner);
}

// ---- branches ----

Test(labels, an_index_beyond_the_last_label_means_the_last_one)
{
    enum { CHOICES = 4 };
    const struct labels labels = make_labels(CHOICES);
    const struct labels end = make_labels(1);
    uint32_t *which = device_bytes(sizeof(uint32_t));
    uint32_t *zero = device_bytes(sizeof(uint32_t));
    static int taken[CHOICES];
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    switch_label(labels, which, stream);
    for (int i = 0; i < CHOICES; i++) {
        WORKS(aclrtSetLabel(labels.label[i], stream));
        WORKS(aclrtLaunchHostFunc(stream, count_in, &taken[i]));
        switch_label(end, zero, stream);
    }
    WORKS(aclrtSetLabel(end.label[0], stream)); // nothing is behind it but the end
    end_graph(graph, stream);
    static const uint32_t values[] = { 0, 1, 2, 3, 4, 5, 1000, UINT32_MAX };
    for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
        memset(taken, 0, sizeof(taken));
        *which = values[v];
        WORKS(aclmdlRIExecute(graph, 30000));
        const uint32_t expected = values[v] < CHOICES ? values[v] : CHOICES - 1;
        for (uint32_t i = 0; i < CHOICES; i++) {
            cr_assert(eq(int, taken[i], i == expected), "value %u, label %u", values[v], i);
        }
    }
    WORKS(aclmdlRIDestroy(graph));
    free_labels(labels);
    free_labels(end);
}

Test(labels, only_so_many_of_a_list_are_chosen_from)
{
    const struct labels labels = make_labels(3); // the last one is set nowhere
    uint32_t *which = device_bytes(sizeof(uint32_t));
    static int taken[2];
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    WORKS(aclrtSwitchLabelByIndex(which, 2, labels.list, stream));
    WORKS(aclrtSetLabel(labels.label[0], stream));
    WORKS(aclrtLaunchHostFunc(stream, count_in, &taken[0]));
    WORKS(aclrtSetLabel(labels.label[1], stream));
    WORKS(aclrtLaunchHostFunc(stream, count_in, &taken[1]));
    end_graph(graph, stream);
    *which = 2;
    WORKS(aclmdlRIExecute(graph, 30000));
    cr_assert(eq(int, taken[0], 0));
    cr_assert(eq(int, taken[1], 1));
    *which = 0;
    WORKS(aclmdlRIExecute(graph, 30000));
    cr_assert(eq(int, taken[0], 1));
    cr_assert(eq(int, taken[1], 2));
    WORKS(aclmdlRIDestroy(graph));
    free_labels(labels);
}

// The loop goes over three streams: whoever jumps away ends, and the next one goes on at its label.
Test(labels, a_switch_to_another_stream_ends_the_own_one)
{
    struct counter counter = make_counter(12);
    const struct labels to_second = make_labels(1);
    const struct labels to_third = make_labels(1);
    const struct labels back = make_labels(2);
    uint32_t *zero = device_bytes(sizeof(uint32_t));
    static struct trace trace;
    static struct note notes[] = { { &trace, 0 }, { &trace, 1 }, { &trace, 2 }, { &trace, 9 } };
    aclmdlRI graph = begin_graph();
    aclrtStream third = bound_stream(graph, ON_DEMAND);
    aclrtStream second = bound_stream(graph, ON_DEMAND);
    aclrtStream first = bound_stream(graph, HEAD);
    counter_start(counter, first);
    WORKS(aclrtSetLabel(back.label[0], first));
    WORKS(aclrtLaunchHostFunc(first, write_note, &notes[0]));
    switch_label(to_second, zero, first);
    WORKS(aclrtLaunchHostFunc(first, write_note, &notes[3]));  // never
    WORKS(aclrtLaunchHostFunc(second, write_note, &notes[3])); // before the label
    WORKS(aclrtSetLabel(to_second.label[0], second));
    WORKS(aclrtLaunchHostFunc(second, write_note, &notes[1]));
    switch_label(to_third, zero, second);
    WORKS(aclrtSetLabel(to_third.label[0], third));
    WORKS(aclrtLaunchHostFunc(third, write_note, &notes[2]));
    counter_step(counter, third);
    switch_label(back, counter.list, third);
    WORKS(aclrtSetLabel(back.label[1], third));
    end_graph(graph, third);
    uint32_t expected[36];
    for (uint32_t i = 0; i < 36; i++) {
        expected[i] = i % 3;
    }
    for (int round = 0; round < 100; round++) {
        trace.count = 0;
        WORKS(aclmdlRIExecute(graph, 30000));
        expect_trace(&trace, expected, 36);
    }
    WORKS(aclmdlRIDestroy(graph));
}

// Twenty programs of random branches, against a machine that does the same on paper.
#define BLOCKS 6
#define FUEL 200 // jumps, then the end

struct machine {
    uint32_t where[BLOCKS][BLOCKS]; // block, how often it was there: label to go to
    uint32_t visits[BLOCKS];
    uint32_t left;
    uint32_t *which; // device word
    struct trace trace;
};

struct visit {
    struct machine *machine;
    uint32_t block;
};

static uint32_t next_block(struct machine *m, uint32_t block)
{
    m->trace.what[m->trace.count++] = block;
    if (m->left == 0) {
        return BLOCKS; // the last label: the end
    }
    m->left--;
    return m->where[block][m->visits[block]++ % BLOCKS];
}

static void visit_block(void *arg)
{
    struct visit *visit = arg;
    *visit->machine->which = next_block(visit->machine, visit->block);
}

static void rewind_machine(struct machine *m)
{
    memset(m->visits, 0, sizeof(m->visits));
    m->left = FUEL;
    m->trace.count = 0;
}

Test(labels, random_branches_over_random_streams_go_where_they_should)
{
    static struct machine machine;
    static struct machine paper;
    for (unsigned seed = 1; seed <= 20; seed++) {
        srand(seed);
        const struct labels labels = make_labels(BLOCKS + 1);
        struct visit visits[BLOCKS];
        aclmdlRI graph = begin_graph();
        aclrtStream stream[3];
        for (int s = 0; s < 3; s++) {
            stream[s] = bound_stream(graph, s == 0 ? HEAD : ON_DEMAND);
        }
        machine.which = device_bytes(sizeof(uint32_t));
        for (uint32_t b = 0; b < BLOCKS; b++) {
            for (uint32_t v = 0; v < BLOCKS; v++) {
                machine.where[b][v] = (uint32_t)rand() % BLOCKS;
            }
            visits[b] = (struct visit){ &machine, b };
            const int s = b == 0 ? 0 : rand() % 3;
            WORKS(aclrtSetLabel(labels.label[b], stream[s]));
            WORKS(aclrtLaunchHostFunc(stream[s], visit_block, &visits[b]));
            switch_label(labels, machine.which, stream[s]);
        }
        const int last = rand() % 3;
        WORKS(aclrtSetLabel(labels.label[BLOCKS], stream[last]));
        end_graph(graph, stream[last]);
        memcpy(paper.where, machine.where, sizeof(paper.where));
        rewind_machine(&paper);
        for (uint32_t b = 0; b < BLOCKS;) {
            b = next_block(&paper, b);
        }
        for (int round = 0; round < 5; round++) {
            rewind_machine(&machine);
            WORKS(aclmdlRIExecute(graph, 30000));
            expect_trace(&machine.trace, paper.trace.what, paper.trace.count);
        }
        WORKS(aclmdlRIDestroy(graph));
        WORKS(aclrtFree(machine.which));
        free_labels(labels);
        for (int s = 0; s < 3; s++) {
            WORKS(aclrtDestroyStream(stream[s]));
        }
    }
}

// ---- life ----

Test(labels, may_be_destroyed_while_their_graph_lives)
{
    aclrtStream stream = NULL;
    uint32_t *again = NULL;
    aclmdlRI graph = endless_graph(&stream, &again); // its labels are gone
    ANSWERS(507046, aclmdlRIExecute(graph, 5));
    WORKS(aclmdlRIAbort(graph));
    WORKS(aclmdlRIDestroy(graph));
}

Test(labels, stand_in_one_place_and_are_free_when_the_graph_is_gone)
{
    const struct labels labels = make_labels(1);
    aclmdlRI graph = begin_graph();
    aclmdlRI other = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    aclrtStream second = bound_stream(other, HEAD);
    uint32_t *zero = device_bytes(sizeof(uint32_t));
    WORKS(aclrtSetLabel(labels.label[0], stream));
    ANSWERS(107000, aclrtSetLabel(labels.label[0], stream));
    ANSWERS(107000, aclrtSetLabel(labels.label[0], second));
    switch_label(labels, zero, second);
    ANSWERS(507011, aclmdlRIBuildEnd(other, NULL)); // it stands in the first one
    WORKS(aclmdlRIDestroy(graph));
    ANSWERS(507011, aclmdlRIBuildEnd(other, NULL));       // nowhere
    WORKS(aclrtLaunchHostFunc(second, count_call, NULL)); // jumped over
    WORKS(aclrtSetLabel(labels.label[0], second));
    WORKS(aclrtLaunchHostFunc(second, count_call, NULL));
    end_graph(other, second);
    WORKS(aclmdlRIExecute(other, 30000));
    cr_assert(eq(int, calls, 1));
    WORKS(aclmdlRIDestroy(other));
    free_labels(labels);
}

Test(labels, of_a_process_are_65535)
{
    static aclrtLabel all[65535];
    aclrtLabel one = NULL;
    for (int i = 0; i < 65535; i++) {
        WORKS(aclrtCreateLabel(&all[i]));
    }
    ANSWERS(207005, aclrtCreateLabel(&one));
    aclrtLabelList list = NULL;
    WORKS(aclrtCreateLabelList(all, 65535, &list));
    WORKS(aclrtDestroyLabel(all[7]));
    ANSWERS(207005, aclrtCreateLabel(&one)); // the list has it still
    WORKS(aclrtDestroyLabelList(list));
    WORKS(aclrtCreateLabel(&all[7]));
    for (int i = 0; i < 65535; i++) {
        WORKS(aclrtDestroyLabel(all[i]));
    }
}

// What a graph costs to freeze does not grow with labels times tasks: the pairs here are 2^34.
Test(labels, many_switches_among_many_labels_freeze_at_once, .timeout = 20)
{
    static aclrtLabel all[65535];
    aclrtLabelList list = NULL;
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    uint32_t *which = device_bytes(sizeof(uint32_t));
    for (int i = 0; i < 65535; i++) {
        WORKS(aclrtCreateLabel(&all[i]));
    }
    WORKS(aclrtCreateLabelList(all, 65535, &list));
    for (int i = 0; i < 4; i++) {
        WORKS(aclrtSwitchLabelByIndex(which, 65535, list, stream));
    }
    for (int i = 0; i < 65535; i++) {
        WORKS(aclrtSetLabel(all[i], stream));
        if (i == 65000) {
            WORKS(aclrtLaunchHostFunc(stream, count_call, NULL));
        }
    }
    end_graph(graph, stream);
    *which = 65000;
    WORKS(aclmdlRIExecute(graph, -1));
    cr_assert(eq(int, calls, 1));
    *which = 65001;
    WORKS(aclmdlRIExecute(graph, -1));
    cr_assert(eq(int, calls, 1)); // it stands behind the function
    WORKS(aclmdlRIDestroy(graph));
}

// ---- what is refused ----

Test(labels, codes_of_labels_and_lists)
{
    aclrtLabel label = NULL;
    aclrtLabel gone = NULL;
    aclrtLabelList list = NULL;
    ANSWERS(100000, aclrtCreateLabel(NULL));
    WORKS(aclrtCreateLabel(&label));
    WORKS(aclrtCreateLabel(&gone));
    WORKS(aclrtDestroyLabel(gone));
    ANSWERS(100000, aclrtDestroyLabel(NULL));
    ANSWERS(107017, aclrtDestroyLabel(gone));
    aclrtLabel labels[2] = { label, NULL };
    ANSWERS(100000, aclrtCreateLabelList(NULL, 1, &list));
    ANSWERS(100000, aclrtCreateLabelList(labels, 1, NULL));
    ANSWERS(107000, aclrtCreateLabelList(labels, 0, &list));
    ANSWERS(107000, aclrtCreateLabelList(labels, 65536, &list));
    ANSWERS(100000, aclrtCreateLabelList(labels, 2, &list));
    labels[1] = gone;
    ANSWERS(107017, aclrtCreateLabelList(labels, 2, &list));
    cr_assert(eq(ptr, list, NULL));
    WORKS(aclrtCreateLabelList(labels, 1, &list));
    WORKS(aclrtDestroyLabelList(list));
    ANSWERS(100000, aclrtDestroyLabelList(NULL));
    ANSWERS(107017, aclrtDestroyLabelList(list));
    WORKS(aclrtDestroyLabel(label));
}

Test(labels, codes_of_set_and_switch)
{
    const struct labels labels = make_labels(2);
    uint32_t *word = device_bytes(2 * sizeof(uint32_t));
    uint32_t *pinned = NULL;
    uint32_t pageable = 0;
    aclrtLabel gone = NULL;
    aclrtStream plain = plain_stream();
    aclrtStream loose = persistent_stream();
    WORKS(aclrtMallocHost((void **)&pinned, 64));
    WORKS(aclrtCreateLabel(&gone));
    WORKS(aclrtDestroyLabel(gone));
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    ANSWERS(100000, aclrtSetLabel(NULL, stream));
    ANSWERS(107017, aclrtSetLabel(gone, stream));
    ANSWERS(107005, aclrtSetLabel(labels.label[0], NULL));
    ANSWERS(107005, aclrtSetLabel(labels.label[0], plain));
    ANSWERS(107005, aclrtSetLabel(labels.label[0], loose));
    ANSWERS(100000, aclrtSwitchLabelByIndex(NULL, 2, labels.list, stream));
    ANSWERS(100000, aclrtSwitchLabelByIndex(word, 2, NULL, stream));
    ANSWERS(107017, aclrtSwitchLabelByIndex(word, 2, &pageable, stream));
    ANSWERS(107000, aclrtSwitchLabelByIndex(&pageable, 2, labels.list, stream));
    ANSWERS(107000, aclrtSwitchLabelByIndex(pinned, 2, labels.list, stream));
    ANSWERS(107000, aclrtSwitchLabelByIndex((char *)word + 1, 2, labels.list, stream));
    ANSWERS(107000, aclrtSwitchLabelByIndex(word, 0, labels.list, stream));
    ANSWERS(107000, aclrtSwitchLabelByIndex(word, 3, labels.list, stream));
    ANSWERS(107005, aclrtSwitchLabelByIndex(word, 2, labels.list, NULL));
    ANSWERS(107005, aclrtSwitchLabelByIndex(word, 2, labels.list, plain));
    ANSWERS(107005, aclrtSwitchLabelByIndex(word, 2, labels.list, loose));
    WORKS(aclmdlRICaptureBegin(plain, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    ANSWERS(107027, aclrtSetLabel(labels.label[0], plain));
    ANSWERS(107027, aclrtSwitchLabelByIndex(word, 2, labels.list, plain));
    aclmdlRI captured = NULL;
    WORKS(aclmdlRICaptureEnd(plain, &captured)); // still valid
    WORKS(aclmdlRIDestroy(captured));
    end_graph(graph, stream); // nothing of the above is in it
    ANSWERS(107005, aclrtSetLabel(labels.label[0], stream));
    WORKS(aclmdlRIExecute(graph, 30000));
    WORKS(aclmdlRIDestroy(graph));
    free_labels(labels);
}

Test(labels, of_another_context)
{
    aclrtContext first = NULL;
    aclrtContext second = NULL;
    const struct labels labels = make_labels(1);
    uint32_t *word = device_bytes(sizeof(uint32_t));
    WORKS(aclrtGetCurrentContext(&first));
    WORKS(aclrtCreateContext(&second, 0));
    aclmdlRI graph = begin_graph();
    aclrtStream stream = bound_stream(graph, HEAD);
    ANSWERS(507031, aclrtSetLabel(labels.label[0], stream));
    ANSWERS(507031, aclrtSwitchLabelByIndex(word, 1, labels.list, stream));
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtDestroyContext(second));
    WORKS(aclrtSetCurrentContext(first));
    free_labels(labels);
}

Test(labels, codes_of_active_and_switch_stream)
{
    int64_t *word = device_bytes(4 * sizeof(int64_t));
    int64_t pageable[2] = { 0, 0 };
    aclrtStream plain = plain_stream();
    aclrtStream loose = persistent_stream();
    aclmdlRI graph = begin_graph();
    aclmdlRI other = begin_graph();
    aclrtStream head = bound_stream(graph, HEAD);
    aclrtStream side = bound_stream(graph, ON_DEMAND);
    aclrtStream foreign = bound_stream(other, ON_DEMAND);
    ANSWERS(100000, aclrtActiveStream(NULL, head));
    ANSWERS(107005, aclrtActiveStream(side, NULL));
    ANSWERS(107005, aclrtActiveStream(side, plain));
    ANSWERS(107005, aclrtActiveStream(plain, head));
    ANSWERS(107005, aclrtActiveStream(loose, head));
    ANSWERS(107005, aclrtActiveStream(foreign, head));
    ANSWERS(107000, aclrtActiveStream(head, side));
    ANSWERS(107017, aclrtActiveStream(word, head));
    const aclrtCondition equal = ACL_RT_EQUAL;
    const aclrtCompareDataType wide = ACL_RT_SWITCH_INT64;
    int64_t *right = word + 1;
    ANSWERS(100000, aclrtSwitchStream(NULL, equal, right, wide, side, NULL, head));
    ANSWERS(100000, aclrtSwitchStream(word, equal, NULL, wide, side, NULL, head));
    ANSWERS(100000, aclrtSwitchStream(word, equal, right, wide, NULL, NULL, head));
    ANSWERS(107000, aclrtSwitchStream(word, equal, right, wide, side, side, head));
    ANSWERS(107000, aclrtSwitchStream(word, (aclrtCondition)6, right, wide, side, NULL, head));
    ANSWERS(107000, aclrtSwitchStream(word, (aclrtCondition)-1, right, wide, side, NULL, head));
    ANSWERS(107000,
            aclrtSwitchStream(word, equal, right, (aclrtCompareDataType)2, side, NULL, head));
    ANSWERS(107000, aclrtSwitchStream(pageable, equal, right, wide, side, NULL, head));
    ANSWERS(107000, aclrtSwitchStream(word, equal, pageable, wide, side, NULL, head));
    ANSWERS(107000, aclrtSwitchStream((char *)word + 4, equal, right, wide, side, NULL, head));
    ANSWERS(107000, aclrtSwitchStream(word, equal, right, wide, head, NULL, side));
    ANSWERS(107005, aclrtSwitchStream(word, equal, right, wide, foreign, NULL, head));
    ANSWERS(107005, aclrtSwitchStream(word, equal, right, wide, side, NULL, plain));
    ANSWERS(107005, aclrtSwitchStream(word, equal, right, wide, plain, NULL, head));
    WORKS(aclmdlRICaptureBegin(plain, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    ANSWERS(107027, aclrtActiveStream(side, plain));
    ANSWERS(107027, aclrtSwitchStream(word, equal, right, wide, side, NULL, plain));
    aclmdlRI captured = NULL;
    WORKS(aclmdlRICaptureEnd(plain, &captured));
    WORKS(aclmdlRIDestroy(captured));
    WORKS(aclrtSwitchStream((char *)word + 4, equal, right, ACL_RT_SWITCH_INT32, side, NULL, head));
    end_graph(graph, head);
    WORKS(aclmdlRIExecute(graph, 30000));
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclmdlRIDestroy(other));
}
