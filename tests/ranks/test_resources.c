// A small /dev/shm, device memory or file size is no trap.

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/rank_test.h"

// ---- Small limits ----

static void need_root_for_mounts(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        cr_skip("needs root, for a mount namespace");
    }
}

// Fills what is left of /dev/shm.
static void fill_shm(void)
{
    static char block[65536];
    const int fd = open("/dev/shm/filler", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    must_hold(fd >= 0, "/dev/shm cannot be filled");
    while (write(fd, block, sizeof(block)) == (ssize_t)sizeof(block)) {
    }
    while (write(fd, block, 1) == 1) {
    }
    close(fd);
}

static void small_shm_rank(struct rank *rank)
{
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_INT32, .count = 40000, .ranks = rank->count
    };
    struct rank_call call;
    rank_open(rank);
    rank_barrier(rank);
    if (rank->id == 0) {
        fill_shm();
    }
    rank_barrier(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .versions = 2 });
    capture_begin(rank->stream);
    must(rank_call_issue(&call, rank->comm, rank->stream));
    aclmdlRI graph = capture_end(rank->stream);
    for (unsigned round = 0; round < 6; round++) {
        rank_call_load(&call, round);
        if (round % 2 == 0) {
            replay(graph, rank->stream);
        } else {
            must(rank_call_issue(&call, rank->comm, rank->stream));
        }
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(&call, round, "with a full /dev/shm");
    }
    must(aclmdlRIDestroy(graph));
    rank_call_close(&call);
    rank_close(rank);
}

Test(resources, r44_a_small_and_full_dev_shm_does_not_matter)
{
    static const char *const sizes[] = { "size=64m", "size=16m", "size=4m", "size=1m" };
    need_root_for_mounts();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        cr_assert(eq(int, mount("tmpfs", "/dev/shm", "tmpfs", 0, sizes[i]), 0));
        struct rank_job job = { .ranks = 8, .fn = small_shm_rank, .env = AIV };
        const char *wrong = rank_run(&job);
        unlink("/dev/shm/filler");
        if (wrong == NULL) {
            job.env = HOST_TS;
            wrong = rank_run(&job);
        }
        cr_assert(eq(int, umount("/dev/shm"), 0));
        assert_well(wrong, "%s", sizes[i]);
    }
}

// Memory that is not there is an error with both numbers, never a signal.
static void small_memory_rank(struct rank *rank)
{
    void *block[64] = { NULL };
    unsigned count = 0;
    aclError error = ACL_SUCCESS;
    rank_open(rank);
    while (count < 64 && error == ACL_SUCCESS) {
        error = aclrtMalloc(&block[count], 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST);
        if (error == ACL_SUCCESS) {
            memset(block[count], 1, 1 << 20); // the pages are there
            count++;
        }
    }
    const char *text = rank_error_text();
    must_hold(count >= 4 && count < 16, "%u blocks of 1 MiB fit into 16 MiB", count);
    must_hold(error == ACL_ERROR_RT_MEMORY_ALLOCATION, "no memory is %d: %s", error, text);
    must_hold(strstr(text, "REPRISE_DEVICE_MEMORY") != NULL, "the setting is not named: \"%s\"",
            text);
    must(HcclAllReduce(block[0], block[1], 1 << 18, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
            rank->comm, rank->stream));
    must(aclrtSynchronizeStream(rank->stream));
    must_hold(*(int *)block[1] == 0x01010101 * (int)rank->count, "wrong sum");
    for (unsigned i = 0; i < count; i++) {
        must(aclrtFree(block[i]));
    }
    must(aclrtMalloc(&block[0], 4 << 20, ACL_MEM_MALLOC_HUGE_FIRST)); // what was freed is whole
    must(aclrtFree(block[0]));
    rank_close(rank);
}

Test(resources, r44_device_memory_that_is_used_up_is_an_error)
{
    const struct rank_job job = {
        .ranks = 3, .fn = small_memory_rank, .env = ENV("REPRISE_DEVICE_MEMORY=16M")
    };
    assert_job(&job, "REPRISE_DEVICE_MEMORY=16M");
}

// A file that would grow beyond the limit would end the process by SIGXFSZ.
static void file_limit_rank(struct rank *rank)
{
    const struct rlimit limit = { 64 << 20, 64 << 20 };
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_INT32, .count = 30000, .ranks = rank->count
    };
    struct rank_call call;
    void *block = NULL;
    setrlimit(RLIMIT_FSIZE, &limit);
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .versions = 2 });
    rank_call_load(&call, 1);
    must(rank_call_issue(&call, rank->comm, rank->stream));
    must(aclrtSynchronizeStream(rank->stream));
    rank_call_check(&call, 1, "under a file size limit");
    must_be(aclrtMalloc(&block, 100 << 20, ACL_MEM_MALLOC_HUGE_FIRST),
            ACL_ERROR_RT_MEMORY_ALLOCATION);
    rank_call_close(&call);
    rank_close(rank);
}

// The default buffers do not fit: every rank is told what is needed, what there is and what helps.
static void file_limit_too_small_rank(struct rank *rank)
{
    const struct rlimit limit = { 64 << 20, 64 << 20 };
    setrlimit(RLIMIT_FSIZE, &limit);
    must(aclrtSetDevice(rank->device));
    const HcclResult result = rank_join(rank, 0, rank->count, rank->id, NULL, &rank->comm);
    const char *text = rank_error_text();
    must_hold(result == HCCL_E_MEMORY || result == HCCL_E_REMOTE, "init answers %d", (int)result);
    must_hold(strstr(text, "RLIMIT_FSIZE") != NULL && strstr(text, "67108864") != NULL &&
                      strstr(text, "needs") != NULL && strstr(text, "raise") != NULL,
            "need, limit and cure are not named: \"%s\"", text);
    must(aclrtResetDevice(rank->device));
}

Test(resources, r44_a_limit_of_file_sizes_is_respected)
{
    struct rank_job job = { .ranks = 3, .fn = file_limit_rank };
    job.env = ENV("HCCL_OP_EXPANSION_MODE=AIV", "HCCL_BUFFSIZE=4");
    assert_job(&job, "AIV");
    job.env = HOST_TS;
    assert_job(&job, "HOST_TS");
    job.fn = file_limit_too_small_rank;
    job.env = NULL;
    assert_job(&job, "default buffers");
}
