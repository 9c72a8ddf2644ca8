#ifndef RP_BASE_LOG_H
#define RP_BASE_LOG_H

/*
 * The log. Silent unless it is asked for: Reprise is a guest in its caller's process, so without
 * ASCEND_SLOG_PRINT_TO_STDOUT=1 or ASCEND_PROCESS_LOG_PATH nothing is written anywhere, also not
 * to stderr and not to the home directory as CANN does.
 *
 *   ASCEND_GLOBAL_LOG_LEVEL      0 debug, 1 info, 2 warning, 3 error (default), 4 none
 *   ASCEND_SLOG_PRINT_TO_STDOUT  1: lines go to standard output, and not to the file
 *   ASCEND_PROCESS_LOG_PATH      a directory: lines go to <directory>/reprise-<pid>.log
 *
 * A disabled line costs one load and one compare. A line is put together on the stack and written
 * with one write(), so no lock is taken, nothing is allocated, and threads do not mix their lines.
 */

#include <stdatomic.h>
#include <stdbool.h>

#include "base/util.h"

enum rp_log_level {
    RP_LOG_DEBUG,
    RP_LOG_INFO,
    RP_LOG_WARN,
    RP_LOG_ERROR,
    RP_LOG_NONE,
};

/* Lines below this level are dropped. Debug until the environment has been read, so that the first
 * line of all reaches rp_log_write, which reads it. */
extern _Atomic int rp_log_threshold;

/** rp_log_write: write one line; `fmt` has no newline at its end. Keeps errno. */
void rp_log_write(enum rp_log_level level, const char *fmt, ...) RP_PRINTF(2, 3);

/**
 * rp_log_setup: where lines go and which. Called once, by base/env.c, before its first line.
 *
 * `directory` NULL: no file. The file is created with the first line that is written.
 */
void rp_log_setup(enum rp_log_level threshold, bool to_stdout, const char *directory);

/** rp_log_reset: back to the state before the environment was read. For tests only. */
void rp_log_reset(void);

static inline bool rp_log_enabled(enum rp_log_level level)
{
    // relaxed: the level is a hint; a thread that sees it late drops or offers one line more.
    return (int)level >= atomic_load_explicit(&rp_log_threshold, memory_order_relaxed);
}

#define rp_log_at(level, ...)                     \
    do {                                          \
        if (RP_UNLIKELY(rp_log_enabled(level))) { \
            rp_log_write((level), __VA_ARGS__);   \
        }                                         \
    } while (0)

#define rp_log_error(...) rp_log_at(RP_LOG_ERROR, __VA_ARGS__)
#define rp_log_warn(...) rp_log_at(RP_LOG_WARN, __VA_ARGS__)
#define rp_log_info(...) rp_log_at(RP_LOG_INFO, __VA_ARGS__)
#define rp_log_debug(...) rp_log_at(RP_LOG_DEBUG, __VA_ARGS__)

#endif /* RP_BASE_LOG_H */
