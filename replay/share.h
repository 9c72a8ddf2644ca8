#ifndef REPRISE_REPLAY_SHARE_H
#define REPRISE_REPLAY_SHARE_H

/*
 * Shares: a notify or an event that other processes of this machine open by a key.
 *
 * A share is a page of a sealed memfd, which its exporter keeps open. The key names the exporter's
 * process, the descriptor and a random number, so whoever has it opens the same page through
 * /proc/PID/fd: the kernel lets in processes of the same user, nothing listens, nothing is left
 * behind in the file system. Whom the exporter has listed is checked by the opener's library.
 *
 *     0    struct rp_share_page: what it is, the random number, who may open it
 *     64   the words that processes store and load
 *     128  whose bells to ring after a store
 *     384  listed processes, or who is to record the event
 *
 * A process that does not hear a bell (it polls sockets, or the table is full) looks again after
 * its backstop.
 */

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "replay/event.h"

enum rp_share_kind {
    RP_SHARE_NOTIFY = 1,
    RP_SHARE_EVENT = 2,
};

#define RP_SHARE_BYTES 4096
#define RP_SHARE_KEY_BYTES 64 /* with its terminating zero; also that of an aclrtIpcEventHandle */
#define RP_SHARE_PARTIES 32
#define RP_SHARE_RECORDERS 32
#define RP_SHARE_PIDS ((RP_SHARE_BYTES - 128 - 8 * RP_SHARE_PARTIES) / 4)

struct rp_share_page {
    uint64_t magic;
    uint32_t version;
    uint32_t kind; /* enum rp_share_kind */
    uint32_t id;   /* of the object in its own process */
    int32_t device_id;
    _Atomic uint32_t open_to_all; /* processes need not be listed */
    _Atomic uint32_t pid_count;
    uint8_t nonce[16];
    uint32_t exporter; /* its process; /proc knows its threads by numbers of their own, too */
    uint8_t reserved[12];
    union {
        _Atomic uint32_t value;    /* NOTIFY: 0 or 1 */
        struct rp_event_mark mark; /* EVENT */
        uint8_t line[64];
    } u;
    _Atomic uint64_t party[RP_SHARE_PARTIES]; /* process id << 32 | its process page's descriptor */
    union {
        _Atomic int32_t pid[RP_SHARE_PIDS]; /* NOTIFY: those listed */
        /* EVENT: who has drawn ticket t, at t % RP_SHARE_RECORDERS: t's low half << 32 | its
         * process id */
        _Atomic uint64_t recorder[RP_SHARE_RECORDERS];
    } who;
};
static_assert(offsetof(struct rp_share_page, u) == 64, "words on a line of their own");
static_assert(offsetof(struct rp_share_page, party) == 128, "as drawn");
static_assert(sizeof(struct rp_share_page) == RP_SHARE_BYTES, "one page");
static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a lock would not cross processes");

struct rp_share;

/**
 * rp_share_create: a new page for object `id` of device `device_id`, its words 0. RP_ENOMEM,
 * RP_ESYS. Owner: the caller, until rp_share_close.
 */
RP_MUST_USE rp_status rp_share_create(
        enum rp_share_kind kind, uint32_t id, int32_t device_id, struct rp_share **out);

/** rp_share_open: the page that another process, or this one, exports under `key`.
 *
 *   RP_EPARAM  no such key, or its exporter is gone, or does not list this process
 *   RP_ENOMEM, RP_ESYS
 */
RP_MUST_USE rp_status rp_share_open(
        enum rp_share_kind kind, const char *key, struct rp_share **out);

/** rp_share_close: this process's end. Other processes keep theirs. */
void rp_share_close(struct rp_share *share);

struct rp_share_page *rp_share_page(const struct rp_share *share);

/** rp_share_is_ours: whether it is the exporter's end. */
bool rp_share_is_ours(const struct rp_share *share);

/** rp_share_key: the key, of an exporter's end. */
void rp_share_key(const struct rp_share *share, char key[RP_SHARE_KEY_BYTES]);

/** rp_share_allow_all / rp_share_allow: who may open it: everybody, or these processes too. The
 *  second RP_ENORES when the page is full. One thread at a time. */
void rp_share_allow_all(struct rp_share *share);
RP_MUST_USE rp_status rp_share_allow(struct rp_share *share, const int32_t *pids, size_t count);

/** rp_share_note_record: this process has drawn `ticket` of the event, and is to reach it. */
void rp_share_note_record(struct rp_share *share, uint64_t ticket);

/**
 * rp_share_abandoned: the process that was to reach `ticket`, if it has ended, and with it all who
 * have drawn later ones; 0: somebody may still come, as far as is known. Makes system calls; for
 * who has waited long.
 */
int32_t rp_share_abandoned(const struct rp_share *share, uint64_t ticket);

/** rp_share_ring: wake who sleeps in other processes, after a seq_cst store to the words. Any
 *  thread, also with a baton. */
void rp_share_ring(struct rp_share *share);

#endif
