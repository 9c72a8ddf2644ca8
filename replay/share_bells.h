#ifndef REPRISE_REPLAY_SHARE_BELLS_H
#define REPRISE_REPLAY_SHARE_BELLS_H

/*
 * The bells of the processes that have a page open: who stores to the page rings them.
 */

#include <pthread.h>
#include <stdint.h>

#include "base/doorbell.h"
#include "base/status.h"
#include "replay/share.h"

struct rp_share_bells {
    pthread_mutex_t lock;
    int32_t own; /* this process's place among the parties; -1: none was free */
    uint64_t party[RP_SHARE_PARTIES]; /* whose bell is at that place here; 0: nobody's */
    struct rp_doorbell_end end[RP_SHARE_PARTIES]; /* bell NULL: it could not be opened */
};

/** rp_share_bells_init: enter this process. Without a free place it is not rung. RP_ESYS. */
RP_MUST_USE rp_status rp_share_bells_init(struct rp_share_bells *bells, struct rp_share_page *page);
void rp_share_bells_fini(struct rp_share_bells *bells, struct rp_share_page *page);
void rp_share_bells_ring(struct rp_share_bells *bells, struct rp_share_page *page);

/** rp_share_is_gone: process `pid` has ended, also if nobody has waited for it yet. */
bool rp_share_is_gone(int32_t pid);

/**
 * rp_share_fd_open: open memfd `name` that process `pid` has as descriptor `fd`; -1: there is no
 * such thing, or it is another user's. Nothing but a memfd of that name is ever opened.
 */
int rp_share_fd_open(uint32_t pid, uint32_t fd, const char *name);

#endif
