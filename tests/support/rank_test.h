#ifndef TESTS_SUPPORT_RANK_TEST_H
#define TESTS_SUPPORT_RANK_TEST_H

/* What the suites of multi-rank tests share: the assertion on a job, names. */

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdarg.h>
#include <stdio.h>

#include "support/rank_call.h"
#include "support/rank_runner.h"
#include "support/soak.h"

#define GLOBAL ACL_MODEL_RI_CAPTURE_MODE_GLOBAL
#define RELAXED ACL_MODEL_RI_CAPTURE_MODE_RELAXED
#define THREAD_LOCAL ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL

/* Arrays of settings for rank_job.env. In HOST_TS form every rank reserves its buffers, 400 MB by
 * default; with small ones large operators take several rounds, which is more to test. */
#define ENV(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define AIV ENV("HCCL_OP_EXPANSION_MODE=AIV")
#define HOST_TS ENV("HCCL_OP_EXPANSION_MODE=HOST_TS", "HCCL_BUFFSIZE=4")

/** assert_job: run the job; every rank must be well. assert_crew: the same for one under way. */
#define assert_job(job, ...) assert_well(rank_run(job), __VA_ARGS__)
#define assert_crew(crew, ...) assert_well(rank_finish(crew), __VA_ARGS__)

static inline void assert_well(const char *wrong, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

static inline void assert_well(const char *wrong, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    cr_assert(eq(int, wrong != NULL, 0), "%s:\n%s", what, wrong != NULL ? wrong : "");
}

/** capture_begin, capture_end: around what goes into a graph; for ranks. */
static inline void capture_begin(aclrtStream stream)
{
    must(aclmdlRICaptureBegin(stream, GLOBAL));
}

static inline aclmdlRI capture_end(aclrtStream stream)
{
    aclmdlRI graph = NULL;
    must(aclmdlRICaptureEnd(stream, &graph));
    must_hold(graph != NULL, "CaptureEnd gave no graph");
    return graph;
}

static inline void replay(aclmdlRI graph, aclrtStream stream)
{
    must(aclmdlRIExecuteAsync(graph, stream));
}

/** word: element `i` of rank `rank`'s input in round `round`, and sum_of_words over all ranks: for
 * tests with too much data for tables. */
static inline uint32_t word(unsigned rank, uint64_t round, size_t i)
{
    uint64_t bits = (rank + 1) * UINT64_C(0x9e3779b97f4a7c15) +
                    round * UINT64_C(0xbf58476d1ce4e5b9) + i * UINT64_C(0x94d049bb133111eb);
    bits ^= bits >> 29;
    bits *= UINT64_C(0xff51afd7ed558ccd);
    return (uint32_t)(bits >> 32);
}

static inline uint32_t sum_of_words(unsigned ranks, uint64_t round, size_t i)
{
    uint32_t sum = 0;
    for (unsigned r = 0; r < ranks; r++) {
        sum += word(r, round, i);
    }
    return sum;
}

#endif
