#ifndef REPRISE_REPLAY_SCHEDULER_H
#define REPRISE_REPLAY_SCHEDULER_H

/*
 * Inside the device: what its files share. Entry points use replay/device.h.
 *
 *     device.c      table of devices, up and down
 *     baton.c       who may step; how a driver is told that there is something to do
 *     driver.c      a thread that waits, and what it does meanwhile
 *     ts_thread.c   the device's own thread, which takes undriven work over
 *     scheduler.c   one step: pop the queue, walk the streams, run their lanes
 *     submission.c  the life of one entry of a stream; pool.c where it comes from
 *     submit.c      tasks and replays on their way to a stream
 *     tasks*.c      one handler per kind of instruction
 *     collective.c, host_ts.c  the long handler
 *     callback.c, report.c     users' functions
 *     abort.c       stopping a graph that runs; stream_abort.c what a stream has; task_abort.c
 *                   what a device has
 *     order.c       order cycles
 *
 * Two things decide who steps a device. The *baton* is a lock: whoever holds it
 * may step, and nobody holds it while asleep. The *role* says who takes care
 * that the device is stepped: a thread in rp_device_wait (CALLER), the device's
 * own thread (THREAD), or nobody (FREE). It is kept over sleeps, so that others
 * who wait can sleep too, and a caller takes it from the thread at will.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/doorbell.h"
#include "base/env.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mpsc.h"
#include "base/wait.h"
#include "kernels/reduce.h"
#include "replay/device.h"
#include "replay/submission.h"

/* Undriven work is taken over within this time. */
#define RP_TAKEOVER_NS (200 * RP_NS_PER_US)
/* So the TS thread looks this often; what is left is for its way back to a core. */
#define RP_SLICE_NS (150 * RP_NS_PER_US)
/* It looks at least this often while somebody else drives. */
#define RP_SLICE_MAX_NS (10 * RP_NS_PER_MS)
/* Without anything to do for this long it sleeps until it is woken. */
#define RP_QUIET_NS (10 * RP_NS_PER_MS)
/* A wait of this length is looked into: other calls, order cycles. */
#define RP_STALL_NS (50 * RP_NS_PER_MS)

/*
 * One step of a device is at most about 20 microseconds of work. Work is counted
 * in bytes moved, and a task costs a little on top: a clock read per task would
 * cost more than a tiny collective.
 */
#define RP_STEP_WORK (UINT64_C(128) * 1024)
#define RP_CHUNK_BYTES (UINT64_C(64) * 1024) /* of one task at a time */
#define RP_TASK_WORK 512

enum rp_role {
    RP_ROLE_FREE = 0,
    RP_ROLE_THREAD,
    RP_ROLE_CALLER,
};

/* What a device has left to do, as its last step saw it. */
enum rp_work {
    RP_WORK_NONE = 0,
    RP_WORK_PARKED,   /* nothing but users' functions that run somewhere */
    RP_WORK_RUNNABLE, /* stepping may move something */
};

/* Threads that call users' functions of one sort. */
struct rp_crew {
    struct rp_callbacks *callbacks;
    const char *name;     /* of its threads, before the device's id */
    uint32_t threads_max; /* UINT32_MAX: one more whenever all are busy */
    pthread_cond_t come;
    struct rp_list queued; /* rp_call.link */
    uint32_t queued_count;
    uint32_t threads; /* each is in `thread` */
    uint32_t busy;    /* of them, in a user's function */
    pthread_t *thread;
    uint32_t thread_room;
};

enum rp_crew_kind {
    RP_CREW_CALLBACKS = 0, /* host functions */
    RP_CREW_CORES,         /* kernels: the device's vector cores */
    RP_CREWS
};

/* The callback threads and cores of a device (callback.c). */
struct rp_callbacks {
    pthread_mutex_t lock;
    struct rp_crew crew[RP_CREWS];
    bool stop;
};

/* What different threads write stands on lines of its own. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): hence the padding */
struct rp_device {
    /* Set while it comes up, read-only until it goes down again. */
    int32_t id;
    enum rp_progress progress;
    struct rp_arena *arena;
    struct rp_loop *loop;
    const struct rp_reduce_impl *reduce;
    struct rp_doorbell_end *bell; /* of this process */
    pthread_t ts;                 /* the TS thread */
    _Atomic bool ts_runs;         /* there is one to join */
    _Atomic bool up;      /* changes under the baton: neighbours look at it with the baton held */
    _Atomic bool closing; /* it goes down: nobody waits for it any more */
    _Atomic uint32_t waiters; /* threads in rp_device_wait_for */
    _Atomic bool aborting;    /* a thread is in aclrtDeviceTaskAbort */

    struct rp_mpsc queue; /* submissions; consumer: the baton */

    /* Who drives (baton.c, driver.c, ts_thread.c). */
    _Alignas(RP_CACHELINE) _Atomic uint32_t baton;
    _Atomic uint32_t wanted;       /* threads in rp_device_enter */
    _Atomic uint32_t role;         /* enum rp_role */
    _Atomic uint32_t asleep;       /* drivers of this device asleep on the bell */
    _Atomic uint32_t unattended;   /* its driver runs a user's function: wake the TS thread */
    _Atomic uint32_t work;         /* enum rp_work, stored by every step */
    _Atomic uint32_t ts_word;      /* the TS thread sleeps on this futex */
    _Atomic uint32_t ts_asleep;    /* until it is woken */
    _Atomic uint64_t ts_until_ns;  /* else: when it looks next */
    _Atomic uint64_t neighbour_ns; /* when a driver of another device stepped it last */
    _Atomic bool ts_stop;

    /* Baton. */
    _Alignas(RP_CACHELINE) struct rp_list active; /* rp_stream.in_active: those with submissions */
    struct rp_list ghosts;                        /* rp_submission.in_pool */
    uint64_t clock_ns; /* the latest time that a step was given: drivers read theirs now and then,
                          and a new one's can be behind that of the one before */
    _Atomic(struct rp_mpsc_node *) pool_back; /* rp_submission.link: given back, without a lock */
    uint32_t active_count;
    _Atomic uint32_t ranks; /* of the largest communicator seen: how busy this node is */
    bool calls_fresh;       /* calls were queued and no thread of theirs was told */

    /* The pool (pool.c): whoever submits. */
    _Alignas(RP_CACHELINE) pthread_mutex_t pool_lock;
    struct rp_list pool_free; /* rp_submission.in_pool */
    struct rp_list pool_blocks;

    struct rp_callbacks callbacks;
};

/* One step, as the tasks see it. */
struct rp_step {
    struct rp_device *device;
    struct rp_stream *stream;
    struct rp_submission *sub;
    struct rp_lane *lane;
    const struct rp_insn *insn;
    struct rp_comm *unpublished; /* `done` of its last op is marked and perhaps not published */
    uint64_t now_ns;             /* read at most a few microseconds ago */
    uint64_t work_left;
    bool moved;    /* by the task at hand */
    bool jumped;   /* the task has set lane->pc, or ended its lane, itself */
    bool runnable; /* some lane waits for something that only stepping finds out */
};

/** rp_step_spend: account for `bytes` of work. */
static inline void rp_step_spend(struct rp_step *step, uint64_t bytes)
{
    step->work_left -= rp_min_u64(step->work_left, bytes);
}

/**
 * rp_step_publish: publish the `done` that a collective has left to its successor, which would
 * publish it for nothing. Before anything that may last, and at the end of the step.
 */
static inline void rp_step_publish(struct rp_step *step)
{
    if (step->unpublished != NULL) {
        rp_lines_flush(&step->unpublished->lines);
        step->unpublished = NULL;
    }
}

/**
 * A task: RP_OK it is over; RP_AGAIN it waits (step->moved: or has done a part);
 * else it has failed, described by rp_fail. Never blocks, never runs users' code.
 */
typedef rp_status rp_task_fn(struct rp_step *step);
extern rp_task_fn *const rp_tasks[RP_INSN_KINDS];
rp_task_fn rp_task_event_record, rp_task_event_wait, rp_task_event_reset;
rp_task_fn rp_task_host_fn, rp_task_callback, rp_task_kernel;
rp_task_fn rp_task_notify_record, rp_task_notify_wait, rp_task_notify_reset;
rp_task_fn rp_task_cond, rp_task_label_switch, rp_task_lane_activate, rp_task_lane_switch;

/** rp_device_step: one step, of `only` this stream unless it is NULL; whether anything moved.
 * Baton.
 */
bool rp_device_step(struct rp_device *device, struct rp_stream *only, uint64_t now_ns);

/** rp_device_queue_waits: whether a submission waits to be popped. Any thread; seq_cst. */
static inline bool rp_device_queue_waits(struct rp_device *device)
{
    // seq_cst [M1]: pairs with the exchange in rp_mpsc_push, as a sleeper's second look. The stub
    // is at the head only when nothing is behind it, and a step that leaves something before it
    // (a producer was between its two stores) says so in `work`.
    return atomic_load_explicit(&device->queue.head, memory_order_seq_cst) != &device->queue.stub;
}

/* baton.c */
RP_MUST_USE bool rp_baton_try(struct rp_device *device);
void rp_baton_lock(struct rp_device *device);
/** rp_baton_await: take it, or sleep until it is laid down, a few milliseconds at most, and return
 *  false. */
RP_MUST_USE bool rp_baton_await(struct rp_device *device);
/** rp_baton_unlock: lay it down; tells a callback thread of fresh calls. */
void rp_baton_unlock(struct rp_device *device);
/** rp_baton_held: whether this thread holds any device's baton. */
bool rp_baton_held(void);
/** rp_device_notify: something was published for the device's driver, by a seq_cst store. */
void rp_device_notify(struct rp_device *device);
/** rp_device_undriven: the baton was laid down by somebody who will not come back: see to it that
 *  what is left is looked at in time. */
void rp_device_undriven(struct rp_device *device);

/* driver.c: a thread that steps a device until something has come true. */
struct rp_driver {
    struct rp_device *device;
    const struct rp_wait *wait; /* NULL: the TS thread */
    struct rp_backoff backoff;
    uint64_t deadline_ns;
    uint64_t now_ns;
    uint32_t turns; /* since the clock was read */
    bool holds;     /* the baton */
    bool leads;     /* has the role */
    bool helped;    /* has stepped other devices */
};
void rp_driver_init(struct rp_driver *driver, struct rp_device *device, const struct rp_wait *wait,
        uint64_t deadline_ns);
/** rp_driver_turn: step once, or wait a little. The role is the caller's. */
void rp_driver_turn(struct rp_driver *driver);
/** rp_driver_fini: lay the baton down. */
void rp_driver_fini(struct rp_driver *driver);

/* ts_thread.c */
RP_MUST_USE rp_status rp_ts_start(struct rp_device *device);
void rp_ts_stop(struct rp_device *device);
void rp_ts_wake(struct rp_device *device);

/* callback.c */
RP_MUST_USE rp_status rp_callbacks_init(struct rp_callbacks *callbacks);
void rp_callbacks_fini(struct rp_callbacks *callbacks); /* joins the threads */
/** rp_callback_task: the task is a call of fn(arg) by a thread of that kind: hands it over, then
 * RP_AGAIN until it has returned. Baton. */
RP_MUST_USE rp_status rp_callback_task(
        struct rp_step *step, enum rp_crew_kind kind, void (*fn)(void *), void *arg);
/** rp_callbacks_announce: tell threads of queued calls, make one if all are busy and it may be. */
void rp_callbacks_announce(struct rp_device *device);
/** rp_callbacks_waiting: whether calls are queued. */
bool rp_callbacks_waiting(struct rp_device *device);
/** rp_callbacks_take: a queued call of `stream`, or NULL. */
struct rp_call *rp_callbacks_take(struct rp_device *device, const struct rp_stream *stream);
/** rp_call_run: call the function, then let its lane go on. Without the baton. */
void rp_call_run(struct rp_call *call);
/** rp_call_invoke: only call the function; rp_call_return has to follow. Without the baton. */
void rp_call_invoke(struct rp_call *call);
/** rp_call_return: the call is over: let its lane go on. `call` is its lane's again. */
void rp_call_return(struct rp_call *call, rp_status failed);

/* pool.c */
void rp_pool_init(struct rp_device *device);
void rp_pool_fini(struct rp_device *device);

/* device.c: the devices that are up, for a driver that looks after all. */
uint32_t rp_devices_up(void);
/** rp_device_next_up: the first device that is up with an id above `id` (-1: the very first). */
struct rp_device *rp_device_next_up(int32_t id);

/**
 * rp_thread_create: a thread of ours: named, all signals blocked. RP_ENORES.
 */
RP_MUST_USE rp_status rp_thread_create(
        pthread_t *thread, const char *name, void *(*main)(void *), void *arg);

/**
 * rp_order_check: the head of `stream` has waited for `event` for a while. If the
 * record stands behind a collective that waits for a turn which something in this
 * stream holds, fail that communicator with RP_ECYCLE, naming both calls. Baton.
 */
void rp_order_check(
        struct rp_device *device, struct rp_stream *stream, const struct rp_event *event);

#endif
