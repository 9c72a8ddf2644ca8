#ifndef REPRISE_REPLAY_KERNEL_FUNCTION_H
#define REPRISE_REPLAY_KERNEL_FUNCTION_H

/*
 * Kernels of the user's own: what can be launched. A kernel is a C function of
 * the type reprise_kernel_fn; it comes from a binary (replay/binary.h) or was
 * registered by the program. A handle of the API is the object's address.
 */

#include <reprise/kernel.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct rp_binary;

struct rp_function {
    _Atomic uint32_t refs;    /* handle + launches */
    struct rp_binary *binary; /* referenced; NULL: a function of the program itself */
    reprise_kernel_fn fn;
    char *name;                         /* owned */
    bool for_cpu;                       /* aclrtRegisterCpuFunc */
    struct reprise_kernel_param *param; /* [param_count], owned; NULL: unknown */
    uint32_t param_count;
    size_t param_bytes;       /* of a block that has all of them */
    struct rp_function *next; /* of the binary's; under its lock */
};

/**
 * rp_function_create: a live handle for `fn`. `binary` may be NULL; else it is
 * referenced. `params`: NULL, or copied. RP_EPARAM for overlapping or empty
 * parameters, RP_ENOMEM.
 * Owner: the handle's reference is the caller's, until rp_function_retire.
 */
RP_MUST_USE rp_status rp_function_create(struct rp_binary *binary, const char *name,
        reprise_kernel_fn fn, const struct reprise_kernel_param *params, uint32_t param_count,
        struct rp_function **out);

/** rp_function_retire: the handle is gone; false if it was already. */
bool rp_function_retire(struct rp_function *function);

/** rp_function_get: the kernel of a live handle, referenced. RP_ENULL, RP_EHANDLE. */
RP_MUST_USE rp_status rp_function_get(const void *handle, struct rp_function **out);

/** rp_function_find: the same, and `func` may be the address of a kernel too: RP_ENULL,
 *  RP_EFUNCTION. */
RP_MUST_USE rp_status rp_function_find(const void *func, struct rp_function **out);

/** rp_function_at: a kernel with a live handle whose code is at `address`, referenced; NULL: none.
 */
struct rp_function *rp_function_at(const void *address);

/** rp_function_ref / rp_function_unref: the last one frees it. Any thread, never blocks. */
void rp_function_ref(struct rp_function *function);
void rp_function_unref(struct rp_function *function);

#endif
