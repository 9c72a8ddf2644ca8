#ifndef REPRISE_REPLAY_NOTIFY_H
#define REPRISE_REPLAY_NOTIFY_H

/*
 * Notifies: one-shot (aclrtNotify) and counting (aclrtCntNotify) signals between streams.
 *
 * A notify is a word. It belongs to no stream and no scheduler: streams of any device of the
 * process record it and wait for it. A chip has 8192 of them; here memory sets the limit, and
 * NOTIFIES_MAX is there for the program that forgets to destroy them.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct rp_notify {
    _Atomic uint32_t refs; /* handle + tasks that name it */
    uint32_t id;           /* of its device and kind */
    int32_t device_id;
    bool counts;            /* an aclrtCntNotify */
    _Atomic uint32_t value; /* one-shot: 0 or 1 */
};

/** rp_notify_create: a notify of device `device_id`, value 0, without a handle. RP_ENONOTIFY,
 *  RP_ENOMEM. Owner: the reference is the caller's. */
RP_MUST_USE rp_status rp_notify_create(int32_t device_id, bool counts, struct rp_notify **out);

/** rp_notify_open: the same on the current device, with a handle. RP_ENOCTX besides. */
RP_MUST_USE rp_status rp_notify_open(bool counts, struct rp_notify **out);

/** rp_notify_close: the handle is destroyed; tasks that name the notify keep it. RP_ENULL,
 *  RP_EHANDLE. `name` is what the sentence calls the handle, here and below. */
RP_MUST_USE rp_status rp_notify_close(void *handle, const char *name, bool counts);

/** rp_notify_resolve: the live notify of that kind behind a handle. RP_ENULL, RP_EHANDLE. */
RP_MUST_USE rp_status rp_notify_resolve(
        void *handle, const char *name, bool counts, struct rp_notify **out);

/** rp_notify_ref / rp_notify_unref: the last one frees it. Any thread, never blocks. */
void rp_notify_ref(struct rp_notify *notify);
void rp_notify_unref(struct rp_notify *notify);

#endif
