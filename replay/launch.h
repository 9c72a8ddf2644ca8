#ifndef REPRISE_REPLAY_LAUNCH_H
#define REPRISE_REPLAY_LAUNCH_H

/*
 * One launch of a user's kernel: the function, how many blocks, and a copy of the arguments.
 * Immutable once made, so that a graph, its replays and an update can share it.
 */

#include <acl/acl_rt.h>
#include <assert.h>
#include <reprise/kernel.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct rp_function;

/* What few launches have. */
#define RP_KERNEL_ATTRS 10 /* values of aclrtLaunchKernelAttrId, and 0 */
struct rp_launch_extra {
    struct reprise_grid grid;
    bool has_grid;
    uint32_t attrs; /* bit id: attr[id] was given by the configuration; the others are 0 */
    aclrtLaunchKernelAttrValue attr[RP_KERNEL_ATTRS];
    size_t place_count;
    uint32_t place[]; /* offsets of pointers into args */
};

struct rp_launch {
    _Atomic uint32_t refs;
    uint32_t blocks;               /* at least 1 */
    struct rp_function *function;  /* referenced (replay/kernel_function.h) */
    struct rp_launch_extra *extra; /* owned; NULL: none */
    size_t args_bytes;
    _Alignas(16) unsigned char args[]; /* what the kernel is given */
};
static_assert(sizeof(struct rp_launch) == 32, "a captured launch with few arguments stays small");

/* What to launch. Borrowed: all of it is copied. */
struct rp_launch_spec {
    const void *func;                /* function handle */
    uint32_t blocks;                 /* at least 1; with a grid: 0 */
    const aclrtLaunchKernelCfg *cfg; /* NULL: none */
    const void *args;                /* may be NULL if args_bytes is 0 */
    size_t args_bytes;
    const aclrtPlaceHolderInfo *place; /* [place_count]: pointers to store in the copy */
    size_t place_count;
    const struct reprise_grid *grid; /* NULL: `blocks` in a row */
};

/**
 * rp_launch_create: a launch of what `spec` says, refs 1; the function is
 * referenced.
 *
 *   RP_ENULL      `func` is a null pointer
 *   RP_EHANDLE    it is no live kernel
 *   RP_EPARAM     no blocks, no arguments where some are announced, a bad
 *                 configuration, a placeholder outside of the arguments
 *   RP_ENOMEM
 *
 * Owner: the caller, who gives it up with rp_launch_unref once a task holds it.
 */
RP_MUST_USE rp_status rp_launch_create(const struct rp_launch_spec *spec, struct rp_launch **out);

/**
 * rp_launch_replace: rp_launch_create() for a task that ran `before` until now
 * (aclmdlRITaskSetParams). Pointers that led into the arguments of `before`, at
 * the places where it has such, lead into the new copy: whoever got them from
 * rp_launch_args and passes them on changed means the data that travels with
 * the arguments. `spec->place` is ignored. Same failures.
 */
RP_MUST_USE rp_status rp_launch_replace(
        const struct rp_launch *before, const struct rp_launch_spec *spec, struct rp_launch **out);

/** rp_launch_handle: the aclrtFuncHandle of its kernel; stale when the binary was unloaded. */
aclrtFuncHandle rp_launch_handle(const struct rp_launch *launch);

/** rp_launch_name: the kernel's name; valid as long as the launch. */
const char *rp_launch_name(const struct rp_launch *launch);

/** rp_launch_attr: an attribute of its configuration, zero if it was not given. RP_EPARAM for an
 *  id other than 1, 2, 6 to 9 (aclmdlRIKernelTaskGetAttribute). */
RP_MUST_USE rp_status rp_launch_attr(const struct rp_launch *launch, aclrtLaunchKernelAttrId id,
        aclrtLaunchKernelAttrValue *value);

/** rp_launch_ref / rp_launch_unref: the last one frees it. Any thread, never blocks. */
void rp_launch_ref(struct rp_launch *launch);
void rp_launch_unref(struct rp_launch *launch);

#endif
