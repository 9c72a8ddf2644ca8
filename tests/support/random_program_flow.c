// Random conditionals and task groups.

#include <acl/acl.h>

#include "support/random_program_build.h"

#define BODIES_MAX 4
#define PASSES_MAX 3 // of a loop

void random_group(struct random_build *build, struct random_block *block, unsigned lane)
{
    struct random_program *p = build->program;
    struct random_task task = random_task(block, RANDOM_GROUP, lane);
    const unsigned first = p->tasks;
    if (!random_room(build, 6)) {
        return;
    }
    task.group = (uint8_t)(p->groups + 1);
    task.held = (p->features & RANDOM_WITH_HOLDING) != 0 && block->depth == 0 &&
                build->holds < RANDOM_HOLDS && random_chance(&build->source, 30);
    if (task.held) {
        task.event = (uint8_t)build->holds++;
    }
    random_add(build, &task);
    for (unsigned n = 1 + random_below(&build->source, 3); n > 0; n--) {
        const bool kernel = (p->features & RANDOM_WITH_KERNELS) != 0 &&
                            (!block->collectives || random_chance(&build->source, 50));
        if (kernel || block->collectives) {
            random_data_task(
                    build, block, lane, kernel ? RANDOM_KERNEL : RANDOM_COLLECTIVE, p->groups + 1);
        }
    }
    task.kind = RANDOM_GROUP_END;
    task.partner = (uint16_t)first;
    p->task[first].partner = (uint16_t)p->tasks;
    random_add(build, &task);
    p->groups++;
}

// ---- conditionals ----

static unsigned small_buffer(struct random_build *build, enum random_memory memory,
        enum random_fill fill, unsigned limit, unsigned words, bool shared)
{
    return random_buffer_add(build, &(struct random_buffer){
                                            .memory = (uint8_t)memory,
                                            .fill = (uint8_t)fill,
                                            .limit = limit,
                                            .shared = shared,
                                            .segment = (uint8_t)build->segment,
                                            .bytes = 8 * words,
                                    });
}

static bool copy(struct random_build *build, const struct random_block *block, unsigned lane,
        struct random_range to, struct random_range from)
{
    struct random_task task = random_task(block, RANDOM_COPY, lane);
    task.args[0].to = to;
    task.args[0].from = from;
    return random_add(build, &task);
}

static struct random_range words(unsigned buffer, unsigned first, unsigned count)
{
    return (struct random_range){ (uint8_t)buffer, 8 * first, 8 * count };
}

// The condition is the largest that any rank has.
static void agree(struct random_build *build, const struct random_block *block, unsigned lane,
        unsigned own, unsigned agreed)
{
    struct random_task task = random_task(block, RANDOM_COLLECTIVE, lane);
    task.op = RANDOM_ALL_REDUCE;
    task.comm = (uint8_t)random_below(&build->source, RANDOM_COMMS - 1);
    task.dtype = RP_DTYPE_UINT64;
    task.reduce = RP_REDUCE_MAX;
    task.args[0].to = words(agreed, 0, 1);
    task.args[0].from = words(own, 0, 1);
    task.args[0].count = 1;
    random_add(build, &task);
}

// Something that decides `word`, before the conditional on the same lane.
static void decide(struct random_build *build, const struct random_block *block, unsigned lane,
        unsigned word, bool agreed)
{
    struct random_program *p = build->program;
    struct random_buffer *w = &p->buffer[word];
    const unsigned limit = w->limit;
    w->has_default = random_chance(&build->source, 50);
    w->shared = agreed;
    if (random_chance(&build->source, 20)) {
        return; // the default, or what it was before, decides
    }
    if (agreed && block->collectives && random_chance(&build->source, 40)) {
        const unsigned own = small_buffer(build, RANDOM_DEVICE, RANDOM_FILL_DIAL, limit, 1, false);
        const unsigned all = small_buffer(build, RANDOM_DEVICE, RANDOM_FILL_DIAL, limit, 1, false);
        if (own != RANDOM_BUFFERS && all != RANDOM_BUFFERS) {
            agree(build, block, lane, own, all);
            copy(build, block, lane, words(word, 0, 1), words(all, 0, 1));
        }
        return;
    }
    const unsigned dial =
            small_buffer(build, random_chance(&build->source, 50) ? RANDOM_DEVICE : RANDOM_PINNED,
                    RANDOM_FILL_DIAL, limit, 1, agreed);
    if (dial != RANDOM_BUFFERS) {
        copy(build, block, lane, words(word, 0, 1), words(dial, 0, 1));
    }
}

struct loop {
    bool by_host;          // a host function counts, else a table moves along
    unsigned count, spare; // buffers
};

static bool loop_open(struct random_build *build, const struct random_block *block, unsigned lane,
        unsigned word, bool agreed, struct loop *loop)
{
    const bool host_fn = (build->program->features & RANDOM_WITH_HOST_FN) != 0;
    loop->by_host = host_fn && random_chance(&build->source, 50);
    loop->count = loop->by_host ? small_buffer(build, RANDOM_PINNED, RANDOM_FILL_DIAL,
                                          PASSES_MAX + 1, 1, agreed)
                                : small_buffer(build, RANDOM_DEVICE, RANDOM_FILL_COUNT,
                                          PASSES_MAX + 1, PASSES_MAX + 1, agreed);
    loop->spare = small_buffer(build, RANDOM_DEVICE, RANDOM_FILL_ZERO, 1, PASSES_MAX, true);
    build->program->buffer[word].has_default = random_chance(&build->source, 50);
    return loop->count != RANDOM_BUFFERS && loop->spare != RANDOM_BUFFERS &&
           copy(build, block, lane, words(word, 0, 1), words(loop->count, 0, 1));
}

// At the end of a pass.
static void loop_next(struct random_build *build, const struct random_block *block, unsigned lane,
        unsigned word, const struct loop *loop)
{
    if (loop->by_host) {
        struct random_task task = random_task(block, RANDOM_HOST_FN, lane);
        task.function = RANDOM_FN_COUNT_DOWN;
        task.value = 1;
        task.args[0].to = words(loop->count, 0, 1);
        task.args[0].count = 1;
        random_add(build, &task);
    } else {
        copy(build, block, lane, words(loop->spare, 0, PASSES_MAX),
                words(loop->count, 1, PASSES_MAX));
        copy(build, block, lane, words(loop->count, 0, PASSES_MAX),
                words(loop->spare, 0, PASSES_MAX));
    }
    copy(build, block, lane, words(word, 0, 1), words(loop->count, 0, 1));
}

static void make_body(struct random_build *build, const struct random_block *outer, unsigned tasks,
        bool agreed, unsigned word, const struct loop *loop)
{
    struct random_program *p = build->program;
    struct random_block block = random_block_begin(build, outer->depth + 1);
    struct random_task task = random_task(&block, RANDOM_BODY, block.lane[0]);
    const unsigned first = p->tasks;
    block.collectives = outer->collectives && agreed;
    block.repeats = outer->repeats || loop != NULL;
    random_add(build, &task);
    random_block_fill(build, &block, tasks);
    random_block_join(build, &block);
    if (loop != NULL) {
        loop_next(build, &block, block.lane[0], word, loop);
    }
    task.kind = RANDOM_BODY_END;
    p->task[first].partner = (uint16_t)p->tasks;
    random_add(build, &task);
}

void random_cond(struct random_build *build, const struct random_block *block, unsigned lane)
{
    struct random_program *p = build->program;
    struct random_source *source = &build->source;
    struct random_task task = random_task(block, RANDOM_COND, lane);
    struct loop loop;
    unsigned bodies = 1;
    task.cond = (uint8_t)random_below(source, ACL_MODEL_RI_COND_TYPE_SWITCH + 1);
    const bool repeats = task.cond == ACL_MODEL_RI_COND_TYPE_WHILE;
    if (task.cond == ACL_MODEL_RI_COND_TYPE_IF) {
        bodies = 1 + random_below(source, 2);
    } else if (task.cond == ACL_MODEL_RI_COND_TYPE_SWITCH) {
        bodies = 1 + random_below(source, BODIES_MAX);
    }
    if (!random_room(build, 12 + 12 * bodies) ||
            p->lanes + RANDOM_BLOCK_LANES * (bodies + 1) > RANDOM_LANES) {
        return;
    }
    const bool agreed = random_chance(source, 60);
    const unsigned word =
            small_buffer(build, RANDOM_WORD, RANDOM_FILL_DIAL, repeats ? 1 : bodies + 1, 1, agreed);
    if (word == RANDOM_BUFFERS) {
        return;
    }
    if (!repeats) {
        decide(build, block, lane, word, agreed);
    } else if (!loop_open(build, block, lane, word, agreed, &loop)) {
        return;
    }
    task.word = (uint8_t)word;
    task.value = bodies;
    const unsigned at = p->tasks;
    if (!random_add(build, &task)) {
        return;
    }
    for (unsigned b = 0; b < bodies; b++) {
        make_body(build, block, random_below(source, repeats ? 6 : 8), agreed, word,
                repeats ? &loop : NULL);
    }
    task.kind = RANDOM_COND_END;
    p->task[at].partner = (uint16_t)p->tasks;
    random_add(build, &task);
}
