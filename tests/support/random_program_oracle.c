// One thread, task by task in the program's order, on copies of all ranks' memory.

#include <acl/acl.h>
#include <stdlib.h>
#include <string.h>

#include "support/oracle_collective.h"
#include "support/random_program.h"
#include "support/rank_runner.h"

struct state {
    const struct random_program *program;
    uint8_t *const *images;
    unsigned round;
    uint8_t *scratch;
};

static uint8_t *at(const struct state *s, unsigned rank, const struct random_range *range)
{
    return s->images[rank] + s->program->buffer[range->buffer].offset + range->offset;
}

static uint64_t word_of(const struct state *s, unsigned rank, unsigned buffer)
{
    uint64_t word;
    memcpy(&word, at(s, rank, &(struct random_range){ .buffer = (uint8_t)buffer }), sizeof(word));
    return word;
}

static void collective(
        const struct state *s, const struct random_task *task, const struct random_args *args)
{
    const struct random_program *p = s->program;
    const struct oracle_call call = random_oracle_call(p, task, args);
    const unsigned size = call.ranks;
    const void *sends[RANKS_MAX];
    uint8_t *free_bytes = s->scratch;
    if (task->op == RANDOM_BARRIER) {
        return;
    }
    // Inputs are put aside: outputs may lie in them.
    for (unsigned r = 0; r < size; r++) {
        const unsigned rank = random_comm_member(task->comm, p->ranks, r);
        const struct random_range send = random_send(p, task, args, rank);
        memcpy(free_bytes, at(s, rank, &send), send.bytes);
        sends[r] = free_bytes;
        free_bytes += (send.bytes + 63) / 64 * 64;
    }
    for (unsigned r = 0; r < size; r++) {
        const unsigned rank = random_comm_member(task->comm, p->ranks, r);
        const struct random_range recv = random_recv(p, task, args, rank);
        oracle_collective(&call, sends, r, at(s, rank, &recv));
    }
}

static void fill_words(uint8_t *to, uint32_t bytes, uint32_t value)
{
    for (uint32_t i = 0; i < bytes; i += 4) {
        memcpy(to + i, &value, 4);
    }
}

static void copy_rows(uint8_t *to, const uint8_t *from, const struct random_task *task,
        const struct random_args *args)
{
    for (uint32_t row = 0; row < task->height; row++) {
        memcpy(to + row * (args->to.bytes / task->height),
                from + row * (args->from.bytes / task->height), args->count);
    }
}

static void local_task(const struct state *s, const struct random_task *task,
        const struct random_args *args, unsigned rank)
{
    uint8_t *to = at(s, rank, &args->to);
    const uint8_t *from = at(s, rank, &args->from);
    const uint64_t value = task->value;
    switch (task->kind) {
    case RANDOM_COPY:
        memcpy(to, from, args->to.bytes);
        break;
    case RANDOM_COPY_2D:
        copy_rows(to, from, task, args);
        break;
    case RANDOM_FILL:
        memset(to, (uint8_t)task->value, args->to.bytes);
        break;
    case RANDOM_FILL_32:
        fill_words(to, args->to.bytes, task->value);
        break;
    case RANDOM_HOST_FN:
    case RANDOM_KERNEL:
        random_apply((enum random_function)task->function, to, from, at(s, rank, &args->with),
                args->to.bytes, 0, 1);
        break;
    case RANDOM_VALUE_WRITE:
        memcpy(at(s, rank, &(struct random_range){ .buffer = task->word }), &value, 8);
        break;
    default: // what only orders
        break;
    }
}

static void run(const struct state *s, unsigned first, unsigned end, unsigned ranks);

static unsigned body_of(const struct state *s, const struct random_task *cond, unsigned rank)
{
    const uint64_t value = word_of(s, rank, cond->word);
    if (cond->cond == ACL_MODEL_RI_COND_TYPE_SWITCH) {
        return value < cond->value ? (unsigned)value : cond->value;
    }
    return value != 0 ? 0 : 1;
}

// The ranks that choose a body run it together. Answers how many did.
static unsigned run_bodies(const struct state *s, unsigned index, unsigned ranks)
{
    const struct random_program *p = s->program;
    const struct random_task *cond = &p->task[index];
    unsigned choice[RANKS_MAX], ran = 0;
    for (unsigned r = 0; r < p->ranks; r++) {
        choice[r] = body_of(s, cond, r);
    }
    unsigned body = index + 1;
    for (unsigned b = 0; b < cond->value; b++) {
        const unsigned end = p->task[body].partner;
        unsigned who = 0;
        for (unsigned r = 0; r < p->ranks; r++) {
            who |= (unsigned)((ranks >> r & 1) != 0 && choice[r] == b) << r;
        }
        if (who != 0) {
            run(s, body + 1, end, who);
            ran |= who;
        }
        body = end + 1;
    }
    return ran;
}

static void run(const struct state *s, unsigned first, unsigned end, unsigned ranks)
{
    const struct random_program *p = s->program;
    for (unsigned i = first; i < end; i++) {
        const struct random_task *task = &p->task[i];
        const struct random_args *args = &task->args[random_variant(p, task, s->round)];
        if (task->disabled) {
            continue;
        }
        if (task->kind == RANDOM_COND) {
            unsigned on = ranks;
            do {
                on = run_bodies(s, i, on);
            } while (task->cond == ACL_MODEL_RI_COND_TYPE_WHILE && on != 0);
            i = task->partner;
        } else if (task->kind == RANDOM_COLLECTIVE) {
            collective(s, task, args);
        } else {
            for (unsigned r = 0; r < p->ranks; r++) {
                if ((ranks & task->ranks) >> r & 1) {
                    local_task(s, task, args, r);
                }
            }
        }
    }
}

static void set_defaults(const struct state *s)
{
    const struct random_program *p = s->program;
    for (unsigned b = 0; b < p->buffers; b++) {
        if (p->buffer[b].memory == RANDOM_WORD && p->buffer[b].has_default) {
            const uint64_t value = random_word_default(p, b);
            for (unsigned r = 0; r < p->ranks; r++) {
                memcpy(s->images[r] + p->buffer[b].offset, &value, 8);
            }
        }
    }
}

void random_oracle(const struct random_program *program, uint8_t *const *images, unsigned round)
{
    struct state s = { .program = program, .images = images, .round = round };
    s.scratch = malloc(RANKS_MAX / 4 * RANDOM_IMAGE_BYTES);
    if (s.scratch == NULL) {
        abort();
    }
    set_defaults(&s);
    run(&s, 0, program->tasks, (1u << program->ranks) - 1);
    free(s.scratch);
}
