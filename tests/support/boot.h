#ifndef TESTS_SUPPORT_BOOT_H
#define TESTS_SUPPORT_BOOT_H

/*
 * Ranks that bootstrap a communicator: each has a loop and an arena of its own
 * and a thread that drives the loop, as replay's device would. Used as threads
 * of one process (boot_group_*) or in forked children (boot_rank_* alone).
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "transport/bootstrap.h"

#define BOOT_RANKS_MAX 16

/* What became of a rank. Plain data, so it may lie in memory shared with a child. */
struct boot_outcome {
    rp_status status; /* RP_AGAIN: it has not ended */
    uint64_t elapsed_ns;
    bool zero_copy;
    uint32_t nodes;
    uint32_t node[BOOT_RANKS_MAX]; /* of each rank, as this one knows it */
    uint64_t pattern_off;          /* of the pattern that it wrote, in its arena */
    char name[RP_COMM_NAME_BYTES];
    char sentence[RP_ERROR_TEXT_MAX];
};

struct boot_rank {
    struct rp_join_request request;
    uint32_t delay_ms;   /* before it joins */
    uint32_t steps_max;  /* steps of its loop after which it kills its process; 0: never */
    uint32_t free_after; /* steps after which it frees the join under way; 0: never */
    struct boot_outcome *outcome;
    struct rp_loop *loop;
    struct rp_join *join;
    struct rp_comm *comm;
};

/** boot_settings: what all ranks of a test have set, unless it says otherwise. */
struct rp_comm_settings boot_settings(uint32_t timeout_s);

/** boot_rank_open: loop and arena for device `device_id`. False on failure. */
bool boot_rank_open(struct boot_rank *rank, int32_t device_id);

/** boot_drive: one step of the loop, then sleep until there is more to do, a millisecond at most.
 */
void boot_drive(struct rp_loop *loop);

/** boot_rank_join: wait out the delay, join and drive until there is an outcome. On success the
 *  rank writes its pattern into its arena and segment. */
void boot_rank_join(struct boot_rank *rank);

/** boot_rank_check: whether this rank reads what each rank of `outcome` has written: "" or what is
 *  wrong. After all have joined. */
const char *boot_rank_check(const struct boot_rank *rank, const struct boot_outcome *outcome);

/** boot_rank_close: give the communicator back and close everything. */
void boot_rank_close(struct boot_rank *rank);

/* Ranks as threads of this process, on devices 0, 1, ... */
struct boot_group {
    uint32_t size;
    uint8_t info[RP_ROOT_INFO_BYTES];
    struct boot_rank rank[BOOT_RANKS_MAX];
    struct boot_outcome outcome[BOOT_RANKS_MAX];
    pthread_t thread[BOOT_RANKS_MAX];
    uint32_t present;
    bool absent[BOOT_RANKS_MAX]; /* has no thread: it never comes */
    const char *check[BOOT_RANKS_MAX];
    _Atomic uint32_t ended;
    _Atomic uint32_t checked;
};

/** boot_group_open: `size` ranks, and a root on rank 0's loop. Fails the test on failure. */
void boot_group_open(struct boot_group *group, uint32_t size, uint32_t timeout_s);

/** boot_group_start: all that are not absent join, each in its thread. */
void boot_group_start(struct boot_group *group);

/** boot_group_wait: returns when each has its outcome. Where all have succeeded each also checks
 *  that it reads the others' memory. */
void boot_group_wait(struct boot_group *group);

/** boot_group_run: both. */
void boot_group_run(struct boot_group *group);

void boot_group_close(struct boot_group *group);

/** boot_group_all: every present rank's status is `status` and its sentence contains `text`; prints
 *  the others. */
bool boot_group_all(const struct boot_group *group, rp_status status, const char *text);

#endif
