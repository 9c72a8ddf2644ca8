// What a job leaves on the machine, however it ends: nothing. And what it takes of
// the machine: eight ranks on one core finish, and who waits costs no processor
// time.

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/rank_test.h"

// ---- Leftovers ----

#define LISTING_BYTES 65536

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Names in a directory, sorted, one a line.
static void list_directory(const char *path, char *text)
{
    char *name[1024];
    size_t count = 0, used = 0;
    DIR *directory = opendir(path);
    *text = '\0';
    if (directory == NULL) {
        return;
    }
    for (struct dirent *entry; count < 1024 && (entry = readdir(directory)) != NULL;) {
        name[count++] = strdup(entry->d_name);
    }
    closedir(directory);
    qsort(name, count, sizeof(name[0]), by_text);
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(
                text + used, used < LISTING_BYTES ? LISTING_BYTES - used : 0, "%s\n", name[i]);
        free(name[i]);
    }
}

// Abstract sockets of the library that are open in this network namespace.
static unsigned library_sockets(void)
{
    char line[512];
    unsigned count = 0;
    FILE *file = fopen("/proc/net/unix", "re");
    cr_assert(file != NULL);
    while (fgets(line, sizeof(line), file) != NULL) {
        count += strstr(line, "@reprise") != NULL;
    }
    fclose(file);
    return count;
}

static void job_rank(struct rank *rank)
{
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_FP32, .count = 3000, .ranks = rank->count
    };
    struct rank_call call;
    aclError error = ACL_SUCCESS;
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .versions = 3 });
    rank_step(rank, 1);
    for (unsigned round = 0; round < 60 && error == ACL_SUCCESS; round++) {
        rank_call_load(&call, round);
        error = (aclError)rank_call_issue(&call, rank->comm, rank->stream);
        if (error == ACL_SUCCESS) {
            error = aclrtSynchronizeStream(rank->stream);
        }
        if (error == ACL_SUCCESS) {
            rank_call_check(&call, round, "before the end");
        }
    }
    rank_call_close(&call);
    rank_close(rank);
}

static uint64_t next_random(uint64_t *state, uint64_t bound)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % bound;
}

// A third of the jobs ends by itself, a third by SIGINT, a third by SIGKILL of one rank or of all,
// at any time, also inside init.
static void run_job(unsigned number, uint64_t *random)
{
    const struct rank_job job = {
        .ranks = 3,
        .mode = number % 5 == 4 ? RANK_MIXED : RANK_PROCESSES,
        .fn = job_rank,
        .timeout_s = 30,
        .env = ENV("HCCL_CONNECT_TIMEOUT=3", "HCCL_EXEC_TIMEOUT=3", "HCCL_BUFFSIZE=4",
                number % 2 ? "HCCL_OP_EXPANSION_MODE=HOST_TS" : "HCCL_OP_EXPANSION_MODE=AIV"),
    };
    struct rank_crew *crew = rank_start(&job);
    if (number % 3 != 0) {
        const int signal = number % 3 == 1 ? SIGINT : SIGKILL;
        const bool all = next_random(random, 2) != 0;
        rank_sleep_us(next_random(random, 60000));
        for (unsigned r = 0; r < 3; r++) {
            if (all || r == next_random(random, 3)) {
                rank_kill(crew, r, signal);
            }
        }
    }
    const char *wrong = rank_finish(crew);
    if (number % 3 == 0) {
        assert_well(wrong, "job %u, which nobody disturbs", number);
    } else {
        cr_assert(wrong == NULL || strstr(wrong, "in time") == NULL, "job %u: %s", number, wrong);
    }
}

Test(remains, r45_nothing_is_left_behind_however_a_job_ends)
{
    static const char *const foreign[] = { "/dev/shm/reprise", "/dev/shm/reprise-0",
        "/dev/shm/reprise-control", "/dev/shm/reprise-arena", "/dev/shm/sem.reprise",
        "/tmp/reprise" };
    static char before[LISTING_BYTES], after[LISTING_BYTES];
    const unsigned jobs = soak_rounds(40, 500);
    uint64_t random = 2026;
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        const int fd = open(foreign[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0);
        if (fd >= 0) {
            close(fd);
        }
    }
    list_directory("/dev/shm", before);
    const unsigned sockets = library_sockets();
    for (unsigned number = 0; number < jobs; number++) {
        run_job(number, &random);
    }
    list_directory("/dev/shm", after);
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        struct stat status;
        cr_assert(eq(int, stat(foreign[i], &status), 0), "%s is gone", foreign[i]);
        cr_assert(eq(int, (int)(status.st_mode & 0777), 0), "%s was changed", foreign[i]);
        unlink(foreign[i]);
    }
    cr_assert(eq(str, after, before));
    // Others may run the library here too; their sockets come and go.
    unsigned left = library_sockets();
    for (unsigned tries = 0; left > sockets && tries < 100; tries++) {
        rank_sleep_us(100000);
        left = library_sockets();
    }
    cr_assert(le(uint, left, sockets));
}

// ---- More ranks than cores ----

enum { CROWD_ROUNDS = 100 };

static void crowd_rank(struct rank *rank)
{
    uint64_t *elapsed_ms = rank->shared;
    struct rank_call small, large;
    const struct oracle_call kib = {
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_INT32, .count = 256, .ranks = rank->count
    };
    const struct oracle_call mib = {
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_INT32, .count = 262144, .ranks = rank->count
    };
    rank_open(rank);
    rank_call_open(&small, rank, &kib, &(struct rank_call_options){ .versions = 5 });
    rank_call_open(&large, rank, &mib, &(struct rank_call_options){ .versions = 1 });
    capture_begin(rank->stream);
    must(rank_call_issue(&small, rank->comm, rank->stream));
    must(rank_call_issue(&large, rank->comm, rank->stream));
    aclmdlRI graph = capture_end(rank->stream);
    rank_barrier(rank);
    const uint64_t start_ms = rank_now_ms();
    for (unsigned round = 0; round < CROWD_ROUNDS; round++) {
        const bool with_large = round % 10 == 0;
        rank_call_load(&small, round);
        if (with_large) {
            rank_call_load(&large, round);
            replay(graph, rank->stream);
        } else {
            must(rank_call_issue(&small, rank->comm, rank->stream));
        }
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(&small, round, "in a crowd");
        if (with_large) {
            rank_call_check(&large, round, "in a crowd");
        }
    }
    rank_barrier(rank);
    if (rank->id == 0) {
        *elapsed_ms = rank_now_ms() - start_ms;
    }
    must(aclmdlRIDestroy(graph));
    rank_call_close(&small);
    rank_call_close(&large);
    rank_close(rank);
}

static uint64_t crowd_ms(enum rank_mode mode, const char *const *env, const char *where)
{
    uint64_t *elapsed_ms = rank_shared_create(sizeof(*elapsed_ms));
    const struct rank_job job = {
        .ranks = 8, .mode = mode, .fn = crowd_rank, .shared = elapsed_ms, .env = env
    };
    assert_job(&job, "%s, %s", where, env[0]);
    const uint64_t result = *elapsed_ms;
    rank_shared_destroy(elapsed_ms, sizeof(*elapsed_ms));
    return result;
}

// At most thirty times as long as on all cores, and a second for a machine that others use.
static void crowd(enum rank_mode mode, const char *const *env)
{
    cpu_set_t all, one;
    cr_assert(eq(int, sched_getaffinity(0, sizeof(all), &all), 0));
    const uint64_t wide_ms = crowd_ms(mode, env, "on all cores");
    int first = 0;
    while (!CPU_ISSET(first, &all)) {
        first++;
    }
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    cr_assert(eq(int, sched_setaffinity(0, sizeof(one), &one), 0));
    const uint64_t narrow_ms = crowd_ms(mode, env, "on one core");
    cr_assert(eq(int, sched_setaffinity(0, sizeof(all), &all), 0));
    cr_assert(le(u64, narrow_ms, 30 * wide_ms + 1000));
}

Test(remains, r46_eight_ranks_on_one_core_finish_as_processes)
{
    crowd(RANK_PROCESSES, AIV);
    crowd(RANK_PROCESSES, HOST_TS);
}

Test(remains, r46_eight_ranks_on_one_core_finish_as_threads)
{
    crowd(RANK_THREADS, AIV);
    crowd(RANK_THREADS, HOST_TS);
}

// ---- Idle and waiting ----

static uint64_t cpu_us(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void idle_rank(struct rank *rank)
{
    struct rank_call call;
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_INT32, .count = 100, .ranks = rank->count
    };
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .versions = 3 });
    for (unsigned round = 0; round < 100; round++) {
        rank_call_load(&call, round);
        must(rank_call_issue(&call, rank->comm, rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(&call, round, "before it is quiet");
    }
    rank_barrier(rank);
    rank_sleep_us(500000);
    const uint64_t idle_from_us = cpu_us();
    rank_sleep_us(2000000);
    const uint64_t idle_us = cpu_us() - idle_from_us;
    must_hold(idle_us < 40000, "idle, the process used %d us of 2 s", (int)idle_us);
    // Rank 0 waits for the others, who come two seconds later.
    if (rank->id != 0) {
        rank_sleep_us(2000000);
    }
    const uint64_t wait_from_us = cpu_us();
    rank_call_load(&call, 1);
    must(rank_call_issue(&call, rank->comm, rank->stream));
    must(aclrtSynchronizeStream(rank->stream));
    rank_call_check(&call, 1, "after the wait");
    const uint64_t wait_us = cpu_us() - wait_from_us;
    must_hold(rank->id != 0 || wait_us < 200000, "waiting, the process used %d us of 2 s",
            (int)wait_us);
    rank_call_close(&call);
    rank_close(rank);
}

Test(remains, r46_idle_and_waiting_ranks_take_no_processor_time)
{
    const char *const *const settings[] = { AIV, HOST_TS, ENV("REPRISE_PROGRESS=thread"),
        ENV("REPRISE_PROGRESS=caller") };
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        struct rank_job job = { .ranks = 2, .fn = idle_rank, .env = settings[i] };
        assert_job(&job, "%s, processes", settings[i][0]);
    }
    const struct rank_job job = { .ranks = 4, .mode = RANK_THREADS, .fn = idle_rank };
    assert_job(&job, "threads");
}
