// Random programs as text, one line a task.

#include <string.h>

#include "support/random_program.h"

static const char *const kinds[RANDOM_KINDS] = {
    [RANDOM_SEGMENT] = "graph begins",
    [RANDOM_GRAPH_END] = "graph ends",
    [RANDOM_COPY] = "copy",
    [RANDOM_COPY_2D] = "copy of rows",
    [RANDOM_FILL] = "fill",
    [RANDOM_FILL_32] = "fill of words",
    [RANDOM_HOST_FN] = "host function",
    [RANDOM_KERNEL] = "kernel",
    [RANDOM_RECORD] = "record event",
    [RANDOM_WAIT] = "wait event",
    [RANDOM_VALUE_WRITE] = "value write",
    [RANDOM_VALUE_WAIT] = "value wait",
    [RANDOM_NOTIFY_RECORD] = "record notify",
    [RANDOM_NOTIFY_WAIT] = "wait notify",
    [RANDOM_EXTERNAL_RECORD] = "external record event",
    [RANDOM_EXTERNAL_WAIT] = "external wait event",
    [RANDOM_GROUP] = "task group",
    [RANDOM_GROUP_END] = "task group ends",
    [RANDOM_BODY] = "body",
    [RANDOM_BODY_END] = "body ends",
    [RANDOM_COND_END] = "conditional ends",
};

static const char *const ops[] = { "AllReduce", "ReduceScatter", "AllGather", "Broadcast", "Reduce",
    "Scatter", "AlltoAll", "AllGatherV", "ReduceScatterV", "Barrier" };
static const char *const functions[] = { "select", "add", "reverse", "count down" };
static const char *const conds[] = { "if", "while", "switch" };
static const char *const memories[] = { "device", "pinned", "pageable", "mixed", "condition" };
static const char *const fills[] = { "any bits", "fp32", "fp16", "bfp16", "fp64", "numbers below",
    "countdown from below", "zeros" };
static const char *const flags[] = { ">=", "==", "&" };

static void print_range(const struct random_range *range, const char *word, FILE *to)
{
    if (range->bytes > 0) {
        fprintf(to, " %s b%u[%u..%u)", word, range->buffer, range->offset,
                range->offset + range->bytes);
    }
}

static void print_operands(const struct random_program *p, const struct random_task *task, FILE *to)
{
    for (unsigned v = 0; v < (task->group != 0 ? p->variants : 1); v++) {
        const struct random_args *args = &task->args[v];
        if (task->kind == RANDOM_GROUP || task->kind == RANDOM_GROUP_END) {
            break;
        }
        fprintf(to, "%s", v > 0 ? ";  or" : "");
        if (task->kind == RANDOM_COLLECTIVE && task->op != RANDOM_BARRIER) {
            fprintf(to, " of %u", args->count);
        }
        print_range(&args->to, "to", to);
        print_range(&args->from, "from", to);
        print_range(&args->with, "with", to);
    }
}

static void print_task(const struct random_program *p, const struct random_task *task, FILE *to)
{
    switch (task->kind) {
    case RANDOM_COLLECTIVE:
        fprintf(to, "%s comm %u type %u", ops[task->op], task->comm, task->dtype);
        if (task->op <= RANDOM_REDUCE_SCATTER || task->op == RANDOM_REDUCE ||
                task->op == RANDOM_REDUCE_SCATTER_V) {
            fprintf(to, " reduction %u", task->reduce);
        }
        if (task->op >= RANDOM_BROADCAST && task->op <= RANDOM_SCATTER) {
            fprintf(to, " root %u", task->root);
        }
        fprintf(to, "%s", task->in_place ? " in place" : "");
        break;
    case RANDOM_COND:
        fprintf(to, "%s b%u, %u bodies", conds[task->cond], task->word, task->value);
        break;
    case RANDOM_HOST_FN:
    case RANDOM_KERNEL:
        fprintf(to, "%s %s", kinds[task->kind], functions[task->function]);
        break;
    case RANDOM_VALUE_WRITE:
        fprintf(to, "value write b%u = %u", task->word, task->value);
        break;
    case RANDOM_VALUE_WAIT:
        fprintf(to, "value wait b%u %s %u", task->word, flags[task->flag], task->value);
        break;
    case RANDOM_COPY_2D:
        fprintf(to, "copy of %u rows of %u", task->height, task->args[0].count);
        break;
    case RANDOM_FILL:
    case RANDOM_FILL_32:
        fprintf(to, "%s 0x%x", kinds[task->kind], task->value);
        break;
    case RANDOM_RECORD:
    case RANDOM_WAIT:
    case RANDOM_EXTERNAL_RECORD:
    case RANDOM_EXTERNAL_WAIT:
    case RANDOM_NOTIFY_RECORD:
    case RANDOM_NOTIFY_WAIT:
        fprintf(to, "%s %u", kinds[task->kind], task->event);
        break;
    default:
        fprintf(to, "%s", kinds[task->kind]);
        break;
    }
    fprintf(to, "%s%s%s%s", task->beside ? " beside the last" : "",
            task->held && task->kind == RANDOM_GROUP ? ", held until it is updated" : "",
            task->tuned ? ", tuned" : "", task->disabled ? ", disabled" : "");
    print_operands(p, task, to);
}

static bool is_used(const struct random_program *p, unsigned b)
{
    for (unsigned i = 0; i < p->tasks; i++) {
        const struct random_task *task = &p->task[i];
        for (unsigned v = 0; task->kind != RANDOM_NOTHING && v < p->variants; v++) {
            const struct random_args *args = &task->args[v];
            if ((args->to.bytes > 0 && args->to.buffer == b) ||
                    (args->from.bytes > 0 && args->from.buffer == b) ||
                    (args->with.bytes > 0 && args->with.buffer == b)) {
                return true;
            }
        }
        if ((task->kind == RANDOM_COND || task->kind == RANDOM_VALUE_WRITE) && task->word == b) {
            return true;
        }
    }
    return false;
}

static void print_buffers(const struct random_program *p, FILE *to)
{
    for (unsigned b = 0; b < p->buffers; b++) {
        const struct random_buffer *buffer = &p->buffer[b];
        if (!is_used(p, b)) {
            continue;
        }
        fprintf(to, "  b%u: %u bytes, %s", b, buffer->bytes, memories[buffer->memory]);
        if (buffer->memory == RANDOM_MIXED) {
            fprintf(to, " (pageable ranks 0x%x)", buffer->pageable_ranks);
        }
        fprintf(to, ", %s", fills[buffer->fill]);
        if (buffer->limit > 0) {
            fprintf(to, " %u%s", buffer->limit, buffer->shared ? ", the same everywhere" : "");
        }
        if (buffer->has_default) {
            fprintf(to, ", default %u", random_word_default(p, b));
        }
        fprintf(to, "\n");
    }
}

void random_program_print(const struct random_program *p, FILE *to)
{
    unsigned depth = 1;
    fprintf(to,
            "program %llu: %u ranks, %u rounds%s, mode %u, replayed on stream %u%s%s%s%s%s%s%s%s\n",
            (unsigned long long)p->seed, p->ranks, p->rounds, p->chained ? " in a chain" : "",
            p->mode, p->replay_on, p->exact ? ", exact" : "",
            p->own_buffers ? ", buffers of its own" : "", p->mixed ? ", mixed" : "",
            p->graph_first ? ", graph first" : "", p->capture_early ? ", captured early" : "",
            p->destroy_early ? ", destroyed early" : "", p->built ? ", built" : "",
            p->served ? ", callbacks" : "");
    print_buffers(p, to);
    for (unsigned i = 0; i < p->tasks; i++) {
        const struct random_task *task = &p->task[i];
        depth -= task->kind == RANDOM_BODY_END || task->kind == RANDOM_COND_END;
        if (task->kind != RANDOM_NOTHING) {
            fprintf(to, "%4u  s%-2u %*s", i, p->lane[task->lane].stream, (int)(2 * depth), "");
            print_task(p, task, to);
            if ((task->ranks & 15) != 15) {
                fprintf(to, " (ranks 0x%x only)", task->ranks);
            }
            fprintf(to, "\n");
        }
        depth += task->kind == RANDOM_BODY || task->kind == RANDOM_COND;
    }
}
