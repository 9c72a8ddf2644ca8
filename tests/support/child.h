#ifndef TESTS_SUPPORT_CHILD_H
#define TESTS_SUPPORT_CHILD_H

/*
 * Child processes of a test, and descriptors passed between them. Asserts stay
 * in the parent: a child answers with a number, and what it writes goes to
 * standard error.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** Runs in the child; 0: all was well. */
typedef int child_fn(void *arg);

/** child_start: fork and run `fn`; the child's process ends with what it returns. */
pid_t child_start(child_fn *fn, void *arg);

/** child_wait: the child's exit status, -signal if one ended it, -1000 if it was killed because it
 * took longer than `timeout_s`. */
int child_wait(pid_t child, unsigned timeout_s);

/** child_run: both. */
int child_run(child_fn *fn, void *arg, unsigned timeout_s);

/** child_no_core: no core file for a child that is meant to die. */
void child_no_core(void);

/** address_limit_works: whether RLIMIT_AS can be tried: not where a sanitizer maps terabytes. */
bool address_limit_works(void);

/** fds_send, fds_receive: `count` descriptors (-1 allowed) and `bytes` of data over a Unix socket.
 * False on failure. */
bool fds_send(int socket, const int *fds, size_t count, const void *data, size_t bytes);
bool fds_receive(int socket, int *fds, size_t count, void *data, size_t bytes);

/** fds_open: how many descriptors this process has open. */
unsigned fds_open(void);

#endif
