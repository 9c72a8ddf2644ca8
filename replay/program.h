#ifndef REPRISE_REPLAY_PROGRAM_H
#define REPRISE_REPLAY_PROGRAM_H

/*
 * A program is everything that ever runs: an eager call is a program of one
 * instruction, a captured graph one of many, in lanes. It is read-only: what
 * changes per run lives in the submission (replay/submission.h).
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "kernels/counts.h"
#include "replay/task_list.h"

struct rp_batch;
struct rp_comm;
struct rp_event;
struct rp_label;
struct rp_label_list;
struct rp_launch;
struct rp_notify;
struct rp_stream;

enum rp_insn_kind {
    RP_INSN_NOP = 0,
    RP_INSN_COPY,
    RP_INSN_COPY_2D,
    RP_INSN_FILL,     /* bytes */
    RP_INSN_FILL_32,  /* 32-bit words */
    RP_INSN_HOST_FN,  /* aclrtLaunchHostFunc: runs on a callback thread, lane parked */
    RP_INSN_CALLBACK, /* aclrtLaunchCallback: runs on the stream's subscribed thread */
    RP_INSN_EVENT_RECORD,
    RP_INSN_EVENT_WAIT,
    RP_INSN_EVENT_RESET,
    RP_INSN_EDGE_SIGNAL, /* between lanes of one program: set edge `index` */
    RP_INSN_EDGE_WAIT,   /* wait for edge `index` */
    RP_INSN_COLLECTIVE,  /* op `index` of the program */
    RP_INSN_NUMBER, /* numbers op `index`, sends and receives of an open-ended program, in turn */
    RP_INSN_VALUE_WRITE,
    RP_INSN_VALUE_WAIT,
    RP_INSN_KERNEL, /* a user's kernel: runs on the vector cores, lane parked */
    RP_INSN_NOTIFY_RECORD,
    RP_INSN_NOTIFY_WAIT, /* and, by its flags, reset */
    RP_INSN_NOTIFY_RESET,
    RP_INSN_APPLY, /* a change of a graph, in stream order; eager only */
    /* control flow, in graphs only */
    RP_INSN_COND,          /* run one sub-graph, or repeat it */
    RP_INSN_LABEL,         /* recorded only: where a target of LABEL_SWITCH is */
    RP_INSN_LABEL_SWITCH,  /* go on at one of the program's targets */
    RP_INSN_LANE_ACTIVATE, /* start lane `index` beside this one */
    RP_INSN_LANE_SWITCH,   /* if a condition holds: start lane `index` and end this one */
    RP_INSN_END_GRAPH,     /* aclmdlRIEndTask */
    RP_INSN_KINDS
};

/* `flag` of an EVENT_RECORD or EVENT_WAIT: its ticket is drawn when the replay is queued and stands
 * in the submission, at `index`. */
#define RP_INSN_BOUND 1

struct rp_insn {
    uint8_t kind;  /* enum rp_insn_kind: selects the arm of `u` */
    uint8_t flag;  /* CALLBACK: 1 = later tasks wait; VALUE_WAIT: ACL_STREAM_WAIT_VALUE_*; EVENT_*:
                      RP_INSN_BOUND; NOTIFY_*: mode; COND: aclmdlRICondTaskType */
    uint8_t clear; /* NOTIFY_WAIT: reset the value afterwards */
    uint8_t reserved;
    uint32_t index; /* COLLECTIVE, NUMBER: op; EDGE_*: edge; EVENT_* with RP_INSN_BOUND: ticket;
                       COND: its first sub-graph; LABEL_SWITCH: its first target; LANE_*: lane */
    union {
        struct {
            void *dst;
            const void *src;
            uint64_t bytes;
        } copy;
        struct {
            void *dst;
            const void *src;
            uint64_t dst_pitch, src_pitch, width, height; /* bytes, bytes, bytes, rows */
        } copy_2d;
        struct {
            void *dst;
            uint64_t count; /* bytes, or words for FILL_32 */
            uint32_t value;
        } fill;
        struct {
            void (*fn)(void *);
            void *arg;
            struct rp_stream *stream; /* CALLBACK: whose thread runs it; NULL: the one it is on */
        } call;
        struct {
            struct rp_event *event; /* referenced by the submission or program */
            uint64_t ticket;        /* record: its number; wait: number to reach */
            uint64_t timeout_ns;    /* wait; 0: none */
        } event;
        struct {
            _Atomic uint64_t *addr;
            uint64_t value;
        } value;
        struct {
            struct rp_launch *launch; /* function, blocks and arguments */
        } kernel;
        struct {
            struct rp_notify *notify;
            uint64_t value;
            uint64_t timeout_ns; /* wait; 0: none */
        } notify;
        struct {
            /* Under the baton: RP_OK done, RP_AGAIN not yet. `drop` frees `arg`, applied or not. */
            rp_status (*apply)(void *arg);
            void (*drop)(void *arg);
            void *arg;
        } apply;
        struct {
            _Atomic uint64_t *word;
            uint32_t count; /* sub-graphs */
        } cond;
        struct {
            struct rp_label *label;
        } label;
        struct {
            struct rp_label_list *list; /* recorded only */
            const uint32_t *which;      /* in device memory */
            uint32_t max;               /* a larger value means this one */
        } label_switch;
        struct {
            const void *left, *right; /* in device memory */
            uint32_t cond;            /* aclrtCondition */
            uint32_t type;            /* aclrtCompareDataType */
        } lane_switch;
        uint64_t raw[7];
    } u;
};
static_assert(sizeof(struct rp_insn) == 64, "one instruction, one cache line");

/** rp_insn_names_event: whether the instruction is a record, wait or reset of `u.event.event`. */
static inline bool rp_insn_names_event(const struct rp_insn *insn)
{
    return insn->kind == RP_INSN_EVENT_RECORD || insn->kind == RP_INSN_EVENT_WAIT ||
           insn->kind == RP_INSN_EVENT_RESET;
}

/**
 * rp_insn_hold: references to what the instruction names (event, launch, notify, label), for a
 * copy that is kept. rp_insn_release: gives them up; of an APPLY it drops the argument, which has
 * one holder only. A recorded edge names its event, an edge of a program none.
 */
void rp_insn_hold(const struct rp_insn *insn);
void rp_insn_release(const struct rp_insn *insn);

/* Where a send or receive of a program comes among those of its pair and direction. */
struct rp_pair_place {
    uint32_t use;   /* index of the program's rp_pair_use */
    uint32_t index; /* among this use's */
};

/* All sends of a program to one rank, or its receives from it. */
struct rp_pair_use {
    struct rp_comm *comm;
    uint32_t peer;
    uint32_t count;
    bool sends;
};

/* One collective as frozen at submission or capture. */
struct rp_op {
    struct rp_comm *comm; /* referenced by whoever holds the op */
    union {
        const struct rp_task_list *list; /* HOST_TS: full rounds; NULL for AIV */
        struct rp_batch *batch;          /* of a BatchSendRecv; referenced like `comm` */
    };
    union {
        const struct rp_task_list
                *tail;              /* HOST_TS: the last, shorter round; NULL if there is none */
        struct rp_pair_place place; /* of a send or receive of a program */
    };
    const struct rp_counts *counts; /* of an operator whose blocks differ; NULL for the others */
    const void *send;
    void *recv;
    struct rp_record record;
};
static_assert(sizeof(struct rp_op) == 112, "what a million collectives of a graph cost");

/* A sub-graph of a conditional: lanes and edges that are begun anew each time it runs. */
struct rp_sub {
    uint32_t lane_first, lane_count;
    uint32_t edge_first, edge_count;
};

/* Where a label stands. */
struct rp_target {
    uint32_t lane;
    uint32_t pc;
};

struct rp_program {
    _Atomic uint32_t refs;
    uint32_t id; /* graph id for reports; 0: an eager call */
    uint32_t lane_count;
    uint32_t edge_count;
    uint32_t op_count;
    uint32_t comm_count;
    uint32_t sub_count;
    uint32_t target_count;
    uint32_t bound_count; /* external records and waits */
    bool open_ended;      /* conditions and jumps decide how many ops there will be */
    uint8_t *lane_starts; /* [lane_count]: 1: begins with the program; 0: when something says so */
    struct rp_sub *sub;
    struct rp_target *target;
    uint32_t *bound;      /* [bound_count]: where each external record or wait stands in insn */
    uint32_t *lane_first; /* [lane_count + 1]: lane i is insn[lane_first[i]] .. insn[lane_first[i +
                             1] - 1] */
    struct rp_insn *insn;
    struct rp_op *op;
    struct rp_comm **comm; /* [comm_count], each referenced once */
    uint32_t *comm_ops; /* [comm_count]: collectives of this program on comm[i] that take turns */
    struct rp_pair_use *pair_use; /* [pair_use_count], an allocation of its own; none if open_ended:
                                     the ops are numbered as they come then */
    uint32_t pair_use_count;
    uint32_t pair_ops;  /* ops of sends and receives */
    struct rp_run *run; /* the one run state (submission.h); runs of one program are serialised */
    void (*release)(
            struct rp_program *program, void *owner); /* frees what the graph owns; may be NULL */
    void *owner;
};

struct rp_program_size {
    uint32_t lanes, insns, edges, ops, comms, subs, targets, bounds;
};

/**
 * rp_program_create: one allocation for a program of these sizes, arrays zeroed (lane_starts: all
 * 1) and `run` ready; refs 1. The caller fills it before anyone runs it. NULL: no memory.
 */
struct rp_program *rp_program_create(const struct rp_program_size *size);
void rp_program_ref(struct rp_program *program);
/** rp_program_unref: the last one drops the references of comms and instructions, calls release,
 * frees. */
void rp_program_unref(struct rp_program *program);

#endif
