#ifndef TESTS_SUPPORT_FLAT_CASE_H
#define TESTS_SUPPORT_FLAT_CASE_H

/*
 * What suites share that look at what a process has in use: both expansions, a
 * buffer, one all-reduce whose result is checked.
 */

#include "support/rank_test.h"

#define WORDS 500
#define BUFFER_BYTES (64 * 1024)

// With little device memory what is free of it does not depend on the machine.
static const char *const aiv[] = { "HCCL_OP_EXPANSION_MODE=AIV", "REPRISE_DEVICE_MEMORY=256M",
    NULL };
static const char *const host_ts[] = { "HCCL_OP_EXPANSION_MODE=HOST_TS",
    "REPRISE_DEVICE_MEMORY=256M", "HCCL_BUFFSIZE=4", NULL };

static inline void in_both_expansions(struct rank_job *job, const char *what)
{
    job->timeout_s = soaking() ? 1200 : 60;
    job->env = aiv;
    assert_job(job, "%s, AIV", what);
    job->env = host_ts;
    assert_job(job, "%s, HOST_TS", what);
}

static inline float *buffer_create(void)
{
    float *buffer = NULL;
    must(aclrtMalloc((void **)&buffer, BUFFER_BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(buffer, 0, BUFFER_BYTES);
    return buffer;
}

static inline void all_reduce(float *buffer, HcclComm comm, aclrtStream stream)
{
    must(HcclAllReduce(buffer, buffer, WORDS, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, comm, stream));
}

static inline void use_once(struct rank *rank, float *buffer)
{
    buffer[7] = (float)rank->id;
    all_reduce(buffer, rank->comm, rank->stream);
    must(aclrtSynchronizeStream(rank->stream));
    must_hold(buffer[7] == (float)(rank->count - 1), "wrong result");
}

#endif
