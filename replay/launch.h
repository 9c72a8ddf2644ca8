#ifndef REPRISE_REPLAY_LAUNCH_H
#define REPRISE_REPLAY_LAUNCH_H

/*
 * One launch of a user's kernel: the function, how many blocks, and a copy of the arguments.
 * Immutable once made, so that a graph, its replays and an update can share it.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct rp_function;
struct rp_kernel_attrs;

struct rp_launch {
    _Atomic uint32_t refs;
    uint32_t blocks;              /* at least 1 */
    struct rp_function *function; /* referenced (replay/kernel.h) */
    struct rp_kernel_attrs *attrs; /* of the launch's configuration; NULL: none; owned */
    size_t args_bytes;
    _Alignas(64) unsigned char args[]; /* what the kernel is given; pointers to data inside point here */
};

/** rp_launch_ref / rp_launch_unref: the last one frees it. Any thread, never blocks. */
void rp_launch_ref(struct rp_launch *launch);
void rp_launch_unref(struct rp_launch *launch);

#endif
