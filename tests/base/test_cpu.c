// The CPU quota, from prepared files as they look on version 1 and version 2 systems.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cpu.h"

static char root[64];

static void setup(void)
{
    strcpy(root, "/tmp/reprise_cpu_XXXXXX");
    cr_assert(ne(ptr, mkdtemp(root), NULL));
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", root);
    cr_assert(eq(int, system(command), 0));
}

TestSuite(cpu, .init = setup, .fini = teardown);

// Writes <root><path>, and the directories above it.
static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *slash = strchr(full + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    cr_assert(ne(ptr, file, NULL), "%s", full);
    fputs(text, file);
    fclose(file);
}

static void put_v2(const char *path)
{
    char text[256];
    snprintf(text, sizeof(text), "0::%s\n", path);
    put("/proc/self/cgroup", text);
    put("/proc/self/mountinfo",
            "22 1 0:20 / /proc rw,nosuid - proc proc rw\n"
            "30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev shared:4 - cgroup2 cgroup2 rw\n");
}

static void put_v1(void)
{
    put("/proc/self/cgroup",
            "5:cpuset:/other\n4:cpu,cpuacct:/docker/ab\n3:memory:/docker/ab\n0::/unified\n");
    put("/proc/self/mountinfo",
            "30 23 0:26 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
            "31 23 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
            "32 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
}

Test(cpu, no_files_no_quota)
{
    cr_assert(eq(uint, rp_cpu_quota(root), 0));
}

Test(cpu, version_2_quota_is_rounded_up)
{
    static const struct {
        const char *text;
        unsigned cores;
    } rows[] = {
        { "max 100000\n", 0 },
        { "200000 100000\n", 2 },
        { "200001 100000\n", 3 },
        { "199999 100000\n", 2 },
        { "50000 100000\n", 1 },
        { "1 100000\n", 1 },
        { "6400000 100000\n", 64 },
        { "", 0 },
        { "200000\n", 0 },
        { "200000 0\n", 0 },
        { "-1 100000\n", 0 },
        { "nonsense\n", 0 },
    };
    put_v2("/user/app");
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        put("/sys/fs/cgroup/user/app/cpu.max", rows[i].text);
        cr_assert(eq(uint, rp_cpu_quota(root), rows[i].cores), "%s", rows[i].text);
    }
}

Test(cpu, least_quota_of_all_levels_holds)
{
    put_v2("/user/app/part");
    put("/sys/fs/cgroup/user/app/part/cpu.max", "800000 100000\n");
    put("/sys/fs/cgroup/user/app/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/user/cpu.max", "300000 100000\n");
    cr_assert(eq(uint, rp_cpu_quota(root), 3));
    put("/sys/fs/cgroup/user/app/part/cpu.max", "100000 100000\n");
    cr_assert(eq(uint, rp_cpu_quota(root), 1));
}

Test(cpu, quota_of_the_mount_itself_counts)
{
    put_v2("/");
    put("/sys/fs/cgroup/cpu.max", "400000 100000\n");
    cr_assert(eq(uint, rp_cpu_quota(root), 4));
}

Test(cpu, directories_above_the_mount_are_not_looked_at)
{
    put_v2("/app");
    put("/sys/fs/cpu.max", "100000 100000\n");
    put("/sys/fs/cgroup/app/cpu.max", "500000 100000\n");
    cr_assert(eq(uint, rp_cpu_quota(root), 5));
}

Test(cpu, path_is_taken_relative_to_what_is_mounted)
{
    put("/proc/self/cgroup", "0::/docker/ab/app\n");
    put("/proc/self/mountinfo",
            "30 23 0:26 /docker/ab /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n");
    put("/sys/fs/cgroup/app/cpu.max", "700000 100000\n");
    cr_assert(eq(uint, rp_cpu_quota(root), 7));
}

Test(cpu, path_outside_the_mount_falls_back_to_the_mount)
{
    put_v2("/../../elsewhere");
    put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    cr_assert(eq(uint, rp_cpu_quota(root), 2));
}

Test(cpu, version_1_quota)
{
    put_v1();
    put("/sys/fs/cgroup/cpu,cpuacct/docker/ab/cpu.cfs_quota_us", "250000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/ab/cpu.cfs_period_us", "100000\n");
    cr_assert(eq(uint, rp_cpu_quota(root), 3));
    put("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "100000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "50000\n");
    cr_assert(eq(uint, rp_cpu_quota(root), 2));
}

Test(cpu, version_1_without_quota)
{
    put_v1();
    put("/sys/fs/cgroup/cpu,cpuacct/docker/ab/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/ab/cpu.cfs_period_us", "100000\n");
    cr_assert(eq(uint, rp_cpu_quota(root), 0));
}

Test(cpu, damaged_files_are_no_quota)
{
    put("/proc/self/cgroup", "\n:\n::\n0\n0::\nx:y\n");
    put("/proc/self/mountinfo", "\n - \n1 2 3 - cgroup2\nshort - cgroup2 cgroup rw\n");
    cr_assert(eq(uint, rp_cpu_quota(root), 0));
}

Test(cpu, usable_cores_follow_the_affinity_mask)
{
    cpu_set_t all;
    cpu_set_t one;
    cr_assert(eq(int, sched_getaffinity(0, sizeof(all), &all), 0));
    unsigned before = rp_cpu_usable();
    cr_assert(ge(uint, before, 1));
    cr_assert(le(uint, before, (unsigned)CPU_COUNT(&all)));
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &all)) {
            CPU_SET(cpu, &one);
        }
    }
    cr_assert(eq(int, sched_setaffinity(0, sizeof(one), &one), 0));
    cr_assert(eq(uint, rp_cpu_usable(), before), "remembered");
    cr_assert(eq(uint, rp_cpu_refresh(), 1));
    cr_assert(eq(uint, rp_cpu_usable(), 1));
}
