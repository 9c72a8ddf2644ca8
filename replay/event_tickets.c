// Numbers of records. A wait is bound to one record, by its number; later records of the event do
// not let it go on.
//
// On one stream records are reached in the order of their numbers, so the largest number that was
// reached says it all. On another stream a later record may be reached first. So the numbers fall
// into runs, each of one stream: when a record comes from another stream while the run before is
// not over, that run is put aside until it is.
//
// Records by several processes (ACL_EVENT_IPC) are one run: there the largest number decides.

#include <pthread.h>

#include "base/alloc.h"
#include "base/error.h"
#include "replay/event.h"
#include "replay/share.h"

/* A run of records of one stream that is not over, though a later one has begun. */
struct rp_event_run {
    struct rp_event_run *next;
    uint64_t first, last;
    uint64_t reached; // the largest number of it whose record has run
};

rp_status rp_event_number(struct rp_event *event, struct rp_stream *stream, uint64_t *out)
{
    rp_status st = RP_OK;
    if (event->share != NULL) {
        // seq_cst [E1]: as below.
        *out = atomic_fetch_add_explicit(&event->common->recorded, 1, memory_order_seq_cst) + 1;
        rp_share_note_record(event->share, *out);
        return RP_OK;
    }
    pthread_mutex_lock(&event->lock);
    // relaxed: changed under the lock; reached may grow meanwhile, which does no harm.
    const uint64_t last = atomic_load_explicit(&event->recorded, memory_order_relaxed);
    const uint64_t reached = atomic_load_explicit(&event->reached, memory_order_relaxed);
    if (atomic_load_explicit(&event->last_stream, memory_order_relaxed) != stream) {
        if (reached < last) {
            struct rp_event_run *run = rp_calloc(1, sizeof(*run));
            if (run == NULL) {
                st = rp_fail(RP_ENOMEM, "no memory for a record of event %u", event->id);
                goto unlock;
            }
            *run = (struct rp_event_run){
                .next = atomic_load_explicit(&event->runs, memory_order_relaxed),
                .first = event->run_first,
                .last = last,
                .reached = reached,
            };
            // seq_cst [E4]: pairs with rp_event_is_reached; before the number that may overtake.
            atomic_store_explicit(&event->runs, run, memory_order_seq_cst);
        }
        event->run_first = last + 1;
        // relaxed: compared only, by waits of threads that are ordered with this one.
        atomic_store_explicit(&event->last_stream, stream, memory_order_relaxed);
    }
    *out = last + 1;
    // seq_cst [E1]: pairs with the looks at `recorded` and `reached` of who waits or asks.
    atomic_store_explicit(&event->recorded, last + 1, memory_order_seq_cst);
unlock:
    pthread_mutex_unlock(&event->lock);
    return st;
}

static struct rp_event_run *run_of(const struct rp_event *event, uint64_t ticket)
{
    // relaxed: changed under the lock.
    struct rp_event_run *run = atomic_load_explicit(&event->runs, memory_order_relaxed);
    while (run != NULL && (ticket < run->first || ticket > run->last)) {
        run = run->next;
    }
    return run;
}

/* The lock is held. */
static void end_run(struct rp_event *event, struct rp_event_run *run)
{
    // relaxed: as in run_of.
    struct rp_event_run *first = atomic_load_explicit(&event->runs, memory_order_relaxed);
    if (first == run) {
        // seq_cst [E4] [D1]: pairs with rp_event_is_reached.
        atomic_store_explicit(&event->runs, run->next, memory_order_seq_cst);
    } else {
        while (first->next != run) {
            first = first->next;
        }
        first->next = run->next;
    }
    rp_free(run);
}

static void raise_to(_Atomic uint64_t *where, uint64_t ticket)
{
    // relaxed: decided by the exchange. Streams of another device record it, too.
    uint64_t reached = atomic_load_explicit(where, memory_order_relaxed);
    // seq_cst [E1] [D1]: pairs with rp_event_is_reached and with those who ask.
    while (reached < ticket && !atomic_compare_exchange_weak_explicit(where, &reached, ticket,
                                       memory_order_seq_cst, memory_order_relaxed)) {
    }
}

void rp_event_reach(struct rp_event *event, uint64_t ticket)
{
    if (event->kind == RP_EVENT_FLAG) {
        // seq_cst [E3] [D1]: pairs with the look in tasks_event.c.
        atomic_store_explicit(&event->set, 1, memory_order_seq_cst);
    }
    if (event->share != NULL) {
        raise_to(&event->common->reached, ticket);
        rp_share_ring(event->share);
        return;
    }
    pthread_mutex_lock(&event->lock);
    struct rp_event_run *run = run_of(event, ticket);
    if (run != NULL && ticket > run->reached) {
        run->reached = ticket;
        if (ticket == run->last) {
            end_run(event, run);
        }
    }
    raise_to(&event->reached, ticket);
    pthread_mutex_unlock(&event->lock);
}

bool rp_event_is_reached(struct rp_event *event, uint64_t ticket)
{
    // seq_cst [E1]: pairs with raise_to().
    if (atomic_load_explicit(rp_event_reached(event), memory_order_seq_cst) < ticket) {
        return false;
    }
    // seq_cst [E4]: pairs with the stores above. A run is put aside before a later number exists.
    if (atomic_load_explicit(&event->runs, memory_order_seq_cst) == NULL) {
        return true;
    }
    pthread_mutex_lock(&event->lock);
    const struct rp_event_run *run = run_of(event, ticket);
    const bool over = run == NULL || run->reached >= ticket;
    pthread_mutex_unlock(&event->lock);
    return over;
}

void rp_event_forget_runs(struct rp_event *event)
{
    // relaxed: nobody else has the event any more.
    struct rp_event_run *run = atomic_load_explicit(&event->runs, memory_order_relaxed);
    while (run != NULL) {
        struct rp_event_run *next = run->next;
        rp_free(run);
        run = next;
    }
}
