// How many cores are ours. A control group's quota is looked for in its own directory and in every
// one above it, because any of them throttles:
//
//     /proc/self/cgroup       "0::/a/b" (version 2) or "4:cpu,cpuacct:/a/b" (version 1)
//     /proc/self/mountinfo    where that hierarchy is mounted, and which part of it
//     <mount>/a/b, <mount>/a, <mount>:  cpu.max, or cpu.cfs_quota_us and cpu.cfs_period_us

#include "base/cpu.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096
#define CPUS_FIRST 1024
#define CPUS_MAX (1 << 20)

struct cgroup {
    bool v2;
    char path[PATH_BYTES];       // of this process in the hierarchy
    char mount[PATH_BYTES];      // where the hierarchy is mounted
    char mount_root[PATH_BYTES]; // which directory of it is mounted there
};

// 0: not read yet. relaxed: the number stands for itself.
static _Atomic unsigned usable_cores;

// Whether `item` is one of the comma-separated words of `list`.
static bool list_has(const char *list, const char *item)
{
    size_t bytes = strlen(item);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, item, bytes) == 0 && (at[bytes] == ',' || at[bytes] == '\0')) {
            return true;
        }
    }
    return false;
}

static FILE *open_under(const char *root, const char *path)
{
    char full[3 * PATH_BYTES];
    int used = snprintf(full, sizeof(full), "%s%s", root, path);
    return used < 0 || (size_t)used >= sizeof(full) ? NULL : fopen(full, "re");
}

// Finds the process' group that has the cpu controller; a version 1 hierarchy that names it wins,
// since the version 2 line is there on mixed systems too.
static bool find_group(const char *root, struct cgroup *group)
{
    FILE *file = open_under(root, "/proc/self/cgroup");
    if (file == NULL) {
        return false;
    }
    bool found = false;
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (path == NULL || strlen(path + 1) >= PATH_BYTES) {
            continue;
        }
        *path++ = '\0';
        controllers++;
        bool v1 = list_has(controllers, "cpu");
        bool v2 = strcmp(line, "0:") == 0 || (controllers[0] == '\0' && line[0] == '0');
        if (v1 || (v2 && !found)) {
            found = true;
            group->v2 = !v1;
            snprintf(group->path, sizeof(group->path), "%s", path);
        }
    }
    free(line);
    fclose(file);
    return found;
}

// A line of mountinfo: "id parent major:minor root mount options [fields] - type source options".
static bool parse_mount(char *line, struct cgroup *group)
{
    char *tail = strstr(line, " - ");
    char type[32];
    char super[PATH_BYTES];
    char mount_root[PATH_BYTES];
    char mount[PATH_BYTES];
    if (tail == NULL || strlen(line) >= PATH_BYTES ||
            sscanf(tail, " - %31s %*s %4095s", type, super) != 2 ||
            sscanf(line, "%*s %*s %*s %4095s %4095s", mount_root, mount) != 2) {
        return false;
    }
    bool ours = group->v2 ? strcmp(type, "cgroup2") == 0
                          : strcmp(type, "cgroup") == 0 && list_has(super, "cpu");
    if (ours) {
        snprintf(group->mount, sizeof(group->mount), "%s", mount);
        snprintf(group->mount_root, sizeof(group->mount_root), "%s", mount_root);
    }
    return ours;
}

static bool find_mount(const char *root, struct cgroup *group)
{
    FILE *file = open_under(root, "/proc/self/mountinfo");
    if (file == NULL) {
        return false;
    }
    bool found = false;
    char *line = NULL;
    size_t room = 0;
    while (!found && getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        found = parse_mount(line, group);
    }
    free(line);
    fclose(file);
    return found;
}

// Reads "<quota> <period>", or one of the two, from a file of a group's directory; "max" and -1
// mean that there is no quota.
static int read_numbers(const char *root, const char *directory, const char *name, long long *first,
        long long *second)
{
    char path[2 * PATH_BYTES + 32];
    int used = snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = used < 0 || (size_t)used >= sizeof(path) ? NULL : open_under(root, path);
    if (file == NULL) {
        return 0;
    }
    int count = fscanf(file, "%lld %lld", first, second);
    fclose(file);
    return count;
}

// The quota of one directory in cores, rounded up; 0: none.
static unsigned directory_quota(const char *root, const char *directory, bool v2)
{
    long long quota = 0;
    long long period = 0;
    long long none;
    if (v2) {
        if (read_numbers(root, directory, "cpu.max", &quota, &period) != 2) {
            return 0;
        }
    } else if (read_numbers(root, directory, "cpu.cfs_quota_us", &quota, &none) < 1 ||
               read_numbers(root, directory, "cpu.cfs_period_us", &period, &none) < 1) {
        return 0;
    }
    if (quota <= 0 || period <= 0) {
        return 0;
    }
    long long cores = quota / period + (quota % period != 0);
    return cores > CPUS_MAX ? CPUS_MAX : (unsigned)cores;
}

// The part of the group's path that lies below the mount; "" where the two do not meet, as in a
// namespace that shows "/../..".
static const char *below_mount(const struct cgroup *group)
{
    size_t bytes = strcmp(group->mount_root, "/") == 0 ? 0 : strlen(group->mount_root);
    const char *rest = group->path + bytes;
    if (strncmp(group->path, group->mount_root, bytes) != 0 || strstr(rest, "/..") != NULL ||
            rest[0] != '/') {
        return "";
    }
    return rest;
}

unsigned rp_cpu_quota(const char *root)
{
    struct cgroup group;
    if (!find_group(root, &group) || !find_mount(root, &group)) {
        return 0;
    }
    char directory[2 * PATH_BYTES];
    snprintf(directory, sizeof(directory), "%s%s", group.mount, below_mount(&group));
    size_t mount_bytes = strlen(group.mount);
    unsigned least = 0;
    for (;;) {
        unsigned cores = directory_quota(root, directory, group.v2);
        if (cores != 0 && (least == 0 || cores < least)) {
            least = cores;
        }
        char *slash = strrchr(directory, '/');
        if (strlen(directory) <= mount_bytes || slash == NULL) {
            return least;
        }
        *slash = '\0';
    }
}

// Cores in the affinity mask; the mask's size is the kernel's, so it is grown until it fits.
static unsigned affinity_cores(void)
{
    for (int cpus = CPUS_FIRST; cpus <= CPUS_MAX; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        size_t bytes = CPU_ALLOC_SIZE((size_t)cpus);
        if (set == NULL) {
            break;
        }
        int result = sched_getaffinity(0, bytes, set);
        int count = result == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (result == 0) {
            return count < 1 ? 1 : (unsigned)count;
        }
    }
    return 1;
}

unsigned rp_cpu_refresh(void)
{
    unsigned cores = affinity_cores();
    unsigned quota = rp_cpu_quota("");
    if (quota != 0 && quota < cores) {
        cores = quota;
    }
    atomic_store_explicit(&usable_cores, cores, memory_order_relaxed);
    return cores;
}

unsigned rp_cpu_usable(void)
{
    unsigned cores = atomic_load_explicit(&usable_cores, memory_order_relaxed);
    return cores != 0 ? cores : rp_cpu_refresh();
}
