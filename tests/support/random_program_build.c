// Makes random programs: blocks, lanes, events. The tasks that move data are made in
// random_program_data.c, conditionals and groups in random_program_flow.c.

#include "support/random_program_build.h"

#include <stdlib.h>
#include <string.h>

// ---- appending ----

// What is kept free: every open block may still have to join its lanes and to end.
#define RESERVED ((RANDOM_DEPTH + 1) * (2 * RANDOM_BLOCK_LANES + RANDOM_PENDING + 8))

bool random_room(const struct random_build *build, unsigned tasks)
{
    return build->program->tasks + tasks + RESERVED <= RANDOM_TASKS &&
           build->program->lanes + RANDOM_BLOCK_LANES <= RANDOM_LANES;
}

bool random_add(struct random_build *build, const struct random_task *task)
{
    struct random_program *p = build->program;
    if (p->tasks == RANDOM_TASKS || !random_order_allows(build->order, task)) {
        return false;
    }
    p->task[p->tasks] = *task;
    random_order_add(build->order, task, p->tasks);
    p->tasks++;
    return true;
}

struct random_task random_task(
        const struct random_block *block, enum random_kind kind, unsigned lane)
{
    return (struct random_task){
        .kind = (uint8_t)kind,
        .lane = (uint8_t)lane,
        .block = (uint8_t)(block != NULL ? block->number : 0),
        .ranks = 0xff,
    };
}

unsigned random_buffer_add(struct random_build *build, const struct random_buffer *buffer)
{
    struct random_program *p = build->program;
    const struct random_buffer *last = p->buffers > 0 ? &p->buffer[p->buffers - 1] : NULL;
    const uint32_t offset =
            RANDOM_GUARD_BYTES +
            (last != NULL ? (last->offset + last->bytes + RANDOM_GUARD_BYTES + 63) / 64 * 64 : 0);
    if (p->buffers == RANDOM_BUFFERS ||
            offset + buffer->bytes + RANDOM_GUARD_BYTES > RANDOM_IMAGE_BYTES) {
        return RANDOM_BUFFERS;
    }
    p->buffer[p->buffers] = *buffer;
    p->buffer[p->buffers].offset = offset;
    return p->buffers++;
}

static bool with(const struct random_build *build, enum random_feature feature)
{
    return (build->program->features & feature) != 0;
}

// ---- lanes ----

unsigned random_lane_pick(struct random_build *build, const struct random_block *block)
{
    return block->lane[random_below(&build->source, block->lanes)];
}

unsigned random_lane_add(struct random_build *build, struct random_block *block)
{
    static const uint8_t first_stream[RANDOM_DEPTH + 1] = { 0, 4, 7 };
    struct random_program *p = build->program;
    const unsigned lane = p->lanes++;
    p->lane[lane] = (struct random_lane){
        .block = (uint8_t)block->number,
        .stream = (uint8_t)(first_stream[block->depth] + block->lanes),
    };
    block->lane[block->lanes++] = lane;
    return lane;
}

struct random_block random_block_begin(struct random_build *build, unsigned depth)
{
    static const uint8_t streams[RANDOM_DEPTH + 1] = { 4, 3, 2 };
    struct random_block block = {
        .number = ++build->program->blocks,
        .depth = depth,
        .streams = streams[depth],
    };
    random_lane_add(build, &block);
    return block;
}

// ---- events ----

// A record; the task's number. There is room.
static unsigned record(struct random_build *build, const struct random_block *block, unsigned lane)
{
    struct random_task task = random_task(block, RANDOM_RECORD, lane);
    const bool again = (build->program->features & RANDOM_WITH_RERECORDS) != 0;
    task.event = (uint8_t)(again ? random_below(&build->source, RANDOM_EVENTS_AGAIN)
                                 : build->records++ % RANDOM_EVENTS);
    random_add(build, &task);
    return build->program->tasks - 1;
}

static void await(struct random_build *build, const struct random_block *block, unsigned lane,
        unsigned partner)
{
    struct random_task task = random_task(block, RANDOM_WAIT, lane);
    task.event = build->program->task[partner].event;
    task.partner = (uint16_t)partner;
    random_add(build, &task);
}

// The last record of some event, if it is in this block; the program's tasks if there is none.
static unsigned some_record(struct random_build *build, const struct random_block *block)
{
    const struct random_program *p = build->program;
    const unsigned event = random_below(&build->source, RANDOM_EVENTS_AGAIN);
    for (unsigned i = p->tasks; i-- > 0;) {
        if (p->task[i].kind == RANDOM_RECORD && p->task[i].event % RANDOM_EVENTS_AGAIN == event) {
            return p->task[i].block == block->number ? i : p->tasks;
        }
    }
    return p->tasks;
}

static void make_edge(struct random_build *build, struct random_block *block)
{
    struct random_source *source = &build->source;
    unsigned from = some_record(build, block);
    if (from == build->program->tasks || random_chance(source, 60)) {
        from = record(build, block, random_lane_pick(build, block));
        if (random_chance(source, 15)) {
            return; // somebody may wait for it later
        }
    }
    const bool fork = block->lanes < block->streams && random_chance(source, 70);
    await(build, block, fork ? random_lane_add(build, block) : random_lane_pick(build, block),
            from);
}

void random_block_join(struct random_build *build, struct random_block *block)
{
    unsigned left[RANDOM_BLOCK_LANES], lefts = block->lanes;
    memcpy(left, block->lane, sizeof(left));
    while (lefts > 1) {
        // left[0] is the origin: the last one.
        const unsigned at = 1 + random_below(&build->source, lefts - 1);
        const unsigned lane = left[at];
        left[at] = left[--lefts];
        if (random_order_open(build->order, lane)) {
            const unsigned from = record(build, block, lane);
            await(build, block, left[random_below(&build->source, lefts)], from);
        }
    }
}

// ---- words and notifies ----

static void resolve_pending(struct random_build *build, struct random_block *block)
{
    struct random_program *p = build->program;
    const unsigned partner = block->pending[--block->pendings];
    const struct random_task *first = &p->task[partner];
    struct random_task task = random_task(block,
            first->kind == RANDOM_VALUE_WRITE ? RANDOM_VALUE_WAIT : RANDOM_NOTIFY_WAIT,
            random_lane_pick(build, block));
    task.partner = (uint16_t)partner;
    task.event = first->event;
    task.word = first->word;
    // Each of these holds for what is written and not for the 0 before it.
    task.flag = random_below(&build->source, 3); // at least, equal, bits in common
    task.value = task.flag == 0 ? 1 + random_below(&build->source, first->value) : first->value;
    p->task[partner].partner = (uint16_t)p->tasks;
    if (!random_add(build, &task)) { // the notify was used before, and not everywhere that is over
        task.lane = first->lane;
        random_add(build, &task);
    }
}

static void make_value_write(struct random_build *build, struct random_block *block)
{
    struct random_task task =
            random_task(block, RANDOM_VALUE_WRITE, random_lane_pick(build, block));
    const unsigned word = random_buffer_add(
            build, &(struct random_buffer){ .fill = RANDOM_FILL_ZERO, .bytes = 8 });
    if (block->repeats || build->program->chained || word == RANDOM_BUFFERS) {
        return; // the word would still be set from the last time
    }
    task.word = (uint8_t)word;
    task.value = 1 + random_below(&build->source, 1000);
    if (random_add(build, &task)) {
        block->pending[block->pendings++] = build->program->tasks - 1;
    }
}

static void make_notify(struct random_build *build, struct random_block *block)
{
    const unsigned lane = random_lane_pick(build, block);
    struct random_task task = random_task(block, RANDOM_NOTIFY_RECORD, lane);
    task.event = (uint8_t)random_below(&build->source, RANDOM_NOTIFIES);
    task.value = 1;
    if (random_add(build, &task)) {
        block->pending[block->pendings++] = build->program->tasks - 1;
    }
}

// ---- the outside ----

static void outside_work(struct random_build *build, unsigned most)
{
    for (unsigned n = random_below(&build->source, most + 1); n > 0; n--) {
        random_data_task(build, NULL, RANDOM_OUTSIDE,
                random_chance(&build->source, 70) ? RANDOM_COPY : RANDOM_FILL, 0);
    }
}

// A word that the graph waits for is written by eager work, which may come after the replay.
static void outside_write(struct random_build *build, struct random_block *block)
{
    struct random_task task = random_task(NULL, RANDOM_VALUE_WRITE, RANDOM_OUTSIDE);
    const unsigned word = random_buffer_add(
            build, &(struct random_buffer){ .fill = RANDOM_FILL_ZERO, .bytes = 8 });
    if (build->program->chained || word == RANDOM_BUFFERS) {
        return;
    }
    outside_work(build, 2);
    task.word = (uint8_t)word;
    task.value = 1 + random_below(&build->source, 1000);
    if (random_add(build, &task)) {
        block->pending[block->pendings++] = build->program->tasks - 1;
    }
}

static void outside_before(struct random_build *build, struct random_block *block)
{
    struct random_task task = random_task(NULL, RANDOM_RECORD, RANDOM_OUTSIDE);
    if (with(build, RANDOM_WITH_VALUES) && random_chance(&build->source, 20)) {
        outside_write(build, block);
    }
    while (build->external_waits < 4 && block->externals < 2 && random_chance(&build->source, 30)) {
        outside_work(build, 2);
        task.event = (uint8_t)(RANDOM_EVENTS + build->external_waits++);
        random_add(build, &task);
        block->external[block->externals++] = build->program->tasks - 1;
    }
}

static void make_external_wait(struct random_build *build, struct random_block *block)
{
    struct random_task task =
            random_task(block, RANDOM_EXTERNAL_WAIT, random_lane_pick(build, block));
    if (block->externals > 0) {
        task.partner = (uint16_t)block->external[--block->externals];
        task.event = build->program->task[task.partner].event;
        random_add(build, &task);
    }
}

static void make_external_record(struct random_build *build, struct random_block *block)
{
    struct random_task task =
            random_task(block, RANDOM_EXTERNAL_RECORD, random_lane_pick(build, block));
    if (block->depth == 0 && build->external_records < 4) {
        task.event = (uint8_t)(RANDOM_EVENTS + 4 + build->external_records++);
        random_add(build, &task);
    }
}

static void outside_after(struct random_build *build, unsigned first)
{
    const struct random_program *p = build->program;
    for (unsigned i = p->tasks; i-- > first;) {
        if (p->task[i].kind == RANDOM_EXTERNAL_RECORD) {
            await(build, NULL, RANDOM_OUTSIDE, i);
            outside_work(build, 2);
        }
    }
}

// ---- blocks ----

// A task of its own whose operands, or existence, the graph's owner changes.
static void make_tuned(struct random_build *build, struct random_block *block, unsigned lane)
{
    struct random_program *p = build->program;
    const bool kernel = with(build, RANDOM_WITH_KERNELS) &&
                        (!block->collectives || random_chance(&build->source, 50));
    const unsigned first = p->tasks;
    if (block->depth > 0 || p->chained || !(kernel || block->collectives)) {
        return; // sub-graphs are not open to it, and graphs must not be running
    }
    random_data_task(build, block, lane, kernel ? RANDOM_KERNEL : RANDOM_COLLECTIVE, p->groups + 1);
    if (p->tasks > first) {
        p->groups++;
        p->task[first].tuned = true;
        p->task[first].disabled = random_chance(&build->source, 15);
    }
}

static void make_something(struct random_build *build, struct random_block *block)
{
    struct random_source *source = &build->source;
    const unsigned lane = random_lane_pick(build, block);
    const unsigned dice = random_below(source, 100);
    if (dice < 22) {
        make_edge(build, block);
    } else if (dice < 50 && block->collectives) {
        random_data_task(build, block, lane, RANDOM_COLLECTIVE, 0);
    } else if (dice < 55 && with(build, RANDOM_WITH_HOST_FN)) {
        random_data_task(build, block, lane, RANDOM_HOST_FN, 0);
    } else if (dice < 62 && with(build, RANDOM_WITH_KERNELS)) {
        random_data_task(build, block, lane, RANDOM_KERNEL, 0);
    } else if (dice < 66 && with(build, RANDOM_WITH_VALUES) && block->pendings < RANDOM_PENDING) {
        make_value_write(build, block);
    } else if (dice < 70 && with(build, RANDOM_WITH_NOTIFIES) && block->pendings < RANDOM_PENDING) {
        make_notify(build, block);
    } else if (dice < 75 && with(build, RANDOM_WITH_GROUPS)) {
        random_group(build, block, lane);
    } else if (dice < 78 && with(build, RANDOM_WITH_TUNING)) {
        make_tuned(build, block, lane);
    } else if (dice < 83 && with(build, RANDOM_WITH_CONDS) && block->depth < RANDOM_DEPTH) {
        random_cond(build, block, lane);
    } else if (dice < 86 && with(build, RANDOM_WITH_EXTERNAL)) {
        make_external_record(build, block);
    } else if (dice < 91) {
        random_data_task(
                build, block, lane, random_chance(source, 50) ? RANDOM_FILL : RANDOM_FILL_32, 0);
    } else {
        random_data_task(
                build, block, lane, random_chance(source, 85) ? RANDOM_COPY : RANDOM_COPY_2D, 0);
    }
}

void random_block_fill(struct random_build *build, struct random_block *block, unsigned tasks)
{
    for (unsigned n = 0; n < tasks && random_room(build, 4); n++) {
        make_something(build, block);
        if (block->pendings > 0 && random_chance(&build->source, 40)) {
            resolve_pending(build, block);
        }
        if (random_chance(&build->source, 20)) {
            make_external_wait(build, block);
        }
    }
    while (block->pendings > 0) {
        resolve_pending(build, block);
    }
}

static void make_segment(struct random_build *build)
{
    struct random_program *p = build->program;
    struct random_block block = random_block_begin(build, 0);
    block.collectives = with(build, RANDOM_WITH_COLLECTIVES);
    if (with(build, RANDOM_WITH_EXTERNAL)) {
        outside_before(build, &block);
    }
    const unsigned first = p->tasks;
    build->segment = p->segments++;
    struct random_task task = random_task(&block, RANDOM_SEGMENT, block.lane[0]);
    task.value = build->segment;
    task.beside = build->segment > 0 && with(build, RANDOM_WITH_PARALLEL) &&
                  random_chance(&build->source, 40);
    random_add(build, &task);
    random_block_fill(build, &block, 3 + random_below(&build->source, 26));
    random_block_join(build, &block);
    task = random_task(&block, RANDOM_GRAPH_END, block.lane[0]);
    random_add(build, &task);
    outside_after(build, first);
}

// ---- programs ----

static uint32_t some_bytes(struct random_build *build)
{
    struct random_source *source = &build->source;
    const unsigned dice = random_below(source, 100);
    uint32_t most = 1024;
    if (build->large && dice < 20) {
        most = build->program->exact ? 32 * 1024 : 320 * 1024;
    } else if (dice < 60) {
        most = 16 * 1024;
    }
    return 64 + 8 * random_below(source, most / 8);
}

static void make_buffers(struct random_build *build)
{
    static const uint8_t memory[] = { RANDOM_DEVICE, RANDOM_DEVICE, RANDOM_DEVICE, RANDOM_PINNED,
        RANDOM_PINNED, RANDOM_PAGEABLE, RANDOM_MIXED, RANDOM_DEVICE, RANDOM_DEVICE, RANDOM_PINNED };
    struct random_source *source = &build->source;
    const unsigned buffers = 6 + random_below(source, 7);
    const uint8_t favourite = (uint8_t)random_below(source, RANDOM_FILL_FP64 + 1);
    for (unsigned b = 0; b < buffers; b++) {
        const struct random_buffer buffer = {
            .memory = memory[b % sizeof(memory)],
            .fill = random_chance(source, 60) ? favourite
                                              : (uint8_t)random_below(source, RANDOM_FILL_FP64 + 1),
            .pageable_ranks = (uint8_t)random_below(source, 16),
            .bytes = some_bytes(build),
        };
        random_buffer_add(build, &buffer);
    }
}

void random_program_make(struct random_program *program, uint64_t seed, unsigned features)
{
    struct random_build build = { .program = program, .source = random_begin(seed) };
    struct random_source *source = &build.source;
    memset(program, 0, sizeof(*program));
    *program = (struct random_program){
        .seed = seed,
        .ranks = random_seed_ranks(seed),
        .features = features,
        .rounds = 1 + random_below(source, RANDOM_ROUNDS),
        .variants = 1 + random_below(source, RANDOM_VARIANTS),
        .exact = random_chance(source, 30),
        .chained = random_chance(source, 15),
        .own_buffers = random_chance(source, 20),
        .mixed = random_chance(source, 35),
        .graph_first = random_chance(source, 50),
        .capture_early = random_chance(source, 30),
        .destroy_early = random_chance(source, 20),
        .built = random_chance(source, 30),
        .served = (features & RANDOM_WITH_SERVING) != 0 && random_chance(source, 20),
        .cuts = random_chance(source, 30) ? 1 + random_below(source, 3) : 0,
        .replay_on = random_chance(source, 60) ? 0 : RANDOM_STREAM_REPLAY,
        .mode = (uint8_t)random_below(source, 3),
    };
    if (program->chained) { // then nothing says where a round ends
        program->mixed = false;
        program->features &= ~(unsigned)RANDOM_WITH_EXTERNAL;
    }
    program->lane[RANDOM_OUTSIDE].stream = RANDOM_STREAM_OUTSIDE;
    program->lanes = 1;
    build.large = random_chance(source, 30);
    build.order = random_order_create(program);
    if (build.order == NULL) {
        abort();
    }
    make_buffers(&build);
    const unsigned dice = random_below(source, 10);
    const unsigned segments = dice < 6 ? 1 : dice < 9 ? 2 : RANDOM_SEGMENTS;
    for (unsigned s = 0; s < segments && random_room(&build, 8); s++) {
        make_segment(&build);
    }
    random_order_destroy(build.order);
}
