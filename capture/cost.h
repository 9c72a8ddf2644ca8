#ifndef REPRISE_CAPTURE_COST_H
#define REPRISE_CAPTURE_COST_H

/*
 * How long an operator takes, told by its task lists: those of all ranks are
 * replayed against a model of the machine, in the order of simulated time. It
 * costs no network and no ranks, so it reaches counts of ranks that nobody has
 * at hand; what it is for is to rank algorithms, not to predict a clock.
 *
 * The model is Hockney's, per class of link: a signal arrives alpha after what
 * was put before it, and a byte occupies its sender for beta; reducing a byte of
 * one input takes gamma.
 */

#include "base/status.h"
#include "capture/expand.h"

enum rp_link_class {
    RP_LINK_NODE, /* shared memory */
    RP_LINK_NET,  /* between nodes */
    RP_LINKS,
};

struct rp_link_cost {
    double alpha_ns; /* from a signal to its peer's next task */
    double beta_ns;  /* per byte */
    double call_ns;  /* that either end is busy for a signal */
    /* The wire carries a put while its rank goes on; puts of a rank queue for its port, and so do
     * those to it. Otherwise the rank's own core copies. */
    bool wire;
};

struct rp_cost_model {
    struct rp_link_cost link[RP_LINKS];
    double task_ns;  /* to begin any task */
    double copy_ns;  /* per byte of a copy within a rank */
    double gamma_ns; /* per byte of each input of a reduction */
};

/* Cores that share memory, and TCP between them over the loopback device: rounded figures of a
 * two-core virtual machine, 64-byte and 1-MiB messages between two processes. */
extern const struct rp_cost_model rp_cost_default;

/**
 * rp_cost_predict: nanoseconds until the last rank is through with `count`
 * elements of each block, all ranks starting at once. Of `request`, rank and
 * count do not matter; ranks on the same node of its layout are linked by
 * RP_LINK_NODE, on different ones by RP_LINK_NET. No layout: all on one node.
 * Rounds are taken not to overlap.
 *
 *   RP_EPARAM   not even one element fits the windows; count 0
 *   RP_ENOTSUP  the algorithm does not know the operator
 *   RP_ENOMEM
 */
RP_MUST_USE rp_status rp_cost_predict(const struct rp_cost_model *model,
        const struct rp_expand_request *request, uint64_t count, double *ns);

#endif
