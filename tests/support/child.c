#include "support/child.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define FDS_MAX 16

pid_t child_start(child_fn *fn, void *arg)
{
    const pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) {
        // A test that fails must not leave children behind that wait for it.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(getppid() == parent ? fn(arg) : 98);
    }
    return child;
}

int child_wait(pid_t child, unsigned timeout_s)
{
    const uint64_t deadline_ns = rp_deadline_ns(timeout_s * RP_NS_PER_S);
    const struct timespec pause = { .tv_nsec = 2000000 };
    int status = 0;
    bool late = false;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (!late && rp_now_ns() > deadline_ns) {
            late = true;
            kill(child, SIGKILL);
        }
        nanosleep(&pause, NULL);
    }
    if (late) {
        return -1000;
    }
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int child_run(child_fn *fn, void *arg, unsigned timeout_s)
{
    return child_wait(child_start(fn, arg), timeout_s);
}

void child_no_core(void)
{
    const struct rlimit none = { 0 };
    setrlimit(RLIMIT_CORE, &none);
}

#if defined(__has_feature)
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif

bool address_limit_works(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false;
#else
    return !HAS_FEATURE(address_sanitizer) && !HAS_FEATURE(thread_sanitizer);
#endif
}

// The data is a bit a descriptor that is there, then the caller's bytes.
bool fds_send(int socket, const int *fds, size_t count, const void *data, size_t bytes)
{
    union {
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
        struct cmsghdr align;
    } control = { .bytes = { 0 } };
    int present[FDS_MAX];
    uint32_t mask = 0;
    size_t sent = 0;
    for (size_t i = 0; i < count; i++) {
        if (fds[i] >= 0) {
            mask |= UINT32_C(1) << i;
            present[sent++] = fds[i];
        }
    }
    struct iovec parts[2] = {
        { .iov_base = &mask, .iov_len = sizeof(mask) },
        { .iov_base = (void *)(uintptr_t)data, .iov_len = bytes },
    };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
    if (sent > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sent * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sent * sizeof(int));
        memcpy(CMSG_DATA(header), present, sent * sizeof(int));
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)(sizeof(mask) + bytes);
}

bool fds_receive(int socket, int *fds, size_t count, void *data, size_t bytes)
{
    union {
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
        struct cmsghdr align;
    } control;
    uint32_t mask = 0;
    struct iovec parts[2] = {
        { .iov_base = &mask, .iov_len = sizeof(mask) },
        { .iov_base = data, .iov_len = bytes },
    };
    struct msghdr message = {
        .msg_iov = parts,
        .msg_iovlen = 2,
        .msg_control = control.bytes,
        .msg_controllen = sizeof(control.bytes),
    };
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL) !=
            (ssize_t)(sizeof(mask) + bytes)) {
        return false;
    }
    int present[FDS_MAX];
    size_t received = 0;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL) {
        received = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(present, CMSG_DATA(header), received * sizeof(int));
    }
    size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        bool there = (mask >> i & 1) != 0;
        if (there && next == received) {
            return false;
        }
        fds[i] = there ? present[next++] : -1;
    }
    return next == received;
}

unsigned fds_open(void)
{
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/fd");
    if (directory == NULL) {
        return 0;
    }
    while (readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count - 3; // ".", ".." and the directory itself
}
