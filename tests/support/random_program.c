// What all parts of random programs share: numbers, communicators, operands, data.

#include "support/random_program.h"

#include <string.h>

// ---- numbers ----

struct random_source random_begin(uint64_t seed)
{
    return (struct random_source){ seed };
}

// splitmix64: every seed gives another sequence, neighbours too.
uint64_t random_next(struct random_source *source)
{
    uint64_t bits = source->state += UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

uint32_t random_below(struct random_source *source, uint32_t bound)
{
    return (uint32_t)((random_next(source) >> 32) * bound >> 32);
}

bool random_chance(struct random_source *source, unsigned percent)
{
    return random_below(source, 100) < percent;
}

unsigned random_seed_ranks(uint64_t seed)
{
    return 2 + (unsigned)(seed % 3);
}

// ---- communicators ----

// The ones that a job makes. The fifth numbers the ranks backwards; the last one has only the
// first and the last rank, backwards too.
enum { COMM_AIV, COMM_HOST_RING, COMM_AIV_STRICT, COMM_HOST_STRICT, COMM_BACKWARDS, COMM_PAIR };

bool random_comm_exact(unsigned comm)
{
    return comm != COMM_HOST_RING;
}

bool random_comm_has(unsigned comm, unsigned ranks, unsigned rank)
{
    return comm != COMM_PAIR || rank == 0 || rank == ranks - 1;
}

unsigned random_comm_size(unsigned comm, unsigned ranks)
{
    return comm == COMM_PAIR ? 2 : ranks;
}

unsigned random_comm_rank(unsigned comm, unsigned ranks, unsigned rank)
{
    if (comm == COMM_PAIR) {
        return rank == 0 ? 1 : 0;
    }
    return comm == COMM_BACKWARDS ? ranks - 1 - rank : rank;
}

unsigned random_comm_member(unsigned comm, unsigned ranks, unsigned rank)
{
    if (comm == COMM_PAIR) {
        return rank == 0 ? ranks - 1 : 0;
    }
    return comm == COMM_BACKWARDS ? ranks - 1 - rank : rank;
}

// ---- operands ----

static struct random_range block_of(struct random_range whole, unsigned index, unsigned blocks)
{
    whole.bytes /= blocks;
    whole.offset += index * whole.bytes;
    return whole;
}

struct oracle_call random_oracle_call(const struct random_program *program,
        const struct random_task *task, const struct random_args *args)
{
    return (struct oracle_call){
        .op = (enum oracle_op)task->op, // the same order
        .dtype = (enum rp_dtype)task->dtype,
        .reduce = (enum rp_reduce_op)task->reduce,
        .count = args->count,
        .root = task->root,
        .ranks = random_comm_size(task->comm, program->ranks),
    };
}

bool random_input_is_larger(const struct random_task *task)
{
    return task->op == RANDOM_REDUCE_SCATTER || task->op == RANDOM_SCATTER;
}

struct random_range random_send(const struct random_program *program,
        const struct random_task *task, const struct random_args *args, unsigned rank)
{
    if (!task->in_place || random_input_is_larger(task)) {
        return args->from;
    }
    if (task->op != RANDOM_ALL_GATHER) {
        return args->to;
    }
    return block_of(args->to, random_comm_rank(task->comm, program->ranks, rank),
            random_comm_size(task->comm, program->ranks));
}

struct random_range random_recv(const struct random_program *program,
        const struct random_task *task, const struct random_args *args, unsigned rank)
{
    if (!task->in_place || !random_input_is_larger(task)) {
        return args->to;
    }
    return block_of(args->from, random_comm_rank(task->comm, program->ranks, rank),
            random_comm_size(task->comm, program->ranks));
}

void random_program_drop(struct random_program *program, const bool *dropped)
{
    bool ungrouped[RANDOM_TASKS] = { false };
    for (unsigned i = 0; i < program->tasks; i++) {
        struct random_task *task = &program->task[i];
        if (dropped[i] && task->kind == RANDOM_GROUP) {
            ungrouped[task->group] = true;
        }
        if (ungrouped[task->group]) {
            task->group = 0; // no variants without a group
        }
        if (dropped[i]) {
            task->kind = RANDOM_NOTHING;
        }
    }
}

unsigned random_block_end(const struct random_program *program, unsigned first)
{
    const uint8_t end =
            program->task[first].kind == RANDOM_SEGMENT ? RANDOM_GRAPH_END : RANDOM_BODY_END;
    unsigned depth = 0;
    unsigned i = first + 1;
    while (program->task[i].kind != end || depth > 0) {
        depth += program->task[i].kind == RANDOM_BODY;
        depth -= program->task[i].kind == RANDOM_BODY_END;
        i++;
    }
    return i;
}

// ---- data ----

// Floats: the bits of a random word that stay, and those that are set. The exponents left vary over
// four powers of two around 1/2.
static const struct {
    uint64_t keep, set;
} patterns[] = {
    [RANDOM_FILL_BITS] = { UINT64_MAX, 0 },
    [RANDOM_FILL_FP32] = { UINT64_C(0x81ffffff81ffffff), UINT64_C(0x3e0000003e000000) },
    [RANDOM_FILL_FP16] = { UINT64_C(0x8fff8fff8fff8fff), UINT64_C(0x3000300030003000) },
    [RANDOM_FILL_BFP16] = { UINT64_C(0x81ff81ff81ff81ff), UINT64_C(0x3e003e003e003e00) },
    [RANDOM_FILL_FP64] = { UINT64_C(0x803fffffffffffff), UINT64_C(0x3fc0000000000000) },
};

static void fill_count(uint8_t *to, uint32_t bytes, uint64_t first)
{
    for (uint32_t at = 0; at < bytes; at += 8) {
        memcpy(to + at, &first, 8);
        first -= first > 0;
    }
}

void random_fill_buffer(const struct random_program *program, unsigned buffer, unsigned rank,
        unsigned round, uint8_t *to)
{
    const struct random_buffer *b = &program->buffer[buffer];
    const uint64_t who = b->shared ? 0 : rank + 1;
    struct random_source source =
            random_begin(program->seed ^ (who << 56) ^ ((uint64_t)round << 48) ^
                         ((uint64_t)buffer << 40) ^ UINT64_C(0x5bd1e995));
    if (b->fill == RANDOM_FILL_ZERO) {
        memset(to, 0, b->bytes);
        return;
    }
    if (b->fill == RANDOM_FILL_COUNT) {
        fill_count(to, b->bytes, random_below(&source, b->limit));
        return;
    }
    for (uint32_t at = 0; at < b->bytes; at += 8) {
        const uint64_t word =
                b->fill == RANDOM_FILL_DIAL
                        ? random_below(&source, b->limit)
                        : (random_next(&source) & patterns[b->fill].keep) | patterns[b->fill].set;
        memcpy(to + at, &word, 8);
    }
}

static void count_down(uint8_t *word)
{
    uint64_t value;
    memcpy(&value, word, sizeof(value));
    value -= value > 0;
    memcpy(word, &value, sizeof(value));
}

static void apply_word(
        enum random_function function, uint8_t *to, const uint8_t *from, const uint8_t *with)
{
    for (unsigned i = 0; i < 8; i++) {
        switch (function) {
        case RANDOM_FN_SELECT:
            to[i] = (uint8_t)((from[i] & 0x55) | (with[i] & 0xaa));
            break;
        case RANDOM_FN_ADD:
            to[i] = (uint8_t)(3 * from[i] + with[i] + 1);
            break;
        default:
            to[i] = from[i];
            break;
        }
    }
}

void random_apply(enum random_function function, uint8_t *to, const uint8_t *from,
        const uint8_t *with, uint32_t bytes, uint32_t block, uint32_t blocks)
{
    const uint32_t words = bytes / 8;
    const uint32_t end = (uint32_t)((uint64_t)words * (block + 1) / blocks);
    for (uint32_t w = (uint32_t)((uint64_t)words * block / blocks); w < end; w++) {
        const uint32_t read = function == RANDOM_FN_REVERSE ? words - 1 - w : w;
        if (function == RANDOM_FN_COUNT_DOWN) {
            count_down(to + 8 * w); // it has no other operands
        } else {
            apply_word(function, to + 8 * w, from + 8 * read, with + 8 * w);
        }
    }
}
