#ifndef REPRISE_TRANSPORT_COMM_H
#define REPRISE_TRANSPORT_COMM_H

/*
 * A communicator as one of its ranks holds it: identity, settings, the rank's
 * end of the line protocol, the channels, the error state. Made by the
 * bootstrap, found by handle or name through the registry.
 *
 * Threads: fields under "baton" are used only by the holder of the device's
 * baton; atomics by anyone; the rest is read-only after creation.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"
#include "kernels/aiv.h"
#include "kernels/line.h"
#include "transport/arena.h"
#include "transport/channel.h"
#include "transport/loop.h"
#include "transport/process.h"
#include "transport/wire.h"

#define RP_COMM_NAME_BYTES 128
#define RP_COMM_CAUSE_BYTES 768

/* Settings of one communicator: config field over environment over default. All agreed at init. */
struct rp_comm_settings {
    uint64_t buffer_bytes;     /* HCCL_BUFFSIZE / hcclBufferSize, in bytes */
    uint32_t deterministic;    /* 0, 1, 2; process-wide HcclSetConfig changes it later */
    uint32_t expansion_config; /* hcclOpExpansionMode as given: 0 unset .. 7 */
    int32_t expansion_env;     /* HCCL_OP_EXPANSION_MODE as enum of base/env.h; -1 unset */
    uint64_t exec_timeout_ns;  /* HOST_TS; 0: never */
    uint64_t aiv_timeout_ns;
    uint32_t connect_timeout_s;
    char algo[256]; /* HCCL_ALGO text as validated; "" adaptive */
    struct rp_aiv_tuning tuning;
    char name[RP_COMM_NAME_BYTES]; /* "" : derived from the root info */
    char udi[RP_COMM_NAME_BYTES];
    bool deterministic_set; /* by the config: HcclSetConfig then leaves it alone */
};

/* One member, as the bootstrap's table tells it. */
struct rp_member {
    struct rp_process_id process;
    int64_t pid;
    int32_t device_id;
    uint64_t arena_bytes;
    uint32_t node; /* nodes are numbered by their lowest rank; ranks of one share memory */
    char host[64]; /* for reports only, never for decisions */
};

/* Order on one device: tickets are taken when a submission is popped (replay). From 1; 0 is that of
 * a submission that needs no turn. Baton. */
struct rp_turn {
    uint64_t next_ticket;
    uint64_t serving;
};

/* Where the pairs' data goes: the lane of each sender in a receiver's window-in, two halves. */
struct rp_pair_lanes {
    uint64_t off;         /* of rank 0's lane */
    uint64_t half_bytes;  /* of a lane; the next lane begins behind the second half */
    uint64_t piece_bytes; /* of all pieces but the last; 0: windows are too small */
};

/* What the room above keeps with a communicator: the first member of its own struct. */
struct rp_comm_attachment {
    /* Called once, when the communicator is freed: on any thread, also under the baton. */
    void (*release)(struct rp_comm_attachment *attachment);
};

struct rp_comm {
    uint64_t magic; /* RP_COMM_MAGIC while alive */
    uint32_t rank;
    uint32_t size;
    int32_t device_id;
    char name[RP_COMM_NAME_BYTES];
    char udi[RP_COMM_NAME_BYTES];
    struct rp_comm_settings settings;
    struct rp_member *member;             /* [size] */
    struct rp_process **process;          /* [size], referenced; NULL for ranks of other nodes */
    uint32_t nodes;                       /* that the members are on; kernels (AIV) need 1 */
    bool world;                           /* of its device: from a rank table */
    uint8_t secret[RP_WIRE_SECRET_BYTES]; /* of all members and nobody else */
    struct rp_arena *arena;               /* of this rank's device */
    struct rp_segment *segment;           /* of this rank's node */
    struct rp_channel **channel;          /* [size]; NULL for the own rank */

    struct rp_lines lines;           /* baton */
    struct rp_turn turn;             /* baton */
    struct rp_pair_end *pairs;       /* [size], baton */
    struct rp_pair_lanes pair_lanes; /* set before the handle is given out */
    uint64_t checked_ns;             /* baton: last liveness check */
    uint32_t resume;                 /* baton: own word of kernels/line_restart.h */
    bool quiet;                      /* baton: said so, and not in use again: comm_resume.c */

    _Atomic int32_t error;    /* rp_status of the first failure (negative), 0 while healthy */
    _Atomic int32_t remote;   /* what a peer's failure or end means to this rank, 0: nothing; for
                                 rp_comm_status, until this rank fails itself */
    _Atomic uint32_t pending; /* submissions that name this communicator and have not ended */
    _Atomic uint32_t refs;    /* handle + graphs + submissions; freed by the last */
    _Atomic bool destroyed;   /* HcclCommDestroy was called: no new work */
    _Atomic uint32_t deterministic;   /* current value */
    _Atomic uint64_t window_reserved; /* bytes of each window whose pages are there */
    _Atomic bool suspended;           /* HcclCommSuspend was called; always with `error` */
    pthread_mutex_t cause_lock;       /* for the two sentences without the baton; innermost */
    char cause[RP_COMM_CAUSE_BYTES];  /* sentence of the first failure; written before `error` */
    char remote_cause[RP_COMM_CAUSE_BYTES];          /* written before `remote` */
    uint32_t remote_culprit;                         /* baton: the rank at the bottom of it */
    struct rp_list by_handle;                        /* registry: under its lock */
    struct rp_list by_name;                          /* registry: under its lock */
    _Atomic(struct rp_comm_attachment *) attachment; /* NULL: none; set once */
};

#define RP_COMM_MAGIC 0x52505f434f4d4d31ull

struct rp_comm_parts {
    uint32_t rank, size;
    int32_t device_id;
    const char *name;
    struct rp_comm_settings settings;
    struct rp_member *member;    /* [size], from rp_malloc or rp_calloc */
    struct rp_process **process; /* [size], the same; each referenced; NULL on other nodes */
    uint32_t nodes;              /* 0 counts as 1 */
    struct rp_loop *loop;        /* of this rank's device; may be NULL where there is one node */
    int *link_fd;                /* [size]: connections to other nodes' ranks; the same */
    struct rp_arena *arena;
    struct rp_segment *segment; /* of this rank's node; referenced */
    bool zero_copy;             /* agreed by all: each node's arenas are mapped all over it */
    const uint8_t *secret;      /* of all members; NULL: none, and no sub-communicators */
    bool world;
};

/**
 * rp_comm_create: build the rank's communicator from what the bootstrap agreed
 * on, and enter it into the registry. Its reference is the handle's.
 *
 * Takes over `segment`, `member` and `process` with their references; on failure
 * they stay the caller's. Of `link_fd` it takes over the descriptors, guarded
 * (base/fork.h) and as rp_links_take() gives them, and leaves -1 in their places,
 * some of them also on failure. With `zero_copy` the arena of each member on this
 * node must be known to rp_process_map_arena already.
 *
 *   RP_EPARAM  `name` is too long, or already used on this device
 *   RP_ENOMEM  no heap
 *   else       as rp_process_map_arena
 */
RP_MUST_USE rp_status rp_comm_create(const struct rp_comm_parts *parts, struct rp_comm **out);

/** rp_comm_from_handle: the live communicator behind a user's handle, referenced; NULL if unknown.
 */
struct rp_comm *rp_comm_from_handle(const void *handle);
/** rp_comm_from_name: by name on device `device_id`, referenced; NULL if unknown. */
struct rp_comm *rp_comm_from_name(int32_t device_id, const char *name);
void rp_comm_ref(struct rp_comm *comm);
void rp_comm_unref(struct rp_comm *comm);

/** rp_comm_retire: HcclCommDestroy: publish `left`, leave the registry, drop the handle's
 * reference. Local. Once only: of two racing calls one gets false and does nothing. Baton. */
bool rp_comm_retire(struct rp_comm *comm);

/** rp_comm_each: call `fn` for every live communicator of this process (HcclSetConfig), under the
 *  registry's lock: `fn` calls nothing that looks a communicator up, refs, unrefs or retires one.
 */
void rp_comm_each(void (*fn)(struct rp_comm *comm, void *arg), void *arg);

/**
 * rp_comm_check: liveness, at most once a millisecond: marks peers whose process
 * died as gone, so that the next wait for one fails, and keeps the first failure
 * that it sees of any peer for rp_comm_status. It does not fail this rank: ops
 * that are complete as far as the counters say stay so. Baton.
 */
void rp_comm_check(struct rp_comm *comm, uint64_t now_ns);

/** rp_comm_publish: what lines.publish calls where members are on other nodes: hands what this rank
 * has stored to its channels. Baton. */
void rp_comm_publish(struct rp_lines *lines);

/**
 * rp_comm_lose: rank `q` of another node cannot be reached any more: it counts as gone, so that the
 * next wait for it fails, and that is kept for rp_comm_status as a death is. `why` is a phrase:
 * "it was closed". Baton.
 */
void rp_comm_lose(struct rp_comm *comm, uint32_t q, const char *why);

/**
 * rp_comm_fail: first failure of the communicator on this rank: keeps `status`
 * and `sentence`, fails the lines (revocation), so that every peer hears of it. Baton.
 */
void rp_comm_fail(struct rp_comm *comm, rp_status status, uint32_t culprit, uint64_t seq,
        const char *sentence);

/** rp_comm_status: RP_OK, or the first failure, posted with its sentence: this rank's own, else
 * what is known of a peer's. Any thread. */
RP_MUST_USE rp_status rp_comm_status(struct rp_comm *comm);

/** rp_comm_reserve_window: reserve the pages of the first `bytes` (at most all) of this rank's
 * windows, for staged ops and HOST_TS. Any thread; cheap when done. */
RP_MUST_USE rp_status rp_comm_reserve_window(struct rp_comm *comm, uint64_t bytes);

#endif
