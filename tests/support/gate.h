#ifndef TESTS_SUPPORT_GATE_H
#define TESTS_SUPPORT_GATE_H

/*
 * A host function that holds its stream up until the test lets it go on.
 */

#include <acl/acl.h>
#include <semaphore.h>
#include <stdatomic.h>

struct gate {
    sem_t open;
    _Atomic int reached; /* how often a stream has come to it */
};

static inline void gate_init(struct gate *gate)
{
    sem_init(&gate->open, 0, 0);
    atomic_init(&gate->reached, 0);
}

static inline void gate_wait(void *arg)
{
    struct gate *gate = arg;
    atomic_fetch_add(&gate->reached, 1);
    while (sem_wait(&gate->open) != 0) {
    }
}

/** gate_put: the stream stops here until gate_open. */
static inline aclError gate_put(struct gate *gate, aclrtStream stream)
{
    return aclrtLaunchHostFunc(stream, gate_wait, gate);
}

static inline void gate_open(struct gate *gate)
{
    sem_post(&gate->open);
}

#endif
