// Threads of ours: named, and deaf to signals, which belong to the host program's threads.

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "replay/scheduler.h"

rp_status rp_thread_create(pthread_t *thread, const char *name, void *(*main)(void *), void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); // a new thread inherits the mask
    const int error = pthread_create(thread, NULL, main, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        errno = error;
        return rp_fail_sys(RP_ENORES, "pthread_create", name);
    }
    pthread_setname_np(*thread, name); // for ps and gdb; it may fail
    return RP_OK;
}
