#ifndef RP_BASE_CALLBACKS_H
#define RP_BASE_CALLBACKS_H

/*
 * Functions of the program that are registered by name and called one after the
 * other, in the order of registration. No lock is held while one runs: it may
 * register and remove others, and itself.
 *
 * Threads: any.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"

#define RP_CALLBACK_NAME_BYTES 256 /* with its end */

/* Whoever registers and calls agrees on the type behind it. */
typedef void (*rp_callback_fn)(void);

struct rp_callbacks {
    pthread_mutex_t lock; /* nothing is taken under it */
    struct rp_list list;
    uint64_t numbers; /* given so far */
};

#define RP_CALLBACKS_INIT(callbacks)                                               \
    {                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .list = RP_LIST_INIT((callbacks).list), \
    }

/**
 * rp_callbacks_set: the function of that name, which replaces another and comes
 * last then; NULL removes it. `api` is the call for sentences.
 *
 *   RP_ENULL   `name` is NULL
 *   RP_EPARAM  it is empty or too long; or nothing of that name is there to be removed
 *   RP_ENOMEM
 */
RP_MUST_USE rp_status rp_callbacks_set(struct rp_callbacks *callbacks, const char *api,
        const char *name, rp_callback_fn fn, void *args);

/* One of them, as it stood when it was asked for: it may be removed while it runs. */
struct rp_callback {
    uint64_t number; /* in the order of registration, from 1; 0: before the first */
    rp_callback_fn fn;
    void *args;
};

/** rp_callbacks_next: the one after `*callback`; false after the last. */
bool rp_callbacks_next(struct rp_callbacks *callbacks, struct rp_callback *callback);

#endif
