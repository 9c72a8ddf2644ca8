#ifndef REPRISE_REPLAY_COPY_PLAN_H
#define REPRISE_REPLAY_COPY_PLAN_H

/*
 * What all copy calls share: which way a copy goes, and what it does when host
 * memory is pageable.
 */

#include <acl/acl_rt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "replay/place.h"

struct rp_context;
struct rp_stream;
struct rp_task;

enum rp_direction {
    RP_HOST_TO_HOST = 0,
    RP_HOST_TO_DEVICE,
    RP_DEVICE_TO_HOST,
    RP_DEVICE_TO_DEVICE,
};

struct rp_copy_plan {
    enum rp_direction direction;
    bool pageable; /* an end is host memory that is neither pinned nor registered */
};

/**
 * rp_copy_plan: of `dst_bytes` from `src_bytes` (they differ for rows with gaps).
 * The addresses decide; `kind` counts only for memory that no device knows, which
 * may be what the program takes for device memory (a framework's own).
 *
 *   RP_EPARAM  an address is not allocated, or the bytes run past its allocation
 */
RP_MUST_USE rp_status rp_copy_plan(const void *dst, uint64_t dst_bytes, const void *src,
        uint64_t src_bytes, aclrtMemcpyKind kind, struct rp_copy_plan *out);

/** rp_copy_now: copy in the calling thread; the areas may overlap. */
void rp_copy_now(void *dst, const void *src, size_t bytes);

/**
 * rp_copy_pageable: what an asynchronous call does first with pageable memory: on
 * a capturing stream `task` is offered to capture, which refuses it; otherwise
 * the mode must allow it, and the stream is waited for. RP_OK: copy now.
 */
RP_MUST_USE rp_status rp_copy_pageable(
        struct rp_stream *stream, const struct rp_task *task, const char *call);

#endif
