// Captures that are ended too early: somewhere in a segment, with streams not joined, a group or a
// body open. They fail with the code that belongs to it and leave nothing behind.

#include <string.h>

#include "support/random_program_run.h"

static bool is_mine(const struct random_runner *r, const struct random_task *task)
{
    return (task->ranks >> r->rank->id & 1) != 0 &&
           (task->kind != RANDOM_COLLECTIVE || r->comm[task->comm] != NULL);
}

// What the end of a capture of the segment at `first` answers after the tasks before `cut`.
static aclError expected_end(const struct random_runner *r, unsigned first, unsigned cut)
{
    const struct random_program *p = r->program;
    struct random_order *order = random_order_create(p);
    unsigned bodies = 0, groups = 0;
    bool joined = true;
    must_hold(order != NULL, "no memory for the test's own");
    for (unsigned i = 0; i < cut; i++) {
        const struct random_task *task = &p->task[i];
        if (is_mine(r, task)) {
            random_order_add(order, task, i);
        }
        if (i > first) {
            bodies += task->kind == RANDOM_BODY;
            bodies -= task->kind == RANDOM_BODY_END;
            groups += task->kind == RANDOM_GROUP;
            groups -= task->kind == RANDOM_GROUP_END;
        }
    }
    for (unsigned lane = 0; lane < p->lanes; lane++) {
        joined = joined && (p->lane[lane].block != p->task[first].block ||
                                   lane == p->task[first].lane || !random_order_open(order, lane));
    }
    random_order_destroy(order);
    return bodies > 0   ? ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING
           : groups > 0 ? ACL_ERROR_STREAM_TASK_GROUP_STATUS
           : joined     ? ACL_SUCCESS
                        : ACL_ERROR_RT_STREAM_UNJOINED;
}

static unsigned some_segment(struct random_runner *r)
{
    const struct random_program *p = r->program;
    unsigned first[RANDOM_SEGMENTS], count = 0;
    for (unsigned i = 0; i < p->tasks; i++) {
        if (p->task[i].kind == RANDOM_SEGMENT) {
            first[count++] = i;
        }
    }
    return count == 0 ? p->tasks : first[random_below(&r->source, count)];
}

void random_cut(struct random_runner *r)
{
    const struct random_program *p = r->program;
    const unsigned first = some_segment(r);
    if (first == p->tasks) {
        return; // all of it was dropped
    }
    const unsigned end = random_block_end(p, first);
    const unsigned cut = first + 1 + random_below(&r->source, end - first);
    const aclError expected = expected_end(r, first, cut);
    aclmdlRI graph = NULL;
    r->cut = cut;
    const aclError answer = random_capture_part(r, first, &graph);
    r->cut = RANDOM_TASKS;
    must_hold(answer == expected,
            "program %llu, captured up to task %u: CaptureEnd answers %d instead of %d: %s",
            (unsigned long long)p->seed, cut, answer, expected, rank_error_text());
    must_hold((graph != NULL) == (answer == ACL_SUCCESS), "a failed capture gives a graph");
    must(graph != NULL ? aclmdlRIDestroy(graph) : 0);
    memset(r->word, 0, sizeof(r->word));
    for (unsigned s = 0; s < RANDOM_STREAMS; s++) {
        aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
        must(aclmdlRICaptureGetInfo(r->stream[s], &status, NULL));
        must_hold(status == ACL_MODEL_RI_CAPTURE_STATUS_NONE,
                "program %llu, captured up to task %u: stream %u still captures",
                (unsigned long long)p->seed, cut, s);
    }
}
