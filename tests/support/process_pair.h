#ifndef TESTS_SUPPORT_PROCESS_PAIR_H
#define TESTS_SUPPORT_PROCESS_PAIR_H

/*
 * Two processes that use the library, and talk over a socket. The child is forked before the
 * library is used; it answers with the number of the step that failed, asserts stay in the parent.
 */

#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/acl_test.h"
#include "support/child.h"

/* In a child: the step that failed is its answer. */
#define MUST(code, step, call)                                                            \
    do {                                                                                  \
        const int answer_ = (call);                                                       \
        if (answer_ != (code)) {                                                          \
            const char *text_ = aclGetRecentErrMsg();                                     \
            fprintf(stderr, "%s: %d: %s\n", #call, answer_, text_ == NULL ? "-" : text_); \
            return (step);                                                                \
        }                                                                                 \
    } while (0)

struct pair {
    int end[2]; /* of the socket: parent, child */
    pid_t child;
    _Atomic int *count; /* in memory of both */
};

/** pair_begin: start the child with `fn(pair)`; the parent has device 0 then. */
static inline void pair_begin(struct pair *pair, child_fn *fn)
{
    pair->count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert(ne(ptr, (void *)pair->count, MAP_FAILED));
    cr_assert(eq(int, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair->end), 0));
    pair->child = child_start(fn, pair);
    on_device();
}

/** pair_end: the child has ended well. */
static inline void pair_end(struct pair *pair)
{
    cr_assert(eq(int, child_wait(pair->child, 60), 0));
    close(pair->end[0]);
    close(pair->end[1]);
    munmap((void *)pair->count, 4096);
}

static inline bool tell(int fd, const void *data, size_t bytes)
{
    return send(fd, data, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
}

static inline bool hear(int fd, void *data, size_t bytes)
{
    return recv(fd, data, bytes, 0) == (ssize_t)bytes;
}

/** pair_child: in the child: device 1 and a stream; 0, or the step that failed. */
static inline int pair_child(aclrtStream *stream)
{
    small_device();
    MUST(0, 1, aclrtSetDevice(1));
    MUST(0, 2, aclrtCreateStream(stream));
    return 0;
}

/** pair_count: a host function: one more in the memory of both. */
static inline void pair_count(void *count)
{
    atomic_fetch_add((_Atomic int *)count, 1);
}

#endif
