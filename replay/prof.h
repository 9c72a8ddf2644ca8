#ifndef REPRISE_REPLAY_PROF_H
#define REPRISE_REPLAY_PROF_H

/*
 * Profiling: what a session between aclprofStart and aclprofStop collects.
 *
 * A function that is worth it stands between rp_prof_begin and rp_prof_end: one
 * load and one compare while nothing is collected. Marks are points of a stream
 * (an event of ours, whose time stamp is read at the end) and of the host.
 * The result is one JSON file a session: per function calls and times, per
 * stream the submissions, and the marks.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/status.h"
#include "base/util.h"

struct rp_stream;

/* X(name of the enum, public function) */
#define RP_PROF_MAP(X)                                 \
    X(RP_PROF_MALLOC, "aclrtMalloc")                   \
    X(RP_PROF_FREE, "aclrtFree")                       \
    X(RP_PROF_MALLOC_HOST, "aclrtMallocHost")          \
    X(RP_PROF_FREE_HOST, "aclrtFreeHost")              \
    X(RP_PROF_MEMCPY, "aclrtMemcpy")                   \
    X(RP_PROF_MEMCPY_ASYNC, "aclrtMemcpyAsync")        \
    X(RP_PROF_MEMSET, "aclrtMemset")                   \
    X(RP_PROF_MEMSET_ASYNC, "aclrtMemsetAsync")        \
    X(RP_PROF_RECORD_EVENT, "aclrtRecordEvent")        \
    X(RP_PROF_WAIT_EVENT, "aclrtStreamWaitEvent")      \
    X(RP_PROF_SYNC_EVENT, "aclrtSynchronizeEvent")     \
    X(RP_PROF_SYNC_STREAM, "aclrtSynchronizeStream")   \
    X(RP_PROF_SYNC_DEVICE, "aclrtSynchronizeDevice")   \
    X(RP_PROF_LAUNCH_HOST_FUNC, "aclrtLaunchHostFunc") \
    X(RP_PROF_LAUNCH_CALLBACK, "aclrtLaunchCallback")  \
    X(RP_PROF_CAPTURE_BEGIN, "aclmdlRICaptureBegin")   \
    X(RP_PROF_CAPTURE_END, "aclmdlRICaptureEnd")       \
    X(RP_PROF_EXECUTE_ASYNC, "aclmdlRIExecuteAsync")   \
    X(RP_PROF_ALL_REDUCE, "HcclAllReduce")             \
    X(RP_PROF_REDUCE_SCATTER, "HcclReduceScatter")     \
    X(RP_PROF_ALL_GATHER, "HcclAllGather")             \
    X(RP_PROF_BROADCAST, "HcclBroadcast")              \
    X(RP_PROF_BARRIER, "HcclBarrier")

enum rp_prof_api {
#define RP_PROF_ENUM(name, text) name,
    RP_PROF_MAP(RP_PROF_ENUM)
#undef RP_PROF_ENUM
            RP_PROF_APIS
};

/* Whether a session collects. relaxed: a call at its edge counts or does not. */
extern _Atomic bool rp_prof_collects;

void rp_prof_account(enum rp_prof_api api, uint64_t began_ns);

/** rp_prof_begin: when the call began; 0 while nothing is collected. */
static inline uint64_t rp_prof_begin(void)
{
    return RP_UNLIKELY(atomic_load_explicit(&rp_prof_collects, memory_order_relaxed)) ? rp_now_ns()
                                                                                      : 0;
}

static inline void rp_prof_end(enum rp_prof_api api, uint64_t began_ns)
{
    if (RP_UNLIKELY(began_ns != 0)) {
        rp_prof_account(api, began_ns);
    }
}

/**
 * rp_prof_mark: note `text` (cut at 255 bytes) now and, when `stream` is not NULL
 * and not capturing, at the point that it has then reached. `domain` may be NULL.
 * `duration_ns` 0: a point, else a range of the host that ended now. Nothing
 * happens while nothing is collected. RP_ENOMEM and what recording an event answers.
 */
RP_MUST_USE rp_status rp_prof_mark(const char *domain, const char *text, size_t bytes,
        struct rp_stream *stream, uint64_t duration_ns);

/** rp_prof_start: begin a session whose file comes into `directory`; `settings` is kept with it. */
RP_MUST_USE rp_status rp_prof_start(
        const char *directory, const uint32_t *devices, uint32_t device_count, uint64_t mask);

/** rp_prof_stop: end it and write its file. RP_EWRITEFILE. */
RP_MUST_USE rp_status rp_prof_stop(void);

#endif
