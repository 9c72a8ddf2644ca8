// See log.h for what is written where.

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"

#define LINE_MAX_BYTES 2048

enum {
    FILE_UNOPENED = -1,
    FILE_NONE = -2, // no directory was named, or the file could not be made
};

_Atomic int rp_log_threshold = RP_LOG_DEBUG;

// Written by rp_log_setup before it publishes `ready`, then only read; log_fd alone changes later.
static bool log_to_stdout;
static char log_directory[RP_ENV_PATH_MAX + 1];
static _Atomic bool ready;
static _Atomic int log_fd = FILE_NONE;

void rp_log_setup(enum rp_log_level threshold, bool to_stdout, const char *directory)
{
    log_to_stdout = to_stdout;
    log_directory[0] = '\0';
    if (directory != NULL) {
        snprintf(log_directory, sizeof(log_directory), "%s", directory);
    }
    bool file = !to_stdout && log_directory[0] != '\0';
    bool sink = to_stdout || file;
    // relaxed: both are published by `ready` below.
    atomic_store_explicit(&log_fd, file ? FILE_UNOPENED : FILE_NONE, memory_order_relaxed);
    atomic_store_explicit(
            &rp_log_threshold, sink ? (int)threshold : (int)RP_LOG_NONE, memory_order_relaxed);
    // release [L1]: pairs with the load in rp_log_write.
    atomic_store_explicit(&ready, true, memory_order_release);
}

void rp_log_reset(void)
{
    // relaxed: only tests come here, with no other thread in the library.
    int fd = atomic_exchange_explicit(&log_fd, FILE_NONE, memory_order_relaxed);
    if (fd >= 0) {
        close(fd);
    }
    atomic_store_explicit(&ready, false, memory_order_relaxed);
    atomic_store_explicit(&rp_log_threshold, RP_LOG_DEBUG, memory_order_relaxed);
}

// Makes the log file, and directories above it, with the first line; two threads that come at once
// open it twice, and one of them closes its own again.
static int open_file(void)
{
    char path[RP_ENV_PATH_MAX + 64];
    for (char *slash = strchr(log_directory + 1, '/'); slash != NULL;
            slash = strchr(slash + 1, '/')) {
        snprintf(path, sizeof(path), "%.*s", (int)(slash - log_directory), log_directory);
        mkdir(path, 0750);
    }
    mkdir(log_directory, 0750);
    snprintf(path, sizeof(path), "%s/reprise-%ld.log", log_directory, (long)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    int now = fd < 0 ? FILE_NONE : fd;
    int before = FILE_UNOPENED;
    // relaxed: a descriptor carries no memory with it.
    if (!atomic_compare_exchange_strong_explicit(
                &log_fd, &before, now, memory_order_relaxed, memory_order_relaxed)) {
        if (fd >= 0) {
            close(fd);
        }
        return before;
    }
    return now;
}

static int sink_fd(void)
{
    if (log_to_stdout) {
        return STDOUT_FILENO;
    }
    // relaxed: as in open_file.
    int fd = atomic_load_explicit(&log_fd, memory_order_relaxed);
    return fd == FILE_UNOPENED ? open_file() : fd;
}

static size_t add_head(char *line, size_t bytes, enum rp_log_level level)
{
    static const char *const names[] = { "DEBUG", "INFO", "WARNING", "ERROR", "NONE" };
    struct timespec now;
    struct tm day;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &day); // UTC: localtime_r takes a lock, and a fork may leave it taken
    int used = snprintf(line, bytes, "[%s] REPRISE(%ld,%ld):%04d-%02d-%02d-%02d:%02d:%02d.%06ldZ ",
            names[level], (long)getpid(), (long)gettid(), day.tm_year + 1900, day.tm_mon + 1,
            day.tm_mday, day.tm_hour, day.tm_min, day.tm_sec, now.tv_nsec / 1000);
    return used < 0 ? 0 : (size_t)used;
}

static void write_line(const char *line, size_t bytes)
{
    int fd = sink_fd();
    while (fd >= 0 && bytes > 0) {
        ssize_t written = write(fd, line, bytes);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return; // a full disk costs lines, never the caller's work
        }
        line += written;
        bytes -= (size_t)written;
    }
}

void rp_log_write(enum rp_log_level level, const char *fmt, ...)
{
    int error = errno;
    // acquire [L1]: pairs with the store in rp_log_setup.
    if (!atomic_load_explicit(&ready, memory_order_acquire)) {
        rp_env_device(); // ends in rp_log_setup
    }
    if (level < RP_LOG_NONE && rp_log_enabled(level)) {
        char line[LINE_MAX_BYTES];
        size_t used = add_head(line, sizeof(line), level);
        va_list args;
        va_start(args, fmt);
        int text = vsnprintf(line + used, sizeof(line) - used - 1, fmt, args);
        va_end(args);
        used += text < 0 ? 0 : rp_min_u64((uint64_t)text, sizeof(line) - used - 2);
        line[used++] = '\n';
        write_line(line, used);
    }
    errno = error;
}
