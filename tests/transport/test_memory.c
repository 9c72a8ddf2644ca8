#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/util.h"
#include "support/child.h"
#include "transport/memory.h"

#define MIB (UINT64_C(1) << 20)

// ---- the room: directories of prepared files ----

static char root[] = "/tmp/reprise-room-XXXXXX";

static void make_root(void)
{
    cr_assert(ne(ptr, mkdtemp(root), NULL));
}

static void remove_root(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -r '%s'", root);
    cr_assert(eq(int, system(command), 0));
}

// Writes a file under the root, and the directories on its way.
static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        cr_assert(mkdir(full, 0700) == 0 || errno == EEXIST);
        *at = '/';
    }
    FILE *file = fopen(full, "w");
    cr_assert(ne(ptr, file, NULL));
    fputs(text, file);
    fclose(file);
}

static struct rp_memory_room room(void)
{
    struct rp_memory_room result;
    rp_memory_room_read(root, &result);
    return result;
}

#define MEMINFO "MemTotal:  16777216 kB\nMemFree:  1048576 kB\nMemAvailable:  8388608 kB\n"
#define AVAILABLE ((UINT64_C(8) << 30) - 64 * MIB) // of MEMINFO, less the margin

TestSuite(room, .init = make_root, .fini = remove_root);

Test(room, nothing_known_is_no_limit)
{
    cr_assert(eq(u64, room().bytes, UINT64_MAX));
    cr_assert(eq(u64, room().limit_bytes, UINT64_MAX));
}

Test(room, machine_alone)
{
    put("/proc/meminfo", MEMINFO);
    cr_assert(eq(u64, room().bytes, AVAILABLE));
    cr_assert(eq(u64, room().limit_bytes, UINT64_C(16) << 30));
}

Test(room, version_2_group_with_page_cache_given_back)
{
    put("/proc/meminfo", MEMINFO);
    put("/proc/self/cgroup", "0::/app/job\n");
    put("/sys/fs/cgroup/app/job/memory.max", "1073741824\n");
    put("/sys/fs/cgroup/app/job/memory.current", "536870912\n");
    put("/sys/fs/cgroup/app/job/memory.stat",
            "anon 1\nactive_file 104857600\ninactive_file 52428800\n");
    // 1024 - (512 - 100 - 50) MiB, less a 64th of the limit
    cr_assert(eq(u64, room().bytes, (1024 - 362 - 16) * MIB));
    cr_assert(eq(u64, room().limit_bytes, 1024 * MIB));
    cr_assert(ne(ptr, strstr(room().source, "memory.max"), NULL));
}

Test(room, version_2_limit_of_a_group_above_counts)
{
    put("/proc/meminfo", MEMINFO);
    put("/proc/self/cgroup", "0::/app/job\n");
    put("/sys/fs/cgroup/app/job/memory.max", "max\n");
    put("/sys/fs/cgroup/app/job/memory.current", "1\n");
    put("/sys/fs/cgroup/app/memory.max", "134217728\n");
    put("/sys/fs/cgroup/app/memory.current", "0\n");
    cr_assert(eq(u64, room().bytes, 126 * MIB));
}

Test(room, group_over_its_limit_has_no_room)
{
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/memory.max", "1000\n");
    put("/sys/fs/cgroup/memory.current", "2000\n");
    cr_assert(eq(u64, room().bytes, 0));
}

Test(room, version_1_group)
{
    put("/proc/meminfo", MEMINFO);
    put("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:hugetlb,memory:/job\n0::/\n");
    put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "268435456\n");
    put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "134217728\n");
    put("/sys/fs/cgroup/memory/job/memory.stat",
            "inactive_file 1\ntotal_inactive_file 0\ntotal_active_file 67108864\n");
    cr_assert(eq(u64, room().bytes, (256 - 64 - 4) * MIB));
    cr_assert(ne(ptr, strstr(room().source, "limit_in_bytes"), NULL));
}

Test(room, version_1_without_limit_says_so_with_a_huge_number)
{
    put("/proc/meminfo", MEMINFO);
    put("/proc/self/cgroup", "4:memory:/job\n");
    put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1\n");
    cr_assert(eq(u64, room().bytes, AVAILABLE));
    cr_assert(eq(u64, room().limit_bytes, UINT64_C(16) << 30));
}

// As in a container without its own group namespace: /proc has the host's path, which the mount
// lacks.
Test(room, path_that_the_mount_lacks_ends_at_the_root)
{
    put("/proc/self/cgroup", "4:memory:/docker/0123\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "134217728\n");
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "0\n");
    cr_assert(eq(u64, room().bytes, 126 * MIB));
}

Test(room, other_controllers_are_not_memory)
{
    put("/proc/self/cgroup", "4:memory_other,xmemory:/job\n");
    put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4096\n");
    put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "0\n");
    cr_assert(eq(u64, room().bytes, UINT64_MAX));
}

Test(room, this_machine_has_some)
{
    struct rp_memory_room here;
    rp_memory_room_read("", &here);
    cr_assert(gt(u64, here.bytes, 0));
    cr_assert(lt(u64, here.bytes, here.limit_bytes));
    cr_assert(lt(u64, here.limit_bytes, UINT64_MAX));
}

// ---- files ----

static uint64_t pages_bytes(int fd)
{
    struct stat file;
    cr_assert(eq(int, fstat(fd, &file), 0));
    return (uint64_t)file.st_blocks * 512;
}

Test(memory, file_is_sparse_sealed_and_closed_on_exec)
{
    int fd;
    cr_assert(eq(int, rp_memory_file_create("test", 64 * MIB, &fd), RP_OK));
    cr_assert(eq(u64, pages_bytes(fd), 0));
    cr_assert(ne(int, ftruncate(fd, 0), 0));
    cr_assert(ne(int, ftruncate(fd, (off_t)(128 * MIB)), 0));
    cr_assert(eq(int, fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC));
    cr_assert(eq(int, rp_memory_file_check(fd, 64 * MIB, "it"), RP_OK));
    cr_assert(eq(int, rp_memory_file_check(fd, 64 * MIB + 1, "it"), RP_EPARAM));
    close(fd);
}

Test(memory, file_that_can_shrink_is_refused)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    cr_assert(eq(int, ftruncate(fd, 4096), 0));
    cr_assert(eq(int, rp_memory_file_check(fd, 4096, "it"), RP_EPARAM));
    cr_assert(eq(int, fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0));
    cr_assert(eq(int, rp_memory_file_check(fd, 4096, "it"), RP_EPARAM));
    cr_assert(eq(int, fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0));
    cr_assert(eq(int, rp_memory_file_check(fd, 4096, "it"), RP_OK));
    close(fd);
    int pipes[2];
    cr_assert(eq(int, pipe(pipes), 0));
    cr_assert(eq(int, rp_memory_file_check(pipes[0], 0, "it"), RP_EPARAM));
}

Test(memory, reserve_makes_pages_and_punch_takes_them)
{
    int fd;
    cr_assert(eq(int, rp_memory_file_create("test", 256 * MIB, &fd), RP_OK));
    cr_assert(eq(int, rp_memory_reserve(fd, 16 * MIB, 80 * MIB, "it"), RP_OK));
    cr_assert(eq(u64, pages_bytes(fd), 80 * MIB));
    rp_memory_punch(fd, 16 * MIB, 64 * MIB);
    cr_assert(eq(u64, pages_bytes(fd), 16 * MIB));
    close(fd);
}

Test(memory, more_than_there_is_fails_and_takes_nothing)
{
    struct rp_memory_room here;
    int fd;
    rp_memory_room_read("", &here);
    cr_assert(eq(int, rp_memory_file_create("test", 2 * here.limit_bytes, &fd), RP_OK));
    cr_assert(eq(int, rp_memory_reserve(fd, 0, here.bytes + 512 * MIB, "the test"), RP_ENOMEM));
    cr_assert(eq(u64, pages_bytes(fd), 0));
    const char *sentence = rp_error_take();
    cr_assert(ne(ptr, strstr(sentence, "the test"), NULL), "%s", sentence);
    cr_assert(ne(ptr, strstr(sentence, "are needed"), NULL), "%s", sentence);
    close(fd);
}

static void on_alarm(int signal)
{
    (void)signal;
}

// A timer that fires more often than a piece takes: fallocate alone would never finish one.
Test(memory, signals_do_not_keep_a_reservation_from_ending, .timeout = 60)
{
    int fd;
    const struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
    const struct itimerval often = { { 0, 200 }, { 0, 200 } };
    const struct itimerval never = { { 0, 0 }, { 0, 0 } };
    cr_assert(eq(int, rp_memory_file_create("test", 256 * MIB, &fd), RP_OK));
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    rp_status st = rp_memory_reserve(fd, 0, 256 * MIB, "it");
    setitimer(ITIMER_REAL, &never, NULL);
    cr_assert(eq(int, st, RP_OK));
    cr_assert(eq(u64, pages_bytes(fd), 256 * MIB));
    close(fd);
}

static int create_past_fsize(void *arg)
{
    (void)arg;
    const struct rlimit limit = { MIB, MIB };
    int fd = -1;
    child_no_core();
    setrlimit(RLIMIT_FSIZE, &limit);
    rp_status st = rp_memory_file_create("test", 2 * MIB, &fd);
    const char *sentence = rp_error_take();
    return st == RP_ENOMEM && fd == -1 && strstr(sentence, "RLIMIT_FSIZE") != NULL ? 0 : 1;
}

Test(memory, file_limit_is_an_error_and_no_signal)
{
    cr_assert(eq(int, child_run(create_past_fsize, NULL, 20), 0));
}

// ---- a real group ----

// A child group of our own with a limit; NULL where that is not allowed. Version 1 only: in version
// 2 a group that has processes cannot have children with limits, and we are in one.
static const char *make_group(uint64_t limit_bytes)
{
    static char path[512];
    char line[256];
    char own[256] = "";
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        sscanf(line, "%*u:memory:%255s", own);
    }
    if (file != NULL) {
        fclose(file);
    }
    if (own[0] == '\0') {
        return NULL;
    }
    snprintf(path, sizeof(path), "/sys/fs/cgroup/memory%s/reprise-test-%ld", own, (long)getpid());
    if (mkdir(path, 0700) != 0) {
        return NULL;
    }
    char name[600];
    snprintf(name, sizeof(name), "%s/memory.limit_in_bytes", path);
    file = fopen(name, "we");
    bool limited = file != NULL && fprintf(file, "%llu", (unsigned long long)limit_bytes) > 0;
    limited = file != NULL && fclose(file) == 0 && limited;
    if (!limited) {
        rmdir(path);
        return NULL;
    }
    return path;
}

// Joins the group, takes what fits, and asks for more than the limit.
static int fill_group(void *arg)
{
    char name[600];
    snprintf(name, sizeof(name), "%s/cgroup.procs", (const char *)arg);
    FILE *file = fopen(name, "we");
    if (file == NULL || fprintf(file, "%ld", (long)getpid()) < 0 || fclose(file) != 0) {
        return 1;
    }
    int fd;
    if (rp_memory_file_create("test", 1024 * MIB, &fd) != RP_OK ||
            rp_memory_reserve(fd, 0, 64 * MIB, "it") != RP_OK) {
        return 2;
    }
    for (uint64_t off = 64 * MIB; off < 1024 * MIB; off += 8 * MIB) {
        rp_status st = rp_memory_reserve(fd, off, 8 * MIB, "it");
        if (st != RP_OK) {
            bool named = strstr(rp_error_take(), "memory limit") != NULL;
            return st == RP_ENOMEM && named && off < 128 * MIB ? 0 : 3;
        }
    }
    return 4;
}

Test(memory, control_group_at_its_limit_is_an_error_and_no_kill, .timeout = 60)
{
    const char *group = make_group(128 * MIB);
    if (group == NULL) {
        cr_skip("no memory group can be made here");
    }
    int result = child_run(fill_group, (void *)(uintptr_t)group, 40);
    rmdir(group);
    cr_assert(eq(int, result, 0));
}
