#ifndef REPRISE_CAPTURE_COND_H
#define REPRISE_CAPTURE_COND_H

/*
 * Condition handles: a word of device memory that decides which sub-graph of a
 * conditional runs. It belongs to the root graph and ends with it.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "capture/graph.h"

struct rp_cond {
    struct rp_cond *next;   /* of the root's */
    struct rp_graph *graph; /* that it was created for: the conditional goes there */
    _Atomic uint64_t *word; /* device memory, owned */
    uint64_t default_value;
    bool has_default; /* written when an execution of the root begins */
    bool used;        /* by a conditional */
};

/** rp_cond_free_all: the handles of a root that is destroyed. */
void rp_cond_free_all(struct rp_graph *root);

#endif
