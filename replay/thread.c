// What a calling thread carries: its current context, its place in captures, the cores it plans
// with.

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/error.h"
#include "base/fork.h"
#include "replay/context.h"
#include "replay/stream.h"

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool key_made;

// The record itself is on the heap: thread-local storage of a library counts against the stack of
// every thread of its host program.
static _Thread_local struct rp_thread *self;

static void thread_ends(void *record)
{
    struct rp_thread *thread = record;
    self = NULL;
    if (thread->planned != NULL) {
        rp_stream_unref(thread->planned);
        thread->planned = NULL;
    }
    if (thread->context != NULL) {
        rp_context_unref(thread->context);
        thread->context = NULL;
    }
    rp_thread_unref(thread);
}

static void make_key(void)
{
    key_made = pthread_key_create(&key, thread_ends) == 0;
}

struct rp_thread *rp_thread_self(void)
{
    if (self != NULL) {
        return self;
    }
    pthread_once(&key_once, make_key);
    struct rp_thread *thread = key_made ? rp_calloc(1, sizeof(*thread)) : NULL;
    if (thread == NULL) {
        return NULL;
    }
    atomic_init(&thread->refs, 1);
    thread->exchange_mode = RP_CAPTURE_GLOBAL;
    if (pthread_setspecific(key, thread) != 0) {
        rp_free(thread);
        return NULL;
    }
    self = thread;
    return thread;
}

void rp_thread_ref(struct rp_thread *thread)
{
    // relaxed: the caller's own reference keeps it.
    atomic_fetch_add_explicit(&thread->refs, 1, memory_order_relaxed);
}

void rp_thread_unref(struct rp_thread *thread)
{
    // acq_rel [T1]: the last one sees what the others wrote.
    if (atomic_fetch_sub_explicit(&thread->refs, 1, memory_order_acq_rel) == 1) {
        rp_free(thread);
    }
}

rp_status rp_thread_set_context(struct rp_context *context)
{
    struct rp_thread *thread = rp_thread_self();
    if (thread == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the thread's current context");
    }
    if (context != NULL) {
        rp_context_ref(context);
    }
    struct rp_context *old = thread->context;
    thread->context = context;
    if (old != NULL) {
        rp_context_unref(old);
    }
    return RP_OK;
}

rp_status rp_enter(void)
{
    const rp_status st = rp_process_check();
    if (RP_LIKELY(st == RP_OK)) {
        // One load once it has been read, which the first call of the process does.
        (void)rp_env_device();
    }
    return st;
}
