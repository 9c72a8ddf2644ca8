// Watches: an epoll set of pidfds, and a list of those that have to be looked at one by one.

#include "transport/process_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/util.h"

#define EVENTS_MAX 16

static struct {
    int epoll_fd; // -1: not made yet, or refused
    bool ready;
    struct rp_list singles;
} set = { .epoll_fd = -1 };

static void set_init(void)
{
    if (!set.ready) {
        rp_list_init(&set.singles);
        set.ready = true;
    }
}

static int pidfd_open_of(int64_t pid)
{
    long fd = syscall(SYS_pidfd_open, (pid_t)pid, 0);
    return fd < 0 ? -1 : (int)fd; // CLOEXEC by itself
}

// ---- by /proc ----

// What /proc/PID/stat says: fields 3, 20 and 22.
struct stat_line {
    char state;
    uint64_t threads;
    uint64_t start_time;
};

// The name in field 2 may hold anything, and ends with the last parenthesis.
static bool read_stat(int64_t pid, struct stat_line *line)
{
    char path[64];
    char text[1024];
    snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    size_t used = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[used] = '\0';
    char *tail = strrchr(text, ')');
    return tail != NULL && sscanf(tail,
                                   ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                                   "%*s %*s %" SCNu64 " %*s %" SCNu64,
                                   &line->state, &line->threads, &line->start_time) == 3;
}

// Whether `pid`, as it is seen from here, has the process page mapped. Pids are told by the peer
// and mean nothing in another pid namespace, where the same number is somebody else.
static bool pid_has_page(int64_t pid, int page_fd)
{
    char path[64];
    char line[512];
    struct stat page;
    snprintf(path, sizeof(path), "/proc/%" PRId64 "/maps", pid);
    FILE *file = pid > 0 && fstat(page_fd, &page) == 0 ? fopen(path, "re") : NULL;
    if (file == NULL) {
        return false;
    }
    bool found = false;
    while (!found && fgets(line, sizeof(line), file) != NULL) {
        unsigned dev_major;
        unsigned dev_minor;
        uint64_t inode;
        found = sscanf(line, "%*s %*s %*s %x:%x %" SCNu64, &dev_major, &dev_minor, &inode) == 3 &&
                inode == page.st_ino && dev_major == major(page.st_dev) &&
                dev_minor == minor(page.st_dev);
    }
    fclose(file);
    return found;
}

static bool pid_ended(int64_t pid, uint64_t start_time)
{
    struct stat_line now;
    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH) {
        return true;
    }
    if (!read_stat(pid, &now)) {
        return false; // just gone, and found by kill next time; or /proc is closed to us now
    }
    // A zombie with threads is a process whose main thread alone has ended.
    bool zombie = (now.state == 'Z' || now.state == 'X') && now.threads <= 1;
    return zombie || now.start_time != start_time;
}

// ---- watching ----

// A process cannot be expected to send the right descriptor. ENOSYS and the rest mean that the
// kernel will not tell.
static bool is_pidfd(int fd)
{
    return syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) == 0 || errno != EBADF;
}

static void watch_init(struct rp_watch *watch, int pid_fd)
{
    set_init();
    *watch = (struct rp_watch){ .pid_fd = pid_fd };
    rp_list_init(&watch->link);
}

void rp_watch_self(struct rp_watch *watch)
{
    watch_init(watch, pidfd_open_of(getpid()));
    if (watch->pid_fd < 0) {
        rp_log_info("pidfd_open is refused (errno %d): peers watch this process by its pid", errno);
    }
}

static bool set_add(struct rp_watch *watch)
{
    if (set.epoll_fd < 0) {
        set.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    }
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = watch };
    return set.epoll_fd >= 0 && epoll_ctl(set.epoll_fd, EPOLL_CTL_ADD, watch->pid_fd, &event) == 0;
}

rp_status rp_watch_open(struct rp_watch *watch, int pid_fd, int64_t pid, int page_fd)
{
    watch_init(watch, pid_fd);
    if (pid_fd >= 0) {
        if (!is_pidfd(pid_fd)) {
            return rp_fail(RP_EPARAM, "descriptor %d of process %" PRId64 " is not its pidfd",
                    pid_fd, pid);
        }
        watch->in_set = set_add(watch);
        if (!watch->in_set) {
            rp_list_push_back(&set.singles, &watch->link);
        }
        return RP_OK;
    }
    struct stat_line line;
    if (pid_has_page(pid, page_fd) && read_stat(pid, &line)) {
        watch->pid = pid;
        watch->start_time = line.start_time;
        rp_list_push_back(&set.singles, &watch->link);
    } else {
        rp_log_warn("the end of process %" PRId64 " cannot be noticed: no pidfd, and /proc does "
                    "not show it",
                pid);
    }
    return RP_OK;
}

void rp_watch_abandon(struct rp_watch *watch)
{
    rp_list_remove(&watch->link);
    if (watch->in_set) {
        // The file behind the descriptor lives on in its sender, so closing would not do.
        (void)epoll_ctl(set.epoll_fd, EPOLL_CTL_DEL, watch->pid_fd, NULL);
        watch->in_set = false;
    }
}

void rp_watch_close(struct rp_watch *watch)
{
    rp_watch_abandon(watch);
    if (watch->pid_fd >= 0) {
        close(watch->pid_fd);
        watch->pid_fd = -1;
    }
}

int rp_watch_fd(const struct rp_watch *watch)
{
    return watch->pid_fd;
}

// ---- looking ----

static void mark_ended(struct rp_watch *watch)
{
    rp_watch_abandon(watch);
    // release [W1]: pairs with the load in rp_watch_ended.
    atomic_store_explicit(&watch->ended, true, memory_order_release);
}

static void sweep_set(void)
{
    struct epoll_event event[EVENTS_MAX];
    int count = EVENTS_MAX;
    while (count == EVENTS_MAX) { // those found leave the set, so this ends
        count = epoll_wait(set.epoll_fd, event, EVENTS_MAX, 0);
        for (int i = 0; i < count; i++) {
            mark_ended(event[i].data.ptr);
        }
    }
}

static bool single_ended(const struct rp_watch *watch)
{
    if (watch->pid_fd < 0) {
        return pid_ended(watch->pid, watch->start_time);
    }
    struct pollfd look = { .fd = watch->pid_fd, .events = POLLIN };
    return poll(&look, 1, 0) == 1 && (look.revents & POLLIN) != 0;
}

void rp_watch_sweep(void)
{
    set_init();
    if (set.epoll_fd >= 0) {
        sweep_set();
    }
    rp_list_each(link, &set.singles)
    {
        struct rp_watch *watch = rp_container_of(link, struct rp_watch, link);
        if (single_ended(watch)) {
            mark_ended(watch);
        }
    }
}
