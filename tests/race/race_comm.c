// Communicators of one process: made, looked up, referenced and retired by several threads; their
// signals, failures and liveness checks seen across ranks.

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "support/node_case.h"
#include "transport/segment.h"

#define RANKS 4
#define ROUNDS 150
#define SIGNALS 2000

static struct node_local local;
static struct rp_segment *segment;
static void *_Atomic known[RANKS]; // handles of this moment, or of one just gone
static _Atomic bool failed;

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    atomic_store(&failed, true);
}

static void *make_and_retire(void *arg)
{
    uint32_t rank = *(uint32_t *)arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct rp_comm *comm;
        struct rp_comm_parts parts = node_local_parts(local.arena, rank, RANKS, "race", segment);
        if (rp_comm_create(&parts, &comm) != RP_OK) {
            fail("create");
            return NULL;
        }
        atomic_store(&known[rank], comm);
        if (rp_comm_reserve_window(comm, 4096u << rank) != RP_OK) {
            fail("reserve_window");
        }
        if (!rp_comm_retire(comm)) {
            fail("retire");
        }
    }
    return NULL;
}

static void set_level(struct rp_comm *comm, void *arg)
{
    atomic_store_explicit(&comm->deterministic, *(uint32_t *)arg, memory_order_relaxed);
}

// Any thread may ask for any handle at any time.
static void *look_up(void *arg)
{
    uint32_t level = *(uint32_t *)arg;
    for (int i = 0; i < 20 * ROUNDS; i++) {
        struct rp_comm *comm = rp_comm_from_handle(atomic_load(&known[i % RANKS]));
        if (comm != NULL) {
            if (comm->magic != RP_COMM_MAGIC || rp_comm_status(comm) != RP_OK) {
                fail("a handle that is not alive");
            }
            rp_comm_unref(comm);
        }
        comm = rp_comm_from_name(i % RANKS, "race");
        if (comm != NULL) {
            rp_comm_unref(comm);
        }
        if (i % 50 == 0) {
            rp_comm_each(set_level, &level);
            rp_process_sweep();
        }
    }
    return NULL;
}

// Plain memory is handed over with every signal.
static void *exchange(void *arg)
{
    uint32_t rank = *(uint32_t *)arg;
    struct rp_channel *ch = local.comm[rank]->channel[1 - rank];
    const uint8_t *own = local.comm[rank]->lines.peer[rank].window_in;
    for (uint32_t i = 0; i < SIGNALS && !atomic_load(&failed); i++) {
        const uint32_t value = i;
        const uint64_t deadline_ns = rp_deadline_ns(20 * RP_NS_PER_S);
        if (rp_channel_put(ch, RP_WINDOW_IN, i % 2 * 64, &value, sizeof(value)) != RP_OK ||
                rp_channel_signal(ch) != RP_OK) {
            fail("put");
        }
        while (!rp_channel_test(ch)) {
            rp_comm_check(local.comm[rank], rp_now_ns());
            if (rp_now_ns() > deadline_ns) {
                fail("a signal was lost");
                return NULL;
            }
        }
        if (own[i % 2 * 64] != (uint8_t)value) {
            fail("data of another round");
        }
    }
    return NULL;
}

// One rank fails while others check and ask.
static void *fail_or_ask(void *arg)
{
    uint32_t rank = *(uint32_t *)arg;
    struct rp_comm *comm = local.comm[rank];
    if (rank == 0) {
        rp_comm_fail(comm, RP_ETASKTIMEOUT, 2, NODE_BASE + 1, "rank 2 never came");
        return NULL;
    }
    const uint64_t deadline_ns = rp_deadline_ns(20 * RP_NS_PER_S);
    while (rp_comm_status(comm) == RP_OK) {
        rp_comm_check(comm, rp_now_ns());
        if (rp_now_ns() > deadline_ns) {
            fail("a failure was not heard of");
            return NULL;
        }
    }
    return NULL;
}

static void *only_ask(void *arg)
{
    uint32_t rank = *(uint32_t *)arg;
    const uint64_t deadline_ns = rp_deadline_ns(20 * RP_NS_PER_S);
    while (rp_comm_status(local.comm[rank]) == RP_OK && rp_now_ns() < deadline_ns) {
    }
    return NULL;
}

static void run(uint32_t count, void *(*const *fn)(void *))
{
    pthread_t thread[2 * RANKS];
    uint32_t index[2 * RANKS];
    for (uint32_t i = 0; i < count; i++) {
        index[i] = i % RANKS;
        pthread_create(&thread[i], NULL, fn[i], &index[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        pthread_join(thread[i], NULL);
    }
}

int main(void)
{
    static void *(*const registry[])(void *) = { make_and_retire, make_and_retire, make_and_retire,
        make_and_retire, look_up, look_up };
    static void *(*const channel[])(void *) = { exchange, exchange };
    static void *(*const failure[])(void *) = { fail_or_ask, fail_or_ask, fail_or_ask, fail_or_ask,
        only_ask, only_ask, only_ask };
    node_local_open(&local, RANKS, 65536);
    if (rp_segment_create(RANKS, 65536, NODE_BASE, &segment) != RP_OK) {
        return 1;
    }
    run(6, registry);
    run(2, channel);
    run(7, failure);
    rp_segment_unref(segment);
    node_local_close(&local);
    return atomic_load(&failed) ? 1 : 0;
}
