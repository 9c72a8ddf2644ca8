#ifndef TESTS_SUPPORT_RANDOM_PROGRAM_RUN_H
#define TESTS_SUPPORT_RANDOM_PROGRAM_RUN_H

/*
 * Runs random programs as one rank of rank_runner.h: eager, captured and
 * replayed, or some segments so and some so, and compares what all buffers
 * hold. Communicators, streams and events live through many programs.
 */

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#include "support/random_program.h"
#include "support/rank_runner.h"

/* What a job's processes share. */
struct random_control {
    uint64_t first, stride, count; /* seeds: first, first + stride, ... */
    unsigned features;
    unsigned repeat;            /* how often each program */
    bool dropped[RANDOM_TASKS]; /* tasks to leave out */
    bool keep_going;            /* a difference is only counted */
    _Atomic unsigned differences;
    _Atomic uint64_t seed[RANKS_MAX]; /* that each rank is at; UINT64_MAX: none */
    _Atomic uint64_t done;            /* programs that rank 0 has run */
};

#define RANDOM_HOPS 64
#define RANDOM_BUILT_STREAMS 4

/* The operands of a host function. */
struct random_call {
    enum random_function function;
    uint8_t *to;
    const uint8_t *from, *with;
    uint32_t bytes;
    uint32_t slow;
};

struct random_runner {
    struct rank *rank;
    HcclComm comm[RANDOM_COMMS];
    aclrtStream stream[RANDOM_STREAMS];
    aclrtStream plain[RANDOM_LANE_STREAMS]; /* the first of `stream` are these, or those: */
    aclrtStream served[RANDOM_LANE_STREAMS];
    pthread_t server;
    sem_t subscribed;
    _Atomic bool served_out;
    aclError server_answer;
    aclrtEvent event[RANDOM_EVENTS];
    aclrtEvent outside[2][RANDOM_OUTSIDE_EVENTS]; /* for eager segments and for graphs: their flags
                                                     are fixed */
    aclrtEvent hop[RANDOM_HOPS];
    unsigned hops;
    aclrtEvent hold[RANDOM_HOLDS];
    aclrtEvent flag[RANDOM_TASKS]; /* of records in built graphs; made when first used */
    aclrtNotify notify[RANDOM_NOTIFIES];
    aclrtStream bound[RANDOM_SEGMENTS][RANDOM_BUILT_STREAMS];
    aclrtFuncHandle kernel;
    uint8_t *slab[3]; /* device, pinned, pageable */
    uint8_t *image[RANDOM_ROUNDS];
    struct random_source source; /* of this rank alone */
    /* of the program that is run */
    struct random_program *program;
    unsigned cut; /* captures end before this task */
    uint8_t *address[RANDOM_BUFFERS];
    uint64_t *word[RANDOM_BUFFERS]; /* of conditions in graphs */
    aclmdlRICondHandle cond[RANDOM_BUFFERS];
    aclrtTaskGrp group[RANDOM_TASKS];
    unsigned variant[RANDOM_TASKS]; /* of each group, as the graph has it */
    aclmdlRI graph[RANDOM_SEGMENTS];
    bool is_built[RANDOM_SEGMENTS];
    const aclrtStream *building;    /* the streams of a graph that is being built */
    bool replayed[RANDOM_SEGMENTS]; /* how the last run ran each segment */
    struct random_call call[RANDOM_TASKS];
};

/** random_rank: a rank_fn: all programs of the job's random_control. */
void random_rank(struct rank *rank);

/* ---- between the files ---- */

/** random_issue: submit tasks `first` to `end`; `graph`: the streams are capturing. */
void random_issue(
        struct random_runner *runner, unsigned first, unsigned end, unsigned round, bool graph);

/** random_prepare_calls: the operands of the host functions. */
void random_prepare_calls(struct random_runner *runner);

/** random_kernel: what programs launch. */
aclrtFuncHandle random_kernel(void);

/** random_issue_data: one task that moves data, with the operands of a variant. */
void random_issue_data(struct random_runner *runner, unsigned index, unsigned variant, bool graph,
        aclrtStream stream);

/** random_issue_cond: a conditional with its bodies. random_issue_group: either end of a group. */
void random_issue_cond(struct random_runner *runner, unsigned index, unsigned round, bool graph);
void random_issue_group(struct random_runner *runner, const struct random_task *task);

/** random_cond_handles: of the conditionals among these tasks of a block, not of those in bodies.
 */
void random_cond_handles(struct random_runner *runner, unsigned first, unsigned end);

/** random_stream: of a lane. random_hop: what follows on stream `to` waits for `from`. */
aclrtStream random_stream(const struct random_runner *runner, unsigned lane);
void random_hop(struct random_runner *runner, unsigned from, unsigned to);

/** random_capture: the segment that begins at `first`. */
aclmdlRI random_capture(struct random_runner *runner, unsigned first);

/** random_capture_part: the same up to task `runner->cut`. Answers what the end of the capture
 * does. */
aclError random_capture_part(struct random_runner *runner, unsigned first, aclmdlRI *graph);

/** random_can_build: whether the segment needs nothing that only captures have. random_build: build
 * it. random_flag: the event of a record in it. */
bool random_can_build(const struct random_program *program, unsigned first);
aclmdlRI random_build(struct random_runner *runner, unsigned first);
aclrtEvent random_flag(struct random_runner *runner, unsigned record);

/** random_serve_begin, random_serve_end: a thread of the runner that runs callbacks.
 * random_serve_choose: the streams that the program wants. */
void random_serve_begin(struct random_runner *runner);
void random_serve_end(struct random_runner *runner);
void random_serve_choose(struct random_runner *runner);

/** random_cut: a capture that is ended too early. */
void random_cut(struct random_runner *runner);

/** random_update: give groups and tuned tasks the operands of a round. random_release: the same for
 * the held groups of the segment that begins at `first`, whose replay is queued. */
void random_update(struct random_runner *runner, unsigned round);
void random_release(struct random_runner *runner, unsigned first, unsigned round);

/** random_tune: give the tuned tasks the operands of a round. random_disable: those of a new graph
 * that shall not run. */
void random_tune(struct random_runner *runner, unsigned round);
void random_disable(struct random_runner *runner, unsigned first, aclmdlRI graph);

/** random_kernel_call: the arguments of a kernel. */
struct random_call random_kernel_call(const struct random_runner *runner,
        const struct random_task *task, const struct random_args *args, bool graph);

/* Memory: where the buffers are, their data, and the comparison. */
void random_place(struct random_runner *runner);
void random_unplace(struct random_runner *runner);
void random_load(struct random_runner *runner, unsigned round);
void random_defaults(struct random_runner *runner);
void random_save(struct random_runner *runner, unsigned round);
void random_compare(const struct random_runner *runner, const uint8_t *image, unsigned round,
        const char *what, const char *with);

/** random_address: of a range, now. */
uint8_t *random_address(
        const struct random_runner *runner, const struct random_range *range, bool graph);

#endif
