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

#include "base/list.h"
#include "base/mpsc.h"
#include "base/status.h"
#include "kernels/aiv.h"
#include "replay/program.h"

struct rp_stream;

#define RP_TICKETS_INLINE 2

/* HOST_TS: position in an op's lists. */
struct rp_hts_run {
    uint64_t round; /* rounds finished */
    uint32_t next;  /* next task of the current round's list */
    uint32_t seen;  /* waits taken: the first on each peer compares digests */
};

enum rp_coll_phase {
    RP_COLL_TURN = 0, /* waiting for this communicator's turn */
    RP_COLL_BEGIN,    /* has the turn; announce */
    RP_COLL_RUN,      /* kernel or list */
    RP_COLL_COMPLETE, /* own part over, turn passed if it may; peers' done awaited */
    RP_COLL_RELEASE,  /* failed: until no peer can touch our memory any more */
};

struct rp_coll_run {
    uint8_t phase; /* enum rp_coll_phase */
    uint8_t reserved[3];
    int32_t failed;      /* RELEASE: the rp_status to deliver */
    uint64_t seq;
    uint64_t started_ns; /* when the turn came; timeouts count from here */
    union {
        struct rp_aiv_op aiv;
        struct rp_hts_run hts;
    } u;
};

enum rp_lane_state {
    RP_LANE_RUNNABLE = 0,
    RP_LANE_PARKED, /* a host function of this lane is queued or running */
    RP_LANE_ENDED,
};

struct rp_lane {
    uint32_t pc; /* index into program->insn */
    uint32_t end;
    _Atomic uint32_t state;  /* enum rp_lane_state; PARKED -> RUNNABLE by the thread that ran the call */
    uint32_t reserved;
    uint64_t progress; /* bytes of the current copy or fill done so far */
    uint64_t since_ns; /* when the current instruction first had to wait; 0: has not */
    struct rp_coll_run coll;
};

/* Run state of a program; one per program, one inline in an eager submission. */
struct rp_run {
    struct rp_lane *lane; /* [lane_count] */
    _Atomic uint32_t *edge; /* [edge_count] of 0 / 1; baton */
    uint32_t *ops_left;   /* [comm_count]: the turn passes when it reaches 0 */
    struct rp_submission *owner; /* the submission that runs it now; NULL: free */
    uint64_t replays;     /* runs ended so far, for reports */
};

struct rp_submission {
    struct rp_mpsc_node link;       /* in the device's queue, then in a free list */
    struct rp_list in_stream;       /* in its stream's FIFO */
    struct rp_list in_ghosts;       /* dropped before its turns came: passes them on in order */
    struct rp_stream *stream;
    struct rp_program *program;     /* NULL: eager, use insn / op below */
    uint64_t ticket[RP_TICKETS_INLINE]; /* of comm i, while comm_count <= RP_TICKETS_INLINE */
    uint64_t *more_tickets;         /* instead, otherwise; belongs to the program's pool */
    int32_t failed;                 /* first failure of this run (rp_status) */
    uint8_t began;
    uint8_t reserved[3];
    struct rp_insn insn;
    struct rp_op op;
    struct rp_lane lane;            /* run state of the eager task */
    char sentence[256];             /* of the failure */
};

#endif
