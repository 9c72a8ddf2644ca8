// How much memory is left, before anything is reserved. A control group's limit is looked for in
// the process' own group and in every one above it, because any of them kills:
//
//     /proc/meminfo        MemTotal, MemAvailable
//     /proc/self/cgroup    "0::/a/b" (version 2) or "4:memory:/a/b" (version 1)
//     <mount>/a/b, <mount>/a, <mount>:  memory.max, memory.current, memory.stat
//
// A container often sees its own group as the root of the mount while /proc names it by the host's
// path; the walk upwards gets there, since levels that do not exist are passed over.

#include "transport/memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

#define PATH_BYTES 4096
#define TEXT_BYTES 16384

// Page tables, and the kernel's own objects for each page, are charged too: 1/64, 64 MiB at most.
#define MARGIN_SHARE 64
#define MARGIN_BYTES_MAX (UINT64_C(64) << 20)

// One version's names for the same things.
struct group_files {
    const char *mounts[2]; // where it is mounted, by custom; tried in turn
    const char *limit;
    const char *usage;
    const char *inactive; // line of memory.stat: page cache, not used lately
    const char *active;   // and used lately
    const char *source;
};

static const struct group_files version1 = {
    .mounts = { "/sys/fs/cgroup/memory", NULL },
    .limit = "memory.limit_in_bytes",
    .usage = "memory.usage_in_bytes",
    .inactive = "total_inactive_file ",
    .active = "total_active_file ",
    .source = "control group's memory limit (memory.limit_in_bytes)",
};

static const struct group_files version2 = {
    .mounts = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" },
    .limit = "memory.max",
    .usage = "memory.current",
    .inactive = "inactive_file ",
    .active = "active_file ",
    .source = "control group's memory limit (memory.max)",
};

// Reads a file as a string; false when it cannot be read.
static bool read_text(const char *path, char *text, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    size_t used = 0;
    ssize_t got = 1;
    while (got > 0 && used < room - 1) {
        got = read(fd, text + used, room - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    text[used] = '\0';
    return got >= 0 && used > 0;
}

// The number behind `key` at the start of a line of `text`.
static bool find_number(const char *text, const char *key, uint64_t *value)
{
    size_t key_bytes = strlen(key);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, key_bytes) == 0) {
            return sscanf(line + key_bytes, "%" SCNu64, value) == 1;
        }
    }
    return false;
}

static bool read_number(const char *directory, const char *name, uint64_t *value)
{
    char path[PATH_BYTES + 64];
    char text[64];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return read_text(path, text, sizeof(text)) && sscanf(text, "%" SCNu64, value) == 1; // "max": no
}

// One limit of `limit` bytes, of which `available` are left.
static void apply(
        struct rp_memory_room *room, uint64_t limit, uint64_t available, const char *source)
{
    uint64_t margin = rp_min_u64(limit / MARGIN_SHARE, MARGIN_BYTES_MAX);
    uint64_t bytes = available > margin ? available - margin : 0;
    room->limit_bytes = rp_min_u64(room->limit_bytes, limit);
    if (bytes < room->bytes) {
        room->bytes = bytes;
        room->source = source;
    }
}

static void apply_machine(const char *root, char *text, struct rp_memory_room *room)
{
    char path[PATH_BYTES];
    uint64_t total_kib;
    uint64_t available_kib;
    snprintf(path, sizeof(path), "%s/proc/meminfo", root);
    if (read_text(path, text, TEXT_BYTES) && find_number(text, "MemTotal:", &total_kib) &&
            find_number(text, "MemAvailable:", &available_kib)) {
        apply(room, total_kib << 10, available_kib << 10, "machine's free memory (MemAvailable)");
    }
}

// One group's directory, if it is there and has a limit.
static void apply_directory(const char *directory, const struct group_files *files, char *text,
        struct rp_memory_room *room)
{
    uint64_t limit;
    uint64_t usage;
    if (!read_number(directory, files->limit, &limit) || limit >= INT64_MAX / 2 ||
            !read_number(directory, files->usage, &usage)) {
        return;
    }
    char path[PATH_BYTES + 64];
    uint64_t inactive = 0;
    uint64_t active = 0;
    snprintf(path, sizeof(path), "%s/memory.stat", directory);
    if (read_text(path, text, TEXT_BYTES)) {
        (void)find_number(text, files->inactive, &inactive);
        (void)find_number(text, files->active, &active);
    }
    uint64_t cache = rp_min_u64(inactive + active, usage);
    uint64_t held = usage - cache;
    apply(room, limit, limit > held ? limit - held : 0, files->source);
}

// The group `path` ("/a/b") and all above it.
static void apply_group(const char *root, const struct group_files *files, char *path, char *text,
        struct rp_memory_room *room)
{
    char directory[PATH_BYTES];
    const char *mount = files->mounts[0];
    if (files->mounts[1] != NULL) {
        snprintf(directory, sizeof(directory), "%s%s", root, files->mounts[1]);
        mount = access(directory, F_OK) == 0 ? files->mounts[1] : mount;
    }
    for (;;) {
        path[strcspn(path, "\n")] = '\0';
        int used = snprintf(directory, sizeof(directory), "%s%s%s", root, mount, path);
        if (used > 0 && (size_t)used < sizeof(directory)) {
            apply_directory(directory, files, text, room);
        }
        char *last = strrchr(path, '/');
        if (last == NULL || path[0] == '\0') {
            return;
        }
        *last = '\0';
    }
}

// Whether "memory" is one of the words between the colons of "4:cpu,memory:/a".
static bool names_memory(const char *controllers, const char *end)
{
    static const char word[] = "memory";
    const size_t bytes = sizeof(word) - 1;
    for (const char *at = controllers; at + bytes <= end; at++) {
        bool starts = at == controllers || at[-1] == ',';
        if (starts && strncmp(at, word, bytes) == 0 && (at[bytes] == ',' || at + bytes == end)) {
            return true;
        }
    }
    return false;
}

static void apply_groups(const char *root, char *text, struct rp_memory_room *room)
{
    char groups[PATH_BYTES];
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    if (!read_text(path, groups, sizeof(groups))) {
        return;
    }
    for (char *line = groups; line != NULL && *line != '\0';) {
        char *end = strchr(line, '\n');
        if (end != NULL) {
            *end = '\0';
        }
        char *controllers = strchr(line, ':');
        char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (group != NULL && group == controllers + 1) {
            apply_group(root, &version2, group + 1, text, room);
        } else if (group != NULL && names_memory(controllers + 1, group)) {
            apply_group(root, &version1, group + 1, text, room);
        }
        line = end == NULL ? NULL : end + 1;
    }
}

void rp_memory_room_read(const char *root, struct rp_memory_room *room)
{
    char text[TEXT_BYTES];
    *room = (struct rp_memory_room){
        .bytes = UINT64_MAX,
        .limit_bytes = UINT64_MAX,
        .source = "kernel",
    };
    apply_machine(root, text, room);
    apply_groups(root, text, room);
}
