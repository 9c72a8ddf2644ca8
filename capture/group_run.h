#ifndef REPRISE_CAPTURE_GROUP_RUN_H
#define REPRISE_CAPTURE_GROUP_RUN_H

/*
 * A group that has ended: its calls, and the order in which they are issued.
 *
 * 1. Everything is checked, in recording order. If anything is wrong, nothing is
 *    issued.
 * 2. Collectives are submitted in recording order, as without a group. Then the
 *    sends and receives of each communicator as one batch, communicator by
 *    communicator in the order of their names, which all ranks agree on: ranks
 *    that record in different orders have their batches in one order on every
 *    stream, so that none waits behind another in a circle.
 * 3. The joins begin, and are waited for.
 * 4. The streams that run at once are waited for. Nothing is waited for before
 *    everything was submitted, so one thread can be several ranks.
 * 5. Communicators are destroyed.
 *
 * From 2 on a failure stops nothing: peers may be waiting for what comes after.
 */

#include "base/list.h"
#include "capture/group.h"
#include "replay/program.h"

#define RP_GROUP_API_BYTES 48

struct rp_stream;

/* A collective, a send or a receive. */
struct rp_group_call {
    struct rp_list link;
    uint32_t number; /* of the call in the group, from 1 */
    char api[RP_GROUP_API_BYTES];
    struct rp_op_call call; /* with arrays of its own */
    struct rp_op_receive receive;
    struct rp_comm *comm; /* referenced, so that its handle is none other's meanwhile */

    /* While it is issued. */
    struct rp_stream *stream;
    struct rp_op op;
    bool begun;   /* rp_comm_call_begin() */
    bool nothing; /* a table of zeros */

    uint64_t array[]; /* counts and displacements, or the matrix */
};

/* A rank that joins a communicator. */
struct rp_group_init {
    struct rp_list link;
    uint32_t number;
    const char *api; /* static */
    struct rp_join_request request;
    struct rp_algo_config algo;
    HcclComm *comm;
    unsigned char root_info[RP_ROOT_INFO_BYTES];
};

struct rp_group_destroy {
    struct rp_list link;
    uint32_t number;
    struct rp_comm *comm; /* referenced */
};

/* Everything between a start and its end. */
struct rp_group_record {
    struct rp_list calls;
    struct rp_list inits;
    struct rp_list destroys;
    uint32_t count; /* calls so far */
};

/** rp_group_run: issue it and wait; the first failure, which names its call. The record stays as it
 * is, for whoever frees it. */
RP_MUST_USE rp_status rp_group_run(struct rp_group_record *record);

/** rp_group_fail: `st`, with the sentence of call `number` by that name. */
RP_MUST_USE rp_status rp_group_fail(
        rp_status st, uint32_t number, const char *api, const char *sentence);

#endif
