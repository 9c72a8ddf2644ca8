// Lost wake-ups. Two hunts, in both of which waits are far longer than the whole run, so that a
// lost ring is seen as a timeout instead of being healed by it:
//
//   crowd  one publisher, several waiters of the same process, some in a futex and some polling;
//          plain memory is handed over with each value, for ThreadSanitizer
//   pair   one waiter, which comes out of a spin and goes to sleep just when the publisher stores:
//          the delay between the two sweeps over the few nanoseconds in which a missing fence, or a
//          missing second look, loses the ring

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/doorbell.h"

#define WAITERS 4 // even ones sleep in a futex, odd ones poll
#define ROUNDS 5000
#define PAIRS 60000
#define SWEEP 1000 // steps of the delay, each about a nanosecond
#define WAIT_NS (20 * RP_NS_PER_S)

static struct rp_doorbell_end *end;
static unsigned payload; // written before `published` is raised, read after
static _Atomic unsigned published;
static _Atomic unsigned seen[WAITERS];
static struct rp_doorbell back_bell; // the publisher's own, in ordinary memory
static struct rp_doorbell_end back = { .bell = &back_bell, .eventfd = -1 };

static unsigned load(_Atomic unsigned *number)
{
    // seq_cst [T1]: the looks of both sides' sleeps; pairs with the stores in publish and wait_all.
    return atomic_load_explicit(number, memory_order_seq_cst);
}

// Sleeps until `published` reaches `value`; false when a ring was lost.
static bool wait_for(unsigned value, bool by_poll)
{
    while (load(&published) < value) {
        struct rp_sleep sleep;
        enum rp_wake wake = RP_WAKE_BELL;
        if (by_poll) {
            rp_doorbell_prepare_poll(end, &sleep);
            if (load(&published) >= value) {
                rp_doorbell_cancel_poll(end, &sleep);
            } else {
                wake = rp_doorbell_poll(end, &sleep, -1, WAIT_NS);
            }
        } else {
            rp_doorbell_prepare(end, &sleep);
            if (load(&published) >= value) {
                rp_doorbell_cancel(end, &sleep);
            } else {
                wake = rp_doorbell_wait(end, &sleep, WAIT_NS);
            }
        }
        if (wake == RP_WAKE_TIMEOUT) {
            return false;
        }
    }
    return true;
}

static void *wait_all(void *argument)
{
    unsigned me = *(unsigned *)argument;
    for (unsigned value = 1; value <= ROUNDS; value++) {
        if (!wait_for(value, me % 2 == 1)) {
            fprintf(stderr, "waiter %u slept through value %u\n", me, value);
            exit(1);
        }
        if (payload != value) {
            fprintf(stderr, "waiter %u read %u for value %u\n", me, payload, value);
            exit(1);
        }
        // seq_cst [T1]: the publication before a ring.
        atomic_store_explicit(&seen[me], value, memory_order_seq_cst);
        rp_doorbell_ring(&back);
    }
    return NULL;
}

static bool all_have_seen(unsigned value)
{
    for (unsigned i = 0; i < WAITERS; i++) {
        if (load(&seen[i]) < value) {
            return false;
        }
    }
    return true;
}

static void publish(unsigned value)
{
    // A moment of varying length, so that rings fall into every step of the waiters.
    for (unsigned i = 0; i < value * 7 % 400; i++) {
        rp_cpu_pause();
    }
    payload = value;
    // seq_cst [T1]: the publication before a ring.
    atomic_store_explicit(&published, value, memory_order_seq_cst);
    rp_doorbell_ring(end);
    while (!all_have_seen(value)) {
        struct rp_sleep sleep;
        rp_doorbell_prepare(&back, &sleep);
        if (all_have_seen(value)) {
            rp_doorbell_cancel(&back, &sleep);
        } else if (rp_doorbell_wait(&back, &sleep, WAIT_NS) == RP_WAKE_TIMEOUT) {
            fprintf(stderr, "the publisher slept through an answer to %u\n", value);
            exit(1);
        }
    }
}

static void crowd(void)
{
    pthread_t thread[WAITERS];
    unsigned number[WAITERS];
    for (unsigned i = 0; i < WAITERS; i++) {
        number[i] = i;
        if (pthread_create(&thread[i], NULL, wait_all, &number[i]) != 0) {
            exit(2);
        }
    }
    for (unsigned value = 1; value <= ROUNDS; value++) {
        publish(value);
    }
    for (unsigned i = 0; i < WAITERS; i++) {
        pthread_join(thread[i], NULL);
    }
}

static void await_spinning(_Atomic unsigned *number, unsigned value)
{
    for (unsigned spins = 1; load(number) < value; spins++) {
        if (spins % 4096 == 0) {
            sched_yield(); // with one core for both, the other one has to run
        }
    }
}

static void *wait_in_pairs(void *by_poll)
{
    for (unsigned value = 1; value <= 2 * PAIRS; value += 2) {
        await_spinning(&published, value);
        if (!wait_for(value + 1, by_poll != NULL)) {
            fprintf(stderr, "slept through value %u of a pair\n", value + 1);
            exit(1);
        }
        atomic_store_explicit(&seen[0], value + 1, memory_order_seq_cst);
    }
    return NULL;
}

static void pair(bool by_poll)
{
    pthread_t thread;
    atomic_store_explicit(&published, 0, memory_order_seq_cst);
    atomic_store_explicit(&seen[0], 0, memory_order_seq_cst);
    if (pthread_create(&thread, NULL, wait_in_pairs, by_poll ? &published : NULL) != 0) {
        exit(2);
    }
    for (unsigned value = 1; value <= 2 * PAIRS; value += 2) {
        atomic_store_explicit(&published, value, memory_order_seq_cst);
        for (unsigned i = 0; i < value % SWEEP; i++) {
            atomic_signal_fence(memory_order_seq_cst); // keeps the loop
        }
        // seq_cst [T1]: the publication before a ring.
        atomic_store_explicit(&published, value + 1, memory_order_seq_cst);
        rp_doorbell_ring(end);
        await_spinning(&seen[0], value + 1);
    }
    pthread_join(thread, NULL);
}

int main(void)
{
    if (rp_doorbell_self(&end) != RP_OK) {
        return 2;
    }
    rp_doorbell_init(&back_bell);
    crowd();
    pair(false);
    pair(true);
    return 0;
}
