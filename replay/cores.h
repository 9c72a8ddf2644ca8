#ifndef REPRISE_REPLAY_CORES_H
#define REPRISE_REPLAY_CORES_H

/*
 * Cores of the chip that a device stands for, and how many of them a process, a
 * stream or a thread is to use.
 */

#include <stdint.h>

struct rp_chip {
    uint32_t cube_cores;
    uint32_t vector_cores;
    uint32_t aicpu_cores;
    uint64_t l2_bytes;
    uint64_t vector_local_bytes; /* of one vector core */
};

/** rp_chip: the figures of the chip named by REPRISE_SOC_NAME. Static. */
const struct rp_chip *rp_chip(void);

#endif
