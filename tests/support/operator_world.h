#ifndef TESTS_SUPPORT_OPERATOR_WORLD_H
#define TESTS_SUPPORT_OPERATOR_WORLD_H

/*
 * Where cases of collectives run: a rank of rank_runner.h with its streams, a
 * communicator for every form, and memory of each kind in which buffers are cut
 * out between guards. Communicators are costly, so many cases share them; a case
 * that fails ends the rank with the case in words.
 */

#include "support/operator_case.h"
#include "support/rank_runner.h"

#define OPERATOR_FORMS_MAX 48

/* What the ranks of a job share; rank_shared_create(sizeof(struct operator_shared)). */
struct operator_shared {
    HcclRootInfo info;
    /* Inputs by rank and by turn: a round's are read while the next one's are made. */
    uint8_t input[OPERATOR_RANKS][2][OPERATOR_CALLS * OPERATOR_BUFFER_BYTES];
};

struct operator_buffer {
    uint8_t *data;
    size_t bytes;
};

struct operator_world {
    struct rank *rank;
    struct operator_shared *shared;
    const struct operator_form *forms;
    unsigned form_count;
    HcclComm comm[OPERATOR_FORMS_MAX];
    aclrtStream stream[2];
    aclrtEvent fork, join;
    uint8_t *pool[OPERATOR_MEMORIES];
    size_t used[OPERATOR_MEMORIES];
    struct operator_buffer send[OPERATOR_CALLS], recv[OPERATOR_CALLS];
    uint8_t *image; /* of what must come out */
    uint64_t turn;
};

/** operator_world_open: take the device, make communicators of 1 MB of buffers by all `forms`. */
void operator_world_open(struct operator_world *world, struct rank *rank,
        const struct operator_form *forms, unsigned form_count);
void operator_world_close(struct operator_world *world);

/** operator_world_run: the case, by all ranks of the job. */
void operator_world_run(struct operator_world *world, const struct operator_case *c);

#endif
