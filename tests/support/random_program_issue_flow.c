// Submits the conditionals of a random program, and its groups and their updates.

#include "support/random_program_run.h"

#include <string.h>

// ---- eager: the host looks and decides ----

static unsigned chosen_body(struct random_runner *r, const struct random_task *cond)
{
    uint64_t value = 0;
    must(aclrtSynchronizeStream(random_stream(r, cond->lane)));
    memcpy(&value, r->address[cond->word], sizeof(value));
    if (cond->cond == ACL_MODEL_RI_COND_TYPE_SWITCH) {
        return value < cond->value ? (unsigned)value : cond->value;
    }
    return value != 0 ? 0 : 1;
}

static bool run_chosen(struct random_runner *r, unsigned index, unsigned round)
{
    const struct random_program *p = r->program;
    const struct random_task *cond = &p->task[index];
    const unsigned choice = chosen_body(r, cond);
    unsigned body = index + 1;
    if (choice >= cond->value) {
        return false;
    }
    for (unsigned b = 0; b < choice; b++) {
        body = p->task[body].partner + 1;
    }
    random_issue(r, body + 1, p->task[body].partner, round, false);
    random_hop(r, p->lane[p->task[body].lane].stream, p->lane[cond->lane].stream);
    return true;
}

static void eager_cond(struct random_runner *r, unsigned index, unsigned round)
{
    const bool loop = r->program->task[index].cond == ACL_MODEL_RI_COND_TYPE_WHILE;
    while (run_chosen(r, index, round) && loop) {
    }
}

// ---- captured ----

void random_cond_handles(struct random_runner *r, unsigned first, unsigned end)
{
    const struct random_program *p = r->program;
    aclmdlRI graph = NULL;
    for (unsigned i = first; i < end; i++) {
        const struct random_task *task = &p->task[i];
        if (task->kind != RANDOM_COND) {
            continue;
        }
        const bool has_default = p->buffer[task->word].has_default;
        must(aclmdlRICaptureGetInfo(random_stream(r, p->task[first - 1].lane), NULL, &graph));
        must(aclmdlRICondHandleCreate(graph, has_default ? random_word_default(p, task->word) : 0,
                has_default ? ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT : (aclmdlRICondHandleFlag)0,
                &r->cond[task->word]));
        must(aclmdlRICondHandleGetCondPtr(r->cond[task->word], &r->word[task->word]));
        i = task->partner; // those inside belong to the bodies
    }
}

static void capture_body(struct random_runner *r, unsigned body, aclmdlRI graph)
{
    const struct random_program *p = r->program;
    aclrtStream stream = random_stream(r, p->task[body].lane);
    must(aclmdlRICaptureToModelRIBegin(stream, graph, (aclmdlRICaptureMode)p->mode));
    random_cond_handles(r, body + 1, p->task[body].partner);
    random_issue(r, body + 1, p->task[body].partner, 0, true);
    if (p->task[body].partner < r->cut) {
        must(aclmdlRICaptureEnd(stream, body % 2 == 0 ? &graph : NULL));
    }
}

static void captured_cond(struct random_runner *r, unsigned index)
{
    const struct random_program *p = r->program;
    const struct random_task *cond = &p->task[index];
    aclmdlRI graphs[8] = { NULL };
    const aclmdlRICondTaskParams params = {
        .handle = r->cond[cond->word],
        .type = (aclmdlRICondTaskType)cond->cond,
        .size = cond->value,
        .modelRIArray = graphs,
    };
    must(aclmdlRIAddCondTask(params, random_stream(r, cond->lane), 0));
    unsigned body = index + 1;
    for (unsigned b = 0; b < cond->value && body < r->cut; b++) {
        capture_body(r, body, graphs[b]);
        body = p->task[body].partner + 1;
    }
}

void random_issue_cond(struct random_runner *r, unsigned index, unsigned round, bool graph)
{
    if (graph) {
        captured_cond(r, index);
    } else {
        eager_cond(r, index, round);
    }
}

// ---- groups ----

void random_issue_group(struct random_runner *r, const struct random_task *task)
{
    aclrtStream stream = random_stream(r, task->lane);
    if (task->kind == RANDOM_GROUP_END) {
        must(aclmdlRICaptureTaskGrpEnd(stream, &r->group[task->group]));
        return;
    }
    if (task->held) {
        must(aclrtStreamWaitEvent(stream, r->hold[task->event]));
        must(aclrtResetEvent(r->hold[task->event], stream));
    }
    must(aclmdlRICaptureTaskGrpBegin(stream));
}

// Queued on the spare stream.
static void update_group(struct random_runner *r, unsigned index, unsigned variant)
{
    const struct random_program *p = r->program;
    const struct random_task *group = &p->task[index];
    aclrtStream stream = r->stream[RANDOM_STREAM_SPARE];
    if (r->variant[group->group] == variant) {
        return;
    }
    must(aclmdlRICaptureTaskUpdateBegin(stream, r->group[group->group]));
    for (unsigned i = index + 1; i < group->partner; i++) {
        const bool mine = (p->task[i].ranks >> r->rank->id & 1) != 0;
        if (p->task[i].kind != RANDOM_NOTHING && mine) {
            random_issue_data(r, i, variant, true, stream);
        }
    }
    must(aclmdlRICaptureTaskUpdateEnd(stream));
    r->variant[group->group] = variant;
}

void random_update(struct random_runner *r, unsigned round)
{
    const struct random_program *p = r->program;
    random_hop(r, 0, RANDOM_STREAM_SPARE); // after the replays before
    for (unsigned i = 0; i < p->tasks; i++) {
        const struct random_task *task = &p->task[i];
        if (task->kind == RANDOM_GROUP && !task->held) {
            update_group(r, i, random_variant(p, task, round));
        }
    }
    if (random_chance(&r->source, 50)) {
        must(aclrtSynchronizeStream(r->stream[RANDOM_STREAM_SPARE]));
    } else {
        random_hop(r, RANDOM_STREAM_SPARE, 0); // before the next ones
    }
    random_tune(r, round);
}

void random_release(struct random_runner *r, unsigned first, unsigned round)
{
    const struct random_program *p = r->program;
    for (unsigned i = first; p->task[i].kind != RANDOM_GRAPH_END; i++) {
        const struct random_task *task = &p->task[i];
        if (task->kind == RANDOM_GROUP && task->held) {
            update_group(r, i, random_variant(p, task, round));
            must(aclrtRecordEvent(r->hold[task->event], r->stream[RANDOM_STREAM_SPARE]));
        }
    }
}
