// What communicators and graphs cost: nothing stays behind when they are gone,
// however a job ends; a small /dev/shm, device memory or file size is no trap; and
// waiting costs no processor time.

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "support/child.h"
#include "support/rank_test.h"

// ---- Nothing grows ----

struct footprint {
    unsigned descriptors;
    unsigned threads;
    unsigned mappings;
    size_t resident_bytes;
};

static unsigned entries(const char *path)
{
    unsigned count = 0;
    DIR *directory = opendir(path);
    must_hold(directory != NULL, "%s cannot be read", path);
    while (readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count;
}

static unsigned lines(const char *path)
{
    unsigned count = 0;
    FILE *file = fopen(path, "re");
    must_hold(file != NULL, "%s cannot be read", path);
    for (int c; (c = getc(file)) != EOF;) {
        count += c == '\n';
    }
    fclose(file);
    return count;
}

static struct footprint measure(void)
{
    size_t size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    must_hold(file != NULL && fscanf(file, "%zu %zu", &size, &resident) == 2, "statm");
    fclose(file);
    struct footprint footprint = {
        .descriptors = fds_open(),
        .threads = entries("/proc/self/task"),
        .mappings = lines("/proc/self/maps"),
        .resident_bytes = resident * (size_t)sysconf(_SC_PAGESIZE),
    };
#ifdef __SANITIZE_ADDRESS__
    footprint.mappings = 0; // the sanitizer keeps freed memory back, and looks for leaks itself
    footprint.resident_bytes = 0;
#endif
    return footprint;
}

// Slack is one per cent of resident memory and what the allocator may round, and an eventfd for
// each thread that ever waited at the same time as another. Connections of an init close a moment
// after it.
#define EVENTFDS 2

static void expect_no_growth(const struct footprint *before, const char *of)
{
    struct footprint now = measure();
    for (unsigned tries = 0; tries < 100 && now.descriptors > before->descriptors + EVENTFDS;
            tries++) {
        rank_sleep_us(50000);
        now = measure();
    }
    must_hold(now.descriptors <= before->descriptors + EVENTFDS,
            "%s: descriptors grew from %u to %u", of, before->descriptors, now.descriptors);
    must_hold(now.threads <= before->threads, "%s: threads grew from %u to %u", of, before->threads,
            now.threads);
    must_hold(now.mappings <= before->mappings + 2, "%s: mappings grew from %u to %u", of,
            before->mappings, now.mappings);
    must_hold(now.resident_bytes <= before->resident_bytes + before->resident_bytes / 100 + 400000,
            "%s: resident memory grew from %zu to %zu bytes", of, before->resident_bytes,
            now.resident_bytes);
}

static void use_once(struct rank *rank, float *buffer)
{
    buffer[7] = (float)rank->id;
    must(HcclAllReduce(
            buffer, buffer, 500, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, rank->comm, rank->stream));
    must(aclrtSynchronizeStream(rank->stream));
    must_hold(buffer[7] == (float)(rank->count - 1), "wrong result");
}

static void communicators_rank(struct rank *rank)
{
    const unsigned rounds = *(const unsigned *)rank->arg;
    struct footprint early = { 0 };
    float *buffer = NULL;
    must(aclrtSetDevice(rank->device));
    must(aclrtCreateStream(&rank->stream));
    must(aclrtMalloc((void **)&buffer, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(buffer, 0, 4096);
    for (unsigned round = 0; round < rounds; round++) {
        // Slots are used in turn; a root info is only taken once all have had the one before.
        rank_barrier(rank);
        must(rank_join_again(rank, round, &rank->comm));
        use_once(rank, buffer);
        must(HcclCommDestroy(rank->comm));
        if (round == rounds / 10) {
            rank_barrier(rank);
            early = measure();
        }
    }
    rank_barrier(rank);
    expect_no_growth(&early, "communicators");
    must(aclrtFree(buffer));
    must(aclrtDestroyStream(rank->stream));
    must(aclrtResetDevice(rank->device));
}

Test(resources, of_communicators_are_all_given_back)
{
    const unsigned rounds = soak_rounds(150, 1000);
    struct rank_job job = { .ranks = 2, .fn = communicators_rank, .arg = &rounds, .env = AIV };
    assert_job(&job, "AIV, processes");
    job.env = HOST_TS;
    assert_job(&job, "HOST_TS, processes");
    job.mode = RANK_THREADS;
    assert_job(&job, "HOST_TS, threads");
}

static void devices_rank(struct rank *rank)
{
    const unsigned rounds = *(const unsigned *)rank->arg;
    struct footprint early = { 0 };
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
            early = measure();
        }
    }
    rank_barrier(rank);
    expect_no_growth(&early, "devices");
}

Test(resources, of_devices_are_all_given_back)
{
    const unsigned rounds = soak_rounds(60, 500);
    struct rank_job job = { .ranks = 2, .fn = devices_rank, .arg = &rounds };
    assert_job(&job, "processes");
    job.mode = RANK_THREADS;
    assert_job(&job, "threads");
}

#define CALLS 10

static aclmdlRI capture_calls(struct rank *rank, float *buffer)
{
    capture_begin(rank->stream);
    for (unsigned k = 0; k < CALLS; k++) {
        must(HcclAllReduce(buffer, buffer, 500, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, rank->comm,
                rank->stream));
    }
    return capture_end(rank->stream);
}

static void captures_rank(struct rank *rank)
{
    const unsigned rounds = *(const unsigned *)rank->arg;
    struct footprint early = { 0 };
    float *buffer = NULL;
    rank_open(rank);
    must(aclrtMalloc((void **)&buffer, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(buffer, 0, 4096);
    for (unsigned round = 0; round < rounds; round++) {
        aclmdlRI graph = capture_calls(rank, buffer);
        if (round % 100 == 0) {
            replay(graph, rank->stream);
            must(aclrtSynchronizeStream(rank->stream));
        }
        must(aclmdlRIDestroy(graph));
        if (round == rounds / 10) {
            early = measure();
        }
    }
    expect_no_growth(&early, "captures");
    must(aclrtFree(buffer));
    rank_close(rank);
}

Test(resources, of_captures_are_all_given_back)
{
    const unsigned rounds = soak_rounds(2000, 10000);
    struct rank_job job = { .ranks = 2, .fn = captures_rank, .arg = &rounds, .env = AIV };
    assert_job(&job, "AIV");
    job.env = HOST_TS;
    assert_job(&job, "HOST_TS");
}

#define ALIVE 300
#define BYTES_PER_CALL 1500 // of captured graphs, whichever the expansion

static void graphs_alive_rank(struct rank *rank)
{
    static aclmdlRI graph[ALIVE];
    float *buffer = NULL;
    rank_open(rank);
    must(aclrtMalloc((void **)&buffer, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(buffer, 0, 4096);
    must(aclmdlRIDestroy(capture_calls(rank, buffer)));
    const struct footprint before = measure();
    for (unsigned g = 0; g < ALIVE; g++) {
        graph[g] = capture_calls(rank, buffer);
    }
    const struct footprint now = measure();
    const size_t per_call = (now.resident_bytes - before.resident_bytes) / (ALIVE * CALLS);
    must_hold(per_call <= BYTES_PER_CALL, "a captured call costs %zu bytes", per_call);
    must_hold(now.descriptors <= before.descriptors + EVENTFDS && now.threads <= before.threads,
            "graphs take descriptors or threads");
    for (unsigned g = ALIVE; g >= 10; g -= 10) {
        replay(graph[g - 1], rank->stream);
    }
    must(aclrtSynchronizeStream(rank->stream));
    for (unsigned g = 0; g < ALIVE; g++) {
        must(aclmdlRIDestroy(graph[(g * 7) % ALIVE]));
    }
    must(aclrtFree(buffer));
    rank_close(rank);
}

Test(resources, of_many_graphs_alive_are_bounded)
{
    struct rank_job job = { .ranks = 2, .fn = graphs_alive_rank, .env = AIV };
    assert_job(&job, "AIV");
    job.env = HOST_TS;
    assert_job(&job, "HOST_TS");
}

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
