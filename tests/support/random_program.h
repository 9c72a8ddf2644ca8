#ifndef TESTS_SUPPORT_RANDOM_PROGRAM_H
#define TESTS_SUPPORT_RANDOM_PROGRAM_H

/*
 * Random programs of streams, events, collectives, copies, host functions and
 * control flow, the same bits on whatever path they take: eager, captured and
 * replayed, or interpreted by one thread in plain C.
 *
 * A program is a list of tasks in the order of the calls, the same list for all
 * ranks; only data, and which ranks take part in a task, differ. It is free of
 * races by construction: random_order follows it with vector clocks, and a task
 * is added only if whatever touches its bytes is ordered before it. So the order
 * of the list is one legal execution, and every other legal one gives the same.
 *
 * A *block* is what one capture records: a segment of the program, or one body
 * of a conditional. A *lane* is one stream of one block, from its first task to
 * its last; lane numbers are never used twice, streams are.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/dtype.h"
#include "support/oracle_collective.h"

#define RANDOM_TASKS 256
#define RANDOM_BUFFERS 48
#define RANDOM_LANES 64
#define RANDOM_STREAMS 13
#define RANDOM_LANE_STREAMS 9 /* the first of them */
#define RANDOM_EVENTS 128
#define RANDOM_EVENTS_AGAIN 8 /* of those, when they are recorded again and again */
#define RANDOM_OUTSIDE_EVENTS 8
#define RANDOM_HOLDS 8 /* groups that replays wait at */
#define RANDOM_NOTIFIES 6
#define RANDOM_COMMS 6
#define RANDOM_VARIANTS 3
#define RANDOM_SEGMENTS 3
#define RANDOM_ROUNDS 3
#define RANDOM_GUARD_BYTES 128u
#define RANDOM_IMAGE_BYTES (3u << 20) /* all buffers of a rank, with guards */

/* Streams by use. */
#define RANDOM_STREAM_OUTSIDE 9 /* eager work beside a graph, and updates */
#define RANDOM_STREAM_REPLAY 10 /* where some replays are queued */
#define RANDOM_STREAM_SPARE 11
#define RANDOM_STREAM_BESIDE 12 /* of a segment that runs beside the one before it */

#define RANDOM_NONE_U8 0xff

enum random_kind {
    RANDOM_NOTHING, /* a task that was dropped */
    RANDOM_SEGMENT,
    RANDOM_GRAPH_END, /* of a segment: what follows runs outside it */
    RANDOM_COLLECTIVE,
    RANDOM_COPY,
    RANDOM_COPY_2D,
    RANDOM_FILL,
    RANDOM_FILL_32,
    RANDOM_HOST_FN,
    RANDOM_KERNEL,
    RANDOM_RECORD,
    RANDOM_WAIT,
    RANDOM_VALUE_WRITE,
    RANDOM_VALUE_WAIT,
    RANDOM_NOTIFY_RECORD,
    RANDOM_NOTIFY_WAIT,
    RANDOM_EXTERNAL_RECORD,
    RANDOM_EXTERNAL_WAIT,
    RANDOM_GROUP,
    RANDOM_GROUP_END,
    RANDOM_COND,
    RANDOM_BODY,
    RANDOM_BODY_END,
    RANDOM_COND_END,
    RANDOM_KINDS
};

/* What programs may consist of, beside the always present streams, events, copies and fills. */
enum random_feature {
    RANDOM_WITH_HOST_FN = 1 << 0,
    RANDOM_WITH_VALUES = 1 << 1,
    RANDOM_WITH_NOTIFIES = 1 << 2,
    RANDOM_WITH_KERNELS = 1 << 3,
    RANDOM_WITH_GROUPS = 1 << 4,
    RANDOM_WITH_CONDS = 1 << 5,
    RANDOM_WITH_EXTERNAL = 1 << 6,
    RANDOM_WITH_COLLECTIVES = 1 << 7,
    RANDOM_WITH_RERECORDS = 1 << 8, /* of events that streams still wait for */
    RANDOM_WITH_PARALLEL = 1 << 9,  /* graphs beside each other */
    RANDOM_WITH_TUNING = 1 << 10,   /* SetParams, Disable and Update */
    RANDOM_WITH_HOLDING = 1 << 11,  /* replays that wait for the update of their groups */
    RANDOM_WITH_SERVING = 1 << 12,  /* host functions by aclrtLaunchCallback */
};
#define RANDOM_WITH_ALL 0x1fffu

enum random_op {
    RANDOM_ALL_REDUCE,
    RANDOM_REDUCE_SCATTER,
    RANDOM_ALL_GATHER,
    RANDOM_BROADCAST,
    RANDOM_REDUCE,
    RANDOM_SCATTER,
    RANDOM_ALLTOALL,
    RANDOM_ALL_GATHER_V,
    RANDOM_REDUCE_SCATTER_V,
    RANDOM_BARRIER,
};

enum random_memory {
    RANDOM_DEVICE,
    RANDOM_PINNED,
    RANDOM_PAGEABLE, /* collectives stage it */
    RANDOM_MIXED,    /* pageable on some ranks, device memory on the others */
    RANDOM_WORD,     /* the condition of a conditional */
};

/* What a buffer holds at first. */
enum random_fill {
    RANDOM_FILL_BITS, /* anything */
    RANDOM_FILL_FP32, /* floats between 1/8 and 2 of both signs ... */
    RANDOM_FILL_FP16,
    RANDOM_FILL_BFP16,
    RANDOM_FILL_FP64,
    RANDOM_FILL_DIAL,  /* words less than `limit` */
    RANDOM_FILL_COUNT, /* words n, n - 1, ... 0, with n less than `limit` */
    RANDOM_FILL_ZERO,
};

/* What host functions and kernels compute. */
enum random_function {
    RANDOM_FN_SELECT,     /* to = some bits of from, the others of with */
    RANDOM_FN_ADD,        /* to = 3 * from + with + 1, by bytes */
    RANDOM_FN_REVERSE,    /* to = from, last word first */
    RANDOM_FN_COUNT_DOWN, /* one word of to: less by one, not below 0 */
    RANDOM_FNS
};

struct random_buffer {
    uint8_t memory; /* enum random_memory */
    uint8_t fill;
    uint8_t pageable_ranks; /* bits, of a mixed one */
    bool shared;            /* all ranks begin with the same data */
    bool has_default;       /* of a word: its value as an execution begins */
    uint8_t segment;        /* of a word: where it lives */
    uint32_t limit;
    uint32_t offset; /* in the image */
    uint32_t bytes;
};

struct random_range {
    uint8_t buffer;
    uint32_t offset;
    uint32_t bytes;
};

/* A task's operands; tasks of a group have one set for each variant. */
struct random_args {
    struct random_range to, from, with;
    uint32_t count;
};

struct random_task {
    uint8_t kind;
    uint8_t lane;
    uint8_t block;
    uint8_t ranks; /* bits: who takes part */
    uint8_t comm;
    uint8_t op; /* enum random_op */
    uint8_t dtype;
    uint8_t reduce;
    uint8_t root;
    bool in_place;
    uint8_t function;
    uint8_t event;    /* or notify */
    uint8_t word;     /* COND: its buffer; VALUE_*: likewise */
    uint8_t cond;     /* aclmdlRICondTaskType */
    uint8_t group;    /* tasks of one: its number + 1 */
    bool beside;      /* SEGMENT: not after the segment before it */
    bool held;        /* GROUP: replays wait there for the update, or for its absence */
    bool tuned;       /* alone in its group: its operands are changed by SetParams */
    bool disabled;    /* in the graph as soon as there is one; never runs */
    uint16_t partner; /* WAIT: its record; COND, BODY: its end */
    uint32_t value;   /* SEGMENT: which it is */
    uint32_t flag;
    uint32_t height; /* COPY_2D */
    struct random_args args[RANDOM_VARIANTS];
};

struct random_lane {
    uint8_t block;
    uint8_t stream;
};

struct random_program {
    uint64_t seed;
    unsigned ranks;
    unsigned features;
    unsigned rounds;
    unsigned variants;  /* that tasks of groups have */
    bool exact;         /* an oracle can know its bits */
    bool chained;       /* rounds follow without new input and without waiting */
    bool own_buffers;   /* each buffer is allocated for itself */
    bool mixed;         /* run once more, with each segment eager or replayed as each rank likes */
    bool graph_first;   /* the first use of the buffers is a replay */
    bool capture_early; /* while eager work is under way */
    bool destroy_early; /* graphs are destroyed while their replays are queued */
    bool built;         /* where possible, some ranks build segments instead of capturing them */
    bool served;        /* host functions are run by a thread of the program */
    unsigned cuts;      /* captures that are ended too early, before all else */
    uint8_t replay_on;  /* stream */
    uint8_t mode;       /* aclmdlRICaptureMode */
    unsigned tasks, buffers, lanes, blocks, groups, segments;
    struct random_task task[RANDOM_TASKS];
    struct random_buffer buffer[RANDOM_BUFFERS];
    struct random_lane lane[RANDOM_LANES];
};

/* ---- numbers ---- */

struct random_source {
    uint64_t state;
};

/** random_begin: the numbers that belong to `seed`. random_next: any 64 bits. random_below: less
 * than `bound`. random_chance: true `percent` times of 100. */
struct random_source random_begin(uint64_t seed);
uint64_t random_next(struct random_source *source);
uint32_t random_below(struct random_source *source, uint32_t bound);
bool random_chance(struct random_source *source, unsigned percent);

/* ---- programs ---- */

/** random_seed_ranks: of how many ranks the program of a seed is: 2, 3 or 4. */
unsigned random_seed_ranks(uint64_t seed);

/** random_program_make: the program of a seed. `features`: enum random_feature. */
void random_program_make(struct random_program *program, uint64_t seed, unsigned features);

/** random_program_print: one line a task. */
void random_program_print(const struct random_program *program, FILE *to);

/** random_program_drop: leave out the tasks that are marked; the others keep their numbers. */
void random_program_drop(struct random_program *program, const bool *dropped);

/** random_comm_exact: whether reductions on that communicator are the left fold in rank order. */
bool random_comm_exact(unsigned comm);

/** random_comm_has: whether `rank` of `ranks` is in the communicator. random_comm_rank: as which.
 * random_comm_size: of how many. */
bool random_comm_has(unsigned comm, unsigned ranks, unsigned rank);
unsigned random_comm_rank(unsigned comm, unsigned ranks, unsigned rank);
unsigned random_comm_size(unsigned comm, unsigned ranks);

/** random_comm_member: the job's rank that is rank `rank` of the communicator. */
unsigned random_comm_member(unsigned comm, unsigned ranks, unsigned rank);

/** random_oracle_call: a collective other than a barrier as the oracle knows it. */
struct oracle_call random_oracle_call(const struct random_program *program,
        const struct random_task *task, const struct random_args *args);

/** random_input_is_larger: whether an operator in place writes into its input, and not the other
 * way round. */
bool random_input_is_larger(const struct random_task *task);

/** random_send, random_recv: the ranges of a collective on rank `rank` of the job, where it is in
 * place too. */
struct random_range random_send(const struct random_program *program,
        const struct random_task *task, const struct random_args *args, unsigned rank);
struct random_range random_recv(const struct random_program *program,
        const struct random_task *task, const struct random_args *args, unsigned rank);

/** random_variant: of the operands of a group's tasks in round `round`. */
static inline unsigned random_variant(
        const struct random_program *program, const struct random_task *task, unsigned round)
{
    return task->group == 0 ? 0 : (round * (1 + task->group % 2u)) % program->variants;
}

/** random_fill_buffer: a buffer's data at the beginning of a round. */
void random_fill_buffer(const struct random_program *program, unsigned buffer, unsigned rank,
        unsigned round, uint8_t *to);

/** random_apply: what a host function or kernel computes; blocks share the words evenly. */
void random_apply(enum random_function function, uint8_t *to, const uint8_t *from,
        const uint8_t *with, uint32_t bytes, uint32_t block, uint32_t blocks);

/** random_word_default: of a condition that has one. */
static inline uint32_t random_word_default(const struct random_program *program, unsigned buffer)
{
    return (uint32_t)((program->seed / 8 + buffer) % program->buffer[buffer].limit);
}

/** random_block_end: the task that ends the segment or body that begins at `first`. */
unsigned random_block_end(const struct random_program *program, unsigned first);

/* ---- order ---- */

struct random_order;

/** random_order_create: nothing has run yet. NULL: no memory. */
struct random_order *random_order_create(const struct random_program *program);
void random_order_destroy(struct random_order *order);

/** random_order_allows: whether the task races with none before it. */
bool random_order_allows(const struct random_order *order, const struct random_task *task);

/** random_order_add: it has been submitted; `index` is its place in the program. */
void random_order_add(struct random_order *order, const struct random_task *task, unsigned index);

/** random_order_precedes: whether the task at `index` is over before the next one of `lane`. */
bool random_order_precedes(const struct random_order *order, unsigned index, unsigned lane);

/** random_order_open: whether a lane still has to be joined; random_order_used: whether it is in
 * its block. */
bool random_order_open(const struct random_order *order, unsigned lane);
bool random_order_used(const struct random_order *order, unsigned lane);

/** random_program_sound: no races, every stream joined; also after tasks were dropped. */
bool random_program_sound(const struct random_program *program);

/* ---- the oracle ---- */

/** random_oracle: run a round by one thread over the images of all ranks. `words`, one for each
 * buffer, are those of kind WORD. */
void random_oracle(const struct random_program *program, uint8_t *const *images, unsigned round);

#endif
