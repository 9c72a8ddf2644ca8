#ifndef REPRISE_REPLAY_NOTIFY_H
#define REPRISE_REPLAY_NOTIFY_H

/*
 * Notifies: one-shot (aclrtNotify) and counting (aclrtCntNotify) signals between streams.
 *
 * A notify is a word. It belongs to no stream and no scheduler: streams of any device of the
 * process record it and wait for it. A chip has 8192 of them; here memory sets the limit, and
 * NOTIFIES_MAX is there for the program that forgets to destroy them.
 *
 * A one-shot notify that is exported moves: its word is in a page that other processes map from
 * then on, and where it was stands RP_NOTIFY_MOVED. Tasks that are queued already find it there.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "replay/program.h"

struct rp_share;

#define RP_NOTIFY_MOVED UINT32_MAX

struct rp_notify {
    _Atomic uint32_t refs; /* handle + tasks that name it */
    uint32_t id;           /* of its device and kind; that of the exporter, if imported */
    int32_t device_id;
    bool counts;                      /* an aclrtCntNotify */
    _Atomic uint32_t value;           /* one-shot: 0 or 1, or RP_NOTIFY_MOVED */
    _Atomic(struct rp_share *) share; /* exported or imported; set before MOVED is; owned */
};

/** rp_notify_create: a notify of device `device_id`, value 0, without a handle. RP_ENONOTIFY,
 *  RP_ENOMEM. Owner: the reference is the caller's. */
RP_MUST_USE rp_status rp_notify_create(int32_t device_id, bool counts, struct rp_notify **out);

/** rp_notify_open: the same on the current device, with a handle: what a creating call does with
 *  its arguments. RP_ENULL, RP_EPARAM, RP_ENOCTX besides. `name` is what the sentence calls the
 *  handle, here and below. */
RP_MUST_USE rp_status rp_notify_open(const char *name, bool counts, uint64_t flag, void **out);

/** rp_notify_import: a one-shot notify with a handle for what another process exports. Takes
 *  `share` over on success. As rp_notify_open. */
RP_MUST_USE rp_status rp_notify_import(struct rp_share *share, struct rp_notify **out);

/** rp_notify_export: its word moves into a share, if it has not done so before. RP_ENOMEM, RP_ESYS.
 *  One thread at a time. */
RP_MUST_USE rp_status rp_notify_export(struct rp_notify *notify, struct rp_share **out);

/** rp_notify_close: the handle is destroyed; tasks that name the notify keep it. RP_ENULL,
 *  RP_EHANDLE. */
RP_MUST_USE rp_status rp_notify_close(void *handle, const char *name, bool counts);

/** rp_notify_resolve: the live notify of that kind behind a handle. RP_ENULL, RP_EHANDLE. */
RP_MUST_USE rp_status rp_notify_resolve(
        void *handle, const char *name, bool counts, struct rp_notify **out);

/** rp_notify_submit: a task of a notify: `insn` but for the notify, which `handle` is, to a stream.
 *  What rp_notify_resolve and submitting answer. */
RP_MUST_USE rp_status rp_notify_submit(
        void *handle, const char *name, bool counts, void *stream, struct rp_insn insn);

/**
 * rp_notify_look: its value now, and in *word where it is. To change it, exchange *word, and look
 * again if that fails: it may have moved.
 */
uint32_t rp_notify_look(struct rp_notify *notify, _Atomic uint32_t **word);

/** rp_notify_clear: 0, from whatever it is. */
void rp_notify_clear(struct rp_notify *notify);

/** rp_notify_ref / rp_notify_unref: the last one frees it. Any thread, never blocks. */
void rp_notify_ref(struct rp_notify *notify);
void rp_notify_unref(struct rp_notify *notify);

#endif
