#ifndef REPRISE_REPLAY_SUBMISSION_H
#define REPRISE_REPLAY_SUBMISSION_H

/*
 * Submissions and runs: what changes while a program runs.
 *
 * A submission is one entry of a stream: an eager task (instruction and op
 * inline) or one replay of a program. It takes a ticket of every communicator
 * it names when it is popped from the device's queue; ops of a communicator run
 * in ticket order, whatever their streams.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/mpsc.h"
#include "base/status.h"
#include "kernels/aiv.h"
#include "replay/batch.h"
#include "replay/program.h"
#include "transport/comm.h"

struct rp_device;
struct rp_stream;
struct rp_submission;

#define RP_TICKETS_INLINE 2

/* What is kept of a failure until somebody asks; a communicator's `cause` fits. */
#define RP_OP_SENTENCE_BYTES 512

/* HOST_TS: position in an op's lists. */
struct rp_hts_run {
    uint64_t round;      /* rounds finished */
    uint64_t done_bytes; /* of the current copy, reduce or put */
    uint32_t next;       /* next task of the current round's list */
    uint32_t seen;       /* ranks whose call is known to be ours, as the lists are over */
};

/* Sends and receives: how far the op's only item is, or where the look at a batch begins. */
struct rp_pairs_run {
    struct rp_pair_run one;
    uint32_t first;
    uint32_t left; /* items that are not over */
};

enum rp_coll_phase {
    RP_COLL_TURN = 0, /* waiting for this communicator's turn */
    RP_COLL_BEGIN,    /* has the turn; announce */
    RP_COLL_RUN,      /* kernel or list */
    RP_COLL_COMPLETE, /* own part over, turn passed if it may; peers' done awaited */
    RP_COLL_RELEASE,  /* failed: until no peer can touch our memory any more */
};

struct rp_coll_run {
    uint8_t phase;       /* enum rp_coll_phase; 0 before and after every op */
    bool held;           /* RELEASE: the arena keeps the op's buffers */
    uint64_t seq;        /* 0: not announced */
    uint64_t started_ns; /* when the turn came; timeouts count from here */
    uint64_t moved_ns;   /* when it moved last; a long standstill compares records */
    uint64_t heard_ns;   /* when a peer told of a difference with `heard_of`; 0: none did */
    uint32_t heard_of;   /* a rank */
    union {
        struct rp_aiv_op aiv;
        struct rp_hts_run hts;
        struct rp_pairs_run pairs;
    } u;
};

/* A user's function on its way to the thread that calls it (replay/callback.h). */
struct rp_call {
    struct rp_list link;
    void (*fn)(void *);
    void *arg;
    struct rp_device *device;
    struct rp_stream *stream; /* whose task it is; only compared */
    struct rp_lane *lane;     /* parked until it has returned; NULL: nobody waits */
    rp_status failed;         /* it was never called: its subscription ended */
};

enum rp_lane_state {
    RP_LANE_RUNNABLE = 0,
    RP_LANE_PARKED, /* a host function of this lane is queued or running */
    RP_LANE_ENDED,
};

struct rp_lane {
    uint32_t pc; /* index into program->insn */
    uint32_t end;
    _Atomic uint32_t
            state;     /* enum rp_lane_state; PARKED -> RUNNABLE by the thread that ran the call */
    uint64_t progress; /* of the current instruction: bytes done, 1 once a call was handed over */
    uint64_t since_ns; /* when the current instruction first had to wait; 0: has not */
    struct rp_coll_run coll;
    struct rp_call call;
};

/* Run state of a program; one per program, one lane inline in an eager submission. */
struct rp_run {
    struct rp_lane *lane;        /* [lane_count] */
    uint8_t *edge;               /* [edge_count] of 0 / 1 */
    uint32_t *ops_left;          /* [comm_count]: the turn passes when it reaches 0 */
    struct rp_submission *owner; /* the submission that runs it now; NULL: free */
    /*
     * Programs with communicators run in the order of their submissions, like the
     * tickets: a later replay that took the run state first would wait for the
     * earlier one's turn for ever. Programs without any take it as they come.
     */
    struct rp_turn turn;
    uint64_t replays;       /* runs begun so far, for reports */
    uint32_t pair_ops_left; /* of this run, not over; UINT32_MAX: nobody knows */
};

struct rp_submission {
    struct rp_mpsc_node link;   /* in the device's queue */
    struct rp_list in_stream;   /* in its stream's FIFO */
    struct rp_list in_pool;     /* free; or among the ghosts: dropped before its turns came, it
                                   passes them on in order */
    struct rp_stream *stream;   /* referenced */
    struct rp_program *program; /* referenced; NULL: eager, use insn / op below */
    uint64_t number;            /* stream->submitted when it was queued, itself included */
    uint64_t ticket[RP_TICKETS_INLINE]; /* of comm i, while comm_count <= RP_TICKETS_INLINE */
    uint64_t *more_tickets; /* instead, otherwise; kept when the submission is used again */
    uint32_t more_room;     /* tickets that fit there */
    uint32_t bound_room;    /* tickets that fit in `bound`; kept, too */
    uint64_t *bound;        /* of the program's external records and waits, as it was queued; then
                               the last number before it of each rp_pair_use */
    bool began;
    uint64_t run_ticket; /* of program->run->turn */
    rp_status failed;    /* first failure of this run; RP_OK: none */
    struct rp_insn insn;
    struct rp_op op;
    struct rp_lane lane;                 /* run state of the eager task */
    char sentence[RP_OP_SENTENCE_BYTES]; /* of the failure */
};

/** rp_op_batch: the op's batch, NULL for other operators. */
static inline struct rp_batch *rp_op_batch(const struct rp_op *op)
{
    return op->record.op == RP_OP_BATCH_SEND_RECV ? op->batch : NULL;
}

/** rp_submission_comms: how many communicators it names; rp_submission_comm: the i-th. */
static inline uint32_t rp_submission_comms(const struct rp_submission *sub)
{
    return sub->program != NULL ? sub->program->comm_count : sub->insn.kind == RP_INSN_COLLECTIVE;
}

static inline struct rp_comm *rp_submission_comm(const struct rp_submission *sub, uint32_t i)
{
    return sub->program != NULL ? sub->program->comm[i] : sub->op.comm;
}

/** rp_comm_failure: the communicator's first failure, RP_OK while it is healthy. Baton. */
static inline rp_status rp_comm_failure(const struct rp_comm *comm)
{
    // relaxed: stored under the baton.
    return (rp_status)atomic_load_explicit(&comm->error, memory_order_relaxed);
}

/** rp_submission_pair_base: [program->pair_use_count]: the last number before the replay's. */
static inline uint64_t *rp_submission_pair_base(struct rp_submission *sub)
{
    return sub->bound + sub->program->bound_count;
}

/** rp_submission_ticket: where its ticket of the i-th communicator is. */
static inline uint64_t *rp_submission_ticket(struct rp_submission *sub, uint32_t i)
{
    return rp_submission_comms(sub) <= RP_TICKETS_INLINE ? &sub->ticket[i] : &sub->more_tickets[i];
}

/* Its lanes while it runs. */
static inline uint32_t rp_submission_lanes(const struct rp_submission *sub)
{
    return sub->program != NULL ? sub->program->lane_count : 1;
}

static inline struct rp_lane *rp_submission_lane(struct rp_submission *sub, uint32_t i)
{
    return sub->program != NULL ? &sub->program->run->lane[i] : &sub->lane;
}

/** rp_submission_create: an empty submission of `device`'s pool, with room for tickets of `comms`
 * communicators and `bounds` events; RP_ENOMEM. Any thread. */
RP_MUST_USE rp_status rp_submission_create(
        struct rp_device *device, uint32_t comms, uint32_t bounds, struct rp_submission **out);
/** rp_pool_give: back to the pool. Any thread. */
void rp_pool_give(struct rp_device *device, struct rp_submission *sub);

/** rp_submission_admit: popped from the queue: take the tickets, enter the stream's FIFO. Baton. */
void rp_submission_admit(struct rp_device *device, struct rp_submission *sub);

/** rp_lane_restart: a lane of a program goes on at its instruction `pc`. Baton. */
void rp_lane_restart(struct rp_program *program, uint32_t lane, uint32_t pc);

/** rp_submission_event_ticket: the number of the record that an event's task makes or waits for. */
static inline uint64_t rp_submission_event_ticket(
        const struct rp_submission *sub, const struct rp_insn *insn)
{
    return insn->flag == RP_INSN_BOUND ? sub->bound[insn->index] : insn->u.event.ticket;
}

/** rp_submission_begin: take the run state; false while another submission has it. Baton. */
RP_MUST_USE bool rp_submission_begin(struct rp_submission *sub);

/** rp_submission_fail: keep the first failure. Baton. */
void rp_submission_fail(struct rp_submission *sub, rp_status st, const char *sentence);

/**
 * rp_submission_end: all lanes have ended, or it never began: pass the turns it
 * still has, report its failure to the stream, give up its references, count it
 * as ended and wake who waits for that. `sub` is gone afterwards. Baton.
 */
void rp_submission_end(struct rp_device *device, struct rp_submission *sub);

/** rp_ghosts_step: let ghosts pass the turns that have come; whether any did. Baton. */
bool rp_ghosts_step(struct rp_device *device);
/** rp_ghosts_drop: the device goes down: forget them. Baton. */
void rp_ghosts_drop(struct rp_device *device);

#endif
