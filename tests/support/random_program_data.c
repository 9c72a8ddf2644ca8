// Random tasks that move data: which buffers, which bytes, which types. Several tries, until the
// task races with none before it.

#include "support/random_program_build.h"

#include <string.h>

#define TRIES 6
#define FN_BYTES_MAX (16u * 1024u) // of host functions and kernels, which are slow
#define EXACT_COUNT_MAX 2048u      // elements that an oracle, slow too, has to reduce

// ---- ranges ----

static bool is_data(const struct random_buffer *buffer)
{
    return buffer->memory != RANDOM_WORD && buffer->fill <= RANDOM_FILL_FP64;
}

// Some buffer of the kinds whose bits are in `memory`; RANDOM_BUFFERS if no try finds one.
static unsigned pick_buffer(struct random_build *build, unsigned memory)
{
    const struct random_program *p = build->program;
    for (unsigned tries = 0; tries < 20; tries++) {
        const unsigned b = random_below(&build->source, p->buffers);
        if (is_data(&p->buffer[b]) && (memory >> p->buffer[b].memory & 1) != 0) {
            return b;
        }
    }
    return RANDOM_BUFFERS;
}

// From `least` to `most`, small ones as likely as large ones.
static uint32_t pick_size(struct random_build *build, uint32_t least, uint32_t most)
{
    unsigned bits = 0;
    if (most <= least) {
        return least;
    }
    while ((most - least) >> bits > 0) {
        bits++;
    }
    bits = random_below(&build->source, bits + 1);
    const uint32_t bound =
            (uint64_t)(most - least) < (UINT64_C(1) << bits) ? most - least : 1u << bits;
    return least + random_below(&build->source, bound + 1);
}

static struct random_range pick_range(
        struct random_build *build, unsigned buffer, uint32_t bytes, uint32_t align)
{
    const uint32_t room = build->program->buffer[buffer].bytes - bytes;
    uint32_t offset =
            random_chance(&build->source, 25) ? 0 : random_below(&build->source, room + 1);
    offset -= offset % align;
    return (struct random_range){ (uint8_t)buffer, offset, bytes };
}

static uint32_t bytes_of(const struct random_build *build, unsigned buffer)
{
    return build->program->buffer[buffer].bytes;
}

// ---- copies and fills ----

#define BIT(memory) (1u << (memory))

static bool pick_copy(struct random_build *build, struct random_task *task)
{
    static const uint8_t from_to[][2] = {
        { RANDOM_DEVICE, RANDOM_DEVICE },
        { RANDOM_DEVICE, RANDOM_PINNED },
        { RANDOM_PINNED, RANDOM_DEVICE },
    };
    const unsigned way = random_below(&build->source, 3);
    const unsigned from = pick_buffer(build, BIT(from_to[way][0]));
    const unsigned to = pick_buffer(build, BIT(from_to[way][1]));
    if (from == RANDOM_BUFFERS || to == RANDOM_BUFFERS) {
        return false;
    }
    const uint32_t most = bytes_of(build, from) < bytes_of(build, to) ? bytes_of(build, from)
                                                                      : bytes_of(build, to);
    uint32_t bytes = pick_size(build, 1, most);
    uint32_t from_bytes = bytes;
    if (task->kind == RANDOM_COPY_2D) {
        task->height = 1 + random_below(&build->source, 5);
        const uint32_t width = bytes / task->height;
        if (width == 0) {
            return false;
        }
        task->args[0].count = 1 + random_below(&build->source, width);
        bytes = width * task->height;
        from_bytes =
                task->height * (task->args[0].count + random_below(&build->source,
                                                              width - task->args[0].count + 1));
    }
    task->args[0].to = pick_range(build, to, bytes, 1);
    task->args[0].from = pick_range(build, from, from_bytes, 1);
    return true;
}

static bool pick_fill(struct random_build *build, struct random_task *task)
{
    const unsigned to = pick_buffer(build, BIT(RANDOM_DEVICE));
    if (to == RANDOM_BUFFERS) {
        return false;
    }
    const uint32_t bytes = pick_size(build, 1, bytes_of(build, to));
    const bool words = task->kind == RANDOM_FILL_32;
    task->args[0].to = pick_range(build, to, words && bytes >= 4 ? bytes / 4 * 4 : bytes, 4);
    task->value = (uint32_t)random_next(&build->source);
    if (words && bytes < 4) {
        task->kind = RANDOM_FILL;
    }
    return true;
}

// ---- host functions and kernels ----

static bool pick_function(struct random_build *build, struct random_task *task, unsigned variant)
{
    const unsigned memory = task->kind == RANDOM_KERNEL ? BIT(RANDOM_DEVICE)
                                                        : BIT(RANDOM_PINNED) | BIT(RANDOM_PAGEABLE);
    const unsigned to = pick_buffer(build, memory);
    const unsigned from = pick_buffer(build, memory);
    const unsigned with = pick_buffer(build, memory);
    struct random_args *args = &task->args[variant];
    if (to == RANDOM_BUFFERS || from == RANDOM_BUFFERS || with == RANDOM_BUFFERS) {
        return false;
    }
    uint32_t most = FN_BYTES_MAX;
    most = most < bytes_of(build, to) ? most : bytes_of(build, to);
    most = most < bytes_of(build, from) ? most : bytes_of(build, from);
    most = most < bytes_of(build, with) ? most : bytes_of(build, with);
    const uint32_t bytes = pick_size(build, 8, most) / 8 * 8;
    if (variant == 0) {
        task->function = (uint8_t)random_below(&build->source, RANDOM_FN_COUNT_DOWN);
        task->value = random_below(&build->source, 16); // 0: slow
    }
    args->to = pick_range(build, to, bytes, 8);
    args->from = pick_range(build, from, bytes, 8);
    args->with = pick_range(build, with, bytes, 8);
    args->count = 1 + random_below(&build->source, 8); // blocks
    return true;
}

// ---- collectives ----

static uint8_t favourite_type(uint8_t fill)
{
    switch (fill) {
    case RANDOM_FILL_FP32:
        return RP_DTYPE_FP32;
    case RANDOM_FILL_FP16:
        return RP_DTYPE_FP16;
    case RANDOM_FILL_BFP16:
        return RP_DTYPE_BFP16;
    case RANDOM_FILL_FP64:
        return RP_DTYPE_FP64;
    default:
        return RP_DTYPE_INT32;
    }
}

static bool is_float(unsigned dtype)
{
    return dtype == RP_DTYPE_FP16 || dtype == RP_DTYPE_BFP16 || dtype == RP_DTYPE_FP32 ||
           dtype == RP_DTYPE_FP64;
}

static bool reduces(unsigned op)
{
    return op == RANDOM_ALL_REDUCE || op == RANDOM_REDUCE_SCATTER || op == RANDOM_REDUCE ||
           op == RANDOM_REDUCE_SCATTER_V;
}

static bool has_table(unsigned op)
{
    return op == RANDOM_ALL_GATHER_V || op == RANDOM_REDUCE_SCATTER_V;
}

// How many blocks of `count` elements an input and an output have.
static uint32_t send_blocks(unsigned op, uint32_t size)
{
    return op == RANDOM_REDUCE_SCATTER || op == RANDOM_SCATTER || op == RANDOM_ALLTOALL ||
                           op == RANDOM_REDUCE_SCATTER_V
                   ? size
                   : 1;
}

static uint32_t recv_blocks(unsigned op, uint32_t size)
{
    return op == RANDOM_ALL_GATHER || op == RANDOM_ALLTOALL || op == RANDOM_ALL_GATHER_V ? size : 1;
}

static void pick_call(struct random_build *build, struct random_task *task, unsigned buffer)
{
    struct random_source *source = &build->source;
    const unsigned dice = random_below(source, 100);
    task->op = dice < 25   ? RANDOM_ALL_REDUCE
               : dice < 35 ? RANDOM_REDUCE_SCATTER
               : dice < 45 ? RANDOM_ALL_GATHER
               : dice < 56 ? RANDOM_BROADCAST
               : dice < 64 ? RANDOM_REDUCE
               : dice < 72 ? RANDOM_SCATTER
               : dice < 80 ? RANDOM_ALLTOALL
               : dice < 88 ? RANDOM_ALL_GATHER_V
               : dice < 96 ? RANDOM_REDUCE_SCATTER_V
                           : RANDOM_BARRIER;
    task->comm = (uint8_t)(random_chance(source, 40) ? 0 : random_below(source, RANDOM_COMMS));
    task->root = (uint8_t)random_below(source, random_comm_size(task->comm, build->program->ranks));
    task->in_place =
            task->op == RANDOM_BROADCAST ||
            (task->op != RANDOM_ALLTOALL && !has_table(task->op) && random_chance(source, 30));
    task->reduce = (uint8_t)random_below(source, RP_REDUCE_OPS);
    task->dtype = random_chance(source, 70) ? favourite_type(build->program->buffer[buffer].fill)
                                            : (uint8_t)random_below(source, RP_DTYPE_FP8E8M0 + 1);
    if (rp_dtype_bytes((enum rp_dtype)task->dtype) == 0 ||
            (reduces(task->op) && !rp_dtype_reducible((enum rp_dtype)task->dtype))) {
        task->dtype = RP_DTYPE_UINT16;
    }
    if (build->program->exact && !random_comm_exact(task->comm) && is_float(task->dtype) &&
            task->reduce < RP_REDUCE_MAX) {
        task->reduce = RP_REDUCE_MIN;
    }
}

static bool pick_collective(struct random_build *build, struct random_task *task, unsigned variant)
{
    const unsigned any =
            BIT(RANDOM_DEVICE) | BIT(RANDOM_PINNED) | BIT(RANDOM_PAGEABLE) | BIT(RANDOM_MIXED);
    const unsigned memory = random_chance(&build->source, 70) ? BIT(RANDOM_DEVICE) : any;
    const unsigned to = pick_buffer(build, memory);
    const unsigned from = pick_buffer(build, memory);
    struct random_args *args = &task->args[variant];
    if (to == RANDOM_BUFFERS || from == RANDOM_BUFFERS) {
        return false;
    }
    if (variant == 0) {
        pick_call(build, task, to);
    }
    *args = (struct random_args){ 0 };
    if (task->op == RANDOM_BARRIER) {
        return true;
    }
    const uint32_t one = (uint32_t)rp_dtype_bytes((enum rp_dtype)task->dtype);
    const uint32_t size = random_comm_size(task->comm, build->program->ranks);
    const uint32_t send = send_blocks(task->op, size);
    const uint32_t recv = recv_blocks(task->op, size);
    uint32_t most = bytes_of(build, to) / one / recv;
    const uint32_t most_from = bytes_of(build, from) / one / send;
    most = most < most_from ? most : most_from;
    if (build->program->exact && reduces(task->op) && most > EXACT_COUNT_MAX) {
        most = EXACT_COUNT_MAX;
    }
    if (most == 0) {
        return false;
    }
    const uint32_t align = random_chance(&build->source, 50) ? 64 : one;
    args->count = pick_size(build, 1, most);
    uint32_t to_bytes = args->count * one * recv;
    uint32_t from_bytes = args->count * one * send;
    if (has_table(task->op)) { // whose blocks do not lie back to back
        struct oracle_call call = random_oracle_call(build->program, task, args);
        while (call.count > 1 && (oracle_recv_bytes(&call) > bytes_of(build, to) ||
                                         oracle_send_bytes(&call) > bytes_of(build, from))) {
            call.count--;
        }
        args->count = (uint32_t)call.count;
        to_bytes = (uint32_t)oracle_recv_bytes(&call);
        from_bytes = (uint32_t)oracle_send_bytes(&call);
        if (to_bytes > bytes_of(build, to) || from_bytes > bytes_of(build, from)) {
            return false;
        }
    }
    args->to = pick_range(build, to, to_bytes, align);
    args->from = pick_range(build, from, from_bytes, align);
    if (task->in_place && random_input_is_larger(task)) {
        args->to.bytes = 0;
    } else if (task->in_place) {
        args->from.bytes = 0;
    }
    return true;
}

// ---- tasks ----

static bool pick(struct random_build *build, struct random_task *task, unsigned variant)
{
    switch (task->kind) {
    case RANDOM_COLLECTIVE:
        return pick_collective(build, task, variant);
    case RANDOM_COPY:
    case RANDOM_COPY_2D:
        return pick_copy(build, task);
    case RANDOM_FILL:
    case RANDOM_FILL_32:
        return pick_fill(build, task);
    default:
        return pick_function(build, task, variant);
    }
}

void random_data_task(struct random_build *build, const struct random_block *block, unsigned lane,
        enum random_kind kind, unsigned group)
{
    for (unsigned tries = 0; tries < TRIES; tries++) {
        struct random_task task = random_task(block, kind, lane);
        bool picked = true;
        task.group = (uint8_t)group;
        for (unsigned v = 0; picked && v < (group != 0 ? build->program->variants : 1); v++) {
            picked = pick(build, &task, v);
        }
        if (kind != RANDOM_COLLECTIVE && group == 0 && block != NULL &&
                random_chance(&build->source, 15)) {
            task.ranks = (uint8_t)(1 + random_below(&build->source, 15)); // others leave it out
        }
        if (picked && random_add(build, &task)) {
            return;
        }
    }
}
