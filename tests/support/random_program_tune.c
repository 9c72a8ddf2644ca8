// Changes single tasks of the graphs of a random program: SetParams, Disable, Update.

#include <reprise/graph.h>
#include <stdlib.h>
#include <string.h>

#include "support/random_program_run.h"

#define TASKS_MAX (RANDOM_TASKS * 4) // of one lane; a task may be several

// ---- which task of the graph is which of the program ----

static bool captured_here(const struct random_runner *r, const struct random_task *task)
{
    const bool kernel = task->kind == RANDOM_KERNEL && (task->ranks >> r->rank->id & 1) != 0;
    return kernel || (task->kind == RANDOM_COLLECTIVE && r->comm[task->comm] != NULL);
}

// How many kernels and collectives are submitted to the graph at `first` before the task at
// `index`.
static unsigned number_of(const struct random_runner *r, unsigned first, unsigned index)
{
    const struct random_program *p = r->program;
    unsigned number = 0;
    for (unsigned i = first + 1; i < index; i++) {
        if (p->task[i].kind == RANDOM_COND) {
            i = p->task[i].partner; // those of sub-graphs are not shown
        } else if (captured_here(r, &p->task[i])) {
            number++;
        }
    }
    return number;
}

struct numbered {
    uint32_t sequence;
    aclmdlRITask task;
};

static int by_sequence(const void *a, const void *b)
{
    const uint32_t x = ((const struct numbered *)a)->sequence;
    const uint32_t y = ((const struct numbered *)b)->sequence;
    return x < y ? -1 : x > y;
}

// Adds the kernels of a stream.
static unsigned collect(aclrtStream stream, struct numbered *found, unsigned count)
{
    static _Thread_local aclmdlRITask tasks[TASKS_MAX];
    uint32_t room = TASKS_MAX;
    must(aclmdlRIGetTasksByStream(stream, tasks, &room));
    for (uint32_t i = 0; i < room; i++) {
        aclmdlRITaskType type = ACL_MODEL_RI_TASK_DEFAULT;
        must(aclmdlRITaskGetType(tasks[i], &type));
        if (type == ACL_MODEL_RI_TASK_KERNEL && count < RANDOM_TASKS) {
            found[count].task = tasks[i];
            must(aclmdlRITaskGetSeqId(tasks[i], &found[count].sequence));
            count++;
        }
    }
    return count;
}

static aclmdlRITask find_task(
        const struct random_runner *r, aclmdlRI graph, unsigned first, unsigned index)
{
    static _Thread_local struct numbered found[RANDOM_TASKS];
    aclrtStream streams[RANDOM_LANES];
    uint32_t room = RANDOM_LANES;
    unsigned count = 0;
    must(aclmdlRIGetStreams(graph, streams, &room));
    for (uint32_t s = 0; s < room; s++) {
        count = collect(streams[s], found, count);
    }
    const unsigned number = number_of(r, first, index);
    must_hold(number < count, "program %llu: task %u is kernel %u of a graph of %u",
            (unsigned long long)r->program->seed, index, number, count);
    qsort(found, count, sizeof(found[0]), by_sequence);
    return found[number].task;
}

// ---- changing ----

// What the parameters of a task point to while they are set.
struct operands {
    union {
        struct random_call call;
        struct reprise_collective_args args;
    };
    struct oracle_table table;
};

static void change_collective(const struct random_runner *r, const struct random_task *task,
        const struct random_args *args, aclmdlRITaskParams *params, struct operands *now)
{
    const struct random_range from = random_send(r->program, task, args, r->rank->id);
    const struct random_range to = random_recv(r->program, task, args, r->rank->id);
    must_hold(params->kernelTaskParams.argsSize == sizeof(now->args), "of a collective");
    memcpy(&now->args, params->kernelTaskParams.args, sizeof(now->args));
    if (task->op != RANDOM_BARRIER) {
        now->args.recvBuf = random_address(r, &to, true);
        now->args.sendBuf =
                task->op == RANDOM_BROADCAST ? now->args.recvBuf : random_address(r, &from, true);
        now->args.count = args->count;
    }
    if (task->op == RANDOM_ALL_GATHER_V || task->op == RANDOM_REDUCE_SCATTER_V) {
        const struct oracle_call call = random_oracle_call(r->program, task, args);
        now->table = oracle_table(&call);
        now->args.count =
                now->table.count[random_comm_rank(task->comm, r->program->ranks, r->rank->id)];
        now->args.counts = now->table.count;
        now->args.displs = now->table.place;
    }
    params->kernelTaskParams.args = &now->args;
}

static void change_kernel(const struct random_runner *r, const struct random_task *task,
        const struct random_args *args, aclmdlRITaskParams *params, struct operands *now)
{
    must_hold(params->kernelTaskParams.argsSize == sizeof(now->call), "of a kernel");
    now->call = random_kernel_call(r, task, args, true);
    params->kernelTaskParams.args = &now->call;
    params->kernelTaskParams.isHostArgs = 1;
    params->kernelTaskParams.numBlocks = args->count;
}

static void tune(struct random_runner *r, unsigned first, unsigned index, unsigned variant)
{
    const struct random_task *task = &r->program->task[index];
    aclmdlRI graph = r->graph[r->program->task[first].value];
    aclmdlRITask found = find_task(r, graph, first, index);
    aclmdlRITaskParams params;
    struct operands now;
    must(aclmdlRITaskGetParams(found, &params));
    if (task->kind == RANDOM_COLLECTIVE) {
        change_collective(r, task, &task->args[variant], &params, &now);
    } else {
        change_kernel(r, task, &task->args[variant], &params, &now);
    }
    must(aclmdlRITaskSetParams(found, &params));
    memset(&now, 0xee, sizeof(now)); // it has been copied
}

void random_tune(struct random_runner *r, unsigned round)
{
    const struct random_program *p = r->program;
    unsigned first = 0;
    bool changed = false;
    for (unsigned i = 0; i < p->tasks; i++) {
        const struct random_task *task = &p->task[i];
        const unsigned variant = random_variant(p, task, round);
        if (task->kind == RANDOM_SEGMENT) {
            first = i;
            changed = false;
        } else if (task->tuned && captured_here(r, task) && r->variant[task->group] != variant) {
            must(aclrtSynchronizeStream(r->stream[RANDOM_STREAM_SPARE])); // updates of groups
            tune(r, first, i, variant);
            r->variant[task->group] = variant;
            changed = true;
        } else if (task->kind == RANDOM_GRAPH_END && changed) {
            must(aclmdlRIUpdate(r->graph[p->task[first].value]));
        }
    }
}

void random_disable(struct random_runner *r, unsigned first, aclmdlRI graph)
{
    const struct random_program *p = r->program;
    const unsigned end = random_block_end(p, first);
    bool changed = false;
    for (unsigned i = first; i < end; i++) {
        if (p->task[i].disabled && captured_here(r, &p->task[i])) {
            must(aclmdlRITaskDisable(find_task(r, graph, first, i)));
            changed = true;
        }
    }
    if (changed || random_chance(&r->source, 10)) {
        must(aclmdlRIUpdate(graph));
    }
}
