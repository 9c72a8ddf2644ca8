#ifndef TESTS_SUPPORT_BUILD_CASE_H
#define TESTS_SUPPORT_BUILD_CASE_H

/*
 * Graphs that are built by hand: what their suites have in common. Whoever includes
 * it has defined WORKS(call): by support/acl_test.h, or as must() in ranks.
 */

#include <acl/acl_mdl.h>
#include <acl/acl_rt.h>
#include <string.h>

#define HEAD ACL_MODEL_STREAM_FLAG_HEAD
#define ON_DEMAND ACL_MODEL_STREAM_FLAG_DEFAULT

static inline aclrtStream persistent_stream(void)
{
    aclrtStream stream = NULL;
    WORKS(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_PERSISTENT));
    return stream;
}

static inline aclrtStream plain_stream(void)
{
    aclrtStream stream = NULL;
    WORKS(aclrtCreateStream(&stream));
    return stream;
}

/** bound_stream: a new stream that is part of `graph`. */
static inline aclrtStream bound_stream(aclmdlRI graph, uint32_t flag)
{
    aclrtStream stream = persistent_stream();
    WORKS(aclmdlRIBindStream(graph, stream, flag));
    return stream;
}

static inline aclmdlRI begin_graph(void)
{
    aclmdlRI graph = NULL;
    WORKS(aclmdlRIBuildBegin(&graph, 0));
    return graph;
}

/** end_graph: `graph`, whose end stands behind `stream`, can run. */
static inline void end_graph(aclmdlRI graph, aclrtStream stream)
{
    WORKS(aclmdlRIEndTask(graph, stream));
    WORKS(aclmdlRIBuildEnd(graph, NULL));
}

static inline void *device_bytes(size_t bytes)
{
    void *memory = NULL;
    WORKS(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(memory, 0, bytes);
    return memory;
}

static inline void copy(aclrtStream stream, void *dst, const void *src, size_t bytes)
{
    WORKS(aclrtMemcpyAsync(dst, bytes, src, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
}

static inline aclrtEvent flag_event(void)
{
    aclrtEvent event = NULL;
    WORKS(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    return event;
}

/** wait_for_flag: wait for the event and lower the flag again. */
static inline void wait_for_flag(aclrtStream stream, aclrtEvent event)
{
    WORKS(aclrtStreamWaitEvent(stream, event));
    WORKS(aclrtResetEvent(event, stream));
}

/*
 * A loop's counter without arithmetic: a list of words that moves down by one each
 * time; its first word is the index of the label to go to, 0 (again) `passes - 1`
 * times and then 1 (on).
 */
#define COUNTER_WORDS 64

struct counter {
    uint32_t *list;  /* device, COUNTER_WORDS */
    uint32_t *spare; /* device */
    uint32_t *fresh; /* device: the list as it begins */
};

static inline struct counter make_counter(uint32_t passes)
{
    const struct counter counter = {
        .list = device_bytes(COUNTER_WORDS * sizeof(uint32_t)),
        .spare = device_bytes(COUNTER_WORDS * sizeof(uint32_t)),
        .fresh = device_bytes(COUNTER_WORDS * sizeof(uint32_t)),
    };
    counter.fresh[passes] = 1;
    return counter;
}

static inline void free_counter(struct counter counter)
{
    WORKS(aclrtFree(counter.list));
    WORKS(aclrtFree(counter.spare));
    WORKS(aclrtFree(counter.fresh));
}

static inline void counter_start(struct counter counter, aclrtStream stream)
{
    copy(stream, counter.list, counter.fresh, COUNTER_WORDS * sizeof(uint32_t));
}

static inline void counter_step(struct counter counter, aclrtStream stream)
{
    const size_t bytes = (COUNTER_WORDS - 1) * sizeof(uint32_t);
    copy(stream, counter.spare, counter.list + 1, bytes);
    copy(stream, counter.list, counter.spare, bytes);
}

struct labels {
    aclrtLabel label[8];
    aclrtLabelList list;
    uint32_t count;
};

static inline struct labels make_labels(uint32_t count)
{
    struct labels labels = { .count = count };
    for (uint32_t i = 0; i < count; i++) {
        WORKS(aclrtCreateLabel(&labels.label[i]));
    }
    WORKS(aclrtCreateLabelList(labels.label, count, &labels.list));
    return labels;
}

static inline void free_labels(struct labels labels)
{
    WORKS(aclrtDestroyLabelList(labels.list));
    for (uint32_t i = 0; i < labels.count; i++) {
        WORKS(aclrtDestroyLabel(labels.label[i]));
    }
}

static inline void switch_label(struct labels labels, uint32_t *which, aclrtStream stream)
{
    WORKS(aclrtSwitchLabelByIndex(which, labels.count, labels.list, stream));
}

/** endless_graph: it jumps to its own beginning until it is aborted. `*again` gets a device word to
 * free afterwards, the labels are freed already. */
static inline aclmdlRI endless_graph(aclrtStream *stream, uint32_t **again)
{
    const struct labels labels = make_labels(1);
    aclmdlRI graph = begin_graph();
    *stream = bound_stream(graph, HEAD);
    *again = device_bytes(sizeof(uint32_t));
    WORKS(aclrtSetLabel(labels.label[0], *stream));
    switch_label(labels, *again, *stream);
    end_graph(graph, *stream);
    free_labels(labels);
    return graph;
}

#endif
