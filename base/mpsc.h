#ifndef RP_BASE_MPSC_H
#define RP_BASE_MPSC_H

/*
 * Intrusive queue, many producers, one consumer (Dmitry Vyukov's algorithm). A push is one
 * exchange and one store, and never waits; the order of the exchanges is the order of the queue.
 *
 *     tail -> [stub or oldest] -> ... -> [newest] <- head
 *
 * A producer first swings `head` to its node [M1], then links it behind its predecessor [M2].
 * Between the two the queue is cut: the consumer sees that there is more, but cannot reach it, and
 * rp_mpsc_pop returns NULL although rp_mpsc_empty says no. The consumer then looks again later; it
 * must not spin on it without bound, since the producer may have lost its core.
 *
 * [M1] is sequentially consistent on both sides, so the queue can be a doorbell's condition: push,
 * then ring; prepare, then rp_mpsc_empty, then wait (base/doorbell.h).
 *
 * A node stays its owner's memory and may be freed or pushed again once it has been popped.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/util.h"

struct rp_mpsc_node {
    struct rp_mpsc_node *_Atomic next;
};

struct rp_mpsc {
    _Alignas(RP_CACHELINE) struct rp_mpsc_node *_Atomic head; /* producers */
    _Alignas(RP_CACHELINE) struct rp_mpsc_node *tail;         /* consumer only */
    struct rp_mpsc_node stub;
};

static inline void rp_mpsc_init(struct rp_mpsc *queue)
{
    atomic_init(&queue->stub.next, NULL);
    atomic_init(&queue->head, &queue->stub);
    queue->tail = &queue->stub;
}

/** rp_mpsc_push: append `node`. Any thread. */
static inline void rp_mpsc_push(struct rp_mpsc *queue, struct rp_mpsc_node *node)
{
    // relaxed: nobody else can see the node yet; [M2] of the next producer comes after [M1] below.
    atomic_store_explicit(&node->next, NULL, memory_order_relaxed);
    // seq_cst [M1]: pairs with the exchange of the next producer, so that its [M2] finds next set
    // to NULL before, and with the load in rp_mpsc_empty, as a doorbell's publication.
    struct rp_mpsc_node *before =
            atomic_exchange_explicit(&queue->head, node, memory_order_seq_cst);
    // release [M2]: pairs with the loads of next in rp_mpsc_pop; publishes what the node holds.
    atomic_store_explicit(&before->next, node, memory_order_release);
}

/**
 * rp_mpsc_pop: take out the oldest node. Consumer only.
 *
 * Returns NULL when the queue is empty, and also while the oldest node's producer is between its
 * two steps.
 */
static inline struct rp_mpsc_node *rp_mpsc_pop(struct rp_mpsc *queue)
{
    struct rp_mpsc_node *tail = queue->tail;
    // acquire [M2]: pairs with the store in rp_mpsc_push.
    struct rp_mpsc_node *next = atomic_load_explicit(&tail->next, memory_order_acquire);
    if (tail == &queue->stub) {
        if (next == NULL) {
            return NULL;
        }
        queue->tail = next;
        tail = next;
        // acquire [M2]: as above.
        next = atomic_load_explicit(&tail->next, memory_order_acquire);
    }
    if (next != NULL) {
        queue->tail = next;
        return tail;
    }
    // relaxed: a stale value only means that this call returns NULL once more.
    if (atomic_load_explicit(&queue->head, memory_order_relaxed) != tail) {
        return NULL;
    }
    // The last node: the stub goes behind it, so that it can leave.
    rp_mpsc_push(queue, &queue->stub);
    // acquire [M2]: as above; NULL when another producer came between.
    next = atomic_load_explicit(&tail->next, memory_order_acquire);
    if (next != NULL) {
        queue->tail = next;
        return tail;
    }
    return NULL;
}

/** rp_mpsc_empty: nothing is queued and no push has begun. Consumer only. */
static inline bool rp_mpsc_empty(struct rp_mpsc *queue)
{
    // seq_cst [M1]: pairs with the exchange in rp_mpsc_push, as a doorbell's re-check.
    return queue->tail == &queue->stub &&
           atomic_load_explicit(&queue->head, memory_order_seq_cst) == &queue->stub;
}

#endif /* RP_BASE_MPSC_H */
