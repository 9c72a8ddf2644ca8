// The three fork handlers. In the child only the forking thread exists, so it must find no lock
// taken by another one: the list's lock is taken across the fork, the error context's is renewed.

#include "base/fork.h"

#include <pthread.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

#define FDS_FIRST 64

_Atomic int rp_process_state = RP_PROCESS_FRESH;

static pthread_once_t arm_once = PTHREAD_ONCE_INIT;
static int arm_error; // what pthread_atfork answered

static pthread_mutex_t guard_lock = PTHREAD_MUTEX_INITIALIZER;
static int *guarded; // descriptors to close in a child; under guard_lock
static size_t guarded_count;
static size_t guarded_room;

static void before_fork(void)
{
    pthread_mutex_lock(&guard_lock);
}

static void after_fork_parent(void)
{
    pthread_mutex_unlock(&guard_lock);
}

static void after_fork_child(void)
{
    // relaxed: this is the only thread.
    atomic_store_explicit(&rp_process_state, RP_PROCESS_FORKED, memory_order_relaxed);
    for (size_t i = 0; i < guarded_count; i++) {
        close(guarded[i]);
    }
    guarded_count = 0;
    pthread_mutex_unlock(&guard_lock);
    rp_error_after_fork();
}

static void arm(void)
{
    arm_error = pthread_atfork(before_fork, after_fork_parent, after_fork_child);
    if (arm_error == 0) {
        // relaxed: nothing is published with it; the handlers are found by fork() itself.
        atomic_store_explicit(&rp_process_state, RP_PROCESS_ARMED, memory_order_relaxed);
    }
}

rp_status rp_process_check_slow(void)
{
    pthread_once(&arm_once, arm);
    if (rp_process_forked()) {
        return rp_fail(RP_EFORKED, "%s (pid %ld): fork before the first acl or Hccl call, or exec",
                rp_status_text(RP_EFORKED), (long)getpid());
    }
    if (arm_error != 0) {
        return rp_fail(RP_ENOMEM, "the fork handlers could not be installed");
    }
    return RP_OK;
}

rp_status rp_fork_guard_fd(int fd)
{
    rp_status st = RP_OK;
    pthread_mutex_lock(&guard_lock);
    if (guarded_count == guarded_room) {
        size_t room = guarded_room == 0 ? FDS_FIRST : 2 * guarded_room;
        int *grown = rp_realloc(guarded, room * sizeof(*grown));
        if (grown == NULL) {
            st = RP_ENOMEM;
        } else {
            guarded = grown;
            guarded_room = room;
        }
    }
    if (st == RP_OK) {
        guarded[guarded_count++] = fd;
    }
    pthread_mutex_unlock(&guard_lock);
    return st == RP_OK ? RP_OK : rp_fail(st, "no memory for the list of guarded descriptors");
}

void rp_fork_unguard_fd(int fd)
{
    pthread_mutex_lock(&guard_lock);
    for (size_t i = 0; i < guarded_count; i++) {
        if (guarded[i] == fd) {
            guarded[i] = guarded[--guarded_count];
            break;
        }
    }
    pthread_mutex_unlock(&guard_lock);
}
