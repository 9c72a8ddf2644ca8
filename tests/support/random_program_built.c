// Segments of random programs as graphs that are built by hand instead of captured: every lane is a
// bound stream that starts with the graph, every record has a flag event of its own.

#include <acl/acl_mdl.h>

#include "support/random_program_run.h"

// What only captured graphs have.
static bool needs_capture(const struct random_task *task)
{
    return task->kind == RANDOM_COND || task->kind == RANDOM_GROUP ||
           task->kind == RANDOM_EXTERNAL_RECORD || task->kind == RANDOM_EXTERNAL_WAIT ||
           task->tuned;
}

bool random_can_build(const struct random_program *p, unsigned first)
{
    const unsigned end = random_block_end(p, first);
    for (unsigned i = first; i < end; i++) {
        if (needs_capture(&p->task[i])) {
            return false;
        }
    }
    return p->built;
}

static void bind_streams(struct random_runner *r, aclmdlRI graph, unsigned block)
{
    const struct random_program *p = r->program;
    for (unsigned lane = 0; lane < p->lanes; lane++) {
        if (p->lane[lane].block == block) {
            must(aclmdlRIBindStream(graph, random_stream(r, lane), ACL_MODEL_STREAM_FLAG_HEAD));
        }
    }
}

aclrtEvent random_flag(struct random_runner *r, unsigned record)
{
    if (r->flag[record] == NULL) {
        must(aclrtCreateEventWithFlag(&r->flag[record], ACL_EVENT_SYNC));
    }
    return r->flag[record];
}

// The next replay finds no flag set: all waits are over when the origin's other tasks are.
static void reset_flags(struct random_runner *r, unsigned first, unsigned end, aclrtStream origin)
{
    for (unsigned i = first; i < end; i++) {
        if (r->program->task[i].kind == RANDOM_RECORD) {
            must(aclrtResetEvent(random_flag(r, i), origin));
        }
    }
}

aclmdlRI random_build(struct random_runner *r, unsigned first)
{
    const struct random_program *p = r->program;
    const struct random_task *begin = &p->task[first];
    const unsigned end = random_block_end(p, first);
    aclmdlRI graph = NULL;
    r->building = r->bound[begin->value];
    aclrtStream origin = random_stream(r, begin->lane);
    must(aclmdlRIBuildBegin(&graph, 0));
    bind_streams(r, graph, begin->block);
    random_issue(r, first + 1, end, 0, true);
    reset_flags(r, first, end, origin);
    must(aclmdlRIEndTask(graph, origin));
    must(aclmdlRIBuildEnd(graph, NULL));
    r->building = NULL;
    return graph;
}
