// Which tasks of a random program are ordered, by vector clocks: clock[a][b] is how many tasks of
// lane b are over before the next task of lane a begins.

#include <stdlib.h>
#include <string.h>

#include "support/random_program.h"

#define ACCESSES (RANDOM_TASKS * RANDOM_VARIANTS * 2)
#define OUTSIDE 0 // the lane beside all blocks

struct access {
    struct random_range range;
    bool write;
    uint8_t lane;
    uint16_t place; // of its task in the lane, from 1
};

struct random_order {
    const struct random_program *program;
    uint16_t clock[RANDOM_LANES][RANDOM_LANES];
    uint16_t after[RANDOM_TASKS][RANDOM_LANES]; // the lane's clock once the task is over
    bool used[RANDOM_LANES];
    bool open[RANDOM_LANES];     // has tasks that nobody in the block waits for
    unsigned last[RANDOM_LANES]; // its last task
    int latest[RANDOM_EVENTS + RANDOM_OUTSIDE_EVENTS]; // record of each event, -1: none
    int notified[RANDOM_NOTIFIES]; // the task that used each notify last, -1: none
    uint16_t begun[RANDOM_LANES];  // when the segment before began
    uint16_t ended[RANDOM_LANES];  // when all segments so far are over
    unsigned accesses;
    struct access access[ACCESSES];
};

struct random_order *random_order_create(const struct random_program *program)
{
    struct random_order *order = calloc(1, sizeof(*order));
    if (order != NULL) {
        order->program = program;
        order->used[OUTSIDE] = true;
        memset(order->latest, 0xff, sizeof(order->latest));
        memset(order->notified, 0xff, sizeof(order->notified));
    }
    return order;
}

void random_order_destroy(struct random_order *order)
{
    free(order);
}

bool random_order_open(const struct random_order *order, unsigned lane)
{
    return order->open[lane];
}

bool random_order_used(const struct random_order *order, unsigned lane)
{
    return order->used[lane];
}

bool random_order_precedes(const struct random_order *order, unsigned index, unsigned lane)
{
    const unsigned by = order->program->task[index].lane;
    return by == lane || order->clock[lane][by] >= order->after[index][by];
}

// ---- accesses ----

static bool overlap(const struct random_range *a, const struct random_range *b)
{
    return a->buffer == b->buffer && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

static bool conflicts(const struct random_order *order, unsigned lane,
        const struct random_range *range, bool write)
{
    for (unsigned i = 0; range->bytes > 0 && i < order->accesses; i++) {
        const struct access *other = &order->access[i];
        if ((write || other->write) && other->lane != lane &&
                other->place > order->clock[lane][other->lane] && overlap(range, &other->range)) {
            return true;
        }
    }
    return false;
}

static bool moves_data(const struct random_task *task)
{
    return task->kind >= RANDOM_COLLECTIVE && task->kind <= RANDOM_KERNEL;
}

static unsigned variants_of(const struct random_order *order, const struct random_task *task)
{
    return task->group != 0 ? order->program->variants : 1;
}

// A notify is one bit: it is free again once its wait is over, and nobody else may take the bit of
// an earlier record.
static bool notify_allows(const struct random_order *order, const struct random_task *task)
{
    const struct random_program *p = order->program;
    int last = order->notified[task->event];
    if (task->kind == RANDOM_NOTIFY_WAIT) {
        while (last >= 0 &&
                (p->task[last].kind != RANDOM_NOTIFY_WAIT || p->task[last].event != task->event)) {
            last--;
        }
    } else if (last >= 0 && p->task[last].kind == RANDOM_NOTIFY_RECORD) {
        return false;
    }
    return last < 0 || random_order_precedes(order, (unsigned)last, task->lane);
}

bool random_order_allows(const struct random_order *order, const struct random_task *task)
{
    if (task->kind == RANDOM_NOTIFY_RECORD || task->kind == RANDOM_NOTIFY_WAIT) {
        return notify_allows(order, task);
    }
    for (unsigned v = 0; v < variants_of(order, task); v++) {
        const struct random_args *args = &task->args[v];
        const bool writes_from = task->kind == RANDOM_COLLECTIVE && task->in_place;
        if (!moves_data(task)) {
            break;
        }
        if ((args->from.bytes > 0 && overlap(&args->to, &args->from)) ||
                (args->with.bytes > 0 && overlap(&args->to, &args->with)) ||
                conflicts(order, task->lane, &args->to, true) ||
                conflicts(order, task->lane, &args->from, writes_from) ||
                conflicts(order, task->lane, &args->with, false)) {
            return false;
        }
    }
    if (task->kind == RANDOM_COND) {
        const struct random_range word = { .buffer = task->word, .bytes = 8 };
        return !conflicts(order, task->lane, &word, false);
    }
    return true;
}

static void keep(struct random_order *order, const struct random_task *task,
        const struct random_range *range, bool write)
{
    if (range->bytes == 0 || order->accesses == ACCESSES) {
        return;
    }
    order->access[order->accesses++] = (struct access){
        .range = *range,
        .write = write,
        .lane = task->lane,
        .place = order->clock[task->lane][task->lane],
    };
}

static void keep_accesses(struct random_order *order, const struct random_task *task)
{
    for (unsigned v = 0; moves_data(task) && v < variants_of(order, task); v++) {
        keep(order, task, &task->args[v].to, true);
        keep(order, task, &task->args[v].from, task->kind == RANDOM_COLLECTIVE && task->in_place);
        keep(order, task, &task->args[v].with, false);
    }
    if (task->kind == RANDOM_COND) {
        keep(order, task, &(struct random_range){ .buffer = task->word, .bytes = 8 }, false);
    }
}

// ---- clocks ----

static void merge(uint16_t *clock, const uint16_t *other)
{
    for (unsigned l = 0; l < RANDOM_LANES; l++) {
        clock[l] = clock[l] > other[l] ? clock[l] : other[l];
    }
}

static unsigned cond_lane(const struct random_order *order, unsigned body)
{
    unsigned depth = 0;
    for (unsigned i = body; i-- > 0;) {
        const struct random_task *task = &order->program->task[i];
        depth += task->kind == RANDOM_COND_END;
        if (task->kind == RANDOM_COND && depth-- == 0) {
            return task->lane;
        }
    }
    return OUTSIDE;
}

static void follow(struct random_order *order, const struct random_task *task, unsigned index)
{
    const unsigned lane = task->lane;
    switch (task->kind) {
    case RANDOM_SEGMENT:
        order->used[lane] = true;
        if (!task->beside) {
            memcpy(order->begun, order->ended, sizeof(order->begun));
        }
        merge(order->clock[lane], order->begun);
        break;
    case RANDOM_GRAPH_END:
        merge(order->ended, order->clock[lane]);
        break;
    case RANDOM_BODY:
        order->used[lane] = true;
        merge(order->clock[lane], order->clock[cond_lane(order, index)]);
        break;
    case RANDOM_BODY_END:
        merge(order->clock[cond_lane(order, index)], order->clock[lane]);
        break;
    case RANDOM_WAIT:
    case RANDOM_VALUE_WAIT:
    case RANDOM_NOTIFY_WAIT:
    case RANDOM_EXTERNAL_WAIT:
        order->used[lane] = true;
        merge(order->clock[lane], order->after[task->partner]);
        break;
    default:
        break;
    }
}

// A group is not one, but for the wait at a held one's beginning.
static bool is_no_task(const struct random_task *task)
{
    return task->kind == RANDOM_NOTHING || task->kind == RANDOM_GROUP_END ||
           (task->kind == RANDOM_GROUP && !task->held);
}

void random_order_add(struct random_order *order, const struct random_task *task, unsigned index)
{
    const unsigned lane = task->lane;
    if (is_no_task(task)) {
        return;
    }
    follow(order, task, index);
    order->clock[lane][lane]++;
    order->last[lane] = index;
    order->open[lane] = true;
    memcpy(order->after[index], order->clock[lane], sizeof(order->after[index]));
    if (task->kind == RANDOM_RECORD || task->kind == RANDOM_EXTERNAL_RECORD) {
        order->latest[task->event] = (int)index;
    } else if (task->kind == RANDOM_WAIT) {
        const unsigned other = order->program->task[task->partner].lane;
        if (other != lane && order->last[other] == task->partner &&
                order->program->task[task->partner].kind == RANDOM_RECORD) {
            order->open[other] = false;
        }
    }
    if (task->kind == RANDOM_NOTIFY_RECORD || task->kind == RANDOM_NOTIFY_WAIT) {
        order->notified[task->event] = (int)index;
    }
    keep_accesses(order, task);
}

// ---- whole programs ----

static bool lanes_joined(const struct random_order *order, const struct random_task *end)
{
    for (unsigned l = 1; l < order->program->lanes; l++) {
        if (order->program->lane[l].block == end->block && l != end->lane && order->used[l] &&
                order->open[l]) {
            return false;
        }
    }
    return true;
}

static bool pairs_up(const struct random_order *order, const struct random_task *task)
{
    const struct random_task *partner = &order->program->task[task->partner];
    switch (task->kind) {
    case RANDOM_WAIT:
    case RANDOM_EXTERNAL_WAIT:
        return partner->kind != RANDOM_NOTHING &&
               order->latest[task->event] == (int)task->partner &&
               (partner->block == task->block || task->event >= RANDOM_EVENTS);
    case RANDOM_VALUE_WAIT:
    case RANDOM_NOTIFY_WAIT:
        return partner->kind != RANDOM_NOTHING;
    case RANDOM_VALUE_WRITE:
    case RANDOM_NOTIFY_RECORD: // its wait
        return partner->kind != RANDOM_NOTHING;
    case RANDOM_GRAPH_END:
    case RANDOM_BODY_END:
        return lanes_joined(order, task);
    default:
        return true;
    }
}

bool random_program_sound(const struct random_program *program)
{
    struct random_order *order = random_order_create(program);
    bool sound = order != NULL;
    for (unsigned i = 0; sound && i < program->tasks; i++) {
        const struct random_task *task = &program->task[i];
        if (task->kind == RANDOM_NOTHING) {
            continue;
        }
        const bool begins = task->kind == RANDOM_SEGMENT || task->kind == RANDOM_BODY ||
                            task->kind == RANDOM_WAIT;
        sound = (begins || order->used[task->lane]) && pairs_up(order, task);
        sound = sound && random_order_allows(order, task);
        if (sound) {
            random_order_add(order, task, i);
        }
    }
    random_order_destroy(order);
    return sound;
}
