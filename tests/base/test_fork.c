// A child of a process that has used the library: one clear error, descriptors closed, no hang.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/doorbell.h"
#include "base/error.h"
#include "base/fork.h"

// Runs `check` in a forked child; what it returns is the child's exit status.
static int in_child(int (*check)(void))
{
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(check());
    }
    int status = 0;
    cr_assert(eq(int, waitpid(child, &status, 0), child));
    bool exited = WIFEXITED(status);
    cr_assert(exited, "the child was killed by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

static int is_usable(void)
{
    return rp_process_check() == RP_OK && !rp_process_forked() ? 0 : 1;
}

static int is_refused(void)
{
    for (int i = 0; i < 3; i++) {
        if (rp_process_check() != RP_EFORKED || !rp_process_forked()) {
            return 1;
        }
        const char *text = rp_error_take();
        if (text == NULL || strncmp(text, "E207004: a child forked", 23) != 0) {
            return 2;
        }
    }
    struct rp_doorbell_end *end;
    return rp_doorbell_self(&end) == RP_EFORKED ? 0 : 3;
}

static int is_refused_in_a_grandchild(void)
{
    return in_child(is_refused);
}

Test(fork, process_is_usable_and_stays_so)
{
    cr_assert(eq(int, is_usable(), 0));
    cr_assert(eq(int, is_usable(), 0));
    cr_assert(eq(int, in_child(is_refused), 0));
    cr_assert(eq(int, is_usable(), 0));
}

Test(fork, child_forked_before_the_first_call_is_usable)
{
    cr_assert(eq(int, in_child(is_usable), 0));
    cr_assert(eq(int, is_usable(), 0));
}

Test(fork, grandchild_is_refused_too)
{
    cr_assert(eq(int, is_usable(), 0));
    cr_assert(eq(int, in_child(is_refused_in_a_grandchild), 0));
}

static int fds[200][2];

static int guarded_are_closed(void)
{
    for (int i = 0; i < 200; i++) {
        bool guarded = i != 7;
        bool open = fcntl(fds[i][0], F_GETFD) >= 0;
        if (open == guarded || fcntl(fds[i][1], F_GETFD) < 0) {
            return 1;
        }
    }
    return 0;
}

Test(fork, guarded_descriptors_are_closed_in_the_child_only)
{
    cr_assert(eq(int, is_usable(), 0));
    for (int i = 0; i < 200; i++) {
        cr_assert(eq(int, pipe(fds[i]), 0));
        cr_assert(eq(int, rp_fork_guard_fd(fds[i][0]), RP_OK));
    }
    rp_fork_unguard_fd(fds[7][0]);
    rp_fork_unguard_fd(-1);
    cr_assert(eq(int, in_child(guarded_are_closed), 0));
    for (int i = 0; i < 200; i++) {
        cr_assert(ge(int, fcntl(fds[i][0], F_GETFD), 0));
    }
}

static int sleep_shortly(void)
{
    usleep(300000);
    return 0;
}

// The peer of a connection must see its end when the owner closes it, although a child lives on.
Test(fork, child_does_not_keep_a_connection_open)
{
    int pair[2];
    char byte;
    cr_assert(eq(int, is_usable(), 0));
    cr_assert(eq(int, socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0));
    cr_assert(eq(int, rp_fork_guard_fd(pair[0]), RP_OK));
    cr_assert(eq(int, rp_fork_guard_fd(pair[1]), RP_OK));
    pid_t child = fork();
    if (child == 0) {
        _exit(sleep_shortly());
    }
    usleep(50000); // the handler has run
    rp_fork_unguard_fd(pair[0]);
    close(pair[0]);
    cr_assert(eq(int, (int)recv(pair[1], &byte, 1, MSG_DONTWAIT), 0), "end of file at once");
    cr_assert(eq(int, waitpid(child, NULL, 0), child));
}

Test(fork, list_that_cannot_grow_is_an_error)
{
    int one = 0;
    rp_alloc_fail_after(0);
    while (rp_fork_guard_fd(one) == RP_OK) {
    }
    cr_assert(not(rp_alloc_fail_pending()));
    cr_assert(eq(int, rp_fork_guard_fd(one), RP_OK), "and the next one works");
}

// Threads that record errors, guard and unguard all the time must not leave a lock taken in a
// child.
static _Atomic bool stop;

static void *make_errors(void *unused)
{
    (void)unused;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        (void)rp_fail(RP_EPARAM, "noise");
        if (rp_fork_guard_fd(1000) == RP_OK) {
            rp_fork_unguard_fd(1000);
        }
    }
    return NULL;
}

Test(fork, locks_are_free_in_the_child, .timeout = 60)
{
    pthread_t thread[2];
    rp_error_set_process_mode(true);
    cr_assert(eq(int, is_usable(), 0));
    for (int i = 0; i < 2; i++) {
        cr_assert(eq(int, pthread_create(&thread[i], NULL, make_errors, NULL), 0));
    }
    for (int i = 0; i < 200; i++) {
        cr_assert(eq(int, in_child(is_refused), 0));
    }
    atomic_store_explicit(&stop, true, memory_order_relaxed);
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
    }
}
