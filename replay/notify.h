#ifndef REPRISE_REPLAY_NOTIFY_H
#define REPRISE_REPLAY_NOTIFY_H

/*
 * Notifies: one-shot (aclrtNotify) and counting (aclrtCntNotify) signals between streams.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct rp_notify {
    _Atomic uint32_t refs; /* handle + tasks that name it */
    uint32_t id;
    int32_t device_id;
    bool counts;            /* an aclrtCntNotify */
    _Atomic uint32_t value; /* one-shot: 0 or 1 */
};

/** rp_notify_ref / rp_notify_unref: the last one frees it. Any thread, never blocks. */
void rp_notify_ref(struct rp_notify *notify);
void rp_notify_unref(struct rp_notify *notify);

#endif
