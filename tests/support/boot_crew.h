#ifndef TESTS_SUPPORT_BOOT_CREW_H
#define TESTS_SUPPORT_BOOT_CREW_H

/*
 * Ranks that are processes: forked before anything of the library is used, each
 * with one or more ranks as threads. What became of them lies in memory that
 * the parent shares with them.
 */

#include <stdatomic.h>
#include <stdbool.h>

#include "support/boot.h"

struct boot_shared {
    _Atomic int info_ready; /* 1: `info` stands; -1: there was no root */
    uint8_t info[RP_ROOT_INFO_BYTES];
    _Atomic uint32_t ended;
    _Atomic uint32_t checked;
    struct boot_outcome outcome[BOOT_RANKS_MAX];
    char check[BOOT_RANKS_MAX][64]; /* "": what the rank read is right */
    char root_sentence[RP_ERROR_TEXT_MAX];
};

struct boot_crew {
    uint32_t size;
    uint32_t timeout_s;
    uint32_t threads;                   /* ranks in each process; 0 counts as 1 */
    uint32_t steps_max[BOOT_RANKS_MAX]; /* see boot_rank; such a rank is not waited for */
    /* Runs in the process of rank `rank` before it uses the library; false: the test is broken. */
    bool (*prepare)(struct boot_crew *crew, uint32_t rank);
    /* The same after loop and arena are open, before the rank joins. */
    bool (*before_join)(struct boot_crew *crew, struct boot_rank *rank);
    void *arg;
    struct boot_shared *shared;
    int exit_code[BOOT_RANKS_MAX]; /* of each process: 0, or see child_wait */
};

/** boot_crew_run: until all processes have ended. The crew's memory goes with boot_crew_free. */
void boot_crew_run(struct boot_crew *crew);
void boot_crew_free(struct boot_crew *crew);

/** boot_crew_all: as boot_group_all; ranks with steps_max are left out. */
bool boot_crew_all(const struct boot_crew *crew, rp_status status, const char *text);

/** boot_crew_partition: every rank succeeded and knows the nodes by `letters`, one a rank; prints
 *  the others. */
bool boot_crew_partition(const struct boot_crew *crew, const char *letters);

#endif
