#ifndef REPRISE_REPLAY_KERNEL_H
#define REPRISE_REPLAY_KERNEL_H

/*
 * Kernels of the user's own: binaries (shared objects), their functions, and how a launch reaches
 * the vector cores. A kernel is a C function of the type reprise_kernel_fn (reprise/kernel.h).
 */

#include <stdatomic.h>
#include <stdint.h>

#include "base/status.h"
#include "replay/launch.h"

struct rp_binary;

/* A kernel that can be launched. */
struct rp_function {
    _Atomic uint32_t refs;    /* handle or binary + launches */
    struct rp_binary *binary; /* referenced; NULL: a function of the program itself */
    void (*fn)(void *args, uint32_t block, uint32_t blocks);
    char *name; /* owned */
};

/** rp_function_ref / rp_function_unref: the last one frees it. Any thread, never blocks. */
void rp_function_ref(struct rp_function *function);
void rp_function_unref(struct rp_function *function);

#endif
