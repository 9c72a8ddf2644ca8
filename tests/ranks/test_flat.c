// Nothing grows: rounds of capture, replay and destroy, of captures that fail, communicators,
// devices. What is in use is measured after a tenth of the rounds, when caches and pools are full,
// and after all. The other kinds of task are in test_flat_changes.c.
//
// R24 of the user reports; AlltoAll and connections to other nodes come with their issues.

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "support/flat_case.h"
#include "support/rank_test.h"
#include "support/usage.h"

// ---- Rounds of capture, replay and destroy ----

#define CALLS 10

static void count_call(void *counter)
{
    atomic_fetch_add((_Atomic unsigned *)counter, 1);
}

// A round leaves nothing behind of anything a capture can hold: operators of every kind, copies,
// fills, host functions, a stream and events that are made for it.
static aclmdlRI capture_everything(struct rank *rank, float *buffer, _Atomic unsigned *calls)
{
    const uint64_t part = WORDS / rank->count;
    aclrtStream side = NULL;
    aclrtEvent fork = NULL, join = NULL;
    must(aclrtCreateStream(&side));
    must(aclrtCreateEventExWithFlag(&fork, ACL_EVENT_SYNC));
    must(aclrtCreateEventExWithFlag(&join, ACL_EVENT_SYNC));
    capture_begin(rank->stream);
    for (unsigned k = 0; k + 4 < CALLS; k++) {
        all_reduce(buffer, rank->comm, rank->stream);
    }
    must(aclrtRecordEvent(fork, rank->stream));
    must(aclrtStreamWaitEvent(side, fork));
    must(aclrtMemsetAsync(buffer + 4096, 4096, 0, 4096, side));
    must(HcclAllGather(buffer, buffer + 4096, part, HCCL_DATA_TYPE_FP32, rank->comm, side));
    must(HcclReduceScatter(buffer, buffer + 8192, part, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX,
            rank->comm, rank->stream));
    must(HcclBroadcast(buffer, WORDS, HCCL_DATA_TYPE_FP32, 1, rank->comm, side));
    must(aclrtLaunchHostFunc(side, count_call, calls));
    must(aclrtRecordEvent(join, side));
    must(aclrtStreamWaitEvent(rank->stream, join));
    must(HcclBarrier(rank->comm, rank->stream));
    must(aclrtMemcpyAsync(
            buffer + 12288, 4096, buffer, 4096, ACL_MEMCPY_DEVICE_TO_DEVICE, rank->stream));
    aclmdlRI graph = capture_end(rank->stream);
    must(aclrtDestroyStream(side));
    must(aclrtDestroyEvent(fork));
    must(aclrtDestroyEvent(join));
    return graph;
}

static void rounds_rank(struct rank *rank)
{
    const unsigned rounds = *(const unsigned *)rank->arg;
    _Atomic unsigned calls = 0;
    struct usage early = { 0 };
    size_t early_device_bytes = 0;
    rank_open(rank);
    float *buffer = buffer_create();
    for (unsigned round = 0; round < rounds; round++) {
        aclmdlRI graph = capture_everything(rank, buffer, &calls);
        buffer[7] = (float)(rank->id + round);
        replay(graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        must_hold(buffer[12288 + 7] == (float)(rank->count - 1 + round), "round %u: %g", round,
                (double)buffer[12288 + 7]);
        must(aclmdlRIDestroy(graph));
        if (round == rounds / 10) {
            early = usage_now();
            early_device_bytes = usage_device_bytes();
        }
    }
    usage_expect_flat(&early, "captures");
    must_hold(usage_device_bytes() <= early_device_bytes, "device memory grew from %zu to %zu",
            early_device_bytes, usage_device_bytes());
    must_hold(atomic_load(&calls) == rounds, "%u host functions ran in %u rounds",
            atomic_load(&calls), rounds);
    must(aclrtFree(buffer));
    rank_close(rank);
}

Test(flat, r24_rounds_of_capture_replay_and_destroy_leave_nothing)
{
    const unsigned rounds = soak_rounds(600, 10000);
    struct rank_job job = { .ranks = 2, .fn = rounds_rank, .arg = &rounds };
    in_both_expansions(&job, "processes");
    job.mode = RANK_THREADS;
    in_both_expansions(&job, "threads");
}

// Failed captures leave nothing either: abandoned forks, calls that are refused, wrong ends.
static void failures_rank(struct rank *rank)
{
    const unsigned rounds = *(const unsigned *)rank->arg;
    struct usage early = { 0 };
    rank_open(rank);
    float *buffer = buffer_create();
    for (unsigned round = 0; round < rounds; round++) {
        aclmdlRI graph = NULL;
        aclrtStream side = NULL;
        aclrtEvent fork = NULL;
        must(aclrtCreateStream(&side));
        must(aclrtCreateEventExWithFlag(&fork, ACL_EVENT_SYNC));
        capture_begin(rank->stream);
        all_reduce(buffer, rank->comm, rank->stream);
        must_be(aclrtMemcpy(buffer, 64, buffer + 100, 64, ACL_MEMCPY_DEVICE_TO_DEVICE),
                ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
        must(aclrtRecordEvent(fork, rank->stream));
        must(aclrtStreamWaitEvent(side, fork));
        all_reduce(buffer, rank->comm, side);
        if (round % 2 == 0) {
            must_be(aclmdlRICaptureEnd(rank->stream, &graph), ACL_ERROR_RT_STREAM_UNJOINED);
        } else {
            must_be(aclrtStreamWaitEvent(NULL, fork), ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT);
            must_be(aclmdlRICaptureEnd(rank->stream, &graph),
                    ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
        }
        must(aclrtDestroyStream(side));
        must(aclrtDestroyEvent(fork));
        if (round == rounds / 10) {
            early = usage_now();
        }
    }
    usage_expect_flat(&early, "failed captures");
    use_once(rank, buffer);
    must(aclrtFree(buffer));
    rank_close(rank);
}

Test(flat, captures_that_fail_leave_nothing)
{
    const unsigned rounds = soak_rounds(2000, 10000);
    struct rank_job job = { .ranks = 2, .fn = failures_rank, .arg = &rounds };
    in_both_expansions(&job, "processes");
}

// ---- Communicators and devices ----

static void communicators_rank(struct rank *rank)
{
    const unsigned rounds = *(const unsigned *)rank->arg;
    struct usage early = { 0 };
    size_t early_device_bytes = 0;
    must(aclrtSetDevice(rank->device));
    must(aclrtCreateStream(&rank->stream));
    float *buffer = buffer_create();
    for (unsigned round = 0; round < rounds; round++) {
        // Slots are used in turn; a root info is only taken once all have had the one before.
        rank_barrier(rank);
        must(rank_join_again(rank, round, &rank->comm));
        use_once(rank, buffer);
        must(HcclCommDestroy(rank->comm));
        if (round == rounds / 10) {
            rank_barrier(rank);
            early = usage_now();
            early_device_bytes = usage_device_bytes();
        }
    }
    rank_barrier(rank);
    usage_expect_flat(&early, "communicators");
    must_hold(usage_device_bytes() <= early_device_bytes, "device memory grew from %zu to %zu",
            early_device_bytes, usage_device_bytes());
    must(aclrtFree(buffer));
    must(aclrtDestroyStream(rank->stream));
    must(aclrtResetDevice(rank->device));
}

Test(flat, r24_communicators_leave_nothing)
{
    const unsigned rounds = soak_rounds(150, 1000);
    struct rank_job job = { .ranks = 2, .fn = communicators_rank, .arg = &rounds };
    in_both_expansions(&job, "processes");
    job.mode = RANK_THREADS;
    in_both_expansions(&job, "threads");
}

static void devices_rank(struct rank *rank)
{
    const unsigned rounds = *(const unsigned *)rank->arg;
    struct usage early = { 0 };
    for (unsigned round = 0; round < rounds; round++) {
        float *buffer = NULL;
        rank_barrier(rank);
        must(aclrtSetDevice(rank->device));
        must(aclrtCreateStream(&rank->stream));
        must(aclrtMalloc((void **)&buffer, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
        memset(buffer, 0, 1 << 20);
        must(rank_join_again(rank, round, &rank->comm));
        use_once(rank, buffer);
        must(aclrtFree(buffer));
        must(HcclCommDestroy(rank->comm));
        must(aclrtDestroyStream(rank->stream));
        must(aclrtResetDevice(rank->device));
        if (round == rounds / 5) {
            rank_barrier(rank);
            early = usage_now();
        }
    }
    rank_barrier(rank);
    usage_expect_flat(&early, "devices");
}

Test(flat, devices_leave_nothing)
{
    const unsigned rounds = soak_rounds(60, 500);
    struct rank_job job = { .ranks = 2, .fn = devices_rank, .arg = &rounds };
    assert_job(&job, "processes");
    job.mode = RANK_THREADS;
    assert_job(&job, "threads");
}
