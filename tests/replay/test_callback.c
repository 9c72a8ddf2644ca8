// Users' functions: host functions and callbacks.

#include "replay/callback.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "replay/submission.h"
#include "support/local_ranks.h"

static struct local_ranks ranks;
static struct local_rank *const rank = &ranks.rank[0];

static void open_one(void)
{
    local_env("auto");
    local_ranks_open(&ranks, 0);
}

static void close_all(void)
{
    local_ranks_close(&ranks);
}

static bool ended(void *stream)
{
    return local_ended(stream);
}

// What a function has seen of its thread.
struct sight {
    _Atomic int calls;
    pthread_t thread;
    bool in_callback;
    bool signals_blocked;
    char name[16];
};

static void look(void *arg)
{
    struct sight *sight = arg;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    sight->signals_blocked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGUSR1) == 1;
    sight->thread = pthread_self();
    sight->in_callback = rp_thread_in_callback();
    pthread_getname_np(pthread_self(), sight->name, sizeof(sight->name));
    atomic_fetch_add(&sight->calls, 1);
}

Test(callback, runs_on_a_named_thread_that_is_deaf_to_signals, .init = open_one, .fini = close_all,
        .timeout = 20)
{
    struct sight sight = { 0 };
    local_host_fn(rank->stream, look, &sight);
    cr_assert(local_until(ended, rank->stream, 5)); // nobody waits: a callback thread runs it
    cr_assert(eq(int, sight.calls, 1));
    cr_assert(sight.in_callback);
    cr_assert(sight.signals_blocked);
    cr_assert(eq(int, strncmp(sight.name, "rp-cb-", 6), 0), "%s", sight.name);
    cr_assert(not(rp_thread_in_callback()));
}

Test(callback, a_thread_that_waits_for_it_runs_it_itself, .init = open_one, .fini = close_all,
        .timeout = 20)
{
    struct sight sight = { 0 };
    int own = 0;
    for (int i = 0; i < 100; i++) {
        local_host_fn(rank->stream, look, &sight);
        cr_assert(eq(int, rp_stream_drain(rank->stream, UINT64_MAX), RP_OK));
        own += pthread_equal(sight.thread, pthread_self()) != 0;
    }
    cr_assert(eq(int, sight.calls, 100));
    cr_assert(gt(int, own, 50), "%d of 100", own); // the device's thread may come first
}

Test(callback, a_wait_with_a_timeout_runs_none, .init = open_one, .fini = close_all, .timeout = 20)
{
    struct sight sight = { 0 };
    for (int i = 0; i < 20; i++) {
        local_host_fn(rank->stream, look, &sight);
        cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
        cr_assert(not(pthread_equal(sight.thread, pthread_self())));
    }
}

static void note(void *arg)
{
    static int next;
    *(int *)arg = ++next;
}

Test(callback, is_a_task_in_its_stream, .init = open_one, .fini = close_all, .timeout = 20)
{
    enum { COUNT = 300 };
    static int order[COUNT];
    for (int i = 0; i < COUNT; i++) {
        local_host_fn(rank->stream, note, &order[i]);
    }
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
    for (int i = 0; i < COUNT; i++) {
        cr_assert(eq(int, order[i], i + 1));
    }
}

static sem_t gate;

static void pass_gate(void *arg)
{
    (void)arg;
    sem_wait(&gate);
}

static void open_gate(void *count)
{
    for (int i = 0; i < *(int *)count; i++) {
        sem_post(&gate);
    }
}

// Each function that blocks holds up its own stream only: the last one lets all others go.
Test(callback, a_function_that_blocks_holds_up_its_own_stream_only, .init = open_one,
        .fini = close_all, .timeout = 20)
{
    enum { STREAMS = 5 };
    struct rp_stream *stream[STREAMS];
    uint8_t *a = local_alloc(rank, 1 << 20);
    int count = STREAMS;
    sem_init(&gate, 0, 0);
    for (int i = 0; i < STREAMS; i++) {
        stream[i] = local_stream(rank);
        local_host_fn(stream[i], pass_gate, NULL);
    }
    usleep(2000);
    local_fill(rank->stream, a, 1, 1 << 20); // the device is driven meanwhile
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
    cr_assert(eq(int, a[999], 1));
    local_host_fn(rank->stream, open_gate, &count);
    for (int i = 0; i < STREAMS; i++) {
        cr_assert(eq(int, local_drained(stream[i], 10), RP_OK), "stream %d", i);
        local_stream_end(stream[i]);
    }
}

struct errand {
    struct rp_stream *stream;
    rp_status waited;
    uint8_t *cell;
};

static void submit_and_wait(void *arg)
{
    struct errand *errand = arg;
    local_fill(errand->stream, errand->cell, 7, 64);
    errand->waited = local_drained(errand->stream, 5);
}

Test(callback, may_submit_but_not_wait, .init = open_one, .fini = close_all, .timeout = 20)
{
    struct rp_stream *other = local_stream(rank);
    struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
    struct errand errand = { .stream = other, .cell = local_alloc(rank, 64) };
    local_wait(other, event, 0); // so that there is something to wait for
    local_host_fn(rank->stream, submit_and_wait, &errand);
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
    cr_assert(eq(int, errand.waited, RP_ECALLBACK));
    local_record(rank->stream, event);
    cr_assert(eq(int, local_drained(other, 10), RP_OK));
    cr_assert(eq(int, errand.cell[0], 7));
    local_stream_end(other);
}

// ---- subscribed threads ----

static void launch(struct rp_stream *stream, void (*fn)(void *), void *arg, bool blocks)
{
    struct rp_task task = { .insn = { .kind = RP_INSN_CALLBACK, .flag = blocks } };
    task.insn.u.call.fn = fn;
    task.insn.u.call.arg = arg;
    cr_assert(eq(int, rp_stream_submit(stream, &task), RP_OK));
}

static _Atomic bool stop;

static void *serve(void *arg)
{
    _Atomic int *served = arg;
    while (!atomic_load(&stop)) {
        const rp_status st = rp_report_process(20 * RP_NS_PER_MS);
        if (st == RP_OK) {
            atomic_fetch_add(served, 1);
        } else {
            (void)rp_error_take();
        }
    }
    return NULL;
}

Test(report, callbacks_run_on_the_subscribed_thread, .init = open_one, .fini = close_all,
        .timeout = 20)
{
    struct rp_stream *other = local_stream(rank);
    struct sight sight = { 0 };
    _Atomic int served = 0;
    pthread_t thread;
    uint8_t *a = local_alloc(rank, 64);
    cr_assert(eq(int, pthread_create(&thread, NULL, serve, &served), 0));
    cr_assert(eq(int, rp_report_check(rank->stream), RP_ENOSUB));
    cr_assert(eq(int, rp_report_subscribe((uint64_t)thread, rank->stream), RP_OK));
    cr_assert(eq(int, rp_report_subscribe((uint64_t)thread, rank->stream), RP_ESUBSCRIBE));
    cr_assert(eq(int, rp_report_subscribe((uint64_t)thread, other), RP_OK));
    cr_assert(eq(int, rp_report_check(rank->stream), RP_OK));
    for (int i = 0; i < 20; i++) {
        launch(rank->stream, look, &sight, true);
        local_fill(rank->stream, a, i, 64);
        launch(other, look, &sight, false);
    }
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
    cr_assert(eq(int, local_drained(other, 10), RP_OK));
    while (atomic_load(&sight.calls) < 40) { // nobody waits for those of NO_BLOCK
        usleep(100);
    }
    cr_assert(pthread_equal(sight.thread, thread));
    cr_assert(sight.in_callback);
    cr_assert(eq(int, rp_report_unsubscribe((uint64_t)pthread_self(), other), RP_ETHREADSUB));
    cr_assert(eq(int, rp_report_unsubscribe((uint64_t)thread, other), RP_OK));
    cr_assert(eq(int, rp_report_unsubscribe((uint64_t)thread, other), RP_ESUBSCRIBE));
    cr_assert(eq(int, rp_report_unsubscribe((uint64_t)thread, rank->stream), RP_OK));
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    local_stream_end(other);
}

Test(report, later_tasks_wait_for_a_blocking_callback_only, .init = open_one, .fini = close_all,
        .timeout = 20)
{
    static int seen;
    uint8_t *a = local_alloc(rank, 64);
    cr_assert(eq(int, rp_report_subscribe((uint64_t)pthread_self(), rank->stream), RP_OK));
    launch(rank->stream, note, &seen, false);
    local_fill(rank->stream, a, 1, 64);
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK), "NO_BLOCK holds nothing up");
    cr_assert(eq(int, seen, 0));
    launch(rank->stream, note, &seen, true);
    local_fill(rank->stream, a, 2, 64);
    cr_assert(eq(int, rp_stream_drain(rank->stream, 20 * RP_NS_PER_MS), RP_ESYNCTIMEOUT));
    cr_assert(eq(int, a[0], 1));
    cr_assert(eq(int, rp_report_process(5 * RP_NS_PER_S), RP_OK));
    cr_assert(eq(int, seen, 2), "both have run");
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
    cr_assert(eq(int, a[0], 2));
    cr_assert(eq(int, rp_report_unsubscribe((uint64_t)pthread_self(), rank->stream), RP_OK));
}

Test(report, a_thread_without_callbacks_is_told_so, .init = open_one, .fini = close_all,
        .timeout = 20)
{
    cr_assert(eq(int, rp_report_process(RP_NS_PER_MS), RP_ETHREADSUB));
    cr_assert(eq(int, rp_report_subscribe((uint64_t)pthread_self(), rank->stream), RP_OK));
    const uint64_t begin_ns = rp_now_ns();
    cr_assert(eq(int, rp_report_process(20 * RP_NS_PER_MS), RP_ENOREPORT));
    cr_assert(ge(u64, rp_now_ns() - begin_ns, 20 * RP_NS_PER_MS));
    cr_assert(eq(int, rp_report_unsubscribe((uint64_t)pthread_self(), rank->stream), RP_OK));
    cr_assert(eq(int, rp_report_process(RP_NS_PER_MS), RP_ETHREADSUB));
}

Test(report, an_unsubscribed_stream_does_not_hang, .init = open_one, .fini = close_all,
        .timeout = 20)
{
    static int seen;
    cr_assert(eq(int, rp_report_subscribe((uint64_t)pthread_self(), rank->stream), RP_OK));
    launch(rank->stream, note, &seen, true);
    launch(rank->stream, note, &seen, true);
    cr_assert(eq(int, rp_stream_drain(rank->stream, 20 * RP_NS_PER_MS), RP_ESYNCTIMEOUT));
    cr_assert(eq(int, rp_report_unsubscribe((uint64_t)pthread_self(), rank->stream), RP_OK));
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_ENOSUB));
    cr_assert(eq(int, seen, 0));
}

static void *serve_for_ever(void *arg)
{
    (void)arg;
    sem_wait(&gate); // until it is subscribed
    return (void *)(intptr_t)rp_report_process(UINT64_MAX);
}

Test(report, ending_the_last_subscription_wakes_its_thread, .init = open_one, .fini = close_all,
        .timeout = 20)
{
    pthread_t thread;
    sem_init(&gate, 0, 0);
    cr_assert(eq(int, pthread_create(&thread, NULL, serve_for_ever, NULL), 0));
    cr_assert(eq(int, rp_report_subscribe((uint64_t)thread, rank->stream), RP_OK));
    sem_post(&gate);
    usleep(20000);
    cr_assert(eq(int, rp_report_unsubscribe((uint64_t)thread, rank->stream), RP_OK));
    void *st;
    pthread_join(thread, &st);
    cr_assert(eq(int, (int)(intptr_t)st, RP_ETHREADSUB));
}

static void process_inside(void *arg)
{
    *(rp_status *)arg = rp_report_process(RP_NS_PER_MS);
}

Test(report, a_callback_may_not_process_callbacks, .init = open_one, .fini = close_all,
        .timeout = 20)
{
    rp_status st = RP_OK;
    local_host_fn(rank->stream, process_inside, &st);
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
    cr_assert(eq(int, st, RP_ECALLBACK));
}
