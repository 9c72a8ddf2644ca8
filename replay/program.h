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

#include "kernels/record.h"
#include "replay/task_list.h"

struct rp_comm;
struct rp_event;

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
    RP_INSN_VALUE_WRITE,
    RP_INSN_VALUE_WAIT,
    RP_INSN_KINDS
};

struct rp_insn {
    uint8_t kind; /* enum rp_insn_kind: selects the arm of `u` */
    uint8_t flag; /* CALLBACK: 1 = later tasks wait; VALUE_WAIT: ACL_STREAM_WAIT_VALUE_* */
    uint16_t reserved;
    uint32_t index; /* COLLECTIVE: op; EDGE_*: edge; otherwise the task's number for reports */
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
        uint64_t raw[7];
    } u;
};
static_assert(sizeof(struct rp_insn) == 64, "one instruction, one cache line");

/** rp_insn_names_event: whether `u.event.event` is set and referenced by the instruction's holder.
 */
static inline bool rp_insn_names_event(const struct rp_insn *insn)
{
    return insn->kind == RP_INSN_EVENT_RECORD || insn->kind == RP_INSN_EVENT_WAIT ||
           insn->kind == RP_INSN_EVENT_RESET;
}

/* One collective as frozen at submission or capture. */
struct rp_op {
    struct rp_comm *comm;            /* referenced by whoever holds the op */
    const struct rp_task_list *list; /* HOST_TS: full rounds; NULL for AIV */
    const struct rp_task_list *tail; /* HOST_TS: the last, shorter round; NULL if there is none */
    const void *send;
    void *recv;
    uint64_t timeout_ns; /* 0: none */
    struct rp_record record;
};

struct rp_program {
    _Atomic uint32_t refs;
    uint32_t id; /* graph id for reports; 0: an eager call */
    uint32_t lane_count;
    uint32_t edge_count;
    uint32_t op_count;
    uint32_t comm_count;
    uint32_t *lane_first; /* [lane_count + 1]: lane i is insn[lane_first[i]] .. insn[lane_first[i +
                             1] - 1] */
    struct rp_insn *insn;
    struct rp_op *op;
    struct rp_comm **comm; /* [comm_count], each referenced once */
    uint32_t *comm_ops;    /* [comm_count]: collectives of this program on comm[i] */
    struct rp_run *run; /* the one run state (submission.h); runs of one program are serialised */
    void (*release)(
            struct rp_program *program, void *owner); /* frees what the graph owns; may be NULL */
    void *owner;
};

/**
 * rp_program_create: one allocation for a program of these sizes, arrays zeroed
 * and `run` ready; refs 1. The caller fills it before anyone runs it.
 */
struct rp_program *rp_program_create(
        uint32_t lanes, uint32_t insns, uint32_t edges, uint32_t ops, uint32_t comms);
void rp_program_ref(struct rp_program *program);
/** rp_program_unref: the last one drops comms' and events' references, calls release, frees. */
void rp_program_unref(struct rp_program *program);

#endif
