#include "transport/fd_set.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

const char *rp_descriptor_limit_text(int error, char text[RP_LIMIT_TEXT_BYTES])
{
    struct rlimit limit;
    text[0] = '\0';
    if (error == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        snprintf(text, RP_LIMIT_TEXT_BYTES, "; RLIMIT_NOFILE (ulimit -n) is %llu, raise it",
                (unsigned long long)limit.rlim_cur);
    }
    return text;
}

static void close_fds(const int *fd, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (fd[i] >= 0) {
            close(fd[i]);
        }
    }
}

// Makes the descriptors themselves the set's; closes them on failure.
static rp_status take(const int *fd, uint32_t count, struct rp_fd_set **out)
{
    struct rp_fd_set *set = rp_calloc(1, sizeof(*set));
    assert(count <= RP_WIRE_FDS_MAX);
    if (set == NULL) {
        close_fds(fd, count);
        return rp_fail(RP_ENOMEM, "no memory for descriptors to pass to other ranks");
    }
    set->refs = 1;
    set->count = count;
    memcpy(set->fd, fd, count * sizeof(*fd));
    *out = set;
    return RP_OK;
}

rp_status rp_fd_set_create(const int *fd, uint32_t count, struct rp_fd_set **out)
{
    int copy[RP_WIRE_FDS_MAX];
    for (uint32_t i = 0; i < count; i++) {
        copy[i] = fcntl(fd[i], F_DUPFD_CLOEXEC, 0);
        if (copy[i] < 0) {
            char limit[RP_LIMIT_TEXT_BYTES];
            int error = errno;
            close_fds(copy, i);
            return rp_fail(RP_ENORES, "duplicating a descriptor for other ranks failed: %s%s",
                    strerrordesc_np(error), rp_descriptor_limit_text(error, limit));
        }
    }
    return take(copy, count, out);
}

void rp_fd_set_unref(struct rp_fd_set *set)
{
    if (set != NULL && --set->refs == 0) {
        close_fds(set->fd, set->count);
        rp_free(set);
    }
}
