// Who polls a join is not who drives its loop: the outcome must carry everything that belongs to
// it. Meanwhile other threads wake the loops, until the very moment that they are destroyed.

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "support/boot.h"

#define RANKS 3
#define ROUNDS 25

struct table {
    struct boot_group group;
    _Atomic uint32_t done;
    _Atomic bool stop;
};

struct place {
    struct table *table;
    uint32_t index;
};

// Stands for the device's own thread: it has the baton.
static void *drive(void *arg)
{
    struct place *place = arg;
    struct boot_rank *rank = &place->table->group.rank[place->index];
    while (!atomic_load_explicit(&place->table->stop, memory_order_acquire)) {
        boot_drive(rank->loop);
    }
    return NULL;
}

// Stands for the caller of HcclCommInitRootInfo.
static void *await(void *arg)
{
    struct place *place = arg;
    struct boot_rank *rank = &place->table->group.rank[place->index];
    rp_status st;
    while ((st = rp_join_poll(rank->join, &rank->comm)) == RP_AGAIN) {
        rp_loop_wake(rank->loop);
        sched_yield();
    }
    rank->outcome->status = st;
    if (st == RP_OK && (rank->comm->rank != rank->request.rank || rank->comm->size != RANKS ||
                               rank->comm->lines.peer[rank->request.rank].block == NULL)) {
        rank->outcome->status = RP_EINTERNAL;
    }
    atomic_fetch_add_explicit(&place->table->done, 1, memory_order_acq_rel);
    return NULL;
}

static void *wake(void *arg)
{
    struct table *table = arg;
    for (uint32_t i = 0; !atomic_load_explicit(&table->stop, memory_order_acquire); i++) {
        rp_loop_wake(table->group.rank[i % RANKS].loop);
        sched_yield();
    }
    return NULL;
}

static int round_of(struct table *table, bool fails)
{
    pthread_t driver[RANKS];
    pthread_t waiter[RANKS];
    pthread_t waker;
    struct place place[RANKS];
    boot_group_open(&table->group, RANKS, 20);
    atomic_store_explicit(&table->done, 0, memory_order_relaxed);
    atomic_store_explicit(&table->stop, false, memory_order_relaxed);
    if (fails) {
        table->group.rank[1].request.settings.deterministic = 1;
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        struct boot_rank *rank = &table->group.rank[i];
        place[i] = (struct place){ .table = table, .index = i };
        if (rp_join_start(rank->loop, &rank->request, &rank->join) != RP_OK) {
            return 1;
        }
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        pthread_create(&driver[i], NULL, drive, &place[i]);
        pthread_create(&waiter[i], NULL, await, &place[i]);
    }
    pthread_create(&waker, NULL, wake, table);
    for (uint32_t i = 0; i < RANKS; i++) {
        pthread_join(waiter[i], NULL);
    }
    atomic_store_explicit(&table->stop, true, memory_order_release);
    pthread_join(waker, NULL);
    for (uint32_t i = 0; i < RANKS; i++) {
        pthread_join(driver[i], NULL);
    }
    bool good = boot_group_all(&table->group, fails ? RP_EMISMATCH : RP_OK, "");
    boot_group_close(&table->group);
    return good ? 0 : 1;
}

int main(void)
{
    static struct table table;
    int errors = 0;
    setenv("HCCL_SOCKET_IFNAME", "=lo", 1);
    for (int i = 0; i < ROUNDS; i++) {
        errors += round_of(&table, i % 3 == 2);
    }
    printf("%d rounds, %d errors\n", ROUNDS, errors);
    return errors == 0 ? 0 : 1;
}
