#ifndef TESTS_SUPPORT_RANDOM_PROGRAM_BUILD_H
#define TESTS_SUPPORT_RANDOM_PROGRAM_BUILD_H

/* The parts of the generator of random programs, between its files. */

#include "support/random_program.h"

#define RANDOM_OUTSIDE 0     /* the lane of eager work beside the graphs */
#define RANDOM_BLOCK_LANES 4 /* most of one block */
#define RANDOM_DEPTH 2       /* of conditionals in conditionals */
#define RANDOM_PENDING 4

struct random_build {
    struct random_program *program;
    struct random_order *order;
    struct random_source source;
    unsigned segment;
    unsigned records; /* of events */
    unsigned holds;
    unsigned external_waits, external_records; /* events used */
    bool large;                                /* buffers of hundreds of KiB */
};

/* A block that is being filled. */
struct random_block {
    unsigned number, depth;
    unsigned lane[RANDOM_BLOCK_LANES]; /* the first is its origin */
    unsigned lanes, streams;           /* that it has, that it can have */
    bool collectives;                  /* all ranks come here, and as often */
    bool repeats;                      /* in the body of a loop */
    unsigned pending[RANDOM_PENDING];  /* writes and notifies that somebody has to wait for */
    unsigned pendings;
    unsigned external[2]; /* outside records to wait for */
    unsigned externals;
};

/** random_room: whether `tasks` more fit, with what is needed to end all blocks. */
bool random_room(const struct random_build *build, unsigned tasks);

/** random_add: append a task if it races with none. */
bool random_add(struct random_build *build, const struct random_task *task);

/** random_task: of a kind, on a lane of the block, for all ranks. */
struct random_task random_task(
        const struct random_block *block, enum random_kind kind, unsigned lane);

/** random_buffer_add: one more buffer. Answers its number, RANDOM_BUFFERS when there is no room. */
unsigned random_buffer_add(struct random_build *build, const struct random_buffer *buffer);

/** random_lane_pick: one of the block. random_lane_add: one more; its first task is a wait. */
unsigned random_lane_pick(struct random_build *build, const struct random_block *block);
unsigned random_lane_add(struct random_build *build, struct random_block *block);

/** random_block_begin: a new block with its origin. */
struct random_block random_block_begin(struct random_build *build, unsigned depth);

/** random_block_fill: about `tasks` tasks. random_block_join: all lanes come back to the origin. */
void random_block_fill(struct random_build *build, struct random_block *block, unsigned tasks);
void random_block_join(struct random_build *build, struct random_block *block);

/* One task, or a few that belong together, on `lane`; nothing if nothing fits. */
void random_data_task(struct random_build *build, const struct random_block *block, unsigned lane,
        enum random_kind kind, unsigned group);
void random_group(struct random_build *build, struct random_block *block, unsigned lane);
void random_cond(struct random_build *build, const struct random_block *block, unsigned lane);

#endif
