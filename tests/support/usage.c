#include "support/usage.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "support/child.h"
#include "support/rank_runner.h"

// Slack is one per cent of resident memory and what the allocator may round; an eventfd for each
// thread that ever waited at the same time as another; two mappings of the allocator's; a callback
// thread that was made because the one before had not quite returned, for each of two devices. The
// heap is counted to the byte; its slack is what threads keep for themselves.
#define RESIDENT_SLACK_BYTES 400000
#define HEAP_SLACK_BYTES 16384
#define EVENTFDS 2
#define CALLBACK_THREADS 2
#define MAPPINGS_SLACK 2
#define CLOSING_TRIES 100
#define CLOSING_US 50000

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

static size_t resident_bytes(void)
{
    size_t size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    must_hold(file != NULL && fscanf(file, "%zu %zu", &size, &resident) == 2, "statm");
    fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

// Small blocks that a thread keeps for itself count as given out. AddressSanitizer has an allocator
// of its own, and glibc's is not even set up there: asking it from two threads at once breaks it.
static size_t heap_bytes(void)
{
#ifdef __SANITIZE_ADDRESS__
    return 0;
#else
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#endif
}

struct usage usage_now(void)
{
    struct usage usage = {
        .descriptors = fds_open(),
        .threads = entries("/proc/self/task") - 2, // "." and ".."
        .mappings = lines("/proc/self/maps"),
        .resident_bytes = resident_bytes(),
        .heap_bytes = heap_bytes(),
    };
#ifdef __SANITIZE_ADDRESS__
    usage.mappings = 0;
    usage.resident_bytes = 0;
#endif
    return usage;
}

void usage_expect_flat(const struct usage *before, const char *of)
{
    struct usage now = usage_now();
    for (unsigned tries = 0;
            tries < CLOSING_TRIES && now.descriptors > before->descriptors + EVENTFDS; tries++) {
        rank_sleep_us(CLOSING_US);
        now = usage_now();
    }
    must_hold(now.descriptors <= before->descriptors + EVENTFDS,
            "%s: descriptors grew from %u to %u", of, before->descriptors, now.descriptors);
    must_hold(now.threads <= before->threads + CALLBACK_THREADS, "%s: threads grew from %u to %u",
            of, before->threads, now.threads);
    must_hold(now.mappings <= before->mappings + MAPPINGS_SLACK + 2 * CALLBACK_THREADS,
            "%s: mappings grew from %u to %u", of, before->mappings, now.mappings);
    must_hold(now.resident_bytes <=
                      before->resident_bytes + before->resident_bytes / 100 + RESIDENT_SLACK_BYTES,
            "%s: resident memory grew from %zu to %zu bytes", of, before->resident_bytes,
            now.resident_bytes);
    must_hold(now.heap_bytes <= before->heap_bytes + HEAP_SLACK_BYTES,
            "%s: the heap grew from %zu to %zu bytes", of, before->heap_bytes, now.heap_bytes);
}

size_t usage_device_bytes(void)
{
    size_t free_bytes = 0, total = 0;
    must(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
    return total - free_bytes;
}
