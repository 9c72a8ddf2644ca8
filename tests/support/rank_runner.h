#ifndef TESTS_SUPPORT_RANK_RUNNER_H
#define TESTS_SUPPORT_RANK_RUNNER_H

/*
 * Runs one function as the N ranks of a job, through the public API: as N
 * processes forked before any acl or Hccl call, as N threads of one process
 * (forked too, so that it can be killed), or as both.
 *
 * Asserts stay in the parent: a rank that finds something wrong leaves a
 * sentence with its number in a mapping that all share, and ends. Nothing hangs:
 * processes that outlive the job's bound are killed, and so are, after a short
 * grace, those whose partner has failed.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#define RANKS_MAX 16
#define RANK_SLOTS 8 /* communicators that one job can make */

enum rank_mode {
    RANK_PROCESSES,
    RANK_THREADS,
    RANK_MIXED, /* processes of two threads each */
};

struct rank_board;

/* One rank, as its own thread sees it. */
struct rank {
    unsigned id;
    unsigned count;
    int32_t device; /* the one to use */
    const void *arg;
    void *shared; /* the job's; the same memory in all ranks and in the parent */
    struct rank_board *board;
    uint64_t random;  /* of rank_random() */
    uint64_t barrier; /* how many were entered */
    HcclComm comm;    /* rank_open() */
    aclrtStream stream;
};

/** Runs as a rank. Returning is success; must() and its like end the rank otherwise. */
typedef void rank_fn(struct rank *rank);

struct rank_job {
    unsigned ranks;
    enum rank_mode mode;
    unsigned timeout_s; /* 0: 120 */
    rank_fn *fn;
    const void *arg; /* read by the ranks */
    void *shared;    /* from rank_shared_create(), or NULL */
    uint64_t seed;
    const char *const *env; /* "NAME=value", NULL at the end; set before the first call */
    const char *node;       /* a letter a rank: each is another node, by its REPRISE_NODE_ID, that
                               of a process its first rank's; NULL: one for all */
};

/** rank_shared_create: zeroed memory that a job's processes share. Freed by rank_shared_destroy().
 */
void *rank_shared_create(size_t bytes);
void rank_shared_destroy(void *shared, size_t bytes);

/**
 * rank_run: run the job to its end. NULL when every rank returned, else what
 * was wrong, the first failure first; the text stays until the next job.
 */
const char *rank_run(const struct rank_job *job);

/* The same in steps, for a parent that kills ranks meanwhile. One job at a time. */
struct rank_crew;
struct rank_crew *rank_start(const struct rank_job *job);
pid_t rank_pid(const struct rank_crew *crew, unsigned rank);

/** rank_await: until rank `rank` has said rank_step(step) or more; false after `timeout_ms`. */
bool rank_await(struct rank_crew *crew, unsigned rank, uint64_t step, unsigned timeout_ms);

/** rank_kill: send `signal` to the process of `rank`; its end by that signal is no failure then. */
void rank_kill(struct rank_crew *crew, unsigned rank, int signal);
const char *rank_finish(struct rank_crew *crew);

/* ---- In a rank ---- */

/** must: the call answers 0. must_be: it answers `expected`. must_hold: the condition holds. */
#define must(call) rank_check((int)(call), 0, #call, __FILE__, __LINE__)
#define must_be(call, expected) rank_check((int)(call), (int)(expected), #call, __FILE__, __LINE__)
#define must_hold(condition, ...) \
    ((condition) ? (void)0 : rank_fail(__FILE__, __LINE__, __VA_ARGS__))

void rank_check(int got, int expected, const char *call, const char *file, int line);
_Noreturn void rank_fail(const char *file, int line, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/** rank_open: take the device, make a stream and the communicator of slot 0. rank_close: undo it.
 */
void rank_open(struct rank *rank);
void rank_close(struct rank *rank);

/**
 * rank_join: make a communicator of `size` ranks, this one as `as`, with the
 * root info of `slot`, which rank 0 of it provides. `config` may be NULL.
 */
HcclResult rank_join(struct rank *rank, unsigned slot, uint32_t size, uint32_t as,
        const HcclCommConfig *config, HcclComm *comm);

/** rank_join_again: a communicator of all ranks, in round 0, 1, 2 ... of a loop. Instead of
 * rank_join(), and with a barrier in every round. */
HcclResult rank_join_again(struct rank *rank, uint64_t round, HcclComm *comm);

/** rank_root_info: the root info of `slot`; made here if `provide`, else awaited. */
void rank_root_info(struct rank *rank, unsigned slot, bool provide, HcclRootInfo *info);

/** rank_barrier: until every rank that is alive has come as often. */
void rank_barrier(struct rank *rank);

/** rank_step: tell the parent how far this rank is. */
void rank_step(struct rank *rank, uint64_t step);

/** rank_done: as if the function had returned; for a rank that ends its process with exit(). */
void rank_done(struct rank *rank);

/** rank_die: this process ends by SIGKILL, on purpose. */
_Noreturn void rank_die(struct rank *rank);

/** rank_random: less than `bound`; the same numbers in every run. */
uint64_t rank_random(struct rank *rank, uint64_t bound);

/** rank_sleep_us, rank_now_ms */
void rank_sleep_us(uint64_t us);
uint64_t rank_now_ms(void);

/** rank_error_text: what aclGetRecentErrMsg() answers, "" instead of NULL. */
const char *rank_error_text(void);

#endif
